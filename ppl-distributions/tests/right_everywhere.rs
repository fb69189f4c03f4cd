//! Laws that were wrong once, each by name. Numbers are those of `golden/faults.py` (mpmath, 60 digits).

use ndarray::array;
use ppl_core::{
    Constraint, Distribution, ExecutionPlan, Graph, Noise, NoiseKind, Program, Scalar, Shape, Var, gradient,
};
use ppl_distributions::*;

/// The numbers of a program of one input `x`.
fn at<T: Scalar>(x: f64, f: impl for<'g> Fn(Var<'g>) -> Var<'g>) -> f64 {
    let graph = Graph::new();
    let input = graph.input("x", ()).unwrap();
    let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &[f(input)]).unwrap());
    if plan.input("x").is_ok() {
        plan.set("x", &[T::of(x)]).unwrap();
    }
    plan.run();
    plan.output(0)[0].as_f64()
}

fn close(got: f64, truth: f64, relative: f64) {
    assert!((got - truth).abs() <= relative * truth.abs(), "{got} is not {truth}");
}

#[test]
fn truncation_of_integers_is_exact() {
    fn law<'g>(x: Var<'g>) -> Var<'g> {
        Truncated::new(Poisson::new(3.0), 2.0, 5.0).log_prob(x)
    }
    let truth = [
        -1.163_150_809_805_680_9,
        -1.163_150_809_805_680_9,
        -1.450_832_882_257_461_8,
        -1.961_658_506_023_452_5,
    ];
    for (k, truth) in (2..6).zip(truth) {
        close(at::<f64>(f64::from(k), law), truth, 1e-14);
        close(at::<f32>(f64::from(k), law), truth, 1e-6);
    }
    for outside in [1.0, 6.0, 2.5] {
        assert_eq!(at::<f64>(outside, law), f64::NEG_INFINITY);
    }
    let law = Truncated::new(Poisson::new(3.0), 1.5, 5.5);
    assert_eq!(law.support(), Constraint::IntegerInterval(2.0, 5.0));
    assert!(!law.reparameterised());
    // Far in the upper tail, with draws that stay there.
    let far = || Truncated::new(Poisson::new(3.0), 60.0, 80.0);
    close(at::<f64>(61.0, |x| far().log_prob(x)), -3.062_649_423_195_829_6, 1e-13);
    for u in [1e-9, 0.3, 0.9, 0.999, 1.0 - 1e-9] {
        let k = at::<f64>(u, |u| far().quantile(u).unwrap());
        assert!((60.0..=80.0).contains(&k), "{k}");
        let (below, here) =
            (at::<f64>(k - 1.0, |k| far().cdf(k).unwrap()), at::<f64>(k, |k| far().cdf(k).unwrap()));
        assert!(below <= u + 1e-12 && u <= here + 1e-12, "{below} {u} {here}");
    }
}

/// Of an interval that is too improbable for a number, what is no integer is still no outcome.
#[test]
fn truncation_to_what_has_no_probability_keeps_what_is_impossible() {
    let far = |x: f64| Truncated::new(Poisson::new(1e-300), 5.0, f64::INFINITY).ln_pmf(x);
    assert_eq!([far(5.5), far(4.0), far(-1.0)], [f64::NEG_INFINITY; 3]);
    let below = |x: f64| Truncated::new(DiscreteLaplace::new(1e9, 1e-9), f64::NEG_INFINITY, 0.0).ln_pmf(x);
    assert_eq!([below(-1.5), below(1.0)], [f64::NEG_INFINITY; 2]);
}

