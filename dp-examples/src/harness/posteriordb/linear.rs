//! Linear and logistic regressions, and what is one of them after a look at the data.

use ndarray::Array2;
use ppl_core::{Column, Constraint, Ctx, Distribution, Records, Var};
use ppl_distributions::{Bernoulli, HalfCauchy, HalfNormal, ImproperUniform, Normal, StudentT};

use super::data::{mean, sd};
use super::{AnyModel, Data, DataError, Problem};

pub(super) const NAMES: &[&str] = &[
    "earn_height",
    "logearn_height",
    "log10earn_height",
    "logearn_height_male",
    "logearn_logheight_male",
    "logearn_interaction",
    "logearn_interaction_z",
    "kidscore_momhs",
    "kidscore_momiq",
    "kidscore_momhsiq",
    "kidscore_interaction",
    "kidscore_interaction_c",
    "kidscore_interaction_c2",
    "kidscore_interaction_z",
    "kidscore_mom_work",
    "mesquite",
    "logmesquite",
    "logmesquite_logvolume",
    "logmesquite_logva",
    "logmesquite_logvas",
    "logmesquite_logvash",
    "nes",
    "blr",
    "diamonds",
    "kilpisjarvi",
    "arK",
    "sesame_one_pred_a",
    "wells_dist",
    "wells_dist100_model",
    "wells_dist100ars_model",
    "wells_interaction_model",
    "wells_interaction_c_model",
    "wells_dae_model",
    "wells_dae_c_model",
    "wells_daae_c_model",
    "wells_dae_inter_model",
    "nes_logit_model",
];

/// Columns of a design, to which functions add.
#[derive(Default)]
struct Columns(Vec<Vec<f64>>);

impl Columns {
    fn one(mut self, column: Vec<f64>) -> Self {
        self.0.push(column);
        self
    }

    fn intercept(self, n: usize) -> Self {
        self.one(vec![1.0; n])
    }

    fn records(self, y: Vec<f64>) -> Result<Records, DataError> {
        let x = Array2::from_shape_fn((y.len(), self.0.len()), |(i, j)| self.0[j][i]);
        Ok(Records::from_columns([("x", Column::from(x)), ("y", Column::from(ndarray::Array1::from(y)))])?)
    }
}

fn map(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|x| f(*x)).collect()
}

fn times(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x * y).collect()
}

fn centred(x: &[f64]) -> Vec<f64> {
    let centre = mean(x);
    map(x, |x| x - centre)
}

/// What a regression's scale has for a prior.
#[derive(Clone, Copy)]
enum Scale {
    Flat,
    Cauchy(f64),
    Normal(f64),
}

fn positive<'g>(ctx: &mut Ctx<'g>, name: &str, scale: Scale) -> ppl_core::Result<Var<'g>> {
    match scale {
        Scale::Flat => ctx.sample(name, ImproperUniform::new(Constraint::Positive, ())),
        Scale::Cauchy(scale) => ctx.sample(name, HalfCauchy::new(scale)),
        Scale::Normal(scale) => ctx.sample(name, HalfNormal::new(scale)),
    }
}

/// `y ~ N(x·beta, sigma)`, `beta` flat or normal around 0.
fn normal(prior: Option<f64>, scale: Scale) -> AnyModel {
    Box::new(move |ctx| {
        let d = ctx.records().dim("x")?;
        let beta = match prior {
            Some(sd) => ctx.sample("beta", Normal::new(0.0, sd).iid(d))?,
            None => ctx.sample("beta", ImproperUniform::new(Constraint::Real, d))?,
        };
        let sigma = positive(ctx, "sigma", scale)?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(record.get("x")?.dot(beta), sigma), record.get("y")?)
        })
    })
}

