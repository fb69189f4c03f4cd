//! No two releases of a run use the same random words: not the noise of one for another, not a batch for two
//! steps.
//!
//! The samplers' record says which blocks of which streams each release used. What has to be true is written
//! once, in [`Releases::check`], and holds for every kind of run.

use dp_accountant::{Budget, Ledger, Relation};
use dp_sampler::rand_core::Rng;
use dp_sampler::record::{self, Used};
use dp_sampler::{
    BallsInBins, FixedSize, FullBatch, Poisson, Purpose, Seed, Shuffle, Streams, Subsampling, WithReplacement,
};
use dp_vi::guides::{Amortised, AutoNormal};
use dp_vi::summaries::{Histogram, Summaries};
use dp_vi::{
    Clipping, Correction, DpVi, DrawScheme, PrivacyNoise, PrivateStart, Quantile, RecordWeights, Sensitive,
};
use ndarray::Array1;
use ppl_core::{Constraint, Ctx, Records, Result};
use ppl_distributions::Normal;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::process::Command;
use std::rc::Rc;

use crate::common::{BUDGET, Folder, Run, Written, logistic, people};

const STEPS: u64 = 12;
const SEED: u64 = 77;
const KINDS: [PrivacyNoise; 2] = [PrivacyNoise::Continuous, PrivacyNoise::Exact];

/// Whether this process runs the named test alone. Otherwise one is started that does, and has to succeed:
/// the record is one for the whole process, in which other tests draw at the same time.
fn alone(test: &str) -> bool {
    if std::env::var_os("DP_VI_TEST_ALONE").is_some() {
        return true;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args([&format!("streams::{test}"), "--exact"])
        .env("DP_VI_TEST_ALONE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&child.stderr)
    );
    false
}

/// What was used, release by release.
#[derive(Default)]
struct Releases {
    /// Before the first step: the private start, and what only reads (a fingerprint of the records). A
    /// resumed run does a part of it again.
    before: Vec<Vec<Used>>,
    steps: Vec<Vec<Used>>,
    /// After the last step: the curvature.
    after: Vec<Used>,
}

/// The keys of streams, found by using a word of each.
fn keys<'a>(all: impl Iterator<Item = &'a Streams>) -> BTreeSet<u64> {
    record::start();
    all.for_each(|streams| {
        streams.at(u64::MAX).next_u32();
    });
    record::take().iter().map(|used| used.key).collect()
}

/// The keys that batches are drawn with: those of the purpose and of the first epochs below it.
fn keys_of_batches() -> BTreeSet<u64> {
    let batches = Seed::for_tests(SEED).streams(Purpose::Subsample);
    let epochs: Vec<_> = (0..STEPS).map(|epoch| batches.child(epoch)).collect();
    keys(epochs.iter().chain([&batches]))
}

/// The keys of what is done before the first step, in every process of a run.
fn keys_before_the_first_step() -> BTreeSet<u64> {
    let names = ["private start", "fingerprint of records", "orders of magnitude"];
    let all = names.map(|name| Seed::for_tests(SEED).streams(Purpose::Custom(name)));
    keys(all.iter())
}

