//! Weights: exact ones, and intervals that contain them.

use ppl_core::finite::{Interval, LogInterval, Rational, Weight};
use proptest::prelude::*;

/// A fraction of some size, zero among them.
fn fraction() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        (0_u64..20, 1_u64..20),
        (0_u64..=1 << 60, 1_u64..=1 << 60),
        (1_u64..=3, (1_u64 << 50)..=1 << 60)
    ]
}

proptest! {
    /// Every operation on intervals contains that on exact numbers.
    #[test]
    fn intervals_contain_the_exact_results((a, b) in fraction(), (c, d) in fraction()) {
        let (x, y) = (Rational::ratio(a, b), Rational::ratio(c, d));
        let (u, v) = (LogInterval::ratio(a, b), LogInterval::ratio(c, d));
        for (exact, interval) in [
            (x.plus(&y), u.plus(&v)),
            (x.times(&y), u.times(&v)),
            (x.excess(&y), u.excess(&v)),
            (y.excess(&x), v.excess(&u)),
        ] {
            let (inner, outer) = (exact.ln(), interval.ln());
            prop_assert!(outer.lower() <= inner.upper() && inner.lower() <= outer.upper(), "{exact} {interval:?}");
            if !exact.is_zero() {
                let value = exact.value();
                // Numerator and denominator to 53 bits each, and two operations: four units of 2⁻⁵² on each
                // side.
                prop_assert!(value.width() <= 8.0 * f64::EPSILON * value.upper(), "{exact} {value}");
            }
        }
        if let (Some(exact), Some(interval)) = (x.over(&y), u.over(&v)) {
            let (inner, outer) = (exact.ln(), interval.ln());
            prop_assert!(outer.lower() <= inner.upper() && inner.lower() <= outer.upper());
        }
        prop_assert_eq!(y.is_zero(), x.over(&y).is_none());
    }

    /// A double is taken as it is: its value is a point, and its exponential and logarithm contain those of
    /// the standard library widened by what that may be wrong.
    #[test]
    fn doubles_are_exact(x in 0.0..1e300_f64) {
        let value = Rational::from_f64(x).unwrap().value();
        prop_assert!(value.contains(x) && value.width() <= 8.0 * f64::EPSILON * x);
        if x > 0.0 {
            let ln = Rational::from_f64(x).unwrap().ln();
            prop_assert!((ln.estimate() - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0) && ln.width() < 1e-12);
        }
    }

    /// Arithmetic of intervals contains that of points in them.
    #[test]
    fn points_stay_inside(
        (a, b, c, d) in (-1e3..1e3_f64, -1e3..1e3_f64, -1e3..1e3_f64, -1e3..1e3_f64),
        (s, t) in (0.0..1.0_f64, 0.0..1.0_f64),
    ) {
        let (x, y) = (Interval::between(a, b), Interval::between(c, d));
        let within = |i: Interval, s: f64| (i.lower() + s * (i.upper() - i.lower())).clamp(i.lower(), i.upper());
        let (u, v) = (within(x, s), within(y, t));
        prop_assert!((x + y).contains(u + v) && (x - y).contains(u - v) && (x * y).contains(u * v));
        prop_assert!((x / y).contains(u / v) || v == 0.0);
        prop_assert!(x.square().contains(u * u) && (x * x).contains(u * u));
    }
}

/// Numbers far beyond what a double holds.
#[test]
fn huge_and_tiny_numbers() {
    let small = Rational::ratio(1, 3).power(5000);
    let ln = small.ln();
    assert!(ln.width() < 1e-10 && (ln.estimate() + 5000.0 * 3.0_f64.ln()).abs() < 1e-9, "{ln}");
    assert_eq!(small.value().lower(), 0.0);
    assert!(small.value().upper() > 0.0 && small.value().upper() < 1e-300);
    let huge = Rational::one().over(&small).unwrap();
    assert_eq!(huge.value().upper(), f64::INFINITY);
    assert_eq!(huge.times(&small), Rational::one());
    // Next to one, where the logarithm is of the difference: n/(n + 1).
    let n = 1_u64 << 60;
    let ln = Rational::ratio(n, n + 1).ln();
    assert!((ln.estimate() * n as f64 + 1.0).abs() < 1e-14 && ln.width() * (n as f64) < 1e-13, "{ln}");
    // In proportion to 1/2, 1/3 and 1/6.
    let thirds = [Rational::ratio(1, 2), Rational::ratio(1, 3), Rational::ratio(1, 6)];
    assert_eq!(Rational::as_integers(thirds.iter()), [[3], [2], [1]]);
}
