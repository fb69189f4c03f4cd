//! Tests that go over all distributions: golden values, normalisation, derivatives, draws, shapes.

mod continuous;

use ndarray::ArrayD;
use ppl_core::{
    Constraint, Distribution, ExecutionPlan, Graph, Noise, NoiseKind, Program, Shape, Value, Var, gradient,
};
use ppl_distributions::{Bernoulli, HalfNormal, Normal, strategies};
use proptest::prelude::*;

/// One distribution with numbers for parameters, built on any graph.
#[derive(Clone, Copy, Debug)]
enum Case {
    Normal(f64, f64),
    HalfNormal(f64),
    Bernoulli(f64),
}

impl Case {
    fn parameters(self) -> Vec<f64> {
        match self {
            Case::Normal(loc, scale) => vec![loc, scale],
            Case::HalfNormal(scale) => vec![scale],
            Case::Bernoulli(logit) => vec![logit],
        }
    }

    fn with<'g>(self, parameters: &[Value<'g>]) -> Box<dyn Distribution2<'g> + 'g> {
        match self {
            Case::Normal(..) => Box::new(Normal::new(parameters[0], parameters[1])),
            Case::HalfNormal(_) => Box::new(HalfNormal::new(parameters[0])),
            Case::Bernoulli(_) => Box::new(Bernoulli::from_logits(parameters[0])),
        }
    }

    fn known<'g>(self) -> Box<dyn Distribution2<'g> + 'g> {
        self.with(&self.parameters().into_iter().map(Value::Known).collect::<Vec<_>>())
    }

    /// Log densities at many points in one run.
    fn log_prob(self, points: &[f64]) -> Vec<f64> {
        let graph = Graph::new();
        let x = graph.input("x", points.len()).unwrap();
        let mut plan =
            ExecutionPlan::<f64>::new(&Program::new(&graph, &[self.known().log_prob2(x)]).unwrap());
        plan.set("x", points).unwrap();
        plan.run();
        plan.output(0).to_vec()
    }
}

/// The part of [`Distribution`] that can be boxed.
trait Distribution2<'g> {
    fn log_prob2(&self, x: Var<'g>) -> Var<'g>;
    fn draw2(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Var<'g>;
    fn support2(&self) -> Constraint;
}

impl<'g, D: Distribution<'g>> Distribution2<'g> for D {
    fn log_prob2(&self, x: Var<'g>) -> Var<'g> {
        self.log_prob(x)
    }
    fn draw2(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Var<'g> {
        self.draw(prefix, noise).unwrap()
    }
    fn support2(&self) -> Constraint {
        self.support()
    }
}

#[test]
fn log_densities_agree_with_forty_digits() {
    let mut rows = 0;
    for line in include_str!("../golden/log_prob.csv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let case = match fields[0] {
            "normal" => Case::Normal(number(1), number(2)),
            "half_normal" => Case::HalfNormal(number(1)),
            "bernoulli" => Case::Bernoulli(number(1)),
            other => panic!("unknown distribution {other}"),
        };
        let (got, expected) = (case.log_prob(&[number(3)])[0], number(4));
        // A handful of roundings, each relative to the largest of the two or three terms that are added.
        let largest =
            expected.abs() + number(2).max(1.0).ln().abs() + number(1).abs().max(1e-300).ln().abs().min(30.0);
        let tolerance = if fields[0] == "bernoulli" {
            4.0 * f64::EPSILON * expected.abs()
        } else {
            8.0 * f64::EPSILON * largest.max(1.0)
        };
        assert!((got - expected).abs() <= tolerance, "{line}: got {got}");
        rows += 1;
    }
    assert_eq!(rows, 96);
}

/// `∫ p` by the trapezoid rule, which converges exponentially for these smooth densities.
fn integral(case: Case, from: f64, to: f64, weight_at_from: f64) -> f64 {
    let n = 4000;
    let h = (to - from) / n as f64;
    let points: Vec<f64> = (0..=n).map(|i| from + h * i as f64).collect();
    let densities = case.log_prob(&points);
    let total: f64 = densities
        .iter()
        .enumerate()
        .map(|(i, lp)| if i == 0 { weight_at_from } else { 1.0 } * lp.exp())
        .sum();
    total * h
}