#[test]
fn bounds_are_cut_to_the_support() {
    let exponential = || Truncated::new(Exponential::new(1.0), -1.0, 2.0);
    let half_normal = || Truncated::new(HalfNormal::new(1.0), -1.0, 2.0);
    assert_eq!(exponential().support(), Constraint::Interval(0.0, 2.0));
    close(at::<f64>(0.1, |u| exponential().quantile(u).unwrap()), 0.090_435_200_691_849_21, 1e-14);
    close(at::<f64>(0.1, |u| half_normal().quantile(u).unwrap()), 0.119_915_575_065_201_73, 1e-14);
    for x in [-0.5, -1e-9, 2.1] {
        assert_eq!(at::<f64>(x, |x| exponential().log_prob(x)), f64::NEG_INFINITY);
        assert_eq!(at::<f64>(x, |x| half_normal().log_prob(x)), f64::NEG_INFINITY);
    }
    let told = |law: &dyn Distribution<'_>| law.validate().unwrap_err().to_string();
    assert!(
        told(&Truncated::new(Exponential::new(1.0), -5.0, -1.0))
            .contains("high must be greater than 0 and finite, got -1")
    );
    assert!(
        told(&Truncated::new(Beta::new(2.0, 2.0), 2.0, 3.0))
            .contains("low must be less than 1 and finite, got 2")
    );
    assert!(
        told(&Truncated::new(Poisson::new(1.0), 2.2, 2.8))
            .contains("high must be at least 3 and finite, got 2.8")
    );
    assert!(
        told(&Truncated::new(Normal::new(0.0, 1.0), 2.0, 1.0))
            .contains("high must be greater than 2 and finite, got 1")
    );
    assert!(
        told(&Truncated::new(Normal::new(0.0, 1.0), f64::NAN, 1.0)).contains("low must be finite, got NaN")
    );
}

#[test]
fn distribution_functions_are_0_below_and_1_above() {
    let laws: [(Box<dyn Distribution<'_>>, f64, f64); 12] = [
        (Box::new(Exponential::new(1.5)), 0.0, f64::INFINITY),
        (Box::new(HalfNormal::new(1.5)), 0.0, f64::INFINITY),
        (Box::new(HalfCauchy::new(1.5)), 0.0, f64::INFINITY),
        (Box::new(HalfStudentT::new(3.0, 1.5)), 0.0, f64::INFINITY),
        (Box::new(Gamma::new(2.5, 1.5)), 0.0, f64::INFINITY),
        (Box::new(Chi2::new(2.5)), 0.0, f64::INFINITY),
        (Box::new(InverseGamma::new(2.5, 1.5)), 0.0, f64::INFINITY),
        (Box::new(Weibull::new(2.5, 1.5)), 0.0, f64::INFINITY),
        (Box::new(LogNormal::new(0.5, 1.5)), 0.0, f64::INFINITY),
        (Box::new(Beta::new(2.5, 1.5)), 0.0, 1.0),
        (Box::new(Kumaraswamy::new(2.5, 1.5)), 0.0, 1.0),
        (Box::new(Pareto::new(2.0, 1.5)), 2.0, f64::INFINITY),
    ];
    let graph = Graph::new();
    for (law, low, high) in laws {
        let cdf = |x: f64| law.cdf(graph.constant(x)).unwrap().known().unwrap();
        let sf = |x: f64| law.sf(graph.constant(x)).unwrap().known().unwrap();
        for below in [low - 1e-3, low - 5.0, f64::NEG_INFINITY] {
            assert_eq!((cdf(below), sf(below)), (0.0, 1.0), "{} at {below}", law.name());
        }
        let above = if high == f64::INFINITY { high } else { high + 0.5 };
        assert_eq!((cdf(above), sf(above)), (1.0, 0.0), "{} at {above}", law.name());
    }
}

#[test]
fn von_mises_angles_are_counted_from_minus_pi() {
    use std::f64::consts::PI;
    let law = || VonMises::new(2.0, 1.0);
    let cdf = |x: f64| at::<f64>(x, |x| law().cdf(x).unwrap());
    assert_eq!((cdf(PI), cdf(-PI), cdf(4.0), cdf(-4.0)), (1.0, 0.0, 1.0, 0.0));
    close(cdf(0.0), 0.242_648_195_007_238_45, 1e-14);
    close(cdf(-3.0), 0.025_289_384_751_079_497, 1e-13);
    for p in [1e-6, 0.01, 0.2, 0.5, 0.9, 0.999] {
        let angle = at::<f64>(p, |p| law().quantile(p).unwrap());
        assert!(angle.abs() <= PI);
        close(cdf(angle), p, 1e-9);
    }
    assert_eq!(at::<f64>(1.0, |p| law().quantile(p).unwrap()), PI);
}

#[test]
fn truncation_far_out_keeps_its_digits() {
    fn above(low: f64, high: f64) -> impl for<'g> Fn(Var<'g>) -> Var<'g> {
        move |x| Truncated::new(Normal::new(0.0, 1.0), low, high).log_prob(x)
    }
    close(at::<f64>(9.125, above(9.0, f64::INFINITY)), 1.076_398_080_127_442_8, 1e-13);
    close(at::<f64>(30.031_25, above(30.0, f64::INFINITY)), 2.464_317_141_888_524_4, 1e-12);
    close(at::<f64>(6.25, above(6.0, 7.0)), 0.287_878_470_077_796_3, 1e-12);
    close(at::<f32>(6.25, above(6.0, 7.0)), 0.287_878_470_077_796_3, 1e-4);
    close(at::<f32>(9.125, above(9.0, f64::INFINITY)), 1.076_398_080_127_442_8, 1e-4);
    // Draws lie there as well: below 30 + 1 is all but e⁻³⁰ of the probability.
    for u in [1e-9, 0.5, 1.0 - 1e-9] {
        let x =
            at::<f64>(u, |u| Truncated::new(Normal::new(0.0, 1.0), 30.0, f64::INFINITY).quantile(u).unwrap());
        assert!((30.0..31.0).contains(&x), "{x}");
    }
}

