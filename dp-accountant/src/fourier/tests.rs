use super::table::Table;
use super::*;
use crate::lattice::{self, Aim, Pair, Part, Query, Shelf, Subsampled};
use proptest::prelude::*;

fn poisson(sigma: f64, rate: f64, steps: f64) -> Composition {
    let side = |direction| vec![(Law { direction, sigma, rate }, steps)];
    Composition { directions: vec![side(Direction::Remove), side(Direction::Add)], squared_mu: 0.0 }
}

fn replace(sigma: f64, rate: f64, steps: f64) -> Composition {
    let law = Law { direction: Direction::Replace, sigma, rate };
    Composition { directions: vec![vec![(law, steps)]], squared_mu: 0.0 }
}

/// Settings with epsilon from `reference/epsilon.csv`, known to 12 digits: sigma, rate, steps, delta,
/// epsilon.
const KNOWN: [(f64, f64, f64, f64, f64); 8] = [
    (1.0, 0.01, 1e3, 1e-5, 1.828_236_666_516_592),
    (1.5, 128.0 / 60_000.0, 9_380.0, 1.0 / 60_000.0, 0.535_707_278_196_142_3),
    (0.5, 1e-3, 1e5, 1e-6, 14.733_188_448_976_22),
    (0.3, 1e-3, 1e4, 1e-5, 41.499_576_859_129_41),
    (20.0, 0.1, 1e5, 1e-6, 8.314_308_901_257_93),
    (1.0, 0.5, 10.0, 1e-6, 11.798_776_151_300_34),
    (1.0, 1e-3, 1e4, 1e-7, 0.627_798_530_522_024_3),
    (4.0, 0.5, 1e3, 1e-5, 24.380_555_847_414_16),
];
/// The same under replace-one.
const KNOWN_REPLACE: [(f64, f64, f64, f64, f64); 3] = [
    (1.0, 0.01, 1e3, 1e-5, 2.843_440_259_274_498),
    (2.0, 0.02, 5e3, 1e-6, 7.306_133_502_877_134),
    (6.0, 0.05, 1e3, 1e-5, 2.112_677_124_317_591_5),
];

fn known() -> impl Iterator<Item = (Composition, f64, f64)> {
    let poisson = KNOWN
        .iter()
        .map(|&(sigma, rate, steps, delta, epsilon)| (poisson(sigma, rate, steps), delta, epsilon));
    let replace = KNOWN_REPLACE
        .iter()
        .map(|&(sigma, rate, steps, delta, epsilon)| (replace(sigma, rate, steps), delta, epsilon));
    poisson.chain(replace)
}

#[test]
fn known_values_are_enclosed_tightly() {
    for (composition, delta, epsilon) in known() {
        let found = composition.epsilon(delta, 2e-5, Patience::Much).expect("an answer");
        assert!(
            found.lower <= epsilon * (1.0 + 1e-11) && found.upper >= epsilon * (1.0 - 1e-11),
            "{epsilon} {found:?}"
        );
        assert!(found.upper - found.lower <= 2e-5 * epsilon, "{epsilon} {found:?}");
        let back = composition.delta(epsilon, 1e-3, Patience::Much).expect("an answer");
        assert!(back.lower <= delta * (1.0 + 1e-9) && back.upper >= delta * (1.0 - 1e-9), "{delta} {back:?}");
        assert!(back.upper - back.lower <= 1e-3 * delta, "{delta} {back:?}");
    }
}

#[test]
fn bounds_hold_however_badly_the_integral_is_planned() {
    // Windows, frequencies and spacings far from enough: the interval has to become wide, not wrong.
    let mut wide = 0;
    for (composition, delta, epsilon) in known() {
        for (window, last, spacing) in [
            (0.5, 1.0, 1.0),
            (1.0, 0.4, 1.0),
            (1.0, 1.0, 2.5),
            (0.7, 0.7, 1.5),
            (0.3, 0.3, 4.0),
            (2.0, 0.2, 1.0),
        ] {
            for laws in &composition.directions {
                let mut side = Side::new(laws, composition.squared_mu, Patience::Much);
                let (tilt, _) = side.sketch.tilt_at(epsilon);
                let plan = Quadrature::new(
                    &mut side.sketch,
                    laws,
                    composition.squared_mu,
                    tilt,
                    epsilon,
                    delta.ln() - 3.0,
                    1e-6,
                    // A step added, large, small or not at all.
                    [0.0, 0.01, 1e-4][usize::from(window < 1.0) + usize::from(last < 1.0)] / (tilt + 1.0),
                    Patience::Much,
                );
                // An epsilon beyond all losses of a direction has none.
                let Some(plan) = plan else { continue };
                let good = Inversion::new(&plan, laws, composition.squared_mu, Patience::Much)
                    .expect("an answer")
                    .log_delta(epsilon)
                    .0;
                let plan = plan.spoiled(window, last, spacing);
                let Some(bad) = Inversion::new(&plan, laws, composition.squared_mu, Patience::Much) else {
                    continue;
                };
                let bad = bad.log_delta(epsilon).0;
                assert!(bad.lower <= good.upper, "{epsilon} {window} {last} {spacing}: {bad:?} {good:?}");
                // An upper end that is not a number is no answer.
                let holds = bad.upper.is_nan() || bad.upper >= good.lower;
                assert!(holds, "{epsilon} {window} {last} {spacing}: {bad:?} {good:?}");
                wide += usize::from(bad.upper - bad.lower > 1e-3);
            }
        }
    }
    assert!(wide > 30, "spoiling made only {wide} intervals wide");
}

