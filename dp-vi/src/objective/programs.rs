//! The evidence lower bound as array programs: a per-record part behind the wall, and a shared part in front
//! of it.

use super::frontier::latent::{Latent, LatentPlace};
use super::frontier::{Estimator, Frontier, parameters};
use super::shared::{Drawn, Feed, NoiseFeeds, Shared, SitePlace};
use crate::error::{Error, Result};
use crate::guides::guide::{Guide, GuideProgram, GuideSite, GuideTarget};
use crate::objective::coordinates::{Coordinates, Located};
use crate::objective::curvature::{CurvatureShape, curvature_program, score_program};
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::noise_feed::NoiseFeed;
use crate::objective::prior::{PriorCurvature, prior_programs};
use crate::objective::traced::{Mirrored, Traced};
use crate::objective::weights::{RecordWeights, with_bounded_residual};
use crate::optimiser::ParameterLayout;
use ndarray::ArrayD;
use ppl_core::transform::{LinearPredictor, ScalarPredictor, linear_predictor};
use ppl_core::{
    ExecutionPlan, Graph, Model, Noise, NoiseKind, Program, Record, RecordGradient, Schema, SiteKind, Trace,
    Unconstrained, Var, trace, vector_jacobian,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that a step computes.
pub(crate) struct Objective {
    pub(crate) gradient: RecordGradient<f64>,
    pub(crate) estimator: Estimator,
    /// The curvature's program, if one is wanted.
    pub(crate) curvature: Option<RecordGradient<f64>>,
    pub(crate) prior_curvature: Option<PriorCurvature>,
}

/// What goes into the objective beside model, guide and the columns of the records.
pub(crate) struct Options<'a> {
    pub(crate) draws: DrawScheme,
    pub(crate) weights: &'a RecordWeights,
    pub(crate) gradients: Gradients,
    /// `N₀`, for gradients with a share of the prior.
    pub(crate) stated_records: f64,
    /// `C`, which recognised weights are made for.
    pub(crate) clip_norm: f64,
    /// What `|∂ℓ/∂η|` is at most under recognised weights, over the likelihood's own bound: 1/2 where
    /// residuals are weighted, else 1.
    pub(crate) residual_bound: f64,
    /// Whether norms are wanted for each site by itself.
    pub(crate) per_site: bool,
    /// Which part of the curvature is wanted.
    pub(crate) curvature: Option<CurvatureShape>,
    /// Whether that is the second moments of scores.
    pub(crate) by_scores: bool,
    /// Whether the curvature is to be read off the trace.
    pub(crate) trace: bool,
    /// Where latent sites start, unconstrained, instead of at the guide's own choice.
    pub(crate) initial: BTreeMap<String, ArrayD<f64>>,
    /// What the values that records touch are looked for in, instead of themselves.
    pub(crate) coordinates: Option<Arc<Coordinates>>,
}

fn cotangent_name(site: &str) -> String {
    format!("cotangent/{site}")
}

