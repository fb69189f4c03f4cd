//! One direction of a composition: where its losses are cut, and the search for epsilon.

use super::band::Band;
use super::bulk::Bulk;
use super::contour::{Aim, AllSteps, Contour};
use super::grid::Cut;
use super::grid::Outline;
use super::snapshot::{Crossing, Snapshot};
use crate::closed_form::Interval;
use crate::fourier::sketch::log_peak;
use crate::fourier::{Direction, Law, LogInterval};
use crate::golden::{ROUGHLY, minimise};
use crate::special::ROUNDOFF;

/// How fast `cL` may grow with u at a cut, and how much faster for each e-fold by which the density falls
/// there: under a tilt that is larger the rarest of the small losses would be the likeliest.
const STEEPNESS: f64 = 3.0;
const STEEPNESS_OF_FALL: f64 = 0.5;
/// The largest odds of a first cut, and the ratio of consecutive cuts.
const MOST_ODDS: f64 = 32.0;
const RATIO: f64 = 4.0;
/// This many large losses may be expected where small ones are looked at, unless there are few steps anyway.
const MOST_JUMPS: f64 = 4.0;
const FEW_STEPS: f64 = 64.0;
/// The most bands, and the most laws.
const MOST_BANDS: usize = 60;
const MOST_LAWS: usize = 12;
/// Below this logarithm of delta masses come near the end of the range of f64.
pub(super) const SMALLEST: f64 = -500.0;
/// For values of delta below this logarithm the discretised distribution of a few steps is faster.
const DEEP: f64 = -120.0;
const STEPS_IN_THE_DEEP: f64 = 1_000.0;
/// The most places at which delta is taken apart in the search for epsilon.
const ROUNDS: usize = 8;

/// A tilt under which to look at small losses, the odds from which losses are large (none in the reversed
/// direction, whose losses are bounded), and roughly the logarithm of the small ones' moment.
#[derive(Debug, Clone, Copy)]
struct Rung {
    tilt: f64,
    odds: Option<f64>,
    log_moment: f64,
}

impl Rung {
    fn chernoff(&self, epsilon: f64) -> f64 {
        self.log_moment - self.tilt * epsilon + log_peak(self.tilt)
    }
}

/// One direction of a composition.
pub(super) struct Side {
    squared_mu: f64,
    outlines: Vec<Outline>,
    is_reversed: bool,
    /// The standard deviation of the untilted loss, roughly.
    deviation: f64,
    ladder: Vec<Rung>,
    /// The share of delta that each source of error is planned for, as a logarithm.
    pub(super) log_share: f64,
}

impl Side {
    /// Whether a direction is looked at for values of delta down to a logarithm.
    pub(super) fn suits(laws: &[(Law, f64)], log_delta: f64) -> bool {
        let total: f64 = laws.iter().map(|(_, count)| count).sum();
        laws.len() <= MOST_LAWS
            && log_delta >= if total < STEPS_IN_THE_DEEP { DEEP } else { SMALLEST }
            && laws.iter().all(|(law, _)| Outline::suits(law))
    }

    /// The direction, prepared for values of delta down to a logarithm and for relative errors of about
    /// `width`.
    pub(super) fn new(laws: &[(Law, f64)], squared_mu: f64, log_delta: f64, width: f64) -> Option<Self> {
        if !Self::suits(laws, log_delta) {
            return None;
        }
        let total: f64 = laws.iter().map(|(_, count)| count).sum();
        // What lies beyond the outlines is to weigh e^-30 of delta.
        let log_mass = total.ln() - log_delta + 30.0;
        let outlines: Option<Vec<Outline>> =
            laws.iter().map(|(law, count)| Outline::new(law, *count, log_mass)).collect();
        let outlines = outlines?;
        let variance = |outline: &Outline| {
            let points = outline.points.iter();
            let sum: f64 = points.map(|p| p.density * p.gain.exp() * p.loss * p.loss).sum();
            outline.count * outline.spacing * sum
        };
        let deviation = (squared_mu + outlines.iter().map(variance).sum::<f64>()).sqrt();
        if !(deviation > 0.0 && deviation.is_finite()) {
            return None;
        }
        let is_reversed = outlines.iter().any(|outline| outline.direction == Direction::Add);
        // Errors of a few dozen parts add up.
        let log_share = (width.ln() - 9.0).clamp(-25.0, -9.0);
        let mut side = Self { squared_mu, outlines, is_reversed, deviation, ladder: Vec::new(), log_share };
        side.ladder = side.ladder(log_delta);
        Some(side)
    }

