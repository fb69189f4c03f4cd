//! The checker on known laws, on laws that fail, and how much it looks at.

use ppl_core::Result;
use ppl_core::finite::{
    AddRemove, Check, Dist, Histogram, Interval, LogInterval, Outcome, Probability, Rational, ReplaceOne,
    Weight,
};

/// The number of heads when each throw is reported truthfully with probability p, thrown record by record.
fn randomised(p: Probability) -> impl Fn(&Histogram<bool>) -> Dist<u64, Rational> {
    move |coins| {
        let told = |truth: bool| Dist::bernoulli(if truth { p } else { p.complement() });
        let throws = coins.iter().flat_map(|(&side, count)| std::iter::repeat_n(side, count as usize));
        throws.fold(Dist::point(0), |sum, side| sum.and_then(|&n| told(side).map(move |z| n + u64::from(z))))
    }
}

#[test]
fn randomised_response_has_the_loss_of_its_formula() {
    for (numerator, denominator) in [(3, 4), (2, 3), (99, 100)] {
        let p = Probability::new(numerator, denominator).unwrap();
        let check = || Check::new(randomised(p)).alphabet([true, false]).neighbours(ReplaceOne);
        let loss = check().records(0..=12).run().unwrap();
        let odds = Rational::ratio(numerator, denominator - numerator);
        assert_eq!(loss.ratio(), Some(odds.clone()));
        assert!(loss.epsilon().contains((numerator as f64 / (denominator - numerator) as f64).ln()));
        assert!(loss.epsilon().width() <= 1e-12);
        let witness = loss.witness().unwrap();
        // All say the same, and one of them is replaced: 12 heads told by 12 heads, or by 11; or the mirror
        // image.
        assert_eq!(witness.first.total(), witness.second.total());
        assert_eq!(loss.pairs(), 78);
        // At the formula's ε nothing is left, and a little below something is; at one record δ is known.
        assert!(loss.delta_at_ratio(&odds).is_zero());
        assert!(loss.delta(loss.epsilon().upper()).upper() < 1e-12);
        let one = check().records(1..=1).run().unwrap();
        let two = Rational::ratio(2, 1);
        let expected = Rational::ratio(numerator, denominator)
            .excess(&two.times(&Rational::ratio(denominator - numerator, denominator)));
        assert_eq!(one.delta_at_ratio(&two), expected);
        let delta = one.delta(2.0_f64.ln());
        assert!((delta.estimate() - expected.value().estimate()).abs() < 1e-14 && delta.width() < 1e-12);
    }
}

/// `P(x) ∝ e^(−ε|x − count|)` on the integers, clamped to 0..=n: the tails go to the ends.
fn clamped_geometric(epsilon: f64, most: u64) -> impl Fn(&Histogram<bool>) -> Result<Dist<u64, LogInterval>> {
    move |coins| {
        let count = coins.count(&true);
        let (step, one) = (Interval::exact(epsilon), Interval::ONE);
        let alpha = (-step).exp();
        let log = |distance: u64, factor: Interval| {
            LogInterval::from_ln(-(step * Interval::exact(distance as f64)) + factor.ln())
        };
        Dist::from_weights((0..=most).map(|x| {
            let tail = x == 0 || x == most;
            let factor = if tail { one / (one + alpha) } else { (one - alpha) / (one + alpha) };
            (x, log(x.abs_diff(count), factor))
        }))
    }
}

#[test]
fn a_clamped_geometric_has_the_loss_of_its_formula() {
    for epsilon in [0.1, 1.0, 2.5] {
        let check = |most| Check::new(clamped_geometric(epsilon, most)).alphabet([true, false]);
        for loss in [
            check(12).records(0..=12).neighbours(AddRemove).run().unwrap(),
            check(12).records(12..=12).neighbours(ReplaceOne).run().unwrap(),
        ] {
            assert!(loss.epsilon().contains(epsilon), "{} {epsilon}", loss.epsilon());
            assert!(loss.epsilon().width() <= 1e-12);
            assert!(loss.delta(epsilon).contains(0.0) && loss.delta(epsilon).upper() < 1e-12);
            assert!(loss.delta(0.5 * epsilon).lower() > 0.0);
        }
    }
}

/// A law that cannot happen at one neighbour, and one that fails at some: infinite, with the outcome that
/// tells.
#[test]
fn what_can_only_happen_at_one_neighbour_is_infinite() {
    let impossible = |coins: &Histogram<bool>| -> Result<Dist<bool, Rational>> {
        let prior = Dist::uniform([true, false])?;
        // No throw may be tails, whatever the coin.
        let tails = coins.count(&false);
        prior.observe(|_| Dist::point(tails < 3))?.infer()
    };
    let loss =
        Check::new(impossible).records(0..=5).alphabet([true, false]).neighbours(ReplaceOne).run().unwrap();
    assert_eq!(loss.epsilon().lower(), f64::INFINITY);
    assert_eq!(loss.ratio(), None);
    let witness = loss.witness().unwrap();
    let failed = matches!(&witness.outcome, Outcome::Failure(told) if told.contains("no outcome has a positive weight"));
    assert!(failed || witness.outcome == Outcome::Value(true) || witness.outcome == Outcome::Value(false));
    assert!(loss.delta(100.0).contains(1.0) && loss.delta(100.0).width() < 1e-12);
    // The same program with a public default in its place tells nothing at all.
    let default = |coins: &Histogram<bool>| impossible(coins).or_else(|_| Dist::uniform([true, false]));
    let loss =
        Check::new(default).records(0..=5).alphabet([true, false]).neighbours(ReplaceOne).run().unwrap();
    assert!(loss.epsilon().contains(0.0) && loss.epsilon().upper() < 1e-12);
    assert_eq!(loss.ratio(), Some(Rational::one()));
}

