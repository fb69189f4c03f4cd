//! What has been composed for a question, kept for the next ones about the same composition.
//!
//! A lattice is composed under a tilt that suits one epsilon, but it bounds delta at every epsilon in its
//! window: nothing in the proofs of [`super::compose`] and [`super::discretise`] depends on which epsilon is
//! asked about. A curve of hundreds of values of delta would compose nearly the same lattice for each of
//! them. Here each question is first answered by what lies on the shelf, the narrowest ends of all lattices
//! taken, and only where that is wider than wanted is another lattice composed.

use super::compose::{End, Sums};
use super::stock::Stock;
use super::trail::Trail;
use super::{Aim, Look, Margin, Part, Query, certain, in_range, largest_loss, ways, with_certain};
use crate::closed_form::Interval;

/// The most lattice points that are kept, which bounds memory to 32 MB.
const MOST_POINTS: usize = 1 << 21;

/// How much is composed for one curve before what there is has to do, in half-cells: two to four seconds.
const MOST_WORK: f64 = 7e6;

/// Lattices of one list of parts. It must not be asked about another list, unless it keeps no lattices: what is left on
/// it then, tables and where the last question ended, serves other lists as well.
#[derive(Default)]
pub(crate) struct Shelf {
    /// The largest epsilon that will be asked about; nothing is kept where there is none.
    highest: Option<f64>,
    looks: Vec<Kept>,
    /// What has been composed, in the units of [`Look`], and how much may be.
    work: f64,
    most_work: f64,
    /// Whether nothing more is composed.
    is_closed: bool,
    /// For each direction the largest finite loss and the mass at infinite loss.
    limits: Vec<(bool, f64, f64)>,
    pub(super) stock: Stock,
    pub(super) trail: Option<Trail>,
    last: Option<Answered>,
}

/// The last question and its answer.
struct Answered {
    steps: Vec<Part>,
    query: Query,
    known: Interval,
    aim: Aim,
    found: Interval,
    trail: Option<Trail>,
}

/// What is kept of a composed direction.
struct Kept {
    reversed: bool,
    spacing: f64,
    certain: f64,
    ends: [Option<Side>; 2],
}

/// One end, with its errors.
struct Side {
    sums: Sums,
    margin: Margin,
}

impl Shelf {
    /// A shelf for questions about delta at epsilons from 0 to `highest`, of which a share of the work that
    /// one curve may take is for it. Work is counted, not timed: the same question has the same answer on
    /// every machine.
    pub(crate) fn up_to(highest: f64, share: f64) -> Self {
        Self { highest: Some(highest), most_work: share * MOST_WORK, ..Self::default() }
    }

    /// Whether what was to be composed has been. Questions about which nothing is known yet are looked at
    /// once more.
    pub(crate) fn is_spent(&self) -> bool {
        self.highest.is_some() && self.work > self.most_work
    }

    /// From now on what lies here is all the answer.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Keeps less from now on: epsilons above `highest` will not be asked about.
    pub(crate) fn lower_to(&mut self, highest: f64) {
        if self.highest.is_some() {
            self.highest = Some(highest);
        }
    }

    /// The answer to a question about delta, if what lies here makes it as narrow as `aim` says, or has to
    /// do.
    pub(crate) fn answer(&mut self, steps: &[Part], query: Query, aim: Aim) -> Option<Interval> {
        let Query::Delta { epsilon } = query else { return None };
        if self.looks.is_empty() && !self.is_closed {
            return None;
        }
        if self.limits.is_empty() {
            let limit =
                |&reversed: &bool| (reversed, largest_loss(steps, reversed), certain(steps, reversed));
            self.limits = ways(steps).iter().map(limit).collect();
        }
        let found = self.limits.iter().map(|&(reversed, largest_loss, certain)| {
            let found = self.delta(reversed, epsilon);
            let beyond = certain * (1.0 + 1e-12);
            let upper = if epsilon >= largest_loss { beyond.min(found.upper) } else { found.upper };
            Interval { lower: found.lower, upper: upper.max(found.lower) }
        });
        let found = found.reduce(Interval::max)?;
        (self.is_closed || found.upper - found.lower <= aim.goal(query, found.upper)).then_some(found)
    }

