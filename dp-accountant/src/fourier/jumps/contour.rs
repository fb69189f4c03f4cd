//! All steps of a direction, cut in the same way: their moment, and where and how to integrate it.

use super::Rounded;
use super::band::{self, Band};
use super::bulk::{self, Bulk};
use super::snapshot::{Group, Moment, Node, Window};
use super::transform::{Known, Transform, modulus, times};
use super::waves::{Sums, Waves, spacing_for};
use crate::fourier::inversion::BLOCK_ERROR;
use crate::fourier::sketch::log_peak;
use crate::fourier::table::Decay;
use crate::golden::{ROUGHLY, minimise};
use crate::special::ROUNDOFF;

/// The most frequencies, and the most products of one with an outcome.
const MOST_FREQUENCIES: f64 = 3e4;
const MOST_WORK: f64 = 2e7;
/// Moments below this are taken to be this large in bounds from above.
const NEXT_TO_NOTHING: f64 = 1e-200;
/// No tilt above this is taken: products of four tilts and frequencies would leave the range of f64.
const LARGEST_TILT: f64 = 1e60;
/// Transforms need not be known better than this, as the logarithm of a relative error.
const LOG_FINEST: f64 = -36.0;

/// One step with its small losses, and its losses in the band.
type Step<'a> = (Bulk<'a>, Option<Band<'a>>);
type TiltedStep = (bulk::Tilted, Option<band::Tilted>);

/// All steps, of which at least one has a loss in the band; without bands, all losses are small.
#[derive(Debug)]
pub(super) struct AllSteps<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// The squared mu of the unsampled part.
    pub(super) squared_mu: f64,
}

/// What an integral is planned for: errors of about `e^log_share` of a delta near `e^log_delta` at `epsilon`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aim {
    pub(super) epsilon: f64,
    pub(super) log_delta: f64,
    pub(super) log_share: f64,
}

/// Where to integrate a part.
pub(super) struct Contour<'a> {
    parts: &'a AllSteps<'a>,
    tilt: f64,
    /// Roughly the logarithm of the part's moment: the unit in which everything is written.
    log_moment: f64,
    /// The relative error that sums over outcomes may have, as a logarithm.
    pub(super) log_share: f64,
    pub(super) window: Window,
    /// The highest frequency.
    pub(super) last: f64,
    tilted: Vec<TiltedStep>,
    decays: Vec<Decay>,
}

/// A step's sums along the contour, and what quadrature adds to their errors.
struct Along {
    small: Sums,
    small_quadrature: f64,
    jumps: Option<(Sums, f64)>,
}

