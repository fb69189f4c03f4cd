//! Several guides side by side.

use crate::error::{Error, Result};
use crate::guides::guide::{
    Guide, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues, RelativeScales,
};
use ppl_core::Noise;

/// Sites split between several guides, which are independent of each other: some by name, the rest to one
/// guide.
///
/// ```text
/// q(u) = Π_k q_k(u_k)         entropy = Σ_k entropy_k
/// ```
///
/// ```
/// use dp_vi::guides::{AutoDelta, AutoGuideList, AutoMultivariateNormal, AutoNormal};
/// // The weights with their correlations, a point for the spread, independent normals for everything else.
/// let guide = AutoGuideList::new(AutoNormal::new())
///     .with(["w", "b"], AutoMultivariateNormal::new())
///     .with(["spread"], AutoDelta::new());
/// # let _ = guide;
/// ```
///
/// A [`HandWritten`](crate::guides::HandWritten) one samples just the sites that it is named for.
pub struct AutoGuideList {
    parts: Vec<(Vec<String>, Box<dyn Guide>)>,
    rest: Box<dyn Guide>,
}

/// A part's guide and the numbers of its sites.
type Part<'a> = (&'a dyn Guide, Vec<usize>);

impl AutoGuideList {
    /// This guide for all sites that no other is named for.
    pub fn new(rest: impl Guide + 'static) -> Self {
        Self { parts: Vec::new(), rest: Box::new(rest) }
    }

    /// A guide for these sites.
    #[must_use]
    pub fn with<N: Into<String>>(
        mut self,
        sites: impl IntoIterator<Item = N>,
        guide: impl Guide + 'static,
    ) -> Self {
        self.parts.push((sites.into_iter().map(Into::into).collect(), Box::new(guide)));
        self
    }

    /// Which sites each guide serves; the rest comes last. A part without sites is left out.
    fn split(&self, sites: &[GuideSite]) -> Result<Vec<Part<'_>>> {
        let wrong = |problem: String| Error::Guide { guide: self.describe(), problem };
        let mut taken = vec![false; sites.len()];
        let mut split: Vec<Part<'_>> = Vec::with_capacity(self.parts.len() + 1);
        for (names, guide) in &self.parts {
            for name in names {
                let Some(number) = sites.iter().position(|site| site.name == *name) else {
                    let known: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
                    return Err(wrong(format!(
                        "has a part for site '{name}', which is none of the model's; it has [{}]",
                        known.join(", ")
                    )));
                };
                if std::mem::replace(&mut taken[number], true) {
                    return Err(wrong(format!("has two parts for site '{name}'; name it once")));
                }
            }
            // In the order of the model, whatever the order of the names.
            let own = (0..sites.len()).filter(|&number| names.contains(&sites[number].name));
            split.push((guide.as_ref(), own.collect()));
        }
        split.push((self.rest.as_ref(), (0..sites.len()).filter(|&number| !taken[number]).collect()));
        split.retain(|(_, numbers)| !numbers.is_empty());
        Ok(split)
    }
}

fn chosen(sites: &[GuideSite], numbers: &[usize]) -> Vec<GuideSite> {
    numbers.iter().map(|&number| sites[number].clone()).collect()
}

impl Guide for AutoGuideList {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        let mut program = GuideProgram::new(noise.graph());
        let mut values = vec![None; target.sites.len()];
        for (guide, numbers) in self.split(target.sites)? {
            if guide.wants_curvature() {
                let problem =
                    "is for all latent values together: take AutoDelta::unconstrained with a correction in a list".to_owned();
                return Err(Error::Guide { guide: guide.describe(), problem });
            }
            let own = chosen(target.sites, &numbers);
            let part = guide.build(target.with_sites(&own), noise)?;
            if part.values.len() != numbers.len() {
                let (got, wanted) = (part.values.len(), numbers.len());
                let problem = format!("gives {got} values for {wanted} sites");
                return Err(Error::Guide { guide: guide.describe(), problem });
            }
            numbers.iter().zip(part.values).for_each(|(&number, value)| values[number] = Some(value));
            program.parameters.extend(part.parameters);
            program.entropy = program.entropy + part.entropy;
        }
        // Every site is in just one part.
        program.values = values.into_iter().flatten().collect();
        Ok(program)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        let mut marginals = vec![None; sites.len()];
        for (guide, numbers) in self.split(sites).unwrap_or_default() {
            let found = guide.marginals(&chosen(sites, &numbers), parameters);
            numbers.iter().zip(found).for_each(|(&number, marginal)| marginals[number] = marginal);
        }
        marginals
    }

    fn relative_scales(&self, sites: &[GuideSite]) -> Vec<RelativeScales> {
        let parts = self.split(sites).unwrap_or_default();
        parts.iter().flat_map(|(guide, numbers)| guide.relative_scales(&chosen(sites, numbers))).collect()
    }

    fn takes_initial(&self) -> bool {
        self.parts.iter().map(|(_, guide)| guide).chain([&self.rest]).all(|guide| guide.takes_initial())
    }

    fn describe(&self) -> &'static str {
        "several guides side by side"
    }
}
