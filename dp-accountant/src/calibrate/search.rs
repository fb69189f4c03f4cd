//! Searches for the boldest parameter that keeps a budget, with few evaluations of epsilon.
//!
//! Epsilon is monotone in each parameter and its logarithm is nearly linear in the parameter's, so that
//! secants converge quickly; a bracket and bisection guard them. What is returned was evaluated at the
//! accountant's default width, and keeps the budget there.
//!
//! Only upper ends decide. Where attacks do not attain them, searches ask what is promised and leave the
//! attacks to the answer: they take most of the time, and the middle between the two, which does not cross zero
//! where the upper end does, led the secants astray.
//!
//! The crate `roots` (0.0.8) was measured on eight calibrations and is not used. From the bracket of all
//! noise multipliers, 0.01 to 1e7, its Illinois method takes 7 to 18 evaluations and Brent's 12 to 30, in up
//! to 1.2 and 5.6 seconds, because both begin with the costly ends; this search takes 2 to 10, in up to 6 ms,
//! and 84 cheap ones in the one case where epsilon is zero over most of the bracket. Besides, `roots` returns
//! the point at which it stops, on either side of the budget, cannot pass on an error of the function, and
//! searches no integers.

use std::cell::{Cell, RefCell};

use crate::run::Shelves;
use crate::{Accountant, Budget, Certified, Composition, DEFAULT_RELATIVE_WIDTH, Engine, Error, Result};

/// The widest interval that is asked for, far from the budget.
const ROUGH: f64 = 0.02;
/// Up to so many times the default width the default is asked for at once.
const NEARLY_DEFAULT: f64 = 4.0;
/// How far below the budget epsilon may come out, relative to it; budgets below [`ABSOLUTE_BELOW`] relative
/// to that.
const SLACK: f64 = 1e-4;
const ABSOLUTE_BELOW: f64 = 1e-3;
/// So many times the budget, a bound that no attack attains exceeds it, however rough it is: rough looks that begin
/// where others ended come out up to three times [`ROUGH`] too high.
const FAR: f64 = 1.08;
/// How close to the budget, relatively, a bound that no attack attains is asked for at the default width.
const CLOSE: f64 = SLACK;
/// To what share of what is uncertain of epsilon (see [`Question::uncertain`]) searches go.
const SHARE: f64 = 0.1;
/// Below this delta upper ends may jump from one parameter to the next, as far as an interval is wide.
const SMALL: f64 = 1e-15;
/// The power of epsilon with which a number of steps grows in the long run, and a little more, so that a first
/// correction comes out on the other side of the budget.
const PAST_ROOT: f64 = 2.1;
/// By how much the logarithm of epsilon may grow with that of a number for two looks to be taken for a slope.
const SLOPES: std::ops::RangeInclusive<f64> = 0.05..=20.0;
/// How much farther than a slope says a look goes to come out on the other side of the budget, and the logarithm of the
/// largest factor.
const FARTHER: f64 = 1.1;
const FARTHEST: f64 = 10.0;
/// A bracket that secants have not halved in so many rounds is halved.
const SLOW_ROUNDS: u32 = 5;
/// The logarithm of epsilon over the budget that stands for all larger ones.
const LARGEST_EXCESS: f64 = 27.0;
/// After so many rounds a search along upper ends that jump ends with what it has.
const ROUNDS_OF_JUMPS: u32 = 10;

/// What a run costs, as a question about one parameter.
pub(super) struct Question<'a, E> {
    pub(super) budget: &'a Budget,
    pub(super) events: E,
    /// How often epsilon was computed.
    pub(super) evaluations: Cell<u32>,
    /// What was composed for one parameter and serves the next.
    shelves: RefCell<Shelves>,
}

/// What was asked about one parameter, and the answer.
#[derive(Debug, Clone, Copy)]
struct Look {
    promise: Certified,
    /// The width that was asked for.
    width: f64,
    /// Whether [`Question::cost`] would say the same.
    settled: bool,
    /// Whether what is promised is the truth, attained by some attack.
    attained: bool,
}

/// One answer: where it was asked, and the logarithm of epsilon over the budget.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: f64,
    excess: f64,
}

impl Point {
    /// The slope of the line through two points, if it rises as costs do.
    fn slope(&self, other: &Self) -> Option<f64> {
        Some((self.excess - other.excess) / (self.at - other.at)).filter(|slope| SLOPES.contains(slope))
    }
}

