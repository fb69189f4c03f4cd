//! A scan laid out in memory: made once, run many times, allocating nothing while it runs.
//!
//! The states are read where the result keeps them, rows of inputs where they lie. The operations of a step
//! are run one after the other, on the lanes of a tile; what is the same for all records is computed once for
//! a tile.

use super::{Block, Scan};
use crate::base::Shape;
use crate::machine::Scalar;
use crate::op::shaping::copy;
use crate::op::{Op, Operand, Planned, Shaping};
use std::collections::HashMap;

/// Arguments of a scan, by position.
type Arguments<'s, 'a, T> = dyn Fn(usize) -> Operand<'a, T> + 's;

/// Where a value of a step lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A row of the result: the state before the step.
    State { start: usize, elements: usize },
    /// A row of an argument.
    Row { argument: usize, elements: usize },
    /// A whole argument.
    Whole { argument: usize },
    /// The scratch memory.
    Scratch { start: usize, elements: usize, shared: bool },
}

/// One operation of a step.
#[derive(Clone, Debug)]
struct Step {
    operation: Planned,
    start: usize,
    elements: usize,
    /// Whether it is done once for all lanes.
    shared: bool,
    args: Vec<Place>,
}

/// A scan that is ready to be run.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    length: usize,
    reversed: bool,
    /// What no step changes, done before the first one.
    before: Vec<Step>,
    steps: Vec<Step>,
    /// Constants, and where in the scratch memory they are.
    constants: Vec<(usize, Vec<f64>)>,
    /// For each part of the result, where a step's row comes from.
    carries: Vec<(Block, Place)>,
    outputs: Vec<(Block, Place)>,
    sums: Vec<(Block, Place)>,
    /// Rows of scratch memory that hold values, and those that single operations need beside.
    rows: usize,
    inner_rows: usize,
    operations: u64,
}

/// Hands out places of the scratch memory.
#[derive(Default)]
struct Places {
    rows: usize,
    free: HashMap<usize, Vec<usize>>,
}

impl Places {
    fn take(&mut self, elements: usize) -> usize {
        let free = self.free.get_mut(&elements).and_then(Vec::pop);
        free.unwrap_or_else(|| self.fresh(elements))
    }

    /// A place that has served for nothing else.
    fn fresh(&mut self, elements: usize) -> usize {
        self.rows += elements;
        self.rows - elements
    }

    fn give_back(&mut self, start: usize, elements: usize) {
        self.free.entry(elements).or_default().push(start);
    }
}

impl Compiled {
    /// Lays a scan out for arguments of which some are shared by all lanes.
    pub(crate) fn new(scan: &Scan, shared: &[bool]) -> Self {
        let (body, blocks) = (scan.body(), scan.blocks());
        let nodes = body.nodes();
        let [carries, inputs, _] = body.groups();
        let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
        let is_shared = |place: Place| match place {
            Place::State { .. } => false,
            Place::Row { argument, .. } | Place::Whole { argument } => {
                shared.get(argument).copied().unwrap_or(false)
            }
            Place::Scratch { shared, .. } => shared,
        };
        // What only has another shape than an earlier value lies where that does.
        let mut root: Vec<usize> = (0..nodes.len()).collect();
        let mut last_use = vec![0; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            if at >= body.leaves() && matches!(node.op, Op::Shaping(Shaping::Reshape(_))) {
                root[at] = root[node.args[0] as usize];
            }
            node.args.iter().for_each(|&arg| last_use[root[arg as usize]] = at);
        }
        body.results().iter().flatten().for_each(|&value| last_use[root[value as usize]] = usize::MAX);
        let mut memory = Places::default();
        let (mut before, mut steps, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        let (mut once, mut each) = (0_u64, 0_u64);
        // Whether a value is the same in every step.
        let mut same: Vec<bool> = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let elements = node.shape.elements();
            if at < body.leaves() {
                same.push(at >= carries + inputs);
                places.push(match at {
                    _ if at < carries => Place::State { start: blocks.carries[at].start, elements },
                    _ if at < carries + inputs => Place::Row { argument: at, elements },
                    _ => Place::Whole { argument: at },
                });
                continue;
            }
            same.push(node.args.iter().all(|&arg| same[arg as usize]));
            if root[at] != at {
                places.push(places[root[at]]);
                continue;
            }
            // It is written once, and must not be overwritten by what a step computes earlier.
            let start = if same[at] { memory.fresh(elements) } else { memory.take(elements) };
            if same[at] {
                last_use[at] = usize::MAX;
            }
            if let Op::Constant(constant) = &node.op {
                constants.push((start, constant.values().collect()));
                places.push(Place::Scratch { start, elements, shared: true });
                continue;
            }
            let args: Vec<Place> = node.args.iter().map(|&arg| places[arg as usize]).collect();
            let shapes: Vec<Shape> = node.args.iter().map(|&arg| nodes[arg as usize].shape.clone()).collect();
            let shared = args.iter().all(|&arg| is_shared(arg));
            // Where all is done once, there is one lane, and nothing is shared by several.
            let is_shared_here = |arg: usize| !shared && is_shared(args[arg]);
            let operation = Planned::new(&node.op, shapes, node.shape.clone(), is_shared_here);
            *(if same[at] { &mut once } else { &mut each }) += operation.operations();
            let list = if same[at] { &mut before } else { &mut steps };
            list.push(Step { operation, start, elements, shared, args });
            places.push(Place::Scratch { start, elements, shared });
            let mut dead: Vec<usize> = node.args.iter().map(|&arg| root[arg as usize]).collect();
            dead.push(at);
            dead.sort_unstable();
            dead.dedup();
            for value in dead {
                let unused = value == at && last_use[value] < at;
                if let (true, Place::Scratch { start, elements, .. }) =
                    (last_use[value] == at || unused, places[value])
                {
                    memory.give_back(start, elements);
                }
            }
        }
        let from = |blocks: Vec<Block>, values: &[u32]| {
            blocks.into_iter().zip(values.iter().map(|&value| places[value as usize])).collect()
        };
        Self {
            length: scan.steps(),
            reversed: scan.is_reversed(),
            carries: from(blocks.carries, body.carried()),
            outputs: from(blocks.outputs, body.stacked()),
            sums: from(blocks.sums, body.summed()),
            rows: memory.rows,
            inner_rows: before
                .iter()
                .chain(&steps)
                .map(|step: &Step| step.operation.scratch_rows())
                .max()
                .unwrap_or(0),
            operations: once.saturating_add(each.max(1).saturating_mul(scan.steps() as u64)),
            before,
            steps,
            constants,
        }
    }

