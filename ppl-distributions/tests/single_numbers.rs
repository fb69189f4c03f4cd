//! What all laws of single numbers keep to: derivatives of the logarithms of their tails, and quantiles.

use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Value, Var, gradient};
use ppl_distributions::prelude::*;
use proptest::prelude::*;

/// A law, how it is built of numbers or inputs, its parameters, how many of them (the first ones) have derivatives,
/// points where both tails have a slope, and points beyond the support.
struct Law {
    told: &'static str,
    build: for<'g> fn(&[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>,
    parameters: &'static [f64],
    varied: usize,
    inside: &'static [f64],
    beyond: &'static [f64],
}

macro_rules! laws {
    ($($told:literal: |$p:ident| $law:expr, $parameters:expr, $varied:literal, $inside:expr, $beyond:expr;)*) => {
        &[$(Law {
            told: $told,
            build: |$p| Box::new($law),
            parameters: &$parameters,
            varied: $varied,
            inside: &$inside,
            beyond: &$beyond,
        }),*]
    };
}

const NONE: [f64; 0] = [];

const LAWS: &[Law] = laws! {
    "Normal": |p| Normal::new(p[0], p[1]), [0.5, 1.3], 2, [-3.0, 0.4, 5.0], NONE;
    "LogNormal": |p| LogNormal::new(p[0], p[1]), [0.2, 0.4], 2, [0.4, 1.1, 4.0], [0.0, -1.0];
    "HalfNormal": |p| HalfNormal::new(p[0]), [1.7], 1, [0.01, 1.0, 7.0], [0.0, -1.0];
    "Cauchy": |p| Cauchy::new(p[0], p[1]), [0.5, 1.3], 2, [-40.0, 0.4, 50.0], NONE;
    "HalfCauchy": |p| HalfCauchy::new(p[0]), [1.7], 1, [0.01, 1.0, 50.0], [0.0, -1.0];
    "Laplace": |p| Laplace::new(p[0], p[1]), [0.5, 1.3], 2, [-3.0, 0.7, 5.0], NONE;
    "AsymmetricLaplace": |p|
        AsymmetricLaplace::new(p[0], p[1], p[2]),
        [0.5, 1.3, 0.7], 3, [-3.0, 0.7, 5.0], NONE;
    "Logistic": |p| Logistic::new(p[0], p[1]), [0.5, 1.3], 2, [-9.0, 0.4, 9.0], NONE;
    "Gumbel": |p| Gumbel::new(p[0], p[1]), [0.5, 1.3], 2, [-2.0, 0.4, 9.0], NONE;
    "StudentT": |p| StudentT::new(p[0], p[1], p[2]), [3.2, 0.5, 1.3], 3, [-9.0, 0.3, 0.7, 9.0], NONE;
    "HalfStudentT": |p|
        HalfStudentT::new(p[0], p[1]),
        [3.2, 1.3], 2, [0.02, 0.2, 0.3, 1.0, 3.0, 30.0], [0.0, -1.0];
    "HalfStudentT of few": |p| HalfStudentT::new(p[0], p[1]), [0.4, 1.3], 2, [0.02, 0.3, 30.0], [0.0, -1.0];
    "Exponential": |p| Exponential::new(p[0]), [1.7], 1, [0.01, 1.0, 9.0], [0.0, -1.0];
    "Gamma": |p| Gamma::new(p[0], p[1]), [2.3, 1.7], 2, [0.1, 1.2, 9.0], [0.0, -1.0];
    "InverseGamma": |p| InverseGamma::new(p[0], p[1]), [3.3, 1.7], 2, [0.1, 0.6, 9.0], [0.0, -1.0];
    "Chi2": |p| Chi2::new(p[0]), [3.7], 1, [0.1, 3.0, 20.0], [0.0, -1.0];
    "Weibull": |p| Weibull::new(p[0], p[1]), [1.7, 2.3], 2, [0.1, 1.2, 4.0], [0.0, -1.0];
    "Pareto": |p| Pareto::new(p[0], p[1]), [1.7, 3.2], 2, [1.8, 3.0, 40.0], [1.5, 0.0, -1.0];
    "Beta": |p| Beta::new(p[0], p[1]), [2.3, 0.7], 2, [0.05, 0.6, 0.99], [0.0, 1.0, -0.5, 1.5];
    "BetaProportion": |p|
        BetaProportion::new(p[0], p[1]),
        [0.3, 7.0], 2, [0.05, 0.3, 0.9], [0.0, 1.0, -0.5, 1.5];
    "Kumaraswamy": |p| Kumaraswamy::new(p[0], p[1]), [2.3, 1.7], 2, [0.05, 0.6, 0.99], [0.0, 1.0, -0.5, 1.5];
    "VonMises": |p| VonMises::new(p[0], p[1]), [0.7, 2.3], 2, [-1.0, 0.6, 2.0], NONE;
    "Uniform": |p| Uniform::new(p[0], p[1]), [-1.5, 2.5], 2, [-1.0, 0.6, 2.0], [-2.0, 3.0];
    "LogUniform": |p| LogUniform::new(p[0], p[1]), [0.5, 4.0], 2, [0.6, 1.0, 3.0], [0.4, 5.0, 0.0, -1.0];
    "TruncatedNormal": |p|
        TruncatedNormal::new(p[0], p[1], p[2], p[3]),
        [0.5, 1.3, -1.0, 2.0], 4, [-0.8, 0.4, 1.9], [-1.5, 2.5];
    "ExponentiallyModifiedGaussian": |p|
        ExponentiallyModifiedGaussian::new(p[0], p[1], p[2]),
        [0.5, 1.3, 0.7], 3, [-0.5, 1.1, 4.0], NONE;
    "Gompertz": |p| Gompertz::new(p[0], p[1]), [0.4, 1.3], 2, [0.01, 0.8, 2.0], [0.0, -1.0];
    "InverseGaussian": |p| InverseGaussian::new(p[0], p[1]), [1.7, 2.3], 2, [0.3, 1.2, 6.0], [0.0, -1.0];
    "SkewNormal": |p| SkewNormal::new(p[0], p[1], p[2]), [0.5, 1.3, 2.0], 3, [0.1, 1.2, 3.0], NONE;
    "RelaxedBernoulli": |p|
        RelaxedBernoulli::from_logits(p[0], p[1]),
        [0.5, 0.7], 2, [0.05, 0.6, 0.99], [0.0, 1.0, -0.5, 1.5];
    "Bernoulli": |p| Bernoulli::from_logits(p[0]), [0.4], 1, [0.0], [-1.0, 1.0, 2.0];
    "Bernoulli of a probability": |p| Bernoulli::from_probs(p[0]), [0.4], 1, [0.0], [-1.0, 1.0, 2.0];
    "Binomial": |p| Binomial::from_logits(9.0, p[0]), [0.4], 1, [0.0, 4.0, 8.0], [-1.0, 9.0, 10.0];
    "Binomial of a probability": |p|
        Binomial::from_probs(9.0, p[0]),
        [0.4], 1, [0.0, 4.0, 8.0], [-1.0, 9.0, 10.0];
    "Poisson": |p| Poisson::new(p[0]), [3.7], 1, [0.0, 3.0, 20.0], [-1.0];
    "NegativeBinomial": |p|
        NegativeBinomial::from_logits(p[0], p[1]),
        [0.7, 0.4], 2, [0.0, 2.0, 20.0], [-1.0];
    "NegativeBinomial of a mean": |p|
        NegativeBinomial::from_mean(p[0], p[1]),
        [4.2, 3.1], 2, [0.0, 2.0, 20.0], [-1.0];
    "Geometric": |p| Geometric::from_probs(p[0]), [0.3], 1, [0.0, 2.0, 20.0], [-1.0];
    "BetaBinomial": |p| BetaBinomial::new(p[0], p[1], 9.0), [2.5, 0.8], 2, [0.0, 4.0, 8.0], [-1.0, 9.0, 10.0];
    "DiscreteUniform": |_p| DiscreteUniform::new(-2.0, 5.0), [], 0, [-1.0, 3.0], [-3.0, 5.0, 9.0];
    "DiscreteLaplace": |p| DiscreteLaplace::new(0.0, p[0]), [1.3], 1, [-4.0, 0.0, 5.0], NONE;
    "Skellam": |p| Skellam::new(p[0], p[1]), [2.5, 1.3], 2, [-2.0, 1.0, 5.0], NONE;
    "OrderedLogistic": |p|
        OrderedLogistic::new(p[0], &[-1.3, 0.2, 1.9]),
        [0.4], 1, [0.0, 1.0, 2.0], [-1.0, 3.0, 4.0];
    "OrderedProbit": |p|
        OrderedProbit::new(p[0], &[-1.3, 0.2, 1.9]),
        [0.4], 1, [0.0, 1.0, 2.0], [-1.0, 3.0, 4.0];
    "Categorical": |_p| Categorical::from_probs(&[0.2, 0.3, 0.5]), [], 0, [0.0, 1.0], [-1.0, 2.0, 3.0];
    "ZeroInflatedPoisson": |p| ZeroInflatedPoisson::new(p[0], p[1]), [0.4, 2.0], 2, [0.0, 2.0, 9.0], [-1.0];
    "Hurdle": |p| Hurdle::from_probs(Poisson::new(p[1]), p[0]), [0.4, 2.0], 2, [0.0, 2.0, 9.0], [-1.0];
    "Censored": |p|
        Censored::new(Normal::new(p[0], p[1]), -1.0, 2.0),
        [0.5, 1.3], 2, [-0.9, 0.4, 1.9], [-1.5, 2.0, 3.0];
    "Truncated": |p|
        Truncated::new(Normal::new(p[0], p[1]), -1.0, 2.0),
        [0.5, 1.3], 2, [-0.9, 0.4, 1.9], [-1.5, 2.5];
    "Truncated counts": |p|
        Truncated::new(Poisson::new(p[0]), 1.0, 6.0),
        [2.5], 1, [1.0, 3.0, 5.0], [0.0, 6.0, 7.0];
    "Transformed": |p| Normal::new(p[0], p[1]).transformed(Exp), [0.2, 0.4], 2, [0.4, 1.1, 4.0], [0.0, -1.0];
    "Transformed downwards": |p|
        Gamma::new(p[0], p[1]).transformed(Negation),
        [2.3, 1.7], 2, [-9.0, -1.2, -0.1], [0.0, 1.0];
    "Mixture": |p|
        Mixture::new(Categorical::from_probs(&[0.25, 0.75]))
            .of(Normal::new(p[0], 1.0))
            .of(Normal::new(1.0, p[1])),
        [0.5, 1.3], 2, [-3.0, 0.4, 5.0], NONE;
    "Mixture of positive numbers": |p|
        Mixture::new(Categorical::from_probs(&[0.25, 0.75]))
            .of(Gamma::new(p[0], 1.0))
            .of(LogNormal::new(1.0, p[1])),
        [0.5, 1.3], 2, [0.2, 1.0, 9.0], [0.0, -1.0];
};

