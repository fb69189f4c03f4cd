//! What is known of a value under the posterior factors of the sites: expectations of its powers and logarithms.

use crate::base::Shape;
use crate::op::Var;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a number is an expectation, or bounds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Exact,
    Lower,
    Upper,
}

impl Bound {
    /// That of a sum of two numbers; `None` if one bounds from below and the other from above.
    pub(super) fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Exact, bound) | (bound, Self::Exact) => Some(bound),
            (a, b) => (a == b).then_some(a),
        }
    }

    /// That of the negative.
    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }
}

/// An expectation, element by element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment<'g> {
    pub(super) each: Var<'g>,
    /// The sum over all elements, where it is found more easily than by adding them up.
    pub(super) total: Option<Var<'g>>,
    pub(super) bound: Bound,
}

impl<'g> Moment<'g> {
    pub(super) fn exact(each: Var<'g>) -> Self {
        Self { each, total: None, bound: Bound::Exact }
    }

    /// The sum over all elements.
    pub(super) fn total(&self) -> Var<'g> {
        self.total.unwrap_or_else(|| self.each.sum())
    }
}

/// `E[x xᵀ]` along a last axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'g> {
    /// One matrix for each position of the leading axes.
    pub(super) each: Var<'g>,
    /// Their sum over all these positions.
    pub(super) total: Option<Var<'g>>,
}

/// What is known of a random value `x`.
#[derive(Clone, Debug, Default)]
pub(super) struct Form<'g> {
    /// The sites that it depends on, by number. Values that share none are independent.
    pub(super) sites: BTreeSet<usize>,
    /// `E[xᵖ]`, for the powers of which it is known.
    pub(super) powers: BTreeMap<i8, Moment<'g>>,
    /// `E[x xᵀ]`
    pub(super) rows: Option<Rows<'g>>,
    /// `E[ln x]`, and whether it is a lower bound of it.
    pub(super) log: Option<(Var<'g>, Bound)>,
    /// `E[ln(1 − x)]`
    pub(super) log_complement: Option<Var<'g>>,
    /// `E[ln(1 + x)]`
    pub(super) log_increment: Option<Var<'g>>,
}

/// A value of the model: the same whatever the sites are, or random.
#[derive(Clone, Debug)]
pub(super) enum Known<'g> {
    Fixed(Var<'g>),
    Random(Form<'g>),
}

/// The powers that are kept.
pub(super) const POWERS: [i8; 4] = [-2, -1, 1, 2];

/// `cᵖ` of a fixed value.
pub(super) fn power(c: Var<'_>, p: i8) -> Var<'_> {
    match p {
        -2 => c.square().reciprocal(),
        -1 => c.reciprocal(),
        2 => c.square(),
        _ => c,
    }
}

impl<'g> Form<'g> {
    /// One of which the expectation is known, and nothing else.
    pub(super) fn of_mean(sites: BTreeSet<usize>, mean: Moment<'g>) -> Self {
        Self { sites, powers: BTreeMap::from([(1, mean)]), ..Self::default() }
    }

    pub(super) fn mean(&self) -> Option<Moment<'g>> {
        self.powers.get(&1).copied()
    }

    pub(super) fn square(&self) -> Option<Moment<'g>> {
        self.powers.get(&2).copied()
    }

    /// The same moved to other places, or repeated: `f` works alike on each array of the value's shape. `rows` is
    /// what it makes of matrices, if that is known.
    pub(super) fn moved(&self, f: impl Fn(Var<'g>) -> Var<'g>, rows: Option<Rows<'g>>) -> Self {
        let moment = |m: &Moment<'g>| Moment { each: f(m.each), total: None, bound: m.bound };
        Self {
            sites: self.sites.clone(),
            powers: self.powers.iter().map(|(&p, m)| (p, moment(m))).collect(),
            rows,
            log: self.log.map(|(log, bound)| (f(log), bound)),
            log_complement: self.log_complement.map(&f),
            log_increment: self.log_increment.map(&f),
        }
    }

    /// `E[x xᵀ]`, of a vector at least its diagonal being known; needs nothing but itself.
    pub(super) fn negated(&self) -> Self {
        let mut out = self.clone();
        for (&p, moment) in &mut out.powers {
            if p % 2 != 0 {
                *moment = Moment {
                    each: -moment.each,
                    total: moment.total.map(|total| -total),
                    bound: moment.bound.opposite(),
                };
            }
        }
        out.log = None;
        (out.log_complement, out.log_increment) = (self.log_increment, self.log_complement);
        out
    }

    /// `1/x`
    pub(super) fn reciprocal(&self) -> Self {
        let exact = |m: &Moment<'g>| m.bound == Bound::Exact;
        Self {
            sites: self.sites.clone(),
            powers: self.powers.iter().filter(|(_, m)| exact(m)).map(|(&p, &m)| (-p, m)).collect(),
            log: self.log.filter(|(_, bound)| *bound == Bound::Exact).map(|(log, bound)| (-log, bound)),
            ..Self::default()
        }
    }

    /// `x²`, or with `inverse` the root of `x`.
    pub(super) fn squared(&self, inverse: bool) -> Self {
        let halved = |p: i8| if inverse { p.checked_mul(2) } else { (p % 2 == 0).then_some(p / 2) };
        let powers = self.powers.iter().filter_map(|(&p, &m)| Some((halved(p)?, m)));
        let factor = if inverse { 0.5 } else { 2.0 };
        Self {
            sites: self.sites.clone(),
            powers: powers.filter(|(p, m)| POWERS.contains(p) && m.bound == Bound::Exact).collect(),
            log: self.log.map(|(log, bound)| (factor * log, bound)),
            ..Self::default()
        }
    }
}

/// An array of a shape of its own under the shape that it is needed in: only single numbers are stretched.
pub(super) fn stretched<'g>(x: Var<'g>, shape: &Shape) -> Var<'g> {
    if &x.shape() == shape { x } else { x.broadcast_to(shape.clone()) }
}
