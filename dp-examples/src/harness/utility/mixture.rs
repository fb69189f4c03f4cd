//! A Gaussian mixture: the log-likelihood of test records under the private posterior's means.

use std::collections::BTreeMap;
use std::path::Path;

use dp_accountant::Budget;
use dp_sampler::{Purpose, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{
    Clipping, Correction, DpVi, Fit, Gradients, InitialValues, Posterior, PrivateStart, Quantile, Sensitive,
};
use ndarray::{Array1, Array2, ArrayD};
use ppl_core::{
    Column, Constraint, Ctx, Distribution, Error, Noise, Parameter, Records, Result as CoreResult, Shape, Var,
};
use ppl_distributions::{HalfNormal, Normal};
use rand_core::Rng;

use super::files::{columns, others};
use super::{Failure, GUIDE_ALONE, Outcome, Protocol, RunOutcome, mean_log_likelihood};
use crate::table::Table;

/// Number of components.
pub const COMPONENTS: usize = 5;

/// The public scale of the data: coordinates hardly ever lie outside ± this.
const PUBLIC_RANGE: f64 = 4.0;

/// Starting points to choose from.
const CANDIDATES: usize = 100;

/// `ln p(x) = ln Σ_j softmax(logits)_j N(x; locs_j, scales_j² I)`
struct Mixture<'g> {
    logits: Var<'g>,
    locs: Var<'g>,
    scales: Var<'g>,
}

impl Mixture<'_> {
    fn width(&self) -> usize {
        self.locs.shape().dims().last().copied().unwrap_or(1)
    }
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
        self.width().into()
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        // ln s and 1/s² are shared, so they are computed once a step.
        let (log_scales, width) = (self.scales.log(), self.width());
        let squared = (x.broadcast_to([COMPONENTS, width]) - self.locs).square().sum_axis(1);
        let terms = self.logits - width as f64 * log_scales - 0.5 * (-2.0 * log_scales).exp() * squared;
        terms.log_sum_exp()
            - self.logits.log_sum_exp()
            - 0.5 * width as f64 * (2.0 * std::f64::consts::PI).ln()
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
pub fn model(ctx: &mut Ctx<'_>) -> CoreResult<()> {
    let d = ctx.records().dim("x")?;
    let logits = ctx.sample("logits", Normal::new(0.0, 1.0).iid(COMPONENTS))?;
    let locs = ctx.sample("locs", Normal::new(0.0, 10.0).iid([COMPONENTS, d]))?;
    let scales = ctx.sample("scales", HalfNormal::new(2.0).iid(COMPONENTS))?;
    ctx.each_record(|ctx, record| ctx.observe("x", Mixture { logits, locs, scales }, record.get("x")?))
}

/// Centres spread over the public range, at random but apart from each other: each is the one of many uniform
/// points that is farthest from those before it. Component weights are equal, scales a quarter of the range.
fn candidates(width: usize, seed: &Seed) -> Vec<BTreeMap<String, ArrayD<f64>>> {
    let streams = seed.streams(Purpose::Initialisation);
    let candidate = |number: usize| {
        let mut stream = streams.at(number as u64);
        let mut uniform = || (stream.next_u64() >> 11) as f64 * 2.0_f64.powi(-53);
        // Some candidates fill the range, others keep to its middle.
        let radius = PUBLIC_RANGE * (0.4 + 0.5 * uniform());
        let mut centres: Vec<Vec<f64>> = Vec::new();
        for _ in 0..COMPONENTS {
            let points: Vec<Vec<f64>> =
                (0..6).map(|_| (0..width).map(|_| radius * (2.0 * uniform() - 1.0)).collect()).collect();
            let distance = |point: &Vec<f64>| {
                let to = |centre: &Vec<f64>| -> f64 {
                    centre.iter().zip(point).map(|(a, b)| (a - b).powi(2)).sum()
                };
                centres.iter().map(to).fold(f64::INFINITY, f64::min)
            };
            if let Some(farthest) = points.into_iter().max_by(|a, b| distance(a).total_cmp(&distance(b))) {
                centres.push(farthest);
            }
        }
        let locs = Array2::from_shape_fn((COMPONENTS, width), |(j, k)| centres[j][k]).into_dyn();
        let scales = Array1::from_elem(COMPONENTS, PUBLIC_RANGE / 4.0).into_dyn();
        BTreeMap::from([("locs".to_owned(), locs), ("scales".to_owned(), scales)])
    };
    (0..CANDIDATES).map(candidate).collect()
}

