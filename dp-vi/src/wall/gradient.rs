//! Noisy sums of clipped per-record gradients over batches.

use super::adder::NoiseOf;
use super::batches::Batches;
use super::release::{NoisySum, Released};
use crate::cost::deviation::Deviation;
use crate::cost::permit::{Permit, Permits};
use crate::cost::pricing::Pricing;
use crate::error::{Error, Result};
use crate::wall::bound::clip::{ClipNorm, Rule, Sensitivity};
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Purse, Receipt, Relation};
use dp_sampler::{Scheme, Seed, Subsampler, Subsampling};
use ppl_core::{RecordGradient, Records};
use std::sync::atomic::{AtomicU64, Ordering};

/// The Gaussian mechanism on a sum of vectors of norm at most `C`: adds noise of standard deviation `σC` to
/// each element.
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
        self.noise_multiplier * self.clip.norm()
    }

    /// By how much one record changes the sum.
    #[must_use]
    pub fn sensitivity(&self) -> Sensitivity {
        Sensitivity::of_terms(self.clip.norm())
    }

    /// The privacy event of one release on records chosen by this scheme; with
    /// [balls in bins](dp_sampler::BallsInBins), of the releases of a whole epoch.
    ///
    /// # Privacy
    /// One record changes the sum by at most `C` if it is added or removed, `2C` if it is replaced; the
    /// accountant knows the relation and takes `σ` as the ratio of noise to `C`.
    ///
    /// # Errors
    /// If there is no event for such a scheme.
    pub fn event(&self, scheme: &Scheme) -> Result<Event> {
        Ok(Pricing::new(scheme)?.event(self.noise_multiplier)?)
    }
}

/// Releases estimates of `Σ_i v_i`, the sum of all records' gradients, from random batches.
///
/// ```text
/// u = ( Σ_{i ∈ batch} clip(v_i) + σC·z ) / q        z ~ N(0, I),  q = sampling rate
/// ```
///
/// The divisor is the *expected* fraction: dividing by the size the batch happened to have would give that
/// size away. An empty batch is released with its noise like any other, also where there is no record at all.
///
/// Batches and noise come from one seed that this mechanism owns, so no other mechanism can repeat them.
///
/// # Privacy
/// Each release is one event, which the mechanism and the sampler state themselves.
/// [`pay`](PrivateGradient::pay) debits releases from a [`Ledger`](dp_accountant::Ledger) and returns a
/// permit for each; a release consumes a permit, whose number chooses its batch and its noise. So there is no
/// release that was not paid for, and no two releases share a batch or noise: such programs do not compile.
/// With a seed for tests nothing is private: [`is_secret`](PrivateGradient::is_secret) says which it is.
///
/// ```
/// use dp_accountant::{Budget, Ledger, Relation};
/// use dp_sampler::{Poisson, Seed};
/// use dp_vi::{PrivateGradient, Sensitive};
/// use ndarray::array;
/// use ppl_core::{Graph, Record, RecordGradient, Records};
///
/// let records = Sensitive::new(Records::from_columns([("x", array![[3.0, 4.0], [0.3, 0.4]])])?);
/// let graph = Graph::new();
/// let w = graph.input("w", 2)?;
/// let value = Record::new(&graph, records.schema()).get("x")?.dot(w); // its gradient is x
/// let gradient = RecordGradient::with_bounded_sums(value, &[w], &[0])?;
/// let mut mechanism = PrivateGradient::new(gradient, 1.0, 2.0, &Poisson::rate(0.5)?, &records, Seed::from_os()?)?;
///
/// let mut ledger = Ledger::new(Budget { epsilon: 3.0, delta: 1e-5, relation: Relation::AddRemove })?;
/// let mut sum = [0.0; 2];
/// for permit in mechanism.pay(&mut ledger, 2)? {
///     mechanism.release(permit, &mut sum)?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A permit cannot be used twice, and there is no release without one:
///
/// ```compile_fail,E0382
/// # fn f(mut mechanism: dp_vi::PrivateGradient<'_, impl dp_sampler::Subsampler>, mut ledger: dp_accountant::Ledger) {
/// # let mut sum = [0.0; 2];
/// let permit = mechanism.pay(&mut ledger, 1).unwrap().next().unwrap();
/// mechanism.release(permit, &mut sum).unwrap();
/// mechanism.release(permit, &mut sum).unwrap();
/// # }
/// ```
///
/// ```compile_fail,E0061
/// # fn f(mut mechanism: dp_vi::PrivateGradient<'_, impl dp_sampler::Subsampler>) {
/// # let mut sum = [0.0; 2];
/// mechanism.release(&mut sum).unwrap();
/// # }
/// ```
pub struct PrivateGradient<'r, S> {
    batches: Batches<'r, S>,
    sum: NoisySum,
    secret: bool,
    /// Tells permits of this mechanism from those of others.
    number: u64,
    /// Standard deviation of the noise in each element of the last release.
    added: f64,
    /// Releases that have been debited.
    paid: u64,
}

