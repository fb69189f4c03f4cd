//! A model run once on symbolic values: what of it the records touch, and what shape their terms have.

use crate::error::{Error, Result};
use crate::guides::guide::GuideSite;
use crate::objective::coordinates::{Coordinates, Located};
use crate::objective::exchangeable::exchangeable_parts;
use crate::objective::initial::prior_medians;
use ppl_core::handlers::Handler;
use ppl_core::model::{NoiseInput, Site};
use ppl_core::transform::{LinearPredictor, ScalarPredictor, linear_predictor, scalar_predictor};
use ppl_core::{
    Constraint, Graph, Message, Model, NoiseKind, Program, RecordGradient, Schema, SiteKind, Trace,
    Unconstrained, Var, trace,
};
use std::sync::Arc;

/// Names the inputs of a model's second run, at the mirrored draw.
pub(crate) struct Mirrored;

impl Mirrored {
    pub(crate) fn input_name(site: &str) -> String {
        format!("mirrored/{site}")
    }
}

impl<'g> Handler<'g> for Mirrored {
    fn process(&self, message: &mut Message<'g>) -> ppl_core::Result<()> {
        // What comes back without having been given a value is a function of another site, which passes by itself.
        if !message.wants_value() || message.enumerable || message.fix_bounds()? {
            return Ok(());
        }
        let support = message.support();
        let shape = support.unconstrained_shape(&message.shape()?)?;
        let input = message.graph().input(Self::input_name(&message.name), shape)?;
        // A value that is given has no unconstrained one until it is said.
        message.give(support.constrain(input))?;
        message.unconstrained = Some(input);
        Ok(())
    }
}

/// A model's trace, and where records meet shared values.
pub(crate) struct Traced<'g> {
    pub(crate) trace: Trace<'g>,
    /// Latent sites and parameters, in the order of the model.
    pub(crate) sites: Vec<GuideSite>,
    /// Their unconstrained values.
    pub(crate) inputs: Vec<Var<'g>>,
    pub(crate) log_likelihood: Var<'g>,
    /// For each site, whether records touch it.
    pub(crate) touched: Vec<bool>,
    /// Per-record inputs of standard normals, to be drawn anew at every step.
    pub(crate) record_noise: Vec<String>,
}

/// Whether an input takes the noise of records' own latent values.
fn fresh(input: &NoiseInput) -> bool {
    input.per_record && !input.from_key && input.kind == NoiseKind::StandardNormal
}

/// What `fit_public` says of a model that has records.
const HAS_RECORDS: Error = Error::Conflict(
    "fit_public is for models without each_record, and this model speaks of records: fit it with .fit(&records), what it observes outside \
     each_record goes along",
);

/// A model's trace, the sites that are to be inferred, and their unconstrained values.
struct Open<'g> {
    trace: Trace<'g>,
    sites: Vec<GuideSite>,
    inputs: Vec<Var<'g>>,
    record_noise: Vec<String>,
}

impl<'g> Open<'g> {
    fn new(
        model: &dyn Model,
        (graph, schema): (&'g Graph, &'g Schema),
        coordinates: Option<&Arc<Coordinates>>,
    ) -> Result<Self> {
        let trace = match coordinates {
            None => trace(model, graph, schema, Unconstrained)?,
            Some(coordinates) => {
                trace(model, graph, schema, Located::new(coordinates.clone(), Unconstrained::input_name))?
            }
        };
        if let Some(site) = trace.record_latents().next() {
            let problem = format!(
                "have no values for '{}', a latent value inside the record plate ({}); they cover values that all records share: \
                 give the record's own values a guide that sees the record (Amortised), or sum the value out (ctx.enumerate, if it is \
                 discrete)",
                site.name, site.source_line
            );
            return Err(Error::Guide { guide: "guides of shared values", problem });
        }
        let record_noise: Vec<String> =
            trace.noise().filter(|input| fresh(input)).map(|input| input.name.clone()).collect();
        if let Some(input) =
            trace.inputs_to_fill().find(|&input| !record_noise.iter().any(|known| known == input))
        {
            return Err(Error::Model(ppl_core::Error::Unsupported(format!(
                "a model that draws shared values itself, is given values for each record, or draws records' values from other noise than \
                 standard normals (input '{input}'); take seed and such conditions away for inference"
            ))));
        }
        // One that was given a value has nothing to be inferred.
        let open = || trace.latents().filter(|site| site.unconstrained.is_some());
        let sites = open().map(guide_site).collect::<Result<_>>()?;
        let inputs: Vec<_> = open().filter_map(|site| site.unconstrained).collect();
        Ok(Self { trace, sites, inputs, record_noise })
    }
}

