//! Statistics of topic models without the zeros of counts, against the programs of the same model.

use super::conjugate::{K, assert_close, lda, numbers};
use ndarray::Array2;
use ppl_core::conjugate::{Settings, Statistics};
use ppl_core::records::SparseRows;
use ppl_core::{Ctx, Distribution, ExecutionPlan, Graph, Program, RecordGradient, Records, Result};
use ppl_distributions::{Dirichlet, Gamma, Poisson, Words};

fn kept(sweeps: usize) -> Settings {
    let mut settings = Settings::default();
    settings.kept = Some(sweeps);
    settings
}

/// Documents, empty ones among them, for more than two spans of the sums without zeros.
fn sparse_documents() -> Records {
    let counts = Array2::from_shape_fn((1100, 30), |(i, v)| match (i * 7 + v * v) % 9 {
        0 if i % 10 != 3 => ((i + v) % 5) as u8,
        _ => 0,
    });
    Records::from_columns([("counts", counts)]).unwrap()
}

/// Sums, sums of single gradients, and what own factors are next, with and without zeros.
#[test]
fn passing_over_words_that_a_document_does_not_have_changes_rounding_alone() {
    let records = sparse_documents();
    let all: Vec<u64> = (0..records.len() as u64).rev().collect();
    let graph = Graph::new();
    let found = Statistics::new(&lda, &graph, records.schema(), kept(3)).unwrap();
    let scales = vec![2.5; found.blocks().len()];
    let words = found.words(&scales).expect("a model of words and topics");
    let (value, inputs) = found.scaled(&scales, None).unwrap();
    // One logarithm below the least.
    let mut log_beta: Vec<f64> = numbers(K * 30, 3).iter().map(|u| -3.0 + 5.0 * u).collect();
    log_beta[7] = -900.0;
    let states: Vec<f64> =
        numbers(records.len() * K, 4).iter().map(|u| 20.0 * (u + 0.5).powi(3) - 0.7).collect();
    let clip = |squared: &[f64], weights: &mut [f64]| {
        weights.iter_mut().zip(squared).for_each(|(w, n)| *w = (1.5 / n.sqrt()).min(1.0));
    };
    let run = |mut program: RecordGradient<f64>| {
        let scaled: Vec<f64> = log_beta.iter().map(|x| 2.5 * x).collect();
        program.set(&words.input, &scaled).unwrap();
        program.record_input_mut(&words.kept, all.len()).unwrap().copy_from_slice(&states);
        let mut sums = [vec![0.0; K * 30], vec![0.0; K * 30]];
        program.sum(&records, &all, &mut sums[0]).unwrap();
        program.weighted_sum(&records, &all, clip, &mut sums[1]).unwrap();
        let mut single = vec![vec![0.0; K * 30]; 3];
        let add = |sums: &mut Vec<f64>, one: &[f64]| sums.iter_mut().zip(one).for_each(|(sum, x)| *sum += x);
        program.each_weighted(&records, &all, clip, &mut single, add).unwrap();
        let single = (0..K * 30).map(|at| single.iter().map(|sums| sums[at]).sum()).collect();
        assert!(program.summation_error() < 1e-12);
        let [plain, weighted] = sums;
        [plain, weighted, single]
    };
    let program = || RecordGradient::with_bounded_sums(value, &inputs, &[0]).unwrap();
    let (with, without) = (run(program()), run(program().without_zeros(words.clone()).unwrap()));
    for (a, b) in with.iter().zip(&without) {
        assert_close(b, a, "sum");
        assert!(a.iter().sum::<f64>() > 100.0);
    }
    let (weighted, single) = (&without[1], &without[2]);
    assert_close(single, weighted, "single gradients");

    // The own factors' next natural parameters.
    let next: Vec<_> = found.kept().iter().map(|kept| kept.next).collect();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &next).unwrap());
    plan.set(&words.topics, &log_beta).unwrap();
    let input = plan.record_input(&words.kept).unwrap();
    plan.record_input_mut(input, records.len()).copy_from_slice(&states);
    let forwards: Vec<u64> = (0..records.len() as u64).collect();
    let with = plan.evaluate_all(&records, &forwards).unwrap();
    let mut without = Array2::from_shape_vec((records.len(), K), states).unwrap();
    words.advance(&SparseRows::of(&records, 0).unwrap(), &log_beta, &mut without).unwrap();
    assert_close(without.as_slice().unwrap(), with.as_slice().unwrap(), "own factors");
    assert!(words.advance(&SparseRows::of(&records, 0).unwrap(), &log_beta[1..], &mut without).is_err());
}

