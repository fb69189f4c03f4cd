//! Logarithms of tails that are less probable than the least number, and draws from there. Numbers are those of
//! `golden/far_counts.py` and `golden/lower_tails.py` (mpmath, 60 digits).

use ppl_distributions::prelude::*;

#[test]
fn tails_of_skellam_variables_go_on_where_probabilities_end() {
    for (up, down, k, above, below) in [
        (3.0, 1.0, 700.0, -3_130.367_569_708_624, -3_893.945_125_150_819_4),
        (3.0, 1.0, 2000.0, -11_019.799_565_099_438, -13_210.522_351_389_45),
        (400.0, 20.0, 1600.0, -1_038.793_587_313_622_3, -5_830.848_837_833_228),
        (1e-4, 5.0, 40.0, -496.658_252_746_770_53, -50.813_610_922_003_505),
        (1e4, 9e3, 7000.0, -939.612_062_562_936_4, -1_677.071_334_787_174),
        (0.5, 0.25, 300.0, -1_629.998_190_661_492_3, -1_831.542_912_092_465_7),
    ] {
        let law = Skellam::new(up, down);
        for (got, truth) in [(law.ln_sf(k), above), (law.ln_cdf(-k), below)] {
            assert!((got - truth).abs() <= 1e-13 * truth.abs(), "({up}, {down}) at {k}: {got}, not {truth}");
        }
        let turned = Skellam::new(down, up);
        assert_eq!((turned.ln_cdf(-k - 1.0), turned.ln_sf(k - 1.0)), (law.ln_sf(k), law.ln_cdf(-k)));
    }
    // Where both ways to compute it meet.
    let law = Skellam::new(40.0, 30.0);
    for k in 150..330 {
        let k = f64::from(k);
        let [here, next, mass]: [f64; 3] = [law.ln_sf(k), law.ln_sf(k + 1.0), law.ln_pmf(k + 1.0)];
        let (step, mass) = (here - next, mass - here);
        assert!(((-step).exp() - (1.0 - mass.exp())).abs() < 1e-11, "{k}: {here}, {step}, {mass}");
    }
}

/// Values by mpmath, 60 digits (`golden/lower_tails.py`): arguments, and the logarithm of the probability up to the
/// last of them.
#[test]
fn lower_tails_go_on_where_powers_underflow() {
    let close = |got: f64, truth: f64, told: &str| {
        assert!((got - truth).abs() <= 2e-14 * truth.abs(), "{told}: {got:e}, not {truth:e}");
    };
    for (scale, shape, x, truth) in [
        (1.0, 50.0, 1e-10, -1_151.292_546_497_022_8),
        (2.0, 50.0, 1.0, -34.657_359_027_997_265),
        (3.0, 1000.0, 1.5, -693.147_180_559_945_3),
        (1.0, 0.5, 1e-300, -345.387_763_949_106_85),
        (1.0, 20.0, 0.158, -36.903_204_919_103_4),
        (1.0, 4.0, 1.5, -0.006_349_833_013_509_146),
    ] {
        let law = Weibull::new(scale, shape);
        close(law.ln_cdf(x), truth, &format!("Weibull({scale}, {shape}) at {x}"));
    }
    for (a, b, x, truth) in [
        (100.0, 3.0, 1e-4, -919.935_424_908_950_2),
        (300.0, 1e-5, 0.25, -427.401_233_800_937_4),
        (2.0, 0.5, 0.3, -3.077_793_046_853_350_5),
        (40.0, 1e8, 0.375, -20.812_489_376_974_005),
        (1000.0, 1e-300, 0.5, -1_383.922_708_458_159),
        (3.0, 5.0, 0.9, -0.001_462_729_577_846_678_1),
    ] {
        close(Kumaraswamy::new(a, b).ln_cdf(x), truth, &format!("Kumaraswamy({a}, {b}) at {x}"));
    }
    for (loc, scale, k, truth) in [
        (0.0, 1.0, -800.0, -800.313_261_687_518_2),
        (3.0, 0.5, -700.0, -1_406.126_928_011_043),
        (0.0, 1.0, 40.0, -1.142_558_431_901_387e-18),
        (0.0, 2.0, -1.0, -0.974_076_984_180_106_7),
    ] {
        close(
            DiscreteLaplace::new(loc, scale).ln_cdf(k),
            truth,
            &format!("DiscreteLaplace({loc}, {scale}) at {k}"),
        );
    }
}

