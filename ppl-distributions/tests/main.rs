//! Tests of the public interface: distributions.
//!
//! One program, because each program is linked with everything that the crate depends on.

mod arrays;
mod bounds;
mod conjugate;
mod copies;
mod discrete;
mod families;
mod far_draws;
mod hostile;
mod laws;
mod listings;
mod mixed_words;
mod moments;
mod multivariate;
mod polya_gamma;
mod right_everywhere;
mod scalar;
mod sequences;
mod single_numbers;
mod tails;
mod univariate;
