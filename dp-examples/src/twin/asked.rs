//! Rows of which a part of a level is asked for, by rejection.
//!
//! Joint marginals are of levels, and what lies in a part of one goes with other values than the level as a whole, as
//! far as [`Positions`] say. So rows of all levels that are concerned are drawn as if nothing had been asked for, and
//! those are kept that have the values.

use rand_core::Rng;

use super::model::Model;
use super::positions::Positions;
use super::sample::{Dice, Drawn};

/// Most rows that are drawn for those that are kept, all together; where it takes more, a part of a level has what the
/// level has.
const MOST_TRIED: f64 = 2e7;

/// Rows that are drawn at a time: what is held of them takes 80 MB for 10 columns.
const AT_ONCE: usize = 1 << 20;

/// How many more rows than were expected may be tried.
const PATIENCE: f64 = 4.0;

/// A model that nothing had been asked of, and what has been since.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) whole: Model,
    /// For each clique, its own column given its parents, where columns have one of the levels that hold some of what
    /// was asked for.
    pub(super) conditionals: Vec<Vec<f64>>,
    /// How many of these rows have the values, about.
    pub(super) share: f64,
    /// Whether there is a level of which a part was asked for.
    pub(super) is_partial: bool,
}

impl Asked {
    /// Appends rows of `narrowed`, which is the model that was asked, until there are so many, or too many were tried.
    pub(super) fn draw<R: Rng>(
        &self,
        narrowed: &Model,
        found: &mut [Vec<(u32, f32)>],
        count: usize,
        dice: &mut Dice<R>,
        (drawn, positions): (Drawn, &Positions),
    ) {
        let mut left = PATIENCE * (count as f64 / self.share) + 1000.0;
        if !self.is_partial || left.is_nan() || left > PATIENCE * MOST_TRIED {
            return;
        }
        let asked: Vec<usize> =
            (0..narrowed.columns.len()).filter(|&column| narrowed.columns[column].within.is_some()).collect();
        while found[0].len() < count && left > 0.0 {
            let missing = (count - found[0].len()) as f64;
            let tries = ((1.05 * missing / self.share) as usize + 16).min(AT_ONCE);
            left -= tries as f64;
            let mut rows = self.whole.codes((&self.conditionals, positions), usize::MAX, tries, dice, drawn);
            for row in 0..tries {
                let keeps = asked.iter().all(|&column| {
                    let code = &mut rows[column][row];
                    let there = self.there(narrowed, column, *code);
                    there.inspect(|&share| code.1 = share).is_some()
                });
                if keeps && found[0].len() < count {
                    found.iter_mut().zip(&rows).for_each(|(own, rows)| own.push(rows[row]));
                }
            }
        }
    }

    /// How far along the narrower piece a value of this one lies; `None` where it does not lie in it.
    fn there(&self, narrowed: &Model, column: usize, (piece, share): (u32, f32)) -> Option<f32> {
        let (first, last, _) = self.whole.columns[column].pieces[piece as usize];
        let (from, to, mass) = narrowed.columns[column].pieces[piece as usize];
        let number = self.whole.columns[column].grid().at((first, last), share.into());
        let there = narrowed.columns[column].grid().share_of((from, to), number).filter(|_| mass > 0.0)?;
        Some((there as f32).min(1.0 - f32::EPSILON))
    }
}
