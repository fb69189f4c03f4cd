//! What noisy counts of one column say: its distribution, and which of its values to tell apart in joint
//! marginals.
//!
//! Everything here is public: functions of what was released.

use super::grid::Grid;
use super::schema::Kind;
use super::smooth::estimated;

/// Neighbouring cells within which values count as equally likely, with their estimated number of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) mass: f64,
    /// The variance of the noise in `mass`.
    pub(super) variance: f64,
    /// That of the guess how much of its block it has; 0 for what was counted.
    pub(super) guess: f64,
    /// Its block, where the column has blocks: their numbers of records are counted, too.
    pub(super) block: Option<usize>,
}

/// That a part of a block has its share of it is a guess, which may be wrong by about half.
pub(super) fn guess_of(mass: f64) -> f64 {
    0.25 * mass * mass
}

/// Noisy counts of a column: of its cells and the missing values, and of its blocks where it has any.
pub(super) struct Counts<'a> {
    pub(super) cells: &'a [f64],
    pub(super) blocks: Option<&'a [f64]>,
    pub(super) noise: f64,
}

/// The nearest numbers that are not negative and have this total.
///
/// `x_i = max(0, y_i − t)`: the projection onto a simplex (Held, Wolfe and Crowder 1974).
pub(super) fn onto_simplex(numbers: &[f64], total: f64) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (place, number) in sorted.iter().enumerate() {
        sum += number;
        let candidate = (sum - total) / (place + 1) as f64;
        if *number > candidate {
            shift = candidate;
        }
    }
    numbers.iter().map(|number| (number - shift).max(0.0)).collect()
}

/// Pieces in increasing order, and the missing values' as the last one, which add up to `total`.
pub(super) fn pieces(counts: &Counts<'_>, grid: &Grid<'_>, total: f64) -> Vec<Piece> {
    let cells = grid.cells();
    let variance = counts.noise * counts.noise;
    // So few missing values are as likely none.
    let missing = Some(counts.cells[cells]).filter(|&count| count > 3.0 * counts.noise).unwrap_or(0.0);
    let missing = missing.min(total);
    let mut found = match (counts.blocks, grid.block()) {
        (Some(blocks), Some(block)) => with_blocks(counts, (blocks, block), grid, total - missing),
        _ => {
            let masses = match grid.has_order() {
                true => estimated(&counts.cells[..cells], counts.noise, total - missing),
                false => onto_simplex(&counts.cells[..cells], total - missing),
            };
            let piece =
                |(cell, mass)| Piece { first: cell, last: cell, mass, variance, guess: 0.0, block: None };
            masses.into_iter().enumerate().map(piece).collect()
        }
    };
    found.push(Piece { first: cells, last: cells, mass: missing, variance, guess: 0.0, block: None });
    found
}

/// Cells that stand out of the noise, and what is left of their blocks.
fn with_blocks(
    counts: &Counts<'_>,
    (blocks, block): (&[f64], usize),
    grid: &Grid<'_>,
    total: f64,
) -> Vec<Piece> {
    let cells = grid.cells();
    let variance = counts.noise * counts.noise;
    let of_blocks = estimated(&blocks[..blocks.len() - 1], counts.noise, total);
    // Of all cells without records, one is expected to exceed this by chance once in twenty tables.
    let threshold = counts.noise * (2.0 * (20.0 * cells as f64).ln()).sqrt();
    let mut found = Vec::new();
    for (number, &in_block) in of_blocks.iter().enumerate() {
        let (first, last) = (number * block, ((number + 1) * block).min(cells) - 1);
        // A heap stands out of its block, which may be dense everywhere.
        let whole = grid.measure((first, last));
        let expected = |cell: usize| match whole > 0.0 {
            true => in_block * grid.measure((cell, cell)) / whole,
            false => 0.0,
        };
        let mut heaps: Vec<(usize, f64)> = (first..=last)
            .map(|cell| (cell, counts.cells[cell]))
            .filter(|(cell, count)| *count > threshold + expected(*cell))
            .collect();
        let standing: f64 = heaps.iter().map(|(_, count)| count).sum();
        // A heap that stands out by itself is there, also where its block does not: as far as the block's own count
        // says.
        let in_block = in_block.max(blocks[number].min(standing));
        let scale = if standing > in_block { in_block / standing } else { 1.0 };
        heaps.iter_mut().for_each(|(_, count)| *count *= scale);
        let rest = (in_block - standing).max(0.0);
        // Values that are no heaps lie as densely everywhere.
        let of_heaps: f64 = heaps.iter().map(|(cell, _)| grid.measure((*cell, *cell))).sum();
        let width = whole - of_heaps;
        let mut at = first;
        let between = |from: usize, to: usize, found: &mut Vec<Piece>| {
            if from < to {
                let measure = grid.measure((from, to - 1));
                let share = if measure > 0.0 && width > 0.0 { (measure / width).min(1.0) } else { 0.0 };
                let mass = rest * share;
                let guess = if from > first || to <= last { guess_of(mass) } else { 0.0 };
                let variance = variance * share;
                found.push(Piece { first: from, last: to - 1, mass, variance, guess, block: Some(number) });
            }
        };
        for (cell, mass) in heaps {
            between(at, cell, &mut found);
            found.push(Piece { first: cell, last: cell, mass, variance, guess: 0.0, block: Some(number) });
            at = cell + 1;
        }
        between(at, last + 1, &mut found);
    }
    let sum: f64 = found.iter().map(|piece| piece.mass).sum();
    if sum > 0.0 {
        found.iter_mut().for_each(|piece| piece.mass *= total / sum);
    }
    found
}

