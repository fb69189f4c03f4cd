//! What must hold of every program, as functions of a stream of bytes: property tests and the fuzz target
//! call the same ones. Each panics if what it checks does not hold.

use super::programs::{Choices, Menu, grow};
use crate::base::Shape;
use crate::model::record::Record;
use crate::op::{Graph, Input, Kind, Linear, Op, Shaping, Var};
use crate::program::Program;
use crate::record_gradient::{MaterialisedGradient, RecordGradient};
use crate::records::{Column, Records};
use crate::run::plan::{ExecutionPlan, WIDE_COLUMN};
use crate::transform::{gradient, hessian_vector, jacobian_vector};
use ndarray::{ArrayD, IxDyn};
use std::collections::BTreeMap;

/// Records of a random table.
const RECORDS: usize = 5;
/// Most operations of a random program.
const OPERATIONS: usize = 60;

type Inputs = BTreeMap<String, Vec<f64>>;

/// Leaves of a random program, and numbers for them.
struct Leaves {
    shared: Vec<(String, Shape)>,
    inputs: Inputs,
    records: Records,
}

impl Leaves {
    fn new(choices: &mut Choices<'_>, menu: Menu) -> Self {
        let number = |choices: &mut Choices<'_>| match menu {
            Menu::Smooth => choices.moderate() / 2.0,
            Menu::Everything => choices.any_number(),
        };
        let numbers = |choices: &mut Choices<'_>, count: usize| -> Vec<f64> {
            // A few choices for all, so that most bytes go into the program.
            let few: Vec<f64> = (0..count.min(6)).map(|_| number(choices)).collect();
            let spread = |k: usize| if menu == Menu::Smooth { 0.01 * (k / 6) as f64 } else { 0.0 };
            (0..count).map(|k| few[k % few.len()] + spread(k)).collect()
        };
        let empty = menu == Menu::Everything;
        let shared: Vec<(String, Shape)> = ["a", "b", "c"]
            .into_iter()
            .map(|name| (name.to_owned(), choices.shape(empty)))
            .chain([("w".to_owned(), Shape::from(2))])
            .collect();
        let inputs =
            shared.iter().map(|(name, shape)| (name.clone(), numbers(choices, shape.elements()))).collect();
        let matrix = choices.shape(empty);
        let column = |values: Vec<f64>, shape: &Shape| {
            let dims: Vec<usize> = [RECORDS].iter().chain(shape.dims()).copied().collect();
            let array = ArrayD::from_shape_vec(IxDyn(&dims), values).expect("lengths agree by construction");
            Column::from(array)
        };
        let records = Records::from_columns([
            ("x", column(numbers(choices, 2 * RECORDS), &Shape::from(2))),
            ("y", column(numbers(choices, RECORDS), &Shape::scalar())),
            ("z", column(numbers(choices, RECORDS * matrix.elements()), &matrix)),
        ]);
        Self { shared, inputs, records: records.expect("columns agree by construction") }
    }

    fn shared<'g>(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        let input = |(name, shape): &(String, Shape)| graph.input(name.as_str(), shape.clone());
        self.shared.iter().map(|leaf| input(leaf).expect("fresh inputs of small shapes")).collect()
    }

    fn of_records<'g>(&'g self, graph: &'g Graph) -> Vec<Var<'g>> {
        let record = Record::new(graph, self.records.schema());
        ["x", "y", "z"].iter().map(|name| record.get(name).expect("a column")).collect()
    }
}

