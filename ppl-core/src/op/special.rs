//! Special functions of two and three arguments, element by element: regularised incomplete integrals, their inverses, and how the
//! inverses move with the parameters.

use super::binary::together;
use super::{Cotangent, Misfit, Op, Primitive, Row, Work};
use crate::error::{Error, Source};
use crate::math;
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::value::Value;
use crate::var::Var;
use std::f64::consts::{PI, TAU};

/// ln √(2π)
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// A special function of two or three arguments, element by element, computed in `f64`. Any argument may be a single number for all
/// elements.
///
/// Inverses are differentiated implicitly: where `F(θ, x) = p`, `∂x/∂θ = −(∂F/∂θ)/(∂F/∂x)`. That quotient is a function of its
/// own here (a *slope*), for it keeps its digits where numerator and denominator are too small to be represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Special {
    /// `P(a, x)`, the lower regularised incomplete gamma function.
    GammaP,
    /// `Q(a, x) = 1 − P(a, x)`
    GammaQ,
    /// The `l` with `P(a, eˡ) = p`.
    LogGammaPInverse,
    /// The `l` with `Q(a, eˡ) = q`.
    LogGammaQInverse,
    /// `al − eˡ − ln Γ(a)`, the logarithm of `∂P(a, eˡ)/∂l`.
    LogGammaDensity,
    /// `∂l/∂a` at constant `P(a, eˡ)`.
    GammaSlope,
    /// The derivative of the slope in `a`; that in turn has no derivative in `a` here.
    GammaCurvature,
    /// `I(x; a, b)`, the regularised incomplete beta function, of `a`, `b` and `x`.
    BetaI,
    /// The log-odds of the `x` with `I(x; a, b) = p`, of `a`, `b` and `p`.
    LogitBetaIInverse,
    /// `a ln x + b ln(1 − x) − ln B(a, b)`, the logarithm of `∂I/∂ logit x`, of `a`, `b` and `logit x`.
    LogBetaDensity,
    /// `∂ logit(x)/∂a` at constant `I(x; a, b)`, of `a`, `b` and `logit x`; it has no derivatives in `a` and `b` here.
    BetaSlopeA,
    /// `∂ logit(x)/∂b` at constant `I(x; a, b)`, of `a`, `b` and `logit x`; it has no derivatives in `a` and `b` here.
    BetaSlopeB,
    /// `ln(Φ(b) − Φ(a))`
    LogNdtrDifference,
    /// Mean of a standard normal variable that is known to lie between `a` and `b`.
    NormalIntervalMean,
    /// Variance of a standard normal variable that is known to lie between `a` and `b`.
    NormalIntervalVariance,
    /// Distribution function of Student's t with `ν` degrees of freedom at `z`.
    StudentTCdf,
    /// `∂z/∂ν` at constant probability; it has no derivatives here.
    StudentTSlope,
    /// The probability of an angle from `−π` to `d` under the von Mises distribution with concentration `κ` around 0.
    VonMisesCdf,
    /// The angle `d` below which lies the probability `p`.
    VonMisesCdfInverse,
    /// `∂d/∂κ` at constant probability; it has no derivative in `κ` here.
    VonMisesSlope,
}

impl Special {
    /// Every function of this family, for tests that go through all of them.
    pub const ALL: [Special; 20] = [
        Special::GammaP,
        Special::GammaQ,
        Special::LogGammaPInverse,
        Special::LogGammaQInverse,
        Special::LogGammaDensity,
        Special::GammaSlope,
        Special::GammaCurvature,
        Special::BetaI,
        Special::LogitBetaIInverse,
        Special::LogBetaDensity,
        Special::BetaSlopeA,
        Special::BetaSlopeB,
        Special::LogNdtrDifference,
        Special::NormalIntervalMean,
        Special::NormalIntervalVariance,
        Special::StudentTCdf,
        Special::StudentTSlope,
        Special::VonMisesCdf,
        Special::VonMisesCdfInverse,
        Special::VonMisesSlope,
    ];

