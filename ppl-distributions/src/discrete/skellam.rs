//! The Skellam distribution.

use crate::shared::bisect::{count_of_log_between, quantile_between};
use crate::shared::helpers::{at_batch_shape, log_of_rest, uniform_noise};
use crate::shared::log_space::by_smaller;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};
use std::f64::consts::LN_2;

/// The difference of two independent Poisson variables: of counts before and after, of goals of two teams, of a count
/// and the noise added to it.
///
/// ```text
/// p(k) = e^(−rate1 − rate2) (rate1/rate2)^(k/2) I_|k|(2 √(rate1 · rate2))        k an integer
/// ```
///
/// The probability is a sum over the second variable of products of Poisson probabilities, all of one sign, begun at
/// the largest ([`Var::skellam_log_prob`]). A draw is the difference of two Poisson draws.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = Skellam::new(3.0, 1.0);
/// assert!((law.ln_pmf(2.0) - Skellam::new(1.0, 3.0).ln_pmf(-2.0)).abs() < 1e-15);
/// assert_eq!(law.summary().mean, Some(2.0));
/// ```
///
/// # References
/// J. G. Skellam, "The frequency distribution of the difference between two Poisson variates belonging to different
/// populations" (1946).
#[derive(Clone, Copy, Debug)]
pub struct Skellam<'g> {
    rate1: Value<'g>,
    rate2: Value<'g>,
}

impl<'g> Skellam<'g> {
    /// Means of the variable that counts up and of the one that counts down; numbers or arrays.
    pub fn new(rate1: impl Into<Value<'g>>, rate2: impl Into<Value<'g>>) -> Self {
        Self { rate1: rate1.into(), rate2: rate2.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.rate1, self.rate2].map(|value| value.on(graph))
    }

    /// Outcomes below and above which lies less than probabilities of these logarithms: differences of the counts that
    /// half of it lies below and above.
    #[track_caller]
    fn ends_of_logs(&self, log_below: Var<'g>, log_above: Var<'g>) -> [Var<'g>; 2] {
        let [rate1, rate2] = self.on(log_below.graph());
        let (below, above) = (log_below - LN_2, log_above - LN_2);
        let low = below.poisson_quantile_of_log_cdf(rate1) - below.poisson_quantile_of_log_sf(rate2);
        let high = above.poisson_quantile_of_log_sf(rate1) - above.poisson_quantile_of_log_cdf(rate2);
        [low, high]
    }
}

impl<'g> Distribution<'g> for Skellam<'g> {
    fn name(&self) -> &'static str {
        "Skellam"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "rate1", value: self.rate1, domain: Constraint::Positive },
            Parameter { name: "rate2", value: self.rate2, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(f64::NEG_INFINITY, f64::INFINITY)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [rate1, rate2] = self.on(value.graph());
        value.skellam_log_prob(rate1, rate2)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let [rate1, rate2] = self.on(noise.graph());
        let up = uniform_noise(self, prefix, noise)?;
        let down = uniform_noise(self, prefix, noise)?;
        Ok(up.poisson_quantile(rate1) - down.poisson_quantile(rate2))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(graph);
        at_batch_shape(self, rate1 - rate2)
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(graph);
        at_batch_shape(self, rate1 + rate2)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(graph);
        let both = rate1 + rate2;
        at_batch_shape(self, (rate1 - rate2) / (both * both.sqrt()))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(value.graph());
        Some(value.skellam_cdf(rate1, rate2))
    }

    /// By halving the interval between two differences of counts, each beyond which lies less than the probability of
    /// that side: of the counts that half of it lies below and above.
    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(probability.graph());
        let (below, above) = (0.5 * probability, 0.5 * (1.0 - probability));
        let low = below.poisson_quantile(rate1) - below.poisson_quantile_above(rate2);
        let high = above.poisson_quantile_above(rate1) - above.poisson_quantile(rate2);
        quantile_between(probability, [low, high], true, |k| self.cdf(k), |k| self.log_prob(k))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let ends = self.ends_of_logs(log_probability, log_of_rest(log_probability));
        count_of_log_between(log_probability, ends, false, |k| self.log_cdf(k))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let ends = self.ends_of_logs(log_of_rest(log_probability), log_probability);
        count_of_log_between(log_probability, ends, true, |k| self.log_sf(k))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(value.graph());
        // P(K₁ − K₂ > k) = P(K₂ − K₁ ≤ −k − 1)
        Some((-value.floor() - 1.0).skellam_cdf(rate2, rate1))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(value.graph());
        Some(by_smaller(value.skellam_log_cdf(rate1, rate2), self.sf(value)?))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [rate1, rate2] = self.on(value.graph());
        Some(by_smaller((-value.floor() - 1.0).skellam_log_cdf(rate2, rate1), self.cdf(value)?))
    }
}
