//! Draws: the distribution they have, the support they lie in, and that quantiles are the smallest integers
//! they say.

use super::common::{CASES, build, evaluate, parameters, set};
use ppl_core::{ExecutionPlan, Graph, Noise, NoiseKind, Program, Shape};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Standard uniforms of 53 bits, strictly between 0 and 1, by splitmix64 (Steele, Lea and Flood, 2014).
struct Uniforms(u64);

impl Uniforms {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

/// `n` draws, one after the other; those of vectors are vectors.
fn draw(name: &str, numbers: &[f64], n: usize, seed: u64) -> Vec<Vec<f64>> {
    let graph = Graph::new();
    let distribution = build(name, &graph, &parameters(&graph, numbers, false));
    let mut noise = Noise::new(&graph, "site");
    let drawn = distribution.draw(&Shape::from(n), &mut noise).unwrap();
    assert_eq!(drawn.shape(), Shape::from(n).concat(&distribution.event_shape()));
    assert!(!distribution.reparameterised());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[drawn]).unwrap());
    let mut uniforms = Uniforms(seed);
    for (input, kind, shape) in noise.inputs() {
        let mut number = || match kind {
            NoiseKind::Uniform => uniforms.next(),
            // Box and Muller
            _ => (-2.0 * uniforms.next().ln()).sqrt() * (std::f64::consts::TAU * uniforms.next()).cos(),
        };
        let values: Vec<f64> = (0..shape.elements()).map(|_| number()).collect();
        set(&mut plan, input, &values);
    }
    for (i, &number) in numbers.iter().enumerate() {
        set(&mut plan, &format!("p{i}"), &[number]);
    }
    plan.run();
    let width = distribution.event_shape().elements();
    plan.output(0).chunks_exact(width).map(<[f64]>::to_vec).collect()
}

/// Pearson's statistic of 40,000 draws against the probabilities that `log_prob` gives, in cells of 30
/// expected draws at least. For a χ² variable with `k` degrees of freedom P(X ≥ k + 2√(kx) + 2x) ≤ e⁻ˣ
/// (Laurent and Massart, 2000, lemma 1): with x = ln 10⁷, α = 1e-7 for each case.
#[test]
fn draws_have_the_probabilities_that_densities_say() {
    let n = 40_000;
    let extra: [(&str, &[f64]); 6] = [
        ("poisson", &[0.03]),
        ("poisson", &[310.0]),
        ("negative_binomial_mean", &[30.0, 0.4]),
        ("beta_binomial", &[0.05, 0.2, 6.0]),
        ("multinomial_probs", &[4.0, 0.5, 0.2, 0.3]),
        ("dirichlet_multinomial", &[4.0, 0.02, 0.3, 5.0]),
    ];
    for (name, numbers) in CASES.into_iter().map(|(name, numbers, _)| (name, numbers)).chain(extra) {
        let mut counts: BTreeMap<Vec<i64>, usize> = BTreeMap::new();
        for outcome in draw(name, numbers, n, 7) {
            *counts.entry(outcome.iter().map(|&x| x as i64).collect()).or_default() += 1;
        }
        // The expected number of each outcome that came up; what never did is one cell more.
        let mut cells: Vec<(f64, usize)> = counts
            .iter()
            .map(|(outcome, &count)| {
                let x: Vec<f64> = outcome.iter().map(|&x| x as f64).collect();
                let log_prob =
                    evaluate::<f64>(name, numbers, true, &x, |d, _, x| Some(d.log_prob(x))).unwrap();
                (n as f64 * log_prob[0].exp(), count)
            })
            .collect();
        let rest = n as f64 - cells.iter().map(|cell| cell.0).sum::<f64>();
        assert!(rest > -1e-6, "{name}: probabilities of {} more than 1", -rest / n as f64);
        cells.push((rest.max(0.0), 0));
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut merged: Vec<(f64, usize)> = Vec::new();
        for cell in cells {
            match merged.last_mut() {
                Some(last) if last.0 < 30.0 => *last = (last.0 + cell.0, last.1 + cell.1),
                _ => merged.push(cell),
            }
        }
        let statistic: f64 =
            merged.iter().map(|(expected, count)| (*count as f64 - expected).powi(2) / expected).sum();
        let (degrees, x) = (merged.len() as f64 - 1.0, 1e7_f64.ln());
        assert!(degrees >= 1.0, "{name}: {merged:?}");
        assert!(
            statistic <= degrees + 2.0 * (degrees * x).sqrt() + 2.0 * x,
            "{name}: {statistic} on {degrees}"
        );
    }
}

