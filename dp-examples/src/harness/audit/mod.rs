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

use dp_accountant::{Accountant, Budget, Composition, Event, Ledger, Mechanism, Relation};
use serde::Serialize;
use std::error::Error;

/// The probability that an audit's lower bound is above the truth, for each audit.
pub const FALSE_ALARM: f64 = 1e-6;

/// δ at which ε is stated.
pub const DELTA: f64 = 1e-5;

/// The relative width of intervals while a factor of the noise is looked for.
const ROUGH: f64 = 1e-3;

/// A share of the claim below which a finding says why.
const LITTLE: f64 = 0.6;

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
    /// Why no attack comes near the claim, where that is known.
    pub why: Option<&'static str>,
}

/// Outcomes of a release on two neighbours, each as one number, and what was paid for one of them.
pub struct Outcomes {
    /// Which data sets are neighbours.
    pub relation: Relation,
    /// What one outcome costs.
    pub events: Composition,
    /// The exact law of the noise where `events` only state a guarantee that it has: releases of noise that may be made
    /// smaller, under a relation of their own.
    pub law: Option<(Relation, Composition)>,
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
    /// The ε of the strongest attack that is known: the lower end of the accountant's interval.
    pub attained: f64,
    /// What ε is at least, but for a probability of [`FALSE_ALARM`].
    pub found: f64,
    /// The last over the first.
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
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                Mechanism::DiscreteGaussian { sigma: sigma / factor, sensitivity }
            }
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
/// their noise would have to be smaller for that to hold is turned into an ε, so that it can be compared with the
/// claim. What is claimed with δ = 0 bounds a ratio: of `P(above)` to `P'(above)`, or of the complements, or both
/// together through the advantage; which of them at which threshold, the first half decides.
///
/// # Errors
/// Those of the accountant, and outcomes that are too few.
pub fn examine(setting: Setting, outcomes: &Outcomes) -> Result<Finding, Box<dyn Error>> {
    let Outcomes { relation, events, law, present, absent } = outcomes;
    let n = present.len().min(absent.len());
    if n < 100 {
        return Err(format!("an audit needs at least 100 outcomes on each data set, got {n}").into());
    }
    let halves = |values: &[f64]| (values[..n / 2].to_vec(), values[n / 2..n].to_vec());
    let ((first, tested), (first_absent, tested_absent)) = (halves(present), halves(absent));
    if let Some(claimed) = pure(events) {
        let question = bounds::best_question(&first, &first_absent, FALSE_ALARM);
        let found = question.epsilon(&tested, &tested_absent, FALSE_ALARM);
        return Ok(Finding {
            setting,
            outcomes: n,
            claimed,
            attained: claimed,
            found,
            share: found / claimed,
        });
    }
    let threshold = bounds::best_threshold(&first, &first_absent);
    let (least_hits, _) = bounds::share_above(threshold, &tested, FALSE_ALARM);
    let (_, most_alarms) = bounds::share_above(threshold, &tested_absent, FALSE_ALARM);
    let advantage = least_hits - most_alarms;
    let claim = Accountant::new(*relation).with(events).epsilon(DELTA)?;
    let (relation, events) = law.as_ref().map_or((*relation, events), |(relation, law)| (*relation, law));
    let accountant =
        |factor: f64| Ok::<_, Box<dyn Error>>(Accountant::new(relation).with(&louder(events, factor)?));
    // Upper ends hold whatever the width that is asked for.
    let allows = |factor: f64| {
        let most = accountant(factor)?.relative_width(ROUGH)?.advantage()?.upper;
        Ok::<_, Box<dyn Error>>(most >= advantage)
    };
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
        for _ in 0..20 {
            let middle = 0.5 * (low + high);
            if allows(middle)? { high = middle } else { low = middle }
        }
        accountant(low)?.epsilon(DELTA)?.lower
    };
    let (claimed, attained) = (claim.upper, claim.lower);
    Ok(Finding { setting, outcomes: n, claimed, attained, found, share: found / claimed })
}

/// Goes through everything that [`Setting`] names; `draws` outcomes on each data set.
///
/// # Errors
/// Those of the libraries.
pub fn all(draws: usize, mut told: impl FnMut(&Finding)) -> Result<Vec<Finding>, Box<dyn Error>> {
    let mut findings = Vec::new();
    let cases = (sums::cases().into_iter())
        .chain(fits::cases(draws))
        .chain(tables::cases())
        .chain(mechanisms::cases());
    for (setting, outcomes) in cases {
        let finding = examine(setting, &outcomes(draws)?)?;
        told(&finding);
        findings.push(finding);
    }
    Ok(findings)
}

