//! The Weibull distribution.

use crate::shared::helpers::EULER;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::log_space::{log_cdf_of_log_hazard, log_hazard_of_log_cdf};
use crate::shared::support::{at_end, cdf_above_zero, from_zero};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// Values of `1/k` below which the skewness is a series: its terms, with `(3/k)ⁿ`, fall below a rounding.
const SMALL: f64 = 0.0625;

/// Riemann's ζ at 2, 3, …
const ZETA: [f64; 23] = [
    1.644_934_066_848_226_4,
    1.202_056_903_159_594_2,
    1.082_323_233_711_138_1,
    1.036_927_755_143_37,
    1.017_343_061_984_449_2,
    1.008_349_277_381_923,
    1.004_077_356_197_944_4,
    1.002_008_392_826_082_1,
    1.000_994_575_127_818,
    1.000_494_188_604_119_4,
    1.000_246_086_553_308,
    1.000_122_713_347_578_5,
    1.000_061_248_135_058_8,
    1.000_030_588_236_307,
    1.000_015_282_259_408_6,
    1.000_007_637_197_637_9,
    1.000_003_817_293_265,
    1.000_001_908_212_716_5,
    1.000_000_953_962_033_8,
    1.000_000_476_932_986_9,
    1.000_000_238_450_502_7,
    1.000_000_119_219_926,
    1.000_000_059_608_189,
];

/// The distribution of `scale·e^(1/concentration)` for `e` exponential with mean 1.
///
/// ```text
/// ln p(x) = ln k − ln x + k t − e^(k t)        t = ln(x/scale), k = concentration, x > 0
/// ```
///
/// A draw is the quantile of uniform noise, so `x/scale` lies between `2^(−53/k)` and `37^(1/k)`; for `k`
/// below 0.05 that is beyond the numbers there are.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Weibull;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Weibull::new(2.0, 3.0).log_prob(x)])?);
/// plan.set("x", &[2.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (3.0_f64.ln() - 2.0_f64.ln() - 1.0)).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Weibull<'g> {
    pub(crate) scale: Value<'g>,
    pub(crate) concentration: Value<'g>,
}

impl<'g> Weibull<'g> {
    /// Scale and concentration (shape). Each is a number or an array; they are broadcast together.
    pub fn new(scale: impl Into<Value<'g>>, concentration: impl Into<Value<'g>>) -> Self {
        Self { scale: scale.into(), concentration: concentration.into() }
    }

    /// The quantile at a probability, or at uniform noise.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        scale * ((-(-probability).log1p()).log() / concentration).exp()
    }
}

impl<'g> Distribution<'g> for Weibull<'g> {
    fn name(&self) -> &'static str {
        "Weibull"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        // The density of an exponential variable has a value at 0.
        if self.concentration.known() == Some(1.0) { Constraint::NonNegative } else { Constraint::Positive }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let at_zero = || at_end(concentration - 1.0, concentration.log() - scale.log());
        from_zero(value, at_zero, |value| {
            let log = value.log();
            let power = (concentration * (log - scale.log())).min(1e30);
            power - power.exp() - (log - concentration.log())
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u).clamp_positive())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        at_batch_shape(self, scale * concentration.reciprocal().lgamma1p().exp())
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let scale = self.scale.on(graph);
        let concentration = self.concentration.on(graph);
        let rest = ((concentration - 1.0) / concentration).max(0.0);
        at_batch_shape(self, scale * rest.pow(concentration.reciprocal()))
    }

    /// With `t = 1/k` and `d_n = ln Γ(1 + n t) − n ln Γ(1 + t)` the third central moment is `e^d₃ − 1 − 3 (e^d₂ − 1)`
    /// in units of the mean, for small `t` by the series of `d₂` and of `d₃ − 3 d₂`.
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let inverse = self.concentration.on(graph).reciprocal();
        let near = inverse.less(SMALL);
        let t = near.select(SMALL, inverse);
        let d = |n: f64| (n * t).lgamma1p() - n * t.lgamma1p();
        let (second, third) = (d(2.0).expm1(), d(3.0).expm1());
        let far = (third - 3.0 * second) / (second * second.sqrt());
        // d₂/t² and (d₃ − 3 d₂)/t³.
        let t = near.select(inverse, SMALL);
        let (mut square, mut cube) = (graph.constant(0.0), graph.constant(0.0));
        for (n, zeta) in (2_i32..25).zip(ZETA).rev() {
            let (two, three) = (2.0_f64.powi(n), 3.0_f64.powi(n));
            let sign = if n % 2 == 0 { zeta } else { -zeta } / f64::from(n);
            square = square * t + sign * (two - 2.0);
            if n > 2 {
                cube = cube * t + sign * (three - 3.0 * two + 3.0);
            }
        }
        let (second, third) = (square * t.square(), cube * (t * t.square()) + 3.0 * square * t.square());
        // eˣ − 1 − x of both; of the third power of t that is left of the linear parts.
        let curved = |x: Var<'g>| x.expm1() - x;
        let small = cube + (curved(third) - 3.0 * curved(second)) / (t * t.square());
        let spread = second.expm1() / t.square();
        at_batch_shape(self, near.select(small / (spread * spread.sqrt()), far))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let inverse = concentration.reciprocal();
        let first = inverse.lgamma1p();
        at_batch_shape(
            self, // Γ(1 + 2/k) − Γ(1 + 1/k)², which is small where k is large
            (scale * first.exp()).square() * ((2.0 * inverse).lgamma1p() - 2.0 * first).expm1(),
        )
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        at_batch_shape(
            self,
            scale.log() - concentration.log() + (1.0 - concentration.reciprocal()) * EULER + 1.0,
        )
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        Some(cdf_above_zero(value, |value| -(-(concentration * (value.log() - scale.log())).exp()).expm1()))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let outside = value.less_equal(0.0);
        let log = outside.select(1.0, value).log();
        Some(outside.select(0.0, -(concentration * (log - scale.log())).exp()))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        let outside = value.less_equal(0.0);
        let log = outside.select(1.0, value).log();
        let inside = log_cdf_of_log_hazard(concentration * (log - scale.log()));
        Some(outside.select(f64::NEG_INFINITY, inside))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        Some(scale * (log_hazard_of_log_cdf(log_probability) / concentration).exp())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (scale, concentration) = (self.scale.on(graph), self.concentration.on(graph));
        Some(scale * ((-log_probability).log() / concentration).exp())
    }
}
