//! Certified intervals from discretised loss distributions: choose a lattice, bound from both sides, refine.

mod atoms;
mod cells;
mod compose;
mod discretise;
mod lines;
mod pair;
mod scout;
mod shelf;
mod stock;
mod subsampled;
mod trail;

use std::sync::Arc;

use crate::closed_form::Interval;
use crate::special::truncation_point;
use cells::Cells;
use compose::{Composed, Composer, End};
use discretise::Slack;
use scout::{Scout, Window};
use stock::Stock;
use trail::Trail;

pub(crate) use atoms::Atoms;
pub(crate) use lines::{Copies, Laplace, Replaced};
pub(crate) use pair::{Pair, Tagged};
pub(crate) use shelf::Shelf;
pub(crate) use subsampled::Subsampled;

/// The longest transform and the most half-cells in the table of one step, which bounds memory to about 100
/// MB, with what is kept of tables, and a level of refinement to about a second.
const LONGEST_TRANSFORM: usize = 1 << 20;
const MOST_CELLS: usize = 1 << 20;
/// Below this epsilon the wanted width is relative to it.
pub(crate) const SMALLEST_SCALE: f64 = 1e-3;
/// Tables are kept for the other direction where there are at most this many.
const KEPT_TABLES: usize = 16;
/// Beyond this many parts transforms and tables are limited further, so that time and memory stay bounded.
const FEW_PARTS: usize = 16;
/// With more parts than this no lattice is tried.
pub(crate) const MOST_PARTS: usize = 2_000;
/// For deltas in the deep, where longer tables resolve little more, they are this many times shorter.
const DEEP_SHARE: usize = 8;
/// An attack is known closely enough when what is uncertain is this share of what it misses, and of itself.
const SHARE_OF_GAP: f64 = 1e-3;
const SHARE_OF_ANSWER: f64 = 1e-2;
/// What the share of the tilt is multiplied with where a smaller one promises more.
const EASE: f64 = 0.75;
/// An interval that is so narrow, relatively, is as wide as its lattice is coarse.
const NEARLY_NARROW: f64 = 0.1;
/// So many times the wanted width, where lattices end, is not worth one whose spacing is more than this share
/// of what has been composed.
const ALMOST: f64 = 2.0;
const HARDLY_FINER: f64 = 0.8;
/// Where the shelf tells too little, the first look is so much finer than what lies there: a coarser one
/// would show no more, and would be taken for a sign that there is no more to be shown.
const BEYOND_SHELF: f64 = 0.5;
/// What follows another question and comes out so many times larger than was to be expected begins anew.
const LED_ASTRAY: f64 = 1.5;
/// Refinement stops after this many lattices.
const LEVELS: usize = 6;

/// `count` uses of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part {
    pub(crate) pair: Pair,
    pub(crate) count: f64,
}

/// Which ends of an interval are of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Both,
    Upper,
}

/// How narrow an interval is wanted, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aim {
    /// For epsilon, relative to it; for delta, `DELTA_WIDTH_FACTOR` times as wide.
    pub(crate) relative_width: f64,
    /// A width that is enough for what the answer is for.
    pub(crate) enough: f64,
    /// What is promised whatever comes out here: to know an attack much more closely than by how far it misses
    /// that would not make the whole interval narrower.
    pub(crate) promised: f64,
    /// Values of delta below this are as good as 0 for what the answer is for.
    pub(crate) floor: f64,
    pub(crate) ends: Ends,
    /// Whether to begin where the last question on the shelf ended, which a search does while it is far from its
    /// answer, and attacks do after what is promised. Bounds are as true, and not those of the same question asked
    /// alone.
    pub(crate) follows: bool,
}

impl Aim {
    #[cfg(test)]
    pub(crate) fn both(relative_width: f64) -> Self {
        Self { relative_width, enough: 0.0, promised: 0.0, floor: 0.0, ends: Ends::Both, follows: false }
    }

    /// The relative width that is wanted: delta falls exponentially in epsilon, so that asking the same of it would be
    /// asking far more.
    pub(crate) fn relative(&self, query: Query) -> f64 {
        match query {
            Query::Epsilon { .. } => self.relative_width,
            Query::Delta { .. } => (self.relative_width * crate::accountant::DELTA_WIDTH_FACTOR).min(1.0),
        }
    }

