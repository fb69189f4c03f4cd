//! Fits a model of posteriordb and prints means and standard deviations.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use dp_accountant::Budget;
#[cfg(feature = "nuts")]
use dp_examples::harness::posteriordb::answer::sample;
use dp_examples::harness::posteriordb::answer::{Answer, Family, Moments, computed, moments, rehearsed};
use dp_examples::harness::posteriordb::{Data, names, problem};
use dp_examples::program::run;
use dp_sampler::Seed;
use dp_vi::{DpVi, Sensitive};
use ppl_core::Records;
use ppl_core::draws::summary;

/// Fits a model of posteriordb, without privacy unless epsilon is named, and prints means and standard
/// deviations as JSON.
#[derive(Debug, Parser)]
#[command(name = "posteriordb", version)]
struct Arguments {
    /// Name of a model there; `list` prints those that are written here
    model: String,

    /// Its data: a JSON file, unpacked
    #[arg(long)]
    data: Option<PathBuf>,

    /// The guide
    #[arg(long, value_enum, default_value = "correlated")]
    guide: Family,

    /// Steps of the optimiser, instead of going on until the fit has converged
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    steps: Option<u64>,

    /// Fits with privacy, at this epsilon and delta 1e-5 under add/remove
    #[arg(long, conflicts_with = "steps")]
    epsilon: Option<f64>,

    /// With --epsilon: in the model's own units, not in coordinates that a fit to made-up records finds
    #[arg(long, requires = "epsilon")]
    own_units: bool,

    /// With --epsilon: rehearses the fit as many times, with records that are made up at draws of its posterior, with
    /// the inputs of the data
    #[arg(long, requires = "epsilon", value_parser = clap::value_parser!(u16).range(1..))]
    rehearse: Option<u16>,

    /// Draws by the No-U-Turn sampler, in each of four chains, instead of a fit
    #[cfg(feature = "nuts")]
    #[arg(long, value_parser = clap::value_parser!(u16).range(10..))]
    draws: Option<u16>,

    /// Seed of the draws
    #[arg(long, default_value = "0")]
    seed: u64,
}

/// Draws from which the moments of computed values are taken: their error is a hundredth of a standard deviation.
const DRAWS: usize = 10_000;

fn main() -> ExitCode {
    run(fit)
}

fn fit(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    if arguments.model == "list" {
        return names().try_for_each(|name| Ok(writeln!(out, "{name}")?));
    }
    let Some(path) = &arguments.data else { return Err("name the model's data with --data FILE".into()) };
    let data = Data::read(path)?;
    let Some(problem) = problem(&arguments.model, &data)? else {
        return Err(format!(
            "no model named '{}' is written here; 'list' prints those that are",
            arguments.model
        )
        .into());
    };
    let started = Instant::now();
    #[cfg(feature = "nuts")]
    if let Some(draws) = arguments.draws {
        let answer = sample(&problem, usize::from(draws), arguments.seed, started)?;
        serde_json::to_writer(&mut out, &answer)?;
        return Ok(writeln!(out)?);
    }
    let guide = || arguments.guide.guide();
    let public = problem.records.is_empty();
    let seed = || Seed::for_tests(arguments.seed);
    let mut vi = DpVi::new(&problem.model, guide()).seed(seed());
    if let Some(steps) = arguments.steps {
        vi = vi.steps(steps);
    }
    let private = |records: &Sensitive<Records>, epsilon, seed| {
        let vi = DpVi::new(&problem.model, guide()).seed(seed).rough_fit(!arguments.own_units);
        vi.budget(Budget::add_remove(epsilon, 1e-5)).fit(records)
    };
    let fit = match (public, arguments.epsilon) {
        (true, Some(_)) => return Err("this model is of public data, so there is nothing to protect".into()),
        (true, None) => vi.fit_public()?,
        (false, None) => vi.without_privacy().fit(&Sensitive::new(problem.records.clone()))?,
        (false, Some(epsilon)) => private(&Sensitive::new(problem.records.clone()), epsilon, seed())?,
    };
    let seconds = started.elapsed().as_secs_f64();
    let posterior = fit.posterior();
    let mut sites = moments(posterior)?;
    let computed = if public { computed(&problem.model)? } else { Vec::new() };
    if !computed.is_empty() {
        let predictive = posterior.predictive(&problem.model, DRAWS, &seed())?.only(computed);
        for (name, draws) in predictive.run(&Records::none())? {
            let (mean, sd) = (summary::mean(&draws)?, summary::standard_deviation(&draws)?);
            let moments = Moments { mean: mean.iter().copied().collect(), sd: sd.iter().copied().collect() };
            sites.insert(name, moments);
        }
    }
    let rehearsed = match (arguments.rehearse, arguments.epsilon) {
        (Some(runs), Some(epsilon)) => {
            Some(rehearsed(&problem, posterior, (runs, arguments.seed), |records, seed| {
                private(records, epsilon, seed)
            })?)
        }
        _ => None,
    };
    let convergence = fit.convergence();
    let answer = Answer {
        sites,
        seconds,
        converged: convergence.map(|found| found.converged),
        pareto_k: convergence.map(|found| found.pareto_k),
        r_hat: None,
        evaluations: convergence.map(|found| found.evaluations),
        elbo: convergence.map(|found| found.elbo),
        intervals: fit.privacy().intervals,
        rehearsed,
    };
    serde_json::to_writer(&mut out, &answer)?;
    writeln!(out)?;
    Ok(())
}
