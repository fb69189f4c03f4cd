//! Where a posterior is centred that an unknown curvature has made wide and skew.

use super::{Mixture, Rule};
use crate::outcome::correction::linear_algebra::{compose, eigen};
use nalgebra::{DMatrix, DVector};

/// `h`: how many times its noise's variance the square of a displacement must have before the centre leaves the run's
/// mean. Two is what Akaike's criterion asks of one more number.
///
/// On six generated logistic designs (500 to 15,000 records, 5 to 26 columns: skewed ones, rare categories and
/// outcomes, columns that nearly repeat each other; 8 runs each, ε of 0.3, 1, 3 and 10) errors are .95 in geometric
/// mean of what they were under an earlier rule. With `l` once in the place of `l²` 2 and 4 gave the same errors on
/// average: 4 up to a sixth smaller ones where designs are skewed, and as much larger ones where they are small.
const DISPLACED: f64 = 2.0;

/// The centre, and second moments of the mixture about it: both relative to the run's mean `t̄`.
///
/// ```text
/// mixture:   mean t̄ + δ, covariance V diag(τ²) Vᵀ,   δ′ = Vᵀ δ,   inside = E (A S + P₀)⁻¹
/// noise:     ν_k² = τ_k² − v_kᵀ (E S + P₀)⁻¹ v_k                        what it adds to the variance, at least 0
/// learned:   l_k = 1 − v_kᵀ inside v_k/v_kᵀ P₀⁻¹ v_k                    the share of the prior's variance that is gone
/// centre:    t̄ + V c,   c_k = δ′_k max(0, 1 − h l_k² ν_k²/δ′_k²)
/// spread:    V diag(τ²) Vᵀ + V (δ′ − c)(δ′ − c)ᵀ Vᵀ
/// ```
///
/// The mixture's mean takes the steps that are left to the mode as if they were known: `E[(A S + P₀)⁻¹ A] ḡ`, to which
/// the smallest curvatures that are possible contribute most, and these lie outward for a likelihood that flattens
/// there. It is off by several times what `t̄` itself is, which has no curvature in it: `t̄` is where noisy gradients
/// of the records and the prior together led. Where the noise may have made the displacement from there, `t̄` is the
/// better point, and intervals around it hold what they held.
///
/// `l_k ν_k²` is the noise's variance in `δ′_k`: a mean of precision `1/σ² + 1/π²` is `l = π²/(σ² + π²)` times an
/// estimate of variance `σ²`, and `l² σ² = l τ²` where `τ²` is what both leave. The second `l_k` is for `t̄`: where
/// little is learned the noise has led the run, and `t̄` is no point to stay at. Where nothing is learned the limit is
/// zero and the centre is the mixture's mean, which is the prior's; so it is where there is next to no noise, and where
/// the run has not arrived.
///
/// # References
/// Breiman 1995, "Better subset regression using the nonnegative garrote" (the rule for one direction).
pub(super) fn centred(found: &Mixture, rule: Rule) -> Option<(DVector<f64>, DMatrix<f64>)> {
    let axes = eigen(found.covariance.clone())?;
    let inward = axes.eigenvectors.transpose();
    let away = &inward * &found.mean;
    let [inside, without_noise, prior] =
        [&found.inside, &found.at_mean, &found.prior].map(|matrix| compose(matrix, &inward).diagonal());
    let centre = DVector::from_fn(away.len(), |k, _| {
        let (away, variance) = (away[k], axes.eigenvalues[k]);
        let (inside, without_noise, prior) = (inside[k], without_noise[k], prior[k]);
        rule(&Direction { away, variance, inside, without_noise, prior })
    });
    let left = away - &centre;
    let spread = DMatrix::from_diagonal(&axes.eigenvalues) + &left * left.transpose();
    Some((&axes.eigenvectors * centre, compose(&spread, &axes.eigenvectors)))
}

/// What is known in one direction, relative to the run's mean.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    /// `δ′_k`
    pub(super) away: f64,
    /// `τ_k²`
    pub(super) variance: f64,
    /// Mean of the variances of the mixture's parts.
    pub(super) inside: f64,
    /// The variance that there would be without noise.
    pub(super) without_noise: f64,
    /// The prior's variance.
    pub(super) prior: f64,
}

impl Direction {
    /// `c_k`
    pub(super) fn centre(&self) -> f64 {
        self.beyond(self.learned().powi(2))
    }

    /// `c_k` with `l_k` once, for runs whose steps settle before their curvature is probed: `t̄` is a mean of
    /// values that were found, and a direction may be hidden because the likelihood bends away from it at the
    /// distance of probes, as that of a mixture does. With `l_k²` one run in twenty of a mixture gave such a
    /// centre away for the prior's mean.
    pub(super) fn near(&self) -> f64 {
        self.beyond(self.learned())
    }

    /// `l_k`
    fn learned(&self) -> f64 {
        (1.0 - self.inside / self.prior).max(0.0)
    }

