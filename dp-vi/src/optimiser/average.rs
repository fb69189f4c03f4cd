//! The mean of a run's last parameters.

use super::{ParameterLayout, SavedState, state::append};
use crate::error::Result;
use std::ops::Range;

/// The factors of [`RelativeScales`](crate::guides::RelativeScales), by the name of their parameter: which of its
/// elements the guide uses. Noise that steps leave in the others is none of a standard deviation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RelativeFactors {
    /// All columns of each row.
    Whole(String),
    /// Those below the diagonal of a square matrix.
    Below(String),
}

/// Scales relative to factors: `sd_i = e^log_scale_i · √(1 + Σ_j factors_ij²)`, and where both are.
#[derive(Clone, Debug)]
struct Relative {
    log_scale: Range<usize>,
    factors: Range<usize>,
    /// Whether only factors below the diagonal are any.
    below: bool,
}

impl Relative {
    /// For each scale its place and `1 + Σ_j factors_ij²`.
    fn squares<'a>(&'a self, parameters: &'a [f64]) -> impl Iterator<Item = (usize, f64)> + 'a {
        let columns = self.factors.len() / self.log_scale.len();
        let rows = parameters[self.factors.clone()].chunks_exact(columns.max(1));
        let squares = rows.enumerate().map(move |(number, row)| {
            let used = if self.below { number.min(columns) } else { columns };
            1.0 + row[..used].iter().map(|factor| factor * factor).sum::<f64>()
        });
        self.log_scale.clone().zip(squares)
    }
}

/// The mean of the parameters over the last part of a run, which has less noise than the last value. Where
/// scales are relative to factors, variances are averaged in their place.
#[derive(Clone, Debug)]
pub(crate) struct TailAverage {
    sum: Vec<f64>,
    from: u64,
    count: u64,
    /// The sum over the first half of the tail, and how many steps that are; not in a checkpoint, so that a run that
    /// was resumed after it has none.
    half: u64,
    first: Vec<f64>,
    has_first: bool,
    relative: Vec<Relative>,
    /// Sums of variances, of one set of relative scales after the other.
    variances: Vec<f64>,
}

impl TailAverage {
    pub(crate) fn new(parameters: usize, steps: u64, fraction: f64) -> Self {
        let tail = ((steps as f64 * fraction).ceil() as u64).clamp(1, steps.max(1));
        let (sum, from) = (vec![0.0; parameters], steps.saturating_sub(tail));
        let first = sum.clone();
        let (relative, variances) = (Vec::new(), Vec::new());
        Self { sum, from, count: 0, half: tail / 2, first, has_first: false, relative, variances }
    }

    /// Averages the variances of scales that are relative to factors: pairs of names of parameters, and which
    /// factors count. Those that the layout does not have, or whose sizes do not go together, are left as they are.
    pub(crate) fn with_relative_scales(
        mut self,
        layout: &ParameterLayout,
        names: impl IntoIterator<Item = (String, RelativeFactors)>,
    ) -> Self {
        let find = |name: &str| layout.iter().find(|(known, _)| *known == name).map(|(_, range)| range);
        let pairs = names.into_iter().filter_map(|(log_scale, factors)| {
            let (name, below) = match &factors {
                RelativeFactors::Whole(name) => (name, false),
                RelativeFactors::Below(name) => (name, true),
            };
            let (log_scale, factors) = (find(&log_scale)?, find(name)?);
            let go_together = !log_scale.is_empty() && factors.len().is_multiple_of(log_scale.len());
            go_together.then_some(Relative { log_scale, factors, below })
        });
        self.relative = pairs.collect();
        self.variances = vec![0.0; self.relative.iter().map(|relative| relative.log_scale.len()).sum()];
        self
    }

    /// Takes the parameters after this step (counted from 0).
    pub(crate) fn take(&mut self, step: u64, parameters: &[f64]) {
        if step < self.from {
            return;
        }
        self.count += 1;
        self.sum.iter_mut().zip(parameters).for_each(|(sum, parameter)| *sum += parameter);
        let scales = self.relative.iter().flat_map(|relative| relative.squares(parameters));
        let variances = scales.map(|(scale, squares)| (2.0 * parameters[scale]).exp() * squares);
        self.variances.iter_mut().zip(variances).for_each(|(sum, variance)| *sum += variance);
        if self.count == self.half {
            self.first.copy_from_slice(&self.sum);
            self.has_first = true;
        }
    }

    /// The means over the first half of the tail and over what comes after it, where there are as many steps after it.
    pub(crate) fn halves(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        if !self.has_first || self.count < 2 * self.half {
            return None;
        }
        let (half, rest) = (self.half as f64, (self.count - self.half) as f64);
        let second = self.sum.iter().zip(&self.first).map(|(sum, first)| (sum - first) / rest).collect();
        Some((self.first.iter().map(|sum| sum / half).collect(), second))
    }

