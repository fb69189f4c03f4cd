//! A variational autoencoder 784–400–50 on binary images: 688,884 weights, all at the frontier; batches of
//! 128 on average.
//!
//! Its latent codes are local: each record has its own, and their prior and guide belong to the record's
//! term. So the step is put together here from [`RecordGradient`], the sampler, the noise and Adam.

use rayon::prelude::*;
use std::time::Instant;

use dp_sampler::{
    GaussianNoise, GridGaussianNoise, NoiseSource, Poisson, PoissonSampler, Purpose, Subsampler, Subsampling,
};
use dp_vi::ClipNorm;
use dp_vi::optimiser::{
    Chain, ParameterLayout, ScaleByAdam, ScaleBySchedule, Schedule, StepIndex, Transformation,
};
use ndarray::Array2;
use ppl_core::{Column, Graph, InputId, Record, RecordGradient, Records, Scalar, Schema, Var};

use super::data::{normals, seed};
use super::inference::LEARNING_RATE;
use super::memory::{forget_peak, held_mb, peak_mb};
use super::parts::StepParts;
use super::{Failure, Measurement, Stopwatch};

const RECORDS: usize = 10_000;
const BATCH: f64 = 128.0;
const CLIP_NORM: f64 = 10.0;
const NOISE_MULTIPLIER: f64 = 1.0;
/// Standard deviation of the initial weights.
const INITIAL_SCALE: f64 = 0.05;
/// Name of the per-record input that holds the standard normals of the latent codes.
const NOISE: &str = "noise";

/// Widths of the layers.
#[derive(Clone, Copy)]
struct Widths {
    pixels: usize,
    hidden: usize,
    latent: usize,
}

const WIDTHS: Widths = Widths { pixels: 784, hidden: 400, latent: 50 };

