//! The share of zeros that zero-inflated Poisson regressions have beside Poisson's.
//!
//! Before the fit counts are taken for zero-inflated *negative binomial* ones with one mean: what columns explain of
//! them makes their distribution wider, and a gamma distribution of means takes its part, which otherwise would be
//! taken for zeros.
//!
//! ```text
//! g = Σ ln(1 + y)/N                          →   h = 10 e^g               public bounds may be far wider than counts are
//! h_k = #{i: e_k ≤ y_i < e_{k+1}} + noise    →   π₁, m₁                   posterior means given (π, m, φ) over a grid
//! ```
//!
//! The coefficients are fitted given `π₁`. How far the truth is from it, the slopes at the fit in `θ = 2 asin √π`, on
//! whose scale shares are about equally well known, say by one step of Newton's method; with `g` the slope, `H` minus
//! the second derivatives and `C₀` the covariance given `θ`
//!
//! ```text
//! θ | b  =  θ₁ + (g + cᵀε)/h,   h = H_θθ − cᵀ C₀ c,   c = H_bθ            b → b − C₀ c (θ − θ₁)
//! ```
//!
//! where `ε` is how far noise has moved the coefficients, of which a draw of them says a part. Of `c`, which is
//! released with noise, as much is taken as is plausible: `|c_v|² ≤ H_vv H_θθ` in every direction `v`, and where
//! records say nothing it is 0.

use dp_accountant::Purse;
use dp_sampler::Seed;
use dp_vi::summaries::Summaries;
use dp_vi::{NoiseAware, Release, Sensitive};
use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, ArrayD, Axis};
use ppl_core::{Column, Records};
use ppl_distributions::{NegativeBinomial, Normal};

use super::nuisance::{self, COLUMN, Given, Seen, log_of_count};
use crate::regression::whitening::{Whitening, whiten};

/// Shares of the budget, in which Gaussian releases add up: logarithms of counts, their histogram, and slopes.
const SHARES: [f64; 3] = [0.01, 0.04, 0.06];

/// What they are called, in this order.
const NAMES: [&str; 3] =
    ["logarithms of the outcome", "histogram of the outcome", "slopes in the share of zeros"];

/// Counts above this many of their geometric mean share a bin.
const LONG: f64 = 10.0;

/// Clip norms are this many standard deviations of a Poisson variable, and 2.5 times its skewness more, as for other
/// counts.
const CUT: f64 = 3.0;

/// Logarithms of odds of a zero, and dispersions, of the grid, the least mean, and how many points of the odds, means
/// and dispersions there are.
const ODDS: (f64, f64) = (-5.3, 5.3);
const LEAST_MEAN: f64 = 0.02;
const DISPERSIONS: (f64, f64) = (0.1, 1000.0);
const POINTS: [usize; 3] = [34, 34, 10];

/// The least and largest share of zeros that a fit is given.
const KNOWN: (f64, f64) = (0.02, 0.98);

/// Mean and standard deviation of `θ` where the share has a uniform prior: `π/2`, and `√(π² − 8)/2`.
const PRIOR: (f64, f64) = (std::f64::consts::FRAC_PI_2, 0.683_667_384_993_2);

/// The standard deviation of the correlation of the share with a direction, before anything was released.
const CORRELATION: f64 = 0.5;

/// The largest square length of a record's part of the slopes, and what its parts are multiplied by. Of a zero `π u +
/// ½ (π u)²` is at most 1.5, where `μ` is large and `w` is 0, and around .6 where `π w` is largest, up to about 1.2;
/// a third of that a record of twice the typical square length has three times.
const LARGEST: f64 = 2.5;
const OF_SQUARES: f64 = 0.5;
const OF_MIXED: f64 = 0.35;

/// Slopes and second derivatives, as they were released.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slopes {
    /// `g` and `H_θθ`, and the standard deviations of their noise.
    slope: [f64; 2],
    second: [f64; 2],
    /// `c`, and that of each of its elements.
    mixed: Vec<f64>,
    of_mixed: f64,
}

