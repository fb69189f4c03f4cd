//! What the privacy statement says, in words and as data.

use dp_accountant::{Accountant, Budget, Ledger, Relation};
use dp_sampler::{BallsInBins, FixedSize, FullBatch, Poisson, Seed, Shuffle};
use dp_vi::guides::AutoNormal;
use dp_vi::{Correction, DpVi, Fit, PrivacyNoise, Sensitive};
use ppl_core::{Ctx, Distribution, Records, Result};
use ppl_distributions::{Bernoulli, HalfNormal, Normal};
use std::ops::ControlFlow;

fn model(ctx: &mut Ctx) -> Result<()> {
    let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
}

fn records() -> Sensitive<Records> {
    Sensitive::new(Records::from_columns([("x", vec![0.5; 40])]).unwrap())
}

fn budget(relation: Relation) -> Budget {
    Budget { epsilon: 1.0, delta: 1e-5, relation }
}

#[test]
fn advantage_and_success_are_those_of_all_releases() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget(relation)).steps(50);
        let fit = vi.subsample(Poisson::rate(0.25).unwrap()).fit(&records()).unwrap();
        let report = fit.privacy();
        let mut accountant = Accountant::new(relation);
        for release in &report.releases {
            accountant = accountant.compose(release.event, release.count);
        }
        let (told, upper) = (report.advantage.unwrap(), accountant.advantage().unwrap().upper);
        assert!(told.lower <= upper && (told.upper / upper - 1.0).abs() < 1e-9);
        let success = accountant.success(0.5).unwrap();
        assert!(report.attack_success().unwrap() >= success.lower);
        assert!((report.attack_success().unwrap() / success.upper - 1.0).abs() < 1e-9);
        // And with pure ε a bound that is known: the advantage is at most tanh(ε/2), and δ more.
        assert!(told.upper <= (0.5_f64).tanh() + 1e-5);
        let text = report.to_string();
        let number = match relation {
            Relation::AddRemove => "add/remove: how many records there are is protected too",
            Relation::ReplaceOne => "replace-one: how many records there are is treated as public",
        };
        assert!(text.contains(number), "{text}");
        assert_eq!(report.public_number_of_records, relation == Relation::ReplaceOne);
        for release in &report.releases {
            assert!(text.contains(&format!("{} x {}", release.count, release.event)), "{text}");
        }
    }
}

/// A mechanism that publishes each record whole with a probability of δ keeps to any ε.
#[test]
fn a_delta_of_a_record_or_more_is_warned_of() {
    for (relation, delta, stated, warned) in [
        (Relation::ReplaceOne, 0.1, None, Some(4.0)),
        (Relation::ReplaceOne, 0.02, None, None),
        (Relation::AddRemove, 0.02, Some(100), Some(2.0)),
        (Relation::AddRemove, 0.02, Some(49), None),
    ] {
        let budget = Budget { delta, ..budget(relation) };
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget).subsample(FullBatch).steps(20);
        let vi = match stated {
            Some(number) => vi.public_records(number),
            None => vi,
        };
        let report = vi.fit(&records()).unwrap().privacy().clone();
        let published = report.published_by_delta();
        assert_eq!(published.map(f64::round), warned, "{relation} {delta}: {published:?}");
        let text = report.to_string();
        assert_eq!(text.contains("WARNING: this delta is too large"), warned.is_some(), "{text}");
    }
}

