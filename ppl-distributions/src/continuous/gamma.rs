//! The gamma distribution.

use crate::family::GammaFamily;
use crate::shared::gamma_noise::log_gamma_noise;
use crate::shared::helpers::LN_SQRT_TAU;
use crate::shared::helpers::at_batch_shape;
use crate::shared::support::{at_end, from_zero, only_within};
use ppl_core::model::ExponentialFamily;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// `½ ln a − ½ ln 2π − δ(a)`: the log density of the logarithm of a gamma variable at its mode.
pub(crate) fn stirling(concentration: Var<'_>) -> Var<'_> {
    0.5 * concentration.log() - LN_SQRT_TAU - concentration.stirling_error()
}

/// The entropy where the rate is 1, `a + ln Γ(a) + (1 − a) ψ(a)`, with the large terms taken out.
pub(crate) fn unit_entropy(concentration: Var<'_>) -> Var<'_> {
    0.5 * concentration.log()
        + LN_SQRT_TAU
        + concentration.stirling_error()
        + (1.0 - concentration) * concentration.digamma_minus_log()
}

/// The gamma distribution with shape `concentration` and inverse scale `rate`.
///
/// ```text
/// ln p(x) = a ln β + (a − 1) ln x − βx − ln Γ(a)        x > 0, a > 0, β > 0
/// ```
///
/// For large shapes the terms of this formula are large and cancel. It is used as it stands where the shape
/// is known to be at most 1000; else what cancels is taken out by Stirling's formula (Loader, *Fast and
/// accurate computation of binomial probabilities*, 2000).
///
/// A draw is made by rejection (Marsaglia and Tsang 2000) from five noise numbers, in logarithms, with the
/// quantile of a number that the attempts do not see where both are rejected; it is kept positive and finite. Its
/// derivative with respect to the shape is the implicit one (Figurnov, Mohamed and Mnih, *Implicit
/// reparameterization gradients*, 2018). [`Combine::by_quantile`](crate::Combine::by_quantile) draws by the quantile
/// of one number.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Gamma;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Gamma::new(2.0, 3.0).log_prob(x)])?);
/// plan.set("x", &[0.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (9.0_f64.ln() + 0.5_f64.ln() - 1.5)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gamma<'g> {
    pub(crate) concentration: Value<'g>,
    pub(crate) rate: Value<'g>,
}

impl<'g> Gamma<'g> {
    /// Shape `a` and inverse scale `β`. Each is a number or an array; they are broadcast together.
    pub fn new(concentration: impl Into<Value<'g>>, rate: impl Into<Value<'g>>) -> Self {
        Self { concentration: concentration.into(), rate: rate.into() }
    }
}

impl<'g> Distribution<'g> for Gamma<'g> {
    fn name(&self) -> &'static str {
        "Gamma"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
            Parameter { name: "rate", value: self.rate, domain: Constraint::Positive },
        ]
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(GammaFamily { concentration: self.concentration, rate: self.rate }))
    }

    fn support(&self) -> Constraint {
        // The density of an exponential variable has a value at 0.
        if self.concentration.known() == Some(1.0) { Constraint::NonNegative } else { Constraint::Positive }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        if self.concentration.known() == Some(1.0) {
            return only_within(Constraint::NonNegative, value, rate.log() - rate * value);
        }
        let at_zero = || at_end(concentration - 1.0, rate.log());
        from_zero(value, at_zero, |value| {
            let log = value.log();
            if self.concentration.known().is_some_and(|a| a <= 1000.0) {
                // Bounded where the density is 0 for the other term is infinite.
                let log = log.min(1e30);
                let constant = concentration * rate.log() - concentration.lgamma();
                return (concentration - 1.0) * log - rate * value + constant;
            }
            stirling(concentration) - concentration.deviance(rate * value) - log
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let graph = noise.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let log = log_gamma_noise(self, concentration, prefix, noise)?;
        Ok((log.exp() / rate).clamp_positive())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        at_batch_shape(self, concentration / rate)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration = self.concentration.on(graph);
        let rate = self.rate.on(graph);
        at_batch_shape(self, (concentration - 1.0).max(0.0) / rate)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration = self.concentration.on(graph);
        at_batch_shape(self, 2.0 / concentration.sqrt())
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        at_batch_shape(self, concentration / rate.square())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        at_batch_shape(self, unit_entropy(concentration) - rate.log())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.gamma_p(rate * value.max(0.0)))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.gamma_p_inverse(probability) / rate)
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.gamma_q(rate * value.max(0.0)))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.log_gamma_p(rate * value.max(0.0)))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.log_gamma_q(rate * value.max(0.0)))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.log_gamma_p_inverse_of_log(log_probability).exp() / rate)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(concentration.log_gamma_q_inverse_of_log(log_probability).exp() / rate)
    }
}