    /// The width that is wanted of an answer of about this size.
    fn goal(&self, query: Query, answer: f64) -> f64 {
        let size = match query {
            Query::Epsilon { .. } => answer.max(SMALLEST_SCALE),
            Query::Delta { .. } => answer,
        };
        (self.relative(query) * size).max(self.least(answer))
    }

    /// The least width that is worth any work for an answer of about this size.
    fn least(&self, answer: f64) -> f64 {
        let missing = (self.promised - answer).max(0.0);
        self.enough.max(SHARE_OF_GAP * missing).min(SHARE_OF_ANSWER * answer.max(self.floor))
    }
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
    /// What is asked of the finite losses.
    query: Query,
    /// The mass at infinite loss.
    certain: f64,
    known: Interval,
    truncation: f64,
    scout: Scout,
    /// What share of the tilt at the saddle point is used.
    ease: f64,
    /// Whether a smaller share has been tried for a narrower window, and was of no use.
    eased_in_vain: bool,
    /// The share under which the upper end was last brought down.
    served: Option<f64>,
    /// An epsilon to look about before anything is known.
    expected: Option<f64>,
}

/// Where and how finely to compose one direction.
#[derive(Debug, Clone, Copy)]
struct Discretisation {
    tilt: f64,
    /// The epsilon about which the answer is expected.
    reference: f64,
    window: Window,
}

/// The mass at infinite loss of a composition, to sixteen units of roundoff for each part.
pub(crate) fn certain(parts: &[Part], reversed: bool) -> f64 {
    let log: f64 = parts.iter().map(|part| part.count * (-part.pair.certain(reversed)).ln_1p()).sum();
    -log.exp_m1()
}

/// The answer to a query, in an interval that is `known` beforehand and comes out no wider.
///
/// The two directions are refined until their maximum is as narrow as `aim` says, or until transforms reach
/// their size limit. A direction that cannot be the larger one is not refined further. Where only the upper end
/// is wanted, they are refined until that promises to move no further than so.
///
/// What is composed is left on the `shelf`, and what lies there answers questions about delta first.
pub(crate) fn solve(steps: &[Part], query: Query, known: Interval, aim: Aim, shelf: &mut Shelf) -> Interval {
    if steps.len() > MOST_PARTS {
        return known;
    }
    if let Some(found) = shelf.repeated(steps, query, known, aim) {
        return found;
    }
    let found = refine(steps, query, known, aim, shelf);
    shelf.note(steps, query, known, aim, found);
    found
}

