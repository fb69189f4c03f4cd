//! The Feistel network: one element at a time. See [`lanes`](super::lanes) for many side by side.

use rand_core::Rng;
use zeroize::{Zeroize, Zeroizing};

use super::lanes;
use crate::Stream;

/// Rounds of the network; the tests say why.
pub(crate) const ROUNDS: usize = 16;

/// The words a network calculates in. 32 bits where they are enough, because processors multiply sixteen of
/// those at once.
pub(super) trait Word: Copy + Default + PartialOrd + Zeroize {
    /// Their width.
    const BITS: u32;
    /// The last bits of a number.
    fn truncate(value: u64) -> Self;
    fn widen(self) -> u64;
    fn draw(stream: &mut Stream) -> Self;
    fn times(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn right(self, bits: u32) -> Self;
    fn left(self, bits: u32) -> Self;
}

macro_rules! word {
    ($word:ty, $draw:ident) => {
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            #[inline(always)]
            fn truncate(value: u64) -> Self {
                value as $word
            }
            #[inline(always)]
            fn widen(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            fn draw(stream: &mut Stream) -> Self {
                stream.$draw()
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn right(self, bits: u32) -> Self {
                self >> bits
            }
            #[inline(always)]
            fn left(self, bits: u32) -> Self {
                self << bits
            }
        }
    };
}

word!(u32, next_u32);
word!(u64, next_u64);

/// Keys of one round's function, F(x) = the first bits of (a·x + b)·x + c.
#[derive(Clone, Copy, Default)]
pub(super) struct RoundKey<W> {
    a: W,
    b: W,
    c: W,
}

impl<W: Word> Zeroize for RoundKey<W> {
    fn zeroize(&mut self) {
        self.a.zeroize();
        self.b.zeroize();
        self.c.zeroize();
    }
}

impl<W: Word> RoundKey<W> {
    /// The round function, without its last `discarded` = w − o bits.
    #[inline(always)]
    pub(super) fn round(self, x: W, discarded: u32) -> W {
        self.a.times(x).plus(self.b).times(x).plus(self.c).right(discarded)
    }
}

/// How a number is cut into an upper and a lower half, whose widths differ by at most one bit.
#[derive(Clone, Copy)]
pub(super) struct Halves<W> {
    lower_bits: u32,
    lower_mask: W,
    /// Of a word, what a round function for the upper half discards; and for the lower.
    discarded: [u32; 2],
}

impl<W: Word> Halves<W> {
    /// For numbers below 2^bits, with 2 ≤ bits ≤ w.
    fn new(bits: u32) -> Self {
        let (lower, upper) = (bits / 2, bits - bits / 2);
        let lower_mask = W::truncate((1 << lower) - 1);
        Self { lower_bits: lower, lower_mask, discarded: [W::BITS - upper, W::BITS - lower] }
    }

    #[inline(always)]
    pub(super) fn split(self, value: W) -> (W, W) {
        (value.right(self.lower_bits), value.and(self.lower_mask))
    }

    #[inline(always)]
    pub(super) fn join(self, upper: W, lower: W) -> W {
        upper.left(self.lower_bits).or(lower)
    }

    /// One round of both halves.
    #[inline(always)]
    pub(super) fn mix(self, keys: &[RoundKey<W>; 2], upper: W, lower: W) -> (W, W) {
        let upper = upper.xor(keys[0].round(lower, self.discarded[0]));
        (upper, lower.xor(keys[1].round(upper, self.discarded[1])))
    }

    #[inline(always)]
    fn unmix(self, keys: &[RoundKey<W>; 2], upper: W, lower: W) -> (W, W) {
        let lower = lower.xor(keys[1].round(upper, self.discarded[1]));
        (upper.xor(keys[0].round(lower, self.discarded[0])), lower)
    }
}

/// A Feistel network with cycle walking.
pub(super) struct Network<W: Word> {
    len: u64,
    halves: Halves<W>,
    /// Two rounds at a time.
    keys: Zeroizing<Vec<[RoundKey<W>; 2]>>,
}

impl<W: Word> Network<W> {
    /// For at most 2^w elements.
    pub(super) fn new(len: u64) -> Self {
        Self::with_rounds(len, ROUNDS)
    }

    pub(super) fn with_rounds(len: u64, rounds: usize) -> Self {
        // At least a bit in each half.
        let bits = (u64::BITS - (len - 1).leading_zeros()).max(2);
        let keys = Zeroizing::new(vec![[RoundKey::default(); 2]; rounds / 2]);
        Self { len, halves: Halves::new(bits), keys }
    }

    pub(super) fn rekey(&mut self, stream: &mut Stream) {
        for key in self.keys.iter_mut().flatten() {
            *key = RoundKey { a: W::draw(stream), b: W::draw(stream), c: W::draw(stream) };
        }
    }

    #[cfg(feature = "gpu")]
    pub(super) fn shape(&self) -> super::Shape {
        super::Shape {
            len: self.len,
            wide: W::BITS == 64,
            lower_bits: self.halves.lower_bits,
            discarded: self.halves.discarded,
        }
    }

    /// a, b, c of every round, low halves first where they are wide.
    #[cfg(feature = "gpu")]
    pub(super) fn key_words(&self) -> Zeroizing<Vec<u32>> {
        let halves = W::BITS as usize / 32;
        let mut words = Zeroizing::new(Vec::with_capacity(6 * halves * self.keys.len()));
        for key in self.keys.iter().flatten() {
            for word in [key.a, key.b, key.c].map(Word::widen) {
                words.extend_from_slice(&[word as u32, (word >> 32) as u32][..halves]);
            }
        }
        words
    }

    #[inline]
    pub(super) fn forward(&self, index: u64) -> u64 {
        let (mut upper, mut lower) = self.halves.split(W::truncate(index));
        for keys in self.keys.iter() {
            (upper, lower) = self.halves.mix(keys, upper, lower);
        }
        self.halves.join(upper, lower).widen()
    }

    fn backward(&self, image: u64) -> u64 {
        let (mut upper, mut lower) = self.halves.split(W::truncate(image));
        for keys in self.keys.iter().rev() {
            (upper, lower) = self.halves.unmix(keys, upper, lower);
        }
        self.halves.join(upper, lower).widen()
    }

    #[inline]
    pub(super) fn walk(&self, mut index: u64) -> u64 {
        loop {
            index = self.forward(index);
            if index < self.len {
                return index;
            }
        }
    }

    pub(super) fn walk_back(&self, mut image: u64) -> u64 {
        loop {
            image = self.backward(image);
            if image < self.len {
                return image;
            }
        }
    }

    /// Images of the numbers from `start` on, all of them below the length.
    pub(super) fn images(&self, start: u64, images: &mut [u64]) {
        lanes::walk(self.halves, &self.keys, self.len, start, images);
    }
}
