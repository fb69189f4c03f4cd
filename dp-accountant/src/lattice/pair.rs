//! The pairs of laws that a step can be, and what the engine asks of each.
//!
//! # Shifts
//! The pairs below shift normal, Laplace or discrete normal noise by the whole sensitivity in one coordinate.
//! Densities of all three are log-concave, so that the best tests between a law and its shift are half-lines,
//! and every half-line's advantage grows with the shift: a smaller one is not worse. Normal noise is the same
//! in all directions. For Laplace noise and a shift by a vector v, coordinate after coordinate: the test
//! power between the ends of the walk is at most that of the walk's steps applied to each other, and for
//! half-lines of one law F, F(F⁻¹(1 - x) - a) followed by the same with b is that with a + b. So a vector is
//! no worse than its 1-norm in one coordinate.
//!
//! # Subsampling
//! Let (P, Q) dominate what replacing (or adding) a record does to a mechanism, in either order. If the
//! record takes part with probability q, independently of what it is compared with, joint convexity of the
//! hockey-stick divergence H gives
//!
//! ```text
//! H_α((1-q) Q' + q P', Q') = q H_(1 + (α-1)/q)(P', Q') <= q H_(1 + (α-1)/q)(P, Q) = H_α((1-q) Q + q P, Q)   (α > 1-q)
//! ```
//!
//! and 1 - α on both sides otherwise; H_α(A, B) = 1 - α + α H_(1/α)(B, A) gives the reverse.
//!
//! *Poisson, add/remove.* Q' is the mechanism on a batch without the record, P' on that batch and the record:
//! the pair is the mechanism's own under add/remove. *Without replacement, add/remove.* Given the batch S ∪
//! {y} of the data set without the record x, the other data set's batch is S ∪ {x} with probability q = m/N
//! and the same otherwise (S and y are uniform): the pair is the mechanism's under replace-one, of shift 2.
//! All other records at -C and x at C attain it. N is the larger of the two sizes; the smaller one in its
//! place gives a larger q, an upper bound.
//!
//! *Without replacement, replace-one.* With A the mechanism's mixture over batches without the record and P',
//! Q' with either, advanced joint convexity bounds H_α((1-q) A + q P', (1-q) A + q Q') for α >= 1 by q H_α'
//! with α' = 1 + (α-1)/q and a pair (P', a mixture of A and Q'), so by H_α((1-q) Q + q P, Q); for α < 1 by
//! the mirror. As a loss distribution: the sampled pair where its loss is positive, the mirror image below,
//! and the rest at 0 ([`Pair::Mirrored`]). The sampled pair itself is attained by A = Q'.
//!
//! # Copies of a record
//! With replacement a record fills each of m slots with probability 1/N. Add/remove: the slots of the other
//! data set's batch hold y_1, …, y_m; x takes those in I. Then P is a mixture over I of normal laws at v_I =
//! Σ_I (x - y_i), and Q is the one at 0, |v_I| <= 2|I|. Kahane's inequality shows that collinear v_I are
//! worst: the likelihood ratios at v_I are exponentials of normal variables with covariances ⟨v_I, v_J⟩ <= 4
//! |I| |J| (in units of σ), so that every convex function of their mixture has at most the expectation of the
//! collinear case. H is such a function in either direction. Attained by all others at -C, x at C
//! ([`Pair::Copies`]). The inequality also shows that fewer copies are not worse.
//!
//! *With replacement, replace-one.* Given at least one copy, of probability γ = 1 - (1 - 1/N)^m, advanced
//! joint convexity as above leaves pairs with k copies of x against the same number of others: shifts by at
//! most 2k, of which k is shown to the adversary ([`Pair::Tagged`]). The mixture of [`Pair::Copies`] is
//! attained.
//!
//! # References
//! Dong, Roth and Su 2022, "Gaussian Differential Privacy" (test power along a walk); Balle, Barthe and
//! Gaboardi 2018, "Privacy Amplification by Subsampling" (advanced joint convexity, Theorems 9 and 10); Zhu,
//! Dong and Wang 2022, "Optimal Accounting of Differential Privacy via Characteristic Function" (dominating
//! pairs under sampling); Kahane 1986, "Une inégalité du type de Slepian et Gordon sur les processus
//! gaussiens"; Choquette-Choo, Ganesh, Steinke and Thakurta 2024, "Privacy Amplification for Matrix
//! Mechanisms" (mixtures of normal laws).

