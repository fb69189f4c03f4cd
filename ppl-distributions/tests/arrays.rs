//! Arrays of numbers in the place of values of a model: the same programs, and laws of vectors of parameters for plain
//! numbers.

use ndarray::{Array1, Array2, ArrayD};
use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Shape, Value, Var};
use ppl_distributions::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

fn run(graph: &Graph, output: Var<'_>) -> Vec<f64> {
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &[output]).expect("no mistakes"));
    plan.run();
    plan.output(0).to_vec()
}

/// The log density of a law that is made of numbers, and of the same law made of arrays of the graph.
macro_rules! same {
    ($($law:expr, |$made:ident| $arrays:expr => $outcome:expr;)*) => {$({
        let graph = Graph::new();
        let outcome: Value<'_> = $outcome.into();
        let of_numbers = $law;
        of_numbers.validate().expect(stringify!($law));
        let $made = |values: &ArrayD<f64>| graph.array(values);
        let of_graph = $arrays;
        assert_eq!(of_numbers.batch_shape().unwrap(), of_graph.batch_shape().unwrap());
        let own = run(&graph, of_numbers.log_prob(outcome.on(&graph)));
        let other = run(&graph, of_graph.log_prob(outcome.on(&graph)));
        assert!(own.iter().all(|x| x.is_finite()), "{}: {own:?}", stringify!($law));
        assert_eq!(own, other, "{}", stringify!($law));
    })*};
}

fn vector(values: &[f64]) -> ArrayD<f64> {
    Array1::from(values.to_vec()).into_dyn()
}

fn matrix(rows: &[[f64; 2]; 2]) -> ArrayD<f64> {
    Array2::from_shape_fn((2, 2), |(i, j)| rows[i][j]).into_dyn()
}

const COVARIANCE: [[f64; 2]; 2] = [[2.0, 0.5], [0.5, 1.0]];
const FACTOR: [[f64; 2]; 2] = [[1.0, 0.0], [0.6, 0.8]];

