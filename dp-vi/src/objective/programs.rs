//! The evidence lower bound as array programs: a per-record part behind the wall, and a shared part in front of it.

use crate::error::{Error, Result};
use crate::guides::guide::{Guide, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues};
use crate::objective::curvature::{CurvatureShape, NOT_LINEAR, curvature_program};
use crate::objective::draws::Draws;
use crate::objective::gradients::Gradients;
use crate::objective::noise_feed::NoiseFeed;
use crate::objective::parameters::{Ingredients, Vanilla};
use crate::objective::prior::{PriorCurvature, prior_programs};
use crate::objective::traced::{Mirrored, Traced};
use crate::objective::weights::RecordWeights;
use crate::optimiser::ParameterLayout;
use crate::outcome::simulation::Simulation;
use ndarray::ArrayD;
use ppl_core::{
    Graph, InputId, Model, Noise, NoiseKind, Plan, Program, Record, RecordGradient, Schema, SiteKind, Trace,
    Unconstrained, Var, trace, vector_jacobian,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// All that a step computes.
pub(crate) struct Objective {
    pub(crate) gradient: RecordGradient<f64>,
    pub(crate) shared: Shared,
    /// The curvature's program, if one is wanted.
    pub(crate) curvature: Option<RecordGradient<f64>>,
    pub(crate) prior_curvature: Option<PriorCurvature>,
}

/// What goes into the objective beside model, guide and the columns of the records.
pub(crate) struct Options<'a> {
    pub(crate) draws: Draws,
    pub(crate) weights: &'a RecordWeights,
    pub(crate) gradients: Gradients,
    /// `N₀`, for gradients with a share of the prior.
    pub(crate) stated_records: f64,
    /// `C`, which recognised weights are made for.
    pub(crate) clip_norm: f64,
    /// Whether norms are wanted for each site by itself.
    pub(crate) per_site: bool,
    /// Which part of the curvature is wanted.
    pub(crate) curvature: Option<CurvatureShape>,
    /// Whether the curvature is to be read off the trace.
    pub(crate) trace: bool,
    /// Where latent sites start, unconstrained, instead of at the guide's own choice.
    pub(crate) initial: BTreeMap<String, ArrayD<f64>>,
}

/// Where one site's numbers lie: in the vector of all unconstrained values, and in the inputs of the programs.
struct SitePlace {
    range: Range<usize>,
    /// Its part of one draw's noisy sum, if records touch it.
    frontier: Option<Range<usize>>,
    /// Its inputs of the per-record program, one for each draw.
    record_inputs: Vec<Option<InputId>>,
    prior_input: Option<InputId>,
    pullback_input: Option<InputId>,
}

/// A range of a flat vector that is copied into an input of the draw and of the pull-back program.
struct Feed {
    range: Range<usize>,
    draw_input: Option<InputId>,
    pullback_input: Option<InputId>,
}

/// Guide, prior and entropy: public functions of released values.
pub(crate) struct Shared {
    pub(crate) sites: Vec<GuideSite>,
    pub(crate) initial: Vec<f64>,
    /// Fingerprints of the programs of model and guide.
    pub(crate) fingerprint: String,
    /// Per-record inputs of fresh standard normals.
    pub(crate) record_noise: Vec<String>,
    /// Names of the guide's parameters, in the order of `initial`.
    pub(crate) layout: ParameterLayout,
    pub(crate) noise_elements: usize,
    /// Elements of one draw's noisy sum.
    pub(crate) frontier_elements: usize,
    draws: Draws,
    draw: Plan<f64>,
    prior: Plan<f64>,
    pullback: Plan<f64>,
    places: Vec<SitePlace>,
    parameters: Vec<Feed>,
    noise: Vec<NoiseFeeds>,
    /// Unconstrained values of each draw, one after the other.
    drawn: Vec<f64>,
    /// The cotangent that is pulled back.
    values: Vec<f64>,
    /// Where gradients are taken with respect to the guide's parameters.
    vanilla: Option<Vanilla>,
}

/// A range of the noise, and where it goes.
struct NoiseFeeds {
    draw: NoiseFeed,
    pullback: NoiseFeed,
}

fn cotangent_name(site: &str) -> String {
    format!("cotangent/{site}")
}

