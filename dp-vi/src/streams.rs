//! Who may use which random words of a run, and that each is used once.
//!
//! All randomness of a run comes from one seed, and two releases that share a word of it are not two releases: the same noise on both can be
//! subtracted, the same batch is amplified once. So the seed is taken apart here, once, and every part of a run gets the words for its own purpose
//! by value:
//!
//! - streams of different purposes are different types, so noise that was made for gradients does not fit a curvature;
//! - none of them can be cloned, so what has been handed to one part of a run is not there for another: using it twice does not compile;
//! - the words of a step are handed out once, and steps only ever go up ([`OncePerStep`]): asking for a step again is an error.
//!
//! What is left of the seed after that can be written into a checkpoint, and nothing else ([`KeptSeed`]).

use crate::error::{Error, Result};
use dp_sampler::{
    GaussianNoise, Noise, NoiseDistribution, NoiseSource, Purpose, Scheme, Seed, Streams, Subsampler,
};
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// The streams for one purpose of a run.
pub(crate) struct Own<P> {
    streams: Streams,
    purpose: PhantomData<P>,
}

impl<P> Own<P> {
    fn new(streams: Streams) -> Self {
        Self { streams, purpose: PhantomData }
    }

    /// The streams, for the one who draws from them.
    pub(crate) fn into_streams(self) -> Streams {
        self.streams
    }

    /// Whether the seed came from the operating system.
    pub(crate) fn is_secret(&self) -> bool {
        self.streams.is_secret()
    }
}

/// Purposes of a run's streams.
macro_rules! purposes {
    ($($(#[$doc:meta])* $name:ident;)*) => { $($(#[$doc])* pub(crate) enum $name {})* };
}

purposes! {
    /// Which records make up a step's batch.
    Batches;
    /// The noise of noisy sums, in floating point.
    GradientNoise;
    /// The same on a grid.
    GridGradientNoise;
    /// The noise of the curvature, in floating point.
    CurvatureNoise;
    /// The same on a grid.
    GridCurvatureNoise;
    /// The choice of a start.
    StartChoice;
    /// What records' own latent values are drawn with.
    RecordValues;
    /// What the guide's draws are made of.
    GuideDraws;
    /// The points in which a fingerprint of the records is taken.
    Fingerprint;
}

/// What a mechanism on batches takes.
pub(crate) struct MechanismStreams {
    pub(crate) batches: Own<Batches>,
    pub(crate) noise: Own<GradientNoise>,
    pub(crate) records: Own<RecordValues>,
}

/// What a release of the curvature takes: one of them, by the kind of noise.
pub(crate) struct CurvatureStreams {
    pub(crate) noise: Own<CurvatureNoise>,
    pub(crate) grid: Own<GridCurvatureNoise>,
}

/// All streams of a run.
pub(crate) struct RunStreams {
    pub(crate) mechanism: MechanismStreams,
    pub(crate) grid: Own<GridGradientNoise>,
    pub(crate) curvature: CurvatureStreams,
    pub(crate) start: Own<StartChoice>,
    pub(crate) guide: Own<GuideDraws>,
    pub(crate) fingerprint: Own<Fingerprint>,
}

/// A seed that has been taken apart: good for nothing but being stored.
pub(crate) struct KeptSeed(Seed);

impl KeptSeed {
    /// A copy for a checkpoint.
    pub(crate) fn copy(&self) -> Result<Seed> {
        Ok(Seed::from_exposed(&Zeroizing::new(self.0.expose()))?)
    }
}

impl RunStreams {
    /// Takes a seed apart.
    pub(crate) fn new(seed: Seed) -> Result<(Self, KeptSeed)> {
        let kept = Seed::from_exposed(&Zeroizing::new(seed.expose()))?;
        let mut once = seed.once();
        let streams = Self {
            mechanism: MechanismStreams {
                batches: Own::new(once.take(Purpose::Subsample)?),
                noise: Own::new(once.take(Purpose::GaussianNoise)?),
                records: Own::new(once.take(Purpose::Custom("latent values of records"))?),
            },
            grid: Own::new(once.take(Purpose::RoundedGaussianNoise)?),
            curvature: CurvatureStreams {
                noise: Own::new(once.take(Purpose::Custom("curvature release"))?),
                grid: Own::new(once.take(Purpose::Custom("curvature release on a grid"))?),
            },
            start: Own::new(once.take(Purpose::Custom("private start"))?),
            guide: Own::new(once.take(Purpose::GuideDraws)?),
            fingerprint: Own::new(once.take(Purpose::Custom("fingerprint of records"))?),
        };
        Ok((streams, KeptSeed(kept)))
    }
}

/// Something that draws by steps, each of which is used once and after those before it.
pub(crate) struct OncePerStep<T> {
    inner: T,
    /// The first step that has not been used.
    next: u64,
}

impl<T> OncePerStep<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, next: 0 }
    }

    /// Notes that a step is used.
    fn begin(&mut self, step: u64) -> Result<&mut T> {
        if step < self.next {
            return Err(Error::Conflict("the random words of a step have been used already"));
        }
        self.next = step.saturating_add(1);
        Ok(&mut self.inner)
    }
}