#[test]
fn gradients_of_a_gamma_that_is_cut_from_0_are_numbers() {
    let graph = Graph::new();
    let names = ["a", "r", "low"];
    let [a, r, low] = names.map(|name| graph.input(name, ()).unwrap());
    let x = graph.constant(0.5);
    // With 0 as a number, and as a value of the model.
    let known = Truncated::new(Gamma::new(a, r), 0.0, 2.0).log_prob(x);
    let value = Truncated::new(Gamma::new(a, r), low, 2.0).log_prob(x);
    let mut outputs = gradient(known, &[a, r]).unwrap();
    outputs.extend(gradient(value, &[a, r]).unwrap());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    for (name, number) in names.into_iter().zip([1.5, 2.0, 0.0]) {
        if plan.input(name).is_ok() {
            plan.set(name, &[number]).unwrap();
        }
    }
    plan.run();
    for k in [0, 2] {
        close(plan.output(k)[0], 0.039_358_703_387_831_98, 1e-11);
        close(plan.output(k + 1)[0], 0.163_344_910_090_229_54, 1e-12);
    }
}

#[test]
fn truncated_normal_a_hundred_million_deviations_out() {
    let (graph, distance) = (Graph::new(), 2.0_f64.powi(-26));
    let loc = graph.input("loc", ()).unwrap();
    // 10⁸ + 2⁻²⁶ is a number of f64.
    let law = TruncatedNormal::new(loc, 1.0, 1e8, f64::INFINITY);
    let log_prob = law.log_prob(graph.constant(1e8 + distance));
    let outputs = [log_prob, gradient(log_prob, &[loc]).unwrap()[0]];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    plan.run();
    close(plan.output(0)[0], 16.930_564_624_567_6, 1e-13);
    close(plan.output(1)[0], 4.901_161_193_847_658e-9, 1e-12);
}

/// `d/d logit ln p(k) = k − np`, whichever way the probability is computed.
#[test]
fn gradients_at_the_log_odds_where_forms_change() {
    for threshold in [-85.0, 85.0, -60.0, 60.0] {
        let slope = |law: for<'g> fn(Var<'g>) -> Var<'g>| {
            at::<f64>(threshold, |logit| gradient(law(logit), &[logit]).unwrap()[0])
        };
        let p = 1.0 / (1.0 + f64::exp(-threshold));
        let binomial = slope(|logit| Binomial::from_logits(50.0, logit).log_prob(logit.constant(20.0)));
        close(binomial, 20.0 - 50.0 * p, 1e-14);
        let negative =
            slope(|logit| NegativeBinomial::from_logits(3.0, logit).log_prob(logit.constant(20.0)));
        close(negative, 20.0 - 23.0 * p, 1e-13);
    }
}

#[test]
fn beta_with_a_huge_count() {
    fn law(b: f64) -> impl for<'g> Fn(Var<'g>) -> Var<'g> {
        move |x| Beta::new(2.0, b).log_prob(x)
    }
    close(at::<f64>(1e-17, law(1e17)), 38.143_946_580_898_78, 1e-15);
    close(at::<f64>(2.0_f64.powi(-26), law(1e8)), 17.329_418_687_760_318, 1e-15);
    close(at::<f32>(2.0_f64.powi(-26), law(1e8)), 17.329_418_687_760_318, 1e-6);
}

#[test]
fn polya_gamma_concentrations_have_gradients_in_single_precision() {
    for b in [0.3, 1.0, 2.5, 7.0, 40.0] {
        for x in [0.02, 0.06, 0.25, 0.7, 2.0, 9.0] {
            fn slope<T: Scalar>(b: f64, x: f64) -> f64 {
                at::<T>(b, |b| {
                    let law = PolyaGamma::with_concentration(b, 1.5);
                    gradient(law.log_prob(b.constant(x)), &[b]).unwrap()[0]
                })
            }
            let (single, double) = (slope::<f32>(b, x), slope::<f64>(b, x));
            assert!((single - double).abs() <= 1e-3 * (1.0 + double.abs()), "{b} {x}: {single}, {double}");
        }
    }
}

