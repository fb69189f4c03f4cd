//! Cholesky factors, triangular systems and inverses, of small matrices: each lane of a tile has its own.

use super::shaping::copy;
use super::triangle::MatrixPart;
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;

/// An operation of matrix algebra on square matrices (on each, where there are leading axes).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decomposition {
    /// The lower triangular `L` with positive diagonal and `L Lᵀ = A`; reads the lower triangle of `A`.
    Cholesky,
    /// `X` with `A X = B`, or `Aᵀ X = B`; reads one triangle of `A`.
    SolveTriangular {
        /// Whether `A` is the lower triangle of what is given, or else the upper.
        lower: bool,
        /// Whether it is `Aᵀ X = B` that is solved.
        transposed: bool,
    },
    /// `A⁻¹`
    Inverse,
}

impl Decomposition {
    /// Whether the second operand, of these axes, holds one right side for each matrix of the first.
    fn right_side_is_vector(matrix: &Shape, right: &Shape) -> bool {
        right.rank() + 1 == matrix.rank()
    }
}

impl Primitive for Decomposition {
    fn name(&self) -> &'static str {
        match self {
            Decomposition::Cholesky => "cholesky",
            Decomposition::SolveTriangular { lower: true, transposed: false } => "solve_lower",
            Decomposition::SolveTriangular { lower: true, transposed: true } => "solve_lower_transposed",
            Decomposition::SolveTriangular { lower: false, transposed: false } => "solve_upper",
            Decomposition::SolveTriangular { lower: false, transposed: true } => "solve_upper_transposed",
            Decomposition::Inverse => "inverse",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let square = |shape: &Shape| matches!(shape.dims(), [.., n, m] if n == m);
        match (self, args) {
            (Decomposition::SolveTriangular { .. }, [a, b]) => {
                if !square(a) {
                    return Err(Misfit::Argument(0, "a square matrix".to_owned()));
                }
                let rows = &a.dims()[..a.rank() - 1];
                let fits = match b.dims() {
                    b if b == rows => true,
                    [rows_of_b @ .., _] => rows_of_b == rows,
                    [] => false,
                };
                if fits { Ok(b.clone()) } else { Err(Misfit::Pair) }
            }
            (Decomposition::Cholesky | Decomposition::Inverse, [a]) if square(a) => Ok(a.clone()),
            (Decomposition::Cholesky | Decomposition::Inverse, [_]) => {
                Err(Misfit::Argument(0, "a square matrix".to_owned()))
            }
            _ => Err(Misfit::Count),
        }
    }

