//! Guides against formulas and against each other: gradients of the bound, entropies, marginals.

use super::*;
use crate::guides::guide::{Guide, GuideTarget, ParameterValues};
use crate::made_up::{self, number, records};
use crate::objective::draws::DrawScheme;
use crate::objective::noise_feed::NoiseFeed;
use crate::objective::programs::{Objective, Options};
use crate::objective::traced::Traced;
use crate::optimiser::ParameterLayout;
use nalgebra::DMatrix;
use ndarray::{Array2, ArrayD, arr1, arr2};
use ppl_core::{
    Constraint, Ctx, Distribution, ExecutionPlan, Graph, Noise, NoiseKind, Program, Records, SiteKind,
    log_density,
};
use ppl_distributions::{
    Bernoulli, Beta, Combine, Dirichlet, Gamma, HalfNormal, ImproperUniform, LKJCholesky, LogNormal,
    MultivariateNormal, Normal, Onto,
};
use std::collections::BTreeMap;

/// Sites of every kind: numbers, vectors and matrices with sets of their own, latent and parameters, touched
/// by records and not.
fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let spread = ctx.sample("spread", HalfNormal::new(2.0))?;
    let w = ctx.sample("w", Normal::new(0.0, spread).iid(2))?;
    let shares = ctx.sample("shares", Dirichlet::symmetric(2.0, 3))?;
    let cuts = ctx.sample("cuts", ImproperUniform::new(Constraint::Ordered, 2))?;
    ctx.factor("around the cuts", -0.5 * cuts.square().sum())?;
    let factor = ctx.sample("factor", LKJCholesky::new(3, 2.0))?;
    let slope = ctx.param("slope", 1.5, Constraint::Positive)?;
    let mix = ctx.param("mix", arr1(&[0.2, 0.5, 0.3]), Constraint::Simplex)?;
    let matrix = ctx.param("matrix", arr2(&[[2.0, 0.5], [0.5, 1.0]]), Constraint::PositiveDefinite)?;
    let level = shares.inner(mix) + cuts.sum() * 0.3 + factor.slice(0, 2..).sum();
    ctx.each_record(|ctx, record| {
        let x = record.get("x")?;
        let fit = x.dot(w) * slope + level;
        ctx.observe("y", Normal::new(fit, 1.0 + shares.max_all()), record.get("y")?)?;
        ctx.observe("z", Bernoulli::from_logits(x.dot(matrix.matvec(w))), record.get("z")?)
    })
}

/// As a person would write it: other families, a value that depends on another, a parameter of the model
/// under its own name.
fn written(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let shape = ctx.param("spread shape", 2.0, Constraint::Positive)?;
    // Along fixed noise, as difference quotients go: draws by rejection have the slope of their law instead.
    let spread = ctx.sample("spread", Gamma::new(shape, 1.5).by_quantile())?;
    let loc = ctx.param("w loc", arr1(&[0.1, -0.2]), Constraint::Real)?;
    let tril = ctx.param("w tril", arr2(&[[0.5, 0.0], [0.2, 0.7]]), Constraint::LowerCholesky)?;
    ctx.sample("w", MultivariateNormal::from_cholesky(loc * spread, tril))?;
    let logits = ctx.param("logits", arr1(&[0.4, -0.7]), Constraint::Real)?;
    ctx.sample("shares", Normal::new(logits, 0.8).transformed(Onto(Constraint::Simplex)))?;
    ctx.param("slope", 1.5, Constraint::Positive).map(|_| ())
}

fn cholesky(matrix: &Array2<f64>) -> DMatrix<f64> {
    let (rows, columns) = matrix.dim();
    DMatrix::from_fn(rows, columns, |i, j| matrix[[i, j]]).cholesky().unwrap().unpack()
}

fn every_guide() -> Vec<Box<dyn Guide>> {
    vec![
        Box::new(AutoNormal::new()),
        Box::new(AutoDelta::new()),
        Box::new(AutoDelta::unconstrained()),
        Box::new(AutoMultivariateNormal::new()),
        Box::new(AutoLowRankMultivariateNormal::new()),
        Box::new(AutoLowRankMultivariateNormal::new().rank(1).unwrap()),
        Box::new(
            AutoGuideList::new(AutoNormal::new())
                .with(["shares", "w"], AutoMultivariateNormal::new())
                .with(["slope", "cuts"], AutoDelta::new()),
        ),
        Box::new(
            AutoGuideList::new(AutoNormal::new())
                .with(["w", "spread", "shares", "slope"], HandWritten::new(written)),
        ),
    ]
}

/// A guide by itself: its values, mapped; the log Jacobians of latent sites; its entropy.
struct Slow {
    sites: Vec<GuideSite>,
    layout: ParameterLayout,
    initial: Vec<f64>,
    plan: ExecutionPlan<f64>,
    feeds: Vec<NoiseFeed>,
    noise: Vec<(String, NoiseKind, ppl_core::Shape)>,
}

