//! Mechanisms put to work on a bounded value: what they need, and what comes out.

use super::usefulness::{best, distances};
use super::{
    Exponential, ExponentialOfPosteriors, Geometric, GeometricCounts, Laplace, Mechanism, Mixture,
    PosteriorDraw, RandomisedResponse, posterior, sealed,
};
use crate::error::{Error, Result};
use crate::sensitive_value::{Private, RelationOf};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Purse, Relation};
use dp_sampler::Seed;
use ppl_core::finite::{
    Conjugate, Dist, Divergence, Hellinger, Histogram, IntoPosterior, L1, Rational, ReplaceOne, Statistic,
    Weight, histograms,
};
use std::fmt::Debug;

/// Most data sets that are considered to have led to a release.
const MOST: u128 = 200_000;

/// Most data sets of which the best guess is sought among all pairs.
const MOST_PAIRED: usize = 2048;

/// A mechanism that can release a value `V`, bounded in the metric `M` for neighbours by `R`. Only this crate implements
/// it.
pub trait Recipe<V, M, R>: sealed::Sealed {
    /// What comes out: public.
    type Released;

    /// Prepares the mechanism from public things, debits its event, and draws once.
    ///
    /// # Errors
    /// See [`Bounded::release`](crate::Bounded::release).
    fn release(
        self,
        value: (V, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: &Seed,
    ) -> Result<Self::Released>;
}

impl sealed::Sealed for Geometric {}
impl sealed::Sealed for Exponential {}
impl sealed::Sealed for Laplace {}
impl sealed::Sealed for RandomisedResponse {}
impl sealed::Sealed for PosteriorDraw {}

/// Checks the ledger's relation, debits the event, and draws: the one way to a release.
fn draw<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    records: &Sensitive<Histogram<T>>,
    purse: &mut (impl Purse + ?Sized),
    seed: &Seed,
) -> Result<K::Outcome> {
    same_relation(mechanism.relation(), purse)?;
    let event = mechanism.event()?;
    let receipt = purse.debit(event, 1)?;
    records.draw_once((receipt, event), |data| mechanism.draw(data, seed, 0))
}

fn same_relation(relation: Relation, purse: &(impl Purse + ?Sized)) -> Result<()> {
    match purse.ledger().budget().relation == relation {
        true => Ok(()),
        false => {
            Err(Error::Conflict("the mechanism and the ledger are for different relations of neighbours"))
        }
    }
}

/// The public number of records, which there is under replace-one.
fn public_number<T: Ord + Clone>(records: &Sensitive<Histogram<T>>) -> Result<u64> {
    records
        .public_total(Relation::ReplaceOne)
        .ok_or(Error::Conflict("this mechanism needs a public number of records, so it is for replace-one"))
}

/// All data sets, and the program at each of them.
fn everywhere<T: Ord + Clone, P: IntoPosterior>(
    all: Vec<Histogram<T>>,
    program: impl Fn(&Histogram<T>) -> P,
) -> Result<Vec<(Histogram<T>, P::Posterior)>> {
    all.into_iter().map(|data| posterior(program(&data)).map(|found| (data, found))).collect()
}

/// What the geometric mechanism released, and what follows from it.
#[derive(Clone, Debug)]
pub struct NoisyCounts<T, P> {
    mechanism: GeometricCounts,
    counts: Vec<u64>,
    /// All data sets that may have led to it, with their posteriors.
    data: Vec<(Histogram<T>, P)>,
    nothing: P,
    plug_in: P,
    best: usize,
}

