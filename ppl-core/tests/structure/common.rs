//! Checks of one function of arrays against a reference in f64 and against finite differences, with every
//! choice of which arguments are shared and which differ from record to record, in both number types.

use ndarray::{ArrayD, IxDyn};
use ppl_core::{
    Column, ExecutionPlan, Graph, Program, Record, Records, Scalar, Schema, Shape, Var, gradient,
};
use proptest::prelude::*;

/// Records that per-record arguments are given for.
const RECORDS: usize = 3;

type Function<'a> = dyn for<'g> Fn(&[Var<'g>]) -> Var<'g> + 'a;
type Reference<'a> = dyn Fn(&[ArrayD<f64>]) -> ArrayD<f64> + 'a;

/// What to check.
pub(crate) struct Case<'a> {
    function: Box<Function<'a>>,
    reference: Box<Reference<'a>>,
    /// Each argument: its value for each of [`RECORDS`] records, of which the first is used where it is
    /// shared.
    arguments: Vec<[ArrayD<f64>; RECORDS]>,
    /// Arguments to differentiate by; the others are indices.
    smooth: Vec<usize>,
    /// Bound on the relative error of the value in units of the rounding error.
    units: f64,
    /// Whether second derivatives are checked.
    twice: bool,
}

/// A program and what it returns.
struct Traced {
    program: Program,
    schema_arguments: Vec<usize>,
}

fn argument_name(index: usize) -> String {
    format!("argument {index}")
}

/// `Σ_k c_k x_k` with unequal, fixed `c`.
fn weigh(value: Var<'_>) -> Var<'_> {
    let shape = value.shape();
    let weights =
        (0..shape.elements()).map(|k| 1.0 + 0.37 * ((k * 7) % 5) as f64 - 0.11 * k as f64).collect();
    let weights = ArrayD::from_shape_vec(shape.dims(), weights).unwrap();
    value.inner(value.graph().array(&weights))
}

/// Traces value, weighed value, gradient, weighed gradient and gradient of that; bit `k` of `mask` makes
/// argument `k` per record.
fn traced(case: &Case<'_>, mask: usize) -> Traced {
    let schema_arguments: Vec<usize> =
        (0..case.arguments.len()).filter(|&index| mask >> index & 1 == 1).collect();
    let shape = |index: usize| Shape::from(case.arguments[index][0].shape());
    let mut columns: Vec<(String, Shape)> =
        schema_arguments.iter().map(|&index| (argument_name(index), shape(index))).collect();
    columns.push(("nothing".to_owned(), Shape::scalar()));
    let schema = Schema::new(columns).unwrap();
    let graph = Graph::new();
    let vars: Vec<Var<'_>> = (0..case.arguments.len())
        .map(|index| match schema_arguments.contains(&index) {
            true => Record::new(&graph, &schema).get(&argument_name(index)).unwrap(),
            false => graph.input(argument_name(index), shape(index)).unwrap(),
        })
        .collect();
    let smooth: Vec<Var<'_>> = case.smooth.iter().map(|&index| vars[index]).collect();
    let value = (case.function)(&vars);
    graph.check().unwrap();
    let weighed = weigh(value);
    let first = gradient(weighed, &smooth).unwrap();
    let mut outputs = vec![value, weighed];
    outputs.extend(&first);
    if case.twice {
        let again = first.iter().map(|&g| weigh(g)).reduce(|sum, next| sum + next).unwrap();
        outputs.push(again);
        outputs.extend(gradient(again, &smooth).unwrap());
    }
    let program = Program::new(&graph, &outputs).unwrap();
    Traced { program, schema_arguments }
}

/// The outputs for each record.
fn run<T: Scalar>(traced: &Traced, arguments: &[[ArrayD<f64>; RECORDS]]) -> Vec<Vec<Vec<f64>>> {
    let mut columns: Vec<(String, Column)> = Vec::new();
    for &index in &traced.schema_arguments {
        let views: Vec<_> = arguments[index].iter().map(|values| values.view()).collect();
        let stacked = ndarray::stack(ndarray::Axis(0), &views).unwrap();
        columns.push((argument_name(index), Column::from(stacked)));
    }
    columns.push(("nothing".to_owned(), Column::from(vec![0.0; RECORDS])));
    let records = Records::from_columns(columns).unwrap();
    let mut plan = ExecutionPlan::<T>::new(&traced.program);
    for (index, values) in arguments.iter().enumerate() {
        if plan.input(&argument_name(index)).is_ok() {
            let values: Vec<T> = values[0].iter().map(|&x| T::of(x)).collect();
            plan.set(&argument_name(index), &values).unwrap();
        }
    }
    let batch: Vec<u64> = (0..RECORDS as u64).collect();
    (0..plan.outputs())
        .map(|output| {
            let matrix = plan.evaluate(&records, &batch, output).unwrap();
            matrix.rows().into_iter().map(|row| row.iter().map(|x| x.as_f64()).collect()).collect()
        })
        .collect()
}

/// Whether two numbers agree; NaN agrees with NaN and an infinity with itself.
fn agree(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance
}

fn compare(told: &str, got: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(got.len(), expected.len(), "{told}: number of elements");
    let finite = expected.iter().copied().filter(|x| x.is_finite());
    let scale = finite.fold(1.0_f64, |largest, x| largest.max(x.abs()));
    for (k, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        assert!(agree(got, expected, relative * scale), "{told}, element {k}: {got} against {expected}");
    }
}

impl<'a> Case<'a> {
    /// A function, the same for numbers, and the arguments, all of which are to be differentiated by, twice.
    pub(crate) fn new(
        function: impl for<'g> Fn(&[Var<'g>]) -> Var<'g> + 'a,
        reference: impl Fn(&[ArrayD<f64>]) -> ArrayD<f64> + 'a,
        arguments: Vec<[ArrayD<f64>; RECORDS]>,
    ) -> Self {
        let smooth = (0..arguments.len()).collect();
        let (function, reference) = (Box::new(function), Box::new(reference));
        Self { function, reference, arguments, smooth, units: 16.0, twice: true }
    }

    /// With derivatives by the first argument only; the others are indices.
    pub(crate) fn by_the_first(self) -> Self {
        Self { smooth: vec![0], ..self }
    }

    /// With this bound on the relative error of the value, in units of the rounding error.
    pub(crate) fn within(self, units: f64) -> Self {
        Self { units, ..self }
    }

    /// Values only: for points where the function has no derivative, or an infinite value.
    pub(crate) fn check_values(&self) {
        for mask in 0..1 << self.arguments.len() {
            let traced = traced(self, mask);
            let (double, single) =
                (run::<f64>(&traced, &self.arguments), run::<f32>(&traced, &self.arguments));
            for record in 0..RECORDS {
                let here = self.at(mask, record);
                let expected = (self.reference)(&here);
                let expected: Vec<f64> = expected.iter().copied().collect();
                let told = format!("mask {mask}, record {record}");
                compare(&told, &double[0][record], &expected, self.units * f64::EPSILON);
                compare(
                    &format!("{told}, f32"),
                    &single[0][record],
                    &expected,
                    self.units * f64::from(f32::EPSILON),
                );
            }
        }
    }

    /// Values, gradients and, if asked for, second derivatives.
    pub(crate) fn check(&self) {
        self.check_values();
        let shared = traced(self, 0);
        let (value, gradients) = (1, 2);
        self.differences(&shared, value, gradients);
        let again = gradients + self.smooth.len();
        if self.twice {
            self.differences(&shared, again, again + 1);
        }
        for mask in 1..1 << self.arguments.len() {
            let traced = traced(self, mask);
            let (double, single) =
                (run::<f64>(&traced, &self.arguments), run::<f32>(&traced, &self.arguments));
            for record in 0..RECORDS {
                let here: Vec<[ArrayD<f64>; RECORDS]> =
                    self.at(mask, record).into_iter().map(|x| [x.clone(), x.clone(), x]).collect();
                let expected = run::<f64>(&shared, &here);
                for output in 0..expected.len() {
                    let told = format!("mask {mask}, record {record}, output {output}");
                    compare(
                        &told,
                        &double[output][record],
                        &expected[output][0],
                        64.0 * self.units * f64::EPSILON,
                    );
                    let relative = 64.0 * self.units * f64::from(f32::EPSILON);
                    compare(&format!("{told}, f32"), &single[output][record], &expected[output][0], relative);
                }
            }
        }
    }

    /// The arguments of one record.
    fn at(&self, mask: usize, record: usize) -> Vec<ArrayD<f64>> {
        let choose = |index: usize| if mask >> index & 1 == 1 { record } else { 0 };
        self.arguments.iter().enumerate().map(|(index, values)| values[choose(index)].clone()).collect()
    }

    /// Output `value` (a scalar) by central differences of fourth order against the outputs from `gradients`
    /// on.
    fn differences(&self, traced: &Traced, value: usize, gradients: usize) {
        let analytic = run::<f64>(traced, &self.arguments);
        for (position, &index) in self.smooth.iter().enumerate() {
            for element in 0..self.arguments[index][0].len() {
                let slope = |h: f64| {
                    let at = |h: f64| {
                        let mut moved = self.arguments.clone();
                        *moved[index][0].iter_mut().nth(element).unwrap() += h;
                        run::<f64>(traced, &moved)[value][0][0]
                    };
                    (at(h) - at(-h)) / (2.0 * h)
                };
                let (coarse, fine) = (slope(2e-3), slope(1e-3));
                let slope = (4.0 * fine - coarse) / 3.0;
                let analytic = analytic[gradients + position][0][element];
                // The two estimates tell how far the formula itself can be trusted.
                let bound = 0.1 * (fine - coarse).abs() + 1e-9 * (1.0 + slope.abs());
                assert!(
                    (slope - analytic).abs() <= bound,
                    "output {value} by argument {index}, element {element}: {slope} against {analytic}"
                );
            }
        }
    }
}

