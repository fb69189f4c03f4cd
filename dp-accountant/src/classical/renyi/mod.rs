//! Rényi differential privacy: divergences of all orders, added over events, converted at the end.

mod poisson;
mod without_replacement;

use std::fmt;

use super::log_space::golden_minimum;
use super::{Method, refuse};
use crate::{Composition, Error, Mechanism, Relation, Result, Sampling};
use without_replacement::{LARGEST_ORDER, WithoutReplacement};

/// The smallest and the largest order above 1 that the search considers, minus 1.
const NEAREST: f64 = 1e-2;
const FARTHEST: f64 = 1e7;
/// The largest where events are subsampled, so that an evaluation stays fast.
const FARTHEST_SAMPLED: f64 = 16_384.0;

/// How a Rényi curve becomes (epsilon, delta).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// `epsilon = R(a) + log(1/delta)/(a-1)`: Mironov 2017, "Rényi Differential Privacy", Proposition 3.
    Classic,
    /// `epsilon = R(a) + log(1 - 1/a) - log(a delta)/(a-1)`: Canonne, Kamath and Steinke 2020, "The Discrete
    /// Gaussian for Differential Privacy", Proposition 12. Never worse than the classic one.
    Tight,
}

/// Which terms the bound for batches without replacement is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Terms {
    /// Those of the general theorem, as older reproductions use it.
    Plain,
    /// At every order the smaller of those and the ones that the Gaussian mechanism's moments give.
    Tight,
}

/// An epsilon or a delta, and the order at which it was attained.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Optimum {
    /// The bound.
    pub value: f64,
    /// The order.
    pub order: f64,
}

/// The Rényi curve of a composition: an upper bound on its divergence at every order above 1.
///
/// # Privacy
/// The bound holds for the Gaussian mechanism (and the discrete one) without sampling under either relation,
/// with Poisson sampling under add/remove, and on batches without replacement under replace-one. It is
/// evaluated in floating-point arithmetic, good to about eleven digits, and not certified:
/// [`Accountant`](crate::Accountant) gives the certified, and smaller, answer.
///
/// ```
/// use dp_accountant::classical::{Conversion, Renyi};
/// use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
///
/// // Noise of twice the clip norm is one standard deviation for each unit by which a replaced record moves the sum.
/// let sampling = Sampling::WithoutReplacement { batch: 400, records: 60_000 };
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 2.0 }, sampling)?;
/// let renyi = Renyi::new(Relation::ReplaceOne, &Composition::single(step, 150))?;
/// assert!((renyi.epsilon(1e-4, Conversion::Classic)?.value - 1.3453).abs() < 1e-4);
/// assert!((renyi.epsilon(1e-4, Conversion::Tight)?.value - 0.9529).abs() < 1e-4);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// # References
/// Mironov 2017; Mironov, Talwar and Zhang 2019 (Poisson); Wang, Balle and Kasiviswanathan 2019 (without
/// replacement).
#[derive(Debug, Clone)]
pub struct Renyi {
    /// Σ count/(2σ²) over unsampled events: the divergence per order.
    gaussian: f64,
    parts: Vec<(Part, f64)>,
}

/// A subsampled event.
#[derive(Debug, Clone)]
enum Part {
    Poisson { multiplier: f64, rate: f64 },
    WithoutReplacement(WithoutReplacement),
}

impl Renyi {
    /// The curve of a composition, with the tighter terms for batches without replacement.
    ///
    /// # Errors
    /// [`Error::Inapplicable`] if the theorems do not cover an event under this relation.
    pub fn new(relation: Relation, composition: &Composition) -> Result<Self> {
        Self::with_terms(relation, composition, Terms::Tight)
    }

