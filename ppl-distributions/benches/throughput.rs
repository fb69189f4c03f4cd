//! Log densities, their derivatives and draws, elements per second: arrays in one run of a plan; draws beside rand_distr's, one by one.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ppl_core::{Distribution, Graph, Noise, NoiseKind, Plan, Program, Shape, Value, Var, gradient};
use ppl_distributions::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::Distribution as _;
use std::hint::black_box;

/// Elements of an array.
const COUNT: usize = 10_000;

type Build = for<'g> fn(&[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>;

/// Name, constructor, parameters.
const CASES: [(&str, Build, &[f64]); 13] = [
    ("Normal", |p| Box::new(Normal::new(p[0], p[1])), &[0.5, 1.5]),
    ("LogNormal", |p| Box::new(LogNormal::new(p[0], p[1])), &[0.5, 0.5]),
    ("Cauchy", |p| Box::new(Cauchy::new(p[0], p[1])), &[0.5, 1.5]),
    ("Gumbel", |p| Box::new(Gumbel::new(p[0], p[1])), &[0.5, 1.5]),
    ("Exponential", |p| Box::new(Exponential::new(p[0])), &[1.5]),
    ("Gamma, shape 0.3", |p| Box::new(Gamma::new(p[0], p[1])), &[0.3, 1.5]),
    ("Gamma, shape 2.5", |p| Box::new(Gamma::new(p[0], p[1])), &[2.5, 1.5]),
    ("Gamma, shape 50", |p| Box::new(Gamma::new(p[0], p[1])), &[50.0, 1.5]),
    ("Beta", |p| Box::new(Beta::new(p[0], p[1])), &[2.5, 1.5]),
    ("StudentT", |p| Box::new(StudentT::new(p[0], p[1], p[2])), &[5.0, 0.5, 1.5]),
    ("Weibull", |p| Box::new(Weibull::new(p[0], p[1])), &[1.5, 2.5]),
    ("VonMises", |p| Box::new(VonMises::new(p[0], p[1])), &[0.5, 2.5]),
    ("TruncatedNormal", |p| Box::new(TruncatedNormal::new(p[0], p[1], p[2], p[3])), &[0.5, 1.5, -1.0, 2.0]),
];

/// Uniform numbers strictly inside (0, 1), and standard normals.
fn noise(plan: &mut Plan<f64>, inputs: &[(String, NoiseKind, Shape)]) {
    let mut generator = ChaCha8Rng::seed_from_u64(7);
    for (name, kind, shape) in inputs {
        let values: Vec<f64> = (0..shape.elements())
            .map(|_| match kind {
                NoiseKind::Uniform => ((generator.next_u64() >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0,
                _ => rand_distr::StandardNormal.sample(&mut generator),
            })
            .collect();
        plan.set(name, &values).expect("as many numbers as the input takes");
    }
}

/// A plan that draws, with its noise in place.
fn drawing(build: Build, parameters: &[f64]) -> Plan<f64> {
    let graph = Graph::new();
    let known: Vec<Value<'_>> = parameters.iter().map(|&p| Value::Known(p)).collect();
    let mut named = Noise::new(&graph, "x");
    let draw = build(&known).draw(&Shape::from(COUNT), &mut named).expect("shapes go together");
    let mut plan = Plan::new(&Program::new(&graph, &[draw]).expect("no mistakes"));
    noise(&mut plan, named.inputs());
    plan
}

fn densities(criterion: &mut Criterion) {
    for (name, build, parameters) in CASES {
        let mut draws = drawing(build, parameters);
        draws.run();
        let points = draws.output(0).to_vec();
        let mut group = criterion.benchmark_group(format!("log density/{name}"));
        group.throughput(Throughput::Elements(COUNT as u64));
        for known in [true, false] {
            let graph = Graph::new();
            let x = graph.input("x", COUNT).expect("a fresh input");
            let vars: Vec<Var<'_>> = (0..parameters.len())
                .map(|i| graph.input(format!("p{i}"), ()).expect("a fresh input"))
                .collect();
            let values: Vec<Value<'_>> = match known {
                true => parameters.iter().map(|&p| Value::Known(p)).collect(),
                false => vars.iter().map(|&var| var.into()).collect(),
            };
            let log_prob = build(&values).log_prob(x);
            // What training asks for: the sum's gradient with respect to the parameters.
            let outputs = match known {
                true => vec![log_prob],
                false => gradient(log_prob.sum(), &vars).expect("a scalar"),
            };
            let mut plan = Plan::<f64>::new(&Program::new(&graph, &outputs).expect("no mistakes"));
            plan.set("x", &points).expect("as many numbers");
            for (i, &p) in parameters.iter().enumerate() {
                if plan.input(&format!("p{i}")).is_ok() {
                    plan.set(&format!("p{i}"), &[p]).expect("one number");
                }
            }
            group.bench_function(if known { "value" } else { "gradient" }, |bencher| {
                bencher.iter(|| {
                    plan.run();
                    black_box(plan.output(0));
                });
            });
        }
        group.finish();
    }
}

type Draw = Box<dyn FnMut(&mut ChaCha8Rng) -> f64>;

/// Draws of rand_distr, one by one, where it has the distribution.
fn theirs(name: &str, parameters: &[f64]) -> Option<Draw> {
    macro_rules! of {
        ($distribution:expr) => {{
            let distribution = $distribution.ok()?;
            Some(Box::new(move |generator: &mut ChaCha8Rng| distribution.sample(generator)))
        }};
    }
    match (name, parameters) {
        ("Normal", &[a, b]) => of!(rand_distr::Normal::new(a, b)),
        ("LogNormal", &[a, b]) => of!(rand_distr::LogNormal::new(a, b)),
        ("Cauchy", &[a, b]) => of!(rand_distr::Cauchy::new(a, b)),
        ("Gumbel", &[a, b]) => of!(rand_distr::Gumbel::new(a, b)),
        ("Exponential", &[a]) => of!(rand_distr::Exp::new(a)),
        ("Gamma, shape 0.3" | "Gamma, shape 2.5" | "Gamma, shape 50", &[a, b]) => {
            of!(rand_distr::Gamma::new(a, 1.0 / b))
        }
        ("Beta", &[a, b]) => of!(rand_distr::Beta::new(a, b)),
        ("StudentT", &[a, _, _]) => of!(rand_distr::StudentT::new(a)),
        ("Weibull", &[a, b]) => of!(rand_distr::Weibull::new(a, b)),
        _ => None,
    }
}

fn draws(criterion: &mut Criterion) {
    for (name, build, parameters) in CASES {
        let mut group = criterion.benchmark_group(format!("draw/{name}"));
        group.throughput(Throughput::Elements(COUNT as u64));
        // The noise is there already: what is timed is the program that transforms it.
        let mut plan = drawing(build, parameters);
        group.bench_function("program", |bencher| {
            bencher.iter(|| {
                plan.run();
                black_box(plan.output(0));
            });
        });
        if let Some(mut one) = theirs(name, parameters) {
            let mut generator = ChaCha8Rng::seed_from_u64(7);
            let mut out = vec![0.0; COUNT];
            group.bench_function("rand_distr, with its noise", |bencher| {
                bencher.iter(|| {
                    out.iter_mut().for_each(|slot| *slot = one(&mut generator));
                    black_box(&mut out);
                });
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(800))
        .sample_size(20);
    targets = densities, draws
}
criterion_main!(benches);
