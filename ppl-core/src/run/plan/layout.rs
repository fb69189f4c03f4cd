//! From a program to steps and memory.
//!
//! The shared part of a program and its per-record part are laid out one after the other by the same rules:
//! instructions are grouped, groups become steps, and each value gets a slot from its first step to its last.

use crate::base::Shape;
use crate::machine::Scalar;
use crate::op::scan::Compiled;
use crate::op::{Input, Kind, Linear, Op, Planned, Shaping, constant_values};
use crate::program::Program;
use crate::run::plan::explain::{StepExplanation, without_reuse};
use crate::run::plan::fused::{Function, Fused, Micro, ReadFrom, WriteTo, padded};
use crate::run::plan::group::{absorb, groups};
use crate::run::plan::product::LARGE_PRODUCT;
use crate::run::plan::storage::{RecordsStorage, Slots, Storage};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// One thing to do.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A group of elementwise operations.
    Fused(Fused),
    /// One operation by its own rule.
    Single(Single),
    /// All inner products of a column, record by record.
    Dots(Dots),
    /// `out = A x` or `out = Aᵀ x` for a shared matrix and a vector of each record: one matrix product.
    Product(Product),
}

/// One operation by its own rule.
#[derive(Clone, Debug)]
pub(crate) struct Single {
    pub(crate) operation: Planned,
    pub(crate) out: Storage,
    pub(crate) args: Vec<Storage>,
}

/// Inner products of a column, whose records lie one after the other, with shared arrays and with itself.
#[derive(Clone, Debug)]
pub(crate) struct Dots {
    pub(crate) column: RecordsStorage,
    /// A slot of one row for the products with itself.
    pub(crate) square: Option<usize>,
    pub(crate) with: Vec<Dot>,
}

/// Inner products with a shared array.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    /// A slot of one row.
    pub(crate) out: usize,
    /// The slot of the shared array.
    pub(crate) shared: usize,
}

/// A shared matrix times a vector of each record.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) out: Storage,
    pub(crate) matrix: usize,
    pub(crate) vector: Storage,
    /// Shape of the matrix as it lies in memory.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Whether it is used transposed.
    pub(crate) transposed: bool,
}

/// A shared input's place.
#[derive(Clone, Debug)]
pub(crate) struct InputSlot {
    pub(crate) name: String,
    pub(crate) slot: usize,
    pub(crate) len: usize,
}

/// A column's place.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSlot {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) slot: usize,
    /// Whether it stays record after record.
    pub(crate) by_record: bool,
}

/// A per-record input's place.
#[derive(Clone, Debug)]
pub(crate) struct RecordInputSlot {
    pub(crate) name: String,
    pub(crate) elements: usize,
    pub(crate) slot: usize,
}

/// A program laid out; everything about it that does not change from run to run.
#[derive(Clone, Debug)]
pub(crate) struct Layout<T> {
    pub(crate) shared_steps: Vec<Step>,
    pub(crate) record_steps: Vec<Step>,
    /// The shared memory with the constants in it.
    pub(crate) shared: Vec<Vec<T>>,
    /// Rows of each slot of the record memory.
    pub(crate) record_rows: Vec<usize>,
    pub(crate) inputs: Vec<InputSlot>,
    pub(crate) columns: Vec<ColumnSlot>,
    pub(crate) record_inputs: Vec<RecordInputSlot>,
    /// Places in `inputs` and in `record_inputs` by name.
    pub(crate) names: Arc<[HashMap<String, usize>; 2]>,
    pub(crate) outputs: Vec<Storage>,
    /// Numbers of scratch memory: for the shared part, and rows for the record part.
    pub(crate) shared_scratch: usize,
    pub(crate) record_scratch_rows: usize,
    pub(crate) registers: usize,
    /// What the steps do, in words.
    pub(crate) explanation: Arc<[Vec<StepExplanation>; 2]>,
    /// Per-record numbers of a record without fusion and reuse of memory.
    pub(crate) without_reuse: usize,
}

