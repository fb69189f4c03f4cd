//! Certified intervals from discretised loss distributions: choose a lattice, bound from both sides, refine.

mod cells;
mod compose;
mod discretise;
mod scout;

use crate::closed_form::Interval;
use crate::special::truncation_point;
use cells::{Cells, Pair};
use compose::{Composed, End, Factor};
use discretise::Slack;
use scout::{Scout, Window};

/// The longest transform, which bounds memory to about 100 MB and a level of refinement to about a second.
const LONGEST_TRANSFORM: usize = 1 << 20;
/// The most half-cells in the table of one step.
const MOST_CELLS: usize = 1 << 20;
/// Below this epsilon the wanted width is relative to it.
pub(crate) const SMALLEST_SCALE: f64 = 1e-3;
/// Refinement stops after this many lattices.
const LEVELS: usize = 6;

/// `count` uses of the Gaussian mechanism under Poisson sampling, add/remove.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) noise_multiplier: f64,
    pub(crate) rate: f64,
    pub(crate) count: f64,
}

/// What is asked of a composition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Query {
    Epsilon { delta: f64 },
    Delta { epsilon: f64 },
}

/// One direction of the neighbouring relation, with what is known of its answer.
struct Direction {
    reversed: bool,
    known: Interval,
    truncation: f64,
    scout: Scout,
    /// What share of the tilt at the saddle point is used.
    ease: f64,
}

/// Where and how finely to compose one direction.
#[derive(Debug, Clone, Copy)]
struct Plan {
    tilt: f64,
    /// The epsilon about which the answer is expected.
    reference: f64,
    window: Window,
}

/// The answer to a query, in an interval that is `known` beforehand and comes out no wider.
///
/// The two directions are refined until the relative width of their maximum is at most `relative_width`, or until
/// transforms reach their size limit. A direction that cannot be the larger one is not refined further.
pub(crate) fn solve(steps: &[Step], query: Query, known: Interval, relative_width: f64) -> Interval {
    let mut directions: Vec<Direction> =
        [false, true].map(|reversed| Direction::new(steps, query, known.upper, reversed)).into();
    let mut answer = known;
    let scale = match query {
        Query::Epsilon { .. } => SMALLEST_SCALE,
        Query::Delta { .. } => 0.0,
    };
    let mut spacing: Option<f64> = None;
    // delta falls exponentially in epsilon: asking the same relative width of it would be asking far more.
    let relative_width = match query {
        Query::Epsilon { .. } => relative_width,
        Query::Delta { .. } => (relative_width * crate::accountant::DELTA_WIDTH_FACTOR).min(1.0),
    };
    for _ in 0..LEVELS {
        let goal = relative_width * answer.upper.max(scale);
        // A direction matters while it could be the larger one by a visible amount.
        let active: Vec<usize> =
            (0..2).filter(|&d| directions[d].known.upper - answer.lower > 0.5 * goal).collect();
        let Some(&leader) = active.first() else { break };
        let Some(plan) = directions[leader].plan(query, answer.lower) else {
            break;
        };
        // A first lattice four times coarser than foreseen tells which direction matters and how wide it comes out.
        let first_look = spacing.is_none();
        let wanted = spacing.unwrap_or_else(|| 4.0 * plan.spacing(steps, query, relative_width));
        let truncation = active.iter().map(|&d| directions[d].truncation).fold(6.0, f64::max);
        let mut floor = plan.finest().max(finest_table(steps, truncation));
        if !first_look {
            let plans = active.iter().filter_map(|&d| directions[d].plan(query, answer.lower));
            floor = plans.map(|plan| plan.finest()).fold(floor, f64::max);
        }
        let used = few_bits(wanted.max(floor));
        let Some(tables) = tables(steps, used, truncation) else {
            break;
        };
        for &d in &active {
            // What the first direction proves from below is what the second need not look beneath.
            let threshold = answer.lower.max(directions[leader].known.lower);
            let Some(plan) = directions[d].plan(query, threshold) else {
                continue;
            };
            if let Some(interval) = bound(&tables, directions[d].reversed, used, plan, query) {
                directions[d].known = directions[d].known.intersect(interval);
            }
        }
        let previous = answer.upper - answer.lower;
        answer = answer.intersect(directions[0].known.max(directions[1].known));
        let width = answer.upper - answer.lower;
        let goal = relative_width * answer.upper.max(scale);
        // Where single steps can lose very much, the saddle point may be a tilt that lives on such steps and not on the
        // losses in question. The sign is an interval that is all but empty of information; a smaller tilt then helps.
        let mut eased = false;
        for &d in &active {
            let direction = &mut directions[d];
            if direction.known.lower < 0.5 * direction.known.upper
                && direction.known.upper > answer.lower + goal
            {
                direction.ease *= 0.75;
                eased = true;
            }
        }
        // The errors of rounding do not shrink with the spacing: stop when a finer lattice no longer helps.
        let stuck = !eased && (!first_look || wanted <= floor) && width > 0.9 * previous;
        if width <= goal || stuck {
            break;
        }
        spacing = Some(used * (0.6 * goal / width).sqrt().clamp(1.0 / 64.0, 0.7));
    }
    answer
}

