//! Inner products of a column whose records lie one after the other, each record read once for two of them
//! and its norm.

use crate::machine::Scalar;
use crate::machine::prefetch::prefetch;
use crate::machine::simd::VectorJob;
use crate::op::ByRecord;
use crate::op::linear::lane_product;
use crate::records::Records;
use crate::run::plan::layout::{Dot, Dots};
use pulp::Simd;

/// Bytes of records that are prefetched ahead of their use, and the most and fewest records. The fewest are a
/// multiple of how many are taken together.
const AHEAD_BYTES: usize = 6_400;
const MOST_AHEAD: usize = 64;
const FEWEST_AHEAD: usize = 4;
/// Bytes of one record that are prefetched: what follows them, the processor has guessed by then.
const MOST_BYTES: usize = 4_096;
/// Bytes of the partial sums of an inner product.
const PARTIAL_BYTES: usize = 64;

pub(super) struct RunDots<'a, T> {
    pub(super) dots: &'a Dots,
    pub(super) records: &'a Records,
    /// The indices of the tile's records, and then of those that will be needed next.
    pub(super) batch: &'a [u64],
    pub(super) lanes: usize,
    pub(super) slots: &'a mut [Vec<T>],
    pub(super) shared: &'a [Vec<T>],
}

impl<T: Scalar> VectorJob for RunDots<'_, T> {
    #[inline(always)]
    fn call<S: Simd>(self, simd: S) {
        let Self { dots: Dots { column, square, with }, records, batch, lanes, slots, shared } = self;
        // Slots are taken out, so that others can be written meanwhile.
        let copied = std::mem::take(&mut slots[column.slot]);
        let found = column.find(&copied, (records, &batch[..lanes]));
        let in_place = records.column(column.column).as_slice().map(|values| (values, batch));
        let each = EachRecord { records: found, look: LookAhead::new(in_place, column.width) };
        let mut rest = with.as_slice();
        let mut square = *square;
        // The squared norm goes with the first of the others, or the first two.
        if let [one, ..] = with.as_slice()
            && let Some(square) = square.take()
        {
            let two = with.get(1);
            rest = with.get(2..).unwrap_or_default();
            let mut squares = std::mem::take(&mut slots[square]);
            let mut first = std::mem::take(&mut slots[one.out]);
            let array = &shared[one.shared][..column.width];
            if let Some(two) = two {
                let mut second = std::mem::take(&mut slots[two.out]);
                let arrays = [array, &shared[two.shared][..column.width]];
                let products = [&mut first[..lanes], &mut second[..lanes]];
                each.products_and_squares(simd, arrays, products, &mut squares[..lanes]);
                slots[two.out] = second;
            } else {
                each.products_and_squares(simd, [array], [&mut first[..lanes]], &mut squares[..lanes]);
            }
            slots[one.out] = first;
            slots[square] = squares;
        }
        for &Dot { out, shared: array } in rest {
            let array = &shared[array][..column.width];
            for (lane, product) in slots[out][..lanes].iter_mut().enumerate() {
                *product = lane_product(found.record(lane), array);
            }
        }
        if let Some(square) = square {
            for (lane, squared) in slots[square][..lanes].iter_mut().enumerate() {
                *squared = lane_product(found.record(lane), found.record(lane));
            }
        }
        slots[column.slot] = copied;
    }
}

/// A tile's records, and those that are prefetched meanwhile.
struct EachRecord<'a, T> {
    records: ByRecord<'a, T>,
    look: LookAhead<'a, T>,
}

