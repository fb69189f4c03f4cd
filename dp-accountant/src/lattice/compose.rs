//! Composition of loss distributions by a tilted Fourier transform, with a tally of every error.
//!
//! With masses m_j at losses l_j = jh, a tilt c and numbers g close to log Σ m_j e^(c l_j), the tilted masses
//! w_j = m_j e^(c l_j - g) add up to about 1, and if f is the T-fold convolution of w,
//!
//! ```text
//! delta(ε) = e^(Tg) Σ_n f_n e^(-c l_n) (1 - e^(ε - l_n))₊   (and the mass at infinite loss)
//! ```
//!
//! With c near the saddle point f is concentrated near ε, so that an error that is small against the largest
//! f_n is small against delta, however small delta is. Four errors are accounted for:
//!
//! 1. The w_j are rounded, relative to each by u (|c l_j| + 2 |c l_j - g| + 4) at most: a factor e^±(T ·) on
//!    f. The part with |c l_j| <= |c l_j - g| + |g| is charged in two places, by the steepest exponent and by
//!    Σ T |g|. Where a table is longer than the transform, ⌈table / n⌉ of its entries are added up in one
//!    place, with a rounding each.
//! 2. Transforms. A power-of-two transform of n numbers with absolute sum S errs by at most 12 u log2(n) S in
//!    each output: a radix-2 stage multiplies the bound by 1 + 11u (complex product, sum, and a twiddle
//!    factor whose angle and whose value are rounded, 7u together), and the moduli of all stages multiply to
//!    the matrix of ones; larger radices spend fewer twiddle factors. Powers are taken through logarithm and
//!    angle, which add less than 12u per factor, and 4u more for each of the m distributions whose angles are
//!    added up. So with a = |computed coefficient| the T-th power errs by at most (a (1 + (14 + 4m) u) + 12u
//!    log2 n S)^T - a^T. The mean of these bounds over all frequencies, with the error of the inverse
//!    transform, bounds the error of every f_n. Both ends of the interval go through one transform, as real
//!    and imaginary part: S is the sum of both, and taking them apart adds 2u of the result. A frequency at
//!    which the bound on the power is below e^-100 is set to zero, and all it could be is error.
//! 3. Wrap-around: f is obtained modulo n. The mass of f outside the window of n points is bounded by
//!    Chernoff's inequality on the tilted masses. It can only add to the computed f_n, which the lower end
//!    subtracts at the place where it weighs most; mass above the window counts fully into the upper end at
//!    the weight of the window's top.
//! 4. Sums over the window and the exponents in its weights: a relative error, stated at the end.
//!
//! # References
//! Koskela, Jälkö and Honkela 2020, "Computing Tight Differential Privacy Guarantees Using FFT" (the
//! transform); Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 24 (its rounding).

use std::sync::Arc;

use rustfft::{Fft, FftPlanner, num_complex::Complex};

use super::discretise::LossDistribution;
use super::scout::Window;
use crate::special::ROUNDOFF;

/// The tilted composition on a window of the lattice.
pub(crate) struct Composed {
    spacing: f64,
    /// The loss at lattice index 0.
    shift: f64,
    tilt: f64,
    /// Lattice index of the first entry of `tilted`.
    first: i64,
    tilted: Vec<f64>,
    /// Bound on the absolute error of each entry, wrap-around aside.
    entry_error: f64,
    /// Bounds on the mass below and above the window.
    below: f64,
    above: f64,
    /// Σ T g, the logarithm of what tilted masses are to be multiplied with.
    log_scale: f64,
    /// Bound on the relative error of all weights, as an exponent.
    relative_error: f64,
    /// Bound on the mass at infinite loss.
    infinite: f64,
}

/// Which end of the interval a sum is for, and so the direction of every rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    Lower,
    Upper,
}

