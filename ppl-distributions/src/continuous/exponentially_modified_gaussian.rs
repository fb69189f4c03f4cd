//! The sum of a normal and an exponential variable.

use crate::shared::bisect::{quantile_between, quantile_of_log_between};
use crate::shared::helpers::{LN_SQRT_TAU, at_batch_shape, log_of_rest, normal_noise, uniform_noise};
use crate::shared::log_space::{by_smaller, log_difference, log_sum};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// `−½ z² + ½ t² + ln Φ(−t)` with `t = product − z`: the logarithm of the density by the rate.
#[track_caller]
fn tilted<'g>(z: Var<'g>, product: Var<'g>) -> Var<'g> {
    let t = product - z;
    let right = t.greater(0.0);
    // The logarithm of Mills' ratio, whose derivative keeps its digits far out.
    let far = -0.5 * z.square() - LN_SQRT_TAU + right.select(t, 1.0).log_normal_tail(f64::INFINITY);
    // ½ (t² − z²) without the squares, of which there is only one that matters.
    let near = 0.5 * product * (product - 2.0 * z) + (-right.select(0.0, t)).log_ndtr();
    right.select(far, near)
}

/// The logarithm of the probability below `z < 0`: `Φ(z) − φ(z) R(t)` with Mills' ratio `R`, and `Φ(z) = φ(z) R(−z)`.
#[track_caller]
fn lower_tail<'g>(z: Var<'g>, product: Var<'g>) -> Var<'g> {
    (-z).log_mills_difference(product) - 0.5 * z.square() - LN_SQRT_TAU
}

/// The logarithm of the probability below `z ≥ 0` where `rate · scale` is less than 1. It is
/// `ln Φ(z) + ln(1 − e^(c²/2 − cz) Φ(z − c)/Φ(z))` with `c = rate · scale`, and the quotient 1 less the probability
/// between `z − c` and `z` in units of `Φ(z)`, which keeps its digits however small `c` is.
#[track_caller]
fn below_slow<'g>(z: Var<'g>, product: Var<'g>) -> Var<'g> {
    let start = z - product;
    let beyond = start.greater_equal(0.0);
    let a = beyond.select(start, 0.0);
    let on_one_side = (a.log_normal_tail(product) - (0.5 * a.square() + LN_SQRT_TAU)).exp();
    let (before, after) = (beyond.select(0.0, -start), beyond.select(0.0, z));
    let about_zero = 0.5 * ((before * FRAC_1_SQRT_2).erf() + (after * FRAC_1_SQRT_2).erf());
    let between = beyond.select(on_one_side, about_zero);
    let log_below = z.log_ndtr();
    let log_quotient = 0.5 * product * (product - 2.0 * z) + (-between / log_below.exp()).log1p();
    log_below + log_of_rest(log_quotient)
}

/// What is made of the logarithm of the probability below `z`, and `near` where the difference that it is has its
/// digits.
#[track_caller]
fn by_place<'g>(z: Var<'g>, product: Var<'g>, near: Var<'g>, made: impl Fn(Var<'g>) -> Var<'g>) -> Var<'g> {
    let left = z.less(0.0);
    let slow = product.less(1.0) * z.greater_equal(0.0);
    let of_slow = below_slow(slow.select(z, 1.0), slow.select(product, 0.5));
    left.select(made(lower_tail(left.select(z, -1.0), product)), slow.select(made(of_slow), near))
}

/// The sum of a normal variable with mean `loc` and standard deviation `scale`, and an exponential one with rate
/// `rate`: reaction times, peaks of chromatograms.
///
/// ```text
/// ln p(x) = ln rate − ½ z² + ½ t² + ln Φ(−t)        z = (x − loc)/scale, t = rate · scale − z
/// ```
///
/// Where `t > 0` the last two terms, which cancel, are taken together as minus the logarithm of `φ(t)/Φ(−t)` and of
/// `√(2π)`. A draw is the sum that it says. The lower tail is computed without the difference that
/// it is where that has no digits.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = ExponentiallyModifiedGaussian::new(0.3, 0.1, 5.0);
/// assert!((law.cdf(0.5) + law.sf(0.5) - 1.0).abs() < 1e-15);
/// assert_eq!(law.summary().mean, Some(0.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ExponentiallyModifiedGaussian<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
    rate: Value<'g>,
}