impl<'g> Traced<'g> {
    pub(crate) fn new(model: &dyn Model, graph: &'g Graph, schema: &'g Schema) -> Result<Self> {
        Self::located(model, (graph, schema), None)
    }

    /// The same with inputs that are coordinates.
    pub(crate) fn located(
        model: &dyn Model,
        (graph, schema): (&'g Graph, &'g Schema),
        coordinates: Option<&Arc<Coordinates>>,
    ) -> Result<Self> {
        let Open { trace, sites, inputs, record_noise } = Open::new(model, (graph, schema), coordinates)?;
        let Some(log_likelihood) = trace.record_log_likelihood() else {
            return Err(Error::NothingToInfer(
                "observes nothing inside each_record; one of public data alone is fitted with fit_public",
            ));
        };
        // Only arrays that records touch: noise on the others would be wasted.
        let everything = RecordGradient::<f64>::new(log_likelihood, &inputs)?;
        let touched: Vec<bool> = (0..inputs.len()).map(|site| everything.is_touched(site)).collect();
        let traced = Self { trace, sites, inputs, log_likelihood, touched, record_noise };
        if traced.frontier_elements() == 0 {
            return Err(Error::NothingToInfer("has no latent value or parameter that the records depend on"));
        }
        Ok(traced)
    }

    /// A model without records: its likelihood is zero, and what it observes belongs to the prior. No site is
    /// touched by records.
    pub(crate) fn public(model: &dyn Model, graph: &'g Graph, no_columns: &'g Schema) -> Result<Self> {
        let Open { trace, sites, inputs, record_noise } = Open::new(model, (graph, no_columns), None)
            .map_err(|error| match error {
                Error::Model(ppl_core::Error::UnknownColumn { .. }) => HAS_RECORDS,
                other => other,
            })?;
        if trace.sites().iter().any(|site| site.per_record) {
            return Err(HAS_RECORDS);
        }
        if inputs.is_empty() {
            return Err(Error::NothingToInfer("has no latent value or parameter"));
        }
        let says = |site: &Site<'_>| matches!(site.kind, SiteKind::Observed | SiteKind::Factor);
        if !trace.sites().iter().any(says) {
            return Err(Error::NothingToInfer(
                "observes nothing and has no factor, so its posterior is its prior: draw from that with Predictive::prior",
            ));
        }
        let (log_likelihood, touched) = (graph.constant(0.0), vec![false; inputs.len()]);
        Ok(Self { trace, sites, inputs, log_likelihood, touched, record_noise })
    }

    /// What holds of touched sites, in order.
    fn of_touched<'a, T>(&'a self, all: &'a [T]) -> impl Iterator<Item = &'a T> {
        all.iter().zip(&self.touched).filter_map(|(each, touched)| touched.then_some(each))
    }

    /// The unconstrained values at which records meet shared values.
    pub(crate) fn frontier(&self) -> Vec<Var<'g>> {
        self.of_touched(&self.inputs).copied().collect()
    }

    /// Numbers of elements of the frontier's arrays.
    pub(crate) fn frontier_sizes(&self) -> Vec<usize> {
        self.of_touched(&self.sites).map(GuideSite::elements).collect()
    }

    /// `D`
    pub(crate) fn frontier_elements(&self) -> usize {
        self.frontier_sizes().iter().sum()
    }

    /// The number that the likelihood depends on shared values through and that is linear in them, if there is one.
    pub(crate) fn predictor(&self) -> Result<Option<ScalarPredictor<'g>>> {
        Ok(scalar_predictor(self.log_likelihood, &self.frontier())?)
    }

    /// The likelihood as a generalised linear term, if it is one.
    pub(crate) fn linear(&self) -> Result<Option<LinearPredictor<'g>>> {
        Ok(linear_predictor(self.log_likelihood, &self.frontier())?)
    }

    /// Names of the columns that the likelihood reads.
    pub(crate) fn columns(&self) -> Result<Vec<String>> {
        let program = Program::new(self.log_likelihood.graph(), &[self.log_likelihood])?;
        Ok(program.columns().into_iter().map(str::to_owned).collect())
    }

    /// Whether all that a record has to say is one Bernoulli outcome: then the other outcome has the same
    /// term with `−v`, and nothing else of the likelihood is a softplus.
    pub(crate) fn is_bernoulli(&self) -> bool {
        let own = |site: &&Site<'_>| site.per_record && site.log_prob.is_some();
        let mut terms = self.trace.sites().iter().filter(own);
        let only = terms.next().filter(|_| terms.next().is_none());
        only.is_some_and(|site| {
            site.kind == SiteKind::Observed
                && site.distribution == Some("Bernoulli")
                && site.shape.elements() == 1
        })
    }
}

