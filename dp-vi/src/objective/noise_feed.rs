//! Standard normals, and the inputs of a guide's programs that they go to.

use ppl_core::{ExecutionPlan, InputId, NoiseKind, Shape};
use std::ops::Range;

/// A range of standard normals and the input of a guide's program that it goes to.
#[derive(Clone, Debug)]
pub(crate) struct NoiseFeed {
    pub(crate) range: Range<usize>,
    kind: NoiseKind,
    input: Option<InputId>,
}

impl NoiseFeed {
    /// For each input of the noise, its place in a program. One that the program does not use takes its part
    /// of the normals all the same.
    pub(crate) fn all(plan: &ExecutionPlan<f64>, inputs: &[(String, NoiseKind, Shape)]) -> Vec<Self> {
        let mut at = 0;
        let feed = |(name, kind, shape): &(String, NoiseKind, Shape)| {
            at += shape.elements();
            Self { range: at - shape.elements()..at, kind: *kind, input: plan.input(name).ok() }
        };
        inputs.iter().map(feed).collect()
    }

    /// Fills the input with noise of its kind, from standard normals times a sign.
    pub(crate) fn fill(&self, plan: &mut ExecutionPlan<f64>, normals: &[f64], sign: f64) {
        let Some(input) = self.input else { return };
        fill(plan.input_mut(input), self.kind, &normals[self.range.clone()], sign);
    }
}

/// Writes noise of a kind, made from standard normals times a sign.
pub(crate) fn fill(input: &mut [f64], kind: NoiseKind, normals: &[f64], sign: f64) {
    let pairs = input.iter_mut().zip(normals);
    match kind {
        NoiseKind::Uniform => pairs.for_each(|(input, z)| *input = uniform(sign * z)),
        _ => pairs.for_each(|(input, z)| *input = sign * z),
    }
}

/// `Φ(z)`, strictly between 0 and 1: a uniform number from a normal one, and from `−z` the other end.
pub(crate) fn uniform(z: f64) -> f64 {
    (0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2))
        .clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Φ` from tables (Abramowitz and Stegun 26.2, 10 digits), its mirror image, and its ends, which are
    /// neither 0 nor 1.
    #[test]
    fn uniform_noise_is_the_normals_rank() {
        for (z, p) in [(0.0, 0.5), (0.5, 0.691_462_461_3), (1.0, 0.841_344_746_1), (2.0, 0.977_249_868_1)] {
            assert!((uniform(z) - p).abs() < 1e-10);
            assert!((uniform(z) + uniform(-z) - 1.0).abs() < 1e-15);
        }
        for z in [8.6, 40.0, f64::MAX] {
            assert!(uniform(z) < 1.0 && uniform(-z) > 0.0, "{z}");
        }
        assert!((uniform(-8.0) / 6.220_960_574_3e-16 - 1.0).abs() < 1e-10);
    }
}
