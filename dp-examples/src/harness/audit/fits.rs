//! Steps of fits and private starts; a whole fit, audited in one run.

use super::{DELTA as STATED, Make, Outcomes, Setting, ledger, one_run_epsilon};
use dp_accountant::{Accountant, Budget, Composition, Event, Mechanism, Relation, Sampling};
use dp_sampler::{FullBatch, Purpose, Seed, rand_core::Rng};
use dp_vi::guides::AutoDelta;
use dp_vi::optimiser::{Schedule, sgd};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, PrivateStart, Quantile, Sensitive};
use ndarray::{Array2, ArrayD};
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::Normal;
use serde::Serialize;
use std::collections::BTreeMap;
use std::error::Error;

/// What guessing which canaries were in a fit says of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneRun {
    /// Records whose presence was decided by a fair coin.
    pub canaries: u64,
    /// Guesses that were made, for those that the fit says the most of.
    pub guesses: u64,
    /// Guesses that were right.
    pub right: u64,
    /// δ of the fit.
    pub delta: f64,
    /// ε of the fit at this δ, as it is claimed.
    pub claimed: f64,
    /// What ε is at least, but for a probability of [`FALSE_ALARM`](super::FALSE_ALARM).
    pub found: f64,
}

/// δ of the fit. The bound for one run adds some `2 m δ` for `m` canaries to the probability that it fails, which at
/// 10⁻⁵ would be far more than what a bound at this confidence may fail with.
const DELTA: f64 = 1e-10;

/// The share of the canaries that are guessed to be in, and again of those that are guessed to be out.
const GUESSED: f64 = 0.05;

/// Fits a model of which every element belongs to one canary, and guesses from the posterior which of them were there.
///
/// Each canary is in the data by a fair coin of its own, and pulls at its own element with a gradient far above the
/// clip norm, so that nothing but the noise hides it. The audit's bound for one run (Steinke, Nasr and Jagielski
/// 2023) is far below the claim even so: it holds for all canaries together, and what many guesses of one run can
/// prove grows slowly with their number.
///
/// # Errors
/// Those of the fit.
pub fn whole_fit(canaries: u64, epsilon: f64, seed: u64) -> Result<OneRun, Box<dyn Error>> {
    let count = canaries as usize;
    let mut coins = Seed::for_tests(seed).streams(Purpose::Custom("coins of canaries")).at(0);
    let inside: Vec<bool> = (0..count).map(|_| coins.next_u64() >> 63 == 1).collect();
    let members: Vec<usize> = (0..count).filter(|&k| inside[k]).collect();
    let mut x = Array2::zeros((members.len(), count));
    members.iter().enumerate().for_each(|(row, &k)| x[[row, k]] = 40_f32);
    let records = Sensitive::new(Records::from_columns([("x", Column::from(x))])?);
    let model = |ctx: &mut Ctx<'_>| {
        // So wide that the prior does not hold any element back.
        let w = ctx.sample("w", Normal::new(0.0, 1e6).iid(count))?;
        ctx.each_record(|ctx, record| ctx.factor("pull", record.get("x")?.dot(w)))
    };
    let fit = DpVi::new(model, AutoDelta::unconstrained())
        .budget(Budget::add_remove(epsilon, DELTA))
        .subsample(FullBatch)
        .steps(20)
        .draw_scheme(DrawScheme::Single)
        .clipping(Clipping::Flat)
        .clip_norm(1.0)
        .correction(Correction::None)
        .optimiser(sgd(Schedule::Constant(1e-3))?)
        .seed(Seed::for_tests(seed + 1))
        .fit(&records)?;
    let scores = fit.posterior().mean("w")?;
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| scores[[b]].total_cmp(&scores[[a]]));
    let each = (count as f64 * GUESSED) as usize;
    let right = order[..each].iter().filter(|&&k| inside[k]).count()
        + order[count - each..].iter().filter(|&&k| !inside[k]).count();
    let (guesses, right) = (2 * each as u64, right as u64);
    let claimed = fit.privacy().epsilon.as_ref().map_or(f64::INFINITY, |epsilon| epsilon.upper);
    let found = one_run_epsilon(right, guesses, canaries, DELTA, super::FALSE_ALARM);
    Ok(OneRun { canaries, guesses, right, delta: DELTA, claimed, found })
}

