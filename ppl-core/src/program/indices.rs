//! Checks that columns that are used as indices hold rows of their tables.

use super::Program;
use crate::base::{Error, Origin, Result, Shape};
use crate::op::gather::is_row;
use crate::op::{Gather, Graph, Input, Node, Op, Scan, Shaping};
use crate::records::Records;

/// One operation, as [`check_indices`] looks at it.
struct Operation<'a> {
    op: &'a Op,
    args: Vec<usize>,
    shape: &'a Shape,
    source: &'a Origin,
}

/// The arguments of an operation that it uses as indices, and the rows there are.
fn indices(operation: &Operation<'_>, operations: &[Operation<'_>]) -> Vec<(usize, usize)> {
    match (operation.op, operation.args.as_slice()) {
        (Op::Gather(gather), &[values, index]) => vec![(index, rows(gather, operations[values].shape))],
        (Op::Scan(scan), args) => {
            scan_indices(scan).into_iter().map(|(leaf, rows)| (args[leaf], rows)).collect()
        }
        _ => Vec::new(),
    }
}

fn rows(gather: &Gather, values: &Shape) -> usize {
    match gather {
        Gather::Rows => values.dims().first().copied().unwrap_or(0),
        Gather::ScatterAdd { rows } => *rows,
    }
}

/// The leaves of a scan's body that it uses as indices, as they are or under another shape. Columns are not
/// carried.
fn scan_indices(scan: &Scan) -> Vec<(usize, usize)> {
    let (body, mut found) = (scan.body(), Vec::new());
    for node in body.nodes() {
        let inside = match (&node.op, node.args.as_slice()) {
            (Op::Gather(gather), &[values, index]) => {
                vec![(index, rows(gather, &body.nodes()[values as usize].shape))]
            }
            (Op::Scan(inner), args) => {
                scan_indices(inner).into_iter().map(|(leaf, rows)| (args[leaf], rows)).collect()
            }
            _ => continue,
        };
        for (mut index, rows) in inside {
            while let Node { op: Op::Shaping(Shaping::Reshape(_) | Shaping::Broadcast(_)), args, .. } =
                &body.nodes()[index as usize]
            {
                index = args[0];
            }
            if (body.carries()..body.leaves()).contains(&(index as usize)) {
                found.push((index as usize, rows));
            }
        }
    }
    found
}

/// Checks the indices that are columns, whether as they are or under another shape.
fn check_indices(operations: &[Operation<'_>], records: &Records) -> Result<()> {
    for (position, operation) in operations.iter().enumerate() {
        for (mut index, rows) in indices(operation, operations) {
            while let Op::Shaping(Shaping::Reshape(_) | Shaping::Broadcast(_)) = operations[index].op {
                index = operations[index].args[0];
            }
            let Op::Input(Input::Column { index: column, name }) = operations[index].op else {
                continue;
            };
            let shape = operations[index].shape;
            if records.schema().columns().nth(*column) != Some((name.as_str(), shape)) {
                return Err(Error::SchemaMismatch {
                    expected: format!("'{name}' {shape} as column {column}"),
                    got: records.schema().describe(),
                });
            }
            let mut numbers = records.column(*column).numbers().enumerate();
            if let Some((at, value)) = numbers.find(|&(_, number)| !is_row(number, rows)) {
                let record = at / shape.elements().max(1);
                let place = format!(" (column '{name}', record {record})");
                let site = first_site(operations, position);
                let source_line =
                    site.map_or_else(|| operation.source.clone(), |site| operation.source.of_site(site));
                return Err(Error::Index { value, rows, place, source_line });
            }
        }
    }
    Ok(())
}

/// The site of an operation, or of the first one that was made for a site and uses its result: a model looks
/// rows up between its statements.
fn first_site<'a>(operations: &[Operation<'a>], position: usize) -> Option<&'a str> {
    let mut uses = vec![false; operations.len()];
    uses[position] = true;
    for (at, operation) in operations.iter().enumerate().skip(position) {
        uses[at] |= operation.args.iter().any(|&arg| uses[arg]);
        if let (true, Some(site)) = (uses[at], operation.source.site()) {
            return Some(site);
        }
    }
    None
}

impl Graph {
    /// Checks that every column used as an index by [`Var::gather`](crate::Var::gather) holds rows of the
    /// table only.
    ///
    /// An index that is computed from columns is not checked; where it is bad, its record is NaN.
    ///
    /// # Errors
    /// [`Error::Index`] with the site that uses the rows, if one does, the column, the record, its number, the
    /// rows there are, and the line of the model; or [`Error::SchemaMismatch`]. The message quotes the data: it is for
    /// the holder of the records, and not private.
    ///
    /// ```
    /// use ppl_core::{Column, Graph, Record, Records};
    /// let records = Records::from_columns([("group", Column::from(vec![0_u8, 3, 1]))])?;
    /// let graph = Graph::new();
    /// let effect = graph.input("effects", 3)?.gather(Record::new(&graph, records.schema()).index("group")?);
    /// let message = graph.check_indices(&records).unwrap_err().to_string();
    /// assert!(message.starts_with("index 3 (column 'group', record 1) is not an integer from 0 to 3 - 1"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn check_indices(&self, records: &Records) -> Result<()> {
        self.with_nodes(|nodes| {
            let operations: Vec<Operation<'_>> = nodes
                .iter()
                .map(|node| Operation {
                    op: &node.op,
                    args: node.args.iter().map(|&arg| arg as usize).collect(),
                    shape: &node.shape,
                    source: &node.source,
                })
                .collect();
            check_indices(&operations, records)
        })
    }
}

impl Program {
    /// As [`Graph::check_indices`], for what the program computes.
    ///
    /// # Errors
    /// As there.
    pub fn check_indices(&self, records: &Records) -> Result<()> {
        let operations: Vec<Operation<'_>> = self
            .instructions
            .iter()
            .map(|instruction| Operation {
                op: &instruction.op,
                args: instruction.args.clone(),
                shape: &instruction.shape,
                source: &instruction.source,
            })
            .collect();
        check_indices(&operations, records)
    }
}
