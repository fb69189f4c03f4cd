//! From counts to bounds at a stated confidence.

use ppl_distributions::Beta;

/// A probability of which `found` of `tested` trials were seen, as an interval that holds it but for a
/// probability of `failure` (half of it on each side): the exact one of Clopper and Pearson (1934), by
/// quantiles of Beta laws.
#[must_use]
pub fn share_between(found: u64, tested: u64, failure: f64) -> (f64, f64) {
    let (k, n) = (found as f64, tested as f64);
    let lower = if found == 0 { 0.0 } else { Beta::new(k, n - k + 1.0).quantile(0.5 * failure) };
    let upper = if found >= tested { 1.0 } else { Beta::new(k + 1.0, n - k).quantile(1.0 - 0.5 * failure) };
    (lower, upper)
}

/// Where the shares of values above differ most.
pub(super) fn best_threshold(present: &[f64], absent: &[f64]) -> f64 {
    let mut all: Vec<(f64, f64)> = present.iter().map(|&value| (value, 1.0 / present.len() as f64)).collect();
    all.extend(absent.iter().map(|&value| (value, -1.0 / absent.len() as f64)));
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut best, mut threshold, mut sum) = (0.0, f64::INFINITY, 0.0);
    for (place, &(value, weight)) in all.iter().enumerate() {
        sum += weight;
        let next = all.get(place + 1).map_or(f64::NEG_INFINITY, |next| next.0);
        if sum > best && next < value {
            (best, threshold) =
                (sum, if next.is_finite() { 0.5 * (value + next) } else { value.next_down() });
        }
    }
    threshold
}

/// What share of the law of some values is above a threshold, between two bounds that fail with probability
/// `failure`.
pub(super) fn share_above(threshold: f64, values: &[f64], failure: f64) -> (f64, f64) {
    let above = values.iter().filter(|&&value| value > threshold).count();
    share_between(above as u64, values.len() as u64, failure)
}

/// What an ε without δ bounds at a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Question {
    /// `P(above) − P'(above)`, at most tanh(ε/2): that of an answer that is true with odds e^ε.
    Advantage(f64),
    /// `P(above)/P'(above)`, at most e^ε.
    Above(f64),
    /// `P'(below)/P(below)`, at most e^ε.
    Below(f64),
}

impl Question {
    /// What ε is at least, but for a probability of `failure`.
    pub(super) fn epsilon(self, present: &[f64], absent: &[f64], failure: f64) -> f64 {
        let (Self::Advantage(threshold) | Self::Above(threshold) | Self::Below(threshold)) = self;
        let bounds = [present, absent].map(|values| share_above(threshold, values, failure));
        self.of(bounds[0], bounds[1])
    }

    fn of(self, (least, _): (f64, f64), (_, most_absent): (f64, f64)) -> f64 {
        match self {
            Self::Advantage(_) => 2.0 * (least - most_absent).clamp(0.0, 1.0).atanh(),
            Self::Above(_) => (least / most_absent).ln().max(0.0),
            Self::Below(_) => ((1.0 - most_absent) / (1.0 - least)).ln().max(0.0),
        }
    }
}

/// The most thresholds that are tried.
const THRESHOLDS: usize = 256;

/// The question that shows the largest ε on these outcomes.
pub(super) fn best_question(present: &[f64], absent: &[f64], failure: f64) -> Question {
    let mut values = [present, absent].concat();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let each = values.len().div_ceil(THRESHOLDS).max(1);
    let mut best = (0.0, Question::Advantage(f64::INFINITY));
    for pair in values.windows(2).step_by(each) {
        let threshold = 0.5 * (pair[0] + pair[1]);
        let bounds = [present, absent].map(|values| share_above(threshold, values, failure));
        for question in
            [Question::Advantage(threshold), Question::Above(threshold), Question::Below(threshold)]
        {
            let epsilon = question.of(bounds[0], bounds[1]);
            if epsilon > best.0 {
                best = (epsilon, question);
            }
        }
    }
    best.1
}

