//! From a formula, a schema and a table to records as numbers.

use super::family::Family;
use super::outcome::{Outcome, outcomes};
use crate::formula::matrix::Design;
use crate::formula::{Factor, Formula, Response, Term};
use crate::schema::{Entry, Frame, Kind, Schema, categories_of, draft};
use crate::table::Table;
use crate::{Error, Result};

/// By what records were turned into numbers.
pub(super) struct Prepared {
    pub(super) formula: Formula,
    pub(super) schema: Schema,
}

/// The design of a formula for the records of a table, and the lines that these stand on.
pub(super) fn prepare(
    formula: Formula,
    table: Table,
    schema: Schema,
) -> Result<(Prepared, Design, Vec<u64>)> {
    prepare_and(formula, table, schema, false, |_, table, _| table.lines().to_vec())
}

/// The design of a formula for the records of a table, and their outcomes. Records without one are left out where that
/// is its policy.
pub(super) fn prepare_with_outcomes(
    formula: Formula,
    table: Table,
    schema: Schema,
    family: Family,
) -> Result<(Prepared, Design, (Vec<f64>, Outcome))> {
    let of_table = |formula: &Formula, table: &Table, schema: &Schema| {
        outcomes(&formula.response, family, table, schema)
    };
    let (prepared, design, found) = prepare_and(formula, table, schema, true, of_table)?;
    Ok((prepared, design, found?))
}

/// The design of a formula for the records of a table, and what else is found in the table of these records.
fn prepare_and<T>(
    mut formula: Formula,
    table: Table,
    schema: Schema,
    outcome: bool,
    of_table: impl FnOnce(&Formula, &Table, &Schema) -> T,
) -> Result<(Prepared, Design, T)> {
    let columns: Vec<String> = formula.columns().into_iter().map(str::to_owned).collect();
    let mut used: Vec<&str> = columns.iter().map(String::as_str).collect();
    if used.contains(&formula.outcome()) {
        return Err(Error::Formula {
            reason: format!("'{formula}': the outcome {} cannot be predicted from itself", formula.outcome()),
        });
    }
    let target = formula.outcome().to_owned();
    if outcome {
        used.push(&target);
    }
    let table = schema.complete(table, &used)?;
    used.truncate(columns.len());
    // A formula of an intercept alone needs no column, and yet a frame has to know how many records there are.
    let frame = Frame::new(&table, &schema, &used)?;
    let found = of_table(&formula, &table, &schema);
    // The text takes more memory than the numbers, and nothing more is read from it.
    drop(table);
    for column in frame.missing() {
        formula.terms.push(Term { factors: vec![Factor::Column(column.clone())] });
    }
    let design = Design::new(&formula, &frame)?;
    Ok((Prepared { formula, schema }, design, found))
}

/// What the schema does not say of a text column that is no identifier, read from the records.
fn read_categories(schema: &Schema, table: &Table, column: &str) -> Result<Option<Entry>> {
    if schema.get(column).is_some() || draft::looks_like_identifier(column) {
        return Ok(None);
    }
    let entry = |categories| Entry { read_from_records: true, ..Entry::new(Kind::Categories(categories)) };
    Ok(categories_of(table, column)?.map(entry))
}

/// Categories that are read from the records, where the user says that they are public.
fn with_public_categories(mut schema: Schema, formula: &Formula, table: &Table) -> Result<Schema> {
    let outcome = match &formula.response {
        Response::Condition(_) => None,
        _ => Some(formula.outcome()),
    };
    for column in formula.columns().into_iter().chain(outcome) {
        if let Some(entry) = read_categories(&schema, table, column)? {
            schema.columns.insert(column.to_owned(), entry);
        }
    }
    Ok(schema)
}

/// A formula with all columns of the schema in the place of a `.`, in the order of the table; and the schema, with the
/// categories of the text columns that are used where these are public.
pub(super) fn complete(
    formula: &Formula,
    mut schema: Schema,
    table: &Table,
    public_categories: bool,
) -> Result<(Formula, Schema)> {
    if public_categories && formula.columns().contains(&".") {
        for column in table.columns().iter().filter(|column| *column != formula.outcome()) {
            if let Ok(entry) = read_categories(&schema, table, column) {
                schema.columns.extend(entry.map(|entry| (column.clone(), entry)));
            }
        }
    }
    let described = table.columns().iter().filter(|column| schema.get(column).is_some());
    let formula = formula.with_columns(described.map(String::as_str))?;
    if public_categories {
        schema = with_public_categories(schema, &formula, table)?;
    }
    Ok((formula, schema))
}
