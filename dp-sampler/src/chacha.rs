//! ChaCha20 at any block, one at a time or several side by side.
//!
//! [`Stream`](crate::Stream) hands out words in turn and leaves the work to the `chacha20` crate. Noise wants
//! blocks by number and many at once. The function is the same (RFC 8439, section 2.3, with the 64-bit
//! counter and 64-bit stream number of the original design), and tests hold both to the same words.
//!
//! Neither is the crate `rand_chacha`, although its words are the same, which a test confirms. It gives no
//! blocks side by side in the order that vectorised noise needs. For words in turn, version 0.10 takes 1.5 to
//! 1.6 times as long as `chacha20` 0.10 (x86-64: 3.6 against 2.3 ns for a word of 32 bits), and it does not
//! wipe the key when it is dropped.

use zeroize::ZeroizeOnDrop;

/// Blocks that are computed side by side: enough for the widest registers, whose lanes each hold one block's
/// word.
pub(crate) const LANES: usize = 16;

/// The words of consecutive blocks, by position in the block: `words[j][l]` is word j of block l.
pub(crate) type Sliced<const L: usize = LANES> = [[u32; L]; 16];

/// The blocks of one stream: 16 words each, by number. Wiped when dropped.
#[derive(ZeroizeOnDrop)]
pub(crate) struct Blocks {
    /// The input of block 0.
    state: [u32; 16],
}

#[inline(always)]
fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

#[inline(always)]
fn double_round(x: &mut [u32; 16]) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 1, 5, 9, 13);
    quarter_round(x, 2, 6, 10, 14);
    quarter_round(x, 3, 7, 11, 15);
    quarter_round(x, 0, 5, 10, 15);
    quarter_round(x, 1, 6, 11, 12);
    quarter_round(x, 2, 7, 8, 13);
    quarter_round(x, 3, 4, 9, 14);
}

