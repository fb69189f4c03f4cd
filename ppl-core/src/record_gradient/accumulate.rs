//! Weighted sums over the records of a tile, from rows of numbers: the one place that adds up over records.

use super::contribution::Factor;
use crate::machine::Scalar;
use crate::machine::simd::{self, VectorJob, dispatch, dispatch_vectors};
use crate::op::linear::lane_product;
use crate::op::{ByRecord, Operand, Row};
use crate::run::plan::{LARGE_PRODUCT, Matrix, multiply};
use pulp::Simd;

/// `sums_k += Σ_i c_i v_ik`; a weight of zero silences even a shared value that is not finite.
pub(super) fn direct<T: Scalar>(sums: &mut [T], weights: &[T], rows: Operand<'_, T>) {
    if !weights.is_empty() {
        dispatch(Direct { sums, weights, rows });
    }
}

struct Direct<'a, T> {
    sums: &'a mut [T],
    weights: &'a [T],
    rows: Operand<'a, T>,
}

impl<T: Scalar> simd::Job for Direct<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { sums, weights, rows } = self;
        match rows {
            // What a sum over lanes is of one: a zero and the product.
            Operand::Rows(rows) if weights.len() == 1 => {
                let weight = weights[0];
                sums.iter_mut().zip(rows).for_each(|(sum, &x)| *sum += T::zero() + weight * x);
            }
            Operand::Rows(rows) => {
                for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(weights.len())) {
                    *sum += lane_product(weights, row);
                }
            }
            Operand::Shared(values) => {
                let total: T = weights.iter().copied().sum();
                for (sum, &value) in sums.iter_mut().zip(values) {
                    *sum += if total == T::zero() { T::zero() } else { total * value };
                }
            }
            Operand::Records(records) => {
                dispatch_vectors(AddRecords { sums, weights, scaled: weights, records })
            }
        }
    }
}

/// `sums_k += Σ_i s_i v_ik` over arrays that lie record after record, perhaps in a column, where a record
/// that was taken out is what it is: those without weight `c_i` are passed over.
struct AddRecords<'a, T> {
    sums: &'a mut [T],
    weights: &'a [T],
    scaled: &'a [T],
    records: ByRecord<'a, T>,
}

impl<T: Scalar> VectorJob for AddRecords<'_, T> {
    #[inline(always)]
    fn call<S: Simd>(self, simd: S) {
        let Self { sums, weights, scaled, records } = self;
        // As many columns at a time as their sums fit into registers: there are 32 of the long ones, else 16.
        let sums = match T::lanes::<S>() * size_of::<T>() {
            64 => add_vectors::<T, S, 12>(simd, sums, weights, scaled, records),
            _ => add_vectors::<T, S, 8>(simd, sums, weights, scaled, records),
        };
        let sums = add_vectors::<T, S, 4>(simd, sums, weights, scaled, records);
        let sums = add_vectors::<T, S, 1>(simd, sums, weights, scaled, records);
        let sums = add_columns::<T, 4>(sums, weights, scaled, records);
        add_columns::<T, 1>(sums, weights, scaled, records);
    }
}

/// Does so for the last columns, `COUNT` vectors of them at a time, whose sums stay in registers; returns
/// those that are left over.
#[inline(always)]
fn add_vectors<'s, T: Scalar, S: Simd, const COUNT: usize>(
    simd: S,
    mut sums: &'s mut [T],
    weights: &[T],
    scaled: &[T],
    records: ByRecord<'_, T>,
) -> &'s mut [T] {
    let width = COUNT * T::lanes::<S>();
    while sums.len() >= width {
        let from = records.width() - sums.len();
        let (whole, rest) = sums.split_at_mut(width);
        if let Some(sums) = T::split_mut::<S>(whole).0.first_chunk_mut::<COUNT>() {
            let mut sum = *sums;
            for (lane, (&weight, &scaled)) in weights.iter().zip(scaled).enumerate() {
                if weight != T::zero()
                    && let Some(part) = T::split::<S>(&records.record(lane)[from..]).0.first_chunk::<COUNT>()
                {
                    let scaled = T::splat(simd, scaled);
                    for k in 0..COUNT {
                        sum[k] = T::added(simd, sum[k], T::multiplied(simd, scaled, part[k]));
                    }
                }
            }
            *sums = sum;
        }
        sums = rest;
    }
    sums
}

