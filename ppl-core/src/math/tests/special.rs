//! Special functions of several arguments against `tests/golden/special.csv`.

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

/// The value, the condition number of the problem (how many times a relative rounding of an argument shows in the result), and
/// the error that the documentation states.
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
        // ln P and ln Q are of moderate size, or large in the tails, where their roundings are those of the exponent.
        "gamma_p" => (gamma_p(x, y), 1.0 - value.ln(), 1e-14),
        "gamma_q" => (gamma_q(x, y), 1.0 - value.ln(), 1e-14),
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
    assert!(count.len() == 33 && count.values().all(|&rows| rows >= 24), "{count:?}");
    let broken: Vec<_> = worst.iter().filter(|(_, found)| found.0 > 1.0).collect();
    assert!(broken.is_empty(), "(function, (times the bound, error, arguments, value)): {broken:#?}");
}
