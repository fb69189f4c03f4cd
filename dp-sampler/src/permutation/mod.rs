//! A secret permutation that is evaluated one index at a time.

mod lanes;
mod network;
mod table;

use crate::subsampling::check_records;
use crate::{Error, Result, Stream};
use network::Network;
#[cfg(feature = "gpu")]
pub(crate) use network::ROUNDS;
use table::Table;

/// Up to this many elements a permutation is a table, drawn exactly.
pub(crate) const TABLE_LIMIT: u64 = 1 << 10;
/// Up to this many elements 32-bit words are enough.
const NARROW_LIMIT: u64 = 1 << 32;

/// A random permutation of 0, …, n − 1 that can be evaluated, and inverted, at any one index.
///
/// *Up to 1,024 elements* it is a table made by the Fisher–Yates shuffle with exactly uniform integers: all
/// n! permutations are equally likely.
///
/// *Above*, it is a Feistel network on b = ⌈log₂ n⌉ bits in constant memory. Sixteen times, one half is
/// changed by a keyed function of the other; images at n and above are permuted again until they fall below
/// n.
///
/// ```text
/// upper ← upper ⊕ F(lower),  then  lower ← lower ⊕ F(upper),  …
/// F(x) = the first bits of (a·x + b)·x + c mod 2ʷ       a, b, c: w secret bits each, new every round
/// ```
///
/// with w = 32 up to 2³² elements and w = 64 above. The halves take turns instead of places, so their widths
/// may differ by one bit. Many elements go through the rounds side by side, with the vector instructions that
/// the machine has; the images are the same on every machine.
///
/// # Accuracy
///
/// *Proven*: it is a bijection. Walking a cycle until it re-enters the first n elements turns a uniformly
/// random permutation of 2ᵇ elements into one of n (Black and Rogaway), in fewer than two evaluations on
/// average. And any *two* different inputs of a round give independent uniform outputs: for inputs of u bits
/// and outputs of o, the first o bits of b·x + c are strongly universal because u + o − 1 ≤ w
/// (Dietzfelbinger), whatever constant is added to either, here a·x². So in one pass any two elements are
/// mapped exactly as by Luby and Rackoff's network with truly random functions.
///
/// *Known*: at exactly 2ᵇ elements nothing walks, and the network then makes even permutations only, half of
/// all. The images of up to n − 2 elements do not show it.
///
/// *Measured*: everything about three and more elements at once, by the tests beside the code: pairs, triples
/// and quadruples of 8 to 64 elements (over half a million keys 8 rounds fail and 10 pass), avalanche, serial
/// correlation, birthday spacings. A statistical test that needs billions of values has not been run, and
/// sixteen times 3w bits of key cannot reach every permutation. Where a privacy proof has to rest on a
/// uniform order, use [`Permutation::exact`]; on uniform subsets,
/// [`FixedSize::batch`](crate::FixedSize::batch) as it is.
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
/// Luby, Rackoff (1988), *How to construct pseudorandom permutations from pseudorandom functions*. Black,
/// Rogaway (2002), *Ciphers with arbitrary finite domains*. Dietzfelbinger (1996), *Universal hashing and
/// k-wise independent random variables via integer arithmetic without primes*. Mitchell et al. (2021),
/// *Bandwidth-optimal random shuffling for GPUs*.
pub struct Permutation {
    len: u64,
    kind: Kind,
}

enum Kind {
    Table(Table),
    Narrow(Network<u32>),
    Wide(Network<u64>),
}

/// What a permutation is made of.
#[cfg(feature = "gpu")]
pub(crate) enum PermutationParts<'a> {
    /// All images.
    Table(&'a [u64]),
    /// A network and the words of its keys, low halves first.
    Network { shape: Shape, keys: zeroize::Zeroizing<Vec<u32>> },
}

/// What is public about a network.
#[cfg(feature = "gpu")]
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The number of elements.
    pub(crate) len: u64,
    /// Whether words have 64 bits.
    pub(crate) wide: bool,
    /// The width of the lower half.
    pub(crate) lower_bits: u32,
    /// Of a word, what a round function for the upper half discards; and for the lower.
    pub(crate) discarded: [u32; 2],
}

impl Permutation {
    /// A permutation of `len` elements with key material taken from the stream.
    ///
    /// # Errors
    ///
    /// [`Error::NoRecords`] and [`Error::TooManyRecords`] for a length outside 1, …, 2⁶³.
    pub fn new(len: u64, stream: &mut Stream) -> Result<Self> {
        check_records(len)?;
        let kind = if len <= TABLE_LIMIT {
            Kind::Table(Table::new(len)?)
        } else if len <= NARROW_LIMIT {
            Kind::Narrow(Network::new(len))
        } else {
            Kind::Wide(Network::new(len))
        };
        let mut permutation = Self { len, kind };
        permutation.rekey(stream);
        Ok(permutation)
    }

