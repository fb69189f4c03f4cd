//! One tile of records after the other, or several side by side: norms, weights, and the weighted sums of
//! each tile.
//!
//! Tiles are taken in *spans*. Every span has sums of its own, which are added up in the order of the spans,
//! whichever thread made them: results do not depend on the number of threads.

use super::terms::Terms;
use crate::base::Result;
use crate::machine::Scalar;
use crate::machine::simd::{self, dispatch};
use crate::op::Operand;
use crate::records::Records;
use crate::run::plan::{ExecutionPlan, Runner, Workspace};
use rayon::prelude::*;
use std::collections::HashSet;

/// Squares below this multiple of the smallest normal number have lost digits to underflow.
const UNDERFLOW_MARGIN: f64 = 16_777_216.0; // 2²⁴

pub(super) use crate::run::plan::PARALLEL;

/// Records that one thread takes at a time, if a tile has fewer.
const SPAN: usize = 1024;

/// Numbers that one thread's buffers hold, where several spans have so few: 128 KiB in `f64`.
const BUFFERED: usize = 1 << 14;

/// Records of a span: a whole number of tiles. A large tile, or one of a program with large products, is a
/// span of its own.
pub(super) fn span(tile: usize) -> usize {
    if tile >= 64 { tile } else { SPAN / tile * tile }
}

/// Memory of one tile beside the plan's.
#[derive(Clone, Debug)]
pub(super) struct Buffers<T> {
    /// Squared norms of one group after the other.
    squared_norms: Vec<T>,
    /// Weights of one group after the other.
    pub(super) weights: Vec<T>,
    pub(super) scratch: Vec<T>,
    pub(super) sums: Vec<T>,
    pub(super) parts: Vec<T>,
    /// Squared norms of a whole span.
    found: Vec<T>,
}

impl<T> Buffers<T> {
    /// Numbers held.
    fn len(&self) -> usize {
        let Self { squared_norms, weights, scratch, sums, parts, found } = self;
        [squared_norms, weights, scratch, sums, parts, found].into_iter().map(Vec::len).sum()
    }
}

/// Whose weights a weighing function writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weighing {
    /// One for each record.
    Together,
    /// One for each group and record.
    Grouped,
}

/// What is done with each tile.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// For each group the output that holds its squared norms; `None` if no record touches it.
    pub(super) norms: Vec<Option<usize>>,
    /// Outputs that hold squared norms of factors.
    pub(super) factor_norms: Vec<usize>,
    pub(super) terms: Terms,
    /// Numbers of a sum.
    pub(super) dimension: usize,
}

/// The members of a team: memory for one span each, at least one of them, and the sums of parts over all
/// tiles.
#[derive(Clone, Debug)]
pub(super) struct Team<T> {
    pub(super) members: Vec<Buffers<T>>,
    totals: Totals<T>,
}

/// What is collected of all spans beside the sums.
#[derive(Clone, Debug)]
struct Totals<T> {
    parts: Vec<T>,
    /// What rounding has taken from the sums and then from the parts, where there are many spans.
    lost: Vec<T>,
}

/// A tile that has been run.
pub(super) struct Done<'a, T> {
    pub(super) runner: Runner<'a, T>,
    pub(super) workspace: &'a mut Workspace<T>,
    /// Its records.
    pub(super) batch: (&'a Records, &'a [u64]),
    pub(super) lanes: usize,
}

impl Tiles {
    /// A team of one.
    pub(super) fn team<T: Scalar>(&self, tile: usize) -> Team<T> {
        let totals = Totals { parts: vec![T::zero(); self.terms.parts()], lost: Vec::new() };
        Team { members: vec![self.buffers(tile)], totals }
    }

    /// Outputs that may lie record after record: those that are only added up, as they are or as right
    /// factors.
    pub(super) fn outputs_by_record(&self) -> Vec<usize> {
        let mut outputs = self.terms.outputs_by_record();
        let norms: HashSet<usize> = self.norms.iter().flatten().chain(&self.factor_norms).copied().collect();
        outputs.retain(|output| !norms.contains(output));
        outputs
    }

    /// Memory for one tile.
    pub(super) fn buffers<T: Scalar>(&self, tile: usize) -> Buffers<T> {
        let zeros = |numbers: usize| vec![T::zero(); numbers];
        Buffers {
            squared_norms: zeros(self.norms.len().max(1) * tile),
            weights: zeros(self.norms.len().max(1) * tile),
            scratch: zeros(self.terms.scratch_rows() * tile),
            sums: zeros(self.dimension),
            parts: zeros(self.terms.parts()),
            found: zeros(self.norms.len() * span(tile)),
        }
    }

