//! The incomplete beta function with its inverse, and the distribution function of Student's t that is made
//! of it.

use super::Var;
use super::normal::LN_SQRT_TAU;

rows! { ($) special
    /// `I(x; a, b)` for `a = self > 0`, `b > 0` and `0 ≤ x ≤ 1`: the regularised incomplete beta function
    /// (NIST DLMF 8.17.2), which is the distribution function of a beta variable.
    ///
    /// Relative error below 1e-14 (1 − ln I). First derivatives exist in all arguments, second ones where one
    /// of the two is in `x`.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let value = graph.constant(2.0).beta_i(1.0, graph.input("x", ())?);
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[value])?);
    /// plan.set("x", &[0.3])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] - 0.09).abs() < 1e-15); // x²
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    BetaI, pub fn beta_i([a], b, x) -> y {
        value: math::beta_i(a, b, x),
        slopes: [
            -(a.beta_slope_a(b, x.logit()) * a.log_beta_density(b, x.logit()).exp()),
            -(a.beta_slope_b(b, x.logit()) * a.log_beta_density(b, x.logit()).exp()),
            // ∂ logit(x)/∂x = 1/(x(1 − x))
            a.log_beta_density(b, x.logit()).exp() / (x * (1.0 - x)),
        ],
    },
    /// `ln I(x; a, b)` for `a = self` and `x` of these log-odds: also where [`Var::beta_i`] is too small for the
    /// number type, and where `x` is too near to 1 for it. The logarithm of `1 − I(x; a, b)` is this of `b`, `a` and
    /// minus the log-odds. Error below 1e-14 (1 − ln I), relative where I is near 1. First derivatives exist in all
    /// arguments.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let y = graph.constant(3.0).log_beta_i(1.0, graph.input("s", ())?);
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[y])?);
    /// plan.set("s", &[-1000.0])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] + 3000.0).abs() < 1e-9); // ln x³
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    LogBetaI, pub fn log_beta_i([a], b, log_odds) -> y {
        value: math::log_beta_i(a, b, log_odds),
        slopes: [
            -beta::relative(a, b, log_odds, y, |s| a.beta_slope_a(b, s)),
            -beta::relative(a, b, log_odds, y, |s| a.beta_slope_b(b, s)),
            beta::relative(a, b, log_odds, y, |s| s.constant(1.0)),
        ],
    },
    /// The log-odds `ln(x/(1 − x))` of the `x` with `I(x; a, b) = p`, for `a = self`: finite where `x` rounds
    /// to 0 or 1. −∞ at `p = 0`, ∞ at 1, NaN outside. Error below 1e-14 (1 + p/D) with D the density of the
    /// log-odds. Differentiated implicitly.
    LogitBetaIInverse, pub fn logit_beta_i_inverse([a], b, p) -> y {
        value: math::logit_beta_i_inverse(a, b, p),
        slopes: [a.beta_slope_a(b, y), a.beta_slope_b(b, y), (-a.log_beta_density(b, y)).exp()],
    },
    /// The log-odds of the `x` with `ln I(x; a, b) = log_p`, for `a = self`: [`Var::logit_beta_i_inverse`] of
    /// probabilities that may be too small for the number type. NaN for `log_p > 0`.
    LogitBetaIInverseOfLog, pub fn logit_beta_i_inverse_of_log([a], b, log_p) -> y {
        value: math::logit_beta_i_inverse_of_log(a, b, log_p),
        slopes: [a.beta_slope_a(b, y), a.beta_slope_b(b, y), (log_p - a.log_beta_density(b, y)).exp()],
    },
    /// `a ln x + b ln(1 − x) − ln B(a, b)`, the logarithm of `∂I/∂ logit x`, for `a = self` and `x` of these
    /// log-odds: the log density of a beta variable's log-odds, without the cancellation of large terms for
    /// large `a` and `b`.
    LogBetaDensity, pub fn log_beta_density([a], b, log_odds) -> y {
        value: math::log_beta_density(a, b, log_odds),
        slopes: [
            -(-log_odds).softplus() - beta::mean_log(a, a, b),
            -log_odds.softplus() - beta::mean_log(b, a, b),
            beta::fall(a, b, log_odds),
        ],
    },
    /// `∂ logit(x)/∂a` at constant `I(x; a, b)`, for `a = self` and `x` of these log-odds. Relative error
    /// below 1e-10. It has no derivatives in `a` and `b` here.
    BetaSlopeA, pub fn beta_slope_a([a], b, log_odds) -> y {
        value: math::beta_slope_a(a, b, log_odds),
        slopes: [
            Special::BetaSlopeA.unavailable(y, "its first two arguments"),
            Special::BetaSlopeA.unavailable(y, "its first two arguments"),
            // With s the log-odds and D their density: ∂y/∂s = −(∂ ln D/∂a) − y ∂ ln D/∂s, as for the gamma
            // function.
            beta::mean_log(a, a, b) + (-log_odds).softplus() - y * beta::fall(a, b, log_odds),
        ],
    },
    /// `∂ logit(x)/∂b` at constant `I(x; a, b)`, for `a = self` and `x` of these log-odds. Relative error
    /// below 1e-10. It has no derivatives in `a` and `b` here.
    BetaSlopeB, pub fn beta_slope_b([a], b, log_odds) -> y {
        value: math::beta_slope_b(a, b, log_odds),
        slopes: [
            Special::BetaSlopeB.unavailable(y, "its first two arguments"),
            Special::BetaSlopeB.unavailable(y, "its first two arguments"),
            beta::mean_log(b, a, b) + log_odds.softplus() - y * beta::fall(a, b, log_odds),
        ],
    },
    /// Distribution function of Student's t with `ν = self` degrees of freedom, relatively accurate in the
    /// left tail. First derivatives exist in both arguments, second ones in `z`.
    StudentTCdf, pub fn student_t_cdf([df], z) -> y {
        value: math::student_t_cdf(df, z),
        slopes: [
            {
                let density = beta::student_t_density(df, z);
                -(df.student_t_slope(z) * density)
            },
            beta::student_t_density(df, z),
        ],
    },
    /// `∂z/∂ν` at constant probability; it has no derivatives here.
    StudentTSlope, pub(super) fn student_t_slope([df], z) -> y {
        value: math::student_t_slope(df, z),
        slopes: [
            Special::StudentTSlope.unavailable(y, "any argument"),
            Special::StudentTSlope.unavailable(y, "any argument"),
        ],
    },
}

