//! Tables of single steps, kept for other lattices and for other numbers of the same steps.
//!
//! A table does not depend on how often its step is taken. Spacings and truncations are rounded so that searches for a
//! number of steps, and lattices that differ by their tilt alone, ask for the same table again and again. What lies
//! here is what would be computed anew, bit for bit: it changes no answer.

use std::sync::Arc;

use super::cells::Cells;
use super::pair::Pair;

/// The most half-cells that are kept, which bounds memory to 32 MB: two of the longest tables.
const MOST_KEPT: usize = 1 << 21;

/// The tables that were asked for last.
#[derive(Default)]
pub(super) struct Stock {
    tables: Vec<Stored>,
}

/// A table, and all that determines it.
struct Stored {
    pair: Pair,
    spacing: f64,
    truncation: f64,
    reversed: bool,
    limit: usize,
    cells: Arc<Cells>,
}

impl Stock {
    /// What [`Pair::cells`] says.
    pub(super) fn cells(
        &mut self,
        pair: &Pair,
        spacing: f64,
        truncation: f64,
        limit: usize,
        reversed: bool,
    ) -> Option<Arc<Cells>> {
        let is_same = |stored: &Stored| {
            (stored.spacing, stored.truncation, stored.limit, stored.reversed)
                == (spacing, truncation, limit, reversed)
                && stored.pair == *pair
        };
        let stored = match self.tables.iter().position(is_same) {
            Some(place) => self.tables.remove(place),
            None => {
                let cells = Arc::new(pair.cells(spacing, truncation, limit, reversed)?);
                Stored { pair: pair.clone(), spacing, truncation, reversed, limit, cells }
            }
        };
        let cells = Arc::clone(&stored.cells);
        // The last is asked for again soonest.
        self.tables.push(stored);
        let mut kept: usize = self.tables.iter().map(|stored| stored.cells.p.len()).sum();
        while kept > MOST_KEPT {
            kept -= self.tables.remove(0).cells.p.len();
        }
        Some(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Subsampled;
    use super::*;

    #[test]
    fn a_table_is_made_once_and_for_one_question_only() {
        let pair = |sigma| Pair::Subsampled(Subsampled { sigma, rate: 0.01 });
        let mut stock = Stock::default();
        let first = stock.cells(&pair(1.0), 0.01, 8.0, 1 << 20, false).expect("within the limit");
        let again = stock.cells(&pair(1.0), 0.01, 8.0, 1 << 20, false).expect("within the limit");
        assert!(Arc::ptr_eq(&first, &again));
        for (sigma, spacing, truncation, reversed) in [
            (1.5, 0.01, 8.0, false),
            (1.0, 0.02, 8.0, false),
            (1.0, 0.01, 8.25, false),
            (1.0, 0.01, 8.0, true),
        ] {
            let other = stock.cells(&pair(sigma), spacing, truncation, 1 << 20, reversed);
            let fresh = pair(sigma).cells(spacing, truncation, 1 << 20, reversed).expect("within the limit");
            let other = other.expect("within the limit");
            assert!(!Arc::ptr_eq(&first, &other));
            assert_eq!((&other.p, &other.q_scaled), (&fresh.p, &fresh.q_scaled));
        }
        assert!(stock.cells(&pair(1.0), 0.01, 8.0, 10, false).is_none(), "beyond the limit");
    }

    #[test]
    fn what_is_kept_is_limited() {
        let mut stock = Stock::default();
        for k in 0..6 {
            let pair = Pair::Subsampled(Subsampled { sigma: 1.0 + 0.1 * f64::from(k), rate: 0.5 });
            let cells = stock.cells(&pair, 3e-5, 12.0, 1 << 20, false).expect("within the limit");
            let kept: usize = stock.tables.iter().map(|stored| stored.cells.p.len()).sum();
            assert!(kept <= MOST_KEPT && Arc::strong_count(&cells) == 2, "{kept}");
        }
        assert!(stock.tables.len() < 6);
    }
}
