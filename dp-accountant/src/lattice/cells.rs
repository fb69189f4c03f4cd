//! How much mass the two laws of a step put between consecutive values of the privacy loss.
//!
//! The outcomes of a [`Line`] are numbers whose loss increases, so an interval of losses is an interval of
//! outcomes. The line knows its masses to a relative error that is stated with the table, and the inverse of
//! its loss well enough: how far the loss at a computed boundary is from where it should be is measured and
//! stated too.
//!
//! Single outcomes with mass (atoms) are added to the half-cell that contains their loss.

use super::atoms::Atom;
use crate::special::ROUNDOFF;

/// Masses below this are not trusted to a relative error, because their factors may be subnormal.
const NEGLIGIBLE: f64 = 1e-290;

/// Positions of a lattice's origin are multiples of the spacing over this number, so that every boundary, an
/// integer below 2^45 times a number of eight significant bits, is exact.
const FRACTIONS: i64 = 1 << 20;

/// Masses of P and Q on half-cells `[l_k, l_(k+1))` of the loss with `l_k = origin + k h/2`, k = first,
/// first + 1, …
///
/// `first` and the number of half-cells are even. The Q masses are stored multiplied by `e^(l_k)`, the
/// likelihood ratio at the left end: this number is at most the P mass, at least the P mass times `e^(-h/2)`,
/// and cannot overflow or lose its digits.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) spacing: f64,
    /// The origin in units of `spacing / FRACTIONS`.
    origin: i64,
    pub(crate) first: i64,
    pub(crate) p: Vec<f64>,
    pub(crate) q_scaled: Vec<f64>,
    /// P mass of losses above the last half-cell.
    pub(crate) p_above: f64,
    /// P mass of losses below the first half-cell.
    pub(crate) p_below: f64,
    /// Q masses of the same two regions.
    q_above: f64,
    q_below: f64,
    /// Masses of outcomes that only P, or only Q, can produce: exact, and no part of the table.
    pub(crate) p_only: f64,
    q_only: f64,
    /// P mass of half-cells that were too light to be kept, for P and Q.
    pub(crate) p_lost: f64,
    q_lost: f64,
    /// Bound on the absolute log-ratio of true to computed masses, for P and for Q.
    pub(crate) mass_error: f64,
    /// Bound on how far the loss of an outcome may lie outside its half-cell.
    pub(crate) loss_error: f64,
    /// Whether the reversed pair has the same loss distribution (the mirror image of outcomes, at rate 1).
    symmetric: bool,
}

/// The loss at the left end of half-cell `k`.
fn boundary(origin: i64, k: i64, spacing: f64) -> f64 {
    (origin + k * (FRACTIONS / 2)) as f64 * (spacing / FRACTIONS as f64)
}

/// The lattice position nearest to a loss from below, as an origin: with it that loss is a lattice point, or
/// less than a millionth of a cell above one.
pub(crate) fn origin_at(loss: f64, spacing: f64) -> i64 {
    let cells = loss / spacing;
    ((cells - cells.floor()) * FRACTIONS as f64) as i64
}

/// The masses of P and Q on an interval of outcomes, Q's multiplied by e^reference, with a bound on their
/// relative error.
pub(crate) struct Mass {
    pub(crate) p: f64,
    pub(crate) q_scaled: f64,
    pub(crate) error: f64,
}

/// An outcome between two half-cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boundary {
    pub(crate) outcome: f64,
    /// What [`Line::loss`] says of the outcome.
    pub(crate) loss: f64,
    /// The derivative of the loss there, and how much the outcome should move on for each unit of loss; no
    /// numbers for lines that do not need them.
    pub(crate) slope: f64,
    pub(crate) pace: f64,
}

/// A pair of laws on the real line, without atoms, whose loss increases with the outcome.
pub(crate) trait Line {
    /// The privacy loss of an outcome.
    fn loss(&self, x: f64) -> f64;
    /// A bound on the rounding error of [`Self::loss`] near a loss.
    fn loss_evaluation_error(&self, loss: f64) -> f64;
    /// An outcome that has about the given loss; the lowest or highest outcome where there is none.
    fn outcome(&self, loss: f64) -> f64;
    /// The same with its loss. `last` is the boundary before, half a cell below.
    fn boundary(&self, wanted: f64, last: Option<&Boundary>) -> Boundary {
        let _ = last;
        let outcome = self.outcome(wanted);
        Boundary { outcome, loss: self.loss(outcome), slope: f64::NAN, pace: f64::NAN }
    }
    /// The infimum and the supremum of the losses of all outcomes.
    fn limits(&self) -> (f64, f64);
    /// The masses between two outcomes, Q's multiplied by `e^reference`, where reference is the loss of the
    /// left one.
    fn mass(&self, left: f64, right: f64, reference: f64) -> Mass;
    /// The masses of P and Q below an outcome.
    fn below(&self, x: f64) -> (f64, f64);
    /// The masses of P and Q above an outcome.
    fn above(&self, x: f64) -> (f64, f64);
    /// Whether (Q, P) has the loss distribution of (P, Q).
    fn is_symmetric(&self) -> bool;
}

