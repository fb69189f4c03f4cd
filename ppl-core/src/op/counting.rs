//! Functions that probabilities of counts are made of, the distribution functions of counts, and their
//! inverses.
//!
//! Distribution functions and their inverses are not fused: each number is a search, or a quadrature, of its
//! own.

use super::several::{stretched, zero};
use super::{Binary, Cotangent, Misfit, Op, Operand, Primitive, Value, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;
use crate::math;

rows! { ($) unary
    /// `ln Γ(x + 1) − x ln x + x`: what `ln x!` has beside its leading terms, for `x ≥ 0`. It is 0 at 0 and
    /// grows like `½ ln(2πx)`.
    ///
    /// With [`Var::deviance`] it makes log probabilities of counts that lose no digits where counts are
    /// large:
    ///
    /// ```text
    /// ln (m^k e^−m / k!) = −log_factorial_remainder(k) − deviance(k, m)
    /// ```
    LogFactorialRemainder, pub fn log_factorial_remainder(x) -> y {
        value: x.log_factorial_remainder(),
        pullback(g): g * x.digamma_remainder(),
    },
    /// `ψ(x + 1) − ln x`, the derivative of [`Var::log_factorial_remainder`]; near `1/(2x)` where `x` is
    /// large, ∞ at 0.
    DigammaRemainder, pub fn digamma_remainder(x) -> y {
        value: x.digamma_remainder(),
        pullback(g): g * ((x + 1.0).trigamma() - x.reciprocal()),
    },
}

rows! { ($) binary
    /// `x ln(x/m) + m − x` of `x = self`, for `x, m ≥ 0`: how far a count lies from its expectation `m`.
    /// Never negative, and relatively accurate where `x` is close to `m`; `m` at `x = 0`, and ∞ at
    /// `m = 0 < x`.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", 2)?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.deviance(1e15)])?);
    /// plan.set("x", &[1e15 + 1.0, 0.0])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] / 0.5e-15 - 1.0).abs() < 1e-14); // (x − m)²/(2m), and nothing lost
    /// assert_eq!(plan.output(0)[1], 1e15);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # References
    /// C. Loader, "Fast and accurate computation of binomial probabilities" (2000), where it is called `bd0`.
    Deviance, pub fn deviance(x, m) -> y {
        value: x.deviance(m),
        pullback(g): [g * x.log_ratio(m), g * x.relative_lack(m)],
    },
    /// `ln(a/b)` of `a = self`, for `a, b ≥ 0`; relatively accurate also where `a` is close to `b`. NaN where both are
    /// 0 or both are infinite.
    LogRatio, pub fn log_ratio(a, b) -> y {
        value: a.logarithm_of_ratio(b),
        pullback(g): [g / a, -(g / b)],
    },
    /// `ln Γ(x + s) − ln Γ(x)` of `x = self > 0`, for `s ≥ 0`: without the cancellation of large terms, and so is its
    /// derivative. The leading terms of Stirling's formula are
    /// `(x + s − ½) ln(x + s) − (x − ½) ln x − s = (x − ½) ln(1 + s/x) + s ln(x + s) − s`.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.log_gamma_ratio(3.0)])?);
    /// plan.set("x", &[2.0])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] - 24.0_f64.ln()).abs() < 1e-14); // 2 · 3 · 4
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    LogGammaRatio, pub fn log_gamma_ratio(x, s) -> y {
        value: counting::log_gamma_ratio(x, s),
        pullback(g): [g * x.digamma_difference(s), g * (x + s).digamma()],
    },
    /// `ψ(x + s) − ψ(x)` of `x = self > 0`, for `s ≥ 0`: the derivative of [`Var::log_gamma_ratio`].
    DigammaDifference, pub fn digamma_difference(x, s) -> y {
        value: counting::digamma_difference(x, s),
        pullback(g): [g * ((x + s).trigamma() - x.trigamma()), g * (x + s).trigamma()],
    },
    /// `1 − x/m` of `x = self`, for `x, m ≥ 0`, without cancellation where both are close; 1 at `x = 0`, whatever `m`
    /// is.
    RelativeLack, pub fn relative_lack(x, m) -> y {
        value: counting::relative_lack(x, m),
        pullback(g): [-(g / m), g * (x / m.square())],
    },
}

rows! { ($) special
    /// The logarithm of a negative binomial probability of the count `k = self`, by mean and concentration:
    ///
    /// ```text
    /// ln [Γ(k + c)/(k! Γ(c)) (m/(m + c))ᵏ (c/(m + c))ᶜ]
    /// ```
    ///
    /// In its derivative with respect to the concentration nothing cancels: with `u = (k − m)/(c + m)` it is
    /// `ln(1 + u) − u` and the difference of what `ψ(x) − ln x` is at `k + c` and at `c`.
    NegativeBinomialByMean, pub fn negative_binomial_by_mean([k], mean, concentration) -> y {
        value: math::negative_binomial_by_mean(k, mean, concentration),
        slopes: [
            (k + concentration).digamma() - (k + 1.0).digamma() - (concentration / mean).log1p(),
            (k - mean) / mean * (concentration / (mean + concentration)),
            counting::log1p_minus_u(k, mean, concentration)
                + ((k + concentration).digamma_minus_log() - concentration.digamma_minus_log()),
        ],
    },
}

/// `ln(1 + u) − u` with `u = (k − m)/(c + m)`, by `1 + u = (k + c)/(c + m)` where that is small.
pub(super) fn log1p_minus_u<'g>(k: Var<'g>, mean: Var<'g>, concentration: Var<'g>) -> Var<'g> {
    let sum = concentration + mean;
    let u = (k - mean) / sum;
    let near = u.greater(-0.5);
    let far = near.select(1.0, (k + concentration) / sum).log() - u;
    near.select(near.select(u, 0.0).log1p_minus_x(), far)
}

