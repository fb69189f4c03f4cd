//! How far a run has come, and whether to go on.

use std::ops::ControlFlow;
use std::time::Duration;

/// How far a run has come.
///
/// # Privacy
/// The rate depends on how long the batches were, and running time is not private: show it to those who hold
/// the records only.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Steps done; evaluations of the log density in a fit that goes on until it has converged.
    pub done: u64,
    /// Steps in all; `u64::MAX` in a fit that goes on until it has converged, for nobody knows how many it takes.
    pub steps: u64,
    /// Steps a second, on average since this process began or resumed the run.
    pub steps_per_second: f64,
    /// How long the rest takes at this rate; `Duration::MAX` where that is not known.
    pub time_left: Duration,
}

/// What a progress callback answers: nothing, or whether to go on.
///
/// ```
/// use dp_vi::Proceed;
/// use std::ops::ControlFlow;
/// assert!(().proceed().is_continue());
/// assert!(ControlFlow::Break(()).proceed().is_break());
/// ```
pub trait Proceed {
    /// Whether to go on.
    fn proceed(self) -> ControlFlow<()>;
}

impl Proceed for () {
    fn proceed(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Proceed for ControlFlow<()> {
    fn proceed(self) -> ControlFlow<()> {
        self
    }
}

pub(crate) type Callback = Box<dyn FnMut(Progress) -> ControlFlow<()>>;
