//! Settings on which published tools or programs answered wrongly: the certified interval contains the truth,
//! and not their answer.
//!
//! Truths come from Fourier inversion in extended precision that agrees with closed forms to twelve digits,
//! or, where only a few digits are given, are known to half a unit of the last.

use dp_accountant::{Accountant, Certified, Event, Mechanism, Relation, Sampling};

fn accountant(relation: Relation, noise_multiplier: f64, sampling: Sampling, steps: u64) -> Accountant {
    let event = Event::new(Mechanism::Gaussian { noise_multiplier }, sampling).expect("a valid event");
    Accountant::new(relation).compose(event, steps).relative_width(1e-3).expect("a valid width")
}

fn poisson(noise_multiplier: f64, rate: f64, steps: u64) -> Accountant {
    accountant(Relation::AddRemove, noise_multiplier, Sampling::Poisson { rate }, steps)
}

/// The interval holds the truth, excludes the published answer, and is narrow enough for both to mean
/// something.
#[track_caller]
fn assert_right(answer: Certified, truth: f64, known_to: f64, published: f64) {
    assert!(answer.lower <= truth + known_to && truth - known_to <= answer.upper, "{answer:?} {truth}");
    assert!(answer.width() < 5e-3 * truth, "{answer:?}");
    assert!(published < answer.lower || answer.upper < published, "{answer:?} {published}");
}

#[test]
fn fourier_accountant_says_4_12_where_5_86_is_true() {
    let answer = poisson(0.7, 0.004, 10_000).epsilon(1e-6).expect("an answer");
    assert_right(answer, 5.86, 0.005, 4.12);
}

#[test]
fn fourier_accountant_says_0_where_0_2355_is_true() {
    let answer = poisson(1.0, 1e-4, 100_000).epsilon(1e-10).expect("an answer");
    assert_right(answer, 0.2355, 5e-5, 0.0);
}

#[test]
fn fourier_accountant_says_less_than_the_truth_in_the_seventh_digit() {
    let run = poisson(1.5, 128.0 / 60_000.0, 9_380).relative_width(1e-7).expect("a valid width");
    let answer = run.epsilon(1.0 / 60_000.0).expect("an answer");
    assert_right(answer, 0.5357072781961423, 1e-12, 0.5357072781961423 - 7e-7);
}

#[test]
fn tiny_deltas_are_answered_where_tools_understate_or_return_infinity() {
    // fourier-accountant understates for delta <= 1e-10, prv_accountant fails from 1e-14 and dp_accounting is
    // infinite from 1e-16.
    for (delta, truth) in [(1e-20, 2.310796989371), (1e-50, 3.826129238080)] {
        let answer = poisson(4.0, 0.01, 10_000).epsilon(delta).expect("an answer");
        assert_right(answer, truth, 1e-10, 0.0);
    }
}

#[test]
fn small_noise_is_answered_where_prv_accountant_fails_or_hangs() {
    for (noise_multiplier, rate, steps, delta, truth) in [
        (0.5, 0.001, 100_000, 1e-6, 14.733188448976223),
        (0.3, 0.001, 10_000, 1e-5, 41.49957685912941),
        (0.3, 0.01, 100, 1e-5, 26.834714485366455),
    ] {
        let answer = poisson(noise_multiplier, rate, steps).epsilon(delta).expect("an answer");
        assert_right(answer, truth, 1e-11, 0.0);
    }
}

#[test]
fn pessimistic_delta_of_dp_accounting_falls_below_the_truth() {
    let run = poisson(1.0, 0.001, 10_000).relative_width(2e-5).expect("a valid width");
    let answer = run.delta(1.0).expect("an answer");
    assert!(answer.upper >= 9.77335e-12 && answer.lower <= 9.77345e-12, "{answer:?}");
    assert!(answer.lower > 9.726e-12, "{answer:?}");
}

#[test]
fn dp_accounting_is_a_third_too_large_at_much_noise_and_small_delta() {
    let answer = poisson(20.0, 0.001, 100_000).epsilon(1e-10).expect("an answer");
    // The central limit, mu = q sqrt(T (e^(1/400) - 1)) = 0.0158, is right to a few percent here; a third
    // more is not.
    let gaussian = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 / 0.015821276 }, Sampling::None);
    let limit = Accountant::new(Relation::AddRemove).compose(gaussian.expect("valid"), 1).epsilon(1e-10);
    let limit = limit.expect("an answer").estimate;
    assert!((answer.estimate / limit - 1.0).abs() < 0.05, "{answer:?} {limit}");
    assert!(answer.width() < 5e-3 * answer.upper, "{answer:?}");
}

#[test]
fn noise_that_d3p_calibrates_for_8_costs_11_333() {
    let answer = poisson(0.526, 0.01, 1_000).epsilon(1e-5).expect("an answer");
    assert_right(answer, 11.333, 5e-3, 8.0);
}

#[test]
fn batches_of_fixed_size_accounted_as_poisson_samples_understate_severalfold() {
    // The truth lies in [lower, upper]; the Poisson formula says the last number.
    for (noise_multiplier, batch, records, steps, delta, (lower, upper), published) in [
        (1.0, 1, 100, 1_000, 1e-5, (13.360823985349992, 14.820666872773423), 2.843440259274498),
        (
            1.5,
            128,
            60_000,
            9_380,
            1.0 / 60_000.0,
            (1.9851714356442876, 2.5045982003568987),
            1.0128428085588557,
        ),
    ] {
        let sampling = Sampling::WithoutReplacement { batch, records };
        let run = accountant(Relation::ReplaceOne, noise_multiplier, sampling, steps);
        let answer = run.epsilon(delta).expect("an answer");
        // Both are true intervals, so that they overlap, and ours is not much wider.
        assert!(answer.lower <= upper && lower <= answer.upper, "{answer:?}");
        assert!(answer.upper <= upper * 1.01, "{answer:?}");
        assert!(answer.lower > 1.5 * published, "{answer:?}");
        let poisson = Sampling::Poisson { rate: batch as f64 / records as f64 };
        let poisson = accountant(Relation::ReplaceOne, noise_multiplier, poisson, steps).epsilon(delta);
        let poisson = poisson.expect("an answer");
        assert!(poisson.lower <= published && published <= poisson.upper, "{poisson:?}");
    }
}
