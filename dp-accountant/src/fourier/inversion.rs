//! The inversion integral of one direction at a fixed tilt, with bounds on all of its errors.

use super::law::Law;
use super::sketch::{Sketch, log_peak};
use super::table::Table;
use crate::closed_form::Interval;
use crate::special::ROUNDOFF;

/// How many products of a frequency and an outcome are worth their time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Patience {
    /// Some milliseconds: what a contour takes that suits the losses.
    Little,
    /// Some tenths of a second.
    Much,
}

impl Patience {
    fn most_work(self) -> f64 {
        match self {
            Patience::Little => 4e6,
            Patience::Much => 6e7,
        }
    }

    /// How many times too wide an interval may be for another try with less of an added step.
    pub(super) fn most_excess(self) -> f64 {
        match self {
            Patience::Little => 300.0,
            Patience::Much => f64::INFINITY,
        }
    }

    /// The most outcomes of a grid.
    pub(super) fn most_outcomes(self) -> f64 {
        match self {
            Patience::Little => 12_000.0,
            Patience::Much => 60_000.0,
        }
    }
}

/// Rotations after which phases are computed afresh.
const RESTART: usize = 192;
/// A bound on the relative error of the unsampled part's squared mu, a sum over its events.
pub(super) const BLOCK_ERROR: f64 = 1e-11;
/// Outcomes that are summed up side by side, and those that are summed up before their sum joins the total.
const LANES: usize = 8;
const BLOCK: usize = 64;

/// An upper and a lower end of a logarithm; the lower one may be minus infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogInterval {
    pub(crate) lower: f64,
    pub(crate) estimate: f64,
    pub(crate) upper: f64,
}

impl LogInterval {
    /// The interval of the number whose logarithm this is, a probability.
    pub(super) fn exponential(self) -> Interval {
        // Nothing is claimed of values near the end of the range of f64.
        let outwards = |log: f64, sign: f64| log.exp() * (1.0 + sign * 4.0 * ROUNDOFF * (2.0 + log.abs()));
        let lower = if self.lower < -640.0 { 0.0 } else { outwards(self.lower, -1.0) };
        Interval { lower, upper: (outwards(self.upper, 1.0) + 1e-280).min(1.0) }
    }
}

/// One term of the trapezoidal sum: `Φ(t) / (z (z+1))`, as modulus and angle, with a bound on its error.
#[derive(Debug, Clone, Copy)]
struct Node {
    t: f64,
    /// Modulus times h/π (half of it at t = 0).
    modulus: f64,
    /// The angle at epsilon equal to the mean.
    angle: f64,
    error: f64,
}

/// What the composition's profile looks like seen from one tilt.
pub(super) struct Inversion {
    tilt: f64,
    /// `K(c)` and a bound on its rounding.
    log_moment: f64,
    log_moment_error: f64,
    /// The mean of the tilted total loss, as summed, and a bound on the rounding of that sum.
    mean: f64,
    mean_error: f64,
    nodes: Vec<Node>,
    /// What the frequencies beyond the last can add up to, and what they can add to the density of the loss.
    tail: f64,
    density_tail: f64,
    /// The squared mu of a Gaussian step that was added for its fast decay.
    smoothing: f64,
    /// The width of the window that repeats, and two tilts whose moments bound the repetitions:
    /// `(c', log M(c'))`.
    window: f64,
    above: (f64, f64),
    below: (f64, f64),
}

/// Where to integrate.
pub(super) struct Quadrature {
    pub(super) tilt: f64,
    window: f64,
    above: f64,
    below: f64,
    /// The highest frequency.
    last: f64,
    spacings: Vec<f64>,
    /// The squared mu of the Gaussian step that is part of the block only to make the integrand decay.
    smoothing: f64,
    /// Products of a frequency and an outcome.
    pub(super) work: f64,
}

