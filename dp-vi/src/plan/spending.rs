//! Rate and number of steps for what the steps may spend.

use super::privacy_plan::number;
use super::settings::Settings;
use crate::cost::deviation::Deviation;
use crate::cost::pricing::{Pricing, sampling_rate};
use crate::error::{Error, Result};
use crate::summaries::CountRelease;
use crate::wall::bound::clip::Clipping;
use crate::wall::grid::PrivacyNoise;
use dp_accountant::{Budget, Calibrated, Composition, calibrate_noise_multiplier};
use dp_sampler::{Scheme, Subsampling};

/// Steps of a run on full batches: enough for Adam to arrive at its default rate, and to average after.
const FULL_BATCH_STEPS: u64 = 300;

/// The same where the clip norm has to be found on the way. See [`Settings::schedule_for`] for what more steps are
/// good for.
const SEARCHING_STEPS: u64 = 600;

/// The fewest steps that are proposed.
pub(super) fn fewest_steps(clipping: Clipping) -> u64 {
    if clipping == Clipping::Adaptive { SEARCHING_STEPS } else { FULL_BATCH_STEPS }
}

/// By how much sampling may raise the noise over that of full batches.
const WASTE: f64 = 1.05;

/// Most steps the planner itself proposes.
pub(super) const MOST_PROPOSED: u64 = 5_000_000;

/// Sampling rates tried for a compute limit, from the most to the least work on a step.
const RATES: [f64; 13] = [1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001];

/// How batches are drawn.
pub(super) struct Drawn<'a> {
    pub(super) scheme: Scheme,
    /// By how much the batches of this many steps deviate from the scheme, in total variation.
    pub(super) deviation: Box<dyn Fn(u64) -> f64 + 'a>,
}

/// What stays the same while rate and steps are chosen.
pub(super) struct Spending {
    pub(super) budget: Budget,
    pub(super) noise: PrivacyNoise,
    /// How many choices a start is made of.
    pub(super) choices: u64,
    /// Counts of records that are released.
    pub(super) counts: u64,
    /// Releases before the run, with exact noise.
    pub(super) before: u64,
    /// Releases during the run beside those of the steps and the last one.
    pub(super) more: u64,
    /// What is released beside the steps.
    pub(super) beside: Composition,
    /// Noise multiplier of a single full-batch release that uses up what the steps may spend.
    pub(super) single: f64,
    /// The fewest steps that are proposed.
    pub(super) fewest: u64,
}

impl Spending {
    /// Refuses a run of which a record is likely to be no part at all.
    ///
    /// Where a record takes part in a step with a probability below δ, no noise is asked for: δ allows that much to be
    /// released as it is. That is what the definition says and nobody wants; and almost all steps see no record.
    fn takes_part(&self, rate: f64, steps: u64) -> Result<()> {
        if rate * steps as f64 > self.budget.delta {
            return Ok(());
        }
        let what = "the sampling rate times the number of steps";
        let requirement = "above the budget's delta, or records would be released without noise";
        Err(Error::OutOfRange { what, requirement, value: rate * steps as f64 })
    }

    /// What is not drawn exactly as it is accounted for, of all steps that are paid for: those of whole epochs.
    pub(super) fn deviation(&self, drawn: &Drawn<'_>, steps: u64) -> Result<Deviation> {
        let count = self.counts as f64 * CountRelease::DEVIATION;
        let before = self.before as f64 * PrivacyNoise::Exact.deviation();
        let paid = Pricing::new(&drawn.scheme)?.rounded(steps);
        let (batches, releases) = ((drawn.deviation)(paid) + count + before, paid.saturating_add(self.more));
        Deviation::of_run(releases, batches, self.noise.deviation(), self.choices)
    }

    /// The noise that makes this many steps keep the budget, with what is not drawn exactly.
    pub(super) fn calibrate(&self, drawn: &Drawn<'_>, steps: u64) -> Result<Calibrated> {
        self.takes_part(sampling_rate(&drawn.scheme)?, steps)?;
        let pricing = Pricing::permitted(self.budget.relation, &drawn.scheme)?;
        let budget = self.deviation(drawn, steps)?.less(self.budget)?;
        Ok(calibrate_noise_multiplier(&budget, |noise_multiplier| {
            let mut all = self.beside.clone();
            all.push(pricing.event(noise_multiplier)?, pricing.events(steps));
            Ok(all)
        })?)
    }