#[test]
fn squares_that_overflow() {
    close(at::<f64>(1e200, |x| Cauchy::new(0.0, 1.0).log_prob(x)), -922.178_767_083_467_7, 1e-15);
    close(
        at::<f64>(1e200, |x| HalfCauchy::new(1.0).log_prob(x)),
        -922.178_767_083_467_7 + std::f64::consts::LN_2,
        1e-15,
    );
    close(at::<f64>(1e200, |x| StudentT::new(3.0, 0.0, 1.0).log_prob(x)), -1_840.871_738_667_523_8, 1e-15);
    close(at::<f32>(1e25, |x| StudentT::new(3.0, 0.0, 1.0).log_prob(x)), -229.062_173_571_691_86, 1e-6);
    close(
        at::<f64>(1e200, |x| gradient(Cauchy::new(0.0, 1.0).log_prob(x), &[x]).unwrap()[0]),
        -2e-200,
        1e-15,
    );
    assert_eq!(at::<f64>(1e200, |x| HalfStudentT::new(3.0, 1.0).cdf(x).unwrap()), 1.0);
    assert_eq!(at::<f64>(0.0, |x| gradient(Cauchy::new(0.0, 1.0).log_prob(x), &[x]).unwrap()[0]), 0.0);
}

#[test]
fn mean_of_a_kumaraswamy_variable_that_is_almost_0() {
    let mean = at::<f64>(1e-20, |a| Kumaraswamy::new(a, 1.5).mean(a.graph()).unwrap());
    close(mean, 1.329_340_388_179_137e-30, 1e-13);
}

#[test]
fn divergence_of_log_odds_beyond_the_exponential() {
    let kl = |q: f64| {
        at::<f64>(3.0, |p| Bernoulli::from_logits(p).kl_divergence(&Bernoulli::from_logits(q), p.graph()))
    };
    close(kl(-800.0), 761.868_436_486_840_1, 1e-14);
    let opposite = at::<f64>(800.0, |p| {
        Bernoulli::from_logits(p).kl_divergence(&Bernoulli::from_logits(-800.0), p.graph())
    });
    assert_eq!(opposite, 800.0);
    // ln(p/q) + (q − p)/p of tiny probabilities.
    let geometric = at::<f64>(-800.0, |p| {
        Geometric::from_logits(p).kl_divergence(&Geometric::from_logits(-799.0), p.graph())
    });
    close(geometric, std::f64::consts::E - 2.0, 1e-13);
}

/// Standard noise of `f32`, from the first words of a generator (Steele, Lea and Flood, SplitMix, 2014).
fn noise(kind: NoiseKind, state: &mut u64) -> f32 {
    let mut uniform = || {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((z ^ (z >> 31)) >> 41) as f64 + 0.5) / 8_388_608.0) as f32
    };
    match kind {
        NoiseKind::Uniform => uniform(),
        _ => (-2.0 * uniform().ln()).sqrt() * (std::f32::consts::TAU * uniform()).cos(),
    }
}

