//! Predictions: draws of a model's sites, a priori or at draws from a posterior.

use crate::base::{Error, Result};
use crate::draws::log_density::check_values;
use crate::draws::simulate::{Fill, Simulator, Values};
use crate::handlers::{Constrained, Handler, Seed, Uncondition};
use crate::machine::Scalar;
use crate::model::context::{Ctx, Model};
use crate::model::key::Key;
use crate::model::message::Message;
use crate::model::trace::{SiteKind, Trace, trace};
use crate::op::Graph;
use crate::records::{Records, Schema};
use ndarray::{Array1, Array2, ArrayD, Axis};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Draws that are computed before any is added up: it bounds the memory, and fixes the order of the sum.
const BLOCK: usize = 64;

/// Predictions of a model: values of its sites drawn from the prior, or at draws from a posterior.
///
/// | question | method |
/// |---|---|
/// | what data does the model expect? | [`prior`](Self::prior), then [`run`](Self::run) |
/// | what data does it expect after inference? | [`posterior`](Self::posterior), then [`run`](Self::run) |
/// | what would other records with these inputs be? | [`prior`](Self::prior) or [`posterior`](Self::posterior), then [`replicate`](Self::replicate) |
/// | how well does it predict each record? | [`posterior`](Self::posterior), then [`log_predictive_density`](Self::log_predictive_density) |
///
/// Draws of a posterior are arrays by name of the site, the first axis counting the draws. A latent site that
/// has none is drawn from its prior given the others, a site of each record among them, and a parameter takes
/// its initial value.
///
/// A draw's noise is a function of the key, the site's name, the draw's number and the record's, so results
/// depend neither on the number of threads nor on which other records there are.
///
/// NumPyro's `Predictive`, and `log_likelihood`.
///
/// # Privacy
/// Shared values at draws from a private posterior are post-processing, and free. Whatever is computed *for
/// records* is a function of these records: predictions from their features and densities of their outcomes
/// are as sensitive as they are, on training records above all.
///
/// ```
/// # use ndarray::array;
/// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Value, Var};
/// # struct Normal<'g>(Value<'g>, Value<'g>);
/// # impl<'g> Distribution<'g> for Normal<'g> {
/// #     fn name(&self) -> &'static str { "Normal" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> {
/// #         vec![Parameter { name: "loc", value: self.0, domain: Constraint::Real },
/// #              Parameter { name: "scale", value: self.1, domain: Constraint::Positive }]
/// #     }
/// #     fn support(&self) -> Constraint { Constraint::Real }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
/// #         let (loc, scale) = (self.0.on(x.graph()), self.1.on(x.graph()));
/// #         -0.5 * ((x - loc) / scale).square() - scale.log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
/// #     }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
/// #         Ok(self.0.on(noise.graph()) + self.1.on(noise.graph()) * z)
/// #     }
/// # }
/// use ppl_core::Predictive;
/// use std::collections::BTreeMap;
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let slope = ctx.sample("slope", Normal(0.0.into(), 10.0.into()))?;
///     ctx.each_record(|ctx, record| {
///         ctx.observe("y", Normal((slope * record.get("x")?).into(), 0.1.into()), record.get("y")?)
///     })
/// }
/// let draws = BTreeMap::from([("slope".to_owned(), array![1.9, 2.0, 2.1].into_dyn())]);
/// let records = Records::from_columns([("x", vec![1.0, 10.0]), ("y", vec![2.0, 20.0])])?;
/// let predicted = Predictive::posterior(&model, draws.clone())?.run(&records)?;
/// assert_eq!(predicted["y"].shape(), [3, 2]); // draws, records
/// let density = Predictive::posterior(&model, draws)?.log_predictive_density(&records)?;
/// assert!(density[0] > density[1]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub struct Predictive<'m, M: ?Sized> {
    pub(super) model: &'m M,
    pub(super) values: Values,
    pub(super) draws: usize,
    pub(super) key: Key,
    pub(super) only: Option<BTreeSet<String>>,
    pub(super) schema: Option<Arc<Schema>>,
}

/// Puts the posterior's draws in place: outermost but for the seed.
struct At {
    names: BTreeSet<String>,
}

impl<'g> Handler<'g> for At {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        if message.fix_bounds_if(|name| self.names.contains(name))? {
            return Ok(());
        }
        match message.wants_value() && self.names.contains(&message.name) {
            true => Constrained::make_input(message),
            false => Ok(()),
        }
    }

    fn expects(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }
}

