//! One test for every primitive: values against a reference, derivatives of first and second order against
//! finite differences, any choice of shared and per-record arguments against all of them shared, `f32`
//! against `f64`.

use ndarray::ArrayD;
use ppl_core::{
    Column, ExecutionPlan, Graph, InputId, Program, Record, Records, Scalar, Shape, Var, gradient,
};

/// Records that per-record arguments have values for.
pub(crate) const RECORDS: usize = 3;

/// An argument: its shape, and its values for each record (the first are used where it is shared).
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) shape: Shape,
    pub(crate) values: Vec<Vec<f64>>,
}

impl Argument {
    /// Values are `value(record, element)`.
    pub(crate) fn new(shape: impl Into<Shape>, value: impl Fn(usize, usize) -> f64) -> Self {
        let shape = shape.into();
        let of = |record: usize| (0..shape.elements()).map(|element| value(record, element)).collect();
        Self { values: (0..RECORDS).map(of).collect(), shape }
    }

    /// Values spread over (−1.5, 1.5) without regularity, other ones for each `seed`.
    pub(crate) fn arbitrary(shape: impl Into<Shape>, seed: u64) -> Self {
        Self::new(shape, |record, element| spread(seed, record, element))
    }
}

/// A fixed number in (−1.5, 1.5) for each seed, record and element.
pub(crate) fn spread(seed: u64, record: usize, element: usize) -> f64 {
    // The golden ratio's multiples are spread evenly.
    let position =
        seed as f64 * 0.754_877_666 + record as f64 * 0.569_840_291 + element as f64 * 0.618_033_988_7;
    3.0 * (position - position.floor()) - 1.5
}

/// `f`, the gradient of `s = Σ cₖ fₖ`, and that of `t = Σ dₖ (∇s)ₖ`, as outputs `[f, s, t, ∇s…, ∇t…]`.
fn outputs<'g>(args: &[Var<'g>], f: &dyn for<'a> Fn(&[Var<'a>]) -> Var<'a>) -> Vec<Var<'g>> {
    let graph = args[0].graph();
    let value = f(args);
    graph.check().unwrap();
    let weighted = |x: Var<'g>, slope: f64| {
        let weights: Vec<f64> = (0..x.shape().elements()).map(|k| 1.0 + slope * (k % 7) as f64).collect();
        x.inner(graph.array(&ArrayD::from_shape_vec(x.shape().dims(), weights).unwrap()))
    };
    let sum = weighted(value, 0.37);
    let first = gradient(sum, args).unwrap();
    let total = first.iter().map(|&g| weighted(g, -0.21)).reduce(|a, b| a + b).unwrap();
    let mut outputs = vec![value, sum, total];
    outputs.extend(&first);
    outputs.extend(gradient(total, args).unwrap());
    graph.check().unwrap();
    outputs
}

/// A plan whose arguments are all shared.
struct SharedPlan<T> {
    plan: ExecutionPlan<T>,
    inputs: Vec<Option<InputId>>,
}

impl<T: Scalar> SharedPlan<T> {
    fn new(args: &[Argument], f: &dyn for<'a> Fn(&[Var<'a>]) -> Var<'a>) -> Self {
        let graph = Graph::new();
        let vars: Vec<Var<'_>> =
            (0..args.len()).map(|k| graph.input(format!("x{k}"), args[k].shape.clone()).unwrap()).collect();
        let plan = ExecutionPlan::new(&Program::new(&graph, &outputs(&vars, f)).unwrap());
        let inputs = (0..args.len()).map(|k| plan.input(&format!("x{k}")).ok()).collect();
        Self { plan, inputs }
    }

    fn run(&mut self, values: &[Vec<f64>]) {
        for (&input, values) in self.inputs.iter().zip(values) {
            if let Some(input) = input {
                let slots = self.plan.input_mut(input).iter_mut();
                slots.zip(values).for_each(|(slot, &value)| *slot = T::of(value));
            }
        }
        self.plan.run();
    }

    fn output(&self, output: usize) -> Vec<f64> {
        self.plan.output(output).iter().map(|value| value.as_f64()).collect()
    }
}

/// The value of `f` for shared arguments, the first record's.
pub(crate) fn value<T: Scalar>(args: &[Argument], f: impl for<'a> Fn(&[Var<'a>]) -> Var<'a>) -> Vec<f64> {
    let graph = Graph::new();
    let vars: Vec<Var<'_>> =
        (0..args.len()).map(|k| graph.input(format!("x{k}"), args[k].shape.clone()).unwrap()).collect();
    let value = f(&vars);
    graph.check().unwrap();
    let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &[value]).unwrap());
    for (k, arg) in args.iter().enumerate() {
        if let Ok(input) = plan.input(&format!("x{k}")) {
            let slots = plan.input_mut(input).iter_mut();
            slots.zip(&arg.values[0]).for_each(|(slot, &value)| *slot = T::of(value));
        }
    }
    plan.run();
    plan.output(0).iter().map(|value| value.as_f64()).collect()
}

fn assert_close(told: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{told}: number of elements");
    let scale = expected.iter().fold(1.0_f64, |scale, x| scale.max(x.abs()));
    for (k, (got, expected)) in got.iter().zip(expected).enumerate() {
        let error = (got - expected).abs();
        assert!(error <= tolerance * scale, "{told}, element {k}: {got} against {expected}");
    }
}

