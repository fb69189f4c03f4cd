//! Logistic regression from noisy statistics: area under the curve on held-back records.

use dp_sampler::{Purpose, Seed};
use dp_vi::{ConjugateVi, Sensitive};
use ppl_core::conjugate::Curvature;

use super::coverage::OwnTable;
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::logistic::{self, model, records};
use crate::split::area_under_curve;
use crate::split::{probabilities, split};

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
    let norms = design.feature_norms();
    protocol.measure("test AUC", |seed| {
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
        let joint = start().budget(protocol.budget()).fit(&hidden)?;
        let fixed = start().budget(protocol.budget()).curvature(Curvature::Fixed).steps(1).fit(&hidden)?;
        let settings = logistic::Settings { norms: Some(norms), ..logistic::Settings::default() };
        let gradients = logistic::inference(Some(protocol.budget()), &settings)
            .seed(Seed::for_tests(seed))
            .fit(&hidden)?;
        let exact = start().without_privacy().steps(20).fit(&hidden)?;
        let mean = |fit: &dp_vi::Fit| -> Result<f64, Failure> { area(&fit.uncorrected().mean("w")?) };
        let mut run = RunOutcome::new(mean(&joint)?, joint.privacy())?;
        run.more.insert("fixed_curvature", mean(&fixed)?);
        run.more.insert("gradients", mean(&gradients)?);
        run.more.insert("not_private", mean(&exact)?);
        Ok(run)
    })
}
