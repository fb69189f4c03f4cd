//! What the program `papers` does: the list of experiments, and runs of those that are named.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;

use super::{
    ALL, Experiment, Lab, Outcome, Peer, Printed, Size, Store, Told, find, page, picture, run, table,
};
use crate::output::{check_writable, write_whole};

/// The options of `papers run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Names from `papers list`, or `all`
    #[arg(required = true)]
    pub names: Vec<String>,

    /// The folder whose folder `data` holds the files [default: $DP_DATA]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// One run each, on small stand-ins that are made up in memory; no file is read
    #[arg(long)]
    pub quick: bool,

    /// Number of runs, each with a seed of its own [default: the experiment's; 1 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000), allow_hyphen_values = true)]
    pub runs: Option<u64>,

    /// Leave each run in this folder as soon as it ends; runs that are there are not repeated
    #[arg(long, value_name = "DIR")]
    pub json: Option<PathBuf>,

    /// Write pictures to this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,

    /// Time a paper's own program beside ours; needs Python 3.11
    #[arg(long, value_enum)]
    pub peer: Option<Peer>,
}

/// What every run of the program says first.
const NOTICE_LINE: &str = "Seeds are fixed and known: nothing in this is a private use of a file.";

/// Prints names, files, minutes, and what the papers print.
///
/// # Errors
///
/// Where the standard output cannot be written to.
pub fn list() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "Seeds are fixed and known: nothing here is a private use of a file. 'papers run NAME' runs one of these, 'papers run \
         all' those whose files are in the folder data of $DP_DATA. Minutes are about what two processors without other work take.\n"
    )?;
    for Experiment { name, item, source, inputs, minutes, runs, references, .. } in ALL {
        let texts = references.iter().filter_map(|reference| match reference.printed {
            Printed::Number(number) => Some(number),
            Printed::Figure => Some("figure"),
            Printed::Nothing => None,
        });
        let mut printed: Vec<&str> = Vec::new();
        for text in texts {
            if !printed.contains(&text) {
                printed.push(text);
            }
        }
        let printed = if printed.is_empty() { "nothing".to_owned() } else { printed.join(" / ") };
        let files: Vec<&str> = inputs.iter().map(|input| input.file).collect();
        let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        let (runs, minutes) = (counted(*runs, "run"), counted(*minutes, "minute"));
        writeln!(
            out,
            "{name}\n  {item}\n  source: {source}\n  printed there: {printed}\n  {runs}, {minutes} together; files: {files}"
        )?;
    }
    Ok(())
}

/// A number of things: `1 run`, `20 runs`.
fn counted(number: impl std::fmt::Display, what: &str) -> String {
    let number = number.to_string();
    let many = if number == "1" { "" } else { "s" };
    format!("{number} {what}{many}")
}

fn make_folder(folder: &Path) -> Result<(), String> {
    if folder.exists() && !folder.is_dir() {
        return Err(format!("{}: it is a file, expected a folder for pictures", folder.display()));
    }
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Before runs that would have to be repeated for their picture.
    check_writable(&folder.join("probe.svg")).map_err(|error| error.to_string())
}

/// Draws an experiment's picture, if it has one and there are runs of it.
fn draw(folder: &Path, experiment: &Experiment, outcomes: &[Outcome]) -> Result<(), Box<dyn Error>> {
    let own: Vec<Outcome> =
        outcomes.iter().filter(|outcome| outcome.experiment == experiment.name).cloned().collect();
    if !own.is_empty()
        && let Some(drawn) = picture(experiment, &own)?
    {
        write_whole(&folder.join(format!("{}.svg", experiment.name)), drawn.as_bytes())?;
    }
    Ok(())
}

/// The experiments of these names, each once.
fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, Box<dyn Error>> {
    let mut chosen: Vec<&'static Experiment> = Vec::new();
    for name in names {
        let named = if name == "all" { ALL.to_vec() } else { vec![find(name)?] };
        for experiment in named {
            if chosen.iter().all(|other| other.name != experiment.name) {
                chosen.push(experiment);
            }
        }
    }
    Ok(chosen)
}

/// Runs the experiments that are named, and leaves results and pictures where the options say.
///
/// # Errors
///
/// For unknown names, missing files, and results that cannot be written.
pub fn run_all(arguments: &RunArguments) -> Result<(), Box<dyn Error>> {
    let size = if arguments.quick { Size::Quick } else { Size::Full };
    let environment = std::env::var_os("DP_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let data = arguments.data.clone().or(environment);
    let lab = Lab::new(size, data.clone());
    let every = arguments.names.iter().any(|name| name == "all");
    let chosen = chosen(&arguments.names)?;
    let store = arguments.json.as_deref().map(|folder| Store::create(folder, size)).transpose()?;
    if let Some(folder) = &arguments.svg {
        make_folder(folder)?;
    }
    let out = Mutex::new(std::io::stdout());
    let say = |line: &str| {
        if let Ok(mut out) = out.lock() {
            // A closed pipe must not cost the runs that are still to be written.
            let _ = writeln!(out, "{line}");
        }
    };
    let tell = |told: Told<'_>| say(&told.to_string());
    say(NOTICE_LINE);
    for experiment in chosen {
        let missing = lab.missing(experiment.inputs);
        if !missing.is_empty() {
            if !every {
                let files = missing.join(", ");
                return Err(match &data {
                    Some(folder) => {
                        let folder = folder.join("data");
                        format!("{}: {} does not hold {files}", experiment.name, folder.display())
                    }
                    None => format!(
                        "{}: needs {files}; set DP_DATA, or --data, to a folder whose folder data holds them",
                        experiment.name
                    ),
                }
                .into());
            }
            tell(Told::Missing(experiment.name, missing));
            continue;
        }
        let sized = (size, data.as_deref());
        let outcomes = run(experiment, arguments.runs, sized, store.as_ref(), &tell)?;
        say(&format!("\n{}", table(experiment, &outcomes.iter().collect::<Vec<_>>())));
        if let Some(folder) = &arguments.svg {
            draw(folder, experiment, &outcomes)?;
        }
    }
    let shown = |folder: &Path| folder.display().to_string();
    match &arguments.json {
        Some(folder) => say(&format!(
            "Each run is a file in {0}; 'papers table {0}' writes the page of all of them.",
            shown(folder)
        )),
        None => say("No run was kept: --json DIR leaves each in a folder, and goes on there after a stop."),
    }
    if let Some(folder) = &arguments.svg {
        say(&format!("Pictures are in {}.", shown(folder)));
    }
    if let Some(peer) = arguments.peer {
        say(&peer.run(arguments.json.as_deref())?);
    }
    Ok(())
}

/// Writes the page of a folder of results to a file or to the standard output, and draws its pictures to a folder.
///
/// # Errors
///
/// For results that cannot be read, and files that cannot be written.
pub fn show(folder: &Path, to: Option<&Path>, svg: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let store = Store::open(folder)?;
    let text = page(store.outcomes())?;
    if let Some(folder) = svg {
        make_folder(folder)?;
        for experiment in ALL {
            draw(folder, experiment, store.outcomes())?;
        }
    }
    match to {
        Some(file) => Ok(write_whole(file, text.as_bytes())?),
        None => Ok(std::io::stdout().write_all(text.as_bytes())?),
    }
}
