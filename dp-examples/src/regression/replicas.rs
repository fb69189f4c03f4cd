//! An outcome at each draw of a posterior, for intervals of what will be seen and not of its mean alone.

use ppl_distributions::{Gamma, Normal, StudentT};

use super::family::Family;
use super::outcome::Outcome;
use super::posterior::Draws;

/// Means of counts above this have quantiles by a formula: from here on it is off by less than one.
const MANY: f64 = 200.0;

/// Outcomes at every draw of a posterior: a mean and what the family adds to it at that draw, which is the same for all
/// records.
///
/// ```text
/// gaussian  y_d = μ_d + σ_d z(u_d)           student  y_d = μ_d + σ_d t_{ν_d}(u_d)         z, t quantiles
/// counts    y_d = the quantile at v_d of a Poisson law of mean μ_d g_d
///           g_d the quantile at u_d of Gamma(φ_d, φ_d), or 1
///           0 where w_d is below the share of zeros
/// ```
///
/// `u_d`, `v_d` and `w_d` are fixed and spread evenly over the draws, multiples of irrational numbers less their whole
/// parts, so that the same model predicts the same.
pub(super) struct Replicas {
    /// What is added to a mean.
    added: Option<Vec<f64>>,
    counts: Option<Counts>,
    low: f64,
    high: f64,
}

struct Counts {
    /// What a mean is multiplied by, and the share of zeros.
    factors: Vec<f64>,
    zeros: Option<Vec<f64>>,
    chances: Vec<f64>,
    chances_of_zero: Vec<f64>,
}

/// Multiples of a number less their whole parts: of the golden ratio and such, spread evenly however many they are.
fn spread(count: usize, by: f64) -> Vec<f64> {
    (0..count).map(|k| ((k as f64 + 0.5) * by).fract().clamp(1e-12, 1.0 - 1e-12)).collect()
}

impl Replicas {
    /// `None` where the probabilities of outcomes say all of them: of yes or no, and of ordered categories.
    pub(super) fn new(family: Family, draws: &Draws, outcome: &Outcome) -> Option<Self> {
        let count = draws.coefficients.len();
        let of = |name: &str| draws.other(name);
        // √5/2 − 1/2, √2 − 1 and √3 − 1: together as even as each.
        let [u, v, w] =
            [0.618_033_988_749_895, 0.414_213_562_373_095, 0.732_050_807_568_877].map(|by| spread(count, by));
        let (mut added, mut counts) = (None, None);
        match family {
            Family::Bernoulli | Family::Ordinal => return None,
            Family::Gaussian => {
                let standard = Normal::new(0.0, 1.0);
                let one = |(sigma, u): (&f64, &f64)| sigma * standard.quantile(*u);
                added = Some(of("sigma")?.iter().zip(&u).map(one).collect());
            }
            Family::Student => {
                let tails = of("nu")?.iter().zip(&u);
                let one = |(sigma, (nu, u)): (&f64, (&f64, &f64))| {
                    sigma * StudentT::new(*nu, 0.0, 1.0).quantile(*u)
                };
                added = Some(of("sigma")?.iter().zip(tails).map(one).collect());
            }
            Family::Poisson | Family::NegativeBinomial | Family::ZeroInflatedPoisson => {
                let factors = match of("phi").filter(|_| family == Family::NegativeBinomial) {
                    Some(phi) => phi.iter().zip(&u).map(|(phi, u)| dispersed(*phi, *u)).collect(),
                    None => vec![1.0; count],
                };
                let zeros =
                    of("zeros").filter(|_| family == Family::ZeroInflatedPoisson).map(<[f64]>::to_vec);
                counts = Some(Counts { factors, zeros, chances: v, chances_of_zero: w });
            }
        }
        Some(Self { added, counts, low: outcome.low, high: outcome.high })
    }

    /// Makes outcomes of the means at every draw, within the public bounds.
    pub(super) fn of(&self, means: &mut [f64]) {
        if let Some(added) = &self.added {
            means.iter_mut().zip(added).for_each(|(mean, added)| *mean += added);
        }
        if let Some(Counts { factors, zeros, chances, chances_of_zero }) = &self.counts {
            for (draw, mean) in means.iter_mut().enumerate() {
                // The mean of all is the share that is no zero times that of the others.
                let share = zeros.as_ref().map_or(0.0, |zeros| zeros[draw]);
                let others = factors[draw] * *mean / (1.0 - share).max(f64::MIN_POSITIVE);
                *mean = if chances_of_zero[draw] < share {
                    0.0
                } else {
                    quantile_of_count(others, chances[draw])
                };
            }
        }
        means.iter_mut().for_each(|outcome| *outcome = outcome.clamp(self.low, self.high));
    }
}