impl<'g> ExponentiallyModifiedGaussian<'g> {
    /// Mean and standard deviation of the normal variable, rate of the exponential one; numbers or arrays.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>, rate: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into(), rate: rate.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 3] {
        [self.loc, self.scale, self.rate].map(|value| value.on(graph))
    }

    /// An outcome above which lies less than the probability of this logarithm: the sum of those above which both
    /// variables have half of it.
    #[track_caller]
    fn beyond(&self, log_probability: Var<'g>) -> Var<'g> {
        let [loc, scale, rate] = self.on(log_probability.graph());
        let half = log_probability - LN_2;
        loc - scale * half.ndtri_exp() - half / rate
    }
}

impl<'g> Distribution<'g> for ExponentiallyModifiedGaussian<'g> {
    fn name(&self) -> &'static str {
        "ExponentiallyModifiedGaussian"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
            Parameter { name: "rate", value: self.rate, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [loc, scale, rate] = self.on(value.graph());
        rate.log() + tilted((value - loc) / scale, rate * scale)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let [loc, scale, rate] = self.on(noise.graph());
        let z = normal_noise(self, prefix, noise)?;
        let u = uniform_noise(self, prefix, noise)?;
        Ok(loc + scale * z - u.log() / rate)
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [loc, _, rate] = self.on(graph);
        at_batch_shape(self, loc + rate.reciprocal())
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, scale, rate] = self.on(graph);
        at_batch_shape(self, scale.square() + rate.square().reciprocal())
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, scale, rate] = self.on(graph);
        let spread = 1.0 + (rate * scale).square();
        at_batch_shape(self, 2.0 / (spread * spread.sqrt()))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, rate] = self.on(value.graph());
        let z = (value - loc) / scale;
        let near = (z.log_ndtr().exp() - tilted(z, rate * scale).exp()).max(0.0);
        Some(by_place(z, rate * scale, near, Var::exp))
    }

    /// Between the quantile of the normal variable and the sum of both, each at half the probability above.
    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, rate] = self.on(probability.graph());
        let above = 0.5 * (1.0 - probability);
        let low = loc + scale * probability.ndtri();
        let high = loc - scale * above.ndtri() - above.log() / rate;
        quantile_between(probability, [low, high], false, |x| self.cdf(x), |x| self.log_prob(x))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, rate] = self.on(value.graph());
        let z = (value - loc) / scale;
        Some(((-z).log_ndtr().exp() + tilted(z, rate * scale).exp()).min(1.0))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, rate] = self.on(value.graph());
        let z = (value - loc) / scale;
        let near = log_difference(z.log_ndtr(), tilted(z, rate * scale));
        Some(by_place(z, rate * scale, near, |log| log))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, _] = self.on(log_probability.graph());
        let low = loc + scale * log_probability.ndtri_exp();
        let ends = [low, self.beyond(log_of_rest(log_probability))];
        quantile_of_log_between(log_probability, ends, false, |x| self.log_cdf(x), |x| self.log_prob(x))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, _] = self.on(log_probability.graph());
        let low = loc - scale * log_probability.ndtri_exp();
        let ends = [low, self.beyond(log_probability)];
        quantile_of_log_between(log_probability, ends, true, |x| self.log_sf(x), |x| self.log_prob(x))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale, rate] = self.on(value.graph());
        let z = (value - loc) / scale;
        let log = log_sum((-z).log_ndtr(), tilted(z, rate * scale)).min(0.0);
        Some(by_smaller(log, self.cdf(value)?))
    }
}
