//! What is left of a budget: an interval whose safe end is the lower one.

#[cfg(feature = "serde")]
use serde::Serialize;
use std::fmt;

use crate::certified::{engines, rounded_down, rounded_up};
use crate::{Certified, Engine};

/// By how much epsilon could still grow before the budget is reached: `0 <= lower <= estimate <= upper`.
///
/// # Privacy
/// `lower` is what may be relied on: at least that much is left. This is the other way round than in a
/// [`Certified`] cost, whose upper end is the guarantee; so this is a type of its own, and its text says "at
/// least".
///
/// ```
/// use dp_accountant::{Budget, Ledger, Relation};
///
/// let ledger = Ledger::new(Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// assert_eq!(ledger.remaining()?.to_string(), "at least 2.000000 (between 2.000000 and 2.000000, closed form)");
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[non_exhaustive]
pub struct Remaining {
    /// The proven lower end: at least this much is left. Computed from the upper end of what is spent, and
    /// rounded down.
    pub lower: f64,
    /// The best guess, between the two ends.
    pub estimate: f64,
    /// The proven upper end: no more than this is left. Computed from the lower end of what is spent, and
    /// rounded up.
    pub upper: f64,
    /// Which method proved the lower end.
    pub lower_engine: Engine,
    /// Which method proved the upper end.
    pub upper_engine: Engine,
}

impl Remaining {
    /// The rest of a budget of `epsilon` after `spent`.
    pub(super) fn new(epsilon: f64, spent: Certified) -> Self {
        // A floating-point difference is the nearest number to the exact one, so its neighbour lies on the
        // safe side. A difference with zero is exact.
        let less = |amount: f64| epsilon - amount;
        let down = |amount: f64| if amount == 0.0 { less(amount) } else { less(amount).next_down() };
        let up = |amount: f64| if amount == 0.0 { less(amount) } else { less(amount).next_up() };
        let (lower, upper) = (down(spent.upper).max(0.0), up(spent.lower).max(0.0));
        Self {
            lower,
            estimate: less(spent.estimate).clamp(lower, upper),
            upper,
            lower_engine: spent.upper_engine,
            upper_engine: spent.lower_engine,
        }
    }
}

impl fmt::Display for Remaining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lower, upper) = (rounded_down(self.lower), rounded_up(self.upper));
        write!(f, "at least {lower} (between {lower} and {upper}, ")?;
        engines(f, self.lower_engine, self.upper_engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_in_text(left: &Remaining) -> [f64; 3] {
        let text = left.to_string();
        let numbers = text.split([' ', '(', ',']).filter_map(|word| word.parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect();
        numbers.try_into().unwrap_or_else(|_| panic!("{text}"))
    }

    #[test]
    fn the_safe_end_is_the_lower_one_in_numbers_and_in_words() {
        let (mut low, mut width) = (1e-7, 1e-9);
        while low < 3.0 {
            let spent = Certified::new(low, low + 0.3 * width, low + width, Engine::LossDistribution)
                .expect("ordered")
                .proven_by(Engine::ClosedForm, Engine::FourierInversion);
            let left = Remaining::new(3.0, spent);
            // The exact differences: both operands are multiples of 2^-76 and below 2^2, and i128 holds 2^78
            // of these.
            let exact = |value: f64| (value * 2f64.powi(76)) as i128;
            assert!(exact(left.lower) <= (exact(3.0) - exact(spent.upper)).max(0), "{left:?} {spent:?}");
            assert!(exact(left.upper) >= exact(3.0) - exact(spent.lower), "{left:?} {spent:?}");
            assert!(left.lower <= left.estimate && left.estimate <= left.upper, "{left:?}");
            assert_eq!(
                (left.lower_engine, left.upper_engine),
                (Engine::FourierInversion, Engine::ClosedForm)
            );
            // Text: "at least" the lower end, rounded down; the upper end rounded up.
            assert!(left.to_string().starts_with("at least "), "{left}");
            let [safe, lower, upper] = ends_in_text(&left);
            assert!(safe <= left.lower && lower <= left.lower && left.upper <= upper, "{left} {left:?}");
            assert!(left.lower - safe < 1e-5, "{left} {left:?}");
            (low, width) = (low * 1.37, width * 1.61);
        }
    }

    #[test]
    fn nothing_is_left_of_a_budget_that_is_used_up() {
        let spent = Certified::new(2.5, 3.0, 3.5, Engine::ClosedForm).expect("ordered");
        let left = Remaining::new(3.0, spent);
        assert!(left.lower == 0.0 && left.estimate == 0.0 && left.upper >= 0.5, "{left:?}");
        assert!(left.to_string().starts_with("at least 0 (between 0 and 0.5"), "{left}");
        assert_eq!(Remaining::new(2.0, spent).upper, 0.0);
    }
}
