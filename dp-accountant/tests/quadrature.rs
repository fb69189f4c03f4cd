//! Two composed steps against a two-dimensional quadrature that shares nothing with the engine.

use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};

fn density(x: f64, mean: f64, sigma: f64) -> f64 {
    let z = (x - mean) / sigma;
    (-0.5 * z * z).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt())
}

/// delta of two different steps: the integral over (x, y) of (P1 P2 - e^ε Q1 Q2)₊ on a fine grid.
///
/// The integrand has a kink along a curve and is smooth elsewhere: the midpoint rule errs by O(step²), by
/// less than 1e-6 of the largest delta here (halving the step changes delta by a quarter of the error).
fn brute_force(steps: [(f64, f64); 2], epsilon: f64, reversed: bool, nodes: usize) -> f64 {
    let grid = |(sigma, rate): (f64, f64)| -> Vec<(f64, f64)> {
        let (low, high) = (-8.0 * sigma, 1.0 + 8.0 * sigma);
        let width = (high - low) / nodes as f64;
        (0..nodes)
            .map(|k| {
                let x = low + (k as f64 + 0.5) * width;
                let base = density(x, 0.0, sigma);
                let mixture = (1.0 - rate) * base + rate * density(x, 1.0, sigma);
                if reversed { (base * width, mixture * width) } else { (mixture * width, base * width) }
            })
            .collect()
    };
    let (first, second) = (grid(steps[0]), grid(steps[1]));
    let factor = epsilon.exp();
    first
        .iter()
        .map(|(p1, q1)| second.iter().map(|(p2, q2)| (p1 * p2 - factor * q1 * q2).max(0.0)).sum::<f64>())
        .sum()
}

#[test]
fn two_steps_agree_with_brute_force() {
    for steps in [[(1.0, 0.1), (1.0, 0.1)], [(0.7, 0.3), (2.0, 0.5)], [(1.0, 0.02), (1.5, 1.0)]] {
        let accountant = steps.iter().fold(
            Accountant::new(Relation::AddRemove),
            |accountant, &(noise_multiplier, rate)| {
                let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate });
                accountant.compose(event.expect("valid"), 1)
            },
        );
        for epsilon in [0.0, 0.2, 1.0] {
            let answer = accountant.delta(epsilon).expect("an answer");
            let both = |nodes| {
                let direction = |reversed| brute_force(steps, epsilon, reversed, nodes);
                direction(false).max(direction(true))
            };
            let (coarse, fine) = (both(700), both(1_400));
            // Second order: the finer grid errs by a third of the difference; the kink makes that noisy, so
            // twice it.
            let tolerance = 2.0 * (coarse - fine).abs() + 1e-9;
            assert!(answer.lower <= fine + tolerance, "{steps:?} {epsilon}: {answer:?} {fine} {tolerance}");
            assert!(answer.upper >= fine - tolerance, "{steps:?} {epsilon}: {answer:?} {fine} {tolerance}");
            assert!(tolerance < 1e-5, "{tolerance}");
            assert!(answer.width() <= 1e-3 * answer.upper, "{answer:?}");
        }
    }
}
