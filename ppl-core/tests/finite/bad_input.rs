//! Every kind of bad input has its error, before anything is computed.

use ppl_core::Error;
use ppl_core::finite::{
    AddRemove, Beta, Check, Dirichlet, Dist, Histogram, LogInterval, NormalMean, Probability, Rational,
    ReplaceOne, Weight, dirichlet_hellinger, histograms, neighbours,
};
use std::cell::Cell;

#[test]
fn weights_that_are_none() {
    for value in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY] {
        for error in [
            Dist::<_, Rational>::categorical([("a", 1.0), ("b", value)]).unwrap_err(),
            Dist::<_, LogInterval>::categorical([("a", 1.0), ("b", value)]).unwrap_err(),
        ] {
            assert!(matches!(error, Error::OutOfRange { .. }), "{error}");
            assert!(error.to_string().contains(&format!("finite and at least 0, got {value}")), "{error}");
        }
    }
    for error in [
        Dist::<_, Rational>::categorical([("a", 0.0), ("b", 0.0)]).unwrap_err(),
        Dist::<_, LogInterval>::categorical([("a", 0.0), ("b", -0.0)]).unwrap_err(),
        Dist::<u8, Rational>::from_weights([]).unwrap_err(),
        Dist::<u8, Rational>::uniform([]).unwrap_err(),
        Dist::<u8, Rational>::point(1).observe(|_| Dist::point(false)).unwrap().infer().unwrap_err(),
    ] {
        assert!(matches!(error, Error::Impossible(_)), "{error}");
    }
    let half = Dist::<bool, Rational>::from_weights([(true, Rational::ratio(1, 2))]).unwrap();
    let error = Dist::<u8, Rational>::point(1).observe(|_| half.clone()).unwrap_err();
    assert!(error.to_string().contains("total weight 1, but it lies in [0."), "{error}");
    assert!(Probability::new(5, 4).unwrap_err().to_string().contains("between 0 and 1, got 1.25"));
}

#[test]
fn priors_that_are_none() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for told in [
            Beta::new(value, 1.0).unwrap_err().to_string(),
            Beta::new(1.0, value).unwrap_err().to_string(),
            Dirichlet::new([1.0, 2.0, value]).unwrap_err().to_string(),
            NormalMean::new(0.0, value, 1.0).unwrap_err().to_string(),
            NormalMean::new(0.0, 1.0, value).unwrap_err().to_string(),
            dirichlet_hellinger::<ReplaceOne>(&[1.0, value]).unwrap_err().to_string(),
        ] {
            assert!(told.contains(&format!("positive and finite, got {value}")), "{told}");
        }
    }
    assert!(dirichlet_hellinger::<ReplaceOne>(&[1.0]).is_err() && Dirichlet::new([1.0]).is_err());
    assert!(NormalMean::new(f64::NAN, 1.0, 1.0).is_err());
}

/// Said with the number and the limit, and nothing has been computed.
#[test]
fn more_histograms_than_the_limit() {
    let calls = Cell::new(0);
    let law = |_: &Histogram<u8>| {
        calls.set(calls.get() + 1);
        Dist::<u8, Rational>::point(0)
    };
    let alphabet: Vec<u8> = (0..20).collect();
    let check = Check::new(law).records(0..=30).alphabet(alphabet).neighbours(ReplaceOne);
    let error = check.run().unwrap_err();
    // Too many to go through the range: those of 30 records alone, C(49, 19).
    assert!(matches!(error, Error::TooMany { count: 18_851_684_897_584, limit: 1_000_000, .. }), "{error}");
    assert_eq!(calls.get(), 0);
    let error =
        Check::new(law).records(0..=40).alphabet([0, 1]).limit(860).neighbours(ReplaceOne).run().unwrap_err();
    assert_eq!(error.to_string(), "there are 861 histograms, and the limit is 860");
    assert!(Check::new(law).records(0..=40).alphabet([0, 1]).limit(861).neighbours(ReplaceOne).run().is_ok());
    for records in [0..=u64::MAX, 5..=u64::MAX - 1] {
        assert!(matches!(
            histograms(vec![0, 1], records, u128::from(u64::MAX) / 2),
            Err(Error::TooMany { .. })
        ));
    }
    let error = neighbours(1 << 40, ReplaceOne)
        .worst::<ppl_core::finite::Hellinger, _>(|coins: &Histogram<bool>| {
            Beta::new(1.0, 1.0).map(|b| b.observe_all(coins))
        })
        .unwrap_err();
    assert!(matches!(error, Error::TooMany { .. }));
}

