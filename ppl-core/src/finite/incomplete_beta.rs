//! The distribution function of Beta distributions, between two numbers.

use super::Interval;
use super::conjugate::log_beta_function;

/// The most terms of a series; some tens of √(a + b) are needed.
const MOST: u32 = 1_000_000;

/// The probability of at most `x` under `Beta(a, b)`, with `ln x` and `ln(1 − x)` given:
///
/// ```text
/// x^a (1 − x)^b / (a B(a, b)) · Σ_n x^n Π_{k<n} (a + b + k)/(a + 1 + k)         (NIST DLMF 8.17.8)
/// ```
///
/// All terms are positive, so nothing cancels; above the mean the other side is summed. From some term on the
/// ratio of terms is at most the larger of itself and `x`, which bounds what is left out by a geometric
/// series.
pub(super) fn beta_probabilities(
    (a, b): (Interval, Interval),
    (ln_x, ln_rest): (Interval, Interval),
) -> Interval {
    let x = ln_x.exp();
    let mean = a.estimate() / (a.estimate() + b.estimate());
    match x.estimate() <= mean.max(1e-300) {
        true => lower_side((a, b), (ln_x, ln_rest), x),
        false => Interval::ONE - lower_side((b, a), (ln_rest, ln_x), ln_rest.exp()),
    }
}

fn lower_side((a, b): (Interval, Interval), (ln_x, ln_rest): (Interval, Interval), x: Interval) -> Interval {
    let unit = Interval::between(0.0, 1.0);
    let Some(log_beta) = log_beta_function(&[a, b]) else { return unit };
    let front = (a * ln_x + b * ln_rest - log_beta).exp() / a;
    let (mut term, mut sum) = (Interval::ONE, Interval::ONE);
    let (mut above, mut below) = (a + b, a + Interval::ONE);
    for _ in 0..MOST {
        let ratio = above / below * x;
        term = term * ratio;
        sum = sum + term;
        (above, below) = (above + Interval::ONE, below + Interval::ONE);
        let largest = Interval::exact(ratio.upper().max(x.upper()));
        if term.upper() < 1e-18 * sum.lower() && largest.upper() < 1.0 {
            let rest = term * largest / (Interval::ONE - largest);
            sum = sum + Interval::between(0.0, rest.upper());
            let probability = front * sum;
            return Interval::between(
                probability.lower().clamp(0.0, 1.0),
                probability.upper().clamp(0.0, 1.0),
            );
        }
    }
    unit
}
