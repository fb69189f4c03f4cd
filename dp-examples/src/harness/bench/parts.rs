//! A private step's parts, each timed by itself.

use std::hint::black_box;

use dp_sampler::{GaussianNoise, NoiseSource, Poisson, Subsampler, Subsampling};
use dp_vi::ClipNorm;
use dp_vi::optimiser::{ParameterLayout, ScaleByAdam, StepIndex, Transformation};
use ppl_core::{ExecutionPlan, Graph, Program, Record, RecordGradient, Records, Scalar};
use serde::Serialize;

use super::data::{normals, seed};
use super::{Failure, Stopwatch};

/// Batches that the parts are timed on in turn, so that records come from memory as they do in a run.
const BATCHES: u64 = 64;

/// Microseconds of a private step's parts (medians).
///
/// `gather`, `gradient` and `clip_and_sum` are differences of growing pieces of the same work, and `rest` is
/// what the whole step takes beyond all parts, so each of them carries the error of its two measurements;
/// none is below zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Split {
    /// Which records: Poisson sampling.
    pub draw: f64,
    /// The records' values into the tile.
    pub gather: f64,
    /// Forward and backward pass and norms of all records.
    pub gradient: f64,
    /// Weights from norms, weighted sums over records.
    pub clip_and_sum: f64,
    /// Gaussian noise for the sum.
    pub noise: f64,
    /// Adam.
    pub optimiser: f64,
    /// Everything else: draw of the guide, prior, entropy, pull-back, averaging.
    pub rest: f64,
}

impl Split {
    /// Names of the parts, as in JSON.
    pub const NAMES: [&'static str; 7] =
        ["draw", "gather", "gradient", "clip_and_sum", "noise", "optimiser", "rest"];

    /// The parts in the order of [`Split::NAMES`].
    #[must_use]
    pub fn parts(&self) -> [f64; 7] {
        [self.draw, self.gather, self.gradient, self.clip_and_sum, self.noise, self.optimiser, self.rest]
    }
}

/// What a step consists of.
pub struct StepParts<'a, T> {
    /// The records.
    pub records: &'a Records,
    /// The per-record gradient, its inputs set.
    pub gradient: RecordGradient<T>,
    /// Names of per-record inputs.
    pub record_inputs: &'a [&'a str],
    /// Sampling rate.
    pub rate: f64,
    /// Clip norm.
    pub clip_norm: f64,
    /// Number of parameters that Adam moves.
    pub parameters: usize,
}

/// Goes round a list of batches.
struct Round<'b> {
    batches: &'b [Vec<u64>],
    at: usize,
}

impl<'b> Round<'b> {
    fn next(&mut self) -> &'b [u64] {
        self.at = (self.at + 1) % self.batches.len();
        &self.batches[self.at]
    }
}

impl<T: Scalar> StepParts<'_, T>
where
    GaussianNoise: NoiseSource<T>,
{
    /// Times the parts of a step that takes `whole_us` as a whole.
    ///
    /// # Errors
    ///
    /// What any of the parts finds wrong.
    pub fn split(self, whole_us: f64, stopwatch: &Stopwatch) -> Result<Split, Failure> {
        let records = self.records;
        let mut sampler = Poisson::rate(self.rate)?.bind(records.len() as u64, &seed())?;
        let mut drawn = Vec::with_capacity(sampler.max_batch_hint());
        let mut batches = Vec::new();
        for step in 0..BATCHES {
            sampler.draw(step, &mut drawn);
            batches.push(drawn.clone());
        }
        let round = || Round { batches: &batches, at: 0 };

        let mut columns = self.columns()?;
        let (dimension, parameters) = (self.gradient.dimension(), self.parameters);
        let clip = ClipNorm::new(self.clip_norm, dimension)?;
        let mut sum = vec![T::zero(); dimension];
        let (mut gather, mut pass, mut add) = (round(), round(), round());
        let mut gather = || {
            for tile in gather.next().chunks(columns.tile()) {
                columns.run_records(records, tile)?;
            }
            Ok(())
        };
        let longest = batches.iter().map(Vec::len).max().unwrap_or(0);
        let mut norms = vec![T::zero(); longest * self.gradient.groups()];
        let (gradient, record_inputs) = (std::cell::RefCell::new(self.gradient), self.record_inputs);
        let fill = |gradient: &mut RecordGradient<T>, records: usize| {
            for &name in record_inputs {
                gradient.record_input_mut(name, records);
            }
        };
        let mut pass = || {
            let batch = pass.next();
            let gradient = &mut *gradient.borrow_mut();
            fill(gradient, batch.len());
            let norms = &mut norms[..batch.len() * gradient.groups()];
            Ok(gradient.squared_norms(records, batch, black_box(norms))?)
        };
        let mut add = || {
            let weigh = |norms: &[T], weights: &mut [T]| clip.weigh(norms, weights);
            let batch = add.next();
            let gradient = &mut *gradient.borrow_mut();
            fill(gradient, batch.len());
            Ok(gradient.weighted_sum(records, batch, weigh, black_box(&mut sum))?)
        };
        let [gathered, passed, added] = stopwatch.compare([&mut gather, &mut pass, &mut add])?;

        let mut step = BATCHES;
        let mut draw = || {
            step += 1;
            sampler.draw(step, black_box(&mut drawn));
            Ok(())
        };
        let (source, mut standard, mut release) =
            (GaussianNoise::new(&seed()), vec![T::zero(); dimension], BATCHES);
        let mut noise = || {
            release += 1;
            source.fill_parallel(release, black_box(&mut standard));
            Ok(())
        };
        let (mut adam, mut at) = (ScaleByAdam::<T>::new(), vec![T::zero(); parameters]);
        adam.init(&ParameterLayout::flat(at.len()))?;
        // Each update overwrites the gradient, and what it leaves is as good as another.
        let mut uphill: Vec<T> = normals(0, parameters).into_iter().map(T::of).collect();
        let index = StepIndex { step: 0, steps: 1 };
        let mut optimiser = || {
            adam.ascend(black_box(&mut at), black_box(&mut uphill), index);
            Ok(())
        };
        let [draw, noise, optimiser] = stopwatch.compare([&mut draw, &mut noise, &mut optimiser])?;

        let [gathered, passed, added, draw, noise, optimiser] =
            [gathered, passed, added, draw, noise, optimiser].map(|timing| timing.median_us);
        let (gradient, clip_and_sum) = ((passed - gathered).max(0.0), (added - passed).max(0.0));
        let parts = draw + gathered + gradient + clip_and_sum + noise + optimiser;
        let rest = (whole_us - parts).max(0.0);
        Ok(Split { draw, gather: gathered, gradient, clip_and_sum, noise, optimiser, rest })
    }

    /// A plan that gathers all columns and does nothing else.
    fn columns(&self) -> ppl_core::Result<ExecutionPlan<T>> {
        let graph = Graph::new();
        let record = Record::new(&graph, self.records.schema());
        let names = self.records.schema().columns();
        let columns = names.map(|(name, _)| record.get(name)).collect::<ppl_core::Result<Vec<_>>>()?;
        Ok(ExecutionPlan::new(&Program::new(&graph, &columns)?))
    }
}
