//! A training step allocates nothing.

#![allow(unsafe_code)]

use dp_accountant::{Budget, Relation};
use dp_sampler::{Poisson, Seed};
use dp_vi::guides::{
    AutoDelta, AutoGuideList, AutoLowRankMultivariateNormal, AutoMultivariateNormal, AutoNormal, Guide,
    HandWritten,
};
use dp_vi::optimiser::{
    AdaDp, ScaleByName, ScaleBySchedule, Schedule, Transformation, ada_grad, adam, momentum, rms_prop, sgd,
    yogi,
};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, PrivacyNoise, Quantile, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Ctx, Distribution, Records, Result};
use ppl_distributions::{Bernoulli, HalfNormal, Normal};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::common::logistic;

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

fn network(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
    let w1 = ctx.sample("w1", Normal::new(0.0, spread).iid([4, d]))?;
    let w2 = ctx.sample("w2", Normal::new(0.0, 1.0).iid(4))?;
    ctx.each_record(|ctx, record| {
        let hidden = w1.dot(record.get("x")?).tanh();
        ctx.observe("y", Bernoulli::from_logits(w2.dot(hidden)), record.get("y")?)
    })
}

/// With weights and the sums for a corrected posterior, and with each way to clip.
#[test]
fn a_step_allocates_nothing_whatever_is_switched_on() {
    let x = Array2::from_shape_fn((500, 5), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
    let y = Array1::from_shape_fn(500, |i| (i % 2) as f64);
    let records =
        Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap());
    let noises = [PrivacyNoise::Continuous, PrivacyNoise::Exact];
    let clippings = [Clipping::Flat, Clipping::PerSite, Clipping::Quantile(Quantile::default())];
    let draws = [DrawScheme::Single, DrawScheme::Antithetic];
    for (clipping, draws, noise) in clippings
        .into_iter()
        .flat_map(|clipping| draws.map(|draws| (clipping, draws)))
        .flat_map(|(clipping, draws)| noises.map(|noise| (clipping, draws, noise)))
    {
        // A round of probes allocates where it begins.
        let correction = match clipping {
            Clipping::Quantile(_) => Correction::None,
            _ => Correction::Automatic,
        };
        let mut training = DpVi::new(logistic, AutoNormal::new())
            .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
            .correction(correction)
            .clipping(clipping)
            .draw_scheme(draws)
            .noise(noise)
            .public_records(500)
            .steps(60)
            .seed(Seed::for_tests(5))
            .start(&records)
            .unwrap();
        training.step().unwrap();
        let before = ALLOCATIONS.with(Cell::get);
        for _ in 0..59 {
            training.step().unwrap();
        }
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{clipping:?}, {draws:?}, {noise:?}");
        training.finish().unwrap();
    }
}

/// Every optimiser and every schedule, with privacy and without.
#[test]
fn no_optimiser_allocates() {
    let x = Array2::from_shape_fn((300, 5), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
    let y = Array1::from_shape_fn(300, |i| (i % 2) as f64);
    let records =
        Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap());
    let rate = Schedule::WarmUpThenCosine { rate: 0.01, steps: 5 };
    let own =
        |stage| Transformation::<f64>::then::<ScaleBySchedule>(stage, ScaleBySchedule::new(rate).unwrap());
    let optimisers = || -> [Box<dyn Transformation>; 8] {
        [
            Box::new(sgd(rate).unwrap()),
            Box::new(momentum(0.9, rate).unwrap()),
            Box::new(adam(Schedule::Step { rate: 0.01, factor: 0.5, every: 7 }).unwrap()),
            Box::new(ada_grad(rate).unwrap()),
            Box::new(rms_prop(rate).unwrap()),
            Box::new(yogi(Schedule::WarmUp { rate: 0.01, steps: 5 }).unwrap()),
            Box::new(AdaDp::new(1e-4, 0.5).unwrap()),
            Box::new(own(ScaleByName::new([("guide/w/log_scale", 0.1)]).unwrap())),
        ]
    };
    for private in [true, false] {
        for optimiser in optimisers() {
            let name = optimiser.describe();
            let vi = DpVi::new(logistic, AutoNormal::new())
                .optimiser(optimiser)
                .steps(30)
                .seed(Seed::for_tests(5));
            let vi = match private {
                true => vi.budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove }),
                false => vi.without_privacy(),
            };
            let mut training = vi.start(&records).unwrap();
            training.step().unwrap();
            let before = ALLOCATIONS.with(Cell::get);
            (0..29).for_each(|_| training.step().unwrap());
            assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{name}, private: {private}");
        }
    }
}

