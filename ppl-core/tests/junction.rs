//! Junction trees in doubles: against exact inference, sums over all joint values, and finite differences.

use ppl_core::finite::tables::Tables;
use ppl_core::finite::{Rational, Weight};
use ppl_core::junction::Tree;
use ppl_core::{Error, Result};
use proptest::prelude::*;

const SIZES: [usize; 8] = [2, 3, 2, 4, 2, 2, 3, 2];

/// Sets of variables that lie in one clique each.
fn sets() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let set = proptest::collection::btree_set(0..SIZES.len(), 1..4);
    proptest::collection::vec(set.prop_map(|set| set.into_iter().collect()), 0..9)
}

/// A tree for some sets, and weights for the cells of all of its cliques, some of them zero.
fn weighted() -> impl Strategy<Value = (Tree, Vec<Vec<u64>>)> {
    sets().prop_flat_map(|sets| {
        let tree = Tree::over(&SIZES, &sets, usize::MAX).unwrap();
        let weight = prop_oneof![1 => Just(0_u64), 9 => 1_u64..9];
        let table = |clique| proptest::collection::vec(weight.clone(), tree.cells(clique));
        let tables: Vec<_> = (0..SIZES.len()).map(table).collect();
        (Just(tree), tables)
    })
}

fn in_doubles(weights: &[Vec<u64>]) -> Vec<Vec<f64>> {
    weights.iter().map(|table| table.iter().map(|&weight| weight as f64).collect()).collect()
}

/// The same product of tables for exact inference, whose tables have their variables in increasing order.
fn exact(tree: &Tree, weights: &[Vec<u64>]) -> Tables<Rational> {
    let mut tables = Tables::new(SIZES.to_vec()).unwrap();
    for (clique, weights) in weights.iter().enumerate() {
        let sorted = sorted(tree, clique);
        let mut there = vec![Rational::ratio(0, 1); weights.len()];
        for (&weight, cell) in weights.iter().zip(tree.cells_of(clique, &sorted).unwrap()) {
            there[cell as usize] = Rational::ratio(weight, 1);
        }
        tables = tables.table(&sorted, there).unwrap();
    }
    tables
}

fn sorted(tree: &Tree, clique: usize) -> Vec<usize> {
    let mut variables = tree.variables(clique);
    variables.sort_unstable();
    variables
}

/// The cell of a clique at a value of each variable.
fn cell(tree: &Tree, clique: usize, values: &[usize]) -> usize {
    tree.variables(clique).into_iter().fold(0, |cell, variable| cell * SIZES[variable] + values[variable])
}

