//! Every primitive's gradient against finite differences in f64, and second derivatives too.

use ppl_core::op::{Binary, Linear, Special, Unary};
use ppl_core::{
    Error, ExecutionPlan, Graph, Program, Record, Records, Shape, Var, gradient, hessian_vector,
    jacobian_vector, vector_jacobian,
};
use std::collections::BTreeMap;

/// Compares the gradient of `Σ c_k f_k(inputs)` (with fixed, unequal `c`) with central differences at `at`.
fn check<'g>(
    graph: &'g Graph,
    name: &str,
    inputs: &[(&str, Shape, Vec<f64>)],
    f: impl Fn(&[Var<'g>]) -> Var<'g>,
    tolerance: f64,
) {
    let vars: Vec<Var<'g>> = inputs
        .iter()
        .map(|(input, shape, _)| graph.input(format!("{name}/{input}"), shape.clone()).unwrap())
        .collect();
    let value = f(&vars);
    let weights: Vec<f64> = (0..value.shape().elements()).map(|k| 1.0 + 0.37 * k as f64).collect();
    let weights = graph.array(&ndarray::ArrayD::from_shape_vec(value.shape().dims(), weights).unwrap());
    let scalar = value.inner(weights);
    let mut outputs = vec![scalar];
    outputs.extend(gradient(scalar, &vars).unwrap_or_else(|error| panic!("{name}: {error}")));
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &outputs).unwrap());
    let mut run = |values: &[Vec<f64>], output: usize| -> Vec<f64> {
        for ((input, _, _), values) in inputs.iter().zip(values) {
            if let Ok(id) = plan.input(&format!("{name}/{input}")) {
                plan.input_mut(id).copy_from_slice(values);
            }
        }
        plan.run();
        plan.output(output).to_vec()
    };
    let here: Vec<Vec<f64>> = inputs.iter().map(|(_, _, values)| values.clone()).collect();
    for input in 0..inputs.len() {
        let analytic = run(&here, 1 + input);
        assert_eq!(analytic.len(), here[input].len(), "{name}: shape of the gradient");
        for element in 0..here[input].len() {
            let h = 1e-5;
            let mut at = |delta: f64| {
                let mut moved = here.clone();
                moved[input][element] += delta;
                run(&moved, 0)[0]
            };
            let slope = (at(h) - at(-h)) / (2.0 * h);
            let error = (slope - analytic[element]).abs();
            assert!(
                error <= tolerance * (1.0 + slope.abs()),
                "{name} input {input} element {element}: {slope} against {}",
                analytic[element]
            );
        }
    }
}

/// Central differences with h = 1e-5 err by about h²·|f‴|/6 and 1e-16/h.
const TOLERANCE: f64 = 2e-8;

#[test]
fn unary_functions() {
    let graph = Graph::new();
    for op in Unary::ALL {
        // Its derivative is not that of its value, on purpose; `special.rs` tests it.
        if op == Unary::StopGradient {
            continue;
        }
        // Away from kinks and poles; inside the domain.
        let points = match op {
            Unary::Sqrt | Unary::Log | Unary::Reciprocal | Unary::Log1p => vec![0.6, 1.4, 2.3],
            Unary::ExponentialIntegral
            | Unary::Lgamma
            | Unary::Digamma
            | Unary::Trigamma
            | Unary::Polygamma(_) => vec![0.9, 1.4, 2.3],
            Unary::LogFactorialRemainder | Unary::DigammaRemainder => vec![0.9, 2.3, 9.2],
            Unary::StirlingError | Unary::DigammaMinusLog | Unary::BesselRatioComplement => {
                vec![0.9, 1.4, 2.3]
            }
            Unary::Logit | Unary::Erfinv | Unary::Ndtri => vec![0.15, 0.4, 0.72],
            Unary::Log1pMinusX | Unary::Lgamma1p => vec![-0.6, 0.4, 2.1],
            Unary::NdtriExp => vec![-4.5, -1.2, -0.4],
            _ => vec![-1.7, 0.4, 2.1],
        };
        check(&graph, &format!("{op:?}"), &[("x", Shape::from(3), points)], |v| v[0].map(op), TOLERANCE);
    }
}

