//! Whole runs: progress, stopping, checkpoints, payment block by block.

use super::begin::{self, From, Keeper, paid_from};
use super::checkpoint::PaidFrom;
use super::dp_vi::{AnyModel, DpVi};
use super::training::Training;
use crate::cost::charges::Charges;
use crate::error::Result;
use crate::guides::guide::Guide;
use crate::outcome::fit::Fit;
use crate::outcome::progress::{Callback, Proceed, Progress};
use crate::wall::fingerprint::fingerprint_of_records;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Ledger, Purse, Receipt};
use dp_sampler::{Seed, Subsampler, Subsampling};
use ppl_core::{Model, Records};
use std::path::PathBuf;
use std::time::{Duration, Instant};

impl<M, G, S> DpVi<M, G, S> {
    /// Called about two hundred times during a run, and at least once a second between steps. It may return
    /// [`ControlFlow::Break`](std::ops::ControlFlow::Break) to stop there: the fit is then what has been found so far,
    /// and with a [checkpoint](Self::checkpoint) it can be resumed.
    ///
    /// A fit that goes on until it has converged calls it up to ten times a second, between batches of
    /// evaluations; one that is stopped has not [converged](crate::Convergence::converged).
    ///
    /// ```
    /// # use dp_vi::guides::AutoNormal;
    /// # use dp_vi::{DpVi, Sensitive};
    /// # use ppl_core::{Ctx, Records};
    /// # use ppl_distributions::Normal;
    /// # use dp_sampler::FullBatch;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    /// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// # }
    /// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    /// use std::ops::ControlFlow;
    /// let fit = DpVi::new(model, AutoNormal::new())
    ///     .without_privacy()
    ///     .subsample(FullBatch)
    ///     .steps(1000)
    ///     .on_progress(|progress| if progress.done < 100 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    ///     .fit(&records)?;
    /// assert_eq!(fit.privacy().steps_done, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_progress<R: Proceed>(mut self, mut callback: impl FnMut(Progress) -> R + 'static) -> Self {
        self.execution.on_progress = Some(Box::new(move |progress| callback(progress).proceed()));
        self
    }

    /// Leaves a checkpoint in this file at intervals of this many steps, from which [`resume`](DpVi::resume)
    /// goes on.
    ///
    /// Steps are then paid for block by block, each before its first step. A run that is stopped for good has
    /// paid for the blocks that it began. Its report states the cost of *all* steps that were planned, for
    /// whether to stop may have been decided by looking at what was released.
    ///
    /// **The file is as secret as the data**: see [`Checkpoint`](crate::Checkpoint).
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: u64) -> Self {
        self.execution.checkpoint = Some((path.into(), every));
        self
    }
}

impl<M: Model, G: Guide, S: Subsampling> DpVi<M, G, S> {
    /// Runs inference, paid from a ledger that holds just the budget.
    ///
    /// # Errors
    /// As [`DpVi::start`]; [`Error::CheckpointExists`](crate::Error::CheckpointExists) if there is a file already where
    /// the checkpoint is to be.
    pub fn fit(self, records: &Sensitive<Records>) -> Result<Fit> {
        self.erased().run(records, None, From::Start)
    }

    /// Runs inference, paid from a ledger that other mechanisms share: in memory, or in a file.
    ///
    /// The [budget](DpVi::budget) named is this fit's and shapes its noise; the ledger's own bounds what all
    /// who pay from it cost together.
    ///
    /// # Privacy
    /// A ledger composes events as if batches and noise were drawn exactly. The report's
    /// [part of δ](crate::PrivacyReport::delta_of_deviations) for what is not is in this fit's statement, and
    /// not in the ledger's: what the ledger says holds for its δ and these parts of all who paid from it
    /// together, for ε up to the smallest budget among theirs, and with `(1 + e^ε)` in the place of
    /// `1 + e^(budget)` beyond.
    ///
    /// # Errors
    /// As [`DpVi::fit`]; if the ledger has another relation, or its budget does not allow all steps. Then
    /// nothing is debited.
    pub fn fit_from(self, records: &Sensitive<Records>, purse: &mut impl Purse) -> Result<Fit> {
        self.erased().run(records, Some(purse), From::Start)
    }

