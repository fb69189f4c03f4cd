//! With respect to what a record's gradient is taken.

use serde::Serialize;

/// What of a record is clipped and gets noise.
///
/// ```text
/// Aligned:           v_i = ∂ℓ_i/∂u                                     at the frontier, u = g_φ(z)
/// Vanilla:           v_i = ∂ℓ_i/∂φ = (∂u/∂φ)ᵀ ∂ℓ_i/∂u
/// VanillaWithPrior:  v_i = ∂/∂φ [ℓ_i + (ln p(θ) + H[q_φ])/N₀]
/// ```
///
/// *Aligned* gradients are what this crate recommends: noise has one element for each latent value, and
/// guide, prior and entropy are exact functions of what was released. *Vanilla* gradients are those of the
/// first works on DP-VI and of the package d3p, for comparisons: all parameters of the guide get noise (for a
/// mean-field guide twice as many numbers), and locations and log scales share one clip norm, so that
/// gradients of the scales, which are smaller by the scale itself, drown. Releases and their price are the
/// same.
///
/// What a step releases is the sum of the clipped `v_i`, and the gradient of the bound with respect to `φ` is
/// estimated by
///
/// ```text
/// Vanilla:           S/q + ∂/∂φ [ln p(θ) + H[q_φ]]                     prior and entropy outside, exact
/// VanillaWithPrior:  S/q                                               each record brings its share of both
/// ```
///
/// With a mirrored pair of draws `v_i` is the mean of both gradients with respect to `φ`, clipped once.
///
/// # Differences from d3p
/// d3p draws `θ` anew for every record; here all records of a step share a draw (or a mirrored pair), as with
/// aligned gradients. Its prior and entropy go into every record's gradient, as in `VanillaWithPrior`, where
/// its `−ln q(θ)` has the gradient of the entropy for normal guides. It takes the number of records for `N₀`.
/// Here `N₀` is [stated](crate::DpVi::public_records): under add/remove the true number is protected,
/// and a wrong one costs accuracy only, for prior and entropy then enter `N/N₀` times.
///
/// # References
/// Jälkö, Dikmen, Honkela 2017 (vanilla); Prediger, Loppi, Kaski, Honkela 2022 (d3p); Jälkö, Prediger,
/// Honkela, Kaski 2022 (aligned).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Gradients {
    /// With respect to the latent values, at the frontier.
    #[default]
    Aligned,
    /// With respect to the guide's parameters; prior and entropy are added afterwards.
    Vanilla,
    /// With respect to the guide's parameters, each record with its share of prior and entropy. Needs a
    /// stated number of records.
    VanillaWithPrior,
}
