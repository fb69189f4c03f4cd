//! Mechanisms: samplers against their laws, the checker over those laws, planted faults, and what is useful.

use super::*;
use crate::sensitive_value::{Bound, Private};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Ledger};
use ppl_core::finite::{
    AddRemove, Adjacency, Beta, Category, Check, Conjugate, Dirichlet, Divergence, Hellinger, Histogram,
    Interval, Probability, Rational, ReplaceOne, dirichlet_hellinger, histograms, neighbours,
};

fn coins(n: u64, heads: u64) -> Histogram<bool> {
    Histogram::new(vec![true, false], vec![heads, n - heads]).unwrap()
}

fn prior() -> Beta {
    Beta::new(1.0, 1.0).unwrap()
}

fn learn_bias(coins: &Histogram<bool>) -> Beta {
    prior().observe_all(coins)
}

/// P(a chi-square variable with this many degrees of freedom exceeds `x`), by the normal approximation of Wilson and
/// Hilferty, which is good to a few per cent of the tail's logarithm from three degrees on.
fn chi_square_tail(x: f64, degrees: f64) -> f64 {
    let z = ((x / degrees).cbrt() - (1.0 - 2.0 / (9.0 * degrees))) / (2.0 / (9.0 * degrees)).sqrt();
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

const DRAWS: u64 = 1_000_000;

/// How often each outcome is drawn; seed 7.
fn drawn<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    data: &Histogram<T>,
) -> std::collections::BTreeMap<K::Outcome, u64> {
    let seed = Seed::for_tests(7);
    let mut counts = std::collections::BTreeMap::new();
    for number in 0..DRAWS {
        *counts.entry(mechanism.draw(data, &seed, number).unwrap()).or_default() += 1;
    }
    counts
}

/// The p-value of draws against a law. Outcomes that are expected fewer than 10 times are pooled.
fn p_value<O: Ord + Clone, W: Weight>(counts: &std::collections::BTreeMap<O, u64>, law: &Dist<O, W>) -> f64 {
    if counts.keys().any(|outcome| law.weight(outcome).is_zero()) {
        return 0.0;
    }
    let (mut statistic, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (outcome, weight) in law.iter() {
        let expected = weight.value().estimate() * DRAWS as f64;
        let found = counts.get(outcome).copied().unwrap_or(0) as f64;
        if expected < 10.0 {
            rare = (rare.0 + found, rare.1 + expected);
            continue;
        }
        statistic += (found - expected).powi(2) / expected;
        cells += 1.0;
    }
    if rare.1 >= 10.0 {
        statistic += (rare.0 - rare.1).powi(2) / rare.1;
        cells += 1.0;
    }
    chi_square_tail(statistic, cells - 1.0)
}

/// Seed 7, 10⁶ draws; alpha 1e-6 for the right law. A wrong one is noticed.
fn sampler_has_its_law<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    data: &Histogram<T>,
    wrong: &[Dist<K::Outcome, K::Weight>],
) {
    let counts = drawn(mechanism, data);
    let right = p_value(&counts, &mechanism.law(data).unwrap());
    assert!(right > 1e-6, "{right}");
    for law in wrong {
        assert!(p_value(&counts, law) < 1e-9);
    }
}

#[test]
fn the_geometric_sampler_has_its_law() {
    let data = coins(20, 4);
    let geometric = |epsilon| Geometric::new(epsilon).unwrap().for_records(2, 20).unwrap();
    let wrong = [geometric(0.5).law(&coins(20, 5)).unwrap(), geometric(0.51).law(&data).unwrap()];
    sampler_has_its_law(&geometric(0.5), &data, &wrong);
    let added = Geometric::new(1.0).unwrap().for_at_most(2, 6).unwrap();
    let few = coins(5, 2);
    sampler_has_its_law(&added, &few, &[added.law(&coins(4, 2)).unwrap()]);
}

#[test]
fn the_exponential_sampler_has_its_law() {
    let data = coins(20, 4);
    let exponential = Exponential::calibrated(1.0).unwrap();
    let exponential = exponential.over(learn_bias, (data.alphabet(), 20), 0.4633).unwrap();
    sampler_has_its_law(&exponential, &data, &[exponential.law(&coins(20, 6)).unwrap()]);
}

