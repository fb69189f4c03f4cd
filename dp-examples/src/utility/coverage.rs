//! How often the intervals of a private posterior hold the true weights.

use dp_sampler::Seed;
use dp_vi::DpVi;
use dp_vi::guides::AutoNormal;

use super::logistic::Reference;
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::logistic::{model, records};
use crate::population::{Population, WEIGHTS};

/// Records of a data set.
pub const RECORDS: usize = 2_000;

/// Probability of the intervals.
const PROBABILITY: f64 = 0.9;

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
        // Φ⁻¹(0.95)
        let z = 1.644_853_626_951_472_2;
        let inside = weights
            .iter()
            .zip(&reference.mean)
            .zip(&reference.sd)
            .filter(|((w, mean), sd)| (**w - **mean).abs() <= z * **sd);
        run.more.insert("coverage_not_private", inside.count() as f64 / d);
        let (mean, sd) = (fit.posterior().mean("w")?, fit.posterior().sd("w")?);
        let squares = mean.iter().zip(&weights).zip(&reference.sd).map(|((m, w), sd)| ((m - w) / sd).powi(2));
        run.more.insert("error_sd", (squares.sum::<f64>() / d).sqrt());
        run.more.insert("sd_ratio", sd.iter().zip(&reference.sd).map(|(sd, r)| sd / r).sum::<f64>() / d);
        Ok(run)
    })
}
