//! Inner products of a column whose records lie one after the other, each record read once.

use crate::op::ByRecord;
use crate::op::linear::lane_product;
use crate::plan::layout::{Dot, Dots};
use crate::prefetch::prefetch;
use crate::records::Records;
use crate::scalar::Scalar;
use crate::simd::VectorWork;
use pulp::Simd;

/// Bytes of records that are asked for ahead of their use, and the most and fewest records.
const AHEAD_BYTES: usize = 6_400;
const MOST_AHEAD: usize = 16;
const FEWEST_AHEAD: usize = 4;
/// Bytes of one record that are asked for: what follows them, the processor has guessed by then.
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

impl<T: Scalar> VectorWork for RunDots<'_, T> {
    #[inline(always)]
    fn call<S: Simd>(self, simd: S) {
        let Self { dots: Dots { column, square, with }, records, batch, lanes, slots, shared } = self;
        // The slot is taken out, so that others can be written meanwhile.
        let copied = std::mem::take(&mut slots[column.slot]);
        let found = column.find(&copied, (records, &batch[..lanes]));
        let mut square = *square;
        for &Dot { out, shared: array } in with {
            let array = &shared[array][..column.width];
            let mut products = std::mem::take(&mut slots[out]);
            // The squared norm goes with the first of the others.
            if let Some(square) = square.take() {
                let ahead = records.column(column.column).as_slice().map(|values| (values, batch));
                let squares = &mut slots[square][..lanes];
                let products = &mut products[..lanes];
                // Side by side, so that one record's sums are computed while another's wait: as many as there are registers for.
                match T::lanes::<S>() * size_of::<T>() {
                    64 => products_and_squares::<T, S, 4>(simd, found, array, ahead, products, squares),
                    _ => products_and_squares::<T, S, 2>(simd, found, array, ahead, products, squares),
                }
            } else {
                for (lane, product) in products[..lanes].iter_mut().enumerate() {
                    *product = lane_product(found.record(lane), array);
                }
            }
            slots[out] = products;
        }
        if let Some(square) = square {
            for (lane, squared) in slots[square][..lanes].iter_mut().enumerate() {
                *squared = lane_product(found.record(lane), found.record(lane));
            }
        }
        slots[column.slot] = copied;
    }
}

/// `Σ_k x_k y_k` and `Σ_k x_k²` of each record, for which it is read once, `TOGETHER` of them at a time; `ahead` are the column and the
/// indices to come.
#[inline(always)]
fn products_and_squares<T: Scalar, S: Simd, const TOGETHER: usize>(
    simd: S,
    records: ByRecord<'_, T>,
    array: &[T],
    ahead: Option<(&[T], &[u64])>,
    products: &mut [T],
    squares: &mut [T],
) {
    let look = LookAhead::new(ahead, array.len());
    let (products, last_products) = products.as_chunks_mut::<TOGETHER>();
    let (squares, last_squares) = squares.as_chunks_mut::<TOGETHER>();
    let together = products.len() * TOGETHER;
    for (group, (products, squares)) in products.iter_mut().zip(squares).enumerate() {
        let mut rows = [&[][..]; TOGETHER];
        for (k, row) in rows.iter_mut().enumerate() {
            look.ask(group * TOGETHER + k);
            *row = records.record(group * TOGETHER + k);
        }
        let found = side_by_side(simd, rows, array);
        for k in 0..TOGETHER {
            [products[k], squares[k]] = found[k];
        }
    }
    for (k, (product, square)) in last_products.iter_mut().zip(last_squares).enumerate() {
        look.ask(together + k);
        [[*product, *square]] = side_by_side(simd, [records.record(together + k)], array);
    }
}

