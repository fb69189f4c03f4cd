//! Tails of laws of numbers, in logarithms and where one probability is all but 1; quantiles that are found by halving.
//! Numbers are those of `golden/tails.py` (mpmath, 60 digits).

use ppl_core::{Constraint, Distribution, ExecutionPlan, Graph, Program, Scalar, Var};
use ppl_distributions::prelude::*;

fn close(told: &str, got: f64, truth: f64, relative: f64) {
    assert!((got - truth).abs() <= relative * truth.abs(), "{told}: {got} is not {truth}");
}

fn skew<'g>() -> SkewNormal<'g> {
    SkewNormal::new(0.0, 1.0, 3.0)
}

fn mixture<'g>() -> MixtureSameFamily<'g, Normal<'g>> {
    MixtureSameFamily::new(Categorical::from_probs(&[0.25, 0.75]), Normal::new(&[0.0, 1.0], &[1.0, 0.5]))
}

fn mixed<'g>() -> Mixture<'g> {
    Mixture::new(Categorical::from_probs(&[0.25, 0.75])).of(Normal::new(0.0, 1.0)).of(Normal::new(1.0, 0.5))
}

/// Where probabilities are too small for a number.
#[test]
fn logarithms_of_tails_go_on_where_probabilities_end() {
    close("Gamma", Gamma::new(2.0, 1.0).ln_sf(800.0), -793.314_139_052_931_6, 1e-14);
    close("Gamma", Gamma::new(400.0, 1.0).ln_cdf(0.01), -3_842.578_747_440_513, 1e-14);
    close("Chi2", Chi2::new(4.0).ln_sf(1600.0), -793.314_139_052_931_6, 1e-14);
    close("InverseGamma", InverseGamma::new(2.5, 10.0).ln_cdf(0.01), -989.921_550_327_373_5, 1e-14);
    close("Beta", Beta::new(3.0, 700.0).ln_sf(0.875), -1_443.462_440_269_756_6, 1e-14);
    close("StudentT", StudentT::new(5000.0, 0.0, 1.0).ln_cdf(-50.0), -1_018.291_448_696_349_9, 1e-13);
    close("StudentT", StudentT::new(5000.0, 0.0, 1.0).ln_sf(50.0), -1_018.291_448_696_349_9, 1e-13);
    close("HalfStudentT", HalfStudentT::new(5000.0, 1.0).ln_sf(50.0), -1_017.598_301_515_789_9, 1e-13);
    let negative = NegativeBinomial::from_probs(3.0, 0.25);
    close("NegativeBinomial", negative.ln_sf(1500.0), -2_067.466_132_291_781_4, 1e-13);
    close("Poisson", Poisson::new(3.0).ln_sf(900.0), -4_246.426_017_193_718, 1e-14);
    close("MixtureSameFamily", mixture().ln_sf(45.0), -1_018.612_388_603_072_3, 1e-14);
    close("Mixture", mixed().ln_sf(45.0), -1_018.612_388_603_072_3, 1e-14);
    close("SkewNormal", skew().ln_cdf(-20.0), -2_010.538_168_886_811_6, 1e-13);
    close("SkewNormal", SkewNormal::new(0.0, 1.0, -3.0).ln_sf(20.0), -2_010.538_168_886_811_6, 1e-13);
    let cut = TruncatedNormal::new(0.0, 1.0, 1.0, 40.0);
    close("TruncatedNormal", cut.ln_sf(39.0), -763.242_134_919_368_3, 1e-13);
    let cut = Truncated::new(Normal::new(0.0, 1.0), 1.0, 40.0);
    close("Truncated", cut.ln_sf(39.0), -763.242_134_919_368_3, 1e-13);
    let censored = Censored::new(Normal::new(0.0, 1.0), -1.0, 50.0);
    close("Censored", censored.ln_sf(45.0), -1_017.226_094_241_952_4, 1e-14);
    let law = Normal::new(0.0, 1.0).transformed(Exp);
    close("Transformed", law.ln_sf(1e20), -1_065.128_796_322_367_9, 1e-14);
    let negated = law.transformed(Negation);
    close("Transformed", negated.ln_cdf(-1e20), -1_065.128_796_322_367_9, 1e-14);
    close("Bernoulli", Bernoulli::from_logits(-100.0).sf(0.0), 3.720_075_976_020_836e-44, 1e-14);
    assert_eq!(Bernoulli::from_logits(-800.0).ln_sf(0.0), -800.0);
    assert_eq!(OrderedLogistic::new(0.0, &[800.0, 900.0]).ln_sf(0.0), -800.0);
}

