//! Public grids: which cell a value lies in, and values of a cell.

use super::schema::Kind;
use crate::schema::date;

/// Most cells of a grid of whole numbers with a cell for each number.
const MOST_CELLS: i64 = 1 << 17;
/// Most round numbers of a grid of other numbers, or of too many whole ones.
const MOST_ROUND: f64 = 1e4;
/// How far from a round number, in units, a number may be that is one, beside the rounding of a quotient.
const OFF: f64 = 1e-6;
/// Units that numbers may be away from zero for multiples to be told apart: a quotient is off by a hundredth there.
const FARTHEST: f64 = 2e13;
/// Cells between which there are no round numbers but equally many others, where units cannot be told apart.
const EVEN: f64 = 1024.0;
/// Digits beyond those of a unit that numbers are written with: so few become round by it.
const DIGITS: f64 = 3.0;
/// From this number of cells on, a column also has blocks of cells whose counts are released.
pub(super) const FEW: usize = 256;
/// How many blocks there are at the most.
const BLOCKS: usize = 64;

/// A column's cells; the cell after the last one is for missing values.
///
/// Categories, and whole numbers and days of which there are not too many, have a cell each. Of other numbers the ends
/// of the public bounds have a cell each, and so has each multiple between them of a unit, which is the smallest power
/// of ten of which there are at most 10,000; what lies between two of these has one cell. Numbers heap at ends and at
/// round numbers (no income, a limit that is reached, a price), whatever they measure, and a heap in a cell with
/// others would be spread over them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid<'s> {
    kind: &'s Kind,
    cells: usize,
    round: Option<Round>,
    /// Between which two numbers values have to lie.
    within: Option<(f64, f64)>,
}

/// The round numbers of a grid, in increasing order: the lower bound, multiples of a unit, the upper bound. Each has a
/// cell, with an even place, and so has what lies between two of them. Where bounds are so far from zero that
/// multiples cannot be told apart, there are 1,023 numbers at equal distances in their place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Round {
    low: f64,
    high: f64,
    unit: f64,
    /// What multiples are counted from.
    base: f64,
    /// The first multiple that is above the lower bound.
    first: f64,
    /// How many multiples lie between the bounds.
    multiples: usize,
    /// How far from a round number, in units, a number may be that is one.
    off: f64,
}

impl Round {
    fn new((low, high): (f64, f64), is_whole: bool) -> Self {
        let unit = 10_f64.powi(((high - low) / MOST_ROUND).log10().ceil() as i32).max(f64::MIN_POSITIVE);
        let is_far = !is_whole && low.abs().max(high.abs()) / unit > FARTHEST;
        let (unit, base) = if is_far { ((high - low) / EVEN, low) } else { (unit, 0.0) };
        let off = if is_whole { 0.0 } else { OFF };
        let first = ((low - base) / unit + off).floor() + 1.0;
        let last = ((high - base) / unit - off).ceil() - 1.0;
        // At most about 10⁴.
        let multiples = (last - first + 1.0).max(0.0) as usize;
        Self { low, high, unit, base, first, multiples, off }
    }

    fn cells(self) -> usize {
        2 * self.multiples + 3
    }

    /// The round number of this place.
    fn at(self, place: usize) -> f64 {
        match place {
            0 => self.low,
            place if place > self.multiples => self.high,
            // Nearer to the decimal number than a product with a power of ten below 1.
            place if self.unit < 1.0 && self.base == 0.0 => {
                (self.first + (place - 1) as f64) / self.unit.recip().round()
            }
            place => self.base + (self.first + (place - 1) as f64) * self.unit,
        }
    }

    fn cell(self, number: f64) -> usize {
        // A NaN is nowhere.
        if number.is_nan() || number <= self.low {
            return 0;
        }
        if number >= self.high {
            return self.cells() - 1;
        }
        let quotient = (number - self.base) / self.unit;
        let place = quotient - self.first;
        let nearest = place.round();
        let is_there = nearest >= 0.0 && (nearest as usize) < self.multiples;
        // Quotients of whole numbers are rounded to one that is not there, too.
        let off = self.off + 4.0 * f64::EPSILON * quotient.abs();
        let is_one = || self.off > 0.0 || self.at(nearest as usize + 1) == number;
        if is_there && (place - nearest).abs() <= off && is_one() {
            return 2 * (nearest as usize + 1);
        }
        // Places of multiples count from 1.
        let below = (place.floor() + 1.0).clamp(0.0, self.multiples as f64);
        2 * below as usize + 1
    }