    /// The inverse eliminates in a copy of its matrix, and has three rows beside: the pivot's size, its row,
    /// and a factor.
    fn scratch_rows(&self, args: &[Shape], _shape: &Shape) -> usize {
        match self {
            Decomposition::Inverse => {
                let n = args[0].dims().last().copied().unwrap_or(0);
                n * n + 3
            }
            _ => 0,
        }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, scratch, .. } = work;
        let n = shapes[0].dims().last().copied().unwrap_or(0);
        if lanes == 0 || n == 0 || out.is_empty() {
            return;
        }
        let columns = match self {
            Decomposition::SolveTriangular { .. } => {
                if Self::right_side_is_vector(&shapes[0], &shapes[1]) {
                    1
                } else {
                    shapes[1].dims().last().copied().unwrap_or(1)
                }
            }
            _ => n,
        };
        for (position, out) in out.chunks_exact_mut(n * columns * lanes).enumerate() {
            let matrix = MatrixRows { operand: args[0], first: position * n * n, columns: n, lanes };
            match *self {
                Decomposition::Cholesky => cholesky(out, matrix, n),
                Decomposition::Inverse => invert(out, matrix, n, scratch),
                Decomposition::SolveTriangular { lower, transposed } => {
                    if lanes == 1 {
                        let size = n * columns;
                        out.copy_from_slice(&args[1].numbers()[position * size..][..size]);
                        let matrix = &args[0].numbers()[position * n * n..][..n * n];
                        solve_one(out, matrix, n, columns, lower, transposed);
                        continue;
                    }
                    for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
                        copy(out, args[1].row(position * n * columns + row, lanes));
                    }
                    solve(out, matrix, n, columns, lower, transposed);
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let matrix = args[0].shape();
        let batch = matrix.rank() - 2;
        let product = |subscripts: &str, a: Var<'g>, b: Var<'g>| a.batched_einsum(subscripts, b, batch);
        let value = match *self {
            // With L̄ the cotangent and Φ the lower triangle with half its diagonal: S = L⁻ᵀ Φ(Lᵀ L̄) L⁻¹, Ā
            // = Φ(S + Sᵀ) (Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, eq. 10;
            // his symmetric Σ̄ is half of S + Sᵀ, and an element below the diagonal stands for two of a
            // symmetric matrix).
            Decomposition::Cholesky => {
                let inner = product("ki,kj->ij", result, cotangent).part(MatrixPart::LowerHalfDiagonal);
                let half = result.solve_lower_transposed(inner);
                let whole = result.solve_lower_transposed(half.matrix_transposed());
                (whole + whole.matrix_transposed()).part(MatrixPart::LowerHalfDiagonal)
            }
            // B̄ = A⁻ᵀ X̄, and Ā is the triangle of −B̄ Xᵀ; with Aᵀ for A: B̄ = A⁻¹ X̄, Ā of −X B̄ᵀ.
            Decomposition::SolveTriangular { lower, transposed } => {
                let right = args[0].solve(cotangent, lower, !transposed);
                if which == 1 {
                    return Some(Cotangent::Value(right));
                }
                let (u, v) = if transposed { (result, right) } else { (right, result) };
                let outer = if Self::right_side_is_vector(&matrix, &result.shape()) {
                    product("i,j->ij", u, v)
                } else {
                    product("ik,jk->ij", u, v)
                };
                -outer.part(if lower { MatrixPart::Lower } else { MatrixPart::Upper })
            }
            // Ā = −A⁻ᵀ Ȳ A⁻ᵀ
            Decomposition::Inverse => -product("ik,jk->ij", product("ki,kj->ij", result, cotangent), result),
        };
        Some(Cotangent::Value(value))
    }
}

/// One matrix of an operand.
#[derive(Clone, Copy)]
struct MatrixRows<'a, T> {
    operand: Operand<'a, T>,
    first: usize,
    columns: usize,
    lanes: usize,
}

impl<'a, T: Scalar> MatrixRows<'a, T> {
    #[inline(always)]
    fn row(&self, i: usize, j: usize) -> Row<'a, T> {
        self.operand.row(self.first + i * self.columns + j, self.lanes)
    }
}

/// Two different rows, the first to be changed.
#[inline(always)]
fn two_rows<T>(data: &mut [T], target: usize, source: usize, lanes: usize) -> (&mut [T], &[T]) {
    let (low, high) = (target.min(source) * lanes, target.max(source) * lanes);
    let (below, above) = data.split_at_mut(high);
    let (low, high) = (&mut below[low..low + lanes], &mut above[..lanes]);
    if target < source { (low, high) } else { (high, low) }
}

/// `target −= factor · source`
#[inline(always)]
fn subtract<T: Scalar>(target: &mut [T], factor: Row<'_, T>, source: &[T]) {
    match factor {
        Row::Lanes(factor) => {
            for ((target, &factor), &source) in target.iter_mut().zip(factor).zip(source) {
                *target = *target - factor * source;
            }
        }
        Row::One(factor) => {
            for (target, &source) in target.iter_mut().zip(source) {
                *target = *target - factor * source;
            }
        }
    }
}

/// `target /= divisor`
#[inline(always)]
fn divide<T: Scalar>(target: &mut [T], divisor: Row<'_, T>) {
    match divisor {
        Row::Lanes(divisor) => {
            target.iter_mut().zip(divisor).for_each(|(target, &divisor)| *target = *target / divisor);
        }
        Row::One(divisor) => target.iter_mut().for_each(|target| *target = *target / divisor),
    }
}

