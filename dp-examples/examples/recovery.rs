//! Do private regressions of every family find the coefficients that made-up data were made with?
//!
//! `cargo run --release -p dp-examples --example recovery -- [RUNS] [EPSILON] [ROWS]`; 20 runs or more say something.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_examples::regression::family::Family;
use dp_examples::regression::recovery::{Recovered, measure};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (runs, epsilon, rows) = (next("1").parse()?, next("1").parse()?, next("2000").parse()?);
    println!(
        "{runs} runs of {rows} records each, epsilon {epsilon}, delta 1e-6; three slopes and an intercept each"
    );
    println!("                                slopes                    intercepts                groups");
    println!(
        "family                  groups  coverage  error   sd      coverage  error   sd      coverage  error   sd      noise-aware"
    );
    for groups in [false, true] {
        for (name, family) in Family::ALL {
            let found = measure(family, groups, rows, epsilon, runs)?;
            let columns =
                |found: &Recovered| format!("{:.3}     {:.4}  {:.4}", found.coverage, found.error, found.sd);
            println!(
                "{name:<22}  {:<6}  {}  {:<24}  {:<24}  {}",
                if groups { "6" } else { "-" },
                columns(&found.slopes),
                found.intercepts.as_ref().map_or_else(|| "-".to_owned(), columns),
                found.groups.as_ref().map_or_else(|| "-".to_owned(), columns),
                found.noise_aware
            );
        }
    }
    Ok(())
}
