//! Exact posteriors of models over finitely many joint values.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ppl_core::finite::posterior;
use ppl_core::strategies::models::Normal;
use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Var};
use std::hint::black_box;

/// One of some numbers, all equally likely.
struct Uniform(u32);

impl<'g> Distribution<'g> for Uniform {
    fn name(&self) -> &'static str {
        "Uniform"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }
    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, f64::from(self.0) - 1.0)
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        0.0 * x - f64::from(self.0).ln()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        Ok((noise.draw(NoiseKind::Uniform, prefix.clone())? * f64::from(self.0)).floor())
    }
}

/// Six slopes of ten values each: a logistic regression on six yes-or-no answers, so 128 records differ.
fn answers(ctx: &mut Ctx<'_>) -> Result<()> {
    let slopes = ctx.sample("slopes", Uniform(10).iid(6))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot((slopes - 4.5) * 0.5);
        let y = record.get("y")?;
        ctx.factor("likelihood", y * logit - logit.softplus())
    })
}

/// A mean and a precision of 1,000 values each, of records that are all different.
fn measurements(ctx: &mut Ctx<'_>) -> Result<()> {
    let (mean, scale) = (ctx.sample("mean", Uniform(1000))?, ctx.sample("scale", Uniform(1000))?);
    ctx.each_record(|ctx, record| {
        ctx.observe("x", Normal::new(mean * 0.01 - 5.0, (scale + 1.0) * 0.01), record.get("x")?)
    })
}

fn posteriors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("posterior over a million joint values");
    group.sample_size(10);
    let bit = |record: usize, k: usize| ((record.wrapping_mul(0x9e37_79b9) >> (8 + k)) & 1) as f64;
    for count in [100, 10_000_usize] {
        let x = ndarray::Array2::from_shape_fn((count, 6), |(record, k)| bit(record, k));
        let y = ndarray::Array1::from_shape_fn(count, |record| bit(record, 7));
        let records =
            Records::from_columns([("x", x.into_dyn()), ("y", y.into_dyn())]).expect("columns of one length");
        group.throughput(Throughput::Elements(1_000_000 * count as u64));
        group.bench_with_input(BenchmarkId::new("yes-or-no answers", count), &records, |bencher, records| {
            bencher.iter(|| posterior(&answers, black_box(records)).expect("a posterior"));
        });
    }
    for count in [100, 10_000_usize] {
        let x: Vec<f64> = (0..count).map(|record| (record as f64 * 0.618).fract() * 4.0 - 2.0).collect();
        let records = Records::from_columns([("x", x)]).expect("one column");
        group.throughput(Throughput::Elements(1_000_000 * count as u64));
        group.bench_with_input(BenchmarkId::new("measurements", count), &records, |bencher, records| {
            bencher.iter(|| posterior(&measurements, black_box(records)).expect("a posterior"));
        });
    }
    group.finish();
}

criterion_group!(benches, posteriors);
criterion_main!(benches);
