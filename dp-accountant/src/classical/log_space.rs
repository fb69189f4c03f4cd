//! Sums, binomial coefficients and one-dimensional searches that the older accountants share.

/// `log(exp(a) + exp(b))`.
pub(super) fn log_add(a: f64, b: f64) -> f64 {
    let (large, small) = if a >= b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY || large == f64::INFINITY {
        return large;
    }
    large + (small - large).exp().ln_1p()
}

/// `log(1 + exp(a))`.
pub(super) fn log_one_plus_exp(a: f64) -> f64 {
    if a > 0.0 { a + (-a).exp().ln_1p() } else { a.exp().ln_1p() }
}

/// `log(exp(a) - 1)` for `a >= 0`.
pub(super) fn log_exp_minus_one(a: f64) -> f64 {
    if a > 1.0 { a + (-(-a).exp()).ln_1p() } else { a.exp_m1().ln() }
}

/// `log C(n, k)` for real `n >= k >= 0`.
pub(super) fn log_binomial(n: f64, k: f64) -> f64 {
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
}

/// A running `log(sum of exp(term))`, which neither overflows nor loses small terms that come first.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogSum {
    peak: f64,
    scaled: f64,
}

impl LogSum {
    pub(super) fn new() -> Self {
        Self { peak: f64::NEG_INFINITY, scaled: 0.0 }
    }

    pub(super) fn add(&mut self, term: f64) {
        if term == f64::NEG_INFINITY {
        } else if term <= self.peak {
            self.scaled += (term - self.peak).exp();
        } else {
            self.scaled = self.scaled * (self.peak - term).exp() + 1.0;
            self.peak = term;
        }
    }

    pub(super) fn value(self) -> f64 {
        if self.peak == f64::INFINITY { self.peak } else { self.peak + self.scaled.ln() }
    }
}

/// The best point that golden-section search between `from` and `to` sees, with its value. Any point it
/// returns is one that was evaluated, so the answer is a valid bound even where the function has several
/// valleys.
pub(super) fn golden_minimum(f: impl Fn(f64) -> f64, from: f64, to: f64, evaluations: usize) -> (f64, f64) {
    const SHARE: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (from, to);
    let (mut left, mut right) = (b - SHARE * (b - a), a + SHARE * (b - a));
    let (mut at_left, mut at_right) = (f(left), f(right));
    let mut best = if at_left <= at_right { (left, at_left) } else { (right, at_right) };
    for _ in 2..evaluations {
        // Where both are infinite the valley lies to the left: the bounds grow without limit with the order.
        let seen = if at_left <= at_right {
            (b, right, at_right) = (right, left, at_left);
            left = b - SHARE * (b - a);
            at_left = f(left);
            (left, at_left)
        } else {
            (a, left, at_left) = (left, right, at_right);
            right = a + SHARE * (b - a);
            at_right = f(right);
            (right, at_right)
        };
        if seen.1 < best.1 {
            best = seen;
        }
        if b - a <= 1e-9 * (a.abs() + b.abs()).max(1e-9) {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_log_space_agree_with_plain_ones() {
        let mut sum = LogSum::new();
        for term in [-700.0, 2.0, f64::NEG_INFINITY, 1.0, 3.0] {
            sum.add(term);
        }
        let plain = 1f64.exp() + 2f64.exp() + 3f64.exp();
        assert!((sum.value() - plain.ln()).abs() < 1e-15);
        assert!((log_add(1.0, 2.0) - (1f64.exp() + 2f64.exp()).ln()).abs() < 1e-15);
        assert_eq!(log_add(5.0, f64::NEG_INFINITY), 5.0);
        assert_eq!(log_one_plus_exp(-1000.0), 0.0);
        assert_eq!(log_one_plus_exp(1000.0), 1000.0);
        assert!((log_exp_minus_one(1e-20) / 1e-20f64.ln() - 1.0).abs() < 1e-15);
        assert!((log_binomial(10.0, 3.0) - 120f64.ln()).abs() < 1e-13);
    }

    #[test]
    fn golden_section_finds_a_valley() {
        let (at, value) = golden_minimum(|x| (x - 0.3).powi(2) + 2.0, -5.0, 7.0, 80);
        assert!((at - 0.3).abs() < 1e-7 && (value - 2.0).abs() < 1e-14);
    }
}
