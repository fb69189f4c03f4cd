//! What is chosen where nothing was said, and that it keeps the budget without looking at any record.

use dp_accountant::{Budget, Ledger, Relation};
use dp_sampler::{FixedSize, FullBatch, Poisson, Scheme, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{
    Clipping, Correction, CurvatureShape, DpVi, DrawScheme, PrivacyNoise, PrivacyPlan, PrivateStart,
    Quantile, RecordWeights, Sensitive,
};
use ndarray::{Array1, Array2, arr0};
use ppl_core::{Column, Ctx, Distribution, Records, Schema, Shape};
use ppl_distributions::{HalfNormal, Normal};
use std::collections::BTreeMap;

use crate::common::{Written, budget, location, logistic};

fn schema(width: usize) -> Schema {
    Schema::new([("x", Shape::from(width)), ("y", Shape::scalar())]).unwrap()
}

fn add_remove() -> Budget {
    budget(1.0, Relation::AddRemove)
}

fn people(count: usize) -> Sensitive<Records> {
    let x =
        Array2::from_shape_fn((count, 2), |(i, j)| (((i * (3 + j) + j) * 7919) % 1000) as f64 / 250.0 - 2.0);
    let y = Array1::from_shape_fn(count, |i| {
        f64::from(x[[i, 0]] > x[[i, 1]] * 0.5 + ((i * 31) % 17) as f64 / 17.0 - 0.5)
    });
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

fn keeps(plan: &PrivacyPlan, epsilon: f64) -> bool {
    let upper = plan.calibrated.unwrap().epsilon.upper;
    upper <= epsilon && upper > 0.999 * epsilon
}

#[test]
fn a_budget_is_enough() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        for epsilon in [0.1, 1.0, 8.0] {
            let plan = DpVi::new(logistic, AutoNormal::new())
                .budget(budget(epsilon, relation))
                .plan(&schema(5))
                .unwrap();
            assert_eq!(
                (plan.steps, plan.draws, plan.clipping),
                (300, DrawScheme::Antithetic, Clipping::Flat)
            );
            assert!(matches!(plan.scheme, Scheme::Poisson { rate: 1.0, .. }), "{:?}", plan.scheme);
            assert!(plan.weighted && keeps(&plan, epsilon));
            // Residuals of a Bernoulli are at most 1/2.
            let bound = if epsilon < 2.0 { 0.5 } else { 1.0 };
            assert_eq!((plan.residual_bound, plan.clip_norm), (bound, bound * 5.0_f64.sqrt()));
            let curvature = plan.curvature.unwrap();
            assert_eq!(curvature.shape, CurvatureShape::Full);
            // 15 % of 1/σ² for it and 10 % for the octaves: σ_c = σ₁/√.15, σ_o = σ₁/√.1 and
            // σ = σ₁ √(300/.75).
            let ratio = plan.calibrated.unwrap().noise_multiplier / curvature.noise_multiplier;
            assert!((ratio / (300.0 * 0.15 / 0.75_f64).sqrt() - 1.0).abs() < 1e-3, "{ratio}");
            let ratio = plan.octaves.unwrap().noise_multiplier / curvature.noise_multiplier;
            assert!((ratio / 1.5_f64.sqrt() - 1.0).abs() < 1e-6, "{ratio}");
            // Full batches waste nothing, up to how exactly noise is calibrated.
            assert!((plan.waste.unwrap() - 1.0).abs() < 1e-3);
        }
    }
}

/// Many records can do with a smaller share for the octaves of the columns, and none is paid where they are of no
/// use.
#[test]
fn octaves_cost_what_the_stated_number_of_records_needs() {
    let run = || DpVi::new(logistic as Written, AutoNormal::new()).budget(add_remove()).subsample(FullBatch);
    let share = |run: DpVi<Written, AutoNormal, FullBatch>| {
        let plan = run.plan(&schema(5)).unwrap();
        let curvature = plan.curvature.unwrap().noise_multiplier;
        plan.octaves.map_or(0.0, |octaves| 0.15 * (curvature / octaves.noise_multiplier).powi(2))
    };
    let stated = |records| share(run().public_records(records));
    for (share, wanted) in [(share(run()), 0.1), (stated(1_000), 0.1), (stated(1_000_000), 0.01)] {
        assert!((share / wanted - 1.0).abs() < 1e-6, "{share} {wanted}");
    }
    // Between them the noise of a count is a 128th of the records, of √6 in norm for five features and an outcome.
    let fraction = stated(6_000) / stated(9_000);
    assert!((fraction / 2.25 - 1.0).abs() < 1e-6 && (0.01..0.1).contains(&stated(9_000)), "{fraction}");
    let hopeless = run().steps(1).budget(Budget { epsilon: 1.2e-5, delta: 1e-12, ..add_remove() });
    for off in [run().rough_fit(false), run().clip_norm(1.0), hopeless] {
        assert_eq!(share(off), 0.0);
    }
}

