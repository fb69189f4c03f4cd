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
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// The most joint values of shared sites.
const LIMIT: u128 = 1_000_000;

/// Joint values for which a thread takes the plan's memory once.
const STRETCH: usize = 4096;

/// Units of 2⁻⁵² by which each term of a log density is taken to be wrong, relative to its size. Elementary
/// functions are wrong by less than 2, special ones by less than 16; a term is made of a few of them.
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

/// The posterior of the shared latent values of a model, each of finite support, given all records. Discrete
/// values of single records have to be summed out by [`Ctx::enumerate`](crate::Ctx::enumerate).
///
/// The model is traced and planned once, and the plan is run at each joint value: over the records that
/// differ, each as often as it occurs, on all of rayon's threads. The result does not depend on how many
/// there are.
///
/// # Accuracy
/// Weights are intervals of logarithms. A term, which is one record's log density or the prior's, is a
/// floating-point number that is taken to be wrong by at most 64 units in the last place, relative to it or
/// to 1 where it is below. That holds for terms made of a few functions, and is not proven. The error of
/// adding them up is bounded.
///
/// # Errors
/// [`Error::Unsupported`] if a shared latent site has no finite support, or a record has a latent value of
/// its own that is not summed out, or values that are given record by record; [`Error::TooMany`] for more
/// than 10⁶ joint values; [`Error::Impossible`] if the records are impossible at each of them; and whatever
/// is wrong with the model itself.
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
    let inputs: Vec<Place> =
        open.iter().map(|site| (Constrained::input_name(&site.name), site.shape.dims().to_vec())).collect();
    let simulator = Simulator::of_log_density(&trace)?;
    if simulator.fills_records() {
        return Err(Error::Unsupported("values that are given record by record".into()));
    }
    let different = Different::of(records, simulator.columns())?;
    // At most 10⁶.
    let numbers: Vec<usize> = (0..count as usize).collect();
    let one = |simulator: &mut Simulator, number: usize| -> Result<(JointValue, LogInterval)> {
        let values = joint_value(number, &supports);
        let fill = arrays(&inputs, &values)?;
        let ln = log_weight(simulator, (records, &different), &Fill { values: &fill, draw: 0 })?;
        let Some(ln) = ln else {
            return Err(Error::Values(format!("the log density at {values:?} is not a number")));
        };
        Ok((JointValue { values: values.into(), sites: Arc::clone(&sites) }, LogInterval::from_ln(ln)))
    };
    let stretch = |numbers: &[usize]| -> Result<Vec<_>> {
        let mut simulator = simulator.clone();
        numbers.iter().map(|&number| one(&mut simulator, number)).collect()
    };
    let stretches: Result<Vec<Vec<_>>> = numbers.par_chunks(STRETCH).map(stretch).collect();
    let weights: Vec<(JointValue, LogInterval)> = stretches?.into_iter().flatten().collect();
    let logs: Vec<LogInterval> = weights.iter().map(|(_, weight)| *weight).collect();
    let total = LogInterval::sum(logs.iter());
    let impossible = || Error::Impossible("the posterior of these records");
    let normalised = weights.into_iter().map(|(joint, weight)| {
        use super::Weight;
        weight.over(&total).map(|weight| (joint, weight)).ok_or_else(impossible)
    });
    Dist::from_weights(normalised.collect::<Result<Vec<_>>>()?)
}

/// A joint value by its number, the last element fastest.
fn joint_value(mut number: usize, supports: &[(i64, i64)]) -> Vec<i64> {
    let mut values = vec![0; supports.len()];
    for (value, &(low, high)) in values.iter_mut().zip(supports).rev() {
        // Fewer than 10⁶ values, as there are no more joint ones.
        let size = high.abs_diff(low) as usize + 1;
        *value = low + (number % size) as i64;
        number /= size;
    }
    values
}

/// Records that differ in what a program reads, and how often each of them occurs.
struct Different {
    places: Vec<u64>,
    times: Vec<f64>,
}

