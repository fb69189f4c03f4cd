//! Where on a line one density is above a multiple of another, and what both distributions have there.

use super::Interval;
use super::conjugate::log_beta_function;
use super::incomplete_beta::beta_probabilities;
use crate::math;
use std::f64::consts::FRAC_1_SQRT_2;

/// Two distributions on a line whose log ratio has one turning point at most.
pub(super) struct Line {
    kind: Kind,
    /// Encloses the turning point of the log ratio, where there is one.
    turn: Option<Interval>,
    /// Encloses the log ratio far below and far above.
    ends: [Interval; 2],
}

/// The log ratio of the densities, and the distribution functions.
enum Kind {
    /// Beta distributions, at log odds: `(a − c) ln x + (b − d) ln(1 − x)` and a constant.
    Beta { p: (Interval, Interval), q: (Interval, Interval), along: [Interval; 2], constant: Interval },
    /// Normal distributions by mean times precision and precision: `constant + slope x − bend x²/2`.
    Normal { p: (f64, f64), q: (f64, f64), slope: Interval, bend: Interval, constant: Interval },
}

/// What a term that grows without bound tends to.
fn limit(factor: Interval, positive: bool, constant: Interval) -> Interval {
    match (factor.lower() > 0.0, factor.upper() < 0.0, factor == Interval::ZERO) {
        (_, _, true) => constant,
        (true, ..) => {
            if positive {
                Interval::INFINITE
            } else {
                -Interval::INFINITE
            }
        }
        (_, true, _) => {
            if positive {
                -Interval::INFINITE
            } else {
                Interval::INFINITE
            }
        }
        _ => Interval::between(f64::NEG_INFINITY, f64::INFINITY),
    }
}

impl Line {
    /// Two Beta distributions at the log odds of their unknown, with parameters that lie in intervals. The
    /// differences between the parameters come separately, because they may be known more precisely.
    pub(super) fn beta(p: (Interval, Interval), q: (Interval, Interval), along: [Interval; 2]) -> Self {
        let of = |(a, b): (Interval, Interval)| log_beta_function(&[a, b]).unwrap_or(Interval::INFINITE);
        let constant = of(q) - of(p);
        // The slope is (a − c)(1 − x) − (b − d) x: zero where the odds are (a − c)/(b − d).
        let odds = along[0] / along[1];
        let same = along[0].lower() * along[1].lower() > 0.0 && along[0].upper() * along[1].upper() > 0.0;
        let turn = same.then(|| odds.ln());
        let ends = [limit(along[0], false, constant), limit(along[1], false, constant)];
        Self { kind: Kind::Beta { p, q, along, constant }, turn, ends }
    }

    /// Two normal distributions by mean times precision and precision.
    pub(super) fn normal(p: (f64, f64), q: (f64, f64)) -> Self {
        let at = Interval::exact;
        let (slope, bend) = (at(p.0) - at(q.0), at(p.1) - at(q.1));
        let half = at(0.5);
        let own = |(weighted, precision): (f64, f64)| {
            half * (at(precision).ln() - at(weighted).square() / at(precision))
        };
        let constant = own(p) - own(q);
        let turn = (bend != Interval::ZERO).then(|| slope / bend);
        let ends = match bend == Interval::ZERO {
            true => [limit(slope, false, constant), limit(slope, true, constant)],
            false => [limit(bend, false, constant); 2],
        };
        Self { kind: Kind::Normal { p, q, slope, bend, constant }, turn, ends }
    }

    /// `ln p/q` at a place.
    fn log_ratio(&self, x: f64) -> Interval {
        match &self.kind {
            Kind::Beta { along, constant, .. } => {
                let (ln_x, ln_rest) = log_shares(x);
                along[0] * ln_x + along[1] * ln_rest + *constant
            }
            Kind::Normal { slope, bend, constant, .. } => {
                let x = Interval::exact(x);
                *constant + x * (*slope - Interval::exact(0.5) * *bend * x)
            }
        }
    }

    /// What both distributions have below a place.
    fn below(&self, x: f64) -> [Interval; 2] {
        match &self.kind {
            Kind::Beta { p, q, .. } => {
                [*p, *q].map(|parameters| beta_probabilities(parameters, log_shares(x)))
            }
            Kind::Normal { p, q, .. } => [*p, *q].map(|(weighted, precision)| {
                let precision = Interval::exact(precision);
                let z = Interval::exact(x) * precision.sqrt() - Interval::exact(weighted) / precision.sqrt();
                normal_probability(z)
            }),
        }
    }
}

/// `ln x` and `ln(1 − x)` at log odds.
fn log_shares(odds: f64) -> (Interval, Interval) {
    let of = |odds: f64| -(-Interval::exact(odds)).exp().ln_one_plus();
    // ln(1 + eᵘ) = u + ln(1 + e⁻ᵘ), where eᵘ would overflow.
    let share = |odds: f64| if odds < -30.0 { Interval::exact(odds) + of(-odds) } else { of(odds) };
    (share(odds), share(-odds))
}