fn refine(steps: &[Part], query: Query, known: Interval, aim: Aim, shelf: &mut Shelf) -> Interval {
    let deep = matches!(query, Query::Epsilon { delta } if delta < crate::accountant::DEEP);
    let most = largest_size(steps.len()) / if deep { DEEP_SHARE } else { 1 };
    if let Some(found) = shelf.answer(steps, query, aim) {
        return known.intersect(found);
    }
    let mut directions: Vec<Direction> = ways(steps)
        .iter()
        .map(|&reversed| Direction::new(steps, query, known.upper, reversed, aim.floor))
        .collect();
    if let Query::Delta { epsilon } = query {
        for direction in &mut directions {
            direction.known = direction.known.intersect(shelf.delta(direction.reversed, epsilon));
        }
    }
    let natural = natural_spacing(steps);
    let mut answer = known;
    let larger =
        |directions: &[Direction]| directions.iter().map(|direction| direction.known).reduce(Interval::max);
    // No loss exceeds the sum of the largest, which may be much less than what was known.
    answer = answer.intersect(larger(&directions).unwrap_or(known));
    let mut spacing: Option<f64> = None;
    // The last lattice's spacing.
    let mut last: Option<f64> = None;
    // All lattices' leaders and spacings, and the leaders' tilts.
    let mut seen: Vec<(usize, f64, f64)> = Vec::new();
    let relative_width = aim.relative(query);
    let goal_for = |answer: Interval| aim.goal(query, answer.upper);
    let wanted = aim.ends;
    // Where the shelf tells how wide a lattice of which spacing comes out, that is the first look.
    let shelved = match query {
        Query::Delta { epsilon } => shelf.finest(epsilon),
        Query::Epsilon { .. } => None,
    };
    if let Some(finest) = shelved
        && answer.upper - answer.lower < NEARLY_NARROW * answer.upper
    {
        spacing = Some(finer(finest, goal_for(answer), answer.upper - answer.lower, 1.0 / 64.0));
    }
    let mut follows = false;
    if let (Query::Epsilon { delta }, Some(trail)) = (query, &shelf.trail)
        && aim.follows
        && trail.leads(&directions)
    {
        (spacing, follows) = (Some(trail.spacing), true);
        trail.lead(&mut directions, delta);
    }
    for _ in 0..LEVELS {
        let goal = goal_for(answer);
        // A direction matters while it could be the larger one by a visible amount. What is known before the first
        // look of a question that follows another says nothing of that.
        let all = std::mem::take(&mut follows);
        let active: Vec<usize> = (0..directions.len())
            .filter(|&d| all || directions[d].known.upper - answer.lower > 0.5 * goal)
            .collect();
        let Some(&leader) = active.first() else { break };
        let visible = answer.lower.max(aim.floor);
        let Some(plan) = directions[leader].plan(visible) else {
            break;
        };
        // A first lattice four times coarser than foreseen tells which direction matters and how wide it
        // comes out.
        let first_look = spacing.is_none();
        let foreseen = spacing.unwrap_or_else(|| {
            let coarse = 4.0 * plan.spacing(steps, query, relative_width);
            shelved.map_or(coarse, |finest| coarse.min(BEYOND_SHELF * finest))
        });
        let tried: Vec<bool> =
            active.iter().map(|&d| directions[d].ease_towards(foreseen, visible, most)).collect();
        let plan = directions[leader].plan(visible).unwrap_or(plan);
        let truncation = active.iter().map(|&d| directions[d].truncation).fold(6.0, f64::max);
        let mut floor = plan.finest(most).max(finest_table(steps, truncation, most));
        if !first_look {
            let plans = active.iter().filter_map(|&d| directions[d].plan(visible));
            floor = plans.map(|plan| plan.finest(most)).fold(floor, f64::max);
        }
        let used = match natural {
            // No outcome lies between points of this spacing, and so a finer one would show no more.
            Some((gap, true)) if gap >= floor => gap,
            Some((gap, false)) if gap >= floor => {
                gap / (gap / foreseen.max(floor)).ceil().min((gap / floor).floor()).max(1.0)
            }
            _ => few_bits(foreseen.max(floor)),
        };
        // Where the shelf shows nearly what is wanted, a lattice hardly finer than what lies there adds
        // nothing, and neither may any where enough work has been done already.
        if let Query::Delta { epsilon } = query {
            let width = answer.upper - answer.lower;
            let is_close = width <= ALMOST * goal
                && shelf.finest(epsilon).is_some_and(|finest| used > HARDLY_FINER * finest);
            let is_known = last.is_some() || width < NEARLY_NARROW * answer.upper;
            if is_close || is_known && shelf.is_spent() {
                break;
            }
        }
        // Another lattice as fine as an earlier one, under the same tilt, would show the same.
        let tilt = plan.tilt;
        let is_repetition = seen.iter().any(|&(seen_leader, spacing, before)| {
            seen_leader == leader && used > 0.98 * spacing && (tilt - before).abs() < 0.01 * before.abs()
        });
        if is_repetition && natural.is_none() {
            break;
        }
        seen.push((leader, used, tilt));
        let mut tables =
            Tables { steps, spacing: used, truncation, forwards: Vec::new(), stock: &mut shelf.stock };
        let mut looks = Vec::new();
        let mut reverted = false;
        for (&d, tried) in active.iter().zip(tried) {
            // What the first direction proves from below is what the second need not look beneath.
            let threshold = visible.max(directions[leader].known.lower);
            let direction = &mut directions[d];
            let Some(plan) = direction.plan(threshold) else {
                continue;
            };
            if let Some(look) = Look::new(&mut tables, direction.reversed, used, plan, direction.certain) {
                let interval = look.answer(direction.query);
                looks.push(look);
                let before = direction.known;
                direction.known = before.intersect(direction.with_certain(interval));
                if direction.known.upper < before.upper {
                    direction.served = Some(direction.ease);
                }
                let is_better = match wanted {
                    Ends::Upper => direction.known.upper < before.upper,
                    Ends::Both => direction.known != before,
                };
                if tried && !is_better {
                    direction.ease /= EASE;
                    direction.eased_in_vain = true;
                    reverted = true;
                }
            }
        }
        looks.into_iter().for_each(|look| shelf.keep(look));
        let before = answer;
        answer = answer.intersect(larger(&directions).unwrap_or(known));
        let mut width = answer.upper - answer.lower;
        let mut previous = before.upper - before.lower;
        if wanted == Ends::Upper {
            // What is left of the error, after and before this look. It is of second order in the limit and
            // of first on coarse lattices; between the two is a guess that only decides when to stop.
            let ratio = last.map_or(0.0, |spacing| (used / spacing).powf(1.5));
            let moved = before.upper - answer.upper;
            // An upper end that came from the shelf, or from nothing, and did not move at all says nothing of
            // what is left.
            let is_news = moved > 0.0 || matches!(query, Query::Epsilon { .. });
            if ratio > 0.0 && ratio < 1.0 && is_news {
                (width, previous) = (moved * ratio / (1.0 - ratio), moved / (1.0 - ratio));
            }
        }
        if all && directions[leader].expected.is_some_and(|expected| answer.upper > LED_ASTRAY * expected) {
            // Alone, then.
            directions.iter_mut().for_each(|direction| (direction.ease, direction.expected) = (1.0, None));
            spacing = None;
            continue;
        }
        last = Some(used);
        let goal = goal_for(answer);
        // Where single steps can lose very much, the saddle point may be a tilt that lives on such steps and
        // not on the losses in question. The sign is an interval that is all but empty of information; a
        // smaller tilt then helps.
        let mut eased = reverted;
        for &d in &active {
            let direction = &mut directions[d];
            // A bound that no attack attains may have no lower end that says anything. What counts is the upper one,
            // which a smaller tilt has just not brought down.
            if wanted == Ends::Upper
                && let Some(served) = direction.served.filter(|served| *served > direction.ease)
            {
                direction.ease = served;
                continue;
            }
            if direction.known.lower < 0.5 * direction.known.upper
                && direction.known.upper > answer.lower + goal
            {
                direction.ease *= EASE;
                eased = true;
            }
        }
        // The errors of rounding do not shrink with the spacing: stop when a finer lattice no longer helps.
        let stuck = (!eased || deep) && (!first_look || foreseen <= floor) && width > 0.9 * previous;
        if !reverted && (width <= goal || stuck) {
            break;
        }
        if natural.is_some_and(|(_, all)| all) && used <= floor.max(natural.map_or(0.0, |(gap, _)| gap)) {
            // The same lattice again, under a better tilt.
            spacing = Some(used);
            continue;
        }
        // A cheap second look where it may be the last one.
        let finest = if first_look && (wanted == Ends::Upper || deep) { 0.25 } else { 1.0 / 64.0 };
        spacing = Some(finer(used, goal, width, finest));
    }
    if let Query::Epsilon { delta } = query {
        shelf.trail = last.map(|spacing| Trail::of(spacing, &directions, delta));
    }
    answer
}

