//! Many elements in step through the network, compiled for the instruction set of the machine at hand.
//!
//! Integers only, so every machine makes the same ones. What is not inlined is compiled for the machine that
//! the program was built for, so everything down to the loops is `#[inline(always)]`.

use super::network::{Halves, RoundKey, Word};

/// Elements that go through the rounds together. Their halves fill eight registers of 512 bits, so that one
/// element's multiplication need not wait for another's.
const LANES: usize = 64;
/// At most LANES − 1 elements are left walking when LANES new ones come in.
const MOST_WALKING: usize = 2 * LANES;

/// Images of `start`, `start + 1`, …, side by side.
pub(super) fn walk<W: Word>(
    halves: Halves<W>,
    keys: &[[RoundKey<W>; 2]],
    len: u64,
    start: u64,
    images: &mut [u64],
) {
    pulp::Arch::new().dispatch(Vectorised(Walk { halves, keys, len, start, images }));
}

/// A struct, because a closure would be called through a function that is not inlined.
struct Walk<'a, W> {
    halves: Halves<W>,
    keys: &'a [[RoundKey<W>; 2]],
    len: u64,
    start: u64,
    images: &'a mut [u64],
}

/// Runs it with an instruction set.
struct Vectorised<T>(T);

impl<W: Word> pulp::WithSimd for Vectorised<Walk<'_, W>> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        simd.vectorize(self.0);
    }
}

impl<W: Word> pulp::NullaryFnOnce for Walk<'_, W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { halves, keys, len, start, images } = self;
        // The images that are not yet below the length, and where they belong.
        let mut walking = [W::default(); MOST_WALKING];
        let mut places = [0_usize; MOST_WALKING];
        let mut left = 0;
        let mut lanes = [W::default(); LANES];

        let mut done = 0;
        while done < images.len() {
            let here = (images.len() - done).min(LANES);
            let first = start + done as u64;
            for (lane, value) in lanes.iter_mut().enumerate() {
                // Lanes beyond the last element stay in range and are thrown away.
                *value = W::truncate(first + if lane < here { lane as u64 } else { 0 });
            }
            rounds(halves, keys, &mut lanes);
            for (image, &value) in images[done..done + here].iter_mut().zip(&lanes) {
                *image = value.widen();
            }
            left = sift(&lanes[..here], len, |lane| done + lane, &mut walking, &mut places, left);
            done += here;
            // Those that walk go on together as soon as they fill the lanes, at the end in any case.
            while left >= LANES || (done == images.len() && left > 0) {
                let here = left.min(LANES);
                left -= here;
                let mut from = [0_usize; LANES];
                lanes[..here].copy_from_slice(&walking[left..left + here]);
                lanes[here..].fill(W::default());
                from[..here].copy_from_slice(&places[left..left + here]);
                rounds(halves, keys, &mut lanes);
                for (&value, &place) in lanes[..here].iter().zip(&from) {
                    images[place] = value.widen();
                }
                left = sift(&lanes[..here], len, |lane| from[lane], &mut walking, &mut places, left);
            }
        }
    }
}

/// Every round of the network on every lane.
#[inline(always)]
fn rounds<W: Word>(halves: Halves<W>, keys: &[[RoundKey<W>; 2]], lanes: &mut [W; LANES]) {
    let (mut upper, mut lower) = ([W::default(); LANES], [W::default(); LANES]);
    for lane in 0..LANES {
        (upper[lane], lower[lane]) = halves.split(lanes[lane]);
    }
    for keys in keys {
        for lane in 0..LANES {
            (upper[lane], lower[lane]) = halves.mix(keys, upper[lane], lower[lane]);
        }
    }
    for lane in 0..LANES {
        lanes[lane] = halves.join(upper[lane], lower[lane]);
    }
}

/// Appends the values that have to walk on; returns how many walk then.
#[inline(always)]
fn sift<W: Word>(
    values: &[W],
    len: u64,
    place: impl Fn(usize) -> usize,
    walking: &mut [W; MOST_WALKING],
    places: &mut [usize; MOST_WALKING],
    mut left: usize,
) -> usize {
    for (lane, &value) in values.iter().enumerate() {
        // Written always and kept sometimes: there is no branch to be mispredicted.
        walking[left] = value;
        places[left] = place(lane);
        left += usize::from(value.widen() >= len);
    }
    left
}
