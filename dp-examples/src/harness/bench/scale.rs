//! A private step with Poisson batches of one expected size, from tables of different sizes.

use dp_accountant::{Budget, Relation};
use dp_sampler::{Poisson, Seed, Subsampler, Subsampling};
use dp_vi::guides::AutoNormal;
use dp_vi::{ClipNorm, Correction, DpVi, DrawScheme, RecordWeights, Sensitive, Training};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, RecordGradient, Records, Unconstrained, trace};

use super::Failure;
use crate::logistic::model;

/// Made-up people: numbers between -2 and 2 and a yes or no.
///
/// # Errors
///
/// A number of records that cannot be addressed.
pub fn people(count: u64, columns: u16) -> Result<Records, Failure> {
    let mut state = 1_u64;
    let mut number = move || {
        // The multiplier of Knuth's MMIX generator: good enough for numbers that are only timed.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 4_194_304.0 - 2.0
    };
    let count = usize::try_from(count)?;
    let x = Array2::from_shape_simple_fn((count, usize::from(columns)), &mut number);
    let y = Array1::from_shape_simple_fn(count, || u8::from(number() > 0.0));
    Ok(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?)
}

type Steps<'r> = Training<'r, AutoNormal, <Poisson as Subsampling>::Sampler>;

/// A step's work on one table, and two parts of it.
pub struct Table<'r> {
    /// By the default recipe.
    training: Steps<'r>,
    /// With one draw of the guide a step and gradients clipped as they come: the least a step can do.
    plain: Steps<'r>,
    sampler: <Poisson as Subsampling>::Sampler,
    gradient: RecordGradient<f64>,
    clip: ClipNorm,
    records: &'r Records,
    batches: Vec<Vec<u64>>,
    drawn: Vec<u64>,
    sum: Vec<f64>,
    next: u64,
}

/// Batches that the sum goes round, so that records come from memory as they do in a run.
const BATCHES: u64 = 256;

impl<'r> Table<'r> {
    /// Prepares steps with batches of this expected size.
    ///
    /// # Errors
    ///
    /// As `DpVi::start`.
    pub fn new(
        records: &'r Records,
        behind: &'r Sensitive<Records>,
        batch: u64,
        steps: u64,
    ) -> Result<Self, Failure> {
        let rate = (batch as f64 / records.len() as f64).min(1.0);
        let seed = || Seed::for_tests(1);
        let inference = || -> Result<_, Failure> {
            let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };
            let vi = DpVi::new(model, AutoNormal::new()).budget(budget).subsample(Poisson::rate(rate)?);
            Ok(vi.steps(steps).seed(seed()))
        };
        let training = inference()?.start(behind)?;
        let plain = inference()?
            .draw_scheme(DrawScheme::Single)
            .weights(RecordWeights::None)
            .correction(Correction::None)
            .start(behind)?;
        let mut sampler = Poisson::rate(rate)?.bind(records.len() as u64, &seed())?;
        let graph = Graph::new();
        let traced = trace(&model, &graph, records.schema(), Unconstrained)?;
        let inputs: Vec<_> = traced.latents().filter_map(|site| site.unconstrained).collect();
        let value = traced.record_log_likelihood().ok_or("the model observes nothing")?;
        let gradient = RecordGradient::<f64>::new(value, &inputs)?;
        let mut batches = Vec::new();
        for step in 0..BATCHES {
            let mut drawn = Vec::with_capacity(sampler.max_batch_hint());
            sampler.draw(step, &mut drawn);
            batches.push(drawn);
        }
        let clip = ClipNorm::new((gradient.dimension() as f64).sqrt(), gradient.dimension())?;
        let sum = vec![0.0; gradient.dimension()];
        Ok(Self {
            training,
            plain,
            sampler,
            gradient,
            clip,
            records,
            batches,
            drawn: Vec::new(),
            sum,
            next: 0,
        })
    }

    /// A step by the default recipe.
    ///
    /// # Errors
    ///
    /// As `Training::step`.
    pub fn step(&mut self) -> Result<(), Failure> {
        Ok(self.training.step()?)
    }

    /// The least that a step can do.
    ///
    /// # Errors
    ///
    /// As `Training::step`.
    pub fn plain_step(&mut self) -> Result<(), Failure> {
        Ok(self.plain.step()?)
    }

    /// Draws a batch.
    ///
    /// # Errors
    ///
    /// None.
    pub fn draw(&mut self) -> Result<(), Failure> {
        self.next += 1;
        self.sampler.draw(self.next, &mut self.drawn);
        Ok(())
    }

    /// A clipped sum over a batch.
    ///
    /// # Errors
    ///
    /// None for records that the model was traced with.
    pub fn sum(&mut self) -> ppl_core::Result<()> {
        self.next += 1;
        let batch = &self.batches[(self.next % BATCHES) as usize];
        let clip = self.clip;
        let weigh = |squared: &[f64], weights: &mut [f64]| clip.weigh(squared, weights);
        self.gradient.weighted_sum(self.records, batch, weigh, &mut self.sum)
    }
}
