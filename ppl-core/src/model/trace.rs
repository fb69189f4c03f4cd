//! What a model leaves behind when it has run: its sites, and its log density as values of a graph.

use crate::base::{Error, Plain, Result, Shape, Source};
use crate::model::constraint::Constraint;
use crate::model::context::{Ctx, Model};
use crate::model::handler::Handler;
use crate::model::message::{Drawing, Given};
use crate::model::noise::NoiseKind;
use crate::model::plate::Plate;
use crate::model::stack::Layer;
use crate::op::{Graph, Input, Op, Var};
use crate::records::{Records, Schema};
use ndarray::ArrayD;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// What a site is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteKind {
    /// A latent value with a prior.
    Latent,
    /// A parameter without one.
    Param,
    /// An observation, of each record or of a public constant.
    Observed,
    /// A computed value with a name.
    Deterministic,
    /// A term of the log density; its value is the term, before mask and scale.
    Factor,
    /// A discrete latent value that was summed out; its value is its distribution given everything else,
    /// `[values, …batch]`.
    Marginalised,
}

impl fmt::Display for SiteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SiteKind::Latent => "a latent value",
            SiteKind::Param => "a parameter",
            SiteKind::Observed => "an observation",
            SiteKind::Deterministic => "a deterministic value",
            SiteKind::Factor => "a factor",
            SiteKind::Marginalised => "a discrete latent value that is summed out",
        })
    }
}

/// One statement of a model.
#[derive(Clone)]
#[non_exhaustive]
pub struct Site<'g> {
    /// Its full name, unique in the model.
    pub name: String,
    /// What it is.
    pub kind: SiteKind,
    /// Whether it stands inside `each_record`: each record has its own value, and its term belongs to the
    /// record.
    pub per_record: bool,
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
    /// Its term of the log density, masked, scaled and summed over the elements. None for a site whose term
    /// is in a sum over a discrete value.
    pub log_prob: Option<Var<'g>>,
    /// Log Jacobian of the mapping, if it has one.
    pub log_jacobian: Option<Var<'g>>,
    /// The plates it stands in, outermost first.
    pub plates: Vec<Plate>,
    /// Initial value of a parameter.
    pub initial: Option<ArrayD<f64>>,
    /// The line of the model.
    pub source_line: Source,
    /// What `log_prob` is the sum of, of the batch shape.
    pub(crate) elements: Option<Var<'g>>,
}

impl fmt::Debug for Site<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            kind,
            per_record,
            distribution,
            shape,
            support,
            value,
            unconstrained,
            log_prob,
            log_jacobian,
            plates,
            initial,
            source_line,
            elements,
        } = self;
        f.debug_struct("Site")
            .field("name", name)
            .field("kind", kind)
            .field("per_record", per_record)
            .field("distribution", distribution)
            .field("shape", shape)
            .field("support", support)
            .field("value", value)
            .field("unconstrained", unconstrained)
            .field("log_prob", log_prob)
            .field("log_jacobian", log_jacobian)
            .field("plates", plates)
            .field("initial", &initial.as_ref().map(Plain))
            .field("source_line", source_line)
            .field("elements", elements)
            .finish()
    }
}

/// An input of standard noise that a site is drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoiseInput {
    /// Name of the input.
    pub name: String,
    /// What it takes.
    pub kind: NoiseKind,
    /// Its shape (of one record's part, if it is per record).
    pub shape: Shape,
    /// Full name of the site.
    pub site: String,
    /// Whether it is a per-record input.
    pub per_record: bool,
    /// Whether the runner fills it from a key ([`handlers::seed`](crate::handlers::seed)), so that a reader
    /// of the key knows it.
    pub from_key: bool,
}

/// Inputs of one site that the runner of the program has to fill.
#[derive(Clone, Debug)]
pub(crate) struct Filling {
    pub(crate) noise: Vec<NoiseInput>,
    pub(crate) drawing: Drawing,
    pub(crate) given: Option<Given>,
}

/// The sites of a model that has run, in order.
#[derive(Clone, Debug)]
pub struct Trace<'g> {
    graph: &'g Graph,
    sites: Vec<Site<'g>>,
    /// Where each site is, by its name.
    places: Arc<HashMap<String, usize>>,
    fillings: Vec<Filling>,
}

/// Runs a model on symbolic values, with a handler outermost:
/// [`Unconstrained`](crate::handlers::Unconstrained) makes latent sites inputs. Anything that is no error in
/// a model without handlers goes with `()`, which does nothing.
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
    outermost: impl Handler<'g> + 'g,
) -> Result<Trace<'g>> {
    run(&|ctx| model.run(ctx), graph, schema, Rc::new(Layer::new(outermost)))
}