/// A document whose gradient is not finite adds nothing, and a count that is a NaN nothing to its own, with and without
/// zeros.
#[test]
fn a_document_that_is_not_finite_is_left_out() {
    let counts = ndarray::arr2(&[[2.0, 0.0, 1.0], [f64::NAN, 1.0, 0.0], [f64::INFINITY, 0.0, 0.0]]);
    let records = Records::from_columns([("counts", counts)]).unwrap();
    let graph = Graph::new();
    let found = Statistics::new(&lda, &graph, records.schema(), kept(3)).unwrap();
    let words = found.words(&[1.0]).unwrap();
    let (value, inputs) = found.scaled(&[1.0], None).unwrap();
    let sum = |mut program: RecordGradient<f64>| {
        program.set(&words.input, &[-1.0; 3 * K]).unwrap();
        program.record_input_mut(&words.kept, 3).unwrap().fill(0.5);
        let mut sum = vec![0.0; 3 * K];
        let whole = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
        program.weighted_sum(&records, &[0, 1, 2], whole, &mut sum).unwrap();
        sum
    };
    let program = || RecordGradient::with_bounded_sums(value, &inputs, &[0]).unwrap();
    let (with, without) = (sum(program()), sum(program().without_zeros(words.clone()).unwrap()));
    assert_close(&without, &with, "sum");
    assert!((without.iter().sum::<f64>() - 4.0).abs() < 1e-12);
}

#[test]
fn only_words_of_topics_that_a_record_mixes_are_taken_for_such() {
    let records = sparse_documents();
    let words = |model: &dyn ppl_core::Model, settings: Settings| {
        let graph = Graph::new();
        let found = Statistics::new(model, &graph, records.schema(), settings).unwrap();
        let scales = vec![1.0; found.blocks().len()];
        found.words(&scales)
    };
    let found = words(&lda, kept(3)).unwrap();
    assert_eq!((found.words, found.prior, found.sweeps), (30, vec![0.3 - 1.0; K], 3));
    // Factors that begin anew.
    assert!(words(&lda, Settings::default()).is_none());
    type AnyModel = fn(&mut Ctx<'_>) -> Result<()>;
    let others: [AnyModel; 3] = [
        // A prior that is learnt.
        |ctx| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, 30).iid(K))?;
            let rate = ctx.sample("rate", Gamma::new(2.0, 3.0))?;
            ctx.each_record(|ctx, document| {
                let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, K))?;
                ctx.observe("n", Poisson::new(rate), document.get("counts")?.element(0, 0))?;
                ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
            })
        },
        // Words that count twice.
        |ctx| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, 30).iid(K))?;
            ctx.each_record(|ctx, document| {
                let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, K))?;
                let counts = document.get("counts")?;
                ctx.factor("words", 2.0 * Words::mixed(theta, beta).log_prob(counts))
            })
        },
        // Topics in another order for the second half of the words.
        |ctx| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, 30).iid(K))?;
            let other = ctx.sample("other", Dirichlet::symmetric(0.1, 30).iid(K))?;
            ctx.each_record(|ctx, document| {
                let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, K))?;
                ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)?;
                ctx.observe("again", Words::mixed(theta, other), document.get("counts")?)
            })
        },
    ];
    for (number, model) in others.iter().enumerate() {
        assert!(words(model, kept(3)).is_none(), "{number}");
    }
}