/// The logarithm of Σ m_j e^(c l_j), to a relative error of the sum of 2u (|c l| + points + 900).
fn log_mgf(distribution: &LossDistribution, spacing: f64, c: f64) -> f64 {
    /// This many factors in a row come from one exponential, which adds less than 200u.
    const RUN: usize = 32;
    let exponent = |j: usize| c * (distribution.shift + (distribution.first + j as i64) as f64 * spacing);
    let masses = &distribution.masses;
    let size =
        |(j, mass): (usize, &f64)| if *mass > 0.0 { exponent(j) + mass.ln() } else { f64::NEG_INFINITY };
    // A sample shows about where the sum has its weight.
    let top = masses.iter().enumerate().step_by(RUN / 4).map(size).fold(f64::NEG_INFINITY, f64::max);
    let ratio = (c * spacing).exp();
    let mut sum = 0.0;
    for (run, some) in masses.chunks(RUN).enumerate() {
        let mut factor = (exponent(run * RUN) - top).exp();
        let mut part = 0.0;
        for mass in some {
            part += mass * factor;
            factor *= ratio;
        }
        sum += part;
    }
    if sum.is_finite() && (1e-200..1e200).contains(&sum) && top.is_finite() {
        return top + sum.ln();
    }
    // Terms out of range: exponents are compared one by one.
    let top = masses.iter().enumerate().map(size).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    let terms = masses.iter().enumerate().map(|term| (size(term) - top).exp());
    top + terms.sum::<f64>().ln()
}

/// What has been composed towards one end.
struct Tally {
    /// Per frequency: the sum of T log a, of T angles, and of T log((a (1 + 12u) + error) / a). An angle that
    /// is not a number marks a frequency that cannot matter; the other two then add up to the logarithm of a
    /// bound.
    powers: Vec<[f64; 3]>,
    log_scale: f64,
    scale_size: f64,
    relative_error: f64,
    infinite: f64,
    log_up: f64,
    log_down: f64,
    chernoff_error: f64,
    is_possible: bool,
}

/// Composes distributions one by one, the two ends side by side.
pub(crate) struct Composer {
    spacing: f64,
    tilt: f64,
    length: usize,
    window: Window,
    shift: f64,
    power_error: f64,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    scratch: Vec<Complex<f64>>,
    buffer: Vec<Complex<f64>>,
    /// For the upper and the lower end.
    tallies: [Tally; 2],
}

/// Logarithms of powers below this count as nothing.
const NOTHING: f64 = -100.0;

impl Composer {
    /// Nothing yet of `parts` distributions, to be composed under a tilt on a window of `length` (a power of
    /// two) points. What that is more than the wanted window is divided between both sides of it.
    pub(crate) fn new(parts: usize, spacing: f64, tilt: f64, length: usize, window: Window) -> Self {
        let mut planner = FftPlanner::<f64>::new();
        let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        let scratch = forward.get_inplace_scratch_len().max(inverse.get_inplace_scratch_len());
        let tally = || Tally {
            powers: vec![[0.0f64; 3]; length / 2 + 1],
            log_scale: 0.0,
            scale_size: 0.0,
            relative_error: 0.0,
            infinite: 0.0,
            log_up: 0.0,
            log_down: 0.0,
            chernoff_error: 1.0,
            is_possible: true,
        };
        Self {
            spacing,
            tilt,
            length,
            window,
            shift: 0.0,
            power_error: (14.0 + 4.0 * parts as f64) * ROUNDOFF,
            forward,
            inverse,
            scratch: vec![Complex::new(0.0, 0.0); scratch],
            buffer: vec![Complex::new(0.0, 0.0); length],
            tallies: [tally(), tally()],
        }
    }