fn program(graph: &Graph, outputs: &[Var<'_>]) -> Program {
    Program::new(graph, outputs).expect("random programs hold no mistakes")
}

fn interpreted(program: &Program, inputs: &Inputs, record: Option<(&Records, u64)>) -> Vec<Vec<f64>> {
    program.interpret(inputs, record).expect("all inputs are given")
}

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Which values contain inner products of a wide column, or are made of them. A plan may add the terms of
/// these in another order than the interpreter, so that they agree to rounding only: the tests of
/// `plan::dots` bound the difference.
fn reordered(program: &Program) -> Vec<bool> {
    let count = program.instructions.len();
    let (mut wide, mut reordered) = (vec![false; count], vec![false; count]);
    for (index, instruction) in program.instructions.iter().enumerate() {
        let any = |of: &[bool]| instruction.args.iter().any(|&arg| of[arg]);
        wide[index] = match &instruction.op {
            Op::Input(Input::Column { .. }) => instruction.shape.elements() >= WIDE_COLUMN,
            Op::Shaping(Shaping::Reshape(_)) => any(&wide),
            _ => false,
        };
        reordered[index] = any(&reordered) || (instruction.op == Op::Linear(Linear::Inner) && any(&wide));
    }
    reordered
}

/// Lines of a listing, but those of the bodies of scans.
fn lines(program: &Program) -> usize {
    program.to_string().lines().filter(|line| !line.trim_start().starts_with('|')).count()
}

/// The plan and the interpreter give the same numbers (but for inner products of wide columns), a record
/// gives the same alone and in a batch, exact simplification changes no bit, a listing has a line for each
/// operation, and a program that was written down is the same when it is read.
///
/// # Panics
/// If one of these does not hold.
pub fn values(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let leaves = Leaves::new(&mut choices, Menu::Everything);
    let graph = Graph::new();
    let mut known = leaves.shared(&graph);
    known.extend(leaves.of_records(&graph));
    let Some(last) = grow(&mut choices, &mut known, Menu::Everything, OPERATIONS) else {
        return;
    };
    let mut outputs = vec![last];
    outputs.extend(known.iter().rev().take(4));
    let program = program(&graph, &outputs);
    let exact = program.simplified_exactly();
    // Work that moved in front of a broadcast may leave two broadcasts where there was one; real work never
    // grows.
    let work = |program: &Program| {
        let steps = program.instructions.iter().filter(|step| !step.args.is_empty());
        steps.filter(|step| !matches!(step.op, Op::Shaping(_))).count()
    };
    assert!(work(&exact) <= work(&program), "{program}{exact}");
    assert_eq!(exact.difference(&exact.simplified_exactly()), None, "{exact}");
    assert_eq!(lines(&program), program.len() + 1);
    assert_eq!(program.clone().fingerprint(), program.fingerprint());
    let better = program.simplified();
    #[cfg(feature = "serde")]
    written(&program);
    let mut plan = ExecutionPlan::<f64>::new(&program);
    for (name, values) in &leaves.inputs {
        if plan.input(name).is_ok() {
            plan.set(name, values).expect("as many numbers as the input takes");
        }
    }
    let reordered = reordered(&program);
    let batch: Vec<u64> = (0..RECORDS as u64).collect();
    for output in 0..outputs.len() {
        let in_one_order = !reordered[program.outputs[output]];
        let together = plan.evaluate(&leaves.records, &batch, output).expect("records that fit");
        for &record in &batch {
            let given = Some((&leaves.records, record));
            let slow = interpreted(&program, &leaves.inputs, given);
            let simple = interpreted(&exact, &leaves.inputs, given);
            let _ = interpreted(&better, &leaves.inputs, given);
            let alone = plan.evaluate(&leaves.records, &[record], output).expect("records that fit");
            for (element, &slow) in slow[output].iter().enumerate() {
                let (alone, fast) = (alone[[0, element]], together[[record as usize, element]]);
                assert!(same(alone, fast), "alone {alone}, in a batch {fast}\n{program}");
                assert!(
                    !in_one_order || same(slow, fast),
                    "output {output}: interpreted {slow}, planned {fast}\n{program}"
                );
                let simple = simple[output][element];
                assert!(same(slow, simple), "written {slow}, simplified {simple}\n{program}{exact}");
            }
        }
    }
    let fault = program.first_non_finite(&leaves.inputs, Some((&leaves.records, 0))).expect("all is given");
    let values = interpreted(&program, &leaves.inputs, Some((&leaves.records, 0)));
    let all_finite = values.iter().flatten().all(|value| value.is_finite());
    assert!(all_finite || fault.is_some(), "a number that is not finite comes from somewhere");
}

/// A program that was written down is the same when it is read, and damage is an error and not a panic.
#[cfg(feature = "serde")]
fn written(program: &Program) {
    let text = program.to_json().expect("every program can be written");
    let read = Program::from_json(&text).expect("what was written can be read");
    assert_eq!(program.difference(&read), None, "{program}{read}");
    assert_eq!(program.to_string(), read.to_string());
}

/// Gradients, Jacobian–vector and Hessian–vector products are what finite differences say, and stay so in
/// simplified programs.
///
/// # Panics
/// If they are not.
pub fn derivatives(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let leaves = Leaves::new(&mut choices, Menu::Smooth);
    let graph = Graph::new();
    let shared = leaves.shared(&graph);
    let mut known = shared.clone();
    let Some(last) = grow(&mut choices, &mut known, Menu::Smooth, OPERATIONS) else {
        return;
    };
    let tangents: Vec<Var<'_>> = leaves
        .shared
        .iter()
        .map(|(name, shape)| graph.input(format!("tangent {name}"), shape.clone()).expect("a fresh input"))
        .collect();
    let slopes = gradient(last, &shared).expect("a scalar");
    let forward = jacobian_vector(&[last], &shared, &tangents).expect("tangents that fit");
    let curvature = hessian_vector(last, &shared, &tangents).expect("tangents that fit");
    let count = slopes.len();
    let outputs: Vec<Var<'_>> = [last].into_iter().chain(slopes).chain(forward).chain(curvature).collect();
    let program = program(&graph, &outputs);
    let simple = program.simplified();
    assert_eq!(simple.difference(&simple.simplified()), None, "{simple}");
    let mut inputs = leaves.inputs.clone();
    for (name, values) in &leaves.inputs {
        let along = (0..values.len()).map(|_| choices.moderate() + 0.3).collect();
        inputs.insert(format!("tangent {name}"), along);
    }
    // Where each output is when every input has moved by `t` along its tangent.
    let at = |t: f64| {
        let mut moved = inputs.clone();
        for name in leaves.inputs.keys() {
            let along = inputs[&format!("tangent {name}")].clone();
            moved.get_mut(name).into_iter().flatten().zip(along).for_each(|(x, along)| *x += t * along);
        }
        interpreted(&program, &moved, None)
    };
    let here = at(0.0);
    let slope = |h: f64, output: usize| -> Vec<f64> {
        let (up, down) = (at(h), at(-h));
        up[output].iter().zip(&down[output]).map(|(up, down)| (up - down) / (2.0 * h)).collect()
    };
    // A fourth-order formula from two of second order; how far those are apart bounds its error where the
    // function is smooth on the scale of the step, and the last term is rounding. Near a pole it is not: of
    // three steps the one counts whose formulas agree best.
    const STEPS: [f64; 3] = [1e-3, 1e-4, 1e-5];
    let check = |output: usize, expected: &[f64], what: &str| {
        let slopes = STEPS.map(|h| (slope(h, output), slope(0.5 * h, output)));
        for (k, expected) in expected.iter().enumerate() {
            let estimates = slopes.iter().map(|(coarse, fine)| {
                let (coarse, fine) = (coarse[k], fine[k]);
                ((4.0 * fine - coarse) / 3.0, (fine - coarse).abs())
            });
            let best = estimates.reduce(|best, next| if next.1 < best.1 { next } else { best });
            let (slope, apart) = best.unwrap_or((f64::NAN, 0.0));
            let bound = apart + 1e-7 * (1.0 + expected.abs());
            assert!((slope - expected).abs() <= bound, "{what}: {slope} against {expected}\n{program}");
        }
    };
    let dot = |which: usize| -> f64 {
        let along = &inputs[&format!("tangent {}", leaves.shared[which].0)];
        here[1 + which].iter().zip(along).map(|(slope, along)| slope * along).sum()
    };
    let directional: f64 = (0..count).map(dot).sum();
    check(0, &[directional], "gradient along the tangent");
    check(0, &here[1 + count], "Jacobian–vector product");
    for which in 0..count {
        check(1 + which, &here[2 + count + which], "Hessian–vector product");
    }
    let simplified = interpreted(&simple, &inputs, None);
    for (before, after) in here.iter().flatten().zip(simplified.iter().flatten()) {
        let bound = 1e-8 * (1.0 + before.abs());
        assert!((before - after).abs() <= bound, "{before}, simplified {after}\n{program}{simple}");
    }
}

/// A random program of one record's value, with numbers for what it reads, and what this crate computes of it: for
/// other implementations to compare with.
#[derive(Clone, Debug)]
pub struct SmoothCase {
    /// One output, a number of each record.
    pub program: Program,
    /// Numbers of the shared inputs, by name.
    pub inputs: BTreeMap<String, Vec<f64>>,
    /// Names of the shared inputs, in the order of the gradients' elements.
    pub order: Vec<String>,
    /// The columns.
    pub records: Records,
    /// The program's value for each record, by a plan.
    pub values: Vec<f64>,
    /// Its gradient in all inputs, a row for each record.
    pub gradients: ndarray::Array2<f64>,
}

/// The case of these choices; `None` where they describe no program.
///
/// # Panics
/// Never: random programs hold no mistakes.
#[must_use]
pub fn smooth_case(bytes: &[u8]) -> Option<SmoothCase> {
    let mut choices = Choices::new(bytes);
    let leaves = Leaves::new(&mut choices, Menu::Smooth);
    let graph = Graph::new();
    let shared = leaves.shared(&graph);
    let value = record_value(&mut choices, &leaves, &graph, &shared)?;
    let program = program(&graph, &[value]);
    let mut plan = ExecutionPlan::<f64>::new(&program);
    let mut gradient = MaterialisedGradient::<f64>::new(value, &shared).expect("a number for each record");
    for (name, values) in &leaves.inputs {
        // A simplified program need not read them all.
        if plan.input(name).is_ok() {
            plan.set(name, values).expect("as many numbers as the input takes");
        }
        gradient.set(name, values).expect("as many numbers as the input takes");
    }
    let batch: Vec<u64> = (0..RECORDS as u64).collect();
    let values =
        plan.evaluate(&leaves.records, &batch, 0).expect("records that fit").into_raw_vec_and_offset().0;
    let gradients = gradient.rows(&leaves.records, &batch).expect("records that fit");
    let order = leaves.shared.iter().map(|(name, _)| name.clone()).collect();
    Some(SmoothCase { program, inputs: leaves.inputs, order, records: leaves.records, values, gradients })
}

/// The value of a record in a random program of smooth functions.
fn record_value<'g>(
    choices: &mut Choices<'_>,
    leaves: &'g Leaves,
    graph: &'g Graph,
    shared: &[Var<'g>],
) -> Option<Var<'g>> {
    let mut known = shared.to_vec();
    let of_records = leaves.of_records(graph);
    let (w, x) = (shared[3], of_records[0]);
    known.extend(of_records);
    let last = grow(choices, &mut known, Menu::Smooth, OPERATIONS)?;
    // The last term makes sure that records and a shared array meet.
    Some(last + x.dot(w))
}

