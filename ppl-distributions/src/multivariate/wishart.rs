//! The Wishart distribution and its inverse.

use crate::shared::arrays::{batch_of, column, constants, identity, last, leading, sum_last, transposed};
use crate::shared::gamma_noise::log_standard_gamma;
use crate::shared::support::unless_event;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{LN_2, PI};

/// Degrees of freedom and a matrix, by itself or by its Cholesky factor.
#[derive(Clone, Copy, Debug)]
struct Spread<'g> {
    df: Value<'g>,
    matrix: Value<'g>,
    factored: bool,
}

impl<'g> Spread<'g> {
    fn dimension(&self) -> usize {
        self.matrix.shape().dims().last().copied().unwrap_or(0)
    }

    fn parameters(&self, name: &'static str, factor: &'static str) -> Vec<Parameter<'g>> {
        let least = self.dimension() as f64 - 1.0;
        let (name, domain) = match self.factored {
            true => (factor, Constraint::LowerCholesky),
            false => (name, Constraint::PositiveDefinite),
        };
        vec![
            Parameter { name: "df", value: self.df, domain: Constraint::GreaterThan(least) },
            Parameter { name, value: self.matrix, domain },
        ]
    }

    #[track_caller]
    fn batch_shape(&self, operation: &'static str) -> Result<Shape> {
        batch_of(operation, &self.df.shape().concat(&Shape::from(1)), &self.matrix.shape())
    }

    fn event_shape(&self) -> Shape {
        last(&self.matrix.shape(), 2)
    }

    /// The lower triangular factor, `[…, d, d]`.
    #[track_caller]
    fn factor(&self, graph: &'g Graph) -> Var<'g> {
        let matrix = self.matrix.on(graph);
        if self.factored { matrix } else { matrix.cholesky() }
    }

    /// The matrix itself, `[…, d, d]`.
    #[track_caller]
    fn scale(&self, graph: &'g Graph) -> Var<'g> {
        let matrix = self.matrix.on(graph);
        if self.factored { matrix.matmul(transposed(matrix)) } else { matrix }
    }

    /// `½ (ν − i)` along a new last axis, for the rows `i` of a matrix.
    #[track_caller]
    fn halves(&self, graph: &'g Graph) -> Var<'g> {
        let df = self.df.on(graph);
        0.5 * (column(df) - constants(graph, (0..self.dimension()).map(|i| i as f64)))
    }

    /// `½ ν d ln 2 + ln Γ_d(½ ν)`, with the multivariate gamma function (NIST DLMF 35.3.4).
    #[track_caller]
    fn log_gammas(&self, graph: &'g Graph) -> Var<'g> {
        let d = self.dimension() as f64;
        let constant = 0.25 * d * (d - 1.0) * PI.ln();
        0.5 * d * LN_2 * self.df.on(graph) + sum_last(self.halves(graph).lgamma(), 1) + constant
    }

    /// `½ ν d + ln Γ_d(½ ν) − ½ (ν + turns) Σ_i ψ(½ (ν − i))`: of the entropies what depends on degrees of freedom
    /// only.
    #[track_caller]
    fn entropy_of_df(&self, graph: &'g Graph, turns: f64) -> Var<'g> {
        let (df, d) = (self.df.on(graph), self.dimension() as f64);
        let digammas = sum_last(self.halves(graph).digamma(), 1);
        self.log_gammas(graph) + 0.5 * d * (1.0 - LN_2) * df - 0.5 * (df + turns) * digammas
    }

    /// The log density of a positive definite matrix; −∞ of others.
    #[track_caller]
    fn if_definite(&self, value: Var<'g>, log_prob: impl FnOnce(Var<'g>) -> Var<'g>) -> Var<'g> {
        let outside = Constraint::PositiveDefinite.outside(value);
        unless_event(outside, value, 2, identity(value.graph(), self.dimension()), log_prob)
    }

    /// The lower triangular `A` of Bartlett: `A Aᵀ` is a Wishart variable of the identity.
    fn bartlett(&self, operation: &'static str, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape(operation)?);
        let square = shape.concat(&self.event_shape());
        let z = noise.draw(NoiseKind::StandardNormal, square)?;
        let rows = shape.concat(&last(&self.matrix.shape(), 1));
        let halves = self.halves(noise.graph()).broadcast_to(rows.clone());
        let diagonal = (0.5 * (log_standard_gamma(halves, &rows, noise)? + LN_2)).exp();
        let below = z.lower_triangle() - z.diagonal().diagonal_matrix();
        Ok(below + diagonal.diagonal_matrix())
    }
}

/// A matrix for each matrix of another array.
#[track_caller]
fn for_each<'g>(matrix: Var<'g>, like: Var<'g>) -> Var<'g> {
    let batch = leading(&like.shape(), 2);
    let together = batch.broadcast(&leading(&matrix.shape(), 2)).unwrap_or(batch);
    matrix.broadcast_to(together.concat(&last(&matrix.shape(), 2)))
}

/// `Σ_i ln C_ii`; NaN where there is no factor.
#[track_caller]
fn log_diagonal(factor: Var<'_>) -> Var<'_> {
    sum_last(factor.diagonal().log(), 1)
}

/// The Wishart distribution: of `Σ_i x_i x_iᵀ` for `df` independent normal vectors with covariance `scale`, and
/// for degrees of freedom that are no integer.
///
/// ```text
/// ln p(X) = ½ (ν − d − 1) ln|X| − ½ tr(V⁻¹ X) − ½ ν d ln 2 − ½ ν ln|V| − ln Γ_d(½ ν)
///                                              X symmetric positive definite, d × d;   ν > d − 1
/// ```
///
/// The mean is `ν V`. A draw is Bartlett's, by gamma and normal variables.
///
/// ```
/// use ppl_core::{Distribution, Graph};
/// use ppl_distributions::Wishart;
/// let graph = Graph::new();
/// let scale = graph.array(&ndarray::arr2(&[[2.0, 0.5], [0.5, 1.0]]).into_dyn());
/// let law = Wishart::new(5.0, scale);
/// let mean = law.mean(&graph).unwrap();
/// let mut plan = ppl_core::ExecutionPlan::<f64>::new(&ppl_core::Program::new(&graph, &[mean])?);
/// plan.run();
/// assert_eq!(plan.output(0), [10.0, 2.5, 2.5, 5.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// M. S. Bartlett, "On the theory of statistical regression" (1933).
#[derive(Clone, Copy, Debug)]
pub struct Wishart<'g> {
    spread: Spread<'g>,
}

impl<'g> Wishart<'g> {
    /// Degrees of freedom, above `d − 1`, and the scale matrix, `[…, d, d]`.
    pub fn new(df: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { spread: Spread { df: df.into(), matrix: scale.into(), factored: false } }
    }

    /// Degrees of freedom, above `d − 1`, and the lower triangular factor of the scale matrix, `[…, d, d]`.
    pub fn from_cholesky(df: impl Into<Value<'g>>, scale_tril: impl Into<Value<'g>>) -> Self {
        Self { spread: Spread { df: df.into(), matrix: scale_tril.into(), factored: true } }
    }
}

impl<'g> Distribution<'g> for Wishart<'g> {
    fn name(&self) -> &'static str {
        "Wishart"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.spread.parameters("scale", "scale_tril")
    }

    fn event_shape(&self) -> Shape {
        self.spread.event_shape()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.spread.batch_shape(self.name())
    }

    fn support(&self) -> Constraint {
        Constraint::PositiveDefinite
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (df, d) = (self.spread.df.on(graph), self.spread.dimension() as f64);
        self.spread.if_definite(value, |value| {
            let (own, scale) = (value.cholesky(), self.spread.factor(graph));
            let ratio = for_each(scale, own).solve_lower(for_each(own, scale));
            let trace = sum_last(ratio.square(), 2);
            (df - (d + 1.0)) * log_diagonal(own)
                - 0.5 * trace
                - df * log_diagonal(scale)
                - self.spread.log_gammas(graph)
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let bartlett = self.spread.bartlett(self.name(), prefix, noise)?;
        let factor = for_each(self.spread.factor(noise.graph()), bartlett).matmul(bartlett);
        Ok(factor.matmul(transposed(factor)))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(column(column(self.spread.df.on(graph))) * self.spread.scale(graph))
    }

    /// `ν (V_ij² + V_ii V_jj)`
    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.spread.scale(graph);
        let diagonal = column(scale.diagonal());
        let both = diagonal * transposed(diagonal);
        Some(column(column(self.spread.df.on(graph))) * (scale.square() + both))
    }

    /// `(ν − d − 1) V` for `ν ≥ d + 1`; NaN below, where singular matrices are the most probable.
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let rest = self.spread.df.on(graph) - (self.spread.dimension() as f64 + 1.0);
        let rest = column(column(rest.greater_equal(0.0).select(rest, f64::NAN)));
        Some(rest * self.spread.scale(graph))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let d = self.spread.dimension() as f64;
        let size = (d + 1.0) * (log_diagonal(self.spread.factor(graph)) + 0.5 * d * LN_2);
        Some(size + self.spread.entropy_of_df(graph, -(d + 1.0)))
    }
}

/// The inverse Wishart distribution: of the inverse of a Wishart variable, as a prior of covariance matrices.
///
/// ```text
/// ln p(X) = ½ ν ln|Ψ| − ½ (ν + d + 1) ln|X| − ½ tr(Ψ X⁻¹) − ½ ν d ln 2 − ln Γ_d(½ ν)
///                                              X symmetric positive definite, d × d;   ν > d − 1
/// ```
///
/// The mean is `Ψ/(ν − d − 1)` for `ν > d + 1`, else infinite or NaN.
///
/// ```
/// use ppl_core::{Distribution, Graph};
/// use ppl_distributions::InverseWishart;
/// let graph = Graph::new();
/// let scale = graph.array(&ndarray::Array2::eye(2).into_dyn());
/// assert_eq!(InverseWishart::new(5.0, scale).event_shape(), ppl_core::Shape::from([2, 2]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InverseWishart<'g> {
    spread: Spread<'g>,
}

impl<'g> InverseWishart<'g> {
    /// Degrees of freedom, above `d − 1`, and the scale matrix, `[…, d, d]`.
    pub fn new(df: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { spread: Spread { df: df.into(), matrix: scale.into(), factored: false } }
    }

    /// Degrees of freedom, above `d − 1`, and the lower triangular factor of the scale matrix, `[…, d, d]`.
    pub fn from_cholesky(df: impl Into<Value<'g>>, scale_tril: impl Into<Value<'g>>) -> Self {
        Self { spread: Spread { df: df.into(), matrix: scale_tril.into(), factored: true } }
    }
}

impl<'g> Distribution<'g> for InverseWishart<'g> {
    fn name(&self) -> &'static str {
        "InverseWishart"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.spread.parameters("scale", "scale_tril")
    }

    fn event_shape(&self) -> Shape {
        self.spread.event_shape()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.spread.batch_shape(self.name())
    }

    fn support(&self) -> Constraint {
        Constraint::PositiveDefinite
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (df, d) = (self.spread.df.on(graph), self.spread.dimension() as f64);
        self.spread.if_definite(value, |value| {
            let (own, scale) = (value.cholesky(), self.spread.factor(graph));
            let ratio = for_each(own, scale).solve_lower(for_each(scale, own));
            let trace = sum_last(ratio.square(), 2);
            df * log_diagonal(scale)
                - (df + (d + 1.0)) * log_diagonal(own)
                - 0.5 * trace
                - self.spread.log_gammas(graph)
        })
    }

    /// `X = L A⁻ᵀ A⁻¹ Lᵀ` with the `A` of Bartlett: the inverse of `L⁻ᵀ A Aᵀ L⁻¹`, a Wishart variable of `Ψ⁻¹`.
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let bartlett = self.spread.bartlett(self.name(), prefix, noise)?;
        let right = for_each(transposed(self.spread.factor(noise.graph())), bartlett);
        let half = bartlett.solve_lower(right);
        Ok(transposed(half).matmul(half))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let d = self.spread.dimension() as f64;
        let rest = self.spread.df.on(graph) - (d + 1.0);
        let exists = column(column(rest.greater(0.0)));
        Some(exists.select(self.spread.scale(graph) / column(column(rest)), f64::NAN))
    }

    /// `((ν − d + 1) Ψ_ij² + (ν − d − 1) Ψ_ii Ψ_jj)/((ν − d) (ν − d − 1)² (ν − d − 3))` for `ν > d + 3`, else NaN.
    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.spread.scale(graph);
        let diagonal = column(scale.diagonal());
        let rest = column(column(self.spread.df.on(graph) - self.spread.dimension() as f64));
        let exists = rest.greater(3.0);
        let rest = exists.select(rest, 4.0);
        let both = (rest + 1.0) * scale.square() + (rest - 1.0) * (diagonal * transposed(diagonal));
        let variance = both / (rest * (rest - 1.0).square() * (rest - 3.0));
        Some(exists.broadcast_to(variance.shape()).select(variance, f64::NAN))
    }

    /// `Ψ/(ν + d + 1)`
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let count = self.spread.df.on(graph) + (self.spread.dimension() as f64 + 1.0);
        Some(self.spread.scale(graph) / column(column(count)))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let d = self.spread.dimension() as f64;
        let size = (d + 1.0) * (log_diagonal(self.spread.factor(graph)) - 0.5 * d * LN_2);
        Some(size + self.spread.entropy_of_df(graph, d + 1.0))
    }
}
