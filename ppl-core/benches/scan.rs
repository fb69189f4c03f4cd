//! Loops with a carried state: the forward algorithm of a hidden Markov model, planned and run, with its
//! gradient; over one long public sequence, and over a short one of each record.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ndarray::Array2;
use ppl_core::{
    ExecutionPlan, Graph, Program, Record, RecordGradient, Records, Result, Var, value_and_gradient,
};
use std::hint::black_box;

const STATES: usize = 4;

/// `ln p(y)` for normal observations around the states' means.
fn forward<'g>(means: Var<'g>, transition: Var<'g>, y: Var<'g>) -> Result<Var<'g>> {
    let table = transition.log_softmax(1);
    let start = means.constant(-(STATES as f64).ln()).broadcast_to(STATES);
    let (last, ()) = means.graph().scan(start, y, |before, y| {
        let after = (before.reshape([STATES, 1]) + table).log_sum_exp_axis(0);
        Ok((after - 0.5 * (y - means).square(), ()))
    })?;
    Ok(last.log_sum_exp())
}

/// One sequence of public data, planned.
fn planned(steps: usize) -> Result<ExecutionPlan<f64>> {
    let graph = Graph::new();
    let (means, transition) = (graph.input("means", STATES)?, graph.input("transition", [STATES, STATES])?);
    let (value, slopes) =
        value_and_gradient(forward(means, transition, graph.input("y", steps)?)?, &[means, transition])?;
    Ok(ExecutionPlan::new(&Program::new(&graph, &[value, slopes[0], slopes[1]])?))
}

fn number(k: usize) -> f64 {
    (k as f64 * 0.754_877_666).fract() * 4.0 - 2.0
}

fn one_sequence(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hidden Markov model");
    group.sample_size(10);
    for steps in [1_000, 100_000] {
        group.throughput(Throughput::Elements(steps as u64));
        group.bench_with_input(BenchmarkId::new("plan", steps), &steps, |bencher, &steps| {
            bencher.iter(|| planned(black_box(steps)).expect("a loop without mistakes"));
        });
        let mut plan = planned(steps).expect("a loop without mistakes");
        plan.set("y", &(0..steps).map(number).collect::<Vec<_>>()).expect("as many as there are steps");
        plan.set("means", &[-1.0, 0.0, 0.5, 2.0]).expect("a number for each state");
        group.bench_function(BenchmarkId::new("value and gradient", steps), |bencher| {
            bencher.iter(|| plan.run());
        });
    }
    group.finish();
}

fn of_records(criterion: &mut Criterion) {
    let (records, steps) = (1_000, 50);
    let y = Array2::from_shape_fn((records, steps), |(i, t)| number(steps * i + t));
    let data = Records::from_columns([("y", y)]).expect("one column");
    let graph = Graph::new();
    let means = graph.input("means", STATES).expect("a new name");
    let transition = graph.input("transition", [STATES, STATES]).expect("a new name");
    let y = Record::new(&graph, data.schema()).get("y").expect("the column");
    let value = forward(means, transition, y).expect("a loop without mistakes");
    let mut gradient = RecordGradient::<f32>::new(value, &[means, transition]).expect("two shared arrays");
    gradient.set("means", &[-1.0, 0.0, 0.5, 2.0]).expect("a number for each state");
    let batch: Vec<u64> = (0..records as u64).collect();
    let mut sums = vec![0.0; gradient.dimension()];
    let clip = |norms: &[f32], weights: &mut [f32]| {
        weights.iter_mut().zip(norms).for_each(|(weight, norm)| *weight = (1.0 / norm.sqrt()).min(1.0));
    };
    let mut group = criterion.benchmark_group("hidden Markov model of each record");
    group.throughput(Throughput::Elements((records * steps) as u64));
    group.bench_function("clipped gradients", |bencher| {
        bencher.iter(|| gradient.weighted_sum(&data, &batch, clip, &mut sums).expect("records that fit"));
    });
    group.finish();
}

criterion_group!(benches, one_sequence, of_records);
criterion_main!(benches);