/// Arguments inside the domain of each special function, on both sides of where its algorithm changes.
fn special_arguments(op: Special) -> [Vec<f64>; 3] {
    let none = vec![0.0; 6];
    match op {
        Special::GammaP | Special::GammaQ | Special::LogGammaP | Special::LogGammaQ => {
            [vec![0.4, 1.3, 2.5, 12.0, 14.0, 7.0], vec![0.3, 1.9, 6.1, 9.0, 17.0, 7.5], none]
        }
        Special::LogGammaPInverse | Special::LogGammaQInverse => {
            [vec![0.4, 1.3, 2.5, 12.0, 14.0, 7.0], vec![0.3, 0.9, 0.4, 0.2, 0.8, 0.5], none]
        }
        Special::LogGammaPInverseOfLog | Special::LogGammaQInverseOfLog => {
            [vec![0.4, 1.3, 2.5, 12.0, 14.0, 7.0], vec![-0.3, -1.9, -0.1, -200.0, -800.0, -0.7], none]
        }
        Special::LogitBetaIInverseOfLog => [
            vec![0.4, 1.3, 2.5, 12.0, 4.0, 0.7],
            vec![0.6, 2.3, 0.5, 6.0, 4.0, 9.0],
            vec![-0.3, -0.6, -0.1, -200.0, -800.0, -2.0],
        ],
        Special::LogGammaDensity | Special::GammaSlope | Special::GammaCurvature => {
            [vec![0.4, 1.3, 2.5, 12.0, 14.0, 7.0], vec![-0.3, 0.9, 1.4, 2.2, 2.8, 2.5], none]
        }
        Special::LogBetaDensity | Special::LogBetaI | Special::BetaSlopeA | Special::BetaSlopeB => [
            vec![0.4, 1.3, 2.5, 12.0, 4.0, 0.7],
            vec![0.6, 2.3, 0.5, 6.0, 4.0, 9.0],
            vec![-0.8, 0.4, 1.4, 0.8, -0.4, -2.2],
        ],
        Special::StudentTCdf => {
            [vec![0.4, 1.3, 2.5, 12.0, 14.0, 7.0], vec![-0.3, 1.9, -6.1, 2.0, 0.7, -1.5], none]
        }
        Special::LogNdtrDifference | Special::NormalIntervalMean | Special::NormalIntervalVariance => {
            [vec![-3.0, -0.4, 0.3, 1.2, -1.9, 2.0], vec![-2.2, 0.7, 1.9, 1.5, 2.5, 5.0], none]
        }
        Special::VonMisesCdf | Special::VonMisesSlope => {
            [vec![0.4, 1.3, 2.5, 12.0, 4.0, 7.0], vec![-2.3, 0.9, -0.4, 0.2, -0.8, 0.5], none]
        }
        Special::VonMisesBetween => [
            vec![0.4, 1.3, 2.5, 12.0, 4.0, 7.0],
            vec![-2.3, -4.9, 0.4, -0.2, -2.8, 1.5],
            vec![-2.1, 0.9, 4.4, 0.2, 2.8, 1.9],
        ],
        Special::NegativeBinomialByMean => [
            vec![0.4, 1.0, 2.0, 12.0, 4.0, 0.7],
            vec![0.3, 1.9, 7.5, 9.0, 3.5, 20.0],
            vec![0.8, 0.4, 3.5, 20.0, 1.5, 0.3],
        ],
        Special::LogSkewNormalCdf => {
            [vec![-3.0, -0.4, 0.3, 1.2, -1.9, 2.0], vec![-2.2, 0.7, 1.9, -1.5, 2.5, 0.3], none]
        }
        Special::LogNormalTail | Special::NormalTailMean | Special::LogMillsDifference => {
            [vec![0.4, 1.3, 2.5, 12.0, 4.0, 0.7], vec![0.3, 1.9, 0.8, 0.1, 0.4, 2.2], none]
        }
        Special::VonMisesCdfInverse => {
            [vec![0.4, 1.3, 2.5, 12.0, 4.0, 7.0], vec![0.3, 0.9, 0.4, 0.2, 0.8, 0.45], none]
        }
        _ => [
            vec![0.4, 1.3, 2.5, 12.0, 4.0, 0.7],
            vec![0.6, 2.3, 0.5, 6.0, 4.0, 9.0],
            vec![0.3, 0.6, 0.8, 0.7, 0.4, 0.1],
        ],
    }
}

