//! The same bits from every instruction set and at every vector length.

use super::{FUNCTIONS, powf};
use crate::math;

/// Arguments of every size and sign, edges among them; not a multiple of any vector length.
fn arguments() -> Vec<f64> {
    let mut x: Vec<f64> = (0..1021).map(|i| f64::from(i - 510) * 0.0517).collect();
    x.extend((0..1021_u64).map(|i| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
    x.extend([
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        5e-324,
        -2e-310,
        1.0,
        -1.0,
        0.5,
        710.0,
        -745.0,
    ]);
    x
}

/// Equal bits, any NaN for any other.
fn check<T: Copy + Into<f64>>(name: &str, x: &[T], dispatched: &[T], plain: &[T]) {
    for ((&x, &a), &b) in x.iter().zip(dispatched).zip(plain) {
        // Widening is exact and keeps every value apart.
        let (x, a, b): (f64, f64, f64) = (x.into(), a.into(), b.into());
        assert!(
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            "{name}({x:?}): {a:?} dispatched, {b:?} not"
        );
    }
}

macro_rules! compare {
    ($float:ident, $reference:ident, $($name:ident),*) => {$({
        struct Sweep<'a>(&'a [$float], &'a mut [$float]);
        impl pulp::WithSimd for Sweep<'_> {
            type Output = ();
            #[inline(always)]
            fn with_simd<S: pulp::Simd>(self, _: S) {
                for (out, &x) in self.1.iter_mut().zip(self.0) {
                    *out = math::$name(x);
                }
            }
        }
        let x: Vec<$float> = arguments().into_iter().map(|x| x as $float).collect();
        let mut out = vec![0.0; x.len()];
        pulp::Arch::new().dispatch(Sweep(&x, &mut out));
        let function = FUNCTIONS.iter().find(|f| f.name == stringify!($name)).expect("a function of the table");
        let plain: Vec<$float> = x.iter().map(|&x| (function.$reference)(x)).collect();
        check(stringify!($name), &x, &out, &plain);
    })*};
}

#[test]
fn dispatched_loops_give_the_same_bits() {
    compare!(
        f64, double, exp, expm1, ln, ln1p, tanh, sigmoid, softplus, logit, erf, erfc, erfinv, sin, cos,
        lgamma, digamma, trigamma
    );
    compare!(
        f32, single, exp, expm1, ln, ln1p, tanh, sigmoid, softplus, logit, erf, erfc, erfinv, sin, cos,
        lgamma, digamma, trigamma
    );
}

#[test]
fn dispatched_powers_give_the_same_bits() {
    struct Sweep<'a>(&'a [f64], f64, &'a mut [f64]);
    impl pulp::WithSimd for Sweep<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) {
            for (out, &x) in self.2.iter_mut().zip(self.0) {
                *out = math::powf(x, self.1);
            }
        }
    }
    let x = arguments();
    for y in [0.5, -1.5, 3.0, -2.0, 0.1, 250.3] {
        let mut out = vec![0.0; x.len()];
        pulp::Arch::new().dispatch(Sweep(&x, y, &mut out));
        let plain: Vec<f64> = x.iter().map(|&x| powf(x, y)).collect();
        check("powf", &x, &out, &plain);
    }
}
