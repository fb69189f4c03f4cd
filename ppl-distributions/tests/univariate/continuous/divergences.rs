//! Kullback–Leibler divergences against quadratures, and what holds of all of them.

use super::golden::lines;
use super::*;
use proptest::prelude::*;

/// KL between two distributions of the same kind, with parameters as numbers.
fn divergence(name: &str, p: &[f64], q: &[f64]) -> f64 {
    let graph = Graph::new();
    macro_rules! of {
        ($($key:literal $type:ident($($i:tt),*);)*) => {
            match name {
                $($key => $type::new($(p[$i]),*).kl_divergence(&$type::new($(q[$i]),*), &graph),)*
                other => panic!("no divergence for {other}"),
            }
        };
    }
    let value = of! {
        "normal" Normal(0, 1);
        "log_normal" LogNormal(0, 1);
        "half_normal" HalfNormal(0);
        "cauchy" Cauchy(0, 1);
        "half_cauchy" HalfCauchy(0);
        "laplace" Laplace(0, 1);
        "gumbel" Gumbel(0, 1);
        "weibull" Weibull(0, 1);
        "exponential" Exponential(0);
        "pareto" Pareto(0, 1);
        "uniform" Uniform(0, 1);
        "gamma" Gamma(0, 1);
        "inverse_gamma" InverseGamma(0, 1);
        "chi2" Chi2(0);
        "beta" Beta(0, 1);
        "von_mises" VonMises(0, 1);
    };
    run::<f64>(&graph, &[value], &[])[0][0]
}

const WITH_DIVERGENCE: [&str; 16] = [
    "normal",
    "log_normal",
    "half_normal",
    "cauchy",
    "half_cauchy",
    "laplace",
    "gumbel",
    "weibull",
    "exponential",
    "pareto",
    "uniform",
    "gamma",
    "inverse_gamma",
    "chi2",
    "beta",
    "von_mises",
];

#[test]
fn divergences_agree_with_quadrature() {
    let mut seen = std::collections::BTreeSet::new();
    for cells in lines().filter(|cells| cells[1] == "kl") {
        let (name, q) = cells[0].split_once('|').expect("a name and parameters");
        let q: Vec<f64> = q.split(':').map(|v| v.parse().unwrap()).collect();
        let p: Vec<f64> = cells[3..3 + q.len()].iter().map(|v| v.parse().unwrap()).collect();
        let expected: f64 = cells[10].parse().unwrap();
        let got = divergence(name, &p, &q);
        // The quadratures have 15 digits or more; the rest is rounding in differences of moderate numbers.
        assert!((got - expected).abs() <= 1e-12 * (expected.abs() + 1e-3), "{cells:?}: {got}");
        seen.insert(name);
    }
    assert_eq!(seen.len(), WITH_DIVERGENCE.len());
}

proptest! {
    /// Not negative, and 0 between equal distributions; to rounding.
    #[test]
    fn divergences_are_not_negative(choices in proptest::array::uniform4(0.0..1.0_f64)) {
        for name in WITH_DIVERGENCE {
            let parameters = |of: &[f64]| -> Vec<f64> {
                let each = |(domain, u): (&Domain, &f64)| match domain {
                    Real => 4.0 * u - 2.0,
                    Positive => (4.0 * u - 1.5).exp(),
                    Fixed(value) => value + u * value.signum(),
                };
                case(name).domains.iter().zip(of).map(each).collect()
            };
            let (p, q) = (parameters(&choices[..2]), parameters(&choices[2..]));
            let value = divergence(name, &p, &q);
            let size = 1.0 + p.iter().chain(&q).fold(0.0_f64, |size, x| size.max(x.abs()));
            prop_assert!(value >= -1e-13 * size, "{name} {p:?} {q:?}: {value}");
            prop_assert!(divergence(name, &p, &p).abs() <= 1e-13 * size, "{name} {p:?}: {}", divergence(name, &p, &p));
        }
    }
}

#[test]
fn divergences_of_copies_add_up_and_bounds_matter() {
    let graph = Graph::new();
    let (p, q) = (Normal::new(1.0, 1.0).iid([2, 3]), Normal::new(0.0, 1.0).iid([2, 3]));
    assert_eq!(run::<f64>(&graph, &[p.kl_divergence(&q, &graph)], &[])[0], [3.0]);
    assert_eq!(divergence("uniform", &[-1.0, 1.0], &[0.0, 2.0]), f64::INFINITY);
    assert_eq!(divergence("pareto", &[1.0, 2.0], &[1.5, 2.0]), f64::INFINITY);
}