use std::sync::Arc;

use super::atoms::{Atom, Atoms};
use super::cells::{Cells, Frame, Line, origin_at};
use super::lines::{Copies, Laplace, Replaced};
use super::subsampled::{Subsampled, amplified};
use crate::special::{ROUNDOFF, density, upper_tail};

/// How many outcomes represent a law in a sketch.
const NODES: usize = 240;

/// A pair of outcome laws, the direction of removal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Pair {
    /// Normal noise, the record taking part with some probability.
    Subsampled(Subsampled),
    /// Normal noise and Poisson sampling, the record replaced by its opposite.
    Replaced(Replaced),
    /// Normal noise, the record occurring a random number of times.
    Copies(Arc<Copies>),
    /// Laplace noise.
    Laplace(Laplace),
    /// A discrete pair, sampled at a rate.
    Atoms(Arc<Atoms>, f64),
    /// The positive losses of a pair and their mirror image.
    Mirrored(Box<Pair>),
    /// A mirrored pair whose record occurs k times, k being shown.
    Tagged(Arc<Tagged>),
}

/// Normal noise of standard deviation `sigma`, a record that is replaced in k places at once with a weight
/// w_k given that it is in any, which has probability `rate`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tagged {
    /// In units of the shift by one copy.
    pub(crate) sigma: f64,
    pub(crate) rate: f64,
    /// w_1, w_2, …
    pub(crate) weights: Vec<f64>,
    /// What the weights lack of 1.
    pub(crate) beyond: f64,
    /// A bound on the relative error of the weights and the rate.
    pub(crate) error: f64,
}

impl Tagged {
    /// How many numbers of copies have pairs of their own: beyond them all together are no more likely than what a
    /// truncation leaves out of one law, give or take, and still their tables would be the longest.
    fn told_apart(&self, truncation: f64) -> usize {
        let tail = upper_tail(truncation);
        let last = self.weights.iter().rposition(|weight| weight * self.rate > tail);
        last.map_or(1, |last| last + 1)
    }

    /// The weighted pairs, each with a truncation that leaves the same mass.
    fn parts(&self, truncation: f64) -> impl Iterator<Item = (f64, Pair, f64)> + '_ {
        let log_tail = -0.5 * truncation * truncation;
        let reach = move |weight: f64| (-2.0 * (log_tail - weight.ln())).max(0.0).sqrt();
        self.weights.iter().take(self.told_apart(truncation)).enumerate().map(move |(k, &weight)| {
            let part = Subsampled { sigma: self.sigma / (k + 1) as f64, rate: self.rate };
            // Beyond an outcome lies mass of the law with the record, which is rare, and of that without it, whose
            // centre is farther away.
            let truncation = reach(weight * self.rate).max(reach(weight) - 1.0 / part.sigma).clamp(2.0, 36.0);
            (weight, Pair::Mirrored(Box::new(Pair::Subsampled(part))), truncation)
        })
    }
}

impl Pair {
    /// How many outcomes are listed.
    pub(crate) fn atoms(&self) -> usize {
        match self {
            Self::Atoms(atoms, _) => atoms.len(),
            Self::Mirrored(pair) => pair.atoms(),
            _ => 0,
        }
    }

