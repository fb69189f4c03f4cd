//! One record, as a model sees it.

use crate::base::{Error, Result};
use crate::op::{Graph, Var};
use crate::records::Schema;

/// One record, as a model sees it: symbolic values of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Record<'g> {
    graph: &'g Graph,
    schema: &'g Schema,
}

impl<'g> Record<'g> {
    /// A symbolic record of this schema.
    #[must_use]
    pub fn new(graph: &'g Graph, schema: &'g Schema) -> Self {
        Self { graph, schema }
    }

    /// The record's value in a column.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], which lists the columns there are.
    #[track_caller]
    pub fn get(&self, column: &str) -> Result<Var<'g>> {
        let (index, shape) = self.schema.find(column)?;
        self.graph.column(index, column, shape)
    }

    /// The record's value in a column of integers, as an index for [`Var::gather`].
    ///
    /// Integers reach a program as floating-point numbers: every one that may be an index (below 2²⁴)
    /// exactly, in `f32` too.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], or [`Error::Records`] if the column's numbers are not integers by their
    /// type.
    ///
    /// ```
    /// use ppl_core::{Column, Graph, Record, Records, Shape};
    /// let records = Records::from_columns([("group", Column::from(vec![2_u8, 0])), ("y", Column::from(vec![1_u8, 0]))])?;
    /// let graph = Graph::new();
    /// let effects = graph.input("effects", [3, 4])?;
    /// let effect = effects.gather(Record::new(&graph, records.schema()).index("group")?);
    /// assert_eq!(effect.shape(), Shape::from(4));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn index(&self, column: &str) -> Result<Var<'g>> {
        let column_type = self.schema.column_type(column)?;
        if !column_type.is_integer() {
            return Err(Error::Records(format!(
                "column '{column}' holds numbers of type {column_type}, which are not integers, so it is no index; \
                 give the column integers (u8, u16, u32, i32 or i64)"
            )));
        }
        self.get(column)
    }
}