/// [`trace`], compiled once for all models and handlers.
fn run<'g>(
    model: &dyn Fn(&mut Ctx<'g>) -> Result<()>,
    graph: &'g Graph,
    schema: &'g Schema,
    outermost: Rc<Layer<'g>>,
) -> Result<Trace<'g>> {
    let mut ctx = Ctx::new(graph, schema);
    ctx.with_layer(&outermost, model)?;
    graph.check()?;
    let (sites, fillings) = ctx.into_parts();
    let places = sites.iter().enumerate().map(|(place, site)| (site.name.clone(), place)).collect();
    Ok(Trace { graph, sites, places: Arc::new(places), fillings })
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

    /// The site of this name.
    #[must_use]
    pub fn site(&self, name: &str) -> Option<&Site<'g>> {
        self.places.get(name).map(|&place| &self.sites[place])
    }

    /// The latent sites and parameters that all records share.
    pub fn latents(&self) -> impl Iterator<Item = &Site<'g>> {
        let latent = |site: &&Site<'g>| matches!(site.kind, SiteKind::Latent | SiteKind::Param);
        self.sites.iter().filter(latent).filter(|site| !site.per_record)
    }

    /// The latent sites of which each record has its own.
    pub fn record_latents(&self) -> impl Iterator<Item = &Site<'g>> {
        self.sites.iter().filter(|site| site.kind == SiteKind::Latent && site.per_record)
    }

    /// The inputs of standard noise that sites are drawn from, those of hidden sites among them.
    pub fn noise(&self) -> impl Iterator<Item = &NoiseInput> {
        self.fillings.iter().flat_map(|filling| &filling.noise)
    }

    /// Names of the inputs that only [`simulate`](crate::simulate) and [`Predictive`](crate::Predictive)
    /// fill: noise of sites that are drawn, and values given for each record. Code that runs the program
    /// otherwise has to fill them, or to refuse the model.
    pub fn inputs_to_fill(&self) -> impl Iterator<Item = &str> {
        self.fillings.iter().flat_map(|filling| {
            let noise = filling.noise.iter().map(|input| input.name.as_str());
            noise.chain(filling.given.iter().map(|given| given.input.as_str()))
        })
    }

    pub(crate) fn fillings(&self) -> &[Filling] {
        &self.fillings
    }

    /// Log density of everything that stands outside `each_record`: priors, public observations and factors.
    /// No Jacobian.
    #[must_use]
    pub fn log_prior(&self) -> Var<'g> {
        let shared = self.sites.iter().filter(|site| !site.per_record);
        self.total(shared.filter_map(|site| site.log_prob))
    }

    /// Sum of the log Jacobians of all mapped latent sites that records share.
    #[must_use]
    pub fn log_jacobian(&self) -> Var<'g> {
        self.total(self.sites.iter().filter(|site| !site.per_record).filter_map(|site| site.log_jacobian))
    }

    /// Log-likelihood of one record given all latent values, its own among them: the sum over observations,
    /// factors and sums over discrete values inside `each_record`; `None` if there are none.
    #[must_use]
    pub fn record_log_likelihood(&self) -> Option<Var<'g>> {
        self.record_terms(|kind| kind != SiteKind::Latent)
    }

    /// Everything that stands inside `each_record`: the log-likelihood of one record and the prior of its own
    /// latent values; `None` if there is nothing. No Jacobian.
    #[must_use]
    pub fn record_log_density(&self) -> Option<Var<'g>> {
        self.record_terms(|_| true)
    }

    /// Sum of the log Jacobians of one record's own latent sites.
    #[must_use]
    pub fn record_log_jacobian(&self) -> Option<Var<'g>> {
        let own = self.sites.iter().filter(|site| site.per_record);
        own.filter_map(|site| site.log_jacobian).reduce(|sum, next| sum + next)
    }

    fn record_terms(&self, counts: impl Fn(SiteKind) -> bool) -> Option<Var<'g>> {
        let inside = self.sites.iter().filter(|site| site.per_record && counts(site.kind));
        inside.filter_map(|site| site.log_prob).reduce(|sum, next| sum + next)
    }

    fn total(&self, terms: impl Iterator<Item = Var<'g>>) -> Var<'g> {
        terms.reduce(|sum, next| sum + next).unwrap_or_else(|| self.graph.constant(0.0))
    }

    /// Checks that every observed column lies in its site's support.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] with the site, the record and the value. The message quotes the data: it is
    /// for the person who holds the records, and not private.
    pub fn check_observations(&self, records: &Records) -> Result<()> {
        for site in self.sites.iter().filter(|site| site.kind == SiteKind::Observed && site.per_record) {
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
