//! Elementwise functions beyond arithmetic: golden values, derivatives, comparisons, and the edges.

use crate::common::{Argument, check, value};
use ppl_core::op::{Binary, Unary};
use ppl_core::{ExecutionPlan, Graph, Program, Scalar, Var, gradient};

/// A function of every element of one shared vector.
fn map<T: Scalar>(function: Unary, x: &[f64]) -> Vec<f64> {
    value::<T>(&[Argument::new(x.len(), |_, k| x[k])], |v| v[0].map(function))
}

/// Rows of a golden file: everything after the comments, split at commas.
fn golden(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect())
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// The values of 50 digits, seen through the engine; `math` holds each function to its own bound.
#[test]
fn special_functions_have_their_golden_values() {
    for function in [
        Unary::Logit,
        Unary::Sin,
        Unary::Cos,
        Unary::Erf,
        Unary::Erfc,
        Unary::Erfinv,
        Unary::Lgamma,
        Unary::Digamma,
        Unary::Trigamma,
    ] {
        let name = format!("{function:?}").to_lowercase();
        let rows: Vec<(f64, f64)> = golden(include_str!("golden/math.csv"))
            .filter(|row| row[0] == name)
            .map(|row| (number(row[1]), number(row[3])))
            .collect();
        assert!(rows.len() >= 90, "{name}: {} rows", rows.len());
        let x: Vec<f64> = rows.iter().map(|row| row.0).collect();
        for ((x, expected), got) in rows.iter().zip(map::<f64>(function, &x)) {
            // Absolute near the roots of ln Γ and ψ, relative elsewhere; and a unit where numbers are
            // denormal.
            let scale = if matches!(function, Unary::Lgamma | Unary::Digamma) {
                expected.abs().max(1.0)
            } else {
                expected.abs()
            };
            let error = (got - expected).abs();
            assert!(
                got == *expected || error <= 2e-14 * scale + f64::from_bits(1),
                "{name}({x}): {got} against {expected}"
            );
        }
        // In f32, against f64 at the same argument.
        let single: Vec<f64> = x.iter().map(|&x| f64::from(x as f32)).collect();
        for ((x, got), expected) in
            single.iter().zip(map::<f32>(function, &single)).zip(map::<f64>(function, &single))
        {
            let expected_single = f64::from(expected as f32);
            let error = (got - expected_single).abs();
            let close = error <= 1e-6 * expected.abs() + f64::from(f32::from_bits(2));
            assert!(
                close || got == expected_single || (got.is_nan() && expected.is_nan()),
                "{name}({x}) in f32: {got} against {expected}"
            );
        }
    }
}

#[test]
fn polygamma_functions_have_their_golden_values() {
    let mut rows = 0;
    for row in golden(include_str!("golden/polygamma.csv")) {
        let (order, x, expected) = (row[0].parse::<u8>().unwrap(), number(row[1]), number(row[2]));
        let got = map::<f64>(Unary::Polygamma(order), &[x])[0];
        // A product of n factors; below 0 the two parts of the reflection, of which even orders have roots
        // between the poles.
        let tolerance = 1e-14 * (10.0 + f64::from(order));
        let fraction = x - x.round();
        let size = if x < 0.0 {
            let pole = (1..=order).fold(1.0 / fraction.abs(), |size, k| size * f64::from(k) / fraction.abs());
            // An error of rounding in πx is amplified by the number of factors.
            expected.abs().max(pole)
        } else {
            expected.abs()
        };
        assert!((got - expected).abs() <= tolerance * size, "ψ^({order})({x}): {got} against {expected}");
        rows += 1;
    }
    assert!(rows > 200, "{rows} rows");
    // Order 1 by two ways.
    let x = [0.3, 1.7, 12.0, -0.4];
    for (a, b) in map::<f64>(Unary::Polygamma(1), &x).iter().zip(map::<f64>(Unary::Trigamma, &x)) {
        assert!((a - b).abs() < 1e-13 * b.abs());
    }
    assert_eq!(map::<f64>(Unary::Polygamma(0), &x), map::<f64>(Unary::Digamma, &x));
    let single = map::<f32>(Unary::Polygamma(2), &[1.5])[0];
    assert!((single - map::<f64>(Unary::Polygamma(2), &[1.5])[0]).abs() < 1e-7);
}

