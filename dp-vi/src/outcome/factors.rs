//! Draws and moments of posterior factors that are in exponential families.

use crate::error::{Error, Result};
use crate::guides::guide::Marginal;
use crate::outcome::correction::linear_algebra::{cholesky, inverse, square};
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use nalgebra::{DMatrix, DVector};

/// A factor with its natural parameters worked out.
#[derive(Clone, Debug)]
pub(crate) enum FactorLaw {
    /// Independent normals.
    Normal { loc: Vec<f64>, scale: Vec<f64> },
    /// Normal vectors, with a lower Cholesky factor of the covariance for each, or one for all.
    Rows { loc: Vec<f64>, factors: Vec<DMatrix<f64>> },
    /// Independent gammas, with shapes and rates.
    Gamma { shape: Vec<f64>, rate: Vec<f64> },
    /// Independent betas.
    Beta { a: Vec<f64>, b: Vec<f64> },
    /// Dirichlets of so many categories, one after the other.
    Dirichlet { concentration: Vec<f64>, categories: usize },
    /// Values, without a spread.
    Point { value: Vec<f64> },
}

impl FactorLaw {
    /// From the natural parameters of a family; `last` is the length of the value's last axis.
    pub(crate) fn new(family: &str, natural: &[&[f64]], last: usize) -> Result<Self> {
        let plus_one = |values: &[f64]| values.iter().map(|x| x + 1.0).collect::<Vec<f64>>();
        let not_one = || Error::Guide {
            guide: "posterior factors",
            problem: format!(
                "cannot be drawn in the family {family}; Normal, MultivariateNormal, Gamma, Beta and Dirichlet can"
            ),
        };
        Ok(match (family, natural) {
            ("Normal", [first, second]) => {
                let scale: Vec<f64> = second.iter().map(|x| (-2.0 * x).sqrt().recip()).collect();
                Self::Normal { loc: first.iter().zip(&scale).map(|(x, s)| x * s * s).collect(), scale }
            }
            ("MultivariateNormal", [first, second]) => {
                let n = last.max(1);
                let mut factors = Vec::new();
                let mut covariances = Vec::new();
                for matrix in second.chunks_exact(n * n) {
                    let precision = square(matrix, n) * -2.0;
                    let found = cholesky((&precision + precision.transpose()) * 0.5).ok_or_else(not_one)?;
                    let covariance = inverse(&found);
                    factors.push(cholesky(covariance.clone()).ok_or_else(not_one)?.unpack());
                    covariances.push(covariance);
                }
                if covariances.is_empty() {
                    return Err(not_one());
                }
                let rows = first.chunks_exact(n).enumerate();
                let loc = rows.flat_map(|(row, eta)| {
                    let mean = &covariances[row.min(covariances.len() - 1)] * DVector::from_column_slice(eta);
                    mean.iter().copied().collect::<Vec<f64>>()
                });
                Self::Rows { loc: loc.collect(), factors }
            }
            ("Gamma", [log, value]) => {
                Self::Gamma { shape: plus_one(log), rate: value.iter().map(|x| -x).collect() }
            }
            ("Beta", [a, b]) => Self::Beta { a: plus_one(a), b: plus_one(b) },
            ("Dirichlet", [log]) => Self::Dirichlet { concentration: plus_one(log), categories: last.max(1) },
            _ => return Err(not_one()),
        })
    }

    /// Mean and standard deviation of each element.
    pub(crate) fn moments(&self) -> [Vec<f64>; 2] {
        match self {
            Self::Point { value } => [value.clone(), vec![0.0; value.len()]],
            Self::Normal { loc, scale } => [loc.clone(), scale.clone()],
            Self::Rows { loc, factors } => [loc.clone(), Self::deviations(loc.len(), factors)],
            Self::Gamma { shape, rate } => {
                let pairs = || shape.iter().zip(rate);
                [pairs().map(|(a, b)| a / b).collect(), pairs().map(|(a, b)| a.sqrt() / b).collect()]
            }
            Self::Beta { a, b } => {
                let pairs = || a.iter().zip(b).map(|(a, b)| (a, b, a + b));
                [
                    pairs().map(|(a, _, n)| a / n).collect(),
                    pairs().map(|(a, b, n)| (a / n * (b / n) / (n + 1.0)).sqrt()).collect(),
                ]
            }
            Self::Dirichlet { concentration, categories } => {
                let (mut means, mut deviations) = (Vec::new(), Vec::new());
                for row in concentration.chunks(*categories) {
                    let total: f64 = row.iter().sum();
                    for a in row {
                        let mean = a / total;
                        means.push(mean);
                        deviations.push((mean * ((total - a) / total) / (total + 1.0)).sqrt());
                    }
                }
                [means, deviations]
            }
        }
    }

    fn deviations(elements: usize, factors: &[DMatrix<f64>]) -> Vec<f64> {
        let of = |matrix: &DMatrix<f64>| matrix.row_iter().map(|row| row.norm()).collect::<Vec<f64>>();
        let n = factors.first().map_or(1, DMatrix::nrows);
        let all: Vec<Vec<f64>> = factors.iter().map(of).collect();
        (0..elements).map(|k| all[(k / n).min(all.len() - 1)][k % n]).collect()
    }

