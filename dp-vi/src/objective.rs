//! The evidence lower bound as array programs: a per-record part behind the wall, and a shared part in front of it.

use crate::error::{Error, Result};
use crate::guide::{Guide, GuideProgram, GuideSite};
use crate::optimiser::ParameterLayout;
use crate::sensitive::Sensitive;
use ppl_core::{
    Graph, InputId, Model, Noise, NoiseKind, Plan, Program, RecordGradient, Records, Unconstrained, gradient,
    trace, vector_jacobian,
};
use std::ops::Range;

/// All that a step computes.
pub(crate) struct Objective {
    pub(crate) gradient: RecordGradient<f64>,
    shared: Shared,
}

/// Where one site's numbers lie: in the vector of all unconstrained values, and in the inputs of the programs.
struct SitePlace {
    range: Range<usize>,
    /// Its part of the noisy sum, if records touch it.
    frontier: Option<Range<usize>>,
    record_input: Option<InputId>,
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
    /// Fingerprints of all programs.
    pub(crate) fingerprint: String,
    /// Names of the guide's parameters, in the order of `initial`.
    pub(crate) layout: ParameterLayout,
    pub(crate) noise_elements: usize,
    pub(crate) frontier_elements: usize,
    draw: Plan<f64>,
    prior: Plan<f64>,
    pullback: Plan<f64>,
    places: Vec<SitePlace>,
    parameters: Vec<Feed>,
    noise: Vec<Feed>,
    /// Unconstrained values of the current draw, and the cotangent that is pulled back.
    values: Vec<f64>,
}

fn cotangent_name(site: &str) -> String {
    format!("cotangent/{site}")
}