/// Asks for records some time before they are read.
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
        Self { column, batch, width, distance, asked: width.min(MOST_BYTES / size_of::<T>()) }
    }

    /// To be called before this record is read.
    #[inline(always)]
    fn ask(&self, lane: usize) {
        if let Some(&index) = self.batch.get(lane + self.distance) {
            // That of a later tile has not been checked yet.
            let from = (index as usize).saturating_mul(self.width);
            if let Some(record) = self.column.get(from..from.saturating_add(self.asked)) {
                prefetch(record);
            }
        }
    }
}

/// The same for some records at once. Every sum is made of as many partial sums as a line of 64 bytes has numbers, added up by
/// halves, whatever the vectors of the machine: the order, and with it the result, never changes.
#[inline(always)]
fn side_by_side<T: Scalar, S: Simd, const COUNT: usize>(
    simd: S,
    records: [&[T]; COUNT],
    array: &[T],
) -> [[T; 2]; COUNT] {
    match PARTIAL_BYTES / (T::lanes::<S>() * size_of::<T>()) {
        1 => in_vectors::<T, S, COUNT, 1>(simd, records, array),
        2 => in_vectors::<T, S, COUNT, 2>(simd, records, array),
        _ => {
            let mut found = [[T::zero(); 2]; COUNT];
            for (found, record) in found.iter_mut().zip(records) {
                *found = match PARTIAL_BYTES / size_of::<T>() {
                    8 => one_by_one::<T, 8>(record, array),
                    _ => one_by_one::<T, 16>(record, array),
                };
            }
            found
        }
    }
}

/// Where `VECTORS` vectors hold the partial sums.
#[inline(always)]
fn in_vectors<T: Scalar, S: Simd, const COUNT: usize, const VECTORS: usize>(
    simd: S,
    records: [&[T]; COUNT],
    array: &[T],
) -> [[T; 2]; COUNT] {
    let (array, rest) = T::split::<S>(array);
    let (lines, vectors) = array.as_chunks::<VECTORS>();
    let mut sums = [[[T::zeros(simd); VECTORS]; 2]; COUNT];
    // Loops and no closures: a closure that is not inlined would be compiled for another machine.
    let (mut record_lines, mut record_vectors, mut record_rest) =
        ([&[][..]; COUNT], [&[][..]; COUNT], [&[][..]; COUNT]);
    for k in 0..COUNT {
        let (whole, last) = T::split::<S>(records[k]);
        let (whole, single) = whole[..array.len()].as_chunks::<VECTORS>();
        (record_lines[k], record_vectors[k], record_rest[k]) = (&whole[..lines.len()], single, last);
    }
    for (line, y) in lines.iter().enumerate() {
        for place in 0..VECTORS {
            for k in 0..COUNT {
                add::<T, S, VECTORS>(simd, &mut sums[k], place, record_lines[k][line][place], y[place]);
            }
        }
    }
    for (place, &y) in vectors.iter().enumerate() {
        for k in 0..COUNT {
            add::<T, S, VECTORS>(simd, &mut sums[k], place, record_vectors[k][place], y);
        }
    }
    if !rest.is_empty() {
        let y = T::partial(simd, rest);
        for k in 0..COUNT {
            add::<T, S, VECTORS>(simd, &mut sums[k], vectors.len(), T::partial(simd, record_rest[k]), y);
        }
    }
    let mut totals = [[T::zero(); 2]; COUNT];
    for k in 0..COUNT {
        for which in 0..2 {
            let vectors = sums[k][which];
            // One vector, or two halves.
            let all = if VECTORS == 2 { T::added(simd, vectors[0], vectors[1]) } else { vectors[0] };
            totals[k][which] = T::total(simd, all);
        }
    }
    totals
}

/// Adds `x y` and `x²` to a vector of the partial sums.
#[inline(always)]
fn add<T: Scalar, S: Simd, const VECTORS: usize>(
    simd: S,
    [products, squares]: &mut [[T::Vector<S>; VECTORS]; 2],
    place: usize,
    x: T::Vector<S>,
    y: T::Vector<S>,
) {
    products[place] = T::added(simd, products[place], T::multiplied(simd, x, y));
    squares[place] = T::added(simd, squares[place], T::multiplied(simd, x, x));
}

