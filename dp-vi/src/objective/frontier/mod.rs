//! Where records meet shared values: what a step feeds into the records' program, and what it makes of the
//! sum that comes back.

pub(crate) mod latent;
pub(crate) mod parameters;

use super::shared::{Drawn, Shared};
use latent::Latent;
use parameters::Parameters;
use ppl_core::RecordGradient;
use std::ops::Range;

/// With respect to what the records' gradients are taken.
pub(crate) enum Frontier {
    /// The latent values.
    Latent(Latent),
    /// The guide's parameters.
    Parameters(Parameters),
}

/// The gradient of the bound: how the draws of a step reach the records' program, and what is made of a
/// released sum.
pub(crate) struct Estimator {
    pub(crate) shared: Shared,
    pub(crate) frontier: Frontier,
}

impl Frontier {
    /// Hands the values of a step to the records' program.
    fn feed(&self, shared: &Shared, parameters: &[f64], noise: &[f64], program: &mut RecordGradient<f64>) {
        match self {
            Self::Latent(latent) => latent.feed(&shared.drawn, program),
            Self::Parameters(own) => own.feed(parameters, noise, program),
        }
    }

    /// The gradient of the bound with respect to the guide's parameters, given what was released. `noise` is
    /// that of the draws.
    fn pull_back(&self, shared: &mut Shared, noise: &[f64], released: &[f64], out: &mut [f64]) {
        match self {
            Self::Latent(latent) => latent.pull_back(shared, noise, released, out),
            Self::Parameters(own) => own.pull_back(shared, noise, released, out),
        }
    }
}

impl Estimator {
    /// Draws the sites' values and hands them to the records' program.
    pub(crate) fn draw(&mut self, parameters: &[f64], noise: &[f64], program: &mut RecordGradient<f64>) {
        self.shared.draw(parameters, noise);
        self.frontier.feed(&self.shared, parameters, noise, program);
    }

    /// Hands the records' program a pair of points instead of draws: `centre ± away`, where `centre` has all
    /// unconstrained values and `away` the frontier's. Nothing where the frontier is not at the latent
    /// values.
    pub(crate) fn place(&mut self, centre: &[f64], away: &[f64], program: &mut RecordGradient<f64>) {
        let Self { shared, frontier: Frontier::Latent(latent) } = self else { return };
        for (number, sign) in [1.0, -1.0].into_iter().enumerate().take(shared.draws().number()) {
            let values = shared.drawn.of_mut(number);
            values.copy_from_slice(centre);
            for place in &latent.places {
                let Some(frontier) = &place.frontier else { continue };
                let values = values[place.range.clone()].iter_mut().zip(&away[frontier.clone()]);
                values.for_each(|(value, away)| *value += sign * away);
            }
        }
        latent.feed(&shared.drawn, program);
    }

    /// Hands the records' program unconstrained values of all sites, one draw after the other, instead of draws.
    pub(crate) fn feed(&self, values: &[f64], program: &mut RecordGradient<f64>) {
        let drawn = Drawn { draws: self.shared.draws(), values: values.to_vec() };
        self.latent().into_iter().for_each(|latent| latent.feed(&drawn, program));
    }

    /// The gradient of the bound with respect to the guide's parameters, given what was released at the draws
    /// that were made last.
    pub(crate) fn pull_back(&mut self, noise: &[f64], released: &[f64], out: &mut [f64]) {
        self.frontier.pull_back(&mut self.shared, noise, released, out);
    }

    /// The frontier, where it is at the latent values.
    pub(crate) fn latent(&self) -> Option<&Latent> {
        match &self.frontier {
            Frontier::Latent(latent) => Some(latent),
            Frontier::Parameters(_) => None,
        }
    }

    /// Elements of one draw's sum at the latent values; none where gradients are with respect to parameters.
    pub(crate) fn latent_elements(&self) -> usize {
        self.latent().map_or(0, |latent| latent.elements)
    }

    /// For each site, its part of one draw's sum.
    pub(crate) fn ranges(&self) -> Vec<Option<Range<usize>>> {
        self.latent().map_or_else(|| vec![None; self.shared.sites.len()], |latent| latent.ranges().collect())
    }
}