    /// Noise of all steps together over that of full batches: `σ/(q √T)` over that of one release.
    pub(super) fn waste(&self, drawn: &Drawn<'_>, steps: u64, calibrated: &Calibrated) -> Result<f64> {
        Ok(calibrated.noise_multiplier
            / (sampling_rate(&drawn.scheme)? * (steps as f64).sqrt() * self.single))
    }

    /// The fewest steps, from those of a full batch on, at which sampling wastes no more than the rule
    /// allows; and what they waste.
    fn enough_steps(&self, drawn: &Drawn<'_>, most: u64) -> Result<(u64, f64)> {
        let price = |steps: u64| self.waste(drawn, steps, &self.calibrate(drawn, steps)?);
        let mut high = self.fewest.min(most);
        let mut waste = price(high)?;
        let mut low = high;
        while waste > WASTE && high < most {
            low = high;
            high = high.saturating_mul(2).min(most);
            waste = price(high)?;
        }
        while waste <= WASTE && high - low > low / 8 {
            let middle = low + (high - low) / 2;
            let found = price(middle)?;
            if found <= WASTE { (high, waste) = (middle, found) } else { low = middle }
        }
        Ok((high, waste))
    }
}

/// Rate and steps: what was said, or what is best.
pub(crate) enum Sampler<'a, S> {
    /// The caller named a plan for sampling.
    Named(&'a S),
    /// The rate is to be chosen.
    Open(fn(f64) -> dp_sampler::Result<S>),
}

impl Settings {
    pub(super) fn rate_and_steps<'a, S: Subsampling>(
        &self,
        sampler: &Sampler<'_, S>,
        drawn: &impl Fn(f64) -> Result<Drawn<'a>>,
        spending: &Spending,
        reasons: &mut Vec<String>,
    ) -> Result<(f64, u64)> {
        let named = matches!(sampler, Sampler::Named(_));
        let fewest = spending.fewest;
        let Some(limit) = self.compute_limit.filter(|_| !named) else {
            let drawn = drawn(1.0)?;
            if !named {
                reasons.push(
                    "sampling: every record at every step; a smaller rate would only save time".to_owned(),
                );
            }
            if let Some(steps) = self.steps {
                return Ok((1.0, steps));
            }
            let (steps, waste) = spending.enough_steps(&drawn, MOST_PROPOSED)?;
            reasons.push(format!(
                "steps: {steps}, the fewest (from {fewest}) at which all noise together is within 5 % of that of full batches; it is {} times",
                number(waste)
            ));
            return Ok((1.0, steps));
        };
        let Some(records) = self.public_records else {
            return Err(Error::Missing {
                what: "a public number of records",
                why: "a compute limit counts gradients of records, so it needs their number; state it with .public_records(…), or name a sampling rate",
            });
        };
        let affordable = |rate: f64| (limit / (records as f64 * rate)).min(MOST_PROPOSED as f64) as u64;
        let mut best: Option<(f64, u64, f64)> = None;
        for rate in RATES {
            let most = affordable(rate);
            let fixed = self.steps.is_some_and(|steps| steps > most);
            if most == 0 || fixed {
                continue;
            }
            let drawn = drawn(rate)?;
            let (steps, waste) = match self.steps {
                Some(steps) => (steps, spending.waste(&drawn, steps, &spending.calibrate(&drawn, steps)?)?),
                None => spending.enough_steps(&drawn, most)?,
            };
            let enough = waste <= WASTE && (self.steps.is_some() || steps >= fewest);
            // Fewer steps than Adam needs count as waste too.
            let short = (fewest as f64 / steps as f64).sqrt().max(1.0);
            if best.is_none_or(|(_, _, found)| waste * short < found) {
                best = Some((rate, steps, waste * short));
            }
            if enough {
                break;
            }
        }
        let Some((rate, steps, waste)) = best else {
            let (what, requirement) = ("compute limit", "enough for one step at a sampling rate of 0.001");
            return Err(Error::OutOfRange { what, requirement, value: limit });
        };
        reasons.push(format!(
            "sampling: rate {rate} and {steps} steps are {} gradients of the {} allowed, for the {records} records you stated; waste {}",
            number(rate * steps as f64 * records as f64),
            number(limit),
            number(waste)
        ));
        Ok((rate, steps))
    }
}
