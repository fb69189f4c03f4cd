//! What optimisers remember, as numbers.

use crate::error::{Error, Result};
use ppl_core::Scalar;

/// Numbers that stages have saved, taken back in the same order.
///
/// ```
/// use dp_vi::optimiser::SavedState;
/// let mut state = SavedState::new(&[1.0, 2.0, 3.0]);
/// assert_eq!(state.take(2)?, [1.0, 2.0]);
/// assert!(state.take(2).is_err());
/// assert_eq!(state.take(1)?, [3.0]);
/// state.finish()?;
/// # Ok::<(), dp_vi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SavedState<'a> {
    rest: &'a [f64],
    taken: usize,
}

impl<'a> SavedState<'a> {
    /// All that was saved.
    #[must_use]
    pub fn new(numbers: &'a [f64]) -> Self {
        Self { rest: numbers, taken: 0 }
    }

    /// The next numbers, this many.
    ///
    /// # Errors
    /// If there are not that many left.
    pub fn take(&mut self, count: usize) -> Result<&'a [f64]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.wrong_length(self.taken.saturating_add(count)));
        };
        self.taken += count;
        self.rest = rest;
        Ok(taken)
    }

    /// Overwrites a list with the next numbers.
    ///
    /// # Errors
    /// If there are not that many left.
    pub fn copy_to<T: Scalar>(&mut self, list: &mut [T]) -> Result<()> {
        let numbers = self.take(list.len())?;
        list.iter_mut().zip(numbers).for_each(|(to, &from)| *to = T::of(from));
        Ok(())
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// If something is.
    pub fn finish(self) -> Result<()> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(self.wrong_length(self.taken)),
        }
    }

    fn wrong_length(&self, wanted: usize) -> Error {
        Error::SavedState { found: self.taken + self.rest.len(), wanted }
    }
}

/// Appends a list; exact for `f32` and `f64`.
pub(super) fn append<T: Scalar>(state: &mut Vec<f64>, list: &[T]) {
    state.extend(list.iter().map(|x| x.as_f64()));
}
