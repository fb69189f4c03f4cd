//! Steps with losses between two cuts.

use super::Rounded;
use super::grid::Outline;
use super::grid::{Cut, HARD_END_UNITS};
use super::strip::{Range, Strip};
use crate::special::{ROUNDOFF, upper_tail};

/// The density below the lower window's centre is followed until it is this much smaller than at its largest.
const NEGLIGIBLE: f64 = 1e-20;

/// A step whose losses lie between two cuts.
#[derive(Debug)]
pub(super) struct Band<'a> {
    pub(super) outline: &'a Outline,
    pub(super) lower: Cut,
    pub(super) upper: Cut,
    /// The first and the last grid point; the first is only a border.
    range: Range,
    /// `(ω - ω̃) g` times the spacing, from the first point on.
    weights: Vec<f64>,
}

/// What is known of a band under a tilt.
#[derive(Debug)]
pub(super) struct Tilted {
    /// An upper bound on `E[…e^(G + cL)]`, good to a part in a million where it is not negligible.
    pub(super) most: f64,
    pub(super) strip: Strip,
    /// A bound on what lies below the first cell.
    pub(super) left_over: f64,
}

/// The weight between two cuts, from the side on which it is a difference of small numbers.
pub(super) fn between(lower: &Cut, upper: &Cut, u: f64) -> f64 {
    let weight = if 2.0 * u < lower.centre + upper.centre {
        lower.large(u) - upper.large(u)
    } else {
        upper.small(u) - lower.small(u)
    };
    weight.max(0.0)
}

/// A bound on its relative error, in units of roundoff. The centres are at least five widths apart, so that
/// the smaller tail is less than a tenth of the larger one.
pub(super) fn between_units(lower: &Cut, upper: &Cut, u: f64) -> f64 {
    let units =
        if 2.0 * u < lower.centre + upper.centre { lower.units(u, true) } else { upper.units(u, false) };
    1.5 * units + HARD_END_UNITS + 4.0
}

impl<'a> Band<'a> {
    pub(super) fn new(outline: &'a Outline, lower: Cut, upper: Cut) -> Self {
        // The density may fall so fast that what the lower window lets pass lies mostly below its centre.
        let points = &outline.points;
        let weight = |k: usize| lower.large(points[k].u) * points[k].density;
        let mut first = outline.index_below(lower.centre).min(upper.last.saturating_sub(2));
        let mut most = weight(first);
        while first > 0 && weight(first) > NEGLIGIBLE * most {
            first -= 1;
            most = most.max(weight(first));
        }
        let range = (first, upper.last);
        let points = &outline.points[range.0..=range.1];
        let weight = |u: f64| between(&lower, &upper, u) * outline.spacing;
        let mut weights: Vec<f64> = points.iter().map(|p| weight(p.u) * p.density).collect();
        weights[0] = 0.0;
        Self { outline, lower, upper, range, weights }
    }

    /// The band without the points before another first one.
    #[cfg(test)]
    pub(super) fn beginning_at(&self, first: usize) -> Self {
        let mut weights = self.weights[first - self.range.0..].to_vec();
        weights[0] = 0.0;
        Self { weights, range: (first, self.range.1), ..*self }
    }

    /// `E[…e^(G + cL)]` from every few points, for planning.
    pub(super) fn rough(&self, tilt: f64, stride: usize) -> f64 {
        let points = self.outline.points[self.range.0..].iter();
        let sum: f64 =
            points.zip(&self.weights).step_by(stride).map(|(p, w)| w * (p.gain + tilt * p.loss).exp()).sum();
        sum * stride as f64
    }

    pub(super) fn tilted(&self, tilt: f64) -> Tilted {
        let outline = self.outline;
        let strip = Strip::new(outline, Some(&self.lower), &self.upper, tilt, self.range);
        // Below the second point u_1 the logarithm of ω g has a slope of at least (m - u_1)/w² - (u_1 +
        // v/2)/v, since that of Φ(-x) is at most -x; e^(G + cL) times what the strip adds to it is at most
        // e^((c+1) (λ + 1.39 q)) there.
        let second = &outline.points[self.range.0 + 1];
        let slope = (self.lower.centre - second.u) / (self.lower.width * self.lower.width)
            - (second.u + 0.5 * outline.v) / outline.v;
        let (weight, growth) = (
            self.lower.large(second.u) * second.density,
            ((tilt + 1.0) * (second.gain.max(0.0) + 1.39 * outline.rate)).exp(),
        );
        let all = upper_tail(-(second.u + 0.5 * outline.v) / outline.tau) * self.lower.large(second.u);
        let left_over = growth * (if slope > 0.0 { weight / slope } else { all }).min(all) * (1.0 + 1e-6);
        let sum = self.rough(tilt, 1);
        let quadrature = strip.quadrature_error(outline.spacing, 0.0, strip.all(), false);
        let most = sum * (1.0 + 1e-9) + quadrature + left_over;
        Tilted { most, strip, left_over }
    }

    /// What the band's weights are at an outcome, and a bound on their relative error.
    pub(super) fn weight(&self, u: f64) -> Rounded {
        let value = between(&self.lower, &self.upper, u);
        Rounded { value, error: ROUNDOFF * between_units(&self.lower, &self.upper, u) }
    }
}
