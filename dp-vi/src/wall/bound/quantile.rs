//! A clip norm that follows a quantile of the gradients' norms, found privately.

use crate::cost::pricing::sampling_variance;
use crate::error::{Error, Result};
use crate::wall::bound::clip::{ClipNorm, SMALLEST_CLIP_NORM};
use dp_sampler::Scheme;
use ppl_core::Scalar;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clip norm below which, at each step, about a share `target` of the gradients lies.
///
/// ```text
/// b   = Σ_{i ∈ batch} (1[‖v_i‖ ≤ C] − ½)                          the count, centred
/// b̃   = (b + σ_b z)/(q N₀) + ½,   σ_b = 5σ                        its noisy share
/// C   ← C · exp(−rate · (b̃ − target))                            by at most a factor of e
/// G   = Σ_{i ∈ batch} clip_C(v_i) + σ_grad C z,   σ_grad = (σ⁻² − (2σ_b)⁻²)^(−½) = σ/√(1 − 1/100)
/// ```
///
/// `N₀` is the number of records as it was [stated](crate::DpVi::public_records) or released for 1 % of the
/// budget: a wrong one slows the rule down or makes it settle on another quantile, and costs no privacy.
///
/// # Which quantile
/// A gradient that is clipped bends the posterior: with a target of 0.9 the standard deviation of a Gaussian
/// comes out a tenth too small. A large norm lets more noise in, and a quantile too close to 1 cannot be
/// found in noisy counts. With [`Clipping::Adaptive`](crate::Clipping::Adaptive), the default for likelihoods
/// that are not recognised, both follow from the noise of all `T` steps together, as a share of the records:
///
/// ```text
/// s = σ/(q N₀ √T)                    the noise of all counts together is 5 s, that of one of them 5 s √T
/// m = 1 − target = 30 s              between 0.001 and 0.3, and at least 0.4 s √D for D elements at the frontier
/// rate = m/(8 ((5 s √T)² + v))       at most 0.1/m
/// C = quantile · κ,   κ = 1 + ln(m/(4 s √D))/ln(1/m)      at least 1
/// ```
///
/// *The factor `κ`*, in the coordinates of a [rough fit](crate::DpVi::rough_fit) and 1 elsewhere, is for what
/// counts cannot tell. A quantile that noisy counts can find leaves `30 s` of the norms above it, and where
/// they were clipped to it the bias was many times the noise: of 434 records with three values at ε = 1 a
/// quarter of the gradients was clipped, a residual deviation came out a seventh too small, 3.5 of its
/// standard deviations, and 90 % intervals held .64. `4 s √D` of the norms are to be clipped in the end: by
/// the reckoning of the second bound below the bias is then at most twice the noise of all elements together,
/// and in regressions with normal residuals (of 1 to 20 features, computed) it is .6 of what that allows for.
/// Beyond the quantile norms are taken to have an exponential tail, `P(‖v‖ > κ x) = m^κ`; those of such
/// regressions have a shorter one by a seventh of `κ`. The factor was chosen with that one regression in sight
/// (with `2 s √D`, intervals held .91 and were 2.15 times as long as without privacy instead of 1.98; with
/// `8 s √D`, .83), and by this reckoning. In the model's own units gradients are longer in some directions
/// than in others, and the noise that the factor lets in costs those more than the clipping did: a residual
/// deviation of .1 beside weights of order one came out at .123.
///
/// *The rate* keeps the walk of `ln C` that the noise of the counts causes to a standard deviation of 0.1 to
/// 0.2: where a share `m` of the norms is above `C`, a unit of `ln C` changes that share by `k m`, with `k`
/// between 1.7 (`m` = 0.1) and 3.7 (0.01) for squares of normals, and a walk with that return has the variance
/// `rate ((5 s √T)² + v)/(2 k m)`. Here `v` is what samples add to the noise of a step's count: `(1 − q)/(4 q N₀)`
/// where the size of a batch is random, since each of its records adds `±½`, and `m (1 − q)/(q N₀)` where it is fixed
/// (`1` for `1 − q` with replacement). The rate may be above 1 with many records, so that `C` comes down from far
/// above the norms, too; a step changes `ln C` by at most 1. Beyond `0.1/m` a step would overshoot: it brings the share
/// `rate · k m` of the way back, with `k` up to 7 at `m` = .001 in regressions, and with more than twice the way the
/// norm would swing for ever. Down it goes by `rate · (1 − target)` a step: with few records and a small ε by a factor
/// of a few over the whole run, and a norm that is known to lie far from `√D` is better
/// [named](crate::DpVi::clip_norm). *The target* lets it arrive: with 17 in the place of 30 the return from nearby
/// takes a quarter of the run; 30 was better on generated horseshoe and zero-inflated regressions at ε of 0.3 and 1.
/// *The second bound* is a fifth of `2 s √D`, where the bias of all steps would be as large as the noise `√D σ C √T/q`
/// of all their gradients, if those that are clipped were half as long again and pointed in one direction: `m N T C/2`.
///
/// # Beside plain ascent
/// Noise that is added to gradients moves the values, values that noise has moved make gradients longer, and `C`
/// follows. Where steps are longer for longer gradients, that can go round: the noise of a step is `σC`, and a step of
/// rate `η` moves each value by `ησC` of it. Steps that divide by the gradients' own size
/// ([`adam`](crate::optimiser::adam) and its like, [`is_scale_free`](crate::optimiser::Transformation::is_scale_free))
/// are as long whatever `C` is. Beside a named optimiser of another kind `C` is at most six times its first, so that
/// noise moves the values at most six times as far as the rate was chosen for.
///
/// *Six* is what a norm that was named well can need. The first `C` is meant to be the root mean square of the norms.
/// In a linear model of one feature a record's gradient is the product of residual and feature; if both are
/// standard normal, its
/// mean square is 1, and the .999 quantile of its size, the highest that the rule aims at, is 5.72. With
/// more features the
/// norms vary less.
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
    /// Target 0.9, rate 0.2: fixed, whatever the noise is.
    fn default() -> Self {
        Self { target: 0.9, rate: 0.2 }
    }
}