impl<T: Scalar> Layout<T> {
    /// Lays a program out. Columns that `by_record` allows, and that are used in inner products only, stay
    /// record after record.
    pub(crate) fn new(program: &Program, by_record: &[usize]) -> Self {
        let mut builder = Builder::new(program, by_record);
        let mut shared_slots = Slots::default();
        let mut record_slots = Slots::default();
        let (shared_steps, shared_words) = builder.phase(Kind::Shared, &mut shared_slots);
        let (record_steps, record_words) = builder.phase(Kind::PerRecord, &mut record_slots);
        let mut layout = Self {
            shared: shared_slots.sizes().iter().map(|&size| vec![T::zero(); size]).collect(),
            record_rows: record_slots.sizes().to_vec(),
            inputs: Vec::new(),
            columns: Vec::new(),
            record_inputs: Vec::new(),
            names: Arc::default(),
            outputs: program.outputs.iter().map(|&output| builder.place(output)).collect(),
            shared_scratch: scratch(&shared_steps),
            record_scratch_rows: scratch(&record_steps),
            registers: shared_steps.iter().chain(&record_steps).map(Step::registers).max().unwrap_or(0),
            shared_steps,
            record_steps,
            explanation: Arc::new([shared_words, record_words]),
            without_reuse: without_reuse(program),
        };
        for (index, instruction) in program.instructions.iter().enumerate() {
            match (&instruction.op, builder.places[index]) {
                (Op::Input(Input::Shared(name)), Some(Storage::Shared { slot, len })) => {
                    layout.inputs.push(InputSlot { name: name.clone(), slot, len });
                }
                (Op::Input(Input::Column { index, name }), Some(place)) => {
                    let (name, shape, slot) = (name.clone(), instruction.shape.clone(), place.slot());
                    let by_record = matches!(place, Storage::Records(_));
                    layout.columns.push(ColumnSlot { index: *index, name, shape, slot, by_record });
                }
                (Op::Input(Input::PerRecord(name)), Some(Storage::Rows { slot, rows })) => {
                    layout.record_inputs.push(RecordInputSlot { name: name.clone(), elements: rows, slot });
                }
                (Op::Constant(constant), Some(Storage::Shared { slot, len })) => {
                    layout.shared[slot][..len].copy_from_slice(&constant_values(constant));
                }
                _ => {}
            }
        }
        let place = |(place, name): (usize, &String)| (name.clone(), place);
        let shared = layout.inputs.iter().map(|slot| &slot.name).enumerate().map(place).collect();
        let of_records = layout.record_inputs.iter().map(|slot| &slot.name).enumerate().map(place).collect();
        layout.names = Arc::new([shared, of_records]);
        layout
    }
}

impl<T> Layout<T> {
    /// Rows of the record memory in which loops keep the values of one step.
    pub(crate) fn loop_rows(&self) -> usize {
        let rows = |step: &Step| match step {
            Step::Single(single) => single.operation.scan().map_or(0, Compiled::scratch_rows),
            _ => 0,
        };
        self.record_steps.iter().map(rows).max().unwrap_or(0)
    }
}

fn scratch(steps: &[Step]) -> usize {
    let rows = |step: &Step| match step {
        Step::Single(single) => single.operation.scratch_rows(),
        Step::Fused(_) | Step::Product(_) | Step::Dots(_) => 0,
    };
    steps.iter().map(rows).max().unwrap_or(0)
}

impl Step {
    fn registers(&self) -> usize {
        match self {
            Step::Fused(fused) => fused.registers(),
            Step::Single(_) | Step::Product(_) | Step::Dots(_) => 0,
        }
    }
}

/// What is known of each instruction while a program is laid out.
struct Builder<'p> {
    program: &'p Program,
    /// The value an instruction stands for: itself, or what it only gives another shape.
    root: Vec<usize>,
    places: Vec<Option<Storage>>,
    /// Values that must last until the end of a run: leaves that are not computed, outputs, and shared values
    /// that records use.
    lasting: Vec<bool>,
    /// Columns that stay record after record.
    by_record: Vec<bool>,
}

