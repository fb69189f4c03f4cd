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

/// Starting points from the prior for each level of narrowing.
const OF_A_LEVEL: usize = 50;

/// Half-width of the prior around its median, unconstrained, that starting points are narrowed to at least.
const NARROWEST: f64 = 0.75;

/// Fewest and most levels of narrowing.
const LEVELS: (usize, usize) = (4, 12);

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

    /// Values for each site, each made of the draws of its element and their median.
    fn values(
        &self,
        medians: &[Vec<f64>],
        mut make: impl FnMut(&[f64], f64) -> f64,
    ) -> Result<BTreeMap<String, ArrayD<f64>>> {
        let one = |((site, draws), medians): ((&&GuideSite, &Vec<Vec<f64>>), &Vec<f64>)| {
            let mut made = draws.iter().zip(medians).map(|(draws, &median)| make(draws, median));
            let found = ArrayD::from_shape_simple_fn(site.unconstrained_shape.dims(), || {
                made.next().unwrap_or(f64::NAN)
            });
            if found.iter().all(|x| x.is_finite()) {
                return Ok((site.name.clone(), found));
            }
            let told = "the median of its prior is not finite; start it at a value".to_owned();
            Err(Error::Model(ppl_core::Error::Values(told).at_site(&site.name)))
        };
        self.sites.iter().zip(&self.draws).zip(medians).map(one).collect()
    }

    fn medians(&self) -> Vec<Vec<f64>> {
        self.draws.iter().map(|site| site.iter().map(|draws| median(draws)).collect()).collect()
    }
}

fn median(draws: &[f64]) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The median of the prior of each latent site: a site's prior given the others does not matter, only what it
/// looks like on the whole.
pub(crate) fn prior_medians(
    model: &dyn Model,
    schema: &Schema,
    sites: &[GuideSite],
) -> Result<BTreeMap<String, ArrayD<f64>>> {
    let prior = PriorDraws::new(model, schema, sites, DRAWS)?;
    prior.values(&prior.medians(), |_, median| median)
}

/// Starting points from the prior: draws, moved towards the median by one of several factors, because priors
/// are often much wider than what the records will say.
///
/// The factors go in equal ratios from 1 down to where half of an element's draws are within `¾` of the
/// median, or an eighth, whichever is less: from there an optimiser reaches values of order 1, and a wide
/// prior has points at the scale of the records. (Three clusters at distances of 4 are found with priors of
/// standard deviations from 3 to 100; with 1000 one of them was missed.) Draws that are not finite, as of
/// concentrations close to zero, are at the median.
pub(crate) struct PriorPoints<'s> {
    prior: PriorDraws<'s>,
    medians: Vec<Vec<f64>>,
    widths: Vec<Vec<f64>>,
    levels: usize,
}

impl<'s> PriorPoints<'s> {
    /// The points that a start is chosen among, and this many more.
    pub(crate) fn new(
        model: &dyn Model,
        schema: &Schema,
        sites: &'s [GuideSite],
        more: usize,
    ) -> Result<Self> {
        let prior = PriorDraws::new(model, schema, sites, DRAWS)?;
        let medians = prior.medians();
        let widths: Vec<Vec<f64>> = prior
            .draws
            .iter()
            .zip(&medians)
            .map(|(site, medians)| {
                site.iter().zip(medians).map(|(draws, &median)| half_width(draws, median)).collect()
            })
            .collect();
        let widest = widths.iter().flatten().copied().fold(0.0, f64::max);
        // About as many levels as halvings, so that there are few where priors are narrow.
        let levels = ((widest / NARROWEST).log2().round() as usize + 1).clamp(LEVELS.0, LEVELS.1);
        let prior = PriorDraws::new(model, schema, sites, OF_A_LEVEL * levels + more)?;
        Ok(Self { prior, medians, widths, levels })
    }

    /// How many of them a start is chosen among.
    pub(crate) fn candidates(&self) -> usize {
        OF_A_LEVEL * self.levels
    }

    /// How many factors there are.
    pub(crate) fn levels(&self) -> usize {
        self.levels
    }

    /// Those that a start is chosen among: as many with each factor.
    pub(crate) fn first(&self) -> Result<Vec<BTreeMap<String, ArrayD<f64>>>> {
        (0..self.candidates()).map(|number| self.point(number, number % self.levels)).collect()
    }

    /// One of them, moved by one of the factors. Panics where there are fewer.
    pub(crate) fn point(&self, number: usize, level: usize) -> Result<BTreeMap<String, ArrayD<f64>>> {
        self.moved((number, level), |median, distance| median + distance)
    }

    /// How far it is from the prior's median. Panics where there are fewer.
    pub(crate) fn distance(&self, number: usize, level: usize) -> Result<BTreeMap<String, ArrayD<f64>>> {
        self.moved((number, level), |_, distance| distance)
    }

    fn moved(
        &self,
        (number, level): (usize, usize),
        make: impl Fn(f64, f64) -> f64,
    ) -> Result<BTreeMap<String, ArrayD<f64>>> {
        let level = level as f64 / (self.levels - 1) as f64;
        let mut widths = self.widths.iter().flatten();
        self.prior.values(&self.medians, |draws, median| {
            let width = widths.next().copied().unwrap_or(0.0);
            let least = (NARROWEST / width).min(0.125);
            let distance = least.powf(level) * (draws[number] - median);
            make(median, if distance.is_finite() { distance } else { 0.0 })
        })
    }
}

/// Draws of the prior of each latent element, unconstrained: by site and element. `None` for an element whose
/// prior cannot be drawn from, as a flat one, and for parameters.
pub(crate) fn prior_draws(
    model: &dyn Model,
    schema: &Schema,
    sites: &[GuideSite],
) -> Vec<Vec<Option<Vec<f64>>>> {
    let prior = PriorDraws::new(model, schema, sites, DRAWS).ok();
    let of = |site: &GuideSite| {
        let at = |prior: &PriorDraws<'_>| prior.sites.iter().position(|known| known.name == site.name);
        let found = prior.as_ref().and_then(|prior| Some(&prior.draws[at(prior)?]));
        let finite = |draws: &Vec<f64>| draws.iter().all(|x| x.is_finite()).then(|| draws.clone());
        found.map_or_else(|| vec![None; site.elements()], |draws| draws.iter().map(finite).collect())
    };
    sites.iter().map(of).collect()
}

/// Points to start from where the density is not finite at the usual start, all sites one after the other:
/// the prior's medians, then points from the prior. None where the prior cannot be drawn from, as a flat one.
pub(crate) fn other_starts(model: &dyn Model, schema: &Schema, sites: &[GuideSite]) -> Vec<Vec<f64>> {
    let medians = prior_medians(model, schema, sites).into_iter();
    let points = PriorPoints::new(model, schema, sites, 0).and_then(|points| points.first());
    let all = medians.chain(points.into_iter().flatten());
    let joined = |values: BTreeMap<String, ArrayD<f64>>| {
        let one = |site: &GuideSite| values.get(&site.name).filter(|x| x.len() == site.elements());
        let parts = sites.iter().map(|site| Some(one(site)?.iter().copied().collect::<Vec<f64>>()));
        Some(parts.collect::<Option<Vec<_>>>()?.concat())
    };
    all.filter_map(joined).collect()
}

/// The distance from the median within which half of the draws are.
fn half_width(draws: &[f64], middle: f64) -> f64 {
    let distances: Vec<f64> = draws.iter().map(|x| (x - middle).abs()).collect();
    median(&distances)
}
