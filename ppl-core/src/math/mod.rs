//! Elementary and special functions of plain numbers: those that programs run.
//!
//! ```
//! use ppl_core::math;
//! assert_eq!(math::erfc(0.0), 1.0);
//! assert!((math::gamma_p(2.5, 1.0) - 0.150_854_963_915_390_4).abs() < 1e-15);
//! assert!((math::erf(0.5_f32) - 0.520_499_9).abs() < 1e-6);
//! ```
//!
//! Each function says what it computes, where it is infinite or NaN, and its measured error; formulas are numbered
//! as in the NIST Digital Library of Mathematical Functions (DLMF).
//!
//! Those of `f32` and `f64` (of [`Real`] numbers) are elementary functions and the error and gamma functions, made
//! to be vectorised; the others are of `f64`, one number after the other.
//!
//! # How they are made
//!
//! Every function of [`Real`] numbers is straight-line arithmetic with selects: no branch, table, call or fused
//! multiply–add. A plain loop over slices therefore becomes SIMD code when it is compiled for an instruction set, which
//! `pulp::Arch::dispatch` chooses at run time:
//!
//! ```text
//! struct Exp<'a> { x: &'a [f64], out: &'a mut [f64] }
//!
//! impl pulp::WithSimd for Exp<'_> {
//!     type Output = ();
//!     #[inline(always)]
//!     fn with_simd<S: pulp::Simd>(self, _: S) {
//!         for (out, &x) in self.out.iter_mut().zip(self.x) { *out = math::exp(x) }
//!     }
//! }
//!
//! pulp::Arch::new().dispatch(Exp { x, out });
//! ```
//!
//! The loop must end up inside the function that carries the instruction set. A closure given to `dispatch`
//! in the place of `Exp` goes through a `FnOnce` shim that knows nothing of `#[inline(always)]`: a long body
//! stays behind, compiled for SSE2. Hence the struct.
//!
//! Because only +, −, ×, ÷, √ and bit operations are used, each rounded as IEEE 754 says, **results are the
//! same bits on every instruction set** and at every vector length. (Which NaN comes out is not part of the
//! promise.)
//!
//! Errors are stated in units in the last place (ulp) of the result: for `f64` the maximum over 250,000
//! golden values of 50 digits (3000 for each range in `tests/golden/math.py`; the tests run 24), for `f32`
//! the maximum over every 263rd bit pattern against the `f64` function (the tests run every 16,411th). They
//! are measurements, not proofs.
//!
//! √x and 1/x are instructions already.

mod coefficients;
mod counting;
mod error_function;
mod exponential;
mod gamma;
mod logarithm;
mod polygamma;
mod power;
mod quantile;
mod real;
mod special;
mod stirling;
#[cfg(test)]
mod tests;
mod trigonometric;

pub use counting::{deviance, negative_binomial_by_mean};
pub use error_function::{erf, erfc, erfinv};
pub use exponential::{exp, expm1, sigmoid, tanh};
pub(crate) use gamma::digamma_of_positive;
pub use gamma::{digamma, lgamma, trigamma};
pub use logarithm::{ln, ln_ratio, ln1p, ln1p_square, logit, softplus};
pub use polygamma::polygamma;
pub use power::powf;
pub(crate) use quantile::Table;
pub use quantile::{
    Tail, binomial_probabilities, binomial_quantile, log_binomial_probabilities,
    log_negative_binomial_probabilities, log_poisson_probabilities, negative_binomial_probabilities,
    negative_binomial_quantile, poisson_probabilities, poisson_quantile,
};
pub use real::Real;
pub use special::{
    bessel_ratio, bessel_ratio_complement, beta_i, beta_slope_a, beta_slope_b, exponential_integral,
    gamma_curvature, gamma_p, gamma_q, gamma_slope, i0e, i1e, inverse_mills, lgamma_of_1_plus,
    log_beta_density, log_beta_i, log_gamma_density, log_gamma_p, log_gamma_p_inverse,
    log_gamma_p_inverse_of_log, log_gamma_q, log_gamma_q_inverse, log_gamma_q_inverse_of_log,
    log_mills_difference, log_ndtr, log_ndtr_difference, log_skew_normal_cdf, log1p_minus_x,
    logit_beta_i_inverse, logit_beta_i_inverse_of_log, ndtri, ndtri_exp, normal_interval_moments, owens_t,
    skellam_cdf, skellam_log_cdf, skellam_log_prob, student_t_cdf, student_t_slope, von_mises_cdf,
    von_mises_cdf_inverse, von_mises_slope,
};
pub(crate) use special::{
    gamma_slopes, log_gamma_draws, mills_difference, ndtri_exp_near, ndtri_near, normal_tail,
    takes_ndtri_exp_near, takes_ndtri_near, von_mises_between, von_mises_draws,
};
pub use stirling::{digamma_minus_log, digamma_remainder, log_factorial_remainder, stirling_error};
pub use trigonometric::{TRIGONOMETRIC_LIMIT, atan, cos, sin};
