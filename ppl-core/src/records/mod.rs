//! Records: named columns, one row each.

mod column;
#[cfg(feature = "csv")]
mod csv;
mod sparse;

use crate::base::{Error, Result, Shape};
pub(crate) use column::with_numbers;
pub use column::{Column, ColumnData, ColumnNumber, ColumnType};
#[cfg(feature = "csv")]
pub use csv::CsvColumn;
pub use sparse::SparseRows;
use std::sync::Arc;

/// Names, shapes and number types of the columns of a table of records; what a model may know of the data
/// while it is traced. The default has no columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    columns: Vec<(String, Shape)>,
    types: Vec<ColumnType>,
}

impl Schema {
    /// A schema of these columns; a shape is that of one record's value. Columns hold `f64` unless
    /// [`Schema::with_type`] says otherwise.
    ///
    /// # Errors
    /// If two columns share a name, or a shape is too large.
    pub fn new<N: Into<String>, S: Into<Shape>>(columns: impl IntoIterator<Item = (N, S)>) -> Result<Self> {
        let mut known: Vec<(String, Shape)> = Vec::new();
        for (name, shape) in columns {
            let name = name.into();
            if known.iter().any(|(other, _)| *other == name) {
                return Err(Error::Records(format!("the column name '{name}' appears twice")));
            }
            known.push((name, shape.into().checked()?));
        }
        let types = vec![ColumnType::default(); known.len()];
        Ok(Self { columns: known, types })
    }