impl Direction {
    fn new(steps: &[Step], query: Query, upper: f64, reversed: bool) -> Self {
        let total: f64 = steps.iter().map(|step| step.count).sum();
        let delta = match query {
            Query::Epsilon { delta } => delta,
            Query::Delta { epsilon } => {
                // First a sketch, for the order of magnitude of delta.
                let sketch = Scout::new(steps, truncation_point(1e-40 / total), reversed);
                (sketch.tilt_at(epsilon).1 - 12.0).exp()
            }
        };
        // Truncated mass counts fully into delta: a millionth of a millionth of it is small against any goal.
        let truncation = truncation_point(1e-12 * delta / total);
        // The loss of adding a record is at most -log(1 - q) a step.
        let largest_loss = if reversed {
            steps.iter().map(|step| -step.count * (-step.rate).ln_1p()).sum::<f64>() * (1.0 + 1e-12)
        } else {
            f64::INFINITY
        };
        let upper = match query {
            Query::Epsilon { .. } => upper.min(largest_loss),
            Query::Delta { epsilon } if epsilon >= largest_loss => 0.0,
            Query::Delta { .. } => upper,
        };
        Self {
            reversed,
            known: Interval { lower: 0.0, upper },
            truncation,
            scout: Scout::new(steps, truncation, reversed),
            ease: 1.0,
        }
    }

    /// Where to compose next, when values of delta below `threshold` are of no interest.
    fn plan(&self, query: Query, threshold: f64) -> Option<Plan> {
        let known = self.known;
        let (tilt, reference) = match query {
            Query::Delta { epsilon } => (self.scout.tilt_below(epsilon, threshold.ln() - 12.0), epsilon),
            Query::Epsilon { delta } => {
                if known.upper - known.lower < 0.2 * known.upper {
                    let middle = 0.5 * (known.lower + known.upper);
                    (self.scout.tilt_at(middle).0, middle)
                } else {
                    let (tilt, epsilon) = self.scout.tilt_for(delta);
                    (tilt, epsilon.clamp(known.lower, known.upper))
                }
            }
        };
        let tilt = self.ease * tilt;
        // Wrapped mass m is charged at m · e^(K(c) - c ε) (c/(c+1))^c / (c+1); it is to be a small part of delta.
        let log_delta = match query {
            Query::Epsilon { delta } => delta.ln(),
            Query::Delta { .. } if known.lower > 1e-3 * known.upper => known.lower.ln(),
            Query::Delta { epsilon } => self.scout.log_mgf(tilt) - tilt * epsilon - 14.0,
        };
        let charge = self.scout.log_mgf(tilt) - tilt * reference - tilt.ln_1p();
        let window_mass = (18.0 + charge - log_delta).clamp(10.0, 100.0);
        let mut window = self.scout.window(tilt, window_mass);
        // The window has to reach below the epsilon in question: beneath it no mass counts.
        let margin = 0.02 * (window.high - window.low);
        window.low = window.low.min(reference - margin).min(match query {
            Query::Epsilon { .. } => known.lower - margin,
            Query::Delta { .. } => reference - margin,
        });
        window.high = window.high.max(reference + margin);
        (tilt.is_finite() && (window.high - window.low).is_finite()).then_some(Plan {
            tilt,
            reference,
            window,
        })
    }
}

impl Plan {
    /// The spacing at which the discretisation should cost what is allowed: spreading the loss within cells adds up
    /// to T h²/6 to its variance, and so (c + 1)/2 times that to epsilon.
    fn spacing(&self, steps: &[Step], query: Query, relative_width: f64) -> f64 {
        let total: f64 = steps.iter().map(|step| step.count).sum();
        let goal = match query {
            Query::Epsilon { .. } => relative_width * self.reference.max(SMALLEST_SCALE),
            Query::Delta { .. } => relative_width / (self.tilt + 1.0),
        };
        (8.0 * goal / ((self.tilt + 1.0) * total)).sqrt()
    }

