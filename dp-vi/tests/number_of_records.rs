//! Under add/remove the number of records is protected: nothing that a run tells, but for what has noise, may
//! depend on it.

use dp_accountant::{Budget, Ledger, Relation};
use dp_sampler::{BallsInBins, FullBatch, Poisson, Seed, Subsampling};
use dp_vi::guides::AutoNormal;
use dp_vi::{
    Checkpoint, Clipping, DpVi, PrivacyNoise, PrivacyReport, PrivateGradient, PrivateStart, Progress,
    Quantile, RecordWeights, Sensitive,
};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Graph, Record, RecordGradient, Records};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;

use crate::common::{Folder, Written, logistic};

const BUDGET: Budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };

fn people(count: usize) -> Sensitive<Records> {
    let x =
        Array2::from_shape_fn((count, 3), |(i, j)| ((i * 7919 + j * 104_729) % 4001) as f64 / 1000.0 - 2.0);
    let y = Array1::from_shape_fn(count, |i| f64::from((i * 31) % 7 < 3));
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// Numbers of records that differ by one: none and one, few, and where samplers go from tables to networks.
const NEIGHBOURS: [(usize, usize); 4] = [(0, 1), (7, 8), (99, 100), (1024, 1025)];

type Open = DpVi<Written, AutoNormal, Poisson>;

type Set = Box<dyn Fn(Open) -> Open>;

/// What is chosen besides the sampler.
fn settings() -> Vec<(&'static str, Set)> {
    let start = || {
        let at = |w: f64| BTreeMap::from([("w".to_owned(), Array1::from(vec![w, -w, 0.5]).into_dyn())]);
        PrivateStart { candidates: vec![at(0.0), at(1.0)], range: (-3.0, 0.0), share: 0.2 }
    };
    vec![
        ("nothing", Box::new(|run| run)),
        ("a grid", Box::new(|run| run.noise(PrivacyNoise::Exact))),
        ("a stated number", Box::new(|run| run.public_records(1000))),
        (
            "a quantile",
            Box::new(|run| {
                let run = run.public_records(100).weights(RecordWeights::None);
                run.clipping(Clipping::Quantile(Quantile::default()))
            }),
        ),
        ("a norm that adapts", Box::new(|run| run.weights(RecordWeights::None))),
        ("sites by themselves", Box::new(|run| run.weights(RecordWeights::None).clipping(Clipping::PerSite))),
        ("a start", Box::new(move |run| run.private_start(start()))),
    ]
}

/// A statement without the norm that clipping ended with, which has noise as all that follows from gradients.
fn noiseless(report: &PrivacyReport) -> PrivacyReport {
    let mut report = report.clone();
    report.last_clip_norm = None;
    report
}

/// Everything that a run tells without noise, line by line: plan, report, debits, progress, what a
/// step-by-step run answers, and a checkpoint's settings. Not its posterior and what follows from it.
fn told<S: Subsampling>(run: &dyn Fn() -> DpVi<Written, AutoNormal, S>, count: usize) -> String {
    let (data, folder) = (people(count), Folder::new());
    let secret = run().fit(&data).unwrap();
    let run = || run().seed(Seed::for_tests(3));
    let plan = run().plan(data.schema()).unwrap();
    let mut lines = vec![plan.explain(), format!("{plan:?}")];

    let mut ledger = Ledger::new(Budget { epsilon: 5.0, ..BUDGET }).unwrap();
    let fit = run().fit_from(&data, &mut ledger).unwrap();
    let report = &noiseless(fit.privacy());
    let json = serde_json::to_string_pretty(report).unwrap();
    lines.extend([report.to_string(), format!("{report:?}"), json, format!("{:?}", report.attack_success())]);
    #[cfg(feature = "json")]
    lines.push(report.to_json().unwrap());
    lines.push(format!("{:?}", ledger.debits()));
    lines.extend(fit.parameters().map(|(name, values)| format!("{name}: {}", values.len())));
    lines.push(format!("{:?}", fit.posterior().mean("w").unwrap().shape()));

    // With a secret seed, which prints another statement.
    lines.extend([noiseless(secret.privacy()).to_string(), format!("{:?}", secret.privacy().is_private())]);

    // Stopped, and from a checkpoint.
    let (seen, path) = (Rc::new(RefCell::new(Vec::new())), folder.file("run"));
    let log = Rc::clone(&seen);
    let stop = move |Progress { done, steps, .. }: Progress| {
        log.borrow_mut().push((done, steps));
        if done < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let stopped = run().checkpoint(&path, 2).on_progress(stop).fit(&data).unwrap();
    lines.extend([noiseless(stopped.privacy()).to_string(), format!("{:?}", seen.borrow())]);
    let stored = Checkpoint::read(&path).unwrap();
    lines.push(format!("{} {} {} {}", stored.done(), stored.paid(), stored.is_secret(), stored.settings()));

    // Step by step.
    let mut training = run().start(&data).unwrap();
    for _ in 0..2 {
        lines.push(format!("{} {} {}", training.done(), training.steps(), training.left()));
        training.step().unwrap();
    }
    lines.push(noiseless(training.finish().unwrap().privacy()).to_string());
    lines.join("\n")
}

/// None and one, alone and with the most.
const FIRST: &[(usize, usize)] = &[NEIGHBOURS[0]];
const ENDS: &[(usize, usize)] = &[NEIGHBOURS[0], NEIGHBOURS[3]];

fn same<S: Subsampling>(
    what: &str,
    neighbours: &[(usize, usize)],
    run: impl Fn() -> DpVi<Written, AutoNormal, S>,
) {
    for &(fewer, more) in neighbours {
        let (one, other) = (told(&run, fewer), told(&run, more));
        for (one, other) in one.lines().zip(other.lines()) {
            assert_eq!(one, other, "{what}: {fewer} records and {more}");
        }
        assert_eq!(one, other, "{what}: {fewer} records and {more}");
    }
}

/// By the sampler alone all neighbours are compared where records are drawn one by one or put into bins, and elsewhere
/// the first and the last. Each other setting, which has no tables, is compared with two of three samplers in turn.
#[test]
fn nothing_that_a_run_tells_depends_on_the_number_of_records() {
    for (k, (what, set)) in settings().iter().enumerate() {
        let run = || {
            let run: Open = DpVi::new(logistic as Written, AutoNormal::new());
            set(run.budget(BUDGET).steps(4))
        };
        let (poisson, bins) = (Poisson::rate(0.3).unwrap(), BallsInBins::bins(3).unwrap().exact());
        if k == 0 {
            same("open", ENDS, run);
            same("Poisson", &NEIGHBOURS, || run().subsample(poisson));
            same("bins", &NEIGHBOURS, || run().subsample(bins));
            same("full", ENDS, || run().subsample(FullBatch));
            same("bins written out", ENDS, || run().subsample(BallsInBins::bins(5).unwrap().exact()));
            continue;
        }
        // Each setting with one sampler at both ends, and with another at none and one.
        match k % 3 {
            0 => {
                same(&format!("{what}, bins"), ENDS, || run().subsample(bins));
                same(&format!("{what}, Poisson"), FIRST, || run().subsample(poisson));
            }
            1 => {
                same(&format!("{what}, Poisson"), ENDS, || run().subsample(poisson));
                same(&format!("{what}, open"), FIRST, run);
            }
            _ => {
                same(&format!("{what}, open"), ENDS, run);
                same(&format!("{what}, bins"), FIRST, || run().subsample(bins));
            }
        }
    }
    // A rate that the planner chooses, from a number that was stated.
    same("a compute limit", ENDS, || {
        let run: Open = DpVi::new(logistic as Written, AutoNormal::new());
        run.budget(BUDGET).public_records(1000).compute_limit(40_000.0)
    });
}

/// The mechanism by itself: everything that can be asked of it, and the noise that it says it added.
#[test]
fn nothing_that_a_mechanism_tells_depends_on_the_number_of_records() {
    fn told<S: Subsampling>(plan: &S, noise: PrivacyNoise, count: usize) -> String {
        let data = people(count);
        let graph = Graph::new();
        let w = graph.input("w", 3).unwrap();
        let value = Record::new(&graph, data.schema()).get("x").unwrap().dot(w);
        let gradient = RecordGradient::new(value, &[w]).unwrap();
        let seed = Seed::for_tests(5);
        let mut mechanism =
            PrivateGradient::with_noise(gradient, (1.0, 2.0), noise, plan, &data, seed).unwrap();
        let mut ledger = Ledger::new(Budget { epsilon: 50.0, ..BUDGET }).unwrap();
        let permits = mechanism.pay(&mut ledger, 4).unwrap();
        let mut told = format!("{:?} {}", ledger.debits(), permits.left());
        let mut out = [0.0; 3];
        for permit in permits {
            mechanism.release(permit, &mut out).unwrap();
            let (scheme, event) = (mechanism.scheme(), mechanism.event().unwrap());
            told += &format!("\n{scheme} {scheme:?} {} {event:?} ", serde_json::to_string(&scheme).unwrap());
            told += &format!("{} {}", mechanism.dimension(), mechanism.is_secret());
            told += &format!(" {:?}", mechanism.noise_added());
        }
        told
    }
    for noise in [PrivacyNoise::Continuous, PrivacyNoise::Exact] {
        for (fewer, more) in NEIGHBOURS {
            assert_eq!(told(&FullBatch, noise, fewer), told(&FullBatch, noise, more));
            let poisson = Poisson::rate(0.3).unwrap();
            assert_eq!(told(&poisson, noise, fewer), told(&poisson, noise, more));
            let bins = BallsInBins::bins(3).unwrap().exact();
            assert_eq!(told(&bins, noise, fewer), told(&bins, noise, more));
            assert_eq!(told(&bins.exact(), noise, fewer), told(&bins.exact(), noise, more));
        }
    }
}
