//! The Poisson distribution.

use crate::KullbackLeibler;
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
    rate: Value<'g>,
}

impl<'g> Poisson<'g> {
    /// Mean, not negative; a number or an array.
    pub fn new(rate: impl Into<Value<'g>>) -> Self {
        Self { rate: rate.into() }
    }
}

impl<'g> Distribution<'g> for Poisson<'g> {
    fn name(&self) -> &'static str {
        "Poisson"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "rate", value: self.rate, domain: Constraint::NonNegative }]
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegativeInteger
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        -(value.deviance(self.rate) + value.log_factorial_remainder())
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.smallest(uniform))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.rate.on(graph))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.rate.on(graph))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        Some(value.poisson_cdf(self.rate.on(graph)))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.smallest(probability))
    }
}

impl<'g> Poisson<'g> {
    /// The smallest outcome whose distribution function is at least `u`.
    #[track_caller]
    fn smallest(&self, u: Var<'g>) -> Var<'g> {
        u.poisson_quantile(self.rate)
    }
}

impl<'g> KullbackLeibler<'g, Poisson<'g>> for Poisson<'g> {
    /// `λ ln(λ/μ) + μ − λ`
    fn kl_divergence(&self, other: &Poisson<'g>, graph: &'g Graph) -> Var<'g> {
        self.rate.on(graph).deviance(other.rate)
    }
}
