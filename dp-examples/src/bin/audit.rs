//! Audits of releases and of a whole fit: what is claimed, beside what an attacker finds.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use dp_examples::harness::audit::{Finding, OneRun, all, markdown, whole_fit};
use dp_examples::program::run;
use serde::Serialize;

/// Tells neighbouring data sets apart by what is released, in every way that the libraries release something, and
/// prints the largest loss that this proves beside the one that is claimed. Exit code 1 where a claim is broken.
#[derive(Debug, Parser)]
#[command(name = "audit", version)]
struct Arguments {
    /// Outcomes on each of two neighbours
    #[arg(long, default_value = "20000", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    draws: u64,

    /// Canaries of the whole fit
    #[arg(long, default_value = "2000", value_parser = clap::value_parser!(u64).range(40..=20_000))]
    canaries: u64,

    /// JSON in place of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    releases: Vec<Finding>,
    whole_fit: OneRun,
}

fn main() -> ExitCode {
    let mut broken = false;
    let code = run(|Arguments { draws, canaries, json }: Arguments| {
        let told = |finding: &Finding| {
            if finding.is_broken() {
                let _ = writeln!(std::io::stderr(), "broken: {finding:?}");
            }
        };
        let releases = all(draws as usize, told)?;
        let whole_fit = whole_fit(canaries, 8.0, 1)?;
        broken = releases.iter().any(Finding::is_broken) || whole_fit.found > whole_fit.claimed;
        let mut out = std::io::stdout().lock();
        if json {
            writeln!(out, "{}", serde_json::to_string_pretty(&Report { releases, whole_fit })?)?;
            return Ok::<(), Box<dyn Error>>(());
        }
        write!(out, "{}", markdown(&releases))?;
        let OneRun { canaries, guesses, right, delta, claimed, found } = whole_fit;
        writeln!(
            out,
            "\nA whole fit of 20 steps in one run, {canaries} canaries: {right} of {guesses} guesses right; ε claimed {claimed:.3} at δ = {delta:e}, at least {found:.3}."
        )?;
        Ok(())
    });
    if broken { ExitCode::from(1) } else { code }
}
