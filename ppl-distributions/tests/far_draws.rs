//! Logarithms of tails that are less probable than the least number. Numbers are those of `golden/far_counts.py` (mpmath, 60
//! digits).

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