    /// The mean, or `now` if the tail has not begun.
    pub(crate) fn mean(&self, now: &[f64]) -> Vec<f64> {
        if self.count == 0 {
            return now.to_vec();
        }
        let mut mean: Vec<f64> = self.sum.iter().map(|sum| sum / self.count as f64).collect();
        let scales: Vec<_> = self.relative.iter().flat_map(|relative| relative.squares(&mean)).collect();
        for ((scale, squares), sum) in scales.into_iter().zip(&self.variances) {
            mean[scale] = 0.5 * (sum / self.count as f64 / squares).ln();
        }
        mean
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        // Below 10⁹ steps, so exact.
        state.push(self.count as f64);
        append(state, &self.sum);
        append(state, &self.variances);
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let mut count = [0.0];
        state.copy_to(&mut count)?;
        self.count = count[0] as u64;
        state.copy_to(&mut self.sum)?;
        state.copy_to(&mut self.variances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(factors: fn(String) -> RelativeFactors) -> [(String, RelativeFactors); 1] {
        [("scale".to_owned(), factors("factors".to_owned()))]
    }

    #[test]
    fn tail_is_averaged() {
        let mut average = TailAverage::new(1, 4, 0.5);
        for step in 0..4 {
            average.take(step, &[step as f64]);
        }
        assert_eq!(average.mean(&[9.0]), [2.5]);
        assert_eq!(TailAverage::new(1, 4, 0.5).mean(&[9.0]), [9.0]);
        assert_eq!(average.halves(), Some((vec![2.0], vec![3.0])));
        let mut begun = TailAverage::new(1, 8, 1.0);
        (0..7).for_each(|step| begun.take(step, &[step as f64]));
        assert_eq!(begun.halves(), None);
    }

    #[test]
    fn an_average_goes_on_where_it_was_saved() {
        let mut whole = TailAverage::new(2, 10, 0.7);
        let mut begun = whole.clone();
        let at = |step: u64| [step as f64 / 3.0, -(step as f64)];
        (0..10).for_each(|step| whole.take(step, &at(step)));
        (0..6).for_each(|step| begun.take(step, &at(step)));
        let mut numbers = Vec::new();
        begun.save(&mut numbers);
        let mut resumed = TailAverage::new(2, 10, 0.7);
        let mut state = SavedState::new(&numbers);
        resumed.restore(&mut state).unwrap();
        state.finish().unwrap();
        (6..10).for_each(|step| resumed.take(step, &at(step)));
        assert_eq!(resumed.mean(&[]), whole.mean(&[]));
    }

    /// Factors that scatter around an optimum, with scales that make up for it step by step: the average has
    /// the standard deviations that every step has. By themselves the scales would average to ones that are
    /// too small, as the last line shows.
    #[test]
    fn scatter_around_an_optimum_moves_no_standard_deviation() {
        let layout = ParameterLayout::new([("scale", 3), ("factors", 9), ("other", 1)]);
        let average = TailAverage::new(13, 1000, 0.5);
        let mut average = average.with_relative_scales(&layout, named(RelativeFactors::Whole));
        let (sds, mut scales) = ([0.5, 2.0, 30.0], [0.0; 3]);
        let number = |k: u64| ((k * 2_654_435_761) % 1_000_003) as f64 / 500_001.5 - 1.0;
        for step in 0..1000_u64 {
            let mut parameters = vec![0.0; 13];
            for row in 0..3_usize {
                for column in 0..row {
                    let place = 3 + 3 * row + column;
                    parameters[place] = 0.7 + 2.0 * number(13 * step + place as u64);
                }
                let squares: f64 = parameters[3 + 3 * row..6 + 3 * row].iter().map(|k| k * k).sum();
                parameters[row] = (sds[row] / (1.0 + squares).sqrt()).ln();
                if step >= 500 {
                    scales[row] += parameters[row] / 500.0;
                }
            }
            parameters[12] = step as f64;
            average.take(step, &parameters);
        }
        let mean = average.mean(&[]);
        assert_eq!(mean[12], 749.5);
        for row in 0..3 {
            let squares: f64 = mean[3 + 3 * row..6 + 3 * row].iter().map(|k| k * k).sum();
            let sd = |log_scale: f64| log_scale.exp() * (1.0 + squares).sqrt();
            assert!((sd(mean[row]) / sds[row] - 1.0).abs() < 1e-12);
            assert!(row == 0 || sd(scales[row]) < 0.9 * sds[row]);
        }
    }

    /// Noise in elements that a triangular guide does not use moves none of its standard deviations.
    #[test]
    fn what_a_guide_does_not_use_counts_for_nothing() {
        let layout = ParameterLayout::new([("scale", 3), ("factors", 9)]);
        let average =
            TailAverage::new(12, 100, 1.0).with_relative_scales(&layout, named(RelativeFactors::Below));
        let (mut clean, mut noisy) = (average.clone(), average);
        for step in 0..100_u64 {
            let number = |k: u64| (((12 * step + k) * 2_654_435_761) % 1_000_003) as f64 / 500_001.5 - 1.0;
            let at = |noise: f64| -> Vec<f64> {
                let of = |k: u64| match k {
                    3.. if (k - 3) % 3 >= (k - 3) / 3 => noise * number(k),
                    _ => number(k),
                };
                (0..12).map(of).collect()
            };
            clean.take(step, &at(0.0));
            noisy.take(step, &at(50.0));
        }
        assert_eq!(clean.mean(&[])[..3], noisy.mean(&[])[..3]);
    }

    #[test]
    fn scales_without_factors_are_averaged_as_they_are() {
        let layout = ParameterLayout::new([("scale", 1)]);
        let average = TailAverage::new(1, 2, 1.0);
        let mut average = average.with_relative_scales(&layout, named(RelativeFactors::Whole));
        average.take(0, &[1.0]);
        average.take(1, &[3.0]);
        assert_eq!(average.mean(&[]), [2.0]);
    }
}