    /// All steps with losses that are small by a cut, or without cut.
    fn base(&self, odds: Option<f64>) -> AllSteps<'_> {
        let steps = self.outlines.iter().map(|outline| {
            let cut = odds.map_or_else(|| Cut::none(outline), |odds| Cut::new(outline, odds));
            (Bulk::new(outline, cut), None)
        });
        AllSteps { steps: steps.collect(), squared_mu: self.squared_mu }
    }

    /// All steps, of which one at least has a loss between two cuts.
    fn jumping(&self, lower: f64, upper: f64) -> AllSteps<'_> {
        let steps = self.outlines.iter().map(|outline| {
            let (lower, upper) = (Cut::new(outline, lower), Cut::new(outline, upper));
            (Bulk::new(outline, lower), Some(Band::new(outline, lower, upper)))
        });
        AllSteps { steps: steps.collect(), squared_mu: self.squared_mu }
    }

    /// How fast `cL` may grow with u at a cut. It grows by `c o/(1 + o)`, where o are the odds.
    fn steepness(&self, odds: f64) -> f64 {
        // Minus the logarithmic derivative of the density about a large loss, that of N(v/2, v).
        let fall = |outline: &Outline| (Cut::new(outline, odds).centre / outline.v - 0.5).max(0.0);
        let least = self.outlines.iter().map(fall).fold(f64::INFINITY, f64::min);
        STEEPNESS + STEEPNESS_OF_FALL * least.min(60.0)
    }

    /// A bound on the expected number of losses that are large by a cut: on the mass of all outcomes with
    /// one.
    fn larger(&self, cut: impl Fn(&Outline) -> Cut) -> f64 {
        let of = |outline: &Outline| outline.count * cut(outline).large_mass(outline);
        self.outlines.iter().map(of).sum::<f64>() * (1.0 + 1e-9)
    }

    /// The rungs from the smallest tilt that can matter upwards.
    fn ladder(&self, log_delta: f64) -> Vec<Rung> {
        let total: f64 = self.outlines.iter().map(|outline| outline.count).sum();
        let rate = self.outlines.iter().map(|outline| outline.rate).fold(0.0, f64::max);
        // The largest loss that a step has with a probability of delta.
        let delta = log_delta.exp();
        let largest = |outline: &Outline| {
            let mut mass = 0.0;
            let within = outline.points.iter().rev().take_while(|p| {
                mass += outline.count * outline.spacing * p.density * p.gain.exp();
                mass < delta
            });
            within.last().map_or(0.0, |p| p.loss)
        };
        let largest = self.outlines.iter().map(largest).fold(0.0, f64::max);
        let mut tilt = 0.1 / if self.is_reversed { self.deviation } else { largest.max(self.deviation) };
        let mut ladder = Vec::new();
        while ladder.len() < 100 && tilt.is_finite() && !(self.is_reversed && tilt * rate > 20.0) {
            let odds = (!self.is_reversed).then(|| {
                let odds = |steepness: f64| {
                    let posterior = steepness / tilt;
                    if posterior < 0.97 { posterior / (1.0 - posterior) } else { MOST_ODDS }
                };
                (0..3).fold(odds(STEEPNESS), |found, _| odds(self.steepness(found)))
            });
            if let Some(odds) = odds
                && !ladder.is_empty()
                && total > FEW_STEPS
                && self.larger(|outline| Cut::new(outline, odds)) > MOST_JUMPS
            {
                break;
            }
            let base = self.base(odds);
            let log_moment = base.rough(tilt, base.stride());
            ladder.push(Rung { tilt, odds, log_moment });
            // For few steps the cuts go down to where all steps together cannot lose anything.
            if log_moment < log_delta - 100.0 {
                break;
            }
            tilt *= 1.25;
        }
        ladder
    }

    /// The rung from which to look at small losses for an epsilon, and Chernoff's bound there: the first one
    /// that shows them not to matter, or the one with the best bound.
    fn cut(&self, epsilon: f64, log_goal: f64) -> Option<(Rung, f64)> {
        let mut best: Option<(Rung, f64)> = None;
        for &rung in &self.ladder {
            let bound = rung.chernoff(epsilon);
            if best.is_none_or(|best| bound < best.1) {
                best = Some((rung, bound));
            }
            if bound < log_goal {
                break;
            }
        }
        best
    }

    /// Whether Chernoff's bound already shows delta at epsilon to be at most `e^log_delta`. Only asked of
    /// directions without large losses.
    pub(super) fn stays_below(&self, epsilon: f64, log_delta: f64) -> bool {
        let Some((rung, bound)) = self.cut(epsilon, log_delta - 1.0).filter(|_| self.is_reversed) else {
            return false;
        };
        bound < log_delta
            && self.base(rung.odds).moment(rung.tilt).is_some_and(|moment| {
                let beyond = self.larger(Cut::none);
                (moment.chernoff(epsilon).exp() + beyond) * (1.0 + 1e-9) <= log_delta.exp()
            })
    }

    /// What delta consists of near `epsilon`, where it is about `e^log_delta`.
    pub(super) fn snapshot(&self, epsilon: f64, log_delta: f64) -> Option<Snapshot> {
        self.snapshot_by(epsilon, log_delta, |_| ())
    }

    /// The same, with plans that are adjusted before they are carried out.
    pub(super) fn snapshot_by(
        &self,
        epsilon: f64,
        log_delta: f64,
        adjust: impl Fn(&mut Contour<'_>),
    ) -> Option<Snapshot> {
        let aim = Aim { epsilon, log_delta, log_share: self.log_share };
        let log_goal = log_delta + self.log_share;
        let (Rung { tilt, odds, .. }, bound) = self.cut(epsilon, log_goal - 1.0)?;
        let mut snapshot = Snapshot::default();
        let base = self.base(odds);
        snapshot.add(&base, tilt, tilt, bound, aim, &adjust)?;
        let Some(mut odds) = odds else {
            snapshot.rest = self.larger(Cut::none);
            return Some(snapshot);
        };
        for _ in 0..MOST_BANDS {
            snapshot.rest = self.larger(|outline| Cut::new(outline, odds));
            if snapshot.rest.ln() < log_goal {
                return Some(snapshot);
            }
            let next = RATIO * odds;
            let parts = self.jumping(odds, next);
            let stride = parts.stride();
            let most = self.steepness(next) * (1.0 + next) / next;
            let bound_at = |log: f64| {
                let c = log.exp();
                parts.rough(c, stride) - c * epsilon + log_peak(c)
            };
            let (log_tilt, bound) = minimise(bound_at, (most.ln() - 6.0, most.ln()), ROUGHLY);
            snapshot.add(&parts, log_tilt.exp(), most, bound, aim, &adjust)?;
            odds = next;
        }
        None
    }

    /// An interval for the logarithm of delta at this epsilon, or how small it may be if that is smaller than
    /// the direction was prepared for.
    pub(super) fn log_delta(&self, epsilon: f64) -> Option<LogInterval> {
        let mut guess = self.guess(epsilon);
        let mut best: Option<LogInterval> = None;
        for _ in 0..4 {
            let Some(snapshot) = self.snapshot(epsilon, guess) else { break };
            let (found, _) = snapshot.at(epsilon);
            best = Some(found);
            // Planned for a delta that was not much too large?
            if found.lower.is_finite() && found.estimate > guess - 3.0 {
                break;
            }
            guess = if found.estimate.is_finite() { found.estimate } else { found.upper }.max(SMALLEST);
        }
        best
    }

    /// A rough idea of the logarithm of delta: small losses by Chernoff, or one large one.
    fn guess(&self, epsilon: f64) -> f64 {
        let base = self.cut(epsilon, SMALLEST).map_or(0.0, |cut| cut.1);
        let one = |outline: &Outline| {
            let large = outline.points.iter().filter(|p| p.loss > epsilon);
            let sum: f64 = large.map(|p| p.density * p.gain.exp() * -(epsilon - p.loss).exp_m1()).sum();
            outline.count * outline.spacing * sum
        };
        let one: f64 = if self.is_reversed { 0.0 } else { self.outlines.iter().map(one).sum() };
        (base.exp() + one).ln().clamp(SMALLEST, 0.0)
    }

    /// An interval for epsilon.
    pub(super) fn epsilon(&self, log_delta: f64, relative_width: f64) -> Option<Interval> {
        let mut epsilon = self.first_epsilon(log_delta);
        let margin = 8.0 * ROUNDOFF * log_delta.abs();
        let mut found: Option<Interval> = None;
        let mut asked_zero = false;
        for _ in 0..ROUNDS {
            if epsilon < 0.05 * self.deviation && !asked_zero {
                asked_zero = true;
                if self.snapshot(0.0, log_delta)?.at(0.0).0.upper <= log_delta - margin {
                    return Some(Interval::ZERO);
                }
            }
            let Some(snapshot) = self.snapshot(epsilon, log_delta) else { break };
            match snapshot.place(epsilon, log_delta) {
                None => break,
                Some(Crossing::Elsewhere(next)) => epsilon = next,
                Some(Crossing::Here(place)) => {
                    let next = snapshot.certify(place, log_delta, margin);
                    let narrow = next.upper - next.lower <= 1e-2 * relative_width * place;
                    let near = (place / epsilon).ln().abs() < 0.05;
                    found = Some(found.map_or(next, |found: Interval| found.intersect(next)));
                    if narrow || near {
                        break;
                    }
                    epsilon = place;
                }
            }
        }
        found
    }

    /// Where the rough delta falls to the given one.
    fn first_epsilon(&self, log_delta: f64) -> f64 {
        let (mut low, mut high) = (1e-3 * self.deviation, self.deviation);
        for _ in 0..60 {
            if self.guess(high) < log_delta {
                break;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..6 {
            let middle = (low * high).sqrt();
            if self.guess(middle) < log_delta {
                high = middle;
            } else {
                low = middle;
            }
        }
        (low * high).sqrt()
    }
}

impl Snapshot {
    /// Adds a part, integrated under a tilt or, where the bound shows it to be too small to matter, only
    /// bounded.
    fn add(
        &mut self,
        parts: &AllSteps<'_>,
        tilt: f64,
        reach: f64,
        bound: f64,
        aim: Aim,
        adjust: impl Fn(&mut Contour<'_>),
    ) -> Option<()> {
        if bound < aim.log_delta + aim.log_share {
            self.bounded.push(parts.moment(tilt)?);
        } else {
            let mut plan = parts.plan(tilt, reach, aim)?;
            adjust(&mut plan);
            self.groups.push(plan.integrate()?);
        }
        Some(())
    }
}