impl Slow {
    fn new(model: &impl ppl_core::Model, guide: &dyn Guide, records: &Records) -> Self {
        let (graph, guide_graph) = (Graph::new(), Graph::new());
        let traced = Traced::new(model, &graph, records.schema()).unwrap();
        let mut noise = Noise::new(&guide_graph, "guide");
        let target = GuideTarget::new(&traced.sites, records.schema(), &traced.trace);
        let program = guide.build(target, &mut noise).unwrap();
        let mut jacobian = guide_graph.constant(0.0);
        let mut outputs = program.values.clone();
        for (site, &value) in traced.sites.iter().zip(&program.values) {
            assert_eq!(value.shape(), site.unconstrained_shape, "{}", site.name);
            outputs.push(site.support.constrain(value));
            if let (SiteKind::Latent, Some(term)) = (site.kind, site.support.log_jacobian(value)) {
                jacobian = jacobian + term;
            }
        }
        outputs.extend([jacobian, program.entropy]);
        let plan = ExecutionPlan::new(&Program::new(&guide_graph, &outputs).unwrap());
        let layout =
            ParameterLayout::new(program.parameters.iter().map(|p| (p.name.clone(), p.initial.len())));
        let initial = program.parameters.iter().flat_map(|p| p.initial.clone()).collect();
        let feeds = NoiseFeed::all(&plan, noise.inputs());
        Self { sites: traced.sites.clone(), layout, initial, plan, feeds, noise: noise.inputs().to_vec() }
    }

    fn noise_elements(&self) -> usize {
        self.noise.iter().map(|(_, _, shape)| shape.elements()).sum()
    }

    fn run(&mut self, parameters: &[f64], noise: &[f64], sign: f64) {
        for (name, range) in self.layout.iter() {
            if let Ok(input) = self.plan.input(name) {
                self.plan.input_mut(input).copy_from_slice(&parameters[range]);
            }
        }
        self.feeds.iter().for_each(|feed| feed.fill(&mut self.plan, noise, sign));
        self.plan.run();
    }

    fn unconstrained(&self, site: usize) -> &[f64] {
        self.plan.output(site)
    }

    fn entropy(&self) -> f64 {
        self.plan.output(2 * self.sites.len() + 1)[0]
    }

    /// The bound for one draw.
    fn bound(&mut self, parameters: &[f64], noise: &[f64], sign: f64, data: &Records) -> f64 {
        self.run(parameters, noise, sign);
        let value = |(k, site): (usize, &GuideSite)| {
            let numbers = self.plan.output(self.sites.len() + k).to_vec();
            (site.name.clone(), ArrayD::from_shape_vec(site.shape.dims(), numbers).unwrap())
        };
        let values: BTreeMap<_, _> = self.sites.iter().enumerate().map(value).collect();
        let jacobian = self.plan.output(2 * self.sites.len())[0];
        log_density(&model, data, &values).unwrap().total() + jacobian + self.entropy()
    }
}

#[test]
fn the_gradient_of_the_bound_is_a_finite_difference_for_every_guide() {
    let data = records(7);
    for (which, guide) in every_guide().iter().enumerate() {
        for draws in [DrawScheme::Single, DrawScheme::Antithetic] {
            let options = Options { draws, ..made_up::options() };
            let objective = Objective::new(&model, guide, data.schema(), &options, &|_, _| Ok(())).unwrap();
            let Objective { mut gradient, mut estimator, .. } = objective;
            let mut slow = Slow::new(&model, guide.as_ref(), &data);
            assert_eq!(estimator.shared.initial, slow.initial);
            assert_eq!(estimator.shared.noise_elements, slow.noise_elements());
            // `spread`, `slope` apart: 2 + 2 + 2 + 3 + 1 + 2 + 3 elements; no record touches `spread`.
            assert_eq!(estimator.latent_elements(), 15);
            let parameters: Vec<f64> =
                slow.initial.iter().enumerate().map(|(k, x)| x + 0.3 * number(k + 300)).collect();
            let noise: Vec<f64> =
                (0..estimator.shared.noise_elements).map(|k| 1.3 * number(k + 400)).collect();
            estimator.draw(&parameters, &noise, &mut gradient);
            let all: Vec<u64> = (0..data.len() as u64).collect();
            let mut released = vec![0.0; gradient.dimension()];
            gradient.weighted_sum(&data, &all, |_, weights| weights.fill(1.0), &mut released).unwrap();
            let mut got = vec![0.0; parameters.len()];
            estimator.pull_back(&noise, &released, &mut got);
            for k in 0..parameters.len() {
                let h = 1e-5;
                let mut at = |delta: f64| {
                    let mut moved = parameters.clone();
                    moved[k] += delta;
                    match draws {
                        DrawScheme::Single => slow.bound(&moved, &noise, 1.0, &data),
                        DrawScheme::Antithetic => {
                            0.5 * (slow.bound(&moved, &noise, 1.0, &data)
                                + slow.bound(&moved, &noise, -1.0, &data))
                        }
                    }
                };
                let slope = (at(h) - at(-h)) / (2.0 * h);
                // The difference quotient is off by h² times a third derivative, and by ε/h of the bound's
                // size (about 30).
                assert!(
                    (slope - got[k]).abs() <= 2e-7 * (1.0 + slope.abs()),
                    "guide {which}, {draws:?}, parameter {k}: {slope} against {}",
                    got[k]
                );
            }
        }
    }
}

