//! A program with its memory laid out: made once, run many times, allocating nothing while it runs.
//!
//! Per-record values are stored with the record index innermost: an array of `k` elements over a tile of `n` records is
//! `k` rows of `n` numbers, so that whatever the shape of the array, an elementwise operation is one sweep. Shared values
//! are stored once. A plan runs its shared part once a run and its per-record part once a tile.

use crate::error::{Error, Result};
use crate::graph::{Kind, constant_values};
use crate::op::{Input, MOST_ARGUMENTS, Op, Operand, Shaping, Work};
use crate::program::{Instruction, Program};
use crate::records::Records;
use crate::scalar::Scalar;
use crate::shape::Shape;
use ndarray::Array2;
use std::ops::Range;

/// Bytes of per-record values a tile may take: about half of a common second-level cache.
const TILE_BYTES: usize = 256 * 1024;
/// Fewest and most records in a tile.
const TILE_RECORDS: Range<usize> = 16..1024;

/// Where a value lives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// A range of the shared buffer.
    Shared { offset: usize, len: usize },
    /// Rows of the record buffer; offsets in numbers follow from the records at hand.
    Rows { first: usize, rows: usize },
}

/// One operation, ready to run.
#[derive(Clone, Debug)]
struct Step {
    op: Op,
    out: Place,
    args: Vec<Place>,
    shapes: Vec<Shape>,
    shape: Shape,
    table: Vec<u32>,
    scratch_rows: usize,
}

/// A shared input's place, found once by name with [`Plan::input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputId(usize);

#[derive(Clone, Debug)]
struct InputSlot {
    name: String,
    offset: usize,
    len: usize,
}

#[derive(Clone, Debug)]
struct ColumnSlot {
    index: usize,
    name: String,
    shape: Shape,
    first: usize,
}

/// A [`Program`] laid out in memory for numbers of type `T`.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Graph, Plan, Program, Record, Records};
/// let records = Records::from_columns([("x", array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])])?;
/// let graph = Graph::new();
/// let w = graph.input("w", [2])?;
/// let x = Record::new(&graph, records.schema()).get("x")?;
/// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[x.dot(w)])?);
/// plan.set("w", &[10.0, 1.0])?;
/// plan.run();
/// plan.run_records(&records, &[2, 0])?;     // any records, in any order
/// assert_eq!(plan.record_output(0), [56.0, 12.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan<T> {
    shared_steps: Vec<Step>,
    record_steps: Vec<Step>,
    shared: Vec<T>,
    record: Vec<T>,
    scratch: Vec<T>,
    tile: usize,
    lanes: usize,
    inputs: Vec<InputSlot>,
    columns: Vec<ColumnSlot>,
    outputs: Vec<Place>,
}

