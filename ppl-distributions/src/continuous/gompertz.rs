//! The Gompertz distribution.

use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::log_space::only_where;
use crate::shared::quantiles::of_probability;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The Gompertz distribution, of lifetimes whose hazard `concentration · rate · e^(rate · x)` grows exponentially.
///
/// ```text
/// ln p(x) = ln concentration + ln rate + rate · x − concentration (e^(rate · x) − 1)        x ≥ 0
/// ```
///
/// A draw is the quantile of uniform noise. Mean and entropy are by the exponential integral.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = Gompertz::new(0.1, 2.0);
/// assert!((law.ln_sf(0.5) + 0.1 * 1.0_f64.exp_m1()).abs() < 1e-15);
/// assert!((law.cdf(law.quantile(0.3)) - 0.3).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Gompertz<'g> {
    concentration: Value<'g>,
    rate: Value<'g>,
}

impl<'g> Gompertz<'g> {
    /// Concentration, and the rate at which the hazard grows; numbers or arrays.
    pub fn new(concentration: impl Into<Value<'g>>, rate: impl Into<Value<'g>>) -> Self {
        Self { concentration: concentration.into(), rate: rate.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.concentration, self.rate].map(|value| value.on(graph))
    }
}

impl<'g> Distribution<'g> for Gompertz<'g> {
    fn name(&self) -> &'static str {
        "Gompertz"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
            Parameter { name: "rate", value: self.rate, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegative
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [concentration, rate] = self.on(value.graph());
        only_where(value.greater_equal(0.0), value, 1.0, |value| {
            let x = rate * value;
            concentration.log() + rate.log() + x - concentration * x.expm1()
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let [concentration, rate] = self.on(noise.graph());
        let u = uniform_noise(self, prefix, noise)?;
        Ok((-u.log() / concentration).log1p() / rate)
    }

    /// `eᶜ E₁(c)/rate` for the concentration `c`
    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(graph);
        at_batch_shape(self, concentration.exponential_integral() / rate)
    }

    /// `1 − ln(c · rate) − eᶜ E₁(c)` for the concentration `c`
    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(graph);
        let logs = concentration.log() + rate.log();
        at_batch_shape(self, 1.0 - logs - concentration.exponential_integral())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(graph);
        at_batch_shape(self, (-concentration.log()).max(0.0) / rate)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(value.graph());
        Some(-(-concentration * (rate * value.max(0.0)).expm1()).expm1())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(value.graph());
        Some((-concentration * (rate * value.max(0.0)).expm1()).exp())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(value.graph());
        Some(-concentration * (rate * value.max(0.0)).expm1())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(probability.graph());
        Some(of_probability(probability, (-(-probability).log1p() / concentration).log1p() / rate))
    }
    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [concentration, rate] = self.on(log_probability.graph());
        Some((-log_probability / concentration).log1p() / rate)
    }
}