#[test]
fn draws_in_single_precision_stay_in_the_support() {
    let graph = Graph::new();
    let laws: [Box<dyn Distribution<'_>>; 23] = [
        Box::new(Gamma::new(0.01, 1.0)),
        Box::new(Chi2::new(0.02)),
        Box::new(InverseGamma::new(0.02, 1.0)),
        Box::new(Kumaraswamy::new(2.0, 0.2)),
        Box::new(Beta::new(0.5, 0.5)),
        Box::new(Beta::new(0.01, 0.01)),
        Box::new(Weibull::new(1.0, 0.05)),
        Box::new(Pareto::new(0.3, 0.05)),
        Box::new(LogNormal::new(0.0, 60.0)),
        Box::new(StudentT::new(0.05, 0.0, 1.0)),
        Box::new(HalfStudentT::new(0.05, 1.0)),
        Box::new(Cauchy::new(0.0, 1e37)),
        Box::new(HalfCauchy::new(1e37)),
        Box::new(VonMises::new(3.1, 0.5)),
        Box::new(Uniform::new(0.1, 0.7)),
        Box::new(Truncated::new(Exponential::new(1.0), 0.1, 0.7)),
        Box::new(RelaxedBernoulli::from_logits(0.05, 0.5)),
        Box::new(LogUniform::new(0.7, 0.700_000_1)),
        Box::new(InverseGaussian::new(1e30, 1e-30)),
        Box::new(Normal::new(0.0, 40.0).transformed(Sigmoid)),
        Box::new(Normal::new(0.0, 40.0).transformed(Tanh)),
        Box::new(Normal::new(0.0, 60.0).transformed(Exp)),
        Box::new(Normal::new(0.0, 60.0).transformed(Exp).transformed(Affine::new(0.3, -1.0))),
    ];
    for (count, law) in laws.into_iter().enumerate() {
        let mut named = Noise::new(&graph, format!("x{count}"));
        let n = 20_000;
        let draw = law.draw(&Shape::from(n), &mut named).unwrap();
        let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &[draw]).unwrap());
        let mut state = 3;
        for (name, kind, shape) in named.inputs() {
            let mut numbers: Vec<f32> = (0..shape.elements()).map(|_| noise(*kind, &mut state)).collect();
            // The ends of what a uniform number may be.
            if *kind == NoiseKind::Uniform {
                numbers[..2].copy_from_slice(&[0.5 / 8_388_608.0, 1.0 - 0.5 / 8_388_608.0]);
            }
            if plan.input(name).is_ok() {
                plan.set(name, &numbers).unwrap();
            }
        }
        plan.run();
        let support = law.support();
        let outside = plan.output(0).iter().filter(|x| !support.contains(f64::from(**x))).count();
        assert_eq!(outside, 0, "{} leaves {support}", law.name());
    }
}

#[test]
fn outside_the_support_nothing_is_possible() {
    let graph = Graph::new();
    let weights = graph.array(&array![0.2, 0.3, 0.5].into_dyn());
    let cuts = graph.array(&array![-1.0, 0.5].into_dyn());
    let laws: [(Box<dyn Distribution<'_>>, &[f64]); 22] = [
        (Box::new(Exponential::new(1.0)), &[-5.0, -1e-9]),
        (Box::new(HalfNormal::new(1.0)), &[-1.0]),
        (Box::new(HalfCauchy::new(1.0)), &[-1.0]),
        (Box::new(HalfStudentT::new(3.0, 1.0)), &[-1.0]),
        (Box::new(Gamma::new(2.5, 1.0)), &[-1.0, f64::NEG_INFINITY]),
        (Box::new(Gamma::new(2e4, 1.0)), &[-1.0]),
        (Box::new(InverseGamma::new(2.5, 1.0)), &[-1.0, 0.0]),
        (Box::new(Weibull::new(1.0, 2.5)), &[-1.0]),
        (Box::new(LogNormal::new(0.0, 1.0)), &[-1.0, 0.0]),
        (Box::new(Beta::new(2.5, 0.5)), &[-0.1, 1.1]),
        (Box::new(Kumaraswamy::new(2.5, 0.5)), &[-0.1, 1.1, 0.0, 1.0]),
        (Box::new(VonMises::new(0.0, 1.0)), &[-3.5, 3.5]),
        (Box::new(PolyaGamma::new(1.0)), &[-1.0]),
        (Box::new(Bernoulli::from_logits(0.3)), &[2.0, -1.0, 0.5]),
        (Box::new(Bernoulli::from_probs(0.3)), &[2.0, -1.0, 0.5]),
        (Box::new(Geometric::from_logits(0.3)), &[-1.0, 0.5]),
        (Box::new(Poisson::new(3.0)), &[-1.0, 0.5, f64::INFINITY]),
        (Box::new(Binomial::from_probs(5.0, 0.3)), &[-1.0, 6.0, 0.5]),
        (Box::new(NegativeBinomial::from_logits(5.0, 0.3)), &[-1.0, 0.5]),
        (Box::new(Categorical::from_probs(weights)), &[-1.0, 3.0, 0.5]),
        (Box::new(OrderedLogistic::new(0.3, cuts)), &[-1.0, 3.0, 0.5]),
        (Box::new(ImproperUniform::new(Constraint::Positive, ())), &[-1.0, 0.0]),
    ];
    for (count, (law, values)) in laws.into_iter().enumerate() {
        let x = graph.input(format!("x{count}"), ()).unwrap();
        // A value that the model computes.
        let log_prob = law.log_prob(0.5 * (x + x));
        let program = Program::new(&graph, &[log_prob, gradient(log_prob, &[x]).unwrap()[0]]).unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&program);
        for &value in values {
            plan.set(&format!("x{count}"), &[value]).unwrap();
            plan.run();
            assert_eq!(plan.output(0)[0], f64::NEG_INFINITY, "{} at {value}", law.name());
        }
    }
}

