//! Rows from a model.

use rand_core::Rng;

use super::model::{Column, Model};
use super::positions::Positions;
use super::{Error, Result};

/// Most rows that are drawn at a time.
pub(super) const MOST_ROWS: u64 = 100_000_000;

/// Fewer rows of a level than this have the values of their own positions; more are spread evenly, in the order of
/// these, which for a few would say little of them. Rows that something was asked of do not lie evenly in the levels of
/// other columns, so all of them have their own.
const FEW: usize = 64;

/// How often rows that do not keep the constraints are drawn again.
const MOST_REDRAWS: usize = 50;

/// Rows of a twin: for each column the piece of its grid that a value lies in, and how far along.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    pub(super) count: usize,
    pub(super) columns: Vec<Vec<(u32, f32)>>,
}

/// Random numbers that decide nothing about privacy.
pub(super) struct Dice<R>(pub(super) R);

impl<R: Rng> Dice<R> {
    /// From 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.0.next_u64()) * count as u128) >> 64) as usize
    }

    fn shuffle(&mut self, places: &mut [u32]) {
        for last in (1..places.len()).rev() {
            let other = self.below(last + 1);
            places.swap(last, other);
        }
    }

    /// A standard normal number.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    /// For each of `count` places one of some weights' numbers. Systematic: each number comes up its expected
    /// number of times, rounded up or down, and each place has the right probabilities if the places are in
    /// random order.
    fn systematic(&mut self, weights: &[f64], count: usize, mut take: impl FnMut(usize, usize)) {
        let total: f64 = weights.iter().sum();
        let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
        let offset = self.share();
        let (mut number, mut reached) = (0, weights.first().copied().unwrap_or(0.0));
        for place in 0..count {
            let at = (place as f64 + offset) / count as f64 * total;
            while at >= reached && number < last {
                number += 1;
                reached += weights[number];
            }
            take(place, number);
        }
    }

    /// The same, where places are independent of each other.
    pub(super) fn independent(&mut self, weights: &[f64], count: usize, mut take: impl FnMut(usize, usize)) {
        let mut reached = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|weight| {
                reached += weight;
                reached
            })
            .collect();
        let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
        for place in 0..count {
            let at = self.share() * reached;
            take(place, sums.partition_point(|sum| *sum <= at).min(last));
        }
    }
}

/// Whether rows are spread evenly over the model, or are independent draws from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    Evenly,
    Independently,
}

impl Model {
    /// Rows that are spread evenly over the model, in random order: of every group of rows that a column's
    /// parents make, each value gets its expected number, rounded up or down at random. A twin then has
    /// hardly more error than the model. Each single row is a draw from the model.
    ///
    /// # Errors
    /// More than 10⁸ rows.
    pub fn sample(&self, rows: u64, generator: impl Rng) -> Result<Rows> {
        self.rows(rows, generator, Drawn::Evenly)
    }

    /// Independent draws from the model, as combining rules of several twins expect them.
    ///
    /// # Errors
    /// More than 10⁸ rows.
    pub fn sample_independently(&self, rows: u64, generator: impl Rng) -> Result<Rows> {
        self.rows(rows, generator, Drawn::Independently)
    }

    fn rows(&self, rows: u64, generator: impl Rng, drawn: Drawn) -> Result<Rows> {
        if rows > MOST_ROWS {
            return Err(Error::input(format!("{rows} rows, at most {MOST_ROWS}")));
        }
        let (count, mut dice) = (rows as usize, Dice(generator));
        // Where values lie within levels does not depend on which levels are asked for.
        let positions = Positions::new(self.asked.as_ref().map_or(self, |asked| &asked.whole))?;
        let mut columns = self.draw(count, &mut dice, drawn, &positions);
        self.keep(&mut columns, count, &mut dice, drawn, &positions)?;
        Ok(Rows { count, columns })
    }

    /// Draws rows again that do not keep the constraints, until all do: draws from the model given that they do.
    fn keep<R: Rng>(
        &self,
        columns: &mut [Vec<(u32, f32)>],
        count: usize,
        dice: &mut Dice<R>,
        drawn: Drawn,
        positions: &Positions,
    ) -> Result<()> {
        for _ in 0..MOST_REDRAWS {
            let bad = self.broken(columns, count);
            if bad.is_empty() {
                return Ok(());
            }
            let again = self.draw(bad.len(), dice, drawn, positions);
            for (own, again) in columns.iter_mut().zip(again) {
                bad.iter().zip(again).for_each(|(&row, code)| own[row] = code);
            }
        }
        let bad = self.broken(columns, count);
        let mut is_good = vec![true; count];
        bad.iter().for_each(|&row| is_good[row] = false);
        let good: Vec<usize> = (0..count).filter(|&row| is_good[row]).collect();
        if good.is_empty() {
            return Err(Error::input("no row that the model can make keeps the constraints of the schema"));
        }
        for row in bad {
            let like = good[dice.below(good.len())];
            columns.iter_mut().for_each(|own| own[row] = own[like]);
        }
        Ok(())
    }

