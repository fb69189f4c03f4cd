//! The privacy statement.

mod text;

use crate::cost::charges::Release;
use crate::guides::guide::Guide;
use crate::wall::bound::clip::Clipping;
use crate::wall::grid::PrivacyNoise;
use dp_accountant::{Budget, Certified, Relation};
use dp_sampler::Scheme;
use serde::Serialize;

/// What was done, and what it guarantees.
///
/// Printed, it is the statement in words and numbers. It says "NOT PRIVATE" whenever that is the case:
/// without clipping and noise, or with a seed that others may know. It can be serialised, and is text in JSON
/// with the feature `json`.
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
    /// The requested budget, with the relation of neighbours; `None` for a fit without privacy.
    pub budget: Option<Budget>,
    /// The ε of all planned releases together at the budget's δ, as an interval that holds the true value.
    pub epsilon: Option<Certified>,
    /// The part of the budget's δ that covers batches, noise and choices which are not drawn exactly as they
    /// are accounted for: ε is that of the events at what is left. `None` where all is exact, or treated as
    /// real numbers.
    pub delta_of_deviations: Option<f64>,
    /// By how much true and false positive rate of any test for a record differ at most.
    pub advantage: Option<Certified>,
    /// What the ledger that the fit was paid from has spent in all, if others may pay from it.
    pub ledger_spent: Option<Certified>,
    /// What counts as a record.
    pub record: &'static str,
    /// Whether the number of records is treated as public.
    pub public_number_of_records: bool,
    /// How many records there are, where that may be known: their stated number, or the true one where it is public.
    /// With it the statement warns of a δ for which the guarantee means little. A number that the run itself releases
    /// with noise is not in it: the report is the same whatever the number of records is.
    pub known_records: Option<f64>,
    /// Whether there were records at all; a fit of public constants alone has none, and guarantees nothing.
    pub has_records: bool,
    /// How batches were drawn; `None` without records.
    pub scheme: Option<Scheme>,
    /// Noise standard deviation over [`noise_norm`](Self::noise_norm), σ.
    pub noise_multiplier: Option<f64>,
    /// Largest norm of one record's gradient, C; the first one, where it follows a quantile.
    pub clip_norm: Option<f64>,
    /// C after the last release, where it follows a quantile and with that what was released. The second moments of
    /// scores have its square as their bound.
    pub last_clip_norm: Option<f64>,
    /// What the noise's standard deviation is σ times of: C, or, where a record is replaced and two records'
    /// contributions are known to differ by less than 2C, half of that difference.
    pub noise_norm: Option<f64>,
    /// How gradients are clipped to it.
    pub clipping: Option<Clipping>,
    /// What kind of numbers the noise was added to.
    pub noise: Option<PrivacyNoise>,
    /// Number of noisy sums that were planned, which is what ε is of.
    pub steps: u64,
    /// Number of noisy sums that were released.
    pub steps_done: u64,
    /// Everything that was planned to be released: events and how often.
    pub releases: Vec<Release>,
    /// Whether the seed came from the operating system and is known to no one.
    pub secret_seed: bool,
    /// What the guide is.
    pub guide: &'static str,
    /// What intervals of the posterior hold of the privacy noise, in words; `None` without privacy.
    pub intervals: Option<&'static str>,
    /// What the guarantee rests on.
    pub assumes: &'static [&'static str],
    /// What it is not about.
    pub not_covered: &'static [&'static str],
    /// What was read from the records and is treated as public, as the caller stated it: see
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
    /// Whether the guarantee holds: noise was added, and from a secret seed. It is false without records, where
    /// there is nothing to guarantee.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.budget.is_some() && self.epsilon.is_some() && self.secret_seed
    }

    /// The δ of the budget times the number of records, where that is known and the product is at least 1. A mechanism
    /// that publishes each record whole with probability δ is (ε, δ)-differentially private for every ε, and publishes
    /// this many records on average.
    #[must_use]
    pub fn published_by_delta(&self) -> Option<f64> {
        let product = self.budget.as_ref()?.delta * self.known_records?;
        (product >= 1.0).then_some(product)
    }

    /// The largest probability with which anyone guesses right which of two neighbouring data sets it was,
    /// both being equally likely before: `(1 + advantage)/2`. For other priors see
    /// [`dp_accountant::Accountant::success`].
    #[must_use]
    pub fn attack_success(&self) -> Option<f64> {
        // A sum and a half are rounded once.
        self.advantage.as_ref().map(|advantage| (0.5 * (1.0 + advantage.upper)).next_up().min(1.0))
    }

    /// The report as JSON; needs the feature `json`.
    ///
    /// # Errors
    /// If memory for the text cannot be had.
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
