//! Posteriors and fits as JSON, and back.

use crate::error::{Error, Result};
use crate::guides::guide::{GuideSite, Marginal};
use crate::outcome::correction::linear_algebra::square;
use crate::outcome::correction::noise_aware::NoiseAware;
use crate::outcome::factors::{FactorDraws, FactorLaw};
use crate::outcome::fit::Fit;
use crate::outcome::posterior::{Posterior, Source};
use crate::outcome::simulation::{Simulation, each_draw};
use dp_sampler::Seed;
use ppl_core::{Constraint, Shape, SiteKind};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;

/// Most standard normals that a posterior's draw may be made from, to be written.
const MOST_NORMALS: usize = 4096;

/// Most elements of the sites of a posterior that is read.
const MOST_ELEMENTS: usize = 1 << 24;

/// A normal of the unconstrained values of all sites: mean, and what each standard normal adds to which element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JointNormal {
    /// Of all sites, one after the other.
    mean: Vec<f64>,
    /// For each standard normal the elements that it moves, and by how much.
    columns: Vec<Vec<(usize, f64)>>,
    /// Elements of each site.
    #[serde(skip)]
    sizes: Vec<usize>,
}

impl JointNormal {
    /// The normal that a guide's draws follow, if they are an affine function of standard normals.
    fn of(simulation: &Simulation, sites: &[(GuideSite, Option<Marginal>)]) -> Result<Self> {
        let normals = simulation.normals();
        if normals > MOST_NORMALS {
            let (what, requirement) =
                ("number of standard normals behind a posterior that is written", "at most 4096");
            return Err(Error::OutOfRange { what, requirement, value: normals as f64 });
        }
        let mut room = simulation.room();
        let mut at = |z: &[f64]| {
            let mut values = Vec::new();
            simulation.one(&mut room, z, 1.0, &|_| true, &mut |_, of_site: &[f64]| values.extend(of_site));
            values
        };
        let mut z = vec![0.0; normals];
        let mean: Vec<f64> = at(&z);
        let mut columns = Vec::with_capacity(normals);
        for number in 0..normals {
            z[number] = 1.0;
            let moved = at(&z).into_iter().zip(&mean).map(|(value, mean)| value - mean).enumerate();
            columns.push(moved.filter(|(_, by)| *by != 0.0).collect());
            z[number] = 0.0;
        }
        let sizes = sites.iter().map(|(site, _)| site.elements()).collect();
        let found = Self { mean, columns, sizes };
        // Tried where several normals play together.
        for probe in 0..3_u32 {
            z.iter_mut().enumerate().for_each(|(k, z)| *z = f64::from((k as u32 * 7 + probe * 3) % 5) - 1.7);
            let (expected, values) = (at(&z), found.values(&z, 1.0));
            let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-8 * (1.0 + x.abs() + y.abs());
            if !expected.iter().zip(&values).all(near) {
                return Err(Error::Json(
                    "the guide's draws are no affine function of standard normals; write its draws instead, \
                     with ppl_core::draws::export"
                        .to_owned(),
                ));
            }
        }
        Ok(found)
    }

    fn values(&self, normals: &[f64], sign: f64) -> Vec<f64> {
        let mut values = self.mean.clone();
        for (column, z) in self.columns.iter().zip(normals) {
            column.iter().for_each(|&(element, by)| values[element] += sign * z * by);
        }
        values
    }

    /// As [`Simulation::run`]: the same draws for the same seed, to within rounding.
    pub(super) fn run(
        &self,
        draws: usize,
        mirrored: bool,
        seed: &Seed,
        wanted: &dyn Fn(usize) -> bool,
        mut take: impl FnMut(usize, &[f64]),
    ) {
        each_draw(draws, mirrored, seed, self.columns.len(), |normals, sign| {
            let values = self.values(normals, sign);
            let mut at = 0;
            for (site, size) in self.sizes.iter().enumerate() {
                if wanted(site) {
                    take(site, &values[at..at + size]);
                }
                at += size;
            }
        });
    }

    /// Whether it is a finite normal of these elements.
    fn is_sound(&self, elements: usize) -> bool {
        let inside = |(element, by): &(usize, f64)| *element < elements && by.is_finite();
        self.mean.len() == elements
            && self.columns.len() <= MOST_NORMALS
            && self.mean.iter().all(|x| x.is_finite())
            && self.columns.iter().flatten().all(inside)
    }
}

/// A set, with its bounds where it has some.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSet {
    set: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bounds: Vec<f64>,
}