    /// The table of the pair, or of its reverse, on a lattice that suits it. `None` if it would need more
    /// than `limit` half-cells.
    pub(crate) fn cells(&self, spacing: f64, truncation: f64, limit: usize, reversed: bool) -> Option<Cells> {
        let (lowest, highest) = self.loss_range(truncation);
        let frame = |origin| Frame { spacing, origin, lowest, highest, limit };
        // An atom that nothing lies above should be a lattice point: the lower end has nothing to balance it
        // with.
        let top = if reversed { lowest } else { highest };
        let forwards = match self {
            Pair::Subsampled(line) => Cells::of_line(line, frame(line.origin(spacing)))?,
            Pair::Replaced(line) => Cells::of_line(line, frame(0))?,
            Pair::Copies(line) => Cells::of_line(line.as_ref(), frame(line.origin(spacing)))?,
            Pair::Laplace(laplace) => {
                let mut cells = Cells::of_line(laplace, widened(frame(aligned(top, spacing, reversed))))?;
                for atom in laplace.atoms() {
                    cells.add_atom(atom, 8.0 * ROUNDOFF * (1.0 + laplace.gap), 16.0 * ROUNDOFF * laplace.gap);
                }
                if laplace.rate == 1.0 {
                    cells.mark_symmetric();
                }
                cells
            }
            Pair::Atoms(atoms, rate) => {
                let mut cells = Cells::empty(widened(frame(aligned(top, spacing, reversed))))?;
                atoms.fill(*rate, &mut cells);
                if *rate == 1.0 {
                    cells.mark_symmetric();
                }
                cells
            }
            Pair::Mirrored(of) => match of.as_ref() {
                Pair::Subsampled(line) => {
                    let rest =
                        (1.0 - line.rate) * libm::erf(std::f64::consts::FRAC_1_SQRT_2 / (2.0 * line.sigma));
                    // What lies below 0 comes from what lies above.
                    let above = Frame { lowest: -spacing, limit: limit / 2, ..frame(0) };
                    Cells::of_line(line, above)?.mirrored(rest)?
                }
                Pair::Laplace(laplace) => {
                    let mut cells = Cells::of_line(laplace, widened(frame(0)))?;
                    for atom in laplace.atoms() {
                        let errors = (8.0 * ROUNDOFF * (1.0 + laplace.gap), 16.0 * ROUNDOFF * laplace.gap);
                        cells.add_atom(atom, errors.0, errors.1);
                    }
                    cells.mirrored((1.0 - laplace.rate) * -(-0.5 * laplace.gap).exp_m1())?
                }
                Pair::Atoms(atoms, rate) => {
                    let mut cells = Cells::empty(widened(frame(0)))?;
                    atoms.fill_mirrored(*rate, &mut cells);
                    cells.mark_symmetric();
                    cells
                }
                _ => return None,
            },
            Pair::Tagged(tagged) => {
                let mut cells = Cells::empty(Frame { lowest: -spacing, highest: spacing, ..frame(0) })?;
                cells.mark_symmetric();
                for (weight, part, truncation) in tagged.parts(truncation) {
                    cells.add_weighted(weight, &part.cells(spacing, truncation, limit, false)?)?;
                }
                // Of the other numbers of copies nothing is said but whether there are any.
                let others = &tagged.weights[tagged.told_apart(truncation)..];
                let beyond = tagged.beyond + others.iter().sum::<f64>();
                let rest = beyond * (1.0 - tagged.rate);
                let rounding = (4.0 + others.len() as f64) * ROUNDOFF;
                cells.add_atom(Atom { p: rest, q: rest, loss: 0.0 }, rounding, 0.0);
                cells.add_beyond(beyond * tagged.rate);
                cells.add_mass_error(4.0 * tagged.error);
                cells
            }
        };
        let forwards = forwards.checked()?;
        if reversed { forwards.reversed().checked() } else { Some(forwards) }
    }

    /// How many times as long the table of this pair takes as that of a simple one, roughly.
    pub(crate) fn laws(&self) -> f64 {
        match self {
            Pair::Tagged(_) => 2.0,
            _ => 1.0,
        }
    }

    /// Whether the reverse's table is best made from the table itself.
    pub(crate) fn shares_table(&self) -> bool {
        match self {
            Pair::Laplace(laplace) => laplace.rate == 1.0,
            Pair::Atoms(_, rate) => *rate == 1.0,
            _ => true,
        }
    }

    /// Whether the pair has the loss distribution of its reverse.
    pub(crate) fn is_symmetric(&self) -> bool {
        match self {
            Pair::Subsampled(line) => line.rate == 1.0,
            Pair::Replaced(_) | Pair::Mirrored(_) | Pair::Tagged(_) => true,
            Pair::Copies(_) => false,
            Pair::Laplace(laplace) => laplace.rate == 1.0,
            Pair::Atoms(_, rate) => *rate == 1.0,
        }
    }

    /// A spacing for which no outcome lies between lattice points, if there is one.
    pub(crate) fn natural_spacing(&self) -> Option<f64> {
        match self {
            Pair::Atoms(atoms, rate) => atoms.gap(*rate),
            Pair::Mirrored(of) => match of.as_ref() {
                Pair::Atoms(atoms, rate) => atoms.mirrored_gap(*rate),
                _ => None,
            },
            _ => None,
        }
    }

