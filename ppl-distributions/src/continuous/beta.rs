//! The beta distribution.

use crate::family::BetaFamily;
use crate::shared::helpers::LN_SQRT_TAU;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use ppl_core::model::ExponentialFamily;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

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
        Constraint::UnitInterval
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let (log, log_rest) = (value.log(), (-value).log1p());
        let small = |count: Value<'_>| count.known().is_some_and(|count| count <= 1000.0);
        if small(self.concentration1) && small(self.concentration0) {
            let normaliser = log_beta(concentration1, concentration0);
            return (concentration1 - 1.0) * log + (concentration0 - 1.0) * log_rest - normaliser;
        }
        let sum = concentration1 + concentration0;
        let (ones, zeros) = (sum * value, sum * (1.0 - value));
        // The deviances hold x(a + b) − a and (1 − x)(a + b) − b, which add up to nothing but rounding.
        let rounding = (ones - concentration1) + (zeros - concentration0);
        let fall = concentration1.deviance(ones) + concentration0.deviance(zeros) - rounding;
        peak(concentration1, concentration0) - fall - log - log_rest
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let ones = concentration1.log_gamma_p_inverse(u);
        let v = uniform_noise(self, prefix, noise)?;
        let zeros = concentration0.log_gamma_p_inverse(v);
        Ok((ones - zeros).sigmoid().max(f64::MIN_POSITIVE).min(1.0 - f64::EPSILON / 2.0))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        at_batch_shape(self, concentration1 / (concentration1 + concentration0))
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
        Some(concentration1.beta_i(concentration0, value))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(concentration1.logit_beta_i_inverse(concentration0, probability).sigmoid())
    }
}
