//! Exact inference on products of tables: junction trees, sum-product, exact sampling and gradients.
//!
//! ```
//! use ppl_core::finite::{Rational, Weight, tables::Tables};
//! let weight = |n| Rational::ratio(n, 1);
//! // A chain of three coins that like to agree, and the first is heads twice as often as tails.
//! let agree = || vec![weight(3), weight(1), weight(1), weight(3)];
//! let chain = Tables::new(vec![2, 2, 2])?
//!     .table(&[0], vec![weight(1), weight(2)])?
//!     .table(&[0, 1], agree())?
//!     .table(&[1, 2], agree())?;
//! let tree = chain.junction_tree(1000)?;
//! assert_eq!(tree.total(), weight(48));
//! assert_eq!(tree.marginal(&[2])?.weights()[1], Rational::ratio(26, 48));
//! # Ok::<(), ppl_core::Error>(())
//! ```

mod tree;

pub use tree::JunctionTree;

use super::Weight;
use crate::base::{Error, Result};

/// A table of weights over some variables, each with finitely many values: the last variable varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<W> {
    /// In increasing order.
    variables: Vec<usize>,
    sizes: Vec<usize>,
    weights: Vec<W>,
}

impl<W: Weight> Table<W> {
    /// The variables, in increasing order.
    #[must_use]
    pub fn variables(&self) -> &[usize] {
        &self.variables
    }

    /// The weights; the last variable varies fastest.
    #[must_use]
    pub fn weights(&self) -> &[W] {
        &self.weights
    }

    /// Ones over some variables.
    fn ones(variables: &[usize], all_sizes: &[usize]) -> Self {
        let sizes: Vec<usize> = variables.iter().map(|&variable| all_sizes[variable]).collect();
        let cells = sizes.iter().product();
        Self { variables: variables.to_vec(), sizes, weights: vec![W::one(); cells] }
    }

    /// For each of this table's variables, how far apart its values are in another table's weights; 0 where
    /// the other does not have it.
    fn strides_in(&self, other: &Self) -> Vec<usize> {
        let stride = |variable: &usize| {
            let place = other.variables.iter().position(|own| own == variable)?;
            Some(other.sizes[place + 1..].iter().product())
        };
        self.variables.iter().map(|variable| stride(variable).unwrap_or(0)).collect()
    }

    /// Hands out, for each of its cells, the cell of another table at the same values.
    fn cells_in(&self, other: &Self, mut take: impl FnMut(usize, usize)) {
        let strides = self.strides_in(other);
        let mut values = vec![0; self.sizes.len()];
        let mut there = 0;
        for here in 0..self.weights.len() {
            take(here, there);
            for place in (0..values.len()).rev() {
                values[place] += 1;
                there += strides[place];
                if values[place] < self.sizes[place] {
                    break;
                }
                there -= strides[place] * self.sizes[place];
                values[place] = 0;
            }
        }
    }

    /// The product with a table over some of its variables.
    fn times(mut self, other: &Self) -> Self {
        let mut products = Vec::with_capacity(self.weights.len());
        self.cells_in(other, |here, there| products.push(self.weights[here].times(&other.weights[there])));
        self.weights = products;
        self
    }

    /// Sums out all variables but some of its own.
    fn sum_to(&self, kept: &[usize], all_sizes: &[usize]) -> Self {
        let mut sum = Self::ones(kept, all_sizes);
        sum.weights.fill(W::zero());
        self.cells_in(&sum.clone(), |here, there| {
            sum.weights[there] = sum.weights[there].plus(&self.weights[here]);
        });
        sum
    }

    /// The sum of all weights.
    #[must_use]
    pub fn total(&self) -> W {
        self.weights.iter().fold(W::zero(), |sum, weight| sum.plus(weight))
    }
}

/// A product of tables over shared variables: an unnormalised joint distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables<W> {
    sizes: Vec<usize>,
    tables: Vec<Table<W>>,
}

impl<W: Weight> Tables<W> {
    /// No tables yet, over variables with these numbers of values.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no variable, or one without values.
    pub fn new(sizes: Vec<usize>) -> Result<Self> {
        if sizes.is_empty() {
            let (what, requirement) = ("the number of variables", "at least 1");
            return Err(Error::OutOfRange { what, requirement, value: 0.0 });
        }
        if sizes.contains(&0) {
            let (what, requirement) = ("the number of values of a variable", "at least 1");
            return Err(Error::OutOfRange { what, requirement, value: 0.0 });
        }
        Ok(Self { sizes, tables: Vec::new() })
    }

    /// Multiplies by a table over these variables, in increasing order; the last one varies fastest.
    ///
    /// # Errors
    /// [`Error::Values`] unless the variables exist and increase, and there is one weight for each cell.
    pub fn table(mut self, variables: &[usize], weights: Vec<W>) -> Result<Self> {
        if variables.windows(2).any(|pair| pair[0] >= pair[1])
            || variables.last().is_some_and(|&last| last >= self.sizes.len())
        {
            let told = format!(
                "variables of a table must increase and be below {}, got {variables:?}",
                self.sizes.len()
            );
            return Err(Error::Values(told));
        }
        let sizes: Vec<usize> = variables.iter().map(|&variable| self.sizes[variable]).collect();
        let cells = sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
        if cells != Some(weights.len()) {
            let told = format!(
                "a table over {variables:?} of sizes {sizes:?} does not have {} weights",
                weights.len()
            );
            return Err(Error::Values(told));
        }
        self.tables.push(Table { variables: variables.to_vec(), sizes, weights });
        Ok(self)
    }

    /// Numbers of values, by variable.
    #[must_use]
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The tables.
    #[must_use]
    pub fn tables(&self) -> &[Table<W>] {
        &self.tables
    }

    /// A junction tree with all messages passed.
    ///
    /// # Errors
    /// [`Error::TooMany`] if a clique has more than `limit` cells; then nothing has been multiplied.
    /// [`Error::Impossible`] if the total weight is zero.
    pub fn junction_tree(&self, limit: u128) -> Result<JunctionTree<W>> {
        JunctionTree::new(self, limit)
    }
}
