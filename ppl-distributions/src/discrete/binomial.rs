//! The binomial distribution.

use crate::KullbackLeibler;
use crate::shared::counts::{by_factorials, by_support, entropy_by_support, known_total, total_support};
use crate::shared::helpers::at_batch_shape;
use crate::shared::odds::Odds;
use crate::shared::quantiles::settled;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// Successes among `total_count` independent trials that succeed with probability `probs`, or log-odds
/// `logits`.
///
/// ```text
/// p(k) = n!/(k! (n − k)!) pᵏ (1 − p)ⁿ⁻ᵏ        k ∈ {0, …, n},   n = total_count,   p = probs = 1/(1 + e^−logits)
/// ```
///
/// For a total that is a number of at most 32 this is computed as it stands; beyond, and where the total is a
/// value of the model, the log probability is written in C. Loader's way as `−D(k, np) − D(n − k, n(1 − p))`
/// with the deviance ([`Var::deviance`]) and what Stirling's formula leaves, in which nothing cancels: a
/// count of 10¹⁵ loses no digits.
///
/// The support is known while tracing where the total is one number; where it is not, `log_prob` is −∞ above
/// the total. The entropy has no closed form: it is a sum over the support for known totals of at most 256,
/// and `None` otherwise.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Binomial;
/// let graph = Graph::new();
/// let k = graph.input("k", 2)?;
/// let program = Program::new(&graph, &[Binomial::from_probs(2.0, 0.5).log_prob(k)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("k", &[0.0, 1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 0.25_f64.ln()).abs() < 1e-15 && (plan.output(0)[1] - 0.5_f64.ln()).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
#[derive(Clone, Copy, Debug)]
pub struct Binomial<'g> {
    total_count: Value<'g>,
    odds: Odds<'g>,
}

impl<'g> Binomial<'g> {
    /// Number of trials, and the probability of a success, from 0 to 1; numbers or arrays.
    pub fn from_probs(total_count: impl Into<Value<'g>>, probs: impl Into<Value<'g>>) -> Self {
        Self { total_count: total_count.into(), odds: Odds::Probs(probs.into()) }
    }

    /// Number of trials, and the log-odds of a success; numbers or arrays.
    pub fn from_logits(total_count: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Self {
        Self { total_count: total_count.into(), odds: Odds::Logits(logits.into()) }
    }

    /// Former name of [`from_logits`](Self::from_logits).
    #[deprecated(note = "renamed to `from_logits`")]
    pub fn from_logit(total_count: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Self {
        Self::from_logits(total_count, logits)
    }
}

impl<'g> Distribution<'g> for Binomial<'g> {
    fn name(&self) -> &'static str {
        "Binomial"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter {
                name: "total_count",
                value: self.total_count,
                domain: Constraint::NonNegativeInteger,
            },
            self.odds.parameter(Constraint::Interval(0.0, 1.0)),
        ]
    }

    fn support(&self) -> Constraint {
        total_support(self.total_count)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let total = self.total_count.on(value.graph());
        by_support(self.total_count, value, |value, rest| {
            let by_factorials_of = |total: Var<'g>| {
                let coefficient = (total + 1.0).lgamma() - (value + 1.0).lgamma() - (rest + 1.0).lgamma();
                coefficient + self.odds.log_likelihood(value, rest)
            };
            if by_factorials(self.total_count) {
                by_factorials_of(total)
            } else {
                // From value + rest, which is the total inside the support.
                let total = value + rest;
                let left = total.log_factorial_remainder()
                    - value.log_factorial_remainder()
                    - rest.log_factorial_remainder();
                // Derivatives are as short as those of the formula above, and as accurate.
                (left - self.odds.deviance(value, rest, total)).with_slopes_of(|| by_factorials_of(total))
            }
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.smallest(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.total_count.on(graph) * self.odds.success(graph))
    }
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let total_count = self.total_count.on(graph);
        at_batch_shape(self, ((total_count + 1.0) * self.odds.success(graph)).floor().min(total_count))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let total_count = self.total_count.on(graph);
        let (p, q) = (self.odds.success(graph), self.odds.failure(graph));
        at_batch_shape(self, (q - p) / (total_count * p * q).sqrt())
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.total_count.on(graph) * self.odds.success(graph) * self.odds.failure(graph))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        entropy_by_support(self, known_total(self.total_count)?, graph)
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.binomial_cdf(self.total_count, self.odds.logits(graph)))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        settled(probability, self.smallest(probability), 0.0, |k| self.cdf(k))
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let logits = self.odds.logits(log_probability.graph());
        Some(log_probability.binomial_quantile_of_log_cdf(self.total_count, logits))
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let logits = self.odds.logits(log_probability.graph());
        Some(log_probability.binomial_quantile_of_log_sf(self.total_count, logits))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(value.binomial_log_cdf(self.total_count, self.odds.logits(value.graph())))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(value.binomial_log_sf(self.total_count, self.odds.logits(value.graph())))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.binomial_sf(self.total_count, self.odds.logits(graph)))
    }
}

impl<'g> Binomial<'g> {
    /// The smallest outcome whose distribution function is at least `u`.
    #[track_caller]
    fn smallest(&self, u: Var<'g>) -> Var<'g> {
        u.binomial_quantile(self.total_count, self.odds.logits(u.graph()))
    }
}

impl<'g> KullbackLeibler<'g, Binomial<'g>> for Binomial<'g> {
    /// That of one trial, `n` times; NaN where the totals differ.
    fn kl_divergence(&self, other: &Binomial<'g>, graph: &'g Graph) -> Var<'g> {
        let total = self.total_count.on(graph);
        let divergence = total * self.odds.divergence(other.odds, graph);
        total.equal(other.total_count).select(divergence, f64::NAN)
    }
}
