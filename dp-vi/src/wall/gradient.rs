//! Noisy sums of clipped per-record gradients: the only way out of the wall.

use crate::cost::deviation::Deviation;
use crate::cost::pricing::{Pricing, sampling_rate};
use crate::error::{Error, Result};
use crate::optimiser::SavedState;
use crate::wall::adder::{Grid, PrivacyNoise};
use crate::wall::bound::clip::{ClipNorm, Rule, Sensitivity};
use crate::wall::bound::quantile::Adaptive;
use crate::wall::record_noise::RecordNoise;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Purse};
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Scheme, Seed, Subsampler, Subsampling};
use ppl_core::{RecordGradient, Records};

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
        self.noise_multiplier * self.clip.norm()
    }

    /// By how much one record changes the sum.
    #[must_use]
    pub fn sensitivity(&self) -> Sensitivity {
        Sensitivity::of_terms(self.clip.norm())
    }

    /// The privacy event of one release on records chosen by this scheme; with [balls in bins](dp_sampler::BallsInBins), of the releases of a
    /// whole epoch.
    ///
    /// # Privacy
    /// One record changes the sum by at most `C` if it is added or removed, `2C` if it is replaced; the accountant knows
    /// the relation and takes `σ` as the ratio of noise to `C`.
    ///
    /// # Errors
    /// If there is no event for such a scheme.
    pub fn event(&self, scheme: &Scheme) -> Result<Event> {
        Ok(Pricing::new(scheme)?.event(self.noise_multiplier)?)
    }
}

/// What is done to the sum of a batch before it leaves the wall.
#[derive(Debug)]
pub(crate) enum Protection {
    /// Each record clipped, Gaussian noise added.
    Gaussian(NoisySum),
    /// Nothing. The sum is **not private**.
    None,
}

/// Clipping by a rule, and the multiplier of the noise: one Gaussian release of that multiplier a step, whatever the rule.
#[derive(Debug)]
pub(crate) struct NoisySum {
    pub(crate) rule: Rule,
    /// `C`, now.
    pub(crate) clip: ClipNorm,
    noise_multiplier: f64,
    /// Where noise is exact.
    pub(crate) grid: Option<Box<Grid>>,
}

impl NoisySum {
    /// `clip` is the norm of the whole gradient under the rule.
    pub(crate) fn new(rule: Rule, clip: ClipNorm, noise_multiplier: f64) -> Result<Self> {
        GaussianSum::new(clip, noise_multiplier)?;
        Ok(Self { rule, clip, noise_multiplier, grid: None })
    }

    /// The same with this kind of noise, on sums that this gradient forms.
    pub(crate) fn with_noise(
        mut self,
        noise: PrivacyNoise,
        seed: &Seed,
        gradient: &RecordGradient<f64>,
    ) -> Result<Self> {
        self.grid = match noise {
            PrivacyNoise::Continuous => None,
            PrivacyNoise::Exact => {
                let streams = seed.streams(Purpose::RoundedGaussianNoise);
                let (elements, count) = (gradient.dimension(), self.beside() > 0);
                Some(Box::new(Grid::new(streams, elements, self.noise_multiplier, gradient, count)?))
            }
        };
        Ok(self)
    }

    /// The mechanism as it is now: its norm, and the multiplier it is accounted with.
    pub(crate) fn mechanism(&self) -> GaussianSum {
        GaussianSum { clip: self.clip, noise_multiplier: self.noise_multiplier }
    }

    /// Standard deviation of the noise in each element of the next sum.
    fn noise_scale(&self) -> f64 {
        let multiplier = match self.rule {
            Rule::Quantile(_) => Adaptive::gradient_multiplier(self.noise_multiplier),
            _ => self.noise_multiplier,
        };
        multiplier * self.clip.norm()
    }

    /// Numbers that are released beside the sum.
    fn beside(&self) -> usize {
        usize::from(matches!(self.rule, Rule::Quantile(_)))
    }

