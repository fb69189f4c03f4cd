//! The parts of log probabilities of counts, against the golden values of `tests/golden/counting.csv`.

use super::{spacing, spacing_single};
use crate::math::{deviance, digamma_remainder, ln, ln_ratio, ln1p, log_factorial_remainder};
use std::collections::BTreeMap;

/// The errors that the documentation states, in units in the last place of `f64` and of `f32`.
const LIMITS: [(&str, f64, f64); 3] =
    [("log_factorial_remainder", 2.5, 0.51), ("digamma_remainder", 24.0, 0.51), ("deviance", 14.0, 16.0)];

#[test]
fn errors_stay_within_the_stated_bounds() {
    let mut worst: BTreeMap<&str, [(f64, f64, f64); 2]> = BTreeMap::new();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for line in
        include_str!("../../../tests/golden/counting.csv").lines().filter(|line| !line.starts_with('#'))
    {
        let cells: Vec<&'static str> = line.split(',').collect();
        let [x, m, value, rest] = [1, 2, 3, 4].map(|i| cells[i].parse::<f64>().unwrap());
        let result = match cells[0] {
            "log_factorial_remainder" => log_factorial_remainder(x),
            "digamma_remainder" => digamma_remainder(x),
            _ => deviance(x, m),
        };
        let error = if result == value && rest == 0.0 {
            0.0
        } else {
            ((result - value) - rest).abs() / spacing(value)
        };
        // In f32, against f64 at the same arguments.
        let (x32, m32) = (x as f32, m as f32);
        let (result, truth) = match cells[0] {
            "log_factorial_remainder" => {
                (log_factorial_remainder(x32), log_factorial_remainder(f64::from(x32)))
            }
            "digamma_remainder" => (digamma_remainder(x32), digamma_remainder(f64::from(x32))),
            _ => (deviance(x32, m32), deviance(f64::from(x32), f64::from(m32))),
        };
        let same = result == truth as f32 || truth.is_nan();
        let single = if same { 0.0 } else { (f64::from(result) - truth).abs() / spacing_single(truth) };
        let entry = worst.entry(cells[0]).or_default();
        for (entry, found) in entry.iter_mut().zip([(error, x, m), (single, x, m)]) {
            if found.0 > entry.0 || found.0.is_nan() {
                *entry = found;
            }
        }
        *count.entry(cells[0]).or_default() += 1;
    }
    for (name, double, single) in LIMITS {
        assert!(count[name] >= 120, "{name}: {}", count[name]);
        let found = worst[name];
        assert!(
            found[0].0 <= double && found[1].0 <= single,
            "{name}, (ulp, x, m) in f64 and f32: {found:?}"
        );
    }
}

#[test]
fn edges() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    for (x, remainder, slope) in
        [(0.0, 0.0, inf), (-0.0, 0.0, inf), (-1.0, nan, nan), (nan, nan, nan), (-inf, nan, nan)]
    {
        assert!(same(log_factorial_remainder(x), remainder), "{x}");
        assert!(same(digamma_remainder(x), slope), "{x}");
        assert!(
            same(log_factorial_remainder(x as f32).into(), remainder)
                && same(digamma_remainder(x as f32).into(), slope)
        );
    }
    assert_eq!((log_factorial_remainder(inf), digamma_remainder(inf)), (inf, 0.0));
    for (x, m, expected) in [
        (0.0, 0.0, 0.0),
        (0.0, 3.0, 3.0),
        (3.0, 0.0, inf),
        (3.0, 3.0, 0.0),
        (3.0, inf, inf),
        (0.0, inf, inf),
        (-1.0, 2.0, nan),
        (2.0, -1.0, nan),
        (-1.0, -1.0, nan),
        (nan, 1.0, nan),
        (1.0, nan, nan),
        (0.0, nan, nan),
        (nan, 0.0, nan),
    ] {
        assert!(same(deviance(x, m), expected), "{x} {m}: {}", deviance(x, m));
        assert!(same(deviance(x as f32, m as f32).into(), expected), "{x} {m} in f32");
    }
}

