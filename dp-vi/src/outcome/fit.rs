//! The outcome of a fit.

use crate::outcome::convergence::Convergence;
use crate::outcome::correction::noise_aware::NoiseAware;
use crate::outcome::posterior::Posterior;
use crate::outcome::report::PrivacyReport;

/// The outcome of a fit. It contains released values only.
#[derive(Clone, Debug)]
pub struct Fit {
    pub(crate) posterior: Posterior,
    pub(crate) uncorrected: Posterior,
    pub(crate) noise_aware: Option<NoiseAware>,
    pub(crate) wandered: Option<f64>,
    pub(crate) parameters: Vec<(String, Vec<f64>)>,
    pub(crate) report: PrivacyReport,
    pub(crate) convergence: Option<Convergence>,
}

impl Fit {
    /// The approximate posterior: the one that was [corrected for the noise](Self::noise_aware) where a correction was
    /// planned and possible, otherwise the guide's.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The guide's posterior, without a correction. Its intervals do not include the noise that was added for privacy.
    #[must_use]
    pub fn uncorrected(&self) -> &Posterior {
        &self.uncorrected
    }

    /// The corrected posterior with all covariances. It covers the sites on which the records' likelihood depends, and
    /// the other sites where they are [inferred together](crate::Correction) with these. It is `None` where no
    /// correction was planned, and where the correction gave no proper distribution, in which case
    /// [`posterior`](Self::posterior) is the guide's.
    #[must_use]
    pub fn noise_aware(&self) -> Option<&NoiseAware> {
        self.noise_aware.as_ref()
    }

    /// How far the run moved around while the gradients for the [corrected posterior](Self::noise_aware) were taken:
    /// the mean squared distance from their mean of the values at which these gradients were taken, probes not counted.
    /// The values are unconstrained and in the coordinates of the run; of a mirrored pair of draws the centre counts.
    /// It is `None` where there is no corrected posterior.
    ///
    /// The correction approximates the log-likelihood by a quadratic function, for which the mean of the gradients
    /// equals the gradient at the mean of these values. For a Poisson regression, for example, the two differ:
    /// `E e^(x·w) = e^(x·E w + xᵀ V x/2)` for values with covariance `V`, so that an intercept is found too small by
    /// half of `xᵀ V x`. A caller who knows the third derivatives of the model can correct for this with the number
    /// returned here.
    #[must_use]
    pub fn wandered(&self) -> Option<f64> {
        self.wandered
    }

    /// The guide's parameters by name, row-major, averaged over the last part of the run. The parameters of a
    /// hand-written guide have the prefix `guide/` before their own names, and are unconstrained. Where the run was
    /// made in [coordinates](crate::DpVi::rough_fit), the parameters refer to these and not to the model's values.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.parameters.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Whether the fit has converged, and how well its guide fits. It is `None` for fits with a fixed number of steps:
    /// all fits with a budget, and those fits without privacy or without records for which one of these holds:
    ///
    /// - the model has a [`param`](ppl_core::Ctx::param), latent values of single records, or more than 500 latent
    ///   elements;
    /// - the guide is neither `AutoLaplace` nor a [normal](crate::guides::Guide::normal_family) over all latent values
    ///   (`AutoDelta`, `AutoLowRankMultivariateNormal`, lists of guides and hand-written guides are neither);
    /// - a number of steps, sampling of the records, a compute limit, a schedule, an optimiser, a draw scheme, other
    ///   gradients or a checkpoint was set, or the run was begun with [`DpVi::start`](crate::DpVi::start).
    #[must_use]
    pub fn convergence(&self) -> Option<&Convergence> {
        self.convergence.as_ref()
    }

    /// The privacy statement.
    #[must_use]
    pub fn privacy(&self) -> &PrivacyReport {
        &self.report
    }
}
