//! Arbitrary bytes as a formula, a schema and a CSV file: a design whose numbers keep to their public bounds, or one
//! line of error.
#![no_main]

use dp_examples::Error;
use dp_examples::formula::Formula;
use dp_examples::formula::matrix::{Design, Matrix};
use dp_examples::schema::{Frame, Schema};
use dp_examples::table::Table;
use libfuzzer_sys::fuzz_target;

fn one_line(error: &Error) {
    let line = error.to_string();
    assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
}

/// Sensitivities are computed from the bounds, so a number beyond them would break the guarantee.
fn check(matrix: &Matrix, records: usize) {
    assert_eq!(matrix.values.dim(), (records, matrix.columns.len()));
    for (values, column) in matrix.values.columns().into_iter().zip(&matrix.columns) {
        let rounding = 1e-9 * column.low.abs().max(column.high.abs());
        for &value in values {
            assert!(
                value.is_finite() && column.low - rounding <= value && value <= column.high + rounding,
                "{value} of {column:?}"
            );
            assert!(!column.indicator || value == 0.0 || value == 1.0, "{value} of {column:?}");
        }
    }
}

fn design(formula: &[u8], schema: &[u8], csv: &[u8]) -> Result<(), Error> {
    let formula: Formula = String::from_utf8_lossy(formula).parse()?;
    assert_eq!(formula.to_string().parse::<Formula>().as_ref(), Ok(&formula));
    let schema = Schema::parse("schema.toml", schema)?;
    assert_eq!(Schema::from_json("schema.json", &schema.to_json())?.to_json(), schema.to_json());
    let table = Table::parse("data.csv", csv)?;
    let formula = formula.with_columns(table.columns().iter().map(String::as_str))?;
    let mut columns = formula.columns();
    if !columns.contains(&formula.outcome()) {
        columns.push(formula.outcome());
    }
    let table = schema.complete(table, &columns)?;
    let frame = Frame::new(&table, &schema, &columns)?;
    let design = Design::new(&formula, &frame)?;
    check(&design.matrix, frame.len());
    for group in &design.groups {
        check(&group.matrix, frame.len());
        assert_eq!(group.codes.len(), frame.len());
        assert!(
            group.codes.iter().all(|&code| usize::try_from(code).is_ok_and(|code| code < group.levels.len()))
        );
    }
    assert!(design.offset.is_none_or(|offset| offset.len() == frame.len()));
    Ok(())
}

fuzz_target!(|input: &[u8]| {
    // The three texts are separated by zero bytes, which none of them needs.
    let mut parts = input.splitn(3, |&byte| byte == 0);
    let mut next = || parts.next().unwrap_or_default();
    let (formula, schema, csv) = (next(), next(), next());
    if let Err(error) = design(formula, schema, csv) {
        one_line(&error);
    }
});
