//! What the program `posteriordb` prints.

use std::collections::BTreeMap;
#[cfg(feature = "nuts")]
use std::error::Error;
#[cfg(feature = "nuts")]
use std::time::Instant;

use clap::ValueEnum;
use dp_sampler::Seed;
use dp_vi::guides::{AutoMultivariateNormal, AutoNormal, Guide};
use dp_vi::{Fit, Posterior, Sensitive, rehearse};
use ppl_core::{Graph, Records, Schema, SiteKind, Unconstrained, trace};
use serde::Serialize;

use super::{AnyModel, Problem};

/// A guide.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Family {
    /// Independent normals
    Independent,
    /// A normal with all correlations
    Correlated,
}

impl Family {
    /// The guide of that name.
    #[must_use]
    pub fn guide(self) -> Box<dyn Guide> {
        match self {
            Self::Independent => Box::new(AutoNormal::new()),
            Self::Correlated => Box::new(AutoMultivariateNormal::new()),
        }
    }
}

/// What was found of one site.
#[derive(Serialize)]
pub struct Moments {
    /// Means.
    pub mean: Vec<f64>,
    /// Standard deviations.
    pub sd: Vec<f64>,
}

/// What is printed.
#[derive(Serialize)]
pub struct Answer {
    /// By site.
    pub sites: BTreeMap<String, Moments>,
    /// From the model to the posterior.
    pub seconds: f64,
    /// What the fit says of itself, where it went on until it had converged.
    pub converged: Option<bool>,
    /// How well the guide fits.
    pub pareto_k: Option<f64>,
    /// The largest of the sampler's R̂.
    pub r_hat: Option<f64>,
    /// Evaluations of the density.
    pub evaluations: Option<u64>,
    /// The bound at the end.
    pub elbo: Option<f64>,
    /// What the report says of intervals, with privacy.
    pub intervals: Option<&'static str>,
    /// Of rehearsals: the share of true values that 90 % intervals held, and the error in stated deviations.
    pub rehearsed: Option<[f64; 2]>,
}

/// Means and standard deviations of a posterior, by site.
///
/// # Errors
///
/// None that a fit's posterior can have: its sites are its own.
pub fn moments(posterior: &Posterior) -> dp_vi::Result<BTreeMap<String, Moments>> {
    let of = |name: &str| {
        let (mean, sd) = (posterior.mean(name)?, posterior.sd(name)?);
        let moments = Moments { mean: mean.iter().copied().collect(), sd: sd.iter().copied().collect() };
        Ok((name.to_owned(), moments))
    };
    posterior.sites().map(of).collect()
}

/// The share of true values that 90 % intervals hold, and the error in stated deviations, in so many rehearsals at
/// draws of a posterior. `fit` has a seed of its own each time.
///
/// # Errors
///
/// As [`rehearse`].
pub fn rehearsed(
    problem: &Problem,
    posterior: &Posterior,
    (runs, seed): (u16, u64),
    fit: impl Fn(&Sensitive<Records>, Seed) -> dp_vi::Result<Fit>,
) -> dp_vi::Result<[f64; 2]> {
    let truths = posterior.draws(usize::from(runs), &Seed::for_tests(seed))?;
    let mut run = 0_u64;
    let found = rehearse(&problem.model, &truths, &problem.records, seed, |records| {
        run += 1;
        fit(records, Seed::for_tests(seed.wrapping_add(run << 32)))
    })?;
    Ok([found.held(), found.error()])
}

/// Names of what a model without records computes from its latent values: their moments are those of draws.
///
/// # Errors
///
/// A model that cannot be traced.
pub fn computed(model: &AnyModel) -> ppl_core::Result<Vec<String>> {
    let (graph, schema) = (Graph::new(), Schema::default());
    let trace = trace(model, &graph, &schema, Unconstrained)?;
    let computed = trace.sites().iter().filter(|site| site.kind == SiteKind::Deterministic);
    Ok(computed.map(|site| site.name.clone()).collect())
}

/// Four chains of the sampler.
///
/// # Errors
///
/// As the sampler.
#[cfg(feature = "nuts")]
pub fn sample(
    problem: &super::Problem,
    draws: usize,
    seed: u64,
    started: Instant,
) -> Result<Answer, Box<dyn Error>> {
    let chains =
        ppl_core::draws::nuts::Nuts::new(&problem.model).draws(draws).key(seed).run(&problem.records)?;
    let (mut sites, mut r_hat) = (BTreeMap::new(), f64::NEG_INFINITY);
    for name in chains.sites() {
        let (mean, sd) = (chains.mean(name)?, chains.sd(name)?);
        r_hat = chains.r_hat(name)?.iter().copied().fold(r_hat, f64::max);
        let moments = Moments { mean: mean.iter().copied().collect(), sd: sd.iter().copied().collect() };
        sites.insert(name.to_owned(), moments);
    }
    Ok(Answer {
        sites,
        seconds: started.elapsed().as_secs_f64(),
        converged: Some(r_hat < 1.01),
        pareto_k: None,
        r_hat: Some(r_hat),
        evaluations: None,
        elbo: None,
        intervals: None,
        rehearsed: None,
    })
}
