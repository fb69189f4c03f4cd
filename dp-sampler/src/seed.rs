//! The secret seed, and the keys derived from it.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::ZeroizeOnDrop;

use crate::chacha::Blocks;
use crate::{Result, Stream};

/// The secret from which every random number of a run is derived: 256 bits, wiped when dropped.
///
/// # Privacy
///
/// Differential privacy holds against everyone who does not know the seed. Anyone who learns it can repeat
/// the subsampling and subtract the noise, so a seed cannot be printed, serialised or cloned, and leaves
/// memory when it is dropped (copies that the compiler spills to the stack are out of reach). What rests on
/// it: the outputs of ChaCha20 under an unknown key cannot be distinguished from random words with bounded
/// computing power, so the guarantee is the computational one that every implementation on a computer has.
///
/// *Use a seed once.* Two runs with one seed share their noise, and the difference of their results is then
/// nearly free of it. A process that forks copies its seeds into the child: nothing here is reseeded behind
/// the caller's back, so a child that goes on to release anything must start from a `Seed::from_os` of its
/// own.
///
/// ```
/// use dp_sampler::{Purpose, Seed};
/// use rand_core::Rng;
///
/// let seed = Seed::from_os()?;
/// assert!(seed.is_secret());
/// let noise = seed.streams(Purpose::GaussianNoise);
/// assert_ne!(noise.at(0).next_u64(), noise.at(1).next_u64());
/// # Ok::<(), dp_sampler::Error>(())
/// ```
#[derive(ZeroizeOnDrop)]
pub struct Seed {
    key: [u8; 32],
    #[zeroize(skip)]
    secret: bool,
}

impl Seed {
    /// A fresh seed from the operating system's generator.
    ///
    /// # Errors
    ///
    /// [`Error::OperatingSystem`](crate::Error::OperatingSystem) when it has no random bytes to give.
    pub fn from_os() -> Result<Self> {
        let mut seed = Self { key: [0; 32], secret: true };
        getrandom::fill(&mut seed.key)?;
        Ok(seed)
    }

    /// A fixed seed for tests. **Not private**: everybody can guess it.
    ///
    /// Everything made from it reports `is_secret() == false`, so that a report can say that the run protects
    /// no one.
    ///
    /// ```
    /// assert!(!dp_sampler::Seed::for_tests(7).is_secret());
    /// ```
    #[must_use]
    pub fn for_tests(number: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&number.to_le_bytes());
        key[8..].copy_from_slice(b"for tests, not a secret!");
        Self { key, secret: false }
    }

    /// Whether the seed came from the operating system, or from bytes that [said so](Self::from_exposed).
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// The seed's bytes, for a store that is as secret as the data: the way to carry on an interrupted run in
    /// another process.
    ///
    /// The last byte says whether the seed is secret, the others are the key. Who reads them can repeat the
    /// subsampling and subtract the noise. The copy is not wiped: that is up to the caller.
    ///
    /// ```
    /// use dp_sampler::{Purpose, Seed};
    /// use rand_core::Rng;
    ///
    /// let seed = Seed::from_os()?;
    /// let again = Seed::from_exposed(&seed.expose())?;
    /// assert!(again.is_secret());
    /// let words = [&seed, &again].map(|seed| seed.streams(Purpose::GuideDraws).at(7).next_u64());
    /// assert_eq!(words[0], words[1]);
    /// # Ok::<(), dp_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn expose(&self) -> [u8; 33] {
        let mut bytes = [0; 33];
        bytes[..32].copy_from_slice(&self.key);
        bytes[32] = u8::from(self.secret);
        bytes
    }

    /// The seed that [`expose`](Self::expose) gave away. The bytes are believed: made of anything else, a
    /// seed that calls itself secret protects no one.
    ///
    /// # Errors
    ///
    /// [`Error::ExposedSeed`](crate::Error::ExposedSeed) if they cannot have come from there.
    pub fn from_exposed(bytes: &[u8; 33]) -> Result<Self> {
        let secret = match bytes[32] {
            0 => false,
            1 => true,
            _ => return Err(crate::Error::ExposedSeed),
        };
        let mut seed = Self { key: [0; 32], secret };
        seed.key.copy_from_slice(&bytes[..32]);
        Ok(seed)
    }

    /// The streams for one purpose, independent of those for every other purpose.
    ///
    /// ```text
    /// expand(k, label) = the first 64 bytes of ChaCha20 with key k, stream number `label`, counter 0
    /// a built-in purpose:  stream key ‖ child key = expand(seed, its number), numbers from 1
    /// Custom(name):        the same, walking expand(seed, 0), then the name's length, then its bytes by eight
    /// ```
    ///
    /// This is the tree of Goldreich, Goldwasser and Micali: at a node the stream key only makes output and
    /// the child key only makes nodes. Names of one length are never prefixes of each other and the length
    /// goes first, so different names reach different nodes.
    ///
    /// # References
    ///
    /// Goldreich, Goldwasser, Micali (1986), *How to construct random functions*. Bellare, Canetti, Krawczyk
    /// (1996), *Pseudorandom functions revisited: the cascade construction*.
    #[must_use]
    pub fn streams(&self, purpose: Purpose) -> Streams {
        match purpose.number() {
            Ok(number) => Streams::expand(&self.key, number, self.secret),
            Err(name) => {
                let root = Streams::expand(&self.key, 0, self.secret);
                let mut node = root.child(name.len() as u64);
                for chunk in name.as_bytes().chunks(8) {
                    let mut label = [0; 8];
                    label[..chunk.len()].copy_from_slice(chunk);
                    node = node.child(u64::from_le_bytes(label));
                }
                node
            }
        }
    }
}