/// The first two that overlap.
fn overlapping<'a>(all: &[(usize, &'a Used)]) -> Option<[(usize, &'a Used); 2]> {
    let mut sorted = all.to_vec();
    sorted.sort_by_key(|(_, used)| (used.key, used.stream, used.blocks.start));
    // Sorted like that, the first overlap is between neighbours.
    sorted.windows(2).find(|pair| pair[0].1.overlaps(pair[1].1)).map(|pair| [pair[0], pair[1]])
}

impl Releases {
    /// Each block of each stream is used by one release at the most, and there for one purpose.
    ///
    /// Batches of one epoch, of this many steps, are parts of one draw and may share words with each other;
    /// with everything else and with other epochs they share none. Where a run was resumed, what it did
    /// before its first step is a part of what the first process did.
    fn check(&self, epoch: usize, what: &str) {
        assert_eq!(self.steps.len(), STEPS as usize, "{what}");
        let batches = keys_of_batches();
        let of_batches = |used: &Used| batches.contains(&used.key);
        // The number of a release: of a step, or one after them.
        let mut releases: Vec<(usize, &Used)> = Vec::new();
        for (step, used) in self.steps.iter().enumerate() {
            releases.extend(used.iter().filter(|used| !of_batches(used)).map(|used| (step, used)));
            assert!(used.iter().any(|used| !of_batches(used)), "{what}: step {step} has no noise");
        }
        releases.extend(self.after.iter().map(|used| (self.steps.len(), used)));
        let first = self.before.first().map_or(&[][..], Vec::as_slice);
        let prepared: Vec<_> = first.iter().filter(|used| !of_batches(used)).collect();
        releases.extend(prepared.iter().map(|used| (usize::MAX, *used)));
        if let Some([(a, used), (b, again)]) = overlapping(&releases) {
            panic!("{what}: releases {a} and {b} share words: {used:?} and {again:?}");
        }
        for again in &self.before[1..] {
            let again: Vec<_> = again.iter().filter(|used| !of_batches(used)).collect();
            // What only the first process needs, such as the choice of a start, is not done again.
            let is_known = again.iter().all(|used| prepared.contains(used));
            assert!(is_known, "{what}: a resumed run began in another way");
        }
        // Batches: a block that was used in one epoch is used in no other.
        let mut drawn: Vec<(usize, &Used)> = Vec::new();
        for (step, used) in self.steps.iter().enumerate() {
            drawn.extend(used.iter().filter(|used| of_batches(used)).map(|used| (step / epoch, used)));
        }
        for (i, (a, used)) in drawn.iter().enumerate() {
            for (b, again) in &drawn[i + 1..] {
                assert!(a == b || !used.overlaps(again), "{what}: epochs {a} and {b} share {used:?}");
            }
        }
    }

    /// Steps whose batches were drawn with words of their own.
    fn steps_with_batches(&self) -> usize {
        let batches = keys_of_batches();
        self.steps.iter().filter(|used| used.iter().any(|used| batches.contains(&used.key))).count()
    }
}

/// All of a run, held step by step.
fn run<M: ppl_core::Model, S: Subsampling>(
    vi: DpVi<M, AutoNormal, S>,
    records: &Sensitive<Records>,
) -> Releases {
    record::start();
    let mut training = vi.steps(STEPS).seed(Seed::for_tests(SEED)).start(records).unwrap();
    let mut releases = Releases { before: vec![record::take()], ..Releases::default() };
    for _ in 0..STEPS {
        training.step().unwrap();
        releases.steps.push(record::take());
    }
    training.finish().unwrap();
    releases.after = record::take();
    record::stop();
    releases
}

fn plain() -> Run {
    DpVi::new(logistic as Written, AutoNormal::new()).budget(BUDGET).subsample(Poisson::rate(0.3).unwrap())
}

fn candidates() -> PrivateStart {
    let at = |x: f64| BTreeMap::from([("w".to_owned(), Array1::from(vec![x, -x, 0.5]).into_dyn())]);
    PrivateStart { candidates: (0..5).map(|k| at(f64::from(k))).collect(), range: (-3.0, 0.0), share: 0.2 }
}

/// Settings of a run.
type With = fn(Run) -> Run;

/// What a run may release besides sums clipped as a whole, and how its draws are made.
fn modes() -> [(&'static str, With); 6] {
    [
        ("no correction", |run| run.correction(Correction::None)),
        ("curvature", |run| run.correction(Correction::Full)),
        ("diagonal, single draws", |run| {
            run.correction(Correction::Diagonal).draw_scheme(DrawScheme::Single)
        }),
        ("quantile", |run| {
            let run = run.weights(RecordWeights::None).correction(Correction::None).public_records(60);
            run.clipping(Clipping::Quantile(Quantile::default()))
        }),
        ("site by site", |run| run.clipping(Clipping::PerSite)),
        ("private start and curvature", |run| run.private_start(candidates())),
    ]
}

#[test]
fn no_word_is_used_for_two_releases_in_any_mode() {
    if !alone("no_word_is_used_for_two_releases_in_any_mode") {
        return;
    }
    let records = people(60, false);
    for noise in KINDS {
        for (name, with) in modes() {
            let releases = run(with(plain()).noise(noise), &records);
            let what = format!("{name}, {noise:?}");
            releases.check(1, &what);
            assert_eq!(releases.steps_with_batches(), STEPS as usize, "{what}");
            assert_eq!(releases.after.is_empty(), name == "quantile" || name == "no correction", "{what}");
            // A start is released, or where the columns lie.
            let paid = with(plain()).noise(noise).steps(STEPS).plan(records.schema()).unwrap();
            let before = paid.start.is_some() || paid.octaves.is_some();
            assert_eq!(releases.before[0].is_empty(), !before, "{what}");
        }
    }
}

#[test]
fn no_word_is_used_for_two_batches_by_any_sampler() {
    if !alone("no_word_is_used_for_two_batches_by_any_sampler") {
        return;
    }
    let (records, budget) = (people(60, false), Budget { relation: Relation::ReplaceOne, ..BUDGET });
    fn with<S: Subsampling>(plan: S, budget: Budget) -> DpVi<Written, AutoNormal, S> {
        DpVi::new(logistic as Written, AutoNormal::new()).budget(budget).subsample(plan)
    }
    let check = |what: &str, releases: Releases, epoch: usize, batches: usize| {
        releases.check(epoch, what);
        assert_eq!(releases.steps_with_batches(), batches, "{what}");
    };
    let all = STEPS as usize;
    for noise in KINDS {
        check("full", run(with(FullBatch, budget).noise(noise), &records), 1, 0);
        check("Poisson", run(with(Poisson::rate(0.01).unwrap(), budget).noise(noise), &records), 1, all);
        // Words of batches do not depend on the kind of noise: sizes, and what takes seconds to price, have one each.
        let sizes: &[u64] = if noise == PrivacyNoise::Exact { &[7, 50] } else { &[20] };
        for &batch in sizes {
            let plan = FixedSize::batch(batch).unwrap();
            check("fixed size", run(with(plan, budget).noise(noise), &records), 1, all);
            let vi = with(plan.by_permutation(), budget).noise(noise);
            check("fixed size by permutation", run(vi, &records), 1, all);
        }
        if noise == PrivacyNoise::Exact {
            let plan = WithReplacement::batch(9).unwrap();
            check("with replacement", run(with(plan, budget).noise(noise), &records), 1, all);
        }
        // Four steps an epoch; that of the first is drawn before the first step.
        for plan in [Shuffle::batch(15).unwrap(), Shuffle::batch(15).unwrap().exact()] {
            check("shuffle", run(with(plan, budget).noise(noise), &records), 4, 2);
        }
        for plan in [BallsInBins::bins(4).unwrap(), BallsInBins::bins(4).unwrap().exact()] {
            check("balls in bins", run(with(plan, budget).noise(noise), &records), 4, all);
        }
    }
}

/// Latent values of records are drawn with words of their own, for each input.
#[test]
fn no_word_is_used_for_two_records_values_and_noise() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let centre = ctx.sample("centre", Normal::new(0.0, 10.0))?;
        ctx.each_record(|ctx, record| {
            let value = ctx.sample("value", Normal::new(centre, 1.0))?;
            let offset = ctx.sample("offset", Normal::new(0.0, 1.0))?;
            ctx.observe("reading", Normal::new(value + offset, 0.5), record.get("reading")?)
        })
    }
    fn guide(ctx: &mut Ctx) -> Result<()> {
        let scale = ctx.param("scale", 1.0, Constraint::Positive)?;
        ctx.each_record(|ctx, record| {
            ctx.sample("value", Normal::new(record.get("reading")?, scale))?;
            ctx.sample("offset", Normal::new(0.0, scale)).map(|_| ())
        })
    }
    if !alone("no_word_is_used_for_two_records_values_and_noise") {
        return;
    }
    let readings: Vec<f64> = (0..50).map(|k| f64::from(k) / 10.0).collect();
    let records = Sensitive::new(Records::from_columns([("reading", readings)]).unwrap());
    for noise in KINDS {
        let vi = DpVi::new(Amortised::new(model, guide), AutoNormal::new()).budget(BUDGET).noise(noise);
        let releases = run(vi.subsample(Poisson::rate(0.3).unwrap()), &records);
        releases.check(1, "amortised");
        // Batches, two inputs of records, the guide's draws, and the noise.
        let keys = |used: &[Used]| used.iter().map(|used| used.key).collect::<BTreeSet<_>>().len();
        assert!(releases.steps.iter().all(|used| keys(used) == 5));
    }
}

