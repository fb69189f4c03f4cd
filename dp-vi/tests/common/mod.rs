//! What tests share.
#![allow(dead_code, reason = "each program uses its part")]

use dp_accountant::{Budget, Relation};
use dp_sampler::Poisson;
use dp_vi::guides::AutoNormal;
use dp_vi::{DpVi, Fit, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records, Result};
use ppl_distributions::{Bernoulli, Normal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const STEPS: u64 = 60;
pub(crate) const BUDGET: Budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };

pub(crate) fn logistic(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    })
}

/// The same with a prior of half the width.
pub(crate) fn logistic_near_zero(ctx: &mut Ctx) -> Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(ctx.records().dim("x")?))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    })
}

/// The mean of one number of each record.
pub(crate) fn location(ctx: &mut Ctx) -> Result<()> {
    let m = ctx.sample("m", Normal::new(0.0, 10.0))?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(m, 1.0), record.get("y")?))
}

pub(crate) fn budget(epsilon: f64, relation: Relation) -> Budget {
    Budget { epsilon, delta: BUDGET.delta, relation }
}

/// Columns of made-up people; `changed` alters one number in one of them.
pub(crate) fn people(count: usize, changed: bool) -> Sensitive<Records> {
    let mut x =
        Array2::from_shape_fn((count, 3), |(i, j)| ((i * 7919 + j * 104_729) % 4001) as f64 / 1000.0 - 2.0);
    if changed {
        x[[count / 2, 1]] += 1e-9;
    }
    let y = Array1::from_shape_fn(count, |i| f64::from((i * 31) % 7 < 3));
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// A reproducible number in (0, 1), good enough to make data with.
fn uniform(k: u64) -> f64 {
    let mut z = k.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z = (z ^ (z >> 29)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (((z ^ (z >> 32)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Another one in [0, 1), by a shorter recipe.
pub(crate) fn fraction(k: usize) -> f64 {
    let mut z = (k as u64).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 29)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A data set of a logistic regression with these weights, its features uniform in a square, so that no
/// record is much longer than the clip norm.
pub(crate) fn in_a_square(set: usize, count: usize, truth: [f64; 2]) -> Sensitive<Records> {
    let at = |i: usize, j: usize| uniform(((set * count + i) * 3 + j) as u64);
    let x = Array2::from_shape_fn((count, 2), |(i, j)| 4.0 * at(i, j) - 2.0);
    let y = Array1::from_shape_fn(count, |i| {
        let logit: f64 = (0..2).map(|j| x[[i, j]] * truth[j]).sum();
        f64::from(at(i, 2) < 1.0 / (1.0 + (-logit).exp()))
    });
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// A model as a function.
pub(crate) type Written = fn(&mut Ctx) -> Result<()>;

pub(crate) type Run = DpVi<Written, AutoNormal, Poisson>;

/// The run that all tests make, interrupt and resume.
pub(crate) fn run() -> Run {
    DpVi::new(logistic as Written, AutoNormal::new())
        .budget(BUDGET)
        .subsample(Poisson::rate(0.2).unwrap())
        .steps(STEPS)
}

/// Every bit of what was found.
pub(crate) fn bits(fit: &Fit) -> Vec<u64> {
    let posterior = fit.posterior();
    let (mean, sd) = (posterior.mean("w").unwrap(), posterior.sd("w").unwrap());
    mean.iter().chain(&sd).map(|x| x.to_bits()).collect()
}

/// A folder of its own that goes when the test is over.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("dp-vi-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
