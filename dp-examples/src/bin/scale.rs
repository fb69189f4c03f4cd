//! Times a private step with Poisson batches of one expected size from few records and from many: what the
//! number of records costs.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use dp_accountant::{Budget, Relation};
use dp_examples::bench::{Failure, Stopwatch};
use dp_examples::logistic::model;
use dp_examples::program::run;
use dp_sampler::{Poisson, Seed, Subsampler, Subsampling};
use dp_vi::guides::AutoNormal;
use dp_vi::{ClipNorm, Correction, DpVi, DrawScheme, RecordWeights, Sensitive, Training};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, RecordGradient, Records, Unconstrained, trace};

/// Times a private step of a logistic regression with batches of one expected size, drawn from few records
/// and from many.
#[derive(Debug, Parser)]
#[command(name = "scale", version)]
struct ScaleArguments {
    /// Fewer records
    #[arg(long, default_value = "10000", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    few: u64,

    /// More records
    #[arg(long, default_value = "10000000", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    many: u64,

    /// Columns of numbers, stored with 32 bits each
    #[arg(long, default_value = "20", value_parser = clap::value_parser!(u16).range(1..=1000))]
    columns: u16,

    /// Expected number of records in a batch
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    batch: u64,

    /// Seconds for each measurement
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
}

fn main() -> ExitCode {
    run(scale)
}

/// Made-up people: numbers between -2 and 2 and a yes or no.
fn people(count: u64, columns: u16) -> Result<Records, Box<dyn Error>> {
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
struct Table<'r> {
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
    fn new(
        records: &'r Records,
        behind: &'r Sensitive<Records>,
        batch: u64,
        steps: u64,
    ) -> Result<Self, Box<dyn Error>> {
        let rate = (batch as f64 / records.len() as f64).min(1.0);
        let seed = || Seed::for_tests(1);
        let inference = || -> Result<_, Box<dyn Error>> {
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

    fn draw(&mut self) -> Result<(), Failure> {
        self.next += 1;
        self.sampler.draw(self.next, &mut self.drawn);
        Ok(())
    }

    fn sum(&mut self) -> ppl_core::Result<()> {
        self.next += 1;
        let batch = &self.batches[(self.next % BATCHES) as usize];
        let clip = self.clip;
        let weigh = |squared: &[f64], weights: &mut [f64]| clip.weigh(squared, weights);
        self.gradient.weighted_sum(self.records, batch, weigh, &mut self.sum)
    }
}

fn scale(arguments: ScaleArguments) -> Result<(), Box<dyn Error>> {
    let ScaleArguments { few, many, columns, batch, seconds } = arguments;
    let stopwatch = Stopwatch::new(seconds as f64);
    let records = [people(few, columns)?, people(many, columns)?];
    let behind = [0, 1].map(|k| Sensitive::new(records[k].clone()));
    let steps = stopwatch.most_repetitions();
    let mut few = Table::new(&records[0], &behind[0], batch, steps)?;
    let mut many = Table::new(&records[1], &behind[1], batch, steps)?;
    let step = stopwatch.compare([&mut || Ok(few.training.step()?), &mut || Ok(many.training.step()?)])?;
    let plain = stopwatch.compare([&mut || Ok(few.plain.step()?), &mut || Ok(many.plain.step()?)])?;
    let draw = stopwatch.compare([&mut || few.draw(), &mut || many.draw()])?;
    let sum = stopwatch.compare([&mut || Ok(few.sum()?), &mut || Ok(many.sum()?)])?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "microseconds (best of blocks), batches of {batch} expected, {columns} columns of 32 bits and one of 8"
    )?;
    let [a, b] = [records[0].len(), records[1].len()];
    writeln!(out, "{:<28} {a:>12} {b:>12} {:>8}", "records", "ratio")?;
    for (name, [few, many]) in [
        ("private step, by default", step),
        ("private step, the least", plain),
        ("draw of the batch", draw),
        ("clipped sum", sum),
    ] {
        let (few, many) = (few.best_us, many.best_us);
        writeln!(out, "{name:<28} {few:>12.2} {many:>12.2} {:>8.2}", many / few)?;
    }
    Ok(())
}
