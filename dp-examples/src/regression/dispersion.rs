//! The mean of counts, and the dispersion of negative binomial regressions from squares of residuals that are released.
//!
//! Given `φ` the counts are a function of one linear number, with a curvature of their own: `μ (1 + y/φ)/(1 + μ/φ)²`.
//! As with σ of Gaussian regressions, it is `φ` beside the coefficients that is hard to learn under noise, and so it
//! is found apart:
//!
//! ```text
//! g = Σ ln(1 + y)/N                          →   h = 10 e^g            public bounds may be far wider than counts are
//! m₁ = Σ min(y, h)/N,  m₂ = Σ min(y, 5 m₁)²/N   →   φ₁ = m₁²/(m₂ − m₁² − m₁)   of all counts, whatever the columns say
//! Σ w (y − μ̄)²,  Σ w μ̄,  Σ w μ̄²             w = 1/(μ̄ + μ̄²/φ₁),  after the fit with φ₁:
//!                                            E Σ w (y − μ̄)² = Σ w μ̄ + (1/φ) Σ w μ̄²
//! ```
//!
//! What columns explain is taken for dispersion at first, so that `φ₁` is too small rather than too large. Estimates
//! are consistent for any `φ₁`; how far they spread is that of each draw of `φ`.
//!
//! Poisson regressions have no dispersion, and `m₁` alone is released for them: a fit begins at it, and the noise of
//! gradients and curvature is chosen for counts of about it.

use dp_accountant::Purse;
use dp_sampler::Seed;
use dp_vi::summaries::Summaries;
use dp_vi::{Release, Sensitive};
use ndarray::{Array1, Array2, array};
use ppl_core::{Column, Records};

use super::family::Family;
use super::nuisance::{self, COLUMN, Given, Seen, drawn};
use crate::regression::whitening::Whitening;

/// Shares of the budget, in which Gaussian releases add up: logarithms of counts, counts, their squares, and squares of
/// residuals.
const SHARES: [f64; 4] = [0.01, 0.01, 0.03, 0.06];

/// What they are called, in this order.
const NAMES: [&str; 4] = [
    "logarithms of the outcome",
    "sum of the outcome",
    "squares of the outcome",
    "squares of residuals, after",
];

/// How many of their geometric mean counts are cut at where their mean is found.
const LONG: f64 = 10.0;

/// Counts are cut at this many of their mean where squares are summed.
const CUT: f64 = 5.0;

/// The dispersion of counts of a Poisson distribution, which have none.
const NONE: f64 = 1e15;

/// The dispersions that are estimated. Above 1,000 the variance of counts is close to that of a Poisson distribution.
const RANGE: (f64, f64) = (0.05, 1000.0);

/// A dispersion found before the fit, and what is found after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dispersion {
    /// `m₁`
    pub(super) mean: f64,
    /// `φ₁`
    pub(super) phi: f64,
    /// The three sums, once they have been released, and the standard deviation of each one's noise.
    pub(super) sums: Option<([f64; 3], f64)>,
}

/// The shares that a family needs: of Poisson counts only the mean has to be known.
fn shares(family: Family) -> &'static [f64] {
    if family == Family::Poisson { &SHARES[..2] } else { &SHARES }
}

/// The share of the budget that is left for a fit.
fn left(family: Family) -> f64 {
    nuisance::left(shares(family))
}

/// What is released beside the whitening, for a noise multiplier of a single release for all of the budget.
fn releases(family: Family, single: f64) -> dp_vi::Result<Vec<Release>> {
    nuisance::releases(&NAMES, shares(family), single)
}

/// `√(ln(1 + y)/ln(1 + h))`, `√y` and `y` for counts of at most `h`: their squares are what is summed.
fn outcomes(counts: &Array1<f64>, high: f64) -> Array2<f64> {
    Array2::from_shape_fn((counts.len(), 3), |(i, j)| {
        let count = counts[i].clamp(0.0, high);
        match j {
            0 => (count.ln_1p() / high.ln_1p()).min(1.0).sqrt(),
            1 => count.sqrt(),
            _ => count,
        }
    })
}

