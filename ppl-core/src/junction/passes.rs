//! Messages along a tree, and what is made of them.

use super::Tree;
use crate::base::{Error, Result};

impl Tree {
    /// From a potential on each clique, the distribution of each clique's variable given its parents: messages from the
    /// last clique to the first. Where the parents' values cannot occur, the distribution is the even one.
    ///
    /// After each message tables are scaled by their largest number, so that scales of potentials do not add up along
    /// the tree. What is less than 10⁻³⁰⁸ of the largest weight in a clique counts as zero.
    ///
    /// # Errors
    /// [`Error::Values`] unless there is a table of each clique's size; [`Error::OutOfRange`] if a number is negative,
    /// infinite or NaN, or a sum of them overflows.
    pub fn conditionals(&self, potentials: Vec<Vec<f64>>) -> Result<Vec<Vec<f64>>> {
        self.check(&potentials)?;
        Ok(self.collect(potentials)?.0)
    }

    /// The logarithm of the sum over all joint values of the product of the potentials (the partition function); −∞
    /// where no joint value has a weight. Its gradient with respect to the logarithms of the potentials is [the
    /// marginals](Self::marginals).
    ///
    /// # Errors
    /// As [`conditionals`](Self::conditionals).
    pub fn log_total(&self, potentials: &[Vec<f64>]) -> Result<f64> {
        self.check(potentials)?;
        Ok(self.collect(potentials.to_vec())?.1)
    }

    /// The distribution of each clique, from those of variables given their parents, whose rows have to sum to one:
    /// that is not checked.
    ///
    /// # Errors
    /// [`Error::Values`] unless there is a table of each clique's size; [`Error::OutOfRange`] if a number is negative,
    /// infinite or NaN.
    pub fn marginals(&self, conditionals: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        self.check(conditionals)?;
        let mut marginals: Vec<Vec<f64>> = Vec::with_capacity(conditionals.len());
        for (clique, conditional) in conditionals.iter().enumerate() {
            marginals.push(self.extended(clique, conditional, &marginals));
        }
        Ok(marginals)
    }

    /// The distribution of one clique, from that of its variable given its parents and the distributions of the cliques
    /// before it: what [`marginals`](Self::marginals) does clique by clique, for a tree that grows.
    ///
    /// # Errors
    /// [`Error::Values`] if there is no such clique, the table is not of its size, or its host's is missing;
    /// [`Error::OutOfRange`] as for [`marginals`](Self::marginals).
    pub fn marginal(&self, clique: usize, conditional: &[f64], before: &[Vec<f64>]) -> Result<Vec<f64>> {
        if clique >= self.cliques().len() {
            return Err(Error::Values(format!("there are {} cliques, got {clique}", self.cliques().len())));
        }
        self.check_table(clique, conditional)?;
        if !self.cliques[clique].parents.is_empty() {
            let host = self.cliques[clique].host;
            self.check_table(host, before.get(host).map_or(&[][..], Vec::as_slice))?;
        }
        Ok(self.extended(clique, conditional, before))
    }

    /// The joint distribution of one variable with each other one, which no clique needs to hold: the other varies
    /// fastest. One pass for each of the variable's values. (In the variable's own place are its shares on the
    /// diagonal.)
    ///
    /// # Errors
    /// As [`conditionals`](Self::conditionals), and if no clique brings in the variable.
    pub fn with_each_other(&self, conditionals: &[Vec<f64>], variable: usize) -> Result<Vec<Vec<f64>>> {
        let own = self.cliques.iter().position(|clique| clique.variable == variable);
        let own = own.ok_or_else(|| Error::Values(format!("no clique brings in variable {variable}")))?;
        let mut found = vec![Vec::new(); self.sizes.len()];
        let singles = self.singles(&self.marginals(conditionals)?);
        for (value, share) in singles[variable].iter().enumerate() {
            let mut known = conditionals.to_vec();
            let other = |(cell, _): &(usize, &mut f64)| cell % self.sizes[variable] != value;
            known[own].iter_mut().enumerate().filter(other).for_each(|(_, weight)| *weight = 0.0);
            let given = self.singles(&self.marginals(&self.collect(known)?.0)?);
            for (found, given) in found.iter_mut().zip(given) {
                found.extend(given.into_iter().map(|weight| weight * share));
            }
        }
        Ok(found)
    }

