//! Strategies for property tests: valid events, budgets and compositions of the sizes that occur in practice.

use proptest::prelude::*;

use crate::{Budget, Composition, Event, Mechanism, Relation, Sampling};

/// Noise multipliers from 0.3 to 30, evenly on the logarithmic scale.
pub fn noise_multiplier() -> impl Strategy<Value = f64> {
    (-1.2f64..3.4).prop_map(f64::exp)
}

/// Poisson rates from 1e-4 to 1, evenly on the logarithmic scale.
pub fn rate() -> impl Strategy<Value = f64> {
    (-9.2f64..0.0).prop_map(f64::exp)
}

/// Values of delta from 1e-12 to 0.1, evenly on the logarithmic scale.
pub fn delta() -> impl Strategy<Value = f64> {
    (-27.6f64..-2.3).prop_map(f64::exp)
}

/// Either relation.
pub fn relation() -> impl Strategy<Value = Relation> {
    prop_oneof![Just(Relation::AddRemove), Just(Relation::ReplaceOne)]
}

/// Any valid sampling scheme.
pub fn sampling() -> impl Strategy<Value = Sampling> {
    prop_oneof![
        Just(Sampling::None),
        rate().prop_map(|rate| Sampling::Poisson { rate }),
        (1u64..1_000, 0u64..100_000)
            .prop_map(|(batch, rest)| Sampling::WithoutReplacement { batch, records: batch + rest }),
    ]
}

/// Any valid event.
pub fn event() -> impl Strategy<Value = Event> {
    (noise_multiplier(), sampling())
        .prop_filter_map("parameters are in range", |(noise_multiplier, sampling)| {
            Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).ok()
        })
}

/// A Gaussian event, with or without Poisson sampling: certified under add/remove.
pub fn poisson_event() -> impl Strategy<Value = Event> {
    let sampling = prop_oneof![
        1 => Just(Sampling::None),
        4 => rate().prop_map(|rate| Sampling::Poisson { rate }),
    ];
    (noise_multiplier(), sampling)
        .prop_filter_map("parameters are in range", |(noise_multiplier, sampling)| {
            Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).ok()
        })
}

/// A composition of one to three different Gaussian events, each up to 10,000 times.
pub fn composition() -> impl Strategy<Value = Composition> {
    let count = (0.0f64..9.2).prop_map(|log| log.exp() as u64);
    prop::collection::vec((poisson_event(), count), 1..=3).prop_map(|events| {
        let mut composition = Composition::new();
        composition.extend(events);
        composition
    })
}

/// A valid budget.
pub fn budget() -> impl Strategy<Value = Budget> {
    ((-4.0f64..4.0).prop_map(f64::exp), delta(), relation()).prop_map(|(epsilon, delta, relation)| Budget {
        epsilon,
        delta,
        relation,
    })
}
