//! A small probabilistic language: trace a model into an array program, differentiate it, run it over records.
