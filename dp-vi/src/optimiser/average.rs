//! The mean of a run's last parameters.

use super::{SavedState, state::append};
use crate::error::Result;

/// The mean of the parameters over the last part of a run, which has less noise than the last value.
#[derive(Clone, Debug)]
pub(crate) struct TailAverage {
    sum: Vec<f64>,
    from: u64,
    count: u64,
}

impl TailAverage {
    pub(crate) fn new(parameters: usize, steps: u64, fraction: f64) -> Self {
        let tail = ((steps as f64 * fraction).ceil() as u64).clamp(1, steps.max(1));
        Self { sum: vec![0.0; parameters], from: steps.saturating_sub(tail), count: 0 }
    }

    /// Takes the parameters after this step (counted from 0).
    pub(crate) fn take(&mut self, step: u64, parameters: &[f64]) {
        if step >= self.from {
            self.count += 1;
            self.sum.iter_mut().zip(parameters).for_each(|(sum, parameter)| *sum += parameter);
        }
    }

    /// The mean, or `now` if the tail has not begun.
    pub(crate) fn mean(&self, now: &[f64]) -> Vec<f64> {
        if self.count == 0 {
            return now.to_vec();
        }
        self.sum.iter().map(|sum| sum / self.count as f64).collect()
    }

    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        // Below 10⁹ steps, so exact.
        state.push(self.count as f64);
        append(state, &self.sum);
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let mut count = [0.0];
        state.copy_to(&mut count)?;
        self.count = count[0] as u64;
        state.copy_to(&mut self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_is_averaged() {
        let mut average = TailAverage::new(1, 4, 0.5);
        for step in 0..4 {
            average.take(step, &[step as f64]);
        }
        assert_eq!(average.mean(&[9.0]), [2.5]);
        assert_eq!(TailAverage::new(1, 4, 0.5).mean(&[9.0]), [9.0]);
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
}
