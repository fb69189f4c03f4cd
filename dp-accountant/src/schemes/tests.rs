//! The bound that needs no table. It decides where counts are not exact as floating-point numbers, and
//! wherever tables end.

use super::*;
use crate::Accountant;

fn event(mechanism: Mechanism, sampling: Sampling) -> Event {
    Event::new(mechanism, sampling).expect("valid")
}

fn gaussian(noise_multiplier: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier }
}

/// What a mechanism that reveals everything with probability `failing`, and nothing else, adds to a cost:
/// delta(epsilon) = failing + (1 - failing) delta'(epsilon), exactly. So epsilon at delta is epsilon' at
/// this.
fn left(delta: f64, failing: f64) -> f64 {
    (delta - failing) / (1.0 - failing)
}

#[test]
fn what_approximate_guarantees_may_fail_with_is_taken_from_delta() {
    // So many releases that their count is no floating-point number, and the table-free bound is the whole
    // answer.
    let (noise, count) = (1e9, (1u64 << 54) + 1);
    let alone = Accountant::new(Relation::AddRemove).compose(event(gaussian(noise), Sampling::None), count);
    for (uses, each) in [(1, 1e-3), (1_000, 1e-6), (3, 1e-9)] {
        let guarantee = event(Mechanism::ApproximateDp { epsilon: 0.0, delta: each }, Sampling::None);
        let both = alone.clone().compose(guarantee, uses);
        let failing = -(uses as f64 * (-each).ln_1p()).exp_m1();
        for rest in [1e-9, 1e-6, 1e-3] {
            // The sum of the deltas is at least the probability that one of them fails, and the bound takes
            // the sum.
            let delta = uses as f64 * each + rest * each;
            let found = both.epsilon(delta).expect("an answer");
            let truth = alone.epsilon(left(delta, failing)).expect("a closed form");
            assert!(found.upper >= truth.lower, "{uses} {each} {rest}: {found:?} {truth:?}");
            // And it is no idle bound: where nothing can fail, it is well below this.
            let certain = alone.epsilon(delta).expect("a closed form");
            assert!(certain.upper < 0.9 * truth.lower, "{certain:?} {truth:?}");
        }
        // Where they can use up delta on their own, the bound says nothing, and below that there is no
        // epsilon.
        let sum = uses as f64 * each;
        assert!(both.epsilon(sum).is_err() || both.epsilon(sum).is_ok_and(|found| found.upper == f64::MAX));
        assert!(matches!(both.epsilon(0.999 * failing), Err(Error::NoEpsilon { .. })));
    }
}

#[test]
fn the_bound_that_needs_no_table_holds_for_every_mechanism_and_scheme() {
    let without = |batch, records| Sampling::WithoutReplacement { batch, records };
    // A record is drawn some 25 times.
    let with = Sampling::WithReplacement { batch: 50, records: 2 };
    let shuffle = Sampling::Shuffle { batch: 5, records: 5 };
    let laplace = Mechanism::Laplace { scale: 2.0 };
    let discrete = Mechanism::DiscreteGaussian { sigma: 4.0, sensitivity: 3 };
    let response = |categories| Mechanism::RandomizedResponse { categories, truth_probability: 0.6 };
    let approximate = Mechanism::ApproximateDp { epsilon: 0.4, delta: 1e-7 };
    for (mechanism, sampling, count) in [
        (gaussian(1.5), Sampling::None, 3),
        (gaussian(1.5), Sampling::Poisson { rate: 0.9 }, 3),
        (gaussian(1.5), without(9, 10), 3),
        (gaussian(100.0), with, 3),
        (gaussian(1.5), shuffle, 3),
        (laplace, Sampling::None, 2),
        (laplace, Sampling::Poisson { rate: 0.95 }, 2),
        (laplace, without(19, 20), 2),
        (laplace, shuffle, 2),
        (discrete, Sampling::None, 3),
        (discrete, without(9, 10), 3),
        (response(2), Sampling::None, 2),
        (response(7), Sampling::None, 2),
        (Mechanism::PureDp { epsilon: 0.7 }, Sampling::None, 3),
        (approximate, Sampling::None, 3),
    ] {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let composition = Composition::single(event(mechanism, sampling), count);
            let Ok(run) = run(relation, &composition) else { continue };
            for delta in [1e-3, 1e-6, 1e-12] {
                let crude = run.formulas.enclose(Query::Epsilon { delta }).upper;
                if crude == f64::MAX {
                    // Said only where the guarantees may fail with that probability.
                    assert!(3.0 * 1e-7 >= delta && mechanism == approximate, "{mechanism}");
                    continue;
                }
                // Asked for delta, the engines know nothing of this bound. The cases are such that the bound
                // is not much larger than the truth, so that a part of it that is missing shows.
                let there = run.answer(Query::Delta { epsilon: crude }, 1e-2).expect("an answer");
                assert!(
                    there.lower <= delta,
                    "{mechanism}, {sampling}, {relation}, {delta}: {crude} {there:?}"
                );
            }
        }
    }
}

/// How often a record is drawn has no end: what a list leaves out is charged to infinite loss from above, and belongs to
/// the last number of copies from below. It is less than any delta that is asked for, and no error of one either.
#[test]
fn what_lies_beyond_a_list_is_kept() {
    let found = Multiplicity::new(50, 100, 10).expect("few copies");
    let parts = |upper| match found.pair(2.0, upper) {
        Pair::Copies(copies) => (copies.weights.last().copied(), copies.beyond),
        _ => panic!("a pair of copies"),
    };
    let last = found.weights.last().copied().expect("a list");
    assert!(found.beyond > 0.0 && found.beyond < 1e-30);
    assert_eq!(parts(true), (Some(last), found.beyond));
    assert_eq!(parts(false), (Some(last + found.beyond), 0.0));
}