/// Fewest elements of a column for which inner products are taken record by record.
pub(crate) const WIDE_COLUMN: usize = 16;

impl<'p> Builder<'p> {
    fn new(program: &'p Program, outputs_by_record: &[usize]) -> Self {
        let count = program.instructions.len();
        let mut root: Vec<usize> = (0..count).collect();
        let mut lasting = vec![false; count];
        for (index, instruction) in program.instructions.iter().enumerate() {
            if matches!(instruction.op, Op::Shaping(Shaping::Reshape(_))) {
                root[index] = root[instruction.args[0]];
            }
            // Shared leaves are written from outside, or once and for all.
            lasting[index] |= is_leaf(&instruction.op) && instruction.kind == Kind::Shared;
            for &arg in &instruction.args {
                lasting[root[arg]] |= instruction.kind != program.instructions[arg].kind;
            }
        }
        program.outputs.iter().for_each(|&output| lasting[root[output]] = true);
        let by_record = by_record(program, &root, outputs_by_record);
        Self { program, root, places: vec![None; count], lasting, by_record }
    }

    /// The place of a value that has been laid out, under whatever shape.
    fn place(&self, index: usize) -> Storage {
        self.places[self.root[index]].unwrap_or(Storage::Shared { slot: 0, len: 0 })
    }

    /// Lays one part of the program out.
    fn phase(&mut self, kind: Kind, slots: &mut Slots) -> (Vec<Step>, Vec<StepExplanation>) {
        let program = self.program;
        let here = |index: usize| program.instructions[index].kind == kind;
        let moves_nothing = |index: usize| self.root[index] != index;
        for (index, instruction) in program.instructions.iter().enumerate() {
            if here(index) && is_leaf(&instruction.op) {
                let width = instruction.shape.elements();
                self.places[index] = Some(match instruction.op {
                    Op::Input(Input::Column { index: column, .. }) if self.by_record[index] => {
                        Storage::Records(RecordsStorage { slot: slots.take(width), width, column })
                    }
                    _ => new_place(kind, width, slots),
                });
            }
        }
        let mut order = groups(program, |index| {
            !here(index) || is_leaf(&program.instructions[index].op) || moves_nothing(index)
        });
        match kind {
            Kind::Shared => absorb(program, &self.root, &mut order),
            Kind::PerRecord => self.gather_inner_products(&mut order),
        }
        // The last group that reads each value.
        let mut last_use = vec![None; program.instructions.len()];
        for (position, group) in order.iter().enumerate() {
            for &arg in group.iter().flat_map(|&index| &program.instructions[index].args) {
                last_use[self.root[arg]] = Some(position);
            }
        }
        let mut group_of = vec![usize::MAX; program.instructions.len()];
        for (position, group) in order.iter().enumerate() {
            group.iter().for_each(|&index| group_of[index] = position);
        }
        let mut steps = Vec::with_capacity(order.len());
        let mut words = Vec::with_capacity(order.len());
        for (position, group) in order.iter().enumerate() {
            let step = if program.instructions[group[0]].op.is_elementwise() {
                self.fuse(kind, group, position, &last_use, &group_of, slots)
            } else if let Some(column) = self.wide_column(group[0]) {
                self.dots(column, group, slots)
            } else {
                self.single(kind, group[0], slots)
            };
            words.push(StepExplanation::new(program, group, &step));
            steps.push(step);
            self.release(kind, group, position, &last_use, slots);
        }
        (steps, words)
    }

    /// Whether a value's memory is free after the group at `position`.
    fn dies(&self, value: usize, kind: Kind, position: usize, last_use: &[Option<usize>]) -> bool {
        !self.lasting[value]
            && self.program.instructions[value].kind == kind
            && last_use[value] == Some(position)
    }

