//! Sums over records do not depend on the number of threads, and running a plan allocates nothing.

#![allow(unsafe_code)]

use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, Record, RecordGradient, Records, Scalar, Var};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    // Per thread, because the test harness allocates on its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Threads that are going down have nothing to count with.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Threads that are going down have nothing to count with.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RECORDS: usize = 3_000;
const WIDTH: usize = 40;
const HIDDEN: usize = 24;

fn number(k: usize) -> f64 {
    ((k as f64 * 78.233 + 1.7).sin() * 43_758.545_3).fract()
}

fn records() -> Records {
    let x = Array2::from_shape_fn((RECORDS, WIDTH), |(i, j)| number(i * WIDTH + j));
    let y = Array1::from_shape_fn(RECORDS, |i| f64::from(u8::from(number(i + 7) > 0.0)));
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

/// A network with a matrix product, a table of rows, noise for each record and a scale between a weight and
/// its use.
fn network<'g>(graph: &'g Graph, records: &'g Records) -> (Var<'g>, Vec<Var<'g>>) {
    let record = Record::new(graph, records.schema());
    let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
    let noise = graph.record_input("noise", HIDDEN).unwrap();
    let [w, v] = [("w", vec![HIDDEN, WIDTH]), ("v", vec![HIDDEN])]
        .map(|(name, shape)| graph.input(name, shape).unwrap());
    let (scale, table) = (graph.input("scale", ()).unwrap(), graph.input("table", [2]).unwrap());
    let hidden = (w.dot(x) + 0.1 * noise).tanh();
    // A loop along the columns, too.
    let (kept, ()) =
        graph.scan(scale, x.slice(0, ..5), |c, x| Ok(((0.5 * c + scale * x).tanh(), ()))).unwrap();
    let logit = hidden.dot(v * scale.exp()) + table.gather(y) + kept;
    (y * logit - logit.softplus(), vec![w, v, scale, table])
}

fn fill<T: Scalar>(gradient: &mut RecordGradient<T>, batch: usize) {
    for (stream, (name, elements)) in
        [("w", HIDDEN * WIDTH), ("v", HIDDEN), ("scale", 1), ("table", 2)].iter().enumerate()
    {
        let values: Vec<T> = (0..*elements).map(|k| T::of(0.3 * number(1000 * stream + k))).collect();
        gradient.set(name, &values).unwrap();
    }
    let noise = gradient.record_input_mut("noise", batch).unwrap();
    noise.iter_mut().enumerate().for_each(|(k, slot)| *slot = T::of(number(k + 31)));
}

fn clip<T: Scalar>(squared_norms: &[T], weights: &mut [T]) {
    for (weight, &squared) in weights.iter_mut().zip(squared_norms) {
        *weight = (T::of(0.5) / squared.sqrt()).min(T::one());
    }
}

/// Norms, clipped sum and plain sum.
fn everything<T: Scalar>(records: &Records, batch: &[u64]) -> Vec<T> {
    let graph = Graph::new();
    let (value, frontier) = network(&graph, records);
    let mut gradient = RecordGradient::<T>::new(value, &frontier).unwrap();
    fill(&mut gradient, batch.len());
    let mut all = vec![T::zero(); batch.len() + 2 * gradient.dimension()];
    let (norms, sums) = all.split_at_mut(batch.len());
    let (clipped, plain) = sums.split_at_mut(gradient.dimension());
    gradient.squared_norms(records, batch, norms).unwrap();
    gradient.weighted_sum(records, batch, clip, clipped).unwrap();
    gradient.sum(records, batch, plain).unwrap();
    assert!(all.iter().all(|x| x.is_finite()) && all.iter().any(|x| *x != T::zero()));
    all
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let records = records();
    // Large enough that several threads are asked for, and no round number of tiles.
    let batch: Vec<u64> = (0..2_777).map(|i| (i * 1_234_577) % RECORDS as u64).collect();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (everything::<f64>(&records, &batch), everything::<f32>(&records, &batch)))
    };
    let (double, single) = on(1);
    for threads in [2, 3, 5] {
        let (other_double, other_single) = on(threads);
        assert!(
            double.iter().zip(&other_double).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{threads} threads"
        );
        assert!(
            single.iter().zip(&other_single).all(|(a, b)| a.to_bits() == b.to_bits()),
            "{threads} threads"
        );
    }
}

/// Allocations of this thread while a closure runs.
fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn a_sum_allocates_nothing_whatever_the_batch() {
    let records = records();
    let graph = Graph::new();
    let record = Record::new(&graph, records.schema());
    let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
    let w = graph.input("w", WIDTH).unwrap();
    let (table, noise) = (graph.input("table", [2]).unwrap(), graph.record_input("noise", ()).unwrap());
    let rows = x.reshape([WIDTH / 4, 4]);
    let (kept, _) = graph
        .scan(w.slice(0, ..4), rows, |c, x| {
            let (inner, ()) = graph.scan_steps(2, c, |c| Ok(((c + x).tanh(), ())))?;
            Ok((inner, c.sum()))
        })
        .unwrap();
    let logit = x.dot(w) + table.gather(y) * noise + kept.sum();
    let mut gradient = RecordGradient::<f64>::new(y * logit - logit.softplus(), &[w, table]).unwrap();
    let batches: Vec<Vec<u64>> = [0, 1, 99, 100, 101, 2_500]
        .iter()
        .map(|&size| (0..size).map(|i| (i * 7) % RECORDS as u64).collect())
        .collect();
    let mut sum = vec![0.0; gradient.dimension()];
    let mut run = |batch: &[u64]| {
        gradient.record_input_mut("noise", batch.len()).unwrap().fill(0.5);
        gradient.weighted_sum(&records, batch, clip, &mut sum).unwrap();
        gradient.sum(&records, batch, &mut sum).unwrap();
    };
    // The largest batch first: buffers of per-record inputs grow to it, and the plan without norms is made.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        run(&batches[5]);
        assert_eq!(allocations(|| batches.iter().for_each(|batch| run(batch))), 0);
        assert!(allocations(|| drop(vec![0_u8; 100])) > 0, "the counter counts");
    });
}
