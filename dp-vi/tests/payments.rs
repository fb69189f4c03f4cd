//! What a run pays: exactly the events that it planned and reports, for every way to sample, and nothing
//! where it is refused.

use dp_accountant::{
    Accountant, Budget, Composition, Event, Ledger, Mechanism, Purse, Relation, Sampling,
    calibrate_noise_multiplier,
};
use dp_sampler::{BallsInBins, FixedSize, FullBatch, Poisson, Seed, Shuffle, Subsampling, WithReplacement};
use dp_vi::guides::AutoNormal;
use dp_vi::summaries::Summaries;
use dp_vi::{Correction, DpVi, Fit, PrivateGradient, PrivateStart, Progress, Release, Sensitive};
use ndarray::arr0;
use ppl_core::{Column, Graph, Record, RecordGradient, Records};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::common::{Folder, budget, location, logistic};

const DELTA: f64 = 1e-5;

fn people(count: u64) -> Sensitive<Records> {
    let x =
        ndarray::Array2::from_shape_fn((count as usize, 2), |(i, j)| ((i * (3 + j)) % 9) as f64 / 4.0 - 1.0);
    let y: Vec<f64> = (0..count).map(|i| f64::from(u8::from(i % 3 == 0))).collect();
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// Every sampler, by every one of its constructors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named {
    /// Nothing was said: the planner chooses.
    Open,
    Full,
    Poisson(f64),
    FixedSize(u64),
    FixedSizeByPermutation(u64),
    WithReplacement(u64),
    Shuffle(u64),
    ShuffleExact(u64),
    Bins(u64),
    BinsExact(u64),
    BinsForBatch(u64),
    BinsForBatchExact(u64),
}

impl Named {
    fn all(batch: u64, rate: f64, bins: u64) -> [Self; 12] {
        [
            Self::Open,
            Self::Full,
            Self::Poisson(rate),
            Self::FixedSize(batch),
            Self::FixedSizeByPermutation(batch),
            Self::WithReplacement(batch),
            Self::Shuffle(batch),
            Self::ShuffleExact(batch),
            Self::Bins(bins),
            Self::BinsExact(bins),
            Self::BinsForBatch(batch),
            Self::BinsForBatchExact(batch),
        ]
    }

    fn is_permitted(self, relation: Relation) -> bool {
        let by_number =
            !matches!(self, Self::Open | Self::Full | Self::Poisson(_) | Self::Bins(_) | Self::BinsExact(_));
        relation == Relation::ReplaceOne || !by_number
    }

    /// What this many steps on this many records have to be debited as, written down once more: not by asking
    /// the library.
    fn expected(self, records: u64, steps: u64, noise_multiplier: f64) -> (Event, u64) {
        let (sampling, count) = match self {
            Self::Open => (Sampling::Poisson { rate: 1.0 }, steps),
            Self::Full => (Sampling::None, steps),
            Self::Poisson(rate) => (Sampling::Poisson { rate }, steps),
            Self::FixedSize(batch) | Self::FixedSizeByPermutation(batch) => {
                (Sampling::WithoutReplacement { batch, records }, steps)
            }
            Self::WithReplacement(batch) => (Sampling::WithReplacement { batch, records }, steps),
            Self::Shuffle(batch) | Self::ShuffleExact(batch) => {
                let epoch = records.div_ceil(batch);
                (Sampling::Shuffle { batch, records }, steps.div_ceil(epoch) * epoch)
            }
            Self::Bins(bins) | Self::BinsExact(bins) => (Sampling::None, steps.div_ceil(bins)),
            Self::BinsForBatch(batch) | Self::BinsForBatchExact(batch) => {
                (Sampling::None, steps.div_ceil(records.div_ceil(batch)))
            }
        };
        (Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).unwrap(), count)
    }
}

/// Something to be done with a run, whatever its sampler's type.
trait Do {
    type Done;
    fn with<S: Subsampling>(
        self,
        run: impl Fn() -> DpVi<crate::common::Written, AutoNormal, S>,
    ) -> Self::Done;
}

