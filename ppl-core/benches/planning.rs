//! From a model with many sites to a plan that can be run: what a program waits for before its first step.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ppl_core::strategies::models::Normal;
use ppl_core::{
    Ctx, ExecutionPlan, Graph, Program, Record, RecordGradient, Result, Schema, Unconstrained, Var, gradient,
    trace,
};
use std::hint::black_box;

fn schema() -> Schema {
    Schema::new([("x", ()), ("y", ())]).expect("two columns")
}

/// A random walk, a site for each of its steps: traced, its log density differentiated by all sites, and
/// planned. Each step takes some 16 nodes.
fn walk(schema: &Schema, steps: usize) -> Result<ExecutionPlan<f64>> {
    let model = |ctx: &mut Ctx<'_>| {
        let mut z = ctx.sample("z0", Normal::new(0.0, 1.0))?;
        for t in 1..steps {
            z = ctx.sample(&format!("z{t}"), Normal::new(0.9 * z, 0.5))?;
        }
        Ok(())
    };
    let graph = Graph::new();
    let trace = trace(&model, &graph, schema, Unconstrained)?;
    let density = trace.log_prior() + trace.log_jacobian();
    let sites: Vec<Var<'_>> = trace.latents().map(|site| site.value).collect();
    let slopes = gradient(density, &sites)?;
    let outputs: Vec<Var<'_>> = std::iter::once(density).chain(slopes).collect();
    Ok(ExecutionPlan::new(&Program::new(&graph, &outputs)?))
}

/// A chain of values for each record, and its clipped gradients by the two arrays that all links share. Each
/// link takes some 10 nodes.
fn links(schema: &Schema, links: usize) -> Result<RecordGradient<f64>> {
    let graph = Graph::new();
    let (w, b) = (graph.input("w", ())?, graph.input("b", ())?);
    let mut h = Record::new(&graph, schema).get("x")?;
    for _ in 0..links {
        h = (w * h + b).tanh();
    }
    RecordGradient::new(h, &[w, b])
}

fn planning(criterion: &mut Criterion) {
    let schema = schema();
    let mut group = criterion.benchmark_group("from model to plan");
    group.sample_size(10);
    // A log density of some tens of sites, of hundreds and of thousands.
    for steps in [40, 625, 6_250] {
        group.throughput(Throughput::Elements(steps as u64));
        group.bench_with_input(BenchmarkId::new("random walk", steps), &steps, |bencher, &steps| {
            bencher.iter(|| walk(&schema, black_box(steps)).expect("a model without mistakes"));
        });
    }
    for count in [1_000, 10_000] {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::new("links of each record", count), &count, |bencher, &count| {
            bencher.iter(|| links(&schema, black_box(count)).expect("a value for each record"));
        });
    }
    group.finish();
}

criterion_group!(benches, planning);
criterion_main!(benches);
