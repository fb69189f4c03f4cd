//! Finite programs: exact posteriors, divergences, and their worst case over neighbours.

mod bad_input;
mod checker;
mod constants;
mod hockey_sticks;
mod posteriors;
mod rules;
mod tables;
mod weights;