    /// Adds `count` times a pair of distributions on the same lattice, for the upper and for the lower end.
    pub(crate) fn add(&mut self, upper: &LossDistribution, lower: &LossDistribution, count: f64) {
        let (u, length) = (ROUNDOFF, self.length);
        self.shift += count * upper.shift;
        self.buffer.fill(Complex::new(0.0, 0.0));
        let mut totals = [0.0; 2];
        for (end, distribution) in [upper, lower].into_iter().enumerate() {
            match self.place(end, distribution, count) {
                Some(total) => totals[end] = total,
                None => self.tallies[end].is_possible = false,
            }
        }
        self.forward.process_with_scratch(&mut self.buffer, &mut self.scratch);
        let folded = upper.masses.len().max(lower.masses.len()).div_ceil(length) as f64;
        let transform_error = 12.0 * u * (length as f64).log2();
        let error = (transform_error + u * folded) * (totals[0] + totals[1]) * (1.0 + 1e-9);
        for (end, total) in totals.into_iter().enumerate() {
            // No coefficient exceeds the sum; and one below `nothing` vanishes when it is raised to the
            // power.
            let most = count * (total * (1.0 + self.power_error) + error).max(1.0).ln();
            let nothing = (1.01 * NOTHING / count).exp() - error;
            let nothing = if nothing > 0.0 { (nothing * (1.0 - self.power_error)).powi(2) } else { -1.0 };
            let powers = &mut self.tallies[end].powers;
            for (k, power) in powers.iter_mut().enumerate() {
                if power[1].is_nan() {
                    power[0] += most;
                    continue;
                }
                let (one, other) = (self.buffer[k], self.buffer[(length - k) % length].conj());
                let twice = if end == 0 { one + other } else { one - other };
                let square = 0.25 * twice.norm_sqr();
                if square < nothing {
                    *power = [power[0] + 1.01 * NOTHING, f64::NAN, power[2]];
                    continue;
                }
                let square = square.max(1e-300);
                power[0] += count * 0.5 * square.ln();
                // For the lower end the difference is 2i times the coefficient.
                let angle = if end == 0 { twice.im.atan2(twice.re) } else { (-twice.re).atan2(twice.im) };
                power[1] += count * angle;
                let relative = self.power_error + error / square.sqrt();
                // log(1 + x) <= x
                power[2] += count * if relative < 1e-9 { relative } else { relative.ln_1p() };
            }
        }
    }

    /// Puts the tilted masses of one distribution into the buffer and notes what it costs; their sum.
    fn place(&mut self, end: usize, distribution: &LossDistribution, count: f64) -> Option<f64> {
        let (u, spacing, tilt, window) = (ROUNDOFF, self.spacing, self.tilt, self.window);
        let tally = &mut self.tallies[end];
        let g = log_mgf(distribution, spacing, tilt);
        if !g.is_finite() {
            return None;
        }
        let up = log_mgf(distribution, spacing, tilt + window.up) - g;
        let down = log_mgf(distribution, spacing, tilt - window.down) - g;
        // Exponents of this size were rounded and this many terms added, in each of the logarithms.
        let points = distribution.masses.len() as f64;
        let furthest = distribution.shift.abs() + (distribution.first.abs() as f64 + points) * spacing;
        let steepest = tilt + window.up + window.down;
        tally.chernoff_error += count * 4.0 * u * (steepest * furthest + points + 900.0);
        tally.log_up += count * up;
        tally.log_down += count * down;
        tally.log_scale += count * g;
        tally.scale_size += (count * g).abs();
        tally.infinite += count * distribution.infinite;
        let (mut total, mut steepest) = (0.0, 0.0f64);
        let mut at = distribution.first.rem_euclid(self.length as i64) as usize;
        for (j, &mass) in distribution.masses.iter().enumerate() {
            if mass > 0.0 {
                let index = distribution.first + j as i64;
                let exponent = tilt * (distribution.shift + index as f64 * spacing) - g;
                let far = exponent >= 600.0;
                let weight = if far { (mass.ln() + exponent).exp() } else { mass * exponent.exp() };
                // Weights in the subnormal range are lost to any relative error; each is far below the entry
                // error.
                if weight > 1e-300 {
                    steepest = steepest.max(exponent.abs() + if far { mass.ln().abs() } else { 0.0 });
                }
                total += weight;
                if end == 0 {
                    self.buffer[at].re += weight;
                } else {
                    self.buffer[at].im += weight;
                }
            }
            at += 1;
            if at == self.length {
                at = 0;
            }
        }
        tally.relative_error += count * 2.0 * u * (steepest + 4.0);
        Some(total)
    }

