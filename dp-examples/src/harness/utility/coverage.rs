//! How often the intervals of a private posterior hold the true weights, or, on a table of one's own, draws of
//! the posterior without privacy.

use std::path::PathBuf;

use dp_sampler::Seed;
use dp_vi::DpVi;
use dp_vi::guides::AutoNormal;
use serde::Serialize;

use super::logistic::Reference;
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::logistic::design::{Design, Intercept};
use crate::logistic::population::{Population, WEIGHTS};
use crate::logistic::{self, Settings, model, records};
use crate::schema::bounds::Bounds;
use crate::table::Table;
use crate::table::condition::Condition;

/// Records of a data set.
pub const RECORDS: usize = 2_000;

/// Probability of the intervals.
const PROBABILITY: f64 = 0.9;

/// `Φ⁻¹(0.95)`: where a normal's 90 % interval ends.
const END: f64 = 1.644_853_626_951_472_2;

/// Makes a data set for each run, from the logistic regression with the quickstart's weights, fits it with
/// the default settings, and counts the true weights in the 90 % intervals. Beside it: what the non-private
/// posterior and the guide alone cover.
///
/// # Errors
///
/// A fit that fails.
pub fn measure(protocol: &Protocol) -> Result<Outcome, Failure> {
    protocol.measure("coverage", |seed| {
        let mut data_seed = *b"dp-examples coverage data sets 0";
        data_seed[24..].copy_from_slice(&seed.to_le_bytes());
        let Population { features, labels, weights } = Population::generate(data_seed, RECORDS, &WEIGHTS);
        let reference = Reference::new(&features, &labels)?;
        let fit = DpVi::new(model, AutoNormal::new())
            .budget(protocol.budget())
            .gradients(protocol.gradients)
            .seed(Seed::for_tests(seed))
            .fit(&records(features, labels)?)?;
        let d = weights.len() as f64;
        let covered = |posterior: &dp_vi::Posterior| -> Result<f64, Failure> {
            let (low, high) = posterior.interval("w", PROBABILITY)?;
            let inside = weights
                .iter()
                .zip(low.iter().zip(&high))
                .filter(|(w, (low, high))| *low <= *w && *w <= *high);
            Ok(inside.count() as f64 / d)
        };
        let mut run = RunOutcome::new(covered(fit.posterior())?, fit.privacy())?;
        run.more.insert("coverage_uncorrected", covered(fit.uncorrected())?);
        let inside = weights
            .iter()
            .zip(&reference.mean)
            .zip(&reference.sd)
            .filter(|((w, mean), sd)| (**w - **mean).abs() <= END * **sd);
        run.more.insert("coverage_not_private", inside.count() as f64 / d);
        let (mean, sd) = (fit.posterior().mean("w")?, fit.posterior().sd("w")?);
        let squares = mean.iter().zip(&weights).zip(&reference.sd).map(|((m, w), sd)| ((m - w) / sd).powi(2));
        run.more.insert("error_sd", (squares.sum::<f64>() / d).sqrt());
        run.more.insert("sd_ratio", sd.iter().zip(&reference.sd).map(|(sd, r)| sd / r).sum::<f64>() / d);
        Ok(run)
    })
}

/// A table of one's own, read as the program `fit` reads it.
#[derive(Debug, Clone)]
pub struct OwnTable {
    /// The CSV file.
    pub data: PathBuf,
    /// Which records are positive.
    pub positive_if: Condition,
    /// Columns to predict from; all but the label's where there are none.
    pub features: Option<Vec<String>>,
    /// TOML file of public bounds.
    pub bounds: Option<PathBuf>,
}

impl OwnTable {
    /// The design of the whole table; categories that no bounds list are read from it.
    pub(super) fn design(&self) -> Result<Design, Failure> {
        let table = Table::read(&self.data)?;
        let bounds = self.bounds.as_deref().map_or_else(|| Ok(Bounds::none()), Bounds::read)?;
        let (bounds, features) = (bounds.with_public_categories(), self.features.as_deref());
        let table = bounds.complete(table, &self.positive_if, features)?;
        Ok(Design::new(&table, &bounds, &self.positive_if, features, Intercept::Included)?)
    }
}

/// What repeated fits say of one weight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightCoverage {
    /// Its name.
    pub name: String,
    /// Mean and standard deviation of the posterior without privacy.
    pub reference: (f64, f64),
    /// How many draws of it the 90 % intervals hold.
    pub coverage: f64,
    /// Mean length of the intervals, over that without privacy.
    pub length: f64,
    /// Root mean square of the distance of means, in standard deviations without privacy.
    pub error_sd: f64,
}