impl<'a, E> Question<'a, E> {
    pub(super) fn new(budget: &'a Budget, events: E) -> Self {
        Self { budget, events, evaluations: Cell::new(0), shelves: RefCell::default() }
    }

    /// How uncertain a promise remains whatever the work, relative to it: the width of an interval that came
    /// out wider than [`ROUGH`] for a [`SMALL`] delta, and 0 for others. It is wide where numbers resolve no
    /// more. Upper ends of such intervals jump by some share of it from one parameter to the next.
    fn uncertain(&self, cost: &Certified) -> f64 {
        let width = cost.width() / cost.upper.max(ABSOLUTE_BELOW);
        if self.budget.delta < SMALL && width > ROUGH { width } else { 0.0 }
    }

    /// The width to ask for: at the safe end of a range, beyond which nothing is looked at, no rough interval is
    /// taken for the last word on a [`SMALL`] delta.
    fn width_at(&self, safe_end: bool, width: f64) -> f64 {
        if safe_end && self.budget.delta < SMALL { DEFAULT_RELATIVE_WIDTH } else { width }
    }

    /// The cost at the accountant's default width.
    pub(super) fn cost<X>(&self, at: X) -> Result<Certified>
    where
        E: Fn(X) -> Result<Composition>,
    {
        self.evaluations.update(|count| count + 1);
        self.accountant(at)?.next_epsilon(self.budget.delta, &mut self.shelves.borrow_mut())
    }

    fn accountant<X>(&self, at: X) -> Result<Accountant>
    where
        E: Fn(X) -> Result<Composition>,
    {
        Ok(Accountant::new(self.budget.relation).with(&(self.events)(at)?))
    }

    /// What is promised, at a width that decides on which side of the budget it is.
    fn decided<X: Copy>(&self, at: X, width: f64) -> Result<Look>
    where
        E: Fn(X) -> Result<Composition>,
    {
        let accountant = self.accountant(at)?;
        let shelves = &mut self.shelves.borrow_mut();
        // A look that costs nearly as much as the last one is not worth it.
        if width > NEARLY_DEFAULT * DEFAULT_RELATIVE_WIDTH {
            self.evaluations.update(|count| count + 1);
            let rough = accountant.clone().relative_width(width)?;
            // For the smallest deltas upper ends jump by where a look begins.
            let follows = self.budget.delta >= SMALL;
            let (promise, attained) = rough.next_promised_epsilon(self.budget.delta, follows, shelves)?;
            // A bound that no attack attains may be wide whatever the work: how far it is above the budget decides.
            let far = if attained { f64::INFINITY } else { FAR };
            let decides = promise.upper <= self.budget.epsilon
                || promise.lower > self.budget.epsilon
                || promise.upper > far * self.budget.epsilon;
            if decides || self.uncertain(&promise) > 0.0 {
                return Ok(Look { promise, width, settled: false, attained });
            }
        }
        self.evaluations.update(|count| count + 1);
        let (promise, attained) = accountant.next_promised_epsilon(self.budget.delta, false, shelves)?;
        Ok(Look { promise, width: DEFAULT_RELATIVE_WIDTH, settled: attained, attained })
    }

    /// As [`Self::decided`], where something that fails with a probability above delta costs more than any budget:
    /// a bold parameter may be too bold for any epsilon. At the safe end of a range it is an error.
    fn look<X: Copy>(&self, at: X, width: f64, is_safe: bool) -> Result<Look>
    where
        E: Fn(X) -> Result<Composition>,
    {
        match self.decided(at, width) {
            Err(Error::NoEpsilon { .. }) if !is_safe => {
                let promise = Certified::new(f64::MAX, f64::MAX, f64::MAX, Engine::ClosedForm)?;
                Ok(Look { promise, width: DEFAULT_RELATIVE_WIDTH, settled: true, attained: true })
            }
            look => look,
        }
    }

