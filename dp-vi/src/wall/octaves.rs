//! The wall's door for orders of magnitude: in which octave each number of a record lies.

use super::integers::IntegerSums;
use crate::error::Result;
use crate::wall::sensitive::Sensitive;
use ppl_core::Records;
use zeroize::Zeroizing;

/// The powers of two that octaves begin at.
const EXPONENTS: (i32, i32) = (-20, 40);

/// Octaves of one sign.
const OF_A_SIGN: usize = (EXPONENTS.1 - EXPONENTS.0 + 1) as usize;

/// The number of bins: octaves of either sign, and what is next to zero.
pub(crate) const OCTAVES: usize = 2 * OF_A_SIGN + 1;

/// The bin of a number: 0 next to zero (and for NaN), then the octaves of positive numbers, then those of
/// negative ones. The largest takes all that is beyond.
pub(crate) fn octave(value: f64) -> usize {
    let exponent = value.abs().log2().floor();
    if exponent.is_nan() || exponent < f64::from(EXPONENTS.0) {
        return 0;
    }
    let place = (exponent.min(f64::from(EXPONENTS.1)) - f64::from(EXPONENTS.0)) as usize;
    1 + place + if value < 0.0 { OF_A_SIGN } else { 0 }
}

/// The end of a bin that is nearer to zero: 0, or a power of two with a sign. The other end is twice as far.
pub(crate) fn edge(bin: usize) -> f64 {
    match bin {
        0 => 0.0,
        bin if bin <= OF_A_SIGN => f64::from(EXPONENTS.0 + bin as i32 - 1).exp2(),
        bin => -edge(bin - OF_A_SIGN),
    }
}

/// Bins next to each other: two or four octaves, of one sign or of both, and one octave of both.
pub(crate) fn stretches() -> impl Iterator<Item = Vec<usize>> {
    let of = |width: usize, signs: &'static [usize]| {
        (0..=OF_A_SIGN - width).map(move |first| {
            let bins = |sign: usize| (first..first + width).map(move |place| 1 + place + sign * OF_A_SIGN);
            signs.iter().flat_map(|&sign| bins(sign)).collect()
        })
    };
    let widths = [1, 2, 4].into_iter().map(move |width| of(width, &[0, 1]));
    let of_a_sign = [2, 4].into_iter().flat_map(move |width| [of(width, &[0]), of(width, &[1])]);
    widths.chain(of_a_sign).flatten()
}

impl Sensitive<Records> {
    /// For each number of these columns of a record, one after the other, how many records have it in each
    /// octave, in units: a record adds one unit to one bin of each.
    pub(crate) fn octave_counts(&self, columns: &[String], units: i64) -> Result<IntegerSums> {
        let records = self.behind_the_wall();
        let found = columns.iter().map(|name| records.schema().find(name)).collect::<Result<Vec<_>, _>>()?;
        let elements: usize = found.iter().map(|(_, shape)| shape.elements()).sum();
        let (mut sums, mut start) = (Zeroizing::new(vec![0_i128; elements * OCTAVES]), 0);
        for (index, shape) in found {
            let elements = shape.elements();
            for (number, value) in records.column(index).numbers().enumerate() {
                sums[start + (number % elements) * OCTAVES + octave(value)] += i128::from(units);
            }
            start += elements * OCTAVES;
        }
        Ok(IntegerSums::from_sums(sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use ppl_core::Column;

    #[test]
    fn numbers_lie_in_their_octaves() {
        for value in [1.0, 1.9, -3.0, 0.1, -1e-3, 12_345.0, -7e9, 2e-6] {
            let from = edge(octave(value));
            assert!(value / from >= 1.0 && value / from < 2.0, "{value} {from}");
        }
        assert_eq!([0.0, -0.0, 1e-9, f64::NAN].map(octave), [0; 4]);
        assert_eq!([1e300, f64::INFINITY].map(octave), [OF_A_SIGN; 2]);
        assert_eq!(octave(f64::NEG_INFINITY), OCTAVES - 1);
        assert_eq!(edge(OCTAVES - 1), -(2.0_f64.powi(EXPONENTS.1)));
    }

    /// One record changes one bin of each number by one unit, whatever its values: that is what the event's
    /// norm is made from.
    #[test]
    fn a_record_adds_one_unit_for_each_of_its_numbers() {
        let columns = ["x".to_owned(), "y".to_owned()];
        for (x, y) in [([1.0, f64::NAN], 3.0), ([f64::INFINITY, -0.5], -1e99), ([0.0, 0.0], 0.0)] {
            let counts = |x: ndarray::Array2<f64>, y: ndarray::Array1<f64>| {
                let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]);
                let sums = Sensitive::new(records.unwrap()).octave_counts(&columns, 7).unwrap();
                sums.exact().to_vec()
            };
            let without = counts(array![[2.0, 5.0]], array![1.0]);
            let with = counts(array![[2.0, 5.0], x], array![1.0, y]);
            for (without, with) in without.chunks(OCTAVES).zip(with.chunks(OCTAVES)) {
                let changes: Vec<i128> =
                    without.iter().zip(with).map(|(a, b)| b - a).filter(|change| *change != 0).collect();
                assert_eq!(changes, [7]);
            }
            assert_eq!(with.len(), 3 * OCTAVES);
        }
    }
}
