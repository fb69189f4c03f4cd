//! Draws of several chains, and what they say.

use crate::base::{Error, Result};
use crate::draws::convergence::{ess_bulk, ess_tail, r_hat, standard_error};
use crate::draws::simulate::Values;
use crate::draws::summary::{mean, quantile, standard_deviation};
use ndarray::{ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice};
use std::fmt;

/// `R̂` from which on chains are said not to agree (Vehtari et al. 2021).
const AGREE: f64 = 1.01;

/// How a draw came about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Transition {
    pub(super) diverging: bool,
    pub(super) steps: u64,
    pub(super) step_size: f64,
}

/// Draws of a posterior, of several chains: values of all shared latent sites in their supports and shapes,
/// and of the deterministic sites made of them.
///
/// Prints as the table of [`summary`](Self::summary). [`values`](Self::values) go into
/// [`Predictive::posterior`](crate::Predictive::posterior), which finds values of sites inside `each_record`,
/// and [`chain_table`](Self::chain_table) into files for ArviZ.
#[derive(Clone, Debug, PartialEq)]
pub struct Chains {
    /// In the order of the model; the draws of one chain after those of the other.
    sites: Vec<(String, ArrayD<f64>)>,
    chains: usize,
    draws: usize,
    transitions: Vec<Transition>,
    largest_depth: usize,
}

impl Chains {
    pub(super) fn new(
        sites: Vec<(String, ArrayD<f64>)>,
        (chains, draws): (usize, usize),
        transitions: Vec<Transition>,
        largest_depth: usize,
    ) -> Self {
        Self { sites, chains, draws, transitions, largest_depth }
    }

    /// Names of the sites, in the order of the model.
    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|(name, _)| name.as_str())
    }

    /// Number of chains.
    #[must_use]
    pub fn chains(&self) -> usize {
        self.chains
    }

    /// Number of draws of each chain.
    #[must_use]
    pub fn draws_of_each(&self) -> usize {
        self.draws
    }

    fn find(&self, name: &str) -> Result<&ArrayD<f64>> {
        self.sites.iter().find(|(known, _)| known == name).map(|(_, draws)| draws).ok_or_else(|| {
            let known: Vec<&str> = self.sites().collect();
            Error::Values(format!("there are no draws of a site '{name}'; there are [{}]", known.join(", ")))
        })
    }

    /// Draws of a site: `[chains, draws, …site]`.
    ///
    /// # Errors
    /// If there is no such site.
    pub fn draws(&self, name: &str) -> Result<ArrayViewD<'_, f64>> {
        let draws = self.find(name)?;
        let shape: Vec<usize> =
            [self.chains, self.draws].into_iter().chain(draws.shape()[1..].iter().copied()).collect();
        let view = draws.view().into_shape_with_order(IxDyn(&shape));
        view.map_err(|error| Error::Values(error.to_string()).at_site(name))
    }

    /// Draws of all sites, those of one chain after those of the other: arrays of `[chains · draws, …site]`.
    #[must_use]
    pub fn values(&self) -> Values {
        self.sites.iter().cloned().collect()
    }

    /// Draws of one chain, counted from 0: arrays of `[draws, …site]`.
    ///
    /// # Errors
    /// If there is no such chain.
    pub fn chain(&self, number: usize) -> Result<Values> {
        let part = self.part(number)?;
        let one = |(name, draws): &(String, ArrayD<f64>)| {
            let slice = Slice::from(part.clone());
            (name.clone(), draws.slice_axis(Axis(0), slice).to_owned())
        };
        Ok(self.sites.iter().map(one).collect())
    }

    /// Draws of one chain, and how they came about under the names of CmdStan (`divergent__`,
    /// `n_leapfrog__`, `stepsize__`): a table to write with `draws::export`. ArviZ reads the files of all
    /// chains together, `arviz.from_cmdstan(["chain-0.csv", "chain-1.csv"])`.
    ///
    /// # Errors
    /// If there is no such chain, or the model has a site of such a name.
    pub fn chain_table(&self, number: usize) -> Result<Values> {
        let mut table = self.chain(number)?;
        let transitions = &self.transitions[self.part(number)?];
        let column = |of: fn(&Transition) -> f64| transitions.iter().map(of).collect::<ndarray::Array1<_>>();
        let columns = [
            ("divergent__", column(|transition| f64::from(u8::from(transition.diverging)))),
            ("n_leapfrog__", column(|transition| transition.steps as f64)),
            ("stepsize__", column(|transition| transition.step_size)),
        ];
        for (name, numbers) in columns {
            if table.insert(name.to_owned(), numbers.into_dyn()).is_some() {
                let told = "a column of the sampler's own has this name".to_owned();
                return Err(Error::Values(told).at_site(name));
            }
        }
        Ok(table)
    }

    fn part(&self, number: usize) -> Result<std::ops::Range<usize>> {
        if number >= self.chains {
            let told = format!("there are {} chains, counted from 0, and no chain {number}", self.chains);
            return Err(Error::Values(told));
        }
        Ok(number * self.draws..(number + 1) * self.draws)
    }

    /// Mean of all draws, in the site's shape.
    ///
    /// # Errors
    /// If there is no such site.
    pub fn mean(&self, name: &str) -> Result<ArrayD<f64>> {
        mean(self.find(name)?)
    }

    /// Standard deviation of all draws.
    ///
    /// # Errors
    /// If there is no such site, or one draw in all.
    pub fn sd(&self, name: &str) -> Result<ArrayD<f64>> {
        standard_deviation(self.find(name)?)
    }

    /// A quantile of all draws, element by element.
    ///
    /// # Errors
    /// If there is no such site, or the probability does not lie from 0 to 1.
    pub fn quantile(&self, name: &str, probability: f64) -> Result<ArrayD<f64>> {
        quantile(self.find(name)?, probability)
    }

    /// Central interval of this posterior probability, element by element.
    ///
    /// # Errors
    /// If there is no such site, or the probability is not strictly between 0 and 1.
    pub fn interval(&self, name: &str, probability: f64) -> Result<(ArrayD<f64>, ArrayD<f64>)> {
        if !(probability > 0.0 && probability < 1.0) {
            return Err(Error::Values(format!(
                "an interval's probability must be strictly between 0 and 1, got {probability}"
            )));
        }
        let end = |side: f64| self.quantile(name, 0.5 + 0.5 * side * probability);
        Ok((end(-1.0)?, end(1.0)?))
    }

    /// [`R̂`](r_hat) of each element: at most 1.01 where the chains agree.
    ///
    /// # Errors
    /// If there is no such site, or a chain has fewer than 4 draws.
    pub fn r_hat(&self, name: &str) -> Result<ArrayD<f64>> {
        r_hat(&self.draws(name)?)
    }

    /// The [bulk effective sample size](ess_bulk) of each element.
    ///
    /// # Errors
    /// As [`Chains::r_hat`].
    pub fn ess(&self, name: &str) -> Result<ArrayD<f64>> {
        ess_bulk(&self.draws(name)?)
    }

    /// The [tail effective sample size](ess_tail) of each element, for quantiles.
    ///
    /// # Errors
    /// As [`Chains::r_hat`].
    pub fn ess_tail(&self, name: &str) -> Result<ArrayD<f64>> {
        ess_tail(&self.draws(name)?)
    }

    /// The [Monte Carlo standard error](standard_error) of each element's mean.
    ///
    /// # Errors
    /// As [`Chains::r_hat`].
    pub fn standard_error(&self, name: &str) -> Result<ArrayD<f64>> {
        standard_error(&self.draws(name)?)
    }

    /// Number of kept draws whose path diverged: the steps were too long for the curvature there, and draws
    /// may be missing from it. A higher target acceptance or other coordinates (a non-centred model) help.
    #[must_use]
    pub fn divergences(&self) -> usize {
        self.transitions.iter().filter(|transition| transition.diverging).count()
    }

    /// Number of kept draws whose path was as long as it may be: draws are right, but dearly bought.
    #[must_use]
    pub fn at_largest_depth(&self) -> usize {
        // Fewer steps than a full tree has are a path that turned.
        let full = (1_u64 << self.largest_depth) - 1;
        self.transitions.iter().filter(|transition| transition.steps >= full).count()
    }

    /// Steps of all paths of the kept draws; each took a gradient over all records.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.transitions.iter().map(|transition| transition.steps).sum()
    }

    /// Means, standard deviations, ends of 90 % intervals and diagnostics of all sites.
    ///
    /// # Errors
    /// As [`Chains::r_hat`].
    pub fn summary(&self) -> Result<Vec<ChainSummary>> {
        let one = |name: &str| {
            let (low, high) = self.interval(name, 0.9)?;
            Ok(ChainSummary {
                site: name.to_owned(),
                mean: self.mean(name)?,
                sd: self.sd(name)?,
                interval: [low, high],
                ess_bulk: self.ess(name)?,
                r_hat: self.r_hat(name)?,
            })
        };
        self.sites().map(one).collect()
    }
}