#[test]
fn alphabets_that_are_none() {
    let law = |_: &Histogram<char>| Dist::<u8, Rational>::point(0);
    let run =
        |alphabet: Vec<char>| Check::new(law).records(0..=3).alphabet(alphabet).neighbours(ReplaceOne).run();
    let error = run(vec!['a', 'b', 'a']).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an alphabet must hold each value once, but value number 2 occurred before"
    );
    assert!(run(Vec::new()).unwrap_err().to_string().contains("at least 1, got 0"));
    assert!(Dist::<char, Rational>::uniform("abca".chars()).unwrap_err().to_string().contains("number 3"));
    assert!(Histogram::new(vec!['a'], vec![1, 2]).unwrap_err().to_string().contains("2 counts"));
    let error = Check::new(law).alphabet(['a']).neighbours(ReplaceOne).run().unwrap_err();
    assert!(error.to_string().contains(".records("), "{error}");
    let error = Check::new(law).records(0..=2).neighbours(ReplaceOne).run().unwrap_err();
    assert!(error.to_string().contains(".alphabet("), "{error}");
}

/// A law whose weights do not add up to one is a mistake of the mechanism.
#[test]
fn laws_that_are_none() {
    let law =
        |_: &Histogram<bool>| Dist::from_weights([(1, Rational::ratio(1, 2)), (2, Rational::ratio(1, 3))]);
    let error =
        Check::new(law).records(0..=2).alphabet([true, false]).neighbours(ReplaceOne).run().unwrap_err();
    assert!(matches!(error, Error::Unnormalised { .. }), "{error}");
    assert!(Rational::one().over(&Rational::zero()).is_none());
}

/// A check that compares nothing proves nothing.
#[test]
fn data_sets_without_neighbours() {
    let law = |_: &Histogram<bool>| Dist::<u8, Rational>::point(0);
    let check = || Check::new(law).alphabet([true, false]);
    let told = check().records(5..=5).neighbours(AddRemove).run().unwrap_err().to_string();
    assert!(told.contains("no two of these data sets are neighbours by add/remove"), "{told}");
    let (start, end) = (3, 2);
    assert!(check().records(start..=end).neighbours(ReplaceOne).run().is_err());
    assert!(check().records(0..=0).neighbours(ReplaceOne).run().is_err());
    assert!(Check::new(law).alphabet([true]).records(0..=9).neighbours(ReplaceOne).run().is_err());
}

#[test]
fn counts_beyond_what_a_number_holds() {
    for counts in [vec![u64::MAX, 1], vec![u64::MAX / 2 + 1; 2]] {
        let error = Histogram::new(vec!['a', 'b'], counts).unwrap_err();
        assert!(error.to_string().contains("2^64"), "{error}");
    }
    let largest = Histogram::new(vec!['a', 'b'], vec![u64::MAX, 0]).unwrap();
    assert_eq!(largest.total(), u64::MAX);
    assert_eq!(ppl_core::finite::Adjacency::above(AddRemove, largest.counts()).len(), 1);
    for sd in [1e-200, 1e200, f64::MIN_POSITIVE] {
        assert!(NormalMean::new(0.0, sd, 1.0).is_err() && NormalMean::new(0.0, 1.0, sd).is_err());
    }
    assert!(NormalMean::new(1e300, 1e-100, 1.0).is_err());
}
