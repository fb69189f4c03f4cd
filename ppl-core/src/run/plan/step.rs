//! Running the steps of a plan, each on the slots of its phase.

use crate::machine::Scalar;
use crate::machine::simd;
use crate::op::Operand;
use crate::run::plan::fused::{Fused, Memory};
use crate::run::plan::layout::{Product, Single};
use crate::run::plan::product::{Matrix, multiply};
use crate::run::plan::storage::Storage;

pub(super) struct RunFused<'a, T> {
    pub(super) fused: &'a Fused,
    pub(super) lanes: usize,
    pub(super) memory: Memory<'a, T>,
}

impl<T: Scalar> simd::Job for RunFused<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.fused.run(self.lanes, self.memory);
    }
}

impl Single {
    /// Runs it on the records of a tile.
    pub(super) fn run_records<T: Scalar>(
        &self,
        lanes: usize,
        slots: &mut [Vec<T>],
        shared: &[Vec<T>],
        scratch: &mut [T],
    ) {
        let Storage::Rows { slot, rows } = self.out else {
            return;
        };
        let mut out = std::mem::take(&mut slots[slot]);
        let operand = |index: usize| match self.args[index] {
            Storage::Shared { slot, len } => Operand::Shared(&shared[slot][..len]),
            Storage::Rows { slot, rows } => Operand::Rows(&slots[slot][..rows * lanes]),
            // Inner products only are taken of these.
            Storage::Records(_) => Operand::Shared(&[]),
        };
        self.operation.run((lanes, false), &mut out[..rows * lanes], operand, scratch);
        slots[slot] = out;
    }

    /// Runs it in the shared phase: one lane.
    pub(super) fn run_shared<T: Scalar>(&self, slots: &mut [Vec<T>], scratch: &mut [T]) {
        let Storage::Shared { slot, len } = self.out else {
            return;
        };
        let mut out = std::mem::take(&mut slots[slot]);
        let operand = |index: usize| match self.args[index] {
            Storage::Shared { slot, len } => Operand::Rows(&slots[slot][..len]),
            Storage::Rows { .. } | Storage::Records(_) => Operand::Shared(&[]),
        };
        self.operation.run((1, true), &mut out[..len], operand, scratch);
        slots[slot] = out;
    }
}

impl Product {
    pub(super) fn run<T: Scalar>(&self, lanes: usize, slots: &mut [Vec<T>], shared: &[Vec<T>]) {
        let (Storage::Rows { slot, rows }, Storage::Rows { slot: vector, rows: length }) =
            (self.out, self.vector)
        else {
            return;
        };
        let mut out = std::mem::take(&mut slots[slot]);
        let matrix = &shared[self.matrix][..self.rows * self.columns];
        let x = &slots[vector][..length * lanes];
        let matrix = Matrix::row_major(matrix, self.rows, self.columns);
        let matrix = if self.transposed { matrix.transposed() } else { matrix };
        multiply(false, matrix, Matrix::row_major(x, length, lanes), &mut out[..rows * lanes]);
        slots[slot] = out;
    }
}
