//! Permutations that are written out.

use zeroize::ZeroizeOnDrop;

use crate::{Error, Result, Stream};

/// A permutation written out both ways.
#[derive(ZeroizeOnDrop)]
pub(super) struct Table {
    pub(super) images: Vec<u64>,
    pub(super) origins: Vec<u64>,
}

impl Table {
    /// For at least one element; fails where there is no memory for them.
    pub(super) fn new(len: u64) -> Result<Self> {
        Ok(Self { images: identity(len)?, origins: identity(len)? })
    }

    pub(super) fn rekey(&mut self, stream: &mut Stream) {
        // Fisher and Yates, from the identity so that a permutation depends on its own stream alone.
        for (index, image) in self.images.iter_mut().enumerate() {
            *image = index as u64;
        }
        for last in (1..self.images.len()).rev() {
            self.images.swap(last, stream.below(last as u64 + 1) as usize);
        }
        for (index, &image) in self.images.iter().enumerate() {
            self.origins[image as usize] = index as u64;
        }
    }
}

fn identity(len: u64) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    let length = usize::try_from(len).map_err(|_| Error::NoMemory { len })?;
    numbers.try_reserve_exact(length).map_err(|_| Error::NoMemory { len })?;
    numbers.extend(0..len);
    Ok(numbers)
}