/// `y ~ Bernoulli(logit = x·beta)` with the intercept first, or apart as `alpha`.
fn logistic(apart: bool) -> AnyModel {
    Box::new(move |ctx| {
        let d = ctx.records().dim("x")?;
        let alpha = match apart {
            true => Some(ctx.sample("alpha", ImproperUniform::new(Constraint::Real, ()))?),
            false => None,
        };
        let beta = ctx.sample("beta", ImproperUniform::new(Constraint::Real, d))?;
        ctx.each_record(|ctx, record| {
            let slope = record.get("x")?.dot(beta);
            let logit = alpha.map_or(slope, |alpha| alpha + slope);
            ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
        })
    })
}

pub(super) fn problem(name: &str, data: &Data) -> Result<Problem, DataError> {
    match name {
        "blr" => blr(data),
        "diamonds" => diamonds(data),
        "kilpisjarvi" => kilpisjarvi(data),
        "arK" => ar(data),
        name if name.starts_with("wells") || name == "nes_logit_model" => logits(name, data),
        name => plain(name, data),
    }
}

/// Regressions with a flat prior.
fn plain(name: &str, data: &Data) -> Result<Problem, DataError> {
    let of = |name: &str| data.vector(name);
    let (y, design, scale) = if name.contains("earn") {
        let (earn, height) = (of("earn")?, of("height")?);
        let n = earn.len();
        let y = match name {
            "earn_height" => earn,
            "log10earn_height" => map(&earn, f64::log10),
            _ => map(&earn, f64::ln),
        };
        let columns = Columns::default().intercept(n);
        let design = match name {
            "logearn_height_male" => columns.one(height).one(of("male")?),
            "logearn_logheight_male" => columns.one(map(&height, f64::ln)).one(of("male")?),
            "logearn_interaction" => {
                let male = of("male")?;
                columns.one(height.clone()).one(male.clone()).one(times(&height, &male))
            }
            "logearn_interaction_z" => {
                let (male, spread) = (of("male")?, sd(&height));
                let z = map(&centred(&height), |x| x / spread);
                columns.one(z.clone()).one(male.clone()).one(times(&z, &male))
            }
            _ => columns.one(height),
        };
        (y, design, Scale::Flat)
    } else if name.starts_with("kidscore") {
        kidscore(name, data)?
    } else if name.contains("mesquite") {
        mesquite(name, data)?
    } else if name == "nes" {
        let (y, age) = (of("partyid7")?, of("age_discrete")?);
        let group = |number: f64| map(&age, |age| f64::from(u8::from(age == number)));
        let design = Columns::default()
            .intercept(y.len())
            .one(of("real_ideo")?)
            .one(of("race_adj")?)
            .one(group(2.0))
            .one(group(3.0))
            .one(group(4.0))
            .one(of("educ1")?)
            .one(of("gender")?)
            .one(of("income")?);
        (y, design, Scale::Flat)
    } else {
        let y = of("watched")?;
        let design = Columns::default().intercept(y.len()).one(of("encouraged")?);
        (y, design, Scale::Flat)
    };
    Ok(Problem { model: normal(None, scale), records: design.records(y)? })
}

fn kidscore(name: &str, data: &Data) -> Result<(Vec<f64>, Columns, Scale), DataError> {
    let of = |name: &str| data.vector(name);
    let y = of("kid_score")?;
    let columns = Columns::default().intercept(y.len());
    let interaction = |hs: Vec<f64>, iq: Vec<f64>, columns: Columns| {
        let both = times(&hs, &iq);
        columns.one(hs).one(iq).one(both)
    };
    let cauchy = Scale::Cauchy(2.5);
    let halved = |x: &[f64]| {
        let spread = 2.0 * sd(x);
        map(&centred(x), |x| x / spread)
    };
    let (design, scale) = match name {
        "kidscore_momhs" => (columns.one(of("mom_hs")?), cauchy),
        "kidscore_momiq" => (columns.one(of("mom_iq")?), cauchy),
        "kidscore_momhsiq" => (columns.one(of("mom_hs")?).one(of("mom_iq")?), cauchy),
        "kidscore_interaction" => (interaction(of("mom_hs")?, of("mom_iq")?, columns), cauchy),
        "kidscore_interaction_c" => {
            (interaction(centred(&of("mom_hs")?), centred(&of("mom_iq")?), columns), Scale::Flat)
        }
        "kidscore_interaction_c2" => {
            let (hs, iq) = (map(&of("mom_hs")?, |x| x - 0.5), map(&of("mom_iq")?, |x| x - 100.0));
            (interaction(hs, iq, columns), Scale::Flat)
        }
        "kidscore_interaction_z" => {
            (interaction(halved(&of("mom_hs")?), halved(&of("mom_iq")?), columns), Scale::Flat)
        }
        _ => {
            let work = of("mom_work")?;
            let is = |number: f64| map(&work, |work| f64::from(u8::from(work == number)));
            (columns.one(is(2.0)).one(is(3.0)).one(is(4.0)), Scale::Flat)
        }
    };
    Ok((y, design, scale))
}