proptest! {
    #[test]
    fn densities_integrate_to_one(loc in strategies::location(), scale in strategies::scale(), logit in strategies::logit()) {
        // At |loc| ≫ scale the grid itself cannot be told apart in f64.
        let loc = loc.clamp(-1e3 * scale, 1e3 * scale);
        prop_assert!((integral(Case::Normal(loc, scale), loc - 12.0 * scale, loc + 12.0 * scale, 1.0) - 1.0).abs() < 1e-11);
        // Half a weight at the wall: the trapezoid rule for an even function.
        prop_assert!((integral(Case::HalfNormal(scale), 0.0, 12.0 * scale, 0.5) - 1.0).abs() < 1e-11);
        let both = Case::Bernoulli(logit).log_prob(&[0.0, 1.0]);
        prop_assert!((both[0].exp() + both[1].exp() - 1.0).abs() < 4.0 * f64::EPSILON);
    }

    #[test]
    fn gradients_are_finite_differences(loc in -3.0..3.0_f64, scale in 0.2..3.0_f64, at in 0.1..2.0_f64) {
        for (case, x) in [
            (Case::Normal(loc, scale), loc + scale * at),
            (Case::HalfNormal(scale), scale * at),
            (Case::Bernoulli(loc), 1.0),
            (Case::Bernoulli(loc), 0.0),
        ] {
            let graph = Graph::new();
            let mut inputs = vec![("x".to_owned(), x)];
            inputs.extend(case.parameters().into_iter().enumerate().map(|(i, value)| (format!("p{i}"), value)));
            let vars: Vec<Var<'_>> = inputs.iter().map(|(name, _)| graph.input(name.clone(), ()).unwrap()).collect();
            let parameters: Vec<Value<'_>> = vars[1..].iter().map(|&var| var.into()).collect();
            let log_prob = case.with(&parameters).log_prob2(vars[0]);
            let mut outputs = gradient(log_prob, &vars).unwrap();
            outputs.push(log_prob);
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
            let mut run = |values: &[f64]| -> Vec<f64> {
                for ((name, _), value) in inputs.iter().zip(values) { plan.set(name, &[*value]).unwrap(); }
                plan.run();
                (0..outputs.len()).map(|k| plan.output(k)[0]).collect()
            };
            let here: Vec<f64> = inputs.iter().map(|(_, value)| *value).collect();
            let analytic = run(&here);
            for k in 0..here.len() {
                // Between its two outcomes there are none.
                if matches!(case, Case::Bernoulli(_)) && k == 0 { continue; }
                let h = 1e-5;
                let (mut up, mut down) = (here.clone(), here.clone());
                up[k] += h;
                down[k] -= h;
                let slope = (run(&up)[here.len()] - run(&down)[here.len()]) / (2.0 * h);
                // Truncation h²·|f‴|/6 with |f‴| ≤ 12 (z²+1)/scale³ · …, and rounding ε·|f|/h.
                let bound = h * h * 400.0 * (1.0 + at * at) / scale.min(1.0).powi(5) + 1e-9;
                prop_assert!((slope - analytic[k]).abs() <= bound, "{case:?} wrt {k}: {slope} against {}", analytic[k]);
            }
        }
    }
}

/// Standard noise at the mid-points of `n` equally likely cells, so that a draw's quantiles come out without
/// chance.
fn grid(kind: NoiseKind, n: usize) -> Vec<f64> {
    (0..n)
        .map(|i| {
            let u = (i as f64 + 0.5) / n as f64;
            match kind {
                NoiseKind::Uniform => u,
                _ => {
                    // Invert Φ by bisection.
                    let phi = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
                    let (mut low, mut high) = (-40.0, 40.0);
                    for _ in 0..200 {
                        let middle = 0.5 * (low + high);
                        if phi(middle) < u { low = middle } else { high = middle }
                    }
                    0.5 * (low + high)
                }
            }
        })
        .collect()
}