#[test]
fn a_run_that_stopped_states_the_cost_of_all_it_planned() {
    let vi = || {
        DpVi::new(model, AutoNormal::new()).budget(budget(Relation::AddRemove)).subsample(FullBatch).steps(50)
    };
    let stop = |progress: dp_vi::Progress| match progress.done < 20 {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let mut ledger = Ledger::new(Budget { epsilon: 2.0, ..budget(Relation::AddRemove) }).unwrap();
    let fit: Fit = vi().on_progress(stop).fit_from(&records(), &mut ledger).unwrap();
    let report = fit.privacy();
    assert_eq!((report.steps, report.steps_done), (50, 20));
    assert!(report.epsilon.unwrap().upper > 0.999);
    let text = report.to_string();
    assert!(text.contains("20 of them made; stated is the cost of all"), "{text}");
    assert!(text.contains("spent in all, by everything that was paid from it"), "{text}");
    assert_eq!(report.ledger_spent.unwrap(), ledger.spent().unwrap());
    // A ledger of the fit's own is nobody else's business.
    assert!(vi().fit(&records()).unwrap().privacy().ledger_spent.is_none());
}

#[test]
fn what_is_not_private_says_so_first() {
    let fit = DpVi::new(model, AutoNormal::new()).without_privacy().steps(20).fit(&records()).unwrap();
    let report = fit.privacy();
    assert!(report.to_string().starts_with("NOT PRIVATE. No gradient was clipped and no noise was added"));
    assert!(!report.is_private() && report.releases.is_empty() && report.attack_success().is_none());
    assert!(report.epsilon.is_none() && report.advantage.is_none());
}

/// What intervals hold is said for each kind of fit, and where a correction that was planned is not there. With fixed
/// seeds: now and then a run of forty records has not arrived, and says so (none of 400 seeds, but one fresh seed).
#[test]
fn what_intervals_hold_of_the_noise_is_said() {
    let outcome = |ctx: &mut Ctx| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Bernoulli::from_logits(w), record.get("x")?))
    };
    let two = |ctx: &mut Ctx| {
        let (a, s) = (ctx.sample("a", Normal::new(0.0, 1.0))?, ctx.sample("s", HalfNormal::new(1.0))?);
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(a, s), record.get("x")?))
    };
    let said = |fit: Fit| {
        let (report, corrected) = (fit.privacy(), fit.noise_aware().is_some());
        let words = report.intervals.unwrap_or("nothing");
        assert!(report.to_string().contains(words) || words == "nothing");
        (words, corrected)
    };
    let zeros = || Sensitive::new(Records::from_columns([("x", vec![0.0; 40])]).unwrap());
    let bernoulli =
        DpVi::new(outcome, AutoNormal::new()).budget(budget(Relation::AddRemove)).seed(Seed::for_tests(1));
    assert_eq!(said(bernoulli.fit(&zeros()).unwrap()), ("include the privacy noise", true));
    let few =
        DpVi::new(outcome, AutoNormal::new()).budget(budget(Relation::AddRemove)).seed(Seed::for_tests(1));
    let (words, corrected) = said(few.steps(99).fit(&zeros()).unwrap());
    assert!(corrected && words.starts_with("leave out how far so few steps"), "{words}");
    let grouped = |ctx: &mut Ctx| {
        let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
        let w = ctx.sample("w", Normal::new(0.0, spread))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Bernoulli::from_logits(w), record.get("x")?))
    };
    let grouped =
        DpVi::new(grouped, AutoNormal::new()).budget(budget(Relation::AddRemove)).seed(Seed::for_tests(1));
    let (words, corrected) = said(grouped.fit(&zeros()).unwrap());
    assert!(words.contains("has not been measured for this kind of model") && corrected, "{words}");
    // More values that no record touches than are drawn together with the others.
    let many_spreads = |ctx: &mut Ctx| {
        let spreads = ctx.sample("spreads", HalfNormal::new(1.0).iid(7))?;
        let w = ctx.sample("w", Normal::new(0.0, spreads.sum()))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Bernoulli::from_logits(w), record.get("x")?))
    };
    let many_spreads = DpVi::new(many_spreads, AutoNormal::new())
        .budget(budget(Relation::AddRemove))
        .seed(Seed::for_tests(1));
    let (words, corrected) = said(many_spreads.steps(100).fit(&zeros()).unwrap());
    assert!(words.contains("given the other values where the guide has them") && corrected, "{words}");
    let guides = DpVi::new(two, AutoNormal::new()).correction(Correction::None);
    let (words, corrected) =
        said(guides.budget(budget(Relation::AddRemove)).seed(Seed::for_tests(1)).fit(&records()).unwrap());
    assert!(words.starts_with("leave out the privacy noise") && !corrected, "{words}");
    let (words, corrected) = said(
        DpVi::new(two, AutoNormal::new())
            .budget(budget(Relation::AddRemove))
            .seed(Seed::for_tests(1))
            .fit(&records())
            .unwrap(),
    );
    assert!(words.contains("has not been measured for this kind of model") && corrected, "{words}");
    // At a rate of 0.05 a hundred steps do not reach 30.
    let mean = |ctx: &mut Ctx| {
        let a = ctx.sample("a", Normal::new(0.0, 30.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(a, 1.0), record.get("x")?))
    };
    let far_away = || Sensitive::new(Records::from_columns([("x", vec![30.0; 2_000])]).unwrap());
    let short = DpVi::new(mean, AutoNormal::new())
        .budget(budget(Relation::AddRemove))
        .seed(Seed::for_tests(1))
        .steps(100);
    let (words, corrected) = said(short.fit(&far_away()).unwrap());
    assert!(words.contains("had not arrived") && corrected, "{words}");
    // Forty records at epsilon 1 say nothing of a curvature by themselves.
    let trace = DpVi::new(two, AutoNormal::new()).correction(Correction::TraceRegression);
    let (words, corrected) =
        said(trace.budget(budget(Relation::AddRemove)).seed(Seed::for_tests(1)).fit(&records()).unwrap());
    assert!(words.contains("the run says too little of the curvature") && !corrected, "{words}");
    // With plenty of them it is corrected, and how well that does for normal outcomes is not known.
    let many = (0..20_000).map(|i| f64::from(i % 7) * 0.3 - 0.9).collect::<Vec<f64>>();
    let many = Sensitive::new(Records::from_columns([("x", many)]).unwrap());
    let trace = DpVi::new(two, AutoNormal::new()).correction(Correction::TraceRegression);
    let large = Budget { epsilon: 50.0, ..budget(Relation::AddRemove) };
    let (words, corrected) = said(trace.budget(large).seed(Seed::for_tests(1)).fit(&many).unwrap());
    assert!(words.contains("may be too short where the noise hides it") && corrected, "{words}");
    // Weights of the caller's own, and a curvature that probes read.
    let weighted = DpVi::new(two, AutoNormal::new())
        .weights(dp_vi::RecordWeights::given(|record| Ok(3.0 + 0.0 * record.get("x")?)))
        .correction(Correction::Probes);
    let (words, corrected) = said(weighted.budget(large).seed(Seed::for_tests(1)).fit(&many).unwrap());
    assert!(words.contains("where weights are at most 1") && corrected, "{words}");
    // A curvature of scores at a mean that forty short steps did not get near to.
    let far = DpVi::new(mean, AutoNormal::new()).correction(Correction::Full).clip_norm(1.0).steps(40);
    let (words, corrected) =
        said(far.budget(budget(Relation::AddRemove)).seed(Seed::for_tests(1)).fit(&far_away()).unwrap());
    assert!(words.contains("had not arrived") && corrected, "{words}");
    // Without privacy steps that were named say how far they still moved.
    let open = |steps| {
        let vi = DpVi::new(mean, AutoNormal::new()).without_privacy().seed(Seed::for_tests(1));
        let report = vi.steps(steps).fit(&far_away()).unwrap().privacy().clone();
        (report.moved.unwrap(), report.to_string())
    };
    let (moved, text) = open(40);
    assert!(moved > 5.0 && text.contains("NOT CONVERGED. Take more steps"), "{text}");
    let (moved, text) = open(4_000);
    assert!(
        moved < 0.5 && text.contains("  moved      by up to 0.") && !text.contains("CONVERGED"),
        "{text}"
    );
    let fit = DpVi::new(two, AutoNormal::new()).without_privacy().fit(&records()).unwrap();
    assert_eq!(fit.privacy().moved, None);
    assert_eq!(said(fit), ("nothing", false));
}

