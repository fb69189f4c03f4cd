//! The trade-off curve: how few mistakes a test of membership can make.
//!
//! A test decides which of two neighbouring data sets an outcome came from. With a false positive rate of α
//! it has a false negative rate of at least f(α), the trade-off function of f-differential privacy. Its lines
//! of support are the pairs (ε, δ(ε)):
//!
//! ```text
//! f(α) = sup over ε >= 0 of max(0, 1 - δ(ε) - e^ε α, e^-ε (1 - δ(ε) - α))
//! ```
//!
//! Write t = e^ε and g(t) = δ(log t). g is convex and falls, since it is a supremum of ∫ (dP - t dQ)₊ over
//! pairs. What is known of it are intervals `[l_i, u_i]` at points 1 = t_0 < t_1 < … < t_n.
//!
//! **f from below.** Each u_i >= g(t_i) gives a valid line, and f is at least the largest of finitely many.
//!
//! **f from above.** Here the supremum has to be bounded over all t, so g has to be bounded from below
//! between the points. On a cell `[t_i, t_(i+1)]` three straight lines lie below g: the constant l_(i+1),
//! because g falls; the line from (t_(i-1), u_(i-1)) through (t_i, l_i), and the one from (t_(i+2), u_(i+2))
//! through (t_(i+1), l_(i+1)), each continued into the cell, because g is convex. To the left of t_0 = 1 both
//! orders of the pair give g(1/t) = 1 - 1/t + g(t)/t, which supplies the point before the first. Beyond t_n
//! there are the constant 0 and the line continued from the left, up to t = 1/α, from where on 1 - t α <= 0.
//!
//! With such a line the first form, 1 - g(t) - t α, is at most a straight line in t, and the second, (1 -
//! g(t) - α)/t, at most a straight line in 1/t. So on each cell f is at most the maximum over an interval of
//! the smallest of three straight lines. For any weights the weighted mean of lines is no smaller than their
//! minimum, and it is largest at an end of the interval. This gives a bound whatever the weights, and with
//! the weights that make the mean of two lines level it is that maximum itself.
//!
//! # References
//! Dong, Roth and Su 2022, "Gaussian Differential Privacy", Propositions 2.5 and 2.12 (lines of support,
//! symmetry).

use std::fmt;

use crate::accountant::Inquiry;
use crate::{Accountant, Certified, Engine, Error, Result};

/// Largest epsilon whose exponential is used.
const LARGEST_EPSILON: f64 = 700.0;
/// Rounding of the few operations of a line, relative to its largest term.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// The most values of delta that a curve asks for.
const MOST_POINTS: usize = 400;
/// An error of delta is one of the curve: this share of the wanted width is enough.
const SHARE_OF_WIDTH: f64 = 0.02;
/// At this delta the part of the curve that is left is not looked at.
const SMALLEST_DELTA: f64 = 1e-9;

/// One known point of delta(epsilon): a line of support of the trade-off curve.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Corner {
    /// Epsilon, the logarithm of the slope.
    pub epsilon: f64,
    /// Delta at this epsilon.
    pub delta: Certified,
}

/// The trade-off curve of a composition, and what follows from it about any test of membership.
///
/// # Privacy
/// The truth is the largest symmetric trade-off function f for which the composition is f-differentially
/// private. `lower` ends of error rates hold against every attack. `upper` ends say that no larger f would be
/// true; where the two directions of a relation differ, the curve is the convex hull of both, which no single
/// pair of data sets need attain.
///
/// ```
/// use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
///
/// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::None)?;
/// let curve = Accountant::new(Relation::AddRemove).compose(release, 1).trade_off(1e-4)?;
/// // For one Gaussian mechanism f(α) = Φ(Φ⁻¹(1 - α) - 1/σ). At a false positive rate of 1 %:
/// let missed = curve.false_negative_rate(0.01)?;
/// assert!(missed.lower <= 0.907637947610 && 0.907637947610 <= missed.upper && missed.width() < 2e-4);
/// assert!(curve.true_positive_rate(0.01)?.upper < 0.0925);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TradeOff {
    /// Epsilons rise from zero.
    corners: Vec<Corner>,
}