impl Blocks {
    pub(crate) fn new(key: &[u8; 32], stream: u64) -> Self {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        for (word, bytes) in state[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        state[14] = stream as u32;
        state[15] = (stream >> 32) as u32;
        Self { state }
    }

    /// The sixteen words of a block.
    #[inline(always)]
    pub(crate) fn block(&self, number: u64) -> [u32; 16] {
        self.note(number, 1);
        self.compute(number)
    }

    /// Notes that blocks have been used, for tests.
    #[inline(always)]
    #[cfg_attr(not(feature = "record"), allow(unused_variables, clippy::unused_self))]
    fn note(&self, first: u64, count: u64) {
        #[cfg(feature = "record")]
        {
            let mut key = [0; 32];
            for (bytes, word) in key.as_chunks_mut::<4>().0.iter_mut().zip(&self.state[4..12]) {
                *bytes = word.to_le_bytes();
            }
            let stream = u64::from(self.state[14]) | u64::from(self.state[15]) << 32;
            crate::record::note(key, stream, first, count);
        }
    }

    #[inline(always)]
    fn compute(&self, number: u64) -> [u32; 16] {
        let mut start = self.state;
        start[12] = number as u32;
        start[13] = (number >> 32) as u32;
        let mut x = start;
        // Twenty rounds, written out: a loop here would keep the loop over lanes from becoming vector
        // instructions.
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        double_round(&mut x);
        for (x, start) in x.iter_mut().zip(start) {
            *x = x.wrapping_add(start);
        }
        x
    }

    /// The words of consecutive blocks from `first` on, at best as fast as those of one. To be called within
    /// [`dispatch`](crate::simd::dispatch).
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // The loop over lanes is outermost, and what becomes vector instructions.
    pub(crate) fn sliced<const L: usize>(&self, first: u64, words: &mut Sliced<L>) {
        self.note(first, L as u64);
        for lane in 0..L {
            let x = self.compute(first.wrapping_add(lane as u64));
            for j in 0..16 {
                words[j][lane] = x[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::simd::{Work, dispatch};
    use crate::{Seed, strategies};

    struct Slice<'a>(&'a Blocks, u64, &'a mut Sliced);

    impl Work for Slice<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            self.0.sliced(self.1, self.2);
        }
    }

    #[test]
    fn blocks_match_rfc_8439() {
        // Section 2.3.2; the first nonce word is the upper half of the counter here.
        let counting: [u8; 32] = std::array::from_fn(|i| i as u8);
        let blocks = Blocks::new(&counting, 0x4a00_0000);
        let expected = [
            0xe4e7_f110,
            0x1559_3bd1,
            0x1fdd_0f50,
            0xc471_20a3,
            0xc7f4_d1c7,
            0x0368_c033,
            0x9aaa_2204,
            0x4e6c_d4c3,
            0x4664_82d2,
            0x09aa_9f07,
            0x05d7_c214,
            0xa202_8bd9,
            0xd19c_12b5,
            0xb94e_16de,
            0xe883_d0cb,
            0x4e3c_50a2,
        ];
        assert_eq!(blocks.block(0x0900_0000_0000_0001), expected);
        // Appendix A.1, vector 1: all zeros.
        let zero = Blocks::new(&[0; 32], 0).block(0);
        assert_eq!(zero[..4], [0xade0_b876, 0x903d_f1a0, 0xe56a_5d40, 0x28bd_8653]);
    }

    proptest! {
        /// A second implementation gives the same words for every key, stream and block number: those of
        /// numbered blocks, those side by side, and from the first block on those of a stream.
        #[test]
        fn the_words_are_those_of_rand_chacha(
            key in any::<[u8; 32]>(), number in any::<u64>(), near in 0..20_u64,
            first in prop_oneof![Just(0_u64), Just(1 << 32), Just(u64::MAX), any::<u64>()],
        ) {
            let mut other = ChaCha20Rng::from_seed(key);
            other.set_stream(number);
            let mut stream = crate::Stream::new(&key, number);
            for _ in 0..100 {
                prop_assert_eq!(stream.next_u32(), other.next_u32());
            }
            // From shortly before a place where the counter carries.
            let first = first.wrapping_sub(near);
            let blocks = Blocks::new(&key, number);
            let mut sliced = [[0; LANES]; 16];
            dispatch(Slice(&blocks, first, &mut sliced));
            for lane in 0..LANES {
                let block = first.wrapping_add(lane as u64);
                other.set_word_pos(u128::from(block) * 16);
                let expected: [u32; 16] = std::array::from_fn(|_| other.next_u32());
                prop_assert_eq!(blocks.block(block), expected);
                prop_assert_eq!(sliced.map(|words| words[lane]), expected);
            }
        }

        #[test]
        fn blocks_are_those_of_the_stream(
            number in strategies::seed_number(), purpose in strategies::purpose(), step in any::<u64>(),
            skip in 0..40_u64,
        ) {
            let streams = Seed::for_tests(number).streams(purpose);
            let (mut stream, blocks) = (streams.at(step), streams.blocks(step));
            let words: Vec<[u32; 16]> =
                (0..skip + LANES as u64).map(|_| std::array::from_fn(|_| stream.next_u32())).collect();
            let mut sliced = [[0; LANES]; 16];
            dispatch(Slice(&blocks, skip, &mut sliced));
            for (lane, expected) in words[skip as usize..].iter().enumerate() {
                prop_assert_eq!(&std::array::from_fn(|j| sliced[j][lane]), expected);
                prop_assert_eq!(&blocks.block(skip + lane as u64), expected);
            }
        }

        #[test]
        fn the_counter_carries_between_lanes(
            number in strategies::seed_number(), back in 0..20_u64, end in prop::sample::select(vec![1 << 32, 0, 1_u64 << 63]),
        ) {
            let blocks = Seed::for_tests(number).streams(crate::Purpose::Split).blocks(0);
            let first = u64::wrapping_sub(end, back);
            let mut sliced = [[0; LANES]; 16];
            dispatch(Slice(&blocks, first, &mut sliced));
            for lane in 0..LANES as u64 {
                let block = blocks.block(first.wrapping_add(lane));
                prop_assert_eq!(sliced.map(|words| words[lane as usize]), block);
            }
        }
    }
}
