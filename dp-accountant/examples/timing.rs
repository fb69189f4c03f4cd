//! Times epsilon on three settings and one calibration, warm, best of five, and prints JSON for
//! `peers/compare`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use dp_accountant::{
    Accountant, Budget, Composition, Event, Mechanism, Relation, Result, Sampling, calibrate_noise_multiplier,
};

fn run(noise_multiplier: f64, rate: f64, steps: u64) -> Result<Composition> {
    let step = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })?;
    Ok(Composition::single(step, steps))
}

/// The best of five times in seconds, after one run that is not counted, and the value.
fn best_of_five<T>(work: impl Fn() -> Result<T>) -> Result<(f64, T)> {
    let mut value = work()?;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        value = work()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((best, value))
}

fn main() -> Result<()> {
    let settings = [
        ("a", 1.0, 0.01, 1_000, 1e-5),
        ("b", 1.5, 128.0 / 60_000.0, 9_380, 1.0 / 60_000.0),
        ("c", 0.5, 0.001, 100_000, 1e-6),
    ];
    let mut lines = Vec::new();
    for (name, noise_multiplier, rate, steps, delta) in settings {
        let composition = run(noise_multiplier, rate, steps)?;
        let (seconds, epsilon) =
            best_of_five(|| Accountant::new(Relation::AddRemove).with(&composition).epsilon(delta))?;
        let (lower, upper) = (epsilon.lower, epsilon.upper);
        lines.push(format!(r#""{name}": {{"seconds": {seconds:e}, "lower": {lower}, "value": {upper}}}"#));
    }
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let (seconds, found) = best_of_five(|| {
        calibrate_noise_multiplier(&budget, |noise_multiplier| run(noise_multiplier, 0.01, 1_000))
    })?;
    let sigma = found.noise_multiplier;
    lines.push(format!(r#""d": {{"seconds": {seconds:e}, "lower": {sigma}, "value": {sigma}}}"#));
    println!("{{{}}}", lines.join(", "));
    Ok(())
}
