//! Sensitivities, the laws of noise and choices, and audits of both.

use super::*;
use dp_accountant::{Accountant, Budget, Ledger, Mechanism};
use proptest::prelude::*;

fn table(rows: &[(u32, u32, u32)]) -> Sensitive<Categories> {
    let column = |of: fn(&(u32, u32, u32)) -> u32| rows.iter().map(of).collect::<Vec<_>>();
    let columns = vec![column(|r| r.0), column(|r| r.1), column(|r| r.2)];
    Sensitive::new(Categories::new(vec![2, 3, 4], columns).unwrap())
}

fn row() -> impl Strategy<Value = (u32, u32, u32)> {
    (0..2_u32, 0..3_u32, 0..4_u32)
}

proptest! {
    /// Neighbours by both relations, before and after values are merged; one record more attains the bound.
    #[test]
    fn neighbours_differ_by_no_more_than_stated(
        rows in proptest::collection::vec(row(), 2..12),
        other in row(),
        merged in any::<bool>(),
        noise_multiplier in 0.01..100.0_f64,
    ) {
        let sets = [vec![0], vec![2, 1], vec![0, 1, 2]];
        let unit = unit(Relation::AddRemove, 3, noise_multiplier).unwrap();
        let sums = |rows: &[(u32, u32, u32)]| {
            let records = table(rows);
            let maps = [vec![0, 1], vec![0, 0, 1], vec![0, 1, 1, 1]];
            let mut in_place = table(rows);
            in_place.merge(&maps).unwrap();
            let exact = |records: &Sensitive<Categories>| {
                records.sums_of_marginals(&sets, unit.steps()).unwrap().exact().to_vec()
            };
            assert_eq!(exact(&in_place), exact(&records.merged(&maps).unwrap()));
            let records = if merged { in_place } else { records };
            records.sums_of_marginals(&sets, unit.steps()).unwrap().exact().to_vec()
        };
        let norm = |a: &[i128], b: &[i128]| {
            a.iter().zip(b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
        };
        let whole = sums(&rows);
        let mut replaced = rows.clone();
        replaced[0] = other;
        let slack = 1.0 + 4.0 * f64::EPSILON;
        let added = norm(&whole, &sums(&rows[1..]));
        prop_assert!(added <= difference(Relation::AddRemove, 3, unit) * slack);
        prop_assert!(added >= difference(Relation::AddRemove, 3, unit) * (1.0 - 1e-9));
        prop_assert!(norm(&whole, &sums(&replaced)) <= difference(Relation::ReplaceOne, 3, unit) * slack);
    }

    /// A distance moves by at most one count, or two, whatever was expected.
    #[test]
    fn distances_of_neighbours(
        rows in proptest::collection::vec(row(), 2..12),
        other in row(),
        expected in proptest::collection::vec(0.0..4.0_f64, 6),
    ) {
        let expected: Vec<u64> = expected.into_iter().map(in_units).collect();
        let distance = |rows: &[(u32, u32, u32)]| {
            let mut distances = Distances::default();
            distances.push(&table(rows), &[0, 1], &expected).unwrap();
            distances.exact()[0]
        };
        let mut replaced = rows.clone();
        replaced[0] = other;
        let one = u128::from(Distances::UNITS);
        prop_assert!(distance(&rows).abs_diff(distance(&rows[1..])) <= one);
        prop_assert!(distance(&rows).abs_diff(distance(&replaced)) <= 2 * one);
    }
}

fn paid<'r>(
    records: &'r Sensitive<Categories>,
    events: &Composition,
    relation: Relation,
    seed: u64,
) -> Marginals<'r> {
    let mut ledger = Ledger::new(Budget { epsilon: 1e6, delta: 1e-6, relation }).unwrap();
    let mut marginals = Marginals::new(records, Seed::for_tests(seed)).unwrap();
    marginals.pay(events, &mut ledger).unwrap();
    marginals
}

/// Releases with one record and without it are told apart as well as the event says: the best test is the sum
/// over the cells that the record is in, and its mean moves by √m·√m/(σ√m) = 1/σ standard deviations. Seeds 1
/// and 2; of 4,000 releases each, the difference of means is known to √(2/4000) = 0.0224 standard deviations,
/// and 10 % of 1/σ = 2 is nine of these (false alarm below 1e-17).
#[test]
fn a_record_is_as_visible_as_the_event_says() {
    const RELEASES: u64 = 4_000;
    let sigma = 0.5;
    let sets = [vec![0], vec![1, 2]];
    for (relation, other) in
        [(Relation::AddRemove, vec![]), (Relation::ReplaceOne, vec![(1_u32, 2_u32, 3_u32)])]
    {
        let event = Marginals::counts_event(relation, 2, sigma).unwrap();
        let Mechanism::Gaussian { noise_multiplier } = event.mechanism() else { panic!("{event:?}") };
        assert!(noise_multiplier >= sigma && noise_multiplier < sigma * (1.0 + 1e-5));
        let events = Composition::single(event, RELEASES);
        let mean = |rows: &[(u32, u32, u32)], seed: u64| {
            let records = table(rows);
            let mut marginals = paid(&records, &events, relation, seed);
            let statistic = |_| {
                let found = marginals.counts(&sets, sigma).unwrap();
                let leaves = found[0].counts[0] + found[1].counts[0];
                let enters = found[0].counts[1] + found[1].counts[11];
                match relation {
                    Relation::AddRemove => leaves / (2.0_f64.sqrt() * found[0].noise),
                    Relation::ReplaceOne => (leaves - enters) / (2.0 * found[0].noise),
                }
            };
            (0..RELEASES).map(statistic).sum::<f64>() / RELEASES as f64
        };
        // Under replace-one a sum may move by twice the clip norm.
        let claimed = if relation == Relation::AddRemove { 1.0 / sigma } else { 2.0 / sigma };
        let apart = mean(&[(0, 0, 0)], 1) - mean(&other, 2);
        assert!((apart / claimed - 1.0).abs() < 0.1, "{relation:?}: {apart} for {claimed}");
    }
}

