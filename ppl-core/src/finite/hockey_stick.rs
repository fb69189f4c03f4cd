//! The hockey-stick divergence: how much more likely an event is under one distribution than a multiple of
//! its probability under another.

use super::region::{Line, excess};
use super::{
    Beta, Dirichlet, Dist, Divergence, ExponentialFamily, Interval, NormalMean, TotalVariation, Weight,
};
use super::{Hellinger, renyi, total_variation_from_hellinger};

/// Distributions with a hockey-stick divergence; see [`hockey_stick`].
pub trait HockeyStick: Sized {
    /// `sup_A P(A) − t Q(A)`, at a ratio `t` that is at least 0.
    fn excess(ratio: Interval, p: &Self, q: &Self) -> Interval;
}

/// The hockey-stick divergence `E_t(p, q) = ∫ max(0, p − t q)`, at a ratio `t` such as `e^ε`: the least δ for
/// which every event has a probability of at most `t Q + δ` under `p`.
///
/// | of | how |
/// |---|---|
/// | tables | the sum over all outcomes |
/// | [`Beta`] | `p − t q` changes its sign at two places at most, which are found between two numbers each; between them the distribution functions are summed from series of positive terms |
/// | [`Dirichlet`] | as Beta, where the two differ in one parameter, or in two by opposite amounts (to 10⁻⁹), as the posteriors of neighbours do: then one proportion says all; else an interval between what single proportions say and what Rényi divergences allow |
/// | [`NormalMean`] | as Beta, with the error function |
///
/// ```
/// use ppl_core::finite::{Beta, Interval, hockey_stick};
/// let (p, q) = (Beta::new(2.0, 1.0)?, Beta::new(1.0, 2.0)?); // densities 2x and 2 − 2x
/// let quarter = hockey_stick(Interval::exact(3.0), &p, &q); // 8x − 6 from x = 3/4 on: 1/4
/// assert!(quarter.contains(0.25) && quarter.width() < 1e-13);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[must_use]
pub fn hockey_stick<P: HockeyStick>(ratio: Interval, p: &P, q: &P) -> Interval {
    let ratio = ratio.positive();
    // Between 1 − t and 1, and at least 0, whatever is lost to rounding where families are compared.
    P::excess(ratio, p, q).max(of_itself(ratio)).min(Interval::ONE)
}

/// The same for tables, at a ratio that is a weight, as a weight: exactly, for [rational](super::Rational)
/// weights.
#[must_use]
pub fn hockey_stick_at_ratio<T: Ord, W: Weight>(ratio: &W, p: &Dist<T, W>, q: &Dist<T, W>) -> W {
    let term = |(value, weight): (&T, &W)| weight.excess(&ratio.times(&q.weight(value)));
    p.iter().map(term).fold(W::zero(), |sum, term| sum.plus(&term))
}

impl<T: Ord, W: Weight> HockeyStick for Dist<T, W> {
    fn excess(ratio: Interval, p: &Self, q: &Self) -> Interval {
        let ln = ratio.ln();
        let term = |(value, weight): (&T, &W)| {
            let other = q.weight(value);
            if other.is_zero() {
                return weight.value();
            }
            // p (1 − t q/p) where that is positive.
            let excess = (ln + other.ln() - weight.ln()).exp_minus_one();
            (weight.value() * -excess).positive()
        };
        p.iter().map(term).sum::<Interval>().min(Interval::ONE)
    }
}

/// `E_t` of a distribution from itself.
fn of_itself(ratio: Interval) -> Interval {
    (Interval::ONE - ratio).positive()
}

/// A number that is exact.
fn point(value: f64) -> Interval {
    Interval::exact(value)
}

impl HockeyStick for Beta {
    fn excess(ratio: Interval, p: &Self, q: &Self) -> Interval {
        if p == q {
            return of_itself(ratio);
        }
        let ((a, b), (c, d)) = (p.parameters(), q.parameters());
        let along = [point(a) - point(c), point(b) - point(d)];
        excess(&Line::beta((point(a), point(b)), (point(c), point(d)), along), ratio)
    }
}

impl HockeyStick for NormalMean {
    fn excess(ratio: Interval, p: &Self, q: &Self) -> Interval {
        let (one, other) = (p.natural(), q.natural());
        if one == other {
            return of_itself(ratio);
        }
        excess(&Line::normal((one[0], -2.0 * one[1]), (other[0], -2.0 * other[1])), ratio)
    }
}

