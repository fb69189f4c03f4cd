//! What is not drawn exactly as it is accounted for, and what that takes of δ.

use crate::error::{Error, Result};
use dp_accountant::Budget;
use dp_sampler::ExponentialChoice;

/// How far the batches, the noise and the choices of a whole run are from those that are accounted for, in
/// total variation: τ.
///
/// # From τ to δ
/// Let M be the run as the accountant takes it, with batches, noise and choices that have exactly their laws,
/// and M′ the run as it is drawn.
///
/// *One draw.* Each draw (a step's batch, a number of noise, a choice) has a law, given everything that was
/// drawn and released before, that is within τ_k of the one that is accounted for: that is what
/// [`Subsampler::deviation`](dp_sampler::Subsampler::deviation) and
/// [`Noise::deviation`](dp_sampler::Noise::deviation) state, and it does not depend on the data nor on what
/// came before. (Words of different draws are different ones.)
///
/// *All of them.* Exchange the draws one after the other: the k-th exchange changes the law of everything
/// together by at most τ_k in total variation, since what comes after is the same function of it, so M′(D) is
/// within τ = Σ_k τ_k of M(D), for every D.
///
/// *Neighbours.* If M is (ε, δ)-differentially private, then for neighbours D, D′ and every set S
///
/// ```text
/// P(M′(D) ∈ S)  ≤  P(M(D) ∈ S) + τ  ≤  e^ε P(M(D′) ∈ S) + δ + τ  ≤  e^ε P(M′(D′) ∈ S) + δ + (1 + e^ε) τ
/// ```
///
/// So M′ is (ε, δ + (1 + e^ε) τ)-differentially private. For a budget (ε, δ), the events of a run are
/// calibrated to (ε, δ − (1 + e^ε) τ). Where that would take more than half of δ, they are calibrated to a
/// smaller ε₀ < ε with (1 + e^ε₀) τ = δ/2 instead, and keep the budget all the more.
///
/// All of these numbers are rounded up, and what is left of δ down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Deviation(f64);

impl Deviation {
    /// Everything is exact.
    pub(crate) const NONE: Self = Self(0.0);

    /// That of a run of this many steps, whose batches deviate by `batches` and whose releases are made with
    /// noise that deviates by `noise` each; one release may come after the steps. `choices`: how many a start is made
    /// of.
    pub(crate) fn of_run(steps: u64, batches: f64, noise: f64, choices: u64) -> Result<Self> {
        // Not below: nothing is proven of a total variation distance that is 1.
        if batches >= 1.0 {
            return Err(Error::Conflict(
                "these batches are cut from an order of the records that is computed from a key, and nothing is proven of such an order: have it \
                 written out with .exact(), or leave .by_permutation() away (up to 1,024 records, where their number is public, it always is)",
            ));
        }
        let releases = steps.saturating_add(1) as f64;
        let choices = choices as f64 * ExponentialChoice::DEVIATION;
        // Six roundings at the most, of 2⁻⁵³ of the result each.
        Ok(Self((batches + releases * noise + choices) * (1.0 + 8.0 * f64::EPSILON)))
    }

    /// `(1 + e^ε) τ`, rounded up: zero only where τ is.
    pub(crate) fn delta(self, epsilon: f64) -> f64 {
        // The exponential errs by a few units in the last place, sum and product by half of one.
        if self.0 == 0.0 { 0.0 } else { (1.0 + epsilon.exp()) * self.0 * (1.0 + 16.0 * f64::EPSILON) }
    }

    /// By how much true and false positive rate of a test differ more, at most: `2τ`, which is δ at ε = 0.
    pub(crate) fn advantage(self) -> f64 {
        self.delta(0.0)
    }

    /// What this takes of a budget's δ.
    pub(crate) fn taken_of(self, budget: &Budget) -> f64 {
        self.delta(self.less(*budget).map_or(budget.epsilon, |left| left.epsilon))
    }

