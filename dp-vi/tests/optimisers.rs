//! Optimisers: against optax, against their formulas written out as sums, and interrupted at every step.

use crate::common::BUDGET;
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoLaplace;
use dp_vi::optimiser::{
    AdaDp, Momentum, ParameterLayout, SavedState, ScaleByAdaGrad, ScaleByAdam, ScaleByName, ScaleByRms,
    ScaleBySchedule, ScaleByYogi, Schedule, StepIndex, Transformation, ada_grad, adam, momentum, rms_prop,
    sgd, yogi,
};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, Quantile, Sensitive};
use ppl_core::{Ctx, Records};
use ppl_distributions::Normal;
use proptest::prelude::*;

type Boxed = Box<dyn Transformation>;

const STEPS: u64 = 24;

/// The gradient of `tests/golden/optimisers.py`.
fn gradient(t: u64, x: &[f64]) -> Vec<f64> {
    let element =
        |(j, x): (usize, &f64)| (j as f64 + 1.0) * libm::sin(1.3 * t as f64 + 0.7 * j as f64) - x / 4.0;
    x.iter().enumerate().map(element).collect()
}

fn named(name: &str) -> Boxed {
    let rate = Schedule::Constant(0.05);
    let with = |schedule: Schedule| Box::new(adam(schedule).unwrap()) as Boxed;
    match name {
        "sgd" => Box::new(sgd(rate).unwrap()),
        "momentum" => Box::new(momentum(0.9, rate).unwrap()),
        "nesterov" => {
            let stage: Momentum = Momentum::new(0.9).unwrap().nesterov();
            Box::new(stage.then(ScaleBySchedule::new(rate).unwrap()))
        }
        "adam" => with(rate),
        "adagrad" => Box::new(ada_grad(rate).unwrap()),
        "rmsprop" => Box::new(rms_prop(rate).unwrap()),
        "yogi" => Box::new(yogi(rate).unwrap()),
        "adam_hold_then_cosine" => with(Schedule::HoldThenCosine(0.05)),
        "adam_warm_up_then_cosine" => with(Schedule::WarmUpThenCosine { rate: 0.05, steps: 5 }),
        "adam_step" => with(Schedule::Step { rate: 0.05, factor: 0.5, every: 7 }),
        "adadp_rejecting" => Box::new(AdaDp::new(0.5, 0.3).unwrap()),
        "adadp_growing" => Box::new(AdaDp::new(0.01, 0.3).unwrap()),
        other => panic!("no optimiser '{other}'"),
    }
}

const NAMES: [&str; 12] = [
    "sgd",
    "momentum",
    "nesterov",
    "adam",
    "adagrad",
    "rmsprop",
    "yogi",
    "adam_hold_then_cosine",
    "adam_warm_up_then_cosine",
    "adam_step",
    "adadp_rejecting",
    "adadp_growing",
];

fn prepared(mut optimiser: Boxed) -> Boxed {
    optimiser.init(&ParameterLayout::flat(3)).unwrap();
    optimiser
}

fn step(optimiser: &mut Boxed, x: &mut [f64], t: u64) {
    let mut g = gradient(t, x);
    optimiser.ascend(x, &mut g, StepIndex { step: t, steps: STEPS });
}

#[test]
fn runs_are_those_of_optax() {
    let golden = include_str!("golden/optimisers.csv");
    for name in NAMES {
        let mut optimiser = prepared(named(name));
        let mut x = [1.0, -2.0, 0.5];
        let mut lines = golden.lines().filter(|line| line.split(',').next() == Some(name));
        for t in 0..STEPS {
            step(&mut optimiser, &mut x, t);
            let numbers: Vec<f64> =
                lines.next().unwrap().split(',').skip(1).map(|n| n.parse().unwrap()).collect();
            assert_eq!(numbers[0], t as f64);
            for (x, want) in x.iter().zip(&numbers[1..]) {
                // Some thirty roundings a step of numbers up to 10, each passed on by later steps at most ten
                // times as large.
                assert!(
                    (x - want).abs() < 24.0 * 30.0 * 100.0 * f64::EPSILON,
                    "{name}, step {t}: {x} for {want}"
                );
            }
        }
        assert!(lines.next().is_none());
    }
    assert_eq!(golden.lines().count(), 1 + NAMES.len() * STEPS as usize);
}