/// Where a table lies and how large it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) spacing: f64,
    pub(crate) origin: i64,
    /// The losses to be covered.
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    /// The most half-cells.
    pub(crate) limit: usize,
}

impl Cells {
    /// A table without mass. `None` if it would need too many half-cells.
    pub(crate) fn empty(frame: Frame) -> Option<Self> {
        let Frame { spacing, origin, lowest, highest, limit } = frame;
        let shift = boundary(origin, 0, spacing);
        let (first, last) =
            (((lowest - shift) / spacing).floor() * 2.0, ((highest - shift) / spacing).ceil() * 2.0);
        if !(last - first <= limit as f64 && first.abs() < 1e7 && last.abs() < 1e7) {
            return None;
        }
        let (first, count) = (first as i64, (last - first) as usize);
        Some(Self {
            spacing,
            origin,
            first,
            p: vec![0.0; count],
            q_scaled: vec![0.0; count],
            p_above: 0.0,
            p_below: 0.0,
            q_above: 0.0,
            q_below: 0.0,
            p_only: 0.0,
            q_only: 0.0,
            p_lost: 0.0,
            q_lost: 0.0,
            mass_error: 0.0,
            loss_error: 0.0,
            symmetric: false,
        })
    }

    /// The table of a line. `None` if it would need too many half-cells, or if its parameters are beyond all
    /// reason and leave the range of f64.
    pub(crate) fn of_line(line: &impl Line, frame: Frame) -> Option<Self> {
        let mut cells = Self::empty(frame)?;
        cells.symmetric = line.is_symmetric();
        let mut left_loss = cells.left_end(0);
        let mut boundary = line.boundary(left_loss, None);
        cells.note_boundary(line, &boundary, left_loss);
        (cells.p_below, cells.q_below) = line.below(boundary.outcome);
        for k in 0..cells.p.len() {
            let left = boundary.outcome;
            let right_loss = cells.left_end(k + 1);
            boundary = line.boundary(right_loss, Some(&boundary));
            cells.note_boundary(line, &boundary, right_loss);
            let right = boundary.outcome;
            if right > left {
                let mass = line.mass(left, right, left_loss);
                if mass.p >= NEGLIGIBLE && mass.q_scaled >= NEGLIGIBLE {
                    cells.mass_error = cells.mass_error.max(mass.error);
                    (cells.p[k], cells.q_scaled[k]) = (mass.p, mass.q_scaled);
                } else {
                    cells.p_lost += mass.p.abs() + f64::MIN_POSITIVE;
                    // A symmetric table is not reversed, and this number is not needed.
                    if !cells.symmetric {
                        cells.q_lost += mass.q_scaled * (-left_loss).exp() + f64::MIN_POSITIVE;
                    }
                }
            }
            left_loss = right_loss;
        }
        (cells.p_above, cells.q_above) = line.above(boundary.outcome);
        cells.checked()
    }

    /// The table, if all that is said of it is finite.
    pub(crate) fn checked(self) -> Option<Self> {
        let rest = [self.p_above, self.p_below, self.p_lost, self.q_lost, self.mass_error, self.loss_error];
        let all = rest.iter().chain(&self.p).chain(&self.q_scaled);
        all.sum::<f64>().is_finite().then_some(self)
    }

    /// The loss at the left end of the half-cell with the given place in the table.
    fn left_end(&self, place: usize) -> f64 {
        boundary(self.origin, self.first + place as i64, self.spacing)
    }

    /// Records how far the loss at a computed boundary is from where it should be.
    fn note_boundary(&mut self, line: &impl Line, boundary: &Boundary, wanted: f64) {
        let (infimum, supremum) = line.limits();
        let off = if wanted <= infimum && boundary.loss <= infimum
            || wanted >= supremum && boundary.loss >= supremum
        {
            // No outcome lies beyond.
            0.0
        } else if boundary.outcome == f64::NEG_INFINITY {
            (wanted - infimum).max(0.0)
        } else {
            (boundary.loss - wanted).abs()
        };
        let error = off + line.loss_evaluation_error(wanted);
        // A boundary that is NaN would lose the masses beside it: such a table is refused as one of infinite
        // error is.
        self.loss_error = self.loss_error.max(if error.is_nan() { f64::INFINITY } else { error });
    }

