//! How like the real rows a twin is. **Not private.**

use std::collections::HashMap;

use serde::Serialize;

use super::grid::Grid;
use super::model::Model;
use super::schema::Kind;
use super::{Error, Result};
use crate::table::Table;
use crate::table::split::area_under_curve;

/// Bins of a column of numbers, between its public bounds.
const BINS: usize = 16;

/// Most features of the logistic regression: Newton's method needs a matrix of the square of that, and the cube of it
/// in operations, which are seconds.
const MOST_FEATURES: usize = 2_000;

/// What a twin scores against real rows: exact figures of these, which no guarantee covers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scores {
    /// The mean over columns of the total variation distance; numbers in 16 public bins.
    pub total_variation_of_columns: f64,
    /// The same over pairs of columns.
    pub total_variation_of_pairs: f64,
    /// The mean over pairs of columns of the difference of correlations; categories by their number in the
    /// schema.
    pub correlation_difference: f64,
    /// The area under the ROC curve, on real rows, of a logistic regression on the twin, for a target of two
    /// values.
    pub area_under_curve: Option<f64>,
}

/// A table's columns in bins and as numbers.
struct Binned {
    bins: Vec<Vec<u32>>,
    sizes: Vec<usize>,
    numbers: Vec<Vec<f64>>,
    missing: Vec<Vec<bool>>,
}

/// Compares a twin with real rows.
///
/// # Errors
/// Tables without the model's columns, or with cells that do not fit its schema. No message quotes a cell.
pub fn scores(model: &Model, twin: &Table, real: &Table) -> Result<Scores> {
    let (twin, real) = (binned(model, twin)?, binned(model, real)?);
    let columns = model.columns().len();
    let (mut pairs, mut of_pairs, mut of_correlations) = (0.0, 0.0, 0.0);
    for first in 0..columns {
        for second in 0..first {
            of_pairs += distance(pair(&twin, first, second), pair(&real, first, second));
            let difference = correlation(&twin, first, second) - correlation(&real, first, second);
            of_correlations += difference.abs();
            pairs += 1.0;
        }
    }
    let of_columns: f64 =
        (0..columns).map(|column| distance(single(&twin, column), single(&real, column))).sum();
    let mean = |sum: f64| if pairs > 0.0 { sum / pairs } else { 0.0 };
    Ok(Scores {
        total_variation_of_columns: of_columns / columns as f64,
        total_variation_of_pairs: mean(of_pairs),
        correlation_difference: mean(of_correlations),
        area_under_curve: curve(model, &twin, &real),
    })
}