/// `expected` in both number types; NaN stands for NaN, and zeros have their signs.
fn edges(function: Unary, cases: &[(f64, f64)]) {
    let x: Vec<f64> = cases.iter().map(|case| case.0).collect();
    for values in [map::<f64>(function, &x), map::<f32>(function, &x)] {
        for (&(x, expected), got) in cases.iter().zip(values) {
            let same = got == expected && got.is_sign_negative() == expected.is_sign_negative();
            assert!(
                same || (got.is_nan() && expected.is_nan()),
                "{function:?}({x}): {got} against {expected}"
            );
        }
    }
}

#[test]
fn the_edges_of_every_function() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    edges(Unary::Logit, &[(0.0, -inf), (1.0, inf), (0.5, 0.0), (-0.5, nan), (1.5, nan), (nan, nan)]);
    edges(Unary::Sin, &[(0.0, 0.0), (-0.0, -0.0), (inf, nan), (nan, nan)]);
    edges(Unary::Cos, &[(0.0, 1.0), (-0.0, 1.0), (-inf, nan), (nan, nan)]);
    edges(Unary::Erf, &[(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan)]);
    edges(Unary::Erfc, &[(0.0, 1.0), (inf, 0.0), (-inf, 2.0), (nan, nan)]);
    edges(Unary::Erfinv, &[(0.0, 0.0), (-0.0, -0.0), (1.0, inf), (-1.0, -inf), (1.5, nan), (nan, nan)]);
    edges(Unary::Lgamma, &[(0.0, inf), (1.0, 0.0), (2.0, 0.0), (-3.0, inf), (inf, inf), (nan, nan)]);
    edges(Unary::Digamma, &[(0.0, -inf), (-2.0, nan), (inf, inf), (nan, nan)]);
    edges(Unary::Trigamma, &[(0.0, inf), (-2.0, inf), (inf, 0.0), (nan, nan)]);
    edges(
        Unary::Polygamma(2),
        &[(0.0, -inf), (-0.0, inf), (-2.0, nan), (inf, -0.0), (-inf, nan), (nan, nan)],
    );
    edges(Unary::Polygamma(3), &[(0.0, inf), (-0.0, inf), (-2.0, inf), (inf, 0.0), (nan, nan)]);
    edges(Unary::Polygamma(255), &[(1e-3, inf), (nan, nan)]);
    edges(Unary::IsFinite, &[(0.0, 1.0), (-1e30, 1.0), (inf, 0.0), (-inf, 0.0), (nan, 0.0)]);
    edges(Unary::StopGradient, &[(0.0, 0.0), (-0.0, -0.0), (-inf, -inf), (nan, nan)]);
    // Denormal arguments.
    let tiny = f64::from_bits(3);
    for (function, expected) in [
        (Unary::Sin, tiny),
        (Unary::Erf, f64::from_bits(3)),    // 3 · 1.128…, rounded
        (Unary::Erfinv, f64::from_bits(3)), // 3 · 0.886…, rounded
        (Unary::Cos, 1.0),
        (Unary::Digamma, f64::NEG_INFINITY),
        (Unary::Trigamma, f64::INFINITY),
    ] {
        assert_eq!(map::<f64>(function, &[tiny]), [expected], "{function:?}");
    }
}

/// The whole test of an elementwise function: an array of each shape, away from poles and kinks.
fn check_unary(
    name: &str,
    shift: f64,
    scale: f64,
    f: impl for<'a> Fn(Var<'a>) -> Var<'a>,
    reference: impl Fn(f64) -> f64,
) {
    for shape in [vec![], vec![1], vec![2, 3], vec![0, 2]] {
        let args = [Argument::new(shape, |record, k| shift + scale * crate::common::spread(1, record, k))];
        check(name, &args, |v| f(v[0]), |values| values[0].iter().map(|&x| reference(x)).collect(), 2e-5);
    }
}