    /// The rows that do not keep the constraints, by what is written of them.
    fn broken(&self, columns: &[Vec<(u32, f32)>], count: usize) -> Vec<usize> {
        let grids: Vec<_> = self.columns.iter().map(super::model::Column::grid).collect();
        let mut bad = vec![false; count];
        for constraint in &self.constraints {
            let names: Vec<&str> = constraint.columns().collect();
            let places: Vec<usize> = (0..self.columns().len())
                .filter(|&place| names.contains(&self.columns[place].name.as_str()))
                .collect();
            for (row, bad) in bad.iter_mut().enumerate() {
                let value = |name: &str| {
                    let place = places.iter().copied().find(|&place| self.columns[place].name == name)?;
                    let (piece, share) = columns[place][row];
                    let (first, last, _) = self.columns[place].pieces[piece as usize];
                    let missing = first == grids[place].cells();
                    (!missing).then(|| grids[place].number((first, last), share.into()))
                };
                *bad |= !constraint.holds(value);
            }
        }
        (0..count).filter(|&row| bad[row]).collect()
    }

    /// Rows that have what was asked for, whether or not they keep the constraints.
    fn draw<R: Rng>(
        &self,
        count: usize,
        dice: &mut Dice<R>,
        drawn: Drawn,
        positions: &Positions,
    ) -> Vec<Vec<(u32, f32)>> {
        let mut found = vec![Vec::new(); self.columns.len()];
        if let Some(asked) = &self.asked {
            asked.draw(self, &mut found, count, dice, (drawn, positions));
        }
        let missing = count - found[0].len();
        if missing > 0 {
            let few = if self.asked.is_some() { usize::MAX } else { FEW };
            let others = self.codes((&self.conditionals, positions), few, missing, dice, drawn);
            found.iter_mut().zip(others).for_each(|(own, others)| own.extend(others));
        }
        found
    }

    /// For each column the piece that each row's value lies in, and how far along. Values of levels with fewer rows
    /// than
    /// `few` lie at the positions of their own; more are spread evenly, in the order of these.
    pub(super) fn codes<R: Rng>(
        &self,
        (conditionals, positions): (&[Vec<f64>], &Positions),
        few: usize,
        count: usize,
        dice: &mut Dice<R>,
        drawn: Drawn,
    ) -> Vec<Vec<(u32, f32)>> {
        let levels = self.levels(conditionals, count, dice, drawn);
        let positions = positions.draw(&levels, dice);
        let columns =
            self.columns.iter().zip(&levels).zip(&positions).map(|((column, levels), positions)| {
                let (mut found, tilts) = (vec![(0, 0.0); count], column.tilts());
                for (level, mut places) in grouped(levels, column.level_count()).into_iter().enumerate() {
                    let (own, weights) = within(column, level);
                    if let Some(at) = positions.as_ref().filter(|_| places.len() < few) {
                        for place in places {
                            let (number, share) = at_share(&weights, f64::from(at[place as usize]));
                            let share = tilted(share, tilts[own[number]]) as f32;
                            found[place as usize] = (own[number] as u32, share.min(1.0 - f32::EPSILON));
                        }
                        continue;
                    }
                    // In the order in which they lie within the level, where other columns say something of it.
                    match positions {
                        Some(at) => {
                            places.sort_by(|&a, &b| at[a as usize].total_cmp(&at[b as usize]));
                        }
                        None => dice.shuffle(&mut places),
                    }
                    let mut pieces = vec![0_u32; places.len()];
                    let take = |place: usize, number: usize| pieces[place] = own[number] as u32;
                    dice.choose(drawn, &weights, places.len(), take);
                    if positions.is_some() {
                        pieces.sort_unstable();
                    }
                    // Evenly along each piece, too, or as its neighbours say.
                    let mut held = vec![0_u32; column.pieces.len()];
                    pieces.iter().for_each(|&piece| held[piece as usize] += 1);
                    let mut seen = vec![0_u32; column.pieces.len()];
                    for (&place, &piece) in places.iter().zip(&pieces) {
                        let (seen, held) = (&mut seen[piece as usize], held[piece as usize]);
                        let share = (f64::from(*seen) + dice.share()) / f64::from(held);
                        let share = tilted(share, tilts[piece as usize]);
                        *seen += 1;
                        found[place as usize] = (piece, (share as f32).min(1.0 - f32::EPSILON));
                    }
                }
                found
            });
        columns.collect()
    }

    /// The level of each column in each row, by each clique's own column given its parents.
    pub(super) fn levels<R: Rng>(
        &self,
        conditionals: &[Vec<f64>],
        count: usize,
        dice: &mut Dice<R>,
        drawn: Drawn,
    ) -> Vec<Vec<u32>> {
        let mut levels: Vec<Vec<u32>> = vec![Vec::new(); self.columns.len()];
        for (clique, conditional) in self.cliques.iter().zip(conditionals) {
            let mut cells = vec![0_u32; count];
            let mut groups = 1;
            for &parent in &clique.parents {
                let size = self.columns[parent].level_count();
                groups *= size;
                cells
                    .iter_mut()
                    .zip(&levels[parent])
                    .for_each(|(cell, level)| *cell = *cell * size as u32 + level);
            }
            let width = self.columns[clique.column].level_count();
            let mut own = vec![0; count];
            for (mut places, weights) in grouped(&cells, groups).into_iter().zip(conditional.chunks(width)) {
                dice.shuffle(&mut places);
                let take = |place: usize, level: usize| own[places[place] as usize] = level as u32;
                dice.choose(drawn, weights, places.len(), take);
            }
            levels[clique.column] = own;
        }
        levels
    }
}

