//! Non-negative numbers with 256 binary digits behind the point, for the few values whose rounding doubles
//! cannot decide.
//!
//! Every operation truncates: its result is at most a few units of 2⁻²⁵⁶ below the true one. Nothing here is
//! fast.

use std::cmp::Ordering;

/// Limbs of 64 bits, least significant first; the last one is the integer part.
const LIMBS: usize = 5;
const POINT: usize = LIMBS - 1;

/// `Σ_i limb_i 2^(64 (i − 4))`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fixed([u64; LIMBS]);

/// ln 2 and π/2, truncated. Computed by mpmath 1.3.0: `floor(log(2) * 2**256)` and `floor(pi / 2 * 2**256)`
/// at 400 bits.
const LN_2: Fixed =
    Fixed([0x8a0d_175b_8baa_fa2b, 0x40f3_4326_7298_b62d, 0xc9e3_b398_03f2_f6af, 0xb172_17f7_d1cf_79ab, 0]);
const HALF_PI: Fixed =
    Fixed([0x0417_7d4c_7627_3644, 0x5204_9c11_14cf_98e8, 0x898c_c517_01b8_39a2, 0x921f_b544_42d1_8469, 1]);

impl Fixed {
    pub(super) const ONE: Self = Self([0, 0, 0, 0, 1]);

    /// `Σ_i limb_i 2^(64 (i − 4))` for the limbs behind the point, least significant first.
    pub(super) fn fraction([a, b, c, d]: [u64; POINT]) -> Self {
        Self([a, b, c, d, 0])
    }

    /// `numerator · 2^−bits` for at most 256 bits.
    pub(super) fn ratio(numerator: u64, bits: u32) -> Self {
        Self([0, 0, 0, 0, numerator]).shifted_right(bits)
    }

    fn shifted_right(self, bits: u32) -> Self {
        let (limbs, bits) = ((bits / 64) as usize, bits % 64);
        let at = |i: usize| self.0.get(i).copied().unwrap_or(0);
        Self(std::array::from_fn(|i| {
            let (low, high) = (at(i + limbs), at(i + limbs + 1));
            if bits == 0 { low } else { low >> bits | high << (64 - bits) }
        }))
    }

    fn doubled(self) -> Self {
        self.plus(self)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let mut carry = 0;
        Self(std::array::from_fn(|i| {
            let sum = u128::from(self.0[i]) + u128::from(other.0[i]) + carry;
            carry = sum >> 64;
            sum as u64
        }))
    }

    /// The difference; `other` must not be larger.
    pub(super) fn minus(self, other: Self) -> Self {
        let mut borrow = false;
        Self(std::array::from_fn(|i| {
            let (difference, first) = self.0[i].overflowing_sub(other.0[i]);
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            borrow = first || second;
            difference
        }))
    }

