//! The distribution of the noise, at n = 10⁶ and false-alarm rates of 1e-6.

use super::*;
use crate::testing;

const COUNT: usize = 1_000_000;

fn sample(number: u64) -> Vec<f64> {
    let mut values = vec![0.0; COUNT];
    GaussianNoise::new(&Seed::for_tests(number)).fill(0, &mut values);
    values
}

fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// √n times the largest distance between the empirical distribution and the normal one.
fn kolmogorov(mut values: Vec<f64>) -> f64 {
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
fn kolmogorov_bound() -> f64 {
    ((2.0 / 1e-6_f64).ln() / 2.0).sqrt()
}

#[test]
fn values_are_standard_normal() {
    let values = sample(41);
    assert!(kolmogorov(values.clone()) < kolmogorov_bound());
    // Both kinds of a pair for themselves.
    for parity in 0..2 {
        assert!(kolmogorov(values.iter().skip(parity).step_by(2).copied().collect()) < kolmogorov_bound());
    }
    // Moments: the k-th of 10^6 normals has variance E z^2k − (E z^k)^2 over n; |error| < 4.9 σ is alpha 1e-6.
    for (power, mean, variance) in
        [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0), (6, 15.0, 10_170.0)]
    {
        let moment = values.iter().map(|z| z.powi(power)).sum::<f64>() / COUNT as f64;
        assert!((moment - mean).abs() < 4.9 * (variance / COUNT as f64).sqrt(), "moment {power}: {moment}");
    }
}

#[test]
fn noise_that_is_two_percent_too_large_is_noticed() {
    let values: Vec<f64> = sample(41).into_iter().map(|z| 1.02 * z).collect();
    let moment = values.iter().map(|z| z * z).sum::<f64>() / COUNT as f64;
    assert!((moment - 1.0).abs() > 4.9 * (2.0 / COUNT as f64).sqrt());
    assert!(kolmogorov(values) > kolmogorov_bound());
}

#[test]
fn tails_have_the_right_weight() {
    // Counts beyond 2, 3, 4 and 4.5 σ on each side of 10^6, as a goodness of fit with one cell per interval.
    let values = sample(42);
    let edges = [2.0, 2.5, 3.0, 3.25, 3.5, 3.75, 4.0, f64::INFINITY];
    for sign in [1.0, -1.0] {
        let counts: Vec<u64> = edges
            .windows(2)
            .map(|edge| values.iter().filter(|&&z| sign * z >= edge[0] && sign * z < edge[1]).count() as u64)
            .collect();
        let expected: Vec<f64> =
            edges.windows(2).map(|edge| COUNT as f64 * (cdf(-edge[0]) - cdf(-edge[1]))).collect();
        assert!(testing::goodness_of_fit(&counts, &expected) > 1e-6, "{counts:?} {expected:?}");
    }
}

#[test]
fn the_rare_branch_gives_the_conditional_distribution() {
    // Words below 2^52, taken from the stream as if they had begun with twelve zero bits: u · 2^12 is uniform, so
    // r² / 2 − 12 ln 2 is exponential. Kolmogorov at n = 10^5.
    let mut stream = Seed::for_tests(43).streams(Purpose::GaussianNoise).at(0);
    let mut uniforms: Vec<f64> = (0..100_000)
        .map(|_| uniform_from_tiny(stream.next_u64() >> 12, stream.next_u64()) * 4_096.0)
        .collect();
    uniforms.sort_unstable_by(f64::total_cmp);
    let n = uniforms.len() as f64;
    let distance = uniforms
        .iter()
        .enumerate()
        .map(|(i, &u)| (u - i as f64 / n).max((i as f64 + 1.0) / n - u))
        .fold(0.0, f64::max);
    assert!(distance * n.sqrt() < kolmogorov_bound());
}

#[test]
fn steps_purposes_and_positions_are_uncorrelated() {
    // Sample correlations of 10^5 independent normals have standard deviation 10^-2.5; six of them.
    let seed = Seed::for_tests(44);
    let fill = |purpose, step| {
        let mut values = vec![0.0; 100_001];
        GaussianNoise::with_purpose(&seed, purpose).fill(step, &mut values);
        values
    };
    let base = fill(Purpose::GaussianNoise, 5);
    let mut others = vec![base[1..].to_vec(), fill(Purpose::GuideDraws, 5)];
    others.extend([4, 6, 1 << 32].map(|step| fill(Purpose::GaussianNoise, step)));
    for other in others {
        let product = base.iter().zip(&other).take(100_000).map(|(a, b)| a * b).sum::<f64>() / 1e5;
        let squares =
            base.iter().zip(&other).take(100_000).map(|(a, b)| (a * a - 1.0) * (b * b - 1.0)).sum::<f64>()
                / 1e5;
        assert!(product.abs() < 6.0 * 1e5_f64.powf(-0.5), "{product}");
        assert!(squares.abs() < 6.0 * 2.0 * 1e5_f64.powf(-0.5), "{squares}");
    }
}

#[test]
fn prefixes_agree_for_every_length() {
    let mut noise = GaussianNoise::new(&Seed::for_tests(45));
    let mut long = vec![0.0; 20_000];
    noise.fill(7, &mut long);
    for length in [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 4_095, 19_999] {
        let mut short = vec![f64::NAN; length];
        noise.fill(7, &mut short);
        assert_eq!(short, long[..length]);
    }
    assert!(!noise.is_secret());
    assert!(GaussianNoise::new(&Seed::from_os().unwrap()).is_secret());
}
