//! From a table to codes.

use std::path::Path;

use super::grid::Grid;
use super::schema::{Kind, Schema};
use super::{Error, Result};
use crate::schema::Missing;
use crate::table::Table;

/// Reads a CSV file, compressed by gzip or not, or a Parquet file in a build with that feature.
///
/// # Errors
/// As [`Table::read`], without quoting cells.
pub fn read_table(path: &Path) -> Result<Table> {
    Ok(Table::read(path)?)
}

/// The records that a twin is made of, and what is public of them. **As sensitive as the file.**
pub struct Data {
    records: Records,
    schema: Schema,
}

enum Records {
    Text(Table),
    Codes(Encoded),
}

impl Data {
    /// Reads a CSV file, compressed by gzip or not, in parts, each of which is codes before the next is text: a whole
    /// table takes more memory than they do. A Parquet file is read as a whole.
    ///
    /// # Errors
    /// As [`read_table`]. What is wrong with the records by their schema is said where a twin is made.
    pub fn read(path: &Path, schema: Schema) -> Result<Self> {
        let records = match encode_in_parts(path, &schema) {
            Some(codes) => Records::Codes(codes),
            // The whole table says what is wrong, too.
            None => Records::Text(read_table(path)?),
        };
        Ok(Self { records, schema })
    }

    /// The records of a table.
    pub fn new(table: Table, schema: Schema) -> Self {
        Self { records: Records::Text(table), schema }
    }

    /// The same as codes.
    pub(super) fn encoded(self) -> Result<(Encoded, Schema)> {
        let encoded = match self.records {
            Records::Codes(codes) => codes,
            Records::Text(table) => encode(&table, &self.schema)?,
        };
        Ok((encoded, self.schema))
    }
}

/// A column of a twin, as its schema has it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Encoding {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Texts for no value, where the schema has a list.
    pub(super) missing_texts: Option<Vec<String>>,
}

/// The columns that a schema has a line for, as codes: what they are, the columns that are left out, and each column's
/// number of values and codes. Columns with [blocks](Grid::block) have another one each, at the end, for their blocks.
pub(super) struct Encoded {
    pub(super) columns: Vec<Encoding>,
    pub(super) left_out: Vec<String>,
    pub(super) sizes: Vec<u32>,
    pub(super) codes: Vec<Vec<u32>>,
}

/// Encodes a file part by part; `None` where anything is wrong with it, or it has to be read as a whole.
fn encode_in_parts(path: &Path, schema: &Schema) -> Option<Encoded> {
    let mut found: Option<Encoded> = None;
    Table::in_parts(path, |part, expected| {
        let mut more = match &found {
            None => encode(&part, schema).ok()?,
            Some(_) => encode_records(&part, schema).ok()?,
        };
        match &mut found {
            None => {
                // Columns that grow side by side would leave memory between them that is of no use.
                more.codes.iter_mut().for_each(|codes| codes.reserve_exact(expected));
                found = Some(more);
            }
            Some(found) => {
                found.codes.iter_mut().zip(more.codes).for_each(|(codes, more)| codes.extend(more));
            }
        }
        Some(())
    })?;
    found
}

/// Encodes a table. Records without a value in a column whose schema says `missing = "drop"` are left out: whether one
/// is depends on that record alone.
pub(super) fn encode(table: &Table, schema: &Schema) -> Result<Encoded> {
    schema.schema().check_columns(table.name(), table.columns())?;
    encode_records(table, schema)
}

