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
/// T = max((1 + 1/m) b − ū, (1 + 2/m) ū),   ν = m − 1
/// ```
///
/// for twins that are independent draws, of as many rows as there are records, from models drawn from the
/// posterior ([`Model::redraw`], [`Model::sample_independently`]). `None` unless there are at least two twins and
/// all numbers are finite.
///
/// The first of the two is unbiased for `V + (V + ū)/m`, where V is the posterior's variance of what is estimated
/// (Raghunathan, Reiter and Rubin 2003, *Multiple imputation for statistical disclosure limitation*; Räisä et al.
/// 2023, arXiv 2205.14485, on using it for twins under differential privacy). They leave T as it is where it is
/// positive, with `ν = (m − 1) (1 − ū/((1 + 1/m) b))²`. But V includes having drawn the records from a population,
/// which alone is ū, so that T is never below the second one. Where V is near ū, that makes a difference: for
/// normal estimates and m = 20, intervals of 90 % hold the truth in 94, 93 and 92 % of cases by the published
/// rule for V/ū = 1, 1.5, 2, and in 94, 91 and 89 % by this one, with intervals that are up to a tenth shorter.
///
/// ```
/// use dp_examples::twin::combine;
/// let found = combine(&[(0.9, 0.01), (1.1, 0.01), (1.3, 0.01), (0.7, 0.01)]).unwrap();
/// assert!((found.estimate - 1.0).abs() < 1e-12);
/// assert!((found.standard_error.powi(2) - (1.25 * 0.2 / 3.0 - 0.01)).abs() < 1e-12);
/// // Twins that hardly differ say nothing against the error that real rows would have.
/// let found = combine(&[(1.0, 0.01), (1.01, 0.01), (0.99, 0.01), (1.0, 0.01)]).unwrap();
/// assert!((found.standard_error.powi(2) - 1.5 * 0.01).abs() < 1e-12);
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
    let variance = ((1.0 + 1.0 / m) * between - within).max((1.0 + 2.0 / m) * within);
    Some(Combined { estimate, standard_error: variance.sqrt(), degrees_of_freedom: m - 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::sample::Dice;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Of normal estimates intervals of 90 % hold the truth about as often as they say. Standard error of a share:
    /// .0021; the bounds are what the rule has in a simulation of its own, .936 to .889, with six of them.
    #[test]
    fn intervals_of_normal_estimates_hold_as_often_as_they_say() {
        let (m, quantile) = (20, 1.729_132_8);
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(5));
        for (variance, expected) in [(1.0, 0.936), (1.5, 0.906), (4.0, 0.889), (50.0, 0.898)] {
            let runs = 20_000;
            let mut held = 0;
            for _ in 0..runs {
                let released = f64::sqrt(variance) * dice.normal();
                let twins: Vec<(f64, f64)> =
                    (0..m).map(|_| (released + f64::sqrt(variance + 1.0) * dice.normal(), 1.0)).collect();
                let found = combine(&twins).unwrap();
                assert!((found.degrees_of_freedom - 19.0).abs() < 1e-12);
                held += usize::from(found.estimate.abs() <= quantile * found.standard_error);
            }
            let share = held as f64 / runs as f64;
            assert!((share - expected).abs() < 0.013, "{variance}: {share} for {expected}");
        }
    }

    #[test]
    fn what_cannot_be_combined_is_none() {
        assert_eq!(combine(&[(1.0, 0.1)]), None);
        assert_eq!(combine(&[(1.0, 0.1), (f64::NAN, 0.1)]), None);
        assert_eq!(combine(&[(1.0, 0.1), (1.0, -0.1)]), None);
    }
}
