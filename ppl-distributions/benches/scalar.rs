//! The interface of plain numbers: calls one by one, and draws beside rand_distr's.

use criterion::{Criterion, criterion_group, criterion_main};
use ppl_distributions::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::hint::black_box;

fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a number");
    macro_rules! time {
        ($($name:literal: $call:expr;)*) => {$(
            group.bench_function($name, |bencher| bencher.iter(|| $call));
        )*};
    }
    time! {
        "Normal::ln_pdf": Normal::new(black_box(0.5), black_box(1.5)).ln_pdf(black_box(1.0));
        "Normal::cdf": Normal::new(black_box(0.5), black_box(1.5)).cdf(black_box(1.0));
        "Normal::quantile": Normal::new(black_box(0.5), black_box(1.5)).quantile(black_box(0.7));
        "Gamma::ln_pdf": Gamma::new(black_box(2.5), black_box(1.5)).ln_pdf(black_box(1.0));
        "Beta::ln_pdf": Beta::new(black_box(2.5), black_box(1.5)).ln_pdf(black_box(0.4));
        "StudentT::ln_pdf": StudentT::new(black_box(5.0), black_box(0.5), black_box(1.5)).ln_pdf(black_box(1.0));
        "Poisson::ln_pmf": Poisson::new(black_box(3.5)).ln_pmf(black_box(2.0));
        "Binomial::ln_pmf": Binomial::from_probs(black_box(20.0), black_box(0.4)).ln_pmf(black_box(7.0));
    }
    group.finish();
}

fn draws(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a draw");
    macro_rules! time {
        ($($name:literal: $ours:expr, $theirs:expr;)*) => {$(
            let (law, theirs) = ($ours, $theirs.expect("sound parameters"));
            let mut generator = ChaCha8Rng::seed_from_u64(7);
            group.bench_function(concat!($name, ", ours"), |bencher| {
                bencher.iter(|| black_box(&law).sample(&mut generator));
            });
            let mut generator = ChaCha8Rng::seed_from_u64(7);
            group.bench_function(concat!($name, ", rand_distr"), |bencher| {
                bencher.iter(|| {
                    let drawn: f64 = rand_distr::Distribution::sample(black_box(&theirs), &mut generator);
                    drawn
                });
            });
        )*};
    }
    time! {
        "Normal": Normal::new(0.5, 1.5), rand_distr::Normal::new(0.5, 1.5);
        "LogNormal": LogNormal::new(0.5, 1.5), rand_distr::LogNormal::new(0.5, 1.5);
        "Exponential": Exponential::new(1.5), rand_distr::Exp::new(1.5);
        "Cauchy": Cauchy::new(0.5, 1.5), rand_distr::Cauchy::new(0.5, 1.5);
        "Weibull": Weibull::new(1.5, 2.5), rand_distr::Weibull::new(1.5, 2.5);
        "Gamma": Gamma::new(2.5, 1.5), rand_distr::Gamma::new(2.5, 1.0 / 1.5);
        "Beta": Beta::new(2.5, 1.5), rand_distr::Beta::new(2.5, 1.5);
        "StudentT": StudentT::new(5.0, 0.0, 1.0), rand_distr::StudentT::new(5.0);
        "Poisson": Poisson::new(3.5), rand_distr::Poisson::new(3.5);
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600))
        .sample_size(20);
    targets = calls, draws
}
criterion_main!(benches);