/// Φ of a number in an interval.
fn normal_probability(z: Interval) -> Interval {
    // 1/√2 is correctly rounded.
    let root = Interval::between(FRAC_1_SQRT_2.next_down(), FRAC_1_SQRT_2.next_up());
    let scaled = -(z * root);
    // Measured error 3.12 units, widened to 16; the smallest normal number covers what has none.
    let half =
        |x: f64| Interval::relative(0.5 * math::erfc(x), 16.0) + Interval::between(0.0, f64::MIN_POSITIVE);
    let (lower, upper) = (half(scaled.upper()).lower(), half(scaled.lower()).upper());
    Interval::between(lower.max(0.0), upper.min(1.0))
}

/// The sign of a number that lies in an interval, where it is certain; zero counts as below.
fn above(value: Interval) -> Option<bool> {
    match (value.lower() > 0.0, value.upper() <= 0.0) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// A part of the line on which the sign of `p − t q` is the same, or not known, with the largest log ratio
/// there.
struct Part {
    from: f64,
    to: f64,
    above: Option<bool>,
    largest: f64,
}

/// `∫ max(0, p − t q)`: between what is certain, and that with all of `p` where the sign is not known.
pub(super) fn excess(line: &Line, ratio: Interval) -> Interval {
    let ln_ratio = ratio.ln();
    if ln_ratio.upper() == f64::NEG_INFINITY {
        return Interval::ONE;
    }
    let parts = parts(line, ln_ratio);
    let at = |x: f64| match x {
        f64::NEG_INFINITY => [Interval::ZERO; 2],
        f64::INFINITY => [Interval::ONE; 2],
        _ => line.below(x),
    };
    let mut sum = Interval::ZERO;
    for part in parts.iter().filter(|part| part.above != Some(false)) {
        let ([p_from, q_from], [p_to, q_to]) = (at(part.from), at(part.to));
        let (p, q) = ((p_to - p_from).positive(), (q_to - q_from).positive());
        sum = sum
            + match part.above {
                Some(_) => (p - ratio * q).positive(),
                // p (1 − e^(−ln p/tq)) at the most.
                None => {
                    let share = -(-Interval::exact(part.largest.max(0.0))).exp_minus_one();
                    Interval::between(0.0, (p * share).upper())
                }
            };
    }
    sum.min(Interval::ONE)
}

/// The line in parts.
fn parts(line: &Line, ln_ratio: Interval) -> Vec<Part> {
    let at = |x: f64| match x {
        f64::NEG_INFINITY => line.ends[0] - ln_ratio,
        f64::INFINITY => line.ends[1] - ln_ratio,
        _ => line.log_ratio(x) - ln_ratio,
    };
    let far = f64::INFINITY;
    let mut parts = Vec::new();
    match line.turn {
        None => monotone(&at, -far, far, &mut parts),
        Some(turn) => {
            if turn.lower() > -far {
                monotone(&at, -far, turn.lower(), &mut parts);
            }
            // Nothing is known of the log ratio in between but that it is wide by the rounding of its turning
            // point.
            parts.push(Part { from: turn.lower(), to: turn.upper(), above: None, largest: far });
            if turn.upper() < far {
                monotone(&at, turn.upper(), far, &mut parts);
            }
        }
    }
    parts
}

/// Parts of a stretch on which the log ratio rises or falls throughout.
fn monotone(at: &impl Fn(f64) -> Interval, from: f64, to: f64, parts: &mut Vec<Part>) {
    let (first, last) = (at(from), at(to));
    let largest = first.upper().max(last.upper());
    let (below, beyond) = (above(first), above(last));
    if below == beyond && below.is_some() {
        parts.push(Part { from, to, above: below, largest });
        return;
    }
    // From an end where the sign is certain, as far as it stays so; what lies between is not known.
    let start = below.map_or(from, |sign| reach(at, sign, from, to));
    let end = beyond.map_or(to, |sign| reach(at, sign, to, from));
    if start > from {
        parts.push(Part { from, to: start, above: below, largest });
    }
    if end > start {
        let sides = [start, end].map(|x| at(x).upper());
        parts.push(Part { from: start, to: end, above: None, largest: sides[0].max(sides[1]) });
    }
    if to > end {
        parts.push(Part { from: end, to, above: beyond, largest });
    }
}

/// How far from one end towards the other a sign is certain, by bisection; both ends may be infinite.
fn reach(at: &impl Fn(f64) -> Interval, sign: bool, from: f64, to: f64) -> f64 {
    let holds = |x: f64| above(at(x)) == Some(sign);
    let (mut near, mut far) = (from, to);
    if near.is_infinite() {
        // Out from the other end, or from 0, until the sign is that at infinity.
        let base = if far.is_infinite() { 0.0 } else { far };
        let found = (0..80).map(|k| base + 2.0_f64.powi(k - 20).copysign(near)).find(|&x| holds(x));
        let Some(found) = found else { return from };
        near = found;
    }
    if far.is_infinite() {
        let found = (0..80).map(|k| near + 2.0_f64.powi(k - 20).copysign(far)).find(|&x| !holds(x));
        let Some(found) = found else { return near };
        far = found;
    }
    for _ in 0..200 {
        let middle = 0.5 * near + 0.5 * far;
        if middle == near || middle == far {
            break;
        }
        if holds(middle) { near = middle } else { far = middle }
    }
    near
}
