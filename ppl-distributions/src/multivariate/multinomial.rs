//! The multinomial distribution.

use crate::shared::arrays::{column, counting, sum_last};
use crate::shared::batches::batch_of_vectors;
use crate::shared::categories::likeliest;
use crate::shared::counts::{counts_support, if_total};
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// How often each category comes up in `total_count` independent trials.
///
/// ```text
/// p(x) = n! Π_i p_i^x_i / x_i!        x_i ∈ {0, 1, …},   Σ_i x_i = n = total_count,   Σ_i p_i = 1
/// ```
///
/// with `p = probs`, or `p_i = e^logits_i / Σ_j e^logits_j`, along the last axis; the axes before it are
/// independent distributions, together with those of the total. The log probability is a sum of deviances, as
/// that of [`Binomial`](crate::Binomial). A draw is a binomial count for each category but the last, out of
/// those that are left: exact up to the rounding of binomial distribution functions, with derivative 0, by a
/// program that grows with the number of categories. Where the total is a value of the model, `log_prob` is
/// −∞ for counts that do not sum to it. `mean` and `variance` are those of each count. The entropy has no
/// closed form.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Multinomial;
/// let graph = Graph::new();
/// let probs = graph.array(&ndarray::array![0.5, 0.25, 0.25].into_dyn());
/// let x = graph.input("x", 3)?;
/// let program = Program::new(&graph, &[Multinomial::from_probs(2.0, probs).log_prob(x)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("x", &[1.0, 1.0, 0.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 0.25_f64.ln()).abs() < 1e-15); // 2 · ½ · ¼
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Multinomial<'g> {
    total_count: Value<'g>,
    weights: Weights<'g>,
}

#[derive(Clone, Copy, Debug)]
enum Weights<'g> {
    Probs(Value<'g>),
    Logits(Value<'g>),
}

/// Below it a probability is not multiplied by a count; see [`crate::odds`].
const LOWEST_LOG: f64 = -60.0;

impl<'g> Multinomial<'g> {
    /// Number of trials, and the probabilities of the categories along the last axis, which sum to 1.
    pub fn from_probs(total_count: impl Into<Value<'g>>, probs: impl Into<Value<'g>>) -> Self {
        Self { total_count: total_count.into(), weights: Weights::Probs(probs.into()) }
    }

    /// Number of trials, and the logarithms of the probabilities of the categories along the last axis, up to
    /// a constant.
    pub fn from_logits(total_count: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Self {
        Self { total_count: total_count.into(), weights: Weights::Logits(logits.into()) }
    }

    fn weights(&self) -> Value<'g> {
        match self.weights {
            Weights::Probs(weights) | Weights::Logits(weights) => weights,
        }
    }

    /// The last axis of the weights.
    fn axis(&self) -> usize {
        self.weights().shape().rank().saturating_sub(1)
    }

    /// Probabilities of the categories.
    #[track_caller]
    fn probs(&self, graph: &'g Graph) -> Var<'g> {
        match self.weights {
            Weights::Probs(probs) => probs.on(graph),
            Weights::Logits(logits) => logits.on(graph).softmax(self.axis()),
        }
    }

    /// The total with a last axis of length 1.
    #[track_caller]
    fn total_beside(&self, graph: &'g Graph) -> Var<'g> {
        let total = self.total_count.on(graph);
        total.reshape(total.shape().concat(&Shape::from(1)))
    }
}

impl<'g> Distribution<'g> for Multinomial<'g> {
    fn name(&self) -> &'static str {
        "Multinomial"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let (name, value, domain) = match self.weights {
            Weights::Probs(probs) => ("probs", probs, Constraint::Simplex),
            Weights::Logits(logits) => ("logits", logits, Constraint::Real),
        };
        vec![
            Parameter {
                name: "total_count",
                value: self.total_count,
                domain: Constraint::NonNegativeInteger,
            },
            Parameter { name, value, domain },
        ]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.weights().shape().dims().last().copied().unwrap_or(0))
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        batch_of_vectors(self.name(), self.total_count, self.weights(), 1)
    }

    fn support(&self) -> Constraint {
        counts_support(self.total_count)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (total, wide) = (self.total_count.on(graph), self.total_beside(graph));
        if_total(self.total_count, value, |value| {
            let deviance = match self.weights {
                Weights::Probs(probs) => value.deviance(wide * probs.on(graph)),
                Weights::Logits(logits) => {
                    // A probability too small to be multiplied is replaced where there are counts, and its
                    // logarithm made up for.
                    let log_probs = logits.on(graph).log_softmax(self.axis());
                    let least = log_probs.max(LOWEST_LOG);
                    let probs = value.equal(0.0).select(log_probs, least).exp();
                    value.deviance(wide * probs) - value * (log_probs - least)
                }
            };
            let each = value.log_factorial_remainder() + deviance;
            total.log_factorial_remainder() - each.sum_axis(each.shape().rank() - 1)
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = prefix.concat(&self.batch_shape()?);
        let graph = noise.graph();
        draw_counts(self.total_count.on(graph), self.probs(graph), &batch, noise)
    }

    /// Counts of `⌊n p_i⌋` at least, and each of those that are left, fewer than there are categories, to the one for
    /// which `p_i/(x_i + 1)` is largest (Finucan 1964): to the first of several.
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        let categories = *self.event_shape().dims().first()?;
        let (probs, total) = (self.probs(graph).broadcast_to(shape.clone()), self.total_beside(graph));
        let numbers = counting(graph, categories);
        let mut counts = (total * probs).floor().broadcast_to(shape);
        let step = |counts: Var<'g>| {
            let likeliest = column(likeliest(probs / (counts + 1.0)));
            let left = column(sum_last(counts, 1)).less(total);
            counts + numbers.equal(likeliest) * left
        };
        for _ in 1..categories {
            counts = step(counts);
        }
        Some(counts)
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.total_beside(graph) * self.probs(graph))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let probs = self.probs(graph);
        Some(self.total_beside(graph) * probs * (1.0 - probs))
    }
}

/// Counts of shape `batch` and an axis of categories, one binomial count after the other: the first category
/// against those after it, the second against those after it among what is left, and so on. Weights need not
/// sum to 1.
#[track_caller]
pub(crate) fn draw_counts<'g>(
    total: Var<'g>,
    weights: Var<'g>,
    batch: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    let axis = weights.shape().rank() - 1;
    let categories = weights.shape().dims()[axis];
    // Sums from the end of positive numbers, which lose no digits however unequal the weights are.
    let from_here = weights.flip(axis).cumsum(axis).flip(axis);
    let mut left = total;
    let mut counts = Vec::with_capacity(categories);
    for category in 0..categories - 1 {
        let uniform = noise.draw(NoiseKind::Uniform, batch.clone())?;
        let (weight, rest) = (weights.element(axis, category), from_here.element(axis, category + 1));
        // Where nothing is left to choose from, the category gets everything; where its own weight is 0,
        // nothing.
        let logits = weight.equal(0.0).select(f64::NEG_INFINITY, weight.log() - rest.log());
        let count = uniform.binomial_quantile(left, logits);
        counts.push(count);
        left = left - count;
    }
    counts.push(left);
    for count in &mut counts {
        *count = count.broadcast_to(batch.clone());
    }
    Ok(noise.graph().stack(&counts, batch.rank()))
}
