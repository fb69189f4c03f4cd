//! Where latent values start.

use crate::error::{Error, Result};
use crate::guides::guide::GuideSite;
use crate::objective::noise_feed::NoiseFeed;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ndarray::ArrayD;
use ppl_core::handlers::NoiseInputs;
use ppl_core::{ExecutionPlan, Graph, Model, Program, Schema, SiteKind, trace};
use std::collections::BTreeMap;

/// Where latent values start, before the first step.
///
/// # Privacy
/// None of these looks at the records. A [`PrivateStart`](crate::PrivateStart) does, and comes after: what it
/// chooses replaces what is said here.
///
/// ```
/// use dp_vi::guides::AutoNormal;
/// use dp_vi::{DpVi, InitialValues};
/// use ndarray::arr1;
/// # fn model(_: &mut ppl_core::Ctx) -> ppl_core::Result<()> { Ok(()) }
/// let start = InitialValues::values([("w", arr1(&[0.5, -0.5]).into_dyn())]);
/// let vi = DpVi::new(model, AutoNormal::new()).initial_values(start);
/// # let _ = vi;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum InitialValues {
    /// Where the unconstrained values are 0: at 0, 1, ½, equal shares, the identity matrix, ….
    #[default]
    Feasible,
    /// At the median of the prior, element by element of the unconstrained values, from 201 draws that are
    /// always the same.
    PriorMedian,
    /// At these values of latent sites or parameters, by name and in their supports; the others are where
    /// they would be otherwise.
    Values(BTreeMap<String, ArrayD<f64>>),
}

/// Draws of the prior behind a median; odd.
const DRAWS: usize = 201;

/// Starting points from the prior; fewer than its draws.
pub(crate) const CANDIDATES: usize = 200;

/// They keep their distance from the prior's median, or have a half, a quarter or an eighth of it.
const HALVINGS: usize = 4;

impl InitialValues {
    /// At these values.
    pub fn values<N: Into<String>>(values: impl IntoIterator<Item = (N, ArrayD<f64>)>) -> Self {
        Self::Values(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// Unconstrained values by site.
    pub(crate) fn resolve(
        &self,
        model: &dyn Model,
        schema: &Schema,
        sites: &[GuideSite],
    ) -> Result<BTreeMap<String, ArrayD<f64>>> {
        match self {
            Self::Feasible => Ok(BTreeMap::new()),
            Self::PriorMedian => prior_medians(model, schema, sites),
            Self::Values(values) => unconstrained(sites, values, "value to start at"),
        }
    }
}

/// Values by name as unconstrained ones. `what` says in words what they are.
pub(crate) fn unconstrained(
    sites: &[GuideSite],
    values: &BTreeMap<String, ArrayD<f64>>,
    what: &str,
) -> Result<BTreeMap<String, ArrayD<f64>>> {
    let one = |(name, value): (&String, &ArrayD<f64>)| {
        let Some(site) = sites.iter().find(|site| site.name == *name) else {
            let known: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
            let told =
                format!("the model has no site '{name}' (named by a {what}); it has [{}]", known.join(", "));
            return Err(Error::Model(ppl_core::Error::Values(told)));
        };
        Ok((name.clone(), site.unconstrain(value, what)?))
    };
    values.iter().map(one).collect()
}

/// Draws of the prior of latent sites, unconstrained: always the same.
struct PriorDraws<'s> {
    sites: Vec<&'s GuideSite>,
    /// For each site and element, its draws.
    draws: Vec<Vec<Vec<f64>>>,
}

impl<'s> PriorDraws<'s> {
    fn new(model: &dyn Model, schema: &Schema, sites: &'s [GuideSite], number: usize) -> Result<Self> {
        let graph = Graph::new();
        let trace = trace(model, &graph, schema, NoiseInputs)?;
        let (mut wanted, mut values) = (Vec::new(), Vec::new());
        for site in sites.iter().filter(|site| site.kind == SiteKind::Latent) {
            if let Some(drawn) = trace.site(&site.name) {
                wanted.push(site);
                values.push(site.support.unconstrain_var(drawn.value));
            }
        }
        graph.check()?;
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &values)?);
        let inputs: Vec<_> = trace
            .noise()
            .filter(|input| !input.per_record)
            .map(|input| (input.name.clone(), input.kind, input.shape.clone()))
            .collect();
        let feeds = NoiseFeed::all(&plan, &inputs);
        let mut normals = vec![0.0; feeds.last().map_or(0, |feed| feed.range.end)];
        let source = GaussianNoise::from_streams(Seed::for_tests(0).streams(Purpose::Initialisation));
        let mut draws: Vec<Vec<Vec<f64>>> =
            wanted.iter().map(|site| vec![Vec::with_capacity(number); site.elements()]).collect();
        for draw in 0..number {
            source.fill(draw as u64, &mut normals);
            feeds.iter().for_each(|feed| feed.fill(&mut plan, &normals, 1.0));
            plan.run();
            for (output, draws) in draws.iter_mut().enumerate() {
                draws.iter_mut().zip(plan.output(output)).for_each(|(draws, &x)| draws.push(x));
            }
        }
        Ok(Self { sites: wanted, draws })
    }

    /// Values for each site, made of the draws of each element.
    fn values(&self, mut make: impl FnMut(&[f64]) -> f64) -> Result<BTreeMap<String, ArrayD<f64>>> {
        let one = |(site, draws): (&&GuideSite, &Vec<Vec<f64>>)| {
            let mut made = draws.iter().map(|draws| make(draws));
            let found = ArrayD::from_shape_simple_fn(site.unconstrained_shape.dims(), || {
                made.next().unwrap_or(f64::NAN)
            });
            if found.iter().all(|x| x.is_finite()) {
                return Ok((site.name.clone(), found));
            }
            let told = "the median of its prior is not finite; start it at a value".to_owned();
            Err(Error::Model(ppl_core::Error::Values(told).at_site(&site.name)))
        };
        self.sites.iter().zip(&self.draws).map(one).collect()
    }
}

fn median(draws: &[f64]) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The median of the prior of each latent site: a site's prior given the others does not matter, only what it
/// looks like on the whole.
fn prior_medians(
    model: &dyn Model,
    schema: &Schema,
    sites: &[GuideSite],
) -> Result<BTreeMap<String, ArrayD<f64>>> {
    PriorDraws::new(model, schema, sites, DRAWS)?.values(median)
}

/// Starting points from the prior: draws, each moved towards the median by one of several factors, because
/// priors are often much wider than what the records will say.
pub(crate) fn prior_candidates(
    model: &dyn Model,
    schema: &Schema,
    sites: &[GuideSite],
) -> Result<Vec<BTreeMap<String, ArrayD<f64>>>> {
    let prior = PriorDraws::new(model, schema, sites, DRAWS)?;
    (0..CANDIDATES)
        .map(|number| {
            let nearer = 0.5_f64.powi((number % HALVINGS) as i32);
            prior.values(|draws| {
                let middle = median(draws);
                middle + nearer * (draws[number] - middle)
            })
        })
        .collect()
}
