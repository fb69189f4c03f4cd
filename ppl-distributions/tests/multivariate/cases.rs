//! All distributions of vectors and matrices in one table: a new one is one line of it.

use ndarray::ArrayD;
use ppl_core::{Constraint, Distribution, Shape, Var};
use ppl_distributions::{
    Categorical, Dirichlet, GaussianRandomWalk, LKJ, LKJCholesky, LowRankMultivariateNormal,
    MultivariateNormal, MultivariateStudentT, ZeroSumNormal,
};

/// A distribution of any parameters, on any graph.
pub(crate) type Boxed<'g> = Box<dyn Distribution<'g> + 'g>;

/// Axes of a parameter, for outcomes of `n` elements (or rows).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Axes {
    Number,
    Vector,
    Square,
    /// `n` rows of two.
    Tall,
}

impl Axes {
    pub(crate) fn shape(self, n: usize) -> Shape {
        match self {
            Axes::Number => Shape::scalar(),
            Axes::Vector => Shape::from(n),
            Axes::Square => Shape::from([n, n]),
            Axes::Tall => Shape::from([n, 2]),
        }
    }

    /// The shape of this many numbers.
    pub(crate) fn shape_of(self, numbers: usize, n: usize) -> Shape {
        match self {
            Axes::Number => Shape::scalar(),
            Axes::Vector => Shape::from(numbers),
            Axes::Square => {
                let rows = (numbers as f64).sqrt().round() as usize;
                Shape::from([rows, rows])
            }
            Axes::Tall => Shape::from([n, numbers / n]),
        }
    }
}

/// One way to make a distribution: where its parameters lie, and how it is made of them.
#[derive(Clone, Copy)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) parameters: &'static [(Constraint, Axes)],
    pub(crate) build: for<'g> fn(usize, &[Var<'g>]) -> Boxed<'g>,
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const LOC: (Constraint, Axes) = (Constraint::Real, Axes::Vector);
const POSITIVE: (Constraint, Axes) = (Constraint::Positive, Axes::Number);
const DEFINITE: (Constraint, Axes) = (Constraint::PositiveDefinite, Axes::Square);
const CHOLESKY: (Constraint, Axes) = (Constraint::LowerCholesky, Axes::Square);
const POSITIVES: (Constraint, Axes) = (Constraint::Positive, Axes::Vector);

#[rustfmt::skip]
pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "categorical_probs", parameters: &[(Constraint::Simplex, Axes::Vector)], build: |_, p| Box::new(Categorical::from_probs(p[0])) },
    Family { name: "categorical_logits", parameters: &[LOC], build: |_, p| Box::new(Categorical::from_logits(p[0])) },
    Family { name: "multivariate_normal_covariance", parameters: &[LOC, DEFINITE], build: |_, p| Box::new(MultivariateNormal::from_covariance(p[0], p[1])) },
    Family { name: "multivariate_normal_precision", parameters: &[LOC, DEFINITE], build: |_, p| Box::new(MultivariateNormal::from_precision(p[0], p[1])) },
    Family { name: "multivariate_normal_cholesky", parameters: &[LOC, CHOLESKY], build: |_, p| Box::new(MultivariateNormal::from_cholesky(p[0], p[1])) },
    Family { name: "low_rank_multivariate_normal", parameters: &[LOC, (Constraint::Real, Axes::Tall), POSITIVES], build: |_, p| Box::new(LowRankMultivariateNormal::new(p[0], p[1], p[2])) },
    Family { name: "multivariate_student_t", parameters: &[POSITIVE, LOC, CHOLESKY], build: |_, p| Box::new(MultivariateStudentT::new(p[0], p[1], p[2])) },
    Family { name: "gaussian_random_walk", parameters: &[POSITIVE], build: |n, p| Box::new(GaussianRandomWalk::new(p[0], n)) },
    Family { name: "dirichlet", parameters: &[POSITIVES], build: |_, p| Box::new(Dirichlet::new(p[0])) },
    Family { name: "lkj", parameters: &[POSITIVE], build: |n, p| Box::new(LKJ::new(n, p[0])) },
    Family { name: "zero_sum_normal", parameters: &[POSITIVE], build: |n, p| Box::new(ZeroSumNormal::new(p[0], n + 1)) },
    Family { name: "lkj_cholesky", parameters: &[POSITIVE], build: |n, p| Box::new(LKJCholesky::new(n, p[0])) },
];

pub(crate) fn family(name: &str) -> Family {
    *FAMILIES
        .iter()
        .find(|family| family.name == name)
        .unwrap_or_else(|| panic!("unknown distribution {name}"))
}

/// Parameters from unconstrained numbers, which are taken from the front of a list that is long enough.
pub(crate) fn parameters(family: Family, n: usize, numbers: &[f64]) -> Vec<ArrayD<f64>> {
    let mut from = 0;
    let mut take = |(set, axes): &(Constraint, Axes)| {
        let shape = set.unconstrained_shape(&axes.shape(n)).unwrap();
        let part = &numbers[from..from + shape.elements()];
        from += shape.elements();
        set.constrain_array(&ArrayD::from_shape_vec(shape.dims(), part.to_vec()).unwrap()).unwrap()
    };
    family.parameters.iter().map(&mut take).collect()
}
