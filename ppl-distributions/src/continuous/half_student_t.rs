//! The half Student-t distribution.

use crate::continuous::student_t::gamma_ratio;
use crate::shared::gamma_noise::log_gamma_noise;
use crate::shared::helpers::{at_batch_shape, normal_noise};
use crate::shared::support::only_within;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::LN_2;

/// The distribution of `|y|` for `y` Student's t around 0 with `df` degrees of freedom and this `scale`: a prior
/// for standard deviations with a heavier tail than half of a normal and a lighter one than half of a Cauchy.
///
/// ```text
/// ln p(x) = ln 2 + ln Γ((ν + 1)/2) − ln Γ(ν/2) − ½ ln νπ − ln scale − (ν + 1)/2 · ln(1 + (x/scale)²/ν)        x > 0
/// ```
///
/// The mean is infinite for `ν ≤ 1` and the variance for `ν ≤ 2`. A draw is the magnitude of one of
/// [`StudentT`](crate::StudentT); its derivative with respect to `ν` is implicit. Below `ν = 0.1` it may be beyond the
/// largest number, and infinite.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{HalfCauchy, HalfStudentT};
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let both = [HalfStudentT::new(1.0, 2.0).log_prob(x), HalfCauchy::new(2.0).log_prob(x)];
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &both)?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - plan.output(1)[0]).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HalfStudentT<'g> {
    df: Value<'g>,
    scale: Value<'g>,
}

impl<'g> HalfStudentT<'g> {
    /// Degrees of freedom `ν` and scale. Each is a number or an array; they are broadcast together.
    pub fn new(df: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { df: df.into(), scale: scale.into() }
    }

    /// `2 p(0) ν/(ν − 1)` for scale 1, where `ν > 1`; some finite number elsewhere.
    #[track_caller]
    fn mean_of_unit(&self, graph: &'g Graph) -> Var<'g> {
        let df = self.df.on(graph);
        let df = df.greater(1.0).select(df, 2.0);
        2.0 * gamma_ratio(df).exp() * df / (df - 1.0)
    }

    /// Whether a value lies far out, the probability below it for those that do not, and that above it for
    /// those that do.
    #[track_caller]
    fn tails(&self, value: Var<'g>, df: Var<'g>, scale: Var<'g>) -> (Var<'g>, Var<'g>, Var<'g>) {
        let graph = value.graph();
        // I(t²/(1 + t²); ½, ν/2) with t = z/√ν, or the other tail where that is the smaller one: neither
        // argument is near 1, and no square overflows. At 0 there is no slope by ν.
        let (t, half) = (value.less_equal(0.0).select(scale, value) / (scale * df.sqrt()), 0.5 * df);
        let far = t.greater(1.0);
        let (small, large) = (far.select(1.0, t).square(), far.select(t, 1.0).reciprocal().square());
        let near = graph.constant(0.5).beta_i(half, small / (1.0 + small));
        let beyond = half.beta_i(0.5, large / (1.0 + large));
        (far, near, beyond)
    }
}

impl<'g> Distribution<'g> for HalfStudentT<'g> {
    fn name(&self) -> &'static str {
        "HalfStudentT"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "df", value: self.df, domain: Constraint::Positive },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegative
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let z = value / scale;
        let fall = (0.5 * df + 0.5) * (z / df.sqrt()).log1p_square();
        only_within(Constraint::NonNegative, value, gamma_ratio(df) + LN_2 - scale.log() - fall)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = normal_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let half = 0.5 * df;
        let log = log_gamma_noise(self, half, prefix, noise)?;
        Ok((scale * (z.abs() * (0.5 * (half.log() - log)).exp())).clamp_finite())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let mean = scale * self.mean_of_unit(graph);
        at_batch_shape(self, df.greater(1.0).select(mean, f64::INFINITY))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let exists = df.greater(2.0);
        let excess = exists.select(df, 3.0) - 2.0;
        let finite = scale.square() * (1.0 + 2.0 / excess - self.mean_of_unit(graph).square());
        at_batch_shape(self, exists.select(finite, f64::INFINITY))
    }

    /// `m (2ν/(ν − 3) − 3ν/(ν − 2) + 2m²)` of the third central moment, with the mean `m` of scale 1.
    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let df = self.df.on(graph);
        let exists = df.greater(3.0);
        let n = exists.select(df, 4.0);
        let mean = self.mean_of_unit(graph);
        let third = mean * (6.0 / (n - 3.0) - 6.0 / (n - 2.0) + 2.0 * mean.square() - 1.0);
        let variance = 1.0 + 2.0 / (n - 2.0) - mean.square();
        let none = df.greater(2.0).select(f64::INFINITY, f64::NAN);
        at_batch_shape(self, exists.select(third / exists.select(variance * variance.sqrt(), 1.0), none))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let half = 0.5 * df;
        // ψ(h + ½) − ψ(h) for h = ν/2
        let step = (half + 0.5).digamma_minus_log() - half.digamma_minus_log() + df.reciprocal().log1p();
        at_batch_shape(self, (half + 0.5) * step - gamma_ratio(df) + scale.log() - LN_2)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let (far, near, beyond) = self.tails(value, df, scale);
        let inside = far.select(1.0 - beyond, near);
        Some(value.less_equal(0.0).select(0.0, inside))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        // Log-odds of z²/(ν + z²) are ln(z²/ν).
        let odds = graph.constant(0.5).logit_beta_i_inverse(0.5 * df, probability);
        Some(scale * (df.sqrt() * (0.5 * odds).exp()))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Some(self.log_sf(value)?.exp())
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let (far, _, beyond) = self.tails(value, df, scale);
        let outside = value.less_equal(0.0);
        let odds = 2.0 * (outside + far).select(1.0, value / (scale * df.sqrt())).log();
        let near = graph.constant(0.5).log_beta_i(0.5 * df, odds);
        let log = far.select((-far.select(beyond, 0.0)).log1p(), near);
        Some(outside.select(f64::NEG_INFINITY, log))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let t = value / (scale * df.sqrt());
        // Near 0 by the other tail, which has a derivative there. What is not taken is looked at where it has one, too.
        let (far, outside) = (t.greater(0.1), value.less_equal(0.0));
        let beyond = (0.5 * df).log_beta_i(0.5, -2.0 * far.select(t, 1.0).log());
        let small = (far + outside).select(0.1, t).square();
        let near = graph.constant(0.5).beta_i(0.5 * df, small / (1.0 + small));
        Some(outside.select(0.0, far.select(beyond, (-near).log1p())))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        // Log-odds of ν/(ν + z²) are −ln(z²/ν).
        let odds = (0.5 * df).logit_beta_i_inverse_of_log(0.5, log_probability);
        Some(scale * (df.sqrt() * (-0.5 * odds).exp()))
    }
}
