//! Noisy sums of clipped per-record gradients: the only way out of the wall.

use crate::error::{Error, Result};
use crate::sensitive::Sensitive;
use dp_accountant::{Event, Ledger, Mechanism, Sampling};
use dp_sampler::{NoiseSource, Scheme, Subsampler};
use ppl_core::{RecordGradient, Records};

/// Smallest clip norm accepted: far above what squares that underflow can hide of a norm (see [`RecordGradient`]).
pub const SMALLEST_CLIP_NORM: f64 = 1e-4;

/// Scales gradients down to a largest norm.
///
/// ```text
/// clip(v) = v · min(1, C/‖v‖)        ‖clip(v)‖ ≤ C
/// ```
///
/// # Accuracy
/// The bound holds in floating point too: `C` is lowered by a relative margin that covers the rounding of the norm and of
/// the product, `(k + 16)·2⁻⁵²` for `k` elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipNorm {
    norm: f64,
    target: f64,
}

impl ClipNorm {
    /// Clipping of gradients with `elements` elements to norm `norm`.
    ///
    /// # Errors
    /// If `norm` is not a finite number of at least [`SMALLEST_CLIP_NORM`].
    ///
    /// ```
    /// use dp_vi::ClipNorm;
    /// let clip = ClipNorm::new(2.0, 3)?;
    /// let mut weights = [0.0; 3];
    /// clip.weigh(&[100.0, 0.25, 0.0], &mut weights); // squared norms 10², ½², 0
    /// assert!((weights[0] - 0.2).abs() < 1e-14 && weights[0] < 0.2);
    /// assert_eq!(weights[1..], [1.0, 1.0]);
    /// assert!(ClipNorm::new(0.0, 3).is_err());
    /// # Ok::<(), dp_vi::Error>(())
    /// ```
    pub fn new(norm: f64, elements: usize) -> Result<Self> {
        if !(SMALLEST_CLIP_NORM..=1e100).contains(&norm) {
            return Err(Error::OutOfRange {
                what: "clip norm",
                requirement: "between 1e-4 and 1e100",
                value: norm,
            });
        }
        let margin = (elements as f64 + 16.0) * f64::EPSILON;
        Ok(Self { norm, target: norm * (1.0 - margin) })
    }

    /// The clip norm `C`.
    #[must_use]
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// Writes the factor of each record, given its squared norm.
    pub fn weigh(&self, squared_norms: &[f64], weights: &mut [f64]) {
        for (weight, squared_norm) in weights.iter_mut().zip(squared_norms) {
            // 0/0 cannot arise, and C/0 is infinite, so `min` gives 1.
            *weight = (self.target / squared_norm.sqrt()).min(1.0);
        }
    }
}

/// The Gaussian mechanism on a sum of vectors of norm at most `C`: adds noise of standard deviation `σC` to each element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianSum {
    clip: ClipNorm,
    noise_multiplier: f64,
}

impl GaussianSum {
    /// The mechanism with clip norm `C` and noise multiplier `σ`, the noise's standard deviation over `C`.
    ///
    /// # Errors
    /// If `σ` is not positive and finite.
    pub fn new(clip: ClipNorm, noise_multiplier: f64) -> Result<Self> {
        if !(noise_multiplier > 0.0 && noise_multiplier.is_finite()) {
            let (what, requirement) = ("noise multiplier", "positive and finite");
            return Err(Error::OutOfRange { what, requirement, value: noise_multiplier });
        }
        Ok(Self { clip, noise_multiplier })
    }

    /// The clipping.
    #[must_use]
    pub fn clip(&self) -> ClipNorm {
        self.clip
    }

    /// `σ`
    #[must_use]
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// Standard deviation of the noise in each element, `σC`.
    #[must_use]
    pub fn noise_scale(&self) -> f64 {
        self.noise_multiplier * self.clip.norm
    }

    /// The privacy event of one release on records chosen by this scheme.
    ///
    /// # Privacy
    /// One record changes the sum by at most `C` if it is added or removed, `2C` if it is replaced; the accountant knows
    /// the relation and takes `σ` as the ratio of noise to `C`.
    ///
    /// # Errors
    /// If there is no event for such a scheme.
    pub fn event(&self, scheme: &Scheme) -> Result<Event> {
        let noise_multiplier = self.noise_multiplier;
        Ok(Event::new(Mechanism::Gaussian { noise_multiplier }, sampling(scheme)?)?)
    }
}

/// What the accountant calls a sampler's scheme.
pub(crate) fn sampling(scheme: &Scheme) -> Result<Sampling> {
    match *scheme {
        Scheme::Full => Ok(Sampling::None),
        Scheme::Poisson { rate, .. } => Ok(Sampling::Poisson { rate }),
        Scheme::WithoutReplacement { batch, records, .. } => {
            Ok(Sampling::WithoutReplacement { batch, records })
        }
        ref other => Err(Error::UnknownScheme(other.to_string())),
    }
}

