//! Log densities, their derivatives and draws, outcomes per second: arrays in one run of a plan; draws beside
//! rand_distr's, one by one. `peers/compare` runs this and NumPyro in turn, and prints both in one table.

#![allow(clippy::print_stdout, reason = "the comparison with other libraries reads what is printed")]

use criterion::{Criterion, Throughput, criterion_group};
use ppl_core::{
    Distribution, ExecutionPlan, Graph, InputId, Noise, NoiseKind, Program, Shape, Value, Var, gradient,
};
use ppl_distributions::*;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::Distribution as _;
use std::hint::black_box;
use std::time::Instant;

/// Elements of an array.
const COUNT: usize = 10_000;

type Build = for<'g> fn(&'g Graph, &[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>;

/// A vector of parameters.
fn vector<'g>(graph: &'g Graph, values: &[Value<'g>]) -> Var<'g> {
    graph.stack(&values.iter().map(|value| value.on(graph)).collect::<Vec<_>>(), 0)
}

/// A lower triangular matrix of order 5 with 1 on its diagonal.
fn factor(graph: &Graph) -> Var<'_> {
    graph.array(
        &ndarray::Array2::from_shape_fn((5, 5), |(i, j)| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => 0.1 * (i + j) as f64,
        })
        .into_dyn(),
    )
}

/// Name, constructor, parameters.
const CASES: [(&str, Build, &[f64]); 22] = [
    ("Normal", |_, p| Box::new(Normal::new(p[0], p[1])), &[0.5, 1.5]),
    ("LogNormal", |_, p| Box::new(LogNormal::new(p[0], p[1])), &[0.5, 0.5]),
    ("Cauchy", |_, p| Box::new(Cauchy::new(p[0], p[1])), &[0.5, 1.5]),
    ("Gumbel", |_, p| Box::new(Gumbel::new(p[0], p[1])), &[0.5, 1.5]),
    ("Exponential", |_, p| Box::new(Exponential::new(p[0])), &[1.5]),
    ("Gamma, shape 0.3", |_, p| Box::new(Gamma::new(p[0], p[1])), &[0.3, 1.5]),
    ("Gamma, shape 2.5", |_, p| Box::new(Gamma::new(p[0], p[1])), &[2.5, 1.5]),
    ("Gamma, shape 50", |_, p| Box::new(Gamma::new(p[0], p[1])), &[50.0, 1.5]),
    ("Beta", |_, p| Box::new(Beta::new(p[0], p[1])), &[2.5, 1.5]),
    ("StudentT", |_, p| Box::new(StudentT::new(p[0], p[1], p[2])), &[5.0, 0.5, 1.5]),
    ("Weibull", |_, p| Box::new(Weibull::new(p[0], p[1])), &[1.5, 2.5]),
    ("VonMises", |_, p| Box::new(VonMises::new(p[0], p[1])), &[0.5, 2.5]),
    (
        "TruncatedNormal",
        |_, p| Box::new(TruncatedNormal::new(p[0], p[1], p[2], p[3])),
        &[0.5, 1.5, -1.0, 2.0],
    ),
    ("Bernoulli", |_, p| Box::new(Bernoulli::from_logits(p[0])), &[0.4]),
    ("Poisson, rate 3.5", |_, p| Box::new(Poisson::new(p[0])), &[3.5]),
    ("Poisson, rate 200", |_, p| Box::new(Poisson::new(p[0])), &[200.0]),
    ("Binomial, n 20", |_, p| Box::new(Binomial::from_logits(20.0, p[0])), &[-0.4]),
    ("Binomial, n 1000", |_, p| Box::new(Binomial::from_logits(1000.0, p[0])), &[-0.4]),
    ("Geometric", |_, p| Box::new(Geometric::from_logits(p[0])), &[-0.4]),
    ("Categorical, 5", |g, p| Box::new(Categorical::from_logits(vector(g, p))), &[0.4, 0.3, -1.0, 0.5, 1.2]),
    ("Dirichlet, 3", |g, p| Box::new(Dirichlet::new(vector(g, p))), &[0.7, 2.5, 1.2]),
    (
        "MultivariateNormal, 5",
        |g, p| Box::new(MultivariateNormal::from_cholesky(p[0], p[1].on(g) * factor(g))),
        &[0.5, 1.5],
    ),
];