/// Every guide, one that draws from uniform noise among them.
#[test]
fn no_guide_allocates() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
        let w = ctx.sample("w", Normal::new(0.0, spread).iid(ctx.records().dim("x")?))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
        })
    }
    fn written(ctx: &mut Ctx) -> Result<()> {
        let concentration = ctx.param("concentration", 3.0, Constraint::Positive)?;
        let spread = ctx.sample("spread", ppl_distributions::Gamma::new(concentration, 2.0))?;
        let loc = ctx.param("loc", ndarray::Array1::zeros(5), Constraint::Real)?;
        ctx.sample("w", Normal::new(loc, spread)).map(|_| ())
    }
    let x = Array2::from_shape_fn((300, 5), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
    let y = Array1::from_shape_fn(300, |i| (i % 2) as f64);
    let records =
        Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap());
    let guides: [Box<dyn Guide>; 5] = [
        Box::new(AutoDelta::new()),
        Box::new(AutoMultivariateNormal::new()),
        Box::new(AutoLowRankMultivariateNormal::new()),
        Box::new(AutoGuideList::new(AutoNormal::new()).with(["spread"], AutoDelta::new())),
        Box::new(HandWritten::new(written)),
    ];
    for guide in guides {
        let name = guide.describe();
        let mut training = DpVi::new(model, guide)
            .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
            .steps(30)
            .seed(Seed::for_tests(5))
            .start(&records)
            .unwrap();
        training.step().unwrap();
        let before = ALLOCATIONS.with(Cell::get);
        (0..29).for_each(|_| training.step().unwrap());
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "{name}");
    }
}

/// Probes decide how far they go where a round begins: of eight pairs each here, so thirteen times in a hundred steps.
#[test]
fn probes_allocate_where_a_round_begins() {
    let y = Array1::from_shape_fn(300, |i| (i % 7) as f64 / 3.0 - 1.0);
    let records = Sensitive::new(Records::from_columns([("x", Column::from(y))]).unwrap());
    let model = |ctx: &mut Ctx<'_>| {
        let (a, s) = (ctx.sample("a", Normal::new(0.0, 1.0))?, ctx.sample("s", HalfNormal::new(1.0))?);
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(a, s), record.get("x")?))
    };
    let mut training = DpVi::new(model, AutoNormal::new())
        .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
        .correction(Correction::Probes)
        .steps(400)
        .seed(Seed::for_tests(3))
        .start(&records)
        .unwrap();
    training.step().unwrap();
    let mut allocates = || {
        let before = ALLOCATIONS.with(Cell::get);
        training.step().unwrap();
        ALLOCATIONS.with(Cell::get) > before
    };
    assert_eq!((1..300).filter(|_| allocates()).count(), 0);
    let rounds = (300..400).filter(|_| allocates()).count();
    assert!((1..=13).contains(&rounds), "{rounds}");
}

#[test]
fn a_step_allocates_nothing() {
    let x = Array2::from_shape_fn((3000, 5), |(i, j)| ((i * 7 + j * 3) % 11) as f64 / 5.0 - 1.0);
    let y = Array1::from_shape_fn(3000, |i| (i % 2) as f64);
    let records =
        Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap());
    let mut training = DpVi::new(network, AutoNormal::new())
        .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
        .subsample(Poisson::rate(0.1).unwrap())
        .correction(Correction::None)
        .steps(400)
        .seed(Seed::for_tests(3))
        .start(&records)
        .unwrap();
    training.step().unwrap();
    let before = ALLOCATIONS.with(Cell::get);
    for _ in 0..399 {
        training.step().unwrap();
    }
    assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0);
    // The counter works.
    let boxed = std::hint::black_box(Box::new(training.done()));
    assert_eq!((*boxed, ALLOCATIONS.with(Cell::get) - before), (400, 1));
    assert!(training.step().unwrap_err().to_string().contains("no release left: 400 were paid for"));
}
