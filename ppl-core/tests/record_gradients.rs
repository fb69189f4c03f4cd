//! Contracted per-record gradients against the materialised matrix, and what happens at the edges.

use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, MaterialisedGradient, Record, RecordGradient, Records, Var};

/// A reproducible number in (−1, 1); what it is does not matter.
fn number(k: usize) -> f64 {
    ((k as f64 * 12.9898 + 4.1).sin() * 43758.5453).fract()
}

fn records(count: usize, width: usize) -> Records {
    let x = Array2::from_shape_fn((count, width), |(i, j)| number(i * width + j));
    let y = Array1::from_shape_fn(count, |i| f64::from(number(i + 7777) > 0.0));
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

type Build = for<'g> fn(&'g Graph, Record<'g>) -> (Var<'g>, Vec<Var<'g>>);

fn log_likelihood<'g>(logit: Var<'g>, y: Var<'g>) -> Var<'g> {
    y * logit - logit.softplus()
}

/// Models that use shared arrays in every way the contraction knows, and in some that it must fall back on.
fn models() -> Vec<(&'static str, usize, Build)> {
    vec![
        ("logistic regression", 5, |graph, record| {
            let w = graph.input("w", [5]).unwrap();
            (log_likelihood(record.get("x").unwrap().dot(w), record.get("y").unwrap()), vec![w])
        }),
        ("two-layer network", 4, |graph, record| {
            let w1 = graph.input("w1", [3, 4]).unwrap();
            let b1 = graph.input("b1", [3]).unwrap();
            let w2 = graph.input("w2", [3]).unwrap();
            let b2 = graph.input("b2", ()).unwrap();
            let hidden = (w1.dot(record.get("x").unwrap()) + b1).tanh();
            (log_likelihood(w2.dot(hidden) + b2, record.get("y").unwrap()), vec![w1, b1, w2, b2])
        }),
        ("an array used twice", 3, |graph, record| {
            let w = graph.input("w", [3]).unwrap();
            let x = record.get("x").unwrap();
            (log_likelihood(x.dot(w) + x.tanh().dot(w) + w.square().sum(), record.get("y").unwrap()), vec![w])
        }),
        ("shared work behind the frontier", 3, |graph, record| {
            let w = graph.input("w", [3]).unwrap();
            let s = graph.input("s", ()).unwrap();
            let scaled = w * s.exp();
            let x = record.get("x").unwrap();
            let residual = (record.get("y").unwrap() - x.dot(scaled)) / s.exp();
            (-0.5 * residual.square() - s, vec![w, s])
        }),
        ("row vector times matrix, and an untouched array", 4, |graph, record| {
            let w = graph.input("w", [4, 2]).unwrap();
            let unused = graph.input("unused", [2]).unwrap();
            let hidden = record.get("x").unwrap().dot(w).sigmoid();
            (log_likelihood(hidden.sum() - 1.0, record.get("y").unwrap()), vec![w, unused])
        }),
        ("a location with elementwise stretching", 3, |graph, record| {
            let centre = graph.input("centre", [3]).unwrap();
            let scale = graph.input("scale", ()).unwrap();
            let z = (record.get("x").unwrap() - centre) / scale.exp();
            ((-0.5 * z.square() - scale).sum(), vec![centre, scale])
        }),
        ("a gradient that is the same for every record", 2, |graph, record| {
            let w = graph.input("w", [2]).unwrap();
            (record.get("y").unwrap() + w.sum(), vec![w])
        }),
    ]
}

fn clip(norm: f64) -> impl Fn(&[f64], &mut [f64]) + Sync {
    move |squared_norms, weights| {
        for (weight, squared_norm) in weights.iter_mut().zip(squared_norms) {
            *weight = (norm / squared_norm.sqrt()).min(1.0);
        }
    }
}

#[test]
fn contracted_norms_and_sums_are_those_of_the_matrix() {
    for (name, width, build) in models() {
        let records = records(40, width);
        let graph = Graph::new();
        let (value, frontier) = build(&graph, Record::new(&graph, records.schema()));
        let mut fast = RecordGradient::<f64>::new(value, &frontier).unwrap();
        let mut slow = MaterialisedGradient::<f64>::new(value, &frontier).unwrap();
        for (k, array) in frontier.iter().enumerate() {
            let values: Vec<f64> = (0..array.shape().elements()).map(|j| number(100 * k + j)).collect();
            let input = format!("{array:?}").split('\'').nth(1).unwrap().to_owned();
            fast.set(&input, &values).unwrap();
            slow.set(&input, &values).unwrap();
        }
        // Any order, with repetitions, and not a round number of anything.
        let batch: Vec<u64> = (0..37).map(|i| (i * 17) % 40).collect();
        let matrix = slow.rows(&records, &batch).unwrap();
        let norms: Vec<f64> = matrix.rows().into_iter().map(|row| row.dot(&row)).collect();
        for norm in [f64::INFINITY, 0.5, 0.01] {
            let seen = std::sync::Mutex::new(Vec::new());
            let mut sum = vec![f64::NAN; fast.dimension()];
            let clip = clip(norm);
            let watch = |squared_norms: &[f64], weights: &mut [f64]| {
                seen.lock().unwrap().extend_from_slice(squared_norms);
                clip(squared_norms, weights);
            };
            fast.weighted_sum(&records, &batch, watch, &mut sum).unwrap();
            let seen = seen.into_inner().unwrap();
            for (seen, norm) in seen.iter().zip(&norms) {
                assert!((seen - norm).abs() <= 1e-13 * norm, "{name}: squared norm {seen} against {norm}");
            }
            assert_eq!(seen.len(), batch.len(), "{name}");
            let mut expected = Array1::<f64>::zeros(fast.dimension());
            for (row, squared_norm) in matrix.rows().into_iter().zip(&norms) {
                expected.scaled_add((norm / squared_norm.sqrt()).min(1.0), &row);
            }
            let scale = matrix.iter().fold(0.0_f64, |largest, x| largest.max(x.abs())) * batch.len() as f64;
            for (sum, expected) in sum.iter().zip(&expected) {
                assert!(
                    (sum - expected).abs() <= 1e-14 * scale,
                    "{name} at C = {norm}: {sum} against {expected}"
                );
            }
        }
    }
}

#[test]
fn contraction_stores_no_matrix() {
    let records = records(4, 4);
    let graph = Graph::new();
    let (_, _, build) = models()[1];
    let (value, frontier) = build(&graph, Record::new(&graph, records.schema()));
    let gradient = RecordGradient::<f64>::new(value, &frontier).unwrap();
    let listing = gradient.program().to_string();
    assert!(!listing.contains("outer"), "the outer product was multiplied out:\n{listing}");
}

fn regression(graph: &Graph, records: &Records) -> RecordGradient<f64> {
    let w = graph.input("w", [2]).unwrap();
    let record = Record::new(graph, records.schema());
    let value = log_likelihood(record.get("x").unwrap().dot(w), record.get("y").unwrap());
    let mut gradient = RecordGradient::new(value, &[w]).unwrap();
    gradient.set("w", &[0.3, -0.2]).unwrap();
    gradient
}

#[test]
fn one_record_and_no_record() {
    let records = records(3, 2);
    let graph = Graph::new();
    let mut gradient = regression(&graph, &records);
    let mut sum = [f64::NAN; 2];
    gradient.weighted_sum(&records, &[], clip(1.0), &mut sum).unwrap();
    assert_eq!(sum, [0.0, 0.0]);
    gradient.weighted_sum(&records, &[1], clip(f64::INFINITY), &mut sum).unwrap();
    let [x, y] = [0, 1].map(|k| records.column(k).as_slice::<f64>().unwrap());
    let (x, y) = (&x[2..4], y[1]);
    let p = 1.0 / (1.0 + (-(0.3 * x[0] - 0.2 * x[1])).exp());
    for k in 0..2 {
        assert!((sum[k] - (y - p) * x[k]).abs() < 1e-15);
    }
}

#[test]
fn a_record_that_is_not_finite_contributes_nothing() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200] {
        let x = ndarray::array![[0.5, 1.0], [bad, 1.0], [-1.0, 0.25]];
        let records =
            Records::from_columns([("x", Column::from(x)), ("y", Column::from(vec![1.0, 0.0, 1.0]))])
                .unwrap();
        let graph = Graph::new();
        let mut gradient = regression(&graph, &records);
        let (mut all, mut good) = ([0.0; 2], [0.0; 2]);
        gradient.weighted_sum(&records, &[0, 1, 2], clip(1.0), &mut all).unwrap();
        gradient.weighted_sum(&records, &[0, 2], clip(1.0), &mut good).unwrap();
        assert_eq!(all, good, "with {bad}");
        assert!(all.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn large_batches_run_in_tiles_and_give_the_same_sum() {
    let records = records(5000, 2);
    let graph = Graph::new();
    let mut gradient = regression(&graph, &records);
    let all: Vec<u64> = (0..5000).collect();
    let (mut whole, mut parts, mut part) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    gradient.weighted_sum(&records, &all, clip(0.3), &mut whole).unwrap();
    for batch in all.chunks(333) {
        gradient.weighted_sum(&records, batch, clip(0.3), &mut part).unwrap();
        parts.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
    }
    for k in 0..2 {
        // 5000 terms of size at most 0.3 in another order: partial sums stay below 1500, each rounding below
        // 1500·2⁻⁵³.
        assert!((whole[k] - parts[k]).abs() <= 5000.0 * 1500.0 * f64::EPSILON);
    }
}

#[test]
fn single_precision_agrees() {
    let records = records(64, 5);
    let graph = Graph::new();
    let (value, frontier) = models()[0].2(&graph, Record::new(&graph, records.schema()));
    let mut single = RecordGradient::<f32>::new(value, &frontier).unwrap();
    let mut double = RecordGradient::<f64>::new(value, &frontier).unwrap();
    let batch: Vec<u64> = (0..64).collect();
    let (mut a, mut b) = ([0.0_f32; 5], [0.0_f64; 5]);
    single.weighted_sum(&records, &batch, |_, weights| weights.fill(1.0), &mut a).unwrap();
    double.weighted_sum(&records, &batch, |_, weights| weights.fill(1.0), &mut b).unwrap();
    for (a, b) in a.iter().zip(b) {
        // 64 terms of size at most 1.
        assert!((f64::from(*a) - b).abs() < 64.0 * 64.0 * f64::from(f32::EPSILON));
    }
}

#[test]
fn mistakes_are_errors() {
    let few = records(3, 2);
    let graph = Graph::new();
    let mut gradient = regression(&graph, &few);
    let mut sum = [0.0; 2];
    let told = gradient.weighted_sum(&few, &[3], clip(1.0), &mut sum).unwrap_err().to_string();
    assert_eq!(told, "record index 3 is out of range: there are 3 records");
    let told = gradient.weighted_sum(&few, &[0], clip(1.0), &mut [0.0; 3]).unwrap_err().to_string();
    assert!(told.contains("2 numbers, got 3"));
    let told = gradient.weighted_sum(&records(3, 4), &[0], clip(1.0), &mut sum).unwrap_err().to_string();
    assert!(told.contains("'x' [4]") && told.contains("'x' [2]"), "{told}");
    let x = Record::new(&graph, few.schema()).get("x").unwrap();
    let told = RecordGradient::<f64>::new(x.sum(), &[x]).unwrap_err().to_string();
    assert!(told.contains("would mix records"), "{told}");
    let w = graph.input("w", [2]).unwrap();
    assert!(RecordGradient::<f64>::new(w.sum(), &[w]).is_err());
}

/// Sums over some and over no records where a shared factor overflows: both must be zeros, or the difference
/// would tell whether somebody was there.
#[test]
fn a_shared_value_that_is_not_finite_silences_everybody() {
    let records = records(4, 2);
    let graph = Graph::new();
    let (s, w) = (graph.input("s", [2]).unwrap(), graph.input("w", [2]).unwrap());
    let x = Record::new(&graph, records.schema()).get("x").unwrap();
    let z = graph.input("z", [2]).unwrap();
    // Infinite as a direct contribution, as the left factor of a product, and as the right one.
    for value in [x.dot(s) - w.sum().exp(), x.dot(s) - w.dot(z).exp(), x.dot(s) + w.dot((800.0 * z).exp())] {
        let mut gradient = RecordGradient::<f64>::new(value, &[s, w]).unwrap();
        gradient.set("s", &[1.0, 1.0]).unwrap();
        gradient.set("w", &[800.0, 800.0]).unwrap();
        gradient.set("z", &[1.0, 1.0]).unwrap();
        for batch in [&[][..], &[0, 1, 2]] {
            let mut sum = [f64::NAN; 4];
            gradient.weighted_sum(&records, batch, clip(1.0), &mut sum).unwrap();
            assert_eq!(sum, [0.0; 4]);
        }
    }
}

/// A factor whose squares underflow has a norm that cannot be trusted; what it multiplies may be huge.
#[test]
fn factors_that_underflow_are_left_out() {
    let rows = ndarray::array![[1.3e154, 0.0], [1.0, 2.0]];
    let records =
        Records::from_columns([("x", Column::from(rows)), ("y", Column::from(vec![8.1e-162, 1.0]))]).unwrap();
    let graph = Graph::new();
    let w = graph.input("w", [2]).unwrap();
    let record = Record::new(&graph, records.schema());
    let value = record.get("x").unwrap().dot(w) * record.get("y").unwrap();
    let mut gradient = RecordGradient::<f64>::new(value, &[w]).unwrap();
    let mut sum = [0.0; 2];
    gradient.weighted_sum(&records, &[0], clip(1e-8), &mut sum).unwrap();
    assert_eq!(sum, [0.0; 2]);
    gradient.weighted_sum(&records, &[0, 1], clip(f64::INFINITY), &mut sum).unwrap();
    assert_eq!(sum, [1.0, 2.0]);
}

#[test]
fn wide_columns_that_are_read_record_by_record_give_the_same() {
    const WIDTH: usize = 20;
    let number = |k: usize| ((k as f64 * 12.9898 + 0.3).sin() * 43_758.545_3).fract();
    let mut x = Array2::from_shape_fn((3_000, WIDTH), |(i, j)| number(i * WIDTH + j));
    x[[7, 3]] = f64::NAN;
    x[[14, 0]] = f64::INFINITY;
    let y = Array1::from_shape_fn(3_000, |i| number(i + 5));
    let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
    let graph = Graph::new();
    let (w, v) = (graph.input("w", WIDTH).unwrap(), graph.input("v", WIDTH).unwrap());
    let record = Record::new(&graph, records.schema());
    let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
    // Once as the right factor of a product, twice in inner products, once with itself.
    let value = (x.dot(w) - y).tanh() + x.dot(v).sigmoid() * x.inner(x).log();
    let mut fast = RecordGradient::<f64>::new(value, &[w, v]).unwrap();
    assert!(fast.explain().to_string().contains("record by record"), "{}", fast.explain());
    let mut slow = MaterialisedGradient::<f64>::new(value, &[w, v]).unwrap();
    for (stream, name) in ["w", "v"].iter().enumerate() {
        let values: Vec<f64> = (0..WIDTH).map(|k| number(1_000 * stream + k)).collect();
        fast.set(name, &values).unwrap();
        slow.set(name, &values).unwrap();
    }
    let batch: Vec<u64> = (0..2_500).map(|i| (i * 7) % 3_000).collect();
    let matrix = slow.rows(&records, &batch).unwrap();
    let mut norms = vec![0.0; batch.len()];
    fast.squared_norms(&records, &batch, &mut norms).unwrap();
    let kept = fast.keep(&records, &batch).unwrap();
    let mut expected = Array1::<f64>::zeros(2 * WIDTH);
    for ((row, norm), (kept, index)) in
        matrix.rows().into_iter().zip(&norms).zip(kept.rows().into_iter().zip(&batch))
    {
        let squared = row.dot(&row);
        assert_eq!(squared.is_finite(), norm.is_finite(), "record {index}");
        if squared.is_finite() {
            // The two add the inner products up in different orders. With all |x|, |w|, |v| < 1 each of x·w
            // and x·v is off by at most Δ = 2·20·20 u, and log(x·x) by 40 u. So the factors a = 1 − tanh²(x·w
            // − y) and b = σ'(x·v) log(x·x) are off by 2aΔ + 12u (a tanh is off by 3u, twice) and bΔ + 12u,
            // the gradients (a x, b x) by that at most, and their squared norm (a² + b²)(x·x), in which
            // further sums take 80 u, by (4Δ + 80 u)‖·‖² + 2·(12 + 12) u ‖·‖‖x‖, where ‖x‖² < 20.
            let unit = f64::EPSILON / 2.0;
            let off = 800.0 * unit;
            let bound = (4.0 * off + 80.0 * unit) * squared + 48.0 * unit * (20.0 * squared).sqrt();
            assert!((squared - norm).abs() <= bound, "record {index}: {norm} against {squared}");
            let near = |a: f64, b: f64| (a - b).abs() <= 2.0 * off * a.abs().max(1.0) + 24.0 * unit;
            assert!(row.iter().zip(&kept).all(|(&a, &b)| near(a, b)), "record {index}");
            expected.scaled_add((0.5 / squared.sqrt()).min(1.0), &row);
        }
    }
    assert_eq!(norms.iter().filter(|norm| !norm.is_finite()).count(), 2);
    let mut sum = vec![0.0; 2 * WIDTH];
    fast.weighted_sum(&records, &batch, clip(0.5), &mut sum).unwrap();
    for (sum, expected) in sum.iter().zip(&expected) {
        assert!((sum - expected).abs() <= 1e-11, "{sum} against {expected}");
    }
}

/// A wide column is read where it lies if it holds the plan's numbers, and copied if it does not: the sums
/// are the same bit for bit, with broken records left out of the clipped one and not of the plain one.
#[test]
fn a_wide_column_of_another_number_type_gives_the_same_bits() {
    const WIDTH: usize = 37;
    let single = Array2::from_shape_fn((300, WIDTH), |(i, j)| number(i * WIDTH + j) as f32);
    let y = Array1::from_shape_fn(300, number);
    let table = |x: Column| Records::from_columns([("x", x), ("y", Column::from(y.clone()))]).unwrap();
    let batch: Vec<u64> = (0..299).map(|i| (i * 7) % 300).collect();
    let sums = |records: &Records, batch: &[u64]| {
        let graph = Graph::new();
        let w = graph.input("w", WIDTH).unwrap();
        let record = Record::new(&graph, records.schema());
        let value = (record.get("x").unwrap().dot(w) - record.get("y").unwrap()).tanh();
        let mut gradient = RecordGradient::<f64>::new(value, &[w]).unwrap();
        assert!(gradient.explain().to_string().contains("record by record"));
        gradient.set("w", &(0..WIDTH).map(number).collect::<Vec<f64>>()).unwrap();
        let (mut norms, mut clipped, mut plain) =
            (vec![0.0; batch.len()], vec![0.0; WIDTH], vec![0.0; WIDTH]);
        gradient.squared_norms(records, batch, &mut norms).unwrap();
        gradient.weighted_sum(records, batch, clip(0.1), &mut clipped).unwrap();
        gradient.sum(records, batch, &mut plain).unwrap();
        [norms, clipped, plain].map(|values| values.into_iter().map(f64::to_bits).collect::<Vec<u64>>())
    };
    for broken in [None, Some(f32::NAN), Some(f32::INFINITY)] {
        let mut single = single.clone();
        // In the middle of eight records that are added up together, and in the last few.
        broken.iter().for_each(|&value| {
            [(7 * 19, 3), (7 * 298 % 300, 36)].iter().for_each(|&(i, j)| single[[i, j]] = value)
        });
        let (copied, in_place) =
            (table(Column::from(single.clone())), table(Column::from(single.mapv(f64::from))));
        let [norms, clipped, plain] = sums(&in_place, &batch);
        assert_eq!(sums(&copied, &batch), [norms.clone(), clipped.clone(), plain.clone()]);
        let finite = |bits: &[u64]| bits.iter().all(|&bits| f64::from_bits(bits).is_finite());
        assert!(finite(&clipped), "{broken:?}");
        assert_eq!(finite(&plain), broken.is_none(), "{broken:?}");
        assert_eq!(finite(&norms), broken.is_none(), "{broken:?}");
        // A norm does not depend on what else is in the batch.
        for (&index, norm) in batch.iter().zip(&norms).step_by(41) {
            assert_eq!(sums(&in_place, &[index])[0], [*norm]);
        }
    }
}

/// Models whose sums are formed in other ways: by matrix products, over positions, into rows of a table, with
/// cancellation.
fn larger_models() -> Vec<(&'static str, usize, Build)> {
    let mut models = models();
    models.extend::<Vec<(&'static str, usize, Build)>>(vec![
        ("matrix products", 24, |graph, record| {
            let w1 = graph.input("w1", [32, 24]).unwrap();
            let w2 = graph.input("w2", [40, 32]).unwrap();
            let hidden = w2.dot(w1.dot(record.get("x").unwrap()).tanh()).tanh();
            (log_likelihood(hidden.sum(), record.get("y").unwrap()), vec![w1, w2])
        }),
        ("a matrix at twelve positions", 24, |graph, record| {
            let w = graph.input("w", [40, 2]).unwrap();
            let at = record.get("x").unwrap().reshape([2, 12]);
            (log_likelihood(w.matmul(at).tanh().sum(), record.get("y").unwrap()), vec![w])
        }),
        ("two uses that nearly cancel", 24, |graph, record| {
            let w = graph.input("w", [24, 24]).unwrap();
            let x = record.get("x").unwrap();
            let value = w.dot(x).sum() - 0.999_9 * w.dot(x + 1e-4 * x.square()).sum()
                + 1e-3 * x.dot(w).square().sum();
            (value, vec![w])
        }),
        ("rows of a table", 4, |graph, record| {
            let table = graph.input("table", [3, 5]).unwrap();
            let x = record.get("x").unwrap();
            let rows = table.gather((x.square().slice(0, 0..3) * 2.9).floor());
            (log_likelihood((rows.square() * x.sum()).sum(), record.get("y").unwrap()), vec![table])
        }),
    ]);
    models
}

/// `a + b` and what its rounding loses.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// What is computed for a record is the same to the last bit whatever is beside it, so a sum is near to one
/// of terms that each depend on one record; and it is as near as is claimed.
#[test]
fn sums_are_within_the_bound_on_their_rounding_error() {
    for (name, width, build) in larger_models() {
        // More than 64 spans of 1,024; where thousands of elements make that slow, some.
        let most = if name == "matrix products" { 5_000 } else { 70_000 };
        let records = records(most, width);
        let graph = Graph::new();
        let (value, frontier) = build(&graph, Record::new(&graph, records.schema()));
        let groups = vec![0; frontier.len()];
        let mut gradient = RecordGradient::<f64>::with_bounded_sums(value, &frontier, &groups).unwrap();
        for (k, array) in frontier.iter().enumerate() {
            let inputs = ["w", "w1", "w2", "b1", "b2", "s", "centre", "scale", "table", "unused"];
            let values: Vec<f64> = (0..array.shape().elements()).map(|i| number(100 * k + i) - 0.1).collect();
            for input in inputs {
                let _ = gradient.set(input, &values);
            }
        }
        let rho = gradient.summation_error();
        // For the largest spans and 128 times cancellation, and for 16 records without.
        assert!((1e-15..1e-10).contains(&rho), "{name}: {rho}");
        for count in [1, 7, 129, most] {
            let batch: Vec<u64> = (0..count as u64).rev().collect();
            let mut norms = vec![0.0; count];
            gradient.squared_norms(&records, &batch, &mut norms).unwrap();
            let stride = (count / 50).max(1);
            for at in (0..count).step_by(stride) {
                let mut alone = [0.0];
                gradient.squared_norms(&records, &batch[at..=at], &mut alone).unwrap();
                assert_eq!(alone[0].to_bits(), norms[at].to_bits(), "{name}: record {at} of {count}");
            }
            let mut sum = vec![0.0; gradient.dimension()];
            gradient.weighted_sum(&records, &batch, clip(0.5), &mut sum).unwrap();
            let mut exact = [vec![(0.0, 0.0); gradient.dimension()]];
            gradient
                .each_weighted(&records, &batch, clip(0.5), &mut exact, |exact, each| {
                    for ((high, low), &x) in exact.iter_mut().zip(each) {
                        let (sum, lost) = two_sum(*high, x);
                        (*high, *low) = (sum, *low + lost);
                    }
                })
                .unwrap();
            let error =
                sum.iter().zip(&exact[0]).map(|(sum, (high, low))| ((sum - high) - low).powi(2)).sum::<f64>();
            // A record's own products round in both.
            let bound = 2.0 * rho * count as f64 * 0.5;
            assert!(error.sqrt() <= bound, "{name}, {count} records: {} beyond {bound}", error.sqrt());
        }
    }
}

/// Many spans: what each addition loses is added up beside the sum, so the error does not grow with their
/// number.
#[test]
fn sums_of_many_spans_do_not_drift() {
    let count = 1_000_000;
    // The first 1,024 make the sum so large that each further span of as many, whose own sum is exact, loses
    // its last digits.
    let number = |i: usize| if i < 1024 { 2_f64.powi(33) } else { 1.0 + 3.0 * 2_f64.powi(-22) };
    let x = Array2::from_shape_fn((count, 1), |(i, _)| number(i));
    let records = Records::from_columns([("x", Column::from(x))]).unwrap();
    let graph = Graph::new();
    let w = graph.input("w", [1]).unwrap();
    let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w);
    let mut gradient = RecordGradient::<f64>::new(value, &[w]).unwrap();
    let batch: Vec<u64> = (0..count as u64).collect();
    let mut sum = [0.0];
    let whole = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
    gradient.weighted_sum(&records, &batch, whole, &mut sum).unwrap();
    // The nearest double.
    let exact = 2_f64.powi(43) + ((count - 1024) as f64 + (3 * (count - 1024)) as f64 * 2_f64.powi(-22));
    assert_eq!(sum[0], exact);
    // What plain addition of the spans gives.
    let of_span = |span: &[u64]| span.iter().map(|&i| number(i as usize)).sum::<f64>();
    let drifted = batch.chunks(1024).fold(0.0, |sum, span| sum + of_span(span));
    assert!((drifted - exact).abs() > 0.5, "{drifted} {exact}");
}

