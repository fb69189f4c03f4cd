//! Expectations of values whose elements are moved, repeated, added up or chosen.

use super::augment::geometric_mean;
use super::form::{Bound, Form, Known, Moment, POWERS, Rows, power, stretched};
use super::rules::Rules;
use crate::base::Shape;
use crate::op::{Op, Shaping, Structure, Var};
use std::collections::BTreeSet;

impl<'g> Rules<'g> {
    pub(super) fn shaping(&self, op: &Shaping, arg: Var<'g>, x: &Form<'g>) -> Option<Form<'g>> {
        match op {
            Shaping::Broadcast(to) => {
                let (from, dims) = (arg.shape(), to.dims());
                let kept = from.rank() >= 1 && from.dims().last() == dims.last();
                let rows = x.rows.filter(|_| kept).map(|rows| {
                    let shape = to.concat(&Shape::from(dims.last().copied().unwrap_or(1)));
                    // Leading axes of matrices stretch as those of vectors do.
                    Rows { each: rows.each.broadcast_to(shape), total: None }
                });
                Some(x.moved(|each| each.broadcast_to(to.clone()), rows))
            }
            Shaping::Reshape(to) => {
                let kept = arg.shape().dims().last() == to.dims().last();
                let rows = x.rows.filter(|_| kept).map(|rows| {
                    let last = to.dims().last().copied().unwrap_or(1);
                    Rows { each: rows.each.reshape(to.concat(&Shape::from(last))), total: rows.total }
                });
                let mut out = x.moved(|each| each.reshape(to.clone()), rows);
                for (p, moment) in &mut out.powers {
                    moment.total = x.powers.get(p).and_then(|moment| moment.total);
                }
                Some(out)
            }
            Shaping::SumTo(to) if *to == arg.shape() => Some(x.clone()),
            Shaping::SumTo(to) => {
                let mut out = Form { sites: x.sites.clone(), ..Form::default() };
                if let Some(mean) = x.mean() {
                    let each = match mean.total {
                        Some(total) if to.elements() == 1 => total.reshape(to.clone()),
                        _ => mean.each.sum_to(to.clone()),
                    };
                    out.powers.insert(1, Moment { each, total: None, bound: mean.bound });
                }
                if let Some((log, bound)) = x.log
                    && bound != Bound::Upper
                {
                    out.log = Some((geometric_mean(log).sum_to(to.clone()).log(), Bound::Lower));
                }
                Some(out)
            }
        }
    }

    /// Elements of several arrays moved to other places.
    pub(super) fn structure(&self, op: &Structure, value: Var<'g>, known: &[&Known<'g>]) -> Option<Form<'g>> {
        let graph = value.graph();
        let apply = |args: &[Var<'g>]| graph.apply(Op::Structure(op.clone()), args);
        let mut sites = BTreeSet::new();
        for known in known {
            if let Known::Random(form) = known {
                sites.extend(&form.sites);
            }
        }
        let fills_with_zeros = matches!(op, Structure::Spread { .. });
        let mut out = Form { sites, ..Form::default() };
        for &p in POWERS.iter().filter(|&&p| !(fills_with_zeros && p < 0)) {
            let mut bound = Some(Bound::Exact);
            let parts: Option<Vec<Var<'g>>> = known
                .iter()
                .map(|known| match known {
                    Known::Fixed(fixed) => Some(power(*fixed, p)),
                    Known::Random(form) => form.powers.get(&p).map(|moment| {
                        bound = bound.and_then(|bound| bound.and(moment.bound));
                        moment.each
                    }),
                })
                .collect();
            if let (Some(parts), Some(bound)) = (parts, bound) {
                out.powers.insert(p, Moment { each: apply(&parts), total: None, bound });
            }
        }
        if !fills_with_zeros {
            let mut bound = Some(Bound::Exact);
            let logs: Option<Vec<Var<'g>>> = known
                .iter()
                .map(|known| match known {
                    Known::Fixed(fixed) => Some(fixed.log()),
                    Known::Random(form) => form.log.map(|(log, of)| {
                        bound = bound.and_then(|bound| bound.and(of));
                        log
                    }),
                })
                .collect();
            if let (Some(logs), Some(bound)) = (logs, bound) {
                out.log = Some((apply(&logs), bound));
            }
        }
        Some(out)
    }
}

/// One of two values, element by element.
pub(super) fn select<'g>(value: Var<'g>, condition: Var<'g>, a: &Known<'g>, b: &Known<'g>) -> Form<'g> {
    let shape = value.shape();
    let mut out = Form::default();
    for known in [a, b] {
        if let Known::Random(form) = known {
            out.sites.extend(&form.sites);
        }
    }
    let choose = |x: Var<'g>, y: Var<'g>| stretched(condition.select(x, y), &shape);
    for &p in &POWERS {
        let of = |known: &Known<'g>| match known {
            Known::Fixed(fixed) => Some((power(*fixed, p), Bound::Exact)),
            Known::Random(form) => form.powers.get(&p).map(|moment| (moment.each, moment.bound)),
        };
        if let (Some((x, of_x)), Some((y, of_y))) = (of(a), of(b))
            && let Some(bound) = of_x.and(of_y)
        {
            out.powers.insert(p, Moment { each: choose(x, y), total: None, bound });
        }
    }
    let log = |known: &Known<'g>| match known {
        Known::Fixed(fixed) => Some((fixed.log(), Bound::Exact)),
        Known::Random(form) => form.log,
    };
    if let (Some((x, of_x)), Some((y, of_y))) = (log(a), log(b))
        && let Some(bound) = of_x.and(of_y)
    {
        out.log = Some((choose(x, y), bound));
    }
    let complement = |known: &Known<'g>| match known {
        Known::Fixed(fixed) => Some((-*fixed).log1p()),
        Known::Random(form) => form.log_complement,
    };
    let increment = |known: &Known<'g>| match known {
        Known::Fixed(fixed) => Some(fixed.log1p()),
        Known::Random(form) => form.log_increment,
    };
    out.log_complement = complement(a).zip(complement(b)).map(|(x, y)| choose(x, y));
    out.log_increment = increment(a).zip(increment(b)).map(|(x, y)| choose(x, y));
    out
}
