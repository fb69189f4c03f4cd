//! The program `fit` with a formula: from options to fits, files and text.

use std::error::Error as StdError;

use dp_accountant::{Budget, FileLedger, Ledger, Relation};
use dp_sampler::{Purpose, Seed};
use dp_vi::{Fit, Sensitive};

use super::arguments::RegressionArguments;
use super::files::write_files;
use super::fitting::{self, Settings};
use super::metrics::Metrics;
use super::outcome::outcomes;
use super::posterior::Draws;
use super::predict::predict;
use super::say::say;
use super::specification::Specification;
use crate::formula::matrix::Design;
use crate::formula::{Factor, Formula, Response, Term};
use crate::schema::{Entry, Frame, Kind, Schema, categories_of, draft};
use crate::split::split;
use crate::table::Table;
use crate::{Error, Result};

type Failure = Box<dyn StdError>;

/// Records as numbers.
pub(super) struct Prepared {
    pub(super) formula: Formula,
    pub(super) schema: Schema,
    pub(super) design: Design,
    pub(super) lines: Vec<u64>,
    table: Table,
}

/// The design of a formula for the records of a table; with `outcome`, records without one are left out where that is
/// its policy.
pub(super) fn prepare(mut formula: Formula, table: Table, schema: Schema, outcome: bool) -> Result<Prepared> {
    let columns: Vec<String> = formula.columns().into_iter().map(str::to_owned).collect();
    let mut used: Vec<&str> = columns.iter().map(String::as_str).collect();
    if used.contains(&formula.outcome()) {
        return Err(Error::Formula {
            reason: format!("'{formula}': the outcome {} cannot be predicted from itself", formula.outcome()),
        });
    }
    let target = formula.outcome().to_owned();
    if outcome {
        used.push(&target);
    }
    let table = schema.complete(table, &used)?;
    used.truncate(columns.len());
    // A formula of an intercept alone needs no column, and yet a frame has to know how many records there are.
    let frame = Frame::new(&table, &schema, &used)?;
    for column in frame.missing() {
        formula.terms.push(Term { factors: vec![Factor::Column(column.clone())] });
    }
    let design = Design::new(&formula, &frame)?;
    Ok(Prepared { formula, schema, design, lines: table.lines().to_vec(), table })
}

/// Categories that are read from the records, where the user says that they are public.
fn with_public_categories(mut schema: Schema, formula: &Formula, table: &Table) -> Result<Schema> {
    let outcome = match &formula.response {
        Response::Condition(_) => None,
        _ => Some(formula.outcome()),
    };
    for column in formula.columns().into_iter().chain(outcome) {
        if schema.get(column).is_none()
            && !draft::looks_like_identifier(column)
            && let Some(categories) = categories_of(table, column)?
        {
            let entry = Entry { read_from_records: true, ..Entry::new(Kind::Categories(categories)) };
            schema.columns.insert(column.to_owned(), entry);
        }
    }
    Ok(schema)
}

/// One fit, with all that is said of it.
pub(super) struct Outcomes {
    pub(super) epsilon: f64,
    pub(super) fit: Fit,
    pub(super) draws: Draws,
    pub(super) metrics: Option<Metrics>,
}

/// Where fits are paid from.
enum Account {
    Own,
    Shared(Ledger),
    File(FileLedger),
}

fn account(arguments: &RegressionArguments) -> Result<Account, Failure> {
    let budget = |epsilon| Budget { epsilon, delta: arguments.delta, relation: Relation::AddRemove };
    Ok(match (&arguments.ledger, arguments.ledger_epsilon) {
        (None, _) if arguments.epsilon.len() == 1 => Account::Own,
        (None, _) => Account::Shared(Ledger::new(budget(arguments.epsilon.iter().sum()))?),
        (Some(path), Some(epsilon)) if !path.exists() => {
            Account::File(FileLedger::create(path, budget(epsilon))?)
        }
        (Some(path), Some(epsilon)) => Account::File(FileLedger::open(path, budget(epsilon))?),
        (Some(path), None) => Account::File(FileLedger::resume(path)?),
    })
}

