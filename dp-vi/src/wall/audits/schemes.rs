//! Audits of sampling schemes that are accounted by more than "each release by itself": how often a record
//! counts, what an epoch is, and what that tells of a canary.

use crate::DpVi;
use crate::guides::AutoNormal;
use crate::objective::draws::DrawScheme;
use crate::wall::bound::clip::{ClipNorm, Clipping, Rule};
use crate::wall::bound::quantile::Quantile;
use crate::wall::gradient::{GaussianSum, PrivateGradient};
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use crate::wall::steps::Steps;
use dp_accountant::{Accountant, Budget, Composition, Ledger, Relation};
use dp_sampler::{BallsInBins, FullBatch, Poisson, Seed, Shuffle, Subsampling, WithReplacement};
use ndarray::Array2;
use ppl_core::{Column, Ctx, Distribution, Graph, Record, RecordGradient, Records};
use ppl_distributions::Normal;

const CLIP: f64 = 0.7;

/// Records whose gradient is their own number: far beyond the clip norm, up or down.
fn records(signs: &[f64]) -> Sensitive<Records> {
    let x = Array2::from_shape_fn((signs.len(), 1), |(i, _)| 40.0 * signs[i]);
    Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap())
}

fn mechanism<'r, S: Subsampling>(
    noise_multiplier: f64,
    plan: &S,
    records: &'r Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<'r, S::Sampler> {
    let graph = Graph::new();
    let w = graph.input("w", 1).unwrap();
    let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w);
    let gradient = RecordGradient::new(value, &[w]).unwrap();
    PrivateGradient::new(gradient, CLIP, noise_multiplier, plan, records, Seed::for_tests(seed)).unwrap()
}

/// Sums of batches, in units of the clip norm.
fn sums<S: Subsampling>(noise_multiplier: f64, plan: &S, signs: &[f64], n: u64, seed: u64) -> Vec<f64> {
    let records = records(signs);
    let mut mechanism = mechanism(noise_multiplier, plan, &records, seed);
    let rate = mechanism.rate();
    let mut out = [0.0];
    (0..n)
        .map(|_| {
            mechanism.release_unpaid(&mut out).unwrap();
            out[0] * rate / CLIP
        })
        .collect()
}

fn budget(relation: Relation) -> Budget {
    Budget { epsilon: 100.0, delta: 1e-5, relation }
}

/// The sensitivity that a mechanism states is by how much the sums of neighbours differ, and its ratio to the
/// noise is what is priced.
#[test]
fn sensitivity_is_the_change_between_neighbours_and_what_is_priced() {
    let sum = |signs: &[f64]| CLIP * sums(1e-6, &FullBatch, signs, 1, 1)[0];
    let mechanism = GaussianSum::new(ClipNorm::new(CLIP, 1).unwrap(), 1.7).unwrap();
    for (relation, one, other) in [
        (Relation::AddRemove, vec![1.0, -1.0], vec![1.0, -1.0, 1.0]),
        (Relation::ReplaceOne, vec![1.0, -1.0, -1.0], vec![1.0, -1.0, 1.0]),
    ] {
        let sensitivity = mechanism.sensitivity().under(relation);
        let change = (sum(&one) - sum(&other)).abs();
        // The clip norm is lowered by a relative 1e-8 or so, and there is noise of 1e-6 in each.
        assert!(change <= sensitivity * (1.0 + 1e-4) && change >= sensitivity * (1.0 - 1e-4), "{change}");
        // Normal laws that far apart, exactly.
        let (epsilon, apart) = (0.5_f64, sensitivity / mechanism.noise_scale());
        let (hit, alarm) =
            (normal_tail(epsilon / apart - apart / 2.0), normal_tail(epsilon / apart + apart / 2.0));
        let delta = hit - epsilon.exp() * alarm;
        let event = mechanism.event(&FullBatch.scheme(3).unwrap()).unwrap();
        let stated = Accountant::new(relation).compose(event, 1).delta(epsilon).unwrap();
        assert!(
            stated.lower <= delta + 1e-12 && delta - 1e-12 <= stated.upper,
            "{relation}: {delta} {stated}"
        );
    }
}

