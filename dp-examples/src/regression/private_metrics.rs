//! Figures of test records that a part of a budget is spent on.

use dp_accountant::{Budget, Composition, Event, Mechanism, Purse, Sampling, calibrate_noise_multiplier};
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use dp_vi::Sensitive;
use dp_vi::summaries::Summaries;
use ppl_core::Records;

use super::family::Family;
use super::predict::Prediction;
use super::specification::Specification;
use crate::Error;
use crate::report::number;

/// Bins of the predicted log odds: so many, of this width, around 0. The first and the last have no end.
const BINS: usize = 32;
const WIDTH: f64 = 0.4;

/// Noise that figures are computed again with, to see what the noise in the counts does to them.
const REDRAWN: usize = 400;

/// Records of a group of bins that calibration is shown for, in standard deviations of the noise in a count.
const OF_A_GROUP: f64 = 25.0;

/// A number with the standard deviation that the noise gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noisy {
    /// The number.
    pub value: f64,
    /// The standard deviation.
    pub noise: f64,
}

impl std::fmt::Display for Noisy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.noise > 0.0 {
            true => write!(f, "{} ± {}", number(self.value, self.noise), number(self.noise, self.noise)),
            false => write!(f, "{}", self.value),
        }
    }
}

/// Predicted and observed shares of a range of predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyCalibration {
    /// About how many records.
    pub records: f64,
    /// The mean predicted probability.
    pub predicted: f64,
    /// The share of positive outcomes.
    pub observed: Noisy,
}

/// How good predictions of test records are, from released counts or means.
///
/// # Privacy
///
/// For outcomes that are yes or no, test records are counted by outcome and by predicted log odds, in bins
/// that are fixed
/// before anything is seen. A record is in one of the 64 cells, so a neighbour by addition or removal changes
/// one count by
/// 1; all counts are one release of [`Summaries::histogram`]. Figures are functions of the counts. For other outcomes
/// three means are released ([`Summaries::mean`]), of the squared error, the outcome and its square, between
/// bounds that
/// follow from the outcome's public ones.
///
/// The model is public here. It was made from other records: each record is either fitted or tested, by a
/// coin of its own. Whatever the coin
/// says, one of the two releases does not depend on the record given the other records, so that both together
/// are private
/// with the larger ε of the two, not their sum.
///
/// # Accuracy
///
/// Figures are those of predictions that were moved to the middle of their bin, by at most 0.2 of the log odds, and to
/// ±6.2 beyond. The stated noise is found by adding as much noise again, 400 times.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateMetrics {
    /// What was spent.
    pub epsilon: f64,
    /// Its δ.
    pub delta: f64,
    /// About how many test records.
    pub records: f64,
    /// Standard deviation of the noise in each count; of means, `None`.
    pub noise: Option<f64>,
    /// Names, values, and the same of the best constant.
    pub figures: Vec<(&'static str, Noisy, Option<Noisy>)>,
    /// Predicted and observed shares.
    pub calibration: Vec<NoisyCalibration>,
    /// Whether the noise came from a secret seed. If not, nothing of this is private.
    pub secret: bool,
}

type Failure = Box<dyn std::error::Error>;

/// The largest noise multiplier, far beyond the number of records for which figures say anything.
const LARGEST_NOISE: f64 = 1e6;

/// The middle of a bin, as a probability.
fn middle(bin: usize) -> f64 {
    let eta = WIDTH * (bin as f64 + 0.5 - 0.5 * BINS as f64);
    1.0 / (1.0 + (-eta).exp())
}

/// The bin of a predicted probability.
fn bin(probability: f64) -> usize {
    let eta = (probability / (1.0 - probability)).ln();
    // Saturates at both ends.
    ((eta / WIDTH + 0.5 * BINS as f64).floor() as usize).min(BINS - 1)
}

