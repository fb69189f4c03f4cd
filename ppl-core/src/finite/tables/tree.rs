//! Junction trees, and the messages that are passed along them.

use super::{Table, Tables};
use crate::base::{Error, Result};
use crate::finite::Weight;
use crate::junction::eliminated;

/// A tree of cliques in which the cliques that hold a variable are connected, with the product of all tables
/// summed out to each clique.
///
/// Messages go from the leaves to the first clique and back (Shafer and Shenoy: nothing is divided, so
/// weights of zero do no harm). Variables are eliminated in the order of least fill-in, which need not be the
/// best order.
#[derive(Clone, Debug)]
pub struct JunctionTree<W> {
    sizes: Vec<usize>,
    cliques: Vec<Vec<usize>>,
    /// For each clique but the first, an earlier one that it hangs on.
    parents: Vec<usize>,
    /// The unnormalised marginal of each clique.
    beliefs: Vec<Table<W>>,
    scopes: Vec<Vec<usize>>,
}

impl<W: Weight> JunctionTree<W> {
    pub(super) fn new(model: &Tables<W>, limit: u128) -> Result<Self> {
        let scopes: Vec<Vec<usize>> = model.tables.iter().map(|table| table.variables.clone()).collect();
        let cliques = cliques(&model.sizes, &scopes)?;
        for clique in &cliques {
            let cells = clique.iter().fold(1_u128, |cells, &v| cells.saturating_mul(model.sizes[v] as u128));
            if cells > limit {
                return Err(Error::TooMany { what: "cells of a clique", count: cells, limit });
            }
        }
        let (cliques, parents) = connect(cliques);
        let mut potentials: Vec<Table<W>> =
            cliques.iter().map(|clique| Table::ones(clique, &model.sizes)).collect();
        for table in &model.tables {
            // A table's variables are connected, so some clique holds all of them.
            if let Some(place) = holding(&cliques, &table.variables) {
                let potential = std::mem::replace(&mut potentials[place], Table::ones(&[], &model.sizes));
                potentials[place] = potential.times(table);
            }
        }
        let beliefs = pass(&potentials, &cliques, &parents, &model.sizes);
        let tree = Self { sizes: model.sizes.clone(), cliques, parents, beliefs, scopes };
        match tree.total().is_zero() {
            true => Err(Error::Impossible("a product of tables")),
            false => Ok(tree),
        }
    }

    /// The variables of each clique.
    #[must_use]
    pub fn cliques(&self) -> &[Vec<usize>] {
        &self.cliques
    }

    /// The sum of the product of all tables over all values: the partition function.
    #[must_use]
    pub fn total(&self) -> W {
        self.beliefs[0].total()
    }

    /// The distribution of some variables that one clique holds.
    ///
    /// # Errors
    /// [`Error::Values`] if the variables do not increase, or no clique holds all of them.
    pub fn marginal(&self, variables: &[usize]) -> Result<Table<W>> {
        let told = || {
            Error::Values(format!("no clique of the junction tree holds all of the variables {variables:?}"))
        };
        if variables.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::Values(format!("variables of a table must increase, got {variables:?}")));
        }
        let place = holding(&self.cliques, variables).ok_or_else(told)?;
        let mut marginal = self.beliefs[place].sum_to(variables, &self.sizes);
        let total = self.total();
        for weight in &mut marginal.weights {
            *weight = weight.over(&total).ok_or(Error::Impossible("a product of tables"))?;
        }
        Ok(marginal)
    }

    /// The gradient of the logarithm of the [total](Self::total) with respect to the logarithms of a table's
    /// weights: the distribution of the table's variables.
    ///
    /// # Errors
    /// [`Error::Values`] if there is no such table.
    pub fn gradient(&self, table: usize) -> Result<Table<W>> {
        match self.scopes.get(table) {
            Some(scope) => self.marginal(scope),
            None => Err(Error::Values(format!(
                "there are {} tables, and none has number {table}",
                self.scopes.len()
            ))),
        }
    }

    /// A value of each variable, drawn from the normalised product: `choose` picks one of several weights in
    /// proportion to them, and is called once for each clique. The draw is as exact as it is.
    ///
    /// # Errors
    /// Those of `choose`; [`Error::Values`] if it picks a place that does not exist or has no weight.
    pub fn sample(&self, mut choose: impl FnMut(&[W]) -> Result<usize>) -> Result<Vec<usize>> {
        let mut values: Vec<Option<usize>> = vec![None; self.sizes.len()];
        for belief in &self.beliefs {
            // Parents come first, so what a clique shares with earlier ones is known, and shared with its
            // parent.
            let mut cells = Vec::new();
            let mut weights = Vec::new();
            for (cell, weight) in belief.weights.iter().enumerate() {
                let at = self.values_of(belief, cell);
                let fits = belief
                    .variables
                    .iter()
                    .zip(&at)
                    .all(|(&v, &value)| values[v].is_none_or(|known| known == value));
                if fits {
                    cells.push(at);
                    weights.push(weight.clone());
                }
            }
            let place = choose(&weights)?;
            if weights.get(place).is_none_or(Weight::is_zero) {
                return Err(Error::Values(format!("place {place} of {} has no weight", weights.len())));
            }
            belief.variables.iter().zip(&cells[place]).for_each(|(&v, &value)| values[v] = Some(value));
        }
        Ok(values.into_iter().map(|value| value.unwrap_or(0)).collect())
    }

    /// The values at a cell of a table.
    fn values_of(&self, table: &Table<W>, mut cell: usize) -> Vec<usize> {
        let mut values = vec![0; table.sizes.len()];
        for (value, &size) in values.iter_mut().zip(&table.sizes).rev() {
            (*value, cell) = (cell % size, cell / size);
        }
        values
    }

    /// For each clique but the first, the place of the one that it hangs on.
    #[must_use]
    pub fn parents(&self) -> &[usize] {
        &self.parents
    }
}

