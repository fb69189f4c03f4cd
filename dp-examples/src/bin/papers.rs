//! Runs the tables and figures of the papers again.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use clap::{Args, Parser, Subcommand};
use dp_examples::output::write_whole;
use dp_examples::papers::{
    ALL, Experiment, Lab, Peer, Printed, Size, Store, Told, find, page, picture, run, table,
};
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
    },
}

#[derive(Debug, Args)]
struct RunArguments {
    /// A name from `papers list`, or `all`
    name: String,

    /// One run each, on small stand-ins that are made up in memory; no file is read
    #[arg(long)]
    quick: bool,

    /// Number of runs, each with a seed of its own [default: the experiment's; 1 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000), allow_hyphen_values = true)]
    runs: Option<u64>,

    /// Leave each run in this folder as soon as it ends; runs that are there are not repeated
    #[arg(long, value_name = "DIR")]
    json: Option<PathBuf>,

    /// Write pictures to this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// Time a paper's own program beside ours; needs Python 3.11
    #[arg(long, value_enum)]
    peer: Option<Peer>,
}

fn main() -> ExitCode {
    program::run(|arguments: Arguments| match arguments.what {
        What::List => list(),
        What::Run(arguments) => run_all(&arguments),
        What::Table { folder, page: to } => {
            let text = page(Store::open(&folder)?.outcomes())?;
            match to {
                Some(file) => Ok(write_whole(&file, text.as_bytes())?),
                None => Ok(std::io::stdout().write_all(text.as_bytes())?),
            }
        }
    })
}

fn list() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for Experiment { name, item, source, inputs, minutes, runs, references, .. } in ALL {
        let texts = references.iter().filter_map(|reference| match reference.printed {
            Printed::Number(number) => Some(number),
            Printed::Figure => Some("figure"),
            Printed::Nothing => None,
        });
        let mut printed: Vec<&str> = texts.collect();
        printed.dedup();
        let printed = if printed.is_empty() { "no number".to_owned() } else { printed.join(" / ") };
        let files: Vec<&str> = inputs.iter().map(|input| input.file).collect();
        let files = if files.is_empty() { "no file".to_owned() } else { files.join(", ") };
        writeln!(
            out,
            "{name}\n  {item}\n  {source}; printed: {printed}\n  {runs} runs, {minutes} minutes; {files}"
        )?;
    }
    Ok(())
}

fn run_all(arguments: &RunArguments) -> Result<(), Box<dyn Error>> {
    let size = if arguments.quick { Size::Quick } else { Size::Full };
    let data = std::env::var_os("DP_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let lab = Lab::new(size, data.clone());
    let every = arguments.name == "all";
    let chosen: Vec<&'static Experiment> = if every { ALL.to_vec() } else { vec![find(&arguments.name)?] };
    let store = arguments.json.as_deref().map(|folder| Store::create(folder, size)).transpose()?;
    if let Some(folder) = &arguments.svg {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let out = Mutex::new(std::io::stdout());
    let say = |line: &str| {
        if let Ok(mut out) = out.lock() {
            // A closed pipe must not cost the runs that are still to be written.
            let _ = writeln!(out, "{line}");
        }
    };
    let tell = |told: Told<'_>| say(&told.to_string());
    for experiment in chosen {
        let missing = lab.missing(experiment.inputs);
        if !missing.is_empty() {
            if !every {
                let why = if data.is_some() { "does not hold" } else { "is not set, and should hold" };
                return Err(format!("{}: $DP_DATA/data {why} {}", experiment.name, missing.join(", ")).into());
            }
            tell(Told::Missing(experiment.name, missing));
            continue;
        }
        let sized = (size, data.as_deref());
        let outcomes = run(experiment, arguments.runs, sized, store.as_ref(), &tell)?;
        say(&format!("\n{}", table(experiment, &outcomes.iter().collect::<Vec<_>>())));
        if let (Some(folder), Some(drawn)) = (&arguments.svg, picture(experiment, &outcomes)?) {
            write_whole(&Path::new(folder).join(format!("{}.svg", experiment.name)), drawn.as_bytes())?;
        }
    }
    if let Some(peer) = arguments.peer {
        say(&peer.run(arguments.json.as_deref())?);
    }
    Ok(())
}
