//! Functions of sensitive histograms, with metric, relation and bound in their types.

use crate::error::{Error, Result};
use crate::wall::sensitive::Sensitive;
use dp_accountant::Relation;
use ppl_core::finite::{
    AddRemove, Adjacency, Dist, Divergence, Histogram, InSequence, Interval, IntoPosterior, Neighbours,
    ReplaceOne, Weight, Worst,
};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

/// What a relation of histograms is to the accountant.
pub trait RelationOf: Adjacency {
    /// The accountant's name for it.
    const RELATION: Relation;
}

impl RelationOf for ReplaceOne {
    const RELATION: Relation = Relation::ReplaceOne;
}

impl RelationOf for AddRemove {
    const RELATION: Relation = Relation::AddRemove;
}

/// A function of records that are behind the wall, not yet bounded and not computed.
///
/// The function sees a [`Histogram`], so it cannot depend on the order of records. It must be deterministic.
pub struct Private<'r, T, F> {
    records: &'r Sensitive<Histogram<T>>,
    program: F,
    most: Option<u64>,
}

impl<'r, T: Ord + Clone, F> Private<'r, T, F> {
    /// `program` of these records.
    pub fn over<L>(records: &'r Sensitive<Histogram<T>>, program: F) -> Self
    where
        F: Fn(&Histogram<T>) -> L,
    {
        Self { records, program, most: None }
    }

    /// For a release under add/remove, where the number of records is secret: every count above this number,
    /// which must be public knowledge, is clamped to it. Then there are finitely many data sets, and
    /// enumeration says all.
    ///
    /// Of K values there are `(count + 1)^K`, and a release that has to look at more than it can refuses them: 2¹⁸ for
    /// noisy counts (three values up to 63), 3000 for the exponential mechanism (three values up to 13).
    #[must_use]
    pub fn at_most(self, count: u64) -> Self {
        Self { most: Some(count), ..self }
    }

    /// The same with a bound on what neighbours change, in the metric `M` and for the relation `R`.
    ///
    /// A bound that [enumeration](ppl_core::finite::neighbours) found holds for the numbers of records that
    /// were looked at: it is accepted where the number of records is public (replace-one) and among those,
    /// and under add/remove where counts are [clamped](Self::at_most) and all clamped data sets are among
    /// those. One that is [stated](Bound::stated), for example a lemma, has to hold for any number. Either is
    /// compared with what enumeration finds for few records.
    ///
    /// # Errors
    /// [`Error::BoundTooSmall`], with a witness, for a bound that enumeration contradicts;
    /// [`Error::OutOfRange`] if an enumerated bound says nothing about this many records; [`Error::Conflict`]
    /// for an enumerated bound under add/remove, where counts are not clamped.
    pub fn bounded_by<M, R, L>(self, bound: impl Into<Bound<M, R>>) -> Result<Bounded<Self, M, R>>
    where
        F: Fn(&Histogram<T>) -> L,
        L: IntoPosterior,
        M: Divergence<L::Posterior>,
        R: RelationOf,
        T: Debug,
    {
        let bound = bound.into();
        self.check_enumerated(&bound)?;
        self.compare_with_few(&bound)?;
        Ok(Bounded { value: self, distance: bound.distance, of: PhantomData })
    }

    /// Checks that a bound which was enumerated says something of all data sets that the program may see.
    fn check_enumerated<M, R: RelationOf>(&self, bound: &Bound<M, R>) -> Result<()> {
        if bound.values.is_some_and(|values| values != self.records.alphabet().len()) {
            return Err(Error::Conflict(
                "the bound was enumerated over an alphabet of another number of values",
            ));
        }
        let Some(looked_at) = &bound.records else { return Ok(()) };
        let Some(needed) = self.totals(R::RELATION) else {
            return Err(Error::Conflict(
                "under add/remove the number of records is secret, so a bound that was enumerated up to some number says \
                 nothing: clamp counts with Private::at_most, or state a bound that holds for any number",
            ));
        };
        if looked_at.contains(needed.start()) && looked_at.contains(needed.end()) {
            return Ok(());
        }
        let requirement = "among those for which the bound was enumerated";
        let value = *needed.end() as f64;
        Err(Error::OutOfRange { what: "the number of records", requirement, value })
    }

    /// The numbers of records of all data sets that the program may see, where they are public.
    fn totals(&self, relation: Relation) -> Option<RangeInclusive<u64>> {
        match (self.records.public_total(relation), self.most) {
            (Some(records), _) => Some(records..=records),
            (None, Some(most)) => Some(0..=most.saturating_mul(self.records.alphabet().len() as u64)),
            (None, None) => None,
        }
    }

    /// The largest count, where counts are clamped.
    pub(crate) fn most(&self) -> Option<u64> {
        self.most
    }

    /// Compares a bound with all neighbours of few records.
    fn compare_with_few<M, R, L>(&self, bound: &Bound<M, R>) -> Result<()>
    where
        F: Fn(&Histogram<T>) -> L,
        L: IntoPosterior,
        M: Divergence<L::Posterior>,
        R: RelationOf,
        T: Debug,
    {
        /// Few enough to be enumerated at every release.
        const MOST: u128 = 500;
        let alphabet = self.records.alphabet();
        // Of the sizes for which it is to hold, the least.
        let (start, end) = bound.records.clone().map_or((0, u64::MAX), RangeInclusive::into_inner);
        let few = |more: u64| {
            let sizes = start..=end.min(start.saturating_add(more));
            let neighbours = Neighbours::over(alphabet, sizes, R::default()).limit(MOST);
            neighbours.worst::<M, _>(|data: &Histogram<T>| (self.program)(data)).ok()
        };
        // The most records of which there are few enough data sets; none where the alphabet is too large for
        // one.
        let Some(worst) = (0..=8).rev().find_map(few) else { return Ok(()) };
        if worst.value().lower() <= bound.distance {
            return Ok(());
        }
        let witness =
            worst.witness().map_or_else(String::new, |(one, other)| format!("{one:?} and {other:?}"));
        Err(Error::BoundTooSmall { stated: bound.distance, found: worst.value().lower(), witness })
    }

    /// The records, for mechanisms.
    pub(crate) fn records(&self) -> &'r Sensitive<Histogram<T>> {
        self.records
    }