/// Which pieces go together in joint marginals: for each piece the number of its level. Missing values have a
/// level of their own, the last one, where there are any.
///
/// Numbers become at most `most` levels of neighbouring pieces, with heaps by themselves and about the same
/// number of records in the others; none but the last has fewer than `least` records. Of categories, those
/// with fewer than `least` records become one, and so do the rarest where there would be more than `most`.
pub(super) fn levels(pieces: &[Piece], kind: &Kind, most: usize, least: f64) -> Vec<usize> {
    let values = &pieces[..pieces.len() - 1];
    let mut found = match kind {
        Kind::Categories(_) => of_categories(values, most, least),
        _ => of_numbers(values, most, least),
    };
    let levels = found.iter().max().map_or(0, |most| most + 1);
    // Without missing values their piece has no weight, and joins the largest level: those records that lack a value
    // all the same, too few to stand out of the noise, are counted there in joint marginals, and change it the least.
    let missing = if pieces[values.len()].mass > 0.0 { levels } else { largest(values, &found) };
    found.push(missing);
    found
}

/// The level with the most records.
fn largest(values: &[Piece], levels: &[usize]) -> usize {
    let mut masses = vec![0.0; levels.iter().max().map_or(0, |most| most + 1)];
    values.iter().zip(levels).for_each(|(piece, &level)| masses[level] += piece.mass);
    (0..masses.len()).rev().max_by(|&a, &b| masses[a].total_cmp(&masses[b])).unwrap_or(0)
}

fn of_categories(values: &[Piece], most: usize, least: f64) -> Vec<usize> {
    let common = values.iter().filter(|piece| piece.mass >= least).count();
    let own = if values.len() <= most { common } else { common.min(most.saturating_sub(1)) };
    let mut by_mass: Vec<usize> = (0..values.len()).collect();
    by_mass.sort_by(|&a, &b| values[b].mass.total_cmp(&values[a].mass));
    let mut is_rare = vec![true; values.len()];
    by_mass[..own].iter().for_each(|&place| is_rare[place] = false);
    let rare = values.len() - own;
    let mut next = 0;
    let mut other = None;
    let mut level = |is_rare: &bool| {
        let own = |next: &mut usize| {
            *next += 1;
            *next - 1
        };
        if *is_rare && rare > 1 { *other.get_or_insert_with(|| own(&mut next)) } else { own(&mut next) }
    };
    is_rare.iter().map(&mut level).collect()
}