#[test]
fn draws_have_the_distribution_they_say() {
    let n = 2000;
    let phi = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    for case in [Case::Normal(1.5, 0.3), Case::HalfNormal(2.0), Case::Bernoulli(-0.8)] {
        let graph = Graph::new();
        let mut noise = Noise::new(&graph, "site");
        let distribution = case.known();
        let draw = distribution.draw2(&Shape::from(n), &mut noise);
        assert_eq!(draw.shape(), Shape::from(n));
        let [(name, kind, _)] = noise.inputs() else { panic!("one noise input is enough") };
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[draw]).unwrap());
        plan.set(name, &grid(*kind, n)).unwrap();
        plan.run();
        let mut draws = plan.output(0).to_vec();
        assert!(draws.iter().all(|&x| distribution.support2().contains(x)));
        draws.sort_by(f64::total_cmp);
        let cdf = |x: f64| match case {
            Case::Normal(loc, scale) => phi((x - loc) / scale),
            Case::HalfNormal(scale) => 2.0 * phi(x / scale) - 1.0,
            Case::Bernoulli(logit) => {
                if x < 1.0 {
                    1.0 - 1.0 / (1.0 + (-logit).exp())
                } else {
                    1.0
                }
            }
        };
        // Mid-points of equal cells lie within one cell of the distribution function.
        match case {
            Case::Bernoulli(_) => {
                let zeros = draws.iter().filter(|&&x| x == 0.0).count() as f64 / n as f64;
                assert!((zeros - cdf(0.0)).abs() <= 1.0 / n as f64);
            }
            _ => {
                for (i, &x) in draws.iter().enumerate() {
                    assert!(
                        (cdf(x) - (i as f64 + 0.5) / n as f64).abs() <= 1.0 / n as f64 + 1e-12,
                        "{case:?} {i} {x}"
                    );
                }
            }
        }
    }
}

#[test]
fn parameters_may_be_arrays_and_copies_are_taken_together() {
    let graph = Graph::new();
    let loc = graph.array(&ArrayD::from_shape_vec(vec![3], vec![0.0, 1.0, 2.0]).unwrap());
    let normal = Normal::new(loc, 2.0);
    assert_eq!(normal.batch_shape().unwrap(), Shape::from([3]));
    let copies = normal.iid([4]);
    assert_eq!((copies.batch_shape().unwrap(), copies.event_shape()), (Shape::scalar(), Shape::from([4, 3])));
    let x = graph.input("x", [4, 3]).unwrap();
    assert_eq!(copies.log_prob(x).shape(), Shape::scalar());
    let mut noise = Noise::new(&graph, "copies");
    assert_eq!(copies.draw(&Shape::scalar(), &mut noise).unwrap().shape(), Shape::from([4, 3]));
}

#[test]
fn wrong_parameters_are_named() {
    let told = |result: ppl_core::Result<()>| result.unwrap_err().to_string();
    assert!(told(Normal::new(f64::NAN, 1.0).validate()).contains("Normal: loc must be finite, got NaN"));
    assert!(told(Normal::new(0.0, 0.0).validate()).contains("scale must be positive and finite, got 0"));
    assert!(told(HalfNormal::new(f64::INFINITY).validate()).contains("HalfNormal: scale"));
    assert!(told(Bernoulli::from_logits(f64::INFINITY).validate()).contains("Bernoulli: logit"));
    let graph = Graph::new();
    let (a, b) = (graph.input("a", [3]).unwrap(), graph.input("b", [4]).unwrap());
    assert!(told(Normal::new(a, b).validate()).contains("shapes [3] and [4] do not go together"));
}

/// `ln p(map(y)) + ln scale = ln p_base(y)`: the law of the image, for those that say what they are images
/// of.
#[test]
fn transports_keep_the_law() {
    let graph = Graph::new();
    let y = graph.array(&ndarray::array![0.3, 1.7, 2.5].into_dyn());
    let families: [Box<dyn Distribution<'_>>; 2] =
        [Box::new(Normal::new(-1.5, 0.4)), Box::new(HalfNormal::new(3.0))];
    for (family, scale) in families.iter().zip([0.4_f64, 3.0]) {
        let transport = family.transport().unwrap();
        let image = family.log_prob(transport.map.apply(y)) + scale.ln();
        let gap = (image - transport.base.log_prob(y)).abs().max_all();
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[gap]).unwrap());
        plan.run();
        // The difference to loc loses a few roundings of loc / scale.
        assert!(plan.output(0)[0] < 32.0 * f64::EPSILON * 4.0, "{}", family.name());
    }
}
