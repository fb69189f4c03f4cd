//! The model that is nearest to everything that was measured.

use super::levels::onto_simplex;
use super::tree::Tree;

/// What was measured of a tree: noisy counts of each clique, and of each column's levels.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Measured {
    /// By clique; none for the first one.
    pub(super) joint: Vec<Vec<f64>>,
    /// The variance of each of these counts.
    pub(super) variance: f64,
    /// By clique, the counts of its own column, with their variances.
    pub(super) single: Vec<Vec<(f64, f64)>>,
}

/// Passes over the tree.
const PASSES: usize = 1000;
/// Passes without an improvement of this part of the objective, after which it ends.
const TOLERANCE: f64 = 1e-6;

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

/// The distribution on the tree that minimises
///
/// ```text
/// f(p) = Σ_cells (y − N p)² / (2σ²)
/// ```
///
/// over all counts, of cliques and of single columns, each with its own variance: maximum likelihood for
/// Gaussian noise, from given distributions of columns given their parents.
///
/// Mirror descent in the potentials, `θ ← θ + η (y − Np)/σ²` (McKenna, Sheldon and Miklau 2019, Private-PGM),
/// each step accepted if the objective falls, with η doubled then and halved otherwise. Each step is a
/// sum-product pass.
pub(super) fn nearest(tree: &Tree, start: Vec<Vec<f64>>, measured: &Measured, records: f64) -> Vec<Vec<f64>> {
    let mut logs: Vec<Vec<f64>> =
        start.iter().map(|table| table.iter().map(|share| share.max(1e-12).ln()).collect()).collect();
    let mut conditionals = start;
    let mut joint = tree.joint(&conditionals);
    let (mut objective, mut slopes) = slopes(tree, &joint, measured, records);
    // Of the order of one over the curvature of the largest cell.
    let mut rate = measured.variance.max(1.0) / records.max(1.0);
    let mut stale = 0;
    for _ in 0..PASSES {
        let step = |(logs, slopes): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            logs.iter().zip(slopes).map(|(log, slope)| log + rate * slope).collect()
        };
        let proposed: Vec<Vec<f64>> = logs.iter().zip(&slopes).map(step).collect();
        let found = tree.conditionals(proposed.iter().map(|logs| weights(logs)).collect());
        let there = tree.joint(&found);
        let (value, next) = self::slopes(tree, &there, measured, records);
        if value < objective {
            stale = if objective - value < TOLERANCE * objective { stale + 1 } else { 0 };
            (logs, conditionals, joint, objective, slopes) = (proposed, found, there, value, next);
            rate *= 1.5;
        } else {
            rate *= 0.5;
            stale += 1;
        }
        if stale >= 12 {
            break;
        }
    }
    debug_assert_eq!(joint.len(), conditionals.len());
    conditionals
}

/// Exponentials, of which the largest is 1.
fn weights(logs: &[f64]) -> Vec<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter().map(|log| (log - largest).exp()).collect()
}

/// The objective, and how much too small each expected count is, over its variance.
fn slopes(tree: &Tree, joint: &[Vec<f64>], measured: &Measured, records: f64) -> (f64, Vec<Vec<f64>>) {
    let mut objective = 0.0;
    let mut all = Vec::with_capacity(joint.len());
    for (clique, table) in joint.iter().enumerate() {
        let width = tree.width(clique);
        let mut single = vec![0.0; width];
        table.chunks(width).for_each(|row| single.iter_mut().zip(row).for_each(|(sum, share)| *sum += share));
        let mut slope_of = |count: f64, share: f64, variance: f64| {
            let missing = count - records * share;
            objective += 0.5 * missing * missing / variance;
            missing / variance
        };
        let own: Vec<f64> = measured.single[clique]
            .iter()
            .zip(&single)
            .map(|(&(count, variance), &share)| slope_of(count, share, variance))
            .collect();
        let counts = &measured.joint[clique];
        let slopes = table.iter().enumerate().map(|(cell, &share)| {
            let of_joint = counts.get(cell).map_or(0.0, |&count| slope_of(count, share, measured.variance));
            of_joint + own[cell % width]
        });
        let slopes: Vec<f64> = slopes.collect();
        all.push(slopes);
    }
    (objective, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consistent counts are met exactly; of two that differ, the mean weighted by precisions is.
    #[test]
    fn counts_are_weighted_by_their_precisions() {
        let mut tree = Tree::new(vec![2, 2]);
        tree.push(0, vec![], 0);
        tree.push(1, vec![0], 0);
        let single = vec![vec![(600.0, 4.0), (400.0, 4.0)], vec![(500.0, 1e6), (500.0, 1e6)]];
        // 500 against 600 for the first column: variances 8 (a sum of two counts) and 4.
        let joint = vec![vec![], vec![300.0, 200.0, 100.0, 400.0]];
        let measured = Measured { joint, variance: 4.0, single };
        let even = vec![vec![0.5; 2], vec![0.5; 4]];
        let found = nearest(&tree, even, &measured, 1000.0);
        let expected = (600.0 / 4.0 + 500.0 / 8.0) / (1.0 / 4.0 + 1.0 / 8.0) / 1000.0;
        assert!((found[0][0] - expected).abs() < 2e-3, "{} for {expected}", found[0][0]);
        assert!((found[1][2] * found[0][1] - (100.0 - 100.0 / 6.0) / 1000.0).abs() < 2e-2, "{found:?}");
    }
}
