//! Laws of plain numbers: the numbers of programs, draws that have the law's distribution, and use with other
//! crates' random numbers.

use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Var};
use ppl_distributions::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Points inside and outside of supports, at their ends, far out, and what is no number.
const POINTS: [f64; 25] = [
    f64::NEG_INFINITY,
    -1e300,
    -700.0,
    -3.0,
    -1.0,
    -0.75,
    -1e-9,
    0.0,
    1e-300,
    1e-9,
    0.1,
    0.25,
    0.5,
    0.9,
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    17.0,
    40.0,
    1e5,
    1e300,
    f64::INFINITY,
    f64::NAN,
];

const PROBABILITIES: [f64; 11] = [0.0, 1e-300, 1e-12, 0.01, 0.3, 0.5, 0.7, 0.99, 1.0 - 1e-9, 1.0, f64::NAN];

/// A program's numbers.
fn by_program<'g>(
    graph: &'g Graph,
    points: &[f64],
    formula: &dyn Fn(Var<'g>) -> Option<Var<'g>>,
) -> Vec<f64> {
    let x = graph.input("x", points.len()).expect("an input");
    let value = formula(x).expect("a formula");
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &[value]).expect("no mistakes"));
    plan.set("x", points).expect("as many");
    plan.run();
    plan.output(0).to_vec()
}

fn same(law: &str, quantity: &str, points: &[f64], program: &[f64], numbers: &[f64]) {
    assert_eq!(program.len(), numbers.len());
    for ((x, program), number) in points.iter().zip(program).zip(numbers) {
        // But for the sign of a zero: a program leaves out the addition of a 0 that is known.
        let equal = program == number || (program.is_nan() && number.is_nan());
        assert!(equal, "{law}: {quantity} at {x}: {number} against {program} of a program");
    }
}

macro_rules! same {
    ($($law:expr => $ln:ident $plain:ident $($cdf:ident)? $(, $quantile:ident)?;)*) => {$({
        let (told, graph) = (stringify!($law), Graph::new());
        let law = $law;
        let program = by_program(&graph, &POINTS, &|x| Some(Distribution::log_prob(&law, x)));
        same(told, "log density", &POINTS, &program, &law.$ln(&POINTS[..]));
        same(told, "log density", &POINTS, &program, &POINTS[..].iter().map(|&x| law.$ln(x)).collect::<Vec<_>>());
        let graph = Graph::new();
        let law = $law;
        let program = by_program(&graph, &POINTS, &|x| Some(Distribution::log_prob(&law, x).exp()));
        same(told, "density", &POINTS, &program, &law.$plain(&POINTS[..]));
        $(
            let graph = Graph::new();
            let law = $law;
            let program = by_program(&graph, &POINTS, &|x| Distribution::cdf(&law, x));
            same(told, "distribution function", &POINTS, &program, &law.$cdf(&POINTS[..]));
            let graph = Graph::new();
            let law = $law;
            let program = by_program(&graph, &POINTS, &|x| Distribution::sf(&law, x));
            same(told, "upper tail", &POINTS, &program, &law.sf(&POINTS[..]));
            let graph = Graph::new();
            let law = $law;
            let program = by_program(&graph, &POINTS, &|x| Distribution::log_cdf(&law, x));
            same(told, "logarithm of the distribution function", &POINTS, &program, &law.ln_cdf(&POINTS[..]));
            let graph = Graph::new();
            let law = $law;
            let program = by_program(&graph, &POINTS, &|x| Distribution::log_sf(&law, x));
            same(told, "logarithm of the upper tail", &POINTS, &program, &law.ln_sf(&POINTS[..]));
        )?
        $(
            let graph = Graph::new();
            let law = $law;
            let program = by_program(&graph, &PROBABILITIES, &|p| Distribution::quantile(&law, p));
            same(told, "quantile", &PROBABILITIES, &program, &law.$quantile(&PROBABILITIES[..]));
        )?
    })*};
}

