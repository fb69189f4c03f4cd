//! The privacy statement.

mod text;

use crate::cost::charges::Release;
use crate::guides::guide::Guide;
use crate::wall::bound::clip::Clipping;
use crate::wall::grid::PrivacyNoise;
use dp_accountant::{Budget, Certified, Relation};
use dp_sampler::Scheme;
use serde::Serialize;

/// The privacy statement of a fit: what was done, and what that guarantees.
///
/// `Display` prints the statement in words and numbers. It says "NOT PRIVATE" whenever there is no guarantee: for a fit
/// without clipping and noise, or with a seed that others may know. The report can be serialised; with the feature
/// `json`, `to_json` writes it as JSON.
///
/// ```
/// # use dp_accountant::{Budget, Relation};
/// # use dp_vi::guides::AutoNormal;
/// # use dp_vi::{DpVi, Sensitive};
/// # use ppl_core::{Ctx, Records};
/// # use ppl_distributions::Normal;
/// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
/// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
/// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
/// # }
/// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// let fit = DpVi::new(model, AutoNormal::new()).budget(budget).steps(20).fit(&records)?;
/// let report = fit.privacy();
/// assert!(report.is_private() && report.epsilon.unwrap().upper <= 1.0);
/// assert!(report.to_string().contains("one row of the records"));
/// // An attacker who guesses whether a record was there, with even odds before, is right in fewer than 70 of
/// // 100 cases.
/// assert!(report.attack_success().unwrap() < 0.7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PrivacyReport {
    /// The requested budget, with the neighbouring relation; `None` for a fit without privacy.
    pub budget: Option<Budget>,
    /// The ε of all planned releases together at the budget's δ, as an interval that contains the true value.
    pub epsilon: Option<Certified>,
    /// The part of the budget's δ that is set aside because batches, noise or choices are not drawn exactly from the
    /// distributions that are accounted for. [`epsilon`](Self::epsilon) is that of the events at the rest of δ. `None`
    /// where everything is drawn exactly, or where floating-point noise is treated as real numbers.
    pub delta_of_deviations: Option<f64>,
    /// The largest difference between the true and the false positive rate of any test for the presence (under
    /// replace-one, the values) of a record.
    pub advantage: Option<Certified>,
    /// The ε that has been spent in all from the ledger that the fit was paid from; `None` if the ledger was the fit's
    /// own.
    pub ledger_spent: Option<Certified>,
    /// What counts as one record, in words.
    pub record: &'static str,
    /// Whether the number of records is treated as public.
    pub public_number_of_records: bool,
    /// The number of records, where it is public: the stated number, or the true one if the relation makes it public.
    /// The statement uses it to warn of a δ that is too large for the guarantee to mean much. A number that the run
    /// releases with noise is not given here, so that under add/remove the report does not depend on the true number of
    /// records.
    pub known_records: Option<f64>,
    /// Whether there were records at all. A fit of public constants has none, and guarantees nothing.
    pub has_records: bool,
    /// How batches were drawn; `None` without records.
    pub scheme: Option<Scheme>,
    /// The noise multiplier σ: the standard deviation of the noise divided by [`noise_norm`](Self::noise_norm).
    pub noise_multiplier: Option<f64>,
    /// The clip norm `C`, the largest norm of one record's gradient; where it follows a quantile, its first value.
    pub clip_norm: Option<f64>,
    /// Where the clip norm follows a quantile, its value after the last release. Its square bounds a record's
    /// contribution to the scores' second moments, where these are released.
    pub last_clip_norm: Option<f64>,
    /// The norm of which the noise's standard deviation is σ times: the clip norm, or, under replace-one where the
    /// contributions of two records are known to differ by less than `2C`, half of that difference.
    pub noise_norm: Option<f64>,
    /// How gradients are clipped.
    pub clipping: Option<Clipping>,
    /// How the noise was added: exactly, or in floating point.
    pub noise: Option<PrivacyNoise>,
    /// The number of noisy sums that were planned; [`epsilon`](Self::epsilon) covers all of them, made or not.
    pub steps: u64,
    /// The number of noisy sums that were released.
    pub steps_done: u64,
    /// All planned releases: their events, and how often each occurs.
    pub releases: Vec<Release>,
    /// Whether the seed is secret: it came from the operating system, and is known to no one.
    pub secret_seed: bool,
    /// The guide, in words.
    pub guide: &'static str,
    /// How far the means of the guide moved between the two halves of the steps that are averaged: the largest distance
    /// over the latent values, in the guide's standard deviations. Well below 1 if the fit had arrived. `None` with
    /// privacy, where noise moves them, and for fits that [go on until they have converged](crate::Convergence).
    pub moved: Option<f64>,
    /// Whether the intervals of the posterior include the privacy noise, in words; `None` without privacy.
    pub intervals: Option<&'static str>,
    /// The assumptions of the guarantee.
    pub assumes: &'static [&'static str],
    /// What the guarantee does not cover.
    pub not_covered: &'static [&'static str],
    /// What was read from the records but is treated as public, as the caller stated it with
    /// [`DpVi::treat_as_public`](crate::DpVi::treat_as_public). The guarantee does not cover it.
    pub treated_as_public: Vec<String>,
}

