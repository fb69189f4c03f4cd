//! Elementary functions over slices: this crate's, in a loop dispatched to the running machine, and the
//! standard library's.
//!
//! Elements per second; the reciprocal is the time of one.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

#[allow(dead_code, unused_imports, unused_macros, unreachable_pub)]
#[path = "../src/math/mod.rs"]
mod math;

/// One cache tile, as the engine sweeps it.
const LENGTH: usize = 1024;

macro_rules! compare {
    ($criterion:expr, $float:ident, $(($name:literal, $own:expr, $scale:literal, $shift:literal, $other:expr)),* $(,)?) => {$({
        let x: Vec<$float> = (0..LENGTH).map(|i| $shift + $scale * (((i * 7919) % LENGTH) as $float / LENGTH as $float - 0.5)).collect();
        let mut out = vec![0.0; LENGTH];
        struct Sweep<'a> {
            x: &'a [$float],
            out: &'a mut [$float],
        }
        impl pulp::WithSimd for Sweep<'_> {
            type Output = ();
            #[inline(always)]
            fn with_simd<S: pulp::Simd>(self, _: S) {
                for (out, &x) in self.out.iter_mut().zip(self.x) {
                    *out = $own(x);
                }
            }
        }
        let mut group = $criterion.benchmark_group(concat!($name, " ", stringify!($float)));
        group.throughput(Throughput::Elements(LENGTH as u64));
        let arch = pulp::Arch::new();
        group.bench_function("dispatched", |bencher| {
            bencher.iter(|| {
                arch.dispatch(Sweep { x: black_box(&x), out: &mut out });
                black_box(&mut out);
            });
        });
        let other: Option<fn($float) -> $float> = $other;
        if let Some(other) = other {
            group.bench_function("standard", |bencher| {
                bencher.iter(|| {
                    for (out, &x) in out.iter_mut().zip(black_box(&x)) { *out = other(x) }
                    black_box(&mut out);
                });
            });
        }
        group.finish();
    })*};
}

macro_rules! functions {
    ($name:ident, $float:ident) => {
        fn $name(criterion: &mut Criterion) {
            compare!(
                criterion,
                $float,
                ("exp", math::exp, 20.0, 0.0, Some($float::exp)),
                ("expm1", math::expm1, 4.0, 0.0, Some($float::exp_m1)),
                ("ln", math::ln, 20.0, 10.01, Some($float::ln)),
                ("ln1p", math::ln1p, 4.0, 2.0, Some($float::ln_1p)),
                ("tanh", math::tanh, 8.0, 0.0, Some($float::tanh)),
                ("sigmoid", math::sigmoid, 20.0, 0.0, Some(|x| 1.0 / (1.0 + (-x).exp()))),
                ("softplus", math::softplus, 20.0, 0.0, Some(|x| x.max(0.0) + (-x.abs()).exp().ln_1p())),
                ("logit", math::logit, 1.0, 0.5, Some(|x| (x / (1.0 - x)).ln())),
                ("erf", math::erf, 6.0, 0.0, None),
                ("erfc", math::erfc, 6.0, 0.0, None),
                ("erfinv", math::erfinv, 1.99, 0.0, None),
                ("sin", math::sin, 20.0, 0.0, Some($float::sin)),
                ("cos", math::cos, 20.0, 0.0, Some($float::cos)),
                ("lgamma", math::lgamma, 20.0, 10.01, None),
                ("digamma", math::digamma, 20.0, 10.01, None),
                ("trigamma", math::trigamma, 20.0, 10.01, None),
                ("powf", |x| math::powf(x, 1.5), 20.0, 10.01, Some(|x| x.powf(1.5))),
            );
        }
    };
}

functions!(single, f32);
functions!(double, f64);
criterion_group!(benches, single, double);
criterion_main!(benches);
