//! From noisy statistics to posterior factors.

mod begin;
mod point;
mod together;

use super::estimate::Estimate;
use super::shrink::shrink;
use crate::error::{Error, Result};
use crate::guides::guide::GuideSite;
use crate::outcome::correction::linear_algebra::{compose, eigen, square};
use crate::outcome::factors::{FactorDraws, FactorLaw};
use crate::outcome::posterior::Posterior;
use dp_sampler::Seed;
use nalgebra::{DMatrix, DVector};
use ppl_core::conjugate::{Statistic, Statistics};
use ppl_core::{Constraint, ExecutionPlan, Program, SiteKind, Var, gradient};
use std::ops::Range;

/// An array of expected statistics and the natural parameters that go with it.
#[derive(Clone, Debug)]
struct BlockState {
    name: String,
    statistic: Statistic,
    /// Rows and length of the last axis of the value.
    width: usize,
    /// Its place among the statistics that records touch.
    place: Option<Range<usize>>,
    /// The public number that statistics are divided by.
    scale: f64,
    /// Whether the value is positive, as a rate or a precision.
    positive: bool,
    expected: Vec<f64>,
    natural: Vec<f64>,
}

/// The program of a factor's means.
#[derive(Clone, Debug)]
struct FactorState {
    site: GuideSite,
    family: &'static str,
    blocks: Vec<usize>,
    means: ExecutionPlan<f64>,
    /// How much of the way to its new mean a normal goes at a step.
    way: f64,
    /// The value, where it is a point.
    point: Vec<f64>,
}

/// All posterior factors, and what has been released of the statistics.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    blocks: Vec<BlockState>,
    factors: Vec<FactorState>,
    prior: ExecutionPlan<f64>,
    /// `Ŝ`, the statistics averaged over releases, in units of their scales.
    sums: Vec<f64>,
    /// The averages of totals over releases, of blocks of counts: what they are does not depend on the factors.
    totals: Vec<Vec<f64>>,
    /// The variance of the noise in each element of `sums`.
    variance: f64,
    done: u64,
    /// The least eigenvalue of a matrix of statistics, in units of `sd √n`.
    least: f64,
    estimate: Estimate,
}

impl Factors {
    /// Factors at the prior; with `spread`, moved a little in random directions, so that parts that are alike do not
    /// stay so. Scales are one for each block.
    pub(super) fn new(statistics: &Statistics<'_>, scales: &[f64], spread: Option<&Seed>) -> Result<Self> {
        let graph = statistics.trace().graph();
        let inputs: Vec<Var<'_>> = statistics.blocks().iter().map(|block| block.input).collect();
        let mut outputs = gradient(statistics.prior(), &inputs)?;
        outputs.push(statistics.prior());
        let prior = ExecutionPlan::<f64>::new(&Program::new(graph, &outputs)?);
        let mut next = 0;
        let mut blocks: Vec<BlockState> = statistics
            .blocks()
            .iter()
            .zip(scales)
            .map(|(block, &scale)| {
                let elements = block.elements();
                let place = block.touched.then(|| {
                    next += elements;
                    next - elements..next
                });
                BlockState {
                    name: block.name.clone(),
                    statistic: block.statistic,
                    width: block.input.shape().dims().last().copied().unwrap_or(1),
                    place,
                    scale,
                    positive: false,
                    expected: vec![0.0; elements],
                    natural: vec![0.0; elements],
                }
            })
            .collect();
        let mut factors = Vec::new();
        for factor in statistics.factors() {
            let natural: Vec<Var<'_>> = factor
                .blocks
                .iter()
                .map(|&block| graph.input(format!("natural {block}"), inputs[block].shape()))
                .collect::<ppl_core::Result<_>>()?;
            let partition = factor.log_partition(&natural);
            let mut outputs = gradient(partition, &natural)?;
            outputs.push(partition);
            let means = ExecutionPlan::<f64>::new(&Program::new(graph, &outputs)?);
            for &block in &factor.blocks {
                blocks[block].positive = factor.support.interior() == Constraint::Positive;
            }
            let site = GuideSite::new(&factor.site, factor.shape.clone(), factor.support, SiteKind::Latent)?;
            let (family, blocks) = (factor.family, factor.blocks.clone());
            let point = Vec::new();
            factors.push(FactorState { site, family, blocks, means, way: 1.0, point });
        }
        let totals =
            blocks.iter().map(|block| if block.is_table() { vec![0.0; block.width] } else { Vec::new() });
        let totals = totals.collect();
        let mut this = Self {
            blocks,
            factors,
            prior,
            sums: vec![0.0; next],
            totals,
            variance: 0.0,
            done: 0,
            least: 1.0,
            estimate: Estimate::Posterior,
        };
        // Priors of sites that others' priors are made of come first, so that one pass per site sets all.
        for _ in 0..=this.factors.len() {
            let slopes = this.slopes();
            for factor in 0..this.factors.len() {
                this.set_natural(factor, &slopes, None);
                // At expectations of nothing a prior may be improper: it is proper once its parents are known.
                let _ = this.means(factor);
            }
        }
        for factor in 0..this.factors.len() {
            this.means(factor)?;
        }
        if let Some(seed) = spread {
            let boolean = statistics
                .trace()
                .record_latents()
                .any(|site| site.support == Constraint::Boolean && site.value.shape().elements() > 1);
            this.spread(seed, boolean)?;
        }
        Ok(this)
    }

