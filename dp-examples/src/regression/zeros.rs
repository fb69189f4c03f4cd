//! The share of zeros that zero-inflated Poisson regressions have beside Poisson's.
//!
//! Before the fit counts are taken for zero-inflated *negative binomial* ones with one mean: what columns explain of them makes
//! their distribution wider, and a gamma distribution of means takes its part, which otherwise would be taken for zeros.
//!
//! ```text
//! g = Σ ln(1 + y)/N                          →   h = 10 e^g               public bounds may be far wider than counts are
//! h_k = #{i: e_k ≤ y_i < e_{k+1}} + noise    →   π₁, m₁                   posterior means given (π, m, φ) over a grid
//! ```
//!
//! The coefficients are fitted given `π₁`. How far the truth is from it, the slopes in `λ = ln(π/(1 − π))` at the fit say, one step of
//! Newton's method; with `g` the slope, `H` minus the second derivatives and `C₀` the covariance given `λ`
//!
//! ```text
//! λ | b  =  λ₁ + (g + cᵀε)/h,   h = H_λλ − cᵀ C₀ c,   c = H_bλ            b → b − C₀ c (λ − λ₁)
//! ```
//!
//! where `ε` is how far noise has moved the coefficients, of which a draw of them says a part.

use dp_accountant::Purse;
use dp_sampler::Seed;
use dp_vi::summaries::Summaries;
use dp_vi::{NoiseAware, Release, Sensitive};
use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, ArrayD, Axis, s};
use ppl_core::{Column, Records};
use ppl_distributions::{NegativeBinomial, Normal};

use super::nuisance::{self, COLUMN, Given, Seen};
use crate::whitening::Whitening;

/// Shares of the budget, in which Gaussian releases add up: logarithms of counts, their histogram, and slopes.
const SHARES: [f64; 3] = [0.01, 0.04, 0.06];

/// What they are called, in this order.
const NAMES: [&str; 3] =
    ["logarithms of the outcome", "histogram of the outcome", "slopes in the share of zeros"];

/// How many of their geometric mean counts are told apart.
const LONG: f64 = 10.0;

/// Clip norms are this many standard deviations of a Poisson variable, and 2.5 times its skewness more, as for other counts.
const CUT: f64 = 3.0;

/// Logarithms of odds of a zero, and dispersions, of the grid, the least mean, and how many points of the odds, means and
/// dispersions there are.
const ODDS: (f64, f64) = (-5.3, 5.3);
const LEAST_MEAN: f64 = 0.02;
const DISPERSIONS: (f64, f64) = (0.1, 1000.0);
const POINTS: [usize; 3] = [34, 34, 10];

/// The least and largest share of zeros that a fit is given.
const KNOWN: (f64, f64) = (0.02, 0.98);

/// The standard deviation of the logarithm of the odds of a share that has a uniform prior: `π/√3`.
const PRIOR: f64 = 1.813_799_364_234_217_8;

/// The largest square length of a record's part of the slopes. Of a zero `π u + (π u)²` is at most 2 where `μ` is large and `w`
/// is 0, and around 1 where `π w` is largest, up to about 1.2, half of which a typical record has twice.
const LARGEST: f64 = 2.0;
const HALF: f64 = 0.5;

/// Slopes and second derivatives, as they were released.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slopes {
    /// `g` and `H_λλ` in `λ`, and the standard deviation of the noise of `g`.
    slope: f64,
    second: f64,
    deviation: f64,
    /// `c`
    mixed: Vec<f64>,
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

/// What counts in bins with noise say of the share of zeros and of the mean of others: posterior means of the logarithms of its
/// odds and of the mean, and the standard deviation of the first. First over all of the grid, then where the density is.
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
                let variance = expected + deviation * deviation;
                log -= 0.5 * ((count - expected).powi(2) / variance + variance.ln());
            }
            found.push((log, [odds, mean, phi]));
        }
    }
    found
}