#[test]
fn the_samplers_of_sums_have_their_laws() {
    let told = RandomisedResponse::new(Probability::new(3, 5).unwrap()).unwrap().for_categories(3).unwrap();
    let faces = Histogram::new(vec!['a', 'b', 'c'], vec![3, 1, 2]).unwrap();
    let other = faces.with_counts(vec![3, 2, 1]).unwrap();
    sampler_has_its_law(&told, &faces, &[told.law(&other).unwrap()]);
    let laplace = Laplace::new(1.0).unwrap().for_records(vec![-2, 0, 3], 6).unwrap();
    sampler_has_its_law(&laplace, &faces, &[laplace.law(&other).unwrap()]);
}

#[test]
fn draws_of_a_posterior_have_its_law() {
    let data = coins(6, 4);
    let draw = PosteriorDraw::new(2.5).unwrap().over(on_a_grid, (data.alphabet(), 6)).unwrap();
    sampler_has_its_law(&draw, &data, &[draw.law(&coins(6, 3)).unwrap()]);
}

/// A posterior over the biases 3/10, 4/10, …, 7/10: each likelihood changes by at most 7/3 when a coin is replaced.
fn on_a_grid(coins: &Histogram<bool>) -> ppl_core::Result<Dist<u64, Rational>> {
    let weight = |tenths: u64| {
        let power = |base: u64, count: u64| Rational::ratio(base, 10).power(count as u32);
        power(tenths, coins.count(&true)).times(&power(10 - tenths, coins.count(&false)))
    };
    Dist::from_weights((3..=7).map(|tenths| (tenths, weight(tenths))))?.infer()
}

/// The check over a mechanism's own law.
fn checked<T: Ord + Clone + Debug, K: Mechanism<T>, R: Adjacency>(
    mechanism: &K,
    alphabet: &[T],
    records: std::ops::RangeInclusive<u64>,
    relation: R,
) -> Interval {
    let check = Check::new(|data: &Histogram<T>| mechanism.law(data)).alphabet(alphabet);
    check.records(records).neighbours(relation).run().unwrap().epsilon()
}

/// Mechanisms whose ε has a formula: equal to it, and known to 1e-12.
#[test]
fn the_checker_finds_the_formulas() {
    let equal = |found: Interval, claim: f64| {
        assert!(found.contains(claim) && found.width() <= 1e-12, "{found} {claim}");
    };
    for epsilon in [0.1, 1.0, 3.0] {
        let geometric = Geometric::new(epsilon).unwrap();
        let one = geometric.for_records(2, 12).unwrap();
        let claim = <GeometricCounts as Mechanism<bool>>::claim(&one);
        assert!(claim <= epsilon && claim > epsilon * (1.0 - 1e-10));
        equal(checked(&one, &[true, false], 12..=12, ReplaceOne), claim);
        let three = geometric.for_records(3, 5).unwrap();
        equal(
            checked(&three, &[0, 1, 2], 5..=5, ReplaceOne),
            <GeometricCounts as Mechanism<u8>>::claim(&three),
        );
        let added = geometric.for_at_most(2, 8).unwrap();
        equal(checked(&added, &[0, 1], 0..=8, AddRemove), <GeometricCounts as Mechanism<u8>>::claim(&added));
        let laplace = Laplace::new(epsilon).unwrap();
        let sum = laplace.for_records(vec![-2, 0, 3], 6).unwrap();
        equal(
            checked(&sum, &['a', 'b', 'c'], 6..=6, ReplaceOne),
            <LaplaceSum as Mechanism<char>>::claim(&sum),
        );
        let sum = laplace.for_at_most(vec![-2, 0, 3], 6).unwrap();
        equal(
            checked(&sum, &['a', 'b', 'c'], 0..=6, AddRemove),
            <LaplaceSum as Mechanism<char>>::claim(&sum),
        );
    }
    for (p, k) in [((3, 4), 2), ((1, 2), 3), ((9, 10), 3)] {
        let truth = Probability::new(p.0, p.1).unwrap();
        let told = RandomisedResponse::new(truth).unwrap().for_categories(k).unwrap();
        let alphabet: Vec<usize> = (0..k).collect();
        let check = Check::new(|data: &Histogram<usize>| told.law(data)).alphabet(alphabet);
        let loss = check.records(0..=5).neighbours(ReplaceOne).run().unwrap();
        assert_eq!(loss.ratio(), Some(told.odds()));
        assert!(loss.epsilon().width() <= 1e-12);
        assert!(<RandomisedCounts as Mechanism<usize>>::claim(&told) >= loss.epsilon().lower());
        let exact = (p.0 as f64 * (k as f64 - 1.0) / (p.1 - p.0) as f64).ln();
        assert!((loss.epsilon().estimate() - exact).abs() < 1e-12);
    }
    let wanted = RandomisedResponse::for_epsilon(1.0, 3).unwrap().for_categories(3).unwrap();
    let claim = <RandomisedCounts as Mechanism<u8>>::claim(&wanted);
    assert!(claim <= 1.0 && claim > 1.0 - 1e-8);
    let draw = PosteriorDraw::new(2.0 * (7.0_f64 / 3.0).ln())
        .unwrap()
        .over(on_a_grid, (&[true, false], 12))
        .unwrap();
    assert!(checked(&draw, &[true, false], 12..=12, ReplaceOne).upper() <= 2.0 * (7.0_f64 / 3.0).ln());
}