    /// The function, which is public.
    pub(crate) fn program(&self) -> &F {
        &self.program
    }
}

/// A bound on the distance between the values of a function at any two neighbours by `R`, in the metric `M`.
#[derive(Clone, Debug)]
pub struct Bound<M, R> {
    distance: f64,
    /// For how many records it is known to hold; any number where there is none.
    records: Option<RangeInclusive<u64>>,
    /// Of how many values the records were for which it was enumerated.
    values: Option<usize>,
    of: PhantomData<fn(M, R)>,
}

impl<M, R> Bound<M, R> {
    /// A bound that holds for any number of records, by an argument of the caller's; the upper end counts.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless it is at least 0 and finite.
    pub fn stated(distance: Interval) -> Result<Self> {
        let value = distance.upper();
        if !(value >= 0.0 && value.is_finite()) {
            let (what, requirement) = ("a bound on a distance", "at least 0 and finite");
            return Err(Error::OutOfRange { what, requirement, value });
        }
        Ok(Self { distance: value, records: None, values: None, of: PhantomData })
    }

    /// The bound, rounded up.
    #[must_use]
    pub fn distance(&self) -> f64 {
        self.distance
    }
}

impl<T, M, R: Adjacency> From<Worst<T, R, M>> for Bound<M, R> {
    fn from(worst: Worst<T, R, M>) -> Self {
        let (records, values) = (Some(worst.records()), Some(worst.values()));
        Self { distance: worst.value().upper(), records, values, of: PhantomData }
    }
}