    /// Looks for values in place of posterior factors; the first release is taken at the expectations now, and values
    /// that it does not tell begin at the means.
    pub(super) fn look_for(&mut self, estimate: Estimate) -> Result<()> {
        self.estimate = estimate;
        if estimate.is_point() {
            for factor in 0..self.factors.len() {
                let [means, _] = self.law(factor)?.moments();
                self.factors[factor].point = means;
            }
        }
        Ok(())
    }

    /// The prior's natural parameters at the expectations now.
    fn slopes(&mut self) -> Vec<Vec<f64>> {
        for block in &self.blocks {
            // One that the prior does not depend on is no input of its program.
            if let Ok(input) = self.prior.input(&block.name) {
                self.prior.input_mut(input).copy_from_slice(&block.expected);
            }
        }
        self.prior.run();
        (0..self.blocks.len()).map(|block| self.prior.output(block).to_vec()).collect()
    }

    /// Natural parameters from the prior's and the statistics, if there are any.
    fn set_natural(&mut self, factor: usize, slopes: &[Vec<f64>], statistics: Option<&[Vec<f64>]>) {
        for &block in &self.factors[factor].blocks {
            let state = &mut self.blocks[block];
            state.natural.copy_from_slice(&slopes[block]);
            if let Some(statistics) = statistics {
                state.natural.iter_mut().zip(&statistics[block]).for_each(|(natural, s)| *natural += s);
            }
        }
    }

    /// The expected statistics at the natural parameters.
    fn means(&mut self, factor: usize) -> Result<()> {
        let FactorState { blocks, means, site, .. } = &mut self.factors[factor];
        for &block in blocks.iter() {
            let name = format!("natural {block}");
            if let Ok(input) = means.input(&name) {
                means.input_mut(input).copy_from_slice(&self.blocks[block].natural);
            }
        }
        means.run();
        for (output, &block) in blocks.iter().enumerate() {
            let found = means.output(output);
            if !found.iter().all(|x| x.is_finite()) {
                let problem = format!(
                    "has no expectations at its natural parameters for '{}': its prior must be proper, and its parameters in their domain",
                    site.name
                );
                return Err(Error::Guide { guide: "a posterior factor", problem });
            }
            self.blocks[block].expected.copy_from_slice(found);
        }
        Ok(())
    }

    /// Writes the expectations, times their scales if that is asked for, where records meet them.
    pub(super) fn hand_out(
        &self,
        mut set: impl FnMut(&str, &[f64]) -> Result<()>,
        times_scales: bool,
    ) -> Result<()> {
        let mut values = Vec::new();
        for block in self.blocks.iter().filter(|block| block.place.is_some()) {
            let scale = if times_scales { block.scale } else { 1.0 };
            values.clear();
            values.extend(block.expected.iter().map(|t| t * scale));
            set(&block.name, &values)?;
        }
        Ok(())
    }

