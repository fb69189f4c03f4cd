//! Counts with discrete Gaussian noise.

use super::noisy_counts::CountNoise;
use super::{Mechanism, check_histogram, product_law, sealed};
use crate::error::{Error, Result};
use dp_accountant::{Event, Mechanism as Accounted, Relation, Sampling};
use dp_sampler::{DiscreteGaussianNoise, NoiseSource, Purpose, Seed};
use ppl_core::finite::{Dist, Histogram, Interval, LogInterval};

/// Variances are multiples of 2⁻²⁰.
const UNIT: u64 = 1 << 20;
/// The least and the largest variance: the law is summed up to 39 standard deviations.
const VARIANCES: (f64, f64) = (0.001, (1 << 24) as f64);
/// The part of δ that noise is made for: an event with the whole of a budget's δ would leave no ε for it.
const PART: f64 = 0.999;
/// e to the minus this is below the smallest double.
const FAR: f64 = 750.0;

/// Counts with discrete Gaussian noise on each, then clamped to the range that they may have.
///
/// ```text
/// P(z) ∝ exp(−z²/(2σ²)),   z an integer        clamped: what lies outside counts at the nearest end
/// ```
///
/// All counts are one release: what matters is by how many of them a record moves at once. It moves two by
/// one under replace-one (one, and the other with it, for two values), and one under add/remove, however many
/// values there are. So for many values and a small δ this has less noise than
/// [`Geometric`](super::Geometric), which has to pay for each of the two counts in full.
///
/// # Privacy
/// The least variance, to a few millionths of it, for which the claim is proven by summing the exact law of
/// the noise: for one count that moves, and for two,
///
/// ```text
/// δ = Σ_w P(w) (1 − e^(ε − (2w+1)/(2σ²)))⁺        P(w) ∝ e^(−w²/(2σ²))
/// δ = Σ_s P(s) (1 − e^(ε − (s+1)/σ²))⁺            P(s) ∝ e^(−s²/(4σ²)) Σ_a e^(−(a − s/2)²/σ²)
/// ```
///
/// A release debits ε and 0.999 δ, for which the noise is made. Canonne, Kamath, Steinke (2020), *The
/// discrete Gaussian for differential privacy*.
///
/// ```
/// use dp_vi::mechanisms::{DiscreteGaussian, Geometric};
/// let gaussian = DiscreteGaussian::new(1.0, 1e-5)?.for_records(100, 10_000)?;
/// assert!(gaussian.variance().sqrt() > 5.0 && gaussian.variance().sqrt() < 5.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussian {
    epsilon: f64,
    delta: f64,
}

impl DiscreteGaussian {
    /// With this ε and this δ.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64, and δ between 10⁻¹⁵ and ½.
    pub fn new(epsilon: f64, delta: f64) -> Result<Self> {
        let epsilon = crate::cost::integer_scale::epsilon(epsilon)?;
        if !(1e-15..=0.5).contains(&delta) {
            let (what, requirement) = ("delta of a mechanism", "between 1e-15 and 0.5");
            return Err(Error::OutOfRange { what, requirement, value: delta });
        }
        Ok(Self { epsilon, delta })
    }

    /// Under replace-one, for a public number of records of so many possible values.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there are at least two values, and noise of a variance of at most 2²⁴ is
    /// enough.
    pub fn for_records(self, categories: usize, records: u64) -> Result<DiscreteGaussianCounts> {
        self.counts(categories, records, Relation::ReplaceOne)
    }

    /// Under add/remove, where the number of records is secret: counts are clamped to `most`, a public
    /// number.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there is at least one value, and noise of a variance of at most 2²⁴ is
    /// enough.
    pub fn for_at_most(self, categories: usize, most: u64) -> Result<DiscreteGaussianCounts> {
        self.counts(categories, most, Relation::AddRemove)
    }

    pub(super) fn counts(
        self,
        categories: usize,
        most: u64,
        relation: Relation,
    ) -> Result<DiscreteGaussianCounts> {
        let released = super::geometric::released(categories, most, relation)?;
        let moved = if relation == Relation::ReplaceOne && released > 1 { 2 } else { 1 };
        let numerator = self.least_variance(moved)?;
        let log_total = Noise::new(numerator).log_total;
        Ok(DiscreteGaussianCounts { claim: self, numerator, log_total, released, categories, most, relation })
    }

