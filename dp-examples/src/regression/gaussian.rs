//! The scale of Gaussian regressions, from squares of residuals that are released.
//!
//! Given the scale σ a Gaussian regression is as well-behaved as a logistic one: its curvature is `XᵀX/σ²`, whatever
//! the coefficients. What is hard to learn under noise is σ beside them: the score of `ln σ` is small beside those of
//! slopes, and depends on residuals that are not yet small. So σ is found from releases of its own:
//!
//! ```text
//! r² = Σ y²/N                                                              the unit of the outcome
//! Σ z zᵀ,  z = (x′/t, y/r)   →   b₁ = (A + edge)⁻¹ c                       a first fit, from its blocks A and c
//! σ₁² = vᵀ (Σ z zᵀ) v/N,  v = (−b₁, 1)                                     what it leaves, and
//! σ₂² = Σ min((y − x′·b₁)², (4 σ₁)²)/N                                     what it leaves, measured
//! R = Σ min((y − x′·b̄)², (4 σ)²)                                           after the fit with the smaller of the two
//! ```
//!
//! each with noise, of which one standard deviation is added where a scale is to bound what follows. The posterior of
//! σ is that given `R`, over a grid.
//!
//! Gradients of residuals are cut at a few σ, which takes nothing from an intercept where residuals are symmetric.
//! Where they are skewed, as those of incomes, the mean of what is cut off is missing in it: .018 σ of exponential
//! residuals, .05 σ of log-normal ones, many times the standard deviation of an intercept of 20,000 records. So that is
//! released, too, up to six σ beyond where gradients are cut:
//!
//! ```text
//! d_i = r_i − clip(r_i, ±C σ²/‖z_i‖),    D = mean of clip(d_i, ±6 σ)      C the clip norm, z_i whitened features
//! δ ~ N(0, (.03 σ)²),   D ~ N(δ, s²)     the intercept is moved by E[δ|D], and is as much less certain as δ is
//! ```

use dp_accountant::Purse;
use dp_sampler::Seed;
use dp_vi::summaries::Summaries;
use dp_vi::{NoiseAware, Release, Sensitive};
use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, Axis};
use ppl_core::{Column, Records};

use super::nuisance::{self, COLUMN, Given, Seen, drawn, excess};
use crate::regression::whitening::{Whitening, another_seed, raise};

/// Shares of the budget, in which Gaussian releases add up: squares of the outcome, second moments of features and
/// outcome, squares of residuals of the first fit, and of the last.
///
/// The moments have the share of each of the two that whiten. Of residuals the last decide how well σ is known: at ε
/// = 1 and δ = 1e-5 a single release has a noise multiplier of 3.7, so that a share of .06 leaves `σ²` a noise of 4²
/// · 3.7/√.06 = 240 records' part, which is 3 % of σ where there are 4,000. The first only have to bound gradients.
///
/// Last come the ends of residuals, of which the mean of 20,000 records is then known to within .007 σ.
const SHARES: [f64; 5] = [0.01, 0.05, 0.03, 0.06, 0.05];

/// What they are called, in this order.
const NAMES: [&str; 5] = [
    "squares of the outcome",
    "second moments of features and outcome",
    "squares of residuals, before",
    "squares of residuals, after",
    "ends of residuals",
];

/// Residuals are cut at this many σ, which takes 1e-4 from the mean square of a normal.
const CUT: f64 = 4.0;

/// The clip norm of gradients, in lengths of a gradient of typical features at a residual of one σ. A norm that
/// followed the gradients would follow those of noise, too: values that noise has moved make the gradients of long rows
/// longer, and those the noise.
pub(super) const LONG: f64 = 3.0;

/// The column of the ends of residuals.
const ENDS: &str = "ends";

/// Ends of residuals are cut at this many σ.
const LONGEST_END: f64 = 6.0;

/// The deviation, in σ, of what the mean of ends may be before any is known: between the .018 of exponential residuals
/// and the .05 of log-normal ones.
const SKEWED: f64 = 0.03;

