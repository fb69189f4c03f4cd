//! The program `fit` with a formula: from options to fits, files and text.

use std::error::Error as StdError;
use std::mem;

use dp_accountant::{Budget, Relation};
use dp_sampler::{Purpose, Seed};
use ppl_core::Records;

use super::account::Account;
use super::arguments::RegressionArguments;
use super::effects::{Effect, effects};
use super::family::Family;
use super::files::write_files;
use super::fitting::{Fitted, PrivateFit, Settings};
use super::learned::hardly_learned_of;
use super::metrics::Metrics;
use super::posterior::{Draws, KEPT, Summary};
use super::predict::predict;
use super::prepare::{WithOutcomes, complete, prepare_in_parts, prepare_with_outcomes};
use super::private_metrics::PrivateMetrics;
use super::say::say;
use super::specification::Specification;
use crate::Result;
use crate::formula::matrix::Design;
use crate::program::for_the_holder;
use crate::schema::{Schema, clamped_in_words};
use crate::table::Table;
use crate::table::split::{Split, split};

type Failure = Box<dyn StdError>;

/// One fit, with all that is said of it.
pub(super) struct Outcomes {
    pub(super) epsilon: f64,
    pub(super) fit: Fitted,
    pub(super) draws: Draws,
    /// In the units of the file.
    pub(super) coefficients: Vec<Summary>,
    /// Which coefficients have hardly been learned, in words.
    pub(super) hardly_learned: Option<String>,
    pub(super) effects: Vec<Effect>,
    pub(super) metrics: Option<Metrics>,
    pub(super) private_metrics: Option<PrivateMetrics>,
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
    let (prepared, design, (values, outcome)) = read(arguments, family)?;
    let specification = Specification::new(family, outcome, &design, &arguments.prior)?;
    let mut used = prepared.formula.columns();
    used.push(prepared.formula.outcome());
    let public = prepared.schema.statements(&used);
    if arguments.count_clamped {
        let mut schema = prepared.schema.clone();
        schema.columns.retain(|column, _| used.contains(&column.as_str()));
        for_the_holder(&clamped_in_words(&schema.clamped(&arguments.data)?));
    }

    let seed = |number: u64| match arguments.test_seed_not_private {
        Some(fixed) => Ok(Seed::for_tests(fixed.wrapping_add(number))),
        None => Seed::from_os(),
    };
    let parts = split(values.len(), arguments.test_fraction, &mut seed(0)?.streams(Purpose::Split).at(0))?;
    let of = |rows: &[usize]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let (train, test) = parted(design, &parts);
    let mut records = specification.records_of(train, &of(&parts.train))?;
    let test = test.map(|test| (test, of(&parts.test)));

    let settings = Settings {
        steps: arguments.steps,
        clip_norm: arguments.clip_norm,
        checkpoint: arguments.checkpoint.clone().map(|path| (path, arguments.resume)),
    };
    if let Some(epsilon) = arguments.private_metrics {
        let budget = Budget { epsilon, delta: arguments.delta, relation: Relation::AddRemove };
        PrivateMetrics::noise(specification.family, &budget)?;
    }
    let mut account = Account::new(arguments)?;
    let (mut found, mut failed): (Vec<Outcomes>, Option<Failure>) = (Vec::new(), None);
    for (number, &epsilon) in arguments.epsilon.iter().enumerate() {
        let budget = Budget { epsilon, delta: arguments.delta, relation: Relation::AddRemove };
        let seeds = || Ok::<_, Failure>((seed(2 * number as u64)?, seed(2 * number as u64 + 1)?));
        let one = seeds().and_then(|(of_fit, of_figures)| {
            let fit =
                PrivateFit { specification: &specification, budget, settings: &settings, public: &public };
            // The last fit has them for itself, and changes them where they are.
            let is_last = number + 1 == arguments.epsilon.len();
            let its_records =
                if is_last { mem::replace(&mut records, Records::none()) } else { records.clone() };
            let fit = account.fit(fit, its_records, of_fit)?;
            let draws = fit.draws(&specification)?;
            let effects = effects(&specification, &prepared.formula, &prepared.schema, &draws)?;
            let mut coefficients = draws.coefficients();
            if let Some(sds) = fit.deviations_without_noise(&specification) {
                let pairs = coefficients.iter_mut().zip(sds);
                pairs.for_each(|(found, sd)| found.sd_without_noise = Some(sd));
            }
            let hardly_learned = hardly_learned_of(&specification, &draws);
            let (metrics, private_metrics) = (None, None);
            let one = Outcomes {
                epsilon,
                fit,
                draws,
                coefficients,
                hardly_learned,
                effects,
                metrics,
                private_metrics,
            };
            Ok((one, of_figures))
        });
        let (mut one, of_figures) = match one {
            Ok(one) => one,
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        // The fit is paid for: what goes wrong from here on does not take it away.
        if let Some(test) = &test
            && let Err(error) = figures(&mut one, arguments, &specification, test, &mut account, of_figures)
        {
            failed = Some(error);
        }
        found.push(one);
        if failed.is_some() {
            break;
        }
    }
    if !found.is_empty() {
        let together = account.together(&found)?;
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

/// The records of the table as numbers.
fn read(arguments: &RegressionArguments, family: Family) -> Result<WithOutcomes> {
    let RegressionArguments { data, formula, public_categories, .. } = arguments;
    let schema = arguments.schema.as_deref().map_or_else(|| Ok(Schema::default()), Schema::read);
    // Categories that are read from the records are those of all of them.
    if let (Ok(schema), false) = (&schema, *public_categories)
        && let Some(found) = prepare_in_parts(formula, data, schema, family)
    {
        return Ok(found);
    }
    let table = Table::read(data)?;
    let schema = schema?;
    schema.check_columns(table.name(), table.columns())?;
    let _ = table.cells(formula.outcome())?;
    let (formula, schema) = complete(formula, schema, &table, *public_categories)?;
    prepare_with_outcomes(formula, table, schema, family)
}

/// The designs of training and test records. Where none are tested nothing is copied.
fn parted(design: Design, parts: &Split) -> (Design, Option<Design>) {
    match parts.test.as_slice() {
        [] => (design, None),
        test => (design.select(&parts.train), Some(design.select(test))),
    }
}

/// Figures of test records: exact ones, or with noise where a budget is named for them.
fn figures(
    one: &mut Outcomes,
    arguments: &RegressionArguments,
    specification: &Specification,
    (design, outcomes): &(Design, Vec<f64>),
    account: &mut Account,
    seed: Seed,
) -> Result<(), Failure> {
    let family: Family = specification.family;
    let predictions = predict(specification, &one.draws.kept(KEPT), design)?;
    match (arguments.private_metrics, account.of_figures()) {
        (Some(epsilon), Some(purse)) => {
            let budget = Budget { epsilon, delta: arguments.delta, relation: Relation::AddRemove };
            let found = PrivateMetrics::new(specification, &predictions, outcomes, &budget, purse, seed)?;
            one.private_metrics = Some(found);
        }
        _ => one.metrics = Some(Metrics::new(family, &predictions, outcomes)),
    }
    Ok(())
}
