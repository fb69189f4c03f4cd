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
    let sizes = || (1u64..1_000, 0u64..100_000).prop_map(|(batch, rest)| (batch, batch + rest));
    prop_oneof![
        Just(Sampling::None),
        rate().prop_map(|rate| Sampling::Poisson { rate }),
        sizes().prop_map(|(batch, records)| Sampling::WithoutReplacement { batch, records }),
        sizes().prop_map(|(batch, records)| Sampling::WithReplacement { batch, records: records + 1 }),
        sizes().prop_map(|(batch, records)| Sampling::Shuffle { batch, records }),
    ]
}

/// Any valid mechanism.
pub fn mechanism() -> impl Strategy<Value = Mechanism> {
    let epsilon = || (-5.0f64..1.5).prop_map(f64::exp);
    prop_oneof![
        3 => noise_multiplier().prop_map(|noise_multiplier| Mechanism::Gaussian { noise_multiplier }),
        1 => noise_multiplier().prop_map(|scale| Mechanism::Laplace { scale }),
        1 => (noise_multiplier(), 1u64..5)
            .prop_map(|(sigma, sensitivity)| Mechanism::DiscreteGaussian { sigma, sensitivity }),
        1 => (2u64..20, 0.01f64..0.99).prop_map(|(categories, share)| {
            let chance = 1.0 / categories as f64;
            let truth_probability = chance * (1.0 + 1e-9) + share * (1.0 - chance * (1.0 + 1e-9));
            Mechanism::RandomizedResponse { categories, truth_probability }
        }),
        1 => epsilon().prop_map(|epsilon| Mechanism::PureDp { epsilon }),
        1 => (epsilon(), delta())
            .prop_map(|(epsilon, delta)| Mechanism::ApproximateDp { epsilon, delta: 1e-3 * delta }),
    ]
}

/// Any valid event.
pub fn event() -> impl Strategy<Value = Event> {
    (mechanism(), sampling()).prop_filter_map("parameters are in range", |(mechanism, sampling)| {
        Event::new(mechanism, sampling).ok()
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
