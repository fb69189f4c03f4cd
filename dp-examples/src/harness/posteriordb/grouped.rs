//! Models with an effect for each group.

use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Distribution, Records};
use ppl_distributions::{
    Bernoulli, Binomial, Gamma, HalfCauchy, HalfNormal, ImproperUniform, InverseGamma, LogNormal, Normal,
    Poisson, Uniform,
};

use super::{AnyModel, Data, DataError, Problem};

pub(super) const NAMES: &[&str] = &[
    "eight_schools_noncentered",
    "radon_hierarchical_intercept_noncentered",
    "radon_pooled",
    "radon_partially_pooled_noncentered",
    "rats_model",
    "GLMM_Poisson_model",
    "seeds_model",
    "surgical_model",
    "irt_2pl",
    "pilots",
];

fn column(values: Vec<f64>) -> Column {
    Column::from(Array1::from(values))
}

/// From 0 on, where Stan counts from 1.
fn index(values: Vec<f64>) -> Column {
    Column::from(values.into_iter().map(|value| value as i64 - 1).collect::<Vec<i64>>())
}

fn numbers(n: usize) -> Column {
    Column::from((0..n as i64).collect::<Vec<i64>>())
}

pub(super) fn problem(name: &str, data: &Data) -> Result<Problem, DataError> {
    let of = |name: &str| data.vector(name);
    let count = |name: &str| data.number(name).map(|number| number as usize);
    match name {
        "eight_schools_noncentered" => {
            let (y, sigma) = (of("y")?, of("sigma")?);
            let schools = y.len();
            let model: AnyModel = Box::new(move |ctx| {
                let raw = ctx.sample("theta_trans", Normal::new(0.0, 1.0).iid(schools))?;
                let mu = ctx.sample("mu", Normal::new(0.0, 5.0))?;
                let tau = ctx.sample("tau", HalfCauchy::new(5.0))?;
                ctx.each_record(|ctx, record| {
                    let theta = raw.gather(record.get("school")?) * tau + mu;
                    ctx.observe("y", Normal::new(theta, record.get("sigma")?), record.get("y")?)
                })
            });
            let columns = [("school", numbers(schools)), ("sigma", column(sigma)), ("y", column(y))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "radon_hierarchical_intercept_noncentered" => {
            let counties = count("J")?;
            let model: AnyModel = Box::new(move |ctx| {
                let raw = ctx.sample("alpha_raw", Normal::new(0.0, 1.0).iid(counties))?;
                let beta = ctx.sample("beta", Normal::new(0.0, 10.0).iid(2))?;
                let mu = ctx.sample("mu_alpha", Normal::new(0.0, 10.0))?;
                let sigma_alpha = ctx.sample("sigma_alpha", HalfNormal::new(1.0))?;
                let sigma = ctx.sample("sigma_y", HalfNormal::new(1.0))?;
                ctx.each_record(|ctx, record| {
                    let alpha = mu + sigma_alpha * raw.gather(record.get("county")?);
                    let mean = alpha + record.get("x")?.dot(beta);
                    ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
                })
            });
            let (uppm, floor) = (of("log_uppm")?, of("floor_measure")?);
            let x = Array2::from_shape_fn((uppm.len(), 2), |(i, j)| if j == 0 { uppm[i] } else { floor[i] });
            let columns = [
                ("county", index(of("county_idx")?)),
                ("x", Column::from(x)),
                ("y", column(of("log_radon")?)),
            ];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "radon_pooled" => {
            let model: AnyModel = Box::new(|ctx| {
                let sigma = ctx.sample("sigma_y", HalfNormal::new(1.0))?;
                let alpha = ctx.sample("alpha", Normal::new(0.0, 10.0))?;
                let beta = ctx.sample("beta", Normal::new(0.0, 10.0))?;
                ctx.each_record(|ctx, record| {
                    let mean = alpha + beta * record.get("floor")?;
                    ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
                })
            });
            let columns = [("floor", column(of("floor_measure")?)), ("y", column(of("log_radon")?))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "radon_partially_pooled_noncentered" => {
            let counties = count("J")?;
            let model: AnyModel = Box::new(move |ctx| {
                let raw = ctx.sample("alpha_raw", Normal::new(0.0, 1.0).iid(counties))?;
                let mu = ctx.sample("mu_alpha", Normal::new(0.0, 10.0))?;
                let sigma_alpha = ctx.sample("sigma_alpha", HalfNormal::new(1.0))?;
                let sigma = ctx.sample("sigma_y", HalfNormal::new(1.0))?;
                ctx.each_record(|ctx, record| {
                    let alpha = mu + sigma_alpha * raw.gather(record.get("county")?);
                    ctx.observe("y", Normal::new(alpha, sigma), record.get("y")?)
                })
            });
            let columns = [("county", index(of("county_idx")?)), ("y", column(of("log_radon")?))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "rats_model" => {
            let (rats, xbar) = (count("N")?, data.number("xbar")?);
            let flat = || ImproperUniform::new(Constraint::Positive, ());
            let model: AnyModel = Box::new(move |ctx| {
                let mu_alpha = ctx.sample("mu_alpha", Normal::new(0.0, 100.0))?;
                let mu_beta = ctx.sample("mu_beta", Normal::new(0.0, 100.0))?;
                let sigma_alpha = ctx.sample("sigma_alpha", flat())?;
                let sigma_beta = ctx.sample("sigma_beta", flat())?;
                let sigma = ctx.sample("sigma_y", flat())?;
                let alpha = ctx.sample("alpha", Normal::new(mu_alpha, sigma_alpha).iid(rats))?;
                let beta = ctx.sample("beta", Normal::new(mu_beta, sigma_beta).iid(rats))?;
                ctx.each_record(|ctx, record| {
                    let rat = record.get("rat")?;
                    let mean = alpha.gather(rat) + beta.gather(rat) * (record.get("x")? - xbar);
                    ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
                })
            });
            let columns = [("rat", index(of("rat")?)), ("x", column(of("x")?)), ("y", column(of("y")?))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "GLMM_Poisson_model" => {
            let year = of("year")?;
            let years = year.len();
            let x = Array2::from_shape_fn((years, 3), |(i, j)| year[i].powi(j as i32 + 1));
            let model: AnyModel = Box::new(move |ctx| {
                let alpha = ctx.sample("alpha", Uniform::new(-20.0, 20.0))?;
                let beta1 = ctx.sample("beta1", Uniform::new(-10.0, 10.0))?;
                let beta2 = ctx.sample("beta2", Uniform::new(-10.0, 20.0))?;
                let beta3 = ctx.sample("beta3", Uniform::new(-10.0, 10.0))?;
                let sigma = ctx.sample("sigma", Uniform::new(0.0, 5.0))?;
                let eps = ctx.sample("eps", Normal::new(0.0, sigma).iid(years))?;
                ctx.each_record(|ctx, record| {
                    let x = record.get("x")?;
                    let log_rate = alpha
                        + beta1 * x.element(0, 0)
                        + beta2 * x.element(0, 1)
                        + beta3 * x.element(0, 2)
                        + eps.gather(record.get("year")?);
                    ctx.observe("C", Poisson::new(log_rate.exp()), record.get("C")?)
                })
            });
            let columns = [("year", numbers(years)), ("x", Column::from(x)), ("C", column(of("C")?))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "seeds_model" => {
            let plates = count("I")?;
            let (x1, x2) = (of("x1")?, of("x2")?);
            let x = Array2::from_shape_fn((plates, 3), |(i, j)| [x1[i], x2[i], x1[i] * x2[i]][j]);
            let model: AnyModel = Box::new(move |ctx| {
                let mut wide = |name: &str| ctx.sample(name, Normal::new(0.0, 1e3));
                let (a0, a1, a12, a2) = (wide("alpha0")?, wide("alpha1")?, wide("alpha12")?, wide("alpha2")?);
                let tau = ctx.sample("tau", Gamma::new(1e-3, 1e-3))?;
                let b = ctx.sample("b", Normal::new(0.0, 1.0 / tau.sqrt()).iid(plates))?;
                ctx.each_record(|ctx, record| {
                    let x = record.get("x")?;
                    let logit = a0
                        + a1 * x.element(0, 0)
                        + a2 * x.element(0, 1)
                        + a12 * x.element(0, 2)
                        + b.gather(record.get("plate")?);
                    ctx.observe("n", Binomial::from_logits(record.get("N")?, logit), record.get("n")?)
                })
            });
            let columns = [
                ("plate", numbers(plates)),
                ("x", Column::from(x)),
                ("N", column(of("N")?)),
                ("n", column(of("n")?)),
            ];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "surgical_model" => {
            let hospitals = count("N")?;
            let model: AnyModel = Box::new(move |ctx| {
                let mu = ctx.sample("mu", Normal::new(0.0, 1000.0))?;
                let variance = ctx.sample("sigmasq", InverseGamma::new(1e-3, 1e-3))?;
                let b = ctx.sample("b", Normal::new(mu, variance.sqrt()).iid(hospitals))?;
                ctx.each_record(|ctx, record| {
                    let logit = b.gather(record.get("hospital")?);
                    ctx.observe("r", Binomial::from_logits(record.get("n")?, logit), record.get("r")?)
                })
            });
            let columns =
                [("hospital", numbers(hospitals)), ("n", column(of("n")?)), ("r", column(of("r")?))];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        "irt_2pl" => {
            let (items, people) = (count("I")?, count("J")?);
            let model: AnyModel = Box::new(move |ctx| {
                let sigma_theta = ctx.sample("sigma_theta", HalfCauchy::new(2.0))?;
                let theta = ctx.sample("theta", Normal::new(0.0, sigma_theta).iid(people))?;
                let sigma_a = ctx.sample("sigma_a", HalfCauchy::new(2.0))?;
                let a = ctx.sample("a", LogNormal::new(0.0, sigma_a).iid(items))?;
                let mu_b = ctx.sample("mu_b", Normal::new(0.0, 5.0))?;
                let sigma_b = ctx.sample("sigma_b", HalfCauchy::new(2.0))?;
                let b = ctx.sample("b", Normal::new(mu_b, sigma_b).iid(items))?;
                ctx.each_record(|ctx, record| {
                    let (item, person) = (record.get("item")?, record.get("person")?);
                    let logit = a.gather(item) * (theta.gather(person) - b.gather(item));
                    ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
                })
            });
            // A list of persons for each item.
            let y = of("y")?;
            let at = |k: usize| ((k / people) as i64, (k % people) as i64);
            let columns = [
                ("item", Column::from((0..y.len()).map(|k| at(k).0).collect::<Vec<i64>>())),
                ("person", Column::from((0..y.len()).map(|k| at(k).1).collect::<Vec<i64>>())),
                ("y", column(y)),
            ];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
        _ => {
            let (groups, scenarios) = (count("n_groups")?, count("n_scenarios")?);
            let model: AnyModel = Box::new(move |ctx| {
                let (mu_a, mu_b) =
                    (ctx.sample("mu_a", Normal::new(0.0, 1.0))?, ctx.sample("mu_b", Normal::new(0.0, 1.0))?);
                let mut scale = |name: &str| ctx.sample(name, Uniform::new(0.0, 100.0));
                let (sigma_a, sigma_b, sigma) = (scale("sigma_a")?, scale("sigma_b")?, scale("sigma_y")?);
                let a = ctx.sample("a", Normal::new(10.0 * mu_a, sigma_a).iid(groups))?;
                let b = ctx.sample("b", Normal::new(10.0 * mu_b, sigma_b).iid(scenarios))?;
                ctx.each_record(|ctx, record| {
                    let mean = a.gather(record.get("group")?) + b.gather(record.get("scenario")?);
                    ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
                })
            });
            let columns = [
                ("group", index(of("group_id")?)),
                ("scenario", index(of("scenario_id")?)),
                ("y", column(of("y")?)),
            ];
            Ok(Problem { model, records: Records::from_columns(columns)? })
        }
    }
}