/// What a guide needs to know of a site.
fn guide_site(site: &Site<'_>) -> Result<GuideSite> {
    let mut known = GuideSite::new(&site.name, site.shape.clone(), site.support, site.kind)?;
    if let Some(initial) = &site.initial {
        known.initial = Some(known.unconstrain(initial, "initial value")?);
    }
    Ok(known)
}

/// What a plan needs to know of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Survey {
    /// Elements of the frontier, for one draw.
    pub(crate) elements: usize,
    /// Whether the likelihood is a generalised linear term.
    pub(crate) is_linear: bool,
    /// Whether it depends on shared values through one number that is linear in them, where that was looked for.
    pub(crate) has_predictor: bool,
    /// Whether it is that of one Bernoulli.
    pub(crate) is_bernoulli: bool,
    /// Whether every site is latent, real, and touched by the records.
    pub(crate) is_plain: bool,
    /// Whether records have latent values of their own.
    pub(crate) draws_for_records: bool,
    /// Elements of all latent values; `None` where there are parameters, or latent values of records.
    pub(crate) all_latent: Option<usize>,
    /// Whether values may be looked for in coordinates, as far as the guide is concerned.
    pub(crate) takes_coordinates: bool,
    /// How many numbers of a record the likelihood reads.
    pub(crate) numbers: usize,
    /// How many parts are exchangeable, so that a start where they are equal would leave them so. `None` where that
    /// could not be found out.
    pub(crate) exchangeable: Option<usize>,
}

impl Survey {
    /// `starts_anywhere`: whether it is open where values start. If not, parts that are exchangeable do not
    /// matter, and are not looked for.
    pub(crate) fn new(model: &dyn Model, schema: &Schema, starts_anywhere: bool) -> Result<Self> {
        let graph = Graph::new();
        let traced = Traced::new(model, &graph, schema)?;
        let plain = |(site, touched): (&GuideSite, &bool)| {
            *touched && site.kind != SiteKind::Param && site.support == Constraint::Real
        };
        let linear = traced.linear()?;
        let shared = traced.record_noise.is_empty();
        let latent = traced.sites.iter().all(|site| site.kind != SiteKind::Param);
        Ok(Self {
            elements: traced.frontier_elements(),
            draws_for_records: !shared,
            all_latent: (shared && latent).then(|| traced.sites.iter().map(GuideSite::elements).sum()),
            is_linear: linear.is_some(),
            has_predictor: false,
            takes_coordinates: false,
            is_bernoulli: linear.as_ref().is_some_and(|term| term.softplus.is_some())
                && traced.is_bernoulli(),
            is_plain: traced.sites.iter().zip(&traced.touched).all(plain),
            numbers: traced
                .columns()?
                .iter()
                .map(|name| Ok(schema.find(name)?.1.elements()))
                .sum::<Result<_>>()?,
            exchangeable: match linear {
                Some(_) => Some(0),
                None if !starts_anywhere => Some(0),
                // Points to start from are made around the prior's medians.
                None => exchangeable_parts(model, schema)
                    .map(|groups| groups.iter().map(Vec::len).sum())
                    .filter(|&parts| parts == 0 || prior_medians(model, schema, &traced.sites).is_ok()),
            },
        })
    }

    /// The same, with whether there is a number that the likelihood depends on shared values through.
    pub(crate) fn with_predictor(self, model: &dyn Model, schema: &Schema) -> Result<Self> {
        let graph = Graph::new();
        let has_predictor = Traced::new(model, &graph, schema)?.predictor()?.is_some();
        Ok(Self { has_predictor, ..self })
    }
}