/// All joint values.
fn joint() -> Vec<Vec<usize>> {
    SIZES.iter().fold(vec![Vec::new()], |all, &size| {
        all.iter().flat_map(|values: &Vec<usize>| (0..size).map(|v| [&values[..], &[v]].concat())).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Totals and the distributions of cliques are those of exact inference on the same tables.
    #[test]
    fn agrees_with_exact_inference((tree, weights) in weighted()) {
        let exact = match exact(&tree, &weights).junction_tree(100_000) {
            Ok(exact) => exact,
            Err(error) => {
                prop_assert!(matches!(error, Error::Impossible(_)), "{error}");
                prop_assert_eq!(tree.log_total(&in_doubles(&weights)).unwrap(), f64::NEG_INFINITY);
                return Ok(());
            }
        };
        let (total, expected) = (tree.log_total(&in_doubles(&weights)).unwrap(), exact.total());
        prop_assert!((total - expected.value().estimate().ln()).abs() < 1e-11, "{} for {:?}", total, expected);
        let marginals = tree.marginals(&tree.conditionals(in_doubles(&weights)).unwrap()).unwrap();
        for (clique, found) in marginals.iter().enumerate() {
            let sorted = sorted(&tree, clique);
            let expected = exact.marginal(&sorted).unwrap();
            let found = tree.sum_to(clique, found, &sorted).unwrap();
            for (found, expected) in found.iter().zip(expected.weights()) {
                let expected = expected.value().estimate();
                prop_assert!((found - expected).abs() < 1e-12, "{} for {}", found, expected);
            }
        }
    }

    /// The gradient of the log total by the logarithm of a weight is the marginal of its cell: against a central
    /// difference of fourth order.
    #[test]
    fn marginals_are_gradients((tree, weights) in weighted(), pick in any::<prop::sample::Index>()) {
        let potentials: Vec<Vec<f64>> =
            in_doubles(&weights).iter().map(|table| table.iter().map(|weight| weight + 0.5).collect()).collect();
        let clique = pick.index(SIZES.len());
        let cell = pick.index(tree.cells(clique));
        let at = |shift: f64| {
            let mut moved = potentials.clone();
            moved[clique][cell] *= shift.exp();
            tree.log_total(&moved).unwrap()
        };
        let h = 1e-3;
        let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        let marginals = tree.marginals(&tree.conditionals(potentials.clone()).unwrap()).unwrap();
        prop_assert!((slope - marginals[clique][cell]).abs() < 1e-9, "{} for {}", slope, marginals[clique][cell]);
    }

    /// The distribution of any variable with any other, and the probability with which values are drawn, are those of
    /// all joint values.
    #[test]
    fn pairs_and_draws_are_those_of_all_joint_values(
        (tree, weights) in weighted(),
        one in 0..SIZES.len(),
        picks in proptest::collection::vec(0.0..1.0_f64, SIZES.len()),
    ) {
        let weight = |values: &[usize]| -> f64 {
            (0..SIZES.len()).map(|clique| weights[clique][cell(&tree, clique, values)] as f64).product()
        };
        let all: Vec<(Vec<usize>, f64)> = joint().into_iter().map(|v| (v.clone(), weight(&v))).collect();
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        prop_assume!(total > 0.0);
        let conditionals = tree.conditionals(in_doubles(&weights)).unwrap();
        let found = tree.with_each_other(&conditionals, one).unwrap();
        for other in (0..SIZES.len()).filter(|&other| other != one) {
            let mut expected = vec![0.0; SIZES[one] * SIZES[other]];
            all.iter().for_each(|(v, weight)| expected[v[one] * SIZES[other] + v[other]] += weight / total);
            for (found, expected) in found[other].iter().zip(&expected) {
                prop_assert!((found - expected).abs() < 1e-12, "{} for {}", found, expected);
            }
        }
        let (mut chance, mut picks) = (1.0, picks.into_iter());
        let drawn = tree.sample(&conditionals, |weights| {
            let (mut left, mut place) = (picks.next().unwrap(), 0);
            while place + 1 < weights.len() && (left >= weights[place] || weights[place] == 0.0) {
                left -= weights[place];
                place += 1;
            }
            chance *= weights[place];
            Ok(place)
        });
        let drawn = drawn.unwrap();
        prop_assert!((chance - weight(&drawn) / total).abs() < 1e-12, "{} for {:?}", chance, drawn);
    }

    /// Every set lies in a clique, variables come after their parents, and the limit on cells is exact.
    #[test]
    fn trees_hold_their_sets(sets in sets()) {
        let tree = Tree::over(&SIZES, &sets, usize::MAX).unwrap();
        prop_assert_eq!(tree.cliques().len(), SIZES.len());
        for (place, clique) in tree.cliques().iter().enumerate() {
            let host = tree.variables(clique.host());
            prop_assert!(clique.parents().iter().all(|parent| place > 0 && host.contains(parent)));
            prop_assert!(place == 0 || clique.host() < place);
        }
        prop_assert!(sets.iter().all(|set| tree.host_of(set).is_some()));
        prop_assert!(Tree::over(&SIZES, &sets, tree.total_cells()).is_ok());
        let refused = matches!(Tree::over(&SIZES, &sets, tree.total_cells() - 1), Err(Error::TooMany { .. }));
        prop_assert!(refused);
    }
}

/// A chain of 2,000 variables whose potentials multiply to e^(±20,000): scales do not add up.
#[test]
fn long_chains_neither_overflow_nor_vanish() {
    let sets: Vec<Vec<usize>> = (1..2000).map(|variable| vec![variable - 1, variable]).collect();
    let tree = Tree::over(&vec![2; 2000], &sets, usize::MAX).unwrap();
    for scale in [-10.0_f64, 10.0] {
        let potentials: Vec<Vec<f64>> =
            (0..2000).map(|clique| vec![scale.exp(); tree.cells(clique)]).collect();
        let expected = 2000.0 * (scale + 2_f64.ln());
        let found = tree.log_total(&potentials).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} for {expected}");
    }
}

/// A variable with 500 children, whose messages are each small at one of its values: their product is far below the
/// smallest double everywhere, and its logarithm is not.
#[test]
fn many_messages_to_one_clique_do_not_vanish() {
    let children = 500;
    let sets: Vec<Vec<usize>> = (1..=children).map(|child| vec![0, child]).collect();
    let tree = Tree::over(&vec![2; children + 1], &sets, usize::MAX).unwrap();
    let potentials: Vec<Vec<f64>> = (0..=children)
        .map(|clique| match tree.variables(clique)[..] {
            // Of the first variable alone.
            [_] => vec![1.0; 2],
            [a, b] => {
                let child = a.max(b);
                let weight = |value: usize| if (value + child).is_multiple_of(2) { 0.5 } else { 5e-4 };
                let values = |cell: usize| if a == 0 { cell / 2 } else { cell % 2 };
                (0..4).map(|cell| weight(values(cell))).collect()
            }
            _ => unreachable!("a star has edges only"),
        })
        .collect();
    // At either value of variable 0 half of the children sum to 1, and the others to 10⁻³.
    let expected = 2_f64.ln() + (children / 2) as f64 * 1e-3_f64.ln();
    let found = tree.log_total(&potentials).unwrap();
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} for {expected}");
    let marginals = tree.marginals(&tree.conditionals(potentials).unwrap()).unwrap();
    let clique = tree.host_of(&[0]).unwrap();
    let centre = tree.sum_to(clique, &marginals[clique], &[0]).unwrap();
    assert!((centre[0] - 0.5).abs() < 1e-9, "{centre:?}");
}