/// Two processes: the first stops anywhere, the second goes on from its checkpoint.
#[test]
fn a_resumed_run_uses_no_word_of_the_steps_that_were_made_before() {
    if !alone("a_resumed_run_uses_no_word_of_the_steps_that_were_made_before") {
        return;
    }
    let (records, folder) = (people(60, false), Folder::new());
    for noise in KINDS {
        for (k, (name, with)) in modes().into_iter().enumerate() {
            for (every, stop) in [(4, 6), (5, 5), (1, 11)] {
                let path = folder.file(&format!("{k}-{every}-{noise:?}"));
                let releases = Rc::new(RefCell::new(Releases::default()));
                let before = keys_before_the_first_step();
                let process = |stop: u64| {
                    let before = before.clone();
                    let (seen, mut first) = (Rc::clone(&releases), true);
                    let vi = with(plain()).noise(noise).steps(STEPS).checkpoint(&path, every);
                    vi.on_progress(move |progress| {
                        let mut seen = seen.borrow_mut();
                        let used = record::take();
                        // What came before the first step was used by the time of the first call, too.
                        if std::mem::take(&mut first) {
                            let (before, step) =
                                used.into_iter().partition(|used| before.contains(&used.key));
                            seen.before.push(before);
                            seen.steps.push(step);
                        } else {
                            seen.steps.push(used);
                        }
                        if progress.done < stop { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                    })
                };
                record::start();
                process(stop).seed(Seed::for_tests(SEED)).fit(&records).unwrap();
                assert!(record::take().is_empty(), "a release after the run was stopped");
                process(u64::MAX).resume(&records).unwrap();
                releases.borrow_mut().after = record::take();
                record::stop();
                releases.borrow().check(1, &format!("{name}, {noise:?}, stopped at {stop}"));
            }
        }
    }
}

#[test]
fn no_word_is_used_for_two_summaries() {
    if !alone("no_word_is_used_for_two_summaries") {
        return;
    }
    let ages: Vec<f64> = (0..200).map(|k| f64::from(k % 80)).collect();
    let records = Sensitive::new(Records::from_columns([("age", ages)]).unwrap());
    let mut ledger = Ledger::new(Budget { epsilon: 100.0, ..BUDGET }).unwrap();
    let mut summaries = Summaries::new(&records, Seed::for_tests(SEED)).unwrap();
    let mut used: Vec<(usize, Used)> = Vec::new();
    record::start();
    for number in 0..12 {
        match number % 4 {
            0 => assert!(summaries.count(10.0, &mut ledger).unwrap().is_finite()),
            1 => {
                let histogram: Histogram =
                    summaries.histogram("age", &[0.0, 40.0, 80.0], 10.0, &mut ledger).unwrap();
                assert_eq!(histogram.counts.len(), 2);
            }
            2 => assert!(summaries.mean("age", (0.0, 100.0), 10.0, &mut ledger).unwrap().noise > 0.0),
            _ => {
                let range = dp_vi::summaries::Range::new(0.0, 128.0, 5).unwrap();
                assert_eq!(summaries.quantile("age", 0.5, range, 10.0, &mut ledger).unwrap().resolution, 2.0);
            }
        }
        let taken = record::take();
        assert!(!taken.is_empty());
        used.extend(taken.into_iter().map(|used| (number, used)));
    }
    record::stop();
    let all: Vec<(usize, &Used)> = used.iter().map(|(number, used)| (*number, used)).collect();
    if let Some([(a, used), (b, again)]) = overlapping(&all) {
        panic!("summaries {a} and {b} share words: {used:?} and {again:?}");
    }
}
