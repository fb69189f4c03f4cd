//! Junction trees in doubles: sum-product, marginals, gradients and draws for models that are passed over many times.
//!
//! A distribution of several variables with finitely many values each, as a product of tables over a few of them, is
//! [passed over](Tree::conditionals) in time that is linear in the cells of a tree of cliques which hold these tables.
//! Here each clique brings in one variable, whose parents all lie in one earlier clique, so that the same tree is a
//! directed model, too: what sum-product finds is the distribution of each variable given its parents.
//!
//! ```
//! use ppl_core::junction::Tree;
//! // A chain of three coins that like to agree, and the first is heads twice as often as tails.
//! let tree = Tree::over(&[2, 2, 2], &[vec![0, 1], vec![1, 2]], 100)?;
//! let mut potentials: Vec<Vec<f64>> = (0..3).map(|clique| vec![1.0; tree.cells(clique)]).collect();
//! let agree = [3.0, 1.0, 1.0, 3.0];
//! for (variables, table) in [(vec![0], &[1.0, 2.0][..]), (vec![0, 1], &agree), (vec![1, 2], &agree)] {
//!     let clique = tree.host_of(&variables).expect("a clique holds each of them");
//!     let cells = tree.cells_of(clique, &variables)?;
//!     potentials[clique].iter_mut().zip(cells).for_each(|(weight, cell)| *weight *= table[cell as usize]);
//! }
//! assert!((tree.log_total(&potentials)? - 48_f64.ln()).abs() < 1e-12);
//! let marginals = tree.marginals(&tree.conditionals(potentials)?)?;
//! let last = tree.host_of(&[2]).expect("a clique holds it");
//! assert!((tree.sum_to(last, &marginals[last], &[2])?[1] - 26.0 / 48.0).abs() < 1e-12);
//! # Ok::<(), ppl_core::Error>(())
//! ```
//!
//! Tables are vectors with one number for each cell of a clique; the clique's own variable varies fastest, and its
//! parents before it in increasing order of their numbers, the last one next.
//!
//! # When not to use it
//! Where weights have to be exact, or errors bounded, [`finite::tables`](crate::finite::tables) does the same with
//! rationals and intervals, in far more time; the tests here compare with it. Where cliques get large nothing exact
//! helps: [`Tree::over`] has a limit on their cells.

mod elimination;
mod passes;

pub(crate) use elimination::eliminated;

use crate::base::{Error, Result};

/// A variable and its parents, all of which lie in one earlier clique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clique {
    variable: usize,
    parents: Vec<usize>,
    host: usize,
}

impl Clique {
    /// The variable that it brings in.
    #[must_use]
    pub fn variable(&self) -> usize {
        self.variable
    }

    /// The parents, in increasing order.
    #[must_use]
    pub fn parents(&self) -> &[usize] {
        &self.parents
    }

    /// The place of the earlier clique that holds the parents; its own place for the first clique.
    #[must_use]
    pub fn host(&self) -> usize {
        self.host
    }

    fn holds(&self, variable: usize) -> bool {
        self.variable == variable || self.parents.contains(&variable)
    }
}

/// Cliques in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    sizes: Vec<usize>,
    cliques: Vec<Clique>,
    /// For each clique and each cell of its host, the cell of the parents.
    above: Vec<Vec<u32>>,
}

impl Tree {
    /// No cliques yet, over variables with these numbers of values.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no variable, or one without values.
    pub fn new(sizes: Vec<usize>) -> Result<Self> {
        let what = match sizes.iter().min() {
            None => "the number of variables",
            Some(0) => "the number of values of a variable",
            Some(_) => return Ok(Self { sizes, cliques: Vec::new(), above: Vec::new() }),
        };
        Err(Error::OutOfRange { what, requirement: "at least 1", value: 0.0 })
    }

    /// Adds a clique: a variable that none before has brought in, with parents that all lie in the clique at the place
    /// `host`, in any order. The first clique has no parents, and its host is not looked at.
    ///
    /// # Errors
    /// [`Error::Values`] if the variable does not exist or was brought in before, or the host does not exist or does
    /// not hold all parents; [`Error::TooMany`] if the clique has more than 2³² cells.
    pub fn push(&mut self, variable: usize, mut parents: Vec<usize>, host: usize) -> Result<()> {
        let first = self.cliques.is_empty();
        let host = if first { 0 } else { host };
        parents.sort_unstable();
        parents.dedup();
        if variable >= self.sizes.len() || self.cliques.iter().any(|clique| clique.variable == variable) {
            return Err(Error::Values(format!(
                "a clique has to bring in a new one of {} variables, got {variable}",
                self.sizes.len()
            )));
        }
        let held = |parent: &usize| self.cliques.get(host).is_some_and(|clique| clique.holds(*parent));
        if !(parents.iter().all(held) && (first || host < self.cliques.len())) {
            return Err(Error::Values(format!("clique {host} does not hold all of the parents {parents:?}")));
        }
        let cells = parents.iter().fold(self.sizes[variable] as u128, |cells, &parent| {
            cells.saturating_mul(self.sizes[parent] as u128)
        });
        if cells > MOST_CELLS {
            return Err(Error::TooMany { what: "cells of a clique", count: cells, limit: MOST_CELLS });
        }
        // Without parents a clique is apart from all others, and takes and gives nothing.
        let above = if parents.is_empty() { Vec::new() } else { self.cells_of(host, &parents)? };
        self.cliques.push(Clique { variable, parents, host });
        self.above.push(above);
        Ok(())
    }

