//! Properties that must hold for all parameters, stated so that the width of an interval cannot make them
//! fail.

use proptest::prelude::*;

use crate::closed_form::{Interval, gaussian_delta, invert, subsampled_step_delta};
use crate::lattice::{self, Aim, Pair, Part, Query, Shelf, Subsampled};
use crate::{Accountant, Certified, Composition, Event, Mechanism, Relation, Sampling, strategies};

fn event(noise_multiplier: f64, rate: f64) -> Event {
    Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })
        .expect("valid parameters")
}

fn epsilon(composition: &Composition, delta: f64) -> Certified {
    let accountant = Accountant::new(Relation::AddRemove).with(composition);
    accountant.relative_width(1e-2).and_then(|a| a.epsilon(delta)).expect("an answer")
}

fn delta(composition: &Composition, epsilon: f64) -> Certified {
    let accountant = Accountant::new(Relation::AddRemove).with(composition);
    accountant.relative_width(1e-2).and_then(|a| a.delta(epsilon)).expect("an answer")
}

/// What a more private run certainly costs cannot exceed what a less private one possibly costs.
fn is_ordered(more_private: Certified, less_private: Certified) -> bool {
    more_private.lower <= less_private.upper
}

fn part(sigma: f64, rate: f64, count: f64) -> Part {
    Part { pair: Pair::Subsampled(Subsampled { sigma, rate }), count }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn epsilon_is_monotone_in_every_parameter(
        noise_multiplier in strategies::noise_multiplier(),
        rate in strategies::rate(),
        steps in 2u64..5_000,
        delta in strategies::delta(),
        more in 1.001f64..2.0,
    ) {
        let run = |noise_multiplier, rate, steps| Composition::single(event(noise_multiplier, rate), steps);
        let base = epsilon(&run(noise_multiplier, rate, steps), delta);
        prop_assert!(base.lower >= 0.0 && base.lower <= base.estimate && base.estimate <= base.upper);
        prop_assert!(is_ordered(epsilon(&run(noise_multiplier * more, rate, steps), delta), base));
        prop_assert!(is_ordered(base, epsilon(&run(noise_multiplier, (rate * more).min(1.0), steps), delta)));
        prop_assert!(is_ordered(base, epsilon(&run(noise_multiplier, rate, steps * 2), delta)));
        prop_assert!(is_ordered(epsilon(&run(noise_multiplier, rate, steps), delta * more), base));
    }

    #[test]
    fn order_and_grouping_do_not_change_a_bit(
        (first, second) in (strategies::poisson_event(), strategies::poisson_event()),
        (a, b, c) in (1u64..1_000, 1u64..1_000, 1u64..1_000),
        delta in strategies::delta(),
    ) {
        let mut forwards = Composition::single(first, a);
        forwards.extend([(second, c), (first, b)]);
        let mut backwards = Composition::single(second, c);
        backwards.push(first, a + b);
        prop_assert_eq!(epsilon(&forwards, delta), epsilon(&backwards, delta));
    }

    #[test]
    fn a_mixture_lies_between_its_parts(
        noise_multiplier in strategies::noise_multiplier(),
        rate in strategies::rate(),
        (a, b) in (1u64..1_000, 1u64..1_000),
        delta in strategies::delta(),
        apart in prop_oneof![Just(1.0 + 1e-9), 1.0f64..3.0],
    ) {
        let (less, more) = (event(noise_multiplier, rate), event(noise_multiplier * apart, rate));
        let mut mixed = Composition::single(less, a);
        mixed.push(more, b);
        let mixed = epsilon(&mixed, delta);
        prop_assert!(is_ordered(mixed, epsilon(&Composition::single(less, a + b), delta)));
        prop_assert!(is_ordered(epsilon(&Composition::single(more, a + b), delta), mixed));
    }

    #[test]
    fn epsilon_and_delta_are_inverse(composition in strategies::composition(), given in strategies::delta()) {
        let answer = epsilon(&composition, given);
        // At the upper end of epsilon delta is no more than given, and below the lower end no less. The
        // factors cover the rounding of the arguments themselves.
        prop_assert!(delta(&composition, answer.upper * (1.0 + 1e-12)).lower <= given * (1.0 + 1e-9));
        if answer.lower > 0.0 {
            prop_assert!(delta(&composition, answer.lower * (1.0 - 1e-12)).upper >= given * (1.0 - 1e-9));
        }
    }

    #[test]
    fn without_sampling_the_lattice_agrees_with_the_closed_form(
        noise_multiplier in strategies::noise_multiplier(),
        steps in 1u64..200,
        given in strategies::delta(),
    ) {
        let count = steps as f64;
        let truth = |epsilon| gaussian_delta(count.sqrt() / noise_multiplier, 1e-15, epsilon);
        let exact = invert(truth, given);
        let wide = Interval { lower: 0.0, upper: 4.0 * exact.upper + 1.0 };
        let found = lattice::solve(
            &[part(noise_multiplier, 1.0, count)],
            Query::Epsilon { delta: given },
            wide,
            Aim::both(1e-3),
            &mut Shelf::default(),
        );
        prop_assert!(found.lower <= exact.upper && found.upper >= exact.lower, "{found:?} {exact:?}");
        prop_assert!(found.upper - found.lower <= 1e-2 * exact.upper + 1e-6, "{found:?} {exact:?}");
    }

    #[test]
    #[cfg(feature = "serde")]
    fn budgets_and_events_survive_being_stored(
        budget in strategies::budget(),
        event in strategies::event(),
        relation in strategies::relation(),
    ) {
        prop_assert!(budget.validate().is_ok());
        let text = serde_json::to_string(&(event, relation)).expect("serialises");
        prop_assert_eq!(serde_json::from_str::<(Event, Relation)>(&text).expect("reads"), (event, relation));
    }
}

proptest! {
    // Small deltas take the finest lattices.
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn one_step_on_the_lattice_agrees_with_the_closed_form(
        noise_multiplier in strategies::noise_multiplier(),
        rate in strategies::rate(),
        epsilon in 0.0f64..3.0,
    ) {
        let exact = subsampled_step_delta(noise_multiplier, rate, epsilon);
        let wide = Interval { lower: 0.0, upper: 1.0 };
        let step = part(noise_multiplier, rate, 1.0);
        let shelf = &mut Shelf::default();
        let found = lattice::solve(&[step], Query::Delta { epsilon }, wide, Aim::both(1e-3), shelf);
        prop_assert!(found.lower <= exact.upper && found.upper >= exact.lower, "{found:?} {exact:?}");
        prop_assert!(exact.upper < 1e-12 || found.upper - found.lower <= 0.2 * exact.upper, "{found:?} {exact:?}");
    }
}
