//! Mechanisms put to work on a bounded value: what they need, and what comes out.

use super::{
    DiscreteGaussian, Exponential, ExponentialOfPosteriors, Geometric, Laplace, Mechanism, NoisyCounts,
    PosteriorDraw, RandomisedResponse, noisy_counts, posterior, sealed,
};
use crate::error::{Error, Result};
use crate::sensitive_value::{Private, RelationOf};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Purse, Relation};
use dp_sampler::Seed;
use ppl_core::finite::{
    Dist, Divergence, Hellinger, Histogram, IntoPosterior, L1, Rational, ReplaceOne, Statistic,
};
use std::fmt::Debug;

/// A mechanism that can release a value `V`, bounded in the metric `M` for neighbours by `R`. Only this crate
/// implements it.
pub trait Recipe<V, M, R>: sealed::Sealed {
    /// What comes out: public.
    type Released;

    /// Prepares the mechanism from public things, debits its event, and draws once, with a seed that nothing else is
    /// drawn with.
    ///
    /// # Errors
    /// See [`Bounded::release`](crate::Bounded::release).
    fn release(
        self,
        value: (V, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> Result<Self::Released>;
}

impl sealed::Sealed for DiscreteGaussian {}
impl sealed::Sealed for Geometric {}
impl sealed::Sealed for Exponential {}
impl sealed::Sealed for Laplace {}
impl sealed::Sealed for RandomisedResponse {}
impl sealed::Sealed for PosteriorDraw {}

/// Checks the ledger's relation, debits the event, and draws: the one way to a release.
pub(super) fn draw<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    records: &Sensitive<Histogram<T>>,
    purse: &mut (impl Purse + ?Sized),
    seed: Seed,
) -> Result<K::Outcome> {
    same_relation(mechanism.relation(), purse)?;
    let event = mechanism.event()?;
    let receipt = purse.debit(event, 1)?;
    records.draw_once((receipt, event), |data| mechanism.draw(data, &seed, 0))
}

pub(super) fn same_relation(relation: Relation, purse: &(impl Purse + ?Sized)) -> Result<()> {
    match purse.ledger().budget().relation == relation {
        true => Ok(()),
        false => {
            Err(Error::Conflict("the mechanism and the ledger are for different relations of neighbours"))
        }
    }
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
        seed: Seed,
    ) -> Result<Self::Released> {
        let sets = value.data_sets::<R>()?;
        let mechanism = self.counts(sets.alphabet().len(), sets.number(), sets.relation())?;
        noisy_counts::release(&value, (&mechanism, &sets), purse, seed)
    }
}

impl<T, F, L, M, R> Recipe<Private<'_, T, F>, M, R> for DiscreteGaussian
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
        seed: Seed,
    ) -> Result<Self::Released> {
        let sets = value.data_sets::<R>()?;
        let mechanism = self.counts(sets.alphabet().len(), sets.number(), sets.relation())?;
        noisy_counts::release(&value, (&mechanism, &sets), purse, seed)
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

impl<T, F, L, R> Recipe<Private<'_, T, F>, Hellinger, R> for Exponential
where
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> L,
    L: IntoPosterior,
    Hellinger: Divergence<L::Posterior>,
    R: RelationOf,
{
    type Released = ChosenPosterior<T, L::Posterior>;

    fn release(
        self,
        (value, distance): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> Result<Self::Released> {
        let (records, program) = (value.records(), value.program());
        let mechanism = self.over(program, value.data_sets::<R>()?, distance)?;
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
        seed: Seed,
    ) -> Result<Self::Released> {
        let records = value.records();
        draw(&self.for_categories(records.alphabet().len())?, records, purse, seed)
    }
}

impl<T, O, F, M, R> Recipe<Private<'_, T, F>, M, R> for PosteriorDraw
where
    R: RelationOf,
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
        seed: Seed,
    ) -> Result<O> {
        let (records, program) = (value.records(), value.program());
        let mechanism = self.over(program, value.data_sets::<R>()?)?;
        draw(&mechanism, records, purse, seed)
    }
}

impl<T, F, R> Recipe<Private<'_, T, F>, L1, R> for Laplace
where
    R: RelationOf,
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> Statistic,
{
    /// The noisy elements, clamped.
    type Released = Vec<i64>;

    fn release(
        self,
        (value, distance): (Private<'_, T, F>, f64),
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> Result<Vec<i64>> {
        let (records, program) = (value.records(), value.program());
        let mechanism = self.over(program, value.data_sets::<R>()?, distance)?;
        draw(&mechanism, records, purse, seed)
    }
}
