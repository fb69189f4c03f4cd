//! Which number of a record a summary is of.

/// One number of each record: a column, or one element of a column of arrays.
///
/// ```
/// use dp_vi::summaries::Field;
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

    /// The column and the element.
    pub(super) fn place(&self) -> (&str, usize) {
        (&self.column, self.element)
    }
}

impl From<&str> for Field {
    fn from(column: &str) -> Self {
        Self::new(column, 0)
    }
}
