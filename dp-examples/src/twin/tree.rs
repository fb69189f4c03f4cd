//! Junction trees in which each clique brings in one column, and sum-product on them in doubles.
//!
//! [`ppl_core::finite::tables`] has the same for exact weights, and is the reference in tests; here the same
//! tree is passed over hundreds of times.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A clique: a column and its parents, all of which lie in one earlier clique.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Clique {
    /// The column that it brings in.
    pub(super) column: usize,
    /// The parents, in increasing order.
    pub(super) parents: Vec<usize>,
    /// The place of the earlier clique that holds the parents; its own for the first one.
    pub(super) host: usize,
}

/// Cliques in the order in which they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Tree {
    pub(super) sizes: Vec<usize>,
    pub(super) cliques: Vec<Clique>,
    /// For each clique and each cell of its host, the cell of the parents.
    above: Vec<Vec<u32>>,
}

impl Tree {
    pub(super) fn new(sizes: Vec<usize>) -> Self {
        Self { sizes, ..Self::default() }
    }

    /// The columns of a clique: its parents, then its own, which varies fastest in tables.
    pub(super) fn columns(&self, clique: usize) -> Vec<usize> {
        let Clique { column, parents, .. } = &self.cliques[clique];
        parents.iter().copied().chain([*column]).collect()
    }

    /// A tree over all columns in which each of some sets lies in one clique, where it has at most so many
    /// cells.
    ///
    /// Columns are eliminated one by one, the one whose neighbours lack the fewest edges first; what is
    /// eliminated last comes first in the tree. A tree that was grown from cliques is found again.
    pub(super) fn over(sizes: &[usize], sets: &[Vec<usize>], most_cells: usize) -> Option<Self> {
        let mut neighbours = vec![BTreeSet::new(); sizes.len()];
        for set in sets {
            for &column in set {
                neighbours[column].extend(set.iter().copied().filter(|&other| other != column));
            }
        }
        let mut left: BTreeSet<usize> = (0..sizes.len()).collect();
        let (mut eliminated, mut cells) = (Vec::with_capacity(sizes.len()), 0_usize);
        while let Some(column) = cheapest(&left, &neighbours, sizes) {
            left.remove(&column);
            let parents: Vec<usize> = neighbours[column].iter().copied().collect();
            let own =
                parents.iter().fold(sizes[column], |cells, &parent| cells.saturating_mul(sizes[parent]));
            cells = cells.saturating_add(own);
            if cells > most_cells {
                return None;
            }
            for &parent in &parents {
                neighbours[parent].extend(parents.iter().copied().filter(|&other| other != parent));
                neighbours[parent].remove(&column);
            }
            eliminated.push((column, parents));
        }
        let mut tree = Self::new(sizes.to_vec());
        let mut places = vec![0; sizes.len()];
        for (place, (column, parents)) in eliminated.into_iter().rev().enumerate() {
            places[column] = place;
            // The parent that came last has all the others beside it.
            let host = parents.iter().map(|&parent| places[parent]).max().unwrap_or(0);
            tree.push(column, parents, host);
        }
        Some(tree)
    }

    /// The first clique that holds all of some columns, where there is one in a tree [over](Self::over) them.
    pub(super) fn host_of(&self, columns: &[usize]) -> Option<usize> {
        let holds = |clique: &Clique| {
            columns.iter().all(|column| clique.column == *column || clique.parents.contains(column))
        };
        self.cliques.iter().position(holds)
    }

    /// The distribution of one column together with each other one; the other varies fastest.
    pub(super) fn with_each_other(&self, conditionals: &[Vec<f64>], column: usize) -> Vec<Vec<f64>> {
        let Some(own) = self.cliques.iter().position(|clique| clique.column == column) else {
            return Vec::new();
        };
        let mut found = vec![Vec::new(); self.sizes.len()];
        let singles = self.singles(&self.joint(conditionals));
        for (value, share) in singles[column].iter().enumerate() {
            let mut known = conditionals.to_vec();
            let other = |(cell, _): &(usize, &mut f64)| cell % self.sizes[column] != value;
            known[own].iter_mut().enumerate().filter(other).for_each(|(_, weight)| *weight = 0.0);
            let given = self.singles(&self.joint(&self.conditionals(known)));
            for (found, given) in found.iter_mut().zip(given) {
                found.extend(given.into_iter().map(|weight| weight * share));
            }
        }
        found
    }

    /// The distribution of each column.
    fn singles(&self, joint: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut found: Vec<Vec<f64>> = self.sizes.iter().map(|&size| vec![0.0; size]).collect();
        for (clique, table) in joint.iter().enumerate() {
            let own = &mut found[self.cliques[clique].column];
            for row in table.chunks(own.len()) {
                own.iter_mut().zip(row).for_each(|(sum, share)| *sum += share);
            }
        }
        found
    }

