//! Data as posteriordb has them: a JSON object of numbers and nested lists.

use std::path::Path;

use serde_json::{Map, Value};

/// What is wrong with data.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a JSON object.
    #[error("{path} is not a JSON object: {reason}")]
    Format {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A variable is missing, or no array of numbers.
    #[error("the data have no {what} named '{name}'")]
    Missing {
        /// Its name.
        name: String,
        /// What it should be.
        what: &'static str,
    },
    /// The records cannot be made of it.
    #[error(transparent)]
    Records(#[from] ppl_core::Error),
}

/// Variables by name.
#[derive(Debug, Clone, Default)]
pub struct Data(Map<String, Value>);

impl Data {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or holds no JSON object.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let named = || path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| DataError::File { path: named(), source })?;
        serde_json::from_str(&text)
            .map(Self)
            .map_err(|error| DataError::Format { path: named(), reason: error.to_string() })
    }

    fn find(&self, name: &str, what: &'static str) -> Result<&Value, DataError> {
        self.0.get(name).ok_or_else(|| DataError::Missing { name: name.to_owned(), what })
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Result<f64, DataError> {
        let what = "number";
        self.find(name, what)?.as_f64().ok_or_else(|| DataError::Missing { name: name.to_owned(), what })
    }

    /// All numbers of a nested list, the last index first, and the length of the innermost lists.
    pub(super) fn rows(&self, name: &str) -> Result<(Vec<f64>, usize), DataError> {
        let what = "list of numbers";
        let missing = || DataError::Missing { name: name.to_owned(), what };
        let (mut numbers, mut width) = (Vec::new(), 0);
        let mut waiting = vec![self.find(name, what)?];
        while let Some(value) = waiting.pop() {
            match value {
                Value::Array(list) => {
                    width = list.len();
                    waiting.extend(list.iter().rev());
                }
                number => numbers.push(number.as_f64().ok_or_else(missing)?),
            }
        }
        Ok((numbers, width))
    }

    /// A vector.
    pub(super) fn vector(&self, name: &str) -> Result<Vec<f64>, DataError> {
        Ok(self.rows(name)?.0)
    }
}

pub(super) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// With the divisor `n − 1`, as Stan's.
pub(super) fn sd(x: &[f64]) -> f64 {
    let centre = mean(x);
    (x.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (x.len() as f64 - 1.0)).sqrt()
}