/// What is wrong on purpose is found, with a witness.
#[test]
fn planted_faults_are_found() {
    let right = Geometric::new(1.0).unwrap().for_records(2, 12).unwrap();
    type Law<'a> = &'a dyn Fn(&Histogram<bool>) -> Result<Dist<Vec<u64>, ppl_core::finite::LogInterval>>;
    let loss = |law: Law<'_>| {
        Check::new(law).records(12..=12).alphabet([true, false]).neighbours(ReplaceOne).run().unwrap()
    };
    assert!(loss(&|coins| right.law(coins)).epsilon().upper() <= 1.0 + 1e-12);
    // Scale × 0.9.
    let faulty = right.with_scale_for(1, (9, 10));
    let found = loss(&|coins| faulty.law(coins));
    assert!((found.epsilon().estimate() - 1.0 / 0.9).abs() < 1e-9 && found.witness().is_some());
    // Sensitivity 1 where two counts move.
    let three = Geometric::new(1.0).unwrap().for_records(3, 4).unwrap().with_scale_for(1, (1, 1));
    let check = Check::new(|faces: &Histogram<u8>| three.law(faces)).records(4..=4).alphabet([0, 1, 2]);
    let found = check.neighbours(ReplaceOne).run().unwrap();
    assert!((found.epsilon().estimate() - 2.0).abs() < 1e-9 && found.witness().is_some());

    // The squared distance as a score: it moves by more than its value at neighbours, which is what a metric could move
    // by, and at this size the loss is above the claim.
    let worst = (0..12)
        .map(|k| Hellinger::between(&learn_bias(&coins(12, k)), &learn_bias(&coins(12, k + 1))).upper());
    let bound = worst.fold(0.0, f64::max);
    let squared = Exponential::new(0.1).unwrap().with_squared_score();
    let error = squared.over(learn_bias, (&[true, false], 12), bound).unwrap_err();
    assert!(matches!(&error, Error::BoundTooSmall { witness, .. } if witness.contains("true")), "{error}");
    let faulty = squared.unchecked(learn_bias, (&[true, false], 12), bound).unwrap();
    assert!(checked(&faulty, &[true, false], 12..=12, ReplaceOne).lower() > 0.11);
    let right = Exponential::new(0.1).unwrap().over(learn_bias, (&[true, false], 12), bound).unwrap();
    assert!(checked(&right, &[true, false], 12..=12, ReplaceOne).upper() <= 0.1);

    // A draw of the posterior for less than it costs: nothing is released, and nothing paid.
    let data = Sensitive::new(coins(12, 5));
    let mut ledger = ledger(1.0, Relation::ReplaceOne);
    let tight = Bound::<ppl_core::finite::TotalVariation, ReplaceOne>::stated(Interval::exact(1.0)).unwrap();
    let posterior = Private::over(&data, on_a_grid).bounded_by(tight).unwrap();
    let error = posterior.release(PosteriorDraw::new(1e-6).unwrap(), &mut ledger).unwrap_err();
    assert!(
        matches!(&error, Error::LossAboveClaim { found, witness, .. } if *found > 0.5 && !witness.is_empty()),
        "{error}"
    );
    assert!(ledger.debits().is_empty());

    // The lemma as printed, with a prior below 1.
    let low = Beta::new(0.1, 0.1).unwrap();
    let printed = Bound::<Hellinger, ReplaceOne>::stated(Interval::exact(0.46326)).unwrap();
    let error = Private::over(&data, |coins: &Histogram<bool>| low.observe_all(coins))
        .bounded_by(printed)
        .err()
        .unwrap();
    assert!(
        matches!(&error, Error::BoundTooSmall { found, witness, .. } if *found > 0.868 && !witness.is_empty()),
        "{error}"
    );
    let printed = Bound::<Hellinger, ReplaceOne>::stated(Interval::exact(0.46326)).unwrap();
    assert!(Private::over(&data, learn_bias).bounded_by(printed).is_ok());
}