/// As [`outside_the_support_nothing_is_possible`], of vectors and matrices, and of laws made of others.
#[test]
fn outside_the_support_no_array_is_possible() {
    let graph = Graph::new();
    let factor: &[[f64; 2]; 2] = &[[1.0, 0.0], [0.6, 0.8]];
    let positive =
        || MixtureSameFamily::new(Categorical::from_probs(&[0.5, 0.5]), Gamma::new(&[2.0, 3.0], 1.0));
    type Case<'g> = (Box<dyn Distribution<'g> + 'g>, &'static [&'static [f64]]);
    let laws: [Case<'_>; 14] = [
        (
            Box::new(Wishart::from_cholesky(3.0, factor)),
            &[&[1.0, 2.0, 2.0, 1.0], &[1.0, 0.5, 0.0, 1.0], &[-1.0, 0.0, 0.0, 1.0]],
        ),
        (
            Box::new(InverseWishart::from_cholesky(3.0, factor)),
            &[&[1.0, 2.0, 2.0, 1.0], &[1.0, 0.5, 0.0, 1.0]],
        ),
        (Box::new(LKJ::new(2, 1.5)), &[&[1.0, 2.0, 2.0, 1.0], &[1.0, 0.5, 0.5, 1.1], &[1.0, 0.5, 0.4, 1.0]]),
        (Box::new(LKJCholesky::new(2, 1.5)), &[&[1.0, 0.0, 0.6, 0.7], &[1.0, 0.1, 0.6, 0.8]]),
        (Box::new(ZeroSumNormal::new(1.5, 3)), &[&[1.0, 0.0, 0.0], &[1.0, 1.0, -1.9]]),
        (Box::new(Dirichlet::new(&[0.5, 2.0])), &[&[0.5, 0.6], &[-0.5, 1.5]]),
        (Box::new(GaussianCopula::new(Gamma::new(2.0, 1.0), factor)), &[&[-1.0, 1.0], &[1.0, -1e-9]]),
        (Box::new(GaussianCopula::new(Beta::new(2.0, 3.0), factor)), &[&[0.5, 1.5], &[-0.1, 2.0]]),
        (Box::new(Multinomial::from_probs(3.0, &[0.5, 0.5])), &[&[1.0, 1.0], &[4.0, -1.0], &[1.5, 1.5]]),
        (Box::new(Gamma::new(2.0, 1.0).iid(2).independent(0)), &[&[1.0, -1.0]]),
        (Box::new(positive()), &[&[-1.0]]),
        (Box::new(Truncated::new(positive(), 1.0, 2.0)), &[&[0.5], &[2.5], &[-1.0]]),
        (Box::new(Normal::new(0.0, 1.0).transformed(Exp)), &[&[-1.0]]),
        (Box::new(Normal::new(0.0, 1.0).transformed(Sigmoid)), &[&[-0.5], &[1.5]]),
    ];
    for (count, (law, values)) in laws.into_iter().enumerate() {
        law.validate().unwrap();
        let x = graph.input(format!("x{count}"), law.event_shape()).unwrap();
        let log_prob = law.log_prob(0.5 * (x + x));
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob]).unwrap());
        for &value in values {
            plan.set(&format!("x{count}"), value).unwrap();
            plan.run();
            assert_eq!(plan.output(0)[0], f64::NEG_INFINITY, "{} at {value:?}", law.name());
        }
    }
}

