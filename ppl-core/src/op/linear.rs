//! Products of arrays: where shared values meet the values of a record.

use super::{Cotangent, Misfit, Op, Primitive, Row, Var, Work};
use crate::base::{Error, Shape, Source};
use crate::machine::Scalar;

/// A product of two arrays.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

impl Primitive for Linear {
    fn name(&self) -> &'static str {
        match self {
            Linear::Inner => "inner",
            Linear::MatVec => "matvec",
            Linear::VecMat => "vecmat",
            Linear::Outer => "outer",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [a, b] = args else {
            return Err(Misfit::Count);
        };
        let shape = match (self, a.dims(), b.dims()) {
            (Linear::Inner, a, b) if a == b => Some(Shape::scalar()),
            (Linear::MatVec, [p, d], [e]) if d == e => Some(Shape::from(*p)),
            (Linear::VecMat, [p], [q, d]) if p == q => Some(Shape::from(*d)),
            (Linear::Outer, [p], [d]) => Some(Shape::from([*p, *d])),
            _ => None,
        };
        shape.ok_or(Misfit::Pair)
    }

    /// In each rule the array that may be shared and large gets its cotangent as an unmultiplied product.
    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let (a, b) = (args[0], args[1]);
        Some(match (self, which) {
            (Linear::Inner, 0) => Cotangent::Product { left: cotangent, right: b },
            (Linear::Inner, _) => Cotangent::Product { left: cotangent, right: a },
            (Linear::MatVec, 0) => Cotangent::Product { left: cotangent, right: b },
            (Linear::MatVec, _) => Cotangent::Value(cotangent.vecmat(a)),
            (Linear::VecMat, 0) => Cotangent::Value(b.matvec(cotangent)),
            (Linear::VecMat, _) => Cotangent::Product { left: a, right: cotangent },
            (Linear::Outer, 0) => Cotangent::Value(cotangent.matvec(b)),
            (Linear::Outer, _) => Cotangent::Value(a.vecmat(cotangent)),
        })
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, shared, out, args, .. } = work;
        let (a, b) = (args[0], args[1]);
        if lanes == 0 {
            return;
        }
        if let (true, Linear::Inner, [out]) = (shared, self, &mut *out) {
            *out = lane_product(a.numbers(), b.numbers());
            return;
        }
        if let (1, Some(a), Some(b)) = (lanes, a.of_one_lane(), b.of_one_lane()) {
            return self.run_one_lane(out, a, b);
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

/// Rows of a matrix whose products with a vector are formed together.
const TOGETHER: usize = 8;

impl Linear {
    /// The same for one lane, with the same additions in the same order for each element: what is added to different
    /// elements does not have to wait for each other, and rows of one number are no slices to be found.
    #[inline(always)]
    fn run_one_lane<T: Scalar>(self, out: &mut [T], a: &[T], b: &[T]) {
        match self {
            Linear::Inner => {
                let product = rest_of_products(a, b);
                out.iter_mut().for_each(|out| *out = product);
            }
            Linear::MatVec => {
                let columns = b.len();
                for (first, out) in (0..).step_by(TOGETHER).zip(out.chunks_mut(TOGETHER)) {
                    let rows = &a[first * columns..][..out.len() * columns];
                    let mut sums = [T::zero(); TOGETHER];
                    match out.len() {
                        TOGETHER => {
                            for (k, &x) in b.iter().enumerate() {
                                for j in 0..TOGETHER {
                                    sums[j] += rows[j * columns + k] * x;
                                }
                            }
                        }
                        some => {
                            for (j, sum) in sums[..some].iter_mut().enumerate() {
                                *sum = rest_of_products(&rows[j * columns..][..columns], b);
                            }
                        }
                    }
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
                }
            }
            Linear::VecMat => {
                out.fill(T::zero());
                for (&y, row) in a.iter().zip(b.chunks_exact(out.len().max(1))) {
                    out.iter_mut().zip(row).for_each(|(out, &x)| *out += y * x);
                }
            }
            Linear::Outer => {
                for (out, &u) in out.chunks_exact_mut(b.len().max(1)).zip(a) {
                    // A zero without a sign, as that of a sum is.
                    out.iter_mut().zip(b).for_each(|(out, &v)| *out = T::zero() + u * v);
                }
            }
        }
    }
}

/// `out += a · b`, lane by lane.
#[inline(always)]
pub(crate) fn accumulate<T: Scalar>(out: &mut [T], a: Row<T>, b: Row<T>) {
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

/// `Σ_lane x y`, added up in a fixed number of partial sums so that the order, and with it the result, never
/// changes.
#[inline(always)]
pub(crate) fn lane_product<T: Scalar>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::zero(); PARTIAL_SUMS];
    let (x, y) = add_products(&mut sums, x, y);
    product_of_parts(&sums, x, y)
}