impl Quadrature {
    /// A plan at this tilt for a delta near `e^log_delta` at `epsilon`, with errors of about `tolerance`
    /// relative to it.
    #[expect(
        clippy::too_many_arguments,
        reason = "called in one place, with numbers that have nothing else in common"
    )]
    pub(super) fn new(
        sketch: &mut Sketch,
        laws: &[(Law, f64)],
        squared_mu: f64,
        tilt: f64,
        epsilon: f64,
        log_delta: f64,
        tolerance: f64,
        smoothing: f64,
        patience: Patience,
    ) -> Option<Self> {
        let squared_mu = squared_mu + smoothing;
        sketch.set_block(squared_mu);
        let there = sketch.cumulants(tilt)?;
        // In units of e^(K - cε).
        let log_goal = (log_delta - there.log_moment + tilt * epsilon).min(0.0) + tolerance.ln();
        let (width_above, above) = sketch.reach_above(tilt, epsilon, log_goal - 1.0);
        let (width_below, below) = sketch.reach_below(tilt, epsilon, log_goal - 1.0);
        let window = 1.01 * width_above.max(width_below);
        let spread = there.variance.sqrt();
        if !(window > 0.0 && window.is_finite() && spread > 0.0) {
            return None;
        }
        let coarse: Option<Vec<Table>> = laws
            .iter()
            .map(|&(law, _)| {
                let spacing = resolution(&law, tilt).min(law.spacing(tilt, 0.0, -25.0)?);
                Table::new(law, tilt, spacing, patience)
            })
            .collect();
        let coarse = coarse?;
        let log_tail = |t: f64| {
            let sum: f64 = coarse
                .iter()
                .zip(laws)
                .map(|(table, (_, count))| count * table.decay.log_bound(t, 0.0))
                .sum();
            sum - 0.5 * t * t * squared_mu - (std::f64::consts::PI * t).ln()
        };
        let far_enough = |t: f64| log_tail(t) <= log_goal - 1.0;
        let mut last = 2.0 / spread;
        while !far_enough(last) {
            last *= 1.5;
            if last > 1e6 / spread {
                return None;
            }
        }
        for step in [0.816_5, 0.903_6, 0.950_6] {
            // Square roots of 2/3 in turn: a search by halves on a logarithmic scale.
            if far_enough(last * step) {
                last *= step;
            }
        }
        let frequencies = (last * window / (2.0 * std::f64::consts::PI)).ceil() + 1.0;
        // Quadrature errors are bounded a stride of frequencies ahead.
        let highest =
            (frequencies + stride(frequencies as usize) as f64) * 2.0 * std::f64::consts::PI / window;
        let total: f64 = laws.iter().map(|(_, count)| count).sum();
        let log_error = tolerance.ln() - 4.0 - total.ln();
        let mut spacings = Vec::with_capacity(laws.len());
        let mut work = 0.0;
        for (table, (law, _)) in coarse.iter().zip(laws) {
            let spacing = law.spacing(tilt, highest, log_error)?.min(resolution(law, tilt));
            work += frequencies * table.weights.len() as f64 * table.spacing / spacing;
            spacings.push(spacing);
        }
        Some(Self { tilt, window, above, below, last, spacings, smoothing, work })
    }
}

#[cfg(test)]
impl Quadrature {
    /// The plan with its window, its highest frequency and its spacings multiplied.
    pub(super) fn spoiled(mut self, window: f64, last: f64, spacing: f64) -> Self {
        self.window *= window;
        self.last *= last;
        self.spacings.iter_mut().for_each(|h| *h *= spacing);
        self
    }
}

/// A spacing at which the bound on the characteristic function is not much worse than it has to be.
fn resolution(law: &Law, tilt: f64) -> f64 {
    (0.1 * law.sigma).min((0.2 / law.curvature(tilt)).sqrt())
}

/// How many frequencies share a bound on their quadrature error.
fn stride(frequencies: usize) -> usize {
    frequencies.div_ceil(16)
}

/// An upper bound on `log E exp(c L)` of the composition.
fn log_moment_bound(laws: &[(Law, f64)], squared_mu: f64, tilt: f64, patience: Patience) -> Option<f64> {
    if tilt <= 0.0 {
        return Some(0.0);
    }
    let mut total = 0.5 * tilt * (tilt + 1.0) * squared_mu * (1.0 + BLOCK_ERROR);
    for &(law, count) in laws {
        let spacing = law.spacing(tilt, 0.0, -30.0)?;
        let table = Table::new(law, tilt, spacing, patience)?;
        let error = law.log_quadrature_error(tilt, 0.0, table.spacing).exp() + table.weight_error;
        if error > 0.5 {
            return None;
        }
        // The truth is at most the computed value over 1 - error.
        total += count * (table.log_moment + table.log_moment_error + 2.0 * error);
    }
    total.is_finite().then_some(total + (8.0 + 2.0 * laws.len() as f64) * ROUNDOFF * total.abs())
}

