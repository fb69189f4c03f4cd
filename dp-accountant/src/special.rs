//! The normal law's density and tails, and the rounding unit that all error bounds are written in.

/// The unit roundoff of `f64`: one correctly rounded operation has a relative error of at most this.
pub(crate) const ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The density of the standard normal law.
pub(crate) fn density(z: f64) -> f64 {
    const INVERSE_SQRT_TWO_PI: f64 = 0.398_942_280_401_432_7;
    INVERSE_SQRT_TWO_PI * (-0.5 * z * z).exp()
}

/// The mass of the standard normal law above `z`.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The ratio of the upper tail to the density at `z >= 0`, without underflow.
///
/// # Accuracy
/// Relative error at most 80 units of roundoff. Below 5, `erfc` and `exp(z²/2)` contribute z² units each.
/// From 5 on a continued fraction of positive terms is cut after 24 levels; its error there is of the order
/// exp(-2z√48), below 1e-29.
pub(crate) fn mills_ratio(z: f64) -> f64 {
    const SQRT_HALF_PI: f64 = 1.253_314_137_315_500_3;
    if z < 5.0 {
        return SQRT_HALF_PI * (0.5 * z * z).exp() * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
    }
    let mut fraction = z;
    for level in (1..=24).rev() {
        fraction = z + f64::from(level) / fraction;
    }
    1.0 / fraction
}

/// The `z` above which a standard normal law has about the mass `tail`, at least 6 and at most 36.
///
/// The ends keep quadrature meaningful (6) and densities far from the subnormal range (36). Whatever is
/// returned is a valid place to truncate: the mass beyond it is always computed and charged.
pub(crate) fn truncation_point(tail: f64) -> f64 {
    let crude = (-2.0 * tail.max(1e-300).ln()).max(0.0).sqrt();
    crude.clamp(6.0, 36.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mills_ratio_is_continuous_where_its_formulas_meet() {
        // Between 5 - 1e-9 and 5 the ratio changes by less than 1e-10; the formulas must agree to their 80
        // units.
        let (below, above) = (mills_ratio(5.0 - 1e-12), mills_ratio(5.0));
        assert!((below / above - 1.0).abs() < 80.0 * ROUNDOFF + 1e-12, "{below} {above}");
        // The continued fraction in 40-digit decimal arithmetic, and sqrt(pi/2) at 0.
        for (z, truth) in [
            (0.0, 1.253_314_137_315_500_3),
            (1.0, 0.655_679_542_418_798_5),
            (10.0, 0.099_028_596_471_731_92),
            (50.0, 0.019_992_009_580_853_57),
        ] {
            assert!((mills_ratio(z) / truth - 1.0).abs() < 1e-13, "{z}: {}", mills_ratio(z));
        }
    }

    #[test]
    fn truncation_leaves_less_than_asked() {
        for tail in [1e-10, 1e-30, 1e-100, 1e-280] {
            assert!(upper_tail(truncation_point(tail)) <= tail);
        }
    }
}
