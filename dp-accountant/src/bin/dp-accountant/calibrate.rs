//! What a budget allows.

use dp_accountant::{
    Budget, Composition, Error, Event, Mechanism, Relation, Sampling, calibrate_batch,
    calibrate_noise_multiplier, calibrate_rate, calibrate_steps,
};

use crate::answer::Answer;
use crate::arguments::{Calibrate, Unknown, sampling};
use crate::failure::{Failure, Outcome};

/// What stands for the rate or the batch that is looked for.
const UNKNOWN: &str = "?";

/// Finds the one thing that was not given.
pub(crate) fn run(arguments: &Calibrate) -> Outcome<String> {
    let budget = Budget::from(&arguments.budget);
    let unknown = arguments.unknown;
    let steps = || given(arguments.steps, unknown == Unknown::Steps, "steps");
    let noise_multiplier =
        || given(arguments.noise_multiplier, unknown == Unknown::Noise, "noise-multiplier");
    let scheme = |value: &str| -> Outcome<Sampling> {
        let text = arguments.sampling.replacen(UNKNOWN, value, 1);
        sampling(&text)
            .map_err(|problem| Failure::Usage(format!("--sampling {}: {problem}", arguments.sampling)))
    };
    let one = |noise_multiplier: f64, sampling: Sampling| {
        Event::new(Mechanism::Gaussian { noise_multiplier }, sampling)
    };
    let in_sampling = matches!(unknown, Unknown::Rate | Unknown::Batch);
    if in_sampling != arguments.sampling.contains(UNKNOWN) {
        return Err(Failure::Usage(match in_sampling {
            true => {
                format!("--sampling {}: write what is looked for as ?, as in poisson:?", arguments.sampling)
            }
            false => format!("--sampling {}: ? goes with --for rate and --for batch", arguments.sampling),
        }));
    }
    let with_value = |value: String| {
        // The scheme has been read once before, so that this finds nothing new to complain about.
        sampling(&arguments.sampling.replacen(UNKNOWN, &value, 1)).map_err(|_| Error::Parameter {
            name: "sampling",
            value: f64::NAN,
            bound: "a scheme with one unknown",
        })
    };
    let answer = match unknown {
        Unknown::Noise => {
            if arguments.noise_multiplier.is_some() {
                return Err(superfluous("noise-multiplier"));
            }
            let (steps, scheme) = (steps()?, scheme("")?);
            let found = calibrate_noise_multiplier(&budget, |noise| {
                Ok(Composition::single(one(noise, scheme)?, steps))
            })?;
            let composition = Composition::single(one(found.noise_multiplier, scheme)?, steps);
            Answer::new(budget.relation, &composition)
                .number("noise_multiplier", found.noise_multiplier)
                .certified("epsilon", found.epsilon)
        }
        Unknown::Steps => {
            if arguments.steps.is_some() {
                return Err(superfluous("steps"));
            }
            let event = one(noise_multiplier()?, scheme("")?)?;
            // Steps of a shuffled run come in whole epochs, the length of which a debit knows.
            let found = match event.sampling() {
                Sampling::Shuffle { batch, records } => {
                    let epoch = records.div_ceil(batch);
                    let epochs = calibrate_steps(&budget, |count| {
                        Ok(Composition::single(event, count.saturating_mul(epoch)))
                    })?;
                    (epochs.steps.saturating_mul(epoch), epochs.epsilon)
                }
                _ => {
                    let found = calibrate_steps(&budget, |steps| Ok(Composition::single(event, steps)))?;
                    (found.steps, found.epsilon)
                }
            };
            Answer::new(budget.relation, &Composition::single(event, found.0))
                .stored("steps", found.0, &found.0.to_string())
                .certified("epsilon", found.1)
        }
        Unknown::Rate => {
            let (noise_multiplier, steps) = (noise_multiplier()?, steps()?);
            if !matches!(scheme("1")?, Sampling::Poisson { .. }) || arguments.sampling.contains('/') {
                return Err(Failure::Usage(format!(
                    "--sampling {}: a rate is that of poisson:?",
                    arguments.sampling
                )));
            }
            let events = |rate: f64| {
                Ok(Composition::single(one(noise_multiplier, Sampling::Poisson { rate })?, steps))
            };
            let found = calibrate_rate(&budget, events)?;
            Answer::new(budget.relation, &events(found.rate)?)
                .number("rate", found.rate)
                .certified("epsilon", found.epsilon)
        }
        Unknown::Batch => {
            let (noise_multiplier, steps) = (noise_multiplier()?, steps()?);
            scheme("1")?;
            let records =
                arguments.sampling.split_once(":?/").and_then(|(_, records)| records.parse::<u64>().ok());
            let records = records.ok_or_else(|| {
                Failure::Usage(format!(
                    "--sampling {}: expected ?/RECORDS, as in fixed:?/60000",
                    arguments.sampling
                ))
            })?;
            let events = |batch: u64| {
                Ok(Composition::single(one(noise_multiplier, with_value(batch.to_string())?)?, steps))
            };
            // Without one of its records a data set has no batch of them all.
            let fixed = arguments.sampling.starts_with("fixed:") && budget.relation == Relation::AddRemove;
            let most = if fixed && records > 1 { records - 1 } else { records };
            let found = calibrate_batch(&budget, most, events)?;
            Answer::new(budget.relation, &events(found.batch)?)
                .stored("batch", found.batch, &found.batch.to_string())
                .certified("epsilon", found.epsilon)
        }
    };
    answer.number("delta", budget.delta).print(arguments.json)
}

fn given<T>(value: Option<T>, looked_for: bool, name: &str) -> Outcome<T> {
    match value {
        Some(_) if looked_for => Err(superfluous(name)),
        Some(value) => Ok(value),
        None => Err(Failure::Usage(format!("--{name} is missing"))),
    }
}

fn superfluous(name: &str) -> Failure {
    Failure::Usage(format!("--{name} is what is looked for: leave it out"))
}