    /// A permutation that is written out whatever its length: all n! are exactly equally likely.
    ///
    /// It takes 16 bytes an element and a time in proportion, once for every key.
    ///
    /// ```
    /// use dp_sampler::{Permutation, Purpose, Seed};
    ///
    /// let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
    /// let permutation = Permutation::exact(60_000, &mut stream)?;
    /// assert_eq!(permutation.invert(permutation.apply(17)?)?, 17);
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and [`Error::NoMemory`].
    pub fn exact(len: u64, stream: &mut Stream) -> Result<Self> {
        check_records(len)?;
        let mut permutation = Self { len, kind: Kind::Table(Table::new(len)?) };
        permutation.rekey(stream);
        Ok(permutation)
    }

    /// Replaces the permutation by another of the same length, without allocating.
    pub fn rekey(&mut self, stream: &mut Stream) {
        match &mut self.kind {
            Kind::Table(table) => table.rekey(stream),
            Kind::Narrow(network) => network.rekey(stream),
            Kind::Wide(network) => network.rekey(stream),
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
            Kind::Table(table) => table.images[index as usize],
            Kind::Narrow(network) => network.walk(index),
            Kind::Wide(network) => network.walk(index),
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
            Kind::Table(table) => table.origins[image as usize],
            Kind::Narrow(network) => network.walk_back(image),
            Kind::Wide(network) => network.walk_back(image),
        })
    }

    /// Where the elements `start`, `start + 1`, … go, one for each place in `images`.
    ///
    /// Faster than one at a time, and nothing is allocated.
    ///
    /// ```
    /// use dp_sampler::{Permutation, Purpose, Seed};
    ///
    /// let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
    /// let permutation = Permutation::new(60_000, &mut stream)?;
    /// let mut batch = [0; 128];
    /// permutation.apply_range(59_000, &mut batch)?;
    /// assert_eq!(batch[3], permutation.apply(59_003)?);
    /// assert!(permutation.apply_range(59_900, &mut batch).is_err());
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Index`] when the last index is not below the length; nothing is written then.
    pub fn apply_range(&self, start: u64, images: &mut [u64]) -> Result<()> {
        let Some(more) = (images.len() as u64).checked_sub(1) else { return Ok(()) };
        self.check(start.saturating_add(more))?;
        match &self.kind {
            Kind::Table(table) => {
                // Inside, and so is their sum: both are at most the table's length.
                let from = start as usize;
                images.copy_from_slice(&table.images[from..from + images.len()]);
            }
            Kind::Narrow(network) => network.images(start, images),
            Kind::Wide(network) => network.images(start, images),
        }
        Ok(())
    }

    /// The images of 0, …, n − 1 one after the other: a whole shuffled order in constant memory.
    ///
    /// ```
    /// use dp_sampler::{Permutation, Purpose, Seed};
    ///
    /// let mut stream = Seed::for_tests(1).streams(Purpose::Split).at(0);
    /// let permutation = Permutation::new(5_000, &mut stream)?;
    /// assert_eq!(permutation.iter().sum::<u64>(), 4_999 * 5_000 / 2); // each exactly once
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    pub fn iter(&self) -> Images<'_> {
        Images { permutation: self, next: 0, end: self.len, ahead: [0; AHEAD], used: AHEAD }
    }

    /// Replaces the contents of `images` by the images of `start`, …, `start + count − 1`, all below the
    /// length.
    pub(crate) fn images_into(&self, start: u64, count: usize, images: &mut Vec<u64>) {
        images.clear();
        images.resize(count, 0);
        let inside = self.apply_range(start, images);
        debug_assert!(inside.is_ok(), "the callers plan within the length");
    }

    /// Whether it is written out, so that all permutations are equally likely.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.kind, Kind::Table(_))
    }

    /// What the permutation is made of, for a device.
    #[cfg(feature = "gpu")]
    pub(crate) fn parts(&self) -> PermutationParts<'_> {
        match &self.kind {
            Kind::Table(table) => PermutationParts::Table(&table.images),
            Kind::Narrow(network) => {
                PermutationParts::Network { shape: network.shape(), keys: network.key_words() }
            }
            Kind::Wide(network) => {
                PermutationParts::Network { shape: network.shape(), keys: network.key_words() }
            }
        }
    }

    fn check(&self, index: u64) -> Result<()> {
        if index < self.len { Ok(()) } else { Err(Error::Index { index, len: self.len }) }
    }
}

/// Images that an iterator computes at once.
const AHEAD: usize = 256;

/// The images of a permutation in order; made by [`Permutation::iter`].
pub struct Images<'a> {
    permutation: &'a Permutation,
    next: u64,
    end: u64,
    /// Images computed already; those from `used` on have not been handed out.
    ahead: [u64; AHEAD],
    used: usize,
}

impl Iterator for Images<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next == self.end {
            return None;
        }
        if self.used == AHEAD {
            // The last images are put at the end, so that `used` always runs up to the same place.
            let count = (self.end - self.next).min(AHEAD as u64) as usize;
            self.used = AHEAD - count;
            self.permutation.apply_range(self.next, &mut self.ahead[self.used..]).ok()?;
        }
        let image = self.ahead[self.used];
        self.used += 1;
        self.next += 1;
        Some(image)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next;
        (usize::try_from(left).unwrap_or(usize::MAX), usize::try_from(left).ok())
    }
}

impl std::iter::FusedIterator for Images<'_> {}

impl<'a> IntoIterator for &'a Permutation {
    type Item = u64;
    type IntoIter = Images<'a>;

    fn into_iter(self) -> Images<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests;