#[test]
fn interrupted_anywhere_a_run_goes_on_bit_for_bit() {
    const START: [f64; 3] = [1.0, -2.0, 0.5];
    for name in NAMES {
        let mut whole = prepared(named(name));
        let mut straight = START;
        (0..STEPS).for_each(|t| step(&mut whole, &mut straight, t));
        for cut in 0..=STEPS {
            let (mut begun, mut x) = (prepared(named(name)), START);
            (0..cut).for_each(|t| step(&mut begun, &mut x, t));
            let mut numbers = Vec::new();
            begun.save(&mut numbers);
            let mut resumed = prepared(named(name));
            let mut state = SavedState::new(&numbers);
            resumed.restore(&mut state).unwrap();
            state.finish().unwrap();
            (cut..STEPS).for_each(|t| step(&mut resumed, &mut x, t));
            assert_eq!(x.map(f64::to_bits), straight.map(f64::to_bits), "{name}, cut {cut}");
            // A state that is too short or too long is an error.
            if let Some((_, short)) = numbers.split_last() {
                assert!(resumed.restore(&mut SavedState::new(short)).is_err(), "{name}");
            }
            numbers.push(0.0);
            let mut state = SavedState::new(&numbers);
            resumed.restore(&mut state).unwrap();
            assert!(state.finish().unwrap_err().to_string().contains("numbers"), "{name}");
        }
    }
}

