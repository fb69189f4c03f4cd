//! Which engine answers: Fourier inversion where it applies and proves enough, discretised loss distributions for the rest.

use crate::accountant::DELTA_WIDTH_FACTOR;
use crate::closed_form::Interval;
use crate::fourier::{self, Direction, Law};
use crate::lattice::{self, Ends, Pair, Part, Query};
use crate::{Certified, Engine, Result};

/// An interval and who proved its ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proven {
    pub(crate) interval: Interval,
    pub(crate) lower: Engine,
    pub(crate) upper: Engine,
}

impl Proven {
    pub(crate) fn new(interval: Interval, engine: Engine) -> Self {
        Self { interval, lower: engine, upper: engine }
    }

    /// What is known when both hold; an end is credited to the other engine where that one's is better.
    fn intersect(self, other: Self) -> Self {
        Self {
            interval: self.interval.intersect(other.interval),
            lower: if other.interval.lower > self.interval.lower { other.lower } else { self.lower },
            upper: if other.interval.upper < self.interval.upper { other.upper } else { self.upper },
        }
    }

    /// As the answer that is handed out.
    pub(crate) fn certify(self) -> Result<Certified> {
        let Interval { lower, upper } = self.interval;
        let estimate = lower + 0.5 * (upper - lower);
        Ok(Certified::new(lower, estimate.min(upper), upper, self.upper)?.proven_by(self.lower, self.upper))
    }
}

/// The answer to a query about pairs, given what closed forms know of it.
///
/// Inversion is asked first, because it is fast. Only where its interval is wider than wanted are the closed forms evaluated and
/// loss distributions made.
pub(crate) fn answer(
    parts: &[Part],
    query: Query,
    known: impl FnOnce() -> Proven,
    relative_width: f64,
    wanted: Ends,
) -> Proven {
    let goal = match query {
        Query::Epsilon { .. } => relative_width,
        Query::Delta { .. } => (DELTA_WIDTH_FACTOR * relative_width).min(1.0),
    };
    let inverted = profile(parts).and_then(|profile| match query {
        Query::Epsilon { delta } => profile.epsilon(delta, goal),
        Query::Delta { epsilon } => profile.delta(epsilon, goal),
    });
    let inverted = inverted.map(|interval| Proven::new(interval, Engine::FourierInversion));
    let narrow = |found: &Proven| {
        let scale = match query {
            Query::Epsilon { .. } => found.interval.upper.max(lattice::SMALLEST_SCALE),
            Query::Delta { .. } => found.interval.upper,
        };
        found.interval.upper - found.interval.lower <= goal * scale
    };
    if let Some(found) = inverted.filter(narrow) {
        return found;
    }
    let known = known();
    let mut found = inverted.map_or(known, |inverted| known.intersect(inverted));
    if !narrow(&found) {
        // It refines by how far it has come itself, and so is not told of what inversion found.
        let interval = lattice::solve(parts, query, known.interval, relative_width, wanted);
        found = found.intersect(Proven::new(interval, Engine::LossDistribution));
    }
    found
}

/// The pairs as Fourier inversion takes them, if all of them are normal laws that it knows.
pub(crate) fn profile(parts: &[Part]) -> Option<fourier::Composition> {
    let mut squared_mu = 0.0;
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let mut symmetric = true;
    for Part { pair, count } in parts {
        match pair {
            Pair::Subsampled(line) if line.rate == 1.0 => squared_mu += count / (line.sigma * line.sigma),
            Pair::Subsampled(line) => {
                let law = |direction| Law { direction, sigma: line.sigma, rate: line.rate };
                there.push((law(Direction::Remove), *count));
                back.push((law(Direction::Add), *count));
                symmetric = false;
            }
            Pair::Replaced(line) => {
                let law = Law { direction: Direction::Replace, sigma: line.sigma, rate: line.rate };
                there.push((law, *count));
                back.push((law, *count));
            }
            _ => return None,
        }
    }
    // Without sampling there are closed forms.
    let directions = if symmetric { vec![there] } else { vec![there, back] };
    let sampled = directions.iter().all(|laws| !laws.is_empty());
    sampled.then_some(fourier::Composition { directions, squared_mu })
}