/// A choice between two candidates on neighbours: the ratio of probabilities is at most e^ε, and is attained
/// where one distance grows and the other falls. Seeds 3 and 4, 40,000 choices each at ε = 2: the candidate
/// is taken with the probabilities 1/(1 + e^(±ε/2)), 0.731 and 0.269; each is known to 0.0022, and 0.012 is
/// more than five of these (false alarm below 1e-7).
#[test]
fn choices_have_the_odds_of_their_epsilon() {
    const CHOICES: u64 = 40_000;
    let epsilon = 2.0;
    let event = Marginals::choice_event(Relation::AddRemove, epsilon).unwrap();
    let events = Composition::single(event, CHOICES);
    let share = |rows: &[(u32, u32, u32)], seed: u64| {
        let records = table(rows);
        let mut marginals = paid(&records, &events, Relation::AddRemove, seed);
        // Of two cells, one record in the first: what is expected is too little for one and too much for the
        // other.
        let low = Candidate { columns: vec![0], expected: vec![0.0, 0.0], penalty: 0.0 };
        let high = Candidate { columns: vec![0], expected: vec![1.0, 0.0], penalty: 0.0 };
        assert_eq!((marginals.consider(&low).unwrap(), marginals.consider(&high).unwrap()), (0, 1));
        let first = (0..CHOICES).filter(|_| marginals.choose(&[0, 1], epsilon).unwrap() == 0).count();
        first as f64 / CHOICES as f64
    };
    let expected = 1.0 / (1.0 + (-0.5 * epsilon).exp());
    let (with, without) = (share(&[(0, 1, 2)], 3), share(&[], 4));
    assert!((with - expected).abs() < 0.012, "{with} for {expected}");
    assert!((without - (1.0 - expected)).abs() < 0.012, "{without}");
}

/// The same where a record leaves one cell and enters the other: each of two distances moves by two, one up and one
/// down, at half the slope. Seeds 6 and 7, 10,000 choices each at ε = 2: the probabilities are again
/// 1/(1 + e^(±ε/2)), each known to 0.0044, and 0.025 is more than five of these (false alarm below 1e-7). With the
/// slope of add/remove they would be 0.119 and 0.881.
#[test]
fn choices_under_replace_one_have_the_odds_of_their_epsilon() {
    const CHOICES: u64 = 10_000;
    let (epsilon, relation) = (2.0_f64, Relation::ReplaceOne);
    let event = Marginals::choice_event(relation, epsilon).unwrap();
    let events = Composition::single(event, CHOICES);
    let share = |row: (u32, u32, u32), seed: u64| {
        let records = table(&[row]);
        let mut marginals = paid(&records, &events, relation, seed);
        let first = Candidate { columns: vec![0], expected: vec![1.0, 0.0], penalty: 0.0 };
        let second = Candidate { columns: vec![0], expected: vec![0.0, 1.0], penalty: 0.0 };
        assert_eq!((marginals.consider(&first).unwrap(), marginals.consider(&second).unwrap()), (0, 1));
        let taken = (0..CHOICES).filter(|_| marginals.choose(&[0, 1], epsilon).unwrap() == 0).count();
        taken as f64 / CHOICES as f64
    };
    // As expected of the first, and as expected of the second: the larger distance is the likelier.
    let expected = 1.0 / (1.0 + (0.5 * epsilon).exp());
    let (one, other) = (share((0, 1, 2), 6), share((1, 1, 2), 7));
    assert!((one - expected).abs() < 0.025, "{one} for {expected}");
    assert!((other - (1.0 - expected)).abs() < 0.025, "{other}");
}