    /// The least variance, in units, for which the claim holds, to 2⁻²⁰ of it.
    fn least_variance(self, moved: u32) -> Result<u64> {
        let holds = |units: u64| Noise::new(units).delta(moved, self.epsilon) <= PART * self.delta;
        let mut high = (VARIANCES.0 * UNIT as f64) as u64;
        while !holds(high) {
            if high as f64 > VARIANCES.1 * UNIT as f64 {
                let (what, requirement) = ("epsilon of the discrete Gaussian mechanism", "larger, or delta");
                return Err(Error::OutOfRange { what, requirement, value: self.epsilon });
            }
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 + (high >> 20) {
            let middle = low + (high - low) / 2;
            if holds(middle) { high = middle } else { low = middle }
        }
        Ok(high)
    }

    /// A mistake, for tests of the checker: noise for one count where two move. It cannot be released.
    #[must_use]
    #[doc(hidden)]
    pub fn with_one_count_moved(self, records: u64) -> Option<DiscreteGaussianCounts> {
        let right = self.for_records(3, records).ok()?;
        let numerator = self.least_variance(1).ok()?;
        Some(DiscreteGaussianCounts { numerator, log_total: Noise::new(numerator).log_total, ..right })
    }
}

/// The law of one number of noise.
struct Noise {
    /// `1/(2σ²)`.
    rate: Interval,
    /// `ln Σ_z e^(−z²/(2σ²))`.
    log_total: Interval,
}

impl Noise {
    fn new(numerator: u64) -> Self {
        // Below 2⁵³ both.
        let variance = Interval::exact(numerator as f64) / Interval::exact(UNIT as f64);
        let rate = Interval::exact(0.5) / variance;
        let log_total = (Interval::ONE + Interval::exact(2.0) * sum_from(rate, 1.0)).ln();
        Self { rate, log_total }
    }

    /// The least δ, rounded up, with which ε holds where so many counts move by one.
    fn delta(&self, moved: u32, epsilon: f64) -> f64 {
        let (epsilon, two) = (Interval::exact(epsilon), Interval::exact(2.0));
        // The law of the sum of the noises, e^(−rate' s²) factor(s), and the loss at it.
        let (rate, even, odd, unit) = if moved == 1 {
            let one = (-self.log_total).exp();
            (self.rate, one, one, self.rate)
        } else {
            let wide = two * self.rate;
            let total = (-(two * self.log_total)).exp();
            let even = (Interval::ONE + two * sum_from(wide, 1.0)) * total;
            (self.rate * Interval::exact(0.5), even, two * sum_from(wide, 0.5) * total, two * self.rate)
        };
        let loss = |s: f64| {
            unit * if moved == 1 {
                two * Interval::exact(s) + Interval::ONE
            } else {
                Interval::exact(s + 1.0)
            }
        };
        let mut sum = Interval::ZERO;
        // The loss is above ε from here on.
        let mut s = ((epsilon / unit).lower() / if moved == 1 { 2.0 } else { 1.0 } - 2.0).max(0.0).floor();
        loop {
            let exponent = rate * Interval::exact(s).square();
            let factor = if s % 2.0 == 0.0 { even } else { odd };
            let weight = (-exponent).exp() * factor;
            if exponent.lower() > FAR {
                // All that follows: each term is at most this part of the one before.
                let ratio = (-(rate * Interval::exact(2.0 * s + 1.0))).exp();
                let largest = (-exponent).exp() * even.max(odd);
                return (sum + largest / (Interval::ONE - ratio)).upper();
            }
            let share = (-(epsilon - loss(s)).exp_minus_one()).positive();
            sum = sum + weight * share;
            s += 1.0;
        }
    }

