//! The wall's door for sums of integers: what records contribute is an integer, so that sums are exact.

use crate::error::{Error, Result};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Receipt};
use dp_sampler::{ExponentialChoice, NoiseSource};
use ppl_core::{ExecutionPlan, Records};
use zeroize::Zeroizing;

/// *Records → an integer vector of each → their sum → exact noise, or a choice → public.*
///
/// The sums are exact, and nothing reads them but noise and choices, which consume them with a receipt. How
/// much one record can change them is a property of the function that makes the vectors; the event of the
/// receipt has to be for that.
pub(crate) struct IntegerSums(Zeroizing<Vec<i128>>);

impl IntegerSums {
    /// Sums of `numbers` numbers, to which `add` adds the contribution of a record with this value.
    pub(crate) fn of_values(
        values: impl Iterator<Item = f64>,
        numbers: usize,
        add: impl Fn(f64, &mut [i128]),
    ) -> Self {
        let mut sums = Zeroizing::new(vec![0; numbers]);
        values.for_each(|value| add(value, &mut sums));
        Self(sums)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Sums that code of the wall has computed.
    pub(in crate::wall) fn from_sums(sums: Zeroizing<Vec<i128>>) -> Self {
        Self(sums)
    }

    /// The sums with noise, for a receipt of one release of this event. Noise of the same number is the same
    /// each time, so a number must be used once.
    pub(crate) fn with_noise(
        self,
        (receipt, event): (Receipt, Event),
        noise: &impl NoiseSource<i64>,
        number: u64,
    ) -> Result<Vec<i128>> {
        require(receipt, event)?;
        let mut drawn = Zeroizing::new(vec![0_i64; self.0.len()]);
        noise.fill(number, &mut drawn);
        // Fewer than 2^64 contributions below 2^51 each, and noise below 2^63.
        Ok(self.0.iter().zip(&*drawn).map(|(sum, &noise)| sum + i128::from(noise)).collect())
    }

    /// Sums that are counts, without the last, and the last: for what stays behind the wall.
    pub(in crate::wall) fn into_counts(mut self) -> (Vec<u64>, u64) {
        // Counts of records in memory.
        let count = |sum: i128| u64::try_from(sum).unwrap_or(0);
        let last = self.0.pop().map_or(0, count);
        (self.0.iter().copied().map(count).collect(), last)
    }

    /// The sums for tests of their sensitivity.
    #[cfg(test)]
    pub(crate) fn exact(&self) -> &[i128] {
        &self.0
    }
}

/// Records whose terms are in memory at a time, for all candidates.
const BLOCK: usize = 4096;

/// How well each of several candidates fits, as sums of integers.
pub(crate) struct Utilities(Zeroizing<Vec<u128>>);

impl Utilities {
    /// For each candidate, which `set` puts into a program, the sum of the records' terms in units. A term is
    /// computed for its record alone, so that it is the same whichever other records there are.
    pub(crate) fn new<T>(
        program: &mut ExecutionPlan<f64>,
        records: &Sensitive<Records>,
        candidates: &[T],
        set: impl Fn(&T, &mut ExecutionPlan<f64>),
        units: impl Fn(f64) -> u64,
    ) -> Result<Self> {
        let mut utilities = Zeroizing::new(Vec::with_capacity(candidates.len()));
        for candidate in candidates {
            set(candidate, program);
            // Fewer than 2^64 terms of at most 2^32.
            let mut utility = 0;
            each_alone(program, records.behind_the_wall(), |term| utility += u128::from(units(term)))?;
            utilities.push(utility);
        }
        Ok(Self(utilities))
    }

    /// The same of what a record's term falls short of its largest over all candidates, for the records that
    /// are `chosen` by their place: a function of the record and the candidates.
    pub(crate) fn of_shortfalls<T>(
        program: &mut ExecutionPlan<f64>,
        records: &Sensitive<Records>,
        candidates: &[T],
        set: impl Fn(&T, &mut ExecutionPlan<f64>),
        chosen: impl Fn(u64) -> bool,
        units: impl Fn(f64) -> u64,
    ) -> Result<Self> {
        let records = records.behind_the_wall();
        let places: Vec<u64> = (0..records.len() as u64).filter(|&place| chosen(place)).collect();
        let mut utilities = Zeroizing::new(vec![0; candidates.len()]);
        let mut terms = Vec::with_capacity(candidates.len() * BLOCK.min(places.len()));
        for block in places.chunks(BLOCK) {
            terms.clear();
            for candidate in candidates {
                set(candidate, program);
                of_places(program, records, block, |term| terms.push(term))?;
            }
            let mut largest = vec![f64::NEG_INFINITY; block.len()];
            for terms in terms.chunks_exact(block.len()) {
                // A term that is NaN is passed over.
                largest.iter_mut().zip(terms).for_each(|(largest, &term)| *largest = largest.max(term));
            }
            for (utility, terms) in utilities.iter_mut().zip(terms.chunks_exact(block.len())) {
                // Fewer than 2^64 terms of at most 2^32.
                *utility += terms
                    .iter()
                    .zip(&largest)
                    .map(|(term, largest)| u128::from(units(largest - term)))
                    .sum::<u128>();
            }
        }
        Ok(Self(utilities))
    }