/// `ψ(count) − ψ(a + b)`, the expectation of the logarithm of a beta variable, or of its complement's.
pub(super) fn mean_log<'g>(count: Var<'g>, a: Var<'g>, b: Var<'g>) -> Var<'g> {
    count.digamma() - (a + b).digamma()
}

/// The density of a beta variable's log-odds `s`, times a function of them, divided by a probability of logarithm
/// `log`; 0 where either is infinite.
pub(super) fn relative<'g>(
    a: Var<'g>,
    b: Var<'g>,
    log_odds: Var<'g>,
    log: Var<'g>,
    times: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let inside = log_odds.is_finite() * log.is_finite();
    let (s, log) = (inside.select(log_odds, 0.0), inside.select(log, 0.0));
    inside.select((a.log_beta_density(b, s) - log).exp() * times(s), 0.0)
}

/// `∂ ln D/∂s` for the density D of a beta variable's log-odds `s`.
pub(super) fn fall<'g>(a: Var<'g>, b: Var<'g>, log_odds: Var<'g>) -> Var<'g> {
    a * (-log_odds).sigmoid() - b * log_odds.sigmoid()
}

/// The density of Student's t.
pub(super) fn student_t_density<'g>(df: Var<'g>, z: Var<'g>) -> Var<'g> {
    // ln Γ(h + ½) − ln Γ(h) − ½ ln h with h = ν/2, by Stirling's formula
    let h = 0.5 * df;
    let gammas = h * (0.5 / h).log1p_minus_x() + (h + 0.5).stirling_error() - h.stirling_error();
    (gammas - LN_SQRT_TAU - (h + 0.5) * (z.square() / df).log1p()).exp()
}
