//! Whole fits: recovery of a known posterior, the statement, and everything that must be refused.

use dp_accountant::{Accountant, Budget, Relation};
use dp_sampler::{FixedSize, FullBatch, Poisson, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::optimiser::Schedule;
use dp_vi::{DpVi, Fit, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Ctx, Records, Result};
use ppl_distributions::{Bernoulli, HalfNormal, Normal};
use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{fraction, logistic};

const TRUTH: [f64; 3] = [1.0, -2.0, 0.5];

fn people(count: usize) -> Sensitive<Records> {
    let x = Array2::from_shape_fn((count, 3), |(i, j)| 4.0 * fraction(3 * i + j) - 2.0);
    let y = Array1::from_shape_fn(count, |i| {
        let logit: f64 = (0..3).map(|j| x[[i, j]] * TRUTH[j]).sum();
        f64::from(fraction(1_000_003 + i) < 1.0 / (1.0 + (-logit).exp()))
    });
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

fn budget(epsilon: f64) -> Budget {
    Budget { epsilon, delta: 1e-5, relation: Relation::AddRemove }
}

fn private(records: &Sensitive<Records>, seed: u64) -> Fit {
    DpVi::new(logistic, AutoNormal::new())
        .budget(budget(1.0))
        .subsample(Poisson::rate(0.05).unwrap())
        .steps(1000)
        .seed(Seed::for_tests(seed))
        .fit(records)
        .unwrap()
}

/// Newton's method on the log posterior, and the curvature there: what the guide should find without privacy.
fn laplace(count: usize) -> (Vec<f64>, Vec<f64>) {
    let x = Array2::from_shape_fn((count, 3), |(i, j)| 4.0 * fraction(3 * i + j) - 2.0);
    let y = |i: usize| {
        let logit: f64 = (0..3).map(|j| x[[i, j]] * TRUTH[j]).sum();
        f64::from(fraction(1_000_003 + i) < 1.0 / (1.0 + (-logit).exp()))
    };
    let mut w = [0.0; 3];
    let mut h = [[0.0; 3]; 3];
    for _ in 0..30 {
        let mut g = w.map(|w| -w / 16.0);
        h = [[0.0; 3]; 3];
        (0..3).for_each(|j| h[j][j] = 1.0 / 16.0);
        for i in 0..count {
            let logit: f64 = (0..3).map(|j| x[[i, j]] * w[j]).sum();
            let p = 1.0 / (1.0 + (-logit).exp());
            for j in 0..3 {
                g[j] += (y(i) - p) * x[[i, j]];
                for k in 0..3 {
                    h[j][k] += p * (1.0 - p) * x[[i, j]] * x[[i, k]];
                }
            }
        }
        // Gauss–Jordan on [h | g].
        let (mut a, mut b) = (h, g);
        for j in 0..3 {
            let pivot = a[j][j];
            (0..3).for_each(|k| a[j][k] /= pivot);
            b[j] /= pivot;
            for r in (0..3).filter(|&r| r != j) {
                let factor = a[r][j];
                (0..3).for_each(|k| a[r][k] -= factor * a[j][k]);
                b[r] -= factor * b[j];
            }
        }
        (0..3).for_each(|j| w[j] += b[j]);
    }
    // Mean field: the standard deviation is that of the conditional, 1/√h_jj.
    (w.to_vec(), (0..3).map(|j| 1.0 / f64::sqrt(h[j][j])).collect())
}

#[test]
fn without_privacy_the_posterior_is_found() {
    let count = 2000;
    let fit = DpVi::new(logistic, AutoNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(1500)
        .schedule(Schedule::HoldThenCosine(0.02))
        .seed(Seed::for_tests(1))
        .fit(&people(count))
        .unwrap();
    let (mean, sd) = laplace(count);
    let (got_mean, got_sd) = (fit.posterior().mean("w").unwrap(), fit.posterior().sd("w").unwrap());
    for j in 0..3 {
        // The Laplace approximation and the variational optimum differ by O(1/N); single draws add noise of
        // their own.
        assert!((got_mean[j] - mean[j]).abs() < 0.15 * sd[j], "{} against {}", got_mean[j], mean[j]);
        assert!((got_sd[j] / sd[j] - 1.0).abs() < 0.1, "{} against {}", got_sd[j], sd[j]);
    }
    assert!(!fit.privacy().is_private());
    assert!(fit.privacy().to_string().starts_with("NOT PRIVATE. No gradient was clipped"));
}

#[test]
fn with_privacy_the_signs_and_sizes_are_found() {
    let fit = private(&people(5000), 2);
    let w = fit.posterior().mean("w").unwrap();
    for j in 0..3 {
        assert!((w[j] - TRUTH[j]).abs() < 0.35, "{w}");
    }
}

#[test]
fn the_statement_is_what_the_accountant_says() {
    let fit = private(&people(500), 3);
    let report = fit.privacy();
    let epsilon = report.epsilon.as_ref().unwrap();
    assert!(epsilon.lower <= epsilon.upper && epsilon.upper <= 1.0 && epsilon.upper > 0.99, "{epsilon:?}");
    // Account for the same run from the numbers in the plan, independently: the steps, the curvature, and where
    // the columns lie.
    let plan = DpVi::new(logistic, AutoNormal::new())
        .budget(budget(1.0))
        .subsample(Poisson::rate(0.05).unwrap())
        .steps(1000)
        .plan(people(3).schema())
        .unwrap();
    let gaussian = |noise_multiplier, sampling| {
        dp_accountant::Event::new(dp_accountant::Mechanism::Gaussian { noise_multiplier }, sampling).unwrap()
    };
    let step = gaussian(report.noise_multiplier.unwrap(), dp_accountant::Sampling::Poisson { rate: 0.05 });
    let curvature = gaussian(plan.curvature.unwrap().noise_multiplier, dp_accountant::Sampling::None);
    let octaves = plan.octaves.unwrap().event;
    let again = Accountant::new(Relation::AddRemove)
        .compose(step, 1000)
        .compose(curvature, 1)
        .compose(octaves, 1)
        .epsilon(1e-5)
        .unwrap();
    assert!(again.lower <= epsilon.upper && epsilon.lower <= again.upper);
    assert_eq!(report.releases.len(), 3);
    for (event, what) in [(curvature, "curvature"), (octaves, "octaves of the columns")] {
        assert!(report.to_string().contains(&format!("1 x {event} ({what})")), "{report}");
    }
    let text = report.to_string();
    assert!(text.starts_with("NOT PRIVATE. The seed is a fixed one for tests"), "{text}");
    assert!(
        text.contains("adding or removing one person's record") && text.contains("1000 releases"),
        "{text}"
    );
    assert!(!report.is_private() && !report.secret_seed);
}

#[test]
fn a_secret_seed_makes_it_private_and_different_each_time() {
    let records = people(200);
    let fit = || {
        DpVi::new(logistic, AutoNormal::new())
            .budget(budget(0.5))
            .subsample(FullBatch)
            .steps(20)
            .fit(&records)
            .unwrap()
    };
    let (a, b) = (fit(), fit());
    assert!(a.privacy().is_private() && a.privacy().to_string().starts_with("(0."));
    assert_ne!(a.posterior().mean("w").unwrap(), b.posterior().mean("w").unwrap());
}

#[test]
fn a_test_seed_reproduces_a_run_bit_for_bit() {
    let records = people(300);
    let (a, b, c) = (private(&records, 7), private(&records, 7), private(&records, 8));
    let bits = |fit: &Fit| fit.posterior().mean("w").unwrap().mapv(f64::to_bits);
    assert_eq!(bits(&a), bits(&b));
    assert_ne!(bits(&a), bits(&c));
}

#[test]
fn constrained_latents_and_parameters_are_fitted() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        let centre = ctx.param("centre", 0.0, Constraint::Real)?;
        let spread = ctx.sample("spread", HalfNormal::new(5.0))?;
        ctx.each_record(|ctx, record| ctx.observe("v", Normal::new(centre, spread), record.get("v")?))
    }
    let n = 4000;
    let values: Vec<f64> =
        (0..n).map(|i| 1.0 + 2.0 * ((0..12).map(|k| fraction(12 * i + k)).sum::<f64>() - 6.0)).collect();
    let records = Sensitive::new(Records::from_columns([("v", values)]).unwrap());
    let fit = DpVi::new(model, AutoNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(2000)
        .seed(Seed::for_tests(5))
        .fit(&records)
        .unwrap();
    let (centre, spread) = (fit.posterior().mean("centre").unwrap(), fit.posterior().mean("spread").unwrap());
    assert!((centre[[]] - 1.0).abs() < 0.15 && (spread[[]] - 2.0).abs() < 0.1, "{centre} {spread}");
    assert_eq!(fit.posterior().sd("centre").unwrap()[[]], 0.0);
    // The posterior sd of a scale is about spread/√(2N).
    let sd = fit.posterior().sd("spread").unwrap()[[]];
    assert!((sd / (2.0 / (2.0 * n as f64).sqrt()) - 1.0).abs() < 0.2, "{sd}");
    let (low, high) = fit.posterior().interval("spread", 0.9).unwrap();
    assert!(low[[]] > 0.0 && low[[]] < spread[[]] && spread[[]] < high[[]]);
}

#[test]
fn progress_is_told() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&seen);
    DpVi::new(logistic, AutoNormal::new())
        .without_privacy()
        .subsample(FullBatch)
        .steps(450)
        .on_progress(move |progress| log.borrow_mut().push(progress.done))
        .fit(&people(10))
        .unwrap();
    let seen = seen.borrow();
    assert_eq!(*seen.last().unwrap(), 450);
    assert!(seen.len() > 100 && seen.len() <= 226 && seen.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn what_has_no_default_must_be_said_and_nonsense_is_refused() {
    let records = people(10);
    let ready = || DpVi::new(logistic, AutoNormal::new()).subsample(Poisson::rate(0.5).unwrap()).steps(10);
    let told = |result: dp_vi::Result<Fit>| result.err().unwrap().to_string();
    assert!(told(ready().fit(&records)).contains("the budget is missing"));
    assert!(told(ready().budget(budget(1.0)).without_privacy().fit(&records)).contains("choose one"));
    assert!(
        told(ready().steps(0).budget(budget(1.0)).fit(&records))
            .contains("number of steps must be between 1 and 10^9, got 0")
    );
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(told(ready().budget(budget(epsilon)).fit(&records)).contains("epsilon"), "{epsilon}");
    }
    for delta in [0.0, 1.0, -1e-5, f64::NAN] {
        let budget = Budget { delta, ..budget(1.0) };
        assert!(told(ready().budget(budget).fit(&records)).contains("delta"), "{delta}");
    }
    for clip_norm in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
        assert!(
            told(ready().budget(budget(1.0)).clip_norm(clip_norm).fit(&records))
                .contains("clip norm must be")
        );
    }
    for rate in [0.0, f64::NAN, -0.1] {
        let told = told(ready().budget(budget(1.0)).schedule(Schedule::Constant(rate)).fit(&records));
        assert!(told.contains("learning rate must be positive"), "{told}");
    }
    assert!(
        told(ready().budget(budget(1.0)).average_tail(1.5).fit(&records))
            .contains("average must be between 0 and 1")
    );
    assert!(AutoNormal::new().initial_scale(0.0).is_err());
}