impl PrivateMetrics {
    /// The noise multiplier of each release of these figures.
    ///
    /// # Errors
    ///
    /// A budget that is out of range, or needs more noise than can be drawn.
    pub fn noise(family: Family, budget: &Budget) -> Result<f64, Failure> {
        // What integer noise deviates from its law, 2⁻²⁴⁰ of δ, has room in this.
        let most = Budget { delta: budget.delta * (1.0 - 1e-9), ..*budget };
        let releases = if family == Family::Bernoulli { 1 } else { 3 };
        let found = calibrate_noise_multiplier(&most, |noise_multiplier| {
            let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None)?;
            Ok(Composition::single(event, releases))
        })?;
        match found.noise_multiplier {
            noise if noise > LARGEST_NOISE => {
                let Budget { epsilon, delta, .. } = budget;
                let reason = format!(
                    "--private-metrics {epsilon:e} at --delta {delta:e} needs noise of {noise:.1e} records, and at most \
                     {LARGEST_NOISE:e} can be drawn"
                );
                Err(Error::Formula { reason }.into())
            }
            noise => Ok(noise.max(1e-3)),
        }
    }

    /// Releases figures of predictions and outcomes of test records.
    ///
    /// # Errors
    ///
    /// A budget that is out of range, and a purse that does not hold it; then nothing is debited.
    pub fn new(
        specification: &Specification,
        predictions: &[Prediction],
        outcomes: &[f64],
        budget: &Budget,
        purse: &mut dyn Purse,
        seed: Seed,
    ) -> Result<Self, Failure> {
        let noise_multiplier = Self::noise(specification.family, budget)?;
        let secret = seed.is_secret();
        let pairs = predictions.iter().zip(outcomes);
        let (records, noise, figures, calibration) = match specification.family {
            Family::Bernoulli => {
                let cells: Vec<f64> =
                    pairs.map(|(one, y)| (2 * bin(one.mean) + usize::from(*y == 1.0)) as f64).collect();
                let records = Sensitive::new(Records::from_columns([("cell", cells)])?);
                let edges: Vec<f64> = (0..=2 * BINS).map(|edge| edge as f64).collect();
                let counted =
                    Summaries::new(&records, seed)?.histogram("cell", &edges, noise_multiplier, purse)?;
                let figures = of_counts(&counted.counts, counted.noise);
                let calibration = calibration(&counted.counts, counted.noise);
                (counted.counts.iter().sum::<f64>(), Some(counted.noise), figures, calibration)
            }
            _ => {
                let (low, high) = (specification.outcome.low, specification.outcome.high);
                let square = |x: f64| x * x;
                let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
                let errors: Vec<f64> = pairs.map(|(one, y)| square(one.mean.clamp(low, high) - y)).collect();
                let away: Vec<f64> = outcomes.iter().map(|y| y - middle).collect();
                let squares: Vec<f64> = away.iter().map(|away| square(*away)).collect();
                let columns = [("error", errors), ("away", away), ("square", squares)];
                let records = Sensitive::new(Records::from_columns(columns)?);
                let mut summaries = Summaries::new(&records, seed)?;
                let mut mean =
                    |column: &str, bounds| summaries.mean(column, bounds, noise_multiplier, &mut *purse);
                let errors = mean("error", (0.0, square(high - low)))?;
                let away = mean("away", (-half, half))?;
                let squares = mean("square", (0.0, square(half)))?;
                let spread = (squares.value - square(away.value)).max(0.0);
                let root = |value: f64, noise: f64| Noisy {
                    value: value.max(0.0).sqrt(),
                    noise: noise / (2.0 * value.max(noise).sqrt()),
                };
                let of_base = squares.noise.hypot(2.0 * away.value * away.noise);
                let figures = vec![
                    ("root mean square error", root(errors.value, errors.noise), Some(root(spread, of_base))),
                    ("mean outcome", Noisy { value: middle + away.value, noise: away.noise }, None),
                ];
                (errors.count, None, figures, Vec::new())
            }
        };
        Ok(Self {
            epsilon: budget.epsilon,
            delta: budget.delta,
            records,
            noise,
            figures,
            calibration,
            secret,
        })
    }
}

