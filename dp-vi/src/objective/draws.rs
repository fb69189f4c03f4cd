//! At which draws of the guide a step takes the gradient.

/// The draws that all records of a step share.
///
/// ```text
/// Single:      θ = g_φ(z),            v = ∇ℓ(θ)
/// Antithetic:  θ± = g_φ(±z),          v = (∇ℓ(θ₊), ∇ℓ(θ₋))/√2        one vector, clipped once to C
/// ```
///
/// For a pair the release `S` of the stacked sum gives the likelihood's part of the gradient of the bound as
/// the mean over both draws, `½ Σ± (∂θ±/∂φ)ᵀ √2 S±`. A location's gradient is then `(S₊ + S₋)/√2`, whose
/// noise has the standard deviation that it has with one draw; a log scale's is proportional to
/// `z (S₊ − S₋)/√2`, in which the part that does not depend on the scale has cancelled.
///
/// # Privacy
/// `‖v‖² = (‖∇ℓ(θ₊)‖² + ‖∇ℓ(θ₋)‖²)/2`: the stacked vector has norm at most `C` where both gradients have, and
/// it is clipped to `C` in any case: one release as with one draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DrawScheme {
    /// One draw.
    Single,
    /// A draw and its mirror image: twice the work on a record, less noise in the standard deviations.
    #[default]
    Antithetic,
}

impl DrawScheme {
    /// How many draws a step takes.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Antithetic => 2,
        }
    }

    /// By what each draw's log-likelihood is multiplied.
    pub(crate) fn stacking(self) -> f64 {
        match self {
            Self::Single => 1.0,
            Self::Antithetic => std::f64::consts::FRAC_1_SQRT_2,
        }
    }
}