#[test]
fn settings_are_part_of_the_description() {
    let mut seen: Vec<String> = NAMES.map(|name| named(name).describe()).to_vec();
    let more: [Boxed; 5] = [
        Box::new(ScaleByAdam::with(0.8, 0.999, 1e-8).unwrap()),
        Box::new(ScaleByAdaGrad::with(0.2, 1e-7).unwrap()),
        Box::new(ScaleByRms::with(0.8, 1e-8).unwrap()),
        Box::new(ScaleByYogi::with(0.9, 0.99, 1e-3, 1e-6).unwrap()),
        Box::new(ScaleByName::new([("w", 0.1)]).unwrap()),
    ];
    seen.extend(more.iter().map(|optimiser| optimiser.describe()));
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn settings_that_make_no_sense_are_errors_with_the_value() {
    let told = |error: Option<dp_vi::Error>| error.expect("refused").to_string();
    assert!(
        told(ScaleByAdam::<f64>::with(1.0, 0.9, 1e-8).err())
            .contains("first decay must be at least 0 and below 1, got 1")
    );
    assert!(told(ScaleByAdam::<f64>::with(0.9, 0.9, 0.0).err()).contains("epsilon must be positive"));
    assert!(told(ScaleByRms::<f64>::with(f64::NAN, 0.0).err()).contains("got NaN"));
    assert!(told(ScaleByYogi::<f64>::with(0.9, -0.1, 1e-3, 0.0).err()).contains("-0.1"));
    assert!(told(ScaleByAdaGrad::<f64>::with(-1.0, 0.0).err()).contains("-1"));
    assert!(told(Momentum::<f64>::new(1.5).err()).contains("1.5"));
    assert!(told(AdaDp::<f64>::new(0.1, 0.0).err()).contains("tolerance must be positive and finite, got 0"));
    assert!(
        told(AdaDp::<f64>::new(0.1, 1.0).unwrap().factors(1.2, 1.3).err()).contains("at most 1, got 1.2")
    );
    assert!(told(sgd(Schedule::Constant(0.0)).err()).contains("learning rate must be positive"));
    assert!(told(ScaleByName::new([("w", f64::INFINITY)]).err()).contains("inf"));
    let mut rates = ScaleByName::new([("v", 0.5)]).unwrap();
    let layout = ParameterLayout::new([("guide/w/loc", 2)]);
    let told = told(<ScaleByName as Transformation>::init(&mut rates, &layout).err());
    assert!(told.contains("'v'") && told.contains("guide/w/loc"), "{told}");
}

#[test]
fn rates_go_by_the_longest_name() {
    let mut rates = ScaleByName::new([("a", 2.0), ("a/b", 4.0)]).unwrap();
    let layout = ParameterLayout::new([("a/c", 1), ("a/b", 2), ("z", 1)]);
    <ScaleByName as Transformation>::init(&mut rates, &layout).unwrap();
    let mut x = [0.0; 4];
    rates.ascend(&mut x, &mut [1.0, 1.0, -1.0, 1.0], StepIndex { step: 0, steps: 1 });
    assert_eq!(x, [2.0, 4.0, -4.0, 1.0]);
}

#[test]
fn many_parameters_on_several_threads_are_updated_alike() {
    // Above 65,536 parameters the loops are shared among threads.
    let count = 100_000;
    for name in ["nesterov", "adam", "adagrad", "rmsprop", "yogi"] {
        let (mut long, mut short) = (named(name), named(name));
        long.init(&ParameterLayout::flat(count)).unwrap();
        short.init(&ParameterLayout::flat(7)).unwrap();
        let (mut x, mut y) = (vec![0.5; count], vec![0.5; 7]);
        for t in 0..4 {
            let g = |j: usize| ((j % 7) as f64 + 1.3 * t as f64).sin();
            let at = StepIndex { step: t, steps: 4 };
            long.ascend(&mut x, &mut (0..count).map(g).collect::<Vec<_>>(), at);
            short.ascend(&mut y, &mut (0..7).map(g).collect::<Vec<_>>(), at);
        }
        assert!(x.iter().enumerate().all(|(j, x)| *x == y[j % 7]), "{name}");
    }
}

/// `Σ_k d^(t−k) g_k` over the first `t + 1` gradients.
fn discounted(decay: f64, g: &[f64]) -> f64 {
    g.iter().rev().enumerate().map(|(age, g)| decay.powi(age as i32) * g).sum()
}

/// The update of a single parameter after gradients `g`, from the definition and all of history.
fn last_update(mut stage: impl Transformation, g: &[f64]) -> f64 {
    stage.init(&ParameterLayout::flat(1)).unwrap();
    let mut moved = 0.0;
    for (t, &g) in g.iter().enumerate() {
        let mut x = [0.0];
        stage.ascend(&mut x, &mut [g], StepIndex { step: t as u64, steps: 100 });
        moved = x[0];
    }
    moved
}

fn close(got: f64, want: f64) -> bool {
    // Forty steps of a few roundings each, and the same in the sums.
    (got - want).abs() <= 40.0 * 16.0 * f64::EPSILON * (1.0 + want.abs())
}

proptest! {
    #[test]
    fn updates_are_those_of_sums_over_all_of_history(
        g in proptest::collection::vec(-30.0..30.0_f64, 1..40),
        decay in 0.0..0.99_f64,
        second in 0.5..0.999_f64,
    ) {
        let squares: Vec<f64> = g.iter().map(|g| g * g).collect();
        let t = g.len() as i32;
        let trace = discounted(decay, &g);
        let last = g[g.len() - 1];
        prop_assert!(close(last_update(Momentum::new(decay).unwrap(), &g), trace));
        let nesterov = Momentum::new(decay).unwrap().nesterov();
        prop_assert!(close(last_update(nesterov, &g), decay * trace + last));

        let m = (1.0 - decay) * discounted(decay, &g) / (1.0 - decay.powi(t));
        let v = (1.0 - second) * discounted(second, &squares) / (1.0 - second.powi(t));
        let adam = last_update(ScaleByAdam::with(decay, second, 1e-6).unwrap(), &g);
        // The quotient passes on the absolute error of m, which is that of its largest term.
        let scale = 30.0 / (v.sqrt() + 1e-6);
        prop_assert!((adam - m / (v.sqrt() + 1e-6)).abs() <= 40.0 * 16.0 * f64::EPSILON * (1.0 + scale) / (1.0 - second));

        let sum: f64 = 0.1 + squares.iter().sum::<f64>();
        prop_assert!(close(last_update(ScaleByAdaGrad::with(0.1, 1e-7).unwrap(), &g), last / (sum + 1e-7).sqrt()));
        let mean = (1.0 - decay) * discounted(decay, &squares);
        prop_assert!(close(last_update(ScaleByRms::with(decay, 1e-3).unwrap(), &g), last / (mean + 1e-3).sqrt()));
    }

    /// Yogi's mean square never moves by more than `(1 − β₂)u²`, whatever the size of what it is: from a huge
    /// start it forgets slowly, from a tiny one it grows as Adam's does.
    #[test]
    fn yogi_moves_by_no_more_than_the_newest_square(u in 0.01..10.0_f64, start in 0.0..1000.0_f64) {
        let mut stage = ScaleByYogi::with(0.0, 0.75, 1e-3, start).unwrap();
        <ScaleByYogi as Transformation>::init(&mut stage, &ParameterLayout::flat(1)).unwrap();
        stage.ascend(&mut [0.0], &mut [u], StepIndex { step: 0, steps: 1 });
        let mut state = Vec::new();
        Transformation::<f64>::save(&stage, &mut state);
        let v = state[3];
        let expected = start + 0.25 * (u * u - start).signum() * u * u;
        prop_assert!((v - expected).abs() <= 4.0 * f64::EPSILON * (start + u * u), "{v} {expected}");
    }

    /// The pair of half steps of a linear field has an error that is known: ¼ η² |a| |g|.
    #[test]
    fn adadp_follows_the_error_of_its_whole_step(rate in 0.01..0.2_f64, slope in 0.1..1.0_f64, tolerance in 1e-4..1.0_f64) {
        let mut stage = AdaDp::new(rate, tolerance).unwrap();
        stage.init(&ParameterLayout::flat(1)).unwrap();
        let mut x = [-0.9];
        for step in 0..2 {
            let mut g = [-slope * x[0]];
            stage.ascend(&mut x, &mut g, StepIndex { step, steps: 2 });
        }
        let error = 0.25 * rate * rate * slope * slope * 0.9;
        let factor = (tolerance / error).sqrt().clamp(0.9, 1.1);
        prop_assert!((stage.rate() / (rate * factor) - 1.0).abs() < 1e-9, "{} {}", stage.rate(), rate * factor);
        let both = -0.9 * (1.0 - 0.5 * rate * slope).powi(2);
        let kept = if error > tolerance { -0.9 } else { both };
        prop_assert!((x[0] - kept).abs() < 1e-14);
    }
}

/// In single precision the same, to single precision.
#[test]
fn single_precision_is_the_same_to_its_precision() {
    let mut single = ScaleByAdam::<f32>::new().then(ScaleBySchedule::new(Schedule::Constant(0.05)).unwrap());
    single.init(&ParameterLayout::flat(3)).unwrap();
    let mut double = prepared(named("adam"));
    let (mut x, mut y) = ([1.0_f32, -2.0, 0.5], [1.0, -2.0, 0.5]);
    for t in 0..STEPS {
        let g = gradient(t, &y);
        let mut short: Vec<f32> = g.iter().map(|g| *g as f32).collect();
        single.ascend(&mut x, &mut short, StepIndex { step: t, steps: STEPS });
        double.ascend(&mut y, &mut g.clone(), StepIndex { step: t, steps: STEPS });
        for (x, y) in x.iter().zip(&y) {
            assert!((f64::from(*x) - y).abs() < 24.0 * 30.0 * f64::from(f32::EPSILON), "{t}: {x} {y}");
        }
    }
}

/// A slope, and a few records whose feature is 40 times as long as that of others.
fn slope(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(record.get("x")? * w, 1.0), record.get("y")?))
}

