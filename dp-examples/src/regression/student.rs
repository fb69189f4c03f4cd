//! The scale and the degrees of freedom of regressions with Student's t, from histograms of residuals that are
//! released.
//!
//! Squares of residuals say little where tails are heavy: cut, they are too small, and not cut, a few records make
//! all of them. A histogram has the same noise whatever is in a bin, and holds the shape, too:
//!
//! ```text
//! h_k = #{i: e_k ≤ |y_i − x_i·b| < e_{k+1}} + noise,       e_k = u 2^{k/2},  24 bins, the first from 0 and the last without end
//! h_k ~ N(N p_k, N p_k + s²),                              p_k: of |σ t_ν| in the bin
//! ```
//!
//! which with the model's priors is a posterior of `(σ, ν)` over a grid. The first histogram is of the first fit of
//! [`gaussian`](super::gaussian), in units of what that leaves; the coefficients are fitted given its estimates. The
//! second is of residuals after that, and the posterior is that given it alone.

use std::f64::consts::LN_2;

use dp_accountant::Purse;
use dp_sampler::Seed;
use dp_vi::summaries::Summaries;
use dp_vi::{NoiseAware, Sensitive};
use libm::erfc;
use ndarray::Array1;
use ppl_core::{Column, Records};
use ppl_distributions::{Chi2, StudentT};

use super::gaussian::{LEAST, LONG, first_fit};
use super::nuisance::{self, COLUMN, Given, Seen, drawn, excess, log_of_count};
use crate::regression::whitening::{Whitening, another_seed};

/// Shares of the budget, in which Gaussian releases add up; those of [`gaussian`](super::gaussian), with histograms
/// in the place of squares. At ε = 1 and δ = 1e-5 a share of .06 leaves each bin a noise of 15 records.
const SHARES: [f64; 4] = [0.01, 0.05, 0.03, 0.06];

/// What they are called, in this order.
const NAMES: [&str; 4] = [
    "squares of the outcome",
    "second moments of features and outcome",
    "histogram of residuals, before",
    "histogram of residuals, after",
];

/// Edges of bins between 0 and the largest number, in half octaves of the unit.
const EDGES: (i32, i32) = (-16, 6);

/// Degrees of freedom that are estimated. Of the prior 1e-3 lies below them; above them the distribution is a normal's.
const FREEDOMS: (f64, f64) = (0.5, 200.0);

/// Points of σ and of `ν`, of all of the grid and of where the density is.
const COARSE: (usize, usize) = (45, 9);
const FINE: (usize, usize) = (48, 24);

/// Normal parts of Student's t. What a normal variable beside it changes is found by them, and the rest by its own
/// distribution function, at this many points between these logarithms: an octave beyond what edges are of any σ of
/// the grid.
const PARTS: usize = 8;
const TABLE: usize = 185;
const REACH: f64 = 12.0 * LN_2;

/// Counts of residuals, as they were released.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Histogram {
    counts: Vec<f64>,
    /// The standard deviation of the noise.
    deviation: f64,
    /// `u`
    unit: f64,
}

/// Scale and degrees of freedom found before the fit, and what is found after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tails {
    /// Where the fit begins, in whitened coordinates.
    start: Vec<f64>,
    /// σ and `ν` of the fit.
    sigma: f64,
    nu: f64,
    /// The histogram of its residuals, once it has been released.
    pub(super) after: Option<Histogram>,
}

/// The information on a location that an outcome has: `(ν + 1)/((ν + 3) σ²)`.
fn information(sigma: f64, nu: f64) -> f64 {
    (nu + 1.0) / ((nu + 3.0) * sigma * sigma)
}

/// Probabilities of Student's t with so many degrees of freedom.
struct Tail {
    /// Logarithms of the probability beyond `±e^x`, at `x` of equal distance from `−REACH` to `REACH`.
    logs: Vec<f64>,
    /// Variances of normal parts that are equally likely: `ν` over a chi-square variable.
    variances: [f64; PARTS],
}