impl Direction {
    fn new(steps: &[Part], query: Query, upper: f64, reversed: bool, floor: f64) -> Self {
        let total: f64 = steps.iter().map(|step| step.count).sum();
        let certain = certain(steps, reversed);
        // Rounding of the difference is a relative error of delta, and is added where the result is taken.
        let query = match query {
            Query::Epsilon { delta } => Query::Epsilon { delta: (delta - certain).max(1e-300) },
            query => query,
        };
        let delta = match query {
            Query::Epsilon { delta } => delta,
            Query::Delta { epsilon } => {
                // First a sketch, for the order of magnitude of delta.
                let sketch = Scout::new(steps, truncation_point(1e-40 / total), reversed);
                (sketch.tilt_at(epsilon).1 - 12.0).exp().max(0.01 * floor)
            }
        };
        // Truncated mass counts fully into delta: a ten billionth of it is small against any goal.
        // Where single steps can lose very much, the window is as wide as tables reach.
        let truncation = few_truncations(truncation_point(1e-10 * delta / total));
        // No loss exceeds the sum of the largest.
        let largest_loss = largest_loss(steps, reversed);
        let upper = match query {
            Query::Epsilon { .. } => upper.min(largest_loss.max(0.0)),
            Query::Delta { epsilon } if epsilon >= largest_loss => certain * (1.0 + 1e-12),
            Query::Delta { .. } => upper,
        };
        Self {
            reversed,
            query,
            certain,
            known: Interval { lower: 0.0, upper },
            truncation,
            scout: Scout::new(steps, truncation, reversed),
            ease: 1.0,
            eased_in_vain: false,
            served: None,
            expected: None,
        }
    }

