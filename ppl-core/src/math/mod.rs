//! Elementary and special functions that compilers can vectorise.
//!
//! Every function is straight-line arithmetic with selects: no branch, table, call or fused multiply–add. A plain loop over slices
//! therefore becomes SIMD code when it is compiled for an instruction set, for instance inside `pulp::Arch::dispatch`, which
//! chooses one at run time:
//!
//! ```text
//! pulp::Arch::new().dispatch(|| for (out, &x) in out.iter_mut().zip(x) { *out = math::exp(x) });
//! ```
//!
//! Because only +, −, ×, ÷, √ and bit operations are used, each rounded as IEEE 754 says, **results are the same bits on every instruction
//! set** and at every vector length. (Which NaN comes out is not part of the promise.)
//!
//! Errors are stated in units in the last place (ulp) of the result: the maximum measured over the points of the tests, against 40 digits
//! for `f64` and against the `f64` functions, over a sweep of bit patterns, for `f32`. They are measurements, not proofs.
//!
//! √x and 1/x are instructions already.

mod coefficients;
mod error_function;
mod exponential;
mod gamma;
mod logarithm;
mod polygamma;
mod power;
mod real;
#[cfg(test)]
mod tests;
mod trigonometric;

pub(crate) use error_function::{erf, erfc, erfinv};
pub(crate) use exponential::{exp, expm1, sigmoid, tanh};
pub(crate) use gamma::{digamma, lgamma, trigamma};
pub(crate) use logarithm::{ln, ln1p, logit, softplus};
pub(crate) use polygamma::polygamma;
pub(crate) use power::powf;
pub(crate) use real::Real;
pub(crate) use trigonometric::{TRIGONOMETRIC_LIMIT, cos, sin};
