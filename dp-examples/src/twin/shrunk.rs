//! Noisy counts of pairs of numbers, moved towards what a smooth distribution makes of them.
//!
//! Two numbers that depend on each other leave most cells of their joint marginal without records. Counts cannot be
//! negative, so the model that is nearest to noisy ones has the noise's upper half in those cells: with ten levels each
//! and a noise of 6, 4 % of 20,000 records, spread over the table as if the columns did not depend on each other. Every
//! correlation and every coefficient of a regression is attenuated by that.
//!
//! So counts are estimated by an empirical Bayes rule (Robbins 1956; Morris 1983, *Parametric empirical Bayes
//! inference*). Before they are seen a cell has `N q` records, up to a part of it: normal with the deviation `κ N q`,
//! where `q` mixes the cell's probability for two correlated normal variables with that for independent columns. What is
//! released has noise of variance σ² besides. Correlation, mixture and κ are read off the released counts, and the
//! estimate is
//!
//! ```text
//! N q + κ²N²q² / (κ²N²q² + σ²) (y − N q)
//! ```
//!
//! Where columns depend on each other in another way, as a parabola does, κ is 1 or more, and what was released stays as
//! it was: such a distribution knows of no cell whether it has any records. All of this is a function of what was
//! released.

use super::fitting::Counted;
use super::levels::onto_simplex;
use super::model::Column;
use super::normal::{Scores, correlation, covariance, ends, joint};

/// Columns of fewer levels have too few cells to tell anything from.
const FEWEST: usize = 4;
/// What is tried for the share of records that come from independent columns, and for κ. With the last one counts are
/// left as they are.
const MIXTURES: [f64; 4] = [0.0, 0.03, 0.1, 0.3];
const SPREADS: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];

/// The tables, with estimated counts in those that hold two columns of numbers.
pub(super) fn shrunk(tables: &[Counted], columns: &[Column]) -> Vec<Counted> {
    tables.iter().map(|table| of_table(table, columns)).collect()
}

fn of_table(table: &Counted, columns: &[Column]) -> Counted {
    let mut found = table.clone();
    let mut numbers: Vec<usize> = (0..table.columns.len())
        .filter(|&place| {
            let column = &columns[table.columns[place]];
            column.is_number() && column.has_order() && column.levels_of_values() >= FEWEST
        })
        .collect();
    // Of more than two those with the most levels; each combination of the others' levels is a table by itself.
    numbers.sort_by_key(|&place| std::cmp::Reverse(columns[table.columns[place]].levels_of_values()));
    let &[one, other, ..] = numbers.as_slice() else { return found };
    let (one, other) = (one.min(other), one.max(other));
    let sizes: Vec<usize> = table.columns.iter().map(|&column| columns[column].level_count()).collect();
    let stride = |place: usize| sizes[place + 1..].iter().product::<usize>();
    let values = |place: usize| columns[table.columns[place]].levels_of_values();
    let (width, strides) = ((values(one), values(other)), (stride(one), stride(other)));
    let first = |&cell: &usize| cell / strides.0 % sizes[one] == 0 && cell / strides.1 % sizes[other] == 0;
    for start in (0..table.counts.len()).filter(first) {
        // Missing values have a level after those of values, which stays as it is.
        let cells: Vec<usize> = (0..width.0)
            .flat_map(|i| (0..width.1).map(move |j| start + i * strides.0 + j * strides.1))
            .collect();
        let counts: Vec<f64> = cells.iter().map(|&cell| table.counts[cell]).collect();
        if let Some(counts) = estimated(&counts, width, table.variance(start)) {
            cells.into_iter().zip(counts).for_each(|(cell, count)| found.counts[cell] = count);
        }
    }
    found
}

