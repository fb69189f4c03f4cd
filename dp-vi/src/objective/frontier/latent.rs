//! Gradients with respect to the latent values, where records meet shared values.

use crate::objective::shared::{Drawn, Shared};
use ppl_core::{InputId, RecordGradient};
use std::ops::Range;

/// Where the values of a site enter the per-record program, and where the released gradient has its part.
pub(crate) struct LatentPlace {
    /// Its elements of all unconstrained values.
    pub(crate) range: Range<usize>,
    /// Its part of one draw's noisy sum, if records touch it.
    pub(crate) frontier: Option<Range<usize>>,
    /// Its inputs of the per-record program, one for each draw.
    pub(crate) inputs: Vec<Option<InputId>>,
}

/// The frontier at the latent values.
pub(crate) struct Latent {
    pub(crate) places: Vec<LatentPlace>,
    /// Elements of one draw's noisy sum.
    pub(crate) elements: usize,
}

impl Latent {
    pub(super) fn feed(&self, drawn: &Drawn, program: &mut RecordGradient<f64>) {
        for place in &self.places {
            for (number, input) in place.inputs.iter().enumerate() {
                if let Some(input) = *input {
                    program.input_mut(input).copy_from_slice(&drawn.of(number)[place.range.clone()]);
                }
            }
        }
    }

    pub(super) fn pull_back(&self, shared: &mut Shared, noise: &[f64], released: &[f64], out: &mut [f64]) {
        // The mean over the draws of √2 S± where there are two.
        let stacking = 1.0 / shared.draws().stacking();
        let add = |number: usize, site: usize, total: &mut [f64]| {
            if let Some(frontier) = &self.places[site].frontier {
                let released = &released[number * self.elements..][..self.elements];
                let part = &released[frontier.clone()];
                total.iter_mut().zip(part).for_each(|(total, x)| *total += stacking * x);
            }
        };
        shared.pull_back(noise, add, out);
    }

    /// Adds the mean over the draws of the frontier's values, and of the released gradients there.
    pub(crate) fn add_to_means(
        &self,
        shared: &Shared,
        released: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) {
        let draws = shared.draws();
        let share = 1.0 / draws.number() as f64;
        let stacking = share / draws.stacking();
        for number in 0..draws.number() {
            let drawn = shared.drawn.of(number);
            for place in &self.places {
                if let Some(frontier) = &place.frontier {
                    let drawn = &drawn[place.range.clone()];
                    values[frontier.clone()].iter_mut().zip(drawn).for_each(|(sum, x)| *sum += share * x);
                }
            }
            let released = &released[number * self.elements..][..self.elements];
            gradients.iter_mut().zip(released).for_each(|(sum, x)| *sum += stacking * x);
        }
    }

    /// The frontier's values among unconstrained ones of all sites, those of one draw.
    pub(crate) fn frontier_of(&self, drawn: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.elements];
        for place in &self.places {
            if let Some(frontier) = &place.frontier {
                values[frontier.clone()].copy_from_slice(&drawn[place.range.clone()]);
            }
        }
        values
    }

    /// Puts values of the frontier into unconstrained values of all sites, those of one draw.
    pub(crate) fn put(&self, values: &[f64], drawn: &mut [f64]) {
        for place in &self.places {
            if let Some(frontier) = &place.frontier {
                drawn[place.range.clone()].copy_from_slice(&values[frontier.clone()]);
            }
        }
    }

    /// Half of the difference of a pair: of the frontier's values, and of the released gradients there.
    pub(crate) fn halves(
        &self,
        shared: &Shared,
        released: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) {
        let (first, second) = (shared.drawn.of(0), shared.drawn.of(shared.draws().number() - 1));
        for place in &self.places {
            if let Some(frontier) = &place.frontier {
                let pairs = first[place.range.clone()].iter().zip(&second[place.range.clone()]);
                values[frontier.clone()]
                    .iter_mut()
                    .zip(pairs)
                    .for_each(|(half, (x, y))| *half = 0.5 * (x - y));
            }
        }
        let scale = 0.5 / shared.draws().stacking();
        let pairs = released.iter().zip(&released[released.len() - self.elements..]);
        gradients.iter_mut().zip(pairs).for_each(|(half, (x, y))| *half = scale * (x - y));
    }

    /// The frontier's values at one of the draws, and the released gradient of the log-likelihood there.
    pub(crate) fn at(
        &self,
        shared: &Shared,
        draw: usize,
        released: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) {
        let drawn = shared.drawn.of(draw);
        for place in &self.places {
            if let Some(frontier) = &place.frontier {
                values[frontier.clone()].copy_from_slice(&drawn[place.range.clone()]);
            }
        }
        let released = &released[draw * self.elements..][..self.elements];
        let scale = 1.0 / shared.draws().stacking();
        gradients.iter_mut().zip(released).for_each(|(gradient, x)| *gradient = scale * x);
    }

    /// For each site, its part of one draw's noisy sum.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        self.places.iter().map(|place| place.frontier.clone())
    }
}
