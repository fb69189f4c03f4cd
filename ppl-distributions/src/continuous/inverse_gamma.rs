//! The inverse gamma distribution.

use crate::continuous::gamma::{stirling, unit_entropy};
use crate::shared::gamma_noise::log_gamma_noise;
use crate::shared::helpers::at_batch_shape;
use crate::shared::support::{cdf_above_zero, within};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The distribution of `1/y` for `y` gamma with this `concentration` and `rate`.
///
/// ```text
/// ln p(x) = a ln β − (a + 1) ln x − β/x − ln Γ(a)        x > 0, a > 0, β > 0
/// ```
///
/// The mean is infinite for `a ≤ 1`, the variance for `a ≤ 2`. Accuracy and draws are those of
/// [`Gamma`](crate::Gamma).
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::InverseGamma;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let program = Program::new(&graph, &[InverseGamma::new(2.0, 3.0).log_prob(x)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("x", &[0.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (9.0_f64.ln() - 3.0 * 0.5_f64.ln() - 6.0)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InverseGamma<'g> {
    pub(crate) concentration: Value<'g>,
    pub(crate) rate: Value<'g>,
}

impl<'g> InverseGamma<'g> {
    /// Shape `a` and scale `β`, the inverse scale of the inverse. Each is a number or an array; they are
    /// broadcast together.
    pub fn new(concentration: impl Into<Value<'g>>, rate: impl Into<Value<'g>>) -> Self {
        Self { concentration: concentration.into(), rate: rate.into() }
    }
}

impl<'g> Distribution<'g> for InverseGamma<'g> {
    fn name(&self) -> &'static str {
        "InverseGamma"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
            Parameter { name: "rate", value: self.rate, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Positive
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        within(Constraint::Positive, value, 1.0, |value| {
            let log = value.log();
            if self.concentration.known().is_some_and(|a| a <= 1000.0) {
                let constant = concentration * rate.log() - concentration.lgamma();
                return constant - (concentration + 1.0) * log - rate / value;
            }
            stirling(concentration) - concentration.deviance(rate / value) - log
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let graph = noise.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let log = log_gamma_noise(self, concentration, prefix, noise)?;
        Ok((rate * (-log).exp()).clamp_positive())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let exists = concentration.greater(1.0);
        at_batch_shape(self, exists.select(rate / (exists.select(concentration, 2.0) - 1.0), f64::INFINITY))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration = self.concentration.on(graph);
        let rate = self.rate.on(graph);
        at_batch_shape(self, rate / (concentration + 1.0))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration = self.concentration.on(graph);
        let exists = concentration.greater(3.0);
        let a = exists.select(concentration, 4.0);
        at_batch_shape(self, exists.select(4.0 * (a - 2.0).sqrt() / (a - 3.0), f64::NAN))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let exists = concentration.greater(2.0);
        let a = exists.select(concentration, 3.0);
        at_batch_shape(self, exists.select((rate / (a - 1.0)).square() / (a - 2.0), f64::INFINITY))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        at_batch_shape(self, unit_entropy(concentration) - 2.0 * concentration.digamma() + rate.log())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(cdf_above_zero(value, |value| concentration.gamma_q(rate / value)))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(rate * (-concentration.log_gamma_q_inverse(probability)).exp())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let outside = value.less_equal(0.0);
        let above = concentration.gamma_p(rate / outside.select(1.0, value));
        Some(outside.select(1.0, above))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let outside = value.less_equal(0.0);
        let below = concentration.log_gamma_q(rate / outside.select(1.0, value));
        Some(outside.select(f64::NEG_INFINITY, below))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        let outside = value.less_equal(0.0);
        let above = concentration.log_gamma_p(rate / outside.select(1.0, value));
        Some(outside.select(0.0, above))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(rate * (-concentration.log_gamma_q_inverse_of_log(log_probability)).exp())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration, rate) = (self.concentration.on(graph), self.rate.on(graph));
        Some(rate * (-concentration.log_gamma_p_inverse_of_log(log_probability)).exp())
    }
}
