//! Every sampler against its law, alpha 1e-6 a statistic; and every kind of broken sampler against the same
//! tests.

use super::*;
use crate::{BallsInBins, FixedSize, Poisson, Seed, Shuffle, Subsampler, Subsampling, WithReplacement};

fn bind<P: Subsampling>(plan: crate::Result<P>, records: u64) -> P::Sampler {
    plan.unwrap().bind(records, &Seed::for_tests(51)).unwrap()
}

/// Disjoint pairs of neighbouring steps.
fn neighbours(pair: u64) -> (u64, u64) {
    (2 * pair, 2 * pair + 1)
}

#[test]
fn small_batches_have_their_law_and_steps_are_independent() {
    for (rate, records) in [(0.4, 3), (0.5, 2), (0.9, 3)] {
        let (mut sampler, law) =
            (bind(Poisson::rate(rate), records), independent(&poisson_law(rate, records)));
        assert!(joint_p_value(&law, neighbours, |step, batch| sampler.draw(step, batch)) > 1e-6);
    }
    for (batch, records) in [(2, 4), (1, 5), (3, 4), (1, 2), (2, 6)] {
        let law = independent(&without_replacement_law(batch, records));
        let plan = FixedSize::batch(batch).unwrap();
        for plan in [plan, plan.by_permutation()] {
            let mut sampler = bind(Ok(plan), records);
            assert!(joint_p_value(&law, neighbours, |step, batch| sampler.draw(step, batch)) > 1e-6);
        }
        // The same position of neighbouring epochs.
        let mut sampler = bind(Shuffle::batch(batch), records);
        let epoch = sampler.steps_per_epoch();
        let steps = |pair| (2 * pair * epoch, (2 * pair + 1) * epoch);
        assert!(joint_p_value(&law, steps, |step, batch| sampler.draw(step, batch)) > 1e-6);
    }
    for (batch, records) in [(2, 3), (3, 2), (1, 5)] {
        let law = independent(&with_replacement_law(batch, records));
        let mut sampler = bind(WithReplacement::batch(u64::from(batch)), records);
        assert!(joint_p_value(&law, neighbours, |step, batch| sampler.draw(step, batch)) > 1e-6);
    }
    for (bins, records, bin) in [(3_u64, 3, 1), (2, 3, 0), (5, 2, 4)] {
        let law = independent(&poisson_law(1.0 / bins as f64, records));
        let mut sampler = bind(BallsInBins::bins(bins), records);
        let steps = |pair| (2 * pair * bins + bin, (2 * pair + 1) * bins + bin);
        assert!(joint_p_value(&law, steps, |step, batch| sampler.draw(step, batch)) > 1e-6);
    }
}

/// Shuffled epochs of five records: the first two batches of two.
fn shuffle_law() -> JointLaw {
    let subsets = without_replacement_law(2, 5);
    let pairs = subsets.iter().flat_map(|a| subsets.iter().map(move |b| (a.0.clone(), b.0.clone())));
    pairs.filter(|(a, b)| a.iter().all(|record| !b.contains(record))).map(|pair| (pair, 1.0 / 30.0)).collect()
}

/// Three records in three bins: the first two of them.
fn bins_law() -> JointLaw {
    let choices = (0..27).map(|choice: u64| [choice % 3, choice / 3 % 3, choice / 9]);
    let bin = |choice: [u64; 3], bin| (0..3).filter(|&i| choice[i as usize] == bin).collect::<Vec<u64>>();
    choices.map(|choice| ((bin(choice, 0), bin(choice, 1)), 1.0 / 27.0)).collect()
}

#[test]
fn the_batches_of_an_epoch_divide_it_as_they_should() {
    let within = |pair: u64| (3 * pair, 3 * pair + 1);
    let mut shuffle = bind(Shuffle::batch(2), 5);
    let p_value = joint_p_value(&shuffle_law(), within, |step, batch| shuffle.draw(step, batch));
    assert!(p_value > 1e-6, "{p_value:e}");
    let mut bins = bind(BallsInBins::bins(3), 3);
    let p_value = joint_p_value(&bins_law(), within, |step, batch| bins.draw(step, batch));
    assert!(p_value > 1e-6, "{p_value:e}");
    // Neither law is the other's, nor are the steps of one epoch independent.
    let mut poisson = bind(Poisson::rate(1.0 / 3.0), 3);
    assert!(joint_p_value(&bins_law(), within, |step, batch| poisson.draw(step, batch)) < 1e-6);
    let mut subsets = bind(FixedSize::batch(2), 5);
    assert!(joint_p_value(&shuffle_law(), within, |step, batch| subsets.draw(step, batch)) < 1e-6);
}