/// What ε is at least, but for a probability of `failure`, where `right` of `guesses` guesses about the
/// presence of independently included records were right in a single run, of `canaries` of which the attacker
/// chose whom to guess.
///
/// Under (ε, δ) each guess is right with probability at most `e^ε/(1 + e^ε)`, whatever the others are, but
/// for δ (Steinke, Nasr and Jagielski 2023, Theorem 5.2):
///
/// ```text
/// P(right ≥ v) ≤ F(v) + 2 m δ max_{1 ≤ i ≤ m} (F(v - i) - F(v))/i,    F(v) = P(Binomial(guesses, e^ε/(1 + e^ε)) ≥ v)
/// ```
#[must_use]
pub fn one_run_epsilon(right: u64, guesses: u64, canaries: u64, delta: f64, failure: f64) -> f64 {
    let holds = |epsilon: f64| {
        let tail = tails(guesses, 1.0 / (1.0 + (-epsilon).exp()));
        let at = |v: i64| if v <= 0 { 1.0 } else { tail.get(v as usize).copied().unwrap_or(0.0) };
        let own = at(right as i64);
        let more = (1..=canaries as i64).map(|i| (at(right as i64 - i) - own) / i as f64).fold(0.0, f64::max);
        own + 2.0 * canaries as f64 * delta * more > failure
    };
    if holds(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !holds(high) && high < 64.0 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    low
}

/// `P(Binomial(n, p) ≥ v)` for `v` from 0 to `n`, summed from the small end.
fn tails(n: u64, p: f64) -> Vec<f64> {
    let log = |k: u64| {
        let ways =
            libm::lgamma(n as f64 + 1.0) - libm::lgamma(k as f64 + 1.0) - libm::lgamma((n - k) as f64 + 1.0);
        let wrong = if k == n { 0.0 } else { (n - k) as f64 * (-p).ln_1p() };
        ways + k as f64 * p.ln() + wrong
    };
    let mut tail = vec![0.0; n as usize + 1];
    let mut sum = 0.0;
    for k in (0..=n).rev() {
        sum += log(k).exp();
        tail[k as usize] = f64::min(sum, 1.0);
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_clopper_and_pearson() {
        // R 4.3: binom.test(8, 20, conf.level = 0.95)$conf.int
        let (lower, upper) = share_between(8, 20, 0.05);
        assert!((lower - 0.191_190_1).abs() < 1e-7 && (upper - 0.639_457_4).abs() < 1e-7, "{lower} {upper}");
        // All or nothing: (α/2)^(1/n).
        assert_eq!(share_between(0, 10, 0.05).0, 0.0);
        assert!((share_between(10, 10, 0.05).0 - 0.025_f64.powf(0.1)).abs() < 1e-12);
        assert_eq!(share_between(10, 10, 0.05).1, 1.0);
    }

    #[test]
    fn thresholds_lie_between_outcomes() {
        let threshold = best_threshold(&[1.0, 2.0, 3.0, 0.0], &[0.0, 0.5, -1.0, 2.5]);
        assert!(threshold > 0.5 && threshold < 1.0, "{threshold}");
        assert_eq!(best_threshold(&[0.0; 4], &[0.0; 4]), f64::INFINITY);
    }

    /// 196 of 200 right among 2,000 canaries: the term in δ, which is `2 m δ` times at most 1/11, takes
    /// everything at 1e-5 and next to nothing at 1e-10. The figures are those of SciPy 1.17's `binom.sf` and
    /// bisection.
    #[test]
    fn a_large_delta_takes_what_one_run_shows() {
        let found = |delta: f64| one_run_epsilon(196, 200, 2_000, delta, 1e-6);
        assert_eq!(found(1e-5), 0.0);
        assert!((found(1e-10) - 2.0735).abs() < 5e-5, "{}", found(1e-10));
        assert!((found(0.0) - 2.0743).abs() < 5e-5, "{}", found(0.0));
    }

    #[test]
    fn one_run_without_delta_is_a_test_of_a_coin() {
        // 100 of 100: p^100 = α where ε = ln(p/(1 − p)).
        let p = 1e-3_f64.powf(0.01);
        let expected = (p / (1.0 - p)).ln();
        assert!((one_run_epsilon(100, 100, 1000, 0.0, 1e-3) - expected).abs() < 1e-9);
        assert_eq!(one_run_epsilon(50, 100, 1000, 0.0, 1e-3), 0.0);
        // δ takes something away, and more guesses that are right give something.
        let with = one_run_epsilon(100, 100, 1000, 1e-6, 1e-3);
        assert!(with < expected && with > 0.8 * expected, "{with}");
        assert!(one_run_epsilon(200, 200, 1000, 1e-6, 1e-3) > with);
        // A sum over all outcomes is 1, and the tail of half of them by symmetry.
        let tail = tails(11, 0.5);
        assert!((tail[0] - 1.0).abs() < 1e-12 && (tail[6] - 0.5).abs() < 1e-12);
    }
}