/// Partial sums of [`lane_sum`] and [`lane_product`]: arrays whose length is a multiple of this many can be added one
/// after the other.
pub(crate) const PARTIAL_SUMS: usize = 32;

/// What [`lane_product`] is, of its partial sums and the numbers that are too few for them.
#[inline(always)]
pub(crate) fn product_of_parts<T: Scalar>(sums: &[T; PARTIAL_SUMS], x: &[T], y: &[T]) -> T {
    let (mut narrow, mut four) = ([T::zero(); 8], [T::zero(); 4]);
    // The partial sums stay in registers, because no loop of unknown length goes through them one by one.
    let (x, y) = add_products(&mut narrow, x, y);
    let (x, y) = add_products(&mut four, x, y);
    total(halved(sums), narrow, four, rest_of_products(x, y))
}

/// `Σ x`, added up in a fixed number of partial sums, as [`lane_product`] is.
#[inline(always)]
pub(crate) fn lane_sum<T: Scalar>(x: &[T]) -> T {
    let mut sums = [T::zero(); PARTIAL_SUMS];
    let rest = add_numbers(&mut sums, x);
    sum_of_parts(&sums, rest)
}

/// Adds every 32nd number up, and returns what is left over.
#[inline(always)]
pub(crate) fn add_numbers<'a, T: Scalar>(sums: &mut [T; PARTIAL_SUMS], x: &'a [T]) -> &'a [T] {
    let (parts, rest) = x.as_chunks::<PARTIAL_SUMS>();
    for part in parts {
        for k in 0..PARTIAL_SUMS {
            sums[k] += part[k];
        }
    }
    rest
}

/// What [`lane_sum`] is, of its partial sums and the numbers that are too few for them.
#[inline(always)]
pub(crate) fn sum_of_parts<T: Scalar>(sums: &[T; PARTIAL_SUMS], rest: &[T]) -> T {
    let sixteen: [T; 16] = halved(sums);
    let eight: [T; 8] = halved(&sixteen);
    let [a, b, c, d, e, f, g, h] = std::hint::black_box(CacheLine(eight)).0;
    let sum = ((a + e) + (c + g)) + ((b + f) + (d + h));
    rest.iter().fold(sum, |sum, &x| sum + x)
}

/// The sum of partial sums.
#[inline(always)]
fn total<T: Scalar>(wide: [T; 16], narrow: [T; 8], four: [T; 4], rest: T) -> T {
    let mut eight = CacheLine(halved(&wide));
    eight.0.iter_mut().zip(narrow).for_each(|(sum, more)| *sum += more);
    // Eight numbers that are written side by side, the compiler computes side by side, and what they are made
    // of too; from their sum alone it would work backwards in pairs.
    let [a, b, c, d, e, f, g, h] = std::hint::black_box(eight).0;
    let sum = (((a + e) + four[0]) + ((c + g) + four[2])) + (((b + f) + four[1]) + ((d + h) + four[3]));
    sum + rest
}

/// Numbers in one cache line.
#[repr(align(64))]
struct CacheLine<T>([T; 8]);

#[inline(always)]
fn rest_of_products<T: Scalar>(x: &[T], y: &[T]) -> T {
    x.iter().zip(y).fold(T::zero(), |sum, (&x, &y)| sum + x * y)
}

