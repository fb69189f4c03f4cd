//! What a conjugate fit looks for.

/// What a conjugate fit looks for: a posterior, or values (*variational EM*).
///
/// The steps are the same and so is what is released: expected statistics at `t`, clipped, with noise. What differs is
/// what is made of them. With `Ŝ` the noisy statistics, `η₀ = ∂ ln p(θ)/∂T` those of the prior and `T` the statistics
/// of a site's family,
///
/// ```text
/// Posterior     q(θ) ∝ exp⟨η₀ + Ŝ, T(θ)⟩            t = E_q[T(θ)]        variational Bayes (VBEM)
/// Mode          θ* = argmax ⟨η₀ + Ŝ, T(θ)⟩          t = T(θ*)            EM for the largest posterior density
/// Likelihood    θ* = argmax ⟨Ŝ, T(θ)⟩               t = T(θ*)            EM for the largest likelihood
/// ```
///
/// The last two are variational Bayes with factors that are points (Neal and Hinton 1998; Park and others 2020, section
/// 2.5 and appendix 6): records' own latent values still have distributions, shared ones have values. Without privacy
/// the sites are updated in turn, so that `ln p(θ*) + Σ_i ℓ_i(T(θ*))`, or the sum alone, never falls. Where records'
/// own values are summed out exactly this is the log density of the data, and the algorithm is EM of Dempster, Laird
/// and Rubin (1977), one conditional maximum after another where there are several sites (Meng and Rubin 1993).
///
/// Points at the edge of a set are kept inside it: what a logarithm is multiplied by (a category's count less one,
/// for example) is taken to be at least 1e-9. A prior of concentration below 1 so empties categories, and a category
/// that is empty stays so; take a concentration of at least 1 with `Mode`. A value for which noisy statistics have no
/// maximum, such as the mean of a component that noise says has no records, stays where it was.
///
/// The mode of a density depends on the parameters it is written in: here those of the model's `sample` statements.
/// Modes of hierarchies (a scale together with the values it is the scale of) are often degenerate; the posterior is
/// not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Estimate {
    /// Posterior factors: variational Bayes.
    #[default]
    Posterior,
    /// Values of the largest posterior density: EM with the prior.
    Mode,
    /// Values of the largest likelihood: EM without a prior, which only says where it begins.
    ///
    /// Every shared value must then be one that records depend on in each of its statistics, or there is no maximum.
    /// The likelihood is that of the records: models that also observe public constants are refused.
    Likelihood,
}

impl Estimate {
    /// Whether shared values have values and no distributions.
    pub(super) fn is_point(self) -> bool {
        self != Self::Posterior
    }

    /// What the fit does, for plans.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Posterior => "Variational Bayes",
            Self::Mode => "Expectation maximisation of the posterior density",
            Self::Likelihood => "Expectation maximisation of the likelihood",
        }
    }

    /// What the guide is, for reports.
    pub(super) fn guide(self) -> &'static str {
        match self {
            Self::Posterior => "posterior factors in the exponential families of the priors",
            Self::Mode => "points of the largest posterior density, by expectation maximisation",
            Self::Likelihood => "points of the largest likelihood, by expectation maximisation",
        }
    }
}
