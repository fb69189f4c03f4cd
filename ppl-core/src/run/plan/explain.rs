//! What a plan does, in words.

use crate::op::Kind;
use crate::program::Program;
use crate::run::plan::layout::Step;
use std::fmt;

/// What an [`ExecutionPlan`](crate::ExecutionPlan) does, step by step, with its memory; to be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Steps of the shared part, done once a run.
    pub shared: Vec<StepExplanation>,
    /// Steps of the per-record part, done once a tile.
    pub record: Vec<StepExplanation>,
    /// Most records of a tile.
    pub tile: usize,
    /// Bytes of shared values.
    pub shared_bytes: usize,
    /// Bytes of per-record values of one tile.
    pub tile_bytes: usize,
    /// Per-record numbers that would be kept for each record if no memory were used twice and nothing were
    /// fused.
    pub record_numbers_without_reuse: usize,
    /// Per-record numbers that are kept for each record.
    pub record_numbers: usize,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepExplanation {
    /// The instructions of the program that it computes, by their position; of an
    /// [`ExecutionPlan`](crate::ExecutionPlan)'s program, as
    /// [`simplified_exactly`](Program::simplified_exactly).
    pub instructions: Vec<usize>,
    /// What it does.
    pub what: String,
    /// Elementary operations it takes, for each record in the per-record part: one for each result of an
    /// elementwise operation, one for each multiply-add.
    pub operations: u64,
}

impl StepExplanation {
    pub(crate) fn new(program: &Program, group: &[usize], step: &Step) -> Self {
        let name = |&index: &usize| program.instructions[index].op.to_string();
        let shape = &program.instructions[group[0]].shape;
        let elements = shape.elements() as u64;
        let (what, operations) = match step {
            Step::Fused(fused) => {
                let names: Vec<String> = group.iter().map(name).collect();
                let (kept, all) = (fused.results.len(), group.len());
                let what = format!("sweep over {shape}: {} (keeps {kept} of {all})", names.join(", "));
                (what, elements * all as u64)
            }
            Step::Single(single) => (single.operation.to_string(), single.operation.operations()),
            Step::Dots(dots) => {
                let width = dots.column.width;
                let mut with = vec!["a shared array"; dots.with.len()];
                with.extend(dots.square.map(|_| "itself"));
                let what = format!(
                    "inner products of a column of {width} with {}, record by record",
                    with.join(" and ")
                );
                (what, (width * with.len()) as u64)
            }
            Step::Product(product) => {
                let (rows, columns) = (product.rows, product.columns);
                let transposed = if product.transposed { ", transposed," } else { "" };
                let what =
                    format!("matrix product of the shared [{rows}, {columns}]{transposed} with the records");
                (what, (rows * columns) as u64)
            }
        };
        Self { instructions: group.to_vec(), what, operations }
    }
}

/// Numbers kept for each record if every per-record value had memory of its own.
pub(crate) fn without_reuse(program: &Program) -> usize {
    let per_record = program.instructions.iter().filter(|each| each.kind == Kind::PerRecord);
    per_record.map(|instruction| instruction.shape.elements()).sum()
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (part, steps) in [("once a run", &self.shared), ("for each record", &self.record)] {
            let total: u64 = steps.iter().map(|step| step.operations).sum();
            writeln!(f, "{part}: {} steps, {total} operations", steps.len())?;
            for step in steps {
                writeln!(f, "  {:>9}  {}", step.operations, step.what)?;
            }
        }
        writeln!(
            f,
            "memory: {} bytes shared; {} bytes for a tile of {} records ({} numbers each, {} without reuse)",
            self.shared_bytes,
            self.tile_bytes,
            self.tile,
            self.record_numbers,
            self.record_numbers_without_reuse
        )
    }
}