impl<const K: usize> HockeyStick for Dirichlet<K> {
    fn excess(ratio: Interval, p: &Self, q: &Self) -> Interval {
        let (a, b) = (p.parameters(), q.parameters());
        let differ: Vec<usize> = (0..K).filter(|&k| a[k] != b[k]).collect();
        let rest = |of: &[f64; K], left_out: usize| -> Interval {
            (0..K).filter(|&k| k != left_out).map(|k| point(of[k])).sum()
        };
        let moved = |k: usize| point(a[k]) - point(b[k]);
        // The proportion of one category, and of one among two.
        let one = |i: usize, along: Interval| {
            excess(
                &Line::beta((point(a[i]), rest(&a, i)), (point(b[i]), rest(&b, i)), [moved(i), along]),
                ratio,
            )
        };
        let among = |i: usize, j: usize| {
            let (p, q) = ((point(a[i]), point(a[j])), (point(b[i]), point(b[j])));
            excess(&Line::beta(p, q, [moved(i), moved(j)]), ratio)
        };
        match differ[..] {
            [] => of_itself(ratio),
            // p/q is a function of that proportion alone.
            [i] => one(i, Interval::ZERO),
            [i, j] if K == 2 => among(i, j),
            [i, j] if opposite([a[i], b[i]], [a[j], b[j]]).1 < 1e-9 => {
                // As if the second moved by exactly what the first does; then what rounding of a parameter does.
                let (other, by) = opposite([a[i], b[i]], [a[j], b[j]]);
                let (p, q) = ((point(a[i]), point(a[j])), (point(b[i]), other));
                let near = excess(&Line::beta(p, q, [moved(i), -moved(i)]), ratio);
                let least = point(b[j].min(other.lower()));
                let score = (Interval::ONE / least + Interval::ONE / least.square()).sqrt();
                let change = (ratio * point(0.5 * by) * score).upper();
                (near + Interval::between(-change, change)).positive().min(Interval::ONE)
            }
            _ => {
                let singles = differ.iter().map(|&i| one(i, rest(&a, i) - rest(&b, i)));
                let pairs = differ.iter().flat_map(|&i| differ.iter().map(move |&j| (i, j)));
                let pairs = pairs.filter(|(i, j)| i < j).map(|(i, j)| among(i, j));
                let lower = singles.chain(pairs).map(Interval::lower).fold(0.0, f64::max);
                Interval::between(lower, from_renyi(ratio, p, q).max(lower))
            }
        }
    }
}

/// Where the second pair's other number would be if it moved by exactly as much as the first, the other way,
/// and how far from there it is. Between two Dirichlet distributions that differ by δ in one parameter, which
/// is at least `a`, total variation is at most `½ δ √(1/a + 1/a²)`: half of δ times the root of the Fisher
/// information, `ψ'(a) − ψ'(A)`.
fn opposite(first: [f64; 2], second: [f64; 2]) -> (Interval, f64) {
    let moved = point(second[0]) + (point(first[0]) - point(first[1]));
    let apart = point(second[1]) - moved;
    (moved, apart.upper().abs().max(apart.lower().abs()))
}

/// `E_t ≤ e^((α−1)(D_α − ln t)) (1 − 1/α)^(α−1)/α` for each order α above 1 (Canonne, Kamath, Steinke 2020,
/// proposition 12), and below total variation for `t ≥ 1`.
fn from_renyi<F: ExponentialFamily>(ratio: Interval, p: &F, q: &F) -> f64 {
    let mut least: f64 = 1.0;
    if ratio.lower() >= 1.0 {
        least = least.min(total_variation_from_hellinger(Hellinger::between(p, q)).upper());
    }
    for step in 0..60 {
        let order = 1.0 + 0.05 * 1.15_f64.powi(step);
        let above = point(order) - Interval::ONE;
        let share = (Interval::ONE - Interval::ONE / point(order)).ln();
        let log = above * (renyi(order, p, q) - ratio.ln() + share) - point(order).ln();
        least = least.min(log.exp().upper());
    }
    least
}

impl Divergence<Beta> for TotalVariation {
    fn between(p: &Beta, q: &Beta) -> Interval {
        hockey_stick(Interval::ONE, p, q)
    }
}

impl Divergence<NormalMean> for TotalVariation {
    fn between(p: &NormalMean, q: &NormalMean) -> Interval {
        hockey_stick(Interval::ONE, p, q)
    }
}

impl<const K: usize> Divergence<Dirichlet<K>> for TotalVariation {
    fn between(p: &Dirichlet<K>, q: &Dirichlet<K>) -> Interval {
        hockey_stick(Interval::ONE, p, q)
    }
}
