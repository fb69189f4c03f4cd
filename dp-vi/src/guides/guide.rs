//! What a guide is: a family of distributions that a posterior is approximated by.

use crate::error::{Error, Result};
use crate::optimiser::ParameterLayout;
use crate::optimiser::RelativeFactors;
use ndarray::ArrayD;
use ppl_core::{Constraint, Graph, Noise, Schema, Shape, SiteKind, Trace, Var};

/// What a guide needs to know of a latent site or parameter of the model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GuideSite {
    /// Its name.
    pub name: String,
    /// Shape of its value.
    pub shape: Shape,
    /// Shape of the unconstrained array that its value is mapped from; another one for sets of vectors and
    /// matrices.
    pub unconstrained_shape: Shape,
    /// Where its value lies.
    pub support: Constraint,
    /// Latent value or parameter.
    pub kind: SiteKind,
    /// Where to start, unconstrained; `None` for a latent value without a given start.
    pub initial: Option<ArrayD<f64>>,
}

impl GuideSite {
    /// A site without a given start.
    ///
    /// # Errors
    /// If no value of the set has this shape.
    pub fn new(name: impl Into<String>, shape: Shape, support: Constraint, kind: SiteKind) -> Result<Self> {
        let name = name.into();
        let unconstrained_shape =
            support.unconstrained_shape(&shape).map_err(|error| error.at_site(&name))?;
        Ok(Self { name, shape, unconstrained_shape, support, kind, initial: None })
    }

    /// The number of unconstrained elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.unconstrained_shape.elements()
    }

    /// The unconstrained array of a value, which must have the site's shape and lie inside its support.
    ///
    /// # Errors
    /// If it does not, or lies on the boundary, which no unconstrained number is mapped to. `what` says in
    /// words what the value is.
    pub(crate) fn unconstrain(&self, value: &ArrayD<f64>, what: &str) -> Result<ArrayD<f64>> {
        if value.shape() != self.shape.dims() {
            let told =
                format!("the {what} has shape {}, the site {}", Shape::from(value.shape()), self.shape);
            return Err(ppl_core::Error::Values(told).at_site(&self.name).into());
        }
        let outside = |value: f64| ppl_core::Error::OutsideSupport {
            site: self.name.clone(),
            value,
            place: format!(" ({what})"),
            support: self.support.to_string(),
        };
        let numbers: Vec<f64> = value.iter().copied().collect();
        if let Some((_, number)) = self.support.violation(&numbers, &self.shape) {
            return Err(outside(number).into());
        }
        let unconstrained = self.support.unconstrain_array(value)?;
        if unconstrained.iter().all(|u| u.is_finite()) {
            return Ok(unconstrained);
        }
        let told = format!(
            "the {what} lies on the boundary of the support ({}), where no unconstrained number is mapped to: move it inside",
            self.support
        );
        Err(ppl_core::Error::Values(told).at_site(&self.name).into())
    }
}

/// What a guide is built for.
#[derive(Clone, Copy, Debug)]
pub struct GuideTarget<'a, 'g> {
    /// The latent sites and parameters to serve.
    pub sites: &'a [GuideSite],
    /// What is known of the records: names and shapes of the columns.
    pub schema: &'g Schema,
    model: &'a Trace<'a>,
}

impl<'a, 'g> GuideTarget<'a, 'g> {
    pub(crate) fn new(sites: &'a [GuideSite], schema: &'g Schema, model: &'a Trace<'a>) -> Self {
        Self { sites, schema, model }
    }

