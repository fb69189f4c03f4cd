//! Divergences of Beta and Dirichlet posteriors of neighbours: the closed forms, enumeration, and printed
//! values, which come from an independent computation.

use ppl_core::finite::{
    AddRemove, Adjacency, Beta, Category, ChiSquared, Dirichlet, Dist, Divergence, Hellinger, Histogram,
    KullbackLeibler, Probability, Rational, ReplaceOne, TotalVariation, affinity_of_half_a_count,
    dirichlet_hellinger, dirichlet_kullback_leibler, neighbours, total_variation_from_hellinger,
};

/// Prior, replace-one Hellinger, add/remove Hellinger (limit), replace-one Kullback–Leibler.
const TABLE: [((f64, f64), f64, f64, f64); 6] = [
    ((0.1, 0.1), 0.8689, 0.7106, 10.0),
    ((0.5, 0.5), 0.6028, 0.4496, 2.0),
    ((1.0, 1.0), 0.4633, 0.3373, 1.0),
    ((2.0, 2.0), 0.3412, 0.2450, 0.5),
    ((5.0, 5.0), 0.2207, 0.1570, 0.2),
    ((1.0, 0.1), 0.7492, 0.7106, 8.544),
];

/// Largest divergence over coins up to a number of throws.
fn enumerated<R: Adjacency, D: Divergence<Beta>>(prior: (f64, f64), records: u64, relation: R) -> f64 {
    let prior = Beta::new(prior.0, prior.1).unwrap();
    let worst = neighbours(records, relation)
        .worst::<D, _>(|coins: &Histogram<bool>| prior.observe_all(coins))
        .unwrap();
    assert!(worst.value().width() < 1e-6, "{worst:?}");
    worst.value().upper()
}

#[test]
fn closed_forms_are_the_printed_values_and_what_enumeration_finds() {
    for (prior, hellinger, limit, kl) in TABLE {
        let both = [prior.0, prior.1];
        let form = dirichlet_hellinger::<ReplaceOne>(&both).unwrap();
        assert!((form.estimate() - hellinger).abs() < 0.5e-4 && form.width() < 1e-12, "{prior:?}: {form}");
        let found = enumerated::<_, Hellinger>(prior, 59, ReplaceOne);
        assert!((found - form.upper()).abs() < 1e-6, "{prior:?}: {found} {form}");

        let form = dirichlet_hellinger::<AddRemove>(&both).unwrap();
        assert!((form.estimate() - limit).abs() < 0.5e-4 + 1e-9, "{prior:?}: {form}");
        // Approached from below: 1 − h(a)/h(A) with 1 − h(A) about 1/(8A).
        let found = enumerated::<_, Hellinger>(prior, 59, AddRemove);
        let missing = form.estimate().powi(2) - found.powi(2);
        assert!(found < form.lower() && missing < 1.0 / (8.0 * 59.0), "{prior:?}: {found} {form}");

        let form = dirichlet_kullback_leibler::<ReplaceOne>(&both).unwrap();
        assert!((form.estimate() - kl).abs() < 0.5e-3, "{prior:?}: {form}");
        let found = enumerated::<_, KullbackLeibler>(prior, 59, ReplaceOne);
        assert!((found - form.upper()).abs() < 1e-6, "{prior:?}: {found} {form}");
        let form = dirichlet_kullback_leibler::<AddRemove>(&both).unwrap();
        let found = enumerated::<_, KullbackLeibler>(prior, 59, AddRemove);
        // ln A − ψ(A), about 1/(2A), is missing.
        let missing = form.upper() - found;
        assert!(missing > 0.0 && missing < 1.1 / (2.0 * 59.0), "{prior:?}: {found} {form}");
    }
}

/// Of coins with the chances p and q of heads `H² = 1 − √(pq) − √((1−p)(1−q))`, which is 1 for certain ones that
/// differ, and the total variation is |p − q|.
#[test]
fn distances_of_single_coins() {
    let coin =
        |numerator| -> Dist<bool, Rational> { Dist::bernoulli(Probability::new(numerator, 10).unwrap()) };
    for (one, other) in [(0, 10), (1, 9), (2, 3), (5, 10), (4, 4)] {
        let (p, q) = (one as f64 / 10.0, other as f64 / 10.0);
        let square = 1.0 - (p * q).sqrt() - ((1.0 - p) * (1.0 - q)).sqrt();
        let found = Hellinger::between(&coin(one), &coin(other));
        assert!((found.estimate() - square.max(0.0).sqrt()).abs() < 1e-7, "{p} {q}: {found}");
        let found = TotalVariation::between(&coin(one), &coin(other));
        assert!((found.estimate() - (p - q).abs()).abs() < 1e-12, "{p} {q}: {found}");
    }
}