fn ledger(epsilon: f64, relation: Relation) -> Ledger {
    Ledger::new(Budget { epsilon, delta: 1e-6, relation }).unwrap()
}

/// Expected Hellinger distance of the released from the true posterior, prior (1, 1), 20 coins, uniform over counts:
/// ε; geometric with remap, which equals the best possible (the linear program of an independent computation); geometric
/// clamped; exponential with the global bound; its true ε; the same calibrated.
#[test]
fn what_to_release() {
    const TABLE: [(f64, f64, f64, f64, f64, f64); 4] = [
        (0.1, 0.5615, 0.6420, 0.6972, 0.044, 0.6842),
        (0.5, 0.2827, 0.2873, 0.6551, 0.221, 0.5823),
        (1.0, 0.1477, 0.1477, 0.5969, 0.446, 0.4412),
        (2.0, 0.0511, 0.0511, 0.4701, 0.899, 0.1909),
    ];
    let all: Vec<(Histogram<bool>, Beta)> = histograms(vec![true, false], 20..=20, 100)
        .unwrap()
        .into_iter()
        .map(|coins| (coins.clone(), learn_bias(&coins)))
        .collect();
    let global = dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0]).unwrap().upper();
    let near = |found: f64, printed: f64, digits: i32| {
        assert!((found - printed).abs() <= 0.5001 * 10.0_f64.powi(-digits), "{found} {printed}");
    };
    for (epsilon, remapped, clamped, exponential, its_epsilon, calibrated) in TABLE {
        let geometric = Geometric::new(epsilon).unwrap().for_records(2, 20).unwrap();
        let remap = bayes_remap::<Hellinger, _, _, _>(&geometric, &all, |_| 1.0).unwrap();
        let found =
            expected_distance::<Hellinger, _, _, _>(&geometric, &all, |noisy| all[remap[noisy]].1).unwrap();
        assert!(found.width() < 1e-6, "{found}");
        near(found.estimate(), remapped, 4);
        let plug_in = |noisy: &Vec<u64>| learn_bias(&coins(20, noisy[0]));
        let found = expected_distance::<Hellinger, _, _, _>(&geometric, &all, plug_in).unwrap();
        near(found.estimate(), clamped, 4);

        let stated =
            Exponential::new(epsilon).unwrap().over(learn_bias, (&[true, false], 20), global).unwrap();
        let found = expected_distance::<Hellinger, _, _, _>(&stated, &all, |&place| all[place].1).unwrap();
        near(found.estimate(), exponential, 4);
        near(checked(&stated, &[true, false], 20..=20, ReplaceOne).estimate(), its_epsilon, 3);
        let larger = Exponential::calibrated(epsilon).unwrap();
        let larger = larger.over(learn_bias, (&[true, false], 20), global).unwrap();
        let found = expected_distance::<Hellinger, _, _, _>(&larger, &all, |&place| all[place].1).unwrap();
        near(found.estimate(), calibrated, 4);
        let loss = checked(&larger, &[true, false], 20..=20, ReplaceOne);
        assert!(loss.upper() <= epsilon && loss.lower() > epsilon * (1.0 - 1e-6), "{loss}");
        assert!(larger.slope() > 2.0 * stated.slope());
    }
}

