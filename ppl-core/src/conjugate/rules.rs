//! The expectation of each operation of a program, from those of its arguments.

use super::augment::{Curvature, geometric_mean, softplus};
use super::form::{Bound, Form, Known, Moment, POWERS, Rows, power, stretched};
use super::linear::{not_linear, require_linear};
use super::sign::is_non_negative;
use crate::base::{Result, Shape};
use crate::model::Constraint;
use crate::op::{Binary, Gather, Linear, Op, Reduce, Shaping, Structure, Unary, Var};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Goes through a graph and keeps what it has found.
pub(super) struct Rules<'g> {
    pub(super) curvature: Curvature,
    /// Forms of nodes: at first those of the sites' values.
    pub(super) known: HashMap<u32, Known<'g>>,
    /// Values that are 0 or 1.
    pub(super) boolean: HashSet<u32>,
    /// Values that are not negative, by the support of what is observed.
    pub(super) non_negative: HashSet<u32>,
    /// The names of the sites, by number.
    pub(super) sites: Vec<String>,
}

impl<'g> Rules<'g> {
    /// What is known of a value.
    pub(super) fn of(&mut self, value: Var<'g>) -> Result<Known<'g>> {
        let graph = value.graph();
        let last = value.id() as usize;
        let mut needed = vec![false; last + 1];
        needed[last] = true;
        for id in (0..=last).rev() {
            if needed[id] && !self.known.contains_key(&(id as u32)) {
                graph.with_node(id as u32, |node| {
                    node.args.iter().for_each(|&arg| needed[arg as usize] = true);
                });
            }
        }
        for id in (0..=last as u32).filter(|&id| needed[id as usize]) {
            if !self.known.contains_key(&id) {
                let node = graph.node(id);
                graph.attribute(Some(node.source.clone()));
                let found = self.node(graph.var(id));
                graph.attribute(None);
                let found = found?;
                self.known.insert(id, found);
            }
        }
        Ok(self.known[&value.id()].clone())
    }

    /// The expectation of a value, if it has one or a lower bound of it.
    pub(super) fn expectation(&mut self, value: Var<'g>) -> Result<Var<'g>> {
        match self.of(value)? {
            Known::Fixed(value) => Ok(value),
            Known::Random(form) => match form.mean() {
                Some(mean) if mean.bound != Bound::Upper => Ok(mean.each),
                Some(_) => Err(not_linear(value, "has an upper bound where a lower one is needed")),
                None => Err(self.nothing_known(value, &form)),
            },
        }
    }

    fn names(&self, sites: &BTreeSet<usize>) -> String {
        let names: Vec<String> = sites.iter().map(|&site| format!("'{}'", self.sites[site])).collect();
        names.join(" and ")
    }

    fn nothing_known(&self, value: Var<'g>, form: &Form<'g>) -> crate::base::Error {
        let problem =
            format!("is no function of {} whose expectation its statistics give", self.names(&form.sites));
        not_linear(value, &problem)
    }

    fn node(&self, value: Var<'g>) -> Result<Known<'g>> {
        let node = value.graph().node(value.id());
        let args: Vec<Var<'g>> = node.args.iter().map(|&arg| value.graph().var(arg)).collect();
        let known: Vec<&Known<'g>> = args.iter().map(|arg| &self.known[&arg.id()]).collect();
        if known.iter().all(|known| matches!(known, Known::Fixed(_))) {
            return Ok(Known::Fixed(value));
        }
        let found = match (&node.op, &known[..]) {
            (Op::Unary(op), [Known::Random(x)]) => self.unary(*op, value, x)?,
            (Op::Binary(op), [a, b]) => self.binary(*op, value, (args[0], args[1]), (a, b))?,
            // −∞ outside a support: the records are of the model, so their values lie inside.
            (Op::Select(_), [Known::Fixed(_), Known::Fixed(outside), Known::Random(x)])
                if is_impossible(*outside) =>
            {
                Some(x.clone())
            }
            (Op::Select(_), [Known::Fixed(condition), a, b]) => Some(select(value, *condition, a, b)),
            (Op::Shaping(op), [Known::Random(x)]) => self.shaping(op, args[0], x),
            (Op::Gather(Gather::Rows), [Known::Random(x), Known::Fixed(index)]) => {
                let rows = x.rows.filter(|_| args[0].shape().rank() >= 2);
                let rows = rows.map(|rows| Rows { each: rows.each.gather(*index), total: None });
                Some(x.moved(|table| table.gather(*index), rows))
            }
            (Op::Structure(op), known) => self.structure(op, value, known),
            (Op::Linear(op), [a, b]) => self.linear(*op, value, (args[0], args[1]), (a, b))?,
            (Op::Einsum(_), [a, b]) => self.product(value, &node.op, (a, b))?,
            (Op::Reduce(Reduce::LogSumExp { axis }), [Known::Random(x)]) => {
                x.mean().filter(|mean| mean.bound != Bound::Upper).map(|mean| {
                    let each = mean.each.log_sum_exp_axis(*axis);
                    Form::of_mean(x.sites.clone(), Moment { each, total: None, bound: Bound::Lower })
                })
            }
            _ => None,
        };
        match found {
            Some(form) => Ok(Known::Random(form)),
            None => self.affine(value, &node.op, &args, &known).map(Known::Random),
        }
    }

    /// The expectation of an operation that is affine in all its random arguments together.
    fn affine(&self, value: Var<'g>, op: &Op, args: &[Var<'g>], known: &[&Known<'g>]) -> Result<Form<'g>> {
        let graph = value.graph();
        let (mut sites, mut with_means) = (BTreeSet::new(), Vec::new());
        let mut moving = Vec::new();
        for (&arg, known) in args.iter().zip(known) {
            match known {
                Known::Fixed(fixed) => with_means.push(*fixed),
                Known::Random(form) => {
                    let Some(mean) = form.mean().filter(|mean| mean.bound == Bound::Exact) else {
                        return Err(self.nothing_known(value, form));
                    };
                    sites.extend(&form.sites);
                    with_means.push(mean.each);
                    moving.push(arg);
                }
            }
        }
        let told = |_| not_linear(value, &format!("is not linear in {}", self.names(&sites)));
        // Linear in one argument at a time is not linear in all of them.
        let [arg] = moving[..] else { return Err(told(())) };
        let place = args.iter().position(|other| other.is(arg)).unwrap_or(0);
        let leaf = graph.bound_leaf(arg.shape(), arg.kind());
        let mut with_leaf = with_means.clone();
        with_leaf[place] = leaf;
        require_linear(graph.apply(op.clone(), &with_leaf), leaf).map_err(|_| told(()))?;
        Ok(Form::of_mean(sites.clone(), Moment::exact(graph.apply(op.clone(), &with_means))))
    }

    fn unary(&self, op: Unary, value: Var<'g>, x: &Form<'g>) -> Result<Option<Form<'g>>> {
        let lower = |each: Var<'g>, bound| Moment { each, total: None, bound };
        Ok(match op {
            Unary::Neg => Some(x.negated()),
            Unary::Square => Some(x.squared(false)),
            Unary::Sqrt => Some(x.squared(true)),
            Unary::Reciprocal => Some(x.reciprocal()),
            Unary::Log => x.log.map(|(log, bound)| Form::of_mean(x.sites.clone(), lower(log, bound))),
            Unary::Log1p => x.log_increment.map(|log| Form::of_mean(x.sites.clone(), Moment::exact(log))),
            Unary::Exp => x.mean().filter(|mean| mean.bound == Bound::Exact).map(|mean| Form {
                sites: x.sites.clone(),
                log: Some((mean.each, Bound::Exact)),
                ..Form::default()
            }),
            Unary::Softplus => match (x.mean(), x.square()) {
                (Some(mean), Some(square)) if mean.bound == Bound::Exact => {
                    Some(softplus(x, (mean, square), self.curvature))
                }
                _ => return Err(self.nothing_known(value, x)),
            },
            _ => None,
        })
    }

    /// Whether a value is `1 − 2y` or `2y − 1` with `y` 0 or 1, so that its square is 1; or that wherever `y` is 0 or
    /// 1, as a Bernoulli's density has it.
    fn is_sign(&self, value: Var<'g>) -> bool {
        let graph = value.graph();
        let node = graph.node(value.id());
        if let (Op::Select(_), &[condition, _, sign]) = (&node.op, &node.args[..]) {
            let outside = |y: &u32| {
                Constraint::Boolean.outside(graph.var(*y)).is_some_and(|outside| outside.id() == condition)
            };
            return self.is_sign(graph.var(sign)) && self.boolean.iter().any(outside);
        }
        let known = |id: u32| graph.var(id).known();
        let is_twice = |id: u32| {
            let node = graph.node(id);
            node.op == Op::Binary(Binary::Mul)
                && [(0, 1), (1, 0)]
                    .iter()
                    .any(|&(c, y)| known(node.args[c]) == Some(2.0) && self.boolean.contains(&node.args[y]))
        };
        node.op == Op::Binary(Binary::Sub)
            && [(0, 1), (1, 0)]
                .iter()
                .any(|&(c, y)| known(node.args[c]) == Some(1.0) && is_twice(node.args[y]))
    }

    fn binary(
        &self,
        op: Binary,
        value: Var<'g>,
        (left, right): (Var<'g>, Var<'g>),
        (a, b): (&Known<'g>, &Known<'g>),
    ) -> Result<Option<Form<'g>>> {
        let shape = value.shape();
        Ok(match op {
            Binary::Add => self.sum(value, a, b, &shape)?,
            Binary::Sub => match (a, b) {
                (a, Known::Fixed(b)) => self.sum(value, a, &Known::Fixed(-*b), &shape)?,
                (Known::Fixed(one), Known::Random(x)) if one.known() == Some(1.0) => {
                    let sum = self.sum(value, a, &Known::Random(x.negated()), &shape)?;
                    sum.map(|sum| Form { log: x.log_complement.map(|log| (log, Bound::Exact)), ..sum })
                }
                (a, Known::Random(b)) => self.sum(value, a, &Known::Random(b.negated()), &shape)?,
            }
            .map(|mut sum| {
                if self.is_sign(value) {
                    let one = value.constant(1.0).broadcast_to(shape.clone());
                    sum.powers.insert(2, Moment::exact(one));
                }
                sum
            }),
            Binary::Mul if left.is(right) => match a {
                Known::Random(x) => Some(x.squared(false)),
                Known::Fixed(_) => None,
            },
            Binary::Mul => self.times(value, (left, right), a, b)?,
            Binary::Div => match b {
                Known::Fixed(b) => self.times(value, (left, right), a, &Known::Fixed(b.reciprocal()))?,
                Known::Random(b) => self.times(value, (left, right), a, &Known::Random(b.reciprocal()))?,
            },
            Binary::Deviance => match (a, b) {
                // x ln(x/m) − x + m, with the terms that do not hold m as its value at 1.
                (Known::Fixed(x), Known::Random(m)) => match (m.log, m.mean()) {
                    (Some((log, Bound::Exact)), Some(mean)) if mean.bound == Bound::Exact => {
                        let each = x.deviance(1.0) - 1.0 - *x * log + mean.each;
                        Some(Form::of_mean(m.sites.clone(), Moment::exact(stretched(each, &shape))))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
    }

    fn sum(&self, value: Var<'g>, a: &Known<'g>, b: &Known<'g>, shape: &Shape) -> Result<Option<Form<'g>>> {
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
    fn direction(&self, c: Var<'g>, bound: Bound, at: Var<'g>) -> Result<Bound> {
        if bound == Bound::Exact || is_non_negative(c, &self.non_negative) {
            return Ok(bound);
        }
        if is_non_negative(-c, &self.non_negative) {
            return Ok(bound.opposite());
        }
        Err(not_linear(at, "multiplies a bound by a value that may be positive or negative"))
    }

    fn times(
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

    fn shaping(&self, op: &Shaping, arg: Var<'g>, x: &Form<'g>) -> Option<Form<'g>> {
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
    fn structure(&self, op: &Structure, value: Var<'g>, known: &[&Known<'g>]) -> Option<Form<'g>> {
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

    /// A product that is linear in each of its two arguments.
    fn product(&self, value: Var<'g>, op: &Op, (a, b): (&Known<'g>, &Known<'g>)) -> Result<Option<Form<'g>>> {
        let graph = value.graph();
        let apply = |a, b| graph.apply(op.clone(), &[a, b]);
        let (mut sites, mut shared) = (BTreeSet::new(), BTreeSet::new());
        if let Known::Random(a) = a {
            sites.extend(&a.sites);
        }
        if let Known::Random(b) = b {
            shared = sites.intersection(&b.sites).copied().collect();
            sites.extend(&b.sites);
        }
        let mut out = Form { sites, ..Form::default() };
        let mean = |known: &Known<'g>| match known {
            Known::Fixed(fixed) => Some(*fixed),
            Known::Random(form) => form.mean().filter(|m| m.bound == Bound::Exact).map(|m| m.each),
        };
        if let (Some(x), Some(y), true) = (mean(a), mean(b), shared.is_empty()) {
            out.powers.insert(1, Moment::exact(apply(x, y)));
        } else if let (Known::Fixed(c), Known::Random(x)) | (Known::Random(x), Known::Fixed(c)) = (a, b) {
            // A bound times numbers of one sign.
            let c = *c;
            if let Some(moment) = x.mean() {
                let bound = self.direction(c, moment.bound, value)?;
                let each = match a {
                    Known::Fixed(c) => apply(*c, moment.each),
                    Known::Random(_) => apply(moment.each, c),
                };
                out.powers.insert(1, Moment { each, total: None, bound });
            }
        }
        let positive = |known: &Known<'g>| match known {
            Known::Fixed(fixed) => is_non_negative(*fixed, &self.non_negative).then_some(*fixed),
            Known::Random(form) => {
                form.log.filter(|(_, bound)| *bound != Bound::Upper).map(|(log, _)| geometric_mean(log))
            }
        };
        if let (Some(x), Some(y)) = (positive(a), positive(b)) {
            out.log = Some((apply(x, y).log(), Bound::Lower));
        }
        if out.powers.is_empty() && out.log.is_none() {
            if !shared.is_empty() {
                let problem = format!("multiplies two values that both depend on {}", self.names(&shared));
                return Err(not_linear(value, &problem));
            }
            return Ok(None);
        }
        Ok(Some(out))
    }

    fn linear(
        &self,
        op: Linear,
        value: Var<'g>,
        (left, right): (Var<'g>, Var<'g>),
        (a, b): (&Known<'g>, &Known<'g>),
    ) -> Result<Option<Form<'g>>> {
        if op == Linear::Inner && left.is(right) {
            // The squared norm.
            let Known::Random(x) = a else { return Ok(None) };
            return Ok(x
                .square()
                .filter(|square| square.bound == Bound::Exact)
                .map(|square| Form::of_mean(x.sites.clone(), Moment::exact(square.total()))));
        }
        let Some(mut out) = self.product(value, &Op::Linear(op), (a, b))? else { return Ok(None) };
        let (matrix, vector) = match op {
            Linear::MatVec => (a, b),
            Linear::Inner if left.shape().rank() == 1 => (a, b),
            _ => return Ok(Some(out)),
        };
        if let Some(square) = second_moment(matrix, vector)
            && out.powers.contains_key(&1)
        {
            out.powers.insert(2, square);
        }
        Ok(Some(out))
    }
}

/// `E[(Σ_k a_k b_k)²]` for each row `a` of a matrix, or the one vector, and a vector `b`, independent of each other.
fn second_moment<'g>(matrix: &Known<'g>, vector: &Known<'g>) -> Option<Moment<'g>> {
    let of = |known: &Known<'g>| match known {
        Known::Fixed(fixed) => Some((Some(*fixed), None)),
        Known::Random(form) => form.rows.map(|rows| (None, Some(rows))),
    };
    // ⟨E[a aᵀ], E[b bᵀ]⟩; for a fixed vector a quadratic form.
    let quadratic = |matrix: Var<'g>, vector: Var<'g>| vector.dot(matrix.dot(vector));
    let (each, total) = match (of(matrix)?, of(vector)?) {
        ((_, Some(a)), (Some(b), _)) => match a.each.shape().rank() {
            2 => (quadratic(a.each, b), None),
            3 => {
                let rows = a.each.shape().dims()[0];
                let n = b.shape().elements();
                let products = a.each.reshape([rows, n * n]);
                let each = products.dot(b.outer(b).reshape([n * n]));
                (each, a.total.map(|total| quadratic(total, b)))
            }
            _ => return None,
        },
        ((Some(a), _), (_, Some(b))) => match a.shape().rank() {
            1 => (quadratic(b.each, a), None),
            _ => {
                // Σ_kl a_jk B_kl a_jl
                let (j, n) = (a.shape().dims()[0], a.shape().dims()[1]);
                let product = a.matmul(b.each);
                ((product * a).reshape([j, n]).sum_axis(1), None)
            }
        },
        ((_, Some(a)), (_, Some(b))) => {
            let n = b.each.shape().elements();
            let flat = b.each.reshape([n]);
            match a.each.shape().rank() {
                2 => (a.each.reshape([n]).dot(flat), None),
                3 => {
                    let rows = a.each.shape().dims()[0];
                    let each = a.each.reshape([rows, n]).dot(flat);
                    (each, a.total.map(|total| total.reshape([n]).dot(flat)))
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Moment { each, total, bound: Bound::Exact })
}

/// One of two values, element by element.
/// Whether a log density is −∞ everywhere.
fn is_impossible(log_prob: Var<'_>) -> bool {
    let graph = log_prob.graph();
    let mut node = graph.node(log_prob.id());
    while let (Op::Shaping(_), [from]) = (&node.op, &node.args[..]) {
        node = graph.node(*from);
    }
    matches!(&node.op, Op::Constant(constant) if constant.values().all(|x| x == f64::NEG_INFINITY))
}

fn select<'g>(value: Var<'g>, condition: Var<'g>, a: &Known<'g>, b: &Known<'g>) -> Form<'g> {
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
