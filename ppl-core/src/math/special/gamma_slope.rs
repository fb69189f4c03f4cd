//! How the logarithm of a gamma variable moves with its shape, for many variables at a time.
//!
//! What `incomplete_gamma` computes number by number is done here for up to [`TOGETHER`] at once, in vectors of the
//! machine at hand: each has its own series or its own quadrature, and stands still once that has converged. So a
//! result depends neither on its neighbours nor on the instruction set.

use super::incomplete_gamma::{LARGE, is_upper};
use super::nodes::NODES;
use super::tail::CUT;
use crate::math::{digamma_minus_log, digamma_of_positive, exp, expm1, ln, ln1p};

/// Numbers that are worked on together.
const TOGETHER: usize = 64;
/// Numbers of a vector of the widest instruction set; lists are filled up to a multiple of it.
const VECTOR: usize = 8;
/// Terms of the series between two looks at whether it has converged: their divisions do not wait for each other.
const TERMS: usize = 8;

/// ∂ ln x/∂a at constant P(a, x) for each l = ln x, with one shape for all or one each: −(∂P/∂a)/(∂P/∂l).
///
/// NaN where the shape is not positive and finite, or l is not finite; 0 where x is too large to be represented.
pub(crate) fn gamma_slopes(a: &[f64], l: &[f64], out: &mut [f64]) {
    for (place, out) in out.chunks_mut(TOGETHER).enumerate() {
        let from = place * TOGETHER;
        let l = &l[from..from + out.len()];
        let a = if a.len() == 1 { a } else { &a[from..from + out.len()] };
        pulp::Arch::new().dispatch(ByVectors(Chunk { a, l, out }));
    }
}

/// The same of one number.
pub fn gamma_slope(a: f64, l: f64) -> f64 {
    let mut slope = [f64::NAN];
    gamma_slopes(&[a], &[l], &mut slope);
    slope[0]
}

struct Chunk<'a> {
    a: &'a [f64],
    l: &'a [f64],
    out: &'a mut [f64],
}

/// A struct of its own, because a closure would be called through a function that is not inlined.
struct ByVectors<'a>(Chunk<'a>);

impl pulp::WithSimd for ByVectors<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        simd.vectorize(self.0);
    }
}

/// Numbers that are computed in the same way, with their places.
struct List {
    count: usize,
    place: [usize; TOGETHER],
    a: [f64; TOGETHER],
    x: [f64; TOGETHER],
    l: [f64; TOGETHER],
}

impl List {
    #[inline(always)]
    fn new() -> Self {
        let harmless = [1.0; TOGETHER];
        Self { count: 0, place: [0; TOGETHER], a: harmless, x: harmless, l: [0.0; TOGETHER] }
    }

    #[inline(always)]
    fn push(&mut self, place: usize, [a, x, l]: [f64; 3]) {
        let k = self.count;
        (self.place[k], self.a[k], self.x[k], self.l[k]) = (place, a, x, l);
        self.count += 1;
    }

    /// The count in whole vectors.
    #[inline(always)]
    fn filled(&self) -> usize {
        self.count.next_multiple_of(VECTOR)
    }
}

impl pulp::NullaryFnOnce for Chunk<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { a, l, out } = self;
        let mut x = [1.0; TOGETHER];
        for (x, &l) in x.iter_mut().zip(l) {
            *x = exp(l);
        }
        let (mut near_zero, mut others) = (List::new(), List::new());
        for (k, out) in out.iter_mut().enumerate() {
            let (a, x, l) = (if a.len() == 1 { a[0] } else { a[k] }, x[k], l[k]);
            let sound = a > 0.0 && a < f64::INFINITY && l < f64::INFINITY && l > f64::NEG_INFINITY;
            if !sound {
                *out = f64::NAN;
            } else if x == f64::INFINITY {
                *out = 0.0;
            } else if a < LARGE && !is_upper(a, x) {
                near_zero.push(k, [a, x, l]);
            } else {
                others.push(k, [a, x, l]);
            }
        }
        // With one shape for all, what depends on it alone is computed once.
        let shape = if a.len() == 1 { Some(a[0]) } else { None };
        if near_zero.count > 0 {
            let found = by_series(&near_zero, shape);
            (0..near_zero.count).for_each(|k| out[near_zero.place[k]] = found[k]);
        }
        if others.count > 0 {
            let found = by_quadrature(&others, shape);
            (0..others.count).for_each(|k| out[others.place[k]] = found[k]);
        }
    }
}