    /// Uses a smaller share of the tilt where the window would otherwise be too wide for a spacing, and becomes
    /// narrower.
    ///
    /// The saddle point of rare large losses is a tilt under which several of them are likely, and the window has to
    /// hold their sum. With a little less tilt it is several times narrower. Whether it was taken.
    fn ease_towards(&mut self, spacing: f64, threshold: f64, most: usize) -> bool {
        let ease = self.ease;
        let too_wide = |plan: &Discretisation| plan.finest(most) > spacing && !self.eased_in_vain;
        let Some(plan) = self.plan(threshold).filter(too_wide) else { return false };
        self.ease *= EASE;
        let eased = self.plan(threshold);
        let is_narrower = eased.is_some_and(|eased| eased.finest(most) <= 0.9 * plan.finest(most));
        if !is_narrower {
            self.ease = ease;
        }
        is_narrower
    }

    /// What an interval for finite losses says of all.
    fn with_certain(&self, finite: Interval) -> Interval {
        match self.query {
            Query::Epsilon { .. } => finite,
            Query::Delta { .. } => with_certain(finite, self.certain),
        }
    }

    /// Where to compose next, when values of delta below `threshold` are of no interest.
    fn plan(&self, threshold: f64) -> Option<Discretisation> {
        let (known, query) = (self.known, self.query);
        let (tilt, reference) = match query {
            Query::Delta { epsilon } => (self.scout.tilt_below(epsilon, threshold.ln() - 12.0), epsilon),
            Query::Epsilon { delta } => {
                if known.upper - known.lower < 0.2 * known.upper {
                    let middle = 0.5 * (known.lower + known.upper);
                    (self.scout.tilt_at(middle).0, middle)
                } else if let Some(expected) = self.expected {
                    let expected = expected.clamp(known.lower, known.upper);
                    (self.scout.tilt_at(expected).0, expected)
                } else {
                    let (tilt, epsilon) = self.scout.tilt_for(delta);
                    (tilt, epsilon.clamp(known.lower, known.upper))
                }
            }
        };
        let tilt = self.ease * tilt;
        // Wrapped mass m is charged at m · e^(K(c) - c ε) (c/(c+1))^c / (c+1); it is to be a small part of
        // delta.
        let log_delta = match query {
            Query::Epsilon { delta } => delta.ln(),
            Query::Delta { .. } if known.lower > 1e-3 * known.upper => known.lower.ln(),
            Query::Delta { epsilon } => self.scout.log_mgf(tilt) - tilt * epsilon - 14.0,
        };
        let charge = self.scout.log_mgf(tilt) - tilt * reference - tilt.ln_1p();
        let window_mass = (15.0 + charge - log_delta).clamp(10.0, 100.0);
        let mut window = self.scout.window(tilt, window_mass);
        // The window has to reach below the epsilon in question: beneath it no mass counts.
        let margin = 0.02 * (window.high - window.low);
        window.low = window.low.min(reference - margin).min(match query {
            Query::Epsilon { .. } => known.lower - margin,
            Query::Delta { .. } => reference - margin,
        });
        window.high = window.high.max(reference + margin);
        (tilt.is_finite() && (window.high - window.low).is_finite()).then_some(Discretisation {
            tilt,
            reference,
            window,
        })
    }
}

impl Discretisation {
    /// The spacing at which the discretisation should cost what is allowed: spreading the loss within cells
    /// adds up to T h²/6 to its variance, and so (c + 1)/2 times that to epsilon.
    fn spacing(&self, steps: &[Part], query: Query, relative_width: f64) -> f64 {
        let total: f64 = steps.iter().map(|step| step.count).sum();
        let goal = match query {
            Query::Epsilon { .. } => relative_width * self.reference.max(SMALLEST_SCALE),
            Query::Delta { .. } => relative_width / (self.tilt + 1.0),
        };
        (8.0 * goal / ((self.tilt + 1.0) * total)).sqrt()
    }

