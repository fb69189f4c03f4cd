//! The multivariate normal distribution.

use crate::Normal;
use crate::family::MultivariateNormalFamily;
use crate::shared::arrays::{
    LOG_2PI, batch_of, identity, last, solve_vectors, sum_last, transposed, vectors_times, whole_shape,
};
use ppl_core::model::ExponentialFamily;
use ppl_core::model::Map;
use ppl_core::{
    Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Transport, Value, Var,
};
use std::rc::Rc;

/// The normal distribution of vectors with mean `loc` and covariance `Σ`, given by itself, its inverse, or
/// its Cholesky factor.
///
/// ```text
/// ln p(x) = −½ ‖L⁻¹(x − loc)‖² − Σ_i ln L_ii − ½ d ln 2π        Σ = L Lᵀ,   x, loc: [d],   Σ: [d, d]
/// ```
///
/// Leading axes of the parameters are a batch. A draw is `loc + L z` with `z` standard normal, so it can be
/// differentiated with respect to all parameters. Of a precision matrix `P = U Uᵀ` (`U` upper triangular),
/// `Uᵀ` stands for `L⁻¹`, and nothing is inverted. Where the matrix is not positive definite everything is
/// NaN. The reparameterisation [`handlers::Transformed`](ppl_core::handlers::Transformed) samples `z`.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::MultivariateNormal;
/// let graph = Graph::new();
/// let covariance = graph.array(&array![[4.0, 2.0], [2.0, 5.0]].into_dyn()); // L = [[2, 0], [1, 2]]
/// let x = graph.input("x", 2)?;
/// let log_prob = MultivariateNormal::from_covariance(0.0, covariance).log_prob(x);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("x", &[2.0, 3.0])?;
/// plan.run();
/// let expected = -0.5 * (1.0 + 1.0) - 4.0_f64.ln() - (2.0 * std::f64::consts::PI).ln();
/// assert!((plan.output(0)[0] - expected).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MultivariateNormal<'g> {
    loc: Value<'g>,
    spread: Spread<'g>,
}