    /// Refuses what [`DpVi::fit_from`] would refuse, and pays for nothing and releases nothing: settings, a model
    /// or records that do not fit, a budget that cannot be met, a purse that does not hold enough for the run
    /// and for all that [`released_before`](DpVi::released_before) names, as if none of that had been paid for
    /// yet.
    ///
    /// It is for what a fit needs to know beforehand, and pays for: such a release should not be made for a fit
    /// that is refused after it. Whether there is a checkpoint already is not looked at.
    ///
    /// # Errors
    /// As [`DpVi::fit_from`].
    ///
    /// # Examples
    ///
    /// ```
    /// use dp_accountant::{Budget, Ledger, Relation};
    /// use dp_vi::guides::AutoNormal;
    /// use dp_vi::{DpVi, Sensitive};
    /// use ppl_core::{Column, Ctx, Distribution, Records};
    /// use ppl_distributions::Normal;
    ///
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let mean = ctx.sample("mean", Normal::new(0.0, 4.0))?;
    ///     ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(mean, 1.0), record.get("y")?))
    /// }
    /// let y: Vec<f64> = (0..100).map(|i| f64::from(i % 7)).collect();
    /// let records = Sensitive::new(Records::from_columns([("y", Column::from(y))])?);
    /// let budget = |epsilon| Budget { epsilon, delta: 1e-6, relation: Relation::AddRemove };
    /// let ledger = Ledger::new(budget(1.0))?;
    /// let vi = |epsilon| DpVi::new(model, AutoNormal::new()).budget(budget(epsilon));
    /// assert!(vi(0.9).check_fit_from(&records, &ledger).is_ok());
    /// assert!(vi(2.0).check_fit_from(&records, &ledger).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_fit_from(self, records: &Sensitive<Records>, purse: &impl Purse) -> Result<()> {
        self.erased().check(records, purse.ledger())
    }

    /// Goes on with a run that was begun with [`DpVi::fit`] and left its checkpoint, with the seed from
    /// there. A run that was complete is not repeated.
    ///
    /// Everything else has to be as it was, and the result is that of the run that was never interrupted, bit
    /// for bit. What was paid for is not paid for again.
    ///
    /// # Errors
    /// As [`DpVi::fit`]; [`Error::Checkpoint`](crate::Error::Checkpoint) if the file cannot be read or is damaged;
    /// [`Error::CheckpointOfAnother`](crate::Error::CheckpointOfAnother) if it is of another run or other records;
    /// [`Error::CheckpointPaidFrom`](crate::Error::CheckpointPaidFrom) if it was begun with [`DpVi::fit_from`], so that
    /// the rest has to be paid from the same ledger with [`DpVi::resume_from`]. Nothing is debited then.
    pub fn resume(self, records: &Sensitive<Records>) -> Result<Fit> {
        self.erased().run(records, None, From::Checkpoint)
    }

    /// As [`DpVi::resume`], for a run that was begun with [`DpVi::fit_from`]: paid from the ledger that the
    /// run was paid from before.
    ///
    /// # Errors
    /// As [`DpVi::resume`]; [`Error::CheckpointPaidFrom`](crate::Error::CheckpointPaidFrom) if this is another ledger,
    /// if it lacks debits that had been made from it, or if the run was paid from a ledger of its own;
    /// [`Error::ForeignLedger`](crate::Error::ForeignLedger) if it does not know of what the run has paid for.
    pub fn resume_from(self, records: &Sensitive<Records>, purse: &mut impl Purse) -> Result<Fit> {
        self.erased().run(records, Some(purse), From::Checkpoint)
    }

    /// What a run that left its checkpoint has found so far: no step is made and nothing is paid. For runs
    /// that will not go on.
    ///
    /// The posterior is the guide's where a release corrects it, for that belongs to the end of the run. Only
    /// what has been released before enters.
    ///
    /// # Errors
    /// As [`DpVi::resume`].
    pub fn conclude(self, records: &Sensitive<Records>) -> Result<Fit> {
        self.erased().run(records, None, From::End)
    }

    fn erased<'m>(self) -> DpVi<AnyModel<'m>, Box<dyn Guide + 'm>, S>
    where
        M: 'm,
        G: 'm,
    {
        let DpVi { model, guide, subsampling, settings, execution } = self.for_any_model();
        DpVi { model, guide: Box::new(guide), subsampling, settings, execution }
    }
}

// Compiled once for all models and guides.
impl<S: Subsampling> DpVi<AnyModel<'_>, Box<dyn Guide + '_>, S> {
    fn check(self, records: &Sensitive<Records>, ledger: &Ledger) -> Result<()> {
        let budget = self.settings.required_budget()?;
        // Nothing is drawn from it.
        let prepared = self.prepare(records, &Seed::for_tests(0))?;
        let mut ledger = ledger.clone();
        begin::payer(Some(&mut ledger), budget, &mut None)?;
        if let Some(charges) = prepared.charges() {
            ledger.debit_all(&charges.stated())?;
        }
        Ok(())
    }

