//! Which number of a record a summary is of.

use super::Summaries;
use crate::error::{Error, Result};

/// One number of each record: a column, or one element of a column of arrays.
///
/// ```
/// use dp_vi::Field;
/// assert_eq!(Field::from("age"), Field::new("age", 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    column: String,
    element: usize,
}

impl Field {
    /// Element number `element` of a column's arrays, in row-major order.
    pub fn new(column: impl Into<String>, element: usize) -> Self {
        Self { column: column.into(), element }
    }
}

impl From<&str> for Field {
    fn from(column: &str) -> Self {
        Self::new(column, 0)
    }
}

impl Summaries<'_> {
    /// The values of a field, once it is known that all are numbers.
    pub(super) fn values(&self, field: &Field) -> Result<impl Iterator<Item = f64>> {
        let (index, shape) = self.records.schema().find(&field.column)?;
        let elements = shape.elements();
        if field.element >= elements {
            let (what, requirement) = ("element of a field", "below the number of elements of the column");
            return Err(Error::OutOfRange { what, requirement, value: field.element as f64 });
        }
        let column = self.records.behind_the_wall().column(index);
        let values = || column.numbers().skip(field.element).step_by(elements);
        if values().any(f64::is_nan) {
            return Err(Error::NotANumber { column: field.column.clone() });
        }
        Ok(values())
    }
}