    /// The mass that P has at infinite loss.
    pub(crate) fn certain(&self, reversed: bool) -> f64 {
        match self {
            Pair::Atoms(atoms, rate) => atoms.certain(*rate, reversed),
            Pair::Mirrored(of) => of.certain(false),
            _ => 0.0,
        }
    }

    /// No finite loss is larger.
    pub(crate) fn largest_loss(&self, reversed: bool) -> f64 {
        let limits = |pair: &Pair| match pair {
            Pair::Subsampled(line) => line.limits(),
            Pair::Copies(line) => line.limits(),
            Pair::Laplace(line) => line.limits(),
            Pair::Atoms(atoms, rate) => atoms.limits(*rate),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        match self {
            Pair::Mirrored(of) => limits(of).1,
            pair if reversed => -limits(pair).0,
            pair => limits(pair).1,
        }
    }

    /// The losses that a table covers when laws are cut `truncation` standard deviations from their centres.
    pub(crate) fn loss_range(&self, truncation: f64) -> (f64, f64) {
        match self {
            Pair::Subsampled(line) => line.loss_range(truncation),
            Pair::Replaced(line) => line.loss_range(truncation),
            Pair::Copies(line) => line.loss_range(truncation),
            Pair::Laplace(line) => line.limits(),
            Pair::Atoms(atoms, rate) => atoms.limits(*rate),
            Pair::Mirrored(of) => {
                let (_, highest) = of.loss_range(truncation);
                (-highest, highest)
            }
            Pair::Tagged(tagged) => {
                let highest = tagged
                    .parts(truncation)
                    .map(|(_, part, truncation)| part.loss_range(truncation).1)
                    .fold(0.0, f64::max);
                (-highest, highest)
            }
        }
    }

    /// A few hundred losses with the logarithms of their masses: enough to choose a tilt and a window by, and
    /// no part of a proof.
    pub(crate) fn sketch(&self, truncation: f64, reversed: bool) -> Vec<(f64, f64)> {
        let reversed = reversed && !self.is_symmetric();
        let sign = if reversed { -1.0 } else { 1.0 };
        let mut nodes = Vec::new();
        match self {
            Pair::Subsampled(line) => {
                for (z, weight) in bell(truncation, NODES) {
                    if reversed {
                        nodes.push((-line.loss(line.sigma * z), weight));
                        continue;
                    }
                    if line.rate < 1.0 {
                        nodes.push((line.loss(line.sigma * z), weight + (1.0 - line.rate).ln()));
                    }
                    nodes.push((line.loss(1.0 + line.sigma * z), weight + line.rate.ln()));
                }
            }
            Pair::Replaced(line) => {
                for (z, weight) in bell(truncation, NODES) {
                    nodes.push((line.loss(line.sigma * z), weight + (1.0 - line.rate).ln()));
                    nodes.push((line.loss(1.0 + line.sigma * z), weight + line.rate.ln()));
                }
            }
            Pair::Copies(line) => {
                let laws = if reversed { 1 } else { line.weights.len() };
                for (k, share) in line.weights.iter().enumerate().take(laws) {
                    let share = if reversed { 0.0 } else { share.ln() };
                    for (z, weight) in bell(truncation, if k < 3 { NODES } else { NODES / 4 }) {
                        nodes.push((sign * line.loss(k as f64 + line.sigma * z), weight + share));
                    }
                }
            }
            Pair::Laplace(line) => {
                let width = 2.0 * line.gap / NODES as f64;
                for k in 0..NODES {
                    let left = k as f64 * width - line.gap;
                    let middle = left + 0.5 * width;
                    let mass = line.mass(left, left + width, 0.0);
                    let mass = if reversed { mass.q_scaled } else { mass.p };
                    nodes.push((sign * line.loss(middle), mass.ln()));
                }
                for Atom { p, q, loss } in line.atoms() {
                    nodes.push((sign * loss, if reversed { q } else { p }.ln()));
                }
            }
            Pair::Atoms(atoms, rate) => {
                let all: Vec<Atom> = atoms.sampled(*rate).collect();
                // Neighbours are merged where there are many.
                for group in all.chunks(all.len().div_ceil(2 * NODES).max(1)) {
                    let mass: f64 = group.iter().map(|a| if reversed { a.q } else { a.p }).sum();
                    let moment: f64 = group.iter().map(|a| a.loss * if reversed { a.q } else { a.p }).sum();
                    if mass > 0.0 {
                        nodes.push((sign * moment / mass, mass.ln()));
                    }
                }
            }
            Pair::Mirrored(of) => {
                let mut rest = 1.0 - of.certain(false);
                for (loss, weight) in of.sketch(truncation, false).into_iter().filter(|node| node.0 > 0.0) {
                    rest -= weight.exp() + (weight - loss).exp();
                    nodes.extend([(loss, weight), (-loss, weight - loss)]);
                }
                nodes.push((0.0, rest.max(1e-300).ln()));
            }
            Pair::Tagged(tagged) => {
                for (share, part, truncation) in tagged.parts(truncation) {
                    let some = part.sketch(truncation, false);
                    nodes.extend(some.into_iter().map(|(loss, weight)| (loss, weight + share.ln())));
                }
            }
        }
        nodes
    }
}

impl Laplace {
    /// The two outcomes with mass.
    fn atoms(&self) -> [Atom; 2] {
        let (q, rare) = (self.rate, 0.5 * (-self.gap).exp());
        let atom = |shifted: f64, other: f64, t: f64| Atom {
            p: (1.0 - q) * other + q * shifted,
            q: other,
            loss: amplified(q, t),
        };
        [atom(rare, 0.5, -self.gap), atom(0.5, rare, self.gap)]
    }
}

/// The origin that makes a loss a lattice point or puts it a hair above one; for the reversed table a hair
/// below.
fn aligned(loss: f64, spacing: f64, reversed: bool) -> i64 {
    if reversed { -origin_at(-loss, spacing) } else { origin_at(loss, spacing) }
}

/// A frame with room for atoms at its ends.
fn widened(frame: Frame) -> Frame {
    Frame { lowest: frame.lowest - frame.spacing, highest: frame.highest + frame.spacing, ..frame }
}

/// Positions and logarithms of weights that stand for a standard normal law.
fn bell(truncation: f64, nodes: usize) -> impl Iterator<Item = (f64, f64)> {
    let spacing = 2.0 * truncation / nodes as f64;
    (0..=nodes).map(move |k| {
        let z = -truncation + k as f64 * spacing;
        // The outermost outcomes stand for all that lies beyond them.
        let beyond = if k == 0 || k == nodes { upper_tail(truncation) } else { 0.0 };
        (z, (density(z) * spacing + beyond).ln())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of copies, given that there is one, for a Poisson law of this mean.
    fn tagged(sigma: f64, mean: f64) -> Tagged {
        let mut weights = vec![mean * (-mean).exp()];
        while weights[weights.len() - 1] > 1e-40 || weights.len() < mean as usize {
            weights.push(weights[weights.len() - 1] * mean / (weights.len() + 1) as f64);
        }
        let rate = -(-mean).exp_m1();
        let weights = weights.into_iter().map(|weight| weight / rate).collect();
        Tagged { sigma, rate, weights, beyond: 0.0, error: 1e-14 }
    }

    /// Numbers of copies without a pair of their own are counted as what reveals everything, and weigh next to nothing;
    /// and so do losses beyond the table.
    #[test]
    fn copies_that_are_not_told_apart_are_counted() {
        for (sigma, mean) in [(0.5, 1e-4), (1.0, 1e-4), (2.5, 0.05), (5.0, 20.0), (40.0, 200.0)] {
            let tagged = tagged(sigma, mean);
            let told = tagged.told_apart(8.0);
            assert!(told < tagged.weights.len());
            let others: f64 = tagged.weights[told..].iter().sum::<f64>() * tagged.rate;
            let pair = Pair::Tagged(Arc::new(tagged));
            let (_, highest) = pair.loss_range(8.0);
            let cells = pair.cells(highest / 5e3, 8.0, 1 << 20, false).expect("within the limit");
            let kept: f64 = cells.p.iter().sum();
            let left = cells.p_above + cells.p_below + cells.p_lost;
            assert!((kept + left - 1.0).abs() < 1e-11, "{sigma} {mean}: {kept} {left}");
            assert!(cells.p_lost >= others && others > 0.0, "{sigma} {mean}: {others}");
            // Each part leaves less than e^(-t²/2), and so do all that are not told apart.
            assert!(left <= (told + 1) as f64 * (-32.0f64).exp(), "{sigma} {mean}: {left}");
        }
    }
}