/// `σ_b/σ`
const COUNT_NOISE: f64 = 5.0;

/// `(1 − target)/s`, and the same over `√D`.
const CLIPPED: f64 = 30.0;
const CLIPPED_OF_MANY: f64 = 0.4;

/// The share of gradients that are clipped in the end, over `s √D`.
const CLIPPED_IN_THE_END: f64 = 4.0;

/// What the variance of a walk with return leaves to the rate.
const DRIFT: f64 = 0.125;

/// The largest `rate · (1 − target)`.
const LARGEST_DRIFT: f64 = 0.1;

/// The largest norm that the rule may reach.
const LARGEST: f64 = 1e50;

/// The largest that a norm may become beside an optimiser whose steps grow with it, over its first: the
/// .999 quantile of
/// `|z₁z₂|` for standard normals is 5.72.
pub(crate) const MOST_GROWTH: f64 = 6.0;

impl Quantile {
    /// What suits a run of `steps` steps with this noise multiplier and sampling rate on this many records; see
    /// the type.
    pub(crate) fn suited_to(
        (noise_multiplier, sampling_rate, steps): (f64, f64, u64),
        (records, scheme): (f64, &Scheme),
        elements: usize,
    ) -> Suited {
        // The noise of a step, and of all of them together, over the number of records.
        let step = noise_multiplier / (sampling_rate * records.max(1.0));
        let whole = step / (steps as f64).sqrt();
        let root = (elements.max(1) as f64).sqrt();
        let longer = (CLIPPED.max(CLIPPED_OF_MANY * root) * whole).clamp(1e-3, 0.3);
        // A record that is in the batch adds ±½ to the count; in batches of a fixed size it only takes another's place.
        let varies = matches!(scheme, Scheme::Poisson { .. } | Scheme::BallsInBins { .. });
        let of_records = if varies { 0.25 } else { longer };
        let sampled = of_records * sampling_variance(scheme, sampling_rate) / records.max(1.0);
        let rate = DRIFT * longer / ((COUNT_NOISE * step).powi(2) + sampled);
        let rate = rate.min(LARGEST_DRIFT / longer);
        let ratio = longer / (CLIPPED_IN_THE_END * whole * root);
        let margin = (1.0 + ratio.ln() / longer.recip().ln()).max(1.0);
        Suited { quantile: Self { target: 1.0 - longer, rate }, margin }
    }

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

/// A quantile of the norms, and how far above it the norm is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Suited {
    pub(crate) quantile: Quantile,
    /// `C` over the quantile, at least 1.
    pub(crate) margin: f64,
}

