//! Gamma variables in logarithms, as draws of other distributions are made of them.

use ppl_core::{Noise, NoiseKind, Result, Shape, Var};

/// The logarithm of a gamma variable with these concentrations and rate 1, of shape `prefix ++` that of the concentrations.
///
/// It is the quantile of a uniform number, found in logarithms, so a variable that is too small for a number is none the worse. Its
/// derivative with respect to the concentration is that of the quantile (implicit).
pub(crate) fn log_standard_gamma<'g>(
    concentration: Var<'g>,
    prefix: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&concentration.shape()))?;
    Ok(concentration.log_gamma_p_inverse(uniform))
}
