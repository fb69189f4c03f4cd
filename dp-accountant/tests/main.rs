//! Tests of the public interface: the certified accountant, its formats, ledgers and command.
//!
//! One program, because each program is linked with everything that the crate depends on.

mod calibration;
mod cli;
mod common;
mod dp_event;
mod formats;
mod known_wrong_answers;
mod ledger_file;
mod ledger_killed;
mod quadrature;
mod rare_losses;
mod schemes;
mod special_files;
mod truth;
mod vips;
