//! Times a private step with Poisson batches of one expected size from few records and from many: what the
//! number of records costs.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use dp_examples::harness::bench::Stopwatch;
use dp_examples::harness::bench::scale::{Table, people};
use dp_examples::program::run;
use dp_vi::Sensitive;

/// Times a private step of a logistic regression with batches of one expected size, drawn from few records
/// and from many.
#[derive(Debug, Parser)]
#[command(name = "scale", version)]
struct ScaleArguments {
    /// Fewer records
    #[arg(long, default_value = "10000", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    few: u64,

    /// More records
    #[arg(long, default_value = "10000000", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    many: u64,

    /// Columns of numbers, stored with 32 bits each
    #[arg(long, default_value = "20", value_parser = clap::value_parser!(u16).range(1..=1000))]
    columns: u16,

    /// Expected number of records in a batch
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,

    /// Seconds for each measurement
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
}

fn main() -> ExitCode {
    run(scale)
}

fn scale(arguments: ScaleArguments) -> Result<(), Box<dyn Error>> {
    let ScaleArguments { few, many, columns, batch, seconds } = arguments;
    let stopwatch = Stopwatch::new(seconds as f64);
    let records = [people(few, columns)?, people(many, columns)?];
    let behind = [0, 1].map(|k| Sensitive::new(records[k].clone()));
    let steps = stopwatch.most_repetitions();
    let mut few = Table::new(&records[0], &behind[0], batch, steps)?;
    let mut many = Table::new(&records[1], &behind[1], batch, steps)?;
    let step = stopwatch.compare([&mut || few.step(), &mut || many.step()])?;
    let plain = stopwatch.compare([&mut || few.plain_step(), &mut || many.plain_step()])?;
    let draw = stopwatch.compare([&mut || few.draw(), &mut || many.draw()])?;
    let sum = stopwatch.compare([&mut || Ok(few.sum()?), &mut || Ok(many.sum()?)])?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "microseconds (best of blocks), batches of {batch} expected, {columns} columns of 32 bits and one of 8"
    )?;
    let [a, b] = [records[0].len(), records[1].len()];
    writeln!(out, "{:<28} {a:>12} {b:>12} {:>8}", "records", "ratio")?;
    for (name, [few, many]) in [
        ("private step, by default", step),
        ("private step, the least", plain),
        ("draw of the batch", draw),
        ("clipped sum", sum),
    ] {
        let (few, many) = (few.best_us, many.best_us);
        writeln!(out, "{name:<28} {few:>12.2} {many:>12.2} {:>8.2}", many / few)?;
    }
    Ok(())
}
