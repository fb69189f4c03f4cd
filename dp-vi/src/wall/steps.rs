//! The sums of a run's steps, private or not.

use super::gradient::PrivateGradient;
use super::unprotected::UnprotectedSum;
use crate::cost::permit::Permits;
use crate::error::{Error, Result};
use crate::optimiser::SavedState;
use crate::wall::bound::quantile::Suited;
use dp_accountant::{Purse, Receipt};
use dp_sampler::{Scheme, Subsampler};
use ppl_core::RecordGradient;

/// What makes the sum of each step.
pub(crate) enum Steps<'r, S> {
    /// Releases, and the permits for those that have been paid for.
    Private(Box<PrivateGradient<'r, S>>, Permits),
    /// Sums that are not protected.
    Unprotected(Box<UnprotectedSum<'r, S>>),
}

impl<'r, S: Subsampler> Steps<'r, S> {
    /// Releases, none of which have been paid for.
    pub(crate) fn private(mechanism: PrivateGradient<'r, S>) -> Self {
        let permits = mechanism.no_permits();
        Self::Private(Box::new(mechanism), permits)
    }

    /// Steps that have been paid for and not been made; `None` where none has to be.
    pub(crate) fn left(&self) -> Option<u64> {
        match self {
            Self::Private(_, permits) => Some(permits.left()),
            Self::Unprotected(_) => None,
        }
    }

    /// Pays for further steps.
    pub(crate) fn pay(&mut self, purse: &mut dyn Purse, steps: u64) -> Result<()> {
        match self {
            Self::Private(mechanism, permits) => permits.append(mechanism.pay(purse, steps)?),
            Self::Unprotected(_) => Ok(()),
        }
    }

    /// Goes on after `done` steps of a run that has a receipt for `paid` of them.
    pub(crate) fn go_on(&mut self, done: u64, paid: u64, receipt: &Receipt) -> Result<()> {
        if let Self::Private(mechanism, permits) = self {
            *permits = mechanism.go_on(done, paid, receipt)?;
        }
        Ok(())
    }

    /// Writes the sum of step number `step`, divided by the rate.
    pub(crate) fn make(&mut self, step: u64, out: &mut [f64]) -> Result<()> {
        match self {
            Self::Private(mechanism, permits) => {
                let paid = step;
                let permit = permits.next().ok_or(Error::NotPaid { paid })?;
                mechanism.release(permit, out)
            }
            Self::Unprotected(sum) => sum.write(step, out),
        }
    }

    /// The program, for setting the shared values at which it is taken.
    pub(crate) fn program_mut(&mut self) -> &mut RecordGradient<f64> {
        match self {
            Self::Private(mechanism, _) => mechanism.sum_mut().program_mut(),
            Self::Unprotected(sum) => &mut sum.program,
        }
    }

    /// Takes another program for the same sums, as after a choice of where to start.
    pub(crate) fn replace(&mut self, program: RecordGradient<f64>) -> Result<()> {
        match self {
            Self::Private(mechanism, _) => mechanism.sum_mut().replace(program),
            Self::Unprotected(sum) => {
                sum.program = program;
                Ok(())
            }
        }
    }

    /// Sets what an adaptive clip norm expects of a batch, and its quantile where that follows from it.
    pub(crate) fn expect(&mut self, batch: f64, suited: Option<Suited>) {
        if let Self::Private(mechanism, _) = self {
            mechanism.sum_mut().expect(batch, suited);
        }
    }

    /// The norm of a contribution now; `None` where there is no bound.
    pub(crate) fn clip_norm(&self) -> Option<f64> {
        match self {
            Self::Private(mechanism, _) => Some(mechanism.sum().clip().norm()),
            Self::Unprotected(_) => None,
        }
    }

    /// The norm that `C` follows now, where it lies above one; `None` where there is no bound.
    pub(crate) fn quantile(&self) -> Option<f64> {
        match self {
            Self::Private(mechanism, _) => Some(mechanism.sum().quantile()),
            Self::Unprotected(_) => None,
        }
    }

    /// Lets an adaptive norm grow no further than this many times what it is.
    pub(crate) fn hold(&mut self, times: f64) {
        if let Self::Private(mechanism, _) = self {
            mechanism.sum_mut().hold(times);
        }
    }

    pub(crate) fn scheme(&self) -> Scheme {
        match self {
            Self::Private(mechanism, _) => mechanism.scheme(),
            Self::Unprotected(sum) => sum.batches.scheme(),
        }
    }

    /// The fraction of the records that a batch holds on average.
    pub(crate) fn rate(&self) -> f64 {
        match self {
            Self::Private(mechanism, _) => mechanism.rate(),
            Self::Unprotected(sum) => sum.batches.rate(),
        }
    }

    /// Elements of a sum.
    pub(crate) fn dimension(&self) -> usize {
        match self {
            Self::Private(mechanism, _) => mechanism.dimension(),
            Self::Unprotected(sum) => sum.program.dimension(),
        }
    }

    /// Standard deviation of the noise in each element of the last sum.
    pub(crate) fn noise_added(&self) -> f64 {
        match self {
            Self::Private(mechanism, _) => mechanism.noise_added(),
            Self::Unprotected(_) => 0.0,
        }
    }

    /// Appends what the clipping has learnt from earlier steps.
    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        if let Self::Private(mechanism, _) = self {
            mechanism.sum().save(state);
        }
    }

    /// Takes that back.
    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        match self {
            Self::Private(mechanism, _) => mechanism.sum_mut().restore(state),
            Self::Unprotected(_) => Ok(()),
        }
    }

    /// What is done to the sums, for a checkpoint's settings.
    pub(crate) fn protection(&self) -> String {
        match self {
            Self::Private(mechanism, _) => format!("{:?}", mechanism.sum()),
            Self::Unprotected(_) => "none".to_owned(),
        }
    }

    /// The noise of the last sum, in standard deviations.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> Vec<f64> {
        match self {
            Self::Private(mechanism, _) => mechanism.sum().last_noise(),
            Self::Unprotected(_) => Vec::new(),
        }
    }
}
