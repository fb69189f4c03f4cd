//! The machine at hand: number types, vectors of an instruction set that is chosen at run time, and memory
//! fetched ahead of its use.

pub(crate) mod prefetch;
mod scalar;
pub(crate) mod simd;
mod vectors;

pub use scalar::Scalar;
pub(crate) use vectors::Vectors;
