//! The kernels: one source for every backend.
//!
//! They are written in 32-bit words, because not every device has longer ones. The functions beside them on
//! the CPU have the same names where they do the same; tests hold both to the same numbers.

#![allow(unreachable_pub, missing_docs, clippy::pedantic, reason = "modules that the macro `cube` makes")]

pub(crate) mod chacha;
pub(crate) mod discrete_gaussian;
pub(crate) mod feistel;
pub(crate) mod gather;
pub(crate) mod gaussian;
pub(crate) mod limbs;
pub(crate) mod pair;
pub(crate) mod poisson;
pub(crate) mod scan;
pub(crate) mod words;