    fn run(mut self, records: &Sensitive<Records>, purse: Option<&mut dyn Purse>, from: From) -> Result<Fit> {
        let mut on_progress = self.execution.on_progress.take();
        let (budget, shared_purse) = (self.settings.required_budget()?, purse.is_some());
        let place = self.execution.checkpoint.take();
        let mut stored = begin::stored(place.as_ref(), from)?;
        let named = self.execution.seed.take();
        let (seed, complete) = begin::seed(stored.as_mut().map(|(checkpoint, _)| checkpoint), named)?;
        let mut own = None;
        let mut purse = begin::payer(purse, budget, &mut own)?;
        let prepared = self.prepare(records, &seed)?;
        let settings = prepared.description();
        let print = match &place {
            Some(_) => fingerprint_of_records(records, &seed),
            None => [0; 3],
        };
        if let Some((checkpoint, path)) = &stored {
            checkpoint.check_settings(path, &settings)?;
            begin::check_records(checkpoint, path, print, complete)?;
            checkpoint.check_steps(path, prepared.steps())?;
            if from != From::End {
                let shared = purse.as_deref().filter(|_| shared_purse);
                checkpoint.paid_from.check(path, budget.is_some(), shared)?;
            }
        }
        let receipt = match (prepared.charges(), purse.as_deref_mut()) {
            (Some(charges), Some(purse)) => Some(match &stored {
                None => pay_once(charges, purse)?,
                Some((checkpoint, _)) => begin::paid_before(charges, purse, checkpoint.paid, shared_purse)?,
            }),
            _ => None,
        };
        let saved = stored.as_ref().map(|(checkpoint, _)| checkpoint.numbers.as_slice());
        let (mut training, receipt) =
            prepared.begin(receipt, &seed, saved, place.is_none(), on_progress.as_mut())?;
        if let Some((checkpoint, path)) = &stored {
            training.restore(checkpoint, path, receipt.as_ref())?;
            let over = training.done() == training.steps()
                && !training.owes_curvature()
                && !training.reads_records_at_its_end();
            begin::check_seed(path, complete, over)?;
        }
        if from == From::End {
            if training.reads_records_at_its_end() && training.done() == training.steps() {
                training.release_curvature()?;
            }
            return Ok(training.fit());
        }
        let keeper = place.map(|(path, every)| Keeper { path, every, seed, settings, print });
        drive(training, purse, shared_purse, keeper.as_ref(), on_progress.as_mut())
    }
}

/// Debits what a run releases once, if all the rest is affordable, too: not a step is made of a run that
/// could not be finished.
fn pay_once(charges: &Charges, purse: &mut dyn Purse) -> Result<Receipt> {
    purse.ledger().clone().debit_all(&charges.with_steps(charges.steps))?;
    Ok(purse.debit_all(&charges.once())?)
}

/// All steps that are left, block by block.
fn drive<G: Guide, S: Subsampler>(
    mut training: Training<'_, G, S>,
    mut purse: Option<&mut dyn Purse>,
    shared: bool,
    keeper: Option<&Keeper>,
    mut on_progress: Option<&mut Callback>,
) -> Result<Fit> {
    let (steps, begun) = (training.steps(), training.done());
    let block = keeper.map_or(steps, |keeper| keeper.every);
    // The next step before which a checkpoint is due. Where steps are paid for block by block, that is where
    // a block ends.
    let mut due = begun;
    let every = (steps / 200).max(1);
    let started = Instant::now();
    let mut told = started;
    while training.done() < steps {
        if training.left() == 0
            && let Some(purse) = purse.as_deref_mut()
            && let Err(refused) = training.pay(purse, block.min(steps - training.done()))
        {
            // What has been done so far is not lost.
            if let Some(keeper) = keeper {
                keep(keeper, &training, paid_from(Some(purse), shared))?;
            }
            return Err(refused);
        }
        if let Some(keeper) = keeper
            && training.done() == due
        {
            keep(keeper, &training, paid_from(purse.as_deref(), shared))?;
            due += match purse {
                Some(_) => training.left(),
                None => block.min(steps - training.done()),
            };
        }
        training.step()?;
        let done = training.done();
        if let Some(callback) = &mut on_progress {
            let now = Instant::now();
            if done.is_multiple_of(every)
                || done == steps
                || now.duration_since(told) >= Duration::from_secs(1)
            {
                told = now;
                if callback(Progress::since(started, begun, done, steps)).is_break() {
                    break;
                }
            }
        }
    }
    if training.done() == steps {
        // Before the last checkpoint, which has no seed to make the release with.
        training.release_curvature()?;
    }
    if let Some(purse) = &purse
        && shared
    {
        training.report_ledger(purse.ledger().spent()?);
    }
    match keeper {
        Some(keeper) => {
            keep(keeper, &training, paid_from(purse.as_deref(), shared))?;
            // A run that may be resumed must not release the curvature here: it would do so again at its end,
            // at other parameters and with the same noise.
            Ok(training.fit())
        }
        None => training.finish(),
    }
}

/// Leaves a checkpoint of a run.
fn keep<G: Guide, S: Subsampler>(
    keeper: &Keeper,
    training: &Training<'_, G, S>,
    paid_from: PaidFrom,
) -> Result<()> {
    // A run that looks at its records each time that it ends has to recognise them.
    let complete = training.done() >= training.steps() && !training.reads_records_at_its_end();
    keeper.keep(complete, |seed, settings, print| training.checkpoint(seed, paid_from, settings, print))
}