    /// The displacement that is left above the limit of what the noise may have made, of which this is the share.
    fn beyond(&self, share: f64) -> f64 {
        let limit = DISPLACED * share * (self.variance - self.without_noise).max(0.0);
        let squared = self.away * self.away;
        if squared > limit { self.away * (1.0 - limit / squared) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};

    fn centred(found: &Mixture) -> (DVector<f64>, DMatrix<f64>) {
        super::centred(found, Direction::centre).unwrap()
    }

    /// A mixture of one part only, with a prior that is all but flat, and no variance that would be without noise.
    fn mixture(mean: &[f64], covariance: DMatrix<f64>) -> Mixture {
        let n = mean.len();
        let nothing = DMatrix::zeros(n, n);
        Mixture {
            mean: DVector::from_column_slice(mean),
            inside: covariance.clone(),
            covariance,
            without_noise: nothing.clone(),
            at_mean: nothing,
            prior: DMatrix::from_diagonal_element(n, n, 1e100),
            parts: Vec::new(),
        }
    }

    fn diagonal(elements: &[f64]) -> DMatrix<f64> {
        DMatrix::from_diagonal(&DVector::from_column_slice(elements))
    }

    /// One direction that the run has not found, and one where its mean is as good: by hand, in coordinates turned by
    /// 3/5.
    #[test]
    fn directions_are_taken_one_by_one_whatever_the_coordinates() {
        let turn = DMatrix::from_row_slice(2, 2, &[0.8, -0.6, 0.6, 0.8]);
        let away = &turn * DVector::from_row_slice(&[5.0, 0.9]);
        let covariance = compose(&diagonal(&[4.0, 1.0]), &turn);
        let (centre, spread) = centred(&mixture(away.as_slice(), covariance.clone()));
        // 5 (1 − 2·4/25) = 3.4; 0.9² is below 2.
        assert!((centre - &turn * DVector::from_row_slice(&[3.4, 0.0])).amax() < 1e-12);
        let left = &turn * DVector::from_row_slice(&[1.6, 0.9]);
        assert!((spread - covariance - &left * left.transpose()).amax() < 1e-12);
    }

    /// Second moments about the centre are those of the mixture: no interval loses what it held.
    #[test]
    fn second_moments_are_kept() {
        let covariance = DMatrix::from_row_slice(2, 2, &[1.0, 0.3, 0.3, 0.5]);
        let found = Mixture { prior: 5.0 * DMatrix::identity(2, 2), ..mixture(&[1.1, -0.9], covariance) };
        let (centre, spread) = centred(&found);
        let left = &found.mean - centre;
        assert!((spread - &found.covariance - &left * left.transpose()).amax() < 1e-12);
    }

    /// A value of which nothing has been learned has its prior's mean, wherever the noise has led the run; and one of
    /// which little has is as near to it as that little allows.
    #[test]
    fn what_is_not_learned_keeps_its_prior() {
        let of =
            |variance: f64| Mixture { prior: diagonal(&[4.0]), ..mixture(&[-1.5], diagonal(&[variance])) };
        let (centre, spread) = centred(&of(4.0));
        assert_eq!((centre[0], spread[(0, 0)]), (-1.5, 4.0));
        let (centre, _) = centred(&of(3.9));
        let limit = 2.0 * 0.025 * 0.025 * 3.9;
        assert!((centre[0] + 1.5 - limit / 1.5).abs() < 1e-12, "{centre}");
    }

    /// Where steps have settled the limit is the noise's variance itself: a third of the prior's variance is
    /// gone, and a displacement of 5 is left out where with the second `l` half of it was kept.
    #[test]
    fn what_was_found_is_kept_where_steps_settle() {
        let one = Direction { away: -5.0, variance: 60.0, inside: 60.0, without_noise: 0.0, prior: 90.0 };
        assert!((one.centre() + 5.0 - 2.0 * 60.0 / 9.0 / 5.0).abs() < 1e-12, "{}", one.centre());
        assert_eq!(one.near(), 0.0);
        let nothing = Direction { inside: 90.0, ..one };
        assert_eq!(nothing.near(), -5.0);
        let far = Direction { away: 12.0, ..one };
        assert!((far.near() - 12.0 * (1.0 - 40.0 / 144.0)).abs() < 1e-12, "{}", far.near());
    }

    /// Without noise the centre is the mixture's mean, however near the run's is.
    #[test]
    fn without_noise_nothing_is_moved() {
        let covariance = diagonal(&[1.0, 0.25]);
        let found = Mixture { at_mean: covariance.clone(), ..mixture(&[0.4, -0.2], covariance) };
        let (centre, spread) = centred(&found);
        assert!((centre - &found.mean).amax() < 1e-12 && (spread - &found.covariance).amax() < 1e-12);
    }

    /// `l τ²` is the noise's variance in a posterior mean: against draws of noisy estimates of a known value.
    #[test]
    fn a_displacement_has_the_noise_that_the_limit_says() {
        let (prior, noise, draws) = (4.0_f64, 1.5_f64, 40_000);
        let mut estimates = vec![0.0; draws];
        GaussianNoise::with_purpose(&Seed::for_tests(3), Purpose::Custom("estimates"))
            .fill(0, &mut estimates);
        let posterior = 1.0 / (1.0 / prior + 1.0 / noise);
        // Of a value at zero, with a prior around the run's mean of zero.
        let means = estimates.iter().map(|z| posterior / noise * (noise.sqrt() * z));
        let variance = means.map(|mean| mean * mean).sum::<f64>() / draws as f64;
        let learned = 1.0 - posterior / prior;
        // Six standard errors of a variance.
        let error = 6.0 * (2.0 / draws as f64).sqrt();
        assert!((variance / (learned * posterior) - 1.0).abs() < error, "{variance}");
        // The limit is twice that, times what is learned.
        let limit = (DISPLACED * learned * variance).sqrt();
        let centre = |away: f64| {
            Direction { away, variance: posterior, inside: posterior, without_noise: 0.0, prior }.centre()
        };
        assert!(centre(limit * (1.0 - error)) == 0.0 && centre(limit * (1.0 + error)) > 0.0, "{limit}");
    }
}
