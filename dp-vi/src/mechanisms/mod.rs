//! Mechanisms on histograms, each with the exact law of its outcome.
//!
//! | mechanism | what it releases | privacy |
//! |---|---|---|
//! | [`Geometric`] | counts with discrete Laplace noise, clamped to their range: the default | pure ε |
//! | [`DiscreteGaussian`] | counts with discrete Gaussian noise, clamped: for many values | ε and δ |
//! | [`Exponential`] | one of the possible posteriors, by its Hellinger distance from the true one (PrivInfer) | pure ε |
//! | [`RandomisedResponse`] | counts of what records say of themselves, each truthfully with some probability | its own event |
//! | [`Laplace`] | a sum of integers, one of each record's value, or a vector of integers bounded in ℓ₁, with discrete Laplace noise | pure ε |
//! | [`PosteriorDraw`] | one outcome of the program's distribution, where enumeration proves that it is private | pure ε |
//!
//! A mechanism is prepared for [`DataSets`]: those of a public number of records (replace-one), or of counts
//! up to a public number (add/remove, where the number of records is secret). Then it is a [`Mechanism`]: it
//! has a [`law`](Mechanism::law), the exact distribution of its outcome at any histogram, which
//! [`ppl_core::finite::Check`] compares over all neighbours, and the sampler that is tested against that law.
//!
//! ```
//! use dp_vi::mechanisms::{Geometric, Mechanism};
//! use ppl_core::finite::{Check, Histogram, ReplaceOne};
//!
//! let mechanism = Geometric::new(1.0)?.for_records(2, 12)?;
//! let loss = Check::new(|coins: &Histogram<bool>| mechanism.law(coins))
//!     .records(12..=12).alphabet([true, false]).neighbours(ReplaceOne).run()?;
//! assert!(loss.epsilon().upper() <= 1.0 + 1e-12 && loss.epsilon().lower() >= 1.0 - 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Privacy
//! A release consumes a [`Bounded`] value and debits one event. Everything that can fail is found out from
//! public things (the alphabet, the number of records where it is public, the program at *every* histogram)
//! before anything is debited: whether a program fails on the secret histogram would itself be a release. All
//! draws are made from integers and coins that are decided exactly; each number of noise has its law up to a
//! total variation distance of 2⁻¹⁰⁰⁰.
//!
//! Coming from PrivInfer? [`privinfer`] says what goes by which name.

mod data_sets;
mod discrete_gaussian;
mod exponential;
mod geometric;
mod laplace;
mod laplace_vector;
mod mixture;
mod noisy_counts;
mod posterior_draw;
#[doc = include_str!("../../docs/privinfer.md")]
pub mod privinfer {}
mod randomised_response;
mod release;
#[cfg(test)]
mod tests;
mod usefulness;

pub use data_sets::DataSets;
pub use discrete_gaussian::{DiscreteGaussian, DiscreteGaussianCounts};
#[cfg(test)]
pub(crate) use exponential::choice_law;
pub use exponential::{Exponential, ExponentialOfPosteriors};
pub use geometric::{Geometric, GeometricCounts};
pub use laplace::{Laplace, LaplaceSum};
pub use laplace_vector::LaplaceVector;
pub use mixture::Mixture;
pub use noisy_counts::NoisyCounts;
pub use posterior_draw::{PosteriorDraw, PosteriorDrawOf};
pub use randomised_response::{RandomisedCounts, RandomisedResponse};
pub use release::{ChosenPosterior, Recipe};
pub use usefulness::{bayes_remap, expected_distance};

use crate::cost::pricing::choice_event;
use crate::error::{Error, Result};
use crate::sensitive_value::Bounded;
use dp_accountant::{Event, Relation};
use dp_sampler::Seed;
use ppl_core::finite::{DEFAULT_LIMIT, Dist, Histogram, IntoPosterior, LogInterval, Weight};
use std::fmt::Debug;

/// A randomised function of a histogram, with its law.
///
/// Only this crate implements it: that the sampler has the law is tested here.
pub trait Mechanism<T: Ord + Clone>: sealed::Sealed {
    /// What it gives.
    type Outcome: Ord + Clone + Debug;
    /// Weights of its law: exact ones where the law is rational.
    type Weight: Weight;

    /// Which neighbours its guarantee is for.
    fn relation(&self) -> Relation;

    /// The ε that it claims, rounded up.
    fn claim(&self) -> f64;

    /// The δ that it claims beside it: 0 but for Gaussian noise.
    fn claimed_delta(&self) -> f64 {
        0.0
    }

    /// The event that a release debits.
    ///
    /// # Errors
    /// None for a mechanism that could be prepared.
    fn event(&self) -> Result<Event> {
        Ok(choice_event(self.claim())?)
    }

