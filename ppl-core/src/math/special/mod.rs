//! Special functions of which a program computes one number after the other: branches, series that stop when
//! they may, and Newton steps. All in `f64`; programs in `f32` go through it.
//!
//! | file | functions |
//! |---|---|
//! | `near_one` | `ln(1 + x) − x`, and `ln Γ(1 + x)` |
//! | `normal` | logarithms of normal probabilities, and their inverses, however far in the tail |
//! | `incomplete_gamma`, `incomplete_beta` | regularised incomplete functions, their inverses and derivatives |
//! | `gamma_slope` | how gamma variables move with their shape, many at a time |
//! | `exponential_integral` | the exponential integral `E₁`, scaled |
//! | `owens_t` | the probability of a wedge under the bivariate normal density |
//! | `skew_normal` | the distribution function of the skew normal distribution |
//! | `skellam` | probabilities of the difference of two Poisson variables |
//! | `bessel`, `von_mises` | modified Bessel functions, and the distribution function on the circle made of them |
//! | `rejection` | gamma and von Mises variables from a fixed number of noise numbers |
//! | `nodes`, `tail` | quadrature of log-concave tails |
//!
//! Incomplete functions are integrals of log-concave densities (over the logarithm or the log-odds of the
//! variable). Seen from a point on the near side of the mode, the rest of the tail is
//!
//! ```text
//! ∫₀^∞ exp(−h(v)) w(v) dv        h convex, h(0) = 0,
//! ```
//!
//! a smooth integrand of one sign that needs a few dozen nodes whatever the parameters are. Derivatives with
//! respect to the parameters are the same integral with another weight `w`, so they keep their digits where
//! differences of distribution functions lose them.
//!
//! Errors are stated relative to the result, measured on the golden values of `tests/golden/special.csv`.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "a comparison with NaN is false, and its negation is meant"
)]

mod bessel;
mod exponential_integral;
mod gamma_slope;
mod incomplete_beta;
mod incomplete_gamma;
mod near_one;
mod nodes;
mod normal;
mod owens_t;
mod rejection;
mod skellam;
mod skew_normal;
mod tail;
mod von_mises;

pub use bessel::{bessel_ratio, bessel_ratio_complement, i0e, i1e};
pub use exponential_integral::exponential_integral;
pub use gamma_slope::gamma_slope;
pub(crate) use gamma_slope::gamma_slopes;
pub use incomplete_beta::{
    beta_i, beta_slope_a, beta_slope_b, log_beta_density, log_beta_i, logit_beta_i_inverse,
    logit_beta_i_inverse_of_log, student_t_cdf, student_t_slope,
};
pub(crate) use incomplete_beta::{log_log_odds_probabilities, log_odds_probabilities};
pub use incomplete_gamma::{
    gamma_curvature, gamma_p, gamma_q, log_gamma_density, log_gamma_p, log_gamma_p_inverse,
    log_gamma_p_inverse_of_log, log_gamma_q, log_gamma_q_inverse, log_gamma_q_inverse_of_log,
};
pub(crate) use incomplete_gamma::{gamma_probabilities, log_gamma_probabilities};
pub use near_one::{lgamma_of_1_plus, log1p_minus_x};
pub use normal::{
    inverse_mills, log_mills_difference, log_ndtr, log_ndtr_difference, ndtri, ndtri_exp,
    normal_interval_moments,
};
pub(crate) use normal::{
    mills_difference, ndtri_exp_near, ndtri_near, normal_tail, takes_ndtri_exp_near, takes_ndtri_near,
};
pub use owens_t::owens_t;
pub(crate) use rejection::{log_gamma_draws, von_mises_draws};
pub use skellam::{skellam_cdf, skellam_log_cdf, skellam_log_prob};
pub use skew_normal::log_skew_normal_cdf;
pub(crate) use von_mises::von_mises_between;
pub use von_mises::{von_mises_cdf, von_mises_cdf_inverse, von_mises_slope};
