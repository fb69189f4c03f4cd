//! Bounds on what one record adds to a sum: the norm `C`, and how it is shared among sites.

use crate::error::{Error, Result};
use dp_accountant::Relation;
use ppl_core::{RecordGradient, Records, Scalar};
use serde::Serialize;

/// Smallest clip norm accepted: far above what squares that underflow can hide of a norm (see
/// [`RecordGradient`]).
pub const SMALLEST_CLIP_NORM: f64 = 1e-4;

/// The largest clip norm: squares of it are finite, and those of sums of records are.
pub(crate) const LARGEST_CLIP_NORM: f64 = 1e100;

/// Scales gradients down to a largest norm.
///
/// ```text
/// clip(v) = v · min(1, C/‖v‖)        ‖clip(v)‖ ≤ C
/// ```
///
/// # Accuracy
/// The bound holds in floating point too. For `k` elements and the machine epsilon `ε` of the number type,
/// `C` is lowered by a relative margin of `(k + 16)·ε`, which covers the rounding of the norm and of the
/// product, and by `√(k m M / 2)`, which covers what squares below half the smallest number `m` can hide
/// behind factors as large as the largest number `M` allows: `2.1e-8·√k` in `f64`, `4.9e-4·√k` in `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipNorm {
    norm: f64,
    elements: usize,
}

impl ClipNorm {
    /// Clipping of gradients with `elements` elements to norm `norm`.
    ///
    /// # Errors
    /// If `norm` is not between [`SMALLEST_CLIP_NORM`] and 1e100, or there are more than 2³² elements.
    ///
    /// ```
    /// use dp_vi::ClipNorm;
    /// let clip = ClipNorm::new(2.0, 3)?;
    /// let mut weights = [0.0_f64; 3];
    /// clip.weigh(&[100.0, 0.25, 0.0], &mut weights); // squared norms 10², ½², 0
    /// assert!((weights[0] - 0.2).abs() < 1e-8 && weights[0] < 0.2);
    /// assert_eq!(weights[1..], [1.0, 1.0]);
    /// assert!(ClipNorm::new(0.0, 3).is_err());
    /// # Ok::<(), dp_vi::Error>(())
    /// ```
    pub fn new(norm: f64, elements: usize) -> Result<Self> {
        if elements > 1 << 32 {
            let (what, requirement) = ("number of elements to clip", "at most 2^32");
            return Err(Error::OutOfRange { what, requirement, value: elements as f64 });
        }
        if !(SMALLEST_CLIP_NORM..=LARGEST_CLIP_NORM).contains(&norm) {
            return Err(Error::OutOfRange {
                what: "clip norm",
                requirement: "between 1e-4 and 1e100",
                value: norm,
            });
        }
        Ok(Self { norm, elements })
    }

    /// The clip norm `C`.
    #[must_use]
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// How many numbers a gradient has.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }

    /// The norm that is clipped to, lower than `C` by what rounding and underflow in numbers of type `T` may
    /// add; zero if `T` is too coarse for this many elements.
    fn target<T: Scalar>(&self) -> f64 {
        let elements = self.elements as f64;
        let (epsilon, largest) = (T::epsilon().as_f64(), T::max_value().as_f64());
        let smallest = T::min_positive_value().as_f64() * epsilon;
        let hidden = (0.5 * elements * smallest).sqrt() * largest.sqrt();
        ((self.norm - hidden) * (1.0 - (elements + 16.0) * epsilon)).max(0.0)
    }

    /// Writes the factor of each record, given its squared norm.
    pub fn weigh<T: Scalar>(&self, squared_norms: &[T], weights: &mut [T]) {
        let target = T::of(self.target::<T>());
        for (weight, &squared_norm) in weights.iter_mut().zip(squared_norms) {
            let factor = target / squared_norm.sqrt();
            // C/0 is infinite, and `min` would turn a norm that is NaN into a factor of 1.
            *weight = if factor > T::one() { T::one() } else { factor };
        }
    }
}

/// By how much one record can change a sum of vectors, in the Euclidean norm.
///
/// ```text
/// every record adds a vector of norm at most C:
/// add/remove   ‖S − S'‖ = ‖v‖      ≤ C
/// replace-one  ‖S − S'‖ = ‖v − v'‖ ≤ 2C
/// ```
///
/// ```
/// use dp_accountant::Relation;
/// use dp_vi::Sensitivity;
/// let sensitivity = Sensitivity::of_terms(1.5);
/// assert_eq!(sensitivity.under(Relation::AddRemove), 1.5);
/// assert_eq!(sensitivity.under(Relation::ReplaceOne), 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    term: f64,
}

impl Sensitivity {
    /// That of a sum whose terms have norm at most `bound`, one for each record.
    #[must_use]
    pub fn of_terms(bound: f64) -> Self {
        Self { term: bound }
    }

    /// The bound `C` on one record's term.
    #[must_use]
    pub fn term(&self) -> f64 {
        self.term
    }

    /// The largest change of the sum between neighbours.
    #[must_use]
    pub fn under(&self, relation: Relation) -> f64 {
        match relation {
            Relation::AddRemove => self.term,
            Relation::ReplaceOne => 2.0 * self.term,
        }
    }
}

