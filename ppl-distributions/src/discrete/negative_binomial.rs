//! The negative binomial distribution.

use crate::shared::helpers::at_batch_shape;
use crate::shared::odds::Odds;
use crate::shared::quantiles::settled;
use crate::shared::support::within;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// Counts that vary more than Poisson counts do: a Poisson count whose rate has a gamma distribution.
///
/// ```text
/// p(k) = Γ(k + r)/(k! Γ(r)) (1 − p)ʳ pᵏ        k ∈ {0, 1, 2, …},   r > 0
/// ```
///
/// By [`from_probs`](Self::from_probs) and [`from_logits`](Self::from_logits), `r = total_count` and
/// `p = probs = 1/(1 + e^−logits)`: successes before failure number `r`, as in PyTorch and NumPyro. By
/// [`from_mean`](Self::from_mean), `r = concentration` and `p = mean/(mean + concentration)`, so that the
/// variance is `mean + mean²/concentration` (NumPyro's `NegativeBinomial2`).
///
/// With `N = k + r` the log probability is written as
/// `ln(r/N) + R(N) − R(k) − R(r) − D(k, Np) − D(r, N(1 − p))`, with the deviance `D` ([`Var::deviance`]) and
/// the rest `R` of Stirling's formula ([`Var::log_factorial_remainder`]): nothing cancels, however large the
/// count and `r` are, so that the Poisson distribution is reached as it should be. Derivatives are those of the formula
/// above, with `ψ(k + r) − ψ(r)` as one function ([`Var::digamma_difference`]). The entropy has no closed
/// form.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::NegativeBinomial;
/// let graph = Graph::new();
/// let k = graph.input("k", ())?;
/// let program = Program::new(&graph, &[NegativeBinomial::from_mean(2.0, 2.0).log_prob(k)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("k", &[1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 0.25_f64.ln()).abs() < 1e-15); // 2 · ½² · ½
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
#[derive(Clone, Copy, Debug)]
pub struct NegativeBinomial<'g> {
    by: By<'g>,
}

#[derive(Clone, Copy, Debug)]
enum By<'g> {
    Odds { total_count: Value<'g>, odds: Odds<'g> },
    Mean { mean: Value<'g>, concentration: Value<'g> },
}

impl<'g> NegativeBinomial<'g> {
    /// Number of failures that are waited for (positive, not necessarily an integer), and the probability of
    /// a success, strictly between 0 and 1; numbers or arrays.
    pub fn from_probs(total_count: impl Into<Value<'g>>, probs: impl Into<Value<'g>>) -> Self {
        Self { by: By::Odds { total_count: total_count.into(), odds: Odds::Probs(probs.into()) } }
    }

    /// Number of failures that are waited for (positive, not necessarily an integer), and the log-odds of a
    /// success; numbers or arrays.
    pub fn from_logits(total_count: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Self {
        Self { by: By::Odds { total_count: total_count.into(), odds: Odds::Logits(logits.into()) } }
    }

    /// Former name of [`from_logits`](Self::from_logits).
    #[deprecated(note = "renamed to `from_logits`")]
    pub fn from_logit(total_count: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Self {
        Self::from_logits(total_count, logits)
    }

    /// Mean and concentration, both positive; numbers or arrays.
    pub fn from_mean(mean: impl Into<Value<'g>>, concentration: impl Into<Value<'g>>) -> Self {
        Self { by: By::Mean { mean: mean.into(), concentration: concentration.into() } }
    }

    /// `r`
    #[track_caller]
    pub(crate) fn concentration(&self, graph: &'g Graph) -> Var<'g> {
        match self.by {
            By::Odds { total_count, .. } => total_count.on(graph),
            By::Mean { concentration, .. } => concentration.on(graph),
        }
    }

    /// `ln(p/(1 − p))`
    #[track_caller]
    pub(crate) fn logits(&self, graph: &'g Graph) -> Var<'g> {
        match self.by {
            By::Odds { odds, .. } => odds.logits(graph),
            By::Mean { mean, concentration } => mean.on(graph).log() - concentration.on(graph).log(),
        }
    }
}

impl<'g> Distribution<'g> for NegativeBinomial<'g> {
    fn name(&self) -> &'static str {
        "NegativeBinomial"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let positive = |name, value| Parameter { name, value, domain: Constraint::Positive };
        match self.by {
            By::Odds { total_count, odds } => {
                vec![positive("total_count", total_count), odds.parameter(Constraint::UnitInterval)]
            }
            By::Mean { mean, concentration } => {
                vec![positive("mean", mean), positive("concentration", concentration)]
            }
        }
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegativeInteger
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        within(Constraint::NonNegativeInteger, value, 0.0, |value| {
            let graph = value.graph();
            let concentration = self.concentration(graph);
            let all = value + concentration;
            let deviance = match self.by {
                By::Odds { odds, .. } => odds.deviance(value, concentration, all),
                By::Mean { mean, .. } => {
                    let mean = mean.on(graph);
                    let ratio = all / (mean + concentration);
                    value.deviance(mean * ratio) + concentration.deviance(concentration * ratio)
                }
            };
            let left = all.log_factorial_remainder()
                - value.log_factorial_remainder()
                - concentration.log_factorial_remainder();
            ((concentration / all).log() + left - deviance).with_slopes_of(|| match self.by {
                By::Odds { odds, .. } => {
                    let likelihood = odds.log_likelihood(value, concentration);
                    concentration.log_gamma_ratio(value) - (value + 1.0).lgamma() + likelihood
                }
                By::Mean { mean, .. } => value.negative_binomial_by_mean(mean, concentration),
            })
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.smallest(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(match self.by {
            By::Odds { total_count, odds } => {
                total_count.on(graph) * (odds.success(graph) / odds.failure(graph))
            }
            // Of the shape of both.
            By::Mean { mean, .. } => mean.on(graph).broadcast_to(self.batch_shape().ok()?),
        })
    }
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (r, logits) = (self.concentration(graph), self.logits(graph));
        at_batch_shape(self, ((r - 1.0).max(0.0) * logits.exp()).floor())
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (r, logits) = (self.concentration(graph), self.logits(graph));
        // (1 + p)/√(p r)
        at_batch_shape(self, (logits.sigmoid() + 1.0) / (logits.sigmoid() * r).sqrt())
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let mean = self.mean(graph)?;
        Some(match self.by {
            By::Odds { odds, .. } => mean / odds.failure(graph),
            By::Mean { concentration, .. } => mean * (1.0 + mean / concentration.on(graph)),
        })
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.negative_binomial_cdf(self.concentration(graph), self.logits(graph)))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        settled(probability, self.smallest(probability), 0.0, |k| self.cdf(k))
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration, logits) = (self.concentration(graph), self.logits(graph));
        Some(log_probability.negative_binomial_quantile_of_log_cdf(concentration, logits))
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration, logits) = (self.concentration(graph), self.logits(graph));
        Some(log_probability.negative_binomial_quantile_of_log_sf(concentration, logits))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.negative_binomial_log_cdf(self.concentration(graph), self.logits(graph)))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.negative_binomial_log_sf(self.concentration(graph), self.logits(graph)))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.negative_binomial_sf(self.concentration(graph), self.logits(graph)))
    }
}

impl<'g> NegativeBinomial<'g> {
    /// The smallest outcome whose distribution function is at least `u`.
    #[track_caller]
    fn smallest(&self, u: Var<'g>) -> Var<'g> {
        let graph = u.graph();
        u.negative_binomial_quantile(self.concentration(graph), self.logits(graph))
    }
}
