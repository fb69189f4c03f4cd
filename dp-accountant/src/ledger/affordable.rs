//! How many more uses of an event a budget allows.

use super::Ledger;
use crate::{Accountant, Composition, Error, Event, Result, Sampling};

/// Relative width of a first look, which is enough far from the budget.
const FIRST_LOOK: f64 = 0.05;

impl Ledger {
    /// The largest count of an event that [`debit`](Self::debit) would accept now; `u64::MAX` (or the last
    /// whole epoch below it) if any count would do. Steps of a shuffled run come in whole epochs.
    ///
    /// # Privacy
    /// As for a debit, the answer is for parameters that are fixed in advance.
    ///
    /// # Accuracy
    /// The answer has been put to the same test as a debit: its upper end keeps the budget, and that of one
    /// more does not. Since the true epsilon may lie below its upper end by the accountant's relative width,
    /// a few more uses out of a hundred thousand might in truth be affordable.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) for an event without a proven answer.
    ///
    /// ```
    /// use dp_accountant::{Budget, Event, Ledger, Mechanism, Relation, Sampling};
    ///
    /// let ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })?;
    /// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
    /// // k releases cost as much as one with noise multiplier 20/√k, and epsilon 1 asks for 3.7304 at least.
    /// assert_eq!(ledger.affordable(release)?, 28);
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn affordable(&self, event: Event) -> Result<u64> {
        let allowed = self.budget.epsilon;
        // From here on counts are of epochs, where there are any.
        let unit = match event.sampling() {
            Sampling::Shuffle { batch, records } => records.div_ceil(batch),
            _ => 1,
        };
        let most = u64::MAX / unit;
        let total = |count: u64| -> Composition {
            let mut total = self.events.clone();
            total.push(event, count * unit);
            total
        };
        // Attacks, which show how little a better analysis could gain, do not decide on a debit.
        let promised = |accountant: &Accountant| match accountant.promised_epsilon(self.budget.delta) {
            Ok((promised, _)) => Ok((promised.lower, promised.upper)),
            // What fails altogether with a probability above delta costs more than any budget.
            Err(Error::NoEpsilon { .. }) => Ok((f64::MAX, f64::MAX)),
            Err(error) => Err(error),
        };
        let upper = |count: u64| -> Result<f64> {
            let accountant = Accountant::new(self.budget.relation).with(&total(count));
            let (lower, rough) = promised(&accountant.clone().relative_width(FIRST_LOOK)?)?;
            if rough <= allowed || lower > allowed {
                return Ok(rough);
            }
            Ok(promised(&accountant)?.1)
        };
        let spent = self.spent()?.upper;
        let mut enough = (0, spent);
        // Epsilon grows at least like the square root of the count once there are a few: overshoot a little.
        let mut next: u64 = 1;
        let mut too_many = loop {
            let cost = upper(next)?;
            if cost > allowed {
                break (next, cost);
            }
            if next == most {
                return Ok(next * unit);
            }
            enough = (next, cost);
            let growth =
                if cost > spent { 1.2 * ((allowed - spent) / (cost - spent)).powi(2) } else { 1024.0 };
            next = ((next as f64 * growth.clamp(2.0, 1024.0)) as u64).min(most);
        };
        // Between a count that fits and one that does not: aim where a straight line between logarithms
        // crosses the budget, and halve the gap whenever two aims in a row have not.
        let mut slow = 0;
        loop {
            if too_many.0 - enough.0 <= 1 {
                // A first look may have decided this one. The answer is what a debit would accept.
                let checked = enough.0 == 0 || self.price(&total(enough.0))?.upper <= allowed;
                if checked {
                    return Ok(enough.0 * unit);
                }
                (too_many, enough) = (enough, (0, spent));
                continue;
            }
            let gap = too_many.0 - enough.0;
            let middle = enough.0 + gap / 2;
            let aim = if slow < 2 { between(enough, too_many, allowed).unwrap_or(middle) } else { middle };
            let count = aim.clamp(enough.0 + 1, too_many.0 - 1);
            let cost = upper(count)?;
            if cost <= allowed {
                enough = (count, cost);
            } else {
                too_many = (count, cost);
            }
            slow = if too_many.0 - enough.0 > gap / 2 { slow + 1 } else { 0 };
        }
    }
}

