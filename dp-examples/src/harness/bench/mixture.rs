//! A Gaussian mixture: 2,000 points of the plane, 5 spherical components, batches of 200 on average.

use ndarray::Array2;
use ppl_core::{
    Column, Constraint, Ctx, Distribution, Error, Noise, Parameter, Records, Result as CoreResult, Shape, Var,
};
use ppl_distributions::{HalfNormal, Normal};

use super::data::normals;
use super::inference::{Inference, ModelFunction};
use super::{Failure, Measurement, Stopwatch};

const RECORDS: usize = 2_000;
const COMPONENTS: usize = 5;
const WIDTH: usize = 2;
const RATE: f64 = 0.1;
const CLIP_NORM: f64 = 1.0;
const CENTRES: [[f64; WIDTH]; COMPONENTS] = [[0.0, 0.0], [2.0, 2.0], [2.0, -2.0], [-2.0, 2.0], [-2.0, -2.0]];

/// `ln 2π`, of two dimensions together.
const LOG_2PI: f64 = 1.837_877_066_409_345_5;

/// `ln p(x) = ln Σ_j softmax(logits)_j N(x; locs_j, scales_j² I)` in the plane.
struct Mixture<'g> {
    logits: Var<'g>,
    locs: Var<'g>,
    scales: Var<'g>,
}

impl<'g> Distribution<'g> for Mixture<'g> {
    fn name(&self) -> &'static str {
        "Mixture"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "scales", value: self.scales.into(), domain: Constraint::Positive }]
    }

    fn batch_shape(&self) -> CoreResult<Shape> {
        Ok(Shape::scalar())
    }

    fn event_shape(&self) -> Shape {
        WIDTH.into()
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        // ln s and 1/s² are shared, so they are computed once a step.
        let log_scales = self.scales.log();
        let squared = (x.broadcast_to([COMPONENTS, WIDTH]) - self.locs).square().sum_axis(1);
        let terms = self.logits - WIDTH as f64 * log_scales - 0.5 * (-2.0 * log_scales).exp() * squared;
        terms.log_sum_exp() - self.logits.log_sum_exp() - LOG_2PI
    }

    fn draw(&self, _prefix: &Shape, _noise: &mut Noise<'g>) -> CoreResult<Var<'g>> {
        Err(Error::Unsupported("draws from this mixture".to_owned()))
    }
}

/// The model.
///
/// ```text
/// a_j ~ N(0, 1)   μ_j ~ N(0, 10² I)   s_j ~ HalfNormal(2)   x_i ~ Σ_j softmax(a)_j N(μ_j, s_j² I)
/// ```
///
/// # Errors
///
/// A `ppl_core::Error` where the records have no column `x` of points.
pub fn model(ctx: &mut Ctx) -> CoreResult<()> {
    let logits = ctx.sample("logits", Normal::new(0.0, 1.0).iid(COMPONENTS))?;
    let locs = ctx.sample("locs", Normal::new(0.0, 10.0).iid([COMPONENTS, WIDTH]))?;
    let scales = ctx.sample("scales", HalfNormal::new(2.0).iid(COMPONENTS))?;
    ctx.each_record(|ctx, record| ctx.observe("x", Mixture { logits, locs, scales }, record.get("x")?))
}

/// The records: as many points around each centre, variance ½.
///
/// # Errors
///
/// None with the shapes above.
pub fn records() -> Result<Records, Failure> {
    let z = normals(21, RECORDS * WIDTH);
    let x = Array2::from_shape_fn((RECORDS, WIDTH), |(i, j)| {
        CENTRES[i % COMPONENTS][j] + 0.5_f64.sqrt() * z[i * WIDTH + j]
    });
    Ok(Records::from_columns([("x", Column::from(x))])?)
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
    use ndarray::Array1;
    use ppl_core::log_density;
    use std::collections::BTreeMap;

    #[test]
    fn the_likelihood_is_the_density_of_the_mixture() {
        let records = records().unwrap();
        let (logits, scales) = ([0.3, -0.2, 0.0, 0.9, -1.0_f64], [0.5, 0.8, 1.0, 0.7, 2.0]);
        let centres = Array2::from_shape_fn((COMPONENTS, WIDTH), |(i, j)| CENTRES[i][j]);
        let values = BTreeMap::from([
            ("logits".to_owned(), Array1::from(logits.to_vec()).into_dyn()),
            ("locs".to_owned(), centres.into_dyn()),
            ("scales".to_owned(), Array1::from(scales.to_vec()).into_dyn()),
        ]);
        let weight: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let density = |x: &[f64]| -> f64 {
            (0..COMPONENTS)
                .map(|j| {
                    let squared: f64 = x.iter().zip(CENTRES[j]).map(|(x, c)| (x - c) * (x - c)).sum();
                    let variance = scales[j] * scales[j];
                    let normal =
                        (-squared / (2.0 * variance)).exp() / (2.0 * std::f64::consts::PI * variance);
                    logits[j].exp() / weight * normal
                })
                .sum()
        };
        let expected: f64 =
            records.column(0).as_slice::<f64>().unwrap().chunks(WIDTH).map(|x| density(x).ln()).sum();
        let likelihood: f64 = log_density(&model, &records, &values).unwrap().likelihood.sum();
        assert!((likelihood - expected).abs() < 1e-9 * expected.abs(), "{likelihood} against {expected}");
    }
}
