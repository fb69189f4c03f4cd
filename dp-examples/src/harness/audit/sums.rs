//! Noisy sums of clipped gradients, by every sampler.

use super::{Make, Outcomes, Setting, ledger};
use dp_accountant::{Composition, Relation};
use dp_sampler::{
    BallsInBins, FixedSize, FullBatch, Poisson, Seed, Shuffle, Subsampler, Subsampling, WithReplacement,
};
use dp_vi::{PrivacyNoise, PrivateGradient, Sensitive};
use ndarray::Array2;
use ppl_core::{Column, Graph, Record, RecordGradient, Records};
use std::error::Error;

const CLIP: f64 = 0.7;
const NOISE_MULTIPLIER: f64 = 1.5;
/// Records beside the one that is looked for; their gradients are 0, so that nothing hides it.
const OTHERS: usize = 7;

/// Records whose gradient is their own `x`. The one that is looked for has a gradient far above the clip norm, in
/// either direction or not at all.
fn records(canary: Option<f64>) -> Result<Sensitive<Records>, Box<dyn Error>> {
    let mut x = Array2::zeros((OTHERS + usize::from(canary.is_some()), 2));
    if let Some(value) = canary {
        x[[OTHERS, 1]] = value;
    }
    Ok(Sensitive::new(Records::from_columns([("x", Column::from(x))])?))
}

/// The statistic of `count` outcomes that come together, `each` releases an outcome.
fn outcomes<S: Subsampling>(
    (relation, noise): (Relation, PrivacyNoise),
    plan: &S,
    each: u64,
    count: usize,
) -> Result<Outcomes, Box<dyn Error>> {
    let one = |canary: Option<f64>, seed: u64| -> Result<(Vec<f64>, Composition), Box<dyn Error>> {
        let records = records(canary)?;
        let graph = Graph::new();
        let w = graph.input("w", 2)?;
        let value = Record::new(&graph, records.schema()).get("x")?.dot(w);
        let gradient = RecordGradient::new(value, &[w])?;
        let norms = (CLIP, NOISE_MULTIPLIER);
        let mut mechanism =
            PrivateGradient::with_noise(gradient, norms, noise, plan, &records, Seed::for_tests(seed))?;
        // What is released is divided by the sampling rate, which is public.
        let number = OTHERS as u64 + 1;
        let rate = plan.bind(number, &Seed::for_tests(0))?.expected_batch() / number as f64;
        let (mut sums, mut numbers, mut events) = ([0.0; 2], Vec::with_capacity(count), Composition::new());
        for k in 0..count {
            // A ledger for each outcome: what one of them costs is what is claimed.
            let mut ledger = ledger(relation)?;
            let mut together = Vec::with_capacity(each as usize);
            for permit in mechanism.pay(&mut ledger, each)? {
                mechanism.release(permit, &mut sums)?;
                together.push(sums[1] * rate / CLIP / NOISE_MULTIPLIER.powi(2));
            }
            numbers.push(together);
            if k == 0 {
                events = ledger.events().clone();
            }
        }
        // Each of the releases is as likely as the others to hold the record: the logarithm of the mean of their
        // likelihood ratios, and of those of the other direction under replace-one.
        let mean = |sign: f64, values: &[f64]| {
            let top = values.iter().map(|x| sign * x).fold(f64::NEG_INFINITY, f64::max);
            top + values.iter().map(|x| (sign * x - top).exp()).sum::<f64>().ln()
        };
        let statistic = |values: &Vec<f64>| match relation {
            Relation::AddRemove => mean(1.0, values),
            Relation::ReplaceOne => mean(1.0, values) - mean(-1.0, values),
        };
        Ok((numbers.iter().map(statistic).collect(), events))
    };
    let other = match relation {
        Relation::AddRemove => None,
        Relation::ReplaceOne => Some(-40.0),
    };
    let (present, events) = one(Some(40.0), 11)?;
    let (absent, _) = one(other, 12)?;
    Ok(Outcomes { relation, events, law: None, present, absent })
}

/// Why the claim for a sampler is above every attack.
fn why(sampler: &str) -> Option<&'static str> {
    if sampler.starts_with("balls in") {
        Some(
            "the claim is that of an attacker who knows the record's bin, as no better theorem is used; this one is \
             not, and no attack is known that makes up for that",
        )
    } else if sampler.starts_with("shuffled") {
        Some(
            "the claim is that of an attacker who knows the record's place in the order, as no better bound is known; \
             this one is not, and no attack is known that makes up for that",
        )
    } else {
        None
    }
}

/// Every sampler, in every relation that permits it, with both kinds of noise.
pub(super) fn cases() -> Vec<(Setting, Make)> {
    use PrivacyNoise::{Continuous, Exact};
    use Relation::{AddRemove, ReplaceOne};
    let mut cases: Vec<(Setting, Make)> = Vec::new();
    let mut add = |sampler: &'static str, relation: Relation, noise: PrivacyNoise, make: Make| {
        let relation = relation.to_string();
        let noise = if noise == Exact { "exact" } else { "continuous" };
        let release = "a sum of gradients";
        let setting = Setting { release, sampler, relation, bound: "clipped to C", noise, why: why(sampler) };
        cases.push((setting, make));
    };
    for noise in [Exact, Continuous] {
        for relation in [AddRemove, ReplaceOne] {
            add(
                "all records",
                relation,
                noise,
                Box::new(move |n| outcomes((relation, noise), &FullBatch, 1, n)),
            );
        }
    }
    for relation in [AddRemove, ReplaceOne] {
        let of = (relation, Exact);
        add(
            "Poisson, rate 1/4",
            relation,
            Exact,
            Box::new(move |n| outcomes(of, &Poisson::rate(0.25)?, 1, n)),
        );
        add("balls in 4 bins, an epoch", relation, Exact, {
            Box::new(move |n| outcomes(of, &BallsInBins::bins(4)?.exact(), 4, n))
        });
    }
    let of = (ReplaceOne, Exact);
    add("2 of 8 without replacement", ReplaceOne, Exact, {
        Box::new(move |n| outcomes(of, &FixedSize::batch(2)?, 1, n))
    });
    add("2 of 8 with replacement", ReplaceOne, Exact, {
        Box::new(move |n| outcomes(of, &WithReplacement::batch(2)?, 1, n))
    });
    add("shuffled batches of 2 of 8, an epoch", ReplaceOne, Exact, {
        Box::new(move |n| outcomes(of, &Shuffle::batch(2)?, 4, n))
    });
    cases
}
