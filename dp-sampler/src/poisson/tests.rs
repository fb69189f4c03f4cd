//! Poisson batches against the definition, the binomial distribution and a slow obvious sampler.

use proptest::prelude::*;
use rand_core::Rng;

use super::*;
use crate::laws::{DRAWS, check_poisson as check, observe};
use crate::{Stream, strategies, testing};

fn sampler(rate: f64, records: u64) -> PoissonSampler {
    Poisson::rate(rate).unwrap().bind(records, &Seed::for_tests(11)).unwrap()
}

/// The definition: every record for itself, by a 128-bit comparison with the exact rate.
fn slow_draw(rate: f64, records: u64, stream: &mut Stream, batch: &mut Vec<u64>) {
    let threshold = crate::fraction::Fraction::from_f64(rate).top();
    batch.clear();
    for record in 0..records {
        let word = u128::from(stream.next_u64()) << 64 | u128::from(stream.next_u64());
        if word < threshold {
            batch.push(record);
        }
    }
}

#[test]
fn inclusion_lengths_and_pairs_are_poisson() {
    // Word blocks (exact fit, ragged, dense), list blocks (one, several, ragged), two runs of either, and the
    // slow path.
    for (rate, records) in [
        (0.5, 64),
        (0.3, 100),
        (0.95, 70),
        (0.05, 20),
        (0.1, 300),
        (0.02, 1_000),
        (0.01, 2_050),
        (0.3, 1_100),
        (0.1, 2_200),
    ] {
        let mut fast = sampler(rate, records);
        check(&observe(records, |step, batch| fast.draw(step, batch)), rate).unwrap();
    }
    let streams = Seed::for_tests(12).streams(Purpose::Subsample);
    check(&observe(300, |step, batch| slow_draw(0.1, 300, &mut streams.at(step), batch)), 0.1).unwrap();
}

#[test]
fn broken_samplers_are_noticed() {
    let mut fast = sampler(0.1, 300);
    // A rate off by 2 %.
    assert!(check(&observe(300, |step, batch| fast.draw(step, batch)), 0.102).is_err());
    // The highest indices kept when a batch is cut to a fixed length.
    let cut = observe(300, |step, batch| {
        fast.draw(step, batch);
        batch.sort_unstable_by(|a, b| b.cmp(a));
        batch.truncate(35);
    });
    assert!(check(&cut, 0.1).is_err());
    // Neighbours that come and go together.
    let twins = observe(300, |step, batch| {
        fast.draw(step, batch);
        batch.retain(|record| record % 2 == 0);
        for i in 0..batch.len() {
            batch.push(batch[i] + 1);
        }
    });
    assert!(check(&twins, 0.1).is_err());
    // A batch of fixed length.
    let streams = Seed::for_tests(13).streams(Purpose::Subsample);
    let fixed = observe(300, |step, batch| {
        let mut stream = streams.at(step);
        batch.clear();
        while batch.len() < 30 {
            let record = stream.below(300);
            if !batch.contains(&record) {
                batch.push(record);
            }
        }
    });
    assert!(check(&fixed, 0.1).is_err());
}

/// The p-value of the counts of all 2^6 subsets of six records over 20,000 draws, against the product
/// formula.
fn subsets_of_six(rate: f64, mut draw: impl FnMut(u64, &mut Vec<u64>)) -> f64 {
    let probability = |set: u32| {
        let members = set.count_ones() as i32;
        rate.powi(members) * (1.0 - rate).powi(6 - members)
    };
    let expected: Vec<f64> = (0..64).map(|set| DRAWS as f64 * probability(set)).collect();
    let (mut counts, mut batch) = (vec![0; 64], Vec::new());
    for step in 0..DRAWS {
        draw(step, &mut batch);
        counts[batch.iter().map(|&record| 1 << record).sum::<usize>()] += 1;
    }
    testing::goodness_of_fit(&counts, &expected)
}

