//! The accountants that the field used before certified ones, for comparison and for the reproduction of
//! papers.
//!
//! Each gives an upper bound on epsilon for the pairs of relation and sampling that its theorem covers, and
//! [`Error::Inapplicable`] for all others. They are evaluated in floating-point arithmetic without a
//! certified remainder, and are larger than the answer of [`Accountant`], often several times.
//!
//! | accountant | covers |
//! |---|---|
//! | [`Renyi`] | no sampling; Poisson under add/remove; without replacement under replace-one |
//! | [`MomentsAccountant`] | no sampling and Poisson, under add/remove |
//! | [`ZeroConcentrated`] | no sampling |
//! | [`advanced_composition`] | as [`Renyi`], by amplification of each step |
//!
//! [`compare`] asks all of them.

mod advanced;
mod log_space;
mod moments;
mod renyi;
#[cfg(test)]
mod tests;
mod zero_concentrated;

use std::fmt;

pub use advanced::{Advanced, StepBound, Theorem, advanced_composition, advanced_composition_at};
pub use moments::{MomentsAccountant, PUBLISHED_ORDERS};
pub use renyi::{Conversion, Optimum, Renyi, Terms};
pub use zero_concentrated::ZeroConcentrated;

use crate::{Accountant, Composition, Error, Event, Relation, Result};

/// Which older accountant an error speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Rényi differential privacy.
    Renyi,
    /// The moments accountant.
    Moments,
    /// Zero-concentrated differential privacy.
    ZeroConcentrated,
    /// Composition of (epsilon, delta) steps.
    Composition,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Renyi => "Rényi accountant",
            Method::Moments => "moments accountant",
            Method::ZeroConcentrated => "zero-concentrated accountant",
            Method::Composition => "composition of (epsilon, delta) steps",
        })
    }
}

/// What one accountant says about a composition.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The accountant.
    pub name: &'static str,
    /// Its upper bound on epsilon, or why there is none.
    pub epsilon: Result<f64>,
    /// The relation for which the bound holds.
    pub relation: Relation,
    /// Where it is proven.
    pub theorem: &'static str,
    /// Whether the theorem covers this use. `false` marks numbers as published, for reproduction only.
    pub proven: bool,
}

/// The epsilon of a composition at `delta` by the certified accountant (its upper end) and by all older ones,
/// in this order: certified, Rényi (tight and classic conversion), moments, zero-concentrated, optimal and
/// advanced composition of steps, the latter also with the classic Gaussian bound, basic composition.
///
/// ```
/// use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling, classical};
///
/// let step = Event::new(Mechanism::Gaussian { noise_multiplier: 4.0 }, Sampling::Poisson { rate: 0.01 })?;
/// let rows = classical::compare(Relation::AddRemove, &Composition::single(step, 10_000), 1e-5);
/// let epsilon = |row: usize| rows[row].epsilon.clone();
/// // Certified, Rényi, moments: 0.947, 1.05, 1.26.
/// assert!(epsilon(0)? < epsilon(1)? && epsilon(1)? < epsilon(3)?);
/// assert!(epsilon(4).is_err());
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn compare(relation: Relation, composition: &Composition, delta: f64) -> Vec<Comparison> {
    let renyi = Renyi::new(relation, composition);
    let by_renyi = |conversion| -> Result<f64> { Ok(renyi.clone()?.epsilon(delta, conversion)?.value) };
    let row = |name, epsilon, theorem| Comparison { name, epsilon, relation, theorem, proven: true };
    let composed = |name, theorem, step, source| {
        let found = advanced_composition(relation, composition, delta, theorem, step);
        let proven = found.as_ref().map_or(true, |found| found.proven);
        Comparison { name, epsilon: found.map(|found| found.epsilon), relation, theorem: source, proven }
    };
    let certified = Accountant::new(relation).with(composition).epsilon(delta).map(|epsilon| epsilon.upper);
    vec![
        row("certified accountant", certified, "Zhu, Dong and Wang 2022, dominating pairs"),
        row(
            "Rényi, tight conversion",
            by_renyi(Conversion::Tight),
            "Mironov et al. 2019; Wang et al. 2019; Canonne et al. 2020",
        ),
        row(
            "Rényi, classic conversion",
            by_renyi(Conversion::Classic),
            "Mironov et al. 2019; Wang et al. 2019",
        ),
        row(
            "moments accountant, orders to 32",
            MomentsAccountant::new(relation, composition, PUBLISHED_ORDERS).and_then(|m| m.epsilon(delta)),
            "Abadi et al. 2016, Theorem 2",
        ),
        row(
            "zero-concentrated",
            ZeroConcentrated::new(relation, composition).and_then(|z| z.epsilon(delta, Conversion::Tight)),
            "Bun and Steinke 2016; Canonne et al. 2020",
        ),
        composed(
            "optimal composition of steps",
            Theorem::KairouzOhViswanath,
            StepBound::AnalyticGaussian,
            "Kairouz, Oh and Viswanath 2015",
        ),
        composed(
            "advanced composition",
            Theorem::DworkRothblumVadhan,
            StepBound::AnalyticGaussian,
            "Dwork, Rothblum and Vadhan 2010; Balle and Wang 2018",
        ),
        composed(
            "advanced composition, classic Gaussian",
            Theorem::DworkRothblumVadhan,
            StepBound::ClassicGaussian,
            "Dwork, Rothblum and Vadhan 2010; Dwork and Roth 2014",
        ),
        composed(
            "basic composition",
            Theorem::Basic,
            StepBound::AnalyticGaussian,
            "Dwork et al. 2006; Balle and Wang 2018",
        ),
    ]
}

/// How far one record moves the sum, in clip norms.
fn sensitivity(relation: Relation) -> f64 {
    match relation {
        Relation::AddRemove => 1.0,
        Relation::ReplaceOne => 2.0,
    }
}

fn refuse(method: Method, relation: Relation, event: Event, instead: &'static str) -> Error {
    Error::Inapplicable { method, relation, event, instead }
}