    /// The compositions for the upper and for the lower end, where there is one.
    pub(crate) fn finish(mut self) -> [Option<Composed>; 2] {
        let (length, spacing, window, shift) = (self.length, self.spacing, self.window, self.shift);
        let half = length / 2;
        let spare = length as f64 - (window.high - window.low) / spacing;
        let first = ((window.low - shift) / spacing - 0.5 * spare).floor() as i64;
        self.buffer.fill(Complex::new(0.0, 0.0));
        let (mut total, mut errors) = (0.0, [0.0; 2]);
        for (end, tally) in self.tallies.iter().enumerate().filter(|(_, tally)| tally.is_possible) {
            for (k, &[log_modulus, angle, log_error]) in tally.powers.iter().enumerate() {
                let both_signs = if k == 0 || k == half { 1.0 } else { 2.0 };
                // A coefficient that cannot matter is set to zero, and all it could be is error.
                if log_modulus < NOTHING || angle.is_nan() {
                    errors[end] += both_signs * (log_modulus + log_error).exp();
                    continue;
                }
                let value = log_modulus.exp();
                total += both_signs * value;
                errors[end] += both_signs * value * log_error.exp_m1();
                let value = Complex::from_polar(value, angle);
                let (positive, negative) = match end {
                    0 => (value, value.conj()),
                    _ => (value * Complex::i(), value.conj() * Complex::i()),
                };
                self.buffer[k] += positive;
                if k > 0 && k < half {
                    self.buffer[length - k] += negative;
                }
            }
        }
        for tally in &mut self.tallies {
            tally.powers = Vec::new();
        }
        self.inverse.process_with_scratch(&mut self.buffer, &mut self.scratch);
        self.scratch = Vec::new();
        let u = ROUNDOFF;
        let transform_error = 12.0 * u * (length as f64).log2();
        let (low, high) = (shift + first as f64 * spacing, shift + (first + length as i64) as f64 * spacing);
        let inverse_length = 1.0 / length as f64;
        [0, 1].map(|end| {
            let tally = &self.tallies[end];
            let entry_error =
                (errors[end] + transform_error * (total + errors[0] + errors[1]) + 2.0 * u * total)
                    * inverse_length
                    * (1.0 + 1e-9);
            // P[S >= s] <= e^(log_up - up s), P[S <= s] <= e^(log_down + down s), for tilted masses; the 1
            // that chernoff_error starts from is a margin for what they fall short of being normalised.
            let below = (tally.log_down + window.down * low + tally.chernoff_error).min(0.0).exp();
            let above = (tally.log_up - window.up * high + tally.chernoff_error).min(0.0).exp();
            let finite = entry_error.is_finite()
                && tally.log_scale.is_finite()
                && below.is_finite()
                && above.is_finite();
            if !(finite && tally.is_possible) {
                return None;
            }
            let start = first.rem_euclid(length as i64) as usize;
            let entry = |value: &Complex<f64>| if end == 0 { value.re } else { value.im } * inverse_length;
            let tilted = self.buffer[start..].iter().chain(&self.buffer[..start]).map(entry).collect();
            Some(Composed {
                spacing,
                shift,
                tilt: self.tilt,
                first,
                tilted,
                entry_error,
                below,
                above,
                log_scale: tally.log_scale,
                relative_error: tally.relative_error
                    + 4.0 * u * (4.0 + tally.scale_size)
                    + 16.0 * u * length as f64,
                infinite: tally.infinite,
            })
        })
    }
}

