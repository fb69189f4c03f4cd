//! The gamma function, its logarithmic derivatives, and its incomplete forms with their inverses.

use super::{Unary, Value, Var};

rows! { ($) unary
    /// `ln |Γ(x)|`; ∞ at 0 and at the negative integers.
    ///
    /// Its derivatives of every order exist:
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, gradient};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?;
    /// let slope = gradient(x.lgamma(), &[x])?[0];
    /// let curvature = gradient(slope, &[x])?[0];
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[slope, curvature])?);
    /// plan.set("x", &[1.0])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] + 0.577_215_664_901_532_9).abs() < 1e-14); // −γ
    /// assert!((plan.output(1)[0] - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-14);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    Lgamma, pub fn lgamma(x) -> y {
        value: x.lgamma(),
        pullback(g): g * x.digamma(),
    },
    /// `ψ(x) = d ln Γ(x)/dx` (NIST DLMF 5.2.2); NaN at the negative integers.
    Digamma, pub fn digamma(x) -> y {
        value: x.digamma(),
        pullback(g): g * x.trigamma(),
    },
    /// `ψ′(x)`; ∞ at 0 and at the negative integers.
    Trigamma, pub fn trigamma(x) -> y {
        value: x.trigamma(),
        pullback(g): g * x.polygamma(2),
    },
    /// `ψ⁽ⁿ⁾(x)`, the derivative of order `n` of digamma; that of order 255 has no derivative here (NaN).
    Polygamma[order: u8 = 2] as polygamma(x) -> y {
        value: x.polygamma(order),
        pullback(g): match order.checked_add(1) {
            Some(next) => g * x.polygamma(next),
            None => g * f64::NAN,
        },
    },
    /// `ln |Γ(1 + x)|`, relatively accurate near 0.
    Lgamma1p, pub fn lgamma1p(x) -> y {
        value: T::of(math::lgamma_of_1_plus(x.as_f64())),
        pullback(g): g * (1.0 + x).digamma(),
    },
    /// `eˣ E₁(x)` for `x ≥ 0`, the scaled exponential integral (NIST DLMF 6.2.1); ∞ at 0. Relative error below 2e-15.
    ExponentialIntegral, pub fn exponential_integral(x) -> y {
        value: T::of(math::exponential_integral(x.as_f64())),
        pullback(g): g * (y - x.reciprocal()),
    },
    /// `ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π)` for `x > 0`: the error of Stirling's formula (NIST DLMF
    /// 5.11.1), which tends to `1/(12x)`. Relative error below 1e-14. See [`Var::deviance`].
    StirlingError, pub fn stirling_error(x) -> y {
        value: x.stirling_error(),
        pullback(g): g * (x.digamma_minus_log() + 0.5 / x),
    },
    /// `ψ(x) − ln x` for `x > 0`, which tends to `−1/(2x)`. Relative error below 1e-14.
    DigammaMinusLog, pub fn digamma_minus_log(x) -> y {
        value: x.digamma_minus_log(),
        pullback(g): g * (x.trigamma() - x.reciprocal()),
    },
}

