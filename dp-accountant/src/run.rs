//! A composition in the form in which every question about it is answered.

use std::fmt::Debug;

use crate::closed_form::Interval;
use crate::engines::{self, Proven};
use crate::fourier;
use crate::lattice::{self, Aim, Ends, Part, Query, Shelf};
use crate::{Certified, Composition, Engine, Error, Relation, Result, gaussian, schemes};

/// What an attack reaches of what is promised is not looked at below this share of it, where a width is
/// enough.
const VISIBLE_SHARE: f64 = 1e-4;

/// A composition as pairs of laws that bound it from both sides, and the formulas that are known about it.
#[derive(Debug)]
pub(crate) struct Run {
    /// Pairs that dominate the composition.
    pub(crate) upper: Vec<Part>,
    /// Attacks on concrete data sets. The largest of their costs bounds the composition's cost from below.
    /// Empty where `upper` is attained, so that it bounds the cost from both sides.
    pub(crate) lower: Vec<Vec<Part>>,
    /// Whether all counts are exact as floating-point numbers, which the engines need.
    pub(crate) exact_counts: bool,
    /// Whether the logarithm of delta may be found by Fourier inversion of `upper`.
    pub(crate) invertible: bool,
    /// What is known without a table.
    pub(crate) formulas: Box<dyn Formulas>,
}

/// What has been composed for a [`Run`], for each of its lists of parts, by earlier questions about it.
/// Nothing is kept on those that nobody prepared.
#[derive(Default)]
pub(crate) struct Shelves {
    upper: Shelf,
    lower: Vec<Shelf>,
}

impl Shelves {
    /// From now on each shelf that has had its share of work answers by what lies on it.
    pub(crate) fn close_spent(&mut self) {
        for shelf in std::iter::once(&mut self.upper).chain(&mut self.lower).filter(|shelf| shelf.is_spent())
        {
            shelf.close();
        }
    }

    /// Epsilons above `highest` will not be asked about.
    pub(crate) fn lower_to(&mut self, highest: f64) {
        self.upper.lower_to(highest);
        self.lower.iter_mut().for_each(|shelf| shelf.lower_to(highest));
    }
}

/// What formulas say about a composition.
pub(crate) trait Formulas: Debug {
    /// The answer about `parts`, which are all of one of the run's lists, where a formula is the whole
    /// answer.
    fn exact(&self, parts: &[Part], query: Query) -> Option<Interval>;

    /// An interval that holds for every composition of the kind; it may be wide.
    fn enclose(&self, query: Query) -> Interval;
}

impl Run {
    /// The form that suits the composition: sums of Gaussian steps where it has nothing else, for which more
    /// formulas are known, and pairs of laws for every mechanism and sampling scheme otherwise.
    pub(crate) fn new(relation: Relation, composition: &Composition) -> Result<Self> {
        match gaussian::run(relation, composition) {
            Some(run) => Ok(run),
            None => schemes::run(relation, composition),
        }
    }

    /// The answer to a query: by formulas where they are the whole answer, otherwise by the engines.
    pub(crate) fn answer(&self, query: Query, relative_width: f64) -> Result<Certified> {
        self.answer_within(query, relative_width, 0.0, &mut Shelves::default())
    }

    /// The same for a purpose for which some absolute width is `enough`, with what lies on the shelves of
    /// this run.
    pub(crate) fn answer_within(
        &self,
        query: Query,
        relative_width: f64,
        enough: f64,
        shelves: &mut Shelves,
    ) -> Result<Certified> {
        let mut found = self.dominating(query, relative_width, enough, false, &mut shelves.upper)?;
        let promised = found.interval.upper;
        // For a curve an attack that reaches hardly anything of what is promised is as good as none, and to
        // show how little it reaches would take tables to great depths.
        let floor = if enough > 0.0 { VISIBLE_SHARE * promised } else { 0.0 };
        let aim = Aim { relative_width, enough, promised, floor, ends: Ends::Both, follows: true };
        shelves.lower.resize_with(self.lower.len(), Shelf::default);
        // Attacks need about the lattice that showed what is promised.
        shelves.lower.iter_mut().for_each(|shelf| shelf.follow(&shelves.upper));
        let attacks = self.lower.iter().zip(&mut shelves.lower);
        let attacks = attacks.map(|(parts, shelf)| self.solve(parts, query, aim, shelf));
        let strongest = attacks.reduce(|a, b| if b.interval.lower > a.interval.lower { b } else { a });
        if let Some(attack) = strongest {
            found.interval.lower = attack.interval.lower;
            found.lower = attack.lower;
            found.interval.upper = found.interval.upper.max(attack.interval.lower);
        }
        found.certify()
    }

