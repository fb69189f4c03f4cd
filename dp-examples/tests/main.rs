//! Tests of the public interface: the programs.
//!
//! One program, because each program is linked with everything that the crate depends on.

mod bench;
mod examples;
mod finite;
mod fit;
mod fit_resumed;
mod folder;
mod gallery;
mod papers;
mod programs;
mod twin;
mod twin_classes;
mod twin_files;
mod utility;