fn binned(model: &Model, table: &Table) -> Result<Binned> {
    let mut found = Binned { bins: Vec::new(), sizes: Vec::new(), numbers: Vec::new(), missing: Vec::new() };
    for column in model.columns() {
        let grid = Grid::new(&column.kind);
        let (mut bins, mut numbers, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let size = if let Kind::Categories(names) = &column.kind { names.len() } else { BINS };
        for cell in table.cells(&column.name)? {
            let text = cell.text();
            let wrong = || {
                let place = format!("{}:{}: column '{}'", table.name(), cell.line(), column.name);
                Error::input(format!("{place}: the cell does not fit the schema"))
            };
            let (bin, number, none) = match &column.kind {
                Kind::Categories(names) => match names.iter().position(|name| name == text) {
                    Some(place) => (place, place as f64, false),
                    None if column.is_missing(text) => (size, size as f64, true),
                    None => return Err(wrong()),
                },
                _ if column.is_missing(text) => (size, 0.0, true),
                kind => {
                    let number = kind.number(text).ok_or_else(wrong)?;
                    let (low, high) = kind.range();
                    let number = number.clamp(low, high);
                    let share = if high > low { (number - low) / (high - low) } else { 0.0 };
                    (((share * BINS as f64) as usize).min(BINS - 1), number, false)
                }
            };
            bins.push(bin as u32);
            numbers.push(number);
            missing.push(none);
        }
        debug_assert!(grid.cells() > 0);
        // A missing number is in the middle of the others.
        let known: Vec<f64> =
            numbers.iter().zip(&missing).filter(|(_, none)| !**none).map(|(x, _)| *x).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        if !matches!(column.kind, Kind::Categories(_)) {
            numbers
                .iter_mut()
                .zip(&missing)
                .filter(|(_, none)| **none)
                .for_each(|(number, _)| *number = mean);
        }
        found.bins.push(bins);
        found.sizes.push(size + 1);
        found.numbers.push(numbers);
        found.missing.push(missing);
    }
    Ok(found)
}

fn single(table: &Binned, column: usize) -> impl Iterator<Item = u64> {
    table.bins[column].iter().map(|&bin| u64::from(bin))
}

fn pair(table: &Binned, first: usize, second: usize) -> impl Iterator<Item = u64> {
    let size = table.sizes[second] as u64;
    let cells = table.bins[first].iter().zip(&table.bins[second]);
    cells.map(move |(&a, &b)| u64::from(a) * size + u64::from(b))
}

/// The total variation distance of two tables' rows over cells, of which only those that occur are kept: a pair of
/// columns may have more cells than fit into memory.
fn distance(a: impl Iterator<Item = u64>, b: impl Iterator<Item = u64>) -> f64 {
    let mut counts: HashMap<u64, [f64; 2]> = HashMap::new();
    let mut totals = [0.0_f64; 2];
    a.map(|cell| (cell, 0)).chain(b.map(|cell| (cell, 1))).for_each(|(cell, table)| {
        counts.entry(cell).or_default()[table] += 1.0;
        totals[table] += 1.0;
    });
    let [all, of_other] = totals.map(|total| total.max(1.0));
    let mut apart: Vec<f64> = counts.into_values().map(|[a, b]| (a / all - b / of_other).abs()).collect();
    // A sum in the order of a hash map would differ from run to run.
    apart.sort_by(f64::total_cmp);
    0.5 * apart.into_iter().sum::<f64>()
}

/// Pearson's correlation; 0 where a column is constant.
fn correlation(table: &Binned, first: usize, second: usize) -> f64 {
    let (a, b) = (&table.numbers[first], &table.numbers[second]);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut aa, mut bb, mut ab) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        aa += (x - mean_a) * (x - mean_a);
        bb += (y - mean_b) * (y - mean_b);
        ab += (x - mean_a) * (y - mean_b);
    }
    if aa > 0.0 && bb > 0.0 { ab / (aa * bb).sqrt() } else { 0.0 }
}

/// The area under the curve of a logistic regression: categories as indicators, numbers scaled.
fn curve(model: &Model, twin: &Binned, real: &Binned) -> Option<f64> {
    let target = model.target.as_deref()?;
    let target = model.columns().iter().position(|column| column.name == target)?;
    let two = match &model.columns()[target].kind {
        Kind::Categories(names) => names.len() == 2,
        Kind::Whole { low, high } => high - low == 1,
        Kind::Real { .. } | Kind::Dates { .. } => false,
    };
    // Rows with a target, and labels 0 and 1, for numbers the first and last bin.
    let labelled = |table: &Binned| -> (Vec<usize>, Vec<f64>) {
        let rows = table.bins[target].iter().enumerate().filter(|(row, _)| !table.missing[target][*row]);
        rows.map(|(row, &bin)| (row, f64::from(u8::from(bin > 0)))).unzip()
    };
    let features = Features::new(model, twin, target);
    if !two || features.count > MOST_FEATURES {
        return None;
    }
    let weights = features.fit(twin, &labelled(twin));
    let (rows, labels) = labelled(real);
    let scores: Vec<f64> = rows.into_iter().map(|row| features.score(real, row, &weights)).collect();
    area_under_curve(&scores, &labels)
}