rows! { ($) special
    /// `P(a, x) = γ(a, x)/Γ(a)` for `a = self > 0` and `x ≥ 0`: the lower regularised incomplete gamma
    /// function (NIST DLMF 8.2.4), which is the distribution function of a gamma variable.
    ///
    /// Relative error below 1e-14 (1 − ln P). First and second derivatives exist in both arguments.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, gradient};
    /// let graph = Graph::new();
    /// let (a, x) = (graph.input("a", ())?, graph.input("x", ())?);
    /// let p = a.gamma_p(x);
    /// let slope = gradient(p, &[a, x])?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[p, slope[0], slope[1]])?);
    /// plan.set("a", &[1.0])?;
    /// plan.set("x", &[2.0])?;
    /// plan.run();
    /// let e = (-2.0_f64).exp();
    /// assert!((plan.output(0)[0] - (1.0 - e)).abs() < 1e-14); // a = 1: an exponential variable
    /// assert!((plan.output(2)[0] - e).abs() < 1e-14);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    GammaP, pub fn gamma_p([a], x) -> y {
        value: math::gamma_p(a, x),
        slopes: [gamma::p_in_shape(a, x), gamma::p_in_x(a, x)],
    },
    /// `Q(a, x) = Γ(a, x)/Γ(a) = 1 − P(a, x)` for `a = self`, relatively accurate where it is small; see
    /// [`Var::gamma_p`].
    GammaQ, pub fn gamma_q([a], x) -> y {
        value: math::gamma_q(a, x),
        slopes: [-gamma::p_in_shape(a, x), -gamma::p_in_x(a, x)],
    },
    /// `ln P(a, x)` for `a = self`, also where [`Var::gamma_p`] is too small for the number type. Error below
    /// 1e-14 (1 − ln P), relative where P is near 1.
    LogGammaP, pub fn log_gamma_p([a], x) -> y {
        value: math::log_gamma_p(a, x),
        slopes: [-gamma::in_shape_by(a, x, y), gamma::in_x_by(a, x, y)],
    },
    /// `ln Q(a, x)` for `a = self`, also where [`Var::gamma_q`] is too small for the number type; see
    /// [`Var::log_gamma_p`].
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let y = graph.constant(1.0).log_gamma_q(graph.input("x", ())?);
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[y])?);
    /// plan.set("x", &[1e4])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] + 1e4).abs() < 1e-9); // a = 1: an exponential variable
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    LogGammaQ, pub fn log_gamma_q([a], x) -> y {
        value: math::log_gamma_q(a, x),
        slopes: [gamma::in_shape_by(a, x, y), -gamma::in_x_by(a, x, y)],
    },
    /// The `l` with `P(a, eˡ) = p`, for `a = self`: the logarithm of a gamma variable's quantile, which is
    /// finite where the quantile underflows. −∞ at `p = 0`, ∞ at 1, NaN outside.
    ///
    /// Error below 1e-14 (1 + p/D) with D the density of `l`. Differentiated implicitly, so gamma variables
    /// made of uniform noise have gradients with respect to `a`; first and second derivatives exist in both
    /// arguments.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let l = graph.constant(0.001).log_gamma_p_inverse(graph.input("u", ())?);
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[l])?);
    /// plan.set("u", &[0.1])?;
    /// plan.run();
    /// // x ≈ (u Γ(1 + a))^(1/a), far below the least number
    /// assert!((plan.output(0)[0] - (0.1_f64.ln() - 0.000_576_393_5) / 0.001).abs() < 1e-3);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    LogGammaPInverse, pub fn log_gamma_p_inverse([a], p) -> l {
        value: math::log_gamma_p_inverse(a, p),
        slopes: [a.gamma_slope(l), (-a.log_gamma_density(l)).exp()],
    },
    /// The `l` with `Q(a, eˡ) = q`, for `a = self`; ∞ at `q = 0`, −∞ at 1, NaN outside. See
    /// [`Var::log_gamma_p_inverse`].
    LogGammaQInverse, pub fn log_gamma_q_inverse([a], q) -> l {
        value: math::log_gamma_q_inverse(a, q),
        slopes: [a.gamma_slope(l), -(-a.log_gamma_density(l)).exp()],
    },
    /// The `l` with `ln P(a, eˡ) = log_p`, for `a = self`: [`Var::log_gamma_p_inverse`] of probabilities that may be
    /// too small for the number type. NaN for `log_p > 0`.
    LogGammaPInverseOfLog, pub fn log_gamma_p_inverse_of_log([a], log_p) -> l {
        value: math::log_gamma_p_inverse_of_log(a, log_p),
        slopes: [a.gamma_slope(l), (log_p - a.log_gamma_density(l)).exp()],
    },
    /// The `l` with `ln Q(a, eˡ) = log_q`, for `a = self`; see [`Var::log_gamma_p_inverse_of_log`].
    LogGammaQInverseOfLog, pub fn log_gamma_q_inverse_of_log([a], log_q) -> l {
        value: math::log_gamma_q_inverse_of_log(a, log_q),
        slopes: [a.gamma_slope(l), -(log_q - a.log_gamma_density(l)).exp()],
    },
    /// `al − eˡ − ln Γ(a)` for `a = self`, the logarithm of `∂P(a, eˡ)/∂l`: the log density of the logarithm
    /// of a gamma variable, without the cancellation of large terms for large `a`.
    LogGammaDensity, pub fn log_gamma_density([a], l) -> y {
        value: math::log_gamma_density(a, l),
        slopes: [l - a.digamma(), a - l.exp()],
    },
    /// `∂l/∂a` at constant `P(a, eˡ)`, for `a = self`: how the logarithm of a gamma variable moves with its
    /// shape, as a function of where it is. Relative error below 1e-13 (1 + |l| √a).
    GammaSlope, pub fn gamma_slope([a], l) -> y {
        value: math::gamma_slope(a, l),
        // With D the density of l: ∂y/∂l = −(l − ψ(a)) − y (a − eˡ).
        slopes: [a.gamma_curvature(l), a.digamma() - l - y * (a - l.exp())],
    },
    /// The derivative of the slope in `a`; that in turn has no derivative in `a` here.
    GammaCurvature, pub(super) fn gamma_curvature([a], l) -> y {
        value: math::gamma_curvature(a, l),
        slopes: [
            Special::GammaCurvature.unavailable(y, "its first argument"),
            a.trigamma() - y * (a - l.exp()) - a.gamma_slope(l),
        ],
    },
}