    /// The two round numbers that are around a cell, the same for that of one.
    fn around(self, cell: usize) -> (f64, f64) {
        (self.at(cell / 2), self.at(cell.div_ceil(2)))
    }
}

impl<'s> Grid<'s> {
    pub(super) fn new(kind: &'s Kind) -> Self {
        let (cells, round) = match kind {
            Kind::Categories(names) => (names.len(), None),
            Kind::Whole { low, high } | Kind::Dates { low, high } if high - low < MOST_CELLS => {
                // At most 2¹⁷.
                ((high - low + 1) as usize, None)
            }
            kind => {
                let round = Round::new(kind.range(), !matches!(kind, Kind::Real { .. }));
                (round.cells(), Some(round))
            }
        };
        Self { kind, cells, round, within: None }
    }

    /// The same, whose numbers and days lie between two ends.
    pub(super) fn within(self, ends: Option<(f64, f64)>) -> Self {
        Self { within: ends, ..self }
    }

    /// The number of cells without the one for missing values.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// Whether neighbouring cells have neighbouring values.
    pub(super) fn has_order(&self) -> bool {
        !matches!(self.kind, Kind::Categories(_))
    }

    /// Cells of one block where the column has blocks.
    pub(super) fn block(&self) -> Option<usize> {
        (self.has_order() && self.cells > FEW).then(|| self.cells.div_ceil(BLOCKS))
    }

    /// The cell of a number; beyond the bounds the nearest one.
    pub(super) fn cell(&self, number: f64) -> usize {
        let whole = |number: f64| number.round().clamp(self.kind.range().0, self.kind.range().1);
        match (self.kind, self.round) {
            (Kind::Real { .. }, Some(round)) => round.cell(number),
            (_, Some(round)) => round.cell(whole(number)),
            (Kind::Whole { low, .. } | Kind::Dates { low, .. }, None) => {
                ((whole(number) as i64 - low) as usize).min(self.cells - 1)
            }
            _ => 0,
        }
    }

    /// The least and the greatest number of these cells: whole numbers and days of them, or what they have between
    /// them.
    fn ends(&self, (first, last): (usize, usize)) -> (f64, f64) {
        let (from, to) = match (self.kind, self.round) {
            (Kind::Real { .. }, Some(round)) => (round.around(first).0, round.around(last).1),
            (_, Some(round)) => {
                let ((from, _), (_, to)) = (round.around(first), round.around(last));
                // What lies between two has neither.
                (from + (first % 2) as f64, to - (last % 2) as f64)
            }
            (Kind::Whole { low, .. } | Kind::Dates { low, .. }, None) => {
                ((low + first as i64) as f64, (low + last as i64) as f64)
            }
            _ => (first as f64, last as f64),
        };
        // Ends are within the bounds, or infinite.
        match (self.within, self.kind) {
            (Some((least, most)), Kind::Whole { .. } | Kind::Dates { .. }) => {
                (from.max(least.ceil()), to.min(most.floor()))
            }
            (Some((least, most)), Kind::Real { .. }) => (from.max(least), to.min(most)),
            _ => (from, to),
        }
    }

    /// How many numbers or days some cells have, or how long they are; of categories, how many they are.
    pub(super) fn measure(&self, cells: (usize, usize)) -> f64 {
        let (from, to) = self.ends(cells);
        let both = if matches!(self.kind, Kind::Real { .. }) { 0.0 } else { 1.0 };
        (to - from + both).max(0.0)
    }

    /// The number or day of the cells from `first` to `last` at a share from 0 to 1 of the way; the place of a
    /// category.
    pub(super) fn at(&self, cells: (usize, usize), share: f64) -> f64 {
        let (from, to) = self.ends(cells);
        match self.kind {
            Kind::Categories(_) => from,
            Kind::Real { .. } => from + (to - from).max(0.0) * share,
            // Between two neighbours there is none, and one of them has to do.
            _ => (from + ((to - from + 1.0).max(0.0) * share).floor()).min(to),
        }
    }