/// The share of zeros found before the fit, and what is found after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Zeros {
    /// `m₁`
    mean: f64,
    /// `π₁`, and the standard deviation of the logarithm of its odds.
    share: f64,
    spread: f64,
    /// Slopes at the fit, once they have been released.
    pub(super) after: Option<Slopes>,
}

fn releases(single: f64) -> dp_vi::Result<Vec<Release>> {
    nuisance::releases(&NAMES, &SHARES, single)
}

/// Edges of bins of counts up to `high`: single counts at first, then half octaves.
fn edges(high: f64) -> Vec<f64> {
    let mut edges = vec![0.0];
    let mut next = 1.0_f64;
    while next < high {
        edges.push(next);
        next = (next * std::f64::consts::SQRT_2).ceil().max(next + 1.0);
    }
    edges.push(f64::MAX);
    edges
}

/// What counts in bins with noise say of the share of zeros and of the mean of others: posterior means of the
/// logarithms of its odds and of the mean, and the standard deviation of the first. First over all of the grid, then
/// where the density is.
fn estimate(edges: &[f64], counts: &[f64], deviation: f64, records: f64) -> (f64, f64, f64) {
    let high = edges[edges.len() - 2].max(1.0);
    let all = [ODDS, (LEAST_MEAN.ln(), (2.0 * high).ln()), (DISPERSIONS.0.ln(), DISPERSIONS.1.ln())];
    let first = densities(all, edges, (counts, deviation), records);
    let top = first.iter().fold(f64::NEG_INFINITY, |top, (log, _)| top.max(*log));
    let likely = first.iter().filter(|(log, _)| *log > top - 15.0);
    let within = likely.fold([(f64::INFINITY, f64::NEG_INFINITY); 3], |mut within, (_, point)| {
        for (ends, at) in within.iter_mut().zip(point) {
            *ends = (ends.0.min(*at), ends.1.max(*at));
        }
        within
    });
    let cell = |k: usize| (all[k].1 - all[k].0) / (POINTS[k] - 1) as f64;
    let within = std::array::from_fn(|k| {
        ((within[k].0 - cell(k)).max(all[k].0), (within[k].1 + cell(k)).min(all[k].1))
    });
    let mut sums = [0.0; 4];
    let found = densities(within, edges, (counts, deviation), records);
    let top = found.iter().fold(f64::NEG_INFINITY, |top, (log, _)| top.max(*log));
    for (log, [odds, mean, _]) in found {
        for (sum, of) in sums.iter_mut().zip([1.0, odds, odds * odds, mean]) {
            *sum += (log - top).exp() * of;
        }
    }
    let odds = sums[1] / sums[0];
    (odds, (sums[2] / sums[0] - odds * odds).max(0.0).sqrt(), (sums[3] / sums[0]).exp())
}

/// Log densities at points between these logarithms of odds, mean and dispersion.
fn densities(
    within: [(f64, f64); 3],
    edges: &[f64],
    (counts, deviation): (&[f64], f64),
    records: f64,
) -> Vec<(f64, [f64; 3])> {
    let at = |which: usize, k: usize| {
        let (low, high) = within[which];
        low + (high - low) * k as f64 / (POINTS[which] - 1) as f64
    };
    let mut found = Vec::with_capacity(POINTS.iter().product());
    for (i, j) in (0..POINTS[1]).flat_map(|i| (0..POINTS[2]).map(move |j| (i, j))) {
        let (mean, phi) = (at(1, i), at(2, j));
        let law = NegativeBinomial::from_mean(mean.exp(), phi.exp());
        // The probability of each bin, which holds the counts from its lower edge on.
        let above = edges[1..edges.len() - 1].iter().map(|edge| law.sf(edge - 1.0)).chain([0.0]);
        let mut last = 1.0;
        let parts: Vec<f64> = above.map(|next| std::mem::replace(&mut last, next) - next).collect();
        for k in 0..POINTS[0] {
            let odds = at(0, k);
            let share = 1.0 / (1.0 + (-odds).exp());
            // A uniform prior of the share.
            let mut log = (share * (1.0 - share)).ln();
            for (bin, (part, count)) in parts.iter().zip(counts).enumerate() {
                let zero = if bin == 0 { share } else { 0.0 };
                let expected = records * (zero + (1.0 - share) * part);
                log += log_of_count(*count, expected, deviation);
            }
            found.push((log, [odds, mean, phi]));
        }
    }
    found
}

