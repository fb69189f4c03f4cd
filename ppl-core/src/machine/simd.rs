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

#[cfg(any(test, feature = "proptest"))]
thread_local! {
    static PLAINLY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Does something whose kernels use no vectors, on this thread: what tests compare the vectors with. Without tests,
/// they use them all the same.
#[cfg(any(test, feature = "proptest"))]
pub(crate) fn plainly<R>(work: impl FnOnce() -> R) -> R {
    /// Puts back what was, also where the work panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            PLAINLY.set(self.0);
        }
    }
    let _before = Before(PLAINLY.replace(true));
    work()
}

#[cfg(not(any(test, feature = "proptest")))]
pub(crate) fn plainly<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Hands over the vectors of the machine at hand.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn with_vectors<W: pulp::WithSimd<Output = ()>>(work: W) {
    #[cfg(any(test, feature = "proptest"))]
    if PLAINLY.get() {
        return without_vectors(work);
    }
    pulp::Arch::new().dispatch(work);
}

/// The same for machines with AVX-512, with AVX2 and without. Development builds of what uses this crate do without the
/// first: every kernel is compiled for each instruction set, and the crate's own tests run the best that the machine
/// has, and none.
#[cfg(target_arch = "x86_64")]
#[inline]
fn with_vectors<W: pulp::WithSimd<Output = ()>>(work: W) {
    #[cfg(any(test, feature = "proptest"))]
    if PLAINLY.get() {
        return without_vectors(work);
    }
    #[cfg(any(not(debug_assertions), test))]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return work.with_simd(simd);
    }
    match pulp::x86::V3::try_new() {
        Some(simd) => work.with_simd(simd),
        None => without_vectors(work),
    }
}

/// Where it is called, this is one call: the kernels would be compiled there once more.
#[cfg(any(target_arch = "x86_64", test, feature = "proptest"))]
#[inline(never)]
fn without_vectors<W: pulp::WithSimd<Output = ()>>(work: W) {
    work.with_simd(pulp::Scalar::new());
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
