//! Ordered categories by a normal variable.

use crate::shared::arrays::sum_last;
use crate::shared::categories::{likeliest, skewness_of};
use crate::shared::cutpoints::{Cutpoints, exceeded};
use crate::shared::helpers::uniform_noise;
use crate::shared::quantiles::of_probability;
use crate::shared::support::within;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// In which of K ordered categories a normal variable falls, between K − 1 increasing cutpoints.
///
/// ```text
/// P(Y = k) = Φ(c_k − η) − Φ(c_(k−1) − η)        c_(−1) = −∞, c_(K−1) = ∞
/// ```
///
/// As [`OrderedLogistic`](crate::OrderedLogistic), with a standard normal variable around the predictor `η` in the
/// place of a logistic one. The logarithm is computed in the tails, however far ([`Var::log_ndtr_difference`]).
///
/// ```
/// use ppl_core::{Distribution, Graph};
/// use ppl_distributions::OrderedProbit;
/// let graph = Graph::new();
/// let cutpoints = graph.array(&ndarray::arr1(&[-1.0, 1.0]).into_dyn());
/// let middle = OrderedProbit::new(0.0, cutpoints).log_prob(graph.constant(1.0)).exp();
/// let mut plan = ppl_core::ExecutionPlan::<f64>::new(&ppl_core::Program::new(&graph, &[middle])?);
/// plan.run();
/// assert!((plan.output(0)[0] - 0.682_689_492_137_085_9).abs() < 1e-15); // within one standard deviation
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OrderedProbit<'g> {
    ordered: Cutpoints<'g>,
}

impl<'g> OrderedProbit<'g> {
    /// Mean of the normal variable, a number or an array; and the cutpoints, increasing along the last axis.
    pub fn new(predictor: impl Into<Value<'g>>, cutpoints: impl Into<Value<'g>>) -> Self {
        Self { ordered: Cutpoints { predictor: predictor.into(), cutpoints: cutpoints.into() } }
    }

    /// The distance at the cutpoint of this number, or 0 where there is none.
    #[track_caller]
    fn at(&self, number: Var<'g>) -> Var<'g> {
        self.ordered.at(number, self.ordered.distances(number.graph()))
    }

    /// Logarithms of the probabilities of all categories along the last axis.
    #[track_caller]
    fn log_probs(&self, graph: &'g Graph) -> Var<'g> {
        let each = |ordered: Cutpoints<'g>, outcomes: Var<'g>| Self { ordered }.log_prob(outcomes);
        self.ordered.log_probs(graph, self.name(), each)
    }

    /// How many cutpoints have a distribution function below a probability.
    #[track_caller]
    fn exceeded(&self, probability: Var<'g>) -> Var<'g> {
        exceeded(self.ordered.distances(probability.graph()).log_ndtr().exp(), probability)
    }
}

impl<'g> Distribution<'g> for OrderedProbit<'g> {
    fn name(&self) -> &'static str {
        "OrderedProbit"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.ordered.parameters()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.ordered.batch_shape(self.name())
    }

    fn support(&self) -> Constraint {
        self.ordered.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        within(Distribution::support(self), value, 0.0, |value| {
            let last = self.ordered.count() as f64;
            let (is_first, is_last) = (value.less(0.5), value.greater(last - 0.5));
            let (below, above) = (self.at(value - 1.0), self.at(value));
            let inner = 1.0 - (is_first + is_last).min(1.0);
            let between = inner.select(below, -1.0).log_ndtr_difference(inner.select(above, 1.0));
            // With no cutpoint there is one category, which is certain.
            let end = is_first.select(is_last.select(0.0, above.log_ndtr()), (-below).log_ndtr());
            inner.select(between, end)
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = uniform_noise(self, prefix, noise)?;
        Ok(self.exceeded(uniform))
    }

    /// `Σ_k P(Y > k)`
    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(sum_last((-self.ordered.distances(graph)).log_ndtr().exp(), 1))
    }

    /// `Σ_k (2k + 1) P(Y > k)` less the squared mean.
    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let above = (-self.ordered.distances(graph)).log_ndtr().exp();
        Some(
            sum_last((2.0 * self.ordered.numbers(self.ordered.count(), graph) + 1.0) * above, 1)
                - self.mean(graph)?.square(),
        )
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let log_probs = self.log_probs(graph);
        // A category of probability 0 adds nothing.
        Some(-sum_last(log_probs.exp() * log_probs.max(-1e30), 1))
    }

    /// The first of the most probable categories.
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(likeliest(self.log_probs(graph)))
    }

    /// Of the categories' numbers.
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(skewness_of(self.log_probs(graph).exp()))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let last = self.ordered.count() as f64;
        let category = value.floor();
        let inside = category.greater_equal(0.0) * category.less(last);
        let within = inside.select(self.at(category).log_ndtr().exp(), 0.0);
        Some(within + category.greater_equal(last))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let last = self.ordered.count() as f64;
        let category = value.floor();
        let inside = category.greater_equal(0.0) * category.less(last);
        let within = inside.select((-self.at(category)).log_ndtr().exp(), 0.0);
        Some(within + category.less(0.0))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.ordered.log_cdf(value, Var::log_ndtr))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.ordered.log_sf(value, Var::log_ndtr))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.exceeded(probability)))
    }
}
