//! What a model leaves behind when it has run: its sites, and its log density as values of a graph.

use crate::error::{Error, Result, Source};
use crate::graph::Graph;
use crate::model::constraint::Constraint;
use crate::model::context::{Ctx, Latent, LatentRequest, Latents, Model};
use crate::op::{Input, Op};
use crate::records::{Records, Schema};
use crate::shape::Shape;
use crate::var::Var;
use ndarray::ArrayD;

/// What a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteKind {
    /// A latent value with a prior.
    Latent,
    /// A parameter without one.
    Param,
    /// An observation, of each record or of a public constant.
    Observed {
        /// Whether each record has its own.
        per_record: bool,
    },
}

/// One statement of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Site<'g> {
    /// Its name, unique in the model.
    pub name: String,
    /// What it is.
    pub kind: SiteKind,
    /// Name of its distribution, if it has one.
    pub distribution: Option<&'static str>,
    /// Shape of its value (of one record's, if it is per record).
    pub shape: Shape,
    /// Where the value lies.
    pub support: Constraint,
    /// The value.
    pub value: Var<'g>,
    /// What the value was mapped from, if it was.
    pub unconstrained: Option<Var<'g>>,
    /// Its term of the log density, summed over the elements.
    pub log_prob: Option<Var<'g>>,
    /// Log Jacobian of the mapping, if it has one.
    pub log_jacobian: Option<Var<'g>>,
    /// Initial value of a parameter.
    pub initial: Option<ArrayD<f64>>,
    /// The line of the model.
    pub source_line: Source,
}

/// The sites of a model that has run, in order.
#[derive(Clone, Debug)]
pub struct Trace<'g> {
    graph: &'g Graph,
    sites: Vec<Site<'g>>,
}

/// Runs a model on symbolic values. `latents` says what the latent sites are.
///
/// ```
/// use ppl_core::{Ctx, Graph, Schema, Unconstrained, trace};
/// let model = |ctx: &mut Ctx<'_>| {
///     ctx.param("scale", 1.0, ppl_core::Constraint::Positive)?;
///     Ok(())
/// };
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let trace = trace(&model, &graph, &schema, Unconstrained)?;
/// assert_eq!(trace.sites()[0].name, "scale");
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// Whatever a statement of the model found wrong.
pub fn trace<'g>(
    model: &(impl Model + ?Sized),
    graph: &'g Graph,
    schema: &'g Schema,
    latents: impl Latents<'g> + 'g,
) -> Result<Trace<'g>> {
    let mut ctx = Ctx::new(graph, schema, Box::new(latents));
    model.run(&mut ctx)?;
    graph.check()?;
    Ok(Trace { graph, sites: ctx.into_sites() })
}

/// Makes every latent site an input of unconstrained numbers, named as [`Unconstrained::input_name`] says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconstrained;

impl Unconstrained {
    /// The name of the input of a site.
    #[must_use]
    pub fn input_name(site: &str) -> String {
        format!("unconstrained/{site}")
    }
}

impl<'g> Latents<'g> for Unconstrained {
    fn latent(&mut self, request: &LatentRequest<'g, '_>) -> Result<Latent<'g>> {
        if request.support.is_discrete() {
            let told = "a discrete latent value; sum it out inside the likelihood instead".to_owned();
            return Err(Error::Unsupported(told));
        }
        if request.support == Constraint::Dependent {
            let told = "a latent value whose bounds depend on other values; draw a standard one and move it: low + (high - low)·u";
            return Err(Error::Unsupported(told.to_owned()));
        }
        let shape = request.support.unconstrained_shape(request.shape)?;
        let input = request.graph.input(Self::input_name(request.name), shape)?;
        Ok(Latent {
            value: request.support.constrain(input),
            unconstrained: Some(input),
            log_jacobian: request.support.log_jacobian(input),
        })
    }
}

impl<'g> Trace<'g> {
    /// The graph the values live on.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// All sites, in the order of the model's statements.
    #[must_use]
    pub fn sites(&self) -> &[Site<'g>] {
        &self.sites
    }

    /// The latent sites and parameters: what inference is about.
    pub fn latents(&self) -> impl Iterator<Item = &Site<'g>> {
        self.sites.iter().filter(|site| matches!(site.kind, SiteKind::Latent | SiteKind::Param))
    }

    /// Log density of everything that depends on no record: priors and public observations. No Jacobian.
    #[must_use]
    pub fn log_prior(&self) -> Var<'g> {
        let shared = self.sites.iter().filter(|site| site.kind != SiteKind::Observed { per_record: true });
        self.total(shared.filter_map(|site| site.log_prob))
    }

    /// Sum of the log Jacobians of all mapped latent sites.
    #[must_use]
    pub fn log_jacobian(&self) -> Var<'g> {
        self.total(self.sites.iter().filter_map(|site| site.log_jacobian))
    }

    /// Log-likelihood of one record: the sum over the observations inside `each_record`; `None` if there are none.
    #[must_use]
    pub fn record_log_likelihood(&self) -> Option<Var<'g>> {
        let observed = self.sites.iter().filter(|site| site.kind == SiteKind::Observed { per_record: true });
        observed.filter_map(|site| site.log_prob).reduce(|sum, next| sum + next)
    }

    fn total(&self, terms: impl Iterator<Item = Var<'g>>) -> Var<'g> {
        terms.reduce(|sum, next| sum + next).unwrap_or_else(|| self.graph.constant(0.0))
    }

    /// Checks that every observed column lies in its site's support.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] with the site, the record and the value. The message quotes the data: it is for whoever
    /// holds the records, and not private.
    pub fn check_observations(&self, records: &Records) -> Result<()> {
        for site in self.sites.iter().filter(|site| site.kind == SiteKind::Observed { per_record: true }) {
            let Op::Input(Input::Column { index, name }) = self.graph.node(site.value.id()).op else {
                continue;
            };
            let width = site.shape.elements().max(1);
            let outside = match site.support.event_rank() {
                0 => records
                    .column(index)
                    .numbers()
                    .enumerate()
                    .find(|&(_, value)| !site.support.contains(value)),
                _ => {
                    let mut shape = vec![records.len()];
                    shape.extend_from_slice(site.shape.dims());
                    let values: Vec<f64> = records.column(index).numbers().collect();
                    site.support.violation(&values, &Shape::from(shape))
                }
            };
            if let Some((at, value)) = outside {
                return Err(Error::OutsideSupport {
                    site: site.name.clone(),
                    value,
                    place: format!(" (column '{name}', record {})", at / width),
                    support: site.support.to_string(),
                });
            }
        }
        Ok(())
    }
}
