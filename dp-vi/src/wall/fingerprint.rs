//! A fingerprint of records, by which a run that is resumed recognises them.

use crate::wall::sensitive::Sensitive;
use blake3::Hasher;
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use ppl_core::Records;
use ppl_core::records::ColumnData;
use zeroize::{Zeroize, Zeroizing};

/// Numbers on their way to the hash, which takes long pieces much faster than short ones.
struct Words {
    hasher: Hasher,
    /// Little-endian words; wiped, because they are the records' own numbers.
    waiting: Zeroizing<Vec<u8>>,
}

impl Words {
    const PIECE: usize = 8192;

    fn new(key: &[u8; 32]) -> Self {
        let waiting = Zeroizing::new(Vec::with_capacity(Self::PIECE));
        Self { hasher: Hasher::new_keyed(key), waiting }
    }

    #[inline]
    fn feed(&mut self, word: u64) {
        if self.waiting.len() == Self::PIECE {
            self.flush();
        }
        self.waiting.extend_from_slice(&word.to_le_bytes());
    }

    fn flush(&mut self) {
        self.hasher.update(&self.waiting);
        self.waiting.clear();
    }

    /// The first 128 bits of the hash of all words.
    fn finish(mut self) -> [u64; 2] {
        self.flush();
        let hash = self.hasher.finalize();
        self.hasher.zeroize();
        let (words, _) = hash.as_bytes().as_chunks::<8>();
        [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
    }
}

/// The number of records, and 128 bits of the keyed BLAKE3 hash of all their numbers, column by column, each
/// after its length. The key is derived from the seed: without it, the hash says nothing about records that
/// could be guessed, and nobody can look for other records with the same hash.
///
/// As secret as the records: their number is in it.
pub(crate) fn fingerprint_of_records(records: &Sensitive<Records>, seed: &Seed) -> [u64; 3] {
    let records = records.behind_the_wall();
    let mut key = Zeroizing::new([0; 32]);
    seed.streams(Purpose::Custom("fingerprint of records")).at(0).fill_bytes(&mut *key);
    let mut words = Words::new(&key);
    for index in 0..records.schema().columns().count() {
        let column = records.column(index);
        words.feed(column.len() as u64);
        match column {
            ColumnData::F64(values) => values.iter().for_each(|value| words.feed(value.to_bits())),
            ColumnData::I64(values) => values.iter().for_each(|value| words.feed(*value as u64)),
            ColumnData::F32(values) => values.iter().for_each(|value| words.feed(value.to_bits().into())),
            ColumnData::U8(values) => values.iter().for_each(|value| words.feed((*value).into())),
            ColumnData::U32(values) => values.iter().for_each(|value| words.feed((*value).into())),
            ColumnData::I32(values) => values.iter().for_each(|value| words.feed(*value as u64)),
            // A type of a later version: as programs see it.
            other => other.numbers().for_each(|value| words.feed(value.to_bits())),
        }
    }
    let [first, second] = words.finish();
    [records.len() as u64, first, second]
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
        /// However many words there are, the hash is that of all their bytes at once.
        #[test]
        fn pieces_do_not_matter(words in proptest::collection::vec(any::<u64>(), 0..3_000), key: [u8; 32]) {
            let mut pieces = Words::new(&key);
            words.iter().for_each(|word| pieces.feed(*word));
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let whole = blake3::keyed_hash(&key, &bytes);
            let found = pieces.finish().map(u64::to_le_bytes).concat();
            prop_assert_eq!(&found[..], &whole.as_bytes()[..16]);
        }
    }

    /// What a checkpoint holds must be computed in the same way by every build. The value is that of PyPI's
    /// blake3 1.0.11 for the words 2, 1.0 and 2.0.
    #[test]
    fn the_value_is_pinned() {
        let mut words = Words::new(&[7; 32]);
        [2, 1.0_f64.to_bits(), 2.0_f64.to_bits()].into_iter().for_each(|word| words.feed(word));
        assert_eq!(words.finish(), [0x7b65_bca9_b0ec_39a2, 0x617b_41e6_e448_4da4]);
        // And of nothing, by the published test vectors of BLAKE3.
        let nothing = Words::new(b"whats the Elvish word for friend").finish();
        assert_eq!(nothing.map(u64::swap_bytes), [0x92b2_b756_04ed_3c76, 0x1f9d_6f62_392c_8a92]);
    }
}
