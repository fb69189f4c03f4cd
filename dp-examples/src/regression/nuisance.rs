//! What a family has beside its predictor, where it is found apart from the coefficients: a nuisance value.

use std::borrow::Cow;

use dp_accountant::{Event, Mechanism, Purse, Sampling};
use dp_sampler::Seed;
use dp_vi::{NoiseAware, Release};
use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Axis};
use ppl_core::{Records, Values};
use serde::{Deserialize, Serialize};

use super::dispersion::Dispersion;
use super::family::Family;
use super::features::Features;
use super::gaussian::Scale;
use super::student::Tails;
use super::zeros::Zeros;
use crate::regression::whitening::Whitening;

/// What was found before a fit with it, and what was released after.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Nuisance {
    /// σ of a Gaussian regression.
    Scale(Scale),
    /// σ and `ν` of a regression with Student's t.
    Tails(Tails),
    /// The mean of Poisson counts, or `φ` of negative binomial ones.
    Dispersion(Dispersion),
    /// `π` of a zero-inflated Poisson regression.
    Zeros(Zeros),
}

/// The records of a fit, which a nuisance value is found from. **As sensitive as the file.**
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) family: Family,
    /// In units of their coefficients' priors.
    pub(super) features: &'a Features<'a>,
    pub(super) outcomes: &'a Array1<f64>,
    /// The largest outcome.
    pub(super) high: f64,
}

impl Seen<'_> {
    /// The predictor of each record, for coefficients in whitened coordinates.
    pub(super) fn predictors(&self, whitening: &Whitening, whitened: &[f64]) -> Array1<f64> {
        self.features.dot(&Array1::from(whitening.weights(whitened)))
    }
}

/// How a fit is made, given a nuisance value.
pub(super) struct Given {
    /// The values of the model that are fixed: σ, σ and `ν`, `φ`, or `π`.
    pub(super) known: Vec<f64>,
    /// Where the coefficients begin, in whitened coordinates.
    pub(super) start: Vec<f64>,
    /// What is released beside the whitening, and the share of the budget that is left.
    pub(super) releases: Vec<Release>,
    pub(super) left: f64,
    /// The clip norm of gradients, for features of typical length.
    pub(super) clip: f64,
    /// What is expected of a record's curvature in its predictor, and the most that it is.
    pub(super) curvature: f64,
    pub(super) peak: f64,
    /// Whether steps are those of plain ascent, at a rate that follows from the curvature.
    pub(super) plain_ascent: bool,
}

/// The column of what is summed or counted.
pub(super) const COLUMN: &str = "z";

/// Of the text that holds one.
const VERSION: u64 = 1;

/// Numbers by their bits, as those of a whitening.
#[derive(Serialize, Deserialize)]
struct Stored {
    nuisance: u64,
    of: String,
    numbers: Vec<u64>,
}

impl Nuisance {
    /// What a fit is planned with before anything is released.
    pub(super) fn planned(family: Family, features: usize) -> Self {
        match family {
            Family::Gaussian => Self::Scale(Scale::planned(features)),
            Family::Student => Self::Tails(Tails::planned(features)),
            Family::ZeroInflatedPoisson => Self::Zeros(Zeros::planned()),
            _ => Self::Dispersion(Dispersion::planned()),
        }
    }