#[test]
fn derivatives_of_first_and_second_order() {
    let erf = |x: f64| map::<f64>(Unary::Erf, &[x])[0];
    let lgamma = |x: f64| map::<f64>(Unary::Lgamma, &[x])[0];
    check_unary("logit", 0.5, 0.2, |x| x.logit(), |x| (x / (1.0 - x)).ln());
    check_unary("log_sigmoid", 0.0, 3.0, |x| x.log_sigmoid(), |x| (1.0 / (1.0 + (-x).exp())).ln());
    check_unary("sin", 0.0, 2.0, |x| x.sin(), f64::sin);
    check_unary("cos", 0.0, 2.0, |x| x.cos(), f64::cos);
    check_unary("erf", 0.0, 1.0, |x| x.erf(), erf);
    check_unary("erfc", 0.0, 1.0, |x| x.erfc(), |x| 1.0 - erf(x));
    check_unary("erfinv", 0.0, 0.5, |x| x.erfinv().erf(), |x| x);
    check_unary("lgamma", 2.5, 1.0, |x| x.lgamma(), lgamma);
    check_unary("lgamma below 0", -2.5, 0.2, |x| x.lgamma(), lgamma);
    // ψ(x + 1) = ψ(x) + 1/x, and its derivatives.
    check_unary("digamma", 2.5, 1.0, |x| (x + 1.0).digamma() - x.digamma(), |x| 1.0 / x);
    check_unary("trigamma", 2.5, 1.0, |x| x.trigamma() - (x + 1.0).trigamma(), |x| x.powi(-2));
    check_unary("polygamma", 2.5, 1.0, |x| (x + 1.0).polygamma(2) - x.polygamma(2), |x| 2.0 * x.powi(-3));
    let polygamma = |order: u8| move |x: f64| map::<f64>(Unary::Polygamma(order), &[x])[0];
    check_unary("digamma below 0", -2.35, 0.05, |x| x.digamma(), polygamma(0));
    check_unary("trigamma below 0", -2.35, 0.05, |x| x.trigamma(), polygamma(1));
    check_unary("polygamma 3 below 0", -2.35, 0.05, |x| x.polygamma(3), polygamma(3));
    check_unary("polygamma 4", 2.5, 1.0, |x| x.polygamma(4), polygamma(4));
}

#[test]
fn log_sigmoid_does_not_overflow() {
    let args = [Argument::new(3, |_, k| [-800.0, 0.0, 800.0][k])];
    assert_eq!(value::<f64>(&args, |v| v[0].log_sigmoid()), [-800.0, -2.0_f64.ln(), -0.0]);
}

#[test]
fn the_gradient_stops_where_it_is_told() {
    let graph = Graph::new();
    let x = graph.input("x", 2).unwrap();
    let y = x.stop_gradient().exp() * x.sin() + x.is_finite() + x.less(1.0);
    let slope = gradient(y.sum(), &[x]).unwrap()[0];
    let none = gradient(x.square().stop_gradient().sum(), &[x]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[slope, none]).unwrap());
    plan.set("x", &[0.5, 2.0]).unwrap();
    plan.run();
    for (got, x) in plan.output(0).iter().zip([0.5_f64, 2.0]) {
        assert!((got - x.exp() * x.cos()).abs() < 1e-14);
    }
    assert_eq!(plan.output(1), [0.0, 0.0]);
}

#[test]
fn comparisons() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let numbers = [-inf, -1.5, -f64::from_bits(1), -0.0, 0.0, f64::from_bits(1), 2.0, inf, nan];
    let pairs: Vec<(f64, f64)> = numbers.iter().flat_map(|&a| numbers.map(|b| (a, b))).collect();
    let args = [
        Argument::new(pairs.len(), |record, k| if record == 0 { pairs[k].0 } else { pairs[k].1 }),
        Argument::new(pairs.len(), |record, k| if record == 0 { pairs[k].1 } else { pairs[k].0 }),
    ];
    type Compare = fn(f64, f64) -> bool;
    let comparisons: [(Binary, Compare); 6] = [
        (Binary::Less, |a, b| a < b),
        (Binary::LessEqual, |a, b| a <= b),
        (Binary::Greater, |a, b| a > b),
        (Binary::GreaterEqual, |a, b| a >= b),
        (Binary::Equal, |a, b| a == b),
        (Binary::NotEqual, |a, b| a != b),
    ];
    for (function, holds) in comparisons {
        let expected: Vec<f64> = pairs.iter().map(|&(a, b)| f64::from(u8::from(holds(a, b)))).collect();
        assert_eq!(value::<f64>(&args, |v| v[0].zip(v[1], function)), expected, "{function:?}");
        check(
            &format!("{function:?}"),
            &[Argument::arbitrary([2, 3], 3), Argument::arbitrary([3], 4)],
            |v| v[0].zip(v[1], function),
            |values| {
                let pair = |(k, &a): (usize, &f64)| f64::from(u8::from(holds(a, values[1][k % 3])));
                values[0].iter().enumerate().map(pair).collect()
            },
            1e-6,
        );
    }
    let args = [Argument::new(3, |_, k| k as f64)];
    assert_eq!(value::<f64>(&args, |v| v[0].less(1.0)), [1.0, 0.0, 0.0]);
    assert_eq!(value::<f64>(&args, |v| v[0].less_equal(1.0)), [1.0, 1.0, 0.0]);
    assert_eq!(value::<f64>(&args, |v| v[0].not_equal(1.0)), [1.0, 0.0, 1.0]);
}
