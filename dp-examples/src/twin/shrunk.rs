//! Noisy counts of pairs of numbers, moved towards what a smooth distribution makes of them.
//!
//! Two numbers that depend on each other leave most cells of their joint marginal without records. Counts cannot be
//! negative, so the model that is nearest to noisy ones has a part of the noise's upper half in those cells: with 15
//! levels each, a correlation of .95 and a noise of 6, some per cent of 4,000 records, spread over the table as if the
//! columns did not depend on each other. Every correlation and every coefficient of a regression is attenuated by that.
//!
//! So counts are estimated by an empirical Bayes rule (Robbins 1956; Morris 1983, *Parametric empirical Bayes
//! inference*). Before they are seen a cell has about `N q` records, with a relative error κ: `q` mixes the cell's
//! probability for two correlated normal variables with that for independent columns. What is released has noise of
//! variance σ² besides. Correlation, mixture and κ are read off the released counts `y`, and the estimate is
//!
//! ```text
//! m + κ²m² / (κ²m² + σ²) (y − m),   m = N q
//! ```
//!
//! Two things are kept as they were released, for no columns have to depend on each other as normal variables do.
//! Totals, means, variances and other moments up to the square of each column's scores, nine numbers that regressions
//! are made of and each of which has the noise of one cell: what the estimate left of them is added again, as the
//! smoothest table that has it. And no cell is moved by more than twice its noise (Efron and Morris 1972, *Limiting
//! the risk of Bayes and empirical Bayes estimators*), so that records which nothing smooth expects stay. Where κ is 1
//! or more the distribution knows of no cell whether it has any records, and nothing is moved.
//!
//! Of a table of more columns the two columns of numbers with the most levels are taken, for each combination of the
//! others' levels that has enough records. All of this is a function of what was released.

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
/// By how many deviations of its noise a count is moved at the most.
const FARTHEST: f64 = 2.0;

/// The tables, with estimated counts in those that hold two columns of numbers.
pub(super) fn shrunk(tables: &[Counted], columns: &[Column]) -> Vec<Counted> {
    tables.iter().map(|table| of_table(table, tables, columns)).collect()
}

fn of_table(table: &Counted, tables: &[Counted], columns: &[Column]) -> Counted {
    let mut found = table.clone();
    let mut numbers: Vec<usize> = (0..table.columns.len())
        .filter(|&place| {
            let column = &columns[table.columns[place]];
            column.is_number() && column.has_order() && column.levels_of_values() >= FEWEST
        })
        .collect();
    numbers.sort_by_key(|&place| std::cmp::Reverse(columns[table.columns[place]].levels_of_values()));
    let &[one, other, ..] = numbers.as_slice() else { return found };
    let (one, other) = (one.min(other), one.max(other));
    let sizes: Vec<usize> = table.columns.iter().map(|&column| columns[column].level_count()).collect();
    let stride = |place: usize| sizes[place + 1..].iter().product::<usize>();
    let values = |place: usize| columns[table.columns[place]].levels_of_values();
    let (size, strides) = ((values(one), values(other)), (stride(one), stride(other)));
    // What was measured several times is estimated once, from the mean.
    let alike: Vec<&Counted> = tables.iter().filter(|other| other.columns == table.columns).collect();
    let precision: f64 = alike.iter().map(|table| table.variance(0).recip()).sum();
    let mean = |cell: usize| {
        alike.iter().map(|table| table.counts[cell] / table.variance(0)).sum::<f64>() / precision
    };
    let first = |&cell: &usize| cell / strides.0 % sizes[one] == 0 && cell / strides.1 % sizes[other] == 0;
    for start in (0..table.counts.len()).filter(first) {
        // Missing values have a level after those of values, which stays as it is.
        let cells: Vec<usize> = (0..size.0)
            .flat_map(|i| (0..size.1).map(move |j| start + i * strides.0 + j * strides.1))
            .collect();
        let counts: Vec<f64> = cells.iter().map(|&cell| mean(cell)).collect();
        if let Some(counts) = estimated(&counts, size, precision.recip()) {
            cells.into_iter().zip(counts).for_each(|(cell, count)| found.counts[cell] = count);
        }
    }
    found
}