/// Octaves are drawn with exact noise, a draw of which is not quite what is accounted for, whatever the noise of the
/// steps is. What they cost is known before, so that a large budget is not found to be overspent afterwards.
#[test]
fn octaves_and_the_largest_budgets_go_together() {
    for epsilon in [100.0, 1e3, 1e5] {
        let budget = Budget { epsilon, ..add_remove() };
        let run = DpVi::new(logistic as Written, AutoNormal::new()).budget(budget).subsample(FullBatch);
        let plan = run.noise(PrivacyNoise::Continuous).plan(&schema(5)).unwrap();
        // What the draws deviate by leaves an epsilon of ln(δ/2τ) at the most, some 140.
        let upper = plan.calibrated.unwrap().epsilon.upper;
        assert!(
            plan.octaves.is_some() && upper <= epsilon && upper > 0.999 * epsilon.min(130.0),
            "{epsilon}: {upper}"
        );
    }
}

#[test]
fn a_named_rate_gets_as_many_steps_as_it_needs() {
    let vi = |rate: f64| {
        DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).subsample(Poisson::rate(rate).unwrap())
    };
    let mut before = 0;
    for rate in [0.5, 0.1, 0.02] {
        let plan = vi(rate).plan(&schema(5)).unwrap();
        assert!(
            keeps(&plan, 1.0) && plan.waste.unwrap() <= 1.05 && plan.steps >= 300.max(before),
            "{plan:?}"
        );
        // A quarter of the steps would waste more, unless that is the least there is.
        let few = vi(rate).steps((plan.steps / 4).max(1)).plan(&schema(5)).unwrap();
        assert!(plan.steps == 300 || few.waste.unwrap() > 1.05, "{rate}: {} {:?}", plan.steps, few.waste);
        before = plan.steps;
    }
    assert!(before > 1000);
}

#[test]
fn a_compute_limit_is_kept_and_needs_a_stated_number() {
    let vi = || DpVi::new(logistic, AutoNormal::new()).budget(add_remove());
    let told = vi().compute_limit(1e6).plan(&schema(5)).unwrap_err().to_string();
    assert!(told.contains("a public number of records is missing"), "{told}");
    let work = |plan: &PrivacyPlan, records: f64| {
        let Scheme::Poisson { rate, .. } = plan.scheme else { panic!("a Poisson sample") };
        rate * plan.steps as f64 * records
    };
    for limit in [3e6, 1e6, 3e5, 1e5, 2e4] {
        let plan = vi().public_records(10_000).compute_limit(limit).plan(&schema(5)).unwrap();
        assert!(work(&plan, 1e4) <= limit && keeps(&plan, 1.0), "{limit}: {plan:?}");
    }
    // What full batches need is allowed: they are taken.
    let plenty = vi().public_records(10_000).compute_limit(3e6).plan(&schema(5)).unwrap();
    assert_eq!(plenty.steps, 300);
    assert!(vi().public_records(1_000_000).compute_limit(1.0).plan(&schema(5)).is_err());
    for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(vi().public_records(10).compute_limit(limit).plan(&schema(5)).is_err(), "{limit}");
    }
}

