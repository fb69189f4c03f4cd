//! Groups of elementwise operations, run in one sweep over chunks that stay in the first-level cache.
//!
//! A group is a small program of its own: each operation reads chunks of values in memory, numbers, or
//! *registers* (short buffers that hold one chunk) and writes a register or a result. What only the group
//! uses lives in registers only. A match per operation and chunk chooses the loop; the loops themselves are
//! compiled for each instruction set.

use crate::machine::Scalar;
use crate::op::gather::look_up;
use crate::op::linear::{PARTIAL_SUMS, add_numbers, add_products, product_of_parts, sum_of_parts};
use crate::op::{Binary, Gather, Linear, Op, Row, Shaping, Special, Unary};
use crate::program::Program;
use crate::run::plan::storage::Storage;

/// Numbers in a chunk.
pub(crate) const CHUNK: usize = 256;

/// Numbers of the shared memory that are computed for this many elements: whole vectors. What lies behind the
/// last element is unused, and computing it costs less than computing the last few one by one.
pub(crate) fn padded(elements: usize) -> usize {
    elements.next_multiple_of(8)
}

/// What an operation of a group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// Copies; used where a result takes the memory of an argument.
    Load,
    Unary(Unary),
    Binary(Binary),
    Select,
    Special(Special),
    /// Numbers of a shared table, the first argument, which is not swept over but read where the second says.
    LookUp,
    /// The sum of all elements of a shared array. Of each chunk only the partial sums are kept, in a register that is
    /// the third argument; they are the sums that the operation makes by itself, so that the result is the same.
    Sum,
    /// The inner product of two shared arrays, likewise.
    Inner,
}

impl Function {
    /// The function of an instruction in a sweep: of an elementwise operation, or of one that goes along with a sweep
    /// over one of its arguments.
    pub(crate) fn of(program: &Program, index: usize) -> Option<Self> {
        match &program.instructions[index].op {
            Op::Unary(op) => Some(Function::Unary(*op)),
            Op::Binary(op) => Some(Function::Binary(*op)),
            Op::Select(_) => Some(Function::Select),
            Op::Special(op) => Some(Function::Special(*op)),
            _ => Self::along(program, index).map(|(function, _)| function),
        }
    }

    /// The function of an instruction on shared values that is not elementwise, but can be computed in a sweep over one
    /// of its arguments; and the number of elements of that.
    pub(crate) fn along(program: &Program, index: usize) -> Option<(Self, usize)> {
        let instruction = &program.instructions[index];
        let shape_of = |which: usize| &program.instructions[instruction.args[which]].shape;
        let (function, elements) = match &instruction.op {
            Op::Shaping(Shaping::SumTo(_)) if instruction.shape.elements() == 1 => {
                (Function::Sum, shape_of(0).elements())
            }
            Op::Linear(Linear::Inner) => (Function::Inner, shape_of(0).elements()),
            Op::Gather(Gather::Rows) if shape_of(0).rank() == 1 => {
                return Some((Function::LookUp, shape_of(1).elements()));
            }
            _ => return None,
        };
        (elements > 1).then_some((function, elements))
    }

    /// Whether the result is one number.
    pub(crate) fn adds_up(self) -> bool {
        matches!(self, Function::Sum | Function::Inner)
    }
}

/// Where an operation of a group finds an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFrom {
    /// A register.
    Register(usize),
    /// The same element and record of a slot of the memory being written.
    Same(usize),
    /// The record's number in a slot of one row, the same for all elements.
    OneRow(usize),
    /// A number in a slot of the shared memory (element 0), the same for all elements and records.
    Number(usize),
    /// The element's number in a slot of the shared memory, the same for all records.
    PerElement(usize),
    /// A whole array of this many numbers in a slot of the shared memory.
    Whole(usize, usize),
}

/// Where an operation of a group leaves its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteTo {
    Register(usize),
    /// A slot of the memory being written.
    Slot(usize),
}

/// One operation of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Micro {
    pub(crate) function: Function,
    pub(crate) args: [ReadFrom; 3],
    pub(crate) to: WriteTo,
}

/// A group of elementwise operations over arrays of `elements` elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fused {
    pub(crate) elements: usize,
    pub(crate) micros: Vec<Micro>,
    /// Results, for printing.
    pub(crate) results: Vec<Storage>,
}

/// The memory a group reads and writes.
pub(crate) struct Memory<'a, T> {
    /// Slots of the phase that is running: of the shared memory in the shared phase, else of the record
    /// memory.
    pub(crate) slots: &'a mut [Vec<T>],
    /// The shared memory in the record phase; nothing in the shared phase, where [`ReadFrom::Number`] refers
    /// to `slots`.
    pub(crate) shared: Option<&'a [Vec<T>]>,
    pub(crate) registers: &'a mut [Vec<T>],
}

