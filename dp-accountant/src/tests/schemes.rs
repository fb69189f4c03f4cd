//! Properties of every mechanism under every sampling scheme and relation.

use proptest::prelude::*;

use crate::{
    Accountant, Certified, Composition, Error, Event, Mechanism, Relation, Result, Sampling, strategies,
};

fn cost(relation: Relation, composition: &Composition, delta: f64) -> Result<Certified> {
    Accountant::new(relation).with(composition).relative_width(1e-2)?.epsilon(delta)
}

/// An answer, or an error that is about the question and not about the engine.
fn answer(answer: Result<Certified>) -> Option<Certified> {
    match answer {
        Ok(answer) => Some(answer),
        Err(Error::Unsupported { .. } | Error::UnsupportedEvent { .. } | Error::NoEpsilon { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The number of steps of whole epochs.
fn whole(event: Event, steps: u64) -> u64 {
    match event.sampling() {
        Sampling::Shuffle { batch, records } => steps.min(20) * records.div_ceil(batch),
        _ => steps,
    }
}

/// A mechanism with less noise, or a weaker promise.
fn less_private(mechanism: Mechanism, factor: f64) -> Mechanism {
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => {
            Mechanism::Gaussian { noise_multiplier: noise_multiplier / factor }
        }
        Mechanism::Laplace { scale } => Mechanism::Laplace { scale: scale / factor },
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            Mechanism::DiscreteGaussian { sigma, sensitivity: sensitivity + 1 }
        }
        Mechanism::RandomizedResponse { categories, truth_probability } => Mechanism::RandomizedResponse {
            categories,
            truth_probability: 1.0 - (1.0 - truth_probability) / factor,
        },
        Mechanism::PureDp { epsilon } => Mechanism::PureDp { epsilon: epsilon * factor },
        Mechanism::ApproximateDp { epsilon, delta } => {
            Mechanism::ApproximateDp { epsilon: epsilon * factor, delta: delta * factor }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn epsilon_is_ordered_and_monotone(
        event in strategies::event(),
        relation in strategies::relation(),
        steps in 1u64..300,
        delta in strategies::delta(),
        more in 1.01f64..2.0,
    ) {
        let run = |event, steps| Composition::single(event, whole(event, steps));
        let Some(base) = answer(cost(relation, &run(event, steps), delta)) else { return Ok(()) };
        prop_assert!(base.lower >= 0.0 && base.lower <= base.estimate && base.estimate <= base.upper);
        let not_above = |more_private: Option<Certified>, less_private: Option<Certified>| {
            // Where there is no finite epsilon, the less private run is the worse one.
            less_private.is_none_or(|less| more_private.is_some_and(|more| more.lower <= less.upper))
        };
        prop_assert!(not_above(Some(base), answer(cost(relation, &run(event, 2 * steps), delta))));
        prop_assert!(not_above(answer(cost(relation, &run(event, steps), (delta * more).min(0.5))), Some(base)));
        let weaker = Event::new(less_private(event.mechanism(), more), event.sampling()).expect("in range");
        prop_assert!(not_above(Some(base), answer(cost(relation, &run(weaker, steps), delta))));
    }

    #[test]
    fn sampling_never_hurts(
        event in strategies::event(),
        steps in 1u64..100,
        delta in strategies::delta(),
        relation in strategies::relation(),
    ) {
        // Under replace-one every scheme but drawing with replacement shows a record at most once a step.
        let once = !matches!(event.sampling(), Sampling::WithReplacement { .. });
        let fair = relation == Relation::ReplaceOne || matches!(event.sampling(), Sampling::Poisson { .. });
        prop_assume!(once && fair);
        let plain = Event::new(event.mechanism(), Sampling::None).expect("valid");
        let count = whole(event, steps);
        let Some(all) = answer(cost(relation, &Composition::single(plain, count), delta)) else { return Ok(()) };
        if let Some(sampled) = answer(cost(relation, &Composition::single(event, count), delta)) {
            prop_assert!(sampled.lower <= all.upper, "{sampled:?} {all:?}");
        }
    }

    #[test]
    fn order_and_grouping_do_not_change_a_bit(
        (first, second) in (strategies::event(), strategies::event()),
        (a, b, c) in (1u64..100, 1u64..100, 1u64..100),
        relation in strategies::relation(),
        delta in strategies::delta(),
    ) {
        let (a, b, c) = (whole(first, a), whole(first, b), whole(second, c));
        let mut forwards = Composition::single(first, a);
        forwards.extend([(second, c), (first, b)]);
        let mut backwards = Composition::single(second, c);
        backwards.push(first, a + b);
        prop_assert_eq!(cost(relation, &forwards, delta), cost(relation, &backwards, delta));
    }

    #[test]
    fn epsilon_and_delta_are_inverse(
        event in strategies::event(),
        steps in 1u64..100,
        relation in strategies::relation(),
        given in strategies::delta(),
    ) {
        let composition = Composition::single(event, whole(event, steps));
        let Some(found) = answer(cost(relation, &composition, given)) else { return Ok(()) };
        let back = |epsilon| Accountant::new(relation).with(&composition).delta(epsilon).expect("an answer");
        prop_assert!(back(found.upper * (1.0 + 1e-12)).lower <= given * (1.0 + 1e-9));
        if found.lower > 0.0 {
            prop_assert!(back(found.lower * (1.0 - 1e-12)).upper >= given * (1.0 - 1e-9));
        }
    }
}

#[test]
fn directions_are_compared_after_composition() {
    // Each run's larger direction is the other one's smaller at this delta, if they were mixed the sum would
    // be larger.
    let event = |mechanism| Event::new(mechanism, Sampling::Poisson { rate: 0.3 }).expect("valid");
    let mut both = Composition::single(event(Mechanism::Laplace { scale: 0.7 }), 3);
    both.push(event(Mechanism::PureDp { epsilon: 1.0 }), 2);
    let answer = cost(Relation::AddRemove, &both, 1e-4).expect("an answer");
    // No loss is larger than the sum of what removal can lose: 3 log(1 - q + q e^(1/b)) + 2 log(1 - q + q e).
    let most = 3.0 * (0.7 + 0.3 * (1.0f64 / 0.7).exp()).ln() + 2.0 * (0.7 + 0.3 * 1.0f64.exp()).ln();
    assert!(answer.upper <= most * (1.0 + 1e-11), "{answer:?} {most}");
}

/// Of a few sampled guarantees the addition of a record may show more than its removal: all outcomes, both ways round.
#[test]
fn adding_a_record_may_cost_more_than_removing_it() {
    let (epsilon, rate, steps) = (0.5f64, 0.5, 3i32);
    let event = Event::new(Mechanism::PureDp { epsilon }, Sampling::Poisson { rate }).expect("valid");
    let accountant = Accountant::new(Relation::AddRemove).compose(event, 3);
    // How likely each of the answers is "yes" without the record, and with it, if it is in the sample.
    let without = 1.0 / (1.0 + epsilon.exp());
    let with = (1.0 - rate) * without + rate * (1.0 - without);
    for asked in [0.3f64, 0.35, 0.4] {
        let delta = |p: f64, q: f64| -> f64 {
            let outcomes = [1.0, 3.0, 3.0, 1.0].into_iter().zip(0i32..);
            let excess = |(ways, yes): (f64, i32)| {
                let chance = |one: f64| ways * one.powi(yes) * (1.0 - one).powi(steps - yes);
                (chance(p) - asked.exp() * chance(q)).max(0.0)
            };
            outcomes.map(excess).sum()
        };
        let (removed, added) = (delta(with, without), delta(without, with));
        assert!(added > 1.05 * removed, "{asked}: {added} {removed}");
        let found = accountant.delta(asked).expect("an answer");
        assert!(found.lower <= added * (1.0 + 1e-12), "{asked}: {found:?} {added}");
        assert!(found.upper >= added * (1.0 - 1e-12), "{asked}: {found:?} {added}");
    }
}

#[test]
fn guarantees_that_may_fail_have_no_epsilon_at_a_small_delta() {
    let event =
        Event::new(Mechanism::ApproximateDp { epsilon: 0.1, delta: 1e-6 }, Sampling::None).expect("valid");
    let run = Composition::single(event, 100);
    match cost(Relation::ReplaceOne, &run, 9e-5) {
        Err(Error::NoEpsilon { catastrophe, .. }) => {
            // 1 - (1 - 1e-6)^100
            assert!((catastrophe / 9.999_505_016e-5 - 1.0).abs() < 1e-9, "{catastrophe}");
        }
        other => panic!("{other:?}"),
    }
    let answer = cost(Relation::ReplaceOne, &run, 1.1e-4).expect("an answer");
    assert!(answer.upper > 1.0 && answer.upper < 10.0, "{answer:?}");
}

#[test]
fn parts_of_epochs_are_refused_and_epochs_are_bounded_from_both_sides() {
    let sampling = Sampling::Shuffle { batch: 10, records: 95 };
    let event = Event::new(Mechanism::Gaussian { noise_multiplier: 3.0 }, sampling).expect("valid");
    let error = cost(Relation::ReplaceOne, &Composition::single(event, 25), 1e-5).unwrap_err();
    assert!(error.to_string().contains("round up to 30"), "{error}");
    let answer = cost(Relation::ReplaceOne, &Composition::single(event, 30), 1e-5).expect("an answer");
    let plain = |noise_multiplier| {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid");
        cost(Relation::ReplaceOne, &Composition::single(event, 3), 1e-5).expect("an answer")
    };
    // Three epochs: at most three releases, at least three sums over ten batches.
    assert!(answer.upper >= plain(3.0).lower && answer.upper <= plain(3.0).upper * 1.01, "{answer:?}");
    assert!(answer.lower >= plain(3.0 * 10f64.sqrt()).lower * 0.99, "{answer:?}");
    let error = cost(Relation::AddRemove, &Composition::single(event, 30), 1e-5).unwrap_err();
    assert!(
        matches!(error, Error::Unsupported { .. }) && error.to_string().contains("replace-one"),
        "{error}"
    );
}

#[test]
fn many_events_and_many_steps_end_in_an_answer_or_an_error() {
    let run = |events: u64, sampling: &dyn Fn(u64) -> Sampling, count| {
        let mut run = Composition::new();
        for k in 0..events {
            let mechanism = Mechanism::Gaussian { noise_multiplier: 50.0 + 1e-3 * k as f64 };
            run.push(Event::new(mechanism, sampling(k)).expect("valid"), count);
        }
        run
    };
    let poisson = |_| Sampling::Poisson { rate: 0.01 };
    let fixed = |_| Sampling::WithoutReplacement { batch: 1, records: 100 };
    // More than a lattice takes, for which others have to answer.
    let many = cost(Relation::AddRemove, &run(3_000, &poisson, 1), 1e-5).expect("an answer");
    assert!(many.upper < 20.0, "{many:?}");
    let error = cost(Relation::AddRemove, &run(10_000, &fixed, 1), 1e-5).unwrap_err();
    assert!(matches!(error, Error::TooManyEvents { found: 10_000, .. }), "{error}");
    let some = cost(Relation::AddRemove, &run(60, &fixed, 10), 1e-5).expect("an answer");
    assert!(some.upper < 1.0 && some.lower > 0.0, "{some:?}");
    let long = cost(Relation::AddRemove, &run(1, &fixed, 1_000_000_000), 1e-5).expect("an answer");
    assert!(long.lower <= long.upper && long.upper < 1e7, "{long:?}");
}

/// Each of these has a list of 720,000 outcomes: they are refused before 50 GB of them are made.
#[test]
fn many_long_lists_of_outcomes_are_refused() {
    let mut run = Composition::new();
    for k in 0..3_000u32 {
        let mechanism = Mechanism::DiscreteGaussian { sigma: 1e4 + f64::from(k), sensitivity: 1 };
        run.push(Event::new(mechanism, Sampling::None).expect("valid"), 1);
    }
    let error = Accountant::new(Relation::AddRemove).with(&run).epsilon(1e-5).expect_err("too many");
    assert!(error.to_string().contains("too many different events with long lists of outcomes"), "{error}");
}

/// Every mechanism under every sampling scheme: of the most steps under both relations, and of fewer, for which
/// lattices are tried, under one of them in turns.
#[test]
fn the_ends_of_all_ranges_are_answered() {
    let mechanisms = [
        Mechanism::Gaussian { noise_multiplier: 1e-100 },
        Mechanism::Gaussian { noise_multiplier: 1e100 },
        Mechanism::Laplace { scale: 1e-100 },
        Mechanism::Laplace { scale: 1e100 },
        Mechanism::DiscreteGaussian { sigma: 1e-3, sensitivity: 1 },
        Mechanism::DiscreteGaussian { sigma: 1.0, sensitivity: 1 << 40 },
        Mechanism::RandomizedResponse { categories: u64::MAX, truth_probability: 0.5 },
        Mechanism::RandomizedResponse { categories: 2, truth_probability: 0.5 },
        Mechanism::RandomizedResponse { categories: 2, truth_probability: 1.0 - 1e-16 },
        Mechanism::PureDp { epsilon: 0.0 },
        Mechanism::PureDp { epsilon: 1e6 },
        Mechanism::ApproximateDp { epsilon: 0.0, delta: 0.0 },
        Mechanism::ApproximateDp { epsilon: 1.0, delta: 0.999 },
    ];
    let samplings = [
        Sampling::None,
        Sampling::Poisson { rate: 1e-300 },
        Sampling::Poisson { rate: 1.0 - 1e-16 },
        Sampling::WithoutReplacement { batch: 1, records: u64::MAX },
        Sampling::WithoutReplacement { batch: 1, records: 1 },
        Sampling::WithReplacement { batch: u64::MAX, records: 2 },
        Sampling::WithReplacement { batch: 1, records: u64::MAX },
        Sampling::Shuffle { batch: 1, records: 1 },
        Sampling::Shuffle { batch: 1, records: 1_000 },
    ];
    let grid = (0..mechanisms.len()).flat_map(|m| (0..samplings.len()).map(move |s| (m, s)));
    for (m, s) in grid {
        let (mechanism, sampling) = (mechanisms[m], samplings[s]);
        let event = Event::new(mechanism, sampling).expect("valid");
        for (r, relation) in [Relation::AddRemove, Relation::ReplaceOne].into_iter().enumerate() {
            let few = ((m + s + r) % 2 == 1).then_some(1_000);
            for count in few.into_iter().chain([u64::MAX / 1_000 * 1_000]) {
                let run = Accountant::new(relation).compose(event, count).relative_width(0.2).expect("valid");
                if let Some(found) = answer(run.epsilon(1e-9)) {
                    assert!(
                        found.lower <= found.estimate && found.estimate <= found.upper,
                        "{event} {found:?}"
                    );
                }
                if let Some(found) = answer(run.delta(1.0)) {
                    assert!(found.lower <= found.estimate && found.upper <= 1.0, "{event} {found:?}");
                }
            }
        }
    }
}

/// A single guarantee or answer: `δ(ε') = δ + (1 − δ)(1 − e^(ε' − ε))/(1 + e^(−ε))` below ε, to the last digits and at
/// both ends.
#[test]
fn a_single_guarantee_has_both_ends() {
    for (epsilon, own) in [(1.0, 0.0), (0.01, 0.0), (1e-9, 0.0), (12.0, 1e-7), (700.0, 0.0)] {
        let mechanism = match own {
            0.0 => Mechanism::PureDp { epsilon },
            delta => Mechanism::ApproximateDp { epsilon, delta },
        };
        let event = Event::new(mechanism, Sampling::None).unwrap();
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let accountant = Accountant::new(relation).compose(event, 1);
            for delta in [1e-320, 1e-12, 1e-5, 0.01, 0.4] {
                if delta <= own {
                    continue;
                }
                let found = accountant.epsilon(delta).unwrap();
                let share = (delta - own) / (1.0 - own) * (1.0 + f64::exp(-epsilon));
                let truth = (epsilon + (-share).ln_1p()).max(0.0);
                let rounding = 1e-14 * (1.0 + epsilon);
                assert!(
                    found.lower <= truth + rounding && found.upper >= truth - rounding,
                    "{event} {delta} {found:?} {truth}"
                );
                // 1e-9 is what a sum of guarantees is known to.
                assert!(
                    found.width() <= 1e-13 * (1.0 + epsilon) + 2e-9 * epsilon,
                    "{event} {delta} {found:?}"
                );
            }
            let advantage = accountant.advantage().unwrap();
            let truth = own + (1.0 - own) * (0.5 * epsilon).tanh();
            assert!(
                advantage.lower <= truth
                    && truth <= advantage.upper * (1.0 + 1e-15)
                    && advantage.width() <= 1e-13
            );
        }
    }
}

/// What has no certified answer is refused, whatever the mechanism and the scheme: the rules, once more.
/// Without one of its records a data set has no batch of all of them, and that it has none is seen.
#[test]
fn batches_of_all_records_do_not_hide_who_is_there() {
    let event = |batch: u64| {
        let sampling = Sampling::WithoutReplacement { batch, records: 100 };
        Event::new(Mechanism::Gaussian { noise_multiplier: 4.0 }, sampling).expect("valid")
    };
    let of = |relation, batch| Accountant::new(relation).compose(event(batch), 1).epsilon(1e-5);
    assert!(matches!(of(Relation::AddRemove, 100), Err(Error::UnsupportedEvent { .. })));
    assert!(of(Relation::AddRemove, 99).is_ok() && of(Relation::ReplaceOne, 100).is_ok());
}

#[test]
fn what_no_bound_is_known_for_is_refused() {
    let guarantees =
        [Mechanism::PureDp { epsilon: 0.1 }, Mechanism::ApproximateDp { epsilon: 0.1, delta: 1e-9 }];
    let gaussian = Mechanism::Gaussian { noise_multiplier: 2.0 };
    let response = Mechanism::RandomizedResponse { categories: 3, truth_probability: 0.4 };
    let mechanisms = [
        gaussian,
        Mechanism::Laplace { scale: 8.0 },
        Mechanism::DiscreteGaussian { sigma: 4.0, sensitivity: 1 },
        response,
        guarantees[0],
        guarantees[1],
    ];
    let samplings = [
        Sampling::None,
        Sampling::Poisson { rate: 1.0 },
        Sampling::Poisson { rate: 0.1 },
        Sampling::WithoutReplacement { batch: 1, records: 10 },
        Sampling::WithReplacement { batch: 1, records: 10 },
        Sampling::Shuffle { batch: 5, records: 10 },
    ];
    for (mechanism, sampling) in mechanisms.into_iter().flat_map(|m| samplings.map(|s| (m, s))) {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let inserted = relation == Relation::AddRemove;
            let refused = match sampling {
                // Whether a record answers at all is seen.
                Sampling::None | Sampling::Poisson { rate: 1.0 } => inserted && mechanism == response,
                Sampling::Poisson { .. } if inserted => mechanism == response,
                Sampling::Poisson { .. } => mechanism != gaussian,
                // An inserted record takes another one's place, for which a guarantee for insertions says nothing.
                Sampling::WithoutReplacement { .. } => inserted && guarantees.contains(&mechanism),
                Sampling::WithReplacement { .. } => mechanism != gaussian,
                Sampling::Shuffle { .. } => inserted,
            };
            let event = Event::new(mechanism, sampling).expect("valid");
            let found = cost(relation, &Composition::single(event, 2), 1e-5);
            let is_refused = matches!(found, Err(Error::Unsupported { .. } | Error::UnsupportedEvent { .. }));
            assert_eq!(is_refused, refused, "{event} under {relation:?}: {found:?}");
        }
    }
}

/// Releases with normal noise of different sizes add up to one whose inverse variance is the sum of theirs, also beside
/// another mechanism; a count of one per mille of a budget hardly costs more.
#[test]
fn unsampled_gaussians_of_different_noise_add_up() {
    let gaussian = |noise_multiplier| {
        Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None).expect("valid")
    };
    let laplace = Event::new(Mechanism::Laplace { scale: 2e3 }, Sampling::None).expect("valid");
    for (lines, together) in [
        (vec![(1.0, 1), (2.0, 4)], 0.5_f64.sqrt()),
        (vec![(4.0, 16), (3.0, 9), (1.5, 1)], (2.0 + 1.0 / 2.25_f64).sqrt().recip()),
        (vec![(50.0, 100), (5.0, 1)], 0.08_f64.sqrt().recip()),
    ] {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let mut run = Composition::single(laplace, 1);
            run.extend(lines.iter().map(|&(noise, count)| (gaussian(noise), count)));
            let found = cost(relation, &run, 1e-5).expect("an answer");
            let least =
                cost(relation, &Composition::single(gaussian(together), 1), 1e-5).expect("a closed form");
            assert!(found.upper >= least.lower, "{lines:?}: {found:?} {least:?}");
            assert!(found.lower <= 1.01 * least.upper + 2e-3, "{lines:?}: {found:?} {least:?}");
        }
    }
}