/// A straight line by its values at both ends of an interval.
type Line = (f64, f64);

impl Accountant {
    /// The trade-off curve, to about `width` wherever that is possible with a few hundred values of delta.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `width` lies between 1e-9 and 1; [`Error::Unsupported`] for an event
    /// without a proven answer.
    pub fn trade_off(&self, width: f64) -> Result<TradeOff> {
        if !(1e-9..=1.0).contains(&width) {
            return Err(Error::Parameter {
                name: "width of a trade-off curve",
                value: width,
                bound: "between 1e-9 and 1",
            });
        }
        let mut inquiry = self.inquiry(LARGEST_EPSILON)?;
        let end = far_end(&mut inquiry, SMALLEST_DELTA.min(0.1 * width))?;
        inquiry.lower_to(end);
        let enough = SHARE_OF_WIDTH * width;
        let mut curve = curve_at(&mut inquiry, &[0.0, 0.25 * end, 0.5 * end, 0.75 * end, end], enough)?;
        while curve.corners.len() < MOST_POINTS {
            let cells: Vec<usize> = (0..curve.corners.len() - 1).filter(|&i| curve.gap(i) > width).collect();
            let mut added = Vec::new();
            for i in cells {
                let (from, to) = (curve.corners[i], curve.corners[i + 1]);
                // Closer points cannot help where delta itself is not known better.
                let known = from.delta.width().max(to.delta.width());
                if from.delta.upper - to.delta.lower > 4.0 * known {
                    let epsilon = 0.5 * (from.epsilon + to.epsilon);
                    inquiry.close_spent();
                    added.push(Corner { epsilon, delta: inquiry.delta_within(epsilon, enough)? });
                }
            }
            if added.is_empty() {
                break;
            }
            curve.corners.extend(added);
            curve.corners.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        }
        Ok(curve)
    }

    /// The trade-off curve as far as delta at some epsilons tells it. Epsilon 0 is always added.
    ///
    /// # Errors
    /// Those of [`delta`](Self::delta); [`Error::Epsilon`] above 700, where the slope of a line is no number
    /// any more.
    pub fn trade_off_at(&self, epsilons: &[f64]) -> Result<TradeOff> {
        if let Some(&value) = epsilons.iter().find(|&&epsilon| epsilon > LARGEST_EPSILON) {
            return Err(Error::Epsilon { value, bound: "at most 700 on a trade-off curve" });
        }
        let highest = epsilons.iter().copied().fold(0.0, f64::max);
        curve_at(&mut self.inquiry(highest)?, epsilons, 0.0)
    }
}

/// The epsilon beyond which the curve is not looked at.
fn far_end(inquiry: &mut Inquiry, delta: f64) -> Result<f64> {
    // Where an outcome may give everything away, delta does not fall below its probability.
    let mut delta = delta;
    loop {
        match inquiry.promised_epsilon(delta) {
            Err(Error::NoEpsilon { .. }) if delta < 0.1 => delta *= 10.0,
            Err(Error::NoEpsilon { .. }) => return Ok(LARGEST_EPSILON / 35.0),
            other => return Ok(other?.min(LARGEST_EPSILON)),
        }
    }
}

/// The trade-off curve by delta at some epsilons and 0, for a purpose for which some width of delta is
/// `enough`.
fn curve_at(inquiry: &mut Inquiry, epsilons: &[f64], enough: f64) -> Result<TradeOff> {
    let mut epsilons: Vec<f64> = epsilons.iter().copied().chain([0.0]).collect();
    epsilons.sort_by(f64::total_cmp);
    epsilons.dedup();
    let mut corners = Vec::with_capacity(epsilons.len());
    for epsilon in epsilons {
        corners.push(Corner { epsilon, delta: inquiry.delta_within(epsilon, enough)? });
    }
    Ok(TradeOff { corners })
}

