//! Zeros, infinities, NaN, denormals, thresholds.

use super::*;

/// Whether two numbers are the same, the sign of a zero included; any NaN is any other.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// (function, argument, value), each exactly representable in both types.
const EXACT: &[(&str, f64, f64)] = &[
    ("exp", 0.0, 1.0),
    ("exp", -0.0, 1.0),
    ("exp", INF, INF),
    ("exp", -INF, 0.0),
    ("exp", 1e4, INF),
    ("exp", -1e4, 0.0),
    ("expm1", 0.0, 0.0),
    ("expm1", -0.0, -0.0),
    ("expm1", INF, INF),
    ("expm1", -INF, -1.0),
    ("expm1", 1e4, INF),
    ("expm1", -100.0, -1.0),
    ("ln", 0.0, -INF),
    ("ln", -0.0, -INF),
    ("ln", 1.0, 0.0),
    ("ln", INF, INF),
    ("ln", -1.0, NAN),
    ("ln", -INF, NAN),
    ("ln1p", 0.0, 0.0),
    ("ln1p", -0.0, -0.0),
    ("ln1p", -1.0, -INF),
    ("ln1p", INF, INF),
    ("ln1p", -1.5, NAN),
    ("ln1p", -INF, NAN),
    ("tanh", 0.0, 0.0),
    ("tanh", -0.0, -0.0),
    ("tanh", INF, 1.0),
    ("tanh", -INF, -1.0),
    ("tanh", 30.0, 1.0),
    ("tanh", -30.0, -1.0),
    ("sigmoid", 0.0, 0.5),
    ("sigmoid", -0.0, 0.5),
    ("sigmoid", INF, 1.0),
    ("sigmoid", -INF, 0.0),
    ("sigmoid", 1e3, 1.0),
    ("sigmoid", -1e3, 0.0),
    ("softplus", INF, INF),
    ("softplus", -INF, 0.0),
    ("softplus", 1024.0, 1024.0),
    ("softplus", -1e3, 0.0),
    ("logit", 0.5, 0.0),
    ("logit", 0.0, -INF),
    ("logit", -0.0, -INF),
    ("logit", 1.0, INF),
    ("logit", 1.5, NAN),
    ("logit", -0.5, NAN),
    ("logit", INF, NAN),
    ("logit", -INF, NAN),
    ("erf", 0.0, 0.0),
    ("erf", -0.0, -0.0),
    ("erf", INF, 1.0),
    ("erf", -INF, -1.0),
    ("erf", 7.0, 1.0),
    ("erf", -7.0, -1.0),
    ("erfc", 0.0, 1.0),
    ("erfc", -0.0, 1.0),
    ("erfc", INF, 0.0),
    ("erfc", -INF, 2.0),
    ("erfc", 30.0, 0.0),
    ("erfc", -7.0, 2.0),
    ("erfinv", 0.0, 0.0),
    ("erfinv", -0.0, -0.0),
    ("erfinv", 1.0, INF),
    ("erfinv", -1.0, -INF),
    ("erfinv", 1.5, NAN),
    ("erfinv", -INF, NAN),
    ("sin", 0.0, 0.0),
    ("sin", -0.0, -0.0),
    ("sin", INF, NAN),
    ("sin", -INF, NAN),
    ("sin", 1e9, NAN),
    ("cos", 0.0, 1.0),
    ("cos", -0.0, 1.0),
    ("cos", INF, NAN),
    ("cos", -INF, NAN),
    ("cos", -1e9, NAN),
    ("lgamma", 1.0, 0.0),
    ("lgamma", 2.0, 0.0),
    ("lgamma", 0.0, INF),
    ("lgamma", -0.0, INF),
    ("lgamma", -1.0, INF),
    ("lgamma", -20.0, INF),
    ("lgamma", INF, INF),
    ("lgamma", -INF, INF),
    ("digamma", 0.0, -INF),
    ("digamma", -0.0, INF),
    ("digamma", -1.0, NAN),
    ("digamma", -20.0, NAN),
    ("digamma", INF, INF),
    ("digamma", -INF, NAN),
    ("trigamma", 0.0, INF),
    ("trigamma", -0.0, INF),
    ("trigamma", -1.0, INF),
    ("trigamma", -20.0, INF),
    ("trigamma", INF, 0.0),
];

#[test]
fn edges_are_exact() {
    for &(name, x, value) in EXACT {
        let function = FUNCTIONS.iter().find(|f| f.name == name).expect("a function of the table");
        let (double, single) = ((function.double)(x), (function.single)(x as f32));
        assert!(same(double, value), "{name}({x:?}) = {double:?}, not {value:?}");
        assert!(same(f64::from(single), value), "{name}({x:?}_f32) = {single:?}, not {value:?}");
    }
    for function in FUNCTIONS {
        assert!((function.double)(NAN).is_nan() && (function.single)(f32::NAN).is_nan(), "{}", function.name);
    }
}

#[test]
fn denormals_go_in_and_come_out() {
    let (least, least_single) = (f64::from_bits(1), f32::from_bits(1));
    for name in ["expm1", "ln1p", "tanh", "sin"] {
        let function = FUNCTIONS.iter().find(|f| f.name == name).expect("a function of the table");
        for bits in [1_u64, 3, 0x000f_ffff_ffff_ffff] {
            let x = f64::from_bits(bits);
            assert!(same((function.double)(-x), -x), "{name}");
            let x = f32::from_bits(bits as u32 & 0x007f_ffff);
            assert_eq!((function.single)(-x).to_bits(), (-x).to_bits(), "{name}");
        }
    }
    // The last arguments on either side of each threshold: ln of half the least denormal, and of the overflow
    // bound.
    assert_eq!((exp(-745.133_219_101_941_1), exp(-745.133_219_101_941_3)), (least, 0.0));
    assert_eq!((exp(-103.972_08_f32), exp(-103.972_09_f32)), (least_single, 0.0));
    assert!(exp(709.782_712_893_383_9_f64).is_finite() && exp(709.782_712_893_384_1) == INF);
    assert!(expm1(709.782_712_893_383_9_f64).is_finite() && expm1(709.782_712_893_384_1) == INF);
    assert!(exp(88.722_83_f32).is_finite() && exp(88.722_85_f32) == f32::INFINITY);
    assert!(expm1(88.722_83_f32).is_finite() && expm1(88.722_85_f32) == f32::INFINITY);
    assert_eq!(ln(least), -744.440_071_921_381_2);
    assert_eq!(ln(least_single), -103.278_93);
}

#[test]
fn powers_follow_the_rules_of_ieee_754() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        INF,
        -INF,
        NAN,
        1e30,
        -1e30,
        2.0_f64.powi(53) - 1.0,
        1e-30,
        -1e-30,
        16_777_215.0,
        16_777_216.0,
        -16_777_215.0,
    ];
    for x in values {
        for y in values {
            // The standard library's pow keeps these rules; only where the result is not an edge may the last
            // bits differ.
            let (expected, found) = (x.powf(y), powf(x, y));
            let close = (found / expected - 1.0).abs() <= 2.0 * f64::EPSILON;
            assert!(same(found, expected) || close, "{x:?}^{y:?} = {found:?}, not {expected:?}");
            let (x, y) = (x as f32, y as f32);
            let (expected, found) = (f64::from(x.powf(y)), f64::from(powf(x, y)));
            let close = (found / expected - 1.0).abs() <= 2.0 * f64::from(f32::EPSILON);
            assert!(same(found, expected) || close, "{x:?}^{y:?} = {found:?}, not {expected:?} (f32)");
        }
    }
}
