//! Pairs of discrete laws: randomised response, guarantees without a mechanism, discrete normal noise.

use super::cells::Cells;
use super::subsampled::{amplification_error, amplified};
use crate::closed_form::Interval;
use crate::special::ROUNDOFF;

/// An outcome with its masses under P and Q and its loss log(p/q).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Atom {
    pub(crate) p: f64,
    pub(crate) q: f64,
    pub(crate) loss: f64,
}

/// A discrete pair that is its own reverse, in order of increasing loss.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Atoms {
    list: Vec<Atom>,
    /// The mass of outcomes that only P can produce, which is that of outcomes that only Q can.
    only: f64,
    /// The mass beyond the list, under either law.
    beyond: f64,
    /// Bounds on the relative error of masses and on the absolute error of losses.
    mass_error: f64,
    loss_error: f64,
    /// A number that all differences of losses are multiples of, if there is one.
    gap: Option<f64>,
}

impl Atoms {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Truth told with probability `truth` by one of two records' categories, and otherwise one of the other
    /// `categories - 1`: the categories of neither record have loss 0.
    pub(crate) fn response(categories: u64, truth: f64) -> Self {
        let others = (categories - 1) as f64;
        let lie = (1.0 - truth) / others;
        let loss = (truth / lie).ln().max(0.0);
        let mut list = vec![Atom { p: lie, q: truth, loss: -loss }];
        if categories > 2 {
            let rest = lie * (others - 1.0);
            list.push(Atom { p: rest, q: rest, loss: 0.0 });
        }
        list.push(Atom { p: truth, q: lie, loss });
        let loss_error = 8.0 * ROUNDOFF * (1.0 + loss);
        let gap = if categories > 2 { loss } else { 2.0 * loss };
        let gap = (gap > 1e-12).then_some(gap);
        Self { list, only: 0.0, beyond: 0.0, mass_error: 8.0 * ROUNDOFF, loss_error, gap }
    }

    /// The pair that every (epsilon, delta)-private mechanism is a processing of: delta of outcomes that only
    /// one of the laws can produce, and otherwise randomised response.
    ///
    /// # References
    /// Kairouz, Oh and Viswanath 2015, "The Composition Theorem for Differential Privacy", Theorem 8 (of its
    /// proof).
    pub(crate) fn guarantee(epsilon: f64, delta: f64) -> Self {
        // 1/(1 + e^-epsilon) and 1/(1 + e^epsilon), without overflow.
        let likely = (1.0 - delta) / (1.0 + (-epsilon).exp());
        let unlikely = likely * (-epsilon).exp();
        let list = vec![
            Atom { p: unlikely, q: likely, loss: -epsilon },
            Atom { p: likely, q: unlikely, loss: epsilon },
        ];
        let (mass_error, loss_error) = (8.0 * ROUNDOFF, 2.0 * ROUNDOFF * epsilon);
        let gap = (epsilon > 1e-12).then_some(2.0 * epsilon);
        Self { list, only: delta, beyond: 0.0, mass_error, loss_error, gap }
    }

    /// Discrete normal noise on the integers that hides a shift of `shift`, up to `truncation` times sigma
    /// from both centres. `None` if that would be more than `limit` integers.
    ///
    /// ```text
    /// p(x) = e^(-(x - s)²/2σ²)/Z,   q(x) = e^(-x²/2σ²)/Z,   loss(x) = s (2x - s)/2σ²
    /// ```
    pub(crate) fn discrete_normal(sigma: f64, shift: u64, truncation: f64, limit: usize) -> Option<Self> {
        let reach = (truncation * sigma).ceil().max(2.0);
        let shift = shift as f64;
        let size = 2.0 * reach + shift;
        if size.is_nan() || size > limit as f64 {
            return None;
        }
        let weight = |x: f64| (-0.5 * (x / sigma).powi(2)).exp();
        let count = reach as i64;
        let total: f64 = 1.0 + 2.0 * (1..=count).rev().map(|x| weight(x as f64)).sum::<f64>();
        // The tail of the sum is at most its first term times a geometric series of ratio e^(-reach/σ²).
        let ratio = (-(reach + 1.0) / (sigma * sigma)).exp();
        let left_out = 2.0 * weight(reach + 1.0) / (1.0 - ratio);
        let scale = shift / (sigma * sigma);
        let list = (-count..=count + shift as i64)
            .map(|x| {
                let x = x as f64;
                Atom { p: weight(x - shift) / total, q: weight(x) / total, loss: scale * (x - 0.5 * shift) }
            })
            .collect();
        let farthest = reach + shift;
        let exponent = 0.5 * (farthest / sigma).powi(2);
        Some(Self {
            list,
            only: 0.0,
            beyond: left_out / total * (1.0 + 1e-9),
            mass_error: ROUNDOFF * (16.0 + 8.0 * exponent + reach) + left_out / total,
            loss_error: 8.0 * ROUNDOFF * scale * farthest,
            gap: (scale > 1e-12).then_some(scale),
        })
    }