/// Whether `k` is the smallest integer with `P(K ≤ k) ≥ u`, as far as the distribution function tells.
fn check_quantile(name: &str, numbers: &[f64], u: f64) -> Result<(), TestCaseError> {
    let k = evaluate::<f64>(name, numbers, false, &[u], |d, _, x| d.quantile(x)).unwrap()[0];
    let cdf = |k: f64| evaluate::<f64>(name, numbers, false, &[k], |d, _, x| d.cdf(x)).unwrap()[0];
    prop_assert!(k >= 0.0 && (k.fract() == 0.0), "{name} {numbers:?} {u}: {k}");
    // Above the median the search looks at the other tail, which agrees with this one to a rounding of 1.
    let slack = if u > 0.5 { 4.0 * f64::EPSILON } else { 0.0 };
    let (at, before) = (cdf(k), if k == 0.0 { 0.0 } else { cdf((k - 1.0).min(k.next_down())) });
    prop_assert!(at >= u - slack && before < u + slack, "{name} {numbers:?} {u}: {k}, {before} and {at}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn quantiles_are_the_smallest_integers(
        log_a in -23.0..34.5_f64, log_b in -23.0..34.5_f64, logit in -40.0..40.0_f64, u in 0.0..1.0_f64, tail in 0.0..40.0_f64,
    ) {
        for u in [u, (-tail).exp(), 1.0 - (-tail).exp()] {
            if u > 0.0 && u < 1.0 {
                check_quantile("poisson", &[log_a.exp()], u)?;
                check_quantile("binomial_logits", &[log_a.exp().floor(), logit], u)?;
                check_quantile("binomial_probs", &[log_a.exp().floor(), 1.0 / (1.0 + logit.exp())], u)?;
                check_quantile("negative_binomial_logits", &[log_b.exp(), logit.min(20.0)], u)?;
                check_quantile("negative_binomial_mean", &[log_a.exp(), log_b.exp().max(1e-3)], u)?;
            }
        }
    }

    #[test]
    fn draws_lie_in_the_support(seed in any::<u64>(), factors in proptest::collection::vec(0.2..1.6_f64, 4)) {
        for (name, numbers, continuous) in CASES {
            let mut numbers = numbers.to_vec();
            for &i in continuous.iter().filter(|_| name != "ordered_logistic") {
                numbers[i] *= factors[i];
            }
            let graph = Graph::new();
            let distribution = build(name, &graph, &parameters(&graph, &numbers, true));
            distribution.validate().unwrap();
            for outcome in draw(name, &numbers, 5, seed) {
                let shape = Shape::from(outcome.len());
                prop_assert_eq!(distribution.support().violation(&outcome, &shape), None, "{}", name);
                if matches!(name, "multinomial_logits" | "dirichlet_multinomial") {
                    prop_assert_eq!(outcome.iter().sum::<f64>(), numbers[0]);
                }
            }
        }
    }
}

/// At the ends of the unit interval, and with parameters at the ends of their domains.
#[test]
fn quantiles_at_the_ends() {
    let inf = f64::MAX;
    for (name, numbers, u, expected) in [
        ("poisson", vec![3.0], 0.0, 0.0),
        ("poisson", vec![3.0], 1.0, inf),
        ("poisson", vec![0.0], 0.7, 0.0),
        ("binomial_probs", vec![4.0, 0.0], 0.7, 0.0),
        ("binomial_probs", vec![4.0, 1.0], 0.2, 4.0),
        ("binomial_probs", vec![0.0, 0.5], 0.2, 0.0),
        ("binomial_probs", vec![4.0, 0.5], 0.0, 0.0),
        ("binomial_probs", vec![4.0, 0.5], 1.0, 4.0),
        ("negative_binomial_probs", vec![4.0, 0.5], 0.0, 0.0),
        ("negative_binomial_probs", vec![4.0, 0.5], 1.0, inf),
        ("geometric_probs", vec![0.5], 0.0, 0.0),
        ("discrete_uniform", vec![2.0, 4.0], 0.0, 2.0),
        ("discrete_uniform", vec![2.0, 4.0], 1.0, 4.0),
        ("ordered_logistic", vec![0.0, -1.0, 1.0], 1.0, 2.0),
        ("bernoulli_probs", vec![0.0], 1.0, 0.0),
    ] {
        let got = evaluate::<f64>(name, &numbers, false, &[u], |d, _, x| d.quantile(x)).unwrap()[0];
        assert_eq!(got, expected, "{name} {numbers:?} {u}");
    }
    for u in [-0.1, 1.1, f64::NAN] {
        let got = evaluate::<f64>("poisson", &[3.0], false, &[u], |d, _, x| d.quantile(x)).unwrap()[0];
        assert!(got.is_nan(), "{u}: {got}");
    }
}