#[test]
fn laws_of_arrays_of_numbers_are_those_of_arrays_of_the_graph() {
    same! {
        Normal::new(&[0.5, -1.0], 2.0), |a| Normal::new(a(&vector(&[0.5, -1.0])), 2.0) => &[0.1, 0.2];
        Uniform::new(&[0.0, -1.0], 3.0), |a| Uniform::new(a(&vector(&[0.0, -1.0])), 3.0) => &[0.1, 0.2];
        Chi2::new(&[2.0, 5.0]), |a| Chi2::new(a(&vector(&[2.0, 5.0]))) => &[0.1, 0.2];
        Truncated::new(Poisson::new(3.0), &[0.5, 1.0], 7.5),
            |a| Truncated::new(Poisson::new(3.0), a(&vector(&[0.5, 1.0])), 7.5) => &[1.0, 7.0];
        Categorical::from_probs(&[0.2, 0.3, 0.5]),
            |a| Categorical::from_probs(a(&vector(&[0.2, 0.3, 0.5]))) => 2.0;
        Categorical::from_logits(&[0.2, 0.3, 0.5]),
            |a| Categorical::from_logits(a(&vector(&[0.2, 0.3, 0.5]))) => 1.0;
        OrderedLogistic::new(0.3, &[-1.0, 2.0]),
            |a| OrderedLogistic::new(0.3, a(&vector(&[-1.0, 2.0]))) => 1.0;
        OrderedProbit::new(0.3, &[-1.0, 2.0]),
            |a| OrderedProbit::new(0.3, a(&vector(&[-1.0, 2.0]))) => 2.0;
        Multinomial::from_probs(4.0, &[0.2, 0.8]),
            |a| Multinomial::from_probs(4.0, a(&vector(&[0.2, 0.8]))) => &[1.0, 3.0];
        DirichletMultinomial::new(&[0.2, 0.8], 4.0),
            |a| DirichletMultinomial::new(a(&vector(&[0.2, 0.8])), 4.0) => &[1.0, 3.0];
        Dirichlet::new(&[0.2, 0.8]), |a| Dirichlet::new(a(&vector(&[0.2, 0.8]))) => &[0.25, 0.75];
        MultivariateNormal::from_covariance(&[0.0, 1.0], &COVARIANCE),
            |a| MultivariateNormal::from_covariance(a(&vector(&[0.0, 1.0])), a(&matrix(&COVARIANCE)))
            => &[0.25, 0.75];
        MultivariateNormal::from_precision(0.0, &COVARIANCE),
            |a| MultivariateNormal::from_precision(0.0, a(&matrix(&COVARIANCE))) => &[0.25, 0.75];
        MultivariateNormal::from_cholesky(0.0, &FACTOR),
            |a| MultivariateNormal::from_cholesky(0.0, a(&matrix(&FACTOR))) => &[0.25, 0.75];
        MultivariateStudentT::new(3.0, 0.0, &FACTOR),
            |a| MultivariateStudentT::new(3.0, 0.0, a(&matrix(&FACTOR))) => &[0.25, 0.75];
        LowRankMultivariateNormal::new(0.0, &[[0.5], [1.0]], &[1.0, 2.0]),
            |a| LowRankMultivariateNormal::new(
                0.0, a(&vector(&[0.5, 1.0])).reshape([2, 1]), a(&vector(&[1.0, 2.0]))) => &[0.25, 0.75];
        Wishart::new(3.0, &COVARIANCE), |a| Wishart::new(3.0, a(&matrix(&COVARIANCE))) => &COVARIANCE;
        InverseWishart::from_cholesky(3.0, &FACTOR),
            |a| InverseWishart::from_cholesky(3.0, a(&matrix(&FACTOR))) => &COVARIANCE;
        MatrixNormal::new(0.0, &FACTOR, &FACTOR),
            |a| MatrixNormal::new(0.0, a(&matrix(&FACTOR)), a(&matrix(&FACTOR))) => &COVARIANCE;
        Car::new(0.0, 0.5, 1.0, &[[0.0, 1.0], [1.0, 0.0]]),
            |a| Car::new(0.0, 0.5, 1.0, a(&matrix(&[[0.0, 1.0], [1.0, 0.0]]))) => &[0.25, 0.75];
        GaussianCopula::new(Gamma::new(2.0, 1.0), &FACTOR),
            |a| GaussianCopula::new(Gamma::new(2.0, 1.0), a(&matrix(&FACTOR))) => &[0.25, 0.75];
        Words::mixed(&[0.5, 0.5], &[[0.5, 0.5], [0.1, 0.9]]),
            |a| Words::mixed(a(&vector(&[0.5, 0.5])), a(&matrix(&[[0.5, 0.5], [0.1, 0.9]])))
            => &[2.0, 1.0];
    }
}

