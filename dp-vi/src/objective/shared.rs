//! Guide, prior and entropy: public functions of released values.

use super::coordinates::Coordinates;
use super::draws::DrawScheme;
use super::noise_feed::NoiseFeed;
use super::traced::Traced;
use crate::error::Result;
use crate::guides::guide::{Guide, GuideSite, GuideTarget, Marginal, ParameterValues};
use crate::optimiser::ParameterLayout;
use ppl_core::{ExecutionPlan, Graph, InputId, Noise, Program, Schema};
use std::ops::Range;
use std::sync::Arc;

/// Where one site's numbers lie: in the vector of all unconstrained values, and in the inputs of the
/// programs.
pub(super) struct SitePlace {
    pub(super) range: Range<usize>,
    pub(super) prior_input: Option<InputId>,
    pub(super) pullback_input: Option<InputId>,
}

/// A range of a flat vector that is copied into an input of the draw and of the pull-back program.
pub(super) struct Feed {
    pub(super) range: Range<usize>,
    pub(super) draw_input: Option<InputId>,
    pub(super) pullback_input: Option<InputId>,
}

/// A range of the noise, and where it goes.
pub(super) struct NoiseFeeds {
    pub(super) draw: NoiseFeed,
    pub(super) pullback: NoiseFeed,
}

/// Unconstrained values of all sites at one draw of the guide, or at a mirrored pair.
pub(crate) struct Drawn {
    pub(super) draws: DrawScheme,
    /// Of one draw after the other.
    pub(super) values: Vec<f64>,
}

impl Drawn {
    /// Those of the draw with this number.
    pub(super) fn of(&self, draw: usize) -> &[f64] {
        let elements = self.values.len() / self.draws.number();
        &self.values[draw * elements..][..elements]
    }

    pub(super) fn of_mut(&mut self, draw: usize) -> &mut [f64] {
        let elements = self.values.len() / self.draws.number();
        &mut self.values[draw * elements..][..elements]
    }
}

/// The guide's draws as values of the model, where what it draws are coordinates.
pub(crate) struct LocatedDraw {
    pub(crate) coordinates: Arc<Coordinates>,
    draw: ExecutionPlan<f64>,
    parameters: Vec<(Range<usize>, Option<InputId>)>,
    noise: Vec<NoiseFeed>,
}

/// Guide, prior and entropy. Nothing here knows of records.
pub(crate) struct Shared {
    pub(crate) sites: Vec<GuideSite>,
    pub(crate) initial: Vec<f64>,
    /// Where the values that records touch are looked for in coordinates.
    pub(crate) located: Option<LocatedDraw>,
    /// Fingerprints of the programs of model and guide.
    pub(crate) fingerprint: String,
    /// Per-record inputs of fresh standard normals.
    pub(crate) record_noise: Vec<String>,
    /// Names of the guide's parameters, in the order of `initial`.
    pub(crate) layout: ParameterLayout,
    pub(crate) noise_elements: usize,
    pub(super) draw: ExecutionPlan<f64>,
    pub(super) prior: ExecutionPlan<f64>,
    pub(super) pullback: ExecutionPlan<f64>,
    pub(super) places: Vec<SitePlace>,
    pub(super) parameters: Vec<Feed>,
    pub(super) noise: Vec<NoiseFeeds>,
    pub(super) drawn: Drawn,
    /// The cotangent that is pulled back.
    pub(super) cotangent: Vec<f64>,
}

impl Shared {
    /// The sign of the noise in each draw.
    const SIGNS: [f64; 2] = [1.0, -1.0];

    fn feed(plan: &mut ExecutionPlan<f64>, input: Option<InputId>, values: &[f64]) {
        if let Some(input) = input {
            plan.input_mut(input).copy_from_slice(values);
        }
    }

    /// Unconstrained values of all sites, one draw after the other.
    pub(crate) fn drawn_values(&self) -> &[f64] {
        &self.drawn.values
    }

    /// The draws of a step.
    pub(crate) fn draws(&self) -> DrawScheme {
        self.drawn.draws
    }

    /// The guide's program with parameters that have been found, and what feeds its noise.
    pub(crate) fn drawing(&self, parameters: &[f64]) -> (ExecutionPlan<f64>, Vec<NoiseFeed>) {
        let mut draw = self.draw.clone();
        for feed in &self.parameters {
            Self::feed(&mut draw, feed.draw_input, &parameters[feed.range.clone()]);
        }
        (draw, self.noise.iter().map(|feeds| feeds.draw.clone()).collect())
    }

    /// The same with the model's unconstrained values as outputs.
    pub(crate) fn drawing_values(&self, parameters: &[f64]) -> (ExecutionPlan<f64>, Vec<NoiseFeed>) {
        let Some(located) = &self.located else { return self.drawing(parameters) };
        let mut draw = located.draw.clone();
        for (range, input) in &located.parameters {
            Self::feed(&mut draw, *input, &parameters[range.clone()]);
        }
        (draw, located.noise.clone())
    }