    fn excess(&self, look: &Look) -> f64 {
        // What decides is the upper end; where the interval is as narrow as was asked for, its middle is nearly the
        // same and less jumpy. Where no attack attains what is promised, lower ends may be worth nothing, and looks of
        // which one is narrow and the other is not would make no slope.
        let Look { promise, width, attained, .. } = look;
        let is_narrow = *attained && promise.width() <= width * promise.upper.max(ABSOLUTE_BELOW);
        let cost = if is_narrow { promise.estimate } else { promise.upper };
        let uncertain = self.uncertain(promise);
        // Zero is far below any budget, at a finite distance.
        (cost / self.budget.epsilon).ln().clamp(-7.0, LARGEST_EXCESS)
            + 0.5 * self.slack().max(uncertain * SHARE)
    }

    /// Whether a number that was looked at is near enough to the budget to be the answer, although the next one may
    /// keep it, too: where no attack attains what is promised.
    fn is_near(&self, look: &Look) -> bool {
        let Look { promise, width, attained, .. } = look;
        // The default interval's upper end is lower than that of a rough one by the latter's width at most.
        let rough = if *width > DEFAULT_RELATIVE_WIDTH { promise.width() } else { 0.0 };
        let left = self.budget.epsilon - promise.upper + rough;
        !attained && left <= self.budget.epsilon * SLACK.max(SHARE * self.uncertain(promise))
    }

    /// Whether a wider interval than the default one ends so little below the budget that the default one may tell the
    /// number to be the answer.
    fn is_close(&self, look: &Look) -> bool {
        let Look { promise, width, attained, .. } = look;
        let left = self.budget.epsilon - promise.upper;
        !attained && *width > DEFAULT_RELATIVE_WIDTH && (0.0..=CLOSE * self.budget.epsilon).contains(&left)
    }

    /// The relative slack at this budget.
    fn slack(&self) -> f64 {
        SLACK * (ABSOLUTE_BELOW / self.budget.epsilon).max(1.0)
    }

    /// The boldest x between `safe` and `bold` (epsilon grows from the former to the latter; x is a
    /// logarithm), to the slack in epsilon or 1e-10 in x, or to a tenth of what is uncertain of epsilon; to 1e-4 in x
    /// before the one beyond which no epsilon covers what fails. `None` if even `safe` does not keep the budget.
    pub(super) fn boldest(&self, safe: f64, bold: f64, start: f64) -> Result<Option<(f64, Certified)>>
    where
        E: Fn(f64) -> Result<Composition>,
    {
        let (mut kept, mut broken): (Option<Point>, Option<Point>) = (None, None);
        let mut best: Option<(f64, Certified)> = None;
        let (mut x, mut width, mut reach) = (start, ROUGH, 0.5);
        let (mut gap, mut resolution) = (f64::INFINITY, 1e-10);
        for round in 0..200u32 {
            let mut look = self.look(x, self.width_at(x == safe, width), x == safe)?;
            let mut cost = look.promise;
            let mut keeps = cost.upper <= self.budget.epsilon;
            let is_near = |cost: &Certified| {
                let slack = self.slack().max(SHARE * self.uncertain(cost));
                cost.upper >= self.budget.epsilon * (1.0 - slack)
            };
            if keeps && !look.settled && (is_near(&cost) || x == bold) {
                // The upper end may move by what was uncertain, away from the budget too.
                cost = self.cost(x)?;
                keeps = cost.upper <= self.budget.epsilon;
                look = Look { promise: cost, width: DEFAULT_RELATIVE_WIDTH, settled: true, ..look };
            }
            let point = Point { at: x, excess: self.excess(&look) };
            if keeps {
                if is_near(&cost) || x == bold {
                    return Ok(Some((x, cost)));
                }
                kept = Some(point);
                best = Some((x, cost));
            } else {
                if x == safe {
                    return Ok(None);
                }
                broken = Some(point);
            }
            width = (0.1 * point.excess.abs()).clamp(DEFAULT_RELATIVE_WIDTH, ROUGH);
            x = match (kept, broken) {
                (Some(kept), Some(broken)) => {
                    // Epsilon moves by about as much as the parameter, or more.
                    resolution = 1e-10_f64.max(0.1 * SHARE * self.uncertain(&cost));
                    let jumps = resolution > 1e-10 && round >= ROUNDS_OF_JUMPS;
                    if broken.excess >= LARGEST_EXCESS {
                        // Up to where no epsilon covers what fails, which no secant finds.
                        resolution = resolution.max(SLACK);
                    }
                    if (kept.at - broken.at).abs() < resolution || jumps {
                        break;
                    }
                    // A secant, or the middle where secants have not halved the bracket in three rounds.
                    let share = kept.excess / (kept.excess - broken.excess);
                    let halved = (kept.at - broken.at).abs() <= 0.5 * gap;
                    if halved || round % 3 != 2 {
                        if halved {
                            gap = (kept.at - broken.at).abs();
                        }
                        let share = if share.is_finite() { share.clamp(1e-3, 1.0 - 1e-3) } else { 0.5 };
                        kept.at + share * (broken.at - kept.at)
                    } else {
                        0.5 * (kept.at + broken.at)
                    }
                }
                _ => {
                    // Towards the other side by a slope of about -1.5 and a little more, each time farther.
                    let step = (point.excess.abs() / 1.2).clamp(0.02, reach);
                    reach *= 2.0;
                    let end = if keeps { bold } else { safe };
                    if (end - x).abs() <= step { end } else { x + step * (end - x).signum() }
                }
            };
        }
        // The bracket has closed on a jump of epsilon. The best kept point may have been judged by a wider
        // interval.
        let Some((x, _)) = best else { return Ok(None) };
        let mut x = x;
        for back in 0..60 {
            let cost = self.cost(x)?;
            if cost.upper <= self.budget.epsilon {
                return Ok(Some((x, cost)));
            }
            let next = x + resolution * f64::powi(2.0, back) * (safe - x).signum();
            x = if (safe - x).abs() <= (next - x).abs() { safe } else { next };
        }
        Ok(None)
    }

