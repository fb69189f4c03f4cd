//! What the distributions share: constants, noise, shapes.

use ppl_core::{Distribution, Noise, NoiseKind, Result, Shape, Var};
use std::f64::consts::LN_2;

/// `ln √(2π)`
pub(crate) const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;
/// The constant of Euler and Mascheroni, `−ψ(1)`.
pub(crate) const EULER: f64 = 0.577_215_664_901_532_9;

/// A moment at the shape of all parameters together.
#[track_caller]
pub(crate) fn at_batch_shape<'g>(distribution: &impl Distribution<'g>, moment: Var<'g>) -> Option<Var<'g>> {
    Some(moment.broadcast_to(distribution.batch_shape().ok()?))
}

/// Uniform noise for `prefix` draws.
pub(crate) fn uniform_noise<'g>(
    distribution: &impl Distribution<'g>,
    prefix: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    if let (true, Some(number)) = (prefix.is_scalar(), noise.at_once(NoiseKind::Uniform)) {
        return Ok(number);
    }
    noise.draw(NoiseKind::Uniform, prefix.concat(&distribution.batch_shape()?))
}

/// Standard normal noise for `prefix` draws.
pub(crate) fn normal_noise<'g>(
    distribution: &impl Distribution<'g>,
    prefix: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    if let (true, Some(number)) = (prefix.is_scalar(), noise.at_once(NoiseKind::StandardNormal)) {
        return Ok(number);
    }
    noise.draw(NoiseKind::StandardNormal, prefix.concat(&distribution.batch_shape()?))
}

/// `ln(1 − eᵗ)` for `t < 0`, by whichever of `eᵗ` and `1 − eᵗ` is small.
#[track_caller]
pub(crate) fn log_of_rest(t: Var<'_>) -> Var<'_> {
    let near = t.greater(-LN_2);
    let (small, large) = (near.select(t, -LN_2), near.select(-LN_2, t));
    near.select((-small.expm1()).log(), (-large.exp()).log1p())
}
