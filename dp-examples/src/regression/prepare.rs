//! From a formula, a schema and a table to records as numbers.

use std::path::Path;

use super::family::Family;
use super::outcome::{Outcome, outcomes};
use crate::formula::matrix::Design;
use crate::formula::{Factor, Formula, Response, Term, name};
use crate::schema::{Entry, Frame, Kind, Schema, categories_of, draft};
use crate::table::Table;
use crate::table::condition::Comparand;
use crate::{Error, Result};

/// By what records were turned into numbers.
pub(crate) struct Prepared {
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

/// By what records were turned into numbers, these, and their outcomes.
pub(crate) type WithOutcomes = (Prepared, Design, (Vec<f64>, Outcome));

/// The design of a formula for the records of a table, and their outcomes. Records without one are left out where that
/// is its policy.
pub(crate) fn prepare_with_outcomes(
    formula: Formula,
    table: Table,
    schema: Schema,
    family: Family,
) -> Result<WithOutcomes> {
    let of_table = |formula: &Formula, table: &Table, schema: &Schema| {
        outcomes(&formula.response, family, table, schema)
    };
    let (prepared, design, found) = prepare_and(formula, table, schema, true, of_table)?;
    Ok((prepared, design, found?))
}

/// The same for the records of a file that is read in parts, each of which is numbers before the next is text:
/// a whole table takes as much memory as its design, or more. `None` where the file has to be read as a whole,
/// and wherever something is wrong with anything: then the whole table says what.
pub(super) fn prepare_in_parts(
    formula: &Formula,
    data: &Path,
    schema: &Schema,
    family: Family,
) -> Option<WithOutcomes> {
    let (mut completed, mut found) = (None, None);
    Table::in_parts(data, |part, _| {
        let (formula, schema) = match &completed {
            Some(completed) => completed,
            None => {
                schema.check_columns(part.name(), part.columns()).ok()?;
                completed.insert(complete(formula, schema.clone(), &part, false).ok()?)
            }
        };
        let more = match prepare_with_outcomes(formula.clone(), part, schema.clone(), family) {
            Ok(more) => more,
            // There may be some in other parts.
            Err(Error::NoRecordsLeft { .. }) => return Some(()),
            Err(_) => return None,
        };
        match &mut found {
            None => found = Some(more),
            Some((_, design, (values, outcome))) => {
                let (_, more, (more_values, same)) = more;
                design.append(more).ok().filter(|()| *outcome == same)?;
                values.extend(more_values);
            }
        }
        Some(())
    })?;
    found
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
    if formula.terms.is_empty() && !formula.groups.is_empty() {
        let reason = format!(
            "'{formula}': no term is left that all records share, and a model of groups alone is not fitted; leave the \
             intercept in, as in {} ~ 1 + (1 | {})",
            name(formula.outcome()),
            formula.groups[0].written()
        );
        return Err(Error::Formula { reason });
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
        // Numbers are compared as they are.
        Response::Condition(condition) if matches!(condition.comparand(), Comparand::Number(_)) => None,
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
/// categories of the text columns that are used where these are public. Then a `.` stands for columns without an entry,
/// too, unless their names say that they identify somebody: which columns are used never depends on what is in them,
/// and those that cannot be used are errors as if they had been named.
pub(super) fn complete(
    formula: &Formula,
    mut schema: Schema,
    table: &Table,
    public_categories: bool,
) -> Result<(Formula, Schema)> {
    let stands_for = |column: &&String| {
        schema.get(column).is_some() || public_categories && !draft::looks_like_identifier(column)
    };
    let formula = formula.with_columns(table.columns().iter().filter(stands_for).map(String::as_str))?;
    if public_categories {
        schema = with_public_categories(schema, &formula, table)?;
    }
    Ok((formula, schema))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    const SCHEMA: &str = "age = [0, 99]\nhours = { range = [1, 60], missing = 'drop' }\n\
                          weight = { range = [30, 200], missing = 75 }\nsex = ['f', 'm']\n\
                          job = { categories = ['a', 'b'], missing = 'category' }\n";

    fn people(rows: usize) -> String {
        let row = |i: usize| {
            let hours = if i.is_multiple_of(5) { String::new() } else { format!("{}", i % 70) };
            let weight = if i.is_multiple_of(7) { "NA".to_owned() } else { format!("{}.5", i % 150) };
            format!("{},{hours},{weight},{},{}\n", i % 100, ["f", "m"][i % 2], ["a", "b", ""][i % 3])
        };
        "age,hours,weight,sex,job\n".to_owned() + &(0..rows).map(row).collect::<String>()
    }

    /// Which columns a . stands for depends on the header, the schema and the formula: a column whose categories cannot
    /// be read, or that holds numbers without bounds, is an error and not left out.
    #[test]
    fn a_dot_chooses_no_columns_by_what_is_in_them() {
        let found = |formula: &str, town: &[&str], size: &str| {
            let row = |town: &&str| format!("1,{town},{size},{town},x\n");
            let text = "y,town,size,name,job\n".to_owned()
                + &town.iter().map(row).collect::<String>()
                + "0,c,1,d,z\n";
            let table = Table::parse("a.csv", text.as_bytes()).unwrap();
            let schema = Schema::parse("s.toml", b"y = [0, 1]").unwrap();
            let formula: Formula = formula.parse().unwrap();
            let (formula, schema) = complete(&formula, schema, &table, true)?;
            prepare_with_outcomes(formula, table, schema, Family::Gaussian)
                .map(|(prepared, ..)| prepared.formula.text)
        };
        let many: Vec<String> = (0..60).map(|k| format!("t{k}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(found("y ~ . - size", &["a", "b"], "1").unwrap(), "y ~ (town + size + job) - size");
        assert!(matches!(found("y ~ . - size", &many, "1"), Err(Error::TooManyCategories { .. })));
        assert!(matches!(found("y ~ . - size", &["c"], "1"), Err(Error::SingleCategory { .. })));
        let of_numbers = found("y ~ .", &["a", "b"], "1").unwrap_err();
        assert!(
            matches!(&of_numbers, Error::MissingBounds { column, .. } if column == "size"),
            "{of_numbers}"
        );
    }

    /// Where only groups are left the intercept that was taken out does not come back.
    #[test]
    fn groups_without_a_term_that_is_shared_are_refused() {
        let table = || Table::parse("a.csv", people(50).as_bytes()).unwrap();
        let told = |formula: &str| {
            let schema = Schema::parse("s.toml", SCHEMA.as_bytes()).unwrap();
            let found = prepare_with_outcomes(formula.parse().unwrap(), table(), schema, Family::Gaussian);
            found.map(|_| ()).err().map_or_else(String::new, |error| error.to_string())
        };
        for formula in
            ["age ~ 0 + (1 | sex)", "age ~ -1 + (0 + hours | sex)", "age ~ offset(hours) + 0 + (1 | sex)"]
        {
            let told = told(formula);
            assert!(told.contains("no term is left") && told.contains("age ~ 1 + (1 | sex)"), "{told}");
        }
        assert!(told("age ~ 0 + offset(hours)").contains("nothing to fit"));
        assert_eq!(told("age ~ 0 + hours + (1 | sex)"), "");
        assert_eq!(told("age ~ (1 | sex)"), "");
    }

    /// Whatever is made of a file in parts is what is made of its table, to the last bit.
    #[test]
    fn parts_make_what_the_table_makes() {
        let folder = TestFolder::new();
        let path = folder.0.join("people.csv");
        let schema = Schema::parse("s.toml", SCHEMA.as_bytes()).unwrap();
        std::fs::write(&path, people(200)).unwrap();
        for (formula, family) in [
            ("age >= 30 ~ hours + weight*job", Family::Bernoulli),
            ("sex ~ .", Family::Bernoulli),
            ("hours ~ bs(age, knots=[20, 50]) + offset(weight)", Family::Gaussian),
            ("hours ~ sex + (age | job)", Family::Poisson),
        ] {
            let formula: Formula = formula.parse().unwrap();
            let (in_parts, design, (values, outcome)) =
                prepare_in_parts(&formula, &path, &schema, family).unwrap();
            let table = Table::read(&path).unwrap();
            let (completed, schema) = complete(&formula, schema.clone(), &table, false).unwrap();
            let (whole, expected, (of_whole, of)) =
                prepare_with_outcomes(completed, table, schema, family).unwrap();
            assert!(design == expected && design.matrix.values.is_standard_layout(), "{formula}");
            assert_eq!((values, outcome), (of_whole, of));
            assert_eq!((in_parts.formula, in_parts.schema), (whole.formula, whole.schema));
        }
    }

    /// What is wrong anywhere is left to the whole table; parts of which no record is kept are not.
    #[test]
    fn what_is_wrong_is_found_in_every_part() {
        let folder = TestFolder::new();
        let path = folder.0.join("people.csv");
        let schema = Schema::parse("s.toml", SCHEMA.as_bytes()).unwrap();
        let found = |formula: &str, text: String| {
            std::fs::write(&path, text).unwrap();
            let formula: Formula = formula.parse().unwrap();
            prepare_in_parts(&formula, &path, &schema, Family::Gaussian).map(|(_, design, _)| design)
        };
        let rows = people(100);
        assert_eq!(found("age ~ hours", rows.clone()).unwrap().matrix.values.nrows(), 80);
        let without = rows.clone() + &"1,,,,\n".repeat(100) + "1,1,,,\n";
        assert_eq!(found("age ~ hours", without).unwrap().matrix.values.nrows(), 81);
        for wrong in ["1,x,30,f,a\n", "1,2\n", "1,2,30,f,\"a\n", "nan,2,30,f,a\n"] {
            assert!(found("age ~ hours", rows.clone() + wrong + &rows[25..]).is_none(), "{wrong}");
        }
        assert!(found("age ~ size", rows.clone()).is_none());
        assert!(
            found("age ~ hours", "age,hours,weight,sex,job\n".to_owned() + &"1,,,,\n".repeat(50)).is_none()
        );
        let tidy = Schema::parse("s.toml", b"age = [0, 99]\nsize = [0, 1]").unwrap();
        assert!(prepare_in_parts(&"age ~ 1".parse().unwrap(), &path, &tidy, Family::Gaussian).is_none());
    }
}
