//! A clip norm that follows a quantile of the gradients' norms, found privately.

use crate::error::{Error, Result};
use crate::wall::bound::clip::{ClipNorm, SMALLEST_CLIP_NORM};
use ppl_core::Scalar;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clip norm below which, at each step, about a share `target` of the gradients lies.
///
/// ```text
/// b   = Σ_{i ∈ batch} (1[‖v_i‖ ≤ C] − ½)                          the count, centred
/// b̃   = (b + σ_b z)/(q N₀) + ½,   σ_b = 5σ                        its noisy share
/// C   ← C · exp(−rate · (b̃ − target))
/// G   = Σ_{i ∈ batch} clip_C(v_i) + σ_grad C z,   σ_grad = (σ⁻² − (2σ_b)⁻²)^(−½) = σ/√(1 − 1/100)
/// ```
///
/// `N₀` is a public statement of the number of records
/// ([`DpVi::public_records`](crate::DpVi::public_records)): a wrong one slows the rule down or makes it
/// settle on another quantile, and costs no privacy.
///
/// # Privacy
/// Both releases of a step together are *one* Gaussian release of multiplier `σ`. Divide each coordinate by
/// the standard deviation of its noise: a record then adds the vector `(clip_C(v)/(σ_grad C), ±½/σ_b)` to a
/// sum with standard normal noise, and the square of its norm is at most
///
/// ```text
/// σ_grad⁻² + (2σ_b)⁻² = σ⁻²
/// ```
///
/// So under add/remove the pair is a Gaussian mechanism on terms of norm 1 with multiplier `σ`, and under
/// replace-one the difference of two such terms has norm at most `2/σ`: what the accountant assumes of a
/// multiplier `σ` under either relation. It holds for each record whatever the others are, so it is amplified
/// by sampling as one release is. `C` is a function of earlier releases only. A record whose gradient is no
/// number counts as one of `±½` and adds nothing else.
///
/// # References
/// Andrew, Thakkar, McMahan, Ramaswamy 2021, "Differentially Private Learning with Adaptive Clipping" (the
/// rule, and the split of `σ`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// Share of the gradients that should not be clipped, strictly between 0 and 1. The customary 0.5 biases
    /// posteriors badly.
    pub target: f64,
    /// How fast `C` moves, above 0 and at most 1.
    pub rate: f64,
}

impl Default for Quantile {
    /// Target 0.9, rate 0.2.
    fn default() -> Self {
        Self { target: 0.9, rate: 0.2 }
    }
}

/// `σ_b/σ`
const COUNT_NOISE: f64 = 5.0;

/// The largest norm that the rule may reach.
const LARGEST: f64 = 1e50;

impl Quantile {
    pub(crate) fn validate(&self) -> Result<()> {
        if !(self.target > 0.0 && self.target < 1.0) {
            let (what, requirement) = ("target quantile of the clip norm", "strictly between 0 and 1");
            return Err(Error::OutOfRange { what, requirement, value: self.target });
        }
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            let (what, requirement) = ("rate of the clip norm", "above 0 and at most 1");
            return Err(Error::OutOfRange { what, requirement, value: self.rate });
        }
        Ok(())
    }
}

/// The rule at work.
#[derive(Debug)]
pub(crate) struct Adaptive {
    settings: Quantile,
    clip: ClipNorm,
    elements: usize,
    expected_batch: f64,
    /// Gradients of the last batch that were not longer than `C`.
    below: AtomicU64,
}

impl Adaptive {
    pub(crate) fn new(
        settings: Quantile,
        first: ClipNorm,
        elements: usize,
        expected_batch: f64,
    ) -> Result<Self> {
        settings.validate()?;
        Ok(Self {
            settings,
            clip: first,
            elements,
            expected_batch: expected_batch.max(1.0),
            below: AtomicU64::new(0),
        })
    }

    /// `C` of the next step.
    pub(crate) fn clip(&self) -> ClipNorm {
        self.clip
    }

    /// Goes on with the `C` of a run that was interrupted.
    pub(crate) fn go_on(&mut self, norm: f64) -> Result<()> {
        self.clip = ClipNorm::new(norm, self.elements)?;
        Ok(())
    }

    /// `σ_grad`, for a multiplier `σ` of both releases together.
    pub(crate) fn gradient_multiplier(noise_multiplier: f64) -> f64 {
        noise_multiplier / (1.0 - 1.0 / (4.0 * COUNT_NOISE * COUNT_NOISE)).sqrt()
    }

    /// `σ_b`, for a multiplier `σ` of both releases together.
    pub(crate) fn count_multiplier(noise_multiplier: f64) -> f64 {
        COUNT_NOISE * noise_multiplier
    }

    /// Before the gradients of a batch are weighed.
    pub(crate) fn begin(&self) {
        self.below.store(0, Ordering::Relaxed);
    }

    /// Clips; counts on the way.
    #[inline(always)]
    pub(crate) fn weigh<T: Scalar>(&self, squared: &[T], weights: &mut [T]) {
        let square = T::of(self.clip.norm() * self.clip.norm());
        self.clip.weigh(squared, weights);
        let below = squared.iter().filter(|&&squared| squared <= square).count();
        // A sum of integers: the order in which tiles add to it does not matter.
        self.below.fetch_add(below as u64, Ordering::Relaxed);
    }

    /// Twice the centred count of the last batch: `Σ ±1`.
    pub(crate) fn halves(&mut self, batch: usize) -> i64 {
        2 * *self.below.get_mut() as i64 - batch as i64
    }

    /// Releases the count of the last batch, with this standard normal, and moves `C`.
    #[cfg(test)]
    pub(crate) fn adapt(&mut self, batch: usize, noise_multiplier: f64, z: f64) -> Result<()> {
        let centred = 0.5 * self.halves(batch) as f64;
        self.follow(centred + Self::count_multiplier(noise_multiplier) * z)
    }

    /// Moves `C` by a centred count that has its noise: from here on everything is public.
    pub(crate) fn follow(&mut self, noisy: f64) -> Result<()> {
        let share = (noisy / self.expected_batch + 0.5).clamp(-1.0, 2.0);
        let moved = self.clip.norm() * (-self.settings.rate * (share - self.settings.target)).exp();
        self.clip = ClipNorm::new(moved.clamp(SMALLEST_CLIP_NORM, LARGEST), self.elements)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