/// A number of a law at a point, and its derivatives by the parameters that are varied.
fn value_and_slopes(
    law: &Law,
    parameters: &[f64],
    x: f64,
    number: impl for<'g> Fn(&dyn Distribution<'g>, Var<'g>) -> Option<Var<'g>>,
) -> Option<(f64, Vec<f64>)> {
    let graph = Graph::new();
    let inputs: Vec<Var<'_>> =
        (0..parameters.len()).map(|k| graph.input(format!("p{k}"), ()).unwrap()).collect();
    let values: Vec<Value<'_>> = inputs.iter().map(|&input| input.into()).collect();
    let at = graph.input("x", ()).unwrap();
    let value = number(&*(law.build)(&values), at)?;
    let mut outputs = vec![value];
    outputs.extend(gradient(value, &inputs[..law.varied]).unwrap());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    let named = parameters.iter().enumerate().map(|(k, &p)| (format!("p{k}"), p));
    for (name, number) in named.chain([("x".to_owned(), x)]) {
        if plan.input(&name).is_ok() {
            plan.set(&name, &[number]).unwrap();
        }
    }
    plan.run();
    Some((plan.output(0)[0], (1..outputs.len()).map(|k| plan.output(k)[0]).collect()))
}

type Tail = for<'g> fn(&dyn Distribution<'g>, Var<'g>) -> Option<Var<'g>>;
const TAILS: [(&str, Tail); 4] = [
    ("cdf", |law, x| law.cdf(x)),
    ("sf", |law, x| law.sf(x)),
    ("log_cdf", |law, x| law.log_cdf(x)),
    ("log_sf", |law, x| law.log_sf(x)),
];

