//! Special functions of several arguments against `tests/golden/special.csv`.

use crate::math::special::log_odds_probabilities;
use crate::math::*;
use std::collections::BTreeMap;

/// A golden value: function, arguments, value.
type Row = (&'static str, [f64; 3], f64);

fn rows() -> impl Iterator<Item = Row> {
    let text = include_str!("../../../tests/golden/special.csv");
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let cells: Vec<&'static str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("a number");
        (cells[0], [1, 2, 3].map(number), number(4))
    })
}

/// The value, the condition number of the problem (how many times a relative rounding of an argument shows in
/// the result), and the error that the documentation states.
fn computed(name: &str, [x, y, z]: [f64; 3], value: f64) -> (f64, f64, f64) {
    match name {
        "log1p_minus_x" => (log1p_minus_x(x), 1.0, 1e-15),
        "stirling_error" => (stirling_error(x), 1.0, 2e-14),
        "digamma_minus_log" => (digamma_minus_log(x), 1.0, 2e-14),
        // Right of 0 it is minus a tail, which falls like e^(−x²/2).
        "log_ndtr" => (log_ndtr(x), 1.0 + x.max(0.0).powi(2), 2e-15),
        "inverse_mills" => (inverse_mills(x), 1.0 + if x > -1.0 { x * x } else { 0.0 }, 2e-15),
        "ndtri" => (ndtri(x), 1.0 / value.abs().min(1.0), 4e-15),
        "ndtri_exp" => (ndtri_exp(x), 1.0 / value.abs().min(1.0), 4e-15),
        "log_ndtr_difference" => {
            let near = if x * y < 0.0 { 0.0 } else { x.abs().min(y.abs()) };
            (log_ndtr_difference(x, y), (1.0 + near * near / 2.0) / value.abs().min(1.0), 1e-14)
        }
        "i0e" => (i0e(x), 1.0, 3e-15),
        "i1e" => (i1e(x), 1.0, 3e-15),
        "bessel_ratio" => (bessel_ratio(x), 1.0, 3e-15),
        "bessel_ratio_complement" => (bessel_ratio_complement(x), 1.0, 3e-14),
        // ln P and ln Q are of moderate size, or large in the tails, where their roundings are those of the
        // exponent.
        "gamma_p" => (gamma_p(x, y), 1.0 - value.ln(), 1e-14),
        "gamma_q" => (gamma_q(x, y), 1.0 - value.ln(), 1e-14),
        // Near 0 it is minus the other probability, and has its digits.
        "log_gamma_p" => (log_gamma_p(x, y), of_logarithm(value), 1e-14),
        "log_gamma_q" => (log_gamma_q(x, y), of_logarithm(value), 1e-14),
        "log_skew_normal_cdf" => {
            let exponent = 1.0 + (1.0 + y * y) * x * x;
            (
                log_skew_normal_cdf(x, y),
                of_logarithm(value) + exponent.min(-value + 1.0) / value.abs().max(1.0),
                1e-13,
            )
        }
        // A rounding of the log-odds, and logarithms of gamma functions, besides.
        "log_beta_i" => {
            let logs = 1.0 + x.ln().abs() + y.ln().abs() + (x.min(y) + 1.0) * z.abs().min(40.0);
            (log_beta_i(x, y, z), of_logarithm(value) + logs / value.abs().max(1.0), 1e-14)
        }
        // They change over distances of a standard deviation, 1/√a, of the logarithm y.
        "gamma_slope" => (gamma_slope(x, y), 1.0 + y.abs() * x.sqrt(), 1e-13),
        "gamma_curvature" => (gamma_curvature(x, y), 1.0 + y.abs() * x.sqrt(), 1e-13),
        // A rounding of p moves ln x by p/D.
        "log_gamma_p_inverse" | "log_gamma_q_inverse" => {
            let density = log_gamma_density(x, value).exp();
            let found =
                if name == "log_gamma_p_inverse" { log_gamma_p_inverse } else { log_gamma_q_inverse }(x, y);
            (found, (1.0 + y / density) / value.abs().min(1.0), 1e-14)
        }
        "von_mises_cdf" => (von_mises_cdf(x, y), 1.0, 1e-14),
        "von_mises_slope" => (von_mises_slope(x, y), 1.0, 1e-13),
        "von_mises_cdf_inverse" => (von_mises_cdf_inverse(x, y), 1.0, 1e-13),
        "beta_i" => (beta_i(x, y, z), 1.0 - value.ln(), 1e-14),
        "beta_slope_a" => (beta_slope_a(x, y, z), 1.0, 1e-10),
        "beta_slope_b" => (beta_slope_b(x, y, z), 1.0, 1e-10),
        "logit_beta_i_inverse" => {
            let density = log_beta_density(x, y, value).exp();
            (logit_beta_i_inverse(x, y, z), (1.0 + z / density) / value.abs().min(1.0), 1e-14)
        }
        // Logarithms of gamma functions of the parameters are added and taken off; 1 − I is taken from 1.
        "beta_i_of_log_odds" => {
            let logs = 1.0 + x.ln().abs() + y.ln().abs() - value.ln();
            (log_odds_probabilities(x, y, z).0, logs / value, 1e-15)
        }
        // ln p, or ln(1 − p), and ln(a B(a, b)) may cancel.
        "logit_beta_i_inverse_far" => {
            let (a, log) = if value < 0.0 { (x, z.ln()) } else { (y, (-z).ln_1p()) };
            let sum = a * value.abs();
            (logit_beta_i_inverse(x, y, z), 1.0 + (log.abs() + (sum + log).abs()) / sum, 1e-15)
        }
        // Its change over a rounding of the log-odds, besides its own.
        "log_beta_density" => {
            let share = 1.0 / (1.0 + (-z).exp());
            let slope = z * (x * (1.0 - share) - y * share);
            (log_beta_density(x, y, z), 1.0 + (1.0 + slope.abs()) / value.abs(), 2e-14)
        }
        "student_t_cdf" => (student_t_cdf(x, y), 1.0 - value.ln(), 1e-14),
        // The difference of two terms of size z/ν.
        "student_t_slope" => (student_t_slope(x, y), 1.0 + (y / x / value).abs(), 1e-12),
        "normal_interval_mean" => {
            let width = (y - x).min(1.0 / (1.0 + x.abs().min(y.abs())));
            (normal_interval_moments(x, y).0, 1.0 + width / value.abs(), 1e-14)
        }
        // A rounding of an end is one of the width.
        "normal_interval_variance" => (normal_interval_moments(x, y).1, 1.0, 1e-13),
        "atan" => (atan(x), 1.0, 4e-16),
        "lgamma1p" => (
            lgamma_of_1_plus(x),
            1.0 + 1.0 / value.abs().min(1.0) * f64::from(u8::from(!(-0.4..=0.4).contains(&x))),
            4e-15,
        ),
        "deviance" => (deviance(x, y), 1.0, 4e-15),
        other => panic!("unknown function {other}"),
    }
}