fn with<D: Do>(
    named: Named,
    make: impl Fn() -> DpVi<crate::common::Written, AutoNormal, Poisson>,
    act: D,
) -> D::Done {
    let batches = |batch: u64| FixedSize::batch(batch).unwrap();
    match named {
        Named::Open => act.with(make),
        Named::Full => act.with(|| make().subsample(FullBatch)),
        Named::Poisson(rate) => act.with(|| make().subsample(Poisson::rate(rate).unwrap())),
        Named::FixedSize(batch) => act.with(|| make().subsample(batches(batch))),
        Named::FixedSizeByPermutation(batch) => {
            act.with(|| make().subsample(batches(batch).by_permutation()))
        }
        Named::WithReplacement(batch) => {
            act.with(|| make().subsample(WithReplacement::batch(batch).unwrap()))
        }
        Named::Shuffle(batch) => act.with(|| make().subsample(Shuffle::batch(batch).unwrap())),
        Named::ShuffleExact(batch) => act.with(|| make().subsample(Shuffle::batch(batch).unwrap().exact())),
        Named::Bins(bins) => act.with(|| make().subsample(BallsInBins::bins(bins).unwrap().exact())),
        Named::BinsExact(bins) => {
            act.with(|| make().subsample(BallsInBins::bins(bins).unwrap().exact().exact()))
        }
        Named::BinsForBatch(batch) => act.with(|| make().subsample(BallsInBins::batch(batch).unwrap())),
        Named::BinsForBatchExact(batch) => {
            act.with(|| make().subsample(BallsInBins::batch(batch).unwrap().exact()))
        }
    }
}

/// A run that may be stopped and resumed, paid from a ledger with room for more.
struct Run<'a> {
    records: &'a Sensitive<Records>,
    ledger: &'a mut Ledger,
    /// The file, steps between checkpoints, and the step to stop after.
    stopped: Option<(std::path::PathBuf, u64, u64)>,
}

impl Do for Run<'_> {
    type Done = dp_vi::Result<Fit>;
    fn with<S: Subsampling>(
        self,
        run: impl Fn() -> DpVi<crate::common::Written, AutoNormal, S>,
    ) -> Self::Done {
        let run = || run();
        let Some((path, every, stop)) = self.stopped else {
            return run().seed(Seed::for_tests(1)).fit_from(self.records, self.ledger);
        };
        let until = move |progress: Progress| match progress.done < stop {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let begun = run().seed(Seed::for_tests(1)).checkpoint(&path, every).on_progress(until);
        begun.fit_from(self.records, self.ledger)?;
        run().checkpoint(&path, every).resume_from(self.records, self.ledger)
    }
}

/// The noise multiplier, the curvature's and the ε that a plan without records promises.
struct Plan<'a>(&'a Sensitive<Records>);

impl Do for Plan<'_> {
    type Done = dp_vi::Result<dp_vi::PrivacyPlan>;
    fn with<S: Subsampling>(
        self,
        run: impl Fn() -> DpVi<crate::common::Written, AutoNormal, S>,
    ) -> Self::Done {
        run().plan(self.0.schema())
    }
}

/// What is released once, besides the steps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    Nothing,
    Curvature,
    Start,
}

fn make(
    beside: Beside,
    budget: Budget,
    steps: u64,
    stated: Option<u64>,
) -> DpVi<crate::common::Written, AutoNormal, Poisson> {
    let model = match beside {
        Beside::Curvature => logistic,
        _ => location as crate::common::Written,
    };
    let mut run = DpVi::new(model, AutoNormal::new()).budget(budget).steps(steps);
    run = stated.into_iter().fold(run, DpVi::public_records);
    match beside {
        Beside::Nothing => run.correction(Correction::None),
        Beside::Curvature => run,
        Beside::Start => {
            let at = |m: f64| BTreeMap::from([("m".to_owned(), arr0(m).into_dyn())]);
            run.private_start(PrivateStart {
                candidates: vec![at(-1.0), at(1.0)],
                range: (-5.0, 0.0),
                share: 0.2,
            })
        }
    }
}