impl Composed {
    /// Where delta, taken at the given end, crosses the value `delta`: the true epsilon is at most the result
    /// for the upper end and at least for the lower. `None` if the window does not show it.
    pub(crate) fn epsilon(&self, delta: f64, end: End, reference: f64) -> Option<f64> {
        let target = delta * self.log_unit(reference)?.exp().recip();
        if !(1e-250..1e250).contains(&target) {
            return None;
        }
        self.walk(end, reference, |index, at, next| {
            if end == End::Upper && at.value(end) > target {
                // What lies above the window, or at infinity, is too much already: epsilon is beyond the
                // window.
                return None;
            }
            if next.value(end) <= target {
                // At the bottom of the window the upper end of delta is still small enough.
                let bottom = end == End::Upper && index == self.first + 1;
                return bottom.then_some(self.loss(self.first));
            }
            // On the lattice interval [index - 1, index] the sum is linear in e^ε; the parts that are not
            // (wrap-around) are taken at the end where they are worse.
            let (low, high) = (next.sum, at.sum);
            let rest = match end {
                End::Upper => at.extra,
                End::Lower => -next.extra,
            };
            let share = ((target - rest - high) / (low - high)).clamp(0.0, 1.0);
            let share = if share.is_nan() { 0.0 } else { share };
            // share = 1 at the lower lattice point.
            let step = ((1.0 - share) * self.spacing.exp_m1()).ln_1p();
            Some(self.loss(index - 1) + step)
        })
    }

    /// delta at `epsilon`, rounded towards the given end. `None` if the window does not contain epsilon.
    pub(crate) fn delta(&self, epsilon: f64, end: End) -> Option<f64> {
        let unit = self.log_unit(epsilon)?.exp();
        self.walk(end, epsilon, |index, at, next| {
            if self.loss(index - 1) > epsilon {
                return None;
            }
            let offset = (epsilon - self.loss(index - 1)).max(0.0);
            Some(between(next, at, offset, self.spacing, end, 0.0) * unit)
        })
    }

    /// What a walk for one end adds up to at the lattice points around the losses from `lowest` to `highest`:
    /// delta at any epsilon between them in a few operations. `None` if the window ends above `lowest`, and
    /// so does what is kept.
    pub(crate) fn sums(&self, end: End, reference: f64, lowest: f64, highest: f64) -> Option<Sums> {
        let log_unit = self.log_unit(reference)?;
        let (mut points, mut first) = (Vec::new(), 0);
        self.walk(end, reference, |index, at, next| {
            if self.loss(index - 1) <= highest {
                if points.is_empty() {
                    points.push(*at);
                }
                points.push(*next);
                first = index - 1;
            }
            (self.loss(index - 1) <= lowest).then_some(())
        });
        points.reverse();
        (points.len() > 1).then_some(Sums {
            end,
            spacing: self.spacing,
            shift: self.shift,
            tilt: self.tilt,
            reference,
            unit: log_unit.exp(),
            first,
            points,
        })
    }

    /// Walks down the lattice, handing each pair of neighbouring points with their sums to `visit` until it
    /// answers.
    ///
    /// With W_n the weighted entries and B_n = Σ_(m>n) W_m e^(-(m-n)h), delta at l_(n-1) is delta at l_n plus
    /// (B_n + W_n)(1 - e^-h): only positive terms are added.
    fn walk<T>(
        &self,
        end: End,
        reference: f64,
        mut visit: impl FnMut(i64, &Point, &Point) -> Option<T>,
    ) -> Option<T> {
        let infinite = self.infinite / self.log_unit(reference)?.exp();
        let decay = (-self.spacing).exp();
        let gap = -(-self.spacing).exp_m1();
        let c = self.tilt;
        let last = self.first + self.tilted.len() as i64;
        // Everything is in units of e^(log_scale - c reference).
        let log_weight = |index: i64| -c * (self.loss(index) - reference);
        // The largest value of e^(-c l) (1 - e^(ε - l)) over l is e^(-c ε) (c/(c+1))^c / (c+1).
        let worst_place = if c > 0.0 { (c * (c / (c + 1.0)).ln()).exp() / (c + 1.0) } else { 1.0 };
        let at_top = self.above * log_weight(last).exp() + infinite;
        let extra = |index: i64| match end {
            End::Upper => at_top,
            End::Lower => (self.below + self.above) * worst_place * log_weight(index).exp(),
        };
        let mut point = Point { sum: 0.0, extra: extra(last) };
        let mut tail = 0.0;
        for index in (self.first + 1..=last).rev() {
            let exponent = log_weight(index);
            // Entry `last` lies outside the window and has no mass of its own.
            let entry = self.tilted.get((index - self.first) as usize).copied().unwrap_or(0.0);
            let entry = match (end, index == last) {
                (_, true) => 0.0,
                (End::Upper, _) => entry.max(0.0) + self.entry_error,
                (End::Lower, _) => (entry - self.entry_error).max(0.0),
            };
            let weighted = if entry == 0.0 { 0.0 } else { entry * exponent.exp() };
            let next_sum = point.sum + (tail + weighted) * gap;
            let next = Point { sum: next_sum, extra: extra(index - 1) };
            if !(next.sum.is_finite() && next.extra.is_finite()) {
                return None;
            }
            if let Some(answer) = visit(index, &point, &next) {
                return Some(answer);
            }
            tail = (tail + weighted) * decay;
            point = next;
        }
        None
    }

