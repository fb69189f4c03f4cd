//! Vectors of integers, and how far apart they are.

use super::{Divergence, Interval, Posterior};

/// A vector of integers that a function makes of a histogram: counts, sums of steps of a grid.
///
/// ```
/// use ppl_core::finite::{Histogram, L1, ReplaceOne, Statistic, neighbours};
/// let sum = |coins: &Histogram<bool>| {
///     Statistic::new([3 * coins.count(&true) as i64 - coins.count(&false) as i64])
/// };
/// assert_eq!(neighbours(9, ReplaceOne).worst::<L1, _>(sum)?.value().upper(), 4.0);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statistic(Box<[i64]>);

impl Statistic {
    /// With these elements.
    #[must_use]
    pub fn new(elements: impl Into<Box<[i64]>>) -> Self {
        Self(elements.into())
    }

    /// The elements.
    #[must_use]
    pub fn elements(&self) -> &[i64] {
        &self.0
    }
}

impl Posterior for Statistic {}

/// `Σ |a_i − b_i|`; infinite where the numbers of elements differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L1;

/// `√Σ (a_i − b_i)²`; infinite where the numbers of elements differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L2;

/// The absolute differences of the elements, or none where there are more of one than of the other.
fn differences<'a>(a: &'a Statistic, b: &'a Statistic) -> Option<impl Iterator<Item = Interval> + 'a> {
    let difference = |(a, b): (&i64, &i64)| {
        let size = a.abs_diff(*b);
        let nearest = size as f64;
        // Integers up to 2⁵³ are doubles; beyond, the nearest one is not far.
        if size <= 1 << 53 {
            Interval::exact(nearest)
        } else {
            Interval::between(nearest.next_down(), nearest.next_up())
        }
    };
    (a.0.len() == b.0.len()).then(|| a.0.iter().zip(&b.0).map(difference))
}

/// A sum; exact as long as it is an integer below 2⁵³, for then no addition rounds.
fn sum(terms: impl Iterator<Item = Interval>) -> Interval {
    let terms: Vec<Interval> = terms.collect();
    let plain: f64 = terms.iter().map(|term| term.upper()).sum();
    let exact = plain < 2.0_f64.powi(53) && terms.iter().all(|term| term.width() == 0.0);
    if exact { Interval::exact(plain) } else { terms.into_iter().sum() }
}

impl Divergence<Statistic> for L1 {
    fn between(p: &Statistic, q: &Statistic) -> Interval {
        differences(p, q).map_or(Interval::INFINITE, sum)
    }
}

impl Divergence<Statistic> for L2 {
    fn between(p: &Statistic, q: &Statistic) -> Interval {
        let squares = |terms: &mut dyn Iterator<Item = Interval>| {
            sum(terms.map(|term| match term.upper() < 9e7 {
                // A square below 2⁵³ is exact.
                true => Interval::exact(term.upper() * term.upper()),
                false => term.square(),
            }))
        };
        differences(p, q).map_or(Interval::INFINITE, |mut terms| squares(&mut terms).sqrt())
    }
}
