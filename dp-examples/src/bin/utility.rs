//! Measures how good private posteriors are, on one problem or on all of them.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use dp_examples::harness::utility::Protocol;
use dp_examples::harness::utility::arguments::UtilityArguments;
use dp_examples::harness::utility::coverage::OwnTable;
use dp_examples::harness::utility::table::{Files, Latent, Line, Problem, all};
use dp_examples::program::run;

fn main() -> ExitCode {
    run(utility)
}

fn utility(arguments: UtilityArguments) -> Result<(), Box<dyn Error>> {
    let UtilityArguments { problem, train, test, groups, epsilon, delta, .. } = arguments;
    let UtilityArguments { runs, first_seed, gradients, json, .. } = arguments;
    let UtilityArguments { data, positive_if, features, bounds, .. } = arguments;
    let UtilityArguments {
        vocabulary, words, fold, topics, clip_norm, steps, rate, labels, relation, ..
    } = arguments;
    let (own, documents) = match (data, positive_if) {
        (Some(data), Some(positive_if)) => (Some(OwnTable { data, positive_if, features, bounds }), None),
        (Some(_), None) if matches!(problem, Some(Problem::Coverage | Problem::Statistics)) => {
            return Err("--data needs --positive-if <CONDITION> for this problem".into());
        }
        (documents, _) => (None, documents),
    };
    let latent = Latent {
        words,
        fold: fold.map(|fold| fold as usize),
        topics: topics.map(|topics| topics as usize),
        clip_norm,
        steps,
        rate,
    };
    let mut out = std::io::stdout().lock();
    if let (Some(problem), Some(epsilon)) = (problem, epsilon) {
        let delta = delta.unwrap_or(problem.delta());
        let runs = runs.unwrap_or(problem.runs());
        let relation = relation.into();
        let protocol = Protocol { relation, epsilon, delta, runs, first_seed, gradients: gradients.into() };
        let outcome = problem
            .measure(&Files { train, test, groups, own, documents, vocabulary, labels, latent }, &protocol)?;
        if json {
            writeln!(out, "{}", serde_json::to_string(&outcome)?)?;
        } else {
            writeln!(out, "{}\n{}", Line::heads(), Line::new(problem, outcome))?;
        }
        return Ok(());
    }
    let Some(folder) = std::env::var_os("DP_DATA").filter(|folder| !folder.is_empty()) else {
        return Err("the whole table needs the data sets: set DP_DATA to the folder that holds data/, or name a problem \
                    and its files (see --help)"
            .into());
    };
    if !json {
        writeln!(out, "{}", Line::heads())?;
    }
    let outcomes = all(folder.as_ref(), runs, first_seed, |line| {
        if !json {
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    if json {
        writeln!(out, "{}", serde_json::to_string(&outcomes)?)?;
    }
    Ok(())
}