/// Everything that the text says can be had by programs, too.
#[test]
fn the_report_is_data() {
    let vi = DpVi::new(model, AutoNormal::new()).budget(budget(Relation::AddRemove)).steps(50);
    let fit = vi.subsample(Poisson::rate(0.25).unwrap()).fit(&records()).unwrap();
    let data = serde_json::to_value(fit.privacy()).unwrap();
    assert_eq!(data["budget"]["relation"], "add_remove");
    assert_eq!(data["scheme"]["poisson"]["rate"], 0.25);
    assert_eq!((&data["steps"], &data["steps_done"]), (&50.into(), &50.into()));
    assert_eq!(data["secret_seed"], true);
    let upper = fit.privacy().epsilon.unwrap().upper;
    assert_eq!(data["epsilon"]["upper"].as_f64(), Some(upper));
    assert!(data["advantage"]["upper"].as_f64().unwrap() < 0.5);
    let last = data["releases"].as_array().unwrap().last().unwrap();
    assert_eq!(last["count"], 50);
    let sigma = last["event"]["mechanism"]["gaussian"]["noise_multiplier"].as_f64();
    assert_eq!(sigma, fit.privacy().noise_multiplier);
    for list in ["assumes", "not_covered"] {
        assert!(!data[list].as_array().unwrap().is_empty());
    }
    assert!(data["record"].as_str().unwrap().starts_with("one row of the records"));
    #[cfg(feature = "json")]
    assert_eq!(serde_json::from_str::<serde_json::Value>(&fit.privacy().to_json().unwrap()).unwrap(), data);
}

