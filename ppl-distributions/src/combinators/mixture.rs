//! Mixtures of distributions of different families.

use crate::combinators::mixture_same_family::{chosen, log_mixture, weighted_sum};
use crate::discrete::categorical::Categorical;
use crate::shared::arrays::together;
use crate::shared::bisect::{count_of_log_between, quantile_between, quantile_of_log_between};
use crate::shared::log_space::by_smaller;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Graph, Noise, Parameter, Result, Shape, Source, Var,
};
use std::rc::Rc;

/// A mixture of distributions of any families that have one support.
///
/// ```text
/// ln p(x) = ln Σ_k w_k p_k(x)        w: probabilities of `mixing`, [batch…, K];   p_k: K distributions, batch [batch…]
/// ```
///
/// Otherwise as [`MixtureSameFamily`](crate::MixtureSameFamily), which is faster where it fits. Its events
/// must be of one shape, and the supports equal: a component that does not reach everywhere has no density
/// there, and another bijection.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{Categorical, Combine, HalfNormal, Mixture, Normal, Exp};
/// let graph = Graph::new();
/// let weights = Categorical::from_probs(graph.array(&array![0.25, 0.75].into_dyn()));
/// let mixture = Mixture::new(weights).of(HalfNormal::new(1.0)).of(Normal::new(0.0, 1.0).transformed(Exp));
/// mixture.validate()?;
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[mixture.log_prob(x).exp()])?);
/// plan.set("x", &[1.0])?;
/// plan.run();
/// let root = (2.0 * std::f64::consts::PI).sqrt();
/// assert!((plan.output(0)[0] - (0.25 * 2.0 * (-0.5_f64).exp() + 0.75) / root).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Mixture<'g> {
    mixing: Categorical<'g>,
    components: Vec<Rc<dyn Distribution<'g> + 'g>>,
}

impl<'g> Mixture<'g> {
    /// A mixture with these weights, which has no components yet.
    #[must_use]
    pub fn new(mixing: Categorical<'g>) -> Self {
        Self { mixing, components: Vec::new() }
    }

    /// One more component.
    #[must_use]
    pub fn of(mut self, component: impl Distribution<'g> + 'g) -> Self {
        self.components.push(Rc::new(component));
        self
    }

    /// Arrays of each component side by side: `[…, K, event]`.
    #[track_caller]
    fn stacked(&self, graph: &'g Graph, arrays: Vec<Var<'g>>, event: &Shape) -> Option<Var<'g>> {
        let whole = self.batch_shape().ok()?.concat(event);
        let mut shape = whole;
        for array in &arrays {
            shape = shape.broadcast(&array.shape())?;
        }
        let arrays: Vec<Var<'g>> =
            arrays.into_iter().map(|array| array.broadcast_to(shape.clone())).collect();
        Some(graph.stack(&arrays, shape.rank() - event.rank()))
    }

    /// A number of each component at a value, along a new last axis.
    #[track_caller]
    fn side_by_side(
        &self,
        value: Var<'g>,
        number: impl Fn(&dyn Distribution<'g>) -> Option<Var<'g>>,
    ) -> Option<Var<'g>> {
        self.stacked(value.graph(), self.of_each(number)?, &Shape::scalar())
    }

    /// The quantile by the logarithm of the lower or of the upper tail, by halving the interval between the components'
    /// quantiles.
    #[track_caller]
    fn of_log(&self, log_probability: Var<'g>, upper: bool) -> Option<Var<'g>> {
        let of_each = self.of_each(|component| match upper {
            true => component.quantile_of_log_sf(log_probability),
            false => component.quantile_of_log_cdf(log_probability),
        })?;
        let of_each = self.stacked(log_probability.graph(), of_each, &Shape::scalar())?;
        let axis = of_each.shape().rank().checked_sub(1)?;
        let ends = [of_each.min_axis(axis), of_each.max_axis(axis)];
        let tail = |x: Var<'g>| if upper { self.log_sf(x) } else { self.log_cdf(x) };
        if self.support().is_discrete() {
            return count_of_log_between(log_probability, ends, upper, tail);
        }
        quantile_of_log_between(log_probability, ends, upper, tail, |x| self.log_prob(x))
    }

    fn of_each(&self, array: impl Fn(&dyn Distribution<'g>) -> Option<Var<'g>>) -> Option<Vec<Var<'g>>> {
        self.components.iter().map(|component| array(&**component)).collect()
    }
}

/// A set of numbers with its ends.
fn with_ends(set: Constraint) -> Constraint {
    match set {
        Constraint::Positive => Constraint::NonNegative,
        Constraint::UnitInterval => Constraint::Interval(0.0, 1.0),
        Constraint::GreaterThan(low) => Constraint::AtLeast(low),
        Constraint::LessThan(high) => Constraint::AtMost(high),
        other => other,
    }
}

