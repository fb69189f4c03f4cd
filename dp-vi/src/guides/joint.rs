//! All latent sites as one vector, for guides that correlate them.

use super::{location, start};
use crate::error::Result;
use crate::guides::guide::{GuideProgram, GuideSite, Marginal, ParameterValues, RelativeScales};
use crate::optimiser::RelativeFactors;
use ppl_core::{SiteKind, Var};

/// The unconstrained values of the latent sites one after the other, `n` elements. Parameters of the model
/// are points beside it.
pub(super) struct Joint<'a> {
    sites: &'a [GuideSite],
}

impl<'a> Joint<'a> {
    pub(super) fn new(sites: &'a [GuideSite]) -> Self {
        Self { sites }
    }

    fn latent(&self) -> impl Iterator<Item = &'a GuideSite> {
        self.sites.iter().filter(|site| site.kind != SiteKind::Param)
    }

    /// `n`
    pub(super) fn elements(&self) -> usize {
        self.latent().map(GuideSite::elements).sum()
    }

    /// The name of a parameter of all: `guide/w,b/loc`.
    pub(super) fn name_of(&self, part: &str) -> String {
        let names: Vec<&str> = self.latent().map(|site| site.name.as_str()).collect();
        format!("guide/{}/{part}", names.join(","))
    }

    /// A parameter of `n` elements: where the sites start.
    pub(super) fn location<'g>(&self, program: &mut GuideProgram<'g>) -> Result<Var<'g>> {
        let initial = self.latent().flat_map(start).collect();
        program.parameter(self.name_of("loc"), self.elements(), initial)
    }

    /// A parameter of `n` elements that all start at the logarithm of `scale`.
    pub(super) fn log_scale<'g>(&self, program: &mut GuideProgram<'g>, scale: f64) -> Result<Var<'g>> {
        let n = self.elements();
        program.parameter(self.name_of("log_scale"), n, vec![scale.ln(); n])
    }

    /// Gives each site its part of the vector, or a point.
    pub(super) fn hand_out<'g>(&self, program: &mut GuideProgram<'g>, vector: Option<Var<'g>>) -> Result<()> {
        let mut at = 0;
        for site in self.sites {
            let value = match vector {
                Some(vector) if site.kind != SiteKind::Param => {
                    at += site.elements();
                    vector.slice(0, at - site.elements()..at).reshape(site.unconstrained_shape.clone())
                }
                _ => location(program, site)?,
            };
            program.values.push(value);
        }
        Ok(())
    }

    /// Scales relative to which these factors are.
    pub(super) fn relative_scales(&self, factors: RelativeFactors) -> RelativeScales {
        RelativeScales { log_scale: self.name_of("log_scale"), factors }
    }

    /// The marginals, with the vector's standard deviations as `e^log_scale` times a factor for each element.
    pub(super) fn marginals(
        &self,
        parameters: ParameterValues<'_>,
        factor: impl Fn(usize) -> f64,
    ) -> Vec<Option<Marginal>> {
        let (loc, log_scale) =
            (parameters.get(&self.name_of("loc")), parameters.get(&self.name_of("log_scale")));
        let mut at = 0;
        let mut marginal = |site: &GuideSite| {
            if site.kind == SiteKind::Param {
                return Some(Marginal::point(parameters.get(&super::name_of(site, "loc"))));
            }
            let range = at..at + site.elements();
            at = range.end;
            let scale = log_scale.get(range.clone())?.iter().zip(range.clone());
            Some(Marginal {
                loc: loc.get(range)?.to_vec(),
                scale: scale.map(|(s, i)| s.exp() * factor(i)).collect(),
            })
        };
        self.sites.iter().map(&mut marginal).collect()
    }
}