/// Elements of the two sites of [`steps`].
const SITES: [usize; 2] = [2, 3];
/// Steps of one fit, each an outcome. With more the noise would not be that of [`NOISE_MULTIPLIER`]: what is charged
/// for noise that is not drawn quite exactly grows with e^ε.
const STEPS: usize = 20;

/// Sums of clipped gradients as an optimiser sees them: an outcome for each step of many fits. The record that is
/// looked for pulls at one element of each site, far above any norm; two others do not pull at all.
fn steps(relation: Relation, clipping: Clipping, count: usize) -> Result<Outcomes, Box<dyn Error>> {
    let event = |noise_multiplier: f64| Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None);
    let made = STEPS as u64;
    let all = Accountant::new(relation).compose(event(NOISE_MULTIPLIER)?, made).epsilon(STATED)?;
    // The share of the squared norm that a site has where each is clipped by itself.
    let whole = SITES.iter().sum::<usize>() as f64;
    let direction = match clipping {
        Clipping::PerSite => SITES.map(|size| (size as f64 / whole).sqrt()),
        _ => [PULL[0] / PULL[0].hypot(PULL[1]), PULL[1] / PULL[0].hypot(PULL[1])],
    };
    let mut noise_multiplier = f64::NAN;
    let mut one = |sign: f64, first: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        let rows = if sign == 0.0 { 2 } else { 3 };
        let (mut x, mut y) = (Array2::zeros((rows, SITES[0])), Array2::zeros((rows, SITES[1])));
        if rows == 3 {
            (x[[2, 0]], y[[2, 1]]) = (sign * PULL[0], sign * PULL[1]);
        }
        let records =
            Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?);
        let model = |ctx: &mut Ctx<'_>| {
            let a = ctx.sample("a", Normal::new(0.0, 1e6).iid(SITES[0]))?;
            let b = ctx.sample("b", Normal::new(0.0, 1e6).iid(SITES[1]))?;
            ctx.each_record(|ctx, record| {
                ctx.factor("pull", record.get("x")?.dot(a) + record.get("y")?.dot(b))
            })
        };
        let mut numbers = Vec::with_capacity(count + STEPS);
        for fit in 0.. {
            if numbers.len() >= count {
                break;
            }
            let mut training = DpVi::new(model, AutoDelta::unconstrained())
                .budget(Budget { epsilon: all.upper, delta: STATED, relation })
                // So that no number of records is released beside.
                .public_records(3)
                .subsample(FullBatch)
                .steps(made)
                // What is looked at is the last value, and no average.
                .average_tail(0.0)
                .draw_scheme(DrawScheme::Single)
                .clipping(clipping)
                .clip_norm(1.0)
                .correction(Correction::None)
                .optimiser(sgd(Schedule::Constant(1.0))?)
                .seed(Seed::for_tests(first + fit))
                .start(&records)?;
            let mut before = 0.0;
            for _ in 0..STEPS {
                training.step()?;
                let found = training.posterior();
                let at = direction[0] * found.mean("a")?[[0]] + direction[1] * found.mean("b")?[[1]];
                numbers.push(at - before);
                before = at;
            }
            noise_multiplier =
                training.finish()?.privacy().noise_multiplier.ok_or("a private fit without noise")?;
        }
        Ok(numbers)
    };
    let other = if relation == Relation::AddRemove { 0.0 } else { -1.0 };
    let (present, absent) = (one(1.0, 0)?, one(other, 1 << 32)?);
    let events = Composition::single(event(noise_multiplier)?, 1);
    Ok(Outcomes { relation, events, law: None, present, absent })
}

