//! Which marginals are measured: those of a core, then a tree that grows column by column, then pairs, chosen
//! privately.

use std::collections::BTreeSet;

use dp_accountant::Relation;
use dp_vi::summaries::{Candidate, Marginals};
use ppl_core::junction::Tree;

use super::fitting::{Counted, conditional, nearest, start};
use super::plan::Plan;
use super::{Error, Result};

/// Most cells of a marginal that is considered.
const MOST_CELLS: usize = 1 << 16;
/// Most cells of a model to which pairs are added.
const MOST_OF_MODEL: usize = 1 << 17;

/// What is known before the tree grows: all of it public.
pub(super) struct Known<'a> {
    /// For each column its levels' shares of the records, and the variances of the estimated numbers of
    /// records.
    pub(super) shares: &'a [Vec<f64>],
    pub(super) variances: &'a [Vec<f64>],
    /// The estimated number of records.
    pub(super) records: f64,
    /// A column that every other one is measured with.
    pub(super) target: Option<usize>,
    /// Columns that are all measured with each other.
    pub(super) core: Vec<usize>,
    pub(super) plan: Plan,
    pub(super) relation: Relation,
}

/// What was measured, and a tree with a clique for each marginal.
pub(super) struct Grown {
    pub(super) tree: Tree,
    pub(super) tables: Vec<Counted>,
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
    tree: Tree,
    tables: Vec<Counted>,
    conditionals: Vec<Vec<f64>>,
    joint: Vec<Vec<f64>>,
    offers: Vec<Offer>,
    seen: BTreeSet<(usize, Vec<usize>)>,
    left: Vec<bool>,
    /// The standard deviation of the noise of a chosen marginal.
    noise: f64,
}

/// Measures a core, grows a tree over all other columns, where in each round a column with its parents is
/// chosen and measured, and adds pairs that the tree does not hold.
///
/// The utility of a candidate is the ℓ₁ distance of the true marginal from what the model says so far less
/// what noise is expected to add to each cell, `√(2/π) σ` (AIM). For a column that is not in the tree yet the
/// model says that it is independent of its parents.
pub(super) fn grow(known: &Known<'_>, marginals: &mut Marginals<'_>) -> Result<Grown> {
    let sizes: Vec<usize> = known.shares.iter().map(Vec::len).collect();
    let columns = sizes.len();
    let single = |column: usize| {
        Counted::single(column, &known.shares[column], known.variances[column].clone(), known.records)
    };
    let mut growth = Growth {
        known,
        marginals,
        tree: Tree::new(sizes)?,
        tables: (0..columns).map(single).collect(),
        conditionals: Vec::new(),
        joint: Vec::new(),
        offers: Vec::new(),
        seen: BTreeSet::new(),
        left: vec![true; columns],
        noise: Plan::deviation(known.plan.joint_noise, known.relation),
    };
    growth.core()?;
    for _ in 0..known.plan.shape.rounds {
        growth.round()?;
    }
    growth.pairs()?;
    let sets = growth.sets(None);
    let tree = Tree::over(growth.tree.sizes(), &sets, usize::MAX)?;
    Ok(Grown { tree, tables: growth.tables })
}