/// Fits a regression, once for each budget, and says what was found.
///
/// # Errors
///
/// What is wrong with options, files and records, before anything is spent. Where a later fit of several cannot be paid
/// for, or a file cannot be written, what has been released is said all the same, and then the error.
pub fn fit(arguments: &RegressionArguments) -> Result<(), Failure> {
    arguments.check()?;
    let family = arguments.family()?;
    let table = Table::read(&arguments.data)?;
    let schema = arguments.schema.as_deref().map_or_else(|| Ok(Schema::default()), Schema::read)?;
    schema.check_columns(table.name(), table.columns())?;
    let _ = table.cells(arguments.formula.outcome())?;
    let schema = match arguments.public_categories {
        true => with_public_categories(schema, &arguments.formula, &table)?,
        false => schema,
    };
    let prepared = prepare(arguments.formula.clone(), table, schema, true)?;
    let (values, outcome) = outcomes(&prepared.formula.response, family, &prepared.table, &prepared.schema)?;
    let specification = Specification::new(family, outcome, &prepared.design, &arguments.prior)?;
    let mut used = prepared.formula.columns();
    used.push(prepared.formula.outcome());
    let public = prepared.schema.statements(&used);

    let seed = |number: u64| match arguments.test_seed_not_private {
        Some(fixed) => Ok(Seed::for_tests(fixed.wrapping_add(number))),
        None => Seed::from_os(),
    };
    let parts = split(values.len(), arguments.test_fraction, &mut seed(0)?.streams(Purpose::Split).at(0))?;
    let of = |rows: &[usize]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let records = specification.records(&prepared.design.select(&parts.train), &of(&parts.train))?;
    let records = Sensitive::new(records);
    let test = (!parts.test.is_empty()).then(|| (prepared.design.select(&parts.test), of(&parts.test)));

    let settings = Settings {
        steps: arguments.steps,
        clip_norm: arguments.clip_norm,
        checkpoint: arguments.checkpoint.clone().map(|path| (path, arguments.resume)),
    };
    let mut account = account(arguments)?;
    let (mut found, mut failed): (Vec<Outcomes>, Option<Failure>) = (Vec::new(), None);
    for (number, &epsilon) in arguments.epsilon.iter().enumerate() {
        let budget = Budget { epsilon, delta: arguments.delta, relation: Relation::AddRemove };
        let seed = seed(number as u64)?;
        let fitted = match &mut account {
            Account::Own => {
                fitting::fit(&specification, &records, budget, None::<&mut Ledger>, &settings, seed, &public)
            }
            Account::Shared(ledger) => {
                fitting::fit(&specification, &records, budget, Some(ledger), &settings, seed, &public)
            }
            Account::File(ledger) => {
                fitting::fit(&specification, &records, budget, Some(ledger), &settings, seed, &public)
            }
        };
        let summed = fitted.and_then(|fit| {
            let draws = Draws::new(&specification, fit.posterior())?;
            let metrics = test.as_ref().map(|(design, outcomes)| -> Result<Metrics> {
                Ok(Metrics::new(family, &predict(family, &draws, design)?, outcomes))
            });
            Ok(Outcomes { epsilon, fit, draws, metrics: metrics.transpose()? })
        });
        match summed {
            Ok(one) => found.push(one),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    let together = match &account {
        Account::Shared(ledger) if found.len() > 1 => {
            let spent = ledger.spent()?.upper;
            Some(format!(
                "The {} fits together: ({}, {:e})-differential privacy; their epsilons add up to {}.",
                found.len(),
                dp_accountant::rounded_up(spent),
                arguments.delta + deviations(&found, spent),
                found.iter().map(|one| one.epsilon).sum::<f64>()
            ))
        }
        Account::File(ledger) => Some(format!(
            "The ledger {} has spent {} of epsilon {} at delta {:e}, these fits included.",
            ledger.path().display(),
            dp_accountant::rounded_up(ledger.ledger().spent()?.upper),
            ledger.ledger().budget().epsilon,
            ledger.ledger().budget().delta
        )),
        _ => None,
    };
    if !found.is_empty() {
        // What has been paid for is said whatever happens to files: they come first, for a closed pipe ends the text.
        let written = write_files(arguments, &prepared, &specification, &found, together.as_deref());
        let said = say(&prepared, &specification, &found, together.as_deref(), &written);
        for problem in written.into_iter().filter_map(|(_, problem)| problem.err()) {
            failed = Some(failed.unwrap_or_else(|| problem.into()));
        }
        said?;
    }
    failed.map_or(Ok(()), Err)
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