/// What a choice is paid for as costs at least what any choice of bounded range ε can, at every level, under
/// both relations: `δ(a) = (e^(ε/2) − e^(a/2))²/(e^ε − 1)`, which is also found by going over all pairs of
/// two outcomes whose ratios are e^t and e^(t−ε).
#[test]
fn choices_are_paid_for_as_something_that_costs_more() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        for epsilon in [1e-3, 0.02, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
            // Choices are made at an ε in steps of 2⁻³⁶, rounded down.
            let epsilon = (epsilon * 2.0_f64.powi(36)).floor() / 2.0_f64.powi(36);
            let event = Marginals::choice_event(relation, epsilon).unwrap();
            let paid = Accountant::new(relation).compose(event, 1);
            for step in 0..=40 {
                let a = epsilon * f64::from(step) / 40.0;
                let closed = ((0.5 * epsilon).exp() - (0.5 * a).exp()).powi(2) / epsilon.exp_m1();
                let searched = (0..=400).map(|at| {
                    let t = epsilon * f64::from(at) / 400.0;
                    let share = (epsilon.exp() - t.exp()) / epsilon.exp_m1();
                    share * (1.0 - (a - t).exp()).max(0.0)
                });
                let searched = searched.fold(0.0, f64::max);
                assert!((closed - searched).abs() < 1e-4 * closed + 1e-5, "{epsilon} {a}");
                let claimed = paid.delta(a).unwrap();
                assert!(claimed.upper >= closed, "{relation:?} {epsilon} at {a}: {claimed} for {closed}");
            }
            // At the narrowest place there is hardly anything to spare while ε is small.
            let spare = paid.delta(0.0).unwrap().upper / (0.25 * epsilon).tanh();
            assert!(epsilon > 0.6 || spare < 1.002, "{spare}");
        }
    }
}

#[test]
fn a_penalty_counts_as_records() {
    let records = table(&[(0, 1, 2); 50]);
    let mut marginals = paid(
        &records,
        &Composition::single(Marginals::choice_event(Relation::ReplaceOne, 8.0).unwrap(), 2),
        Relation::ReplaceOne,
        5,
    );
    let plain = Candidate { columns: vec![0], expected: vec![0.0; 2], penalty: 0.0 };
    let costly = Candidate { columns: vec![0, 1], expected: vec![0.0; 6], penalty: 40.0 };
    marginals.consider(&costly).unwrap();
    marginals.consider(&plain).unwrap();
    // Better by e^(8/4·40).
    assert_eq!(marginals.choose(&[0, 1], 8.0).unwrap(), 1);
    assert_eq!(marginals.choose(&[1, 0], 8.0).unwrap(), 0);
    assert!(matches!(marginals.choose(&[0], 8.0), Err(Error::NotPaid { .. })));
}

#[test]
fn what_cannot_be_released_is_refused_and_costs_nothing() {
    assert!(Categories::new(vec![], vec![]).is_err());
    assert!(Categories::new(vec![2, 0], vec![vec![], vec![]]).is_err());
    assert!(Categories::new(vec![2, 2], vec![vec![0], vec![]]).is_err());
    let told = Categories::new(vec![2, 9], vec![vec![0], vec![77_123]]).err().unwrap().to_string();
    assert!(!told.contains("77123") && told.contains("got 1"), "{told}");

    let records = table(&[(0, 0, 0)]);
    let relation = Relation::AddRemove;
    let event = Marginals::counts_event(relation, 1, 1.0).unwrap();
    let mut unpaid = Marginals::new(&records, Seed::for_tests(1)).unwrap();
    assert!(matches!(unpaid.counts(&[vec![0]], 1.0), Err(Error::NotPaid { .. })));
    let mut marginals = paid(&records, &Composition::single(event, 1), relation, 1);
    assert!(marginals.counts(&[vec![0, 0]], 1.0).is_err());
    assert!(marginals.counts(&[vec![3]], 1.0).is_err());
    assert!(marginals.counts(&[vec![0]], 0.9).is_err());
    assert!(marginals.counts(&[], 1.0).is_err());
    assert!(marginals.counts(&[vec![0], vec![1]], 1.0).is_err());
    assert!(marginals.choose(&[0], 1.0).is_err());
    for wrong in [f64::NAN, -1.0, 1e300] {
        let candidate = Candidate { columns: vec![0], expected: vec![wrong, 0.0], penalty: 0.0 };
        assert!(marginals.consider(&candidate).is_err());
    }
    assert!(marginals.merge(&[vec![0, 0], vec![0, 0, 0]]).is_err());
    let mut owning = Marginals::owning(table(&[(0, 0, 0)]), Seed::for_tests(1)).unwrap();
    assert!(owning.merge(&[vec![0, 0], vec![0, 0, 0], vec![0; 3]]).is_err());
    assert_eq!(owning.sizes(), [2, 3, 4]);
    owning.merge(&[vec![0, 0], vec![0, 1, 0], vec![0; 4]]).unwrap();
    assert_eq!(owning.sizes(), [1, 2, 1]);
    // None of this has used up what was paid for.
    assert_eq!(marginals.counts(&[vec![0]], 1.0).unwrap()[0].counts.len(), 2);
    assert!(matches!(marginals.counts(&[vec![0]], 1.0), Err(Error::NotPaid { .. })));
    let large = Sensitive::new(Categories::new(vec![1 << 20; 2], vec![vec![]; 2]).unwrap());
    let mut large = paid(&large, &Composition::single(event, 1), relation, 1);
    assert!(large.counts(&[vec![0, 1]], 1.0).unwrap_err().to_string().contains("2^26"));
}