    /// Adds an outcome with its masses and its loss log(p/q), p and the loss known to the given errors.
    ///
    /// A loss that is a hair below a boundary is taken for the boundary: how far it may lie outside its
    /// half-cell is a loss error, and harmless, while the lower end would lower it by a whole cell.
    pub(crate) fn add_atom(&mut self, atom: Atom, mass_error: f64, loss_error: f64) {
        let Atom { p, q, loss } = atom;
        let place = ((loss - self.left_end(0)) / (0.5 * self.spacing) + 1e-9).floor();
        if p.is_nan() || p < NEGLIGIBLE || !(0.0..self.p.len() as f64).contains(&place) {
            self.p_lost += p + f64::MIN_POSITIVE;
            self.q_lost += q + f64::MIN_POSITIVE;
            return;
        }
        let place = place as usize;
        let (left, right) = (self.left_end(place), self.left_end(place + 1));
        self.p[place] += p;
        self.q_scaled[place] += p * (left - loss).exp();
        let off = (left - loss).max(loss - right).max(0.0);
        let rounding = 4.0 * ROUNDOFF * (1.0 + loss.abs());
        self.loss_error = self.loss_error.max(off + loss_error + rounding);
        // A sum in a half-cell adds a rounding for each of its atoms, and this bound one for all atoms.
        self.mass_error = self.mass_error.max(mass_error) + ROUNDOFF;
    }

    /// Says that the pair is its own reverse.
    pub(crate) fn mark_symmetric(&mut self) {
        self.symmetric = true;
    }

    /// Adds masses of outcomes that only P, or only Q, can produce.
    pub(crate) fn add_certain(&mut self, p_only: f64, q_only: f64) {
        self.p_only += p_only;
        self.q_only += q_only;
    }

    /// Adds to the relative error of all masses.
    pub(crate) fn add_mass_error(&mut self, error: f64) {
        self.mass_error += error;
    }

    /// Adds mass that lies anywhere, under either law: for the upper end at infinity.
    pub(crate) fn add_beyond(&mut self, mass: f64) {
        self.p_lost += mass;
        self.q_lost += mass;
    }

    /// The symmetric table with this one's losses above 0, their mirror images below, and `rest` at 0.
    ///
    /// The origin has to be 0. A loss l > 0 with masses (p, q) has the mirror image -l with masses (q, p).
    pub(crate) fn mirrored(&self, rest: f64) -> Option<Self> {
        if self.origin != 0 {
            return None;
        }
        let half = 0.5 * self.spacing;
        let start = (-self.first).clamp(0, self.p.len() as i64) as usize;
        let above = (self.p.len() - start).max(2);
        let mut cells = Self {
            first: -(above as i64),
            p: vec![0.0; 2 * above],
            q_scaled: vec![0.0; 2 * above],
            p_below: self.q_above,
            q_below: self.p_above,
            // What was too light on either side may lie on both.
            p_lost: self.p_lost + self.q_lost,
            q_lost: self.p_lost + self.q_lost,
            q_only: self.p_only,
            symmetric: true,
            ..*self.without_masses()
        };
        for (k, (&p, &q_scaled)) in self.p[start..].iter().zip(&self.q_scaled[start..]).enumerate() {
            let left = boundary(0, k as i64, self.spacing);
            (cells.p[above + k], cells.q_scaled[above + k]) = (p, q_scaled);
            let (mass, scaled) = (q_scaled * (-left).exp(), p * (-left - half).exp());
            if mass >= NEGLIGIBLE && scaled >= NEGLIGIBLE {
                (cells.p[above - 1 - k], cells.q_scaled[above - 1 - k]) = (mass, scaled);
            } else {
                cells.p_lost += mass + f64::MIN_POSITIVE;
            }
        }
        cells.p[above] += rest;
        cells.q_scaled[above] += rest;
        let last = (above + 2) as f64 * half;
        cells.mass_error += 4.0 * ROUNDOFF * (2.0 + last);
        cells.checked()
    }

    /// All but the masses.
    fn without_masses(&self) -> Box<Self> {
        Box::new(Self { p: Vec::new(), q_scaled: Vec::new(), ..*self })
    }

