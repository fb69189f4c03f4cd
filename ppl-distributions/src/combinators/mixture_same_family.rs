//! Mixtures of distributions of one family.

use crate::discrete::categorical::Categorical;
use crate::shared::arrays::{column, counting, last, leading, sum_last, together};
use crate::shared::bisect::{count_of_log_between, quantile_between, quantile_of_log_between};
use crate::shared::log_space::by_smaller;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Graph, Noise, Parameter, Result, Shape, Source, Var,
};

/// A mixture of `K` distributions of one family, which stand along the last axis of a batch.
///
/// ```text
/// ln p(x) = ln Σ_k w_k p_k(x)        w: probabilities of `mixing`, [batch…, K];   p_k: `components`, batch [batch…, K]
/// ```
///
/// The component is summed out, so a record's likelihood has no discrete latent value. A draw chooses a
/// component by a uniform number and takes its outcome: exact, but not differentiable with respect to the
/// weights, so [`reparameterised`](Distribution::reparameterised) is false.
///
/// A Gaussian mixture over records, with a prior for everything:
///
/// ```
/// use ppl_core::{Ctx, Distribution, Graph, Result, Schema, Unconstrained, trace};
/// use ppl_distributions::{Categorical, Combine, Dirichlet, HalfNormal, MixtureSameFamily, Normal};
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let (k, d) = (5, ctx.records().dim("x")?);
///     let weights = ctx.sample("weights", Dirichlet::symmetric(1.0, k))?;
///     let locs = ctx.sample("locs", Normal::new(0.0, 1.0).iid([k, d]))?;
///     let scales = ctx.sample("scales", HalfNormal::new(2.0).iid([k, 1]))?;
///     ctx.each_record(|ctx, record| {
///         let components = Normal::new(locs, scales).independent(1);
///         ctx.observe("x", MixtureSameFamily::new(Categorical::from_probs(weights), components), record.get("x")?)
///     })
/// }
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 2)])?);
/// assert_eq!(trace(&model, &graph, &schema, Unconstrained)?.sites().len(), 4);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MixtureSameFamily<'g, D> {
    mixing: Categorical<'g>,
    components: D,
}

