//! Parts of square matrices: triangles and diagonals.

use super::shaping::copy;
use super::{Cotangent, Misfit, Op, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;

/// A part of a square matrix (of each matrix, where there are leading axes). What is left out is 0, whatever
/// stood there.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MatrixPart {
    /// `Aᵢⱼ` where `i ≥ j`.
    Lower,
    /// `Aᵢⱼ` where `i ≤ j`.
    Upper,
    /// `Aᵢⱼ` where `i > j`, and `½ Aᵢᵢ`: the Φ of the derivative of a Cholesky factor.
    LowerHalfDiagonal,
    /// The vector `Aᵢᵢ`.
    Diagonal,
    /// The matrix with a given vector as its diagonal.
    DiagonalMatrix,
}

impl Primitive for MatrixPart {
    fn name(&self) -> &'static str {
        match self {
            MatrixPart::Lower => "lower_triangle",
            MatrixPart::Upper => "upper_triangle",
            MatrixPart::LowerHalfDiagonal => "lower_triangle_half_diagonal",
            MatrixPart::Diagonal => "diagonal",
            MatrixPart::DiagonalMatrix => "diagonal_matrix",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [x] = args else {
            return Err(Misfit::Count);
        };
        match (self, x.dims()) {
            (MatrixPart::DiagonalMatrix, [.., n]) => Ok(x.concat(&Shape::from(*n))),
            (MatrixPart::DiagonalMatrix, []) => Err(Misfit::Argument(0, "a vector".to_owned())),
            (MatrixPart::Diagonal, [leading @ .., n, m]) if n == m => {
                Ok(Shape::from(leading).concat(&Shape::from(*n)))
            }
            (_, [.., n, m]) if n == m => Ok(x.clone()),
            _ => Err(Misfit::Argument(0, "a square matrix".to_owned())),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, .. } = work;
        let x = args[0];
        let n = shapes[0].dims().last().copied().unwrap_or(1);
        if lanes == 0 || n == 0 {
            return;
        }
        if *self == MatrixPart::Diagonal {
            for (index, out) in out.chunks_exact_mut(lanes).enumerate() {
                copy(out, x.row(index / n * n * n + index % n * (n + 1), lanes));
            }
            return;
        }
        for (index, out) in out.chunks_exact_mut(lanes).enumerate() {
            let (i, j) = (index / n % n, index % n);
            let inside = match self {
                MatrixPart::Lower | MatrixPart::LowerHalfDiagonal => i >= j,
                MatrixPart::Upper => i <= j,
                MatrixPart::Diagonal | MatrixPart::DiagonalMatrix => i == j,
            };
            match self {
                _ if !inside => out.fill(T::zero()),
                MatrixPart::DiagonalMatrix => copy(out, x.row(index / n, lanes)),
                MatrixPart::LowerHalfDiagonal if i == j => {
                    let half = T::of(0.5);
                    match x.row(index, lanes) {
                        Row::Lanes(x) => out.iter_mut().zip(x).for_each(|(out, &x)| *out = half * x),
                        Row::One(x) => out.fill(half * x),
                    }
                }
                _ => copy(out, x.row(index, lanes)),
            }
        }
    }

    /// Each is linear; taking a triangle is its own transpose, and the two about diagonals are each other's.
    fn pullback<'g>(
        &self,
        _args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        let transpose = match self {
            MatrixPart::Diagonal => MatrixPart::DiagonalMatrix,
            MatrixPart::DiagonalMatrix => MatrixPart::Diagonal,
            same => *same,
        };
        Some(Cotangent::Value(cotangent.part(transpose)))
    }
}

/// Parts of square matrices; each fails softly, as [`Graph`](crate::Graph) says. Leading axes hold several
/// matrices.
impl<'g> Var<'g> {
    #[track_caller]
    pub(crate) fn part(self, part: MatrixPart) -> Var<'g> {
        self.graph().apply(Op::MatrixPart(part), &[self])
    }

    /// `Aᵢⱼ` where `i ≥ j`, else 0; `[…, n, n] → […, n, n]`.
    #[must_use]
    #[track_caller]
    pub fn lower_triangle(self) -> Var<'g> {
        self.part(MatrixPart::Lower)
    }

    /// `Aᵢⱼ` where `i ≤ j`, else 0; `[…, n, n] → […, n, n]`.
    #[must_use]
    #[track_caller]
    pub fn upper_triangle(self) -> Var<'g> {
        self.part(MatrixPart::Upper)
    }

    /// The vector `Aᵢᵢ`; `[…, n, n] → […, n]`.
    #[must_use]
    #[track_caller]
    pub fn diagonal(self) -> Var<'g> {
        self.part(MatrixPart::Diagonal)
    }

    /// The matrix with this diagonal, and 0 elsewhere; `[…, n] → […, n, n]`.
    #[must_use]
    #[track_caller]
    pub fn diagonal_matrix(self) -> Var<'g> {
        self.part(MatrixPart::DiagonalMatrix)
    }
}
