//! One operation with everything that running it takes but its operands: made once, run many times.

use super::scan::Compiled;
use super::{MOST_ARGUMENTS, Op, Operand, Work};
use crate::base::Shape;
use crate::machine::Scalar;
use std::fmt;
use std::sync::Arc;

/// An operation of known shapes, with its table laid out and its scratch memory counted.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    op: Op,
    /// Shapes of the arguments.
    shapes: Vec<Shape>,
    /// Shape of the result.
    shape: Shape,
    table: Vec<u32>,
    scratch_rows: usize,
    /// A loop, laid out.
    scan: Option<Arc<Compiled>>,
}

impl Planned {
    /// Plans an operation. `is_shared` says of an argument, by position, whether several lanes share it: only
    /// loops are laid out accordingly.
    pub(crate) fn new(op: &Op, shapes: Vec<Shape>, shape: Shape, is_shared: impl Fn(usize) -> bool) -> Self {
        let scan = match op {
            Op::Scan(scan) => {
                let shared: Vec<bool> = (0..shapes.len()).map(is_shared).collect();
                Some(Arc::new(Compiled::new(scan, &shared)))
            }
            _ => None,
        };
        let scratch_rows = match &scan {
            Some(scan) => scan.scratch_rows(),
            None => op.scratch_rows(&shapes, &shape),
        };
        Self { table: op.table(&shapes, &shape), op: op.clone(), shapes, shape, scratch_rows, scan }
    }

    /// Rows of scratch memory, of one number for each lane.
    pub(crate) fn scratch_rows(&self) -> usize {
        self.scratch_rows
    }

    /// The loop, where the operation is one.
    pub(crate) fn scan(&self) -> Option<&Compiled> {
        self.scan.as_deref()
    }

    /// Elementary operations of a lane: those of a loop, otherwise one for each element of the largest array.
    pub(crate) fn operations(&self) -> u64 {
        let elements = self.shapes.iter().chain([&self.shape]).map(Shape::elements);
        self.scan().map_or_else(|| elements.max().unwrap_or(0) as u64, Compiled::operations)
    }

    /// Computes it on so many lanes, in the shared part of a program or not. Operands are looked up by position.
    #[inline(always)]
    pub(crate) fn run<'a, T: Scalar>(
        &self,
        (lanes, shared): (usize, bool),
        out: &mut [T],
        operand: impl Fn(usize) -> Operand<'a, T>,
        scratch: &mut [T],
    ) {
        let scratch = &mut scratch[..self.scratch_rows * lanes];
        if let Some(scan) = &self.scan {
            return scan.run((lanes, shared), out, &operand, scratch);
        }
        let mut args = [Operand::Shared(&[][..]); MOST_ARGUMENTS];
        let count = self.shapes.len();
        for (index, to) in args[..count].iter_mut().enumerate() {
            *to = operand(index);
        }
        let args = &args[..count];
        let Self { shapes, shape, table, .. } = self;
        self.op.run(Work { lanes, shared, out, args, shapes, shape, table, scratch });
    }
}

impl fmt::Display for Planned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes: Vec<String> = self.shapes.iter().map(ToString::to_string).collect();
        write!(out, "{} {} → {}", self.op, shapes.join(" "), self.shape)
    }
}