#[test]
fn an_explanation_names_what_was_chosen_and_what_it_costs() {
    let plan = DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).plan(&schema(5)).unwrap();
    let text = plan.explain();
    for words in [
        "at delta 1e-5, under add/remove",
        "300 steps on each record independently with probability 1",
        "generalised linear term",
        "a mirrored pair",
        "corrected for the noise",
        "one release of the curvature",
    ] {
        assert!(text.contains(words), "'{words}' is not in\n{text}");
    }
    // A delta at which records may be published whole.
    for (records, is_told) in [(10_000, false), (200_000, true)] {
        let vi = DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).public_records(records);
        assert_eq!(vi.plan(&schema(5)).unwrap().explain().contains("delta: 1e-5 times 200000"), is_told);
    }
    let bare = DpVi::new(logistic, AutoNormal::new()).without_privacy().plan(&schema(5)).unwrap();
    assert!(bare.explain().starts_with("NOT PRIVATE"));
}

#[test]
fn other_likelihoods_are_clipped_to_a_norm_that_adapts() {
    let vi = || DpVi::new(location, AutoNormal::new()).budget(add_remove());
    let plan = vi().plan(&schema(1)).unwrap();
    assert!(plan.clipping == Clipping::Adaptive && !plan.weighted && plan.curvature.is_none());
    // What it needs to know is released, unless it was stated or is public.
    assert!(plan.count.is_some() && plan.explain().contains("number of records: released"));
    let plan = vi().public_records(1000).plan(&schema(1)).unwrap();
    assert!(plan.clipping == Clipping::Adaptive && plan.count.is_none());
    let replace_one = Budget { relation: Relation::ReplaceOne, ..add_remove() };
    let plan = DpVi::new(location, AutoNormal::new()).budget(replace_one).plan(&schema(1)).unwrap();
    assert!(plan.clipping == Clipping::Adaptive && plan.count.is_none());
    let named = vi().clipping(Clipping::Quantile(Quantile::default())).plan(&schema(1)).unwrap();
    assert!(named.clipping == Clipping::Quantile(Quantile::default()) && named.count.is_some());
    let plan = vi().without_privacy().plan(&schema(1));
    assert!(plan.is_err(), "a budget and no privacy");
    let plan = vi().public_records(1000).clip_norm(2.0).plan(&schema(1)).unwrap();
    assert_eq!(plan.clipping, Clipping::Flat);
    // Its curvature is that of its scores, if one is wanted: as large as the norm that gradients have at first.
    let plan =
        vi().public_records(1000).clip_norm(2.0).correction(Correction::Full).plan(&schema(1)).unwrap();
    let curvature = plan.curvature.unwrap();
    assert!(curvature.by_scores && !curvature.with_scores && curvature.clip_norm == 4.0);
    assert!(plan.explain().contains("the scores' second moments"), "{}", plan.explain());
    // By hand: no weights for a term that would have them.
    let plain = DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).weights(RecordWeights::None);
    let plan = plain.plan(&schema(5)).unwrap();
    assert!(!plan.weighted && plan.curvature.is_none());
    // Many elements: the diagonal.
    let wide = DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).plan(&schema(129)).unwrap();
    assert_eq!(wide.curvature.unwrap().shape, CurvatureShape::Diagonal);
}

/// A norm of the curvature is for likelihoods of unbounded slope in one number that is linear, and releases their own.
#[test]
fn a_norm_of_the_curvature_is_for_one_linear_number() {
    fn counts(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(3))?;
        ctx.each_record(|ctx, record| {
            let rate = ppl_distributions::Poisson::from_log_rate(record.get("x")?.dot(w));
            ctx.observe("y", rate, record.get("y")?)
        })
    }
    fn own_scale(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(3))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(record.get("x")?.dot(w), sigma), record.get("y")?)
        })
    }
    let of = |norm: f64| {
        DpVi::new(counts, AutoNormal::new())
            .budget(add_remove())
            .correction(Correction::Full)
            .curvature_norm(norm)
    };
    let plan = of(7.0).plan(&schema(3)).unwrap();
    let curvature = plan.curvature.unwrap();
    assert!(!curvature.by_scores && !curvature.with_scores && curvature.clip_norm == 7.0, "{curvature:?}");
    assert!(plan.explain().contains("release of the curvature (all of it)"), "{}", plan.explain());
    let diagonal = of(7.0).correction(Correction::Diagonal).plan(&schema(3)).unwrap();
    assert_eq!(diagonal.curvature.unwrap().shape, CurvatureShape::Diagonal);
    let refused = |error: dp_vi::Error, part: &str| assert!(error.to_string().contains(part), "{error}");
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e101] {
        refused(of(norm).plan(&schema(3)).unwrap_err(), "between 1e-4 and 1e100");
    }
    refused(of(7.0).correction(Correction::None).plan(&schema(3)).unwrap_err(), "none is released");
    let two = DpVi::new(own_scale, AutoNormal::new()).budget(add_remove()).correction(Correction::Full);
    refused(two.curvature_norm(1.0).plan(&schema(3)).unwrap_err(), "one number that is linear");
    let bounded = DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).correction(Correction::Full);
    refused(bounded.curvature_norm(1.0).plan(&schema(3)).unwrap_err(), "follows from the clip norm");
}

