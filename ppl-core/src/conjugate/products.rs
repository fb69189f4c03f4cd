//! Expectations of products of vectors and matrices, and of their squares.

use super::augment::geometric_mean;
use super::form::{Bound, Form, Known, Moment};
use super::linear::not_linear;
use super::rules::Rules;
use super::sign::is_non_negative;
use crate::base::Result;
use crate::op::{Linear, Op, Var};
use std::collections::BTreeSet;

impl<'g> Rules<'g> {
    /// A product that is linear in each of its two arguments.
    pub(super) fn product(
        &self,
        value: Var<'g>,
        op: &Op,
        (a, b): (&Known<'g>, &Known<'g>),
    ) -> Result<Option<Form<'g>>> {
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

    pub(super) fn linear(
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