/// A value behind the wall of which is known how far neighbours by the relation `R` move it in the metric
/// `M`: at most [`distance`](Self::distance), rounded upward.
///
/// What is done with it keeps the bound true, or does not compile:
///
/// | step | bound |
/// |---|---|
/// | [`map`](Self::map) | unchanged |
/// | [`and_then`](Self::and_then) | [`InSequence`] of both |
/// | [`release`](Self::release) | consumes the value; the mechanism's event is debited |
///
/// ```
/// use dp_accountant::{Budget, Ledger, Relation};
/// use dp_vi::mechanisms::Geometric;
/// use dp_vi::{Private, Sensitive};
/// use ppl_core::finite::{Beta, Conjugate, Hellinger, Histogram, ReplaceOne, neighbours};
///
/// let coins = Sensitive::new(Histogram::of((0..20).map(|k| k % 3 == 0))?);
/// let prior = Beta::new(1.0, 1.0)?;
/// let learn_bias = |coins: &Histogram<bool>| prior.observe_all(coins);
/// let bound = neighbours(20, ReplaceOne).worst::<Hellinger, _>(learn_bias)?;
/// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::ReplaceOne })?;
/// let posterior = Private::over(&coins, learn_bias).bounded_by(bound)?;
/// let released = posterior.release(Geometric::new(1.0)?, &mut ledger)?; // public from here on
/// assert!(released.value().mean()[0] < 1.0 && released.posterior()?.mean()[0] > 0.0);
/// assert!(ledger.spent()?.upper <= 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A bounded value is released once:
///
/// ```compile_fail,E0382
/// # use dp_accountant::{Budget, Ledger};
/// # use dp_vi::mechanisms::Geometric;
/// # use dp_vi::{Private, Sensitive};
/// # use ppl_core::finite::{Beta, Conjugate, Hellinger, Histogram, ReplaceOne, neighbours};
/// # let coins = Sensitive::new(Histogram::of((0..20).map(|k| k % 3 == 0)).unwrap());
/// # let prior = Beta::new(1.0, 1.0).unwrap();
/// # let learn_bias = |coins: &Histogram<bool>| prior.observe_all(coins);
/// # let bound = neighbours(20, ReplaceOne).worst::<Hellinger, _>(learn_bias).unwrap();
/// # let mut ledger = Ledger::new(Budget::replace_one(2.0, 1e-6)).unwrap();
/// let posterior = Private::over(&coins, learn_bias).bounded_by(bound).unwrap();
/// let one = posterior.release(Geometric::new(1.0).unwrap(), &mut ledger);
/// let two = posterior.release(Geometric::new(1.0).unwrap(), &mut ledger);
/// ```
///
/// A kernel whose bound is for other neighbours does not go with it:
///
/// ```compile_fail,E0308
/// # use dp_vi::{Bound, Bounded, Private};
/// # use ppl_core::finite::{AddRemove, Dist, Histogram, Interval, Rational, ReplaceOne, TotalVariation};
/// # fn both<F>(first: Bounded<Private<'_, bool, F>, TotalVariation, ReplaceOne>)
/// # where
/// #     F: Fn(&Histogram<bool>) -> Result<Dist<bool, Rational>, ppl_core::Error>,
/// # {
/// let second = Bound::<TotalVariation, AddRemove>::stated(Interval::exact(0.25)).unwrap();
/// let both = first.and_then(|&x: &bool, _: &Histogram<bool>| Dist::point(!x), second);
/// # }
/// ```
///
/// The same with the right relation does:
///
/// ```
/// # use dp_vi::{Bound, Bounded, Private};
/// # use ppl_core::finite::{AddRemove, Dist, Histogram, Interval, Rational, ReplaceOne, TotalVariation};
/// # fn both<F>(first: Bounded<Private<'_, bool, F>, TotalVariation, ReplaceOne>)
/// # where
/// #     F: Fn(&Histogram<bool>) -> Result<Dist<bool, Rational>, ppl_core::Error>,
/// # {
/// let second = Bound::<TotalVariation, ReplaceOne>::stated(Interval::exact(0.25)).unwrap();
/// let both = first.and_then(|&x: &bool, _: &Histogram<bool>| Dist::point(!x), second);
/// # }
/// ```
pub struct Bounded<V, M, R> {
    value: V,
    distance: f64,
    of: PhantomData<fn(M, R)>,
}

impl<V, M, R> Bounded<V, M, R> {
    /// How far neighbours may be apart, rounded up.
    #[must_use]
    pub fn distance(&self) -> f64 {
        self.distance
    }

    /// The value and the distance, for mechanisms.
    pub(crate) fn into_parts(self) -> (V, f64) {
        (self.value, self.distance)
    }
}

impl<'r, T, F, O, W, M, R> Bounded<Private<'r, T, F>, M, R>
where
    T: Ord + Clone,
    O: Ord,
    W: Weight,
    F: Fn(&Histogram<T>) -> ppl_core::Result<Dist<O, W>>,
    M: InSequence,
    R: RelationOf,
{
    /// A function of the outcome; the bound stays, for it is one of an f-divergence.
    #[expect(clippy::type_complexity, reason = "a closure's type has no name to be an alias of")]
    pub fn map<U: Ord>(
        self,
        function: impl Fn(O) -> U,
    ) -> Bounded<Private<'r, T, impl Fn(&Histogram<T>) -> ppl_core::Result<Dist<U, W>>>, M, R> {
        let Private { records, program, most } = self.value;
        let program = move |data: &Histogram<T>| Ok(program(data)?.map(&function));
        Bounded { value: Private { records, program, most }, distance: self.distance, of: PhantomData }
    }

    /// A kernel on the outcome, which may look at the records, too; `second` bounds what neighbours change of
    /// the kernel at any outcome. That it does is the caller's statement: a kernel that takes no records has the bound
    /// 0.
    ///
    /// # Errors
    /// As [`bounded_by`](Private::bounded_by), for a `second` that was enumerated and says nothing of this many
    /// records.
    #[expect(clippy::type_complexity, reason = "a closure's type has no name to be an alias of")]
    pub fn and_then<U: Ord>(
        self,
        kernel: impl Fn(&O, &Histogram<T>) -> Dist<U, W>,
        second: Bound<M, R>,
    ) -> Result<Bounded<Private<'r, T, impl Fn(&Histogram<T>) -> ppl_core::Result<Dist<U, W>>>, M, R>> {
        self.value.check_enumerated(&second)?;
        let Private { records, program, most } = self.value;
        let distance =
            M::in_sequence(Interval::exact(self.distance), Interval::exact(second.distance)).upper();
        let program = move |data: &Histogram<T>| Ok(program(data)?.and_then(|outcome| kernel(outcome, data)));
        Ok(Bounded { value: Private { records, program, most }, distance, of: PhantomData })
    }
}
