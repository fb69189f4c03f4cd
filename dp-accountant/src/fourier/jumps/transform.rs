//! What the steps' moments make up at one frequency: powers and their difference, with bounds on their
//! errors.

use crate::special::ROUNDOFF;

/// A complex number.
pub(super) type Complex = [f64; 2];

/// So much is added to errors of moments, and no modulus is taken to be smaller.
const LEAST: f64 = 1e-30;

/// `log(1 + z)` for z = x + iy; finite for -1. Its real part is right to a few units of `|z|` where that is
/// small.
fn log_one_plus([x, y]: Complex) -> Complex {
    let size = modulus([1.0 + x, y]);
    let log =
        if size > 0.5 { 0.5 * (2.0 * x + x * x + y * y).ln_1p() } else { size.max(f64::MIN_POSITIVE).ln() };
    [log, y.atan2(1.0 + x)]
}

/// `e^z - 1`.
fn exp_minus_one([x, y]: Complex) -> Complex {
    let (sine, cosine) = y.sin_cos();
    let half = (0.5 * y).sin();
    [x.exp_m1() * cosine - 2.0 * half * half, x.exp() * sine]
}

pub(super) fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

pub(super) fn modulus([x, y]: Complex) -> f64 {
    x.hypot(y)
}

/// A sum of `T log w` over steps, with a bound on its rounding.
#[derive(Debug, Clone, Copy, Default)]
struct Log {
    value: Complex,
    rounding: f64,
}

impl Log {
    /// Adds a logarithm that is itself rounded to this many units.
    fn add(&mut self, count: f64, log: Complex, units: f64) {
        self.value[0] += count * log[0];
        self.value[1] += count * log[1];
        self.rounding += ROUNDOFF * (count * units + 2.0 * (self.value[0].abs() + self.value[1].abs()));
    }

    /// The power over `e^unit`, and a bound on its rounding.
    fn power(&self, unit: f64) -> (Complex, f64) {
        let size = (self.value[0] - unit).exp();
        let (sine, cosine) = self.value[1].sin_cos();
        let last = 4.0 * ROUNDOFF * (2.0 + unit.abs() + self.value[0].abs() + self.value[1].abs());
        ([size * cosine, size * sine], size * (self.rounding + last).exp_m1())
    }
}

/// A number that is known up to an error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) value: Complex,
    pub(super) error: f64,
}

/// The transform of a part at one frequency, to which steps are added one by one.
///
/// With small moments b and moments m of the band, each step's moment up to the upper cut is `b + m`, and the
/// part is `H = Π (b + m)^T - Π b^T`, a polynomial in all b and m whose coefficients are not negative. If
/// they are known to errors e and e', H is therefore right to what it grows by when all moduli grow by so
/// much:
///
/// ```text
/// |H' - H| <= Π (|b| + e + |m| + e')^T - Π (|b| + e)^T - Π (|b| + |m|)^T + Π |b|^T
/// ```
///
/// This grows with |b|, so that one next to 0 may be taken to be larger. Without bands H is `Π b^T`, and the
/// bound its growth.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Transform {
    /// Of `T log b`, `T log(b + m)` and `T log(1 + m/b)`.
    small: Log,
    all: Log,
    ratio: Log,
    /// Of `T log |b|`, of what that grows by, of `T log(1 + |m|/|b|)`, and of that after growing.
    size: f64,
    growth: f64,
    size_of_ratio: f64,
    grown_ratio: f64,
}