impl<'g, D: Distribution<'g>> MixtureSameFamily<'g, D> {
    /// Weights, and the components along the last axis of their batch.
    pub fn new(mixing: Categorical<'g>, components: D) -> Self {
        Self { mixing, components }
    }

    /// The distribution of the component's number.
    pub fn mixing(&self) -> &Categorical<'g> {
        &self.mixing
    }

    /// The components.
    pub fn components(&self) -> &D {
        &self.components
    }

    /// An array of outcomes `[…, event]`, the same for each component: `[…, K, event]`.
    #[track_caller]
    fn for_each_component(&self, value: Var<'g>) -> Var<'g> {
        let (shape, event) = (value.shape(), self.event_shape());
        let outcomes = leading(&shape, event.rank());
        let batch = self.batch_shape().unwrap_or_default();
        let outcomes_of_all = outcomes.broadcast(&batch).unwrap_or_else(|| outcomes.clone());
        let beside = outcomes.concat(&Shape::from(1)).concat(&event);
        let of_all = outcomes_of_all.concat(&Shape::from(self.mixing.categories())).concat(&event);
        value.reshape(beside).broadcast_to(of_all)
    }

    /// The quantile by the logarithm of the lower or of the upper tail, by halving the interval between the components'
    /// quantiles.
    #[track_caller]
    fn of_log(&self, log_probability: Var<'g>, upper: bool) -> Option<Var<'g>> {
        if !self.event_shape().is_scalar() {
            return None;
        }
        let beside = self.for_each_component(log_probability);
        let of_each = match upper {
            true => self.components.quantile_of_log_sf(beside)?,
            false => self.components.quantile_of_log_cdf(beside)?,
        };
        let axis = of_each.shape().rank().checked_sub(1)?;
        let ends = [of_each.min_axis(axis), of_each.max_axis(axis)];
        let tail = |x: Var<'g>| if upper { self.log_sf(x) } else { self.log_cdf(x) };
        if self.support().is_discrete() {
            return count_of_log_between(log_probability, ends, upper, tail);
        }
        quantile_of_log_between(log_probability, ends, upper, tail, |x| self.log_prob(x))
    }

    /// `Σ_k w_k x_k` of an array `[…, K, event]`.
    #[track_caller]
    fn weighted(&self, array: Var<'g>) -> Var<'g> {
        weighted_sum(self.mixing.probs(array.graph()), array, self.event_shape().rank())
    }
}

/// Sums `weights · array` over the axis of the components: weights `[…, K]`, array `[…, K, event]`.
#[track_caller]
pub(crate) fn weighted_sum<'g>(weights: Var<'g>, array: Var<'g>, event_rank: usize) -> Var<'g> {
    let ones = Shape::from(vec![1; event_rank]);
    let product = weights.reshape(weights.shape().concat(&ones)) * array;
    product.sum_axis(product.shape().rank().saturating_sub(event_rank + 1))
}

/// Of outcomes of each component, `[…, K, event]`, that of the chosen one, `[…]`. It is a choice and not a
/// product: an outcome of another component may be infinite.
#[track_caller]
pub(crate) fn chosen<'g>(component: Var<'g>, outcomes: Var<'g>, event_rank: usize) -> Var<'g> {
    let shape = outcomes.shape();
    let axis = shape.rank().saturating_sub(event_rank + 1);
    let categories = shape.dims().get(axis).copied().unwrap_or(0);
    let is_chosen = column(component).equal(counting(component.graph(), categories));
    let ones = Shape::from(vec![1; event_rank]);
    let beside = is_chosen.reshape(is_chosen.shape().concat(&ones)).broadcast_to(shape);
    beside.select(outcomes, 0.0).sum_axis(axis)
}

/// `ln Σ_k w_k e^{log_k}` along the last axis.
#[track_caller]
pub(crate) fn log_mixture<'g>(mixing: &Categorical<'g>, logs: Var<'g>) -> Var<'g> {
    let (log_weights, log_total) = mixing.log_weights(logs.graph());
    let terms = log_weights + logs;
    let log_sum = terms.log_sum_exp_axis(terms.shape().rank().saturating_sub(1));
    log_total.map_or(log_sum, |total| log_sum - total)
}

impl<'g, D: Distribution<'g>> Distribution<'g> for MixtureSameFamily<'g, D> {
    fn name(&self) -> &'static str {
        "MixtureSameFamily"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.mixing.parameters();
        parameters.extend(self.components.parameters());
        parameters
    }

    fn event_shape(&self) -> Shape {
        self.components.event_shape()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let (weights, components) = (self.mixing.batch_shape()?, self.components.batch_shape()?);
        let categories = Shape::from(self.mixing.categories());
        if last(&components, 1) != categories {
            return Err(Error::ShapeMismatch {
                operation: self.name(),
                left: weights.concat(&categories),
                right: components,
                source_line: Source::caller(),
            });
        }
        together(self.name(), &weights, &leading(&components, 1))
    }

    fn support(&self) -> Constraint {
        self.components.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        log_mixture(&self.mixing, self.components.log_prob(self.for_each_component(value)))
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = self.batch_shape()?;
        let component = Expanded::new(&self.mixing, batch.clone()).draw(prefix, noise)?;
        let all = batch.concat(&Shape::from(self.mixing.categories()));
        let outcomes = Expanded::new(&self.components, all).draw(prefix, noise)?;
        Ok(chosen(component, outcomes, self.event_shape().rank()))
    }

    fn reparameterised(&self) -> bool {
        false
    }

    /// `Σ_k w_k μ_k`
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.weighted(self.components.mean(graph)?))
    }

    /// `Σ_k w_k (σ_k² + (μ_k − μ)²)`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (means, variances) = (self.components.mean(graph)?, self.components.variance(graph)?);
        let mean = self.for_each_component(self.weighted(means));
        Some(self.weighted(variances + (means - mean).square()))
    }

    /// `Σ_k w_k F_k(x)`
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let of_each = self.components.cdf(self.for_each_component(value))?;
        Some(sum_last(self.mixing.probs(value.graph()) * of_each, 1).min(1.0))
    }

    /// `Σ_k w_k (1 − F_k(x))`
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let of_each = self.components.sf(self.for_each_component(value))?;
        Some(sum_last(self.mixing.probs(value.graph()) * of_each, 1).min(1.0))
    }

    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let log = log_mixture(&self.mixing, self.components.log_cdf(self.for_each_component(value))?);
        Some(by_smaller(log, self.sf(value)?))
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let log = log_mixture(&self.mixing, self.components.log_sf(self.for_each_component(value))?);
        Some(by_smaller(log, self.cdf(value)?))
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.of_log(log_probability, false)
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.of_log(log_probability, true)
    }

    /// By halving the interval between the components' quantiles.
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        if !self.event_shape().is_scalar() {
            return None;
        }
        let of_each = self.components.quantile(self.for_each_component(probability))?;
        let axis = of_each.shape().rank().checked_sub(1)?;
        let ends = [of_each.min_axis(axis), of_each.max_axis(axis)];
        let discrete = self.support().is_discrete();
        quantile_between(probability, ends, discrete, |x| self.cdf(x), |x| self.log_prob(x))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.mixing.validate()?;
        self.components.validate()?;
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.mixing.kind().max(self.components.kind())
    }
}