/// The same bits from every instruction set, at every place of a vector.
#[test]
fn vectors_and_numbers_give_the_same_bits() {
    struct Sweep<'a>(&'a [f64], &'a [f64], &'a mut [[f64; 3]]);
    impl pulp::WithSimd for Sweep<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) {
            for ((out, &x), &m) in self.2.iter_mut().zip(self.0).zip(self.1) {
                out[0] = log_factorial_remainder(x);
                out[1] = digamma_remainder(x);
                out[2] = deviance(x, m);
            }
        }
    }
    let number = |i: u64| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).abs();
    let x: Vec<f64> = (0..1021).map(|i| if i % 2 == 0 { number(i) } else { i as f64 * 0.03 }).collect();
    let m: Vec<f64> = (0..1021).map(|i| if i % 3 == 0 { number(i + 7) } else { i as f64 * 0.029 }).collect();
    let mut out = vec![[0.0; 3]; x.len()];
    pulp::Arch::new().dispatch(Sweep(&x, &m, &mut out));
    for (i, out) in out.iter().enumerate() {
        let plain = [log_factorial_remainder(x[i]), digamma_remainder(x[i]), deviance(x[i], m[i])];
        for (a, b) in out.iter().zip(plain) {
            assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "{} {}: {a} {b}", x[i], m[i]);
        }
    }
}

/// By `ln(1 + (a − b)/b)` where both are close, and by a difference of logarithms where they are not.
#[test]
fn logarithms_of_quotients() {
    for exponent in [-300.0, -40.0, -1.0, 0.0, 0.4, 1.0, 17.0, 250.0] {
        let b = 1.234_567_f64 * 10.0_f64.powf(exponent);
        for step in 1..400 {
            let distance = 10.0_f64.powf(-0.04 * f64::from(step));
            for a in [b * (1.0 + distance), b * (1.0 - distance)] {
                // a − b is exact, or rounded once.
                let truth = ln1p((a - b) / b);
                assert!((ln_ratio(a, b) - truth).abs() <= 4.0 * f64::EPSILON * truth.abs(), "{a:e} {b:e}");
                assert_eq!(ln_ratio(b, a), -ln_ratio(a, b), "{a:e} {b:e}");
                let (a, b) = (a as f32, b as f32);
                if a > 0.0 && b > 0.0 && a.is_finite() {
                    let truth = ln_ratio(f64::from(a), f64::from(b));
                    let error = (f64::from(ln_ratio(a, b)) - truth).abs();
                    assert!(error <= 2.5 * f64::from(f32::EPSILON) * truth.abs(), "{a:e} {b:e} in f32");
                }
            }
        }
        for factor in [3.0, 1e5, 1e50] {
            let a = b * factor;
            assert!((ln_ratio(a, b) - (ln(a) - ln(b))).abs() <= 1e-13 + 4.0 * f64::EPSILON * ln(a).abs());
        }
    }
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    // Farther apart than the largest number, and denormal.
    assert!((ln_ratio(1e300, 1e-300) - 600.0 * ln(10.0_f64)).abs() < 1e-12);
    assert!((ln_ratio(5e-324, 1e-323) + std::f64::consts::LN_2).abs() < 1e-15);
    for (a, b, truth) in [
        (0.0, 1.0, -inf),
        (1.0, 0.0, inf),
        (0.0, 0.0, nan),
        (inf, inf, nan),
        (inf, 2.0, inf),
        (2.0, inf, -inf),
        (0.0, inf, -inf),
        (-1.0, 2.0, nan),
        (1.0, -2.0, nan),
        (nan, 1.0, nan),
        (1.0, nan, nan),
        (3.0, 3.0, 0.0),
    ] {
        let same = |got: f64| got == truth || (got.is_nan() && truth.is_nan());
        assert!(same(ln_ratio(a, b)) && same(f64::from(ln_ratio(a as f32, b as f32))), "{a} {b}");
    }
}
