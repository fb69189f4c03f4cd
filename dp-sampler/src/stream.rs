//! A stream of random words, and exact integers made from it.

use std::convert::Infallible;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};

/// The random words of one purpose at one step: ChaCha20 with 20 rounds, wiped when dropped.
///
/// Implements [`rand_core::Rng`] (through `TryRng`), so anything that takes a generator takes a stream. It
/// cannot be cloned: a copied stream would hand out the same numbers twice.
pub struct Stream {
    generator: ChaCha20Rng,
}

#[cfg(feature = "record")]
impl Drop for Stream {
    fn drop(&mut self) {
        let blocks = self.generator.get_word_pos().div_ceil(16);
        let key = self.generator.get_seed();
        crate::record::note(key, self.generator.get_stream(), 0, blocks as u64);
    }
}

impl Stream {
    pub(crate) fn new(key: &[u8; 32], number: u64) -> Self {
        let mut generator = ChaCha20Rng::from_seed(*key);
        generator.set_stream(number);
        Self { generator }
    }

    /// An exactly uniform integer below `bound`, by rejection; zero when `bound` is 0 or 1.
    ///
    /// ```
    /// use dp_sampler::{Purpose, Seed};
    ///
    /// let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
    /// assert!(stream.below(6) < 6);
    /// ```
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        // Lemire (2019), Fast random integer generation in an interval: the high half of word · bound is
        // uniform once the `2^64 mod bound` smallest low halves are turned away.
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let refused = bound.wrapping_neg() % bound;
            while (product as u64) < refused {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }
}

/// Uniform integers below one bound, exactly, at 32 bits each where that is enough.
pub(crate) struct Below {
    bound: u64,
    /// Of the low half of a product, how many of the smallest values are turned away.
    refused: u64,
}

impl Below {
    /// `bound` is at least 1.
    pub(crate) fn new(bound: u64) -> Self {
        // As in `Stream::below`, but with 2^32 in place of 2^64 while that turns away few words.
        let short = bound < 1 << 28;
        let refused = if short { (1 << 32) % bound } else { bound.wrapping_neg() % bound };
        Self { bound, refused }
    }

    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let (value, rest) = if self.bound < 1 << 28 {
                let product = u64::from(stream.next_u32()) * self.bound;
                (product >> 32, product & u64::from(u32::MAX))
            } else {
                let product = u128::from(stream.next_u64()) * u128::from(self.bound);
                ((product >> 64) as u64, product as u64)
            };
            if rest >= self.refused {
                return value;
            }
        }
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.generator.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.generator.try_next_u64()
    }

    #[inline]
    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Infallible> {
        self.generator.try_fill_bytes(destination)
    }
}

impl TryCryptoRng for Stream {}

/// Hands out a stream's words a few bits at a time, so that a 7-bit position costs 7 bits and not 64.
pub(crate) struct Bits {
    word: u64,
    left: u32,
}

impl Bits {
    pub(crate) fn new() -> Self {
        Self { word: 0, left: 0 }
    }

    /// The next `count` ≤ 63 bits. What is left of a word too short for them is thrown away.
    #[inline]
    pub(crate) fn take(&mut self, count: u32, stream: &mut impl Rng) -> u64 {
        if self.left < count {
            self.word = stream.next_u64();
            self.left = 64;
        }
        let bits = self.word & ((1 << count) - 1);
        self.word >>= count;
        self.left -= count;
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Seed, testing};

    fn hex(words: &str) -> Vec<u32> {
        words.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
    }

    /// The block of RFC 8439 for a key, a counter word and three nonce words, through this crate's layout:
    /// the first nonce word is the upper half of the 64-bit counter, the other two are the stream number.
    fn rfc_block(key: &[u8; 32], counter: u32, nonce: [u32; 3]) -> Vec<u32> {
        let mut stream = Stream::new(key, u64::from(nonce[1]) | u64::from(nonce[2]) << 32);
        let block = u64::from(counter) | u64::from(nonce[0]) << 32;
        stream.generator.set_word_pos(u128::from(block) * 16);
        (0..16).map(|_| stream.next_u32()).collect()
    }

