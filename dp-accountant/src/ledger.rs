//! A budget that is spent event by event and cannot be overdrawn.

use crate::{Accountant, Budget, Certified, Composition, Error, Event, Result};

/// Relative width of a first look, which decides most debits.
const FIRST_LOOK: f64 = 0.05;

/// An account of privacy loss, in memory.
///
/// # Privacy
/// Debit before the mechanism runs. A debit is refused, and nothing recorded, if the upper end of the total at the
/// budget's delta would exceed the budget's epsilon. The total is that of a composition whose parameters are fixed in
/// advance: earlier outputs may decide what is computed, but not the noise, the rate or the number of later events.
///
/// # Accuracy
/// Totals are those of [`Accountant`] at its default width. Every debit computes the total anew, which costs
/// milliseconds: debit a run of many equal steps at once.
///
/// ```
/// use dp_accountant::{Budget, Error, Event, Ledger, Mechanism, Relation, Sampling};
///
/// let mut ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
/// ledger.debit(step, 1_000)?;
/// assert!(matches!(ledger.debit(step, 1_000), Err(Error::BudgetExceeded { .. })));
/// assert!(ledger.spent()?.upper < 1.83);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ledger {
    budget: Budget,
    events: Composition,
}

impl Ledger {
    /// An account with nothing spent.
    ///
    /// # Errors
    /// Those of [`Budget::validate`].
    pub fn new(budget: Budget) -> Result<Self> {
        budget.validate()?;
        Ok(Self { budget, events: Composition::new() })
    }

    /// Records `count` uses of an event, if the budget allows all of them.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] if it does not, and [`Error::Unsupported`] for an event without a proven answer; the
    /// ledger is then as before.
    pub fn debit(&mut self, event: Event, count: u64) -> Result<()> {
        let mut total = self.events.clone();
        total.push(event, count);
        let accountant = Accountant::new(self.budget.relation).with(&total);
        let allowed = self.budget.epsilon;
        let rough = accountant.clone().relative_width(FIRST_LOOK)?.epsilon(self.budget.delta)?;
        if rough.upper > allowed {
            // Only an interval that contains the budget's epsilon needs a closer look.
            let would_be = if rough.lower > allowed {
                rough.upper
            } else {
                accountant.epsilon(self.budget.delta)?.upper
            };
            if would_be > allowed {
                let (spent, delta) = (self.spent()?.upper, self.budget.delta);
                return Err(Error::BudgetExceeded { spent, would_be, budget: allowed, delta });
            }
        }
        self.events = total;
        Ok(())
    }

    /// What has been spent: epsilon at the budget's delta.
    ///
    /// # Errors
    /// None that a successful debit would not have shown before.
    pub fn spent(&self) -> Result<Certified> {
        Accountant::new(self.budget.relation).with(&self.events).epsilon(self.budget.delta)
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// All events that have been recorded.
    pub fn events(&self) -> &Composition {
        &self.events
    }
}
