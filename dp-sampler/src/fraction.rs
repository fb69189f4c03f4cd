//! Probabilities as 256-bit fractions, rounded towards zero.

/// A number in [0, 1): 256 bits after the point, least significant word first.
///
/// Every operation rounds towards zero, so a computed probability is never above the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fraction([u64; 4]);

impl Fraction {
    pub(crate) const ZERO: Self = Self([0; 4]);
    /// 1 − 2⁻²⁵⁶, what 1 is rounded to.
    pub(crate) const ALMOST_ONE: Self = Self([u64::MAX; 4]);

    /// A number in (0, 1], exactly except for bits below 2⁻²⁵⁶ and for 1 itself.
    pub(crate) fn from_f64(x: f64) -> Self {
        if x >= 1.0 {
            return Self::ALMOST_ONE;
        }
        let bits = x.to_bits();
        let exponent = (bits >> 52) as i32;
        // x = mantissa · 2^(power − 52); subnormal numbers have no hidden bit.
        let (mantissa, power) = match exponent {
            0 => (bits & ((1 << 52) - 1), -1022),
            _ => (bits & ((1 << 52) - 1) | 1 << 52, exponent - 1023),
        };
        let shift = 256 + power - 52;
        let mut words = [0; 4];
        if shift < 0 {
            words[0] = if shift > -64 { mantissa >> -shift } else { 0 };
        } else {
            let (word, offset) = (shift as usize / 64, shift as u32 % 64);
            words[word] = mantissa << offset;
            if offset > 11 && word < 3 {
                words[word + 1] = mantissa >> (64 - offset);
            }
        }
        Self(words)
    }

    /// 1 − x, with 1 − 0 rounded to 1 − 2⁻²⁵⁶.
    pub(crate) fn complement(self) -> Self {
        if self == Self::ZERO {
            return Self::ALMOST_ONE;
        }
        // 2^256 − x is the two's complement.
        let mut carry = true;
        Self(self.0.map(|word| {
            let (sum, overflow) = (!word).overflowing_add(u64::from(carry));
            carry = overflow;
            sum
        }))
    }

    /// x + y, which has to stay below 1.
    pub(crate) fn plus(self, other: Self) -> Self {
        let mut carry = false;
        let mut sum = [0; 4];
        for (i, word) in sum.iter_mut().enumerate() {
            let (partial, first) = self.0[i].overflowing_add(other.0[i]);
            let (total, second) = partial.overflowing_add(u64::from(carry));
            *word = total;
            carry = first || second;
        }
        debug_assert!(!carry, "probabilities add up to at most 1");
        Self(sum)
    }

