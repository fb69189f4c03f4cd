//! How far a run has come, and whether to go on.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

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

impl Progress {
    /// That of `done` steps of a run that began at step `begun` at this time.
    pub(crate) fn since(started: Instant, begun: u64, done: u64, steps: u64) -> Self {
        let steps_per_second = (done - begun) as f64 / started.elapsed().as_secs_f64().max(1e-9);
        let left = (steps - done) as f64 / steps_per_second;
        let time_left = match steps {
            u64::MAX => Duration::MAX,
            _ => Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX),
        };
        Self { done, steps, steps_per_second, time_left }
    }
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