    /// The finest spacing that the longest transform allows.
    fn finest(&self) -> f64 {
        (self.window.high - self.window.low) / (0.99 * LONGEST_TRANSFORM as f64)
    }
}

/// The finest spacing for which the tables of all steps stay within their limit.
fn finest_table(steps: &[Step], truncation: f64) -> f64 {
    let range = |step: &Step| {
        let (low, high) = Pair { sigma: step.noise_multiplier, rate: step.rate }.loss_range(truncation);
        high - low
    };
    steps.iter().map(range).fold(0.0, f64::max) * 2.0 / (0.99 * MOST_CELLS as f64)
}

/// Rounds a spacing up to eight significant bits, so that every lattice point is an exact number.
fn few_bits(spacing: f64) -> f64 {
    let unit = 2f64.powi(spacing.log2().floor() as i32 - 7);
    (spacing / unit).ceil() * unit
}

/// The tables of all steps with their counts.
fn tables(steps: &[Step], spacing: f64, truncation: f64) -> Option<Vec<(Cells, f64)>> {
    let table = |step: &Step| {
        let pair = Pair { sigma: step.noise_multiplier, rate: step.rate };
        Some((pair.cells(spacing, truncation, MOST_CELLS)?, step.count))
    };
    steps.iter().map(table).collect()
}

/// The interval that one lattice proves for one direction.
fn bound(
    tables: &[(Cells, f64)],
    reversed: bool,
    spacing: f64,
    plan: Plan,
    query: Query,
) -> Option<Interval> {
    let points = (plan.window.high - plan.window.low) / spacing;
    let length = (points.ceil().max(64.0) as usize + 2).checked_next_power_of_two()?;
    if length > LONGEST_TRANSFORM {
        return None;
    }
    let mut slack = Slack { mass: 0.0, loss: 0.0 };
    let (mut upper, mut lower): (Vec<Factor>, Vec<Factor>) = (Vec::new(), Vec::new());
    for (cells, count) in tables {
        let turned;
        let cells = if reversed {
            turned = cells.reversed();
            &turned
        } else {
            cells
        };
        let one = cells.slack();
        slack.mass += count * one.mass;
        slack.loss += count * one.loss;
        upper.push((cells.dominating(), *count));
        lower.push((cells.dominated(), *count));
    }
    let compose = |factors: &[Factor]| Composed::new(factors, spacing, plan.tilt, length, plan.window);
    let (upper, lower) = (compose(&upper), compose(&lower));
    Some(match query {
        Query::Epsilon { delta } => {
            let upper = upper.and_then(|composed| {
                let target = delta * (-slack.mass - composed.relative_error()).exp();
                Some(outwards(
                    composed.epsilon(target, End::Upper, plan.reference)?
                        + slack.loss
                        + composed.loss_error(),
                    End::Upper,
                ))
            });
            let lower = lower.and_then(|composed| {
                let target = delta * (slack.mass + composed.relative_error()).exp();
                Some(outwards(
                    composed.epsilon(target, End::Lower, plan.reference)?
                        - slack.loss
                        - composed.loss_error(),
                    End::Lower,
                ))
            });
            Interval { lower: lower.unwrap_or(0.0).max(0.0), upper: upper.unwrap_or(f64::MAX).max(0.0) }
        }
        Query::Delta { epsilon } => {
            let upper = upper.and_then(|composed| {
                let factor = (slack.mass + composed.relative_error()).exp();
                Some(outwards(
                    composed.delta(epsilon - slack.loss - composed.loss_error(), End::Upper)? * factor,
                    End::Upper,
                ))
            });
            let lower = lower.and_then(|composed| {
                let factor = (-slack.mass - composed.relative_error()).exp();
                Some(outwards(
                    composed.delta(epsilon + slack.loss + composed.loss_error(), End::Lower)? * factor,
                    End::Lower,
                ))
            });
            // Nothing is claimed of values near the end of the range of f64.
            let lower = lower.unwrap_or(0.0);
            let lower = if lower < 1e-280 { 0.0 } else { lower };
            Interval { lower, upper: (upper.unwrap_or(1.0) + 1e-280).min(1.0) }
        }
    })
}

/// The last few roundings: interpolation and the addition of slack.
fn outwards(value: f64, end: End) -> f64 {
    let margin = 16.0 * f64::EPSILON * value.abs();
    match end {
        End::Lower => value - margin,
        End::Upper => value + margin,
    }
}