/// What random numbers are for. Different purposes never share any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// Which records make up a batch.
    Subsample,
    /// The noise of the Gaussian mechanism.
    GaussianNoise,
    /// Draws from a guide, and whatever else estimates an expectation.
    GuideDraws,
    /// Dividing records into training and test.
    Split,
    /// Starting values.
    Initialisation,
    /// The noise of the Laplace mechanism.
    LaplaceNoise,
    /// Discrete Gaussian noise.
    DiscreteGaussianNoise,
    /// Discrete Laplace noise.
    DiscreteLaplaceNoise,
    /// Gaussian noise rounded to a grid.
    RoundedGaussianNoise,
    /// Anything else, by a name of its own.
    Custom(&'static str),
}

impl Purpose {
    /// The label in the key tree, or the name that leads further down it.
    fn number(self) -> std::result::Result<u64, &'static str> {
        match self {
            Self::Subsample => Ok(1),
            Self::GaussianNoise => Ok(2),
            Self::GuideDraws => Ok(3),
            Self::Split => Ok(4),
            Self::Initialisation => Ok(5),
            Self::LaplaceNoise => Ok(6),
            Self::DiscreteGaussianNoise => Ok(7),
            Self::DiscreteLaplaceNoise => Ok(8),
            Self::RoundedGaussianNoise => Ok(9),
            Self::Custom(name) => Err(name),
        }
    }
}

/// One independent stream of random words for every step, all for one purpose.
///
/// Steps are random access: `at(step)` costs a copy of the key and depends on nothing that was drawn before,
/// so a run that resumes at step 5,000 sees what an uninterrupted one would have seen.
///
/// There are 2⁶⁴ steps, and a stream has 2⁶⁴ blocks of 64 bytes, 2⁷⁰ bytes: at ten gigabytes a second that
/// counter takes 3,700 years to wrap around, so it is not guarded where words are taken in turn. Noise, which
/// goes to blocks by number, refuses chunks from [`MAX_NOISE_CHUNKS`](crate::MAX_NOISE_CHUNKS) on, below
/// which no two values meet in a block.
#[derive(ZeroizeOnDrop)]
pub struct Streams {
    stream_key: [u8; 32],
    child_key: [u8; 32],
    #[zeroize(skip)]
    secret: bool,
}

impl Streams {
    fn expand(key: &[u8; 32], label: u64, secret: bool) -> Self {
        let mut generator = ChaCha20Rng::from_seed(*key);
        generator.set_stream(label);
        let mut node = Self { stream_key: [0; 32], child_key: [0; 32], secret };
        generator.fill_bytes(&mut node.stream_key);
        generator.fill_bytes(&mut node.child_key);
        node
    }

