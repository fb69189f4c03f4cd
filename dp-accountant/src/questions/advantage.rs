//! How well an attacker can guess: advantage, and success against a prior.

use crate::{Accountant, Certified, Error, Result};

/// A bound on the relative rounding of the few operations of a formula in this file.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

impl Accountant {
    /// The largest difference between true and false positive rate that any test of membership reaches: the
    /// total variation distance, which is delta at epsilon 0.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an event without a proven answer.
    ///
    /// ```
    /// use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
    ///
    /// // Two normal laws one standard deviation apart: 2 Φ(1/2) - 1.
    /// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::None)?;
    /// let advantage = Accountant::new(Relation::AddRemove).compose(release, 1).advantage()?;
    /// assert!((advantage.upper - 0.382924922548026).abs() < 1e-12);
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    ///
    /// # References
    /// Yeom, Giacomelli, Fredrikson and Jha 2018, "Privacy Risk in Machine Learning" (membership advantage).
    pub fn advantage(&self) -> Result<Certified> {
        self.delta(0.0)
    }

    /// The largest probability with which anyone guesses right which of two neighbouring data sets it was, if
    /// they were drawn with probabilities `prior` and `1 - prior`.
    ///
    /// ```text
    /// success = max(π, 1-π) + min(π, 1-π) δ(ε),    ε = |log(π / (1-π))|
    /// ```
    ///
    /// because the best guess is right with probability ∫ max(π dP, (1-π) dQ) = (1-π) + π ∫ (dP - e^ε dQ)₊
    /// for e^ε = (1-π)/π >= 1, and with P and Q exchanged otherwise; delta is the larger of both orders, so
    /// this holds whichever of the two data sets has the prior. 1 less this is the Bayes risk. At `prior` 1/2
    /// it is (1 + advantage)/2.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `0 < prior < 1`; [`Error::Unsupported`] for an event without a proven
    /// answer.
    ///
    /// ```
    /// use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
    ///
    /// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::None)?;
    /// let accountant = Accountant::new(Relation::AddRemove).compose(release, 1);
    /// // Φ(1/2), and hardly more than always guessing "no" of a record that is there in one case out of ten.
    /// assert!((accountant.success(0.5)?.upper - 0.691462461274013).abs() < 1e-12);
    /// assert!(accountant.success(0.1)?.upper < 0.905);
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn success(&self, prior: f64) -> Result<Certified> {
        if !(prior > 0.0 && prior < 1.0) {
            return Err(Error::Parameter {
                name: "prior",
                value: prior,
                bound: "a probability above 0 and below 1",
            });
        }
        let (likely, unlikely) = (prior.max(1.0 - prior), prior.min(1.0 - prior));
        // The quotient of the two could overflow.
        let exponent = likely.ln() - unlikely.ln();
        let (low, high) =
            ((exponent * (1.0 - ROUNDING) - ROUNDING).max(0.0), exponent * (1.0 + ROUNDING) + ROUNDING);
        // Delta falls: its upper end is taken at the lower exponent.
        let (most, least) = if exponent == 0.0 {
            let delta = self.delta(0.0)?;
            (delta, delta)
        } else {
            (self.delta(low)?, self.delta(high)?)
        };
        let of = |delta: f64| likely + unlikely * delta;
        let upper = (of(most.upper) * (1.0 + ROUNDING)).min(1.0);
        let lower = (of(least.lower) * (1.0 - ROUNDING)).max(0.5).min(upper);
        let success = Certified::new(lower, of(most.estimate).clamp(lower, upper), upper, most.upper_engine)?;
        Ok(success.proven_by(least.lower_engine, most.upper_engine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::upper_tail;
    use crate::{Event, Mechanism, Relation, Sampling};

    #[test]
    fn success_is_that_of_the_likelihood_ratio_test() {
        for (noise_multiplier, prior) in [(1.0, 0.5), (1.0, 0.3), (0.4, 0.01), (3.0, 0.6), (2.0, 0.999)] {
            let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid");
            let answer =
                Accountant::new(Relation::AddRemove).compose(event, 1).success(prior).expect("an answer");
            // Guess "in" where the outcome x (mean 1 or 0) is above 1/2 + σ² log((1-π)/π).
            let sigma = noise_multiplier;
            let threshold = 0.5 + sigma * sigma * f64::ln((1.0 - prior) / prior);
            let direct = prior * upper_tail((threshold - 1.0) / sigma)
                + (1.0 - prior) * upper_tail(-threshold / sigma);
            // Fifteen digits on either side of a sum of two products.
            assert!(answer.lower <= direct + 4e-15 && answer.upper >= direct - 4e-15, "{answer:?} {direct}");
            assert!(answer.width() < 1e-11, "{answer:?}");
        }
    }

    #[test]
    fn a_prior_that_is_none_is_an_error() {
        for prior in [0.0, 1.0, -0.1, f64::NAN] {
            let error = Accountant::new(Relation::AddRemove).success(prior).unwrap_err();
            assert!(error.to_string().contains(&prior.to_string()), "{error}");
        }
        assert_eq!(Accountant::new(Relation::AddRemove).success(0.25).expect("an answer").estimate, 0.75);
    }
}
