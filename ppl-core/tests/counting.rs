//! What log probabilities of counts are made of, distribution functions of counts and their inverses: values,
//! derivatives, edges, shapes.

use crate::common::{Argument, check, spread, value};
use ppl_core::op::Counting;
use ppl_core::{Error, Graph, Var};

/// Numbers between `low` and `high`, irregular.
fn between(seed: u64, shape: &[usize], low: f64, high: f64) -> Argument {
    Argument::new(shape, |record, k| low + (high - low) * (spread(seed, record, k) / 3.0 + 0.5))
}

/// Counts with a fraction, so that no small step changes what they are rounded down to.
fn counts(shape: &[usize]) -> Argument {
    Argument::new(shape, |record, k| [0.5, 2.25, 7.5, -1.5, 1.75, 30.5, 3.5, 4.25][(record * 3 + k) % 8])
}

/// Pairs of elements, the second's repeated.
fn zip(values: &[Vec<f64>], f: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
    let elements = values.iter().map(Vec::len).max().unwrap_or(0);
    let at = |which: usize, k: usize| values.get(which).map_or(0.0, |all| all[k % all.len()]);
    (0..elements).map(|k| f(at(0, k), at(1, k), at(2, k))).collect()
}

#[test]
fn the_parts_of_log_probabilities() {
    // ln x! by the product, for whole numbers; the pieces put together again for others.
    let factorial = |x: f64| (1..=x as u64).map(|k| (k as f64).ln()).sum::<f64>();
    let whole = Argument::new(6, |record, k| (1 + 3 * record + 5 * k) as f64);
    check(
        "log_factorial_remainder",
        &[whole],
        |v| v[0].log_factorial_remainder() + v[0] * v[0].log() - v[0],
        |values| values[0].iter().map(|&x| factorial(x)).collect(),
        2e-5,
    );
    check(
        "digamma_remainder",
        &[between(2, &[2, 3], 0.3, 20.0)],
        |v| v[0].digamma_remainder() - (v[0] + 1.0).digamma(),
        |values| values[0].iter().map(|x| -x.ln()).collect(),
        2e-5,
    );
    for (shapes, label) in
        [([vec![2, 3], vec![3]], "row"), ([vec![], vec![2, 3]], "scalar"), ([vec![4], vec![4]], "same")]
    {
        let args = [between(3, &shapes[0], 0.2, 9.0), between(4, &shapes[1], 0.3, 7.0)];
        check(
            &format!("deviance {label}"),
            &args,
            |v| v[0].deviance(v[1]),
            |values| zip(values, |x, m, _| x * (x / m).ln() + m - x),
            2e-4,
        );
    }
}

#[test]
fn distribution_functions_are_sums() {
    let up_to =
        |k: f64, term: &dyn Fn(f64) -> f64| (0..=k.floor() as i64).map(|j| term(j as f64)).sum::<f64>();
    let product = |k: f64, f: &dyn Fn(f64) -> f64| (1..=k as u64).map(|j| f(j as f64)).product::<f64>();
    let shape = [2, 3];
    check(
        "poisson_cdf",
        &[counts(&shape), between(5, &[3], 0.4, 6.0)],
        |v| v[0].poisson_cdf(v[1]),
        |values| zip(values, |k, rate, _| up_to(k, &|j| product(j, &|i| rate / i) * (-rate).exp())),
        2e-5,
    );
    let trials = Argument::new((), |_, _| 9.0);
    check(
        "binomial_cdf",
        &[counts(&shape), Argument::arbitrary([3], 6)],
        |v| v[0].binomial_cdf(9.0, v[1]),
        |values| {
            zip(values, |k, logit, _| {
                let p = 1.0 / (1.0 + (-logit).exp());
                up_to(k.min(9.0), &|j| product(j, &|i| (10.0 - i) / i) * p.powf(j) * (1.0 - p).powf(9.0 - j))
            })
        },
        2e-5,
    );
    check(
        "negative_binomial_cdf",
        &[counts(&shape), between(7, &[3], -2.0, 1.0)],
        |v| v[0].negative_binomial_cdf(2.5, v[1]),
        |values| {
            zip(values, |k, logit, _| {
                let p = 1.0 / (1.0 + (-logit).exp());
                up_to(k, &|j| product(j, &|i| (1.5 + i) / i) * p.powf(j) * (1.0 - p).powf(2.5))
            })
        },
        2e-5,
    );
    // The total may be a value too; its derivative is 0.
    let args = [counts(&[3]), trials, between(8, &[3], -2.0, 2.0)];
    let by_value = value::<f64>(&args, |v| v[0].binomial_cdf(v[1], v[2]));
    assert_eq!(by_value, value::<f64>(&args, |v| v[0].binomial_cdf(9.0, v[2])));
}