impl AllSteps<'_> {
    fn is_base(&self) -> bool {
        self.steps.iter().all(|(_, band)| band.is_none())
    }

    /// The logarithm of the moment, from every few points: for planning.
    pub(super) fn rough(&self, tilt: f64, stride: usize) -> f64 {
        let mut log = 0.5 * tilt * (tilt + 1.0) * self.squared_mu;
        let mut jumps = 0.0;
        for (bulk, band) in &self.steps {
            let count = bulk.outline.count;
            let small = (1.0 + bulk.rough(tilt, stride)).max(NEXT_TO_NOTHING);
            log += count * small.ln();
            if let Some(band) = band {
                jumps += count * (band.rough(tilt, stride) / small).ln_1p();
            }
        }
        log + self.log_jumps(jumps)
    }

    /// The logarithm of `e^jumps - 1`, rounded up, for parts with jumps, and 0 for those without.
    fn log_jumps(&self, jumps: f64) -> f64 {
        if self.is_base() {
            0.0
        } else if jumps > 40.0 {
            jumps
        } else {
            jumps.exp_m1().max(1e-300).ln()
        }
    }

    /// An upper bound on the logarithm of the moment.
    pub(super) fn moment(&self, tilt: f64) -> Option<Moment> {
        if tilt > LARGEST_TILT {
            return None;
        }
        let mut log = 0.5 * tilt * (tilt + 1.0) * self.squared_mu * (1.0 + BLOCK_ERROR);
        let mut size = log;
        let mut jumps = 0.0;
        for (bulk, band) in &self.steps {
            let count = bulk.outline.count;
            // The moment is a sum of products of single steps' moments and grows with each: the largest
            // possible bound it.
            let most = log_most(bulk.tilted(tilt).excess);
            log += count * most;
            size += count * most.abs();
            if let Some(band) = band {
                jumps += count * (band.tilted(tilt).most * (-most).exp()).ln_1p();
            }
        }
        let total = log + self.log_jumps(jumps);
        let rounding = 32.0 * ROUNDOFF * (1.0 + size + jumps + total.abs());
        total.is_finite().then_some(Moment { tilt, log: total + rounding })
    }

    /// An upper bound on the logarithm of the mass, the moment at tilt 0.
    fn mass(&self) -> Moment {
        let mass = |(bulk, band): &Step<'_>| {
            bulk.outline.count * band.as_ref().map_or(1.0, |band| band.lower.large_mass(bulk.outline))
        };
        let mass = self.steps.iter().map(mass).sum::<f64>() * (1.0 + 1e-9);
        Moment { tilt: 0.0, log: mass.min(1.0).ln() }
    }

    /// Every few points are enough to plan by: about four in a standard deviation and in an e-fold.
    pub(super) fn stride(&self) -> usize {
        let of = |(bulk, _): &Step<'_>| {
            let outline = bulk.outline;
            (0.25 * outline.tau.min(1.0) / outline.spacing).floor().clamp(1.0, 4.0) as usize
        };
        self.steps.iter().map(of).min().unwrap_or(1)
    }

    /// Where to integrate under a tilt. Tilts up to about twice `reach` may bound what lies above the window.
    pub(super) fn plan(&self, tilt: f64, reach: f64, aim: Aim) -> Option<Contour<'_>> {
        if tilt > LARGEST_TILT {
            return None;
        }
        let log_moment = self.rough(tilt, self.stride());
        // In units of e^(log moment - c epsilon).
        let log_goal = aim.log_delta + aim.log_share - log_moment + tilt * aim.epsilon;
        let window = self.window(tilt, reach, aim.epsilon, log_moment, log_goal - 1.0)?;
        let tilted: Vec<TiltedStep> = self
            .steps
            .iter()
            .map(|(bulk, band)| (bulk.tilted(tilt), band.as_ref().map(|band| band.tilted(tilt))))
            .collect();
        let decays = self.decays(tilt, &tilted);
        let mut plan =
            Contour { parts: self, tilt, log_moment, log_share: 0.0, window, last: 0.0, tilted, decays };
        plan.last = last_frequency(window.width, log_goal - 1.0, |t| plan.log_beyond(t))?;
        // The integral of the kernel's modulus is about 1/(c + 1): relative errors of transforms count for
        // that much less.
        plan.log_share = (log_goal + tilt.ln_1p()).clamp(LOG_FINEST, -3.0) - 16f64.ln();
        Some(plan)
    }

    /// A window that holds all but `e^log_goal` of the tilted part about epsilon.
    fn window(&self, tilt: f64, reach: f64, epsilon: f64, log_moment: f64, log_goal: f64) -> Option<Window> {
        let stride = self.stride();
        // How wide it has to be for what a moment at another tilt says to suffice.
        let width = |other: Moment| {
            let peak = if other.tilt > 0.0 { log_peak(other.tilt) } else { 0.0 };
            (other.log - log_moment + (tilt - other.tilt) * epsilon + peak - log_goal)
                / (tilt - other.tilt).abs()
        };
        let rough = |tilt: f64| Moment { tilt, log: self.rough(tilt, stride) };
        let (log, foreseen) = minimise(
            |log| width(rough(tilt + log.exp())),
            ((0.05 * reach).ln(), (2.0 * reach).ln()),
            ROUGHLY,
        );
        // Few points miss how steeply the moment rises in the end.
        let mut above: Option<Moment> = None;
        for share in [1.0, 0.6, 0.35, 0.2] {
            let found = self.moment(tilt + share * log.exp())?;
            if above.is_none_or(|above| width(found) < width(above)) {
                above = Some(found);
            }
            if width(found) < 1.2 * foreseen {
                break;
            }
        }
        let above = above?;
        let share = |log: f64| tilt / (1.0 + log.exp());
        let (log, down) = minimise(|log| width(rough(share(log))), (-3.0, 3.0), ROUGHLY);
        let mut below = self.mass();
        if down < width(below) {
            let found = self.moment(share(log))?;
            if width(found) < width(below) {
                below = found;
            }
        }
        let width = 1.02 * width(above).max(width(below));
        (width > 0.0 && width.is_finite()).then_some(Window { width, above, below })
    }

    /// How fast the small losses' transforms fall, where there are no others.
    fn decays(&self, tilt: f64, tilted: &[TiltedStep]) -> Vec<Decay> {
        if !self.is_base() {
            return Vec::new();
        }
        self.steps.iter().zip(tilted).map(|((bulk, _), (tilted, _))| bulk.decay(tilt, tilted)).collect()
    }
}