    /// Rows of scratch memory, of one number for each lane.
    pub(crate) fn scratch_rows(&self) -> usize {
        self.rows + self.inner_rows
    }

    /// Elementary operations of a lane: one for each element of the largest array of each operation.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Runs the loop, on this many lanes and in the shared part of a program or not. Arguments are looked up
    /// by position.
    #[inline(never)]
    pub(crate) fn run<'a, T: Scalar>(
        &self,
        (lanes, shared): (usize, bool),
        out: &mut [T],
        args: &Arguments<'_, 'a, T>,
        scratch: &mut [T],
    ) {
        if lanes == 0 {
            return;
        }
        let (memory, inner) = scratch.split_at_mut(self.rows * lanes);
        for (start, values) in &self.constants {
            for (to, &value) in memory[start * lanes..].iter_mut().zip(values) {
                *to = T::of(value);
            }
        }
        let first = if self.reversed { self.length } else { 0 };
        for (argument, (block, _)) in self.carries.iter().enumerate() {
            let width = block.shape.elements();
            let to = &mut out[(block.start + first * width) * lanes..][..width * lanes];
            spread(to, args(argument), lanes);
        }
        for (block, _) in &self.sums {
            out[block.start * lanes..][..block.shape.elements() * lanes].fill(T::zero());
        }
        if self.length > 0 {
            self.run_steps(&self.before, (0, 0), (lanes, shared), (out, args, memory, inner));
        }
        for at in 0..self.length {
            let row = if self.reversed { self.length - 1 - at } else { at };
            let (from, to) = if self.reversed { (row + 1, row) } else { (row, row + 1) };
            self.run_steps(&self.steps, (row, from), (lanes, shared), (out, args, memory, inner));
            self.keep((row, from, to), lanes, out, args, memory);
        }
    }

    /// Runs operations one after the other.
    #[inline(always)]
    fn run_steps<'a, T: Scalar>(
        &self,
        steps: &[Step],
        (row, from): (usize, usize),
        (lanes, shared): (usize, bool),
        (out, args, memory, inner): (&[T], &Arguments<'_, 'a, T>, &mut [T], &mut [T]),
    ) {
        for step in steps {
            let (before, rest) = memory.split_at_mut(step.start * lanes);
            let (target, after) = rest.split_at_mut(step.elements * lanes);
            let after_from = step.start + step.elements;
            let sources = Sources { lanes, shared, row, from, out, args, before, after, after_from };
            step.run(target, &sources, inner);
        }
    }

    /// Puts what a step has computed where it is kept.
    #[inline(always)]
    fn keep<'a, T: Scalar>(
        &self,
        (row, from, to): (usize, usize, usize),
        lanes: usize,
        out: &mut [T],
        args: &Arguments<'_, 'a, T>,
        memory: &[T],
    ) {
        // Not a closure, which would take slices of one lifetime only.
        macro_rules! find {
            ($out:expr, $place:expr) => {
                Sources {
                    lanes,
                    shared: false,
                    row,
                    from,
                    out: $out,
                    args,
                    before: memory,
                    after: &[],
                    after_from: usize::MAX,
                }
                .find($place)
            };
        }
        for (block, place) in &self.carries {
            let width = block.shape.elements();
            let begin = (block.start + to * width) * lanes;
            match *place {
                Place::State { start, .. } => {
                    let begin_from = (start + from * width) * lanes;
                    out.copy_within(begin_from..begin_from + width * lanes, begin);
                }
                place => {
                    spread(&mut out[begin..begin + width * lanes], find!(&[], place), lanes);
                }
            }
        }
        // States come first in the result.
        for (block, place) in &self.outputs {
            let width = block.shape.elements();
            let (states, rest) = out.split_at_mut((block.start + row * width) * lanes);
            spread(&mut rest[..width * lanes], find!(states, *place), lanes);
        }
        for (block, place) in &self.sums {
            let width = block.shape.elements();
            let (states, rest) = out.split_at_mut(block.start * lanes);
            let sum = &mut rest[..width * lanes];
            match find!(states, *place) {
                Operand::Rows(terms) => sum.iter_mut().zip(terms).for_each(|(sum, &term)| *sum += term),
                Operand::Shared(terms) => {
                    for (sum, &term) in sum.chunks_exact_mut(lanes).zip(terms) {
                        sum.iter_mut().for_each(|sum| *sum += term);
                    }
                }
                Operand::Records(_) => sum.fill(T::nan()),
            }
        }
    }
}

