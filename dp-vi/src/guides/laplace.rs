//! Laplace's approximation.

use super::{AutoDelta, name_of};
use crate::error::Result;
use crate::guides::guide::{Guide, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues};
use ppl_core::Noise;

/// Laplace's approximation, made from the model: a normal around the mode of the unconstrained latent values,
/// with the curvature there; parameters of the model are points.
///
/// ```text
/// û = argmax ln p(T(u)) + ln |T′(u)| + Σ_i ln p(x_i|T(u))          by the steps, as AutoDelta::unconstrained
/// u ~ N(û, H⁻¹),   H = minus the second derivatives there           at the end
/// ```
///
/// Without privacy `H` is taken from all records, once, when the run [ends](crate::Training::finish). With a
/// budget second derivatives have to be paid for: `H` is then that of the [correction](crate::Correction),
/// which also knows of the privacy noise, so the run needs one, and records must touch every latent value.
/// What has no correction (a likelihood that is no generalised linear term, if no correction was named) is
/// refused, and so is a value that no record touches: give it a guide of its own in an
/// [`AutoGuideList`](crate::guides::AutoGuideList), with
/// [`AutoDelta::unconstrained`](crate::guides::AutoDelta::unconstrained) for the others.
///
/// [`Fit::uncorrected`](crate::Fit::uncorrected) has the points.
///
/// ```
/// # use dp_vi::guides::AutoLaplace;
/// # use dp_vi::{DpVi, DrawScheme, Sensitive};
/// # use ppl_core::{Ctx, Records};
/// # use ppl_distributions::Normal;
/// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
///     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
///     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
/// }
/// let records = Sensitive::new(Records::from_columns([("x", vec![1.0; 9])])?);
/// let vi = DpVi::new(model, AutoLaplace::new()).without_privacy();
/// let fit = vi.draw_scheme(DrawScheme::Single).fit(&records)?;
/// assert!((fit.posterior().mean("mean")?[[]] - 0.9).abs() < 0.01);
/// assert!((fit.posterior().sd("mean")?[[]] - 0.1_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # References
/// Tierney, Kadane 1986, "Accurate approximations for posterior moments and marginal densities".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoLaplace {
    mode: AutoDelta,
}

impl AutoLaplace {
    /// The approximation around the mode.
    #[must_use]
    pub fn new() -> Self {
        Self { mode: AutoDelta::unconstrained() }
    }
}

impl Default for AutoLaplace {
    fn default() -> Self {
        Self::new()
    }
}

impl Guide for AutoLaplace {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        self.mode.build(target, noise)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        self.mode.marginals(sites, parameters)
    }

    fn normal_parameters(
        &self,
        sites: &[GuideSite],
        mean: &[f64],
        _factor: &[f64],
    ) -> Vec<(String, Vec<f64>)> {
        let mut at = 0;
        let location = |site: &GuideSite| {
            at += site.elements();
            (name_of(site, "loc"), mean[at - site.elements()..at].to_vec())
        };
        sites.iter().map(location).collect()
    }

    fn wants_curvature(&self) -> bool {
        true
    }

    fn takes_coordinates(&self) -> bool {
        true
    }

    fn describe(&self) -> &'static str {
        "a normal around the mode (Laplace's approximation)"
    }
}