    /// The budget that is left for events.
    pub(crate) fn less(self, budget: Budget) -> Result<Budget> {
        let half = 0.5 * budget.delta;
        let epsilon = match self.delta(budget.epsilon) <= half {
            true => budget.epsilon,
            // A little less than the solution, whose logarithm is rounded.
            false => (half / self.0 - 1.0).ln() * (1.0 - 1e-9),
        };
        if !(epsilon > 0.0 && self.delta(epsilon) <= half) {
            return Err(Error::Deviation { delta: budget.delta, deviation: self.delta(0.0) });
        }
        let delta = match self.delta(epsilon) {
            0.0 => budget.delta,
            // A difference is rounded by at most half a unit in the last place.
            taken => (budget.delta - taken).next_down(),
        };
        Ok(Budget { epsilon, delta, ..budget })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::Relation;
    use proptest::prelude::*;

    fn budget(epsilon: f64, delta: f64) -> Budget {
        Budget { epsilon, delta, relation: Relation::AddRemove }
    }

    #[test]
    fn nothing_is_taken_where_nothing_deviates() {
        let none = Deviation::of_run(1000, 0.0, 0.0, 0).unwrap();
        for epsilon in [0.1, 1.0, 1e5] {
            assert_eq!(none.less(budget(epsilon, 1e-5)).unwrap(), budget(epsilon, 1e-5));
        }
        assert_eq!(none.advantage(), 0.0);
        // The smallest deviation takes the last digit.
        let choice = Deviation::of_run(1000, 0.0, 0.0, 1).unwrap();
        assert_eq!(choice.less(budget(1.0, 1e-5)).unwrap(), budget(1.0, 1e-5_f64.next_down()));
    }

    #[test]
    fn what_cannot_be_proven_is_refused() {
        let told = Deviation::of_run(10, 1.0, 0.0, 0).unwrap_err().to_string();
        assert!(told.contains(".exact()"), "{told}");
        let told =
            Deviation::of_run(10, 1e-6, 0.0, 0).unwrap().less(budget(1.0, 1e-6)).unwrap_err().to_string();
        assert!(told.contains("1e-6") || told.contains("0.000001"), "{told}");
    }

    /// A run that is drawn as it is accounted for with probability 1 − τ, and otherwise shows everything.
    #[test]
    fn the_bound_is_needed_up_to_its_factor() {
        // P = (1 − τ) P₀ + τ [shown], Q = (1 − τ) Q₀ + τ [shown otherwise]: δ grows by τ (1 − δ), at most
        // (1 + e^ε) τ.
        let (tau, epsilon, delta) = (1e-3, 1.0_f64, 1e-2);
        let least = delta + tau * (1.0 - delta);
        let bound = delta + Deviation(tau).delta(epsilon);
        assert!(least <= bound && bound <= delta + (1.0 + epsilon.exp()) * tau * 1.000_001);
    }

    proptest! {
        /// What events keep, with what deviates, keeps the budget: in exact arithmetic as far as doubles can
        /// tell.
        #[test]
        fn the_budget_is_kept(
            (epsilon, delta, tau) in (-3.0..6.0_f64, -40.0..-2.0_f64, -700.0..-3.0_f64),
        ) {
            let (asked, tau) = (budget(epsilon.exp(), delta.exp()), Deviation(tau.exp()));
            match tau.less(asked) {
                Ok(left) => {
                    prop_assert!(left.epsilon <= asked.epsilon && left.epsilon > 0.0);
                    prop_assert!(left.delta >= 0.49 * asked.delta && left.delta < asked.delta);
                    let taken = (1.0 + left.epsilon.exp()) * tau.0;
                    prop_assert!(tau.delta(left.epsilon) >= taken);
                    prop_assert!(left.delta + taken <= asked.delta * (1.0 + f64::EPSILON));
                }
                Err(_) => prop_assert!(tau.0 > 0.2 * asked.delta),
            }
        }
    }
}
