//! Gaussian steps with and without Poisson sampling: closed forms where they are exact, and what the engines
//! take elsewhere.

use crate::closed_form::{Interval, gaussian_delta, invert, subsampled_step_delta};
use crate::engines::{self, Proven};
use crate::fourier;
use crate::lattice::{Ends, Pair, Part, Query, Subsampled};
use crate::special::ROUNDOFF;
use crate::{Certified, Composition, Engine, Error, Mechanism, Relation, Result, Sampling};

/// `count` uses of the Gaussian mechanism under Poisson sampling, or, at rate 1, without sampling.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    noise_multiplier: f64,
    rate: f64,
    count: f64,
}

/// A composition sorted into what the formulas take: one Gaussian block and a list of subsampled steps.
#[derive(Debug)]
pub(crate) struct Run {
    /// Sum over unsampled steps of (sensitivity / noise multiplier)², its square root being the block's mu.
    squared_mu: f64,
    /// The same sum over all steps as if none were sampled.
    squared_mu_unsampled: f64,
    /// Poisson-subsampled steps, in an order that does not depend on how they were composed.
    subsampled: Vec<Step>,
    /// A bound on the relative error of both sums.
    relative_error: f64,
}

impl Run {
    pub(crate) fn new(relation: Relation, composition: &Composition) -> Result<Self> {
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
                _ => {
                    let instead = "this formula is for Gaussian steps";
                    return Err(Error::UnsupportedEvent { relation, event, instead });
                }
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
        Ok(Self {
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

    /// Whether all counts are exact as floating-point numbers, which the loss distribution needs.
    fn has_exact_counts(&self) -> bool {
        self.subsampled.iter().all(|step| step.count <= (1u64 << 53) as f64)
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

    /// The composition as Fourier inversion takes it, where closed forms are not the answer.
    pub(crate) fn profile(&self) -> Option<fourier::Composition> {
        (!self.is_exact() && self.has_exact_counts()).then(|| engines::profile(&self.parts())).flatten()
    }

    /// The answer to a query: by closed forms where they are the whole answer, otherwise by the engines.
    pub(crate) fn answer(&self, query: Query, relative_width: f64) -> Result<Certified> {
        let closed = || {
            let interval = match query {
                Query::Epsilon { delta } => invert(|epsilon| self.enclose_delta(epsilon), delta),
                Query::Delta { epsilon } => self.enclose_delta(epsilon),
            };
            Proven::new(interval, Engine::ClosedForm)
        };
        if self.is_exact() || !self.has_exact_counts() {
            return closed().certify();
        }
        engines::answer(&self.parts(), query, closed, relative_width, Ends::Both).certify()
    }
}