    /// The cells of one clique.
    pub(super) fn cells_of_clique(&self, clique: usize) -> usize {
        self.cells(&self.columns(clique))
    }

    /// The cells of all cliques.
    pub(super) fn total_cells(&self) -> usize {
        (0..self.cliques.len()).map(|clique| self.cells_of_clique(clique)).fold(0, usize::saturating_add)
    }

    fn cells(&self, columns: &[usize]) -> usize {
        columns.iter().map(|&column| self.sizes[column]).product()
    }

    /// The number of values of a clique's own column.
    pub(super) fn width(&self, clique: usize) -> usize {
        self.sizes[self.cliques[clique].column]
    }

    /// For each cell of a clique, the cell of some of its columns.
    pub(super) fn cells_of(&self, clique: usize, columns: &[usize]) -> Vec<u32> {
        let all = self.columns(clique);
        (0..self.cells(&all))
            .map(|mut cell| {
                let mut values = vec![0; all.len()];
                for (value, &column) in values.iter_mut().zip(&all).rev() {
                    (*value, cell) = (cell % self.sizes[column], cell / self.sizes[column]);
                }
                let at = |column: &usize| {
                    all.iter().position(|own| own == column).map_or(0, |place| values[place])
                };
                columns.iter().fold(0, |cell, column| cell * self.sizes[*column] + at(column)) as u32
            })
            .collect()
    }

    /// Adds a clique, whose parents are in the clique `host`.
    pub(super) fn push(&mut self, column: usize, parents: Vec<usize>, host: usize) {
        let above = if self.cliques.is_empty() { Vec::new() } else { self.cells_of(host, &parents) };
        self.cliques.push(Clique { column, parents, host });
        self.above.push(above);
    }

    /// From a potential on each clique, the distribution of each clique's column given its parents: messages
    /// from the last clique to the first.
    pub(super) fn conditionals(&self, mut potentials: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        for clique in (0..self.cliques.len()).rev() {
            let width = self.width(clique);
            let mut message = Vec::with_capacity(potentials[clique].len() / width);
            for row in potentials[clique].chunks_mut(width) {
                let total: f64 = row.iter().sum();
                // What cannot occur has any distribution.
                let even = 1.0 / width as f64;
                row.iter_mut().for_each(|weight| *weight = if total > 0.0 { *weight / total } else { even });
                message.push(total);
            }
            if clique > 0 {
                let largest = message.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
                let host = &mut potentials[self.cliques[clique].host];
                for (weight, &cell) in host.iter_mut().zip(&self.above[clique]) {
                    *weight *= message[cell as usize] / largest;
                }
            }
        }
        potentials
    }

    /// The distribution of each clique, from those of columns given their parents.
    pub(super) fn joint(&self, conditionals: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut joint: Vec<Vec<f64>> = Vec::with_capacity(conditionals.len());
        for (clique, conditional) in conditionals.iter().enumerate() {
            joint.push(self.extended(clique, conditional, &joint));
        }
        joint
    }

    /// The distribution of one clique, from those of the cliques before it.
    pub(super) fn extended(&self, clique: usize, conditional: &[f64], joint: &[Vec<f64>]) -> Vec<f64> {
        let width = self.width(clique);
        let mut above = vec![0.0; conditional.len() / width];
        if clique == 0 {
            above[0] = 1.0;
        } else {
            for (weight, &cell) in joint[self.cliques[clique].host].iter().zip(&self.above[clique]) {
                above[cell as usize] += weight;
            }
        }
        let rows = above.into_iter().zip(conditional.chunks(width));
        rows.flat_map(|(weight, row)| row.iter().map(move |share| weight * share)).collect()
    }
}

