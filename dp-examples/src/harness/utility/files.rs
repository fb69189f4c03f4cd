//! Numeric CSV files as arrays, columns by name.

use std::path::Path;

use ndarray::{Array1, Array2};

use super::Failure;
use crate::table::Table;

/// The numbers of some columns, a row for each record.
///
/// # Errors
///
/// A missing column, or a cell that is not a finite number, with its line.
pub fn columns(table: &Table, names: &[String]) -> Result<Array2<f64>, Failure> {
    let mut values = Array2::zeros((table.len(), names.len()));
    for (j, name) in names.iter().enumerate() {
        for (i, cell) in table.cells(name)?.enumerate() {
            values[[i, j]] = cell.number()?;
        }
    }
    Ok(values)
}

/// The numbers of one column.
///
/// # Errors
///
/// As [`columns`].
pub fn column(table: &Table, name: &str) -> Result<Array1<f64>, Failure> {
    Ok(table.cells(name)?.map(|cell| cell.number()).collect::<crate::Result<_>>()?)
}

/// A column of labels, 0 or 1.
///
/// # Errors
///
/// As [`columns`], and a cell that is another number, with its line.
pub fn labels(table: &Table, name: &str) -> Result<Array1<f64>, Failure> {
    let label = |cell: crate::table::Cell<'_>| -> Result<f64, Failure> {
        let value = cell.number()?;
        if value == 0.0 || value == 1.0 {
            return Ok(value);
        }
        Err(format!(
            "{}:{}: column '{name}': expected a label, 0 or 1, got {value}",
            table.name(),
            cell.line()
        )
        .into())
    };
    table.cells(name)?.map(label).collect()
}

/// A column of integers from 0 to below `bound`.
///
/// # Errors
///
/// As [`columns`], and a cell that is no such integer, with its line.
pub fn indices(table: &Table, name: &str, bound: usize) -> Result<Array1<u32>, Failure> {
    let index = |cell: crate::table::Cell<'_>| -> Result<u32, Failure> {
        let value = cell.number()?;
        if value >= 0.0 && value < bound as f64 && value.fract() == 0.0 {
            return Ok(value as u32);
        }
        let place = format!("{}:{}", table.name(), cell.line());
        Err(format!("{place}: column '{name}': expected an integer from 0 to {}, got {value}", bound - 1)
            .into())
    };
    table.cells(name)?.map(index).collect()
}

/// The names of a table's columns but for some.
#[must_use]
pub fn others(table: &Table, without: &[&str]) -> Vec<String> {
    table.columns().iter().filter(|name| !without.contains(&name.as_str())).cloned().collect()
}

/// Features and labels of a file: all columns but `without` and `y`, which holds labels.
///
/// # Errors
///
/// A file that cannot be read, has no features, or holds something else than numbers.
pub fn features_and_labels(
    path: &Path,
    without: &[&str],
) -> Result<(Table, Array2<f64>, Array1<f64>), Failure> {
    let table = Table::read(path)?;
    let labels = labels(&table, "y")?;
    let names = others(&table, &[without, &["y"]].concat());
    if names.is_empty() {
        return Err(format!("{}: there is no column of features", table.name()).into());
    }
    let features = columns(&table, &names)?;
    Ok((table, features, labels))
}
