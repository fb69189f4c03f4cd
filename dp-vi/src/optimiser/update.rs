//! An update on its way through the stages, and loops over parameters.

use ppl_core::Scalar;
use rayon::prelude::*;

/// Parameters from which on several threads share a loop. The results are the same, for nothing is added up
/// across elements.
const PARALLEL: usize = 1 << 16;
const CHUNK: usize = PARALLEL / 4;

/// An update of all parameters: numbers, and a common factor that has not been multiplied in yet.
///
/// The factor saves a sweep where a stage only scales, as schedules do at the end.
#[derive(Debug)]
pub struct Update<'a, T: Scalar = f64> {
    values: &'a mut [T],
    factor: f64,
}

impl<'a, T: Scalar> Update<'a, T> {
    /// An update with these values.
    pub fn new(values: &'a mut [T]) -> Self {
        Self { values, factor: 1.0 }
    }

    /// Multiplies the whole update.
    pub fn scale(&mut self, factor: f64) {
        self.factor *= factor;
    }

    /// The values, for reading and writing.
    ///
    /// ```
    /// use dp_vi::optimiser::Update;
    /// let mut numbers = [1.0, -2.0];
    /// let mut update = Update::new(&mut numbers);
    /// update.scale(3.0);
    /// assert_eq!(update.values(), [3.0, -6.0]);
    /// ```
    pub fn values(&mut self) -> &mut [T] {
        if self.factor != 1.0 {
            let factor = T::of(self.factor);
            sweep(self.values, |u| *u *= factor);
            self.factor = 1.0;
        }
        self.values
    }

    /// Adds the update to the parameters.
    pub fn add_to(&mut self, parameters: &mut [T]) {
        let factor = T::of(self.factor);
        sweep_with(parameters, self.values, |parameter, u| *parameter += factor * *u);
    }
}

/// A loop over one list.
pub(super) fn sweep<T: Scalar>(x: &mut [T], each: impl Fn(&mut T) + Sync) {
    if x.len() < PARALLEL {
        return x.iter_mut().for_each(each);
    }
    x.par_chunks_mut(CHUNK).for_each(|x| x.iter_mut().for_each(&each));
}

/// A loop over two lists of one length.
pub(super) fn sweep_with<T: Scalar>(x: &mut [T], y: &mut [T], each: impl Fn(&mut T, &mut T) + Sync) {
    let serial = |(x, y): (&mut [T], &mut [T])| x.iter_mut().zip(y).for_each(|(x, y)| each(x, y));
    if x.len() < PARALLEL {
        return serial((x, y));
    }
    x.par_chunks_mut(CHUNK).zip(y.par_chunks_mut(CHUNK)).for_each(serial);
}

/// A loop over three lists of one length.
pub(super) fn sweep_with_two<T: Scalar>(
    x: &mut [T],
    y: &mut [T],
    z: &mut [T],
    each: impl Fn(&mut T, &mut T, &mut T) + Sync,
) {
    let serial = |((x, y), z): ((&mut [T], &mut [T]), &mut [T])| {
        x.iter_mut().zip(y).zip(z).for_each(|((x, y), z)| each(x, y, z));
    };
    if x.len() < PARALLEL {
        return serial(((x, y), z));
    }
    let chunks = x.par_chunks_mut(CHUNK).zip(y.par_chunks_mut(CHUNK)).zip(z.par_chunks_mut(CHUNK));
    chunks.for_each(serial);
}