/// Checks what a guide has built, for guides may be anybody's.
fn check_guide(
    guide: &impl Guide,
    sites: &[GuideSite],
    program: &GuideProgram<'_>,
    noise: &Noise<'_>,
) -> Result<()> {
    let wrong = |problem: String| Err(Error::Guide { guide: guide.describe(), problem });
    if program.values.len() != sites.len() {
        return wrong(format!("gives {} values for {} sites", program.values.len(), sites.len()));
    }
    for (value, site) in program.values.iter().zip(sites) {
        if value.shape() != site.unconstrained_shape {
            return wrong(format!(
                "gives site '{}' of unconstrained shape {} a value of {}",
                site.name,
                site.unconstrained_shape,
                value.shape()
            ));
        }
    }
    if !program.entropy.shape().is_scalar() {
        return wrong(format!("has an entropy of shape {}, not a number", program.entropy.shape()));
    }
    for (k, parameter) in program.parameters.iter().enumerate() {
        let input = noise.graph().input(parameter.name.clone(), parameter.var.shape())?;
        if !input.is(parameter.var)
            || program.parameters[..k].iter().any(|other| other.name == parameter.name)
        {
            return wrong(format!(
                "has a parameter '{}' that is not an input of its own of that name",
                parameter.name
            ));
        }
        if parameter.initial.len() != parameter.var.shape().elements() {
            let (got, shape) = (parameter.initial.len(), parameter.var.shape());
            return wrong(format!(
                "starts parameter '{}' of shape {shape} with {got} numbers",
                parameter.name
            ));
        }
    }
    let known = |kind: &NoiseKind| matches!(kind, NoiseKind::StandardNormal | NoiseKind::Uniform);
    if let Some((_, kind, _)) = noise.inputs().iter().find(|(_, kind, _)| !known(kind)) {
        return wrong(format!("draws noise that is neither standard normal nor uniform: {kind:?}"));
    }
    Ok(())
}