/// What contraction says of per-record gradients, their norms and clipped sums, is what the matrix of
/// gradients says.
///
/// # Panics
/// If it is not.
pub fn contraction(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let leaves = Leaves::new(&mut choices, Menu::Smooth);
    let graph = Graph::new();
    let shared = leaves.shared(&graph);
    let Some(value) = record_value(&mut choices, &leaves, &graph, &shared) else {
        return;
    };
    assert_eq!(value.kind(), Kind::PerRecord);
    let mut fast = RecordGradient::<f64>::new(value, &shared).expect("a number for each record");
    let mut slow = MaterialisedGradient::<f64>::new(value, &shared).expect("a number for each record");
    for (name, values) in &leaves.inputs {
        fast.set(name, values).expect("as many numbers as the input takes");
        slow.set(name, values).expect("as many numbers as the input takes");
    }
    let batch: Vec<u64> = (0..RECORDS as u64).collect();
    let matrix = slow.rows(&leaves.records, &batch).expect("records that fit");
    let (mut norms, mut sum) = (vec![0.0; RECORDS], vec![0.0; fast.dimension()]);
    fast.squared_norms(&leaves.records, &batch, &mut norms).expect("records that fit");
    let weigh = |squared: &[f64], weights: &mut [f64]| {
        weights
            .iter_mut()
            .zip(squared)
            .for_each(|(weight, squared)| *weight = (1.0 / squared.sqrt()).min(1.0));
    };
    fast.weighted_sum(&leaves.records, &batch, weigh, &mut sum).expect("records that fit");
    let mut expected = vec![0.0; sum.len()];
    for (record, (row, &squared)) in (0..).zip(matrix.rows().into_iter().zip(&norms)) {
        if !squared.is_finite() {
            // A square may overflow where the norm does not. Then some step of the program did, and the
            // record is left out.
            let fault = fast.program().first_non_finite(&leaves.inputs, Some((&leaves.records, record)));
            assert!(fault.expect("all is given").is_some(), "squared norm {squared} of finite values");
            continue;
        }
        let truth = row.dot(&row);
        assert!((squared - truth).abs() <= 1e-9 * (1e-12 + truth), "squared norm {squared} against {truth}");
        let factor = (1.0 / truth.sqrt()).min(1.0);
        expected.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
    }
    for (sum, expected) in sum.iter().zip(&expected) {
        assert!((sum - expected).abs() <= 1e-8, "{sum} against {expected}");
    }
}

