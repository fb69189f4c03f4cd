//! The checker over mechanisms' own laws, and what it costs to prepare and release one.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use dp_vi::mechanisms::{DataSets, DiscreteGaussian, Exponential, Geometric, Mechanism, RandomisedResponse};
use ppl_core::finite::{Beta, Check, Histogram, Probability, ReplaceOne};
use std::hint::black_box;

fn checks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check of all neighbours");
    group.sample_size(10);
    // 861 histograms, 820 pairs, and counts of 0 to 40 for each number of records.
    group.bench_function("coins, n up to 40, geometric", |bencher| {
        let law = |coins: &Histogram<bool>| {
            Geometric::new(1.0)?.for_records(2, coins.total())?.law(black_box(coins))
        };
        bencher.iter(|| {
            let check = Check::new(law).records(0..=40).alphabet([true, false]);
            check.neighbours(ReplaceOne).run().expect("a law that adds up")
        });
    });
    group.bench_function("coins, n up to 40, randomised response, exact", |bencher| {
        let truth = Probability::new(3, 4).expect("a probability");
        let told = RandomisedResponse::new(truth).and_then(|told| told.for_categories(2)).expect("below 1");
        bencher.iter(|| {
            let check = Check::new(|coins: &Histogram<bool>| told.law(coins)).records(0..=40);
            check.alphabet([true, false]).neighbours(ReplaceOne).run().expect("a law that adds up")
        });
    });
    // 455 histograms, 1,092 pairs, 2,197 outcomes of 12 records: 378,000 weights.
    for (name, gaussian) in [("geometric", false), ("discrete Gaussian", true)] {
        group.bench_with_input(
            BenchmarkId::new("three categories, n up to 12", name),
            &gaussian,
            |bencher, &gaussian| {
                let all: Vec<_> = (0..=12)
                    .map(|n| DiscreteGaussian::new(1.0, 1e-5).and_then(|noise| noise.for_records(3, n)))
                    .collect::<Result<_, _>>()
                    .expect("noise that is enough");
                let law = |faces: &Histogram<u8>| match gaussian {
                    true => all[faces.total() as usize].law(faces),
                    false => Geometric::new(1.0)?.for_records(3, faces.total())?.law(faces),
                };
                bencher.iter(|| {
                    let check = Check::new(law).records(0..=12).alphabet([0, 1, 2]);
                    check.neighbours(ReplaceOne).run().expect("a law that adds up")
                });
            },
        );
    }
    group.finish();
}

fn preparing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("preparing a mechanism");
    group.sample_size(10);
    let prior = Beta::new(1.0, 1.0).expect("a prior");
    let learn_bias = |coins: &Histogram<bool>| prior.observe_all(coins);
    for records in [20, 200] {
        group.bench_with_input(
            BenchmarkId::new("exponential, calibrated", records),
            &records,
            |bencher, &n| {
                bencher.iter(|| {
                    let sets = DataSets::of_records(&[true, false], n);
                    Exponential::calibrated(1.0)
                        .and_then(|new| new.over(learn_bias, sets, 0.4633))
                        .expect("a bound")
                });
            },
        );
    }
    for epsilon in [1.0, 0.01] {
        group.bench_with_input(
            BenchmarkId::new("discrete Gaussian, epsilon", epsilon),
            &epsilon,
            |bencher, &epsilon| {
                bencher.iter(|| {
                    DiscreteGaussian::new(epsilon, 1e-5)
                        .and_then(|new| new.for_records(100, 1000))
                        .expect("noise")
                });
            },
        );
    }
    group.finish();
}

criterion_group!(benches, checks, preparing);
criterion_main!(benches);
