//! The categorical distribution.

use crate::KullbackLeibler;
use crate::family::CategoricalFamily;
use crate::shared::arrays::{column, constants, counting, last, leading, sum_last};
use crate::shared::categories::{likeliest, skewness_of};
use crate::shared::quantiles::of_probability;
use crate::shared::support::only_within;
use ppl_core::model::ExponentialFamily;
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source, Value, Var,
};

/// One of `K` categories, numbered from 0, with probabilities `probs` or unnormalised log-probabilities
/// `logits` along the last axis.
///
/// ```text
/// P(y = k) = probs_k = e^{logits_k} / Σ_j e^{logits_j}        y ∈ {0, …, K − 1}
/// ```
///
/// A draw is the number of cumulated probabilities that a uniform number reaches: exact up to the rounding of
/// their sums, never a category of probability 0, with derivative 0. The log-probability of a value that is
/// no category is −∞.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Categorical;
/// let graph = Graph::new();
/// let (logits, y) = (graph.input("logits", 3)?, graph.input("y", ())?);
/// let program = Program::new(&graph, &[Categorical::from_logits(logits).log_prob(y)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("logits", &[0.0, 2.0_f64.ln(), 0.0])?;
/// plan.set("y", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 0.5_f64.ln()).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Categorical<'g> {
    weights: Value<'g>,
    logarithmic: bool,
}

impl<'g> Categorical<'g> {
    /// Probabilities along the last axis, which sum to 1.
    pub fn from_probs(probs: impl Into<Value<'g>>) -> Self {
        Self { weights: probs.into(), logarithmic: false }
    }

    /// Logarithms of the probabilities along the last axis, up to a constant.
    pub fn from_logits(logits: impl Into<Value<'g>>) -> Self {
        Self { weights: logits.into(), logarithmic: true }
    }

    /// Number of categories.
    #[must_use]
    pub fn categories(&self) -> usize {
        self.weights.shape().dims().last().copied().unwrap_or(0)
    }