impl Objective {
    /// Traces the model and the guide and plans all programs. `check` is given the model's trace before anything else is done with it: whether
    /// records fit it is found behind the wall.
    pub(crate) fn new(
        model: &impl Model,
        guide: &impl Guide,
        schema: &Schema,
        options: &Options<'_>,
        check: impl FnOnce(&Trace<'_>, &Graph) -> Result<()>,
    ) -> Result<Self> {
        let graph = Graph::new();
        let mut traced = Traced::new(model, &graph, schema)?;
        check(&traced.trace, &graph)?;
        for site in &mut traced.sites {
            if let Some(initial) = options.initial.get(&site.name) {
                site.initial = Some(initial.clone());
            }
        }
        let (gradient, curvature, vanilla) = if options.gradients == Gradients::Aligned {
            let (gradient, curvature) = record_programs(model, &graph, schema, &traced, options)?;
            (gradient, curvature, None)
        } else {
            let parts = Ingredients { model, graph: &graph, schema, traced: &traced, options };
            let target = GuideTarget::new(&traced.sites, schema, &traced.trace);
            let (gradient, vanilla) = parts.program(|noise| guide.build(target, noise))?;
            (gradient, None, Some(vanilla))
        };
        let (prior, prior_curvature) =
            prior_programs(&graph, &traced, options.curvature.is_some() || options.trace)?;

        // The guide's forward pass on one graph; its pull-back, with cotangents as inputs, on the same.
        let guide_graph = Graph::new();
        let mut noise = Noise::new(&guide_graph, "guide");
        let target = GuideTarget::new(&traced.sites, schema, &traced.trace);
        let program = guide.build(target, &mut noise)?;
        check_guide(guide, &traced.sites, &program, &noise)?;
        let draw = Plan::new(&Program::new(&guide_graph, &program.values)?);
        let density = [traced.log_likelihood, traced.trace.log_prior() + traced.trace.log_jacobian()];
        let guide_values: Vec<_> = program.values.iter().copied().chain([program.entropy]).collect();
        let fingerprint = format!(
            "{:032x} {:032x} {:032x}",
            gradient.program().fingerprint(),
            Program::new(&graph, &density)?.fingerprint(),
            Program::new(&guide_graph, &guide_values)?.fingerprint(),
        );
        let mut pairs = vec![(program.entropy, guide_graph.constant(1.0))];
        for (site, &value) in traced.sites.iter().zip(&program.values) {
            pairs.push((
                value,
                guide_graph.input(cotangent_name(&site.name), site.unconstrained_shape.clone())?,
            ));
        }
        let variables: Vec<_> = program.parameters.iter().map(|parameter| parameter.var).collect();
        let pullback = Plan::new(&Program::new(&guide_graph, &vector_jacobian(&pairs, &variables)?)?);

        let mut places = Vec::with_capacity(traced.sites.len());
        let (mut at, mut frontier_at) = (0, 0);
        for (site, &touched) in traced.sites.iter().zip(&traced.touched) {
            let elements = site.elements();
            let input = Unconstrained::input_name(&site.name);
            let frontier = touched.then(|| {
                frontier_at += elements;
                frontier_at - elements..frontier_at
            });
            let names = [input.clone(), Mirrored::input_name(&site.name)];
            places.push(SitePlace {
                range: at..at + elements,
                frontier,
                record_inputs: names
                    .iter()
                    .take(options.draws.number())
                    .map(|name| gradient.input(name))
                    .collect(),
                prior_input: prior.input(&input).ok(),
                pullback_input: pullback.input(&cotangent_name(&site.name)).ok(),
            });
            at += elements;
        }
        let layout = ParameterLayout::new(
            program.parameters.iter().map(|each| (each.name.clone(), each.initial.len())),
        );
        let parameters: Vec<_> = layout
            .iter()
            .map(|(name, range)| Feed {
                range,
                draw_input: draw.input(name).ok(),
                pullback_input: pullback.input(name).ok(),
            })
            .collect();
        let noise: Vec<_> = NoiseFeed::all(&draw, noise.inputs())
            .into_iter()
            .zip(NoiseFeed::all(&pullback, noise.inputs()))
            .map(|(draw, pullback)| NoiseFeeds { draw, pullback })
            .collect();
        let shared = Shared {
            fingerprint,
            layout,
            initial: program.parameters.iter().flat_map(|parameter| parameter.initial.clone()).collect(),
            noise_elements: noise.last().map_or(0, |feeds| feeds.draw.range.end),
            frontier_elements: frontier_at,
            draws: options.draws,
            drawn: vec![0.0; at * options.draws.number()],
            values: vec![0.0; at],
            vanilla,
            sites: traced.sites,
            record_noise: traced.record_noise,
            draw,
            prior,
            pullback,
            places,
            parameters,
            noise,
        };
        Ok(Self { gradient, shared, curvature, prior_curvature })
    }

    /// Whether records have latent values of their own.
    pub(crate) fn draws_for_records(&self) -> bool {
        !self.shared.record_noise.is_empty()
    }

    /// A latent value that no record touches, if there is one.
    pub(crate) fn untouched(&self) -> Option<&str> {
        let sites = self.shared.sites.iter().zip(self.shared.frontier());
        let mut untouched =
            sites.filter(|(site, frontier)| frontier.is_none() && site.kind != SiteKind::Param);
        untouched.next().map(|(site, _)| site.name.as_str())
    }

    #[cfg(test)]
    pub(crate) fn split(self) -> (RecordGradient<f64>, Shared) {
        (self.gradient, self.shared)
    }
}

/// The per-record programs: the gradient at all draws, and the curvature at the first.
fn record_programs<'g>(
    model: &impl Model,
    graph: &'g Graph,
    schema: &'g Schema,
    traced: &Traced<'g>,
    options: &Options<'_>,
) -> Result<(RecordGradient<f64>, Option<RecordGradient<f64>>)> {
    let frontier = traced.frontier();
    let term = match (options.weights, options.curvature) {
        (RecordWeights::Recognised, _) | (_, Some(_)) => traced.linear()?,
        _ => None,
    };
    let record = Record::new(graph, schema);
    let weight = options.weights.expression(term.as_ref(), options.clip_norm, graph, record)?;
    let weighted = |value: Var<'g>| weight.map_or(value, |weight| weight * value);
    let mut value = traced.log_likelihood;
    let mut arrays = frontier.clone();
    if options.draws == Draws::Antithetic {
        let mirrored = trace(model, graph, schema, Mirrored)?;
        let Some(other) = mirrored.record_log_likelihood() else {
            return Err(Error::NothingToInfer("observes nothing inside each_record when it is run again"));
        };
        let all: Vec<_> = mirrored.latents().filter_map(|site| site.unconstrained).collect();
        if all.len() != traced.inputs.len()
            || all.iter().zip(&traced.inputs).any(|(one, other)| one.shape() != other.shape())
        {
            return Err(Error::NothingToInfer("has other sites when it is run again"));
        }
        arrays.extend(all.iter().zip(&traced.touched).filter(|(_, touched)| **touched).map(|(&x, _)| x));
        value = (value + other) * options.draws.stacking();
    }
    let sites: Vec<usize> = match options.per_site {
        true => (0..options.draws.number()).flat_map(|_| 0..frontier.len()).collect(),
        false => vec![0; arrays.len()],
    };
    let gradient = RecordGradient::with_bounded_sums(weighted(value), &arrays, &sites)?;
    let curvature = match (options.curvature, &term) {
        (Some(shape), Some(term)) => Some(curvature_program(traced, term, weight, shape)?),
        (Some(_), None) => return Err(NOT_LINEAR),
        (None, _) => None,
    };
    Ok((gradient, curvature))
}

