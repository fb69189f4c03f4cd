//! Releases: paid for, once, and what follows from them.

use super::*;

/// Releases are paid for, once, and what follows from them is what Bayes' rule says.
#[test]
fn a_release_and_what_follows_from_it() {
    let data = Sensitive::new(coins(20, 14));
    let bound =
        || Bound::<Hellinger, ReplaceOne>::from(neighbours(20, ReplaceOne).worst(learn_bias).unwrap());
    let posterior = || Private::over(&data, learn_bias).bounded_by(bound()).unwrap();
    assert!((posterior().distance() - 0.46325).abs() < 1e-5);
    let mut account = ledger(1.0, Relation::ReplaceOne);
    let seed = || Seed::for_tests(3);
    let released = posterior().release_seeded(Geometric::new(0.5).unwrap(), &mut account, seed()).unwrap();
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
    assert!(posterior().release_seeded(Exponential::calibrated(0.5).unwrap(), &mut account, seed()).is_ok());
    let spent = account.spent().unwrap().upper;
    assert!(posterior().release_seeded(Geometric::new(0.5).unwrap(), &mut account, seed()).is_err());
    assert_eq!(account.spent().unwrap().upper, spent);

    // Randomised response debits its own event.
    let mut account = ledger(2.0, Relation::ReplaceOne);
    let truth = RandomisedResponse::for_epsilon(1.0, 2).unwrap();
    let told = posterior().release_seeded(truth, &mut account, seed()).unwrap();
    assert_eq!(told.iter().sum::<u64>(), 20);
    let spent = account.spent().unwrap();
    assert!(spent.upper <= 1.0 + 1e-6 && spent.upper > 0.9, "{spent}");
}

/// Under add/remove the number of records is secret: counts are clamped to a public number, and the mixture
/// is over both.
#[test]
fn the_number_of_records_may_be_secret() {
    let data = Sensitive::new(coins(9, 6));
    let lemma = || {
        Bound::<Hellinger, AddRemove>::stated(dirichlet_hellinger::<AddRemove>(&[1.0, 1.0]).unwrap()).unwrap()
    };
    let posterior = || Private::over(&data, learn_bias).at_most(30).bounded_by(lemma()).unwrap();
    let mut account = ledger(1.0, Relation::AddRemove);
    let open = Private::over(&data, learn_bias).bounded_by(lemma()).unwrap();
    let told = open.release(Geometric::new(1.0).unwrap(), &mut account).unwrap_err().to_string();
    assert!(told.contains("at_most"), "{told}");
    assert!(account.debits().is_empty());
    let geometric = Geometric::new(1.0).unwrap();
    let released = posterior().release_seeded(geometric, &mut account, Seed::for_tests(5)).unwrap();
    assert_eq!(released.counts().len(), 2);
    let mixture = released.posterior().unwrap();
    let numbers: std::collections::BTreeSet<u64> = mixture.parts().map(|(_, data, _)| data.total()).collect();
    assert!(numbers.len() > 10, "{numbers:?}");
    assert!(mixture.mean()[0] > 0.0 && mixture.mean()[0] < 1.0);
    // A bound that was enumerated says nothing where counts are not clamped, and the ledger has to be for the
    // same neighbours.
    let worst = neighbours(20, AddRemove).worst::<Hellinger, _>(learn_bias).unwrap();
    assert!(matches!(Private::over(&data, learn_bias).bounded_by(worst), Err(Error::Conflict(_))));
    let mut other = ledger(1.0, Relation::ReplaceOne);
    assert!(matches!(posterior().release(geometric, &mut other), Err(Error::Conflict(_))));
    assert!(other.debits().is_empty());
}

