//! From a model and its records to a measurement, by way of [`DpVi`].

use std::time::Instant;

use dp_accountant::{Budget, Relation};
use dp_sampler::Poisson;
use dp_vi::guides::AutoNormal;
use dp_vi::optimiser::Schedule;
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, PrivacyNoise, Quantile, RecordWeights, Sensitive};
use ppl_core::{Ctx, Graph, Model, RecordGradient, Records, Unconstrained, trace};

use super::data::{normals, seed};
use super::parts::StepParts;
use super::{Failure, Measurement, Stopwatch};

/// Learning rate of Adam.
pub const LEARNING_RATE: f64 = 1e-3;

/// The budget of a private run; no figure depends on it.
pub const BUDGET: Budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };

/// A model that is a plain function.
pub type ModelFunction = fn(&mut Ctx) -> ppl_core::Result<()>;

/// A model, its records, and how they are sampled.
pub struct Inference<M> {
    /// The model.
    pub model: M,
    /// The records.
    pub records: Records,
    /// Sampling rate.
    pub rate: f64,
    /// Clip norm.
    pub clip_norm: f64,
}

impl<M: Model + Clone> Inference<M> {
    /// The settings of a run of this many steps: mean-field guide, one draw a step, flat clipping alone, Adam
    /// at a constant rate, averaging at every step. The workload stays what it was before there was more to
    /// choose from.
    ///
    /// # Errors
    ///
    /// If the sampling rate is out of range.
    pub fn settings(&self, steps: u64) -> Result<DpVi<M, AutoNormal, Poisson>, Failure> {
        Ok(DpVi::new(self.model.clone(), AutoNormal::new())
            .subsample(Poisson::rate(self.rate)?)
            .steps(steps)
            .clip_norm(self.clip_norm)
            .draw_scheme(DrawScheme::Single)
            .weights(RecordWeights::None)
            .correction(Correction::None)
            .schedule(Schedule::Constant(LEARNING_RATE))
            .average_tail(1.0)
            .seed(seed()))
    }

    /// Times the private step, the plain one and, where there is one, the same step written by hand, in
    /// turns; then the parts.
    ///
    /// # Errors
    ///
    /// If the model does not fit the records, or a step fails.
    pub fn measure(
        self,
        by_hand: Option<&mut dyn FnMut()>,
        stopwatch: &Stopwatch,
    ) -> Result<Measurement, Failure> {
        let behind = Sensitive::new(self.records.clone());
        let started = Instant::now();
        let prepared = Prepared::new(&self.model, &self.records)?;
        let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
        let (frontier, parameters) = (prepared.gradient.dimension(), prepared.parameters);

        let steps = stopwatch.most_repetitions();
        let mut private = self.settings(steps)?.budget(BUDGET).start(&behind)?;
        let continuous = self.settings(steps)?.noise(PrivacyNoise::Continuous).budget(BUDGET);
        let mut continuous = continuous.start(&behind)?;
        let mut plain = self.settings(steps)?.without_privacy().start(&behind)?;
        let mut private = || Ok(private.step()?);
        let mut continuous = || Ok(continuous.step()?);
        let mut plain = || Ok(plain.step()?);
        let (private, continuous, plain, hand_us) = match by_hand {
            None => {
                let [private, continuous, plain] =
                    stopwatch.compare([&mut private, &mut continuous, &mut plain])?;
                (private, continuous, plain, None)
            }
            Some(by_hand) => {
                let mut by_hand = || {
                    by_hand();
                    Ok(())
                };
                let [private, continuous, plain, hand] =
                    stopwatch.compare([&mut private, &mut continuous, &mut plain, &mut by_hand])?;
                (private, continuous, plain, Some(hand.median_us))
            }
        };
        let mut adaptive = self
            .settings(steps)?
            .draw_scheme(DrawScheme::Antithetic)
            .clipping(Clipping::Quantile(Quantile::default()))
            .public_records(self.records.len() as u64)
            .budget(BUDGET)
            .start(&behind)?;
        let [adaptive] = stopwatch.compare([&mut || Ok(adaptive.step()?)])?;
        let parts = StepParts {
            records: &self.records,
            gradient: prepared.gradient,
            record_inputs: &[],
            rate: self.rate,
            clip_norm: self.clip_norm,
            parameters,
        };
        Ok(Measurement {
            private_us: private.median_us,
            continuous_us: continuous.median_us,
            plain_us: plain.median_us,
            private_best_us: private.best_us,
            continuous_best_us: continuous.best_us,
            plain_best_us: plain.best_us,
            private_adaptive_us: Some(adaptive.median_us),
            hand_us,
            split: parts.split(private.median_us, stopwatch)?,
            frontier,
            parameters,
            prepare_ms,
            peak_mb_beside_data: None,
        })
    }
}

/// The per-record part of a step, made as `DpVi` makes it, with some values for the latent sites.
struct Prepared {
    gradient: RecordGradient<f64>,
    parameters: usize,
}

impl Prepared {
    fn new(model: &impl Model, records: &Records) -> Result<Self, Failure> {
        let graph = Graph::new();
        let trace = trace(model, &graph, records.schema(), Unconstrained)?;
        let value = trace.record_log_likelihood().ok_or("a model that observes no record")?;
        let sites: Vec<_> = trace.latents().collect();
        let all: Vec<_> = sites.iter().filter_map(|site| site.unconstrained).collect();
        let everything = RecordGradient::<f64>::new(value, &all)?;
        let touched = all.iter().enumerate().filter(|&(site, _)| everything.is_touched(site));
        let frontier: Vec<_> = touched.map(|(_, &array)| array).collect();
        let mut gradient = match frontier.len() == all.len() {
            true => everything,
            false => RecordGradient::new(value, &frontier)?,
        };
        let mut parameters = 0;
        for (stream, site) in sites.iter().enumerate() {
            let values: Vec<f64> =
                normals(stream as u64, site.shape.elements()).iter().map(|z| 0.1 * z).collect();
            // A mean and a log standard deviation each.
            parameters += 2 * site.shape.elements();
            gradient.set(&Unconstrained::input_name(&site.name), &values)?;
        }
        Ok(Self { gradient, parameters })
    }
}