    /// At which share of the way between these cells a number lies, if it does.
    pub(super) fn share_of(&self, cells: (usize, usize), number: f64) -> Option<f64> {
        let (from, to) = self.ends(cells);
        let (away, measure) = match self.kind {
            Kind::Real { .. } => (number - from, to - from),
            _ => (number - from + 0.5, to - from + 1.0),
        };
        let is_there = (from..=to).contains(&number);
        is_there.then(|| if measure > 0.0 { away / measure } else { 0.0 })
    }

    /// A value of the cells from `first` to `last`, at a share from 0 to 1 of the way, as it is written.
    pub(super) fn text(&self, (first, last): (usize, usize), share: f64) -> String {
        let number = self.at((first, last), share);
        match (self.kind, self.round) {
            (Kind::Categories(names), _) => names[first].clone(),
            (Kind::Dates { .. }, _) => date::text(number as i64),
            (Kind::Real { .. }, Some(round)) if first != last || first % 2 == 1 => {
                let (least, most) = self.within.unwrap_or((round.low, round.high));
                let (from, to) = self.ends((first, last));
                let width = if to > from { round.unit.min(to - from) } else { round.unit };
                // A power of ten is not one less by its rounding.
                let digits = (DIGITS - (width.log10() + 1e-6).floor()).max(0.0);
                // Of numbers that small a text without an exponent is mostly zeros.
                let text = if digits > 17.0 {
                    format!("{number:.8e}")
                } else {
                    format!("{number:.*}", digits as usize)
                };
                // Rounding may cross an end.
                match text.parse::<f64>() {
                    Ok(rounded) if rounded < least => least.to_string(),
                    Ok(rounded) if rounded > most => most.to_string(),
                    _ => text,
                }
            }
            (Kind::Real { .. }, _) => number.to_string(),
            _ => (number as i64).to_string(),
        }
    }

    /// The number, day or place of a category that [`text`](Self::text) writes.
    pub(super) fn number(&self, (first, last): (usize, usize), share: f64) -> f64 {
        match self.kind {
            Kind::Categories(_) => first as f64,
            kind => kind.number(&self.text((first, last), share)).unwrap_or(f64::NAN),
        }
    }

