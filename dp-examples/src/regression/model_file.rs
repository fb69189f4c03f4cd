//! A fitted regression as a file, from which anybody can predict.

use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::family::Family;
use super::posterior::{Draws, Summary};
use super::specification::Specification;
use crate::schema::{Schema, check_entry, versioned};
use crate::table::read_file;
use crate::{Error, Result};

/// The version that is written.
pub const VERSION: u32 = 1;

const FORMAT: &str = "dp-examples regression";

/// Everything that predictions need, as JSON. All of it has been released or is public.
///
/// The predictor of a record is `Σ coefficient · column`, with the columns of the formula's design matrix in
/// the units of
/// the file; `specification.columns` names them with their public ranges, outside which numbers are moved to the nearer
/// end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelFile {
    /// What this is.
    pub format: String,
    /// The version of the format.
    pub version: u32,
    /// The formula.
    pub formula: String,
    /// The budget that the fit kept.
    pub epsilon: f64,
    /// Its δ.
    pub delta: f64,
    /// Columns of the file.
    pub schema: Schema,
    /// The regression.
    pub specification: Specification,
    /// The coefficients in the units of the file.
    pub coefficients: Vec<Summary>,
    /// What there is beside.
    pub others: Vec<Summary>,
    /// Draws of the posterior.
    pub draws: Draws,
    /// The privacy statement.
    pub privacy: serde_json::Value,
}

impl ModelFile {
    /// A file of the version that is written.
    #[must_use]
    pub fn header() -> (String, u32) {
        (FORMAT.to_owned(), VERSION)
    }

    /// Reads a file, compressed by gzip or not.
    ///
    /// # Errors
    ///
    /// [`Error::ModelFile`] for what is not such a file, is of a newer version, or is damaged.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |reason: String| Error::ModelFile { file: path.display().to_string(), reason };
        let bytes = read_file(path)?;
        let value =
            versioned(&bytes, (FORMAT, VERSION), "a model that `fit --model` wrote").map_err(wrong)?;
        let model: Self = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        model.check().map_err(wrong)?;
        Ok(model)
    }

    /// Whether all draws are there.
    fn check(&self) -> Result<(), String> {
        let draws = self.draws.coefficients.len();
        let wide = |rows: &[Vec<f64>], width: usize| {
            rows.len() == draws
                && rows.iter().all(|row| row.len() == width && row.iter().all(|x| x.is_finite()))
        };
        let groups = self.draws.groups.iter().zip(&self.specification.groups);
        let sound = draws > 0
            && wide(&self.draws.coefficients, self.draws.names.len())
            && self.draws.point.as_ref().is_none_or(|point| {
                point.len() == self.draws.names.len() && point.iter().all(|x| x.is_finite())
            })
            && self.draws.groups.len() == self.specification.groups.len()
            && groups.clone().all(|(drawn, group)| {
                drawn.levels == group.levels && wide(&drawn.draws, drawn.levels.len() * drawn.names.len())
            })
            && self.draws.more.iter().all(|(_, numbers)| numbers.len() == draws);
        if !sound {
            return Err("its draws are not complete".to_owned());
        }
        let positive = 0.0..f64::INFINITY;
        let needed: Vec<(String, Range<f64>)> = match self.specification.family {
            Family::Bernoulli | Family::Poisson => Vec::new(),
            Family::Gaussian => vec![("sigma".to_owned(), positive)],
            Family::Student => vec![("sigma".to_owned(), positive.clone()), ("nu".to_owned(), positive)],
            Family::NegativeBinomial => vec![("phi".to_owned(), positive)],
            Family::ZeroInflatedPoisson => vec![("zeros".to_owned(), 0.0..1.0 + f64::EPSILON)],
            Family::Ordinal => (1..self.specification.outcome.levels.len())
                .map(|cut| (format!("cut[{cut}]"), f64::NEG_INFINITY..f64::INFINITY))
                .collect(),
        };
        for (name, range) in needed {
            let found = self.draws.other(&name).ok_or_else(|| format!("its draws have no '{name}'"))?;
            if !found.iter().all(|x| x.is_finite() && range.contains(x)) {
                return Err(format!("its draws of '{name}' are none of the family's"));
            }
        }
        for (column, entry) in &self.schema.columns {
            check_entry(entry).map_err(|reason| format!("column '{column}': {reason}"))?;
        }
        self.specification.outcome.check_bounds()
    }
}
