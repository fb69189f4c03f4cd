//! All mechanisms that can be had under add/remove, where the number of records is secret and counts are
//! clamped.

use super::samplers::sampler_has_its_law;
use super::*;
use ppl_core::finite::{L1, Statistic, TotalVariation};

const ALPHABET: [bool; 2] = [true, false];

fn clamped(most: u64) -> DataSets<bool> {
    DataSets::with_counts_up_to(&ALPHABET, most)
}

/// The loss over all data sets with counts up to well beyond the largest that is seen.
fn loss<K: Mechanism<bool>>(mechanism: &K) -> Interval {
    checked(mechanism, &ALPHABET, 0..=18, AddRemove)
}

fn weighted(coins: &Histogram<bool>) -> Statistic {
    Statistic::new([2 * coins.count(&true) as i64, -(coins.count(&false) as i64)])
}

/// Every claim holds over all neighbours, those with counts above the clamp among them; samplers have their
/// laws there.
#[test]
fn claims_and_samplers() {
    let lemma = dirichlet_hellinger::<AddRemove>(&[1.0, 1.0]).unwrap().upper();
    let beyond = coins(15, 14); // 14 heads and one tail: seen as 6 and 1
    let exponential = Exponential::new(1.0).unwrap().over(learn_bias, clamped(6), lemma).unwrap();
    let found = loss(&exponential);
    assert!(found.upper() <= 1.0 && found.lower() > 0.3, "{found}");
    assert_eq!(exponential.candidates().len(), 49);
    sampler_has_its_law(&exponential, &beyond, &[exponential.law(&coins(6, 3)).unwrap()]);
    let calibrated = Exponential::calibrated(1.0).unwrap().over(learn_bias, clamped(6), lemma).unwrap();
    let found = loss(&calibrated);
    assert!(found.upper() <= 1.0 && found.lower() > 1.0 - 1e-6, "{found}");
    assert!(calibrated.slope() > exponential.slope());

    let laplace = Laplace::new(1.0).unwrap().over(weighted, clamped(6), 2.0).unwrap();
    let found = loss(&laplace);
    assert!(found.contains(Mechanism::<bool>::claim(&laplace)) && found.width() < 1e-12, "{found}");
    sampler_has_its_law(&laplace, &beyond, &[laplace.law(&coins(5, 5)).unwrap()]);
    let error = Laplace::new(1.0).unwrap().over(weighted, clamped(6), 1.0).err().unwrap();
    assert!(matches!(error, Error::BoundTooSmall { found: 2.0, .. }), "{error}");

    // One coin more changes a likelihood by a factor between 3/10 and 7/10, and so what is normalised: at
    // most 7/3.
    let epsilon = (7.0_f64 / 3.0).ln() + 1e-12;
    let draw = PosteriorDraw::new(epsilon).unwrap().over(on_a_grid, clamped(6)).unwrap();
    let found = loss(&draw);
    assert!(found.upper() <= epsilon && found.lower() > 0.5 * epsilon, "{found}");
    // Its sampler has its law under replace-one, and sees no difference but the data set.
    let (seed, seen) = (Seed::for_tests(1), coins(7, 6));
    for number in 0..100 {
        assert_eq!(draw.draw(&beyond, &seed, number).unwrap(), draw.draw(&seen, &seed, number).unwrap());
    }
    let error = PosteriorDraw::new(0.1).unwrap().over(on_a_grid, clamped(6)).err().unwrap();
    assert!(matches!(error, Error::LossAboveClaim { .. }), "{error}");
}

/// Releases under add/remove: each debits once, needs a largest count, and takes an enumerated bound where
/// counts are clamped and the bound covers them.
#[test]
fn releases() {
    let data = Sensitive::new(coins(9, 7));
    let seed = || Seed::for_tests(8);
    let mut account = ledger(4.0, Relation::AddRemove);
    let enumerated = |records| {
        Bound::<Hellinger, AddRemove>::from(neighbours(records, AddRemove).worst(learn_bias).unwrap())
    };
    let posterior = || Private::over(&data, learn_bias).at_most(6).bounded_by(enumerated(12)).unwrap();
    let chosen = posterior().release_seeded(Exponential::new(1.0).unwrap(), &mut account, seed()).unwrap();
    assert!(chosen.data().counts().iter().all(|count| *count <= 6));
    let noisy = posterior().release_seeded(Geometric::new(1.0).unwrap(), &mut account, seed()).unwrap();
    let numbers: std::collections::BTreeSet<u64> =
        noisy.posterior().unwrap().parts().map(|(_, data, _)| data.total()).collect();
    assert!(numbers.len() > 3, "{numbers:?}");
    let l1 = Bound::<L1, AddRemove>::from(neighbours(12, AddRemove).worst(weighted).unwrap());
    let sum = Private::over(&data, weighted).at_most(6).bounded_by(l1).unwrap();
    assert_eq!(sum.release_seeded(Laplace::new(1.0).unwrap(), &mut account, seed()).unwrap().len(), 2);
    let one = Bound::<TotalVariation, AddRemove>::stated(Interval::ONE).unwrap();
    let draw = Private::over(&data, on_a_grid).at_most(6).bounded_by(one).unwrap();
    assert!(draw.release_seeded(PosteriorDraw::new(0.9).unwrap(), &mut account, seed()).is_ok());
    assert_eq!(account.debits().len(), 4);
    // Bounds that say nothing: of too few records, or where counts are not clamped.
    let error = Private::over(&data, learn_bias).at_most(6).bounded_by(enumerated(11)).err().unwrap();
    assert!(error.to_string().contains("got 12"), "{error}");
    let error = Private::over(&data, learn_bias).bounded_by(enumerated(40)).err().unwrap();
    assert!(error.to_string().contains("at_most"), "{error}");
    // And a release without a largest count.
    let lemma = Bound::<Hellinger, AddRemove>::stated(dirichlet_hellinger::<AddRemove>(&[1.0, 1.0]).unwrap());
    let open = Private::over(&data, learn_bias).bounded_by(lemma.unwrap()).unwrap();
    let error = open.release_seeded(Exponential::new(0.1).unwrap(), &mut account, seed()).unwrap_err();
    assert!(error.to_string().contains("at_most"), "{error}");
    assert_eq!(account.debits().len(), 4);
}