/// The quantile against the sum of probabilities, one after the other, at the middle of each step and at its
/// ends.
#[test]
fn quantiles_invert_sums() {
    type Case = (&'static str, fn(Var<'_>) -> Var<'_>, fn(f64) -> f64);
    let cases: [Case; 3] = [
        ("poisson", |u| u.poisson_quantile(2.5), |k| 2.5 / k),
        ("binomial", |u| u.binomial_quantile(8.0, -0.5), |k| (9.0 - k) / k * (-0.5_f64).exp()),
        (
            "negative binomial",
            |u| u.negative_binomial_quantile(1.5, 0.5),
            |k| (0.5 + k) / k / (1.0 + (-0.5_f64).exp()),
        ),
    ];
    for (name, quantile, ratio) in cases {
        let mut probability = match name {
            "poisson" => (-2.5_f64).exp(),
            "binomial" => (1.0 + (-0.5_f64).exp()).powi(-8),
            _ => (1.0 + 0.5_f64.exp()).powf(-1.5),
        };
        let mut sum = 0.0;
        for k in 0..=8 {
            if k > 0 {
                probability *= ratio(f64::from(k));
            }
            // Sums and distribution functions differ by roundings; a step inside is the same for both.
            for fraction in [1e-9, 0.5, 1.0 - 1e-9] {
                let u = sum + fraction * probability;
                let got = value::<f64>(&[Argument::new((), |_, _| u)], |v| quantile(v[0]))[0];
                assert_eq!(got, f64::from(k), "{name} at {u}");
            }
            sum += probability;
        }
    }
}

#[test]
fn edges() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let of = |op: Counting, numbers: [f64; 3]| {
        let args: Vec<Argument> =
            numbers[..op.arguments()].iter().map(|&x| Argument::new((), move |_, _| x)).collect();
        value::<f64>(&args, |v| match op {
            Counting::PoissonQuantile => v[1].poisson_quantile(v[0]),
            Counting::BinomialQuantile => v[2].binomial_quantile(v[0], v[1]),
            Counting::NegativeBinomialQuantile => v[2].negative_binomial_quantile(v[0], v[1]),
            Counting::PoissonCdf => v[0].poisson_cdf(v[1]),
            Counting::BinomialCdf => v[0].binomial_cdf(v[1], v[2]),
            Counting::PoissonQuantileAbove => v[1].poisson_quantile_above(v[0]),
            Counting::PoissonSf => v[0].poisson_sf(v[1]),
            _ => v[0].negative_binomial_cdf(v[1], v[2]),
        })[0]
    };
    for (op, numbers, expected) in [
        (Counting::PoissonQuantile, [0.0, 0.3, 0.0], 0.0),
        (Counting::PoissonQuantile, [-1.0, 0.3, 0.0], nan),
        (Counting::PoissonQuantile, [nan, 0.3, 0.0], nan),
        (Counting::PoissonQuantile, [inf, 0.3, 0.0], f64::MAX),
        (Counting::PoissonQuantile, [2.0, nan, 0.0], nan),
        (Counting::PoissonQuantile, [2.0, -0.5, 0.0], nan),
        (Counting::PoissonQuantile, [2.0, 1.0, 0.0], f64::MAX),
        (Counting::BinomialQuantile, [0.0, nan, 0.5], nan),
        (Counting::BinomialQuantile, [0.0, 1.0, 0.5], 0.0),
        (Counting::BinomialQuantile, [3.5, 1.0, 0.5], nan),
        (Counting::BinomialQuantile, [3.0, inf, 0.5], 3.0),
        (Counting::BinomialQuantile, [3.0, -inf, 0.5], 0.0),
        (Counting::BinomialQuantile, [3.0, 0.0, 1.0], 3.0),
        (Counting::NegativeBinomialQuantile, [0.0, 0.0, 0.5], nan),
        (Counting::NegativeBinomialQuantile, [2.0, -inf, 0.5], 0.0),
        (Counting::NegativeBinomialQuantile, [2.0, inf, 0.5], f64::MAX),
        (Counting::PoissonCdf, [-1.0, 2.0, 0.0], 0.0),
        (Counting::PoissonCdf, [3.0, 0.0, 0.0], 1.0),
        (Counting::PoissonCdf, [inf, 3.0, 0.0], 1.0),
        (Counting::PoissonCdf, [3.0, -1.0, 0.0], nan),
        (Counting::BinomialCdf, [-0.5, 3.0, 0.0], 0.0),
        (Counting::BinomialCdf, [3.0, 3.0, 0.0], 1.0),
        (Counting::BinomialCdf, [2.0, 3.0, inf], 0.0),
        (Counting::BinomialCdf, [2.0, 3.0, -inf], 1.0),
        (Counting::NegativeBinomialCdf, [-1.0, 3.0, 0.0], 0.0),
        (Counting::NegativeBinomialCdf, [inf, 3.0, 0.0], 1.0),
        (Counting::NegativeBinomialCdf, [2.0, -3.0, 0.0], nan),
    ] {
        let got = of(op, numbers);
        assert!(got == expected || (got.is_nan() && expected.is_nan()), "{op:?} {numbers:?}: {got}");
    }
    // In single precision the largest number is another one.
    let one = [Argument::new((), |_, _| 1.0)];
    assert_eq!(value::<f32>(&one, |v| v[0].poisson_quantile(2.0))[0], f64::from(f32::MAX));
}

#[test]
fn shapes_that_do_not_go_together_are_named() {
    let graph = Graph::new();
    let (u, rate) = (graph.input("u", [2, 3]).unwrap(), graph.input("rate", 4).unwrap());
    let _ = u.poisson_quantile(rate);
    assert!(matches!(graph.check(), Err(Error::ShapeMismatch { operation: "poisson_quantile", .. })));
    let (graph, other) = (Graph::new(), Graph::new());
    let (u, total) = (graph.input("u", ()).unwrap(), other.input("n", ()).unwrap());
    let _ = u.binomial_quantile(total, 0.5);
    assert!(matches!(graph.check(), Err(Error::MixedGraphs { operation: "binomial_quantile", .. })));
}