/// `op` of its arguments; `Op` has no public way to apply itself, so each goes by its method.
fn special<'g>(op: Special, v: &[Var<'g>]) -> Var<'g> {
    match op {
        Special::GammaP => v[0].gamma_p(v[1]),
        Special::GammaQ => v[0].gamma_q(v[1]),
        Special::LogGammaP => v[0].log_gamma_p(v[1]),
        Special::LogGammaQ => v[0].log_gamma_q(v[1]),
        Special::LogBetaI => v[0].log_beta_i(v[1], v[2]),
        Special::LogGammaQInverse => v[0].log_gamma_q_inverse(v[1]),
        Special::NormalIntervalMean => v[0].normal_interval_mean(v[1]),
        Special::NormalIntervalVariance => v[0].normal_interval_variance(v[1]),
        Special::StudentTCdf => v[0].student_t_cdf(v[1]),
        Special::LogGammaPInverse => v[0].log_gamma_p_inverse(v[1]),
        Special::LogGammaPInverseOfLog => v[0].log_gamma_p_inverse_of_log(v[1]),
        Special::LogGammaQInverseOfLog => v[0].log_gamma_q_inverse_of_log(v[1]),
        Special::LogitBetaIInverseOfLog => v[0].logit_beta_i_inverse_of_log(v[1], v[2]),
        Special::LogGammaDensity => v[0].log_gamma_density(v[1]),
        Special::GammaSlope => v[0].gamma_slope(v[1]),
        Special::BetaI => v[0].beta_i(v[1], v[2]),
        Special::LogitBetaIInverse => v[0].logit_beta_i_inverse(v[1], v[2]),
        Special::LogBetaDensity => v[0].log_beta_density(v[1], v[2]),
        Special::BetaSlopeA => v[0].beta_slope_a(v[1], v[2]),
        Special::BetaSlopeB => v[0].beta_slope_b(v[1], v[2]),
        Special::LogNdtrDifference => v[0].log_ndtr_difference(v[1]),
        Special::VonMisesCdf => v[0].von_mises_cdf(v[1]),
        Special::VonMisesCdfInverse => v[0].von_mises_cdf_inverse(v[1]),
        Special::VonMisesSlope => v[0].von_mises_slope(v[1]),
        Special::VonMisesBetween => v[0].von_mises_between(v[1], v[2]),
        Special::LogNormalTail => v[0].log_normal_tail(v[1]),
        Special::LogMillsDifference => v[0].log_mills_difference(v[1]),
        Special::NormalTailMean => v[0].normal_tail_mean(v[1]),
        Special::LogSkewNormalCdf => v[0].log_skew_normal_cdf(v[1]),
        Special::OwensT => v[0].owens_t(v[1]),
        Special::NegativeBinomialByMean => v[0].negative_binomial_by_mean(v[1], v[2]),
        // The derivative of the slope in its first argument.
        _ => gradient(v[0].gamma_slope(v[1]).sum(), &[v[0]]).unwrap()[0],
    }
}

#[test]
fn special_functions() {
    let graph = Graph::new();
    let shape = Shape::from([2, 3]);
    for op in Special::ALL {
        // They have no derivatives; those of the distribution function in ν and of the mean show their values.
        if matches!(op, Special::StudentTSlope | Special::NormalTailVariance | Special::MillsDifferenceMean) {
            continue;
        }
        let arguments = special_arguments(op);
        let inputs: Vec<(&str, Shape, Vec<f64>)> = ["a", "b", "x"]
            .into_iter()
            .zip(&arguments)
            .take(op.arity())
            .map(|(name, x)| (name, shape.clone(), x.clone()))
            .collect();
        // Derivatives that are refused are with respect to parameters: those are held.
        let held: &[usize] = match op {
            Special::BetaSlopeA | Special::BetaSlopeB => &[0, 1],
            Special::GammaCurvature | Special::VonMisesSlope => &[0],
            _ => &[],
        };
        let free: Vec<usize> = (0..op.arity()).filter(|which| !held.contains(which)).collect();
        let constants: Vec<Var<'_>> = inputs
            .iter()
            .map(|(_, shape, x)| {
                graph.array(&ndarray::ArrayD::from_shape_vec(shape.dims(), x.clone()).unwrap())
            })
            .collect();
        let chosen: Vec<(&str, Shape, Vec<f64>)> = free.iter().map(|&which| inputs[which].clone()).collect();
        check(
            &graph,
            &format!("{op:?}"),
            &chosen,
            |v| {
                let mut all = constants.clone();
                for (&which, &var) in free.iter().zip(v) {
                    all[which] = var;
                }
                special(op, &all)
            },
            TOLERANCE,
        );
    }
}

