//! The privacy wall, as a type.

use crate::error::{Error, Result};
use ppl_core::{ColumnData, Records, Schema};

/// Sensitive data behind a wall.
///
/// What is inside cannot be printed, compared, cloned, serialised or reached; the mechanisms of this crate compute on it
/// and let noisy results out.
///
/// # Privacy
/// Names and shapes of columns are public. Values, and under [`AddRemove`](dp_accountant::Relation::AddRemove) the number
/// of records, are not. An error of this crate may say *that* records do not fit a model, so errors are for whoever holds
/// the records; it does not say which record, or quote a value.
///
/// ```
/// use dp_vi::Sensitive;
/// use ndarray::array;
/// use ppl_core::Records;
/// let records = Sensitive::new(Records::from_columns([("age", array![31.0, 64.0])])?);
/// assert_eq!(records.schema().columns().count(), 1);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// ```compile_fail
/// # use dp_vi::Sensitive;
/// # use ndarray::array;
/// # use ppl_core::Records;
/// # let records = Sensitive::new(Records::from_columns([("age", array![31.0, 64.0])]).unwrap());
/// println!("{records:?}"); // does not compile
/// ```
///
/// ```compile_fail
/// # use dp_vi::Sensitive;
/// # use ndarray::array;
/// # use ppl_core::Records;
/// # let records = Sensitive::new(Records::from_columns([("age", array![31.0, 64.0])]).unwrap());
/// let n = records.len(); // nor does this
/// ```
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Puts data behind the wall.
    pub fn new(data: T) -> Self {
        Self(data)
    }

    pub(crate) fn behind_the_wall(&self) -> &T {
        &self.0
    }
}

impl Sensitive<Records> {
    /// Names and shapes of the columns.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.0.schema()
    }

    /// Checks that no number is NaN. An observation or a feature that is none would silently leave its record out.
    pub(crate) fn check_numbers(&self) -> Result<()> {
        for (index, (name, _)) in self.0.schema().columns().enumerate() {
            let missing = match self.0.column(index) {
                ColumnData::F64(values) => values.iter().any(|value| value.is_nan()),
                ColumnData::F32(values) => values.iter().any(|value| value.is_nan()),
                _ => false,
            };
            if missing {
                return Err(Error::NotANumber { column: name.to_owned() });
            }
        }
        Ok(())
    }
}