/// Where fits start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// By candidates that fill a public range.
    Public,
    /// By [`DpVi`]'s defaults, which know the model only.
    ByDefault,
}

/// One fit. With a public start, the number of training records is stated as public, too.
///
/// # Errors
///
/// What [`DpVi`] says.
pub fn fit(
    records: &Sensitive<Records>,
    (count, width): (usize, usize),
    start: Start,
    (budget, gradients): (Option<Budget>, Gradients),
    seed: Seed,
) -> Result<Fit, Failure> {
    let vi = DpVi::new(model, AutoNormal::new()).gradients(gradients);
    let Some(budget) = budget else {
        // Centres apart from each other, as the candidates' are: at equal ones nothing distinguishes components.
        let start = candidates(width, &seed).swap_remove(0);
        return Ok(vi
            .without_privacy()
            .initial_values(InitialValues::Values(start))
            .seed(seed)
            .fit(records)?);
    };
    let vi = vi.budget(budget);
    let vi = match start {
        Start::Public => {
            let candidates = candidates(width, &seed);
            // The recipe's measure is the likelihood at the means, for which no interval is needed.
            vi.public_records(count as u64)
                .correction(Correction::None)
                .clipping(Clipping::Quantile(Quantile::default()))
                .private_start(PrivateStart { candidates, range: LIKELIHOODS, share: START_SHARE })
        }
        Start::ByDefault => vi,
    };
    Ok(vi.seed(seed).fit(records)?)
}

/// The mean log-likelihood of a test record, column `x`, at the posterior's means.
///
/// # Errors
///
/// Records that do not fit the model.
pub fn likelihood(posterior: &Posterior, test: &Records) -> Result<f64, Failure> {
    mean_log_likelihood(&model, test, &posterior.means()?)
}

/// Points of two files, as records with the column `x`; the second has the columns of the first.
///
/// # Errors
///
/// What is wrong with the files.
pub fn points(train: &Path, test: &Path) -> Result<[Array2<f64>; 2], Failure> {
    let table = Table::read(train)?;
    let names = others(&table, &[]);
    Ok([columns(&table, &names)?, columns(&Table::read(test)?, &names)?])
}

/// Fits the training file and measures the mean log-likelihood of the test file's records at the posterior
/// means.
///
/// # Errors
///
/// What is wrong with the files, or a fit that fails.
pub fn measure(train: &Path, test: &Path, start: Start, protocol: &Protocol) -> Result<Outcome, Failure> {
    let [x, test] = points(train, test)?;
    let dim = x.dim();
    let test = Records::from_columns([("x", test)])?;
    let records = Sensitive::new(Records::from_columns([("x", Column::from(x))])?);
    let budget = (Some(protocol.budget()), protocol.gradients);
    protocol.measure("log_likelihood", |seed| {
        let fit = fit(&records, dim, start, budget, Seed::for_tests(seed))?;
        let mut outcome = RunOutcome::new(likelihood(fit.posterior(), &test)?, fit.privacy())?;
        if fit.noise_aware().is_some() {
            outcome.more.insert(GUIDE_ALONE, likelihood(fit.uncorrected(), &test)?);
        }
        Ok(outcome)
    })
}

/// Log-likelihoods of one record between which starting points are distinguished.
const LIKELIHOODS: (f64, f64) = (-12.0, -2.0);
/// Share of ε for the choice.
const START_SHARE: f64 = 0.2;