    /// The law of a count with the noise, clamped to `0..=most`.
    fn clamped_law(&self, centre: u64, most: u64) -> Vec<(u64, LogInterval)> {
        if most == 0 {
            return vec![(0, LogInterval::from_ln(Interval::ZERO))];
        }
        let weight = |z: u64| {
            let distance = z.abs_diff(centre) as f64;
            let own = -(self.rate * Interval::exact(distance).square());
            let beyond = if z == 0 || z == most { tail(self.rate, distance).ln() } else { Interval::ZERO };
            LogInterval::from_ln(own + beyond - self.log_total)
        };
        (0..=most).map(|z| (z, weight(z))).collect()
    }
}

/// `Σ_j e^(−rate ((from + j)² − from²))`, over j from 0: a tail, relative to its first term.
fn tail(rate: Interval, from: f64) -> Interval {
    let mut sum = Interval::ZERO;
    let mut j = 0.0;
    loop {
        let exponent = rate * Interval::exact(j) * (Interval::exact(2.0 * from) + Interval::exact(j));
        let term = (-exponent).exp();
        if exponent.lower() > FAR {
            let ratio = (-(rate * Interval::exact(2.0 * (from + j) + 1.0))).exp();
            return sum + Interval::between(0.0, (term / (Interval::ONE - ratio)).upper());
        }
        sum = sum + term;
        j += 1.0;
    }
}

/// `Σ_j e^(−rate (from + j)²)`, over j from 0.
fn sum_from(rate: Interval, from: f64) -> Interval {
    (-(rate * Interval::exact(from).square())).exp() * tail(rate, from)
}

/// [`DiscreteGaussian`], prepared for an alphabet and a number of records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussianCounts {
    claim: DiscreteGaussian,
    /// Of the variance, in units.
    numerator: u64,
    log_total: Interval,
    released: usize,
    categories: usize,
    most: u64,
    relation: Relation,
}

impl DiscreteGaussianCounts {
    /// The parameter σ² of the noise, which is close to its variance.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.numerator as f64 / UNIT as f64
    }

    /// The true counts to which noise is added.
    fn counts<'a, T>(&self, data: &'a Histogram<T>) -> Result<&'a [u64]> {
        let records = (self.relation == Relation::ReplaceOne).then_some(self.most);
        check_histogram(data, self.categories, records)?;
        Ok(&data.counts()[..self.released])
    }
}

impl sealed::Sealed for DiscreteGaussianCounts {}

impl CountNoise for DiscreteGaussianCounts {
    fn most(&self) -> u64 {
        self.most
    }

    fn log_weights(&self, noisy: u64) -> Vec<f64> {
        let rate = 0.5 / self.variance();
        let own = |count: u64| -rate * (noisy.abs_diff(count) as f64).powi(2);
        if noisy != 0 && noisy != self.most {
            return (0..=self.most).map(own).collect();
        }
        // A tail relative to its first term: 1 + e^(−rate (2d + 1)) times the next one.
        let mut beyond = vec![1.0; self.most as usize + 1];
        let mut next = tail(Interval::exact(rate), self.most as f64 + 1.0).estimate();
        for (distance, here) in beyond.iter_mut().enumerate().rev() {
            *here = 1.0 + (-rate * (2.0 * distance as f64 + 1.0)).exp() * next;
            next = *here;
        }
        (0..=self.most).map(|count| own(count) + beyond[noisy.abs_diff(count) as usize].ln()).collect()
    }
}

impl<T: Ord + Clone> Mechanism<T> for DiscreteGaussianCounts {
    /// Clamped noisy counts: of all values, or of the first of two.
    type Outcome = Vec<u64>;
    type Weight = LogInterval;

    fn relation(&self) -> Relation {
        self.relation
    }

    fn claim(&self) -> f64 {
        self.claim.epsilon
    }

    fn claimed_delta(&self) -> f64 {
        self.claim.delta
    }

    fn event(&self) -> Result<Event> {
        let DiscreteGaussian { epsilon, delta } = self.claim;
        Ok(Event::new(Accounted::ApproximateDp { epsilon, delta: PART * delta }, Sampling::None)?)
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<Vec<u64>, LogInterval>> {
        let counts = self.counts(data)?;
        let noise = Noise { log_total: self.log_total, ..Noise::new(self.numerator) };
        let sizes = counts.iter().map(|_| u128::from(self.most) + 1);
        product_law("outcomes of the discrete Gaussian mechanism", sizes, || {
            counts.iter().map(|&count| noise.clamped_law(count.min(self.most), self.most))
        })
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<Vec<u64>> {
        let counts = self.counts(data)?;
        let streams = seed.streams(Purpose::Custom("discrete Gaussian mechanism"));
        let noise = DiscreteGaussianNoise::from_streams(streams, self.numerator, UNIT)?;
        let mut drawn = vec![0_i64; counts.len()];
        noise.fill(number, &mut drawn);
        let clamped = |(&count, noise): (&u64, i64)| {
            let noisy = i128::from(count.min(self.most)) + i128::from(noise);
            noisy.clamp(0, i128::from(self.most)) as u64
        };
        Ok(counts.iter().zip(drawn).map(clamped).collect())
    }
}
