//! The expectation of each operation of a program, from those of its arguments.

use super::augment::{Curvature, softplus};
use super::form::{Bound, Form, Known, Moment, Rows, stretched};
use super::linear::{not_linear, require_linear};
use super::moved::select;
use crate::base::Result;
use crate::model::Constraint;
use crate::op::{Binary, Gather, Op, Reduce, Unary, Var};
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

    pub(super) fn names(&self, sites: &BTreeSet<usize>) -> String {
        let names: Vec<String> = sites.iter().map(|&site| format!("'{}'", self.sites[site])).collect();
        names.join(" and ")
    }

    pub(super) fn nothing_known(&self, value: Var<'g>, form: &Form<'g>) -> crate::base::Error {
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
    pub(super) fn is_sign(&self, value: Var<'g>) -> bool {
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
}

/// Whether a log density is −∞ everywhere.
fn is_impossible(log_prob: Var<'_>) -> bool {
    let graph = log_prob.graph();
    let mut node = graph.node(log_prob.id());
    while let (Op::Shaping(_), [from]) = (&node.op, &node.args[..]) {
        node = graph.node(*from);
    }
    matches!(&node.op, Op::Constant(constant) if constant.values().all(|x| x == f64::NEG_INFINITY))
}
