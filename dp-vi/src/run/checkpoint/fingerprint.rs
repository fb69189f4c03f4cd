//! What a checkpoint is bound to: records, the versions of crates, and the arithmetic of the machine.

use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use ndarray::Array2;
use ppl_core::{ColumnData, Records};

/// The Mersenne prime 2⁶¹ − 1.
const PRIME: u64 = (1 << 61) - 1;

/// A polynomial in a random point modulo a prime, whose coefficients are the words: two different texts of `n` words have the same
/// value for at most `n` of all points.
struct Polynomial {
    point: u64,
    value: u64,
}

impl Polynomial {
    #[inline]
    fn feed(&mut self, word: u32) {
        let product = u128::from(self.value) * u128::from(self.point);
        // Below 2¹²², so both parts are at most 2⁶¹. One more than the word, so that zeros at the front count.
        let folded = (product as u64 & PRIME) + (product >> 61) as u64 + u64::from(word) + 1;
        self.value = folded % PRIME;
    }
}

/// The number of records, and two polynomials of all their numbers in points that only the seed knows.
pub(crate) fn fingerprint_of_records(records: &Records, seed: &Seed) -> [u64; 3] {
    let mut stream = seed.streams(Purpose::Custom("fingerprint of records")).at(0);
    // Two independent points below the prime; 2⁶⁴ is so close to a multiple of it that none is preferred by more than 2⁻⁶¹.
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

/// The crates of this workspace that decide the digits of a run, with their versions. Distributions are written into the programs of
/// model and guide, which are compared as they are.
pub(crate) const VERSIONS: [(&str, &str); 4] = [
    ("dp-vi", env!("CARGO_PKG_VERSION")),
    ("dp-sampler", dp_sampler::VERSION),
    ("dp-accountant", dp_accountant::VERSION),
    ("ppl-core", ppl_core::VERSION),
];

/// What else decides the last digits of a run: the machine's instructions, for matrix products use fused multiply–add where there is one;
/// and the libraries that compute products and functions, of which some digits are tried.
pub(crate) fn arithmetic() -> String {
    let mut told = std::env::consts::ARCH.to_owned();
    #[cfg(target_arch = "x86_64")]
    for (name, present) in [
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ] {
        if present {
            told = format!("{told} {name}");
        }
    }
    format!("{told}, digits {:016x}", digits())
}

/// The bits of products and function values, hashed (FNV-1a): another library, or another version of one that changes what it computes, is
/// told by them, as far as what is tried here shows it.
fn digits() -> u64 {
    // Of full length, and exactly the same everywhere: one division each.
    let number = |k: usize| ((k * 7919 + 13) % 4001) as f64 / 4001.0 - 0.5;
    let (a, b) = (
        Array2::from_shape_fn((23, 37), |(i, j)| number(37 * i + j)),
        Array2::from_shape_fn((37, 19), |(i, j)| number(i + 41 * j)),
    );
    let single = a.mapv(|x| x as f32).dot(&b.mapv(|x| x as f32));
    let products = a.dot(&b).into_iter().chain(single.into_iter().map(f64::from));
    let values = (0..64).flat_map(|k| {
        let x = 8.0 * number(k);
        [x.exp(), x.abs().ln(), libm::cos(x), libm::erfc(x), libm::pow(x.abs(), 1.7)]
    });
    let bytes = products.chain(values).flat_map(|x| x.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::Column;
    use proptest::prelude::*;

    fn of(columns: &[&[f64]]) -> [u64; 3] {
        let columns = columns.iter().enumerate().map(|(k, c)| (format!("c{k}"), Column::from(c.to_vec())));
        fingerprint_of_records(&Records::from_columns(columns).unwrap(), &Seed::for_tests(3))
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
        let records = Records::from_columns([("x", vec![1.0, 2.0])]).unwrap();
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
                let records = Records::from_columns([("x", column)]).unwrap();
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