impl Tail {
    fn new(nu: f64) -> Self {
        let (law, mixing) = (StudentT::new(nu, 0.0, 1.0), Chi2::new(nu));
        let at = |k: usize| REACH * (2.0 * k as f64 / (TABLE - 1) as f64 - 1.0);
        Self {
            logs: (0..TABLE).map(|k| LN_2 + law.ln_sf(at(k).exp())).collect(),
            variances: std::array::from_fn(|k| nu / mixing.quantile((k as f64 + 0.5) / PARTS as f64)),
        }
    }

    /// The probability of more than this distance from 0, by a cubic through four neighbours of the table.
    fn beyond(&self, distance: f64) -> f64 {
        let place = (distance.ln() / REACH + 1.0) * 0.5 * (TABLE - 1) as f64;
        let first = (place.floor().max(1.0) as usize - 1).min(TABLE - 4);
        let (t, y) = (place - first as f64 - 1.0, &self.logs[first..first + 4]);
        let (a, b, c) = (t + 1.0, t - 1.0, t - 2.0);
        let log = -t * b * c / 6.0 * y[0] + a * b * c / 2.0 * y[1] - a * t * c / 2.0 * y[2]
            + a * t * b / 6.0 * y[3];
        log.min(0.0).exp()
    }

    /// The same, less exactly, of a variable to which a normal one of this variance is added.
    fn beyond_by_parts(&self, distance: f64, added: f64) -> f64 {
        let of = |variance: &f64| erfc(distance / (2.0 * (variance + added)).sqrt());
        self.variances.iter().map(of).sum::<f64>() / PARTS as f64
    }
}

/// Edges of bins between 0 and the largest number.
fn edges(unit: f64) -> impl Iterator<Item = f64> {
    (EDGES.0..=EDGES.1).map(move |k| unit * (0.5 * f64::from(k)).exp2())
}

impl Histogram {
    fn release(
        seen: Seen<'_>,
        (whitening, whitened): (&Whitening, &[f64]),
        unit: f64,
        share: f64,
        (purse, seed): (&mut (impl Purse + ?Sized), Seed),
    ) -> dp_vi::Result<Self> {
        let left = seen.outcomes - &seen.predictors(whitening, whitened);
        let left: Array1<f64> =
            left.mapv(|left| if left.is_nan() { f64::MAX } else { left.abs().min(f64::MAX) });
        let records = Sensitive::new(Records::from_columns([(COLUMN, Column::from(left))])?);
        let edges: Vec<f64> = [0.0].into_iter().chain(edges(unit)).chain([f64::MAX]).collect();
        let noise = whitening.single() / share.sqrt();
        let found = Summaries::new(&records, seed)?.histogram(COLUMN, &edges, noise, purse)?;
        Ok(Self { counts: found.counts, deviation: found.noise, unit })
    }

    /// Log densities of `(σ, ν)` at points of a grid, given the counts of so many records, a half-normal prior of σ
    /// of this scale, and beside each residual a normal variable of one of these variances, with these probabilities:
    /// first over all of the grid, then where the density is, again and again.
    fn posterior(&self, counts: (f64, f64), added: &[(f64, f64)]) -> (Vec<(f64, f64)>, Vec<f64>) {
        let octaves = |k: i32| self.unit.ln() + 0.5 * LN_2 * f64::from(k);
        let all = [(octaves(EDGES.0), octaves(EDGES.1)), (FREEDOMS.0.ln(), FREEDOMS.1.ln())];
        let (mut within, mut size) = (all, COARSE);
        loop {
            let found = self.posterior_within(within, size, counts, added);
            let top = found.1.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut next = within.map(|(low, high)| (high, low));
            for ((sigma, nu), _) in found.0.iter().zip(&found.1).filter(|(_, log)| **log > top - 15.0) {
                for (ends, at) in next.iter_mut().zip([sigma.ln(), nu.ln()]) {
                    *ends = (ends.0.min(at), ends.1.max(at));
                }
            }
            for ((ends, all), points) in next.iter_mut().zip(within).zip([size.0, size.1]) {
                let step = (all.1 - all.0) / (points - 1) as f64;
                *ends = ((ends.0 - step).max(all.0), (ends.1 + step).min(all.1));
            }
            // Until the points are as close as the density is narrow.
            let shrinks = next.iter().zip(within).any(|(new, old)| new.1 - new.0 < 0.5 * (old.1 - old.0));
            if size == FINE && !shrinks {
                return found;
            }
            (within, size) = (next, FINE);
        }
    }