/// The rule at work.
#[derive(Debug)]
pub(crate) struct Adaptive {
    settings: Quantile,
    margin: f64,
    clip: ClipNorm,
    /// The largest that it may become.
    most: f64,
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
            margin: 1.0,
            clip: first,
            most: LARGEST,
            elements,
            expected_batch: expected_batch.max(1.0),
            below: AtomicU64::new(0),
        })
    }

    /// The same, which never goes above this norm.
    pub(crate) fn at_most(self, norm: f64) -> Self {
        Self { most: norm.clamp(SMALLEST_CLIP_NORM, LARGEST), ..self }
    }

    /// Sets the number of records that a batch is expected to hold, and the quantile if another one suits it.
    pub(crate) fn expect(&mut self, batch: f64, suited: Option<Suited>) {
        self.expected_batch = batch.max(1.0);
        if let Some(Suited { quantile, margin }) = suited {
            (self.settings, self.margin) = (quantile, margin);
        }
    }

    /// `C` of the next step.
    pub(crate) fn clip(&self) -> ClipNorm {
        self.clip
    }

    /// The quantile that is followed, as far as it has been found: `C/κ`.
    pub(crate) fn quantile(&self) -> f64 {
        self.clip.norm() / self.margin
    }

    /// From here on `C` becomes no larger than this many times what it is, where it lies above its quantile.
    pub(crate) fn hold(&mut self, times: f64) {
        if self.margin == 1.0 {
            return;
        }
        self.most = self.most.min(times * self.clip.norm());
    }

    /// What a run that is interrupted has to go on with: `C`, the expected batch, target and rate, `κ`, and
    /// the largest
    /// norm.
    pub(crate) fn state(&self) -> [f64; 6] {
        let Self { clip, expected_batch, settings, margin, most, .. } = self;
        [clip.norm(), *expected_batch, settings.target, settings.rate, *margin, *most]
    }

    /// Goes on with the state of a run that was interrupted.
    pub(crate) fn go_on(
        &mut self,
        [norm, expected_batch, target, rate, margin, most]: [f64; 6],
    ) -> Result<()> {
        let settings = Quantile { target, rate };
        // One that suits a run may have a higher rate than one that is named.
        Quantile { target, rate: rate.min(1.0) }.validate()?;
        if !(expected_batch >= 1.0 && expected_batch.is_finite()) {
            let (what, requirement) = ("expected number of records of a batch", "at least 1 and finite");
            return Err(Error::OutOfRange { what, requirement, value: expected_batch });
        }
        if !(margin >= 1.0 && margin.is_finite()) {
            let (what, requirement) =
                ("clip norm over the quantile that it follows", "at least 1 and finite");
            return Err(Error::OutOfRange { what, requirement, value: margin });
        }
        if !(SMALLEST_CLIP_NORM..=LARGEST).contains(&most) {
            let (what, requirement) = ("largest clip norm", "from 1e-4 to 1e50");
            return Err(Error::OutOfRange { what, requirement, value: most });
        }
        self.clip = ClipNorm::new(norm, self.elements)?;
        self.most = self.most.min(most);
        (self.settings, self.expected_batch, self.margin) = (settings, expected_batch, margin);
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
        let quantile = self.quantile();
        let square = T::of(quantile * quantile);
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
        let change = -self.settings.rate * (share - self.settings.target);
        let moved = self.clip.norm() * change.clamp(-1.0, 1.0).exp();
        self.clip = ClipNorm::new(moved.clamp(SMALLEST_CLIP_NORM, self.most), self.elements)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