    /// Runs a batch: `work` on each tile, on several threads where there is much to do, and then `collect` on
    /// what the tiles left behind.
    ///
    /// Three sizes nest. A *tile* is what the plan runs at a time. A *span* is some tiles in a row, and the
    /// unit that sums are formed over: the tiles of a span are run one after the other by one thread, and add
    /// to the same buffers. A *wave* is a number of spans in a row that are run at the same time, each with a
    /// member of the team for its buffers; after each wave, `collect` receives the members in the order of
    /// their spans, and the next wave uses the same members again.
    ///
    /// Results do not depend on the number of threads: where spans begin follows from the size of a tile,
    /// within a span the order is that of the batch, and between spans `collect` sets the order. Only the
    /// size of a wave depends on the number of threads, and nothing is added up over a wave.
    ///
    /// A wave ends when its slowest thread does, and its end costs a synchronisation. So each thread gets
    /// several spans of a wave, up to all of them, where the buffers of a span are small. Where they are
    /// large (many parameters), one span a thread is enough work, and more would only cost memory: the team
    /// holds as many buffers as a wave has spans.
    ///
    /// `work` receives the tile, the buffers of its span, and the position of the tile's first record within
    /// the span (0 marks the first tile, which must clear the buffers). `collect` receives the number of the
    /// wave's first span, the totals of the batch, and the members.
    ///
    /// The first error ends the batch; what was collected until then is not a result.
    fn waves<T: Scalar>(
        &self,
        plan: &mut ExecutionPlan<T>,
        team: &mut Team<T>,
        (records, batch): (&Records, &[u64]),
        work: impl Fn(&mut Done<'_, T>, &mut Buffers<T>, usize) + Sync,
        mut collect: impl FnMut(usize, &mut Totals<T>, &[Buffers<T>]),
    ) -> Result<()> {
        let (tile, span) = (plan.tile(), span(plan.tile()));
        let spans = batch.len().div_ceil(span);
        let operations = plan.operations().saturating_mul(batch.len() as u64);
        let threads =
            if operations < PARALLEL { 1 } else { rayon::current_num_threads().clamp(1, spans.max(1)) };
        plan.check_schema(records)?;
        // A power of two, so that batches of random sizes hardly ever need more memory than the ones before.
        let most = (BUFFERED / team.members[0].len().max(1)).max(1);
        let all = spans.div_ceil(threads).next_power_of_two();
        let spans_each = if threads == 1 { 1 } else { all.clamp(1, most) };
        plan.reserve_workspaces(threads);
        while team.members.len() < threads * spans_each {
            team.members.push(self.buffers(tile));
        }
        let (runner, workspaces) = plan.runner_and_workspaces();
        let one = |number: usize, workspace: &mut Workspace<T>, buffers: &mut Buffers<T>| -> Result<()> {
            // The records behind a tile are passed along, so that the plan can fetch them ahead of time.
            let whole = &batch[number * span..(number * span + span).min(batch.len())];
            for (position, indices) in whole.chunks(tile).enumerate() {
                let from = position * tile;
                let lanes = indices.len();
                runner.run(
                    workspace,
                    records,
                    &batch[number * span + from..],
                    lanes,
                    number * span + from,
                    batch.len(),
                )?;
                let batch = (records, indices);
                work(&mut Done { runner, workspace, batch, lanes }, buffers, from);
            }
            Ok(())
        };
        let wave = threads * spans_each;
        // One span needs no other thread. Otherwise each thread takes `each` spans in a row, with a workspace
        // of its own.
        for first in (0..spans).step_by(wave) {
            let members = &mut team.members[..wave.min(spans - first)];
            if let [member] = members {
                one(first, &mut workspaces[0], member)?;
            } else {
                let each = members.len().div_ceil(threads);
                let shares = workspaces.par_iter_mut().zip(members.par_chunks_mut(each)).enumerate();
                shares.try_for_each(|(share, (workspace, members))| {
                    let spans = (first + share * each..).zip(members);
                    spans.into_iter().try_for_each(|(number, member)| one(number, workspace, member))
                })?;
            }
            collect(first, &mut team.totals, members);
        }
        Ok(())
    }

    /// Writes `Σ_i c_i v_i` over a batch into `sums`. The plan's shared part has been run.
    ///
    /// With no `weigh` all weights are 1 and records are taken as they are.
    pub(super) fn sum<T: Scalar>(
        &self,
        plan: &mut ExecutionPlan<T>,
        team: &mut Team<T>,
        batch: (&Records, &[u64]),
        weigh: Option<(Weighing, &Weigh<'_, T>)>,
        sums: &mut [T],
    ) -> Result<()> {
        sums.fill(T::zero());
        team.totals.parts.fill(T::zero());
        team.totals.lost.clear();
        let many = batch.1.len().div_ceil(span(plan.tile())) > FEW_SPANS;
        if many {
            team.totals.lost.resize(sums.len() + team.totals.parts.len(), T::zero());
        }
        let work = |done: &mut Done<'_, T>, buffers: &mut Buffers<T>, from: usize| {
            match weigh {
                Some((weighing, weigh)) => self.weigh(done, buffers, weighing, weigh),
                None => buffers.weights[..done.lanes].fill(T::one()),
            }
            if from == 0 {
                buffers.sums.fill(T::zero());
                buffers.parts.fill(T::zero());
            }
            let Buffers { weights, scratch, sums, parts, .. } = buffers;
            self.terms.accumulate(|index| done.output(index), weights, sums, parts, scratch);
        };
        self.waves(plan, team, batch, work, |_, Totals { parts, lost }, members| {
            for member in members {
                if many {
                    let (of_sums, of_parts) = lost.split_at_mut(sums.len());
                    add_two(sums, of_sums, &member.sums);
                    add_two(parts, of_parts, &member.parts);
                } else {
                    add(sums, &member.sums);
                    add(parts, &member.parts);
                }
            }
        })?;
        let Totals { parts, lost } = &mut team.totals;
        if many {
            add(sums, &lost[..sums.len()]);
            add(parts, &lost[sums.len()..]);
        }
        let (runner, _) = plan.runner_and_workspaces();
        self.terms.finish(|index| runner.shared_output(index), sums, parts);
        Ok(())
    }

    /// Writes the squared norms of a batch, those of one group after the other; NaN where a factor has
    /// underflowed.
    pub(super) fn squared_norms<T: Scalar>(
        &self,
        plan: &mut ExecutionPlan<T>,
        team: &mut Team<T>,
        (records, batch): (&Records, &[u64]),
        norms: &mut [T],
    ) -> Result<()> {
        let (span, groups) = (span(plan.tile()), self.norms.len());
        let work = |done: &mut Done<'_, T>, buffers: &mut Buffers<T>, from: usize| {
            // The norms of a span are collected tile by tile behind each other.
            let norms = &mut buffers.found[groups * from..][..groups * done.lanes];
            self.find_norms(done, norms);
            self.find_underflow(done, |lane| {
                (0..groups).for_each(|group| norms[group * done.lanes + lane] = T::nan());
            });
        };
        let tile = plan.tile();
        self.waves(plan, team, (records, batch), work, |first, _, members| {
            for (number, member) in (first..).zip(members) {
                let end = (number * span + span).min(batch.len());
                for start in (number * span..end).step_by(tile) {
                    let (lanes, from) = (tile.min(end - start), start - number * span);
                    let found = member.found[groups * from..].chunks_exact(lanes);
                    for (group, found) in found.enumerate().take(groups) {
                        norms[group * batch.len() + start..][..lanes].copy_from_slice(found);
                    }
                }
            }
        })
    }