impl Contour<'_> {
    /// The block of unsampled steps' share of the logarithm of the moment, and that of the others.
    fn logs(&self) -> (f64, f64) {
        let block = 0.5 * self.tilt * (self.tilt + 1.0) * self.parts.squared_mu;
        (block, self.log_moment - block)
    }

    /// The integral.
    pub(super) fn integrate(&self) -> Option<Group> {
        let &Self { tilt, log_moment, window, .. } = self;
        let (block, of_steps) = self.logs();
        let h = 2.0 * std::f64::consts::PI / window.width;
        let count = (self.last / h).ceil() as usize + 1;
        let past = count as f64 * h;
        // Σ h/t² beyond the last frequency is at most 1/t there.
        let tail = (self.log_beyond(past) - (std::f64::consts::PI * (past - h).max(h)).ln()).exp();
        let along = self.along(h, count)?;
        let nodes: Vec<Node> = (0..count).map(|k| self.node(k, h, &along)).collect();
        // What the moment is off by is part of every node's error; the unit is only a number.
        let unit = Rounded {
            value: log_moment,
            error: BLOCK_ERROR * block + 8.0 * ROUNDOFF * (block + of_steps.abs() + log_moment.abs()),
        };
        let finite = log_moment.is_finite() && tail.is_finite();
        (finite && nodes.iter().all(|node| node.error.is_finite())).then_some(Group {
            tilt,
            unit,
            nodes,
            tail,
            window,
        })
    }

    /// The logarithm of a bound on the modulus of the transform at t and beyond, over `e^of_steps` and the
    /// unsampled part's moment.
    ///
    /// With jumps it is that of the polynomial (see [`Transform`]) at moduli that are not exceeded: of the
    /// small losses that at t = 0, of the band one that falls with t.
    fn log_beyond(&self, t: f64) -> f64 {
        let of_steps = self.logs().1;
        let mut log = -0.5 * t * t * self.parts.squared_mu * (1.0 - 2.0 * BLOCK_ERROR) - of_steps;
        let mut jumps = 0.0;
        for (k, ((bulk, _), (small, band))) in self.parts.steps.iter().zip(&self.tilted).enumerate() {
            let count = bulk.outline.count;
            let Rounded { value, error } = small.excess;
            let most = log_most(small.excess);
            log += count * most;
            if let Some(decay) = self.decays.get(k)
                && 1.0 + value > 2.0 * error
            {
                // Relative to the moment as it was computed, which may be smaller than `most`.
                log += count * decay.log_bound(t, error / (1.0 + value)).min(0.0);
            }
            if let Some(band) = band {
                let modulus = band.strip.decay(t, band.left_over).min(band.most);
                jumps += count * (modulus * (-most).exp()).ln_1p();
            }
        }
        log + self.parts.log_jumps(jumps) + 1e-9
    }

    /// The steps' sums at `count` frequencies, on grids whose errors are small against the share of the part
    /// that is planned for. `None` if that is too much work.
    fn along(&self, h: f64, count: usize) -> Option<Vec<Along>> {
        let (tilt, share) = (self.tilt, self.log_share.exp());
        let past = count as f64 * h;
        let steps = || self.parts.steps.iter().zip(&self.tilted);
        let expected: f64 = steps()
            .map(|((bulk, _), (_, band))| bulk.outline.count * band.as_ref().map_or(0.0, |band| band.most))
            .sum();
        let mut work = 0.0;
        let mut afford = |waves: &Waves| {
            work += count as f64 * waves.len() as f64;
            (work <= MOST_WORK).then_some(())
        };
        let mut all = Vec::with_capacity(self.parts.steps.len());
        for ((bulk, band), (small, large)) in steps() {
            let outline = bulk.outline;
            // An error of one step is multiplied by their number.
            let allowed = share / outline.count;
            let strip = &small.strip;
            let (range, dropped) = strip.range(past, allowed);
            let spacing = spacing_for(strip, outline, range, past, allowed)?;
            let cut = bulk.cut;
            let weight = |u: f64| Rounded { value: cut.small(u), error: ROUNDOFF * cut.units(u, false) };
            let waves = Waves::new(outline, weight, tilt, strip.ends(range), spacing);
            afford(&waves)?;
            // Of e^y (e^(itL) - 1 - itL) term by term; and of what the grid leaves out, on and below the
            // strip.
            let small_quadrature = dropped
                + 2.0 * small.below.0
                + past * small.below.1
                + strip.quadrature_error(spacing, past, range, false)
                + strip.quadrature_error(spacing, 0.0, range, false)
                + past * strip.quadrature_error(spacing, 0.0, range, true);
            let small = waves.sums_less_line(h, count);
            let mut jumps = None;
            if let (Some(band), Some(large)) = (band, large) {
                let (strip, range) = (&large.strip, large.strip.all());
                let allowed = share * expected / outline.count;
                let spacing = spacing_for(strip, outline, range, past, allowed)?;
                let waves = Waves::new(outline, |u| band.weight(u), tilt, strip.ends(range), spacing);
                afford(&waves)?;
                // The grid may begin anywhere in the first cell.
                let left_out = strip.weight(0.0, 0..1) + large.left_over;
                let quadrature = strip.quadrature_error(spacing, past, range, false) + left_out;
                jumps = Some((waves.sums(h, count), quadrature));
            }
            all.push(Along { small, small_quadrature, jumps });
        }
        Some(all)
    }

    /// The term of the trapezoidal sum at a frequency.
    fn node(&self, k: usize, h: f64, along: &[Along]) -> Node {
        const U: f64 = ROUNDOFF;
        let (c, t) = (self.tilt, k as f64 * h);
        let (squared_mu, of_steps) = (self.parts.squared_mu, self.logs().1);
        let mut transform = Transform::default();
        for (((bulk, _), (small, _)), sums) in self.parts.steps.iter().zip(&self.tilted).zip(along) {
            let [re, im] = sums.small.values[k];
            let line = t * small.drift.value;
            let error = small.excess.error
                + t * small.drift.error
                + sums.small.errors[k]
                + sums.small_quadrature
                + 4.0 * U * (small.excess.value.abs() + re.abs() + line.abs() + im.abs());
            let excess = Known { value: [small.excess.value + re, line + im], error };
            let band = sums.jumps.as_ref().map(|(sums, quadrature)| Known {
                value: sums.values[k],
                error: sums.errors[k] + quadrature,
            });
            transform.add(bulk.outline.count, excess, band);
        }
        let Known { value, error } =
            if self.parts.is_base() { transform.of_small(of_steps) } else { transform.of_jumps(of_steps) };
        let (decay, drift) = (0.5 * t * t * squared_mu, t * (c + 0.5) * squared_mu);
        let kernel = c.hypot(t) * (c + 1.0).hypot(t);
        let half = if k == 0 { 0.5 } else { 1.0 };
        let scale = half * h / (std::f64::consts::PI * kernel) * (-decay).exp();
        let angle = drift - t.atan2(c) - t.atan2(c + 1.0);
        let (sine, cosine) = angle.sin_cos();
        let [re, im] = times(value, [scale * cosine, scale * sine]);
        let rounding = (BLOCK_ERROR * (decay + drift) + U * (16.0 + 4.0 * (angle.abs() + decay))).exp_m1();
        Node { t, re, im, error: scale * (error + modulus(value) * rounding) * (1.0 + 1e-9) }
    }
}