    /// The atoms of ((1-q) Q + q P, Q).
    pub(crate) fn sampled(&self, rate: f64) -> impl Iterator<Item = Atom> + '_ {
        self.list.iter().map(move |atom| Atom {
            p: (1.0 - rate) * atom.q + rate * atom.p,
            q: atom.q,
            loss: amplified(rate, atom.loss),
        })
    }

    /// The smallest and the largest finite loss after sampling.
    pub(crate) fn limits(&self, rate: f64) -> (f64, f64) {
        let mut losses = (f64::INFINITY, f64::NEG_INFINITY);
        for atom in self.sampled(rate) {
            losses = (losses.0.min(atom.loss), losses.1.max(atom.loss));
        }
        if self.only > 0.0 && rate < 1.0 {
            losses.0 = losses.0.min((-rate).ln_1p());
        }
        losses
    }

    /// A spacing for which all atoms lie on lattice points: after sampling only where there are two of them.
    pub(crate) fn gap(&self, rate: f64) -> Option<f64> {
        if rate == 1.0 {
            self.gap
        } else if self.list.len() == 2 {
            let (low, high) = self.limits(rate);
            self.gap.map(|_| high - low).filter(|gap| self.only == 0.0 && *gap > 1e-12)
        } else {
            None
        }
    }

    /// The gap between 0 and the atoms on either side of the mirrored pair, if there is one atom on each.
    pub(crate) fn mirrored_gap(&self, rate: f64) -> Option<f64> {
        let (_, high) = self.limits(rate);
        (self.list.len() <= 3).then_some(high).filter(|gap| *gap > 1e-12)
    }

    /// `δ(ε) = only + Σ p (1 − e^(ε − loss))₊` of a single pair without sampling, with its rounding; `None` for more
    /// atoms than those of a guarantee or an answer.
    pub(crate) fn delta(&self, epsilon: f64) -> Option<Interval> {
        if self.list.len() > 3 || self.beyond > 0.0 {
            return None;
        }
        let (mut value, mut error) = (self.only, 0.0);
        for atom in self.list.iter().filter(|atom| atom.loss + self.loss_error > epsilon) {
            value += atom.p * (-(epsilon - atom.loss).exp_m1()).max(0.0);
            // An error of a loss matters as much as the atom's mass under the other law.
            let steepness = (epsilon - atom.loss).min(0.0).exp() + self.loss_error;
            error += atom.p * (self.mass_error + 2.0 * self.loss_error * steepness + 8.0 * ROUNDOFF);
        }
        Some(Interval::around(value, error + 8.0 * ROUNDOFF * value))
    }

    /// The mass of outcomes that only the first law can produce, for removal and for the reverse.
    pub(crate) fn certain(&self, rate: f64, reversed: bool) -> f64 {
        match (reversed, rate == 1.0) {
            (false, _) => rate * self.only,
            (true, true) => self.only,
            (true, false) => 0.0,
        }
    }

    fn errors(&self, rate: f64, loss: f64) -> (f64, f64) {
        (self.mass_error + 4.0 * ROUNDOFF, self.loss_error + amplification_error(rate, loss))
    }

    /// Puts the pair ((1-q) Q + q P, Q) into an empty table.
    pub(crate) fn fill(&self, rate: f64, cells: &mut Cells) {
        for atom in self.sampled(rate) {
            let (mass_error, loss_error) = self.errors(rate, atom.loss);
            cells.add_atom(atom, mass_error, loss_error);
        }
        if self.only > 0.0 && rate < 1.0 {
            // What only Q could produce, Q and the sampled P can.
            let (loss, mass) = ((-rate).ln_1p(), (1.0 - rate) * self.only);
            let (mass_error, loss_error) = self.errors(rate, loss);
            cells.add_atom(Atom { p: mass, q: self.only, loss }, mass_error, loss_error);
        }
        cells.add_certain(self.certain(rate, false), self.certain(rate, true));
        cells.add_beyond(self.beyond);
    }

    /// Puts the mirrored pair into an empty table of origin 0.
    pub(crate) fn fill_mirrored(&self, rate: f64, cells: &mut Cells) {
        for (atom, _) in self.sampled(rate).zip(&self.list).filter(|(_, base)| base.loss > 0.0) {
            let (mass_error, loss_error) = self.errors(rate, atom.loss);
            let Atom { p, q, loss } = atom;
            cells.add_atom(atom, mass_error, loss_error);
            cells.add_atom(Atom { p: q, q: p, loss: -loss }, mass_error, loss_error);
        }
        let rest = self.rest(rate);
        cells.add_atom(Atom { p: rest, q: rest, loss: 0.0 }, self.mass_error + 8.0 * ROUNDOFF, 0.0);
        cells.add_certain(rate * self.only, rate * self.only);
        cells.add_beyond(self.beyond);
    }

    /// The mass of the mirrored pair at loss 0: one less the masses of P and of Q at positive losses.
    pub(crate) fn rest(&self, rate: f64) -> f64 {
        // P - Q over positive losses adds up to the total variation, which sampling multiplies by the rate.
        let variation: f64 =
            self.list.iter().filter(|a| a.loss > 0.0).map(|a| a.p * -(-a.loss).exp_m1()).sum();
        let equal: f64 = self.list.iter().filter(|a| a.loss == 0.0).map(|a| a.p).sum();
        (1.0 - rate) * (variation + self.only) + equal
    }
}
