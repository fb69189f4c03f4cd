//! Operations that move elements and reduce axes: values, derivatives and edges.

mod common;
mod gather;
mod moves;
mod reduce;
