//! Differential equations by Runge and Kutta's steps: against closed forms, the steps written out in plain numbers, and
//! finite differences; of records and of public data; mistakes.

use crate::common::{Argument, check};
use ndarray::{Array1, Array2, array};
use ppl_core::{
    Column, Constraint, Ctx, ExecutionPlan, Graph, Program, RecordGradient, Records, Result, Shape,
    Unconstrained, Var, gradient, log_density, trace,
};
use std::collections::BTreeMap;

/// The values of outputs of a graph without inputs.
fn run(graph: &Graph, outputs: &[Var<'_>]) -> Vec<Vec<f64>> {
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, outputs).unwrap());
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).to_vec()).collect()
}

/// `y` of `dy/dt = −k y`, `y(0.5) = 2`, at these times.
fn decay(k: f64, times: &[f64], steps: usize) -> Vec<f64> {
    let graph = Graph::new();
    let start = graph.constant(2.0);
    let y = graph.runge_kutta((0.5, start), times, steps, |_, y| Ok(-k * y)).unwrap();
    run(&graph, &[y]).remove(0)
}

/// Each step of length `h` multiplies by `1 + z + z²/2 + z³/6 + z⁴/24`, `z = −k h`: the exponential's series, and
/// nothing but rounding besides. The error so falls as `h⁴`: one of step `h` at time `T` is `T k⁵ h⁴/120` in
/// proportion, up to a factor `1 + O(k h)`.
#[test]
fn exponential_decay_has_the_closed_form_to_fourth_order() {
    let (k, times) = (0.8, [0.5, 1.0, 2.5]);
    for steps in [1, 4, 10] {
        let found = decay(k, &times, steps);
        let mut expected = 2.0;
        assert_eq!(found[0], expected);
        for (found, length) in found[1..].iter().zip([0.5, 1.5]) {
            let z = -k * length / steps as f64;
            let factor = 1.0 + z + z.powi(2) / 2.0 + z.powi(3) / 6.0 + z.powi(4) / 24.0;
            expected *= factor.powi(steps as i32);
            assert!((found - expected).abs() < 1e-14, "{steps}: {found} and {expected}");
        }
    }
    let error = |steps: usize| decay(k, &times, steps)[2] - 2.0 * (-k * 2.0_f64).exp();
    for steps in [8, 16, 32] {
        let ratio = error(steps) / error(2 * steps);
        assert!((ratio - 16.0).abs() < 16.0 * k * 1.5 / steps as f64, "{steps}: {ratio}");
    }
}

/// `d²x/dt² = −ω² x`: `x = cos ωt`, `v = −ω sin ωt`, over one and a half periods; as a pair, and as a vector.
#[test]
fn the_harmonic_oscillator_keeps_its_closed_form_to_fourth_order() {
    let (omega, times) = (2.0, [0.3, 1.0, 4.7]);
    let error = |steps: usize| {
        let graph = Graph::new();
        let start = (graph.constant(1.0), graph.constant(0.0));
        let (x, v) =
            graph.runge_kutta((0.0, start), &times, steps, |_, (x, v)| Ok((v, -omega * omega * x))).unwrap();
        let matrix = graph.array(&array![[0.0, 1.0], [-omega * omega, 0.0]].into_dyn());
        let start = graph.array(&array![1.0, 0.0].into_dyn());
        let both = graph.runge_kutta((0.0, start), &times, steps, |_, y| Ok(matrix.matvec(y))).unwrap();
        assert_eq!((x.shape(), both.shape()), (Shape::from(3), Shape::from([3, 2])));
        let found = run(&graph, &[x, v, both]);
        let mut largest = 0.0_f64;
        for (place, t) in times.iter().enumerate() {
            let (x, v) = (found[0][place], found[1][place]);
            assert!((x - found[2][2 * place]).abs() < 1e-13 && (v - found[2][2 * place + 1]).abs() < 1e-13);
            largest = largest.max((x - (omega * t).cos()).abs()).max((v + omega * (omega * t).sin()).abs());
        }
        largest
    };
    // The phase is off by ω⁵ t h⁴/120, of speeds up to ω² by distances up to 1: with the longest step of 3.7/40.
    let largest = error(40);
    assert!(largest < 4.0 * 32.0 * 4.7 * (3.7_f64 / 40.0).powi(4) / 120.0, "{largest}");
    for steps in [40, 80] {
        let ratio = error(steps) / error(2 * steps);
        assert!((15.0..17.0).contains(&ratio), "{steps}: {ratio}");
    }
}

