//! The parts of log probabilities of counts, against the golden values of `tests/golden/counting.csv`.

use super::{spacing, spacing_single};
use crate::math::{deviance, digamma_remainder, log_factorial_remainder};
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
