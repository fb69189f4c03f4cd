//! Expressions that overflow or cancel, replaced by functions that do neither.
//!
//! | written | becomes |
//! |---|---|
//! | `log(1 + exp x)`, `log1p(exp x)` | `softplus x` |
//! | `log(1 + x)`, `log(1 − x)` | `log1p x`, `log1p(−x)` |
//! | `exp x − 1`, `exp x + (−1)` | `expm1 x` |
//! | `log(sigmoid x)` | `−softplus(−x)` |
//! | `log(1 − sigmoid x)`, `log1p(−sigmoid x)` | `−softplus x` |
//! | `1/(1 + exp x)`, `exp x/(1 + exp x)` | `sigmoid(−x)`, `sigmoid x` |
//! | `log(exp x)`, `√(x²)` | `x`, `abs x` |

use super::pattern::Pattern;
use crate::op::{Binary, Op, Unary};
use crate::var::Var;

/// See [`Rule`](super::Rule).
pub(super) fn rule<'g>(see: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    match (op, args) {
        (Op::Unary(Unary::Log), &[x]) => log(see, x),
        (Op::Unary(Unary::Log1p), &[x]) => log1p(see, x),
        (Op::Unary(Unary::Sqrt), &[x]) => see.unary(x, Unary::Square).map(|y| see.make(Unary::Abs, y)),
        (Op::Unary(Unary::Reciprocal), &[x]) => logistic(see, x),
        (Op::Binary(Binary::Div), &[a, b]) => quotient(see, a, b),
        (Op::Binary(Binary::Sub), &[a, b]) if see.is(b, 1.0) => expm1(see, a),
        (Op::Binary(Binary::Add), &[a, b]) if see.is(b, -1.0) => expm1(see, a),
        (Op::Binary(Binary::Add), &[a, b]) if see.is(a, -1.0) => expm1(see, b),
        _ => None,
    }
}

fn expm1<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    see.unary(x, Unary::Exp).map(|y| see.make(Unary::Expm1, y))
}

fn log<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    if let Some(y) = see.unary(x, Unary::Exp) {
        return Some(y);
    }
    if let Some(y) = see.unary(x, Unary::Sigmoid) {
        return Some(see.negated(see.make(Unary::Softplus, see.negated(y))));
    }
    if let Some(y) = see.one_plus(x) {
        return Some(log1p(see, y).unwrap_or_else(|| see.make(Unary::Log1p, y)));
    }
    let y = see.negated(see.one_minus(x)?);
    Some(log1p(see, y).unwrap_or_else(|| see.make(Unary::Log1p, y)))
}

fn log1p<'g>(see: &Pattern<'g, '_>, x: Var<'g>) -> Option<Var<'g>> {
    if let Some(y) = see.unary(x, Unary::Exp) {
        return Some(see.make(Unary::Softplus, y));
    }
    let y = see.unary(see.unary(x, Unary::Neg)?, Unary::Sigmoid)?;
    Some(see.negated(see.make(Unary::Softplus, y)))
}

/// `1/(1 + exp y) = sigmoid(−y)`
fn logistic<'g>(see: &Pattern<'g, '_>, below: Var<'g>) -> Option<Var<'g>> {
    let y = see.unary(see.one_plus(below)?, Unary::Exp)?;
    Some(see.make(Unary::Sigmoid, see.negated(y)))
}

fn quotient<'g>(see: &Pattern<'g, '_>, above: Var<'g>, below: Var<'g>) -> Option<Var<'g>> {
    if see.is(above, 1.0) {
        return logistic(see, below);
    }
    let (above, below) = (see.unary(above, Unary::Exp)?, see.unary(see.one_plus(below)?, Unary::Exp)?);
    above.is(below).then(|| see.make(Unary::Sigmoid, above))
}