    /// Numbers of values, by variable.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The cliques; each comes after its host.
    #[must_use]
    pub fn cliques(&self) -> &[Clique] {
        &self.cliques
    }

    /// The variables of the clique at a place, in the order of its tables: parents, then its own, which varies fastest.
    ///
    /// # Panics
    /// If there is no such clique, as indexing does.
    #[must_use]
    pub fn variables(&self, clique: usize) -> Vec<usize> {
        let Clique { variable, parents, .. } = &self.cliques[clique];
        parents.iter().copied().chain([*variable]).collect()
    }

    /// The number of cells of the clique at a place.
    ///
    /// # Panics
    /// If there is no such clique, as indexing does.
    #[must_use]
    pub fn cells(&self, clique: usize) -> usize {
        self.variables(clique).into_iter().map(|variable| self.sizes[variable]).product()
    }

    /// The number of cells of all cliques: what a pass is linear in.
    #[must_use]
    pub fn total_cells(&self) -> usize {
        (0..self.cliques.len()).map(|clique| self.cells(clique)).fold(0, usize::saturating_add)
    }

    /// The place of the first clique that holds all of some variables, where there is one.
    #[must_use]
    pub fn host_of(&self, variables: &[usize]) -> Option<usize> {
        self.cliques.iter().position(|clique| variables.iter().all(|&variable| clique.holds(variable)))
    }

    /// For each cell of the clique at a place, the cell of a table over some of its variables, the last of which varies
    /// fastest.
    ///
    /// # Errors
    /// [`Error::Values`] if the clique does not exist or does not hold them all, or one is named twice.
    pub fn cells_of(&self, clique: usize, variables: &[usize]) -> Result<Vec<u32>> {
        let wrong =
            || Error::Values(format!("clique {clique} does not hold all of the variables {variables:?}"));
        if (1..variables.len()).any(|place| variables[..place].contains(&variables[place])) {
            return Err(Error::Values(format!("a table names a variable twice: {variables:?}")));
        }
        let all = if clique < self.cliques.len() { self.variables(clique) } else { return Err(wrong()) };
        let place = |variable: &usize| all.iter().position(|own| own == variable).ok_or_else(wrong);
        let places = variables.iter().map(place).collect::<Result<Vec<usize>>>()?;
        let mut values = vec![0; all.len()];
        let cell = |mut cell: usize| {
            for (value, &variable) in values.iter_mut().zip(&all).rev() {
                (*value, cell) = (cell % self.sizes[variable], cell / self.sizes[variable]);
            }
            let there = places.iter().zip(variables);
            there.fold(0, |cell, (&place, &variable)| cell * self.sizes[variable] + values[place]) as u32
        };
        Ok((0..self.cells(clique)).map(cell).collect())
    }

    /// Sums a table of the clique at a place over everything but some of its variables, the last of which varies
    /// fastest in the sums.
    ///
    /// # Errors
    /// Those of [`cells_of`](Self::cells_of); [`Error::Values`] if the table is not of the clique's size.
    pub fn sum_to(&self, clique: usize, table: &[f64], variables: &[usize]) -> Result<Vec<f64>> {
        let cells = self.cells_of(clique, variables)?;
        if cells.len() != table.len() {
            return Err(Self::misfit(clique, cells.len(), table.len()));
        }
        let mut sums = vec![0.0; variables.iter().map(|&variable| self.sizes[variable]).product()];
        table.iter().zip(cells).for_each(|(weight, cell)| sums[cell as usize] += weight);
        Ok(sums)
    }

    /// The number of values of a clique's own variable.
    fn width(&self, clique: usize) -> usize {
        self.sizes[self.cliques[clique].variable]
    }

    fn misfit(clique: usize, cells: usize, numbers: usize) -> Error {
        Error::Values(format!("clique {clique} has {cells} cells, and its table {numbers} numbers"))
    }
}

/// Most cells of a clique: as many as can be numbered.
const MOST_CELLS: u128 = 1 << 32;
