//! The model that is nearest to everything that was measured.

use std::collections::BTreeSet;

use ppl_core::junction::Tree;
use serde::{Deserialize, Serialize};

use super::Result;
use super::levels::onto_simplex;

/// Noisy counts of some columns' levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Counted {
    /// The columns; the last one varies fastest.
    pub(super) columns: Vec<usize>,
    pub(super) counts: Vec<f64>,
    /// The variance of each, or one for all.
    pub(super) variances: Vec<f64>,
    /// Whether the last column came into the model by this marginal, given the others.
    #[serde(default)]
    pub(super) brings: bool,
}

impl Counted {
    /// Counts of one column's levels, from their shares of the records.
    pub(super) fn single(column: usize, shares: &[f64], variances: Vec<f64>, records: f64) -> Self {
        let counts = shares.iter().map(|share| share * records).collect();
        Self { columns: vec![column], counts, variances, brings: false }
    }

    pub(super) fn variance(&self, cell: usize) -> f64 {
        self.variances.get(cell).or(self.variances.first()).copied().unwrap_or(1.0)
    }
}

/// Passes over a tree: at least and at most so many, and as many as this number of cells allows.
const PASSES: (usize, usize) = (1000, 10_000);
const CELLS: usize = 20_000_000;
/// Passes without an improvement of this part of the objective, after which it ends.
const TOLERANCE: f64 = 1e-8;

/// A column given its parents, from noisy counts: the nearest that can be, with one record's worth of the
/// column's own distribution.
pub(super) fn conditional(counts: &[f64], shares: &[f64], records: f64) -> Vec<f64> {
    let counts = onto_simplex(counts, records);
    let row = |row: &[f64]| {
        let total: f64 = row.iter().sum();
        row.iter().zip(shares).map(|(count, share)| (count + share) / (total + 1.0)).collect::<Vec<_>>()
    };
    counts.chunks(shares.len()).flat_map(row).collect()
}

/// Where a table's potential is in a tree.
struct Place {
    clique: usize,
    /// For each cell of the clique the table's cell.
    cells: Vec<u32>,
}

/// Logarithms of the factors that a distribution is a product of, one for each table of counts.
pub(super) type Potentials = Vec<Vec<f64>>;

/// Where a search begins: columns that a marginal brought in are distributed given the others as its counts
/// say, and all others are independent. Levels that have no records by one measurement begin with a part of one record,
/// for others may say that they have some, and from zero no step leads away.
pub(super) fn start(tables: &[Counted], records: f64) -> Potentials {
    let single = |column: usize| {
        let own = tables.iter().find(|table| table.columns == [column]);
        own.map(|table| {
            let counts = onto_simplex(&table.counts, records);
            let part = 1.0 / counts.len() as f64;
            counts.into_iter().map(|count| (count + part) / (records + 1.0)).collect::<Vec<_>>()
        })
    };
    let logs = |shares: Vec<f64>| shares.into_iter().map(|share| share.max(1e-12).ln()).collect();
    let brought: BTreeSet<usize> = tables
        .iter()
        .filter(|table| table.brings)
        .filter_map(|table| table.columns.last().copied())
        .collect();
    let of = |table: &Counted| {
        let shares = match (table.columns.as_slice(), table.brings) {
            (&[column], _) if !brought.contains(&column) => single(column),
            (&[.., column], true) => {
                single(column).map(|shares| conditional(&table.counts, &shares, records))
            }
            _ => None,
        };
        shares.map_or_else(|| vec![0.0; table.counts.len()], logs)
    };
    tables.iter().map(of).collect()
}

/// The distributions of columns given their parents that potentials stand for. An error where a table lies in no
/// clique.
pub(super) fn distribution(
    tree: &Tree,
    tables: &[Counted],
    potentials: &Potentials,
) -> Result<Vec<Vec<f64>>> {
    Fit::new(tree, tables, 1.0)?.conditionals(potentials)
}

/// The distribution on the tree that minimises
///
/// ```text
/// f(p) = Σ_cells (y − N p)² / (2σ²)
/// ```
///
/// over all counts, each with its own variance: maximum likelihood for Gaussian noise. Each table of counts
/// has to lie in a clique; what is not measured is what the largest entropy makes of it, for potentials are
/// those of the tables alone.
///
/// Mirror descent in the potentials, `θ ← θ + η (y − Np)/σ²` (McKenna, Sheldon and Miklau 2019, Private-PGM),
/// each step accepted if the objective falls, with η raised then and halved otherwise. Each step is a
/// sum-product pass. The potentials are where the search starts, and what it finds.
pub(super) fn nearest(
    tree: &Tree,
    tables: &[Counted],
    records: f64,
    potentials: &mut Potentials,
) -> Result<Vec<Vec<f64>>> {
    let fit = Fit::new(tree, tables, records)?;
    let mut conditionals = fit.conditionals(potentials)?;
    let (mut objective, mut slopes) = fit.slopes(&conditionals)?;
    // Of the order of one over the curvature of the largest cell.
    let least = tables.iter().flat_map(|table| &table.variances).copied().fold(f64::INFINITY, f64::min);
    let mut rate = least.clamp(1.0, 1e12) / records.max(1.0);
    let mut stale = 0;
    let passes = CELLS / tree.total_cells().max(1);
    for _ in 0..passes.clamp(PASSES.0, PASSES.1) {
        let step = |(logs, slopes): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            logs.iter().zip(slopes).map(|(log, slope)| log + rate * slope).collect()
        };
        let proposed: Potentials = potentials.iter().zip(&slopes).map(step).collect();
        // A step so long that nothing finite is left is one that does not improve.
        let next = fit.conditionals(&proposed).and_then(|found| Ok((fit.slopes(&found)?, found)));
        if let Ok(((value, next), found)) = next
            && value < objective
        {
            stale = if objective - value < TOLERANCE * objective { stale + 1 } else { 0 };
            (*potentials, conditionals, objective, slopes) = (proposed, found, value, next);
            rate *= 1.5;
        } else {
            rate *= 0.5;
            stale += 1;
        }
        if stale >= 12 {
            break;
        }
    }
    Ok(conditionals)
}