/// Fits a table of one's own again and again, as `fit` does by default, and holds the intervals against the
/// posterior without privacy (a normal at its mode).
///
/// ```text
/// coverage   the probability that the 90 % interval holds a draw of the posterior without privacy,
///            mean over weights and runs
/// worst      the same, of the weight where it is lowest
/// error_sd   root mean square of (mean − mode) in standard deviations without privacy
/// length     median over weights of the intervals' mean length, over that without privacy
/// z          root mean square of (mean − draw) over the stated standard deviation; 1 would be exact,
///            more is too certain
/// ```
///
/// # Privacy
///
/// None: seeds are known, and the posterior without privacy is computed from the records. It is for tables
/// that are public, or for people who may see them.
///
/// # Errors
///
/// What is wrong with the files, or a fit that fails.
pub fn of_table(own: &OwnTable, protocol: &Protocol) -> Result<Outcome, Failure> {
    let design = own.design()?;
    let settings = Settings { norms: Some(design.feature_norms()), ..Settings::default() };
    let (budget, moments) = (protocol.budget(), design.public_moments());
    let fit = |seed: u64| {
        let parts = (design.features().clone(), design.labels().clone());
        logistic::fit_design(parts, &moments, budget, &settings, Seed::for_tests(seed), ("fit", &[]))
    };
    // Where it cannot be whitened, a design has another prior, whatever the seed.
    let prior = fit(protocol.first_seed)?.1.prior;
    let reference = Reference::with_prior(design.features(), design.labels(), prior)?;
    // Of each run, each weight's mean, standard deviation and interval.
    let (found, mut outcome) = protocol.measure_each("coverage", |seed| {
        let (fit, found) = fit(seed)?;
        let (mean, sd) = (&found.means, &found.deviations);
        let (low, high): (Vec<f64>, Vec<f64>) =
            mean.iter().zip(sd).map(|(mean, sd)| (mean - END * sd, mean + END * sd)).unzip();
        let weights: Vec<OneWeight> = (0..reference.mean.len())
            .map(|j| {
                let (at, spread) = (reference.mean[j], reference.sd[j]);
                let below =
                    |end: f64| 0.5 * libm::erfc((at - end) / spread * std::f64::consts::FRAC_1_SQRT_2);
                OneWeight {
                    coverage: below(high[j]) - below(low[j]),
                    length: (high[j] - low[j]) / (2.0 * END * spread),
                    error: ((mean[j] - at) / spread).powi(2),
                    // A draw differs from the mean by the error and by its own deviation.
                    surprise: ((mean[j] - at).powi(2) + spread * spread) / (sd[j] * sd[j]),
                }
            })
            .collect();
        let of = |part: fn(&OneWeight) -> f64| weights.iter().map(part).sum::<f64>() / weights.len() as f64;
        let mut run = RunOutcome::new(of(|weight| weight.coverage), fit.privacy())?;
        run.more.insert("error_sd", of(|weight| weight.error).sqrt());
        run.more.insert("z", of(|weight| weight.surprise).sqrt());
        Ok((run, weights))
    })?;
    let runs = found.len() as f64;
    let mean =
        |j: usize, part: fn(&OneWeight) -> f64| found.iter().map(|run| part(&run[j])).sum::<f64>() / runs;
    let weights = design.names().into_iter().enumerate().map(|(j, name)| WeightCoverage {
        name: name.to_owned(),
        reference: (reference.mean[j], reference.sd[j]),
        coverage: mean(j, |weight| weight.coverage),
        length: mean(j, |weight| weight.length),
        error_sd: mean(j, |weight| weight.error).sqrt(),
    });
    outcome.weights = weights.collect();
    let lengths: Vec<f64> = outcome.weights.iter().map(|weight| weight.length).collect();
    outcome.more.insert("length", median(lengths));
    let worst = outcome.weights.iter().map(|weight| weight.coverage).fold(f64::INFINITY, f64::min);
    outcome.more.insert("worst", worst);
    Ok(outcome)
}

/// What one run says of one weight.
struct OneWeight {
    coverage: f64,
    length: f64,
    error: f64,
    surprise: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n % 2 {
        _ if n == 0 => f64::NAN,
        1 => values[n / 2],
        _ => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}