#[test]
fn the_fast_and_the_slow_path_agree_in_distribution() {
    let mut fast = sampler(0.4, 6);
    let streams = Seed::for_tests(14).streams(Purpose::Subsample);
    assert!(subsets_of_six(0.4, |step, batch| fast.draw(step, batch)) > 1e-6);
    assert!(subsets_of_six(0.4, |step, batch| slow_draw(0.4, 6, &mut streams.at(step), batch)) > 1e-6);
}

#[test]
fn runs_have_the_words_that_are_documented() {
    // Sixteen blocks of 128 records, or of 64, and a few more; run 1 begins 2¹⁵ words further on.
    for (rate, records, length) in [(0.1, 16 * 128 + 400, 128), (0.4, 16 * 64 + 100, 64)] {
        let mut fast = sampler(rate, records);
        assert_eq!(1 << fast.doublings, length);
        let mut batch = Vec::new();
        fast.draw(9, &mut batch);
        let first_of_run = batch.partition_point(|&record| record < 16 * length);
        let mut stream = fast.streams.at(9);
        (0..1 << 14).for_each(|_| _ = stream.next_u64());
        let (mut expected, blocks) = (Vec::new(), fast.blocks());
        if length == 64 {
            fast.draw_words(16..blocks, &mut stream, &mut expected);
        } else {
            fast.draw_lists(16..blocks, &mut stream, &mut [0; MOST_TERMS], &mut expected);
        }
        assert!(!expected.is_empty());
        assert_eq!(batch[first_of_run..], expected);
    }
}

#[test]
fn steps_are_independent() {
    // Being drawn at a step and at the next: 20,000 steps, rate 0.2, mean of products 0.04, alpha 1e-6 by
    // Bernstein on each of ten records (products two steps apart are independent, so each half separately).
    let mut fast = sampler(0.2, 10);
    let (mut previous, mut batch) = (Vec::new(), Vec::new());
    let mut together = [[0_u64; 10]; 2];
    fast.draw(0, &mut previous);
    for step in 1..=DRAWS {
        fast.draw(step, &mut batch);
        for &record in batch.iter().filter(|record| previous.contains(record)) {
            together[step as usize % 2][record as usize] += 1;
        }
        std::mem::swap(&mut previous, &mut batch);
    }
    let (mean, t) = (DRAWS as f64 / 2.0 * 0.04, (40.0_f64 / 1e-6).ln());
    let allowed = t / 3.0 + (t * t / 9.0 + 2.0 * t * mean).sqrt();
    assert!(
        together.iter().flatten().all(|&n| (n as f64 - mean).abs() < allowed),
        "{together:?} {mean} {allowed}"
    );
}

#[test]
fn extreme_rates_and_sizes() {
    let mut batch = Vec::new();
    for records in [1, 2, 63, 64, 65, 1_000] {
        sampler(1.0, records).draw(0, &mut batch);
        assert_eq!(batch, (0..records).collect::<Vec<_>>());
    }
    // 2^40 records at 2^-35: 32 expected, whatever the number of records; at 2^63, 128 expected.
    for (rate, records, mean) in [(2_f64.powi(-35), 1 << 40, 32.0), (2_f64.powi(-56), 1_u64 << 63, 128.0)] {
        let mut huge = sampler(rate, records);
        let mut total = 0;
        for step in 0..1_000 {
            huge.draw(step, &mut batch);
            assert!(batch.len() <= huge.max_batch_hint());
            assert!(batch.iter().all(|&record| record < records));
            total += batch.len();
        }
        // The mean of 1,000 batches has standard deviation sqrt(mean / 1000); six of them.
        assert!((total as f64 / 1_000.0 - mean).abs() < 6.0 * (mean / 1_000.0).sqrt());
    }
    // Fewer than one expected, down to the smallest double.
    for rate in [1e-9, 1e-300, f64::from_bits(1)] {
        let mut rare = sampler(rate, 100);
        rare.draw(0, &mut batch);
        assert!(batch.is_empty());
    }
    for rate in [0.0, -0.1, 1.0 + f64::EPSILON, f64::NAN, f64::INFINITY] {
        assert!(matches!(Poisson::rate(rate), Err(Error::Rate(_))));
    }
    assert!(matches!(Poisson::rate(0.5).unwrap().bind(0, &Seed::for_tests(1)), Err(Error::NoRecords)));
    assert!(matches!(
        Poisson::rate(1.0).unwrap().bind(1 << 63, &Seed::for_tests(1)),
        Err(Error::BatchTooLong { .. })
    ));
}

