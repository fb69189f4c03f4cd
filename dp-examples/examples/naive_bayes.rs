//! Naive Bayes on the Adult data: eleven tables of counts by class, released together with Gaussian noise for their joint
//! norm √11 under add/remove.
//!
//! ```sh
//! cargo run --release -p dp-examples --example naive_bayes -- --data adult.csv.gz --epsilon 0.1 --runs 10 --json
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_examples::finite::Adult;
use dp_sampler::Seed;
use std::path::PathBuf;
use std::process::ExitCode;

/// Naive Bayes on the Adult data, from tables with noise.
#[derive(Debug, clap::Parser)]
#[command(name = "naive_bayes", version)]
struct Arguments {
    /// The Adult data as CSV with a header, compressed by gzip or not
    #[arg(long)]
    data: PathBuf,

    /// The privacy budget of one run
    #[arg(long)]
    epsilon: f64,

    /// The budget's delta
    #[arg(long, default_value = "1e-5")]
    delta: f64,

    /// How many runs the test figure is a mean of
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u64).range(1..=1000))]
    runs: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draws with known seeds, for measurements that can be repeated; then nothing is private
    #[arg(long)]
    seed_not_private: Option<u64>,
}

/// The mean of the area under the ROC curve, and the largest ε of a run.
pub(crate) fn measure(
    adult: &Adult,
    budget: (f64, f64),
    (runs, seed): (u64, Option<u64>),
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let (mut sum, mut largest) = (0.0, 0.0_f64);
    for run in 0..runs {
        let seed = match seed {
            Some(seed) => Seed::for_tests(seed.wrapping_add(run)),
            None => Seed::from_os()?,
        };
        let (classifier, epsilon) = adult.learn(Some(budget), seed)?;
        sum += adult.auc(&classifier);
        largest = largest.max(epsilon);
    }
    Ok((sum / runs as f64, largest))
}

pub(crate) fn main() -> ExitCode {
    dp_examples::program::run(|arguments: Arguments| {
        let adult = Adult::read(&arguments.data)?;
        let (auc, epsilon_upper) = measure(
            &adult,
            (arguments.epsilon, arguments.delta),
            (arguments.runs, arguments.seed_not_private),
        )?;
        if arguments.json {
            println!("{}", serde_json::json!({ "auc": auc, "epsilon_upper": epsilon_upper }));
            return Ok(());
        }
        println!("area under the ROC curve {auc:.4}, mean of {} runs", arguments.runs);
        println!(
            "epsilon of a run: at most {}, delta {}",
            dp_accountant::rounded_up(epsilon_upper),
            arguments.delta
        );
        println!(
            "The figure is exact, of held-back records, and not covered by the guarantee; nor are the bins,"
        );
        println!("which were chosen by looking at this file.");
        Ok(())
    })
}
