//! Naive Bayes on the Adult data: eleven tables of counts by class, released together under add/remove, with
//! Gaussian noise for their joint norm √11, or with discrete Laplace noise for their joint ℓ₁ norm 11 and no
//! δ.
//!
//! ```sh
//! cargo run --release -p dp-examples --example naive_bayes -- \
//!   --data adult.csv.gz --epsilon 0.1 --runs 10 --json
//! ```
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_examples::finite::{Adult, Noise};
use std::path::PathBuf;
use std::process::ExitCode;

/// Kinds of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Gaussian
    Gaussian,
    /// Discrete Laplace
    Laplace,
}

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

    /// The budget's delta, for Gaussian noise
    #[arg(long, default_value = "1e-5")]
    delta: f64,

    /// The noise: laplace needs no delta
    #[arg(long, value_enum, default_value = "gaussian")]
    noise: Kind,

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

pub(crate) fn main() -> ExitCode {
    dp_examples::program::run(|arguments: Arguments| {
        let adult = Adult::read(&arguments.data)?;
        let (epsilon, delta) = (arguments.epsilon, arguments.delta);
        let noise = match arguments.noise {
            Kind::Gaussian => Noise::Gaussian { epsilon, delta },
            Kind::Laplace => Noise::Laplace { epsilon },
        };
        let measured = adult.measure(noise, arguments.runs, arguments.seed_not_private)?;
        if arguments.json {
            println!("{}", serde_json::to_string(&measured)?);
            return Ok(());
        }
        let error = measured.auc_standard_error.map_or_else(String::new, |error| format!(" ± {error:.4}"));
        println!("area under the ROC curve {:.4}{error}, mean of {} runs", measured.auc, arguments.runs);
        println!(
            "epsilon of a run: at most {}, delta {}",
            dp_accountant::rounded_up(measured.epsilon_upper),
            measured.delta
        );
        println!("The figure is exact, of held-back records, and not covered by the guarantee.");
        Ok(())
    })
}
