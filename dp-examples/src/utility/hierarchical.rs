//! Hierarchical logistic regression: groups of records whose weights have a prior in common.

use std::path::Path;

use dp_sampler::Seed;
use dp_vi::guides::AutoNormal;
use dp_vi::{Clipping, Correction, DpVi, RecordWeights, Sensitive};
use ndarray::Array2;
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::{Bernoulli, Normal};

use super::files::{columns, features_and_labels, indices, others};
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::split::area_under_curve;
use crate::table::Table;

/// With a few hundred records and a metric of ranks only the direction of the weights counts: a small norm,
/// clipped to.
const CLIP_NORM: f64 = 1.0;

/// The model of section 3.3 of Prediger et al. 2022 (d3p), its group weights in the guide and centred.
///
/// ```text
/// M_dk ~ N(0, 1)     w_l ~ N(M g_l, I)     y_i ~ Bernoulli(1/(1 + exp(−x_i·w_{l_i})))
/// ```
///
/// # Errors
///
/// A `ppl_core::Error` where the records have not the columns `x`, `group` and `y`.
pub fn model(traits: &Array2<f64>) -> impl Fn(&mut Ctx<'_>) -> ppl_core::Result<()> + use<> {
    let traits = traits.clone();
    move |ctx: &mut Ctx<'_>| {
        let d = ctx.records().dim("x")?;
        let m = ctx.sample("M", Normal::new(0.0, 1.0).iid([d, traits.ncols()]))?;
        let traits = ctx.graph().array(&traits.clone().into_dyn());
        let w = ctx.sample("w", Normal::new(traits.matmul(m.transpose()), 1.0))?;
        ctx.each_record(|ctx, record| {
            let logit = record.get("x")?.dot(w.gather(record.index("group")?));
            ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
        })
    }
}

/// Fits the training file, ranks the records of the test file by their probability, and measures the area
/// under the curve.
///
/// `groups` holds the public traits of each group, a row for each; both other files have features, `group`
/// and `y`. Its settings are the defaults but for flat clipping to norm 1 without a correction.
///
/// # Errors
///
/// What is wrong with the files, or a fit that fails.
pub fn measure(train: &Path, test: &Path, groups: &Path, protocol: &Protocol) -> Result<Outcome, Failure> {
    let groups = Table::read(groups)?;
    let traits = columns(&groups, &others(&groups, &[]))?;
    let (table, x, y) = features_and_labels(train, &["group"])?;
    let group = indices(&table, "group", traits.nrows())?;
    let (test_table, test_x, test_y) = features_and_labels(test, &["group"])?;
    let test_group = indices(&test_table, "group", traits.nrows())?;
    if test_x.ncols() != x.ncols() {
        let (name, found, expected) = (test_table.name(), test_x.ncols(), x.ncols());
        return Err(
            format!("{name}: {found} columns of features, but the training file has {expected}").into()
        );
    }
    let test_y = test_y.to_vec();
    if area_under_curve(&vec![0.0; test_y.len()], &test_y).is_none() {
        return Err(format!(
            "{}: all records have the same label, so there is nothing to rank",
            test_table.name()
        )
        .into());
    }
    let records = Sensitive::new(Records::from_columns([
        ("x", Column::from(x)),
        ("group", Column::from(group)),
        ("y", Column::from(y)),
    ])?);
    protocol.measure("auc", |seed| {
        let fit = DpVi::new(model(&traits), AutoNormal::new())
            .budget(protocol.budget())
            .gradients(protocol.gradients)
            .clip_norm(CLIP_NORM)
            .clipping(Clipping::Flat)
            .weights(RecordWeights::None)
            .correction(Correction::None)
            .seed(Seed::for_tests(seed))
            .fit(&records)?;
        let w = fit.posterior().mean("w")?;
        let scores: Vec<f64> = test_x
            .rows()
            .into_iter()
            .zip(&test_group)
            .map(|(x, &group)| x.iter().enumerate().map(|(j, x)| x * w[[group as usize, j]]).sum())
            .collect();
        let area = area_under_curve(&scores, &test_y).ok_or("nothing to rank")?;
        RunOutcome::new(area, fit.privacy())
    })
}