    /// Releases what a fit begins with.
    pub(super) fn release(
        seen: Seen<'_>,
        whitening: &Whitening,
        prior: f64,
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<Self> {
        Ok(match seen.family {
            Family::Gaussian => Self::Scale(Scale::release(seen, whitening, purse, seed)?),
            Family::Student => Self::Tails(Tails::release(seen, whitening, prior, purse, seed)?),
            Family::ZeroInflatedPoisson => Self::Zeros(Zeros::release(seen, whitening, purse, seed)?),
            _ => Self::Dispersion(Dispersion::release(seen, whitening, purse, seed)?),
        })
    }

    /// Whether it is one of this family.
    pub(super) fn is_of(&self, family: Family) -> bool {
        match self {
            Self::Scale(_) => family == Family::Gaussian,
            Self::Tails(_) => family == Family::Student,
            Self::Zeros(_) => family == Family::ZeroInflatedPoisson,
            Self::Dispersion(_) => matches!(family, Family::Poisson | Family::NegativeBinomial),
        }
    }

    /// How a fit is made.
    pub(super) fn given(
        &self,
        family: Family,
        whitening: &Whitening,
        intercept: impl FnOnce(f64) -> Vec<f64>,
    ) -> dp_vi::Result<Given> {
        match self {
            Self::Scale(scale) => scale.given(whitening),
            Self::Tails(tails) => tails.given(whitening),
            Self::Zeros(zeros) => zeros.given(whitening, intercept),
            Self::Dispersion(dispersion) => dispersion.given(family, whitening, intercept),
        }
    }

    /// Whether something is left to be released, after a fit of this family.
    pub(super) fn is_open(&self, family: Family) -> bool {
        match self {
            Self::Scale(scale) => scale.residuals.is_none(),
            Self::Tails(tails) => tails.after.is_none(),
            Self::Zeros(zeros) => zeros.after.is_none(),
            Self::Dispersion(found) => family != Family::Poisson && found.sums.is_none(),
        }
    }

    /// The largest residual of each of these whitened records that its gradient is not cut at, where that is asked for.
    pub(super) fn reach(&self, whitened: &Records, norm: f64) -> dp_vi::Result<Array1<f64>> {
        let Self::Scale(scale) = self else { return Ok(Array1::zeros(0)) };
        let features = whitened.column(whitened.schema().find("x")?.0);
        let numbers = match features.as_slice::<f64>() {
            Some(numbers) => Cow::from(numbers),
            None => Cow::from(features.numbers().collect::<Vec<f64>>()),
        };
        let width = (numbers.len() / whitened.len().max(1)).max(1);
        let length = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        Ok(numbers.chunks(width).map(|row| norm * scale.sigma * scale.sigma / length(row)).collect())
    }

    /// The mean of what gradients of residuals leave out of them and its standard deviation, once it has
    /// been released; it moves an intercept by as much.
    pub(super) fn cut_off(&self) -> Option<(f64, f64)> {
        match self {
            Self::Scale(scale) => scale.cut_off(),
            _ => None,
        }
    }

    /// Releases what is left, at these coefficients in whitened coordinates; `reach` has the largest residuals that
    /// gradients are not cut at.
    pub(super) fn finish(
        &mut self,
        seen: Seen<'_>,
        (whitening, mean): (&Whitening, &[f64]),
        reach: &Array1<f64>,
        (purse, seed): (&mut (impl Purse + ?Sized), Seed),
    ) -> dp_vi::Result<()> {
        let at = (whitening, mean);
        match self {
            Self::Scale(scale) => scale.release_residuals(seen, at, reach, (purse, seed)),
            Self::Tails(tails) => tails.release_residuals(seen, at, purse, seed),
            Self::Zeros(zeros) => zeros.release_slopes(seen, at, purse, seed),
            Self::Dispersion(dispersion) => dispersion.release_residuals(seen, at, purse, seed),
        }
    }

    /// What the model calls what it holds.
    pub(super) fn sites(&self) -> &'static [&'static str] {
        match self {
            Self::Scale(_) => &["sigma"],
            Self::Tails(_) => &["sigma", "nu"],
            Self::Zeros(_) => &["zeros"],
            Self::Dispersion(_) => &["phi"],
        }
    }

    /// Puts its draws beside those of coefficients, which then are those given each draw.
    pub(super) fn add_to(&self, draws: &mut Values, (records, prior): (u64, f64), found: &NoiseAware) {
        let Some(b) = draws.get_mut("b") else { return };
        let count = b.len_of(Axis(0));
        let (values, factors): (Vec<Vec<f64>>, Vec<f64>) = match self {
            Self::Scale(scale) => {
                let (sigma, factors) = scale.draws(count, (records, prior), found);
                (vec![sigma], factors)
            }
            Self::Tails(tails) => {
                let (sigma, nu, factors) = tails.draws(count, (records, prior), found);
                (vec![sigma, nu], factors)
            }
            Self::Zeros(zeros) => (vec![zeros.draw_beside(b, found)], vec![1.0; count]),
            Self::Dispersion(dispersion) => {
                let (phi, factors) = dispersion.draws(count, records);
                (vec![phi], factors)
            }
        };
        let shares = data_shares(found);
        for (mut row, factor) in b.axis_iter_mut(Axis(0)).zip(factors) {
            for ((value, mean), share) in row.iter_mut().zip(&found.mean).zip(&shares) {
                *value = mean + (*value - mean) * (1.0 + share * (factor - 1.0)).max(0.0).sqrt();
            }
        }
        for (site, values) in self.sites().iter().zip(values) {
            draws.insert((*site).to_owned(), Array1::from(values).into_dyn());
        }
    }