    /// Takes the statistics of a step, with noise of this standard deviation in each element (0 without privacy), in
    /// units of the scales, and updates the factors of a group.
    pub(super) fn take(&mut self, released: &[f64], sd: f64, share: f64, group: &[usize]) -> Result<()> {
        for (sum, new) in self.sums.iter_mut().zip(released) {
            *sum += share * (new - *sum);
        }
        self.variance = (1.0 - share).powi(2) * self.variance + (share * sd).powi(2);
        self.done += 1;
        for (block, totals) in self.blocks.iter().zip(&mut self.totals) {
            let Some(place) = block.place.clone().filter(|_| block.is_table()) else { continue };
            let mut now = vec![0.0; block.width];
            for row in released[place].chunks_exact(block.width) {
                now.iter_mut().zip(row).for_each(|(now, x)| *now += x);
            }
            totals.iter_mut().zip(now).for_each(|(total, now)| *total += (now - *total) / self.done as f64);
        }
        let statistics = self.repaired(sd > 0.0);
        for &factor in group {
            let mut slopes = self.slopes();
            if self.estimate == Estimate::Likelihood {
                slopes.iter_mut().for_each(|slopes| slopes.fill(0.0));
            }
            self.set_natural(factor, &slopes, Some(&statistics));
            self.go_part_of_the_way(factor);
        }
        let deviation = self.variance.sqrt();
        for &factor in group {
            match self.estimate.is_point() {
                true => self.go_to_maximum(factor, deviation),
                false => self.means(factor)?,
            }
        }
        Ok(())
    }

    /// The statistics as natural parameters that exist: signs are those that statistics have, matrices are as definite
    /// as theirs, counts are drawn together.
    fn repaired(&self, noisy: bool) -> Vec<Vec<f64>> {
        let deviation = if noisy { self.variance.sqrt() } else { 0.0 };
        self.blocks
            .iter()
            .zip(&self.totals)
            .map(|(block, totals)| {
                let Some(place) = block.place.clone() else { return vec![0.0; block.natural.len()] };
                let mut sums: Vec<f64> = self.sums[place].iter().map(|s| s * block.scale).collect();
                let sd = deviation * block.scale;
                match block.statistic {
                    Statistic::Log if block.is_table() && noisy => {
                        let totals: Vec<f64> = totals.iter().map(|total| total * block.scale).collect();
                        shrink(&mut sums, &totals, sd);
                    }
                    Statistic::Log | Statistic::LogComplement => {
                        sums.iter_mut().for_each(|s| *s = s.max(0.0))
                    }
                    Statistic::Square => sums.iter_mut().for_each(|s| *s = s.min(0.0)),
                    Statistic::Value if block.positive => sums.iter_mut().for_each(|s| *s = s.min(0.0)),
                    Statistic::Outer => {
                        let n = block.width;
                        for matrix in sums.chunks_exact_mut(n * n) {
                            definite(matrix, n, self.least * sd * (n as f64).sqrt());
                        }
                    }
                    _ => {}
                }
                sums
            })
            .collect()
    }