    fn draw(&self, rng: &mut impl Rng, out: &mut Vec<f64>) {
        match self {
            Self::Point { value } => out.extend(value),
            Self::Normal { loc, scale } => {
                out.extend(loc.iter().zip(scale).map(|(loc, scale)| loc + scale * normal(rng)));
            }
            Self::Rows { loc, factors } => {
                let n = factors[0].nrows();
                for (row, loc) in loc.chunks_exact(n).enumerate() {
                    let z = DVector::from_fn(n, |_, _| normal(rng));
                    let moved = &factors[row.min(factors.len() - 1)] * z;
                    out.extend(loc.iter().zip(moved.iter()).map(|(loc, x)| loc + x));
                }
            }
            Self::Gamma { shape, rate } => {
                out.extend(shape.iter().zip(rate).map(|(a, b)| log_gamma_draw(*a, rng).exp() / b));
            }
            Self::Beta { a, b } => out.extend(a.iter().zip(b).map(|(a, b)| {
                let (x, y) = (log_gamma_draw(*a, rng), log_gamma_draw(*b, rng));
                1.0 / (1.0 + (y - x).exp())
            })),
            Self::Dirichlet { concentration, categories } => {
                for row in concentration.chunks(*categories) {
                    let logs: Vec<f64> = row.iter().map(|a| log_gamma_draw(*a, rng)).collect();
                    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let total: f64 = logs.iter().map(|x| (x - top).exp()).sum();
                    out.extend(logs.iter().map(|x| (x - top).exp() / total));
                }
            }
        }
    }
}

/// Strictly between 0 and 1.
fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// A standard normal (Box and Muller).
fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v) = (uniform(rng), uniform(rng));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The logarithm of a gamma variable of this shape and rate 1 (Marsaglia and Tsang 2000), which does not underflow
/// for small shapes: there a variable of shape `a + 1` is multiplied by `u^{1/a}`.
fn log_gamma_draw(shape: f64, rng: &mut impl Rng) -> f64 {
    let (lifted, boost) = match shape < 1.0 {
        true => (shape + 1.0, uniform(rng).ln() / shape),
        false => (shape, 0.0),
    };
    let d = lifted - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln() + boost;
        }
    }
}

/// Independent factors, one for each site.
#[derive(Clone, Debug)]
pub(crate) struct FactorDraws(pub(super) Vec<FactorLaw>);

impl FactorDraws {
    pub(crate) fn new(laws: Vec<FactorLaw>) -> Self {
        Self(laws)
    }

    /// The marginals of a site whose elements are normal.
    pub(crate) fn marginal(&self, site: usize) -> Option<Marginal> {
        match self.0.get(site)? {
            FactorLaw::Normal { loc, scale } => Some(Marginal { loc: loc.clone(), scale: scale.clone() }),
            FactorLaw::Rows { loc, factors } => {
                Some(Marginal { loc: loc.clone(), scale: FactorLaw::deviations(loc.len(), factors) })
            }
            _ => None,
        }
    }

    /// Mean and standard deviation of each element of a site.
    pub(crate) fn moments(&self, site: usize) -> Option<[Vec<f64>; 2]> {
        self.0.get(site).map(FactorLaw::moments)
    }

    /// Hands out values of this many independent draws, site by site, for the sites that are wanted.
    pub(crate) fn run(
        &self,
        draws: usize,
        seed: &Seed,
        wanted: &dyn Fn(usize) -> bool,
        mut take: impl FnMut(usize, &[f64]),
    ) {
        let streams = seed.streams(Purpose::Custom("draws of posterior factors"));
        let mut values = Vec::new();
        for number in 0..draws {
            let draws_of_sites = streams.child(number as u64);
            for (site, law) in self.0.iter().enumerate().filter(|(site, _)| wanted(*site)) {
                values.clear();
                law.draw(&mut draws_of_sites.at(site as u64), &mut values);
                take(site, &values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of 40,000 draws lie within six standard errors, and variances within six of theirs: a false alarm in
    /// 10⁸.
    #[test]
    fn draws_have_the_moments_that_are_stated() {
        let laws = vec![
            FactorLaw::new("Normal", &[&[2.0], &[-2.0]], 1).unwrap(),
            FactorLaw::new("MultivariateNormal", &[&[2.0, 3.0], &[-0.5, 0.2, 0.2, -1.0]], 2).unwrap(),
            FactorLaw::new("Gamma", &[&[2.0, -0.7], &[-2.0, -1.0]], 2).unwrap(),
            FactorLaw::new("Beta", &[&[1.0], &[-0.5]], 1).unwrap(),
            FactorLaw::new("Dirichlet", &[&[1.0, -0.9, 3.0]], 3).unwrap(),
        ];
        let draws = FactorDraws::new(laws);
        let n = 40_000;
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); 5];
        draws.run(n, &Seed::for_tests(3), &|_| true, |site, values| all[site].extend(values));
        for (site, values) in all.iter().enumerate() {
            let [means, deviations] = draws.moments(site).unwrap();
            let width = means.len();
            for k in 0..width {
                let own: Vec<f64> = values.iter().copied().skip(k).step_by(width).collect();
                let mean = own.iter().sum::<f64>() / n as f64;
                let second = own.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
                let fourth = own.iter().map(|x| (x - mean).powi(4)).sum::<f64>() / n as f64;
                let error = deviations[k] / (n as f64).sqrt();
                assert!((mean - means[k]).abs() < 6.0 * error, "site {site}: mean {mean} {}", means[k]);
                let error = ((fourth - second * second) / n as f64).sqrt();
                assert!((second - deviations[k].powi(2)).abs() < 6.0 * error, "site {site}: {second}");
            }
        }
        // Precision [[1, −0.4], [−0.4, 2]]: μ = P⁻¹η.
        let [means, _] = draws.moments(1).unwrap();
        assert!((means[0] - 5.2 / 1.84).abs() < 1e-14 && (means[1] - 3.8 / 1.84).abs() < 1e-14, "{means:?}");
    }

    #[test]
    fn an_unknown_family_is_refused() {
        assert!(FactorLaw::new("Cauchy", &[&[1.0]], 1).is_err());
    }
}