/// The logarithm of the largest moment that an interval about `moment - 1` leaves possible. No moment is
/// taken to be below roundoff, which is an upper bound as well.
fn log_most(excess: Rounded) -> f64 {
    (excess.value + excess.error).max(ROUNDOFF - 1.0).ln_1p()
}

/// The frequency beyond which the integrand adds up to less than `e^log_goal`, in factors of 1.05. `None` if
/// it is too far.
fn last_frequency(window: f64, log_goal: f64, log_beyond: impl Fn(f64) -> f64) -> Option<f64> {
    let far_enough = |t: f64| log_beyond(t) - (std::f64::consts::PI * t).ln() <= log_goal;
    let mut last = 4.0 * std::f64::consts::PI / window;
    while !far_enough(last) {
        last *= 1.5;
        if last * window > 2.0 * std::f64::consts::PI * MOST_FREQUENCIES {
            return None;
        }
    }
    for step in [0.816_5, 0.903_6, 0.950_6] {
        // Square roots of 2/3 in turn: a search by halves on a logarithmic scale.
        if far_enough(last * step) {
            last *= step;
        }
    }
    Some(last)
}

#[cfg(test)]
mod tests {
    use super::super::grid::{Cut, Outline};
    use super::*;
    use crate::fourier::{Direction, Law};