/// The logarithm of a probability near 1 is minus the other one, with all its digits.
#[test]
fn logarithms_near_0_have_the_digits_of_the_rest() {
    let x = 2.0_f64.powi(-20);
    close("HalfNormal", HalfNormal::new(1.0).ln_sf(x), -7.609_223_025_959_602e-7, 1e-14);
    macro_rules! upper {
        ($($law:expr, $x:expr;)*) => {$({
            let law = $law;
            assert!(law.sf($x) > 0.0 && law.sf($x) < 1e-17, "{}: {}", stringify!($law), law.sf($x));
            // Roundings of an exponent.
            close(stringify!($law), law.ln_cdf($x), -law.sf($x), 1e-15 * (1.0 - law.ln_sf($x)));
        })*};
    }
    upper! {
        Normal::new(0.0, 1.0), 10.0;
        Gamma::new(2.0, 1.0), 60.0;
        Beta::new(3.0, 700.0), 0.2;
        Exponential::new(1.0), 50.0;
        Weibull::new(1.0, 2.0), 9.0;
        Kumaraswamy::new(2.0, 300.0), 0.5;
        Poisson::new(3.0), 40.0;
        NegativeBinomial::from_probs(3.0, 0.25), 60.0;
        Geometric::from_probs(0.5), 70.0;
        skew(), 10.0;
        mixture(), 10.0;
        mixed(), 10.0;
        ZeroInflatedPoisson::new(0.25, 3.0), 40.0;
        Hurdle::from_probs(Poisson::new(3.0), 0.25), 40.0;
        Truncated::new(Gamma::new(2.0, 1.0), 1.0, 100.0), 60.0;
    }
}

/// `1 − x` has no digits of a small `x`.
#[test]
fn upper_tail_of_a_beta_variable_that_is_all_but_0() {
    let law = Beta::new(2.0_f64.powi(-10), 0.5);
    close("Beta", law.sf(2.0_f64.powi(-70)), 0.047_566_837_109_776_29, 1e-13);
    close("Beta", law.cdf(2.0_f64.powi(-70)), 0.952_433_162_890_223_7, 1e-14);
}

#[test]
fn transformed_laws_end_where_their_images_do() {
    let law = Normal::new(0.0, 1.0).transformed(Exp);
    assert_eq!((law.cdf(-1.0), law.sf(-1.0), law.cdf(0.0)), (0.0, 1.0, 0.0));
    let law = Normal::new(0.0, 1.0).transformed(Sigmoid);
    assert_eq!((law.cdf(-1.0), law.cdf(2.0), law.ln_sf(2.0)), (0.0, 1.0, f64::NEG_INFINITY));
    assert!(law.cdf(f64::NAN).is_nan());
}

/// With uniform numbers that leave nothing of the probabilities of the counts above 0.
#[test]
fn a_hurdle_over_counts_that_are_mostly_0_has_finite_draws() {
    for rate in [1e-12, 4e-5, 3.0] {
        let law = || Hurdle::from_probs(Poisson::new(rate), 0.001);
        assert_eq!(law().cdf(0.0), 0.001);
        for u in [0.5, 0.99, 1.0 - 2.0_f64.powi(-53)] {
            assert!(law().quantile(u) < 60.0, "{rate} {u}: {}", law().quantile(u));
            let graph = Graph::new();
            let quantile = Distribution::quantile(&law(), graph.constant(u as f32 as f64)).unwrap();
            let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &[quantile]).unwrap());
            plan.run();
            assert!(u as f32 == 1.0 || plan.output(0)[0] < 60.0, "{rate} {u}: {} in f32", plan.output(0)[0]);
        }
    }
}

