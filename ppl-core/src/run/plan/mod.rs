//! A program with its memory laid out: made once, run many times, allocating nothing while it runs.
//!
//! Per-record values are stored with the record index innermost: an array of `k` elements over a tile of `n`
//! records is `k` rows of `n` numbers, so that whatever the shape of the array, an elementwise operation is
//! one sweep. Shared values are stored once. A plan runs its shared part once a run and its per-record part
//! once a tile.
//!
//! | file | what happens there |
//! |---|---|
//! | `group` | which elementwise operations run together in one sweep |
//! | `rank` | a list in which groups move, and which tells which of two comes first |
//! | `place`, `layout` | where values live, and who uses which memory when |
//! | `fused` | running a group |
//! | `dots` | inner products of records where they lie |
//! | `step` | running the other steps |
//! | `product` | matrix products |
//! | `explain` | a plan in words |
//! | `gather` | records' values from columns into rows |

mod dots;
mod explain;
mod fused;
mod gather;
mod group;
mod layout;
mod product;
mod rank;
mod step;
mod storage;

use crate::base::{Error, Result};
use crate::machine::Scalar;
use crate::machine::simd::{dispatch, dispatch_vectors};
use crate::op::Operand;
use crate::program::Program;
use crate::records::{Records, Schema, with_numbers};
use dots::RunDots;
pub use explain::{Explanation, StepExplanation};
use fused::{CHUNK, Memory};
use gather::{ask, gather, gather_all, gather_records};
#[cfg(any(test, feature = "proptest"))]
pub(crate) use layout::WIDE_COLUMN;
use layout::{Layout, Step};
use ndarray::Array2;
pub(crate) use product::{LARGE_PRODUCT, Matrix, multiply};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use step::RunFused;
use storage::Storage;

/// Bytes of per-record values a tile may take: about half of a common second-level cache.
const TILE_BYTES: usize = 256 * 1024;
/// Most names that an error lists.
const MOST_NAMES: usize = 40;
/// Most numbers of a per-record input of a batch.
const MOST_NUMBERS: usize = 1 << 40;
/// Bytes of a tile that is to stay in the first-level cache.
const FIRST_LEVEL_BYTES: usize = 40 * 1024;
/// Elementary operations in a batch from which on waking another thread pays.
pub(crate) const PARALLEL: u64 = 1 << 19;
/// Fewest and most records in a tile.
const TILE_RECORDS: Range<usize> = 16..1024;
/// Fewest records in a tile of a program with large matrix products, which are slow on narrow ones.
const WIDE_TILE_RECORDS: usize = 64;

/// A shared input's place, found once by name with [`ExecutionPlan::input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputId(usize);

/// A per-record input's place, found once by name with [`ExecutionPlan::record_input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordInputId(usize);

/// A [`Program`] laid out in memory for numbers of type `T`.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{ExecutionPlan, Graph, Program, Record, Records};
/// let records = Records::from_columns([("x", array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])])?;
/// let graph = Graph::new();
/// let w = graph.input("w", [2])?;
/// let x = Record::new(&graph, records.schema()).get("x")?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.dot(w)])?);
/// plan.set("w", &[10.0, 1.0])?;
/// plan.run();
/// plan.run_records(&records, &[2, 0])?;     // any records, in any order
/// assert_eq!(plan.record_output(0), [56.0, 12.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExecutionPlan<T> {
    layout: Layout<T>,
    /// Memory for tiles: one, or one for each thread.
    workspaces: Vec<Workspace<T>>,
    /// Values of each per-record input, record after record of a whole batch.
    record_inputs: Vec<Vec<T>>,
    tile: usize,
    /// Elementary operations for each record, as [`ExecutionPlan::explain`] counts them.
    operations: u64,
    /// The last schema that was found to have the plan's columns.
    fits: Option<Arc<Schema>>,
}

/// The memory of one tile.
#[derive(Clone, Debug)]
pub(crate) struct Workspace<T> {
    record: Vec<Vec<T>>,
    registers: Vec<Vec<T>>,
    scratch: Vec<T>,
    lanes: usize,
}

impl<T: Scalar> Workspace<T> {
    fn new(layout: &Layout<T>, tile: usize) -> Self {
        let scratch = layout.shared_scratch.max(layout.record_scratch_rows * tile);
        Self {
            record: layout.record_rows.iter().map(|rows| vec![T::zero(); rows * tile]).collect(),
            registers: vec![vec![T::zero(); CHUNK]; layout.registers],
            scratch: vec![T::zero(); scratch],
            lanes: 0,
        }
    }
}

