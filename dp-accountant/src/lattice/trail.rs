//! Where a question about epsilon ended, for the next one of a search to begin there.
//!
//! The first lattices of a question find out how wide the losses are that matter and how fine a lattice has to be. A
//! search asks about one parameter after another, whose answers to that are nearly the same. Nothing here is part of a
//! proof: any tilt, window and spacing give true bounds.

use super::Direction;

/// The last lattice's spacing, and what was found of each direction.
#[derive(Debug, Clone)]
pub(super) struct Trail {
    pub(super) spacing: f64,
    pasts: Vec<Past>,
}

/// What was found of a direction.
#[derive(Debug, Clone)]
pub(super) struct Past {
    reversed: bool,
    ease: f64,
    /// The epsilon that was found, in units of what moments say.
    share: f64,
}

impl Trail {
    pub(super) fn of(spacing: f64, directions: &[Direction], delta: f64) -> Self {
        let past = |direction: &Direction| Past {
            reversed: direction.reversed,
            ease: direction.served.unwrap_or(1.0),
            share: direction.known.upper / direction.scout.tilt_for(delta).1,
        };
        Self { spacing, pasts: directions.iter().map(past).collect() }
    }

    /// Whether the directions of a question are those of the last one.
    pub(super) fn leads(&self, directions: &[Direction]) -> bool {
        self.pasts.iter().map(|past| past.reversed).eq(directions.iter().map(|direction| direction.reversed))
    }

    /// Tells the directions of a question what was found of them.
    pub(super) fn lead(&self, directions: &mut [Direction], delta: f64) {
        for (direction, past) in directions.iter_mut().zip(&self.pasts) {
            direction.ease = past.ease;
            let expected = past.share * direction.scout.tilt_for(delta).1;
            direction.expected = Some(expected).filter(|expected| expected.is_finite() && *expected > 0.0);
        }
    }
}