    /// The same between these logarithms of σ and of `ν`, at so many points of each.
    fn posterior_within(
        &self,
        [sigmas, nus]: [(f64, f64); 2],
        (of_sigma, of_nu): (usize, usize),
        (records, prior): (f64, f64),
        added: &[(f64, f64)],
    ) -> (Vec<(f64, f64)>, Vec<f64>) {
        let at = |(low, high): (f64, f64), k: usize, points: usize| {
            (low + (high - low) * k as f64 / (points - 1) as f64).exp()
        };
        let edges: Vec<f64> = edges(self.unit).collect();
        let (mut points, mut logs) = (Vec::new(), Vec::new());
        for k in 0..of_nu {
            let nu = at(nus, k, of_nu);
            let law = Tail::new(nu);
            for k in 0..of_sigma {
                let sigma = at(sigmas, k, of_sigma);
                let alone: Vec<f64> = edges.iter().map(|edge| law.beyond(edge / sigma)).collect();
                let parts: Vec<f64> =
                    edges.iter().map(|edge| law.beyond_by_parts(edge / sigma, 0.0)).collect();
                for (variance, probability) in added {
                    let ratio = variance / (sigma * sigma);
                    let mut last = 1.0;
                    let mut log = probability.ln() - 0.5 * (sigma / prior).powi(2) + sigma.ln();
                    log += 2.0 * nu.ln() - 0.1 * nu;
                    for (k, found) in self.counts.iter().enumerate() {
                        let next = match edges.get(k) {
                            None => 0.0,
                            Some(_) if ratio == 0.0 => alone[k],
                            Some(edge) => alone[k] + law.beyond_by_parts(edge / sigma, ratio) - parts[k],
                        };
                        let expected = records * (last - next).max(0.0);
                        log += log_of_count(*found, expected, self.deviation);
                        last = next;
                    }
                    points.push((sigma, nu));
                    logs.push(log);
                }
            }
        }
        (points, logs)
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        [self.unit, self.deviation].into_iter().chain(self.counts.iter().copied())
    }
}

impl Tails {
    /// What a fit is planned with before anything is released.
    pub(super) fn planned(features: usize) -> Self {
        Self { start: vec![0.0; features], sigma: 1.0, nu: 4.0, after: None }
    }

    /// Releases what a fit begins with.
    pub(super) fn release(
        seen: Seen<'_>,
        whitening: &Whitening,
        prior: f64,
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<Self> {
        let next = another_seed(&seed)?;
        let noise = [SHARES[0], SHARES[1]].map(|share| whitening.single() / share.sqrt());
        let (start, first) = first_fit(seen, whitening, noise, purse, seed)?;
        let found =
            Histogram::release(seen, (whitening, &start), first.max(LEAST), SHARES[2], (purse, next))?;
        let count = (whitening.records() as f64).max(1.0);
        // Residuals of a first fit that is far off are taken for wide ones: a scale that is too small would leave the
        // steps where no record pulls.
        let (points, logs) = found.posterior((count, prior), &[(0.0, 1.0)]);
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut weight, mut sigma, mut nu) = (0.0, 0.0, 0.0);
        for (point, log) in points.iter().zip(&logs) {
            let part = (log - top).exp();
            weight += part;
            sigma += part * point.0.ln();
            nu += part * point.1.ln();
        }
        let (sigma, nu) = ((sigma / weight).exp(), (nu / weight).exp());
        Ok(match sigma > LEAST && start.iter().all(|b| b.is_finite()) {
            true => Self { start, sigma, nu, after: None },
            // What has been paid for is paid for. So little is left of an outcome that is next to constant.
            false => Self { sigma: LEAST, ..Self::planned(start.len()) },
        })
    }

    /// How a fit is made.
    pub(super) fn given(&self, whitening: &Whitening) -> dp_vi::Result<Given> {
        let Self { sigma, nu, .. } = *self;
        let curvature = information(sigma, nu);
        Ok(Given {
            known: vec![sigma, nu],
            start: self.start.clone(),
            releases: nuisance::releases(&NAMES, &SHARES, whitening.single())?,
            left: nuisance::left(&SHARES),
            // In root mean squares of slopes, as a Gaussian's; of features of typical length none is cut for ν up to
            // 30.
            clip: LONG * curvature.sqrt(),
            curvature,
            peak: (nu + 1.0) / (nu * sigma * sigma),
            plain_ascent: true,
        })
    }

