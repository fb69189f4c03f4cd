//! Summaries of draws against NumPy and ArviZ, and their edges.

use ndarray::{Array1, ArrayD, arr0, array};
use ppl_core::Values;
use ppl_core::draws::summary::{mean, quantile, shortest_interval, standard_deviation, summarise};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[test]
fn summaries_agree_with_numpy_and_arviz() {
    let mut sets: BTreeMap<&str, ArrayD<f64>> = BTreeMap::new();
    let mut rows = 0;
    for line in include_str!("../golden/summary.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        if fields[0] == "draws" {
            let numbers: Array1<f64> = (2..fields.len()).map(number).collect();
            sets.insert(fields[1], numbers.into_dyn());
            continue;
        }
        let draws = &sets[fields[0]];
        let largest = draws.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        // Roundings of sums of a hundred numbers, relative to the largest: theirs, for ours are fewer.
        let tolerance = 64.0 * f64::EPSILON * largest;
        let got = match fields[1] {
            "mean" => vec![mean(draws).unwrap()],
            "sd" => vec![standard_deviation(draws).unwrap()],
            "quantile" => vec![quantile(draws, number(2)).unwrap()],
            "interval" => shortest_interval(draws, number(2)).unwrap().to_vec(),
            other => panic!("unknown function {other}"),
        };
        for (k, got) in got.iter().enumerate() {
            let expected = number(3 + k);
            // An end of an interval is one of the draws.
            let tolerance = if fields[1] == "interval" { 0.0 } else { tolerance };
            assert!((got[[]] - expected).abs() <= tolerance, "{line}: got {got}");
        }
        rows += 1;
    }
    assert_eq!(rows, 5 * 10 + 4 * 4);
}

#[test]
fn each_element_has_a_summary_of_its_own() {
    let draws = array![[1.0, 10.0], [2.0, 20.0], [3.0, 60.0]].into_dyn();
    assert_eq!(mean(&draws).unwrap(), array![2.0, 30.0].into_dyn());
    assert_eq!(quantile(&draws, 0.5).unwrap(), array![2.0, 20.0].into_dyn());
    let summary = summarise(&Values::from([("w".to_owned(), draws)]), 0.5).unwrap();
    assert_eq!(summary.sites["w"].interval, [array![1.0, 10.0].into_dyn(), array![2.0, 20.0].into_dyn()]);
    let text = summary.to_string();
    assert!(
        text.lines().count() == 3 && text.contains("50 % interval") && text.contains("[10.0000, 20.0000]"),
        "{text}"
    );
}

#[test]
fn what_has_no_summary_says_so() {
    let one = array![1.0].into_dyn();
    assert!(standard_deviation(&one).unwrap_err().to_string().contains("at least 2 draws are needed, got 1"));
    assert!(mean(&arr0(1.0).into_dyn()).unwrap_err().to_string().contains("got a single number"));
    assert!(quantile(&one, 1.5).unwrap_err().to_string().contains("from 0 to 1, got 1.5"));
    assert!(quantile(&one, f64::NAN).is_err());
    assert!(
        shortest_interval(&one, 1.0).unwrap_err().to_string().contains("strictly between 0 and 1, got 1")
    );
    let nan = array![1.0, f64::NAN, 2.0].into_dyn();
    assert!(
        quantile(&nan, 0.0).unwrap()[[]].is_nan() && shortest_interval(&nan, 0.5).unwrap()[0][[]].is_nan()
    );
    let told = summarise(&Values::from([("w".to_owned(), one)]), 0.5).unwrap_err().to_string();
    assert!(told.starts_with("site 'w': at least 2 draws"), "{told}");
}

proptest! {
    #[test]
    fn no_interval_of_its_share_is_shorter(draws in proptest::collection::vec(-1e3..1e3_f64, 2..40), share in 0.05..0.95_f64) {
        let all = Array1::from(draws.clone()).into_dyn();
        let [low, high] = shortest_interval(&all, share).unwrap();
        let mut sorted = draws.clone();
        sorted.sort_by(f64::total_cmp);
        let apart = (share * draws.len() as f64).floor() as usize;
        for k in 0..draws.len() - apart {
            prop_assert!(sorted[k + apart] - sorted[k] >= high[[]] - low[[]]);
        }
        let inside = draws.iter().filter(|x| (low[[]]..=high[[]]).contains(*x)).count();
        prop_assert!(inside > apart);
        let median = quantile(&all, 0.5).unwrap()[[]];
        prop_assert!(sorted[0] <= median && median <= sorted[draws.len() - 1]);
    }
}