/// Figures of counts by outcome and bin, each with what noise of this standard deviation makes of it.
fn of_counts(counts: &[f64], noise: f64) -> Vec<(&'static str, Noisy, Option<Noisy>)> {
    const NAMES: [&str; 4] = ["area under the ROC curve", "log loss", "accuracy", "base rate"];
    let Some(found) = Figures::new(counts) else { return Vec::new() };
    // No secret: noise on what has been released.
    let source = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Custom("redrawn counts"));
    let mut more = vec![0.0; counts.len()];
    let mut again = Vec::with_capacity(REDRAWN);
    for number in 0..REDRAWN {
        source.fill(number as u64, &mut more);
        more.iter_mut().zip(counts).for_each(|(more, count)| *more = count + noise * *more);
        again.extend(Figures::new(&more));
    }
    let noisy = |of: &dyn Fn(&Figures) -> f64| {
        let value = of(&found);
        let squares: f64 = again.iter().map(|other| (of(other) - value).powi(2)).sum();
        Noisy { value, noise: (squares / again.len().max(1) as f64).sqrt() }
    };
    let certain = |value| Noisy { value, noise: 0.0 };
    vec![
        (NAMES[0], noisy(&|one| one.area), Some(certain(0.5))),
        (NAMES[1], noisy(&|one| one.loss), Some(noisy(&|one| one.loss_of_base))),
        (NAMES[2], noisy(&|one| one.right), Some(noisy(&|one| one.base.max(1.0 - one.base)))),
        (NAMES[3], noisy(&|one| one.base), None),
    ]
}

/// What counts say, of predictions that are the middles of the bins.
struct Figures {
    area: f64,
    loss: f64,
    loss_of_base: f64,
    right: f64,
    base: f64,
}

impl Figures {
    /// `None` where noise has left nothing of one of the outcomes.
    fn new(counts: &[f64]) -> Option<Self> {
        let (no, yes): (Vec<f64>, Vec<f64>) = counts.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
        let (all_no, all_yes) = (no.iter().sum::<f64>(), yes.iter().sum::<f64>());
        // Written so that NaN fails.
        if !(all_no > 0.0 && all_yes > 0.0) {
            return None;
        }
        let (mut below, mut ordered, mut loss, mut right) = (0.0, 0.0, 0.0, 0.0);
        for (bin, (no, yes)) in no.iter().zip(&yes).enumerate() {
            ordered += yes * (below + 0.5 * no);
            below += no;
            let p = middle(bin);
            loss -= yes * p.ln() + no * (1.0 - p).ln();
            right += if p > 0.5 { yes } else { no };
        }
        let (all, base) = (all_no + all_yes, all_yes / (all_no + all_yes));
        Some(Self {
            area: (ordered / (all_no * all_yes)).clamp(0.0, 1.0),
            loss: loss / all,
            loss_of_base: -base * base.ln() - (1.0 - base) * (1.0 - base).ln(),
            right: (right / all).clamp(0.0, 1.0),
            base,
        })
    }
}