    /// The same model with these of its sites, for guides that are made of several.
    #[must_use]
    pub fn with_sites<'b>(self, sites: &'b [GuideSite]) -> GuideTarget<'b, 'g>
    where
        'a: 'b,
    {
        GuideTarget { sites, ..self }
    }

    /// Checks that a guide, traced as a model of its own, samples just the latent ones of these sites.
    ///
    /// # Errors
    /// [`ppl_core::Error::Guide`], which names the site and says what to do.
    pub fn check_guide(&self, guide: &Trace<'_>) -> Result<()> {
        let covers = |name: &str| self.sites.iter().any(|site| site.name == name);
        Ok(self.model.check_guide_of(guide, covers)?)
    }
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
    /// Entropy of the distribution of the unconstrained latent values, as a function of the parameters; or a
    /// function of the draw whose mean it is, `−ln q(u)`. Its gradient is taken through the draw as well.
    pub entropy: Var<'g>,
}

impl<'g> GuideProgram<'g> {
    /// A program without parameters and values yet.
    #[must_use]
    pub fn new(graph: &'g Graph) -> Self {
        Self { parameters: Vec::new(), values: Vec::new(), entropy: graph.constant(0.0) }
    }

    /// Another parameter.
    ///
    /// # Errors
    /// If the shape is too large.
    pub fn parameter(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        initial: Vec<f64>,
    ) -> Result<Var<'g>> {
        let name = name.into();
        let var = self.entropy.graph().input(name.clone(), shape)?;
        self.parameters.push(GuideParameter { name, var, initial });
        Ok(var)
    }
}

/// A guide's parameters by name, as a run has found them.
#[derive(Clone, Copy, Debug)]
pub struct ParameterValues<'a> {
    layout: &'a ParameterLayout,
    values: &'a [f64],
}

impl<'a> ParameterValues<'a> {
    /// Parameters of this layout.
    ///
    /// # Errors
    /// If there are not as many numbers as the layout has.
    pub fn new(layout: &'a ParameterLayout, values: &'a [f64]) -> Result<Self> {
        match layout.elements() == values.len() {
            true => Ok(Self { layout, values }),
            false => Err(Error::OutOfRange {
                what: "number of parameters",
                requirement: "that of the layout",
                value: values.len() as f64,
            }),
        }
    }

    /// One parameter's numbers, row-major; none if there is no such parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> &'a [f64] {
        let found = self.layout.iter().find(|(parameter, _)| *parameter == name);
        found.and_then(|(_, range)| self.values.get(range)).unwrap_or(&[])
    }
}

/// The distribution of one site's unconstrained value, element by element: normal with these moments.
#[derive(Clone, Debug, PartialEq)]
pub struct Marginal {
    /// Means.
    pub loc: Vec<f64>,
    /// Standard deviations; zero for a parameter.
    pub scale: Vec<f64>,
}

impl Marginal {
    /// Values that are certain.
    #[must_use]
    pub fn point(loc: &[f64]) -> Self {
        Self { loc: loc.to_vec(), scale: vec![0.0; loc.len()] }
    }
}

/// Which normals a guide can be, over all latent values together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormalFamily {
    /// Independent ones.
    Independent,
    /// Those with any correlations.
    Correlated,
}

/// Names of the parameters of a guide whose standard deviations are made of two of them:
///
/// ```text
/// sd_i = e^log_scale_i · √(1 + Σ_j factors_ij²)        log_scale: n elements,  factors: [n, r], row by row
/// ```
///
/// Steps leave noise in the factors, which adds to every sum of squares, and the scales make up for it. A mean
/// of each parameter by itself would keep what makes up and lose what it makes up for, and come out too
/// narrow; so the variances `sd²` are averaged in the place of the scales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelativeScales {
    /// Name of the logarithms of scales.
    pub log_scale: String,
    /// The factors.
    pub factors: RelativeFactors,
}