    /// Number of arguments: 2 or 3.
    #[must_use]
    pub fn arity(self) -> usize {
        match self {
            Special::BetaI
            | Special::LogitBetaIInverse
            | Special::LogBetaDensity
            | Special::BetaSlopeA
            | Special::BetaSlopeB => 3,
            _ => 2,
        }
    }

    /// The function of its first two or three arguments.
    fn value(self, [a, b, c]: [f64; 3]) -> f64 {
        match self {
            Special::GammaP => math::gamma_p(a, b),
            Special::GammaQ => math::gamma_q(a, b),
            Special::LogGammaPInverse => math::log_gamma_p_inverse(a, b),
            Special::LogGammaQInverse => math::log_gamma_q_inverse(a, b),
            Special::LogGammaDensity => math::log_gamma_density(a, b),
            Special::GammaSlope => math::gamma_slope(a, b),
            Special::GammaCurvature => math::gamma_curvature(a, b),
            Special::BetaI => math::beta_i(a, b, c),
            Special::LogitBetaIInverse => math::logit_beta_i_inverse(a, b, c),
            Special::LogBetaDensity => math::log_beta_density(a, b, c),
            Special::BetaSlopeA => math::beta_slope_a(a, b, c),
            Special::BetaSlopeB => math::beta_slope_b(a, b, c),
            Special::LogNdtrDifference => math::log_ndtr_difference(a, b),
            Special::NormalIntervalMean => math::normal_interval_moments(a, b).0,
            Special::NormalIntervalVariance => math::normal_interval_moments(a, b).1,
            Special::StudentTCdf => math::student_t_cdf(a, b),
            Special::StudentTSlope => math::student_t_slope(a, b),
            Special::VonMisesCdf => math::von_mises_cdf(a, b),
            Special::VonMisesCdfInverse => math::von_mises_cdf_inverse(a, b),
            Special::VonMisesSlope => math::von_mises_slope(a, b),
        }
    }

    /// `out = f(…)` for rows of arguments, the third of which is not looked at where there are two.
    pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], args: [Row<'_, T>; 3]) {
        // One number for all is computed once.
        if let [Row::One(a), Row::One(b), Row::One(c)] = args {
            out.fill(T::of(self.value([a, b, c].map(T::as_f64))));
            return;
        }
        let at = |row: Row<'_, T>, lane: usize| match row {
            Row::Lanes(values) => values[lane].as_f64(),
            Row::One(value) => value.as_f64(),
        };
        for (lane, out) in out.iter_mut().enumerate() {
            *out = T::of(self.value(args.map(|row| at(row, lane))));
        }
    }
}

impl Primitive for Special {
    fn name(&self) -> &'static str {
        match self {
            Special::GammaP => "gamma_p",
            Special::GammaQ => "gamma_q",
            Special::LogGammaPInverse => "log_gamma_p_inverse",
            Special::LogGammaQInverse => "log_gamma_q_inverse",
            Special::LogGammaDensity => "log_gamma_density",
            Special::GammaSlope => "gamma_slope",
            Special::GammaCurvature => "gamma_curvature",
            Special::BetaI => "beta_i",
            Special::LogitBetaIInverse => "logit_beta_i_inverse",
            Special::LogBetaDensity => "log_beta_density",
            Special::BetaSlopeA => "beta_slope_a",
            Special::BetaSlopeB => "beta_slope_b",
            Special::LogNdtrDifference => "log_ndtr_difference",
            Special::NormalIntervalMean => "normal_interval_mean",
            Special::NormalIntervalVariance => "normal_interval_variance",
            Special::StudentTCdf => "student_t_cdf",
            Special::StudentTSlope => "student_t_slope",
            Special::VonMisesCdf => "von_mises_cdf",
            Special::VonMisesCdfInverse => "von_mises_cdf_inverse",
            Special::VonMisesSlope => "von_mises_slope",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        match args {
            [a, b] if self.arity() == 2 => together(a, b).ok_or(Misfit::Pair),
            [a, b, c] if self.arity() == 3 => {
                together(a, b).and_then(|shape| together(&shape, c)).ok_or(Misfit::Pair)
            }
            _ => Err(Misfit::Count),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, .. } = work;
        if lanes == 0 {
            return;
        }
        for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
            let mut rows = [Row::One(T::zero()); 3];
            for (slot, operand) in rows.iter_mut().zip(args) {
                *slot = operand.row(if operand.rows(lanes) == 1 { 0 } else { row }, lanes);
            }
            self.sweep(out, rows);
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        y: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let slope = match self {
            Special::BetaI
            | Special::LogitBetaIInverse
            | Special::LogBetaDensity
            | Special::BetaSlopeA
            | Special::BetaSlopeB => self.beta_derivative([args[0], args[1], args[2]], y, which),
            Special::LogNdtrDifference | Special::NormalIntervalMean | Special::NormalIntervalVariance => {
                self.interval_derivative([args[0], args[1]], y, which)
            }
            Special::StudentTCdf | Special::StudentTSlope => {
                self.student_t_derivative(args[0], args[1], y, which)
            }
            Special::VonMisesCdf | Special::VonMisesCdfInverse | Special::VonMisesSlope => {
                self.von_mises_derivative(args[0], args[1], y, which)
            }
            _ => self.gamma_derivative(args[0], args[1], y, which),
        };
        Some(Cotangent::Value((cotangent * slope).sum_to(args[which].shape())))
    }
}