    /// All of it as text in JSON, to the last bit.
    pub(super) fn to_json(&self) -> String {
        let numbers = match self {
            Self::Scale(scale) => scale.numbers(),
            Self::Tails(tails) => tails.numbers(),
            Self::Zeros(zeros) => zeros.numbers(),
            Self::Dispersion(dispersion) => dispersion.numbers(),
        };
        let numbers = numbers.into_iter().map(f64::to_bits).collect();
        // Whole numbers and words always can be written.
        serde_json::to_string(&Stored { nuisance: VERSION, of: self.sites().concat(), numbers })
            .unwrap_or_default()
    }

    /// What [`to_json`](Self::to_json) wrote, of a regression of this many coefficients.
    pub(super) fn from_json(text: &str, features: usize) -> Result<Self, String> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if stored.nuisance != VERSION {
            return Err(format!("it is of version {}, and this program reads {VERSION}", stored.nuisance));
        }
        let numbers: Vec<f64> = stored.numbers.into_iter().map(f64::from_bits).collect();
        let found = match stored.of.as_str() {
            _ if numbers.iter().any(|number| !number.is_finite()) => None,
            "sigma" => Scale::from_numbers(&numbers, features).map(Self::Scale),
            "sigmanu" => Tails::from_numbers(&numbers, features).map(Self::Tails),
            "zeros" => Zeros::from_numbers(&numbers, features).map(Self::Zeros),
            "phi" => Dispersion::from_numbers(&numbers).map(Self::Dispersion),
            _ => None,
        };
        found.ok_or_else(|| {
            format!("it holds nothing that belongs to a regression of {features} coefficients")
        })
    }
}

