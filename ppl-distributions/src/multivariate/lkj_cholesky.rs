//! The LKJ distribution of Cholesky factors of correlation matrices.

use crate::shared::arrays::{column, constants, identity, sum_last};
use crate::shared::gamma_noise::log_standard_gamma;
use crate::shared::support::unless_event;
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source, Value, Var,
};
use std::f64::consts::{LN_2, PI};

/// The Cholesky factor `L` of a random `D × D` correlation matrix whose density is proportional to
/// `det(L Lᵀ)^(η − 1)`.
///
/// ```text
/// ln p(L) = Σ_i (2b_i − 2) ln L_ii − Σ_i [½ i ln π + ln Γ(b_i) − ln Γ(b_i + ½ i)]        b_i = η + ½ (D − 1 − i),   i = 1 … D − 1
/// ```
///
/// It is a density of the elements below the diagonal; rows are independent. With `η = concentration = 1` all
/// correlation matrices are equally likely, and with larger ones those near the identity are likelier. A draw
/// takes one gamma variable and `i` normal ones for row `i` and divides by their length, so that `1 − L_ii²`
/// is beta distributed and the row's direction uniform (the onion method, in the form of a random vector that
/// is normalised), with implicit derivatives with respect to the concentration.
///
/// Lewandowski, Kurowicka and Joe (2009), Generating random correlation matrices based on vines and extended
/// onion method, section 3.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::LKJCholesky;
/// let graph = Graph::new();
/// let factor = graph.input("factor", [2, 2])?;
/// let program = Program::new(&graph, &[LKJCholesky::new(2, 1.0).log_prob(factor)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("factor", &[1.0, 0.0, 0.6, 0.8])?;
/// plan.run();
/// assert!((plan.output(0)[0] + 2.0_f64.ln()).abs() < 1e-14); // a correlation uniform between −1 and 1
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LKJCholesky<'g> {
    dimension: usize,
    concentration: Value<'g>,
}

impl<'g> LKJCholesky<'g> {
    /// Number of rows `D` of the matrices, at least 1; concentration `η`, a positive number or an array of
    /// them.
    pub fn new(dimension: usize, concentration: impl Into<Value<'g>>) -> Self {
        Self { dimension, concentration: concentration.into() }
    }