/// How the gradient of one record is bounded. Whatever the choice, its norm is at most `C` when it enters the
/// sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Clipping {
    /// The whole gradient is scaled down to norm `C`: keeps its direction.
    Flat,
    /// Each site's part is scaled down by itself, to `C_s = C √(D_s/D)` for `D_s` of the `D` elements: a site
    /// with large gradients takes nothing from the others. `Σ_s C_s² = C²`, so the noise is that of
    /// [`Clipping::Flat`].
    PerSite,
    /// `C` follows a quantile of the norms that is chosen by noise and number of records, see
    /// [`Quantile`](crate::Quantile), which also says how far beside which optimisers.
    Adaptive,
    /// `C` follows this quantile of the norms.
    Quantile(crate::Quantile),
}

/// A rule with its norms worked out.
#[derive(Debug)]
pub(crate) enum Rule {
    Flat(ClipNorm),
    PerSite(Vec<ClipNorm>),
    Quantile(crate::wall::bound::quantile::Adaptive),
}

impl Rule {
    /// Clips each group of arrays, of this many elements each, to its share of the norm `C`.
    ///
    /// A group holds a site's part at each of this many draws.
    pub(crate) fn per_site(norm: f64, elements: &[usize], draws: usize) -> Result<Self> {
        let all: usize = elements.iter().sum();
        // Lowered, so that the squares of the rounded norms do not add up to more than C².
        let share = |&each: &usize| norm * (each as f64 / all as f64).sqrt() * (1.0 - 4.0 * f64::EPSILON);
        elements
            .iter()
            .map(|each| ClipNorm::new(share(each), draws * each))
            .collect::<Result<_>>()
            .map(Self::PerSite)
    }

    /// Writes the weights of some records: of one group after the other, where sites are clipped by
    /// themselves.
    #[inline(always)]
    fn weigh<T: Scalar>(&self, squared: &[T], weights: &mut [T]) {
        match self {
            Self::Flat(clip) => clip.weigh(squared, weights),
            Self::PerSite(clips) => {
                let lanes = (squared.len() / clips.len()).max(1);
                let groups = squared.chunks_exact(lanes).zip(weights.chunks_exact_mut(lanes));
                clips.iter().zip(groups).for_each(|(clip, (squared, weights))| clip.weigh(squared, weights));
            }
            Self::Quantile(adaptive) => adaptive.weigh(squared, weights),
        }
    }

    /// The clipped sum over a batch.
    pub(crate) fn sum<T: Scalar>(
        &self,
        gradient: &mut RecordGradient<T>,
        records: &Records,
        batch: &[u64],
        sum: &mut [T],
    ) -> Result<()> {
        match self {
            Self::Flat(clip) => {
                let weigh = |squared: &[T], weights: &mut [T]| clip.weigh(squared, weights);
                gradient.weighted_sum(records, batch, weigh, sum)?;
            }
            Self::PerSite(_) => {
                let weigh = |squared: &[T], weights: &mut [T]| self.weigh(squared, weights);
                gradient.weighted_sum_grouped(records, batch, weigh, sum)?;
            }
            Self::Quantile(adaptive) => {
                adaptive.begin();
                let weigh = |squared: &[T], weights: &mut [T]| adaptive.weigh(squared, weights);
                gradient.weighted_sum(records, batch, weigh, sum)?;
            }
        }
        Ok(())
    }

    /// Hands each record's clipped gradient, computed by itself, to one of the takers.
    pub(crate) fn each<T: Scalar, A: Send>(
        &self,
        gradient: &mut RecordGradient<T>,
        records: &Records,
        batch: &[u64],
        takers: &mut [A],
        take: impl Fn(&mut A, &[T]) + Sync,
    ) -> Result<()> {
        if let Self::Quantile(adaptive) = self {
            adaptive.begin();
        }
        let weigh = |squared: &[T], weights: &mut [T]| self.weigh(squared, weights);
        match self {
            Self::PerSite(_) => gradient.each_weighted_grouped(records, batch, weigh, takers, take)?,
            _ => gradient.each_weighted(records, batch, weigh, takers, take)?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has a weight is scaled to the norm at the most, from the smallest numbers to the largest; what has no norm
    /// has no weight that anything would be added with.
    fn weights_keep_to_the_norm<T: Scalar>() {
        let (largest, smallest) = (T::max_value().as_f64(), T::min_positive_value().as_f64());
        let squared = [0.0, smallest, 1e-3, 0.99, 1.0, 4.0, 4.0001, 1e9, largest, f64::INFINITY, f64::NAN];
        for norm in [1e-2, 1.0, 2.0, 1e10] {
            let clip = ClipNorm::new(norm, 5).unwrap();
            let mut weights = [T::one(); 11];
            clip.weigh(&squared.map(T::of), &mut weights);
            for (weight, squared) in weights.map(Scalar::as_f64).into_iter().zip(squared) {
                if squared.is_nan() {
                    assert!(weight.is_nan(), "{norm}: {weight}");
                } else if squared.is_infinite() {
                    assert_eq!(weight, 0.0, "{norm}");
                } else {
                    assert!(
                        (0.0..=1.0).contains(&weight) && weight * squared.sqrt() <= norm,
                        "{norm} {squared}: {weight}"
                    );
                    assert_eq!(
                        weight == 1.0,
                        squared.sqrt() < norm * (1.0 - 1e-3),
                        "{norm} {squared}: {weight}"
                    );
                }
            }
        }
    }

    #[test]
    fn weights_keep_to_the_norm_in_both_precisions() {
        weights_keep_to_the_norm::<f64>();
        weights_keep_to_the_norm::<f32>();
    }
}