impl std::fmt::Debug for Mixture<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.components.iter().map(|component| component.name());
        f.debug_struct("Mixture")
            .field("mixing", &self.mixing)
            .field("components", &names.collect::<Vec<_>>())
            .finish()
    }
}

impl<'g> Distribution<'g> for Mixture<'g> {
    fn name(&self) -> &'static str {
        "Mixture"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.mixing.parameters();
        self.components.iter().for_each(|component| parameters.extend(component.parameters()));
        parameters
    }

    fn event_shape(&self) -> Shape {
        self.components.first().map(|component| component.event_shape()).unwrap_or_default()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let mut batch = self.mixing.batch_shape()?;
        if self.components.len() != self.mixing.categories() {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: format!("a weight for each of {} components", self.components.len()),
                got: batch.concat(&Shape::from(self.mixing.categories())),
                source_line: Source::caller(),
            });
        }
        for component in &self.components {
            batch = together(self.name(), &batch, &component.batch_shape()?)?;
        }
        Ok(batch)
    }

    fn support(&self) -> Constraint {
        // Ends that belong to one component's outcomes belong to those of the mixture.
        let mut supports = self.components.iter().map(|component| component.support());
        let first = supports.next().unwrap_or(Constraint::Dependent);
        if supports.all(|support| support == first) { first } else { with_ends(first) }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let logs: Vec<Var<'g>> = self.components.iter().map(|component| component.log_prob(value)).collect();
        match self.stacked(value.graph(), logs, &Shape::scalar()) {
            Some(logs) => log_mixture(&self.mixing, logs),
            None => value.graph().concat(&[], 0),
        }
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let (batch, event) = (self.batch_shape()?, self.event_shape());
        let component = Expanded::new(&self.mixing, batch.clone()).draw(prefix, noise)?;
        let mut outcomes = Vec::with_capacity(self.components.len());
        for component in &self.components {
            outcomes.push(Expanded::new(&**component, batch.clone()).draw(prefix, noise)?);
        }
        let outcomes = noise.graph().stack(&outcomes, prefix.rank() + batch.rank());
        Ok(chosen(component, outcomes, event.rank()))
    }

    fn reparameterised(&self) -> bool {
        false
    }

    /// `Σ_k w_k μ_k`
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let event = self.event_shape();
        let means = self.stacked(graph, self.of_each(|component| component.mean(graph))?, &event)?;
        Some(weighted_sum(self.mixing.probs(graph), means, event.rank()))
    }

    /// `Σ_k w_k (σ_k² + (μ_k − μ)²)`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (event, mean) = (self.event_shape(), self.mean(graph)?);
        let terms = self.of_each(|component| {
            Some(component.variance(graph)? + (component.mean(graph)? - mean).square())
        })?;
        let terms = self.stacked(graph, terms, &event)?;
        Some(weighted_sum(self.mixing.probs(graph), terms, event.rank()))
    }

    /// `Σ_k w_k F_k(x)`
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let of_each = self.side_by_side(value, |component| component.cdf(value))?;
        Some(weighted_sum(self.mixing.probs(value.graph()), of_each, 0).min(1.0))
    }

    /// `Σ_k w_k (1 − F_k(x))`
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let of_each = self.side_by_side(value, |component| component.sf(value))?;
        Some(weighted_sum(self.mixing.probs(value.graph()), of_each, 0).min(1.0))
    }

    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let log = log_mixture(&self.mixing, self.side_by_side(value, |component| component.log_cdf(value))?);
        Some(by_smaller(log, self.sf(value)?))
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let log = log_mixture(&self.mixing, self.side_by_side(value, |component| component.log_sf(value))?);
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
        let of_each = self.of_each(|component| component.quantile(probability))?;
        let of_each = self.stacked(probability.graph(), of_each, &Shape::scalar())?;
        let axis = of_each.shape().rank().checked_sub(1)?;
        let ends = [of_each.min_axis(axis), of_each.max_axis(axis)];
        let discrete = self.support().is_discrete();
        quantile_between(probability, ends, discrete, |x| self.cdf(x), |x| self.log_prob(x))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.mixing.validate()?;
        let (event, support) = (self.event_shape(), self.support());
        for component in &self.components {
            component.validate()?;
            if component.event_shape() != event {
                return Err(Error::ShapeMismatch {
                    operation: self.name(),
                    left: event,
                    right: component.event_shape(),
                    source_line: Source::caller(),
                });
            }
            if with_ends(component.support()) != with_ends(support) {
                let told = format!(
                    "a mixture of outcomes that are {support} and outcomes that are {}",
                    component.support()
                );
                return Err(Error::Unsupported(format!("{told} ({})", Source::caller())));
            }
        }
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.components.iter().map(|component| component.kind()).fold(self.mixing.kind(), Kind::max)
    }
}
