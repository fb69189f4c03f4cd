//! Draws have the distribution they say, lie in its support, and their derivatives are those of expectations.
//! Seeds are fixed; each test states the number of draws and its rate of false alarms.

use super::cases::{FAMILIES, Family, family, parameters};
use super::run;
use ndarray::{Array1, ArrayD, array};
use ppl_core::{Distribution, ExecutionPlan, Graph, Noise, NoiseKind, Program, Shape, Var, gradient};
use ppl_distributions::{
    Categorical, Combine, LowRankMultivariateNormal, MixtureSameFamily, MultivariateNormal, Normal,
};
use proptest::prelude::*;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1, without either.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) * 2.0_f64.powi(-53)
    }

    fn normal(&mut self) -> f64 {
        let (length, angle) = ((-2.0 * self.uniform().ln()).sqrt(), std::f64::consts::TAU * self.uniform());
        length * angle.cos()
    }

    fn noise(&mut self, kind: NoiseKind) -> f64 {
        if kind == NoiseKind::Uniform { self.uniform() } else { self.normal() }
    }

    fn fill(&mut self, plan: &mut ExecutionPlan<f64>, inputs: &[(String, NoiseKind, Shape)]) {
        for (name, kind, shape) in inputs {
            let numbers: Vec<f64> = (0..shape.elements()).map(|_| self.noise(*kind)).collect();
            if plan.input(name).is_ok() {
                plan.set(name, &numbers).unwrap();
            }
        }
    }
}

/// `count` outcomes, one after the other.
fn drawn<'g>(distribution: &dyn Distribution<'g>, graph: &'g Graph, count: usize, seed: u64) -> Vec<f64> {
    let mut noise = Noise::new(graph, format!("draw {seed}"));
    let draw = distribution.draw(&Shape::from(count), &mut noise).unwrap();
    graph.check().unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &[draw]).unwrap());
    Random(seed).fill(&mut plan, noise.inputs());
    plan.run();
    plan.output(0).to_vec()
}

/// Kolmogorov–Smirnov: the largest distance between the distribution function of the draws and `cdf` of them,
/// which must have been found for the sorted draws. A false alarm has probability `2 e^(−2λ²) = 2e-9` at λ =
/// 3.22, and there are fewer than 100 such tests here.
fn agrees(cdf_of_sorted: &[f64]) -> bool {
    let n = cdf_of_sorted.len() as f64;
    let distance = cdf_of_sorted.iter().enumerate().fold(0.0_f64, |largest, (i, p)| {
        largest.max((p - i as f64 / n).abs()).max((p - (i as f64 + 1.0) / n).abs())
    });
    distance * n.sqrt() < 3.22
}

fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}

const COUNT: usize = 20_000;

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// `I(x; a, b)`
fn beta_cdf(x: &[f64], a: f64, b: f64) -> Vec<f64> {
    let graph = Graph::new();
    let input = graph.input("x", x.len()).unwrap();
    run(&graph, &[graph.constant(a).beta_i(b, input)], &[("x", x)]).remove(0)
}

/// Sums of the elements with weights, less those of a centre.
fn projected(outcomes: &[f64], weights: &[f64], centre: &[f64]) -> Vec<f64> {
    let project = |x: &[f64]| x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
    outcomes.chunks_exact(weights.len()).map(|x| project(x) - project(centre)).collect()
}

