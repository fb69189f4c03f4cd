//! Stored events never panic, and every answer about any run is an ordered interval.

#![no_main]

use dp_accountant::{Accountant, Composition, Error, Event, Mechanism, Relation, Sampling};
use libfuzzer_sys::fuzz_target;

/// A number between `low` and `high` on the logarithmic scale, from two bytes.
fn between(bytes: &[u8], low: f64, high: f64) -> f64 {
    let share = f64::from(u16::from_le_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX);
    low * (high / low).powf(share)
}

fuzz_target!(|data: &[u8]| {
    let _ = serde_json::from_slice::<Event>(data);
    let _ = serde_json::from_slice::<Composition>(data);

    let Some((head, rest)) = data.split_first_chunk::<16>() else {
        return;
    };
    // Any bit patterns as parameters: what is accepted is in range.
    let raw = |k: usize| f64::from_le_bytes(head[k..k + 8].try_into().expect("eight bytes"));
    let any =
        Event::new(Mechanism::Gaussian { noise_multiplier: raw(0) }, Sampling::Poisson { rate: raw(8) });
    if let Ok(event) = any {
        let Mechanism::Gaussian { noise_multiplier } = event.mechanism() else {
            unreachable!("as constructed")
        };
        assert!((1e-100..=1e100).contains(&noise_multiplier));
        let text = serde_json::to_string(&event).expect("an event can be stored");
        // The parser may move a number by one unit in its last place, so the ends of the range are left out.
        if (1e-99..1e99).contains(&noise_multiplier) {
            serde_json::from_str::<Event>(&text).expect("what was stored is valid");
        }
    }

    // A run of one or two kinds of steps, of sizes that a wide lattice answers in milliseconds.
    let step = |bytes: &[u8]| {
        let mechanism = Mechanism::Gaussian { noise_multiplier: between(bytes, 0.3, 100.0) };
        let sampling = match bytes[4] % 4 {
            0 => Sampling::None,
            _ => Sampling::Poisson { rate: between(&bytes[2..], 1e-4, 1.0).min(1.0) },
        };
        (Event::new(mechanism, sampling).expect("in range"), between(&bytes[5..], 1.0, 2_000.0) as u64)
    };
    let delta = between(&head[7..], 1e-12, 0.5);
    let mut composition = Composition::new();
    composition.extend([step(head)]);
    if let Some(more) = rest.first_chunk::<8>() {
        composition.extend([step(more)]);
    }
    let relation = if head[9] % 8 == 0 { Relation::ReplaceOne } else { Relation::AddRemove };
    let accountant = Accountant::new(relation).with(&composition).relative_width(0.2).expect("in range");
    match accountant.epsilon(delta) {
        Ok(epsilon) => {
            assert!(
                0.0 <= epsilon.lower
                    && epsilon.lower <= epsilon.estimate
                    && epsilon.estimate <= epsilon.upper
            );
            let back = accountant.delta(epsilon.upper * (1.0 + 1e-12)).expect("a valid epsilon");
            assert!(back.lower <= delta * (1.0 + 1e-9), "{composition:?}: {epsilon:?} {back:?} {delta}");
        }
        Err(Error::Unsupported { relation: Relation::ReplaceOne, .. }) => {}
        Err(error) => panic!("{error}"),
    }
});
