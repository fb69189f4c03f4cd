//! Two discrete loss distributions on a lattice, one that dominates a pair and one that the pair dominates.
//!
//! Write H(P, Q; ε) = ∫ (dP - e^ε dQ)₊ for the divergence whose value at ε is delta. Three facts carry
//! everything; they hold for finite measures, normalised or not.
//!
//! **Merging is post-processing.** If outcomes of a pair are merged, or an outcome is first split by a coin
//! that does not look at the data, H does not grow, because (a + b)₊ <= a₊ + b₊. This also holds for one
//! factor of a product, and so for any composition that contains the pair.
//!
//! **Raising losses raises delta.** With L the total loss, delta = E_P[(1 - e^(ε - L))₊] grows with L and
//! with P. Losses of single outcomes may therefore be raised for an upper bound and lowered for a lower one.
//!
//! **Small relative errors are a shift.** If P <= e^κ P' and Q >= e^-λ Q', then (dP - e^ε dQ)₊ <= e^κ (dP' -
//! e^(ε-κ-λ) dQ')₊, and over T factors H(P, Q; ε) <= e^(Tκ) H(P', Q'; ε - T(κ+λ)). This turns all rounding in
//! the tables into two numbers per step. Masses have a relative error within e^±κ. Outcomes at the border of
//! a cell may have a loss outside it by the boundary error; scaling their Q mass by that much puts them
//! inside. Where the arithmetic below finds a ratio outside a cell, it is by at most 2κ plus the boundary
//! error, and is clamped; that, too, is a scaling of Q. With 16 roundings for the arithmetic itself, P is
//! right to κ and Q to 3κ plus twice the boundary error.
//!
//! Lattice points are written jh below; in truth a fixed shift is added to all of them.
//!
//! # The upper end: connect the dots
//! Each outcome of a cell `[jh, (j+1)h)` with masses (p, q) is the merger of two outcomes of losses exactly
//! jh and (j+1)h, with P masses a + b = p and Q masses a e^-jh + b e^-(j+1)h = q; both are non-negative
//! because the ratio p/q is in the cell. The split pair dominates, and outcomes of equal ratio can be merged
//! without loss, so a cell needs
//!
//! ```text
//! b = (p - q e^(jh)) / (1 - e^-h),   a = p - b
//! ```
//!
//! Mass above the lattice becomes infinite loss (it is the merger of (p, 0) and (0, q)); mass below is raised
//! to the lowest point.
//!
//! # The lower end: balanced groups
//! Outcomes are merged into groups whose ratio is exactly e^(jh). Going upwards, the group at jh starts from
//! what is left over below jh (losses in `[(j-1)h, jh]`), which lacks D = e^(jh) q - p >= 0. It is balanced
//! by outcomes above jh, first the half-cell up to (j+1/2)h and then the one up to (j+1)h, which have a
//! surplus p - e^(jh) q >= 0; of the last one needed, a fraction θ (a coin) joins the group and the rest is
//! left over for the group at (j+1)h. If even all of `[jh, (j+1)h]` does not suffice, it balances a fraction
//! θ of what lies below, and the remainder is lowered to (j-1)h. Merging and lowering give a true lower
//! bound. Balanced groups conserve P and Q, so that only the spread of the loss within a group is lost, which
//! is O(h²) a step, where flooring loses h/2. Mass above and below the lattice is dropped; kept at the top,
//! it would weigh far more in a tilted sum than in delta.
//!
//! # References
//! Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the Dots: Tighter Discrete Approximations
//! of Privacy Loss Distributions" (the upper end).

use super::cells::Cells;
use crate::special::ROUNDOFF;

/// The P side of a discrete loss distribution: masses at losses `shift + first · h`,
/// `shift + (first + 1) · h`, …, and at infinity.
#[derive(Debug, Clone)]
pub(crate) struct LossDistribution {
    pub(crate) shift: f64,
    pub(crate) first: i64,
    pub(crate) masses: Vec<f64>,
    pub(crate) infinite: f64,
}