/// Each count is at most the largest, whatever they come to together: three of them may have two and a half times as
/// many records as one may have. The noise of a count at ε = 1 has the standard deviation 1.4, and the mean number of
/// records is within 13, five of the 2.4 of three of them and one for the counts near the largest.
#[test]
fn every_count_may_be_as_large_as_the_largest() {
    let faces = (0..135).map(|k| match k {
        0..50 => 0,
        50..95 => 1,
        _ => 2,
    });
    let data = Sensitive::new(Histogram::of(faces.map(|face| Category::<3>::new(face).unwrap())).unwrap());
    let learn_p = |faces: &Histogram<Category<3>>| Dirichlet::new([1.0; 3])?.observe_all(faces);
    let lemma = || {
        let lemma = dirichlet_hellinger::<AddRemove>(&[1.0; 3]).unwrap();
        Bound::<Hellinger, AddRemove>::stated(lemma).unwrap()
    };
    let posterior = |most| Private::over(&data, learn_p).at_most(most).bounded_by(lemma()).unwrap();
    let mut account = ledger(1.0, Relation::AddRemove);
    let geometric = Geometric::new(1.0).unwrap();
    let released = posterior(60).release_seeded(geometric, &mut account, Seed::for_tests(5)).unwrap();
    let mixture = released.posterior().unwrap();
    let records: f64 = mixture.parts().map(|(weight, data, _)| weight * data.total() as f64).sum();
    assert!((records - 135.0).abs() < 13.0, "{records}");
    // Of 65³ data sets there are too many, and that is found out before anything is paid for.
    let mut other = ledger(1.0, Relation::AddRemove);
    let error = posterior(64).release(geometric, &mut other).unwrap_err();
    assert!(error.to_string().contains("274625 histograms, and the limit is 262144"), "{error}");
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
        posterior.release_seeded(Geometric::new(1.0).unwrap(), &mut account, Seed::for_tests(1)).unwrap();
    let mixture = released.posterior().unwrap();
    assert!((mixture.mean().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(released.counts().len(), 3);
}

/// Conditioning on something that is impossible in some data set: refused before anything is paid, whatever
/// the records are; with a public default in its place it goes through.
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
            matches!(draw.over(strict, DataSets::of_records(data.alphabet(), 5)), Err(Error::LossAboveClaim { found, .. }) if found == f64::INFINITY)
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
    let both = Private::over(&data, on_a_grid)
        .bounded_by(first)
        .unwrap()
        .and_then(kernel, second)
        .unwrap()
        .map(|z| !z);
    assert!((both.distance() - (1.0 - (1.0 - a) * 0.9)).abs() < 1e-12);
    let program =
        |coins: &Histogram<bool>| on_a_grid(coins).unwrap().and_then(|x| kernel(x, coins)).map(|z| !z);
    for heads in 0..6 {
        let (p, q) = (program(&coins(6, heads)), program(&coins(6, heads + 1)));
        assert!(TotalVariation::between(&p, &q).lower() <= both.distance());
    }
}

/// A bound of a kernel that was enumerated for other records than there are is refused, as one of a program is.
#[test]
fn a_kernels_bound_says_something_of_these_records() {
    use ppl_core::finite::TotalVariation;
    let kernel = |tenths: &u64, coins: &Histogram<bool>| {
        Dist::<bool, Rational>::bernoulli(Probability::new(tenths + coins.count(&true).min(1), 10).unwrap())
    };
    let one = || Bound::<TotalVariation, ReplaceOne>::stated(Interval::ONE).unwrap();
    let at_three = |coins: &Histogram<bool>| kernel(&3, coins);
    let data = Sensitive::new(coins(6, 2));
    let with = |records| {
        let second = neighbours(records, ReplaceOne).worst::<TotalVariation, _>(at_three).unwrap();
        let first = Private::over(&data, on_a_grid).bounded_by(one()).unwrap();
        first.and_then(kernel, second.into()).map(|both| both.distance())
    };
    assert!(with(6).is_ok());
    let error = with(5).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { value: 6.0, .. }), "{error}");
    let second = neighbours(6, AddRemove).worst::<TotalVariation, _>(at_three).unwrap();
    let one = Bound::<TotalVariation, AddRemove>::stated(Interval::ONE).unwrap();
    let first = Private::over(&data, on_a_grid).bounded_by(one).unwrap();
    let error = first.and_then(kernel, second.into()).err().unwrap();
    assert!(error.to_string().contains("at_most"), "{error}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    /// Random programs of several steps: a table for each data set, then kernels that look at the records,
    /// and functions. What the type carries is a bound for all neighbours.
    #[test]
    fn random_programs_keep_their_bounds(
        tables in proptest::collection::vec(proptest::collection::vec(1_u64..30, 3), 5),
        kernels in proptest::collection::vec(proptest::collection::vec(proptest::collection::vec(1_u64..30, 3), 15), 2),
        folds in proptest::collection::vec(proptest::bool::ANY, 3),
    ) {
        use ppl_core::finite::{ChiSquared, KullbackLeibler, TotalVariation};
        random_program::<TotalVariation>(&tables, &kernels, &folds)?;
        random_program::<Hellinger>(&tables, &kernels, &folds)?;
        random_program::<KullbackLeibler>(&tables, &kernels, &folds)?;
        random_program::<ChiSquared>(&tables, &kernels, &folds)?;
    }
}

