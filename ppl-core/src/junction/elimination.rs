//! A tree for given sets of variables.

use super::Tree;
use crate::base::{Error, Result};
use std::collections::BTreeSet;

impl Tree {
    /// A tree over all variables in which each of some sets lies in one clique.
    ///
    /// Variables are eliminated one by one, the one whose neighbours lack the fewest edges first (least fill-in), and
    /// of those the one with the fewest cells: a good order, which need not be the best. What is eliminated last comes
    /// first in the tree. For the cliques of a tree it finds a tree with these cliques. The work is about the sum over
    /// cliques of the square of their numbers of variables, times the number of variables.
    ///
    /// # Errors
    /// [`Error::Values`] if a set names a variable that does not exist; [`Error::TooMany`] as soon as the cliques have
    /// more than `most_cells` cells together, before anything of that size is allocated; those of [`Tree::new`] and
    /// [`Tree::push`].
    pub fn over(sizes: &[usize], sets: &[Vec<usize>], most_cells: usize) -> Result<Self> {
        let mut tree = Self::new(sizes.to_vec())?;
        let mut places = vec![0; sizes.len()];
        for (place, (variable, parents)) in eliminated(sizes, sets, most_cells)?.into_iter().rev().enumerate()
        {
            places[variable] = place;
            // The parent that came last has all the others beside it.
            let host = parents.iter().map(|&parent| places[parent]).max().unwrap_or(0);
            tree.push(variable, parents, host)?;
        }
        Ok(tree)
    }
}

/// Variables in the order in which they are eliminated, each with its neighbours at that time, which come later: the
/// graph of the sets made chordal. Errors as of [`Tree::over`].
pub(crate) fn eliminated(
    sizes: &[usize],
    sets: &[Vec<usize>],
    most_cells: usize,
) -> Result<Vec<(usize, Vec<usize>)>> {
    let mut neighbours = vec![BTreeSet::new(); sizes.len()];
    for set in sets {
        if let Some(unknown) = set.iter().find(|&&variable| variable >= sizes.len()) {
            return Err(Error::Values(format!("there are {} variables, got {unknown}", sizes.len())));
        }
        for &variable in set {
            neighbours[variable].extend(set.iter().copied().filter(|&other| other != variable));
        }
    }
    let mut left: BTreeSet<usize> = (0..sizes.len()).collect();
    let (mut eliminated, mut cells) = (Vec::with_capacity(sizes.len()), 0_usize);
    while let Some(variable) = cheapest(&left, &neighbours, sizes) {
        left.remove(&variable);
        let parents: Vec<usize> = neighbours[variable].iter().copied().collect();
        let own = parents.iter().fold(sizes[variable], |cells, &parent| cells.saturating_mul(sizes[parent]));
        cells = cells.saturating_add(own);
        if cells > most_cells {
            let (count, limit) = (cells as u128, most_cells as u128);
            return Err(Error::TooMany { what: "cells of cliques", count, limit });
        }
        for &parent in &parents {
            neighbours[parent].extend(parents.iter().copied().filter(|&other| other != parent));
            neighbours[parent].remove(&variable);
        }
        eliminated.push((variable, parents));
    }
    Ok(eliminated)
}

/// The variable that is eliminated next: fewest edges that have to be added, then fewest cells.
fn cheapest(left: &BTreeSet<usize>, neighbours: &[BTreeSet<usize>], sizes: &[usize]) -> Option<usize> {
    let mut order: Vec<usize> = left.iter().copied().collect();
    order.sort_by_key(|&variable| neighbours[variable].len());
    let cells = |variable: usize| {
        neighbours[variable].iter().fold(sizes[variable], |cells, &other| cells.saturating_mul(sizes[other]))
    };
    let mut best: Option<((usize, usize), usize)> = None;
    for variable in order {
        let around = &neighbours[variable];
        let most = best.map_or(usize::MAX, |((fill, _), _)| fill);
        let mut fill = 0;
        for &one in around {
            fill += around.range(one + 1..).filter(|other| !neighbours[one].contains(other)).count();
            if fill > most {
                break;
            }
        }
        let key = (fill, cells(variable));
        if best.is_none_or(|(least, _)| key < least) {
            best = Some((key, variable));
        }
        // Nothing that has more neighbours is better than one without edges to add.
        if best.is_some_and(|((fill, _), place)| fill == 0 && neighbours[place].len() < around.len()) {
            break;
        }
    }
    best.map(|(_, variable)| variable)
}
