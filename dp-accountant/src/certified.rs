//! A number that is known to lie in an interval, and who proved it.

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{Error, Result};

/// Which method proved an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Engine {
    /// An explicit formula, widened by a bound on the rounding of its evaluation.
    ClosedForm,
    /// Two discretised privacy loss distributions, one dominating and one dominated, composed by Fourier
    /// transform.
    LossDistribution,
    /// The profile's Laplace transform, inverted by quadrature along a tilted contour with bounds on all its
    /// errors; for deltas below 1e-30 the upper end may be Chernoff's bound by that transform.
    FourierInversion,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::ClosedForm => "closed form",
            Engine::LossDistribution => "discretised loss distribution",
            Engine::FourierInversion => "Fourier inversion",
        })
    }
}

/// An interval that contains the true value: `0 <= lower <= estimate <= upper < infinity`, always.
///
/// # Privacy
/// `upper` is what may be promised. `lower` shows how little could be gained by a better analysis; `estimate`
/// is the best guess and guarantees nothing.
///
/// ```
/// use dp_accountant::{Certified, Engine};
///
/// let epsilon = Certified::new(0.5, 0.51, 0.52, Engine::LossDistribution)?;
/// assert_eq!(epsilon.to_string(), "at most 0.520000 (between 0.500000 and 0.520000, discretised loss distribution)");
/// assert!(Certified::new(0.5, 0.49, 0.52, Engine::ClosedForm).is_err());
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "stored::Unchecked"))]
#[non_exhaustive]
pub struct Certified {
    /// The proven lower end.
    pub lower: f64,
    /// The best guess, between the two ends.
    pub estimate: f64,
    /// The proven upper end: the guarantee.
    pub upper: f64,
    /// Which method proved the lower end.
    pub lower_engine: Engine,
    /// Which method proved the upper end.
    pub upper_engine: Engine,
}

impl Certified {
    /// An interval both of whose ends one engine proved.
    ///
    /// # Errors
    /// [`Error::Interval`] unless `0 <= lower <= estimate <= upper < infinity`.
    pub fn new(lower: f64, estimate: f64, upper: f64, engine: Engine) -> Result<Self> {
        if !(0.0 <= lower && lower <= estimate && estimate <= upper && upper < f64::INFINITY) {
            return Err(Error::Interval { lower, estimate, upper });
        }
        Ok(Self { lower, estimate, upper, lower_engine: engine, upper_engine: engine })
    }

    /// The same interval, its ends proven by these engines.
    #[must_use]
    pub fn proven_by(self, lower_engine: Engine, upper_engine: Engine) -> Self {
        Self { lower_engine, upper_engine, ..self }
    }

    /// How far the ends are apart.
    pub fn width(&self) -> f64 {
        self.upper - self.lower
    }
}

/// A non-negative number in six decimals (or in powers of ten, where it is very small or large) that is not
/// below it, so that a printed upper end still holds.
///
/// ```
/// assert_eq!(dp_accountant::rounded_up(0.12345425), "0.123455");
/// assert_eq!(dp_accountant::rounded_up(3.99998123e-7), "3.99999e-7");
/// ```
#[must_use]
pub fn rounded_up(value: f64) -> String {
    outward(value, true)
}

/// As [`rounded_up`], but not above the number.
///
/// ```
/// assert_eq!(dp_accountant::rounded_down(0.12345475), "0.123454");
/// ```
#[must_use]
pub fn rounded_down(value: f64) -> String {
    outward(value, false)
}

/// Rounds away from zero (`up`) or towards it in the sixth significant decimal.
fn outward(value: f64, up: bool) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.log10().floor();
    if !(-4.0..7.0).contains(&magnitude) {
        let nearest: f64 = format!("{value:.5e}").parse().unwrap_or(value);
        // One unit in the last printed place, taken when the nearest decimal lies on the wrong side.
        let unit = 10f64.powf(magnitude - 5.0);
        let shown = match up {
            true if nearest < value => nearest + unit,
            false if nearest > value => nearest - unit,
            _ => nearest,
        };
        return format!("{shown:.5e}");
    }
    let nearest: f64 = format!("{value:.6}").parse().unwrap_or(value);
    let shown = match up {
        true if nearest < value => nearest + 1e-6,
        false if nearest > value => nearest - 1e-6,
        _ => nearest,
    };
    format!("{shown:.6}")
}

impl fmt::Display for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lower, upper) = (outward(self.lower, false), outward(self.upper, true));
        write!(f, "at most {upper} (between {lower} and {upper}, ")?;
        engines(f, self.lower_engine, self.upper_engine)
    }
}

/// The end of an interval's text: who proved which end, and the closing bracket.
pub(crate) fn engines(f: &mut fmt::Formatter<'_>, lower: Engine, upper: Engine) -> fmt::Result {
    if lower == upper {
        return write!(f, "{upper})");
    }
    write!(f, "{lower} below and {upper} above)")
}

/// The stored form.
#[cfg(feature = "serde")]
mod stored {
    use super::{Certified, Engine};
    use crate::{Error, Result};

    /// The stored form of an interval, checked on the way in.
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Unchecked {
        lower: f64,
        estimate: f64,
        upper: f64,
        lower_engine: Engine,
        upper_engine: Engine,
    }

    impl TryFrom<Unchecked> for Certified {
        type Error = Error;

        fn try_from(value: Unchecked) -> Result<Self> {
            let interval = Certified::new(value.lower, value.estimate, value.upper, value.upper_engine)?;
            Ok(interval.proven_by(value.lower_engine, value.upper_engine))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place of the chain of inequalities, broken alone.
    #[test]
    fn an_interval_out_of_order_is_refused() {
        let new = |lower, estimate, upper| Certified::new(lower, estimate, upper, Engine::ClosedForm);
        assert!(new(0.0, 0.0, 0.0).is_ok() && new(0.5, 0.5, f64::MAX).is_ok());
        for (lower, estimate, upper) in [
            (-1e-300, 0.0, 1.0),
            (0.5, 0.5f64.next_down(), 0.6),
            (0.5, 0.6f64.next_up(), 0.6),
            (0.5, 0.7, 0.6),
            (0.5, f64::INFINITY, f64::INFINITY),
            (0.5, 0.6, f64::INFINITY),
            (f64::NAN, 0.5, 0.6),
            (0.5, f64::NAN, 0.6),
            (0.5, 0.55, f64::NAN),
        ] {
            let refused = new(lower, estimate, upper);
            assert!(matches!(refused, Err(Error::Interval { .. })), "{refused:?}");
        }
    }

    #[test]
    fn printed_ends_still_hold() {
        let mut value: f64 = 1.234_567_89e-30;
        while value < 1e30 {
            let (down, up) = (outward(value, false), outward(value, true));
            let parse = |text: &str| text.parse::<f64>().expect("a number");
            assert!(parse(&down) <= value && value <= parse(&up), "{down} {value:e} {up}");
            // A unit in the sixth decimal, or in the sixth digit, on either side.
            assert!(parse(&up) - parse(&down) <= 2.1e-6_f64.max(2.1e-5 * value), "{down} {value:e} {up}");
            value *= 1.917;
        }
    }
}
