//! The Kumaraswamy distribution.

use crate::shared::helpers::{EULER, at_batch_shape, log_of_rest, uniform_noise};
use crate::shared::log_space::{by_smaller, log_cdf_of_log_hazard, log_hazard_of_log_cdf};
use crate::shared::support::{cdf_in_unit, within};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

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
        let near = part.less(8.0);
        let p = near.select(part, 1.0);
        let gammas = top.stirling_error() - (top + p).stirling_error() - (b + 0.5) * (p / top).log1p();
        let of_near = p.lgamma1p() + gammas - p * ((top + p).log() - 1.0);
        // Where n/a is large, ln x! = x ln x − x + R(x) of all three: no large term is left.
        let p = near.select(8.0, part);
        let rests =
            p.log_factorial_remainder() + b.log_factorial_remainder() - (p + b).log_factorial_remainder();
        let of_far = rests - p * (b / p).log1p() - b * (p / b).log1p();
        near.select(of_near, of_far)
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
        let constant = concentration1.log() + concentration0.log();
        within(Constraint::UnitInterval, value, 0.5, |value| {
            let log = value.log();
            let rest = (concentration0 - 1.0) * log_of_rest(concentration1 * log);
            (concentration1 - 1.0) * log + rest + constant
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u).clamp_unit())
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

    /// `((a − 1)/(ab − 1))^(1/a)` for `a ≥ 1` and `b ≥ 1`, else an end at which the density is infinite.
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, b) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let (left, right) = ((a - 1.0).max(0.0), (b - 1.0).max(0.0));
        let uniform = (left + right).equal(0.0);
        let inside = (left / uniform.select(1.0, left * b + right)).pow(a.reciprocal());
        let end = a.greater_equal(1.0).select(b.less(1.0).select(1.0, inside), 0.0);
        at_batch_shape(self, (a.equal(1.0) * b.equal(1.0)).select(0.5, end))
    }

    /// By the moments: where `a` is large it loses the digits of `a²`.
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let first = self.moment(graph, 1.0);
        let [second, third] = [2.0, 3.0].map(|n| (self.moment(graph, n) - n * first).expm1());
        at_batch_shape(self, (third - 3.0 * second) / (second * second.sqrt()))
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
        Some(cdf_in_unit(value, |value| {
            -(concentration0 * log_of_rest(concentration1 * value.log())).expm1()
        }))
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
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let (below, above) = (value.less_equal(0.0), value.greater_equal(1.0));
        let inside = (below + above).select(0.5, value);
        let log_sf = concentration0 * log_of_rest(concentration1 * inside.log());
        Some(below.select(0.0, above.select(f64::NEG_INFINITY, log_sf)))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let (below, above) = (value.less_equal(0.0), value.greater_equal(1.0));
        let inside = (below + above).select(0.5, value);
        let log_hazard = concentration0.log() + log_hazard_of_log_cdf(concentration1 * inside.log());
        let log_cdf = log_cdf_of_log_hazard(log_hazard);
        let log_cdf = below.select(f64::NEG_INFINITY, above.select(0.0, log_cdf));
        Some(by_smaller(log_cdf, self.sf(value)?))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        let log_hazard = log_hazard_of_log_cdf(log_probability) - concentration0.log();
        Some((log_cdf_of_log_hazard(log_hazard) / concentration1).exp())
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (concentration1, concentration0) = (self.concentration1.on(graph), self.concentration0.on(graph));
        Some((log_of_rest(log_probability / concentration0) / concentration1).exp())
    }
}
