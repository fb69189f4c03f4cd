//! Audits: how well do outcomes tell two neighbouring data sets apart, beside what is claimed of them?
//!
//! An audit plays the attacker of the definition. It knows everything but one record, runs a release many times on a
//! data set and on its neighbour, and looks for the threshold at which the outcomes differ most. What it finds at a
//! stated confidence is a lower bound: no claim below it can be true. It is no proof of the claim, which is elsewhere.
//!
//! [`all`] goes through releases, samplers, relations, ways of clipping and kinds of noise by the libraries' public
//! interfaces alone; [`whole_fit`] audits a fit with many canaries at once, in one run.

mod bounds;
mod fits;
mod mechanisms;
mod sums;
mod tables;

pub use bounds::{one_run_epsilon, share_between};
pub use fits::{OneRun, whole_fit};

use dp_accountant::{Accountant, Composition, Event, Mechanism, Relation};
use serde::Serialize;
use std::error::Error;

/// The probability that an audit's lower bound is above the truth, for each audit.
pub const FALSE_ALARM: f64 = 1e-6;

/// δ at which ε is stated.
pub const DELTA: f64 = 1e-5;

/// What a release is, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What is released.
    pub release: &'static str,
    /// How records are drawn.
    pub sampler: &'static str,
    /// Which data sets are neighbours.
    pub relation: String,
    /// How a record's contribution is bounded.
    pub bound: &'static str,
    /// What kind of noise is added.
    pub noise: &'static str,
}

/// Outcomes of a release on two neighbours, each as one number, and what was paid for one of them.
pub struct Outcomes {
    /// Which data sets are neighbours.
    pub relation: Relation,
    /// What one outcome costs.
    pub events: Composition,
    /// Outcomes with the record.
    pub present: Vec<f64>,
    /// Outcomes without it, or with another in its place.
    pub absent: Vec<f64>,
}

/// A claim beside what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What was released.
    #[serde(flatten)]
    pub setting: Setting,
    /// Outcomes on each of the two data sets.
    pub outcomes: usize,
    /// ε of one outcome at [`DELTA`], as the accountant claims it; at δ = 0 for what is private with δ = 0.
    pub claimed: f64,
    /// What ε is at least, but for a probability of [`FALSE_ALARM`].
    pub found: f64,
    /// The second over the first.
    pub share: f64,
}

impl Finding {
    /// Whether the claim cannot be true.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.found > self.claimed
    }
}

/// The same events with noise smaller by a factor.
fn louder(events: &Composition, factor: f64) -> dp_accountant::Result<Composition> {
    let mut all = Composition::new();
    for (event, count) in events.iter() {
        let mechanism = match event.mechanism() {
            Mechanism::Gaussian { noise_multiplier } => {
                Mechanism::Gaussian { noise_multiplier: noise_multiplier / factor }
            }
            Mechanism::ApproximateDp { epsilon, delta } => {
                Mechanism::ApproximateDp { epsilon: epsilon * factor, delta }
            }
            Mechanism::PureDp { epsilon } => Mechanism::PureDp { epsilon: epsilon * factor },
            other => other,
        };
        all.push(Event::new(mechanism, event.sampling())?, count);
    }
    Ok(all)
}

/// The ε of events that are ε-differentially private with δ = 0.
fn pure(events: &Composition) -> Option<f64> {
    events.iter().try_fold(0.0, |sum, (event, count)| match event.mechanism() {
        Mechanism::PureDp { epsilon } => Some(sum + count as f64 * epsilon),
        Mechanism::RandomizedResponse { categories, truth_probability: p } => {
            Some(sum + count as f64 * (p / (1.0 - p) * (categories - 1) as f64).ln())
        }
        _ => None,
    })
}

