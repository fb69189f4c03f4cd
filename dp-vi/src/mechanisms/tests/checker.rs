//! The checker over the laws of all mechanisms, and planted faults.

use super::samplers::sampler_has_its_law;
use super::*;

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
    let draw = PosteriorDraw::new(2.0 * (7.0_f64 / 3.0).ln()).unwrap().over(on_a_grid, sets(12)).unwrap();
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

    // The squared distance as a score: it moves by more than its value at neighbours, which is what a metric
    // could move by, and at this size the loss is above the claim.
    let worst = (0..12)
        .map(|k| Hellinger::between(&learn_bias(&coins(12, k)), &learn_bias(&coins(12, k + 1))).upper());
    let bound = worst.fold(0.0, f64::max);
    let squared = Exponential::new(0.1).unwrap().with_squared_score();
    let error = squared.over(learn_bias, sets(12), bound).unwrap_err();
    assert!(matches!(&error, Error::BoundTooSmall { witness, .. } if witness.contains("true")), "{error}");
    let faulty = squared.unchecked(learn_bias, sets(12), bound).unwrap();
    assert!(checked(&faulty, &[true, false], 12..=12, ReplaceOne).lower() > 0.11);
    let right = Exponential::new(0.1).unwrap().over(learn_bias, sets(12), bound).unwrap();
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

/// A bound that scores of neighbours exceed by a tenth is none: nothing is prepared with it.
#[test]
fn a_bound_a_little_below_what_scores_move_by_is_refused() {
    let moved = |heads: u64| {
        Hellinger::between(&learn_bias(&coins(12, heads)), &learn_bias(&coins(12, heads + 1))).upper()
    };
    let worst = (0..12).map(moved).fold(0.0, f64::max);
    let over = |bound: f64| Exponential::new(0.1).unwrap().over(learn_bias, sets(12), bound);
    assert!(over(worst).is_ok());
    let error = over(0.9 * worst).unwrap_err();
    assert!(matches!(error, Error::BoundTooSmall { found, .. } if (found - worst).abs() < 1e-4), "{error}");
}

/// A draw is paid for with all that it costs: for a hundredth less it is refused.
#[test]
fn a_draw_is_refused_for_a_little_less_than_it_costs() {
    let draw = PosteriorDraw::new(2.0).unwrap().over(on_a_grid, sets(12)).unwrap();
    let cost = checked(&draw, &[true, false], 12..=12, ReplaceOne).upper();
    assert!(PosteriorDraw::new(1.01 * cost).unwrap().over(on_a_grid, sets(12)).is_ok());
    let error = PosteriorDraw::new(0.99 * cost).unwrap().over(on_a_grid, sets(12)).err().unwrap();
    assert!(matches!(error, Error::LossAboveClaim { found, .. } if (found - cost).abs() < 1e-12), "{error}");
}

/// A vector bounded in ℓ₁: the check finds the claim, a bound that is too small is refused, and a release
/// debits it.
#[test]
fn vectors_of_integers() {
    use ppl_core::finite::{L1, L2, Statistic};
    let statistic =
        |c: &Histogram<bool>| Statistic::new([2 * c.count(&true) as i64, -(c.count(&false) as i64)]);
    let worst = || neighbours(5, ReplaceOne).worst::<L1, _>(statistic).unwrap();
    assert_eq!(worst().value(), Interval::exact(3.0));
    let euclidean = neighbours(5, ReplaceOne).worst::<L2, _>(statistic).unwrap().value();
    assert!(euclidean.contains(5.0_f64.sqrt()) && euclidean.width() < 1e-15);
    let mechanism = Laplace::new(1.0).unwrap().over(statistic, sets(5), 3.0).unwrap();
    let found = checked(&mechanism, &[true, false], 5..=5, ReplaceOne);
    assert!(found.contains(Mechanism::<bool>::claim(&mechanism)) && found.width() <= 1e-12, "{found}");
    let error = Laplace::new(1.0).unwrap().over(statistic, sets(5), 2.5).err().unwrap();
    assert!(matches!(error, Error::BoundTooSmall { found: 3.0, .. }), "{error}");
    let data = coins(5, 2);
    sampler_has_its_law(&mechanism, &data, &[mechanism.law(&coins(5, 3)).unwrap()]);
    let data = Sensitive::new(data);
    let mut account = ledger(1.0, Relation::ReplaceOne);
    let bounded = Private::over(&data, statistic).bounded_by(worst()).unwrap();
    let released =
        bounded.release_seeded(Laplace::new(1.0).unwrap(), &mut account, Seed::for_tests(2)).unwrap();
    assert_eq!((released.len(), account.debits().len()), (2, 1));
}