/// A record's weighted gradient is the same to the last bit in tiles of every width: kernels of matrix
/// products and vector loops have other code for what is left over, and it must not compute anything else.
#[test]
fn gradients_are_the_same_bits_in_tiles_of_every_width() {
    let mut models = larger_models();
    models.extend::<Vec<(&'static str, usize, Build)>>(vec![
        ("products deeper than a block of the library", 700, |graph, record| {
            let w1 = graph.input("w1", [37, 700]).unwrap();
            let w2 = graph.input("w2", [37, 37]).unwrap();
            let hidden = w2.dot(w1.dot(record.get("x").unwrap()).tanh()).tanh();
            (log_likelihood(hidden.sum(), record.get("y").unwrap()), vec![w1, w2])
        }),
        ("decompositions, reductions and contractions of a record's own", 24, |graph, record| {
            let w = graph.input("w", [24]).unwrap();
            let s = graph.input("s", [4, 4]).unwrap();
            let x = record.get("x").unwrap() * w;
            let a = x.slice(0, 0..16).reshape([4, 4]);
            let positive =
                a.matmul(a.transpose()) + s.matmul(s.transpose()) + graph.constant(4.0) * s.square();
            let solved = positive.inverse().sum();
            let at = (x * 400_000.0).sin() + x.norm_axis(0) + x.log_sum_exp_axis(0) + x.softmax(0).cumsum(0);
            (log_likelihood(solved + at.sum(), record.get("y").unwrap()), vec![w, s])
        }),
    ]);
    for (name, width, build) in models {
        let records = records(211, width);
        let graph = Graph::new();
        let (value, frontier) = build(&graph, Record::new(&graph, records.schema()));
        let groups = vec![0; frontier.len()];
        let mut gradient = RecordGradient::<f64>::with_bounded_sums(value, &frontier, &groups).unwrap();
        for (k, array) in frontier.iter().enumerate() {
            let inputs = ["w", "w1", "w2", "b1", "b2", "s", "centre", "scale", "table", "unused"];
            let values: Vec<f64> = (0..array.shape().elements()).map(|i| number(100 * k + i) - 0.1).collect();
            for input in inputs {
                let _ = gradient.set(input, &values);
            }
        }
        let mut of = |batch: &[u64]| -> Vec<Vec<u64>> {
            let mut norms = vec![0.0; batch.len()];
            gradient.squared_norms(&records, batch, &mut norms).unwrap();
            let rows = gradient.keep(&records, batch).unwrap();
            let bits = |(row, norm): (ndarray::ArrayView1<'_, f64>, &f64)| {
                row.iter().chain([norm]).map(|x| x.to_bits()).collect()
            };
            rows.rows().into_iter().zip(&norms).map(bits).collect()
        };
        let alone: Vec<Vec<u64>> = (0..211).flat_map(|record| of(&[record])).collect();
        for count in (1..=20).chain([31, 32, 33, 63, 64, 65, 127, 129, 200]) {
            let batch: Vec<u64> = (0..count as u64).map(|k| (k * 7 + count as u64) % 211).collect();
            for (lane, (found, &record)) in of(&batch).iter().zip(&batch).enumerate() {
                assert!(*found == alone[record as usize], "{name}: record {record}, lane {lane} of {count}");
            }
        }
    }
}
