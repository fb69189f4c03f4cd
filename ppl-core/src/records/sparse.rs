//! A column of vectors without its zeros.

use super::column::with_numbers;
use super::{ColumnNumber, Records, Schema};
use crate::base::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// The numbers of a column of vectors that are not zero, record after record, with their places: what counts of words
/// take where a document has few of the words there are.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Records, records::SparseRows};
/// let records = Records::from_columns([("counts", array![[0_u8, 2, 0], [0, 0, 0], [1, 0, 3]])])?;
/// let rows = SparseRows::of(&records, 0)?;
/// assert_eq!(rows.row(0), (&[1][..], &[2.0][..]));
/// assert_eq!(rows.row(1), (&[][..], &[][..]));
/// assert_eq!(rows.row(2), (&[0, 2][..], &[1.0, 3.0][..]));
/// assert!(rows.are_of(&records));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone)]
pub struct SparseRows {
    /// That of the records, by which they are known again: records that were made anew have another one.
    schema: Arc<Schema>,
    /// Where each record's numbers begin, and where the last one's end.
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
}

/// Says how many there are, and none of them.
impl fmt::Debug for SparseRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sparse rows of columns {}", self.schema.describe())
    }
}

impl SparseRows {
    /// The rows of the column at a position of the schema. A NaN is kept, and -0 is not.
    ///
    /// # Errors
    /// If there is no such column, it does not hold vectors, or these have 2³² elements or more.
    pub fn of(records: &Records, column: usize) -> Result<Self> {
        let Some((name, shape)) = records.schema.columns().nth(column) else {
            return Err(Error::Records(format!("there is no column at position {column}")));
        };
        let width = records.schema.dim(name)?;
        if u32::try_from(width).is_err() {
            return Err(Error::Records(format!(
                "column '{name}' {shape} has too many places for sparse rows"
            )));
        }
        let mut this = Self {
            schema: Arc::clone(&records.schema),
            starts: Vec::with_capacity(records.len() + 1),
            places: Vec::new(),
            values: Vec::new(),
        };
        this.starts.push(0);
        with_numbers!(records.column(column), values => this.fill(values, width, records.len()));
        Ok(this)
    }

    fn fill<T: ColumnNumber>(&mut self, values: &[T], width: usize, records: usize) {
        for record in 0..records {
            for (place, &value) in values[record * width..][..width].iter().enumerate() {
                let value = value.number();
                if value != 0.0 {
                    self.places.push(place as u32);
                    self.values.push(value);
                }
            }
            self.starts.push(self.places.len());
        }
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places, in ascending order, and numbers of a record.
    ///
    /// # Panics
    /// If there is no such record.
    #[must_use]
    pub fn row(&self, record: usize) -> (&[u32], &[f64]) {
        let range = self.starts[record]..self.starts[record + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// Whether these are rows of these records, or of a clone of them.
    #[must_use]
    pub fn are_of(&self, records: &Records) -> bool {
        Arc::ptr_eq(&self.schema, &records.schema)
    }
}