/// Of a derivative that depends on time alone a step is Simpson's rule, exact for cubics: each stage has its own time,
/// whatever the times and the start.
#[test]
fn every_slope_is_taken_at_its_own_time() {
    let graph = Graph::new();
    let y = graph
        .runge_kutta((-1.0, graph.constant(1.0)), &[-0.5, 0.75, 3.0], 3, |t, _| Ok(4.0 * t * t.square()))
        .unwrap();
    for (found, t) in run(&graph, &[y])[0].iter().zip([-0.5_f64, 0.75, 3.0]) {
        assert!((found - t.powi(4)).abs() < 1e-12, "{found} at {t}");
    }
}

const YEARS: [f64; 3] = [0.0, 0.7, 2.0];

/// Hares and lynxes: `dx/dt = (α − β y) x`, `dy/dt = (δ x − γ) y`, with the rates as a vector, at [`YEARS`] of time 0.
fn animals<'g>(args: &[Var<'g>]) -> Result<Var<'g>> {
    let graph = args[0].graph();
    let [alpha, beta, gamma, delta] = [0, 1, 2, 3].map(|k| args[0].element(0, k));
    let (x, y) = graph.runge_kutta((0.0, (args[1], args[2])), &YEARS, 4, |_, (x, y)| {
        Ok(((alpha - beta * y) * x, (delta * x - gamma) * y))
    })?;
    Ok(graph.stack(&[x, y], 1))
}

/// The same in plain numbers.
fn animals_by_hand([alpha, beta, gamma, delta]: [f64; 4], mut state: [f64; 2]) -> Vec<f64> {
    let slopes = |[x, y]: [f64; 2]| [(alpha - beta * y) * x, (delta * x - gamma) * y];
    let (mut found, mut before) = (Vec::new(), 0.0);
    for time in YEARS {
        let h = (time - before) / 4.0;
        for _ in 0..4 {
            let moved = |by: f64, slope: [f64; 2]| [state[0] + by * slope[0], state[1] + by * slope[1]];
            let a = slopes(state);
            let b = slopes(moved(h / 2.0, a));
            let c = slopes(moved(h / 2.0, b));
            let d = slopes(moved(h, c));
            for k in 0..2 {
                state[k] += h / 6.0 * (a[k] + 2.0 * b[k] + 2.0 * c[k] + d[k]);
            }
        }
        found.extend(state);
        before = time;
    }
    found
}

/// Values, first and second derivatives by rates and by the state at the start, shared or of each record, in `f64` and
/// `f32`. Single precision loses some hundred roundings of each step in a second derivative.
#[test]
fn derivatives_by_parameters_and_by_the_start_are_those_of_the_steps() {
    let rates = Argument::new(4, |record, k| [0.9, 0.4, 0.8, 0.3][k] + 0.05 * record as f64);
    let hares = Argument::new((), |record, _| 2.0 + 0.3 * record as f64);
    let lynxes = Argument::new((), |record, _| 1.0 + 0.2 * record as f64);
    check(
        "hares and lynxes",
        &[rates, hares, lynxes],
        |args| animals(args).unwrap(),
        |values| {
            let rates = [values[0][0], values[0][1], values[0][2], values[0][3]];
            animals_by_hand(rates, [values[1][0], values[2][0]])
        },
        1e-4,
    );
}

/// A normal log density without its constant.
fn misfit<'g>(expected: Var<'g>, measured: Var<'g>) -> Var<'g> {
    -0.5 * (measured - expected).square().sum()
}