impl<T: Scalar> ExecutionPlan<T> {
    /// Lays a program out, as [`Program::simplified_exactly`] has it: with fewer operations and the same
    /// results, bit for bit.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        Self::with_outputs_by_record(&program.simplified_exactly(), &[])
    }

    /// As [`ExecutionPlan::new`], for a program that is run as it is; the outputs named may be left record
    /// after record, as [`Operand::Records`].
    pub(crate) fn with_outputs_by_record(program: &Program, outputs: &[usize]) -> Self {
        let layout = Layout::new(program, outputs);
        let rows = layout.record_rows.iter().sum::<usize>() + layout.loop_rows();
        // Columns that stay record after record are read several times: from the first-level cache, if a tile
        // fits there.
        let by_record = layout.columns.iter().any(|column| column.by_record);
        let bytes = if by_record { FIRST_LEVEL_BYTES } else { TILE_BYTES };
        let fits = bytes / (rows.max(1) * size_of::<T>());
        let wide = layout.record_steps.iter().any(|step| matches!(step, Step::Product(_)));
        let fewest = if wide { WIDE_TILE_RECORDS } else { TILE_RECORDS.start };
        // In whole vectors, also of the shortest numbers.
        let fits = if by_record { fits / TILE_RECORDS.start * TILE_RECORDS.start } else { fits };
        let tile = fits.clamp(fewest, TILE_RECORDS.end);
        let workspaces = vec![Workspace::new(&layout, tile)];
        let record_inputs = vec![Vec::new(); layout.record_inputs.len()];
        let operations = layout.explanation[1].iter().map(|step| step.operations).sum();
        Self { layout, workspaces, record_inputs, tile, operations, fits: None }
    }

    /// Most records one call of [`ExecutionPlan::run_records`] takes.
    #[must_use]
    pub fn tile(&self) -> usize {
        self.tile
    }

    /// The place of a shared input.
    ///
    /// # Errors
    /// If the program has no such input.
    pub fn input(&self, name: &str) -> Result<InputId> {
        let known = || self.layout.inputs.iter().map(|slot| &slot.name);
        self.find_input(name).ok_or_else(|| no_such("input", name, known()))
    }

    /// The place of a shared input, if there is one: an error would list all inputs that there are.
    pub(crate) fn find_input(&self, name: &str) -> Option<InputId> {
        self.layout.names[0].get(name).copied().map(InputId)
    }

    /// The memory of a shared input, to be written before a run; row-major. Nothing for an input of another
    /// plan.
    pub fn input_mut(&mut self, input: InputId) -> &mut [T] {
        match self.layout.inputs.get(input.0) {
            Some(slot) => &mut self.layout.shared[slot.slot][..slot.len],
            None => &mut [],
        }
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

    /// The place of a per-record input.
    ///
    /// # Errors
    /// If the program has no such input.
    pub fn record_input(&self, name: &str) -> Result<RecordInputId> {
        let found = self.layout.names[1].get(name).copied();
        let known = || self.layout.record_inputs.iter().map(|slot| &slot.name);
        found.map(RecordInputId).ok_or_else(|| no_such("per-record input", name, known()))
    }

    /// The memory of a per-record input for a batch of this many records, to be written before the batch is
    /// run: record after record, each row-major. It allocates only when a batch is larger than any before.
    pub fn record_input_mut(&mut self, input: RecordInputId, records: usize) -> &mut [T] {
        let (Some(values), Some(slot)) =
            (self.record_inputs.get_mut(input.0), self.layout.record_inputs.get(input.0))
        else {
            return &mut [];
        };
        // More than any batch can hold is refused when the batch is run.
        let numbers = records.checked_mul(slot.elements).filter(|&numbers| numbers <= MOST_NUMBERS);
        values.resize(numbers.unwrap_or(0), T::zero());
        values
    }

    /// Runs the shared part.
    pub fn run(&mut self) {
        let (layout, workspace) = (&mut self.layout, &mut self.workspaces[0]);
        for step in &layout.shared_steps {
            match step {
                Step::Fused(fused) => dispatch(RunFused {
                    fused,
                    lanes: 1,
                    memory: Memory {
                        slots: &mut layout.shared,
                        shared: None,
                        registers: &mut workspace.registers,
                    },
                }),
                Step::Single(single) => single.run_shared(&mut layout.shared, &mut workspace.scratch),
                Step::Product(_) | Step::Dots(_) => {}
            }
        }
    }

    /// Gathers the records of `batch` (at most [`ExecutionPlan::tile`] of them) and runs the per-record part
    /// on them.
    ///
    /// # Errors
    /// If the records have other columns than the program, an index is out of range, there are too many, or a
    /// per-record input holds values for another number of records.
    pub fn run_records(&mut self, records: &Records, batch: &[u64]) -> Result<()> {
        self.run_tile(records, batch, 0, batch.len())
    }

    /// As [`ExecutionPlan::run_records`] for the part of a batch of `whole` records that begins at `start`.
    pub(crate) fn run_tile(
        &mut self,
        records: &Records,
        batch: &[u64],
        start: usize,
        whole: usize,
    ) -> Result<()> {
        self.check_schema(records)?;
        let (runner, workspaces) = self.runner_and_workspaces();
        runner.run(&mut workspaces[0], records, batch, batch.len(), start, whole)
    }

    /// What runs tiles, and the memory to run them in.
    pub(crate) fn runner_and_workspaces(&mut self) -> (Runner<'_, T>, &mut [Workspace<T>]) {
        let runner = Runner { layout: &self.layout, record_inputs: &self.record_inputs, tile: self.tile };
        (runner, &mut self.workspaces)
    }

    /// Makes sure there is memory for this many tiles at a time.
    pub(crate) fn reserve_workspaces(&mut self, count: usize) {
        let Self { workspaces, layout, tile, .. } = self;
        if workspaces.len() < count {
            workspaces.resize_with(count, || Workspace::new(layout, *tile));
        }
    }

    /// Elementary operations for each record, as [`ExecutionPlan::explain`] counts them.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Checks that records have the columns the program was planned for.
    pub(crate) fn check_schema(&mut self, records: &Records) -> Result<()> {
        let schema = records.schema();
        if self.fits.as_ref().is_some_and(|known| Arc::ptr_eq(known, schema)) {
            return Ok(());
        }
        let columns = &self.layout.columns;
        let fits = columns.iter().all(|slot| {
            schema
                .columns()
                .nth(slot.index)
                .is_some_and(|(name, shape)| name == slot.name && *shape == slot.shape)
        });
        if fits {
            self.fits = Some(Arc::clone(schema));
            return Ok(());
        }
        let expected: Vec<String> = columns
            .iter()
            .map(|slot| format!("'{}' {} as column {}", slot.name, slot.shape, slot.index))
            .collect();
        Err(Error::SchemaMismatch { expected: expected.join(", "), got: schema.describe() })
    }

    /// The `index`-th output, where it is shared; row-major.
    #[must_use]
    pub fn output(&self, index: usize) -> &[T] {
        match self.layout.outputs.get(index) {
            Some(&Storage::Shared { slot, len }) => &self.layout.shared[slot][..len],
            _ => &[],
        }
    }

    /// The `index`-th output, where it is per record: for each element a row with the values of the last
    /// tile's records.
    #[must_use]
    pub fn record_output(&self, index: usize) -> &[T] {
        match self.layout.outputs.get(index) {
            Some(&Storage::Rows { slot, rows }) => {
                let workspace = &self.workspaces[0];
                &workspace.record[slot][..rows * workspace.lanes]
            }
            _ => &[],
        }
    }

    /// An output of either kind, and the number of records of the last tile, which was that of this batch.
    pub(crate) fn output_operand<'a>(
        &'a self,
        batch: (&'a Records, &'a [u64]),
        index: usize,
    ) -> (Operand<'a, T>, usize) {
        let runner = Runner { layout: &self.layout, record_inputs: &self.record_inputs, tile: self.tile };
        runner.output(&self.workspaces[0], batch, index)
    }

    /// What the plan does, step by step, with its memory.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, Record, Schema};
    /// let (graph, schema) = (Graph::new(), Schema::new([("x", 2)])?);
    /// let w = graph.input("w", 2)?;
    /// let value = Record::new(&graph, &schema).get("x")?.dot(w).sigmoid().log();
    /// let plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[value])?);
    /// assert!(plan.explain().to_string().contains("sigmoid, log")); // two operations, one sweep
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Explanation {
        let [shared, record] = &*self.layout.explanation;
        let shared_numbers: usize = self.layout.shared.iter().map(Vec::len).sum();
        let record_numbers: usize = self.layout.record_rows.iter().sum();
        Explanation {
            shared: shared.clone(),
            record: record.clone(),
            tile: self.tile,
            shared_bytes: shared_numbers * size_of::<T>(),
            tile_bytes: record_numbers * self.tile * size_of::<T>(),
            record_numbers_without_reuse: self.layout.without_reuse,
            record_numbers,
        }
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.layout.outputs.len()
    }

    /// Runs both parts over the records of `batch` and returns one output as a matrix, a row for each record.
    ///
    /// # Errors
    /// As [`ExecutionPlan::run_records`].
    pub fn evaluate(&mut self, records: &Records, batch: &[u64], output: usize) -> Result<Array2<T>> {
        let Some(place) = self.layout.outputs.get(output).copied() else {
            let count = self.layout.outputs.len();
            return Err(Error::Values(format!(
                "the program has {count} outputs, there is no output {output}"
            )));
        };
        self.run();
        let width = place.elements();
        let mut matrix = Array2::from_elem((batch.len(), width), T::zero());
        for (tile, indices) in batch.chunks(self.tile).enumerate() {
            self.run_tile(records, indices, tile * self.tile, batch.len())?;
            let (operand, lanes) = self.output_operand((records, indices), output);
            for element in 0..width {
                for lane in 0..lanes {
                    matrix[[tile * self.tile + lane, element]] = operand.at(element, lane, lanes);
                }
            }
        }
        Ok(matrix)
    }

    /// Runs both parts over the records of `batch` and returns all outputs: a row for each record, in it one output
    /// after the other. Runs on several threads where there is much to do; results do not depend on how many there are.
    ///
    /// ```
    /// # use ndarray::array;
    /// # use ppl_core::{ExecutionPlan, Graph, Program, Record, Records};
    /// let records = Records::from_columns([("x", array![[1.0, 2.0], [3.0, 4.0]])])?;
    /// let graph = Graph::new();
    /// let x = Record::new(&graph, records.schema()).get("x")?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[x.sum(), 2.0 * x])?);
    /// assert_eq!(plan.evaluate_all(&records, &[1, 0])?, array![[7.0, 6.0, 8.0], [3.0, 2.0, 4.0]]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ExecutionPlan::run_records`].
    pub fn evaluate_all(&mut self, records: &Records, batch: &[u64]) -> Result<Array2<T>> {
        self.check_schema(records)?;
        self.run();
        let widths: Vec<usize> = self.layout.outputs.iter().map(|place| place.elements()).collect();
        let width: usize = widths.iter().sum();
        let mut all = vec![T::zero(); batch.len() * width];
        let (tile, whole) = (self.tile, batch.len());
        let tiles = whole.div_ceil(tile);
        let much = self.operations.saturating_mul(whole as u64) >= PARALLEL;
        let threads = if much { rayon::current_num_threads().clamp(1, tiles.max(1)) } else { 1 };
        self.reserve_workspaces(threads);
        let (runner, workspaces) = self.runner_and_workspaces();
        // Each thread takes some tiles in a row. Where tiles begin does not depend on that.
        let share = tiles.div_ceil(threads).max(1) * tile;
        let some = |first: usize, workspace: &mut Workspace<T>, rows: &mut [T]| -> Result<()> {
            for (place, rows) in rows.chunks_mut(tile * width).enumerate() {
                let (start, lanes) = (first + place * tile, rows.len() / width);
                let indices = &batch[start..start + lanes];
                runner.run(workspace, records, indices, lanes, start, whole)?;
                let mut column = 0;
                for (output, &elements) in widths.iter().enumerate() {
                    let (operand, _) = runner.output(workspace, (records, indices), output);
                    for (lane, row) in rows.chunks_exact_mut(width).enumerate() {
                        for (element, to) in row[column..column + elements].iter_mut().enumerate() {
                            *to = operand.at(element, lane, lanes);
                        }
                    }
                    column += elements;
                }
            }
            Ok(())
        };
        if width > 0 {
            let shares = workspaces[..threads].par_iter_mut().zip(all.par_chunks_mut(share * width));
            shares
                .enumerate()
                .try_for_each(|(number, (workspace, rows))| some(number * share, workspace, rows))?;
        }
        Array2::from_shape_vec((whole, width), all).map_err(|error| Error::Values(error.to_string()))
    }
}