/// The same where the schema goes with the table.
fn encode_records(table: &Table, schema: &Schema) -> Result<Encoded> {
    let mut columns = Vec::new();
    let mut left_out = Vec::new();
    let mut kept = vec![true; table.len()];
    for column in table.columns() {
        let (Some(kind), Some(entry)) = (schema.get(column), schema.entry(column)) else {
            left_out.push(column.clone());
            continue;
        };
        if entry.missing == Missing::Drop {
            for (kept, cell) in kept.iter_mut().zip(table.cells(column)?) {
                *kept &= !entry.is_missing(cell.text());
            }
        }
        let missing_texts = entry.missing_texts.clone();
        columns.push(Encoding { name: column.clone(), kind: kind.clone(), missing_texts });
    }
    let (mut sizes, mut codes) = (Vec::new(), Vec::new());
    let (mut block_sizes, mut blocks) = (Vec::new(), Vec::new());
    for encoding in &columns {
        let grid = Grid::new(&encoding.kind);
        let column = column_codes(table, encoding, &grid, &kept)?;
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
    Ok(Encoded { columns, left_out, sizes, codes })
}

fn column_codes(table: &Table, encoding: &Encoding, grid: &Grid<'_>, kept: &[bool]) -> Result<Vec<u32>> {
    let Encoding { name, kind, missing_texts } = encoding;
    let is_missing = |text: &str| crate::schema::is_missing(missing_texts.as_deref(), text);
    let missing = grid.cells() as u32;
    let places: std::collections::HashMap<&str, u32> = match kind {
        Kind::Categories(names) => {
            names.iter().enumerate().map(|(place, name)| (name.as_str(), place as u32)).collect()
        }
        _ => std::collections::HashMap::new(),
    };
    let mut codes = Vec::with_capacity(table.len());
    for (cell, kept) in table.cells(name)?.zip(kept) {
        if !kept {
            continue;
        }
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
                let expected = match kind {
                    Kind::Dates { .. } => "not a date like 2024-02-29",
                    _ => {
                        "not a finite number; correct it, or list the text in the schema as one that stands for a \
                         missing value: missing_texts = [...]"
                    }
                };
                let number = kind.number(text).ok_or_else(|| wrong(expected))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    #[test]
    fn parts_are_encoded_as_the_table_is() {
        let folder = TestFolder::new();
        let path = folder.0.join("people.csv");
        let schema = b"age = [0, 99]\nheight = [1.0, 2.5]\nsex = ['f', 'm']\n\
                       hours = { range = [1, 60], missing = 'drop' }";
        let schema = Schema::parse("s.toml", schema).unwrap();
        let row = |i: usize| {
            let hours = if i.is_multiple_of(5) { String::new() } else { format!("{}", i % 70) };
            format!("{i},{},{},{hours},{}\n", i % 100, 1.0 + i as f64 / 200.0, ["f", "m", "NA"][i % 3])
        };
        let text = "name,age,height,hours,sex\n".to_owned() + &(0..200).map(row).collect::<String>();
        std::fs::write(&path, &text).unwrap();
        let parts = encode_in_parts(&path, &schema).unwrap();
        let whole = encode(&read_table(&path).unwrap(), &schema).unwrap();
        assert_eq!(parts.codes[0].len(), 160);
        assert_eq!((parts.codes, parts.sizes), (whole.codes, whole.sizes));
        assert_eq!((parts.columns, parts.left_out), (whole.columns, whole.left_out));
        std::fs::write(&path, text + "1,2,tall,1,f\n").unwrap();
        assert!(encode_in_parts(&path, &schema).is_none());
        let told = Data::read(&path, schema).unwrap().encoded().err().unwrap().to_string();
        assert!(told.contains("people.csv:202: column 'height'"), "{told}");
    }

    /// Numbers, texts and dates of a Parquet file, of which one has no value.
    #[test]
    #[cfg(feature = "parquet")]
    fn parquet_files_are_encoded() {
        let folder = TestFolder::new();
        let path = folder.0.join("t.parquet");
        std::fs::write(&path, crate::table::parquet_file()).unwrap();
        let schema = b"x = [-2.0, 2.0]\nc = ['a, \"b\"', 'gr\xc3\xb6\xc3\x9fe']\n\
                       d = { range = ['1969-12-31', '2024-12-31'], since = '1970-01-01' }";
        let schema = Schema::parse("s.toml", schema).unwrap();
        let (found, _) = Data::read(&path, schema).unwrap().encoded().unwrap();
        assert_eq!(found.codes[0], [896, 512, 0]);
        assert_eq!(found.codes[1], [0, 2, 1]);
        assert_eq!(found.codes[2], [1, 19_783, 0]);
    }

    /// Without the feature a Parquet file is no CSV file with odd cells, and advice is given.
    #[test]
    #[cfg(not(feature = "parquet"))]
    fn parquet_files_need_the_feature() {
        let folder = TestFolder::new();
        let path = folder.0.join("t.parquet");
        std::fs::write(&path, b"PAR1nonsense").unwrap();
        let told =
            Data::read(&path, Schema::parse("s.toml", b"x = [0, 1]").unwrap()).err().unwrap().to_string();
        assert!(told.contains("--features parquet"), "{told}");
    }
}
