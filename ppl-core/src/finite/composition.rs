//! What a divergence becomes when the outcome of one distribution goes into a kernel.

use super::{ChiSquared, Hellinger, Interval, KullbackLeibler, TotalVariation};

/// A divergence with a rule for programs that are run one after the other: if `p` and `q` are at most `first`
/// apart, and the kernels `k(·|x)` and `l(·|x)` at most `second` for every `x`, then `p.and_then(k)` and
/// `q.and_then(l)` are at most `in_sequence(first, second)` apart. By the data-processing inequality a
/// function of the outcome (`map`) changes nothing.
///
/// | divergence | rule |
/// |---|---|
/// | total variation | `1 − (1 − a)(1 − b)` |
/// | Hellinger | `√(1 − (1 − a²)(1 − b²))`, which is below the sum `a + b` of PrivInfer |
/// | Kullback–Leibler | `a + b` |
/// | χ² | `(1 + a)(1 + b) − 1` |
///
/// Hockey-stick divergences compose as pairs: `(ε₁ + ε₂, δ₁ + δ₂)`.
///
/// There is no rule for `observe` beyond these: with the same predicate and the same prior in both runs
/// nothing changes; where the priors' weights are within factors of `e^±ε` of each other, those of the
/// posteriors are within `e^±2ε`; for anything else a bound comes from enumeration or from a lemma of its
/// own.
///
/// ```
/// use ppl_core::finite::{Hellinger, InSequence, Interval};
/// let both = Hellinger::in_sequence(Interval::exact(0.3), Interval::exact(0.4));
/// assert!(both.upper() < 0.7 && both.contains(0.485386443980464));
/// ```
pub trait InSequence {
    /// The bound for both.
    fn in_sequence(first: Interval, second: Interval) -> Interval;
}

/// 1 − x.
fn complement(x: Interval) -> Interval {
    (Interval::ONE - x).positive()
}

impl InSequence for TotalVariation {
    fn in_sequence(first: Interval, second: Interval) -> Interval {
        (Interval::ONE - complement(first) * complement(second)).positive()
    }
}

impl InSequence for Hellinger {
    fn in_sequence(first: Interval, second: Interval) -> Interval {
        let affinity = complement(first.square()) * complement(second.square());
        (Interval::ONE - affinity).positive().sqrt()
    }
}

impl InSequence for KullbackLeibler {
    fn in_sequence(first: Interval, second: Interval) -> Interval {
        first + second
    }
}

impl InSequence for ChiSquared {
    fn in_sequence(first: Interval, second: Interval) -> Interval {
        first + second + first * second
    }
}