/// −(D S/a)ₐ/D with S = Σ xᵏ/((a + 1)…(a + k)), Dₐ/D = l − ψ(a) and ψ(a) = ψ(a + 1) − 1/a.
#[inline(always)]
fn by_series(list: &List, shape: Option<f64>) -> [f64; TOGETHER] {
    let count = list.filled();
    let (mut k, mut term, mut harmonic) = (list.a, [1.0; TOGETHER], [0.0; TOGETHER]);
    let (mut sum, mut slope, mut active) = ([1.0; TOGETHER], [0.0; TOGETHER], [1.0; TOGETHER]);
    // Of the one shape that all have.
    let (mut k_of_all, mut harmonic_of_all) = (shape.unwrap_or(1.0), 0.0);
    for _ in 0..50 {
        let mut any = 0.0;
        if shape.is_some() {
            let (mut inverses, mut harmonics) = ([0.0; TERMS], [0.0; TERMS]);
            for place in 0..TERMS {
                k_of_all += 1.0;
                inverses[place] = 1.0 / k_of_all;
                harmonic_of_all += inverses[place];
                harmonics[place] = harmonic_of_all;
            }
            for i in 0..count {
                let (mut term_i, mut sum_i, mut slope_i) = (term[i], sum[i], slope[i]);
                for place in 0..TERMS {
                    term_i *= list.x[i] * inverses[place];
                    sum_i += term_i;
                    slope_i -= term_i * harmonics[place];
                }
                let on = active[i] > 0.0;
                let converged = term_i * (1.0 + harmonic_of_all) <= 1e-17 * sum_i;
                term[i] = term_i;
                sum[i] = if on { sum_i } else { sum[i] };
                slope[i] = if on { slope_i } else { slope[i] };
                active[i] = if on & !converged { 1.0 } else { 0.0 };
            }
        } else {
            for i in 0..count {
                let (mut k_i, mut term_i, mut harmonic_i) = (k[i], term[i], harmonic[i]);
                let (mut sum_i, mut slope_i) = (sum[i], slope[i]);
                for _ in 0..TERMS {
                    k_i += 1.0;
                    let inverse = 1.0 / k_i;
                    term_i *= list.x[i] * inverse;
                    harmonic_i += inverse;
                    sum_i += term_i;
                    slope_i -= term_i * harmonic_i;
                }
                let on = active[i] > 0.0;
                let converged = term_i * (1.0 + harmonic_i) <= 1e-17 * sum_i;
                (k[i], term[i], harmonic[i]) = (k_i, term_i, harmonic_i);
                sum[i] = if on { sum_i } else { sum[i] };
                slope[i] = if on { slope_i } else { slope[i] };
                active[i] = if on & !converged { 1.0 } else { 0.0 };
            }
        }
        for active in &active[..count] {
            any += active;
        }
        if any == 0.0 {
            break;
        }
    }
    match shape {
        Some(a) => {
            let digamma = digamma_of_positive(a + 1.0);
            for i in 0..count {
                sum[i] = -((list.l[i] - digamma) * sum[i] + slope[i]) / a;
            }
        }
        None => {
            for i in 0..count {
                let a = list.a[i];
                let score = list.l[i] - digamma_of_positive(a + 1.0);
                sum[i] = -(score * sum[i] + slope[i]) / a;
            }
        }
    }
    sum
}