/// What [`PrivacyReport::intervals`] says of a fit without a correction.
pub(crate) const LEAVE_OUT: &str = "leave out the privacy noise, and may be much too short";

/// What it says where there are values and no distributions.
pub(crate) const POINTS: &str = "have no length, as values were looked for and no distributions";

/// What it says of corrections whose coverage has been measured, on real tables.
pub(crate) const INCLUDE: &str = "include the privacy noise";

/// Steps below which it says that, in the place of the former. On made-up records a logistic regression's slope of 2.9
/// was 7.7 ± .6 after 5 steps, and 3.3 ± .15 after 99.
pub(crate) const FEWEST_MEASURED_STEPS: u64 = 100;
pub(crate) const FEW_STEPS: &str = "leave out how far so few steps have left the run from its posterior: how often they hold the truth has been measured from 100 \
                                    steps on";

/// What it says of other corrections.
pub(crate) const NOT_MEASURED: &str = "take account of the privacy noise; how often they hold the truth has not been measured for this kind of model: a rehearsal with made-up \
                                       records (dp_vi::rehearse) measures it for this one";

/// What it says of corrections that leave out values which no record touches, such as the spread of groups, where they
/// were not inferred together with the others: there are too many, one is a parameter, or they were not found so.
pub(crate) const PARTLY: &str = "take account of the privacy noise where records touch a value, given the other values where the guide has them: the noise and the uncertainty of \
                                 the other values are left out of both, so that intervals may be too short; how often they hold the truth has not been measured for this kind of \
                                 model: a rehearsal with made-up records (dp_vi::rehearse) measures it for this one";

/// What it says of curvatures that are read off the steps.
pub(crate) const BY_TRACE: &str = "take account of the privacy noise as far as the gradients of the steps show the curvature, and may be too short where the noise hides it: \
                                   a rehearsal with made-up records (dp_vi::rehearse) measures how often they hold the truth, and Correction::Probes looks for the curvature";

/// What it says where records have weights of the caller's own and the curvature is read off gradients.
pub(crate) const OWN_WEIGHTS: &str = "take account of the privacy noise where weights are at most 1, and are too short where they are larger, by the root of the mean weight of \
                                      the records' scores; how often they hold the truth has not been measured for this kind of model: a rehearsal with made-up records \
                                      (dp_vi::rehearse) measures it for this one";

/// What it says where the mean gradient shows that a run ended before it had come to the posterior.
pub(crate) const NOT_ARRIVED: &str = "are around where the run had come, and it had not arrived: the mean gradient there is more than five of its standard deviations from zero. \
                                      Whatever they include of the privacy noise, the posterior may be elsewhere: take more steps, or values whose priors are of the order of 1";

