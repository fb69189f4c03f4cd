//! The exact posterior of a traced model whose shared latent values have finite supports.

use super::{Dist, Interval, LogInterval};
use crate::base::{Error, Result};
use crate::draws::log_density::AtValues;
use crate::draws::simulate::{Fill, Simulator, Values};
use crate::handlers::Constrained;
use crate::model::context::Model;
use crate::model::trace::{Site, trace};
use crate::model::{Constraint, SiteKind};
use crate::op::Graph;
use crate::records::Records;
use ndarray::ArrayD;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The most joint values of shared sites.
const LIMIT: u128 = 1_000_000;

/// Units of 2⁻⁵² by which each term of a log density is taken to be wrong, relative to its size. Elementary functions
/// are wrong by less than 2, special ones by less than 16; a term is made of a few of them.
const UNITS: f64 = 64.0;

/// One value for every shared latent site of a model.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JointValue {
    values: Box<[i64]>,
    sites: Arc<[(String, usize)]>,
}

impl JointValue {
    /// The elements of a site's value; `None` where the model has no such site.
    #[must_use]
    pub fn get(&self, site: &str) -> Option<&[i64]> {
        let mut start = 0;
        for (name, elements) in self.sites.iter() {
            if name == site {
                return self.values.get(start..start + elements);
            }
            start += elements;
        }
        None
    }
}

impl fmt::Debug for JointValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.sites.iter().map(|(name, _)| (name, self.get(name).unwrap_or_default()));
        f.debug_map().entries(named).finish()
    }
}

