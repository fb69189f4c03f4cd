//! Statements, handlers, and what runs a model.

mod common;
mod convergence;
mod enumerate;
mod handlers;
mod keys;
mod laws;
mod markov;
mod matching;
mod mistakes;
mod plates;
mod predictive;
mod summaries;
