//! Checks a mechanism by enumeration over all neighbouring data sets of a size.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use dp_examples::finite::{
    Fault, Name, Question, Relation, Report, over_coins, over_faces, over_normal_mean,
};
use dp_examples::program::run;

/// Checks a mechanism by enumeration over all neighbouring data sets of a size. Exit code 1 where the loss is
/// above the claim.
#[derive(Debug, Parser)]
#[command(name = "check", version)]
struct Arguments {
    /// Which mechanism
    #[arg(long, value_enum)]
    mechanism: Name,

    /// Number of records, which is public; under add_remove the largest count
    #[arg(long, default_value = "12", value_parser = clap::value_parser!(u64).range(1..=1000))]
    records: u64,

    /// The claim
    #[arg(long, default_value = "1")]
    epsilon: f64,

    /// The claim's delta, for discrete_gaussian
    #[arg(long, default_value = "1e-5")]
    delta: f64,

    /// Which data sets are neighbours
    #[arg(long, value_enum, default_value = "replace_one")]
    relation: Relation,

    /// Values of a record: 2 for coins, 3 for faces, 5 for the grid of a normal mean
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u64).range(2..=5))]
    values: u64,

    /// Plant a mistake
    #[arg(long, value_enum)]
    fault: Option<Fault>,
}

fn main() -> ExitCode {
    let mut broken = false;
    let code = run(|arguments: Arguments| {
        let Arguments { mechanism: name, records, epsilon, delta, relation, values, fault } = arguments;
        let question = Question { name, records, relation, epsilon, delta, fault };
        let report: Report = match values {
            2 => over_coins(question)?,
            3 => over_faces(question)?,
            5 => over_normal_mean(question)?,
            _ => return Err("values of a record must be 2, 3 or 5".into()),
        };
        broken = report.is_broken();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        Ok(())
    });
    if broken { ExitCode::from(1) } else { code }
}
