//! What the distributions share: constants, noise, shapes.

use ppl_core::{Distribution, Noise, NoiseKind, Result, Shape, Var};

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
    noise.draw(NoiseKind::Uniform, prefix.concat(&distribution.batch_shape()?))
}

/// Standard normal noise for `prefix` draws.
pub(crate) fn normal_noise<'g>(
    distribution: &impl Distribution<'g>,
    prefix: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    noise.draw(NoiseKind::StandardNormal, prefix.concat(&distribution.batch_shape()?))
}
