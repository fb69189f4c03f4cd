//! Gaussian noise on a device.

use super::kernels::gaussian;
use super::key::Secret;
use super::words::halves;
use super::{Backend, Device, Numbers, Place, Planner, Wanted, Work};
use crate::{Error, MAX_NOISE_CHUNKS, NOISE_CHUNK, NoiseSource, Result};

/// [`GaussianNoise`](crate::GaussianNoise) on a device, in single precision: the same numbers up to rounding.
///
/// # Accuracy
///
/// The words that numbers are made from are those of the CPU, bit for bit, and so are the branches. The
/// arithmetic is not: devices may contract a multiplication and an addition, round conversions either way,
/// and divide and take roots with errors of 2.5 and 4.5 units. With ulp = 2⁻²³ and z the number of the CPU,
///
/// ```text
/// |device − z| ≤ 16 ulp |z| + 2⁻⁶²
/// ```
///
/// (the last term for numbers so small that a device takes a square for 0). So a number is within 21 ulp
/// |Z| + 2⁻³⁰ R of a true normal variable, in the words of [`GaussianNoise`](crate::GaussianNoise#accuracy).
pub struct GaussianNoise<R: Backend> {
    device: Device<R>,
    noise: crate::GaussianNoise,
    key: Secret<R>,
    more: Secret<R>,
}

impl<R: Backend> GaussianNoise<R> {
    /// Takes ownership of the noise and copies its keys to the device. The numbers of a step are the same each time
    /// they are asked for, here and by [`noise`](Self::noise): as on the CPU, a step's are for one release.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] on a device without room.
    pub fn new(device: &Device<R>, noise: crate::GaussianNoise) -> Result<Self> {
        let [words, more] = noise.single_streams();
        let (key, more) = (Secret::of_streams(device, words)?, Secret::of_streams(device, more)?);
        Ok(Self { device: device.clone(), noise, key, more })
    }

    /// The noise on the CPU, which says what its distribution is.
    #[must_use]
    pub fn noise(&self) -> &crate::GaussianNoise {
        &self.noise
    }

    /// The first `count` numbers of a step.
    ///
    /// # Errors
    ///
    /// As [`fill_chunks`](Self::fill_chunks).
    pub fn fill(&self, step: u64, count: u64) -> Result<Numbers<R, f32>> {
        self.fill_chunks(step, 0, count)
    }

    /// The numbers of a step from number `first_chunk` · [`NOISE_CHUNK`] on.
    ///
    /// # Errors
    ///
    /// [`Error::NoiseChunk`] beyond [`MAX_NOISE_CHUNKS`], [`Error::DeviceMemory`] and
    /// [`Error::DeviceElements`] for more than the device can hold, [`Error::Device`] when it refuses.
    pub fn fill_chunks(&self, step: u64, first_chunk: u64, count: u64) -> Result<Numbers<R, f32>> {
        check_chunks(first_chunk, count)?;
        let out = Numbers::empty(&self.device, count)?;
        if out.is_empty() {
            return Ok(out);
        }
        // Two numbers from two words.
        const BLOCKS: u64 = NOISE_CHUNK as u64 / 16;
        let (cubes, units) = self.device.grid(out.len().div_ceil(16))?;
        let [step, first] = [step, first_chunk * BLOCKS].map(halves);
        gaussian::single::launch::<R>(
            self.device.client(),
            cubes,
            units,
            self.key.argument(),
            self.more.argument(),
            out.argument(),
            step[0],
            step[1],
            first[0],
            first[1],
        );
        self.device.flush()?;
        Ok(out)
    }
}

impl<R: Backend> GaussianNoise<R> {
    /// Overwrites `out` with the first numbers of a step, made where they are sooner had, and says where.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill).
    pub fn fill_planned(&self, planner: &Planner, step: u64, out: &mut [f32]) -> Result<Place> {
        let place = planner.choose(Work::Gaussian, out.len() as u64, Wanted::OnCpu).place;
        match place {
            Place::Cpu => self.noise.fill(step, out),
            Place::Device => out.copy_from_slice(&self.fill(step, out.len() as u64)?.read()?),
        }
        Ok(place)
    }
}

/// Checks that a step has this many numbers from this chunk on.
pub(super) fn check_chunks(first_chunk: u64, count: u64) -> Result<()> {
    let chunks = count.div_ceil(NOISE_CHUNK as u64);
    match first_chunk.checked_add(chunks) {
        Some(end) if end <= MAX_NOISE_CHUNKS => Ok(()),
        _ => Err(Error::NoiseChunk { first_chunk, chunks }),
    }
}