/// What is worth knowing of one site's draws, element by element.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChainSummary {
    /// The site's name.
    pub site: String,
    /// Means.
    pub mean: ArrayD<f64>,
    /// Standard deviations.
    pub sd: ArrayD<f64>,
    /// 5 % and 95 % quantiles.
    pub interval: [ArrayD<f64>; 2],
    /// Bulk effective sample sizes.
    pub ess_bulk: ArrayD<f64>,
    /// `R̂`
    pub r_hat: ArrayD<f64>,
}

impl fmt::Display for Chains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (chains, draws) = (self.chains, self.draws);
        let summaries = match self.summary() {
            Ok(summaries) => summaries,
            Err(error) => return write!(f, "{chains} chains of {draws} draws; no summary: {error}"),
        };
        let head = ["mean", "sd", "5 %", "95 %"].map(|name| format!("{name:>11}")).join(" ");
        writeln!(f, "{:<20} {head} {:>9} {:>7}", "site", "ess_bulk", "r_hat")?;
        let mut apart = 0;
        for summary in &summaries {
            for (index, mean) in summary.mean.indexed_iter() {
                let place: Vec<String> = index.as_array_view().iter().map(usize::to_string).collect();
                let name = &summary.site;
                let label =
                    if place.is_empty() { name.clone() } else { format!("{name}[{}]", place.join(",")) };
                let at = |of: &ArrayD<f64>| of[&index];
                let [low, high] = [0, 1].map(|end| at(&summary.interval[end]));
                let (sd, ess, r_hat) = (at(&summary.sd), at(&summary.ess_bulk), at(&summary.r_hat));
                apart += usize::from(r_hat > AGREE);
                writeln!(
                    f,
                    "{label:<20} {mean:>11.4} {sd:>11.4} {low:>11.4} {high:>11.4} {ess:>9.0} {r_hat:>7.3}"
                )?;
            }
        }
        write!(f, "{chains} chains of {draws} draws, {} divergences", self.divergences())?;
        if apart > 0 {
            write!(f, "; {apart} values have r_hat above {AGREE}: the chains do not agree yet")?;
        }
        match self.at_largest_depth() {
            0 => Ok(()),
            deep => write!(f, "; {deep} paths had the largest length"),
        }
    }
}