#[test]
fn nonsense_is_refused() {
    let vi = || DpVi::new(logistic, AutoNormal::new()).budget(add_remove());
    for share in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(vi().curvature_share(share).plan(&schema(5)).is_err(), "{share}");
        let start = PrivateStart { candidates: vec![BTreeMap::new()], range: (-1.0, 0.0), share };
        assert!(vi().private_start(start).plan(&schema(5)).is_err(), "{share}");
    }
    for range in [(0.0, 0.0), (1.0, -1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let start = PrivateStart { candidates: vec![BTreeMap::new()], range, share: 0.2 };
        assert!(vi().private_start(start).plan(&schema(5)).is_err(), "{range:?}");
    }
    let none = PrivateStart { candidates: Vec::new(), range: (-1.0, 0.0), share: 0.2 };
    assert!(vi().private_start(none).plan(&schema(5)).is_err());
    assert!(vi().public_records(0).plan(&schema(5)).is_err());
    assert!(vi().clip_norm(f64::NAN).plan(&schema(5)).is_err());
    // A record that takes part with a probability below δ would need no noise at all.
    let sampled = |rate: f64, steps: u64| vi().subsample(Poisson::rate(rate).unwrap()).steps(steps);
    let told = sampled(1e-9, 400).plan(&schema(5)).unwrap_err().to_string();
    assert!(told.contains("the sampling rate times the number of steps must be above"), "{told}");
    assert!(vi().subsample(Poisson::rate(1e-12).unwrap()).plan(&schema(5)).is_err());
    assert!(sampled(1e-3, 400).plan(&schema(5)).is_ok());
    let target = Quantile { target: 1.0, ..Quantile::default() };
    assert!(vi().public_records(5).clipping(Clipping::Quantile(target)).plan(&schema(5)).is_err());
    // Candidates that do not fit the model.
    let records = people(10);
    let mut ledger = Ledger::new(add_remove()).unwrap();
    let mut told = |name: &str, values: ndarray::ArrayD<f64>| {
        let candidates = vec![BTreeMap::from([(name.to_owned(), values)])];
        let start = PrivateStart { candidates, range: (-1.0, 0.0), share: 0.2 };
        let run = vi().private_start(start).seed(Seed::for_tests(1));
        let told = run.fit_from(&records, &mut ledger).err().unwrap().to_string();
        assert!(ledger.debits().is_empty());
        told
    };
    assert!(told("v", arr0(1.0).into_dyn()).contains("no site 'v'"));
    assert!(told("w", arr0(1.0).into_dyn()).contains("shape"));
}

/// The plan that a run follows is the plan that was told, for as many records as there happen to be.
#[test]
fn a_run_under_add_remove_does_not_depend_on_the_number_of_records() {
    let vi =
        || DpVi::new(logistic, AutoNormal::new()).budget(add_remove()).steps(20).seed(Seed::for_tests(1));
    let plan = vi().plan(&Schema::new([("x", Shape::from(2)), ("y", Shape::scalar())]).unwrap()).unwrap();
    let sigma = plan.calibrated.unwrap().noise_multiplier;
    for count in [0, 1, 2, 700] {
        let fit = vi().fit(&people(count)).unwrap();
        assert_eq!(fit.privacy().noise_multiplier.unwrap().to_bits(), sigma.to_bits(), "{count}");
        assert!(fit.posterior().mean("w").unwrap().iter().all(|mean| mean.is_finite() && *mean != 0.0));
        assert!(fit.posterior().sd("w").unwrap().iter().all(|sd| sd.is_finite() && *sd > 0.0));
    }
}