/// Copies rows, or numbers to all lanes.
#[inline(always)]
fn spread<T: Scalar>(to: &mut [T], from: Operand<'_, T>, lanes: usize) {
    match from {
        Operand::Rows(rows) => to.copy_from_slice(rows),
        other => to.chunks_exact_mut(lanes).enumerate().for_each(|(at, to)| copy(to, other.row(at, lanes))),
    }
}

/// What an operation of a step can read.
struct Sources<'s, 'a, T> {
    lanes: usize,
    /// Whether everything is shared.
    shared: bool,
    /// Row of inputs.
    row: usize,
    /// Row of the states before the step.
    from: usize,
    out: &'s [T],
    args: &'s Arguments<'s, 'a, T>,
    /// The scratch memory before and behind the place that is written.
    before: &'s [T],
    after: &'s [T],
    after_from: usize,
}

impl<'s, 'a: 's, T: Scalar> Sources<'s, 'a, T> {
    #[inline(always)]
    fn find(&self, place: Place) -> Operand<'s, T> {
        let lanes = self.lanes;
        match place {
            Place::State { start, elements } => {
                let begin = (start + self.from * elements) * lanes;
                Operand::Rows(&self.out[begin..begin + elements * lanes])
            }
            Place::Row { argument, elements } => match (self.args)(argument) {
                Operand::Rows(rows) => {
                    Operand::Rows(&rows[self.row * elements * lanes..][..elements * lanes])
                }
                Operand::Shared(numbers) => Operand::Shared(&numbers[self.row * elements..][..elements]),
                other => other,
            },
            Place::Whole { argument } => (self.args)(argument),
            Place::Scratch { start, elements, shared } => {
                let width = if shared { elements } else { elements * lanes };
                let values = match start.checked_sub(self.after_from) {
                    Some(behind) => &self.after[behind * lanes..][..width],
                    None => &self.before[start * lanes..][..width],
                };
                if shared { Operand::Shared(values) } else { Operand::Rows(values) }
            }
        }
    }
}

impl Step {
    #[inline(always)]
    fn run<'s, 'a: 's, T: Scalar>(&self, target: &mut [T], sources: &Sources<'s, 'a, T>, scratch: &mut [T]) {
        let lanes = if self.shared { 1 } else { sources.lanes };
        // Where there is one lane, a number for each element is a row for each.
        let find = |place: Place| match sources.find(place) {
            Operand::Shared(numbers) if self.shared => Operand::Rows(numbers),
            other => other,
        };
        self.operation.run(
            (lanes, self.shared || sources.shared),
            &mut target[..self.elements * lanes],
            |index| find(self.args[index]),
            scratch,
        );
    }
}
