//! Which engine answers: Fourier inversion where it applies and proves enough, discretised loss distributions
//! for the rest.

use crate::accountant::DEEP;
use crate::closed_form::Interval;
use crate::fourier::{self, Direction, Law, Patience};
use crate::lattice::{self, Aim, Pair, Part, Query, Shelf};
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
/// Inversion is asked first, because it is fast. Only where its interval is wider than wanted are the closed
/// forms evaluated and loss distributions made.
///
/// What lies on the `shelf` is asked before that: an earlier question needed it, and so would this one.
pub(crate) fn answer(
    parts: &[Part],
    query: Query,
    known: impl FnOnce() -> Proven,
    aim: Aim,
    shelf: &mut Shelf,
) -> Proven {
    let goal = aim.relative(query);
    let narrow = |found: &Proven| {
        let Interval { lower, upper } = found.interval;
        // However wide an interval may be: an epsilon without an end and a delta without a beginning say
        // nothing.
        let (scale, says_something) = match query {
            Query::Epsilon { .. } => (upper.max(lattice::SMALLEST_SCALE), upper < f64::MAX),
            Query::Delta { .. } => (upper, lower > 0.0),
        };
        says_something && upper - lower <= goal * scale
    };
    if let Some(interval) = shelf.answer(parts, query, aim) {
        let found = Proven::new(interval, Engine::LossDistribution);
        // Where nothing more is composed, what lies there may say less than closed forms do.
        return if narrow(&found) { found } else { found.intersect(known()) };
    }
    let profile = profile(parts);
    // First one contour for all losses, then one for each order of magnitude of the largest (no patience),
    // then the first again.
    let attempts = [Some(Patience::Little), None, Some(Patience::Much)];
    let log_delta = match query {
        Query::Epsilon { delta } => delta.ln(),
        Query::Delta { .. } => 0.0,
    };
    let suits_jumps = profile.as_ref().is_some_and(|profile| profile.suits_jumps(log_delta));
    let attempts = if suits_jumps { &attempts[..] } else { &attempts[2..] };
    let mut inverted: Option<Proven> = None;
    for patience in attempts {
        let interval = profile.as_ref().and_then(|profile| match (query, *patience) {
            (Query::Epsilon { delta }, Some(patience)) => profile.epsilon(delta, goal, patience),
            (Query::Epsilon { delta }, None) => profile.epsilon_by_jumps(delta, goal),
            (Query::Delta { epsilon }, Some(patience)) => profile.delta(epsilon, goal, patience),
            (Query::Delta { epsilon }, None) => profile.delta_by_jumps(epsilon, goal),
        });
        if let Some(interval) = interval {
            let found = Proven::new(interval, Engine::FourierInversion);
            let found = inverted.map_or(found, |known| known.intersect(found));
            if narrow(&found) {
                return found;
            }
            inverted = Some(found);
        }
    }
    let known = known();
    let mut found = inverted.map_or(known, |inverted| known.intersect(inverted));
    // What the sums along a contour cannot resolve there, tables cannot either.
    let resolved = |found: &Proven| found.interval.lower > 0.5 * found.interval.upper;
    let is_deep = matches!(query, Query::Epsilon { delta } if delta < DEEP);
    let is_final = narrow(&found) || is_deep && inverted.is_some_and(|inverted| resolved(&inverted));
    if !is_final {
        // It refines by how far it has come itself, and so does not use what inversion found.
        let interval = lattice::solve(parts, query, known.interval, aim, shelf);
        found = found.intersect(Proven::new(interval, Engine::LossDistribution));
        if let Query::Epsilon { delta } = query
            && is_deep
            && let Some(upper) = profile.as_ref().and_then(|profile| profile.epsilon_by_chernoff(delta))
        {
            let interval = Interval { lower: 0.0, upper: upper.max(found.interval.lower) };
            found = found.intersect(Proven::new(interval, Engine::FourierInversion));
        }
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

#[cfg(test)]
mod tests {
    use crate::{Accountant, Event, Mechanism, Relation, Sampling};

    /// An interval of any width may be asked for. Inversion proves nothing here but "below infinity", and
    /// must not be the answer.
    #[test]
    fn the_widest_interval_that_is_asked_for_still_says_something() {
        for (noise_multiplier, rate, count, delta) in [
            (0.395_512_011_521_984_8, 0.530_750_978_656_666_2, 3, 5.580_651_277_389_341e-47),
            (0.253_934_450_087_813_35, 0.000_423_469_354_091_796_8, 380, 1.060_250_155_107_903_4e-29),
            (23.007_381_903_207_627, 0.083_863_653_019_572_08, 2, 9.206_915_253_483_447e-31),
        ] {
            let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })
                .expect("valid");
            let narrow = Accountant::new(Relation::AddRemove).compose(event, count);
            let wide = narrow.clone().relative_width(1.0).expect("in range");
            let (found, truth) =
                (wide.epsilon(delta).expect("an answer"), narrow.epsilon(delta).expect("one"));
            // The closed forms, which are asked then, know at least this much.
            assert!(found.upper < 100.0 * truth.upper, "{found:?} {truth:?}");
            assert!(found.lower <= truth.upper && truth.lower <= found.upper, "{found:?} {truth:?}");
            let (found, truth) = (wide.delta(truth.upper).expect("an answer"), delta);
            assert!(found.upper < 1e3 * truth, "{found:?} {truth:?}");
        }
    }
}