/// A family of distributions over the unconstrained values of a model's sites.
///
/// A draw is a function of the parameters and of standard noise, so gradients flow through it. The noise is
/// normal, or uniform; of a mirrored pair of draws one has `z` or `u`, the other `−z` or `1 − u`, which is
/// noise of the same distribution: the mean over both is right for any guide.
///
/// There are [`AutoNormal`](crate::guides::AutoNormal),
/// [`AutoMultivariateNormal`](crate::guides::AutoMultivariateNormal),
/// [`AutoLowRankMultivariateNormal`](crate::guides::AutoLowRankMultivariateNormal),
/// [`AutoDelta`](crate::guides::AutoDelta) and [`AutoLaplace`](crate::guides::AutoLaplace), made from the
/// model; [`AutoGuideList`](crate::guides::AutoGuideList), which splits the sites between several; and
/// [`HandWritten`](crate::guides::HandWritten), a function like the model.
///
/// # Privacy
/// A guide is a public function of released values. It never sees a record.
pub trait Guide {
    /// Writes the guide into the graph of the noise.
    ///
    /// # Errors
    /// If it cannot serve one of the sites.
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>>;

    /// For each site, in order, the distribution of its unconstrained value under the optimised parameters,
    /// if it is normal element by element (whatever the correlations). `None`, as it stands for all sites
    /// here, means that it is found by simulation.
    fn marginals(&self, sites: &[GuideSite], _parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        vec![None; sites.len()]
    }

    /// Where the guide is a normal for all latent values, and can be any of a family: which. A run without
    /// privacy then goes on until it has converged, instead of for a number of steps.
    fn normal_family(&self) -> Option<NormalFamily> {
        None
    }

    /// The parameters, by name, with which the guide is the normal with this mean and this factor `L` of the
    /// covariance `L Lᵀ`, lower triangular with a positive diagonal, row by row; for
    /// [independent](NormalFamily::Independent) values it is diagonal.
    fn normal_parameters(
        &self,
        _sites: &[GuideSite],
        _mean: &[f64],
        _factor: &[f64],
    ) -> Vec<(String, Vec<f64>)> {
        Vec::new()
    }

    /// Where standard deviations are products of parameters, which: the tail average is taken of variances
    /// then. None, as it stands here, means that every parameter is averaged by itself.
    fn relative_scales(&self, _sites: &[GuideSite]) -> Vec<RelativeScales> {
        Vec::new()
    }

    /// Whether latent sites start where [`GuideSite::initial`] says.
    fn takes_initial(&self) -> bool {
        true
    }

    /// Whether the sites' values may be linear functions of what the guide draws, and its entropy stays right but for a
    /// constant: whether it takes unconstrained values for any numbers, and knows nothing of what they are mapped to.
    /// A private run may then look for coordinates of them; see [`DpVi::rough_fit`](crate::DpVi::rough_fit). No, as it
    /// stands here, for a guide may be written for the model's own values.
    fn takes_coordinates(&self) -> bool {
        false
    }

    /// Whether the posterior is a normal around where this guide ends, with the curvature there; see
    /// [`AutoLaplace`](crate::guides::AutoLaplace).
    fn wants_curvature(&self) -> bool {
        false
    }

    /// What the family is, in a few words.
    fn describe(&self) -> &'static str;
}

impl<G: Guide + ?Sized> Guide for Box<G> {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        (**self).build(target, noise)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        (**self).marginals(sites, parameters)
    }

    fn normal_family(&self) -> Option<NormalFamily> {
        (**self).normal_family()
    }

    fn normal_parameters(
        &self,
        sites: &[GuideSite],
        mean: &[f64],
        factor: &[f64],
    ) -> Vec<(String, Vec<f64>)> {
        (**self).normal_parameters(sites, mean, factor)
    }

    fn relative_scales(&self, sites: &[GuideSite]) -> Vec<RelativeScales> {
        (**self).relative_scales(sites)
    }

    fn takes_initial(&self) -> bool {
        (**self).takes_initial()
    }

    fn takes_coordinates(&self) -> bool {
        (**self).takes_coordinates()
    }

    fn wants_curvature(&self) -> bool {
        (**self).wants_curvature()
    }

    fn describe(&self) -> &'static str {
        (**self).describe()
    }
}
