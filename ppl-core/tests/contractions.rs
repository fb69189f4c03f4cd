//! Every form of contraction against the matrix of gradients, taken use by use so that the rounding of each
//! is known.
//!
//! A model asks for its shared arrays by name, once for each use. Given one input for all uses of a name, it
//! is contracted; given an input of its own for each use, the materialised gradients are the contributions
//! `c_t` themselves, from which `v = Σ_t c_t` and `S = Σ_t ‖c_t‖²` follow in `f64`. Squared norms may then
//! differ by rounding in proportion to `S`.

use ndarray::{Array1, Array2};
use ppl_core::record_gradient::{Form, squared_row_norms};
use ppl_core::{
    Column, ExecutionPlan, Graph, MaterialisedGradient, Program, Record, RecordGradient, Records, Scalar, Var,
};
use proptest::prelude::*;
use std::cell::RefCell;

/// Numbers of `f32`, so that both precisions work on the same data.
fn number(seed: usize) -> f64 {
    f64::from(((seed as f64 * 12.9898 + 4.1).sin() * 43758.5453).fract() as f32)
}

const ROWS: usize = 3;
const WIDTH: usize = 4;

/// Names and shapes of the shared arrays that models may touch; the first three are the frontier.
const ARRAYS: [(&str, &[usize]); 5] =
    [("w", &[WIDTH]), ("m", &[ROWS, WIDTH]), ("s", &[]), ("e", &[ROWS, WIDTH]), ("f", &[WIDTH])];
const FRONTIER: usize = 3;
/// Kinds of use that [`term`] knows.
const KINDS: usize = 32;

fn records(count: usize, seed: usize) -> Records {
    let column = |width: usize, offset: usize| {
        Array2::from_shape_fn((count, width), |(i, j)| number(seed + offset + i * width + j))
    };
    let index = |k: usize| (k % ROWS) as f64;
    Records::from_columns([
        ("x", Column::from(column(WIDTH, 0))),
        ("z", Column::from(column(WIDTH, 1000))),
        ("u", Column::from(column(ROWS, 2000))),
        ("y", Column::from(Array1::from_shape_fn(count, |i| number(seed + 3000 + i)))),
        ("noise", Column::from(column(ROWS * WIDTH, 4000))),
        ("row", Column::from(Array1::from_shape_fn(count, |i| index(seed + i)))),
        ("rows", Column::from(Array2::from_shape_fn((count, ROWS), |(i, j)| index(seed + 7 * i + j * j)))),
    ])
    .unwrap()
}

/// An index that is the same for every record, with a row that appears twice.
fn graph_index(of: Var<'_>) -> Var<'_> {
    of.graph().array(&ndarray::arr1(&[2.0, 0.0, 2.0]).into_dyn())
}

/// One use of shared arrays in a record's value: a scalar.
fn term<'g>(kind: usize, array: &dyn Fn(&str) -> Var<'g>, record: Record<'g>) -> Var<'g> {
    let column = |name| record.get(name).unwrap();
    let (x, z, u, y) = (column("x"), column("z"), column("u"), column("y"));
    match kind % KINDS {
        // Products with a vector, plain, uniformly rescaled, and rescaled element by element.
        0 => x.dot(array("w")),
        1 => z.tanh().dot(array("w")),
        2 => x.dot(-2.5 * array("w")),
        3 => x.dot(array("w").tanh() * array("f") + array("f")),
        4 => z.dot(array("f") - array("w") * array("s").exp()),
        // Direct, shared and stretched.
        5 => (array("w") * x).tanh().sum(),
        6 => array("w").sum().tanh() * y,
        7 => array("m").matvec(x).inner(array("w").broadcast_to([ROWS, WIDTH]).matvec(z)),
        // Outer products, plain and rescaled, from both sides.
        8 => array("m").matvec(x).tanh().sum(),
        9 => array("m").matvec(z).inner(u),
        10 => u.vecmat(array("m")).inner(z),
        11 => (array("m") * array("e")).matvec(x).tanh().inner(u),
        12 => (array("m").exp() - array("e")).matvec(z).inner(u),
        // Location and scale: both from the same factors.
        13 => (array("m") + array("s").exp() * array("e")).matvec(x).tanh().sum(),
        14 => (array("e") + array("m").square()).matvec(x).sigmoid().sum(),
        // The matrix under another shape, added up, and as a direct contribution.
        15 => array("m").reshape([ROWS * WIDTH]).inner(column("noise").reshape([ROWS * WIDTH])),
        16 => (array("m") * column("noise").reshape([ROWS, WIDTH])).tanh().sum(),
        17 => (array("m").matvec(array("w"))).inner(u),
        // A draw for each record.
        18 => {
            let noise = column("noise").reshape([ROWS, WIDTH]);
            (array("m") + array("s").softplus() * noise).matvec(x).inner(u)
        }
        19 => ((y - array("s")) / array("s").exp()).square(),
        // One matrix at several positions: plain, from the other side and transposed, uniformly and unevenly
        // rescaled.
        20 => array("m").matmul(column("noise").reshape([WIDTH, ROWS])).tanh().sum(),
        21 => column("noise").reshape([ROWS, WIDTH]).einsum("tk,jk->tj", array("m")).tanh().sum(),
        22 => (-0.5 * array("m")).matmul(column("noise").reshape([WIDTH, ROWS])).sigmoid().sum(),
        23 => {
            (array("m") * array("e")).einsum("jk,tk->jt", column("noise").reshape([ROWS, WIDTH])).tanh().sum()
        }
        // Rows by index: one, several with repetitions, rescaled, with a shared index, and as a hierarchy has
        // them.
        24 => array("m").gather(column("row")).inner(x),
        25 => array("m").gather(column("rows")).tanh().sum(),
        26 => (array("m") * array("e")).gather(column("rows")).inner(column("noise").reshape([ROWS, WIDTH])),
        27 => array("m").exp().gather(graph_index(x)).inner(column("noise").reshape([ROWS, WIDTH])),
        28 => (array("s").exp() * array("m") + array("s")).gather(column("row")).tanh().inner(z),
        29 => array("w").gather(column("row")) * y,
        30 => array("m").gather(column("row")).tanh().outer(array("w").gather(column("rows"))).sum(),
        // A product for each row of the matrix: no product of matrices.
        _ => array("m").einsum("jk,jk->j", column("noise").reshape([ROWS, WIDTH])).tanh().inner(u),
    }
}

fn value<'g>(terms: &[usize], array: &dyn Fn(&str) -> Var<'g>, record: Record<'g>) -> Var<'g> {
    let y = record.get("y").unwrap();
    let sum = terms.iter().enumerate().fold(y, |sum, (k, &kind)| {
        // Another factor for each, so that no two uses have one cotangent.
        sum + (y * (0.7 * k as f64 + 0.4)).tanh() * term(kind, array, record)
    });
    sum.tanh() + sum
}

fn shape_of(name: &str) -> &'static [usize] {
    ARRAYS.iter().find(|(known, _)| *known == name).unwrap().1
}