#[test]
fn many_records_are_included_alike_and_in_pairs() {
    // Above 1,024 records the network is used. Any one position of an epoch is a batch without replacement,
    // and any one bin a Poisson batch.
    for (batch, records, position) in [(30, 1_500, 0), (30, 1_500, 49), (200, 300, 0), (100, 1_024, 5)] {
        let mut sampler = bind(Shuffle::batch(batch), records);
        let steps = sampler.steps_per_epoch();
        let seen = observe(records, |step, batch| sampler.draw(step * steps + position, batch));
        check_fixed_size(&seen, batch).unwrap();
    }
    let mut written = bind(Shuffle::batch(30).map(Shuffle::exact), 1_500);
    let seen = observe(1_500, |step, batch| written.draw(step * 50 + 7, batch));
    check_fixed_size(&seen, 30).unwrap();
    let mut written = bind(BallsInBins::bins(50).map(BallsInBins::exact), 1_500);
    let seen = observe(1_500, |step, batch| written.draw(step * 50 + 7, batch));
    check_poisson(&seen, 1.0 / 50.0).unwrap();
    for (batch, records, by_permutation) in
        [(100, 300, false), (50, 300, false), (30, 1_500, false), (30, 1_500, true), (50, 300, true)]
    {
        let plan = FixedSize::batch(batch).unwrap();
        let mut sampler = bind(Ok(if by_permutation { plan.by_permutation() } else { plan }), records);
        check_fixed_size(&observe(records, |step, batch| sampler.draw(step, batch)), batch).unwrap();
    }
    for (bins, records, bin) in [(10_u64, 300, 0), (10, 300, 9), (7, 1_500, 3), (50, 1_500, 49), (2, 70, 1)] {
        let mut sampler = bind(BallsInBins::bins(bins), records);
        let seen = observe(records, |step, batch| sampler.draw(step * bins + bin, batch));
        check_poisson(&seen, 1.0 / bins as f64).unwrap();
    }
    // With replacement: the counts of 20,000 · 50 draws are multinomial.
    let (mut sampler, mut counts, mut batch) =
        (bind(WithReplacement::batch(50), 1_000), vec![0; 1_000], vec![]);
    for step in 0..DRAWS {
        sampler.draw(step, &mut batch);
        assert_eq!(batch.len(), 50);
        batch.iter().for_each(|&record| counts[record as usize] += 1);
    }
    let p_value = testing::uniformity(&counts);
    assert!(p_value > 1e-6 && p_value < 1.0 - 1e-6);
}

#[test]
fn broken_samplers_fail() {
    let mut fixed = bind(FixedSize::batch(31), 300);
    // One record too many.
    assert!(check_fixed_size(&observe(300, |step, batch| fixed.draw(step, batch)), 30).is_err());
    // The last record never, the first in its place.
    let off_by_one = observe(300, |step, batch| {
        fixed.draw(step, batch);
        batch.retain(|&record| record != 299);
        if batch.len() < 31 {
            let free = (0..300).find(|record| !batch.contains(record)).unwrap();
            batch.push(free);
        }
    });
    assert!(check_fixed_size(&off_by_one, 31).is_err());
    // A Poisson batch cut to a fixed length in the order of the records.
    let mut poisson = bind(Poisson::rate(0.2), 300);
    let cut = observe(300, |step, batch| {
        poisson.draw(step, batch);
        batch.sort_unstable();
        let from = batch.len().saturating_sub(31);
        batch.drain(..from);
        (0..300)
            .filter(|record| batch.len() < 31 && !batch.contains(record))
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|record| {
                if batch.len() < 31 {
                    batch.push(record);
                }
            });
    });
    assert!(check_fixed_size(&cut, 31).is_err());
    // The same order in every epoch.
    let mut shuffle = bind(Shuffle::batch(2), 4);
    let law = independent(&without_replacement_law(2, 4));
    let epochs = |pair: u64| (4 * pair, 4 * pair + 2);
    assert!(joint_p_value(&law, epochs, |step, batch| shuffle.draw(step % 2, batch)) < 1e-6);
    // The order of the epoch before, reversed: each epoch for itself is fine.
    assert!(
        joint_p_value(&law, epochs, |step, batch| shuffle.draw(step / 4 * 4 + step % 4 / 2, batch)) < 1e-6
    );
    // Duplicates thrown away, where they belong to the law; and kept, where they do not.
    let mut replaced = bind(WithReplacement::batch(2), 3);
    let law = independent(&with_replacement_law(2, 3));
    let deduplicated = |step, batch: &mut Vec<u64>| {
        replaced.draw(step, batch);
        batch.sort_unstable();
        batch.dedup();
    };
    assert!(joint_p_value(&law, neighbours, deduplicated) < 1e-6);
    let law = independent(&without_replacement_law(2, 3));
    assert!(joint_p_value(&law, neighbours, |step, batch| replaced.draw(step, batch)) < 1e-6);
    // A bin filled with exactly its share.
    let mut shuffle = bind(Shuffle::batch(30), 300);
    assert!(check_poisson(&observe(300, |step, batch| shuffle.draw(10 * step, batch)), 0.1).is_err());
}

#[test]
fn a_rate_rounded_to_23_bits_is_noticed() {
    // `uniform <= q` with uniforms k/2^23 is true with probability (⌊q 2^23⌋ + 1)/2^23: for q = 2e-7 that is
    // 19 % more. 100 batches of 10^9 records; the total is Binomial(10^11, q) of standard deviation 141,
    // Bernstein at 1e-6.
    let (rate, records) = (2e-7_f64, 1_000_000_000);
    let quantised = ((rate * 2_f64.powi(23)).floor() + 1.0) / 2_f64.powi(23);
    let total = |rate| {
        let (mut sampler, mut batch) = (bind(Poisson::rate(rate), records), Vec::new());
        (0..100).map(|step| (sampler.draw(step, &mut batch), batch.len()).1).sum::<usize>() as f64
    };
    let (mean, t) = (100.0 * rate * records as f64, (2.0 / 1e-6_f64).ln());
    let allowed = t / 3.0 + (t * t / 9.0 + 2.0 * t * mean).sqrt();
    assert!((total(rate) - mean).abs() < allowed);
    assert!((total(quantised) - mean).abs() > allowed);
}