#[test]
fn total_variation_of_coins() {
    for (prior, expected) in [(0.5, std::f64::consts::FRAC_2_PI), (1.0, 0.5), (2.0, 0.375)] {
        let found = enumerated::<_, TotalVariation>((prior, prior), 8, ReplaceOne);
        assert!((found - expected).abs() < 0.5e-4, "{prior}: {found}");
        let bound =
            total_variation_from_hellinger(dirichlet_hellinger::<ReplaceOne>(&[prior, prior]).unwrap());
        assert!(found <= bound.upper(), "{prior}");
    }
    // Densities that cross twice: 1 and 6x(1 − x), at ½ ± √(1/12).
    let (flat, peaked) = (Beta::new(1.0, 1.0).unwrap(), Beta::new(2.0, 2.0).unwrap());
    let half_width = (1.0_f64 / 12.0).sqrt();
    // ∫ over the middle of 6x(1 − x) − 1, with u = x − ½: ½ − 6u².
    let by_hand = half_width - 4.0 * half_width.powi(3);
    assert!(TotalVariation::between(&flat, &peaked).contains(by_hand));
    assert!(TotalVariation::between(&peaked, &flat).contains(by_hand));
}

#[test]
fn chi_squared_of_neighbouring_betas() {
    for (p, q) in [(1.0, 2.0), (0.5, 1.5), (3.0, 7.0), (10.0, 1.25)] {
        let found = ChiSquared::between(&Beta::new(p + 1.0, q).unwrap(), &Beta::new(p, q + 1.0).unwrap());
        let expected = (p + q) / (p * (q - 1.0));
        assert!((found.estimate() / expected - 1.0).abs() < 1e-10, "{p} {q}: {found} {expected}");
    }
    for (p, q) in [(1.0, 1.0), (3.0, 0.5)] {
        let found = ChiSquared::between(&Beta::new(p + 1.0, q).unwrap(), &Beta::new(p, q + 1.0).unwrap());
        assert_eq!(found.lower(), f64::INFINITY, "{p} {q}");
    }
}

/// Three categories, up to 12 records.
#[test]
fn three_categories_are_as_bad_as_the_two_with_the_least_prior() {
    for prior in [[1.0; 3], [0.5, 2.0, 1.0], [0.1, 0.1, 5.0]] {
        let posterior = |faces: &Histogram<Category<3>>| Dirichlet::new(prior)?.observe_all(faces);
        let worst = neighbours(12, ReplaceOne).worst::<Hellinger, _>(posterior).unwrap();
        let form = dirichlet_hellinger::<ReplaceOne>(&prior).unwrap();
        assert!((worst.value().upper() - form.upper()).abs() < 1e-6, "{prior:?}: {worst:?} {form}");
        let worst = neighbours(12, ReplaceOne).worst::<KullbackLeibler, _>(posterior).unwrap();
        let form = dirichlet_kullback_leibler::<ReplaceOne>(&prior).unwrap();
        assert!((worst.value().upper() - form.upper()).abs() < 1e-6, "{prior:?}: {worst:?} {form}");
        let worst = neighbours(12, AddRemove).worst::<Hellinger, _>(posterior).unwrap();
        assert!(worst.value().upper() < dirichlet_hellinger::<AddRemove>(&prior).unwrap().upper());
    }
}

/// The lemma as printed holds from 1 on and not below, and the formula √(1 − h(a₁)/h(A)) is no bound.
#[test]
fn printed_lemmas_that_do_not_hold() {
    let printed = (1.0 - std::f64::consts::FRAC_PI_4).sqrt();
    assert!(dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0]).unwrap().contains(printed));
    for (prior, holds) in [((1.0, 2.0), true), ((0.99, 1.0), false), ((0.1, 0.1), false)] {
        let worst = enumerated::<_, Hellinger>(prior, 12, ReplaceOne);
        assert_eq!(worst <= printed, holds, "{prior:?}: {worst}");
    }
    let h = |a| affinity_of_half_a_count(a).unwrap().estimate();
    let at_the_empty_set = (1.0 - h(1.0) / h(2.0)).sqrt();
    assert!((at_the_empty_set - 0.239).abs() < 5e-4);
    assert!(enumerated::<_, Hellinger>((1.0, 1.0), 59, AddRemove) > at_the_empty_set + 0.09);
}
