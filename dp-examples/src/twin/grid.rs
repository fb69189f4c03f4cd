//! Public grids: which cell a value lies in, and values of a cell.

use super::schema::Kind;
use crate::schema::date;

/// Most cells of a grid of whole numbers with a cell for each number.
const MOST_CELLS: i64 = 1 << 17;
/// Cells of a grid of other numbers, or of too many whole ones.
const CELLS: usize = 1024;
/// From this number of cells on, a column also has blocks of cells whose counts are released.
pub(super) const FEW: usize = 256;
/// How many blocks there are at the most.
const BLOCKS: usize = 64;

/// A column's cells; the cell after the last one is for missing values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid<'s> {
    kind: &'s Kind,
    cells: usize,
    /// Whole numbers of a cell; 0 for other numbers.
    step: i64,
    /// Between which two numbers values have to lie.
    within: Option<(f64, f64)>,
}

impl<'s> Grid<'s> {
    pub(super) fn new(kind: &'s Kind) -> Self {
        match kind {
            Kind::Categories(names) => Self { kind, cells: names.len(), step: 0, within: None },
            Kind::Real { .. } => Self { kind, cells: CELLS, step: 0, within: None },
            Kind::Whole { low, high } | Kind::Dates { low, high } => {
                let numbers = high - low + 1;
                let step = if numbers <= MOST_CELLS { 1 } else { (numbers - 1) / CELLS as i64 + 1 };
                // At most 2¹⁷.
                Self { kind, cells: ((numbers - 1) / step + 1) as usize, step, within: None }
            }
        }
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
        let place = match self.kind {
            Kind::Whole { low, high } | Kind::Dates { low, high } => {
                let number = number.round().clamp(*low as f64, *high as f64);
                ((number as i64 - low) / self.step) as usize
            }
            Kind::Real { low, high } => ((number - low) / (high - low) * self.cells as f64).max(0.0) as usize,
            Kind::Categories(_) => 0,
        };
        place.min(self.cells - 1)
    }

    /// A value of the cells from `first` to `last`, at a share from 0 to 1 of the way, as it is written.
    pub(super) fn text(&self, (first, last): (usize, usize), share: f64) -> String {
        match self.kind {
            Kind::Categories(names) => names[first].clone(),
            Kind::Whole { low, high } | Kind::Dates { low, high } => {
                let from = low + first as i64 * self.step;
                let to = (low + (last as i64 + 1) * self.step - 1).min(*high);
                // Ends are within the bounds, or infinite.
                let (from, to) = self.within.map_or((from, to), |(least, most)| {
                    (from.max(least.ceil() as i64), to.min(most.floor() as i64))
                });
                let number = from + ((to - from + 1) as f64 * share) as i64;
                match self.kind {
                    Kind::Dates { .. } => date::text(number.min(to)),
                    _ => number.min(to).to_string(),
                }
            }
            Kind::Real { low, high } => {
                let width = (high - low) / self.cells as f64;
                let (from, to) = (low + width * first as f64, low + width * (last + 1) as f64);
                let (least, most) = self.within.unwrap_or((*low, *high));
                let (from, to) = (from.max(least), to.min(most));
                let number = from + (to - from) * share;
                // One digit more than cells can tell apart.
                let digits = (1.0 - width.log10().floor()).clamp(0.0, 17.0) as usize;
                let text = format!("{number:.digits$}");
                // Rounding may cross an end.
                match text.parse::<f64>() {
                    Ok(rounded) if rounded < least => least.to_string(),
                    Ok(rounded) if rounded > most => most.to_string(),
                    _ => text,
                }
            }
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
    pub(super) fn middle(&self, (first, last): (usize, usize)) -> f64 {
        let middle = 0.5 * (first + last) as f64;
        match self.kind {
            Kind::Categories(_) => middle,
            Kind::Whole { low, .. } | Kind::Dates { low, .. } => {
                *low as f64 + middle * self.step as f64 + 0.5 * (self.step - 1) as f64
            }
            Kind::Real { low, high } => low + (high - low) * (middle + 0.5) / self.cells as f64,
        }
    }
}
