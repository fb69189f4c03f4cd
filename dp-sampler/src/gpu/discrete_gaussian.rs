//! Exact discrete Gaussian noise on a device.

use super::gaussian::check_chunks;
use super::kernels::discrete_gaussian;
use super::key::Secret;
use super::words::halves;
use super::{Backend, Device, Numbers, Place, Planner, Wanted, Work};
use crate::noise::discrete::{RUN, RUN_BLOCKS};
use crate::{NOISE_CHUNK, NoiseSource, Result};

/// [`DiscreteGaussianNoise`](crate::DiscreteGaussianNoise) on a device: the same integers.
///
/// So the law is exact here, too. Sixteen values make up a run, which has words of its own, and every unit of
/// the device draws a run.
///
/// ```no_run
/// # #[cfg(feature = "wgpu")] {
/// use dp_sampler::gpu::{self, Device, Vulkan};
/// use dp_sampler::{DiscreteGaussianNoise, NoiseSource, Seed};
///
/// let host = DiscreteGaussianNoise::new(&Seed::for_tests(1), 10_000, 1)?; // σ = 100
/// let mut z = vec![0; 100_000];
/// host.fill(7, &mut z);
/// let noise = gpu::DiscreteGaussianNoise::new(&Device::<Vulkan>::find()?, host)?;
/// assert_eq!(noise.fill(7, 100_000)?.read()?, z);
/// # }
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct DiscreteGaussianNoise<R: Backend> {
    device: Device<R>,
    noise: crate::DiscreteGaussianNoise,
    key: Secret<R>,
}

impl<R: Backend> DiscreteGaussianNoise<R> {
    /// Takes ownership of the noise and copies its key to the device. The numbers of a step are the same each time they
    /// are asked for, here and by [`noise`](Self::noise): as on the CPU, a step's are for one release.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`](crate::Error::DeviceMemory) on a device without room.
    pub fn new(device: &Device<R>, noise: crate::DiscreteGaussianNoise) -> Result<Self> {
        let key = Secret::of_streams(device, noise.parts().streams)?;
        Ok(Self { device: device.clone(), noise, key })
    }

    /// The noise on the CPU, which says what its distribution is.
    #[must_use]
    pub fn noise(&self) -> &crate::DiscreteGaussianNoise {
        &self.noise
    }

    /// The first `count` numbers of a step.
    ///
    /// # Errors
    ///
    /// As [`fill_chunks`](Self::fill_chunks).
    pub fn fill(&self, step: u64, count: u64) -> Result<Numbers<R, i64>> {
        self.fill_chunks(step, 0, count)
    }

    /// The numbers of a step from number `first_chunk` · [`NOISE_CHUNK`] on.
    ///
    /// # Errors
    ///
    /// [`Error::NoiseChunk`](crate::Error::NoiseChunk) beyond [`MAX_NOISE_CHUNKS`](crate::MAX_NOISE_CHUNKS),
    /// [`Error::DeviceMemory`](crate::Error::DeviceMemory) and
    /// [`Error::DeviceElements`](crate::Error::DeviceElements) for more than the device can hold,
    /// [`Error::Device`](crate::Error::Device) when it refuses.
    pub fn fill_chunks(&self, step: u64, first_chunk: u64, count: u64) -> Result<Numbers<R, i64>> {
        check_chunks(first_chunk, count)?;
        let out = Numbers::empty(&self.device, count)?;
        if out.is_empty() {
            return Ok(out);
        }
        let parts = self.noise.parts();
        let (cubes, units) = self.device.grid(out.len().div_ceil(RUN))?;
        let runs = (NOISE_CHUNK / RUN) as u64;
        let [step, run, unit, variance] = [step, first_chunk * runs, parts.unit, parts.variance].map(halves);
        discrete_gaussian::draw::launch::<R>(
            self.device.client(),
            cubes,
            units,
            self.key.argument(),
            out.argument(),
            step[0],
            step[1],
            run[0],
            run[1],
            parts.scale,
            unit[0],
            unit[1],
            variance[0],
            variance[1],
            parts.divisor as u32,
            (parts.divisor >> 32) as u32,
            (parts.divisor >> 64) as u32,
        );
        self.device.flush()?;
        Ok(out)
    }
}

impl<R: Backend> DiscreteGaussianNoise<R> {
    /// Overwrites `out` with the first numbers of a step, made where they are sooner had, and says where.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill).
    pub fn fill_planned(&self, planner: &Planner, step: u64, out: &mut [i64]) -> Result<Place> {
        let place = planner.choose(Work::DiscreteGaussian, out.len() as u64, Wanted::OnCpu).place;
        match place {
            Place::Cpu => self.noise.fill(step, out),
            Place::Device => out.copy_from_slice(&self.fill(step, out.len() as u64)?.read()?),
        }
        Ok(place)
    }
}

const _: () = assert!(RUN == 16 && RUN_BLOCKS == 1 << 20, "the kernel is written for these");