#[test]
fn numbers_are_those_of_programs_bit_for_bit() {
    same! {
        Normal::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        Laplace::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        Logistic::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        Cauchy::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        Gumbel::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        StudentT::new(2.5, 0.5, 1.3) => ln_pdf pdf cdf, quantile;
        LogNormal::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        HalfNormal::new(1.3) => ln_pdf pdf cdf, quantile;
        HalfCauchy::new(1.3) => ln_pdf pdf cdf, quantile;
        HalfStudentT::new(2.5, 1.3) => ln_pdf pdf cdf, quantile;
        Exponential::new(0.7) => ln_pdf pdf cdf, quantile;
        Gamma::new(2.5, 1.3) => ln_pdf pdf cdf, quantile;
        Gamma::new(2e5, 1.3) => ln_pdf pdf cdf, quantile;
        InverseGamma::new(2.5, 1.3) => ln_pdf pdf cdf, quantile;
        Chi2::new(3.0) => ln_pdf pdf cdf, quantile;
        Weibull::new(1.3, 0.7) => ln_pdf pdf cdf, quantile;
        Pareto::new(1.3, 0.7) => ln_pdf pdf cdf, quantile;
        Beta::new(2.5, 0.7) => ln_pdf pdf cdf, quantile;
        Kumaraswamy::new(2.5, 0.7) => ln_pdf pdf cdf, quantile;
        Uniform::new(-1.0, 2.5) => ln_pdf pdf cdf, quantile;
        TruncatedNormal::new(0.5, 1.3, -1.0, 2.0) => ln_pdf pdf cdf, quantile;
        VonMises::new(0.0, 2.0) => ln_pdf pdf cdf, quantile;
        PolyaGamma::new(1.5) => ln_pdf pdf;
        AsymmetricLaplace::new(0.5, 1.3, 0.4) => ln_pdf pdf cdf, quantile;
        AsymmetricLaplace::from_quantile(0.5, 1.3, 0.9) => ln_pdf pdf cdf, quantile;
        BetaProportion::new(0.3, 7.0) => ln_pdf pdf cdf, quantile;
        ExponentiallyModifiedGaussian::new(0.5, 1.3, 0.7) => ln_pdf pdf cdf, quantile;
        Gompertz::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        InverseGaussian::new(0.5, 1.3) => ln_pdf pdf cdf, quantile;
        LogUniform::new(0.5, 3.0) => ln_pdf pdf cdf, quantile;
        RelaxedBernoulli::from_logits(0.5, 0.3) => ln_pdf pdf cdf, quantile;
        SkewNormal::new(0.5, 1.3, -2.0) => ln_pdf pdf cdf, quantile;
        Bernoulli::from_probs(0.3) => ln_pmf pmf cdf, quantile;
        BetaBinomial::new(2.0, 0.7, 9.0) => ln_pmf pmf cdf, quantile;
        Binomial::from_probs(9.0, 0.3) => ln_pmf pmf cdf, quantile;
        Binomial::from_probs(400.0, 0.3) => ln_pmf pmf cdf, quantile;
        DiscreteUniform::new(-1.0, 5.0) => ln_pmf pmf cdf, quantile;
        Geometric::from_probs(0.3) => ln_pmf pmf cdf, quantile;
        NegativeBinomial::from_mean(3.0, 0.7) => ln_pmf pmf cdf, quantile;
        Poisson::new(3.5) => ln_pmf pmf cdf, quantile;
        DiscreteLaplace::new(0.0, 1.3) => ln_pmf pmf cdf, quantile;
        Skellam::new(2.5, 1.3) => ln_pmf pmf cdf, quantile;
        ZeroInflatedPoisson::new(0.3, 3.5) => ln_pmf pmf cdf, quantile;
        ZeroInflatedNegativeBinomial::new(0.3, 3.5, 0.7) => ln_pmf pmf cdf, quantile;
        Categorical::from_probs(&[0.2, 0.3, 0.5]) => ln_pmf pmf cdf, quantile;
        OrderedLogistic::new(0.3, &[-1.0, 0.5]) => ln_pmf pmf cdf, quantile;
        OrderedProbit::new(0.3, &[-1.0, 0.5]) => ln_pmf pmf cdf, quantile;
        Hurdle::from_probs(Poisson::new(3.5), 0.2) => ln_pmf pmf cdf, quantile;
        Truncated::new(Normal::new(0.5, 1.3), -1.0, 2.0) => ln_pdf pdf cdf, quantile;
        Censored::new(Normal::new(0.5, 1.3), -1.0, 2.0) => ln_pdf pdf cdf, quantile;
        Normal::new(0.5, 1.3).transformed(Sigmoid) => ln_pdf pdf cdf, quantile;
    }
}