type Table = Dist<usize, Rational>;

fn table(weights: &[u64]) -> Table {
    Dist::from_weights(weights.iter().enumerate().map(|(value, &w)| (value, Rational::ratio(w, 1))))
        .unwrap()
        .infer()
        .unwrap()
}

fn random_program<M: Divergence<Table> + ppl_core::finite::InSequence>(
    tables: &[Vec<u64>],
    kernels: &[Vec<Vec<u64>>],
    folds: &[bool],
) -> std::result::Result<(), proptest::test_runner::TestCaseError> {
    let heads = |data: &Histogram<bool>| data.count(&true) as usize;
    let prior = |data: &Histogram<bool>| -> ppl_core::Result<Table> { Ok(table(&tables[heads(data)])) };
    let fold = |step: usize, value: usize| if folds[step] { value / 2 } else { value };
    let kernel =
        |step: usize, value: usize, data: &Histogram<bool>| table(&kernels[step][3 * heads(data) + value]);
    // The largest divergence of a kernel between neighbours, at any outcome.
    let worst = |step: usize| {
        let all = (0..4).flat_map(|k| (0..3).map(move |value| (k, value)));
        all.flat_map(|(k, value)| {
            let (p, q) = (kernel(step, value, &coins(4, k)), kernel(step, value, &coins(4, k + 1)));
            [M::between(&p, &q), M::between(&q, &p)]
        })
        .fold(Interval::ZERO, Interval::max)
    };
    let data = Sensitive::new(coins(4, 1));
    let first =
        ppl_core::finite::Neighbours::over([true, false], 4..=4, ReplaceOne).worst::<M, _>(prior).unwrap();
    let program = Private::over(&data, prior).bounded_by(Bound::<M, ReplaceOne>::from(first)).unwrap();
    let program = program
        .map(|value| fold(0, value))
        .and_then(|&value, data| kernel(0, value, data), Bound::stated(worst(0)).unwrap())
        .unwrap()
        .map(|value| fold(1, value))
        .and_then(|&value, data| kernel(1, value, data), Bound::stated(worst(1)).unwrap())
        .unwrap()
        .map(|value| fold(2, value));
    let bound = program.distance();
    let (private, _) = program.into_parts();
    for k in 0..4 {
        let (p, q) =
            ((private.program())(&coins(4, k)).unwrap(), (private.program())(&coins(4, k + 1)).unwrap());
        for found in [M::between(&p, &q), M::between(&q, &p)] {
            proptest::prop_assert!(found.lower() <= bound, "{found} {bound}");
        }
    }
    Ok(())
}
