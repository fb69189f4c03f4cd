//! Draws from what a run has found.

use crate::noise_aware::NoiseAware;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ppl_core::{InputId, NoiseKind, Plan, Shape};
use std::ops::Range;

/// Draws behind a number that is found by simulation: half as many and their mirror images.
pub(crate) const SIMULATED: usize = 10_000;

/// A range of standard normals and the input of a guide's program that it goes to.
#[derive(Clone, Debug)]
pub(crate) struct NoiseFeed {
    pub(crate) range: Range<usize>,
    kind: NoiseKind,
    input: Option<InputId>,
}

impl NoiseFeed {
    /// For each input of the noise, its place in a program. One that the program does not use takes its part of the normals all the same.
    pub(crate) fn all(plan: &Plan<f64>, inputs: &[(String, NoiseKind, Shape)]) -> Vec<Self> {
        let mut at = 0;
        let feed = |(name, kind, shape): &(String, NoiseKind, Shape)| {
            at += shape.elements();
            Self { range: at - shape.elements()..at, kind: *kind, input: plan.input(name).ok() }
        };
        inputs.iter().map(feed).collect()
    }

    /// Fills the input with noise of its kind, from standard normals times a sign.
    pub(crate) fn fill(&self, plan: &mut Plan<f64>, normals: &[f64], sign: f64) {
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
fn uniform(z: f64) -> f64 {
    (0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2))
        .clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON)
}

/// The guide's program with its parameters in place; for some sites a normal in its stead.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    draw: Plan<f64>,
    noise: Vec<NoiseFeed>,
    corrected: Option<Corrected>,
}

/// A normal for some sites together.
#[derive(Clone, Debug)]
struct Corrected {
    mean: Vec<f64>,
    /// Lower Cholesky factor of the covariance.
    lower: Vec<f64>,
    /// For each site, its elements, and whether it varies.
    places: Vec<Option<(Range<usize>, bool)>>,
}

impl Simulation {
    pub(crate) fn new(draw: Plan<f64>, noise: Vec<NoiseFeed>) -> Self {
        Self { draw, noise, corrected: None }
    }

    /// The same, with the corrected posterior for the sites at these places; those that do not vary (parameters) are at its mean. `None` if
    /// its covariance is not positive definite.
    pub(crate) fn corrected(
        mut self,
        found: &NoiseAware,
        places: Vec<Option<(Range<usize>, bool)>>,
    ) -> Option<Self> {
        let lower = crate::linear_algebra::cholesky(&found.covariance, found.mean.len())?;
        self.corrected = Some(Corrected { mean: found.mean.clone(), lower, places });
        Some(self)
    }

    /// Hands out the unconstrained values of so many draws, site by site: `take(site, values)`, for the sites that are wanted. Mirrored, each
    /// second draw is the mirror image of the one before.
    pub(crate) fn run(
        &self,
        draws: usize,
        mirrored: bool,
        seed: &Seed,
        wanted: &dyn Fn(usize) -> bool,
        mut take: impl FnMut(usize, &[f64]),
    ) {
        let mut plan = self.draw.clone();
        let source = GaussianNoise::from_streams(seed.streams(Purpose::Custom("posterior draws")));
        let own = self.noise.last().map_or(0, |feed| feed.range.end);
        let joint = self.corrected.as_ref().map_or(0, |corrected| corrected.mean.len());
        let (mut normals, mut vector) = (vec![0.0; own + joint], vec![0.0; joint]);
        for number in 0..draws {
            let (step, sign) = match (mirrored, number % 2) {
                (true, 0) => (number / 2, 1.0),
                (true, _) => (number / 2, -1.0),
                (false, _) => (number, 1.0),
            };
            if sign > 0.0 {
                source.fill(step as u64, &mut normals);
            }
            self.noise.iter().for_each(|feed| feed.fill(&mut plan, &normals, sign));
            plan.run();
            if let Some(Corrected { mean, lower, .. }) = &self.corrected {
                let z = &normals[own..];
                for (i, (value, mean)) in vector.iter_mut().zip(mean).enumerate() {
                    let moved: f64 = lower[i * joint..][..=i].iter().zip(z).map(|(l, z)| l * z).sum();
                    *value = mean + sign * moved;
                }
            }
            for site in (0..plan.outputs()).filter(|&site| wanted(site)) {
                let place = self.corrected.as_ref().and_then(|corrected| {
                    let (range, varies) = corrected.places.get(site)?.as_ref()?;
                    Some(if *varies { &vector[range.clone()] } else { &corrected.mean[range.clone()] })
                });
                take(site, place.unwrap_or_else(|| plan.output(site)));
            }
        }
    }

    /// The mean of one site's unconstrained values, by simulation.
    pub(crate) fn mean(&self, site: usize) -> Vec<f64> {
        let mut sum = Vec::new();
        self.run(SIMULATED, true, &Seed::for_tests(0), &|other| other == site, |_, values| {
            sum.resize(values.len(), 0.0);
            sum.iter_mut().zip(values).for_each(|(sum, x)| *sum += x / SIMULATED as f64);
        });
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Φ` from tables (Abramowitz and Stegun 26.2, 10 digits), its mirror image, and its ends, which are neither 0 nor 1.
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
