//! Summaries of draws: moments, quantiles, intervals.
//!
//! The first axis of an array counts the draws, in any order; all functions work element by element over the
//! others.

use crate::base::{Error, Plain, Result};
use crate::draws::simulate::Values;
use ndarray::{ArrayD, ArrayView1, Axis, Dimension, IxDyn, Zip};
use std::collections::BTreeMap;
use std::fmt;

/// Mean of the draws, from differences to the first: a large common part costs no digits.
///
/// # Errors
/// If there is no draw.
pub fn mean(draws: &ArrayD<f64>) -> Result<ArrayD<f64>> {
    each(draws, 1, |values| moments(values).0)
}

/// Standard deviation of the draws, `√(Σ (x − x̄)²/(n − 1))`.
///
/// # Errors
/// If there are fewer than two draws.
pub fn standard_deviation(draws: &ArrayD<f64>) -> Result<ArrayD<f64>> {
    each(draws, 2, |values| moments(values).1)
}

/// A quantile of the draws, by linear interpolation between the order statistics at `(n − 1)·probability`
/// (NumPy's default; type 7 of Hyndman and Fan 1996). NaN where a draw is NaN.
///
/// ```
/// use ndarray::{arr0, array};
/// use ppl_core::draws::summary::quantile;
/// let draws = array![4.0, 1.0, 2.0, 3.0].into_dyn();
/// assert_eq!(quantile(&draws, 0.5)?, arr0(2.5).into_dyn());
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// If there is no draw, or the probability does not lie from 0 to 1.
pub fn quantile(draws: &ArrayD<f64>, probability: f64) -> Result<ArrayD<f64>> {
    if !(0.0..=1.0).contains(&probability) {
        return Err(Error::Values(format!(
            "a quantile's probability must be from 0 to 1, got {probability}"
        )));
    }
    each(draws, 1, |values| of_sorted(&sorted(values), probability))
}

/// The shortest interval that holds a share of the draws (*highest posterior density interval*): among
/// `[x₍ᵢ₎, x₍ᵢ₊ₖ₎]` with `k = ⌊share · n⌋`, the narrowest, the first of equals. NumPyro's `hpdi` and ArviZ's
/// `hdi` (unimodal) are this.
///
/// ```
/// use ndarray::{arr0, array};
/// use ppl_core::draws::summary::shortest_interval;
/// let draws = array![0.0, 10.0, 10.5, 11.0, 30.0].into_dyn();
/// let [low, high] = shortest_interval(&draws, 0.5)?;
/// assert_eq!((low, high), (arr0(10.0).into_dyn(), arr0(11.0).into_dyn()));
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// If there is no draw, or the share does not lie strictly between 0 and 1.
///
/// # References
/// Chen and Shao (1999), *Monte Carlo estimation of Bayesian credible and HPD intervals*.
pub fn shortest_interval(draws: &ArrayD<f64>, share: f64) -> Result<[ArrayD<f64>; 2]> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::Values(format!(
            "an interval's share must be strictly between 0 and 1, got {share}"
        )));
    }
    let end = |which: usize| each(draws, 1, move |values| shortest(&sorted(values), share)[which]);
    Ok([end(0)?, end(1)?])
}

/// What is worth knowing of one site's draws, element by element.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct SiteSummary {
    /// Means.
    pub mean: ArrayD<f64>,
    /// Standard deviations.
    pub standard_deviation: ArrayD<f64>,
    /// Medians.
    pub median: ArrayD<f64>,
    /// Ends of the shortest intervals.
    pub interval: [ArrayD<f64>; 2],
}

impl fmt::Debug for SiteSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, standard_deviation, median, interval: [low, high] } = self;
        f.debug_struct("SiteSummary")
            .field("mean", &Plain(mean))
            .field("standard_deviation", &Plain(standard_deviation))
            .field("median", &Plain(median))
            .field("interval", &[Plain(low), Plain(high)])
            .finish()
    }
}

/// Summaries of all sites; prints as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The share of the draws that the intervals hold.
    pub share: f64,
    /// By name of the site.
    pub sites: BTreeMap<String, SiteSummary>,
}