impl<T: Ord + Clone, P: Clone> NoisyCounts<T, P> {
    /// The noisy counts, clamped: of all values, or of the first one of two where the number of records is public.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The ε that was paid for.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        <GeometricCounts as Mechanism<T>>::claim(&self.mechanism)
    }

    /// The possible posterior with the least expected Hellinger distance from the true one, where all data sets were
    /// equally likely: post-processing. With more than 2048 possible data sets it is the likeliest one.
    #[must_use]
    pub fn value(&self) -> &P {
        &self.data[self.best].1
    }

    /// The posterior as if the noisy counts were true ones. It knows nothing of the noise.
    #[must_use]
    pub fn plug_in(&self) -> &P {
        &self.plug_in
    }

    /// The posterior given what was released, where data sets have these logarithms of prior weights (public).
    ///
    /// # Errors
    /// None at present; kept for mechanisms whose likelihood can fail.
    pub fn posterior_under(&self, log_prior: impl Fn(&Histogram<T>) -> f64) -> Result<Mixture<T, P>> {
        let parts = self.data.iter().map(|(data, posterior)| {
            let weight = log_likelihood(&self.mechanism, &self.counts, data) + log_prior(data);
            (weight, data.clone(), posterior.clone())
        });
        Ok(Mixture::new(parts))
    }

    /// The posterior given what was released, under the program's own prior:
    ///
    /// ```text
    /// p(θ | k̃) = Σ_k p(k | k̃) p(θ | k),    p(k | k̃) ∝ P(k̃ | k) p(k)
    /// ```
    ///
    /// with `p(k)` the probability of the counts under the prior, for `Beta(1, 1)` uniform. Under add/remove, where the
    /// number of records is not known either, each number up to the largest is equally likely.
    ///
    /// # Errors
    /// As [`posterior_under`](Self::posterior_under).
    pub fn posterior(&self) -> Result<Mixture<T, P>>
    where
        P: Conjugate,
    {
        let evidence: std::collections::BTreeMap<&[u64], f64> = self
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

/// `ln P(noisy | data)`, for counts that fit.
fn log_likelihood<T>(mechanism: &GeometricCounts, noisy: &[u64], data: &Histogram<T>) -> f64 {
    let one = |(&noisy, &count)| mechanism.weight(noisy, count).ln().estimate();
    noisy.iter().zip(data.counts()).map(one).sum()
}

impl<T, F, L, M, R> Recipe<Private<'_, T, F>, M, R> for Geometric
where
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> L,
    L: IntoPosterior,
    Hellinger: Divergence<L::Posterior>,
    R: RelationOf,
{
    type Released = NoisyCounts<T, L::Posterior>;

    fn release(
        self,
        (value, _): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: &Seed,
    ) -> Result<Self::Released> {
        let (records, program) = (value.records(), value.program());
        same_relation(R::RELATION, purse)?;
        let alphabet = records.alphabet();
        let (mechanism, totals) = match (records.public_total(R::RELATION), self.most) {
            (Some(number), _) => (self.for_records(alphabet.len(), number)?, number..=number),
            (None, Some(most)) => (self.for_at_most(alphabet.len(), most)?, 0..=most),
            (None, None) => {
                return Err(Error::Missing {
                    what: "the largest number of records",
                    why: "under add/remove their number is secret, and counts are clamped: Geometric::at_most(…), from public \
                          knowledge",
                });
            }
        };
        // The program at everything that may have happened, before anything is paid for.
        let all = histograms(alphabet.to_vec(), totals, MOST)?;
        let nothing = all.first().map(|one| one.with_counts(vec![0; alphabet.len()])).transpose()?;
        let data = everywhere(all, program)?;
        let Some(nothing) = nothing else { return Err(Error::Conflict("an alphabet without values")) };
        let at = |counts: Vec<u64>| posterior(program(&nothing.with_counts(counts)?));
        let empty = at(vec![0; alphabet.len()])?;
        let distances =
            if data.len() <= MOST_PAIRED { distances::<Hellinger, T, _>(&data) } else { Vec::new() };

        let counts = draw(&mechanism, records, purse, seed)?;
        let mut full = counts.clone();
        if full.len() + 1 == alphabet.len() {
            full.push(mechanism.most() - full[0]);
        }
        let logs: Vec<f64> = data.iter().map(|(data, _)| log_likelihood(&mechanism, &counts, data)).collect();
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = match distances.is_empty() {
            true => logs.iter().position(|&log| log == largest).unwrap_or(0),
            false => best(&logs.iter().map(|log| (log - largest).exp()).collect::<Vec<_>>(), &distances),
        };
        // Public from here on, so a program that fails at counts that do not add up is no secret.
        Ok(NoisyCounts { mechanism, counts, data, nothing: empty, plug_in: at(full)?, best })
    }
}

/// What the exponential mechanism chose.
#[derive(Clone, Debug)]
pub struct ChosenPosterior<T, P> {
    data: Histogram<T>,
    value: P,
    mechanism: ExponentialOfPosteriors<T>,
}

impl<T, P> ChosenPosterior<T, P> {
    /// The chosen posterior.
    #[must_use]
    pub fn value(&self) -> &P {
        &self.value
    }

    /// A data set that has it.
    #[must_use]
    pub fn data(&self) -> &Histogram<T> {
        &self.data
    }

    /// The mechanism, whose law is public.
    #[must_use]
    pub fn mechanism(&self) -> &ExponentialOfPosteriors<T> {
        &self.mechanism
    }
}

impl<T, F, L> Recipe<Private<'_, T, F>, Hellinger, ReplaceOne> for Exponential
where
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> L,
    L: IntoPosterior,
    Hellinger: Divergence<L::Posterior>,
{
    type Released = ChosenPosterior<T, L::Posterior>;

    fn release(
        self,
        (value, distance): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: &Seed,
    ) -> Result<Self::Released> {
        let (records, program) = (value.records(), value.program());
        let mechanism = self.over(program, (records.alphabet(), public_number(records)?), distance)?;
        let place = draw(&mechanism, records, purse, seed)?;
        let data = mechanism.candidates()[place].clone();
        let value = posterior(program(&data))?;
        Ok(ChosenPosterior { data, value, mechanism })
    }
}

impl<T, F, L, M> Recipe<Private<'_, T, F>, M, ReplaceOne> for RandomisedResponse
where
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> L,
{
    /// How often each value was told.
    type Released = Vec<u64>;

    fn release(
        self,
        (value, _): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: &Seed,
    ) -> Result<Self::Released> {
        let records = value.records();
        draw(&self.for_categories(records.alphabet().len())?, records, purse, seed)
    }
}

impl<T, O, F, M> Recipe<Private<'_, T, F>, M, ReplaceOne> for PosteriorDraw
where
    T: Ord + Clone + Debug,
    O: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> ppl_core::Result<Dist<O, Rational>>,
{
    /// The outcome that was drawn.
    type Released = O;

    fn release(
        self,
        (value, _): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: &Seed,
    ) -> Result<O> {
        let (records, program) = (value.records(), value.program());
        let mechanism = self.over(program, (records.alphabet(), public_number(records)?))?;
        draw(&mechanism, records, purse, seed)
    }
}

impl<T, F> Recipe<Private<'_, T, F>, L1, ReplaceOne> for Laplace
where
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> Statistic,
{
    /// The noisy elements, clamped.
    type Released = Vec<i64>;

    fn release(
        self,
        (value, distance): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: &Seed,
    ) -> Result<Vec<i64>> {
        let (records, program) = (value.records(), value.program());
        let mechanism = self.over(program, (records.alphabet(), public_number(records)?), distance)?;
        draw(&mechanism, records, purse, seed)
    }
}
