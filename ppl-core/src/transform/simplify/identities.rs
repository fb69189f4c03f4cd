//! Identities of arithmetic that hold for every floating-point number, bit for bit (but for which NaN a NaN
//! is).

use super::pattern::Pattern;
use crate::op::{Binary, Op, Unary, Var};

/// See [`Rule`](super::Rule).
pub(super) fn rule<'g>(see: &Pattern<'g, '_>, op: &Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    match (op, args) {
        (Op::Unary(f), &[x]) => unary(see, *f, x),
        (Op::Binary(f), &[a, b]) => binary(see, *f, a, b),
        _ => None,
    }
}

fn unary<'g>(see: &Pattern<'g, '_>, f: Unary, x: Var<'g>) -> Option<Var<'g>> {
    let inside = |g: Unary| see.unary(x, g);
    match f {
        // −(−y) = y, and −(c y) = (−c) y for a known c.
        Unary::Neg => inside(Unary::Neg).or_else(|| {
            let (a, b) = see.binary(x, Binary::Mul)?;
            scaled(see, a, b).or_else(|| scaled(see, b, a))
        }),
        // |−y| = |y|, and |y| where y is not negative.
        Unary::Abs => inside(Unary::Neg).map(|y| see.make(Unary::Abs, y)).or_else(|| {
            [Unary::Abs, Unary::Square, Unary::Exp, Unary::Sigmoid, Unary::Softplus]
                .into_iter()
                .any(|positive| inside(positive).is_some())
                .then_some(x)
        }),
        // (−y)² = |y|² = y²
        Unary::Square => {
            inside(Unary::Neg).or_else(|| inside(Unary::Abs)).map(|y| see.make(Unary::Square, y))
        }
        _ => None,
    }
}

/// `(−c) y`, if `c` is a known number.
fn scaled<'g>(see: &Pattern<'g, '_>, c: Var<'g>, y: Var<'g>) -> Option<Var<'g>> {
    let number = c.known()?;
    Some(see.make_binary(Binary::Mul, y, see.graph.constant(-number)))
}

fn binary<'g>(see: &Pattern<'g, '_>, f: Binary, a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
    let negative = |x: Var<'g>| see.unary(x, Unary::Neg);
    match f {
        // a + (−b) = a − b, (−a) + b = b − a, x + (−0) = x
        Binary::Add if see.is(b, -0.0) => Some(a),
        Binary::Add if see.is(a, -0.0) => Some(b),
        Binary::Add => negative(b)
            .map(|b| see.make_binary(Binary::Sub, a, b))
            .or_else(|| negative(a).map(|a| see.make_binary(Binary::Sub, b, a))),
        // x − 0 = x, a − (−b) = a + b
        Binary::Sub if see.is(b, 0.0) => Some(a),
        Binary::Sub => negative(b).map(|b| see.make_binary(Binary::Add, a, b)),
        Binary::Mul if a.is(b) => Some(see.make(Unary::Square, a)),
        Binary::Mul => product(see, a, b).or_else(|| product(see, b, a)).or_else(|| {
            let (a, b) = (negative(a)?, negative(b)?);
            Some(see.make_binary(Binary::Mul, a, b))
        }),
        Binary::Div if see.is(b, 1.0) => Some(a),
        Binary::Div if see.is(b, -1.0) => Some(see.negated(a)),
        Binary::Div if see.is(a, 1.0) => Some(see.make(Unary::Reciprocal, b)),
        Binary::Div => match (b.known().and_then(exact_reciprocal), negative(a), negative(b)) {
            (Some(reciprocal), ..) => Some(see.make_binary(Binary::Mul, a, see.graph.constant(reciprocal))),
            (None, Some(a), Some(b)) => Some(see.make_binary(Binary::Div, a, b)),
            _ => None,
        },
        // At a tie, and at NaN, both are the same.
        Binary::Max | Binary::Min if a.is(b) => Some(a),
        _ => None,
    }
}

/// `x·1 = x`, `x·(−1) = −x`, `(−y)·c = y·(−c)`
fn product<'g>(see: &Pattern<'g, '_>, x: Var<'g>, c: Var<'g>) -> Option<Var<'g>> {
    if see.is(c, 1.0) {
        return Some(x);
    }
    if see.is(c, -1.0) {
        return Some(see.negated(x));
    }
    let (y, number) = (see.unary(x, Unary::Neg)?, c.known()?);
    Some(see.make_binary(Binary::Mul, y, see.graph.constant(-number)))
}

/// `1/c`, where dividing by `c` and multiplying with `1/c` round alike: for powers of two whose reciprocal is
/// a normal number, in single precision too.
fn exact_reciprocal(c: f64) -> Option<f64> {
    let power_of_two = c.is_normal() && c.to_bits() << 12 == 0;
    let reciprocal = c.recip();
    let normal = |x: f64| (x as f32).is_normal();
    (power_of_two && normal(c) && normal(reciprocal)).then_some(reciprocal)
}

#[cfg(test)]
mod tests {
    use super::exact_reciprocal;

    #[test]
    fn only_powers_of_two_have_an_exact_reciprocal() {
        assert_eq!(exact_reciprocal(2.0), Some(0.5));
        assert_eq!(exact_reciprocal(-0.25), Some(-4.0));
        for c in [3.0, 0.1, 0.0, -0.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 2.0_f64.powi(-127), 5e-324]
        {
            assert_eq!(exact_reciprocal(c), None, "{c}");
        }
    }
}
