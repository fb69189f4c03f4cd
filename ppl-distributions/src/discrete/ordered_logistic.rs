//! The ordered logistic distribution.

use crate::shared::arrays::{column, sum_last};
use crate::shared::categories::{likeliest, skewness_of};
use crate::shared::cutpoints::{Cutpoints, exceeded};
use crate::shared::quantiles::of_probability;
use crate::shared::support::within;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// An ordered category: where a logistic variable with centre `predictor` falls between cutpoints.
///
/// ```text
/// P(Y ≤ k) = 1/(1 + e^−(c_k − η))        k ∈ {0, …, K − 1},   η = predictor,   c_0 < c_1 < … < c_{K−2} the cutpoints
/// ln p(k)  = −ln(1 + e^a) − ln(1 + e^−b) + ln(1 − e^−(b − a))        a = c_{k−1} − η,   b = c_k − η
/// ```
///
/// with the terms of `a` and `b` missing in the first and the last category. This form loses no digits in
/// either tail, nor where cutpoints are close together. Moments, entropy and quantiles are sums over the
/// categories. A draw counts the cutpoints that uniform noise exceeds: exact, with derivative 0.
///
/// Cutpoints are a vector along the last axis; the axes before it are independent distributions, together
/// with those of the predictor.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::OrderedLogistic;
/// let graph = Graph::new();
/// let cutpoints = graph.array(&ndarray::array![-1.0, 1.0].into_dyn());
/// let k = graph.input("k", 3)?;
/// let program = Program::new(&graph, &[OrderedLogistic::new(0.0, cutpoints).log_prob(k)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("k", &[0.0, 1.0, 2.0])?;
/// plan.run();
/// let total: f64 = plan.output(0).iter().map(|x| x.exp()).sum();
/// assert!((total - 1.0).abs() < 1e-15);
/// assert_eq!(plan.output(0)[0], plan.output(0)[2]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OrderedLogistic<'g> {
    ordered: Cutpoints<'g>,
}

impl<'g> OrderedLogistic<'g> {
    /// Centre of the logistic variable, a number or an array; and the cutpoints, increasing along the last
    /// axis.
    pub fn new(predictor: impl Into<Value<'g>>, cutpoints: impl Into<Value<'g>>) -> Self {
        Self { ordered: Cutpoints { predictor: predictor.into(), cutpoints: cutpoints.into() } }
    }

    /// Probabilities of all categories along the last axis, and their logarithms.
    #[track_caller]
    fn categories(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let each = |ordered: Cutpoints<'g>, outcomes: Var<'g>| Self { ordered }.log_prob(outcomes);
        let log_probs = self.ordered.log_probs(graph, self.name(), each);
        (log_probs.exp(), log_probs)
    }

    /// How many cutpoints have a distribution function below a probability.
    #[track_caller]
    fn exceeded(&self, probability: Var<'g>) -> Var<'g> {
        exceeded(self.ordered.distances(probability.graph()).sigmoid(), probability)
    }
}

impl<'g> Distribution<'g> for OrderedLogistic<'g> {
    fn name(&self) -> &'static str {
        "OrderedLogistic"
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
            let last = self.ordered.count();
            // The cutpoint above the category and that below it, or 0 where there is none.
            let cutpoints = self.ordered.cutpoints.on(value.graph());
            let above = self.ordered.at(value, cutpoints);
            let below = self.ordered.at(value - 1.0, cutpoints);
            let predictor = self.ordered.predictor.on(value.graph());
            let (is_first, is_last) = (value.less(1.0), value.greater_equal(last as f64));
            let lower = is_first.select(0.0, (below - predictor).softplus());
            let upper = is_last.select(0.0, (predictor - above).softplus());
            // ln(1 − e^−d) in the form that is accurate for the distance d at hand; far apart where there is an
            // end only.
            let inner = 1.0 - (is_first + is_last).min(1.0);
            let distance = inner.select(above - below, 1.0);
            let close = distance.less(std::f64::consts::LN_2);
            let between = close.select(
                (-(-close.select(distance, 0.5)).expm1()).log(),
                (-(-close.select(1.0, distance)).exp()).log1p(),
            );
            inner.select(between, 0.0) - lower - upper
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.exceeded(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        // Σ_k P(Y > k)
        let above = (-self.ordered.distances(graph)).sigmoid();
        Some(sum_last(above, 1))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (probs, _) = self.categories(graph);
        let distance = self.ordered.numbers(self.ordered.count() + 1, graph) - column(self.mean(graph)?);
        let weighed = probs * distance.square();
        Some(sum_last(weighed, 1))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (probs, log_probs) = self.categories(graph);
        // A category of probability 0 adds nothing.
        let terms = probs * log_probs.max(-1e30);
        Some(-sum_last(terms, 1))
    }

    /// The first of the most probable categories.
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(likeliest(self.categories(graph).1))
    }

    /// Of the categories' numbers.
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(skewness_of(self.categories(graph).0))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let last = self.ordered.count();
        let category = value.floor().max(-1.0).min(last as f64);
        let graph = value.graph();
        let distances = self.ordered.distances(graph).sigmoid();
        let chosen = self.ordered.numbers(last, graph).equal(column(category)) * distances;
        let inside = sum_last(chosen, 1);
        Some(inside + category.equal(last as f64))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.ordered.log_cdf(value, Var::log_sigmoid))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.ordered.log_sf(value, Var::log_sigmoid))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(of_probability(probability, self.exceeded(probability)))
    }
}