/// Finds the threshold on the first half of the outcomes, and what it tells on the other half.
///
/// The advantage of the attacker, `P(above) - P'(above)`, is at most that of the events. The smallest factor by which
/// their noise would have to be smaller for that to hold is turned into an ε, so that it can be compared with the claim.
/// What is claimed with δ = 0 is compared with an ε at δ = 0.
///
/// # Errors
/// Those of the accountant, and outcomes that are too few.
pub fn examine(setting: Setting, outcomes: &Outcomes) -> Result<Finding, Box<dyn Error>> {
    let Outcomes { relation, events, present, absent } = outcomes;
    let n = present.len().min(absent.len());
    if n < 100 {
        return Err(format!("an audit needs at least 100 outcomes on each data set, got {n}").into());
    }
    let threshold = bounds::best_threshold(&present[..n / 2], &absent[..n / 2]);
    let above = |values: &[f64]| values.iter().filter(|&&value| value > threshold).count() as u64;
    let tested = (n - n / 2) as u64;
    let (hits, alarms) = (above(&present[n / 2..n]), above(&absent[n / 2..n]));
    let (least_hits, _) = share_between(hits, tested, FALSE_ALARM);
    let (_, most_alarms) = share_between(alarms, tested, FALSE_ALARM);
    let advantage = least_hits - most_alarms;
    if let Some(claimed) = pure(events) {
        // The largest advantage under ε is tanh(ε/2), that of an answer that is true with odds e^ε.
        let found = 2.0 * advantage.clamp(0.0, 1.0).atanh();
        return Ok(Finding { setting, outcomes: n, claimed, found, share: found / claimed });
    }
    let accountant =
        |factor: f64| Ok::<_, Box<dyn Error>>(Accountant::new(*relation).with(&louder(events, factor)?));
    let claimed = accountant(1.0)?.epsilon(DELTA)?.upper;
    let allows = |factor: f64| Ok::<_, Box<dyn Error>>(accountant(factor)?.advantage()?.upper >= advantage);
    let found = if advantage <= 0.0 {
        0.0
    } else {
        let (mut low, mut high) = (1e-3, 1.0);
        while !allows(high)? {
            (low, high) = (high, 2.0 * high);
            if high > 1e3 {
                return Err("the outcomes tell the data sets apart without any noise".into());
            }
        }
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if allows(middle)? { high = middle } else { low = middle }
        }
        accountant(low)?.epsilon(DELTA)?.lower
    };
    Ok(Finding { setting, outcomes: n, claimed, found, share: found / claimed })
}

/// Goes through everything that [`Setting`] names; `draws` outcomes on each data set.
///
/// # Errors
/// Those of the libraries.
pub fn all(draws: usize, mut told: impl FnMut(&Finding)) -> Result<Vec<Finding>, Box<dyn Error>> {
    let mut findings = Vec::new();
    let cases = sums::cases().into_iter().chain(tables::cases()).chain(mechanisms::cases());
    for (setting, outcomes) in cases {
        let finding = examine(setting, &outcomes(draws)?)?;
        told(&finding);
        findings.push(finding);
    }
    Ok(findings)
}

/// How outcomes are made: their number is given.
type Make = Box<dyn Fn(usize) -> Result<Outcomes, Box<dyn Error>>>;

/// The findings as a table in Markdown.
#[must_use]
pub fn markdown(findings: &[Finding]) -> String {
    let mut text = String::from(
        "| release | sampler | relation | bound | noise | outcomes | ε claimed | ε at least | share |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for finding in findings {
        let Finding { setting, outcomes, claimed, found, share } = finding;
        let Setting { release, sampler, relation, bound, noise } = setting;
        text.push_str(&format!(
            "| {release} | {sampler} | {relation} | {bound} | {noise} | 2 × {outcomes} | {claimed:.3} | {found:.3} | {:.0} % |\n",
            100.0 * share
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::Sampling;

    fn outcomes(shift: f64, noise_multiplier: f64) -> Outcomes {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).unwrap();
        let normal = |k: usize, shift: f64| {
            let law = ppl_distributions::Normal::new(shift, noise_multiplier);
            law.quantile(((k * 7919) % 20_000) as f64 / 20_000.0 + 2.5e-5)
        };
        Outcomes {
            relation: Relation::AddRemove,
            events: Composition::single(event, 1),
            present: (0..20_000).map(|k| normal(k, shift)).collect(),
            absent: (0..20_000).map(|k| normal(k, 0.0)).collect(),
        }
    }

    fn setting() -> Setting {
        Setting {
            release: "a number",
            sampler: "all",
            relation: Relation::AddRemove.to_string(),
            bound: "none",
            noise: "exact",
        }
    }

    #[test]
    fn what_is_claimed_is_not_broken_and_less_noise_is() {
        // The advantage is 2Φ(1/3) − 1 = 0.261, and 4.9 standard errors of two shares of 10,000 are 0.047: what is left
        // is that of means 0.543 deviations apart, which cost ε = 2.18 in place of 2.75.
        let right = examine(setting(), &outcomes(1.0, 1.5)).unwrap();
        assert!(!right.is_broken() && right.share > 0.77, "{right:?}");
        // Means 1.3 times as far apart have an advantage of 0.335.
        let wrong = examine(setting(), &outcomes(1.3, 1.5)).unwrap();
        assert!(wrong.is_broken(), "{wrong:?}");
        let nothing = examine(setting(), &outcomes(0.0, 1.5)).unwrap();
        assert_eq!(nothing.found, 0.0);
    }
}