/// The parameters of these are vectors, their outcomes numbers: a truncated one is one law, not as many as its
/// parameters have elements.
#[test]
fn truncation_of_laws_with_vectors_of_parameters_has_the_batch_of_the_law() {
    let dice = || Truncated::new(Categorical::from_probs(&[0.1, 0.2, 0.3, 0.4]), 1.0, 2.0);
    let ordered = Truncated::new(OrderedLogistic::new(0.3, &[-1.0, 0.5]), 1.0, f64::INFINITY);
    let mixture = Truncated::new(
        MixtureSameFamily::new(Categorical::from_probs(&[0.5, 0.5]), Normal::new(&[-1.0, 1.0], 1.0)),
        0.0,
        f64::INFINITY,
    );
    for law in [&dice() as &dyn Distribution<'_>, &ordered, &mixture] {
        law.validate().unwrap();
        assert_eq!(law.batch_shape().unwrap(), Shape::scalar());
    }
    let graph = Graph::new();
    let drawn = dice().draw(&Shape::from(7), &mut Noise::new(&graph, "noise")).unwrap();
    assert_eq!(drawn.shape(), Shape::from(7));
    let p = dice().pmf(&[0.0, 1.0, 2.0, 3.0]);
    assert!(p[0] == 0.0 && (p[1] - 0.4).abs() < 1e-15 && (p[2] - 0.6).abs() < 1e-15 && p[3] == 0.0, "{p:?}");
    // Of a batch, with bounds of their own.
    let many = Truncated::new(Normal::new(&[0.0, 1.0], 1.0), &[[0.0], [0.5], [1.0]], 4.0);
    assert_eq!(many.batch_shape().unwrap(), Shape::from([3, 2]));
    let vectors = Truncated::new(Dirichlet::new(&[1.0, 1.0]), 0.0, 1.0).validate().unwrap_err().to_string();
    assert!(vectors.contains("single numbers"), "{vectors}");
    // A mistake in what only the base knows of.
    assert!(Truncated::new(Uniform::new(&[0.0, 1.0], &[1.0, 0.5]), 0.0, 1.0).validate().is_err());
}

#[test]
fn closed_ends_are_accepted() {
    let laws: [(Box<dyn Distribution<'_>>, f64, f64); 8] = [
        (Box::new(HalfNormal::new(2.0)), 0.0, (2.0 / std::f64::consts::PI).ln() / 2.0 - 2.0_f64.ln()),
        (Box::new(HalfCauchy::new(2.0)), 0.0, -(std::f64::consts::PI).ln()),
        (Box::new(Exponential::new(2.0)), 0.0, 2.0_f64.ln()),
        (Box::new(Gamma::new(1.0, 2.0)), 0.0, 2.0_f64.ln()),
        (Box::new(Weibull::new(2.0, 1.0)), 0.0, -(2.0_f64.ln())),
        (Box::new(Beta::new(1.0, 1.0)), 0.0, 0.0),
        (Box::new(Beta::new(1.0, 1.0)), 1.0, 0.0),
        (Box::new(Pareto::new(2.0, 3.0)), 2.0, 1.5_f64.ln()),
    ];
    let graph = Graph::new();
    for (law, end, truth) in laws {
        assert!(law.support().contains(end), "{} at {end}", law.name());
        let got = law.log_prob(graph.constant(end)).known().unwrap();
        assert!((got - truth).abs() < 1e-15, "{} at {end}: {got}, not {truth}", law.name());
    }
}

#[test]
fn a_factor_of_low_rank_whose_square_swallows_the_identity() {
    let graph = Graph::new();
    let factor = graph.array(&array![[1e8, 1e8], [1e8, 1e8 + 1.0], [0.0, 1.0]].into_dyn());
    let law = LowRankMultivariateNormal::new(0.0, factor, 1.0);
    let log_prob = law.log_prob(graph.array(&array![1.0, 2.0, 3.0].into_dyn()));
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob]).unwrap());
    plan.run();
    // Least squares by columns whose condition is 10⁸.
    close(plan.output(0)[0], -25.150_451_409_522_612, 1e-7);
}

#[test]
fn draws_by_quantiles_are_an_option() {
    let graph = Graph::new();
    for law in [
        Box::new(Gamma::new(2.5, 1.5).by_quantile()) as Box<dyn Distribution<'_>>,
        Box::new(VonMises::new(0.5, 2.0).by_quantile()),
    ] {
        let mut named = Noise::new(&graph, format!("{}x", law.name()));
        let draw = law.draw(&Shape::scalar(), &mut named).unwrap();
        let [(name, NoiseKind::Uniform, _)] = named.inputs() else { panic!("one number") };
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[law.cdf(draw).unwrap()]).unwrap());
        for u in [0.01, 0.3, 0.7, 0.99] {
            plan.set(name, &[u]).unwrap();
            plan.run();
            close(plan.output(0)[0], u, 1e-12);
        }
    }
}