    /// `D`
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// `η`
    #[track_caller]
    pub(crate) fn concentration(&self, graph: &'g Graph) -> Var<'g> {
        self.concentration.on(graph)
    }

    /// `ψ(b_i + ½ i) − ψ(b_i) = −2 E ln L_ii`, `[…, D − 1]`.
    #[track_caller]
    pub(crate) fn digamma_differences(&self, graph: &'g Graph) -> Var<'g> {
        let (b, halves) = self.shapes(graph);
        b.digamma_difference(halves.broadcast_to(b.shape()))
    }

    /// `b_i`, `[…, D − 1]`, and `½ i`, `[D − 1]`.
    #[track_caller]
    fn shapes(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let (d, concentration) = (self.dimension, self.concentration.on(graph));
        let below = constants(graph, (1..d).map(|i| 0.5 * (d - 1 - i) as f64));
        (column(concentration) + below, constants(graph, (1..d).map(|i| 0.5 * i as f64)))
    }

    /// `Σ_i [½ i ln π + ln Γ(b_i) − ln Γ(b_i + ½ i)]`: the logarithms of the integrals of
    /// `(1 − ‖w‖²)^(b − 1)` over balls.
    #[track_caller]
    pub(crate) fn log_normaliser(&self, graph: &'g Graph) -> Var<'g> {
        let (b, halves) = self.shapes(graph);
        let half = halves.broadcast_to(b.shape());
        sum_last(half * PI.ln() - b.log_gamma_ratio(half), 1)
    }

    /// The elements below the diagonal of `[…, D, D]`, and 0 elsewhere.
    #[track_caller]
    fn below_diagonal(&self, matrix: Var<'g>) -> Var<'g> {
        let d = self.dimension;
        let strictly = ndarray::Array2::from_shape_fn((d, d), |(i, j)| f64::from(i > j));
        matrix * matrix.graph().array(&strictly.into_dyn())
    }

    /// A matrix `[…, D, D]` with these numbers below the diagonal and, but for its first element, on it
    /// (`[…, D − 1]`).
    #[track_caller]
    fn laid_out(&self, below: Var<'g>, first: f64, diagonal: Var<'g>) -> Var<'g> {
        let axis = diagonal.shape().rank() - 1;
        let mut shape = diagonal.shape().dims().to_vec();
        shape[axis] = 1;
        let first = diagonal.constant(first).broadcast_to(shape);
        self.below_diagonal(below) + diagonal.graph().concat(&[first, diagonal], axis).diagonal_matrix()
    }
}

impl<'g> Distribution<'g> for LKJCholesky<'g> {
    fn name(&self) -> &'static str {
        "LKJCholesky"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive }]
    }

    fn event_shape(&self) -> Shape {
        Shape::from([self.dimension, self.dimension])
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        if self.dimension == 0 {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "matrices of at least one row".to_owned(),
                got: self.event_shape(),
                source_line: Source::caller(),
            });
        }
        Ok(self.concentration.shape())
    }

    fn support(&self) -> Constraint {
        Constraint::CorrelationCholesky
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (b, _) = self.shapes(value.graph());
        unless_event(Constraint::CorrelationCholesky.outside(value), value, 2, 1.0, |value| {
            let diagonal = value.diagonal();
            let axis = diagonal.shape().rank().saturating_sub(1);
            let logs = diagonal.slice(axis, 1..).log();
            sum_last((2.0 * b - 2.0) * logs, 1) - self.log_normaliser(value.graph())
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = self.batch_shape()?;
        let (b, _) = self.shapes(noise.graph());
        let b = b.broadcast_to(batch.concat(&Shape::from(self.dimension - 1)));
        let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&batch).concat(&self.event_shape()))?;
        // χ² = 2G; as a logarithm, for it may be too small for a number.
        let log_chi_squared = log_standard_gamma(b, &prefix.concat(&b.shape()), noise)? + LN_2;
        let axis = log_chi_squared.shape().rank() - 1;
        let squares = sum_last(self.below_diagonal(z).square(), 1).slice(axis, 1..);
        let log_length = 0.5 * (log_chi_squared + (squares.log() - log_chi_squared).softplus());
        let diagonal = (0.5 * log_chi_squared - log_length).exp();
        let inverse = (-log_length).exp().pad(axis, 1, 0);
        Ok(self.laid_out(z * column(inverse), 1.0, diagonal))
    }

    /// 0 below the diagonal; `Γ(b_i + ½) Γ(b_i + ½ i) / (Γ(b_i) Γ(b_i + ½ i + ½))` on it.
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (b, halves) = self.shapes(graph);
        let sum = b + halves;
        let half = b.constant(0.5);
        let diagonal = (b.log_gamma_ratio(half) - sum.log_gamma_ratio(half)).exp();
        Some(self.laid_out(diagonal.constant(0.0), 1.0, diagonal))
    }

    /// The identity for a concentration of 1 and more; below, where the density has no largest value, NaN.
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let peaked = column(column(self.concentration(graph).greater_equal(1.0)));
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        Some(peaked.broadcast_to(shape).select(identity(graph, self.dimension), f64::NAN))
    }

    /// `½/(b_i + ½ i)` below the diagonal; `b_i/(b_i + ½ i)` less the squared mean on it.
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (b, halves) = self.shapes(graph);
        let sum = b + halves;
        let half = b.constant(0.5);
        // The logarithm of squared mean by mean square.
        let log = 2.0 * (b.log_gamma_ratio(half) - sum.log_gamma_ratio(half)) + (halves / b).log1p();
        let diagonal = -(b / sum) * log.expm1();
        let axis = b.shape().rank() - 1;
        let rows = column((0.5 / sum).pad(axis, 1, 0));
        Some(self.laid_out(rows, 0.0, diagonal))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (b, _) = self.shapes(graph);
        let logs = sum_last((b - 1.0) * self.digamma_differences(graph), 1);
        Some(self.log_normaliser(graph) + logs)
    }
}