    /// The answer to the last question, if this is it: a search asks for what is promised, and then for the whole
    /// answer, of which that is a part.
    pub(super) fn repeated(
        &mut self,
        steps: &[Part],
        query: Query,
        known: Interval,
        aim: Aim,
    ) -> Option<Interval> {
        let last = self.last.as_ref()?;
        let is_same =
            (last.query, last.known, last.aim) == (query, known, aim) && last.steps.as_slice() == steps;
        is_same.then(|| {
            self.trail.clone_from(&last.trail);
            last.found
        })
    }

    /// The next question follows none, even where a formula answers it.
    pub(crate) fn begin_anew(&mut self) {
        self.trail = None;
    }

    /// The next question that follows another one follows that of another shelf.
    pub(crate) fn follow(&mut self, other: &Self) {
        self.trail = other.trail.clone();
    }

    /// Remembers the last question.
    pub(super) fn note(&mut self, steps: &[Part], query: Query, known: Interval, aim: Aim, found: Interval) {
        let trail = self.trail.clone();
        self.last = Some(Answered { steps: steps.to_vec(), query, known, aim, found, trail });
    }

    /// What lies here about delta in one direction.
    pub(super) fn delta(&self, reversed: bool, epsilon: f64) -> Interval {
        let looks = self.looks.iter().filter(|look| look.reversed == reversed);
        looks.fold(Interval { lower: 0.0, upper: 1.0 }, |known, look| known.intersect(look.delta(epsilon)))
    }

    /// The finest spacing of a lattice that has both ends of delta at an epsilon.
    pub(super) fn finest(&self, epsilon: f64) -> Option<f64> {
        let reaches =
            |look: &&Kept| look.ends.iter().flatten().filter(|side| side.delta(epsilon).is_some()).count();
        let looks = self.looks.iter().filter(|look| reaches(look) == 2);
        looks.map(|look| look.spacing).reduce(f64::min)
    }

    /// Keeps a composed direction, and drops the oldest ones where there is no more room.
    pub(super) fn keep(&mut self, look: Look) {
        let Some(highest) = self.highest else { return };
        self.work += look.work;
        let side = |end: End| {
            let (composed, margin) = look.end(end)?;
            let (lowest, highest) = (margin.epsilon(0.0).min(0.0), margin.epsilon(highest).max(highest));
            let sums = composed.sums(end, look.plan.reference, lowest, highest)?;
            Some(Side { sums, margin })
        };
        let ends = [side(End::Upper), side(End::Lower)];
        self.looks.push(Kept { reversed: look.reversed, spacing: look.spacing, certain: look.certain, ends });
        let points = |look: &Kept| look.ends.iter().flatten().map(|side| side.sums.len()).sum::<usize>();
        let mut all: usize = self.looks.iter().map(points).sum();
        while all > MOST_POINTS && self.looks.len() > 1 {
            all -= points(&self.looks.remove(0));
        }
    }
}

impl Kept {
    fn delta(&self, epsilon: f64) -> Interval {
        let [upper, lower] = [0, 1].map(|end| self.ends[end].as_ref().and_then(|side| side.delta(epsilon)));
        with_certain(in_range(lower, upper), self.certain)
    }
}

