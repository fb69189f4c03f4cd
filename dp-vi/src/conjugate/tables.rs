//! How large a table of counts may be, for its noise.

use super::plan::ConjugatePlan;

/// A table of expected counts, such as that of words by topics.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) scale: f64,
}

/// How many times as large as the averaged noise the mean cell of a table of counts should be. On 20 Newsgroups at ε =
/// 1 it is 4.5 with three topics, and with ten topics (1.3) they were no better than a single one.
const CELL_OVER_NOISE: f64 = 4.0;

impl ConjugatePlan {
    /// How many counts all records must have together, clipped to the norm, for the tables of counts to be worth their
    /// noise: then a table's mean cell is four times its averaged noise. `None` without a table or without privacy.
    ///
    /// ```text
    /// counts ≥ 4 · noise · K · V        K rows (topics) of V columns (words)
    /// ```
    ///
    /// A plan knows no records, so it cannot compare. With fewer counts, take fewer rows:
    /// [`most_rows`](Self::most_rows) says how many.
    #[must_use]
    pub fn counts_needed(&self) -> Option<f64> {
        let of = |table: &Table| CELL_OVER_NOISE * self.averaged_noise() * table.scale * table.cells();
        self.budget?;
        self.tables.iter().map(of).reduce(f64::max)
    }

    /// How many rows a table of counts with the columns of the model's may have, so that it is worth its noise when all
    /// records have this many counts together, clipped to the norm; at least 1. The number of counts must be known
    /// without the records, be released ([`Summaries::clipped_counts`](crate::summaries::Summaries::clipped_counts)),
    /// or be a guess. `None` without a table or without privacy.
    ///
    /// It is an upper end: how many rows are best depends on the data, too. [`rows_for`](Self::rows_for) is a choice.
    #[must_use]
    pub fn most_rows(&self, counts: f64) -> Option<usize> {
        let largest = self.single_row_over_noise(counts)? / CELL_OVER_NOISE;
        Some((largest as usize).max(1))
    }

    /// How many rows to choose for a table of counts, see [`most_rows`](Self::most_rows):
    ///
    /// ```text
    /// K = ⌊√a⌋, at most the nearest integer to a/4;     a = counts/(noise · V), the cell of a single row over its noise
    /// ```
    ///
    /// so that cells are some four times as large as their noise, and at least as many times as there are rows. Made-up
    /// documents (3,000 over 200 words, from twenty subjects, `a` from 13 to 56) say that this is a middle way: where
    /// subjects were distinct, `a/4` rows were best, and `√a` rows had a perplexity up to 4 % higher; where they
    /// overlapped, two rows were best, and `a/4` were up to 15 % above them, `√a` up to 7 %.
    #[must_use]
    pub fn rows_for(&self, counts: f64) -> Option<usize> {
        let single = self.single_row_over_noise(counts)?.max(0.0);
        let rows = single.sqrt().floor().min((single / CELL_OVER_NOISE).round());
        Some((rows as usize).max(1))
    }

    /// The mean cell of a table of one row over its averaged noise; the least of all tables'.
    fn single_row_over_noise(&self, counts: f64) -> Option<f64> {
        self.budget?;
        let of = |table: &Table| counts / (self.averaged_noise() * table.scale * table.columns as f64);
        self.tables.iter().map(of).reduce(f64::min)
    }
}

impl Table {
    fn cells(&self) -> f64 {
        self.rows as f64 * self.columns as f64
    }
}