/// Uniform numbers strictly inside (0, 1), and standard normals.
fn fill(kind: NoiseKind, generator: &mut ChaCha8Rng, out: &mut [f64]) {
    match kind {
        NoiseKind::Uniform => out.iter_mut().for_each(|slot| {
            *slot = ((generator.next_u64() >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0;
        }),
        _ => out.iter_mut().for_each(|slot| *slot = rand_distr::StandardNormal.sample(generator)),
    }
}

/// A plan that draws, with the inputs of its noise.
struct Drawing {
    plan: ExecutionPlan<f64>,
    inputs: Vec<(InputId, NoiseKind)>,
    event: Shape,
}

impl Drawing {
    /// A plan that draws and differentiates the sum of the draws in the parameters; nothing for a law whose
    /// draws have no derivatives.
    fn with_gradient(build: Build, parameters: &[f64]) -> Option<Self> {
        let graph = Graph::new();
        let vars: Vec<Var<'_>> =
            (0..parameters.len()).map(|i| graph.input(format!("p{i}"), ()).expect("a fresh input")).collect();
        let values: Vec<Value<'_>> = vars.iter().map(|&var| var.into()).collect();
        let mut named = Noise::new(&graph, "x");
        let distribution = build(&graph, &values);
        if !distribution.reparameterised() {
            return None;
        }
        let draw = distribution.draw(&Shape::from(COUNT), &mut named).expect("shapes go together");
        let mut outputs = gradient(draw.sum(), &vars).expect("a scalar");
        outputs.push(draw);
        let mut plan = ExecutionPlan::new(&Program::new(&graph, &outputs).expect("no mistakes"));
        for (i, &p) in parameters.iter().enumerate() {
            if plan.input(&format!("p{i}")).is_ok() {
                plan.set(&format!("p{i}"), &[p]).expect("one number");
            }
        }
        let input = |(name, kind, _): &(String, NoiseKind, Shape)| (plan.input(name).expect("used"), *kind);
        let inputs = named.inputs().iter().map(input).collect();
        Some(Self { plan, inputs, event: distribution.event_shape() })
    }

    fn new(build: Build, parameters: &[f64]) -> Self {
        let graph = Graph::new();
        let known: Vec<Value<'_>> = parameters.iter().map(|&p| Value::Known(p)).collect();
        let mut named = Noise::new(&graph, "x");
        let distribution = build(&graph, &known);
        let draw = distribution.draw(&Shape::from(COUNT), &mut named).expect("shapes go together");
        let plan = ExecutionPlan::new(&Program::new(&graph, &[draw]).expect("no mistakes"));
        let input = |(name, kind, _): &(String, NoiseKind, Shape)| (plan.input(name).expect("used"), *kind);
        let inputs = named.inputs().iter().map(input).collect();
        Self { plan, inputs, event: distribution.event_shape() }
    }

    fn refill(&mut self, generator: &mut ChaCha8Rng) {
        for &(input, kind) in &self.inputs {
            fill(kind, generator, self.plan.input_mut(input));
        }
    }
}

/// A plan of log densities at drawn points where the parameters are known, and else of the gradient of their sum with
/// respect to the parameters, which is what training asks for.
fn density(build: Build, parameters: &[f64], known: bool) -> ExecutionPlan<f64> {
    let mut draws = Drawing::new(build, parameters);
    draws.refill(&mut ChaCha8Rng::seed_from_u64(7));
    draws.plan.run();
    let graph = Graph::new();
    let x = graph.input("x", Shape::from(COUNT).concat(&draws.event)).expect("a fresh input");
    let vars: Vec<Var<'_>> =
        (0..parameters.len()).map(|i| graph.input(format!("p{i}"), ()).expect("a fresh input")).collect();
    let values: Vec<Value<'_>> = match known {
        true => parameters.iter().map(|&p| Value::Known(p)).collect(),
        false => vars.iter().map(|&var| var.into()).collect(),
    };
    let log_prob = build(&graph, &values).log_prob(x);
    let outputs = match known {
        true => vec![log_prob],
        false => gradient(log_prob.sum(), &vars).expect("a scalar"),
    };
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).expect("no mistakes"));
    plan.set("x", draws.plan.output(0)).expect("as many numbers");
    for (i, &p) in parameters.iter().enumerate() {
        if plan.input(&format!("p{i}")).is_ok() {
            plan.set(&format!("p{i}"), &[p]).expect("one number");
        }
    }
    plan
}

