//! Discrete distributions: golden values, derivatives, draws, shapes and refusals.

mod common;
mod divergences;
mod draws;
mod golden;
mod gradients;
mod shapes;