    /// A value of each variable that a clique brings in, drawn clique by clique: `choose` picks one of several weights
    /// in proportion to them. Variables without a clique have the value 0.
    ///
    /// # Errors
    /// As [`conditionals`](Self::conditionals); those of `choose`; [`Error::Values`] if it picks a place that does not
    /// exist.
    pub fn sample(
        &self,
        conditionals: &[Vec<f64>],
        mut choose: impl FnMut(&[f64]) -> Result<usize>,
    ) -> Result<Vec<usize>> {
        self.check(conditionals)?;
        let mut values = vec![0; self.sizes.len()];
        for (clique, conditional) in self.cliques.iter().zip(conditionals) {
            let parents = clique.parents.iter();
            let row = parents.fold(0, |cell, &parent| cell * self.sizes[parent] + values[parent]);
            let width = self.sizes[clique.variable];
            let value = choose(&conditional[row * width..][..width])?;
            if value >= width {
                return Err(Error::Values(format!("place {value} of {width} weights was chosen")));
            }
            values[clique.variable] = value;
        }
        Ok(values)
    }

    /// Conditional distributions, and the logarithm of the total.
    fn collect(&self, mut potentials: Vec<Vec<f64>>) -> Result<(Vec<Vec<f64>>, f64)> {
        let mut log_total = 0.0;
        for clique in (0..self.cliques.len()).rev() {
            let width = self.width(clique);
            let mut message = Vec::with_capacity(potentials[clique].len() / width);
            for row in potentials[clique].chunks_mut(width) {
                let total: f64 = row.iter().sum();
                // What cannot occur has any distribution.
                let even = 1.0 / width as f64;
                row.iter_mut().for_each(|weight| *weight = if total > 0.0 { *weight / total } else { even });
                message.push(total);
            }
            if self.cliques[clique].parents.is_empty() {
                log_total += message[0].ln();
                continue;
            }
            let largest = message.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let host = &mut potentials[self.cliques[clique].host];
            let mut most = f64::MIN_POSITIVE;
            for (weight, &cell) in host.iter_mut().zip(&self.above[clique]) {
                *weight *= message[cell as usize] / largest;
                most = most.max(*weight);
            }
            // Of many messages each may be small somewhere else.
            host.iter_mut().for_each(|weight| *weight /= most);
            log_total += largest.ln() + most.ln();
        }
        // One sum that overflows makes a message, and with it the total, infinite or NaN.
        match log_total < f64::INFINITY {
            true => Ok((potentials, log_total)),
            false => Err(Error::OutOfRange {
                what: "a sum of weights of a table",
                requirement: "finite",
                value: f64::INFINITY,
            }),
        }
    }

    fn extended(&self, clique: usize, conditional: &[f64], before: &[Vec<f64>]) -> Vec<f64> {
        let width = self.width(clique);
        let mut above = vec![0.0; conditional.len() / width];
        if self.cliques[clique].parents.is_empty() {
            above[0] = 1.0;
        } else {
            for (weight, &cell) in before[self.cliques[clique].host].iter().zip(&self.above[clique]) {
                above[cell as usize] += weight;
            }
        }
        let rows = above.into_iter().zip(conditional.chunks(width));
        rows.flat_map(|(weight, row)| row.iter().map(move |share| weight * share)).collect()
    }

    /// The distribution of each variable.
    fn singles(&self, marginals: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut found: Vec<Vec<f64>> = self.sizes.iter().map(|&size| vec![0.0; size]).collect();
        for (clique, table) in self.cliques.iter().zip(marginals) {
            let own = &mut found[clique.variable];
            for row in table.chunks(own.len()) {
                own.iter_mut().zip(row).for_each(|(sum, share)| *sum += share);
            }
        }
        found
    }

    fn check(&self, tables: &[Vec<f64>]) -> Result<()> {
        if tables.len() != self.cliques.len() {
            let (cliques, count) = (self.cliques.len(), tables.len());
            return Err(Error::Values(format!("{cliques} cliques need as many tables, got {count}")));
        }
        tables.iter().enumerate().try_for_each(|(clique, table)| self.check_table(clique, table))
    }

    fn check_table(&self, clique: usize, table: &[f64]) -> Result<()> {
        let cells = self.cells(clique);
        if table.len() != cells {
            return Err(Self::misfit(clique, cells, table.len()));
        }
        match table.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
            Some(&value) => {
                let requirement = "finite and not negative";
                Err(Error::OutOfRange { what: "a weight of a table", requirement, value })
            }
            None => Ok(()),
        }
    }
}
