//! What is predicted: outcomes as numbers.

use serde::{Deserialize, Serialize};

use super::family::Family;
use crate::formula::Response;
use crate::schema::bounds::toml_key;
use crate::schema::{Frame, Missing, Schema, Values, no_entry};
use crate::table::condition::{Comparand, Condition};
use crate::table::{Cell, Table};
use crate::{Error, Result};

/// What is publicly known of an outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// In words, such as `income` or `rings >= 10`.
    pub name: String,
    /// Of ordered categories and of yes or no, what they are called.
    pub levels: Vec<String>,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// Checks a comparison before it makes outcomes: a cell without a value is neither yes nor no, and a text that is
/// compared with is one that is publicly known to occur.
fn check(condition: &Condition, schema: &Schema, table: &Table) -> Result<()> {
    let column = condition.column();
    match (schema.get(column), condition.comparand()) {
        (Some(entry), _) if !matches!(entry.missing, Missing::Refuse | Missing::Drop) => {
            Err(Error::Formula {
                reason: format!(
                    "the outcome {column} needs a value in every record: missing is \"refuse\" or \"drop\""
                ),
            })
        }
        (Some(entry), _) => condition.check_described(entry, table),
        (None, Comparand::Text(_)) => {
            // A misspelt column is reported before anything that the schema lacks.
            let _ = table.cells(column)?;
            Err(no_entry(table, schema, column))
        }
        // Any cell that is no number is an error.
        (None, Comparand::Number(_)) => Ok(()),
    }
}

