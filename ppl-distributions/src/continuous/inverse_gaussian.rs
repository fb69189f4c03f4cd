//! The inverse Gaussian distribution.

use crate::shared::bisect::{quantile_between, quantile_of_log_between};
use crate::shared::helpers::{LN_SQRT_TAU, at_batch_shape, log_of_rest, normal_noise, uniform_noise};
use crate::shared::log_space::{implicit, log_difference, log_sum, only_where};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// `a = √(λ/x) (x/μ − 1)`, and the logarithm of `e^(2λ/μ) Φ(−b)` with `b = √(λ/x) (x/μ + 1)`, in which the first
/// factor is `φ(a)/φ(b)`.
#[track_caller]
fn parts<'g>(value: Var<'g>, mean: Var<'g>, concentration: Var<'g>) -> (Var<'g>, Var<'g>) {
    let value = value.greater(0.0).select(value, 1.0);
    let root = (concentration / value).sqrt();
    let (a, b) = (root * ((value - mean) / mean), root * (value / mean + 1.0));
    (a, -0.5 * a.square() - LN_SQRT_TAU - (-b).inverse_mills().log())
}

/// The inverse Gaussian (Wald) distribution: when a Brownian motion with drift first passes a level.
///
/// ```text
/// ln p(x) = ½ ln(λ/(2π x³)) − λ (x − μ)²/(2 μ² x)        x > 0, mean μ > 0, concentration λ > 0
/// ```
///
/// A draw is Michael, Schucany and Haas's, of a normal and a uniform number; its derivative is the implicit one, by
/// the distribution function.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = InverseGaussian::new(2.0, 3.0);
/// assert!((law.cdf(1.5) + law.sf(1.5) - 1.0).abs() < 1e-15);
/// assert_eq!(law.summary().variance, Some(8.0 / 3.0));
/// ```
///
/// # References
/// J. R. Michael, W. R. Schucany, R. W. Haas, "Generating random variates using transformations with multiple
/// roots" (1976).
#[derive(Clone, Copy, Debug)]
pub struct InverseGaussian<'g> {
    mean: Value<'g>,
    concentration: Value<'g>,
}

impl<'g> InverseGaussian<'g> {
    /// Mean and concentration; numbers or arrays.
    pub fn new(mean: impl Into<Value<'g>>, concentration: impl Into<Value<'g>>) -> Self {
        Self { mean: mean.into(), concentration: concentration.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.mean, self.concentration].map(|value| value.on(graph))
    }

    /// The quantile by the logarithm of the lower or of the upper tail, between logarithms of ends.
    #[track_caller]
    fn of_log(&self, log_probability: Var<'g>, ends: [Var<'g>; 2], upper: bool) -> Option<Var<'g>> {
        let number = |y: Var<'g>| y.exp().clamp_positive();
        let tail = |y: Var<'g>| if upper { self.log_sf(number(y)) } else { self.log_cdf(number(y)) };
        let log_density = |y: Var<'g>| self.log_prob(number(y)) + y;
        Some(number(quantile_of_log_between(log_probability, ends, upper, tail, log_density)?))
    }
}

impl<'g> Distribution<'g> for InverseGaussian<'g> {
    fn name(&self) -> &'static str {
        "InverseGaussian"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "mean", value: self.mean, domain: Constraint::Positive },
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Positive
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [mean, concentration] = self.on(value.graph());
        only_where(value.greater(0.0), value, 1.0, |value| {
            let away = (value - mean) / mean;
            0.5 * (concentration.log() - 3.0 * value.log())
                - LN_SQRT_TAU
                - 0.5 * concentration * away.square() / value
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let [mean, concentration] = self.on(noise.graph());
        let z = normal_noise(self, prefix, noise)?;
        let u = uniform_noise(self, prefix, noise)?;
        let w = 0.5 * mean * z.square() / concentration;
        // μ times the smaller root of t² − 2 (1 + w) t + 1 = 0; the larger one is its reciprocal.
        let t = (1.0 + w + (w * (2.0 + w)).sqrt()).reciprocal();
        let drawn = mean * (u * (1.0 + t)).less_equal(1.0).select(t, t.reciprocal());
        implicit(self, drawn.clamp_positive())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [mean, _] = self.on(graph);
        at_batch_shape(self, mean)
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(graph);
        at_batch_shape(self, mean.square() * (mean / concentration))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(graph);
        at_batch_shape(self, 3.0 * (mean / concentration).sqrt())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(graph);
        let r = 1.5 * mean / concentration;
        at_batch_shape(self, mean / ((1.0 + r.square()).sqrt() + r))
    }

    /// `½ (1 + ln(2πμ³/λ)) − (3/2) e^(2λ/μ) E₁(2λ/μ)`
    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(graph);
        let ratio = concentration / mean;
        let spread = 0.5 - 0.5 * ratio.log() + mean.log() + LN_SQRT_TAU;
        at_batch_shape(self, spread - 1.5 * (2.0 * ratio).exponential_integral())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(value.graph());
        let (a, second) = parts(value, mean, concentration);
        Some(value.greater(0.0).select((a.log_ndtr().exp() + second.exp()).min(1.0), 0.0))
    }

    /// In logarithms, between the ends that Markov's inequality gives for the variable and for its reciprocal, whose
    /// mean is `1/μ + 1/λ`.
    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(probability.graph());
        let low = probability.log() - (mean.reciprocal() + concentration.reciprocal()).log();
        let high = mean.log() - (-probability).log1p();
        let cdf = |y: Var<'g>| self.cdf(y.exp());
        let log_density = |y: Var<'g>| self.log_prob(y.exp()) + y;
        Some(quantile_between(probability, [low, high], false, cdf, log_density)?.exp())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(value.graph());
        let (a, second) = parts(value, mean, concentration);
        let near = ((-a).log_ndtr().exp() - second.exp()).max(0.0);
        Some(a.greater(0.0).select(self.log_sf(value)?.exp(), value.greater(0.0).select(near, 1.0)))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(value.graph());
        let (a, second) = parts(value, mean, concentration);
        Some(value.greater(0.0).select(log_sum(a.log_ndtr(), second).min(0.0), f64::NEG_INFINITY))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(value.graph());
        let (a, second) = parts(value, mean, concentration);
        let near = log_difference((-a).log_ndtr(), second);
        // Beyond the mean the difference of two of Mills' ratios, which lie ever closer together.
        let beyond = a.greater(0.0);
        // So far out that a quotient overflows nothing is left.
        let nothing = a.equal(f64::INFINITY);
        let start = (beyond * (1.0 - nothing)).select(a, 0.0);
        let width = 2.0 * (concentration / value.greater(0.0).select(value, 1.0)).sqrt();
        let far = start.log_mills_difference(width) - (0.5 * start.square() + LN_SQRT_TAU);
        let log = nothing.select(f64::NEG_INFINITY, beyond.select(far, near));
        Some(value.greater(0.0).select(log, 0.0))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(log_probability.graph());
        let low = log_probability - (mean.reciprocal() + concentration.reciprocal()).log();
        let high = mean.log() - log_of_rest(log_probability);
        self.of_log(log_probability, [low, high], false)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let [mean, concentration] = self.on(log_probability.graph());
        let low = log_of_rest(log_probability) - (mean.reciprocal() + concentration.reciprocal()).log();
        let high = mean.log() - log_probability;
        self.of_log(log_probability, [low, high], true)
    }
}