fn mesquite(name: &str, data: &Data) -> Result<(Vec<f64>, Columns, Scale), DataError> {
    let of = |name: &str| data.vector(name);
    let (weight, group) = (of("weight")?, of("group")?);
    let columns = Columns::default().intercept(weight.len());
    if name == "mesquite" {
        let names = ["diam1", "diam2", "canopy_height", "total_height", "density"];
        let columns =
            names.iter().try_fold(columns, |columns, name| Ok::<_, DataError>(columns.one(of(name)?)))?;
        return Ok((weight, columns.one(group), Scale::Flat));
    }
    let log = |name: &str| Ok::<_, DataError>(map(&of(name)?, f64::ln));
    let (one, two, canopy) = (log("diam1")?, log("diam2")?, log("canopy_height")?);
    let sum = |x: &[f64], y: &[f64], sign: f64| -> Vec<f64> {
        x.iter().zip(y).map(|(x, y)| x + sign * y).collect()
    };
    let area = sum(&one, &two, 1.0);
    let (volume, shape) = (sum(&area, &canopy, 1.0), sum(&one, &two, -1.0));
    let design = match name {
        "logmesquite" => {
            columns.one(one).one(two).one(canopy).one(log("total_height")?).one(log("density")?).one(group)
        }
        "logmesquite_logvolume" => columns.one(volume),
        "logmesquite_logva" => columns.one(volume).one(area).one(group),
        "logmesquite_logvas" => {
            columns.one(volume).one(area).one(shape).one(log("total_height")?).one(log("density")?).one(group)
        }
        _ => columns.one(volume).one(area).one(shape).one(log("total_height")?).one(group),
    };
    Ok((map(&weight, f64::ln), design, Scale::Flat))
}

fn logits(name: &str, data: &Data) -> Result<Problem, DataError> {
    let of = |name: &str| data.vector(name);
    if name == "nes_logit_model" {
        let records = Columns::default().one(of("income")?).records(of("vote")?)?;
        return Ok(Problem { model: logistic(true), records });
    }
    let (y, dist) = (of("switched")?, of("dist")?);
    if name == "wells_dist" {
        let records = Columns::default().intercept(y.len()).one(dist).records(y)?;
        return Ok(Problem { model: logistic(false), records });
    }
    let far = map(&dist, |x| x / 100.0);
    let (far_centred, columns) = (centred(&far), Columns::default());
    let design = match name {
        "wells_dist100_model" => columns.one(far),
        "wells_dist100ars_model" => columns.one(far).one(of("arsenic")?),
        "wells_interaction_model" => {
            let (arsenic, both) = (of("arsenic")?, times(&far, &of("arsenic")?));
            columns.one(far).one(arsenic).one(both)
        }
        "wells_interaction_c_model" => {
            let arsenic = centred(&of("arsenic")?);
            let both = times(&far_centred, &arsenic);
            columns.one(far_centred).one(arsenic).one(both)
        }
        "wells_dae_model" => columns.one(far).one(of("arsenic")?).one(map(&of("educ")?, |x| x / 4.0)),
        _ => {
            let (arsenic, educ) = (centred(&of("arsenic")?), of("educ")?);
            let both = times(&far_centred, &arsenic);
            let educ_centred = map(&centred(&educ), |x| x / 4.0);
            let quarter = map(&educ, |x| x / 4.0);
            match name {
                "wells_dae_c_model" => columns.one(far_centred).one(arsenic).one(both).one(quarter),
                "wells_daae_c_model" => {
                    columns.one(far_centred).one(arsenic).one(both).one(of("assoc")?).one(quarter)
                }
                _ => {
                    let (de, ae) = (times(&far_centred, &educ_centred), times(&arsenic, &educ_centred));
                    columns.one(far_centred).one(arsenic).one(educ_centred).one(both).one(de).one(ae)
                }
            }
        }
    };
    Ok(Problem { model: logistic(true), records: design.records(y)? })
}

