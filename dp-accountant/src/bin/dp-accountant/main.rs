//! The command `dp-accountant`: certified answers about privacy loss, without writing a program.

mod answer;
mod arguments;
mod batch;
mod calibrate;
mod compare;
mod compose;
mod curve;
mod failure;
mod input;
mod ledger;
mod picture;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use dp_accountant::Accountant;

use crate::answer::Answer;
use crate::arguments::{Command, DeltaOf, EpsilonOf};
use crate::failure::{Failure, Outcome};

/// How much privacy a sequence of randomised mechanisms costs, as intervals that hold.
#[derive(Debug, Parser)]
#[command(name = "dp-accountant", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let failure = match run(arguments.command) {
        // A reader that went away has not read all of it, and may have been a file that was to be kept.
        Ok(text) => match write(&text) {
            Err(error) => Failure::Other(format!("standard output: {error}")),
            Ok(()) => return ExitCode::SUCCESS,
        },
        Err(failure) => failure,
    };
    // If the message cannot be written, the exit code still says it.
    let _ = writeln!(std::io::stderr().lock(), "error: {failure}");
    failure.code()
}

/// Writes to standard output, to the last byte.
fn write(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Runs a command: what it prints, if it succeeds.
fn run(command: Command) -> Outcome<String> {
    match command {
        Command::Epsilon(arguments) => epsilon(&arguments),
        Command::Delta(arguments) => delta(&arguments),
        Command::Compose(arguments) => compose::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Curve(arguments) => curve::run(&arguments),
        Command::Ledger { command } => ledger::run(&command),
    }
}

fn epsilon(arguments: &EpsilonOf) -> Outcome<String> {
    if let Some(file) = &arguments.batch {
        return batch::run(file, arguments);
    }
    let (relation, delta) = (arguments.relation()?, arguments.delta()?);
    let composition = arguments.events.composition(relation)?;
    let epsilon = Accountant::new(relation).with(&composition).epsilon(delta)?;
    Answer::new(relation, &composition)
        .number("delta", delta)
        .certified("epsilon", epsilon)
        .print(arguments.json)
}

fn delta(arguments: &DeltaOf) -> Outcome<String> {
    let relation = arguments.relation.into();
    let composition = arguments.events.composition(relation)?;
    let accountant = Accountant::new(relation).with(&composition);
    let delta = accountant.delta(arguments.epsilon)?;
    let log = accountant.log_delta(arguments.epsilon)?;
    let answer = Answer::new(relation, &composition);
    let answer = answer.number("epsilon", arguments.epsilon).certified("delta", delta);
    // Where the number itself is out of range, its logarithm is the answer.
    answer.log("log_delta", log, delta.lower == 0.0).print(arguments.json)
}