/// Central differences of sixth order with steps of about a thousandth of the parameter. They err by h⁶/140 times the
/// seventh derivative, which is less than 1e-12 for laws whose parameters are of order 1; and by 1.9 times the error
/// of a value, over h. Values are right to 1e-14 (1 + |f|), where a law computes the logarithm itself, and to 1e-15
/// over the probability, where it is the logarithm of one that is a difference.
#[test]
fn logarithms_of_tails_have_the_slopes_of_their_differences() {
    let mut wrong = Vec::new();
    for law in LAWS {
        for (told, tail) in TAILS {
            for &x in law.inside {
                let Some((value, slopes)) = value_and_slopes(law, law.parameters, x, tail) else { continue };
                let logarithm = told.starts_with("log");
                let probability = if logarithm { value.exp() } else { 1.0 };
                let error = 1e-14 * (1.0 + value.abs()) + 1e-15 / probability;
                for (k, slope) in slopes.into_iter().enumerate() {
                    let size = law.parameters[k].abs();
                    let h = 2.0_f64.powi((1e-3 * size).log2().floor() as i32);
                    let at = |steps: f64| {
                        let mut moved = law.parameters.to_vec();
                        moved[k] += steps * h;
                        value_and_slopes(law, &moved, x, tail).unwrap().0
                    };
                    let across = |steps: f64| at(steps) - at(-steps);
                    let numeric = (45.0 * across(1.0) - 9.0 * across(2.0) + across(3.0)) / (60.0 * h);
                    let tolerance = 2.0 * error / h + 1e-9 * (1.0 + slope.abs());
                    let right = (numeric - slope).abs() <= tolerance;
                    if !right {
                        let name = law.told;
                        wrong.push(format!(
                            "{name} {told} at {x} by {k}: {slope}, not {numeric} ± {tolerance}"
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Beyond the support, and where nothing is left, tails are 0 or 1 whatever the parameters.
#[test]
fn tails_beyond_the_support_have_no_slopes() {
    let mut wrong = Vec::new();
    for law in LAWS {
        for (told, tail) in TAILS {
            for &x in law.beyond {
                let Some((value, slopes)) = value_and_slopes(law, law.parameters, x, tail) else { continue };
                let end = [0.0, 1.0, f64::NEG_INFINITY].contains(&value);
                if !end || slopes.iter().any(|&slope| slope != 0.0) {
                    wrong.push(format!("{} {told} at {x}: {value} with slopes {slopes:?}", law.told));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn known(law: &Law) -> Vec<Value<'static>> {
    law.parameters.iter().map(|&p| p.into()).collect()
}

/// Numbers of a law with known parameters at several points.
fn at(
    law: for<'g> fn(&[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>,
    parameters: &[f64],
    points: &[f64],
    number: impl for<'g> Fn(&dyn Distribution<'g>, Var<'g>) -> Option<Var<'g>>,
) -> Option<Vec<f64>> {
    let graph = Graph::new();
    let values: Vec<Value<'_>> = parameters.iter().map(|&p| p.into()).collect();
    let x = graph.input("x", points.len()).unwrap();
    let value = number(&*law(&values), x)?;
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[value]).unwrap());
    if plan.input("x").is_ok() {
        plan.set("x", points).unwrap();
    }
    plan.run();
    Some(plan.output(0).to_vec())
}

#[test]
fn there_is_no_quantile_outside_the_unit_interval() {
    let mut wrong = Vec::new();
    for law in LAWS {
        (law.build)(&known(law)).validate().unwrap();
        let points = [-0.1, 1.1, f64::NAN, 0.5];
        let Some(found) = at(law.build, law.parameters, &points, |law, p| law.quantile(p)) else { continue };
        if !(found[..3].iter().all(|x| x.is_nan()) && found[3].is_finite()) {
            wrong.push(format!("{}: {found:?}", law.told));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `7/25 · 25` is more than 7 in numbers of 53 binary digits.
#[test]
fn a_product_that_is_rounded_up_is_no_further_outcome() {
    assert_eq!(DiscreteUniform::new(0.0, 24.0).quantile(7.0 / 25.0), 6.0);
}

type Build = for<'g> fn(&[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>;

/// Outcomes, from the first one on, that are not the quantile of their distribution function.
fn wrong_quantiles(
    (told, build, parameters, first, count): (&str, Build, Vec<f64>, f64, f64),
) -> Vec<String> {
    let mut wrong = Vec::new();
    let points: Vec<f64> = (0..=count as usize).map(|k| first + k as f64).collect();
    let number = |number: Tail| at(build, &parameters, &points, number).unwrap();
    let (masses, below) = (number(|law, x| Some(law.log_prob(x))), number(|law, x| law.cdf(x)));
    let found = at(build, &parameters, &below, |law, p| law.quantile(p)).unwrap();
    for k in 0..points.len() {
        let before = if k == 0 { 0.0 } else { below[k - 1] };
        // Of the last outcome nothing else is left.
        let told_apart = masses[k] > -25.0 && before < below[k] && below[k] < 1.0 - 1e-11;
        if told_apart && found[k] != points[k] {
            let (k, found, below) = (points[k], found[k], below[k]);
            wrong.push(format!("{told} {parameters:?} at {k}: {found} of {below}"));
        }
    }
    wrong
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The smallest outcome whose distribution function is at least that of `k` is `k`, if it has a probability
    /// that the distribution function tells: above its rounding.
    #[test]
    fn quantiles_invert_the_distribution_function_of_integers(
        a in 0.05..0.95_f64, size in 0.2..30.0_f64, low in -30..30_i32, count in 1..2000_i32,
    ) {
        let (low, count) = (f64::from(low), f64::from(count));
        let cases: [(&str, Build, Vec<f64>, f64, f64); 14] = [
            ("DiscreteUniform", |p| Box::new(DiscreteUniform::new(p[0], p[1])), vec![low, low + count], low, count),
            ("Bernoulli", |p| Box::new(Bernoulli::from_probs(p[0])), vec![a], 0.0, 1.0),
            ("Bernoulli of log-odds", |p| Box::new(Bernoulli::from_logits(p[0])), vec![size - 15.0], 0.0, 1.0),
            ("Binomial", |p| Box::new(Binomial::from_probs(p[0], p[1])), vec![size.ceil(), a], 0.0, size.ceil()),
            ("Poisson", |p| Box::new(Poisson::new(p[0])), vec![size], 0.0, 80.0),
            ("Geometric", |p| Box::new(Geometric::from_probs(p[0])), vec![a], 0.0, 80.0),
            ("Geometric of log-odds", |p| Box::new(Geometric::from_logits(p[0])), vec![a - 0.2 * size], 0.0, 80.0),
            ("NegativeBinomial", |p| Box::new(NegativeBinomial::from_probs(p[0], p[1])), vec![size, a], 0.0, 80.0),
            ("BetaBinomial", |p| Box::new(BetaBinomial::new(p[0], p[1], 12.0)), vec![size, 5.0 * a], 0.0, 12.0),
            ("DiscreteLaplace", |p| Box::new(DiscreteLaplace::new(p[0], p[1])), vec![low, 0.2 * size], low - 40.0, 80.0),
            ("OrderedLogistic", |p| Box::new(OrderedLogistic::new(p[0], &[-1.3, 0.2, 1.9])), vec![a], 0.0, 3.0),
            ("OrderedProbit", |p| Box::new(OrderedProbit::new(p[0], &[-1.3, 0.2, 1.9])), vec![a], 0.0, 3.0),
            ("ZeroInflatedPoisson", |p| Box::new(ZeroInflatedPoisson::new(p[0], p[1])), vec![a, size], 0.0, 80.0),
            ("Hurdle", |p| Box::new(Hurdle::from_probs(Poisson::new(p[1]), p[0])), vec![a, size], 0.0, 80.0),
        ];
        let wrong: Vec<String> = cases.into_iter().flat_map(wrong_quantiles).collect();
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(15))]

    /// Of a law whose distribution function is a long sum, and each quantile a search.
    #[test]
    fn quantiles_invert_the_distribution_function_of_differences(a in 0.05..0.95_f64, size in 0.2..30.0_f64) {
        let law: Build = |p| Box::new(Skellam::new(p[0], p[1]));
        let wrong = wrong_quantiles(("Skellam", law, vec![size, 5.0 * a], -40.0, 80.0));
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
