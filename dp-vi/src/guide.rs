//! Guides: the families of distributions a posterior is approximated by.

use crate::error::{Error, Result};
use ndarray::ArrayD;
use ppl_core::{Constraint, Graph, Noise, NoiseKind, Shape, SiteKind, Var};

/// What a guide needs to know of a latent site or parameter of the model.
#[derive(Clone, Debug)]
pub struct GuideSite {
    /// Its name.
    pub name: String,
    /// Shape of its value, unconstrained and constrained alike.
    pub shape: Shape,
    /// Where its value lies.
    pub support: Constraint,
    /// Latent value or parameter.
    pub kind: SiteKind,
    /// For a parameter, where to start, unconstrained.
    pub initial: Option<ArrayD<f64>>,
}

/// A parameter of a guide: an input of the guide's program and where it starts.
#[derive(Clone, Debug)]
pub struct GuideParameter<'g> {
    /// Name of the input.
    pub name: String,
    /// The input.
    pub var: Var<'g>,
    /// Initial value, row-major.
    pub initial: Vec<f64>,
}

/// A guide as array program.
#[derive(Clone, Debug)]
pub struct GuideProgram<'g> {
    /// What is optimised.
    pub parameters: Vec<GuideParameter<'g>>,
    /// For each site, in order, its unconstrained value as a function of parameters and noise.
    pub values: Vec<Var<'g>>,
    /// Entropy of the latent values' distribution, as a function of the parameters.
    pub entropy: Var<'g>,
}

/// The distribution of one site's unconstrained value, element by element: normal with these moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginal {
    /// Means.
    pub loc: Vec<f64>,
    /// Standard deviations; zero for a parameter.
    pub scale: Vec<f64>,
}

/// A family of distributions over the unconstrained values of a model's sites.
///
/// A draw is a function of the parameters and of standard noise, so gradients flow through it. The entropy is exact.
pub trait Guide {
    /// Writes the guide into a graph.
    ///
    /// # Errors
    /// If it cannot serve one of the sites.
    fn build<'g>(&self, sites: &[GuideSite], noise: &mut Noise<'g>) -> Result<GuideProgram<'g>>;

    /// The marginals of all sites, given the optimised parameters, one after the other.
    fn marginals(&self, sites: &[GuideSite], parameters: &[f64]) -> Vec<Marginal>;

    /// What the family is, in a few words.
    fn describe(&self) -> &'static str;
}

/// Independent normals for all unconstrained latent values ("mean field"), made from the model; parameters of the model
/// are points.
///
/// ```text
/// u = loc + e^log_scale ∘ z,   z ~ N(0, I)        entropy = Σ log_scale + ½ ln(2πe) each
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoNormal {
    initial_scale: f64,
}

/// `½ ln(2πe)`
const NORMAL_ENTROPY: f64 = 1.418_938_533_204_672_7;

impl AutoNormal {
    /// Starts every latent value at 0 (unconstrained) with standard deviation 0.1.
    #[must_use]
    pub fn new() -> Self {
        Self { initial_scale: 0.1 }
    }

    /// Starts with another standard deviation.
    ///
    /// # Errors
    /// If it is not positive and finite.
    pub fn initial_scale(mut self, scale: f64) -> Result<Self> {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::OutOfRange {
                what: "initial scale",
                requirement: "positive and finite",
                value: scale,
            });
        }
        self.initial_scale = scale;
        Ok(self)
    }
}

impl Default for AutoNormal {
    fn default() -> Self {
        Self::new()
    }
}

impl Guide for AutoNormal {
    fn build<'g>(&self, sites: &[GuideSite], noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        let graph: &'g Graph = noise.graph();
        let mut program =
            GuideProgram { parameters: Vec::new(), values: Vec::new(), entropy: graph.constant(0.0) };
        for site in sites {
            let elements = site.shape.elements();
            let mut parameter = |part: &str, initial: Vec<f64>| -> Result<Var<'g>> {
                let name = format!("guide/{}/{part}", site.name);
                let var = graph.input(name.clone(), site.shape.clone())?;
                program.parameters.push(GuideParameter { name, var, initial });
                Ok(var)
            };
            let start = match &site.initial {
                Some(initial) => initial.iter().copied().collect(),
                None => vec![0.0; elements],
            };
            let loc = parameter("loc", start)?;
            if site.kind == SiteKind::Param {
                program.values.push(loc);
                continue;
            }
            let log_scale = parameter("log_scale", vec![self.initial_scale.ln(); elements])?;
            let z = noise.draw(NoiseKind::StandardNormal, site.shape.clone())?;
            program.values.push(loc + log_scale.exp() * z);
            program.entropy = program.entropy + (log_scale.sum() + NORMAL_ENTROPY * elements as f64);
        }
        Ok(program)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: &[f64]) -> Vec<Marginal> {
        let mut rest = parameters;
        let mut take = |elements: usize| {
            let (taken, after) = rest.split_at(elements);
            rest = after;
            taken
        };
        let marginal = |site: &GuideSite| {
            let elements = site.shape.elements();
            let loc = take(elements).to_vec();
            let scale = match site.kind {
                SiteKind::Param => vec![0.0; elements],
                _ => take(elements).iter().map(|log_scale| log_scale.exp()).collect(),
            };
            Marginal { loc, scale }
        };
        sites.iter().map(marginal).collect()
    }

    fn describe(&self) -> &'static str {
        "independent normals (mean field)"
    }
}