/// An upper bound on the logarithm of delta at `epsilon`, from the moment at one tilt.
pub(super) fn chernoff(
    laws: &[(Law, f64)],
    squared_mu: f64,
    tilt: f64,
    epsilon: f64,
    patience: Patience,
) -> Option<f64> {
    let log_moment = log_moment_bound(laws, squared_mu, tilt, patience)?;
    let size = log_moment.abs() + tilt * epsilon.abs() + tilt;
    Some(log_moment - tilt * epsilon + log_peak(tilt) + 16.0 * ROUNDOFF * (1.0 + size))
}

/// An upper bound on the epsilon at which delta is `e^log_delta`, from the moment at one tilt.
pub(super) fn chernoff_epsilon(
    laws: &[(Law, f64)],
    squared_mu: f64,
    tilt: f64,
    log_delta: f64,
    patience: Patience,
) -> Option<f64> {
    let log_moment = log_moment_bound(laws, squared_mu, tilt, patience)?;
    let peak = log_peak(tilt);
    let size = log_moment.abs() + peak.abs() + log_delta.abs() + tilt;
    let epsilon = (log_moment + peak - log_delta + 32.0 * ROUNDOFF * (1.0 + size)) / tilt;
    (tilt > 0.0 && epsilon.is_finite()).then_some(epsilon.max(0.0) * (1.0 + 4.0 * ROUNDOFF))
}

impl Inversion {
    pub(super) fn new(
        plan: &Quadrature,
        laws: &[(Law, f64)],
        squared_mu: f64,
        patience: Patience,
    ) -> Option<Self> {
        if plan.work.is_nan() || plan.work > patience.most_work() {
            return None;
        }
        let c = plan.tilt;
        let squared_mu = squared_mu + plan.smoothing;
        let h = 2.0 * std::f64::consts::PI / plan.window;
        let count = (plan.last / h).ceil() as usize + 1;
        let block = 0.5 * c * (c + 1.0) * squared_mu;
        let (mut log_moment, mut log_moment_error) = (block, BLOCK_ERROR * block);
        let mut mean = (c + 0.5) * squared_mu;
        let mut mean_size = 4.0 * mean;
        // Logarithm of the modulus, angle, and the exponent of the error factor.
        let mut powers = vec![[0.0f64; 3]; count];
        let mut sums = vec![[0.0f64; 2]; count];
        let mut log_tail = 0.0;
        let past = count as f64 * h;
        for (&(law, uses), &spacing) in laws.iter().zip(&plan.spacings) {
            let table = Table::new(law, c, spacing, patience)?;
            log_moment += uses * table.log_moment;
            log_moment_error += uses * (table.log_moment_error + 2.0 * ROUNDOFF * table.log_moment.abs())
                + ROUNDOFF * log_moment.abs();
            mean += uses * table.mean;
            mean_size += (uses * table.mean).abs() + mean.abs();
            characteristic(&table, h, &mut sums);
            let base = table.weight_error + summation_error(table.weights.len());
            // Masses are relative to the computed moment, which differs from the true one by this much.
            let at_zero = base + law.log_quadrature_error(c, 0.0, table.spacing).exp();
            log_tail += uses * table.decay.log_bound(past, at_zero);
            // The quadrature error grows with t: that of a later frequency bounds it.
            let stride = stride(count);
            let mut quadrature = 0.0;
            for (k, (power, sum)) in powers.iter_mut().zip(&sums).enumerate() {
                let t = k as f64 * h;
                if k % stride == 0 {
                    let later = (k + stride) as f64 * h;
                    quadrature = law.log_quadrature_error(c, later, table.spacing).exp();
                }
                let turns = (k % RESTART) as f64;
                let error = base
                    + quadrature
                    + t * (table.loss_error + 4.0 * ROUNDOFF * table.mean_distance)
                    + ROUNDOFF * (8.0 + turns * (8.0 + 4.0 * h * table.mean_distance));
                let modulus = (sum[0] * sum[0] + sum[1] * sum[1]).sqrt().max(1e-100);
                power[0] += uses * modulus.ln();
                power[1] += uses * sum[1].atan2(sum[0]);
                // The error of the sum, and of logarithm, angle and their products.
                power[2] += uses * ((error / modulus).ln_1p() + 8.0 * ROUNDOFF * (4.0 + modulus.ln().abs()))
                    + 2.0 * ROUNDOFF * (power[0].abs() + power[1].abs());
            }
        }
        log_tail -= 0.5 * past * past * squared_mu * (1.0 - 1e-12);
        let nodes = powers
            .iter()
            .enumerate()
            .map(|(k, &[log_modulus, angle, log_error])| {
                let t = k as f64 * h;
                let half = if k == 0 { 0.5 } else { 1.0 };
                let log_modulus = log_modulus - 0.5 * t * t * squared_mu;
                let kernel = ((c * c + t * t) * ((c + 1.0) * (c + 1.0) + t * t)).sqrt();
                let scale = half * h / (std::f64::consts::PI * kernel);
                let modulus = scale * log_modulus.exp();
                // |Φ' - Φ| <= |Φ| (e^error - 1); a modulus is at most 1 in truth.
                let error = if log_modulus < -200.0 {
                    2.0 * scale * (log_modulus + log_error).min(0.0).exp()
                } else {
                    modulus * log_error.exp_m1().min(1e300)
                };
                let angle = angle - t.atan2(c) - t.atan2(c + 1.0);
                Node {
                    t,
                    modulus,
                    angle,
                    error: error
                        + modulus
                            * (16.0 * ROUNDOFF * (1.0 + angle.abs()) + BLOCK_ERROR * t * t * squared_mu),
                }
            })
            .collect();
        let above = (plan.above, log_moment_bound(laws, squared_mu, plan.above, patience)?);
        let below = (plan.below, log_moment_bound(laws, squared_mu, plan.below, patience)?);
        // Σ_(k > K) h/t_k² is at most 1/t_K.
        let tail = log_tail.exp() / (std::f64::consts::PI * (past - h).max(h));
        // Of the density, Σ h e^(-t² v/2) beyond t_K is at most e^(-t_K² v/2) / (v t_K).
        let density_tail = match plan.smoothing {
            0.0 => 0.0,
            v => {
                let before = (past - h).max(h);
                (-0.5 * before * before * v * (1.0 - 1e-12)).exp() / (std::f64::consts::PI * v * before)
            }
        };
        let finite =
            log_moment.is_finite() && mean.is_finite() && tail.is_finite() && density_tail.is_finite();
        finite.then_some(Self {
            tilt: c,
            log_moment,
            log_moment_error,
            mean,
            mean_error: 4.0 * ROUNDOFF * mean_size + BLOCK_ERROR * (c + 0.5) * squared_mu,
            nodes,
            tail,
            density_tail,
            smoothing: plan.smoothing,
            window: plan.window,
            above,
            below,
        })
    }

