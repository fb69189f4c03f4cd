//! Laws of matrices, maps and copulas, and ordered categories by a normal variable: golden values of 40 digits
//! (`tests/golden/matrices.py`), moments of draws, derivatives, and mistakes.

use super::run;
use ndarray::ArrayD;
use ppl_core::{
    Constraint, Distribution, ExecutionPlan, Graph, Noise, NoiseKind, Program, Shape, Var, gradient,
};
use ppl_distributions::{
    Beta, Car, Gamma, GaussianCopula, InverseWishart, LKJ, LKJCholesky, MatrixNormal, MultivariateNormal,
    Normal, OrderedProbit, Wishart, ZeroSumNormal,
};

fn array<'g>(graph: &'g Graph, shape: &[usize], values: &[f64]) -> Var<'g> {
    graph.array(&ArrayD::from_shape_vec(shape, values.to_vec()).unwrap())
}

/// The lower triangular factor of a matrix that is given row by row.
fn factor(n: usize, matrix: &[f64]) -> Vec<f64> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let rest: f64 = matrix[i * n + j] - (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum::<f64>();
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    l
}

fn build<'g>(law: &str, graph: &'g Graph, p: &[f64]) -> (Vec<Box<dyn Distribution<'g> + 'g>>, Vec<usize>) {
    match law {
        "wishart" | "inverse_wishart" => {
            let (scale, tril) = (array(graph, &[3, 3], &p[1..]), array(graph, &[3, 3], &factor(3, &p[1..])));
            let laws: Vec<Box<dyn Distribution<'g> + 'g>> = if law == "wishart" {
                vec![Box::new(Wishart::new(p[0], scale)), Box::new(Wishart::from_cholesky(p[0], tril))]
            } else {
                vec![
                    Box::new(InverseWishart::new(p[0], scale)),
                    Box::new(InverseWishart::from_cholesky(p[0], tril)),
                ]
            };
            (laws, vec![3, 3])
        }
        "matrix_normal" => {
            let (rows, columns) = (array(graph, &[3, 3], &p[..9]), array(graph, &[2, 2], &p[9..]));
            (vec![Box::new(MatrixNormal::new(0.0, rows, columns))], vec![3, 2])
        }
        "car" => {
            let neighbours = array(graph, &[4, 4], &p[3..]);
            (vec![Box::new(Car::new(p[0], p[1], p[2], neighbours))], vec![4])
        }
        "gaussian_copula" => {
            let r = p[2];
            let tril = array(graph, &[2, 2], &[1.0, 0.0, r, (1.0 - r * r).sqrt()]);
            let marginals = Gamma::new(array(graph, &[2], &p[..2]), 1.0);
            (vec![Box::new(GaussianCopula::new(marginals, tril))], vec![2])
        }
        "ordered_probit" => (vec![Box::new(OrderedProbit::new(p[0], array(graph, &[3], &p[1..])))], vec![]),
        other => panic!("no law {other}"),
    }
}

#[test]
fn densities_agree_with_40_digits() {
    let mut count = 0;
    for line in include_str!("../golden/matrices.csv").lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split(',').collect();
        let numbers = |i: usize| -> Vec<f64> { cells[i].split(' ').map(|x| x.parse().unwrap()).collect() };
        let expected: f64 = cells[3].parse().unwrap();
        let graph = Graph::new();
        let (laws, shape) = build(cells[0], &graph, &numbers(1));
        for law in &laws {
            let x = graph.input("x", shape.clone()).unwrap();
            law.validate().unwrap();
            let got = run(&graph, &[law.log_prob(x)], &[("x", &numbers(2))])[0][0];
            // The copula's scores are functions of rounded outcomes far in the tails.
            let tolerance =
                if cells[0] == "gaussian_copula" { 1e-12 } else { 1e-13 } * (1.0 + expected.abs());
            assert!((got - expected).abs() <= tolerance, "{line}: {got}");
            count += 1;
        }
    }
    assert_eq!(count, 32);
}

