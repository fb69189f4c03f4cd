//! How the autoencoders' experiments train, and what their steps take.

use std::time::Instant;

use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling};
use dp_sampler::{Seed, Subsampling};
use dp_vi::guides::Guide;
use dp_vi::optimiser::Schedule;
use dp_vi::{Clipping, DpVi, Fit, Sensitive};
use ndarray::Array2;
use ppl_core::{Model, Records};

use super::d3p_epsilon::NOISE_MULTIPLIER;
use super::experiment::{Privacy, Row, Size};
use crate::harness::utility::Failure;

pub(super) fn hidden(images: &Array2<u8>) -> Result<Sensitive<Records>, Failure> {
    Ok(Sensitive::new(Records::from_columns([("pixels", images.clone())])?))
}

/// Batches, epochs, norm and rate of a run.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(super) struct How {
    pub(super) batch: f64,
    pub(super) epochs: f64,
    pub(super) clip_norm: f64,
    pub(super) rate: f64,
}

/// Settings of the paper's programs: gradients clipped to 10, Adam at a rate of 0.001.
pub(super) fn as_printed(size: Size) -> How {
    How { batch: size.pick(128.0, 32.0), epochs: size.pick(20.0, 2.0), clip_norm: 10.0, rate: 1e-3 }
}

impl How {
    /// Steps of an epoch, the last of which would be of a smaller batch if batches were parts of it.
    pub(super) fn steps_of_an_epoch(self, records: usize) -> u64 {
        (records as f64 / self.batch).ceil() as u64
    }

    pub(super) fn steps(self, records: usize) -> u64 {
        (self.epochs * self.steps_of_an_epoch(records) as f64).ceil() as u64
    }

    /// Inference as in the paper's programs: a constant rate, and the weights of the last step.
    pub(super) fn of<M: Model, G: Guide, S: Subsampling>(
        self,
        vi: DpVi<M, G, S>,
        seed: u64,
    ) -> DpVi<M, G, S> {
        vi.clip_norm(self.clip_norm)
            .clipping(Clipping::Flat)
            .schedule(Schedule::Constant(self.rate))
            .average_tail(0.0)
            .seed(Seed::for_tests(seed))
    }
}

/// The budget that the paper's noise needs, on batches that are drawn in this way.
pub(super) fn budget(
    how: How,
    records: usize,
    sampling: Sampling,
    relation: Relation,
) -> Result<Budget, Failure> {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NOISE_MULTIPLIER };
    let run = Composition::single(Event::new(mechanism, sampling)?, how.steps(records));
    let delta = 1.0 / records as f64;
    let spent = Privacy::certified(relation, &run, delta, "")?;
    Ok(Budget { epsilon: spent.epsilon, delta, relation })
}

/// Seconds of an epoch's steps, of all epochs together and of the fastest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seconds {
    mean: f64,
    best: f64,
}

pub(super) const EPOCH: &str = "seconds an epoch";
const BEST: &str = "seconds of the fastest epoch";

impl Seconds {
    pub(super) fn mean(self) -> f64 {
        self.mean
    }

    /// As rows.
    pub(super) fn rows(self, series: &str, label: &str, at: f64) -> [Row; 2] {
        [(EPOCH, self.mean), (BEST, self.best)]
            .map(|(metric, seconds)| Row::new(series, metric, label, at, seconds).time())
    }
}

/// A fit, and what an epoch's steps took.
pub(super) fn timed<M: Model, G: Guide, S: Subsampling>(
    vi: DpVi<M, G, S>,
    records: &Sensitive<Records>,
    steps_of_an_epoch: u64,
) -> Result<(Fit, Seconds), Failure> {
    let mut training = vi.start(records)?;
    let mut epochs = Vec::new();
    while training.left() > 0 {
        let (started, steps) = (Instant::now(), steps_of_an_epoch.min(training.left()));
        for _ in 0..steps {
            training.step()?;
        }
        // As if the last part of a run were a whole epoch.
        let whole = steps_of_an_epoch as f64 / steps as f64;
        epochs.push(whole * started.elapsed().as_secs_f64());
    }
    let mean = epochs.iter().sum::<f64>() / epochs.len().max(1) as f64;
    let best = epochs.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((training.finish()?, Seconds { mean, best }))
}

/// What a row of losses is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) series: &'a str,
    pub(super) metric: &'a str,
    pub(super) label: &'a str,
    pub(super) at: f64,
}

impl Named<'_> {
    /// Rows of a fit: its loss, with what it cost if it is private, and the seconds of its epochs.
    pub(super) fn rows(self, fit: &Fit, seconds: Seconds, loss: f64) -> Result<Vec<Row>, Failure> {
        let Self { series, metric, label, at } = self;
        let row = Row::new(series, metric, label, at, loss);
        let row = match fit.privacy().budget {
            Some(_) => row.costing(Privacy::of(fit.privacy())?),
            None => row,
        };
        Ok([vec![row], seconds.rows(series, label, at).into()].concat())
    }
}

/// Seconds of each step with privacy and without, from the fastest to the slowest, and the fit without.
///
/// Steps of both kinds are taken in turn, so that what else the machine does meets both, after `warm` of each, which
/// meet memory for the first time. Weights are averaged over the second half, as they are by default.
pub(super) fn steps_in_turn<M: Model, G: Guide, S: Subsampling>(
    vi: impl Fn() -> Result<DpVi<M, G, S>, Failure>,
    records: &Sensitive<Records>,
    (warm, steps): (u64, u64),
    seed: u64,
) -> Result<([Vec<f64>; 2], Fit), Failure> {
    let how = as_printed(Size::Full);
    let start = |is_private: bool| -> Result<_, Failure> {
        let vi = how.of(vi()?, seed).average_tail(0.5).steps(warm + steps);
        let vi = match is_private {
            true => vi.budget(Budget::add_remove(1.0, 1e-4)),
            false => vi.without_privacy(),
        };
        let mut training = vi.start(records)?;
        for _ in 0..warm {
            training.step()?;
        }
        Ok(training)
    };
    let (mut private, mut plain) = (start(true)?, start(false)?);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..steps {
        for (training, times) in [&mut private, &mut plain].into_iter().zip(&mut times) {
            let started = Instant::now();
            training.step()?;
            times.push(started.elapsed().as_secs_f64());
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    Ok((times, plain.finish()?))
}