impl<S: Subsampler> OncePerStep<S> {
    /// Draws the batch of a step.
    pub(crate) fn draw(&mut self, step: u64, batch: &mut Vec<u64>) -> Result<()> {
        self.begin(step)?.draw(step, batch);
        Ok(())
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.inner.scheme()
    }

    pub(crate) fn max_batch_hint(&self) -> usize {
        self.inner.max_batch_hint()
    }

    pub(crate) fn deviation(&self, steps: u64) -> f64 {
        self.inner.deviation(steps)
    }
}

impl<N> OncePerStep<N> {
    /// Overwrites `out` with the noise of a step.
    pub(crate) fn fill<T>(&mut self, step: u64, out: &mut [T]) -> Result<()>
    where
        N: NoiseSource<T>,
    {
        self.begin(step)?.fill(step, out);
        Ok(())
    }

    pub(crate) fn distribution(&self) -> NoiseDistribution
    where
        N: Noise,
    {
        self.inner.distribution()
    }

    /// Hands a step's noise out by parts.
    pub(crate) fn by_parts(&mut self, step: u64) -> Result<&N> {
        Ok(self.begin(step)?)
    }
}

/// Standard normals for one purpose.
pub(crate) fn normals<P>(streams: Own<P>) -> OncePerStep<GaussianNoise> {
    OncePerStep::new(GaussianNoise::from_streams(streams.into_streams()))
}

/// Tests take from a seed what they want to try, by itself.
#[cfg(test)]
mod from_seeds {
    use super::*;

    fn all(seed: &Seed) -> RunStreams {
        RunStreams::new(Seed::from_exposed(&seed.expose()).unwrap()).unwrap().0
    }

    macro_rules! from_seeds {
        ($($type:ty: $($field:ident).+;)*) => {
            $(impl From<&Seed> for $type {
                fn from(seed: &Seed) -> Self {
                    all(seed).$($field).+
                }
            })*
        };
    }

    from_seeds! {
        MechanismStreams: mechanism;
        CurvatureStreams: curvature;
        Own<GridGradientNoise>: grid;
        Own<StartChoice>: start;
        Own<Fingerprint>: fingerprint;
        Own<RecordValues>: mechanism.records;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::rand_core::Rng;
    use dp_sampler::{Poisson, RoundedGaussianNoise, Subsampling};
    use std::collections::BTreeSet;

    /// None of these types can be cloned: with an implementation of `Clone` this would be ambiguous and not compile.
    #[test]
    fn streams_cannot_be_cloned() {
        trait NotClone<Which> {
            fn holds() {}
        }
        struct Cloned;
        impl<T: ?Sized> NotClone<()> for T {}
        impl<T: ?Sized + Clone> NotClone<Cloned> for T {}
        <Seed as NotClone<_>>::holds();
        <Streams as NotClone<_>>::holds();
        <Own<Batches> as NotClone<_>>::holds();
        <RunStreams as NotClone<_>>::holds();
        <KeptSeed as NotClone<_>>::holds();
        <OncePerStep<GaussianNoise> as NotClone<_>>::holds();
    }

    /// Each field is another stream, and that which the samplers and the noise have by themselves.
    #[test]
    fn the_parts_of_a_seed_are_different_ones() {
        let (all, kept) = RunStreams::new(Seed::for_tests(4)).unwrap();
        assert!(!all.guide.is_secret());
        let RunStreams { mechanism, grid, curvature, start, guide, fingerprint } = all;
        let words: Vec<u64> = [
            mechanism.batches.into_streams(),
            mechanism.noise.into_streams(),
            mechanism.records.into_streams(),
            grid.into_streams(),
            curvature.noise.into_streams(),
            curvature.grid.into_streams(),
            start.into_streams(),
            guide.into_streams(),
            fingerprint.into_streams(),
        ]
        .iter()
        .map(|streams| streams.at(0).next_u64())
        .collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        let own = |purpose| kept.copy().unwrap().streams(purpose).at(0).next_u64();
        assert_eq!(words[0], own(Purpose::Subsample));
        assert_eq!([words[1], words[3]], [own(Purpose::GaussianNoise), own(Purpose::RoundedGaussianNoise)]);
    }

    #[test]
    fn a_step_is_used_once() {
        let seed = Seed::for_tests(4);
        let told = |result: Result<()>| result.unwrap_err().to_string().contains("have been used already");
        let mut sampler = OncePerStep::new(Poisson::rate(0.5).unwrap().bind(100, &seed).unwrap());
        let (mut batch, mut first) = (Vec::new(), Vec::new());
        sampler.draw(0, &mut first).unwrap();
        assert!(told(sampler.draw(0, &mut batch)) && batch.is_empty());
        sampler.draw(7, &mut batch).unwrap();
        assert!(told(sampler.draw(6, &mut batch)) && told(sampler.draw(7, &mut batch)));
        sampler.draw(8, &mut batch).unwrap();
        let mut noise = OncePerStep::new(RoundedGaussianNoise::new(&seed, 3).unwrap());
        let mut z = [0; 4];
        noise.fill(3, &mut z).unwrap();
        let before = z;
        assert!(told(noise.fill(3, &mut z)) && told(noise.fill(0, &mut z)) && z == before);
        assert!(noise.by_parts(3).is_err() && noise.by_parts(4).is_ok() && noise.by_parts(4).is_err());
    }
}