    pub(super) fn times(self, other: Self) -> Self {
        let mut product = [0_u64; 2 * LIMBS];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, &b) in other.0.iter().enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
                product[i + j] = sum as u64;
                carry = sum >> 64;
            }
            product[i + LIMBS] = carry as u64;
        }
        Self(std::array::from_fn(|i| product[i + POINT]))
    }

    fn over(self, divisor: u64) -> Self {
        let mut quotient = [0; LIMBS];
        let mut rest = 0;
        for i in (0..LIMBS).rev() {
            let part = rest << 64 | u128::from(self.0[i]);
            quotient[i] = (part / u128::from(divisor)) as u64;
            rest = part % u128::from(divisor);
        }
        Self(quotient)
    }

    /// The quotient of a smaller number and a larger one, digit by digit.
    fn over_larger(self, divisor: Self) -> Self {
        let (mut quotient, mut rest) = ([0_u64; LIMBS], self);
        for digit in (0..64 * POINT).rev() {
            rest = rest.doubled();
            if rest >= divisor {
                rest = rest.minus(divisor);
                quotient[digit / 64] |= 1 << (digit % 64);
            }
        }
        Self(quotient)
    }

    /// `−ln u` for `0 < u < 1`, by `u = m 2^−e` with `1 ≤ m < 2` and `ln m = 2 atanh s = 2 (s + s³/3 + …)`,
    /// `s = (m − 1)/(m + 1)`.
    ///
    /// The terms left out are below `2 · 3^−169 < 2^−266`, and the others lose a few units each: the error is
    /// below 2⁻²⁴⁵.
    pub(super) fn negative_ln(self) -> Self {
        let (mut m, mut exponent) = (self, 0);
        while m.0[POINT] == 0 && exponent < 256 {
            m = m.doubled();
            exponent += 1;
        }
        let s = m.minus(Self::ONE).over_larger(m.plus(Self::ONE));
        let square = s.times(s);
        let (mut power, mut sum) = (s, Self([0; LIMBS]));
        for k in 0..84 {
            sum = sum.plus(power.over(2 * k + 1));
            power = power.times(square);
        }
        LN_2.times(Self([0, 0, 0, 0, exponent])).minus(sum.doubled())
    }

    /// Cosine and sine of `self · π/2` for `0 ≤ self ≤ ½`, by Taylor's series. The terms left out are below
    /// 0.79⁶⁰/60! < 2⁻²⁹², and the others lose a few units in all, since each partial sum is multiplied by
    /// less than a third.
    pub(super) fn cos_sin_of_quarters(self) -> [Self; 2] {
        let angle = self.times(HALF_PI);
        let square = angle.times(angle);
        let (mut cosine, mut sine) = (Self::ONE, Self::ONE);
        for k in (1..=29).rev() {
            cosine = Self::ONE.minus(cosine.times(square).over((2 * k - 1) * (2 * k)));
            sine = Self::ONE.minus(sine.times(square).over((2 * k) * (2 * k + 1)));
        }
        [cosine, angle.times(sine)]
    }
}

impl PartialOrd for Fixed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fixed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Fixed {
        pub(in crate::noise) fn to_f64(self) -> f64 {
            self.0
                .iter()
                .rev()
                .fold((0.0, 1.0), |(sum, unit), &limb| (sum + limb as f64 * unit, unit / 2_f64.powi(64)))
                .0
        }
    }

    fn near(a: Fixed, b: Fixed, digits: u32) -> bool {
        (if a > b { a.minus(b) } else { b.minus(a) }) < Fixed::ratio(1, digits)
    }

    #[test]
    fn identities_hold_to_two_hundred_and_forty_digits() {
        for k in 1..200_u64 {
            // ln (a b) = ln a + ln b
            let a = Fixed::ratio(k * k + 1, 17);
            let b = Fixed::ratio(3 * k + 1, 11);
            assert!(near(a.times(b).negative_ln(), a.negative_ln().plus(b.negative_ln()), 244), "{k}");
            // cos² + sin² = 1, and the sine of double the angle.
            let x = Fixed::ratio(k, 10);
            let [cosine, sine] = x.cos_sin_of_quarters();
            assert!(near(cosine.times(cosine).plus(sine.times(sine)), Fixed::ONE, 250), "{k}");
            let [_, double] = x.plus(x).cos_sin_of_quarters();
            assert!(near(double, sine.times(cosine).doubled(), 250), "{k}");
        }
    }

    #[test]
    fn values_are_those_of_the_standard_library() {
        for k in 1..500_u64 {
            let x = k as f64 / 1024.0;
            let fixed = Fixed::ratio(k, 10);
            assert!((fixed.negative_ln().to_f64() + x.ln()).abs() < 1e-15 * (1.0 - x.ln()), "{k}");
            let [cosine, sine] = fixed.cos_sin_of_quarters();
            let angle = x * std::f64::consts::FRAC_PI_2;
            assert!(
                (cosine.to_f64() - angle.cos()).abs() < 1e-15 && (sine.to_f64() - angle.sin()).abs() < 1e-15
            );
        }
        assert_eq!(Fixed::ratio(3, 65).to_f64(), 3.0 * 2_f64.powi(-65));
        let tiny = Fixed::ratio(1, 200);
        assert!((tiny.negative_ln().to_f64() - 200.0 * std::f64::consts::LN_2).abs() < 1e-13);
    }
}
