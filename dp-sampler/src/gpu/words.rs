//! Random words on a device.

use cubecl::prelude::*;

use super::kernels::chacha;
use super::key::Secret;
use super::{Backend, Device, Numbers};
use crate::{Result, Streams};

/// The words of [`Streams`], made where they are wanted.
///
/// ```no_run
/// # #[cfg(feature = "wgpu")] {
/// use dp_sampler::gpu::{Device, Vulkan, Words};
/// use dp_sampler::rand_core::Rng;
/// use dp_sampler::{Purpose, Seed};
///
/// let streams = Seed::for_tests(1).streams(Purpose::Initialisation);
/// let words = Words::new(&Device::<Vulkan>::find()?, &streams)?;
/// let mut stream = streams.at(3);
/// assert!(words.words(3, 0, 1_000)?.read()?.into_iter().all(|word| word == stream.next_u32()));
/// # }
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct Words<R: Backend> {
    device: Device<R>,
    key: Secret<R>,
}

impl<R: Backend> Words<R> {
    /// Copies the key of the streams to the device.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`](crate::Error::DeviceMemory) on a device without room.
    pub fn new(device: &Device<R>, streams: &Streams) -> Result<Self> {
        Ok(Self { device: device.clone(), key: Secret::of_streams(device, streams)? })
    }

    /// Words of a step's stream, from block `first_block` of sixteen words on: those of [`Streams::at`].
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`](crate::Error::DeviceMemory) and
    /// [`Error::DeviceElements`](crate::Error::DeviceElements) for more than the device can hold,
    /// [`Error::Device`](crate::Error::Device) when it refuses.
    pub fn words(&self, step: u64, first_block: u64, count: u64) -> Result<Numbers<R, u32>> {
        let out = Numbers::empty(&self.device, count)?;
        fill(&self.device, &self.key, out.argument(), out.len(), step, first_block)?;
        Ok(out)
    }
}

/// Launches the kernel that writes the words of a stream.
pub(super) fn fill<R: Backend>(
    device: &Device<R>,
    key: &Secret<R>,
    out: ArrayArg<R>,
    len: usize,
    step: u64,
    first_block: u64,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let (cubes, units) = device.grid(len.div_ceil(16))?;
    let [step, first] = [step, first_block].map(halves);
    chacha::words::launch::<R>(
        device.client(),
        cubes,
        units,
        key.argument(),
        out,
        step[0],
        step[1],
        first[0],
        first[1],
    );
    device.flush()
}

/// The low word and the high word.
pub(super) fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}
