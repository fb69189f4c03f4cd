//! Times one training step of four workloads, private and plain, and its parts.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use dp_examples::harness::bench::{Report, Stopwatch, Workload};
use dp_examples::logistic::arguments::positive;
use dp_examples::program::run;

/// Times one training step of four workloads, private and plain, and its parts.
#[derive(Debug, Parser)]
#[command(name = "bench", version)]
struct BenchArguments {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,

    /// Only this workload; may be given several times
    #[arg(long, value_name = "NAME", value_enum)]
    workload: Vec<Workload>,

    /// Seconds for each measurement; a workload needs about eight of them
    #[arg(long, default_value = "1", value_parser = seconds, allow_hyphen_values = true)]
    seconds: f64,
}

/// Longest measurement, so that no run ends before it is measured.
const MOST_SECONDS: f64 = 60.0;

fn seconds(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|&seconds| seconds <= MOST_SECONDS)
        .ok_or_else(|| format!("expected a number above 0 and at most {MOST_SECONDS}"))
}

fn main() -> ExitCode {
    run(bench)
}

fn bench(arguments: BenchArguments) -> Result<(), Box<dyn Error>> {
    let stopwatch = Stopwatch::new(arguments.seconds);
    let mut chosen = arguments.workload;
    if chosen.is_empty() {
        chosen = vec![Workload::Logistic, Workload::Hierarchical, Workload::Mixture, Workload::Vae];
    }
    chosen.sort_unstable();
    chosen.dedup();
    let mut report = Report { workloads: Vec::new() };
    for workload in chosen {
        report.workloads.push((workload, workload.measure(&stopwatch)?));
    }
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        write!(out, "{report}")?;
    }
    Ok(())
}
