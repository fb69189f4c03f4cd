//! The tests of the No-U-Turn sampler, which needs a feature of its own.

#[expect(dead_code, reason = "helpers that other tests share")]
#[path = "effects/common.rs"]
mod common;
#[path = "effects/nuts.rs"]
mod nuts;
