//! How well a normal fits: the tail of importance weights.

/// Shape of a generalised Pareto law of these exceedances over a threshold, in ascending order.
///
/// The mean over a grid of a profile posterior, which is as good as maximum likelihood and never fails; drawn
/// a little towards ½, as if ten exceedances more had been seen there.
///
/// # References
/// Zhang, Stephens 2009, "A new and efficient estimation method for the generalized Pareto distribution";
/// Vehtari, Simpson, Gelman, Yao, Gabry 2024, "Pareto smoothed importance sampling" (the grid, and ten at ½).
fn shape(exceedances: &[f64]) -> f64 {
    let n = exceedances.len();
    let points = 30 + (n as f64).sqrt() as usize;
    let quarter = exceedances[((n as f64 / 4.0 + 0.5) as usize).clamp(1, n) - 1];
    let largest = exceedances[n - 1];
    let of = |b: f64| exceedances.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n as f64;
    let grid: Vec<f64> = (1..=points)
        .map(|j| {
            let root = 1.0 - (points as f64 / (j as f64 - 0.5)).sqrt();
            1.0 / largest + root / (3.0 * quarter)
        })
        .collect();
    let profile: Vec<f64> = grid
        .iter()
        .map(|&b| {
            let k = of(b);
            n as f64 * ((-b / k).ln() - k - 1.0)
        })
        .collect();
    let best = profile.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = profile.iter().map(|l| (l - best).exp());
    let total: f64 = weights.clone().sum();
    let b = weights.zip(&grid).map(|(weight, b)| weight * b).sum::<f64>() / total;
    let k = of(b);
    (k * n as f64 + 5.0) / (n as f64 + 10.0)
}

/// `k̂` of the importance weights with these logarithms: the shape of the law of the largest of them.
///
/// Below ½ their variance is finite; up to 0.7 they are of use. Infinite where the others' weights are nothing
/// beside the largest, and minus infinite where the largest are all alike. `NaN` for fewer than 25 weights, or
/// where one is not finite.
pub(crate) fn pareto_k(mut log_weights: Vec<f64>) -> f64 {
    let number = log_weights.len();
    if number < 25 || log_weights.iter().any(|x| x.is_nan() || *x == f64::INFINITY) {
        return f64::NAN;
    }
    log_weights.sort_by(f64::total_cmp);
    let tail = ((0.2 * number as f64).min(3.0 * (number as f64).sqrt()) as usize).max(5);
    let largest = log_weights[number - 1];
    let threshold = (log_weights[number - tail - 1] - largest).exp();
    let exceedances: Vec<f64> =
        log_weights[number - tail..].iter().map(|x| (x - largest).exp() - threshold).collect();
    // All alike: nothing has a tail.
    if exceedances[tail - 1] <= 1e-12 {
        return f64::NEG_INFINITY;
    }
    let quarter = exceedances[tail / 4];
    // A few draws carry all weight, and the others are not to be told from 0.
    if threshold < 1e-300 || quarter < 1e-15 * threshold.max(1e-300) {
        let tied = threshold > 0.5;
        return if tied { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    shape(&exceedances)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exact quantiles of generalised Pareto laws `((1 − p)^(−k) − 1)/k`, the middle of each of 2,000 equal
    /// parts: the fit is drawn to ½ by 10 in 2,000, and quantiles in the place of draws cut the tail.
    #[test]
    fn the_shape_of_a_generalised_pareto_law_is_found() {
        for k in [-0.3, 0.2, 0.5, 0.7, 1.0] {
            let quantile = |i: u32| {
                let rest = 1.0 - (f64::from(i) + 0.5) / 2000.0;
                (rest.powf(-k) - 1.0) / k
            };
            let exceedances: Vec<f64> = (0..2000).map(quantile).collect();
            let found = shape(&exceedances);
            assert!((found - k).abs() < 0.03, "{k}: {found}");
        }
    }

    /// Weights `x^k` for uniform `1/x` have a tail of shape `k`; weights that are all alike have none.
    #[test]
    fn tails_of_weights() {
        for k in [0.3, 0.7, 1.2] {
            let log_weights: Vec<f64> =
                (0..4000).map(|i| -k * ((f64::from(i) + 0.5) / 4000.0).ln()).collect();
            let found = pareto_k(log_weights);
            assert!((found - k).abs() < 0.1, "{k}: {found}");
        }
        assert_eq!(pareto_k(vec![3.0; 100]), f64::NEG_INFINITY);
        // One draw carries all weight.
        let alone = (0..2000).map(|i| -1e6 * f64::from(i)).collect();
        assert_eq!(pareto_k(alone), f64::INFINITY);
        assert!(pareto_k(vec![f64::NAN; 100]).is_nan() && pareto_k(vec![0.0; 10]).is_nan());
    }
}