/// A pair of neighbours is compared in both directions, whichever of them comes first: of one fair coin and one that
/// shows tails nine times in ten the larger ratio is 5, and the other one 9/5; and of an outcome that one of two
/// neighbours cannot have, it does not matter which.
#[test]
fn neighbours_are_compared_in_both_directions() {
    let loss = |laws: [Dist<bool, Rational>; 2]| {
        let law = move |coins: &Histogram<bool>| laws[coins.count(&true) as usize].clone();
        Check::new(law).records(0..=1).alphabet([true]).neighbours(AddRemove).run().unwrap()
    };
    let coin = |numerator, denominator| Dist::bernoulli(Probability::new(numerator, denominator).unwrap());
    let (fair, biased) = (coin(1, 2), coin(1, 10));
    for laws in [[fair.clone(), biased.clone()], [biased, fair.clone()]] {
        let found = loss(laws);
        assert_eq!((found.pairs(), found.ratio()), (1, Some(Rational::ratio(5, 1))));
        assert!(found.epsilon().contains(5.0_f64.ln()) && found.epsilon().width() < 1e-12);
    }
    // An outcome after all others, and one before them.
    for certain in [false, true] {
        for laws in [[fair.clone(), Dist::point(certain)], [Dist::point(certain), fair.clone()]] {
            let found = loss(laws);
            assert_eq!((found.epsilon().lower(), found.ratio()), (f64::INFINITY, None));
            assert_eq!(found.witness().unwrap().outcome, Outcome::Value(!certain));
        }
    }
}

/// 820 pairs for up to 40 coins; every pair of three categories once.
#[test]
fn pairs_are_counted_once() {
    let law = |coins: &Histogram<bool>| Dist::<u64, Rational>::point(coins.total());
    let loss = Check::new(law).records(0..=40).alphabet([true, false]).neighbours(ReplaceOne).run().unwrap();
    assert_eq!((loss.pairs(), loss.laws().len()), (820, 861));
    assert_eq!(loss.epsilon(), Interval::ZERO);
    let law = |faces: &Histogram<u8>| Dist::<u64, Rational>::point(faces.total());
    for n in 1..6_u64 {
        let brute = |relation: fn(&[u64], &[u64]) -> bool, low: u64| {
            let all: Vec<[u64; 3]> = (0..=n)
                .flat_map(|a| (0..=n).flat_map(move |b| (0..=n).map(move |c| [a, b, c])))
                .filter(|counts| (low..=n).contains(&counts.iter().sum::<u64>()))
                .collect();
            let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| a < b && relation(&a[..], &b[..])).count()
        };
        let replaced: fn(&[u64], &[u64]) -> bool = |a, b| {
            a.iter().sum::<u64>() == b.iter().sum::<u64>()
                && a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() == 2
        };
        let added: fn(&[u64], &[u64]) -> bool =
            |a, b| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum::<u64>() == 1;
        let check = || Check::new(law).alphabet([0, 1, 2]);
        let loss = check().records(n..=n).neighbours(ReplaceOne).run().unwrap();
        assert_eq!(loss.pairs(), brute(replaced, n));
        // Every count differs in total, so add/remove tells with certainty.
        let loss = check().records(0..=n).neighbours(AddRemove).run().unwrap();
        assert_eq!(loss.pairs(), brute(added, 0));
        assert_eq!(loss.epsilon().lower(), f64::INFINITY);
    }
}

/// Where e^ε is no number any more, an interval says little and nothing false: the loss is 800.
#[test]
fn a_loss_whose_exponential_is_no_number_is_not_taken_for_less() {
    let far = LogInterval::from_ln(Interval::exact(-800.0));
    let rest = LogInterval::one().excess(&far);
    let law = |coins: &Histogram<bool>| match coins.count(&true) {
        1 => Dist::from_weights([(1, far), (0, rest)]),
        _ => Dist::from_weights([(0, far), (1, rest)]),
    };
    let loss = Check::new(law).records(1..=1).alphabet([true, false]).neighbours(ReplaceOne).run().unwrap();
    assert!(loss.delta(709.0).lower() > 0.999);
    assert!(loss.delta(710.0).upper() > 0.999, "{:?}", loss.delta(710.0));
    assert!(loss.epsilon_at(1e-5).contains(800.0), "{:?}", loss.epsilon_at(1e-5));
    assert!(Interval::exact(710.0).exp().contains(f64::MAX));
    assert!(Interval::exact(710.0).exp_minus_one().contains(f64::MAX));
}