    /// Makes one release with exact noise into `out`, and returns the standard deviation of the noise in each element.
    fn release_exactly(
        &mut self,
        gradient: &mut RecordGradient<f64>,
        (records, batch): (&Records, &[u64]),
        (number, rate): (u64, f64),
        sum: &mut [f64],
        out: &mut [f64],
    ) -> Result<f64> {
        let norm = self.clip.norm();
        let Some(grid) = &mut self.grid else {
            return Err(Error::Conflict("this sum has no grid"));
        };
        grid.sum((&self.rule, norm), gradient, (records, batch), sum)?;
        grid.add_noise(sum, (number, norm, 1.0 / rate), out);
        if let Rule::Quantile(adaptive) = &mut self.rule {
            let halves = adaptive.halves(batch.len());
            adaptive.follow(grid.noisy_count(halves))?;
            self.clip = adaptive.clip();
        }
        Ok(grid.noise_scale(norm) / rate)
    }

    /// Releases what goes beside the sum of a batch, with the standard normals for it.
    fn release_beside(&mut self, batch: usize, standard: &[f64]) -> Result<()> {
        if let (Rule::Quantile(adaptive), [z]) = (&mut self.rule, standard) {
            adaptive.adapt(batch, self.noise_multiplier, *z)?;
            self.clip = adaptive.clip();
        }
        Ok(())
    }
}

/// Releases estimates of `Σ_i v_i`, the sum of all records' gradients, from random batches.
///
/// ```text
/// u = ( Σ_{i ∈ batch} clip(v_i) + σC·z ) / q        z ~ N(0, I),  q = sampling rate
/// ```
///
/// The divisor is the *expected* fraction: dividing by the size the batch happened to have would give that size away. An
/// empty batch is released with its noise like any other, also where there is no record at all.
///
/// Batches and noise come from one seed that this mechanism owns, so no other mechanism can repeat them.
///
/// # Privacy
/// Each release is one event, which the mechanism and the sampler state themselves. Releases must be paid for from a
/// [`Ledger`](dp_accountant::Ledger) beforehand, and each step's batch and noise are used once. With a seed for tests nothing is private:
/// [`is_secret`](PrivateGradient::is_secret) tells.
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
/// assert!(mechanism.release(&mut sum).is_err()); // not paid for
/// mechanism.pay(&mut ledger, 1)?;
/// mechanism.release(&mut sum)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PrivateGradient<'r, S> {
    gradient: RecordGradient<f64>,
    protection: Protection,
    records: &'r Sensitive<Records>,
    sampler: S,
    noise: GaussianNoise,
    secret: bool,
    rate: f64,
    batch: Vec<u64>,
    /// The sum stays in here until its noise has been added.
    sum: Vec<f64>,
    standard: Vec<f64>,
    /// Standard deviation of the noise in each element of the last release.
    added: f64,
    record_noise: RecordNoise,
    step: u64,
    paid: u64,
}

impl<'r, S: Subsampler> PrivateGradient<'r, S> {
    /// Releases of `gradient` over batches of `records`, each record's part clipped to `clip_norm`, with exact noise of standard
    /// deviation `noise_multiplier · clip_norm`.
    ///
    /// Make the gradient by [`RecordGradient::with_bounded_sums`]. From another constructor the mechanism is as private, but where an array is used in several
    /// ways it has to add up single records in all but the smallest batches, which takes some ten times longer.
    ///
    /// # Errors
    /// If clip norm or noise multiplier are out of range, or the records cannot be sampled like that.
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