impl<T: Scalar> EachRecord<'_, T> {
    /// `Σ_k x_k y_k` for each of the arrays and `Σ_k x_k²` of each record, for which it is read once.
    #[inline(always)]
    fn products_and_squares<S: Simd, const ARRAYS: usize>(
        &self,
        simd: S,
        arrays: [&[T]; ARRAYS],
        products: [&mut [T]; ARRAYS],
        squares: &mut [T],
    ) {
        // Side by side, so that one record's sums are computed while another's wait: as many as there are
        // registers for.
        match T::lanes::<S>() * size_of::<T>() {
            64 => self.together::<S, ARRAYS, 4>(simd, arrays, products, squares),
            _ => self.together::<S, ARRAYS, 2>(simd, arrays, products, squares),
        }
    }

    #[inline(always)]
    fn together<S: Simd, const ARRAYS: usize, const TOGETHER: usize>(
        &self,
        simd: S,
        arrays: [&[T]; ARRAYS],
        mut products: [&mut [T]; ARRAYS],
        squares: &mut [T],
    ) {
        let lanes = squares.len();
        let whole = lanes / TOGETHER * TOGETHER;
        for first in (0..whole).step_by(TOGETHER) {
            let mut rows = [&[][..]; TOGETHER];
            self.look.ask(first);
            for (k, row) in rows.iter_mut().enumerate() {
                *row = self.records.record(first + k);
            }
            let found = side_by_side(simd, rows, arrays);
            for (k, (dots, square)) in found.into_iter().enumerate() {
                squares[first + k] = square;
                for (products, dot) in products.iter_mut().zip(dots) {
                    products[first + k] = dot;
                }
            }
        }
        for lane in whole..lanes {
            let [(dots, square)] = side_by_side(simd, [self.records.record(lane)], arrays);
            squares[lane] = square;
            for (products, dot) in products.iter_mut().zip(dots) {
                products[lane] = dot;
            }
        }
    }
}

/// Prefetches records some time before they are read.
struct LookAhead<'a, T> {
    column: &'a [T],
    batch: &'a [u64],
    width: usize,
    distance: usize,
    asked: usize,
}

impl<'a, T> LookAhead<'a, T> {
    /// For those of a column in the order of a batch; `None` where they do not lie in a column.
    fn new(ahead: Option<(&'a [T], &'a [u64])>, width: usize) -> Self {
        let (column, batch) = ahead.unwrap_or_default();
        let distance = (AHEAD_BYTES / (width * size_of::<T>()).max(1)).clamp(FEWEST_AHEAD, MOST_AHEAD);
        let distance = distance / FEWEST_AHEAD * FEWEST_AHEAD;
        Self { column, batch, width, distance, asked: width.min(MOST_BYTES / size_of::<T>()) }
    }

    /// To be called before this record is read, if its lane is a multiple of [`FEWEST_AHEAD`].
    ///
    /// It prefetches several at once: where each lies on a page of its own, finding the pages takes longer
    /// than anything else, and a processor looks for several only if they are requested in a row.
    #[inline(always)]
    fn ask(&self, lane: usize) {
        if lane.is_multiple_of(self.distance) {
            let from = if lane == 0 { 0 } else { lane + self.distance };
            let until = (lane + 2 * self.distance).min(self.batch.len());
            self.ask_for(self.batch.get(from..until).unwrap_or_default());
        }
    }

    #[inline(always)]
    fn ask_for(&self, records: &[u64]) {
        for &index in records {
            // That of a later tile has not been checked yet.
            let from = (index as usize).saturating_mul(self.width);
            if let Some(record) = self.column.get(from..from.saturating_add(self.asked)) {
                prefetch(record);
            }
        }
    }
}

/// `Σ_k x_k y_k` for each array and `Σ_k x_k²`, of some records at once. Every sum is made of as many partial
/// sums as a line of 64 bytes has numbers, added up by halves, whatever the vectors of the machine: the
/// order, and with it the result, never changes.
#[inline(always)]
fn side_by_side<T: Scalar, S: Simd, const COUNT: usize, const ARRAYS: usize>(
    simd: S,
    records: [&[T]; COUNT],
    arrays: [&[T]; ARRAYS],
) -> [([T; ARRAYS], T); COUNT] {
    match PARTIAL_BYTES / (T::lanes::<S>() * size_of::<T>()) {
        1 => in_vectors::<T, S, COUNT, ARRAYS, 1>(simd, records, arrays),
        2 => in_vectors::<T, S, COUNT, ARRAYS, 2>(simd, records, arrays),
        _ => {
            let mut found = [([T::zero(); ARRAYS], T::zero()); COUNT];
            for ((products, square), record) in found.iter_mut().zip(records) {
                for (product, array) in products.iter_mut().zip(arrays) {
                    *product = one_by_one(record, array);
                }
                *square = one_by_one(record, record);
            }
            found
        }
    }
}