/// Batches that are drawn all but exactly take a part of δ: it is stated, and the events keep the budget
/// without it.
#[test]
fn what_is_not_drawn_exactly_is_part_of_delta() {
    let delta_of = |noise: PrivacyNoise, plan: Option<Poisson>, steps: u64, relation: Relation| {
        // With a clip norm that is named their number is not released, which has a deviation of its own.
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget(relation)).steps(steps).noise(noise);
        let vi = vi.clip_norm(1.0);
        let fit = match plan {
            Some(plan) => vi.subsample(plan).fit(&records()).unwrap(),
            None => vi.subsample(FullBatch).fit(&records()).unwrap(),
        };
        let report = fit.privacy().clone();
        let text = report.to_string();
        assert_eq!(text.contains("this delta includes"), report.delta_of_deviations.is_some(), "{text}");
        report
    };
    let (steps, rate) = (40, Poisson::rate(0.25).unwrap());
    // All of it by hand: a bound for any number of records where that number is protected, and for 40 where
    // it is public.
    for (relation, blocks) in [(Relation::AddRemove, 2.0_f64.powi(57)), (Relation::ReplaceOne, 1.0)] {
        let report = delta_of(PrivacyNoise::Continuous, Some(rate), steps, relation);
        let tau = steps as f64 * blocks * 113.0 * 2.0_f64.powi(-128);
        let stated = report.delta_of_deviations.unwrap();
        let exact = (1.0 + 1.0_f64.exp()) * tau;
        assert!(stated >= exact && stated <= exact * (1.0 + 1e-13), "{stated:e} {exact:e}");
        // The events keep ε at what is left of δ, and the interval holds what they cost at more.
        let mut accountant = Accountant::new(relation);
        for release in &report.releases {
            accountant = accountant.compose(release.event, release.count);
        }
        let epsilon = report.epsilon.unwrap();
        assert!(epsilon.upper <= 1.0 && accountant.epsilon(1e-5 - stated).unwrap().upper <= epsilon.upper);
        assert!(epsilon.lower <= accountant.epsilon(1e-5 + stated).unwrap().upper);
        assert!(epsilon.upper - epsilon.lower < 1e-4);
        let advantage = accountant.advantage().unwrap();
        assert!(report.advantage.unwrap().upper >= advantage.upper + 4.0 * tau);
    }
    // Nothing of it where every record is used and noise is taken for real numbers; of exact noise, what it
    // states.
    assert!(
        delta_of(PrivacyNoise::Continuous, None, steps, Relation::AddRemove).delta_of_deviations.is_none()
    );
    let exact = delta_of(PrivacyNoise::Exact, None, steps, Relation::AddRemove).delta_of_deviations.unwrap();
    // As many sums and a curvature, of at most 2³² elements and a count, 2⁻¹²⁰ each.
    let by_hand = (1.0 + 1.0_f64.exp()) * (steps + 1) as f64 * (2.0_f64.powi(32) + 1.0) * 2.0_f64.powi(-120);
    assert!(exact >= by_hand && exact <= by_hand * (1.0 + 1e-13), "{exact:e} {by_hand:e}");
    // The plan says the same, before any record is seen.
    let vi = || {
        DpVi::new(model, AutoNormal::new()).budget(budget(Relation::AddRemove)).steps(steps).subsample(rate)
    };
    let plan = vi().plan(records().schema()).unwrap();
    assert_eq!(plan.delta_of_deviations(), vi().fit(&records()).unwrap().privacy().delta_of_deviations);
    assert!(plan.explain().contains("of delta is for batches, noise and choices"), "{}", plan.explain());
}

