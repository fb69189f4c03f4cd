//! Records' values from columns, record after record, into rows, record innermost.

use crate::machine::Scalar;
use crate::machine::prefetch::prefetch;
use crate::records::ColumnNumber;

/// Elements of a record that are moved together: as many as a cache line holds.
const BLOCK: usize = 8;
/// Records that are moved together, so that each is read from end to end and rows are written by whole cache
/// lines.
const RECORDS: usize = 16;

/// Bytes of a record that are prefetched ahead of its turn: what follows them, the processor has guessed by
/// then.
const AHEAD_BYTES: usize = 512;
/// Bytes of a column from which on its records are prefetched: a smaller one stays in a second-level cache.
const LARGE_COLUMN: usize = 1 << 20;

/// Prefetches records some time before they are copied, so that they wait for memory side by side and not one
/// after the other. Their indices need not have been checked.
pub(crate) fn ask<U: ColumnNumber>(values: &[U], width: usize, batch: &[u64]) {
    if size_of_val(values) < LARGE_COLUMN {
        return;
    }
    let asked = width.min(AHEAD_BYTES / size_of::<U>().max(1));
    for &record in batch {
        let from = (record as usize).saturating_mul(width);
        if let Some(record) = values.get(from..from.saturating_add(asked)) {
            prefetch(record);
        }
    }
}

/// Copies the records of `batch` (`width` numbers each) into rows, one row for each element, transposing on
/// the way. Every index must be that of a record in `values`.
pub(crate) fn gather<T: Scalar, U: ColumnNumber>(rows: &mut [T], values: &[U], width: usize, batch: &[u64]) {
    let lanes = batch.len();
    if lanes == 0 || width == 0 {
        return;
    }
    if width == 1 {
        for (slot, &record) in rows.iter_mut().zip(batch) {
            if let Some(value) = values.get(record as usize) {
                *slot = T::of(value.number());
            }
        }
        return;
    }
    for (part, batch) in batch.chunks(RECORDS).enumerate() {
        let first = part * RECORDS;
        for (block, rows) in rows.chunks_mut(BLOCK * lanes).enumerate() {
            let from = |record: u64| record as usize * width + block * BLOCK;
            match rows.len() / lanes {
                1 => transpose::<1, _, _>(rows, lanes, first, values, batch, from),
                2 => transpose::<2, _, _>(rows, lanes, first, values, batch, from),
                3 => transpose::<3, _, _>(rows, lanes, first, values, batch, from),
                4 => transpose::<4, _, _>(rows, lanes, first, values, batch, from),
                5 => transpose::<5, _, _>(rows, lanes, first, values, batch, from),
                6 => transpose::<6, _, _>(rows, lanes, first, values, batch, from),
                7 => transpose::<7, _, _>(rows, lanes, first, values, batch, from),
                _ => transpose::<BLOCK, _, _>(rows, lanes, first, values, batch, from),
            }
        }
    }
}

/// Copies the records of `batch` one after the other. Every index must be that of a record in `values`.
pub(crate) fn gather_records<T: Scalar, U: ColumnNumber>(
    out: &mut [T],
    values: &[U],
    width: usize,
    batch: &[u64],
) {
    for (out, &index) in out.chunks_exact_mut(width.max(1)).zip(batch) {
        let record = &values[index as usize * width..][..width];
        out.iter_mut().zip(record).for_each(|(out, &value)| *out = T::of(value.number()));
    }
}

/// Copies the first `lanes` records into rows.
pub(crate) fn gather_all<T: Scalar>(rows: &mut [T], values: &[T], width: usize, lanes: usize) {
    for (element, row) in rows.chunks_exact_mut(lanes.max(1)).enumerate().take(width) {
        for (slot, record) in row.iter_mut().zip(values.chunks_exact(width)) {
            *slot = record[element];
        }
    }
}

/// `rows[k][first + i] = values[from(batch[i]) + k]` for `k` below `WIDTH`.
#[inline(always)]
fn transpose<const WIDTH: usize, T: Scalar, U: ColumnNumber>(
    rows: &mut [T],
    lanes: usize,
    first: usize,
    values: &[U],
    batch: &[u64],
    from: impl Fn(u64) -> usize,
) {
    let mut row = rows.chunks_exact_mut(lanes);
    let mut rows: [&mut [T]; WIDTH] =
        std::array::from_fn(|_| row.next().map_or(&mut [][..], |row| &mut row[first..first + batch.len()]));
    for (lane, &record) in batch.iter().enumerate() {
        let record = values.get(from(record)..).and_then(|rest| rest.first_chunk::<WIDTH>());
        for (row, &value) in rows.iter_mut().zip(record.into_iter().flatten()) {
            row[lane] = T::of(value.number());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gathering_is_a_transposed_choice(
            width in 0..20usize,
            batch in proptest::collection::vec(0..9u64, 0..40),
        ) {
            let values: Vec<f64> = (0..9 * width).map(|k| k as f64).collect();
            let mut rows = vec![-1.0_f32; width * batch.len()];
            gather(&mut rows, &values, width, &batch);
            for (lane, &record) in batch.iter().enumerate() {
                for element in 0..width {
                    let expected = values[record as usize * width + element] as f32;
                    prop_assert_eq!(rows[element * batch.len() + lane], expected);
                }
            }
        }
    }
}