/// Widths of batches in which a record is computed: one, those around the lengths of vectors and of their
/// tails, and several tiles.
const WIDTHS: [usize; 12] = [1, 2, 3, 7, 8, 9, 15, 17, 33, 64, 71, 200];

/// A batch of this width in which records repeat, beginning with another one for each width.
fn repeated(width: usize) -> Vec<u64> {
    (0..width).map(|lane| ((lane * 3 + width) % RECORDS) as u64).collect()
}

/// What is computed for a record is the same to the last bit in whatever company: values of a program,
/// squared norms and factors of gradients, in batches that are wider than any vector.
///
/// # Panics
/// If it is not.
pub fn company(bytes: &[u8]) {
    for menu in [Menu::Everything, Menu::Smooth] {
        let mut choices = Choices::new(bytes);
        let leaves = Leaves::new(&mut choices, menu);
        let graph = Graph::new();
        let shared = leaves.shared(&graph);
        let mut known = shared.clone();
        let of_records = leaves.of_records(&graph);
        let (w, x) = (shared[3], of_records[0]);
        known.extend(of_records);
        let Some(last) = grow(&mut choices, &mut known, menu, OPERATIONS) else {
            return;
        };
        let mut outputs = vec![last];
        outputs.extend(known.iter().rev().take(4));
        let program = program(&graph, &outputs);
        let mut plan = ExecutionPlan::<f64>::new(&program);
        for (name, values) in &leaves.inputs {
            if plan.input(name).is_ok() {
                plan.set(name, values).expect("as many numbers as the input takes");
            }
        }
        for output in 0..outputs.len() {
            let mut evaluate =
                |batch: &[u64]| plan.evaluate(&leaves.records, batch, output).expect("records that fit");
            let alone: Vec<_> = (0..RECORDS as u64).map(|record| evaluate(&[record])).collect();
            for width in WIDTHS {
                let batch = repeated(width);
                for (row, &record) in evaluate(&batch).rows().into_iter().zip(&batch) {
                    let alike = row.iter().zip(&alone[record as usize]).all(|(&a, &b)| same(a, b));
                    assert!(alike, "output {output} of record {record} among {width}\n{program}");
                }
            }
        }
        let value = last + x.dot(w);
        if value.kind() != Kind::PerRecord || !value.shape().is_scalar() || menu != Menu::Smooth {
            continue;
        }
        let groups = vec![0; shared.len()];
        let mut fast = RecordGradient::<f64>::with_bounded_sums(value, &shared, &groups)
            .expect("a number for each record");
        for (name, values) in &leaves.inputs {
            fast.set(name, values).expect("as many numbers as the input takes");
        }
        let mut norms_and_rows = |batch: &[u64]| {
            let mut norms = vec![0.0; batch.len()];
            fast.squared_norms(&leaves.records, batch, &mut norms).expect("records that fit");
            (norms, fast.keep(&leaves.records, batch).expect("records that fit"))
        };
        let alone: Vec<_> = (0..RECORDS as u64).map(|record| norms_and_rows(&[record])).collect();
        for width in WIDTHS {
            let batch = repeated(width);
            let (norms, rows) = norms_and_rows(&batch);
            for ((row, &norm), &record) in rows.rows().into_iter().zip(&norms).zip(&batch) {
                let (other_norm, other_row) = &alone[record as usize];
                let alike = row.iter().zip(other_row).all(|(&a, &b)| same(a, b));
                assert!(
                    alike && same(norm, other_norm[0]),
                    "gradient of record {record} among {width}\n{program}"
                );
            }
        }
    }
}

