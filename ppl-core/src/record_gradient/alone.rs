//! Each record's weighted gradient, computed by itself: a function of the record's row alone.

use super::RecordGradient;
use super::tiles::{Buffers, Done, PARALLEL, Weigh, Weighing, weighing};
use crate::base::{Error, Result};
use crate::machine::Scalar;
use crate::records::Records;
use crate::run::plan::Workspace;
use rayon::prelude::*;

impl<T: Scalar> RecordGradient<T> {
    /// Computes the weighted gradient `c_i v_i` of every record of `batch` by itself and hands it to `take`,
    /// the frontier arrays one after the other. `weigh` is that of
    /// [`weighted_sum`](RecordGradient::weighted_sum).
    ///
    /// In a [`weighted_sum`](RecordGradient::weighted_sum) numbers are added up in floating point, so the
    /// last digits of a sum depend on who is in the batch and where. Here nothing is added up: what `take`
    /// gets is, bit for bit, a function of the record's row and of the shared inputs, whichever other records
    /// are in the batch. So a caller who rounds it to a grid can add up exactly. A tile of one record uses no
    /// vector instructions over records, so it takes longer than a sum; the gradient is multiplied out, in
    /// memory for one record (each thread).
    ///
    /// The records are shared among `takers`: one after the other to the first of them, or, where there is
    /// much to do, in as many parts as there are takers and threads, each part to its own. Which records a
    /// taker gets depends on both, so only what does not depend on the order should be made of them, like
    /// sums of integers. A record that is not finite, or that has been lost to underflow, gives zeros.
    /// Nothing is allocated on one thread.
    ///
    /// ```
    /// use ndarray::array;
    /// use ppl_core::{Graph, Record, RecordGradient, Records};
    /// let records = Records::from_columns([("x", array![[3.0, 4.0], [0.25, 0.5], [f64::NAN, 0.0]])])?;
    /// let graph = Graph::new();
    /// let w = graph.input("w", [2])?;
    /// let value = Record::new(&graph, records.schema()).get("x")?.dot(w);
    /// let mut gradient = RecordGradient::<f64>::new(value, &[w])?;
    /// let halve = |_: &[f64], weights: &mut [f64]| weights.fill(0.5);
    /// let mut sums = [[0_i64; 2]]; // in steps of 1/8
    /// gradient.each_weighted(&records, &[0, 1, 2], halve, &mut sums, |sums, gradient| {
    ///     sums.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += (8.0 * x) as i64);
    /// })?;
    /// assert_eq!(sums, [[12 + 1, 16 + 2]]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the records do not fit the program, an index is out of range, or there is no taker.
    pub fn each_weighted<A: Send>(
        &mut self,
        records: &Records,
        batch: &[u64],
        weigh: impl Fn(&[T], &mut [T]) + Sync,
        takers: &mut [A],
        take: impl Fn(&mut A, &[T]) + Sync,
    ) -> Result<()> {
        self.each_alone((records, batch), (Weighing::Together, &weighing(weigh)), takers, &take)
    }

    /// As [`each_weighted`](RecordGradient::each_weighted) with a weight for each group, as in
    /// [`weighted_sum_grouped`](RecordGradient::weighted_sum_grouped).
    ///
    /// # Errors
    /// As [`each_weighted`](RecordGradient::each_weighted).
    pub fn each_weighted_grouped<A: Send>(
        &mut self,
        records: &Records,
        batch: &[u64],
        weigh: impl Fn(&[T], &mut [T]) + Sync,
        takers: &mut [A],
        take: impl Fn(&mut A, &[T]) + Sync,
    ) -> Result<()> {
        self.each_alone((records, batch), (Weighing::Grouped, &weighing(weigh)), takers, &take)
    }

    fn each_alone<A: Send>(
        &mut self,
        (records, batch): (&Records, &[u64]),
        (weighing, weigh): (Weighing, &Weigh<'_, T>),
        takers: &mut [A],
        take: &(impl Fn(&mut A, &[T]) + Sync),
    ) -> Result<()> {
        if takers.is_empty() {
            return Err(Error::Values("gradients of records need at least one taker, got none".to_owned()));
        }
        records.check_batch(batch)?;
        let Self { plan, tiles, team, .. } = self;
        if tiles.norms.iter().all(Option::is_none) {
            return Ok(());
        }
        plan.run();
        plan.check_schema(records)?;
        let operations = plan.operations().saturating_mul(batch.len() as u64);
        let threads = match operations < PARALLEL {
            true => 1,
            false => rayon::current_num_threads().clamp(1, takers.len()),
        };
        let tile = plan.tile();
        plan.reserve_workspaces(threads);
        while team.members.len() < threads {
            team.members.push(tiles.buffers(tile));
        }
        let (runner, workspaces) = plan.runner_and_workspaces();
        let one = |workspace: &mut Workspace<T>,
                   buffers: &mut Buffers<T>,
                   taker: &mut A,
                   from: usize,
                   to: usize| {
            for at in from..to {
                // Those behind it are prefetched, and not computed with.
                runner.run(workspace, records, &batch[at..to], 1, at, batch.len())?;
                let indices = &batch[at..=at];
                let mut done = Done { runner, workspace, batch: (records, indices), lanes: 1 };
                tiles.weigh(&mut done, buffers, weighing, weigh);
                let Buffers { weights, scratch, sums, parts, .. } = buffers;
                sums.fill(T::zero());
                parts.fill(T::zero());
                tiles.terms.accumulate(|index| done.output(index), weights, sums, parts, scratch);
                tiles.terms.finish(|index| runner.shared_output(index), sums, parts);
                take(taker, sums);
            }
            Ok(())
        };
        if threads == 1 {
            return one(&mut workspaces[0], &mut team.members[0], &mut takers[0], 0, batch.len());
        }
        let share = batch.len().div_ceil(threads);
        let all = workspaces.par_iter_mut().zip(&mut team.members).zip(takers).take(threads).enumerate();
        all.try_for_each(|(part, ((workspace, buffers), taker))| {
            let (from, to) = (part * share, (part * share + share).min(batch.len()));
            one(workspace, buffers, taker, from.min(to), to)
        })
    }
}