#[test]
fn binary_functions_with_every_kind_of_stretching() {
    let graph = Graph::new();
    let (a, b) = (vec![0.7, 1.9, 2.6, 0.35, 1.2, 3.1], vec![1.3, 0.8, 2.2, 1.1, 0.45, 1.75]);
    let scalar = Shape::scalar();
    for op in Binary::ALL {
        // Its derivative is not that of its value, on purpose; its documentation tests it.
        if op == Binary::WithSlopesOf {
            continue;
        }
        for (left, right, label) in [
            (Shape::from([2, 3]), Shape::from([2, 3]), "same"),
            (scalar.clone(), Shape::from([2, 3]), "scalar-left"),
            (Shape::from([2, 3]), scalar.clone(), "scalar-right"),
            (Shape::from([3]), Shape::from([2, 3]), "row"),
            (Shape::from([2, 1]), Shape::from([3]), "outer"),
            (scalar.clone(), scalar.clone(), "scalars"),
        ] {
            let take = |shape: &Shape, values: &[f64]| values[..shape.elements()].to_vec();
            let inputs = [("a", left.clone(), take(&left, &a)), ("b", right.clone(), take(&right, &b))];
            check(&graph, &format!("{op:?} {label}"), &inputs, |v| v[0].zip(v[1], op), TOLERANCE);
        }
    }
}

#[test]
fn selection_and_shapes() {
    let graph = Graph::new();
    let x = vec![0.5, -1.5, 2.5, 0.25, -0.75, 1.0];
    let inputs = [("x", Shape::from([2, 3]), x.clone()), ("y", Shape::from([3]), vec![1.0, 2.0, -0.5])];
    check(&graph, "select", &inputs, |v| v[0].greater(0.0).select(v[0].square(), v[1].exp()), TOLERANCE);
    check(&graph, "sum", &inputs, |v| v[0].sum() * v[1], TOLERANCE);
    check(&graph, "mean", &inputs, |v| v[0].mean() * v[1].mean(), TOLERANCE);
    check(&graph, "sum_to", &inputs, |v| v[0].square().sum_to(3) * v[1], TOLERANCE);
    check(&graph, "sum_to column", &inputs, |v| v[0].square().sum_to([2, 1]) * v[1], TOLERANCE);
    check(&graph, "broadcast_to", &inputs, |v| v[1].broadcast_to([2, 3]) * v[0], TOLERANCE);
    check(&graph, "reshape", &inputs, |v| v[0].square().reshape([3, 2]).reshape([6]), TOLERANCE);
}

#[test]
fn products() {
    let graph = Graph::new();
    let matrix = ("a", Shape::from([2, 3]), vec![0.5, -1.5, 2.5, 0.25, -0.75, 1.0]);
    let three = ("b", Shape::from([3]), vec![1.0, 2.0, -0.5]);
    let two = ("c", Shape::from([2]), vec![0.3, -1.1]);
    let run = |op: Linear, inputs: &[(&str, Shape, Vec<f64>)]| {
        check(
            &graph,
            &format!("{op:?}"),
            inputs,
            |v| match op {
                Linear::Inner => v[0].inner(v[1]),
                Linear::MatVec => v[0].matvec(v[1]).square(),
                Linear::VecMat => v[1].vecmat(v[0]).square(),
                _ => v[0].outer(v[1]).square(),
            },
            TOLERANCE,
        );
    };
    run(Linear::Inner, &[("c", Shape::from([3]), vec![0.2, 0.9, -1.4]), three.clone()]);
    run(Linear::MatVec, &[matrix.clone(), three.clone()]);
    run(Linear::VecMat, &[matrix.clone(), two.clone()]);
    run(Linear::Outer, &[two, three]);
    // A matrix with itself, so that one input is used twice.
    check(&graph, "frobenius", &[matrix], |v| v[0].inner(v[0]), TOLERANCE);
}

