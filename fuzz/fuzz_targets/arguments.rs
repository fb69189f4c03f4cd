//! Arbitrary command lines of the programs for tables: read, or refused in one line. Nothing is run.

#![no_main]

use clap::Parser;
use dp_examples::logistic::arguments::FitArguments;
use dp_examples::program::{Stop, parse};
use dp_examples::regression::arguments::{PredictArguments, RegressionArguments, SchemaArguments};
use dp_examples::twin::arguments::Arguments as TwinArguments;
use libfuzzer_sys::fuzz_target;

fn read<T: Parser>(arguments: &[String]) {
    match parse::<T>(arguments) {
        Ok(_) => {}
        Err(Stop::Asked(text)) => assert!(!text.is_empty()),
        Err(Stop::Wrong(line)) => {
            assert!(line.starts_with("error: ") && !line.contains(char::is_control), "{line:?}");
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&program, rest)) = input.split_first() else { return };
    // A line an argument.
    let text = String::from_utf8_lossy(rest);
    let arguments: Vec<String> = ["program"].into_iter().chain(text.lines()).map(str::to_owned).collect();
    match program % 5 {
        0 => read::<RegressionArguments>(&arguments),
        1 => read::<FitArguments>(&arguments),
        2 => read::<TwinArguments>(&arguments),
        3 => read::<SchemaArguments>(&arguments),
        _ => read::<PredictArguments>(&arguments),
    }
});