/// Does so for the last columns, `WIDTH` at a time, whose sums stay in registers; returns those that are left
/// over.
#[inline(always)]
fn add_columns<'s, T: Scalar, const WIDTH: usize>(
    sums: &'s mut [T],
    weights: &[T],
    scaled: &[T],
    records: ByRecord<'_, T>,
) -> &'s mut [T] {
    let mut from = records.width() - sums.len();
    let (sums, rest) = sums.as_chunks_mut::<WIDTH>();
    for sums in sums {
        let mut sum = *sums;
        for (lane, (&weight, &scaled)) in weights.iter().zip(scaled).enumerate() {
            if weight != T::zero()
                && let Some(part) = records.record(lane)[from..].first_chunk::<WIDTH>()
            {
                for k in 0..WIDTH {
                    sum[k] += scaled * part[k];
                }
            }
        }
        *sums = sum;
        from += WIDTH;
    }
    rest
}

/// `sums_jk += Σ_i c_i l_ij r_ik`; `scratch` holds as many numbers as `left`.
pub(super) fn product<T: Scalar>(
    sums: &mut [T],
    weights: &[T],
    left: Operand<'_, T>,
    right: Operand<'_, T>,
    scratch: &mut [T],
) {
    let lanes = weights.len();
    if lanes == 0 {
        return;
    }
    let (height, width) = (left.rows(lanes), right.rows(lanes));
    let scaled = &mut scratch[..height * lanes];
    for (j, scaled) in scaled.chunks_exact_mut(lanes).enumerate() {
        weigh(scaled, weights, left.row(j, lanes));
    }
    match right {
        Operand::Records(records) => {
            for (sums, scaled) in sums.chunks_exact_mut(width.max(1)).zip(scaled.chunks_exact(lanes)) {
                dispatch_vectors(AddRecords { sums, weights, scaled, records });
            }
        }
        _ => add_products(sums, scaled, right, (height, width, lanes)),
    }
}

/// `sums_jk += Σ_i s_ij r_ik` for factors of these lengths.
fn add_products<T: Scalar>(
    sums: &mut [T],
    scaled: &[T],
    right: Operand<'_, T>,
    (height, width, lanes): (usize, usize, usize),
) {
    match right {
        Operand::Rows(right) if height > 1 && height * width >= LARGE_PRODUCT => {
            let right = Matrix::row_major(&right[..width * lanes], width, lanes).transposed();
            multiply(true, Matrix::row_major(scaled, height, lanes), right, &mut sums[..height * width]);
        }
        _ => {
            for (sums, scaled) in sums.chunks_exact_mut(width.max(1)).zip(scaled.chunks_exact(lanes)) {
                direct(sums, scaled, right);
            }
        }
    }
}

/// `scaled_i = c_i l_i`
#[inline]
fn weigh<T: Scalar>(scaled: &mut [T], weights: &[T], left: Row<'_, T>) {
    match left {
        Row::Lanes(left) => {
            for ((scaled, &weight), &left) in scaled.iter_mut().zip(weights).zip(left) {
                *scaled = weight * left;
            }
        }
        Row::One(left) => {
            for (scaled, &weight) in scaled.iter_mut().zip(weights) {
                // A record that was taken out must stay out, whatever it would be multiplied with.
                *scaled = if weight == T::zero() { weight } else { weight * left };
            }
        }
    }
}

/// Where the elements of a sum over positions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Positions {
    pub(super) count: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    left_last: bool,
    right_last: bool,
}

impl Positions {
    pub(super) fn new(left: Factor<'_>, right: Factor<'_>) -> Self {
        let ([count, rows], [_, columns]) = (left.sizes(), right.sizes());
        Self { count, rows, columns, left_last: left.positions_last, right_last: right.positions_last }
    }

    /// Element `j` of the left factor at position `t`.
    pub(super) fn left(&self, j: usize, t: usize) -> usize {
        if self.left_last { j * self.count + t } else { t * self.rows + j }
    }

    /// Element `k` of the right factor at position `t`.
    pub(super) fn right(&self, k: usize, t: usize) -> usize {
        if self.right_last { k * self.count + t } else { t * self.columns + k }
    }
}

