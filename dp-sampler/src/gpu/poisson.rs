//! Poisson batches on a device.

use cubecl::prelude::*;

use super::buffer::Words;
use super::device::MOST_WORDS;
use super::kernels::{poisson, scan};
use super::key::Secret;
use super::words::halves;
use super::{Backend, Device, Indices, Place, Planner, Wanted, Work};
use crate::poisson::{RUN, WORD_DOUBLINGS};
use crate::{Error, PoissonSampler, Result, Subsampler};

/// A [`PoissonSampler`] on a device, with the same batches in the same order.
///
/// The law is that of the CPU's batches because they are the same: integers, from the same words. Sixteen
/// blocks of records make up a run, which has words of its own, and every unit of the device draws a run. How
/// long a batch is stays on the device.
///
/// ```no_run
/// # #[cfg(feature = "wgpu")] {
/// use dp_sampler::gpu::{self, Device, Vulkan};
/// use dp_sampler::{Poisson, Seed, Subsampler, Subsampling};
///
/// let seed = Seed::for_tests(1);
/// let mut host = Poisson::rate(0.01)?.bind(1 << 24, &seed)?;
/// let mut batch = Vec::new();
/// host.draw(5, &mut batch);
/// let sampler = gpu::Poisson::new(&Device::<Vulkan>::find()?, host)?;
/// assert_eq!(sampler.draw(5)?.read()?, batch);
/// # }
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct Poisson<R: Backend> {
    device: Device<R>,
    sampler: PoissonSampler,
    key: Secret<R>,
    table: Words<R>,
    runs: u32,
    blocks: u32,
    /// Places for a run that has as many records as a run can have.
    slots: u32,
    /// The number of the last threshold, which no word exceeds.
    last: u32,
}

impl<R: Backend> Poisson<R> {
    /// Takes ownership of the sampler, so that the same batches cannot be drawn for anything else, and copies
    /// its key and thresholds to the device.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] where batches are too long for the device.
    pub fn new(device: &Device<R>, sampler: PoissonSampler) -> Result<Self> {
        let thresholds = sampler.thresholds();
        // A block of up to 64 records is drawn as a set of them, a longer one as a list.
        let most = if sampler.doublings() <= WORD_DOUBLINGS {
            1 << sampler.doublings()
        } else {
            thresholds.most() as u64
        };
        let slots = RUN * most;
        let width = if sampler.records() > 1 << 32 { 2 } else { 1 };
        let runs = sampler.runs();
        let places = runs.saturating_mul(slots * width);
        let bound = MOST_WORDS.min(device.limits().buffer_bytes / 4);
        if places > bound {
            return Err(Error::DeviceMemory { bytes: places.saturating_mul(4), bound: bound * 4 });
        }
        let (words, guide) = thresholds.words();
        let table: Vec<u32> = guide.iter().map(|&start| start.into()).chain(words).collect();
        Ok(Self {
            key: Secret::of_streams(device, sampler.streams())?,
            table: Words::copy_of(device, &table)?,
            // All below 2^31, as the number of places is.
            runs: runs as u32,
            blocks: sampler.blocks() as u32,
            slots: slots as u32,
            last: thresholds.most() as u32,
            device: device.clone(),
            sampler,
        })
    }

    /// The sampler on the CPU, which says what the scheme is.
    #[must_use]
    pub fn sampler(&self) -> &PoissonSampler {
        &self.sampler
    }

    /// The batch of a step, with room for [`max_batch_hint`](Subsampler::max_batch_hint) records.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceMemory`] and [`Error::DeviceElements`] for more than the device can hold,
    /// [`Error::Device`] when it refuses.
    pub fn draw(&self, step: u64) -> Result<Indices<R>> {
        let (device, client) = (&self.device, self.device.client());
        let room = self.sampler.max_batch_hint() as u64;
        let batch = Indices::empty(device, room, self.sampler.records(), Words::empty(device, 1)?)?;
        let wide = batch.is_wide();
        let places = u64::from(self.runs) * u64::from(self.slots) * if wide { 2 } else { 1 };
        let drawn = Words::empty(device, places)?;
        let [counts, starts] =
            [Words::empty(device, self.runs.into())?, Words::empty(device, self.runs.into())?];

        let (cubes, units) = device.grid(self.runs as usize)?;
        let [step, records] = [step, self.sampler.records()].map(halves);
        poisson::draw::launch::<R>(
            client,
            cubes.clone(),
            units,
            self.key.argument(),
            self.table.argument(),
            drawn.argument(),
            counts.argument(),
            step[0],
            step[1],
            self.blocks,
            records[0],
            records[1],
            self.last,
            self.sampler.doublings(),
            self.slots,
            wide,
            self.sampler.doublings() <= WORD_DOUBLINGS,
        );
        let one = device.one_cube(256);
        scan::exclusive::launch::<R>(
            client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(one),
            counts.argument(),
            starts.argument(),
            batch.count_argument(),
            self.runs.div_ceil(one),
            one,
            one.ilog2(),
        );
        poisson::compact::launch::<R>(
            client,
            cubes,
            units,
            drawn.argument(),
            counts.argument(),
            starts.argument(),
            batch.argument(),
            self.slots,
            batch.capacity() as u32,
            wide,
        );
        device.flush()?;
        Ok(batch)
    }

    /// Replaces the contents of `batch` by the batch of a step, drawn where it is sooner had, and says where.
    ///
    /// # Errors
    ///
    /// As [`draw`](Self::draw), and [`Error::BatchOverflow`].
    pub fn draw_planned(&mut self, planner: &Planner, step: u64, batch: &mut Vec<u64>) -> Result<Place> {
        // The expected length is public, the length is not.
        let place = planner.choose(Work::Poisson, self.sampler.expected_batch() as u64, Wanted::OnCpu).place;
        match place {
            Place::Cpu => self.sampler.draw(step, batch),
            Place::Device => *batch = self.draw(step)?.read()?,
        }
        Ok(place)
    }
}