/// The same where the exponential variable is so long that the sum is seldom below.
#[test]
fn a_slow_exponential_variable_leaves_the_lower_part_its_digits() {
    for (loc, scale, rate, x, truth) in [
        (0.0, 1.0, 1e-10, 1.0, -22.945_824_711_179_98),
        (0.0, 1.0, 1e-10, 0.0, -23.944_789_463_207_796),
        (0.0, 2.0, 1e-4, 1e-4, -9.436_194_387_708_046),
        (0.0, 1.0, 0.25, 0.125, -2.307_834_349_664_240_4),
        (1.0, 0.5, 1e-6, 21.0, -10.819_788_290_643_554),
        (0.0, 1.0, 0.5, 3.0, -0.291_180_778_546_041_97),
        (0.0, 1.0, 0.9375, 0.5, -0.993_871_158_088_135_4),
        (0.0, 1.0, 1e-12, 1e-20, -28.549_959_649_133_848),
    ] {
        let law = ExponentiallyModifiedGaussian::new(loc, scale, rate);
        let told = format!("({loc}, {scale}, {rate}) at {x}");
        assert!((law.ln_cdf(x) - truth).abs() <= 4e-14 * (1.0 + truth.abs()), "{told}: {}", law.ln_cdf(x));
        assert!((law.cdf(x) / truth.exp() - 1.0).abs() <= 2e-13, "{told}: {}", law.cdf(x));
        let above = (-truth.exp()).ln_1p();
        assert!((law.ln_sf(x) / above - 1.0).abs() <= 2e-13, "{told}: {}", law.ln_sf(x));
    }
}

/// Of a law that is cut far out, half lies below the median, which is at neither end but where most of it is there.
#[test]
fn truncated_draws_lie_inside_intervals_far_out() {
    macro_rules! check {
        ($($law:expr, $low:expr, $high:expr;)*) => {$({
            let law = Truncated::new($law, $low, $high);
            let (median, told) = (law.quantile(0.5), stringify!($law));
            let (below, under) = (law.cdf(median), law.cdf(median - 1.0));
            let continuous = (below - 0.5).abs() < 1e-9;
            assert!(continuous || (below >= 0.5 && under < 0.5), "{told}: {under} to {below} at {median}");
        })*};
    }
    check! {
        AsymmetricLaplace::new(0.0, 1.0, 1.0), 50.0, 60.0;
        AsymmetricLaplace::new(0.0, 1.0, 2.0), 900.0, 960.0;
        AsymmetricLaplace::new(0.0, 1.0, 0.5), -1960.0, -1900.0;
        DiscreteLaplace::new(0.0, 2.0), 100.0, 120.0;
        DiscreteLaplace::new(0.0, 2.0), 4000.0, 4020.0;
        DiscreteLaplace::new(0.0, 2.0), -4020.0, -4000.0;
        Skellam::new(3.0, 20.0), 40.0, 60.0;
        Skellam::new(30.0, 10.0), -300.0, -280.0;
        BetaBinomial::new(900.0, 300.0, 200.0), 190.0, 199.0;
        RelaxedBernoulli::from_logits(60.0, 3.0), 0.75, 0.875;
        RelaxedBernoulli::from_logits(2000.0, 3.0), 0.75, 0.875;
        RelaxedBernoulli::from_logits(2000.0, 3.0), 0.125, 0.25;
        Weibull::new(1.0, 400.0), 0.03125, 0.0625;
        Kumaraswamy::new(300.0, 2.0), 0.03125, 0.0625;
        MixtureSameFamily::new(Categorical::from_probs(&[0.25, 0.75]), Poisson::new(&[3.0, 50.0])), 900.0, 1000.0;
        Mixture::new(Categorical::from_probs(&[0.25, 0.75])).of(Poisson::new(3.0)).of(Poisson::new(50.0)), 120.0, 300.0;
        VonMises::new(0.0, 30.0), 2.0, 3.0;
        VonMises::new(1.0, 30.0), -3.0, -2.5;
        VonMises::new(-1.0, 30.0), 2.25, 2.5;
        Truncated::new(Normal::new(0.0, 1.0), 0.0, 100.0), 50.0, 51.0;
        Truncated::new(Normal::new(0.0, 1.0), f64::NEG_INFINITY, 0.0), -51.0, -50.0;
        TruncatedNormal::new(0.0, 1.0, 0.0, 100.0), 50.0, 51.0;
        Censored::new(Normal::new(0.0, 1.0), 0.0, 100.0), 50.0, 51.0;
        ZeroInflated::from_probs(Poisson::new(2.0), 0.3), 60.0, 80.0;
        ZeroInflated::from_probs(Poisson::new(2.0), 0.3), 400.0, 402.0;
        Hurdle::from_probs(Poisson::new(20.0), 0.3), 120.0, 140.0;
        Hurdle::from_probs(Gamma::new(2.0, 1.0), 0.3), 900.0, 960.0;
    }
}