impl Zeros {
    /// What a fit is planned with before anything is released.
    pub(super) fn planned() -> Self {
        Self { mean: 1.0, share: 0.5, spread: PRIOR, after: None }
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
            left: Whitening::left() - SHARES.iter().sum::<f64>(),
            clip: (CUT + 2.5 / mean.sqrt()) * mean.sqrt(),
            curvature,
            peak: mean,
            plain_ascent: false,
        })
    }

    /// `√(π w/2) x/t`, `√(π w/2)`, `√(π u)`, `π u` and whether the count is above 0, of each record: with `p = π + (1 − π) e^−μ` the
    /// slope of a zero in `π` is `u = (1 − e^−μ)/p` and minus that in `π` and the predictor `w = μ e^−μ/p²`. Of other counts both
    /// are 0 and the slope in `π` is `−1/(1 − π)`.
    fn parts(&self, seen: Seen<'_>, (whitening, mean): (&Whitening, &[f64])) -> Array2<f64> {
        let features = seen.features.ncols();
        let mut parts = Array2::zeros((seen.features.nrows(), features + 4));
        let whitened = whitening.features(seen.features.view());
        parts.slice_mut(s![.., ..features]).assign(&whitened);
        let predictors = seen.predictors(whitening, mean);
        for ((mut row, y), eta) in parts.rows_mut().into_iter().zip(seen.outcomes).zip(&predictors) {
            if *y > 0.0 {
                row.fill(0.0);
                row[features + 3] = 1.0;
                continue;
            }
            let mean = eta.clamp(-20.0, 20.0).exp();
            let none = (-mean).exp();
            let p = self.share + (1.0 - self.share) * none;
            let mixed = (HALF * self.share * mean * none / (p * p)).sqrt();
            let slope = self.share * (1.0 - none) / p;
            row.slice_mut(s![..features]).mapv_inplace(|x| mixed * x / whitening.typical());
            row[features] = mixed;
            row[features + 1] = slope.sqrt();
            row[features + 2] = slope;
        }
        parts
    }

    /// Releases the slopes at these coefficients.
    pub(super) fn release_slopes(
        &mut self,
        seen: Seen<'_>,
        at: (&Whitening, &[f64]),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<()> {
        let (whitening, features, share) = (at.0, seen.features.ncols(), self.share);
        let parts = Column::from(self.parts(seen, at));
        let records = Sensitive::new(Records::from_columns([(COLUMN, parts)])?);
        let noise = whitening.single() / SHARES[2].sqrt();
        let mut summaries = Summaries::new(&records, seed)?;
        let transform = Array2::eye(features + 4);
        let found = summaries.second_moments(COLUMN, transform.view(), LARGEST, noise, purse)?;
        let of = |j: usize| found.matrix[(features + j, features + j)];
        let (slopes, squares, positive) = (of(1), of(2), of(3));
        // From π to the logarithm of its odds.
        let (by, rest) = (share * (1.0 - share), 1.0 - share);
        self.after = Some(Slopes {
            slope: by * (slopes / share - positive / rest),
            second: by * by * (squares / (share * share) + positive / (rest * rest)),
            deviation: found.deviation * by * share.recip().hypot(rest.recip()),
            mixed: (0..features)
                .map(|j| -by * whitening.typical() / (HALF * share) * found.matrix[(j, features)])
                .collect(),
        });
        Ok(())
    }

    /// A draw of the share beside each draw of the coefficients, which are moved by what it differs from that of the fit.
    pub(super) fn draw_beside(&self, b: &mut ArrayD<f64>, found: &NoiseAware) -> Vec<f64> {
        match (&self.after, &found.shares) {
            (Some(after), Some(shares)) => {
                let without = &shares.covariance_without_noise;
                self.draw_given(after, b, &found.mean, [&found.covariance, without])
            }
            _ => vec![self.share; b.len_of(Axis(0))],
        }
    }

    /// The same for draws with this mean and covariance, and the covariance that they had without noise.
    fn draw_given(
        &self,
        after: &Slopes,
        b: &mut ArrayD<f64>,
        mean: &[f64],
        covariances: [&[f64]; 2],
    ) -> Vec<f64> {
        let n = mean.len();
        let [all, without] = covariances.map(|values| DMatrix::from_row_slice(n, n, values));
        let noise = &all - &without;
        let mixed = DVector::from_column_slice(&after.mixed);
        let first = (self.share / (1.0 - self.share)).ln();
        let moves = &without * &mixed;
        let information = after.second - mixed.dot(&moves);
        // cᵀε given a draw d of the coefficients: −cᵀ N C⁻¹ (d − b̄) and a rest.
        let towards = all.try_inverse().map(|inverse| inverse * &noise * &mixed);
        let rest = match &towards {
            Some(towards) => (mixed.dot(&(&noise * &mixed)) - mixed.dot(&(&noise * towards))).max(0.0),
            None => 0.0,
        };
        // A second derivative that is less than its noise says nothing, of the coefficients either; the share is then what counts
        // alone say.
        let (of_zeros, of_others) = (self.share.recip(), (1.0 - self.share).recip());
        let by = self.share * (1.0 - self.share);
        let noise_of_second =
            after.deviation * by * of_zeros.powi(2).hypot(of_others.powi(2)) / of_zeros.hypot(of_others);
        let is_known = information > 3.0 * noise_of_second;
        let normal = Normal::new(0.0, 1.0);
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        let mut draws = Vec::with_capacity(b.len_of(Axis(0)));
        for (k, mut row) in b.axis_iter_mut(Axis(0)).enumerate() {
            let z = normal.quantile(((k as f64 + 0.5) * golden).fract());
            let odds = if is_known {
                let away = DVector::from_iterator(n, row.iter().zip(mean).map(|(x, mean)| x - mean));
                let told = after.slope - towards.as_ref().map_or(0.0, |towards| towards.dot(&away));
                let variance = information.recip() + (after.deviation.powi(2) + rest) / information.powi(2);
                // Beside the prior of the share.
                let weight = PRIOR * PRIOR / (PRIOR * PRIOR + variance);
                weight * (first + told / information) + (weight * variance).sqrt() * z
            } else {
                first + self.spread * z
            };
            for (value, by) in row.iter_mut().zip(&moves).filter(|_| is_known) {
                *value -= by * (odds - first);
            }
            draws.push(1.0 / (1.0 + (-odds).exp()));
        }
        draws
    }

    /// All of it as numbers: `m₁`, `π₁`, and what was released at last.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let after = self.after.iter().flat_map(|after| {
            let Slopes { slope, second, deviation, mixed } = after;
            [*slope, *second, *deviation].into_iter().chain(mixed.iter().copied())
        });
        [self.mean, self.share, self.spread].into_iter().chain(after).collect()
    }

    /// What [`numbers`](Self::numbers) were of, where they are those of a regression of so many coefficients.
    pub(super) fn from_numbers(numbers: &[f64], features: usize) -> Option<Self> {
        let (&[mean, share, spread], last) = numbers.split_first_chunk::<3>()?;
        let after = match last {
            [] => None,
            [slope, second, deviation, mixed @ ..] if *deviation > 0.0 && mixed.len() == features => {
                let (slope, second, deviation) = (*slope, *second, *deviation);
                Some(Slopes { slope, second, deviation, mixed: mixed.to_vec() })
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
        // Of two coefficients and λ.
        let all = DMatrix::from_row_slice(3, 3, &[9.0, 2.0, -3.0, 2.0, 4.0, 1.0, -3.0, 1.0, 5.0]) * 40.0;
        let joint = all.clone().try_inverse().unwrap();
        let given = all.view((0, 0), (2, 2)).into_owned().try_inverse().unwrap();
        let covariance: Vec<f64> = given.iter().copied().collect();
        let mixed = vec![all[(0, 2)], all[(1, 2)]];
        // Far from where the prior of the share matters, at its mode.
        let slopes = Slopes { slope: 0.0, second: all[(2, 2)], deviation: 1e-9, mixed };
        let zeros = Zeros { mean: 1.0, share: 0.5, spread: 1.0, after: None };
        let factor = given.cholesky().unwrap().l();
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
        let shares = zeros.draw_given(&slopes, &mut b, &centre[..2], [&covariance, &covariance]);
        let odds: Vec<f64> = shares.iter().map(|p| (p / (1.0 - p)).ln()).collect();
        let column = |j: usize| -> Vec<f64> {
            if j == 2 { odds.clone() } else { b.index_axis(Axis(1), j).iter().copied().collect() }
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
