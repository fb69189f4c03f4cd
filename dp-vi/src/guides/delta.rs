//! Points.

use super::{location, name_of};
use crate::error::Result;
use crate::guides::guide::{Guide, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues};
use ppl_core::{Noise, SiteKind};

/// A point for every latent value, made from the model: the mode of the posterior (*maximum a posteriori*).
///
/// ```text
/// new():            maximises ln p(θ) + Σ_i ln p(x_i|θ),                      θ = T(u): the density of the values
/// unconstrained():  maximises ln p(T(u)) + ln |T′(u)| + Σ_i ln p(x_i|T(u)):   the density of the unconstrained values
/// ```
///
/// A mode moves with the coordinates. The first is what NumPyro's `AutoDelta` finds; around the second one an
/// approximation by a normal makes sense. In the bound the point has no entropy, but for `−ln |T′(u)|` in the
/// first case, which takes the Jacobian out of the prior again.
///
/// Its intervals have no width. With a [correction](crate::Correction) the posterior of what records touch is
/// a normal around the mode, with the released curvature and the privacy noise in it: the private form of
/// Laplace's approximation. The draws of a mirrored pair are equal, so
/// [`DrawScheme::Single`](crate::DrawScheme) does half the work for the same result.
///
/// ```
/// # use dp_sampler::FullBatch;
/// # use dp_vi::guides::AutoDelta;
/// # use dp_vi::{DpVi, DrawScheme, Sensitive};
/// # use ppl_core::{Ctx, Records};
/// # use ppl_distributions::Normal;
/// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
///     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
///     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
/// }
/// let records = Sensitive::new(Records::from_columns([("x", vec![1.0; 9])])?);
/// let vi = DpVi::new(model, AutoDelta::new()).without_privacy().subsample(FullBatch);
/// let fit = vi.draw_scheme(DrawScheme::Single).fit(&records)?;
/// assert!((fit.posterior().mean("mean")?[[]] - 0.9).abs() < 0.01);
/// assert_eq!(fit.posterior().sd("mean")?[[]], 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoDelta {
    of_values: bool,
}

impl AutoDelta {
    /// The mode of the density of the values.
    #[must_use]
    pub fn new() -> Self {
        Self { of_values: true }
    }

    /// The mode of the density of the unconstrained values.
    #[must_use]
    pub fn unconstrained() -> Self {
        Self { of_values: false }
    }
}

impl Default for AutoDelta {
    fn default() -> Self {
        Self::new()
    }
}

impl Guide for AutoDelta {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        let mut program = GuideProgram::new(noise.graph());
        for site in target.sites {
            let loc = location(&mut program, site)?;
            program.values.push(loc);
            // A parameter has no density, so no Jacobian either.
            if self.of_values
                && site.kind != SiteKind::Param
                && let Some(log_jacobian) = site.support.log_jacobian(loc)
            {
                program.entropy = program.entropy - log_jacobian;
            }
        }
        Ok(program)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        let point = |site: &GuideSite| Some(Marginal::point(parameters.get(&name_of(site, "loc"))));
        sites.iter().map(point).collect()
    }

    fn describe(&self) -> &'static str {
        match self.of_values {
            true => "points (mode of the values)",
            false => "points (mode of the unconstrained values)",
        }
    }
}
