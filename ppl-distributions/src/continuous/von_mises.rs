//! The von Mises distribution on the circle.

use crate::shared::bisect::quantile_of_log_between;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::quantiles::of_probability;
use crate::shared::support::only_within;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::{PI, TAU};

/// `ln 2π`
const LN_TAU: f64 = 1.837_877_066_409_345_6;

/// The same angle between −π and π.
#[track_caller]
fn in_one_turn(angle: Var<'_>) -> Var<'_> {
    (angle - TAU * ((angle + PI) / TAU).floor()).at_least(-PI).at_most(PI)
}

/// The von Mises distribution of angles in radians, with mean direction `loc` and `concentration` κ.
///
/// ```text
/// ln p(x) = κ cos(x − loc) − ln 2π − ln I₀(κ)        −π ≤ x ≤ π, loc real, κ > 0
/// ```
///
/// The density has period 2π, so any angle is allowed. [`mean`](Distribution::mean) is the mean
/// direction `loc` and [`variance`](Distribution::variance) the circular variance `1 − I₁(κ)/I₀(κ)`, as in
/// NumPyro; the arithmetic mean and variance of the angles are others unless `loc` is 0.
/// [`cdf`](Distribution::cdf) counts from −π to π, and [`quantile`](Distribution::quantile) is
/// its inverse; a draw is made by rejection (Best and Fisher 1979), turned into the support, with implicit derivatives
/// in κ.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::VonMises;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let cdf = VonMises::new(0.0, 3.0).cdf(x).expect("a formula");
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[cdf])?);
/// plan.set("x", &[0.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 0.5).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct VonMises<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) concentration: Value<'g>,
}

impl<'g> VonMises<'g> {
    /// Mean direction in radians, and concentration. Each is a number or an array; they are broadcast
    /// together.
    pub fn new(loc: impl Into<Value<'g>>, concentration: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), concentration: concentration.into() }
    }

    /// By halving the circle: the quantile of a probability counts it from where −π lies around `loc`, beside which a
    /// small one may be lost.
    #[track_caller]
    fn of_log(&self, log_probability: Var<'g>, upper: bool) -> Option<Var<'g>> {
        let end = at_batch_shape(self, log_probability.constant(PI))?;
        let tail = |x: Var<'g>| if upper { self.log_sf(x) } else { self.log_cdf(x) };
        quantile_of_log_between(log_probability, [-end, end], upper, tail, |x| self.log_prob(x))
    }
}

impl<'g> Distribution<'g> for VonMises<'g> {
    fn name(&self) -> &'static str {
        "VonMises"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Interval(-PI, PI)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (loc, concentration) = (self.loc.on(value.graph()), self.concentration.on(value.graph()));
        // κ (cos d − 1) by the half angle: d may be small and κ large.
        let half = (0.5 * (value - loc)).sin();
        let log_prob = -2.0 * concentration * half.square() - (concentration.log_i0e() + LN_TAU);
        only_within(self.support(), value, log_prob)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let mut uniform = || uniform_noise(self, prefix, noise);
        let drawn = [uniform()?, uniform()?, uniform()?, uniform()?, uniform()?, uniform()?, uniform()?];
        let (loc, concentration) = (self.loc.on(noise.graph()), self.concentration.on(noise.graph()));
        Ok(in_one_turn(loc + concentration.von_mises_draw(drawn)))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, in_one_turn(self.loc.on(graph)))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, in_one_turn(self.loc.on(graph)))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.concentration.on(graph).bessel_ratio_complement())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration = self.concentration.on(graph);
        let fall = concentration * concentration.bessel_ratio_complement();
        at_batch_shape(self, fall + concentration.log_i0e() + LN_TAU)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (loc, concentration) = (self.loc.on(value.graph()), self.concentration.on(value.graph()));
        // Angles are counted from −π, whatever `loc` is.
        let angle = value.max(-PI).min(PI);
        Some(concentration.von_mises_between(-(PI + loc), angle - loc))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let (loc, concentration) =
            (self.loc.on(probability.graph()), self.concentration.on(probability.graph()));
        // Angles are counted from −π, which lies somewhere on the circle around `loc`.
        let centre = in_one_turn(loc);
        let place = concentration.von_mises_cdf(in_one_turn(-(PI + centre))) + probability;
        let angle = concentration.von_mises_cdf_inverse(place - place.greater(1.0));
        let ends = probability.equal(1.0) - probability.equal(0.0);
        Some(of_probability(probability, ends.equal(0.0).select(in_one_turn(centre + angle), PI * ends)))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (loc, concentration) = (self.loc.on(value.graph()), self.concentration.on(value.graph()));
        let angle = value.max(-PI).min(PI);
        Some(concentration.von_mises_between(angle - loc, PI - loc))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.of_log(log_probability, false)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.of_log(log_probability, true)
    }
}