/// The least σ, in half-widths of the outcome's bounds.
pub(super) const LEAST: f64 = 1e-12;

/// A scale found before the fit, and what is found after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// Where the fit begins, in whitened coordinates.
    pub(super) start: Vec<f64>,
    /// σ of the fit.
    pub(super) sigma: f64,
    /// `R`, once it has been released, and its noise's standard deviation.
    pub(super) residuals: Option<(f64, f64)>,
    /// `D`, likewise.
    pub(super) ends: Option<(f64, f64)>,
}

/// What is released beside the whitening, for a noise multiplier of a single release for all of the budget.
fn releases(single: f64) -> dp_vi::Result<Vec<Release>> {
    nuisance::releases(&NAMES, &SHARES, single)
}

/// The second moments of these combinations of features and outcome, cut at `largest`, and the noise's standard
/// deviation.
fn squares(
    summaries: &mut Summaries<'_>,
    rows: &DMatrix<f64>,
    largest: f64,
    noise_multiplier: f64,
    purse: &mut (impl Purse + ?Sized),
) -> dp_vi::Result<(DMatrix<f64>, f64)> {
    let (n, columns) = rows.shape();
    let transform = Array2::from_shape_fn((n, columns), |(j, k)| rows[(j, k)]);
    let found = summaries.second_moments(COLUMN, transform.view(), largest, noise_multiplier, purse)?;
    Ok((DMatrix::from_fn(n, n, |j, k| found.matrix[(j, k)]), found.deviation))
}

/// `Σ min((y − x·b)², cut²)` with noise and its standard deviation, for coefficients in whitened coordinates.
fn residuals(
    seen: Seen<'_>,
    (whitening, whitened): (&Whitening, &[f64]),
    cut: f64,
    noise_multiplier: f64,
    (purse, seed): (&mut (impl Purse + ?Sized), Seed),
) -> dp_vi::Result<(f64, f64)> {
    let left = seen.outcomes - &seen.predictors(whitening, whitened);
    let records = Sensitive::new(residuals_of(left, cut)?);
    sum_of_squares(&mut Summaries::new(&records, seed)?, cut, noise_multiplier, purse)
}

/// Residuals in units of the cut, so that the bound is 1 whatever the outcome's width.
fn residuals_of(left: Array1<f64>, cut: f64) -> dp_vi::Result<Records> {
    let left = left.mapv_into(|left| (left / cut).clamp(-1e9, 1e9));
    Ok(Records::from_columns([(COLUMN, Column::from(left.insert_axis(Axis(1))))])?)
}

/// The sum of their squares with noise and its standard deviation.
fn sum_of_squares(
    summaries: &mut Summaries<'_>,
    cut: f64,
    noise_multiplier: f64,
    purse: &mut (impl Purse + ?Sized),
) -> dp_vi::Result<(f64, f64)> {
    let (found, deviation) = squares(summaries, &DMatrix::identity(1, 1), 1.0, noise_multiplier, purse)?;
    Ok((found[(0, 0)] * cut * cut, deviation * cut * cut))
}

