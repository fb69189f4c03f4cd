//! Logistic regression from noisy statistics: area under the curve on held-back records.

use dp_accountant::Budget;
use dp_sampler::{Purpose, Seed};
use dp_vi::{ConjugateVi, PrivacyReport, Sensitive};
use ppl_core::conjugate::Curvature;

use super::coverage::OwnTable;
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::logistic::design::Design;
use crate::logistic::{self, model, records};
use crate::table::split::area_under_curve;
use crate::table::split::{probabilities, split};

/// Share of the records that are held back.
const TEST: f64 = 0.2;

/// Splits the table anew in each run, fits by statistics, and ranks the held-back records. Beside it: the fixed
/// curvature in one release, gradients as `fit` takes them, and statistics without privacy.
///
/// # Errors
///
/// A table that cannot be read or has one outcome only, and a fit that fails.
pub fn measure(own: &OwnTable, protocol: &Protocol) -> Result<Outcome, Failure> {
    let design = own.design()?;
    protocol.measure("test AUC", |seed| {
        let [(joint, report), fixed, gradients, exact] = areas(&design, protocol.budget(), seed)?;
        let mut run = RunOutcome::new(joint, &report)?;
        run.more.insert("fixed_curvature", fixed.0);
        run.more.insert("gradients", gradients.0);
        run.more.insert("not_private", exact.0);
        Ok(run)
    })
}

/// The area under the curve on the fifth of the records that this seed holds back, with what was spent: by
/// statistics, by the fixed curvature in one release, by gradients, and by statistics without privacy.
///
/// # Errors
///
/// Records that are all alike, and a fit that fails.
pub fn areas(design: &Design, budget: Budget, seed: u64) -> Result<[(f64, PrivacyReport); 4], Failure> {
    let norms = design.feature_norms();
    let secret = Seed::for_tests(seed);
    let parts = split(design.labels().len(), TEST, &mut secret.streams(Purpose::Split).at(0))?;
    let (features, labels) = design.select(&parts.train)?;
    let (test, answers) = design.select(&parts.test)?;
    let area = |w: &ndarray::ArrayD<f64>| -> Result<f64, Failure> {
        let weights = w.view().into_dimensionality()?;
        let scores = probabilities(test.view(), weights)?.to_vec();
        area_under_curve(&scores, &answers.to_vec())
            .ok_or_else(|| "the held-back records are all alike".into())
    };
    let hidden: Sensitive<ppl_core::Records> = records(features, labels)?;
    let start = || ConjugateVi::new(model).feature_norm(norms.typical).seed(Seed::for_tests(seed));
    let joint = start().budget(budget).fit(&hidden)?;
    let fixed = start().budget(budget).curvature(Curvature::Fixed).steps(1).fit(&hidden)?;
    let settings = logistic::Settings { norms: Some(norms), ..logistic::Settings::default() };
    let gradients = logistic::inference(Some(budget), &settings).seed(Seed::for_tests(seed)).fit(&hidden)?;
    let exact = start().without_privacy().steps(20).fit(&hidden)?;
    let mean = |fit: dp_vi::Fit| -> Result<(f64, PrivacyReport), Failure> {
        Ok((area(&fit.uncorrected().mean("w")?)?, fit.privacy().clone()))
    };
    Ok([mean(joint)?, mean(fixed)?, mean(gradients)?, mean(exact)?])
}