/// `−∂P(a, x)/∂a` divided by a probability of logarithm `log`; 0 at both ends.
pub(super) fn in_shape_by<'g>(a: Var<'g>, x: Var<'g>, log: Var<'g>) -> Var<'g> {
    let inside = x.greater(0.0) * x.is_finite() * log.is_finite();
    let (l, log) = (inside.select(x, 1.0).log(), inside.select(log, 0.0));
    inside.select(a.gamma_slope(l) * (a.log_gamma_density(l) - log).exp(), 0.0)
}

/// `∂P(a, x)/∂x` divided by a probability of logarithm `log`; 0 at both ends.
pub(super) fn in_x_by<'g>(a: Var<'g>, x: Var<'g>, log: Var<'g>) -> Var<'g> {
    let inside = x.greater(0.0) * x.is_finite() * log.is_finite();
    let (x, log) = (inside.select(x, 1.0), inside.select(log, 0.0));
    inside.select((a.log_gamma_density(x.log()) - log).exp() / x, 0.0)
}

/// `∂P(a, x)/∂a`; 0 at both ends.
pub(super) fn p_in_shape<'g>(a: Var<'g>, x: Var<'g>) -> Var<'g> {
    let inside = x.greater(0.0) * x.is_finite();
    let l = inside.select(x, 1.0).log();
    let density = a.log_gamma_density(l).exp();
    inside.select(-(a.gamma_slope(l) * density), 0.0)
}

/// `∂P(a, x)/∂x`; at 0 it is ∞, 1 or 0 as `a` is below, at or above 1.
pub(super) fn p_in_x<'g>(a: Var<'g>, x: Var<'g>) -> Var<'g> {
    let inside = x.greater(0.0) * x.is_finite();
    let safe = inside.select(x, 1.0);
    let at_zero = a.less(1.0).select(f64::INFINITY, a.equal(1.0));
    let at_end = x.equal(0.0).select(at_zero, 0.0);
    inside.select(a.log_gamma_density(safe.log()).exp() / safe, at_end)
}

impl<'g> Var<'g> {
    /// `ψ⁽ⁿ⁾(x)`, the derivative of order `n` of digamma (NIST DLMF 5.15).
    #[must_use]
    #[track_caller]
    pub fn polygamma(self, order: u8) -> Var<'g> {
        match order {
            0 => self.digamma(),
            1 => self.trigamma(),
            _ => self.map(Unary::Polygamma(order)),
        }
    }

    /// The `x` with `P(a, x) = p`, for `a = self`; 0 at `p = 0`, ∞ at 1, NaN outside. See
    /// [`Var::log_gamma_p_inverse`].
    #[must_use]
    #[track_caller]
    pub fn gamma_p_inverse(self, p: impl Into<Value<'g>>) -> Var<'g> {
        self.log_gamma_p_inverse(p).exp()
    }
}