/// The posterior of the shared latent values of a model, each of finite support, given all records. Discrete values
/// of single records have to be summed out by [`Ctx::enumerate`](crate::Ctx::enumerate).
///
/// The model is traced and planned once, and the plan is run at each joint value.
///
/// # Accuracy
/// Weights are intervals of logarithms. Sums are rounded outward; a term itself, which is one record's log density
/// or the prior's, is a floating-point number that is taken to be wrong by at most 64 units in the last place. That
/// holds for terms made of a few functions, and is not proven.
///
/// # Errors
/// [`Error::Unsupported`] if a shared latent site has no finite support, or a record has a latent value of its own that
/// is not summed out; [`Error::TooMany`] for more than 10⁶ joint values; [`Error::Impossible`] if the records are
/// impossible at each of them; and whatever is wrong with the model itself.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Value, Var};
/// # struct Coin;
/// # impl<'g> Distribution<'g> for Coin {
/// #     fn name(&self) -> &'static str { "Coin" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
/// #     fn support(&self) -> Constraint { Constraint::Boolean }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x - 2.0_f64.ln() }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         Ok(noise.draw(NoiseKind::Uniform, prefix.clone())?.greater(0.5))
/// #     }
/// # }
/// // Is the mean 1 or 0? Two records of unit variance say.
/// let model = |ctx: &mut Ctx<'_>| -> Result<()> {
///     let mean = ctx.sample("mean", Coin)?;
///     ctx.each_record(|ctx, record| ctx.factor("x", -0.5 * (record.get("x")? - mean).square()))
/// };
/// let records = Records::from_columns([("x", vec![1.0, 1.5])])?;
/// let posterior = ppl_core::finite::posterior(&model, &records)?;
/// let (one, weight) = posterior.iter().last().unwrap();
/// assert_eq!(one.get("mean"), Some(&[1][..]));
/// // ln odds = (1 + 2.25)/2 − (0 + 0.25)/2 = 1.5
/// use ppl_core::finite::Weight;
/// assert!(weight.value().contains(1.0 / (1.0 + (-1.5_f64).exp())));
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn posterior(model: &(impl Model + ?Sized), records: &Records) -> Result<Dist<JointValue, LogInterval>> {
    let graph = Graph::new();
    let trace = trace(model, &graph, records.schema(), AtValues { names: BTreeSet::new() })?;
    if let Some(site) = trace.record_latents().next() {
        let told = "a latent value inside the record plate; sum it out by ctx.enumerate";
        return Err(Error::Unsupported(told.into()).at_site(&site.name));
    }
    if let Some(site) = trace.sites().iter().find(|site| site.kind == SiteKind::Param) {
        return Err(Error::Unsupported("a parameter, which has no prior".into()).at_site(&site.name));
    }
    let open: Vec<&Site<'_>> =
        trace.latents().filter(|site| site.is_input(&Constrained::input_name(&site.name))).collect();
    let mut supports = Vec::new();
    for site in &open {
        let (low, high) = finite_support(site)?;
        supports.extend(std::iter::repeat_n((low, high), site.shape.elements()));
    }
    let sizes = supports.iter().map(|(low, high)| u128::from(high.abs_diff(*low)) + 1);
    let count = sizes.fold(1_u128, |product, size| product.saturating_mul(size));
    if count > LIMIT {
        return Err(Error::TooMany { what: "joint values of shared sites", count, limit: LIMIT });
    }
    trace.check_observations(records)?;
    let sites: Arc<[(String, usize)]> =
        open.iter().map(|site| (site.name.clone(), site.shape.elements())).collect();
    let mut simulator = Simulator::of_log_density(&trace)?;
    let mut weights = Vec::with_capacity(count as usize);
    let mut values: Vec<i64> = supports.iter().map(|(low, _)| *low).collect();
    for _ in 0..count {
        let fill = arrays(&open, &values)?;
        let density = simulator.log_density(records, &Fill { values: &fill, draw: 0 })?;
        let terms = density.likelihood.iter().chain([&density.prior]);
        let mut ln = Interval::ZERO;
        for &term in terms {
            if term.is_nan() {
                let told = format!("the log density at {:?} is not a number", &values);
                return Err(Error::Values(told));
            }
            if term == f64::NEG_INFINITY {
                ln = Interval::exact(term);
                break;
            }
            ln = ln + Interval::computed(term, UNITS);
        }
        let joint = JointValue { values: values.clone().into(), sites: Arc::clone(&sites) };
        weights.push((joint, LogInterval::from_ln(ln)));
        // The next joint value, the last element first.
        for (value, &(low, high)) in values.iter_mut().zip(&supports).rev() {
            if *value < high {
                *value += 1;
                break;
            }
            *value = low;
        }
    }
    let logs: Vec<LogInterval> = weights.iter().map(|(_, weight)| *weight).collect();
    let total = LogInterval::sum(logs.iter());
    let impossible = || Error::Impossible("the posterior of these records");
    let normalised = weights.into_iter().map(|(joint, weight)| {
        use super::Weight;
        weight.over(&total).map(|weight| (joint, weight)).ok_or_else(impossible)
    });
    Dist::from_weights(normalised.collect::<Result<Vec<_>>>()?)
}

/// The integers that a site's elements may be.
fn finite_support(site: &Site<'_>) -> Result<(i64, i64)> {
    match site.support {
        Constraint::Boolean => Ok((0, 1)),
        Constraint::IntegerInterval(low, high) if low.abs().max(high.abs()) < 2.0_f64.powi(53) => {
            Ok((low as i64, high as i64))
        }
        support => {
            let told = format!("a shared latent value whose support ({support}) is not finite");
            Err(Error::Unsupported(told).at_site(&site.name))
        }
    }
}

/// The sites' values as inputs of the program.
fn arrays(sites: &[&Site<'_>], values: &[i64]) -> Result<Values> {
    let mut all: Values = BTreeMap::new();
    let mut start = 0;
    for site in sites {
        let elements = site.shape.elements();
        let numbers = values[start..start + elements].iter().map(|&value| value as f64).collect();
        let array = ArrayD::from_shape_vec(site.shape.dims(), numbers)
            .map_err(|error| Error::Values(error.to_string()).at_site(&site.name))?;
        all.insert(Constrained::input_name(&site.name), array);
        start += elements;
    }
    Ok(all)
}