#[test]
fn second_derivatives_of_every_product_and_function() {
    let graph = Graph::new();
    let inputs = [
        ("w", Shape::from([2, 3]), vec![0.5, -0.5, 0.7, 0.25, -0.75, 0.4]),
        ("x", Shape::from([3]), vec![0.6, 0.8, -0.5]),
        ("v", Shape::from([2]), vec![0.9, -0.3]),
    ];
    check(
        &graph,
        "second",
        &inputs,
        |v| {
            let hidden = v[0].matvec(v[1]).tanh() + v[2].sigmoid();
            let value =
                hidden.inner(v[2]).softplus() + v[0].square().sum().sqrt() + v[2].outer(v[1]).exp().mean();
            let first = gradient(value, v).unwrap();
            first.iter().map(|g| g.square().sum()).reduce(|a, b| a + b).unwrap()
        },
        5e-7,
    );
}

#[test]
fn seeds_scale_the_derivative() {
    let graph = Graph::new();
    let x = graph.input("x", [2]).unwrap();
    let seed = graph.input("seed", [2]).unwrap();
    let pulled = vector_jacobian(&[(x.exp(), seed), (x.sum(), graph.constant(10.0))], &[x]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &pulled).unwrap());
    plan.set("x", &[0.0, 1.0]).unwrap();
    plan.set("seed", &[2.0, -1.0]).unwrap();
    plan.run();
    let expected = 10.0 - std::f64::consts::E;
    assert!(
        plan.output(0)[0] == 12.0 && (plan.output(0)[1] - expected).abs() <= 2.0 * f64::EPSILON * expected
    );
    assert!(matches!(vector_jacobian(&[(x, graph.constant(1.0))], &[x]), Err(Error::ShapeMismatch { .. })));
    assert!(gradient(x, &[x]).unwrap_err().to_string().contains("expected a scalar"));
}

#[test]
fn a_harmless_argument_keeps_the_branch_not_taken_finite() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let safe = x.greater(0.0).select(x, 1.0);
    let root = x.greater(0.0).select(safe.sqrt(), 0.0);
    let slope = gradient(root, &[x]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[slope]).unwrap());
    plan.set("x", &[-4.0]).unwrap();
    plan.run();
    assert_eq!(plan.output(0), [0.0]);
}

#[test]
fn what_does_not_depend_has_a_zero_gradient_of_its_shape() {
    let graph = Graph::new();
    let (x, y) = (graph.input("x", [2]).unwrap(), graph.input("y", [3]).unwrap());
    let gradients = gradient(x.sum(), &[x, y]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &gradients).unwrap());
    plan.run();
    assert_eq!((plan.output(0), plan.output(1)), (&[1.0, 1.0][..], &[0.0, 0.0, 0.0][..]));
}

#[test]
fn known_exponents_have_derivatives_at_zero() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let powers = [x.pow(0.0), x.pow(1.0), x.pow(2.0), x.pow(3.0)];
    let slopes: Vec<Var<'_>> = powers.iter().map(|power| gradient(*power, &[x]).unwrap()[0]).collect();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &slopes).unwrap());
    plan.set("x", &[0.0]).unwrap();
    plan.run();
    assert_eq!([0, 1, 2, 3].map(|k| plan.output(k)[0]), [0.0, 1.0, 0.0, 0.0]);
}