    /// Takes back the slots of values that were read for the last time.
    fn release(
        &mut self,
        kind: Kind,
        group: &[usize],
        position: usize,
        last_use: &[Option<usize>],
        slots: &mut Slots,
    ) {
        let program = self.program;
        let mut values: Vec<usize> = group
            .iter()
            .flat_map(|&index| &program.instructions[index].args)
            .map(|&arg| self.root[arg])
            .collect();
        values.sort_unstable();
        values.dedup();
        for value in values {
            if self.dies(value, kind, position, last_use)
                && let Some(slot) = self.slot(value)
                // A slot that a result of this group has taken over lives on under that name.
                && !group.iter().any(|&index| index != value && self.slot(index) == Some(slot))
            {
                slots.give_back(slot);
            }
        }
    }

    fn slot(&self, index: usize) -> Option<usize> {
        self.places[index].map(Storage::slot)
    }

    fn single(&mut self, kind: Kind, index: usize, slots: &mut Slots) -> Step {
        let instruction = &self.program.instructions[index];
        let args: Vec<Storage> = instruction.args.iter().map(|&arg| self.place(arg)).collect();
        let shapes: Vec<Shape> =
            instruction.args.iter().map(|&arg| self.program.instructions[arg].shape.clone()).collect();
        let out = new_place(kind, instruction.shape.elements(), slots);
        self.places[index] = Some(out);
        if let Some(product) = product(&instruction.op, out, &args, &shapes) {
            return Step::Product(product);
        }
        // Once a run there is one lane, and nothing is shared by several.
        let is_shared = |arg: usize| kind == Kind::PerRecord && matches!(args[arg], Storage::Shared { .. });
        let operation = Planned::new(&instruction.op, shapes, instruction.shape.clone(), is_shared);
        Step::Single(Single { operation, out, args })
    }

    /// The column that stays record after record and of which this is an inner product.
    fn wide_column(&self, index: usize) -> Option<RecordsStorage> {
        let args = &self.program.instructions[index].args;
        args.iter().find_map(|&arg| match self.places[self.root[arg]] {
            Some(Storage::Records(place)) => Some(place),
            _ => None,
        })
    }

    /// Puts all inner products of such a column where the first of them is, so that its numbers are read
    /// once: they wait for nothing, since shared values are there before the first record.
    fn gather_inner_products(&self, order: &mut Vec<Vec<usize>>) {
        let mut first_of: HashMap<RecordsStorage, usize> = HashMap::new();
        for position in 0..order.len() {
            let index = order[position][0];
            let Some(column) = self.wide_column(index) else {
                continue;
            };
            let first = *first_of.entry(column).or_insert(position);
            if first != position {
                order[position].clear();
                order[first].push(index);
            }
        }
        order.retain(|group| !group.is_empty());
    }

    fn dots(&mut self, column: RecordsStorage, group: &[usize], slots: &mut Slots) -> Step {
        let (mut square, mut with) = (None, Vec::with_capacity(group.len()));
        for &index in group {
            let out = new_place(Kind::PerRecord, 1, slots);
            self.places[index] = Some(out);
            let args = &self.program.instructions[index].args;
            let shared = args.iter().find_map(|&arg| match self.place(arg) {
                Storage::Shared { slot, .. } => Some(slot),
                _ => None,
            });
            match shared {
                Some(shared) => with.push(Dot { out: out.slot(), shared }),
                None => square = Some(out.slot()),
            }
        }
        Step::Dots(Dots { column, square, with })
    }

