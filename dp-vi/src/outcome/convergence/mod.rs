//! Runs without privacy that go on until they have arrived, and what they say of themselves.

pub(crate) mod density;
pub(crate) mod mode;
pub(crate) mod natural;
pub(crate) mod pareto;

use crate::error::Result;
use crate::guides::guide::{Guide, GuideSite};
use crate::objective::shared::Shared;
use crate::outcome::convergence::density::Density;
use crate::outcome::convergence::mode::mode;
use crate::outcome::convergence::natural::{Normal, Target, nearest_normal};
use crate::outcome::convergence::pareto::pareto_k;
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::correction::linear_algebra::square;
use crate::wall::sensitive::Sensitive;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::DMatrix;
use ppl_core::{Model, Records};
use std::fmt;

/// The most latent elements of a run that goes on until it has arrived: its steps take the time of their
/// third power.
pub(crate) const MOST_ELEMENTS: usize = 500;

/// Draws of the guide that its quality is judged by.
const DRAWS: usize = 2_000;

/// Whether a run without privacy has arrived, and how well its guide fits there: for
/// [`AutoLaplace`](crate::guides::AutoLaplace), the normal around the mode.
///
/// `k̂` is the shape of the tail of the importance weights `p(u, x)/q(u)` over draws of the guide `q`: below
/// 0.5 the guide is close to the posterior, up to 0.7 its draws can be reweighted, above it is far off
/// somewhere, which may or may not show in means and standard deviations. It grows with the number of
/// latent values.
///
/// # References
/// Yao, Vehtari, Simpson, Gelman 2018, "Yes, but did it work? Evaluating variational inference" (`k̂` of a
/// guide).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Convergence {
    /// Whether the last steps found the means and standard deviations where they belong.
    pub converged: bool,
    /// How far the means still are from there, by the last steps: a root mean square over latent values, in
    /// standard deviations.
    pub remaining: f64,
    /// The bound `E_q[ln p(u, x) − ln q(u)]` at the end.
    pub elbo: f64,
    /// Its Monte Carlo standard error.
    pub elbo_error: f64,
    /// `k̂`; NaN where a weight is not finite.
    pub pareto_k: f64,
    /// How many equal weights are worth as much as those of a draw, `(Σ w)²/(n Σ w²)`: 1 where the guide is
    /// the posterior. `k̂` says nothing where this is near 1, for then no weight is large.
    pub effective_share: f64,
    /// How often the log density of all records, and its gradient, were computed.
    pub evaluations: u64,
}

impl fmt::Display for Convergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.converged {
            true => write!(f, "Converged")?,
            false => write!(
                f,
                "NOT CONVERGED: the means are some {:.2} standard deviations from where the last steps send them. Do not \
                 use this posterior; start elsewhere (initial_values), or write the model with values near 0 and 1",
                self.remaining
            )?,
        }
        write!(f, ". ELBO {:.2} ± {:.2}, {} evaluations.", self.elbo, self.elbo_error, self.evaluations)?;
        match self.pareto_k {
            _ if self.effective_share > 0.95 => {
                write!(f, " The guide is all but the posterior: importance weights differ by little.")
            }
            k if k.is_nan() => write!(f, " The guide reaches where the density is not finite."),
            k if k < 0.5 => write!(f, " Pareto k = {k:.2}: the guide is close to the posterior."),
            k if k < 0.7 => write!(f, " Pareto k = {k:.2}: the guide is near the posterior."),
            k => write!(
                f,
                " Pareto k = {k:.2}: the posterior is not close to the guide's family everywhere; compare with another guide or \
                 with draws of a Markov chain."
            ),
        }
    }
}