    /// As [`Self::new`], with a choice of terms, for the reproduction of published numbers.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_terms(relation: Relation, composition: &Composition, terms: Terms) -> Result<Self> {
        let sensitivity = super::sensitivity(relation);
        let mut curve = Self { gaussian: 0.0, parts: Vec::new() };
        for (event, count) in composition.iter() {
            let count = count as f64;
            let multiplier = match event.mechanism() {
                Mechanism::Gaussian { noise_multiplier } => noise_multiplier / sensitivity,
                // Its divergences are at most those of normal noise (Canonne, Kamath and Steinke 2020,
                // Theorem 4).
                Mechanism::DiscreteGaussian { sigma, sensitivity: bound }
                    if event.sampling() == Sampling::None =>
                {
                    sigma / (sensitivity * bound as f64)
                }
                _ => return Err(refuse(Method::Renyi, relation, event, "ask the certified accountant")),
            };
            let unsampled = count * 0.5 / multiplier / multiplier;
            let part = match (event.sampling(), relation) {
                (Sampling::None | Sampling::Poisson { rate: 1.0 }, _) => {
                    curve.gaussian += unsampled;
                    continue;
                }
                (Sampling::Poisson { rate }, Relation::AddRemove) => Part::Poisson { multiplier, rate },
                (Sampling::WithoutReplacement { batch, records }, Relation::ReplaceOne) => {
                    if batch == records {
                        curve.gaussian += unsampled;
                        continue;
                    }
                    // Rounded up, since a larger rate costs more.
                    let rate = (batch as f64 / records as f64).next_up().min(1.0);
                    Part::WithoutReplacement(WithoutReplacement::new(multiplier, rate, terms))
                }
                (Sampling::Poisson { .. }, Relation::ReplaceOne) => {
                    let instead = "account it under add/remove, or ask the certified accountant";
                    return Err(refuse(Method::Renyi, relation, event, instead));
                }
                (Sampling::WithoutReplacement { .. }, Relation::AddRemove) => {
                    let instead = "account it under replace-one, or ask the certified accountant";
                    return Err(refuse(Method::Renyi, relation, event, instead));
                }
                _ => return Err(refuse(Method::Renyi, relation, event, "ask the certified accountant")),
            };
            curve.parts.push((part, count));
        }
        Ok(curve)
    }

    /// The bound on the Rényi divergence of an order above 1; infinite where no bound is known.
    ///
    /// # Errors
    /// [`Error::Order`] unless `order > 1`.
    pub fn divergence(&self, order: f64) -> Result<f64> {
        if !(order > 1.0 && order.is_finite()) {
            return Err(Error::Order { value: order });
        }
        Ok(self.log_moment(order) / (order - 1.0))
    }

    /// (order - 1) times the divergence.
    pub(super) fn log_moment(&self, order: f64) -> f64 {
        let sampled: f64 = self
            .parts
            .iter()
            .map(|(part, count)| {
                count
                    * match part {
                        Part::Poisson { multiplier, rate } => poisson::log_moment(*multiplier, *rate, order),
                        Part::WithoutReplacement(bound) => bound.log_moment(order),
                    }
            })
            .sum();
        self.gaussian * order * (order - 1.0) + sampled
    }

    /// The smallest epsilon over all orders.
    ///
    /// # Errors
    /// [`Error::Delta`] unless `0 < delta < 1`; [`Error::NoBound`] if the bound is not finite at any order.
    pub fn epsilon(&self, delta: f64, conversion: Conversion) -> Result<Optimum> {
        let log_delta = log_of_delta(delta)?;
        finite(self.minimum(|order| self.epsilon_at(order, log_delta, conversion)))
    }

    /// The smallest epsilon over the given orders; those that are not above 1 are left out.
    ///
    /// # Errors
    /// As [`Self::epsilon`].
    pub fn epsilon_over(
        &self,
        delta: f64,
        conversion: Conversion,
        orders: impl IntoIterator<Item = f64>,
    ) -> Result<Optimum> {
        let log_delta = log_of_delta(delta)?;
        let candidates = orders.into_iter().filter(|order| *order > 1.0 && order.is_finite());
        let evaluated = candidates
            .map(|order| Optimum { value: self.epsilon_at(order, log_delta, conversion), order })
            .min_by(|a, b| a.value.total_cmp(&b.value));
        finite(evaluated.unwrap_or(Optimum { value: f64::INFINITY, order: f64::INFINITY }))
    }

    /// The smallest delta over all orders.
    ///
    /// # Errors
    /// [`Error::Epsilon`] unless epsilon is finite and not negative.
    pub fn delta(&self, epsilon: f64, conversion: Conversion) -> Result<Optimum> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(Error::Epsilon { value: epsilon, bound: "not negative" });
        }
        let found = self.minimum(|order| {
            let log_delta = self.log_moment(order) - (order - 1.0) * epsilon;
            match conversion {
                Conversion::Classic => log_delta,
                Conversion::Tight => log_delta + (order - 1.0) * (-1.0 / order).ln_1p() - order.ln(),
            }
        });
        Ok(Optimum { value: found.value.exp().min(1.0), order: found.order })
    }

    fn epsilon_at(&self, order: f64, log_delta: f64, conversion: Conversion) -> f64 {
        let log_moment = self.log_moment(order);
        let epsilon = match conversion {
            Conversion::Classic => (log_moment - log_delta) / (order - 1.0),
            Conversion::Tight => {
                (log_moment - log_delta - order.ln()) / (order - 1.0) + (-1.0 / order).ln_1p()
            }
        };
        if epsilon.is_nan() { f64::INFINITY } else { epsilon.max(0.0) }
    }

    /// The minimum of a converted bound over the orders.
    ///
    /// Without batches of fixed size `log_moment` is convex, each converted bound has a single valley, and
    /// one search over log(order - 1) finds it. The bound for batches of fixed size is a chain of chords: the
    /// valley of a coarse list of integers is searched again, integer by integer and then between them. Every
    /// order gives a valid bound.
    fn minimum(&self, at: impl Fn(f64) -> f64) -> Optimum {
        let search = |from: f64, to: f64, evaluations| {
            let (log_order, value) =
                golden_minimum(|log_order| at(1.0 + log_order.exp()), from.ln(), to.ln(), evaluations);
            Optimum { value, order: 1.0 + log_order.exp() }
        };
        if !self.parts.iter().any(|(part, _)| matches!(part, Part::WithoutReplacement(_))) {
            return search(NEAREST, if self.parts.is_empty() { FARTHEST } else { FARTHEST_SAMPLED }, 70);
        }
        let mut orders: Vec<usize> = (2..=32).collect();
        while let Some(next) = orders.last().map(|last| last + last / 8).filter(|next| *next < LARGEST_ORDER)
        {
            orders.push(next);
        }
        orders.push(LARGEST_ORDER);
        let best_of = |orders: &[usize]| {
            let evaluated = orders.iter().map(|&order| (order, at(order as f64)));
            evaluated.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((2, f64::INFINITY))
        };
        let coarse = best_of(&orders).0;
        let reach = coarse / 8 + 1;
        let (order, value) = best_of(
            &(coarse.saturating_sub(reach).max(2)..=(coarse + reach).min(LARGEST_ORDER)).collect::<Vec<_>>(),
        );
        let between = search((order as f64 - 2.0).max(NEAREST), order as f64, 30);
        if between.value < value { between } else { Optimum { value, order: order as f64 } }
    }
}

fn log_of_delta(delta: f64) -> Result<f64> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::Delta { value: delta });
    }
    Ok(delta.ln())
}

fn finite(found: Optimum) -> Result<Optimum> {
    if found.value.is_finite() { Ok(found) } else { Err(Error::NoBound { method: Method::Renyi }) }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Conversion::Classic => "classic conversion",
            Conversion::Tight => "tight conversion",
        })
    }
}
