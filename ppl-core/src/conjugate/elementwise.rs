//! Expectations of sums and products element by element.

use super::augment::geometric_mean;
use super::form::{Bound, Form, Known, Moment, POWERS, Rows, power, stretched};
use super::linear::not_linear;
use super::rules::Rules;
use super::sign::is_non_negative;
use crate::base::{Result, Shape};
use crate::op::Var;
use std::collections::BTreeSet;

impl<'g> Rules<'g> {
    pub(super) fn sum(
        &self,
        value: Var<'g>,
        a: &Known<'g>,
        b: &Known<'g>,
        shape: &Shape,
    ) -> Result<Option<Form<'g>>> {
        let (x, c) = match (a, b) {
            (Known::Random(a), Known::Random(b)) => return self.sum_of_two(value, a, b, shape),
            (Known::Random(x), Known::Fixed(c)) | (Known::Fixed(c), Known::Random(x)) => (x, *c),
            (Known::Fixed(_), Known::Fixed(_)) => return Ok(None),
        };
        let mut out = Form { sites: x.sites.clone(), ..Form::default() };
        let c = stretched(c, shape);
        if let Some(mean) = x.mean() {
            let mean_each = stretched(mean.each, shape);
            let whole = &mean.each.shape() == shape;
            let total = mean.total.filter(|_| whole).map(|total| total + c.sum());
            out.powers.insert(1, Moment { each: mean_each + c, total, bound: mean.bound });
            if let Some(square) = x.square().filter(|square| square.bound == Bound::Exact) {
                let each = stretched(square.each, shape) + 2.0 * c * mean_each + c.square();
                let total = square
                    .total
                    .filter(|_| whole)
                    .map(|total| total + 2.0 * (c * mean_each).sum() + c.square().sum());
                out.powers.insert(2, Moment { each, total, bound: Bound::Exact });
            }
        }
        if c.known() == Some(1.0) || c.known_elements().is_some_and(|all| all.iter().all(|&c| c == 1.0)) {
            out.log = x.log_increment.map(|log| (stretched(log, shape), Bound::Exact));
        }
        // ln of a sum of positive numbers: the number itself is one of them.
        if let (None, Some((log, bound)), true) = (out.log, x.log, is_non_negative(c, &self.non_negative))
            && bound != Bound::Upper
        {
            let together = geometric_mean(stretched(log, shape)) + c;
            out.log = Some((together.log(), Bound::Lower));
        }
        Ok(Some(out))
    }

    fn sum_of_two(
        &self,
        value: Var<'g>,
        a: &Form<'g>,
        b: &Form<'g>,
        shape: &Shape,
    ) -> Result<Option<Form<'g>>> {
        let mut out = Form { sites: a.sites.union(&b.sites).copied().collect(), ..Form::default() };
        let disjoint = a.sites.is_disjoint(&b.sites);
        if let (Some(x), Some(y)) = (a.mean(), b.mean()) {
            let Some(bound) = x.bound.and(y.bound) else {
                return Err(not_linear(value, "adds an upper and a lower bound"));
            };
            let whole = |m: &Moment<'g>| &m.each.shape() == shape;
            let (ex, ey) = (stretched(x.each, shape), stretched(y.each, shape));
            let both = whole(&x) && whole(&y) && (x.total.is_some() || y.total.is_some());
            let total = both.then(|| x.total() + y.total());
            out.powers.insert(1, Moment { each: ex + ey, total, bound });
            if let (Some(xx), Some(yy), true) = (a.square(), b.square(), disjoint && bound == Bound::Exact) {
                let each = stretched(xx.each, shape) + 2.0 * ex * ey + stretched(yy.each, shape);
                let both = whole(&xx) && whole(&yy) && (xx.total.is_some() || yy.total.is_some());
                let total = both.then(|| xx.total() + 2.0 * (ex * ey).sum() + yy.total());
                out.powers.insert(2, Moment { each, total, bound });
            }
        }
        if let (Some((x, p)), Some((y, q))) = (a.log, b.log)
            && p != Bound::Upper
            && q != Bound::Upper
        {
            let together = geometric_mean(stretched(x, shape)) + geometric_mean(stretched(y, shape));
            out.log = Some((together.log(), Bound::Lower));
        }
        Ok(Some(out))
    }

    /// Whether a number does not change which way a bound goes, or turns it round.
    pub(super) fn direction(&self, c: Var<'g>, bound: Bound, at: Var<'g>) -> Result<Bound> {
        if bound == Bound::Exact || is_non_negative(c, &self.non_negative) {
            return Ok(bound);
        }
        if is_non_negative(-c, &self.non_negative) {
            return Ok(bound.opposite());
        }
        Err(not_linear(at, "multiplies a bound by a value that may be positive or negative"))
    }

    pub(super) fn times(
        &self,
        value: Var<'g>,
        (left, right): (Var<'g>, Var<'g>),
        a: &Known<'g>,
        b: &Known<'g>,
    ) -> Result<Option<Form<'g>>> {
        let shape = value.shape();
        let (x, c, c_at) = match (a, b) {
            (Known::Random(a), Known::Random(b)) => return self.times_random(value, a, b, &shape),
            (Known::Random(x), Known::Fixed(c)) => (x, *c, right),
            (Known::Fixed(c), Known::Random(x)) => (x, *c, left),
            (Known::Fixed(_), Known::Fixed(_)) => return Ok(None),
        };
        let (unit, scalar) = (self.is_sign(c_at), c.shape().is_scalar());
        let mut out = Form { sites: x.sites.clone(), ..Form::default() };
        for &p in &POWERS {
            let Some(moment) = x.powers.get(&p) else { continue };
            let whole = moment.each.shape() == shape;
            if unit && p == 2 && whole {
                out.powers.insert(p, *moment);
                continue;
            }
            let bound = match moment.bound {
                Bound::Exact => Bound::Exact,
                bound => self.direction(c, bound, value)?,
            };
            let factor = power(c, p);
            let each = stretched(factor, &shape) * stretched(moment.each, &shape);
            let total = moment.total.filter(|_| whole && scalar).map(|total| factor * total);
            out.powers.insert(p, Moment { each, total, bound });
        }
        if scalar && x.rows.is_some() && x.square().is_some_and(|m| m.each.shape() == shape) {
            let square = c.square();
            out.rows = x
                .rows
                .map(|rows| Rows { each: square * rows.each, total: rows.total.map(|total| square * total) });
        }
        if let Some((log, bound)) = x.log
            && is_non_negative(c, &self.non_negative)
        {
            out.log = Some((stretched(c.log(), &shape) + stretched(log, &shape), bound));
        }
        Ok(Some(out))
    }

    fn times_random(
        &self,
        value: Var<'g>,
        a: &Form<'g>,
        b: &Form<'g>,
        shape: &Shape,
    ) -> Result<Option<Form<'g>>> {
        let mut out = Form { sites: a.sites.union(&b.sites).copied().collect(), ..Form::default() };
        if let (Some((x, p)), Some((y, q))) = (a.log, b.log)
            && let Some(bound) = p.and(q)
        {
            out.log = Some((stretched(x, shape) + stretched(y, shape), bound));
        }
        if a.sites.is_disjoint(&b.sites) {
            for (&p, x) in &a.powers {
                if let Some(y) = b.powers.get(&p)
                    && x.bound == Bound::Exact
                    && y.bound == Bound::Exact
                {
                    let each = stretched(x.each, shape) * stretched(y.each, shape);
                    out.powers.insert(p, Moment::exact(each));
                }
            }
            return Ok(Some(out));
        }
        match out.log {
            Some(_) => Ok(Some(out)),
            None => {
                let common: BTreeSet<usize> = a.sites.intersection(&b.sites).copied().collect();
                Err(not_linear(
                    value,
                    &format!("multiplies two values that both depend on {}", self.names(&common)),
                ))
            }
        }
    }
}