/// Releases are paid for, once, and what follows from them is what Bayes' rule says.
#[test]
fn a_release_and_what_follows_from_it() {
    let data = Sensitive::new(coins(20, 14));
    let bound =
        || Bound::<Hellinger, ReplaceOne>::from(neighbours(20, ReplaceOne).worst(learn_bias).unwrap());
    let posterior = || Private::over(&data, learn_bias).bounded_by(bound()).unwrap();
    assert!((posterior().distance() - 0.46325).abs() < 1e-5);
    let mut account = ledger(1.0, Relation::ReplaceOne);
    let seed = Seed::for_tests(3);
    let released = posterior().release_seeded(Geometric::new(0.5).unwrap(), &mut account, &seed).unwrap();
    assert_eq!(account.debits().len(), 1);
    assert!((released.epsilon() - 0.5).abs() < 1e-11 && account.spent().unwrap().upper <= 0.5);
    // The mixture, by hand: uniform over k, for the prior is.
    let noisy = released.counts()[0];
    let step = (-0.5_f64).exp();
    let alpha = |k: u64| {
        let end = noisy == 0 || noisy == 20;
        step.powi(noisy.abs_diff(k) as i32) * if end { 1.0 } else { 1.0 - step }
    };
    let total: f64 = (0..=20).map(alpha).sum();
    let mean: f64 = (0..=20).map(|k| alpha(k) / total * (1.0 + k as f64) / 22.0).sum();
    let second: f64 = (0..=20)
        .map(|k| {
            let (a, b) = (1.0 + k as f64, 21.0 - k as f64);
            alpha(k) / total * a * (a + 1.0) / ((a + b) * (a + b + 1.0))
        })
        .sum();
    let mixture = released.posterior().unwrap();
    // ε is rounded down by less than 10⁻¹².
    assert!((mixture.mean()[0] - mean).abs() < 1e-11, "{:?} {mean}", mixture.mean());
    assert!((mixture.sd()[0] - (second - mean * mean).sqrt()).abs() < 1e-11);
    assert!(mixture.sd()[0] > released.plug_in().sd()[0]);
    let weights: f64 = mixture.parts().map(|part| part.0).sum();
    assert!((weights - 1.0).abs() < 1e-14);

    // The rest of the budget is for one more, and then there is none.
    assert!(posterior().release_seeded(Exponential::calibrated(0.5).unwrap(), &mut account, &seed).is_ok());
    let spent = account.spent().unwrap().upper;
    assert!(posterior().release_seeded(Geometric::new(0.5).unwrap(), &mut account, &seed).is_err());
    assert_eq!(account.spent().unwrap().upper, spent);

    // Randomised response debits its own event.
    let mut account = ledger(2.0, Relation::ReplaceOne);
    let truth = RandomisedResponse::for_epsilon(1.0, 2).unwrap();
    let told = posterior().release_seeded(truth, &mut account, &seed).unwrap();
    assert_eq!(told.iter().sum::<u64>(), 20);
    let spent = account.spent().unwrap();
    assert!(spent.upper <= 1.0 + 1e-6 && spent.upper > 0.9, "{spent}");
}

/// Under add/remove the number of records is secret: counts are clamped to a public number, and the mixture is over both.
#[test]
fn the_number_of_records_may_be_secret() {
    let data = Sensitive::new(coins(9, 6));
    let lemma = || {
        Bound::<Hellinger, AddRemove>::stated(dirichlet_hellinger::<AddRemove>(&[1.0, 1.0]).unwrap()).unwrap()
    };
    let posterior = || Private::over(&data, learn_bias).bounded_by(lemma()).unwrap();
    let mut account = ledger(1.0, Relation::AddRemove);
    let told = posterior().release(Geometric::new(1.0).unwrap(), &mut account).unwrap_err().to_string();
    assert!(told.contains("at_most"), "{told}");
    assert!(account.debits().is_empty());
    let geometric = Geometric::new(1.0).unwrap().at_most(30);
    let released = posterior().release_seeded(geometric, &mut account, &Seed::for_tests(5)).unwrap();
    assert_eq!(released.counts().len(), 2);
    let mixture = released.posterior().unwrap();
    let numbers: std::collections::BTreeSet<u64> = mixture.parts().map(|(_, data, _)| data.total()).collect();
    assert!(numbers.len() > 10, "{numbers:?}");
    assert!(mixture.mean()[0] > 0.0 && mixture.mean()[0] < 1.0);
    // A bound that was enumerated says nothing here, and the ledger has to be for the same neighbours.
    let worst = neighbours(20, AddRemove).worst::<Hellinger, _>(learn_bias).unwrap();
    assert!(matches!(Private::over(&data, learn_bias).bounded_by(worst), Err(Error::Conflict(_))));
    let mut other = ledger(1.0, Relation::ReplaceOne);
    assert!(matches!(posterior().release(geometric, &mut other), Err(Error::Conflict(_))));
    assert!(other.debits().is_empty());
}

