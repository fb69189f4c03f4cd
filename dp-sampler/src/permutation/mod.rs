//! A secret permutation that is evaluated one index at a time.

use rand_core::Rng;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::subsampling::check_records;
use crate::{Error, Result, Stream};

/// Up to this many elements a permutation is a table, drawn exactly.
pub(crate) const TABLE_LIMIT: u64 = 1 << 10;
/// Rounds of the network above that; the tests say why.
const ROUNDS: usize = 12;

/// A random permutation of 0, …, n − 1 that can be evaluated, and inverted, at any one index.
///
/// *Up to 1,024 elements* it is a table made by the Fisher–Yates shuffle with exactly uniform integers: all n!
/// permutations are equally likely.
///
/// *Above*, it is a Feistel network on b = ⌈log₂ n⌉ bits in constant memory. Twelve times, one half is changed by
/// a keyed function of the other; images at n and above are permuted again until they fall below n.
///
/// ```text
/// upper ← upper ⊕ F(lower),  then  lower ← lower ⊕ F(upper),  …
/// F(x) = the first bits of g(first 32 bits of (a·x + b mod 2^64)),   a, b: 64 secret bits each, new every round
/// ```
///
/// with g a fixed bijection of 32-bit words. The halves take turns instead of places, so their widths may differ by one
/// bit.
///
/// # Accuracy
///
/// *Proven*: it is a bijection. Walking a cycle until it re-enters the first n elements turns a uniformly random
/// permutation of 2ᵇ elements into one of n (Black and Rogaway), in fewer than two evaluations on average. a·x + b
/// is strongly universal in its first 32 bits (Dietzfelbinger), and g keeps that: any *two* different inputs of a
/// round give independent uniform outputs. So in one pass any two elements are mapped exactly as by Luby
/// and Rackoff's network with truly random functions.
///
/// *Known*: at exactly 2ᵇ elements nothing walks, and the network then makes even permutations only, half of all.
/// The images of up to n − 2 elements do not show it.
///
/// *Measured*: everything about three and more elements at once, by the tests beside the code: pairs and triples of
/// 10 to 64 elements (over a million keys 8 rounds fail and 10 pass), avalanche, serial correlation. A statistical
/// test that needs billions of values has not been run. Where a privacy proof has to rest on uniform subsets, use
/// [`FixedSize::batch`](crate::FixedSize::batch) as it is, which is exact.
///
/// ```
/// use dp_sampler::{Permutation, Purpose, Seed};
///
/// let mut stream = Seed::for_tests(1).streams(Purpose::Subsample).at(0);
/// let permutation = Permutation::new(60_000, &mut stream)?;
/// let image = permutation.apply(17)?;
/// assert!(image < 60_000);
/// assert_eq!(permutation.invert(image)?, 17);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
///
/// # References
///
/// Luby, Rackoff (1988), *How to construct pseudorandom permutations from pseudorandom functions*. Black, Rogaway
/// (2002), *Ciphers with arbitrary finite domains*. Dietzfelbinger (1996), *Universal hashing and k-wise
/// independent random variables via integer arithmetic without primes*. Mitchell et al. (2021),
/// *Bandwidth-optimal random shuffling for GPUs*.
pub struct Permutation {
    len: u64,
    kind: Kind,
}

enum Kind {
    Table(Table),
    Network(Network),
}

impl Permutation {
    /// A permutation of `len` elements with key material taken from the stream.
    ///
    /// # Errors
    ///
    /// [`Error::NoRecords`] and [`Error::TooManyRecords`] for a length outside 1, …, 2⁶³.
    pub fn new(len: u64, stream: &mut Stream) -> Result<Self> {
        check_records(len)?;
        let kind =
            if len <= TABLE_LIMIT { Kind::Table(Table::new(len)) } else { Kind::Network(Network::new(len)) };
        let mut permutation = Self { len, kind };
        permutation.rekey(stream);
        Ok(permutation)
    }

    /// Replaces the permutation by another of the same length, without allocating.
    pub fn rekey(&mut self, stream: &mut Stream) {
        match &mut self.kind {
            Kind::Table(table) => table.rekey(stream),
            Kind::Network(network) => network.rekey(stream),
        }
    }

    /// The number of elements.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always an element")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Where the element `index` goes.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] when the index is not below the length.
    pub fn apply(&self, index: u64) -> Result<u64> {
        self.check(index)?;
        Ok(match &self.kind {
            Kind::Table(table) => u64::from(table.images[index as usize]),
            Kind::Network(network) => network.walk(index),
        })
    }

    /// Which element goes to `image`.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] when the image is not below the length.
    pub fn invert(&self, image: u64) -> Result<u64> {
        self.check(image)?;
        Ok(match &self.kind {
            Kind::Table(table) => u64::from(table.origins[image as usize]),
            Kind::Network(network) => network.walk_back(image),
        })
    }

    /// Appends the images of 0, …, `count` − 1, with `count` at most the length.
    pub(crate) fn extend_with_first(&self, count: u64, images: &mut Vec<u64>) {
        match &self.kind {
            Kind::Table(table) => {
                images.extend(table.images[..count as usize].iter().map(|&image| u64::from(image)))
            }
            Kind::Network(network) => network.extend_with_first(count, images),
        }
    }