    /// x · y, rounded towards zero.
    pub(crate) fn times(self, other: Self) -> Self {
        let mut product = [0_u64; 8];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, &b) in other.0.iter().enumerate() {
                let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + u128::from(carry);
                product[i + j] = sum as u64;
                carry = (sum >> 64) as u64;
            }
            product[i + 4] = carry;
        }
        Self([product[4], product[5], product[6], product[7]])
    }

    /// x − y, which has to be at least 0.
    pub(crate) fn minus(self, other: Self) -> Self {
        let mut borrow = false;
        let mut difference = [0; 4];
        for (i, word) in difference.iter_mut().enumerate() {
            let (partial, first) = self.0[i].overflowing_sub(other.0[i]);
            let (total, second) = partial.overflowing_sub(u64::from(borrow));
            *word = total;
            borrow = first || second;
        }
        debug_assert!(!borrow, "differences are at least 0");
        Self(difference)
    }

    /// n · x, which has to stay below 1.
    pub(crate) fn by(self, n: u64) -> Self {
        let mut carry = 0;
        let product = self.0.map(|word| {
            let sum = u128::from(word) * u128::from(n) + u128::from(carry);
            carry = (sum >> 64) as u64;
            sum as u64
        });
        debug_assert!(carry == 0, "products are below 1");
        Self(product)
    }

    /// x / n for n ≥ 1, rounded towards zero.
    pub(crate) fn over(self, n: u64) -> Self {
        let (mut quotient, mut rest) = (self.0, 0_u64);
        for word in quotient.iter_mut().rev() {
            let dividend = u128::from(rest) << 64 | u128::from(*word);
            // Below 2^64, because the rest is below n.
            *word = (dividend / u128::from(n)) as u64;
            rest = (dividend % u128::from(n)) as u64;
        }
        Self(quotient)
    }

    /// numerator / denominator, rounded towards zero, where numerator < denominator < 2¹²⁷.
    pub(crate) fn ratio(numerator: u128, denominator: u128) -> Self {
        debug_assert!(numerator < denominator && denominator >> 127 == 0, "a fraction below 1");
        // Long division, a bit at a time: this is nowhere near an inner loop.
        let (mut words, mut rest) = ([0_u64; 4], numerator);
        for word in words.iter_mut().rev() {
            for _ in 0..64 {
                rest <<= 1;
                let bit = rest >= denominator;
                if bit {
                    rest -= denominator;
                }
                *word = *word << 1 | u64::from(bit);
            }
        }
        Self(words)
    }

    /// The first 128 bits after the point.
    pub(crate) fn top(self) -> u128 {
        u128::from(self.0[3]) << 64 | u128::from(self.0[2])
    }

    /// The nearest double.
    #[cfg(test)]
    pub(crate) fn to_f64(self) -> f64 {
        self.0
            .iter()
            .rev()
            .fold((0.0, 1.0), |(sum, unit), &word| {
                let unit: f64 = unit * 2_f64.powi(-64);
                (sum + word as f64 * unit, unit)
            })
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_is_exact() {
        for x in [0.5, 0.1, 0.999, 1e-9, 2_f64.powi(-63), 2_f64.powi(-200) * 1.75] {
            assert_eq!(Fraction::from_f64(x).to_f64(), x);
        }
        assert_eq!(Fraction::from_f64(0.75), Fraction([0, 0, 0, 3 << 62]));
        assert_eq!(Fraction::from_f64(2_f64.powi(-256) * 1.5), Fraction([1, 0, 0, 0]));
        assert_eq!(Fraction::from_f64(2_f64.powi(-257)), Fraction::ZERO);
        assert_eq!(Fraction::from_f64(f64::from_bits(1)), Fraction::ZERO);
        assert_eq!(Fraction::from_f64(1.0), Fraction::ALMOST_ONE);
    }

    #[test]
    fn arithmetic_is_exact_or_rounds_down() {
        let (a, b) = (Fraction::from_f64(0.75), Fraction::from_f64(0.625));
        assert_eq!(a.times(b), Fraction::from_f64(0.46875));
        assert_eq!(a.complement().plus(a.times(b)), Fraction::from_f64(0.71875));
        assert_eq!(Fraction::ALMOST_ONE.times(a), Fraction([u64::MAX, u64::MAX, u64::MAX, (3 << 62) - 1]));
        assert_eq!(Fraction([1, 0, 0, 0]).times(a), Fraction::ZERO);
        assert_eq!(Fraction::ZERO.complement(), Fraction::ALMOST_ONE);
        assert_eq!(a.top(), 3 << 126);
        assert_eq!(a.minus(b), Fraction::from_f64(0.125));
        assert_eq!(b.minus(Fraction([1, 0, 0, 0])).plus(Fraction([1, 0, 0, 0])), b);
        assert_eq!(Fraction::ratio(3, 4), a);
        // 1/3 = 0.0101…, and thrice that is one unit short of 1.
        let third = Fraction::ratio(1, 3);
        assert_eq!(third, Fraction([0x5555_5555_5555_5555; 4]));
        assert_eq!(third.by(3), Fraction::ALMOST_ONE);
        assert_eq!(Fraction::ALMOST_ONE.over(3), third);
        assert_eq!(Fraction::ratio(5 << 120, 7 << 120), Fraction::ratio(5, 7));
        assert_eq!(Fraction::ratio(1, 1 << 126), Fraction::from_f64(2_f64.powi(-126)));
    }
}