/// `0^n` is 0 for any positive exponent, so its slope by the exponent is 0: the limit of `xⁿ ln x`.
#[test]
fn zero_to_a_power_has_a_slope_by_the_exponent() {
    let graph = Graph::new();
    let (x, n) = (graph.input("x", 4).unwrap(), graph.input("n", 4).unwrap());
    let first = gradient(x.pow(n).sum(), &[x, n]).unwrap();
    let second = gradient(first[1].sum(), &[n]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[first[0], first[1], second]).unwrap());
    plan.set("x", &[0.0, 0.0, 2.0, 0.0]).unwrap();
    plan.set("n", &[0.5, 3.0, 3.0, 1.0]).unwrap();
    plan.run();
    assert_eq!(plan.output(0), [f64::INFINITY, 0.0, 12.0, 1.0]);
    let log = 2.0_f64.ln();
    assert_eq!(plan.output(1)[..2], [0.0; 2]);
    assert!((plan.output(1)[2] - 8.0 * log).abs() < 1e-14 && plan.output(1)[3] == 0.0);
    assert_eq!(plan.output(2)[..2], [0.0; 2]);
    assert!((plan.output(2)[2] - 8.0 * log * log).abs() < 1e-14 && plan.output(2)[3] == 0.0);
}

#[test]
fn the_product_of_two_matrices_is_not_left_to_dot() {
    for shape in [Shape::from([3, 3]), Shape::from([2, 2, 2])] {
        let graph = Graph::new();
        let (a, b) = (graph.input("a", shape.clone()).unwrap(), graph.input("b", shape).unwrap());
        let _ = a.dot(b);
        let told = graph.check().unwrap_err().to_string();
        assert!(told.starts_with("dot: expected a vector on one side at least"), "{told}");
        assert!(told.contains("matmul") && told.contains("inner"), "{told}");
    }
}

#[test]
fn a_gradient_does_not_depend_on_what_else_is_asked_for() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let y = x.square();
    let z = y.exp() + x;
    let (alone, together) = (gradient(z, &[x]).unwrap(), gradient(z, &[x, y]).unwrap());
    assert!(alone[0].is(together[0]));
}

#[test]
fn values_of_another_graph_are_refused_everywhere() {
    let (graph, other) = (Graph::new(), Graph::new());
    let (a, b) = (graph.input("a", ()).unwrap(), other.input("b", ()).unwrap());
    assert!(matches!(gradient(a.square(), &[b]), Err(Error::MixedGraphs { .. })));
    assert!(matches!(Program::new(&graph, &[b]), Err(Error::MixedGraphs { .. })));
    let _ = a.select(1.0, b);
    assert!(matches!(graph.check(), Err(Error::MixedGraphs { .. })));
    let graph = Graph::new();
    let a = graph.input("a", ()).unwrap();
    let _ = a + b;
    assert!(matches!(graph.check(), Err(Error::MixedGraphs { .. })));
}

#[test]
fn a_derivative_is_attributed_to_the_line_it_belongs_to() {
    let graph = Graph::new();
    let x = graph.input("x", ()).unwrap();
    let line = line!() + 1;
    let y = x.tanh();
    let slope = gradient(y, &[x]).unwrap()[0];
    let listing = Program::new(&graph, &[slope]).unwrap().to_string();
    let square = listing.lines().find(|line| line.contains("square")).unwrap();
    assert!(square.ends_with(&format!("derivatives.rs:{line}")), "{listing}");
}

/// A value of several arrays with products, sums, repeated use and functions of one and two arguments.
fn tangled<'g>(v: &[Var<'g>]) -> Var<'g> {
    let hidden = (v[0].matvec(v[1]) + v[2]).tanh();
    let gate = (v[1].square().sum() + 1.0).log();
    hidden.inner(v[2]).softplus() * gate
        + v[2].outer(v[1]).exp().mean()
        + (hidden * gate).square().sum().sqrt()
}

fn tangled_inputs(graph: &Graph) -> (Vec<Var<'_>>, Vec<Var<'_>>) {
    let shapes = [("w", Shape::from([2, 3])), ("x", Shape::from(3)), ("v", Shape::from(2))];
    let inputs = shapes.clone().map(|(name, shape)| graph.input(name, shape).unwrap());
    let tangents = shapes.map(|(name, shape)| graph.input(format!("t/{name}"), shape).unwrap());
    (inputs.to_vec(), tangents.to_vec())
}

