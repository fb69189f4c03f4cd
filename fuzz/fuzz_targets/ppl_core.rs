//! Arbitrary array programs over shared and per-record leaves: refused with an error or run, never a panic; what the
//! contraction gives is what the materialised gradients give.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ndarray::Array2;
use ppl_core::{
    Binary, Column, Graph, Kind, MaterialisedGradient, Plan, Program, Record, RecordGradient, Records, Unary,
    Var,
};

const RECORDS: usize = 5;

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first as usize
            }
            None => 0,
        }
    }
}

/// A number in (−2, 2) that depends on its position.
fn number(k: usize) -> f64 {
    2.0 * ((k as f64 * 12.9898 + 0.3).sin() * 43758.5453).fract()
}

fn operation<'g>(bytes: &mut Bytes<'_>, values: &[Var<'g>]) -> Var<'g> {
    let pick = |bytes: &mut Bytes<'_>| values[bytes.next() % values.len()];
    let kind = bytes.next();
    let (a, b) = (pick(bytes), pick(bytes));
    match kind % 12 {
        0 | 1 => a.map(Unary::ALL[bytes.next() % Unary::ALL.len()]),
        2 | 3 => a.zip(b, Binary::ALL[bytes.next() % Binary::ALL.len()]),
        4 => a.dot(b),
        5 => a.inner(b),
        6 => a.outer(b),
        7 => a.sum(),
        8 => a.greater(0.0).select(b, pick(bytes)),
        9 => a.reshape(b.shape()),
        10 => a.broadcast_to(b.shape()),
        _ => a.sum_to(b.shape()),
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let width = bytes.next() % 4;
    let x = Array2::from_shape_fn((RECORDS, width), |(i, j)| number(i * 7 + j));
    let y: Vec<f64> = (0..RECORDS).map(|i| number(100 + i)).collect();
    let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])
        .expect("columns of one length");
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let shared = [
        graph.input("v", width).expect("a fresh input"),
        graph.input("m", [2, width]).expect("a fresh input"),
        graph.input("s", ()).expect("a fresh input"),
    ];
    let mut values = vec![record.get("x").expect("a column"), record.get("y").expect("a column")];
    values.extend(shared);
    while !bytes.0.is_empty() && values.len() < 40 {
        let value = operation(&mut bytes, &values);
        if graph.check().is_err() {
            // Refused, with a message that can be printed.
            assert!(!graph.check().unwrap_err().to_string().is_empty());
            return;
        }
        values.push(value);
    }
    let last = values[values.len() - 1];
    if last.shape().elements() > 2_000 {
        return;
    }
    let value = last.sum() + values[0].dot(shared[0]);
    assert_eq!(value.kind(), Kind::PerRecord);
    let program = Program::new(&graph, &[value]).expect("checked above");
    assert_eq!(program.to_string().lines().count(), program.len() + 1);
    let mut plan = Plan::<f64>::new(&program);
    let mut fast = RecordGradient::<f64>::new(value, &shared).expect("a scalar for each record");
    let mut slow = MaterialisedGradient::<f64>::new(value, &shared).expect("a scalar for each record");
    for (k, (name, array)) in ["v", "m", "s"].iter().zip(shared).enumerate() {
        let values: Vec<f64> = (0..array.shape().elements()).map(|j| number(1000 * k + j)).collect();
        fast.set(name, &values).expect("the right length");
        slow.set(name, &values).expect("the right length");
        if plan.input(name).is_ok() {
            plan.set(name, &values).expect("the right length");
        }
    }
    let batch: Vec<u64> = (0..RECORDS as u64).collect();
    let together = plan.evaluate(&records, &batch, 0).expect("records that fit");
    for &index in &batch {
        let alone = plan.evaluate(&records, &[index], 0).expect("records that fit");
        assert_eq!(alone[[0, 0]].to_bits(), together[[index as usize, 0]].to_bits());
    }
    let matrix = slow.rows(&records, &batch).expect("records that fit");
    let mut norms = Vec::new();
    let mut sum = vec![0.0; fast.dimension()];
    let weigh = |squared: &[f64], weights: &mut [f64]| {
        norms.extend_from_slice(squared);
        weights
            .iter_mut()
            .zip(squared)
            .for_each(|(weight, squared)| *weight = (1.0 / squared.sqrt()).min(1.0));
    };
    fast.weighted_sum(&records, &batch, weigh, &mut sum).expect("records that fit");
    assert!(sum.iter().all(|x| x.is_finite()), "a sum that is not finite: {sum:?}");
    let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(length <= RECORDS as f64 * (1.0 + 1e-9), "five records of norm 1 added up to {length}");
    for (row, squared) in matrix.rows().into_iter().zip(&norms) {
        // Norms of a size at which neither way overflows or underflows must agree.
        let expected: f64 = row.iter().map(|x| x * x).sum();
        if expected.is_finite() && expected < 1e100 && expected > 1e-100 && squared.is_finite() {
            assert!(
                (squared - expected).abs() <= 1e-6 * expected,
                "squared norm {squared} against {expected}"
            );
        }
    }
});