impl TradeOff {
    /// The points of delta(epsilon) that the curve was made of.
    pub fn corners(&self) -> &[Corner] {
        &self.corners
    }

    /// The lowest false negative rate (type II error) that any test reaches at a false positive rate (type I
    /// error): f(α).
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the rate lies between 0 and 1.
    pub fn false_negative_rate(&self, false_positive_rate: f64) -> Result<Certified> {
        let alpha = false_positive_rate;
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::Parameter {
                name: "false positive rate",
                value: alpha,
                bound: "a probability between 0 and 1",
            });
        }
        let lower = self.lower(alpha);
        let upper = self.upper(alpha).max(lower);
        self.certified(lower, lower + 0.5 * (upper - lower), upper)
    }

    /// The highest true positive rate (power) that any test reaches at a false positive rate: 1 - f(α).
    ///
    /// # Errors
    /// Those of [`false_negative_rate`](Self::false_negative_rate).
    pub fn true_positive_rate(&self, false_positive_rate: f64) -> Result<Certified> {
        let missed = self.false_negative_rate(false_positive_rate)?;
        // A difference from 1 is correctly rounded.
        let (lower, upper) =
            ((1.0 - missed.upper).next_down().max(0.0), (1.0 - missed.lower).next_up().min(1.0));
        let power =
            Certified::new(lower, (1.0 - missed.estimate).clamp(lower, upper), upper, missed.lower_engine)?;
        Ok(power.proven_by(missed.upper_engine, missed.lower_engine))
    }

    /// The lowest false positive rate at which any test reaches a true positive rate: f(1 - power), for f is
    /// its own inverse.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the rate lies between 0 and 1.
    pub fn false_positive_rate(&self, true_positive_rate: f64) -> Result<Certified> {
        let power = true_positive_rate;
        if !(0.0..=1.0).contains(&power) {
            return Err(Error::Parameter {
                name: "true positive rate",
                value: power,
                bound: "a probability between 0 and 1",
            });
        }
        // 1 - power is rounded once, and f falls with a slope of at most e^ε: ask on both sides.
        let missed = 1.0 - power;
        let (lower, upper) = (self.lower(missed.next_up().min(1.0)), self.upper(missed.next_down().max(0.0)));
        let upper = upper.max(lower);
        self.certified(lower, lower + 0.5 * (upper - lower), upper)
    }

    /// The highest share of right answers among the positive answers of any test with a false positive rate,
    /// for a record that is present with probability `prior`: the positive predictive value, π β / (π β +
    /// (1 - π) α) with β the true positive rate.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `0 < prior < 1` and the rate lies above 0 and is at most 1.
    pub fn precision(&self, false_positive_rate: f64, prior: f64) -> Result<Certified> {
        let alpha = false_positive_rate;
        if !(prior > 0.0 && prior < 1.0) {
            return Err(Error::Parameter {
                name: "prior",
                value: prior,
                bound: "a probability above 0 and below 1",
            });
        }
        if !(alpha > 0.0 && alpha <= 1.0) {
            return Err(Error::Parameter {
                name: "false positive rate",
                value: alpha,
                bound: "a probability above 0 and at most 1",
            });
        }
        let power = self.true_positive_rate(alpha)?;
        let of =
            |beta: f64| if beta > 0.0 { 1.0 / (1.0 + (1.0 - prior) / prior * (alpha / beta)) } else { 0.0 };
        let (lower, upper) =
            (of(power.lower) * (1.0 - ROUNDING), (of(power.upper) * (1.0 + ROUNDING)).min(1.0));
        let precision =
            Certified::new(lower, of(power.estimate).clamp(lower, upper), upper, power.upper_engine)?;
        Ok(precision.proven_by(power.lower_engine, power.upper_engine))
    }

    /// An error rate. Its lower end comes from upper ends of delta, its upper end from both; each is credited
    /// to the first engine but the formula that took part.
    fn certified(&self, lower: f64, estimate: f64, upper: f64) -> Result<Certified> {
        let other = |mut engines: Box<dyn Iterator<Item = Engine> + '_>| {
            engines.find(|&engine| engine != Engine::ClosedForm).unwrap_or(Engine::ClosedForm)
        };
        let uppers = || self.corners.iter().map(|corner| corner.delta.upper_engine);
        let lowers = self.corners.iter().map(|corner| corner.delta.lower_engine);
        let (below, above) = (other(Box::new(uppers())), other(Box::new(lowers.chain(uppers()))));
        Ok(Certified::new(lower, estimate, upper, above)?.proven_by(below, above))
    }

    /// A number that f(α) is at least.
    fn lower(&self, alpha: f64) -> f64 {
        let line = |corner: &Corner| {
            let (t, u) = (corner.epsilon.exp(), corner.delta.upper);
            let first = 1.0 - u - t * alpha - ROUNDING * (1.0 + t * alpha);
            let second = (1.0 - u - alpha - ROUNDING) / t * (1.0 + ROUNDING);
            first.max(if second > 0.0 { second * (1.0 - 2.0 * ROUNDING) } else { 0.0 })
        };
        // No test does better than the worst of all, so f is at most 1 - α: this only guards against
        // rounding.
        self.corners.iter().map(line).fold(0.0, f64::max).min(1.0 - alpha)
    }

    /// A number that f(α) is at most.
    fn upper(&self, alpha: f64) -> f64 {
        let cells = (0..self.corners.len()).map(|i| self.upper_on_cell(i, alpha));
        cells.fold(0.0, f64::max).min(difference_from_one(alpha))
    }

    /// The point of the curve with the given number, as (t, lower, upper); number -1 is the mirror image of
    /// number 1.
    fn point(&self, number: isize) -> Option<(f64, f64, f64)> {
        let corner = self.corners.get(number.unsigned_abs())?;
        let (t, l, u) = (corner.epsilon.exp(), corner.delta.lower, corner.delta.upper);
        if number >= 0 {
            return Some((t, l, u));
        }
        let mirrored = |value: f64| 1.0 - 1.0 / t + value / t;
        Some((1.0 / t, mirrored(l) - ROUNDING, mirrored(u) + ROUNDING))
    }

    /// Lower bounds of g on cell `i` as lines in t, and the cell's ends.
    fn lines_below(&self, i: usize, alpha: f64) -> ([Option<Line>; 3], f64, f64) {
        let i = i as isize;
        let (from, here, _) = self.point(i).unwrap_or((1.0, 0.0, 0.0));
        let next = self.point(i + 1);
        let to = match next {
            Some((to, ..)) => to,
            None => (1.0 / alpha).max(from),
        };
        // Through (a, u) and (b, l), continued by `further`.
        let continued = |a: f64, u: f64, b: f64, l: f64, further: f64| l - (u - l) / (b - a).abs() * further;
        let width = to - from;
        let flat = next.map_or(0.0, |(_, l, _)| l);
        let left = self
            .point(i - 1)
            .filter(|_| width.is_finite())
            .map(|(t, _, u)| (here, continued(t, u, from, here, width)));
        let right = next.zip(self.point(i + 2)).map(|((_, l, _), (t, _, u))| {
            // To the left of a point with a larger value the line rises; one that would fall is as valid, and
            // useless.
            let slope = (l - u) / (t - to);
            (l + slope * width, l)
        });
        ([Some((flat, flat)), left, right], from, to)
    }

    /// A number that both forms are at most, for slopes in the cell.
    fn upper_on_cell(&self, i: usize, alpha: f64) -> f64 {
        let (lines, from, to) = self.lines_below(i, alpha);
        let known =
            |f: &dyn Fn(Line) -> Line| -> Vec<Line> { lines.iter().flatten().map(|&line| f(line)).collect() };
        // In t: at the end of an endless cell (α = 0) the first form is what it is at no slope at all.
        let first = if to.is_finite() {
            let margin = ROUNDING * (1.0 + to * alpha);
            largest_minimum(&known(&|(a, b)| {
                (1.0 - a - from * alpha + margin, 1.0 - b - to * alpha + margin)
            }))
        } else {
            1.0
        };
        // In 1/t, which ends at 0 for the last cell: there only the constant line is known.
        let last = i + 1 == self.corners.len();
        let second = if last {
            (1.0 - alpha) / from * (1.0 + ROUNDING)
        } else {
            largest_minimum(&known(&|(a, b)| {
                ((1.0 - a - alpha + ROUNDING) / from, (1.0 - b - alpha + ROUNDING) / to)
            }))
        };
        first.max(second)
    }

    /// How far the ends are apart where the lines of two neighbouring points meet.
    fn gap(&self, i: usize) -> f64 {
        let (from, to) = (self.corners[i], self.corners[i + 1]);
        let (t, next) = (from.epsilon.exp(), to.epsilon.exp());
        let meet = ((from.delta.upper - to.delta.upper) / (next - t)).clamp(0.0, 1.0);
        self.upper(meet) - self.lower(meet)
    }
}