    /// The squared norms of a tile's records, one group after the other.
    fn find_norms<T: Scalar>(&self, done: &Done<'_, T>, norms: &mut [T]) {
        for (group, output) in self.norms.iter().enumerate() {
            let norms = &mut norms[group * done.lanes..][..done.lanes];
            match output.map(|output| done.output(output).0) {
                None => norms.fill(T::zero()),
                // A norm is a number, and no number lies like that.
                Some(Operand::Records(..)) => norms.fill(T::nan()),
                Some(Operand::Rows(rows)) => norms.copy_from_slice(rows),
                Some(Operand::Shared(value)) => norms.fill(value[0]),
            }
        }
    }

    /// Calls `broken` for each of a tile's records that has a factor whose squared norm has lost digits.
    fn find_underflow<T: Scalar>(&self, done: &Done<'_, T>, mut broken: impl FnMut(usize)) {
        let smallest = T::min_positive_value() * T::of(UNDERFLOW_MARGIN);
        let underflowed = |squared: T| squared < smallest && squared > T::zero();
        for &output in &self.factor_norms {
            match done.output(output).0 {
                Operand::Rows(rows) => {
                    // Hardly ever true, and quickly said of all of them.
                    if rows.iter().fold(false, |any, &squared| any | underflowed(squared)) {
                        let lanes = rows.iter().enumerate().filter(|(_, squared)| underflowed(**squared));
                        lanes.for_each(|(lane, _)| broken(lane));
                    }
                }
                Operand::Shared(values) if values.iter().any(|&squared| underflowed(squared)) => {
                    (0..done.lanes).for_each(&mut broken);
                }
                Operand::Shared(_) => {}
                Operand::Records(..) => (0..done.lanes).for_each(&mut broken),
            }
        }
    }

