//! Tests of the public interface: samplers and noise.
//!
//! One program, because each program is linked with everything that the crate depends on.

mod gpu;
mod memory;
mod stability;