impl<'m, M: Model + ?Sized> Predictive<'m, M> {
    /// This many draws from the prior.
    #[must_use]
    pub fn prior(model: &'m M, draws: usize) -> Self {
        Self { model, values: Values::new(), draws, key: Key::from(0), only: None, schema: None }
    }

    /// One prediction at each draw of a posterior. The arrays' first axes count the draws; that of a latent
    /// value of each record has an axis of the records next.
    ///
    /// # Errors
    /// If the arrays do not agree in the number of draws, or there is none.
    pub fn posterior(model: &'m M, draws: Values) -> Result<Self> {
        let mut counts = draws.iter().map(|(name, values)| (name, values.shape().first().copied()));
        let Some((first, Some(count))) = counts.next() else {
            let told = "draws of at least one site are needed, each with a first axis that counts them";
            return Err(Error::Values(told.to_owned()));
        };
        if let Some((name, got)) = counts.find(|(_, got)| *got != Some(count)) {
            let got = got.map_or("no axis that counts them".to_owned(), |got| got.to_string());
            return Err(Error::Values(format!("'{first}' has {count} draws, and '{name}' has {got}")));
        }
        Ok(Self { model, values: draws, draws: count, key: Key::from(0), only: None, schema: None })
    }

    /// Draws with this key; otherwise with key 0.
    #[must_use]
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = key.into();
        self
    }

    /// Predicts these sites only; otherwise all of the model's but parameters and factors, and but those
    /// whose draws were given.
    #[must_use]
    pub fn only<N: Into<String>>(mut self, sites: impl IntoIterator<Item = N>) -> Self {
        self.only = Some(sites.into_iter().map(Into::into).collect());
        self
    }

    /// Traces the model with the columns it was trained on. Records to predict for may then lack columns that
    /// the predictions do not read, such as the outcome itself.
    #[must_use]
    pub fn schema(mut self, schema: &Arc<Schema>) -> Self {
        self.schema = Some(Arc::clone(schema));
        self
    }

    /// The predictions, by name of the site: arrays of `[draws, …site]`, or of `[draws, records, …site]` for
    /// a site inside `each_record`.
    ///
    /// # Errors
    /// If draws were given for a site that the model does not have, or of another shape, or outside its
    /// support; if a site to predict is not the model's; if records lack a column that is read; if the model
    /// is wrong.
    pub fn run(&self, records: &Records) -> Result<Values> {
        let graph = Graph::new();
        let trace = self.trace(&graph, records, true)?;
        let unknown = self.only.iter().flatten().find(|name| trace.site(name).is_none());
        if let Some(name) = unknown {
            let known: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
            let told = format!("the model has no site '{name}' to predict; it has [{}]", known.join(", "));
            return Err(Error::Values(told));
        }
        let simulator = Simulator::of_sites(&trace, |site| match &self.only {
            Some(only) => only.contains(&site.name),
            None => {
                !self.values.contains_key(&site.name)
                    && !matches!(site.kind, SiteKind::Param | SiteKind::Factor)
            }
        })?;
        let records = self.arranged(records, &simulator)?;
        let all: Vec<usize> = (0..self.draws).collect();
        let draws = side_by_side(&simulator, &self.values, &records, &all)?;
        let mut outputs: Vec<Vec<f64>> = vec![Vec::new(); simulator.outputs()];
        for draw in draws {
            outputs.iter_mut().zip(draw).for_each(|(all, one)| all.extend(one));
        }
        Ok(simulator.named(outputs, &[self.draws], records.len()))
    }

    /// The log-likelihood of each record at each draw, `[draws, records]`: what WAIC and cross-validation by
    /// importance sampling start from. Latent values of each record are given, or drawn from their prior;
    /// those of [`Ctx::enumerate`] are summed out.
    ///
    /// # Errors
    /// As [`Predictive::run`], and if an observed column holds a value outside its site's support.
    pub fn log_likelihood(&self, records: &Records) -> Result<Array2<f64>> {
        let (simulator, records) = self.likelihood(records)?;
        let all: Vec<usize> = (0..self.draws).collect();
        let rows = side_by_side(&simulator, &self.values, &records, &all)?;
        let numbers: Vec<f64> = rows.into_iter().flatten().flatten().collect();
        Array2::from_shape_vec((self.draws, records.len()), numbers)
            .map_err(|error| Error::Values(error.to_string()))
    }

    /// The log predictive density of each record, `ln (1/S) Σ_s p(record | draw s)`, in nats. Its sum over
    /// held-back records tells models apart; that over the training records is optimistic, and not private.
    ///
    /// A latent value of each record that is not given is drawn once for each draw, so its part of the
    /// integral is a Monte Carlo estimate, and the logarithm of an average is on average too small.
    ///
    /// # Errors
    /// As [`Predictive::log_likelihood`], and if there is no draw.
    pub fn log_predictive_density(&self, records: &Records) -> Result<Array1<f64>> {
        if self.draws == 0 {
            return Err(Error::Values("a log predictive density needs at least one draw, got 0".to_owned()));
        }
        let (simulator, records) = self.likelihood(records)?;
        // The largest so far, and the sum of exponentials relative to it.
        let mut total = vec![(f64::NEG_INFINITY, 0.0); records.len()];
        let all: Vec<usize> = (0..self.draws).collect();
        for block in all.chunks(BLOCK) {
            for row in side_by_side(&simulator, &self.values, &records, block)?.iter().flatten() {
                total.iter_mut().zip(row).for_each(|(total, &x)| *total = add_exponential(*total, x));
            }
        }
        let count = (self.draws as f64).ln();
        Ok(total.into_iter().map(|(largest, sum)| largest + (sum.ln() - count)).collect())
    }

    fn likelihood<'r>(&self, records: &'r Records) -> Result<(Simulator, Cow<'r, Records>)> {
        let graph = Graph::new();
        let trace = self.trace(&graph, records, false)?;
        let simulator = Simulator::of_log_likelihood(&trace)?;
        let records = self.arranged(records, &simulator)?;
        trace.check_observations(&records)?;
        Ok((simulator, records))
    }

    /// The model with the draws in place, everything else drawn, and observations forgotten or kept.
    pub(super) fn trace<'g>(
        &'g self,
        graph: &'g Graph,
        records: &'g Records,
        forget: bool,
    ) -> Result<Trace<'g>> {
        let names: BTreeSet<String> = self.values.keys().cloned().collect();
        let schema = self.schema.as_ref().unwrap_or(records.schema());
        let model = |ctx: &mut Ctx<'_>| {
            ctx.with(At { names: names.clone() }, |ctx| match forget {
                true => ctx.with(Uncondition, |ctx| self.model.run(ctx)),
                false => self.model.run(ctx),
            })
        };
        let seed = Seed::new(self.key);
        let trace = trace(&model, graph, schema, if forget { seed } else { seed.summing_out() })?;
        for site in trace.latents().chain(trace.record_latents()) {
            if let Some(values) = self.values.get(&site.name) {
                let leading: &[usize] =
                    if site.per_record { &[self.draws, records.len()] } else { &[self.draws] };
                check_values(site, values, leading)?;
            }
        }
        Ok(trace)
    }

    /// The records with the columns that the model was traced with.
    pub(super) fn arranged<'r>(
        &self,
        records: &'r Records,
        simulator: &Simulator,
    ) -> Result<Cow<'r, Records>> {
        match &self.schema {
            Some(schema) if schema != records.schema() => {
                records.arranged(schema, simulator.columns()).map(Cow::Owned)
            }
            _ => Ok(Cow::Borrowed(records)),
        }
    }
}

/// Several runs, each alone, on as many threads as there are.
pub(super) fn side_by_side(
    simulator: &Simulator,
    values: &Values,
    records: &Records,
    draws: &[usize],
) -> Result<Vec<Vec<Vec<f64>>>> {
    let one = |simulator: &mut Simulator, &draw: &usize| {
        let at = |(name, values): (&String, &ArrayD<f64>)| {
            (Constrained::input_name(name), values.index_axis(Axis(0), draw).to_owned())
        };
        let values: Values = values.iter().map(at).collect();
        simulator.values(records, &Fill { values: &values, draw: draw as u64 })
    };
    draws.par_iter().map_init(|| simulator.clone(), one).collect()
}

/// `ln Σ e^x`, kept as the largest `x` and the sum of `e^(x − largest)`, with one more `x`.
fn add_exponential((largest, sum): (f64, f64), x: f64) -> (f64, f64) {
    if x == f64::NEG_INFINITY {
        (largest, sum)
    } else if x > largest {
        (x, sum * (largest - x).exponential() + 1.0)
    } else if x == largest {
        (largest, sum + 1.0)
    } else {
        (largest, sum + (x - largest).exponential())
    }
}
