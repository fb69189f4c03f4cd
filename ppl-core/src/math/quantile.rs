//! Distribution functions of counts, and their inverses over the integers.
//!
//! The quantile is the smallest integer whose distribution function is at least u. It is searched from a
//! guess outwards, and found where the distribution function says so, not where an approximation does:
//! probabilities of draws are exact up to the rounding of that function. Above the median it is the other
//! tail that is compared, with 1 − u, which is exact there; so both tails keep their digits.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "a comparison with NaN is false, and its negation is meant"
)]

use super::exp;
use super::special::{
    gamma_probabilities, log_gamma_p_inverse, log_gamma_q_inverse, log_odds_probabilities, ndtri,
};

/// (P(K ≤ k), P(K > k)) for K with a Poisson distribution of this rate ≥ 0; k is an integer.
pub(crate) fn poisson_probabilities(k: f64, rate: f64) -> (f64, f64) {
    if !(rate >= 0.0) || k.is_nan() {
        (f64::NAN, f64::NAN)
    } else if k < 0.0 {
        (0.0, 1.0)
    } else {
        // P(K ≤ k) = Q(k + 1, rate), NIST DLMF 8.4.10
        let (upper, lower) = gamma_probabilities(k + 1.0, rate);
        (lower, upper)
    }
}

/// (P(K ≤ k), P(K > k)) for K successes among n trials with log-odds `logit`; k and n are integers.
pub(crate) fn binomial_probabilities(k: f64, n: f64, logit: f64) -> (f64, f64) {
    if !(n >= 0.0) || k.is_nan() || logit.is_nan() {
        (f64::NAN, f64::NAN)
    } else if k < 0.0 {
        (0.0, 1.0)
    } else if k >= n || logit == f64::NEG_INFINITY {
        (1.0, 0.0)
    } else if logit == f64::INFINITY {
        (0.0, 1.0)
    } else {
        // NIST DLMF 8.17.5
        log_odds_probabilities(n - k, k + 1.0, -logit)
    }
}

/// (P(K ≤ k), P(K > k)) for K successes with log-odds `logit` before failure number r > 0; k is an integer.
pub(crate) fn negative_binomial_probabilities(k: f64, r: f64, logit: f64) -> (f64, f64) {
    if !(r > 0.0 && r < f64::INFINITY) || k.is_nan() || logit.is_nan() {
        (f64::NAN, f64::NAN)
    } else if k < 0.0 {
        (0.0, 1.0)
    } else if k == f64::INFINITY || logit == f64::NEG_INFINITY {
        (1.0, 0.0)
    } else if logit == f64::INFINITY {
        (0.0, 1.0)
    } else {
        // NIST DLMF 8.17.24
        log_odds_probabilities(r, k + 1.0, -logit)
    }
}

/// A probability by its smaller side, which keeps its digits.
#[derive(Clone, Copy)]
pub(crate) enum Tail {
    /// Below.
    Lower(f64),
    /// Above.
    Upper(f64),
}

impl Tail {
    fn probability(self) -> f64 {
        match self {
            Tail::Lower(u) | Tail::Upper(u) => u,
        }
    }

    /// By the side that is at most a half, of which the other is exact.
    fn smaller(self) -> Self {
        match self {
            Tail::Lower(u) if u > 0.5 => Tail::Upper(1.0 - u),
            Tail::Upper(q) if q > 0.5 => Tail::Lower(1.0 - q),
            tail => tail,
        }
    }

    /// The standard normal quantile.
    fn normal(self) -> f64 {
        match self {
            Tail::Lower(u) => ndtri(u),
            Tail::Upper(q) => -ndtri(q),
        }
    }

    /// The logarithm of the quantile of a gamma variable.
    fn log_gamma(self, shape: f64) -> f64 {
        match self {
            Tail::Lower(u) => log_gamma_p_inverse(shape, u),
            Tail::Upper(q) => log_gamma_q_inverse(shape, q),
        }
    }
}

/// The smallest k with P(K ≤ k) ≥ u, for K with a Poisson distribution of this rate ≥ 0; given by the other
/// tail, the smallest with P(K > k) ≤ q.
pub(crate) fn poisson_quantile(rate: f64, u: Tail) -> f64 {
    if !(rate >= 0.0) {
        return f64::NAN;
    }
    if rate == 0.0 || rate == f64::INFINITY {
        return constant(rate, u);
    }
    let deviation = rate.sqrt();
    let guess = || normal_guess(rate, deviation, deviation.recip(), u);
    quantile(u, f64::INFINITY, guess, |k| poisson_probabilities(k, rate))
}