/// What it says where a correction by the run's gradients was planned and is not possible.
pub(crate) const FELL_BACK: &str = "leave out the privacy noise, and may be much too short: the run says too little of the curvature for the correction \
                                    that was planned";

/// What it says where a released curvature gave no posterior.
pub(crate) const NO_POSTERIOR: &str = "leave out the privacy noise, and may be much too short: no curvature was released, or none that makes a posterior";

/// What [`PrivacyReport::record`] says.
pub(crate) const RECORD: &str =
    "one row of the records: a person with several rows is protected for each row, not for all together";

const PUBLIC: &str = "what the model observes may be known to anyone";
const CHOSEN_BLINDLY: &str = "settings, bounds and models were chosen without looking at the data";
const SECRET: &str = "no one knows the seed or sees the checkpoints";
const COMPUTATION: &str = "random numbers by ChaCha20: against attackers with bounded computing power";

/// What [`PrivacyReport::assumes`] says.
pub(crate) fn assumptions(noise: PrivacyNoise) -> &'static [&'static str] {
    match noise {
        PrivacyNoise::Continuous => &[
            CHOSEN_BLINDLY,
            SECRET,
            "noise as real numbers: floating-point rounding is not covered, and an attacker who sees all digits can use it",
            COMPUTATION,
        ],
        PrivacyNoise::Exact => &[CHOSEN_BLINDLY, SECRET, COMPUTATION],
    }
}

/// What [`PrivacyReport::not_covered`] says.
pub(crate) const NOT_COVERED: &[&str] = &[
    "running time, and how often progress was told",
    "error messages, and whether the records fit the model at all",
    "other uses of the same records, which add to what this one costs",
];

impl PrivacyReport {
    /// Whether there is a guarantee: noise was added, and the seed is secret. For a fit without records this is false,
    /// because there is nothing to protect.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.budget.is_some() && self.epsilon.is_some() && self.secret_seed
    }

    /// The budget's δ times the number of records, if that number is [known](Self::known_records) and the product is at
    /// least 1. A mechanism that publishes each record in full with probability δ is (ε, δ)-differentially private for
    /// every ε, and publishes this many records on average.
    #[must_use]
    pub fn published_by_delta(&self) -> Option<f64> {
        let product = self.budget.as_ref()?.delta * self.known_records?;
        (product >= 1.0).then_some(product)
    }

    /// The largest probability with which an attacker can guess correctly which of two neighbouring data sets was used,
    /// if both were equally likely before: `(1 + advantage)/2`. For other prior probabilities see
    /// [`dp_accountant::Accountant::success`].
    #[must_use]
    pub fn attack_success(&self) -> Option<f64> {
        // A sum and a half are rounded once.
        self.advantage.as_ref().map(|advantage| (0.5 * (1.0 + advantage.upper)).next_up().min(1.0))
    }

    /// Writes the report as JSON; needs the feature `json`.
    ///
    /// # Errors
    /// If there is not enough memory for the text.
    #[cfg(feature = "json")]
    pub fn to_json(&self) -> crate::Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| crate::Error::Json(error.to_string()))
    }

    /// That of a fit without records.
    pub(crate) fn of_public(guide: &dyn Guide, steps: u64, steps_done: u64) -> Self {
        Self {
            budget: None,
            epsilon: None,
            delta_of_deviations: None,
            advantage: None,
            ledger_spent: None,
            record: "there are no records",
            public_number_of_records: true,
            known_records: None,
            has_records: false,
            scheme: None,
            noise_multiplier: None,
            clip_norm: None,
            last_clip_norm: None,
            noise_norm: None,
            clipping: None,
            noise: None,
            steps,
            steps_done,
            releases: Vec::new(),
            secret_seed: false,
            guide: guide.describe(),
            moved: None,
            intervals: None,
            assumes: &[PUBLIC],
            not_covered: &[],
            treated_as_public: Vec::new(),
        }
    }

    pub(crate) fn is_number_public(relation: Option<Relation>) -> bool {
        relation != Some(Relation::AddRemove)
    }
}
