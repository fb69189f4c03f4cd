//! What is going to be released, with noise that is fixed before anything is seen.

use dp_accountant::{Accountant, Relation};
use dp_accountant::{Budget, Composition, Event, Mechanism, Sampling, calibrate_noise_multiplier};
use dp_vi::summaries::Marginals;

use super::Result;

/// Shares of the precision (one over the squared noise multiplier, which is what Gaussian releases add up
/// in, and choices are paid for as such).
///
/// Choices need little: with a hundred candidates, log(100)/ε records are lost by a choice at ε, a few
/// hundredths of the error that noise leaves. Of the rest, single columns decide how values are merged and
/// carry the distribution within merged values, which nothing else measures. On generated tables, from 0.28 to
/// 0.45 of the precision for them took a tenth off the error of single columns and left that of pairs as it
/// was. Where all columns are measured together from the start, their single ones follow from that, and what
/// they are needed for before is coarse. Where columns have many values, which blocks stand for here, the single ones
/// alone say how values lie within levels: with 0.40 instead of 0.15 the deviation of two normal columns with bounds
/// ten deviations away was 1.05 instead of 1.08 times the true one and their correlation nearer, but a logistic
/// regression on two such columns further off; 0.25 lies between.
const SINGLE: f64 = 0.40;
const SINGLE_OF_CORE: f64 = 0.15;
const SINGLE_OF_CORE_WITH_BLOCKS: f64 = 0.25;
const CHOICES: f64 = 0.04;

/// What a twin consists of, as far as it is public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Marginals of the first release: one for each column, and another for each that has blocks.
    pub singles: usize,
    /// Columns that are all measured with each other.
    pub core: usize,
    /// How often a column and its parents are chosen and measured: once for each other column.
    pub rounds: usize,
    /// How often a pair is chosen and measured after that.
    pub pairs: usize,
}

/// The releases of a twin: all single columns, then those of the core, then as many choices and marginals as
/// there are further columns and pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    pub(super) shape: Shape,
    /// The noise multiplier of the first release.
    pub(super) single_noise: f64,
    /// The noise multiplier of one marginal of the core.
    pub(super) core_noise: f64,
    /// The ε of a choice.
    pub(super) choice_epsilon: f64,
    /// The noise multiplier of one chosen marginal.
    pub(super) joint_noise: f64,
}

impl Shape {
    /// Pairs of the core's columns.
    pub(super) fn core_pairs(&self) -> usize {
        self.core * self.core.saturating_sub(1) / 2
    }

    /// Releases for the core: half of its precision is for pairs and half for all of it, so that each pair
    /// and each part of the other half is worth one.
    pub(super) fn core_releases(&self) -> usize {
        2 * self.core_pairs()
    }

    fn choices(&self) -> usize {
        self.rounds + self.pairs
    }
}

impl Plan {
    /// The least noise for a budget.
    ///
    /// # Errors
    /// A budget that is out of range or cannot be met.
    pub fn new(budget: &Budget, shape: Shape) -> Result<Self> {
        let plan = |noise: f64| Self::with(noise, shape, budget.relation);
        // Grids change noise multipliers by a hundred-thousandth; what is debited is what is released.
        let events = |noise: f64| plan(noise).composed(1.0 - 1e-5, budget.relation);
        Ok(plan(calibrate_noise_multiplier(budget, events)?.noise_multiplier))
    }

    /// The plan whose releases have together the precision of one with this noise multiplier.
    fn with(noise: f64, shape: Shape, relation: Relation) -> Self {
        let choices = if shape.choices() == 0 { 0.0 } else { CHOICES };
        // A column of the core is worth as much as one that is chosen, and so is a pair.
        let of_core = shape.core.saturating_sub(1);
        let units = (of_core + shape.choices()) as f64;
        let single = match (units > 0.0, shape.rounds > 0) {
            (true, true) => SINGLE,
            (true, false) if shape.singles > shape.core => SINGLE_OF_CORE_WITH_BLOCKS,
            (true, false) => SINGLE_OF_CORE,
            _ => 1.0,
        };
        let joint = 1.0 - single - choices;
        let multiplier = |share: f64| (noise / share.sqrt()).clamp(1e-3, 1e6);
        let each = joint / units.max(1.0);
        let of_choice = multiplier(choices.max(1e-9) / shape.choices().max(1) as f64);
        let of_event = Marginals::choice_noise_multiplier(relation);
        Self {
            shape,
            single_noise: multiplier(single),
            core_noise: multiplier(each * of_core as f64 / shape.core_releases().max(1) as f64),
            choice_epsilon: (of_event / of_choice).clamp(1e-6, 64.0),
            joint_noise: multiplier(each),
        }
    }

    /// The events with noise that is less by a factor.
    fn composed(&self, factor: f64, relation: Relation) -> dp_accountant::Result<Composition> {
        let gaussian = |noise_multiplier: f64| {
            let noise_multiplier = noise_multiplier * factor;
            Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None)
        };
        let mut all = Composition::new();
        all.push(gaussian(self.single_noise)?, 1);
        if self.shape.core > 1 {
            all.push(gaussian(self.core_noise)?, self.shape.core_releases() as u64);
        }
        if self.shape.choices() > 0 {
            let choice = Marginals::choice_noise_multiplier(relation) / self.choice_epsilon;
            all.push(gaussian(choice)?, self.shape.choices() as u64);
            all.push(gaussian(self.joint_noise)?, self.shape.choices() as u64);
        }
        Ok(all)
    }

    /// The events, as they are debited.
    ///
    /// # Errors
    /// None for a plan that could be made.
    pub fn events(&self, relation: Relation) -> Result<Composition> {
        let shape = &self.shape;
        let mut all =
            Composition::single(Marginals::counts_event(relation, shape.singles, self.single_noise)?, 1);
        if shape.core > 1 {
            all.push(Marginals::counts_event(relation, 1, self.core_noise)?, shape.core_releases() as u64);
        }
        if shape.choices() > 0 {
            let choices = shape.choices() as u64;
            all.push(Marginals::choice_event(relation, self.choice_epsilon)?, choices);
            all.push(Marginals::counts_event(relation, 1, self.joint_noise)?, choices);
        }
        Ok(all)
    }

    /// What it costs at the budget's δ.
    pub(super) fn epsilon(&self, budget: &Budget) -> Result<f64> {
        let events = self.events(budget.relation)?;
        Ok(Accountant::new(budget.relation).with(&events).epsilon(budget.delta)?.upper)
    }

    /// The standard deviation of the noise in a count of a release of one marginal.
    pub(super) fn deviation(noise_multiplier: f64, relation: Relation) -> f64 {
        match relation {
            Relation::AddRemove => noise_multiplier,
            Relation::ReplaceOne => noise_multiplier * std::f64::consts::FRAC_1_SQRT_2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Budgets are kept, and used up to a thousandth.
    #[test]
    fn a_plan_costs_its_budget() {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            for (epsilon, singles, core, rounds, pairs) in [
                (1.0, 18, 0, 14, 7),
                (0.05, 3, 0, 2, 1),
                (8.0, 1, 0, 0, 0),
                (1.0, 5, 5, 0, 0),
                (0.5, 9, 3, 5, 4),
            ] {
                let budget = Budget { epsilon, delta: 1e-5, relation };
                let plan = Plan::new(&budget, Shape { singles, core, rounds, pairs }).unwrap();
                let cost = plan.epsilon(&budget).unwrap();
                assert!(cost <= epsilon && cost > 0.998 * epsilon, "{cost} of {epsilon}");
            }
        }
    }
}
