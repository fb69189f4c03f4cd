//! How far what is released is from what would be known without privacy, by enumeration.

use super::Mechanism;
use crate::error::Result;
use ppl_core::finite::{Divergence, Histogram, Interval, Posterior, Weight};
use std::collections::BTreeMap;

/// The expected divergence between the posterior of a data set and the one that is guessed from the release,
/// uniform over data sets.
///
/// # Errors
/// Those of the mechanism's law.
pub fn expected_distance<D, T, K, P>(
    mechanism: &K,
    data: &[(Histogram<T>, P)],
    guess: impl Fn(&K::Outcome) -> P,
) -> Result<Interval>
where
    T: Ord + Clone,
    K: Mechanism<T>,
    P: Posterior,
    D: Divergence<P>,
{
    let mut guesses = BTreeMap::<K::Outcome, P>::new();
    let mut sum = Interval::ZERO;
    for (histogram, posterior) in data {
        for (outcome, weight) in mechanism.law(histogram)?.iter() {
            let guess = guesses.entry(outcome.clone()).or_insert_with(|| guess(outcome));
            sum = sum + weight.value() * D::between(posterior, guess);
        }
    }
    Ok(sum / Interval::exact(data.len().max(1) as f64))
}

/// For each outcome of a mechanism the place of the data set whose posterior is the best guess: the least
/// expected divergence from the true one, where data sets have these prior weights. It is post-processing,
/// for prior and posteriors are public.
///
/// # Errors
/// Those of the mechanism's law.
pub fn bayes_remap<D, T, K, P>(
    mechanism: &K,
    data: &[(Histogram<T>, P)],
    prior: impl Fn(&Histogram<T>) -> f64,
) -> Result<BTreeMap<K::Outcome, usize>>
where
    T: Ord + Clone,
    K: Mechanism<T>,
    P: Posterior,
    D: Divergence<P>,
{
    let mut weights = BTreeMap::<K::Outcome, Vec<f64>>::new();
    for (place, (histogram, _)) in data.iter().enumerate() {
        let prior = prior(histogram);
        for (outcome, weight) in mechanism.law(histogram)?.iter() {
            let of = weights.entry(outcome.clone()).or_insert_with(|| vec![0.0; data.len()]);
            of[place] = prior * weight.value().estimate();
        }
    }
    let distances = distances::<D, T, P>(data);
    Ok(weights.into_iter().map(|(outcome, weights)| (outcome, best(&weights, &distances))).collect())
}

/// Divergences of all pairs.
pub(super) fn distances<D: Divergence<P>, T, P>(data: &[(Histogram<T>, P)]) -> Vec<Vec<f64>> {
    data.iter().map(|(_, p)| data.iter().map(|(_, q)| D::between(p, q).estimate()).collect()).collect()
}

/// The place with the least weighted divergence from the others; the first of equal ones.
pub(super) fn best(weights: &[f64], distances: &[Vec<f64>]) -> usize {
    let cost = |place: usize| -> f64 {
        weights
            .iter()
            .zip(distances)
            .filter(|(weight, _)| **weight > 0.0)
            .map(|(w, row)| w * row[place])
            .sum()
    };
    let costs: Vec<f64> = (0..weights.len()).map(cost).collect();
    (0..costs.len()).fold(0, |least, place| if costs[place] < costs[least] { place } else { least })
}
