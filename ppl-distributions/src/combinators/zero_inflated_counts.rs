//! Zero-inflated Poisson and negative binomial counts as one word.

use crate::{NegativeBinomial, Poisson, ZeroInflated};
use ppl_core::Value;

/// Poisson counts with more zeros.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = ZeroInflatedPoisson::new(0.3, 2.0);
/// assert!((law.pmf(0.0) - (0.3 + 0.7 * (-2.0_f64).exp())).abs() < 1e-15);
/// ```
pub type ZeroInflatedPoisson<'g> = ZeroInflated<'g, Poisson<'g>>;

/// Negative binomial counts with more zeros.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = ZeroInflatedNegativeBinomial::new(0.3, 2.0, 1.0);
/// assert!((law.pmf(0.0) - (0.3 + 0.7 / 3.0)).abs() < 1e-15);
/// ```
pub type ZeroInflatedNegativeBinomial<'g> = ZeroInflated<'g, NegativeBinomial<'g>>;

impl<'g> ZeroInflated<'g, Poisson<'g>> {
    /// Probability that a 0 is put in a count's place, and the mean of the counts; numbers or arrays.
    pub fn new(gate: impl Into<Value<'g>>, rate: impl Into<Value<'g>>) -> Self {
        ZeroInflated::from_probs(Poisson::new(rate), gate)
    }
}

impl<'g> ZeroInflated<'g, NegativeBinomial<'g>> {
    /// Probability that a 0 is put in a count's place, mean and concentration of the counts
    /// ([`NegativeBinomial::from_mean`]); numbers or arrays.
    pub fn new(
        gate: impl Into<Value<'g>>,
        mean: impl Into<Value<'g>>,
        concentration: impl Into<Value<'g>>,
    ) -> Self {
        ZeroInflated::from_probs(NegativeBinomial::from_mean(mean, concentration), gate)
    }
}