impl WrittenSet {
    fn of(set: Constraint) -> Self {
        let text = format!("{set:?}");
        let name = text.split('(').next().unwrap_or_default().to_owned();
        let bounds = match set {
            Constraint::GreaterThan(a)
            | Constraint::AtLeast(a)
            | Constraint::LessThan(a)
            | Constraint::AtMost(a)
            | Constraint::Counts(a) => vec![a],
            Constraint::Interval(a, b) | Constraint::IntegerInterval(a, b) => vec![a, b],
            _ => Vec::new(),
        };
        Self { set: name, bounds }
    }

    fn read(&self) -> Option<Constraint> {
        if self.bounds.iter().any(|bound| !bound.is_finite()) {
            return None;
        }
        match (self.set.as_str(), self.bounds.as_slice()) {
            ("GreaterThan", [a]) => Some(Constraint::GreaterThan(*a)),
            ("AtLeast", [a]) => Some(Constraint::AtLeast(*a)),
            ("LessThan", [a]) => Some(Constraint::LessThan(*a)),
            ("AtMost", [a]) => Some(Constraint::AtMost(*a)),
            ("Counts", [a]) => Some(Constraint::Counts(*a)),
            ("Interval", [a, b]) if a < b => Some(Constraint::Interval(*a, *b)),
            ("IntegerInterval", [a, b]) if a <= b => Some(Constraint::IntegerInterval(*a, *b)),
            (name, []) => Constraint::ALL.into_iter().find(|set| format!("{set:?}") == name),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSite {
    name: String,
    shape: Vec<usize>,
    support: WrittenSet,
    parameter: bool,
    /// Means and standard deviations of the unconstrained elements, where they have formulas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    normal: Option<(Vec<f64>, Vec<f64>)>,
}

/// As [`FactorLaw`], with matrices row by row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum WrittenLaw {
    Normal { loc: Vec<f64>, scale: Vec<f64> },
    Rows { loc: Vec<f64>, size: usize, factors: Vec<Vec<f64>> },
    Gamma { shape: Vec<f64>, rate: Vec<f64> },
    Beta { a: Vec<f64>, b: Vec<f64> },
    Dirichlet { concentration: Vec<f64>, categories: usize },
    Point { value: Vec<f64> },
}

impl WrittenLaw {
    fn of(law: &FactorLaw) -> Self {
        match law.clone() {
            FactorLaw::Normal { loc, scale } => Self::Normal { loc, scale },
            FactorLaw::Rows { loc, factors } => Self::Rows {
                loc,
                size: factors.first().map_or(1, nalgebra::DMatrix::nrows),
                factors: factors.iter().map(|factor| factor.transpose().as_slice().to_vec()).collect(),
            },
            FactorLaw::Gamma { shape, rate } => Self::Gamma { shape, rate },
            FactorLaw::Beta { a, b } => Self::Beta { a, b },
            FactorLaw::Dirichlet { concentration, categories } => {
                Self::Dirichlet { concentration, categories }
            }
            FactorLaw::Point { value } => Self::Point { value },
        }
    }

    /// The law of a site of so many elements; `None` where it is none.
    fn read(self, elements: usize) -> Option<FactorLaw> {
        let finite = |x: &[f64]| x.len() == elements && x.iter().all(|x| x.is_finite());
        let positive = |x: &[f64]| finite(x) && x.iter().all(|x| *x > 0.0);
        match self {
            Self::Normal { loc, scale } => {
                (finite(&loc) && positive(&scale)).then_some(FactorLaw::Normal { loc, scale })
            }
            Self::Rows { loc, size, factors } => {
                let whole = |factor: &Vec<f64>| {
                    Some(factor.len()) == size.checked_mul(size) && factor.iter().all(|x| x.is_finite())
                };
                let sound = finite(&loc)
                    && size > 0
                    && elements.is_multiple_of(size)
                    && !factors.is_empty()
                    && factors.iter().all(whole);
                sound.then(|| FactorLaw::Rows {
                    loc,
                    factors: factors.iter().map(|factor| square(factor, size)).collect(),
                })
            }
            Self::Gamma { shape, rate } => {
                (positive(&shape) && positive(&rate)).then_some(FactorLaw::Gamma { shape, rate })
            }
            Self::Beta { a, b } => (positive(&a) && positive(&b)).then_some(FactorLaw::Beta { a, b }),
            Self::Dirichlet { concentration, categories } => {
                let sound = positive(&concentration) && categories > 0 && elements.is_multiple_of(categories);
                sound.then_some(FactorLaw::Dirichlet { concentration, categories })
            }
            Self::Point { value } => finite(&value).then_some(FactorLaw::Point { value }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenSource {
    Normal(JointNormal),
    Factors(Vec<WrittenLaw>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WrittenPosterior {
    sites: Vec<WrittenSite>,
    source: WrittenSource,
}

impl WrittenPosterior {
    fn of(posterior: &Posterior) -> Result<Self> {
        let site = |(site, marginal): &(GuideSite, Option<Marginal>)| WrittenSite {
            name: site.name.clone(),
            shape: site.shape.dims().to_vec(),
            support: WrittenSet::of(site.support),
            parameter: site.kind == SiteKind::Param,
            normal: marginal.as_ref().map(|normal| (normal.loc.clone(), normal.scale.clone())),
        };
        let source = match &*posterior.simulation {
            Source::Guide(simulation) => {
                WrittenSource::Normal(JointNormal::of(simulation, &posterior.sites)?)
            }
            Source::Normal(normal) => WrittenSource::Normal(normal.clone()),
            Source::Factors(factors) => {
                WrittenSource::Factors(factors.0.iter().map(WrittenLaw::of).collect())
            }
        };
        Ok(Self { sites: posterior.sites.iter().map(site).collect(), source })
    }

    fn read(self) -> Result<Posterior> {
        let wrong = |what: &str| Error::Json(format!("a posterior: {what}"));
        let mut sites: Vec<(GuideSite, Option<Marginal>)> = Vec::with_capacity(self.sites.len());
        let mut all = 0_usize;
        for site in self.sites {
            let elements = site.shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
            all = elements
                .and_then(|elements| all.checked_add(elements))
                .filter(|all| *all <= MOST_ELEMENTS)
                .ok_or_else(|| wrong("its sites have more than 16,777,216 elements"))?;
            if sites.iter().any(|(other, _)| other.name == site.name) {
                return Err(wrong("two sites have one name"));
            }
            let support = site.support.read().ok_or_else(|| wrong("a site has a set that is not known"))?;
            let kind = if site.parameter { SiteKind::Param } else { SiteKind::Latent };
            let found = GuideSite::new(site.name, Shape::from(site.shape), support, kind)?;
            let marginal = match site.normal {
                None => None,
                Some((loc, scale)) => {
                    let fits = loc.len() == found.elements()
                        && scale.len() == loc.len()
                        && loc.iter().all(|x| x.is_finite())
                        && scale.iter().all(|x| *x >= 0.0 && x.is_finite());
                    Some(
                        fits.then_some(Marginal { loc, scale })
                            .ok_or_else(|| wrong("a site's normal is none"))?,
                    )
                }
            };
            sites.push((found, marginal));
        }
        let simulation = match self.source {
            WrittenSource::Normal(mut normal) => {
                normal.sizes = sites.iter().map(|(site, _)| site.elements()).collect();
                if !normal.is_sound(normal.sizes.iter().sum()) {
                    return Err(wrong("its normal does not go with its sites"));
                }
                Source::Normal(normal)
            }
            WrittenSource::Factors(laws) => {
                if laws.len() != sites.len() {
                    return Err(wrong("it has not one factor for each site"));
                }
                let laws = laws.into_iter().zip(&sites).map(|(law, (site, _))| {
                    law.read(site.shape.elements()).ok_or_else(|| wrong("a factor does not go with its site"))
                });
                Source::Factors(FactorDraws::new(laws.collect::<Result<_>>()?))
            }
        };
        Ok(Posterior { sites: sites.into(), simulation: Arc::new(simulation) })
    }
}

/// What every file begins with.
#[derive(Serialize, Deserialize)]
struct Document<T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    content: T,
}

const POSTERIOR: &str = "dp-vi posterior";
const FIT: &str = "dp-vi fit";

fn write<T: Serialize>(format: &str, content: T) -> Result<String> {
    let document = Document { format: format.to_owned(), version: VERSION, content };
    serde_json::to_string(&document).map_err(|error| Error::Json(error.to_string()))
}

fn read<T: for<'de> Deserialize<'de>>(format: &str, text: &str) -> Result<T> {
    let wrong = |reason: String| Error::Json(format!("not a {format}: {reason}"));
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if value["format"] != format {
        return Err(wrong("it does not say that it is one".to_owned()));
    }
    match value["version"].as_u64() {
        Some(version) if version == u64::from(VERSION) => {}
        Some(version) if version > u64::from(VERSION) => {
            return Err(wrong(format!(
                "it is of version {version}, and this library reads up to {VERSION}; take a newer one"
            )));
        }
        _ => return Err(wrong("it has no version that is known".to_owned())),
    }
    let document: Document<T> = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
    Ok(document.content)
}

impl Posterior {
    /// The posterior as JSON, with the version of the format; needs the feature `json`.
    ///
    /// Written are the sites and either one normal of all unconstrained values, with correlations, or the factors of a
    /// conjugate fit. [`from_json`](Self::from_json) reads a posterior with the same draws for the same seed, to
    /// within rounding.
    ///
    /// # Privacy
    /// As the posterior itself: after a private fit it is released.
    ///
    /// # Errors
    /// For guides whose draws are no affine function of standard normals (some that are written by hand), and for
    /// draws that are made from more than 4,096 of them.
    ///
    /// ```
    /// # use dp_sampler::Seed;
    /// # use dp_vi::guides::AutoMultivariateNormal;
    /// # use dp_vi::{DpVi, Posterior, Sensitive};
    /// # use ppl_core::{Ctx, Records};
    /// # use ppl_distributions::Normal;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    /// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// # }
    /// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    /// let fit = DpVi::new(model, AutoMultivariateNormal::new()).without_privacy().steps(50).fit(&records)?;
    /// let text = fit.posterior().to_json()?;
    /// let again = Posterior::from_json(&text)?;
    /// assert_eq!(again.interval("mean", 0.9)?, fit.posterior().interval("mean", 0.9)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_json(&self) -> Result<String> {
        write(POSTERIOR, WrittenPosterior::of(self)?)
    }

    /// The posterior that [`to_json`](Self::to_json) wrote; needs the feature `json`.
    ///
    /// # Errors
    /// For everything else, and for files of a newer version.
    pub fn from_json(text: &str) -> Result<Self> {
        read::<WrittenPosterior>(POSTERIOR, text)?.read()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNoiseAware {
    sites: Vec<String>,
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct WrittenFit {
    posterior: WrittenPosterior,
    uncorrected: WrittenPosterior,
    noise_aware: Option<WrittenNoiseAware>,
    parameters: Vec<(String, Vec<f64>)>,
    privacy: serde_json::Value,
}

/// A fit that was read from a file: what had been released, and the privacy statement as it was written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StoredFit {
    /// As [`Fit::posterior`].
    pub posterior: Posterior,
    /// As [`Fit::uncorrected`].
    pub uncorrected: Posterior,
    /// As [`Fit::noise_aware`], without the shares.
    pub noise_aware: Option<NoiseAware>,
    /// As [`Fit::parameters`].
    pub parameters: Vec<(String, Vec<f64>)>,
    /// The statement as JSON: see [`PrivacyReport`](crate::PrivacyReport). The person who wrote the file may
    /// have written anything here.
    pub privacy: serde_json::Value,
}

impl Fit {
    /// The fit as JSON, with the version of the format; needs the feature `json`. [`StoredFit::from_json`] reads it.
    ///
    /// # Errors
    /// As [`Posterior::to_json`].
    pub fn to_json(&self) -> Result<String> {
        let noise_aware = self.noise_aware.as_ref().map(|found| WrittenNoiseAware {
            sites: found.sites.clone(),
            mean: found.mean.clone(),
            covariance: found.covariance.clone(),
        });
        write(
            FIT,
            WrittenFit {
                posterior: WrittenPosterior::of(&self.posterior)?,
                uncorrected: WrittenPosterior::of(&self.uncorrected)?,
                noise_aware,
                parameters: self.parameters.clone(),
                privacy: serde_json::to_value(&self.report)
                    .map_err(|error| Error::Json(error.to_string()))?,
            },
        )
    }
}

impl StoredFit {
    /// The fit that [`Fit::to_json`] wrote; needs the feature `json`.
    ///
    /// # Errors
    /// For everything else, and for files of a newer version.
    pub fn from_json(text: &str) -> Result<Self> {
        let found: WrittenFit = read(FIT, text)?;
        let noise_aware = match found.noise_aware {
            None => None,
            Some(WrittenNoiseAware { sites, mean, covariance }) => {
                let fits = Some(covariance.len()) == mean.len().checked_mul(mean.len());
                if !(fits && mean.iter().chain(&covariance).all(|x| x.is_finite())) {
                    return Err(Error::Json("a fit: its covariance does not go with its mean".to_owned()));
                }
                Some(NoiseAware { sites, mean, covariance, point: None, shares: None, parts: Vec::new() })
            }
        };
        Ok(Self {
            posterior: found.posterior.read()?,
            uncorrected: found.uncorrected.read()?,
            noise_aware,
            parameters: found.parameters,
            privacy: found.privacy,
        })
    }
}

#[cfg(test)]
mod tests;