    /// `log |E_0[κ e^(G + (c+it)L)]|` by the obvious sum.
    fn log_modulus(fine: &Outline, cut: Cut, tilt: f64, t: f64) -> f64 {
        let mut sum = [0.0; 2];
        for p in fine.points.iter().filter(|p| p.u < cut.end) {
            let weight = cut.small(p.u) * fine.spacing * (p.log_density + p.gain + tilt * p.loss).exp();
            let (sine, cosine) = (t * p.loss).sin_cos();
            sum = [sum[0] + weight * cosine, sum[1] + weight * sine];
        }
        modulus(sum).ln()
    }

    /// Without jumps the bound on what lies beyond a frequency is the product of bounds for the steps, and
    /// holds at all higher frequencies. It is also near the truth where that begins to fall: half of it is
    /// exceeded there.
    #[test]
    fn small_losses_are_bounded_beyond_a_frequency() {
        for (direction, sigma, rate, tilt, odds, count, squared_mu) in [
            (Direction::Remove, 1.0, 1e-2, 3.0, Some(0.5), 1.0, 0.0),
            (Direction::Remove, 2.0, 1e-3, 20.0, Some(0.5), 40.0, 0.0),
            (Direction::Add, 1.0, 1e-3, 30.0, None, 1.0, 0.0),
            (Direction::Add, 0.5, 1e-2, 3.0, None, 25.0, 1e-6),
            (Direction::Replace, 1.0, 1e-2, 4.0, Some(0.5), 3.0, 1e-5),
            (Direction::Replace, 0.7, 1e-5, 2.0, Some(0.1), 300.0, 0.0),
        ] {
            let law = Law { direction, sigma, rate };
            let outline = Outline::new(&law, count, 60.0).expect("an outline");
            let cut = odds.map_or_else(|| Cut::none(&outline), |odds| Cut::new(&outline, odds));
            // Phases turn by less than a radian between its points at all frequencies below.
            let spacing = outline.spacing / 16.0;
            let index = |k: usize| (outline.points[k].u / spacing) as i64;
            let fine = Outline::on(&law, count, spacing, index(0), index(outline.points.len() - 1));
            let parts = AllSteps { steps: vec![(Bulk::new(&outline, cut), None)], squared_mu };
            let tilted = vec![(parts.steps[0].0.tilted(tilt), None)];
            let decays = parts.decays(tilt, &tilted);
            let log_moment = parts.rough(tilt, 1);
            let nothing = Moment { tilt, log: 0.0 };
            let window = Window { width: 1.0, above: nothing, below: nothing };
            let plan = Contour {
                parts: &parts,
                tilt,
                log_moment,
                log_share: 0.0,
                window,
                last: 0.0,
                tilted,
                decays,
            };
            let log_at =
                |t: f64| count * log_modulus(&fine, cut, tilt, t) - 0.5 * t * t * squared_mu - plan.logs().1;
            let frequencies = || (0..400).map(|k| 1e-2 * 1.1f64.powi(k));
            let begin = frequencies().find(|&t| log_at(t) < -0.02).expect("it falls");
            let (mut above, mut half_exceeded, mut falls) = (f64::NEG_INFINITY, 0, 0);
            for k in (0..120).rev() {
                let t = begin * 1.03f64.powi(k - 20);
                above = above.max(log_at(t));
                let bound = plan.log_beyond(t);
                assert!(above <= bound + 1e-8, "{law:?} {t}: {above} {bound}");
                half_exceeded += usize::from(above > bound - 2f64.ln());
                falls += usize::from(bound < -0.02);
            }
            assert!(half_exceeded > 20 && falls > 20, "{law:?} {half_exceeded} {falls}");
        }
    }