/// Operations on whatever comes: refused with a message, or a program that runs.
///
/// # Panics
/// If a mistake panics, or has an empty message.
pub fn mistakes(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let leaves = Leaves::new(&mut choices, Menu::Everything);
    let graph = Graph::new();
    let mut known = leaves.shared(&graph);
    known.extend(leaves.of_records(&graph));
    while !choices.is_empty() && known.len() < OPERATIONS {
        let (a, b, c) = (choices.of(&known), choices.of(&known), choices.of(&known));
        let value = match choices.below(26) {
            0 => a.dot(b),
            1 => a.inner(b),
            2 => a.outer(b),
            3 => a.select(b, c),
            4 => a.reshape(b.shape()),
            5 => a.broadcast_to(b.shape()),
            6 => a.sum_to(b.shape()),
            7 => a.matmul(b),
            8 => a.einsum(choices.of(&["ij,jk->ik", "i,i->", "ab,b->a", "a,b", "ii,i->i"]), b),
            9 => a.cholesky(),
            10 => a.solve_lower(b),
            11 => a.inverse().diagonal(),
            12 => a.conv2d(b, [choices.below(3), 1], [0, choices.below(3)]),
            13 => a.max_pool2d([choices.below(3), 2], [1, 1], [0, 0]),
            14 => a.diagonal_matrix(),
            15 => a.permute(vec![choices.below(3), choices.below(3)]),
            16 => a.slice(choices.below(3), choices.below(4)..choices.below(4)),
            17 => a.pad(choices.below(3), choices.below(3), 1),
            18 => a.flip(choices.below(3)),
            19 => graph.concat(&[a, b, c], choices.below(3)),
            20 => graph.stack(&[a, b], choices.below(4)),
            21 => a.gather(b),
            22 => a.scatter_add(b, choices.below(4)),
            23 => a.max_axis(choices.below(3)),
            24 => a.log_softmax(choices.below(3)),
            _ => a + b,
        };
        if let Err(error) = graph.check() {
            assert!(!error.to_string().is_empty());
            return;
        }
        if value.shape().elements() > 4096 {
            return;
        }
        known.push(value);
    }
    let program = program(&graph, &known);
    interpreted(&program, &leaves.inputs, Some((&leaves.records, 0)));
    interpreted(&program.simplified(), &leaves.inputs, Some((&leaves.records, 0)));
}