    fn check(&self, index: u64) -> Result<()> {
        if index < self.len { Ok(()) } else { Err(Error::Index { index, len: self.len }) }
    }
}

/// A permutation of at most [`TABLE_LIMIT`] elements, written out both ways.
#[derive(ZeroizeOnDrop)]
struct Table {
    images: Vec<u16>,
    origins: Vec<u16>,
}

impl Table {
    fn new(len: u64) -> Self {
        let identity: Vec<u16> = (0..len as u16).collect();
        Self { images: identity.clone(), origins: identity }
    }

    fn rekey(&mut self, stream: &mut Stream) {
        // Fisher and Yates, from the identity so that a permutation depends on its own stream alone.
        for (index, image) in self.images.iter_mut().enumerate() {
            *image = index as u16;
        }
        for last in (1..self.images.len()).rev() {
            self.images.swap(last, stream.below(last as u64 + 1) as usize);
        }
        for (index, &image) in self.images.iter().enumerate() {
            self.origins[usize::from(image)] = index as u16;
        }
    }
}

/// Keys of one round's function.
#[derive(Clone, Copy, Default)]
struct RoundKey {
    factor: u64,
    offset: u64,
}

/// A Feistel network with cycle walking.
struct Network {
    len: u64,
    upper_bits: u32,
    lower_bits: u32,
    keys: Vec<RoundKey>,
}

/// Elements that walk together: their rounds do not wait for each other, so a processor overlaps them.
const LANES: usize = 64;

impl Network {
    fn new(len: u64) -> Self {
        Self::with_rounds(len, ROUNDS)
    }

    fn with_rounds(len: u64, rounds: usize) -> Self {
        // At least a bit in each half.
        let bits = (u64::BITS - (len - 1).leading_zeros()).max(2);
        let lower_bits = bits / 2;
        Self { len, upper_bits: bits - lower_bits, lower_bits, keys: vec![RoundKey::default(); rounds] }
    }

    fn rekey(&mut self, stream: &mut Stream) {
        for key in &mut self.keys {
            *key = RoundKey { factor: stream.next_u64(), offset: stream.next_u64() };
        }
    }

    /// The round function, `bits` ≤ 32 bits of it.
    #[inline(always)]
    fn round(key: RoundKey, x: u64, bits: u32) -> u64 {
        let universal = (key.factor.wrapping_mul(x).wrapping_add(key.offset) >> 32) as u32;
        // A bijection of 32-bit words: it leaves the values uniform and pairwise independent, and breaks up the
        // arithmetic progressions that a·x + b maps to arithmetic progressions.
        let mixed = (universal ^ universal >> 15).wrapping_mul(0x2c1b_3c6d);
        u64::from(mixed) >> (32 - bits)
    }

    #[inline]
    fn forward(&self, index: u64) -> u64 {
        let (mut upper, mut lower) = (index >> self.lower_bits, index & ((1 << self.lower_bits) - 1));
        for pair in self.keys.chunks_exact(2) {
            upper ^= Self::round(pair[0], lower, self.upper_bits);
            lower ^= Self::round(pair[1], upper, self.lower_bits);
        }
        upper << self.lower_bits | lower
    }

    fn backward(&self, image: u64) -> u64 {
        let (mut upper, mut lower) = (image >> self.lower_bits, image & ((1 << self.lower_bits) - 1));
        for pair in self.keys.chunks_exact(2).rev() {
            lower ^= Self::round(pair[1], upper, self.lower_bits);
            upper ^= Self::round(pair[0], lower, self.upper_bits);
        }
        upper << self.lower_bits | lower
    }

    #[inline]
    fn walk(&self, mut index: u64) -> u64 {
        loop {
            index = self.forward(index);
            if index < self.len {
                return index;
            }
        }
    }

    fn walk_back(&self, mut image: u64) -> u64 {
        loop {
            image = self.backward(image);
            if image < self.len {
                return image;
            }
        }
    }

    /// Images of consecutive numbers, side by side: those not yet below `len` go round again together.
    fn extend_with_first(&self, count: u64, images: &mut Vec<u64>) {
        let mut values = [0_u64; LANES];
        let mut walking = [0_u8; LANES];
        for start in (0..count).step_by(LANES) {
            let here = (count - start).min(LANES as u64) as usize;
            for lane in 0..here {
                values[lane] = start + lane as u64;
                walking[lane] = lane as u8;
            }
            let mut left = here;
            while left > 0 {
                let mut still = 0;
                for i in 0..left {
                    let lane = walking[i];
                    let value = self.forward(values[usize::from(lane)]);
                    values[usize::from(lane)] = value;
                    walking[still] = lane;
                    still += usize::from(value >= self.len);
                }
                left = still;
            }
            images.extend_from_slice(&values[..here]);
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for key in &mut self.keys {
            key.factor.zeroize();
            key.offset.zeroize();
        }
    }
}

#[cfg(test)]
mod tests;
