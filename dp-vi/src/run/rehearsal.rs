//! Rehearsals: how often intervals hold the truth, counted on records that are made up.

use crate::error::{Error, Result};
use crate::outcome::fit::Fit;
use crate::wall::sensitive::Sensitive;
use ndarray::{ArrayD, Axis};
use ppl_core::{Key, Model, Predictive, Records, Values};
use std::fmt;

/// The probability of the intervals that are counted.
const PROBABILITY: f64 = 0.9;

/// Fits records that are made up from known values, and counts how often the intervals hold these.
///
/// ```text
/// θ_s         draw s of `truths`, an array by name of the site whose first axis counts the draws
/// records_s   those of `inputs`, with the outcomes that the model expects at θ_s
/// fit_s       fit(records_s):   does its central 90 % interval of each value hold θ_s?
/// ```
///
/// Whether a posterior includes the privacy noise truly depends on the model, the number of records, their inputs and
/// the budget. A rehearsal measures it for these, before a budget is spent or after a fit. It reads no sensitive
/// record: the truths are draws of a prior or of a posterior that was released, `inputs` are public or made up, and
/// what is fitted is made from them. It costs nothing of a budget, and needs the time of as many fits as there are
/// draws.
///
/// `fit` makes one fit as the real one is made or will be: the same guide, settings and budget, with a
/// [ledger of its own](crate::DpVi::fit) and not the one that real records are paid from. Of `inputs` the columns that
/// the model observes need only be there. Their number of records should be about that of the real ones, and their
/// columns should be like the real ones in units, spread and correlation: what a rehearsal finds holds for these.
///
/// # What the figures say
///
/// Intervals of an exact posterior hold values drawn from the *prior* nine times in ten, whatever the noise. At draws
/// from a posterior they should hold nearly as many; less than that where the noise is large and the values are ones
/// that the prior makes unlikely. Far less, as a half, says that the fit did not arrive, or that its intervals leave
/// out a part of the noise. Of few rehearsals the figures are known as well as
/// [`standard_error`](Rehearsal::standard_error) says.
///
/// # Errors
///
/// If `truths` are no draws of the model's values, or none; if outcomes cannot be drawn anew, see
/// [`Predictive::replicate`]; any error of `fit`, for settings that are refused once are refused in reality too.
///
/// ```
/// use dp_vi::prelude::*;
/// use dp_vi::rehearse;
/// use ppl_distributions::prelude::*;
///
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let mean = ctx.sample("mean", Normal::new(0.0, 2.0))?;
///     let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
///     ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(mean, sigma), record.get("y")?))
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Before any data: 500 records at ε = 1, values from the prior.
/// let inputs = Records::from_columns([("y", vec![0.0; 500])])?;
/// let truths = Predictive::prior(&model, 4).only(["mean", "sigma"]).run(&inputs)?;
/// let vi = || DpVi::new(model, AutoNormal::new()).budget(Budget::add_remove(1.0, 1e-5)).steps(100);
/// let rehearsal = rehearse(&model, &truths, &inputs, 0, |records| vi().fit(records))?;
/// assert_eq!((rehearsal.sites.len(), rehearsal.runs), (2, 4));
/// println!("{rehearsal}");
/// # Ok(())
/// # }
/// ```
///
/// # References
/// Counting over draws from the prior: Cook, Gelman, Rubin 2006; Talts et al. 2018, arXiv 1804.06788 (simulation-based
/// calibration). Over draws from a fitted model it is a parametric bootstrap.
pub fn rehearse<M: Model + ?Sized>(
    model: &M,
    truths: &Values,
    inputs: &Records,
    key: impl Into<Key>,
    mut fit: impl FnMut(&Sensitive<Records>) -> Result<Fit>,
) -> Result<Rehearsal> {
    let made_up = Predictive::posterior(model, truths.clone())?.key(key).replicate(inputs)?;
    let runs = made_up.len();
    if runs == 0 {
        let (what, requirement) = ("number of rehearsals", "at least 1");
        return Err(Error::OutOfRange { what, requirement, value: 0.0 });
    }
    let mut sites: Vec<RehearsedSite> = Vec::new();
    let mut shares = Vec::with_capacity(runs);
    for (run, records) in made_up.into_iter().enumerate() {
        let found = fit(&Sensitive::new(records))?;
        let posterior = found.posterior();
        let (mut held, mut values) = (0.0, 0);
        for name in posterior.sites() {
            // Values that are not among the truths were drawn from their prior, for one run, and parameters have no
            // interval.
            let Some(truth) = truths.get(name).map(|truths| truths.index_axis(Axis(0), run)) else {
                continue;
            };
            let (mean, sd) = (posterior.mean(name)?, posterior.sd(name)?);
            let (low, high) = posterior.interval(name, PROBABILITY)?;
            if sd.iter().all(|sd| *sd == 0.0) || truth.shape() != mean.shape() {
                continue;
            }
            let site = match sites.iter().position(|site| site.name == name) {
                Some(at) => &mut sites[at],
                None => {
                    let zeros = || ArrayD::zeros(mean.raw_dim());
                    sites.push(RehearsedSite { name: name.to_owned(), held: zeros(), error: zeros() });
                    let last = sites.len() - 1;
                    &mut sites[last]
                }
            };
            for (((((truth, mean), sd), low), high), (of_held, of_error)) in truth
                .iter()
                .zip(&mean)
                .zip(&sd)
                .zip(&low)
                .zip(&high)
                .zip(site.held.iter_mut().zip(site.error.iter_mut()))
            {
                // An interval with an end that is NaN holds nothing.
                let holds = f64::from(u8::from(low <= truth && truth <= high));
                held += holds;
                values += 1;
                *of_held += holds / runs as f64;
                *of_error += ((mean - truth) / sd).powi(2) / runs as f64;
            }
        }
        shares.push(held / f64::from(values.max(1)));
    }
    sites.iter_mut().for_each(|site| site.error.mapv_inplace(f64::sqrt));
    Ok(Rehearsal { runs, sites, shares })
}

