//! Models that are no generalised linear term, by their defaults: how much of what can be learned without
//! privacy is learned with it.

use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{DpVi, Posterior, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records, Result as CoreResult};
use ppl_distributions::{HalfCauchy, HalfNormal, Normal, OrderedLogistic, Poisson, ZeroInflated};

use super::{Failure, GUIDE_ALONE, Outcome, Protocol, RunOutcome, mean_log_likelihood};

/// Records to fit.
const RECORDS: usize = 10_000;

/// Records that are held back.
const HELD_BACK: usize = 5_000;

/// Steps of the fits without privacy, which have to have arrived.
const STEPS: u64 = 3_000;

/// A model with made-up records.
pub trait MadeUp {
    /// The model; its features are the column `x`, its outcome `y`.
    ///
    /// # Errors
    /// What the model language says.
    fn model(ctx: &mut Ctx<'_>) -> CoreResult<()>;

    /// Number of features.
    const WIDTH: usize;

    /// The outcome of a record with these features, given two standard normals and two uniform numbers.
    fn outcome(x: &[f64], normals: [f64; 2], uniforms: [f64; 2]) -> f64;
}

/// `y ~ N(b + x·w, σ²)`, `w_j = τ λ_j z_j` with half-Cauchy `τ` and `λ_j`: 4 of 20 weights are not zero.
pub struct Horseshoe;

impl MadeUp for Horseshoe {
    const WIDTH: usize = 20;

    fn model(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let d = ctx.records().dim("x")?;
        let tau = ctx.sample("tau", HalfCauchy::new(0.2))?;
        let lambda = ctx.sample("lambda", HalfCauchy::new(1.0).iid(d))?;
        let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(d))?;
        let b = ctx.sample("b", Normal::new(0.0, 2.0))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(2.0))?;
        let w = ctx.deterministic("w", tau * lambda * z)?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(b + record.get("x")?.dot(w), sigma), record.get("y")?)
        })
    }

    fn outcome(x: &[f64], [normal, _]: [f64; 2], _: [f64; 2]) -> f64 {
        0.5 + x[0] - 0.7 * x[3] + 0.4 * x[7] - 1.2 * x[12] + 0.8 * normal
    }
}

/// Zero with a probability, or a Poisson count: of visits, say.
pub struct ZeroInflatedPoisson;

impl MadeUp for ZeroInflatedPoisson {
    const WIDTH: usize = 4;

    fn model(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let d = ctx.records().dim("x")?;
        let gate = ctx.sample("gate", Normal::new(0.0, 1.5))?;
        let b = ctx.sample("b", Normal::new(0.0, 2.0))?;
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(d))?;
        ctx.each_record(|ctx, record| {
            let rate = (b + record.get("x")?.dot(w)).exp();
            ctx.observe("y", ZeroInflated::from_logits(Poisson::new(rate), gate), record.get("y")?)
        })
    }

    fn outcome(x: &[f64], _: [f64; 2], [gate, uniform]: [f64; 2]) -> f64 {
        if gate < 0.3 {
            return 0.0;
        }
        let rate = (0.6 + 0.5 * x[0] - 0.3 * x[1] + 0.2 * x[2]).exp();
        let (mut count, mut term, mut below) = (0.0, (-rate).exp(), (-rate).exp());
        while below < uniform && count < 1_000.0 {
            count += 1.0;
            term *= rate / count;
            below += term;
        }
        count
    }
}

/// Five ordered answers.
pub struct Ordinal;

impl MadeUp for Ordinal {
    const WIDTH: usize = 5;

    fn model(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let d = ctx.records().dim("x")?;
        let first = ctx.sample("first", Normal::new(0.0, 3.0))?;
        let gaps = ctx.sample("gaps", HalfNormal::new(2.0).iid(3))?;
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(d))?;
        let cuts = ctx.graph().concat(&[first.reshape(1), first + gaps.cumsum(0)], 0);
        ctx.each_record(|ctx, record| {
            ctx.observe("y", OrderedLogistic::new(record.get("x")?.dot(w), cuts), record.get("y")?)
        })
    }

    fn outcome(x: &[f64], _: [f64; 2], [uniform, _]: [f64; 2]) -> f64 {
        let score = x[0] - 0.8 * x[1] + 0.5 * x[2] + (uniform / (1.0 - uniform)).ln();
        [-2.0, -0.7, 0.5, 1.8].iter().map(|&cut| f64::from(score > cut)).sum()
    }
}

