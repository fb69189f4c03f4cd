//! How much privacy a sequence of randomised mechanisms costs, as certified intervals.
//!
//! A training run is a [`Composition`]: a multiset of [`Event`]s, each of which is one use of a noisy [`Mechanism`] on
//! records chosen by a [`Sampling`] scheme. An [`Accountant`] for a neighbouring [`Relation`] computes `epsilon(delta)`
//! or `delta(epsilon)` for it. Every answer is a [`Certified`] interval: the true value lies between `lower` and
//! `upper`, and rounding errors of the arithmetic are included. The upper end is the guarantee.
//!
//! If you are new to differential privacy, start with the [`guide`], which leads from "what is ε" to the
//! noise of a training run. [`calibrate_noise_multiplier`] finds the noise that keeps a [`Budget`], and
//! [`calibrate_steps`], [`calibrate_rate`] and [`calibrate_batch`] the other parameters of a run. A [`Ledger`] holds a
//! budget and refuses debits that would exceed it; `FileLedger` (feature `ledger-file`) is a ledger in a file, which
//! several programs can share.
//!
//! ```
//! use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
//!
//! # fn main() -> dp_accountant::Result<()> {
//! let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
//! let epsilon = Accountant::new(Relation::AddRemove).compose(step, 1_000).epsilon(1e-5)?;
//! assert!(epsilon.lower <= 1.828236666517 && 1.828236666517 <= epsilon.upper);
//! assert!(epsilon.width() < 1e-4);
//! # Ok(())
//! # }
//! ```
//!
//! # Privacy
//! For the Gaussian mechanism, the noise multiplier is the standard deviation of the noise divided by the clip norm,
//! where records are clipped in the Euclidean norm. Nothing has a default that could make a claim wrong: the caller
//! always states the relation and the sampling scheme, and where no answer is proven for a pair of them, the result is
//! an error and not an approximation. A mechanism is taken to have exactly the distribution, or to keep exactly the
//! guarantee, that its [`Mechanism`] states; errors of floating-point noise generation are not modelled.
//!
//! # Accuracy
//! Without subsampling and for a single step the answer is a closed form good to about twelve digits. For
//! normal noise on Poisson samples the Laplace transform of delta is inverted along a tilted contour with
//! bounds on every error ([`Engine::FourierInversion`]): some 0.1 ms and mostly seven digits. Where single
//! steps rarely lose very much (tiny sampling rates), outcomes are sorted by their largest step first, which
//! takes a few milliseconds. Everything else, and what inversion does not prove to
//! [`DEFAULT_RELATIVE_WIDTH`], is discretised twice, once so that it dominates the truth and once so that it
//! is dominated, composed by a tilted Fourier transform ([`Engine::LossDistribution`]), and refined until it
//! is as narrow, or as narrow as the size limits of the transform allow. An answer says which engine proved
//! which of its ends.
//!
//! At deltas below 1e-30 and small sampling rates, numbers in double precision do not resolve both the many small
//! losses and the rare large ones: intervals may be some ten per cent wide, and their upper end may be Chernoff's bound
//! by the same transform. They hold all the same, and take no longer than others.

#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod accountant;
mod budget;
mod calibrate;
mod certified;
pub mod classical;
mod closed_form;
mod composition;
#[cfg(any(feature = "ledger-file", feature = "output"))]
mod disk;
mod engines;
mod error;
mod event;
mod fourier;
mod gaussian;
mod golden;
pub mod guide;
#[cfg(feature = "json")]
pub mod interop;
mod lattice;
mod ledger;
#[cfg(feature = "output")]
pub mod output;
mod questions;
mod run;
#[cfg(feature = "sampler")]
mod sampler;
mod schemes;
mod special;
#[cfg(any(test, feature = "proptest"))]
pub mod strategies;
#[cfg(test)]
mod tests;

pub use accountant::{Accountant, DEFAULT_RELATIVE_WIDTH};
pub use budget::Budget;
pub use calibrate::{
    Calibrated, CalibratedBatch, CalibratedRate, CalibratedSteps, calibrate, calibrate_batch,
    calibrate_noise_multiplier, calibrate_rate, calibrate_steps,
};
pub use certified::{Certified, Engine, rounded_down, rounded_up};
pub use composition::Composition;
pub use error::{Error, Result};
pub use event::{Event, Mechanism, Relation, Sampling};
#[cfg(feature = "ledger-file")]
pub use ledger::FileLedger;
pub use ledger::{
    DebitNote, Label, Ledger, LedgerMark, Odometer, Purse, Reading, Receipt, Remaining, Timestamp,
};
pub use questions::{CertifiedLog, Corner, TradeOff};

/// This crate's version. Runs that have to be repeated bit for bit are bound to it.
///
/// ```
/// assert!(dp_accountant::VERSION.starts_with(|digit: char| digit.is_ascii_digit()));
/// ```
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