    /// The exact distribution of the outcome at a histogram, which is public here.
    ///
    /// # Errors
    /// If the histogram is not one that the mechanism was prepared for.
    fn law(&self, data: &Histogram<T>) -> Result<Dist<Self::Outcome, Self::Weight>>;

    /// One draw from the law at a histogram, which is public here: the same for the same seed and number.
    ///
    /// # Errors
    /// If the histogram is not one that the mechanism was prepared for.
    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<Self::Outcome>;
}

mod sealed {
    pub trait Sealed {}
}

/// What a program came to, with its failure as an error.
fn posterior<P: IntoPosterior>(value: P) -> Result<P::Posterior> {
    value.into_posterior().map_err(|told| ppl_core::Error::Values(told).into())
}

/// The law of independent elements, each with its own law; the number of outcomes is checked before they are
/// made.
fn product_law<O, I>(
    what: &'static str,
    sizes: impl Iterator<Item = u128>,
    elements: impl FnOnce() -> I,
) -> Result<Dist<Vec<O>, LogInterval>>
where
    O: Ord + Clone,
    I: Iterator<Item = Vec<(O, LogInterval)>>,
{
    let count = sizes.fold(1_u128, |product, size| product.saturating_mul(size));
    if count > DEFAULT_LIMIT {
        return Err(ppl_core::Error::TooMany { what, count, limit: DEFAULT_LIMIT }.into());
    }
    let mut law = vec![(Vec::new(), LogInterval::one())];
    for one in elements() {
        let with = |(values, weight): &(Vec<O>, LogInterval)| {
            let more = one.iter().map(|(value, next)| {
                let mut values = values.clone();
                values.push(value.clone());
                (values, weight.times(next))
            });
            more.collect::<Vec<_>>()
        };
        law = law.iter().flat_map(with).collect();
    }
    Ok(Dist::from_weights(law)?)
}

/// That a histogram has so many values and, where that is public, so many records.
fn check_histogram<T>(data: &Histogram<T>, categories: usize, records: Option<u64>) -> Result<()> {
    if data.alphabet().len() != categories {
        return Err(Error::Conflict(
            "the histogram's alphabet is not the one that the mechanism was prepared for",
        ));
    }
    if records.is_some_and(|records| data.total() != records) {
        return Err(Error::Conflict(
            "the histogram has not the number of records that the mechanism was prepared for",
        ));
    }
    Ok(())
}

impl<V, M, R> Bounded<V, M, R> {
    /// Releases the value by a mechanism, with a secret seed from the operating system; one event is debited.
    ///
    /// # Errors
    /// If the ledger is for another relation, the mechanism cannot be prepared for these records, or the
    /// budget does not allow it; then nothing is debited. None of it depends on records that are secret.
    pub fn release<S: Recipe<V, M, R>>(
        self,
        recipe: S,
        purse: &mut (impl dp_accountant::Purse + ?Sized),
    ) -> Result<S::Released> {
        self.release_seeded(recipe, purse, Seed::from_os()?)
    }

    /// The same with a seed, which must be secret and used for nothing else: it is consumed, for two releases with one
    /// seed would have the same noise, and their difference none.
    ///
    /// ```compile_fail,E0382
    /// # use dp_accountant::{Budget, Ledger};
    /// # use dp_sampler::Seed;
    /// # use dp_vi::mechanisms::Geometric;
    /// # use dp_vi::{Private, Sensitive};
    /// # use ppl_core::finite::{Beta, Conjugate, Hellinger, Histogram, ReplaceOne, neighbours};
    /// # let coins = Sensitive::new(Histogram::of((0..20).map(|k| k % 3 == 0)).unwrap());
    /// # let prior = Beta::new(1.0, 1.0).unwrap();
    /// # let learn_bias = |coins: &Histogram<bool>| prior.observe_all(coins);
    /// # let bound = || neighbours(20, ReplaceOne).worst::<Hellinger, _>(learn_bias).unwrap();
    /// # let mut ledger = Ledger::new(Budget::replace_one(2.0, 1e-6)).unwrap();
    /// # let posterior = || Private::over(&coins, learn_bias).bounded_by(bound()).unwrap();
    /// let seed = Seed::from_os().unwrap();
    /// let one = posterior().release_seeded(Geometric::new(1.0).unwrap(), &mut ledger, seed);
    /// let two = posterior().release_seeded(Geometric::new(1.0).unwrap(), &mut ledger, seed);
    /// ```
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn release_seeded<S: Recipe<V, M, R>>(
        self,
        recipe: S,
        purse: &mut (impl dp_accountant::Purse + ?Sized),
        seed: Seed,
    ) -> Result<S::Released> {
        let (value, distance) = self.into_parts();
        recipe.release((value, distance), purse, seed)
    }
}
