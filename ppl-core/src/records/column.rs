//! One column: numbers of one type, a value of one shape for each record.

use crate::base::Shape;
use ndarray::{Array, Dimension};
use std::fmt;

/// The type of a column's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// Floating point, 64 bits.
    #[default]
    F64,
    /// Floating point, 32 bits.
    F32,
    /// Integers from 0 to 2⁸ − 1.
    U8,
    /// Integers from 0 to 2¹⁶ − 1.
    U16,
    /// Integers from 0 to 2³² − 1.
    U32,
    /// Integers from −2³¹ to 2³¹ − 1.
    I32,
    /// Integers from −2⁶³ to 2⁶³ − 1.
    I64,
}

impl ColumnType {
    /// Whether the numbers are integers, and may serve as indices.
    #[must_use]
    pub fn is_integer(self) -> bool {
        !matches!(self, ColumnType::F64 | ColumnType::F32)
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::F64 => "f64",
            ColumnType::F32 => "f32",
            ColumnType::U8 => "u8",
            ColumnType::U16 => "u16",
            ColumnType::U32 => "u32",
            ColumnType::I32 => "i32",
            ColumnType::I64 => "i64",
        })
    }
}

/// The numbers of a column, record after record, in the type they came in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnData {
    /// Floating point, 64 bits.
    F64(Vec<f64>),
    /// Floating point, 32 bits.
    F32(Vec<f32>),
    /// Integers from 0 to 2⁸ − 1.
    U8(Vec<u8>),
    /// Integers from 0 to 2¹⁶ − 1.
    U16(Vec<u16>),
    /// Integers from 0 to 2³² − 1.
    U32(Vec<u32>),
    /// Integers from −2³¹ to 2³¹ − 1.
    I32(Vec<i32>),
    /// Integers from −2⁶³ to 2⁶³ − 1.
    I64(Vec<i64>),
}

/// Evaluates `$body` with `$values` bound to the numbers of `$data`, whatever their type.
macro_rules! with_numbers {
    ($data:expr, $values:ident => $body:expr) => {
        match $data {
            $crate::records::ColumnData::F64($values) => $body,
            $crate::records::ColumnData::F32($values) => $body,
            $crate::records::ColumnData::U8($values) => $body,
            $crate::records::ColumnData::U16($values) => $body,
            $crate::records::ColumnData::U32($values) => $body,
            $crate::records::ColumnData::I32($values) => $body,
            $crate::records::ColumnData::I64($values) => $body,
        }
    };
}
pub(crate) use with_numbers;

impl ColumnData {
    /// The type of the numbers.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        match self {
            ColumnData::F64(_) => ColumnType::F64,
            ColumnData::F32(_) => ColumnType::F32,
            ColumnData::U8(_) => ColumnType::U8,
            ColumnData::U16(_) => ColumnType::U16,
            ColumnData::U32(_) => ColumnType::U32,
            ColumnData::I32(_) => ColumnType::I32,
            ColumnData::I64(_) => ColumnType::I64,
        }
    }

    /// How many numbers there are: records times elements of one record's value.
    #[must_use]
    pub fn len(&self) -> usize {
        with_numbers!(self, values => values.len())
    }

    /// Whether there is no number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers, if they are of type `T`.
    ///
    /// ```
    /// # use ppl_core::Column;
    /// let column = Column::from(vec![3_u8, 1]);
    /// assert_eq!(column.data().as_slice::<u8>(), Some(&[3, 1][..]));
    /// assert_eq!(column.data().as_slice::<f64>(), None);
    /// ```
    #[must_use]
    pub fn as_slice<T: ColumnNumber>(&self) -> Option<&[T]> {
        T::slice_of(self)
    }

    /// The numbers as programs see them before they are rounded to the type the program runs in: the nearest
    /// `f64`, which is exact but for integers beyond 2⁵³.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = f64> {
        (0..self.len()).map(move |index| with_numbers!(self, values => values[index].number()))
    }

    /// One of [`ColumnData::numbers`].
    #[must_use]
    pub fn number(&self, index: usize) -> Option<f64> {
        with_numbers!(self, values => values.get(index).map(|value| value.number()))
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number type of columns: `f64`, `f32`, `u8`, `u16`, `u32`, `i32` or `i64`.
pub trait ColumnNumber: sealed::Sealed + Copy + 'static {
    /// The nearest `f64`.
    fn number(self) -> f64;
    /// Numbers of this type as a column's.
    #[doc(hidden)]
    fn into_data(values: Vec<Self>) -> ColumnData;
    /// A column's numbers, if they are of this type.
    #[doc(hidden)]
    fn slice_of(data: &ColumnData) -> Option<&[Self]>;
}

macro_rules! column_number {
    ($($number:ident $variant:ident, $convert:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl ColumnNumber for $number {
            #[inline]
            fn number(self) -> f64 {
                let convert: fn($number) -> f64 = $convert;
                convert(self)
            }

            fn into_data(values: Vec<Self>) -> ColumnData {
                ColumnData::$variant(values)
            }

            fn slice_of(data: &ColumnData) -> Option<&[Self]> {
                match data {
                    ColumnData::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    )*};
}

column_number! {
    f64 F64, |x| x;
    f32 F32, f64::from;
    u8 U8, f64::from;
    u16 U16, f64::from;
    u32 U32, f64::from;
    i32 I32, f64::from;
    i64 I64, |x| x as f64;
}

/// One column: a value of one shape for each record, stored record after record.
///
/// Made from an array whose first axis counts the records, or from a vector of one number for each. The
/// numbers' memory is taken over, not copied, where the array is in row-major order; a column of integers may
/// serve as an index.
///
/// ```
/// use ndarray::array;
/// use ppl_core::records::ColumnType;
/// use ppl_core::{Column, Records};
/// let records = Records::from_columns([
///     ("x", Column::from(array![[0.5_f32, 1.5], [2.5, 3.5]])),
///     ("group", Column::from(vec![7_u32, 2])),
/// ])?;
/// assert_eq!(records.schema().column_type("group")?, ColumnType::U32);
/// assert_eq!(records.column(0).numbers().collect::<Vec<_>>(), [0.5, 1.5, 2.5, 3.5]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(super) data: ColumnData,
    pub(super) records: usize,
    pub(super) shape: Shape,
}

impl Column {
    /// The numbers, record after record.
    #[must_use]
    pub fn data(&self) -> &ColumnData {
        &self.data
    }
}

impl<T: ColumnNumber> From<Vec<T>> for Column {
    fn from(values: Vec<T>) -> Self {
        let records = values.len();
        Column { data: T::into_data(values), records, shape: Shape::scalar() }
    }
}

/// The first axis counts the records. An array without axes is taken as one record.
impl<T: ColumnNumber, D: Dimension> From<Array<T, D>> for Column {
    fn from(values: Array<T, D>) -> Self {
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
        Column { data: T::into_data(values), records, shape }
    }
}