#[test]
fn what_is_no_tree_or_no_table_is_refused() -> Result<()> {
    assert!(matches!(Tree::new(vec![]), Err(Error::OutOfRange { .. })));
    assert!(matches!(Tree::new(vec![2, 0]), Err(Error::OutOfRange { .. })));
    assert!(matches!(Tree::over(&[2, 2], &[vec![0, 2]], 100), Err(Error::Values(_))));
    let mut tree = Tree::new(vec![2, 2, 2, 1 << 20, 1 << 20])?;
    let refused = |tree: &mut Tree, variable, parents: &[usize], host| {
        let before = tree.clone();
        let refused = tree.push(variable, parents.to_vec(), host).is_err();
        refused && *tree == before
    };
    assert!(refused(&mut tree, 0, &[1], 0), "a parent of the first clique");
    tree.push(0, vec![], 9)?;
    assert!(refused(&mut tree, 0, &[], 0), "a variable that is there");
    assert!(refused(&mut tree, 5, &[], 0), "a variable that does not exist");
    assert!(refused(&mut tree, 1, &[0], 1), "a host that does not exist");
    assert!(refused(&mut tree, 1, &[2], 0), "a parent that the host does not hold");
    tree.push(3, vec![0], 0)?;
    assert!(refused(&mut tree, 4, &[0, 3], 1), "2^41 cells");
    let mut tree = Tree::new(vec![2, 2])?;
    tree.push(0, vec![], 0)?;
    tree.push(1, vec![0], 0)?;
    let tables = vec![vec![0.5; 2], vec![0.5; 4]];
    for (place, wrong) in [(0, vec![0.5; 3]), (1, vec![0.5; 3]), (1, vec![-0.5; 4]), (0, vec![f64::NAN; 2])] {
        let mut tables = tables.clone();
        tables[place] = wrong;
        assert!(tree.conditionals(tables.clone()).is_err() && tree.log_total(&tables).is_err());
        assert!(tree.marginals(&tables).is_err() && tree.with_each_other(&tables, 0).is_err());
        assert!(tree.sample(&tables, |_| Ok(0)).is_err());
    }
    assert!(tree.conditionals(tables[..1].to_vec()).is_err());
    assert!(tree.conditionals(vec![vec![1.0; 2], vec![f64::MAX; 4]]).is_err(), "a sum that overflows");
    assert!(tree.sample(&tables, |_| Ok(2)).is_err(), "a place that does not exist");
    assert!(tree.marginal(1, &[0.5; 4], &[]).is_err() && tree.marginal(2, &[], &[]).is_err());
    assert!(tree.cells_of(0, &[1]).is_err() && tree.cells_of(2, &[]).is_err());
    assert!(tree.sum_to(1, &[1.0; 3], &[0]).is_err() && tree.sum_to(1, &[1.0; 4], &[0, 0]).is_err());
    Ok(())
}