    /// Weights of a tile's records; those whose norm or weight is not finite are taken out of the factors,
    /// since a weight of zero does not undo a NaN. (Arrays that stay record after record are borrowed; sums
    /// of them pass over records without weight.)
    pub(super) fn weigh<T: Scalar>(
        &self,
        done: &mut Done<'_, T>,
        buffers: &mut Buffers<T>,
        weighing: Weighing,
        weigh: &Weigh<'_, T>,
    ) {
        let (lanes, groups) = (done.lanes, self.norms.len());
        self.find_norms(done, &mut buffers.squared_norms);
        let norms = &mut buffers.squared_norms[..groups * lanes];
        let weighed = if weighing == Weighing::Grouped { groups } else { 1 };
        if weighing == Weighing::Together {
            let (total, rest) = norms.split_at_mut(lanes);
            for group in rest.chunks_exact(lanes.max(1)) {
                total.iter_mut().zip(group).for_each(|(total, &norm)| *total += norm);
            }
        }
        let norms = &buffers.squared_norms[..weighed * lanes];
        let weights = &mut buffers.weights[..groups * lanes];
        let mut finite = weigh(norms, &mut weights[..weighed * lanes]);
        self.find_underflow(done, |lane| {
            weights[lane] = T::nan();
            finite = false;
        });
        if !finite {
            for lane in 0..lanes {
                let all = (0..weighed).map(|group| group * lanes + lane);
                if !all.clone().all(|at| norms[at].is_finite() && weights[at].is_finite()) {
                    all.for_each(|at| weights[at] = T::zero());
                    done.clear(lane);
                }
            }
        }
        if weighing == Weighing::Together {
            for group in 1..groups {
                weights.copy_within(..lanes, group * lanes);
            }
        }
    }
}

/// Writes the weights that belong to squared norms, and says whether all of both are finite.
pub(super) type Weigh<'a, T> = dyn Fn(&[T], &mut [T]) -> bool + Sync + 'a;

/// A caller's weighing function behind a pointer, so that what sums is compiled once and not once for each of
/// them. Its loop is compiled for the machine at hand where it is inlined.
pub(super) fn weighing<T: Scalar>(
    weigh: impl Fn(&[T], &mut [T]) + Sync,
) -> impl Fn(&[T], &mut [T]) -> bool + Sync {
    move |norms, weights| {
        let mut finite = true;
        dispatch(Vectorised { weigh: &weigh, norms, weights, finite: &mut finite });
        finite
    }
}

struct Vectorised<'a, T, W> {
    weigh: &'a W,
    norms: &'a [T],
    weights: &'a mut [T],
    finite: &'a mut bool,
}

impl<T: Scalar, W: Fn(&[T], &mut [T])> simd::Job for Vectorised<'_, T, W> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Self { weigh, norms, weights, finite } = self;
        weigh(norms, weights);
        let mut all = true;
        for values in [norms, &*weights] {
            for value in values {
                all &= value.is_finite();
            }
        }
        *finite = all;
    }
}

impl<T: Scalar> Done<'_, T> {
    pub(super) fn output(&self, index: usize) -> (Operand<'_, T>, usize) {
        self.runner.output(self.workspace, self.batch, index)
    }

    /// Sets one record's part of all outputs to zero, but of those that stay record after record.
    fn clear(&mut self, lane: usize) {
        self.runner.clear_lane(self.workspace, lane);
    }
}

/// Spans up to which sums are added up as they are. More would make the rounding error grow with the number
/// of records, so what each addition loses is added up beside the sum.
pub(super) const FEW_SPANS: usize = 64;

/// `sums += more`, and what was lost to rounding: `sum + x = fl(sum + x) + lost`, exactly (Knuth's two-sum).
fn add_two<T: Scalar>(sums: &mut [T], lost: &mut [T], more: &[T]) {
    for ((sum, lost), &x) in sums.iter_mut().zip(lost).zip(more) {
        let total = *sum + x;
        let of_x = total - *sum;
        *lost += (*sum - (total - of_x)) + (x - of_x);
        *sum = total;
    }
}

/// Numbers from which on a sum is formed by several threads.
const PARALLEL_ADD: usize = 1 << 16;

/// `sums += more`
fn add<T: Scalar>(sums: &mut [T], more: &[T]) {
    let one = |(sums, more): (&mut [T], &[T])| sums.iter_mut().zip(more).for_each(|(sum, &x)| *sum += x);
    if sums.len() < PARALLEL_ADD {
        one((sums, more));
    } else {
        sums.par_chunks_mut(PARALLEL_ADD / 4).zip(more.par_chunks(PARALLEL_ADD / 4)).for_each(one);
    }
}