/// Means and, where there is a formula, variances of 20,000 draws, within six standard errors (false alarms below
/// 1e-8 for each of fewer than 50 numbers, by the normal law); errors of variances by the draws' fourth moments.
#[test]
fn draws_have_the_moments_of_the_law() {
    let scale = [2.0, 0.5, -0.25, 0.5, 1.0, 0.125, -0.25, 0.125, 3.0];
    let mut with_df = vec![9.5];
    with_df.extend(scale);
    let mut rows_and_columns = vec![1.5, 0.0, 0.0, 0.25, 2.0, 0.0, -1.0, 0.5, 0.75];
    rows_and_columns.extend([0.5, 0.0, 2.0, 1.25]);
    let mut map = vec![0.25, 0.75, 1.5];
    map.extend([0.0, 1.0, 0.5, 0.0, 1.0, 0.0, 1.0, 0.0, 0.5, 1.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0]);
    let cases: [(&str, Vec<f64>); 6] = [
        ("wishart", with_df.clone()),
        ("inverse_wishart", with_df),
        ("matrix_normal", rows_and_columns),
        ("car", map),
        ("gaussian_copula", vec![2.0, 5.0, 0.6]),
        ("ordered_probit", vec![0.25, -1.25, 0.5, 2.0]),
    ];
    const DRAWS: usize = 20_000;
    for (name, p) in cases {
        let graph = Graph::new();
        let (laws, shape) = build(name, &graph, &p);
        let law = &laws[0];
        let mut noise = Noise::new(&graph, "n");
        let draw = law.draw(&Shape::from(DRAWS), &mut noise).unwrap();
        let mean = law.mean(&graph).unwrap();
        let variance = law.variance(&graph);
        let outputs: Vec<Var<'_>> = [draw, mean].into_iter().chain(variance).collect();
        graph.check().unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
        };
        for (input, kind, shape) in noise.inputs() {
            let numbers: Vec<f64> = (0..shape.elements())
                .map(|_| match kind {
                    NoiseKind::StandardNormal => {
                        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
                    }
                    _ => uniform(),
                })
                .collect();
            if plan.input(input).is_ok() {
                plan.set(input, &numbers).unwrap();
            }
        }
        plan.run();
        let size: usize = shape.iter().product();
        let draws = plan.output(0);
        for k in 0..size {
            let of: Vec<f64> = draws.iter().skip(k).step_by(size).copied().collect();
            let n = DRAWS as f64;
            let centre = of.iter().sum::<f64>() / n;
            let moment = |power: i32| of.iter().map(|x| (x - centre).powi(power)).sum::<f64>() / n;
            let (second, fourth) = (moment(2), moment(4));
            let mean = plan.output(1)[k];
            assert!(
                (centre - mean).abs() < 6.0 * (second / n).sqrt(),
                "{name}, mean {k}: {centre} for {mean}"
            );
            if variance.is_some() {
                let variance = plan.output(2)[k];
                let error = ((fourth - second * second) / n).sqrt();
                assert!(
                    (second - variance).abs() < 6.0 * error,
                    "{name}, variance {k}: {second} for {variance}"
                );
            }
        }
    }
}