fn blr(data: &Data) -> Result<Problem, DataError> {
    let ((x, d), y) = (data.rows("X")?, data.vector("y")?);
    let columns = (0..d).map(|j| x.iter().skip(j).step_by(d).copied().collect()).collect();
    Ok(Problem { model: normal(Some(10.0), Scale::Normal(10.0)), records: Columns(columns).records(y)? })
}

fn diamonds(data: &Data) -> Result<Problem, DataError> {
    let ((x, d), y) = (data.rows("X")?, data.vector("Y")?);
    let columns =
        (1..d).map(|j| centred(&x.iter().skip(j).step_by(d).copied().collect::<Vec<_>>())).collect();
    let model: AnyModel = Box::new(|ctx| {
        let d = ctx.records().dim("x")?;
        let b = ctx.sample("b", Normal::new(0.0, 1.0).iid(d))?;
        let intercept = ctx.sample("Intercept", StudentT::new(3.0, 8.0, 10.0))?;
        let sigma = ctx.sample("sigma", ImproperUniform::new(Constraint::Positive, ()))?;
        // Half of a Student-t with 3 degrees of freedom and scale 10, up to a constant.
        ctx.factor("half Student-t", -2.0 * (sigma * sigma / 300.0).log1p())?;
        ctx.each_record(|ctx, record| {
            let mean = intercept + record.get("x")?.dot(b);
            ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
        })
    });
    Ok(Problem { model, records: Columns(columns).records(y)? })
}

fn kilpisjarvi(data: &Data) -> Result<Problem, DataError> {
    let number = |name: &str| data.number(name);
    let alpha = (number("pmualpha")?, number("psalpha")?);
    let beta = (number("pmubeta")?, number("psbeta")?);
    let model: AnyModel = Box::new(move |ctx| {
        let alpha = ctx.sample("alpha", Normal::new(alpha.0, alpha.1))?;
        let beta = ctx.sample("beta", Normal::new(beta.0, beta.1))?;
        let sigma = positive(ctx, "sigma", Scale::Flat)?;
        ctx.each_record(|ctx, record| {
            let mean = alpha + record.get("x")?.element(0, 0) * beta;
            ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
        })
    });
    Ok(Problem { model, records: Columns::default().one(data.vector("x")?).records(data.vector("y")?)? })
}

/// An autoregression of order `K`: a record for each time, with the values before it.
fn ar(data: &Data) -> Result<Problem, DataError> {
    let (order, y) = (data.number("K")? as usize, data.vector("y")?);
    let lags = (1..=order).map(|k| (order..y.len()).map(|t| y[t - k]).collect()).collect();
    let model: AnyModel = Box::new(|ctx| {
        let d = ctx.records().dim("x")?;
        let alpha = ctx.sample("alpha", Normal::new(0.0, 10.0))?;
        let beta = ctx.sample("beta", Normal::new(0.0, 10.0).iid(d))?;
        let sigma = positive(ctx, "sigma", Scale::Cauchy(2.5))?;
        ctx.each_record(|ctx, record| {
            let mean = alpha + record.get("x")?.dot(beta);
            ctx.observe("y", Normal::new(mean, sigma), record.get("y")?)
        })
    });
    Ok(Problem { model, records: Columns(lags).records(y[order.min(y.len())..].to_vec())? })
}
