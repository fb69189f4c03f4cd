//! A budget that is spent event by event and cannot be overdrawn.

mod affordable;
#[cfg(feature = "ledger-file")]
mod file;
#[cfg(feature = "ledger-file")]
mod format;
mod mark;
mod note;
mod odometer;
mod purse;
mod receipt;
mod remaining;

use std::sync::OnceLock;

use crate::{Accountant, Budget, Certified, Composition, Error, Event, Result};

#[cfg(feature = "ledger-file")]
pub use file::FileLedger;
pub use mark::LedgerMark;
pub use note::{DebitNote, Label, Timestamp};
pub use odometer::{Odometer, Reading};
pub use purse::Purse;
pub use receipt::Receipt;
pub use remaining::Remaining;

/// How the file of every ledger begins, in every version of the format.
#[cfg(any(feature = "ledger-file", feature = "output"))]
pub(crate) const TITLE: &str = "dp-accountant ledger ";

/// An account of privacy loss, in memory. `FileLedger` (feature `ledger-file`) keeps one that survives the
/// process.
///
/// # Privacy
/// Debit before the mechanism runs. A debit is refused, and nothing recorded, if the upper end of the total
/// at the budget's delta would exceed the budget's epsilon.
///
/// The total is that of a composition whose parameters are fixed in advance: earlier outputs may decide
/// *what* is computed, and when to stop, but not the noise, the rate or the number of later events. A ledger
/// is not a privacy filter: that the composition of the debits made so far keeps the budget is no proof when
/// their parameters were chosen by looking at outputs. The rule "compose the exact curves and stop when the
/// budget is reached" is known to be false in general under such choices; rules that hold exist for Rényi
/// differential privacy of one order and for Gaussian differential privacy, and this is neither.
///
/// # Accuracy
/// Totals are those of [`Accountant`] at its default width; each is computed once and kept.
///
/// ```
/// use dp_accountant::{Budget, Error, Event, Ledger, Mechanism, Relation, Sampling};
///
/// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
/// ledger.debit(step, 1_000)?;
/// assert!(matches!(ledger.debit(step, 1_000), Err(Error::BudgetExceeded { .. })));
/// assert!(ledger.spent()?.upper < 1.83);
/// let more = ledger.affordable(step)?;
/// ledger.debit(step, more)?;
/// assert_eq!(ledger.affordable(step)?, 0);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// # References
/// Rogers, Roth, Ullman and Vadhan 2016, "Privacy Odometers and Filters: Pay-as-you-Go Composition" (why
/// parameters chosen along the way are another problem); Feldman and Zrnic 2021, "Individual Privacy
/// Accounting via a Rényi Filter", and Lécuyer 2021, "Practical Privacy Filters and Odometers with Rényi
/// Differential Privacy" (filters for one Rényi order); Koskela, Tobaben and Honkela 2022, "Individual
/// Privacy Accounting with Gaussian Differential Privacy" (a Gaussian filter); "f-Differential Privacy
/// Filters: Validity and Approximate Solutions", 2026, arXiv 2602.06756 (the exact curves give none in
/// general).
#[derive(Debug, Clone)]
pub struct Ledger {
    budget: Budget,
    /// Tells it from all other ledgers; zero where a file of the first format had no number.
    number: u128,
    events: Composition,
    debits: Vec<Composition>,
    /// When and for what each debit was made.
    notes: Vec<DebitNote>,
    /// The digest after each debit.
    digests: Vec<u64>,
    /// What `events` cost at the budget's delta, once somebody has asked.
    total: OnceLock<Certified>,
}

/// A debit that the budget allows and that has not been recorded yet.
#[derive(Debug)]
struct Allowed {
    total: Composition,
    /// What the total costs, if that has been computed.
    price: Option<Certified>,
}

impl Ledger {
    /// An account with nothing spent.
    ///
    /// # Errors
    /// Those of [`Budget::validate`].
    pub fn new(budget: Budget) -> Result<Self> {
        Self::numbered(budget, mark::fresh_number())
    }

