//! Permutations of few elements, written out.

use zeroize::ZeroizeOnDrop;

use crate::Stream;

/// A permutation of at most [`TABLE_LIMIT`](super::TABLE_LIMIT) elements, written out both ways.
#[derive(ZeroizeOnDrop)]
pub(super) struct Table {
    pub(super) images: Vec<u16>,
    pub(super) origins: Vec<u16>,
}

impl Table {
    pub(super) fn new(len: u64) -> Self {
        let identity: Vec<u16> = (0..len as u16).collect();
        Self { images: identity.clone(), origins: identity }
    }

    pub(super) fn rekey(&mut self, stream: &mut Stream) {
        // Fisher and Yates, from the identity so that a permutation depends on its own stream alone.
        for (index, image) in self.images.iter_mut().enumerate() {
            *image = index as u16;
        }
        for last in (1..self.images.len()).rev() {
            self.images.swap(last, stream.below(last as u64 + 1) as usize);
        }
        for (index, &image) in self.images.iter().enumerate() {
            self.origins[usize::from(image)] = index as u16;
        }
    }
}