/// A ledger that pays for one outcome, whatever it costs.
fn ledger(relation: Relation) -> dp_accountant::Result<Ledger> {
    Ledger::new(Budget { epsilon: 1e3, delta: DELTA, relation })
}

/// How outcomes are made: their number is given.
type Make = Box<dyn Fn(usize) -> Result<Outcomes, Box<dyn Error>>>;

/// The findings as a table in Markdown, and why some of them are far below the claim.
#[must_use]
pub fn markdown(findings: &[Finding]) -> String {
    let mut text = String::from(
        "| release | sampler | relation | bound | noise | outcomes | ε claimed | of the strongest known attack | ε at least \
         | share |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for finding in findings {
        let Finding { setting, outcomes, claimed, attained, found, share } = finding;
        let Setting { release, sampler, relation, bound, noise, .. } = setting;
        text.push_str(&format!(
            "| {release} | {sampler} | {relation} | {bound} | {noise} | 2 × {outcomes} | {claimed:.3} | {attained:.3} | {found:.3} | {:.0} % |\n",
            100.0 * share
        ));
    }
    let little = findings.iter().filter(|finding| finding.share < LITTLE);
    for (k, Finding { setting, share, .. }) in little.enumerate() {
        let Setting { release, sampler, relation, why, .. } = setting;
        let why = why.unwrap_or("with more outcomes more is found: what is missing is confidence");
        let head =
            if k == 0 { format!("\nBelow {:.0} % of the claim:\n", 100.0 * LITTLE) } else { String::new() };
        text.push_str(&format!("{head}- {release}, {sampler}, {relation}, {:.0} %: {why}.\n", 100.0 * share));
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
            law: None,
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
            why: None,
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

    /// 20,000 outcomes of which so many are 1, and the others 0.
    fn marked(ones: usize) -> Vec<f64> {
        (0..20_000).map(|k| f64::from(u8::from((k * 7919) % 20_000 < ones))).collect()
    }

    #[test]
    fn what_is_claimed_without_delta_is_held_to_its_ratio() {
        // 12 % and 5 %, of which the ratio is e^0.875 and the advantage that of ε = 0.14. 4.9 standard errors of 10,000
        // leave 10.5 % and 6.1 %, and so e^0.53.
        let outcomes = |epsilon: f64| Outcomes {
            relation: Relation::ReplaceOne,
            events: Composition::single(
                Event::new(Mechanism::PureDp { epsilon }, Sampling::None).unwrap(),
                1,
            ),
            law: None,
            present: marked(2_400),
            absent: marked(1_000),
        };
        let right = examine(setting(), &outcomes(0.9)).unwrap();
        assert!(!right.is_broken() && right.share > 0.58, "{right:?}");
        assert!(examine(setting(), &outcomes(0.5)).unwrap().is_broken());
        // The complements, the other way round, but for an outcome that falls into the other half.
        let turned = Outcomes { present: marked(19_000), absent: marked(17_600), ..outcomes(0.9) };
        let turned = examine(setting(), &turned).unwrap();
        assert!((turned.found - right.found).abs() < 1e-3, "{turned:?} {right:?}");
    }

    #[test]
    fn what_is_claimed_with_delta_is_compared_with_the_law_of_its_noise() {
        let guarantee =
            Event::new(Mechanism::ApproximateDp { epsilon: 2.76, delta: 9.99e-6 }, Sampling::None).unwrap();
        let plain = outcomes(1.0, 1.5);
        let law = Some((Relation::AddRemove, plain.events.clone()));
        let by_law = Outcomes { events: Composition::single(guarantee, 1), law, ..outcomes(1.0, 1.5) };
        let (with, without) = (examine(setting(), &by_law).unwrap(), examine(setting(), &plain).unwrap());
        assert_eq!(with.found, without.found);
        assert!((with.claimed - 2.76).abs() < 1e-6 && !with.is_broken(), "{with:?}");
    }

    #[test]
    fn far_below_a_claim_there_is_a_reason() {
        let mut all = vec![
            examine(setting(), &outcomes(0.0, 1.5)).unwrap(),
            examine(setting(), &outcomes(1.0, 1.5)).unwrap(),
        ];
        assert!(markdown(&all).ends_with(
            "all, add/remove, 0 %: with more outcomes more is found: what is missing is confidence.\n"
        ));
        all[0].setting.why = Some("the bin is hidden");
        assert!(markdown(&all).ends_with("all, add/remove, 0 %: the bin is hidden.\n"));
        assert!(!markdown(&all[1..]).contains("Below"));
    }
}