/// Values for [`RECORDS`] records: distinct numbers within one array, exact in f32.
pub(crate) fn distinct(shape: Shape) -> impl Strategy<Value = [ArrayD<f64>; RECORDS]> {
    let elements = shape.elements();
    // Multiples of 1/16 in [−2.5, 2.5], no two alike, so that no two meet while differences are taken.
    let one = move || {
        let shape = shape.clone();
        Just((-40..=40_i32).collect::<Vec<_>>()).prop_shuffle().prop_map(move |order| {
            let values = order.into_iter().take(elements).map(|k| f64::from(k) / 16.0).collect();
            ArrayD::from_shape_vec(IxDyn(shape.dims()), values).unwrap()
        })
    };
    [one(), one(), one()]
}

/// Shapes of `ranks` axes of 1 to 4 elements.
pub(crate) fn shape_of(ranks: std::ops::Range<usize>) -> impl Strategy<Value = Shape> {
    proptest::collection::vec(1..5_usize, ranks)
        .prop_filter("at most 81 elements", |dims| dims.iter().product::<usize>() <= 81)
        .prop_map(Shape::from)
}

/// A shape and one of its axes.
pub(crate) fn shape_and_axis() -> impl Strategy<Value = (Shape, usize)> {
    shape_of(1..4).prop_flat_map(|shape| {
        let axes = 0..shape.rank();
        (Just(shape), axes)
    })
}