    /// A private choice, for a receipt of its event.
    pub(crate) fn choose(
        self,
        (receipt, event): (Receipt, Event),
        (choice, number): (&ExponentialChoice, u64),
    ) -> Result<usize> {
        require(receipt, event)?;
        Ok(choice.draw(number, &self.0)?)
    }

    /// With the last candidate standing in the list this many times.
    pub(crate) fn with_last_repeated(mut self, times: usize) -> Self {
        if let Some(&last) = self.0.last() {
            self.0.extend(std::iter::repeat_n(last, times.saturating_sub(1)));
        }
        self
    }

    /// The best candidate. **Not private.**
    pub(crate) fn best(self) -> usize {
        let largest = self.0.iter().max();
        self.0.iter().position(|utility| Some(utility) == largest).unwrap_or(0)
    }

    /// The sums for tests of their sensitivity.
    #[cfg(test)]
    pub(crate) fn exact(self) -> Vec<u128> {
        self.0.to_vec()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a receipt is consumed by the release that it is for")]
pub(in crate::wall) fn require(receipt: Receipt, event: Event) -> Result<()> {
    match receipt.is_for(event, 1) {
        true => Ok(()),
        false => Err(Error::Conflict("the receipt is not for one release of this event")),
    }
}

/// Hands out the first output of a program for each record, computed for that record alone.
///
/// Programs give a record the same bits in whatever company, which property tests of `ppl-core` confirm and other doors
/// of the wall rely on. What is computed here does not even depend on that.
pub(crate) fn each_alone(
    plan: &mut ExecutionPlan<f64>,
    records: &Records,
    take: impl FnMut(f64),
) -> Result<()> {
    let places: Vec<u64> = (0..records.len() as u64).collect();
    of_places(plan, records, &places, take)
}

/// The same for the records at some places.
fn of_places(
    plan: &mut ExecutionPlan<f64>,
    records: &Records,
    places: &[u64],
    mut take: impl FnMut(f64),
) -> Result<()> {
    plan.run();
    for &record in places {
        plan.run_records(records, &[record])?;
        match plan.record_output(0) {
            [term] => take(*term),
            // The program's output is no value that it computes for records: a column as it is, or the same
            // for all of them.
            _ => take(plan.evaluate(records, &[record], 0)?[[0, 0]]),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::pricing::event;
    use dp_accountant::{Budget, Ledger, Relation, Sampling};
    use dp_sampler::{Purpose, RoundedGaussianNoise, Seed};

    /// Noise and choices take a receipt of one use of their own event, and no other.
    #[test]
    fn only_a_receipt_of_one_use_of_its_event_serves() {
        let [own, other] = [30.0, 40.0].map(|sigma| event(sigma, Sampling::None).unwrap());
        let budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };
        let (mut ledger, seed) = (Ledger::new(budget).unwrap(), Seed::for_tests(1));
        let noise = RoundedGaussianNoise::new(&seed, 4).unwrap();
        let streams = seed.streams(Purpose::Custom("choice"));
        let choice = ExponentialChoice::from_streams(streams, 1, 32).unwrap();
        for (paid, uses, serves) in [(own, 1, true), (other, 1, false), (own, 2, false)] {
            let mut receipt = || ledger.debit(paid, uses).unwrap();
            let sums = IntegerSums::of_values([7.0].into_iter(), 1, |_, sums| sums[0] += 1);
            let noisy = sums.with_noise((receipt(), own), &noise, 0);
            let utilities = Utilities(Zeroizing::new(vec![3, 5]));
            let chosen = utilities.choose((receipt(), own), (&choice, 0));
            assert_eq!((noisy.is_ok(), chosen.is_ok()), (serves, serves), "{uses} of {paid}");
        }
    }
}