/// The column that is eliminated next: fewest edges that have to be added, then fewest cells.
fn cheapest(left: &BTreeSet<usize>, neighbours: &[BTreeSet<usize>], sizes: &[usize]) -> Option<usize> {
    let mut order: Vec<usize> = left.iter().copied().collect();
    order.sort_by_key(|&column| neighbours[column].len());
    let cells = |column: usize| {
        neighbours[column].iter().fold(sizes[column], |cells, &other| cells.saturating_mul(sizes[other]))
    };
    let mut best: Option<((usize, usize), usize)> = None;
    for column in order {
        let most = best.map_or(usize::MAX, |((fill, _), _)| fill);
        let mut fill = 0;
        for &one in &neighbours[column] {
            fill +=
                neighbours[column].range(one + 1..).filter(|other| !neighbours[one].contains(other)).count();
            if fill > most {
                break;
            }
        }
        let key = (fill, cells(column));
        if best.is_none_or(|(least, _)| key < least) {
            best = Some((key, column));
        }
        // Nothing that has more neighbours is better than one without edges to add.
        if best
            .is_some_and(|((fill, _), place)| fill == 0 && neighbours[place].len() < neighbours[column].len())
        {
            break;
        }
    }
    best.map(|(_, column)| column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::finite::tables::Tables;
    use ppl_core::finite::{Rational, Weight};
    use proptest::prelude::*;

    proptest! {
        /// The same distributions as exact inference on the same tables.
        #[test]
        fn agrees_with_exact_inference(seed in proptest::collection::vec(1_u64..9, 60)) {
            let mut tree = Tree::new(vec![2, 3, 2, 2]);
            tree.push(1, vec![], 0);
            tree.push(0, vec![1], 0);
            tree.push(3, vec![0, 1], 1);
            tree.push(2, vec![1, 3], 2);
            let cells = |clique: usize| tree.cells(&tree.columns(clique));
            let mut next = seed.iter().cycle();
            let weights: Vec<Vec<u64>> =
                (0..4).map(|clique| next.by_ref().take(cells(clique)).copied().collect()).collect();
            let mut tables = Tables::new(vec![2, 3, 2, 2]).unwrap();
            for (clique, weights) in weights.iter().enumerate() {
                // Exact tables have their columns in increasing order.
                let mut sorted = tree.columns(clique);
                sorted.sort_unstable();
                let mut there = vec![Rational::ratio(0, 1); weights.len()];
                for (&weight, cell) in weights.iter().zip(tree.cells_of(clique, &sorted)) {
                    there[cell as usize] = Rational::ratio(weight, 1);
                }
                tables = tables.table(&sorted, there).unwrap();
            }
            let exact = tables.junction_tree(1000).unwrap();
            let potentials = weights.iter().map(|w| w.iter().map(|&w| w as f64).collect()).collect();
            let joint = tree.joint(&tree.conditionals(potentials));
            for (clique, found) in joint.iter().enumerate() {
                let mut sorted = tree.columns(clique);
                sorted.sort_unstable();
                let expected = exact.marginal(&sorted).unwrap();
                for (found, cell) in found.iter().zip(tree.cells_of(clique, &sorted)) {
                    let expected = expected.weights()[cell as usize].value().estimate();
                    prop_assert!((found - expected).abs() < 1e-12, "{} for {}", found, expected);
                }
            }
        }

        /// Every set lies in a clique, columns come after their parents, and no clique is missing.
        #[test]
        fn trees_hold_their_sets(
            sets in proptest::collection::vec(proptest::collection::btree_set(0..8_usize, 1..4), 0..9),
        ) {
            let sets: Vec<Vec<usize>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            let tree = Tree::over(&[2, 3, 2, 4, 2, 2, 3, 2], &sets, usize::MAX).unwrap();
            prop_assert_eq!(tree.cliques.len(), 8);
            for (place, clique) in tree.cliques.iter().enumerate() {
                let host = tree.columns(clique.host);
                prop_assert!(clique.parents.iter().all(|parent| place > 0 && host.contains(parent)));
                prop_assert!(place == 0 || clique.host < place);
            }
            prop_assert!(sets.iter().all(|set| tree.host_of(set).is_some()));
            prop_assert!(Tree::over(&tree.sizes, &sets, tree.total_cells()).is_some());
            prop_assert!(Tree::over(&tree.sizes, &sets, tree.total_cells() - 1).is_none());
        }

        /// Two columns that no clique holds, from a sum over everything else.
        #[test]
        fn distributions_of_distant_columns(seed in proptest::collection::vec(1_u64..9, 60)) {
            let tree = Tree::over(&[2, 3, 2], &[vec![0, 1], vec![1, 2]], usize::MAX).unwrap();
            let mut next = seed.iter().cycle().map(|&weight| weight as f64);
            let weights: Vec<Vec<f64>> = (0..3)
                .map(|clique| next.by_ref().take(tree.cells(&tree.columns(clique))).collect())
                .collect();
            let conditionals = tree.conditionals(weights);
            let joint = tree.joint(&conditionals);
            let pair = |a: usize, b: usize| {
                let clique = tree.host_of(&[a, b]).unwrap();
                let mut sums = vec![0.0; tree.sizes[a] * tree.sizes[b]];
                for (share, cell) in joint[clique].iter().zip(tree.cells_of(clique, &[a, b])) {
                    sums[cell as usize] += share;
                }
                sums
            };
            let (first, second) = (pair(0, 1), pair(1, 2));
            let found = &tree.with_each_other(&conditionals, 0)[2];
            for (a, b) in (0..2).flat_map(|a| (0..2).map(move |b| (a, b))) {
                let expected: f64 = (0..3)
                    .map(|c| first[a * 3 + c] * second[c * 2 + b] / (second[c * 2] + second[c * 2 + 1]))
                    .sum();
                prop_assert!((found[a * 2 + b] - expected).abs() < 1e-12, "{:?}", found);
            }
        }
    }
}