#[test]
fn fixed_batches_under_replace_one_are_planned_with_the_number_stated() {
    let budget = budget(1.0, Relation::ReplaceOne);
    let vi = || {
        DpVi::new(logistic, AutoNormal::new())
            .budget(budget)
            .subsample(FixedSize::batch(50).unwrap())
            .steps(50)
    };
    let plan = vi().public_records(400).plan(&schema(2)).unwrap();
    let fit = vi().seed(Seed::for_tests(2)).fit(&people(400)).unwrap();
    assert_eq!(fit.privacy().noise_multiplier, plan.calibrated.map(|calibrated| calibrated.noise_multiplier));
}

/// A private start is paid from the same budget, and works on one record and on none.
#[test]
fn a_private_start_is_paid_for() {
    let candidates = [-3.0, 0.0, 3.0].map(|m| BTreeMap::from([("m".to_owned(), arr0(m).into_dyn())]));
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        for count in [0, 1, 400] {
            // Under replace-one the number of records is public, and none is an error.
            if count == 0 && relation == Relation::ReplaceOne {
                continue;
            }
            let records = Records::from_columns([("y", vec![3.0; count])]).unwrap();
            let start = PrivateStart { candidates: candidates.to_vec(), range: (-8.0, -1.0), share: 0.2 };
            let fit = DpVi::new(location, AutoNormal::new())
                .budget(budget(1.0, relation))
                .clip_norm(1.0)
                // Too slow to get anywhere, so that the outcome tells the start.
                .schedule(dp_vi::optimiser::Schedule::Constant(1e-6))
                .steps(5)
                .private_start(start)
                .seed(Seed::for_tests(6))
                .fit(&Sensitive::new(records))
                .unwrap();
            let report = fit.privacy();
            assert!(report.epsilon.as_ref().unwrap().upper <= 1.0);
            assert_eq!(report.releases[0].what, "private start");
            assert_eq!(report.releases[0].event.to_string(), "mechanism with epsilon 0.2, no sampling");
            // 400 records that fit one candidate by far: the others have probability below e^-30.
            let m = fit.posterior().mean("m").unwrap()[[]];
            assert!(
                (m.abs() - m.round().abs()).abs() < 1e-4 && (count < 400 || (m - 3.0).abs() < 1e-4),
                "{m}"
            );
        }
    }
}

/// Every way to bound gradients and to draw gives a fit within the budget, on samples and full batches, with
/// one record too.
#[test]
fn every_combination_runs() {
    let clippings = [Clipping::Flat, Clipping::PerSite, Clipping::Quantile(Quantile::default())];
    for clipping in clippings {
        for draws in [DrawScheme::Single, DrawScheme::Antithetic] {
            for rate in [1.0, 0.3] {
                for count in [1, 300] {
                    let fit = DpVi::new(logistic, AutoNormal::new())
                        .budget(add_remove())
                        .clipping(clipping)
                        .draw_scheme(draws)
                        .public_records(300)
                        .subsample(Poisson::rate(rate).unwrap())
                        .steps(30)
                        .seed(Seed::for_tests(4))
                        .fit(&people(count))
                        .unwrap();
                    assert!(fit.privacy().epsilon.unwrap().upper <= 1.0);
                    assert!(fit.posterior().mean("w").unwrap().iter().all(|mean| mean.is_finite()));
                }
            }
        }
    }
}

#[test]
fn given_weights_are_used() {
    // A weight of zero for all leaves nothing but the prior and the noise; with little noise, the prior.
    let fit = |weights: RecordWeights| {
        DpVi::new(logistic, AutoNormal::new())
            .budget(budget(100.0, Relation::AddRemove))
            .weights(weights)
            .steps(400)
            .seed(Seed::for_tests(3))
            .fit(&people(2000))
            .unwrap()
            .posterior()
            .mean("w")
            .unwrap()
    };
    let nothing = fit(RecordWeights::given(|record| Ok(record.get("y")? * 0.0)));
    let everything = fit(RecordWeights::given(|record| Ok(record.get("y")? * 0.0 + 1.0)));
    assert!(nothing.iter().all(|w| w.abs() < 0.8), "{nothing}");
    assert!(everything[[0]] > 1.2, "{everything}");
}
