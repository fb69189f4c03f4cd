//! The privacy statement.

use dp_accountant::{Budget, Certified, Relation, rounded_down, rounded_up};
use dp_sampler::Scheme;
use serde::Serialize;
use std::fmt;

/// What was done, and what it guarantees.
///
/// Printed, it is the statement in words and numbers. It says "NOT PRIVATE" whenever that is the case: without clipping
/// and noise, or with a seed that others may know.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PrivacyReport {
    /// The budget asked for; `None` for a fit without privacy.
    pub budget: Option<Budget>,
    /// The ε that was spent at the budget's δ, as an interval that holds the true value.
    pub epsilon: Option<Certified>,
    /// How batches were drawn.
    pub scheme: Scheme,
    /// Noise standard deviation over clip norm, σ.
    pub noise_multiplier: Option<f64>,
    /// Largest norm of one record's gradient, C.
    pub clip_norm: Option<f64>,
    /// Number of noisy sums that were planned, which is what ε is of.
    pub steps: u64,
    /// Number of noisy sums that were released.
    pub steps_done: u64,
    /// Whether the seed came from the operating system and is known to nobody.
    pub secret_seed: bool,
    /// What the guide is.
    pub guide: &'static str,
}

impl PrivacyReport {
    /// Whether the guarantee holds: noise was added, and from a secret seed.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.budget.is_some() && self.epsilon.is_some() && self.secret_seed
    }
}

impl fmt::Display for PrivacyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(budget), Some(epsilon)) = (&self.budget, &self.epsilon) else {
            writeln!(
                f,
                "NOT PRIVATE. No gradient was clipped and no noise was added: this result may reveal any record."
            )?;
            return write!(f, "  sampling   {}; {} steps", self.scheme, self.steps);
        };
        if !self.secret_seed {
            writeln!(
                f,
                "NOT PRIVATE. The seed is a fixed one for tests: who knows it can remove the noise."
            )?;
            writeln!(f, "With a secret seed, the same run would have this guarantee:")?;
        }
        // Every printed number is rounded to the safe side.
        let (upper, lower) = (rounded_up(epsilon.upper), rounded_down(epsilon.lower));
        writeln!(f, "({upper}, {:e})-differential privacy, {}.", budget.delta, neighbours(budget.relation))?;
        writeln!(f, "In words: {} changes the probability of any set of", change(budget.relation))?;
        writeln!(
            f,
            "outcomes by a factor of at most e^{upper} <= {}, up to an additional",
            rounded_up(epsilon.upper.exp())
        )?;
        writeln!(
            f,
            "probability of {:e}. This fit alone: every further one on these records adds to it.",
            budget.delta
        )?;
        writeln!(f, "  epsilon    in [{lower}, {upper}] at delta = {:e}", budget.delta)?;
        writeln!(f, "  budget     epsilon = {}, delta = {:e}", budget.epsilon, budget.delta)?;
        writeln!(f, "  sampling   {}", self.scheme)?;
        if let (Some(sigma), Some(clip)) = (self.noise_multiplier, self.clip_norm) {
            writeln!(
                f,
                "  mechanism  Gaussian noise of standard deviation {sigma:.6} x {clip} on sums of per-record"
            )?;
            writeln!(f, "             gradients clipped to norm {clip}; {} releases", self.steps)?;
        }
        writeln!(
            f,
            "  assumes    one row per person; settings and bounds chosen without looking at the data; a seed"
        )?;
        writeln!(
            f,
            "             nobody knows; noise as real numbers (floating-point rounding is not covered)"
        )?;
        write!(f, "  covers     the posterior. Running time and error messages are not covered.")
    }
}

fn neighbours(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "for data sets that differ by the presence of one record",
        Relation::ReplaceOne => "for data sets that differ in the values of one record",
    }
}

fn change(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "adding or removing one person's record",
        Relation::ReplaceOne => "replacing one person's record by another",
    }
}
