//! A device to compute on, and how many may compute at once.

use cubecl::prelude::*;

use super::Backend;
use crate::{Error, Result};

/// Units that work together in one cube, unless a kernel needs more or fewer.
const UNITS: u32 = 64;

/// The most numbers in a buffer: the index of a word has to fit into 32 bits on every device, with room for a
/// last cube.
pub(crate) const MOST_WORDS: u64 = 1 << 31;

/// A device that has been found, with a queue of its own work. Cheap to clone: clones share the queue.
///
/// ```no_run
/// # #[cfg(feature = "wgpu")] {
/// use dp_sampler::gpu::{Device, Vulkan};
///
/// let device = Device::<Vulkan>::find()?;
/// println!("{}: {:?}", device.name(), device.limits());
/// # }
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct Device<R: Backend> {
    client: ComputeClient<R>,
    limits: Limits,
}

impl<R: Backend> Clone for Device<R> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), limits: self.limits }
    }
}

impl<R: Backend> std::fmt::Debug for Device<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("name", &self.name()).field("limits", &self.limits).finish()
    }
}

/// What a device says it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most units in a cube.
    pub units: u32,
    /// The most cubes along the first and the second axis.
    pub cubes: [u32; 2],
    /// The longest buffer, in bytes.
    pub buffer_bytes: u64,
    /// Memory that the units of a cube share, in bytes.
    pub shared_bytes: usize,
}

impl<R: Backend> Device<R> {
    /// The best device of this backend.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`] where a driver or a device is missing.
    pub fn find() -> Result<Self> {
        let client = R::client(&R::find()?);
        let properties = client.properties();
        let (x, y, _) = properties.hardware.max_cube_count;
        let limits = Limits {
            units: properties.hardware.max_units_per_cube.min(properties.hardware.max_cube_dim.0),
            cubes: [x, y],
            buffer_bytes: properties.memory.max_page_size,
            shared_bytes: properties.hardware.max_shared_memory_size,
        };
        Ok(Self { client, limits })
    }

    /// The name of the backend.
    #[must_use]
    pub fn name(&self) -> &'static str {
        R::name(&self.client)
    }

    /// What the device can do.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Waits until everything is done that was asked of the device.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] when any of it failed.
    pub fn wait(&self) -> Result<()> {
        cubecl::future::block_on(self.client.sync()).map_err(Error::device)
    }

    /// Sends the queued launches to the device and reports what it refused: a refused launch leaves its
    /// results as they were.
    pub(super) fn flush(&self) -> Result<()> {
        self.client.flush().map_err(Error::device)
    }

    pub(super) fn client(&self) -> &ComputeClient<R> {
        &self.client
    }

    /// Cubes for at least this many units, at most [`MOST_WORDS`] and a few more.
    pub(super) fn grid(&self, units: usize) -> Result<(CubeCount, CubeDim)> {
        let dim = UNITS.min(self.limits.units).max(1);
        let cubes = (units as u64).div_ceil(dim.into()).max(1);
        let x = cubes.min(self.limits.cubes[0].into());
        let y = cubes.div_ceil(x);
        if y > self.limits.cubes[1].into() || units as u64 > MOST_WORDS {
            let most = u64::from(self.limits.cubes[0]) * u64::from(self.limits.cubes[1]) * u64::from(dim);
            return Err(Error::DeviceElements { elements: units as u64, bound: most.min(MOST_WORDS) });
        }
        // Both are within limits of 32 bits.
        Ok((CubeCount::Static(x as u32, y as u32, 1), CubeDim::new_1d(dim)))
    }

    /// The size of one cube that shares memory: a power of two, at most `most`.
    pub(super) fn one_cube(&self, most: u32) -> u32 {
        1 << most.min(self.limits.units).max(1).ilog2()
    }
}
