//! Numbers that stay on the device.

use std::marker::PhantomData;

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::device::MOST_WORDS;
use super::{Backend, Device};
use crate::{Error, Result};

/// A piece of a device's memory: words of 32 bits.
pub(super) struct Words<R: Backend> {
    device: Device<R>,
    handle: Handle,
    len: usize,
}

impl<R: Backend> Words<R> {
    /// Room for this many words, with anything in it.
    pub(super) fn empty(device: &Device<R>, len: u64) -> Result<Self> {
        let len = checked(device, len)?;
        // A buffer without a word cannot be bound.
        let handle = device.client().empty(len.max(1) * 4);
        Ok(Self { device: device.clone(), handle, len })
    }

    /// A copy of these words.
    pub(super) fn copy_of(device: &Device<R>, words: &[u32]) -> Result<Self> {
        Self::from_bytes(device, u32::as_bytes(words))
    }

    /// A copy of these numbers.
    pub(super) fn copy_of_singles(device: &Device<R>, numbers: &[f32]) -> Result<Self> {
        Self::from_bytes(device, f32::as_bytes(numbers))
    }

    fn from_bytes(device: &Device<R>, bytes: &[u8]) -> Result<Self> {
        let len = checked(device, bytes.len() as u64 / 4)?;
        if len == 0 {
            return Self::empty(device, 0);
        }
        Ok(Self { device: device.clone(), handle: device.client().create_from_slice(bytes), len })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn device(&self) -> &Device<R> {
        &self.device
    }

    /// The same piece of memory once more.
    #[cfg(all(test, any(feature = "wgpu", feature = "cuda")))]
    pub(super) fn share(&self) -> Self {
        Self { device: self.device.clone(), handle: self.handle.clone(), len: self.len }
    }

    /// For a kernel that takes words, or floating-point numbers of the same length.
    pub(super) fn argument(&self) -> ArrayArg<R> {
        // SAFETY: the handle was made by `empty` or `copy_of` for `len` words, and nothing else makes or
        // changes one.
        #[allow(unsafe_code)]
        unsafe {
            ArrayArg::from_raw_parts(self.handle.clone(), self.len)
        }
    }

    /// Waits for the device and copies the words back.
    pub(super) fn read(&self) -> Result<Vec<u32>> {
        if self.len == 0 {
            return Ok(Vec::new());
        }
        // What was refused leaves old words behind and would be read as if they were results.
        self.device.flush()?;
        let bytes = self.device.client().read_one(self.handle.clone()).map_err(Error::device)?;
        let words = bytes.as_chunks::<4>().0.get(..self.len).ok_or_else(|| {
            Error::device(format!("{} bytes came back, {} were requested", bytes.len(), self.len * 4))
        })?;
        Ok(words.iter().map(|&bytes| u32::from_ne_bytes(bytes)).collect())
    }
}

/// This many words, if they fit into a buffer.
fn checked<R: Backend>(device: &Device<R>, len: u64) -> Result<usize> {
    let bound = MOST_WORDS.min(device.limits().buffer_bytes / 4);
    if len > bound {
        return Err(Error::DeviceMemory { bytes: len.saturating_mul(4), bound: bound * 4 });
    }
    // At most 2^31.
    Ok(len as usize)
}

/// Numbers on a device: `u32`, `f32` or `i64`, the last as two words each, low one first.
pub struct Numbers<R: Backend, T: Number> {
    words: Words<R>,
    number: PhantomData<T>,
}

/// What [`Numbers`] can be.
pub trait Number: sealed::Number {}

mod sealed {
    pub trait Number: Copy {
        /// Words of 32 bits in one.
        const WORDS: usize;
        /// The number that words stand for.
        fn of(words: &[u32]) -> Self;
    }
}

impl Number for u32 {}
impl sealed::Number for u32 {
    const WORDS: usize = 1;
    fn of(words: &[u32]) -> Self {
        words[0]
    }
}

impl Number for f32 {}
impl sealed::Number for f32 {
    const WORDS: usize = 1;
    fn of(words: &[u32]) -> Self {
        f32::from_bits(words[0])
    }
}

impl Number for i64 {}
impl sealed::Number for i64 {
    const WORDS: usize = 2;
    fn of(words: &[u32]) -> Self {
        (u64::from(words[0]) | u64::from(words[1]) << 32) as i64
    }
}

impl<R: Backend, T: Number> Numbers<R, T> {
    /// Room for this many numbers, with anything in it.
    pub(super) fn empty(device: &Device<R>, len: u64) -> Result<Self> {
        let words = Words::empty(device, len.saturating_mul(T::WORDS as u64))?;
        Ok(Self { words, number: PhantomData })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len() / T::WORDS
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device they are on.
    #[must_use]
    pub fn device(&self) -> &Device<R> {
        self.words.device()
    }

    /// For a kernel of your own: an array of `f32` or `u32`, or for `i64` of twice as many `u32`.
    #[must_use]
    pub fn argument(&self) -> ArrayArg<R> {
        self.words.argument()
    }

    /// Waits for the device and copies the numbers back.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] when the device refused what was asked of it.
    pub fn read(&self) -> Result<Vec<T>> {
        Ok(self.words.read()?.chunks_exact(T::WORDS).map(T::of).collect())
    }
}

/// Record numbers on a device: a batch, or part of a permutation.
///
/// # Privacy
///
/// A batch is secret, and so is the length of a Poisson batch. Both stay on the device until
/// [`read`](Self::read).
pub struct Indices<R: Backend> {
    numbers: Words<R>,
    count: Words<R>,
    records: u64,
}

/// Whether numbers below this need two words.
fn is_wide(records: u64) -> bool {
    records > 1 << 32
}

impl<R: Backend> Indices<R> {
    /// Room for this many indices; `count` says how many of them there are.
    pub(super) fn empty(device: &Device<R>, capacity: u64, records: u64, count: Words<R>) -> Result<Self> {
        let words = capacity.saturating_mul(if is_wide(records) { 2 } else { 1 });
        Ok(Self { numbers: Words::empty(device, words)?, count, records })
    }