fn parameters_of(slow: &Slow, seed: usize) -> Vec<f64> {
    slow.initial.iter().enumerate().map(|(k, x)| x + 0.6 * number(k + seed)).collect()
}

/// The covariance of a guide that is linear in its noise, by its columns.
fn covariance(slow: &mut Slow, parameters: &[f64]) -> Array2<f64> {
    let n = slow.noise_elements();
    let latent: Vec<usize> =
        (0..slow.sites.len()).filter(|&k| slow.sites[k].kind == SiteKind::Latent).collect();
    let mut at = |noise: &[f64]| {
        slow.run(parameters, noise, 1.0);
        latent.iter().flat_map(|&k| slow.unconstrained(k).to_vec()).collect::<Vec<f64>>()
    };
    let centre = at(&vec![0.0; n]);
    let mut columns = Array2::zeros((centre.len(), n));
    for j in 0..n {
        let mut noise = vec![0.0; n];
        noise[j] = 1.0;
        at(&noise).iter().zip(&centre).enumerate().for_each(|(i, (x, c))| columns[[i, j]] = x - c);
    }
    columns.dot(&columns.t())
}

#[test]
fn entropies_and_marginals_are_those_of_the_covariance() {
    let data = records(7);
    let guides: [Box<dyn Guide>; 4] = [
        Box::new(AutoNormal::new()),
        Box::new(AutoMultivariateNormal::new()),
        Box::new(AutoLowRankMultivariateNormal::new()),
        Box::new(
            AutoGuideList::new(AutoNormal::new()).with(["cuts", "shares"], AutoMultivariateNormal::new()),
        ),
    ];
    for guide in guides {
        let mut slow = Slow::new(&model, guide.as_ref(), &data);
        let parameters = parameters_of(&slow, 700);
        let covariance = covariance(&mut slow, &parameters);
        let n = covariance.nrows();
        // 1 + 2 + 2 + 2 + 3 latent elements.
        assert_eq!(n, 10);
        let lower = cholesky(&covariance);
        let half: f64 = (0..n).map(|i| lower[(i, i)].ln()).sum();
        let entropy = half + 0.5 * n as f64 * (2.0 * std::f64::consts::PI * std::f64::consts::E).ln();
        assert!(
            (slow.entropy() - entropy).abs() < 1e-12,
            "{}: {} {entropy}",
            guide.describe(),
            slow.entropy()
        );
        let named = ParameterValues::new(&slow.layout, &parameters).unwrap();
        let marginals = guide.marginals(&slow.sites, named);
        slow.run(&parameters, &vec![0.0; slow.noise_elements()], 1.0);
        let mut at = 0;
        for (k, site) in slow.sites.iter().enumerate() {
            let marginal = marginals[k].as_ref().unwrap();
            assert_eq!(marginal.loc, slow.unconstrained(k), "{}", site.name);
            for &scale in &marginal.scale {
                match site.kind {
                    SiteKind::Param => assert_eq!(scale, 0.0),
                    _ => {
                        assert!((scale - covariance[[at, at]].sqrt()).abs() < 1e-14 * (1.0 + scale));
                        at += 1;
                    }
                }
            }
        }
        assert_eq!(at, n);
    }
}

/// A low-rank guide's covariance, given to the other guide: the same entropy and the same marginals.
#[test]
fn low_rank_is_full_rank_with_the_same_covariance() {
    let data = records(7);
    let low = AutoLowRankMultivariateNormal::new().rank(3).unwrap();
    let mut low_slow = Slow::new(&model, &low, &data);
    let low_parameters = parameters_of(&low_slow, 900);
    let wanted = covariance(&mut low_slow, &low_parameters);
    let n = wanted.nrows();
    let lower = cholesky(&wanted);
    let full = AutoMultivariateNormal::new();
    let mut slow = Slow::new(&model, &full, &data);
    let mut parameters = slow.initial.clone();
    for (name, range) in slow.layout.iter() {
        let part = &mut parameters[range];
        match name.rsplit('/').next().unwrap() {
            "loc" => part
                .copy_from_slice(ParameterValues::new(&low_slow.layout, &low_parameters).unwrap().get(name)),
            "log_scale" => (0..n).for_each(|i| part[i] = lower[(i, i)].ln()),
            _ => {
                let below = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
                below.for_each(|(i, j)| part[i * n + j] = lower[(i, j)] / lower[(i, i)]);
            }
        }
    }
    let got = covariance(&mut slow, &parameters);
    assert!(got.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-13));
    low_slow.run(&low_parameters, &vec![0.1; low_slow.noise_elements()], 1.0);
    slow.run(&parameters, &vec![0.1; slow.noise_elements()], 1.0);
    assert!((slow.entropy() - low_slow.entropy()).abs() < 1e-12);
}