/// `sums_jk += Σ_i c_i Σ_t l_itj r_itk`; `scratch` holds as many numbers as `left`.
pub(super) fn positions<T: Scalar>(
    sums: &mut [T],
    weights: &[T],
    left: Operand<'_, T>,
    right: Operand<'_, T>,
    positions: Positions,
    scratch: &mut [T],
) {
    let lanes = weights.len();
    let Positions { count, rows, columns, .. } = positions;
    if lanes == 0 || count == 0 {
        return;
    }
    // In the order of the right factor, whatever that of the left one is.
    let scaled = &mut scratch[..rows * count * lanes];
    for (place, scaled) in scaled.chunks_exact_mut(lanes).enumerate() {
        let (j, t) =
            if positions.right_last { (place / count, place % count) } else { (place % rows, place / rows) };
        weigh(scaled, weights, left.row(positions.left(j, t), lanes));
    }
    match right {
        // Positions and records are one axis of the sum.
        Operand::Rows(_) if positions.right_last => {
            add_products(sums, scaled, right, (rows, columns, count * lanes));
        }
        _ if positions.right_last => {
            for (sums, scaled) in
                sums.chunks_exact_mut(columns.max(1)).zip(scaled.chunks_exact(count * lanes))
            {
                for (k, sum) in sums.iter_mut().enumerate() {
                    for (t, scaled) in scaled.chunks_exact(lanes).enumerate() {
                        if let Row::One(value) = right.row(positions.right(k, t), lanes) {
                            direct(std::slice::from_mut(sum), scaled, Operand::Shared(&[value]));
                        }
                    }
                }
            }
        }
        _ => {
            for (t, scaled) in scaled.chunks_exact((rows * lanes).max(1)).enumerate() {
                let right = match right {
                    Operand::Rows(right) => Operand::Rows(&right[t * columns * lanes..][..columns * lanes]),
                    Operand::Shared(right) => Operand::Shared(&right[t * columns..][..columns]),
                    records @ Operand::Records(..) => records,
                };
                add_products(sums, scaled, right, (rows, columns, lanes));
            }
        }
    }
}

/// The row of a table of `count` rows that a number says. A number that is no row stands for row 0, where the
/// NaN of its record shows.
pub(super) fn row_of<T: Scalar>(number: T, count: usize) -> usize {
    let row = number.as_f64() as usize;
    if row < count { row } else { 0 }
}

/// `sums[index_t, k] += Σ_i c_i Σ_t v_itk` for rows `v_it` of `width` elements; `scratch` holds a number for
/// each record.
pub(super) fn scatter<T: Scalar>(
    sums: &mut [T],
    weights: &[T],
    rows: Operand<'_, T>,
    index: Operand<'_, T>,
    width: usize,
    scratch: &mut [T],
) {
    let lanes = weights.len();
    if lanes == 0 || width == 0 || sums.is_empty() {
        return;
    }
    let count = sums.len() / width;
    for place in 0..index.rows(lanes) {
        if let (Operand::Rows(rows), Operand::Rows(index)) = (rows, index)
            && count <= FEW_ROWS
        {
            let rows = &rows[place * width * lanes..][..width * lanes];
            let index = &index[place * lanes..][..lanes];
            dispatch(ScatterToFew { sums, weights, rows, index, width, own: &mut scratch[..lanes] });
            continue;
        }
        for (lane, &weight) in weights.iter().enumerate() {
            // A record that was taken out must stay out, whatever it would be multiplied with.
            if weight != T::zero() {
                let row = row_of(index.at(place, lane, lanes), count);
                for (k, sum) in sums[row * width..][..width].iter_mut().enumerate() {
                    *sum += weight * rows.at(place * width + k, lane, lanes);
                }
            }
        }
    }
}

/// Most rows of a table that are each gone through with all records: an inner product with the records of the
/// other rows silenced takes an eighth of an instruction a record and element, and does not wait for the last
/// record of the same row.
const FEW_ROWS: usize = 8;

struct ScatterToFew<'a, T> {
    sums: &'a mut [T],
    weights: &'a [T],
    rows: &'a [T],
    index: &'a [T],
    width: usize,
    /// Memory for the weights of one row's records.
    own: &'a mut [T],
}

impl<T: Scalar> simd::Job for ScatterToFew<'_, T> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { sums, weights, rows, index, width, own } = self;
        let count = sums.len() / width;
        for (row, sums) in sums.chunks_exact_mut(width).enumerate() {
            // As `row_of` has it: row 0 gets what no other row does.
            let (first, behind) = if row == 0 { (1, count) } else { (row, row + 1) };
            let (first, behind) = (T::of(first as f64), T::of(behind as f64));
            for ((own, &weight), &index) in own.iter_mut().zip(weights).zip(index) {
                let within = index >= first && index < behind;
                *own = if within == (row > 0) { weight } else { T::zero() };
            }
            for (sum, values) in sums.iter_mut().zip(rows.chunks_exact(weights.len())) {
                let found = lane_product(own, values);
                *sum += if found.is_finite() { found } else { product_of_weighted(own, values) };
            }
        }
    }
}

/// `Σ_i c_i v_i`, where a weight of zero silences what is not finite.
#[cold]
fn product_of_weighted<T: Scalar>(weights: &[T], values: &[T]) -> T {
    let weighted = weights.iter().zip(values).filter(|(weight, _)| **weight != T::zero());
    weighted.fold(T::zero(), |sum, (&weight, &value)| sum + weight * value)
}

