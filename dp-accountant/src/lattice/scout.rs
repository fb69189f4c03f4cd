//! Rough moment generating functions, from which tilt, window and spacing are chosen.
//!
//! Nothing here is part of a proof: any tilt, window and spacing give true bounds, good ones give narrow
//! bounds.

use super::Part;
use crate::golden::minimise;

/// Rounds of a search, to about a hundredth in the argument.
const ROUNDS: u32 = 17;
/// The most outcomes of a sketch.
const MOST_NODES: usize = 10_000;

/// The loss of a composition, each step reduced to a few hundred outcomes.
pub(crate) struct Scout {
    steps: Vec<(Vec<(f64, f64)>, f64)>,
}

impl Scout {
    /// A sketch of one direction of a composition, with outcomes up to `truncation` standard deviations out.
    pub(crate) fn new(steps: &[Part], truncation: f64, reversed: bool) -> Self {
        let sketch = |step: &Part| (thinned(step.pair.sketch(truncation, reversed)), step.count);
        Self { steps: steps.iter().map(sketch).collect() }
    }

    /// log E exp(c · total loss).
    pub(crate) fn log_mgf(&self, c: f64) -> f64 {
        let one = |nodes: &[(f64, f64)]| {
            let top = nodes.iter().map(|(loss, weight)| c * loss + weight).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = nodes.iter().map(|(loss, weight)| (c * loss + weight - top).exp()).sum();
            top + sum.ln()
        };
        self.steps.iter().map(|(nodes, count)| count * one(nodes)).sum()
    }

    /// The tilt under which the mean of the total loss is near `epsilon`, and the bound on log delta it
    /// gives.
    pub(crate) fn tilt_at(&self, epsilon: f64) -> (f64, f64) {
        let (log_c, value) =
            minimise(|log_c| self.log_mgf(log_c.exp()) - log_c.exp() * epsilon, (-7.0, 25.0), ROUNDS);
        (log_c.exp(), value)
    }

    /// The same tilt, or the smallest that already shows log delta to be below `enough`.
    pub(crate) fn tilt_below(&self, epsilon: f64, enough: f64) -> f64 {
        let (best, value) = self.tilt_at(epsilon);
        if value.is_nan() || value >= enough {
            return best;
        }
        let (mut low, mut high) = (-7.0, best.ln());
        for _ in 0..12 {
            let middle = 0.5 * (low + high);
            let c = f64::exp(middle);
            if self.log_mgf(c) - c * epsilon < enough { high = middle } else { low = middle }
        }
        high.exp()
    }

    /// The tilt at which the moments bound epsilon best for a given delta, and that bound.
    pub(crate) fn tilt_for(&self, delta: f64) -> (f64, f64) {
        let bound = |c: f64| (self.log_mgf(c) - delta.ln() + c * (c / (c + 1.0)).ln() - c.ln_1p()) / c;
        let (log_c, value) = minimise(|log_c| bound(log_c.exp()), (-7.0, 25.0), ROUNDS);
        (log_c.exp(), value)
    }

    /// Where the tilted total loss lies but for a mass of about e^-`log_mass` on either side, and the
    /// exponents that show it.
    pub(crate) fn window(&self, c: f64, log_mass: f64) -> Window {
        let at_c = self.log_mgf(c);
        let (up, high) =
            minimise(|l| (self.log_mgf(c + l.exp()) - at_c + log_mass) / l.exp(), (-9.0, 25.0), ROUNDS);
        let (down, low) =
            minimise(|l| (self.log_mgf(c - l.exp()) - at_c + log_mass) / l.exp(), (-9.0, 25.0), ROUNDS);
        Window { low: -low, high, down: down.exp(), up: up.exp() }
    }
}

/// The sketch with neighbours merged, where there are very many: a record that occurs hundreds of times has a
/// bell for each number of copies, on both sides of 0.
fn thinned(mut nodes: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if nodes.len() <= MOST_NODES {
        return nodes;
    }
    nodes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let merged = |group: &[(f64, f64)]| {
        let top = group.iter().fold(f64::NEG_INFINITY, |top, node| top.max(node.1));
        if top == f64::NEG_INFINITY {
            return group[0];
        }
        let masses = || group.iter().map(|(loss, weight)| (loss, (weight - top).exp()));
        let mass: f64 = masses().map(|(_, mass)| mass).sum();
        let moment: f64 = masses().map(|(loss, mass)| loss * mass).sum();
        (moment / mass, top + mass.ln())
    };
    nodes.chunks(nodes.len().div_ceil(MOST_NODES)).map(merged).collect()
}

/// An interval of losses with the Chernoff exponents for its two ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) down: f64,
    pub(crate) up: f64,
}