    /// The number in the middle of some cells, for categories their place.
    pub(super) fn middle(&self, cells: (usize, usize)) -> f64 {
        let (from, to) = Self { within: None, ..self.clone() }.ends(cells);
        0.5 * (from + to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Kinds of columns of numbers and days: few whole numbers, many, and others, with bounds that are round and not.
    fn kinds() -> impl Strategy<Value = Kind> {
        let whole = (-1_000_000_000_i64..1_000_000_000, 0..3_000_000_000_i64);
        let real = (-1e6..1e6_f64, -6..9_i32, 1.0..10.0_f64, any::<bool>());
        prop_oneof![
            whole.clone().prop_map(|(low, width)| Kind::Whole { low, high: low + width }),
            (-50_000..50_000_i64, 0..200_000_i64)
                .prop_map(|(low, width)| Kind::Dates { low, high: low + width }),
            real.prop_map(|(low, power, digits, is_round)| {
                let (low, width) = (if is_round { low.round() } else { low }, digits * 10_f64.powi(power));
                let high = if is_round { low + width.ceil() } else { low + width };
                Kind::Real { low, high }
            }),
        ]
    }

    proptest! {
        /// Cells are in the order of their numbers; a number between the ends of its cell goes back to it, and is
        /// found at the share of the way that it was made at; measures add up.
        #[test]
        fn cells_and_numbers(kind in kinds(), share in 0.0..1.0_f64, place in 0.0..1.0_f64) {
            let grid = Grid::new(&kind);
            let (low, high) = kind.range();
            let cells = grid.cells();
            prop_assert!((1..=1 << 17).contains(&cells), "{cells}");
            prop_assert_eq!((grid.cell(low), grid.cell(high), grid.cell(low - 1.0), grid.cell(high + 1.0)),
                (0, cells - 1, 0, cells - 1));
            let cell = ((place * cells as f64) as usize).min(cells - 1);
            let number = grid.at((cell, cell), share);
            prop_assert!((low..=high).contains(&number), "{number}");
            if grid.measure((cell, cell)) > 0.0 && (0.001..0.999).contains(&share) {
                prop_assert_eq!(grid.cell(number), cell);
                let found = grid.share_of((cell, cell), number).unwrap();
                prop_assert_eq!(grid.at((cell, cell), found), number);
            }
            let (before, after) = (grid.measure((0, cell)), grid.measure((cell, cells - 1)));
            let whole = grid.measure((0, cells - 1));
            let both = before + after - grid.measure((cell, cell));
            prop_assert!((both - whole).abs() <= 1e-9 * whole.max(high.abs()).max(low.abs()), "{both} {whole}");
            let other = grid.cell(low + share * (high - low));
            let one = grid.cell(low + place * (high - low));
            prop_assert_eq!(share < place, other < one || (other == one && share < place));
            // Written within its bounds.
            let text = grid.text((cell, cell), share);
            let again = kind.number(&text).unwrap();
            prop_assert!((low..=high).contains(&again), "{text}");
        }
    }

    /// Zero, ends and round numbers have cells of their own, and are written as they were.
    #[test]
    fn round_numbers_have_cells_of_their_own() {
        let kind = Kind::Real { low: 0.0, high: 100.0 };
        let grid = Grid::new(&kind);
        assert_eq!(grid.cells(), 2 * 9_999 + 3);
        for text in ["0", "100", "0.07", "9.99", "50"] {
            let cell = grid.cell(text.parse().unwrap());
            assert_eq!((cell % 2, grid.text((cell, cell), 0.7).as_str()), (0, text));
            assert_eq!(grid.measure((cell, cell)), 0.0);
        }
        let cell = grid.cell(9.994);
        assert_eq!((cell, grid.text((cell, cell), 0.5)), (grid.cell(9.99) + 1, "9.99500".to_owned()));
        // What is asked for within a cell is not made the same by how it is written.
        let part = grid.clone().within(Some((9.9951, 9.9954)));
        let texts = [0.1, 0.5, 0.9].map(|share| part.text((cell, cell), share));
        assert_eq!(texts, ["9.9951300", "9.9952500", "9.9953700"]);
        // Bounds that are no multiples, of more whole numbers than have a cell each.
        let kind = Kind::Whole { low: -27, high: 999_950 };
        let grid = Grid::new(&kind);
        for number in [-27, 0, 100, 25_000, 999_900, 999_950] {
            let cell = grid.cell(f64::from(number));
            assert_eq!(grid.text((cell, cell), 0.3), number.to_string());
            assert_eq!((cell % 2, grid.measure((cell, cell))), (0, 1.0));
        }
        let cell = grid.cell(-26.0);
        assert_eq!((cell, grid.measure((cell, cell)), grid.cell(-1.0)), (1, 26.0, 1));
        let cell = grid.cell(25_001.0);
        assert_eq!((grid.at((cell, cell), 0.0), grid.at((cell, cell), 0.9999)), (25_001.0, 25_099.0));
        assert_eq!(grid.measure((0, grid.cells() - 1)), 999_978.0);
        // Decimal numbers that are far from zero for their unit, and whole ones.
        let days = Kind::Real { low: 2_459_000.0, high: 2_459_001.0 };
        let grid = Grid::new(&days);
        for text in ["2459000.3", "2459000.7", "2459000.1234"] {
            let cell = grid.cell(text.parse().unwrap());
            assert_eq!((cell % 2, grid.text((cell, cell), 0.5).as_str()), (0, text));
        }
        let far = Kind::Whole { low: 8_999_999_999_000_001, high: 9_000_000_000_000_000 };
        let grid = Grid::new(&far);
        for number in [8_999_999_999_500_000_i64, 8_999_999_999_000_100] {
            let cell = grid.cell(number as f64);
            assert_eq!((cell % 2, grid.text((cell, cell), 0.5)), (0, number.to_string()));
            assert_eq!(grid.cell((number + 1) as f64), cell + 1);
        }
        // Where units cannot be told apart there are equal cells.
        for kind in [
            Kind::Real { low: 1e12, high: 1e12 + 1.0 },
            Kind::Real { low: 2_459_000.5, high: 2_459_000.500_1 },
        ] {
            let (low, high) = kind.range();
            let grid = Grid::new(&kind);
            assert_eq!(grid.cells(), 2 * 1023 + 3, "{kind:?}");
            let middle = grid.cell(0.5 * (low + high));
            assert!((1020..1030).contains(&middle), "{middle}");
        }
        // Very small numbers are not written as zeros.
        let tiny = Kind::Real { low: 0.0, high: 1e-20 };
        let text = Grid::new(&tiny).text((0, 2_000), 0.5);
        assert!(text.parse::<f64>().unwrap() > 1e-22, "{text}");
    }
}
