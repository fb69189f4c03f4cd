//! The beta distribution.

use crate::family::BetaFamily;
use crate::shared::gamma_noise::log_gamma_noise;
use crate::shared::helpers::LN_SQRT_TAU;
use crate::shared::helpers::at_batch_shape;
use crate::shared::support::{at_end, cdf_in_unit};
use ppl_core::model::ExponentialFamily;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// Log-odds of a number between 0 and 1; −∞ below and ∞ above, without a derivative.
#[track_caller]
fn log_odds(value: Var<'_>) -> Var<'_> {
    let (below, above) = (value.less_equal(0.0), value.greater_equal(1.0));
    let odds = (below + above).select(0.5, value).logit();
    below.select(f64::NEG_INFINITY, above.select(f64::INFINITY, odds))
}

/// `ln B(a, b)`
pub(crate) fn log_beta<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    a.lgamma() + b.lgamma() - (a + b).lgamma()
}

/// `a ln(a/(a + b)) + b ln(b/(a + b)) − ln B(a, b)`: the log density of the log-odds at its mode, by
/// Stirling's formula.
pub(crate) fn peak<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    let sum = a + b;
    let stirling = sum.stirling_error() - a.stirling_error() - b.stirling_error();
    stirling + 0.5 * (a.log() + (b / sum).log()) - LN_SQRT_TAU
}

/// `a ln(a/n x) + b ln(b/n(1 − x))` with `n = a + b`: how far the log density of the log-odds lies below its
/// mode. With `δ = n x − a`, which is `b − n(1 − x)` as well, it is `D(a, a + δ) − b (ln(1 − δ/b) + δ/b)`; δ is
/// taken from the smaller of the two parts, whose digits are those of `x` or of `1 − x`, so that a count of
/// 10¹⁷ does not swallow the other one.
fn fall<'g>(a: Var<'g>, b: Var<'g>, x: Var<'g>) -> Var<'g> {
    let (sum, left) = (a + b, x.less(0.5));
    let (near, far) = (left.select(a, b), left.select(b, a));
    let part = sum * left.select(x, 1.0 - x);
    near.deviance(part) - far * (-((part - near) / far)).log1p_minus_x()
}

/// The beta distribution with pseudo-counts `concentration1` (of ones) and `concentration0` (of zeros).
///
/// ```text
/// ln p(x) = (a − 1) ln x + (b − 1) ln(1 − x) − ln B(a, b)        0 < x < 1, a > 0, b > 0
/// ```
///
/// It is used as it stands where both parameters are known to be at most 1000; else the large terms that
/// cancel are taken out by Stirling's formula, as for [`Gamma`](crate::Gamma).
///
/// A draw is `g/(g + h)` for gamma variables `g` and `h` of shapes `a` and `b`, computed in logarithms: the
/// log-odds are a difference. It is kept at least 2⁻⁵³ away from 1 and above 0; its derivatives with respect
/// to the parameters are those of the gamma variables.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Beta;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Beta::new(2.0, 3.0).log_prob(x)])?);
/// plan.set("x", &[0.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - ((12.0 * 0.125_f64).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Beta<'g> {
    pub(crate) concentration1: Value<'g>,
    pub(crate) concentration0: Value<'g>,
}

impl<'g> Beta<'g> {
    /// Exponents `a` of `x` and `b` of `1 − x`. Each is a number or an array; they are broadcast together.
    pub fn new(concentration1: impl Into<Value<'g>>, concentration0: impl Into<Value<'g>>) -> Self {
        Self { concentration1: concentration1.into(), concentration0: concentration0.into() }
    }
}

