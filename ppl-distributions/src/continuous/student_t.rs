//! Student's t distribution.

use crate::shared::gamma_noise::log_gamma_noise;
use crate::shared::helpers::LN_SQRT_TAU;
use crate::shared::helpers::{at_batch_shape, log_of_rest, normal_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::LN_2;

/// `ln Γ(h + ½) − ln Γ(h) − ½ ln h − ½ ln 2π` for `h = ν/2`, by Stirling's formula: nothing cancels for large
/// `ν`.
pub(crate) fn gamma_ratio(df: Var<'_>) -> Var<'_> {
    let half = 0.5 * df;
    half * df.reciprocal().log1p_minus_x() + (half + 0.5).stirling_error()
        - half.stirling_error()
        - LN_SQRT_TAU
}

/// The logarithm of the distribution function at `z`, in tails by that of the incomplete beta function.
#[track_caller]
fn log_cdf<'g>(df: Var<'g>, z: Var<'g>) -> Var<'g> {
    let (left, right) = (z.less(-1.0), z.greater(1.0));
    // Both tails together are I(x; ν/2, ½) with x = ν/(ν + z²).
    let odds = df.log() - 2.0 * (-left.select(z, -1.0)).log();
    let far = (0.5 * df).log_beta_i(0.5, odds) - LN_2;
    let near = df.student_t_cdf((left + right).select(0.0, z)).log();
    let above = (-df.student_t_cdf(-right.select(z, 0.0))).log1p();
    left.select(far, right.select(above, near))
}

/// Student's t distribution with `df` degrees of freedom, moved by `loc` and stretched by `scale`.
///
/// ```text
/// ln p(x) = ln Γ((ν + 1)/2) − ln Γ(ν/2) − ½ ln νπ − ln scale − (ν + 1)/2 · ln(1 + z²/ν)        z = (x − loc)/scale, x real
/// ```
///
/// The mean is NaN for `ν ≤ 1`; the variance infinite for `1 < ν ≤ 2` and NaN for `ν ≤ 1`.
///
/// A draw is `loc + scale·z √(ν/2g)` with `z` standard normal and `g` gamma of shape `ν/2`, computed in
/// logarithms; its derivative with respect to `ν` is the implicit one of the gamma variable.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::StudentT;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let program = Program::new(&graph, &[StudentT::new(1.0, 0.0, 2.0).log_prob(x)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("x", &[2.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-(4.0 * std::f64::consts::PI).ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StudentT<'g> {
    df: Value<'g>,
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> StudentT<'g> {
    /// Degrees of freedom `ν`, median and scale. Each is a number or an array; they are broadcast together.
    pub fn new(df: impl Into<Value<'g>>, loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { df: df.into(), loc: loc.into(), scale: scale.into() }
    }

    /// The standardised quantile of a probability with this logarithm.
    #[track_caller]
    fn standard_of_log(&self, log_probability: Var<'g>) -> Var<'g> {
        let df = self.df.on(log_probability.graph());
        let left = log_probability.less(-LN_2);
        // Both tails together, of the nearer one.
        let both = left.select(log_probability, log_of_rest(log_probability)) + LN_2;
        let odds = (0.5 * df).logit_beta_i_inverse_of_log(0.5, both.min(0.0));
        left.select(-1.0, 1.0) * df.sqrt() * (-0.5 * odds).exp()
    }
}

impl<'g> Distribution<'g> for StudentT<'g> {
    fn name(&self) -> &'static str {
        "StudentT"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "df", value: self.df, domain: Constraint::Positive },
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        let z = (value - loc) / scale;
        gamma_ratio(df) - scale.log() - (0.5 * df + 0.5) * (z / df.sqrt()).log1p_square()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = normal_noise(self, prefix, noise)?;
        let graph = noise.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        let half = 0.5 * df;
        let log = log_gamma_noise(self, half, prefix, noise)?;
        Ok((loc + scale * (z * (0.5 * (half.log() - log)).exp())).clamp_finite())
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, loc) = (self.df.on(graph), self.loc.on(graph));
        at_batch_shape(self, df.greater(1.0).select(loc, f64::NAN))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let loc = self.loc.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let df = self.df.on(graph);
        at_batch_shape(self, df.greater(3.0).select(0.0, f64::NAN))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let exists = df.greater(2.0);
        let excess = exists.select(df, 3.0) - 2.0;
        let finite = scale.square() * (1.0 + 2.0 / excess);
        at_batch_shape(
            self,
            exists.select(finite, df.greater(1.0).select(graph.constant(f64::INFINITY), f64::NAN)),
        )
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (df, scale) = (self.df.on(graph), self.scale.on(graph));
        let half = 0.5 * df;
        // ψ(h + ½) − ψ(h) for h = ν/2
        let step = (half + 0.5).digamma_minus_log() - half.digamma_minus_log() + df.reciprocal().log1p();
        at_batch_shape(self, (half + 0.5) * step - gamma_ratio(df) + scale.log())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        Some(df.student_t_cdf((value - loc) / scale))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let graph = probability.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        // Both tails together are I(x; ν/2, ½) with x = ν/(ν + z²), so z² = ν e^(−s) for the log-odds s of x.
        let near = probability.min(1.0 - probability);
        let odds = (0.5 * df).logit_beta_i_inverse(0.5, 2.0 * near);
        Some(loc + scale * ((probability - 0.5).sign() * df.sqrt() * (-0.5 * odds).exp()))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        Some(df.student_t_cdf((loc - value) / scale))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        Some(log_cdf(df, (value - loc) / scale))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let (df, loc, scale) = (self.df.on(graph), self.loc.on(graph), self.scale.on(graph));
        Some(log_cdf(df, (loc - value) / scale))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc + scale * self.standard_of_log(log_probability))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let graph = log_probability.graph();
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        Some(loc - scale * self.standard_of_log(log_probability))
    }
}