/// The noise that deviation costs: with a δ that is mostly taken by it, a run needs as much noise as exact
/// batches would at the rest.
#[test]
fn a_delta_that_deviations_would_use_up_is_refused_or_left_to_less_epsilon() {
    let vi = |epsilon: f64, delta: f64| {
        let budget = Budget { epsilon, delta, relation: Relation::AddRemove };
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget).steps(1000);
        vi.subsample(Poisson::rate(0.25).unwrap()).plan(records().schema())
    };
    let taken = vi(1.0, 1e-5).unwrap().delta_of_deviations().unwrap();
    assert!(taken > 1e-17 && taken < 1e-12, "{taken:e}");
    // Half of δ is left at least: then the noise is that of a budget with this half.
    let (tight, half) = (vi(1.0, 2.0 * taken).unwrap(), vi(1.0, 1.0).is_err());
    assert!(half && tight.delta_of_deviations().unwrap() <= taken);
    let told = vi(1.0, 0.4 * taken).unwrap_err();
    assert!(matches!(told, dp_vi::Error::Deviation { .. }), "{told}");
    assert!(told.to_string().contains("delta must be at least"), "{told}");
    // A large ε would take more than half: the run is calibrated to a smaller one, and keeps the budget all
    // the more.
    let large = vi(50.0, 1e-5).unwrap();
    assert!(large.calibrated.unwrap().epsilon.upper < 30.0);
    assert!(large.delta_of_deviations().unwrap() <= 0.5e-5);
}

/// Orders that are computed from a key are measured and not proven: what rests on them is refused.
#[test]
fn orders_of_which_nothing_is_proven_are_refused() {
    let many = Sensitive::new(Records::from_columns([("x", vec![0.5; 2000])]).unwrap());
    let replace = budget(Relation::ReplaceOne);
    let vi = |budget| DpVi::new(model, AutoNormal::new()).budget(budget).steps(20);
    let told = |fit: dp_vi::Result<Fit>| {
        let told = fit.unwrap_err().to_string();
        assert!(told.contains(".exact()") && told.contains("nothing is proven"), "{told}");
    };
    told(vi(replace).subsample(Shuffle::batch(100).unwrap()).fit(&many));
    told(vi(replace).subsample(BallsInBins::bins(10).unwrap()).fit(&many));
    told(vi(replace).subsample(FixedSize::batch(100).unwrap().by_permutation()).fit(&many));
    vi(replace).subsample(Shuffle::batch(100).unwrap().exact()).fit(&many).unwrap();
    vi(replace).subsample(BallsInBins::bins(10).unwrap().exact()).fit(&many).unwrap();
    vi(replace).subsample(FixedSize::batch(100).unwrap()).fit(&many).unwrap();
    // Few records are always written out; where their number is protected, that cannot be made use of.
    vi(replace).subsample(Shuffle::batch(10).unwrap()).fit(&records()).unwrap();
    told(vi(budget(Relation::AddRemove)).subsample(BallsInBins::bins(4).unwrap()).fit(&records()));
    vi(budget(Relation::AddRemove)).subsample(BallsInBins::bins(4).unwrap().exact()).fit(&records()).unwrap();
}