impl Zeros {
    /// What a fit is planned with before anything is released.
    pub(super) fn planned() -> Self {
        Self { mean: 1.0, share: 0.5, spread: 1.8, after: None }
    }

    /// Releases what a fit begins with.
    pub(super) fn release(
        seen: Seen<'_>,
        whitening: &Whitening,
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<Self> {
        let noise = SHARES.map(|share| whitening.single() / share.sqrt());
        let (count, most) = ((whitening.records() as f64).max(1.0), seen.high.ln_1p());
        let counts = seen.outcomes.mapv(|y| y.clamp(0.0, seen.high));
        let roots = counts.mapv(|y| (y.ln_1p() / most).min(1.0).sqrt()).insert_axis(Axis(1));
        let records = Records::from_columns([(COLUMN, Column::from(roots)), ("y", Column::from(counts))])?;
        let records = Sensitive::new(records);
        let mut summaries = Summaries::new(&records, seed)?;
        let found = summaries.second_moments(COLUMN, Array2::eye(1).view(), 1.0, noise[0], purse)?;
        let logs = ((found.matrix[(0, 0)] + found.deviation) / count).clamp(0.0, 1.0);
        let edges = edges((LONG * (logs * most).exp()).min(seen.high));
        let found = summaries.histogram("y", &edges, noise[1], purse)?;
        let (odds, spread, mean) = estimate(&edges, &found.counts, found.noise, count);
        let share = 1.0 / (1.0 + (-odds).exp());
        Ok(Self { mean, share: share.clamp(KNOWN.0, KNOWN.1), spread, after: None })
    }

    /// How a fit is made.
    pub(super) fn given(
        &self,
        whitening: &Whitening,
        intercept: impl FnOnce(f64) -> Vec<f64>,
    ) -> dp_vi::Result<Given> {
        let Self { mean, share, .. } = *self;
        // The mean square of a slope in the predictor: y − μ above 0, and −q μ at 0.
        let none = (-mean).exp();
        let zeros = share + (1.0 - share) * none;
        let poisson = (1.0 - share) * none / zeros;
        let curvature = (1.0 - share) * (mean - none * mean * mean) + zeros * (poisson * mean).powi(2);
        Ok(Given {
            known: vec![share],
            start: intercept(mean.ln()),
            releases: releases(whitening.single())?,
            left: nuisance::left(&SHARES),
            clip: (CUT + 2.5 / mean.sqrt()) * mean.sqrt(),
            curvature,
            peak: mean,
            plain_ascent: false,
        })
    }

    /// `√(a π w) x/t`, `√(a π w)`, `√(π u)`, `√b π u` and whether the count is above 0, of each record: with `p = π +
    /// (1 − π) e^−μ` the slope of a zero in `π` is `u = (1 − e^−μ)/p` and minus that in `π` and the predictor `w = μ
    /// e^−μ/p²`. Of other counts both are 0 and the slope in `π` is `−1/(1 − π)`.
    fn parts(&self, seen: Seen<'_>, (whitening, mean): (&Whitening, &[f64])) -> Array2<f64> {
        let (features, turn) = (seen.features.columns(), whitening.turn());
        let predictors = seen.predictors(whitening, mean);
        seen.features.and(4, |record, row| {
            if seen.outcomes[record] > 0.0 {
                row.fill(0.0);
                row[features + 3] = 1.0;
                return;
            }
            let mean = predictors[record].clamp(-20.0, 20.0).exp();
            let none = (-mean).exp();
            let p = self.share + (1.0 - self.share) * none;
            let mixed = (OF_MIXED * self.share * mean * none / (p * p)).sqrt();
            let slope = self.share * (1.0 - none) / p;
            let mut whitened = vec![0.0; features];
            whiten(&turn, &row[..features], &mut whitened);
            row.iter_mut().zip(whitened).for_each(|(to, x)| *to = mixed * x / whitening.typical());
            row[features] = mixed;
            row[features + 1] = slope.sqrt();
            row[features + 2] = OF_SQUARES.sqrt() * slope;
        })
    }

    /// Releases the slopes at these coefficients.
    pub(super) fn release_slopes(
        &mut self,
        seen: Seen<'_>,
        at: (&Whitening, &[f64]),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<()> {
        let (whitening, features, share) = (at.0, seen.features.columns(), self.share);
        let parts = Column::from(self.parts(seen, at));
        let records = Sensitive::new(Records::from_columns([(COLUMN, parts)])?);
        let noise = whitening.single() / SHARES[2].sqrt();
        let mut summaries = Summaries::new(&records, seed)?;
        let transform = Array2::eye(features + 4);
        let found = summaries.second_moments(COLUMN, transform.view(), LARGEST, noise, purse)?;
        let of = |j: usize| found.matrix[(features + j, features + j)];
        let (slopes, squares, positive) = (of(1), of(2) / OF_SQUARES, of(3));
        // From π to θ.
        let (rest, by) = (1.0 - share, (share * (1.0 - share)).sqrt());
        let (zero, other) = (share.recip(), rest.recip());
        let of_mixed = by * whitening.typical() / (OF_MIXED * share);
        self.after = Some(Slopes {
            slope: [by * (slopes * zero - positive * other), found.deviation * by * zero.hypot(other)],
            second: [
                by * by * (squares * zero * zero + positive * other * other),
                found.deviation * by * by * (zero * zero / OF_SQUARES).hypot(other * other),
            ],
            mixed: (0..features).map(|j| -of_mixed * found.matrix[(j, features)]).collect(),
            of_mixed: of_mixed * found.deviation,
        });
        Ok(())
    }

    /// A draw of the share beside each draw of the coefficients, which are moved by what it differs from that of the
    /// fit.
    pub(super) fn draw_beside(&self, b: &mut ArrayD<f64>, found: &NoiseAware) -> Vec<f64> {
        let n = found.mean.len();
        match (&self.after, &found.shares) {
            (Some(after), Some(shares)) => {
                let matrix = |values: &[f64]| DMatrix::from_row_slice(n, n, values);
                let covariances = [matrix(&found.covariance), matrix(&shares.covariance_without_noise)];
                let prior = DVector::from_iterator(n, shares.prior.iter().map(|sd| sd.powi(-2)));
                self.draw_given(after, b, &found.mean, covariances, &prior)
            }
            _ => vec![self.share; b.len_of(Axis(0))],
        }
    }

    /// The same for draws with this mean and covariance, the covariance that they had without noise, and the
    /// precisions of their prior.
    fn draw_given(
        &self,
        after: &Slopes,
        b: &mut ArrayD<f64>,
        mean: &[f64],
        [all, without]: [DMatrix<f64>; 2],
        prior: &DVector<f64>,
    ) -> Vec<f64> {
        let (n, [slope, of_slope], [second, of_second]) = (mean.len(), after.slope, after.second);
        let noise = &all - &without;
        let mixed = after.plausible(&without, prior);
        let first = 2.0 * self.share.sqrt().asin();
        let moves = &without * &mixed;
        let information = second - mixed.dot(&moves);
        // cᵀε given a draw d of the coefficients: −cᵀ N C⁻¹ (d − b̄) and a rest.
        let towards = all.try_inverse().map(|inverse| inverse * &noise * &mixed);
        let rest = match &towards {
            Some(towards) => (mixed.dot(&(&noise * &mixed)) - mixed.dot(&(&noise * towards))).max(0.0),
            None => 0.0,
        };
        // Where what is left of the second derivative is less than its noise, the share is what counts alone say. Of
        // small counts only (1 − π) μ is known, and the coefficients follow the share all the same.
        let is_known = information > 3.0 * of_second;
        let normal = Normal::new(0.0, 1.0);
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        let mut draws = Vec::with_capacity(b.len_of(Axis(0)));
        for (k, mut row) in b.axis_iter_mut(Axis(0)).enumerate() {
            let z = normal.quantile(((k as f64 + 0.5) * golden).fract());
            let away = DVector::from_iterator(n, row.iter().zip(mean).map(|(x, mean)| x - mean));
            let angle = if is_known {
                let told = slope - towards.as_ref().map_or(0.0, |towards| towards.dot(&away));
                // A long step of Newton's method is off by about half its square, where derivatives are of the order
                // of one.
                let step = told / information;
                let variance = information.recip()
                    + (of_slope * of_slope + rest) / information.powi(2)
                    + 0.25 * step.powi(4);
                // Beside the prior of the share.
                let of_prior = PRIOR.1 * PRIOR.1;
                let weight = of_prior / (of_prior + variance);
                weight * (first + step) + (1.0 - weight) * PRIOR.0 + (weight * variance).sqrt() * z
            } else {
                let odds = (self.share / (1.0 - self.share)).ln() + self.spread * z;
                2.0 * (1.0 + (-odds).exp()).recip().sqrt().asin()
            };
            let angle = angle.clamp(0.0, std::f64::consts::PI);
            for (value, by) in row.iter_mut().zip(&moves) {
                *value -= by * (angle - first);
            }
            draws.push((0.5 * angle).sin().powi(2));
        }
        draws
    }

    /// All of it as numbers: `m₁`, `π₁`, and what was released at last.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let after = self.after.iter().flat_map(|after| {
            let Slopes { slope, second, mixed, of_mixed } = after;
            slope.iter().chain(second).chain([of_mixed]).chain(mixed).copied()
        });
        [self.mean, self.share, self.spread].into_iter().chain(after).collect()
    }

    /// What [`numbers`](Self::numbers) were of, where they are those of a regression of so many coefficients.
    pub(super) fn from_numbers(numbers: &[f64], features: usize) -> Option<Self> {
        let (&[mean, share, spread], last) = numbers.split_first_chunk::<3>()?;
        let after = match last.split_first_chunk::<5>() {
            None if last.is_empty() => None,
            Some((&[g, of_slope, h, of_second, of_mixed], mixed))
                if of_slope.min(of_second).min(of_mixed) > 0.0 && mixed.len() == features =>
            {
                let (slope, second) = ([g, of_slope], [h, of_second]);
                Some(Slopes { slope, second, mixed: mixed.to_vec(), of_mixed })
            }
            _ => return None,
        };
        (mean > 0.0 && share > 0.0 && share < 1.0 && spread >= 0.0).then_some(Self {
            mean,
            share,
            spread,
            after,
        })
    }
}