    /// Streams below these, independent of them and of those under every other label.
    ///
    /// For splitting one purpose further: over shards, chunks, or kinds of events.
    ///
    /// ```
    /// use dp_sampler::{Purpose, Seed};
    /// use rand_core::Rng;
    ///
    /// let noise = Seed::for_tests(1).streams(Purpose::GaussianNoise);
    /// assert_ne!(noise.at(3).next_u64(), noise.child(0).at(3).next_u64());
    /// assert_ne!(noise.child(0).at(3).next_u64(), noise.child(1).at(3).next_u64());
    /// ```
    #[must_use]
    pub fn child(&self, label: u64) -> Self {
        Self::expand(&self.child_key, label, self.secret)
    }

    /// The stream of a step: ChaCha20 with this purpose's key, the step as its stream number, counter 0.
    #[must_use]
    pub fn at(&self, step: u64) -> Stream {
        Stream::new(&self.stream_key, step)
    }

    /// The blocks of a step's stream by number: the words of [`at`](Self::at), sixteen to a block.
    pub(crate) fn blocks(&self, step: u64) -> Blocks {
        Blocks::new(&self.stream_key, step)
    }

    /// The key of the steps' streams in words, for a device.
    #[cfg(feature = "gpu")]
    pub(crate) fn key_words(&self) -> zeroize::Zeroizing<[u32; 8]> {
        let mut words = zeroize::Zeroizing::new([0; 8]);
        for (word, bytes) in words.iter_mut().zip(self.stream_key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }

    /// Whether the seed behind these streams came from the operating system.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::strategies;

    const PURPOSES: [Purpose; 14] = [
        Purpose::Subsample,
        Purpose::GaussianNoise,
        Purpose::GuideDraws,
        Purpose::Split,
        Purpose::Initialisation,
        Purpose::LaplaceNoise,
        Purpose::DiscreteGaussianNoise,
        Purpose::DiscreteLaplaceNoise,
        Purpose::RoundedGaussianNoise,
        Purpose::Custom(""),
        Purpose::Custom("a"),
        Purpose::Custom("a\0"),
        Purpose::Custom("a longer name"),
        Purpose::Custom("a longer name\0\0\0"),
    ];

    #[test]
    fn purposes_steps_and_children_never_share_a_stream() {
        let seed = Seed::for_tests(1);
        let mut first_words = Vec::new();
        for purpose in PURPOSES {
            let streams = seed.streams(purpose);
            for node in [&streams, &streams.child(0), &streams.child(1), &streams.child(0).child(0)] {
                for step in [0, 1, 2, u64::from(u32::MAX), 1 << 32, u64::MAX] {
                    first_words.push(node.at(step).next_u64());
                }
            }
        }
        let count = first_words.len();
        first_words.sort_unstable();
        first_words.dedup();
        assert_eq!(first_words.len(), count);
    }

    #[test]
    fn operating_system_seeds_differ_and_are_secret() {
        let (a, b) = (Seed::from_os().unwrap(), Seed::from_os().unwrap());
        assert!(a.is_secret() && a.streams(Purpose::Split).is_secret());
        assert!(a.streams(Purpose::Split).child(1).is_secret());
        assert_ne!(a.key, b.key);
        assert!(!Seed::for_tests(0).streams(Purpose::Split).child(1).is_secret());
    }

    #[test]
    fn an_exposed_seed_comes_back_as_it_was() {
        for seed in [Seed::from_os().unwrap(), Seed::for_tests(5)] {
            let bytes = seed.expose();
            let again = Seed::from_exposed(&bytes).unwrap();
            assert_eq!((again.key, again.secret), (seed.key, seed.secret));
            let mut altered = bytes;
            altered[32] = 2;
            let told = Seed::from_exposed(&altered).err().unwrap().to_string();
            assert!(told.contains("no seed"), "{told}");
        }
    }

    proptest! {
        #[test]
        fn a_stream_depends_on_seed_purpose_and_step_alone(
            number in strategies::seed_number(), purpose in strategies::purpose(), step in any::<u64>(),
        ) {
            let streams = Seed::for_tests(number).streams(purpose);
            let mut used = streams.at(step.wrapping_add(1));
            used.next_u32();
            let first = streams.at(step).next_u64();
            prop_assert_eq!(first, Seed::for_tests(number).streams(purpose).at(step).next_u64());
            // Equal only by a collision of 64-bit words.
            prop_assert_ne!(first, Seed::for_tests(number ^ 1).streams(purpose).at(step).next_u64());
            prop_assert_ne!(first, streams.at(step ^ 1).next_u64());
        }
    }
}
