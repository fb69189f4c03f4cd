//! The Kumaraswamy distribution.

use crate::shared::helpers::EULER;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::LN_2;

/// The largest number below 1.
const LARGEST: f64 = 1.0 - f64::EPSILON / 2.0;

/// `ln(1 − eᵗ)` for `t < 0`, by whichever of `eᵗ` and `1 − eᵗ` is small.
fn log_of_rest(t: Var<'_>) -> Var<'_> {
    let near = t.greater(-LN_2);
    let (small, large) = (near.select(t, -LN_2), near.select(-LN_2, t));
    near.select((-small.expm1()).log(), (-large.exp()).log1p())
}

/// The Kumaraswamy distribution on the unit interval, which looks like a beta distribution and has a closed
/// distribution function.
///
/// ```text
/// ln p(x) = ln a + ln b + (a − 1) ln x + (b − 1) ln(1 − xᵃ)        0 < x < 1,   P(X ≤ x) = 1 − (1 − xᵃ)ᵇ
/// ```
///
/// A draw is the quantile of uniform noise, kept at least 2⁻⁵³ away from 1 and above 0.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Kumaraswamy;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let program = Program::new(&graph, &[Kumaraswamy::new(2.0, 3.0).log_prob(x)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("x", &[0.5])?;
/// plan.run();
/// assert!((plan.output(0)[0] - ((6.0 * 0.5 * 0.75 * 0.75_f64).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Kumaraswamy<'g> {
    concentration1: Value<'g>,
    concentration0: Value<'g>,
}

impl<'g> Kumaraswamy<'g> {
    /// Exponent `a` of `x` and exponent `b` of what is left. Each is a number or an array; they are broadcast
    /// together.
    pub fn new(concentration1: impl Into<Value<'g>>, concentration0: impl Into<Value<'g>>) -> Self {
        Self { concentration1: concentration1.into(), concentration0: concentration0.into() }
    }

    /// The quantile at a probability, or at uniform noise.
    #[track_caller]
    fn inverse(&self, probability: Var<'g>) -> Var<'g> {
        let graph = probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        // ln xᵃ = ln(1 − (1 − p)^(1/b))
        (log_of_rest((-probability).log1p() / concentration0) / concentration1).exp()
    }

    /// `ln E xⁿ = ln b + ln B(1 + n/a, b)`
    fn moment(&self, graph: &'g Graph, n: f64) -> Var<'g> {
        let (a, b) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let (part, top) = (n / a, b + 1.0);
        // ln Γ(1 + b) − ln Γ(1 + b + n/a) by Stirling's formula, of which the large terms cancel here.
        let gammas = top.stirling_error() - (top + part).stirling_error() - (b + 0.5) * (part / top).log1p();
        part.lgamma1p() + gammas - part * ((top + part).log() - 1.0)
    }
}

impl<'g> Distribution<'g> for Kumaraswamy<'g> {
    fn name(&self) -> &'static str {
        "Kumaraswamy"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "concentration1", value: self.concentration1, domain: Constraint::Positive },
            Parameter { name: "concentration0", value: self.concentration0, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::UnitInterval
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let log = value.log();
        let constant = concentration1.log() + concentration0.log();
        (concentration1 - 1.0) * log + (concentration0 - 1.0) * log_of_rest(concentration1 * log) + constant
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u).max(f64::MIN_POSITIVE).min(LARGEST))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.moment(graph, 1.0).exp())
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (first, second) = (self.moment(graph, 1.0), self.moment(graph, 2.0));
        at_batch_shape(self, (2.0 * first).exp() * (second - 2.0 * first).expm1())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let harmonic = (concentration0 + 1.0).digamma() + EULER;
        at_batch_shape(
            self,
            1.0 - concentration0.reciprocal() + (1.0 - concentration1.reciprocal()) * harmonic
                - concentration1.log()
                - concentration0.log(),
        )
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some(-(concentration0 * log_of_rest(concentration1 * value.log())).expm1())
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }
}