#[test]
fn the_deviation_is_below_two_to_the_minus_sixty() {
    for rate in [2_f64.powi(-3), 0.1, 2_f64.powi(-5), 1e-3, 1e-9, 2_f64.powi(-60)] {
        for records in [1, 1_000, 1 << 40, 1 << 60] {
            if rate * (records as f64) < 1e18 {
                let deviation = sampler(rate, records).deviation(1);
                assert!(deviation > 0.0 && deviation < 2_f64.powi(-60), "{rate} {records} {deviation:e}");
                // The plan's bound holds for it, and is not much larger where blocks are as long as they can
                // be.
                let plan = Poisson::rate(rate).unwrap();
                assert!(
                    plan.deviation(records, 1) >= deviation && plan.deviation(records, 1) < 2_f64.powi(-60)
                );
                let many = sampler(rate, records).deviation(1 << 20);
                assert!((many / deviation / 2_f64.powi(20) - 1.0).abs() < 1e-14);
            }
        }
    }
}

/// Each block adds its own: a thousand times as many blocks of one length deviate a thousand times as much.
#[test]
fn blocks_deviate_each_for_itself() {
    for rate in [0.3, 0.1, 1e-3] {
        let (few, many) = (sampler(rate, 1 << 30).deviation(1), sampler(rate, 1 << 40).deviation(1));
        assert!((many / few / 1024.0 - 1.0).abs() < 1e-12, "{rate}: {few:e} {many:e}");
    }
}

#[test]
fn at_rate_one_nothing_deviates() {
    let mut certain = sampler(1.0, 1_000);
    let mut batch = Vec::new();
    for step in 0..100 {
        certain.draw(step, &mut batch);
        assert!(batch.iter().copied().eq(0..1_000));
    }
    assert_eq!((certain.deviation(100), Poisson::rate(1.0).unwrap().deviation(1 << 60, 100)), (0.0, 0.0));
}

#[test]
fn no_allocation_beyond_the_hint() {
    let mut fast = sampler(0.01, 10_000);
    let mut batch = Vec::with_capacity(fast.max_batch_hint());
    let place = batch.as_ptr();
    for step in 0..10_000 {
        fast.draw(step, &mut batch);
    }
    assert_eq!(batch.as_ptr(), place);
}

proptest! {
    #[test]
    fn batches_are_distinct_in_range_and_repeatable(
        (rate, records) in strategies::rate_and_records(), number in any::<u64>(), step in any::<u64>(),
    ) {
        let mut first = Poisson::rate(rate)?.bind(records, &Seed::for_tests(number))?;
        let mut again = Poisson::rate(rate)?.bind(records, &Seed::for_tests(number))?;
        let (mut batch, mut repeated) = (Vec::new(), vec![1, 2, 3]);
        again.draw(step.wrapping_add(1), &mut repeated);
        first.draw(step, &mut batch);
        again.draw(step, &mut repeated);
        prop_assert_eq!(&batch, &repeated);
        prop_assert!(batch.iter().all(|&record| record < records));
        prop_assert!(batch.len() <= first.max_batch_hint());
        batch.sort_unstable();
        batch.dedup();
        prop_assert_eq!(batch.len(), repeated.len());
    }
}
