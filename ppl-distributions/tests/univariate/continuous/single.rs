//! Programs in `f32`.

use super::*;
use ppl_core::{Noise, Shape};

/// Log densities, distribution functions and draws of moderate parameters against `f64`, at arguments that
/// both types hold.
#[test]
fn programs_in_single_precision_agree_to_six_digits() {
    for (seed, case) in CASES.iter().enumerate() {
        let parameters: Vec<f64> = case.moderate.iter().map(|&p| f64::from(p as f32)).collect();
        let n = 64;
        let graph = Graph::new();
        let mut noise = Noise::new(&graph, "site");
        let distribution = (case.build)(&known(&parameters));
        let draw = distribution.draw(&Shape::from(n), &mut noise).unwrap();
        let mut stream = Stream(seed as u64);
        let mut inputs = noise_values(&noise, &mut stream);
        // Noise of 24 bits, kept away from the ends.
        for (_, values) in &mut inputs {
            values.iter_mut().for_each(|x| *x = f64::from((*x as f32).clamp(-4.0, 0.999)));
        }
        let single = run::<f32>(&graph, &[draw], &inputs).remove(0);
        let double = run::<f64>(&graph, &[draw], &inputs).remove(0);
        for (a, b) in single.iter().zip(&double) {
            // A rounding of the noise near 1 moves a draw by up to a thousand of its own.
            assert!((a - b).abs() <= 2e-4 * (1.0 + b.abs()), "{} draw: {a} against {b}", case.name);
            let support = distribution.support();
            assert!(support.contains(*a), "{}: {a}", case.name);
        }
        let graph = Graph::new();
        let x = graph.input("x", n).unwrap();
        let mut outputs = vec![distribution_again(case, &parameters).log_prob(x)];
        outputs.extend(distribution_again(case, &parameters).cdf(x));
        let inputs = [("x".to_owned(), single)];
        let (single, double) = (run::<f32>(&graph, &outputs, &inputs), run::<f64>(&graph, &outputs, &inputs));
        for (a, b) in single.iter().flatten().zip(double.iter().flatten()) {
            assert!((a - b).abs() <= 2e-5 * (1.0 + b.abs()), "{}: {a} against {b}", case.name);
        }
    }
}

fn distribution_again<'g>(case: &Case, parameters: &[f64]) -> Box<dyn Distribution<'g> + 'g> {
    (case.build)(&known(parameters))
}