/// `b₁` in whitened coordinates and `σ₁`, of noise multipliers of the outcome's squares and of the moments.
pub(super) fn first_fit(
    seen: Seen<'_>,
    whitening: &Whitening,
    noise: [f64; 2],
    purse: &mut (impl Purse + ?Sized),
    seed: Seed,
) -> dp_vi::Result<(Vec<f64>, f64)> {
    let (count, features) = ((whitening.records() as f64).max(1.0), whitening.stretched().nrows());
    let both = seen.features.and(1, |record, row| row[features] = seen.outcomes[record]);
    let records = Sensitive::new(Records::from_columns([(COLUMN, Column::from(both))])?);
    let mut summaries = Summaries::new(&records, seed)?;
    // An outcome lies between -1 and 1.
    let outcome = DMatrix::from_fn(1, features + 1, |_, k| f64::from(u8::from(k == features)));
    let (found, deviation) = squares(&mut summaries, &outcome, 1.0, noise[0], purse)?;
    let unit = ((found[(0, 0)].max(0.0) + deviation) / count).min(1.0).sqrt();
    // Both parts of z have a mean square of 1, as far as is known; longer ones keep their weight where the noise of
    // it is next to nothing.
    let typical = whitening.typical();
    let largest = 2.0_f64.max((whitening.length(count, noise[1]) / typical).powi(2));
    let mut rows = DMatrix::zeros(features + 1, features + 1);
    rows.view_mut((0, 0), (features, features)).copy_from(&(whitening.stretched() / typical));
    rows[(features, features)] = 1.0 / unit;
    let (found, deviation) = squares(&mut summaries, &rows, largest, noise[1], purse)?;
    let edge = deviation * (2.0 * features as f64).sqrt();
    let block = found.view((0, 0), (features, features)).into_owned();
    let inverse = raise(&block, |value| 1.0 / (value.max(0.0) + edge));
    let slopes = inverse * found.view((0, features), (features, 1));
    let left = DVector::from_fn(features + 1, |k, _| slopes.get(k).map_or(1.0, |slope| -slope));
    let (measured, uncertain) =
        ((left.transpose() * &found * &left)[(0, 0)], left.norm_squared() * deviation);
    let first = unit * ((measured.max(0.0) + uncertain) / count).sqrt().min(1.0);
    Ok((slopes.iter().map(|slope| slope * unit / typical).collect(), first))
}

impl Scale {
    /// What a fit is planned with before anything is released.
    pub(super) fn planned(features: usize) -> Self {
        Self { start: vec![0.0; features], sigma: 1.0, residuals: None, ends: None }
    }

