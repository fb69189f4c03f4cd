//! The worst divergence between posteriors of neighbours in closed form: what enumeration finds for any
//! number of records.

use super::conjugate::{digamma, ln_gamma};
use super::{AddRemove, Adjacency, Interval, ReplaceOne};
use crate::base::{Error, Result};
use std::any::TypeId;

/// `h(a) = Γ(a + ½)/(Γ(a) √a)`, which rises from 0 at `a = 0` to 1: the factor by which one more count of a
/// category with parameter `a` lowers the affinity of two Dirichlet distributions.
///
/// # Errors
/// [`Error::OutOfRange`] unless `a` is positive and finite.
pub fn affinity_of_half_a_count(a: f64) -> Result<Interval> {
    let at = Interval::exact(a);
    check(a)?;
    Ok((ln_gamma(a + 0.5) - ln_gamma(a) - Interval::exact(0.5) * at.ln()).exp().min(Interval::ONE))
}

fn check(a: f64) -> Result<()> {
    if a > 0.0 && a.is_finite() {
        return Ok(());
    }
    let (what, requirement) = ("a parameter of the prior", "positive and finite");
    Err(Error::OutOfRange { what, requirement, value: a })
}

/// The two smallest parameters of a prior.
fn smallest(prior: &[f64]) -> Result<(f64, f64)> {
    if prior.len() < 2 {
        let (what, requirement) = ("the number of parameters of the prior", "at least 2");
        return Err(Error::OutOfRange { what, requirement, value: prior.len() as f64 });
    }
    prior.iter().try_for_each(|&a| check(a))?;
    let mut sorted = prior.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok((sorted[0], sorted[1]))
}

/// The Hellinger distance of the posteriors of two neighbouring data sets, of any number of records, under a
/// Dirichlet prior (Beta, for two categories) is at most
///
/// ```text
/// replace-one   √(1 − h(a₁) h(a₂))   attained by a record of each of the two categories with the least a₁ ≤ a₂
/// add/remove    √(1 − h(a₁))         approached as the other records become many
/// ```
///
/// with [`h`](affinity_of_half_a_count). The value `√(1 − π/4)` that is printed for any positive prior in
/// Barthe et al. 2016 (PrivInfer), lemma 6.3, is that for `a₁ = a₂ = 1`: it is too small below.
///
/// ```
/// use ppl_core::finite::{ReplaceOne, dirichlet_hellinger};
/// let printed = (1.0 - std::f64::consts::FRAC_PI_4).sqrt();
/// assert!(dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0])?.contains(printed));
/// assert!(dirichlet_hellinger::<ReplaceOne>(&[0.1, 0.1])?.lower() > 0.868);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::OutOfRange`] unless there are at least two parameters, all positive and finite.
pub fn dirichlet_hellinger<R: Adjacency>(prior: &[f64]) -> Result<Interval> {
    let (first, second) = smallest(prior)?;
    let affinity = affinity_of_half_a_count(first)?;
    let affinity = match TypeId::of::<R>() == TypeId::of::<ReplaceOne>() {
        true => affinity * affinity_of_half_a_count(second)?,
        false => affinity,
    };
    Ok((Interval::ONE - affinity).positive().sqrt())
}

/// The Kullback–Leibler divergence of the posteriors of two neighbouring data sets is at most
///
/// ```text
/// replace-one   max_{i≠j} ψ(a_i + 1) − ψ(a_j) + ln(a_j/a_i)
/// add/remove    ln a₁ − ψ(a₁)                                    approached as the other records become many
/// ```
///
/// For two categories the first is attained by one record each.
///
/// # Errors
/// [`Error::OutOfRange`] unless there are at least two parameters, all positive and finite.
pub fn dirichlet_kullback_leibler<R: Adjacency>(prior: &[f64]) -> Result<Interval> {
    let (first, _) = smallest(prior)?;
    if TypeId::of::<R>() == TypeId::of::<AddRemove>() {
        return Ok((Interval::exact(first).ln() - digamma(first)).positive());
    }
    let mut worst = Interval::ZERO;
    for (i, &a) in prior.iter().enumerate() {
        for (_, &b) in prior.iter().enumerate().filter(|&(j, _)| j != i) {
            let ratio = (Interval::exact(b) / Interval::exact(a)).ln();
            // ψ(a + 1) = ψ(a) + 1/a
            let one = digamma(a) + Interval::ONE / Interval::exact(a) - digamma(b) + ratio;
            worst = worst.max(one);
        }
    }
    Ok(worst)
}

/// A bound on the total variation distance from one on the Hellinger distance `H`: `H √(2 − H²)`.
#[must_use]
pub fn total_variation_from_hellinger(hellinger: Interval) -> Interval {
    (hellinger * (Interval::exact(2.0) - hellinger.square()).positive().sqrt()).min(Interval::ONE)
}
