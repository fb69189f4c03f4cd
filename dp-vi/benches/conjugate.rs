//! One private step of variational Bayes from noisy expected statistics: a topic model and a belief network.

use criterion::{Criterion, criterion_group, criterion_main};
use dp_accountant::{Budget, Relation};
use dp_vi::conjugate::Curvature;
use dp_vi::{ConjugateVi, Sensitive};
use ndarray::Array2;
use ppl_core::{Ctx, Distribution, Model, Records, Result};
use ppl_distributions::{Bernoulli, Dirichlet, Normal, Words};

const RECORDS: usize = 500;
const BUDGET: Budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };

fn topics(ctx: &mut Ctx) -> Result<()> {
    let words = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.01, words).iid(5))?;
    ctx.each_record(|ctx, document| {
        let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, 5))?;
        ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
    })
}

fn network(ctx: &mut Ctx) -> Result<()> {
    let pixels = ctx.records().dim("pixels")?;
    let w = ctx.sample("w", Normal::new(0.0, 1.0).iid([pixels, 10]))?;
    let c = ctx.sample("c", Normal::new(0.0, 5.0).iid(pixels))?;
    let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(10))?;
    ctx.each_record(|ctx, image| {
        let z = ctx.sample("z", Bernoulli::from_logits(b))?;
        ctx.observe("pixels", Bernoulli::from_logits(w.dot(z) + c), image.get("pixels")?)
    })
}

/// More steps than a measurement makes, so that all of them are paid for before the first.
const STEPS: u64 = 1_000_000;

fn bench(criterion: &mut Criterion, name: &str, model: impl Model, records: Records) {
    let records = Sensitive::new(records);
    let vi = ConjugateVi::new(model).budget(BUDGET).curvature(Curvature::Fixed).steps(STEPS);
    let mut training = vi.start(&records).expect("a conjugate model");
    criterion
        .bench_function(name, |bencher| bencher.iter(|| training.step().expect("a step that is paid for")));
}

fn steps(criterion: &mut Criterion) {
    let counts = Array2::from_shape_fn((RECORDS, 200), |(i, v)| {
        if (i * 31 + v * 17) % 11 < 2 { ((i + v) % 4) as u8 } else { 0 }
    });
    let counts = Records::from_columns([("counts", counts)]).expect("a column");
    bench(criterion, "topic model, 500 documents, 200 words, 5 topics", topics, counts);
    let pixels = Array2::from_shape_fn((RECORDS, 196), |(i, j)| u8::from((i * 7 + j * 13 + i * j) % 5 < 2));
    let pixels = Records::from_columns([("pixels", pixels)]).expect("a column");
    bench(criterion, "belief network, 500 images, 196 pixels, 10 hidden units", network, pixels);
}

criterion_group!(benches, steps);
criterion_main!(benches);
