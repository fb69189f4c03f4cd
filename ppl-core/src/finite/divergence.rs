//! How far apart two distributions are: f-divergences and their relatives, as intervals.

use super::{Dist, ExponentialFamily, Interval, Weight};

/// Something that divergences are defined between: a table of weights, or a member of an exponential family.
pub trait Posterior: Clone {}

impl<T: Ord + Clone, W: Weight> Posterior for Dist<T, W> {}

/// A divergence between two distributions of a kind.
///
/// | type | for tables | range |
/// |---|---|---|
/// | [`TotalVariation`] | `½ Σ ∣p − q∣` | 0 to 1, a metric |
/// | [`Hellinger`] | `√(1 − Σ √(pq))` | 0 to 1, a metric |
/// | [`KullbackLeibler`] | `Σ p ln(p/q)` | 0 to ∞ |
/// | [`ChiSquared`] | `Σ (p − q)²/q` | 0 to ∞ |
/// | [`Renyi<A>`](Renyi) | `ln Σ p^A q^(1−A) / (A − 1)` | 0 to ∞ |
///
/// Exponential families have all of these through their log-partition, but total variation, which is the
/// [hockey-stick divergence](super::hockey_stick) at a ratio of 1. [`renyi`] takes any order.
///
/// ```
/// use ppl_core::finite::{Dist, Divergence, Probability, Rational, TotalVariation};
/// let coin = |p| Dist::<bool, Rational>::bernoulli(p);
/// let (p, q) = (coin(Probability::new(1, 2)?), coin(Probability::new(3, 4)?));
/// assert!(TotalVariation::between(&p, &q).contains(0.25));
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub trait Divergence<P> {
    /// Of `p` from `q`.
    fn between(p: &P, q: &P) -> Interval;
}

/// `½ Σ |p − q|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalVariation;

/// `√(1 − Σ √(pq))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hellinger;

/// `Σ p ln(p/q)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KullbackLeibler;

/// `Σ (p − q)²/q = Σ p²/q − 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChiSquared;

/// `ln Σ p^A q^(1−A) / (A − 1)`, of an integer order. [`renyi`] takes any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renyi<const A: u32>;

/// Outcomes that either has, with the weights of both.
fn joined<'a, T: Ord, W: Weight>(p: &'a Dist<T, W>, q: &'a Dist<T, W>) -> impl Iterator<Item = (W, W)> + 'a {
    let both = p.iter().map(|(value, weight)| (weight.clone(), q.weight(value)));
    let second = q.iter().filter(|(value, _)| p.weight(value).is_zero());
    both.chain(second.map(|(_, weight)| (W::zero(), weight.clone())))
}

impl<T: Ord, W: Weight> Divergence<Dist<T, W>> for TotalVariation {
    fn between(p: &Dist<T, W>, q: &Dist<T, W>) -> Interval {
        // Σ max(0, p − q) and Σ max(0, q − p) are equal, so both hold.
        let sum =
            |p: &Dist<T, W>, q| joined(p, q).fold(W::zero(), |sum, (p, q)| sum.plus(&p.excess(&q))).value();
        let (up, down) = (sum(p, q), sum(q, p));
        Interval::between(up.lower().max(down.lower()), up.upper().min(down.upper()).min(1.0))
    }
}

impl<T: Ord, W: Weight> Divergence<Dist<T, W>> for Hellinger {
    fn between(p: &Dist<T, W>, q: &Dist<T, W>) -> Interval {
        if p == q {
            return Interval::ZERO;
        }
        // ½ Σ (√p − √q)², which loses no digits where the two are close.
        let half = Interval::exact(0.5);
        let term = |(p, q): (W, W)| {
            let (p, q) = (p.value().sqrt(), q.value().sqrt());
            (p - q).square()
        };
        (half * joined(p, q).map(term).sum()).sqrt().min(Interval::ONE)
    }
}

/// ln(p/q) where both are positive.
fn log_ratio<W: Weight>(p: &W, q: &W) -> Option<Interval> {
    Some(p.over(q)?.ln())
}

impl<T: Ord, W: Weight> Divergence<Dist<T, W>> for KullbackLeibler {
    fn between(p: &Dist<T, W>, q: &Dist<T, W>) -> Interval {
        let mut sum = Interval::ZERO;
        for (value, weight) in p.iter() {
            match log_ratio(weight, &q.weight(value)) {
                Some(ratio) => sum = sum + weight.value() * ratio,
                None => return Interval::INFINITE,
            }
        }
        sum.positive()
    }
}

impl<T: Ord, W: Weight> Divergence<Dist<T, W>> for ChiSquared {
    fn between(p: &Dist<T, W>, q: &Dist<T, W>) -> Interval {
        let mut sum = Interval::ZERO;
        for (p, q) in joined(p, q) {
            // (p − q)²/q, of which only one of the two excesses is positive.
            let difference = p.excess(&q).plus(&q.excess(&p));
            match difference.times(&difference).over(&q) {
                Some(term) => sum = sum + term.value(),
                None => return Interval::INFINITE,
            }
        }
        sum.positive()
    }
}