    /// What the pairs from above promise, in an interval with the upper end of [`Self::answer`]. Below its lower end
    /// there may be a truth that no attack of the list reaches, but no promise by these pairs. Also whether
    /// [`Self::answer`] would say the same. One that `follows` begins where the last question on the shelves ended.
    pub(crate) fn promise(
        &self,
        query: Query,
        relative_width: f64,
        follows: bool,
        shelves: &mut Shelves,
    ) -> Result<(Certified, bool)> {
        let found = self.dominating(query, relative_width, 0.0, follows, &mut shelves.upper)?;
        Ok((found.certify()?, self.lower.is_empty()))
    }

    /// Shelves for questions about delta at epsilons from 0 to `highest`.
    pub(crate) fn shelves(&self, highest: f64) -> Shelves {
        let share = 1.0 / (1.0 + self.lower.len() as f64);
        let shelf = || Shelf::up_to(highest, share);
        Shelves { upper: shelf(), lower: self.lower.iter().map(|_| shelf()).collect() }
    }

    /// The answer about the pairs from above.
    fn dominating(
        &self,
        query: Query,
        relative_width: f64,
        enough: f64,
        follows: bool,
        shelf: &mut Shelf,
    ) -> Result<Proven> {
        if let Query::Epsilon { delta } = query {
            let certain = |reversed| lattice::certain(&self.upper, reversed);
            let catastrophe = certain(false).max(certain(true));
            // No epsilon covers what reveals everything. The factor covers the rounding of its probability.
            if delta <= catastrophe * (1.0 + 1e-12) {
                return Err(Error::NoEpsilon { delta, catastrophe });
            }
        }
        let ends = if self.lower.is_empty() { Ends::Both } else { Ends::Upper };
        if !follows {
            shelf.begin_anew();
        }
        Ok(self.solve(
            &self.upper,
            query,
            Aim { relative_width, enough, promised: 0.0, floor: 0.0, ends, follows },
            shelf,
        ))
    }

    /// The answer about one of the lists of parts.
    fn solve(&self, parts: &[Part], query: Query, aim: Aim, shelf: &mut Shelf) -> Proven {
        if let Some(interval) = self.formulas.exact(parts, query) {
            return Proven::new(interval, Engine::ClosedForm);
        }
        let known = || Proven::new(self.formulas.enclose(query), Engine::ClosedForm);
        if self.exact_counts {
            return engines::answer(parts, query, known, aim, shelf);
        }
        known()
    }

    /// The composition as Fourier inversion takes it, where that is of use and one list of pairs bounds it
    /// from both sides.
    pub(crate) fn profile(&self) -> Option<fourier::Composition> {
        (self.invertible && self.exact_counts && self.lower.is_empty())
            .then(|| engines::profile(&self.upper))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Mechanism, Sampling};

    fn run_of(relation: Relation, noise_multiplier: f64, sampling: Sampling, steps: u64) -> Run {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("valid");
        Run::new(relation, &Composition::single(event, steps)).expect("supported")
    }

    /// What is saved where attacks miss what is promised costs no upper end anything, and no interval more than a
    /// hundredth of its width: against attacks that are solved as closely as the promise.
    #[test]
    fn attacks_are_known_as_closely_as_the_interval_shows() {
        let with = |batch, records| Sampling::WithReplacement { batch, records };
        for (noise_multiplier, sampling, steps) in [
            (1.2, with(64, 50_000), 20),
            (2.0, with(100, 6_000), 10),
            (8.0, with(500, 1_000), 30),
            (1.0, with(5, 1_000), 10),
            (4.0, with(30, 20), 5),
        ] {
            let run = run_of(Relation::ReplaceOne, noise_multiplier, sampling, steps);
            for query in [Query::Epsilon { delta: 1e-6 }, Query::Delta { epsilon: 0.1 }] {
                let width = crate::DEFAULT_RELATIVE_WIDTH;
                let found = run.answer(query, width).expect("an answer");
                let (promise, _) =
                    run.promise(query, width, false, &mut Shelves::default()).expect("an answer");
                assert_eq!(found.upper, promise.upper.max(found.lower));
                let aim = Aim::both(width);
                let closely = run
                    .lower
                    .iter()
                    .map(|parts| run.solve(parts, query, aim, &mut Shelf::default()).interval);
                let closely = closely.reduce(Interval::max).expect("attacks");
                assert!(found.lower <= closely.upper, "{sampling} {query:?}: {found:?} {closely:?}");
                let gap = found.upper - closely.lower;
                assert!(
                    found.lower >= closely.lower - 0.01 * gap,
                    "{sampling} {query:?}: {found:?} {closely:?}"
                );
            }
        }
    }
}