/// Which feature each column has: indicators for each category but the first, one number and whether it is
/// missing.
struct Features {
    /// For each column but the target, its first feature.
    starts: Vec<Option<usize>>,
    numeric: Vec<bool>,
    scales: Vec<(f64, f64)>,
    count: usize,
}

impl Features {
    fn new(model: &Model, table: &Binned, target: usize) -> Self {
        let mut found = Self { starts: Vec::new(), numeric: Vec::new(), scales: Vec::new(), count: 1 };
        for (place, column) in model.columns().iter().enumerate() {
            let numeric = !matches!(column.kind, Kind::Categories(_));
            let numbers = &table.numbers[place];
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
            found.starts.push((place != target).then_some(found.count));
            found.numeric.push(numeric);
            found.scales.push((mean, if variance > 0.0 { variance.sqrt() } else { 1.0 }));
            if place != target {
                found.count += if numeric { 2 } else { table.sizes[place] };
            }
        }
        found
    }

    /// The features of a row that are not zero.
    fn of(&self, table: &Binned, row: usize, features: &mut Vec<(usize, f64)>) {
        features.clear();
        features.push((0, 1.0));
        for (column, start) in self.starts.iter().enumerate() {
            let Some(start) = *start else { continue };
            if self.numeric[column] {
                let (mean, scale) = self.scales[column];
                features.push((start, (table.numbers[column][row] - mean) / scale));
                if table.missing[column][row] {
                    features.push((start + 1, 1.0));
                }
            } else {
                features.push((start + table.bins[column][row] as usize, 1.0));
            }
        }
    }

    fn score(&self, table: &Binned, row: usize, weights: &[f64]) -> f64 {
        let mut features = Vec::new();
        self.of(table, row, &mut features);
        features.iter().map(|&(feature, value)| weights[feature] * value).sum()
    }

    /// Newton's method with a ridge of 1, as scikit-learn has it by default.
    fn fit(&self, table: &Binned, (rows, labels): &(Vec<usize>, Vec<f64>)) -> Vec<f64> {
        let mut weights = vec![0.0; self.count];
        let mut features = Vec::new();
        for _ in 0..12 {
            let mut hessian = ndarray::Array2::<f64>::eye(self.count);
            let mut gradient: Vec<f64> = weights.iter().map(|weight| -weight).collect();
            for (&row, label) in rows.iter().zip(labels) {
                self.of(table, row, &mut features);
                let logit: f64 = features.iter().map(|&(feature, value)| weights[feature] * value).sum();
                let probability = 1.0 / (1.0 + (-logit).exp());
                let curvature = probability * (1.0 - probability);
                for &(one, value) in &features {
                    gradient[one] += (label - probability) * value;
                    for &(other, with) in &features {
                        hessian[[one, other]] += curvature * value * with;
                    }
                }
            }
            let Some(step) = solve(hessian, gradient) else { break };
            weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight += step);
            if step.iter().all(|step| step.abs() < 1e-6) {
                break;
            }
        }
        weights
    }
}

/// Solves a positive definite system by Cholesky's decomposition; `None` where rounding has made it
/// indefinite.
fn solve(mut matrix: ndarray::Array2<f64>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let count = right.len();
    for column in 0..count {
        for row in column..count {
            let products: f64 = (0..column).map(|k| matrix[[row, k]] * matrix[[column, k]]).sum();
            let value = matrix[[row, column]] - products;
            if row > column {
                matrix[[row, column]] = value / matrix[[column, column]];
            } else if value > 0.0 {
                matrix[[row, column]] = value.sqrt();
            } else {
                return None;
            }
        }
    }
    for row in 0..count {
        let products: f64 = (0..row).map(|k| matrix[[row, k]] * right[k]).sum();
        right[row] = (right[row] - products) / matrix[[row, row]];
    }
    for row in (0..count).rev() {
        let products: f64 = (row + 1..count).map(|k| matrix[[k, row]] * right[k]).sum();
        right[row] = (right[row] - products) / matrix[[row, row]];
    }
    Some(right)
}