    /// The logarithm of delta at `epsilon`, and minus its derivative.
    pub(super) fn log_delta(&self, epsilon: f64) -> (LogInterval, f64) {
        let shift = self.mean - epsilon;
        let shift_error = self.mean_error + 2.0 * ROUNDOFF * (self.mean.abs() + epsilon.abs());
        let (mut sum, mut slope, mut error, mut size) = (0.0, 0.0, self.tail, 0.0);
        // The density of the total loss at epsilon: the same integral without the denominator z (z+1).
        let (mut density, mut density_error) = (0.0, self.density_tail);
        let c = self.tilt;
        for node in &self.nodes {
            let (sine, cosine) = (node.t * shift + node.angle).sin_cos();
            sum += node.modulus * cosine;
            // Re[z g] = c Re g - t Im g.
            slope += node.modulus * (c * cosine - node.t * sine);
            let phase_error = node.t * (shift_error + 4.0 * ROUNDOFF * shift.abs());
            let node_error = node.error + node.modulus * phase_error;
            error += node_error;
            size += node.modulus;
            if self.smoothing > 0.0 {
                let (real, imaginary) = (c * (c + 1.0) - node.t * node.t, node.t * (2.0 * c + 1.0));
                density += node.modulus * (real * cosine - imaginary * sine);
                density_error +=
                    (node_error + 8.0 * ROUNDOFF * node.modulus) * (real.abs() + imaginary.abs());
            }
        }
        // Without the added step delta is smaller, by half its squared mu times the density if that is
        // smooth.
        let added = self.smoothing
            * (0.125 * self.smoothing).exp()
            * (density + density_error).max(0.0)
            * (1.0 + 1e-9);
        error = error * (1.0 + 1e-9) + (self.nodes.len() as f64 + 8.0) * ROUNDOFF * size;
        // Repetitions of the window only add.
        let unit = self.log_moment - self.tilt * epsilon;
        let repeated = |(tilt, log_moment): (f64, f64), step: f64| {
            let peak = if tilt > 0.0 { log_peak(tilt) } else { 0.0 };
            let ratio = (-step * self.window).exp();
            (peak + log_moment - tilt * epsilon - unit).exp() * ratio / (1.0 - ratio)
        };
        let repetitions =
            repeated(self.above, self.above.0 - self.tilt) + repeated(self.below, self.tilt - self.below.0);
        let repetitions = repetitions * (1.0 + 1e-6) + 1e-300;
        let rounding = self.log_moment_error
            + 8.0 * ROUNDOFF * (1.0 + unit.abs() + self.log_moment.abs() + self.tilt * epsilon.abs());
        let (low, high) = (sum - error - repetitions - added, sum + error);
        let sum = sum - 0.5 * added;
        let interval = LogInterval {
            lower: if low > 0.0 { unit + low.ln() - rounding } else { f64::NEG_INFINITY },
            estimate: if sum > 0.0 { unit + sum.ln() } else { f64::NEG_INFINITY },
            upper: if high > 0.0 { (unit + high.ln() + rounding).min(0.0) } else { f64::NAN },
        };
        (interval, slope / sum.max(f64::MIN_POSITIVE))
    }
}

