//! Compositions whose loss is dominated by rare large losses, against values of another computation, and
//! their order.

use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
use proptest::prelude::*;

/// Poisson-sampled Gaussian steps of (noise multiplier, rate, count), and one Gaussian release more.
fn accountant(relation: Relation, steps: &[(f64, f64, u64)], release: Option<f64>) -> Accountant {
    let event = |noise_multiplier, sampling| {
        Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("a valid event")
    };
    let mut accountant = Accountant::new(relation);
    for &(noise_multiplier, rate, count) in steps {
        accountant = accountant.compose(event(noise_multiplier, Sampling::Poisson { rate }), count);
    }
    release
        .into_iter()
        .fold(accountant, |accountant, noise| accountant.compose(event(noise, Sampling::None), 1))
}

#[test]
fn intervals_enclose_the_golden_values_tightly() {
    let mut rows = 0;
    let text = include_str!("golden/rare_losses.csv");
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let relation = match fields[0] {
            "add_remove" => Relation::AddRemove,
            "replace_one" => Relation::ReplaceOne,
            other => panic!("{other}"),
        };
        let step = |text: &str| {
            let parts: Vec<&str> = text.split(':').collect();
            (number(parts[0]), number(parts[1]), parts[2].parse::<u64>().expect("a count"))
        };
        let steps: Vec<_> = fields[1].split('+').map(step).collect();
        let release = (!fields[2].is_empty()).then(|| number(fields[2]));
        let (epsilon, delta) = (number(fields[3]), number(fields[4]));
        // The file's precision and the rounding of its decimals.
        let (below, above) = (delta * (1.0 - 3e-16), delta * (1.0 + 3e-16));
        // The goal for delta is fifty times that for epsilon.
        for (goal, widest) in [(2e-5, 2e-5), (1e-6, 1e-6), (2e-8, 2e-8)] {
            let accountant = accountant(relation, &steps, release).relative_width(goal).expect("in range");
            let found = accountant.delta(epsilon).expect("an answer");
            assert!(found.lower <= above && below <= found.upper, "{line}: {found:?}");
            assert!(found.width() <= 50.0 * widest * found.upper, "{line}: {found:?}");
            // A smaller delta has a larger epsilon.
            assert!(accountant.epsilon(above).expect("an answer").lower <= epsilon, "{line}");
            assert!(accountant.epsilon(below).expect("an answer").upper >= epsilon, "{line}");
            let found = accountant.epsilon(delta).expect("an answer");
            // Below an epsilon of 0.001 widths are relative to that.
            assert!(found.width() <= widest * found.upper.max(1e-3), "{line}: {found:?}");
        }
        rows += 1;
    }
    assert!(rows >= 20, "{rows}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// More steps, a larger rate and a smaller delta need a larger epsilon, and more noise a smaller one.
    #[test]
    fn answers_are_ordered_as_the_truth_is(
        log_rate in -16.0f64..-7.0, log_sigma in -0.69f64..1.38, log_steps in 0.0f64..16.0, log_delta in -34.0f64..-9.3,
        replace in any::<bool>(), release in prop_oneof![Just(None), (3.0f64..300.0).prop_map(Some)], more in 1e-6f64..0.2,
    ) {
        let relation = if replace { Relation::ReplaceOne } else { Relation::AddRemove };
        let (rate, sigma, delta) = (log_rate.exp(), log_sigma.exp(), log_delta.exp());
        let steps = log_steps.exp().round() as u64;
        let further = steps + (steps as f64 * more).ceil() as u64;
        let run = |sigma, rate, steps| accountant(relation, &[(sigma, rate, steps)], release);
        let at = |accountant: Accountant, delta| accountant.epsilon(delta).expect("an answer");
        let found = at(run(sigma, rate, steps), delta);
        let larger = [
            at(run(sigma, rate, further), delta),
            at(run(sigma, rate * (1.0 + more), steps), delta),
            at(run(sigma / (1.0 + more), rate, steps), delta),
            at(run(sigma, rate, steps), delta / (1.0 + more)),
        ];
        for other in larger {
            prop_assert!(found.lower <= other.upper, "{:?} {:?}", found, other);
        }
        // Both questions are about one function.
        let accountant = run(sigma, rate, steps);
        if found.upper > 0.0 {
            prop_assert!(accountant.delta(found.upper).expect("an answer").lower <= delta);
        }
        if found.lower > 0.0 {
            prop_assert!(accountant.delta(found.lower).expect("an answer").upper >= delta);
        }
    }
}
