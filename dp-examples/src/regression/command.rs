//! The program `fit` with a formula: from options to fits, files and text.

use std::error::Error as StdError;
use std::io::Write;
use std::path::Path;

use dp_accountant::{Budget, FileLedger, Ledger, Relation};
use dp_sampler::{Purpose, Seed};
use dp_vi::{Fit, Sensitive};

use super::arguments::{PredictArguments, RegressionArguments, SchemaArguments, check_outputs};
use super::family::Family;
use super::fitting::{self, Settings};
use super::metrics::Metrics;
use super::model_file::ModelFile;
use super::outcome::{Outcome, outcomes};
use super::posterior::{Draws, KEPT, Summary};
use super::predict::{Prediction, predict};
use super::specification::Specification;
use crate::formula::matrix::Design;
use crate::formula::{Factor, Formula, Response, Term};
use crate::output::write_whole;
use crate::report::forest::{self, Row};
use crate::report::html::{Page, Section};
use crate::report::text;
use crate::schema::{Entry, Frame, Kind, Schema, categories_of, draft};
use crate::split::split;
use crate::table::Table;
use crate::{Error, Result};

type Failure = Box<dyn StdError>;

/// Most groups whose coefficients are printed.
const MOST_PRINTED: usize = 30;

/// Most numbers that a model file keeps of draws by group.
const MOST_KEPT: usize = 2_000_000;

