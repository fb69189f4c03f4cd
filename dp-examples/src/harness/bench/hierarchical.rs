//! Hierarchical logistic regression: 500 records of 5 features in 3 groups of 3 traits, batches of 50 on
//! average.

use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Error, Records};
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
    let traits = Array2::from_shape_vec((GROUPS, TRAITS), traits())
        .map_err(|error| Error::Values(error.to_string()))?;
    let traits = ctx.graph().array(&traits.into_dyn());
    let w = ctx.sample("w", Normal::new(traits.matmul(m.transpose()), 1.0))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w.gather(record.index("group")?));
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

/// The records: features, groups, labels.
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
    let x = Array2::from_shape_vec((RECORDS, WIDTH), x)?;
    let group = Array1::from_shape_fn(RECORDS, |i| (i % GROUPS) as u8);
    Ok(Records::from_columns([
        ("x", Column::from(x)),
        ("group", Column::from(group)),
        ("y", Column::from(y)),
    ])?)
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
        let values = BTreeMap::from([
            (
                "M".to_owned(),
                Array2::from_shape_vec((WIDTH, TRAITS), normals(60, WIDTH * TRAITS)).unwrap().into_dyn(),
            ),
            ("w".to_owned(), Array2::from_shape_fn((GROUPS, WIDTH), |(group, j)| w[group][j]).into_dyn()),
        ]);
        let [x, y] = [0, 2].map(|k| records.column(k).as_slice::<f64>().unwrap());
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
