//! Factors that meet each other and are updated from one release.

use super::{BlockState, FactorState, Factors};
use crate::error::Result;
use ppl_core::conjugate::{Statistic, Statistics};

fn is_normal(family: &str) -> bool {
    matches!(family, "Normal" | "MultivariateNormal")
}

impl Factors {
    /// Lets normal factors that meet each other and are updated from one release go `1/G` of the way to their new
    /// means, where they fall into `G` groups of factors that do not meet.
    ///
    /// The new mean of each is best while the others stay where they are. When all go the whole way from the first
    /// release, each makes up for the same thing: a constant and weights of hidden units that are on half of the time
    /// both explain how often a pixel is set, and overshoot it together. The step of `1/G` is the mean of the `G`
    /// points at which one group alone has been updated. With exact statistics none of these has a lower bound on the
    /// evidence, and where that is concave in the means together, as for linear predictors with a log-concave
    /// likelihood, neither has their mean.
    ///
    /// That is proved of the first step. Averages of later ones hold statistics of earlier means, and what shorter
    /// steps do there is slow down weights and hidden units together: better on images, see BENCHMARKS.md.
    ///
    /// What normals have in common with others, such as the scale of one of them, makes no groups.
    pub(in crate::conjugate) fn share_steps(&mut self, statistics: &Statistics<'_>) -> Result<()> {
        let groups = statistics.groups_among(|factor| is_normal(factor.family))?.len();
        for factor in self.factors.iter_mut().filter(|factor| is_normal(factor.family)) {
            factor.way = 1.0 / groups.max(1) as f64;
        }
        Ok(())
    }

    /// Puts the mean of a normal, whose natural parameters are new and whose expectations are not, between the old one
    /// and the new one; its precision is the new one.
    pub(super) fn go_part_of_the_way(&mut self, factor: usize) {
        let FactorState { blocks, way, .. } = &self.factors[factor];
        let (&[first, second], true) = (&blocks[..], *way < 1.0) else { return };
        let (way, stay) = (*way, 1.0 - *way);
        let matrices = self.blocks[second].statistic == Statistic::Outer;
        let precisions = std::mem::take(&mut self.blocks[second].natural);
        let BlockState { natural, expected: old, width, .. } = &mut self.blocks[first];
        let n = if matrices { *width } else { 1 };
        // One matrix for all rows, or one for each.
        let one = matrices && precisions.len() == n * n;
        for (row, (natural, old)) in natural.chunks_exact_mut(n).zip(old.chunks_exact(n)).enumerate() {
            let matrix = if one { &precisions[..] } else { &precisions[row * n * n..][..n * n] };
            for (natural, line) in natural.iter_mut().zip(matrix.chunks_exact(n)) {
                let at_old: f64 = line.iter().zip(old).map(|(p, m)| -2.0 * p * m).sum();
                *natural = way * *natural + stay * at_old;
            }
        }
        self.blocks[second].natural = precisions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::conjugate::Settings;
    use ppl_core::{Ctx, Graph, Schema};
    use ppl_distributions::{Gamma, Normal};

    fn scaled(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
        let a = ctx.sample("a", Normal::new(0.0, tau.sqrt().reciprocal()))?;
        let b = ctx.sample("b", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, r| {
            ctx.observe("x", Normal::new(a, 1.0), r.get("x")?)?;
            ctx.observe("y", Normal::new(b, 1.0), r.get("y")?)
        })
    }

    fn added(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
        let a = ctx.sample("a", Normal::new(0.0, tau.sqrt().reciprocal()))?;
        let b = ctx.sample("b", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(a + b, 1.0), r.get("x")?))
    }

    /// Normals go the whole way where they do not meet each other, though one of them meets its scale, and half of it
    /// where they do.
    #[test]
    fn normals_that_do_not_meet_go_the_whole_way() {
        type AnyProgram = fn(&mut Ctx<'_>) -> ppl_core::Result<()>;
        let all: [(AnyProgram, f64); 2] = [(scaled, 1.0), (added, 0.5)];
        for (model, way) in all {
            let (graph, schema) = (Graph::new(), Schema::new([("x", ()), ("y", ())]).unwrap());
            let statistics = Statistics::new(&model, &graph, &schema, Settings::default()).unwrap();
            let scales = vec![1.0; statistics.blocks().len()];
            let mut factors = Factors::new(&statistics, &scales, None).unwrap();
            factors.share_steps(&statistics).unwrap();
            let ways: Vec<f64> = factors.factors.iter().map(|factor| factor.way).collect();
            assert_eq!(ways, [1.0, way, way]);
        }
    }
}