/// Drafts a schema and prints it.
///
/// # Errors
///
/// A file that is no table, and a standard output that is closed.
pub fn schema(arguments: &SchemaArguments) -> Result<(), Failure> {
    let table = Table::read(&arguments.data)?;
    let text = draft::draft(&table, arguments.public_categories)?;
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// Records as numbers.
struct Prepared {
    formula: Formula,
    schema: Schema,
    design: Design,
    lines: Vec<u64>,
    table: Table,
}

/// The design of a formula for the records of a table; with `outcome`, records without one are left out where that is
/// its policy.
fn prepare(mut formula: Formula, table: Table, schema: Schema, outcome: bool) -> Result<Prepared> {
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
struct Outcomes {
    epsilon: f64,
    fit: Fit,
    draws: Draws,
    metrics: Option<Metrics>,
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
        Account::Shared(ledger) if found.len() > 1 => Some(format!(
            "The {} fits together: ({}, {:e})-differential privacy, less than the sum of their epsilons.",
            found.len(),
            dp_accountant::rounded_up(ledger.spent()?.upper),
            arguments.delta
        )),
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

/// Coefficients on the scale of the public bounds, so that they can be compared.
fn rows(specification: &Specification, one: &Outcomes) -> Vec<Row> {
    let summaries = one.draws.coefficients();
    let pairs = specification.columns.iter().zip(summaries);
    pairs
        .filter(|(column, _)| column.of.name != "Intercept")
        .map(|(column, found)| {
            let by = column.width;
            Row {
                label: column.of.name.clone(),
                summary: Summary {
                    mean: found.mean * by,
                    sd: found.sd * by,
                    low: found.low * by,
                    high: found.high * by,
                    ..found
                },
            }
        })
        .collect()
}

fn scale_in_words(family: Family) -> String {
    format!(
        "change of {} from the middle of a column's bounds to its end, or from the baseline",
        family.scale_in_words()
    )
}

fn picture(specification: &Specification, one: &Outcomes) -> Option<Result<String>> {
    let rows = rows(specification, one);
    let title = format!("{} at epsilon = {}", specification.outcome.name, one.epsilon);
    (!rows.is_empty()).then(|| forest::svg(&title, &scale_in_words(specification.family), &rows))
}

fn meaning(fit: &Fit, epsilon: f64) -> String {
    let what = fit.privacy().attack_success().filter(|_| fit.privacy().is_private()).map_or_else(String::new, |success| {
        format!(
            " Somebody who has everything but one record, and wonders with even odds whether that record was in the file, is right \
             in at most {} of 100 cases after seeing this fit.",
            (100.0 * success).ceil()
        )
    });
    format!("Epsilon is {epsilon}.{what}")
}

/// Writes the files that were asked for: the option and the path, or what was wrong.
fn write_files(
    arguments: &RegressionArguments,
    prepared: &Prepared,
    specification: &Specification,
    found: &[Outcomes],
    together: Option<&str>,
) -> Vec<(String, Result<()>)> {
    let mut written = Vec::new();
    let mut write = |what: &str, path: &Option<std::path::PathBuf>, contents: &dyn Fn() -> Result<String>| {
        if let Some(path) = path {
            let done = contents().and_then(|contents| write_whole(path, contents.as_bytes()));
            written.push((format!("{what}: {}", path.display()), done));
        }
    };
    let Some(last) = found.last() else { return written };
    write("Model", &arguments.model, &|| model_file(arguments, prepared, specification, last));
    write("Report", &arguments.html, &|| {
        let section = |one: &Outcomes| -> Result<Section> {
            Ok(Section {
                title: format!("epsilon = {}, delta = {:e}", one.epsilon, arguments.delta),
                picture: picture(specification, one).transpose()?,
                coefficients: one.draws.coefficients(),
                others: one.draws.others(),
                metrics: one.metrics.clone(),
                privacy: one.fit.privacy().to_string(),
                meaning: meaning(&one.fit, one.epsilon),
            })
        };
        let page = Page {
            formula: prepared.formula.to_string(),
            about: about(specification),
            sections: found.iter().map(section).collect::<Result<_>>()?,
            together: together.map(str::to_owned),
        };
        Ok(page.html())
    });
    write("Picture", &arguments.svg, &|| {
        picture(specification, last)
            .unwrap_or_else(|| Ok("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".into()))
    });
    written
}

fn model_file(
    arguments: &RegressionArguments,
    prepared: &Prepared,
    specification: &Specification,
    one: &Outcomes,
) -> Result<String> {
    let numbers: usize = one.draws.groups.iter().map(|group| group.levels.len() * group.names.len()).sum();
    let kept = KEPT.min(MOST_KEPT / numbers.max(1)).max(50);
    let mut schema = prepared.schema.clone();
    let used = prepared.formula.columns();
    schema.columns.retain(|column, _| used.contains(&column.as_str()));
    let (format, version) = ModelFile::header();
    let told = |error: serde_json::Error| Error::Formula { reason: error.to_string() };
    let model = ModelFile {
        format,
        version,
        formula: arguments.formula.to_string(),
        epsilon: one.epsilon,
        delta: arguments.delta,
        schema,
        specification: specification.clone(),
        coefficients: one.draws.coefficients(),
        others: one.draws.others(),
        draws: one.draws.kept(kept),
        privacy: serde_json::to_value(one.fit.privacy()).map_err(told)?,
    };
    Ok(serde_json::to_string(&model).map_err(told)? + "\n")
}

fn about(specification: &Specification) -> Vec<String> {
    let Outcome { name, levels, low, high } = &specification.outcome;
    let outcome = match (specification.family, levels.as_slice()) {
        (Family::Bernoulli, [_, yes]) => format!("The outcome is whether {name} ({yes})."),
        (_, []) => format!(
            "The outcome {name} lies between the public bounds {low} and {high}; values outside were moved there."
        ),
        (_, levels) => format!("The outcome {name} is one of {}, in this order.", levels.join(", ")),
    };
    vec![
        outcome,
        format!(
            "The family is {}; the predictor is {}.",
            specification.family,
            specification.family.scale_in_words()
        ),
        "Numbers were scaled to [-1, 1] by their public bounds, and priors are on that scale.".to_owned(),
    ]
}

/// Prints everything.
fn say(
    prepared: &Prepared,
    specification: &Specification,
    found: &[Outcomes],
    together: Option<&str>,
    written: &[(String, Result<()>)],
) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} ({})", prepared.formula, specification.family)?;
    for line in about(specification) {
        writeln!(out, "{line}")?;
    }
    for one in found {
        writeln!(out, "\nepsilon = {}\n", one.epsilon)?;
        write!(out, "{}", text::table("coefficient", &one.draws.coefficients()))?;
        let others = one.draws.others();
        if !others.is_empty() {
            write!(out, "\n{}", text::table("beside", &others))?;
        }
        for group in
            one.draws.groups.iter().filter(|group| group.levels.len() * group.names.len() <= MOST_PRINTED)
        {
            let mut summaries = Vec::new();
            for (place, (level, name)) in group
                .levels
                .iter()
                .flat_map(|level| group.names.iter().map(move |name| (level, name)))
                .enumerate()
            {
                let draws = group.draws.iter().map(|draw| draw[place]).collect();
                summaries.push(Summary::of(&format!("{level}, {name}"), draws));
            }
            write!(out, "\n{}", text::table(&format!("by {}", group.column), &summaries))?;
        }
        writeln!(
            out,
            "\nIn the units of the file. Intervals {}.",
            one.fit.privacy().intervals.unwrap_or("leave out noise")
        )?;
        if let Some(metrics) = &one.metrics {
            say_metrics(&mut out, metrics)?;
        }
        writeln!(out, "\n{}", one.fit.privacy())?;
    }
    if let Some(together) = together {
        writeln!(out, "\n{together}")?;
    }
    for (what, _) in written.iter().filter(|(_, done)| done.is_ok()) {
        writeln!(out, "{what}")?;
    }
    Ok(out.flush()?)
}

fn say_metrics(out: &mut impl Write, metrics: &Metrics) -> std::io::Result<()> {
    writeln!(out, "\n{} test records, beside the best constant:", metrics.records)?;
    if let (Some(loss), Some(base), Some((right, most))) =
        (metrics.log_loss, metrics.log_loss_of_base, metrics.accuracy)
    {
        let area = metrics.area_under_curve.map_or("-".to_owned(), |area| format!("{area:.4}"));
        writeln!(
            out,
            "  area under the ROC curve {area} (0.5)   log loss {loss:.4} ({base:.4})   accuracy {right:.4} ({most:.4})"
        )?;
        writeln!(out, "  base rate {:.4}; predicted and observed by tenths:", metrics.base)?;
        for tenth in &metrics.calibration {
            writeln!(out, "    {:.3}  {:.3}", tenth.predicted, tenth.observed)?;
        }
    } else {
        writeln!(
            out,
            "  root mean square error {:.4} ({:.4})   mean {:.4}",
            metrics.error, metrics.error_of_base, metrics.base
        )?;
    }
    writeln!(
        out,
        "These are exact figures of held-back records: NOT covered by the guarantee below. Do not publish them"
    )?;
    writeln!(out, "with the posterior unless those records are public.")
}

/// Predicts from a model file.
///
/// # Errors
///
/// A model or a table that cannot be read, and columns that do not fit one another.
pub fn predictions(arguments: &PredictArguments) -> Result<(), Failure> {
    let inputs: [(&'static str, Option<&Path>); 2] =
        [("the model", Some(&arguments.model)), ("the data", Some(&arguments.data))];
    check_outputs(&inputs, &[("--out", arguments.out.as_deref())])?;
    let model = ModelFile::read(&arguments.model)?;
    let prepared = prepare(model.formula.parse()?, Table::read(&arguments.data)?, model.schema, false)?;
    let family = model.specification.family;
    let found = predict(family, &model.draws, &prepared.design)?;
    let text = csv_of(&found, &prepared.lines, &model.specification.outcome)?;
    match &arguments.out {
        Some(path) => Ok(write_whole(path, &text)?),
        None => Ok(std::io::stdout().lock().write_all(&text)?),
    }
}

fn csv_of(found: &[Prediction], lines: &[u64], outcome: &Outcome) -> Result<Vec<u8>, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["line".to_owned(), "mean".to_owned(), "low".to_owned(), "high".to_owned()];
    if found.first().is_some_and(|first| !first.probabilities.is_empty()) {
        header.extend(outcome.levels.iter().map(|level| format!("probability of {level}")));
    }
    writer.write_record(&header)?;
    for (prediction, line) in found.iter().zip(lines) {
        let mut row = vec![line.to_string()];
        row.extend([prediction.mean, prediction.low, prediction.high].map(|x| format!("{x:.6}")));
        row.extend(prediction.probabilities.iter().map(|p| format!("{p:.6}")));
        writer.write_record(&row)?;
    }
    Ok(writer.into_inner().map_err(|error| error.to_string())?)
}