#[test]
fn values_far_in_the_tail_agree_with_the_published_ones() {
    // notes: σ 4, q 0.01, T 10⁴ has δ = 1e-20 at 2.310796989371 and 1e-50 at 3.826129238080, to 12 decimals.
    for (delta, epsilon) in [(1e-20, 2.310_796_989_371), (1e-50, 3.826_129_238_080)] {
        let found = poisson(4.0, 0.01, 1e4).epsilon(delta, 1e-8, Patience::Much).expect("an answer");
        assert!(found.lower <= epsilon + 1e-12 && found.upper >= epsilon - 1e-12, "{found:?}");
        assert!(found.upper - found.lower < 1e-8 * epsilon, "{found:?}");
    }
    let found = poisson(4.0, 0.01, 1e4).log_delta(6.0, 1e-6, Patience::Much).expect("an answer");
    assert!(found.upper < -230.0 && found.upper - found.lower < 1e-5, "{found:?}");
}

#[test]
fn the_bound_on_the_characteristic_function_holds_at_all_higher_frequencies() {
    for (direction, sigma, rate, tilt) in [
        (Direction::Remove, 1.0, 0.01, 6.0),
        (Direction::Remove, 0.5, 1e-3, 1.0),
        (Direction::Remove, 1.0, 0.01, 8.0),
        (Direction::Add, 1.0, 0.3, 5.0),
        (Direction::Replace, 2.0, 0.05, 3.0),
    ] {
        let law = Law { direction, sigma, rate };
        let table = Table::new(law, tilt, 0.005 * sigma, Patience::Much).expect("a table");
        let spread = (table.weights.iter().zip(&table.losses).map(|(w, d)| w * d * d).sum::<f64>()).sqrt();
        let modulus = |t: f64| {
            let sum = table.weights.iter().zip(&table.losses).fold((0.0, 0.0), |sum, (w, d)| {
                let (sine, cosine) = (t * d).sin_cos();
                (sum.0 + w * cosine, sum.1 + w * sine)
            });
            f64::hypot(sum.0, sum.1)
        };
        let mut useful = false;
        let mut largest_above = 0.0f64;
        // From high frequencies to low ones.
        for k in (1..=400).rev() {
            let t = 0.05 * f64::from(k) / spread;
            largest_above = largest_above.max(modulus(t));
            let bound = table.decay.log_bound(t, 0.0).exp();
            assert!(
                largest_above <= bound + 1e-12,
                "{direction:?} {sigma} {rate} {tilt} {t}: {largest_above} {bound}"
            );
            useful |= bound < 0.9;
        }
        assert!(useful, "{direction:?} {sigma} {rate} {tilt}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn both_engines_enclose_one_number(
        log_sigma in -0.9f64..2.5, log_rate in -9.0f64..-0.1, log_steps in 0.7f64..11.0, log_delta in -40.0f64..-2.0,
        squared_mu in prop_oneof![Just(0.0), 1e-4f64..4.0],
    ) {
        let (sigma, rate, steps) = (log_sigma.exp(), log_rate.exp(), log_steps.exp().round());
        let composition = Composition { squared_mu, ..poisson(sigma, rate, steps) };
        if let Some(found) = composition.epsilon(log_delta.exp(), 1e-4, Patience::Much) {
            prop_assert!(0.0 <= found.lower && found.lower <= found.upper);
            let part = |sigma, rate, count| Part { pair: Pair::Subsampled(Subsampled { sigma, rate }), count };
            let mut parts = vec![part(sigma, rate, steps)];
            if squared_mu > 0.0 {
                parts.push(part(1.0 / squared_mu.sqrt(), 1.0, 1.0));
            }
            let known = Interval { lower: 0.0, upper: 1e6 };
            let (query, shelf) = (Query::Epsilon { delta: log_delta.exp() }, &mut Shelf::default());
            let other = lattice::solve(&parts, query, known, Aim::both(1e-2), shelf);
            prop_assert!(found.lower <= other.upper && other.lower <= found.upper, "{:?} {:?}", found, other);
        }
    }
}

/// Chernoff's bound with the factor `c^c/(c+1)^(c+1)` is what the Rényi accountant's tight conversion says at the order
/// `c + 1`, which is computed elsewhere by sums over binomial coefficients: never below its best order, and near it.
#[test]
fn chernoffs_bound_is_that_of_the_best_renyi_order() {
    use crate::classical::{Conversion, Renyi};
    use crate::{Event, Mechanism, Relation, Sampling};
    for (noise_multiplier, rate, steps, delta) in [
        (4.5, 1e-4, 1_000, 1e-300),
        (5.5, 1e-3, 1_000, 1e-300),
        (2.0, 1e-6, 100_000, 1e-300),
        (2.3, 1e-3, 1_000, 1e-60),
        (1.0, 1e-2, 1_000, 1e-5),
    ] {
        let event =
            Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate }).expect("valid");
        let events = crate::Composition::single(event, steps);
        let renyi = Renyi::new(Relation::AddRemove, &events).expect("covered");
        let renyi = renyi.epsilon(delta, Conversion::Tight).expect("a bound").value;
        let found =
            poisson(noise_multiplier, rate, steps as f64).epsilon_by_chernoff(delta).expect("a bound");
        let name = format!("{noise_multiplier} {rate} {steps} {delta:e}: {found} {renyi}");
        assert!(found >= renyi * (1.0 - 1e-6) && found <= 1.03 * renyi, "{name}");
    }
}
