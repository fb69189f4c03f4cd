//! From a table to codes.

use std::path::Path;

use dp_vi::summaries::Categories;

use super::grid::Grid;
use super::schema::{Kind, Schema};
use super::{Error, Result};
use crate::table::Table;

/// Texts that stand for a missing value where they are no category.
const MISSING: [&str; 9] = ["", "?", "NA", "N/A", "n/a", "nan", "NaN", "NULL", "null"];

/// Whether a text stands for a missing value.
pub(super) fn is_missing(text: &str) -> bool {
    MISSING.contains(&text)
}

/// Reads a CSV file, compressed by gzip or not.
///
/// # Errors
/// What [`Table::parse`] finds wrong, without quoting cells; more than 4 GiB.
pub fn read_table(path: &Path) -> Result<Table> {
    Ok(Table::parse(&path.display().to_string(), &crate::table::read_file(path)?)?)
}

/// The columns that a schema has a line for, as codes: for each its name and kind, then the codes, and the
/// columns that are left out. A column with [blocks](Grid::block) is followed by one more, at the end, for
/// its blocks.
pub(super) struct Encoded {
    pub(super) columns: Vec<(String, Kind)>,
    pub(super) left_out: Vec<String>,
    pub(super) codes: Categories,
}

/// Encodes a table.
pub(super) fn encode(table: &Table, schema: &Schema) -> Result<Encoded> {
    schema.bounds().check_columns(table)?;
    let mut columns = Vec::new();
    let mut left_out = Vec::new();
    for column in table.columns() {
        match schema.get(column) {
            Some(kind) => columns.push((column.clone(), kind.clone())),
            None => left_out.push(column.clone()),
        }
    }
    let (mut sizes, mut codes) = (Vec::new(), Vec::new());
    let (mut block_sizes, mut blocks) = (Vec::new(), Vec::new());
    for (name, kind) in &columns {
        let grid = Grid::new(kind);
        let column = column_codes(table, name, kind, &grid)?;
        if let Some(block) = grid.block() {
            // The missing value's block comes after the last.
            let count = grid.cells().div_ceil(block);
            let of = |&code: &u32| if code as usize == grid.cells() { count } else { code as usize / block };
            blocks.push(column.iter().map(|code| of(code) as u32).collect());
            block_sizes.push(count as u32 + 1);
        }
        sizes.push(grid.cells() as u32 + 1);
        codes.push(column);
    }
    sizes.extend(block_sizes);
    codes.extend(blocks);
    Ok(Encoded { columns, left_out, codes: Categories::new(sizes, codes)? })
}

fn column_codes(table: &Table, name: &str, kind: &Kind, grid: &Grid<'_>) -> Result<Vec<u32>> {
    let missing = grid.cells() as u32;
    let places: std::collections::HashMap<&str, u32> = match kind {
        Kind::Categories(names) => {
            names.iter().enumerate().map(|(place, name)| (name.as_str(), place as u32)).collect()
        }
        _ => std::collections::HashMap::new(),
    };
    let mut codes = Vec::with_capacity(table.len());
    for cell in table.cells(name)? {
        let text = cell.text();
        let wrong = |what: &str| {
            Error::input(format!("{}:{}: column '{name}': the cell is {what}", table.name(), cell.line()))
        };
        let code = match kind {
            Kind::Categories(_) => match places.get(text) {
                Some(&place) => place,
                None if is_missing(text) => missing,
                None => {
                    return Err(wrong(
                        "none of the categories of the schema; add it there, or leave the column out",
                    ));
                }
            },
            _ if is_missing(text) => missing,
            _ => {
                let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                let number = number.ok_or_else(|| wrong("not a finite number"))?;
                if matches!(kind, Kind::Whole { .. }) && number.fract() != 0.0 {
                    return Err(wrong(
                        "not a whole number; write the bounds with a decimal point, as in [0.0, 1.0]",
                    ));
                }
                grid.cell(number) as u32
            }
        };
        codes.push(code);
    }
    Ok(codes)
}