#[test]
fn derivatives_of_log_densities_are_finite_differences() {
    let graph = Graph::new();
    let (df, x) = (graph.input("df", ()).unwrap(), graph.input("x", [2, 2]).unwrap());
    let scale = graph.input("scale", [2, 2]).unwrap();
    let at = [("df", vec![4.5]), ("scale", vec![2.0, 0.5, 0.5, 1.0]), ("x", vec![3.0, 1.0, 1.0, 2.0])];
    for output in
        [Wishart::from_cholesky(df, scale).log_prob(x), InverseWishart::from_cholesky(df, scale).log_prob(x)]
    {
        let slopes = gradient(output, &[df, scale]).unwrap();
        let values = |df: f64, s: [f64; 3]| {
            run(&graph, &[output], &[("df", &[df]), ("scale", &[s[0], 0.0, s[1], s[2]]), ("x", &at[2].1)])[0]
                [0]
        };
        let got = run(&graph, &slopes, &[("df", &[4.5]), ("scale", &[1.4, 0.0, 0.5, 1.0]), ("x", &at[2].1)]);
        let h = 1e-6;
        let difference = |up: f64, down: f64| (up - down) / (2.0 * h);
        let base = [1.4, 0.5, 1.0];
        let by_df = difference(values(4.5 + h, base), values(4.5 - h, base));
        assert!((got[0][0] - by_df).abs() < 1e-7, "{} for {by_df}", got[0][0]);
        for (k, place) in [0, 2, 3].into_iter().enumerate() {
            let moved = |h: f64| {
                let mut s = base;
                s[k] += h;
                values(4.5, s)
            };
            let expected = difference(moved(h), moved(-h));
            assert!(
                (got[1][place] - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                "{} for {expected}",
                got[1][place]
            );
        }
    }
}

#[test]
fn a_copula_of_normal_laws_is_a_normal_law() {
    let graph = Graph::new();
    let tril = array(&graph, &[2, 2], &[1.0, 0.0, 0.6, 0.8]);
    let x = graph.input("x", [3, 2]).unwrap();
    let copula = GaussianCopula::new(Normal::new(0.0, 1.0), tril).log_prob(x);
    let normal = MultivariateNormal::from_cholesky(0.0, tril).log_prob(x);
    let got = run(&graph, &[copula, normal], &[("x", &[0.3, -1.0, 7.0, 8.0, -30.0, -12.0])]);
    for (copula, normal) in got[0].iter().zip(&got[1]) {
        assert!((copula - normal).abs() < 1e-12 * (1.0 + normal.abs()), "{copula} for {normal}");
    }
}

/// The laws of a correlation matrix and of its factor are one law: their densities of unconstrained numbers agree.
#[test]
fn a_correlation_matrix_has_the_law_of_its_factor() {
    for (d, concentration) in [(1, 2.0), (2, 0.7), (3, 1.0), (4, 2.5)] {
        let graph = Graph::new();
        let u = graph.input("u", d * (d - 1) / 2).unwrap();
        let jacobian = |set: Constraint| set.log_jacobian(u).unwrap_or_else(|| graph.constant(0.0));
        let set = Constraint::Correlation;
        let matrix = LKJ::new(d, concentration).log_prob(set.constrain(u)) + jacobian(set);
        let set = Constraint::CorrelationCholesky;
        let factor = LKJCholesky::new(d, concentration).log_prob(set.constrain(u)) + jacobian(set);
        let numbers: Vec<f64> = (0..u.shape().elements()).map(|k| (1.7 * k as f64 + 0.3).sin()).collect();
        let inputs: &[(&str, &[f64])] = if d > 1 { &[("u", &numbers)] } else { &[] };
        let found = run(&graph, &[matrix, factor], inputs);
        assert!((found[0][0] - found[1][0]).abs() < 1e-13, "{d}: {found:?}");
    }
    // Of two rows, the correlation is a beta variable stretched to (−1, 1).
    let graph = Graph::new();
    let entropies = [LKJ::new(2, 2.5).entropy(&graph).unwrap(), Beta::new(2.5, 2.5).entropy(&graph).unwrap()];
    let found = run(&graph, &entropies, &[]);
    assert!((found[0][0] - found[1][0] - std::f64::consts::LN_2).abs() < 1e-14, "{found:?}");
    assert!(LKJ::new(0, 1.0).validate().is_err() && LKJ::new(2, 0.0).validate().is_err());
}

/// A normal density in the plane: of two variables that of √2 times one.
#[test]
fn variables_that_sum_to_zero_have_a_density_in_their_plane() {
    let graph = Graph::new();
    let two = ZeroSumNormal::new(1.5, 2).log_prob(graph.array(&ndarray::arr1(&[0.8, -0.8]).into_dyn()));
    let one = Normal::new(0.0, 1.5).log_prob(graph.constant(0.8 * std::f64::consts::SQRT_2));
    let three =
        ZeroSumNormal::new(1.5, 3).log_prob(graph.array(&ndarray::arr1(&[1.0, -0.5, -0.5]).into_dyn()));
    let found = run(&graph, &[two, one, three], &[]);
    assert!((found[0][0] - found[1][0]).abs() < 1e-15);
    // −½ · 1.5/2.25 − 2 ln 1.5 − ln 2π
    let expected = -1.0 / 3.0 - 2.0 * 1.5_f64.ln() - std::f64::consts::TAU.ln();
    assert!((found[2][0] - expected).abs() < 1e-15);
    let told = |law: ZeroSumNormal<'_>| law.validate().expect_err("a mistake").to_string();
    assert!(told(ZeroSumNormal::new(1.0, 1)).contains("at least 2 variables"));
    assert!(told(ZeroSumNormal::new(0.0, 3)).contains("scale must be positive and finite, got 0"));
}

#[test]
fn mistakes_are_told_of() {
    let graph = Graph::new();
    let eye = array(&graph, &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    let wide = array(&graph, &[2, 3], &[1.0; 6]);
    let told = |law: &dyn Distribution<'_>| law.validate().expect_err("a mistake").to_string();
    assert!(told(&Wishart::new(0.5, eye)).contains("df"));
    assert!(told(&InverseWishart::new(4.0, wide)).contains("InverseWishart"));
    assert!(told(&Car::new(0.0, 1.0, 1.0, eye)).contains("correlation"));
    assert!(told(&Car::new(0.0, 0.5, 1.0, wide)).contains("square"));
    let one_way = told(&Car::new(0.0, 0.5, 1.0, &[[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]));
    let expected = "Car: neighbours must be symmetric (the weight beside it is 1), got 2";
    assert!(one_way.contains(expected), "{one_way}");
    let alone = told(&Car::new(0.0, 0.5, 1.0, &[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]));
    assert!(alone.contains("neighbours must be of positive weight for one place"), "{alone}");
    assert!(told(&MatrixNormal::new(graph.input("loc", [3, 3]).unwrap(), eye, eye)).contains("[2, 2]"));
    let unsorted = array(&graph, &[2], &[1.0, 0.0]);
    assert!(told(&OrderedProbit::new(0.0, unsorted)).contains("cutpoints"));
    let outside = OrderedProbit::new(0.0, array(&graph, &[2], &[0.0, 1.0])).log_prob(array(
        &graph,
        &[3],
        &[-1.0, 3.0, 0.5],
    ));
    assert_eq!(run(&graph, &[outside], &[])[0], [f64::NEG_INFINITY; 3]);
}