/// The rounding of a discretised step, as exponents: masses are right to `e^±mass`, losses to `±loss`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slack {
    pub(crate) mass: f64,
    pub(crate) loss: f64,
}

impl Cells {
    /// The slack of both discretisations of this table.
    pub(crate) fn slack(&self) -> Slack {
        let mass = self.mass_error + 16.0 * ROUNDOFF;
        // The third fact with λ = 3κ + 2 loss_error; the extra roundings are those of these very sums.
        Slack { mass, loss: 4.0 * mass + 2.0 * self.loss_error + 4.0 * ROUNDOFF }
    }

    /// The lattice points from the lowest to the highest edge of the table.
    fn lattice(&self) -> (i64, usize) {
        (self.first / 2, self.p.len() / 2)
    }

    /// A loss distribution that dominates the table's pair.
    pub(crate) fn dominating(&self) -> LossDistribution {
        let (first, count) = self.lattice();
        let half_ratio = (-0.5 * self.spacing).exp();
        let full_gap = -(-self.spacing).exp_m1();
        let mut masses = vec![0.0; count + 1];
        masses[0] = self.p_below;
        for j in 0..count {
            let p = self.p[2 * j] + self.p[2 * j + 1];
            let at_left = self.q_scaled[2 * j] + self.q_scaled[2 * j + 1] * half_ratio;
            let above = ((p - at_left) / full_gap).clamp(0.0, p);
            masses[j] += p - above;
            masses[j + 1] += above;
        }
        LossDistribution { shift: self.shift(), first, masses, infinite: self.p_above + self.p_lost }
    }