/// The mean of `−ln q(u)` over draws, for families whose entropy is known. n = 40,000 draws; its standard
/// error is `sd/200`, and 5.2 of them are the two-sided 2e-7.
#[test]
fn entropies_of_hand_written_guides_are_those_of_the_unconstrained_values() {
    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let a = ctx.sample("a", HalfNormal::new(1.0))?;
        let b = ctx.sample("b", Beta::new(1.0, 1.0))?;
        let c = ctx.sample("c", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(a + b + c, 1.0), record.get("y")?))
    }
    fn guide(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let c = ctx.sample("c", Normal::new(0.5, 2.0))?;
        ctx.sample("a", LogNormal::new(c, 0.3))?;
        ctx.sample("b", Beta::new(2.0, 3.0)).map(|_| ())
    }
    let mut slow = Slow::new(&model, &HandWritten::new(guide), &records(7));
    let n = 40_000;
    let elements = slow.noise_elements();
    let source = dp_sampler::GaussianNoise::new(&dp_sampler::Seed::for_tests(5));
    let mut normals = vec![0.0; elements];
    let (mut sum, mut squares) = (0.0, 0.0);
    for k in 0..n {
        dp_sampler::NoiseSource::fill(&source, k, &mut normals);
        slow.run(&[], &normals, 1.0);
        sum += slow.entropy();
        squares += slow.entropy() * slow.entropy();
    }
    let mean = sum / n as f64;
    let error = ((squares / n as f64 - mean * mean) / n as f64).sqrt();
    // ln a is normal with standard deviation 0.3, and c with 2. Of a beta distribution: ln B(2, 3) − ψ(2) −
    // 2ψ(3) + 3ψ(5), and E ln(x(1 − x)) = ψ(2) + ψ(3) − 2ψ(5) is the Jacobian's.
    let euler = 0.577_215_664_901_532_9;
    let psi = |n: u32| (1..n).map(|k| 1.0 / f64::from(k)).sum::<f64>() - euler;
    let beta = -(12.0_f64.ln()) - psi(2) - 2.0 * psi(3) + 3.0 * psi(5);
    let jacobian = psi(2) + psi(3) - 2.0 * psi(5);
    let expected = 2.0 * NORMAL_ENTROPY + 0.3_f64.ln() + 2.0_f64.ln() + beta - jacobian;
    assert!((mean - expected).abs() < 5.2 * error && error < 0.01, "{mean} ± {error}, not {expected}");
}

#[test]
fn settings_are_checked() {
    let told = |error: crate::Error| error.to_string();
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for refused in [
            AutoNormal::new().initial_scale(scale).err(),
            AutoMultivariateNormal::new().initial_scale(scale).err(),
            AutoLowRankMultivariateNormal::new().initial_scale(scale).err(),
        ] {
            assert!(told(refused.unwrap()).contains("initial scale must be positive and finite"));
        }
    }
    assert!(told(AutoLowRankMultivariateNormal::new().rank(0).err().unwrap()).contains("at least 1, got 0"));
    let graph = Graph::new();
    let data = records(7);
    let traced = Traced::new(&model, &graph, data.schema()).unwrap();
    let refused = |guide: &dyn Guide| {
        let graph = Graph::new();
        let target = GuideTarget::new(&traced.sites, data.schema(), &traced.trace);
        told(guide.build(target, &mut Noise::new(&graph, "guide")).err().unwrap())
    };
    let large = refused(&AutoLowRankMultivariateNormal::new().rank(11).unwrap());
    assert!(large.contains("rank 11") && large.contains("10 elements"), "{large}");
    let unknown = refused(&AutoGuideList::new(AutoNormal::new()).with(["v"], AutoDelta::new()));
    assert!(unknown.contains("site 'v'") && unknown.contains("[spread, w, shares,"), "{unknown}");
    let twice =
        AutoGuideList::new(AutoNormal::new()).with(["w"], AutoDelta::new()).with(["w"], AutoDelta::new());
    assert!(refused(&twice).contains("two parts for site 'w'"));
}
