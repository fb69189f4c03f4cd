//! Gamma variables in logarithms, as draws of other distributions are made of them.

use ppl_core::{Noise, NoiseKind, Result, Shape, Var};

/// The logarithm of a standard gamma variable for each place of `shape`: by rejection, with the quantile of a
/// uniform number that the attempts do not see where all are rejected ([`Var::log_gamma_draw`]).
pub(crate) fn log_standard_gamma<'g>(
    concentration: Var<'g>,
    shape: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    let mut draw = |kind| noise.draw(kind, shape.clone());
    let (normal, uniform) = (NoiseKind::StandardNormal, NoiseKind::Uniform);
    let drawn = [draw(normal)?, draw(uniform)?, draw(normal)?, draw(uniform)?, draw(uniform)?];
    Ok(concentration.log_gamma_draw(drawn))
}

/// The same for `prefix` draws of a distribution.
pub(crate) fn log_gamma_noise<'g>(
    distribution: &impl ppl_core::Distribution<'g>,
    concentration: Var<'g>,
    prefix: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    // Without asking for shapes where a single number is drawn at once.
    let shape = match prefix.is_scalar() && noise.is_at_once() && concentration.known().is_some() {
        true => Shape::scalar(),
        false => prefix.concat(&distribution.batch_shape()?),
    };
    log_standard_gamma(concentration, &shape, noise)
}
