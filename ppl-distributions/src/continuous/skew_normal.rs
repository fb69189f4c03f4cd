//! The skew normal distribution.

use crate::shared::bisect::{quantile_between, quantile_of_log_between};
use crate::shared::helpers::{LN_SQRT_TAU, at_batch_shape, log_of_rest, normal_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{LN_2, PI};

/// Azzalini's skew normal distribution: a normal one, of which the side to which `skewness` points is kept more often.
///
/// ```text
/// ln p(x) = ln 2 − ln scale + ln φ(z) + ln Φ(skewness · z)        z = (x − loc)/scale
/// ```
///
/// A draw is `loc + scale (δ |z₁| + √(1 − δ²) z₂)` of two normal numbers, with `δ = α/√(1 + α²)` for `α = skewness`.
/// The distribution function is an integral, taken in whichever tail it is small ([`Var::log_skew_normal_cdf`]).
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = SkewNormal::new(0.0, 1.0, 3.0);
/// // The larger of two independent normal variables is skew normal with skewness 1.
/// assert!((SkewNormal::new(0.0, 1.0, 1.0).cdf(0.7) - Normal::new(0.0, 1.0).cdf(0.7).powi(2)).abs() < 1e-15);
/// assert!(law.cdf(0.0) < 0.11);
/// ```
///
/// # References
/// A. Azzalini, "A class of distributions which includes the normal ones" (1985).
#[derive(Clone, Copy, Debug)]
pub struct SkewNormal<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
    skewness: Value<'g>,
}

impl<'g> SkewNormal<'g> {
    /// Location, scale, and how skew it is (0 for a normal distribution); numbers or arrays.
    pub fn new(
        loc: impl Into<Value<'g>>,
        scale: impl Into<Value<'g>>,
        skewness: impl Into<Value<'g>>,
    ) -> Self {
        Self { loc: loc.into(), scale: scale.into(), skewness: skewness.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 3] {
        [self.loc, self.scale, self.skewness].map(|value| value.on(graph))
    }
}

/// The quantile of a probability with this logarithm, of a standardised variable: between those that
/// [`SkewNormal::quantile`](Distribution::quantile) has.
#[track_caller]
fn standard_of_log<'g>(log_probability: Var<'g>, skewness: Var<'g>) -> Option<Var<'g>> {
    let right = skewness.greater_equal(0.0);
    let middle = log_probability.ndtri_exp();
    let low = right.select(middle, (log_probability - LN_2).ndtri_exp());
    let high = right.select(-(log_of_rest(log_probability) - LN_2).ndtri_exp(), middle);
    let law = SkewNormal::new(0.0, 1.0, skewness);
    quantile_of_log_between(log_probability, [low, high], false, |x| law.log_cdf(x), |x| law.log_prob(x))
}

impl<'g> Distribution<'g> for SkewNormal<'g> {
    fn name(&self) -> &'static str {
        "SkewNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
            Parameter { name: "skewness", value: self.skewness, domain: Constraint::Real },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [loc, scale, skewness] = self.on(value.graph());
        let z = (value - loc) / scale;
        (skewness * z).log_ndtr() + (LN_2 - LN_SQRT_TAU) - 0.5 * z.square() - scale.log()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let [loc, scale, skewness] = self.on(noise.graph());
        let half = normal_noise(self, prefix, noise)?.abs();
        let z = normal_noise(self, prefix, noise)?;
        let length = (1.0 + skewness.square()).sqrt();
        Ok(loc + scale * ((skewness / length) * half + z / length))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [loc, scale, skewness] = self.on(graph);
        at_batch_shape(self, loc + scale * ((2.0 / PI).sqrt() * skewness / (1.0 + skewness.square()).sqrt()))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, scale, skewness] = self.on(graph);
        let square = skewness.square() / (1.0 + skewness.square());
        at_batch_shape(self, scale.square() * (1.0 - (2.0 / PI) * square))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, _, skewness] = self.on(graph);
        let delta = (2.0 / PI).sqrt() * skewness / (1.0 + skewness.square()).sqrt();
        let rest = 1.0 - delta.square();
        at_batch_shape(self, (0.5 * (4.0 - PI)) * (delta * delta.square()) / (rest * rest.sqrt()))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_cdf(value)?.exp())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, skewness] = self.on(value.graph());
        Some(((value - loc) / scale).log_skew_normal_cdf(skewness))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, skewness] = self.on(value.graph());
        Some(((loc - value) / scale).log_skew_normal_cdf(-skewness))
    }

    /// Between those of a normal variable and of its absolute value, or minus that: the ends of all skewnesses.
    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, skewness] = self.on(probability.graph());
        let right = skewness.greater_equal(0.0);
        let middle = probability.ndtri();
        let low = right.select(middle, (0.5 * probability).ndtri());
        let high = right.select(-(0.5 * (1.0 - probability)).ndtri(), middle);
        let ends = [low, high].map(|z| loc + scale * z);
        quantile_between(probability, ends, false, |x| self.cdf(x), |x| self.log_prob(x))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, skewness] = self.on(log_probability.graph());
        Some(loc + scale * standard_of_log(log_probability, skewness)?)
    }

    /// By the mirror image.
    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, skewness] = self.on(log_probability.graph());
        Some(loc - scale * standard_of_log(log_probability, -skewness)?)
    }
}