/// A network of two layers, `y ~ N(b + v·tanh(W x + c), σ²)`.
pub struct Network;

/// Hidden units.
const HIDDEN: usize = 8;

impl MadeUp for Network {
    const WIDTH: usize = 3;

    fn model(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let d = ctx.records().dim("x")?;
        let inner = ctx.sample("inner", Normal::new(0.0, 1.0).iid([HIDDEN, d]))?;
        let shift = ctx.sample("shift", Normal::new(0.0, 1.0).iid(HIDDEN))?;
        let outer = ctx.sample("outer", Normal::new(0.0, 1.0).iid(HIDDEN))?;
        let b = ctx.sample("b", Normal::new(0.0, 1.0))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
        ctx.each_record(|ctx, record| {
            let hidden = (inner.matvec(record.get("x")?) + shift).tanh();
            ctx.observe("y", Normal::new(b + hidden.dot(outer), sigma), record.get("y")?)
        })
    }

    fn outcome(x: &[f64], [normal, _]: [f64; 2], _: [f64; 2]) -> f64 {
        (1.5 * x[0]).sin() + 0.5 * x[1] * x[1] - 0.6 * x[1] * x[2] + 0.3 * normal
    }
}

/// Features are standard normals.
fn made_up<M: MadeUp>(records: usize, seed: &Seed) -> dp_sampler::Result<(Array2<f64>, Array1<f64>)> {
    let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("made-up records"));
    let mut normals = vec![0.0; M::WIDTH + 4];
    let (mut x, mut y) = (Array2::zeros((records, M::WIDTH)), Array1::zeros(records));
    for i in 0..records {
        noise.fill(i as u64, &mut normals);
        let (features, rest) = normals.split_at(M::WIDTH);
        let uniform = |normal: f64| 0.5 * libm::erfc(-normal * std::f64::consts::FRAC_1_SQRT_2);
        y[i] = M::outcome(features, [rest[0], rest[1]], [uniform(rest[2]), uniform(rest[3])]);
        x.row_mut(i).iter_mut().zip(features).for_each(|(x, feature)| *x = *feature);
    }
    Ok((x, y))
}

fn records(x: Array2<f64>, y: Array1<f64>) -> Result<Records, Failure> {
    Ok(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?)
}

/// The mean log-likelihood of held-back records at the posterior's means.
fn held_back<M: MadeUp>(posterior: &Posterior, test: &Records) -> Result<f64, Failure> {
    mean_log_likelihood(&M::model, test, &posterior.means()?)
}

/// The share of the gain in held-back log-likelihood, from a model that knows no features to a fit without
/// privacy, that a private fit by defaults has.
///
/// # Errors
///
/// What a fit says that fails.
pub fn measure<M: MadeUp>(protocol: &Protocol) -> Result<Outcome, Failure> {
    protocol.measure("gain", |number| {
        let seed = Seed::for_tests(number);
        let (x, y) = made_up::<M>(RECORDS + HELD_BACK, &seed)?;
        let part = |range: std::ops::Range<usize>, x: &Array2<f64>| {
            let rows = ndarray::s![range.clone(), ..];
            records(x.slice(rows).to_owned(), y.slice(ndarray::s![range]).to_owned())
        };
        let (train, test) = (0..RECORDS, RECORDS..RECORDS + HELD_BACK);
        let public = |x: &Array2<f64>| -> Result<f64, Failure> {
            let fit = DpVi::new(M::model, AutoNormal::new())
                .without_privacy()
                .steps(STEPS)
                .seed(Seed::for_tests(number))
                .fit(&Sensitive::new(part(train.clone(), x)?))?;
            held_back::<M>(fit.posterior(), &part(test.clone(), x)?)
        };
        let (null, best) = (public(&Array2::zeros(x.dim()))?, public(&x)?);
        let fit = DpVi::new(M::model, AutoNormal::new())
            .budget(protocol.budget())
            .gradients(protocol.gradients)
            .seed(seed)
            .fit(&Sensitive::new(part(train.clone(), &x)?))?;
        let test = part(test, &x)?;
        let gain = |posterior| Ok::<_, Failure>((held_back::<M>(posterior, &test)? - null) / (best - null));
        let mut outcome = RunOutcome::new(gain(fit.posterior())?, fit.privacy())?;
        outcome.more.insert(GUIDE_ALONE, gain(fit.uncorrected())?);
        outcome.more.insert("null", null);
        outcome.more.insert("not private", best);
        Ok(outcome)
    })
}
