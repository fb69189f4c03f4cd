//! Sums of numbers that are rounded to integers first: exact, so that their order does not matter.

use zeroize::ZeroizeOnDrop;

/// Adding this rounds a number below 2⁵¹ to the nearest integer, which stands in the last digits of the sum.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// What the upper part of a number is in units of.
const UPPER: f64 = (1_u64 << 40) as f64;

/// Numbers beyond are taken for this.
const LARGEST: f64 = (1_u128 << 81) as f64;

/// Rounded numbers whose parts fit into 64 bits together: 2²⁰ parts of at most 2⁴¹.
const WAITING: u32 = 1 << 20;

/// Sums of integers of up to 82 bits, element by element.
///
/// Each integer is added as two numbers of 64 bits, of 2⁴⁰ and of one: these are added up side by side, and
/// conversions to integers of 128 bits are functions that are called for one number after the other.
#[derive(Default, ZeroizeOnDrop)]
pub(super) struct ExactSums {
    upper: Vec<i64>,
    lower: Vec<i64>,
    whole: Vec<i128>,
    waiting: u32,
}

impl ExactSums {
    /// Begins anew with so many elements.
    pub(super) fn clear(&mut self, elements: usize) {
        let Self { upper, lower, whole, waiting } = self;
        for part in [upper, lower] {
            part.clear();
            part.resize(elements, 0);
        }
        whole.clear();
        whole.resize(elements, 0);
        *waiting = 0;
    }

    /// Adds `round(x · in_units)` to each element: to the nearest integer, and of two the one further from zero. A NaN
    /// adds nothing, and numbers beyond ±2⁸¹ that.
    pub(super) fn add(&mut self, numbers: &[f64], in_units: f64) {
        if self.waiting == WAITING {
            self.carry();
        }
        self.waiting += 1;
        for ((upper, lower), x) in self.upper.iter_mut().zip(&mut self.lower).zip(numbers) {
            let y = x * in_units;
            let y = if y.is_nan() { 0.0 } else { y.clamp(-LARGEST, LARGEST) };
            // Nothing is rounded here but to integers: of numbers with the digits of `y` or fewer, all are
            // differences.
            let above = (y / UPPER + MAGIC) - MAGIC;
            let below = y - above * UPPER;
            let nearest = (below + MAGIC) - MAGIC;
            let part = below - nearest;
            // Of two integers that are as near, the even one has been taken.
            let is_short = part.abs() == 0.5 && part.is_sign_positive() == y.is_sign_positive();
            let nearest = nearest + if is_short { part + part } else { 0.0 };
            *upper += integer(above);
            *lower += integer(nearest);
        }
    }

    /// Puts parts together.
    pub(super) fn carry(&mut self) {
        for ((whole, upper), lower) in self.whole.iter_mut().zip(&mut self.upper).zip(&mut self.lower) {
            *whole += (i128::from(*upper) << 40) + i128::from(*lower);
            (*upper, *lower) = (0, 0);
        }
        self.waiting = 0;
    }

    /// The sums of what was added before parts were put together last.
    pub(super) fn sums(&self) -> &[i128] {
        &self.whole
    }
}

/// An integer below 2⁵¹ in floating point.
fn integer(x: f64) -> i64 {
    (x + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(numbers: &[f64]) -> i128 {
        let mut sums = ExactSums::default();
        sums.clear(1);
        numbers.iter().for_each(|x| sums.add(&[*x], 1.0));
        sums.carry();
        sums.sums()[0]
    }

    #[test]
    fn halves_go_away_from_zero_wherever_they_are() {
        let upper = (1_u64 << 40) as f64;
        for whole in [0.0, 1.0, 2.0, 0.5 * upper, upper, 1.5 * upper, 3.0 * upper, 2048.0 * upper] {
            for part in [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.49999999999999994, 0.5, 0.75, 1.0] {
                for x in [whole + part, -whole - part, whole - part] {
                    assert_eq!(sum(&[x]), x.round() as i128, "{x}");
                }
            }
        }
        assert_eq!(sum(&[f64::NAN, 0.0, -0.0, 0.5_f64.next_down(), -5e-324]), 0);
        assert_eq!(sum(&[f64::INFINITY, f64::MAX]), 1 << 82);
        assert_eq!(sum(&[f64::NEG_INFINITY]), -(1 << 81));
    }

    /// The largest numbers, so many that their upper parts, of 2⁴¹, do not fit into 64 bits together.
    #[test]
    fn more_than_what_fits_is_carried() {
        let (mut sums, x) = (ExactSums::default(), 2.0_f64.powi(81) - 2.0_f64.powi(30));
        sums.clear(2);
        let count = 4 * WAITING + 3;
        (0..count).for_each(|_| sums.add(&[x, -x], 1.0));
        let expected = i128::from(count) * (x as i128);
        sums.carry();
        assert_eq!(sums.sums(), [expected, -expected]);
        sums.clear(1);
        assert_eq!(sums.sums(), [0]);
    }

    proptest! {
        /// What converting each number to 128 bits gives.
        #[test]
        fn it_is_the_sum_of_rounded_numbers(
            numbers in proptest::collection::vec((-1.0..1.0_f64, -60..=80_i32), 0..40),
            halves in proptest::collection::vec(-1_000_000_000_000_000_i64..1_000_000_000_000_000, 0..40),
        ) {
            let numbers = numbers.iter().map(|(x, power)| x * 2.0_f64.powi(*power));
            let numbers: Vec<f64> = numbers.chain(halves.iter().map(|half| *half as f64 / 2.0)).collect();
            let expected: i128 = numbers.iter().map(|x| x.round() as i128).sum();
            prop_assert_eq!(sum(&numbers), expected);
        }
    }
}
