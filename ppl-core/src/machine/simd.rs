//! Work compiled for the instruction set of the machine at hand, chosen at run time.
//!
//! The functions that do the work must be `#[inline(always)]` down to their loops: what is not inlined is compiled for the
//! machine that the program was built for. Results do not depend on the instruction set, except those of matrix products.

pub(crate) use pulp::NullaryFnOnce as Work;

/// Runs work compiled for the instruction set of the machine at hand.
#[inline]
pub(crate) fn dispatch<W: Work<Output = ()>>(work: W) {
    pulp::Arch::new().dispatch(Vectorised(work));
}

/// Work that names its vectors.
pub(crate) trait VectorWork {
    /// Does it with the vectors of `S`.
    fn call<S: pulp::Simd>(self, simd: S);
}

/// Runs work on the vectors of the machine at hand.
#[inline]
pub(crate) fn dispatch_vectors<W: VectorWork>(work: W) {
    pulp::Arch::new().dispatch(Named(work));
}

struct Named<W>(W);

impl<W: VectorWork> pulp::WithSimd for Named<W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        simd.vectorize(WithVectors(self.0, simd));
    }
}

struct WithVectors<W, S>(W, S);

impl<W: VectorWork, S: pulp::Simd> Work for WithVectors<W, S> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.0.call(self.1);
    }
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