    /// As [`new`](Self::new), with noise of a kind of your choice; clip norm and noise multiplier are a pair here.
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
    /// assert_eq!(exact.event()?.unwrap().to_string(), fast); // the same event
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
        let clip = ClipNorm::new(clip_norm, gradient.dimension())?;
        let sum = NoisySum::new(Rule::Flat(clip), clip, noise_multiplier)?;
        let sum = sum.with_noise(noise, &seed, &gradient)?;
        Self::with(gradient, Protection::Gaussian(sum), subsampling, records, (&seed, &[]))
    }

    /// The seed comes with the names of per-record inputs that take fresh standard normals at every release.
    pub(crate) fn with(
        gradient: RecordGradient<f64>,
        protection: Protection,
        subsampling: &impl Subsampling<Sampler = S>,
        records: &'r Sensitive<Records>,
        (seed, record_noise): (&Seed, &[String]),
    ) -> Result<Self> {
        // No sampler draws from nothing. Where there is no record, its draws are thrown away: whether there is one must
        // not show.
        let count = records.behind_the_wall().len().max(1) as u64;
        let sampler = subsampling.bind(count, seed)?;
        Ok(Self {
            rate: sampling_rate(&sampler.scheme())?,
            batch: Vec::with_capacity(sampler.max_batch_hint()),
            sum: vec![0.0; gradient.dimension()],
            standard: vec![
                0.0;
                gradient.dimension()
                    + match &protection {
                        Protection::Gaussian(sum) => sum.beside(),
                        Protection::None => 0,
                    }
            ],
            added: 0.0,
            record_noise: RecordNoise::new(
                record_noise,
                seed.streams(Purpose::Custom("latent values of records")),
            ),
            noise: GaussianNoise::new(seed),
            secret: seed.is_secret(),
            gradient,
            protection,
            records,
            sampler,
            step: 0,
            paid: 0,
        })
    }

    /// The sampling scheme, as the sampler states it.
    ///
    /// A scheme that uses the number of records states it, or what follows from it. Such a scheme can be paid for under replace-one
    /// only, where that number is public.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.sampler.scheme()
    }

    /// Whether the seed came from the operating system, so that nobody knows the noise.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// The privacy event of one release; `None` without protection.
    ///
    /// # Errors
    /// If there is no event for the sampler's scheme.
    pub fn event(&self) -> Result<Option<Event>> {
        match &self.protection {
            Protection::Gaussian(sum) => sum.mechanism().event(&self.sampler.scheme()).map(Some),
            Protection::None => Ok(None),
        }
    }

    /// By how much so many releases deviate from those that the [event](Self::event) stands for, in total variation: a bound τ, for batches that are
    /// not drawn exactly from their scheme and exact noise that is not drawn exactly from its law. (Floating-point noise is taken for real
    /// numbers.)
    ///
    /// # Privacy
    /// What a ledger says of these releases holds for δ + (1 + e^ε) τ: see [`Subsampler::deviation`]. [`DpVi`](crate::DpVi) has this in
    /// its δ; whoever pays from a ledger adds it.
    #[must_use]
    pub fn deviation(&self, releases: u64) -> f64 {
        let noise = match &self.protection {
            Protection::Gaussian(sum) if sum.grid.is_some() => PrivacyNoise::Exact.deviation(),
            _ => 0.0,
        };
        let both = self.sampler.deviation(releases) + releases as f64 * noise;
        (both * (1.0 + 4.0 * f64::EPSILON)).min(1.0)
    }

    /// Pays for a number of releases, or for a few more: shuffled records and balls in bins are paid for by whole epochs.
    ///
    /// # Errors
    /// If the ledger's budget does not allow them, or nothing is proven of how the sampler [draws](Self::deviation); then nothing is debited.
    pub fn pay(&mut self, purse: &mut (impl Purse + ?Sized), releases: u64) -> Result<()> {
        let Some(event) = self.event()? else {
            return Err(Error::Conflict("an unprotected release has no price, for no budget allows it"));
        };
        // Refuses what nothing is proven of.
        Deviation::of_run(releases, self.deviation(releases), 0.0, false)?;
        let pricing = Pricing::permitted(purse.ledger().budget().relation, &self.sampler.scheme())?;
        // What is paid for always ends with an epoch, where there are any.
        let paid = pricing.rounded(self.paid.saturating_add(releases));
        purse.debit(event, pricing.events(paid - self.paid))?;
        self.paid = paid;
        Ok(())
    }

    /// Releases that are paid for and have not been made.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.paid - self.step
    }

    /// Goes on after `done` releases of a run that has paid for `paid`, with the seed of that run.
    pub(crate) fn go_on(&mut self, done: u64, paid: u64) {
        self.step = done;
        self.paid = paid.max(done);
    }

    /// What is done to a sum, for a checkpoint's settings.
    pub(crate) fn protection(&self) -> &Protection {
        &self.protection
    }

    /// Appends what the clipping has learnt from earlier releases.
    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        if let Protection::Gaussian(NoisySum { rule: Rule::Quantile(adaptive), .. }) = &self.protection {
            state.push(adaptive.clip().norm());
        }
    }

    /// Takes that back.
    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        if let Protection::Gaussian(NoisySum { rule: Rule::Quantile(adaptive), clip, .. }) =
            &mut self.protection
        {
            adaptive.go_on(state.take(1)?[0])?;
            *clip = adaptive.clip();
        }
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

    /// `C` of the next release.
    #[cfg(test)]
    pub(crate) fn clip_norm(&self) -> Option<f64> {
        match &self.protection {
            Protection::Gaussian(sum) => Some(sum.clip.norm()),
            Protection::None => None,
        }
    }

    /// Lets releases through unaccounted, for tests that make far more of them than any budget would pay for.
    #[cfg(test)]
    pub(crate) fn allow_for_tests(&mut self, releases: u64) {
        self.paid += releases;
    }

    /// The standard normals of the last release.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> &[f64] {
        &self.standard
    }

    /// The gradient, for setting the shared values it is taken at.
    pub(crate) fn gradient_mut(&mut self) -> &mut RecordGradient<f64> {
        &mut self.gradient
    }

    /// Takes another program for the same sums, as after a choice of where to start.
    pub(crate) fn replace(&mut self, gradient: RecordGradient<f64>) -> Result<()> {
        if gradient.dimension() != self.gradient.dimension() {
            return Err(Error::Conflict(
                "where a run starts must not change how many elements its sums have",
            ));
        }
        self.gradient = gradient;
        Ok(())
    }

    /// Sets a shared input that the gradient is taken at; one that it does not depend on is passed over.
    ///
    /// # Errors
    /// If `values` has the wrong length.
    pub fn set(&mut self, name: &str, values: &[f64]) -> Result<()> {
        Ok(self.gradient.set(name, values)?)
    }

    /// Standard deviation of the noise in each element of the last release; zero before the first, and without protection.
    #[must_use]
    pub fn noise_added(&self) -> f64 {
        self.added
    }

    /// Elements of a release.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.sum.len()
    }

    /// The fraction of the records that a batch holds on average.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Makes one release into `out`, which is written only when the noise has been added. Nothing is allocated.
    ///
    /// # Errors
    /// If no release is left, `out` has not the gradient's dimension, or the records do not fit it.
    pub fn release(&mut self, out: &mut [f64]) -> Result<()> {
        if self.step == self.paid {
            return Err(Error::NotPaid { paid: self.paid });
        }
        if out.len() != self.sum.len() {
            let (what, requirement) = ("length of a release", "that of the gradient");
            return Err(Error::OutOfRange { what, requirement, value: out.len() as f64 });
        }
        let step = self.step;
        self.step += 1;
        let records = self.records.behind_the_wall();
        self.sampler.draw(step, &mut self.batch);
        if records.is_empty() {
            self.batch.clear();
        }
        self.record_noise.fill(step, self.batch.len(), &mut self.gradient)?;
        match &mut self.protection {
            Protection::Gaussian(noisy) if noisy.grid.is_some() => {
                let batch = (records, self.batch.as_slice());
                self.added = noisy.release_exactly(
                    &mut self.gradient,
                    batch,
                    (step, self.rate),
                    &mut self.sum,
                    out,
                )?;
            }
            Protection::Gaussian(noisy) => {
                noisy.rule.sum(&mut self.gradient, records, &self.batch, &mut self.sum)?;
                self.noise.fill(step, &mut self.standard);
                let scale = noisy.noise_scale();
                for ((out, &sum), z) in out.iter_mut().zip(&self.sum).zip(&self.standard) {
                    // Terms of norm C add up to a finite sum; should one not, it must not show that it was there.
                    let sum = if sum.is_finite() { sum } else { 0.0 };
                    *out = (sum + scale * z) / self.rate;
                }
                self.added = scale / self.rate;
                noisy.release_beside(self.batch.len(), &self.standard[self.sum.len()..])?;
            }
            Protection::None => {
                // Norms are not needed, but for leaving out a record that is not finite.
                self.gradient.sum(records, &self.batch, &mut self.sum)?;
                if self.sum.iter().any(|sum| !sum.is_finite()) {
                    let whole = |_: &[f64], weights: &mut [f64]| weights.fill(1.0);
                    self.gradient.weighted_sum(records, &self.batch, whole, &mut self.sum)?;
                }
                out.iter_mut().zip(&self.sum).for_each(|(out, sum)| *out = sum / self.rate);
            }
        }
        Ok(())
    }
}
