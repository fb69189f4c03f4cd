//! The multivariate Student's t distribution.

use crate::shared::arrays::{
    batch_of, column, last, leading, solve_vectors, sum_last, together, transposed, vectors_times,
    whole_shape,
};
use crate::shared::gamma_noise::log_standard_gamma;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{LN_2, PI};

/// The distribution of `loc + L z √(df/χ²)` for `z` standard normal and `χ²` of `df` degrees of freedom.
///
/// ```text
/// ln p(x) = ln Γ((ν + d)/2) − ln Γ(ν/2) − ½ d ln(νπ) − Σ_i ln L_ii − ½ (ν + d) ln(1 + ‖L⁻¹(x − loc)‖²/ν)
///     ν = df > 0,   x, loc: [d],   L: [d, d] lower triangular with a positive diagonal
/// ```
///
/// Leading axes of the parameters are a batch. A draw's derivative with respect to `df` is that of the
/// quantile of a gamma distribution (implicit). There is a mean for `df > 1` (else NaN) and a variance for
/// `df > 2` (∞ for `1 < df ≤ 2`, else NaN).
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::MultivariateStudentT;
/// let graph = Graph::new();
/// let identity = graph.array(&ndarray::Array2::eye(2).into_dyn());
/// let x = graph.input("x", 2)?;
/// let log_prob = MultivariateStudentT::new(2.0, 0.0, identity).log_prob(x);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("x", &[1.0, 1.0])?;
/// plan.run();
/// // 1/(2π) (1 + ‖x‖²/2)⁻²
/// assert!((plan.output(0)[0] + (8.0 * std::f64::consts::PI).ln()).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MultivariateStudentT<'g> {
    df: Value<'g>,
    loc: Value<'g>,
    scale_tril: Value<'g>,
}

impl<'g> MultivariateStudentT<'g> {
    /// Degrees of freedom, `[…]`; centre, `[…, d]` or one number for all elements; lower triangular scale,
    /// `[…, d, d]`.
    pub fn new(
        df: impl Into<Value<'g>>,
        loc: impl Into<Value<'g>>,
        scale_tril: impl Into<Value<'g>>,
    ) -> Self {
        Self { df: df.into(), loc: loc.into(), scale_tril: scale_tril.into() }
    }

    fn dimension(&self) -> usize {
        self.scale_tril.shape().dims().last().copied().unwrap_or(0)
    }

    /// `ln Γ((ν + d)/2) − ln Γ(ν/2) − ½ d ln(νπ) − Σ ln L_ii`
    #[track_caller]
    fn log_normaliser(&self, graph: &'g Graph) -> Var<'g> {
        let (df, half) = (self.df.on(graph), 0.5 * self.dimension() as f64);
        let ratio = (0.5 * df).log_gamma_ratio(half);
        ratio - half * (PI * df).log() - sum_last(self.scale_tril.on(graph).diagonal().log(), 1)
    }
}

impl<'g> Distribution<'g> for MultivariateStudentT<'g> {
    fn name(&self) -> &'static str {
        "MultivariateStudentT"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "df", value: self.df, domain: Constraint::Positive },
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale_tril", value: self.scale_tril, domain: Constraint::LowerCholesky },
        ]
    }

    fn event_shape(&self) -> Shape {
        last(&self.scale_tril.shape(), 1)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let batch = batch_of(self.name(), &self.loc.shape(), &self.scale_tril.shape())?;
        together(self.name(), &self.df.shape(), &batch)
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let difference = value - self.loc.on(graph);
        let whitened = solve_vectors(self.scale_tril.on(graph), difference, |scale, x| scale.solve_lower(x));
        let df = self.df.on(graph);
        let tail = 0.5 * (df + self.dimension() as f64);
        self.log_normaliser(graph) - tail * (sum_last(whitened.square(), 1) / df).log1p()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = self.batch_shape()?;
        let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&batch).concat(&self.event_shape()))?;
        let graph = noise.graph();
        let df = self.df.on(graph).broadcast_to(batch);
        // χ² = 2G with G gamma of concentration ν/2.
        let log_gamma = log_standard_gamma(0.5 * df, &prefix.concat(&df.shape()), noise)?;
        let stretch = (0.5 * (df.log() - LN_2 - log_gamma)).exp();
        let moved = vectors_times(z, transposed(self.scale_tril.on(graph)));
        Ok(self.loc.on(graph) + column(stretch) * moved)
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = whole_shape(self);
        let loc = self.loc.on(graph).broadcast_to(shape.clone());
        let exists = column(self.df.on(graph).broadcast_to(leading(&shape, 1))).greater(1.0);
        Some(exists.broadcast_to(shape).select(loc, f64::NAN))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.loc.on(graph).broadcast_to(whole_shape(self)))
    }

    /// `ν/(ν − 2) Σ_j L_ij²`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = whole_shape(self);
        let df = column(self.df.on(graph).broadcast_to(leading(&shape, 1)));
        let finite = df.greater(2.0);
        let factor = 1.0 + 2.0 / (finite.select(df, 3.0) - 2.0);
        let factor = finite.select(factor, df.greater(1.0).select(f64::INFINITY, f64::NAN));
        Some((factor * sum_last(self.scale_tril.on(graph).square(), 1)).broadcast_to(shape))
    }

    /// `½ (ν + d) (ψ((ν + d)/2) − ψ(ν/2))` less the logarithm of the density at the centre.
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, half) = (self.df.on(graph), 0.5 * self.dimension() as f64);
        let tail = (0.5 * df + half) * (0.5 * df).digamma_difference(half);
        Some((tail - self.log_normaliser(graph)).broadcast_to(self.batch_shape().ok()?))
    }
}