fn densities(criterion: &mut Criterion) {
    for (name, build, parameters) in CASES {
        let mut group = criterion.benchmark_group(format!("log density/{name}"));
        group.throughput(Throughput::Elements(COUNT as u64));
        for known in [true, false] {
            let mut plan = density(build, parameters, known);
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

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn integers(distribution: impl rand_distr::Distribution<u64> + 'static) -> Option<Draw> {
    Some(Box::new(move |generator: &mut ChaCha8Rng| distribution.sample(generator) as f64))
}

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
        ("Poisson, rate 3.5" | "Poisson, rate 200", &[a]) => of!(rand_distr::Poisson::new(a)),
        ("Binomial, n 20", &[a]) => integers(rand_distr::Binomial::new(20, sigmoid(a)).ok()?),
        ("Binomial, n 1000", &[a]) => integers(rand_distr::Binomial::new(1000, sigmoid(a)).ok()?),
        ("Geometric", &[a]) => integers(rand_distr::Geometric::new(sigmoid(a)).ok()?),
        _ => None,
    }
}

fn draws(criterion: &mut Criterion) {
    for (name, build, parameters) in CASES {
        let mut group = criterion.benchmark_group(format!("draw/{name}"));
        group.throughput(Throughput::Elements(COUNT as u64));
        let mut drawing = Drawing::new(build, parameters);
        let mut generator = ChaCha8Rng::seed_from_u64(7);
        drawing.refill(&mut generator);
        // The noise is there already: what is timed is the program that transforms it.
        group.bench_function("program", |bencher| {
            bencher.iter(|| {
                drawing.plan.run();
                black_box(drawing.plan.output(0));
            });
        });
        // By the generator that rand_distr has below.
        group.bench_function("program, with its noise", |bencher| {
            bencher.iter(|| {
                drawing.refill(&mut generator);
                drawing.plan.run();
                black_box(drawing.plan.output(0));
            });
        });
        if let Some(mut drawing) = Drawing::with_gradient(build, parameters) {
            drawing.refill(&mut generator);
            group.bench_function("program, with its gradient", |bencher| {
                bencher.iter(|| {
                    drawing.plan.run();
                    black_box(drawing.plan.output(0));
                });
            });
        }
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

/// Nanoseconds an outcome: the best of as many runs as fit into a tenth of a second, or of 30 at least. Each is so
/// short that on a busy machine some are not interrupted.
fn best(mut run: impl FnMut()) -> f64 {
    let (begun, mut least, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while runs < 30 || (begun.elapsed().as_secs_f64() < 0.1 && runs < 2000) {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    least * 1e9 / COUNT as f64
}

/// For each name of a law on standard input a line of best times, as `peers/throughput.py` reads it: log density,
/// gradient, draw alone, with its noise, with its gradient, and rand_distr's; "-" where there is none.
fn answers() {
    for name in std::io::stdin().lines().map_while(Result::ok) {
        let Some((_, build, parameters)) = CASES.into_iter().find(|case| case.0 == name) else {
            println!("no law of this name");
            continue;
        };
        let mut generator = ChaCha8Rng::seed_from_u64(7);
        let mut times: Vec<Option<f64>> = Vec::new();
        for known in [true, false] {
            let mut plan = density(build, parameters, known);
            times.push(Some(best(|| plan.run())));
        }
        let mut drawing = Drawing::new(build, parameters);
        drawing.refill(&mut generator);
        times.push(Some(best(|| drawing.plan.run())));
        times.push(Some(best(|| {
            drawing.refill(&mut generator);
            drawing.plan.run();
        })));
        times.push(Drawing::with_gradient(build, parameters).map(|mut drawing| {
            drawing.refill(&mut generator);
            best(|| drawing.plan.run())
        }));
        times.push(theirs(&name, parameters).map(|mut one| {
            let mut out = vec![0.0; COUNT];
            best(|| {
                out.iter_mut().for_each(|slot| *slot = one(&mut generator));
                black_box(&mut out);
            })
        }));
        let told: Vec<String> =
            times.into_iter().map(|time| time.map_or("-".to_owned(), |time| time.to_string())).collect();
        println!("{}", told.join(" "));
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
/// With `ANSWER` set the best times of the laws that are asked for, else criterion's.
fn main() {
    if std::env::var_os("ANSWER").is_some() {
        return answers();
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