    /// Adds `weight` times another table of the same lattice: the pair that also shows which of the two was
    /// used.
    pub(crate) fn add_weighted(&mut self, weight: f64, other: &Self) -> Option<()> {
        if self.origin != other.origin || self.spacing != other.spacing {
            return None;
        }
        let last = (self.first + self.p.len() as i64).max(other.first + other.p.len() as i64);
        let first = self.first.min(other.first);
        if first != self.first || last != self.first + self.p.len() as i64 {
            let before = (self.first - first) as usize;
            for masses in [&mut self.p, &mut self.q_scaled] {
                let mut wider = vec![0.0; (last - first) as usize];
                wider[before..before + masses.len()].copy_from_slice(masses);
                *masses = wider;
            }
            self.first = first;
        }
        let offset = (other.first - self.first) as usize;
        for (k, (&p, &q_scaled)) in other.p.iter().zip(&other.q_scaled).enumerate() {
            let (p, q_scaled) = (weight * p, weight * q_scaled);
            if p >= NEGLIGIBLE && q_scaled >= NEGLIGIBLE {
                self.p[offset + k] += p;
                self.q_scaled[offset + k] += q_scaled;
            } else if p > 0.0 || q_scaled > 0.0 {
                let left = other.left_end(k);
                self.p_lost += p + f64::MIN_POSITIVE;
                self.q_lost += q_scaled * (-left).exp() + f64::MIN_POSITIVE;
            }
        }
        self.p_above += weight * other.p_above;
        self.p_below += weight * other.p_below;
        self.q_above += weight * other.q_above;
        self.q_below += weight * other.q_below;
        self.p_only += weight * other.p_only;
        self.q_only += weight * other.q_only;
        self.p_lost += weight * other.p_lost;
        self.q_lost += weight * other.q_lost;
        self.mass_error = self.mass_error.max(other.mass_error + 2.0 * ROUNDOFF) + ROUNDOFF;
        self.loss_error = self.loss_error.max(other.loss_error);
        self.symmetric &= other.symmetric;
        Some(())
    }

    /// The loss at lattice index 0.
    pub(crate) fn shift(&self) -> f64 {
        boundary(self.origin, 0, self.spacing)
    }

    /// The table of the reversed pair (Q, P), whose losses have the opposite sign.
    pub(crate) fn reversed(&self) -> Self {
        if self.symmetric {
            return self.clone();
        }
        let half = 0.5 * self.spacing;
        let count = self.p.len();
        let (mut p, mut q_scaled) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut p_lost, mut q_lost) = (self.q_lost, self.p_lost);
        for k in (0..count).rev() {
            let left = boundary(self.origin, self.first + k as i64, self.spacing);
            let (mass, scaled) = (self.q_scaled[k] * (-left).exp(), self.p[k] * (-left - half).exp());
            if mass < NEGLIGIBLE || scaled < NEGLIGIBLE {
                p_lost += mass + f64::MIN_POSITIVE;
                q_lost += self.p[k];
                p.push(0.0);
                q_scaled.push(0.0);
            } else {
                p.push(mass);
                q_scaled.push(scaled);
            }
        }
        let last = (self.first.abs().max((self.first + count as i64).abs()) + 2) as f64 * half;
        Self {
            spacing: self.spacing,
            origin: -self.origin,
            first: -(self.first + count as i64),
            p,
            q_scaled,
            p_above: self.q_below,
            p_below: self.q_above,
            q_above: self.p_below,
            q_below: self.p_above,
            p_only: self.q_only,
            q_only: self.p_only,
            p_lost,
            q_lost,
            mass_error: self.mass_error + 4.0 * ROUNDOFF * (1.0 + last),
            loss_error: self.loss_error,
            symmetric: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::Pair;
    use super::super::subsampled::Subsampled;
    use super::*;

    fn table() -> Cells {
        let pair = Pair::Subsampled(Subsampled { sigma: 1.0, rate: 0.3 });
        pair.cells(0.01, 12.0, 1 << 20, false).expect("within the limit")
    }

    /// An outcome that the table has no cell for counts as lost, under both laws.
    #[test]
    fn outcomes_outside_of_a_table_are_lost_and_not_dropped() {
        for loss in [1e6, -1e6] {
            let mut cells = table();
            let before = (cells.p_lost, cells.q_lost);
            cells.add_atom(Atom { p: 0.125, q: 0.0625, loss }, 0.0, 0.0);
            assert!(cells.p_lost >= before.0 + 0.125 && cells.q_lost >= before.1 + 0.0625, "{loss}");
        }
    }

    /// What was lost of either law may belong to both of a mirrored pair.
    #[test]
    fn what_was_lost_in_one_direction_is_lost_in_both() {
        let mut cells = table();
        (cells.origin, cells.p_lost, cells.q_lost) = (0, 0.125, 0.0625);
        let mirrored = cells.mirrored(0.7).expect("a table that begins at no shift");
        assert!(mirrored.p_lost >= 0.1875 && mirrored.q_lost >= 0.1875);
    }
}