    /// Where the transform hardly falls, all that lies beyond the last frequency has one sign at epsilon = 0,
    /// and comes near its bound. The truth is the distance of the two laws, in closed form.
    #[test]
    fn frequencies_beyond_the_last_are_bounded() {
        for (sigma, rate) in [(1.0f64, 1e-5), (0.5, 1e-6), (2.0, 1e-4)] {
            let law = Law { direction: Direction::Add, sigma, rate };
            let outline = Outline::new(&law, 1.0, 80.0).expect("an outline");
            let parts =
                AllSteps { steps: vec![(Bulk::new(&outline, Cut::none(&outline)), None)], squared_mu: 0.0 };
            let truth = rate * (1.0 - 2.0 * crate::special::upper_tail(0.5 / sigma));
            // The steps' losses are about the rate: no frequency below its reciprocal resolves them.
            let tilt = 0.01 / rate;
            let aim = Aim { epsilon: 0.0, log_delta: truth.ln(), log_share: -4.0 };
            let mut plan = parts.plan(tilt, tilt, aim).expect("a plan");
            plan.last = 0.2 / rate;
            let group = plan.integrate().expect("an integral");
            let found = group.at(0.0);
            let unit = found.log_unit.exp();
            let off = found.estimate - truth / unit;
            let name = format!("{law:?} {truth:e}: {off:e} {:e} {unit} {found:?}", group.tail);
            assert!(found.lower * unit <= truth && truth <= found.upper * unit, "{name}");
            // With half of it the lower end would be wrong.
            assert!(0.6 * group.tail < off && 0.5 * group.tail < found.estimate, "{name}");
        }
    }

    /// A moment and its derivative that are off by as much as is stated move the sum by no more than what is
    /// added for it, and in some of the settings by more than half of that.
    #[test]
    fn errors_of_the_moment_and_its_derivative_are_covered() {
        let mut seen = [0, 0];
        for (sigma, rate, count, tilt, epsilon) in
            [(1.0, 1e-3, 1e4, 20.0, 0.5), (1.0, 1e-2, 1e3, 8.0, 0.8), (0.6, 1e-3, 1e5, 3.0, 3.0)]
        {
            let law = Law { direction: Direction::Add, sigma, rate };
            let outline = Outline::new(&law, count, 80.0).expect("an outline");
            let parts =
                AllSteps { steps: vec![(Bulk::new(&outline, Cut::none(&outline)), None)], squared_mu: 0.0 };
            let log_delta = parts.rough(tilt, 1) - tilt * epsilon + log_peak(tilt) - 1.0;
            let aim = Aim { epsilon, log_delta, log_share: -16.0 };
            let good =
                parts.plan(tilt, tilt, aim).expect("a plan").integrate().expect("an integral").at(epsilon);
            for (slip, slope_slip) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
                let mut plan = parts.plan(tilt, tilt, aim).expect("a plan");
                let moment = &mut plan.tilted[0].0;
                // The slope is that of a loss of the order of 1/tilt.
                let (slip, slope_slip) = (slip / count, slope_slip / (count * tilt));
                moment.excess = Rounded { value: moment.excess.value + slip, error: slip.abs() };
                moment.drift = Rounded { value: moment.drift.value + slope_slip, error: slope_slip.abs() };
                let bad = plan.integrate().expect("an integral").at(epsilon);
                let name = format!("{law:?} {slip} {slope_slip} {good:?} {bad:?}");
                assert!(bad.lower <= good.upper && good.lower <= bad.upper, "{name}");
                let share = (bad.estimate - good.estimate).abs() / (bad.upper - bad.estimate);
                seen[usize::from(slip == 0.0)] += usize::from(share > 0.55);
            }
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
    }
}
