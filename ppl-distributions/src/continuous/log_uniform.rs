//! The log-uniform distribution.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::log_space::only_where;
use crate::shared::moved::between;
use crate::shared::quantiles::of_probability;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Transport, Value, Var};

/// `ln(high/low)`, also where the quotient is too large for a number.
#[track_caller]
fn log_ratio<'g>(high: Var<'g>, low: Var<'g>) -> Var<'g> {
    // Of neighbours by their difference, which is exact.
    let near = high.less(2.0 * low);
    let held = (1.0 - near) * (high / low).is_finite();
    let far = held.select((held.select(high, low) / low).log(), high.log() - low.log());
    near.select((near.select(high - low, 0.0) / low).log1p(), far)
}

/// Half a logarithm of a ratio below which moments about the mean, in which leading terms cancel, are series.
const NEAR: f64 = 1.0;

/// Of half a logarithm `t` of a ratio: `s = sinh t/t`, `cosh t − s`, and the third central moment over `s`, which is
/// `1 + 4/3 sinh² t − 3 s cosh t + 2 s²`; all in powers of `t²`.
struct Halves<'g> {
    sinh_over: Var<'g>,
    rest: Var<'g>,
    third: Var<'g>,
}

/// Whether a ratio is so near to 1, and its [`Halves`].
#[track_caller]
fn halves(log: Var<'_>) -> (Var<'_>, Halves<'_>) {
    let near = log.less(2.0 * NEAR);
    let square = (0.5 * near.select(log, NEAR)).square();
    // Σ_k c_k t^(2k), from the last term that counts.
    let series = |of: fn(f64, f64) -> f64| {
        let mut sum = square.constant(0.0);
        let mut terms = Vec::new();
        let mut factorial = 1.0;
        for k in 0..16 {
            // (2k)!, and with it the coefficient.
            let twice = f64::from(2 * k);
            factorial *= if k == 0 { 1.0 } else { twice * (twice - 1.0) };
            terms.push(of(twice, factorial));
        }
        for term in terms.into_iter().rev() {
            sum = sum * square + term;
        }
        sum
    };
    let halves = Halves {
        sinh_over: series(|n, factorial| 1.0 / (factorial * (n + 1.0))),
        rest: series(|n, factorial| n / (factorial * (n + 1.0))),
        third: series(|n, factorial| {
            // Of (2t)ⁿ, from `1 + ⅔ (cosh 2t − 1) − 3 sinh 2t/2t + 4 (cosh 2t − 1)/(2t)²`; below the fourth power they
            // cancel.
            let coefficient = 2.0 / 3.0 - 3.0 / (n + 1.0) + 4.0 / ((n + 1.0) * (n + 2.0));
            if n < 4.0 { 0.0 } else { 2.0_f64.powf(n) * coefficient / factorial }
        }),
    };
    (near, halves)
}

/// The distribution whose logarithm is uniform from `ln low` to `ln high`: every order of magnitude is as likely as
/// every other.
///
/// ```text
/// ln p(x) = −ln x − ln ln(high/low)        low ≤ x ≤ high, low > 0
/// ```
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = LogUniform::new(1e-4, 1.0);
/// assert!((law.quantile(0.5) - 1e-2).abs() < 1e-16);
/// assert_eq!(law.pdf(2.0), 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogUniform<'g> {
    low: Value<'g>,
    high: Value<'g>,
}

impl<'g> LogUniform<'g> {
    /// The ends, `0 < low < high`; numbers or arrays.
    pub fn new(low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.low, self.high].map(|value| value.on(graph))
    }

    /// The value below which this probability lies, but for rounding at the ends.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let [low, high] = self.on(probability.graph());
        let log = probability * log_ratio(high, low);
        // Over more orders of magnitude than a number has, in single precision too, the factor of `low` may be infinite
        // where the value is not.
        let held = (high / low).less(1e30);
        held.select(low * held.select(log, 0.0).exp(), (low.log() + log).exp())
    }
}

impl<'g> Distribution<'g> for LogUniform<'g> {
    fn name(&self) -> &'static str {
        "LogUniform"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = Bounds::new(self.low, self.high).parameters();
        for low in parameters.iter_mut().filter(|parameter| parameter.name == "low") {
            low.domain = Constraint::Positive;
        }
        parameters
    }

    fn support(&self) -> Constraint {
        Bounds::new(self.low, self.high).support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [low, high] = self.on(value.graph());
        let inside = value.greater_equal(low) * value.less_equal(high);
        only_where(inside, value, 1.0, |value| -value.log() - log_ratio(high, low).log())
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(Bounds::new(self.low, self.high).clamp(self.inverse(u)))
    }

    /// Where the ends are not numbers, by the place between them.
    fn transport(&self) -> Option<Transport<'g>> {
        between(*self, Bounds::new(self.low, self.high))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        at_batch_shape(self, (high - low) / log_ratio(high, low))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        let log = log_ratio(high, low);
        let mean = (high - low) / log;
        let (near, half) = halves(log);
        // In units of the square of the ends' geometric mean: s (cosh t − s) with s = sinh t/t.
        let close = low * high * (half.sinh_over * half.rest);
        at_batch_shape(self, near.select(close, mean * (0.5 * (high + low) - mean)))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        let log = log_ratio(high, low);
        let (near, half) = halves(log);
        let spread = half.sinh_over * half.rest;
        let close = half.sinh_over * half.third / (spread * spread.sqrt());
        // In units of the upper end.
        let log = near.select(2.0 * NEAR, log);
        let moment = |n: f64| -(-n * log).expm1() / (n * log);
        let [first, second, third] = [1.0, 2.0, 3.0].map(moment);
        let spread = second - first.square();
        let far = (third - 3.0 * first * second + 2.0 * first * first.square()) / (spread * spread.sqrt());
        at_batch_shape(self, near.select(close, far))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, high] = self.on(graph);
        at_batch_shape(self, 0.5 * (low.log() + high.log()) + log_ratio(high, low).log())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [low, _] = self.on(graph);
        at_batch_shape(self, low)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [low, high] = self.on(value.graph());
        let inside = value.max(low).min(high);
        Some(log_ratio(inside, low) / log_ratio(high, low))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [low, high] = self.on(value.graph());
        let inside = value.max(low).min(high);
        Some(log_ratio(high, inside) / log_ratio(high, low))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [low, high] = self.on(probability.graph());
        Some(of_probability(probability, self.inverse(probability).max(low).min(high)))
    }
}
