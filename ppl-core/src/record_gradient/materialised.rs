//! Per-record gradients as a matrix, for those who doubt the contraction.

use super::check_frontier;
use crate::base::Result;
use crate::machine::Scalar;
use crate::op::Var;
use crate::program::Program;
use crate::records::Records;
use crate::run::plan::ExecutionPlan;
use crate::transform::gradient;
use ndarray::Array2;

/// Per-record gradients as a matrix: the slow, obvious form that [`RecordGradient`](crate::RecordGradient) is
/// tested against.
///
/// It takes (records × dimension) numbers of memory, and does not treat records that are not finite in any
/// special way.
#[derive(Clone, Debug)]
pub struct MaterialisedGradient<T> {
    plan: ExecutionPlan<T>,
    widths: Vec<usize>,
}

impl<T: Scalar> MaterialisedGradient<T> {
    /// As [`RecordGradient::new`](crate::RecordGradient::new).
    ///
    /// # Errors
    /// As [`RecordGradient::new`](crate::RecordGradient::new).
    pub fn new(value: Var<'_>, frontier: &[Var<'_>]) -> Result<Self> {
        check_frontier(value, frontier)?;
        let gradients = gradient(value, frontier)?;
        let widths = gradients.iter().map(|gradient| gradient.shape().elements()).collect();
        Ok(Self { plan: ExecutionPlan::new(&Program::new(value.graph(), &gradients)?), widths })
    }

    /// Sets a shared input by name; one that the gradient does not depend on is passed over.
    ///
    /// # Errors
    /// If `values` has the wrong length.
    pub fn set(&mut self, name: &str, values: &[T]) -> Result<()> {
        if self.plan.input(name).is_ok() { self.plan.set(name, values) } else { Ok(()) }
    }

    /// The gradients of the records of `batch`: a row for each record, the frontier arrays one after the
    /// other.
    ///
    /// # Errors
    /// As [`ExecutionPlan::run_records`].
    pub fn rows(&mut self, records: &Records, batch: &[u64]) -> Result<Array2<T>> {
        let mut matrix = Array2::from_elem((batch.len(), self.widths.iter().sum()), T::zero());
        let mut column = 0;
        for (output, &width) in self.widths.iter().enumerate() {
            let part = self.plan.evaluate(records, batch, output)?;
            matrix.slice_mut(ndarray::s![.., column..column + width]).assign(&part);
            column += width;
        }
        Ok(matrix)
    }
}