/// The estimates for one table of so many rows and columns, with noise of this variance in each cell. `None` where sums
/// of rows and columns hardly stand out of the noise, and where nothing is to be moved.
fn estimated(counts: &[f64], (height, width): (usize, usize), variance: f64) -> Option<Vec<f64>> {
    let total: f64 = counts.iter().sum();
    let cells = (height as f64, width as f64);
    if total < 3.0 * variance.sqrt() * (cells.0 * cells.1.sqrt()).max(cells.1 * cells.0.sqrt()) {
        return None;
    }
    let of_rows: Vec<f64> = counts.chunks(width).map(|row| row.iter().sum()).collect();
    let of_columns: Vec<f64> = (0..width).map(|j| counts.iter().skip(j).step_by(width).sum()).collect();
    let margins = (onto_simplex(&of_rows, total), onto_simplex(&of_columns, total));
    let scores = (Scores::new(&ends(&margins.0), &margins.0), Scores::new(&ends(&margins.1), &margins.1));
    let between = covariance(counts, width, (&scores.0, &scores.1));
    let independent = margins.0.iter().flat_map(|a| margins.1.iter().map(move |b| a * b / total));
    let independent: Vec<f64> = independent.collect();
    let mut best = (f64::NEG_INFINITY, 1.0, Vec::new());
    for mixture in MIXTURES {
        // So that the mixture has the covariance that was found, as far as a correlation can.
        let rho = correlation(&scores.0, &scores.1, between / (1.0 - mixture));
        let expected: Vec<f64> = (joint(rho, &margins.0, &margins.1).into_iter().zip(&independent))
            .map(|(q, independent)| (1.0 - mixture) * total * q + mixture * independent)
            .collect();
        // Twice the logarithm of the counts' density, up to a constant.
        let likelihood = |spread: f64| -> f64 {
            let term = |(count, mean): (&f64, &f64)| {
                let all = variance + (spread * mean).powi(2);
                -(count - mean).powi(2) / all - all.ln()
            };
            counts.iter().zip(&expected).map(term).sum()
        };
        let found = SPREADS.map(|spread| (likelihood(spread), spread));
        let (value, spread) = found.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        if value > best.0 {
            best = (value, spread, expected);
        }
    }
    let (_, spread, expected) = best;
    if expected.is_empty() || spread >= SPREADS[SPREADS.len() - 1] {
        return None;
    }
    let left = |(count, mean): (&f64, &f64)| (count - mean) * variance / ((spread * mean).powi(2) + variance);
    let moved: Vec<f64> = counts.iter().zip(&expected).map(left).collect();
    let kept = smooth_part(&moved, (&scores.0.means, &scores.1.means));
    let farthest = FARTHEST * variance.sqrt();
    let estimate =
        |((count, moved), kept): ((&f64, &f64), f64)| count - (moved - kept).clamp(-farthest, farthest);
    Some(counts.iter().zip(&moved).zip(kept).map(estimate).collect())
}

/// The table nearest to this one among products of polynomials of degree two at these places of its rows and columns.
/// With the difference all sums of a table that are weighted by such polynomials are zero.
fn smooth_part(table: &[f64], (rows, columns): (&[f64], &[f64])) -> Vec<f64> {
    let (of_rows, of_columns) = (polynomials(rows), polynomials(columns));
    let mut found = vec![0.0; table.len()];
    for a in &of_rows {
        for b in &of_columns {
            let weights = || a.iter().flat_map(|a| b.iter().map(move |b| a * b));
            let part: f64 = table.iter().zip(weights()).map(|(x, weight)| x * weight).sum();
            found.iter_mut().zip(weights()).for_each(|(x, weight)| *x += part * weight);
        }
    }
    found
}

