//! Fits without noise against exact posteriors, the bound on the evidence, and audits of the noise.

mod belief;
mod exact;
mod hostile;
mod input;
mod mechanism;
mod points;
mod runs;

use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records, Result};
use ppl_distributions::{Bernoulli, Categorical, Dirichlet, Gamma, Normal, Words};

/// A few numbers that look random, between −½ and ½.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
        .collect()
}

fn mixture(ctx: &mut Ctx) -> Result<()> {
    let pi = ctx.sample("pi", Dirichlet::symmetric(1.0, 3))?;
    let mu = ctx.sample("mu", Normal::new(0.0, 3.0).iid([3, 2]))?;
    ctx.each_record(|ctx, r| {
        ctx.enumerate("z", Categorical::from_probs(pi), |ctx, z| {
            ctx.observe("x", Normal::new(mu.gather(z), 0.7), r.get("x")?)
        })
    })
}

fn logistic(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w);
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

fn lda(ctx: &mut Ctx) -> Result<()> {
    let v = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, v).iid(3))?;
    ctx.each_record(|ctx, document| {
        let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, 3))?;
        ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
    })
}

/// With a concentration above 1, so that a document's own factor has one optimum.
fn mixed_documents(ctx: &mut Ctx) -> Result<()> {
    let v = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, v).iid(3))?;
    ctx.each_record(|ctx, document| {
        let theta = ctx.sample("theta", Dirichlet::symmetric(2.0, 3))?;
        ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
    })
}

fn precision(ctx: &mut Ctx) -> Result<()> {
    let mu = ctx.sample("mu", Normal::new(0.0, 10.0))?;
    let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
    ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(mu, tau.sqrt().reciprocal()), r.get("x")?))
}

fn hierarchical(ctx: &mut Ctx) -> Result<()> {
    let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
    let w = ctx.sample("w", Normal::new(0.0, tau.sqrt().reciprocal()).iid(2))?;
    ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_logits(r.get("x")?.dot(w)), r.get("y")?))
}

fn sbn(ctx: &mut Ctx) -> Result<()> {
    let (w, c) =
        (ctx.sample("w", Normal::new(0.0, 1.0).iid([6, 2]))?, ctx.sample("c", Normal::new(0.0, 5.0).iid(6))?);
    let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(2))?;
    ctx.each_record(|ctx, image| {
        let z = ctx.sample("z", Bernoulli::from_logits(b))?;
        ctx.observe("pixels", Bernoulli::from_logits(w.dot(z) + c), image.get("pixels")?)
    })
}

fn points() -> Records {
    let x = Array2::from_shape_fn((60, 2), |(i, j)| ((i % 3) as f64 - 1.0) * 3.0 * (j as f64 - 0.3));
    Records::from_columns([("x", x + Array2::from_shape_vec((60, 2), numbers(120, 1)).unwrap())]).unwrap()
}

fn binary(n: usize, d: usize) -> Records {
    let x = Array2::from_shape_vec((n, d), numbers(n * d, 3)).unwrap() * 2.0;
    let y = x.rows().into_iter().zip(numbers(n, 4));
    let y: Array1<f64> = y.map(|(x, u)| f64::from(x[0] - 0.2 * x[1] > 2.0 * u)).collect();
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

fn documents() -> Records {
    let counts =
        Array2::from_shape_fn((30, 8), |(i, v)| if i % 3 == v % 3 { (3 + (i * v) % 5) as u16 } else { 0 });
    Records::from_columns([("counts", counts)]).unwrap()
}

fn images() -> Records {
    let pixels =
        Array2::from_shape_fn((40, 6), |(i, j)| u8::from((i % 2 == 0) == (j < 3) && (i + j) % 5 != 0));
    Records::from_columns([("pixels", pixels)]).unwrap()
}