impl Dispersion {
    /// What a fit is planned with before anything is released.
    pub(super) fn planned() -> Self {
        Self { mean: 1.0, phi: 1.0, sums: None }
    }

    /// Releases what a fit begins with, from [`outcomes`].
    pub(super) fn release(
        seen: Seen<'_>,
        whitening: &Whitening,
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<Self> {
        let (family, high) = (seen.family, seen.high);
        let noise = SHARES.map(|share| whitening.single() / share.sqrt());
        let count = (whitening.records() as f64).max(1.0);
        let outcomes = Column::from(outcomes(seen.outcomes, high));
        let records = Sensitive::new(Records::from_columns([(COLUMN, outcomes)])?);
        let mut summaries = Summaries::new(&records, seed)?;
        let mut sum = |row: [f64; 3], noise| -> dp_vi::Result<(f64, f64)> {
            let found = summaries.second_moments(COLUMN, array![row].view(), 1.0, noise, purse)?;
            Ok((found.matrix[(0, 0)] / count, found.deviation / count))
        };
        let (found, deviation) = sum([1.0, 0.0, 0.0], noise[0])?;
        // One standard deviation more, and no more than the bounds say.
        let long = (LONG * ((found + deviation).clamp(0.0, 1.0) * high.ln_1p()).exp()).min(high);
        let (found, deviation) = sum([0.0, long.sqrt().recip(), 0.0], noise[1])?;
        // Less than the noise is as good as the noise.
        let mean = long * found.max(deviation).min(1.0);
        if family == Family::Poisson {
            return Ok(Self { mean, phi: NONE, sums: None });
        }
        let cut = CUT * mean;
        let (found, deviation) = sum([0.0, 0.0, cut.recip()], noise[2])?;
        let square = (found + deviation) * cut * cut;
        let over = square - mean * mean - mean;
        let phi = if over > 0.0 { mean * mean / over } else { RANGE.1 };
        Ok(Self { mean, phi: phi.clamp(RANGE.0, RANGE.1), sums: None })
    }

    /// How a fit is made.
    pub(super) fn given(
        &self,
        family: Family,
        whitening: &Whitening,
        intercept: impl FnOnce(f64) -> Vec<f64>,
    ) -> dp_vi::Result<Given> {
        let curvature = self.curvature();
        Ok(Given {
            known: vec![self.phi],
            // Counts begin at their mean, whatever the columns say.
            start: intercept(self.mean.ln()),
            releases: releases(family, whitening.single())?,
            left: left(family),
            clip: self.cut() * curvature.sqrt(),
            curvature,
            peak: curvature,
            plain_ascent: false,
        })
    }

    /// The curvature of a record of mean count.
    fn curvature(&self) -> f64 {
        self.mean / (1.0 + self.mean / self.phi)
    }

    /// How many standard deviations a residual is cut at, here and where gradients are clipped: `3 + 2.5 s` for
    /// counts of skewness `s`.
    ///
    /// Counts are skewed, and what is cut takes from the mean. Of a gamma variable of skewness `s` about `s
    /// e^(−2c/s)/2` standard deviations of the mean lie beyond `c`, with this `c` less than .005 for skewnesses up to
    /// 5.
    fn cut(&self) -> f64 {
        let variance = self.mean * (1.0 + self.mean / self.phi);
        3.0 + 2.5 * (1.0 + 2.0 * self.mean / self.phi) / variance.sqrt()
    }

    /// What is summed of each record, for its predictor.
    fn parts(&self, counts: &Array1<f64>, predictors: &Array1<f64>) -> Array2<f64> {
        let mut parts = Array2::zeros((counts.len(), 3));
        for ((mut row, y), eta) in parts.rows_mut().into_iter().zip(counts).zip(predictors) {
            let mean = eta.clamp(-20.0, 20.0).exp();
            let root = (mean + mean * mean / self.phi).sqrt().recip();
            row.assign(&array![(y - mean).abs().min(1e9) * root, mean.sqrt() * root, mean * root]);
        }
        parts
    }

    /// Releases the sums of [`parts`](Self::parts) at these coefficients.
    pub(super) fn release_residuals(
        &mut self,
        seen: Seen<'_>,
        (whitening, mean): (&Whitening, &[f64]),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<()> {
        let parts = Column::from(self.parts(seen.outcomes, &seen.predictors(whitening, mean)));
        let records = Sensitive::new(Records::from_columns([(COLUMN, parts)])?);
        let mut summaries = Summaries::new(&records, seed)?;
        // In units of a long residual beside a record of mean count.
        let largest = self.cut().powi(2) + 1.0 + self.curvature();
        let scaled = Array2::from_diag_elem(3, largest.sqrt().recip());
        let noise = whitening.single() / SHARES[3].sqrt();
        let found = summaries.second_moments(COLUMN, scaled.view(), 1.0, noise, purse)?;
        let sums = [0, 1, 2].map(|j| found.matrix[(j, j)] * largest);
        self.sums = Some((sums, found.deviation * largest));
        Ok(())
    }

    /// Draws of `φ`, and beside each what the variance of coefficients is multiplied by where the records leave it
    /// open.
    ///
    /// ```text
    /// A − B ~ N(C/φ, N (2 + 6/φ + 1/v) r² + s² (2 + 1/φ²))       ln φ ~ N(1, 1)
    /// ```
    ///
    /// with the three sums `A`, `B` and `C`, `r = (1 + m₁/φ)/(1 + m₁/φ₁)` and `v = m₁ (1 + m₁/φ)`: `2 + 6/φ + 1/v` is
    /// the variance of a square residual of a negative binomial count. In the variance `φ` is the estimate `C/(A −
    /// B)`.
    pub(super) fn draws(&self, count: usize, records: u64) -> (Vec<f64>, Vec<f64>) {
        let spread = |phi: f64| (1.0 + self.mean / phi) / (1.0 + self.mean / self.phi);
        let (low, high) = (RANGE.0.ln(), RANGE.1.ln());
        let points: Vec<f64> =
            (0..=2048).map(|k| (low + (high - low) * f64::from(k) / 2048.0).exp()).collect();
        let log_density = |phi: &f64| {
            let prior = -0.5 * (phi.ln() - 1.0).powi(2);
            let Some(([all, of_mean, of_square], deviation)) = self.sums else { return prior };
            let square = of_square.max(deviation);
            // Spreads are those at the estimate: were they those of each point, a dispersion without bound would
            // explain everything, and counts that vary less than Poisson's do would have it.
            let least = square / RANGE.1;
            let found = (square / (all - of_mean).max(least)).clamp(RANGE.0, RANGE.1);
            let inside = 2.0 + 6.0 / found + 1.0 / (self.mean * (1.0 + self.mean / found));
            let variance = records as f64 * inside * spread(found).powi(2)
                + deviation * deviation * (2.0 + found.powi(-2));
            let away = all - of_mean - square / phi;
            prior - 0.5 * away * away / variance
        };
        let logs: Vec<f64> = points.iter().map(log_density).collect();
        let phi = drawn(&points, &logs, count);
        let factors = phi.iter().map(|phi| spread(*phi)).collect();
        (phi, factors)
    }

    /// All of it as numbers: `m₁`, `φ₁`, and what was released at last.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let sums = self.sums.map(|([a, b, c], deviation)| [a, b, c, deviation]);
        [self.mean, self.phi].into_iter().chain(sums.into_iter().flatten()).collect()
    }

    /// What [`numbers`](Self::numbers) were of, where they are those of a dispersion.
    pub(super) fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let (&[mean, phi], last) = numbers.split_first_chunk::<2>()?;
        let sums = match *last {
            [] => None,
            [a, b, c, deviation] if deviation > 0.0 => Some(([a, b, c], deviation)),
            _ => return None,
        };
        (mean > 0.0 && phi > 0.0).then_some(Self { mean, phi, sums })
    }
}
