//! Tails of laws of numbers, in logarithms and where one probability is all but 1; quantiles that are found by halving.
//! Numbers are those of `golden/tails.py` (mpmath, 60 digits).

use ppl_core::{Constraint, Distribution, ExecutionPlan, Graph, Program};
use ppl_distributions::prelude::*;

fn close(told: &str, got: f64, truth: f64, relative: f64) {
    assert!((got - truth).abs() <= relative * truth.abs(), "{told}: {got} is not {truth}");
}

fn skew() -> SkewNormal<'static> {
    SkewNormal::new(0.0, 1.0, 3.0)
}

fn mixture() -> MixtureSameFamily<'static, Normal<'static>> {
    MixtureSameFamily::new(Categorical::from_probs(&[0.25, 0.75]), Normal::new(&[0.0, 1.0], &[1.0, 0.5]))
}

fn mixed() -> Mixture<'static> {
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
