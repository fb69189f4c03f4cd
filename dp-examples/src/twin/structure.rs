//! Which marginals are measured: a tree that grows column by column, chosen privately.

use std::collections::BTreeSet;

use dp_vi::summaries::{Candidate, Marginals};

use super::fitting::{Measured, conditional};
use super::plan::Plan;
use super::tree::Tree;
use super::{Error, Result};

/// Most cells of a marginal that is considered.
const MOST_CELLS: usize = 1 << 16;

/// What is known before the tree grows: all of it public.
pub(super) struct Known<'a> {
    /// For each column its levels' shares of the records, and the variances of the estimated numbers of
    /// records.
    pub(super) shares: &'a [Vec<f64>],
    pub(super) variances: &'a [Vec<f64>],
    /// The estimated number of records.
    pub(super) records: f64,
    /// A column that every other one has among its parents.
    pub(super) target: Option<usize>,
    pub(super) plan: Plan,
    /// The standard deviation of the noise of a chosen marginal.
    pub(super) noise: f64,
}

/// A tree with what was measured of it.
pub(super) struct Grown {
    pub(super) tree: Tree,
    pub(super) conditionals: Vec<Vec<f64>>,
    pub(super) measured: Measured,
}

/// A column with its parents, and the number that [`Marginals`] knows the pair by.
struct Offer {
    column: usize,
    parents: Vec<usize>,
    host: usize,
    number: usize,
}

struct Growth<'a, 'r> {
    known: &'a Known<'a>,
    marginals: &'a mut Marginals<'r>,
    grown: Grown,
    joint: Vec<Vec<f64>>,
    offers: Vec<Offer>,
    seen: BTreeSet<(usize, Vec<usize>)>,
    left: Vec<bool>,
}

/// Grows a tree over all columns: in each round a column with its parents is chosen and measured.
///
/// The utility of a candidate is the ℓ₁ distance of the true marginal from what the model says so far, where
/// the column is independent of its parents, less what noise is expected to add to each cell, `√(2/π) σ`
/// (AIM).
pub(super) fn grow(known: &Known<'_>, marginals: &mut Marginals<'_>) -> Result<Grown> {
    let sizes: Vec<usize> = known.shares.iter().map(Vec::len).collect();
    let columns = sizes.len();
    let entropy = |shares: &Vec<f64>| -> f64 {
        shares.iter().filter(|share| **share > 0.0).map(|share| -share * share.ln()).sum()
    };
    // Without a target any column may be first; one with many values has the most to say of others.
    let widest =
        || (0..columns).max_by(|&a, &b| entropy(&known.shares[a]).total_cmp(&entropy(&known.shares[b])));
    let root = known.target.or_else(widest).ok_or_else(|| Error::input("no columns"))?;
    let variance = (known.noise * known.noise).max(f64::MIN_POSITIVE);
    let measured = Measured { joint: Vec::new(), variance, single: Vec::new() };
    let grown = Grown { tree: Tree::new(sizes), conditionals: Vec::new(), measured };
    let left = vec![true; columns];
    let (joint, offers, seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut growth = Growth { known, marginals, grown, joint, offers, seen, left };
    growth.add(root, Vec::new(), 0, Vec::new(), known.shares[root].clone())?;
    for _ in 0..known.plan.rounds {
        growth.round()?;
    }
    Ok(growth.grown)
}

impl Growth<'_, '_> {
    /// Parents beside the target: the more columns there are, the fewer, for the number of candidates grows
    /// with the power of it.
    fn most_parents(&self) -> usize {
        let most = match self.left.len() {
            0..=24 => 3,
            25..=64 => 2,
            _ => 1,
        };
        // With many columns the target alone would leave no room for another.
        most + usize::from(most == 1 && self.known.target.is_some())
    }

    fn round(&mut self) -> Result<()> {
        let eligible: Vec<usize> =
            (0..self.offers.len()).filter(|&offer| self.left[self.offers[offer].column]).collect();
        let numbers: Vec<usize> = eligible.iter().map(|&offer| self.offers[offer].number).collect();
        let chosen = eligible[self.marginals.choose(&numbers, self.known.plan.choice_epsilon)?];
        let Offer { column, parents, host, .. } = &self.offers[chosen];
        let (column, parents, host) = (*column, parents.clone(), *host);
        let columns: Vec<usize> = parents.iter().copied().chain([column]).collect();
        let found = self.marginals.counts(&[columns], self.known.plan.joint_noise)?;
        let counts = found.into_iter().next().map(|marginal| marginal.counts).unwrap_or_default();
        let conditional = conditional(&counts, &self.known.shares[column], self.known.records);
        self.add(column, parents, host, counts, conditional)
    }

    fn add(
        &mut self,
        column: usize,
        parents: Vec<usize>,
        host: usize,
        counts: Vec<f64>,
        conditional: Vec<f64>,
    ) -> Result<()> {
        let known = self.known;
        let Grown { tree, conditionals, measured } = &mut self.grown;
        tree.push(column, parents, host);
        let clique = tree.cliques.len() - 1;
        self.joint.push(tree.extended(clique, &conditional, &self.joint));
        conditionals.push(conditional);
        measured.joint.push(counts);
        let single = known.shares[column].iter().zip(&known.variances[column]);
        measured.single.push(single.map(|(share, variance)| (share * known.records, *variance)).collect());
        self.left[column] = false;
        self.offer(clique)
    }

    /// Considers all columns that are left, with parents from a clique that is new.
    fn offer(&mut self, clique: usize) -> Result<()> {
        let columns = self.grown.tree.columns(clique);
        let most = self.most_parents();
        let left: Vec<usize> = (0..self.left.len()).filter(|&column| self.left[column]).collect();
        for subset in 0_usize..1 << columns.len() {
            let mut parents: Vec<usize> = (0..columns.len())
                .filter(|place| subset >> place & 1 == 1)
                .map(|place| columns[place])
                .collect();
            parents.sort_unstable();
            let least = usize::from(self.known.target.is_some());
            if parents.len() > most || self.known.target.is_some_and(|target| !parents.contains(&target)) {
                continue;
            }
            let above = self.marginal(clique, &parents);
            for &column in &left {
                let cells = above.len() * self.known.shares[column].len();
                let penalty = (2.0 / std::f64::consts::PI).sqrt() * self.known.noise * cells as f64;
                // More noise than records: never worth it, but where there is nothing else.
                let hopeless = cells > MOST_CELLS || penalty > self.known.records.max(0.0);
                if (hopeless && parents.len() > least) || !self.seen.insert((column, parents.clone())) {
                    continue;
                }
                let shares = &self.known.shares[column];
                let expect = |weight: &f64| {
                    let records = self.known.records * weight;
                    shares.iter().map(move |share| (records * share).max(0.0)).collect::<Vec<_>>()
                };
                let expected = above.iter().flat_map(expect).collect();
                let columns = parents.iter().copied().chain([column]).collect();
                let number = self.marginals.consider(&Candidate { columns, expected, penalty })?;
                self.offers.push(Offer { column, parents: parents.clone(), host: clique, number });
            }
        }
        Ok(())
    }

    /// The distribution of some columns of a clique, as the model has it.
    fn marginal(&self, clique: usize, columns: &[usize]) -> Vec<f64> {
        let tree = &self.grown.tree;
        let mut sums = vec![0.0; columns.iter().map(|&column| tree.sizes[column]).product()];
        for (share, cell) in self.joint[clique].iter().zip(tree.cells_of(clique, columns)) {
            sums[cell as usize] += share;
        }
        sums
    }
}