    /// The logarithm of the unit e^(log_scale - c reference) in which a walk adds up, unless it is out of
    /// range.
    fn log_unit(&self, reference: f64) -> Option<f64> {
        Some(self.log_scale - self.tilt * reference).filter(|log| log.abs() < 700.0)
    }

    /// The loss at a lattice index.
    fn loss(&self, index: i64) -> f64 {
        self.shift + index as f64 * self.spacing
    }

    /// The largest size of the terms of any loss in the window.
    fn largest_loss(&self) -> f64 {
        let last = self.first.abs().max((self.first + self.tilted.len() as i64).abs());
        self.shift.abs() + last as f64 * self.spacing
    }

    /// A bound on the rounding of losses in the window: of the products, of their sum, and of the sum of
    /// shifts.
    pub(crate) fn loss_error(&self) -> f64 {
        16.0 * ROUNDOFF * self.largest_loss()
    }

    /// The total relative error of delta as an exponent, weights over the whole window included.
    pub(crate) fn relative_error(&self) -> f64 {
        self.relative_error + 16.0 * ROUNDOFF * self.tilt * self.largest_loss()
    }
}

/// What a walk adds up to at neighbouring lattice points.
pub(crate) struct Sums {
    end: End,
    spacing: f64,
    shift: f64,
    tilt: f64,
    /// The epsilon in whose units the walk was.
    reference: f64,
    unit: f64,
    /// The lattice index of the first point.
    first: i64,
    points: Vec<Point>,
}

/// How far an epsilon may lie from the reference of [`Sums`], multiplied by the tilt: as far weights keep
/// their digits.
const FARTHEST: f64 = 300.0;
/// What a walk loses, in its units, of terms that are no normal numbers: there are at most 2^20 of them and
/// of sums of them, each smaller than 2^-1022.
const LOST: f64 = 1e-300;

impl Sums {
    /// As [`Composed::delta`] says, towards the end that the sums are for. `None` outside what is kept.
    ///
    /// The errors are those of [`Composed::delta`], which are stated with the composition. That takes its own
    /// epsilon for the reference; one elsewhere in the window changes the size of exponents to no more than
    /// what [`Composed::relative_error`] counts, tilt times twice the largest loss, and may lose what is
    /// charged here.
    pub(crate) fn delta(&self, epsilon: f64) -> Option<f64> {
        if self.tilt.abs() * (epsilon - self.reference).abs() > FARTHEST {
            return None;
        }
        let loss = |index: i64| self.shift + index as f64 * self.spacing;
        // The last point not above epsilon, as comparisons of computed losses have it, and not divisions.
        let near = ((epsilon - self.shift) / self.spacing).floor();
        let last = self.first + self.points.len() as i64 - 2;
        if !(near >= (self.first - 1) as f64 && near <= (last + 1) as f64) {
            return None;
        }
        let mut index = (near as i64 + 1).clamp(self.first, last);
        while index > self.first && loss(index) > epsilon {
            index -= 1;
        }
        let offset = epsilon - loss(index);
        // Beyond the last point another interval of the lattice begins.
        if offset < 0.0 || epsilon >= loss(index + 1) {
            return None;
        }
        let place = (index - self.first) as usize;
        let (next, at) = (&self.points[place], &self.points[place + 1]);
        Some(between(next, at, offset, self.spacing, self.end, LOST) * self.unit)
            .filter(|delta| delta.is_finite())
    }