    /// Probabilities, `[…, K]`.
    #[must_use]
    #[track_caller]
    pub fn probs(&self, graph: &'g Graph) -> Var<'g> {
        let weights = self.weights.on(graph);
        if self.logarithmic { weights.softmax(self.axis()) } else { weights }
    }

    /// Logarithms of the probabilities, `[…, K]`; −∞ for a category that does not occur.
    #[must_use]
    #[track_caller]
    pub fn log_probs(&self, graph: &'g Graph) -> Var<'g> {
        let weights = self.weights.on(graph);
        if self.logarithmic { weights.log_softmax(self.axis()) } else { weights.log() }
    }

    /// Logarithms of weights, `[…, K]`, and of their sum, `[…]`, where it is not 0: what a mixture needs,
    /// with the sum taken off once.
    #[track_caller]
    pub(crate) fn log_weights(&self, graph: &'g Graph) -> (Var<'g>, Option<Var<'g>>) {
        let weights = self.weights.on(graph);
        if self.logarithmic {
            (weights, Some(weights.log_sum_exp_axis(self.axis())))
        } else {
            (weights.log(), None)
        }
    }

    fn axis(&self) -> usize {
        self.weights.shape().rank().saturating_sub(1)
    }

    /// The weight of each value; NaN for one that is no category.
    #[track_caller]
    fn chosen(&self, value: Var<'g>) -> Var<'g> {
        let weights = self.weights.on(value.graph());
        let (batch, categories) = (leading(&weights.shape(), 1), self.categories());
        if batch.is_scalar() {
            return weights.gather(value);
        }
        // All weights in one table: those of the batch's place i begin at row i·K. A value that is no
        // category must not reach another's rows.
        let together = value.shape().broadcast(&batch).unwrap_or(batch.clone());
        let (value, batch) = (value.broadcast_to(together.clone()), last(&together, batch.rank()));
        let table = weights.broadcast_to(batch.concat(&Shape::from(categories)));
        let first = constants(value.graph(), (0..batch.elements()).map(|place| (place * categories) as f64));
        let category = value.greater_equal(0.0) * value.less(categories as f64);
        let row = category.select(value + first.reshape(batch), -1.0);
        table.reshape(table.shape().elements()).gather(row)
    }

    /// The mean over categories of a function of them, `[…, K]`.
    #[track_caller]
    fn expectation(&self, of: Var<'g>) -> Var<'g> {
        sum_last(self.probs(of.graph()) * of, 1)
    }
}

impl<'g> Distribution<'g> for Categorical<'g> {
    fn name(&self) -> &'static str {
        "Categorical"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let (name, domain) =
            if self.logarithmic { ("logits", Constraint::Real) } else { ("probs", Constraint::Simplex) };
        vec![Parameter { name, value: self.weights, domain }]
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let shape = self.weights.shape();
        match self.categories() {
            0 => Err(Error::UnexpectedShape {
                operation: "Categorical",
                expected: "at least one category along a last axis".to_owned(),
                got: shape,
                source_line: Source::caller(),
            }),
            _ => Ok(leading(&shape, 1)),
        }
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(CategoricalFamily { law: *self }))
    }

    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, self.categories().saturating_sub(1) as f64)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        // What is chosen outside is NaN, and without a derivative.
        let weights = self.weights.on(value.graph());
        let log_prob = match (self.logarithmic, leading(&weights.shape(), 1).is_scalar()) {
            // Once for all values.
            (true, true) => (weights - weights.log_sum_exp_axis(self.axis())).gather(value),
            (true, false) => self.chosen(value) - weights.log_sum_exp_axis(self.axis()),
            (false, _) => self.chosen(value).log(),
        };
        only_within(Distribution::support(self), value, log_prob)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let (axis, categories) = (self.axis(), self.categories());
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        let cumulated = self.probs(noise.graph()).cumsum(axis);
        // By the sum as it was rounded: u·total < total, so the last category is not reached beyond its own
        // probability.
        let total = cumulated.slice(axis, categories - 1..);
        let reached = (column(uniform) * total).greater_equal(cumulated.slice(axis, ..categories - 1));
        Ok(sum_last(reached, 1))
    }

    /// `Σ_k k probs_k`, of the categories' numbers.
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.expectation(counting(graph, self.categories())))
    }

    /// Of the categories' numbers.
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let mean = column(self.mean(graph)?);
        Some(self.expectation((counting(graph, self.categories()) - mean).square()))
    }

    /// `−Σ_k probs_k ln probs_k`, where a category of probability 0 adds nothing.
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (probs, weights) = (self.probs(graph), self.weights.on(graph));
        let occurs = probs.greater(0.0);
        // Twice, so that no derivative of ln 0 is multiplied by 0.
        let log = if self.logarithmic {
            occurs.select(weights, 0.0) - column(weights.log_sum_exp_axis(self.axis()))
        } else {
            occurs.select(probs, 1.0).log()
        };
        Some(-sum_last(probs * log, 1))
    }

    /// The first of the most probable categories.
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(likeliest(self.weights.on(graph)))
    }

    /// Of the categories' numbers.
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(skewness_of(self.probs(graph)))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let below = counting(graph, self.categories()).less_equal(column(value));
        Some(sum_last(below * self.probs(graph), 1).min(1.0))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let above = counting(graph, self.categories()).greater(column(value));
        Some(sum_last(above * self.probs(graph), 1).min(1.0))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let (axis, categories) = (self.axis(), self.categories());
        let before = self.probs(probability.graph()).cumsum(axis).slice(axis, ..categories.max(1) - 1);
        Some(of_probability(probability, sum_last(before.less(column(probability)), 1)))
    }
}

impl<'g> KullbackLeibler<'g, Categorical<'g>> for Categorical<'g> {
    /// `Σ_k p_k ln(p_k/q_k)`, as a sum of deviances of which none is negative.
    fn kl_divergence(&self, other: &Categorical<'g>, graph: &'g Graph) -> Var<'g> {
        sum_last(self.probs(graph).deviance(other.probs(graph)), 1)
    }
}