/// Mean, standard deviation, median and shortest interval of every site's draws, the first axis of each array
/// counting them.
///
/// ```
/// use ndarray::array;
/// use std::collections::BTreeMap;
/// let draws = BTreeMap::from([("w".to_owned(), array![[1.0, -1.0], [2.0, -2.0], [3.0, -3.0]].into_dyn())]);
/// let summary = ppl_core::draws::summary::summarise(&draws, 0.9)?;
/// assert_eq!(summary.sites["w"].mean, array![2.0, -2.0].into_dyn());
/// assert!(summary.to_string().contains("w[1]"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// If a site has fewer than two draws, or the share does not lie strictly between 0 and 1.
pub fn summarise(draws: &Values, share: f64) -> Result<Summary> {
    let site = |(name, draws): (&String, &ArrayD<f64>)| {
        let summary = (|| {
            Ok(SiteSummary {
                mean: mean(draws)?,
                standard_deviation: standard_deviation(draws)?,
                median: quantile(draws, 0.5)?,
                interval: shortest_interval(draws, share)?,
            })
        })();
        summary.map(|summary| (name.clone(), summary)).map_err(|error: Error| error.at_site(name))
    };
    Ok(Summary { share, sites: draws.iter().map(site).collect::<Result<_>>()? })
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = format!("{} % interval", self.share * 100.0);
        writeln!(f, "{:<20} {:>11} {:>11} {:>11}   {held}", "site", "mean", "sd", "median")?;
        for (name, site) in &self.sites {
            for (index, mean) in site.mean.indexed_iter() {
                let place: Vec<String> = index.as_array_view().iter().map(usize::to_string).collect();
                let label =
                    if place.is_empty() { name.clone() } else { format!("{name}[{}]", place.join(",")) };
                writeln!(
                    f,
                    "{label:<20} {mean:>11.4} {:>11.4} {:>11.4}   [{:.4}, {:.4}]",
                    site.standard_deviation[&index],
                    site.median[&index],
                    site.interval[0][&index],
                    site.interval[1][&index]
                )?;
            }
        }
        Ok(())
    }
}

/// A function of the draws of each element.
fn each(
    draws: &ArrayD<f64>,
    least: usize,
    function: impl Fn(ArrayView1<'_, f64>) -> f64,
) -> Result<ArrayD<f64>> {
    let Some((&count, rest)) = draws.shape().split_first() else {
        return Err(Error::Values(
            "draws need a first axis that counts them, got a single number".to_owned(),
        ));
    };
    if count < least {
        return Err(Error::Values(format!("at least {least} draws are needed, got {count}")));
    }
    let mut out = ArrayD::zeros(IxDyn(rest));
    Zip::from(&mut out).and(draws.lanes(Axis(0))).for_each(|out, values| *out = function(values));
    Ok(out)
}

/// Mean and standard deviation.
fn moments(values: ArrayView1<'_, f64>) -> (f64, f64) {
    let n = values.len() as f64;
    let first = values.iter().next().copied().unwrap_or(f64::NAN);
    let mean = first + values.iter().map(|x| x - first).sum::<f64>() / n;
    // The second sum is zero but for rounding, which it takes out (Chan, Golub and LeVeque 1983).
    let (squares, rest) = values.iter().fold((0.0, 0.0), |(squares, rest), x| {
        let off = x - mean;
        (squares + off * off, rest + off)
    });
    (mean, ((squares - rest * rest / n) / (n - 1.0)).sqrt())
}

pub(crate) fn sorted(values: ArrayView1<'_, f64>) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Whether a NaN is among sorted numbers: at one of the ends, by its sign.
fn has_nan(sorted: &[f64]) -> bool {
    sorted.first().is_none_or(|x| x.is_nan()) || sorted.last().is_none_or(|x| x.is_nan())
}

pub(crate) fn of_sorted(sorted: &[f64], probability: f64) -> f64 {
    if has_nan(sorted) {
        return f64::NAN;
    }
    let at = (sorted.len() - 1) as f64 * probability;
    let (below, part) = (at.floor(), at.fract());
    let low = sorted[below as usize];
    match sorted.get(below as usize + 1) {
        Some(&high) if part > 0.0 => low + (high - low) * part,
        _ => low,
    }
}

fn shortest(sorted: &[f64], share: f64) -> [f64; 2] {
    if has_nan(sorted) {
        return [f64::NAN; 2];
    }
    let n = sorted.len();
    let apart = ((share * n as f64).floor() as usize).min(n - 1);
    let mut best = [sorted[0], sorted[apart]];
    for (&low, &high) in sorted.iter().zip(&sorted[apart..]) {
        if high - low < best[1] - best[0] {
            best = [low, high];
        }
    }
    best
}
