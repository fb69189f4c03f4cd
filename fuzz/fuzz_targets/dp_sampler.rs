//! Plans with arbitrary numbers: refused or drawn, never a panic; what is drawn is distinct, in range,
//! repeatable.

#![no_main]

use dp_sampler::{
    BallsInBins, DiscreteGaussianNoise, DiscreteLaplaceNoise, FixedSize, FullBatch, GaussianNoise,
    LaplaceNoise, NOISE_CHUNK, NoiseSource, Permutation, Poisson, Purpose, RoundedGaussianNoise, Scheme,
    Seed, Shuffle, Subsampler, Subsampling, WithReplacement,
};
use libfuzzer_sys::fuzz_target;

/// So that one input stays fast.
const MOST_EXPECTED: f64 = 2_000.0;

/// The next eight bytes of the input, zeros once it is used up.
fn word(data: &mut &[u8]) -> u64 {
    let (head, rest) = data.split_at(data.len().min(8));
    *data = rest;
    let mut bytes = [0; 8];
    bytes[..head.len()].copy_from_slice(head);
    u64::from_le_bytes(bytes)
}

fn check_sampler<P: Subsampling>(plan: &P, records: u64, number: u64, step: u64) {
    // Asking for the scheme has to be possible, or refused, for every number of records.
    let stated = plan.scheme(records);
    let bound = plan.bind(records, &Seed::for_tests(number));
    let Ok(mut sampler) = bound else { return };
    assert_eq!(sampler.scheme(), stated.expect("a bound sampler has a scheme"));
    assert_eq!(sampler.records(), records);
    assert!(!sampler.is_secret());
    let mut batch = Vec::with_capacity(sampler.max_batch_hint());
    let mut again = vec![7; 3];
    sampler.draw(step, &mut batch);
    sampler.draw(step, &mut again);
    assert_eq!(batch, again);
    assert!(batch.len() <= sampler.max_batch_hint());
    batch.sort_unstable();
    if !matches!(sampler.scheme(), Scheme::WithReplacement { .. }) {
        assert!(batch.windows(2).all(|pair| pair[0] < pair[1]));
    }
    assert!(batch.last().is_none_or(|&last| last < records));
}

fn check_noise<T>(noise: &impl NoiseSource<T>, step: u64, length: usize, plausible: impl Fn(T) -> bool)
where
    T: Copy + Default + PartialEq + std::fmt::Debug,
{
    let mut values = vec![T::default(); length];
    noise.fill(step, &mut values);
    assert!(values.iter().all(|&value| plausible(value)));
    let mut prefix = vec![T::default(); length / 2];
    noise.fill(step, &mut prefix);
    assert_eq!(prefix, values[..length / 2]);
    let mut rest = vec![T::default(); length.saturating_sub(NOISE_CHUNK)];
    noise.fill_chunks(step, 1, &mut rest).expect("the second chunk is there");
    assert_eq!(rest, values[length - rest.len()..]);
}

fuzz_target!(|data: &[u8]| {
    let mut data = data;
    let (kind, step, number) = (word(&mut data), word(&mut data), word(&mut data));
    let any = word(&mut data);
    // Small and large numbers of records are equally interesting.
    let records = any >> (word(&mut data) % 64);
    let capped = records % ((1 << 40) + 1);
    let value = word(&mut data);

    match kind % 7 {
        0 => {
            let rate = f64::from_bits(value);
            match Poisson::rate(rate) {
                Err(_) => assert!(!(rate > 0.0 && rate <= 1.0)),
                Ok(plan) if rate * (records as f64) < MOST_EXPECTED => {
                    check_sampler(&plan, records, number, step)
                }
                Ok(plan) => {
                    let _ = plan.scheme(records);
                    let smaller = Poisson::rate(rate * (MOST_EXPECTED / (rate * (records as f64))).min(1.0));
                    if let Ok(plan) = smaller {
                        check_sampler(&plan, capped, number, step);
                    }
                }
            }
        }
        1 => match FixedSize::batch(value % 2_001) {
            Err(_) => assert_eq!(value % 2_001, 0),
            Ok(plan) => {
                check_sampler(&plan, records, number, step);
                check_sampler(&plan.by_permutation(), records, number, step);
            }
        },
        2 => {
            let mut stream = Seed::for_tests(number).streams(Purpose::Subsample).at(step);
            let Ok(permutation) = Permutation::new(records, &mut stream) else {
                assert!(records == 0 || records > dp_sampler::MAX_RECORDS);
                return;
            };
            let index = value % records;
            let image = permutation.apply(index).expect("the index is below the length");
            assert!(image < records);
            assert_eq!(permutation.invert(image).expect("so is its image"), index);
            assert!(permutation.apply(records).is_err() && permutation.invert(u64::MAX).is_err());
            let mut images = [0; 70];
            let count = records.min(70) as usize;
            let start = index.min(records - count as u64);
            permutation.apply_range(start, &mut images[..count]).expect("the range is inside");
            for (i, &image) in images[..count].iter().enumerate() {
                assert_eq!(permutation.invert(image).expect("an image is in range"), start + i as u64);
            }
        }
        3 => {
            let seed = Seed::for_tests(number);
            let length = (value % 700) as usize;
            check_noise::<f64>(&GaussianNoise::new(&seed), step, length, |z| z.is_finite() && z.abs() < 13.5);
            check_noise::<f32>(&GaussianNoise::new(&seed), step, length, |z| z.is_finite() && z.abs() < 13.5);
            check_noise::<f64>(&LaplaceNoise::new(&seed), step, length, |z| z.is_finite() && z.abs() < 89.0);
            check_noise::<f32>(&LaplaceNoise::new(&seed), step, length, |z| z.is_finite() && z.abs() < 89.0);
        }
        4 => {
            let seed = Seed::for_tests(number);
            // Any ratio: refused unless it is in range in lowest terms.
            let (n, d) = (any >> (value % 64), capped);
            if let Ok(noise) = DiscreteGaussianNoise::new(&seed, n, d) {
                check_noise(&noise, step, 40, |x: i64| x.unsigned_abs() < 1 << 40);
            }
            if let Ok(noise) = DiscreteLaplaceNoise::new(&seed, n, d) {
                check_noise(&noise, step, 40, |x: i64| x.unsigned_abs() < 1 << 62);
            }
            match RoundedGaussianNoise::new(&seed, (value % 50) as u32) {
                Ok(noise) => check_noise(&noise, step, 40, |x: i64| x.unsigned_abs() < 1 << 57),
                Err(_) => assert!(value % 50 > 40),
            }
            if let Ok(noise) = DiscreteGaussianNoise::at_least(&seed, f64::from_bits(value)) {
                check_noise(&noise, step, 40, |x: i64| x.unsigned_abs() < 1 << 40);
            }
        }
        5 => match WithReplacement::batch(value % 2_001) {
            Err(_) => assert_eq!(value % 2_001, 0),
            Ok(plan) => {
                check_sampler(&plan, records, number, step);
                check_sampler(&Shuffle::batch(value % 2_001).expect("as above"), records, number, step);
                check_sampler(&BallsInBins::batch(value % 2_001).expect("as above"), records, number, step);
                // Any number of bins, as long as one of them stays short.
                if let Ok(plan) = BallsInBins::bins(value) {
                    if (records as f64) < MOST_EXPECTED * value as f64 {
                        check_sampler(&plan, records, number, step);
                    }
                }
            }
        },
        _ => check_sampler(&FullBatch, records % 3_000, number, step),
    }
});
