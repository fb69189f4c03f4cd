//! Fits private Bayesian regressions to any CSV file, drafts schemas and predicts.

use std::ffi::OsString;
use std::process::ExitCode;

use dp_examples::logistic::arguments::FitArguments;
use dp_examples::logistic::short_form;
use dp_examples::program::{run_with, with_values};
use dp_examples::regression::arguments::{PredictArguments, RegressionArguments, SchemaArguments};
use dp_examples::regression::{command, others};

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let first = arguments.get(1).map(|argument| argument.to_string_lossy().into_owned()).unwrap_or_default();
    match first.as_str() {
        "schema" => {
            arguments.remove(1);
            run_with(arguments, |arguments: SchemaArguments| others::schema(&arguments))
        }
        "predict" => {
            arguments.remove(1);
            run_with(arguments, |arguments: PredictArguments| {
                with_values(arguments.show_values, others::predictions(&arguments))
            })
        }
        // A formula has a ~; the short form names a condition by an option.
        _ if has(&arguments, |argument| argument.contains('~'))
            && !has(&arguments, |argument| argument.starts_with("--positive-if")) =>
        {
            run_with(arguments, |arguments: RegressionArguments| {
                with_values(arguments.show_values, command::fit(&arguments))
            })
        }
        _ => run_with(arguments, |arguments: FitArguments| {
            with_values(arguments.show_values, short_form::fit(arguments))
        }),
    }
}

fn has(arguments: &[OsString], is: impl Fn(&str) -> bool) -> bool {
    arguments.iter().skip(1).any(|argument| is(&argument.to_string_lossy()))
}
