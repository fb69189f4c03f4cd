//! The logarithm of the density of `PG(b, 0)`: two series for `b = 1`, an integral for any `b`.

use ndarray::Array1;
use ppl_core::Var;
use std::f64::consts::{LN_2, PI, TAU};

/// `ln 2π`
const LN_TAU: f64 = 1.837_877_066_409_345_6;
/// Where the two series for `b = 1` are equally fast: `e^(−1/x) = e^(−4π²x)`.
const MIDDLE: f64 = 1.0 / TAU;

/// For `b = 1`. With the first term of each series taken out, three more leave an error below 10⁻¹⁸ of the
/// density.
#[track_caller]
pub(super) fn of_one<'g>(x: Var<'g>) -> Var<'g> {
    let left = x.less(MIDDLE);
    let (small, large) = (left.select(x, MIDDLE), left.select(MIDDLE, x));
    let inverse = small.reciprocal();
    let from_left = alternating((-inverse).exp()) - 0.125 * inverse - 1.5 * small.log() - 0.5 * LN_TAU;
    let from_right = alternating((-(4.0 * PI * PI) * large).exp()) - (0.5 * PI * PI) * large + LN_TAU;
    left.select(from_left, from_right)
}

/// `ln(1 − 3q + 5q³ − 7q⁶)`, what both series have after their first term.
fn alternating(q: Var<'_>) -> Var<'_> {
    let cube = q * q * q;
    (cube * (5.0 - 7.0 * cube) - 3.0 * q).log1p()
}

/// The first branch point of `cos⁻ᵇ √(t/2)`, `π²/2`.
const BRANCH: f64 = 0.5 * PI * PI;
/// Where the path is cut off: its integrand has fallen to `e^(−40)` there.
const END: f64 = 9.0;
/// Pieces that the path is cut into.
const PIECES: usize = 48;

/// For any `b > 0`.
///
/// The moment generating function is `e^K(t)` with `K = −b ln cos √(t/2)`, and
///
/// ```text
/// p(x) = 1/(2πi) ∫ e^(K(t) − tx) dt        t = t₀ + iℓτ + τ²/2x,   τ from −∞ to ∞
/// ```
///
/// along a parabola around all branch points, which lie on the real axis from `π²/2` on. It begins at about
/// the saddle point, where `K′ = x`, but not nearer to the first branch point than `1/x`; `ℓ` is about a
/// standard deviation there, `K″^(−½)`, and the bend is that of the steepest descent for small `x`, when `PG`
/// is inverse Gaussian. The integrand then falls like `e^(−τ²/2)` or faster and is analytic at least
/// `|Im τ| < 0.7`, so the trapezoidal rule converges geometrically: with 24 pieces it is wrong by 2·10⁻⁸ at
/// most, with 32 by 10⁻¹⁰, with 40 by 5·10⁻¹³ (for `b` from 10⁻⁴ to 200 and `x/b` from 0.01 to 1000), with 48
/// by rounding alone. Below `x = (1 + b)/100` only the first term of the alternating series counts, for the
/// next is `(2 + b) e⁻⁵⁰` of it.
///
/// The integral does not depend on the path, so for derivatives the path stays where it is.
#[track_caller]
pub(super) fn of_any<'g>(b: Var<'g>, x: Var<'g>) -> Var<'g> {
    let shape = b.shape().broadcast(&x.shape()).unwrap_or_else(|| x.shape());
    let left = x.less(0.01 * (b + 1.0));
    let first = (b * LN_2 - LN_2) + b.log()
        - 0.5 * LN_TAU
        - 1.5 * left.select(x, 1.0).log()
        - 0.125 * b.square() / left.select(x, 1.0);
    let x = left.select(0.25 * b, x).broadcast_to(shape.clone());
    let b = b.broadcast_to(shape);
    left.select(first, by_inversion(b, x))
}

/// A complex number of the program.
#[derive(Clone, Copy)]
struct Complex<'g> {
    re: Var<'g>,
    im: Var<'g>,
}

/// Where the path begins, and `ℓ`.
fn path<'g>(b: Var<'g>, x: Var<'g>) -> (Var<'g>, Var<'g>) {
    // K′ = x is tan(z)/z = r for z² = t/2, r = 4x/b: approximations that are right in both limits and at r =
    // 1, where t = 0.
    let r = 4.0 * x / b;
    let below = r.less(1.0);
    let (small, large) = (below.select(r, 0.5).square(), below.select(1.0, r));
    let negative = -2.0 * (1.0 - small) * (1.0 + 0.5 * small) / small;
    let positive = BRANCH - 1.0 / (0.25 * (large - 1.0) + 1.0 / BRANCH);
    let start = below.select(negative, positive).min(BRANCH - x.reciprocal());
    let room = BRANCH - start;
    // K″ is b/(π²/2 − t)² near the branch point; on the other side, with w² = −t/2, between b/24 at 0 and
    // b/16w³ far out.
    let w2 = (-0.5 * start).max(0.0);
    let far = 24.0_f64.sqrt() * (0.75 * (0.763 * w2).log1p()).exp();
    let deviation = start.less(0.0).select(far, room) / b.sqrt();
    (start, deviation.min(room))
}

/// `ln cos √(t/2)` for `t` of the upper half-plane, or of the real axis below the first branch point.
///
/// As `−iz − ln 2 + ln(1 + e^(2iz))`, where the exponential is at most 1 in size: the branch that is
/// continuous along the path.
fn log_cosine(t: Complex<'_>) -> Complex<'_> {
    let (re, im) = (0.5 * t.re, 0.5 * t.im);
    let size = (re.square() + im.square()).sqrt();
    // The larger part of the root first; the other one without cancellation.
    let larger = (0.5 * (size + re.abs())).sqrt();
    let smaller = 0.5 * im / larger.max(1e-30);
    let right = re.greater(0.0);
    let (v, w) = (right.select(larger, smaller), right.select(smaller, larger));
    let (q, angle) = ((-2.0 * w).exp(), 2.0 * v);
    let (cos, sin) = (angle.cos(), angle.sin());
    Complex { re: w - LN_2 + 0.5 * (q * (2.0 * cos + q)).log1p(), im: (q * sin / (1.0 + q * cos)).atan() - v }
}

fn by_inversion<'g>(b: Var<'g>, x: Var<'g>) -> Var<'g> {
    let graph = x.graph();
    let (start, length) = path(b, x);
    let (start, length, bend) = (start.stop_gradient(), length.stop_gradient(), (0.5 / x).stop_gradient());
    // The nodes are a new first axis.
    let mut along = vec![1; x.shape().rank() + 1];
    along[0] = PIECES + 1;
    let nodes = |f: &dyn Fn(usize) -> f64| {
        graph.array(&Array1::from_shape_fn(PIECES + 1, f).into_dyn()).reshape(along.clone())
    };
    let step = END / PIECES as f64;
    let tau = nodes(&|k| step * k as f64);
    // The other half of the path is its mirror image.
    let weights = nodes(&|k| step / PI * if k == 0 { 0.5 } else { 1.0 });
    let t = Complex { re: start + bend * tau.square(), im: length * tau };
    let log = log_cosine(t);
    let exponent = Complex { re: -(b * log.re) - t.re * x, im: -(b * log.im) - t.im * x };
    let height = exponent.re.slice(0, ..1).reshape(x.shape()).stop_gradient();
    // dt/dτ = i (ℓ − iτ/x)
    let turned = length * exponent.im.cos() + 2.0 * bend * tau * exponent.im.sin();
    height + (weights * (exponent.re - height).exp() * turned).sum_axis(0).log()
}