fn values_of<T: Scalar>(name: &str, seed: usize) -> Vec<T> {
    let base = seed + 100 * name.bytes().map(usize::from).sum::<usize>();
    (0..shape_of(name).iter().product()).map(|k| T::of(0.8 * number(base + k))).collect()
}

/// The contributions of each record: for each use an array, and where it belongs in the gradient.
struct Uses {
    rows: Array2<f64>,
    /// Start in `rows`, start in the gradient, and length, of each use.
    places: Vec<(usize, usize, usize)>,
}

fn starts() -> Vec<usize> {
    let lengths = ARRAYS[..FRONTIER].iter().map(|(_, shape)| shape.iter().product::<usize>());
    lengths.scan(0, |start, length| Some(std::mem::replace(start, *start + length))).collect()
}

fn dimension() -> usize {
    ARRAYS[..FRONTIER].iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
}

fn uses<T: Scalar>(terms: &[usize], records: &Records, batch: &[u64], seed: usize) -> Uses {
    let graph = Graph::new();
    let found: RefCell<Vec<(String, Var<'_>)>> = RefCell::default();
    let apart = |name: &str| {
        let input = graph.input(format!("{name}#{}", found.borrow().len()), shape_of(name)).unwrap();
        found.borrow_mut().push((name.to_owned(), input));
        input
    };
    let value = value(terms, &apart, Record::new(&graph, records.schema()));
    let found = found.into_inner();
    let touched: Vec<(usize, &(String, Var<'_>))> = found
        .iter()
        .enumerate()
        .filter(|(_, (name, _))| ARRAYS[..FRONTIER].iter().any(|(known, _)| known == name))
        .collect();
    let frontier: Vec<Var<'_>> = touched.iter().map(|(_, (_, input))| *input).collect();
    let mut slow = MaterialisedGradient::<T>::new(value, &frontier).unwrap();
    for (k, (name, _)) in found.iter().enumerate() {
        slow.set(&format!("{name}#{k}"), &values_of::<T>(name, seed)).unwrap();
    }
    let rows = slow.rows(records, batch).unwrap().mapv(Scalar::as_f64);
    let mut from = 0;
    let places = touched.iter().map(|(_, (name, input))| {
        let length = input.shape().elements();
        let array = ARRAYS.iter().position(|(known, _)| known == name).unwrap();
        from += length;
        (from - length, starts()[array], length)
    });
    Uses { places: places.collect(), rows }
}

/// Compares everything a contraction gives with the uses added up.
fn check<T: Scalar>(terms: &[usize], groups: [usize; FRONTIER], count: usize, seed: usize) {
    let records = records(count, seed);
    let batch: Vec<u64> = (0..count as u64).rev().collect();
    let graph = Graph::new();
    let tied = |name: &str| graph.input(name, shape_of(name)).unwrap();
    let value = value(terms, &tied, Record::new(&graph, records.schema()));
    let frontier: Vec<Var<'_>> = ARRAYS[..FRONTIER].iter().map(|(name, _)| tied(name)).collect();
    let mut fast = RecordGradient::<T>::grouped(value, &frontier, &groups).unwrap();
    for (name, _) in ARRAYS {
        fast.set(name, &values_of::<T>(name, seed)).unwrap();
    }
    let uses = uses::<T>(terms, &records, &batch, seed);
    let unit = T::epsilon().as_f64();
    let k = uses.places.len().max(1) as f64;
    let explained = fast.explain().to_string();
    let group_of = |element: usize| groups[starts().iter().rposition(|&start| start <= element).unwrap()];

    let mut gradients = Array2::<f64>::zeros((count, dimension()));
    // Σ_t ‖c_t‖² of each record and group.
    let mut sizes = Array2::<f64>::zeros((count, fast.groups()));
    for (i, row) in uses.rows.rows().into_iter().enumerate() {
        for &(from, to, length) in &uses.places {
            for element in 0..length {
                gradients[[i, to + element]] += row[from + element];
                sizes[[i, group_of(to)]] += row[from + element].powi(2);
            }
        }
    }
    // Every element passes through fewer than `roundings` operations after its factors are known.
    let roundings = dimension() as f64 + k * k + 32.0;
    // Where elements are added up on the way to a smaller array, rounding is in proportion to what was added
    // up: at most twelve products of factors, the product of their sizes below four.
    let inner = roundings * unit * 48.0;
    let mut norms = vec![T::nan(); fast.groups() * count];
    fast.squared_norms(&records, &batch, &mut norms).unwrap();
    for i in 0..count {
        for group in 0..fast.groups() {
            let members = (0..dimension()).filter(|&element| group_of(element) == group);
            let truth: f64 = members.map(|element| gradients[[i, element]].powi(2)).sum();
            let (seen, size) = (norms[group * count + i].as_f64(), sizes[[i, group]]);
            let inner = inner * (dimension() as f64).sqrt();
            // Products at several positions may cancel each other within one use: twelve elements in each
            // factor.
            let positions = if terms.iter().any(|kind| (20..31).contains(kind)) { 144.0 } else { 0.0 };
            let bound =
                8.0 * k * roundings * unit * (size + positions) + inner * (2.0 * truth.sqrt() + inner);
            assert!(
                (seen - truth).abs() <= bound,
                "squared norm of record {i}, group {group}: {seen} against {truth}\n{explained}"
            );
        }
    }
    let kept = fast.keep(&records, &batch).unwrap();
    let mut plain = vec![T::nan(); dimension()];
    fast.sum(&records, &batch, &mut plain).unwrap();
    let weight = |group: usize, squared: f64| 0.3 + group as f64 + (0.5 / squared.sqrt()).min(1.0);
    let weigh = |norms: &[T], weights: &mut [T]| {
        let lanes = norms.len() / groups.iter().max().map_or(1, |last| last + 1);
        for (at, (weight_of, &norm)) in weights.iter_mut().zip(norms).enumerate() {
            *weight_of = T::of(weight(at / lanes, norm.as_f64()));
        }
    };
    let mut weighted = vec![T::nan(); dimension()];
    fast.weighted_sum_grouped(&records, &batch, weigh, &mut weighted).unwrap();
    let mut together = vec![T::nan(); dimension()];
    let alike = |norms: &[T], weights: &mut [T]| {
        for (weight_of, &norm) in weights.iter_mut().zip(norms) {
            *weight_of = T::of(weight(0, norm.as_f64()));
        }
    };
    fast.weighted_sum(&records, &batch, alike, &mut together).unwrap();
    for element in 0..dimension() {
        let group = group_of(element);
        let (mut expected, mut grouped, mut whole, mut bound) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..count {
            let truth = gradients[[i, element]];
            let size = (k * sizes[[i, group]]).sqrt();
            let got = kept[[i, element]].as_f64();
            assert!(
                (got - truth).abs() <= roundings * unit * size + inner,
                "kept: {got} against {truth}\n{explained}"
            );
            expected += truth;
            grouped += truth * weight(group, norms[group * count + i].as_f64());
            let total: f64 = (0..fast.groups()).map(|group| norms[group * count + i].as_f64()).sum();
            whole += truth * weight(0, total);
            bound += size + 48.0;
        }
        let bound = (roundings + count as f64) * unit * bound;
        for (what, got, truth, most) in [
            ("sum", plain[element].as_f64(), expected, 1.0),
            ("grouped sum", weighted[element].as_f64(), grouped, 1.3 + group as f64),
            ("weighted sum", together[element].as_f64(), whole, 1.3),
        ] {
            let bound = most * bound;
            assert!((got - truth).abs() <= bound, "{what} {element}: {got} against {truth}\n{explained}");
        }
    }
}

#[test]
fn every_kind_of_use_alone_and_in_pairs() {
    for one in 0..KINDS {
        check::<f64>(&[one], [0, 0, 0], 5, one);
        check::<f32>(&[one], [0, 1, 2], 5, one);
        for other in 0..one {
            check::<f64>(&[one, other], [0, 1, 0], 3, one + other);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn contraction_of_many_uses_is_the_sum_of_the_uses(
        terms in proptest::collection::vec(0..KINDS, 1..8),
        groups in proptest::sample::select(vec![[0, 0, 0], [0, 1, 2], [1, 0, 0], [0, 1, 1]]),
        count in 1..9_usize,
        seed in 0..10_000_usize,
    ) {
        check::<f64>(&terms, groups, count, seed);
        check::<f32>(&terms, groups, count, seed);
    }
}

fn explained<'g>(value: Var<'g>, frontier: &[Var<'g>]) -> RecordGradient<f64> {
    RecordGradient::new(value, frontier).unwrap()
}

/// One weight matrix for several vectors of a record: the inner products of many uses cost more than a small
/// matrix.
#[test]
fn the_cheaper_form_is_chosen_and_explained() {
    for (rows, width, count, form) in [
        (64, 48, 1, Form::Factored),
        (64, 48, 2, Form::Gram),
        (64, 48, 6, Form::Gram),
        (4, 3, 2, Form::Gram),
        (4, 3, 12, Form::Built),
        (2, 2, 6, Form::Built),
    ] {
        let column =
            |t| Column::from(Array2::from_shape_fn((2, width), |(i, j)| number(t * 200 + i * width + j)));
        let records = Records::from_columns((0..count).map(|t| (format!("x{t}"), column(t)))).unwrap();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let w = graph.input("w", [rows, width]).unwrap();
        let hidden = |t: usize| w.matvec(record.get(&format!("x{t}")).unwrap()).tanh().sum();
        let value = (1..count).fold(hidden(0), |sum, t| sum + hidden(t));
        let gradient = explained(value, &[w]);
        let array = &gradient.explain().arrays()[0];
        assert_eq!(array.form(), form, "{rows} x {width}, {count} uses:\n{}", gradient.explain());
        assert_eq!(array.uses().len(), count);
        let (_, other) = array.alternative().unwrap();
        assert!(array.costs().total() <= other.total());
        let listing = gradient.program().to_string();
        assert_eq!(listing.contains("outer"), form == Form::Built, "{listing}");
        let text = gradient.explain().to_string();
        assert!(text.contains(&format!("'w' [{rows}, {width}]")), "{text}");
        assert!(text.contains(&format!("outer [{rows}] x [{width}]")), "{text}");
        assert!(text.contains(&form.to_string()) && text.contains("multiply-adds"), "{text}");
    }
}

/// Positions: their inner products while they are few, the matrix itself when they are many.
#[test]
fn positions_are_left_apart_while_they_are_few() {
    for (positions, form) in [(1, Form::Factored), (2, Form::Gram), (4, Form::Gram), (100, Form::Built)] {
        let shape = [2, 24, positions];
        let x =
            ndarray::ArrayD::from_shape_fn(shape.to_vec(), |at| number(at[0] * 5000 + at[1] * 101 + at[2]));
        let records = Records::from_columns([("x", Column::from(x))]).unwrap();
        let graph = Graph::new();
        let w = graph.input("w", [32, 24]).unwrap();
        let x = Record::new(&graph, records.schema()).get("x").unwrap();
        let value = w.matmul(x).tanh().sum();
        let mut gradient = explained(value, &[w]);
        let mut slow = MaterialisedGradient::<f64>::new(value, &[w]).unwrap();
        let at: Vec<f64> = (0..32 * 24).map(|k| 0.2 * number(k + 77)).collect();
        gradient.set("w", &at).unwrap();
        slow.set("w", &at).unwrap();
        let array = &gradient.explain().arrays()[0];
        assert_eq!(array.form(), form, "{}", gradient.explain());
        if form != Form::Built {
            let listing = gradient.program().to_string();
            assert!(!listing.contains("record  [32, 24]"), "{listing}");
        }
        let mut norms = [0.0; 2];
        gradient.squared_norms(&records, &[0, 1], &mut norms).unwrap();
        for (row, seen) in slow.rows(&records, &[0, 1]).unwrap().rows().into_iter().zip(norms) {
            let truth = row.dot(&row);
            assert!((seen - truth).abs() <= 1e-11 * truth, "{seen} against {truth}");
        }
    }
}

/// A group's row in a large table, of a hierarchy without centre: nothing of the table's size for a record,
/// and a record whose index is bad contributes nothing and says so, even where its derivative does not depend
/// on the row.
#[test]
fn rows_of_a_table_by_index() {
    const GROUPS: usize = 1000;
    let group = vec![3.0, 999.0, 1000.0, -1.0, 0.5, f64::NAN, 3.0];
    let count = group.len();
    let x = Array2::from_shape_fn((count, 2), |(i, j)| number(2 * i + j));
    let records = Records::from_columns([("group", Column::from(group)), ("x", Column::from(x))]).unwrap();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let input = |name, shape: &[usize]| graph.input(name, shape).unwrap();
    let (centre, scale, offsets) =
        (input("centre", &[]), input("scale", &[]), input("offsets", &[GROUPS, 2]));
    let table = centre + scale.exp() * offsets;
    let value = table.gather(record.get("group").unwrap()).inner(record.get("x").unwrap());
    let mut gradient = explained(value, &[centre, scale, offsets]);
    let listing = gradient.program().to_string();
    assert!(!listing.lines().any(|line| line.contains("record") && line.contains("[1000")), "{listing}");
    assert_eq!(gradient.explain().arrays()[2].form(), Form::Factored);
    let at: Vec<f64> = (0..2 * GROUPS).map(number).collect();
    gradient.set("offsets", &at).unwrap();
    gradient.set("scale", &[-0.5]).unwrap();
    let batch: Vec<u64> = (0..count as u64).collect();
    let mut norms = vec![0.0; count];
    gradient.squared_norms(&records, &batch, &mut norms).unwrap();
    let finite: Vec<bool> = norms.iter().map(|norm| norm.is_finite()).collect();
    assert_eq!(finite, [true, true, false, false, false, false, true]);
    let ones = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
    let (mut all, mut good) = (vec![0.0; 2 + 2 * GROUPS], vec![0.0; 2 + 2 * GROUPS]);
    gradient.weighted_sum(&records, &batch, ones, &mut all).unwrap();
    gradient.weighted_sum(&records, &[0, 1, 6], ones, &mut good).unwrap();
    assert_eq!(all, good);
    let x = records.column(1).as_slice::<f64>().unwrap();
    for k in 0..2 {
        let (three, last) = (2 + 2 * 3 + k, 2 + 2 * 999 + k);
        assert!((all[three] - (-0.5_f64).exp() * (x[k] + x[12 + k])).abs() < 1e-15);
        assert!((all[last] - (-0.5_f64).exp() * x[2 + k]).abs() < 1e-15);
    }
    assert_eq!(all[2..].iter().filter(|sum| **sum != 0.0).count(), 4);
    gradient.sum(&records, &batch, &mut all).unwrap();
    assert!(all.iter().any(|sum| sum.is_nan()), "a bad index must show in a plain sum");
    // The table alone, so that nothing else could have told.
    let mut alone =
        explained(offsets.gather(record.get("group").unwrap()).inner(record.get("x").unwrap()), &[offsets]);
    alone.squared_norms(&records, &batch, &mut norms).unwrap();
    assert_eq!(norms.iter().map(|norm| norm.is_finite()).collect::<Vec<_>>(), finite);
}

/// The squared norm of a gradient by a table of which a record uses one row, whose index may be bad; of two rows, and of
/// other arrays, there is none.
#[test]
fn the_norm_of_one_row_needs_no_table() {
    let x = ndarray::array![[1.0, -2.0], [0.5, 3.0], [1.0, 1.0]];
    let (group, other) = (vec![999.0, 3.0, 1000.0], vec![999.0, 4.0, 5.0]);
    let columns = [("x", Column::from(x)), ("g", Column::from(group)), ("h", Column::from(other))];
    let records = Records::from_columns(columns).unwrap();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let [x, g, h] = ["x", "g", "h"].map(|name| record.get(name).unwrap());
    let (w, table) = (graph.input("w", [2]).unwrap(), graph.input("t", [1000, 2]).unwrap());
    let once = x.dot(w) + x.dot(table.gather(g));
    let found = squared_row_norms(once, &[w, table]).unwrap();
    assert!(found[0].is_none());
    let program = Program::new(&graph, &[found[1].unwrap()]).unwrap();
    let listing = program.to_string();
    assert!(!listing.lines().any(|line| line.contains("record") && line.contains("[1000")), "{listing}");
    let norms = ExecutionPlan::<f64>::new(&program).evaluate(&records, &[0, 1, 2], 0).unwrap();
    assert_eq!((norms[[0, 0]], norms[[1, 0]]), (5.0, 9.25));
    assert!(norms[[2, 0]].is_nan(), "{norms}");
    // The whole table, for comparison.
    let mut slow = MaterialisedGradient::<f64>::new(once, &[table]).unwrap();
    slow.set("w", &[0.0; 2]).unwrap();
    slow.set("t", &[0.0; 2000]).unwrap();
    let rows = slow.rows(&records, &[0, 1]).unwrap();
    assert_eq!(rows.rows().into_iter().map(|row| row.dot(&row)).collect::<Vec<_>>(), [5.0, 9.25]);
    // The same row twice is one: x + (2, 2). Rows that may differ are none.
    let twice = once + 2.0 * table.gather(g).sum();
    let found = squared_row_norms(twice, &[table]).unwrap()[0].unwrap();
    let program = Program::new(&graph, &[found]).unwrap();
    let norms = ExecutionPlan::<f64>::new(&program).evaluate(&records, &[0, 1], 0).unwrap();
    assert_eq!((norms[[0, 0]], norms[[1, 0]]), (9.0, 31.25));
    assert!(
        squared_row_norms(once + table.gather(h).sum(), &[w, table]).unwrap().iter().all(Option::is_none)
    );
    assert!(squared_row_norms(w.sum(), &[w]).unwrap()[0].is_none());
    assert!(squared_row_norms(x, &[w]).is_err());
}

/// Several rows of one large table, some of them twice: rows meet where their indices are equal, within a use
/// and across.
#[test]
fn rows_that_meet_are_added_before_the_norm() {
    let (count, groups) = (20, 200);
    let index = |offset: usize| Array2::from_shape_fn((count, 4), |(i, j)| ((i * j * j + offset) % 5) as f64);
    let column = |offset| Array2::from_shape_fn((count, 8), |(i, j)| number(offset + 8 * i + j));
    // Four rows a, b, −a, δ − b of one index nearly cancel; what the last adds to b is exact.
    let large = Array2::from_shape_fn((count, 8), |(i, j)| {
        let (k, sign) = (j % 4, if j < 4 { 1.0 } else { -1.0 });
        1e4 * sign * number(i * 4 + k) + if j < 6 { 0.0 } else { 2.0_f64.powi(-2 * i as i32) }
    });
    let same = Array2::from_shape_fn((count, 4), |(i, _)| (i + 10) as f64);
    let records = Records::from_columns([
        ("a", Column::from(index(0))),
        ("b", Column::from(index(3))),
        ("g", Column::from(column(0))),
        ("h", Column::from(column(5000))),
        ("same", Column::from(same)),
        ("large", Column::from(large)),
    ])
    .unwrap();
    let batch: Vec<u64> = (0..count as u64).collect();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let rows = |name: &str| record.get(name).unwrap().reshape([4, 2]);
    let table = graph.input("table", [groups, 2]).unwrap();
    let picked = |name: &str| table.gather(record.get(name).unwrap());
    let value = picked("a").inner(rows("g")) + picked("b").tanh().inner(rows("h"));
    let mut gradient = explained(value, &[table]);
    assert_eq!(gradient.explain().arrays()[0].form(), Form::Gram, "{}", gradient.explain());
    let mut slow = MaterialisedGradient::<f64>::new(value, &[table]).unwrap();
    let at: Vec<f64> = (0..2 * groups).map(number).collect();
    gradient.set("table", &at).unwrap();
    slow.set("table", &at).unwrap();
    let mut norms = vec![0.0; count];
    gradient.squared_norms(&records, &batch, &mut norms).unwrap();
    let matrix = slow.rows(&records, &batch).unwrap();
    for (row, seen) in matrix.rows().into_iter().zip(&norms) {
        let truth = row.dot(&row);
        // Two uses of four rows, each of two elements below 2.
        let size = 8.0 * 2.0 * 8.0 * 4.0;
        assert!((seen - truth).abs() <= 8.0 * 2.0 * 20.0 * f64::EPSILON * size, "{seen} against {truth}");
    }
    let mut sum = vec![0.0; 2 * groups];
    gradient.weighted_sum(&records, &batch, |_, weights| weights.fill(0.5), &mut sum).unwrap();
    for (sum, column) in sum.iter().zip(matrix.columns()) {
        assert!((sum - 0.5 * column.sum()).abs() < 1e-13);
    }

    let cancelling = picked("same").inner(record.get("large").unwrap().reshape([4, 2]));
    let mut gradient = explained(cancelling, &[table]);
    assert_eq!(gradient.explain().arrays()[0].form(), Form::Gram);
    gradient.squared_norms(&records, &batch, &mut norms).unwrap();
    let mut most_missed = 0.0_f64;
    for (values, seen) in records.column(5).as_slice::<f64>().unwrap().chunks_exact(8).zip(&norms) {
        let truth: f64 = (0..2).map(|k| (values[2 + k] + values[6 + k]).powi(2)).sum();
        let pairs = (0..4).flat_map(|t| (0..4).map(move |s| (t, s)));
        let naive: f64 =
            pairs.map(|(t, s)| inner(&values[2 * t..2 * t + 2], &values[2 * s..2 * s + 2])).sum();
        most_missed = most_missed.max(truth.sqrt() - naive.max(0.0).sqrt());
        assert!(*seen >= truth, "{seen} below {truth}");
    }
    assert!(most_missed > 1e-6, "the naive norm missed {most_missed} only: this test shows nothing");
}

/// Location and scale of a mean-field matrix: nothing is built, and one product serves both.
#[test]
fn location_and_scale_need_no_matrix_for_each_record() {
    let records = records(4, 0);
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let input = |name: &str| graph.input(name, [ROWS, WIDTH]).unwrap();
    let (location, scale, noise) = (input("location"), input("scale"), input("noise"));
    let w = location + scale.softplus() * noise;
    let value = w.matvec(record.get("x").unwrap()).tanh().inner(record.get("u").unwrap());
    let gradient = explained(value, &[location, scale]);
    let listing = gradient.program().to_string();
    assert!(!listing.contains("outer"), "{listing}");
    let matrices = listing.lines().filter(|line| line.contains("record  [3, 4]"));
    assert_eq!(matrices.count(), 0, "{listing}");
    assert!(gradient.explain().to_string().contains("rescaled by a shared array"));
}

/// The contributions of a scale through its exponential, its reciprocal and its logarithm are one
/// contribution.
#[test]
fn shared_work_is_pulled_back_to_the_site_before_the_norm() {
    let records = records(3, 1);
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let (log_scale, y) = (graph.input("log_scale", ()).unwrap(), record.get("y").unwrap());
    let scale = log_scale.exp();
    let value = -(y / scale).square() - scale.log() + y * (1.0 / scale);
    let mut gradient = explained(value, &[log_scale]);
    gradient.set("log_scale", &[0.4]).unwrap();
    assert_eq!(gradient.explain().arrays()[0].form(), Form::Direct);
    let mut norm = [0.0];
    gradient.squared_norms(&records, &[1], &mut norm).unwrap();
    let (y, scale) = (records.column(3).as_slice::<f64>().unwrap()[1], 0.4_f64.exp());
    let truth = 2.0 * (y / scale).powi(2) - 1.0 - y / scale;
    assert!((norm[0] - truth * truth).abs() < 1e-14);
}

/// Draws for each record, supplied batch by batch: the same as if they had been columns.
#[test]
fn draws_for_each_record() {
    let records = records(50, 9);
    let batch: Vec<u64> = (0..50).rev().collect();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let (m, s) = (graph.input("m", [ROWS, WIDTH]).unwrap(), graph.input("s", [ROWS, WIDTH]).unwrap());
    let column = record.get("noise").unwrap().reshape([ROWS, WIDTH]);
    let drawn = graph.record_input("draw", [ROWS, WIDTH]).unwrap();
    let with = |noise: Var<'_>| {
        let noise = if noise.is(drawn) { drawn } else { column };
        (m + s.exp() * noise).matvec(record.get("x").unwrap()).tanh().sum()
    };
    let mut of_columns = explained(with(column), &[m, s]);
    let mut of_draws = explained(with(drawn), &[m, s]);
    for gradient in [&mut of_columns, &mut of_draws] {
        gradient.set("m", &[0.2; 12]).unwrap();
        gradient.set("s", &[-0.3; 12]).unwrap();
    }
    assert!(of_draws.sum(&records, &batch, &mut [0.0; 24]).is_err(), "nothing has been drawn");
    let draws = of_draws.record_input_mut("draw", 50).unwrap();
    for (draw, &index) in draws.chunks_exact_mut(12).zip(&batch) {
        draw.copy_from_slice(&records.column(4).as_slice::<f64>().unwrap()[index as usize * 12..][..12]);
    }
    assert!(of_draws.record_input_mut("nothing", 50).is_none());
    let clip = |norms: &[f64], weights: &mut [f64]| {
        weights.iter_mut().zip(norms).for_each(|(weight, norm)| *weight = (0.5 / norm.sqrt()).min(1.0));
    };
    let (mut a, mut b) = ([0.0; 24], [1.0; 24]);
    of_columns.weighted_sum(&records, &batch, clip, &mut a).unwrap();
    of_draws.weighted_sum(&records, &batch, clip, &mut b).unwrap();
    assert_eq!(a, b);
    of_columns.sum(&records, &batch, &mut a).unwrap();
    of_draws.sum(&records, &batch, &mut b).unwrap();
    assert_eq!(a, b);
    assert!(a.iter().any(|x| *x != 0.0));
}

#[test]
fn groups_are_checked() {
    let records = records(2, 0);
    let graph = Graph::new();
    let w = graph.input("w", WIDTH).unwrap();
    let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w);
    let told =
        |groups: &[usize]| RecordGradient::<f64>::grouped(value, &[w], groups).unwrap_err().to_string();
    assert!(told(&[]).contains("groups for 0"));
    assert!(told(&[1]).contains("no array is in group 0"));
    assert!(told(&[usize::MAX]).contains("no array is in group 0"));
    let mut gradient = explained(value, &[w]);
    assert!(gradient.squared_norms(&records, &[0, 1], &mut [0.0]).is_err());
    assert!(gradient.sum(&records, &[0], &mut [0.0]).is_err());
    assert!(gradient.sum(&records, &[2], &mut [0.0; WIDTH]).is_err());
}

/// `Σ_k a_k b_k`
fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Two uses that nearly cancel: `u ⊗ x − u ⊗ z` with `z = x + δ` is `−u ⊗ δ`, of which squares and inner
/// products of numbers of size 10³ know nothing. The norm is never below the truth, and a clipped record
/// never above the clip norm.
#[test]
fn norms_of_uses_that_cancel_are_not_too_small() {
    const SIDE: usize = 8;
    let count = 300;
    let x = Array2::from_shape_fn((count, SIDE), |(i, j)| 1000.0 * number(i * SIDE + j));
    // Differences of close numbers are exact, so the truth is known.
    let z = Array2::from_shape_fn((count, SIDE), |(i, j)| {
        x[[i, j]] + number(9000 + i * SIDE + j) * 10.0_f64.powi(-((i % 10) as i32))
    });
    let u = Array2::from_shape_fn((count, SIDE), |(i, j)| 1000.0 * number(50_000 + i * SIDE + j));
    let stack = |one: &Array2<f64>, other: &Array2<f64>| {
        ndarray::stack(ndarray::Axis(2), &[one.view(), other.view()]).unwrap().into_dyn()
    };
    let records = Records::from_columns([
        ("x", Column::from(x.clone())),
        ("z", Column::from(z.clone())),
        ("u", Column::from(u.clone())),
        ("v", Column::from(-&u)),
        ("xz", Column::from(stack(&x, &z))),
        ("uv", Column::from(stack(&u, &-&u))),
    ])
    .unwrap();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let column = |name| record.get(name).unwrap();
    let w = graph.input("w", [SIDE, SIDE]).unwrap();
    let two_uses = w.matvec(column("x")).inner(column("u")) + w.matvec(column("z")).inner(column("v"));
    let two_positions = w.matmul(column("xz")).inner(column("uv"));
    let mut most_missed = 0.0_f64;
    for value in [two_uses, two_positions] {
        let mut gradient = explained(value, &[w]);
        assert_eq!(gradient.explain().arrays()[0].form(), Form::Gram);
        let batch: Vec<u64> = (0..count as u64).collect();
        let mut norms = vec![0.0; count];
        gradient.squared_norms(&records, &batch, &mut norms).unwrap();
        for (i, &seen) in norms.iter().enumerate() {
            let (x, z, u) = (x.row(i).to_vec(), z.row(i).to_vec(), u.row(i).to_vec());
            let difference: Vec<f64> = z.iter().zip(&x).map(|(z, x)| z - x).collect();
            let truth = (inner(&u, &u) * inner(&difference, &difference)).sqrt();
            // What squares and inner products give on their own.
            let (ones, others) = (inner(&u, &u) * inner(&x, &x), inner(&u, &u) * inner(&z, &z));
            let naive = (ones + others - 2.0 * inner(&u, &u) * inner(&x, &z)).max(0.0).sqrt();
            most_missed = most_missed.max(truth - naive);
            assert!(seen.sqrt() >= truth * (1.0 - 1e-14), "record {i}: {} below {truth}", seen.sqrt());
            // Not uselessly large either: fewer than 32 roundings of 2⁻⁵³, doubled for each of two uses and
            // for safety.
            let most = truth * truth + 8.0 * 32.0 * 2.0_f64.powi(-53) * 2.0 * (ones + others);
            assert!(seen <= most * (1.0 + 1e-14), "record {i}: {seen} above {most}");
            for norm in [1e-3, 1.0] {
                let clip =
                    |norms: &[f64], weights: &mut [f64]| weights[0] = (norm / norms[0].sqrt()).min(1.0);
                let mut sum = [0.0; SIDE * SIDE];
                gradient.weighted_sum(&records, &[i as u64], clip, &mut sum).unwrap();
                let length = inner(&sum, &sum).sqrt();
                assert!(length <= norm * (1.0 + 1e-12), "record {i} contributes {length} at C = {norm}");
            }
        }
    }
    assert!(most_missed > 1e-6, "the naive norm missed {most_missed} only: this test shows nothing");
}

/// The same where a rescaling lies between: squares that underflow in one factor meet a huge one in another.
#[test]
fn squares_that_underflow_before_a_rescaling_are_not_lost() {
    let records = Records::from_columns([
        ("x", Column::from(ndarray::array![[1.0, 1e-170], [1.0, 1.0]])),
        ("u", Column::from(ndarray::array![[1.0, 1.0], [1.0, 1.0]])),
    ])
    .unwrap();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let (w, e) = (graph.input("w", [2, 2]).unwrap(), graph.input("e", [2, 2]).unwrap());
    let value = (w * e).matvec(record.get("x").unwrap()).inner(record.get("u").unwrap());
    let mut gradient = explained(value, &[w]);
    // The gradient of the first record is (1e-170 · 1e150)-ish in one element: nothing beside the others, and
    // that is all that may be said of it; but with e = 1e153 there, its square may not be taken for zero.
    gradient.set("e", &[1e-20, 1e153, 1e-20, 1e153]).unwrap();
    let mut norm = [0.0; 2];
    gradient.squared_norms(&records, &[0, 1], &mut norm).unwrap();
    let truth = 2.0 * (1e-17_f64.powi(2) + 1e-20_f64.powi(2));
    assert!(norm[0] >= truth, "{} below {truth}", norm[0]);
    assert!((norm[1] / 2e306 - 1.0).abs() < 1e-13);
    // A rescaling that is not finite, or overflows when squared, silences everybody.
    for broken in [f64::NAN, f64::INFINITY, 1e200] {
        gradient.set("e", &[1.0, broken, 1.0, 1.0]).unwrap();
        for batch in [&[][..], &[0, 1]] {
            let mut sum = [f64::NAN; 4];
            gradient.weighted_sum(&records, batch, |_, weights| weights.fill(1.0), &mut sum).unwrap();
            assert_eq!(sum, [0.0; 4], "with {broken} and {} records", batch.len());
        }
    }
}

/// A record that is broken in one group is left out of all, and its norms say so.
#[test]
fn broken_records_are_left_out_of_every_group_and_form() {
    let mut column = Array2::from_shape_fn((4, 8), |(i, j)| number(i * 8 + j));
    column[[1, 3]] = f64::NAN;
    column[[2, 0]] = 1e200;
    let other = Array2::from_shape_fn((4, 8), |(i, j)| number(100 + i * 8 + j));
    let records = Records::from_columns([("x", column), ("u", other)]).unwrap();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let (x, u) = (record.get("x").unwrap(), record.get("u").unwrap());
    let input = |name| graph.input(name, [8, 8]).unwrap();
    let (w, v, s) = (input("w"), input("v"), input("s"));
    let value = w.matvec(x).inner(u) + w.matvec(u).inner(x) + (v * s.exp()).matvec(u).inner(u);
    let mut gradient = RecordGradient::<f64>::grouped(value, &[w, v, s], &[0, 1, 1]).unwrap();
    assert_eq!(gradient.explain().arrays()[0].form(), Form::Gram);
    for name in ["w", "v", "s"] {
        gradient.set(name, &[0.1; 64]).unwrap();
    }
    let ones = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
    let mut norms = [0.0; 8];
    gradient.squared_norms(&records, &[0, 1, 2, 3], &mut norms).unwrap();
    for i in 0..4 {
        let finite = norms[i].is_finite() && norms[4 + i].is_finite();
        assert_eq!(finite, i == 0 || i == 3, "{norms:?}");
    }
    for grouped in [false, true] {
        let mut sums = [[f64::NAN; 192]; 2];
        for (batch, sum) in [&[0, 1, 2, 3][..], &[0, 3]].iter().zip(&mut sums) {
            if grouped {
                gradient.weighted_sum_grouped(&records, batch, ones, sum).unwrap();
            } else {
                gradient.weighted_sum(&records, batch, ones, sum).unwrap();
            }
            assert!(sum.iter().all(|x| x.is_finite()));
        }
        assert_eq!(sums[0], sums[1]);
    }
}