/// `Lᵢⱼ = (Aᵢⱼ − Σₖ Lᵢₖ Lⱼₖ) / Lⱼⱼ`, column by column. A lane whose matrix is not positive definite gets NaN
/// in the whole triangle.
#[inline(always)]
fn cholesky<T: Scalar>(out: &mut [T], a: MatrixRows<'_, T>, n: usize) {
    let lanes = a.lanes;
    for j in 0..n {
        for i in 0..j {
            let above = (i * n + j) * lanes;
            out[above..above + lanes].fill(T::zero());
        }
        for i in j..n {
            let (done, target) = out.split_at_mut((i * n + j) * lanes);
            let target = &mut target[..lanes];
            let row = |i: usize, j: usize| &done[(i * n + j) * lanes..(i * n + j + 1) * lanes];
            copy(target, a.row(i, j));
            for k in 0..j {
                subtract(target, Row::Lanes(row(i, k)), row(j, k));
            }
            if i == j {
                for pivot in target.iter_mut() {
                    *pivot = if *pivot > T::zero() { pivot.sqrt() } else { T::nan() };
                }
            } else {
                divide(target, Row::Lanes(row(j, j)));
            }
        }
    }
    // A bad pivot has made NaN of every later one.
    let (others, last) = out.split_at_mut((n * n - 1) * lanes);
    for (index, row) in others.chunks_exact_mut(lanes).enumerate() {
        if index % n <= index / n {
            for (value, last) in row.iter_mut().zip(&*last) {
                *value = if last.is_nan() { T::nan() } else { *value };
            }
        }
    }
}

/// Substitution in place, forward where the matrix that stands on the left is lower triangular, else
/// backward.
#[inline(always)]
fn solve<T: Scalar>(
    x: &mut [T],
    a: MatrixRows<'_, T>,
    n: usize,
    columns: usize,
    lower: bool,
    transposed: bool,
) {
    let lanes = a.lanes;
    let entry = |i: usize, j: usize| if transposed { a.row(j, i) } else { a.row(i, j) };
    let forward = lower != transposed;
    for step in 0..n {
        let i = if forward { step } else { n - 1 - step };
        for earlier in 0..step {
            let k = if forward { earlier } else { n - 1 - earlier };
            for column in 0..columns {
                let (target, source) = two_rows(x, i * columns + column, k * columns + column, lanes);
                subtract(target, entry(i, k), source);
            }
        }
        for row in x[i * columns * lanes..(i + 1) * columns * lanes].chunks_exact_mut(lanes) {
            divide(row, entry(i, i));
        }
    }
}

/// The same for one matrix of numbers, whose right sides stand side by side: they are what is swept over, in parts
/// that stay in the first-level cache.
#[inline(always)]
fn solve_one<T: Scalar>(x: &mut [T], a: &[T], n: usize, columns: usize, lower: bool, transposed: bool) {
    const PART: usize = 512;
    let entry = |i: usize, j: usize| Row::One(if transposed { a[j * n + i] } else { a[i * n + j] });
    let forward = lower != transposed;
    let place = |step: usize| if forward { step } else { n - 1 - step };
    for start in (0..columns).step_by(PART) {
        let width = PART.min(columns - start);
        let at = |row: usize| row * columns + start;
        for i in (0..n).map(place) {
            for k in (0..n).map(place).take_while(|&k| k != i) {
                let (low, high) = (at(i.min(k)), at(i.max(k)));
                let (below, above) = x.split_at_mut(high);
                let (low, high) = (&mut below[low..low + width], &mut above[..width]);
                let (target, source) = if i < k { (low, &*high) } else { (high, &*low) };
                subtract(target, entry(i, k), source);
            }
            divide(&mut x[at(i)..at(i) + width], entry(i, i));
        }
    }
}

