//! A composition in the form in which every question about it is answered.

use std::fmt::Debug;

use crate::closed_form::Interval;
use crate::engines::{self, Proven};
use crate::fourier;
use crate::lattice::{self, Ends, Part, Query};
use crate::{Certified, Composition, Engine, Error, Relation, Result, gaussian, schemes};

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
        let mut found = self.dominating(query, relative_width)?;
        let attacks = self.lower.iter().map(|parts| self.solve(parts, query, relative_width, Ends::Both));
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
    /// [`Self::answer`] would say the same.
    pub(crate) fn promise(&self, query: Query, relative_width: f64) -> Result<(Certified, bool)> {
        Ok((self.dominating(query, relative_width)?.certify()?, self.lower.is_empty()))
    }

    /// The answer about the pairs from above.
    fn dominating(&self, query: Query, relative_width: f64) -> Result<Proven> {
        if let Query::Epsilon { delta } = query {
            let certain = |reversed| lattice::certain(&self.upper, reversed);
            let catastrophe = certain(false).max(certain(true));
            // No epsilon covers what reveals everything. The factor covers the rounding of its probability.
            if delta <= catastrophe * (1.0 + 1e-12) {
                return Err(Error::NoEpsilon { delta, catastrophe });
            }
        }
        let wanted = if self.lower.is_empty() { Ends::Both } else { Ends::Upper };
        Ok(self.solve(&self.upper, query, relative_width, wanted))
    }

    /// The answer about one of the lists of parts.
    fn solve(&self, parts: &[Part], query: Query, relative_width: f64, wanted: Ends) -> Proven {
        if let Some(interval) = self.formulas.exact(parts, query) {
            return Proven::new(interval, Engine::ClosedForm);
        }
        let known = || Proven::new(self.formulas.enclose(query), Engine::ClosedForm);
        if self.exact_counts {
            return engines::answer(parts, query, known, relative_width, wanted);
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