/// The whole test. `reference` is the value of `f` by another way; `single` bounds the relative error of
/// `f32`.
pub(crate) fn check(
    name: &str,
    args: &[Argument],
    f: impl for<'a> Fn(&[Var<'a>]) -> Var<'a>,
    reference: impl Fn(&[Vec<f64>]) -> Vec<f64>,
    single: f64,
) {
    // Every closure is a type of its own, and the test would be compiled for each.
    check_any(name, args, &f, &reference, single);
}

fn check_any(
    name: &str,
    args: &[Argument],
    f: &dyn for<'a> Fn(&[Var<'a>]) -> Var<'a>,
    reference: &dyn Fn(&[Vec<f64>]) -> Vec<f64>,
    single: f64,
) {
    let mut shared = SharedPlan::<f64>::new(args, f);
    let count = 3 + 2 * args.len();
    let at = |record: usize| -> Vec<Vec<f64>> { args.iter().map(|arg| arg.values[record].clone()).collect() };
    for record in 0..RECORDS {
        shared.run(&at(record));
        assert_close(name, &shared.output(0), &reference(&at(record)), 1e-12);
    }
    differences(name, &mut shared, &at(0));
    for mask in 1..1_usize << args.len() {
        let of_record = |which: usize, record: usize| if mask >> which & 1 == 1 { record } else { 0 };
        let (double, float) = (per_record::<f64>(args, mask, f), per_record::<f32>(args, mask, f));
        for record in 0..RECORDS {
            let values: Vec<Vec<f64>> =
                (0..args.len()).map(|k| args[k].values[of_record(k, record)].clone()).collect();
            shared.run(&values);
            for output in 0..count {
                let told = format!("{name}, arguments {mask:b} per record, record {record}, output {output}");
                let expected = shared.output(output);
                assert_close(&told, &double[output][record], &expected, 1e-12);
                assert_close(&format!("{told}, f32"), &float[output][record], &expected, single);
            }
        }
    }
}

/// Every output for every record, with the arguments of `mask` per record.
fn per_record<T: Scalar>(
    args: &[Argument],
    mask: usize,
    f: &dyn for<'a> Fn(&[Var<'a>]) -> Var<'a>,
) -> Vec<Vec<Vec<f64>>> {
    let columns = args.iter().enumerate().map(|(k, arg)| {
        let shape: Vec<usize> = [RECORDS].iter().chain(arg.shape.dims()).copied().collect();
        (format!("x{k}"), Column::from(ArrayD::from_shape_vec(shape, arg.values.concat()).unwrap()))
    });
    let records = Records::from_columns(columns).unwrap();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let vars: Vec<Var<'_>> = (0..args.len())
        .map(|k| {
            let name = format!("x{k}");
            if mask >> k & 1 == 1 { record.get(&name) } else { graph.input(name, args[k].shape.clone()) }
        })
        .collect::<Result<_, _>>()
        .unwrap();
    let outputs = outputs(&vars, f);
    let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &outputs).unwrap());
    for (k, arg) in args.iter().enumerate() {
        if let Ok(input) = plan.input(&format!("x{k}")) {
            let slots = plan.input_mut(input).iter_mut();
            slots.zip(&arg.values[0]).for_each(|(slot, &value)| *slot = T::of(value));
        }
    }
    let batch: Vec<u64> = (0..RECORDS as u64).collect();
    (0..outputs.len())
        .map(|output| {
            let matrix = plan.evaluate(&records, &batch, output).unwrap();
            matrix.rows().into_iter().map(|row| row.iter().map(|value| value.as_f64()).collect()).collect()
        })
        .collect()
}

/// `∇s` against differences of `s`, and `∇t` against those of `t`.
fn differences(name: &str, plan: &mut SharedPlan<f64>, at: &[Vec<f64>]) {
    plan.run(at);
    let analytic: Vec<Vec<f64>> = (0..2 * at.len()).map(|k| plan.output(3 + k)).collect();
    for (which, analytic) in analytic.iter().enumerate() {
        let (scalar, argument) = (1 + which / at.len(), which % at.len());
        assert_eq!(analytic.len(), at[argument].len(), "{name}: shape of the gradient");
        for (element, &analytic) in analytic.iter().enumerate() {
            let mut slope = |h: f64| {
                let mut moved = at.to_vec();
                let mut value = |to: f64| {
                    moved[argument][element] = to;
                    plan.run(&moved);
                    plan.output(scalar)[0]
                };
                let x = at[argument][element];
                (value(x + h) - value(x - h)) / (2.0 * h)
            };
            // The cubic term cancels; how far the two differ tells how far the formula can be trusted.
            let (coarse, fine) = (slope(2e-3), slope(1e-3));
            let difference = (4.0 * fine - coarse) / 3.0;
            let bound = (fine - coarse).abs() + 1e-9 * (1.0 + difference.abs());
            assert!(
                (difference - analytic).abs() <= bound,
                "{name}, order {scalar}, argument {argument}, element {element}: {analytic} against {difference} ± {bound:e}"
            );
        }
    }
}