/// The fraction of records a scheme takes on average.
pub(crate) fn sampling_rate(scheme: &Scheme) -> Result<f64> {
    match *scheme {
        Scheme::Full => Ok(1.0),
        Scheme::Poisson { rate, .. } => Ok(rate),
        Scheme::WithoutReplacement { batch, records, .. } => Ok(batch as f64 / records as f64),
        ref other => Err(Error::UnknownScheme(other.to_string())),
    }
}

/// What is done to the sum of a batch before it leaves the wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protection {
    /// Each record clipped, Gaussian noise added.
    Gaussian(GaussianSum),
    /// Nothing. The sum is **not private**.
    None,
}

/// Releases estimates of `Σ_i v_i`, the sum of all records' gradients, from random batches.
///
/// ```text
/// u = ( Σ_{i ∈ batch} clip(v_i) + σC·z ) / q        z ~ N(0, I),  q = sampling rate
/// ```
///
/// The divisor is the *expected* fraction: dividing by the size the batch happened to have would give that size away. An
/// empty batch is released with its noise like any other.
///
/// # Privacy
/// Each release is one event, which the mechanism and the sampler state themselves. Releases must be paid for from a
/// [`Ledger`] beforehand, and each step's batch and noise are used once.
pub struct PrivateGradient<S, N> {
    gradient: RecordGradient<f64>,
    protection: Protection,
    sampler: S,
    noise: N,
    rate: f64,
    batch: Vec<u64>,
    standard: Vec<f64>,
    step: u64,
    paid: u64,
}

impl<S: Subsampler, N: NoiseSource> PrivateGradient<S, N> {
    /// Releases of `gradient` over batches drawn by `sampler`, protected as told.
    ///
    /// # Errors
    /// If there is no rule for the sampler's scheme.
    pub fn new(gradient: RecordGradient<f64>, protection: Protection, sampler: S, noise: N) -> Result<Self> {
        let rate = sampling_rate(&sampler.scheme())?;
        let batch = Vec::with_capacity(sampler.max_batch_hint());
        let standard = vec![0.0; gradient.dimension()];
        Ok(Self { gradient, protection, sampler, noise, rate, batch, standard, step: 0, paid: 0 })
    }

    /// The privacy event of one release; `None` without protection.
    ///
    /// # Errors
    /// If there is no event for the sampler's scheme.
    pub fn event(&self) -> Result<Option<Event>> {
        match &self.protection {
            Protection::Gaussian(mechanism) => mechanism.event(&self.sampler.scheme()).map(Some),
            Protection::None => Ok(None),
        }
    }

    /// Pays for a number of releases.
    ///
    /// # Errors
    /// If the ledger's budget does not allow them; then nothing is debited.
    pub fn pay(&mut self, ledger: &mut Ledger, releases: u64) -> Result<()> {
        if let Some(event) = self.event()? {
            ledger.debit(event, releases)?;
        }
        self.paid += releases;
        Ok(())
    }

    /// Lets releases through that no ledger knows of; only without protection.
    pub(crate) fn allow_unprotected(&mut self, releases: u64) -> Result<()> {
        match self.protection {
            Protection::None => {
                self.paid += releases;
                Ok(())
            }
            Protection::Gaussian(_) => {
                Err(Error::Conflict("a private mechanism must be paid for from a ledger"))
            }
        }
    }

    /// Lets releases through unaccounted, for tests that make far more of them than any budget would pay for.
    #[cfg(test)]
    pub(crate) fn allow_for_tests(&mut self, releases: u64) {
        self.paid += releases;
    }

    /// The sampler.
    #[must_use]
    pub fn sampler(&self) -> &S {
        &self.sampler
    }

    /// Sets the value of a shared array that the gradient is taken at.
    pub(crate) fn gradient_mut(&mut self) -> &mut RecordGradient<f64> {
        &mut self.gradient
    }

    /// Makes one release into `out`. Nothing is allocated.
    ///
    /// # Errors
    /// If no release is left, or the records do not fit.
    pub fn release(&mut self, records: &Sensitive<Records>, out: &mut [f64]) -> Result<()> {
        if self.step == self.paid {
            return Err(Error::NotPaid { paid: self.paid });
        }
        let step = self.step;
        self.step += 1;
        self.sampler.draw(step, &mut self.batch);
        let records = records.behind_the_wall();
        match &self.protection {
            Protection::Gaussian(mechanism) => {
                let clip = mechanism.clip();
                let weigh = |squared_norms: &[f64], weights: &mut [f64]| clip.weigh(squared_norms, weights);
                self.gradient.weighted_sum(records, &self.batch, weigh, out)?;
                let scale = mechanism.noise_scale();
                self.noise.fill(step, &mut self.standard);
                for (out, z) in out.iter_mut().zip(&self.standard) {
                    *out = (*out + scale * z) / self.rate;
                }
            }
            Protection::None => {
                self.gradient.weighted_sum(records, &self.batch, |_, weights| weights.fill(1.0), out)?;
                out.iter_mut().for_each(|out| *out /= self.rate);
            }
        }
        Ok(())
    }
}
