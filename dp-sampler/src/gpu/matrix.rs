//! A matrix of records on a device, and rows of it.

use super::buffer::Words;
use super::kernels::gather;
use super::{Backend, Device, Indices, Numbers};
use crate::{Error, Result};

/// Records as rows of single-precision numbers, in a device's memory.
///
/// # Privacy
///
/// The records themselves: what can read the device's memory can read them.
///
/// ```no_run
/// # #[cfg(feature = "wgpu")] {
/// use dp_sampler::gpu::{self, Device, Matrix, Vulkan};
/// use dp_sampler::{Poisson, Seed, Subsampling};
///
/// let device = Device::<Vulkan>::find()?;
/// let records = Matrix::new(&device, &vec![0.5; 10_000 * 8], 8)?;
/// let sampler = Poisson::rate(0.01)?.bind(records.rows() as u64, &Seed::from_os()?)?;
/// let sampler = gpu::Poisson::new(&device, sampler)?;
/// let batch = records.gather(&sampler.draw(0)?)?; // neither indices nor records have left the device
/// # }
/// # Ok::<(), dp_sampler::Error>(())
/// ```
pub struct Matrix<R: Backend> {
    elements: Words<R>,
    columns: usize,
}

impl<R: Backend> Matrix<R> {
    /// Copies rows of `columns` numbers to the device, one row after the other.
    ///
    /// # Errors
    ///
    /// [`Error::Columns`] unless there is a whole number of rows with at least one column,
    /// [`Error::DeviceMemory`] for more than a buffer holds.
    pub fn new(device: &Device<R>, elements: &[f32], columns: usize) -> Result<Self> {
        if columns == 0 || !elements.len().is_multiple_of(columns) {
            return Err(Error::Columns { elements: elements.len() as u64, columns: columns as u64 });
        }
        Ok(Self { elements: Words::copy_of_singles(device, elements)?, columns })
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.elements.len() / self.columns
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows with these numbers, one for each place of `indices`; rows beyond the number of indices are
    /// zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Rows`] when the indices are of more records than there are rows, [`Error::DeviceMemory`] and
    /// [`Error::DeviceElements`] for more than the device can hold, [`Error::Device`] when it refuses.
    pub fn gather(&self, indices: &Indices<R>) -> Result<Numbers<R, f32>> {
        if indices.records() > self.rows() as u64 {
            return Err(Error::Rows { rows: self.rows() as u64, records: indices.records() });
        }
        let device = self.elements.device();
        let elements = (indices.capacity() as u64).saturating_mul(self.columns as u64);
        let out = Numbers::empty(device, elements)?;
        if !out.is_empty() {
            let (cubes, units) = device.grid(out.len())?;
            // At most the number of elements, which fits.
            let columns = self.columns as u32;
            gather::rows::launch::<R>(
                device.client(),
                cubes,
                units,
                self.elements.argument(),
                indices.argument(),
                indices.count_argument(),
                out.argument(),
                columns,
            );
            device.flush()?;
        }
        Ok(out)
    }
}
