//! Draws from what a run has found.

use crate::objective::noise_feed::NoiseFeed;
use crate::objective::shared::Shared;
use crate::outcome::correction::linear_algebra::{Factor, square};
use crate::outcome::correction::noise_aware::NoiseAware;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::DVector;
use ppl_core::ExecutionPlan;
use std::ops::Range;

/// Draws behind a number that is found by simulation: half as many and their mirror images.
pub(crate) const SIMULATED: usize = 10_000;

/// Hands out standard normals for each of this many draws, with the sign that they are to be taken times. Mirrored,
/// each second draw has those of the one before, with the other sign.
pub(crate) fn each_draw(
    draws: usize,
    mirrored: bool,
    seed: &Seed,
    normals: usize,
    mut draw: impl FnMut(&[f64], f64),
) {
    let source = GaussianNoise::from_streams(seed.streams(Purpose::Custom("posterior draws")));
    let mut normals = vec![0.0; normals];
    for number in 0..draws {
        let (step, sign) = match (mirrored, number % 2) {
            (true, 0) => (number / 2, 1.0),
            (true, _) => (number / 2, -1.0),
            (false, _) => (number, 1.0),
        };
        if sign > 0.0 {
            source.fill(step as u64, &mut normals);
        }
        draw(&normals, sign);
    }
}

/// The guide's program with its parameters in place; for some sites a normal in its stead.
#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    draw: ExecutionPlan<f64>,
    noise: Vec<NoiseFeed>,
    corrected: Option<Corrected>,
}

/// A normal for some sites together.
#[derive(Clone, Debug)]
struct Corrected {
    mean: DVector<f64>,
    /// Lower Cholesky factor of the covariance.
    lower: Factor,
    /// For each site, its elements, and whether it varies.
    places: Vec<Option<(Range<usize>, bool)>>,
}

impl Simulation {
    /// The guide's draws, with parameters that have been found.
    pub(crate) fn of(shared: &Shared, parameters: &[f64]) -> Self {
        let (draw, noise) = shared.drawing(parameters);
        Self::new(draw, noise)
    }

    /// The guide's draws as unconstrained values of the model, where what it draws are coordinates of them.
    pub(crate) fn of_values(shared: &Shared, parameters: &[f64]) -> Self {
        let (draw, noise) = shared.drawing_values(parameters);
        Self::new(draw, noise)
    }

    pub(crate) fn new(draw: ExecutionPlan<f64>, noise: Vec<NoiseFeed>) -> Self {
        Self { draw, noise, corrected: None }
    }

    /// The same, with the corrected posterior for the sites at these places; those that do not vary
    /// (parameters) are at its mean. `None` if its covariance is not positive definite.
    pub(crate) fn corrected(
        mut self,
        found: &NoiseAware,
        places: Vec<Option<(Range<usize>, bool)>>,
    ) -> Option<Self> {
        let lower = Factor::new(square(&found.covariance, found.mean.len()))?;
        let mean = DVector::from_column_slice(&found.mean);
        self.corrected = Some(Corrected { mean, lower, places });
        Some(self)
    }

    /// Hands out the unconstrained values of this many draws, site by site: `take(site, values)`, for the
    /// sites that are wanted. Mirrored, each second draw is the mirror image of the one before.
    pub(crate) fn run(
        &self,
        draws: usize,
        mirrored: bool,
        seed: &Seed,
        wanted: &dyn Fn(usize) -> bool,
        mut take: impl FnMut(usize, &[f64]),
    ) {
        let mut room = self.room();
        each_draw(draws, mirrored, seed, self.normals(), |normals, sign| {
            self.one(&mut room, normals, sign, wanted, &mut take);
        });
    }

    /// How many standard normals a draw is made from.
    pub(crate) fn normals(&self) -> usize {
        self.own() + self.corrected.as_ref().map_or(0, |corrected| corrected.mean.len())
    }

    /// Those that the guide's program takes.
    fn own(&self) -> usize {
        self.noise.last().map_or(0, |feed| feed.range.end)
    }

    /// What draws are computed in.
    pub(crate) fn room(&self) -> (ExecutionPlan<f64>, DVector<f64>) {
        (
            self.draw.clone(),
            DVector::zeros(self.corrected.as_ref().map_or(0, |corrected| corrected.mean.len())),
        )
    }

    /// The draw that is made from these standard normals times a sign.
    pub(crate) fn one(
        &self,
        (plan, vector): &mut (ExecutionPlan<f64>, DVector<f64>),
        normals: &[f64],
        sign: f64,
        wanted: &dyn Fn(usize) -> bool,
        take: &mut impl FnMut(usize, &[f64]),
    ) {
        self.noise.iter().for_each(|feed| feed.fill(plan, normals, sign));
        plan.run();
        if let Some(Corrected { mean, lower, .. }) = &self.corrected {
            vector.copy_from(mean);
            let joint = &normals[self.own()..];
            lower.add_product(sign, joint, vector);
        }
        for site in (0..plan.outputs()).filter(|&site| wanted(site)) {
            let place = self.corrected.as_ref().and_then(|corrected| {
                let (range, varies) = corrected.places.get(site)?.as_ref()?;
                let values = if *varies { &*vector } else { &corrected.mean };
                Some(&values.as_slice()[range.clone()])
            });
            take(site, place.unwrap_or_else(|| plan.output(site)));
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