/// A written program with damage is an error, or a program that can be listed, simplified and run; never a
/// panic.
///
/// # Panics
/// If reading panics, or lets a program through that cannot run.
#[cfg(feature = "serde")]
pub fn damage(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let damages: Vec<(usize, usize)> =
        (0..1 + choices.below(4)).map(|_| (choices.byte() * 256 + choices.byte(), choices.byte())).collect();
    let leaves = Leaves::new(&mut choices, Menu::Everything);
    let graph = Graph::new();
    let mut known = leaves.shared(&graph);
    grow(&mut choices, &mut known, Menu::Everything, 12);
    let text = program(&graph, &known).to_json().expect("every program can be written");
    let mut text = text.into_bytes();
    for (place, how) in damages {
        let place = place % text.len();
        match how {
            // Digits and letters are replaced by such, so that much of the damage is not found by the reader
            // of JSON.
            0..100 => text[place] = b"0123456789"[how % 10],
            100..160 => text[place] = b"abcdefghijklmnopqrstuvwxyz"[how % 26],
            160..200 => text.insert(place, b'9'),
            200..230 => drop(text.remove(place)),
            _ => text[place] = how as u8,
        }
    }
    let Ok(text) = String::from_utf8(text) else {
        return;
    };
    let Ok(program) = Program::from_json(&text) else {
        return;
    };
    assert_eq!(lines(&program), program.len() + 1);
    let small = program.instructions.iter().map(|step| step.shape.elements()).sum::<usize>() < 100_000;
    let shared = program.instructions.iter().all(|step| step.kind == Kind::Shared);
    if small && shared {
        let given: Inputs =
            program.inputs().map(|(name, shape)| (name.to_owned(), vec![0.5; shape.elements()])).collect();
        interpreted(&program, &given, None);
        interpreted(&program.simplified(), &given, None);
        let mut plan = ExecutionPlan::<f64>::new(&program);
        plan.run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn only_inner_products_of_wide_columns_and_what_they_make_are_reordered() {
        let column = |width: usize| {
            Column::from(Array2::from_shape_fn((3, width), |(i, j)| 1.0 / (1 + i * width + j) as f64))
        };
        let records =
            Records::from_columns([("wide", column(WIDE_COLUMN)), ("narrow", column(WIDE_COLUMN - 1))])
                .unwrap();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let weights = |name: &str, width: usize| graph.input(name, [width]).unwrap();
        let wide = record.get("wide").unwrap().inner(weights("w", WIDE_COLUMN));
        let narrow = record.get("narrow").unwrap().inner(weights("v", WIDE_COLUMN - 1));
        let program = program(&graph, &[wide, wide.exp() + narrow, narrow.exp()]);
        let found: Vec<bool> = program.outputs.iter().map(|&output| reordered(&program)[output]).collect();
        assert_eq!(found, [true, true, false]);
    }
}
