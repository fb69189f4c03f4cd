//! Number types as vectors of an instruction set, for the loops that a compiler does not vectorise well by
//! itself.

use pulp::Simd;

/// A number type that comes in vectors.
pub trait Vectors: Copy {
    /// A vector of the instruction set `S`.
    type Vector<S: Simd>: Copy;

    /// Numbers in a vector.
    fn lanes<S: Simd>() -> usize;
    /// Zeros.
    fn zeros<S: Simd>(simd: S) -> Self::Vector<S>;
    /// The same number everywhere.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// Numbers as vectors, and the rest.
    fn split<S: Simd>(values: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    /// Numbers as vectors, and the rest, both to be written.
    fn split_mut<S: Simd>(values: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// Fewer numbers than a vector has, with zeros behind them.
    fn partial<S: Simd>(simd: S, values: &[Self]) -> Self::Vector<S>;
    /// `a + b`
    fn added<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// `a · b`
    fn multiplied<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// All numbers of a vector added up: its second half to its first, and so on.
    fn total<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
}

macro_rules! vectors {
    ($float:ident, $vector:ident, $lanes:ident, $splat:ident, $split:ident, $split_mut:ident, $partial:ident, $add:ident, $mul:ident, $sum:ident) => {
        impl Vectors for $float {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn zeros<S: Simd>(simd: S) -> S::$vector {
                simd.$splat(0.0)
            }
            #[inline(always)]
            fn split<S: Simd>(values: &[$float]) -> (&[S::$vector], &[$float]) {
                S::$split(values)
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: $float) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn split_mut<S: Simd>(values: &mut [$float]) -> (&mut [S::$vector], &mut [$float]) {
                S::$split_mut(values)
            }
            #[inline(always)]
            fn partial<S: Simd>(simd: S, values: &[$float]) -> S::$vector {
                simd.$partial(values)
            }
            #[inline(always)]
            fn added<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn multiplied<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn total<S: Simd>(simd: S, a: S::$vector) -> $float {
                simd.$sum(a)
            }
        }
    };
}

vectors! { f32, f32s, F32_LANES, splat_f32s, as_simd_f32s, as_mut_simd_f32s, partial_load_f32s, add_f32s, mul_f32s, reduce_sum_f32s }
vectors! { f64, f64s, F64_LANES, splat_f64s, as_simd_f64s, as_mut_simd_f64s, partial_load_f64s, add_f64s, mul_f64s, reduce_sum_f64s }