/// How often intervals held the truth in a number of [rehearsals](rehearse).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rehearsal {
    /// How many sets of records were made up and fitted.
    pub runs: usize,
    /// What was found of each site that has an interval and whose true values were known.
    pub sites: Vec<RehearsedSite>,
    /// Of each run the share of values that intervals held.
    shares: Vec<f64>,
}

/// What [rehearsals](rehearse) found of one site, element by element.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RehearsedSite {
    /// Name of the site.
    pub name: String,
    /// In what share of the runs the central 90 % interval held the truth.
    pub held: ArrayD<f64>,
    /// Root mean square, over the runs, of (mean − truth) over the stated standard deviation: about 1 where that is
    /// right, larger where it is too small. Not finite where a mean was not.
    pub error: ArrayD<f64>,
}

impl Rehearsal {
    /// In what share of all cases, over runs and values, the central 90 % interval held the truth. NaN where there was
    /// no value.
    #[must_use]
    pub fn held(&self) -> f64 {
        match self.sites.is_empty() {
            true => f64::NAN,
            false => self.shares.iter().sum::<f64>() / self.runs as f64,
        }
    }

    /// The standard error of [`held`](Self::held), from how much runs differ: values of one run are not independent.
    /// NaN of a single run.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let (runs, mean) = (self.runs as f64, self.held());
        let squares: f64 = self.shares.iter().map(|share| (share - mean).powi(2)).sum();
        (squares / (runs - 1.0) / runs).sqrt()
    }

    /// Root mean square of all [errors](RehearsedSite::error), over runs and values.
    #[must_use]
    pub fn error(&self) -> f64 {
        let errors = || self.sites.iter().flat_map(|site| &site.error);
        (errors().map(|error| error * error).sum::<f64>() / errors().count() as f64).sqrt()
    }
}

/// A line for all values, and one for each site: the share that intervals held, the least of any element, and the
/// error.
impl fmt::Display for Rehearsal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "In {} rehearsals with made-up records 90 % intervals held {:.2} of the true values",
            self.runs,
            self.held()
        )?;
        if self.runs > 1 {
            write!(f, " (standard error {:.2})", self.standard_error())?;
        }
        write!(f, ".")?;
        let width = self.sites.iter().map(|site| site.name.chars().count()).max().unwrap_or(0);
        for site in &self.sites {
            let RehearsedSite { name, held, error } = site;
            let of = held.len() as f64;
            let least = held.iter().copied().fold(f64::INFINITY, f64::min);
            let error = (error.iter().map(|error| error * error).sum::<f64>() / of).sqrt();
            write!(f, "\n  {name:width$}  held {:.2}", held.sum() / of)?;
            if held.len() > 1 {
                write!(f, " of {} values, {least:.2} of the least", held.len())?;
            }
            write!(f, "; error {error:.2} of the stated standard deviation")?;
        }
        Ok(())
    }
}