impl Special {
    /// The derivative of `y = f(a, x)` in the argument `which`.
    fn gamma_derivative<'g>(self, a: Var<'g>, x: Var<'g>, y: Var<'g>, which: usize) -> Var<'g> {
        let first = which == 0;
        match self {
            Special::GammaP | Special::GammaQ => {
                let l = x.log();
                let density = a.log_gamma_density(l).exp();
                let slope = if first { -(a.gamma_slope(l) * density) } else { density / x };
                if self == Special::GammaP { slope } else { -slope }
            }
            Special::LogGammaPInverse if first => a.gamma_slope(y),
            Special::LogGammaPInverse => (-a.log_gamma_density(y)).exp(),
            Special::LogGammaQInverse if first => a.gamma_slope(y),
            Special::LogGammaQInverse => -(-a.log_gamma_density(y)).exp(),
            Special::LogGammaDensity if first => x - a.digamma(),
            Special::LogGammaDensity => a - x.exp(),
            Special::GammaSlope if first => a.special(&[x], Special::GammaCurvature),
            // With D the density of l = ln x: gₗ = −(l − ψ(a)) − g (a − x).
            Special::GammaSlope => a.digamma() - x - y * (a - x.exp()),
            Special::GammaCurvature if !first => a.trigamma() - y * (a - x.exp()) - a.gamma_slope(x),
            _ => self.unavailable(y, "its first argument"),
        }
    }

    /// The derivative of `y = f(a, b, x)` in the argument `which`.
    fn beta_derivative<'g>(self, [a, b, x]: [Var<'g>; 3], y: Var<'g>, which: usize) -> Var<'g> {
        let mean_of = |count: Var<'g>| count.digamma() - (a + b).digamma();
        let slope =
            |odds: Var<'g>| if which == 0 { a.beta_slope_a(b, odds) } else { a.beta_slope_b(b, odds) };
        // d ln D/ds for the density D of the log-odds s.
        let fall = |odds: Var<'g>| a * (-odds).sigmoid() - b * odds.sigmoid();
        match (self, which) {
            // ∂ logit(x)/∂x = 1/(x(1 − x))
            (Special::BetaI, 2) => a.log_beta_density(b, x.logit()).exp() / (x * (1.0 - x)),
            (Special::BetaI, _) => -(slope(x.logit()) * a.log_beta_density(b, x.logit()).exp()),
            (Special::LogitBetaIInverse, 2) => (-a.log_beta_density(b, y)).exp(),
            (Special::LogitBetaIInverse, _) => slope(y),
            (Special::LogBetaDensity, 0) => -(-x).softplus() - mean_of(a),
            (Special::LogBetaDensity, 1) => -x.softplus() - mean_of(b),
            (Special::LogBetaDensity, _) => fall(x),
            // gₛ = −(∂ ln D/∂a) − g ∂ ln D/∂s, as for the gamma function.
            (Special::BetaSlopeA, 2) => mean_of(a) + (-x).softplus() - y * fall(x),
            (Special::BetaSlopeB, 2) => mean_of(b) + x.softplus() - y * fall(x),
            _ => self.unavailable(y, "its first two arguments"),
        }
    }

    /// The derivative of `y = f(a, b)`, a logarithm of a normal probability or a moment between `a` and `b`, in the argument `which`.
    fn interval_derivative<'g>(self, ends: [Var<'g>; 2], y: Var<'g>, which: usize) -> Var<'g> {
        let [a, b] = ends;
        let end = ends[which];
        let log_probability = if self == Special::LogNdtrDifference { y } else { a.log_ndtr_difference(b) };
        let density = (-0.5 * end.square() - LN_SQRT_TAU - log_probability).exp();
        // The expectation of g moves with b as φ(b)/(Φ(b) − Φ(a)) (g(b) − E g). An infinite end does not count.
        let finite = end.is_finite();
        let inside = finite.select(end, 0.0);
        let gained = match self {
            Special::LogNdtrDifference => y.constant(1.0),
            Special::NormalIntervalMean => inside - y,
            _ => (inside - a.normal_interval_mean(b)).square() - y,
        };
        let slope = finite.select(density * gained, 0.0);
        if which == 0 { -slope } else { slope }
    }

    /// The derivative of `y = f(ν, z)` in the argument `which`.
    fn student_t_derivative<'g>(self, df: Var<'g>, z: Var<'g>, y: Var<'g>, which: usize) -> Var<'g> {
        if self == Special::StudentTSlope {
            return self.unavailable(y, "any argument");
        }
        // ln Γ(h + ½) − ln Γ(h) − ½ ln h with h = ν/2, by Stirling's formula
        let h = 0.5 * df;
        let gammas = h * (0.5 / h).log1p_minus_x() + (h + 0.5).stirling_error() - h.stirling_error();
        let density = (gammas - LN_SQRT_TAU - (h + 0.5) * (z.square() / df).log1p()).exp();
        if which == 0 { -(df.special(&[z], Special::StudentTSlope) * density) } else { density }
    }

    /// The derivative of `y = f(κ, x)` in the argument `which`.
    fn von_mises_derivative<'g>(
        self,
        concentration: Var<'g>,
        x: Var<'g>,
        y: Var<'g>,
        which: usize,
    ) -> Var<'g> {
        let density = |angle: Var<'g>| {
            let height = (concentration * (angle.cos() - 1.0)).exp() / (TAU * concentration.i0e());
            angle.abs().less(PI).select(height, 0.0)
        };
        match (self, which) {
            (Special::VonMisesCdf, 0) => -(concentration.von_mises_slope(x) * density(x)),
            (Special::VonMisesCdf, _) => density(x),
            (Special::VonMisesCdfInverse, 0) => concentration.von_mises_slope(y),
            (Special::VonMisesCdfInverse, _) => density(y).reciprocal(),
            (Special::VonMisesSlope, 1) => {
                concentration.bessel_ratio() - x.cos() + y * concentration * x.sin()
            }
            _ => self.unavailable(y, "its first argument"),
        }
    }

    /// Fails softly: this derivative is not known.
    fn unavailable<'g>(self, y: Var<'g>, argument: &str) -> Var<'g> {
        let told = format!("the derivative of {} with respect to {argument} is not available", self.name());
        y.graph().fail(Error::Unsupported(told))
    }
}