impl Shared {
    /// The sign of the noise in each draw.
    const SIGNS: [f64; 2] = [1.0, -1.0];

    fn feed(plan: &mut Plan<f64>, input: Option<InputId>, values: &[f64]) {
        if let Some(input) = input {
            plan.input_mut(input).copy_from_slice(values);
        }
    }

    /// The guide's draws, with parameters that have been found.
    pub(crate) fn simulation(&self, parameters: &[f64]) -> Simulation {
        let mut draw = self.draw.clone();
        for feed in &self.parameters {
            Self::feed(&mut draw, feed.draw_input, &parameters[feed.range.clone()]);
        }
        Simulation::new(draw, self.noise.iter().map(|feeds| feeds.draw.clone()).collect())
    }

    /// What the guide knows of its marginals, as far as it can be that.
    pub(crate) fn marginals(&self, guide: &impl Guide, parameters: &[f64]) -> Vec<Option<Marginal>> {
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

    /// Draws the sites' values and hands them to the per-record program.
    pub(crate) fn draw(&mut self, parameters: &[f64], noise: &[f64], gradient: &mut RecordGradient<f64>) {
        for feed in &self.parameters {
            let values = &parameters[feed.range.clone()];
            Self::feed(&mut self.draw, feed.draw_input, values);
            Self::feed(&mut self.pullback, feed.pullback_input, values);
        }
        let elements = self.values.len();
        for number in 0..self.draws.number() {
            for feeds in &self.noise {
                feeds.draw.fill(&mut self.draw, noise, Self::SIGNS[number]);
                if number == 0 {
                    feeds.pullback.fill(&mut self.pullback, noise, 1.0);
                }
            }
            self.draw.run();
            let drawn = &mut self.drawn[number * elements..][..elements];
            for (output, place) in self.places.iter().enumerate() {
                let value = self.draw.output(output);
                drawn[place.range.clone()].copy_from_slice(value);
                if let Some(input) = place.record_inputs[number] {
                    gradient.input_mut(input).copy_from_slice(value);
                }
            }
        }
        if let Some(vanilla) = &self.vanilla {
            vanilla.feed(parameters, noise, gradient);
        }
    }

    /// The gradient of the bound with respect to the guide's parameters, given the released gradient at the frontier of each draw.
    /// `noise` is that of the draws.
    ///
    /// With vanilla gradients what was released is with respect to the parameters already.
    pub(crate) fn pull_back(&mut self, noise: &[f64], released: &[f64], out: &mut [f64]) {
        if let Some(vanilla) = self.vanilla.take() {
            match vanilla.with_prior {
                true => out.fill(0.0),
                false => self.pull_back(noise, &vanilla.nothing, out),
            }
            vanilla.add(released, out);
            self.vanilla = Some(vanilla);
            return;
        }
        let (draws, elements) = (self.draws.number(), self.values.len());
        // The mean over the draws of √2 S± where there are two.
        let stacking = 1.0 / self.draws.stacking();
        for number in 0..draws {
            if number > 0 {
                for feeds in &self.noise {
                    feeds.pullback.fill(&mut self.pullback, noise, Self::SIGNS[number]);
                }
            }
            let drawn = &self.drawn[number * elements..][..elements];
            for place in &self.places {
                Self::feed(&mut self.prior, place.prior_input, &drawn[place.range.clone()]);
            }
            self.prior.run();
            let released = &released[number * self.frontier_elements..][..self.frontier_elements];
            for (output, place) in self.places.iter().enumerate() {
                let total = &mut self.values[place.range.clone()];
                total.copy_from_slice(self.prior.output(output));
                if let Some(frontier) = &place.frontier {
                    let released = &released[frontier.clone()];
                    total.iter_mut().zip(released).for_each(|(total, x)| *total += stacking * x);
                }
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

    /// Adds the mean over the draws of the frontier's values, and of the released gradients there.
    pub(crate) fn add_to_means(&self, released: &[f64], values: &mut [f64], gradients: &mut [f64]) {
        let (draws, elements) = (self.draws.number(), self.values.len());
        let share = 1.0 / draws as f64;
        let stacking = share / self.draws.stacking();
        for number in 0..draws {
            let drawn = &self.drawn[number * elements..][..elements];
            for place in &self.places {
                if let Some(frontier) = &place.frontier {
                    let drawn = &drawn[place.range.clone()];
                    values[frontier.clone()].iter_mut().zip(drawn).for_each(|(sum, x)| *sum += share * x);
                }
            }
            let released = &released[number * self.frontier_elements..][..self.frontier_elements];
            gradients.iter_mut().zip(released).for_each(|(sum, x)| *sum += stacking * x);
        }
    }

    /// The draws of a step.
    pub(crate) fn draws(&self) -> Draws {
        self.draws
    }

    /// The frontier's values at one of the draws, and the released gradient of the log-likelihood there.
    pub(crate) fn frontier_at(
        &self,
        draw: usize,
        released: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) {
        let drawn = &self.drawn[draw * self.values.len()..][..self.values.len()];
        for place in &self.places {
            if let Some(frontier) = &place.frontier {
                values[frontier.clone()].copy_from_slice(&drawn[place.range.clone()]);
            }
        }
        let released = &released[draw * self.frontier_elements..][..self.frontier_elements];
        let scale = 1.0 / self.draws.stacking();
        gradients.iter_mut().zip(released).for_each(|(gradient, x)| *gradient = scale * x);
    }

    /// For each site, its part of one draw's noisy sum.
    pub(crate) fn frontier(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        self.places.iter().map(|place| place.frontier.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guides::AutoNormal;
    use ndarray::{Array1, Array2, ArrayD};
    use ppl_core::{Column, Constraint, Ctx, Distribution, Records, log_density};
    use ppl_distributions::{Bernoulli, HalfNormal, Normal};
    use std::collections::BTreeMap;

    /// Every kind of site: mapped, shared by another prior, touched by records and not, and a parameter.
    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let spread = ctx.sample("spread", HalfNormal::new(2.0))?;
        let w = ctx.sample("w", Normal::new(0.0, spread).iid(2))?;
        let slope = ctx.param("slope", 1.5, Constraint::Positive)?;
        let noise = ctx.sample("noise", HalfNormal::new(1.0))?;
        ctx.each_record(|ctx, record| {
            let fit = record.get("x")?.dot(w) * slope;
            ctx.observe("y", Normal::new(fit, noise), record.get("y")?)?;
            ctx.observe("z", Bernoulli::from_logit(fit), record.get("z")?)
        })
    }

    /// One draw, no weights, nothing besides.
    fn plain() -> Options<'static> {
        Options {
            draws: Draws::Single,
            weights: &RecordWeights::None,
            gradients: Gradients::Aligned,
            stated_records: 1.0,
            clip_norm: 1.0,
            per_site: false,
            curvature: None,
            trace: false,
            initial: BTreeMap::new(),
        }
    }

    fn number(k: usize) -> f64 {
        ((k as f64 * 78.233 + 1.7).sin() * 43758.5453).fract()
    }

    fn records() -> Records {
        Records::from_columns([
            ("x", Column::from(Array2::from_shape_fn((8, 2), |(i, j)| number(2 * i + j)))),
            ("y", Column::from(Array1::from_shape_fn(8, |i| number(i + 50)))),
            ("z", Column::from(Array1::from_shape_fn(8, |i| f64::from(number(i + 90) > 0.0)))),
        ])
        .unwrap()
    }

    /// The bound for one draw, computed the slow way: guide by its formula, model by `log_density`.
    fn bound(parameters: &[f64], noise: &[f64], data: &Records) -> f64 {
        // Order of the guide's parameters: spread (loc, log scale), w (2 loc, 2 log scale), slope, noise (loc, log scale).
        let u =
            |loc: usize, log_scale: usize, z: usize| parameters[loc] + parameters[log_scale].exp() * noise[z];
        let (spread, w, slope, sigma) = (u(0, 1, 0), [u(2, 4, 1), u(3, 5, 2)], parameters[6], u(7, 8, 3));
        let scalar = |x: f64| ArrayD::from_elem(vec![], x);
        let values = BTreeMap::from([
            ("spread".to_owned(), scalar(spread.exp())),
            ("w".to_owned(), Array1::from(w.to_vec()).into_dyn()),
            ("slope".to_owned(), scalar(slope.exp())),
            ("noise".to_owned(), scalar(sigma.exp())),
        ]);
        let entropy = parameters[1] + parameters[4] + parameters[5] + parameters[8];
        // Log Jacobians of exp for the latent sites; a parameter has no density.
        log_density(&model, data, &values).unwrap().total() + spread + sigma + entropy
    }

    #[test]
    fn what_the_objective_would_get_wrong_is_refused_with_the_site() {
        fn told(model: &impl Model) -> String {
            match Objective::new(model, &AutoNormal::new(), records().schema(), &plain(), |_, _| Ok(())) {
                Ok(_) => panic!("the model should have been refused"),
                Err(error) => error.to_string(),
            }
        }
        let local = |ctx: &mut Ctx<'_>| {
            let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
            ctx.each_record(|ctx, record| {
                let effect = ctx.sample("effect", Normal::new(w, 1.0))?;
                ctx.observe("y", Normal::new(effect, 1.0), record.get("y")?)
            })
        };
        let refused = told(&local);
        assert!(
            refused.contains("guides of shared values")
                && refused.contains("'effect', a latent value inside the record plate")
                && refused.contains("programs.rs:"),
            "{refused}"
        );
        let given = ArrayD::zeros(vec![8]);
        let refused = told(&ppl_core::handlers::condition(local, [("effect", given)]));
        assert!(refused.contains("'given/effect'"), "{refused}");
        let hidden = ppl_core::handlers::block(ppl_core::handlers::seed(model, 1), ["spread"]);
        let refused = told(&hidden);
        assert!(refused.contains("'draw/spread/noise/0'"), "{refused}");
        let edge = |ctx: &mut Ctx<'_>| {
            let p = ctx.param("p", 0.0, Constraint::Interval(0.0, 1.0))?;
            ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(p, 1.0), record.get("y")?))
        };
        let refused = told(&edge);
        assert!(refused.contains("site 'p'") && refused.contains("on the boundary"), "{refused}");
        let nothing = |ctx: &mut Ctx<'_>| ctx.sample("w", Normal::new(0.0, 1.0)).map(|_| ());
        assert_eq!(told(&nothing), "this model observes nothing inside each_record");
    }

