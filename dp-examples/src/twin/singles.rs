//! What noisy marginals of single columns say of a table: its number of records, and the levels of its columns.

use dp_accountant::Relation;
use dp_vi::summaries::Marginal;

use super::encode::Encoding;
use super::grid::Grid;
use super::levels::{Counts, Piece, levels, pieces};
use super::schema::Kind;

/// Levels of a column of numbers: at least and at most so many.
pub(super) const LEVELS: (f64, f64) = (4.0, 32.0);

/// What is known of single columns. Everything here is public: a function of what was released.
pub(super) struct Singles {
    /// The estimated number of records.
    pub(super) records: f64,
    /// For each column its pieces, and the level of each.
    pub(super) found: Vec<Vec<Piece>>,
    pub(super) levels: Vec<Vec<usize>>,
    /// For each column the levels' shares, and the variances of their numbers of records.
    pub(super) shares: Vec<Vec<f64>>,
    pub(super) variances: Vec<Vec<f64>>,
}

impl Singles {
    /// From the marginals of the columns, and of the blocks of those that have any. `most` says how many levels a
    /// column, by its place, of numbers should have for a number of records; none has fewer than `least` records.
    /// `caps` are the levels that each column of categories may have, that of missing values among them.
    pub(super) fn new(
        columns: &[Encoding],
        released: &[Marginal],
        most: impl Fn(usize, f64) -> f64,
        least: f64,
        caps: &[usize],
    ) -> Self {
        let records = total(released);
        let mut blocks = released[columns.len()..].iter();
        let mut found: Vec<Vec<Piece>> = Vec::with_capacity(columns.len());
        for (column, single) in columns.iter().zip(released) {
            let grid = Grid::new(&column.kind);
            let of_blocks =
                grid.block().and_then(|_| blocks.next()).map(|marginal| marginal.counts.as_slice());
            let counts = Counts { cells: &single.counts, blocks: of_blocks, noise: single.noise };
            found.push(pieces(&counts, &grid, records));
        }
        let of = |(place, (column, pieces)): (usize, (&Encoding, &Vec<Piece>))| {
            let most = match column.kind {
                Kind::Categories(_) => caps.get(place).map_or(usize::MAX, |cap| cap.saturating_sub(1)),
                _ => most(place, records).clamp(LEVELS.0, LEVELS.1) as usize,
            };
            levels(pieces, &column.kind, most, least)
        };
        let levels: Vec<Vec<usize>> = columns.iter().zip(&found).enumerate().map(of).collect();
        let (shares, variances) =
            found.iter().zip(&levels).map(|(pieces, levels)| of_levels(pieces, levels)).unzip();
        Self { records, found, levels, shares, variances }
    }
}

/// By what neighbours differ, in words.
pub(super) fn in_words(relation: Relation) -> &'static str {
    match relation {
        Relation::AddRemove => "the presence of one record",
        Relation::ReplaceOne => "the values of one record",
    }
}

/// The number of records, from the totals of all marginals by their precisions; at least 1.
fn total(singles: &[Marginal]) -> f64 {
    let precise = |marginal: &Marginal| 1.0 / marginal.counts.len() as f64;
    let precision: f64 = singles.iter().map(precise).sum();
    let sum: f64 = singles.iter().map(|single| precise(single) * single.counts.iter().sum::<f64>()).sum();
    (sum / precision).clamp(1.0, 1e11)
}

/// For each column and each of its cells the level; the columns for blocks have nothing more to tell.
pub(super) fn maps(
    columns: &[Encoding],
    found: &[Vec<Piece>],
    levels: &[Vec<usize>],
    sizes: &[u32],
) -> Vec<Vec<u32>> {
    let map = |((column, pieces), levels): ((&Encoding, &Vec<Piece>), &Vec<usize>)| {
        let mut map = vec![0; Grid::new(&column.kind).cells() + 1];
        for (piece, &level) in pieces.iter().zip(levels) {
            map[piece.first..=piece.last].fill(level as u32);
        }
        map
    };
    let own = columns.iter().zip(found).zip(levels).map(map);
    own.chain(sizes[columns.len()..].iter().map(|&size| vec![0; size as usize])).collect()
}

/// Shares of the levels, and the variances of the estimated numbers of records.
pub(super) fn of_levels(pieces: &[Piece], levels: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let count = levels.iter().max().map_or(0, |most| most + 1);
    let (mut shares, mut variances) = (vec![0.0; count], vec![0.0; count]);
    // That of one count: the missing values' piece is one.
    let least = pieces.last().map_or(f64::MIN_POSITIVE, |piece| piece.variance.max(f64::MIN_POSITIVE));
    let of_block = |piece: &(&Piece, &usize)| piece.0.block;
    let parts: Vec<(&Piece, &usize)> = pieces.iter().zip(levels).collect();
    for parts in parts.chunk_by(|a, b| of_block(a).is_some() && of_block(a) == of_block(b)) {
        // What was cut off at zero is known better than its noise.
        let known = |piece: &Piece| if piece.mass > 0.0 { piece.variance + piece.guess } else { 0.0 };
        let whole = parts.len() > 1 && parts.iter().all(|part| part.1 == parts[0].1);
        for (piece, level) in parts {
            shares[**level] += piece.mass;
            // The parts of a block add up to its own count, where one level has them all.
            variances[**level] += if whole { 0.0 } else { known(piece) };
        }
        if whole && parts.iter().any(|(piece, _)| piece.mass > 0.0) {
            variances[*parts[0].1] += least;
        }
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share = if sum > 0.0 { *share / sum } else { 1.0 / count as f64 });
    variances.iter_mut().for_each(|variance| *variance = variance.max(least));
    (shares, variances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::levels::guess_of;

    /// Noise of 30 in each count. A heap is known to that, and so is a block whose parts are in one level, however
    /// little is known of where in it its records are; parts in several levels have the error of the guess.
    #[test]
    fn levels_are_known_as_their_counts_are() {
        let piece = |(first, last): (usize, usize), mass: f64, share: f64, guess: f64, block| Piece {
            first,
            last,
            mass,
            variance: 900.0 * share,
            guess,
            block,
        };
        let pieces = [
            piece((0, 4), 170.0, 1.0 / 3.0, guess_of(170.0), Some(0)),
            piece((5, 5), 300.0, 1.0, 0.0, Some(0)),
            piece((6, 15), 330.0, 2.0 / 3.0, guess_of(330.0), Some(0)),
            piece((16, 31), 500.0, 1.0, 0.0, Some(1)),
            piece((32, 32), 0.0, 1.0, 0.0, None),
        ];
        let apart = of_levels(&pieces, &[0, 1, 2, 3, 0]).1;
        assert_eq!(apart, [300.0 + 7_225.0, 900.0, 600.0 + 27_225.0, 900.0]);
        assert_eq!(of_levels(&pieces, &[0, 0, 0, 1, 0]).1, [900.0, 900.0]);
        assert_eq!(of_levels(&pieces, &[0, 0, 0, 0, 0]).1, [1_800.0]);
    }
}