#[test]
fn quantiles_by_halving_invert_the_distribution_function() {
    macro_rules! inverted {
        ($($law:expr;)*) => {$({
            let (law, told) = ($law, stringify!($law));
            for u in [1e-200, 1e-17, 1e-6, 0.02, 0.3, 0.5, 0.77, 0.999, 1.0 - 1e-12] {
                let x = law.quantile(u);
                let (got, wanted) = if u < 0.5 { (law.cdf(x), u) } else { (law.sf(x), 1.0 - u) };
                // A number near 1 has no more digits of the rest.
                let relative = if u < 0.5 { 1e-10 } else { 1e-10 + 1e-15 / wanted };
                close(&format!("{told} at {u}"), got, wanted, relative);
            }
            assert!(law.quantile(-0.1).is_nan() && law.quantile(1.1).is_nan(), "{told}");
        })*};
    }
    inverted! {
        SkewNormal::new(0.5, 1.3, 4.0);
        SkewNormal::new(0.5, 1.3, -0.3);
        InverseGaussian::new(0.5, 1.3);
        InverseGaussian::new(1e3, 1e-3);
        mixture();
    }
    let law = ExponentiallyModifiedGaussian::new(0.5, 1.3, 0.7);
    for u in [1e-6, 0.02, 0.3, 0.5, 0.77, 0.999] {
        close("ExponentiallyModifiedGaussian", law.cdf(law.quantile(u)), u, 1e-9);
    }
    for (up, down) in [(2.5, 1.3), (1e-4, 1e-3), (400.0, 20.0)] {
        let law = Skellam::new(up, down);
        for u in [1e-17, 1e-6, 0.02, 0.3, 0.5, 0.77, 0.999] {
            let k = law.quantile(u);
            assert!(law.cdf(k) >= u * (1.0 - 1e-12) && law.cdf(k - 1.0) <= u * (1.0 + 1e-12), "{k} at {u}");
        }
    }
    // Two spikes far apart, between which there is no density, in single precision.
    let graph = Graph::new();
    let weights = [2.0_f64.powi(-17), 1.0 - 2.0_f64.powi(-17)];
    let law = Mixture::new(Categorical::from_probs(&weights))
        .of(Normal::new(0.0, 2e-4))
        .of(Normal::new(-2.75, 2e-8));
    let quantile = Distribution::quantile(&law, graph.constant(0.5)).unwrap();
    let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &[quantile]).unwrap());
    plan.run();
    assert!((plan.output(0)[0] + 2.75).abs() < 1e-6, "{}", plan.output(0)[0]);
}

/// Outside of 0 to 1 there is no quantile.
#[test]
fn a_uniform_variable_has_no_quantile_beyond_1() {
    let law = Uniform::new(-1.0, 3.0);
    assert!(law.quantile(1.5).is_nan() && law.quantile(-0.5).is_nan());
    assert_eq!((law.quantile(0.0), law.quantile(1.0)), (-1.0, 3.0));
    assert_eq!(law.support(), Constraint::Interval(-1.0, 3.0));
}

/// A law for a graph.
type Law = for<'g> fn(&'g Graph) -> Box<dyn Distribution<'g> + 'g>;

/// What a law says of the logarithm of a tail, and the outcome where it is.
fn log_quantile<'g>(graph: &'g Graph, law: &dyn Distribution<'g>, log: f64, upper: bool) -> (f64, f64) {
    let log = graph.constant(log);
    let found = if upper { law.quantile_of_log_sf(log) } else { law.quantile_of_log_cdf(log) }.unwrap();
    let back = if upper { law.log_sf(found) } else { law.log_cdf(found) }.unwrap();
    let number = |x: Var<'g>| {
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, &[x]).unwrap());
        plan.run();
        plan.output(0)[0]
    };
    (number(found), number(back))
}

