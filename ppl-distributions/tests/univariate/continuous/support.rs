//! Draws lie in the support, whatever parameters and noise are.

use super::*;
use ppl_core::{Noise, NoiseKind, Shape};
use ppl_distributions::strategies;
use proptest::prelude::*;

/// Noise from the edges of what may be drawn and from the middle.
fn noise_number(kind: NoiseKind, choice: usize) -> f64 {
    let uniform =
        [1.0 / 9_007_199_254_740_992.0, 1e-9, 0.03, 0.5, 0.97, 1.0 - 1e-9, 1.0 - f64::EPSILON / 2.0];
    let normal = [-8.3, -3.0, -0.1, 1e-9, 0.5, 4.0, 8.3];
    match kind {
        NoiseKind::Uniform => uniform[choice % 7],
        _ => normal[choice % 7],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn draws_lie_in_the_support(
        location in strategies::location(),
        first in strategies::scale(),
        second in strategies::shape(),
        third in strategies::shape(),
        choice in 0_usize..49,
    ) {
        for case in CASES {
            let mut shapes = [second, third, first].into_iter();
            let parameters: Vec<f64> = case.domains.iter().map(|domain| match domain {
                Real => location,
                Positive => shapes.next().unwrap_or(1.0),
                Fixed(value) => *value,
            }).collect();
            // Quantiles beyond the largest and least numbers; the documentation says where.
            if ["weibull", "pareto"].contains(&case.name) && parameters[1] < 0.06
                || case.name == "log_normal" && (parameters[0].abs() > 100.0 || parameters[1] > 50.0)
                || ["student_t", "half_student_t"].contains(&case.name) && parameters[0] < 0.1
                || case.name == "inverse_gamma" && parameters[0] < 0.06 {
                continue;
            }
            let graph = Graph::new();
            let mut noise = Noise::new(&graph, "site");
            let distribution = (case.build)(&known(&parameters));
            let draw = distribution.draw(&Shape::scalar(), &mut noise).unwrap();
            let inputs: Vec<_> = noise.inputs().iter().enumerate().map(|(i, (name, kind, shape))| {
                (name.clone(), vec![noise_number(*kind, if i == 0 { choice % 7 } else { choice / 7 }); shape.elements()])
            }).collect();
            let x = run::<f64>(&graph, &[draw], &inputs)[0][0];
            prop_assert!(distribution.support().contains(x), "{} {parameters:?}: {x}", case.name);
        }
    }

    #[test]
    fn densities_outside_are_nothing(distance in 1e-9..1e3_f64) {
        let graph = Graph::new();
        for (distribution, low, high) in [
            (Box::new(Uniform::new(-1.0, 2.0)) as Box<dyn Distribution<'_>>, -1.0, 2.0),
            (Box::new(TruncatedNormal::new(0.0, 1.0, -1.0, 2.0)), -1.0, 2.0),
            (Box::new(Truncated::new(Gumbel::new(0.0, 1.0), -1.0, 2.0)), -1.0, 2.0),
        ] {
            for x in [low - distance, high + distance] {
                prop_assert_eq!(distribution.log_prob(graph.constant(x)).known(), Some(f64::NEG_INFINITY));
                let cdf = distribution.cdf(graph.constant(x)).unwrap().known().unwrap();
                prop_assert!((cdf - f64::from(u8::from(x > low))).abs() < 1e-15, "{} {}", x, cdf);
            }
        }
        prop_assert_eq!(Pareto::new(1.0, 2.0).log_prob(graph.constant(1.0 - distance.min(0.9))).known(), Some(f64::NEG_INFINITY));
    }
}