#[test]
fn every_kind_of_array_has_its_shape_and_elements() {
    let (one, two) =
        (Array1::from(vec![1.0, 2.0]), Array2::from_shape_fn((2, 3), |(i, j)| (3 * i + j) as f64));
    let turned = two.t().to_owned();
    let (dynamic, list) = (two.clone().into_dyn(), vec![1.0, 2.0]);
    let rows: &[[f64; 3]] = &[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]];
    let graph = Graph::new();
    for (value, shape, elements) in [
        (Value::from(&one), Shape::from(2), vec![1.0, 2.0]),
        (Value::from(&list), Shape::from(2), vec![1.0, 2.0]),
        (Value::from(&list[..]), Shape::from(2), vec![1.0, 2.0]),
        (Value::from(&two), Shape::from([2, 3]), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        (Value::from(&dynamic), Shape::from([2, 3]), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        (Value::from(rows), Shape::from([2, 3]), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        (Value::from(&turned), Shape::from([3, 2]), vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0]),
    ] {
        assert_eq!(value.shape(), shape);
        assert_eq!(value.known_elements(), Some(elements.clone()));
        assert_eq!(value.known(), None);
        assert_eq!(run(&graph, value.on(&graph)), elements);
    }
}

#[test]
fn mistakes_in_arrays_are_told_with_the_element() {
    let told = |law: &dyn Distribution<'_>| law.validate().expect_err("a mistake").to_string();
    assert!(told(&Normal::new(0.0, &[1.0, -2.0])).contains("scale must be positive and finite, got -2"));
    assert!(told(&Categorical::from_probs(&[0.5, 0.6])).contains("probs must be"));
    assert!(told(&Dirichlet::new(&[1.0, f64::NAN])).contains("got NaN"));
    assert!(told(&Uniform::new(&[0.0, 1.0], &[1.0, 0.5])).contains("must be positive and finite, got -0.5"));
    assert!(told(&Uniform::new(&[0.0, 1.0], 0.5)).contains("got -0.5"));
    assert!(told(&Uniform::new(&[0.0, 1.0], &[1.0, 2.0, 3.0])).contains("[2]"));
    assert!(
        told(&MultivariateNormal::from_covariance(0.0, &[[1.0, 2.0], [2.0, 1.0]])).contains("covariance")
    );
    assert!(told(&OrderedLogistic::new(0.0, &[1.0, 0.0])).contains("cutpoints"));
}

/// Laws of single numbers with vectors for parameters, without a graph.
#[test]
fn plain_numbers_of_laws_with_vectors_of_parameters() {
    let dice = Categorical::from_probs(&[0.2, 0.3, 0.5]);
    let found = dice.pmf(&[0.0, 1.0, 2.0, 3.0, 0.5]);
    assert!(
        found.iter().zip([0.2, 0.3, 0.5, 0.0, 0.0]).all(|(p, expected)| (p - expected).abs() < 1e-15),
        "{found:?}"
    );
    assert_eq!((dice.cdf(1.0), dice.quantile(0.6)), (0.5, 2.0));
    let mixture = || {
        MixtureSameFamily::new(Categorical::from_probs(&[0.25, 0.75]), Normal::new(&[-1.0, 2.0], &[0.5, 1.0]))
    };
    let (a, b) = (Normal::new(-1.0, 0.5), Normal::new(2.0, 1.0));
    for x in [-3.0, -1.0, 0.3, 2.0, 40.0] {
        let expected = 0.25 * a.pdf(x) + 0.75 * b.pdf(x);
        assert!((mixture().pdf(x) - expected).abs() <= 4e-16 * expected, "{x}");
        assert!((mixture().cdf(x) - (0.25 * a.cdf(x) + 0.75 * b.cdf(x))).abs() < 1e-15);
    }
    let median = mixture().quantile(0.5);
    assert!((mixture().cdf(median) - 0.5).abs() < 1e-14);
    // Of 4000 draws the share below the median is within six standard deviations of a half.
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let below = (0..4000).filter(|_| mixture().sample(&mut rng) < median).count();
    assert!((below as f64 - 2000.0).abs() < 6.0 * 1000.0_f64.sqrt(), "{below}");
    let different = Mixture::new(Categorical::from_probs(&[0.25, 0.75])).of(a).of(b);
    assert!((different.ln_pdf(0.3) - mixture().ln_pdf(0.3)).abs() < 1e-15);
    let answer = OrderedProbit::new(0.5, &[-1.0, 0.0, 1.0]);
    assert!((answer.pmf(&[0.0, 1.0, 2.0, 3.0]).iter().sum::<f64>() - 1.0).abs() < 1e-15);
    assert!(OrderedLogistic::new(0.5, &[1.0, 0.0]).pmf(0.0).is_nan());
    // A batch has more than one number for an answer.
    assert!(Normal::new(&[0.0, 1.0], 1.0).ln_pdf(0.0).is_nan());
}