/// `Σ w_i e^(i t d_i)` at `t = 0, h, 2h, …`, by rotating phases.
fn characteristic(table: &Table, h: f64, sums: &mut [[f64; 2]]) {
    let count = table.weights.len();
    let (turn_re, turn_im): (Vec<f64>, Vec<f64>) =
        table.losses.iter().map(|d| (h * d).sin_cos()).map(|(s, c)| (c, s)).unzip();
    let (mut re, mut im) = (vec![0.0; count], vec![0.0; count]);
    for (block, chunk) in sums.chunks_mut(RESTART).enumerate() {
        let start = (block * RESTART) as f64 * h;
        for k in 0..count {
            let (sine, cosine) = (start * table.losses[k]).sin_cos();
            (re[k], im[k]) = (table.weights[k] * cosine, table.weights[k] * sine);
        }
        for sum in chunk {
            *sum = rotate(&mut re, &mut im, &turn_re, &turn_im);
        }
    }
}

/// The sum of all phases, which are then turned once.
pub(super) fn rotate(re: &mut [f64], im: &mut [f64], turn_re: &[f64], turn_im: &[f64]) -> [f64; 2] {
    let mut sum = [0.0; 2];
    let blocks = re.chunks_mut(BLOCK).zip(im.chunks_mut(BLOCK));
    for ((re, im), (a, b)) in blocks.zip(turn_re.chunks(BLOCK).zip(turn_im.chunks(BLOCK))) {
        let (mut sum_re, mut sum_im) = ([0.0; LANES], [0.0; LANES]);
        let mut lanes = |re: &mut [f64], im: &mut [f64], a: &[f64], b: &[f64]| {
            for l in 0..re.len() {
                let (x, y) = (re[l], im[l]);
                sum_re[l] += x;
                sum_im[l] += y;
                re[l] = x * a[l] - y * b[l];
                im[l] = x * b[l] + y * a[l];
            }
        };
        let (mut re, mut im) = (re.chunks_exact_mut(LANES), im.chunks_exact_mut(LANES));
        let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        let (rest_a, rest_b) = (a.remainder(), b.remainder());
        for (((x, y), a), b) in (&mut re).zip(&mut im).zip(a).zip(b) {
            lanes(x, y, a, b);
        }
        lanes(re.into_remainder(), im.into_remainder(), rest_a, rest_b);
        sum[0] += sum_re.iter().sum::<f64>();
        sum[1] += sum_im.iter().sum::<f64>();
    }
    sum
}

/// A bound on the rounding of such a sum of numbers whose moduli add up to 1: each passes through at most a
/// block's worth of one lane, the lanes and the blocks.
pub(super) fn summation_error(count: usize) -> f64 {
    2.0 * ROUNDOFF * (BLOCK / LANES + LANES + count.div_ceil(BLOCK)) as f64
}
