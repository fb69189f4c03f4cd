//! Gaussian steps with and without Poisson sampling: closed forms where they are exact, and what the engines
//! take elsewhere.

use crate::closed_form::{Interval, gaussian_delta, invert, subsampled_step_delta};
use crate::lattice::{Pair, Part, Query, Subsampled};
use crate::run::{Formulas, Run};
use crate::special::ROUNDOFF;
use crate::{Composition, Mechanism, Relation, Sampling};

/// `count` uses of the Gaussian mechanism under Poisson sampling, or, at rate 1, without sampling.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    noise_multiplier: f64,
    rate: f64,
    count: f64,
}

/// A composition sorted into what the formulas take: one Gaussian block and a list of subsampled steps.
#[derive(Debug)]
struct Steps {
    /// Sum over unsampled steps of (sensitivity / noise multiplier)², its square root being the block's mu.
    squared_mu: f64,
    /// The same sum over all steps as if none were sampled.
    squared_mu_unsampled: f64,
    /// Poisson-subsampled steps, in an order that does not depend on how they were composed.
    subsampled: Vec<Step>,
    /// A bound on the relative error of both sums.
    relative_error: f64,
}

/// The run, where all of it is Gaussian steps that the formulas cover.
pub(crate) fn run(relation: Relation, composition: &Composition) -> Option<Run> {
    let steps = Steps::new(relation, composition)?;
    Some(Run {
        upper: steps.parts(),
        lower: Vec::new(),
        exact_counts: steps.has_exact_counts(),
        invertible: !steps.is_exact(),
        formulas: Box::new(steps),
    })
}

impl Steps {
    /// `None` for a composition with anything but Gaussian steps that the formulas cover.
    fn new(relation: Relation, composition: &Composition) -> Option<Self> {
        let mut unsampled: Vec<Step> = Vec::new();
        let mut subsampled: Vec<Step> = Vec::new();
        for (event, count) in composition.iter() {
            let count = count as f64;
            match (event.mechanism(), event.sampling()) {
                (
                    Mechanism::Gaussian { noise_multiplier },
                    Sampling::None | Sampling::Poisson { rate: 1.0 },
                ) => unsampled.push(Step { noise_multiplier, rate: 1.0, count }),
                (Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })
                    if relation == Relation::AddRemove =>
                {
                    subsampled.push(Step { noise_multiplier, rate, count });
                }
                _ => return None,
            }
        }
        let order = |a: &Step, b: &Step| {
            (a.noise_multiplier, a.rate, a.count)
                .partial_cmp(&(b.noise_multiplier, b.rate, b.count))
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        unsampled.sort_by(order);
        subsampled.sort_by(order);
        let sensitivity = match relation {
            Relation::AddRemove => 1.0,
            Relation::ReplaceOne => 2.0,
        };
        let squared_mu = |steps: &[Step]| -> f64 {
            steps.iter().map(|s| s.count * (sensitivity / s.noise_multiplier).powi(2)).sum()
        };
        let sum = squared_mu(&unsampled);
        let lines = (unsampled.len() + subsampled.len()) as f64;
        Some(Self {
            squared_mu: sum,
            squared_mu_unsampled: sum + squared_mu(&subsampled),
            subsampled,
            relative_error: (lines + 8.0) * ROUNDOFF,
        })
    }

    /// Whether a closed form is the answer, and not just a bound on it.
    fn is_exact(&self) -> bool {
        match self.subsampled.as_slice() {
            [] => true,
            [only] => only.count == 1.0 && self.squared_mu == 0.0,
            _ => false,
        }
    }

    /// Whether all counts are exact as floating-point numbers, which the loss distribution needs. 2⁵³ itself is
    /// what one more is rounded to.
    fn has_exact_counts(&self) -> bool {
        self.subsampled.iter().all(|step| step.count < (1u64 << 53) as f64)
    }

    /// An interval for delta from closed forms: exact if [`Self::is_exact`], otherwise true but wide.
    ///
    /// From below: a run is at least as revealing as its Gaussian block, and as any single step of it. From
    /// above: it is at most as revealing as without sampling (sampling is a mixture with a pair that reveals
    /// nothing, and the divergence is convex), and delta never exceeds the sum over steps of the total
    /// variation distance.
    fn enclose_delta(&self, epsilon: f64) -> Interval {
        let gaussian = |squared_mu: f64| match squared_mu {
            0.0 => Interval::ZERO,
            _ => gaussian_delta(squared_mu.sqrt(), self.relative_error, epsilon),
        };
        let block = gaussian(self.squared_mu);
        if self.subsampled.is_empty() {
            return block;
        }
        let step = |s: &Step, epsilon| subsampled_step_delta(s.noise_multiplier, s.rate, epsilon);
        if self.is_exact() {
            return step(&self.subsampled[0], epsilon);
        }
        let lower = self.subsampled.iter().map(|s| step(s, epsilon).lower).fold(block.lower, f64::max);
        let variation: f64 = self.subsampled.iter().map(|s| s.count * step(s, 0.0).upper).sum();
        let block_variation = match self.squared_mu {
            0.0 => 0.0,
            squared => gaussian_delta(squared.sqrt(), self.relative_error, 0.0).upper,
        };
        let total_variation = (variation + block_variation) * (1.0 + self.relative_error);
        let upper = gaussian(self.squared_mu_unsampled).upper.min(total_variation).min(1.0);
        Interval { lower: lower.min(upper), upper }
    }

    /// The steps that the engines compose, the unsampled ones as one Gaussian step of the same total.
    fn parts(&self) -> Vec<Part> {
        let part = |sigma, rate, count| Part { pair: Pair::Subsampled(Subsampled { sigma, rate }), count };
        let steps = self.subsampled.iter().map(|step| part(step.noise_multiplier, step.rate, step.count));
        let block = (self.squared_mu > 0.0).then(|| part(1.0 / self.squared_mu.sqrt(), 1.0, 1.0));
        steps.chain(block).collect()
    }
}

impl Formulas for Steps {
    fn exact(&self, _: &[Part], query: Query) -> Option<Interval> {
        self.is_exact().then(|| self.enclose(query))
    }

    fn enclose(&self, query: Query) -> Interval {
        match query {
            Query::Epsilon { delta } => invert(|epsilon| self.enclose_delta(epsilon), delta),
            Query::Delta { epsilon } => self.enclose_delta(epsilon),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accountant, Event};

    #[test]
    fn a_count_that_was_rounded_is_not_taken_for_exact() {
        let event =
            Event::new(Mechanism::Gaussian { noise_multiplier: 1e9 }, Sampling::Poisson { rate: 1e-3 })
                .expect("valid");
        for (count, exact) in [(1, true), ((1 << 53) - 1, true), ((1 << 53) + 1, false), (u64::MAX, false)] {
            let composition = Composition::single(event, count);
            let steps = Steps::new(Relation::AddRemove, &composition).expect("Gaussian steps");
            assert_eq!(steps.has_exact_counts(), exact, "{count}");
        }
        // Closed forms still answer, and say at least as much as for fewer steps.
        let epsilon = |count| {
            let accountant = Accountant::new(Relation::AddRemove).compose(event, count);
            accountant.epsilon(1e-5).expect("an answer")
        };
        let (few, many) = (epsilon((1 << 53) - 1), epsilon((1 << 53) + 1));
        assert!(many.upper >= few.lower && many.upper.is_finite(), "{few:?} {many:?}");
    }
}
