//! What a guide is, and those there are, one a file.
//!
//! | guide | `u`, for standard normal `z` | parameters for `n` elements |
//! |---|---|---|
//! | `delta` | a point | `n` |
//! | `laplace` | a point, and at the end a normal with the curvature there | `n` |
//! | `normal` | `loc + s∘z` | `2n` |
//! | `low_rank` | `loc + s∘(z + V z′)` | `2n + nr` |
//! | `multivariate_normal` | `loc + s∘(I + K) z` | `2n + n²`, of which `n(n − 1)/2` of the last count |
//! | `list` | several of them side by side | |
//! | `hand_written` | as the user says | as the user says |

pub(crate) mod amortised;
mod delta;
pub(crate) mod guide;
mod hand_written;
mod joint;
mod laplace;
mod list;
mod low_rank;
mod multivariate_normal;
mod normal;
#[cfg(test)]
mod tests;

pub use crate::optimiser::RelativeFactors;
pub use amortised::Amortised;
pub use delta::AutoDelta;
pub use guide::{
    Guide, GuideParameter, GuideProgram, GuideSite, GuideTarget, Marginal, NormalFamily, ParameterValues,
    RelativeScales,
};
pub use hand_written::HandWritten;
pub use laplace::AutoLaplace;
pub use list::AutoGuideList;
pub use low_rank::AutoLowRankMultivariateNormal;
pub use multivariate_normal::AutoMultivariateNormal;
pub use normal::AutoNormal;

use crate::error::{Error, Result};

use ppl_core::Var;

/// `½ ln(2πe)`, the entropy of a standard normal.
pub(crate) const NORMAL_ENTROPY: f64 = 1.418_938_533_204_672_7;

/// Standard deviation at the start.
const INITIAL_SCALE: f64 = 0.1;

fn check_scale(scale: f64) -> Result<f64> {
    match scale > 0.0 && scale.is_finite() {
        true => Ok(scale),
        false => {
            Err(Error::OutOfRange { what: "initial scale", requirement: "positive and finite", value: scale })
        }
    }
}

/// Where a site starts: at its given value, or at 0.
fn start(site: &GuideSite) -> Vec<f64> {
    match &site.initial {
        Some(initial) => initial.iter().copied().collect(),
        None => vec![0.0; site.elements()],
    }
}

/// The name of a parameter of one site.
fn name_of(site: &GuideSite, part: &str) -> String {
    format!("guide/{}/{part}", site.name)
}

/// A site's location as a parameter in its own shape.
fn location<'g>(program: &mut GuideProgram<'g>, site: &GuideSite) -> Result<Var<'g>> {
    program.parameter(name_of(site, "loc"), site.unconstrained_shape.clone(), start(site))
}