/// Three categories, each count with half of ε.
#[test]
fn three_categories() {
    let faces = Histogram::of([0, 0, 1, 2, 2, 2].map(|face| Category::<3>::new(face).unwrap())).unwrap();
    let data = Sensitive::new(faces);
    let learn_p = |faces: &Histogram<Category<3>>| Dirichlet::new([1.0; 3])?.observe_all(faces);
    let bound = neighbours(6, ReplaceOne).worst::<Hellinger, _>(learn_p).unwrap();
    let posterior = Private::over(&data, learn_p).bounded_by(bound).unwrap();
    let mut account = ledger(1.0, Relation::ReplaceOne);
    let released =
        posterior.release_seeded(Geometric::new(1.0).unwrap(), &mut account, &Seed::for_tests(1)).unwrap();
    let mixture = released.posterior().unwrap();
    assert!((mixture.mean().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(released.counts().len(), 3);
}

#[test]
fn bad_input_is_refused_with_the_bound() {
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 65.0] {
        for error in [
            Geometric::new(epsilon).unwrap_err(),
            Exponential::new(epsilon).unwrap_err(),
            Exponential::calibrated(epsilon).unwrap_err(),
            Laplace::new(epsilon).unwrap_err(),
            PosteriorDraw::new(epsilon).unwrap_err(),
            RandomisedResponse::for_epsilon(epsilon, 2).unwrap_err(),
        ] {
            assert!(error.to_string().contains(&format!("between 1e-6 and 64, got {epsilon}")), "{error}");
        }
    }
    assert!(Geometric::new(1.0).unwrap().for_records(1, 5).is_err());
    assert!(Laplace::new(1.0).unwrap().for_records(vec![2, 2], 5).is_err());
    assert!(Laplace::new(1.0).unwrap().for_at_most(vec![0], 5).is_err());
    assert!(RandomisedResponse::new(Probability::new(1, 1).unwrap()).is_err());
    let seldom = RandomisedResponse::new(Probability::new(1, 4).unwrap()).unwrap();
    assert!(seldom.for_categories(3).is_err() && seldom.for_categories(4).is_ok());
    for distance in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(
            Bound::<Hellinger, ReplaceOne>::stated(Interval::between(0.0, distance)).is_err()
                || distance < 0.0
        );
    }
    // More data sets than the exponential mechanism takes, said before anything is computed.
    let error = Exponential::new(1.0).unwrap().over(learn_bias, (&[true, false], 3000), 0.5).unwrap_err();
    assert!(error.to_string().contains("3001 histograms, and the limit is 3000"), "{error}");
    // A bound that was enumerated up to fewer records than there are.
    let data = Sensitive::new(coins(20, 3));
    let worst = neighbours(10, ReplaceOne).worst::<Hellinger, _>(learn_bias).unwrap();
    let error = Private::over(&data, learn_bias).bounded_by(worst).err().unwrap();
    assert!(error.to_string().contains("got 20"), "{error}");
    // A mechanism that was prepared for others.
    let other = Geometric::new(1.0).unwrap().for_records(2, 5).unwrap();
    assert!(other.law(&coins(6, 1)).is_err());
    // A column with a value that is in no list; the value is not said.
    let people = Sensitive::new(ppl_core::Records::from_columns([("age", vec![1.0, 47.0])]).unwrap());
    let told = people.histogram("age", &[(0.0, 'a'), (1.0, 'b')]).err().unwrap().to_string();
    assert!(told.contains("'age'") && !told.contains("47"), "{told}");
}