/// Releases of the Gaussian mechanism, one by each name, for shares of a budget of which a single release for all of
/// it has this noise multiplier.
pub(super) fn releases(names: &[&'static str], shares: &[f64], single: f64) -> dp_vi::Result<Vec<Release>> {
    let one = |(what, share): (&&'static str, &f64)| {
        let mechanism = Mechanism::Gaussian { noise_multiplier: single / share.sqrt() };
        Ok(Release::new(what, Event::new(mechanism, Sampling::None)?, 1))
    };
    names.iter().zip(shares).map(one).collect()
}

/// The share of the budget that is left for a fit beside these.
pub(super) fn left(shares: &[f64]) -> f64 {
    Whitening::left() - shares.iter().sum::<f64>()
}

/// Points of a distribution whose log density at each is known up to a constant: each part of it once, in an order
/// that has nothing to do with that of other draws.
pub(super) fn drawn<T: Copy>(points: &[T], logs: &[f64], count: usize) -> Vec<T> {
    let below = cumulated(logs);
    let sum = below.last().copied().unwrap_or(0.0);
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let at = |k: usize| sum * ((k as f64 + 0.5) * ratio).fract();
    let last = points.len() - 1;
    (0..count).map(|k| points[below.partition_point(|part| *part < at(k)).min(last)]).collect()
}

/// Sums of the first densities, of which the logarithms are known up to a constant.
pub(super) fn cumulated(logs: &[f64]) -> Vec<f64> {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let add = |sum: &mut f64, log: &f64| {
        *sum += (log - top).exp();
        Some(*sum)
    };
    logs.iter().scan(0.0, add).collect()
}

/// The log density, up to a constant, of a count with noise of this standard deviation: a normal whose variance is that
/// of a Poisson distribution and of the noise.
pub(super) fn log_of_count(found: f64, expected: f64, deviation: f64) -> f64 {
    let variance = expected + deviation * deviation;
    -(0.5 * ((found - expected).powi(2) / variance + variance.ln()))
}

/// `tr(S (C − C₀))` for the covariance `C` of a fit, `C₀` as it would be without noise, and `S = C₀⁻¹ − P₀`: by how
/// much a quadratic log-likelihood is expected to be further from its top, twice, for the noise.
pub(super) fn excess(found: &NoiseAware) -> f64 {
    let n = found.mean.len();
    let Some(shares) = &found.shares else { return 0.0 };
    let without = DMatrix::from_row_slice(n, n, &shares.covariance_without_noise);
    let all = DMatrix::from_row_slice(n, n, &found.covariance);
    let Some(inverse) = without.clone().try_inverse() else { return 0.0 };
    let prior = DVector::from_iterator(n, shares.prior.iter().map(|sd| sd.powi(-2)));
    let curvature = inverse - DMatrix::from_diagonal(&prior);
    (curvature * (all - without)).trace()
}

/// The share of each coefficient's variance that the records would leave open without noise.
fn data_shares(found: &NoiseAware) -> Vec<f64> {
    let n = found.mean.len();
    let Some(shares) = &found.shares else { return vec![0.0; n] };
    let of = |j: usize| {
        let (without, all) = (shares.without_noise[j].powi(2), found.covariance[j * n + j]);
        (without / all * (1.0 - without / shares.prior[j].powi(2))).clamp(0.0, 1.0)
    };
    (0..n).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_the_density() {
        let points: Vec<f64> = (0..=4000).map(|k| -5.0 + f64::from(k) / 400.0).collect();
        let logs: Vec<f64> = points.iter().map(|x| 1e4 - 0.5 * (x - 1.0) * (x - 1.0)).collect();
        let draws = drawn(&points, &logs, 4000);
        let mean = draws.iter().sum::<f64>() / 4000.0;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 4000.0;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn text_keeps_them_to_the_last_bit_and_what_is_damaged_is_refused() {
        let scale = Scale { start: vec![0.1, -3.0], sigma: 1.0 / 3.0, residuals: None, ends: None };
        let known = Scale { residuals: Some((2.5, 0.1)), ends: Some((0.0, 0.2)), ..scale.clone() };
        let dispersion = Dispersion { mean: 2.0, phi: 1.0 / 7.0, sums: None };
        let all = Dispersion { sums: Some(([5.0, 1.0, -0.5], 0.3)), ..dispersion.clone() };
        let bins: Vec<f64> = (0..24).map(f64::from).collect();
        let tails = |after: &[f64]| {
            let numbers: Vec<f64> = [0.5, 3.0, 0.1, -3.0].iter().chain(after).copied().collect();
            Nuisance::Tails(Tails::from_numbers(&numbers, 2).unwrap())
        };
        let zeros = |after: &[f64]| {
            let numbers: Vec<f64> = [2.0, 1.0 / 3.0, 0.5].iter().chain(after).copied().collect();
            Nuisance::Zeros(Zeros::from_numbers(&numbers, 2).unwrap())
        };
        assert!(Tails::from_numbers(&[0.5, 3.0, 0.1, -3.0, 1.0], 2).is_none());
        assert!(Zeros::from_numbers(&[2.0, 1.5, 0.5], 2).is_none());
        for found in [
            tails(&[]),
            tails(&[&[0.2, 15.0], &bins[..]].concat()),
            zeros(&[]),
            zeros(&[-3.0, 40.0, 2.0, 0.5, 3.0, 0.25, -1.0]),
            Nuisance::Scale(scale),
            Nuisance::Scale(known),
            Nuisance::Dispersion(dispersion),
            Nuisance::Dispersion(all),
        ] {
            let text = found.to_json();
            assert_eq!(Nuisance::from_json(&text, 2).unwrap(), found);
            for cut in 0..text.len() {
                assert!(Nuisance::from_json(&text[..cut], 2).is_err(), "{cut}");
            }
            let newer = text.replace("\"nuisance\":1", "\"nuisance\":2");
            assert!(Nuisance::from_json(&newer, 2).unwrap_err().contains("version 2"));
            let other = text.replace(&format!("\"{}\"", found.sites().concat()), "\"none\"");
            assert!(Nuisance::from_json(&other, 2).unwrap_err().contains("holds nothing"), "{other}");
            let nan = text.replacen('[', &format!("[{},", f64::NAN.to_bits()), 1);
            assert!(Nuisance::from_json(&nan, 2).unwrap_err().contains("holds nothing"), "{nan}");
        }
    }
}