/// The first clique that holds all of these variables.
fn holding(cliques: &[Vec<usize>], variables: &[usize]) -> Option<usize> {
    cliques.iter().position(|clique| variables.iter().all(|variable| clique.contains(variable)))
}

/// Maximal cliques of the graph that is made chordal by eliminating variables, the one of least fill-in
/// first.
fn cliques(sizes: &[usize], scopes: &[Vec<usize>]) -> Result<Vec<Vec<usize>>> {
    let mut found: Vec<Vec<usize>> = Vec::new();
    for (variable, mut clique) in eliminated(sizes, scopes, usize::MAX)? {
        clique.push(variable);
        clique.sort_unstable();
        if holding(&found, &clique).is_none() {
            found.push(clique);
        }
    }
    Ok(found)
}

/// Orders cliques so that each hangs on an earlier one with which it shares the most variables (Prim): for
/// cliques of a chordal graph that is a junction tree. What shares nothing hangs on the first.
fn connect(mut rest: Vec<Vec<usize>>) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut cliques = vec![rest.remove(0)];
    let mut parents = vec![0];
    while !rest.is_empty() {
        let shared = |a: &[usize], b: &[usize]| a.iter().filter(|v| b.contains(v)).count();
        let mut best = (0, 0, 0);
        for (i, clique) in rest.iter().enumerate() {
            for (j, other) in cliques.iter().enumerate() {
                let size = shared(clique, other);
                if size > best.2 {
                    best = (i, j, size);
                }
            }
        }
        cliques.push(rest.remove(best.0));
        parents.push(best.1);
    }
    (cliques, parents)
}

/// Unnormalised marginals of all cliques: each potential with the messages of all its neighbours.
fn pass<W: Weight>(
    potentials: &[Table<W>],
    cliques: &[Vec<usize>],
    parents: &[usize],
    sizes: &[usize],
) -> Vec<Table<W>> {
    let shared = |child: usize| -> Vec<usize> {
        cliques[child].iter().copied().filter(|v| cliques[parents[child]].contains(v)).collect()
    };
    let children = |clique: usize| (1..cliques.len()).filter(move |&child| parents[child] == clique);
    // Children come after their parents.
    let mut up: Vec<Option<Table<W>>> = vec![None; cliques.len()];
    for clique in (1..cliques.len()).rev() {
        let inner = children(clique).filter_map(|child| up[child].as_ref());
        let product = inner.fold(potentials[clique].clone(), |product, message| product.times(message));
        up[clique] = Some(product.sum_to(&shared(clique), sizes));
    }
    let mut down: Vec<Option<Table<W>>> = vec![None; cliques.len()];
    let mut beliefs = Vec::with_capacity(cliques.len());
    for clique in 0..cliques.len() {
        let above = potentials[clique].clone();
        let above = match &down[clique] {
            Some(message) => above.times(message),
            None => above,
        };
        let all: Vec<usize> = children(clique).collect();
        for &child in &all {
            let others = all.iter().filter(|&&other| other != child).filter_map(|&other| up[other].as_ref());
            let product = others.fold(above.clone(), |product, message| product.times(message));
            down[child] = Some(product.sum_to(&shared(child), sizes));
        }
        let messages = all.iter().filter_map(|&child| up[child].as_ref());
        beliefs.push(messages.fold(above, |product, message| product.times(message)));
    }
    beliefs
}