impl<T: Scalar> Plan<T> {
    /// Lays a program out.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let mut plan = Self {
            shared_steps: Vec::new(),
            record_steps: Vec::new(),
            shared: Vec::new(),
            record: Vec::new(),
            scratch: Vec::new(),
            tile: 0,
            lanes: 0,
            inputs: Vec::new(),
            columns: Vec::new(),
            outputs: Vec::new(),
        };
        let mut rows = 0;
        let mut places: Vec<Place> = Vec::with_capacity(program.instructions.len());
        for instruction in &program.instructions {
            let place = plan.place(instruction, &places, &mut rows);
            plan.schedule(instruction, program, &places, place);
            places.push(place);
        }
        plan.outputs = program.outputs.iter().map(|&output| places[output]).collect();
        let bytes = rows.max(1) * size_of::<T>();
        plan.tile = (TILE_BYTES / bytes).clamp(TILE_RECORDS.start, TILE_RECORDS.end);
        plan.record = vec![T::zero(); rows * plan.tile];
        let scratch_rows = plan.record_steps.iter().map(|step| step.scratch_rows).max().unwrap_or(0);
        let scratch = plan.scratch.len().max(scratch_rows * plan.tile);
        plan.scratch.resize(scratch, T::zero());
        plan
    }

    fn place(&mut self, instruction: &Instruction, places: &[Place], rows: &mut usize) -> Place {
        let elements = instruction.shape.elements();
        match (&instruction.op, instruction.kind) {
            // The same numbers under another shape need no memory and no work.
            (Op::Shaping(Shaping::Reshape(_)), _) => places[instruction.args[0]],
            (_, Kind::PerRecord) => {
                let first = *rows;
                *rows += elements;
                Place::Rows { first, rows: elements }
            }
            (_, Kind::Shared) => {
                let offset = self.shared.len();
                self.shared.resize(offset + elements, T::zero());
                Place::Shared { offset, len: elements }
            }
        }
    }

    fn schedule(&mut self, instruction: &Instruction, program: &Program, places: &[Place], out: Place) {
        match (&instruction.op, out) {
            (Op::Input(Input::Shared(name)), Place::Shared { offset, len }) => {
                self.inputs.push(InputSlot { name: name.clone(), offset, len });
            }
            (Op::Input(Input::Column { index, name }), Place::Rows { first, .. }) => {
                let (name, shape) = (name.clone(), instruction.shape.clone());
                self.columns.push(ColumnSlot { index: *index, name, shape, first });
            }
            (Op::Constant(constant), Place::Shared { offset, len }) => {
                self.shared[offset..offset + len].copy_from_slice(&constant_values(constant));
            }
            (Op::Input(_) | Op::Constant(_) | Op::Shaping(Shaping::Reshape(_)), _) => {}
            (op, _) => {
                let shape = instruction.shape.clone();
                let shapes: Vec<Shape> =
                    instruction.args.iter().map(|&arg| program.instructions[arg].shape.clone()).collect();
                let step = Step {
                    op: op.clone(),
                    out,
                    args: instruction.args.iter().map(|&arg| places[arg]).collect(),
                    table: op.table(&shapes, &shape),
                    scratch_rows: op.scratch_rows(&shapes, &shape),
                    shapes,
                    shape,
                };
                match out {
                    Place::Shared { .. } => {
                        self.scratch.resize(self.scratch.len().max(step.scratch_rows), T::zero());
                        self.shared_steps.push(step);
                    }
                    Place::Rows { .. } => self.record_steps.push(step),
                }
            }
        }
    }

    /// Most records one call of [`Plan::run_records`] takes.
    #[must_use]
    pub fn tile(&self) -> usize {
        self.tile
    }

    /// The place of a shared input.
    ///
    /// # Errors
    /// If the program has no such input.
    pub fn input(&self, name: &str) -> Result<InputId> {
        let found = self.inputs.iter().position(|slot| slot.name == name);
        found.map(InputId).ok_or_else(|| {
            let known: Vec<&str> = self.inputs.iter().map(|slot| slot.name.as_str()).collect();
            Error::Values(format!("the program has no input '{name}'; it has [{}]", known.join(", ")))
        })
    }

    /// The memory of a shared input, to be written before a run; row-major.
    pub fn input_mut(&mut self, input: InputId) -> &mut [T] {
        let InputSlot { offset, len, .. } = self.inputs[input.0];
        &mut self.shared[offset..offset + len]
    }

    /// Sets a shared input by name.
    ///
    /// # Errors
    /// If there is no such input or `values` has another length.
    pub fn set(&mut self, name: &str, values: &[T]) -> Result<()> {
        let input = self.input(name)?;
        let slot = self.input_mut(input);
        if slot.len() != values.len() {
            let told = format!("input '{name}' takes {} numbers, got {}", slot.len(), values.len());
            return Err(Error::Values(told));
        }
        slot.copy_from_slice(values);
        Ok(())
    }

    /// Runs the shared part.
    pub fn run(&mut self) {
        for step in &self.shared_steps {
            let Place::Shared { offset, len } = step.out else {
                continue;
            };
            // Arguments were laid out before the result, so they lie below it.
            let (below, from_here) = self.shared.split_at_mut(offset);
            let operand = |place: Place| match place {
                Place::Shared { offset, len } => Operand::Rows(&below[offset..offset + len]),
                Place::Rows { .. } => Operand::Shared(&[]),
            };
            step.run(1, &mut from_here[..len], operand, &mut self.scratch);
        }
    }

    /// Gathers the records of `batch` (at most [`Plan::tile`] of them) and runs the per-record part on them.
    ///
    /// # Errors
    /// If the records have other columns than the program, an index is out of range, or there are too many.
    pub fn run_records(&mut self, records: &Records, batch: &[u64]) -> Result<()> {
        self.check_schema(records)?;
        if batch.len() > self.tile {
            return Err(Error::Values(format!("a tile holds {} records, got {}", self.tile, batch.len())));
        }
        if let Some(&index) = batch.iter().find(|&&index| index >= records.len() as u64) {
            return Err(Error::RecordIndex { index, records: records.len() });
        }
        let lanes = batch.len();
        self.lanes = lanes;
        for slot in &self.columns {
            let (width, values) = (slot.shape.elements(), records.column(slot.index));
            let rows = &mut self.record[slot.first * lanes..(slot.first + width) * lanes];
            gather(rows, values, width, batch);
        }
        for step in &self.record_steps {
            let Place::Rows { first, rows } = step.out else {
                continue;
            };
            let (below, from_here) = self.record.split_at_mut(first * lanes);
            let shared = &self.shared;
            let operand = |place: Place| match place {
                Place::Shared { offset, len } => Operand::Shared(&shared[offset..offset + len]),
                Place::Rows { first, rows } => Operand::Rows(&below[first * lanes..(first + rows) * lanes]),
            };
            step.run(lanes, &mut from_here[..rows * lanes], operand, &mut self.scratch);
        }
        Ok(())
    }

    fn check_schema(&self, records: &Records) -> Result<()> {
        let schema = records.schema();
        let fits = self.columns.iter().all(|slot| {
            schema
                .columns()
                .nth(slot.index)
                .is_some_and(|(name, shape)| name == slot.name && *shape == slot.shape)
        });
        if fits {
            return Ok(());
        }
        let expected: Vec<String> = self
            .columns
            .iter()
            .map(|slot| format!("'{}' {} as column {}", slot.name, slot.shape, slot.index))
            .collect();
        Err(Error::SchemaMismatch { expected: expected.join(", "), got: schema.describe() })
    }

    /// The `index`-th output, where it is shared; row-major.
    #[must_use]
    pub fn output(&self, index: usize) -> &[T] {
        match self.outputs[index] {
            Place::Shared { offset, len } => &self.shared[offset..offset + len],
            Place::Rows { .. } => &[],
        }
    }

    /// The `index`-th output, where it is per record: for each element a row with the values of the last tile's records.
    #[must_use]
    pub fn record_output(&self, index: usize) -> &[T] {
        match self.outputs[index] {
            Place::Rows { first, rows } => &self.record[first * self.lanes..(first + rows) * self.lanes],
            Place::Shared { .. } => &[],
        }
    }

    /// An output of either kind, and the number of records of the last tile.
    pub(crate) fn output_operand(&self, index: usize) -> (Operand<'_, T>, usize) {
        let operand = match self.outputs[index] {
            Place::Shared { .. } => Operand::Shared(self.output(index)),
            Place::Rows { .. } => Operand::Rows(self.record_output(index)),
        };
        (operand, self.lanes)
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Sets one record's part of an output to zero.
    pub(crate) fn clear_lane(&mut self, output: usize, lane: usize) {
        if let Place::Rows { first, rows } = self.outputs[output] {
            for row in first..first + rows {
                self.record[row * self.lanes + lane] = T::zero();
            }
        }
    }

    /// Runs both parts over the records of `batch` and returns one output as a matrix, a row for each record.
    ///
    /// # Errors
    /// As [`Plan::run_records`].
    pub fn evaluate(&mut self, records: &Records, batch: &[u64], output: usize) -> Result<Array2<T>> {
        self.run();
        let width = match self.outputs[output] {
            Place::Shared { len, .. } => len,
            Place::Rows { rows, .. } => rows,
        };
        let mut matrix = Array2::from_elem((batch.len(), width), T::zero());
        for (tile, indices) in batch.chunks(self.tile).enumerate() {
            self.run_records(records, indices)?;
            let (operand, lanes) = self.output_operand(output);
            for element in 0..width {
                for lane in 0..lanes {
                    matrix[[tile * self.tile + lane, element]] = match operand {
                        Operand::Rows(rows) => rows[element * lanes + lane],
                        Operand::Shared(values) => values[element],
                    };
                }
            }
        }
        Ok(matrix)
    }
}