    /// Plans draws of the model's values.
    pub(crate) fn locate(
        &mut self,
        guide: &dyn Guide,
        (schema, traced): (&Schema, &Traced<'_>),
        coordinates: &Arc<Coordinates>,
    ) -> Result<()> {
        let graph = Graph::new();
        let mut noise = Noise::new(&graph, "guide");
        let program = guide.build(GuideTarget::new(&self.sites, schema, &traced.trace), &mut noise)?;
        let inside: Vec<_> = self
            .sites
            .iter()
            .zip(&program.values)
            .filter(|(site, _)| coordinates.find(&site.name).is_some())
            .map(|(_, &value)| value)
            .collect();
        let mut values = program.values.clone();
        for (site, value) in self.sites.iter().zip(&mut values) {
            if let Some(located) = coordinates.find(&site.name).and_then(|at| coordinates.value(at, &inside))
            {
                *value = located;
            }
        }
        let draw = ExecutionPlan::new(&Program::new(&graph, &values)?);
        let parameters = self.layout.iter().map(|(name, range)| (range, draw.input(name).ok())).collect();
        let noise = NoiseFeed::all(&draw, noise.inputs());
        self.located = Some(LocatedDraw { coordinates: coordinates.clone(), draw, parameters, noise });
        Ok(())
    }

    /// What the guide knows of the marginals of the model's unconstrained values.
    pub(crate) fn marginals_of_values(&self, guide: &dyn Guide, parameters: &[f64]) -> Vec<Option<Marginal>> {
        let mut marginals = self.marginals(guide, parameters);
        let Some(LocatedDraw { coordinates, .. }) = &self.located else { return marginals };
        let is_located = |site: &GuideSite| coordinates.find(&site.name).is_some();
        let inside = marginals.iter().zip(&self.sites).filter(|(_, site)| is_located(site));
        let points: Option<Vec<&[f64]>> = inside
            .map(|(marginal, _)| {
                let marginal = marginal.as_ref()?;
                marginal.scale.iter().all(|scale| *scale == 0.0).then_some(marginal.loc.as_slice())
            })
            .collect();
        // How coordinates vary together it does not say: unless they are points, values are found by simulation.
        let values = points.map(|points| coordinates.values(&points.concat()));
        for (marginal, site) in marginals.iter_mut().zip(&self.sites) {
            let Some(range) = coordinates.find(&site.name).and_then(|at| coordinates.range(at)) else {
                continue;
            };
            *marginal = values.as_ref().map(|values| Marginal::point(&values[range]));
        }
        marginals
    }

    /// What the guide knows of its marginals, as far as it can be that.
    pub(crate) fn marginals(&self, guide: &dyn Guide, parameters: &[f64]) -> Vec<Option<Marginal>> {
        let named = ParameterValues::new(&self.layout, parameters);
        let mut marginals = named.map_or(Vec::new(), |named| guide.marginals(&self.sites, named));
        marginals.resize(self.sites.len(), None);
        for (marginal, site) in marginals.iter_mut().zip(&self.sites) {
            let fits = |marginal: &Marginal| {
                [&marginal.loc, &marginal.scale].iter().all(|x| x.len() == site.elements())
            };
            *marginal = marginal.take().filter(fits);
        }
        marginals
    }

    /// Draws the sites' values.
    pub(crate) fn draw(&mut self, parameters: &[f64], noise: &[f64]) {
        for feed in &self.parameters {
            let values = &parameters[feed.range.clone()];
            Self::feed(&mut self.draw, feed.draw_input, values);
            Self::feed(&mut self.pullback, feed.pullback_input, values);
        }
        let elements = self.cotangent.len();
        for number in 0..self.draws().number() {
            for feeds in &self.noise {
                feeds.draw.fill(&mut self.draw, noise, Self::SIGNS[number]);
                if number == 0 {
                    feeds.pullback.fill(&mut self.pullback, noise, 1.0);
                }
            }
            self.draw.run();
            let drawn = &mut self.drawn.values[number * elements..][..elements];
            for (output, place) in self.places.iter().enumerate() {
                drawn[place.range.clone()].copy_from_slice(self.draw.output(output));
            }
        }
    }

    /// The gradient of the bound with respect to the guide's parameters, at the draws that were made last.
    /// `noise` is that of the draws; `add` adds the gradient of the log-likelihood at a draw by a site, both
    /// given by their number, to that of the prior.
    pub(crate) fn pull_back(
        &mut self,
        noise: &[f64],
        add: impl Fn(usize, usize, &mut [f64]),
        out: &mut [f64],
    ) {
        let draws = self.draws().number();
        for number in 0..draws {
            if number > 0 {
                for feeds in &self.noise {
                    feeds.pullback.fill(&mut self.pullback, noise, Self::SIGNS[number]);
                }
            }
            let drawn = self.drawn.of(number);
            for place in &self.places {
                Self::feed(&mut self.prior, place.prior_input, &drawn[place.range.clone()]);
            }
            self.prior.run();
            for (site, place) in self.places.iter().enumerate() {
                let total = &mut self.cotangent[place.range.clone()];
                total.copy_from_slice(self.prior.output(site));
                add(number, site, total);
                Self::feed(&mut self.pullback, place.pullback_input, total);
            }
            self.pullback.run();
            for (output, feed) in self.parameters.iter().enumerate() {
                let found = self.pullback.output(output);
                let out = &mut out[feed.range.clone()];
                match (number, draws) {
                    (0, 1) => out.copy_from_slice(found),
                    (0, _) => out.iter_mut().zip(found).for_each(|(out, x)| *out = 0.5 * x),
                    _ => out.iter_mut().zip(found).for_each(|(out, x)| *out += 0.5 * x),
                }
            }
        }
    }
}
