//! Products of arrays: where shared values meet the values of a record.

use super::{Cotangent, Operand, Row};
use crate::scalar::Scalar;
use crate::var::Var;

/// A product of two arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Linear {
    /// `Σ_k a_k b_k` over arrays of one shape.
    Inner,
    /// `(A x)_j = Σ_k A_jk x_k`
    MatVec,
    /// `(y A)_k = Σ_j y_j A_jk`
    VecMat,
    /// `(u ⊗ v)_jk = u_j v_k`
    Outer,
}

impl Linear {
    /// The name of the method that builds it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Linear::Inner => "inner",
            Linear::MatVec => "matvec",
            Linear::VecMat => "vecmat",
            Linear::Outer => "outer",
        }
    }

    /// In each rule the array that may be shared and large gets its cotangent as an unmultiplied product.
    pub(crate) fn pullback<'g>(
        self,
        a: Var<'g>,
        b: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Cotangent<'g> {
        match (self, which) {
            (Linear::Inner, 0) => Cotangent::Product { left: cotangent, right: b },
            (Linear::Inner, _) => Cotangent::Product { left: cotangent, right: a },
            (Linear::MatVec, 0) => Cotangent::Product { left: cotangent, right: b },
            (Linear::MatVec, _) => Cotangent::Value(cotangent.vecmat(a)),
            (Linear::VecMat, 0) => Cotangent::Value(b.matvec(cotangent)),
            (Linear::VecMat, _) => Cotangent::Product { left: a, right: cotangent },
            (Linear::Outer, 0) => Cotangent::Value(cotangent.matvec(b)),
            (Linear::Outer, _) => Cotangent::Value(a.vecmat(cotangent)),
        }
    }

    pub(crate) fn run<T: Scalar>(self, lanes: usize, out: &mut [T], a: Operand<T>, b: Operand<T>) {
        if lanes == 0 {
            return;
        }
        let (rows_a, rows_b) = (a.rows(lanes), b.rows(lanes));
        match self {
            Linear::Inner => {
                out.fill(T::zero());
                for k in 0..rows_a {
                    accumulate(out, a.row(k, lanes), b.row(k, lanes));
                }
            }
            Linear::MatVec => {
                for (j, out) in out.chunks_exact_mut(lanes).enumerate() {
                    out.fill(T::zero());
                    for k in 0..rows_b {
                        accumulate(out, a.row(j * rows_b + k, lanes), b.row(k, lanes));
                    }
                }
            }
            Linear::VecMat => {
                let columns = out.len() / lanes;
                out.fill(T::zero());
                for j in 0..rows_a {
                    for (k, out) in out.chunks_exact_mut(lanes).enumerate() {
                        accumulate(out, a.row(j, lanes), b.row(j * columns + k, lanes));
                    }
                }
            }
            Linear::Outer => {
                for (index, out) in out.chunks_exact_mut(lanes).enumerate() {
                    out.fill(T::zero());
                    accumulate(out, a.row(index / rows_b, lanes), b.row(index % rows_b, lanes));
                }
            }
        }
    }
}

/// `out += a · b`, lane by lane.
#[inline]
fn accumulate<T: Scalar>(out: &mut [T], a: Row<T>, b: Row<T>) {
    match (a, b) {
        (Row::Lanes(a), Row::Lanes(b)) => {
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *out += a * b;
            }
        }
        (Row::Lanes(x), Row::One(c)) | (Row::One(c), Row::Lanes(x)) => {
            for (out, &x) in out.iter_mut().zip(x) {
                *out += c * x;
            }
        }
        (Row::One(a), Row::One(b)) => out.iter_mut().for_each(|out| *out += a * b),
    }
}

/// `Σ_lane x y`, added up in eight partial sums so that the order, and with it the result, never changes.
#[inline]
pub(crate) fn lane_product<T: Scalar>(x: &[T], y: &[T]) -> T {
    let mut partial = [T::zero(); 8];
    let (chunks_x, chunks_y) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest = chunks_x.remainder().iter().zip(chunks_y.remainder());
    let rest: T = rest.map(|(&x, &y)| x * y).sum();
    for (x, y) in chunks_x.zip(chunks_y) {
        for lane in 0..8 {
            partial[lane] += x[lane] * y[lane];
        }
    }
    let [a, b, c, d, e, f, g, h] = partial;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + rest
}