    /// The same schema with another number type for one of its columns.
    ///
    /// # Errors
    /// If there is no such column.
    ///
    /// ```
    /// use ppl_core::records::ColumnType;
    /// use ppl_core::{Graph, Record, Schema};
    /// let schema = Schema::new([("x", 3), ("group", 1)])?.with_type("group", ColumnType::I64)?;
    /// let graph = Graph::new();
    /// let record = Record::new(&graph, &schema);
    /// assert!(record.index("group").is_ok());
    /// assert!(record.index("x").unwrap_err().to_string().contains("f64"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn with_type(mut self, name: &str, column_type: ColumnType) -> Result<Self> {
        let (index, _) = self.find(name)?;
        self.types[index] = column_type;
        Ok(self)
    }

    /// The number type of a column.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn column_type(&self, name: &str) -> Result<ColumnType> {
        Ok(self.types[self.find(name)?.0])
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
///
/// A clone shares the numbers with what it was cloned from, so that it takes no memory of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    schema: Arc<Schema>,
    columns: Vec<Arc<ColumnData>>,
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
        let mut schema =
            Schema::new(columns.iter().map(|(name, column)| (name.clone(), column.shape.clone())))?;
        schema.types = columns.iter().map(|(_, column)| column.data.column_type()).collect();
        let columns = columns.into_iter().map(|(_, column)| Arc::new(column.data)).collect();
        Ok(Self { schema: Arc::new(schema), columns, records })
    }

    /// The same records with one more column, or with this one in place of the column of the same name.
    ///
    /// # Errors
    /// If the column has another number of rows than the records.
    ///
    /// ```
    /// use ppl_core::Records;
    /// let people = Records::from_columns([("x", vec![1.0, 2.0])])?;
    /// let people = people.with_column("y", vec![0_u8, 1])?.with_column("x", vec![3.0, 4.0])?;
    /// assert_eq!(people.schema().columns().map(|(name, _)| name).collect::<Vec<_>>(), ["x", "y"]);
    /// assert_eq!(people.column(0).as_slice::<f64>(), Some(&[3.0, 4.0][..]));
    /// assert!(people.with_column("z", vec![0.0; 3]).is_err());
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn with_column(self, name: impl Into<String>, column: impl Into<Column>) -> Result<Self> {
        let (name, Column { data, records, shape }) = (name.into(), column.into());
        if !self.columns.is_empty() && records != self.records {
            return Err(Error::Records(format!(
                "column '{name}' has {records} rows, and there are {} records",
                self.records
            )));
        }
        let (mut schema, mut columns) = (Schema::clone(&self.schema), self.columns);
        let (shape, column_type) = (shape.checked()?, data.column_type());
        match schema.columns.iter().position(|(known, _)| *known == name) {
            Some(place) => {
                schema.columns[place].1 = shape;
                schema.types[place] = column_type;
                columns[place] = Arc::new(data);
            }
            None => {
                schema.columns.push((name, shape));
                schema.types.push(column_type);
                columns.push(Arc::new(data));
            }
        }
        Ok(Self { schema: Arc::new(schema), columns, records })
    }

    /// The same records with what is made of the column of this name in its place. `change` is given its
    /// numbers: they are copied only where other records share them.
    ///
    /// # Errors
    /// If there is no such column, `change` fails, or what it makes has another number of rows than the records.
    ///
    /// ```
    /// use ppl_core::{Records, records::ColumnData};
    /// let people = Records::from_columns([("x", vec![1.0, 2.0])])?;
    /// let halved = people.change_column("x", |x| Ok(x.numbers().map(|x| 0.5 * x).collect::<Vec<f64>>()))?;
    /// assert_eq!(halved.column(0).as_slice::<f64>(), Some(&[0.5, 1.0][..]));
    /// assert!(halved.change_column("z", |x: ColumnData| Ok(vec![0.0; x.len()])).is_err());
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn change_column<C: Into<Column>>(
        mut self,
        name: &str,
        change: impl FnOnce(ColumnData) -> Result<C>,
    ) -> Result<Self> {
        let (place, _) = self.schema.find(name)?;
        let nothing = Arc::new(ColumnData::F64(Vec::new()));
        let numbers = std::mem::replace(&mut self.columns[place], nothing);
        let numbers = Arc::try_unwrap(numbers).unwrap_or_else(|shared| ColumnData::clone(&shared));
        self.with_column(name, change(numbers)?)
    }

    /// No columns and no records: what goes into [`simulate`](crate::simulate),
    /// [`log_density`](crate::log_density) or [`Predictive::run`](crate::Predictive::run) for a model without
    /// [`each_record`](crate::Ctx::each_record).
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Records, simulate};
    /// let model = |ctx: &mut Ctx<'_>| {
    ///     let level = ctx.param("level", 2.0, Constraint::Real)?;
    ///     ctx.deterministic("twice", 2.0 * level).map(|_| ())
    /// };
    /// assert_eq!(simulate(&model, &Records::none())?["twice"][[]], 4.0);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    pub fn none() -> Self {
        Self { schema: Arc::default(), columns: Vec::new(), records: 0 }
    }

    /// The same records without the columns of these names.
    pub(crate) fn without(&self, names: &[&str]) -> Self {
        let kept: Vec<usize> = (0..self.columns.len())
            .filter(|&at| !names.contains(&self.schema.columns[at].0.as_str()))
            .collect();
        let schema = Schema {
            columns: kept.iter().map(|&at| self.schema.columns[at].clone()).collect(),
            types: kept.iter().map(|&at| self.schema.types[at]).collect(),
        };
        let columns = kept.iter().map(|&at| Arc::clone(&self.columns[at])).collect();
        Self { schema: Arc::new(schema), columns, records: self.records }
    }

    /// The same records with the columns of another schema, in its order. Columns that these records have not
    /// are zeros, if nothing reads them.
    pub(crate) fn arranged(&self, schema: &Schema, read: &[String]) -> Result<Self> {
        let mut schema = schema.clone();
        let mut columns = Vec::with_capacity(schema.columns.len());
        for (index, (name, shape)) in schema.columns.iter().enumerate() {
            let ours = self.schema.columns.iter().position(|(ours, of)| ours == name && of == shape);
            match ours {
                Some(ours) => {
                    columns.push(Arc::clone(&self.columns[ours]));
                    schema.types[index] = self.schema.types[ours];
                }
                None if read.contains(name) => {
                    let told = format!(
                        "the prediction reads column '{name}' {shape}; the records have {}",
                        self.schema.describe()
                    );
                    return Err(Error::Records(told));
                }
                None => {
                    columns.push(Arc::new(ColumnData::F64(vec![0.0; self.records * shape.elements()])));
                    schema.types[index] = ColumnType::F64;
                }
            }
        }
        Ok(Self { schema: Arc::new(schema), columns, records: self.records })
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

    /// Checks that all indices are those of records.
    pub(crate) fn check_batch(&self, batch: &[u64]) -> Result<()> {
        match batch.iter().find(|&&index| index >= self.records as u64) {
            Some(&index) => Err(Error::RecordIndex { index, records: self.records }),
            None => Ok(()),
        }
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The numbers of the column at a position of the schema, record after record.
    ///
    /// # Panics
    /// If the schema has no such position.
    #[must_use]
    pub fn column(&self, index: usize) -> &ColumnData {
        &self.columns[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

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
        assert_eq!(records.column(0).as_slice::<f64>().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }

    #[test]
    fn a_sliced_array_keeps_its_own_elements_only() {
        let mut x = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        x.slice_collapse(ndarray::s![1.., ..]);
        let records = Records::from_columns([("x", x)]).unwrap();
        assert_eq!(records.column(0).as_slice::<f64>().unwrap(), [3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn row_major_memory_is_taken_over_and_not_copied() {
        fn kept<T: ColumnNumber>(values: Vec<T>) {
            let here = values.as_ptr();
            let column = Column::from(Array2::from_shape_vec((2, values.len() / 2), values).unwrap());
            let records = Records::from_columns([("x", column)]).unwrap();
            assert_eq!(records.column(0).as_slice::<T>().unwrap().as_ptr(), here);
        }
        kept(vec![1.0_f64; 6]);
        kept(vec![1.0_f32; 6]);
        kept(vec![1_u8; 6]);
        kept(vec![1_u32; 6]);
        kept(vec![1_i32; 6]);
        kept(vec![1_i64; 6]);
        let clone = |records: &Records| records.clone().with_column("y", vec![1.0, 2.0]).unwrap();
        let records = Records::from_columns([("x", vec![3_u8, 4])]).unwrap();
        let here = records.column(0).as_slice::<u8>().unwrap().as_ptr();
        assert_eq!(clone(&records).column(0).as_slice::<u8>().unwrap().as_ptr(), here);
        let one = vec![1_u32, 2];
        let here = one.as_ptr();
        assert_eq!(Column::from(one).data().as_slice::<u32>().unwrap().as_ptr(), here);
    }
}