/// A patient's dose falls off at a rate that depends on weight, measured at public times; the rate for the average
/// patient and how it grows with weight are shared.
fn patients(ctx: &mut Ctx) -> Result<()> {
    let log_rate = ctx.param("log_rate", 0.0, Constraint::Real)?;
    let by_weight = ctx.param("by_weight", 0.0, Constraint::Real)?;
    let graph = ctx.graph();
    ctx.each_record(|ctx, record| {
        let rate = (log_rate + by_weight * record.get("weight")?).exp();
        let start = (0.0, record.get("dose")?);
        let level = graph.runge_kutta(start, &[1.0, 2.0, 4.0], 8, |_, y| Ok(-rate * y))?;
        ctx.factor("levels", misfit(level, record.get("levels")?))
    })
}

#[test]
fn each_record_has_its_own_solution_and_gradient() {
    let (n, shared) = (5, [-0.4, 0.6]);
    let weight = Array1::from_shape_fn(n, |i| i as f64 / 4.0 - 0.5);
    let dose = Array1::from_shape_fn(n, |i| 3.0 + i as f64);
    let levels = Array2::from_shape_fn((n, 3), |(i, t)| 2.0 / (1.0 + t as f64) + 0.1 * i as f64);
    // By the factor of a step, as for the decay above.
    let by_hand = |[log_rate, by_weight]: [f64; 2], i: usize| -> f64 {
        let (mut level, mut before, mut sum) = (dose[i], 0.0, 0.0);
        for (t, time) in [1.0, 2.0, 4.0].into_iter().enumerate() {
            let z = -(log_rate + by_weight * weight[i]).exp() * (time - before) / 8.0;
            level *= (1.0 + z + z.powi(2) / 2.0 + z.powi(3) / 6.0 + z.powi(4) / 24.0).powi(8);
            sum -= 0.5 * (levels[[i, t]] - level).powi(2);
            before = time;
        }
        sum
    };
    let columns = [
        ("weight", Column::from(weight.clone())),
        ("dose", dose.clone().into()),
        ("levels", levels.clone().into()),
    ];
    let records = Records::from_columns(columns).unwrap();
    let at = ["log_rate", "by_weight"].into_iter().zip(shared);
    let at = at.map(|(name, value)| (name.to_owned(), ndarray::arr0(value).into_dyn())).collect();
    let density = log_density(&patients, &records, &at).unwrap();
    for i in 0..n {
        let expected = by_hand(shared, i);
        assert!((density.likelihood[i] - expected).abs() < 1e-12 * (1.0 + expected.abs()), "record {i}");
    }

    let graph = Graph::new();
    let trace = trace(&patients, &graph, records.schema(), Unconstrained).unwrap();
    let inputs: Vec<Var<'_>> = trace.latents().filter_map(|site| site.unconstrained).collect();
    let mut program = RecordGradient::<f64>::new(trace.record_log_likelihood().unwrap(), &inputs).unwrap();
    program.set(&Unconstrained::input_name("log_rate"), &shared[..1]).unwrap();
    program.set(&Unconstrained::input_name("by_weight"), &shared[1..]).unwrap();
    for i in 0..n {
        let mut slopes = [0.0; 2];
        program.weighted_sum(&records, &[i as u64], |_, weights| weights.fill(1.0), &mut slopes).unwrap();
        for k in 0..2 {
            let moved = |by: f64| {
                let mut there = shared;
                there[k] += by;
                by_hand(there, i)
            };
            // Off by h² of a third derivative of some tens, and by a rounding over h.
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slopes[k] - difference).abs() < 1e-7, "record {i}, {k}: {} and {difference}", slopes[k]);
        }
    }
}