    #[test]
    fn blocks_match_rfc_8439() {
        // Section 2.3.2.
        let counting: [u8; 32] = std::array::from_fn(|i| i as u8);
        assert_eq!(
            rfc_block(&counting, 1, [0x0900_0000, 0x4a00_0000, 0]),
            hex("e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3
                 466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2")
        );
        // Appendix A.1, vectors 1, 2 and 5.
        assert_eq!(
            rfc_block(&[0; 32], 0, [0; 3]),
            hex("ade0b876 903df1a0 e56a5d40 28bd8653 b819d2bd 1aed8da0 ccef36a8 c70d778b
                 7c5941da 8d485751 3fe02477 374ad8b8 f4b8436a 1ca11815 69b687c3 8665eeb2")
        );
        assert_eq!(
            rfc_block(&[0; 32], 1, [0; 3]),
            hex("bee7079f 7a385155 7c97ba98 0d082d73 a0290fcb 6965e348 3e53c612 ed7aee32
                 7621b729 434ee69c b03371d5 d539d874 281fed31 45fb0a51 1f0ae1ac 6f4d794b")
        );
        assert_eq!(
            rfc_block(&[0; 32], 0, [0, 0, 0x0200_0000]),
            hex("374dc6c2 3736d58c b904e24a cd3f93ef 88228b1a 96a4dfb3 5b76ab72 c727ee54
                 0e0e978a f3145c95 1b748ea8 f786c297 99c28f5f 628314e8 398a19fa 6ded1b53")
        );
    }

    #[test]
    fn bounded_integers_are_uniform() {
        // 6·10⁴ draws below 6 and below 3·2⁶² (where a quarter of all words are refused), alpha 1e-6 each.
        let mut stream = Seed::for_tests(2).streams(Purpose::Split).at(0);
        for bound in [6, 3 << 62] {
            let (mut counts, mut remainders) = ([0_u64; 6], [0_u64; 3]);
            for _ in 0..60_000 {
                let value = stream.below(bound);
                assert!(value < bound);
                counts[(value / (bound / 6)) as usize] += 1;
                remainders[(value % 3) as usize] += 1;
            }
            assert!(testing::uniformity(&counts) > 1e-6, "{counts:?}");
            // Without refusals one value in three has twice as many words as the others.
            assert!(testing::uniformity(&remainders) > 1e-6, "{remainders:?}");
        }
        assert_eq!((stream.below(0), stream.below(1)), (0, 0));
    }

    #[test]
    fn planned_bounded_integers_are_uniform() {
        // The same for both widths, with 3·10⁵ draws; 3·2²⁶ and 3·2⁶¹ refuse words, 6 hardly does.
        let mut stream = Seed::for_tests(2).streams(Purpose::Split).at(1);
        for bound in [6, 3 << 26, 3 << 61] {
            let (below, mut counts, mut remainders) = (Below::new(bound), [0_u64; 6], [0_u64; 3]);
            for _ in 0..300_000 {
                let value = below.draw(&mut stream);
                assert!(value < bound);
                counts[(value / (bound / 6)) as usize] += 1;
                remainders[(value % 3) as usize] += 1;
            }
            assert!(testing::uniformity(&counts) > 1e-6, "{counts:?}");
            // Without refusals one value in three has one word more than the others, which have 21 or 2.
            assert!(testing::uniformity(&remainders) > 1e-6, "{remainders:?}");
        }
        assert_eq!(Below::new(1).draw(&mut stream), 0);
        // The smallest low halves are the refused ones: 2^32 = 4 mod 6, 2^64 = 2^63 mod 2^63·1, none.
        assert_eq!(Below::new(6).refused, 4);
        assert_eq!(Below::new(1 << 63).refused, 0);
    }

    #[test]
    fn bits_are_taken_in_order() {
        let streams = Seed::for_tests(3).streams(Purpose::Split);
        let word = streams.at(0).next_u64();
        let (mut stream, mut bits) = (streams.at(0), Bits::new());
        let mut rebuilt = 0;
        for i in 0..8 {
            rebuilt |= bits.take(8, &mut stream) << (8 * i);
        }
        assert_eq!(rebuilt, word);
        assert_eq!(bits.take(0, &mut stream), 0);
    }
}