fn run_tangled(program: &Program, tangents: &[Vec<f64>; 3]) -> Vec<Vec<f64>> {
    let at = [vec![0.5, -0.5, 0.7, 0.25, -0.75, 0.4], vec![0.6, 0.8, -0.5], vec![0.9, -0.3]];
    let mut inputs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for ((name, at), tangent) in ["w", "x", "v"].iter().zip(at).zip(tangents) {
        inputs.insert((*name).to_owned(), at);
        inputs.insert(format!("t/{name}"), tangent.clone());
    }
    program.interpret(&inputs, None).unwrap()
}

/// The directions e₁, e₂, … of all inputs together.
fn directions() -> Vec<[Vec<f64>; 3]> {
    let lengths = [6, 3, 2];
    let unit = |which: usize, element: usize| {
        let mut tangents = lengths.map(|length| vec![0.0; length]);
        tangents[which][element] = 1.0;
        tangents
    };
    (0..3).flat_map(|which| (0..lengths[which]).map(move |element| unit(which, element))).collect()
}

#[test]
fn a_hessian_vector_product_is_a_column_of_the_explicit_hessian() {
    let graph = Graph::new();
    let (inputs, tangents) = tangled_inputs(&graph);
    let value = tangled(&inputs);
    let product = Program::new(&graph, &hessian_vector(value, &inputs, &tangents).unwrap()).unwrap();
    // The explicit matrix, row by row: gradients of the elements of the gradient.
    let mut rows = Vec::new();
    for slope in gradient(value, &inputs).unwrap() {
        let slope = slope.reshape(slope.shape().elements());
        for element in 0..slope.shape().elements() {
            let mut pick = vec![0.0; slope.shape().elements()];
            pick[element] = 1.0;
            let pick = graph.array(&ndarray::Array1::from(pick).into_dyn());
            rows.extend(gradient(slope.inner(pick), &inputs).unwrap());
        }
    }
    let explicit = Program::new(&graph, &rows).unwrap();
    let hessian: Vec<Vec<f64>> =
        run_tangled(&explicit, &directions()[0]).chunks(3).map(<[_]>::concat).collect();
    assert_eq!(hessian.len(), 11);
    for (column, direction) in directions().iter().enumerate() {
        let product = run_tangled(&product, direction).concat();
        for (row, product) in hessian.iter().zip(product) {
            assert!((row[column] - product).abs() < 1e-13 * (1.0 + product.abs()));
        }
    }
    for (i, row) in hessian.iter().enumerate() {
        for (j, &element) in row.iter().enumerate() {
            assert!((element - hessian[j][i]).abs() < 1e-13, "the Hessian is symmetric");
        }
    }
}

#[test]
fn a_jacobian_vector_product_is_a_combination_of_gradients_and_costs_less_than_they_do() {
    let graph = Graph::new();
    let (inputs, tangents) = tangled_inputs(&graph);
    // Several outputs of different shapes.
    let outputs = [tangled(&inputs), inputs[0].matvec(inputs[1]).sigmoid(), inputs[1].exp()];
    let forward = jacobian_vector(&outputs, &inputs, &tangents).unwrap();
    let shapes: Vec<Shape> = forward.iter().map(|change| change.shape()).collect();
    assert_eq!(shapes, outputs.map(|output| output.shape()));
    let values = Program::new(&graph, &outputs).unwrap().simplified();
    let changes = Program::new(&graph, &[&outputs[..], &forward].concat()).unwrap().simplified();
    assert!(changes.len() <= 3 * values.len() + tangents.len(), "{values}{changes}");
    let mut reverse = Vec::new();
    for output in outputs {
        let seeds = output.shape().elements();
        for element in 0..seeds {
            let mut pick = vec![0.0; seeds];
            pick[element] = 1.0;
            let pick = graph.array(&ndarray::ArrayD::from_shape_vec(output.shape().dims(), pick).unwrap());
            let pulled = vector_jacobian(&[(output, pick)], &inputs).unwrap();
            let along = pulled.iter().zip(&tangents).map(|(slope, tangent)| slope.inner(*tangent));
            reverse.push(along.reduce(|sum, next| sum + next).unwrap());
        }
    }
    let forward = Program::new(&graph, &forward).unwrap();
    let reverse = Program::new(&graph, &reverse).unwrap();
    let tangents = [vec![0.3, -1.0, 0.2, 0.9, 0.4, -0.6], vec![1.5, -0.7, 0.1], vec![-0.2, 0.8]];
    let (forward, reverse) =
        (run_tangled(&forward, &tangents).concat(), run_tangled(&reverse, &tangents).concat());
    assert_eq!(forward.len(), reverse.len());
    for (forward, reverse) in forward.iter().zip(&reverse) {
        assert!((forward - reverse).abs() < 1e-13, "{forward} against {reverse}");
    }
}

