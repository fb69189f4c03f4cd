//! Permutations on a device.

use super::kernels::{chacha::KEY_WORDS, feistel};
use super::key::Secret;
use super::words::{fill, halves};
use super::{Backend, Device, Indices, Place, Planner, Wanted, Work};
use crate::permutation::{PermutationParts, Shape};
use crate::subsampling::check_batch_length;
use crate::{Error, Result, Subsampler};

/// A [`Permutation`](crate::Permutation) on a device, with the same images.
///
/// ```no_run
/// # #[cfg(feature = "wgpu")] {
/// use dp_sampler::gpu::{self, Device, Vulkan};
/// use dp_sampler::{Permutation, Purpose, Seed};
///
/// let host = Permutation::new(1 << 20, &mut Seed::for_tests(1).streams(Purpose::Split).at(0))?;
/// let device = Device::<Vulkan>::find()?;
/// let images = gpu::Permutation::new(&device, &host)?.images(0, 1 << 20)?; // stay on the device
/// assert!(images.read()?.into_iter().eq(host.iter()));
/// # }
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct Permutation<R: Backend> {
    device: Device<R>,
    kind: Kind<R>,
}

enum Kind<R: Backend> {
    Table(zeroize::Zeroizing<Vec<u64>>),
    Network { shape: Shape, keys: Secret<R> },
}

impl<R: Backend> Permutation<R> {
    /// Copies the key to the device; a permutation that is written out keeps its table here.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] on a device without room.
    pub fn new(device: &Device<R>, permutation: &crate::Permutation) -> Result<Self> {
        let kind = match permutation.parts() {
            PermutationParts::Table(images) => Kind::Table(images.to_vec().into()),
            PermutationParts::Network { shape, keys } => {
                Kind::Network { shape, keys: Secret::copy_of(device, &keys)? }
            }
        };
        Ok(Self { device: device.clone(), kind })
    }

    /// The number of elements.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always an element")]
    pub fn len(&self) -> u64 {
        match &self.kind {
            Kind::Table(images) => images.len() as u64,
            Kind::Network { shape, .. } => shape.len,
        }
    }

    /// Where the elements `start`, …, `start + count − 1` go.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] when the last of them is not below the length, [`Error::DeviceMemory`] and
    /// [`Error::DeviceElements`] for more than the device can hold, [`Error::Device`] when it refuses.
    pub fn images(&self, start: u64, count: u64) -> Result<Indices<R>> {
        let last = start.saturating_add(count.saturating_sub(1));
        if count > 0 && last >= self.len() {
            return Err(Error::Index { index: last, len: self.len() });
        }
        match &self.kind {
            Kind::Table(images) => {
                // Inside the table, or empty.
                let images = if count == 0 { &[] } else { &images[start as usize..][..count as usize] };
                Indices::copy_of(&self.device, images, self.len())
            }
            Kind::Network { shape, keys } => walk(&self.device, *shape, keys, start, count),
        }
    }
}

/// Launches the network for the numbers from `start` on, all below the length.
fn walk<R: Backend>(
    device: &Device<R>,
    shape: Shape,
    keys: &Secret<R>,
    start: u64,
    count: u64,
) -> Result<Indices<R>> {
    let images = Indices::full(device, count, shape.len)?;
    if count == 0 {
        return Ok(images);
    }
    let (cubes, units) = device.grid(images.capacity())?;
    let ([start, last], [upper, lower]) = ([start, shape.len - 1].map(halves), shape.discarded);
    let client = device.client();
    if shape.wide {
        feistel::wide::launch::<R>(
            client,
            cubes,
            units,
            keys.argument(),
            images.argument(),
            start[0],
            start[1],
            last[0],
            last[1],
            shape.lower_bits,
            upper,
            lower,
        );
    } else {
        feistel::narrow::launch::<R>(
            client,
            cubes,
            units,
            keys.argument(),
            images.argument(),
            start[0],
            last[0],
            shape.lower_bits,
            upper,
            lower,
        );
    }
    device.flush()?;
    Ok(images)
}

/// A [`FixedSizeSampler`](crate::FixedSizeSampler) by permutation on a device, with the same batches.
///
/// The keys of a step's network are words of the step's stream, which the device makes itself, so nothing is
/// copied at a step. (Up to 1,024 records the permutation is a table, which is made on the CPU.)
pub struct FixedSize<R: Backend> {
    device: Device<R>,
    sampler: crate::FixedSizeSampler,
    /// The purpose's key and room for the keys of a step's network.
    network: Option<(Shape, Secret<R>, Secret<R>)>,
}

impl<R: Backend> FixedSize<R> {
    /// Takes ownership of the sampler, so that the same batches cannot be drawn for anything else.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnDevice`] for batches that are drawn exactly, one record after the other;
    /// [`Error::DeviceMemory`] on a device without room.
    pub fn new(device: &Device<R>, sampler: crate::FixedSizeSampler) -> Result<Self> {
        let Some(permutation) = sampler.permutation() else {
            return Err(Error::NotOnDevice {
                sampler: "FixedSize::batch",
                instead: "FixedSize::batch(…).by_permutation()",
            });
        };
        let network = match permutation.parts() {
            PermutationParts::Table(_) => None,
            PermutationParts::Network { shape, keys } => {
                let key = Secret::of_streams(device, sampler.streams())?;
                Some((shape, key, Secret::empty(device, keys.len() as u64)?))
            }
        };
        Ok(Self { device: device.clone(), sampler, network })
    }

    /// The sampler on the CPU, which says what the scheme is.
    #[must_use]
    pub fn sampler(&self) -> &crate::FixedSizeSampler {
        &self.sampler
    }

    /// The batch of a step: the records that [`Subsampler::draw`](crate::Subsampler::draw) gives, in the same
    /// order.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] and [`Error::DeviceElements`] for more than the device can hold,
    /// [`Error::Device`] when it refuses.
    pub fn draw(&mut self, step: u64) -> Result<Indices<R>> {
        let batch = self.sampler.max_batch_hint() as u64;
        match &self.network {
            Some((shape, key, keys)) => {
                fill(&self.device, key, keys.argument(), keys.words().len(), step, 0)?;
                walk(&self.device, *shape, keys, 0, batch)
            }
            None => {
                let mut images = zeroize::Zeroizing::new(Vec::with_capacity(check_batch_length(batch)?));
                self.sampler.draw(step, &mut images);
                Indices::copy_of(&self.device, &images, self.sampler.records())
            }
        }
    }
}

impl<R: Backend> FixedSize<R> {
    /// Replaces the contents of `batch` by the batch of a step, drawn where it is sooner had, and says where.
    ///
    /// # Errors
    ///
    /// As [`draw`](Self::draw).
    pub fn draw_planned(&mut self, planner: &Planner, step: u64, batch: &mut Vec<u64>) -> Result<Place> {
        let place =
            planner.choose(Work::Permutation, self.sampler.max_batch_hint() as u64, Wanted::OnCpu).place;
        match place {
            Place::Cpu => self.sampler.draw(step, batch),
            Place::Device => *batch = self.draw(step)?.read()?,
        }
        Ok(place)
    }
}

const _: () = assert!(KEY_WORDS == 8 && feistel::ROUNDS == 16, "the kernels are written for these");
