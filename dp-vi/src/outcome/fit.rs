//! The outcome of a fit.

use crate::outcome::convergence::Convergence;
use crate::outcome::correction::noise_aware::NoiseAware;
use crate::outcome::posterior::Posterior;
use crate::outcome::report::PrivacyReport;

/// The outcome of a fit: released values only.
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
    /// The approximate posterior: [corrected for the noise](Self::noise_aware) where that was planned, else
    /// the guide's.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The posterior as the guide has it. Its intervals leave out the noise added for privacy.
    #[must_use]
    pub fn uncorrected(&self) -> &Posterior {
        &self.uncorrected
    }

    /// The corrected posterior with all covariances, of the sites that records touch, and of the others where they
    /// are [inferred together](crate::Correction). `None` where none was
    /// planned, or where it came out without being a posterior (then [`posterior`](Self::posterior) is the
    /// guide's).
    #[must_use]
    pub fn noise_aware(&self) -> Option<&NoiseAware> {
        self.noise_aware.as_ref()
    }

    /// The mean squared distance, from their mean, of the values at which the gradients were taken that the [corrected
    /// posterior](Self::noise_aware) follows from, but for probes; unconstrained, and in the coordinates of the run. Of
    /// antithetic draws they are the middles. `None` where there is no such posterior.
    ///
    /// The correction takes the log-likelihood for quadratic, so that the mean gradient is that at the mean of these
    /// values. That of a Poisson regression is not: `E e^(x·w) = e^(x·E w + xᵀ V x/2)` for values with the covariance
    /// `V`, and an intercept comes out too small by half of `xᵀ V x`. A model that knows its own third derivatives can
    /// add that.
    #[must_use]
    pub fn wandered(&self) -> Option<f64> {
        self.wandered
    }

    /// The guide's parameters by name, row-major, as they were found: averaged over the run's tail. Those of
    /// a hand-written guide are called `guide/` and their own name, and are unconstrained. Where the run was made in
    /// [coordinates](crate::DpVi::rough_fit) they are of these, and not of the model's values.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.parameters.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Whether a fit has converged, and how well its guide fits. `None` for fits of a number of steps: those
    /// with a budget, and those without privacy or without records where one of these holds:
    ///
    /// - the model has a [`param`](ppl_core::Ctx::param), latent values of each record's own, or more than 500
    ///   elements of latent values;
    /// - the guide is neither `AutoLaplace` nor a [normal](crate::guides::Guide::normal_family) over all latent
    ///   values, as `AutoDelta`, `AutoLowRankMultivariateNormal`, lists of guides and guides written by hand are
    ///   not;
    /// - steps, a sample of the records, a compute limit, a schedule, an optimiser, a draw scheme, other gradients
    ///   or a checkpoint were named, or the run was begun with [`DpVi::start`](crate::DpVi::start).
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