/// Elements of a record that are gathered together: as many as a cache line holds.
const GATHER: usize = 8;

/// Copies the records of `batch` (`width` numbers each) into rows, one row for each element, transposing on the way.
///
/// The inner loop writes one row from end to end, so that writes are sequential; blocks of elements keep the cache lines
/// that it reads from near.
fn gather<T: Scalar>(rows: &mut [T], values: &[f64], width: usize, batch: &[u64]) {
    let lanes = batch.len();
    if lanes == 0 {
        return;
    }
    for (block, rows) in rows.chunks_mut(GATHER * lanes).enumerate() {
        for (element, row) in rows.chunks_exact_mut(lanes).enumerate() {
            let values = &values[block * GATHER + element..];
            for (slot, &index) in row.iter_mut().zip(batch) {
                *slot = T::of(values[index as usize * width]);
            }
        }
    }
}

impl Step {
    #[inline]
    fn run<'a, T: Scalar>(
        &self,
        lanes: usize,
        out: &mut [T],
        operand: impl Fn(Place) -> Operand<'a, T>,
        scratch: &mut [T],
    ) {
        let mut args = [Operand::Shared(&[][..]); MOST_ARGUMENTS];
        for (slot, &place) in args.iter_mut().zip(&self.args) {
            *slot = operand(place);
        }
        self.op.run(Work {
            lanes,
            out,
            args: &args[..self.args.len()],
            shapes: &self.shapes,
            shape: &self.shape,
            table: &self.table,
            scratch: &mut scratch[..self.scratch_rows * lanes],
        });
    }
}