#[inline(always)]
pub(super) fn log_gamma_ratio<T: Scalar>(x: T, s: T) -> T {
    let sum = x + s;
    (x - T::of(0.5)) * (s / x).logarithm_of_1_plus()
        + s * (sum.logarithm() - T::one())
        + (sum.stirling_error() - x.stirling_error())
}

#[inline(always)]
pub(super) fn digamma_difference<T: Scalar>(x: T, s: T) -> T {
    (s / x).logarithm_of_1_plus() + ((x + s).digamma_minus_log() - x.digamma_minus_log())
}

#[inline(always)]
pub(super) fn relative_lack<T: Scalar>(x: T, m: T) -> T {
    if x == T::zero() { T::one() } else { (m - x) / m }
}

/// The cotangent of `target`, one number, in an array of expectations `m = target · other` from which the deviance of
/// one number `x` was taken: there `m` has the cotangent `g (1 − x/m)`, and `other` times that is `g (other −
/// x/target)`, without a division for each element. `None` where the cotangent of `m` is another.
pub(super) fn factor_of_expectation<'g>(
    cotangent: Var<'g>,
    expectation: Var<'g>,
    other: Var<'g>,
    target: Var<'g>,
) -> Option<Var<'g>> {
    if !target.shape().is_scalar() || other.shape() != expectation.shape() || other.shape().is_scalar() {
        return None;
    }
    let graph = cotangent.graph();
    let pair = |value: Var<'g>, function: Binary| {
        graph.with_node(value.id(), |node| match (&node.op, node.args.as_slice()) {
            (Op::Binary(op), &[a, b]) if *op == function => Some([graph.var(a), graph.var(b)]),
            _ => None,
        })
    };
    // A cotangent of 1 is not multiplied by.
    let (outer, lack) = match pair(cotangent, Binary::Mul) {
        Some([outer, lack]) => (Some(outer), lack),
        None => (None, cotangent),
    };
    let [x, m] = pair(lack, Binary::RelativeLack)?;
    if m.id() != expectation.id() || !x.shape().is_scalar() {
        return None;
    }
    // At x = 0 all is lacking, whatever it is compared with.
    let nothing = x.equal(0.0) * target.equal(0.0);
    let centre = x / nothing.select(1.0, target);
    let distance = other - centre;
    Some(match outer {
        Some(outer) if outer.shape() == distance.shape() => outer.inner(distance),
        Some(outer) => outer * distance,
        None => distance,
    })
}

/// From this many quantiles of one law on, a table pays.
const MANY: usize = 64;