/// A chunk of an argument: numbers, or one number for all.
#[derive(Clone, Copy)]
enum Chunk<'a, T> {
    Many(&'a [T]),
    One(T),
}

impl Fused {
    /// Registers needed.
    pub(crate) fn registers(&self) -> usize {
        let register = |micro: &Micro| match (micro.to, micro.args[2]) {
            (WriteTo::Register(register), _) => register + 1,
            // Partial sums.
            (WriteTo::Slot(_), ReadFrom::Register(register)) if micro.function.adds_up() => register + 1,
            (WriteTo::Slot(_), _) => 0,
        };
        self.micros.iter().map(register).max().unwrap_or(0)
    }

    /// Whether an argument is the same for all elements but not all records, or the other way round.
    fn goes_by_rows(&self) -> bool {
        let by_row = |from: &ReadFrom| matches!(from, ReadFrom::OneRow(_) | ReadFrom::PerElement(_));
        self.elements > 1 && self.micros.iter().any(|micro| micro.args.iter().any(by_row))
    }

    /// Runs the group over rows of `lanes` numbers.
    #[inline(always)]
    pub(crate) fn run<T: Scalar>(&self, lanes: usize, mut memory: Memory<'_, T>) {
        let (rows, width) = match memory.shared {
            None => (1, padded(self.elements)),
            Some(_) if self.goes_by_rows() => (self.elements, lanes),
            Some(_) => (1, self.elements * lanes),
        };
        for row in 0..rows {
            let mut start = 0;
            while start < width {
                let len = CHUNK.min(width - start);
                let left = self.elements.saturating_sub(start);
                for micro in &self.micros {
                    let place = ChunkPlace { row, at: row * width + start, in_row: start, len, left };
                    micro.run(place, &mut memory);
                }
                start += len;
            }
        }
    }
}

/// A chunk of each array that a group works on.
#[derive(Clone, Copy)]
struct ChunkPlace {
    row: usize,
    /// Its beginning in a slot of all rows.
    at: usize,
    /// Its beginning in a slot of one row.
    in_row: usize,
    len: usize,
    /// Elements of a shared array from here on; what a chunk holds behind them is unused.
    left: usize,
}

impl ChunkPlace {
    #[inline(always)]
    fn find<'m, T: Scalar>(self, memory: &'m Memory<'_, T>, from: ReadFrom) -> Chunk<'m, T> {
        let Self { row, at, in_row, len, .. } = self;
        let Memory { slots, registers, .. } = memory;
        let shared = memory.shared.unwrap_or(slots);
        match from {
            ReadFrom::Register(register) => Chunk::Many(&registers[register][..len]),
            ReadFrom::Same(slot) => Chunk::Many(&slots[slot][at..at + len]),
            ReadFrom::OneRow(slot) => Chunk::Many(&slots[slot][in_row..in_row + len]),
            ReadFrom::Number(slot) => Chunk::One(shared[slot][0]),
            ReadFrom::PerElement(slot) => Chunk::One(shared[slot][row]),
            ReadFrom::Whole(slot, len) => Chunk::Many(&shared[slot][..len]),
        }
    }
}

impl ChunkPlace {
    /// The elements of a shared array in the chunk.
    #[inline(always)]
    fn numbers<'m, T: Scalar>(self, memory: &'m Memory<'_, T>, from: ReadFrom) -> &'m [T] {
        match self.find(memory, from) {
            Chunk::Many(numbers) => &numbers[..self.left.min(self.len)],
            // Not reached: arrays that are added up have more than one element.
            Chunk::One(_) => &[],
        }
    }
}