/// Gauss–Jordan elimination with partial pivoting, each lane with pivots of its own. A singular matrix gives
/// NaN.
#[inline(always)]
fn invert<T: Scalar>(out: &mut [T], a: MatrixRows<'_, T>, n: usize, scratch: &mut [T]) {
    let lanes = a.lanes;
    let (work, rest) = scratch.split_at_mut(n * n * lanes);
    let (largest, rest) = rest.split_at_mut(lanes);
    let (pivot_row, factor) = rest.split_at_mut(lanes);
    let factor = &mut factor[..lanes];
    for i in 0..n {
        for j in 0..n {
            let range = (i * n + j) * lanes..(i * n + j + 1) * lanes;
            copy(&mut work[range.clone()], a.row(i, j));
            out[range].fill(if i == j { T::one() } else { T::zero() });
        }
    }
    for c in 0..n {
        // The largest of the column, from the diagonal downwards.
        largest.fill(T::zero());
        pivot_row.fill(T::of(c as f64));
        for r in c..n {
            let row = T::of(r as f64);
            let column = &work[(r * n + c) * lanes..(r * n + c + 1) * lanes];
            for ((largest, pivot_row), value) in largest.iter_mut().zip(&mut *pivot_row).zip(column) {
                if value.abs() > *largest {
                    (*largest, *pivot_row) = (value.abs(), row);
                }
            }
        }
        for r in c + 1..n {
            swap_where(work, pivot_row, r, c, n, lanes);
            swap_where(out, pivot_row, r, c, n, lanes);
        }
        let pivot = &work[(c * n + c) * lanes..(c * n + c + 1) * lanes];
        for (factor, &pivot) in factor.iter_mut().zip(pivot) {
            *factor = if pivot == T::zero() { T::nan() } else { pivot };
        }
        for j in 0..n {
            let range = (c * n + j) * lanes..(c * n + j + 1) * lanes;
            divide(&mut work[range.clone()], Row::Lanes(factor));
            divide(&mut out[range], Row::Lanes(factor));
        }
        for r in (0..n).filter(|&r| r != c) {
            factor.copy_from_slice(&work[(r * n + c) * lanes..(r * n + c + 1) * lanes]);
            for data in [&mut *work, &mut *out] {
                for j in 0..n {
                    let (target, source) = two_rows(data, r * n + j, c * n + j, lanes);
                    subtract(target, Row::Lanes(factor), source);
                }
            }
        }
    }
}

/// Exchanges rows `r` and `c` of the matrix in the lanes whose pivot is in row `r`.
#[inline(always)]
fn swap_where<T: Scalar>(data: &mut [T], pivot_row: &[T], r: usize, c: usize, n: usize, lanes: usize) {
    let row = T::of(r as f64);
    let (upper, lower) = data.split_at_mut(r * n * lanes);
    for j in 0..n {
        let upper = &mut upper[(c * n + j) * lanes..(c * n + j + 1) * lanes];
        let lower = &mut lower[j * lanes..(j + 1) * lanes];
        for ((upper, lower), &pivot_row) in upper.iter_mut().zip(lower).zip(pivot_row) {
            if pivot_row == row {
                std::mem::swap(upper, lower);
            }
        }
    }
}

