//! Keys, and the standard noise made from them.

use crate::base::Result;
use crate::model::noise::NoiseKind;
use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fmt;

/// 256 bits from which draws are made.
///
/// Keys form a tree, that of Goldreich, Goldwasser and Micali (1986), *How to construct random functions*:
///
/// ```text
/// child(k, label)  = the first 32 bytes of ChaCha20 with key k and stream number `label`
/// named(k, name)   = child(… child(child(k, length of the name), its first 8 bytes) …, its last 8 bytes)
/// ```
///
/// The length goes first, so the path of one name never begins with that of another. The noise of a site is a
/// stream under `child(named(key, site), which of its inputs)`, with the number of the draw as its stream
/// number.
///
/// For predictions and tests: a key made from a small number can be guessed, and nothing wipes it from
/// memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// A key of these bits.
    #[must_use]
    pub fn new(bits: [u8; 32]) -> Self {
        Self(bits)
    }

    /// A key below this one. Different labels give keys that have nothing to do with each other.
    #[must_use]
    pub fn child(&self, label: u64) -> Self {
        let mut bits = [0; 32];
        self.stream(label).fill_bytes(&mut bits);
        Self(bits)
    }

    /// The key of a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        let root = self.child(name.len() as u64);
        name.as_bytes().chunks(8).fold(root, |node, chunk| {
            let mut label = [0; 8];
            label[..chunk.len()].copy_from_slice(chunk);
            node.child(u64::from_le_bytes(label))
        })
    }

    pub(crate) fn stream(&self, number: u64) -> ChaCha20Rng {
        let mut stream = ChaCha20Rng::from_seed(self.0);
        stream.set_stream(number);
        stream
    }

    /// Fills an array with standard noise, the numbers from `first` on of stream `draw`.
    ///
    /// Each number takes two words (16 bytes) of the stream, of whatever kind it is, so the `k`-th is found
    /// without those before it.
    pub(crate) fn fill(&self, kind: NoiseKind, draw: u64, first: u64, out: &mut [f64]) -> Result<()> {
        let mut stream = self.stream(draw);
        stream.set_word_pos(u128::from(first) * 4);
        for out in out {
            *out = kind.number([stream.next_u64(), stream.next_u64()]);
        }
        Ok(())
    }
}

impl From<[u8; 32]> for Key {
    fn from(bits: [u8; 32]) -> Self {
        Self(bits)
    }
}

/// A key that everybody can guess.
impl From<u64> for Key {
    fn from(number: u64) -> Self {
        let mut bits = [0; 32];
        bits[..8].copy_from_slice(&number.to_le_bytes());
        Self(bits)
    }
}

/// A key that everybody can guess, from the 64 bits of the number.
impl From<i32> for Key {
    fn from(number: i32) -> Self {
        Self::from(i64::from(number) as u64)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