    #[test]
    fn the_gradient_of_the_bound_is_a_finite_difference() {
        let data = records();
        let options = plain();
        let (mut gradient, mut shared) =
            Objective::new(&model, &AutoNormal::new(), data.schema(), &options, |_, _| Ok(()))
                .unwrap()
                .split();
        assert_eq!((shared.initial.len(), shared.noise_elements), (9, 4));
        // `spread` only shapes the prior of `w`: no record touches it, so it gets no noise.
        assert_eq!(shared.frontier_elements, 4);
        assert!((shared.initial[6] - 1.5_f64.ln()).abs() < 1e-15);
        let parameters: Vec<f64> = (0..9).map(|k| 0.4 * number(k + 300)).collect();
        let noise: Vec<f64> = (0..4).map(|k| 1.3 * number(k + 400)).collect();
        shared.draw(&parameters, &noise, &mut gradient);
        let all: Vec<u64> = (0..8).collect();
        let mut released = vec![0.0; shared.frontier_elements];
        gradient.weighted_sum(&data, &all, |_, weights| weights.fill(1.0), &mut released).unwrap();
        let mut got = vec![0.0; 9];
        shared.pull_back(&noise, &released, &mut got);
        for k in 0..9 {
            let h = 1e-5;
            let at = |delta: f64| {
                let mut moved = parameters.clone();
                moved[k] += delta;
                bound(&moved, &noise, &data)
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            assert!((slope - got[k]).abs() <= 1e-7 * (1.0 + slope.abs()), "{k}: {slope} against {}", got[k]);
        }
    }
}