/// Projections of normal vectors in three directions.
#[test]
fn normal_vectors_project_to_normal_numbers() {
    let covariance = array![[2.0, 0.6, -0.9], [0.6, 1.0, 0.2], [-0.9, 0.2, 1.5]];
    let loc = [1.0, -2.0, 0.5];
    for which in 0..4 {
        let graph = Graph::new();
        let centre = graph.array(&Array1::from(loc.to_vec()).into_dyn());
        let sigma = graph.array(&covariance.clone().into_dyn());
        let (factor, diagonal) = (array![[1.0, 0.2], [0.4, -0.3], [-0.6, 0.5]], array![0.7, 0.3, 1.1]);
        let distribution: Box<dyn Distribution<'_>> = match which {
            0 => Box::new(MultivariateNormal::from_covariance(centre, sigma)),
            1 => Box::new(MultivariateNormal::from_precision(centre, sigma.inverse())),
            2 => Box::new(MultivariateNormal::from_cholesky(centre, sigma.cholesky())),
            _ => Box::new(LowRankMultivariateNormal::new(
                centre,
                graph.array(&factor.clone().into_dyn()),
                graph.array(&diagonal.clone().into_dyn()),
            )),
        };
        let covariance = if which < 3 {
            covariance.clone()
        } else {
            factor.dot(&factor.t()) + ndarray::Array2::from_diag(&diagonal)
        };
        let outcomes = drawn(&*distribution, &graph, COUNT, 100 + which);
        for weights in [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, -2.0, 0.7]] {
            let direction = Array1::from(weights.to_vec());
            let sd = direction.dot(&covariance.dot(&direction)).sqrt();
            let cdf: Vec<f64> =
                sorted(projected(&outcomes, &weights, &loc)).iter().map(|x| normal_cdf(x / sd)).collect();
            assert!(agrees(&cdf), "{which} {weights:?}");
        }
    }
}

#[test]
fn student_vectors_project_to_student_numbers() {
    let factor = array![[1.2, 0.0], [-0.5, 0.8]];
    for (seed, df) in [(1, 0.8), (2, 3.0), (3, 40.0)] {
        let graph = Graph::new();
        let vars = [
            graph.constant(df),
            graph.array(&array![1.0, 2.0].into_dyn()),
            graph.array(&factor.clone().into_dyn()),
        ];
        let distribution = (family("multivariate_student_t").build)(2, &vars);
        let outcomes = drawn(&*distribution, &graph, COUNT, seed);
        for weights in [[1.0, 0.0], [0.6, 2.0]] {
            let length = factor.t().dot(&Array1::from(weights.to_vec())).mapv(|x| x * x).sum().sqrt();
            let t: Vec<f64> =
                sorted(projected(&outcomes, &weights, &[1.0, 2.0])).iter().map(|x| x / length).collect();
            // P(T ≤ t) is ½ I(df/(df + t²); df/2, ½) for negative t.
            let tails = beta_cdf(&t.iter().map(|t| df / (df + t * t)).collect::<Vec<_>>(), 0.5 * df, 0.5);
            let cdf: Vec<f64> = t
                .iter()
                .zip(tails)
                .map(|(t, tail)| if *t < 0.0 { 0.5 * tail } else { 1.0 - 0.5 * tail })
                .collect();
            assert!(agrees(&cdf), "{df} {weights:?}");
        }
    }
}

/// Marginals, sums of two, and the covariance of a Dirichlet distribution.
#[test]
fn dirichlet_elements_are_beta_distributed() {
    for (seed, a) in [(1, [0.05, 0.3, 2.0]), (2, [1.0, 1.0, 1.0]), (3, [30.0, 4.0, 200.0])] {
        let graph = Graph::new();
        let concentration = graph.array(&Array1::from(a.to_vec()).into_dyn());
        let outcomes = drawn(&*(family("dirichlet").build)(3, &[concentration]), &graph, COUNT, seed);
        let total: f64 = a.iter().sum();
        for (k, &own) in a.iter().enumerate() {
            let x = sorted(outcomes.iter().skip(k).step_by(3).copied().collect());
            assert!(agrees(&beta_cdf(&x, own, total - own)), "{a:?} {k}");
        }
        let (m0, m1) = (a[0] / total, a[1] / total);
        let products: Vec<f64> = outcomes.chunks_exact(3).map(|x| (x[0] - m0) * (x[1] - m1)).collect();
        assert!(mean_agrees(&products, -m0 * m1 / (total + 1.0)), "{a:?}");
    }
}

/// Correlations are beta distributed, and elements of different rows are uncorrelated.
#[test]
fn correlations_are_beta_distributed() {
    for (seed, d, eta) in [(1, 2, 0.7), (2, 3, 1.0), (3, 4, 0.3), (4, 4, 6.0)] {
        let graph = Graph::new();
        let outcomes =
            drawn(&*(family("lkj_cholesky").build)(d, &[graph.constant(eta)]), &graph, COUNT, seed);
        for i in 1..d {
            for j in 0..i {
                let correlation = |l: &[f64]| (0..=j).map(|k| l[i * d + k] * l[j * d + k]).sum::<f64>();
                let halves =
                    sorted(outcomes.chunks_exact(d * d).map(|l| 0.5 + 0.5 * correlation(l)).collect());
                let shape = eta - 1.0 + 0.5 * d as f64;
                assert!(agrees(&beta_cdf(&halves, shape, shape)), "{d} {eta} ({i}, {j})");
            }
            let products: Vec<f64> =
                outcomes.chunks_exact(d * d).map(|l| l[i * d] * l[(d - 1) * d]).collect();
            if i < d - 1 {
                assert!(mean_agrees(&products, 0.0));
            }
        }
    }
}