/// Noise moves the slope, which makes gradients of long records longer, which the clip norm follows, and with it the
/// noise: without a bound the norm is 4e4 and more after 300 steps, and the slope -60 or 85 where .1 is right (a
/// simulation of the same sums apart from this crate, three seeds). Steps of Adam are as long whatever the norm is, and
/// it is left alone.
#[test]
fn a_clip_norm_does_not_run_away_with_plain_ascent() {
    let x: Vec<f64> = (0..5000).map(|k| if k % 10 == 0 { 40.0 } else { 1.0 }).collect();
    let y: Vec<f64> =
        x.iter().enumerate().map(|(k, x)| 0.1 * x + [1.0, -1.0][k % 2] * (k % 7) as f64 / 3.6).collect();
    let records = Sensitive::new(Records::from_columns([("x", x), ("y", y)]).unwrap());
    let run = |optimiser: Boxed| {
        DpVi::new(slope, AutoLaplace::new())
            .budget(BUDGET)
            .public_records(5000)
            .draw_scheme(DrawScheme::Single)
            .correction(Correction::TraceRegression)
            .subsample(FullBatch)
            .steps(300)
            .seed(Seed::for_tests(4))
            .optimiser(optimiser)
    };
    // A hundredth of what is stable for a feature of typical length.
    let rate = Schedule::Constant(0.02 / 5000.0);
    let half = Schedule::Constant(0.01 / 5000.0);
    for optimiser in [Box::new(sgd(rate).unwrap()) as Boxed, Box::new(momentum(0.5, half).unwrap())] {
        let vi = run(optimiser);
        let plan = vi.plan(records.schema()).unwrap();
        assert_eq!(plan.most_clip_norm, Some(6.0 * plan.clip_norm));
        assert!(plan.explain().contains("at most 6"), "{}", plan.explain());
        let fit = vi.fit(&records).unwrap();
        let last = fit.privacy().last_clip_norm.unwrap();
        let slope = fit.uncorrected().mean("w").unwrap()[[]];
        assert!(last <= 6.0 * plan.clip_norm && (slope - 0.1).abs() < 0.1, "{last} {slope}");
    }
    for optimiser in [adam(rate).map(|o| Box::new(o) as Boxed), rms_prop(rate).map(|o| Box::new(o) as Boxed)]
    {
        assert_eq!(run(optimiser.unwrap()).plan(records.schema()).unwrap().most_clip_norm, None);
    }
    let named = Clipping::Quantile(Quantile::default());
    let plan =
        run(Box::new(sgd(rate).unwrap())).clip_norm(0.5).clipping(named).plan(records.schema()).unwrap();
    assert_eq!(plan.most_clip_norm, Some(3.0));
    let plan = run(Box::new(sgd(rate).unwrap())).clipping(Clipping::Flat).plan(records.schema()).unwrap();
    assert_eq!(plan.most_clip_norm, None);
}
