//! Conjugate posteriors that are no tables.

use super::family::at;
use super::{ExponentialFamily, Histogram, Interval};
use crate::base::{Error, Result};
use crate::math;
use std::f64::consts::PI;

/// The posterior of a prior and the counts of records.
pub trait Conjugate: ExponentialFamily {
    /// The logarithm of the probability of a sequence of records by the prior, where `posterior` is what they
    /// make of it: `A(posterior) − A(prior)`, and what does not depend on the parameters left out.
    fn log_evidence(&self, posterior: &Self) -> Interval {
        let of = |member: &Self| at::<Self>(&member.natural()).unwrap_or(Interval::exact(f64::NEG_INFINITY));
        of(posterior) - of(self)
    }

    /// The mean of the unknown, as numbers.
    fn mean(&self) -> Vec<f64>;

    /// The standard deviation of each of its elements.
    fn sd(&self) -> Vec<f64>;
}

/// ln Γ of a positive number. Measured error 5.4 units, widened to 16.
pub(super) fn ln_gamma(x: f64) -> Interval {
    Interval::computed(math::lgamma(x), 16.0)
}

/// ψ of a positive number. Measured error 9.2 units, widened to 32.
pub(super) fn digamma(x: f64) -> Interval {
    Interval::computed(math::digamma(x), 32.0)
}

fn positive(what: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Error::OutOfRange { what, requirement: "positive and finite", value })
}

/// ln Γ of a number that is positive, as far as is known: the least value is −0.1215 (at 1.46), and the slope
/// between two numbers is between the digammas there.
pub(super) fn ln_gamma_on(x: Interval) -> Interval {
    if x.width() == 0.0 {
        return ln_gamma(x.lower());
    }
    if x.lower() <= 0.0 {
        return Interval::between(-0.1215, f64::INFINITY);
    }
    let slope = digamma(x.lower()).upper().abs().max(digamma(x.lower()).lower().abs());
    let slope = slope.max(digamma(x.upper()).upper().abs()).max(digamma(x.upper()).lower().abs());
    let reach = Interval::between(-slope, slope) * Interval::exact(x.width().next_up());
    ln_gamma(x.estimate()) + reach
}

/// ψ of a positive number, which rises.
fn digamma_on(x: Interval) -> Interval {
    Interval::between(digamma(x.lower()).lower(), digamma(x.upper()).upper())
}

/// `Σ ln Γ(a_i) − ln Γ(Σ a_i)`; `None` where some parameter is certainly not positive.
pub(super) fn log_beta_function(parameters: &[Interval]) -> Option<Interval> {
    if parameters.iter().any(|a| a.upper() <= 0.0 || a.lower() == f64::INFINITY) {
        return None;
    }
    let total: Interval = parameters.iter().copied().sum();
    Some(parameters.iter().map(|&a| ln_gamma_on(a)).sum::<Interval>() - ln_gamma_on(total))
}

fn dirichlet_means(parameters: &[f64]) -> Vec<Interval> {
    let total = digamma_on(parameters.iter().map(|&a| Interval::exact(a)).sum());
    parameters.iter().map(|&a| digamma(a) - total).collect()
}

/// The probability of a coin: density in proportion to `p^(a−1) (1−p)^(b−1)`.
///
/// ```
/// use ppl_core::finite::{Beta, Conjugate, Histogram};
/// let posterior = Beta::new(1.0, 1.0)?.observe_all(&Histogram::of([true, true, false])?);
/// assert_eq!(posterior, Beta::new(3.0, 2.0)?);
/// assert!(Beta::new(0.0, 1.0).unwrap_err().to_string().contains("positive"));
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beta {
    a: f64,
    b: f64,
}

impl Beta {
    /// With these parameters.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless both are positive and finite.
    pub fn new(a: f64, b: f64) -> Result<Self> {
        Ok(Self { a: positive("a parameter of Beta", a)?, b: positive("a parameter of Beta", b)? })
    }

    /// The parameters `a` and `b`.
    #[must_use]
    pub fn parameters(&self) -> (f64, f64) {
        (self.a, self.b)
    }

    /// The posterior after these throws: `Beta(a + heads, b + tails)`.
    #[must_use]
    pub fn observe_all(&self, coins: &Histogram<bool>) -> Self {
        Self { a: self.a + coins.count(&true) as f64, b: self.b + coins.count(&false) as f64 }
    }
}

impl ExponentialFamily for Beta {
    fn natural(&self) -> Vec<f64> {
        vec![self.a, self.b]
    }

    fn log_partition(natural: &[Interval]) -> Option<Interval> {
        log_beta_function(natural)
    }

    fn mean_parameters(natural: &[f64]) -> Vec<Interval> {
        dirichlet_means(natural)
    }
}

impl Conjugate for Beta {
    fn mean(&self) -> Vec<f64> {
        vec![self.a / (self.a + self.b)]
    }

    fn sd(&self) -> Vec<f64> {
        let total = self.a + self.b;
        vec![(self.a * self.b / (total + 1.0)).sqrt() / total]
    }
}

/// The probabilities of `K` categories: density in proportion to `Π p_i^(a_i − 1)`.
///
/// ```
/// use ppl_core::finite::{Category, Conjugate, Dirichlet, Histogram};
/// let faces = Histogram::of([0, 1, 1].map(|face| Category::<3>::new(face).unwrap()))?;
/// assert_eq!(Dirichlet::new([1.0; 3])?.observe_all(&faces)?, Dirichlet::new([2.0, 3.0, 1.0])?);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dirichlet<const K: usize>([f64; K]);