/// One run, checked from the plan to the last debit.
fn check(
    named: Named,
    relation: Relation,
    (records, stated, steps): (u64, Option<u64>, u64),
    beside: Beside,
    stopped: Option<(u64, u64)>,
) {
    let what = format!(
        "{named:?} under {relation}, {records} records, stated {stated:?}, {steps} steps, {beside:?}, {stopped:?}"
    );
    let (data, folder) = (people(records), Folder::new());
    let run = || make(beside, budget(1.0, relation), steps, stated);
    let mut ledger = Ledger::new(budget(50.0, relation)).unwrap();
    let stopped = stopped.map(|(every, stop)| (folder.file("run"), every, stop));
    let fit = with(named, run, Run { records: &data, ledger: &mut ledger, stopped });
    if !named.is_permitted(relation) {
        assert!(fit.is_err() && ledger.debits().is_empty(), "{what}");
        assert!(with(named, run, Plan(&data)).is_err(), "{what}");
        return;
    }
    let fit = fit.unwrap_or_else(|error| panic!("{what}: {error}"));
    let report = fit.privacy();

    // The steps: one line of the report and of the ledger, as they are priced by hand.
    let sigma = report.noise_multiplier.unwrap();
    let (step, count) = named.expected(records, steps, sigma);
    let mut planned = Composition::single(step, count);
    let once: Vec<_> =
        report.releases.iter().filter(|release| !release.what.contains("noisy sums")).collect();
    // An adaptive clip norm needs their number, where it is protected and was not stated.
    let (counts, once): (Vec<_>, Vec<_>) =
        once.into_iter().partition(|release| release.what == "number of records");
    let counted = beside != Beside::Curvature && relation == Relation::AddRemove && stated.is_none();
    assert_eq!(counts.len(), usize::from(counted), "{what}");
    counts.iter().for_each(|release| planned.push(release.event, release.count));
    // Which octaves the columns lie in, unless something is named for the model's own units.
    let (octaves, once): (Vec<_>, Vec<_>) =
        once.into_iter().partition(|release| release.what == "octaves of the columns");
    assert_eq!(octaves.len(), usize::from(beside != Beside::Start), "{what}");
    octaves.iter().for_each(|release| planned.push(release.event, release.count));
    match beside {
        Beside::Nothing => assert!(once.is_empty(), "{what}"),
        Beside::Curvature => {
            let [curvature] = once[..] else { panic!("{what}: {once:?}") };
            let Mechanism::Gaussian { .. } = curvature.event.mechanism() else { panic!("{what}") };
            assert_eq!((curvature.event.sampling(), curvature.count), (Sampling::None, 1), "{what}");
        }
        Beside::Start => {
            let [start] = once[..] else { panic!("{what}: {once:?}") };
            let pure = Event::new(Mechanism::PureDp { epsilon: 0.2 }, Sampling::None).unwrap();
            assert_eq!((start.event, start.count), (pure, 1), "{what}");
        }
    }
    once.iter().for_each(|release| planned.push(release.event, release.count));
    let as_counts = |all: &Composition| {
        let mut lines: Vec<_> = all.iter().map(|(event, count)| (format!("{event:?}"), count)).collect();
        lines.sort();
        lines
    };
    assert_eq!(as_counts(ledger.events()), as_counts(&planned), "{what}");
    let mut reported = Composition::new();
    reported.extend(report.releases.iter().map(|release| (release.event, release.count)));
    assert_eq!(as_counts(&reported), as_counts(&planned), "{what}");

    // And what is promised for it is what an accountant finds for the debits.
    let paid = Accountant::new(relation).with(ledger.events()).epsilon(DELTA).unwrap();
    assert_eq!(report.ledger_spent.unwrap(), paid, "{what}");
    // At what the deviations leave of delta; its rounding is far below what epsilon is known to.
    let left = DELTA - report.delta_of_deviations.unwrap_or(0.0);
    let at_rest = Accountant::new(relation).with(ledger.events()).epsilon(left).unwrap();
    let claim = report.epsilon.unwrap();
    assert!((claim.upper - at_rest.upper).abs() <= 1e-10 * at_rest.upper, "{what}: {claim} {at_rest}");
    assert!(claim.lower <= paid.upper && paid.lower <= claim.upper, "{what}: {claim} {paid}");
    assert!(paid.upper <= 1.0, "{what}: {paid}");

    // A plan that was made without the records is the same, where it cannot depend on their number or was
    // told the right one.
    if relation == Relation::AddRemove || stated == Some(records) {
        let plan = with(named, run, Plan(&data)).unwrap();
        assert_eq!(plan.calibrated.unwrap().noise_multiplier, sigma, "{what}");
        assert_eq!(plan.steps, report.steps, "{what}");
        assert_eq!(Some(plan.scheme), report.scheme, "{what}");
        let curvature = plan
            .curvature
            .map(|curvature| Mechanism::Gaussian { noise_multiplier: curvature.noise_multiplier });
        assert_eq!(curvature.is_some(), beside == Beside::Curvature, "{what}");
        let located = plan.octaves.map(|octaves| octaves.event);
        assert_eq!(located, octaves.first().map(|release| release.event), "{what}");
        assert!(curvature.is_none_or(|curvature| once[0].event.mechanism() == curvature), "{what}");
        // The noise is what the budget needs and hardly more: σ is calibrated to 1e-4 or so.
        if relation == Relation::ReplaceOne || stated.is_none() {
            let needed = calibrate_noise_multiplier(&budget(1.0, relation), |noise_multiplier| {
                let mut all = Composition::single(
                    Event::new(Mechanism::Gaussian { noise_multiplier }, step.sampling())?,
                    count,
                );
                all.extend(
                    once.iter().chain(&counts).chain(&octaves).map(|release| (release.event, release.count)),
                );
                Ok(all)
            });
            let ratio = sigma / needed.unwrap().noise_multiplier;
            assert!((ratio - 1.0).abs() < 1e-3, "{what}: {ratio}");
        }
    }
}

