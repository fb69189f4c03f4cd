//! Samplers against their laws.

use super::*;

/// P(a chi-square variable with this many degrees of freedom exceeds `x`), by the normal approximation of
/// Wilson and Hilferty, which is good to a few per cent of the tail's logarithm from three degrees on.
fn chi_square_tail(x: f64, degrees: f64) -> f64 {
    let z = ((x / degrees).cbrt() - (1.0 - 2.0 / (9.0 * degrees))) / (2.0 / (9.0 * degrees)).sqrt();
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// Draws of a test: `DP_DRAWS`, or 200,000, which notice every wrong law below with a p-value under 1e-9. The
/// campaign `properties` takes a million.
fn number_of_draws() -> u64 {
    std::env::var("DP_DRAWS").map_or(200_000, |draws| draws.parse().expect("DP_DRAWS is a number of draws"))
}

/// How often each outcome is drawn; seed 7.
fn drawn<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    data: &Histogram<T>,
    draws: u64,
) -> std::collections::BTreeMap<K::Outcome, u64> {
    let seed = Seed::for_tests(7);
    let mut counts = std::collections::BTreeMap::new();
    for number in 0..draws {
        *counts.entry(mechanism.draw(data, &seed, number).unwrap()).or_default() += 1;
    }
    counts
}

/// The p-value of draws against a law. Outcomes that are expected fewer than 10 times are pooled.
fn p_value<O: Ord + Clone, W: Weight>(counts: &std::collections::BTreeMap<O, u64>, law: &Dist<O, W>) -> f64 {
    if counts.keys().any(|outcome| law.weight(outcome).is_zero()) {
        return 0.0;
    }
    let draws = counts.values().sum::<u64>() as f64;
    let (mut statistic, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
    for (outcome, weight) in law.iter() {
        let expected = weight.value().estimate() * draws;
        let found = counts.get(outcome).copied().unwrap_or(0) as f64;
        if expected < 10.0 {
            rare = (rare.0 + found, rare.1 + expected);
            continue;
        }
        statistic += (found - expected).powi(2) / expected;
        cells += 1.0;
    }
    if rare.1 >= 10.0 {
        statistic += (rare.0 - rare.1).powi(2) / rare.1;
        cells += 1.0;
    }
    chi_square_tail(statistic, cells - 1.0)
}

/// Seed 7; alpha 1e-6 for the right law. A wrong one is noticed.
pub(super) fn sampler_has_its_law<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    data: &Histogram<T>,
    wrong: &[Dist<K::Outcome, K::Weight>],
) {
    draws_have_their_law(mechanism, data, number_of_draws(), wrong);
}

fn draws_have_their_law<T: Ord + Clone, K: Mechanism<T>>(
    mechanism: &K,
    data: &Histogram<T>,
    draws: u64,
    wrong: &[Dist<K::Outcome, K::Weight>],
) {
    let counts = drawn(mechanism, data, draws);
    let right = p_value(&counts, &mechanism.law(data).unwrap());
    assert!(right > 1e-6, "{right}");
    for law in wrong {
        assert!(p_value(&counts, law) < 1e-9);
    }
}

#[test]
fn the_geometric_sampler_has_its_law() {
    let data = coins(20, 4);
    let geometric = |epsilon| Geometric::new(epsilon).unwrap().for_records(2, 20).unwrap();
    let wrong = [geometric(0.5).law(&coins(20, 5)).unwrap(), geometric(0.53).law(&data).unwrap()];
    sampler_has_its_law(&geometric(0.5), &data, &wrong);
    let added = Geometric::new(1.0).unwrap().for_at_most(2, 6).unwrap();
    let few = coins(5, 2);
    sampler_has_its_law(&added, &few, &[added.law(&coins(4, 2)).unwrap()]);
}

#[test]
fn the_exponential_sampler_has_its_law() {
    let data = coins(20, 4);
    let exponential = Exponential::calibrated(1.0).unwrap();
    let exponential =
        exponential.over(learn_bias, DataSets::of_records(data.alphabet(), 20), 0.4633).unwrap();
    sampler_has_its_law(&exponential, &data, &[exponential.law(&coins(20, 6)).unwrap()]);
}

#[test]
fn the_samplers_of_sums_have_their_laws() {
    let told = RandomisedResponse::new(Probability::new(3, 5).unwrap()).unwrap().for_categories(3).unwrap();
    let faces = Histogram::new(vec!['a', 'b', 'c'], vec![3, 1, 2]).unwrap();
    let other = faces.with_counts(vec![3, 2, 1]).unwrap();
    sampler_has_its_law(&told, &faces, &[told.law(&other).unwrap()]);
    let laplace = Laplace::new(1.0).unwrap().for_records(vec![-2, 0, 3], 6).unwrap();
    sampler_has_its_law(&laplace, &faces, &[laplace.law(&other).unwrap()]);
}

/// Each draw infers the posterior anew, so there are fewer; of so few records that the integers of its law add up to
/// 575, and one too many among them is drawn often.
#[test]
fn draws_of_a_posterior_have_its_law() {
    let data = coins(3, 2);
    let draw =
        PosteriorDraw::new(2.5).unwrap().over(on_a_grid, DataSets::of_records(data.alphabet(), 3)).unwrap();
    draws_have_their_law(&draw, &data, number_of_draws() / 4, &[draw.law(&coins(3, 1)).unwrap()]);
}
