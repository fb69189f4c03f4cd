//! Binomial numbers against exact fractions, the formula and the normal limit.

use super::*;
use crate::testing::Scripted;
use crate::{Purpose, Seed, testing};

fn stream(step: u64) -> Stream {
    Seed::for_tests(61).streams(Purpose::Subsample).at(step)
}

/// r(d) by its definition: a product of d fractions, each rounded down by less than 2⁻²⁵⁶.
fn product(half: u64, distance: u64) -> Fraction {
    (1..=distance).fold(Fraction::ALMOST_ONE, |product, k| {
        product.times(Fraction::ratio(u128::from(half - distance + k), u128::from(half + k)))
    })
}

#[test]
fn ratios_match_their_definition() {
    // Products of up to 5,000 fractions are low by less than 2^-243, the series as derived: the first 128
    // bits agree up to the last.
    for half in [2_048, 2_049, 5_000, 100_003, 170_000] {
        let width = Width::new(half).0;
        for i in 0..12 {
            for offset in [0, 1, width / 3, width - 1] {
                let distance = u64::from(i) * width + offset;
                let exact = (0..i).fold(product(half, distance), |ratio, _| ratio.plus(ratio));
                let difference = exact.top().abs_diff(exact_ratio(half, distance, i).top());
                assert!(difference <= 1, "{half} {distance}: {difference}");
            }
        }
    }
}

#[test]
fn doubles_are_far_closer_than_the_band() {
    // 2^-45 is what halving.rs derives; also that no ratio is above 1, without which a carry would be lost.
    for half in [2_048, 2_500, 4_095, 1 << 20, 1_000_000_007, 1 << 40, (1 << 62) - 1, 1 << 62] {
        let width = Width::new(half).0;
        for i in 0..12 {
            for offset in [0, 1, width / 2, width - 1] {
                let distance = u64::from(i) * width + offset;
                let about = libm::exp(log_ratio(half as f64, distance as f64)) * f64::from(1_u32 << i);
                let exact = exact_ratio(half, distance, i).to_f64();
                assert!((about - exact).abs() < 2_f64.powi(-45), "{half} {distance}: {about} {exact}");
                assert!(exact <= 1.0);
            }
        }
    }
}

#[test]
fn the_second_word_decides_where_the_first_cannot() {
    // With the first word of the threshold itself: taken if the second is below the threshold's second.
    let threshold = exact_ratio(5_000, 30, 0).top();
    let (word, rest) = ((threshold >> 64) as u64, threshold as u64);
    for step in 0..20 {
        let second = stream(step).next_u64();
        assert_eq!(decide(5_000, 30, 0, word, &mut stream(step)), second < rest);
        assert!(decide(5_000, 30, 0, word - 1, &mut stream(step)));
        assert!(!decide(5_000, 30, 0, word + 1, &mut stream(step)));
    }
}

#[test]
fn numbers_of_heads_are_binomial() {
    // 40,000 numbers each, alpha 1e-6: tossed (whole words, ragged), proposed (even, odd), unfair.
    for (trials, numerator, denominator) in [
        (64, 1, 2),
        (100, 1, 2),
        (4_096, 1, 2),
        (4_097, 1, 2),
        (5_000, 1, 2),
        (7_001, 1, 2),
        (10, 1, 3),
        (6_000, 3, 7),
        (9_000, 4, 5),
        (30, 1, 1 << 40),
    ] {
        let mut stream = stream(trials);
        let mut counts = vec![0; trials as usize + 1];
        for _ in 0..40_000 {
            counts[binomial(trials, numerator, denominator, &mut stream) as usize] += 1;
        }
        let masses = testing::binomial_pmf(trials, numerator as f64 / denominator as f64);
        let expected: Vec<f64> = masses.iter().map(|p| p * 40_000.0).collect();
        let p_value = testing::goodness_of_fit(&counts, &expected);
        assert!(p_value > 1e-6, "{trials} {numerator}/{denominator}: {p_value:e}");
        // And the test has power: a coin of 0.51 or so.
        if trials > 64 {
            let masses = testing::binomial_pmf(trials, numerator as f64 / denominator as f64 * 0.99 + 0.01);
            let expected: Vec<f64> = masses.iter().map(|p| p * 40_000.0).collect();
            assert!(testing::goodness_of_fit(&counts, &expected) < 1e-6);
        }
    }
}

#[test]
fn large_numbers_of_heads_follow_the_normal_limit() {
    // From 2^40 trials on the normal limit is wrong by less than 1e-6; 40,000 numbers in 20 cells, alpha
    // 1e-6.
    for (trials, numerator, denominator) in
        [(1_u64 << 40, 1_u64, 2), ((1 << 63) - 1, 1, 2), (1 << 63, 1, 3), (1 << 50, 255, 256)]
    {
        let (mut stream, mut counts) = (stream(trials), vec![0; 20]);
        let p = numerator as f64 / denominator as f64;
        let deviation = (trials as f64 * p * (1.0 - p)).sqrt();
        // The rounded mean is wrong by less than a thousandth of a standard deviation.
        let mean = (u128::from(trials) * u128::from(numerator) / u128::from(denominator)) as i128;
        for _ in 0..40_000 {
            let off = i128::from(binomial(trials, numerator, denominator, &mut stream)) - mean;
            let uniform = 0.5 + 0.5 * libm::erf(off as f64 / deviation / 2_f64.sqrt());
            counts[((uniform * 20.0) as usize).min(19)] += 1;
        }
        assert!(testing::uniformity(&counts) > 1e-6, "{trials} {numerator}/{denominator}: {counts:?}");
    }
}

#[test]
fn nothing_is_lost_at_the_ends() {
    let mut stream = stream(0);
    assert_eq!(binomial(0, 1, 2, &mut stream), 0);
    assert_eq!(binomial(1 << 63, 0, 5, &mut stream), 0);
    assert!((0..100).all(|_| binomial(1, 1, 2, &mut stream) <= 1));
    assert!((0..100).all(|_| binomial(1 << 63, (1 << 62) + 1, (1 << 63) - 1, &mut stream) < 1 << 63));
}

/// Around the exact threshold, where doubles cannot tell, 128 bits are compared with it.
#[test]
fn comparisons_that_doubles_cannot_make_are_exact() {
    for (half, distance, i) in
        [(2_048, 40, 0), (2_048, 46 + 10, 1), (100_003, 3 * 317 + 5, 3), (1 << 40, 5 << 19, 2)]
    {
        let exact = exact_ratio(half, distance, i).top();
        for step in [0, 1, 2, 1 << 20, 1 << 60, 1 << 64, 5 << 64, 1 << 80] {
            for (number, accepted) in [(exact - step - 1, true), (exact + step, false)] {
                let mut script = Scripted(vec![(number >> 64) as u64, number as u64]);
                assert_eq!(accept(half, distance, i, &mut script), accepted, "{half} {distance} {step:x}");
            }
        }
    }
}
