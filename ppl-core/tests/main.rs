//! Tests of the public interface: array programs, the language and gradients of records.
//!
//! One program, because each program is linked with everything that the crate depends on.

mod common;
mod constraints;
mod contractions;
mod convolution;
mod counting;
mod derivatives;
mod each_alone;
mod effects;
mod finite;
mod junction;
mod matrix;
mod matrix_models;
mod models;
mod ode;
mod programs;
mod record_gradients;
mod records;
mod scan;
mod shared_arrays;
mod special;
mod structure;
mod threads;