/// Where `VECTORS` vectors hold the partial sums.
#[inline(always)]
fn in_vectors<T: Scalar, S: Simd, const COUNT: usize, const ARRAYS: usize, const VECTORS: usize>(
    simd: S,
    records: [&[T]; COUNT],
    arrays: [&[T]; ARRAYS],
) -> [([T; ARRAYS], T); COUNT] {
    // Loops and no closures: a closure that is not inlined would be compiled for another machine.
    let mut products = [[[T::zeros(simd); VECTORS]; ARRAYS]; COUNT];
    let mut squares = [[T::zeros(simd); VECTORS]; COUNT];
    let mut whole = [&[][..]; ARRAYS];
    let mut rest = [&[][..]; ARRAYS];
    for a in 0..ARRAYS {
        (whole[a], rest[a]) = T::split::<S>(arrays[a]);
    }
    let count = records.first().map_or(0, |record| record.len()) / T::lanes::<S>();
    let (mut record_whole, mut record_rest) = ([&[][..]; COUNT], [&[][..]; COUNT]);
    for k in 0..COUNT {
        let (vectors, last) = T::split::<S>(records[k]);
        (record_whole[k], record_rest[k]) = (&vectors[..count], last);
    }
    for whole in &mut whole {
        *whole = &whole[..count];
    }
    for line in 0..count.div_ceil(VECTORS) {
        for place in 0..VECTORS {
            let at = line * VECTORS + place;
            if at < count {
                let mut y = [T::zeros(simd); ARRAYS];
                for a in 0..ARRAYS {
                    y[a] = whole[a][at];
                }
                for k in 0..COUNT {
                    let x = record_whole[k][at];
                    for a in 0..ARRAYS {
                        add::<T, S>(simd, &mut products[k][a][place], x, y[a]);
                    }
                    add::<T, S>(simd, &mut squares[k][place], x, x);
                }
            }
        }
    }
    if !record_rest.first().is_none_or(|rest| rest.is_empty()) {
        let mut y = [T::zeros(simd); ARRAYS];
        for a in 0..ARRAYS {
            y[a] = T::partial(simd, rest[a]);
        }
        for k in 0..COUNT {
            let x = T::partial(simd, record_rest[k]);
            for a in 0..ARRAYS {
                add::<T, S>(simd, &mut products[k][a][count % VECTORS], x, y[a]);
            }
            add::<T, S>(simd, &mut squares[k][count % VECTORS], x, x);
        }
    }
    let mut totals = [([T::zero(); ARRAYS], T::zero()); COUNT];
    for k in 0..COUNT {
        let (of_arrays, square) = &mut totals[k];
        for (found, &vectors) in of_arrays.iter_mut().zip(&products[k]) {
            *found = total::<T, S, VECTORS>(simd, vectors);
        }
        *square = total::<T, S, VECTORS>(simd, squares[k]);
    }
    totals
}

/// The sum of all partial sums, which are one vector or two halves.
#[inline(always)]
fn total<T: Scalar, S: Simd, const VECTORS: usize>(simd: S, vectors: [T::Vector<S>; VECTORS]) -> T {
    T::total(simd, if VECTORS == 2 { T::added(simd, vectors[0], vectors[1]) } else { vectors[0] })
}

/// Adds `x y` to a vector of partial sums.
#[inline(always)]
fn add<T: Scalar, S: Simd>(simd: S, sum: &mut T::Vector<S>, x: T::Vector<S>, y: T::Vector<S>) {
    *sum = T::added(simd, *sum, T::multiplied(simd, x, y));
}

