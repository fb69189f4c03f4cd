//! Work compiled for the instruction set of the machine at hand, chosen at run time.
//!
//! The functions that do the work must be `#[inline(always)]` down to their loops: what is not inlined is
//! compiled for the machine that the program was built for. Results do not depend on the instruction set,
//! except those of matrix products.

pub(crate) use pulp::NullaryFnOnce as Job;

/// Runs work compiled for the instruction set of the machine at hand.
#[inline]
pub(crate) fn dispatch<W: Job<Output = ()>>(work: W) {
    with_vectors(Vectorised(work));
}

/// Hands over the vectors of the machine at hand.
#[cfg(not(all(debug_assertions, not(test), target_arch = "x86_64")))]
#[inline]
fn with_vectors<W: pulp::WithSimd<Output = ()>>(work: W) {
    pulp::Arch::new().dispatch(work);
}

/// The same in development builds of what uses this crate, without AVX-512: every kernel is compiled for each instruction
/// set, which is a third of the time of compiling this crate, and the crate's own tests run them all.
#[cfg(all(debug_assertions, not(test), target_arch = "x86_64"))]
#[inline]
fn with_vectors<W: pulp::WithSimd<Output = ()>>(work: W) {
    match pulp::x86::V3::try_new() {
        Some(simd) => work.with_simd(simd),
        None => work.with_simd(pulp::Scalar::new()),
    }
}

/// Work that names its vectors.
pub(crate) trait VectorJob {
    /// Does it with the vectors of `S`.
    fn call<S: pulp::Simd>(self, simd: S);
}

/// Runs work on the vectors of the machine at hand.
#[inline]
pub(crate) fn dispatch_vectors<W: VectorJob>(work: W) {
    with_vectors(Named(work));
}

struct Named<W>(W);

impl<W: VectorJob> pulp::WithSimd for Named<W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        simd.vectorize(WithVectors(self.0, simd));
    }
}

struct WithVectors<W, S>(W, S);

impl<W: VectorJob, S: pulp::Simd> Job for WithVectors<W, S> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.0.call(self.1);
    }
}

/// A struct of its own, because a closure would be called through a function that is not inlined.
struct Vectorised<W>(W);

impl<W: Job<Output = ()>> pulp::WithSimd for Vectorised<W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        simd.vectorize(self.0);
    }
}