impl Growth<'_, '_> {
    /// The core's columns, measured with each other and all together; the first column where there is no core.
    fn core(&mut self) -> Result<()> {
        let known = self.known;
        if known.core.len() < 2 {
            let entropy = |shares: &Vec<f64>| -> f64 {
                shares.iter().filter(|share| **share > 0.0).map(|share| -share * share.ln()).sum()
            };
            // Without a target any column may be first; one with many values has the most to say of others.
            let widest = || {
                (0..self.left.len())
                    .max_by(|&a, &b| entropy(&known.shares[a]).total_cmp(&entropy(&known.shares[b])))
            };
            let root = known.target.or_else(widest).ok_or_else(|| Error::input("no columns"))?;
            self.grow_by(root, Vec::new(), 0, known.shares[root].clone())?;
            return self.offer(0);
        }
        let mut core = known.core.clone();
        core.sort_unstable();
        self.measure_core(&core)?;
        for (place, &column) in core.iter().enumerate() {
            self.tree.push(column, core[..place].to_vec(), place.saturating_sub(1))?;
            self.left[column] = false;
        }
        let tables: Vec<Counted> =
            self.tables.iter().filter(|t| t.columns.iter().all(|c| core.contains(c))).cloned().collect();
        let mut potentials = start(&tables, known.records);
        self.conditionals = nearest(&self.tree, &tables, known.records, &mut potentials)?;
        self.joint = self.tree.marginals(&self.conditionals)?;
        self.offer(core.len() - 1)
    }

    /// What a regression of the target on the other columns needs, without interactions, is how often each value
    /// of another column goes with each of the target (half of the releases), and how often each combination
    /// of the others occurs (the other half): its estimating equations depend on nothing else, and the model of
    /// largest entropy for these is such a regression. Measuring all combinations with the target would bias
    /// it instead, for counts of rare ones cannot be negative and noise makes them too large.
    ///
    /// Without a target half of the releases is of all pairs and half of all combinations. Combinations are
    /// measured where their noise is worth less than having drawn that many records from a population, and
    /// pairs of the columns otherwise.
    fn measure_core(&mut self, core: &[usize]) -> Result<()> {
        let noise = self.known.plan.core_noise;
        let target = self.known.target.filter(|target| core.contains(target));
        let others: Vec<usize> = core.iter().copied().filter(|&column| Some(column) != target).collect();
        let pairs: Vec<Vec<usize>> = (others.iter().enumerate())
            .flat_map(|(k, &a)| others[k + 1..].iter().map(move |&b| vec![a, b]))
            .collect();
        let mut left = self.known.plan.shape.core_releases();
        if let Some(target) = target {
            let each = if others.len() == 1 { left } else { core.len() / 2 };
            for &other in &others {
                self.measure(&[other, target], noise, each)?;
            }
            left -= each * others.len();
        } else if others.len() > 2 {
            for pair in &pairs {
                self.measure(pair, noise, 1)?;
            }
            left -= pairs.len();
        }
        let cells = others.iter().fold(1.0, |cells, &column| cells * self.tree.sizes()[column] as f64);
        let deviation = Plan::deviation(noise, self.known.relation);
        let worth_it = cells * deviation * deviation / left.max(1) as f64 <= self.known.records;
        match pairs.len() {
            0 => Ok(()),
            1 => self.measure(&others, noise, left),
            _ if worth_it => self.measure(&others, noise, left),
            count => {
                // What is left over goes to the first ones.
                let times = |place: usize| left / count + usize::from(place < left % count);
                let measured = pairs.iter().enumerate().filter(|(place, _)| times(*place) > 0);
                measured
                    .map(|(place, pair)| (times(place), pair))
                    .try_for_each(|(times, pair)| self.measure(pair, noise, times))
            }
        }
    }

