//! The statistics and the generator that this crate's tests share.

use std::convert::Infallible;

use rand_core::TryRng;

/// Long words that are given.
pub(crate) struct Scripted(pub(crate) Vec<u64>);

impl TryRng for Scripted {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the script has long words")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.remove(0))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("the script has long words")
    }
}

/// P(a chi-square variable with this many degrees of freedom exceeds `statistic`).
///
/// The regularised incomplete gamma function Q(k/2, x/2): its series below the mean and its continued
/// fraction (Lentz) above; both to 1e-12, far below any alpha used here.
pub(crate) fn chi_square_tail(statistic: f64, degrees: f64) -> f64 {
    let (a, x) = (degrees / 2.0, statistic / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - libm::lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-15 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        1.0 - sum * scale
    } else {
        let mut b = x + 1.0 - a;
        let (mut c, mut d) = (1e300, 1.0 / b);
        let mut h = d;
        for i in 1..100_000 {
            let an = -f64::from(i) * (f64::from(i) - a);
            b += 2.0;
            d = 1.0 / (an * d + b);
            c = b + an / c;
            h *= d * c;
            if (d * c - 1.0).abs() < 1e-14 {
                break;
            }
        }
        h * scale
    }
}

/// The p-value of counts against expected counts. Neighbouring cells are pooled until each expects at least
/// 10.
pub(crate) fn goodness_of_fit(counts: &[u64], expected: &[f64]) -> f64 {
    let mut cells: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (&count, &mean) in counts.iter().zip(expected) {
        if cells.last().is_some_and(|cell| cell.1 >= 10.0) {
            cells.push((0.0, 0.0));
        }
        let cell = cells.last_mut().unwrap();
        cell.0 += count as f64;
        cell.1 += mean;
    }
    if cells.len() > 1 && cells.last().unwrap().1 < 10.0 {
        let (count, mean) = cells.pop().unwrap();
        let cell = cells.last_mut().unwrap();
        cell.0 += count;
        cell.1 += mean;
    }
    let statistic: f64 = cells.iter().map(|(count, mean)| (count - mean).powi(2) / mean).sum();
    chi_square_tail(statistic, (cells.len() - 1) as f64)
}

/// The p-value of counts against the uniform distribution.
pub(crate) fn uniformity(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    goodness_of_fit(counts, &vec![mean; counts.len()])
}

/// P(Binomial(n, q) = k) for k = 0..=n, from log-gamma.
pub(crate) fn binomial_pmf(n: u64, q: f64) -> Vec<f64> {
    (0..=n)
        .map(|k| {
            let (n, k) = (n as f64, k as f64);
            let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
            let failures =
                if q == 1.0 { if k == n { 0.0 } else { f64::NEG_INFINITY } } else { (n - k) * (-q).ln_1p() };
            (choose + k * q.ln() + failures).exp()
        })
        .collect()
}

/// √n times the largest distance between the empirical distribution and a continuous one.
pub(crate) fn kolmogorov(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values
        .iter()
        .enumerate()
        .map(|(i, &x)| (cdf(x) - i as f64 / n).max((i as f64 + 1.0) / n - cdf(x)))
        .fold(0.0, f64::max);
    distance * n.sqrt()
}

/// P(√n D > t) ≤ 2 exp(−2 t²) (Massart 1990), so this t has alpha 1e-6.
pub(crate) fn kolmogorov_bound() -> f64 {
    ((2.0 / 1e-6_f64).ln() / 2.0).sqrt()
}

/// Φ(x).
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[test]
fn chi_square_tails_match_tables() {
    // Quantiles from any table of the chi-square distribution, to the digits printed there.
    for (statistic, degrees, tail) in [(3.841, 1.0, 0.05), (23.209, 10.0, 0.01), (149.449, 100.0, 0.001)] {
        assert!((chi_square_tail(statistic, degrees) - tail).abs() < tail * 1e-3);
    }
}