impl<'g> Distribution<'g> for Beta<'g> {
    fn name(&self) -> &'static str {
        "Beta"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "concentration1", value: self.concentration1, domain: Constraint::Positive },
            Parameter { name: "concentration0", value: self.concentration0, domain: Constraint::Positive },
        ]
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        let Self { concentration1, concentration0 } = *self;
        Some(Box::new(BetaFamily { concentration1, concentration0 }))
    }

    fn support(&self) -> Constraint {
        // The uniform distribution's ends belong to it.
        match (self.concentration1.known(), self.concentration0.known()) {
            (Some(1.0), Some(1.0)) => Constraint::Interval(0.0, 1.0),
            _ => Constraint::UnitInterval,
        }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let (known1, known0) = (self.concentration1.known(), self.concentration0.known());
        let inside = |value: Var<'g>| {
            let (log, log_rest) = (value.log(), (-value).log1p());
            let small = |count: Option<f64>| count.is_some_and(|count| count <= 1000.0);
            if small(known1) && small(known0) {
                let normaliser = log_beta(concentration1, concentration0);
                return (concentration1 - 1.0) * log + (concentration0 - 1.0) * log_rest - normaliser;
            }
            peak(concentration1, concentration0)
                - fall(concentration1, concentration0, value)
                - log
                - log_rest
        };
        // At an end with exponent 0 the density is that of the other factor at 1.
        let (low, high) = (value.less_equal(0.0), value.greater_equal(1.0));
        let end = low + high;
        let at_low = at_end(concentration1 - 1.0, concentration0.log());
        let at_high = at_end(concentration0 - 1.0, concentration1.log());
        let beyond = value.less(0.0) + value.greater(1.0);
        let there = beyond.select(f64::NEG_INFINITY, low.select(at_low, at_high));
        if Constraint::UnitInterval.outside(value).is_none() {
            return inside(value);
        }
        end.select(there, inside(end.select(0.5, value)))
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let graph = noise.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let ones = log_gamma_noise(self, concentration1, prefix, noise)?;
        let zeros = log_gamma_noise(self, concentration0, prefix, noise)?;
        Ok((ones - zeros).sigmoid().clamp_unit())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        at_batch_shape(self, concentration1 / (concentration1 + concentration0))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration1 = self.concentration1.on(graph);
        let concentration0 = self.concentration0.on(graph);
        let (a, b) = ((concentration1 - 1.0).max(0.0), (concentration0 - 1.0).max(0.0));
        // Where neither exponent is positive the density is greatest at an end, or everywhere the same.
        let inner = (a + b).greater(0.0);
        let end = concentration1.greater(concentration0) + 0.5 * concentration1.equal(concentration0);
        at_batch_shape(self, inner.select(a / inner.select(a + b, 1.0), end))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration1 = self.concentration1.on(graph);
        let concentration0 = self.concentration0.on(graph);
        let sum = concentration1 + concentration0;
        let root = ((sum + 1.0) / (concentration1 * concentration0)).sqrt();
        at_batch_shape(self, 2.0 * (concentration0 - concentration1) * root / (sum + 2.0))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let sum = concentration1 + concentration0;
        at_batch_shape(self, (concentration1 / sum) * (concentration0 / sum) / (sum + 1.0))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let sum = concentration1 + concentration0;
        // E ln x = ψ(a) − ψ(a + b), with the logarithms apart
        let rest = sum.digamma_minus_log();
        let part = |count: Var<'g>| (count / sum).log() + (count.digamma_minus_log() - rest);
        let of_rest = |count: Var<'g>| count * (count.digamma_minus_log() - rest);
        at_batch_shape(
            self, // With the large terms of ln B and of a E ln x + b E ln(1 − x) taken out of both.
            part(concentration1) + part(concentration0)
                - (of_rest(concentration1) + of_rest(concentration0) + peak(concentration1, concentration0)),
        )
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(cdf_in_unit(value, |value| concentration1.beta_i(concentration0, value)))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(concentration1.logit_beta_i_inverse(concentration0, probability).sigmoid())
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(concentration1.log_beta_i(concentration0, log_odds(value)))
    }

    /// The mirror image's distribution function, by log-odds: `1 − x` may have no digits of `x` left.
    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(concentration0.log_beta_i(concentration1, -log_odds(value)))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(concentration1.logit_beta_i_inverse_of_log(concentration0, log_probability).sigmoid())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some((-concentration0.logit_beta_i_inverse_of_log(concentration1, log_probability)).sigmoid())
    }
}