    /// The mean of several releases of one marginal.
    fn measure(&mut self, columns: &[usize], noise: f64, times: usize) -> Result<()> {
        let mut sums = Vec::new();
        for _ in 0..times {
            for found in self.marginals.counts(&[columns.to_vec()], noise)? {
                sums.resize(found.counts.len(), 0.0);
                sums.iter_mut().zip(found.counts).for_each(|(sum, count)| *sum += count);
            }
        }
        let deviation = Plan::deviation(noise, self.known.relation);
        self.tables.push(Counted {
            columns: columns.to_vec(),
            counts: sums.into_iter().map(|sum| sum / times as f64).collect(),
            variances: vec![(deviation * deviation / times as f64).max(f64::MIN_POSITIVE)],
            brings: false,
        });
        Ok(())
    }

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
        self.measure(&columns, self.known.plan.joint_noise, 1)?;
        if let Some(table) = self.tables.last_mut() {
            table.brings = true;
        }
        let counts = self.tables.last().map(|table| table.counts.as_slice()).unwrap_or_default();
        let conditional = conditional(counts, &self.known.shares[column], self.known.records);
        self.grow_by(column, parents, host, conditional)?;
        self.offer(self.tree.cliques().len() - 1)
    }

    fn grow_by(
        &mut self,
        column: usize,
        parents: Vec<usize>,
        host: usize,
        conditional: Vec<f64>,
    ) -> Result<()> {
        self.tree.push(column, parents, host)?;
        self.joint.push(self.tree.marginal(self.tree.cliques().len() - 1, &conditional, &self.joint)?);
        self.conditionals.push(conditional);
        self.left[column] = false;
        Ok(())
    }

    /// What noise is expected to add to the distance of a marginal.
    fn penalty(&self, cells: usize) -> f64 {
        (2.0 / std::f64::consts::PI).sqrt() * self.noise * cells as f64
    }

    /// Considers all columns that are left, with parents from a clique that is new.
    fn offer(&mut self, clique: usize) -> Result<()> {
        let columns = self.tree.variables(clique);
        let most = self.most_parents();
        let left: Vec<usize> = (0..self.left.len()).filter(|&column| self.left[column]).collect();
        if left.is_empty() {
            return Ok(());
        }
        // At most 2¹⁸ for a core, whose columns have two levels or more.
        for subset in 0_usize..1 << columns.len() {
            if subset.count_ones() as usize > most {
                continue;
            }
            let mut parents: Vec<usize> = (0..columns.len())
                .filter(|place| subset >> place & 1 == 1)
                .map(|place| columns[place])
                .collect();
            parents.sort_unstable();
            let least = usize::from(self.known.target.is_some());
            if self.known.target.is_some_and(|target| !parents.contains(&target)) {
                continue;
            }
            let above = self.tree.sum_to(clique, &self.joint[clique], &parents)?;
            for &column in &left {
                let cells = above.len() * self.known.shares[column].len();
                let penalty = self.penalty(cells);
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

    /// What has to lie in one clique each: the core, everything that was measured, and another set.
    fn sets(&self, other: Option<&[usize]>) -> Vec<Vec<usize>> {
        let measured = self.tables.iter().map(|table| table.columns.clone());
        measured.chain([self.known.core.clone()]).chain(other.map(<[usize]>::to_vec)).collect()
    }

    /// Chooses and measures pairs of columns that no marginal holds yet.
    ///
    /// All of them are compared with the model of what was measured before, once. Where the next best is not
    /// worth its noise, the widest marginal is measured again instead: what a choice between the pairs and
    /// nothing says.
    fn pairs(&mut self) -> Result<()> {
        let Known { records, plan, .. } = *self.known;
        if plan.shape.pairs == 0 {
            return Ok(());
        }
        let mut potentials = start(&self.tables, records);
        let tree = Tree::over(self.tree.sizes(), &self.sets(None), usize::MAX)?;
        let conditionals = nearest(&tree, &self.tables, records, &mut potentials)?;
        let mut offers: Vec<(Vec<usize>, usize)> = Vec::new();
        let columns = tree.sizes().len();
        for first in 0..columns {
            let seconds: Vec<usize> =
                (first + 1..columns).filter(|&second| self.may_add(first, second)).collect();
            if seconds.is_empty() {
                continue;
            }
            // Of a column with many levels there is no table with each other one, which may have many as well.
            let is_wide = tree.sizes()[first] * tree.sizes()[first] > MOST_CELLS;
            let others = if is_wide { Vec::new() } else { tree.with_each_other(&conditionals, first)? };
            for second in seconds {
                let shares = match others.get(second) {
                    Some(shares) => shares.clone(),
                    None => {
                        let of_first = tree.with_each_other(&conditionals, second)?.swap_remove(first);
                        transposed(&of_first, tree.sizes()[first])
                    }
                };
                let pair = vec![first, second];
                let expected = shares.iter().map(|share| (records * share).max(0.0)).collect();
                let penalty = self.penalty(shares.len());
                let number =
                    self.marginals.consider(&Candidate { columns: pair.clone(), expected, penalty })?;
                offers.push((pair, number));
            }
        }
        // Nothing: a single column, of which all is known but its noise, without a penalty. That of the fewest levels,
        // for its score is the noise of all of them.
        let sizes = tree.sizes();
        let column = (0..sizes.len()).min_by_key(|&column| sizes[column]).unwrap_or(0);
        let table = &self.tables[column];
        let expected = table.counts.iter().map(|count| count.max(0.0)).collect();
        let nothing =
            self.marginals.consider(&Candidate { columns: vec![column], expected, penalty: 0.0 })?;
        for _ in 0..plan.shape.pairs {
            let fits = |(pair, _): &(Vec<usize>, usize)| {
                Tree::over(self.tree.sizes(), &self.sets(Some(pair)), MOST_OF_MODEL).is_ok()
            };
            offers.retain(fits);
            let numbers: Vec<usize> = offers.iter().map(|offer| offer.1).chain([nothing]).collect();
            let chosen = self.marginals.choose(&numbers, plan.choice_epsilon)?;
            let columns = match chosen < offers.len() {
                true => offers.swap_remove(chosen).0,
                false => self.widest(),
            };
            self.measure(&columns, plan.joint_noise, 1)?;
        }
        Ok(())
    }

    /// Whether a pair of columns may be added: no marginal holds it yet, and it has neither too many cells nor more
    /// noise than records.
    fn may_add(&self, first: usize, second: usize) -> bool {
        let sizes = self.tree.sizes();
        let cells = sizes[first] * sizes[second];
        let held = |table: &Counted| [first, second].iter().all(|column| table.columns.contains(column));
        cells <= MOST_CELLS && self.penalty(cells) <= self.known.records && !self.tables.iter().any(held)
    }

    /// The columns of the marginal with the most cells for each time that it was measured.
    fn widest(&self) -> Vec<usize> {
        let often =
            |table: &Counted| self.tables.iter().filter(|other| other.columns == table.columns).count();
        let width = |table: &&Counted| table.counts.len() / often(table);
        self.tables.iter().max_by_key(width).map(|table| table.columns.clone()).unwrap_or_default()
    }
}

/// A table of rows of this length, column by column.
fn transposed(table: &[f64], length: usize) -> Vec<f64> {
    (0..length).flat_map(|column| table.iter().skip(column).step_by(length).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a column of many levels and another one are together is found by the other one's levels.
    #[test]
    fn a_table_of_two_columns_is_found_from_either() {
        let mut tree = Tree::new(vec![5, 3, 4]).unwrap();
        tree.push(0, Vec::new(), 0).unwrap();
        tree.push(1, vec![0], 0).unwrap();
        tree.push(2, vec![1], 1).unwrap();
        let weights = |cells: usize, among: usize| -> Vec<f64> {
            let weight = |cell: usize| 1.0 + (cell * 7 % 11) as f64;
            let rows: Vec<f64> = (0..cells).map(weight).collect();
            rows.chunks(among).flat_map(|row| row.iter().map(|x| x / row.iter().sum::<f64>())).collect()
        };
        let conditionals = [weights(5, 5), weights(15, 3), weights(12, 4)];
        let (of_first, of_last) = (
            tree.with_each_other(&conditionals, 0).unwrap(),
            tree.with_each_other(&conditionals, 2).unwrap(),
        );
        let found = transposed(&of_last[0], 5);
        assert_eq!(found.len(), 20);
        // Shares, each of them a sum of 15 products.
        assert!(found.iter().zip(&of_first[2]).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?} {of_first:?}");
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