/// Public measurements outside `each_record`: the density is that of the states written out.
#[test]
fn public_series_are_solved_outside_each_record() {
    let measured = array![[2.1, 0.9], [2.4, 1.3], [1.5, 2.6]];
    let given = measured.clone();
    let model = move |ctx: &mut Ctx<'_>| {
        let rates = ctx.param("rates", vec![0.9, 0.4, 0.8, 0.3], Constraint::Positive)?;
        let (hares, lynxes) = (ctx.constant(2.0), ctx.constant(1.0));
        ctx.factor("animals", misfit(animals(&[rates, hares, lynxes])?, ctx.constant(given.clone())))
    };
    let rates = [0.8, 0.5, 0.7, 0.35];
    let at = BTreeMap::from([("rates".to_owned(), Array1::from(rates.to_vec()).into_dyn())]);
    let found = log_density(&model, &Records::none(), &at).unwrap().total();
    let states = animals_by_hand(rates, [2.0, 1.0]);
    let expected: f64 = states.iter().zip(&measured).map(|(x, y)| -0.5 * (y - x).powi(2)).sum();
    assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
}

#[test]
fn a_program_is_as_long_for_many_steps_as_for_few() {
    let length = |times: usize, steps: usize| {
        let graph = Graph::new();
        let times: Vec<f64> = (1..=times).map(|t| t as f64).collect();
        let (rate, y) = (graph.input("rate", ()).unwrap(), graph.input("y", 2).unwrap());
        let path = graph.runge_kutta((0.0, y), &times, steps, |t, y| Ok(-rate * y + t.cos())).unwrap();
        let slopes = gradient(path.square().sum(), &[rate, y]).unwrap();
        (graph.len(), Program::new(&graph, &slopes).unwrap().len())
    };
    assert_eq!(length(2, 3), length(200, 50));
}

#[test]
fn mistakes_are_told() {
    let told = |start: f64, times: &[f64], steps: usize| {
        let graph = Graph::new();
        let solved = graph.runge_kutta((start, graph.constant(1.0)), times, steps, |_, y| Ok(-y));
        solved.map(|_| ()).unwrap_err().to_string()
    };
    assert!(told(0.0, &[1.0], 0).starts_with("runge_kutta: 0 steps from a time to the next"));
    assert!(told(0.0, &[], 1).starts_with("runge_kutta: there is no time to solve for"));
    assert!(told(0.0, &[2.0, 1.0], 1).starts_with("runge_kutta: times must increase, and after 2 comes 1"));
    assert!(told(0.0, &[1.0, 1.0], 1).contains("after 1 comes 1"));
    assert!(told(0.0, &[-1.0], 1).starts_with("runge_kutta: the first time, -1, lies before the start, 0"));
    assert!(told(0.0, &[1.0, f64::NAN], 1).contains("times must be finite, got NaN"));
    assert!(told(0.0, &[f64::INFINITY], 1).contains("times must be finite, got inf"));
    assert!(told(f64::NAN, &[1.0], 1).contains("the start must be a finite time, got NaN"));
    assert!(told(0.0, &[1.0, 2.0], usize::MAX).contains("too many elements"));
    assert!(told(0.0, &[1.0], 0).contains("tests/ode.rs"), "the line of the model");

    let graph = Graph::new();
    let y = graph.input("y", 2).unwrap();
    let shapes = graph.runge_kutta((0.0, (y, y.sum())), &[1.0], 1, |_, (y, s)| Ok((y.sum(), s)));
    let told = shapes.map(|_| ()).unwrap_err().to_string();
    assert!(
        told.starts_with("runge_kutta: the slopes have shapes [[], []], and the state has [[2], []]"),
        "{told}"
    );
    let empty = graph.runge_kutta((0.0, ()), &[1.0], 1, |_, ()| Ok(()));
    assert!(empty.unwrap_err().to_string().contains("there is nothing in the state"));
    let own = graph.runge_kutta((0.0, y), &[1.0], 1, |_, _| Err(ppl_core::Error::Values("mine".to_owned())));
    assert_eq!(own.map(|_| ()).unwrap_err().to_string(), "mine");
    // A mistake of an expression in the slopes.
    let mixed =
        graph.runge_kutta((0.0, y), &[1.0], 1, |_, y| Ok(y + graph.array(&array![1.0, 2.0, 3.0].into_dyn())));
    assert!(mixed.is_err());
}