/// Tables of counts, with their places in a tree.
struct Fit<'a> {
    tree: &'a Tree,
    tables: &'a [Counted],
    places: Vec<Place>,
    records: f64,
}

impl<'a> Fit<'a> {
    fn new(tree: &'a Tree, tables: &'a [Counted], records: f64) -> Result<Self> {
        let place = |table: &Counted| {
            // Where no clique holds the columns, the first one does not, which is the error.
            let clique = tree.host_of(&table.columns).unwrap_or(0);
            Ok(Place { clique, cells: tree.cells_of(clique, &table.columns)? })
        };
        let places = tables.iter().map(place).collect::<Result<_>>()?;
        Ok(Self { tree, tables, places, records })
    }

    fn conditionals(&self, potentials: &Potentials) -> Result<Vec<Vec<f64>>> {
        let mut cliques: Vec<Vec<f64>> =
            (0..self.tree.cliques().len()).map(|clique| vec![1.0; self.tree.cells(clique)]).collect();
        for (place, logs) in self.places.iter().zip(potentials) {
            let factors = factors(logs);
            let weights = cliques[place.clique].iter_mut().zip(&place.cells);
            weights.for_each(|(weight, &cell)| *weight *= factors[cell as usize]);
        }
        Ok(self.tree.conditionals(cliques)?)
    }

    /// The objective, and how much too small each expected count is, over its variance.
    fn slopes(&self, conditionals: &[Vec<f64>]) -> Result<(f64, Potentials)> {
        let joint = self.tree.marginals(conditionals)?;
        let mut objective = 0.0;
        let mut all = Vec::with_capacity(self.tables.len());
        for (table, place) in self.tables.iter().zip(&self.places) {
            let mut expected = vec![0.0; table.counts.len()];
            for (share, &cell) in joint[place.clique].iter().zip(&place.cells) {
                expected[cell as usize] += share;
            }
            for (cell, (expected, count)) in expected.iter_mut().zip(&table.counts).enumerate() {
                let (missing, variance) = (count - self.records * *expected, table.variance(cell));
                objective += 0.5 * missing * missing / variance;
                *expected = missing / variance;
            }
            all.push(expected);
        }
        Ok((objective, all))
    }
}

/// Exponentials, of which the largest is 1.
fn factors(logs: &[f64]) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter().map(|log| (log - largest).exp()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consistent counts are met exactly; of two that differ, the mean weighted by precisions is.
    #[test]
    fn counts_are_weighted_by_their_precisions() {
        let tree = Tree::over(&[2, 2], &[vec![0, 1]], 100).unwrap();
        let counted = |columns: &[usize], counts: &[f64], variance| Counted {
            columns: columns.to_vec(),
            counts: counts.to_vec(),
            variances: vec![variance],
            brings: false,
        };
        // 500 against 600 for the first column: variances 8 (a sum of two counts) and 4.
        let tables = [
            counted(&[0], &[600.0, 400.0], 4.0),
            counted(&[1], &[500.0, 500.0], 1e6),
            counted(&[0, 1], &[300.0, 200.0, 100.0, 400.0], 4.0),
        ];
        let mut potentials = start(&tables, 1000.0);
        let found = nearest(&tree, &tables, 1000.0, &mut potentials).unwrap();
        let joint = tree.marginals(&found).unwrap();
        let clique = tree.host_of(&[0, 1]).unwrap();
        let shares = tree.sum_to(clique, &joint[clique], &[0, 1]).unwrap();
        let expected = (600.0 / 4.0 + 500.0 / 8.0) / (1.0 / 4.0 + 1.0 / 8.0) / 1000.0;
        assert!((shares[0] + shares[1] - expected).abs() < 2e-3, "{shares:?} for {expected}");
        assert!((shares[2] - (100.0 - 100.0 / 6.0) / 1000.0).abs() < 2e-2, "{shares:?}");
        assert_eq!(distribution(&tree, &tables, &potentials).unwrap(), found);
    }
}