/// Matrix algebra; each fails softly, as [`Graph`](crate::Graph) says. Leading axes hold several matrices.
impl<'g> Var<'g> {
    #[track_caller]
    fn decomposition(self, op: Decomposition) -> Var<'g> {
        self.graph().apply(Op::Decomposition(op), &[self])
    }

    #[track_caller]
    fn solve(self, right: Var<'g>, lower: bool, transposed: bool) -> Var<'g> {
        let op = Decomposition::SolveTriangular { lower, transposed };
        self.graph().apply(Op::Decomposition(op), &[self, right])
    }

    /// The Cholesky factor of a symmetric positive definite matrix: the lower triangular `L` with positive
    /// diagonal and `L Lᵀ = A`; `[…, n, n] → […, n, n]`.
    ///
    /// Only the lower triangle of `A` is read, and gets a cotangent. Where `A` is not positive definite the
    /// lower triangle of the result is NaN. Golub and Van Loan, Matrix Computations, section 4.2; derivative:
    /// Murray (2016), arXiv:1602.07527.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let a = graph.input("a", [2, 2])?;
    /// let l = a.cholesky();
    /// let x = l.cholesky_solve(graph.input("b", 2)?); // A⁻¹ b
    /// let outputs = [l, x, l.cholesky_log_determinant()];
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs)?);
    /// plan.set("a", &[4.0, 2.0, 2.0, 5.0])?;
    /// plan.set("b", &[16.0, 16.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [2.0, 0.0, 1.0, 2.0]);
    /// assert_eq!(plan.output(1), [3.0, 2.0]);
    /// assert!((plan.output(2)[0] - 16.0_f64.ln()).abs() < 1e-15);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn cholesky(self) -> Var<'g> {
        self.decomposition(Decomposition::Cholesky)
    }

    /// `X` with `L X = B`, where `L` is the lower triangle of `self`.
    ///
    /// Shapes: `[…, n, n]`, and for the right side `[…, n]` (a vector for each matrix) or `[…, n, m]`. A zero
    /// on the diagonal gives infinities or NaN. The same holds for the three that follow.
    #[must_use]
    #[track_caller]
    pub fn solve_lower(self, right: Var<'g>) -> Var<'g> {
        self.solve(right, true, false)
    }

    /// `X` with `Lᵀ X = B`, where `L` is the lower triangle of `self`.
    #[must_use]
    #[track_caller]
    pub fn solve_lower_transposed(self, right: Var<'g>) -> Var<'g> {
        self.solve(right, true, true)
    }

    /// `X` with `U X = B`, where `U` is the upper triangle of `self`.
    #[must_use]
    #[track_caller]
    pub fn solve_upper(self, right: Var<'g>) -> Var<'g> {
        self.solve(right, false, false)
    }

    /// `X` with `Uᵀ X = B`, where `U` is the upper triangle of `self`.
    #[must_use]
    #[track_caller]
    pub fn solve_upper_transposed(self, right: Var<'g>) -> Var<'g> {
        self.solve(right, false, true)
    }

    /// `X` with `L Lᵀ X = B`, for a Cholesky factor `L`; shapes as at [`Var::solve_lower`].
    #[must_use]
    #[track_caller]
    pub fn cholesky_solve(self, right: Var<'g>) -> Var<'g> {
        self.solve_lower_transposed(self.solve_lower(right))
    }

    /// `ln det(L Lᵀ) = 2 Σᵢ ln Lᵢᵢ`, for a Cholesky factor `L`; `[…, n, n] → […]`.
    #[must_use]
    #[track_caller]
    pub fn cholesky_log_determinant(self) -> Var<'g> {
        let logs = self.diagonal().log();
        2.0 * logs.sum_axis(logs.shape().rank().saturating_sub(1))
    }

    /// `ln det A` of a symmetric positive definite matrix, by its Cholesky factor; NaN for any other.
    /// `[…, n, n] → […]`.
    #[must_use]
    #[track_caller]
    pub fn log_determinant(self) -> Var<'g> {
        self.cholesky().cholesky_log_determinant()
    }

    /// `A⁻¹`, by elimination with partial pivoting; NaN where a pivot is 0. `[…, n, n] → […, n, n]`.
    ///
    /// For a positive definite matrix, [`Var::cholesky_solve`] is more accurate and cheaper than a product
    /// with the inverse.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let a = graph.input("a", [2, 2])?;
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[a.inverse()])?);
    /// plan.set("a", &[0.0, 2.0, 4.0, 0.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [0.0, 0.25, 0.5, 0.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn inverse(self) -> Var<'g> {
        self.decomposition(Decomposition::Inverse)
    }
}
