//! The Pólya–gamma distribution of any concentration: densities and derivatives against 60 digits
//! (`golden/polya_gamma.py`), draws against the Laplace transform.

use ppl_core::{
    Constraint, Ctx, Distribution, ExecutionPlan, Graph, Program, Records, Unconstrained, gradient, simulate,
    trace,
};
use ppl_distributions::PolyaGamma;

/// `b, c, x`, the log density, its derivatives with respect to `b` and `x`.
fn rows() -> Vec<[f64; 6]> {
    let lines = include_str!("golden/polya_gamma.csv").lines().filter(|line| !line.starts_with('#'));
    let numbers = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>();
    lines.map(|line| numbers(line).try_into().unwrap()).collect()
}

#[test]
fn densities_and_derivatives_agree_with_sixty_digits() {
    let rows = rows();
    assert!(rows.len() > 150);
    let graph = Graph::new();
    let inputs = ["b", "c", "x"].map(|name| graph.input(name, rows.len()).unwrap());
    let [b, c, x] = inputs;
    let log_prob = PolyaGamma::with_concentration(b, c).log_prob(x);
    let mut outputs = vec![log_prob];
    outputs.extend(gradient(log_prob.sum(), &[b, x]).unwrap());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    for (which, name) in ["b", "c", "x"].into_iter().enumerate() {
        plan.set(name, &rows.iter().map(|row| row[which]).collect::<Vec<_>>()).unwrap();
    }
    plan.run();
    for (k, &[b, c, x, value, by_b, by_x]) in rows.iter().enumerate() {
        let got: Vec<f64> = (0..3).map(|which| plan.output(which)[k]).collect();
        let terms = 1.0 + b + (1.0 + c * c) * x + value.abs() + b * c.abs();
        // The density is proportional to a small b, and the terms of the integral are not.
        let lost = f64::EPSILON / b;
        assert!((got[0] - value).abs() <= 1e-14 * terms + lost, "{b} {c} {x}: {got:?}, not {value}");
        // Means over the path of ln cos and of t, of which the largest are 1/b or so and b²/8x², and 3/2x and
        // 1/x at least.
        let sizes = [1.0 / b + terms + b / x, 2.0 / x + b * b / (x * x) + terms];
        for (got, (expected, size)) in got[1..].iter().zip([by_b, by_x].into_iter().zip(sizes)) {
            let tolerance = 1e-13 * size + 4.0 * lost * (expected.abs() + size);
            assert!((got - expected).abs() <= tolerance, "{b} {c} {x}: {got}, not {expected}");
        }
    }
}

/// For `b = 1` the two series and the integral are two computations of one density.
#[test]
fn the_integral_agrees_with_the_series() {
    let graph = Graph::new();
    let (b, x) = (graph.input("b", ()).unwrap(), graph.input("x", 600).unwrap());
    let series = PolyaGamma::new(0.7).log_prob(x);
    let integral = PolyaGamma::with_concentration(b, 0.7).log_prob(x);
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[series, integral]).unwrap());
    let points: Vec<f64> = (0..600).map(|k| (-5.0 + 0.015 * f64::from(k)).exp()).collect();
    plan.set("b", &[1.0]).unwrap();
    plan.set("x", &points).unwrap();
    plan.run();
    for (k, x) in points.iter().enumerate() {
        let (series, integral) = (plan.output(0)[k], plan.output(1)[k]);
        assert!((series - integral).abs() <= 1e-14 * (2.0 + x + series.abs()), "{x}: {series}, {integral}");
    }
}

/// `E e^(−sX) = (cosh(c/2)/cosh √(c²/4 + s/2))ᵇ`: means of numbers from 0 to 1, whose standard errors are
/// known from `2s`.
#[test]
fn draws_have_the_laplace_transform() {
    let count = 40_000;
    let nobody = Records::from_columns([("y", vec![0.0])]).unwrap();
    for (seed, (b, c)) in [(0.3_f64, 0.0_f64), (1.0, 2.0), (2.5, -1.2), (40.0, 0.5)].into_iter().enumerate() {
        let model =
            |ctx: &mut Ctx<'_>| ctx.sample("x", PolyaGamma::with_concentration(b, c).iid(count)).map(|_| ());
        let values = simulate(&ppl_core::handlers::seed(model, seed as u64), &nobody).unwrap();
        let transform = |s: f64| ((0.5 * c).cosh() / (0.25 * c * c + 0.5 * s).sqrt().cosh()).powf(b);
        for s in [0.5 / b, 2.0 / b, 10.0 / b] {
            let mean = values["x"].iter().map(|x| (-s * x).exp()).sum::<f64>() / count as f64;
            let error = ((transform(2.0 * s) - transform(s).powi(2)) / count as f64).sqrt();
            // Twelve comparisons at 5.5 standard errors: a false alarm of 5e-7.
            assert!((mean - transform(s)).abs() < 5.5 * error, "{b} {c} {s}: {mean}, {}", transform(s));
        }
    }
}

#[test]
fn a_concentration_that_is_not_positive_is_told_by_its_site() {
    let model = |ctx: &mut Ctx<'_>| ctx.sample("w", PolyaGamma::with_concentration(-2.0, 0.0)).map(|_| ());
    let records = Records::from_columns([("y", vec![0.0])]).unwrap();
    let graph = Graph::new();
    let told = trace(&model, &graph, records.schema(), Unconstrained).unwrap_err().to_string();
    assert!(
        told.starts_with("site 'w': PolyaGamma: concentration must be positive and finite, got -2"),
        "{told}"
    );
    assert_eq!(PolyaGamma::with_concentration(2.0, 0.0).support(), Constraint::Positive);
}