/// What was given.
#[derive(Clone, Copy, Debug)]
enum Spread<'g> {
    Covariance(Value<'g>),
    Precision(Value<'g>),
    Cholesky(Value<'g>),
}

impl<'g> MultivariateNormal<'g> {
    /// Mean, `[…, d]` or one number for all elements, and covariance matrix, `[…, d, d]`; its lower triangle
    /// is read.
    pub fn from_covariance(loc: impl Into<Value<'g>>, covariance: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), spread: Spread::Covariance(covariance.into()) }
    }

    /// Mean, `[…, d]` or one number for all elements, and the inverse of the covariance matrix, `[…, d, d]`;
    /// its upper triangle is read.
    pub fn from_precision(loc: impl Into<Value<'g>>, precision: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), spread: Spread::Precision(precision.into()) }
    }

    /// Mean, `[…, d]` or one number for all elements, and the lower triangular `L` with `L Lᵀ = Σ`,
    /// `[…, d, d]`.
    pub fn from_cholesky(loc: impl Into<Value<'g>>, scale_tril: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), spread: Spread::Cholesky(scale_tril.into()) }
    }

    /// Mean, and precision matrix `Λ`.
    #[track_caller]
    pub(crate) fn loc_and_precision(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let precision = match self.spread {
            Spread::Precision(precision) => precision.on(graph),
            _ => self.covariance(graph).inverse(),
        };
        (self.loc.on(graph), precision)
    }

    fn matrix(&self) -> Value<'g> {
        match self.spread {
            Spread::Covariance(matrix) | Spread::Precision(matrix) | Spread::Cholesky(matrix) => matrix,
        }
    }

    fn dimension(&self) -> usize {
        self.matrix().shape().dims().last().copied().unwrap_or(0)
    }

    /// The upper triangular `U` with `U Uᵀ` the precision, and so `L = U⁻ᵀ`: a Cholesky factor with both axes
    /// in reverse order.
    #[track_caller]
    fn upper(precision: Var<'g>) -> Var<'g> {
        let rank = precision.shape().rank();
        let reversed = |matrix: Var<'g>| matrix.flip(rank - 1).flip(rank - 2);
        reversed(reversed(precision).cholesky())
    }

    /// The lower triangular `L` with positive diagonal and `L Lᵀ` the covariance, `[…, d, d]`.
    #[must_use]
    #[track_caller]
    pub fn scale_tril(&self, graph: &'g Graph) -> Var<'g> {
        match self.spread {
            Spread::Covariance(covariance) => covariance.on(graph).cholesky(),
            Spread::Cholesky(factor) => factor.on(graph),
            Spread::Precision(precision) => {
                let identity = identity(graph, self.dimension());
                Self::upper(precision.on(graph))
                    .solve_upper_transposed(identity.broadcast_to(precision.shape()))
            }
        }
    }

    /// The covariance matrix, `[…, d, d]`.
    #[must_use]
    #[track_caller]
    pub fn covariance(&self, graph: &'g Graph) -> Var<'g> {
        match self.spread {
            Spread::Covariance(covariance) => covariance.on(graph),
            _ => {
                let factor = self.scale_tril(graph);
                factor.matmul(transposed(factor))
            }
        }
    }

    /// `Σ_i ln L_ii`
    #[track_caller]
    fn half_log_determinant(&self, graph: &'g Graph) -> Var<'g> {
        let log_diagonal = |matrix: Var<'g>| sum_last(matrix.diagonal().log(), 1);
        match self.spread {
            Spread::Covariance(covariance) => log_diagonal(covariance.on(graph).cholesky()),
            Spread::Cholesky(factor) => log_diagonal(factor.on(graph)),
            Spread::Precision(precision) => -log_diagonal(Self::upper(precision.on(graph))),
        }
    }

    /// `L⁻¹ x` for each vector.
    #[track_caller]
    fn whitened(&self, x: Var<'g>) -> Var<'g> {
        match self.spread {
            Spread::Precision(precision) => vectors_times(x, Self::upper(precision.on(x.graph()))),
            _ => solve_vectors(self.scale_tril(x.graph()), x, |matrix, x| matrix.solve_lower(x)),
        }
    }

    /// `loc + L z` for each vector.
    #[track_caller]
    fn of_standard(&self, z: Var<'g>) -> Var<'g> {
        let moved = match self.spread {
            Spread::Precision(precision) => {
                let upper = Self::upper(precision.on(z.graph()));
                solve_vectors(upper, z, |upper, z| upper.solve_upper_transposed(z))
            }
            _ => vectors_times(z, transposed(self.scale_tril(z.graph()))),
        };
        self.loc.on(z.graph()) + moved
    }

    /// The Kullback–Leibler divergence `KL(self ‖ other)` in nats, for each place of the batches together.
    ///
    /// ```text
    /// ½ (‖M‖² − d) − Σ_i ln M_ii + ½ ‖L₂⁻¹(loc₁ − loc₂)‖²        M = L₂⁻¹ L₁
    /// ```
    ///
    /// Where `M_ii` is near 1, its terms are taken as `t − ln(1 + t)` with `t = M_ii² − 1` found from the
    /// difference of the two factors, so that of two distributions that are nearly the same no more digits
    /// are lost than the parameters have in common.
    ///
    /// ```
    /// use ppl_core::{ExecutionPlan, Graph, Program};
    /// use ppl_distributions::MultivariateNormal;
    /// let graph = Graph::new();
    /// let identity = graph.array(&ndarray::Array2::eye(3).into_dyn());
    /// let (p, q) = (MultivariateNormal::from_cholesky(1.0, identity), MultivariateNormal::from_cholesky(0.0, identity));
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[p.kl_divergence(&q, &graph)])?);
    /// plan.run();
    /// assert_eq!(plan.output(0), [1.5]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn kl_divergence(&self, other: &Self, graph: &'g Graph) -> Var<'g> {
        let (own, others) = (self.scale_tril(graph), other.scale_tril(graph));
        let shape = own.shape().broadcast(&others.shape()).unwrap_or_else(|| own.shape());
        let (own, others) = (own.broadcast_to(shape.clone()), others.broadcast_to(shape));
        let ratio = others.solve_lower(own);
        let diagonal = ratio.diagonal();
        let near = (diagonal - 1.0).abs().less(0.5);
        let excess = (own.diagonal() - others.diagonal()) / others.diagonal() * (diagonal + 1.0);
        let log_square =
            near.select(near.select(excess, 0.0).log1p(), 2.0 * near.select(1.0, diagonal).log());
        // Off the diagonal alone: the difference of two sums would not be 0 where the matrices are equal.
        let strictly = ratio.lower_triangle() - ratio.diagonal().diagonal_matrix();
        let difference = (self.loc.on(graph) - other.loc.on(graph)).broadcast_to(self.distance_shape(other));
        0.5 * (sum_last(excess - log_square, 1)
            + sum_last(strictly.square(), 2)
            + sum_last(other.whitened(difference).square(), 1))
    }

    fn distance_shape(&self, other: &Self) -> Shape {
        let shape = self.loc.shape().broadcast(&other.loc.shape()).unwrap_or_default();
        shape.broadcast(&self.event_shape()).unwrap_or_else(|| self.event_shape())
    }
}

impl<'g> Distribution<'g> for MultivariateNormal<'g> {
    fn name(&self) -> &'static str {
        "MultivariateNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let (name, value, domain) = match self.spread {
            Spread::Covariance(matrix) => ("covariance", matrix, Constraint::PositiveDefinite),
            Spread::Precision(matrix) => ("precision", matrix, Constraint::PositiveDefinite),
            Spread::Cholesky(matrix) => ("scale_tril", matrix, Constraint::LowerCholesky),
        };
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name, value, domain },
        ]
    }

    fn event_shape(&self) -> Shape {
        last(&self.matrix().shape(), 1)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        batch_of(self.name(), &self.loc.shape(), &self.matrix().shape())
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(MultivariateNormalFamily { law: *self }))
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let whitened = self.whitened(value - self.loc.on(value.graph()));
        let constant = self.half_log_determinant(value.graph()) + 0.5 * self.dimension() as f64 * LOG_2PI;
        -0.5 * sum_last(whitened.square(), 1) - constant
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?).concat(&self.event_shape());
        Ok(self.of_standard(noise.draw(NoiseKind::StandardNormal, shape)?))
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let own = *self;
        Some(Transport {
            base: Rc::new(Normal::new(0.0, 1.0).iid(self.event_shape())),
            map: Map::Function(Rc::new(move |z| own.of_standard(z))),
        })
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.loc.on(graph).broadcast_to(whole_shape(self)))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.mean(graph)
    }

    /// The diagonal of the covariance matrix.
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let variance = match self.spread {
            Spread::Covariance(covariance) => covariance.on(graph).diagonal(),
            _ => sum_last(self.scale_tril(graph).square(), 1),
        };
        Some(variance.broadcast_to(whole_shape(self)))
    }

    /// `½ d (1 + ln 2π) + Σ_i ln L_ii`
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let entropy = self.half_log_determinant(graph) + 0.5 * self.dimension() as f64 * (1.0 + LOG_2PI);
        Some(entropy.broadcast_to(self.batch_shape().ok()?))
    }
}
