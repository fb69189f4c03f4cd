//! Records' values from columns, record after record, into rows, record innermost.

use crate::scalar::Scalar;

/// Elements of a record that are gathered together: as many as a cache line holds.
const GATHER: usize = 8;

/// Copies the records of `batch` (`width` numbers each) into rows, one row for each element, transposing on the way.
///
/// The inner loop writes one row from end to end, so that writes are sequential; blocks of elements keep the cache lines
/// that it reads from near.
pub(crate) fn gather<T: Scalar, U: Scalar>(
    rows: &mut [T],
    values: &[U],
    width: usize,
    batch: impl ExactSizeIterator<Item = usize> + Clone,
) {
    let lanes = batch.len();
    if lanes == 0 {
        return;
    }
    for (block, rows) in rows.chunks_mut(GATHER * lanes).enumerate() {
        for (element, row) in rows.chunks_exact_mut(lanes).enumerate() {
            let values = &values[block * GATHER + element..];
            for (slot, index) in row.iter_mut().zip(batch.clone()) {
                *slot = T::of(values[index * width].as_f64());
            }
        }
    }
}