/// Orthonormal polynomials of degree 0, 1 and 2 at these places, as far as there are different ones.
fn polynomials(places: &[f64]) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::new();
    for degree in 0..3 {
        let mut next: Vec<f64> = places.iter().map(|x| x.powi(degree)).collect();
        let whole: f64 = next.iter().map(|x| x * x).sum();
        for known in &found {
            let part: f64 = next.iter().zip(known).map(|(a, b)| a * b).sum();
            next.iter_mut().zip(known).for_each(|(a, b)| *a -= part * b);
        }
        let square: f64 = next.iter().map(|x| x * x).sum();
        if square > 1e-12 * whole {
            next.iter_mut().for_each(|x| *x /= square.sqrt());
            found.push(next);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::sample::Dice;
    use crate::twin::schema::Kind;
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
            let away = |counts: &[f64]| {
                let total: f64 = counts.iter().sum();
                let shares: Vec<f64> =
                    onto_simplex(counts, total).iter().map(|count| count / total).collect();
                variation(&truth, &shares)
            };
            let (mut before, mut after) = (0.0, 0.0);
            for seed in 0..10 {
                let noisy = counted(|x, z| rho * x + (1.0 - rho * rho).sqrt() * z, seed);
                before += away(&noisy);
                after += away(&estimated(&noisy, (10, 10), 36.0).expect("counts above the noise"));
            }
            assert!(after < most * before, "{rho}: {after} of {before}");
        }
    }

    fn variation(one: &[f64], other: &[f64]) -> f64 {
        0.5 * one.iter().zip(other).map(|(a, b)| (a - b).abs()).sum::<f64>()
    }

    /// A tenth of a per cent of records lie where nothing smooth expects any: they stay, but for twice the noise.
    #[test]
    fn records_that_stand_out_stay() {
        let mut noisy = counted(|x, z| 0.8 * x + 0.6 * z, 3);
        noisy[9] += 100.0;
        let found = estimated(&noisy, (10, 10), 36.0).expect("counts above the noise");
        assert!(found[9] > 75.0, "{}", found[9]);
        assert!(noisy.iter().zip(&found).all(|(a, b)| (a - b).abs() <= 12.0 + 1e-9));
    }

    /// A weak parabola, which the distribution knows nothing of, keeps its correlation: the moments that say it are
    /// kept but for what limits to single cells take.
    #[test]
    fn a_weak_parabola_keeps_its_moments() {
        let scores = Scores::new(&ends(&[0.1; 10]), &[0.1; 10]).means;
        for seed in 0..10 {
            let noisy = counted(|x, z| 0.3 * x * x + z, seed);
            let Some(found) = estimated(&noisy, (10, 10), 36.0) else { continue };
            let moment = |counts: &[f64]| -> f64 {
                let cell =
                    |(cell, count): (usize, &f64)| count * scores[cell / 10].powi(2) * scores[cell % 10];
                counts.iter().enumerate().map(cell).sum()
            };
            let (before, after) = (moment(&noisy), moment(&found));
            assert!((after / before - 1.0).abs() < 0.02, "{seed}: {before} {after}");
            let (before, after): (f64, f64) = (noisy.iter().sum(), found.iter().sum());
            assert!((after / before - 1.0).abs() < 0.005, "{seed}: {before} {after}");
        }
    }

    /// What is added again has the sums that were lost, and is nothing where none were.
    #[test]
    fn smooth_parts_have_the_sums() {
        let (rows, columns) = ([-1.4, -0.5, 0.2, 0.9, 2.0], [-1.0, 0.0, 0.0, 1.5]);
        let table: Vec<f64> = (0..20).map(|k| f64::from(k * 7 % 11) - 4.0).collect();
        let part = smooth_part(&table, (&rows, &columns));
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let sum = |table: &[f64]| -> f64 {
                let cell = |(cell, x): (usize, &f64)| x * rows[cell / 4].powi(i) * columns[cell % 4].powi(j);
                table.iter().enumerate().map(cell).sum()
            };
            assert!((sum(&table) - sum(&part)).abs() < 1e-9, "{i} {j}");
        }
        assert!(variation(&smooth_part(&part, (&rows, &columns)), &part) < 1e-12);
        assert_eq!(polynomials(&[0.3; 4]).len(), 1);
    }

    /// A table with a category between two columns of numbers, one of which has missing values: each category's part is
    /// estimated as it would be alone, and counts of missing values stay. What was measured twice is estimated once.
    #[test]
    fn parts_of_a_table_are_estimated_each_for_itself() {
        let whole = Kind::Whole { low: 0, high: 9 };
        let number = |missing: f64| {
            let mut pieces: Vec<(usize, usize, f64)> = (0..10).map(|cell| (cell, cell, 1.0)).collect();
            pieces.push((10, 10, missing));
            let levels = (0..10).chain([if missing > 0.0 { 10 } else { 0 }]).collect();
            Column { pieces, levels, kind: whole.clone(), ..Column::of_classes(&[1.0], 1.0) }
        };
        let columns = [number(0.0), Column::of_classes(&[0.5, 0.5], 1.0), number(5.0)];
        let sizes = columns.each_ref().map(Column::level_count);
        assert_eq!(sizes, [10, 2, 11]);
        let parts = [counted(|x, z| 0.8 * x + 0.6 * z, 1), counted(|x, z| 0.5 * x + z, 2)];
        let mut counts = vec![-1.0; 220];
        for (cell, count) in counts.iter_mut().enumerate().filter(|(cell, _)| cell % 11 < 10) {
            *count = parts[cell / 11 % 2][cell / 22 * 10 + cell % 11];
        }
        let table = Counted { columns: vec![0, 1, 2], counts, variances: vec![36.0], brings: false };
        let found = shrunk(std::slice::from_ref(&table), &columns);
        let alone =
            parts.each_ref().map(|part| estimated(part, (10, 10), 36.0).expect("counts above the noise"));
        for (cell, count) in found[0].counts.iter().enumerate() {
            let expected =
                if cell % 11 < 10 { alone[cell / 11 % 2][cell / 22 * 10 + cell % 11] } else { -1.0 };
            assert!((count - expected).abs() < 1e-9, "{cell}: {count} {expected}");
        }
        let half = Counted { variances: vec![72.0], ..table };
        let twice = shrunk(&[half.clone(), half], &columns);
        let pairs = twice[1].counts.iter().zip(&found[0].counts);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9));
    }

    /// What two normal variables cannot say stays as it is, and so does what hardly stands out of the noise.
    #[test]
    fn other_tables_stay_as_they_are() {
        let noisy = counted(|x, z| x * x + 0.3 * z, 1);
        assert_eq!(estimated(&noisy, (10, 10), 36.0), None);
        assert_eq!(estimated(&[5.0; 100], (10, 10), 36.0), None);
    }
}
