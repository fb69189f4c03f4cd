//! What a family has beside its predictor, where it is found apart from the coefficients.

use dp_accountant::{Event, Mechanism, Sampling};
use dp_vi::{NoiseAware, Release};
use ndarray::{Array1, Axis};
use ppl_core::Values;
use serde::{Deserialize, Serialize};

use super::dispersion::Dispersion;
use super::family::Family;
use super::gaussian::Scale;

/// A scale or a dispersion: what was found before a fit with it, and what was released after.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Nuisance {
    /// σ of a Gaussian regression.
    Scale(Scale),
    /// `φ` of a negative binomial one.
    Dispersion(Dispersion),
}

/// The column of what is summed.
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
    /// What the model calls it.
    pub(super) fn site(&self) -> &'static str {
        match self {
            Self::Scale(_) => "sigma",
            Self::Dispersion(_) => "phi",
        }
    }

    /// Whether something is released of it after the steps that has not been yet. Poisson counts have no dispersion.
    pub(super) fn is_open(&self, family: Family) -> bool {
        match self {
            Self::Scale(scale) => scale.residuals.is_none(),
            Self::Dispersion(found) => family != Family::Poisson && found.sums.is_none(),
        }
    }

    /// Puts its draws beside those of coefficients, whose deviations from the mean are then those of each draw.
    pub(super) fn add_to(&self, draws: &mut Values, (records, sigma): (u64, f64), found: &NoiseAware) {
        let Some(b) = draws.get_mut("b") else { return };
        let (values, factors) = match self {
            Self::Scale(scale) => scale.draws(b.len_of(Axis(0)), (records, sigma), found),
            Self::Dispersion(dispersion) => dispersion.draws(b.len_of(Axis(0)), records),
        };
        let shares = data_shares(found);
        for (mut row, factor) in b.axis_iter_mut(Axis(0)).zip(factors) {
            for ((value, mean), share) in row.iter_mut().zip(&found.mean).zip(&shares) {
                *value = mean + (*value - mean) * (1.0 + share * (factor - 1.0)).max(0.0).sqrt();
            }
        }
        draws.insert(self.site().to_owned(), Array1::from(values).into_dyn());
    }

    /// All of it as text in JSON, to the last bit.
    pub(super) fn to_json(&self) -> String {
        let numbers = match self {
            Self::Scale(scale) => scale.numbers(),
            Self::Dispersion(dispersion) => dispersion.numbers(),
        };
        let numbers = numbers.into_iter().map(f64::to_bits).collect();
        // Whole numbers and words always can be written.
        serde_json::to_string(&Stored { nuisance: VERSION, of: self.site().to_owned(), numbers })
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
            "phi" => Dispersion::from_numbers(&numbers).map(Self::Dispersion),
            _ => None,
        };
        found.ok_or_else(|| {
            format!("it holds no scale or dispersion of a regression of {features} coefficients")
        })
    }
}

/// Releases of the Gaussian mechanism, one by each name, for shares of a budget of which a single release for all of it has
/// this noise multiplier.
pub(super) fn releases(names: &[&'static str], shares: &[f64], single: f64) -> dp_vi::Result<Vec<Release>> {
    let one = |(what, share): (&&'static str, &f64)| {
        let mechanism = Mechanism::Gaussian { noise_multiplier: single / share.sqrt() };
        Ok(Release::new(what, Event::new(mechanism, Sampling::None)?, 1))
    };
    names.iter().zip(shares).map(one).collect()
}

/// Points of a distribution whose log density at each is known up to a constant: each part of it once, in an order that has
/// nothing to do with that of other draws.
pub(super) fn drawn(points: &[f64], logs: &[f64], count: usize) -> Vec<f64> {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    let below: Vec<f64> = (logs.iter())
        .map(|log| {
            sum += (log - top).exp();
            sum
        })
        .collect();
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    let at = |k: usize| sum * ((k as f64 + 0.5) * ratio).fract();
    let last = points.len() - 1;
    (0..count).map(|k| points[below.partition_point(|part| *part < at(k)).min(last)]).collect()
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
        let scale = Scale { start: vec![0.1, -3.0], sigma: 1.0 / 3.0, residuals: None };
        let known = Scale { residuals: Some((2.5, 0.1)), ..scale.clone() };
        let dispersion = Dispersion { mean: 2.0, phi: 1.0 / 7.0, sums: None };
        let all = Dispersion { sums: Some(([5.0, 1.0, -0.5], 0.3)), ..dispersion.clone() };
        for found in [
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
            let other = text.replace(&format!("\"{}\"", found.site()), "\"nu\"");
            assert!(Nuisance::from_json(&other, 2).unwrap_err().contains("no scale"), "{other}");
            let nan = text.replacen('[', &format!("[{},", f64::NAN.to_bits()), 1);
            assert!(Nuisance::from_json(&nan, 2).unwrap_err().contains("no scale"), "{nan}");
        }
    }
}