/// Every sampler and constructor under both relations, with the right number of records stated, with wrong
/// ones and with none.
#[test]
fn every_run_pays_what_it_planned_and_reports() {
    let (records, steps) = (23, 5);
    for named in Named::all(4, 0.3, 4) {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            // Each price of draws with replacement takes seconds, so one run has all that two would have.
            if matches!(named, Named::WithReplacement(_)) {
                check(named, relation, (records, Some(records), steps), Beside::Start, Some((4, 4)));
                continue;
            }
            for stated in [None, Some(records), Some(11), Some(4_000)] {
                // The price of these takes long, or is that of another that takes part in all; below they have no
                // number and a wrong one.
                let slow = matches!(
                    named,
                    Named::Shuffle(_) | Named::ShuffleExact(_) | Named::FixedSizeByPermutation(_)
                );
                if slow && stated != Some(records) {
                    continue;
                }
                check(named, relation, (records, stated, steps), Beside::Nothing, None);
            }
            check(named, relation, (records, Some(40), steps), Beside::Curvature, Some((2, 5)));
            check(named, relation, (records, None, steps), Beside::Start, Some((4, 4)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The same for numbers that nobody thought of: parts of epochs, batches of all records, one bin, one
    /// step, stops anywhere.
    #[test]
    fn runs_with_any_numbers_pay_what_they_planned(
        records in 2_u64..40, batch in 1_u64..40, rate in 0.01..1.0_f64, bins in 1_u64..12, steps in 1_u64..20,
        which in 0_usize..12, replace: bool, stated in prop::option::of(1_u64..10_000), right: bool,
        once in 0_usize..3, stopped in prop::option::of((1_u64..8, 1_u64..20)),
    ) {
        let named = Named::all(1 + batch % records, rate, bins)[which];
        let relation = if replace { Relation::ReplaceOne } else { Relation::AddRemove };
        let stated = if right { Some(records) } else { stated };
        let beside = [Beside::Nothing, Beside::Curvature, Beside::Start][once];
        check(named, relation, (records, stated, steps), beside, stopped);
    }
}

/// The number of bins would follow from the number of records, and with it the divisor, the length of an
/// epoch and the price: a run of 300 steps that promised ε = 1 cost 29.87.
#[test]
fn balls_in_bins_for_a_batch_size_are_refused_where_the_number_of_records_is_protected() {
    for (records, batch, steps, stated) in
        [(100, 100, 300, None), (1000, 100, 50, Some(4_000)), (1000, 100, 50, Some(1000))]
    {
        let data = people(records);
        let run = || {
            let run =
                DpVi::new(location, AutoNormal::new()).budget(budget(1.0, Relation::AddRemove)).steps(steps);
            let run = stated.into_iter().fold(run, DpVi::public_records);
            run.subsample(BallsInBins::batch(batch).unwrap())
        };
        let clear = |told: dp_vi::Error| {
            let told = told.to_string();
            assert!(told.contains("BallsInBins::bins(…)") && told.contains("add/remove protects"), "{told}");
        };
        let mut ledger = Ledger::new(budget(50.0, Relation::AddRemove)).unwrap();
        clear(run().fit_from(&data, &mut ledger).unwrap_err());
        assert!(ledger.debits().is_empty());
        clear(run().fit(&data).unwrap_err());
        clear(run().start(&data).err().unwrap());
        clear(run().plan(data.schema()).unwrap_err());
    }
    // The mechanism by itself takes the relation from the ledger.
    let data = people(10);
    let graph = Graph::new();
    let w = graph.input("w", 2).unwrap();
    let value = Record::new(&graph, data.schema()).get("x").unwrap().dot(w);
    let mechanism = |plan: BallsInBins| {
        let gradient = RecordGradient::new(value, &[w]).unwrap();
        PrivateGradient::new(gradient, 1.0, 2.0, &plan, &data, Seed::for_tests(1)).unwrap()
    };
    let mut ledger = Ledger::new(budget(50.0, Relation::AddRemove)).unwrap();
    let told = mechanism(BallsInBins::batch(4).unwrap()).pay(&mut ledger, 3).unwrap_err().to_string();
    assert!(told.contains("BallsInBins::bins(…)"), "{told}");
    assert!(ledger.debits().is_empty());
    assert_eq!(mechanism(BallsInBins::bins(3).unwrap().exact()).pay(&mut ledger, 3).unwrap().left(), 3);
    let mut ledger = Ledger::new(budget(50.0, Relation::ReplaceOne)).unwrap();
    assert!(mechanism(BallsInBins::batch(4).unwrap()).pay(&mut ledger, 4).unwrap().left() >= 4);
    // Three bins, so four steps are two epochs.
    assert_eq!(Purse::ledger(&ledger).events().iter().map(|(_, count)| count).sum::<u64>(), 2);
}

/// A fit that needs something beforehand is refused before that is paid for: for all of it together, for other
/// relations and for records that do not fit. What it is not refused for can be paid.
#[test]
fn what_a_fit_would_be_refused_for_shows_before_anything_is_paid() {
    let data = people(60);
    let of = |epsilon| budget(epsilon, Relation::AddRemove);
    let count = Summaries::count_event(20.0).unwrap();
    let before = || [Release::new("number of records", count, 1)];
    let vi = |epsilon| {
        let vi = DpVi::new(logistic, AutoNormal::new()).budget(of(epsilon)).subsample(FullBatch).steps(5);
        vi.released_before(before())
    };
    let mut ledger = Ledger::new(of(1.0)).unwrap();
    vi(1.0).check_fit_from(&data, &ledger).unwrap();
    let refused = |vi: DpVi<_, _, _>, data: &Sensitive<Records>, ledger: &Ledger| {
        let checked = vi.check_fit_from(data, ledger).unwrap_err().to_string();
        assert!(!checked.is_empty());
        checked
    };
    assert!(refused(vi(1.001), &data, &ledger).contains("budget"));
    let other = Ledger::new(budget(1.0, Relation::ReplaceOne)).unwrap();
    assert!(refused(vi(1.0), &data, &other).contains("relation"));
    let numbers = Records::from_columns([("y", Column::from(vec![0.0, 1.0]))]).unwrap();
    refused(vi(1.0), &Sensitive::new(numbers), &ledger);
    refused(vi(1.0).steps(u64::MAX), &data, &ledger);
    assert!(ledger.debits().is_empty() && other.debits().is_empty());
    // Paid for as it was planned, to the last bit of the budget.
    let mut summaries = Summaries::new(&data, Seed::for_tests(1)).unwrap();
    summaries.count(20.0, &mut ledger).unwrap();
    vi(1.0).seed(Seed::for_tests(2)).fit_from(&data, &mut ledger).unwrap();
    let spent = ledger.spent().unwrap();
    assert!(spent.upper <= 1.0 && spent.lower > 0.99, "{spent:?}");
    let counted: u64 = ledger.events().iter().filter(|(event, _)| *event == count).map(|(_, n)| n).sum();
    assert_eq!(counted, 1);
}
