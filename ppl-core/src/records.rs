//! Records: named columns, one row each.

use crate::error::{Error, Result};
use crate::shape::Shape;
use ndarray::{Array1, Array2, ArrayD};
use std::sync::Arc;

/// Names and shapes of the columns of a table of records; what a model may know of the data while it is traced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<(String, Shape)>,
}

impl Schema {
    /// A schema of these columns; a shape is that of one record's value.
    ///
    /// # Errors
    /// If two columns share a name.
    pub fn new<N: Into<String>, S: Into<Shape>>(columns: impl IntoIterator<Item = (N, S)>) -> Result<Self> {
        let mut known: Vec<(String, Shape)> = Vec::new();
        for (name, shape) in columns {
            let name = name.into();
            if known.iter().any(|(other, _)| *other == name) {
                return Err(Error::Records(format!("the column name '{name}' appears twice")));
            }
            known.push((name, shape.into().checked()?));
        }
        Ok(Self { columns: known })
    }

    /// Names and shapes of the columns.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Shape)> {
        self.columns.iter().map(|(name, shape)| (name.as_str(), shape))
    }

    /// Position and shape of a column.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], which lists the columns there are.
    pub fn find(&self, name: &str) -> Result<(usize, &Shape)> {
        let found = self.columns.iter().position(|(known, _)| known == name);
        found
            .map(|index| (index, &self.columns[index].1))
            .ok_or_else(|| Error::UnknownColumn { name: name.to_owned(), known: self.describe() })
    }

    /// Length of a vector column.
    ///
    /// # Errors
    /// If there is no such column, or it does not hold vectors.
    pub fn dim(&self, name: &str) -> Result<usize> {
        match self.find(name)?.1.dims() {
            [length] => Ok(*length),
            dims => Err(Error::Records(format!(
                "column '{name}' holds values of shape {dims:?} for each record, not vectors, so it has no length"
            ))),
        }
    }

    pub(crate) fn describe(&self) -> String {
        if self.columns.is_empty() {
            return "no columns".to_owned();
        }
        let columns: Vec<String> =
            self.columns.iter().map(|(name, shape)| format!("'{name}' {shape}")).collect();
        columns.join(", ")
    }
}

/// One column: a value of one shape for each record, stored record after record.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    values: Vec<f64>,
    records: usize,
    shape: Shape,
}

impl Column {
    fn new(values: Vec<f64>, records: usize, shape: Shape) -> Self {
        Self { values, records, shape }
    }
}

impl From<Array1<f64>> for Column {
    fn from(values: Array1<f64>) -> Self {
        Column::from(values.to_vec())
    }
}

impl From<Vec<f64>> for Column {
    fn from(values: Vec<f64>) -> Self {
        let records = values.len();
        Column::new(values, records, Shape::scalar())
    }
}

impl From<Array2<f64>> for Column {
    fn from(values: Array2<f64>) -> Self {
        Column::from(values.into_dyn())
    }
}

/// The first axis counts the records. An array without axes is taken as one record.
impl From<ArrayD<f64>> for Column {
    fn from(values: ArrayD<f64>) -> Self {
        let (records, shape) = match values.shape() {
            [] => (1, Shape::scalar()),
            [records, rest @ ..] => (*records, Shape::from(rest)),
        };
        let elements = values.len();
        let values = if values.is_standard_layout() {
            // A slice of a larger array still owns all of it.
            let (mut values, offset) = values.into_raw_vec_and_offset();
            values.drain(..offset.unwrap_or(0));
            values.truncate(elements);
            values
        } else {
            values.iter().copied().collect()
        };
        Column::new(values, records, shape)
    }
}

/// A table of records: columns of equal length.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Column, Records};
/// let records = Records::from_columns([
///     ("x", Column::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
///     ("y", Column::from(array![0.0, 1.0, 1.0])),
/// ])?;
/// assert_eq!(records.len(), 3);
/// assert_eq!(records.schema().dim("x")?, 2);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    schema: Arc<Schema>,
    columns: Vec<Vec<f64>>,
    records: usize,
}

impl Records {
    /// Records of these columns.
    ///
    /// # Errors
    /// If there is no column, two share a name, or their lengths differ.
    pub fn from_columns<N: Into<String>, C: Into<Column>>(
        columns: impl IntoIterator<Item = (N, C)>,
    ) -> Result<Self> {
        let columns: Vec<(String, Column)> =
            columns.into_iter().map(|(name, column)| (name.into(), column.into())).collect();
        let Some((first_name, first)) = columns.first() else {
            return Err(Error::Records("at least one column is needed".to_owned()));
        };
        let records = first.records;
        if let Some((name, column)) = columns.iter().find(|(_, column)| column.records != records) {
            let got = column.records;
            let told = format!("column '{name}' has {got} rows, but column '{first_name}' has {records}");
            return Err(Error::Records(told));
        }
        let schema = Schema::new(columns.iter().map(|(name, column)| (name.clone(), column.shape.clone())))?;
        let columns = columns.into_iter().map(|(_, column)| column.values).collect();
        Ok(Self { schema: Arc::new(schema), columns, records })
    }

    /// Names and shapes of the columns.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// All values of a column, record after record.
    #[must_use]
    pub fn column(&self, index: usize) -> &[f64] {
        &self.columns[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_must_agree() {
        let x = Column::from(array![[1.0], [2.0]]);
        let told = |columns: Vec<(&str, Column)>| Records::from_columns(columns).unwrap_err().to_string();
        assert!(told(vec![("x", x.clone()), ("y", Column::from(vec![1.0]))]).contains("1 rows"));
        assert!(told(vec![("x", x.clone()), ("x", x.clone())]).contains("twice"));
        assert!(told(vec![]).contains("at least one"));
        let records = Records::from_columns([("x", x)]).unwrap();
        assert!(records.schema().dim("z").unwrap_err().to_string().contains("'x' [1]"));
    }

    #[test]
    fn a_transposed_array_is_read_in_logical_order() {
        let x = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].reversed_axes();
        let records = Records::from_columns([("x", x)]).unwrap();
        assert_eq!(records.column(0), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn a_sliced_array_keeps_its_own_elements_only() {
        let mut x = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        x.slice_collapse(ndarray::s![1.., ..]);
        let records = Records::from_columns([("x", x)]).unwrap();
        assert_eq!(records.column(0), [3.0, 4.0, 5.0, 6.0]);
    }
}
