//! What can be asked of a composition besides one epsilon and one delta.
//!
//! An attacker sees the released outcome and guesses which of two neighbouring data sets it came from.
//! Everything here is about how well any attacker can do, and follows from the one curve delta(epsilon) of
//! the composition.

mod advantage;
mod log_delta;
mod many;
mod trade_off;

pub use log_delta::CertifiedLog;
pub use trade_off::{Corner, TradeOff};
