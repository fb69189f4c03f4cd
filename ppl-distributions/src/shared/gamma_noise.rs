//! Gamma variables in logarithms, as draws of other distributions are made of them.

use ppl_core::{Noise, NoiseKind, Result, Shape, Var};

/// The logarithm of a gamma variable of rate 1 for each element of a shape, to which the concentrations
/// broadcast.
///
/// It is the quantile of a uniform number, found in logarithms, so a variable that is too small for a number
/// is none the worse. Its derivative with respect to the concentration is that of the quantile (implicit).
pub(crate) fn log_standard_gamma<'g>(
    concentration: Var<'g>,
    shape: &Shape,
    noise: &mut Noise<'g>,
) -> Result<Var<'g>> {
    let uniform = noise.draw(NoiseKind::Uniform, shape.clone())?;
    Ok(concentration.log_gamma_p_inverse(uniform))
}