    /// The finest spacing that the longest transform allows.
    fn finest(&self, most: usize) -> f64 {
        (self.window.high - self.window.low) / (0.99 * most as f64)
    }
}

/// An interval for delta from one for that of the finite losses and the mass at infinite loss.
fn with_certain(finite: Interval, certain: f64) -> Interval {
    Interval {
        lower: finite.lower + certain * (1.0 - 1e-12),
        upper: (finite.upper + certain * (1.0 + 1e-12)).min(1.0),
    }
}

/// No finite loss of a composition is larger.
fn largest_loss(steps: &[Part], reversed: bool) -> f64 {
    steps.iter().map(|step| step.count * step.pair.largest_loss(reversed)).sum::<f64>() * (1.0 + 1e-12)
}

/// The finest spacing for which the tables of all steps stay within their limit.
fn finest_table(steps: &[Part], truncation: f64, most: usize) -> f64 {
    let range = |step: &Part| {
        let (low, high) = step.pair.loss_range(truncation);
        high - low
    };
    steps.iter().map(range).fold(0.0, f64::max) * 2.0 / (0.99 * most as f64)
}

/// A spacing that suits the most frequent discrete pair, and whether it suits all pairs.
fn natural_spacing(steps: &[Part]) -> Option<(f64, bool)> {
    let of = |step: &Part| step.pair.natural_spacing().map(|gap| (gap, step.count));
    let (gap, _) = steps.iter().filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((gap, steps.iter().all(|step| of(step).is_some_and(|(other, _)| other == gap))))
}

/// The longest transform and table for a number of parts.
fn largest_size(parts: usize) -> usize {
    (LONGEST_TRANSFORM * FEW_PARTS / parts.max(FEW_PARTS)).next_power_of_two().min(LONGEST_TRANSFORM)
}

/// Rounds a spacing up to eight significant bits, so that every lattice point is an exact number.
fn few_bits(spacing: f64) -> f64 {
    let unit = 2f64.powi(spacing.log2().floor() as i32 - 7);
    (spacing / unit).ceil() * unit
}

/// Rounds a truncation up so that numbers of steps that differ by some per cent have it in common. A table that reaches
/// farther is as true, and coarser where its length is limited.
fn few_truncations(truncation: f64) -> f64 {
    (32.0 * truncation).ceil() / 32.0
}

/// The tables of all steps at one spacing.
struct Tables<'a> {
    steps: &'a [Part],
    spacing: f64,
    truncation: f64,
    /// The tables that both directions use, kept where there are few.
    forwards: Vec<Option<Arc<Cells>>>,
    stock: &'a mut Stock,
}

impl Tables<'_> {
    fn get(&mut self, index: usize, reversed: bool) -> Option<Arc<Cells>> {
        let Self { steps, spacing, truncation, ref mut stock, .. } = *self;
        let pair = &steps[index].pair;
        if steps.len() > KEPT_TABLES {
            return pair.cells(spacing, truncation, MOST_CELLS, reversed).map(Arc::new);
        }
        if !pair.shares_table() {
            return stock.cells(pair, spacing, truncation, MOST_CELLS, reversed);
        }
        if self.forwards.len() <= index {
            self.forwards.resize(index + 1, None);
        }
        if self.forwards[index].is_none() {
            self.forwards[index] = stock.cells(pair, spacing, truncation, MOST_CELLS, false);
        }
        let cells = self.forwards[index].as_ref()?;
        Some(if reversed { Arc::new(cells.reversed()) } else { Arc::clone(cells) })
    }
}

/// The spacing that should come out within `goal` where another one came out with a `width`: errors are of
/// second order.
fn finer(spacing: f64, goal: f64, width: f64, finest: f64) -> f64 {
    spacing * (0.6 * goal / width).sqrt().clamp(finest, 0.7)
}

/// Which directions have to be looked at.
fn ways(steps: &[Part]) -> &'static [bool] {
    if steps.iter().all(|step| step.pair.is_symmetric()) { &[false] } else { &[false, true] }
}

/// One direction, composed on one lattice.
pub(crate) struct Look {
    reversed: bool,
    spacing: f64,
    plan: Discretisation,
    upper: Option<Composed>,
    lower: Option<Composed>,
    slack: Slack,
    certain: f64,
    /// What it took, in half-cells of a table of one law.
    work: f64,
}