/// The condition of a logarithm of a probability as of one whose exponent is rounded, the smaller of it and the rest.
fn of_logarithm(value: f64) -> f64 {
    if value > -0.5 { 1.0 - (-value).ln() } else { (1.0 - value) / -value }
}

/// Inverses of logarithms go on where probabilities end, and agree with those of probabilities before.
#[test]
fn inverses_of_logarithms_of_probabilities() {
    for (a, b) in [(0.3, 2.0), (2.5, 0.7), (30.0, 400.0), (4000.0, 5.0)] {
        for log in [-1e-9, -0.01, -0.5, -0.8, -30.0, -600.0_f64] {
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-10 * (1.0 + y.abs());
            let p = log.exp();
            if log > -600.0 && log < -0.1 {
                assert!(close(log_gamma_p_inverse_of_log(a, log), log_gamma_p_inverse(a, p)), "{a} {log}");
                assert!(close(log_gamma_q_inverse_of_log(a, log), log_gamma_q_inverse(a, p)), "{a} {log}");
                let (got, truth) = (logit_beta_i_inverse_of_log(a, b, log), logit_beta_i_inverse(a, b, p));
                assert!(close(got, truth), "{a} {b} {log}: {got} and {truth}");
            }
        }
        for log in [-800.0, -5_000.0, -1e5] {
            let l = log_gamma_q_inverse_of_log(a, log);
            assert!((log_gamma_q(a, l.exp()) / log - 1.0).abs() < 1e-11, "{a} {log}");
            let l = log_gamma_p_inverse_of_log(a, log);
            let under = l.exp() < 1e-300;
            assert!(under || (log_gamma_p(a, l.exp()) / log - 1.0).abs() < 1e-11, "{a} {log}");
            let s = logit_beta_i_inverse_of_log(a, b, log);
            assert!((log_beta_i(a, b, s) / log - 1.0).abs() < 1e-11, "{a} {b} {log}: {s}");
        }
        assert_eq!(log_gamma_p_inverse_of_log(a, 0.0), f64::INFINITY);
        assert_eq!(log_gamma_p_inverse_of_log(a, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!(log_gamma_q_inverse_of_log(a, f64::NEG_INFINITY), f64::INFINITY);
        assert_eq!(logit_beta_i_inverse_of_log(a, b, 0.0), f64::INFINITY);
        assert_eq!(logit_beta_i_inverse_of_log(a, b, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert!(
            log_gamma_q_inverse_of_log(a, 0.1).is_nan() && logit_beta_i_inverse_of_log(a, b, 0.1).is_nan()
        );
    }
}

/// Beside the direct difference, where that has digits, and its limits.
#[test]
fn differences_of_mills_ratios() {
    let ratio = |t: f64| (log_ndtr(-t) + 0.5 * t * t + 0.5 * std::f64::consts::TAU.ln()).exp();
    for a in [0.0, 0.3, 1.0, 2.5, 4.0] {
        for w in [0.1, 0.9, 1.4, 3.0, 20.0] {
            let truth = (ratio(a) - ratio(a + w)).ln();
            assert!((log_mills_difference(a, w) - truth).abs() < 1e-12, "{a} {w}");
        }
        // The derivative, aR(a) − 1.
        let slope = 1e-12 * (1.0 - a * ratio(a));
        assert!((log_mills_difference(a, 1e-12).exp() / slope - 1.0).abs() < 1e-11, "{a}");
        assert!((log_mills_difference(a, f64::INFINITY) - ratio(a).ln()).abs() < 1e-13, "{a}");
    }
    // 1/a − 1/(a + w), far out.
    assert!((log_mills_difference(1e6, 1.0) + 12.0 * 10.0_f64.ln()).abs() < 1.1e-6);
    assert_eq!(log_mills_difference(2.0, 0.0), f64::NEG_INFINITY);
    assert!(log_mills_difference(-1.0, 1.0).is_nan() && log_mills_difference(1.0, -1.0).is_nan());
}

#[test]
fn errors_stay_within_the_stated_bounds() {
    let mut worst: BTreeMap<&str, (f64, f64, [f64; 3], f64)> = BTreeMap::new();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, arguments, value) in rows() {
        let (result, condition, bound) = computed(name, arguments, value);
        let error = ((result - value) / value).abs() / condition;
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let found = (error / bound, error, arguments, value);
        let entry = worst.entry(name).or_insert(found);
        if found.0 > entry.0 {
            *entry = found;
        }
        *count.entry(name).or_default() += 1;
    }
    assert!(count.len() == 39 && count.values().all(|&rows| rows >= 24), "{count:?}");
    let broken: Vec<_> = worst.iter().filter(|(_, found)| found.0 > 1.0).collect();
    assert!(broken.is_empty(), "(function, (times the bound, error, arguments, value)): {broken:#?}");
}

/// Numbers in (0, 1), and others spread evenly in the logarithm (SplitMix, Steele, Lea and Flood 2014).
struct Stream(u64);

impl Stream {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
    }

    fn spread(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + (high.ln() - low.ln()) * self.uniform()).exp()
    }

    /// From both tails and the middle.
    fn probability(&mut self) -> f64 {
        match (self.uniform() * 4.0) as u32 {
            0 => self.spread(1e-300, 0.5),
            1 => 1.0 - self.spread(1e-15, 0.5),
            _ => self.uniform(),
        }
    }
}

/// Inverses over many orders of magnitude: the probability comes back to rounding, that of the quantile
/// included.
#[test]
fn inverses_invert() {
    let mut stream = Stream(1);
    // How far p moves when the coordinate with this density is rounded, and its own exponent is.
    let allowed = |p: f64, density: f64, at: f64| {
        p * (1.0 + p.ln().abs()) * 1e-13 + density * (1.0 + at.abs()) * 8.0 * f64::EPSILON
    };
    for _ in 0..20_000 {
        let (a, p) = (stream.spread(1e-9, 1e13), stream.probability());
        let l = log_gamma_p_inverse(a, p);
        // Below, the quantile is not a number at which P can be evaluated.
        if l > -700.0 {
            let (found, p) = if p <= 0.5 { (gamma_p(a, l.exp()), p) } else { (gamma_q(a, l.exp()), 1.0 - p) };
            let tolerance = allowed(p, log_gamma_density(a, l).exp(), l);
            assert!((found - p).abs() <= tolerance, "gamma {a} {p}: ln x = {l}, P = {found}");
        }
    }
    for _ in 0..2000 {
        let (a, b, p) = (stream.spread(1e-6, 1e9), stream.spread(1e-6, 1e9), stream.probability());
        let odds = logit_beta_i_inverse(a, b, p);
        assert!(odds.is_finite(), "beta {a} {b} {p}: {odds}");
        // Beyond, x or 1 − x is not a number at which I can be evaluated.
        if odds.abs() < 36.0 {
            // From the end that is nearer, where the point is exact.
            let (found, p) = if odds < 0.0 {
                (beta_i(a, b, sigmoid(odds)), p)
            } else {
                (beta_i(b, a, sigmoid(-odds)), 1.0 - p)
            };
            let tolerance = allowed(p, log_beta_density(a, b, odds).exp(), odds) + f64::EPSILON;
            assert!((found - p).abs() <= tolerance, "beta {a} {b} {p}: log-odds {odds}, I = {found}");
        }
    }
    for _ in 0..2000 {
        let (k, p) = (stream.spread(1e-6, 1e12), stream.probability().min(0.5));
        let d = von_mises_cdf_inverse(k, p);
        let density = (-2.0 * k * (0.5 * d).sin().powi(2)).exp() / (std::f64::consts::TAU * i0e(k));
        let found = von_mises_cdf(k, d);
        assert!((found - p).abs() <= allowed(p, density, 3.2), "von Mises {k} {p}: {d}, F = {found}");
    }
}

/// Over all sizes of parameters and probabilities the log-odds are found, grow with the probability and are
/// those of the other end; and those found give the probability back, as well as the numbers between which
/// they lie allow.
#[test]
fn log_odds_of_extreme_parameters_are_found() {
    let sizes =
        [1e-300, 1e-200, 1e-100, 1e-30, 1e-10, 1e-3, 0.4, 1.0, 30.0, 1e3, 1e10, 1e30, 1e100, 1e200, 1e300];
    let mut probabilities: Vec<f64> =
        [1e-300, 1e-100, 1e-17, 2.0_f64.powi(-53), 1e-10, 1e-3, 0.1, 0.3, 0.45].to_vec();
    probabilities.push(0.5);
    // Their differences to 1 are numbers.
    let upper: Vec<f64> = probabilities[3..9].iter().rev().map(|p| 1.0 - p).collect();
    probabilities.extend(&upper);
    for a in sizes {
        for b in sizes {
            let mut last = f64::NEG_INFINITY;
            for &p in &probabilities {
                let odds = logit_beta_i_inverse(a, b, p);
                assert!(!odds.is_nan(), "{a} {b} {p}");
                // The density is at most √(ab/2π(a + b)). How far I moves at most when the log-odds are
                // rounded (beside 1, as x is), and the logarithms that it is made of are.
                let density = log_beta_density(a, b, odds).exp();
                let logs = 1.0 + a.ln().abs() + b.ln().abs() - p.ln();
                let highest = (0.16 * a.min(b)).sqrt();
                let tolerance = highest * (1.0 + odds.abs()) * 4.0 * f64::EPSILON + logs * 2e-15;
                let (lower, upper) = log_odds_probabilities(a, b, odds);
                assert!((lower - p).abs() <= tolerance, "{a} {b} {p}: log-odds {odds}, I = {lower}");
                assert!(
                    (upper - (1.0 - p)).abs() <= tolerance,
                    "{a} {b} {p}: log-odds {odds}, 1 - I = {upper}"
                );
                // The search may stop some roundings away.
                let slack = 2.0 * tolerance / density + 64.0 * f64::EPSILON * (1.0 + odds.abs());
                assert!(odds >= last - slack, "{a} {b} {p}: {last}, {odds}");
                last = odds;
                if 1.0 - (1.0 - p) == p {
                    let other = -logit_beta_i_inverse(b, a, 1.0 - p);
                    assert!((odds - other).abs() <= slack, "{a} {b} {p}: {odds} and {other}");
                }
            }
        }
    }
}

/// Arguments at the edges of the numbers: an answer, if only NaN, without a panic and without many steps.
#[test]
fn edges_are_answered() {
    let edges = [
        0.0,
        -0.0,
        1.0,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -1.0,
        0.5,
        1e-20,
        1.0 - 1e-16,
        700.0,
    ];
    for a in edges {
        for b in edges {
            for f in [
                gamma_p,
                gamma_q,
                log_gamma_p_inverse,
                log_gamma_q_inverse,
                log_gamma_density,
                gamma_slope,
                gamma_curvature,
                log_ndtr_difference,
                student_t_cdf,
                student_t_slope,
                von_mises_cdf,
                von_mises_cdf_inverse,
                von_mises_slope,
            ] {
                let value = f(a, b);
                assert!(!(a.is_nan() || b.is_nan()) || value.is_nan(), "{a} {b}: {value}");
            }
            for c in edges {
                for f in [beta_i, logit_beta_i_inverse, log_beta_density, beta_slope_a, beta_slope_b] {
                    let value = f(a, b, c);
                    assert!(
                        !(a.is_nan() || b.is_nan() || c.is_nan()) || value.is_nan(),
                        "{a} {b} {c}: {value}"
                    );
                }
            }
        }
    }
    assert_eq!((gamma_p(2.0, 0.0), gamma_q(2.0, 0.0), gamma_p(2.0, f64::INFINITY)), (0.0, 1.0, 1.0));
    assert_eq!((beta_i(2.0, 3.0, 0.0), beta_i(2.0, 3.0, 1.0)), (0.0, 1.0));
    assert_eq!(
        (log_gamma_p_inverse(2.0, 0.0), log_gamma_p_inverse(2.0, 1.0)),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert!(gamma_p(-1.0, 2.0).is_nan() && gamma_p(1.0, -2.0).is_nan() && beta_i(1.0, 1.0, 1.5).is_nan());
    assert_eq!((ndtri(0.0), ndtri(1.0), ndtri_exp(0.0)), (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY));
    assert_eq!((log_ndtr(f64::NEG_INFINITY), log_ndtr(f64::INFINITY)), (f64::NEG_INFINITY, 0.0));
    assert!(log_ndtr(f64::NAN).is_nan() && ndtri(-0.1).is_nan() && ndtri_exp(0.1).is_nan());
    assert_eq!(
        (atan(f64::INFINITY), atan(-0.0).to_bits()),
        (std::f64::consts::FRAC_PI_2, (-0.0_f64).to_bits())
    );
    assert_eq!((i0e(0.0), i1e(0.0), bessel_ratio(f64::INFINITY)), (1.0, 0.0, 1.0));
}
