//! Levels of a column, as what is seen of a standard normal variable.

use ppl_core::math::{erf, ndtri};

/// Correlations are at most this, so that no variable is a function of others.
pub(super) const MOST: f64 = 0.995;
/// Terms of the series in powers of a correlation. What is left out is weighted by at most `0.995⁵¹²`, which is 0.08.
const TERMS: usize = 512;
/// Beyond this a standard normal variable does not come.
pub(super) const FAR: f64 = 9.0;
/// Points within a level of one variable at which the other one's distribution is computed.
const POINTS: usize = 24;

/// What is seen of a standard normal variable by its levels.
pub(super) struct Scores {
    /// For each level its mean there.
    pub(super) means: Vec<f64>,
    /// `E[f h_k]` for `f` the level's mean and `h_k` the normalised Hermite polynomials, from `k = 1` on.
    pub(super) series: Vec<f64>,
}

pub(super) fn density(x: f64) -> f64 {
    if x.is_finite() { (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt() } else { 0.0 }
}

/// The ends of levels with these shares of a standard normal variable, one more than there are levels.
pub(super) fn ends(shares: &[f64]) -> Vec<f64> {
    let total: f64 = shares.iter().sum();
    let mut below = 0.0;
    let mut found = vec![f64::NEG_INFINITY];
    for share in &shares[..shares.len() - 1] {
        below += share / total;
        found.push(ndtri(below.min(1.0)));
    }
    found.push(f64::INFINITY);
    found
}

impl Scores {
    pub(super) fn new(ends: &[f64], shares: &[f64]) -> Self {
        let total: f64 = shares.iter().sum();
        let mean = |(level, share): (usize, &f64)| {
            let (low, high) = (ends[level], ends[level + 1]);
            let share = share / total;
            let mean = (density(low) - density(high)) / share;
            // The limit for a level of no width.
            if share > 1e-12 { mean.clamp(low, high) } else { low.clamp(-FAR, FAR) }
        };
        let means: Vec<f64> = shares.iter().enumerate().map(mean).collect();
        let mut series = vec![0.0; TERMS];
        for (level, step) in means.windows(2).map(|pair| pair[1] - pair[0]).enumerate() {
            let x = ends[level + 1];
            if !x.is_finite() {
                continue;
            }
            // E[h_k above x] = h_{k−1}(x) φ(x)/√k, and √k h_k = x h_{k−1} − √(k−1) h_{k−2}.
            let (mut before, mut own) = (0.0, density(x));
            for (term, place) in series.iter_mut().zip(1_u32..) {
                let k = f64::from(place);
                *term += step * own / k.sqrt();
                (before, own) = (own, (x * own - (k - 1.0).sqrt() * before) / k.sqrt());
            }
        }
        Self { means, series }
    }
}

/// The correlation of two standard normal variables for which the levels' means have this covariance:
/// `E[f g] = Σ_k ρᵏ E[f h_k] E[g h_k]` (Mehler), which increases with `ρ`.
pub(super) fn correlation(one: &Scores, other: &Scores, covariance: f64) -> f64 {
    let terms: Vec<f64> = one.series.iter().zip(&other.series).map(|(a, b)| a * b).collect();
    if terms.iter().all(|term| term.abs() < 1e-12) {
        return 0.0;
    }
    let expected = |rho: f64| rho * terms.iter().rev().fold(0.0, |sum, term| sum * rho + term);
    let (mut low, mut high) = (-MOST, MOST);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if expected(middle) < covariance { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The covariance of the levels' means where both columns have values.
pub(super) fn covariance(shares: &[f64], width: usize, (one, other): (&Scores, &Scores)) -> f64 {
    let (mut total, mut sums, mut product) = (0.0, (0.0, 0.0), 0.0);
    for (row, a) in shares.chunks(width).zip(&one.means) {
        for (share, b) in row.iter().zip(&other.means) {
            total += share;
            sums.0 += share * a;
            sums.1 += share * b;
            product += share * a * b;
        }
    }
    if total > 1e-12 { (product - sums.0 * sums.1 / total) / total } else { 0.0 }
}

/// How often two standard normal variables of this correlation lie in each of the cells that levels with these shares
/// make; the second one varies fastest.
///
/// `P(i, j) = ∫ over level i of φ(x) P(level j | x) dx`, by the midpoint rule in the first one's distribution function.
pub(super) fn joint(rho: f64, one: &[f64], other: &[f64]) -> Vec<f64> {
    let total: f64 = one.iter().sum();
    let other = ends(other);
    let scale = (2.0 * (1.0 - rho * rho)).sqrt();
    let mut below = 0.0;
    let mut found = Vec::with_capacity(one.len() * (other.len() - 1));
    for share in one.iter().map(|share| share / total) {
        let mut row = vec![0.0; other.len() - 1];
        for point in 0..POINTS {
            let x = ndtri((below + share * (point as f64 + 0.5) / POINTS as f64).clamp(1e-300, 1.0 - 1e-16));
            let mut last = -1.0;
            for (cell, end) in row.iter_mut().zip(&other[1..]) {
                let next = if end.is_finite() { erf((end - rho * x) / scale) } else { 1.0 };
                *cell += share / POINTS as f64 * 0.5 * (next - last);
                last = next;
            }
        }
        below += share;
        found.extend(row);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::sample::Dice;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Of two levels each the covariance of the levels' means is `(2/π)² asin ρ` (Sheppard).
    #[test]
    fn correlations_of_halves_are_sheppards() {
        let halves = [0.5, 0.5];
        let scores = Scores::new(&ends(&halves), &halves);
        assert!((scores.means[1] - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-12);
        for rho in [-0.9, -0.5, 0.0, 0.1, 0.7, 0.95] {
            let covariance = (2.0 / std::f64::consts::PI).powi(2) * f64::asin(rho);
            let found = correlation(&scores, &scores, covariance);
            assert!((found - rho).abs() < 1e-6, "{rho}: {found}");
        }
    }

    /// Against counts of levels among draws: of 400,000, a covariance of scores has an error of at most 0.0016.
    #[test]
    fn correlations_are_those_that_levels_come_from() {
        let (one, other) = ([0.1, 0.2, 0.3, 0.25, 0.15], [0.02, 0.58, 0.4]);
        let (of_one, of_other) = (ends(&one), ends(&other));
        let scores = (Scores::new(&of_one, &one), Scores::new(&of_other, &other));
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(1));
        let level = |ends: &[f64], x: f64| ends[1..].partition_point(|end| *end <= x);
        for rho in [-0.8_f64, 0.3, 0.95] {
            let mut shares = vec![0.0; 15];
            for _ in 0..400_000 {
                let x = dice.normal();
                let y = rho * x + (1.0 - rho * rho).sqrt() * dice.normal();
                shares[level(&of_one, x) * 3 + level(&of_other, y)] += 1.0 / 400_000.0;
            }
            let found = correlation(&scores.0, &scores.1, covariance(&shares, 3, (&scores.0, &scores.1)));
            assert!((found - rho).abs() < 0.012, "{rho}: {found}");
        }
    }

    /// The cells' probabilities add up to the levels' shares, and have the covariance of levels' means that is expected
    /// of the correlation. An upper quadrant is Sheppard's.
    #[test]
    fn cells_have_the_correlation_that_they_are_of() {
        let (one, other) = ([0.1, 0.2, 0.3, 0.25, 0.15], [0.02, 0.58, 0.4]);
        let scores = (Scores::new(&ends(&one), &one), Scores::new(&ends(&other), &other));
        for rho in [-0.99, -0.4, 0.0, 0.7, 0.95] {
            let cells = joint(rho, &one, &other);
            for (row, share) in cells.chunks(3).zip(one) {
                assert!((row.iter().sum::<f64>() - share).abs() < 1e-12);
            }
            for (column, share) in other.iter().enumerate() {
                assert!((cells.iter().skip(column).step_by(3).sum::<f64>() - share).abs() < 1e-3);
            }
            let found = correlation(&scores.0, &scores.1, covariance(&cells, 3, (&scores.0, &scores.1)));
            assert!((found - rho).abs() < 4e-3, "{rho}: {found}");
        }
        let quadrant = joint(0.5, &[0.5, 0.5], &[0.5, 0.5])[3];
        assert!((quadrant - (0.25 + 0.5_f64.asin() / std::f64::consts::TAU)).abs() < 3e-4, "{quadrant}");
    }
}