several! {
    /// A distribution function of counts, or its inverse. Arguments have the shape of the result, or are
    /// single numbers.
    enum Counting
    /// The smallest integer `k` with `P(K ≤ k) ≥ u` for a probability `u = self` and a Poisson variable `K`
    /// of this rate ≥ 0.
    ///
    /// Exact up to the rounding of the distribution function, in both tails and for rates from 0 to 10¹⁵;
    /// derivative 0. 0 at `u = 0`, ∞ (as far as the number type goes) at `u = 1`, NaN outside.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let u = graph.input("u", 3)?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[u.poisson_quantile(2.0)])?);
    /// plan.set("u", &[0.1, 0.5, 0.999])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [0.0, 2.0, 8.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    PoissonQuantile, pub fn poisson_quantile(rate, [u]) -> y {
        value: math::poisson_quantile(rate, math::Tail::Lower(u)),
        slopes: [zero(), zero()],
    },
    /// The smallest integer `k` with `P(K ≤ k) ≥ u` for a probability `u = self` and the number `K` of
    /// successes among `total_count` trials that succeed with log-odds `logits`.
    ///
    /// Exact up to the rounding of the distribution function, in both tails; derivative 0. The log-odds may
    /// be infinite.
    BinomialQuantile, pub fn binomial_quantile(total_count, logits, [u]) -> y {
        value: math::binomial_quantile(total_count, logits, math::Tail::Lower(u)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `P(K ≤ k) ≥ u` for a probability `u = self` and the number `K` of
    /// successes with log-odds `logits` before failure number `total_count`, which is positive and need not
    /// be an integer.
    ///
    /// Exact up to the rounding of the distribution function, in both tails; derivative 0. A count that the
    /// number type cannot hold is the largest that it can.
    NegativeBinomialQuantile, pub fn negative_binomial_quantile(total_count, logits, [u]) -> y {
        value: math::negative_binomial_quantile(total_count, logits, math::Tail::Lower(u)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `P(K > k) ≤ q` for a probability `q = self`: [`Var::poisson_quantile`] of
    /// `1 − q`, also where that rounds to 1.
    PoissonQuantileAbove, pub fn poisson_quantile_above(rate, [q]) -> y {
        value: math::poisson_quantile(rate, math::Tail::Upper(q)),
        slopes: [zero(), zero()],
    },
    /// The smallest integer `k` with `P(K > k) ≤ q` for a probability `q = self`: [`Var::binomial_quantile`] of
    /// `1 − q`, also where that rounds to 1.
    BinomialQuantileAbove, pub fn binomial_quantile_above(total_count, logits, [q]) -> y {
        value: math::binomial_quantile(total_count, logits, math::Tail::Upper(q)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `P(K > k) ≤ q` for a probability `q = self`:
    /// [`Var::negative_binomial_quantile`] of `1 − q`, also where that rounds to 1.
    NegativeBinomialQuantileAbove, pub fn negative_binomial_quantile_above(total_count, logits, [q]) -> y {
        value: math::negative_binomial_quantile(total_count, logits, math::Tail::Upper(q)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `ln P(K ≤ k) ≥ log_u` for `log_u = self`: [`Var::poisson_quantile`] of a
    /// probability that may be too small for the number type.
    PoissonQuantileOfLogCdf, pub fn poisson_quantile_of_log_cdf(rate, [log_u]) -> y {
        value: math::poisson_quantile(rate, math::Tail::LogLower(log_u)),
        slopes: [zero(), zero()],
    },
    /// The smallest integer `k` with `ln P(K > k) ≤ log_q` for `log_q = self`: [`Var::poisson_quantile_above`] of a
    /// probability that may be too small for the number type.
    PoissonQuantileOfLogSf, pub fn poisson_quantile_of_log_sf(rate, [log_q]) -> y {
        value: math::poisson_quantile(rate, math::Tail::LogUpper(log_q)),
        slopes: [zero(), zero()],
    },
    /// The smallest integer `k` with `ln P(K ≤ k) ≥ log_u` for `log_u = self`: [`Var::binomial_quantile`] of a
    /// probability that may be too small for the number type.
    BinomialQuantileOfLogCdf, pub fn binomial_quantile_of_log_cdf(total_count, logits, [log_u]) -> y {
        value: math::binomial_quantile(total_count, logits, math::Tail::LogLower(log_u)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `ln P(K > k) ≤ log_q` for `log_q = self`: [`Var::binomial_quantile_above`] of a
    /// probability that may be too small for the number type.
    BinomialQuantileOfLogSf, pub fn binomial_quantile_of_log_sf(total_count, logits, [log_q]) -> y {
        value: math::binomial_quantile(total_count, logits, math::Tail::LogUpper(log_q)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `ln P(K ≤ k) ≥ log_u` for `log_u = self`: [`Var::negative_binomial_quantile`] of a
    /// probability that may be too small for the number type.
    NegativeBinomialQuantileOfLogCdf, pub fn negative_binomial_quantile_of_log_cdf(total_count, logits, [log_u]) -> y {
        value: math::negative_binomial_quantile(total_count, logits, math::Tail::LogLower(log_u)),
        slopes: [zero(), zero(), zero()],
    },
    /// The smallest integer `k` with `ln P(K > k) ≤ log_q` for `log_q = self`:
    /// [`Var::negative_binomial_quantile_above`] of a probability that may be too small for the number type.
    NegativeBinomialQuantileOfLogSf, pub fn negative_binomial_quantile_of_log_sf(total_count, logits, [log_q]) -> y {
        value: math::negative_binomial_quantile(total_count, logits, math::Tail::LogUpper(log_q)),
        slopes: [zero(), zero(), zero()],
    },
    /// `ln P(K₁ − K₂ = k)` for `k = self` and independent Poisson variables with means `rate1` and `rate2`: −∞
    /// where `k` is no integer. Its derivatives are those with respect to the means.
    SkellamLogProb, pub fn skellam_log_prob([k], rate1, rate2) -> y {
        value: math::skellam_log_prob(k, rate1, rate2),
        slopes: [
            zero(),
            ((k - 1.0).skellam_log_prob(rate1, rate2) - y).exp() - 1.0,
            ((k + 1.0).skellam_log_prob(rate1, rate2) - y).exp() - 1.0,
        ],
    },
    /// `P(K₁ − K₂ ≤ k)` for `k = self` and independent Poisson variables with means `rate1` and `rate2`; NaN for
    /// means above about 10¹⁰. Its derivatives are those with respect to the means.
    SkellamCdf, pub fn skellam_cdf([k], rate1, rate2) -> y {
        value: math::skellam_cdf(k, rate1, rate2),
        slopes: [
            zero(),
            -k.floor().skellam_log_prob(rate1, rate2).exp(),
            (k.floor() + 1.0).skellam_log_prob(rate1, rate2).exp(),
        ],
    },
    /// The logarithm of [`Var::skellam_cdf`], also where that is too small for a number.
    SkellamLogCdf, pub fn skellam_log_cdf([k], rate1, rate2) -> y {
        value: math::skellam_log_cdf(k, rate1, rate2),
        slopes: [
            zero(),
            -(k.floor().skellam_log_prob(rate1, rate2) - y).exp(),
            ((k.floor() + 1.0).skellam_log_prob(rate1, rate2) - y).exp(),
        ],
    },
    /// `P(K ≤ k)` for `k = self` and a Poisson variable `K` of this rate: `Q(k + 1, rate)` (NIST DLMF
    /// 8.4.10). Its derivative is that with respect to the rate.
    PoissonCdf, pub fn poisson_cdf([k], rate) -> y {
        value: math::poisson_probabilities(k.floor(), rate).0,
        slopes: [zero(), poisson_slope(k.floor(), rate)],
    },
    /// `P(K ≤ k)` for `k = self` and the number `K` of successes among `total_count` trials with log-odds
    /// `logits`: `I(1 − p; n − k, k + 1)` (NIST DLMF 8.17.5), with all digits of both `p` and `1 − p`. Its
    /// derivative is that with respect to the log-odds; others are 0.
    BinomialCdf, pub fn binomial_cdf([k], total_count, logits) -> y {
        value: math::binomial_probabilities(k.floor(), total_count, logits).0,
        slopes: [zero(), zero(), binomial_slope(k.floor(), total_count, logits)],
    },
    /// `P(K ≤ k)` for `k = self` and the number `K` of successes with log-odds `logits` before failure number
    /// `total_count`: `I(1 − p; r, k + 1)` (NIST DLMF 8.17.24). It has derivatives with respect to both, but
    /// no second one with respect to `total_count` (NaN).
    NegativeBinomialCdf, pub fn negative_binomial_cdf([k], total_count, logits) -> y {
        value: math::negative_binomial_probabilities(k.floor(), total_count, logits).0,
        slopes: [
            zero(),
            negative_binomial_slope(k.floor(), total_count, logits, |k| total_count.beta_slope_a(k + 1.0, -logits)),
            negative_binomial_slope(k.floor(), total_count, logits, |k| k.constant(1.0)),
        ],
    },
    /// `P(K > k)` for `k = self` and a Poisson variable, relatively accurate where it is small; see
    /// [`Var::poisson_cdf`].
    PoissonSf, pub fn poisson_sf([k], rate) -> y {
        value: math::poisson_probabilities(k.floor(), rate).1,
        slopes: [zero(), -poisson_slope(k.floor(), rate)],
    },
    /// The logarithm of [`Var::poisson_cdf`], also where that is too small for the number type.
    PoissonLogCdf, pub fn poisson_log_cdf([k], rate) -> y {
        value: math::log_poisson_probabilities(k.floor(), rate).0,
        slopes: [zero(), poisson_slope_by(k.floor(), rate, y)],
    },
    /// The logarithm of [`Var::poisson_sf`], also where that is too small for the number type.
    PoissonLogSf, pub fn poisson_log_sf([k], rate) -> y {
        value: math::log_poisson_probabilities(k.floor(), rate).1,
        slopes: [zero(), -poisson_slope_by(k.floor(), rate, y)],
    },
    /// The logarithm of [`Var::binomial_cdf`], also where that is too small for the number type.
    BinomialLogCdf, pub fn binomial_log_cdf([k], total_count, logits) -> y {
        value: math::log_binomial_probabilities(k.floor(), total_count, logits).0,
        slopes: [zero(), zero(), binomial_slope_by(k.floor(), total_count, logits, y)],
    },
    /// The logarithm of [`Var::binomial_sf`], also where that is too small for the number type.
    BinomialLogSf, pub fn binomial_log_sf([k], total_count, logits) -> y {
        value: math::log_binomial_probabilities(k.floor(), total_count, logits).1,
        slopes: [zero(), zero(), -binomial_slope_by(k.floor(), total_count, logits, y)],
    },
    /// `P(K > k)` for `k = self` and a number of successes, relatively accurate where it is small; see
    /// [`Var::binomial_cdf`].
    BinomialSf, pub fn binomial_sf([k], total_count, logits) -> y {
        value: math::binomial_probabilities(k.floor(), total_count, logits).1,
        slopes: [zero(), zero(), -binomial_slope(k.floor(), total_count, logits)],
    },
    /// The logarithm of [`Var::negative_binomial_cdf`], also where that is too small for the number type.
    NegativeBinomialLogCdf, pub fn negative_binomial_log_cdf([k], total_count, logits) -> y {
        value: math::log_negative_binomial_probabilities(k.floor(), total_count, logits).0,
        slopes: [
            zero(),
            negative_binomial_slope_by(k.floor(), total_count, logits, y, |k| total_count.beta_slope_a(k + 1.0, -logits)),
            negative_binomial_slope_by(k.floor(), total_count, logits, y, |k| k.constant(1.0)),
        ],
    },
    /// The logarithm of [`Var::negative_binomial_sf`], also where that is too small for the number type.
    NegativeBinomialLogSf, pub fn negative_binomial_log_sf([k], total_count, logits) -> y {
        value: math::log_negative_binomial_probabilities(k.floor(), total_count, logits).1,
        slopes: [
            zero(),
            -negative_binomial_slope_by(k.floor(), total_count, logits, y, |k| total_count.beta_slope_a(k + 1.0, -logits)),
            -negative_binomial_slope_by(k.floor(), total_count, logits, y, |k| k.constant(1.0)),
        ],
    },
    /// `P(K > k)` for `k = self` and a number of successes before failure number `total_count`, relatively
    /// accurate where it is small; see [`Var::negative_binomial_cdf`].
    NegativeBinomialSf, pub fn negative_binomial_sf([k], total_count, logits) -> y {
        value: math::negative_binomial_probabilities(k.floor(), total_count, logits).1,
        slopes: [
            zero(),
            -negative_binomial_slope(k.floor(), total_count, logits, |k| total_count.beta_slope_a(k + 1.0, -logits)),
            -negative_binomial_slope(k.floor(), total_count, logits, |k| k.constant(1.0)),
        ],
    },
}

/// `−p(k)`
fn poisson_slope<'g>(k: Var<'g>, rate: Var<'g>) -> Var<'g> {
    poisson_slope_by(k, rate, k.constant(0.0))
}

/// `−p(k)/P` for a probability of logarithm `log`.
fn poisson_slope_by<'g>(k: Var<'g>, rate: Var<'g>, log: Var<'g>) -> Var<'g> {
    let inside = k.greater_equal(0.0) * log.is_finite();
    let (k, log) = (inside.select(k, 0.0), inside.select(log, 0.0));
    inside.select(-(-(k.deviance(rate) + k.log_factorial_remainder() + log)).exp(), 0.0)
}

/// `−(n − k) p · p(k)`; nothing at and above n, and below 0.
fn binomial_slope<'g>(k: Var<'g>, count: Var<'g>, logit: Var<'g>) -> Var<'g> {
    binomial_slope_by(k, count, logit, k.constant(0.0))
}

/// The same divided by a probability of logarithm `log`.
fn binomial_slope_by<'g>(k: Var<'g>, count: Var<'g>, logit: Var<'g>, log: Var<'g>) -> Var<'g> {
    let inside = k.greater_equal(0.0) * k.less(count) * log.is_finite();
    let (k, rest) = (inside.select(k, 0.0), inside.select(count - k, 1.0));
    let log = inside.select(log, 0.0);
    inside.select(-(rest * logit.sigmoid()) * (log_binomial(k, rest, logit) - log).exp(), 0.0)
}

/// Minus the density of the log-odds of a beta variable, which is `(k + 1) p(k + 1)`: `r p/(1 − p)` times the
/// probability of `k` for `r + 1`; times how the log-odds move.
fn negative_binomial_slope<'g>(
    k: Var<'g>,
    count: Var<'g>,
    logit: Var<'g>,
    slope: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    negative_binomial_slope_by(k, count, logit, k.constant(0.0), slope)
}

/// The same divided by a probability of logarithm `log`.
fn negative_binomial_slope_by<'g>(
    k: Var<'g>,
    count: Var<'g>,
    logit: Var<'g>,
    log: Var<'g>,
    slope: impl FnOnce(Var<'g>) -> Var<'g>,
) -> Var<'g> {
    let inside = k.greater_equal(0.0) * log.is_finite();
    let (k, log) = (inside.select(k, 0.0), inside.select(log, 0.0));
    let density = count * logit.sigmoid() * (log_binomial(k, count, logit) - log).exp();
    inside.select(-(density * slope(k)), 0.0)
}

/// `ln [Γ(k + m + 1)/(k! Γ(m + 1)) pᵏ (1 − p)ᵐ]`
fn log_binomial<'g>(k: Var<'g>, m: Var<'g>, logit: Var<'g>) -> Var<'g> {
    let all = k + m;
    all.log_factorial_remainder()
        - k.log_factorial_remainder()
        - m.log_factorial_remainder()
        - k.deviance(all * logit.sigmoid())
        - m.deviance(all * (-logit).sigmoid())
}

impl Counting {
    /// A result as `f64` holds it: a count that it cannot hold is the largest that it can.
    #[inline]
    fn held(value: f64) -> f64 {
        if value > f64::MAX { f64::MAX } else { value }
    }

    /// How many arguments it takes.
    #[must_use]
    pub fn arguments(self) -> usize {
        self.arity()
    }
}

impl Primitive for Counting {
    fn name(&self) -> &'static str {
        self.name_of()
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        if args.len() != self.arity() {
            return Err(Misfit::Count);
        }
        let mut shape = Shape::scalar();
        for (which, arg) in args.iter().enumerate() {
            if shape.is_scalar() {
                shape = arg.clone();
            } else if !arg.is_scalar() && *arg != shape {
                return Err(Misfit::Argument(which, format!("shape {shape}, or a single number")));
            }
        }
        Ok(shape)
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, .. } = work;
        if lanes == 0 {
            return;
        }
        let largest = T::max_value().as_f64();
        // A count that the type cannot hold is the largest that it can.
        let held = |value: f64| T::of(if value > largest { largest } else { value });
        let at = |which: usize, row: usize, lane: usize| {
            let arg: &Operand<'_, T> = &args[which];
            arg.at(if arg.rows(lanes) == 1 { 0 } else { row }, lane, lanes).as_f64()
        };
        let single = |which: usize| matches!(args[which], Operand::Shared(_)) || lanes == 1;
        let one = |which: usize| args[which].rows(lanes) == 1 && single(which);
        let table = match self {
            _ if out.len() < MANY || (0..args.len() - 1).any(|which| !one(which)) => None,
            Counting::PoissonQuantile => math::Table::poisson(at(0, 0, 0)),
            Counting::BinomialQuantile => math::Table::binomial(at(0, 0, 0), at(1, 0, 0)),
            Counting::NegativeBinomialQuantile => math::Table::negative_binomial(at(0, 0, 0), at(1, 0, 0)),
            _ => None,
        };
        let probability = args.len() - 1;
        for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
            for (lane, out) in out.iter_mut().enumerate() {
                let known = table.as_ref().and_then(|table| table.quantile(at(probability, row, lane)));
                *out = held(known.unwrap_or_else(|| {
                    let mut numbers = [0.0; 3];
                    for (which, number) in numbers.iter_mut().enumerate().take(args.len()) {
                        *number = at(which, row, lane);
                    }
                    self.value(numbers)
                }));
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        // First of all, whether the rule uses it or not: the order of a program's operations is part of its
        // fingerprint.
        let _ = args[0].floor();
        let slope = self.slope(args, result, which)?;
        Some(Cotangent::Value((cotangent * slope).sum_to(args[which].shape())))
    }
}

#[cfg(test)]
mod tests {
    use crate::{ExecutionPlan, Graph, Program, Var, gradient};

    /// `Σ D(a, r xₖ) wₖ`, its derivatives with respect to `a` and `r`, and the second ones of the latter.
    fn outputs<'g>(graph: &'g Graph, weighted: bool) -> Vec<Var<'g>> {
        let (a, r) = (graph.input("a", ()).unwrap(), graph.input("r", ()).unwrap());
        let (x, w) = (graph.input("x", 3).unwrap(), graph.input("w", 3).unwrap());
        let deviance = a.deviance(r * x);
        let total = if weighted { deviance.inner(w) } else { deviance.sum() };
        let first = gradient(total, &[a, r, x]).unwrap();
        let mut all = vec![total, first[0], first[1], first[2]];
        all.extend(gradient(first[1], &[a, r, x]).unwrap());
        all
    }

    #[test]
    fn the_slope_of_a_deviance_in_a_factor_of_the_expectations_takes_no_division() {
        let x = [0.3, 1.0, 7.0];
        for (weighted, a, r) in [(false, 2.5, 1.5), (true, 2.5, 1.5), (true, 0.0, 2.0), (true, 0.0, 0.0)] {
            let w = if weighted { [1.0, -0.5, 2.0] } else { [1.0; 3] };
            let graph = Graph::new();
            let program = Program::new(&graph, &outputs(&graph, weighted)).unwrap();
            let mut plan = ExecutionPlan::<f64>::new(&program);
            for (name, values) in [("a", &[a][..]), ("r", &[r]), ("x", &x), ("w", &w)] {
                if plan.input(name).is_ok() {
                    plan.set(name, values).unwrap();
                }
            }
            plan.run();
            let centre = if a == 0.0 { 0.0 } else { a / r };
            let slope: f64 = x.iter().zip(&w).map(|(x, w)| w * (x - centre)).sum();
            let close = |got: f64, wanted: f64| {
                assert!(
                    (got - wanted).abs() <= 1e-14 * (1.0 + wanted.abs()),
                    "{a}, {r}: {got}, not {wanted}"
                );
            };
            close(plan.output(2)[0], slope);
            let in_x = |k: usize| w[k] * if a == 0.0 { r } else { r - a / x[k] };
            (0..3).for_each(|k| close(plan.output(3)[k], in_x(k)));
            if r > 0.0 {
                let weight: f64 = w.iter().sum();
                close(plan.output(4)[0], -weight / r);
                close(plan.output(5)[0], weight * a / (r * r));
            }
            (0..3).for_each(|k| close(plan.output(6)[k], w[k]));
        }
    }
}