/// The outcomes of a table's records, as the family needs them: 0 or 1, a number within the bounds, a count, or the
/// place of an ordered category.
///
/// # Errors
///
/// [`Error::Formula`] where the column is of another kind than the family needs, with what to do; for columns without
/// an entry and for cells as [`Frame::new`]. That only one of two outcomes occurs is no error, for it is a fact about
/// the records.
pub fn outcomes(
    response: &Response,
    family: Family,
    table: &Table,
    schema: &Schema,
) -> Result<(Vec<f64>, Outcome)> {
    let wrong = |reason: String| Error::Formula { reason };
    if let Response::Condition(condition) = response {
        if family != Family::Bernoulli {
            return Err(wrong(format!(
                "'{condition}' is yes or no, so the family is bernoulli and not {family}"
            )));
        }
        check(condition, schema, table)?;
        let holds = condition.evaluate(table)?;
        let values = holds.into_iter().map(|holds| f64::from(u8::from(holds))).collect();
        let (name, levels) = (condition.to_string(), vec!["no".to_owned(), "yes".to_owned()]);
        return Ok((values, Outcome { name, levels, low: 0.0, high: 1.0 }));
    }
    let (Response::Column(column) | Response::Level(column, _)) = response else {
        return Err(wrong("there is no outcome".to_owned()));
    };
    if schema.get(column).is_some_and(|entry| !matches!(entry.missing, Missing::Refuse | Missing::Drop)) {
        return Err(wrong(format!(
            "the outcome {column} needs a value in every record: missing is \"refuse\" or \"drop\""
        )));
    }
    let frame = Frame::new(table, schema, &[column])?;
    let key = toml_key(column);
    if let (Response::Level(_, level), true) = (response, family != Family::Bernoulli) {
        return Err(wrong(format!(
            "{column}['{level}'] is yes or no, and so of the family bernoulli, not {family}"
        )));
    }
    let (values, levels, low, high) = match (frame.column(column)?.clone(), family, response) {
        (Values::Categories { codes, names }, Family::Bernoulli, Response::Level(_, level)) => {
            let place = names.iter().position(|name| name == level).ok_or_else(|| {
                wrong(format!("'{level}' is none of the categories of {column}: {}", names.join(", ")))
            })?;
            let is = |code: &u32| f64::from(u8::from(*code as usize == place));
            (codes.iter().map(is).collect(), vec![format!("not {level}"), level.clone()], 0.0, 1.0)
        }
        (Values::Categories { codes, names }, Family::Bernoulli, _) if names.len() == 2 => {
            (codes.into_iter().map(f64::from).collect(), names, 0.0, 1.0)
        }
        (Values::Categories { names, .. }, Family::Bernoulli, _) => {
            return Err(wrong(format!(
                "{column} has {} categories; say which is yes, as in {column}['{}'] ~ …, or take the family ordinal",
                names.len(),
                names.last().map_or("yes", String::as_str)
            )));
        }
        (Values::Numbers { low, high, .. }, Family::Bernoulli, Response::Level(_, level)) => {
            let number = level.parse().ok().filter(|number: &f64| (low..=high).contains(number));
            let number = number.ok_or_else(|| {
                wrong(format!("'{level}' is no number between the bounds {low} and {high} of {column}"))
            })?;
            // What stands in the cells: beyond the bounds a value has been moved.
            let is = |cell: Cell<'_>| Ok(f64::from(u8::from(cell.number()? == number)));
            let values = table.cells(column)?.map(is).collect::<Result<_>>()?;
            (values, vec![format!("not {level}"), level.clone()], 0.0, 1.0)
        }
        (Values::Numbers { values, low, high, .. }, Family::Bernoulli, _) => {
            // What stands in the cells: an outcome of 1 or 2 would be 1 in every record within these bounds.
            let neither = |cell: Cell<'_>| cell.number().is_ok_and(|number| number != 0.0 && number != 1.0);
            if (low, high) != (0.0, 1.0) || table.cells(column)?.any(neither) {
                return Err(wrong(format!(
                    "{column} is a column of numbers; a bernoulli outcome is 0 or 1 with the bounds [0, 1], or a comparison \
                     such as {column} >= {} ~ …",
                    if (low, high) == (0.0, 1.0) { 1.5 } else { 0.5 * (low + high) }
                )));
            }
            (values, vec!["0".to_owned(), "1".to_owned()], low, high)
        }
        (Values::Categories { codes, names }, Family::Ordinal, _) => {
            let high = names.len() as f64 - 1.0;
            (codes.into_iter().map(f64::from).collect(), names, 0.0, high)
        }
        (Values::Numbers { values, low, high, .. }, Family::Ordinal, _) => {
            let whole = |value: &f64| value.fract() == 0.0;
            if !(whole(&low) && whole(&high) && high - low <= 50.0 && values.iter().all(whole)) {
                return Err(wrong(format!(
                    "{column}: ordinal outcomes are whole numbers from at most 51, or categories in their order"
                )));
            }
            let levels = (0..=(high - low) as i64).map(|k| (low as i64 + k).to_string()).collect();
            (values.iter().map(|value| value - low).collect(), levels, 0.0, high - low)
        }
        (Values::Categories { .. }, _, _) => {
            return Err(wrong(format!(
                "{column} is a column of categories, and {family} outcomes are numbers: give it bounds, as in \
                 {key} = [LOW, HIGH]"
            )));
        }
        (Values::Numbers { values, low, high, .. }, family, _) => {
            if family.counts() && !(low >= 0.0 && values.iter().all(|value| value.fract() == 0.0)) {
                return Err(wrong(format!(
                    "{column}: {family} outcomes are counts, whole numbers from 0 with bounds like {key} = [0, 50]"
                )));
            }
            (values, Vec::new(), low, high)
        }
    };
    let name = match response {
        Response::Level(column, level) => format!("{column} is {level}"),
        _ => column.clone(),
    };
    Ok((values, Outcome { name, levels, low, high }))
}

impl Outcome {
    /// # Errors
    ///
    /// What is wrong with bounds that are not in order, as those of an altered file may be.
    pub(crate) fn check_bounds(&self) -> std::result::Result<(), String> {
        match self.low <= self.high {
            true => Ok(()),
            false => Err(format!("the bounds of its outcome are [{}, {}]", self.low, self.high)),
        }
    }

