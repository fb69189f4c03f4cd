//! Runs the tables and figures of the papers again.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dp_examples::harness::papers::command::{self, RunArguments};
use dp_examples::program;

/// The tables and figures of the papers on d3p, DP-ADVI, VIPS and PrivInfer, from one command.
///
/// Seeds are fixed and known: nothing here is a private use of a file. Data are looked for in $DP_DATA/data.
#[derive(Debug, Parser)]
#[command(name = "papers", version)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Names, files, minutes, and what the papers print
    List,
    /// Runs one experiment, or all whose files are there
    Run(RunArguments),
    /// Writes the tables from a folder of results
    Table {
        /// The folder that `run --json` wrote
        folder: PathBuf,

        /// Write the page to this file instead of printing it
        #[arg(long, value_name = "FILE")]
        page: Option<PathBuf>,

        /// Draw the pictures of the results to this folder
        #[arg(long, value_name = "DIR")]
        svg: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    program::run(|arguments: Arguments| match arguments.what {
        What::List => command::list(),
        What::Run(arguments) => command::run_all(&arguments),
        What::Table { folder, page, svg } => command::show(&folder, page.as_deref(), svg.as_deref()),
    })
}
