//! Secret keys on a device.

use super::buffer::Words;
use super::kernels::chacha;
use super::{Backend, Device};
use crate::{Result, Streams};
use cubecl::prelude::*;

/// Secret words on a device, overwritten when dropped.
pub(super) struct Secret<R: Backend> {
    words: Words<R>,
}

impl<R: Backend> Secret<R> {
    /// The key of these streams.
    pub(super) fn of_streams(device: &Device<R>, streams: &Streams) -> Result<Self> {
        Self::copy_of(device, &*streams.key_words())
    }

    pub(super) fn copy_of(device: &Device<R>, words: &[u32]) -> Result<Self> {
        Ok(Self { words: Words::copy_of(device, words)? })
    }

    /// Room for a secret that the device makes itself.
    pub(super) fn empty(device: &Device<R>, len: u64) -> Result<Self> {
        Ok(Self { words: Words::empty(device, len)? })
    }

    pub(super) fn argument(&self) -> ArrayArg<R> {
        self.words.argument()
    }

    pub(super) fn words(&self) -> &Words<R> {
        &self.words
    }
}

impl<R: Backend> Drop for Secret<R> {
    fn drop(&mut self) {
        let device = self.words.device();
        if let Ok((cubes, units)) = device.grid(self.words.len()) {
            chacha::wipe::launch::<R>(device.client(), cubes, units, self.argument());
            // There is nothing to overwrite on a device that is gone.
            let _ = device.flush();
        }
    }
}