/// The distance between two distribution functions that as many draws exceed with probability 1e-8 (Massart's
/// bound); below fifty tests, a false alarm has a probability below 1e-6.
const DRAWS: usize = 20_000;
const DISTANCE: f64 = 0.021_86;

fn against_cdf(name: &str, mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    draws.sort_by(f64::total_cmp);
    for (i, &x) in draws.iter().enumerate() {
        // After the last of equal draws, so that laws with atoms are compared where they are continuous.
        if draws.get(i + 1) == Some(&x) {
            continue;
        }
        let distance = ((i + 1) as f64 / DRAWS as f64 - cdf(x)).abs();
        assert!(distance < DISTANCE, "{name}: {distance} at {x}");
    }
}

macro_rules! drawn {
    ($($law:expr;)*) => {$({
        let law = $law;
        let mut rng = ChaCha8Rng::seed_from_u64(21);
        let draws: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut rng)).collect();
        against_cdf(stringify!($law), draws, |x| law.cdf(x));
    })*};
}

#[test]
fn draws_have_the_distribution_of_the_law() {
    drawn! {
        Normal::new(0.5, 1.3);
        Gamma::new(2.5, 1.3);
        StudentT::new(2.5, 0.5, 1.3);
        HalfNormal::new(1.3);
        Beta::new(2.5, 0.7);
        Poisson::new(3.5);
        NegativeBinomial::from_mean(3.0, 0.7);
        BetaBinomial::new(2.0, 0.7, 9.0);
        Truncated::new(Normal::new(0.5, 1.3), -1.0, 2.0);
        AsymmetricLaplace::new(0.5, 1.3, 0.4);
        AsymmetricLaplace::from_quantile(0.5, 1.3, 0.9);
        BetaProportion::new(0.3, 7.0);
        ExponentiallyModifiedGaussian::new(0.5, 0.3, 2.0);
        Gompertz::new(0.05, 1.3);
        InverseGaussian::new(0.5, 1.3);
        InverseGaussian::new(30.0, 0.2);
        LogUniform::new(1e-6, 3.0);
        RelaxedBernoulli::from_logits(0.5, 0.3);
        SkewNormal::new(0.5, 1.3, -2.0);
        DiscreteLaplace::new(2.0, 1.3);
        DiscreteLaplace::new(0.0, 30.0);
        Skellam::new(2.5, 1.3);
        ZeroInflatedPoisson::new(0.3, 3.5);
        ZeroInflatedNegativeBinomial::new(0.3, 3.5, 0.7);
        Hurdle::from_probs(Poisson::new(0.5), 0.2);
        Hurdle::from_logits(Gamma::new(2.0, 1.0), 0.3);
        Censored::new(Normal::new(0.5, 1.3), -1.0, 2.0);
        Censored::new(Poisson::new(3.5), 1.0, 6.0);
    }
}

#[test]
fn the_traits_of_rand_draw_the_same() {
    fn mean<L: rand_distr::Distribution<f64>>(law: L) -> f64 {
        let rng = ChaCha8Rng::seed_from_u64(5);
        law.sample_iter(rng).take(1000).sum::<f64>() / 1000.0
    }
    let law = Normal::new(3.0, 0.5);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let ours = (0..1000).map(|_| law.sample(&mut rng)).sum::<f64>() / 1000.0;
    assert_eq!(mean(law), ours);
    // Six standard deviations of the mean of 1000.
    assert!((ours - 3.0).abs() < 6.0 * 0.5 / 1000.0_f64.sqrt());
}