/// ∫ exp(s a v − x(e^(s v) − 1)) (s (l − ψ(a)) + v) dv from 0 to where the integrand is negligible, with s = 1 above
/// the mode and −1 below.
#[inline(always)]
fn by_quadrature(list: &List, shape: Option<f64>) -> [f64; TOGETHER] {
    let count = list.filled();
    let (mut logarithm, mut digamma) = ([0.0; TOGETHER], [0.0; TOGETHER]);
    match shape {
        Some(a) => {
            logarithm.fill(ln(a));
            digamma.fill(digamma_minus_log(a));
        }
        None => {
            for i in 0..count {
                logarithm[i] = ln(list.a[i]);
                digamma[i] = digamma_minus_log(list.a[i]);
            }
        }
    }
    let (mut side, mut constant) = ([1.0; TOGETHER], [0.0; TOGETHER]);
    let (mut to, mut active) = ([1.0; TOGETHER], [1.0; TOGETHER]);
    for i in 0..count {
        let (a, x, l) = (list.a[i], list.x[i], list.l[i]);
        let s = if is_upper(a, x) { 1.0 } else { -1.0 };
        // l − ψ(a), the digits of which cancel for large a if x is near a
        let near = (x - a) / a;
        let close = (near > -0.5) & (near < 1.0);
        let ratio = if close { ln1p(if close { near } else { 0.0 }) } else { l - logarithm[i] };
        let distance = s * (x - a);
        side[i] = s;
        constant[i] = s * (ratio - digamma[i]);
        to[i] = 2.0 * CUT / (distance + (distance * distance + 2.0 * CUT * x).sqrt());
    }
    // Newton's method on a convex function comes from above after its first step, wherever it starts. Far to the right
    // of the root the function is all but straight there; a rough root will do.
    for _ in 0..60 {
        let mut any = 0.0;
        for i in 0..count {
            let (a, x, s, v) = (list.a[i], list.x[i], side[i], to[i]);
            let rise = expm1(s * v);
            let step = (x * rise - s * a * v - CUT) / (s * (x - a) + s * x * rise);
            let on = active[i] > 0.0;
            let next = v - step;
            to[i] = if on { next } else { v };
            active[i] = if on & (step.abs() > 0.02 * next) { 1.0 } else { 0.0 };
        }
        for active in &active[..count] {
            any += active;
        }
        if any == 0.0 {
            break;
        }
    }
    let mut total = [0.0; TOGETHER];
    for (node, weight) in NODES {
        for i in 0..count {
            let (a, x, s) = (list.a[i], list.x[i], side[i]);
            let v = to[i] * node;
            total[i] += weight * (exp(s * a * v - x * expm1(s * v)) * (constant[i] + v));
        }
    }
    for i in 0..count {
        total[i] *= to[i];
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit for bit, though what depends on the shape alone is computed once.
    #[test]
    fn one_shape_for_all_and_one_for_each_are_the_same() {
        for a in [1e-3, 0.3, 1.0, 2.5, 17.0, 50.0, 900.0, 1e5, 1e12] {
            let mode: f64 = ln(a);
            let l: Vec<f64> =
                (0..150).map(|k| mode + (f64::from(k) - 75.0) * 0.13 / a.sqrt().max(1.0)).collect();
            let (mut together, mut each) = (vec![0.0; l.len()], vec![0.0; l.len()]);
            gamma_slopes(&[a], &l, &mut together);
            gamma_slopes(&vec![a; l.len()], &l, &mut each);
            for ((k, x), y) in together.iter().enumerate().zip(&each) {
                assert!(x.is_finite() && x.to_bits() == y.to_bits(), "{a}, {}: {x} and {y}", l[k]);
                assert_eq!(x.to_bits(), gamma_slope(a, l[k]).to_bits());
            }
        }
    }
}