    /// Releases what a fit begins with.
    pub(super) fn release(
        seen: Seen<'_>,
        whitening: &Whitening,
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<Self> {
        let noise = SHARES.map(|share| whitening.single() / share.sqrt());
        let count = (whitening.records() as f64).max(1.0);
        let next = another_seed(&seed)?;
        let (start, first) = first_fit(seen, whitening, [noise[0], noise[1]], purse, seed)?;
        let (found, deviation) = residuals(seen, (whitening, &start), CUT * first, noise[2], (purse, next))?;
        let second = ((found.max(0.0) + deviation) / count).sqrt();
        let sigma = first.min(second);
        Ok(match sigma > LEAST && start.iter().all(|b| b.is_finite()) {
            true => Self { start, sigma, residuals: None, ends: None },
            // What has been paid for is paid for. So little is left of an outcome that is next to constant.
            false => Self { sigma: LEAST, ..Self::planned(start.len()) },
        })
    }

    /// How a fit is made.
    pub(super) fn given(&self, whitening: &Whitening) -> dp_vi::Result<Given> {
        let curvature = self.sigma.powi(-2);
        Ok(Given {
            known: vec![self.sigma],
            start: self.start.clone(),
            releases: releases(whitening.single())?,
            left: nuisance::left(&SHARES),
            clip: LONG / self.sigma,
            curvature,
            peak: curvature,
            plain_ascent: true,
        })
    }

    /// Releases the squares of residuals at these coefficients, and the ends of those beyond `reach`.
    pub(super) fn release_residuals(
        &mut self,
        seen: Seen<'_>,
        at: (&Whitening, &[f64]),
        reach: &Array1<f64>,
        (purse, seed): (&mut (impl Purse + ?Sized), Seed),
    ) -> dp_vi::Result<()> {
        let noise = [SHARES[3], SHARES[4]].map(|share| at.0.single() / share.sqrt());
        let (cut, unit) = (CUT * self.sigma, LONGEST_END * self.sigma);
        let left = seen.outcomes - &seen.predictors(at.0, at.1);
        let end = |(left, reach): (&f64, &f64)| {
            let end = (left - left.max(-reach).min(*reach)) / unit;
            if end.is_nan() { 0.0 } else { end.clamp(-1.0, 1.0) }
        };
        let ends: Array1<f64> = left.iter().zip(reach).map(end).collect();
        let records = residuals_of(left, cut)?.with_column(ENDS, ends)?;
        let records = Sensitive::new(records);
        // Both with one seed: releases that are made again after an interruption are the same.
        let mut summaries = Summaries::new(&records, seed)?;
        let squares = sum_of_squares(&mut summaries, cut, noise[0], purse)?;
        let mean = summaries.mean(ENDS, (-1.0, 1.0), noise[1], purse)?;
        (self.residuals, self.ends) = (Some(squares), Some((mean.value * unit, mean.noise * unit)));
        Ok(())
    }

    /// Mean and deviation of `δ`, given `D`.
    pub(super) fn cut_off(&self) -> Option<(f64, f64)> {
        let (found, noise) = self.ends?;
        let prior = (SKEWED * self.sigma).powi(-2);
        let precision = prior + noise.powi(-2);
        Some((found * noise.powi(-2) / precision, precision.sqrt().recip()))
    }

    /// Draws of σ, in the order of a sequence that is always the same, given a half-normal prior of this scale and a
    /// fit.
    ///
    /// ```text
    /// R ~ N((N − D) σ² + q, 2Nσ⁴ + s² + 2q²/D)         q = σ₁² tr(S (C − C₀)), at most R/2
    /// ```
    ///
    /// `C` is the covariance of the fit and `C₀` what it would be without noise; of `q` residuals at the posterior
    /// mean are larger than at the mode without noise, of `Dσ²` they are smaller there than at the truth.
    ///
    /// Beside each draw, what the variance of coefficients is multiplied by where the records leave it open.
    pub(super) fn draws(
        &self,
        count: usize,
        (records, prior): (u64, f64),
        found: &NoiseAware,
    ) -> (Vec<f64>, Vec<f64>) {
        let Some((measured, deviation)) = self.residuals else {
            return (vec![self.sigma; count], vec![1.0; count]);
        };
        let (n, features) = (records as f64, self.start.len() as f64);
        let more = (self.sigma.powi(2) * excess(found)).clamp(0.0, 0.5 * measured.max(deviation));
        let freedom = (n - features).max(1.0);
        // Squares of residuals are at most CUT² σ₁² on average; and a σ of a hundredth of it is not told from none.
        let (low, high) = (0.001 * self.sigma, 4.0 * CUT * self.sigma);
        let step = (high / low).ln() / 4096.0;
        let points: Vec<f64> = (0..=4096).map(|k| low * (step * f64::from(k)).exp()).collect();
        let log_density = |sigma: &f64| {
            let square = sigma * sigma;
            let variance = 2.0 * n * square * square + deviation * deviation + 2.0 * more * more / features;
            let away = measured - freedom * square - more;
            -0.5 * (away * away / variance + variance.ln() + square / (prior * prior)) + sigma.ln()
        };
        let logs: Vec<f64> = points.iter().map(log_density).collect();
        let sigma = drawn(&points, &logs, count);
        let factors = sigma.iter().map(|sigma| (sigma / self.sigma).powi(2)).collect();
        (sigma, factors)
    }

    /// All of it as numbers: σ, the start, and what was released at last.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let released = [self.residuals, self.ends].into_iter().flatten();
        [self.sigma]
            .into_iter()
            .chain(self.start.iter().copied())
            .chain(released.flat_map(|(found, deviation)| [found, deviation]))
            .collect()
    }

    /// What [`numbers`](Self::numbers) were of, where they are those of a scale.
    pub(super) fn from_numbers(numbers: &[f64], features: usize) -> Option<Self> {
        let (sigma, rest) = numbers.split_first()?;
        let (start, last) = rest.split_at_checked(features)?;
        let (residuals, ends) = match *last {
            [] => (None, None),
            [found, deviation, end, noise] if deviation > 0.0 && noise > 0.0 => {
                (Some((found, deviation)), Some((end, noise)))
            }
            _ => return None,
        };
        (*sigma > 0.0).then(|| Self { start: start.to_vec(), sigma: *sigma, residuals, ends })
    }
}