/// The count at which epsilon would be `allowed` if its logarithm were linear in that of the count.
fn between(enough: (u64, f64), too_many: (u64, f64), allowed: f64) -> Option<u64> {
    let (low, high) = ((enough.0 as f64).ln(), (too_many.0 as f64).ln());
    let share = (allowed.ln() - enough.1.ln()) / (too_many.1.ln() - enough.1.ln());
    let count = (low + share * (high - low)).exp();
    // A cast from infinity or from NaN would be the largest or the smallest count.
    count.is_finite().then_some(count as u64)
}

#[cfg(test)]
mod tests {
    use crate::{Budget, Composition, Event, Ledger, Mechanism, Relation, Sampling, strategies};
    use proptest::prelude::*;

    /// Guarantees with a delta of their own: the search asks about counts for which there is no epsilon at all.
    #[test]
    fn what_may_fail_altogether_is_affordable_as_often_as_delta_allows() {
        let ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove });
        let ledger = ledger.expect("valid");
        let event = |epsilon, delta| {
            Event::new(Mechanism::ApproximateDp { epsilon, delta }, Sampling::None).expect("valid")
        };
        for (epsilon, delta) in [(0.1, 1e-6), (1e-3, 1e-9), (1e-4, 1e-7)] {
            let event = event(epsilon, delta);
            let most = ledger.affordable(event).expect("an answer");
            assert!(most >= 9, "{event}: {most}");
            ledger.clone().debit(event, most).expect("affordable");
            assert!(ledger.clone().debit(event, most + 1).is_err());
        }
        assert_eq!(ledger.affordable(event(0.1, 1e-4)).expect("an answer"), 0);
    }

    #[test]
    fn the_next_one_is_refused() {
        for (epsilon, noise_multiplier, rate) in [(1.0, 1.0, 0.01), (8.0, 0.6, 0.001), (0.3, 5.0, 0.02)] {
            let budget = Budget { epsilon, delta: 1e-6, relation: Relation::AddRemove };
            let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })
                .expect("valid");
            let mut ledger = Ledger::new(budget).expect("valid");
            ledger.debit(event, 10).expect("affordable");
            let more = ledger.affordable(event).expect("an answer");
            assert!(more > 0, "{event}");
            assert!(ledger.clone().debit(event, more + 1).is_err(), "{event}: {more}");
            ledger.debit(event, more).expect("affordable");
            assert_eq!(ledger.affordable(event).expect("an answer"), 0);
        }
    }

    #[test]
    fn what_costs_nothing_is_affordable_without_end() {
        let budget = Budget { epsilon: 1.0, delta: 1e-3, relation: Relation::AddRemove };
        let event =
            Event::new(Mechanism::Gaussian { noise_multiplier: 1e100 }, Sampling::None).expect("valid");
        assert_eq!(Ledger::new(budget).expect("valid").affordable(event).expect("an answer"), u64::MAX);
        let loud = Event::new(Mechanism::Gaussian { noise_multiplier: 1e-3 }, Sampling::None).expect("valid");
        assert_eq!(Ledger::new(budget).expect("valid").affordable(loud).expect("an answer"), 0);
    }

    #[test]
    fn shuffled_steps_are_affordable_in_whole_epochs() {
        let budget = Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::ReplaceOne };
        let sampling = Sampling::Shuffle { batch: 128, records: 1_000 };
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, sampling).expect("valid");
        let mut ledger = Ledger::new(budget).expect("valid");
        let more = ledger.affordable(event).expect("an answer");
        assert!(more > 0 && more.is_multiple_of(8), "{more}");
        ledger.debit(event, more).expect("affordable");
        assert!(ledger.clone().debit(event, 8).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_counting_one_by_one(
            budget in strategies::budget(),
            noise_multiplier in 3.0f64..30.0,
            before in 0u64..3,
        ) {
            let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid");
            let mut ledger = Ledger::new(budget).expect("valid");
            if ledger.debit(event, before).is_err() {
                return Ok(());
            }
            let answer = ledger.affordable(event).expect("an answer");
            // Counting stops early where the answer is large.
            let fits = |count| ledger.clone().debit_all(&Composition::single(event, count)).is_ok();
            prop_assert!(answer == 0 || fits(answer));
            prop_assert!(!fits(answer + 1));
            let counted = (1..=200).take_while(|&count| fits(count)).count() as u64;
            prop_assert_eq!(counted, answer.min(200));
        }
    }
}