#[test]
fn a_sampling_scheme_without_a_bound_is_refused_not_guessed() {
    let records = people(50);
    let fit = DpVi::new(logistic, AutoNormal::new())
        .subsample(FixedSize::batch(10).unwrap())
        .steps(10)
        .budget(budget(1.0))
        .fit(&records);
    let told = fit.err().unwrap().to_string();
    assert!(told.contains("without replacement") && told.contains("Poisson"), "{told}");
    // Where the number of records is no secret it has an event, which costs far more than a Poisson sample of
    // the same rate.
    let sigma = |fit: dp_vi::Result<dp_vi::Fit>| {
        let fit = fit.unwrap();
        assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 1.0);
        fit.privacy().noise_multiplier.unwrap()
    };
    let vi = || {
        DpVi::new(logistic, AutoNormal::new())
            .steps(10)
            .budget(Budget { relation: Relation::ReplaceOne, ..budget(1.0) })
    };
    let fixed = sigma(vi().subsample(FixedSize::batch(10).unwrap()).fit(&records));
    let poisson = sigma(vi().subsample(Poisson::rate(0.2).unwrap()).fit(&records));
    assert!(fixed > 1.02 * poisson, "{fixed} {poisson}");
    // The same sampler is welcome where nothing is claimed.
    let fit = DpVi::new(logistic, AutoNormal::new())
        .subsample(FixedSize::batch(10).unwrap())
        .steps(10)
        .without_privacy()
        .fit(&records);
    assert!(fit.is_ok());
}