/// Where vectors are shorter, or there are none.
#[inline(always)]
fn one_by_one<T: Scalar, const PARTIAL: usize>(record: &[T], array: &[T]) -> [T; 2] {
    let mut sums = [[T::zero(); PARTIAL]; 2];
    for (x, y) in record.chunks(PARTIAL).zip(array.chunks(PARTIAL)) {
        for (k, (&x, &y)) in x.iter().zip(y).enumerate() {
            sums[0][k] += x * y;
            sums[1][k] += x * x;
        }
    }
    let mut half = PARTIAL / 2;
    while half > 0 {
        for sums in &mut sums {
            for k in 0..half {
                let more = sums[k + half];
                sums[k] += more;
            }
        }
        half /= 2;
    }
    [sums[0][0], sums[1][0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch_vectors;
    use proptest::prelude::*;

    /// Products and squares by the instruction set at hand.
    struct Both<'a, T>(&'a [T], &'a [T], &'a mut Vec<[T; 2]>);

    impl<T: Scalar> VectorWork for Both<'_, T> {
        #[inline(always)]
        fn call<S: Simd>(self, simd: S) {
            let Self(record, array, out) = self;
            let [first, second] = side_by_side(simd, [record, array], array);
            out.extend([first, second]);
            out.extend(side_by_side(simd, [record], array));
        }
    }

    fn agree<T: Scalar, const PARTIAL: usize>(record: &[T], array: &[T]) {
        let expected = [one_by_one::<T, PARTIAL>(record, array), one_by_one::<T, PARTIAL>(array, array)];
        let expected = [expected[0], expected[1], expected[0]].as_flattened().to_vec();
        let mut found = Vec::new();
        dispatch_vectors(Both(record, array, &mut found));
        let bits = |values: &[T]| values.iter().map(|value| value.as_f64().to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(found.as_flattened()), bits(&expected));
        found.clear();
        // Without vectors, as on a machine that has none.
        Both(record, array, &mut found).call(pulp::Scalar::new());
        assert_eq!(bits(found.as_flattened()), bits(&expected));
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            found.clear();
            Both(record, array, &mut found).call(simd);
            assert_eq!(bits(found.as_flattened()), bits(&expected));
        }
    }

    proptest! {
        #[test]
        fn every_instruction_set_adds_up_in_one_order(
            numbers in proptest::collection::vec((-1e3..1e3_f64, -1e3..1e3_f64), 0..150),
        ) {
            let (record, array): (Vec<f64>, Vec<f64>) = numbers.into_iter().unzip();
            agree::<f64, 8>(&record, &array);
            let [record, array] = [record, array].map(|values| values.into_iter().map(|x| x as f32).collect::<Vec<_>>());
            agree::<f32, 16>(&record, &array);
        }

        /// Partial sums differ from a sum one after the other by rounding: at most `n ε Σ|x y|` each, with `ε` half a unit.
        #[test]
        fn partial_sums_are_the_sum(
            numbers in proptest::collection::vec((-1e3..1e3_f64, -1e3..1e3_f64), 1..150),
        ) {
            let (record, array): (Vec<f64>, Vec<f64>) = numbers.iter().copied().unzip();
            let [product, square] = one_by_one::<f64, 8>(&record, &array);
            let exact: f64 = numbers.iter().map(|(x, y)| x * y).sum();
            let size: f64 = numbers.iter().map(|(x, y)| (x * y).abs()).sum();
            let bound = 2.0 * numbers.len() as f64 * f64::EPSILON;
            prop_assert!((product - exact).abs() <= bound * size);
            let exact: f64 = record.iter().map(|x| x * x).sum();
            prop_assert!((square - exact).abs() <= bound * exact);
        }
    }
}