/// At a small concentration most matrices are singular but for rounding; draws are positive definite all the same, in
/// both types.
#[test]
fn nearly_singular_correlation_matrices_are_positive_definite() {
    for (d, concentration) in [(2, 0.01), (3, 0.01), (3, 0.15), (6, 0.05), (12, 0.3)] {
        let graph = Graph::new();
        let law = ppl_distributions::LKJ::new(d, concentration);
        let mut noise = Noise::new(&graph, "draw");
        let draw = law.draw(&Shape::from(2000), &mut noise).unwrap();
        let program = Program::new(&graph, &[draw]).unwrap();
        let (mut double, mut single) =
            (ExecutionPlan::<f64>::new(&program), ExecutionPlan::<f32>::new(&program));
        let mut random = Random(5);
        for (name, kind, shape) in noise.inputs() {
            let numbers: Vec<f64> = (0..shape.elements()).map(|_| random.noise(*kind)).collect();
            double.set(name, &numbers).unwrap();
            single.set(name, &numbers.iter().map(|&x| x as f32).collect::<Vec<_>>()).unwrap();
        }
        double.run();
        single.run();
        let shape = Shape::from([2000, d, d]);
        assert_eq!(law.support().violation(double.output(0), &shape), None, "{d} {concentration}");
        let single: Vec<f64> = single.output(0).iter().map(|&x| f64::from(x)).collect();
        assert_eq!(law.support().violation(&single, &shape), None, "{d} {concentration}, f32");
    }
}

/// Whether the mean of independent numbers is what it should be: a deviation of 6.5 standard errors has a
/// probability below 1e-9 for 200 normal numbers and more (Student's t), and there are fewer than 1000 such
/// comparisons here.
fn mean_agrees(numbers: &[f64], expected: f64) -> bool {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - expected).abs() <= 6.5 * (variance / n).sqrt() + 1e-12 * (1.0 + expected.abs())
}

/// A mixture's draws against its distribution function.
#[test]
fn mixtures_are_drawn_by_their_weights() {
    let graph = Graph::new();
    let known = |values: [f64; 3]| graph.array(&Array1::from(values.to_vec()).into_dyn());
    let mixture = MixtureSameFamily::new(
        Categorical::from_probs(known([0.1, 0.6, 0.3])),
        Normal::new(known([-4.0, 0.0, 1.0]), known([0.5, 1.0, 3.0])),
    );
    let x = sorted(drawn(&mixture, &graph, COUNT, 5));
    let cdf = (0..3).map(|k| {
        move |x: f64| [0.1, 0.6, 0.3][k] * normal_cdf((x - [-4.0, 0.0, 1.0][k]) / [0.5, 1.0, 3.0][k])
    });
    let all: Vec<_> = cdf.collect();
    assert!(agrees(&x.iter().map(|&x| all.iter().map(|of| of(x)).sum()).collect::<Vec<f64>>()));
    // Vectors: each coordinate, and both from the same component.
    let locs = graph.array(&array![[-5.0, -5.0], [5.0, 5.0]].into_dyn());
    let weights = graph.array(&array![0.25, 0.75].into_dyn());
    let vectors =
        MixtureSameFamily::new(Categorical::from_probs(weights), Normal::new(locs, 1.0).independent(1));
    let outcomes = drawn(&vectors, &graph, COUNT, 6);
    let first: Vec<f64> = outcomes.chunks_exact(2).map(|x| f64::from(x[0] < 0.0)).collect();
    assert!(mean_agrees(&first, 0.25));
    assert!(outcomes.chunks_exact(2).all(|x| x[0].is_sign_negative() == x[1].is_sign_negative()));
}