#[test]
fn a_record_that_is_drawn_twice_counts_twice() {
    // One record up among four that cancel out: 3 draws, of which K are the canary's.
    let n = 30_000;
    let plan = WithReplacement::batch(3).unwrap();
    let sums = sums(1e-6, &plan, &[-1.0, -1.0, -1.0, 1.0], n, 1);
    let mut counts = [0_u64; 4];
    for sum in sums {
        let copies = (sum + 3.0) / 2.0;
        // The clip norm is lowered by a relative 1e-8 or so, for rounding.
        assert!((copies - copies.round()).abs() < 1e-4, "{copies}");
        counts[copies.round() as usize] += 1;
    }
    // Binomial with probability 1/4; α = 2e-7 for each of four.
    for (k, p) in [27.0, 27.0, 9.0, 1.0].into_iter().map(|p| p / 64.0).enumerate() {
        let error = 5.2 * (p * (1.0 - p) / n as f64).sqrt();
        assert!((counts[k] as f64 / n as f64 - p).abs() < error, "{counts:?}");
    }
}

fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The best test between a canary that replaces another record and that record, all others being as far from
/// the canary as can be: its δ lies in the interval that the accountant states.
#[test]
fn delta_of_a_batch_with_replacement_is_the_one_claimed() {
    let (sigma, epsilon, n) = (2.0, 0.4, 90_000_u64);
    let plan = WithReplacement::batch(3).unwrap();
    let records = records(&[-1.0, -1.0, -1.0, 1.0]);
    let mut ledger = Ledger::new(budget(Relation::ReplaceOne)).unwrap();
    let _permits = mechanism(sigma, &plan, &records, 1).pay(&mut ledger, 1).unwrap();
    let stated = Accountant::new(Relation::ReplaceOne).with(ledger.events()).delta(epsilon).unwrap();
    // Outcomes from -3 on: shifts of 2k clip norms with binomial weights, against none.
    let above = |t: f64| {
        let shifted = [27.0, 27.0, 9.0, 1.0].into_iter().enumerate();
        let p: f64 = shifted.map(|(k, w)| w / 64.0 * normal_tail((t + 3.0 - 2.0 * k as f64) / sigma)).sum();
        (p, normal_tail((t + 3.0) / sigma))
    };
    let delta = |t: f64| above(t).0 - epsilon.exp() * above(t).1;
    let best =
        (0..4000).map(|k| f64::from(k) / 200.0 - 8.0).max_by(|a, b| delta(*a).total_cmp(&delta(*b))).unwrap();
    assert!(delta(best) <= stated.upper && delta(best) >= stated.lower - 1e-3, "{} {stated}", delta(best));
    let share = |sums: &[f64]| sums.iter().filter(|sum| **sum > best).count() as f64 / n as f64;
    let observe = |sigma: f64| {
        let p = share(&sums(sigma, &plan, &[-1.0, -1.0, -1.0, 1.0], n, 2));
        let q = share(&sums(sigma, &plan, &[-1.0, -1.0, -1.0, -1.0], n, 3));
        let variance = p * (1.0 - p) + (2.0 * epsilon).exp() * q * (1.0 - q);
        ((p - epsilon.exp() * q) - delta(best), 5.2 * (variance / n as f64).sqrt())
    };
    let (off, error) = observe(sigma);
    assert!(off.abs() < error, "{off} {error}");
    // Noise that is wrong by 10 % either way is found out.
    let (off, error) = observe(0.9 * sigma);
    assert!(off > error, "too little noise went unnoticed: {off} {error}");
    let (off, error) = observe(1.1 * sigma);
    assert!(off < -error, "too much noise went unnoticed: {off} {error}");
}