/// An error that says where the records do not fit, but quotes none of them.
fn without_the_value(error: ppl_core::Error) -> Error {
    match error {
        ppl_core::Error::OutsideSupport { site, support, .. } => Error::Observation { site, support },
        ppl_core::Error::Index { rows, source_line, .. } => {
            Error::Index { rows, source_line: source_line.to_string() }
        }
        other => Error::Model(other),
    }
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
        if value.shape() != site.shape {
            return wrong(format!(
                "gives site '{}' of shape {} a value of {}",
                site.name,
                site.shape,
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
    if noise.inputs().iter().any(|(_, kind, _)| *kind != NoiseKind::StandardNormal) {
        return wrong("draws noise other than standard normal".to_owned());
    }
    Ok(())
}

impl Objective {
    /// Traces the model and the guide and plans all programs.
    pub(crate) fn new(model: &impl Model, guide: &impl Guide, records: &Sensitive<Records>) -> Result<Self> {
        let graph = Graph::new();
        let trace = trace(model, &graph, records.schema(), Unconstrained)?;
        trace.check_observations(records.behind_the_wall()).map_err(without_the_value)?;
        graph.check_indices(records.behind_the_wall()).map_err(without_the_value)?;
        let sites: Vec<GuideSite> = trace
            .latents()
            .map(|site| GuideSite {
                name: site.name.clone(),
                shape: site.shape.clone(),
                support: site.support,
                kind: site.kind,
                initial: site.initial.as_ref().map(|initial| initial.mapv(|x| site.support.unconstrain(x))),
            })
            .collect();
        let inputs: Vec<_> = trace.latents().filter_map(|site| site.unconstrained).collect();
        let Some(log_likelihood) = trace.record_log_likelihood() else {
            return Err(Error::NothingToInfer("observes nothing inside each_record"));
        };
        // The frontier: only arrays that records touch, for noise on the others would be wasted.
        let everything = RecordGradient::<f64>::new(log_likelihood, &inputs)?;
        let touched: Vec<bool> = (0..inputs.len()).map(|site| everything.is_touched(site)).collect();
        let frontier: Vec<_> =
            inputs.iter().zip(&touched).filter(|(_, touched)| **touched).map(|(&x, _)| x).collect();
        if frontier.iter().all(|array| array.shape().elements() == 0) {
            return Err(Error::NothingToInfer("has no latent value or parameter that the records depend on"));
        }
        let record_gradient = match frontier.len() == inputs.len() {
            true => everything,
            false => RecordGradient::<f64>::new(log_likelihood, &frontier)?,
        };

        let log_density = trace.log_prior() + trace.log_jacobian();
        let mut fingerprint = format!("{:032x}", record_gradient.program().fingerprint());
        let mut plan = |program: Program| {
            fingerprint = format!("{fingerprint} {:032x}", program.fingerprint());
            Plan::new(&program)
        };
        let prior = plan(Program::new(&graph, &gradient(log_density, &inputs)?)?);

        // The guide's forward pass on one graph; its pull-back, with cotangents as inputs, on the same.
        let guide_graph = Graph::new();
        let mut noise = Noise::new(&guide_graph, "guide");
        let program = guide.build(&sites, &mut noise)?;
        check_guide(guide, &sites, &program, &noise)?;
        let draw = plan(Program::new(&guide_graph, &program.values)?);
        let mut pairs = vec![(program.entropy, guide_graph.constant(1.0))];
        for (site, &value) in sites.iter().zip(&program.values) {
            pairs.push((value, guide_graph.input(cotangent_name(&site.name), site.shape.clone())?));
        }
        let variables: Vec<_> = program.parameters.iter().map(|parameter| parameter.var).collect();
        let pullback = plan(Program::new(&guide_graph, &vector_jacobian(&pairs, &variables)?)?);

        let mut places = Vec::with_capacity(sites.len());
        let (mut at, mut frontier_at) = (0, 0);
        for (site, &touched) in sites.iter().zip(&touched) {
            let elements = site.shape.elements();
            let input = Unconstrained::input_name(&site.name);
            let frontier = touched.then(|| {
                frontier_at += elements;
                frontier_at - elements..frontier_at
            });
            places.push(SitePlace {
                range: at..at + elements,
                frontier,
                record_input: record_gradient.input(&input),
                prior_input: prior.input(&input).ok(),
                pullback_input: pullback.input(&cotangent_name(&site.name)).ok(),
            });
            at += elements;
        }
        let feeds = |named: Vec<(String, usize)>| {
            let mut at = 0;
            let feed = |(name, elements): (String, usize)| {
                at += elements;
                Feed {
                    range: at - elements..at,
                    draw_input: draw.input(&name).ok(),
                    pullback_input: pullback.input(&name).ok(),
                }
            };
            named.into_iter().map(feed).collect::<Vec<_>>()
        };
        let parameters =
            feeds(program.parameters.iter().map(|each| (each.name.clone(), each.initial.len())).collect());
        let noise =
            feeds(noise.inputs().iter().map(|(name, _, shape)| (name.clone(), shape.elements())).collect());
        let shared = Shared {
            fingerprint,
            layout: ParameterLayout::new(
                program.parameters.iter().map(|each| (each.name.clone(), each.initial.len())),
            ),
            initial: program.parameters.iter().flat_map(|parameter| parameter.initial.clone()).collect(),
            noise_elements: noise.last().map_or(0, |feed| feed.range.end),
            frontier_elements: frontier_at,
            values: vec![0.0; at],
            sites,
            draw,
            prior,
            pullback,
            places,
            parameters,
            noise,
        };
        Ok(Self { gradient: record_gradient, shared })
    }

    pub(crate) fn split(self) -> (RecordGradient<f64>, Shared) {
        (self.gradient, self.shared)
    }
}

impl Shared {
    /// Draws the sites' values and hands them to the per-record program.
    pub(crate) fn draw(&mut self, parameters: &[f64], noise: &[f64], gradient: &mut RecordGradient<f64>) {
        for (feeds, from) in [(&self.parameters, parameters), (&self.noise, noise)] {
            for feed in feeds {
                if let Some(input) = feed.draw_input {
                    self.draw.input_mut(input).copy_from_slice(&from[feed.range.clone()]);
                }
                if let Some(input) = feed.pullback_input {
                    self.pullback.input_mut(input).copy_from_slice(&from[feed.range.clone()]);
                }
            }
        }
        self.draw.run();
        for (output, place) in self.places.iter().enumerate() {
            let value = self.draw.output(output);
            if let Some(input) = place.record_input {
                gradient.input_mut(input).copy_from_slice(value);
            }
            if let Some(input) = place.prior_input {
                self.prior.input_mut(input).copy_from_slice(value);
            }
        }
    }

    /// The gradient of the bound with respect to the guide's parameters, given the released gradient at the frontier.
    pub(crate) fn pull_back(&mut self, released: &[f64], out: &mut [f64]) {
        self.prior.run();
        for (output, place) in self.places.iter().enumerate() {
            let total = &mut self.values[place.range.clone()];
            total.copy_from_slice(self.prior.output(output));
            if let Some(frontier) = &place.frontier {
                total.iter_mut().zip(&released[frontier.clone()]).for_each(|(total, x)| *total += x);
            }
            if let Some(input) = place.pullback_input {
                self.pullback.input_mut(input).copy_from_slice(total);
            }
        }
        self.pullback.run();
        for (output, feed) in self.parameters.iter().enumerate() {
            out[feed.range.clone()].copy_from_slice(self.pullback.output(output));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guide::AutoNormal;
    use ndarray::{Array1, Array2, ArrayD};
    use ppl_core::{Column, Constraint, Ctx, Distribution, log_density};
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
    fn the_gradient_of_the_bound_is_a_finite_difference() {
        let data = records();
        let behind = Sensitive::new(data.clone());
        let (mut gradient, mut shared) = Objective::new(&model, &AutoNormal::new(), &behind).unwrap().split();
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
        shared.pull_back(&released, &mut got);
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
