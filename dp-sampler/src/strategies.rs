//! Strategies for property tests: seeds, rates, batch sizes and purposes (feature `proptest`).
//!
//! ```
//! # #[cfg(feature = "proptest")] {
//! use dp_sampler::{Poisson, Seed, Subsampler, Subsampling, strategies};
//! use proptest::prelude::*;
//!
//! proptest!(|((rate, records) in strategies::rate_and_records())| {
//!     let sampler = Poisson::rate(rate)?.bind(records, &Seed::for_tests(1))?;
//!     prop_assert_eq!(sampler.records(), records);
//! });
//! # }
//! ```

use proptest::prelude::*;

use crate::{MAX_RECORDS, Purpose};

/// Numbers for [`Seed::for_tests`](crate::Seed::for_tests). Not seeds themselves: a failing value has to be
/// printed, and a seed cannot be.
pub fn seed_number() -> impl Strategy<Value = u64> {
    any::<u64>()
}

/// Any number of records, on a logarithmic scale, with both ends and powers of two.
pub fn records() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..=64_u64,
        (0..=63_u32, any::<u64>()).prop_map(|(log, low)| (1 << log) | (low & ((1 << log) - 1))),
        (0..=63_u32).prop_map(|log| 1 << log),
        Just(MAX_RECORDS),
    ]
    .prop_map(|records| records.min(MAX_RECORDS))
}

/// A Poisson rate and a number of records with at most about 1,000 expected in a batch.
pub fn rate_and_records() -> impl Strategy<Value = (f64, u64)> {
    let expected = prop_oneof![(-20.0..10.0_f64).prop_map(f64::exp2), Just(f64::INFINITY)];
    (expected, records()).prop_filter_map("a full batch of that many records", |(expected, records)| {
        if expected.is_finite() {
            Some(((expected / records as f64).min(1.0), records))
        } else {
            (records <= 1_000).then_some((1.0, records))
        }
    })
}

/// A batch size of at most 1,000 and a number of records no smaller.
pub fn batch_and_records() -> impl Strategy<Value = (u64, u64)> {
    (records(), any::<u64>(), 0..=4_u32).prop_map(|(records, draw, kind)| {
        let most = records.min(1_000);
        (if kind == 0 { most } else { 1 + draw % most }, records)
    })
}

/// Every kind of purpose.
pub fn purpose() -> impl Strategy<Value = Purpose> {
    prop::sample::select(vec![
        Purpose::Subsample,
        Purpose::GaussianNoise,
        Purpose::GuideDraws,
        Purpose::Split,
        Purpose::Initialisation,
        Purpose::LaplaceNoise,
        Purpose::DiscreteGaussianNoise,
        Purpose::DiscreteLaplaceNoise,
        Purpose::RoundedGaussianNoise,
        Purpose::Custom("property test"),
    ])
}
