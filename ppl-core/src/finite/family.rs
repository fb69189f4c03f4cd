//! Exponential families by their log-partition, from which all divergences follow.

use super::Interval;

/// A member of an exponential family: `p(x) = h(x) exp(η · t(x) − A(η))`.
///
/// With the log-partition `A` of the natural parameters `η`,
///
/// ```text
/// Hellinger²        1 − exp(A((η₁ + η₂)/2) − (A(η₁) + A(η₂))/2)
/// Kullback–Leibler  A(η₂) − A(η₁) − (η₂ − η₁) · ∇A(η₁)
/// ln ∫ p^α q^(1−α)  A(α η₁ + (1 − α) η₂) − α A(η₁) − (1 − α) A(η₂)       infinite outside the natural parameters
/// ```
pub trait ExponentialFamily: Clone {
    /// The natural parameters.
    fn natural(&self) -> Vec<f64>;

    /// `A(η)`; `None` where `η` is no natural parameter, that is, the integral diverges.
    fn log_partition(natural: &[f64]) -> Option<Interval>;

    /// `∇A(η)`, the means of the sufficient statistics, at a natural parameter.
    fn mean_parameters(natural: &[f64]) -> Vec<Interval>;

    /// `ln ∫ √(pq)`.
    #[must_use]
    fn log_affinity(p: &[f64], q: &[f64]) -> Interval {
        // A natural parameter, for they form a convex set; the middle is rounded like everything else.
        let middle: Vec<f64> = p.iter().zip(q).map(|(p, q)| 0.5 * p + 0.5 * q).collect();
        match (Self::log_partition(&middle), Self::log_partition(p), Self::log_partition(q)) {
            (Some(middle), Some(p), Some(q)) => middle - Interval::exact(0.5) * (p + q),
            _ => Interval::exact(f64::NEG_INFINITY),
        }
    }

    /// `ln ∫ p^α q^(1−α)`; `None` where it is infinite.
    #[must_use]
    fn log_power(alpha: f64, p: &[f64], q: &[f64]) -> Option<Interval> {
        let point: Vec<f64> = p.iter().zip(q).map(|(p, q)| alpha * p + (1.0 - alpha) * q).collect();
        let rest = Interval::ONE - Interval::exact(alpha);
        let (a, b) = (Self::log_partition(p)?, Self::log_partition(q)?);
        Some(Self::log_partition(&point)? - Interval::exact(alpha) * a - rest * b)
    }
}