/// Conditioning on something that is impossible in some data set: refused before anything is paid, whatever the records
/// are; with a public default in its place it goes through.
#[test]
fn a_program_that_fails_somewhere_is_refused_everywhere() {
    let strict = |coins: &Histogram<bool>| -> ppl_core::Result<Dist<u64, Rational>> {
        let tails = coins.count(&false);
        Dist::uniform([1, 2])?.observe(|_| Dist::point(tails < 3))?.infer()
    };
    let loose = |coins: &Histogram<bool>| strict(coins).or_else(|_| Dist::uniform([1, 2]));
    for heads in [0, 5] {
        let data = Sensitive::new(coins(5, heads));
        let bound = || Bound::<ppl_core::finite::TotalVariation, ReplaceOne>::stated(Interval::ONE).unwrap();
        let mut account = ledger(1.0, Relation::ReplaceOne);
        let told = Private::over(&data, strict).bounded_by(bound()).err().unwrap().to_string();
        assert!(told.contains("inf"), "{told}");
        let draw = PosteriorDraw::new(0.5).unwrap();
        assert!(
            matches!(draw.over(strict, (data.alphabet(), 5)), Err(Error::LossAboveClaim { found, .. }) if found == f64::INFINITY)
        );
        let posterior = Private::over(&data, loose).bounded_by(bound()).unwrap();
        assert!(posterior.release(draw, &mut account).is_ok());
        assert_eq!(account.debits().len(), 1);
    }
}

/// Bounds of composed programs hold: a coin's posterior into a kernel that looks at the records, too.
#[test]
fn composed_programs_keep_their_bounds() {
    use ppl_core::finite::TotalVariation;
    let data = Sensitive::new(coins(6, 2));
    let first =
        neighbours(6, ReplaceOne).worst::<TotalVariation, _>(|c: &Histogram<bool>| on_a_grid(c)).unwrap();
    let kernel = |tenths: &u64, coins: &Histogram<bool>| {
        Dist::<bool, Rational>::bernoulli(Probability::new(tenths + coins.count(&true).min(1), 10).unwrap())
    };
    let second = Bound::<TotalVariation, ReplaceOne>::stated(Interval::exact(0.1)).unwrap();
    let a = first.value().upper();
    let both =
        Private::over(&data, on_a_grid).bounded_by(first).unwrap().and_then(kernel, second).map(|z| !z);
    assert!((both.distance() - (1.0 - (1.0 - a) * 0.9)).abs() < 1e-12);
    let program =
        |coins: &Histogram<bool>| on_a_grid(coins).unwrap().and_then(|x| kernel(x, coins)).map(|z| !z);
    for heads in 0..6 {
        let (p, q) = (program(&coins(6, heads)), program(&coins(6, heads + 1)));
        assert!(TotalVariation::between(&p, &q).lower() <= both.distance());
    }
}

/// A vector bounded in ℓ₁: the check finds the claim, a bound that is too small is refused, and a release debits it.
#[test]
fn vectors_of_integers() {
    use ppl_core::finite::{L1, L2, Statistic};
    let statistic =
        |c: &Histogram<bool>| Statistic::new([2 * c.count(&true) as i64, -(c.count(&false) as i64)]);
    let worst = || neighbours(5, ReplaceOne).worst::<L1, _>(statistic).unwrap();
    assert_eq!(worst().value(), Interval::exact(3.0));
    let euclidean = neighbours(5, ReplaceOne).worst::<L2, _>(statistic).unwrap().value();
    assert!(euclidean.contains(5.0_f64.sqrt()) && euclidean.width() < 1e-15);
    let at = (&[true, false][..], 5);
    let mechanism = Laplace::new(1.0).unwrap().over(statistic, at, 3.0).unwrap();
    let found = checked(&mechanism, &[true, false], 5..=5, ReplaceOne);
    assert!(found.contains(Mechanism::<bool>::claim(&mechanism)) && found.width() <= 1e-12, "{found}");
    let error = Laplace::new(1.0).unwrap().over(statistic, at, 2.5).err().unwrap();
    assert!(matches!(error, Error::BoundTooSmall { found: 3.0, .. }), "{error}");
    let data = coins(5, 2);
    sampler_has_its_law(&mechanism, &data, &[mechanism.law(&coins(5, 3)).unwrap()]);
    let data = Sensitive::new(data);
    let mut account = ledger(1.0, Relation::ReplaceOne);
    let bounded = Private::over(&data, statistic).bounded_by(worst()).unwrap();
    let released =
        bounded.release_seeded(Laplace::new(1.0).unwrap(), &mut account, &Seed::for_tests(2)).unwrap();
    assert_eq!((released.len(), account.debits().len()), (2, 1));
}
