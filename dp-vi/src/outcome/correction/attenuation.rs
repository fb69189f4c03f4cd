//! Where the mean gradient of a logistic regression is, if it was taken at values that wander.

/// Deviations on both sides, and points on each, that means over a standard normal are summed at.
const REACH: f64 = 6.0;
const POINTS: i32 = 40;

/// The smallest deviation of log-odds that a factor is found for; below it the factor is the same.
const LEAST: f64 = 0.05;

/// The largest variance of log-odds by wandering that a factor is found for: beyond, next to nothing is learned.
const FARTHEST: f64 = 4.0;

/// How gradients of a Bernoulli term with recognised weights are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attenuation {
    /// The root of the mean square of the features' norms, as far as it is known.
    pub(crate) typical: f64,
    /// Whether residuals are weighted so that none is above one half.
    pub(crate) bounded: bool,
}

impl Attenuation {
    /// What the mean of the values that steps visited is to be multiplied by, for it to be where the log-likelihood has
    /// their mean gradient.
    ///
    /// ```text
    /// E z ρ = 0 at κ     ρ = g(p) (y − p),   p = s(a z + d),   E y = s(κ a z),   z ~ N(0, 1),   d ~ N(0, h)
    /// h = w t²/n,   a = t ‖β̄‖/√n           s the logistic function, g(p) = 1, or 1/(2 max(p, 1 − p)) for bounded residuals
    /// ```
    ///
    /// `w` is the mean squared distance of the values from their mean `β̄`, `t` the typical norm of the features and
    /// `n` how many there are. Log-odds that wander give probabilities which are nearer to one half on average, so that
    /// steps settle around values that are too large by about `πh/16`, or twice as much where residuals are bounded.
    /// Features are taken to vary about equally in all directions, and log-odds to be normal; neither matters much, for
    /// the factor is 0.96 to 0.98 or 0.93 to 0.97 for all `a` from 0.5 to 4 where `h` is 0.1.
    pub(crate) fn factor(self, values: &[f64], wandered: f64) -> f64 {
        let per_value = self.typical * self.typical / values.len().max(1) as f64;
        let spread = (per_value * values.iter().map(|value| value * value).sum::<f64>()).sqrt().max(LEAST);
        let deviation = (wandered * per_value).clamp(0.0, FARTHEST).sqrt();
        if !(deviation > 0.0 && spread.is_finite()) {
            return 1.0;
        }
        let nodes = || (-POINTS..=POINTS).map(|k| REACH * f64::from(k) / f64::from(POINTS));
        let weight = |z: f64| (-0.5 * z * z).exp();
        let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
        // For each log-odds the means of g(p) and of p g(p).
        let at = |z: f64| {
            let mut means = (0.0, 0.0);
            for node in nodes() {
                let p = logistic(spread * z + deviation * node);
                let g = weight(node) * if self.bounded { 0.5 / p.max(1.0 - p) } else { 1.0 };
                means = (means.0 + g, means.1 + p * g);
            }
            (z, weight(z) * means.0, weight(z) * means.1)
        };
        let all: Vec<(f64, f64, f64)> = nodes().map(at).collect();
        let slope = |factor: f64| -> f64 {
            all.iter().map(|(z, g, pg)| z * (logistic(factor * spread * z) * g - pg)).sum()
        };
        // It rises with the factor, and a factor of one is too large.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if slope(middle) < 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against 80 nodes of Gauss-Hermite quadrature, in another program; a logistic regression attenuates about as a
    /// probit does, by `1/√(1 + πh/8)`.
    #[test]
    fn factors_are_those_of_quadrature() {
        for (spread, h, bounded, expected) in [
            (0.5, 0.1, false, 0.9772),
            (2.0, 0.02, false, 0.9963),
            (4.0, 0.5, false, 0.9257),
            (0.5, 0.1, true, 0.9297),
            (2.0, 0.1, true, 0.9681),
            (2.0, 0.5, true, 0.8691),
        ] {
            // Four features of norm 2: each value counts as it is.
            let values = [spread, 0.0, 0.0, 0.0];
            let found = Attenuation { typical: 2.0, bounded }.factor(&values, h);
            assert!((found - expected).abs() < 2e-3, "{spread} {h} {bounded}: {found}");
        }
        assert_eq!(Attenuation { typical: 2.0, bounded: true }.factor(&[1.0; 4], 0.0), 1.0);
        assert_eq!(Attenuation { typical: f64::NAN, bounded: true }.factor(&[1.0; 4], 1.0), 1.0);
    }
}
