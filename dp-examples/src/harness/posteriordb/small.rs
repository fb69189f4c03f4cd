//! Models with few values that are no regressions.

use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Distribution, Records};
use ppl_distributions::{
    Bernoulli, Beta, Binomial, Categorical, HalfNormal, ImproperUniform, Mixture, Normal, Poisson, Uniform,
};

use super::{AnyModel, Data, DataError, Problem};

pub(super) const NAMES: &[&str] =
    &["low_dim_gauss_mix", "dogs", "M0_model", "GLM_Poisson_model", "GLM_Binomial_model"];

fn column(values: Vec<f64>) -> Column {
    Column::from(Array1::from(values))
}

pub(super) fn problem(name: &str, data: &Data) -> Result<Problem, DataError> {
    match name {
        "low_dim_gauss_mix" => {
            let model: AnyModel = Box::new(|ctx| {
                let sigma = ctx.sample("sigma", HalfNormal::new(2.0).iid(2))?;
                let mu = ctx.sample("mu", ImproperUniform::new(Constraint::Ordered, 2))?;
                ctx.factor("prior of mu", (mu * mu).sum() / -8.0)?;
                let theta = ctx.sample("theta", Beta::new(5.0, 5.0))?;
                let graph = ctx.graph();
                let weights = graph.stack(&[theta, 1.0 - theta], 0);
                ctx.each_record(|ctx, record| {
                    let component = |k: usize| Normal::new(mu.element(0, k), sigma.element(0, k));
                    let law =
                        Mixture::new(Categorical::from_probs(weights)).of(component(0)).of(component(1));
                    ctx.observe("y", law, record.get("y")?)
                })
            });
            Ok(Problem { model, records: Records::from_columns([("y", column(data.vector("y")?))])? })
        }
        "dogs" => {
            let (y, trials) = data.rows("y")?;
            let (mut shocks, mut avoided) = (0.0, 0.0);
            let mut x = Array2::zeros((y.len(), 3));
            for (k, shocked) in y.iter().enumerate() {
                if k % trials == 0 {
                    (shocks, avoided) = (0.0, 0.0);
                }
                x.row_mut(k).assign(&ndarray::arr1(&[1.0, avoided, shocks]));
                avoided += 1.0 - shocked;
                shocks += shocked;
            }
            let model: AnyModel = Box::new(|ctx| {
                let beta = ctx.sample("beta", Normal::new(0.0, 100.0).iid(3))?;
                ctx.each_record(|ctx, record| {
                    ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(beta)), record.get("y")?)
                })
            });
            Ok(Problem { model, records: Records::from_columns([("x", Column::from(x)), ("y", column(y))])? })
        }
        "M0_model" => {
            let (y, occasions) = data.rows("y")?;
            let caught = y.chunks(occasions).map(|row| row.iter().sum()).collect();
            let model: AnyModel = Box::new(move |ctx| {
                let omega = ctx.sample("omega", Uniform::new(0.0, 1.0))?;
                let p = ctx.sample("p", Uniform::new(0.0, 1.0))?;
                let graph = ctx.graph();
                let weights = graph.stack(&[omega, 1.0 - omega], 0);
                ctx.each_record(|ctx, record| {
                    // An animal that is there, or one that is not and is never caught.
                    let there = Binomial::from_probs(occasions as f64, p);
                    let absent = Binomial::from_probs(occasions as f64, 0.0);
                    let law = Mixture::new(Categorical::from_probs(weights)).of(there).of(absent);
                    ctx.observe("s", law, record.get("s")?)
                })
            });
            Ok(Problem { model, records: Records::from_columns([("s", column(caught))])? })
        }
        "GLM_Poisson_model" => {
            let year = data.vector("year")?;
            let x = Array2::from_shape_fn((year.len(), 3), |(i, j)| year[i].powi(j as i32 + 1));
            let model: AnyModel = Box::new(|ctx| {
                let alpha = ctx.sample("alpha", Uniform::new(-20.0, 20.0))?;
                let mut slope = |name: &str| ctx.sample(name, Uniform::new(-10.0, 10.0));
                let (b1, b2, b3) = (slope("beta1")?, slope("beta2")?, slope("beta3")?);
                ctx.each_record(|ctx, record| {
                    let x = record.get("x")?;
                    let log_rate = alpha + b1 * x.element(0, 0) + b2 * x.element(0, 1) + b3 * x.element(0, 2);
                    ctx.observe("C", Poisson::new(log_rate.exp()), record.get("C")?)
                })
            });
            let columns = [("x", Column::from(x)), ("C", column(data.vector("C")?))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        _ => {
            let model: AnyModel = Box::new(|ctx| {
                let mut wide = |name: &str| ctx.sample(name, Normal::new(0.0, 100.0));
                let (alpha, b1, b2) = (wide("alpha")?, wide("beta1")?, wide("beta2")?);
                ctx.each_record(|ctx, record| {
                    let year = record.get("year")?;
                    let logit = alpha + b1 * year + b2 * year * year;
                    ctx.observe("C", Binomial::from_logits(record.get("N")?, logit), record.get("C")?)
                })
            });
            let columns = [
                ("year", column(data.vector("year")?)),
                ("N", column(data.vector("N")?)),
                ("C", column(data.vector("C")?)),
            ];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
    }
}