/// `Σ_k x_k y_k` where vectors are shorter, or there are none.
#[inline(always)]
fn one_by_one<T: Scalar>(record: &[T], array: &[T]) -> T {
    match PARTIAL_BYTES / size_of::<T>() {
        8 => partial_sums::<T, 8>(record, array),
        _ => partial_sums::<T, 16>(record, array),
    }
}

#[inline(always)]
fn partial_sums<T: Scalar, const PARTIAL: usize>(record: &[T], array: &[T]) -> T {
    let mut sums = [T::zero(); PARTIAL];
    for (x, y) in record.chunks(PARTIAL).zip(array.chunks(PARTIAL)) {
        for (k, (&x, &y)) in x.iter().zip(y).enumerate() {
            sums[k] += x * y;
        }
    }
    let mut half = PARTIAL / 2;
    while half > 0 {
        for k in 0..half {
            let more = sums[k + half];
            sums[k] += more;
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::simd::dispatch_vectors;
    use proptest::prelude::*;

    /// Products with one array and with two, and squares, by the instruction set at hand.
    struct All<'a, T>(&'a [T], [&'a [T]; 2], &'a mut Vec<T>);

    impl<T: Scalar> VectorJob for All<'_, T> {
        #[inline(always)]
        fn call<S: Simd>(self, simd: S) {
            let Self(record, arrays, out) = self;
            for ([product], square) in side_by_side(simd, [record, arrays[0]], [arrays[0]]) {
                out.extend([product, square]);
            }
            for (products, square) in side_by_side(simd, [record], arrays) {
                out.extend(products);
                out.push(square);
            }
        }
    }

    fn agree<T: Scalar>(record: &[T], [one, two]: [&[T]; 2]) {
        let pairs = [
            (record, one),
            (record, record),
            (one, one),
            (one, one),
            (record, one),
            (record, two),
            (record, record),
        ];
        let expected: Vec<T> = pairs.into_iter().map(|(x, y)| one_by_one(x, y)).collect();
        let mut found = Vec::new();
        dispatch_vectors(All(record, [one, two], &mut found));
        let bits = |values: &[T]| values.iter().map(|value| value.as_f64().to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&expected));
        found.clear();
        // Without vectors, as on a machine that has none.
        All(record, [one, two], &mut found).call(pulp::Scalar::new());
        assert_eq!(bits(&found), bits(&expected));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            found.clear();
            All(record, [one, two], &mut found).call(simd);
            assert_eq!(bits(&found), bits(&expected));
        }
    }

    proptest! {
        #[test]
        fn every_instruction_set_adds_up_in_one_order(
            numbers in proptest::collection::vec((-1e3..1e3_f64, -1e3..1e3_f64), 0..150),
        ) {
            let (record, one): (Vec<f64>, Vec<f64>) = numbers.into_iter().unzip();
            let two: Vec<f64> = one.iter().rev().copied().collect();
            agree(&record, [&one, &two]);
            let single = |values: &[f64]| values.iter().map(|&x| x as f32).collect::<Vec<_>>();
            agree(&single(&record), [&single(&one), &single(&two)]);
        }

        /// Partial sums differ from a sum one after the other by rounding: at most `n ε Σ|x y|` each, with
        /// `ε` half a unit.
        #[test]
        fn partial_sums_are_the_sum(
            numbers in proptest::collection::vec((-1e3..1e3_f64, -1e3..1e3_f64), 1..150),
        ) {
            let (record, array): (Vec<f64>, Vec<f64>) = numbers.iter().copied().unzip();
            let (product, square) = (one_by_one(&record, &array), one_by_one(&record, &record));
            let exact: f64 = numbers.iter().map(|(x, y)| x * y).sum();
            let size: f64 = numbers.iter().map(|(x, y)| (x * y).abs()).sum();
            let bound = 2.0 * numbers.len() as f64 * f64::EPSILON;
            prop_assert!((product - exact).abs() <= bound * size);
            let exact: f64 = record.iter().map(|x| x * x).sum();
            prop_assert!((square - exact).abs() <= bound * exact);
        }
    }
}
