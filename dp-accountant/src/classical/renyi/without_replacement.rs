//! The Gaussian mechanism on batches drawn without replacement, under replace-one.

use std::f64::consts::{LN_2, PI};

use super::super::log_space::{LogSum, log_binomial, log_exp_minus_one, log_one_plus_exp};
use super::Terms;
use super::poisson;

/// Orders above this are not considered: the terms of the bound are computed up to it.
pub(super) const LARGEST_ORDER: usize = 1_024;

/// The bound of one event at all integer orders: the logarithms of its terms without their binomial
/// coefficients.
///
/// With e(j) = j/(2σ²) the Rényi divergence of the unsampled mechanism (σ over the *replace-one*
/// sensitivity):
///
/// ```text
/// (a-1) R(a) <= log{ 1 + q² C(a,2) min[4 (e^e(2) - 1), 2 e^e(2)] + Σ_{j=3..a} q^j C(a,j) t_j }
/// t_j = 2 e^((j-1) e(j)),   or, tight,   min[that, 4 sqrt(B(2⌊j/2⌋) B(2⌈j/2⌉))]
/// B(l) = E over Q of (P/Q - 1)^l,   P = N(1, σ²), Q = N(0, σ²), l even
/// ```
///
/// # References
/// Wang, Balle and Kasiviswanathan 2019, "Subsampled Rényi Differential Privacy and Analytical Moments
/// Accountant", Theorem 9 (plain terms) and Theorem 27 (tight terms). The constant 4 was checked numerically
/// for Gaussians: for centres of r, p and q on an equilateral triangle or a line, no farther apart than the
/// sensitivity, E_r ((p - q)/r)^j was at most 2 B(j) for even j from 2 to 16 and σ from 0.3 to 10.
#[derive(Debug, Clone)]
pub(super) struct WithoutReplacement {
    /// `terms[j]` is the logarithm of q^j t_j; the first two are unused.
    terms: Vec<f64>,
}

impl WithoutReplacement {
    pub(super) fn new(multiplier: f64, rate: f64, terms: Terms) -> Self {
        let precision = 1.0 / multiplier / multiplier;
        let plain = |j: usize| LN_2 + (j * (j - 1)) as f64 * 0.5 * precision;
        let second = (2.0 * LN_2 + log_exp_minus_one(precision)).min(LN_2 + precision);
        // B at even arguments, where it can matter at all; infinite elsewhere, so that the plain term is
        // taken.
        let tight: Vec<f64> =
            (0..=LARGEST_ORDER / 2 + 1)
                .map(|half| {
                    if terms == Terms::Plain || half == 0 {
                        f64::INFINITY
                    } else {
                        log_b(multiplier, 2 * half)
                    }
                })
                .collect();
        let log_term = |j: usize| match j {
            0 | 1 => f64::NEG_INFINITY,
            2 => second,
            _ => plain(j).min(2.0 * LN_2 + 0.5 * (tight[j / 2] + tight[j.div_ceil(2)])),
        };
        let log_rate = rate.ln();
        Self { terms: (0..=LARGEST_ORDER).map(|j| j as f64 * log_rate + log_term(j)).collect() }
    }

    /// (order - 1) times the bound on the divergence; between integers, where it is convex, its chord.
    pub(super) fn log_moment(&self, order: f64) -> f64 {
        if order > LARGEST_ORDER as f64 {
            return f64::INFINITY;
        }
        let (below, share) = (order.floor(), order.fract());
        if share == 0.0 {
            return self.at_integer(below);
        }
        (1.0 - share) * self.at_integer(below) + share * self.at_integer(below + 1.0)
    }

    fn at_integer(&self, order: f64) -> f64 {
        let mut sum = LogSum::new();
        for (j, term) in self.terms.iter().enumerate().take(order as usize + 1).skip(2) {
            sum.add(log_binomial(order, j as f64) + term);
        }
        log_one_plus_exp(sum.value())
    }
}

/// `log B(l)` for even `l`, or infinity where the plain term is smaller anyway.
///
/// The alternating sum Σ (-1)^i C(l,i) e^(i(i-1)/(2σ²)) loses all digits for l above about 20. Here B is
/// integrated instead: (e^t - 1)^l is never negative for even l, so that nothing cancels.
///
/// # Accuracy
/// The integrand is entire, and on the line Im x = d at most e^(d²/(2σ²)) times the integrand of G = E (1 +
/// e^t)^l. The trapezoid rule of step h then errs by at most 2 e^(-2π²σ²/h²) G (with d = 2πσ²/h). The step
/// makes that 1e-17 of B, with B(l) >= B(2)^(l/2) by the inequality of power means. On either side of its
/// zero the integrand is log-concave, so that the sum may stop where it has fallen far below its peak.
fn log_b(multiplier: f64, l: usize) -> f64 {
    let precision = 1.0 / multiplier / multiplier;
    let power = l as f64;
    // Then B is within a quarter of its last term, four times which exceeds the plain term.
    if power.ln() - (power - 1.0) * precision < 0.25f64.ln() {
        return f64::INFINITY;
    }
    let log_g = power * LN_2 + poisson::log_moment(multiplier, 0.5, power);
    let log_ratio = log_g - 0.5 * power * log_exp_minus_one(precision);
    let step = multiplier * (2.0 * PI * PI / (40.0 + log_ratio.max(0.0))).sqrt();
    let log_term = |x: f64| {
        let t = (x - 0.5) * precision;
        let distance = if t > 0.0 { log_exp_minus_one(t) } else { (-t.exp_m1()).ln() };
        power * distance - 0.5 * x * x * precision
    };
    let mut sum = LogSum::new();
    for direction in [1.0, -1.0] {
        // Nodes at half steps from the zero, so that both sides start beside it.
        let (mut node, mut previous, mut peak) = (0.5, f64::NEG_INFINITY, f64::NEG_INFINITY);
        loop {
            let term = log_term(0.5 + direction * node * step);
            sum.add(term);
            peak = peak.max(term);
            if term < previous && term < peak - 60.0 {
                break;
            }
            (previous, node) = (term, node + 1.0);
        }
    }
    sum.value() + (step / (multiplier * (2.0 * PI).sqrt())).ln()
}

#[cfg(test)]
mod tests {
    use super::log_b;

    #[test]
    fn moments_of_the_centred_ratio_keep_their_digits() {
        let golden = include_str!("../../../tests/golden/centred_moments.csv");
        let mut seen = 0;
        for line in golden.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let (multiplier, power, truth) = (fields[0], fields[1], fields[2]);
            let found = log_b(multiplier, power as usize);
            if found == f64::INFINITY {
                // Left out because 4 B exceeds the plain term.
                let plain = power * (power - 1.0) / (2.0 * multiplier * multiplier);
                assert!(truth + 4f64.ln() > plain + 2f64.ln(), "{line}");
                continue;
            }
            // A sum of log(e^t - 1) times the power: its rounding, a few units of the size of the summands.
            let summands = power * (multiplier.ln().abs() + 10.0);
            assert!((found - truth).abs() < 16.0 * f64::EPSILON * summands, "{line}: {found}");
            seen += 1;
        }
        assert!(seen >= 24, "{seen}");
        // Where the last term decides, the plain bound is smaller and B is not computed.
        assert_eq!(log_b(1.0, 40), f64::INFINITY);
    }
}