impl Different {
    fn of(records: &Records, columns: &[String]) -> Result<Self> {
        let mut read = Vec::with_capacity(columns.len());
        for name in columns {
            let (index, shape) = records.schema().find(name)?;
            read.push((records.column(index), shape.elements()));
        }
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut all = Self { places: Vec::new(), times: Vec::new() };
        for record in 0..records.len() {
            let numbers = read.iter().flat_map(|(column, elements)| {
                (record * elements..(record + 1) * elements).map(|k| column.number(k).map_or(0, f64::to_bits))
            });
            let place = *known.entry(numbers.collect()).or_insert(all.places.len());
            if place == all.places.len() {
                all.places.push(record as u64);
                all.times.push(0.0);
            }
            all.times[place] += 1.0;
        }
        Ok(all)
    }
}

/// The log density at a joint value; `None` where it is not a number.
fn log_weight(
    simulator: &mut Simulator,
    (records, different): (&Records, &Different),
    fill: &Fill<'_>,
) -> Result<Option<Interval>> {
    let mut sum = Interval::ZERO;
    let mut tiles = Tiles { missing: false, impossible: false };
    let prior = simulator.terms((records, &different.places), fill, |places, terms| {
        sum = sum + tiles.sum(terms, &different.times[places]);
    })?;
    let prior = tiles.sum(&[prior], &[1.0]);
    Ok(match tiles {
        Tiles { missing: true, .. } => None,
        Tiles { impossible: true, .. } => Some(Interval::exact(f64::NEG_INFINITY)),
        _ => Some(prior + sum),
    })
}

/// Sums of terms, and whether one was not a number or the logarithm of zero.
struct Tiles {
    missing: bool,
    impossible: bool,
}

impl Tiles {
    /// `Σ times · term`, with what the terms and the additions may be wrong by.
    fn sum(&mut self, terms: &[f64], times: &[f64]) -> Interval {
        const LANES: usize = 8;
        let (mut sums, mut sizes) = ([0.0_f64; LANES], [0.0_f64; LANES]);
        let mut add = |terms: &[f64], times: &[f64]| {
            for (lane, (&term, &times)) in terms.iter().zip(times).enumerate() {
                sums[lane] += times * term;
                sizes[lane] += times * term.abs().max(1.0);
            }
        };
        let (whole, times_whole) = (terms.chunks_exact(LANES), times.chunks_exact(LANES));
        let (rest, times_rest) = (whole.remainder(), times_whole.remainder());
        whole.zip(times_whole).for_each(|(terms, times)| add(terms, times));
        add(rest, times_rest);
        let (sum, size): (f64, f64) = (sums.iter().sum(), sizes.iter().sum());
        if !sum.is_finite() || !size.is_finite() {
            self.missing |= terms.iter().any(|term| term.is_nan() || *term == f64::INFINITY);
            self.impossible |= terms.contains(&f64::NEG_INFINITY);
            // Beyond the largest number, if it is neither.
            return Interval::between(f64::NEG_INFINITY, f64::INFINITY);
        }
        // Each term goes through a product and so many additions, each wrong by half of 2⁻⁵² of no more than
        // all sizes; the sum of sizes itself, by as much.
        let additions = (terms.len() / LANES + LANES + 3) as f64;
        let error = (UNITS + additions) * f64::EPSILON * size;
        Interval::between((sum - error).next_down(), (sum + error).next_up())
    }
}

/// The integers that a site's elements may be.
fn finite_support(site: &Site<'_>) -> Result<(i64, i64)> {
    match site.support {
        Constraint::Boolean => Ok((0, 1)),
        Constraint::IntegerInterval(low, high)
            if low.ceil() <= high.floor() && low.abs().max(high.abs()) < 2.0_f64.powi(53) =>
        {
            Ok((low.ceil() as i64, high.floor() as i64))
        }
        support => {
            let told = format!("a shared latent value whose support ({support}) is not finite");
            Err(Error::Unsupported(told).at_site(&site.name))
        }
    }
}

/// The name and the dimensions of a site's input.
type Place = (String, Vec<usize>);

/// The sites' values as inputs of the program.
fn arrays(inputs: &[Place], values: &[i64]) -> Result<Values> {
    let mut all: Values = BTreeMap::new();
    let mut start = 0;
    for (name, dims) in inputs {
        let elements = dims.iter().product::<usize>();
        let numbers = values[start..start + elements].iter().map(|&value| value as f64).collect();
        let array = ArrayD::from_shape_vec(dims.as_slice(), numbers)
            .map_err(|error| Error::Values(format!("input '{name}': {error}")))?;
        all.insert(name.clone(), array);
        start += elements;
    }
    Ok(all)
}
