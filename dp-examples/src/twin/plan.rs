//! What is going to be released, with noise that is fixed before anything is seen.

use dp_accountant::{Budget, Composition, Event, Mechanism, Sampling, calibrate_noise_multiplier};
use dp_vi::summaries::Marginals;

use super::Result;

/// Shares of the precision (one over the squared noise multiplier, which is what Gaussian releases add up
/// in).
///
/// Choices need little: with a hundred candidates, log(100)/ε records are lost by a choice at ε, a few
/// hundredths of the error that noise leaves. Of the rest, single columns decide how values are merged and
/// carry the distribution within merged values, which nothing else measures, and have a fraction of the
/// cells: a little above a quarter of it.
const SINGLE: f64 = 0.25;
const CHOICES: f64 = 0.10;
const JOINT: f64 = 0.65;

/// The releases of a twin: all single columns, then as many choices and marginals as there are further
/// columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Marginals of the first release: one for each column, and another for each that has blocks.
    pub(super) singles: usize,
    /// How often a marginal is chosen and measured.
    pub(super) rounds: usize,
    /// The noise multiplier of the first release.
    pub(super) single_noise: f64,
    /// The ε of a choice.
    pub(super) choice_epsilon: f64,
    /// The noise multiplier of one chosen marginal.
    pub(super) joint_noise: f64,
}

impl Plan {
    /// The least noise for a budget.
    ///
    /// # Errors
    /// A budget that is out of range or cannot be met.
    pub fn new(budget: &Budget, singles: usize, rounds: usize) -> Result<Self> {
        // What choices cost is like a release with noise multiplier 1/ε, for small ε.
        let with = |noise: f64| {
            let (choices, joint) = (CHOICES.sqrt(), JOINT.sqrt());
            let each = (rounds.max(1) as f64).sqrt();
            let alone = if rounds == 0 { 1.0 } else { SINGLE.sqrt() };
            Self {
                singles,
                rounds,
                single_noise: (noise / alone).clamp(1e-3, 1e6),
                choice_epsilon: (choices / (each * noise)).clamp(1e-6, 64.0),
                joint_noise: (noise * each / joint).clamp(1e-3, 1e6),
            }
        };
        let events = |noise: f64| {
            let plan = with(noise);
            let mut all = Composition::new();
            // Grids change noise multipliers by a hundred-thousandth; what is debited is what is released.
            let gaussian = |noise_multiplier: f64| {
                let noise_multiplier = noise_multiplier * (1.0 - 1e-5);
                Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None)
            };
            all.push(gaussian(plan.single_noise)?, 1);
            if rounds > 0 {
                let choice = Mechanism::PureDp { epsilon: plan.choice_epsilon };
                all.push(Event::new(choice, Sampling::None)?, rounds as u64);
                all.push(gaussian(plan.joint_noise)?, rounds as u64);
            }
            Ok(all)
        };
        Ok(with(calibrate_noise_multiplier(budget, events)?.noise_multiplier))
    }

    /// The events, as they are debited.
    ///
    /// # Errors
    /// None for a plan that could be made.
    pub fn events(&self, budget: &Budget) -> Result<Composition> {
        let relation = budget.relation;
        let mut all =
            Composition::single(Marginals::counts_event(relation, self.singles, self.single_noise)?, 1);
        if self.rounds > 0 {
            all.push(Marginals::choice_event(self.choice_epsilon)?, self.rounds as u64);
            all.push(Marginals::counts_event(relation, 1, self.joint_noise)?, self.rounds as u64);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::{Accountant, Relation};

    /// Budgets are kept, and used up to a thousandth.
    #[test]
    fn a_plan_costs_its_budget() {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            for (epsilon, singles, rounds) in [(1.0, 18, 14), (0.05, 3, 2), (8.0, 1, 0)] {
                let budget = Budget { epsilon, delta: 1e-5, relation };
                let plan = Plan::new(&budget, singles, rounds).unwrap();
                let cost =
                    Accountant::new(relation).with(&plan.events(&budget).unwrap()).epsilon(1e-5).unwrap();
                assert!(cost.upper <= epsilon && cost.upper > 0.998 * epsilon, "{cost} of {epsilon}");
            }
        }
    }
}