/// The quantile of a law of mean 1 and variance `1/φ`, which is next to none where `φ` is as large as this.
fn dispersed(phi: f64, chance: f64) -> f64 {
    if phi > 1e9 { 1.0 } else { Gamma::new(phi, phi).quantile(chance) }
}

/// The least count that a Poisson law of this mean does not exceed with this probability; above [`MANY`] by the cube
/// root of a gamma variable, which is nearly normal (Wilson and Hilferty 1931).
fn quantile_of_count(mean: f64, chance: f64) -> f64 {
    if mean.is_nan() {
        return mean;
    }
    if mean > MANY {
        let root = 1.0 - (9.0 * mean).recip() + Normal::new(0.0, 1.0).quantile(chance) / (3.0 * mean.sqrt());
        return (mean * root.max(0.0).powi(3)).round();
    }
    let (mut count, mut term) = (0.0, (-mean).exp());
    let mut below = term;
    // The last terms of a sum of doubles add nothing to it.
    while below < chance && count < 10.0 * MANY {
        count += 1.0;
        term *= mean / count;
        below += term;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 4_000;

    fn wide() -> Outcome {
        Outcome { name: "y".to_owned(), levels: Vec::new(), low: -1e6, high: 1e6 }
    }

    fn outcomes(family: Family, mean: f64, more: &[(&str, f64)]) -> Vec<f64> {
        let draws = Draws {
            names: vec!["Intercept".to_owned()],
            coefficients: vec![vec![0.0]; DRAWS],
            point: None,
            groups: Vec::new(),
            more: more.iter().map(|(name, value)| ((*name).to_owned(), vec![*value; DRAWS])).collect(),
        };
        let outcome = wide();
        let mut found = vec![mean; DRAWS];
        Replicas::new(family, &draws, &outcome).unwrap().of(&mut found);
        found
    }

    fn moments(found: &[f64]) -> (f64, f64) {
        let mean = found.iter().sum::<f64>() / DRAWS as f64;
        (mean, found.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / DRAWS as f64)
    }

    /// Means and variances of 4,000 outcomes that are spread evenly are those of the laws.
    #[test]
    fn outcomes_have_the_moments_of_their_families() {
        for (family, mean, more, variance) in [
            (Family::Gaussian, 3.0, &[("sigma", 2.0)][..], 4.0_f64),
            // ν/(ν − 2)
            (Family::Student, -1.0, &[("sigma", 2.0), ("nu", 6.0)], 6.0),
            (Family::Poisson, 2.5, &[], 2.5),
            (Family::Poisson, 450.0, &[], 450.0),
            // μ + μ²/φ
            (Family::NegativeBinomial, 4.0, &[("phi", 2.0)], 12.0),
            // The mean of all is 3, of the others 4: 3 + 3·(4 − 3)
            (Family::ZeroInflatedPoisson, 3.0, &[("zeros", 0.25)], 6.0),
        ] {
            let (found, spread) = moments(&outcomes(family, mean, more));
            assert!((found - mean).abs() < 0.02 * variance.sqrt(), "{family:?} {found}");
            assert!((spread / variance - 1.0).abs() < 0.06, "{family:?} {spread}");
        }
    }

    /// Against sums of probabilities, and across the two formulas.
    #[test]
    fn quantiles_of_counts() {
        for (mean, chance, expected) in
            [(0.0, 0.9, 0.0), (1.0, 0.36, 0.0), (1.0, 0.37, 1.0), (1.0, 0.999, 5.0)]
        {
            assert_eq!(quantile_of_count(mean, chance), expected, "{mean} {chance}");
        }
        for chance in [0.01, 0.2, 0.5, 0.8, 0.99] {
            let apart = quantile_of_count(MANY * (1.0 + 1e-9), chance) - quantile_of_count(MANY, chance);
            assert!(apart.abs() <= 1.0, "{chance} {apart}");
        }
        assert!(quantile_of_count(f64::NAN, 0.5).is_nan());
    }

    #[test]
    fn bounds_are_kept_and_probabilities_say_the_rest() {
        assert!(outcomes(Family::Gaussian, 0.0, &[("sigma", 1e7)]).iter().all(|y| y.abs() <= 1e6));
        let draws = Draws {
            names: Vec::new(),
            coefficients: vec![Vec::new()],
            point: None,
            groups: Vec::new(),
            more: Vec::new(),
        };
        for family in [Family::Bernoulli, Family::Ordinal] {
            assert!(Replicas::new(family, &draws, &wide()).is_none());
        }
    }
}