impl Widths {
    /// Names and shapes of the weights and biases.
    fn arrays(self) -> [(&'static str, Vec<usize>); 10] {
        let Self { pixels, hidden, latent } = self;
        [
            ("encoder/weights", vec![hidden, pixels]),
            ("encoder/bias", vec![hidden]),
            ("loc/weights", vec![latent, hidden]),
            ("loc/bias", vec![latent]),
            ("log_scale/weights", vec![latent, hidden]),
            ("log_scale/bias", vec![latent]),
            ("decoder/weights", vec![hidden, latent]),
            ("decoder/bias", vec![hidden]),
            ("pixels/weights", vec![pixels, hidden]),
            ("pixels/bias", vec![pixels]),
        ]
    }

    /// Initial values: small random weights, no bias.
    fn initial(self) -> Vec<(String, Vec<f64>)> {
        let value = |(stream, (name, shape)): (usize, (&str, Vec<usize>))| {
            let scale = if shape.len() == 2 { INITIAL_SCALE } else { 0.0 };
            let values = normals(100 + stream as u64, shape.iter().product());
            (name.to_owned(), values.into_iter().map(|z| scale * z).collect())
        };
        self.arrays().into_iter().enumerate().map(value).collect()
    }

    /// The gradient of one record's term of the bound with respect to all arrays.
    ///
    /// ```text
    /// h = softplus(W x + b)       z = m(h) + e^s(h) ∘ ε        ε standard normal, the record's own
    /// ℓ = Σ_pixels (x l − softplus(l))  −  ½‖z‖²  +  Σ s        l = decoder(z)
    /// ```
    ///
    /// which is `ln p(x|z) + ln p(z) − ln q(z|x)` up to what no weight changes.
    fn gradient<T: Scalar>(self, schema: &Schema) -> ppl_core::Result<RecordGradient<T>> {
        let graph = Graph::new();
        let [w, b, m, mb, s, sb, v, vb, p, pb] = {
            let mut arrays = Vec::new();
            for (name, shape) in self.arrays() {
                arrays.push(graph.input(name, shape)?);
            }
            let arrays: [Var<'_>; 10] = arrays.try_into().unwrap_or([graph.constant(f64::NAN); 10]);
            arrays
        };
        let x = Record::new(&graph, schema).get("x")?;
        let noise = graph.record_input(NOISE, self.latent)?;
        let hidden = (w.dot(x) + b).softplus();
        let log_scale = s.dot(hidden) + sb;
        let z = m.dot(hidden) + mb + log_scale.exp() * noise;
        let logits = p.dot((v.dot(z) + vb).softplus()) + pb;
        let value = (x * logits - logits.softplus()).sum() - 0.5 * z.square().sum() + log_scale.sum();
        RecordGradient::with_bounded_sums(value, &[w, b, m, mb, s, sb, v, vb, p, pb], &[0; 10])
    }

    /// Wandering stripes, about a third of the pixels on.
    fn records(self, count: usize) -> ppl_core::Result<Records> {
        let x = Array2::from_shape_fn((count, self.pixels), |(record, pixel)| {
            let pixel = pixel as f64;
            let phase = 0.37 * pixel + 0.11 * (record % 97) as f64 + 0.05 * pixel * (record % 7) as f64;
            f64::from(u8::from(phase.sin() > 0.5))
        });
        Records::from_columns([("x", Column::from(x))])
    }
}

/// What is added to a sum, and memory for it.
enum Noise {
    /// Nothing.
    None,
    /// Exact noise on the rounded sum.
    Exact { source: GridGaussianNoise, drawn: Vec<i64>, most_records: u64, charge: f64 },
    /// Floating-point noise on the floating-point sum.
    Continuous { source: GaussianNoise, drawn: Vec<f32> },
}

/// Fewest numbers that a thread is given.
const LEAST: usize = 1 << 14;

impl Noise {
    /// Exact noise on sums of this gradient; the argument is that of [`PrivacyNoise`](dp_vi::PrivacyNoise),
    /// with sums in `f32`.
    fn exact(gradient: &RecordGradient<f32>) -> Self {
        // Four times the mean batch: a larger one has a probability below 1e-200, and is refused.
        let most_records = 4 * BATCH as u64;
        let rounding = 2.0 * gradient.summation_error() * most_records as f64;
        let grid = 1.07 * NOISE_MULTIPLIER * (gradient.dimension() as f64).sqrt() / STEPS;
        let source = GridGaussianNoise::new(&seed());
        Self::Exact { source, drawn: vec![0; gradient.dimension()], most_records, charge: rounding + grid }
    }

    fn continuous(dimension: usize) -> Self {
        Self::Continuous { source: GaussianNoise::new(&seed()), drawn: vec![0.0; dimension] }
    }

    /// Makes a sum of gradients of norm at most `norm` an estimate of that of all records.
    fn release(
        &mut self,
        sum: &mut [f32],
        step: u64,
        batch: u64,
        norm: f64,
        rate: f64,
    ) -> Result<(), Failure> {
        match self {
            Self::None => sum.iter_mut().for_each(|sum| *sum /= rate as f32),
            Self::Exact { source, drawn, most_records, charge } => {
                if batch > *most_records {
                    return Err(format!(
                        "a batch of {batch} records, where rounding is bounded up to {most_records}"
                    )
                    .into());
                }
                source.fill_parallel(step, drawn);
                let grid = NOISE_MULTIPLIER * norm * (1.0 + *charge) / STEPS;
                let (in_steps, unit) = (1.0 / grid, grid / rate);
                // Below 2⁵¹ steps, adding this rounds to the nearest integer, in the last digits of the sum.
                const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52
                let add = |(sum, drawn): (&mut f32, &i64)| {
                    let integer = (f64::from(*sum) * in_steps + MAGIC).to_bits().wrapping_add(*drawn as u64);
                    *sum = ((f64::from_bits(integer) - MAGIC) * unit) as f32;
                };
                sum.par_iter_mut().zip(&*drawn).with_min_len(LEAST).for_each(add);
            }
            Self::Continuous { source, drawn } => {
                source.fill_parallel(step, drawn);
                let (scale, count) = (NOISE_MULTIPLIER * norm, 1.0 / rate);
                let add = |(sum, z): (&mut f32, &f32)| {
                    *sum = ((f64::from(*sum) + scale * f64::from(*z)) * count) as f32;
                };
                sum.par_iter_mut().zip(&*drawn).with_min_len(LEAST).for_each(add);
            }
        }
        Ok(())
    }
}

/// Steps of the grid in a standard deviation of the exact noise.
const STEPS: f64 = (1_u64 << GridGaussianNoise::BITS) as f64;

/// A run, private or plain.
struct Step<'r> {
    records: &'r Records,
    sampler: PoissonSampler,
    gradient: RecordGradient<f32>,
    inputs: Vec<Option<InputId>>,
    lengths: Vec<usize>,
    clip: Option<ClipNorm>,
    rate: f64,
    noise: Noise,
    draws: GaussianNoise,
    adam: Chain<ScaleByAdam<f32>, ScaleBySchedule>,
    at: Vec<f32>,
    sum: Vec<f32>,
    batch: Vec<u64>,
    done: u64,
}

impl<'r> Step<'r> {
    fn new(
        records: &'r Records,
        gradient: RecordGradient<f32>,
        initial: &[(String, Vec<f64>)],
        noise: Noise,
    ) -> Result<Self, Failure> {
        let private = !matches!(noise, Noise::None);
        let rate = BATCH / records.len() as f64;
        let sampler = Poisson::rate(rate)?.bind(records.len() as u64, &seed())?;
        let dimension = gradient.dimension();
        let longest = sampler.max_batch_hint();
        let mut adam =
            ScaleByAdam::<f32>::new().then(ScaleBySchedule::new(Schedule::Constant(LEARNING_RATE))?);
        adam.init(&ParameterLayout::flat(dimension))?;
        Ok(Self {
            records,
            sampler,
            inputs: initial.iter().map(|(name, _)| gradient.input(name)).collect(),
            lengths: initial.iter().map(|(_, values)| values.len()).collect(),
            clip: if private { Some(ClipNorm::new(CLIP_NORM, dimension)?) } else { None },
            gradient,
            rate,
            noise,
            draws: GaussianNoise::with_purpose(&seed(), Purpose::GuideDraws),
            adam,
            at: initial.iter().flat_map(|(_, values)| values.iter().map(|&value| value as f32)).collect(),
            sum: vec![0.0; dimension],
            batch: Vec::with_capacity(longest),
            done: 0,
        })
    }