/// The smallest number that is not below 1 - α.
fn difference_from_one(alpha: f64) -> f64 {
    let nearest = 1.0 - alpha;
    // Exact: `nearest` is at least 1/2, or is the difference itself. Where α is far smaller than the error of
    // `nearest`, the rates that follow from it would be off by many times their own size.
    if 1.0 - nearest > alpha { nearest.next_up() } else { nearest }
}

/// At least the maximum over an interval of the smallest of some straight lines, and nearly that.
fn largest_minimum(lines: &[Line]) -> f64 {
    let alone = lines.iter().map(|line| line.0.max(line.1));
    let in_pairs = lines.iter().enumerate().flat_map(|(k, a)| {
        lines[..k].iter().map(move |b| {
            // A mean of a rising and a falling line is level for one weight; any weight gives a bound.
            let (rise_a, rise_b) = (a.1 - a.0, b.1 - b.0);
            let weight = rise_b / (rise_b - rise_a);
            let weight = if (0.0..=1.0).contains(&weight) { weight } else { 1.0 };
            let mean = |a: f64, b: f64| weight * a + (1.0 - weight) * b;
            mean(a.0, b.0).max(mean(a.1, b.1)) + ROUNDING * (a.0.abs() + b.0.abs() + a.1.abs() + b.1.abs())
        })
    });
    // An undefined bound is none: the minimum of floating-point numbers leaves it out.
    alone.chain(in_pairs).fold(f64::INFINITY, f64::min)
}

