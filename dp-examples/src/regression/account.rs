//! Where fits and figures of test records are paid from, and what they cost together.

use std::error::Error as StdError;

use dp_accountant::{Budget, FileLedger, Ledger, Purse, Relation};
use dp_sampler::Seed;
use ppl_core::Records;

use super::arguments::RegressionArguments;
use super::command::Outcomes;
use super::fitting::{Fitted, PrivateFit};
use super::private_metrics::PrivateMetrics;

type Failure = Box<dyn StdError>;

/// Where fits are paid from.
enum Source {
    /// One fit has a budget of its own.
    Own,
    /// Several fits share a ledger.
    Shared(Ledger),
    /// A ledger that other runs share, too.
    File(FileLedger),
}

/// What everything is paid from.
pub(super) struct Account {
    fits: Source,
    /// Of figures of test records, where they are not paid from a file.
    figures: Option<Ledger>,
    delta: f64,
}

impl Account {
    /// Opens what the options name.
    pub(super) fn new(arguments: &RegressionArguments) -> Result<Self, Failure> {
        let budget = |epsilon| Budget { epsilon, delta: arguments.delta, relation: Relation::AddRemove };
        let fits = match (&arguments.ledger, arguments.ledger_epsilon) {
            (None, _) if arguments.epsilon.len() == 1 => Source::Own,
            (None, _) => Source::Shared(Ledger::new(budget(arguments.epsilon.iter().sum()))?),
            (Some(path), Some(epsilon)) => Source::File(FileLedger::create_or_open(path, budget(epsilon))?),
            (Some(path), None) => Source::File(FileLedger::resume(path)?),
        };
        let figures = match (&fits, arguments.private_metrics) {
            (Source::Own | Source::Shared(_), Some(epsilon)) => {
                Some(Ledger::new(budget(epsilon * arguments.epsilon.len() as f64))?)
            }
            _ => None,
        };
        Ok(Self { fits, figures, delta: arguments.delta })
    }

    /// A fit, paid for.
    pub(super) fn fit(
        &mut self,
        fit: PrivateFit<'_>,
        records: Records,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        match &mut self.fits {
            Source::Own => fit.run(records, None::<&mut Ledger>, seed),
            Source::Shared(ledger) => fit.run(records, Some(ledger), seed),
            Source::File(ledger) => fit.run(records, Some(ledger), seed),
        }
    }

    /// What figures of test records are paid from, where there are any.
    pub(super) fn of_figures(&mut self) -> Option<&mut dyn Purse> {
        match (&mut self.fits, &mut self.figures) {
            (Source::File(ledger), _) => Some(ledger),
            (_, Some(ledger)) => Some(ledger),
            _ => None,
        }
    }

    /// What everything cost together, where that is not what one fit says of itself.
    pub(super) fn together(&self, found: &[Outcomes]) -> Result<Option<String>, Failure> {
        let fits = match &self.fits {
            Source::Own => None,
            Source::Shared(ledger) => {
                Some((dp_accountant::rounded_up(ledger.spent()?.upper), ledger.spent()?.upper))
            }
            Source::File(ledger) => {
                let account = ledger.ledger();
                let private = found.iter().all(|one| one.fit.privacy().is_private());
                return Ok(Some(format!(
                    "{}The ledger {} has spent {} of epsilon {} at delta {:e}, these fits{} included.",
                    if private { "" } else { "NOT PRIVATE, and paid for all the same. " },
                    ledger.path().display(),
                    dp_accountant::rounded_up(account.spent()?.upper),
                    account.budget().epsilon,
                    account.budget().delta,
                    if found.iter().any(|one| one.private_metrics.is_some()) { " and figures" } else { "" }
                )));
            }
        };
        let mut said = Vec::new();
        if let Some((shown, spent)) = fits.filter(|_| found.len() > 1) {
            said.push(format!(
                "The {} fits together: ({shown}, {:e})-differential privacy; their epsilons add up to {}.",
                found.len(),
                self.delta + deviations(found, spent),
                found.iter().map(|one| one.epsilon).sum::<f64>()
            ));
        }
        let figures: Vec<&PrivateMetrics> =
            found.iter().filter_map(|one| one.private_metrics.as_ref()).collect();
        if let (Some(ledger), false) = (&self.figures, figures.is_empty()) {
            said.push(format!(
                "The figures of test records: ({}, {:e})-differential privacy. A record is either fitted or \
                 tested, so the \
                 larger of the two epsilons covers fits and figures together.",
                dp_accountant::rounded_up(ledger.spent()?.upper),
                self.delta
            ));
        }
        if !said.is_empty() && !found.iter().all(|one| one.fit.privacy().is_private()) {
            said.insert(0, "NOT PRIVATE. With secret seeds it would be:".to_owned());
        }
        Ok((!said.is_empty()).then(|| said.join(" ")))
    }
}

/// What batches and noise that are not drawn exactly take of δ at the ε of all fits together, on top of what a ledger
/// counts: `Σ (1 + e^ε) τ`, where a fit's own statement has `(1 + e^ε_i) τ`.
fn deviations(found: &[Outcomes], epsilon: f64) -> f64 {
    let of = |one: &Outcomes| {
        let part = one.fit.privacy().delta_of_deviations.unwrap_or(0.0);
        part * (1.0 + epsilon.exp()) / (1.0 + one.epsilon.exp())
    };
    found.iter().map(of).sum()
}