#[test]
fn models_without_anything_to_infer_are_refused() {
    let records = people(10);
    let told = |model: fn(&mut Ctx) -> Result<()>| {
        let fit =
            DpVi::new(model, AutoNormal::new()).subsample(FullBatch).steps(1).without_privacy().fit(&records);
        fit.err().unwrap().to_string()
    };
    assert_eq!(
        told(|ctx| ctx.sample("w", Normal::new(0.0, 1.0)).map(|_| ())),
        "this model observes nothing inside each_record; one of public data alone is fitted with fit_public"
    );
    assert_eq!(
        told(|ctx| ctx.each_record(|ctx, record| ctx.observe(
            "y",
            Bernoulli::from_logits(0.0),
            record.get("y")?
        ))),
        "this model has no latent value or parameter that the records depend on"
    );
    assert!(
        told(|ctx| ctx.each_record(|_, record| record.get("age").map(|_| ()))).contains("no column 'age'")
    );
    let wrong = Sensitive::new(
        Records::from_columns([
            ("x", Column::from(Array2::<f64>::zeros((2, 3)))),
            ("y", Column::from(vec![0.0, 3.0])),
        ])
        .unwrap(),
    );
    let fit =
        DpVi::new(logistic, AutoNormal::new()).subsample(FullBatch).steps(1).without_privacy().fit(&wrong);
    assert!(fit.err().unwrap().to_string().contains("site 'y': an observation is outside the support"));
}

