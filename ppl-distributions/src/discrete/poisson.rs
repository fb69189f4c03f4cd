//! The Poisson distribution.

use crate::KullbackLeibler;
use crate::family::PoissonFamily;
use crate::shared::helpers::at_batch_shape;
use crate::shared::quantiles::settled;
use crate::shared::support::within;
use ppl_core::model::ExponentialFamily;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// How often something happens that happens independently of how often it did before, `rate` times on
/// average.
///
/// ```text
/// p(k) = rateᵏ e^−rate / k!        k ∈ {0, 1, 2, …},   rate ≥ 0
/// ```
///
/// The log probability is written in C. Loader's way as `−D(k, rate) − R(k)`, with the deviance
/// `D(k, m) = k ln(k/m) + m − k` ([`Var::deviance`]) and the rest `R` of Stirling's formula
/// ([`Var::log_factorial_remainder`]): nothing cancels, however large the count and the rate are. The entropy
/// has no closed form.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Poisson;
/// let graph = Graph::new();
/// let k = graph.input("k", 2)?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Poisson::new(3.0).log_prob(k)])?);
/// plan.set("k", &[0.0, 2.0])?;
/// plan.run();
/// assert_eq!(plan.output(0)[0], -3.0);
/// assert!((plan.output(0)[1] - (4.5_f64.ln() - 3.0)).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
#[derive(Clone, Copy, Debug)]
pub struct Poisson<'g> {
    rate: Rate<'g>,
}

/// The mean, or its logarithm.
#[derive(Clone, Copy, Debug)]
enum Rate<'g> {
    Itself(Value<'g>),
    Logarithm(Value<'g>),
}

/// Logarithms of rates below this one are kept apart from the rest, in which their exponentials would be zero.
const LEAST_LOG_RATE: f64 = -60.0;

impl<'g> Poisson<'g> {
    /// Mean, not negative; a number or an array.
    pub fn new(rate: impl Into<Value<'g>>) -> Self {
        Self { rate: Rate::Itself(rate.into()) }
    }

    /// The logarithm of the mean, as in a regression of counts; a number or an array. Unlike
    /// `new(log_rate.exp())` it has a finite log probability and gradient however small the rate is.
    ///
    /// ```
    /// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
    /// use ppl_distributions::Poisson;
    /// let graph = Graph::new();
    /// let log_rate = graph.input("log_rate", ())?;
    /// let value = Poisson::from_log_rate(log_rate).log_prob(graph.constant(2.0));
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[value])?);
    /// plan.set("log_rate", &[-1000.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0)[0], -2000.0 - 2_f64.ln());
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn from_log_rate(log_rate: impl Into<Value<'g>>) -> Self {
        Self { rate: Rate::Logarithm(log_rate.into()) }
    }

    #[track_caller]
    fn rate(&self, graph: &'g Graph) -> Var<'g> {
        match self.rate {
            Rate::Itself(rate) => rate.on(graph),
            Rate::Logarithm(log_rate) => log_rate.on(graph).exp(),
        }
    }
}

impl<'g> Distribution<'g> for Poisson<'g> {
    fn name(&self) -> &'static str {
        "Poisson"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![match self.rate {
            Rate::Itself(value) => Parameter { name: "rate", value, domain: Constraint::NonNegative },
            Rate::Logarithm(value) => Parameter { name: "log_rate", value, domain: Constraint::Real },
        }]
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(match self.rate {
            Rate::Itself(rate) => PoissonFamily { rate, logarithmic: false },
            Rate::Logarithm(rate) => PoissonFamily { rate, logarithmic: true },
        }))
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegativeInteger
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        within(Constraint::NonNegativeInteger, value, 0.0, |value| {
            let rest = value.log_factorial_remainder();
            match self.rate {
                Rate::Itself(rate) => -(value.deviance(rate) + rest),
                Rate::Logarithm(log_rate) => {
                    // ln p is k times what the logarithm is below that of a rate that is negligible already.
                    let log_rate = log_rate.on(value.graph());
                    let kept = log_rate.max(LEAST_LOG_RATE);
                    let rate = value.equal(0.0).select(log_rate, kept).exp();
                    value * (log_rate - kept) - (value.deviance(rate) + rest)
                }
            }
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.smallest(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.rate(graph))
    }
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.rate(graph).floor())
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.rate(graph).sqrt().reciprocal())
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.rate(graph))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.poisson_cdf(self.rate(graph)))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        settled(probability, self.smallest(probability), 0.0, |k| self.cdf(k))
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let rate = self.rate(log_probability.graph());
        Some(log_probability.poisson_quantile_of_log_cdf(rate))
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let rate = self.rate(log_probability.graph());
        Some(log_probability.poisson_quantile_of_log_sf(rate))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(value.poisson_log_cdf(self.rate(value.graph())))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(value.poisson_log_sf(self.rate(value.graph())))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(value.poisson_sf(self.rate(value.graph())))
    }
}

impl<'g> Poisson<'g> {
    /// The smallest outcome whose distribution function is at least `u`.
    #[track_caller]
    fn smallest(&self, u: Var<'g>) -> Var<'g> {
        u.poisson_quantile(self.rate(u.graph()))
    }
}

impl<'g> KullbackLeibler<'g, Poisson<'g>> for Poisson<'g> {
    /// `λ ln(λ/μ) + μ − λ`
    fn kl_divergence(&self, other: &Poisson<'g>, graph: &'g Graph) -> Var<'g> {
        self.rate(graph).deviance(other.rate(graph))
    }
}