impl Transform {
    /// Adds a step from `b - 1` and m.
    pub(super) fn add(&mut self, count: f64, excess: Known, band: Option<Known>) {
        const U: f64 = ROUNDOFF;
        let b = [1.0 + excess.value[0], excess.value[1]];
        let off = modulus(excess.value);
        let band_size = band.map_or(0.0, |band| modulus(band.value));
        // Sums are rounded absolutely, and their logarithms relatively: to the difference from 1, where that
        // is small.
        let error = excess.error + 4.0 * U * (off + band_size) + LEAST;
        let size = modulus(b).max(LEAST);
        let log = log_one_plus(excess.value);
        self.small.add(count, log, 12.0 * (modulus(log) + off.min(1.0)));
        self.size += count * if size > 0.5 { log[0] } else { size.ln() };
        self.growth += count * (error / size).ln_1p();
        let Some(band) = band else { return };
        let log = log_one_plus([excess.value[0] + band.value[0], excess.value[1] + band.value[1]]);
        self.all.add(count, log, 12.0 * (modulus(log) + (off + band_size).min(1.0)));
        let square = b[0] * b[0] + b[1] * b[1];
        if square > LEAST * LEAST {
            let ratio = times(band.value, [b[0] / square, -b[1] / square]);
            let log = log_one_plus(ratio);
            let whole = modulus([1.0 + ratio[0], ratio[1]]).max(f64::MIN_POSITIVE);
            self.ratio.add(count, log, 16.0 * (modulus(log) + modulus(ratio) / whole));
        } else {
            // The ratio says nothing.
            self.ratio.rounding = f64::INFINITY;
        }
        self.size_of_ratio += count * (band_size / size).ln_1p();
        self.grown_ratio += count * ((band_size + band.error) / (size + error)).ln_1p();
    }

    /// `Π b^T` over `e^unit`.
    pub(super) fn of_small(&self, unit: f64) -> Known {
        let (value, rounding) = self.small.power(unit);
        let grown = if self.growth < 1.0 {
            (self.size - unit).exp() * self.growth.exp_m1()
        } else {
            (self.size - unit + self.growth).exp()
        };
        Known { value, error: rounding + grown * (1.0 + 1e-6) }
    }

    /// H over `e^unit`: as `e^small (e^ratio - 1)` where ratios are small, and otherwise as a difference.
    pub(super) fn of_jumps(&self, unit: f64) -> Known {
        const U: f64 = ROUNDOFF;
        let (small, small_error) = self.small.power(unit);
        let factor = exp_minus_one(self.ratio.value);
        let factor_size = modulus(factor);
        let factor_error = (factor_size + 1.0) * self.ratio.rounding.exp_m1() + 8.0 * U * factor_size;
        let product_error = small_error * (factor_size + factor_error)
            + modulus(small) * (factor_error + 8.0 * U * factor_size);
        let (all, all_error) = self.all.power(unit);
        let difference_error = all_error + small_error + 4.0 * U * (modulus(all) + modulus(small));
        let known_to = self.growth_of_jumps(unit);
        if difference_error < product_error || !product_error.is_finite() {
            Known { value: [all[0] - small[0], all[1] - small[1]], error: known_to + difference_error }
        } else {
            Known { value: times(small, factor), error: known_to + product_error }
        }
    }

    /// The bound on the error of H that comes from those of the moments, over `e^unit`.
    fn growth_of_jumps(&self, unit: f64) -> f64 {
        const U: f64 = ROUNDOFF;
        let margin = 1.0 + 1e-6;
        let last = (self.size - unit).exp() * margin;
        if self.growth.max(self.grown_ratio).max(self.size_of_ratio) < 300.0 {
            // Written so that equal terms cancel before they are multiplied.
            let (growth, grown) = (self.growth.exp_m1(), self.grown_ratio.exp_m1());
            let ratio = self.size_of_ratio.exp();
            let inner = growth * grown + ratio * (self.grown_ratio - self.size_of_ratio).exp_m1();
            let noise = 32.0 * U * ((growth + 1.0) * grown + ratio * (self.grown_ratio + self.size_of_ratio));
            return last * (inner.max(0.0) * margin + noise);
        }
        // The first and the last term, and of the others at most the one with jumps.
        let first = self.size - unit + self.growth + self.grown_ratio;
        let sizes = first.abs() + self.size.abs() + self.growth + self.grown_ratio;
        let grown = (self.growth + self.grown_ratio - self.size_of_ratio).max(0.0) + 8.0 * U * sizes;
        last + margin * if grown < 1.0 { (first - grown).exp() * grown.exp_m1() } else { first.exp() }
    }
}