    /// Makes a group of elementwise operations one step, a list of [`Micro`] operations with a place for each
    /// value.
    ///
    /// The step runs chunk by chunk: all operations on the first chunk of elements, then all on the second,
    /// and so on. A value that only the group uses therefore never exists as a whole array. It lives in a
    /// *register*, a buffer of one chunk, from the operation that makes it to the last one that reads it;
    /// then the register is free for another value, so that a long group needs few of them and they stay in
    /// the first-level cache. A value that leaves the group, because a later group or the caller reads it,
    /// gets a slot, and the group reads it from there, too.
    ///
    /// A result may take over the slot of an argument instead of a new one, which saves memory and the cache
    /// lines of a second array. This is sound under four conditions, which the search for a candidate checks:
    ///
    /// - the argument is not made by this group, and nothing reads it after this group, nor is it a table of one;
    /// - it has as many elements, so that every chunk of the result overwrites just the same chunk of the
    ///   argument;
    /// - no other result has taken the slot;
    /// - all operations of this group that read the argument see its old numbers. Within a chunk the result
    ///   may be written before they have read, so the chunk is first copied into a register
    ///   ([`Function::Load`]), and they read the register.
    ///
    /// The remaining arguments are read where they lie. [`ReadFrom`] says how an argument stretches over
    /// elements and records: a single shared number, a shared number for each element, a number for each
    /// record, or an array like the result.
    fn fuse(
        &mut self,
        kind: Kind,
        group: &[usize],
        position: usize,
        last_use: &[Option<usize>],
        group_of: &[usize],
        slots: &mut Slots,
    ) -> Step {
        let program = self.program;
        let elements = program.instructions[group[0]].shape.elements();
        // A value leaves the group if it lasts, or if a later group reads it. (`last_use` holds the last
        // group that does.)
        let leaves =
            |value: usize| self.lasting[value] || last_use[value].is_some_and(|last| last != position);
        let mut micros = Vec::with_capacity(group.len());
        let mut registers = Registers::default();
        // Values of this group, and arguments that were loaded, that are in registers.
        let mut in_register: Vec<(usize, usize)> = Vec::new();
        let mut taken_over: Vec<usize> = Vec::new();
        let function = |index: usize| Function::of(program, index);
        let tables: Vec<usize> = group
            .iter()
            .filter(|&&index| function(index) == Some(Function::LookUp))
            .map(|&index| self.root[program.instructions[index].args[0]])
            .collect();
        // First the places of all results, before anything is computed: a chunk that is going to be
        // overwritten must be in a register before the first operation writes.
        let results: Vec<usize> = group.iter().copied().filter(|&index| leaves(index)).collect();
        for &result in &results {
            if function(result).is_some_and(Function::adds_up) {
                self.places[result] = Some(new_place(kind, 1, slots));
                continue;
            }
            let candidate =
                group.iter().flat_map(|&index| &program.instructions[index].args).map(|&arg| self.root[arg]);
            let in_place = candidate.into_iter().find(|&value| {
                elements >= IN_PLACE
                    && group_of[value] != position
                    && self.dies(value, kind, position, last_use)
                    && self.places[value].is_some_and(|place| place.elements() == elements)
                    && !taken_over.contains(&value)
                    && !tables.contains(&value)
            });
            self.places[result] = match in_place {
                Some(value) => {
                    taken_over.push(value);
                    let register = registers.take();
                    in_register.push((value, register));
                    let slot = self.slot(value).unwrap_or(0);
                    let load = [ReadFrom::Same(slot); 3];
                    micros.push(Micro {
                        function: Function::Load,
                        args: load,
                        to: WriteTo::Register(register),
                    });
                    self.places[value]
                }
                None => Some(new_place(kind, elements, slots)),
            };
        }
        // Then the operations, in the order of the program, so that each finds its arguments.
        for (step, &index) in group.iter().enumerate() {
            let instruction = &program.instructions[index];
            let Some(function) = function(index) else {
                continue;
            };
            let mut args = [ReadFrom::Register(0); 3];
            if function.adds_up() {
                // Partial sums, from the first chunk to the last: in a register that nothing else of the group ever
                // writes.
                args[2] = ReadFrom::Register(registers.take_new());
            }
            for (which, (slot, &arg)) in args.iter_mut().zip(&instruction.args).enumerate() {
                let value = self.root[arg];
                if function == Function::LookUp && which == 0 {
                    let table = self.place(value);
                    *slot = ReadFrom::Whole(table.slot(), table.elements());
                    continue;
                }
                let held = in_register.iter().find(|(held, _)| *held == value);
                *slot = match (held, self.place(value)) {
                    (Some(&(_, register)), _) => ReadFrom::Register(register),
                    (None, Storage::Shared { slot, len: 1 }) if elements != 1 || kind == Kind::PerRecord => {
                        ReadFrom::Number(slot)
                    }
                    (None, Storage::Shared { slot, .. }) if kind == Kind::PerRecord => {
                        ReadFrom::PerElement(slot)
                    }
                    (None, Storage::Rows { slot, rows: 1 }) if elements != 1 => ReadFrom::OneRow(slot),
                    (None, place) => ReadFrom::Same(place.slot()),
                };
            }
            let to = match self.slot(index) {
                Some(slot) => WriteTo::Slot(slot),
                None => {
                    let register = registers.take();
                    in_register.push((index, register));
                    WriteTo::Register(register)
                }
            };
            micros.push(Micro { function, args, to });
            // Registers whose value no later operation of the group reads are free from here on. Only now: an
            // operation does not write the register that it reads.
            let read_later = |value: usize| {
                group[step + 1..]
                    .iter()
                    .flat_map(|&later| &program.instructions[later].args)
                    .any(|&arg| self.root[arg] == value)
            };
            in_register.retain(|&(value, register)| {
                let keep = read_later(value);
                if !keep {
                    registers.give_back(register);
                }
                keep
            });
        }
        let results = results.iter().map(|&index| self.place(index)).collect();
        Step::Fused(Fused { elements, micros, results })
    }
}

