//! Independent normals.

use super::{INITIAL_SCALE, NORMAL_ENTROPY, check_scale, location, name_of};
use crate::error::Result;
use crate::guides::guide::{
    Guide, GuideProgram, GuideSite, GuideTarget, Marginal, NormalFamily, ParameterValues,
};
use ppl_core::{Noise, NoiseKind, SiteKind};

/// Independent normals for all unconstrained latent values ("mean field"), made from the model; parameters of
/// the model are points.
///
/// ```text
/// u = loc + e^log_scale ∘ z,   z ~ N(0, I)        entropy = Σ log_scale + ½ ln(2πe) each
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoNormal {
    initial_scale: f64,
}

impl AutoNormal {
    /// Starts every latent value with standard deviation 0.1.
    #[must_use]
    pub fn new() -> Self {
        Self { initial_scale: INITIAL_SCALE }
    }

    /// Starts with another standard deviation.
    ///
    /// # Errors
    /// If it is not positive and finite.
    pub fn initial_scale(self, scale: f64) -> Result<Self> {
        Ok(Self { initial_scale: check_scale(scale)? })
    }
}

impl Default for AutoNormal {
    fn default() -> Self {
        Self::new()
    }
}

impl Guide for AutoNormal {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        let mut program = GuideProgram::new(noise.graph());
        for site in target.sites {
            let loc = location(&mut program, site)?;
            if site.kind == SiteKind::Param {
                program.values.push(loc);
                continue;
            }
            let (elements, shape) = (site.elements(), site.unconstrained_shape.clone());
            let starts = vec![self.initial_scale.ln(); elements];
            let log_scale = program.parameter(name_of(site, "log_scale"), shape.clone(), starts)?;
            let z = noise.draw(NoiseKind::StandardNormal, shape)?;
            program.values.push(loc + log_scale.exp() * z);
            program.entropy = program.entropy + (log_scale.sum() + NORMAL_ENTROPY * elements as f64);
        }
        Ok(program)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        let marginal = |site: &GuideSite| {
            let loc = parameters.get(&name_of(site, "loc"));
            if site.kind == SiteKind::Param {
                return Some(Marginal::point(loc));
            }
            let log_scale = parameters.get(&name_of(site, "log_scale"));
            Some(Marginal { loc: loc.to_vec(), scale: log_scale.iter().map(|s| s.exp()).collect() })
        };
        sites.iter().map(marginal).collect()
    }

    fn normal_family(&self) -> Option<NormalFamily> {
        Some(NormalFamily::Independent)
    }

    fn normal_parameters(
        &self,
        sites: &[GuideSite],
        mean: &[f64],
        factor: &[f64],
    ) -> Vec<(String, Vec<f64>)> {
        let (n, mut at) = (mean.len(), 0);
        let mut parameters = Vec::new();
        for site in sites.iter().filter(|site| site.kind != SiteKind::Param) {
            let range = at..at + site.elements();
            at = range.end;
            let log_scales = range.clone().map(|k| factor[k * n + k].ln()).collect();
            parameters.push((name_of(site, "loc"), mean[range].to_vec()));
            parameters.push((name_of(site, "log_scale"), log_scales));
        }
        parameters
    }

    fn takes_coordinates(&self) -> bool {
        true
    }

    fn describe(&self) -> &'static str {
        "independent normals (mean field)"
    }
}