/// The estimates for one table of so many rows and columns, with noise of this variance in each cell. `None` where sums
/// of rows and columns hardly stand out of the noise.
fn estimated(counts: &[f64], (rows, columns): (usize, usize), variance: f64) -> Option<Vec<f64>> {
    let total: f64 = counts.iter().sum();
    let (height, width) = (rows as f64, columns as f64);
    if total < 3.0 * variance.sqrt() * (height * width.sqrt()).max(width * height.sqrt()) {
        return None;
    }
    let of_rows: Vec<f64> = counts.chunks(columns).map(|row| row.iter().sum()).collect();
    let of_columns: Vec<f64> =
        (0..columns).map(|column| counts.iter().skip(column).step_by(columns).sum()).collect();
    let shares = (onto_simplex(&of_rows, total), onto_simplex(&of_columns, total));
    let scores = (Scores::new(&ends(&shares.0), &shares.0), Scores::new(&ends(&shares.1), &shares.1));
    let scores = (&scores.0, &scores.1);
    let found = covariance(counts, columns, scores);
    let independent = shares.0.iter().flat_map(|a| shares.1.iter().map(move |b| a * b / total));
    let independent: Vec<f64> = independent.collect();
    let mut best = (f64::NEG_INFINITY, 1.0, Vec::new());
    for mixture in MIXTURES {
        // So that the mixture has the covariance that was found.
        let rho = correlation(scores.0, scores.1, found / (1.0 - mixture));
        let expected: Vec<f64> = (joint(rho, &shares.0, &shares.1).into_iter().zip(&independent))
            .map(|(q, r)| (1.0 - mixture) * total * q + mixture * r)
            .collect();
        for spread in SPREADS {
            // Twice the logarithm of the counts' density, up to a constant.
            let term = |(count, mean): (&f64, &f64)| {
                let all = variance + (spread * mean).powi(2);
                -(count - mean).powi(2) / all - all.ln()
            };
            let likelihood: f64 = counts.iter().zip(&expected).map(term).sum();
            if likelihood > best.0 {
                best = (likelihood, spread, expected.clone());
            }
        }
    }
    let (_, spread, expected) = best;
    let estimate = |(count, mean): (&f64, &f64)| {
        let own = (spread * mean).powi(2);
        mean + own / (own + variance) * (count - mean)
    };
    (spread < SPREADS[SPREADS.len() - 1]).then(|| counts.iter().zip(&expected).map(estimate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::sample::Dice;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    const RECORDS: usize = 4_000;

    /// Noisy counts of 10 by 10 levels, with noise of deviation 6.
    fn counted(second: impl Fn(f64, f64) -> f64, seed: u64) -> Vec<f64> {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let mut pairs = Vec::new();
        for _ in 0..RECORDS {
            let x = dice.normal();
            pairs.push((x, second(x, dice.normal())));
        }
        let level = |of: fn(&(f64, f64)) -> f64| {
            let mut sorted: Vec<f64> = pairs.iter().map(of).collect();
            sorted.sort_by(f64::total_cmp);
            let ends: Vec<f64> = (1..10).map(|k| sorted[k * RECORDS / 10]).collect();
            pairs.iter().map(|pair| ends.partition_point(|end| *end <= of(pair))).collect::<Vec<usize>>()
        };
        let mut counts = vec![0.0; 100];
        level(|pair| pair.0)
            .into_iter()
            .zip(level(|pair| pair.1))
            .for_each(|(i, j)| counts[10 * i + j] += 1.0);
        counts.iter().map(|count| count + 6.0 * dice.normal()).collect()
    }

    /// The total variation from the population that records were drawn from is less than that of the nearest counts
    /// that are not negative: in ten tables each, at most these parts of it.
    #[test]
    fn counts_of_numbers_come_nearer() {
        for (rho, most) in [(0.0_f64, 0.8), (0.8, 0.65), (0.95, 0.8)] {
            let truth = joint(rho, &[0.1; 10], &[0.1; 10]);
            let variation = |counts: &[f64]| -> f64 {
                let shares = onto_simplex(counts, 1.0_f64.max(counts.iter().sum()));
                let total: f64 = shares.iter().sum();
                truth.iter().zip(shares).map(|(a, b)| 0.5 * (a - b / total).abs()).sum()
            };
            let (mut before, mut after) = (0.0, 0.0);
            for seed in 0..10 {
                let noisy = counted(|x, z| rho * x + (1.0 - rho * rho).sqrt() * z, seed);
                before += variation(&noisy);
                after += variation(&estimated(&noisy, (10, 10), 36.0).expect("counts above the noise"));
            }
            assert!(after < most * before, "{rho}: {after} of {before}");
        }
    }

    /// What two normal variables cannot say stays as it is, and so does what hardly stands out of the noise.
    #[test]
    fn other_tables_stay_as_they_are() {
        let noisy = counted(|x, z| x * x + 0.3 * z, 1);
        assert_eq!(estimated(&noisy, (10, 10), 36.0), None);
        assert_eq!(estimated(&[5.0; 100], (10, 10), 36.0), None);
    }
}
