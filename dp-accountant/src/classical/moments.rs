//! The moments accountant, as deep learning first used it.

use super::renyi::Renyi;
use super::{Method, refuse};
use crate::{Composition, Error, Mechanism, Relation, Result, Sampling};

/// The order up to which the moments were computed when the method was introduced.
pub const PUBLISHED_ORDERS: u32 = 32;

/// Log-moments of the privacy loss at integer orders 1, 2, ..., added over events.
///
/// ```text
/// log-moment(l) = log E over x ~ P of (P/Q)^l,    epsilon = min over l of (Σ log-moment(l) + log(1/delta)) / l
/// ```
///
/// # Privacy
/// Holds for Gaussian events with Poisson sampling, or without sampling, under add/remove.
///
/// ```
/// use dp_accountant::classical::{MomentsAccountant, PUBLISHED_ORDERS};
/// use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
///
/// // The example of the paper: q = 0.01, sigma = 4, 10,000 steps; epsilon is given there as about 1.26.
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 4.0 }, Sampling::Poisson { rate: 0.01 })?;
/// let run = MomentsAccountant::new(Relation::AddRemove, &Composition::single(step, 10_000), PUBLISHED_ORDERS)?;
/// assert!((run.epsilon(1e-5)? - 1.26).abs() < 0.005);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// # References
/// Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar and Zhang 2016, "Deep Learning with Differential
/// Privacy", Theorem 2. That removal is the direction with the larger moments: Mironov, Talwar and Zhang
/// 2019.
#[derive(Debug, Clone)]
pub struct MomentsAccountant {
    /// The sum of log-moments at 1, 2, ...
    log_moments: Vec<f64>,
}

impl MomentsAccountant {
    /// The log-moments of a composition at the orders 1 to `orders`.
    ///
    /// # Errors
    /// [`Error::Inapplicable`] for events or relations that the theorem does not cover; [`Error::Order`] if
    /// `orders` is 0.
    pub fn new(relation: Relation, composition: &Composition, orders: u32) -> Result<Self> {
        if orders == 0 {
            return Err(Error::Order { value: 0.0 });
        }
        for (event, _) in composition.iter() {
            let covered = relation == Relation::AddRemove
                && matches!(event.mechanism(), Mechanism::Gaussian { .. })
                && matches!(event.sampling(), Sampling::None | Sampling::Poisson { .. });
            if !covered {
                let instead = "the theorem is about Poisson samples under add/remove; ask the Rényi or the certified \
                               accountant";
                return Err(refuse(Method::Moments, relation, event, instead));
            }
        }
        let curve = Renyi::new(relation, composition)?;
        Ok(Self { log_moments: (1..=orders).map(|l| curve.log_moment(f64::from(l) + 1.0)).collect() })
    }

    /// The sum of log-moments at the integer `order`, if it was computed.
    pub fn log_moment(&self, order: u32) -> Option<f64> {
        self.log_moments.get((order as usize).checked_sub(1)?).copied()
    }

    /// The epsilon that the moments prove at a delta.
    ///
    /// # Errors
    /// [`Error::Delta`] unless `0 < delta < 1`; [`Error::NoBound`] if no moment is finite.
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::Delta { value: delta });
        }
        let best = (1u32..)
            .zip(&self.log_moments)
            .map(|(order, moment)| (moment - delta.ln()) / f64::from(order))
            .fold(f64::INFINITY, f64::min);
        if best.is_finite() { Ok(best) } else { Err(Error::NoBound { method: Method::Moments }) }
    }
}
