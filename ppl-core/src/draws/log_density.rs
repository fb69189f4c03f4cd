//! The log density of a model at given values.

use crate::base::{Error, Plain, Result, Shape};
use crate::draws::simulate::{Fill, Simulator, Values};
use crate::handlers::{Constrained, Handler};
use crate::model::context::Model;
use crate::model::message::Message;
use crate::model::trace::{Site, trace};
use crate::op::Graph;
use crate::records::Records;
use ndarray::{Array1, ArrayD};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

/// A model's log density at given values of its latent sites.
#[derive(Clone, PartialEq)]
pub struct LogDensity {
    /// Everything outside `each_record`: priors, public observations and factors.
    pub prior: f64,
    /// Everything inside `each_record`, for each record: its log-likelihood, and the prior of latent values
    /// of its own.
    pub likelihood: Array1<f64>,
}

impl fmt::Debug for LogDensity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prior, likelihood } = self;
        f.debug_struct("LogDensity").field("prior", prior).field("likelihood", &Plain(likelihood)).finish()
    }
}

impl LogDensity {
    /// `ln p(values) + Σ_i ln p(record_i | values)`
    #[must_use]
    pub fn total(&self) -> f64 {
        self.prior + self.likelihood.sum()
    }
}

/// Makes latent sites inputs, those that can be summed out only if they are named.
pub(crate) struct AtValues {
    pub(crate) names: BTreeSet<String>,
}

impl<'g> Handler<'g> for AtValues {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        if message.fix_bounds_if(|name| self.names.contains(name))? {
            return Ok(());
        }
        let named = self.names.contains(&message.name);
        match message.wants_value() && (named || !message.enumerable) {
            true => Constrained::make_input(message),
            false => Ok(()),
        }
    }
}

/// Checks that values are those of a site: of its shape, with `leading` axes before, and in its support.
pub(crate) fn check_values(site: &Site<'_>, values: &ArrayD<f64>, leading: &[usize]) -> Result<()> {
    let expected: Vec<usize> = leading.iter().chain(site.shape.dims()).copied().collect();
    let got = Shape::from(values.shape());
    if got.dims() != expected {
        let needed = Shape::from(expected);
        let why = if leading.is_empty() {
            String::new()
        } else {
            format!(", {leading:?} before its own {}", site.shape)
        };
        return Err(
            Error::Values(format!("a value of shape {needed} is needed{why}, got {got}")).at_site(&site.name)
        );
    }
    let numbers: Vec<f64> = values.iter().copied().collect();
    if let Some((_, value)) = site.support.violation(&numbers, &got) {
        let (site, support) = (site.name.clone(), site.support.to_string());
        return Err(Error::OutsideSupport { site, value, place: String::new(), support });
    }
    Ok(())
}

/// The log density of `model` on `records`, with its latent sites and parameters at `values` (in their
/// supports).
///
/// ```text
/// ln p(θ, z, x) = ln p(θ) + Σ_i ln p(x_i, z_i | θ)
/// ```
///
/// A latent value of each record (`z_i`) takes an array with an axis more, the first, that counts the
/// records. Discrete sites of [`Ctx::enumerate`](crate::Ctx::enumerate) are summed out unless they are given
/// a value.
///
/// # Errors
/// If a value is missing, left over, of the wrong shape, or outside its support; if an observed column holds
/// a value outside its site's support (an observation computed from columns is not checked); or if the model
/// itself is wrong.
pub fn log_density(
    model: &(impl Model + ?Sized),
    records: &Records,
    values: &BTreeMap<String, ArrayD<f64>>,
) -> Result<LogDensity> {
    let (mut simulator, fill) = at_values(model, records, values, false)?;
    simulator.log_density(records, &Fill { values: &fill, draw: 0 })
}

/// `ln p(x_i | θ)` for each record, of a model in which that is a function of this record and of values that all records
/// share: what a bound on one record's part of a sum has to start from.
///
/// # Errors
/// As [`log_density`]; and if something is said of records by their place: latent values of records, which are given in
/// an order, observations that are given as an array for all records, values that a seed draws for each of them, and
/// other [per-record inputs](Graph::record_input). With another record before it a record would have other numbers
/// there.
pub fn record_log_likelihoods(
    model: &(impl Model + ?Sized),
    records: &Records,
    values: &BTreeMap<String, ArrayD<f64>>,
) -> Result<Array1<f64>> {
    let (mut simulator, fill) = at_values(model, records, values, true)?;
    Ok(simulator.log_density(records, &Fill { values: &fill, draw: 0 })?.likelihood)
}

/// What computes the log density, and what it is filled with. With `of_shared`, models that say something of records by
/// their place are refused, before anything is compared with how many records there are.
fn at_values(
    model: &(impl Model + ?Sized),
    records: &Records,
    values: &BTreeMap<String, ArrayD<f64>>,
    of_shared: bool,
) -> Result<(Simulator, Values)> {
    let graph = Graph::new();
    let names = values.keys().cloned().collect();
    let trace = trace(model, &graph, records.schema(), AtValues { names })?;
    let by_place = |what: &str| {
        Err(Error::Unsupported(format!(
            "a likelihood of each record by itself: the model has numbers for each record by its place ({what}); sum \
             records' own values out (ctx.enumerate), and take seeds and conditions away"
        )))
    };
    if let (true, Some(site)) = (of_shared, trace.record_latents().next()) {
        return by_place(&format!("values of '{}'", site.name));
    }
    let simulator = Simulator::of_log_density(&trace)?;
    if let (true, Some(input)) = (of_shared, simulator.record_inputs().next()) {
        return by_place(&format!("input '{input}'"));
    }
    let mut fill = Values::new();
    for site in trace.latents().chain(trace.record_latents()) {
        let input = Constrained::input_name(&site.name);
        let leading: &[usize] = if site.per_record { &[records.len()] } else { &[] };
        match values.get(&site.name) {
            Some(values) => {
                check_values(site, values, leading)?;
                fill.insert(input, values.clone());
            }
            // A seed or a substitution inside the model may have seen to it.
            None if !site.is_input(&input) => {}
            None => return Err(Error::Values("no value was given".to_owned()).at_site(&site.name)),
        }
    }
    let latent: HashSet<&str> =
        trace.latents().chain(trace.record_latents()).map(|site| site.name.as_str()).collect();
    if let Some(extra) = values.keys().find(|name| !latent.contains(name.as_str())) {
        return Err(Error::Values(format!(
            "a value was given for '{extra}', but the model has no such site"
        )));
    }
    trace.check_observations(records)?;
    Ok((simulator, fill))
}
