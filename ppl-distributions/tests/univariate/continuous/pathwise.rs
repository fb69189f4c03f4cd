//! Gradients of draws: their mean is the gradient of the mean.

use super::*;
use ppl_core::{Noise, Shape, gradient};

/// Draws for each distribution.
const DRAWS: usize = 20_000;
/// Standard deviations that the mean of the gradients may be off: P(|Z| > 6.5) is below 1e-10, and there are
/// some hundred means, so that even with tails a little heavier than normal a false alarm is far below 1e-6.
const DEVIATIONS: f64 = 6.5;

/// Mean and its standard deviation.
fn estimate(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    (mean, (square / (n - 1.0) / n).sqrt())
}

/// `d E x/dθ` and `d E x²/dθ` from draws, against the derivatives of mean and variance.
#[test]
fn gradients_of_draws_are_those_of_moments() {
    for (seed, case) in CASES.iter().enumerate() {
        // They have no moments (`identity` below serves), or none of the line.
        if ["cauchy", "half_cauchy", "von_mises"].contains(&case.name) {
            continue;
        }
        let graph = Graph::new();
        // One parameter for each draw, so that the gradient of the sum is the gradient of each draw.
        let mut inputs = Vec::new();
        let mut vars = Vec::new();
        for (i, &p) in case.moderate.iter().enumerate() {
            inputs.push((format!("p{i}"), vec![p; DRAWS]));
            vars.push(graph.input(format!("p{i}"), DRAWS).unwrap());
        }
        let values: Vec<Value<'_>> = vars.iter().map(|&var| var.into()).collect();
        let mut noise = Noise::new(&graph, "site");
        let distribution = (case.build)(&values);
        assert!(distribution.reparameterised());
        let draw = distribution.draw(&Shape::scalar(), &mut noise).unwrap();
        inputs.extend(noise_values(&noise, &mut Stream(77 + seed as u64)));
        let mut outputs = vec![draw];
        outputs.extend(gradient(draw.sum(), &vars).unwrap());
        let found = run::<f64>(&graph, &outputs, &inputs);

        let exact = Graph::new();
        let scalars: Vec<Var<'_>> =
            (0..vars.len()).map(|i| exact.input(format!("p{i}"), ()).unwrap()).collect();
        let values: Vec<Value<'_>> = scalars.iter().map(|&var| var.into()).collect();
        let distribution = (case.build)(&values);
        let (mean, variance) = (distribution.mean(&exact).unwrap(), distribution.variance(&exact).unwrap());
        let mut outputs = gradient(mean, &scalars).unwrap();
        outputs.extend(gradient(variance + mean.square(), &scalars).unwrap());
        let at: Vec<(String, Vec<f64>)> =
            case.moderate.iter().enumerate().map(|(i, &p)| (format!("p{i}"), vec![p])).collect();
        let truth = run::<f64>(&exact, &outputs, &at);

        for k in 0..vars.len() {
            let slopes = &found[1 + k];
            let squares: Vec<f64> = found[0].iter().zip(slopes).map(|(x, slope)| 2.0 * x * slope).collect();
            for (values, truth, moment) in [(slopes, truth[k][0], 1), (&squares, truth[vars.len() + k][0], 2)]
            {
                let (mean, deviation) = estimate(values);
                let allowed = DEVIATIONS * deviation + 1e-12 * truth.abs();
                assert!(
                    (mean - truth).abs() <= allowed,
                    "{} parameter {k} moment {moment}: {mean} ± {deviation} against {truth}",
                    case.name
                );
            }
        }
    }
}

/// Where a draw is the quantile of one uniform number `u`, the distribution function of the draw is `u`
/// whatever the parameters are: its gradient through draw and parameters is 0.
#[test]
fn draws_by_quantiles_stay_at_their_probability() {
    let n = 200;
    for case in CASES {
        // Angles are counted from a fixed one, past which probability moves with `loc`.
        if [
            "normal",
            "log_normal",
            "half_normal",
            "beta",
            "student_t",
            "half_student_t",
            "polya_gamma",
            "von_mises",
        ]
        .contains(&case.name)
        {
            continue;
        }
        let graph = Graph::new();
        let mut inputs = Vec::new();
        let mut vars = Vec::new();
        for (i, &p) in case.moderate.iter().enumerate() {
            inputs.push((format!("p{i}"), vec![p; n]));
            vars.push(graph.input(format!("p{i}"), n).unwrap());
        }
        let values: Vec<Value<'_>> = vars.iter().map(|&var| var.into()).collect();
        let mut noise = Noise::new(&graph, "site");
        let distribution = (case.build)(&values);
        let draw = distribution.draw(&Shape::scalar(), &mut noise).unwrap();
        let probability = distribution.cdf(draw).unwrap();
        // Without the draw's own gradient, for size.
        let held = distribution.cdf(draw.stop_gradient()).unwrap();
        let mut outputs = gradient(probability.sum(), &vars).unwrap();
        outputs.extend(gradient(held.sum(), &vars).unwrap());
        inputs.extend(noise_values(&noise, &mut Stream(9)));
        let found = run::<f64>(&graph, &outputs, &inputs);
        for k in 0..vars.len() {
            let size = found[vars.len() + k].iter().fold(0.0_f64, |size, x| size.max(x.abs()));
            assert!(size > 0.0, "{} parameter {k}", case.name);
            for slope in &found[k] {
                assert!(slope.abs() <= 1e-9 * size, "{} parameter {k}: {slope} of {size}", case.name);
            }
        }
    }
}