/// `sums += D ∘ part`, where a part of zero stays zero whatever it is multiplied with.
pub(super) fn rescale<T: Scalar>(sums: &mut [T], part: &[T], scale: Option<&[T]>) {
    match scale {
        None => sums.iter_mut().zip(part).for_each(|(sum, &part)| *sum += part),
        Some(scale) => {
            for ((sum, &part), &scale) in sums.iter_mut().zip(part).zip(scale) {
                *sum += if part == T::zero() { T::zero() } else { scale * part };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each column's sum is formed record by record, whatever the vectors of the machine: bit for bit
        /// what a plain loop gives. A record without weight adds nothing, finite or not.
        #[test]
        fn every_instruction_set_adds_records_alike(
            (width, lanes) in (1..260_usize, 1..40_usize),
            seed in any::<u32>(),
        ) {
            let number = |k: usize| ((k as f64 + 1.0) * (1.0 + f64::from(seed) / 1e9) * 12.9898).sin();
            let weights: Vec<f64> = (0..lanes).map(|lane| if lane % 5 == 3 { 0.0 } else { number(lane) }).collect();
            let scaled: Vec<f64> = weights.iter().map(|weight| 3.0 * weight).collect();
            let values: Vec<f64> = (0..lanes * width)
                .map(|k| if (k / width) % 5 == 3 { f64::NAN } else { number(k + 100) })
                .collect();
            let start: Vec<f64> = (0..width).map(|k| number(k + 7)).collect();
            let mut expected = start.clone();
            for lane in (0..lanes).filter(|lane| lane % 5 != 3) {
                for (k, sum) in expected.iter_mut().enumerate() {
                    *sum += scaled[lane] * values[lane * width + k];
                }
            }
            let bits = |sums: &[f64]| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
            let records = ByRecord::copied(&values, width);
            let mut sums = start.clone();
            dispatch_vectors(AddRecords { sums: &mut sums, weights: &weights, scaled: &scaled, records });
            prop_assert_eq!(bits(&sums), bits(&expected));
            sums.clone_from(&start);
            AddRecords { sums: &mut sums, weights: &weights, scaled: &scaled, records }.call(pulp::Scalar::new());
            prop_assert_eq!(bits(&sums), bits(&expected));
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                sums.clone_from(&start);
                AddRecords { sums: &mut sums, weights: &weights, scaled: &scaled, records }.call(simd);
                prop_assert_eq!(bits(&sums), bits(&expected));
            }
        }

        /// Few rows or many: what a plain loop adds up, also where an index is no row, and a record without
        /// weight adds nothing. What is not finite stays in its own row.
        #[test]
        fn rows_are_added_up_where_they_belong(
            (count, width, lanes) in (1..2 * FEW_ROWS, 1..6_usize, 1..80_usize),
            broken in proptest::option::of(0..80_usize),
            seed in any::<u32>(),
        ) {
            let number = |k: usize| ((k as f64 + 1.0) * (1.0 + f64::from(seed) / 1e9) * 12.9898).sin();
            let weights: Vec<f64> = (0..lanes).map(|lane| if lane % 5 == 3 { 0.0 } else { number(lane) }).collect();
            let strange = [f64::NAN, -1.0, 1e9, 0.5];
            let index: Vec<f64> = (0..lanes)
                .map(|lane| if lane % 11 == 7 { strange[lane / 11 % 4] } else { (lane * 7 % count) as f64 })
                .collect();
            let mut values: Vec<f64> = (0..lanes * width).map(|k| number(k + 100)).collect();
            if let Some(broken) = broken {
                let whole = values.len();
                values[broken % whole] = f64::INFINITY;
            }
            let mut expected: Vec<f64> = (0..count * width).map(|k| number(k + 7)).collect();
            let (mut sums, mut size) = (expected.clone(), vec![1.0; count * width]);
            for lane in (0..lanes).filter(|lane| lane % 5 != 3) {
                let row = row_of(index[lane], count);
                for k in 0..width {
                    let term = weights[lane] * values[k * lanes + lane];
                    expected[row * width + k] += term;
                    size[row * width + k] += term.abs();
                }
            }
            let mut scratch = vec![0.0; lanes];
            scatter(&mut sums, &weights, Operand::Rows(&values), Operand::Rows(&index), width, &mut scratch);
            for ((sum, expected), size) in sums.iter().zip(&expected).zip(&size) {
                // Each order of n additions is within n eps of the exact sum, relative to the sum of sizes.
                let bound = 2.0 * (lanes + 2) as f64 * f64::EPSILON * size;
                let near = (sum - expected).abs() <= bound;
                prop_assert!(near || (!size.is_finite() && sum.to_bits() == expected.to_bits()), "{sum} against {expected}");
            }
        }
    }
}
