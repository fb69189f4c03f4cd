//! Junction trees against sums over all joint values.

use ppl_core::finite::tables::Tables;
use ppl_core::finite::{LogInterval, Rational, Weight};
use ppl_core::{Error, Result};
use proptest::prelude::*;

const SIZES: [usize; 6] = [2, 3, 2, 2, 3, 2];

/// Tables over up to three of six variables, some weights zero.
fn products() -> impl Strategy<Value = Vec<(Vec<usize>, Vec<u64>)>> {
    let scope = proptest::sample::subsequence((0..SIZES.len()).collect::<Vec<_>>(), 0..=3);
    let table = scope.prop_flat_map(|scope| {
        let cells: usize = scope.iter().map(|&v| SIZES[v]).product();
        (Just(scope), proptest::collection::vec(prop_oneof![1 => Just(0_u64), 5 => 1_u64..9], cells))
    });
    proptest::collection::vec(table, 0..7)
}

fn build<W: Weight>(tables: &[(Vec<usize>, Vec<u64>)]) -> Tables<W> {
    tables.iter().fold(Tables::new(SIZES.to_vec()).unwrap(), |all, (scope, weights)| {
        all.table(scope, weights.iter().map(|&weight| W::ratio(weight, 1)).collect()).unwrap()
    })
}

/// All joint values.
fn joint() -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for size in SIZES {
        all = all
            .iter()
            .flat_map(|values: &Vec<usize>| (0..size).map(|v| [&values[..], &[v]].concat()))
            .collect();
    }
    all
}

fn cell(scope: &[usize], values: &[usize]) -> usize {
    scope.iter().fold(0, |cell, &v| cell * SIZES[v] + values[v])
}

/// The product of all tables at some values.
fn weight(tables: &[(Vec<usize>, Vec<u64>)], values: &[usize]) -> u64 {
    tables.iter().map(|(scope, weights)| weights[cell(scope, values)]).product()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Total, gradients and marginals are those of all joint values, exactly; a draw has the probability that
    /// the product of its choices' shares is.
    #[test]
    fn a_junction_tree_is_the_sum_over_everything(tables in products(), picks in proptest::collection::vec(any::<u32>(), 8)) {
        let total: u64 = joint().iter().map(|values| weight(&tables, values)).sum();
        let model = build::<Rational>(&tables);
        let tree = match model.junction_tree(1000) {
            Ok(tree) => tree,
            Err(error) => {
                prop_assert!(total == 0 && matches!(error, Error::Impossible(_)), "{error}");
                return Ok(());
            }
        };
        prop_assert_eq!(tree.total(), Rational::ratio(total, 1));
        for (number, (scope, _)) in tables.iter().enumerate() {
            let found = tree.gradient(number).unwrap();
            let mut expected = vec![0; found.weights().len()];
            joint().iter().for_each(|values| expected[cell(scope, values)] += weight(&tables, values));
            let expected: Vec<Rational> = expected.into_iter().map(|sum| Rational::ratio(sum, total)).collect();
            prop_assert_eq!(found.weights(), &expected[..]);
        }
        for v in 0..SIZES.len() {
            prop_assert_eq!(tree.marginal(&[v]).unwrap().total(), Rational::one());
        }
        // Any choice that has weight.
        let (mut share, mut next) = (Rational::one(), picks.iter());
        let values = tree.sample(|weights| -> Result<usize> {
            let open: Vec<usize> = (0..weights.len()).filter(|&k| !weights[k].is_zero()).collect();
            let place = open[*next.next().unwrap_or(&0) as usize % open.len()];
            let sum = weights.iter().fold(Rational::zero(), |sum, weight| sum.plus(weight));
            share = share.times(&weights[place].over(&sum).unwrap());
            Ok(place)
        }).unwrap();
        prop_assert_eq!(share, Rational::ratio(weight(&tables, &values), total));

        // Intervals contain the exact total.
        let logs = build::<LogInterval>(&tables).junction_tree(1000).unwrap().total().value();
        prop_assert!(logs.contains(total as f64) && logs.width() < 1e-9 * total as f64, "{logs} {total}");
    }
}

/// The gradient of the log total, by finite differences.
#[test]
fn gradients_are_slopes() {
    let weights = [vec![1, 2], vec![3, 1, 2, 5, 1, 4], vec![2, 1, 1, 3, 2, 2]];
    let scopes = [vec![0], vec![0, 1], vec![1, 3]];
    let ln_total = |changed: f64| {
        let tables = scopes.iter().zip(&weights).enumerate().fold(
            Tables::new(SIZES.to_vec()).unwrap(),
            |all, (k, (scope, weights))| {
                let weight = |(cell, &weight): (usize, &u64)| {
                    let factor = if (k, cell) == (1, 3) { changed } else { 1.0 };
                    LogInterval::from_f64(weight as f64 * factor).unwrap()
                };
                all.table(scope, weights.iter().enumerate().map(weight).collect()).unwrap()
            },
        );
        tables.junction_tree(100).unwrap()
    };
    let step = 1e-4_f64;
    let slope = (ln_total(step.exp()).total().ln().estimate()
        - ln_total((-step).exp()).total().ln().estimate())
        / (2.0 * step);
    let gradient = ln_total(1.0).gradient(1).unwrap().weights()[3].value();
    assert!((gradient.estimate() - slope).abs() < 1e-8, "{gradient} {slope}");
}

#[test]
fn bad_tables_are_refused() {
    let tables = || Tables::<Rational>::new(vec![2, 3]).unwrap();
    let ones = |n| vec![Rational::one(); n];
    assert!(Tables::<Rational>::new(vec![]).is_err() && Tables::<Rational>::new(vec![2, 0]).is_err());
    assert!(tables().table(&[1, 0], ones(6)).unwrap_err().to_string().contains("must increase"));
    assert!(tables().table(&[0, 2], ones(4)).unwrap_err().to_string().contains("below 2"));
    assert!(tables().table(&[0, 1], ones(5)).unwrap_err().to_string().contains("5 weights"));
    let both = tables().table(&[0, 1], ones(6)).unwrap();
    assert!(matches!(both.junction_tree(5), Err(Error::TooMany { count: 6, limit: 5, .. })));
    let apart = tables().junction_tree(10).unwrap();
    assert_eq!(apart.total(), Rational::ratio(6, 1));
    assert!(apart.marginal(&[0, 1]).unwrap_err().to_string().contains("no clique"));
    assert!(apart.gradient(0).is_err());
    let none = tables().table(&[0], vec![Rational::zero(); 2]).unwrap();
    assert!(matches!(none.junction_tree(10), Err(Error::Impossible(_))));
    assert!(both.junction_tree(6).unwrap().sample(|_| Ok(9)).is_err());
}