#[test]
fn no_records_still_give_a_noisy_answer() {
    // Under add/remove, nobody may be able to tell that there was no one.
    let empty = Records::from_columns([
        ("x", Column::from(Array2::<f64>::zeros((0, 3)))),
        ("y", Column::from(Vec::<f64>::new())),
    ])
    .unwrap();
    let empty = Sensitive::new(empty);
    for run in 0..2 {
        let vi = DpVi::new(logistic, AutoNormal::new()).steps(20).budget(budget(1.0));
        let fit = match run {
            0 => vi.subsample(Poisson::rate(0.5).unwrap()).fit(&empty),
            _ => vi.subsample(FullBatch).fit(&empty),
        };
        assert!(
            fit.unwrap().posterior().mean("w").unwrap().iter().all(|mean| *mean != 0.0 && mean.is_finite())
        );
    }
}

#[test]
fn errors_do_not_quote_the_records_or_their_number() {
    let y = Column::from(vec![0.0, 73_250.0]);
    let records =
        Records::from_columns([("x", Column::from(Array2::<f64>::zeros((2, 3)))), ("y", y)]).unwrap();
    let vi = || DpVi::new(logistic, AutoNormal::new()).steps(5).budget(budget(1.0));
    let told = vi().subsample(FullBatch).fit(&Sensitive::new(records)).err().unwrap().to_string();
    assert_eq!(told, "site 'y': an observation is outside the support (0 or 1)");
    let told =
        vi().subsample(FixedSize::batch(1_000_000).unwrap()).fit(&people(777)).err().unwrap().to_string();
    assert!(!told.contains("777"), "{told}");
}