    /// Releases the histogram of residuals at these coefficients.
    pub(super) fn release_residuals(
        &mut self,
        seen: Seen<'_>,
        at: (&Whitening, &[f64]),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<()> {
        self.after = Some(Histogram::release(seen, at, self.sigma, SHARES[3], (purse, seed))?);
        Ok(())
    }

    /// Draws of σ and of `ν`, in the order of a sequence that is always the same, given a half-normal prior of σ of
    /// this scale and a fit; beside each what the variance of coefficients is multiplied by where the records leave
    /// it open.
    ///
    /// Residuals of the fit are `σ √(1 − D/N) t_ν`, and beside it a normal variable of variance `q/N` for the noise
    /// that moved the coefficients, `q = tr(S (C − C₀))/a (1 ± √(2/D))` with `a` the information of an outcome: so
    /// they look less heavy-tailed than they are.
    pub(super) fn draws(
        &self,
        count: usize,
        (records, prior): (u64, f64),
        found: &NoiseAware,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let Some(after) = &self.after else {
            return (vec![self.sigma; count], vec![self.nu; count], vec![1.0; count]);
        };
        let at_fit = information(self.sigma, self.nu);
        let (n, features) = ((records as f64).max(1.0), self.start.len() as f64);
        let added = excess(found).max(0.0) / at_fit / n;
        let smaller = (1.0 - features / n).max(0.5).sqrt();
        let spread = (6.0 / features).sqrt();
        // Three points of a normal distribution of the part that was added.
        let parts = [(-spread, 1.0 / 6.0), (0.0, 2.0 / 3.0), (spread, 1.0 / 6.0)];
        let parts = parts.map(|(at, probability)| (added * (1.0 + at).max(0.0), probability));
        let (points, logs) = after.posterior((n, prior), &parts);
        let found = drawn(&points, &logs, count);
        let sigmas: Vec<f64> = found.iter().map(|(scale, _)| scale / smaller).collect();
        let nus: Vec<f64> = found.iter().map(|(_, nu)| *nu).collect();
        let factors = sigmas.iter().zip(&nus).map(|(sigma, nu)| at_fit / information(*sigma, *nu));
        let factors = factors.collect();
        (sigmas, nus, factors)
    }

    /// All of it as numbers: σ, `ν`, the start, and what was released at last.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let after = self.after.iter().flat_map(Histogram::numbers);
        [self.sigma, self.nu].into_iter().chain(self.start.iter().copied()).chain(after).collect()
    }