    /// Whether a value within the public bounds is one of a number that the family scales.
    pub(crate) fn scale(&self, family: Family, centred: bool) -> (f64, f64) {
        match (family.scaled(), centred) {
            (false, _) => (0.0, 1.0),
            (true, true) => (0.5 * (self.low + self.high), 0.5 * (self.high - self.low)),
            (true, false) => (0.0, self.low.abs().max(self.high.abs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Formula;

    /// A text that the schema does not know of would be an outcome that nobody has, and the fit one of nothing.
    #[test]
    fn a_text_is_compared_with_a_column_that_is_described() {
        let table = Table::parse("a.csv", b"income,age\nhigh,1\nlow,2\nhigh,3\n").unwrap();
        let of = |left: &str, schema: &str| {
            let formula: Formula = format!("{left} ~ age").parse().unwrap();
            let schema = Schema::parse("s.toml", schema.as_bytes()).unwrap();
            outcomes(&formula.response, Family::Bernoulli, &table, &schema).map(|(values, _)| values)
        };
        let described = "income = ['low', 'high']";
        for quoted in ["income == 'high'", "income == \"high\"", "income == high"] {
            assert_eq!(of(quoted, described).unwrap(), [1.0, 0.0, 1.0]);
            assert!(matches!(of(quoted, "age = [0, 9]"), Err(Error::MissingCategories { .. })));
        }
        assert!(of("income == 'hi'", described).unwrap_err().to_string().contains("none of the categories"));
        assert!(matches!(of("age == 'x'", described), Err(Error::MissingBounds { .. })));
        assert!(matches!(of("incme == 'high'", described), Err(Error::MissingColumn { .. })));
        assert_eq!(of("age >= 2", "").unwrap(), [0.0, 1.0, 1.0]);
    }

    /// 99 stands for no value here: no record is a yes by it.
    #[test]
    fn a_missing_number_is_no_outcome() {
        let table = Table::parse("a.csv", b"rings,x\n4,1\n99,2\n12,3\n").unwrap();
        let response = "rings >= 10 ~ x".parse::<Formula>().unwrap().response;
        let of = |policy: &str| {
            let entry = format!("rings = {{ range = [0, 30], missing_texts = ['99']{policy} }}");
            let schema = Schema::parse("s.toml", entry.as_bytes()).unwrap();
            let table = schema.complete(table.clone(), &["rings"])?;
            outcomes(&response, Family::Bernoulli, &table, &schema).map(|(values, _)| values)
        };
        assert!(matches!(of(""), Err(Error::MissingValue { line: 3, .. })));
        assert_eq!(of(", missing = 'drop'").unwrap(), [0.0, 1.0]);
        assert!(of(", missing = 5").unwrap_err().to_string().contains("a value in every record"));
    }

    /// A level of a column of numbers is that number, and not whatever the column holds; other families have no levels.
    #[test]
    fn a_level_of_a_number_is_that_number() {
        let table = Table::parse("a.csv", b"y,x\n0,1\n1,2\n0,3\n").unwrap();
        let schema = Schema::parse("s.toml", b"y = [0, 1]\nx = [0, 9]").unwrap();
        let of = |left: &str, family| {
            outcomes(&format!("{left} ~ x").parse::<Formula>().unwrap().response, family, &table, &schema)
        };
        let (values, outcome) = of("y[0]", Family::Bernoulli).unwrap();
        assert_eq!((values, outcome.levels), (vec![1.0, 0.0, 1.0], vec!["not 0".to_owned(), "0".to_owned()]));
        assert_eq!(of("y[1]", Family::Bernoulli).unwrap().0, [0.0, 1.0, 0.0]);
        assert!(
            of("y[7]", Family::Bernoulli).unwrap_err().to_string().contains("between the bounds 0 and 1")
        );
        assert!(of("x[3]", Family::Poisson).unwrap_err().to_string().contains("yes or no"));
    }
}