    /// As [`new`](Self::new), with the number that it had before.
    fn numbered(budget: Budget, number: u128) -> Result<Self> {
        budget.validate()?;
        let events = Composition::new();
        let (debits, notes, digests) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { budget, number, events, debits, notes, digests, total: OnceLock::new() })
    }

    /// Records `count` uses of an event, if the budget allows all of them. A count of zero changes nothing.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] if it does not, [`Error::NoEpsilon`] if all of them together fail altogether with a
    /// probability above delta, and [`Error::Unsupported`] for an event without a proven answer; the ledger is then as
    /// before.
    pub fn debit(&mut self, event: Event, count: u64) -> Result<Receipt> {
        self.debit_all(&Composition::single(event, count))
    }

    /// Records all events of a composition as one debit, or none of them.
    ///
    /// # Errors
    /// Those of [`Ledger::debit`].
    pub fn debit_all(&mut self, debit: &Composition) -> Result<Receipt> {
        self.debit_noted(debit, DebitNote::default())
    }

    /// As [`debit_all`](Self::debit_all), with the purpose of the debit.
    ///
    /// # Errors
    /// Those of [`Ledger::debit`].
    ///
    /// ```
    /// use dp_accountant::{Budget, Composition, Event, Label, Ledger, Mechanism, Relation, Sampling};
    ///
    /// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
    /// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
    /// ledger.debit_labelled(&Composition::single(release, 3), Label::new("three means")?)?;
    /// assert_eq!(ledger.notes()[0].label.as_ref().map(Label::as_str), Some("three means"));
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn debit_labelled(&mut self, debit: &Composition, label: Label) -> Result<Receipt> {
        self.debit_noted(debit, DebitNote { time: None, label: Some(label) })
    }

    fn debit_noted(&mut self, debit: &Composition, note: DebitNote) -> Result<Receipt> {
        if let Some(allowed) = self.check(debit)? {
            self.record(debit.clone(), note, allowed);
        }
        Ok(Receipt::for_debit(debit))
    }

    /// What a debit would make of the total, if the budget allows it; `None` for a debit of nothing.
    fn check(&self, debit: &Composition) -> Result<Option<Allowed>> {
        if debit.is_empty() {
            return Ok(None);
        }
        let mut total = self.events.clone();
        total.extend(debit.iter());
        let price = self.price(&total)?;
        if price.upper > self.budget.epsilon {
            let (spent, would_be) = (self.spent()?.upper, price.upper);
            let (budget, delta) = (self.budget.epsilon, self.budget.delta);
            return Err(Error::BudgetExceeded { spent, would_be, budget, delta });
        }
        Ok(Some(Allowed { total, price: Some(price) }))
    }

    /// Enters a debit that has been allowed, or that was allowed when it was stored.
    fn record(&mut self, debit: Composition, note: DebitNote, allowed: Allowed) {
        self.events = allowed.total;
        let before = self.mark().digest();
        self.digests.push(mark::next_digest(before, &debit));
        self.debits.push(debit);
        self.notes.push(note);
        self.total = allowed.price.map_or_else(OnceLock::new, OnceLock::from);
    }

    /// The cost of a total at the budget's delta.
    fn price(&self, total: &Composition) -> Result<Certified> {
        Accountant::new(self.budget.relation).with(total).epsilon(self.budget.delta)
    }

    /// What has been spent: epsilon at the budget's delta. Computed once for each total.
    ///
    /// # Errors
    /// None that a successful debit would not have shown before.
    pub fn spent(&self) -> Result<Certified> {
        if let Some(&known) = self.total.get() {
            return Ok(known);
        }
        let total = self.price(&self.events)?;
        Ok(*self.total.get_or_init(|| total))
    }

    /// By how much epsilon could still grow: the budget's epsilon less what is [spent](Self::spent), at the
    /// budget's delta.
    ///
    /// Here `lower` is the safe end: at least that much is left. No mechanism may simply be given this
    /// epsilon, because epsilons at one delta do not add up; [`Ledger::affordable`] answers what else fits.
    ///
    /// # Errors
    /// Those of [`Ledger::spent`].
    ///
    /// ```
    /// use dp_accountant::{Budget, Event, Ledger, Mechanism, Relation, Sampling};
    ///
    /// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
    /// assert_eq!((ledger.remaining()?.lower, ledger.remaining()?.upper), (2.0, 2.0));
    /// ledger.debit(Event::new(Mechanism::Gaussian { noise_multiplier: 10.0 }, Sampling::None)?, 4)?;
    /// let (spent, left) = (ledger.spent()?, ledger.remaining()?);
    /// assert!(left.lower <= 2.0 - spent.upper && left.upper >= 2.0 - spent.lower);
    /// assert!(left.to_string().starts_with("at least 1.2"));
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn remaining(&self) -> Result<Remaining> {
        Ok(Remaining::new(self.budget.epsilon, self.spent()?))
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// All events that have been recorded.
    pub fn events(&self) -> &Composition {
        &self.events
    }

    /// The debits, in the order in which they were made.
    pub fn debits(&self) -> &[Composition] {
        &self.debits
    }

    /// When and for what the debits were made: one note for each of [`debits`](Self::debits), in the same
    /// order.
    pub fn notes(&self) -> &[DebitNote] {
        &self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mechanism, Relation, Sampling};

    fn gaussian(noise_multiplier: f64) -> Event {
        Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
    }

    #[test]
    fn a_budget_that_bounds_nothing_opens_no_account() {
        let budget = Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove };
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = Ledger::new(Budget { epsilon, ..budget });
            assert!(matches!(refused, Err(Error::Epsilon { .. })), "{epsilon}: {refused:?}");
        }
        for delta in [0.0, 1.0, -1e-5, f64::NAN] {
            let refused = Ledger::new(Budget { delta, ..budget });
            assert!(matches!(refused, Err(Error::Delta { .. })), "{delta}: {refused:?}");
        }
    }

    #[test]
    fn a_total_is_computed_once() {
        let mut ledger =
            Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove }).expect("valid");
        let step =
            Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })
                .expect("valid");
        let most = ledger.affordable(step).expect("an answer");
        ledger.debit(step, most).expect("affordable");
        let kept = *ledger.total.get().expect("kept by the debit");
        assert_eq!(ledger.spent().expect("an answer"), kept);
        assert_eq!(
            Accountant::new(Relation::AddRemove).compose(step, most).epsilon(1e-5).expect("an answer"),
            kept
        );
        let refused = ledger.debit(step, 1).unwrap_err();
        assert!(matches!(refused, Error::BudgetExceeded { .. }));
        assert_eq!(ledger.total.get(), Some(&kept));
    }

    #[test]
    fn a_new_debit_makes_the_total_new() {
        let budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };
        let mut ledger = Ledger::new(budget).expect("valid");
        ledger.debit(gaussian(10.0), 1).expect("affordable");
        let one = ledger.spent().expect("an answer");
        ledger.debit(gaussian(10.0), 1).expect("affordable");
        let two = ledger.spent().expect("an answer");
        assert!(two.lower > one.upper, "{one:?} {two:?}");
        assert_eq!(ledger.debits().len(), 2);
        ledger.debit(gaussian(10.0), 0).expect("nothing");
        assert_eq!(ledger.debits().len(), 2);
    }

    #[test]
    fn all_of_a_composition_or_nothing() {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        let mut ledger = Ledger::new(budget).expect("valid");
        let mut both = Composition::single(gaussian(20.0), 1);
        both.push(gaussian(0.1), 1);
        assert!(ledger.debit_all(&both).is_err());
        assert!(ledger.events().is_empty() && ledger.debits().is_empty());
        assert_eq!(ledger.spent().expect("an answer").upper, 0.0);
    }
}
