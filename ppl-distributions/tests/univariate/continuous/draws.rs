//! Draws against distribution functions.

use super::*;
use ppl_core::{Noise, Shape};
use std::f64::consts::{PI, TAU};

/// Draws of each test.
const DRAWS: usize = 20_000;
/// The distance between two distribution functions that `DRAWS` draws exceed with probability 1e-8 (Massart's
/// bound: twice e^(−2nd²)); with fewer than a hundred tests, a false alarm has a probability below 1e-6.
const DISTANCE: f64 = 0.021_86;

/// Sorted draws, and the distribution function at each.
fn largest_distance(name: &str, parameters: &[f64], draws: &mut [f64]) -> f64 {
    draws.sort_by(f64::total_cmp);
    let graph = Graph::new();
    let x = graph.input("x", draws.len()).unwrap();
    let distribution = (case(name).build)(&known(parameters));
    let cdf = distribution.cdf(x).expect("a formula");
    let found = run::<f64>(&graph, &[cdf], &[("x".to_owned(), draws.to_vec())]);
    let n = draws.len() as f64;
    let distance = |(i, p): (usize, &f64)| ((i as f64 + 1.0) / n - p).abs().max((p - i as f64 / n).abs());
    found[0].iter().enumerate().map(distance).fold(0.0, f64::max)
}

fn draws(name: &str, parameters: &[f64], seed: u64) -> Vec<f64> {
    let graph = Graph::new();
    let mut noise = Noise::new(&graph, "site");
    let distribution = (case(name).build)(&known(parameters));
    let draw = distribution.draw(&Shape::from(DRAWS), &mut noise).unwrap();
    assert_eq!(draw.shape(), Shape::from(DRAWS));
    let inputs = noise_values(&noise, &mut Stream(seed));
    run::<f64>(&graph, &[draw], &inputs).remove(0)
}

#[test]
fn the_threshold_is_the_one_that_is_told() {
    let exact = ((2.0_f64 / 1e-8).ln() / (2.0 * DRAWS as f64)).sqrt();
    assert!((DISTANCE / exact - 1.0).abs() < 1e-3, "{exact}");
}

#[test]
fn draws_have_the_distribution_they_say() {
    let mut more: Vec<(&str, Vec<f64>)> =
        CASES.iter().map(|case| (case.name, case.moderate.to_vec())).collect();
    let extremes: [(&str, &[f64]); 17] = [
        ("gamma", &[0.05, 1.0]),
        ("gamma", &[0.9, 2.0]),
        ("gamma", &[9.99, 2.0]),
        ("gamma", &[1e5, 1e-3]),
        ("inverse_gamma", &[0.3, 1.0]),
        ("beta", &[0.05, 0.1]),
        ("beta", &[300.0, 0.5]),
        ("beta", &[1e6, 2e6]),
        ("student_t", &[0.5, 0.0, 1.0]),
        ("student_t", &[1e4, 3.0, 1e-3]),
        ("von_mises", &[0.0, 1e-3]),
        ("von_mises", &[3.0, 500.0]),
        ("truncated_normal", &[0.0, 1.0, 37.0, f64::INFINITY]),
        ("truncated_normal", &[0.0, 1.0, f64::NEG_INFINITY, -3.0]),
        ("truncated_normal", &[0.0, 1.0, 5.0, 5.001]),
        ("kumaraswamy", &[0.1, 20.0]),
        ("weibull", &[1.0, 0.2]),
    ];
    more.extend(extremes.map(|(name, parameters)| (name, parameters.to_vec())));
    for (seed, (name, parameters)) in more.iter().enumerate() {
        // It has no distribution function; see below.
        if *name == "polya_gamma" {
            continue;
        }
        let mut values = draws(name, parameters, 1000 + seed as u64);
        if *name == "von_mises" {
            let loc = parameters[0];
            values.iter_mut().for_each(|x| *x = (*x - loc + PI).rem_euclid(TAU) - PI + loc);
        }
        let distance = largest_distance(name, parameters, &mut values);
        assert!(distance < DISTANCE, "{name} {parameters:?}: {distance}");
    }
}

/// The distribution function by Simpson's rule from the density.
#[test]
fn polya_gamma_draws_have_their_density() {
    for (seed, tilting) in [(1, 0.0), (2, 1.7), (3, -12.0)] {
        let mut values = draws("polya_gamma", &[tilting], seed);
        values.sort_by(f64::total_cmp);
        let (cells, top) = (4000, 3.0);
        let grid: Vec<f64> = (0..=2 * cells).map(|i| 1e-5 + top * i as f64 / (2 * cells) as f64).collect();
        let graph = Graph::new();
        let x = graph.input("x", grid.len()).unwrap();
        let log_prob = PolyaGamma::new(tilting).log_prob(x);
        let density: Vec<f64> = run::<f64>(&graph, &[log_prob], &[("x".to_owned(), grid.clone())])[0]
            .iter()
            .map(|l| l.exp())
            .collect();
        let mut cdf = vec![0.0];
        for k in 0..cells {
            let [a, b, c] = [0, 1, 2].map(|i| density[2 * k + i]);
            cdf.push(cdf[k] + (a + 4.0 * b + c) * top / cells as f64 / 6.0);
        }
        assert!((cdf[cells] - 1.0).abs() < 1e-6, "{}", cdf[cells]);
        let n = values.len() as f64;
        for (i, x) in values.iter().enumerate() {
            let place = ((x - 1e-5) / top * cells as f64).clamp(0.0, cells as f64 - 1e-9);
            let (k, rest) = (place as usize, place.fract());
            let p = cdf[k] + rest * (cdf[k + 1] - cdf[k]);
            // A cell holds at most 1 % of the probability, of which the straight line between its ends misses
            // a fraction.
            assert!((p - i as f64 / n).abs() < DISTANCE + 1e-3, "{tilting}: {x}");
        }
    }
}

#[test]
fn truncation_of_any_distribution() {
    let graph = Graph::new();
    let mut noise = Noise::new(&graph, "site");
    let truncated = Truncated::new(Gamma::new(2.5, 1.0), 1.0, 4.0);
    let draw = truncated.draw(&Shape::from(DRAWS), &mut noise).unwrap();
    let inputs = noise_values(&noise, &mut Stream(5));
    let mut values = run::<f64>(&graph, &[draw], &inputs).remove(0);
    assert!(values.iter().all(|x| (1.0..=4.0).contains(x)));
    values.sort_by(f64::total_cmp);
    let graph = Graph::new();
    let x = graph.input("x", DRAWS).unwrap();
    let outputs =
        [truncated_again().cdf(x).unwrap(), truncated_again().log_prob(x), Gamma::new(2.5, 1.0).log_prob(x)];
    let found = run::<f64>(&graph, &outputs, &[("x".to_owned(), values)]);
    for (i, p) in found[0].iter().enumerate() {
        assert!((p - i as f64 / DRAWS as f64).abs() < DISTANCE);
    }
    // P(1 < X < 4) = P(2.5, 4) − P(2.5, 1), by mpmath with 50 digits
    let between: f64 = 0.692_909_408_506_887_3;
    for (cut, whole) in found[1].iter().zip(&found[2]) {
        assert!((cut - whole + between.ln()).abs() < 1e-13, "{}", (whole - cut).exp());
    }
    let outside = run::<f64>(&graph, &[truncated_again().log_prob(graph.constant(0.5))], &[]);
    assert_eq!(outside[0], [f64::NEG_INFINITY]);
}

fn truncated_again<'g>() -> Truncated<'g, Gamma<'g>> {
    Truncated::new(Gamma::new(2.5, 1.0), 1.0, 4.0)
}