impl<const A: u32, T: Ord, W: Weight> Divergence<Dist<T, W>> for Renyi<A> {
    fn between(p: &Dist<T, W>, q: &Dist<T, W>) -> Interval {
        renyi(f64::from(A), p, q)
    }
}

/// Distributions with a Rényi divergence of any order; see [`renyi`].
pub trait RenyiDivergence: Sized {
    /// `ln ∫ p^α q^(1−α) / (α − 1)`, of an order that is positive and not 1.
    fn of_order(alpha: f64, p: &Self, q: &Self) -> Interval;
}

/// The Rényi divergence `ln ∫ p^α q^(1−α) / (α − 1)` of two tables, or of two members of an exponential
/// family, of any positive order; that of order 1 is Kullback and Leibler's.
///
/// Infinite from order 1 on where `p` has an outcome that `q` has not. Of an order that is not positive
/// nothing is known: from 0 to ∞.
///
/// ```
/// use ppl_core::finite::{Beta, NormalMean, renyi};
/// // Normal distributions with variance 1 and means 0.5 apart: α 0.5²/2.
/// let normal = |mean: f64| NormalMean::new(mean, 1.0, 1.0);
/// assert!(renyi(2.5, &normal(0.0)?, &normal(0.5)?).contains(0.3125));
/// let infinite = renyi(2.5, &Beta::new(1.0, 1.0)?, &Beta::new(1.0, 2.0)?);
/// assert_eq!(infinite.lower(), f64::INFINITY);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[must_use]
pub fn renyi<P: RenyiDivergence>(alpha: f64, p: &P, q: &P) -> Interval
where
    KullbackLeibler: Divergence<P>,
{
    match alpha {
        1.0 => KullbackLeibler::between(p, q),
        _ if alpha > 0.0 && alpha.is_finite() => P::of_order(alpha, p, q),
        _ => Interval::between(0.0, f64::INFINITY),
    }
}

impl<T: Ord, W: Weight> RenyiDivergence for Dist<T, W> {
    fn of_order(alpha: f64, p: &Self, q: &Self) -> Interval {
        let (order, above) = (Interval::exact(alpha), Interval::exact(alpha) - Interval::ONE);
        let mut terms = Vec::with_capacity(p.len());
        for (value, weight) in p.iter() {
            match log_ratio(weight, &q.weight(value)) {
                Some(ratio) => terms.push(super::LogInterval::from_ln(order * ratio + q.weight(value).ln())),
                None if alpha > 1.0 => return Interval::INFINITE,
                None => {}
            }
        }
        (super::LogInterval::sum(terms.iter()).ln() / above).positive()
    }
}

impl<F: ExponentialFamily> RenyiDivergence for F {
    fn of_order(alpha: f64, p: &Self, q: &Self) -> Interval {
        if p.natural() == q.natural() {
            return Interval::ZERO;
        }
        match F::log_power(alpha, &p.natural(), &q.natural()) {
            Some(log) => (log / (Interval::exact(alpha) - Interval::ONE)).positive(),
            None => Interval::INFINITE,
        }
    }
}

impl<F: ExponentialFamily> Posterior for F {}

impl<F: ExponentialFamily> Divergence<F> for Hellinger {
    fn between(p: &F, q: &F) -> Interval {
        if p.natural() == q.natural() {
            return Interval::ZERO;
        }
        let affinity = F::log_affinity(&p.natural(), &q.natural());
        (-affinity.min(Interval::ZERO).exp_minus_one()).positive().sqrt().min(Interval::ONE)
    }
}

impl<F: ExponentialFamily> Divergence<F> for KullbackLeibler {
    fn between(p: &F, q: &F) -> Interval {
        let (at, from) = (p.natural(), q.natural());
        if at == from {
            return Interval::ZERO;
        }
        // A(q) − A(p) − (q − p) · ∇A(p).
        let (Some(a), Some(b)) = (super::family::at::<F>(&at), super::family::at::<F>(&from)) else {
            return Interval::INFINITE;
        };
        let mean = F::mean_parameters(&at);
        let along = at
            .iter()
            .zip(&from)
            .zip(mean)
            .map(|((&p, &q), mean)| (Interval::exact(q) - Interval::exact(p)) * mean);
        (b - a - along.sum::<Interval>()).positive()
    }
}

impl<F: ExponentialFamily> Divergence<F> for ChiSquared {
    fn between(p: &F, q: &F) -> Interval {
        if p.natural() == q.natural() {
            return Interval::ZERO;
        }
        match F::log_power(2.0, &p.natural(), &q.natural()) {
            Some(log) => log.exp_minus_one().positive(),
            None => Interval::INFINITE,
        }
    }
}

impl<const A: u32, F: ExponentialFamily> Divergence<F> for Renyi<A> {
    fn between(p: &F, q: &F) -> Interval {
        renyi(f64::from(A), p, q)
    }
}