/// `x_k + x_{k + HALF}`
#[inline(always)]
fn halved<T: Scalar, const HALF: usize, const WHOLE: usize>(x: &[T; WHOLE]) -> [T; HALF] {
    let mut half = [T::zero(); HALF];
    for k in 0..HALF {
        half[k] = x[k] + x[k + HALF];
    }
    half
}

/// Adds every `WIDTH`-th product up, and returns what is left over.
#[inline(always)]
pub(crate) fn add_products<'a, T: Scalar, const WIDTH: usize>(
    sums: &mut [T; WIDTH],
    x: &'a [T],
    y: &'a [T],
) -> (&'a [T], &'a [T]) {
    let ((parts_x, rest_x), (parts_y, rest_y)) = (x.as_chunks::<WIDTH>(), y.as_chunks::<WIDTH>());
    for (x, y) in parts_x.iter().zip(parts_y) {
        for k in 0..WIDTH {
            sums[k] += x[k] * y[k];
        }
    }
    (rest_x, rest_y)
}

/// Products; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    #[track_caller]
    fn linear(self, other: Var<'g>, op: Linear) -> Var<'g> {
        self.graph().apply(Op::Linear(op), &[self, other])
    }

    /// `Σ_k a_k b_k` over two arrays of one shape.
    #[must_use]
    #[track_caller]
    pub fn inner(self, other: Var<'g>) -> Var<'g> {
        if self.shape().is_scalar() && other.shape().is_scalar() {
            return self * other;
        }
        self.linear(other, Linear::Inner)
    }

    /// `(A x)_j = Σ_k A_jk x_k` for a matrix `A` of shape `[p, d]` and a vector of shape `[d]`.
    #[must_use]
    #[track_caller]
    pub fn matvec(self, vector: Var<'g>) -> Var<'g> {
        self.linear(vector, Linear::MatVec)
    }

    /// `(y A)_k = Σ_j y_j A_jk` for a vector of shape `[p]` and a matrix of shape `[p, d]`.
    #[must_use]
    #[track_caller]
    pub fn vecmat(self, matrix: Var<'g>) -> Var<'g> {
        self.linear(matrix, Linear::VecMat)
    }

    /// `(u ⊗ v)_jk = u_j v_k` for two vectors.
    #[must_use]
    #[track_caller]
    pub fn outer(self, other: Var<'g>) -> Var<'g> {
        self.linear(other, Linear::Outer)
    }

    /// The product of mathematics: vector · vector, matrix · vector, or vector · matrix, by the ranks.
    ///
    /// Two matrices are refused: their product is [`matmul`](Var::matmul), and the sum of the products of their
    /// elements [`inner`](Var::inner).
    ///
    /// ```
    /// # use ppl_core::{Graph, Shape};
    /// let graph = Graph::new();
    /// let (w, x) = (graph.input("w", [3, 5])?, graph.input("x", [5])?);
    /// assert_eq!(w.dot(x).shape(), Shape::from([3]));
    /// assert_eq!(x.dot(x).shape(), Shape::scalar());
    /// assert_eq!(x.dot(w).shape(), Shape::scalar()); // a mistake: [5] · [3, 5] …
    /// let message = graph.check().unwrap_err().to_string(); // … which is reported at the next statement
    /// assert!(message.starts_with("dot: shapes [5] and [3, 5] do not go together"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn dot(self, other: Var<'g>) -> Var<'g> {
        let op = match (self.shape().rank(), other.shape().rank()) {
            (0, 0) => return self * other,
            (2, 1) => Linear::MatVec,
            (1, 2) => Linear::VecMat,
            (2.., 2..) => {
                return self.graph().fail(Error::UnexpectedShape {
                    operation: "dot",
                    expected:
                        "a vector on one side at least (matmul multiplies matrices, and inner sums the \
                               products of their elements)"
                            .to_owned(),
                    got: self.shape(),
                    source_line: Source::caller(),
                });
            }
            _ => Linear::Inner,
        };
        self.graph().apply_as("dot", Op::Linear(op), &[self, other])
    }
}
