//! The ε that the paper of VIPS (Park, Foulds, Chaudhuri, Welling 2020) prints, against certified upper ends: batches
//! without replacement, a record replaced.
//!
//! The printed values hold, though not by the printed proof. The paper's noise is σ times the sensitivity `Δ` that it
//! prints; an event's multiplier is relative to a norm `C` where a replaced record moves the sum by `2C`, so it is
//! `2σΔ/Δ'` with the right sensitivity `Δ'`.

use dp_accountant::{Accountant, Composition, Event, Mechanism, Relation, Sampling};

/// The certified upper end for noise of this many right sensitivities.
fn upper(noise: f64, (batch, records): (u64, u64), steps: u64, delta: f64) -> f64 {
    let mechanism = Mechanism::Gaussian { noise_multiplier: 2.0 * noise };
    let event = Event::new(mechanism, Sampling::WithoutReplacement { batch, records }).unwrap();
    let mut all = Composition::new();
    all.push(event, steps);
    Accountant::new(Relation::ReplaceOne).with(&all).epsilon(delta).unwrap().upper
}

/// To the last digit of the table, whose upper ends are rounded to the nearest or up.
fn is(found: f64, expected: f64, digits: i32) {
    let unit = 10.0_f64.powi(-digits);
    assert!(found <= expected + 0.5 * unit && found > expected - unit, "{found} and {expected}");
}

#[test]
fn latent_dirichlet_allocation() {
    // σ 1.24 of the printed Δ = aN/S; the right one is √2 times it.
    for (batch, steps, printed, own, right) in
        [(5_000, 80, 1.16, 0.412, 0.955), (10_000, 40, 1.63, 0.636, 1.469), (20_000, 20, 2.38, 0.984, 2.161)]
    {
        let sample = (batch, 400_000);
        is(upper(1.24, sample, steps, 1e-4), own, 3);
        let found = upper(1.24 / 2.0_f64.sqrt(), sample, steps, 1e-4);
        is(found, right, 3);
        assert!(found < printed);
    }
}

#[test]
fn sigmoid_belief_networks() {
    for (batch, steps, printed, own) in
        [(400, 150, 1.34, 0.442), (800, 75, 1.74, 0.692), (1_600, 37, 2.44, 1.074), (3_200, 18, 3.34, 1.614)]
    {
        let found = upper(1.0, (batch, 60_000), steps, 1e-4);
        is(found, own, 3);
        assert!(found < printed);
    }
}