/// Of probabilities that are no numbers.
#[test]
fn quantiles_of_logarithms_invert_the_logarithms_of_tails() {
    let laws: [(&str, Law); 14] = [
        ("Normal", |_| Box::new(Normal::new(1.0, 2.0))),
        ("Gamma", |_| Box::new(Gamma::new(2.5, 1.5))),
        ("Gamma", |_| Box::new(Gamma::new(4000.0, 1.5))),
        ("Chi2", |_| Box::new(Chi2::new(9.0))),
        ("InverseGamma", |_| Box::new(InverseGamma::new(30.0, 1.5))),
        ("Beta", |_| Box::new(Beta::new(500.0, 700.0))),
        ("BetaProportion", |_| Box::new(BetaProportion::new(0.3, 900.0))),
        ("StudentT", |_| Box::new(StudentT::new(5000.0, 1.0, 2.0))),
        ("SkewNormal", |_| Box::new(SkewNormal::new(1.0, 2.0, 3.0))),
        ("SkewNormal", |_| Box::new(SkewNormal::new(1.0, 2.0, -0.3))),
        ("InverseGaussian", |_| Box::new(InverseGaussian::new(0.5, 1.3))),
        ("ExponentiallyModifiedGaussian", |_| Box::new(ExponentiallyModifiedGaussian::new(1.0, 2.0, 3.0))),
        ("Gompertz", |_| Box::new(Gompertz::new(0.5, 2.0))),
        ("Logistic", |_| Box::new(Logistic::new(0.5, 2.0))),
    ];
    for (name, law) in &laws {
        for log in [-2.0e3, -800.0, -90.0, -40.0, -3.0, -0.5, -1e-3] {
            for upper in [false, true] {
                let graph = Graph::new();
                let (x, back) = log_quantile(&graph, &*law(&graph), log, upper);
                // Of a positive variable the lower quantile may be too small for a number.
                let support = law(&graph).support();
                let under = !upper && support != Constraint::Real && x < 1e-290;
                let relative = if *name == "Gamma" && log < -1e3 { 1e-11 } else { 1e-9 };
                assert!(
                    under || (back - log).abs() <= relative * log.abs().max(1e-3),
                    "{name} at {log}, upper {upper}: {x}, where it is {back}"
                );
            }
        }
    }
    for upper in [false, true] {
        let graph = Graph::new();
        let (x, back) = log_quantile(&graph, &mixture(), -1018.0, upper);
        assert!((back + 1018.0).abs() < 1e-8, "{x}: {back}");
    }
}

/// Of integers: enough at the quantile, and not before.
#[test]
fn quantiles_of_counts_in_tails_that_are_no_numbers() {
    let laws: [(&str, Law); 4] = [
        ("Poisson", |_| Box::new(Poisson::new(3.0))),
        ("Poisson", |_| Box::new(Poisson::new(1e5))),
        ("Binomial", |_| Box::new(Binomial::from_logits(1e5, -0.5))),
        ("NegativeBinomial", |_| Box::new(NegativeBinomial::from_probs(30_000.0, 0.4))),
    ];
    for (name, law) in &laws {
        for log in [-9_000.0, -2e3, -701.0, -699.0, -90.0, -2.0, -0.4] {
            for upper in [false, true] {
                let graph = Graph::new();
                let law = law(&graph);
                let (k, here) = log_quantile(&graph, &*law, log, upper);
                let before = |k: f64| {
                    let k = graph.constant(k);
                    if upper { law.log_sf(k) } else { law.log_cdf(k) }.unwrap().known().unwrap()
                };
                let close = 1e-9 * log.abs();
                match upper {
                    true => assert!(
                        here <= log + close && (k == 0.0 || before(k - 1.0) > log - close),
                        "{name} above {log}: {k}, where it is {here}"
                    ),
                    false => assert!(
                        here >= log - close && (k == 0.0 || before(k - 1.0) < log + close),
                        "{name} below {log}: {k}, where it is {here}"
                    ),
                }
            }
        }
    }
}

