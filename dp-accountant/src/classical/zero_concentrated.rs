//! Zero-concentrated differential privacy: one number rho, added over events.

use super::log_space::golden_minimum;
use super::renyi::Conversion;
use super::{Method, refuse};
use crate::{Composition, Error, Mechanism, Relation, Result, Sampling};

/// A composition's rho: its Rényi divergence of every order a is at most rho a.
///
/// # Privacy
/// Holds for events without sampling, under either relation: rho = (sensitivity/σ)²/2 for normal noise and
/// for discrete normal noise on integers, and rho = ε²/2 for ε-differential privacy, Laplace noise included.
/// Subsampled events have no finite rho that would reflect the sampling.
///
/// ```
/// use dp_accountant::classical::{Conversion, ZeroConcentrated};
/// use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
///
/// let event = Event::new(Mechanism::Gaussian { noise_multiplier: 10.0 }, Sampling::None)?;
/// let run = ZeroConcentrated::new(Relation::AddRemove, &Composition::single(event, 100))?;
/// assert_eq!(run.rho(), 0.5);
/// let classic = 0.5 + 2.0 * (0.5 * 1e5f64.ln()).sqrt();
/// assert!((run.epsilon(1e-5, Conversion::Classic)? - classic).abs() < 1e-12);
/// assert!(run.epsilon(1e-5, Conversion::Tight)? < classic);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// # References
/// Bun and Steinke 2016, "Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds",
/// Propositions 1.3, 1.4 and 1.6; Canonne, Kamath and Steinke 2020, Theorem 4 and Corollary 13.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZeroConcentrated {
    rho: f64,
}

impl ZeroConcentrated {
    /// The rho of a composition.
    ///
    /// # Errors
    /// [`Error::Inapplicable`] for subsampled events and other mechanisms.
    pub fn new(relation: Relation, composition: &Composition) -> Result<Self> {
        let mut rho = 0.0;
        for (event, count) in composition.iter() {
            let instead = "use the Rényi or the certified accountant";
            let unsampled = match event.sampling() {
                Sampling::None | Sampling::Poisson { rate: 1.0 } => true,
                Sampling::WithoutReplacement { batch, records } => {
                    batch == records && relation == Relation::ReplaceOne
                }
                _ => false,
            };
            // The shift of normal noise in standard deviations, or epsilon: both enter alike.
            let shift = match event.mechanism() {
                _ if !unsampled => return Err(refuse(Method::ZeroConcentrated, relation, event, instead)),
                Mechanism::Gaussian { noise_multiplier: noise } | Mechanism::Laplace { scale: noise } => {
                    super::sensitivity(relation) / noise
                }
                Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                    super::sensitivity(relation) * sensitivity as f64 / sigma
                }
                Mechanism::PureDp { epsilon } => epsilon,
                _ => return Err(refuse(Method::ZeroConcentrated, relation, event, instead)),
            };
            rho += count as f64 * 0.5 * shift * shift;
        }
        Ok(Self { rho })
    }

    /// A composition known by its rho alone.
    ///
    /// # Errors
    /// [`Error::Rho`] unless it is finite and not negative.
    pub fn from_rho(rho: f64) -> Result<Self> {
        if rho >= 0.0 && rho.is_finite() { Ok(Self { rho }) } else { Err(Error::Rho { value: rho }) }
    }

    /// The rho.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// The epsilon that any mechanism with this rho keeps.
    ///
    /// Classic: `rho + 2 sqrt(rho log(1/delta))`. Tight: the least over a > 1 of
    /// `rho a + log(1 - 1/a) - log(a delta)/(a-1)`.
    ///
    /// # Errors
    /// [`Error::Delta`] unless `0 < delta < 1`.
    pub fn epsilon(&self, delta: f64, conversion: Conversion) -> Result<f64> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::Delta { value: delta });
        }
        let log_inverse = -delta.ln();
        let classic = self.rho + 2.0 * (self.rho * log_inverse).sqrt();
        if conversion == Conversion::Classic || self.rho == 0.0 {
            return Ok(classic);
        }
        // Around the order that is best for the classic bound.
        let centre = 0.5 * (log_inverse / self.rho).ln();
        let at = |log_order: f64| {
            let above = log_order.exp();
            let order = 1.0 + above;
            self.rho * order + (log_inverse - order.ln()) / above + (-1.0 / order).ln_1p()
        };
        Ok(golden_minimum(at, centre - 4.0, centre + 4.0, 80).1.clamp(0.0, classic))
    }
}