impl<const K: usize> Dirichlet<K> {
    /// With these parameters.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless all are positive and finite, and there are at least two.
    pub fn new(parameters: [f64; K]) -> Result<Self> {
        if K < 2 {
            let (what, requirement) = ("the number of parameters of Dirichlet", "at least 2");
            return Err(Error::OutOfRange { what, requirement, value: K as f64 });
        }
        parameters.iter().try_for_each(|&a| positive("a parameter of Dirichlet", a).map(|_| ()))?;
        Ok(Self(parameters))
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> [f64; K] {
        self.0
    }

    /// The posterior after these counts, each added to the parameter at its place in the alphabet.
    ///
    /// # Errors
    /// [`Error::Records`] if the alphabet has not `K` values.
    pub fn observe_all<T>(&self, records: &Histogram<T>) -> Result<Self> {
        let counts = records.counts();
        if counts.len() != K {
            let told = format!(
                "Dirichlet of {K} categories does not go with an alphabet of {} values",
                counts.len()
            );
            return Err(Error::Records(told));
        }
        Ok(Self(std::array::from_fn(|k| self.0[k] + counts[k] as f64)))
    }
}

impl<const K: usize> ExponentialFamily for Dirichlet<K> {
    fn natural(&self) -> Vec<f64> {
        self.0.to_vec()
    }

    fn log_partition(natural: &[Interval]) -> Option<Interval> {
        log_beta_function(natural)
    }

    fn mean_parameters(natural: &[f64]) -> Vec<Interval> {
        dirichlet_means(natural)
    }
}

impl<const K: usize> Conjugate for Dirichlet<K> {
    fn mean(&self) -> Vec<f64> {
        let total: f64 = self.0.iter().sum();
        self.0.iter().map(|a| a / total).collect()
    }

    fn sd(&self) -> Vec<f64> {
        let total: f64 = self.0.iter().sum();
        self.0.iter().map(|a| (a * (total - a) / (total + 1.0)).sqrt() / total).collect()
    }
}

/// The mean of a normal distribution of known variance, itself normal.
///
/// ```
/// use ppl_core::finite::{Conjugate, Histogram, NormalMean};
/// let records = Histogram::new(vec![-1, 0, 1], vec![0, 1, 3])?;
/// let posterior = NormalMean::new(0.0, 1.0, 1.0)?.observe_all(&records, |&x| f64::from(x));
/// assert!((posterior.mean()[0] - 0.6).abs() < 1e-15); // 3 of precision 4 + 1
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalMean {
    /// Mean times precision, and precision.
    weighted: f64,
    precision: f64,
    record_precision: f64,
}

impl NormalMean {
    /// A normal prior, and the standard deviation of one record around the mean.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless the prior mean is finite and both standard deviations are positive and
    /// finite.
    pub fn new(mean: f64, sd: f64, record_sd: f64) -> Result<Self> {
        if !mean.is_finite() {
            return Err(Error::OutOfRange { what: "a prior mean", requirement: "finite", value: mean });
        }
        let precision = |sd: f64| {
            let what = "a standard deviation";
            let precision = 1.0 / positive(what, sd)?.powi(2);
            match precision.is_normal() {
                true => Ok(precision),
                false => Err(Error::OutOfRange { what, requirement: "between 1e-153 and 1e153", value: sd }),
            }
        };
        let (precision, record_precision) = (precision(sd)?, precision(record_sd)?);
        if !(mean * precision).is_finite() {
            let requirement = "finite when divided by the prior variance";
            return Err(Error::OutOfRange { what: "a prior mean", requirement, value: mean });
        }
        Ok(Self { weighted: mean * precision, precision, record_precision })
    }

    /// The posterior after records with these values.
    #[must_use]
    pub fn observe_all<T>(&self, records: &Histogram<T>, value: impl Fn(&T) -> f64) -> Self {
        let sum: f64 = records.iter().map(|(record, count)| count as f64 * value(record)).sum();
        Self {
            weighted: self.weighted + self.record_precision * sum,
            precision: self.precision + self.record_precision * records.total() as f64,
            ..*self
        }
    }
}

impl ExponentialFamily for NormalMean {
    /// `(m/v, −1/(2v))`.
    fn natural(&self) -> Vec<f64> {
        vec![self.weighted, -0.5 * self.precision]
    }

    fn log_partition(natural: &[Interval]) -> Option<Interval> {
        let &[first, second] = natural else { return None };
        if second.lower() >= 0.0 {
            return None;
        }
        // −η₁²/(4η₂) + ½ ln(−π/η₂); a quotient by what may be zero has no upper end.
        let second = (-second).positive();
        let quadratic = first.square() / (Interval::exact(4.0) * second);
        Some(quadratic + Interval::exact(0.5) * (Interval::computed(PI, 1.0) / second).ln())
    }

    fn mean_parameters(natural: &[f64]) -> Vec<Interval> {
        let &[first, second] = natural else { return Vec::new() };
        let (first, second) = (Interval::exact(first), Interval::exact(-second));
        let two = Interval::exact(2.0);
        let mean = first / (two * second);
        vec![mean, mean.square() + Interval::ONE / (two * second)]
    }
}

impl Conjugate for NormalMean {
    fn mean(&self) -> Vec<f64> {
        vec![self.weighted / self.precision]
    }

    fn sd(&self) -> Vec<f64> {
        vec![self.precision.sqrt().recip()]
    }
}
