//! The built-in population: synthetic records that anybody may have.

use ndarray::{Array1, Array2, ArrayView1};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// How many records the standard population has.
pub const RECORDS: usize = 10_000;
/// The true weights of the standard population.
pub const WEIGHTS: [f64; 5] = [-0.79, -2.03, 0.60, 0.74, -0.31];
/// The names of the weights.
pub const NAMES: [&str; 5] = ["w1", "w2", "w3", "w4", "w5"];

/// The public seed of the standard population.
const SEED: [u8; 32] = *b"dp-examples population version 1";

/// Records drawn from a logistic regression with known weights.
///
/// ```text
/// x[i, j] ~ N(0, 1)        y[i] ~ Bernoulli(1 / (1 + exp(−Σ_j x[i, j] w[j])))
/// ```
///
/// Shapes: `features` is records × weights, `labels` has one entry per record, 0 or 1.
///
/// # Privacy
///
/// The seed is public and the records describe no real person, so there is nothing to protect: they stand in
/// for a sensitive file. The seed has nothing to do with the secret randomness of a fit.
///
/// # Examples
///
/// ```
/// use dp_examples::logistic::population::{Population, RECORDS, WEIGHTS};
///
/// let population = Population::standard();
/// assert_eq!(population.features.dim(), (RECORDS, WEIGHTS.len()));
/// assert_eq!(population.weights.to_vec(), WEIGHTS);
/// assert!(population.labels.iter().all(|&label| label == 0.0 || label == 1.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// Records × weights.
    pub features: Array2<f64>,
    /// One label per record.
    pub labels: Array1<f64>,
    /// The weights that made the labels.
    pub weights: Array1<f64>,
}

impl Population {
    /// The population of the quickstart: the same records on every machine.
    pub fn standard() -> Self {
        Self::generate(SEED, RECORDS, &WEIGHTS)
    }

    /// `records` records with the given true weights; the outcome is a function of the arguments.
    ///
    /// The features are drawn record by record, so a larger population begins with the smaller one's
    /// features.
    ///
    /// # Accuracy
    ///
    /// Normal variates by the method of Box and Muller from 53-bit uniforms: none exceeds 8.6 in size.
    ///
    /// # References
    ///
    /// G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
    pub fn generate(seed: [u8; 32], records: usize, weights: &[f64]) -> Self {
        // One stream for the features and one for the labels.
        let mut for_features = ChaCha20Rng::from_seed(seed);
        let mut for_labels = ChaCha20Rng::from_seed(seed);
        for_labels.set_stream(1);
        let mut spare = None;
        let normal = || normal(&mut for_features, &mut spare);
        let weights = Array1::from(weights.to_vec());
        let features = Array2::from_shape_simple_fn((records, weights.len()), normal);
        let label = |record: ArrayView1<'_, f64>| {
            // Summed in a fixed order: a vectorised product could round differently on another machine.
            let logit: f64 = record.iter().zip(&weights).map(|(x, w)| x * w).sum();
            let positive = uniform(&mut for_labels) < 1.0 / (1.0 + libm::exp(-logit));
            if positive { 1.0 } else { 0.0 }
        };
        let labels = features.rows().into_iter().map(label).collect();
        Self { features, labels, weights }
    }
}

/// A multiple of 2⁻⁵³ in `[0, 1)`.
fn uniform(rng: &mut impl Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// A standard normal variate; they come in pairs, and the second waits in `spare`.
///
/// The functions are those of `libm` in software, which give the same bits on every platform.
fn normal(rng: &mut impl Rng, spare: &mut Option<f64>) -> f64 {
    if let Some(second) = spare.take() {
        return second;
    }
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(rng)));
    let angle = std::f64::consts::TAU * uniform(rng);
    *spare = Some(radius * libm::sin(angle));
    radius * libm::cos(angle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a over the bits of every number: any changed bit changes it.
    fn fingerprint<'a>(numbers: impl Iterator<Item = &'a f64>) -> u64 {
        numbers
            .flat_map(|number| number.to_bits().to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    #[test]
    fn value_stability() {
        let population = Population::standard();
        let first = [
            1.161533607627246,
            0.41094566397365706,
            0.8658458893187753,
            -0.06058031986956885,
            -0.300658011836743,
        ];
        assert_eq!(population.features.row(0).to_vec(), first);
        let labels: Vec<f64> = population.labels.iter().take(10).copied().collect();
        assert_eq!(labels, [0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(fingerprint(population.features.iter()), 13_479_317_157_823_498_250);
        assert_eq!(fingerprint(population.labels.iter()), 2_584_602_873_971_120_664);
    }

    /// 50,000 independent standard normals; false-alarm rate below 1e-8 in all: each statistic lies within
    /// six of its standard deviations (1/√n for the mean, √(2/n) for the second moment, √(15/n) and √(96/n)
    /// for the next).
    #[test]
    fn features_are_standard_normal() {
        let population = Population::standard();
        let n = population.features.len() as f64;
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let moment = population.features.iter().map(|x| x.powi(power)).sum::<f64>() / n;
            let sd = (variance / n).sqrt();
            assert!((moment - expected).abs() < 6.0 * sd, "moment {power}: {moment}");
        }
    }

    /// The score of a logistic regression at its true weights, Σ (y − p) x_j, has mean 0 and variance Σ p (1
    /// − p) x_j² given the features. Five statistics within six standard deviations: false-alarm rate below
    /// 1e-7.
    #[test]
    fn labels_follow_the_weights() {
        let population = Population::standard();
        for j in 0..WEIGHTS.len() {
            let (mut score, mut variance) = (0.0, 0.0);
            for (record, label) in population.features.rows().into_iter().zip(&population.labels) {
                let p = 1.0 / (1.0 + (-record.dot(&population.weights)).exp());
                score += (label - p) * record[j];
                variance += p * (1.0 - p) * record[j] * record[j];
            }
            assert!(score.abs() < 6.0 * variance.sqrt(), "weight {j}: {score} with sd {}", variance.sqrt());
        }
    }

    #[test]
    fn sizes_are_free() {
        let small = Population::generate([1; 32], 3, &[1.0, 2.0, 3.0]);
        let large = Population::generate([1; 32], 7, &[1.0, 2.0, 3.0]);
        assert_eq!(small.features, large.features.slice(ndarray::s![..3, ..]));
        assert_eq!(small.labels, large.labels.slice(ndarray::s![..3]));
        assert_eq!(Population::generate([1; 32], 0, &[]).features.dim(), (0, 0));
    }
}