/// Draws of intervals of which the probability is no number lie inside, where the law says, and not at an end.
#[test]
fn draws_of_intervals_that_are_too_improbable_for_a_number() {
    fn quantiles<T: Scalar>(law: Law) -> Vec<(f64, f64)> {
        let graph = Graph::new();
        let u = graph.array(&ndarray::array![0.1, 0.5, 0.9].into_dyn());
        let law = law(&graph);
        let x = law.quantile(u).unwrap();
        let share = law.cdf(x).unwrap();
        let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &[x, share]).unwrap());
        plan.run();
        let of = |output: usize| plan.output(output).iter().map(|x| x.as_f64()).collect::<Vec<_>>();
        of(0).into_iter().zip(of(1)).collect()
    }
    macro_rules! inside {
        ($single:expr, $($law:expr;)*) => {$({
            for (found, tolerance) in [
                (quantiles::<f64>(|_| Box::new($law)), 1e-8),
                // A logarithm of this size has so many digits.
                (quantiles::<f32>(|_| Box::new($law)), $single),
            ] {
                for ((x, share), u) in found.iter().zip([0.1, 0.5, 0.9]) {
                    assert!((share - u).abs() < tolerance, "{} at {u}: {x}, which is {share}", stringify!($law));
                }
            }
        })*};
    }
    inside! { 5e-3,
        Truncated::new(Gamma::new(2.0, 1.0), 1000.0, 1010.0);
        Truncated::new(Gamma::new(2.0, 1.0), 1000.0, f64::INFINITY);
        Truncated::new(InverseGamma::new(2.5, 10.0), 0.001, 0.01);
        Truncated::new(Beta::new(3.0, 700.0), 0.875, 0.9);
        Truncated::new(StudentT::new(5000.0, 0.0, 1.0), 50.0, 60.0);
        Truncated::new(StudentT::new(5000.0, 0.0, 1.0), f64::NEG_INFINITY, -50.0);
        Truncated::new(HalfStudentT::new(5000.0, 1.0), 50.0, 60.0);
        Truncated::new(SkewNormal::new(0.0, 1.0, 3.0), 40.0, 41.0);
        Truncated::new(SkewNormal::new(0.0, 1.0, 3.0), -21.0, -20.0);
        Truncated::new(InverseGaussian::new(0.5, 1.3), 400.0, 500.0);
        Truncated::new(ExponentiallyModifiedGaussian::new(0.0, 1.0, 30.0), -41.0, -40.0);
        Truncated::new(Gompertz::new(0.5, 1.0), 8.0, 9.0);
        Truncated::new(mixture(), 40.0, 41.0);
        Truncated::new(mixed(), 40.0, 41.0);
    }
    let counts = quantiles::<f64>(|_| Box::new(Truncated::new(Poisson::new(3.0), 900.0, 1000.0)));
    assert_eq!(counts.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [900.0; 3]);
    let counts = quantiles::<f64>(|_| Box::new(Truncated::new(Poisson::new(1e6), 0.0, 100.0)));
    assert_eq!(counts.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [100.0; 3]);
    let counts = quantiles::<f64>(|_| Box::new(Truncated::new(Binomial::from_logits(1e5, -0.5), 9e4, 1e5)));
    assert!(counts.iter().all(|(k, _)| (9e4..9e4 + 20.0).contains(k)), "{counts:?}");
}

/// Differences of normal probabilities that have no digits, in single precision too. By mpmath, 80 digits.
#[test]
fn tails_that_are_differences() {
    fn single(law: impl for<'g> Fn(Var<'g>) -> Option<Var<'g>>, x: f64) -> f64 {
        let graph = Graph::new();
        let value = law(graph.input("x", ()).unwrap()).unwrap();
        let mut plan = ExecutionPlan::<f32>::new(&Program::new(&graph, &[value]).unwrap());
        plan.set("x", &[x as f32]).unwrap();
        plan.run();
        f64::from(plan.output(0)[0])
    }
    for (mean, concentration, x, truth) in [
        (0.5, 1.3, 1e4, -26_012.958_901_089_89),
        (0.5, 1.3, 1e6, -2_600_019.866_534_91),
        (2.0, 3.0, 30.0, -14.404_114_843_071_643),
        (2.0, 3.0, 1000.0, -383.255_913_586_095_5),
    ] {
        let told = format!("InverseGaussian({mean}, {concentration}) at {x}");
        close(&told, InverseGaussian::new(mean, concentration).ln_sf(x), truth, 1e-13);
        close(&told, single(|x| InverseGaussian::new(mean, concentration).log_sf(x), x), truth, 1e-6);
    }
    for (loc, scale, rate, x, truth) in [
        (0.5, 1.3, 0.7, -10.0, -37.956_006_741_503_05),
        (0.0, 1.0, 1e-6, -5.0, -30.559_811_901_533_37),
        (0.0, 1.0, 1e6, -5.0, -15.065_003_580_480_21),
        (0.0, 1.0, 3.0, -30.0, -456.721_059_920_658_6),
        (0.0, 1.0, 1e-10, -1.0, -25.510_971_955_698_313),
    ] {
        let told = format!("ExponentiallyModifiedGaussian({loc}, {scale}, {rate}) at {x}");
        let law = ExponentiallyModifiedGaussian::new(loc, scale, rate);
        close(&told, law.ln_cdf(x), truth, 1e-13);
        close(&told, law.cdf(x).ln(), truth, 1e-13);
        close(
            &told,
            single(|x| ExponentiallyModifiedGaussian::new(loc, scale, rate).log_cdf(x), x),
            truth,
            1e-6,
        );
    }
}

