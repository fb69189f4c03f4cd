//! Distribution functions of counts, and their inverses over the integers.
//!
//! The quantile is the smallest integer whose distribution function is at least u. It is searched from a
//! guess outwards, and found where the distribution function says so, not where an approximation does:
//! probabilities of draws are exact up to the rounding of that function. Faster ways (sums of probabilities from
//! 0, tables for many numbers of one distribution) are left where their rounding might decide, so that they
//! give the same integer. Above the median it is the other
//! tail that is compared, with 1 − u, which is exact there; so both tails keep their digits.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "a comparison with NaN is false, and its negation is meant"
)]

use super::special::{
    gamma_probabilities, log_gamma_p_inverse, log_gamma_p_inverse_of_log, log_gamma_probabilities,
    log_gamma_q_inverse, log_gamma_q_inverse_of_log, log_log_odds_probabilities, log_odds_probabilities,
    ndtri, ndtri_exp,
};
use super::{exp, expm1, ln, softplus};
use std::f64::consts::LN_2;

/// (P(K ≤ k), P(K > k)) for K with a Poisson distribution of this rate ≥ 0; k is an integer.
pub fn poisson_probabilities(k: f64, rate: f64) -> (f64, f64) {
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
pub fn binomial_probabilities(k: f64, n: f64, logit: f64) -> (f64, f64) {
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
pub fn negative_binomial_probabilities(k: f64, r: f64, logit: f64) -> (f64, f64) {
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

/// The logarithms of [`poisson_probabilities`], also where a probability is too small for a number.
pub fn log_poisson_probabilities(k: f64, rate: f64) -> (f64, f64) {
    if rate >= 0.0 && k >= 0.0 {
        let (upper, lower) = log_gamma_probabilities(k + 1.0, rate);
        (lower, upper)
    } else {
        logarithms(poisson_probabilities(k, rate))
    }
}

/// The logarithms of [`binomial_probabilities`].
pub fn log_binomial_probabilities(k: f64, n: f64, logit: f64) -> (f64, f64) {
    if k >= 0.0 && k < n && logit.is_finite() {
        log_log_odds_probabilities(n - k, k + 1.0, -logit)
    } else {
        logarithms(binomial_probabilities(k, n, logit))
    }
}

/// The logarithms of [`negative_binomial_probabilities`].
pub fn log_negative_binomial_probabilities(k: f64, r: f64, logit: f64) -> (f64, f64) {
    if r > 0.0 && r < f64::INFINITY && (0.0..f64::INFINITY).contains(&k) && logit.is_finite() {
        log_log_odds_probabilities(r, k + 1.0, -logit)
    } else {
        logarithms(negative_binomial_probabilities(k, r, logit))
    }
}

fn logarithms((lower, upper): (f64, f64)) -> (f64, f64) {
    (ln(lower), ln(upper))
}

/// A probability by its smaller side, which keeps its digits.
#[derive(Clone, Copy, Debug)]
pub enum Tail {
    /// Below.
    Lower(f64),
    /// Above.
    Upper(f64),
    /// The logarithm of that below, which may be that of no number.
    LogLower(f64),
    /// The logarithm of that above.
    LogUpper(f64),
}

/// Above it the exponential has all its digits.
const LEAST_LOG: f64 = -700.0;

impl Tail {
    fn probability(self) -> f64 {
        match self {
            Tail::Lower(u) | Tail::Upper(u) => u,
            Tail::LogLower(log) | Tail::LogUpper(log) => exp(log),
        }
    }

    /// By the side that is at most a half, of which the other is exact, and as a logarithm only where it is too small.
    fn smaller(self) -> Self {
        match self {
            Tail::Lower(u) if u > 0.5 => Tail::Upper(1.0 - u),
            Tail::Upper(q) if q > 0.5 => Tail::Lower(1.0 - q),
            Tail::LogLower(log) if log > -LN_2 => Tail::Upper(-expm1(log)),
            Tail::LogUpper(log) if log > -LN_2 => Tail::Lower(-expm1(log)),
            Tail::LogLower(log) if log > LEAST_LOG => Tail::Lower(exp(log)),
            Tail::LogUpper(log) if log > LEAST_LOG => Tail::Upper(exp(log)),
            // Nothing at all.
            Tail::LogLower(f64::NEG_INFINITY) => Tail::Lower(0.0),
            Tail::LogUpper(f64::NEG_INFINITY) => Tail::Upper(0.0),
            tail => tail,
        }
    }

    /// The standard normal quantile.
    fn normal(self) -> f64 {
        match self {
            Tail::Lower(u) => ndtri(u),
            Tail::Upper(q) => -ndtri(q),
            Tail::LogLower(log) => ndtri_exp(log),
            Tail::LogUpper(log) => -ndtri_exp(log),
        }
    }

    /// The logarithm of the quantile of a gamma variable.
    fn log_gamma(self, shape: f64) -> f64 {
        match self {
            Tail::Lower(u) => log_gamma_p_inverse(shape, u),
            Tail::Upper(q) => log_gamma_q_inverse(shape, q),
            Tail::LogLower(log) => log_gamma_p_inverse_of_log(shape, log),
            Tail::LogUpper(log) => log_gamma_q_inverse_of_log(shape, log),
        }
    }
}

/// The smallest k with P(K ≤ k) ≥ u, for K with a Poisson distribution of this rate ≥ 0; given by the other
/// tail, the smallest with P(K > k) ≤ q.
pub fn poisson_quantile(rate: f64, u: Tail) -> f64 {
    if !(rate >= 0.0) {
        return f64::NAN;
    }
    if rate == 0.0 || rate == f64::INFINITY {
        return constant(rate, u);
    }
    if rate < SMALL_MEAN
        && let Some(k) = from_zero(exp(-rate), u, f64::INFINITY, |k| rate / k)
    {
        return k;
    }
    let deviation = rate.sqrt();
    let guess = || normal_guess(rate, deviation, deviation.recip(), u);
    let logs = |k| log_poisson_probabilities(k, rate);
    quantile(u, f64::INFINITY, guess, |k| poisson_probabilities(k, rate), logs)
}

/// The smallest k with P(K ≤ k) ≥ u, for K successes among n trials with log-odds `logit`.
pub fn binomial_quantile(n: f64, logit: f64, u: Tail) -> f64 {
    if !((0.0..f64::INFINITY).contains(&n) && n.fract() == 0.0) || logit.is_nan() {
        return f64::NAN;
    }
    if n == 0.0 || logit == f64::NEG_INFINITY || logit == f64::INFINITY {
        return constant(if logit > 0.0 { n } else { 0.0 }, u);
    }
    let (success, failure) = (super::sigmoid(logit), super::sigmoid(-logit));
    if n * success < SMALL_MEAN {
        let odds = success / failure;
        if let Some(k) = from_zero(exp(-n * softplus(logit)), u, n, |k| (n - k + 1.0) / k * odds) {
            return k;
        }
    }
    let guess = || {
        let deviation = (n * success * failure).sqrt();
        normal_guess(n * success, deviation, (failure - success) / deviation, u)
    };
    let logs = |k| log_binomial_probabilities(k, n, logit);
    quantile(u, n, guess, |k| binomial_probabilities(k, n, logit), logs)
}

/// The smallest k with P(K ≤ k) ≥ u, for K successes with log-odds `logit` before failure number r > 0.
pub fn negative_binomial_quantile(r: f64, logit: f64, u: Tail) -> f64 {
    if !(r > 0.0 && r < f64::INFINITY) || logit.is_nan() {
        return f64::NAN;
    }
    if logit.is_infinite() {
        return constant(if logit > 0.0 { logit } else { 0.0 }, u);
    }
    let (success, failure) = (super::sigmoid(logit), super::sigmoid(-logit));
    if r * success < SMALL_MEAN * failure {
        let first = exp(-r * softplus(logit));
        if let Some(k) = from_zero(first, u, f64::INFINITY, |k| (r + k - 1.0) / k * success) {
            return k;
        }
    }
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
    let logs = |k| log_negative_binomial_probabilities(k, r, logit);
    quantile(u, f64::INFINITY, guess, |k| negative_binomial_probabilities(k, r, logit), logs)
}

/// Counts with a mean below it are searched from 0 upwards.
const SMALL_MEAN: f64 = 20.0;
/// How far from a value of the distribution function a probability must be for sums of probabilities to decide:
/// a hundred times what rounding makes of those.
const CLOSE: f64 = 1e-12;

/// The quantile by adding up probabilities from that of 0, with the ratio of each to the one before; nothing
/// where rounding might decide, or the upper tail is small beside the roundings of a sum near 1.
fn from_zero(first: f64, u: Tail, last: f64, ratio: impl Fn(f64) -> f64) -> Option<f64> {
    let u = match u.smaller() {
        Tail::Lower(u) => u,
        Tail::Upper(q) if q > 1e-6 => 1.0 - q,
        Tail::Upper(_) | Tail::LogLower(_) | Tail::LogUpper(_) => return None,
    };
    if !(first > 1e-290 && u > 0.0) {
        return None;
    }
    let (mut sum, mut probability, mut k) = (first, first, 0.0);
    while sum < u {
        if k >= last.min(400.0) || u - sum <= CLOSE * u {
            return None;
        }
        k += 1.0;
        probability *= ratio(k);
        sum += probability;
    }
    (sum - u > CLOSE * u).then_some(k)
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
/// gives it and what lies above, and `logarithms` theirs.
fn quantile(
    u: Tail,
    last: f64,
    guess: impl FnOnce() -> f64,
    probabilities: impl Fn(f64) -> (f64, f64),
    logarithms: impl Fn(f64) -> (f64, f64),
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
    let enough = |k: f64| match u {
        Tail::Lower(u) => probabilities(k).0 >= u,
        Tail::Upper(q) => probabilities(k).1 <= q,
        Tail::LogLower(log) => logarithms(k).0 >= log,
        Tail::LogUpper(log) => logarithms(k).1 <= log,
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

/// Integers that a table holds.
const TABLE: usize = 1024;
/// Parts of the unit interval with a place of its own to begin at.
const GUIDE: usize = 512;

/// The distribution function of one law of counts as a table, for many quantiles of it.
pub(crate) struct Table {
    first: f64,
    len: usize,
    /// P(K ≤ k) up to where it is about a half, and P(K > k) from there on.
    tails: [f64; TABLE],
    /// How many of the first kind there are.
    lower: usize,
    /// Where to begin, by u of 512 parts.
    guide: [u16; GUIDE + 1],
}

impl Table {
    /// Of a Poisson variable.
    pub(crate) fn poisson(rate: f64) -> Option<Self> {
        let inside = rate > 0.0 && rate < 1e6;
        inside.then(|| Self::new(rate.floor(), f64::INFINITY, |k| rate / k))?
    }

    /// Of the number of successes among n trials.
    pub(crate) fn binomial(n: f64, logit: f64) -> Option<Self> {
        if !((1.0..1e9).contains(&n) && n.fract() == 0.0 && logit.abs() < 30.0) {
            return None;
        }
        let (success, odds) = (super::sigmoid(logit), exp(logit));
        Self::new((n * success).floor(), n, |k| (n - k + 1.0) / k * odds)
    }

    /// Of the number of successes before failure number r.
    pub(crate) fn negative_binomial(r: f64, logit: f64) -> Option<Self> {
        if !(r > 1e-3 && r < 1e6 && logit.abs() < 30.0) {
            return None;
        }
        let success = super::sigmoid(logit);
        let mode = ((r - 1.0) * exp(logit)).floor().max(0.0);
        Self::new(mode, f64::INFINITY, |k| (r + k - 1.0) / k * success)
    }

    /// From the place of the largest probability outwards; nothing where that takes more integers than fit.
    fn new(mode: f64, last: f64, ratio: impl Fn(f64) -> f64) -> Option<Self> {
        // Probabilities relative to the largest one, down to a part in 10¹⁹.
        const LEAST: f64 = 1e-19;
        let (mut below, mut above) = ([0.0; TABLE], [0.0; TABLE]);
        let (mut down, mut probability) = (0, 1.0);
        let mut k = mode;
        while k > 0.0 {
            probability /= ratio(k);
            k -= 1.0;
            if probability < LEAST {
                break;
            }
            *below.get_mut(down)? = probability;
            down += 1;
        }
        let (mut up, mut probability) = (0, 1.0);
        let mut k = mode;
        while k < last {
            k += 1.0;
            probability *= ratio(k);
            if probability < LEAST {
                break;
            }
            *above.get_mut(up)? = probability;
            up += 1;
        }
        let len = down + 1 + up;
        if len > TABLE {
            return None;
        }
        let mut probabilities = [0.0; TABLE];
        for (to, &from) in probabilities[..down].iter_mut().zip(below[..down].iter().rev()) {
            *to = from;
        }
        probabilities[down] = 1.0;
        probabilities[down + 1..len].copy_from_slice(&above[..up]);
        let total: f64 = probabilities[..len].iter().sum();
        let mut tails = [0.0; TABLE];
        let (mut sum, mut lower) = (0.0, 0);
        while lower < len && sum + probabilities[lower] / total <= 0.5 {
            sum += probabilities[lower] / total;
            tails[lower] = sum;
            lower += 1;
        }
        let mut rest = 0.0;
        for place in (lower..len).rev() {
            tails[place] = rest;
            rest += probabilities[place] / total;
        }
        let mut guide = [0; GUIDE + 1];
        let mut place = 0;
        for (part, start) in guide.iter_mut().enumerate() {
            let u = part as f64 / GUIDE as f64;
            let before = |place: usize| if place < lower { tails[place] } else { 1.0 - tails[place] };
            while place + 1 < len && before(place) < u {
                place += 1;
            }
            *start = place.saturating_sub(1) as u16;
        }
        Some(Self { first: mode - down as f64, len, tails, lower, guide })
    }

    /// The smallest integer with P(K ≤ k) ≥ u; nothing where rounding might decide, or the table ends.
    #[inline(always)]
    pub(crate) fn quantile(&self, u: f64) -> Option<f64> {
        if !(u > 0.0 && u < 1.0) {
            return None;
        }
        let mut place = usize::from(self.guide[(u * GUIDE as f64) as usize]);
        let q = 1.0 - u;
        // How much is missing at a place, relative to the tail that is compared: not positive where it is
        // enough.
        let missing = |place: usize| {
            let tail = self.tails[place];
            if place < self.lower { (u - tail) / u } else { (tail - q) / q }
        };
        loop {
            let here = missing(place);
            if here.abs() <= CLOSE {
                return None;
            }
            if here < 0.0 {
                break;
            }
            place += 1;
            if place + 1 >= self.len {
                return None;
            }
        }
        // Enough here, and clearly not enough before.
        if place == 0 {
            return (self.first == 0.0).then_some(0.0);
        }
        (missing(place - 1) > CLOSE).then_some(self.first + place as f64)
    }
}