#[test]
fn derivatives_forward_can_be_differentiated_again() {
    let graph = Graph::new();
    let (x, t) = (graph.input("x", ()).unwrap(), graph.input("t", ()).unwrap());
    // The third derivative of sin in three ways.
    let once = jacobian_vector(&[x.map(Unary::Sin)], &[x], &[t]).unwrap()[0];
    let twice = jacobian_vector(&[once], &[x], &[t]).unwrap()[0];
    let thrice = jacobian_vector(&[twice], &[x], &[t]).unwrap()[0];
    let mixed = hessian_vector(once, &[x], &[t]).unwrap()[0];
    let back = gradient(twice, &[x]).unwrap()[0];
    let program = Program::new(&graph, &[thrice, mixed, back]).unwrap();
    let at = BTreeMap::from([("x".to_owned(), vec![0.7]), ("t".to_owned(), vec![2.0])]);
    let found = program.interpret(&at, None).unwrap();
    let third = -0.7_f64.cos();
    for (found, expected) in found.iter().zip([8.0 * third, 4.0 * third, 4.0 * third]) {
        assert!((found[0] - expected).abs() < 1e-14, "{found:?} against {expected}");
    }
}

#[test]
fn a_jacobian_vector_product_of_records_is_one_for_each_record() {
    let records = Records::from_columns([("x", ndarray::array![[1.0, 2.0], [3.0, -1.0]])]).unwrap();
    let graph = Graph::new();
    let (w, t) = (graph.input("w", 2).unwrap(), graph.input("t", 2).unwrap());
    let x = Record::new(&graph, records.schema()).get("x").unwrap();
    let change = jacobian_vector(&[w.square().inner(x)], &[w], &[t]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &change).unwrap());
    plan.set("w", &[0.5, 2.0]).unwrap();
    plan.set("t", &[1.0, 10.0]).unwrap();
    assert_eq!(plan.evaluate(&records, &[0, 1], 0).unwrap(), ndarray::array![[81.0], [-37.0]]);
}

#[test]
fn mistakes_in_derivatives_forward_are_told() {
    let (graph, other) = (Graph::new(), Graph::new());
    let (x, t) = (graph.input("x", 2).unwrap(), graph.input("t", 3).unwrap());
    assert!(matches!(jacobian_vector(&[x], &[x], &[t]), Err(Error::ShapeMismatch { .. })));
    assert!(jacobian_vector(&[x], &[x], &[]).unwrap_err().to_string().contains("0 tangents"));
    let strange = other.input("x", 2).unwrap();
    assert!(matches!(jacobian_vector(&[x], &[x], &[strange]), Err(Error::MixedGraphs { .. })));
    assert!(hessian_vector(x, &[x], &[x]).unwrap_err().to_string().contains("expected a scalar"));
    // What does not depend does not change.
    let still = jacobian_vector(&[t.exp()], &[x], &[x]).unwrap()[0];
    assert_eq!(still.shape(), Shape::from(3));
    let program = Program::new(&graph, &[still]).unwrap();
    assert_eq!(program.interpret(&BTreeMap::new(), None).unwrap(), [[0.0; 3]]);
}

/// Directional derivatives of a shared value and of a record's may stand on one graph.
#[test]
fn tangents_of_shared_values_and_of_records_do_not_meet() {
    let graph = Graph::new();
    let (w, t) = (graph.input("w", 2).unwrap(), graph.input("t", 2).unwrap());
    let each = graph.record_input("x", 2).unwrap().inner(w).square();
    let of_record = jacobian_vector(&[each], &[w], &[t]).unwrap();
    let of_shared = jacobian_vector(&[w.square().sum()], &[w], &[t]).unwrap();
    assert!(Program::new(&graph, &[of_record[0], of_shared[0]]).is_ok());
}