/// Entropies by the exponential integral (mpmath's quadrature of 25 digits), and what a sum over all outcomes says.
#[test]
fn entropies_and_modes_that_were_missing() {
    close(
        "InverseGaussian",
        InverseGaussian::new(2.0, 3.0).summary().entropy.unwrap(),
        1.516_227_549_327_558,
        1e-14,
    );
    close(
        "InverseGaussian",
        InverseGaussian::new(0.5, 10.0).summary().entropy.unwrap(),
        -0.808_680_956_751_710_9,
        1e-14,
    );
    // −E ln p by the midpoints of a thousand probabilities: of a smooth quantile to 1e-6.
    let law = Gompertz::new(0.5, 2.0);
    let many = 100_000;
    let points: Vec<f64> = (0..many).map(|k| law.quantile((f64::from(k) + 0.5) / f64::from(many))).collect();
    let mean = |of: &dyn Fn(f64) -> f64| points.iter().map(|&x| of(x)).sum::<f64>() / f64::from(many);
    assert!((law.summary().entropy.unwrap() + mean(&|x| law.ln_pdf(x))).abs() < 1e-4);
    assert!((law.summary().mean.unwrap() - mean(&|x| x)).abs() < 1e-4);
    // The counts of the greatest probability, by looking at all.
    for (total, probs) in
        [(7.0, [0.2, 0.5, 0.3]), (10.0, [0.3, 0.3, 0.4]), (1.0, [0.1, 0.8, 0.1]), (100.0, [0.29, 0.01, 0.7])]
    {
        let graph = Graph::new();
        let law =
            Multinomial::from_probs(total, graph.array(&ndarray::Array1::from(probs.to_vec()).into_dyn()));
        let at = |x: Var<'_>| {
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[law.log_prob(x), x]).unwrap());
            plan.run();
            (plan.output(0)[0], plan.output(1).to_vec())
        };
        let (found, mode) = at(law.mode(&graph).unwrap());
        let mut largest = f64::NEG_INFINITY;
        for first in 0..=total as u32 {
            for second in 0..=total as u32 - first {
                let counts = [f64::from(first), f64::from(second), total - f64::from(first + second)];
                // Beside the rounded logarithms the factorials are the same for all.
                let log: f64 = counts
                    .iter()
                    .zip(probs)
                    .map(|(&x, p)| x * f64::ln(p) - ppl_core::math::lgamma(x + 1.0))
                    .sum();
                largest = largest.max(log + ppl_core::math::lgamma(total + 1.0));
            }
        }
        assert!((found - largest).abs() < 1e-10, "{mode:?}: {found} and {largest}");
        assert_eq!(mode.iter().sum::<f64>(), total);
    }
    let graph = Graph::new();
    let mode = |concentration: f64| {
        let mut plan = ExecutionPlan::<f64>::new(
            &Program::new(&graph, &[LKJCholesky::new(2, concentration).mode(&graph).unwrap()]).unwrap(),
        );
        plan.run();
        plan.output(0).to_vec()
    };
    assert_eq!(mode(1.5), [1.0, 0.0, 0.0, 1.0]);
    assert!(mode(0.5).iter().all(|x| x.is_nan()));
}
