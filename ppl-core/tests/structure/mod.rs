//! Operations that move elements and reduce axes: values, derivatives and edges.

// Tables of cases are tuples of arrays and closures, and one of the mistakes tried is a range that runs
// backwards.
#![allow(clippy::type_complexity, clippy::reversed_empty_ranges)]

mod common;
mod gather;
mod moves;
mod reduce;
