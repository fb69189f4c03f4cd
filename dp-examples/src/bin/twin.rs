//! Makes a private synthetic copy of any table.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dp_accountant::{Budget, Ledger, Relation};
use dp_examples::arguments::{delta, file, positive};
use dp_examples::output::{check_writable, write_whole};
use dp_examples::program::run;
use dp_examples::twin::{self, Model, Schema, Settings, Twin};
use dp_sampler::{Purpose, Seed, Stream};

#[derive(Parser)]
#[command(name = "twin", version, about = "Makes a private synthetic copy of any table.")]
struct Arguments {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Learns a model from a CSV file under differential privacy, and draws a twin from it
    Fit(Fit),
    /// Draws rows from a model: free of further cost
    Sample(Sample),
    /// Compares a twin with real rows: exact figures, NOT private
    Check(Check),
    /// Writes the page about a model again
    Report(Report),
}

#[derive(Parser)]
struct Fit {
    /// CSV file with a header line, compressed by gzip or not
    #[arg(value_name = "TABLE", value_parser = file)]
    data: std::path::PathBuf,
    /// TOML file of what is public: lines like `age = [17, 90]` and `sex = ["female", "male"]`; a column without a
    /// line is left out
    #[arg(long, value_name = "FILE", value_parser = file)]
    schema: std::path::PathBuf,
    /// Privacy budget epsilon, above 0
    #[arg(long, value_parser = positive, allow_hyphen_values = true)]
    epsilon: f64,
    /// Privacy budget delta, between 0 and 1 and far below 1 / (number of records)
    #[arg(long, value_parser = delta, default_value = "1e-5", allow_hyphen_values = true)]
    delta: f64,
    /// A column that is to be predicted from the others: every column is measured together with it
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Folder for twin.csv, model.json, privacy.json and report.html
    #[arg(long, value_name = "FOLDER", value_parser = file)]
    out: std::path::PathBuf,
    /// Replace the files of a folder that exists
    #[arg(long)]
    overwrite: bool,
    /// Rows of the twin [default: the noisy number of records]
    #[arg(long)]
    rows: Option<u64>,
    /// So many twins, for intervals that know of the noise: each is drawn from a model that may have led to the release
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u64).range(1..=1000))]
    twins: u64,
    /// Fixed seed for tests: the run can be repeated by anybody who knows it and is NOT private
    #[arg(long, value_name = "SEED")]
    test_seed_not_private: Option<u64>,
}

#[derive(Parser)]
struct Sample {
    /// model.json of a twin
    #[arg(value_parser = file)]
    model: std::path::PathBuf,
    /// How many rows [default: the noisy number of records]
    #[arg(long)]
    rows: Option<u64>,
    /// Only rows with this category, as in 'sex=female'
    #[arg(long, value_name = "COLUMN=CATEGORY")]
    given: Vec<String>,
    /// CSV file to write
    #[arg(long, value_name = "FILE", value_parser = file)]
    out: std::path::PathBuf,
}

#[derive(Parser)]
struct Check {
    /// model.json of the twin
    #[arg(value_parser = file)]
    model: std::path::PathBuf,
    /// The twin
    #[arg(value_parser = file)]
    twin: std::path::PathBuf,
    /// Real rows that are not in the table that the twin was made from
    #[arg(value_parser = file)]
    real: std::path::PathBuf,
}

#[derive(Parser)]
struct Report {
    /// model.json of a twin
    #[arg(value_parser = file)]
    model: std::path::PathBuf,
    /// HTML file to write
    #[arg(long, value_name = "FILE", value_parser = file)]
    out: std::path::PathBuf,
}

fn main() -> ExitCode {
    run(|arguments: Arguments| match arguments.job {
        Job::Fit(fit) => make(&fit),
        Job::Sample(sample) => draw(&sample),
        Job::Check(check) => compare(&check),
        Job::Report(report) => describe(&report),
    })
}

fn make(options: &Fit) -> Result<(), Box<dyn Error>> {
    twin::check_folder(&options.out, options.overwrite)?;
    let schema = Schema::read(&options.schema)?;
    let table = twin::read_table(&options.data)?;
    let budget = Budget { epsilon: options.epsilon, delta: options.delta, relation: Relation::AddRemove };
    let seed =
        || options.test_seed_not_private.map_or_else(Seed::from_os, |number| Ok(Seed::for_tests(number)));
    let mut ledger = Ledger::new(budget)?;
    let settings = Settings { budget, target: options.target.clone() };
    let fitted = twin::fit(&table, &schema, &settings, &mut ledger, seed()?)?;
    drop(table);
    let model = fitted.model;
    let files = Twin::new(&model, (options.rows, options.twins), &seed()?, &fitted.events, &ledger)?;
    twin::write_folder(&options.out, &files, options.overwrite)?;
    say(&twin::summary(&model, &options.out.display().to_string()))
}

fn draw(options: &Sample) -> Result<(), Box<dyn Error>> {
    check_writable(&options.out)?;
    let mut model = twin::read_model(&options.model)?;
    let rows = options.rows.unwrap_or(model.records.round() as u64);
    for given in &options.given {
        let (column, value) =
            given.split_once('=').ok_or("--given: expected COLUMN=CATEGORY, as in 'sex=female'")?;
        model = model.given(column.trim(), value.trim())?;
    }
    let drawn = model.sample(rows, generator()?)?;
    write_whole(&options.out, &twin::to_csv(&model, &drawn)?)?;
    say(&format!("{rows} rows: {}\n", options.out.display()))
}

fn compare(options: &Check) -> Result<(), Box<dyn Error>> {
    let model = twin::read_model(&options.model)?;
    let (made, real) = (twin::read_table(&options.twin)?, twin::read_table(&options.real)?);
    let scores = twin::scores(&model, &made, &real)?;
    say(&format!(
        "{}\nExact figures of real rows: NOT covered by the twin's guarantee.\n",
        serde_json::to_string_pretty(&scores)?
    ))
}

fn describe(options: &Report) -> Result<(), Box<dyn Error>> {
    check_writable(&options.out)?;
    let model: Model = twin::read_model(&options.model)?;
    let rows = model.sample(model.records.round() as u64, generator()?)?;
    write_whole(Path::new(&options.out), twin::report(&model, &rows).as_bytes())?;
    say(&format!("Page: {}\n", options.out.display()))
}

/// A closed pipe is no failure: the files are there.
fn say(text: &str) -> Result<(), Box<dyn Error>> {
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

fn generator() -> Result<Stream, dp_sampler::Error> {
    Ok(Seed::from_os()?.streams(Purpose::Custom("rows of a twin")).at(0))
}