impl Side {
    fn delta(&self, epsilon: f64) -> Option<f64> {
        Some(self.margin.delta(self.sums.delta(self.margin.epsilon(epsilon))?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pair, Subsampled, solve};
    use super::*;
    use crate::closed_form::{gaussian_delta, subsampled_step_delta};
    use crate::strategies;
    use proptest::prelude::*;

    const KNOWN: Interval = Interval { lower: 0.0, upper: 1.0 };

    fn part(sigma: f64, rate: f64, count: f64) -> Vec<Part> {
        vec![Part { pair: Pair::Subsampled(Subsampled { sigma, rate }), count }]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

        /// What one lattice says about epsilons that it was not composed for holds the truth, where formulas
        /// tell it, and is narrow about the epsilon that it was composed for.
        #[test]
        fn a_lattice_bounds_delta_at_every_epsilon(
            sigma in strategies::noise_multiplier(),
            rate in strategies::rate(),
            count in 1u64..200,
            asked in 0.0f64..3.0,
            epsilons in prop::collection::vec(0.0f64..6.0, 20),
        ) {
            let count = count as f64;
            let runs = [(part(sigma, 1.0, count), true), (part(sigma, rate, 1.0), false)];
            for (steps, is_unsampled) in runs {
                let truth = |epsilon| match is_unsampled {
                    true => gaussian_delta(count.sqrt() / sigma, 1e-15, epsilon),
                    false => subsampled_step_delta(sigma, rate, epsilon),
                };
                let mut shelf = Shelf::up_to(6.0, 1.0);
                let query = Query::Delta { epsilon: asked };
                let fresh = solve(&steps, query, KNOWN, Aim::both(1e-3), &mut shelf);
                for &epsilon in epsilons.iter().chain([&0.0, &asked, &6.0]) {
                    let exact = truth(epsilon);
                    let found = ways(&steps).iter().map(|&reversed| shelf.delta(reversed, epsilon));
                    let found = found.reduce(Interval::max).expect("a direction");
                    prop_assert!(found.upper >= exact.lower, "{epsilon}: {found:?} {exact:?}");
                    prop_assert!(found.lower <= exact.upper, "{epsilon}: {found:?} {exact:?}");
                }
                // The lattices that answered lie there: what they say again is the answer, but for the last
                // roundings.
                let again = shelf.delta(false, asked);
                let close = 1e-9 * fresh.upper + 1e-270;
                prop_assert!(again.upper <= 1.0 && again.upper >= fresh.lower - close, "{again:?} {fresh:?}");
                if ways(&steps).len() == 1 {
                    prop_assert!((again.upper - fresh.upper).abs() <= close, "{again:?} {fresh:?}");
                    prop_assert!((again.lower - fresh.lower).abs() <= close, "{again:?} {fresh:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_kept_unless_asked_for_and_room_is_limited() {
        let steps = part(1.0, 0.01, 100.0);
        let query = Query::Delta { epsilon: 0.1 };
        let mut none = Shelf::default();
        solve(&steps, query, KNOWN, Aim::both(1e-3), &mut none);
        assert!(
            none.looks.is_empty()
                && !none.is_spent()
                && none.answer(&steps, query, Aim::both(1e-3)).is_none()
        );
        let mut shelf = Shelf::up_to(1.0, 1.0);
        let first = solve(&steps, query, KNOWN, Aim::both(1e-3), &mut shelf);
        let kept = shelf.looks.len();
        // The same question, and one nearby, compose nothing.
        let second = solve(&steps, query, KNOWN, Aim::both(1e-3), &mut shelf);
        solve(&steps, Query::Delta { epsilon: 0.101 }, KNOWN, Aim::both(1e-3), &mut shelf);
        assert_eq!(shelf.looks.len(), kept);
        assert!((first.upper - second.upper).abs() <= 1e-9 * first.upper, "{first:?} {second:?}");
        // A closed shelf answers whatever it knows.
        shelf.close();
        let narrow = solve(&steps, query, KNOWN, Aim::both(1e-8), &mut shelf);
        assert_eq!(shelf.looks.len(), kept);
        assert!(narrow.upper >= first.lower && narrow.lower <= first.upper, "{narrow:?} {first:?}");
    }

    /// A search for a rate asks about one list after another, and closed forms may know the same of all.
    #[test]
    fn another_list_is_another_question() {
        let known = Interval { lower: 0.0, upper: 1e3 };
        let query = Query::Epsilon { delta: 1e-5 };
        let ask =
            |rate, shelf: &mut Shelf| solve(&part(1.0, rate, 100.0), query, known, Aim::both(1e-3), shelf);
        let mut shelf = Shelf::default();
        let first = ask(0.01, &mut shelf);
        assert_eq!(ask(0.01, &mut shelf), first);
        let other = ask(0.02, &mut shelf);
        assert_eq!(other, ask(0.02, &mut Shelf::default()));
        assert!(other.lower > first.upper, "{other:?} {first:?}");
    }
}