impl Micro {
    #[inline(always)]
    fn run<T: Scalar>(&self, place: ChunkPlace, memory: &mut Memory<'_, T>) {
        if self.function.adds_up() {
            return self.add_up(place, memory);
        }
        // The result is taken out, so that the rest can be read meanwhile; no argument lives in the same
        // buffer.
        let (mut buffer, offset) = match self.to {
            WriteTo::Register(register) => (std::mem::take(&mut memory.registers[register]), 0),
            WriteTo::Slot(slot) => (std::mem::take(&mut memory.slots[slot]), place.at),
        };
        let out = &mut buffer[offset..offset + place.len];
        match self.function {
            Function::Load => match place.find(memory, self.args[0]) {
                Chunk::Many(x) => out.copy_from_slice(x),
                Chunk::One(x) => out.fill(x),
            },
            Function::Unary(op) => match place.find(memory, self.args[0]) {
                Chunk::Many(x) => op.sweep(out, x),
                Chunk::One(x) => {
                    let mut one = [T::zero()];
                    op.sweep(&mut one, &[x]);
                    out.fill(one[0]);
                }
            },
            Function::Binary(op) => {
                match (place.find(memory, self.args[0]), place.find(memory, self.args[1])) {
                    (Chunk::Many(a), Chunk::Many(b)) => op.sweep(out, a, b),
                    (Chunk::Many(a), Chunk::One(b)) => op.sweep_right(out, a, b),
                    (Chunk::One(a), Chunk::Many(b)) => op.sweep_left(out, a, b),
                    (Chunk::One(a), Chunk::One(b)) => {
                        let mut one = [T::zero()];
                        op.sweep(&mut one, &[a], &[b]);
                        out.fill(one[0]);
                    }
                }
            }
            Function::Select => {
                // One by one: what a closure does is a call of its own, and took longer than a chunk.
                let condition = place.find(memory, self.args[0]);
                let (a, b) = (place.find(memory, self.args[1]), place.find(memory, self.args[2]));
                select(out, condition, a, b);
            }
            Function::Special(op) => {
                let mut rows = [Row::One(T::zero()); 3];
                for (row, &from) in rows.iter_mut().zip(&self.args).take(op.arity()) {
                    *row = match place.find(memory, from) {
                        Chunk::Many(x) => Row::Lanes(x),
                        Chunk::One(x) => Row::One(x),
                    };
                }
                op.sweep(out, rows);
            }
            Function::LookUp => {
                match (place.find(memory, self.args[0]), place.find(memory, self.args[1])) {
                    (Chunk::Many(table), Chunk::Many(index)) => look_up(out, table, index),
                    // Not reached: neither is one number for all elements.
                    _ => out.fill(T::nan()),
                }
            }
            // Elsewhere.
            Function::Sum | Function::Inner => {}
        }
        match self.to {
            WriteTo::Register(register) => memory.registers[register] = buffer,
            WriteTo::Slot(slot) => memory.slots[slot] = buffer,
        }
    }
}

impl Micro {
    /// Adds a chunk to the partial sums of a sum or an inner product; behind the last chunk stands the result.
    #[inline(always)]
    fn add_up<T: Scalar>(&self, place: ChunkPlace, memory: &mut Memory<'_, T>) {
        let (ReadFrom::Register(register), WriteTo::Slot(slot)) = (self.args[2], self.to) else {
            return;
        };
        let mut buffer = std::mem::take(&mut memory.registers[register]);
        if let Some(kept) = buffer.first_chunk_mut::<PARTIAL_SUMS>() {
            let mut sums = if place.at == 0 { [T::zero(); PARTIAL_SUMS] } else { *kept };
            let last = place.left <= place.len;
            let x = place.numbers(memory, self.args[0]);
            let total = if self.function == Function::Inner {
                let (x, y) = add_products(&mut sums, x, place.numbers(memory, self.args[1]));
                if last { product_of_parts(&sums, x, y) } else { T::zero() }
            } else {
                let rest = add_numbers(&mut sums, x);
                if last { sum_of_parts(&sums, rest) } else { T::zero() }
            };
            *kept = sums;
            if last {
                memory.slots[slot][0] = total;
            }
        }
        memory.registers[register] = buffer;
    }
}

/// `out = if condition ≠ 0 { a } else { b }`
#[inline(always)]
fn select<T: Scalar>(out: &mut [T], condition: Chunk<'_, T>, a: Chunk<'_, T>, b: Chunk<'_, T>) {
    let choose = |condition: T, a: T, b: T| if condition != T::zero() { a } else { b };
    match (condition, a, b) {
        (Chunk::One(condition), a, b) => match if condition != T::zero() { a } else { b } {
            Chunk::Many(x) => out.copy_from_slice(x),
            Chunk::One(x) => out.fill(x),
        },
        (Chunk::Many(c), Chunk::Many(a), Chunk::Many(b)) => {
            for (((out, &c), &a), &b) in out.iter_mut().zip(c).zip(a).zip(b) {
                *out = choose(c, a, b);
            }
        }
        (Chunk::Many(c), Chunk::Many(a), Chunk::One(b)) => {
            for ((out, &c), &a) in out.iter_mut().zip(c).zip(a) {
                *out = choose(c, a, b);
            }
        }
        (Chunk::Many(c), Chunk::One(a), Chunk::Many(b)) => {
            for ((out, &c), &b) in out.iter_mut().zip(c).zip(b) {
                *out = choose(c, a, b);
            }
        }
        (Chunk::Many(c), Chunk::One(a), Chunk::One(b)) => {
            for (out, &c) in out.iter_mut().zip(c) {
                *out = choose(c, a, b);
            }
        }
    }
}
