//! The model file of the short form: that of the regression which a formula with the same columns would be.

use std::collections::HashSet;
use std::error::Error as StdError;

use dp_accountant::Budget;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::DMatrix;
use ndarray::{Array2, Axis};
use ppl_core::Values;

use crate::formula::matrix::{self, ColumnOf, Matrix, Power};
use crate::formula::{Formula, name};
use crate::logistic::FoundWeights;
use crate::logistic::design::{Coefficient, Design, Meaning};
use crate::regression::family::Family;
use crate::regression::model_file::ModelFile;
use crate::regression::outcome::Outcome;
use crate::regression::posterior::{DRAWS, Draws, KEPT};
use crate::regression::specification::Specification;
use crate::schema::{Entry, Kind, Schema};
use crate::table::condition::Condition;
use crate::{Error, Result};

/// A logistic regression of the short form, written as a formula, a schema and a specification.
pub(crate) struct AsModel {
    formula: String,
    schema: Schema,
    specification: Specification,
}

/// The column of a formula's design matrix that has the same coefficient, on the scale of the public bounds.
fn column_of(coefficient: &Coefficient) -> ColumnOf {
    let column = |name: String, term: String, (low, high): (f64, f64), indicator| ColumnOf {
        name,
        term,
        low,
        high,
        indicator,
        powers: Vec::new(),
        categories: Vec::new(),
        spans: false,
    };
    match coefficient.meaning() {
        Meaning::Intercept => column("Intercept".to_owned(), "1".to_owned(), (1.0, 1.0), false),
        Meaning::Scaled { column: of, scale } => {
            let (of, low, high) = (name(of), scale.low(), scale.high());
            let powers = vec![Power { of: of.clone(), exponent: 1, low, high }];
            ColumnOf { powers, ..column(of.clone(), of, (low, high), false) }
        }
        Meaning::Indicator { column: of, category, .. } => {
            let (of, range) = (name(of), (0.0, 1.0));
            let categories = vec![format!("{of}[{category}]")];
            ColumnOf { categories, ..column(format!("{of}[T.{category}]"), of, range, true) }
        }
    }
}

/// What is publicly known of the columns of a design, by their names and in its order.
fn entries(design: &Design, schema: &Schema) -> Vec<(String, Entry)> {
    let mut entries: Vec<(String, Entry)> = Vec::new();
    for coefficient in design.coefficients() {
        match coefficient.meaning() {
            Meaning::Intercept => {}
            Meaning::Scaled { column, scale } => {
                entries
                    .push((column.clone(), Entry::new(Kind::Range { low: scale.low(), high: scale.high() })));
            }
            Meaning::Indicator { column, category, baseline } => match entries.last_mut() {
                Some((last, Entry { kind: Kind::Categories(names), .. })) if last == column => {
                    names.push(category.clone());
                }
                _ => {
                    let names = Kind::Categories(vec![baseline.clone(), category.clone()]);
                    let read_from_records = schema.get(column).is_none();
                    entries.push((column.clone(), Entry { read_from_records, ..Entry::new(names) }));
                }
            },
        }
    }
    for (column, entry) in &mut entries {
        if let Some(known) = schema.get(column) {
            *entry = known.clone();
        }
    }
    entries
}

impl AsModel {
    /// Of a condition and the columns that a design was made of.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`] where the names of columns cannot stand in a formula, and [`Error::DuplicateCoefficient`]
    /// where two coefficients would have one name in it.
    pub(crate) fn new(condition: &Condition, design: &Design, schema: &Schema) -> Result<Self> {
        let entries = entries(design, schema);
        let names: Vec<&str> = entries.iter().map(|(column, _)| column.as_str()).collect();
        let terms: Vec<String> = names.iter().map(|column| name(column)).collect();
        let text = format!("{condition} ~ {}", terms.join(" + "));
        let formula = text.parse::<Formula>().ok().filter(|formula| {
            formula.outcome() == condition.column() && formula.columns() == names && formula.groups.is_empty()
        });
        let Some(formula) = formula else {
            let among = [condition.column()].into_iter().chain(names);
            let unlikely = among.filter(|column| column.contains('`')).collect::<Vec<_>>().join(", ");
            return Err(Error::Formula {
                reason: format!(
                    "--model: the name of a column cannot be written in a formula, which a model file has; rename {}",
                    if unlikely.is_empty() { "it" } else { &unlikely }
                ),
            });
        };
        let columns: Vec<ColumnOf> = design.coefficients().iter().map(column_of).collect();
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|column| !seen.insert(&column.name)) {
            return Err(Error::DuplicateCoefficient { name: twice.name.clone() });
        }
        let matrix = Matrix { values: Array2::zeros((0, columns.len())), columns };
        let of_formula =
            matrix::Design { matrix, groups: Vec::new(), offset: None, offset_range: (0.0, 0.0) };
        let levels = vec!["no".to_owned(), "yes".to_owned()];
        let outcome = Outcome { name: condition.to_string(), levels, low: 0.0, high: 1.0 };
        let specification = Specification::new(Family::Bernoulli, outcome, &of_formula, &[])?;
        let mut schema = Schema::default();
        schema.columns.extend(entries);
        Ok(Self { formula: formula.to_string(), schema, specification })
    }

    /// The file, as JSON.
    ///
    /// # Errors
    ///
    /// Where weights are not those of this regression.
    pub(crate) fn file(
        mut self,
        found: &FoundWeights,
        budget: &Budget,
    ) -> std::result::Result<String, Box<dyn StdError>> {
        for column in &mut self.specification.columns {
            column.prior = (0.0, found.prior);
        }
        let scaled = Values::from([("b".to_owned(), draws_of(found).into_dyn())]);
        let draws = Draws::new(&self.specification, &scaled)?.with_point(&self.specification, &found.point);
        let (format, version) = ModelFile::header();
        let model = ModelFile {
            format,
            version,
            formula: self.formula,
            epsilon: budget.epsilon,
            delta: budget.delta,
            schema: self.schema,
            specification: self.specification,
            coefficients: draws.coefficients(),
            others: draws.others(),
            draws: draws.kept(KEPT),
            privacy: serde_json::to_value(&found.privacy)?,
        };
        Ok(serde_json::to_string(&model)? + "\n")
    }
}