#[test]
fn a_guide_that_does_not_fit_is_an_error() {
    struct Broken(u8);
    impl dp_vi::guides::Guide for Broken {
        fn build<'g>(
            &self,
            target: dp_vi::guides::GuideTarget<'_, 'g>,
            noise: &mut ppl_core::Noise<'g>,
        ) -> dp_vi::Result<dp_vi::guides::GuideProgram<'g>> {
            let mut program = AutoNormal::new().build(target, noise)?;
            match self.0 {
                0 => drop(program.values.pop()),
                1 => program.parameters[0].initial.push(1.0),
                2 => program.values[0] = program.values[0].sum(),
                3 => program.entropy = program.values[0],
                4 => program.parameters[0].name = "elsewhere".to_owned(),
                _ => program.parameters[1].name = program.parameters[0].name.clone(),
            }
            Ok(program)
        }
        fn describe(&self) -> &'static str {
            "broken on purpose"
        }
    }
    let records = people(20);
    for kind in 0..6 {
        let fit =
            DpVi::new(logistic, Broken(kind)).subsample(FullBatch).steps(2).without_privacy().fit(&records);
        let told = fit.err().unwrap_or_else(|| panic!("kind {kind} went through")).to_string();
        assert!(told.starts_with("the guide (broken on purpose) "), "{kind}: {told}");
    }
}

#[test]
fn the_statement_is_rounded_to_the_safe_side() {
    let records = people(20);
    for epsilon in [4e-7, 0.123_454_26, 1.0, 12.345_678_9] {
        let fit = DpVi::new(logistic, AutoNormal::new())
            .subsample(FullBatch)
            .steps(3)
            .budget(budget(epsilon))
            .fit(&records)
            .unwrap();
        let text = fit.privacy().to_string();
        let stated: f64 = text[1..text.find(',').unwrap()].parse().unwrap();
        let upper = fit.privacy().epsilon.as_ref().unwrap().upper;
        assert!(stated >= upper && stated <= upper * 1.01, "{stated} for {upper}");
        let factor: f64 = text.split("<= ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        assert!(factor >= upper.exp(), "{factor} for e^{upper}");
    }
}

#[test]
fn replacing_a_record_needs_twice_the_noise_of_removing_one() {
    let records = people(50);
    let sigma = |relation| {
        let fit = DpVi::new(logistic, AutoNormal::new())
            .subsample(FullBatch)
            .steps(5)
            .budget(Budget { relation, ..budget(1.0) })
            .fit(&records)
            .unwrap();
        assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 1.0);
        fit.privacy().noise_multiplier.unwrap()
    };
    let ratio = sigma(Relation::ReplaceOne) / sigma(Relation::AddRemove);
    // Each is calibrated to within about 1e-4.
    assert!((ratio - 2.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn a_run_without_privacy_ends_with_its_steps_too() {
    let model = |ctx: &mut Ctx<'_>| {
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    };
    let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])]).unwrap());
    let vi = DpVi::new(model, AutoNormal::new()).without_privacy().steps(3);
    let mut training = vi.start(&records).unwrap();
    (0..3).for_each(|_| training.step().unwrap());
    assert_eq!(training.left(), 0);
    assert!(training.step().unwrap_err().to_string().contains("no release left: 3"));
    assert_eq!(training.done(), 3);
}
