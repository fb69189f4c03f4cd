//! Several twins, and intervals from them that know of the noise.

use rand_core::Rng;

use super::fitting::{nearest, start};
use super::model::Model;
use super::sample::{Dice, Drawn};
use super::{Error, Result};

impl Model {
    /// Another model that may have led to what was released: a draw from an approximate posterior.
    ///
    /// Records are drawn from the model, as many as there are estimated to be; their marginals get noise of
    /// the same variance as those that were released; and the model is fitted to them. How far the result is
    /// from this model is distributed as how far this model is from the truth, to first order in both errors:
    /// that of having some records of a population, and that of the noise. For the Gaussian approximation of
    /// the posterior, which is symmetric, that is a draw. (Räisä et al. 2023 draw the parameters by a
    /// sampler; this is for the same model and the same purpose.)
    ///
    /// # Errors
    /// None for a model that was fitted or read.
    pub fn redraw(&self, generator: impl Rng) -> Result<Self> {
        let mut dice = Dice(generator);
        let tree = self.tree();
        let count = self.records.round().max(1.0) as usize;
        let levels = self.levels(count, &mut dice, Drawn::Independently);
        let mut tables = self.tables.clone();
        for table in &mut tables {
            let mut cells = vec![0_usize; count];
            for &column in &table.columns {
                let size = tree.sizes[column];
                let own = cells.iter_mut().zip(&levels[column]);
                own.for_each(|(cell, &level)| *cell = *cell * size + level as usize);
            }
            let mut counts = vec![0.0; table.counts.len()];
            cells.into_iter().for_each(|cell| counts[cell] += 1.0);
            for (cell, count) in counts.into_iter().enumerate() {
                table.counts[cell] = count + table.variance(cell).sqrt() * dice.normal();
            }
        }
        // Not from this model: a search that ends early would end too near to it, and draws would differ too
        // little.
        let mut potentials = start(&tables, self.records);
        let conditionals = nearest(&tree, &tables, self.records, &mut potentials)
            .ok_or_else(|| Error::input("a table without a clique"))?;
        Ok(Self { conditionals, potentials, ..self.clone() })
    }
}

/// An estimate and its standard error from several twins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Combined {
    /// The mean of the twins' estimates.
    pub estimate: f64,
    /// The standard error, which knows of the records' number, of the noise and of the twins' own randomness.
    pub standard_error: f64,
    /// Degrees of freedom of the t distribution to use with it.
    pub degrees_of_freedom: f64,
}

/// Combines estimates from several twins, with their squared standard errors as if each twin were real data.
///
/// ```text
/// q̄ = mean of q,  b = variance of q,  ū = mean of u
/// T = (1 + 1/m) b − ū,   ν = (m − 1) (1 − ū/((1 + 1/m) b))²
/// ```
///
/// for twins that are independent draws, of as many rows as there are records, from models drawn from the
/// posterior ([`Model::redraw`], [`Model::sample_independently`]). Where T is not positive, `ū/m` stands in
/// for it with m − 1 degrees of freedom, so that the interval is not empty. `None` unless there are at least
/// two twins and all numbers are finite.
///
/// Raghunathan, Reiter and Rubin 2003, *Multiple imputation for statistical disclosure limitation*; Räisä et
/// al. 2023, arXiv 2205.14485, on using them for twins under differential privacy.
///
/// ```
/// use dp_examples::twin::combine;
/// let found = combine(&[(0.9, 0.01), (1.1, 0.01), (1.3, 0.01), (0.7, 0.01)]).unwrap();
/// assert!((found.estimate - 1.0).abs() < 1e-12);
/// assert!((found.standard_error.powi(2) - (1.25 * 0.2 / 3.0 - 0.01)).abs() < 1e-12);
/// ```
#[must_use]
pub fn combine(estimates: &[(f64, f64)]) -> Option<Combined> {
    let usable = estimates.iter().all(|(q, u)| q.is_finite() && u.is_finite() && *u >= 0.0);
    if estimates.len() < 2 || !usable {
        return None;
    }
    let m = estimates.len() as f64;
    let estimate = estimates.iter().map(|(q, _)| q).sum::<f64>() / m;
    let within = estimates.iter().map(|(_, u)| u).sum::<f64>() / m;
    let between = estimates.iter().map(|(q, _)| (q - estimate).powi(2)).sum::<f64>() / (m - 1.0);
    let spread = (1.0 + 1.0 / m) * between;
    let variance = spread - within;
    let (variance, degrees_of_freedom) = match variance > 0.0 {
        true => (variance, (m - 1.0) * (1.0 - within / spread).powi(2)),
        false => (within / m, m - 1.0),
    };
    Some(Combined {
        estimate,
        standard_error: variance.sqrt(),
        degrees_of_freedom: degrees_of_freedom.max(1.0),
    })
}
