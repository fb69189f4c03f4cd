//! Hierarchical logistic regression: 500 records of 5 features in 3 groups of 3 traits, batches of 50 on average.

use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records, Var};
use ppl_distributions::{Bernoulli, Normal};

use super::data::{labels, normals};
use super::inference::{Inference, ModelFunction};
use super::{Failure, Measurement, Stopwatch};

const RECORDS: usize = 500;
const WIDTH: usize = 5;
const GROUPS: usize = 3;
const TRAITS: usize = 3;
const RATE: f64 = 0.1;
const CLIP_NORM: f64 = 1.0;

/// Public traits of the groups, `g_l`.
fn traits() -> Vec<f64> {
    normals(11, GROUPS * TRAITS)
}

/// The model of section 3.3 of Prediger et al. 2022 (d3p), its group weights in the guide.
///
/// ```text
/// M_dk ~ N(0, 4²)     w_l ~ N(M g_l, I)     y_i ~ Bernoulli(1/(1 + exp(−x_i·w_{l_i})))
/// ```
///
/// # Errors
///
/// A `ppl_core::Error` where the records have not the columns of this workload.
pub fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let m = ctx.sample("M", Normal::new(0.0, 4.0).iid([WIDTH, TRAITS]))?;
    let mut weights = Vec::with_capacity(GROUPS);
    for (group, traits) in traits().chunks(TRAITS).enumerate() {
        let traits = ctx.graph().array(&Array1::from(traits.to_vec()).into_dyn());
        weights.push(ctx.sample(&format!("w_{group}"), Normal::new(m.dot(traits), 1.0))?);
    }
    ctx.each_record(|ctx, record| {
        let x = record.get("x")?;
        let mut logit: Option<Var<'_>> = None;
        for (group, &w) in weights.iter().enumerate() {
            let term = record.get(&format!("in_{group}"))? * x.dot(w);
            logit = Some(logit.map_or(term, |sum| sum + term));
        }
        let logit = logit.unwrap_or_else(|| ctx.graph().constant(0.0));
        ctx.observe("y", Bernoulli::from_logit(logit), record.get("y")?)
    })
}

/// The records: features, indicators of the groups, labels.
///
/// # Errors
///
/// None with the shapes above.
pub fn records() -> Result<Records, Failure> {
    let (x, traits) = (normals(12, RECORDS * WIDTH), traits());
    let (m, own) = (normals(13, WIDTH * TRAITS), normals(14, GROUPS * WIDTH));
    let weight = |group: usize, j: usize| {
        let shared: f64 = (0..TRAITS).map(|k| m[j * TRAITS + k] * traits[group * TRAITS + k]).sum();
        shared + own[group * WIDTH + j]
    };
    let logits: Vec<f64> =
        (0..RECORDS).map(|i| (0..WIDTH).map(|j| x[i * WIDTH + j] * weight(i % GROUPS, j)).sum()).collect();
    let y = labels(15, &logits);
    let mut columns = vec![("x".to_owned(), Column::from(Array2::from_shape_vec((RECORDS, WIDTH), x)?))];
    for group in 0..GROUPS {
        let indicator = Array1::from_shape_fn(RECORDS, |i| f64::from(u8::from(i % GROUPS == group)));
        columns.push((format!("in_{group}"), Column::from(indicator)));
    }
    columns.push(("y".to_owned(), Column::from(y)));
    Ok(Records::from_columns(columns)?)
}

/// Times the workload.
///
/// # Errors
///
/// What any of its parts finds wrong.
pub fn measure(stopwatch: &Stopwatch) -> Result<Measurement, Failure> {
    let model = model as ModelFunction;
    Inference { model, records: records()?, rate: RATE, clip_norm: CLIP_NORM }.measure(None, stopwatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::log_density;
    use std::collections::BTreeMap;

    #[test]
    fn the_likelihood_takes_each_record_to_its_group() {
        let records = records().unwrap();
        let w: Vec<Vec<f64>> = (0..GROUPS as u64).map(|group| normals(50 + group, WIDTH)).collect();
        let mut values = BTreeMap::from([(
            "M".to_owned(),
            Array2::from_shape_vec((WIDTH, TRAITS), normals(60, WIDTH * TRAITS)).unwrap().into_dyn(),
        )]);
        for (group, w) in w.iter().enumerate() {
            values.insert(format!("w_{group}"), Array1::from(w.clone()).into_dyn());
        }
        let [x, y] = [0, 1 + GROUPS].map(|k| records.column(k).as_slice::<f64>().unwrap());
        let expected: f64 = (0..RECORDS)
            .map(|i| {
                let logit: f64 = (0..WIDTH).map(|j| x[i * WIDTH + j] * w[i % GROUPS][j]).sum();
                y[i] * logit - (1.0 + logit.exp()).ln()
            })
            .sum();
        let likelihood: f64 = log_density(&model, &records, &values).unwrap().likelihood.sum();
        assert!((likelihood - expected).abs() < 1e-9 * expected.abs(), "{likelihood} against {expected}");
    }
}