impl<R: Rng> Dice<R> {
    fn choose(&mut self, drawn: Drawn, weights: &[f64], count: usize, take: impl FnMut(usize, usize)) {
        match drawn {
            Drawn::Evenly => self.systematic(weights, count, take),
            Drawn::Independently => self.independent(weights, count, take),
        }
    }
}

/// The pieces of a level, and how likely its records lie in each.
pub(super) fn within(column: &Column, level: usize) -> (Vec<usize>, Vec<f64>) {
    let own: Vec<usize> = (0..column.pieces.len()).filter(|&piece| column.levels[piece] == level).collect();
    let weights: Vec<f64> = own.iter().map(|&piece| column.pieces[piece].2).collect();
    if weights.iter().any(|weight| *weight > 0.0) {
        return (own, weights);
    }
    // A level of which nothing more is known; missing values are never there by chance.
    let missing = column.pieces.len() - 1;
    let even = |&piece: &usize| f64::from(u8::from(piece != missing || own.len() == 1));
    let weights = own.iter().map(even).collect();
    (own, weights)
}

/// The number of the weight, and the share of the way through it, at a share of all.
fn at_share(weights: &[f64], share: f64) -> (usize, f64) {
    let mut left = share * weights.iter().sum::<f64>();
    let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    for (number, weight) in weights.iter().enumerate().take(last) {
        if left < *weight {
            return (number, left / weight);
        }
        left -= weight;
    }
    (last, (left / weights[last].max(f64::MIN_POSITIVE)).clamp(0.0, 1.0))
}

/// The share `t` of the way at which the distribution function of the density `1 + tilt (2t − 1)` has this value.
pub(super) fn tilted(share: f64, tilt: f64) -> f64 {
    // t (1 − tilt) + tilt t², solved without a difference of what is nearly the same.
    let rest = 1.0 - tilt;
    let t = 2.0 * share / (rest + (rest * rest + 4.0 * tilt * share).max(0.0).sqrt());
    if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) }
}

/// The places of each of so many groups.
pub(super) fn grouped(of: &[u32], groups: usize) -> Vec<Vec<u32>> {
    let mut found = vec![Vec::new(); groups];
    of.iter().enumerate().for_each(|(place, &group)| found[group as usize].push(place as u32));
    found
}

/// Rows as a CSV file with the model's header; a missing value is an empty cell.
///
/// # Errors
/// None for rows of this model.
pub fn to_csv(model: &Model, rows: &Rows) -> Result<Vec<u8>> {
    let failed = |error: csv::Error| Error::input(format!("the twin could not be written: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(model.columns().iter().map(|column| column.name.as_str())).map_err(failed)?;
    let grids: Vec<_> = model.columns().iter().map(super::model::Column::grid).collect();
    let mut record = csv::StringRecord::new();
    for row in 0..rows.count {
        record.clear();
        for ((column, grid), codes) in model.columns().iter().zip(&grids).zip(&rows.columns) {
            let (piece, share) = codes[row];
            let (first, last, _) = column.pieces[piece as usize];
            match first == grid.cells() {
                true => record.push_field(""),
                false => record.push_field(&grid.text((first, last), share.into())),
            }
        }
        writer.write_record(&record).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| Error::input(format!("the twin could not be written: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distribution function at what is found is what was asked for, and the mean is `1/2 + tilt/6`.
    #[test]
    fn tilts_are_distributions() {
        for tilt in [-1.0, -0.3, 0.0, 1e-9, 0.7, 1.0] {
            let mut mean = 0.0;
            for k in 0..2000 {
                let share = (f64::from(k) + 0.5) / 2000.0;
                let t = tilted(share, tilt);
                assert!((t * (1.0 - tilt) + tilt * t * t - share).abs() < 1e-12, "{tilt} {share}: {t}");
                mean += t / 2000.0;
            }
            assert!((mean - 0.5 - tilt / 6.0).abs() < 1e-5, "{tilt}: {mean}");
        }
        assert_eq!((tilted(0.0, 1.0), tilted(1.0, -1.0)), (0.0, 1.0));
    }

    #[test]
    fn shares_are_found_among_weights() {
        let weights = [0.0, 1.0, 3.0, 0.0];
        assert_eq!(at_share(&weights, 0.0), (1, 0.0));
        assert_eq!(at_share(&weights, 0.25), (2, 0.0));
        assert_eq!(at_share(&weights, 0.625), (2, 0.5));
        assert_eq!(at_share(&weights, 1.0), (2, 1.0));
        assert_eq!(at_share(&[0.0], 0.5).0, 0);
    }
}
