//! Work compiled for the instruction set of the machine at hand, chosen at run time.
//!
//! The functions that do the work must be `#[inline(always)]` down to their loops: what is not inlined is
//! compiled for the machine that the program was built for. Nothing here contracts or reorders arithmetic, so
//! results do not depend on the instruction set.

pub(crate) use pulp::NullaryFnOnce as Work;

/// Runs work compiled for the instruction set of the machine at hand.
#[inline]
pub(crate) fn dispatch<W: Work<Output = ()>>(work: W) {
    pulp::Arch::new().dispatch(Vectorised(work));
}

/// A struct of its own, because a closure would be called through a function that is not inlined.
struct Vectorised<W>(W);

impl<W: Work<Output = ()>> pulp::WithSimd for Vectorised<W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        simd.vectorize(self.0);
    }
}
