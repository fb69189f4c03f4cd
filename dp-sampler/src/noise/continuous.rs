//! Filling with continuous noise: blocks of random words in, numbers out, sixteen blocks at a time.

use crate::Streams;
use crate::chacha::{Blocks, LANES, Sliced};
use crate::simd::{Work, dispatch};

/// How an item of `WORDS` words becomes an item of `VALUES` numbers.
///
/// Item i of a step is made of the words i · WORDS, … of its stream, so a block holds a whole number of
/// items. Rare items need more bits than that: they are made anew from their own words and block i of a
/// second stream.
pub(super) trait Transform<const WORDS: usize, const VALUES: usize> {
    type Value: Copy + Default;

    /// The numbers, right unless the item is rare. Straight-line code, inlined into a loop over lanes.
    fn ordinary(words: [u32; WORDS]) -> [Self::Value; VALUES];

    /// Whether the item needs more bits.
    fn is_rare(words: [u32; WORDS]) -> bool;

    /// Both, and not zero for a rare item. Where the second needs what the first computes, it is computed
    /// once.
    #[inline(always)]
    fn ordinary_or_rare(words: [u32; WORDS]) -> ([Self::Value; VALUES], u64) {
        (Self::ordinary(words), u64::from(Self::is_rare(words)))
    }

    /// The numbers of a rare item.
    fn rare(words: [u32; WORDS], more: &[u32; 16]) -> [Self::Value; VALUES];
}

/// The streams that one type of numbers is made from: one for every item, one for the rare ones.
pub(super) struct Source {
    words: Streams,
    more: Streams,
}

impl Source {
    /// The child with this label, and its child 0.
    pub(super) fn new(streams: &Streams, label: u64) -> Self {
        let node = streams.child(label);
        Self { more: node.child(0), words: node }
    }

    /// The streams of every item and of the rare ones, for a device.
    #[cfg(feature = "gpu")]
    pub(super) fn streams(&self) -> [&Streams; 2] {
        [&self.words, &self.more]
    }

    /// Overwrites `out` with the numbers from `first_value` on, which begins a group of sixteen blocks.
    pub(super) fn fill<T: Transform<WORDS, VALUES>, const WORDS: usize, const VALUES: usize>(
        &self,
        step: u64,
        first_value: u64,
        out: &mut [T::Value],
    ) {
        const { assert!(16 % WORDS == 0 && super::NOISE_CHUNK.is_multiple_of(16 * LANES / WORDS * VALUES)) };
        let first_block = first_value / (16 / WORDS * VALUES) as u64;
        let blocks = self.words.blocks(step);
        dispatch(Fill::<T, WORDS, VALUES> { source: self, step, blocks: &blocks, first_block, out });
    }
}

/// Up to this many blocks are not computed sixteen at once.
const FEW: usize = 4;

struct Fill<'a, T: Transform<WORDS, VALUES>, const WORDS: usize, const VALUES: usize> {
    source: &'a Source,
    step: u64,
    blocks: &'a Blocks,
    first_block: u64,
    out: &'a mut [T::Value],
}

impl<T: Transform<WORDS, VALUES>, const WORDS: usize, const VALUES: usize> Fill<'_, T, WORDS, VALUES> {
    const ITEMS: usize = 16 / WORDS;

    /// The numbers of `L` blocks, one block after the other. `sliced` and `items` are room to work in.
    #[inline(always)]
    fn side_by_side<const L: usize>(
        &self,
        first: u64,
        sliced: &mut Sliced<L>,
        items: &mut [[[T::Value; VALUES]; L]; 16],
        out: &mut [[T::Value; VALUES]],
    ) {
        self.blocks.sliced(first, sliced);
        let mut rare = 0;
        for (words, items) in sliced.as_chunks::<WORDS>().0.iter().zip(items.iter_mut()) {
            for lane in 0..L {
                let words = std::array::from_fn(|k| words[k][lane]);
                let (values, is_rare) = T::ordinary_or_rare(words);
                items[lane] = values;
                rare |= is_rare;
            }
        }
        for (lane, out) in out.chunks_exact_mut(Self::ITEMS).enumerate() {
            for (out, items) in out.iter_mut().zip(items.iter()) {
                *out = items[lane];
            }
        }
        if rare != 0 {
            for lane in 0..L {
                for (j, words) in sliced.as_chunks::<WORDS>().0.iter().enumerate() {
                    let words = std::array::from_fn(|k| words[k][lane]);
                    if T::is_rare(words) {
                        out[lane * Self::ITEMS + j] = self.rare(words, first + lane as u64, j);
                    }
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn rare(&self, words: [u32; WORDS], block: u64, j: usize) -> [T::Value; VALUES] {
        let item = block * Self::ITEMS as u64 + j as u64;
        T::rare(words, &self.source.more.blocks(self.step).block(item))
    }
}

impl<T: Transform<WORDS, VALUES>, const WORDS: usize, const VALUES: usize> Work
    for Fill<'_, T, WORDS, VALUES>
{
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let per_block = Self::ITEMS * VALUES;
        let out = std::mem::take(&mut self.out);
        let mut block = self.first_block;
        if out.len() <= FEW * per_block {
            let mut last = [[T::Value::default(); VALUES]; 16 * FEW];
            let (mut sliced, mut items) = ([[0; FEW]; 16], [[[T::Value::default(); VALUES]; FEW]; 16]);
            self.side_by_side(block, &mut sliced, &mut items, &mut last[..FEW * Self::ITEMS]);
            out.copy_from_slice(&last.as_flattened()[..out.len()]);
            return;
        }
        let mut sliced = [[0; LANES]; 16];
        let mut items = [[[T::Value::default(); VALUES]; LANES]; 16];
        let mut groups = out.chunks_exact_mut(LANES * per_block);
        for group in &mut groups {
            self.side_by_side(block, &mut sliced, &mut items, group.as_chunks_mut::<VALUES>().0);
            block += LANES as u64;
        }
        let rest = groups.into_remainder();
        if !rest.is_empty() {
            let mut last = [[T::Value::default(); VALUES]; 16 * LANES];
            self.side_by_side(block, &mut sliced, &mut items, &mut last[..LANES * Self::ITEMS]);
            rest.copy_from_slice(&last.as_flattened()[..rest.len()]);
        }
    }
}

/// The sources of single- and double-precision numbers for one purpose.
pub(super) struct Sources {
    pub(super) single: Source,
    pub(super) double: Source,
    pub(super) secret: bool,
}

impl Sources {
    pub(super) fn new(streams: &Streams) -> Self {
        Self {
            double: Source::new(streams, DOUBLE),
            single: Source::new(streams, SINGLE),
            secret: streams.is_secret(),
        }
    }
}

/// Labels of the children from which numbers are made. A caller who makes noise from streams of their own
/// leaves these out.
const DOUBLE: u64 = u64::MAX;
const SINGLE: u64 = u64::MAX - 1;
pub(super) const GRID: u64 = u64::MAX - 2;