/// The smallest k with P(K ≤ k) ≥ u, for K successes among n trials with log-odds `logit`.
pub(crate) fn binomial_quantile(n: f64, logit: f64, u: Tail) -> f64 {
    if !((0.0..f64::INFINITY).contains(&n) && n.fract() == 0.0) || logit.is_nan() {
        return f64::NAN;
    }
    if n == 0.0 || logit == f64::NEG_INFINITY || logit == f64::INFINITY {
        return constant(if logit > 0.0 { n } else { 0.0 }, u);
    }
    let (success, failure) = (super::sigmoid(logit), super::sigmoid(-logit));
    let guess = || {
        let deviation = (n * success * failure).sqrt();
        normal_guess(n * success, deviation, (failure - success) / deviation, u)
    };
    quantile(u, n, guess, |k| binomial_probabilities(k, n, logit))
}

/// The smallest k with P(K ≤ k) ≥ u, for K successes with log-odds `logit` before failure number r > 0.
pub(crate) fn negative_binomial_quantile(r: f64, logit: f64, u: Tail) -> f64 {
    if !(r > 0.0 && r < f64::INFINITY) || logit.is_nan() {
        return f64::NAN;
    }
    if logit.is_infinite() {
        return constant(if logit > 0.0 { logit } else { 0.0 }, u);
    }
    let (success, failure) = (super::sigmoid(logit), super::sigmoid(-logit));
    let guess = || {
        let shape = r * success;
        if shape > 30.0 {
            let deviation = shape.sqrt() / failure;
            normal_guess(shape / failure, deviation, (1.0 + success) / shape.sqrt(), u)
        } else {
            // The gamma distribution with the same mean and variance.
            (exp(u.log_gamma(shape)) / failure - 0.5).ceil()
        }
    };
    quantile(u, f64::INFINITY, guess, |k| negative_binomial_probabilities(k, r, logit))
}

/// `value`, whatever the probability is, if it is one.
fn constant(value: f64, u: Tail) -> f64 {
    if (0.0..=1.0).contains(&u.probability()) { value } else { f64::NAN }
}

/// Cornish and Fisher's quantile, up to the skewness, of a count with these moments.
fn normal_guess(mean: f64, deviation: f64, skewness: f64, u: Tail) -> f64 {
    let z = u.normal();
    (mean + deviation * (z + skewness * (z * z - 1.0) / 6.0) - 0.5).ceil()
}

/// The smallest integer from 0 to `last` of which the distribution function is at least u; `probabilities`
/// gives it and what lies above.
fn quantile(
    u: Tail,
    last: f64,
    guess: impl FnOnce() -> f64,
    probabilities: impl Fn(f64) -> (f64, f64),
) -> f64 {
    if !(0.0..=1.0).contains(&u.probability()) {
        return f64::NAN;
    }
    let u = u.smaller();
    match u {
        Tail::Lower(0.0) => return 0.0,
        Tail::Upper(0.0) => return last,
        _ => {}
    }
    let enough = |k: f64| {
        let (below, above) = probabilities(k);
        match u {
            Tail::Lower(u) => below >= u,
            Tail::Upper(q) => above <= q,
        }
    };
    // `low` is not enough (or −1), `high` is.
    let guess = guess();
    let start = if guess.is_nan() { 0.0 } else { guess.clamp(0.0, last.min(f64::MAX)) };
    let (mut low, mut high) = (start, start);
    let mut step = 1.0_f64.max(start.abs() * f64::EPSILON);
    if enough(start) {
        loop {
            low = high - step;
            if low < 0.0 {
                low = -1.0;
                break;
            }
            if !enough(low) {
                break;
            }
            high = low;
            step *= 2.0;
        }
    } else {
        loop {
            high = low + step;
            if high >= last {
                high = last;
                break;
            }
            if enough(high) {
                break;
            }
            low = high;
            step *= 2.0;
        }
    }
    loop {
        // Above 2⁵³ not every integer is a number.
        let middle = (low + 0.5 * (high - low)).floor();
        if !(middle > low && middle < high) {
            return high;
        }
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}