/// The best test that sees a whole shuffled epoch, between a canary that replaces another record and that
/// record, all others being as far from the canary as can be. Four records by two: the canary is in one of
/// two batches, and the attacker does not know in which.
///
/// ```text
/// without   (X, Y) ~ N((−2, −2), σ²I)
/// with      half each of N((0, −2), σ²I) and N((−2, 0), σ²I)         in units of the clip norm
/// ```
///
/// Its δ is known by a quadrature, lies in the interval that the accountant states for the epoch, and is what
/// is observed: n = 60,000 epochs on either side, 5.2 standard errors (α = 2e-7).
#[test]
fn delta_of_a_shuffled_epoch_is_the_one_claimed() {
    let (sigma, epsilon, n) = (2.0_f64, 0.4_f64, 60_000_u64);
    let plan = Shuffle::batch(2).unwrap();
    let (with, without) = ([-1.0, -1.0, -1.0, 1.0], [-1.0; 4]);
    let mut ledger = Ledger::new(budget(Relation::ReplaceOne)).unwrap();
    let data = records(&with);
    let _permits = mechanism(sigma, &plan, &data, 1).pay(&mut ledger, 2).unwrap();
    let stated = Accountant::new(Relation::ReplaceOne).with(ledger.events()).delta(epsilon).unwrap();

    // The likelihood ratio of sums above −2, and where it passes e^ε for one of them given: at no number,
    // where the other is enough.
    let variance = sigma * sigma;
    let ratio =
        |x: f64, y: f64| 0.5 * (((2.0 * x - 2.0) / variance).exp() + ((2.0 * y - 2.0) / variance).exp());
    let threshold = |x: f64| {
        let rest = 2.0 * epsilon.exp() - ((2.0 * x - 2.0) / variance).exp();
        if rest > 0.0 { 0.5 * variance * rest.ln() + 1.0 } else { f64::NEG_INFINITY }
    };
    // The probability of a ratio above e^ε where the sums have these means, by the trapezoidal rule: for a
    // smooth density, exact.
    let above = |mean_x: f64, mean_y: f64| {
        let step = sigma / 400.0;
        let all = (-4000..=4000).map(|k| {
            let x = mean_x + f64::from(k) * step;
            let density =
                (-0.5 * ((x - mean_x) / sigma).powi(2)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
            step * density * normal_tail((threshold(x) - mean_y) / sigma)
        });
        all.sum::<f64>()
    };
    let exact = 0.5 * (above(2.0, 0.0) + above(0.0, 2.0)) - epsilon.exp() * above(0.0, 0.0);
    assert!((above(2.0, 0.0) - above(0.0, 2.0)).abs() < 1e-6, "{} {}", above(2.0, 0.0), above(0.0, 2.0));
    assert!(exact <= stated.upper && exact >= stated.lower, "{exact} {stated}");

    let observe = |sigma: f64| {
        let share = |signs: &[f64], seed| {
            let sums = sums(sigma, &plan, signs, 2 * n, seed);
            let above = sums.chunks(2).filter(|epoch| ratio(epoch[0] + 2.0, epoch[1] + 2.0) > epsilon.exp());
            above.count() as f64 / n as f64
        };
        let (p, q) = (share(&with, 21), share(&without, 22));
        let variance = p * (1.0 - p) + (2.0 * epsilon).exp() * q * (1.0 - q);
        ((p - epsilon.exp() * q) - exact, 5.2 * (variance / n as f64).sqrt())
    };
    let (off, error) = observe(sigma);
    assert!(off.abs() < error, "{off} {error}");
    let (off, error) = observe(0.9 * sigma);
    assert!(off > error, "too little noise went unnoticed: {off} {error}");
    let (off, error) = observe(1.1 * sigma);
    assert!(off < -error, "too much noise went unnoticed: {off} {error}");
    // And so is an order that is the same in every epoch, or that is known: then the canary's batch alone is
    // looked at.
    let alone = normal_tail((variance * epsilon / 2.0 + 1.0 - 2.0) / sigma)
        - epsilon.exp() * normal_tail((variance * epsilon / 2.0 + 1.0) / sigma);
    assert!(alone > exact + error, "{alone} {exact} {error}");
}

/// Every record counts once in an epoch: over whole epochs the sums add up to that of all records.
#[test]
fn an_epoch_counts_every_record_once() {
    let signs = [1.0, 1.0, -1.0, 1.0, 1.0, 1.0, -1.0];
    let total: f64 = signs.iter().sum();
    let check = |sums: Vec<f64>, steps: usize| {
        for epoch in sums.chunks(steps) {
            assert!((epoch.iter().sum::<f64>() - total).abs() < 1e-4, "{epoch:?}");
        }
        // And the batches of different epochs differ.
        assert!(sums.chunks(steps).any(|epoch| epoch[0] != sums[0]));
    };
    check(sums(1e-6, &Shuffle::batch(2).unwrap(), &signs, 40, 1), 4);
    check(sums(1e-6, &BallsInBins::bins(3).unwrap(), &signs, 42, 1), 3);
}

/// The sum over an epoch tells as much of a canary as one release with √K times the noise: no more than what
/// was paid for, one release with the noise of a step.
#[test]
fn an_epoch_of_balls_in_bins_costs_no_more_than_one_release() {
    let (sigma, bins, n) = (1.0, 3, 90_000_u64);
    let plan = BallsInBins::bins(bins).unwrap();
    for (relation, without, with, shift) in [
        (Relation::AddRemove, vec![1.0, -1.0], vec![1.0, -1.0, 1.0], 1.0),
        (Relation::ReplaceOne, vec![1.0, -1.0, -1.0], vec![1.0, -1.0, 1.0], 2.0),
    ] {
        let records = records(&with);
        let mut ledger = Ledger::new(budget(relation)).unwrap();
        let _permits = mechanism(sigma, &plan, &records, 1).pay(&mut ledger, bins).unwrap();
        let stated = Accountant::new(relation).with(ledger.events()).advantage().unwrap();
        // The largest of an epoch's sums, and their sum: two attacks.
        for attack in [
            |epoch: &[f64]| epoch.iter().sum::<f64>(),
            |epoch: &[f64]| epoch.iter().copied().fold(f64::MIN, f64::max),
        ] {
            let outcomes = |signs: &[f64], seed| -> Vec<f64> {
                let mut all: Vec<f64> =
                    sums(sigma, &plan, signs, n, seed).chunks(bins as usize).map(attack).collect();
                all.sort_by(f64::total_cmp);
                all
            };
            let (a, b) = (outcomes(&with, 7), outcomes(&without, 8));
            let below = |x: &[f64], t: f64| x.partition_point(|x| *x <= t) as f64 / x.len() as f64;
            let found = a.iter().step_by(8).map(|&t| below(&b, t) - below(&a, t)).fold(0.0, f64::max);
            // Empirical distributions of 30,000 are off by at most 2.84/√n each, but for α = 2e-7.
            let error = 2.0 * 2.84 / (n as f64 / bins as f64).sqrt();
            assert!(found < stated.upper + error, "{found} {stated}");
        }
        // The first attack is known exactly: normal laws a shift apart with √3 times the noise.
        let exact = 1.0 - 2.0 * normal_tail(shift / (2.0 * sigma * (bins as f64).sqrt()));
        assert!(exact < stated.upper && exact > 0.4 * stated.upper, "{exact} {stated}");
    }
}

/// The noise that a run adds and the norms it clips to are those of its plan, down to what an audit of
/// outcomes is too coarse for: half of a percent for the count beside an adaptive norm, and a margin of 1e-15
/// for each element whose square is rounded.
#[test]
fn a_run_clips_and_adds_noise_as_planned() {
    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(4))?;
        let b = ctx.sample("b", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(record.get("x")?.dot(w) + b, 1.0), record.get("y")?)
        })
    }
    let x = Array2::from_shape_fn((20, 4), |(i, j)| ((i + 3 * j) % 5) as f64);
    let columns = [("x", Column::from(x)), ("y", Column::from(vec![1.0; 20]))];
    let records = Sensitive::new(Records::from_columns(columns).unwrap());
    let (norm, rate) = (1.5, 0.3);
    for noise in [PrivacyNoise::Continuous, PrivacyNoise::Exact] {
        for clipping in [Clipping::Flat, Clipping::PerSite, Clipping::Quantile(Quantile::default())] {
            for draws in [DrawScheme::Single, DrawScheme::Antithetic] {
                let run = || {
                    let run = DpVi::new(model, AutoNormal::new())
                        .budget(Budget { epsilon: 1.0, ..budget(Relation::AddRemove) })
                        .subsample(Poisson::rate(rate).unwrap())
                        .public_records(20);
                    run.steps(3).noise(noise).clipping(clipping).clip_norm(norm).draw_scheme(draws)
                };
                let sigma = run().plan(records.schema()).unwrap().calibrated.unwrap().noise_multiplier;
                let mut training = run().seed(Seed::for_tests(1)).start(&records).unwrap();
                let Steps::Private(mechanism, permits) = training.steps_mut() else {
                    panic!("it is private")
                };
                let sum = mechanism.sum();
                let number = draws.number();
                let whole = ClipNorm::new(norm, 5 * number).unwrap();
                assert_eq!(sum.clip(), whole);
                match sum.rule() {
                    Rule::Flat(clip) => assert_eq!(*clip, whole),
                    Rule::Quantile(adaptive) => assert_eq!(adaptive.clip(), whole),
                    Rule::PerSite(clips) => {
                        // The shares are lowered a little, so that their squares do not add up to more.
                        let squares: f64 = clips.iter().map(|clip| clip.norm() * clip.norm()).sum();
                        assert!(squares <= norm * norm && squares >= norm * norm * (1.0 - 1e-14));
                        let of = |clip: &ClipNorm, sites: usize| {
                            *clip == ClipNorm::new(clip.norm(), sites * number).unwrap()
                        };
                        assert!(clips.len() == 2 && of(&clips[0], 4) && of(&clips[1], 1), "{clips:?}");
                    }
                }
                let mut out = vec![0.0; 5 * number];
                mechanism.release(permits.next().unwrap(), &mut out).unwrap();
                // One of a hundred parts of the budget of a release pays for the count.
                let share = match clipping {
                    Clipping::Quantile(_) => 1.0 / (1.0 - 0.01_f64).sqrt(),
                    _ => 1.0,
                };
                let ratio = mechanism.noise_added() * rate / (norm * sigma * share);
                // Exact noise is a little more, for rounding: by 2⁻¹⁴ and what the grid takes.
                let charged = if noise == PrivacyNoise::Exact { 2.0_f64.powi(-14) } else { 0.0 };
                assert!(
                    ratio > 1.0 + charged - 1e-14 && ratio < 1.0 + charged + 1e-8,
                    "{noise:?} {clipping:?} {draws:?}: {ratio}"
                );
            }
        }
    }
}

#[test]
fn epochs_are_debited_as_a_whole() {
    let records = records(&[1.0, -1.0, 1.0, 1.0, -1.0]);
    // Five records by two: three releases an epoch.
    let plan = Shuffle::batch(2).unwrap();
    let mut ledger = Ledger::new(budget(Relation::ReplaceOne)).unwrap();
    let mut shuffled = mechanism(3.0, &plan, &records, 1);
    let permits = shuffled.pay(&mut ledger, 1).unwrap();
    assert_eq!(permits.left(), 3);
    let mut out = [0.0];
    permits.for_each(|permit| shuffled.release(permit, &mut out).unwrap());
    assert_eq!(shuffled.pay(&mut ledger, 4).unwrap().left(), 6);
    let event = shuffled.event().unwrap();
    assert_eq!(*ledger.events(), Composition::single(event, 9));
    // Not under add/remove; nothing is debited then.
    let mut other = Ledger::new(budget(Relation::AddRemove)).unwrap();
    assert!(shuffled.pay(&mut other, 3).unwrap_err().to_string().contains("shuffled epochs"));
    assert!(other.debits().is_empty());
}
