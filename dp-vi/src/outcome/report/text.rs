//! The statement in words.

use super::PrivacyReport;
use crate::cost::charges::Release;
use crate::wall::bound::clip::Clipping;
use crate::wall::grid::PrivacyNoise;
use dp_accountant::{Budget, Relation, rounded_down, rounded_up};
use std::fmt;

impl fmt::Display for PrivacyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_records {
            writeln!(
                f,
                "NO RECORDS. The model was fitted to public constants, so there is nothing to protect."
            )?;
            writeln!(
                f,
                "If these constants come from people's records, nothing here protects those people."
            )?;
            write!(f, "  steps      {} of {}", self.steps_done, self.steps)?;
            return self.write_moved(f);
        }
        let (Some(budget), Some(epsilon)) = (&self.budget, &self.epsilon) else {
            writeln!(
                f,
                "NOT PRIVATE. No gradient was clipped and no noise was added: this result may reveal any record."
            )?;
            match &self.scheme {
                Some(scheme) => write!(f, "  sampling   {scheme}; {} steps", self.steps_done),
                None => write!(f, "  steps      {}", self.steps_done),
            }?;
            return self.write_moved(f);
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
        let agree = match self.treated_as_public.is_empty() {
            true => "",
            false => " and agree in what is treated as public",
        };
        let neighbours = neighbours(budget.relation);
        writeln!(f, "({upper}, {:e})-differential privacy, {neighbours}{agree}.", budget.delta)?;
        if self.noise == Some(PrivacyNoise::Continuous) {
            writeln!(
                f,
                "This takes the noise for real numbers. It was floating-point noise, and an attacker who sees every"
            )?;
            writeln!(f, "digit of what was released can break the guarantee.")?;
        }
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
        if let Some(published) = self.published_by_delta() {
            writeln!(
                f,
                "WARNING: this delta is too large. Publishing {published:.0} of the records whole, chosen at random, would keep to it;"
            )?;
            writeln!(
                f,
                "choose one well below {:.1e}, one in the number of records.",
                budget.delta / published
            )?;
        }
        if let (Some(advantage), Some(success)) = (&self.advantage, self.attack_success()) {
            writeln!(
                f,
                "An attacker who guesses {} and had even odds before is right with a",
                guess(budget.relation)
            )?;
            writeln!(
                f,
                "probability of at most {}; no test finds more than {} of true cases beyond its false alarms.",
                rounded_up(success),
                rounded_up(advantage.upper)
            )?;
        }
        writeln!(f, "  epsilon    in [{lower}, {upper}] at delta = {:e}", budget.delta)?;
        writeln!(f, "  budget     epsilon = {}, delta = {:e}", budget.epsilon, budget.delta)?;
        if let Some(delta) = self.delta_of_deviations {
            writeln!(
                f,
                "             this delta includes {} for what is not drawn exactly as it is accounted for",
                rounded_up(delta)
            )?;
        }
        if let Some(spent) = &self.ledger_spent {
            let spent = rounded_up(spent.upper);
            writeln!(f, "  ledger     epsilon = {spent} spent in all, by everything that was paid from it")?;
            if self.delta_of_deviations.is_some() {
                writeln!(f, "             (its delta does not include what is not drawn exactly)")?;
            }
        }
        writeln!(f, "  record     {}", self.record)?;
        writeln!(f, "  relation   {}: {}", budget.relation, number(budget))?;
        for statement in &self.treated_as_public {
            // A statement may hold names from a file, which must not add lines of their own.
            let words = statement.split(|c: char| c.is_whitespace() || c.is_control());
            let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
            writeln!(f, "  public     treated as public and not covered: {line}")?;
        }
        if let Some(scheme) = &self.scheme {
            writeln!(f, "  sampling   {scheme}")?;
        }
        if let (Some(sigma), Some(clip)) = (self.noise_multiplier, self.clip_norm) {
            writeln!(
                f,
                "  mechanism  Gaussian noise of standard deviation {sigma:.6} x {} on sums of per-record",
                self.noise_norm.unwrap_or(clip)
            )?;
            let how = match self.clipping {
                Some(Clipping::Quantile(_) | Clipping::Adaptive) => match self.last_clip_norm {
                    Some(last) => format!("at first, which follows a quantile, {last:.6} at last"),
                    None => "at first, which then follows a quantile".to_owned(),
                },
                Some(Clipping::PerSite) => "site by site".to_owned(),
                _ => "as a whole".to_owned(),
            };
            writeln!(f, "             gradients clipped to norm {clip} {how}; {} releases", self.steps)?;
            if self.noise == Some(PrivacyNoise::Exact) {
                writeln!(
                    f,
                    "             exact noise on sums rounded to a grid: all rounding is accounted for"
                )?;
            }
        }
        if self.steps_done < self.steps {
            writeln!(f, "             {} of them made; stated is the cost of all", self.steps_done)?;
        }
        for Release { what, event, count } in &self.releases {
            writeln!(f, "  event      {count} x {event} ({what})")?;
        }
        if let Some(intervals) = self.intervals {
            writeln!(f, "  intervals  of the posterior {intervals}")?;
        }
        for assumption in self.assumes {
            writeln!(f, "  assumes    {assumption}")?;
        }
        write!(f, "  covers     the posterior and everything that is computed from it")?;
        for other in self.not_covered {
            write!(f, "\n  leaves out {other}")?;
        }
        Ok(())
    }
}

fn number(budget: &Budget) -> &'static str {
    match budget.relation {
        Relation::AddRemove => "how many records there are is protected too",
        Relation::ReplaceOne => "how many records there are is treated as public",
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

fn guess(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "whether a record was there",
        Relation::ReplaceOne => "which of two a record was",
    }
}

/// Standard deviations that means may move between the halves of the averaged steps of a fit that has arrived: draws of
/// the guide move them by some tenths.
const STILL: f64 = 0.5;

impl PrivacyReport {
    /// How far a fit of a number of steps still moved.
    fn write_moved(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(moved) = self.moved else { return Ok(()) };
        write!(
            f,
            "\n  moved      by up to {moved:.2} standard deviations between the halves of the averaged steps"
        )?;
        if moved < STILL {
            return Ok(());
        }
        write!(f, ":\n             NOT CONVERGED. Take more steps")
    }
}
