//! Noisy counts that were released, and what follows from them.

use super::release::{draw, same_relation};
use super::usefulness::{best, distances};
use super::{DataSets, Mechanism, Mixture, posterior};
use crate::error::Result;
use crate::sensitive_value::Private;
use dp_accountant::Purse;
use dp_sampler::Seed;
use ppl_core::finite::{Conjugate, Divergence, Hellinger, Histogram, IntoPosterior};
use std::collections::BTreeMap;

/// Most data sets that are considered to have led to a release: of three values with counts up to 63 under add/remove.
const MOST: u128 = 1 << 18;

/// Most data sets of which the best guess is sought among all pairs.
const MOST_PAIRED: usize = 2048;

/// Noise on each of some counts.
pub(super) trait CountNoise {
    /// The largest count.
    fn most(&self) -> u64;

    /// Logarithms of the probabilities of a clamped noisy count at each true one up to the largest; what they
    /// have in common may be left out.
    fn log_weights(&self, noisy: u64) -> Vec<f64>;
}

/// What a mechanism with noise on counts released, and what follows from it.
#[derive(Clone, Debug)]
pub struct NoisyCounts<T, P> {
    epsilon: f64,
    delta: f64,
    counts: Vec<u64>,
    /// All data sets that may have led to it, with their posteriors and the logarithms of their likelihoods.
    data: Vec<(Histogram<T>, P)>,
    log_likelihoods: Vec<f64>,
    nothing: P,
    plug_in: P,
    best: usize,
}

impl<T: Ord + Clone, P: Clone> NoisyCounts<T, P> {
    /// The noisy counts, clamped: of all values, or of the first one of two where the number of records is
    /// public.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The ε that was paid for.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The δ that was paid for beside it: 0 but for Gaussian noise.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The possible posterior with the least expected Hellinger distance from the true one, where all data
    /// sets were equally likely: post-processing. With more than 2048 possible data sets it is the likeliest
    /// one.
    #[must_use]
    pub fn value(&self) -> &P {
        &self.data[self.best].1
    }

    /// The posterior as if the noisy counts were true ones. It knows nothing of the noise.
    #[must_use]
    pub fn plug_in(&self) -> &P {
        &self.plug_in
    }

    /// The posterior given what was released, where data sets have these logarithms of prior weights
    /// (public).
    ///
    /// # Errors
    /// None at present; kept for mechanisms whose likelihood can fail.
    pub fn posterior_under(&self, log_prior: impl Fn(&Histogram<T>) -> f64) -> Result<Mixture<T, P>> {
        let parts = self
            .data
            .iter()
            .zip(&self.log_likelihoods)
            .map(|((data, posterior), log)| (log + log_prior(data), data.clone(), posterior.clone()));
        Ok(Mixture::new(parts))
    }

    /// The posterior given what was released, under the program's own prior:
    ///
    /// ```text
    /// p(θ | k̃) = Σ_k p(k | k̃) p(θ | k),    p(k | k̃) ∝ P(k̃ | k) p(k)
    /// ```
    ///
    /// with `p(k)` the probability of the counts under the prior, for `Beta(1, 1)` uniform. Under add/remove,
    /// where the number of records is not known either, each number is equally likely before counts above the
    /// largest are ruled out.
    ///
    /// # Errors
    /// As [`posterior_under`](Self::posterior_under).
    pub fn posterior(&self) -> Result<Mixture<T, P>>
    where
        P: Conjugate,
    {
        let evidence: BTreeMap<&[u64], f64> = self
            .data
            .iter()
            .map(|(data, posterior)| {
                let ways: f64 = libm::lgamma(data.total() as f64 + 1.0)
                    - data.counts().iter().map(|&count| libm::lgamma(count as f64 + 1.0)).sum::<f64>();
                (data.counts(), ways + self.nothing.log_evidence(posterior).estimate())
            })
            .collect();
        self.posterior_under(|data| evidence[data.counts()])
    }
}

/// Releases the counts of a value's records by a mechanism, and works out what follows.
pub(super) fn release<T, F, L, K>(
    value: &Private<'_, T, F>,
    (mechanism, sets): (&K, &DataSets<T>),
    purse: &mut (impl Purse + ?Sized),
    seed: Seed,
) -> Result<NoisyCounts<T, L::Posterior>>
where
    T: Ord + Clone,
    F: Fn(&Histogram<T>) -> L,
    L: IntoPosterior,
    Hellinger: Divergence<L::Posterior>,
    K: CountNoise + Mechanism<T, Outcome = Vec<u64>>,
{
    same_relation(sets.relation(), purse)?;
    let program = value.program();
    // The program at everything that may have happened, before anything is paid for.
    let none = Histogram::new(sets.alphabet().to_vec(), vec![0; sets.alphabet().len()])?;
    let at = |data: &Histogram<T>| posterior(program(data));
    let all = sets.all(MOST)?;
    let data =
        all.into_iter().map(|data| at(&data).map(|found| (data, found))).collect::<Result<Vec<_>>>()?;
    let nothing = at(&none)?;
    let distances = if data.len() <= MOST_PAIRED { distances::<Hellinger, T, _>(&data) } else { Vec::new() };

    let counts = draw(mechanism, value.records(), purse, seed)?;
    // Public from here on.
    let weights: Vec<Vec<f64>> = counts.iter().map(|&noisy| mechanism.log_weights(noisy)).collect();
    let log_likelihood = |data: &Histogram<T>| -> f64 {
        // No count is above the largest that the mechanism was prepared for.
        weights.iter().zip(data.counts()).map(|(weights, &count)| weights[count as usize]).sum()
    };
    let log_likelihoods: Vec<f64> = data.iter().map(|(data, _)| log_likelihood(data)).collect();
    let largest = log_likelihoods.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let best = match distances.is_empty() {
        true => log_likelihoods.iter().position(|&log| log == largest).unwrap_or(0),
        false => {
            best(&log_likelihoods.iter().map(|log| (log - largest).exp()).collect::<Vec<_>>(), &distances)
        }
    };
    let mut full = counts.clone();
    if full.len() + 1 == none.counts().len() {
        full.push(mechanism.most() - full[0]);
    }
    // A program may refuse counts that do not add up to the number of records: then the best guess stands in.
    let plug_in = at(&none.with_counts(full)?).unwrap_or_else(|_| data[best].1.clone());
    let (epsilon, delta) = (mechanism.claim(), mechanism.claimed_delta());
    Ok(NoisyCounts { epsilon, delta, counts, data, log_likelihoods, nothing, plug_in, best })
}