    /// `Σ_s [A(η_s) − ⟨η_s, t_s⟩] + E[ln p(θ)]`: what the bound on the evidence has besides the records' part;
    /// of points the log density of the prior, or nothing.
    #[cfg(test)]
    pub(super) fn bound(&mut self) -> Result<f64> {
        self.slopes();
        let mut bound = self.prior.output(self.blocks.len())[0];
        match self.estimate {
            Estimate::Posterior => {}
            Estimate::Mode => return Ok(bound),
            Estimate::Likelihood => return Ok(0.0),
        }
        for number in 0..self.factors.len() {
            self.means(number)?;
            let factor = &self.factors[number];
            bound += factor.means.output(factor.blocks.len())[0];
            for &block in &factor.blocks {
                let state = &self.blocks[block];
                bound -= state.natural.iter().zip(&state.expected).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        Ok(bound)
    }

    /// A factor as its natural parameters have it.
    fn law(&self, factor: usize) -> Result<FactorLaw> {
        let factor = &self.factors[factor];
        let natural: Vec<&[f64]> = factor.blocks.iter().map(|&b| self.blocks[b].natural.as_slice()).collect();
        FactorLaw::new(factor.family, &natural, factor.site.shape.dims().last().copied().unwrap_or(1))
    }

    /// The factors, or points.
    pub(super) fn posterior(&self) -> Result<Posterior> {
        let law = |factor: usize| match self.estimate.is_point() {
            true => Ok(FactorLaw::Point { value: self.factors[factor].point.clone() }),
            false => self.law(factor),
        };
        let laws = (0..self.factors.len()).map(law).collect::<Result<Vec<_>>>()?;
        let sites: Vec<GuideSite> = self.factors.iter().map(|factor| factor.site.clone()).collect();
        Ok(Posterior::of_factors(&sites, FactorDraws::new(laws)))
    }

    /// Expected statistics and natural parameters, by name.
    pub(super) fn parameters(&self) -> Vec<(String, Vec<f64>)> {
        let each = self.blocks.iter().flat_map(|block| {
            [
                (block.name.clone(), block.expected.clone()),
                (format!("natural {}", block.name), block.natural.clone()),
            ]
        });
        each.collect()
    }

    /// Appends everything that changes from step to step.
    pub(super) fn save(&self, state: &mut Vec<f64>) {
        state.extend(&self.sums);
        self.totals.iter().for_each(|totals| state.extend(totals));
        for block in &self.blocks {
            state.extend(&block.expected);
            state.extend(&block.natural);
        }
        // Of no length where factors are no points.
        self.factors.iter().for_each(|factor| state.extend(&factor.point));
        state.extend([self.variance, self.done as f64]);
    }

    /// Takes that back.
    pub(super) fn restore(&mut self, state: &mut crate::optimiser::SavedState<'_>) -> Result<()> {
        state.copy_to(&mut self.sums)?;
        for totals in &mut self.totals {
            state.copy_to(totals)?;
        }
        for block in &mut self.blocks {
            state.copy_to(&mut block.expected)?;
            state.copy_to(&mut block.natural)?;
        }
        for factor in &mut self.factors {
            state.copy_to(&mut factor.point)?;
        }
        let mut last = [0.0; 2];
        state.copy_to(&mut last)?;
        (self.variance, self.done) = (last[0], last[1] as u64);
        Ok(())
    }
}

impl BlockState {
    /// Whether it is a table of expected counts, rows by columns.
    fn is_table(&self) -> bool {
        self.statistic == Statistic::Log
            && self.place.is_some()
            && self.expected.len() > self.width
            && self.width > 1
    }
}

/// Makes a matrix symmetric, and its eigenvalues at most `−least`: the second natural parameter of a normal, `−½` of a
/// precision. One that has no eigenvalues is replaced by `−least` times the identity.
fn definite(matrix: &mut [f64], n: usize, least: f64) {
    let whole = square(matrix, n);
    let whole = (&whole + whole.transpose()) * -0.5;
    let repaired = match eigen(whole) {
        Some(found) => {
            let values = DVector::from_iterator(n, found.eigenvalues.iter().map(|x| x.max(least)));
            compose(&DMatrix::from_diagonal(&values), &found.eigenvectors)
        }
        None => DMatrix::identity(n, n) * least,
    };
    for (k, x) in matrix.iter_mut().enumerate() {
        *x = -0.5 * (repaired[(k / n, k % n)] + repaired[(k % n, k / n)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A precision that is the prior's plus a repaired matrix is positive definite, whatever was released.
        #[test]
        fn repaired_matrices_are_definite(
            elements in proptest::collection::vec(prop_oneof![-1e3..1e3_f64, Just(0.0), -1e9..1e9_f64], 16),
            least in 0.0..10.0_f64,
        ) {
            let mut matrix = elements.clone();
            definite(&mut matrix, 4, least);
            let precision = square(&matrix, 4) * -2.0 + DMatrix::identity(4, 4) * 1e-3
                * (1.0 + elements.iter().fold(0.0_f64, |a, b| a.max(b.abs())) * 1e-6);
            prop_assert!(crate::outcome::correction::linear_algebra::cholesky(precision).is_some());
            for k in 0..16 {
                prop_assert_eq!(matrix[k], matrix[(k % 4) * 4 + k / 4]);
            }
        }
    }
}
