//! Exponential families by their log-partition, from which all divergences follow.

use super::Interval;

/// A member of an exponential family: `p(x) = h(x) exp(η · t(x) − A(η))`.
///
/// With the log-partition `A` of the natural parameters `η`,
///
/// ```text
/// Hellinger²        1 − exp(A((η₁ + η₂)/2) − (A(η₁) + A(η₂))/2)
/// Kullback–Leibler  A(η₂) − A(η₁) − (η₂ − η₁) · ∇A(η₁)
/// ln ∫ p^α q^(1−α)  A(α η₁ + (1 − α) η₂) − α A(η₁) − (1 − α) A(η₂)   infinite outside the natural parameters
/// ```
pub trait ExponentialFamily: Clone {
    /// The natural parameters.
    fn natural(&self) -> Vec<f64>;

    /// `A(η)` at natural parameters that are known to lie in these intervals; `None` where `η` is certainly
    /// no natural parameter, that is, the integral diverges. Where that is not certain the upper end is
    /// infinite.
    fn log_partition(natural: &[Interval]) -> Option<Interval>;

    /// `∇A(η)`, the means of the sufficient statistics, at a natural parameter.
    fn mean_parameters(natural: &[f64]) -> Vec<Interval>;

    /// `ln ∫ √(pq)`.
    #[must_use]
    fn log_affinity(p: &[f64], q: &[f64]) -> Interval {
        // The middle is a natural parameter, for they form a convex set.
        let middle: Vec<Interval> = p.iter().zip(q).map(|(&p, &q)| between(0.5, p, q)).collect();
        match (Self::log_partition(&middle), at::<Self>(p), at::<Self>(q)) {
            (Some(middle), Some(p), Some(q)) => middle - Interval::exact(0.5) * (p + q),
            _ => Interval::exact(f64::NEG_INFINITY),
        }
    }

    /// `ln ∫ p^α q^(1−α)`, of any order; `None` where it is certainly infinite.
    #[must_use]
    fn log_power(alpha: f64, p: &[f64], q: &[f64]) -> Option<Interval> {
        let point: Vec<Interval> = p.iter().zip(q).map(|(&p, &q)| between(alpha, p, q)).collect();
        let rest = Interval::ONE - Interval::exact(alpha);
        let (a, b) = (at::<Self>(p)?, at::<Self>(q)?);
        Some(Self::log_partition(&point)? - Interval::exact(alpha) * a - rest * b)
    }
}

/// `A` at a point.
pub(super) fn at<F: ExponentialFamily>(natural: &[f64]) -> Option<Interval> {
    F::log_partition(&natural.iter().map(|&element| Interval::exact(element)).collect::<Vec<_>>())
}

/// `α p + (1 − α) q`: a point where nothing is rounded, so that the edge of the natural parameters is met
/// exactly.
fn between(alpha: f64, p: f64, q: f64) -> Interval {
    let rest = Interval::ONE - Interval::exact(alpha);
    let second =
        if rest.width() == 0.0 { Interval::product(rest.lower(), q) } else { rest * Interval::exact(q) };
    Interval::product(alpha, p) + second
}
