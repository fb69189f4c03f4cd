//! The quickstart: a private Bayesian logistic regression on a built-in population, from records to a true
//! statement.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use dp_accountant::{Budget, Relation};
use dp_examples::logistic::arguments::{delta, file, positive};
use dp_examples::logistic::population::{NAMES, Population, RECORDS};
use dp_examples::logistic::table_text::table_text;
use dp_examples::logistic::{self, Settings};
use dp_examples::output::{check_writable, write_whole};
use dp_examples::program::run;
use dp_examples::report::plot::svg;
use dp_sampler::Seed;

/// Fits a private Bayesian logistic regression to a built-in population and shows what it costs.
#[derive(Debug, Parser)]
#[command(name = "dp-examples", version)]
struct Quickstart {
    /// Privacy budget epsilon, above 0
    #[arg(long, default_value = "1", value_parser = positive, allow_hyphen_values = true)]
    epsilon: f64,

    /// Privacy budget delta, between 0 and 1
    #[arg(long, default_value = "1e-5", value_parser = delta, allow_hyphen_values = true)]
    delta: f64,

    /// Where to write the picture of the posteriors
    #[arg(long, value_name = "FILE", default_value = "posterior.svg", value_parser = file)]
    svg: PathBuf,

    /// Fixed seed for tests: the run can be repeated by anybody who knows it and is NOT private
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    test_seed_not_private: Option<u64>,
}

/// Without privacy, enough of Adam's steps to find the mode.
const NOT_PRIVATE: Settings = Settings {
    steps: Some(2000),
    sampling_rate: None,
    clip_norm: None,
    learning_rate: Some(0.05),
    norms: None,
};

fn main() -> ExitCode {
    run(quickstart)
}

fn quickstart(arguments: Quickstart) -> Result<(), Box<dyn Error>> {
    check_writable(&arguments.svg)?;
    let budget = Budget { epsilon: arguments.epsilon, delta: arguments.delta, relation: Relation::AddRemove };
    let seed = match arguments.test_seed_not_private {
        Some(number) => Seed::for_tests(number),
        None => Seed::from_os()?,
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "A private Bayesian logistic regression")?;
    writeln!(out, "======================================")?;
    writeln!(out, "{RECORDS} records of a built-in population, {} features, known weights.", NAMES.len())?;
    writeln!(out, "Model: w_j ~ Normal(0, {}), y_i ~ Bernoulli(logit = x_i . w)", logistic::PRIOR_SCALE)?;
    writeln!(out)?;

    let population = Population::standard();
    let truth = population.weights.clone();
    let records = logistic::records(population.features, population.labels)?;
    let started = Instant::now();
    let private = logistic::fit(&records, Some(budget), &Settings::default(), seed, ("private fit", &[]))?;
    let private_time = started.elapsed();
    let reference = logistic::fit(&records, None, &NOT_PRIVATE, Seed::from_os()?, ("non-private fit", &[]))?;

    let weights = logistic::summaries(&NAMES, Some(&truth), &private, Some(&reference))?;
    write!(out, "{}", table_text(&weights))?;
    writeln!(out, "{}", logistic::about_intervals(&private, logistic::PRIOR_SCALE))?;
    writeln!(
        out,
        "The non-private columns are for comparison only: on real data they would not be private."
    )?;
    writeln!(out)?;
    writeln!(out, "Privacy of the private columns")?;
    writeln!(out, "------------------------------")?;
    writeln!(out, "{}", private.privacy())?;
    writeln!(out)?;

    let title = format!("Posterior at epsilon = {}, delta = {:e}", arguments.epsilon, arguments.delta);
    write_whole(&arguments.svg, svg(&title, &weights)?.as_bytes())?;
    let (steps, seconds) = (private.privacy().steps, private_time.as_secs_f64());
    writeln!(out, "Picture: {}   (private fit: {steps} steps in {seconds:.2} s)", arguments.svg.display())?;
    writeln!(out)?;
    writeln!(out, "On a file of your own (any CSV with a header line):")?;
    writeln!(
        out,
        "  cargo run --release -p dp-examples --bin fit -- --data people.csv --positive-if 'income>=50000' \\"
    )?;
    writeln!(
        out,
        "    --features age,sex,hours --bounds bounds.toml --epsilon 1 --delta 1e-5 --test-fraction 0.2"
    )?;
    writeln!(out, "where bounds.toml holds public bounds, chosen without looking at the data:")?;
    writeln!(out, "  age = [17, 90]")?;
    writeln!(out, "  hours = [1, 99]")?;
    writeln!(out, "  sex = [\"female\", \"male\"]")?;
    Ok(())
}