/// Means and variances of all distributions by draws: 200 batches of 100.
#[test]
fn moments_are_those_of_draws_and_so_are_their_derivatives() {
    for &family in FAMILIES {
        let n = 3;
        let at: Vec<ArrayD<f64>> = match family.name {
            // Enough degrees of freedom for the square of a square to have a mean.
            "multivariate_student_t" => {
                let mut at = parameters(family, n, &[0.4, -0.3, 0.8, 0.1, -0.6, 0.5, 0.2, -0.3, 0.6, -0.2]);
                at[0].fill(14.0);
                at
            }
            _ => parameters(family, n, &[0.4, -0.3, 0.8, 0.1, -0.6, 0.5, 0.2, -0.3, 0.6, -0.2, 0.3, 0.7]),
        };
        check_moments(family, n, &at);
    }
}

fn check_moments(family: Family, n: usize, at: &[ArrayD<f64>]) {
    let graph = Graph::new();
    let vars: Vec<Var<'_>> = at
        .iter()
        .enumerate()
        .map(|(k, array)| graph.input(format!("p{k}"), Shape::from(array.shape())).unwrap())
        .collect();
    let distribution = (family.build)(n, &vars);
    let elements = distribution.event_shape().elements();
    let weights = |from: usize| {
        let numbers: Vec<f64> = (0..elements).map(|k| ((k + from) as f64 * 1.3).cos()).collect();
        graph.array(&ArrayD::from_shape_vec(distribution.event_shape().dims(), numbers).unwrap())
    };
    let (first, second) = (weights(1), weights(5));
    let (mean, variance) = (distribution.mean(&graph).unwrap(), distribution.variance(&graph).unwrap());
    let expected = (first * mean).sum() + (second * (variance + mean.square())).sum();

    let mut noise = Noise::new(&graph, "draw");
    let batch = 100;
    let draw = distribution.draw(&Shape::from(batch), &mut noise).unwrap();
    let sampled = ((first * draw).sum() + (second * draw.square()).sum()) / batch as f64;

    // A category has derivative 0 with respect to its probabilities; its moments do not.
    let differentiated: &[Var<'_>] = if distribution.reparameterised() { &vars } else { &[] };
    assert_eq!(distribution.reparameterised(), !distribution.support().is_discrete());
    let mut outputs = vec![expected, sampled];
    outputs.extend(gradient(expected, differentiated).unwrap());
    outputs.extend(gradient(sampled, differentiated).unwrap());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    for (k, array) in at.iter().enumerate() {
        if plan.input(&format!("p{k}")).is_ok() {
            plan.set(&format!("p{k}"), &array.iter().copied().collect::<Vec<_>>()).unwrap();
        }
    }
    let mut random = Random(17);
    let mut found: Vec<Vec<f64>> = Vec::new();
    let mut truth = Vec::new();
    for _ in 0..200 {
        random.fill(&mut plan, noise.inputs());
        plan.run();
        let k = differentiated.len();
        let all = |first: usize, from: usize| -> Vec<f64> {
            std::iter::once(plan.output(first)[0])
                .chain((from..from + k).flat_map(|output| plan.output(output).to_vec()))
                .collect()
        };
        truth = all(0, 2);
        found.push(all(1, 2 + k));
    }
    for (k, expected) in truth.iter().enumerate() {
        let samples: Vec<f64> = found.iter().map(|all| all[k]).collect();
        let mean = samples.iter().sum::<f64>() / 200.0;
        assert!(mean_agrees(&samples, *expected), "{family:?} {k}: {mean} where {expected} is expected");
    }
}

proptest! {
    #[test]
    fn draws_lie_in_the_support(which in 0..FAMILIES.len(), n in 1..5usize, numbers in proptest::collection::vec(-2.0..2.0_f64, 60), seed: u64) {
        let family = FAMILIES[which];
        let graph = Graph::new();
        let vars: Vec<Var<'_>> = parameters(family, n, &numbers).iter().map(|array| graph.array(array)).collect();
        let distribution = (family.build)(n, &vars);
        let outcomes = drawn(&*distribution, &graph, 50, seed);
        let shape = Shape::from(50).concat(&distribution.event_shape());
        prop_assert_eq!(distribution.support().violation(&outcomes, &shape), None, "{:?}", family);
        prop_assert!(outcomes.iter().all(|x| x.is_finite()));
    }
}
