//! Sum-product on the junction tree that grows column by column, in doubles.
//!
//! [`ppl_core::finite::tables`] has the same for exact weights and any tables, and is the reference in tests;
//! here the cliques are known to be connected, and the same tree is passed over hundreds of times.

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
    }
}
