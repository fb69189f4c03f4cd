//! A fingerprint of records, by which a run that is resumed recognises them.

use crate::wall::sensitive::Sensitive;
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use ppl_core::Records;
use ppl_core::records::ColumnData;

/// The Mersenne prime 2⁶¹ − 1.
const PRIME: u64 = (1 << 61) - 1;

/// A polynomial in a random point modulo a prime, whose coefficients are the words: two different texts of
/// `n` words have the same value for at most `n` of all points.
struct Polynomial {
    point: u64,
    value: u64,
}

impl Polynomial {
    #[inline]
    fn feed(&mut self, word: u32) {
        let product = u128::from(self.value) * u128::from(self.point);
        // Below 2¹²², so both parts are at most 2⁶¹. One more than the word, so that zeros at the front
        // count.
        let folded = (product as u64 & PRIME) + (product >> 61) as u64 + u64::from(word) + 1;
        self.value = folded % PRIME;
    }
}

/// The number of records, and two polynomials of all their numbers in points that only the seed knows.
///
/// As secret as the records: their number is in it.
pub(crate) fn fingerprint_of_records(records: &Sensitive<Records>, seed: &Seed) -> [u64; 3] {
    let records = records.behind_the_wall();
    let mut stream = seed.streams(Purpose::Custom("fingerprint of records")).at(0);
    // Two independent points below the prime; 2⁶⁴ is so close to a multiple of it that none is preferred by
    // more than 2⁻⁶¹.
    let mut both = [(); 2].map(|()| Polynomial { point: stream.next_u64() % PRIME, value: 0 });
    let mut short = |word: u32| both.iter_mut().for_each(|polynomial| polynomial.feed(word));
    let mut long = |word: u64| {
        short(word as u32);
        short((word >> 32) as u32);
    };
    for index in 0..records.schema().columns().count() {
        let column = records.column(index);
        long(column.len() as u64);
        match column {
            ColumnData::F64(values) => values.iter().for_each(|value| long(value.to_bits())),
            ColumnData::I64(values) => values.iter().for_each(|value| long(*value as u64)),
            ColumnData::F32(values) => values.iter().for_each(|value| long(value.to_bits().into())),
            ColumnData::U8(values) => values.iter().for_each(|value| long((*value).into())),
            ColumnData::U32(values) => values.iter().for_each(|value| long((*value).into())),
            ColumnData::I32(values) => values.iter().for_each(|value| long(*value as u64)),
            // A type of a later version: as programs see it.
            other => other.numbers().for_each(|value| long(value.to_bits())),
        }
    }
    [records.len() as u64, both[0].value, both[1].value]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::Column;
    use proptest::prelude::*;

    fn of(columns: &[&[f64]]) -> [u64; 3] {
        let columns = columns.iter().enumerate().map(|(k, c)| (format!("c{k}"), Column::from(c.to_vec())));
        fingerprint_of_records(&Sensitive::new(Records::from_columns(columns).unwrap()), &Seed::for_tests(3))
    }

    #[test]
    fn one_bit_order_and_place_count() {
        let base = of(&[&[1.0, 2.0, 0.0], &[0.0, 5.0, 6.0]]);
        assert_eq!(base, of(&[&[1.0, 2.0, 0.0], &[0.0, 5.0, 6.0]]));
        let others = [
            of(&[&[1.0, 2.0, -0.0], &[0.0, 5.0, 6.0]]),
            of(&[&[2.0, 1.0, 0.0], &[0.0, 5.0, 6.0]]),
            of(&[&[1.0, 2.0, 0.0], &[0.0, 5.0, 6.0_f64.next_up()]]),
            of(&[&[1.0, 2.0], &[0.0, 0.0]]),
            of(&[&[0.0, 5.0, 6.0], &[1.0, 2.0, 0.0]]),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    #[test]
    fn the_key_is_the_seeds() {
        let records = Sensitive::new(Records::from_columns([("x", vec![1.0, 2.0])]).unwrap());
        let prints = [1, 2].map(|seed| fingerprint_of_records(&records, &Seed::for_tests(seed)));
        assert_ne!(prints[0][1..], prints[1][1..]);
    }

    #[test]
    fn columns_of_every_type_are_read() {
        let prints: Vec<[u64; 3]> = [0_u8, 1]
            .into_iter()
            .flat_map(|k| {
                [
                    Column::from(vec![k]),
                    Column::from(vec![u32::from(k)]),
                    Column::from(vec![i32::from(k) - 2]),
                    Column::from(vec![i64::from(k) - 7]),
                    Column::from(vec![f32::from(k) + 0.5]),
                    Column::from(vec![f64::from(k) + 0.5]),
                ]
            })
            .map(|column| {
                let records = Sensitive::new(Records::from_columns([("x", column)]).unwrap());
                fingerprint_of_records(&records, &Seed::for_tests(1))
            })
            .collect();
        (0..6).for_each(|k| assert_ne!(prints[k], prints[k + 6], "{k}"));
    }

    proptest! {
        /// The recurrence is the polynomial, computed with wide integers.
        #[test]
        fn the_value_is_the_polynomials(words in proptest::collection::vec(any::<u32>(), 0..20), point in 0..PRIME) {
            let mut polynomial = Polynomial { point, value: 0 };
            words.iter().for_each(|word| polynomial.feed(*word));
            let power = |n: usize| (0..n).fold(1_u128, |power, _| power * u128::from(point) % u128::from(PRIME));
            let terms = words.iter().rev().enumerate().map(|(n, word)| (u128::from(*word) + 1) * power(n) % u128::from(PRIME));
            prop_assert_eq!(u128::from(polynomial.value), terms.sum::<u128>() % u128::from(PRIME));
        }
    }
}
