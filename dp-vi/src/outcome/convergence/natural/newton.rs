//! Steps by second derivatives, which find valleys that steps by slopes do not.

use super::chart::Chart;
use super::{ARRIVED, Search};
use crate::error::Result;
use nalgebra::{DMatrix, DVector};

/// Steps by second derivatives of a round, at most: one has found most valleys, and each takes a few evaluations of all
/// draws.
pub(super) const MOST_NEWTON: usize = 4;

/// How far such a step may still go for a round to have come to its end: a third of what a fit may be away.
pub(super) const NEAR: f64 = ARRIVED / 3.0;

/// Products with second derivatives of such a step, at most. Conjugate gradients find one direction in which the
/// bound is far flatter, or steeper, than [`Chart::uphill`] says with each of them.
const MOST_PRODUCTS: usize = 15;

/// Pairs of draws that are enough for such products: second derivatives are known to 2 % then. With 512 half of the
/// fits to a valley did not arrive that did with these.
pub(super) const ENOUGH_PAIRS: usize = 2048;

/// How far the difference that such a product is made of reaches, in the units of [`Chart::moves`]: half of the digits.
const DIFFERENCE: f64 = 1e-5;

/// What is left of the slope where conjugate gradients end, as a share of what it was: a direction in which the bound
/// is a thousand times flatter than it was taken for is still seen if the slope along it is a thirtieth of the slope
/// as a whole.
const SHARE_LEFT: f64 = 0.03;

/// A slope that is too small to matter in a direction a hundred times flatter than it was taken for: a root of what it
/// would gain.
const SLOPE_LEFT: f64 = 1e-4;

/// A step from second derivatives on the same draws.
pub(super) struct Newton {
    pub(super) way: DVector<f64>,
    /// Whether the bound curves upwards along it, or not at all.
    pub(super) is_down: bool,
}

impl Search<'_> {
    /// Newton's step by conjugate gradients, from second derivatives on these draws, which are differences of slopes;
    /// the chart learns what they are. With a direction along which the bound curves upwards, that direction. These
    /// may be some of the draws that the slope is from: a step that is not quite right is a step all the same.
    ///
    /// # References
    /// Steihaug 1983, "The conjugate gradient method and trust regions in large scale optimization".
    pub(super) fn newton(
        &mut self,
        chart: &mut Chart,
        draws: &DMatrix<f64>,
        slope: &DVector<f64>,
    ) -> Result<Newton> {
        let mut way = DVector::zeros(slope.len());
        let here = self.estimate(&chart.normal, draws)?.and_then(|found| chart.slope(&found, &chart.root));
        let Some(here) = here else { return Ok(Newton { way, is_down: false }) };
        let mut rest = slope.clone();
        let mut ahead = chart.uphill(&rest);
        let mut square = ahead.dot(&rest);
        let enough = (SHARE_LEFT * square.max(0.0).sqrt()).max(SLOPE_LEFT);
        let (mut along, mut learned, mut is_down) = (ahead.clone(), Vec::new(), false);
        for _ in 0..MOST_PRODUCTS {
            if square.is_nan() || square <= enough * enough {
                break;
            }
            let reach = DIFFERENCE / chart.moves(&along).amax();
            let Some((normal, root)) = chart.normal_at(&(&chart.x + &along * reach)) else { break };
            let Some(found) = self.estimate(&normal, draws)? else { break };
            let Some(there) = chart.slope(&found, &root) else { break };
            let product = (&here - there) / reach;
            let curvature = along.dot(&product);
            if curvature.is_nan() {
                break;
            }
            // The bound is flat to within rounding, or curves upwards.
            if curvature <= 1e-9 * along.norm() * product.norm() {
                is_down = true;
                way = &along / chart.moves(&along).amax();
                break;
            }
            let length = square / curvature;
            way.axpy(length, &along, 1.0);
            rest.axpy(-length, &product, 1.0);
            learned.push((&along * length, product * length));
            ahead = chart.uphill(&rest);
            let next = ahead.dot(&rest);
            along = &ahead + &along * (next / square);
            square = next;
        }
        // Last come those that the steps so far said least of.
        learned.into_iter().for_each(|(moved, change)| chart.learn(moved, change));
        Ok(Newton { way, is_down })
    }
}