/// Where the record that is looked for pulls, in each site.
const PULL: [f64; 2] = [40.0, 70.0];
const NOISE_MULTIPLIER: f64 = 1.5;

/// Which of two starting points a fit begins at; one step of next to no length follows.
fn starts(relation: Relation, count: usize) -> Result<Outcomes, Box<dyn Error>> {
    let model = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(w, 1.0), record.get("x")?))
    };
    let candidate = |w: f64| BTreeMap::from([("w".to_owned(), ArrayD::from_elem(vec![], w))]);
    let mut events = Composition::new();
    let mut one = |last: Option<f64>, first: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        // Likely under both candidates, and so likely that neither gains by it.
        let x: Vec<f64> = [0.0; 3].into_iter().chain(last).collect();
        let records = Sensitive::new(Records::from_columns([("x", x)])?);
        let mut numbers = Vec::with_capacity(count);
        for k in 0..count as u64 {
            let mut ledger = ledger(relation)?;
            let fit = DpVi::new(model, AutoDelta::unconstrained())
                .budget(Budget { epsilon: 4.0, delta: STATED, relation })
                .subsample(FullBatch)
                .steps(1)
                .clip_norm(1.0)
                // At 8 the density is exp(−25.4) under one candidate and exp(−41.4) under the other one.
                .private_start(PrivateStart {
                    candidates: vec![candidate(-1.0), candidate(1.0)],
                    range: (-40.0, -26.0),
                    share: 0.75,
                })
                .correction(Correction::None)
                .optimiser(sgd(Schedule::Constant(1e-9))?)
                .seed(Seed::for_tests(first + k))
                .fit_from(&records, &mut ledger)?;
            numbers.push(fit.posterior().mean("w")?[[]].signum());
            events = Composition::new();
            let choices = ledger
                .events()
                .iter()
                .filter(|(event, _)| matches!(event.mechanism(), Mechanism::PureDp { .. }));
            choices.for_each(|(event, count)| events.push(event, count));
        }
        Ok(numbers)
    };
    let other = if relation == Relation::AddRemove { None } else { Some(-8.0) };
    let (present, absent) = (one(Some(8.0), 0)?, one(other, 1 << 32)?);
    Ok(Outcomes { relation, events, law: None, present, absent })
}

const STARTS: &str = "a private start";

/// Private starts are audited from so many outcomes on: each is planned anew, which takes a tenth of a second, so that
/// there is one for fifty of the others, and fewer than these would prove nothing.
const FOR_STARTS: usize = 50_000;

/// Steps under the rules of clipping that sums do not have, and starts where there are many outcomes, in both
/// relations.
pub(super) fn cases(draws: usize) -> Vec<(Setting, Make)> {
    let mut cases: Vec<(Setting, Make)> = Vec::new();
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let mut add = |release: &'static str, bound: &'static str, noise: &'static str, make: Make| {
            let why = (relation == Relation::ReplaceOne && release == STARTS).then_some(
                "two starts that are as likely without the record differ by a factor of e^(ε/2) at most; the claim holds \
                 for starts that are rare, too, which take far more outcomes",
            );
            let (sampler, relation) = ("all records", relation.to_string());
            cases.push((Setting { release, sampler, relation, bound, noise, why }, make));
        };
        add("a step of a fit", "sites clipped by themselves", "exact", {
            Box::new(move |n| steps(relation, Clipping::PerSite, n))
        });
        // So slow that the norm stays about where it is.
        let quantile = Quantile { target: 0.5, rate: 1e-6 };
        let with_count = "a step of a fit, and its count of records that are not clipped";
        let make = Box::new(move |n| steps(relation, Clipping::Quantile(quantile), n));
        add(with_count, "clipped to a quantile", "exact", make);
        if draws >= FOR_STARTS {
            let make = Box::new(move |n| starts(relation, n / 50));
            add(STARTS, "a term in [0, 1] a record", "exponential mechanism", make);
        }
    }
    cases
}