    /// The largest integer from 1 to `largest` that keeps the budget, or `None` if 1 does not.
    ///
    /// Of a number it returns, the next one was seen not to keep the budget (or was beyond `largest`);
    /// for a [`SMALL`] delta perhaps by a rough interval. Where no attack attains what is promised, the last numbers
    /// are not told apart, because each costs seconds and more numbers keep the budget in truth.
    pub(super) fn largest_integer(&self, largest: u64, start: u64) -> Result<Option<(u64, Certified)>>
    where
        E: Fn(u64) -> Result<Composition>,
    {
        let (mut kept, mut broken) = (0u64, largest.saturating_add(1));
        let (mut kept_excess, mut broken_excess): (Option<f64>, Option<f64>) = (None, None);
        let mut next = start.clamp(1, largest);
        let (mut width, mut factor, mut slow) = (ROUGH, 1.05f64, 0);
        let mut answer: Option<(u64, Certified, bool)> = None;
        let (mut before, mut slope): (Option<(Point, bool)>, Option<f64>) = (None, None);
        let mut is_exact = false;
        while broken - kept > 1 {
            let mut look = self.look(next, self.width_at(next == 1, width), next == 1)?;
            if self.is_close(&look) {
                look = self.look(next, DEFAULT_RELATIVE_WIDTH, next == 1)?;
            }
            let gap = broken - kept;
            let point = Point { at: (next as f64).ln(), excess: self.excess(&look) };
            let is_default = look.width <= DEFAULT_RELATIVE_WIDTH;
            if let Some((before, was_default)) = before
                && was_default == is_default
            {
                slope = point.slope(&before).or(slope);
            }
            before = Some((point, is_default));
            let crossing = slope.map(|slope| point.at - point.excess / slope);
            // Bounds that no attack attains may be wider in a rough interval than in the default one, whatever was
            // asked for: near the budget all looks are of one kind.
            is_exact |= is_default && !look.attained;
            let mut is_near = false;
            if look.promise.upper <= self.budget.epsilon {
                (kept, kept_excess) = (next, Some(point.excess));
                answer = Some((next, look.promise, look.settled));
                is_near = self.is_near(&look);
            } else {
                (broken, broken_excess) = (next, Some(point.excess));
            }
            if broken - kept <= 1 || is_near {
                break;
            }
            slow = if broken - kept > gap / 2 { slow + 1 } else { 0 };
            let (low, high) = (kept.max(1) as f64, broken as f64);
            let proposed = match (kept_excess, broken_excess) {
                (Some(below), Some(above)) if slow < SLOW_ROUNDS => {
                    width = (0.05 * (high / low).ln()).clamp(DEFAULT_RELATIVE_WIDTH, ROUGH);
                    let share = below / (below - above);
                    let between =
                        low * (high / low).powf(if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 });
                    // The last two looks are nearer to one another than the ends of a bracket.
                    crossing
                        .map(f64::exp)
                        .filter(|crossing| (low..high).contains(crossing))
                        .unwrap_or(between)
                }
                (Some(_), Some(_)) => {
                    slow = 0;
                    (low * high).sqrt()
                }
                (only, None) | (None, only) => {
                    // All on one side yet. In the long run epsilon grows with the root of the number, and where few
                    // steps decide much more slowly; a little farther than that, and each time by a larger factor.
                    factor *= factor;
                    let root = only.map_or(0.0, |excess| PAST_ROOT * excess.abs());
                    let slope = crossing.map_or(0.0, |crossing| FARTHER * (crossing - point.at).abs());
                    let farther = root.max(slope.min(FARTHEST)).exp().max(factor);
                    if kept_excess.is_some() { next as f64 * farther } else { next as f64 / farther }
                }
            };
            if is_exact {
                width = DEFAULT_RELATIVE_WIDTH;
            }
            // Casting saturates; the bounds keep the bracket shrinking.
            next = (proposed.round() as u64).clamp(kept + 1, broken - 1);
        }
        let Some((mut at, cost, settled)) = answer else { return Ok(None) };
        if settled {
            return Ok(Some((at, cost)));
        }
        // A wider interval decided. Should the default one come out above the budget, go back until it does
        // not.
        let mut back = 1u64;
        while at >= 1 {
            let cost = self.cost(at)?;
            if cost.upper <= self.budget.epsilon {
                return Ok(Some((at, cost)));
            }
            at = at.saturating_sub(back);
            back = back.saturating_mul(2);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::guess;
    use super::*;
    use crate::{Event, Mechanism, Relation, Sampling};

    fn run(noise_multiplier: f64, rate: f64, steps: u64) -> Result<Composition> {
        let step = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })?;
        Ok(Composition::single(step, steps))
    }

    /// Upper ends that no attack attains jump at small deltas: closing the bracket on such a jump bit by bit took 100
    /// evaluations of a third of a second.
    #[test]
    fn searches_along_bounds_that_no_attack_attains_end() {
        let budget = Budget { epsilon: 1.0, delta: 1e-20, relation: Relation::ReplaceOne };
        let question = Question::new(&budget, |log: f64| {
            let sampling = Sampling::WithReplacement { batch: 10, records: 60_000 };
            let step = Event::new(Mechanism::Gaussian { noise_multiplier: log.exp() }, sampling)?;
            Ok(Composition::single(step, 1_000))
        });
        let (safe, bold) = (1e7f64.ln(), 0.01f64.ln());
        let (log_noise, cost) = question.boldest(safe, bold, 1.9).expect("answers").expect("reachable");
        assert!(cost.upper <= 1.0 && cost.upper > 0.8, "{cost:?}");
        assert!((6.0..7.5).contains(&log_noise.exp()), "{}", log_noise.exp());
        assert!(question.evaluations.get() <= 12, "{}", question.evaluations.get());
    }

    /// Where attacks miss what is promised, the middle between both lies below the budget on either side of the
    /// parameter that is looked for: secants through it took 43 evaluations for 64 of 500,000 records, 2,000
    /// times.
    #[test]
    fn searches_follow_what_is_promised_not_the_middle() {
        for (epsilon, delta, batch, records, steps) in
            [(1.0, 1e-6, 10, 6_000, 100), (2.0, 1e-5, 20, 5_000, 50), (8.0, 1e-6, 500, 1_000, 10)]
        {
            let budget = Budget { epsilon, delta, relation: Relation::ReplaceOne };
            let question = Question::new(&budget, |log: f64| {
                let sampling = Sampling::WithReplacement { batch, records };
                let step = Event::new(Mechanism::Gaussian { noise_multiplier: log.exp() }, sampling)?;
                Ok(Composition::single(step, steps))
            });
            let (safe, bold) = (1e7f64.ln(), 0.01f64.ln());
            let (log_noise, cost) = question.boldest(safe, bold, 0.0).expect("answers").expect("reachable");
            assert!(cost.upper <= epsilon && cost.upper >= epsilon * (1.0 - 2e-4), "{cost:?}");
            assert!(cost.lower < 0.98 * cost.upper, "{cost:?}");
            assert!(question.evaluations.get() <= 16, "{} {log_noise}", question.evaluations.get());
            // The search's shorter question has the upper end of the whole answer, which it returned.
            let composition = (question.events)(log_noise).expect("valid");
            let accountant = Accountant::new(budget.relation).with(&composition);
            let (promise, is_whole) = accountant.promised_epsilon(delta).expect("an answer");
            assert_eq!(promise.upper, cost.upper);
            assert!(!is_whole && promise.lower > cost.lower);
            assert_eq!(accountant.epsilon(delta).expect("an answer"), cost);
        }
    }

    /// To tell the last of a million steps apart, where more of them keep the budget in truth, took a minute.
    #[test]
    fn the_last_steps_of_a_bound_that_no_attack_attains_are_not_told_apart() {
        let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };
        let question = Question::new(&budget, |steps: u64| {
            let sampling = Sampling::WithReplacement { batch: 64, records: 50_000 };
            let step = Event::new(Mechanism::Gaussian { noise_multiplier: 2.0 }, sampling)?;
            Ok(Composition::single(step, steps))
        });
        let (safe, bold) = (0.0, f64::exp2(40.0).ln());
        let start =
            guess::start(&budget, safe, bold, |log| (question.events)(log.exp() as u64)).expect("Gaussian");
        let found = question.largest_integer(1 << 40, start.exp() as u64).expect("answers");
        let (steps, cost) = found.expect("reachable");
        assert!(cost.upper <= 1.0 && cost.upper >= 1.0 - 2e-4, "{steps}: {cost:?}");
        assert!(question.evaluations.get() <= 10, "{}", question.evaluations.get());
    }

    /// Each look took as long as a whole answer, and bounds whose lower ends say nothing were asked about twice on both
    /// sides of the budget: 20 evaluations, and here there are no more than this.
    #[test]
    fn few_looks_find_the_steps_of_a_bound_that_no_attack_attains() {
        for (relation, noise_multiplier, epsilon, most) in
            [(Relation::ReplaceOne, 5.0, 1.0, 8), (Relation::AddRemove, 5.0, 1.0, 8)]
        {
            let budget = Budget { epsilon, delta: 1e-5, relation };
            let question = Question::new(&budget, |steps: u64| {
                let sampling = Sampling::WithReplacement { batch: 100, records: 20_000 };
                let step = Event::new(Mechanism::Gaussian { noise_multiplier }, sampling)?;
                Ok(Composition::single(step, steps))
            });
            let start =
                guess::start(&budget, 0.0, f64::exp2(40.0).ln(), |log| (question.events)(log.exp() as u64));
            let start = start.expect("Gaussian").exp() as u64;
            let (steps, cost) =
                question.largest_integer(1 << 40, start).expect("answers").expect("reachable");
            assert!(cost.upper <= epsilon && cost.upper >= epsilon * (1.0 - 2e-4), "{steps}: {cost:?}");
            assert!(question.evaluations.get() <= most, "{} {steps}", question.evaluations.get());
            // What earlier looks left is of no consequence for the answer.
            let composition = (question.events)(steps).expect("valid");
            let accountant = Accountant::new(relation).with(&composition);
            assert_eq!(accountant.epsilon(1e-5).expect("an answer"), cost);
        }
    }

    /// Looks that begin where the last one ended bound the same number, about as closely, however far away that was.
    #[test]
    fn looks_that_follow_others_hold_what_is_promised() {
        for relation in [Relation::ReplaceOne, Relation::AddRemove] {
            let mut shelves = Shelves::default();
            for (noise_multiplier, steps) in [(2.0, 10), (2.0, 20_000), (1.0, 1_000)] {
                let sampling = Sampling::WithReplacement { batch: 10, records: 10_000 };
                let step = Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("valid");
                // Wide enough to be quick, and narrow beside what rough looks are.
                let alone = Accountant::new(relation).compose(step, steps).relative_width(1e-3);
                let alone = alone.expect("in range");
                let rough = alone.clone().relative_width(ROUGH).expect("in range");
                let (found, _) = rough.next_promised_epsilon(1e-6, true, &mut shelves).expect("an answer");
                let (truth, _) = alone.promised_epsilon(1e-6).expect("an answer");
                assert!(found.upper >= truth.lower, "{steps}: {found:?} {truth:?}");
                assert!(found.upper <= truth.upper * (1.0 + 3.0 * ROUGH), "{steps}: {found:?} {truth:?}");
                // One that does not follow says what it would say alone.
                let (again, _) = alone.next_promised_epsilon(1e-6, false, &mut shelves).expect("an answer");
                assert_eq!(again, truth);
            }
        }
    }

    /// Steps that fail altogether with some probability cost nothing that is finite where there are many of them: those
    /// are too many, and no error.
    #[test]
    fn numbers_that_no_epsilon_covers_are_too_large() {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        for epsilon in [0.01, 1e-4, 1e-6] {
            let question = Question::new(&budget, |steps: u64| {
                let step = Event::new(Mechanism::ApproximateDp { epsilon, delta: 1e-9 }, Sampling::None)?;
                Ok(Composition::single(step, steps))
            });
            let found = question.largest_integer(1 << 40, 1).expect("answers").expect("reachable");
            let next = question.cost(found.0 + 1);
            assert!(found.1.upper <= 1.0 && found.0 > 100, "{found:?}");
            assert!(next.map_or(true, |cost| cost.upper > 1.0), "{found:?}");
        }
    }

    /// Each search counts its evaluations of epsilon; the limits are what was measured and one or two more.
    #[test]
    fn few_evaluations_suffice() {
        for (epsilon, delta, rate, steps) in [
            (1.0, 1e-5, 0.01, 1_000),
            (8.0, 1e-5, 0.01, 1_000),
            (0.5, 1.0 / 60_000.0, 128.0 / 60_000.0, 9_380),
            (3.0, 1e-8, 0.1, 500),
        ] {
            let budget = Budget { epsilon, delta, relation: Relation::AddRemove };
            let question = Question::new(&budget, |log: f64| run(log.exp(), rate, steps));
            let (safe, bold) = (1e7f64.ln(), 0.01f64.ln());
            let start = guess::start(&budget, safe, bold, question.events).expect("Gaussian");
            let (log_noise, cost) = question.boldest(safe, bold, start).expect("answers").expect("reachable");
            assert!(cost.upper <= epsilon && cost.upper >= epsilon * (1.0 - 1e-4));
            assert!(question.evaluations.get() <= 8, "{}", question.evaluations.get());
            let question = Question::new(&budget, |steps: u64| run(log_noise.exp(), rate, steps));
            let (found, cost) =
                question.largest_integer(1 << 40, steps / 2).expect("answers").expect("reachable");
            assert!(cost.upper <= epsilon && found >= steps, "{found} {steps}");
            assert!(question.evaluations.get() <= 14, "{}", question.evaluations.get());
        }
    }

    /// Upper ends decide, and each time: a search that takes a parameter hardly above the budget for one that keeps it
    /// goes on from there to the bolder side, and what it has in the end lies far below.
    #[test]
    fn parameters_hardly_above_the_budget_do_not_keep_it() {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        // Epsilon moves by a quarter as much as the parameter, so that the second look ends half a per cent above the
        // budget, and is asked for at the default width because the first one was so near.
        let question = Question::new(&budget, |log: f64| run((0.25 * log).exp(), 1.0, 1));
        let (safe, bold) = (4.0 * 1e7f64.ln(), 4.0 * 0.01f64.ln());
        let start = guess::start(&budget, safe, bold, question.events).expect("Gaussian");
        for safer in [1.5e-3, 2e-3, 2.5e-3] {
            question.evaluations.set(0);
            let (_, cost) = question.boldest(safe, bold, start + safer).expect("answers").expect("reachable");
            assert!(cost.upper <= 1.0 && cost.upper >= 1.0 - 1e-4, "{safer}: {cost:?}");
            assert!(question.evaluations.get() <= 6, "{safer}: {}", question.evaluations.get());
        }
    }

    /// Intervals stay wide whatever the work for the smallest deltas, and for no others.
    #[test]
    fn only_the_smallest_deltas_leave_an_epsilon_uncertain() {
        let uncertain = |delta: f64, lower: f64| {
            let budget = Budget { epsilon: 1.0, delta, relation: Relation::AddRemove };
            let question = Question::new(&budget, |log: f64| run(log.exp(), 0.01, 1_000));
            question.uncertain(&Certified::new(lower, lower, 1.0, Engine::LossDistribution).expect("ordered"))
        };
        assert_eq!(uncertain(1e-20, 0.75), 0.25);
        assert_eq!(uncertain(1e-20, 0.99), 0.0);
        assert_eq!(uncertain(1e-12, 0.75), 0.0);
    }
}
