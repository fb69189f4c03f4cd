//! `f64` against the golden values of `tests/golden/math.csv`.

use super::{FUNCTIONS, powf, spacing};
use std::collections::BTreeMap;

/// One golden value, in two words.
struct Row {
    name: &'static str,
    x: f64,
    y: f64,
    value: f64,
    rest: f64,
}

fn rows() -> Vec<Row> {
    include_str!("../../../tests/golden/math.csv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let cells: Vec<&'static str> = line.split(',').collect();
            let number = |i: usize| cells[i].parse::<f64>().expect("a number");
            Row { name: cells[0], x: number(1), y: number(2), value: number(3), rest: number(4) }
        })
        .collect()
}

/// The error in units in the last place; near a root of ln|Γ| and ψ, where the result is small, in units of
/// `f64::EPSILON`.
fn error(row: &Row, result: f64) -> f64 {
    if row.value.is_infinite() || result.is_infinite() {
        return if row.value == result { 0.0 } else { f64::INFINITY };
    }
    let mut unit = spacing(row.value);
    if matches!(row.name, "lgamma" | "digamma") {
        unit = unit.max(f64::EPSILON);
    }
    let error = ((result - row.value) - row.rest).abs() / unit;
    if error.is_nan() { f64::INFINITY } else { error }
}

#[test]
fn errors_stay_within_the_stated_bounds() {
    let mut limits: BTreeMap<&str, f64> = FUNCTIONS.iter().map(|f| (f.name, f.double_limit)).collect();
    limits.insert("powf", 1.0);
    let mut worst: BTreeMap<&str, (f64, f64, f64)> = BTreeMap::new();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows() {
        let result = match FUNCTIONS.iter().find(|f| f.name == row.name) {
            Some(function) => (function.double)(row.x),
            None => powf(row.x, row.y),
        };
        let found = (error(&row, result), row.x, row.y);
        let entry = worst.entry(row.name).or_insert(found);
        if found.0 > entry.0 {
            *entry = found;
        }
        *count.entry(row.name).or_default() += 1;
    }
    assert!(limits.keys().all(|name| count[name] >= 90), "golden values for every function");
    let broken: Vec<_> = worst.iter().filter(|(name, found)| found.0 > limits[*name]).collect();
    assert!(broken.is_empty(), "(function, (ulp, x, y)): {broken:#?}");
}
