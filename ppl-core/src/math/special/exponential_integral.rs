//! The exponential integral.

use crate::math::{exp, ln};

/// Euler's constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// eˣ E₁(x) = ∫₀^∞ e^(−t)/(x + t) dt for x ≥ 0 (NIST DLMF 6.2.1): ∞ at 0, 0 at ∞, NaN below.
///
/// Up to 1 by the series 6.6.2, −γ − ln x − Σ (−x)ⁿ/(n n!), of which no digits cancel there; above by the continued
/// fraction 6.9.1, evaluated from its end, where roundings do not add up. Relative error below 2e-15.
pub fn exponential_integral(x: f64) -> f64 {
    if !(x >= 0.0) {
        return f64::NAN;
    }
    if x == 0.0 || x == f64::INFINITY {
        return 1.0 / x;
    }
    if x <= 1.0 {
        let (mut term, mut sum) = (1.0, 0.0);
        for n in 1..40 {
            let n = f64::from(n);
            term *= -x / n;
            sum -= term / n;
            if term.abs() <= 1e-18 * sum.abs() {
                break;
            }
        }
        return exp(x) * ((-GAMMA - ln(x)) + sum);
    }
    // 1/(x + 1 − 1/(x + 3 − 4/(x + 5 − 9/(x + 7 − …)))): what is left out after n terms is about e^(−4 √(nx)) of it.
    let terms = (100.0 / x).ceil() + 8.0;
    let mut denominator = x + (2.0 * terms + 1.0);
    let mut n = terms;
    while n >= 1.0 {
        denominator = (x + (2.0 * n - 1.0)) - n * n / denominator;
        n -= 1.0;
    }
    denominator.recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By mpmath, 40 digits.
    #[test]
    fn has_its_golden_values() {
        for (x, truth) in [
            (1e-300, 690.1983122333122),
            (1e-10, 22.44863526738379),
            (0.001, 6.337874070325488),
            (0.1, 2.0146425447084515),
            (0.5, 0.9229106324837305),
            (0.999, 0.5967513133686858),
            (1.0, 0.5963473623231941),
            (1.001, 0.5959440076254477),
            (1.5, 0.448256669291583),
            (2.0, 0.3613286168882226),
            (5.0, 0.1704221762847322),
            (20.0, 0.04771854549596084),
            (100.0, 0.009901942286733018),
            (700.0, 0.0014265364183008867),
            (100000.0, 9.99990000199994e-06),
            (1e+300, 1e-300),
        ] {
            let got = exponential_integral(x);
            assert!((got - truth).abs() <= 2e-15 * truth, "{x}: {got} is not {truth}");
        }
        assert_eq!((exponential_integral(0.0), exponential_integral(f64::INFINITY)), (f64::INFINITY, 0.0));
        assert!(exponential_integral(-1.0).is_nan() && exponential_integral(f64::NAN).is_nan());
    }
}