    /// How many points are kept.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }
}

/// delta between two neighbouring lattice points, this far above the lower one, `next`, in units of the walk: the
/// sum is linear in e^ε there, and the rest is taken at the end where it is worse, with what is `lost` besides.
fn between(next: &Point, at: &Point, offset: f64, spacing: f64, end: End, lost: f64) -> f64 {
    let share = 1.0 - (offset.exp_m1() / spacing.exp_m1()).min(1.0);
    let finite = at.sum + share * (next.sum - at.sum);
    match end {
        End::Upper => finite + at.extra + lost,
        End::Lower => (finite - next.extra - lost).max(0.0),
    }
}

/// delta at a lattice point, in units of the walk: the sum over the window, and what is to be added or
/// subtracted.
#[derive(Debug, Clone, Copy)]
struct Point {
    sum: f64,
    extra: f64,
}

impl Point {
    fn value(&self, end: End) -> f64 {
        match end {
            End::Upper => self.sum + self.extra,
            End::Lower => self.sum - self.extra,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scout::Window;
    use super::*;

    fn distribution(infinite: f64) -> LossDistribution {
        let masses = vec![0.1, 0.0, 0.25, 0.4, 0.2, 0.05 - infinite];
        LossDistribution { shift: 0.03125, first: -2, masses, infinite }
    }

    /// The T-fold convolution term by term: delta at `epsilon`.
    fn dense(distribution: &LossDistribution, count: usize, spacing: f64, epsilon: f64) -> f64 {
        let mut sum = vec![1.0];
        for _ in 0..count {
            let mut next = vec![0.0; sum.len() + distribution.masses.len() - 1];
            for (i, a) in sum.iter().enumerate() {
                for (j, b) in distribution.masses.iter().enumerate() {
                    next[i + j] += a * b;
                }
            }
            sum = next;
        }
        let first = count as f64 * (distribution.shift + distribution.first as f64 * spacing);
        let loss = |n: usize| first + n as f64 * spacing;
        let finite: f64 =
            sum.iter().enumerate().map(|(n, mass)| mass * (-(epsilon - loss(n)).exp_m1()).max(0.0)).sum();
        finite - (count as f64 * (-distribution.infinite).ln_1p()).exp_m1()
    }

    /// The composition of a distribution that stands for both ends.
    fn composed(of: &LossDistribution, count: f64, length: usize, tilt: f64) -> [Composed; 2] {
        let window = Window { low: -7.0, high: 10.0, down: 20.0, up: 20.0 };
        let mut composer = Composer::new(1, 0.25, tilt, length, window);
        composer.add(of, of, count);
        composer.finish().map(|end| end.expect("finite"))
    }

    #[test]
    fn the_transform_agrees_with_term_by_term_convolution() {
        let (spacing, count) = (0.25, 12);
        for infinite in [0.0, 1e-9] {
            let factor = distribution(infinite);
            // A tilt serves the losses that it makes likely; elsewhere its bounds hold but are wide.
            let settings: [(f64, &[f64]); 3] =
                [(0.0, &[0.0, 0.3, 1.0, 2.5]), (1.5, &[1.0, 2.5, 5.0]), (6.0, &[5.0, 6.3, 8.0])];
            for (tilt, epsilons) in settings {
                let [above, below] = composed(&factor, count as f64, 128, tilt);
                for &epsilon in epsilons {
                    let truth = dense(&factor, count, spacing, epsilon);
                    let slack = above.relative_error().exp();
                    let upper = above.delta(epsilon, End::Upper).expect("in the window") * slack;
                    let lower = below.delta(epsilon, End::Lower).expect("in the window")
                        / below.relative_error().exp();
                    // The dense sum of positive terms has a relative error below 1e-13. The upper end counts
                    // the infinite mass T times, the lower end not at all.
                    let (least, most) = (truth * (1.0 - 1e-13), truth * (1.0 + 1e-13));
                    assert!(lower <= most && upper >= least, "{tilt} {epsilon}: {lower} {truth} {upper}");
                    assert!(upper - lower <= 1e-9 * truth + 1.1 * count as f64 * infinite, "{lower} {upper}");
                    // What is kept of the walks says the same, wherever their units are from.
                    for reference in [0.0, 2.0, epsilon] {
                        for (composed, end) in [(&above, End::Upper), (&below, End::Lower)] {
                            let sums = composed.sums(end, reference, 0.0, 9.0).expect("in the window");
                            let (kept, walked) = (sums.delta(epsilon), composed.delta(epsilon, end));
                            let (kept, walked) = (kept.expect("kept"), walked.expect("in the window"));
                            assert!(
                                (kept - walked).abs() <= 1e-12 * walked,
                                "{tilt} {epsilon}: {kept} {walked}"
                            );
                            assert!(sums.delta(-2.0 * spacing).is_none() && sums.delta(20.0).is_none());
                        }
                    }
                    // Epsilon at this delta lies where it came from.
                    let back = above.epsilon(upper * slack, End::Upper, epsilon).expect("in the window");
                    assert!((back - epsilon).abs() < 1e-6, "{back} {epsilon}");
                }
            }
        }
    }

    #[test]
    fn the_two_ends_do_not_mix() {
        // Different masses at the two ends, a second part, and a number of steps at which frequencies are
        // dropped.
        let (one, mut other) = (distribution(0.0), distribution(0.0));
        other.masses = vec![0.3, 0.2, 0.2, 0.1, 0.1, 0.1];
        let window = Window { low: -60.0, high: 90.0, down: 8.0, up: 8.0 };
        let mut composer = Composer::new(2, 0.25, 0.5, 1024, window);
        composer.add(&one, &other, 200.0);
        composer.add(&other, &one, 3.0);
        let [upper, lower] = composer.finish().map(|end| end.expect("finite"));
        let alone = |first: &LossDistribution, second: &LossDistribution| {
            let mut composer = Composer::new(2, 0.25, 0.5, 1024, window);
            composer.add(first, first, 200.0);
            composer.add(second, second, 3.0);
            composer.finish().map(|end| end.expect("finite"))
        };
        for (mixed, plain) in [(&upper, &alone(&one, &other)[0]), (&lower, &alone(&other, &one)[1])] {
            let most = plain.tilted.iter().fold(0.0f64, |most, entry| most.max(*entry));
            assert!(mixed.entry_error + plain.entry_error < 1e-9 * most);
            for (a, b) in mixed.tilted.iter().zip(&plain.tilted) {
                assert!((a - b).abs() <= mixed.entry_error + plain.entry_error, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_window_that_misses_the_answer_gives_none() {
        let composed = |infinite, length| {
            let [upper, _] = composed(&distribution(infinite), 12.0, length, 1.0);
            upper
        };
        // More at infinity than delta: no epsilon is large enough.
        assert!(composed(0.01, 128).epsilon(0.05, End::Upper, 1.0).is_none());
        // Sixteen points hold a quarter of the window: what wraps around must not be mistaken for small.
        let small = composed(0.0, 16);
        let truth =
            (0..).map(|k| f64::from(k) * 0.01).find(|e| dense(&distribution(0.0), 12, 0.25, *e) <= 1e-3);
        let truth = truth.expect("delta falls");
        let upper = small.epsilon(1e-3, End::Upper, 1.0);
        assert!(upper.is_none_or(|upper| upper >= truth - 0.01), "{upper:?} {truth}");
        let lower = small.epsilon(1e-3, End::Lower, 1.0);
        assert!(lower.is_none_or(|lower| lower <= truth), "{lower:?} {truth}");
    }
}