/// Fewest elements for which a result takes over an argument's memory: the copy of a chunk costs more than a
/// short slot.
const IN_PLACE: usize = 8;

/// Hands out registers.
#[derive(Default)]
struct Registers {
    free: Vec<usize>,
    count: usize,
}

impl Registers {
    fn take(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }

    /// One that held nothing before.
    fn take_new(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    fn give_back(&mut self, register: usize) {
        self.free.push(register);
    }
}

fn is_leaf(op: &Op) -> bool {
    matches!(op, Op::Input(_) | Op::Constant(_))
}

fn new_place(kind: Kind, elements: usize, slots: &mut Slots) -> Storage {
    match kind {
        Kind::Shared => Storage::Shared { slot: slots.take(padded(elements)), len: elements },
        Kind::PerRecord => Storage::Rows { slot: slots.take(elements), rows: elements },
    }
}

/// Which columns stay record after record: wide ones that are used in inner products with shared arrays and
/// with themselves only, and are either no output or one that may lie like that.
fn by_record(program: &Program, root: &[usize], outputs: &[usize]) -> Vec<bool> {
    let mut stays: Vec<bool> = program
        .instructions
        .iter()
        .map(|instruction| {
            matches!(instruction.op, Op::Input(Input::Column { .. }))
                && instruction.shape.elements() >= WIDE_COLUMN
        })
        .collect();
    for (index, instruction) in program.instructions.iter().enumerate() {
        let inner = matches!(instruction.op, Op::Linear(Linear::Inner));
        let args: Vec<usize> = instruction.args.iter().map(|&arg| root[arg]).collect();
        for (position, &value) in args.iter().enumerate() {
            let with_shared = args.iter().enumerate().all(|(other, &arg)| {
                other == position || arg == value || program.instructions[arg].kind == Kind::Shared
            });
            stays[value] &= inner && with_shared && root[index] == index;
        }
    }
    let outputs: HashSet<usize> = outputs.iter().copied().collect();
    for (output, &value) in program.outputs.iter().enumerate() {
        stays[root[value]] &= outputs.contains(&output);
    }
    stays
}

/// The operation as a product of a shared matrix with the records' vectors, if it is a large one.
fn product(op: &Op, out: Storage, args: &[Storage], shapes: &[Shape]) -> Option<Product> {
    let (matrix, vector, shape, transposed) = match op {
        Op::Linear(Linear::MatVec) => (args[0], args[1], &shapes[0], false),
        Op::Linear(Linear::VecMat) => (args[1], args[0], &shapes[1], true),
        _ => return None,
    };
    match (out, matrix, vector, shape.dims()) {
        (Storage::Rows { .. }, Storage::Shared { slot, .. }, Storage::Rows { .. }, &[rows, columns])
            if rows * columns >= LARGE_PRODUCT =>
        {
            Some(Product { out, matrix: slot, vector, rows, columns, transposed })
        }
        _ => None,
    }
}
