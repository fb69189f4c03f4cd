//! How long the questions take that a training run asks: epsilon of a run, and the noise for a budget.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use dp_accountant::{
    Accountant, Budget, Composition, Event, Mechanism, Relation, Sampling, calibrate_noise_multiplier,
};

fn run(noise_multiplier: f64, rate: f64, steps: u64) -> dp_accountant::Result<Composition> {
    let step = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })?;
    Ok(Composition::single(step, steps))
}

fn accounting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("accounting");
    group.sample_size(10);
    let settings = [
        ("epsilon: sigma 1, q .01, T 1000, delta 1e-5", 1.0, 0.01, 1_000, 1e-5),
        (
            "epsilon: sigma 1.5, q 128/60000, T 9380, delta 1/60000",
            1.5,
            128.0 / 60_000.0,
            9_380,
            1.0 / 60_000.0,
        ),
    ];
    for (name, noise_multiplier, rate, steps, delta) in settings {
        let events = run(noise_multiplier, rate, steps).expect("valid parameters");
        for (width, label) in [(2e-5, "width 2e-5"), (1e-3, "width 1e-3")] {
            let accountant = Accountant::new(Relation::AddRemove).with(&events);
            let accountant = accountant.relative_width(width).expect("a valid width");
            group.bench_function(format!("{name}, {label}"), |b| {
                b.iter(|| accountant.epsilon(black_box(delta)))
            });
        }
    }
    // Single steps that rarely lose very much.
    let rare = [
        ("sigma 1, q 1e-4, T 1e5, delta 1e-10", Relation::AddRemove, 1.0, 1e-4, 100_000, 1e-10),
        (
            "sigma .7, q 2.5e-5, T 5e6, delta 1e-13, replace-one",
            Relation::ReplaceOne,
            0.7,
            2.5e-5,
            5_000_000,
            1e-13,
        ),
        ("sigma .5, q 1e-7, T 1, delta 1e-15", Relation::AddRemove, 0.5, 1e-7, 1, 1e-15),
        ("sigma 4, q 1e-3, T 1000, delta 1e-9", Relation::AddRemove, 4.0, 1e-3, 1_000, 1e-9),
    ];
    for (name, relation, noise_multiplier, rate, steps, delta) in rare {
        let events = run(noise_multiplier, rate, steps).expect("valid parameters");
        let accountant = Accountant::new(relation).with(&events).relative_width(1e-6).expect("a valid width");
        group.bench_function(format!("rare losses: {name}, width 1e-6"), |b| {
            b.iter(|| accountant.epsilon(black_box(delta)))
        });
    }
    let others = [
        (
            "Poisson, replace-one",
            Mechanism::Gaussian { noise_multiplier: 1.0 },
            Sampling::Poisson { rate: 0.01 },
        ),
        (
            "without replacement, replace-one",
            Mechanism::Gaussian { noise_multiplier: 1.0 },
            Sampling::WithoutReplacement { batch: 1, records: 100 },
        ),
        ("Laplace, replace-one", Mechanism::Laplace { scale: 20.0 }, Sampling::None),
    ];
    for (name, mechanism, sampling) in others {
        let event = Event::new(mechanism, sampling).expect("valid parameters");
        let accountant = Accountant::new(Relation::ReplaceOne).compose(event, 1_000);
        let accountant = accountant.relative_width(1e-4).expect("a valid width");
        group.bench_function(format!("epsilon: {name}, T 1000, delta 1e-5, width 1e-4"), |b| {
            b.iter(|| accountant.epsilon(black_box(1e-5)))
        });
    }
    for steps in [1_000, 10_000] {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        group.bench_function(format!("calibrate: epsilon 1, delta 1e-5, q .01, T {steps}"), |b| {
            b.iter(|| calibrate_noise_multiplier(black_box(&budget), |sigma| run(sigma, 0.01, steps)));
        });
    }
    group.finish();
}

criterion_group!(benches, accounting);
criterion_main!(benches);