    /// A loss distribution that the table's pair dominates.
    pub(crate) fn dominated(&self) -> LossDistribution {
        let (first, count) = self.lattice();
        let half_ratio = (-0.5 * self.spacing).exp();
        let full_ratio = self.spacing.exp();
        // One point below the table, for what is lowered from the first.
        let mut masses = vec![0.0; count + 1];
        // What is left over below the current lattice point, its Q mass scaled by e^(jh).
        let (mut left_p, mut left_q): (f64, f64) = (0.0, 0.0);
        for j in 0..count {
            let (near_p, near_q) = (self.p[2 * j], self.q_scaled[2 * j]);
            let (far_p, far_q) = (self.p[2 * j + 1], self.q_scaled[2 * j + 1] * half_ratio);
            let deficit = (left_q - left_p).max(0.0);
            let near_surplus = (near_p - near_q).max(0.0);
            let far_surplus = (far_p - far_q).max(0.0);
            if near_surplus >= deficit {
                let share = if near_surplus > 0.0 { deficit / near_surplus } else { 1.0 };
                masses[j + 1] += left_p + share * near_p;
                left_p = (1.0 - share) * near_p + far_p;
                left_q = (1.0 - share) * near_q + far_q;
            } else if near_surplus + far_surplus >= deficit {
                let share = ((deficit - near_surplus) / far_surplus).min(1.0);
                masses[j + 1] += left_p + near_p + share * far_p;
                left_p = (1.0 - share) * far_p;
                left_q = (1.0 - share) * far_q;
            } else {
                let share = (near_surplus + far_surplus) / deficit;
                masses[j + 1] += share * left_p + near_p + far_p;
                masses[j] += (1.0 - share) * left_p;
                (left_p, left_q) = (0.0, 0.0);
            }
            left_q *= full_ratio;
        }
        // Losses left over at the end lie between the last two points.
        masses[count] += left_p;
        LossDistribution { shift: self.shift(), first: first - 1, masses, infinite: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::Pair;
    use super::super::subsampled::Subsampled;
    use super::*;
    use crate::closed_form::subsampled_step_delta;

    fn table(sigma: f64, rate: f64, spacing: f64) -> Cells {
        let pair = Pair::Subsampled(Subsampled { sigma, rate });
        pair.cells(spacing, 12.0, 1 << 20, false).expect("within the limit")
    }

    fn delta(distribution: &LossDistribution, spacing: f64, epsilon: f64) -> f64 {
        let finite: f64 = distribution
            .masses
            .iter()
            .enumerate()
            .map(|(j, mass)| {
                let loss = distribution.shift + (distribution.first + j as i64) as f64 * spacing;
                mass * (-(epsilon - loss).exp_m1()).max(0.0)
            })
            .sum();
        finite + distribution.infinite
    }

    /// What is discretised is wrong by what the table is wrong by, and more.
    #[test]
    fn the_slack_holds_the_errors_of_the_table() {
        for (sigma, rate) in [(1.0, 0.01), (0.5, 0.3), (4.0, 1.0)] {
            let mut cells = table(sigma, rate, 0.01);
            assert!(cells.mass_error > 0.0 && cells.slack().mass > cells.mass_error);
            let before = cells.slack();
            (cells.mass_error, cells.loss_error) = (cells.mass_error + 1e-6, cells.loss_error + 1e-5);
            let after = cells.slack();
            assert!(after.mass >= before.mass + 0.999e-6 && after.loss >= before.loss + 2.399e-5);
        }
    }

    #[test]
    fn one_step_is_enclosed_and_errors_are_of_second_order() {
        for (sigma, rate) in [(1.0, 0.01), (0.5, 0.3), (4.0, 0.2), (1.0, 1e-4), (2.0, 0.999)] {
            let mut worst = Vec::new();
            // The loss varies on the scale of the rate near zero.
            let coarse = f64::min(0.04, rate / 4.0).max(1e-3);
            for spacing in [coarse, coarse / 4.0] {
                let cells = table(sigma, rate, spacing);
                let slack = cells.slack();
                let (upper, lower) = (cells.dominating(), cells.dominated());
                let mut gap: f64 = 0.0;
                for k in 0..60 {
                    let epsilon = 0.05 * f64::from(k) + 0.001;
                    let truth = subsampled_step_delta(sigma, rate, epsilon);
                    let (above, below) = (
                        delta(&upper, spacing, epsilon - slack.loss) * slack.mass.exp(),
                        delta(&lower, spacing, epsilon + slack.loss) * (-slack.mass).exp(),
                    );
                    assert!(below <= truth.upper, "{sigma} {rate} {spacing} {epsilon}: {below} {truth:?}");
                    assert!(above >= truth.lower, "{sigma} {rate} {spacing} {epsilon}: {above} {truth:?}");
                    gap = gap.max(above - below);
                }
                worst.push(gap);
            }
            // A quarter of the spacing: a sixteenth of the gap if it is of second order and resolved.
            assert!(rate < 1e-3 || worst[1] < worst[0] / 6.0, "{sigma} {rate}: {worst:?}");
        }
    }

    #[test]
    fn adding_a_record_is_enclosed_too() {
        // Below epsilon = -log(1 - q) the addition profile is (1 - a(1-q)) H(b), a = e^epsilon, b = a q /
        // (1 - a(1-q)).
        let (sigma, rate, spacing) = (1.0, 0.5, 0.01);
        let cells = table(sigma, rate, spacing).reversed();
        let slack = cells.slack();
        for k in 0..60 {
            let epsilon = 0.01 * f64::from(k);
            let a = epsilon.exp();
            let rest = 1.0 - a * (1.0 - rate);
            let truth = crate::closed_form::gaussian_delta(1.0 / sigma, 0.0, (a * rate / rest).ln());
            let above = delta(&cells.dominating(), spacing, epsilon - slack.loss) * slack.mass.exp();
            let below = delta(&cells.dominated(), spacing, epsilon + slack.loss) * (-slack.mass).exp();
            assert!(below <= truth.upper * rest + 1e-14 && above >= truth.lower * rest - 1e-14, "{epsilon}");
            assert!(above - below < 1e-3);
        }
    }
}