/// With uniform numbers so close to 0 and 1 that quantiles round to an end of the support.
#[test]
fn draws_by_quantiles_stay_inside_the_support() {
    type Build = for<'g> fn(&'g Graph) -> Box<dyn Distribution<'g> + 'g>;
    let laws: [Build; 9] = [
        |_| Box::new(Gamma::new(0.01, 1.0).by_quantile()),
        |_| Box::new(Gamma::new(1.0, 1e37).by_quantile()),
        |_| Box::new(Weibull::new(1.0, 0.01).by_quantile()),
        |_| Box::new(Weibull::new(1e-37, 1.0).by_quantile()),
        |_| Box::new(HalfCauchy::new(1e37).by_quantile()),
        |_| Box::new(Cauchy::new(0.0, 1e37).by_quantile()),
        |_| Box::new(Pareto::new(0.1, 0.01).by_quantile()),
        |_| Box::new(Beta::new(0.01, 0.01).by_quantile()),
        |_| Box::new(Truncated::new(Normal::new(0.0, 1.0), 0.1, 0.3).by_quantile()),
    ];
    for law in laws {
        let graph = Graph::new();
        let law = law(&graph);
        let mut named = Noise::new(&graph, "x");
        let draw = law.draw(&Shape::scalar(), &mut named).unwrap();
        let (name, program) = (&named.inputs()[0].0, Program::new(&graph, &[draw]).unwrap());
        let mut wide = ExecutionPlan::<f64>::new(&program);
        let mut narrow = ExecutionPlan::<f32>::new(&program);
        for u in [2.0_f64.powi(-53), 1e-9, 0.5, 1.0 - 1e-9, 1.0 - 2.0_f64.powi(-53)] {
            wide.set(name, &[u]).unwrap();
            wide.run();
            assert!(
                law.support().contains(wide.output(0)[0]),
                "{}: {} at {u}",
                law.name(),
                wide.output(0)[0]
            );
        }
        for u in [2.0_f32.powi(-24), 0.5, 1.0 - 2.0_f32.powi(-24)] {
            narrow.set(name, &[u]).unwrap();
            narrow.run();
            let drawn = f64::from(narrow.output(0)[0]);
            assert!(law.support().contains(drawn), "{}: {drawn} at {u} in f32", law.name());
        }
    }
}

#[test]
fn laws_by_quantiles_know_what_their_law_knows() {
    let (plain, same) = (Gamma::new(2.5, 1.5).summary(), Gamma::new(2.5, 1.5).by_quantile().summary());
    assert_eq!(plain, same);
    assert!(same.mode.is_some() && same.median.is_some() && same.skewness.is_some());
    assert!(Distribution::family(&Gamma::new(2.5, 1.5).by_quantile()).is_some());
}

/// Of ends whose quotient is no number: (ln x − ln low)/(ln high − ln low).
#[test]
fn a_log_uniform_law_over_hundreds_of_orders_of_magnitude() {
    let law = || LogUniform::new(1e-200, 1e200);
    close(at::<f64>(1e150, |x| law().cdf(x).unwrap()), 0.875, 1e-14);
    close(at::<f64>(1e-150, |x| law().sf(x).unwrap()), 0.875, 1e-14);
    close(at::<f64>(0.9, |p| law().quantile(p).unwrap().log()), 160.0 * std::f64::consts::LN_10, 1e-14);
    let narrow = || LogUniform::new(1e-20, 1e20);
    close(at::<f32>(0.99, |p| narrow().quantile(p).unwrap().log()), 19.6 * std::f64::consts::LN_10, 1e-5);
    // None of the draws is cut to the upper end.
    let graph = Graph::new();
    let mut noise = Noise::new(&graph, "x");
    let draws = law().draw(&Shape::from(1_000), &mut noise).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[draws]).unwrap());
    let uniforms: Vec<f64> = (0..1_000).map(|k| (f64::from(k) + 0.5) / 1e3).collect();
    plan.set(&noise.inputs()[0].0, &uniforms).unwrap();
    plan.run();
    assert!(plan.output(0).iter().all(|draw| *draw < 0.99e200));
}

/// An angle is in the support, and so is the one of greatest density.
#[test]
fn the_mode_of_a_circular_law_is_in_its_support() {
    let law = || VonMises::new(4.0, 3.0);
    let mode = at::<f64>(0.0, |x| law().mode(x.graph()).unwrap());
    close(mode, 4.0 - 2.0 * std::f64::consts::PI, 1e-14);
    let at_mode = at::<f64>(mode, |x| law().log_prob(x));
    close(at_mode, at::<f64>(0.0, |x| VonMises::new(0.0, 3.0).log_prob(x)), 1e-14);
}