    /// As many indices as there is room for.
    pub(super) fn full(device: &Device<R>, len: u64, records: u64) -> Result<Self> {
        // What does not fit into 32 bits is refused when room is made for it.
        let count = Words::copy_of(device, &[u32::try_from(len).unwrap_or(u32::MAX)])?;
        Self::empty(device, len, records, count)
    }

    /// A copy of these record numbers.
    pub(super) fn copy_of(device: &Device<R>, indices: &[u64], records: u64) -> Result<Self> {
        let words: Vec<u32> = if is_wide(records) {
            indices.iter().flat_map(|&index| [index as u32, (index >> 32) as u32]).collect()
        } else {
            indices.iter().map(|&index| index as u32).collect()
        };
        let count = Words::copy_of(device, &[u32::try_from(indices.len()).unwrap_or(u32::MAX)])?;
        Ok(Self { numbers: Words::copy_of(device, &words)?, count, records })
    }

    /// How many indices there is room for; how many there are is secret where it is random.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.numbers.len() / if self.is_wide() { 2 } else { 1 }
    }

    /// Whether an index is two words, the low one first: that is so where more than 2³² records are drawn
    /// from.
    #[must_use]
    pub fn is_wide(&self) -> bool {
        is_wide(self.records)
    }

    /// The number of records that they are of: every index is below.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The device they are on.
    #[must_use]
    pub fn device(&self) -> &Device<R> {
        self.numbers.device()
    }

    /// For a kernel of your own: the indices, an array of `u32`; what is beyond
    /// [`count_argument`](Self::count_argument) means nothing.
    #[must_use]
    pub fn argument(&self) -> ArrayArg<R> {
        self.numbers.argument()
    }

    /// For a kernel of your own: an array of one `u32`, how many indices there are.
    #[must_use]
    pub fn count_argument(&self) -> ArrayArg<R> {
        self.count.argument()
    }

    /// Waits for the device and copies the indices back.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] when the device refused what was asked of it, and [`Error::BatchOverflow`] when a
    /// Poisson batch is longer than there is room for, which has a probability below 2⁻¹⁰⁰.
    pub fn read(&self) -> Result<Vec<u64>> {
        let count = self.count.read()?.first().map_or(0, |&count| count as usize);
        if count > self.capacity() {
            return Err(Error::BatchOverflow { batch: count as u64, bound: self.capacity() as u64 });
        }
        let words = self.numbers.read()?;
        let all: Vec<u64> = if self.is_wide() {
            words
                .as_chunks::<2>()
                .0
                .iter()
                .map(|&[low, high]| u64::from(low) | u64::from(high) << 32)
                .collect()
        } else {
            words.into_iter().map(u64::from).collect()
        };
        Ok(all[..count].to_vec())
    }
}
