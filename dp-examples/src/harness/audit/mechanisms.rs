//! Mechanisms on histograms.

use super::{Make, Outcomes, Setting};
use dp_accountant::{Composition, Event, Mechanism as Accounted, Relation, Sampling};
use dp_sampler::Seed;
use dp_vi::mechanisms::{
    DataSets, DiscreteGaussian, Exponential, Geometric, Laplace, Mechanism, RandomisedResponse,
};
use ppl_core::finite::{Beta, Histogram, ReplaceOne, dirichlet_hellinger};
use std::error::Error;

const RECORDS: u64 = 12;
const EPSILON: f64 = 1.0;

/// Outcomes on two histograms of coins as a number each.
fn outcomes<M: Mechanism<bool>>(
    mechanism: &M,
    counts: [[u64; 2]; 2],
    count: usize,
    statistic: impl Fn(M::Outcome) -> f64,
) -> Result<Outcomes, Box<dyn Error>> {
    let one = |counts: [u64; 2], seed: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        let data = Histogram::new(vec![false, true], counts.to_vec())?;
        let seed = Seed::for_tests(seed);
        (0..count as u64).map(|k| Ok(statistic(mechanism.draw(&data, &seed, k)?))).collect()
    };
    let (present, absent) = (one(counts[0], 31)?, one(counts[1], 32)?);
    let events = Composition::single(mechanism.event()?, 1);
    Ok(Outcomes { relation: mechanism.relation(), events, law: None, present, absent })
}

/// Every mechanism that draws on its own.
pub(super) fn cases() -> Vec<(Setting, Make)> {
    let mut cases: Vec<(Setting, Make)> = Vec::new();
    let mut add = |release: &'static str, relation: Relation, noise: &'static str, make: Make| {
        let (relation, sampler, bound) = (relation.to_string(), "all records", "by enumeration");
        cases.push((Setting { release, sampler, relation, bound, noise, why: None }, make));
    };
    let replaced = [[5, 7], [6, 6]];
    let added = [[6, 7], [6, 6]];
    // The number of true coins is what is released under replace-one by its complement, the first count.
    add("a count", Relation::ReplaceOne, "geometric", {
        Box::new(move |n| {
            let mechanism = Geometric::new(EPSILON)?.for_records(2, RECORDS)?;
            outcomes(&mechanism, replaced, n, |counts| -(counts[0] as f64))
        })
    });
    add("two counts", Relation::AddRemove, "geometric", {
        Box::new(move |n| {
            let mechanism = Geometric::new(EPSILON)?.for_at_most(2, RECORDS)?;
            outcomes(&mechanism, added, n, |counts| counts[1] as f64)
        })
    });
    add("a count", Relation::ReplaceOne, "discrete Gaussian", {
        Box::new(move |n| {
            let mechanism = DiscreteGaussian::new(EPSILON, super::DELTA)?.for_records(2, RECORDS)?;
            let sigma = mechanism.variance().sqrt();
            // Of two counts the first is released, which a record moves by one.
            let law = Accounted::DiscreteGaussian { sigma, sensitivity: 1 };
            let law = Composition::single(Event::new(law, Sampling::None)?, 1);
            let found = outcomes(&mechanism, replaced, n, |counts| -(counts[0] as f64))?;
            Ok(Outcomes { law: Some((Relation::AddRemove, law)), ..found })
        })
    });
    add("a sum", Relation::ReplaceOne, "Laplace on a grid", {
        Box::new(move |n| {
            let mechanism = Laplace::new(EPSILON)?.for_records(vec![0, 1], RECORDS)?;
            outcomes(&mechanism, replaced, n, |sum| sum as f64)
        })
    });
    add("answers", Relation::ReplaceOne, "randomised response", {
        Box::new(move |n| {
            let mechanism = RandomisedResponse::for_epsilon(EPSILON, 2)?.for_categories(2)?;
            // One record only: others' answers would hide its own.
            outcomes(&mechanism, [[0, 1], [1, 0]], n, |counts| counts[1] as f64)
        })
    });
    add("a posterior", Relation::ReplaceOne, "exponential mechanism, calibrated", {
        Box::new(move |n| {
            let prior = Beta::new(1.0, 1.0)?;
            let program = |data: &Histogram<bool>| prior.observe_all(data);
            let sets = DataSets::of_records(&[false, true], RECORDS);
            let distance = dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0])?.upper();
            let mechanism = Exponential::calibrated(EPSILON)?.over(program, sets, distance)?;
            let chosen: Vec<f64> =
                mechanism.candidates().iter().map(|data| data.counts()[1] as f64).collect();
            // The two at the end, where the loss is largest.
            outcomes(&mechanism, [[0, 12], [1, 11]], n, move |place| chosen[place])
        })
    });
    cases
}