/// Fits the guide's normal until it has arrived, or finds the mode, and gives its parameters in the order of
/// the layout. Without records the model is one of public constants. `None` where guide or model are not of that kind, or the density is not finite around the
/// start.
pub(crate) fn converge(
    model: &dyn Model,
    guide: &dyn Guide,
    records: Option<&Sensitive<Records>>,
    shared: &Shared,
    seed: &Seed,
) -> Result<Option<(Vec<f64>, Convergence)>> {
    let family = guide.normal_family();
    if family.is_none() && !guide.wants_curvature() {
        return Ok(None);
    }
    let Some(mut density) = Density::new(model, records)? else { return Ok(None) };
    let (mut mean, mut scales) = (Vec::new(), Vec::new());
    for marginal in shared.marginals(guide, &shared.initial) {
        let Some(marginal) = marginal else { return Ok(None) };
        mean.extend(marginal.loc);
        scales.extend(marginal.scale);
    }
    if mean.len() != density.elements() || !(family.is_none() || scales.iter().all(|scale| *scale > 0.0)) {
        return Ok(None);
    }
    let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("draws until convergence"));
    let mut batch = 0;
    let mut fill = |out: &mut [f64]| {
        noise.fill(batch, out);
        batch += 1;
    };
    let found = match family {
        Some(family) => nearest_normal(&mut density, Normal::independent(mean, scales), family, &mut fill)?,
        None => {
            let mut hessian = match records {
                Some(records) => Hessian::new(model, records.schema())?,
                None => Hessian::public(model)?,
            };
            let ends: Vec<usize> = shared.sites.iter().map(GuideSite::elements).collect();
            let second = |u: &[f64]| {
                let mut rest = u;
                let values = ends.iter().map(|&elements| {
                    let (values, others) = rest.split_at(elements);
                    rest = others;
                    values.to_vec()
                });
                let values: Vec<Vec<f64>> = values.collect();
                Ok(square(&hessian.at(&values, records)?, u.len()))
            };
            mode(&mut density, mean, second)?
        }
    };
    let Some(found) = found else { return Ok(None) };
    let normal = &found.normal;
    let n = normal.mean.len();
    let mut draws = DMatrix::zeros(n, DRAWS);
    fill(draws.as_mut_slice());
    let mut points = &normal.factor * &draws;
    points.column_iter_mut().for_each(|mut point| point += &normal.mean);
    let (mut values, mut gradients) = (vec![0.0; DRAWS], DMatrix::zeros(n, DRAWS));
    density.evaluate(&points, &mut values, &mut gradients)?;
    // ln q(u) = −½ |z|² − ln det L − ½ n ln 2π
    let constant = normal.factor.diagonal().iter().map(|x| x.ln()).sum::<f64>()
        + 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln();
    let logs: Vec<f64> = values
        .iter()
        .zip(draws.column_iter())
        .map(|(value, z)| value + 0.5 * z.norm_squared() + constant)
        .collect();
    let elbo = logs.iter().sum::<f64>() / DRAWS as f64;
    let variance = logs.iter().map(|x| (x - elbo).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logs.iter().map(|x| (x - largest).exp());
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    let convergence = Convergence {
        converged: found.converged,
        remaining: found.remaining,
        elbo,
        elbo_error: (variance / DRAWS as f64).sqrt(),
        pareto_k: pareto_k(logs),
        effective_share: sum * sum / (squares * DRAWS as f64),
        evaluations: found.evaluations + DRAWS as u64,
    };
    // Row by row.
    let factor = normal.factor.transpose();
    let named = guide.normal_parameters(&shared.sites, normal.mean.as_slice(), factor.as_slice());
    let mut parameters = shared.initial.clone();
    for (name, values) in named {
        let place = shared.layout.iter().find(|(known, _)| *known == name).map(|(_, range)| range);
        match place {
            Some(range) if range.len() == values.len() => parameters[range].copy_from_slice(&values),
            _ => return Ok(None),
        }
    }
    Ok(Some((parameters, convergence)))
}

/// Whether a guide is of that kind, and has few enough elements for this.
pub(crate) fn is_small_enough(guide: &dyn Guide, elements: usize) -> bool {
    (guide.normal_family().is_some() || guide.wants_curvature()) && (1..=MOST_ELEMENTS).contains(&elements)
}
