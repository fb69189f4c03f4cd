//! Diagnostics of chains against ArviZ, and their edges.

use ndarray::{Array2, Array3, ArrayD, Axis, array};
use ppl_core::draws::convergence::{ess_bulk, ess_tail, r_hat, standard_error};
use std::collections::BTreeMap;

#[test]
fn diagnostics_agree_with_arviz() {
    let mut sets: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    let mut rows = 0;
    for line in include_str!("../golden/convergence.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        if fields[0] == "draws" {
            sets.entry(fields[1]).or_default().push((3..fields.len()).map(number).collect());
            continue;
        }
        let chains = &sets[fields[0]];
        let draws = Array2::from_shape_vec((chains.len(), chains[0].len()), chains.concat()).unwrap();
        let draws: ArrayD<f64> = draws.into_dyn();
        let got = match fields[1] {
            "r_hat" => r_hat(&draws),
            "ess_bulk" => ess_bulk(&draws),
            "ess_tail" => ess_tail(&draws),
            "standard_error" => standard_error(&draws),
            other => panic!("unknown function {other}"),
        };
        let (got, expected) = (got.unwrap()[[]], number(2));
        // Theirs come from Fourier transforms: an autocorrelation is off by some 300 roundings (7e-14), τ by
        // a sum of up to 75 of them, and it is 0.36 at least.
        assert!((got / expected - 1.0).abs() < 2e-11, "{line}: got {got}");
        rows += 1;
    }
    assert_eq!(rows, 10 * 4);
}

#[test]
fn each_element_has_diagnostics_of_its_own() {
    let number = |k: usize| ((k as f64 * 78.233 + 1.7).sin() * 43_758.545_3).fract();
    let draws = Array3::from_shape_fn((2, 40, 3), |(chain, draw, place)| match place {
        1 => 7.0,
        2 if chain == 1 && draw == 3 => f64::NAN,
        _ => number(chain * 1000 + draw * 10 + place),
    });
    let first = draws.index_axis(Axis(2), 0).to_owned().into_dyn();
    let draws = draws.into_dyn();
    let (r, bulk, tail, error) = (
        r_hat(&draws).unwrap(),
        ess_bulk(&draws).unwrap(),
        ess_tail(&draws).unwrap(),
        standard_error(&draws).unwrap(),
    );
    assert_eq!(r.shape(), [3]);
    assert_eq!(r[0], r_hat(&first).unwrap()[[]]);
    assert_eq!(bulk[0], ess_bulk(&first).unwrap()[[]]);
    assert!(r[1].is_nan() && bulk[1] == 80.0 && tail[1] == 80.0 && error[1] == 0.0, "all equal");
    assert!([r[2], bulk[2], tail[2], error[2]].iter().all(|x| x.is_nan()), "not a number");
}

#[test]
fn what_has_no_diagnostics_says_so() {
    let told = |draws: ArrayD<f64>| r_hat(&draws).unwrap_err().to_string();
    assert!(told(array![1.0, 2.0].into_dyn()).contains("an axis of chains and one of draws, got shape [2]"));
    assert!(told(Array2::zeros((2, 3)).into_dyn()).contains("1 chain of 4 draws is needed, got 2 of 3"));
    assert!(told(Array2::zeros((0, 9)).into_dyn()).contains("got 0 of 9"));
}