    fn make(&mut self) -> Result<(), Failure> {
        let mut rest = self.at.as_slice();
        for (input, &length) in self.inputs.iter().zip(&self.lengths) {
            let (values, after) = rest.split_at(length);
            rest = after;
            if let Some(input) = *input {
                self.gradient.input_mut(input).copy_from_slice(values);
            }
        }
        self.sampler.draw(self.done, &mut self.batch);
        if let Some(codes) = self.gradient.record_input_mut(NOISE, self.batch.len()) {
            self.draws.fill(self.done, codes);
        }
        match self.clip {
            Some(clip) => {
                let weigh = |norms: &[f32], weights: &mut [f32]| clip.weigh(norms, weights);
                self.gradient.weighted_sum(self.records, &self.batch, weigh, &mut self.sum)?;
            }
            None => self.gradient.sum(self.records, &self.batch, &mut self.sum)?,
        }
        let norm = self.clip.map_or(0.0, |clip| clip.norm());
        self.noise.release(&mut self.sum, self.done, self.batch.len() as u64, norm, self.rate)?;
        let at = StepIndex { step: self.done, steps: u64::MAX };
        self.adam.ascend(&mut self.at, &mut self.sum, at);
        self.done += 1;
        Ok(())
    }
}

/// Times the workload.
///
/// # Errors
///
/// What any of its parts finds wrong.
pub fn measure(stopwatch: &Stopwatch) -> Result<Measurement, Failure> {
    let records = WIDTHS.records(RECORDS)?;
    let initial = WIDTHS.initial();
    forget_peak();
    let held = held_mb();
    let started = Instant::now();
    let gradient = WIDTHS.gradient(records.schema())?;
    let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
    let noise = Noise::exact(&gradient);
    let mut private = Step::new(&records, gradient, &initial, noise)?;
    private.make()?;
    private.make()?;
    let peak_mb_beside_data = held.zip(peak_mb()).map(|(held, peak)| peak - held);

    let gradient = WIDTHS.gradient(records.schema())?;
    let noise = Noise::continuous(gradient.dimension());
    let mut continuous = Step::new(&records, gradient, &initial, noise)?;
    let gradient = WIDTHS.gradient(records.schema())?;
    let mut plain = Step::new(&records, gradient, &initial, Noise::None)?;
    let timings =
        stopwatch.compare([&mut || private.make(), &mut || continuous.make(), &mut || plain.make()])?;
    drop((private, continuous, plain));

    let mut gradient = WIDTHS.gradient(records.schema())?;
    for (name, values) in &initial {
        let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        gradient.set(name, &values)?;
    }
    let parameters = gradient.dimension();
    let rate = BATCH / RECORDS as f64;
    let parts = StepParts {
        records: &records,
        gradient,
        record_inputs: &[NOISE],
        rate,
        clip_norm: CLIP_NORM,
        parameters,
    };
    let [private, continuous, plain] = timings;
    Ok(Measurement {
        private_us: private.median_us,
        continuous_us: continuous.median_us,
        plain_us: plain.median_us,
        private_best_us: private.best_us,
        continuous_best_us: continuous.best_us,
        plain_best_us: plain.best_us,
        private_adaptive_us: None,
        hand_us: None,
        split: parts.split(private.median_us, stopwatch)?,
        frontier: parameters,
        parameters,
        prepare_ms,
        peak_mb_beside_data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Widths = Widths { pixels: 6, hidden: 4, latent: 2 };

    #[test]
    fn it_has_as_many_parameters_as_the_peers() {
        let sizes = WIDTHS.arrays().map(|(_, shape)| shape.iter().product::<usize>());
        assert_eq!(sizes.iter().sum::<usize>(), 688_884);
    }

    /// The term of one record by plain loops.
    fn term(at: &[(String, Vec<f64>)], x: &[f64], noise: &[f64]) -> f64 {
        let layer = |weights: usize, input: &[f64]| -> Vec<f64> {
            let (matrix, bias) = (&at[weights].1, &at[weights + 1].1);
            let row =
                |(row, bias): (&[f64], &f64)| row.iter().zip(input).map(|(w, x)| w * x).sum::<f64>() + bias;
            matrix.chunks(input.len()).zip(bias).map(row).collect()
        };
        let softplus = |x: f64| (1.0 + x.exp()).ln();
        let hidden: Vec<f64> = layer(0, x).into_iter().map(softplus).collect();
        let (loc, log_scale) = (layer(2, &hidden), layer(4, &hidden));
        let z: Vec<f64> = loc.iter().zip(&log_scale).zip(noise).map(|((m, s), e)| m + s.exp() * e).collect();
        let decoded: Vec<f64> = layer(6, &z).into_iter().map(softplus).collect();
        let logits = layer(8, &decoded);
        let pixels: f64 = x.iter().zip(&logits).map(|(x, l)| x * l - softplus(*l)).sum();
        pixels - 0.5 * z.iter().map(|z| z * z).sum::<f64>() + log_scale.iter().sum::<f64>()
    }

    #[test]
    fn the_gradient_is_a_finite_difference() {
        let records = SMALL.records(3).unwrap();
        let mut gradient = SMALL.gradient::<f64>(records.schema()).unwrap();
        // Biases too are away from zero.
        let mut at = SMALL.initial();
        for (stream, (_, values)) in at.iter_mut().enumerate() {
            *values = normals(200 + stream as u64, values.len());
        }
        for (name, values) in &at {
            gradient.set(name, values).unwrap();
        }
        let mut sum = vec![0.0; gradient.dimension()];
        let noise = [0.7, -1.1];
        gradient.record_input_mut(NOISE, 1).unwrap().copy_from_slice(&noise);
        gradient.weighted_sum(&records, &[1], |_, weights| weights.fill(1.0), &mut sum).unwrap();
        let x = &records.column(0).as_slice::<f64>().unwrap()[6..12];
        let mut slopes = Vec::new();
        for array in 0..at.len() {
            for k in 0..at[array].1.len() {
                let value = at[array].1[k];
                let h = 1e-5;
                at[array].1[k] = value + h;
                let above = term(&at, x, &noise);
                at[array].1[k] = value - h;
                slopes.push((above - term(&at, x, &noise)) / (2.0 * h));
                at[array].1[k] = value;
            }
        }
        assert_eq!(slopes.len(), sum.len());
        for (slope, sum) in slopes.iter().zip(&sum) {
            assert!((slope - sum).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} against {sum}");
        }
    }
}
