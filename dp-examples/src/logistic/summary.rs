//! What a fit says about each weight.

use serde::Serialize;

use crate::{Error, Result};

/// The standard normal's quantile at 0.95: 90 % of a normal lie within this many standard deviations.
const QUANTILE_95: f64 = 1.644_853_626_951_472_2;

/// A normal marginal of a posterior.
///
/// # Examples
///
/// ```
/// use dp_examples::logistic::summary::Marginal;
///
/// let marginal = Marginal::new(1.0, 0.5)?;
/// let (low, high) = marginal.interval_90();
/// assert!((low - 0.1776).abs() < 1e-4 && (high - 1.8224).abs() < 1e-4);
/// assert!(Marginal::new(0.0, -1.0).is_err());
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Marginal {
    mean: f64,
    sd: f64,
}

impl Marginal {
    /// A marginal with this mean and standard deviation.
    ///
    /// # Errors
    ///
    /// [`Error::Value`] unless the mean is finite and the standard deviation positive and finite.
    pub fn new(mean: f64, sd: f64) -> Result<Self> {
        if !mean.is_finite() {
            return Err(Error::Value { what: "a posterior mean".into(), expected: "finite", value: mean });
        }
        if !(sd > 0.0 && sd.is_finite()) {
            let what = "a posterior standard deviation".into();
            return Err(Error::Value { what, expected: "positive and finite", value: sd });
        }
        Ok(Self { mean, sd })
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation.
    pub fn sd(&self) -> f64 {
        self.sd
    }

    /// The central interval that holds 90 % of the probability.
    pub fn interval_90(&self) -> (f64, f64) {
        (self.mean - QUANTILE_95 * self.sd, self.mean + QUANTILE_95 * self.sd)
    }

    /// The density at `value`, per unit of the weight.
    pub fn density(&self, value: f64) -> f64 {
        let z = (value - self.mean) / self.sd;
        (-0.5 * z * z).exp() / (self.sd * std::f64::consts::TAU.sqrt())
    }
}

/// One weight: the truth where it is known, the private posterior, and the non-private one beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WeightSummary {
    /// The coefficient's name.
    pub name: String,
    /// The weight that made the data, for synthetic data.
    pub truth: Option<f64>,
    /// The private posterior.
    pub private: Marginal,
    /// The posterior of a fit without privacy, where one was made.
    ///
    /// # Privacy
    ///
    /// It is computed from the records without noise: nothing protects it.
    pub reference: Option<Marginal>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A summary for tests of what shows it.
    pub(crate) fn weight(
        name: &str,
        truth: Option<f64>,
        private: (f64, f64),
        reference: Option<(f64, f64)>,
    ) -> WeightSummary {
        WeightSummary {
            name: name.into(),
            truth,
            private: Marginal::new(private.0, private.1).unwrap(),
            reference: reference.map(|(mean, sd)| Marginal::new(mean, sd).unwrap()),
        }
    }

    #[test]
    fn parameters_are_checked() {
        for (mean, sd) in
            [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (0.0, 0.0), (0.0, f64::NAN), (0.0, f64::INFINITY)]
        {
            assert!(matches!(Marginal::new(mean, sd), Err(Error::Value { .. })), "{mean} {sd}");
        }
    }

    /// The trapezium rule on a smooth function that vanishes at both ends errs by far less than the tail left
    /// out, 2 · Φ(−8) < 2e-15, plus rounding over 1,600 terms.
    #[test]
    fn the_density_integrates_to_one_and_to_90_percent() {
        let marginal = Marginal::new(-3.0, 0.25).unwrap();
        let step = 0.01 * marginal.sd();
        let total: f64 = (-800..=800).map(|k| marginal.density(-3.0 + f64::from(k) * step) * step).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
        // The rule's error over a finite interval is below width · step² / 12 · max |f''| = 3.3 · 1e-4 / 12 ·
        // 0.4.
        let (low, high) = marginal.interval_90();
        let width = (high - low) / 330.0;
        let inside: f64 =
            (0..330).map(|k| marginal.density(low + (f64::from(k) + 0.5) * width) * width).sum();
        assert!((inside - 0.9).abs() < 1.2e-5, "{inside}");
    }

    #[test]
    fn serialises_plainly() {
        let summary = WeightSummary {
            name: "w1".into(),
            truth: None,
            private: Marginal::new(1.0, 0.5).unwrap(),
            reference: None,
        };
        assert_eq!(
            serde_json::to_string(&summary).unwrap(),
            r#"{"name":"w1","truth":null,"private":{"mean":1.0,"sd":0.5},"reference":null}"#
        );
    }
}
