//! The Gaussian copula.

use crate::shared::arrays::{
    batch_of, last, leading, solve_vectors, sum_last, together, transposed, vectors_times,
};
use crate::shared::support::unless_event;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source,
    Value, Var,
};

/// A vector whose elements have laws of their own and are correlated as the elements of a normal vector are.
///
/// ```text
/// x_i = F_i⁻¹(Φ(z_i)),   z ~ N(0, L Lᵀ)
/// ln p(x) = ln N(z; 0, L Lᵀ) − Σ_i ln φ(z_i) + Σ_i ln p_i(x_i),   z_i = Φ⁻¹(F_i(x_i))
/// ```
///
/// The laws are those along the last axis of the marginals' batch; continuous, with distribution function and
/// quantiles. `z_i` is found in the logarithm of the smaller tail.
///
/// ```
/// use ppl_core::{Distribution, Graph, Shape};
/// use ppl_distributions::{Gamma, GaussianCopula};
/// let graph = Graph::new();
/// let factor = graph.array(&ndarray::arr2(&[[1.0, 0.0], [0.6, 0.8]]).into_dyn());
/// let shapes = graph.array(&ndarray::arr1(&[2.0, 5.0]).into_dyn());
/// let law = GaussianCopula::new(Gamma::new(shapes, 1.0), factor);
/// assert_eq!(law.event_shape(), Shape::from(2));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct GaussianCopula<'g, D> {
    marginals: D,
    factor: Value<'g>,
}

impl<'g, D: Distribution<'g>> GaussianCopula<'g, D> {
    /// The laws of the elements, a batch `[…, d]` or one for all, and the Cholesky factor of their correlation
    /// matrix, `[…, d, d]`, whose rows have length 1.
    pub fn new(marginals: D, correlation_cholesky: impl Into<Value<'g>>) -> Self {
        Self { marginals, factor: correlation_cholesky.into() }
    }

    /// The laws of the elements.
    pub fn marginals(&self) -> &D {
        &self.marginals
    }

    fn own(&self) -> Parameter<'g> {
        Parameter {
            name: "correlation_cholesky",
            value: self.factor,
            domain: Constraint::CorrelationCholesky,
        }
    }

    /// `Φ⁻¹(F(x))` for each element.
    #[track_caller]
    fn scores(&self, value: Var<'g>) -> Option<Var<'g>> {
        let right = self.marginals.cdf(value)?.greater(0.5);
        let below = right.select(-1.0, self.marginals.log_cdf(value)?).ndtri_exp();
        let above = right.select(self.marginals.log_sf(value)?, -1.0).ndtri_exp();
        Some(right.select(-above, below))
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for GaussianCopula<'g, D> {
    fn name(&self) -> &'static str {
        "GaussianCopula"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.marginals.parameters();
        parameters.push(self.own());
        parameters
    }

    fn event_shape(&self) -> Shape {
        last(&self.factor.shape(), 1)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let factors = batch_of(self.name(), &Shape::scalar(), &self.factor.shape())?;
        let (marginals, event) = (self.marginals.batch_shape()?, self.event_shape());
        let fits = marginals.is_scalar() || last(&marginals, 1).broadcast(&event) == Some(event.clone());
        if !fits || !self.marginals.event_shape().is_scalar() || self.marginals.support().is_discrete() {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: format!("{event} continuous distributions of single numbers along the last axis"),
                got: marginals,
                source_line: Source::caller(),
            });
        }
        together(self.name(), &factors, &leading(&marginals, 1))
    }

    fn support(&self) -> Constraint {
        self.marginals.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let density = |value: Var<'g>| {
            let Some(z) = self.scores(value) else { return value.constant(f64::NAN) };
            let factor = self.factor.on(graph);
            let whitened = solve_vectors(factor, z, |factor, z| factor.solve_lower(z));
            let densities = sum_last(self.marginals.log_prob(value), 1);
            let copula = 0.5 * sum_last(z.square() - whitened.square(), 1);
            copula - sum_last(factor.diagonal().log(), 1) + densities
        };
        // In the place of what lies outside, the medians.
        let outside = self.marginals.support().outside(value).map(|outside| sum_last(outside, 1));
        match self.marginals.quantile(graph.constant(0.5)) {
            Some(median) => unless_event(outside, value, 1, median, density),
            None => density(value),
        }
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?).concat(&self.event_shape());
        let factor = transposed(self.factor.on(noise.graph()));
        let z = vectors_times(noise.draw(NoiseKind::StandardNormal, shape)?, factor);
        let drawn = self.marginals.quantile(z.log_ndtr().exp());
        drawn.ok_or_else(|| {
            let name = self.marginals.name();
            Error::Unsupported(format!("a draw from GaussianCopula of {name}, which has no quantiles"))
        })
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        Expanded::new(&self.marginals, shape).mean(graph)
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        Expanded::new(&self.marginals, shape).variance(graph)
    }

    /// `Σ_i H_i + Σ_i ln L_ii`
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        let marginals = Expanded::new(&self.marginals, shape).entropy(graph)?;
        Some(sum_last(marginals, 1) + sum_last(self.factor.on(graph).diagonal().log(), 1))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.marginals.validate()?;
        self.own().check(self.name())?;
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.marginals.kind().max(self.factor.kind())
    }
}