impl Look {
    /// What one lattice proves for one direction. `None` where the window is too long for a transform.
    fn new(
        tables: &mut Tables<'_>,
        reversed: bool,
        spacing: f64,
        plan: Discretisation,
        certain: f64,
    ) -> Option<Self> {
        let points = (plan.window.high - plan.window.low) / spacing;
        let length = (points.ceil().max(64.0) as usize + 2).checked_next_power_of_two()?;
        if length > LONGEST_TRANSFORM {
            return None;
        }
        let mut slack = Slack { mass: 0.0, loss: 0.0 };
        let mut work = 0.4 * length as f64;
        let mut composer = Composer::new(tables.steps.len(), spacing, plan.tilt, length, plan.window);
        for index in 0..tables.steps.len() {
            let cells = tables.get(index, reversed)?;
            let count = tables.steps[index].count;
            let one = cells.slack();
            work += cells.p.len() as f64 * tables.steps[index].pair.laws();
            slack.mass += count * one.mass;
            slack.loss += count * one.loss;
            composer.add(&cells.dominating(), &cells.dominated(), count);
        }
        let [upper, lower] = composer.finish();
        Some(Self { reversed, spacing, plan, upper, lower, slack, certain, work })
    }

    /// The interval for the finite losses.
    fn answer(&self, query: Query) -> Interval {
        let Self { plan, slack, certain, .. } = self;
        let (upper, lower) = (self.upper.as_ref(), self.lower.as_ref());
        match query {
            Query::Epsilon { delta } => {
                // What is left of delta after the mass at infinite loss, which is right to a few units.
                let certain_error = 1e-13 * certain / delta;
                let upper = upper.and_then(|composed| {
                    let target =
                        delta * (1.0 - certain_error) * (-slack.mass - composed.relative_error()).exp();
                    Some(outwards(
                        composed.epsilon(target, End::Upper, plan.reference)?
                            + slack.loss
                            + composed.loss_error(),
                        End::Upper,
                    ))
                });
                let lower = lower.and_then(|composed| {
                    let target =
                        delta * (1.0 + certain_error) * (slack.mass + composed.relative_error()).exp();
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
                let [upper, lower] = [End::Upper, End::Lower].map(|end| {
                    let (composed, margin) = self.end(end)?;
                    Some(margin.delta(composed.delta(margin.epsilon(epsilon), end)?))
                });
                in_range(lower, upper)
            }
        }
    }

    /// What was composed for an end, if it was, and what its errors are for delta.
    fn end(&self, end: End) -> Option<(&Composed, Margin)> {
        let composed = match end {
            End::Upper => self.upper.as_ref()?,
            End::Lower => self.lower.as_ref()?,
        };
        let exponent = self.slack.mass + composed.relative_error();
        let margin = Margin { end, losses: [self.slack.loss, composed.loss_error()], exponent };
        Some((composed, margin))
    }
}

/// What the errors of a composition do to an end of delta.
struct Margin {
    end: End,
    /// How far losses may be off, by discretisation and by rounding.
    losses: [f64; 2],
    /// How far the logarithm of delta may be.
    exponent: f64,
}

impl Margin {
    /// The epsilon to ask about in the place of this one.
    fn epsilon(&self, epsilon: f64) -> f64 {
        let [discretised, rounded] = self.losses;
        match self.end {
            End::Upper => epsilon - discretised - rounded,
            End::Lower => epsilon + discretised + rounded,
        }
    }

    /// The end, from the delta that was found there.
    fn delta(&self, delta: f64) -> f64 {
        let exponent = match self.end {
            End::Upper => self.exponent,
            End::Lower => -self.exponent,
        };
        outwards(delta * exponent.exp(), self.end)
    }
}

/// An interval for delta. Nothing is claimed of values near the end of the range of f64.
fn in_range(lower: Option<f64>, upper: Option<f64>) -> Interval {
    let lower = lower.filter(|&lower| lower >= 1e-280).unwrap_or(0.0);
    Interval { lower, upper: (upper.unwrap_or(1.0) + 1e-280).min(1.0) }
}

/// The last few roundings: interpolation and the addition of slack.
fn outwards(value: f64, end: End) -> f64 {
    let margin = 16.0 * f64::EPSILON * value.abs();
    match end {
        End::Lower => value - margin,
        End::Upper => value + margin,
    }
}
