//! A seed whose streams are handed out once.

use crate::{Error, Purpose, Result, Seed, Streams};

/// A [`Seed`] that hands out the streams of each purpose once.
///
/// [`Seed::streams`] can be called any number of times, and whoever calls it twice for one purpose has the same random words twice. A program that makes
/// all of its randomness from one seed gives it away here instead, and hands streams on by value: neither this nor
/// [`Streams`] can be cloned, so no two parts of the program can have the same ones.
///
/// ```
/// use dp_sampler::{GaussianNoise, Poisson, Purpose, Seed, Subsampling};
///
/// let mut streams = Seed::from_os()?.once();
/// let sampler = Poisson::rate(0.01)?.bind_streams(10_000, streams.take(Purpose::Subsample)?)?;
/// let noise = GaussianNoise::from_streams(streams.take(Purpose::GaussianNoise)?);
/// let again = streams.take(Purpose::GaussianNoise).err().unwrap();
/// assert_eq!(again.to_string(), "the streams for GaussianNoise have been taken already");
/// # let _ = (sampler, noise);
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct OneTimeSeed {
    seed: Seed,
    taken: Vec<Purpose>,
}

impl Seed {
    /// The same seed, of which each purpose's streams can be taken once.
    #[must_use]
    pub fn once(self) -> OneTimeSeed {
        OneTimeSeed { seed: self, taken: Vec::new() }
    }
}

impl OneTimeSeed {
    /// The streams for a purpose: those of [`Seed::streams`].
    ///
    /// # Errors
    ///
    /// [`Error::PurposeTaken`] from the second time on.
    pub fn take(&mut self, purpose: Purpose) -> Result<Streams> {
        if self.taken.contains(&purpose) {
            return Err(Error::PurposeTaken { purpose });
        }
        self.taken.push(purpose);
        Ok(self.seed.streams(purpose))
    }

    /// Whether the seed came from the operating system.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.seed.is_secret()
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    #[test]
    fn each_purpose_is_handed_out_once_and_is_that_of_the_seed() {
        let mut once = Seed::for_tests(3).once();
        let purposes =
            [Purpose::Subsample, Purpose::GaussianNoise, Purpose::Custom("a"), Purpose::Custom("b")];
        for purpose in purposes {
            let word = once.take(purpose).unwrap().at(5).next_u64();
            assert_eq!(word, Seed::for_tests(3).streams(purpose).at(5).next_u64());
        }
        for purpose in purposes {
            let told = once.take(purpose).err().unwrap().to_string();
            assert!(told.contains(&format!("{purpose:?}")), "{told}");
        }
        assert!(!once.is_secret() && Seed::from_os().unwrap().once().is_secret());
    }
}