/// Draws of the normal posterior of weights.
fn draws_of(found: &FoundWeights) -> Array2<f64> {
    let count = found.means.len();
    let covariance = match &found.covariance {
        Some(rows) => DMatrix::from_row_slice(count, count, rows),
        None => DMatrix::from_diagonal(&found.deviations.iter().map(|sd| sd * sd).collect::<Vec<_>>().into()),
    };
    // By eigenvalues, because a direction may be known exactly but for rounding.
    let eigen = covariance.symmetric_eigen();
    let lengths = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
    let root = eigen.eigenvectors * DMatrix::from_diagonal(&lengths);
    // What follows from a released posterior is released, so its seed is no secret.
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Custom("posterior"));
    let mut draws = Array2::zeros((DRAWS, count));
    let mut standard = vec![0.0; count];
    for (draw, mut row) in (0..).zip(draws.axis_iter_mut(Axis(0))) {
        noise.fill(draw, &mut standard);
        let away = &root * nalgebra::DVector::from_column_slice(&standard);
        row.iter_mut()
            .zip(found.means.iter().zip(&away))
            .for_each(|(value, (mean, away))| *value = mean + away);
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logistic::design::Intercept;
    use crate::regression::prepare::prepare_with_outcomes;
    use crate::schema::bounds::Bounds;
    use crate::table::Table;

    const CSV: &[u8] = b"age,the sex,hours,rings,when\n30,m,40,9,a b\n40,f,10,12,c\n50,m,20,3,c\n";
    const BOUNDS: &[u8] = b"age = [17, 90]\nhours = [-1, 99]\n'the sex' = ['f', 'm']\nwhen = ['c', 'a b']\n\
                            rings = [0, 20]\n";

    fn as_model(condition: &str, chosen: &[&str]) -> Result<AsModel> {
        let (table, bounds) = (Table::parse("a.csv", CSV)?, Bounds::parse("b.toml", BOUNDS)?);
        let chosen: Vec<String> = chosen.iter().map(|column| (*column).to_owned()).collect();
        let condition: Condition = condition.parse()?;
        let design = Design::new(&table, &bounds, &condition, Some(&chosen), Intercept::Included)?;
        AsModel::new(&condition, &design, bounds.schema())
    }

    /// Columns, scales and priors are those of a formula, by which the file is read.
    #[test]
    fn the_regression_is_that_of_a_formula() {
        for (condition, chosen) in [
            ("rings >= 10", &["age", "the sex", "hours", "when"][..]),
            ("\"the sex\" == 'm'", &["hours", "age"]),
            ("when = 'a b'", &["the sex"]),
        ] {
            let found = as_model(condition, chosen).unwrap();
            let formula: Formula = found.formula.parse().unwrap();
            let table = Table::parse("a.csv", CSV).unwrap();
            let schema = Schema::parse("b.toml", BOUNDS).unwrap();
            let (_, design, (_, outcome)) =
                prepare_with_outcomes(formula, table, schema, Family::Bernoulli).unwrap();
            let expected = Specification::new(Family::Bernoulli, outcome, &design, &[]).unwrap();
            assert_eq!(found.specification, expected, "{condition}");
            let columns: Vec<&String> = found.schema.columns.keys().collect();
            let mut chosen: Vec<&str> = chosen.to_vec();
            chosen.sort_unstable();
            assert_eq!(columns, chosen);
        }
    }

    #[test]
    fn names_that_no_formula_has_are_refused() {
        let table = Table::parse("a.csv", b"a`b,y\n1,0\n0,1\n").unwrap();
        let bounds = Bounds::parse("b.toml", b"'a`b' = [0, 1]").unwrap();
        let condition: Condition = "y = 1".parse().unwrap();
        let design = Design::new(&table, &bounds, &condition, None, Intercept::Included).unwrap();
        let told = AsModel::new(&condition, &design, bounds.schema()).err().map(|error| error.to_string());
        assert!(told.is_some_and(|told| told.contains("in a formula") && told.contains("a`b")));
        let table = Table::parse("a.csv", b"Intercept,y\n1,0\n0,1\n").unwrap();
        let bounds = Bounds::parse("b.toml", b"Intercept = [0, 1]").unwrap();
        let design = Design::new(&table, &bounds, &condition, None, Intercept::Included).unwrap();
        let told = AsModel::new(&condition, &design, bounds.schema()).err();
        assert!(matches!(told, Some(Error::DuplicateCoefficient { name }) if name == "Intercept"));
    }
}