impl Slopes {
    /// `c` as it is expected to be: `V (V + s²)⁻¹ c̃` with `V = ρ² H_θθ A` for a correlation ρ and the information `A
    /// = C₀⁻¹ − P₀`.
    fn plausible(&self, without: &DMatrix<f64>, prior: &DVector<f64>) -> DVector<f64> {
        let released = DVector::from_column_slice(&self.mixed);
        let Some(inverse) = without.clone().try_inverse() else { return 0.0 * released };
        let information = inverse - DMatrix::from_diagonal(prior);
        let found = ((&information + information.transpose()) * 0.5).symmetric_eigen();
        let by = CORRELATION * CORRELATION * self.second[0].max(0.0);
        let mut along = found.eigenvectors.transpose() * released;
        for (value, about) in along.iter_mut().zip(found.eigenvalues.iter()) {
            let expected = by * about.max(0.0);
            *value *= expected / (expected + self.of_mixed * self.of_mixed);
        }
        found.eigenvectors * along
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of 10,000 records in bins, of a negative binomial beside zeros.
    fn made_up(edges: &[f64], share: f64, mean: f64, phi: f64) -> Vec<f64> {
        let law = NegativeBinomial::from_mean(mean, phi);
        let mut counts = vec![0.0; edges.len() - 1];
        for k in 0..200_000 {
            let p: f64 = law.pmf(f64::from(k));
            let bin = edges.iter().take_while(|edge| **edge <= f64::from(k)).count() - 1;
            counts[bin] += 10_000.0 * (1.0 - share) * p;
            if p < 1e-12 && f64::from(k) > mean {
                break;
            }
        }
        counts[0] += 10_000.0 * share;
        counts
    }

    /// Whatever columns explain makes counts vary more, and is not taken for zeros.
    #[test]
    fn counts_say_how_many_zeros_are_too_many() {
        for (share, mean, phi) in [(0.3, 3.0, 1000.0), (0.3, 3.0, 2.0), (0.7, 20.0, 1.5), (0.1, 5.0, 5.0)] {
            let edges = edges(200.0);
            let (odds, spread, found) = estimate(&edges, &made_up(&edges, share, mean, phi), 1.0, 10_000.0);
            let exact = f64::ln(share / (1.0 - share));
            assert!(
                (odds - exact).abs() < 2.0 * spread + 0.05,
                "{share} {mean} {phi}: {odds} +- {spread}, not {exact}"
            );
            assert!((found / mean - 1.0).abs() < 0.15, "{share} {mean} {phi}: {found}");
        }
    }

    #[test]
    fn bins_hold_all_counts_up_to_the_bound_and_end_with_the_rest() {
        for high in [0.0, 1.0, 2.0, 60.0, 1e9] {
            let edges = edges(high);
            assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
            assert!(edges[0] == 0.0 && edges[edges.len() - 1] == f64::MAX && edges.len() < 70, "{edges:?}");
        }
    }

    /// Where no noise moved the coefficients, draws are those of the normal whose precision is `H`.
    #[test]
    fn draws_of_both_have_the_joint_covariance() {
        // Of two coefficients and θ.
        let all = DMatrix::from_row_slice(3, 3, &[9.0, 2.0, -3.0, 2.0, 4.0, 1.0, -3.0, 1.0, 5.0]) * 40.0;
        let joint = all.clone().try_inverse().unwrap();
        let given = all.view((0, 0), (2, 2)).into_owned().try_inverse().unwrap();
        let mixed = vec![all[(0, 2)], all[(1, 2)]];
        // At the mean of its prior.
        let slopes = Slopes { slope: [0.0, 1e-9], second: [all[(2, 2)], 1e-9], mixed, of_mixed: 1e-9 };
        let zeros = Zeros { mean: 1.0, share: 0.5, spread: 1.0, after: None };
        let factor = given.clone().cholesky().unwrap().l();
        let normal = Normal::new(0.0, 1.0);
        let mut b = Array2::zeros((4000, 2));
        for (k, mut row) in b.rows_mut().into_iter().enumerate() {
            // Another sequence than that of the share.
            let z =
                [2.0_f64.sqrt(), 3.0_f64.sqrt()].map(|by| normal.quantile(((k as f64 + 0.5) * by).fract()));
            row[0] = 0.5 + factor[(0, 0)] * z[0];
            row[1] = -0.25 + factor[(1, 0)] * z[0] + factor[(1, 1)] * z[1];
        }
        let mut b = b.into_dyn();
        let centre = [0.5, -0.25, 0.0];
        let flat = DVector::from_element(2, 1e-12);
        let shares = zeros.draw_given(&slopes, &mut b, &centre[..2], [given.clone(), given], &flat);
        let angles: Vec<f64> = shares.iter().map(|p| 2.0 * p.sqrt().asin() - PRIOR.0).collect();
        let column = |j: usize| -> Vec<f64> {
            if j == 2 { angles.clone() } else { b.index_axis(Axis(1), j).iter().copied().collect() }
        };
        for i in 0..3 {
            for j in 0..3 {
                let (x, y) = (column(i), column(j));
                let product = x.iter().zip(&y).map(|(x, y)| (x - centre[i]) * (y - centre[j]));
                let found = product.sum::<f64>() / 4000.0;
                let size = (joint[(i, i)] * joint[(j, j)]).sqrt();
                assert!((found - joint[(i, j)]).abs() < 0.05 * size, "{i} {j}: {found} {}", joint[(i, j)]);
            }
        }
    }
}