/// Special functions of several arguments; each fails softly, as told at [`Graph`](crate::Graph).
impl<'g> Var<'g> {
    /// Any special function of `self` and these arguments, at the shape they have together.
    #[track_caller]
    fn special(self, others: &[Var<'g>], function: Special) -> Var<'g> {
        let operation = Primitive::name(&function);
        let mut shape = self.shape();
        for other in others {
            if let Err(error) = other.require_on(self.graph(), operation) {
                return self.graph().fail(error);
            }
            let right = other.shape();
            shape = match shape.broadcast(&right) {
                Some(together) => together,
                None => {
                    let error =
                        Error::ShapeMismatch { operation, left: shape, right, source_line: Source::caller() };
                    return self.graph().fail(error);
                }
            };
        }
        let stretch = |x: Var<'g>| if x.shape().is_scalar() { x } else { x.broadcast_to(shape.clone()) };
        let args: Vec<Var<'g>> = std::iter::once(self).chain(others.iter().copied()).map(stretch).collect();
        self.graph().apply(Op::Special(function), &args)
    }

    /// `P(a, x) = γ(a, x)/Γ(a)` for `a = self > 0` and `x ≥ 0`: the lower regularised incomplete gamma function (NIST DLMF 8.2.4), which is
    /// the distribution function of a gamma variable.
    ///
    /// Relative error below 1e-14 (1 − ln P). First and second derivatives exist in both arguments.
    ///
    /// ```
    /// # use ppl_core::{Graph, gradient, Plan, Program};
    /// let graph = Graph::new();
    /// let (a, x) = (graph.input("a", ())?, graph.input("x", ())?);
    /// let p = a.gamma_p(x);
    /// let slope = gradient(p, &[a, x])?;
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[p, slope[0], slope[1]])?);
    /// plan.set("a", &[1.0])?;
    /// plan.set("x", &[2.0])?;
    /// plan.run();
    /// let e = (-2.0_f64).exp();
    /// assert!((plan.output(0)[0] - (1.0 - e)).abs() < 1e-14); // a = 1: an exponential variable
    /// assert!((plan.output(2)[0] - e).abs() < 1e-14);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gamma_p(self, x: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[x.into().on(self.graph())], Special::GammaP)
    }

    /// `Q(a, x) = Γ(a, x)/Γ(a) = 1 − P(a, x)` for `a = self`, relatively accurate where it is small; see [`Var::gamma_p`].
    #[must_use]
    #[track_caller]
    pub fn gamma_q(self, x: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[x.into().on(self.graph())], Special::GammaQ)
    }

    /// The `x` with `P(a, x) = p`, for `a = self`; 0 at `p = 0`, ∞ at 1, NaN outside. See [`Var::log_gamma_p_inverse`].
    #[must_use]
    #[track_caller]
    pub fn gamma_p_inverse(self, p: impl Into<Value<'g>>) -> Var<'g> {
        self.log_gamma_p_inverse(p).exp()
    }

    /// The `l` with `Q(a, eˡ) = q`, for `a = self`; ∞ at `q = 0`, −∞ at 1, NaN outside. See [`Var::log_gamma_p_inverse`].
    #[must_use]
    #[track_caller]
    pub fn log_gamma_q_inverse(self, q: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[q.into().on(self.graph())], Special::LogGammaQInverse)
    }

    /// The `l` with `P(a, eˡ) = p`, for `a = self`: the logarithm of a gamma variable's quantile, which is finite where the quantile
    /// underflows. −∞ at `p = 0`, ∞ at 1, NaN outside.
    ///
    /// Error below 1e-14 (1 + p/D) with D the density of `l`. Differentiated implicitly, so gamma variables made of uniform noise have
    /// gradients with respect to `a`; first and second derivatives exist in both arguments.
    ///
    /// ```
    /// # use ppl_core::{Graph, Plan, Program};
    /// let graph = Graph::new();
    /// let l = graph.constant(0.001).log_gamma_p_inverse(graph.input("u", ())?);
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[l])?);
    /// plan.set("u", &[0.1])?;
    /// plan.run();
    /// // x ≈ (u Γ(1 + a))^(1/a), far below the least number
    /// assert!((plan.output(0)[0] - (0.1_f64.ln() - 0.000_576_393_5) / 0.001).abs() < 1e-3);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn log_gamma_p_inverse(self, p: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[p.into().on(self.graph())], Special::LogGammaPInverse)
    }

    /// `al − eˡ − ln Γ(a)` for `a = self`: the log density of the logarithm of a gamma variable, without the cancellation of large terms for
    /// large `a`.
    #[must_use]
    #[track_caller]
    pub fn log_gamma_density(self, l: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[l.into().on(self.graph())], Special::LogGammaDensity)
    }

    /// `∂l/∂a` at constant `P(a, eˡ)`, for `a = self`: how the logarithm of a gamma variable moves with its shape, as a function of
    /// where it is. Relative error below 1e-13 (1 + |l| √a).
    #[must_use]
    #[track_caller]
    pub fn gamma_slope(self, l: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[l.into().on(self.graph())], Special::GammaSlope)
    }

    /// `I(x; a, b)` for `a = self > 0`, `b > 0` and `0 ≤ x ≤ 1`: the regularised incomplete beta function (NIST DLMF 8.17.2), which is
    /// the distribution function of a beta variable.
    ///
    /// Relative error below 1e-14 (1 − ln I). First derivatives exist in all arguments, second ones where one of the two is in `x`.
    ///
    /// ```
    /// # use ppl_core::{Graph, Plan, Program};
    /// let graph = Graph::new();
    /// let value = graph.constant(2.0).beta_i(1.0, graph.input("x", ())?);
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[value])?);
    /// plan.set("x", &[0.3])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] - 0.09).abs() < 1e-15); // x²
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn beta_i(self, b: impl Into<Value<'g>>, x: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph()), x.into().on(self.graph())], Special::BetaI)
    }

    /// The log-odds `ln(x/(1 − x))` of the `x` with `I(x; a, b) = p`, for `a = self`: finite where `x` rounds to 0 or 1. −∞ at `p = 0`, ∞ at 1,
    /// NaN outside. Error below 1e-14 (1 + p/D) with D the density of the log-odds. Differentiated implicitly.
    #[must_use]
    #[track_caller]
    pub fn logit_beta_i_inverse(self, b: impl Into<Value<'g>>, p: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph()), p.into().on(self.graph())], Special::LogitBetaIInverse)
    }

    /// `a ln x + b ln(1 − x) − ln B(a, b)` for `a = self` and `x` of these log-odds: the log density of a beta variable's log-odds, without
    /// the cancellation of large terms for large `a` and `b`.
    #[must_use]
    #[track_caller]
    pub fn log_beta_density(self, b: impl Into<Value<'g>>, log_odds: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph()), log_odds.into().on(self.graph())], Special::LogBetaDensity)
    }

    /// `∂ logit(x)/∂a` at constant `I(x; a, b)`, for `a = self` and `x` of these log-odds. Relative error below 1e-10.
    #[must_use]
    #[track_caller]
    pub fn beta_slope_a(self, b: impl Into<Value<'g>>, log_odds: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph()), log_odds.into().on(self.graph())], Special::BetaSlopeA)
    }

    /// `∂ logit(x)/∂b` at constant `I(x; a, b)`, for `a = self` and `x` of these log-odds. Relative error below 1e-10.
    #[must_use]
    #[track_caller]
    pub fn beta_slope_b(self, b: impl Into<Value<'g>>, log_odds: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph()), log_odds.into().on(self.graph())], Special::BetaSlopeB)
    }

    /// Distribution function of Student's t with `ν = self` degrees of freedom, relatively accurate in the left tail. First derivatives exist
    /// in both arguments, second ones in `z`.
    #[must_use]
    #[track_caller]
    pub fn student_t_cdf(self, z: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[z.into().on(self.graph())], Special::StudentTCdf)
    }

    /// Mean of a standard normal variable that is known to lie between `a = self` and `b`, `a < b`; either may be infinite.
    #[must_use]
    #[track_caller]
    pub fn normal_interval_mean(self, b: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph())], Special::NormalIntervalMean)
    }

    /// Variance of a standard normal variable that is known to lie between `a = self` and `b`, `a < b`; either may be infinite. Relative error
    /// below 1e-14 in intervals however narrow or far out.
    #[must_use]
    #[track_caller]
    pub fn normal_interval_variance(self, b: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph())], Special::NormalIntervalVariance)
    }

    /// `ln(Φ(b) − Φ(a))` for `a = self < b`: the logarithm of a standard normal probability, of intervals however narrow or far out.
    /// −∞ where the ends are equal, NaN where they are the wrong way round.
    #[must_use]
    #[track_caller]
    pub fn log_ndtr_difference(self, b: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[b.into().on(self.graph())], Special::LogNdtrDifference)
    }

    /// The probability of an angle from `−π` to `d` under the von Mises distribution around 0 with concentration `κ = self ≥ 0`; 0 below
    /// `−π`, 1 above `π`. Relative error below 1e-14 for negative angles.
    #[must_use]
    #[track_caller]
    pub fn von_mises_cdf(self, angle: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[angle.into().on(self.graph())], Special::VonMisesCdf)
    }

    /// The angle between `−π` and `π` below which lies the probability `p`, for `κ = self`. Differentiated implicitly.
    #[must_use]
    #[track_caller]
    pub fn von_mises_cdf_inverse(self, p: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[p.into().on(self.graph())], Special::VonMisesCdfInverse)
    }

    /// `∂d/∂κ` at constant probability, for `κ = self`: how a von Mises variable moves with its concentration. Relative error below 1e-13.
    #[must_use]
    #[track_caller]
    pub fn von_mises_slope(self, angle: impl Into<Value<'g>>) -> Var<'g> {
        self.special(&[angle.into().on(self.graph())], Special::VonMisesSlope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Plan, Program, gradient};

    /// The golden values seen through the engine, which shows that names, arguments and functions belong together; `math` holds each
    /// function to its own bound.
    fn through_the_engine<T: Scalar>(tolerance: f64) {
        let mut count = 0;
        for line in include_str!("../../tests/golden/special.csv").lines() {
            let cells: Vec<&str> = line.split(',').collect();
            let Some(function) =
                Special::ALL.into_iter().find(|function| Primitive::name(function) == cells[0])
            else {
                continue;
            };
            let number = |i: usize| cells[i].parse::<f64>().expect("a number");
            let arguments: Vec<f64> = (1..=function.arity()).map(|i| T::of(number(i)).as_f64()).collect();
            let graph = Graph::new();
            let inputs: Vec<Var<'_>> =
                (0..function.arity()).map(|i| graph.input(format!("x{i}"), 1).expect("fresh")).collect();
            let value = inputs[0].special(&inputs[1..], function);
            let mut plan = Plan::<T>::new(&Program::new(&graph, &[value]).expect("no mistakes"));
            for (i, &argument) in arguments.iter().enumerate() {
                plan.set(&format!("x{i}"), &[T::of(argument)]).expect("one number");
            }
            plan.run();
            let mut three = [0.0; 3];
            three.iter_mut().zip(&arguments).for_each(|(slot, &argument)| *slot = argument);
            let direct = T::of(function.value(three)).as_f64();
            let got = plan.output(0)[0].as_f64();
            assert!(got == direct || (got.is_nan() && direct.is_nan()), "{line}: {got} against {direct}");
            // Of rounded arguments the value is another one.
            if T::of(0.1).as_f64() == 0.1 {
                assert!((got - number(4)).abs() <= tolerance * number(4).abs(), "{line}: {got}");
            }
            count += 1;
        }
        assert!(count > 1500, "{count} rows");
    }

    #[test]
    fn golden_values_through_the_engine() {
        through_the_engine::<f64>(1e-6);
        through_the_engine::<f32>(1e-6);
    }

    #[test]
    fn what_is_not_available_says_so() {
        let graph = Graph::new();
        let (a, b) = (graph.input("a", ()).expect("fresh"), graph.input("b", ()).expect("fresh"));
        let first = gradient(a.beta_i(b, 0.3), &[a]).expect("a first derivative");
        let told = gradient(first[0], &[b]).expect_err("no second one").to_string();
        assert!(told.contains("the derivative of beta_slope_a"), "{told}");
    }
}