/// Shares in groups of neighbouring bins that hold so many records that noise does not hide them.
fn calibration(counts: &[f64], noise: f64) -> Vec<NoisyCalibration> {
    // Records, sum of predictions, positive ones, and number of bins.
    let mut groups: Vec<[f64; 4]> = Vec::new();
    let mut open = true;
    for (bin, pair) in counts.chunks_exact(2).enumerate() {
        let all = pair[0] + pair[1];
        let add = [all, all * middle(bin), pair[1], 1.0];
        match groups.last_mut().filter(|_| !open) {
            Some(group) => group.iter_mut().zip(add).for_each(|(sum, x)| *sum += x),
            None => groups.push(add),
        }
        open = groups.last().is_some_and(|group| group[0] >= OF_A_GROUP * noise * group[3].sqrt());
    }
    // What is left at the end belongs to the group before.
    if !open && groups.len() > 1 {
        let rest = groups.pop().unwrap_or_default();
        groups.iter_mut().next_back().into_iter().flatten().zip(rest).for_each(|(sum, x)| *sum += x);
    }
    let shown = groups.into_iter().filter(|group| group[0] >= OF_A_GROUP * noise);
    shown
        .map(|[records, predicted, positive, bins]| {
            let share = (positive / records).clamp(0.0, 1.0);
            // Of a ratio: (yes − share · all) / records.
            let noise = noise * bins.sqrt() * share.hypot(1.0 - share) / records;
            NoisyCalibration {
                records,
                predicted: (predicted / records).clamp(0.0, 1.0),
                observed: Noisy { value: share, noise },
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::split::{area_under_curve, log_loss};

    #[test]
    fn bins_hold_their_middles_and_the_ends_have_no_end() {
        for k in 0..BINS {
            assert_eq!(bin(middle(k)), k);
        }
        assert_eq!([0.0, 1e-300, 0.499, 0.501, 1.0].map(bin), [0, 0, 15, 16, 31]);
    }

    /// Without noise the figures are those of the predictions that were moved to the middles.
    #[test]
    fn figures_of_exact_counts_are_those_of_the_records() {
        let scores: Vec<f64> = (0..500).map(|i| middle((i * 7 + i * i) % BINS)).collect();
        let outcomes: Vec<f64> =
            scores.iter().enumerate().map(|(i, p)| f64::from(((i * 37 % 100) as f64) < 100.0 * p)).collect();
        let mut counts = vec![0.0; 2 * BINS];
        for (p, y) in scores.iter().zip(&outcomes) {
            counts[2 * bin(*p) + usize::from(*y == 1.0)] += 1.0;
        }
        let found = Figures::new(&counts).unwrap();
        assert!((found.area - area_under_curve(&scores, &outcomes).unwrap()).abs() < 1e-12);
        let loss = log_loss(ndarray::aview1(&scores), ndarray::aview1(&outcomes)).unwrap();
        assert!((found.loss - loss).abs() < 1e-12);
        assert!((found.base - outcomes.iter().sum::<f64>() / 500.0).abs() < 1e-12);
        let groups = calibration(&counts, 1.0);
        assert!(
            groups.len() > 3 && (groups.iter().map(|group| group.records).sum::<f64>() - 500.0).abs() < 1e-9
        );
        assert!(Figures::new(&[0.0; 2 * BINS]).is_none() && calibration(&[0.0; 2 * BINS], 1.0).is_empty());
    }

    /// Of 200 noisy sets of counts the figures lie around the exact ones as the stated noise says: mean squares of the
    /// standardised errors within 1 ± 5.2 √(2/200) for what is nearly linear in the counts; α = 2e-7 each.
    #[test]
    fn the_stated_noise_is_that_which_there_is() {
        let counts: Vec<f64> = (0..2 * BINS)
            .map(|cell| {
                30.0 + 100.0 * (if cell % 2 == 1 { middle(cell / 2) } else { 1.0 - middle(cell / 2) })
            })
            .collect();
        let exact = Figures::new(&counts).unwrap();
        let source = GaussianNoise::with_purpose(&Seed::for_tests(4), Purpose::Custom("test"));
        let (mut z, mut squares) = (vec![0.0; counts.len()], [0.0; 3]);
        for number in 0..200 {
            source.fill(number, &mut z);
            let noisy: Vec<f64> = counts.iter().zip(&z).map(|(count, z)| count + 3.0 * z).collect();
            let found = of_counts(&noisy, 3.0);
            for ((_, figure, _), (exact, square)) in
                found.iter().zip([exact.area, exact.loss, exact.right].into_iter().zip(&mut squares))
            {
                *square += ((figure.value - exact) / figure.noise).powi(2) / 200.0;
            }
        }
        assert!(squares.iter().all(|square| (square - 1.0).abs() < 5.2 * 0.1), "{squares:?}");
    }
}