/// Checks what a guide has built, for guides may be anybody's.
fn check_guide(
    guide: &dyn Guide,
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
    /// Traces the model and the guide and plans all programs. `check` is given the model's trace before
    /// anything else is done with it: whether records fit it is found behind the wall.
    pub(crate) fn new(
        model: &dyn Model,
        guide: &dyn Guide,
        schema: &Schema,
        options: &Options<'_>,
        check: &dyn Fn(&Trace<'_>, &Graph) -> Result<()>,
    ) -> Result<Self> {
        let graph = Graph::new();
        let mut traced = Traced::located(model, (&graph, schema), options.coordinates.as_ref())?;
        check(&traced.trace, &graph)?;
        start_at(&mut traced.sites, &options.initial);
        if let Some(coordinates) = &options.coordinates {
            start_inside(&mut traced.sites, coordinates);
        }
        let (gradient, curvature, own) = if options.gradients == Gradients::Aligned {
            let (gradient, curvature) = record_programs(model, &graph, schema, &traced, options)?;
            (gradient, curvature, None)
        } else {
            let target = GuideTarget::new(&traced.sites, schema, &traced.trace);
            let own = parameters::program(model, (&graph, schema), options, &traced, |noise| {
                guide.build(target, noise)
            });
            let (gradient, own) = own?;
            (gradient, None, Some(own))
        };
        let (prior, prior_curvature) =
            prior_programs(&graph, &traced, options.curvature.is_some() || options.trace)?;

        let print = format!("{:032x} ", gradient.program().fingerprint());
        let (mut latent, mut frontier_at) = (Vec::new(), 0);
        let mut at = 0;
        for (site, &touched) in traced.sites.iter().zip(&traced.touched) {
            let (elements, input) = (site.elements(), Unconstrained::input_name(&site.name));
            let frontier = touched.then(|| {
                frontier_at += elements;
                frontier_at - elements..frontier_at
            });
            let names = [input, Mirrored::input_name(&site.name)];
            let inputs = names.iter().take(options.draws.number()).map(|name| gradient.input(name)).collect();
            latent.push(LatentPlace { range: at..at + elements, frontier, inputs });
            at += elements;
        }
        let mut shared = shared_programs((&graph, schema, &traced), guide, prior, options.draws, &print)?;
        if let Some(coordinates) = &options.coordinates {
            shared.locate(guide, (schema, &traced), coordinates)?;
        }
        let frontier = match own {
            Some(own) => Frontier::Parameters(own),
            None => Frontier::Latent(Latent { places: latent, elements: frontier_at }),
        };
        Ok(Self { gradient, estimator: Estimator { shared, frontier }, curvature, prior_curvature })
    }

    /// Whether records have latent values of their own.
    pub(crate) fn draws_for_records(&self) -> bool {
        !self.estimator.shared.record_noise.is_empty()
    }

    /// A latent value that no record touches, if there is one.
    pub(crate) fn untouched(&self) -> Option<&str> {
        let ranges = self.estimator.ranges();
        let mut sites = self.estimator.shared.sites.iter().zip(ranges);
        let untouched = sites.find(|(site, frontier)| frontier.is_none() && site.kind != SiteKind::Param);
        untouched.map(|(site, _)| site.name.as_str())
    }
}

/// What a run without records computes: guide, prior with what is observed of public constants, and entropy.
pub(crate) fn public_programs(
    model: &dyn Model,
    guide: &dyn Guide,
    draws: DrawScheme,
    initial: &BTreeMap<String, ArrayD<f64>>,
) -> Result<Shared> {
    let (graph, no_columns) = (Graph::new(), Schema::default());
    let mut traced = Traced::public(model, &graph, &no_columns)?;
    start_at(&mut traced.sites, initial);
    let (prior, _) = prior_programs(&graph, &traced, false)?;
    shared_programs((&graph, &no_columns, &traced), guide, prior, draws, "")
}

/// Where sites start, as far as that was said.
fn start_at(sites: &mut [GuideSite], initial: &BTreeMap<String, ArrayD<f64>>) {
    for site in sites {
        if let Some(initial) = initial.get(&site.name) {
            site.initial = Some(initial.clone());
        }
    }
}

/// Starts of values as starts of coordinates; what has no start begins at their origin.
fn start_inside(sites: &mut [GuideSite], coordinates: &Coordinates) {
    let mut values = coordinates.centre().to_vec();
    for (name, range) in coordinates.sites() {
        let site = sites.iter().find(|site| site.name == name);
        if let Some(initial) = site.and_then(|site| site.initial.as_ref()) {
            values[range].iter_mut().zip(initial).for_each(|(to, from)| *to = *from);
        }
    }
    let inside = coordinates.inward(&values);
    for (name, range) in coordinates.sites() {
        if let Some(site) = sites.iter_mut().find(|site| site.name == name) {
            let mut values = inside[range].iter().copied();
            let shape = site.unconstrained_shape.dims();
            site.initial = Some(ArrayD::from_shape_simple_fn(shape, || values.next().unwrap_or(0.0)));
        }
    }
}

/// The programs in front of the wall. `print` is the fingerprint of those behind it.
fn shared_programs(
    (graph, schema, traced): (&Graph, &Schema, &Traced<'_>),
    guide: &dyn Guide,
    prior: ExecutionPlan<f64>,
    draws: DrawScheme,
    print: &str,
) -> Result<Shared> {
    // The guide's forward pass on one graph; its pull-back, with cotangents as inputs, on the same.
    let guide_graph = Graph::new();
    let mut noise = Noise::new(&guide_graph, "guide");
    let target = GuideTarget::new(&traced.sites, schema, &traced.trace);
    let program = guide.build(target, &mut noise)?;
    check_guide(guide, &traced.sites, &program, &noise)?;
    let draw = ExecutionPlan::new(&Program::new(&guide_graph, &program.values)?);
    let density = [traced.log_likelihood, traced.trace.log_prior() + traced.trace.log_jacobian()];
    let guide_values: Vec<_> = program.values.iter().copied().chain([program.entropy]).collect();
    let fingerprint = format!(
        "{print}{:032x} {:032x}",
        Program::new(graph, &density)?.fingerprint(),
        Program::new(&guide_graph, &guide_values)?.fingerprint(),
    );
    let mut pairs = vec![(program.entropy, guide_graph.constant(1.0))];
    for (site, &value) in traced.sites.iter().zip(&program.values) {
        pairs.push((value, guide_graph.input(cotangent_name(&site.name), site.unconstrained_shape.clone())?));
    }
    let variables: Vec<_> = program.parameters.iter().map(|parameter| parameter.var).collect();
    let pullback = ExecutionPlan::new(&Program::new(&guide_graph, &vector_jacobian(&pairs, &variables)?)?);
    let (mut places, mut at) = (Vec::new(), 0);
    for site in &traced.sites {
        places.push(SitePlace {
            range: at..at + site.elements(),
            prior_input: prior.input(&Unconstrained::input_name(&site.name)).ok(),
            pullback_input: pullback.input(&cotangent_name(&site.name)).ok(),
        });
        at += site.elements();
    }
    let layout =
        ParameterLayout::new(program.parameters.iter().map(|each| (each.name.clone(), each.initial.len())));
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
    Ok(Shared {
        fingerprint,
        layout,
        initial: program.parameters.iter().flat_map(|parameter| parameter.initial.clone()).collect(),
        noise_elements: noise.last().map_or(0, |feeds| feeds.draw.range.end),
        drawn: Drawn { draws, values: vec![0.0; at * draws.number()] },
        cotangent: vec![0.0; at],
        sites: traced.sites.clone(),
        located: None,
        record_noise: traced.record_noise.clone(),
        draw,
        prior,
        pullback,
        places,
        parameters,
        noise,
    })
}

/// The per-record programs: the gradient at all draws, and the curvature at the first.
fn record_programs<'g>(
    model: &dyn Model,
    graph: &'g Graph,
    schema: &'g Schema,
    traced: &Traced<'g>,
    options: &Options<'_>,
) -> Result<(RecordGradient<f64>, Option<RecordGradient<f64>>)> {
    let frontier = traced.frontier();
    let term = match options.weights.recognises() || options.curvature.is_some() {
        true => traced.linear()?,
        false => None,
    };
    // What the score of a Bernoulli is weighted by; `None` for other likelihoods.
    let bounded = |term: Option<&LinearPredictor<'g>>| {
        term.filter(|_| options.residual_bound < 1.0).and_then(|term| term.softplus)
    };
    let record = Record::new(graph, schema);
    let norm = options.clip_norm / options.residual_bound;
    let weight = options.weights.expression((term.as_ref(), &frontier), norm, graph, record)?;
    let weighted = |value: Var<'g>| weight.map_or(value, |weight| weight * value);
    let residual = bounded(term.as_ref());
    let mut value = residual.map_or(traced.log_likelihood, |term| with_bounded_residual(&term));
    let mut arrays = frontier.clone();
    if options.draws == DrawScheme::Antithetic {
        let mirrored = match &options.coordinates {
            None => trace(model, graph, schema, Mirrored)?,
            Some(coordinates) => {
                trace(model, graph, schema, Located::new(coordinates.clone(), Mirrored::input_name))?
            }
        };
        let Some(other) = mirrored.record_log_likelihood() else {
            return Err(Error::NothingToInfer("observes nothing inside each_record when it is run again"));
        };
        let all: Vec<_> = mirrored.latents().filter_map(|site| site.unconstrained).collect();
        if all.len() != traced.inputs.len()
            || all.iter().zip(&traced.inputs).any(|(one, other)| one.shape() != other.shape())
        {
            return Err(Error::NothingToInfer("has other sites when it is run again"));
        }
        let touched: Vec<_> =
            all.iter().zip(&traced.touched).filter(|(_, touched)| **touched).map(|(&x, _)| x).collect();
        let other = match residual {
            None => other,
            Some(_) => match bounded(linear_predictor(other, &touched)?.as_ref()) {
                Some(term) => with_bounded_residual(&term),
                None => return Err(Error::NothingToInfer("has another likelihood when it is run again")),
            },
        };
        arrays.extend(touched);
        value = (value + other) * options.draws.stacking();
    }
    let sites: Vec<usize> = match options.per_site {
        true => (0..options.draws.number()).flat_map(|_| 0..frontier.len()).collect(),
        false => vec![0; arrays.len()],
    };
    let gradient = RecordGradient::with_bounded_sums(weighted(value), &arrays, &sites)?;
    let curvature = match (options.curvature, &term) {
        (None, _) => None,
        (Some(shape), Some(LinearPredictor { predictor, design, .. })) => {
            Some(curvature_program(traced, (*predictor, design), (weight, residual), shape)?)
        }
        (Some(shape), None) if options.by_scores => Some(score_program(traced, shape)?),
        (Some(shape), None) => match traced.predictor()? {
            Some(ScalarPredictor { predictor, design, .. }) => {
                Some(curvature_program(traced, (predictor, &design), (None, None), shape)?)
            }
            None => return Err(Error::NothingToInfer("has another likelihood than was planned for")),
        },
    };
    Ok((gradient, curvature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guides::AutoNormal;
    use crate::made_up::{model, number, options, records};
    use ndarray::{Array1, Array2, ArrayD};
    use ppl_core::{Column, Constraint, Ctx, Distribution, Records, log_density};
    use ppl_distributions::{Bernoulli, HalfNormal, Normal};
    use std::collections::BTreeMap;

    /// The bound for one draw, computed the slow way: guide by its formula, model by `log_density`.
    fn bound(parameters: &[f64], noise: &[f64], data: &Records) -> f64 {
        // Order of the guide's parameters: spread (loc, log scale), w (2 loc, 2 log scale), slope, noise
        // (loc, log scale).
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
        fn told(model: &dyn Model) -> String {
            match Objective::new(model, &AutoNormal::new(), records(8).schema(), &options(), &|_, _| Ok(())) {
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
        let refused = told(&nothing);
        assert!(refused.starts_with("this model observes nothing inside each_record;"), "{refused}");
        assert!(refused.ends_with("fit_public"), "{refused}");
    }

    /// Scores and curvatures of a logistic regression whose residuals are weighted, against the formulas; and
    /// that scores vanish in expectation, at any prediction.
    #[test]
    fn weighted_residuals_are_at_most_one_half_and_unbiased() {
        let logistic = |ctx: &mut Ctx<'_>| {
            let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
            ctx.each_record(|ctx, record| {
                ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
            })
        };
        // Two records at each place, one for each outcome.
        let places: Vec<[f64; 2]> = (0..40).map(|i| [4.0 * number(i), 4.0 * number(i + 500)]).collect();
        let x = Array2::from_shape_fn((80, 2), |(i, j)| places[i / 2][j]);
        let y = Array1::from_shape_fn(80, |i| (i % 2) as f64);
        let data = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
        let clip = 0.8;
        for draws in [DrawScheme::Single, DrawScheme::Antithetic] {
            let options = Options {
                draws,
                weights: &RecordWeights::Recognised,
                residual_bound: 0.5,
                clip_norm: clip,
                curvature: Some(CurvatureShape::Full),
                ..options()
            };
            let objective =
                Objective::new(&logistic, &AutoNormal::new(), data.schema(), &options, &|_, _| Ok(()));
            let Objective { mut gradient, mut estimator, curvature, .. } = objective.unwrap();
            let w = [0.9, -0.6];
            // Locations and log scales; without noise both draws of a pair are the location.
            estimator.draw(&[w[0], w[1], 0.0, 0.0], &[0.0, 0.0], &mut gradient);
            let mut curvature = curvature.unwrap();
            curvature.set("unconstrained/w", &w).unwrap();
            let sum = |program: &mut RecordGradient<f64>, record: u64| {
                let mut sum = vec![0.0; program.dimension()];
                program.weighted_sum(&data, &[record], |_, weights| weights.fill(1.0), &mut sum).unwrap();
                sum
            };
            for (i, x) in places.iter().enumerate() {
                let eta = x[0] * w[0] + x[1] * w[1];
                let p = 1.0 / (1.0 + (-eta).exp());
                let length = x[0].hypot(x[1]);
                let weight = (2.0 * clip / length).min(1.0) * 0.5 / p.max(1.0 - p);
                let mut expected = [0.0; 2];
                for (y, probability) in [(0.0, 1.0 - p), (1.0, p)] {
                    let record = 2 * i as u64 + y as u64;
                    let got = sum(&mut gradient, record);
                    assert!(got.iter().map(|g| g * g).sum::<f64>().sqrt() <= clip * (1.0 + 1e-12));
                    // Both halves of a pair are divided by the root of two.
                    for (k, g) in got.iter().enumerate() {
                        let score = draws.stacking() * weight * (y - p) * x[k % 2];
                        assert!((g - score).abs() < 1e-13, "{g} {score}");
                        expected[k % 2] += probability * g;
                    }
                    let bend = weight * p * (1.0 - p);
                    let score = 0.3 * weight * bend * length * length;
                    let matrix = [
                        [bend * x[0] * x[0], bend * x[0] * x[1], 0.0],
                        [bend * x[1] * x[0], bend * x[1] * x[1], 0.0],
                        [0.0, 0.0, score],
                    ];
                    for (got, matrix) in sum(&mut curvature, record).iter().zip(matrix.as_flattened()) {
                        assert!((got - matrix).abs() < 1e-13, "{got} {matrix}");
                    }
                }
                assert!(expected.iter().all(|g| g.abs() < 1e-13));
            }
        }
    }

    /// Of other likelihoods a record's part of the curvature is the product of its score with itself, or the diagonal
    /// of that, against the gradient's own program.
    #[test]
    fn other_curvatures_are_products_of_scores() {
        let data = records(8);
        for shape in [CurvatureShape::Full, CurvatureShape::Diagonal] {
            let options = Options { draws: DrawScheme::Single, curvature: Some(shape), ..options() };
            let built = Objective::new(&model, &AutoNormal::new(), data.schema(), &options, &|_, _| Ok(()));
            let Objective { mut gradient, estimator, curvature, .. } = built.unwrap();
            let mut curvature = curvature.unwrap();
            for (k, site) in estimator.shared.sites.iter().enumerate() {
                let name = Unconstrained::input_name(&site.name);
                let values: Vec<f64> = (0..site.elements()).map(|j| 0.4 * number(10 * k + j + 300)).collect();
                // Sites that only shape a prior are no inputs.
                if gradient.input(&name).is_some() {
                    gradient.set(&name, &values).unwrap();
                    curvature.set(&name, &values).unwrap();
                }
            }
            let n = estimator.latent_elements();
            for record in 0..8 {
                let sum = |program: &mut RecordGradient<f64>| {
                    let mut sum = vec![0.0; program.dimension()];
                    program.weighted_sum(&data, &[record], |_, w| w.fill(1.0), &mut sum).unwrap();
                    sum
                };
                let (score, found) = (sum(&mut gradient), sum(&mut curvature));
                assert!(score.len() == n && score.iter().any(|g| g.abs() > 1e-3));
                for (at, product) in found.iter().enumerate() {
                    let expected = match shape {
                        CurvatureShape::Full => score[at / n] * score[at % n],
                        CurvatureShape::Diagonal => score[at] * score[at],
                    };
                    assert!(
                        (product - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                        "{product} {expected}"
                    );
                }
            }
        }
    }

    /// Only where a record's one Bernoulli is all there is to it are residuals weighted.
    #[test]
    fn other_likelihoods_keep_their_residuals() {
        let twice = |ctx: &mut Ctx<'_>| {
            let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
            ctx.each_record(|ctx, record| {
                let x: Var<'_> = record.get("y")?;
                ctx.factor("margin", -(x * w).softplus())
            })
        };
        let one = |ctx: &mut Ctx<'_>| {
            let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
            ctx.each_record(|ctx, record| ctx.observe("z", Bernoulli::from_logits(w), record.get("z")?))
        };
        let data = records(8);
        let survey =
            |model: &dyn Model| crate::objective::traced::Survey::new(model, data.schema(), true).unwrap();
        assert!(survey(&twice).is_linear && !survey(&twice).is_bernoulli);
        assert!(survey(&one).is_linear && survey(&one).is_bernoulli);
    }

    #[test]
    fn the_gradient_of_the_bound_is_a_finite_difference() {
        let (data, options) = (records(8), options());
        let Objective { mut gradient, mut estimator, .. } =
            Objective::new(&model, &AutoNormal::new(), data.schema(), &options, &|_, _| Ok(())).unwrap();
        assert_eq!((estimator.shared.initial.len(), estimator.shared.noise_elements), (9, 4));
        // `spread` only shapes the prior of `w`: no record touches it, so it gets no noise.
        assert_eq!(estimator.latent_elements(), 4);
        assert!((estimator.shared.initial[6] - 1.5_f64.ln()).abs() < 1e-15);
        let parameters: Vec<f64> = (0..9).map(|k| 0.4 * number(k + 300)).collect();
        let noise: Vec<f64> = (0..4).map(|k| 1.3 * number(k + 400)).collect();
        estimator.draw(&parameters, &noise, &mut gradient);
        let all: Vec<u64> = (0..8).collect();
        let mut released = vec![0.0; estimator.latent_elements()];
        gradient.weighted_sum(&data, &all, |_, weights| weights.fill(1.0), &mut released).unwrap();
        let mut got = vec![0.0; 9];
        estimator.pull_back(&noise, &released, &mut got);
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

    /// The same where the values that records touch are `c + W v` for coordinates `v`: prior, likelihood and mirrored
    /// runs see values, and the guide coordinates. By finite differences of the bound at values that are computed
    /// here.
    #[test]
    fn the_gradient_in_coordinates_is_a_finite_difference() {
        let model = |ctx: &mut Ctx<'_>| {
            let spread = ctx.sample("spread", HalfNormal::new(2.0))?;
            let w = ctx.sample("w", Normal::new(0.0, spread).iid(2))?;
            let noise = ctx.sample("noise", HalfNormal::new(1.0))?;
            ctx.each_record(|ctx, record| {
                ctx.observe("y", Normal::new(record.get("x")?.dot(w), noise), record.get("y")?)
            })
        };
        let centre = [0.4, -0.7, 0.2];
        let factor = [[0.5, 0.0, 0.0], [-1.5, 2.0, 0.0], [0.3, -0.2, 0.6]];
        let coordinates = Coordinates::new(
            &[("w".to_owned(), 2), ("noise".to_owned(), 1)],
            nalgebra::DVector::from_column_slice(&centre),
            nalgebra::DMatrix::from_fn(3, 3, |j, k| factor[j][k]),
        );
        let value = |v: [f64; 3], j: usize| centre[j] + (0..3).map(|k| factor[j][k] * v[k]).sum::<f64>();
        let data = records(8);
        let start = ndarray::arr1(&[1.0, 1.0]).into_dyn();
        let options = Options {
            draws: DrawScheme::Antithetic,
            initial: BTreeMap::from([("w".to_owned(), start)]),
            coordinates: Some(Arc::new(coordinates)),
            ..options()
        };
        let Objective { mut gradient, mut estimator, .. } =
            Objective::new(&model, &AutoNormal::new(), data.schema(), &options, &|_, _| Ok(())).unwrap();
        // It starts where w is (1, 1) and the logarithm of the noise at its centre.
        let initial = &estimator.shared.initial;
        let began = [initial[2], initial[3], initial[6]];
        let began = [0, 1, 2].map(|j| value(began, j));
        assert!(began.iter().zip([1.0, 1.0, 0.2]).all(|(x, y)| (x - y).abs() < 1e-12), "{began:?}");
        let parameters: Vec<f64> = (0..8).map(|k| 0.4 * number(k + 300)).collect();
        let noise: Vec<f64> = (0..4).map(|k| 1.3 * number(k + 400)).collect();
        let bound = |parameters: &[f64]| {
            let one = |sign: f64| {
                let u = |loc: usize, scale: usize, z: usize| {
                    parameters[loc] + parameters[scale].exp() * sign * noise[z]
                };
                let (spread, v) = (u(0, 1, 0), [u(2, 4, 1), u(3, 5, 2), u(6, 7, 3)]);
                let [first, second, log_noise] = [0, 1, 2].map(|j| value(v, j));
                let scalar = |x: f64| ArrayD::from_elem(vec![], x);
                let values = BTreeMap::from([
                    ("spread".to_owned(), scalar(spread.exp())),
                    ("w".to_owned(), Array1::from(vec![first, second]).into_dyn()),
                    ("noise".to_owned(), scalar(log_noise.exp())),
                ]);
                let entropy = parameters[1] + parameters[4] + parameters[5] + parameters[7];
                log_density(&model, &data, &values).unwrap().total() + spread + log_noise + entropy
            };
            0.5 * (one(1.0) + one(-1.0))
        };
        estimator.draw(&parameters, &noise, &mut gradient);
        let all: Vec<u64> = (0..8).collect();
        let mut released = vec![0.0; 2 * estimator.latent_elements()];
        gradient.weighted_sum(&data, &all, |_, weights| weights.fill(1.0), &mut released).unwrap();
        let mut got = vec![0.0; 8];
        estimator.pull_back(&noise, &released, &mut got);
        for k in 0..8 {
            let h = 1e-5;
            let at = |delta: f64| {
                let mut moved = parameters.clone();
                moved[k] += delta;
                bound(&moved)
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            assert!((slope - got[k]).abs() <= 1e-7 * (1.0 + slope.abs()), "{k}: {slope} against {}", got[k]);
        }
    }
}