#[test]
fn a_draw_of_one_word_takes_one_word() {
    let law = Exponential::new(2.0);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let first = law.sample(&mut rng);
    let second = law.sample(&mut rng);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let words = [rand_core::Rng::next_u64(&mut rng), rand_core::Rng::next_u64(&mut rng)];
    let uniform = words.map(|word| ((word >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0);
    let of = |u: f64| law.quantile(u);
    assert!((first - of(uniform[0])).abs() < 1e-15 && (second - of(uniform[1])).abs() < 1e-15);
}

#[test]
fn a_value_of_a_model_still_gets_a_value() {
    let graph = Graph::new();
    let x = graph.input("x", 2).expect("an input");
    let loc = graph.input("loc", ()).expect("an input");
    let law = Normal::new(loc, 1.0);
    let below: Option<Var<'_>> = law.cdf(x);
    let back: Option<Var<'_>> = law.quantile(below.expect("a formula"));
    assert_eq!(back.expect("a formula").shape(), ppl_core::Shape::from(2));
    assert!(graph.check().is_ok());
}

#[test]
fn a_law_of_values_of_a_model_has_no_numbers() {
    let graph = Graph::new();
    let loc = graph.input("loc", ()).expect("an input");
    assert!(Normal::new(loc, 1.0).ln_pdf(0.0).is_nan());
    // And the model is none the worse.
    assert!(graph.check().is_ok());
}

#[test]
fn parameters_that_are_none_give_no_number() {
    assert!(Normal::new(0.0, -1.0).ln_pdf(0.0).is_nan());
    assert!(Normal::new(f64::NAN, 1.0).cdf(0.0).is_nan());
    assert!(Normal::new(0.0, -1.0).validate().is_err());
}

#[test]
fn summaries_are_moments() {
    let law = Normal::new(0.5, 2.0).summary();
    assert_eq!((law.mean, law.variance, law.std_dev), (Some(0.5), Some(4.0), Some(2.0)));
    assert_eq!(law.median, Some(0.5));
    assert_eq!(Skellam::new(3.0, 1.0).summary().entropy, None);
}

/// No question has an answer where a parameter is out of bounds, and none is answered as if it were in bounds.
#[test]
fn laws_with_parameters_out_of_bounds_give_nan() {
    macro_rules! refused {
        ($($law:expr => $density:ident $($quantile:ident)?;)*) => {$({
            let (law, told) = ($law, stringify!($law));
            assert!(law.validate().is_err(), "{told}");
            assert!(law.$density(0.5).is_nan() && law.$density(1.0).is_nan(), "{told}");
            assert!(law.cdf(0.5).is_nan() && law.sf(0.5).is_nan(), "{told}");
            assert!(law.ln_cdf(0.5).is_nan() && law.ln_sf(0.5).is_nan(), "{told}");
            assert!(law.cdf(&[0.5, -1.0]).iter().all(|p| p.is_nan()), "{told}");
            $(assert!(law.$quantile(0.5).is_nan(), "{told}");)?
            assert!(law.sample(&mut ChaCha8Rng::seed_from_u64(1)).is_nan(), "{told}");
        })*};
    }
    refused! {
        Normal::new(0.0, -1.0) => ln_pdf quantile;
        Normal::new(0.0, 0.0) => ln_pdf quantile;
        Normal::new(f64::NAN, 1.0) => ln_pdf quantile;
        Normal::new(f64::INFINITY, 1.0) => ln_pdf quantile;
        Uniform::new(1.0, 0.0) => ln_pdf quantile;
        Exponential::new(-2.0) => ln_pdf quantile;
        Gamma::new(-1.0, 1.0) => ln_pdf quantile;
        Gamma::new(1.0, f64::NAN) => ln_pdf quantile;
        Beta::new(0.0, 1.0) => ln_pdf quantile;
        Poisson::new(-1.0) => ln_pmf quantile;
        Binomial::from_probs(2.5, 0.5) => ln_pmf quantile;
        Binomial::from_probs(2.0, 1.5) => ln_pmf quantile;
        Geometric::from_probs(0.0) => ln_pmf quantile;
        Truncated::new(Normal::new(0.0, 1.0), 2.0, 1.0) => ln_pdf quantile;
        Truncated::new(Normal::new(0.0, -1.0), 1.0, 2.0) => ln_pdf quantile;
        Censored::new(Normal::new(0.0, -1.0), 1.0, 2.0) => ln_pdf quantile;
        Normal::new(0.0, -1.0).by_quantile() => ln_pdf quantile;
        ZeroInflated::from_probs(Poisson::new(3.0), 1.5) => ln_pmf quantile;
        SkewNormal::new(0.0, -1.0, 1.0) => ln_pdf;
    }
}
