//! What unit tests share: made-up numbers, a model with sites of every kind, records for it, and settings.

use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::programs::Options;
use crate::objective::weights::RecordWeights;
use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Ctx, Distribution, Records, Result};
use ppl_distributions::{Bernoulli, HalfNormal, Normal};
use std::collections::BTreeMap;

/// The `k`-th of the made-up numbers in (−1, 1).
pub(crate) fn number(k: usize) -> f64 {
    ((k as f64 * 78.233 + 1.7).sin() * 43_758.545_3).fract()
}

/// Sites of every kind: mapped, in another's prior, touched by records and not, and a parameter.
pub(crate) fn model(ctx: &mut Ctx) -> Result<()> {
    let spread = ctx.sample("spread", HalfNormal::new(2.0))?;
    let w = ctx.sample("w", Normal::new(0.0, spread).iid(2))?;
    let slope = ctx.param("slope", 1.5, Constraint::Positive)?;
    let noise = ctx.sample("noise", HalfNormal::new(1.0))?;
    ctx.each_record(|ctx, record| {
        let fit = record.get("x")?.dot(w) * slope;
        ctx.observe("y", Normal::new(fit, noise), record.get("y")?)?;
        ctx.observe("z", Bernoulli::from_logits(fit), record.get("z")?)
    })
}

/// Two features `x`, a number `y` and an outcome `z` of each record.
pub(crate) fn records(count: usize) -> Records {
    Records::from_columns([
        ("x", Column::from(Array2::from_shape_fn((count, 2), |(i, j)| number(2 * i + j)))),
        ("y", Column::from(Array1::from_shape_fn(count, |i| number(i + 50)))),
        ("z", Column::from(Array1::from_shape_fn(count, |i| f64::from(number(i + 90) > 0.0)))),
    ])
    .unwrap()
}

/// One draw, no weights, nothing besides.
pub(crate) fn options() -> Options<'static> {
    Options {
        by_scores: true,
        draws: DrawScheme::Single,
        weights: &RecordWeights::None,
        residual_bound: 1.0,
        gradients: Gradients::Aligned,
        stated_records: 1.0,
        clip_norm: 1.0,
        per_site: false,
        curvature: None,
        trace: false,
        initial: BTreeMap::new(),
        coordinates: None,
    }
}