impl fmt::Display for TradeOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for alpha in [0.001, 0.01, 0.1] {
            if let Ok(power) = self.true_positive_rate(alpha) {
                writeln!(f, "true positive rate at false positive rate {alpha}: {power}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::upper_tail;
    use crate::{Composition, Event, Mechanism, Relation, Sampling, strategies};
    use proptest::prelude::*;

    fn gaussian(noise_multiplier: f64) -> Accountant {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid");
        Accountant::new(Relation::AddRemove).compose(event, 1)
    }

    #[test]
    fn gaussian_curves_are_enclosed_everywhere() {
        for sigma in [0.3, 1.0, 4.0] {
            let coarse = gaussian(sigma).trade_off_at(&[0.1, 0.5, 3.0]).expect("a curve");
            let fine = gaussian(sigma).trade_off(1e-4).expect("a curve");
            for k in -300..=300 {
                // A test with threshold z: false positives above z, false negatives below z - 1/σ.
                let z = f64::from(k) / 50.0;
                let (alpha, truth) = (upper_tail(z), upper_tail(1.0 / sigma - z));
                for (curve, width) in [(&coarse, 1.0), (&fine, 3e-4)] {
                    let answer = curve.false_negative_rate(alpha).expect("a probability");
                    // The rounding of α moves f by its slope times that.
                    let slack = 1e-15 + 1e-15 * alpha * (z / sigma - 0.5 / (sigma * sigma)).exp();
                    assert!(answer.lower <= truth + slack, "{sigma} {z}: {answer:?} {truth}");
                    assert!(answer.upper >= truth - slack, "{sigma} {z}: {answer:?} {truth}");
                    assert!(answer.width() <= width, "{sigma} {z}: {answer:?}");
                    let power = curve.true_positive_rate(alpha).expect("a probability");
                    assert!(power.lower <= 1.0 - truth + slack && power.upper >= 1.0 - truth - slack);
                    // One minus a small rate has lost digits that a steep curve would need.
                    if truth > 1e-3 {
                        let back = curve.false_positive_rate(1.0 - truth).expect("a probability");
                        let slope = ((1.0 / sigma - z) / sigma - 0.5 / (sigma * sigma)).exp();
                        let slack = 1e-15 + 1e-15 * slope;
                        assert!(
                            back.lower <= alpha + slack && back.upper >= alpha - slack,
                            "{back:?} {alpha}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_single_line_is_what_epsilon_and_delta_alone_say() {
        // From epsilon 0 alone: f(α) >= 1 - δ(0) - α, and not more than the hull of what is known.
        let curve = gaussian(1.0).trade_off_at(&[]).expect("a curve");
        let advantage = gaussian(1.0).advantage().expect("an answer").upper;
        let answer = curve.false_negative_rate(0.2).expect("a probability");
        assert!((answer.lower - (0.8 - advantage)).abs() < 1e-13, "{answer:?}");
        assert!(answer.upper <= 0.8);
    }

    #[test]
    fn ends_and_nonsense() {
        let curve = gaussian(1.0).trade_off(1e-3).expect("a curve");
        assert_eq!(curve.false_negative_rate(1.0).expect("a probability").upper, 0.0);
        assert_eq!(curve.false_negative_rate(0.0).expect("a probability").upper, 1.0);
        for bad in [-0.1, 1.1, f64::NAN] {
            assert!(curve.false_negative_rate(bad).unwrap_err().to_string().contains(&bad.to_string()));
            assert!(curve.false_positive_rate(bad).is_err() && curve.precision(bad, 0.5).is_err());
            assert!(curve.precision(0.5, bad).is_err() && gaussian(1.0).trade_off(10.0 * bad).is_err());
        }
        assert!(gaussian(1.0).trade_off_at(&[701.0]).is_err());
        let nothing = Accountant::new(Relation::AddRemove).trade_off(1e-3).expect("a curve");
        let answer = nothing.false_negative_rate(0.25).expect("a probability");
        assert!((answer.lower - 0.75).abs() < 1e-14 && answer.upper == 0.75, "{answer:?}");
        // With even odds and no information, positive answers are right half of the time.
        let precision = nothing.precision(0.3, 0.5).expect("a probability");
        assert!((precision.upper - 0.5).abs() < 1e-13, "{precision:?}");
        // Also where a rate is not much above the rounding of numbers next to one: the truth is in the interval.
        for alpha in [1.001e-3, 1e-6, 1.002e-9, 1.042e-12, 1.055e-15, 1e-17, 1e-300] {
            let power = nothing.true_positive_rate(alpha).expect("a probability");
            assert!(power.lower <= alpha && alpha <= power.upper, "{alpha}: {power:?}");
            let precision = nothing.precision(alpha, 0.5).expect("a probability");
            assert!(precision.lower <= 0.5 && 0.5 <= precision.upper, "{alpha}: {precision:?}");
        }
    }

    #[test]
    fn differences_from_one_are_the_next_above_or_exact() {
        let exact = [
            (0.0, 1.0),
            (0.25, 0.75),
            (1.0, 0.0),
            (2.0_f64.powi(-54), 1.0),
            (2.0_f64.powi(-53), 1.0_f64.next_down()),
        ];
        for (alpha, difference) in exact {
            assert_eq!(difference_from_one(alpha), difference, "{alpha}");
        }
        // Numbers next to 0.875 are 2⁻⁵³ apart, so that the first difference rounds up and the second down.
        let alpha = 0.125 + 2.0_f64.powi(-55);
        assert_eq!((1.0 - alpha, difference_from_one(alpha)), (0.875, 0.875));
        let alpha = 0.125 + 3.0 * 2.0_f64.powi(-55);
        assert_eq!((1.0 - alpha, difference_from_one(alpha)), (0.875_f64.next_down(), 0.875));
    }

    #[test]
    fn a_subsampled_step_is_enclosed_by_its_tests() {
        // Thresholds on the outcome are the best tests of N(0, σ²) against (1-q) N(0, σ²) + q N(1, σ²),
        // either way round.
        let (sigma, rate) = (0.8, 0.2);
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: sigma }, Sampling::Poisson { rate })
            .expect("valid");
        let curve = Accountant::new(Relation::AddRemove).compose(event, 1).trade_off(1e-4).expect("a curve");
        for k in -200..=250 {
            let x = f64::from(k) / 50.0;
            let base = upper_tail(x / sigma);
            let mixture = (1.0 - rate) * base + rate * upper_tail((x - 1.0) / sigma);
            // "Present" above x if the record is removed; "absent" below x if it is added. Both are attacks,
            // so that f must lie below both.
            for (alpha, missed) in [(base, 1.0 - mixture), (1.0 - mixture, base)] {
                let answer = curve.false_negative_rate(alpha).expect("a probability");
                assert!(answer.lower <= missed + 1e-13, "{x}: {answer:?} {missed}");
                assert!(answer.width() <= 3e-4, "{x}: {answer:?}");
            }
        }
    }

    /// The points of a curve share lattices; each alone has its own. Both hold the truth, which neither end
    /// may have left, and sharing costs no more than the width that is enough for the curve. Every fourth point is
    /// asked about alone, among them the first and the last of each curve.
    #[test]
    fn points_that_share_lattices_are_those_of_single_questions() {
        let with = |batch, records| Sampling::WithReplacement { batch, records };
        for (relation, noise_multiplier, sampling, steps) in [
            (Relation::AddRemove, 1.0, with(10, 1_000), 50),
            (Relation::ReplaceOne, 2.0, with(20, 1_000), 30),
            (Relation::ReplaceOne, 1.5, Sampling::WithoutReplacement { batch: 20, records: 1_000 }, 100),
        ] {
            let event = Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("valid");
            let accountant = Accountant::new(relation).compose(event, steps);
            let width = 1e-2;
            let curve = accountant.trade_off(width).expect("a curve");
            assert_eq!(curve.corners().len() % 4, 1);
            for corner in curve.corners().iter().step_by(4) {
                let (shared, alone) = (corner.delta, accountant.delta(corner.epsilon).expect("an answer"));
                let case = format!("{sampling} {}: {shared:?} {alone:?}", corner.epsilon);
                assert!(shared.upper >= alone.lower && shared.lower <= alone.upper, "{case}");
                let enough = 2.0 * (SHARE_OF_WIDTH * width).max(1e-3 * alone.upper) + 1e-3 * alone.width();
                assert!(shared.upper <= alone.upper + enough, "{case}");
                assert!(shared.lower >= alone.lower - enough - 1e-4 * alone.upper, "{case}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

        #[test]
        fn curves_are_ordered_by_what_they_are_made_of(
            event in strategies::poisson_event(),
            count in 1u64..200,
            alpha in 0.0f64..1.0,
            epsilons in prop::collection::vec(0.0f64..6.0, 2..5),
        ) {
            let accountant = Accountant::new(Relation::AddRemove).with(&Composition::single(event, count));
            let accountant = accountant.relative_width(1e-2).expect("in range");
            let few = accountant.trade_off_at(&epsilons[..1]).expect("a curve");
            let many = accountant.trade_off_at(&epsilons).expect("a curve");
            let (few, many) = (few.false_negative_rate(alpha).expect("valid"), many.false_negative_rate(alpha).expect("valid"));
            // More points tell at least as much from below, and both intervals hold the same truth.
            prop_assert!(many.lower >= few.lower);
            prop_assert!(many.lower <= few.upper && few.lower <= many.upper);
            prop_assert!(many.upper <= difference_from_one(alpha));
        }
    }
}