/// Runs tiles of a plan whose shared part has been run; several at a time, each in memory of its own.
pub(crate) struct Runner<'p, T> {
    layout: &'p Layout<T>,
    record_inputs: &'p [Vec<T>],
    tile: usize,
}

impl<T> Clone for Runner<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Runner<'_, T> {}

impl<T: Scalar> Runner<'_, T> {
    /// As [`ExecutionPlan::run_tile`], for records that have been checked to have the plan's columns. The
    /// first `lanes` indices are those of the tile; records behind them are prefetched.
    pub(crate) fn run(
        &self,
        workspace: &mut Workspace<T>,
        records: &Records,
        and_ahead: &[u64],
        lanes: usize,
        start: usize,
        whole: usize,
    ) -> Result<()> {
        let batch = &and_ahead[..lanes];
        if lanes > self.tile {
            return Err(Error::Values(format!("a tile holds {} records, got {}", self.tile, batch.len())));
        }
        records.check_batch(batch)?;
        let layout = self.layout;
        workspace.lanes = lanes;
        for (slot, values) in layout.record_inputs.iter().zip(self.record_inputs) {
            if values.len() != whole * slot.elements {
                let (name, got) = (&slot.name, values.len());
                return Err(Error::Values(format!(
                    "per-record input '{name}' holds {got} numbers, but {whole} records take {}",
                    whole * slot.elements
                )));
            }
            let rows = &mut workspace.record[slot.slot][..slot.elements * lanes];
            let part = &values[start * slot.elements..];
            gather_all(rows, part, slot.elements, lanes);
        }
        // Those of the next tile and, at the beginning of a batch, of this one.
        let ahead = &and_ahead[if start == 0 { 0 } else { lanes }..and_ahead.len().min(2 * lanes)];
        for slot in &layout.columns {
            let (width, numbers) = (slot.shape.elements(), records.column(slot.index));
            let rows = &mut workspace.record[slot.slot][..width * lanes];
            if slot.by_record && numbers.as_slice::<T>().is_some() {
                // It is read where it lies.
                continue;
            }
            with_numbers!(numbers, values => ask(values, width, ahead));
            if slot.by_record {
                with_numbers!(numbers, values => gather_records(rows, values, width, batch));
            } else {
                with_numbers!(numbers, values => gather(rows, values, width, batch));
            }
        }
        for step in &layout.record_steps {
            match step {
                Step::Fused(fused) => dispatch(RunFused {
                    fused,
                    lanes,
                    memory: Memory {
                        slots: &mut workspace.record,
                        shared: Some(&layout.shared),
                        registers: &mut workspace.registers,
                    },
                }),
                Step::Single(single) => {
                    single.run_records(lanes, &mut workspace.record, &layout.shared, &mut workspace.scratch)
                }
                Step::Product(product) => product.run(lanes, &mut workspace.record, &layout.shared),
                Step::Dots(dots) => {
                    let (slots, shared) = (&mut workspace.record, &layout.shared);
                    dispatch_vectors(RunDots { dots, records, batch: and_ahead, lanes, slots, shared });
                }
            }
        }
        Ok(())
    }

    /// An output of either kind, and the number of records of the last tile, which was that of this batch.
    pub(crate) fn output<'w>(
        &self,
        workspace: &'w Workspace<T>,
        batch: (&'w Records, &'w [u64]),
        index: usize,
    ) -> (Operand<'w, T>, usize)
    where
        Self: 'w,
    {
        let operand = match self.layout.outputs[index] {
            Storage::Shared { slot, len } => Operand::Shared(&self.layout.shared[slot][..len]),
            Storage::Rows { slot, rows } => Operand::Rows(&workspace.record[slot][..rows * workspace.lanes]),
            Storage::Records(place) => Operand::Records(place.find(&workspace.record[place.slot], batch)),
        };
        (operand, workspace.lanes)
    }

    /// An output that is shared; row-major.
    pub(crate) fn shared_output(&self, index: usize) -> &[T] {
        match self.layout.outputs[index] {
            Storage::Shared { slot, len } => &self.layout.shared[slot][..len],
            Storage::Rows { .. } | Storage::Records(_) => &[],
        }
    }

    /// Sets one record's part of all outputs to zero, but of those that stay record after record.
    pub(crate) fn clear_lane(&self, workspace: &mut Workspace<T>, lane: usize) {
        let lanes = workspace.lanes;
        for &output in &self.layout.outputs {
            match output {
                Storage::Rows { slot, rows } => {
                    for row in workspace.record[slot][..rows * lanes].chunks_exact_mut(lanes) {
                        row[lane] = T::zero();
                    }
                }
                Storage::Shared { .. } | Storage::Records(_) => {}
            }
        }
    }
}

fn no_such<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Error {
    // Not all names of a model with thousands of sites, for whoever only asks whether there is one.
    let mut known = known.map(String::as_str);
    let mut told: Vec<&str> = known.by_ref().take(MOST_NAMES).collect();
    told.extend(known.next().map(|_| "…"));
    Error::Values(format!("the program has no {what} '{name}'; it has [{}]", told.join(", ")))
}