/// Refuses a program that has numbers for each record by its place in the batch, other than the noise of these names:
/// with another record before it a record would have other numbers, and the sum would change by more than one record's
/// part.
///
/// # Errors
/// That names the input.
pub(crate) fn refuse_numbers_by_place(program: &RecordGradient<f64>, noise: &[String]) -> Result<()> {
    match program.record_inputs().find(|&input| !noise.iter().any(|name| name == input)) {
        Some(input) => Err(Error::Model(ppl_core::Error::Unsupported(format!(
            "a private gradient of a program that has numbers for each record by its place (input '{input}')"
        )))),
        None => Ok(()),
    }
}

/// A number that no other mechanism of this process has.
fn fresh_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<'r, S: Subsampler> PrivateGradient<'r, S> {
    /// Releases of `gradient` over batches of `records`, each record's part clipped to `clip_norm`, with
    /// exact noise of standard deviation `noise_multiplier · clip_norm`.
    ///
    /// Make the gradient by [`RecordGradient::with_bounded_sums`]. From another constructor the mechanism is
    /// as private, but where an array is used in several ways it has to add up single records in all but the
    /// smallest batches, which takes some ten times longer.
    ///
    /// # Errors
    /// If clip norm or noise multiplier are out of range, or the records cannot be sampled like that; and if the
    /// gradient has [per-record inputs](RecordGradient::record_inputs), in which a record has numbers by its place:
    /// with another record before it, it would have others.
    pub fn new(
        gradient: RecordGradient<f64>,
        clip_norm: f64,
        noise_multiplier: f64,
        subsampling: &impl Subsampling<Sampler = S>,
        records: &'r Sensitive<Records>,
        seed: Seed,
    ) -> Result<Self> {
        let noise = PrivacyNoise::default();
        Self::with_noise(gradient, (clip_norm, noise_multiplier), noise, subsampling, records, seed)
    }

    /// As [`new`](Self::new), with noise of a kind of your choice; clip norm and noise multiplier are a pair
    /// here.
    ///
    /// ```
    /// # use dp_sampler::{Poisson, Seed};
    /// # use dp_vi::{PrivacyNoise, PrivateGradient, Sensitive};
    /// # use ndarray::array;
    /// # use ppl_core::{Graph, Record, RecordGradient, Records};
    /// # let records = Sensitive::new(Records::from_columns([("x", array![[3.0, 4.0], [0.3, 0.4]])])?);
    /// # let graph = Graph::new();
    /// # let w = graph.input("w", 2)?;
    /// # let value = Record::new(&graph, records.schema()).get("x")?.dot(w);
    /// # let gradient = RecordGradient::with_bounded_sums(value, &[w], &[0])?;
    /// let (plan, seed) = (Poisson::rate(0.5)?, Seed::from_os()?);
    /// let exact = PrivateGradient::with_noise(gradient, (1.0, 2.0), PrivacyNoise::Exact, &plan, &records, seed)?;
    /// let fast = "Gaussian mechanism with noise multiplier 2, Poisson sampling at rate 0.5";
    /// assert_eq!(exact.event()?.to_string(), fast); // the same event
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the noise multiplier is out of the range of noise on a grid.
    pub fn with_noise(
        gradient: RecordGradient<f64>,
        (clip_norm, noise_multiplier): (f64, f64),
        noise: PrivacyNoise,
        subsampling: &impl Subsampling<Sampler = S>,
        records: &'r Sensitive<Records>,
        seed: Seed,
    ) -> Result<Self> {
        refuse_numbers_by_place(&gradient, &[])?;
        let clip = ClipNorm::new(clip_norm, gradient.dimension())?;
        let rule = (Rule::Flat(clip), clip);
        let steps = (NoiseOf::Steps, &seed);
        let sum = NoisySum::new(gradient, rule, noise_multiplier, Released::All, noise, steps)?;
        Ok(Self::over(Batches::new(subsampling, records, (&seed, &[]))?, sum, seed.is_secret()))
    }

    /// Releases of a sum over batches that were made with the same seed. Where the program has numbers for each record,
    /// it is up to the caller that they are the record's own, or independent [noise](refuse_numbers_by_place).
    pub(crate) fn over(batches: Batches<'r, S>, sum: NoisySum, secret: bool) -> Self {
        Self { batches, sum, secret, number: fresh_number(), added: 0.0, paid: 0 }
    }

    /// The sampling scheme, as the sampler states it.
    ///
    /// A scheme that uses the number of records states it, or what follows from it. Such a scheme can be paid
    /// for under replace-one only, where that number is public.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.batches.scheme()
    }

    /// Whether the seed came from the operating system, so that the noise is secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// The mechanism as it is now: its norm, and the multiplier with which it is accounted for.
    #[must_use]
    pub fn mechanism(&self) -> GaussianSum {
        GaussianSum { clip: self.sum.clip(), noise_multiplier: self.sum.noise_multiplier() }
    }

    /// The privacy event of one release.
    ///
    /// # Errors
    /// If there is no event for the sampler's scheme.
    pub fn event(&self) -> Result<Event> {
        self.mechanism().event(&self.scheme())
    }

    /// By how much this many releases deviate from those that the [event](Self::event) stands for, in total
    /// variation: a bound τ, for batches that are not drawn exactly from their scheme and exact noise that is
    /// not drawn exactly from its law. (Floating-point noise is treated as real numbers.)
    ///
    /// # Privacy
    /// What a ledger says of these releases holds for δ + (1 + e^ε) τ: see [`Subsampler::deviation`].
    /// [`DpVi`](crate::DpVi) has this in its δ; a program that pays from a ledger by itself adds it.
    #[must_use]
    pub fn deviation(&self, releases: u64) -> f64 {
        let both = self.batches.deviation(releases) + releases as f64 * self.sum.noise().deviation();
        (both * (1.0 + 4.0 * f64::EPSILON)).min(1.0)
    }

    /// Pays for a number of releases, or for a few more: shuffled records and balls in bins are paid for by
    /// whole epochs. Returns a permit for each.
    ///
    /// # Errors
    /// If the ledger's budget does not allow them, or nothing is proven of how the sampler
    /// [draws](Self::deviation); then nothing is debited.
    pub fn pay(&mut self, purse: &mut (impl Purse + ?Sized), releases: u64) -> Result<Permits> {
        if !self.sum.covers_presence() && purse.ledger().budget().relation != Relation::ReplaceOne {
            return Err(Error::Conflict(
                "noise for replaced records does not protect whether a record is there",
            ));
        }
        // Refuses what nothing is proven of.
        Deviation::of_run(releases, self.deviation(releases), 0.0, 0)?;
        let (event, pricing) =
            (self.event()?, Pricing::permitted(purse.ledger().budget().relation, &self.scheme())?);
        // What is paid for always ends with an epoch, where there are any.
        let (before, paid) = (self.paid, pricing.rounded(self.paid.saturating_add(releases)));
        let uses = pricing.events(paid - before);
        let receipt = purse.debit(event, uses)?;
        self.paid = paid;
        Permits::new(self.number, (before, paid), &receipt, (event, uses))
    }

    /// The permits that are left of a run that had made `done` of the `paid` releases which the receipt is
    /// for. The run's seed must be this mechanism's.
    pub(crate) fn go_on(&mut self, done: u64, paid: u64, receipt: &Receipt) -> Result<Permits> {
        let (event, pricing) = (self.event()?, Pricing::new(&self.scheme())?);
        self.paid = paid.max(done);
        Permits::new(self.number, (done, self.paid), receipt, (event, pricing.events(paid)))
    }

    /// No permits of this mechanism.
    pub(crate) fn no_permits(&self) -> Permits {
        Permits::none(self.number)
    }

    /// The sum, for a checkpoint and for setting the shared values it is taken at.
    pub(crate) fn sum(&self) -> &NoisySum {
        &self.sum
    }

    pub(crate) fn sum_mut(&mut self) -> &mut NoisySum {
        &mut self.sum
    }

    /// Sets a shared input that the gradient is taken at; one that it does not depend on is passed over.
    ///
    /// # Errors
    /// If `values` has the wrong length.
    pub fn set(&mut self, name: &str, values: &[f64]) -> Result<()> {
        Ok(self.sum.program_mut().set(name, values)?)
    }

    /// Standard deviation of the noise in each element of the last release; zero before the first.
    #[must_use]
    pub fn noise_added(&self) -> f64 {
        self.added
    }

    /// Elements of a release.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.sum.elements()
    }

    /// The fraction of the records that a batch holds on average.
    pub(crate) fn rate(&self) -> f64 {
        self.batches.rate()
    }

    /// Makes one release into `out`, which is written only when the noise has been added. Nothing is
    /// allocated.
    ///
    /// # Errors
    /// If the permit is another mechanism's, `out` has not the gradient's dimension, or the records do not
    /// fit it.
    pub fn release(&mut self, permit: Permit, out: &mut [f64]) -> Result<()> {
        if out.len() != self.dimension() {
            let (what, requirement) = ("length of a release", "that of the gradient");
            return Err(Error::OutOfRange { what, requirement, value: out.len() as f64 });
        }
        let number = permit.redeem(self.number)?;
        let rate = self.batches.rate();
        let batch = self.batches.draw(number, self.sum.program_mut())?;
        self.added = self.sum.release(number, batch, rate, out)?;
        Ok(())
    }

    /// A mechanism under any rule, with noise of any kind, for tests.
    #[cfg(test)]
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn under_rule(
        gradient: RecordGradient<f64>,
        (rule, clip): (Rule, ClipNorm),
        noise_multiplier: f64,
        noise: PrivacyNoise,
        subsampling: &impl Subsampling<Sampler = S>,
        records: &'r Sensitive<Records>,
        (seed, names): (&Seed, &[String]),
    ) -> Self {
        let of = (NoiseOf::Steps, seed);
        let sum = NoisySum::new(gradient, (rule, clip), noise_multiplier, Released::All, noise, of).unwrap();
        Self::over(Batches::new(subsampling, records, (seed, names)).unwrap(), sum, seed.is_secret())
    }

    /// `C` of the next release.
    #[cfg(test)]
    pub(crate) fn clip_norm(&self) -> f64 {
        self.sum.clip().norm()
    }

    /// Makes the release of the next number without a permit, for tests that make far more of them than any
    /// budget would pay for.
    #[cfg(test)]
    pub(crate) fn release_unpaid(&mut self, out: &mut [f64]) -> Result<()> {
        self.paid += 1;
        self.release(Permit::for_tests(self.number, self.paid - 1), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::FullBatch;
    use ndarray::array;
    use ppl_core::{Graph, Record};

    /// With a record before it, every other one would have its neighbour's numbers, and the sum would move by more than
    /// one record's part.
    #[test]
    fn numbers_that_go_with_a_place_are_refused() {
        let records = Sensitive::new(Records::from_columns([("x", array![1.0, 2.0])]).unwrap());
        let graph = Graph::new();
        let w = graph.input("w", ()).unwrap();
        let x = Record::new(&graph, records.schema()).get("x").unwrap();
        let of_place = graph.record_input("own", ()).unwrap();
        let made = |value| {
            let gradient = RecordGradient::with_bounded_sums(value, &[w], &[0]).unwrap();
            PrivateGradient::new(gradient, 1.0, 2.0, &FullBatch, &records, Seed::for_tests(1))
        };
        assert!(made(x * w).is_ok());
        let told = made(x * of_place * w).err().expect("refused").to_string();
        assert!(told.contains("by its place") && told.contains("'own'"), "{told}");
    }
}
