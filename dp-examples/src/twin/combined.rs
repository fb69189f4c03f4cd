//! Estimates of several twins, from a file.

use std::collections::BTreeMap;

use ppl_distributions::StudentT;

use super::{Combined, Error, Result, combine};
use crate::table::Table;

/// Combines the estimates of a table with the columns `name`, `estimate` and `standard_error`, which has a line for
/// each of them and each twin, by [`combine`]. What is given back is such a table of its own, with an interval of this
/// probability:
///
/// ```text
/// name,estimate,standard_error,degrees_of_freedom,low,high
/// ```
///
/// in the order in which the names come first. `rows_per_record` is that of the twins.
///
/// # Errors
/// Columns that are not there, what is not a finite number, a standard error below 0, a name with fewer than two
/// estimates or not as many as the others.
///
/// ```
/// use dp_examples::{table::Table, twin::combine_table};
/// let of_twins = "name,estimate,standard_error\nage,0.9,0.1\nage,1.1,0.1\nage,1.3,0.1\nage,0.7,0.1\n";
/// let found = combine_table(&Table::parse("estimates.csv", of_twins.as_bytes())?, 5.0, 0.9)?;
/// assert!(found.starts_with("name,estimate,standard_error,degrees_of_freedom,low,high\nage,1,0.27"));
/// # Ok::<(), dp_examples::twin::Error>(())
/// ```
pub fn combine_table(estimates: &Table, rows_per_record: f64, probability: f64) -> Result<String> {
    let mut names: Vec<&str> = Vec::new();
    let mut of: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    let cells = estimates.cells("name")?.zip(estimates.cells("estimate")?);
    for ((name, estimate), error) in cells.zip(estimates.cells("standard_error")?) {
        let (value, deviation) = (estimate.number()?, error.number()?);
        if deviation < 0.0 {
            return Err(Error::input(format!(
                "{}:{}: a standard error is below 0",
                estimates.name(),
                error.line()
            )));
        }
        let own = of.entry(name.text()).or_insert_with(|| {
            names.push(name.text());
            Vec::new()
        });
        own.push((value, deviation * deviation));
    }
    // A table has a record at least, and so a first name.
    let twins = names.first().map_or(0, |name| of[name].len());
    let failed = |error: csv::Error| Error::input(format!("the estimates could not be written: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = ["name", "estimate", "standard_error", "degrees_of_freedom", "low", "high"];
    writer.write_record(header).map_err(failed)?;
    for name in names {
        let own = &of[name];
        if own.len() != twins {
            return Err(Error::input(format!(
                "{}: '{name}' has {} estimates, and the first name {twins}: each twin gives one of each",
                estimates.name(),
                own.len()
            )));
        }
        let Some(found) = combine(own, rows_per_record) else {
            return Err(Error::input(format!(
                "{}: '{name}' has {} estimate, and two twins are the fewest that can be combined",
                estimates.name(),
                own.len()
            )));
        };
        let (low, high) = found.interval(probability);
        let Combined { estimate, standard_error, degrees_of_freedom } = found;
        let numbers = [estimate, standard_error, degrees_of_freedom, low, high];
        let rounded = numbers.map(|x| format!("{x:.11e}").parse::<f64>().unwrap_or(x).to_string());
        writer
            .write_record(std::iter::once(name).chain(rounded.iter().map(String::as_str)))
            .map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| Error::input(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| Error::input(error.to_string()))
}

impl Combined {
    /// The interval that holds the truth with this probability: `q̄ ± t √T` with the quantile `t` of Student's
    /// distribution.
    ///
    /// ```
    /// # use dp_examples::twin::combine;
    /// let found = combine(&[(0.9, 0.01), (1.1, 0.01), (1.3, 0.01), (0.7, 0.01)], 5.0).unwrap();
    /// let (low, high) = found.interval(0.9);
    /// assert!(low < 0.5 && high > 1.5 && (low + high - 2.0).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn interval(&self, probability: f64) -> (f64, f64) {
        let half = StudentT::new(self.degrees_of_freedom, 0.0, 1.0).quantile(0.5 + 0.5 * probability)
            * self.standard_error;
        (self.estimate - half, self.estimate + half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles at .95 of a table of Student's distribution (Abramowitz and Stegun, table 26.10).
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (degrees, expected) in [(1.0, 6.314), (2.0, 2.920), (5.0, 2.015), (19.0, 1.729), (120.0, 1.658)] {
            let one = Combined { estimate: 0.0, standard_error: 1.0, degrees_of_freedom: degrees };
            let found = one.interval(0.9).1;
            assert!((found - expected).abs() < 5.1e-4, "{degrees}: {found}");
        }
    }

    #[test]
    fn names_keep_their_order_and_every_mistake_is_told() {
        let found = |rows: &str| {
            let text = "name,estimate,standard_error\n".to_owned() + rows;
            combine_table(&Table::parse("e.csv", text.as_bytes()).unwrap(), 5.0, 0.9)
        };
        let text = found("b,1,0.1\n\"a,c\",2,0.1\nb,2,0.1\n\"a,c\",3,0.1\n").unwrap();
        let names: Vec<&str> = text.lines().skip(1).map(|line| &line[..2]).collect();
        assert_eq!(names, ["b,", "\"a"], "{text}");
        for (rows, told) in [
            ("a,1,0.1\n", "two twins"),
            ("a,1,0.1\na,2,0.1\nb,1,0.1\n", "'b' has 1 estimates"),
            ("a,1,-0.1\na,2,0.1\n", "e.csv:2: a standard error is below 0"),
            ("a,x,0.1\n", "e.csv:2"),
        ] {
            let error = found(rows).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