fn of_numbers(values: &[Piece], most: usize, least: f64) -> Vec<usize> {
    let total: f64 = values.iter().map(|piece| piece.mass).sum();
    // Heaps have levels of their own; the others share the rest of the levels evenly.
    let mut target = total / most as f64;
    for _ in 0..most {
        let heaps = values.iter().filter(|piece| piece.mass >= target);
        let (count, mass) = heaps.fold((0, 0.0), |(count, mass), piece| (count + 1, mass + piece.mass));
        // A heap may part what is on its sides.
        let next = (total - mass) / most.saturating_sub(count).max(1) as f64;
        if count >= most || next >= target {
            break;
        }
        target = next;
    }
    let target = target.max(least);
    let (mut level, mut held) = (0, 0.0);
    let mut found = Vec::with_capacity(values.len());
    for (place, piece) in values.iter().enumerate() {
        let heap = piece.mass >= target;
        // A level is closed when it holds enough, and before a heap.
        if place > 0 && (held >= target || (heap && held >= least)) {
            level += 1;
            held = 0.0;
        }
        held += piece.mass;
        found.push(level);
    }
    // Too few at the end join those before them.
    if held < least && level > 0 {
        found.iter_mut().filter(|found| **found == level).for_each(|found| *found -= 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The projection has the total, and no other point of the simplex is nearer.
        #[test]
        fn projections_are_nearest(
            numbers in proptest::collection::vec(-50.0..100.0_f64, 1..20),
            other in proptest::collection::vec(0.001..1.0_f64, 20),
            total in 1.0..200.0_f64,
        ) {
            let found = onto_simplex(&numbers, total);
            prop_assert!((found.iter().sum::<f64>() - total).abs() < 1e-9 * (1.0 + total));
            prop_assert!(found.iter().all(|x| *x >= 0.0));
            let scale = total / other[..numbers.len()].iter().sum::<f64>();
            let distance = |to: &[f64]| numbers.iter().zip(to).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            let other: Vec<f64> = other[..numbers.len()].iter().map(|x| x * scale).collect();
            prop_assert!(distance(&found) <= distance(&other) + 1e-9);
        }

        /// Levels are contiguous, increase by one, and there are not many more than wanted.
        #[test]
        fn levels_of_numbers(masses in proptest::collection::vec(0.0..50.0_f64, 1..200), most in 4..33_usize) {
            let piece = |(cell, &mass): (usize, &f64)| Piece { first: cell, last: cell, mass, variance: 1.0, guess: 0.0, block: None };
            let pieces: Vec<Piece> = masses.iter().enumerate().map(piece).collect();
            let found = of_numbers(&pieces, most, 1.0);
            prop_assert_eq!(found[0], 0);
            prop_assert!(found.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
            prop_assert!(found[found.len() - 1] <= 2 * most);
        }
    }

    fn categories(masses: &[f64]) -> Vec<Piece> {
        let piece =
            |(cell, &mass)| Piece { first: cell, last: cell, mass, variance: 1.0, guess: 0.0, block: None };
        masses.iter().enumerate().map(piece).collect()
    }

    fn of_kind(masses: &[f64], most: usize) -> Vec<usize> {
        let names = (1..masses.len()).map(|name| name.to_string()).collect();
        levels(&categories(masses), &Kind::Categories(names), most, 10.0)
    }

    /// The last mass is that of the missing values.
    #[test]
    fn rare_categories_share_a_level_and_no_more_than_wanted_have_one() {
        assert_eq!(of_kind(&[20.0, 3.0, 50.0, 4.0, 0.0], usize::MAX), [0, 1, 2, 1, 2]);
        assert_eq!(of_kind(&[20.0, 3.0, 50.0, 30.0, 5.0], usize::MAX), [0, 1, 2, 3, 4]);
        assert_eq!(of_kind(&[20.0, 40.0, 50.0, 30.0, 5.0], 4), [0, 1, 2, 3, 4]);
        assert_eq!(of_kind(&[20.0, 40.0, 50.0, 30.0, 5.0], 3), [0, 1, 2, 0, 3]);
        assert_eq!(of_kind(&[20.0, 40.0, 50.0, 3.0, 5.0], 2), [0, 0, 1, 0, 2]);
    }

    /// Records that lack a value, too few to be seen, are counted with the most: with the first, which may be a rare
    /// one, they would have been most of what its joint marginals say.
    #[test]
    fn missing_values_that_are_not_seen_join_the_largest_level() {
        assert_eq!(of_kind(&[12.0, 500.0, 40.0, 0.0], usize::MAX), [0, 1, 2, 1]);
        assert_eq!(of_kind(&[0.0, 0.0, 0.0], usize::MAX), [0, 0, 0]);
        let found = levels(&categories(&[12.0, 500.0, 13.0, 0.0]), &Kind::Whole { low: 0, high: 2 }, 4, 10.0);
        assert_eq!(found[3], found[1]);
    }

    #[test]
    fn heaps_stand_out() {
        let kind = Kind::Whole { low: 0, high: 99_999 };
        let grid = Grid::new(&kind);
        let mut cells = vec![0.0; 100_001];
        (cells[0], cells[15_024]) = (9_000.0, 400.0);
        let block = grid.block().unwrap();
        let mut blocks = vec![0.0; 100_000_usize.div_ceil(block) + 1];
        blocks[0] = 9_100.0;
        blocks[15_024 / block] = 500.0;
        let counts = Counts { cells: &cells, blocks: Some(&blocks), noise: 20.0 };
        let found = pieces(&counts, &grid, 9_600.0);
        let heap = |cell| found.iter().find(|piece| (piece.first, piece.last) == (cell, cell)).unwrap().mass;
        assert!((heap(0) - 9_000.0).abs() < 1e-9 && (heap(15_024) - 400.0).abs() < 1e-9);
        assert!((found.iter().map(|piece| piece.mass).sum::<f64>() - 9_600.0).abs() < 1e-6);
        let level = levels(&found, &kind, 16, 50.0);
        assert_ne!(level[0], level[1]);
    }

    /// What is no heap is as dense everywhere: between the bound and a heap at 0 there are 27 numbers, in two cells.
    #[test]
    fn what_is_no_heap_is_spread_over_numbers() {
        let kind = Kind::Whole { low: -27, high: 999_950 };
        let grid = Grid::new(&kind);
        let block = grid.block().unwrap();
        let (mut cells, mut blocks) =
            (vec![0.0; grid.cells() + 1], vec![0.0; grid.cells().div_ceil(block) + 1]);
        (cells[grid.cell(0.0)], blocks[0]) = (5_000.0, 11_000.0);
        let counts = Counts { cells: &cells, blocks: Some(&blocks), noise: 20.0 };
        let found = pieces(&counts, &grid, 11_000.0);
        let numbers = grid.measure((0, block - 1)) - 1.0;
        assert_eq!((found[0].first, found[0].last, found[1].first), (0, 1, 2));
        assert!((found[0].mass / found[2].mass - 27.0 / (numbers - 27.0)).abs() < 1e-9, "{found:?}");
        assert!((found[1].mass / 5_000.0 - found[2].mass / (6_000.0 * (1.0 - 27.0 / numbers))).abs() < 1e-9);
    }
}