    /// What [`numbers`](Self::numbers) were of, where they are those of a regression of so many coefficients.
    pub(super) fn from_numbers(numbers: &[f64], features: usize) -> Option<Self> {
        let (&[sigma, nu], rest) = numbers.split_first_chunk::<2>()?;
        let (start, last) = rest.split_at_checked(features)?;
        let bins = (EDGES.1 - EDGES.0) as usize + 2;
        let after = match last {
            [] => None,
            [unit, deviation, counts @ ..] if *unit > 0.0 && *deviation > 0.0 && counts.len() == bins => {
                Some(Histogram { counts: counts.to_vec(), deviation: *deviation, unit: *unit })
            }
            _ => return None,
        };
        (sigma > 0.0 && nu > 0.0).then(|| Self { start: start.to_vec(), sigma, nu, after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_students_t() {
        for nu in [0.5, 1.0, 3.7, 30.0, 200.0] {
            let (tail, law) = (Tail::new(nu), StudentT::new(nu, 0.0, 1.0));
            for k in -110..=110 {
                let distance = (0.1 * f64::from(k) * LN_2).exp();
                let (found, exact) = (tail.beyond(distance), 2.0 * law.sf(distance));
                assert!(
                    (found / exact - 1.0).abs() < 3e-4 || exact < 1e-100,
                    "{nu} {distance}: {found} {exact}"
                );
            }
        }
    }

    /// Bins of a thousand quantiles of `σ t_ν` and a normal variable together.
    fn made_up(sigma: f64, nu: f64, added: f64, unit: f64, deviation: f64) -> Histogram {
        let (law, normal) =
            (StudentT::new(nu, 0.0, sigma), ppl_distributions::Normal::new(0.0, added.sqrt().max(1e-9)));
        let at = |k: usize| (k as f64 + 0.5) / 1000.0;
        let mut counts = vec![0.0; (EDGES.1 - EDGES.0) as usize + 2];
        for residual in (0..1000).map(|k| law.quantile(at(k))) {
            for noise in (0..20).map(|k| normal.quantile((f64::from(k) + 0.5) / 20.0)) {
                counts[edges(unit).take_while(|edge| *edge <= (residual + noise).abs()).count()] += 0.5;
            }
        }
        Histogram { counts, deviation, unit }
    }

    /// Means of σ and `ν`, and their standard deviations on the scale of logarithms.
    fn summary(found: &(Vec<(f64, f64)>, Vec<f64>)) -> ([f64; 2], [f64; 2]) {
        let draws = drawn(&found.0, &found.1, 4000);
        let of = |which: fn(&(f64, f64)) -> f64| {
            let mean = draws.iter().map(|draw| which(draw).ln()).sum::<f64>() / 4000.0;
            (mean, (draws.iter().map(|draw| (which(draw).ln() - mean).powi(2)).sum::<f64>() / 4000.0).sqrt())
        };
        let (sigma, nu) = (of(|draw| draw.0), of(|draw| draw.1));
        ([sigma.0.exp(), nu.0.exp()], [sigma.1, nu.1])
    }

    /// 10,000 records without noise leave what the information of the sample says open: `ln σ` and `ln ν` to a few
    /// percent.
    #[test]
    fn a_histogram_has_scale_and_degrees_of_freedom() {
        for (sigma, nu, unit) in [(0.2, 3.0, 0.3), (0.01, 1.5, 0.1), (0.2, 8.0, 0.05)] {
            let found = made_up(sigma, nu, 0.0, unit, 1.0).posterior((10_000.0, 1.0), &[(0.0, 1.0)]);
            let (mean, sd) = summary(&found);
            assert!(
                (mean[0] / sigma - 1.0).abs() < 0.03 && (0.008..0.04).contains(&sd[0]),
                "{mean:?} {sd:?}"
            );
            assert!((mean[1] / nu).ln().abs() < 2.0 * sd[1] && sd[1] < 0.25, "{mean:?} {sd:?}");
        }
    }

    /// Residuals that noise has moved look less heavy-tailed; where it is known how far, they are seen through it.
    #[test]
    fn noise_of_the_mean_is_taken_off() {
        let (sigma, nu, added) = (0.1, 3.0, 0.01);
        let histogram = made_up(sigma, nu, added, 0.2, 1.0);
        let (naive, narrow) = summary(&histogram.posterior((10_000.0, 1.0), &[(0.0, 1.0)]));
        let (mean, sd) = summary(&histogram.posterior((10_000.0, 1.0), &[(added, 1.0)]));
        assert!((naive[1] / nu).ln() > 4.0 * narrow[1], "{naive:?} {narrow:?}");
        assert!(
            (mean[1] / nu).ln().abs() < 3.0 * sd[1] && (mean[0] / sigma).ln().abs() < 3.0 * sd[0],
            "{mean:?} {sd:?}"
        );
    }

    /// With noise that hides all counts the priors are left: a half-normal, and a gamma distribution of mean 20.
    #[test]
    fn without_information_the_priors_are_left() {
        let found = made_up(0.2, 3.0, 0.0, 0.5, 1e7).posterior((10_000.0, 0.5), &[(0.0, 1.0)]);
        let draws = drawn(&found.0, &found.1, 4000);
        let mean = |of: fn(&(f64, f64)) -> f64| draws.iter().map(of).sum::<f64>() / 4000.0;
        let half = 0.5 * (2.0 / std::f64::consts::PI).sqrt();
        assert!((mean(|draw| draw.0) / half - 1.0).abs() < 0.1, "{}", mean(|draw| draw.0));
        assert!((mean(|draw| draw.1) / 20.0 - 1.0).abs() < 0.1, "{}", mean(|draw| draw.1));
    }
}
