//! Forgetting observations.

use super::{Handled, Handler};
use crate::base::Result;
use crate::model::context::Model;
use crate::model::message::Message;
use crate::model::trace::SiteKind;

/// Forgets observations; made by [`uncondition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uncondition;

impl<'g> Handler<'g> for Uncondition {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        if message.kind == SiteKind::Observed {
            message.kind = SiteKind::Latent;
            (message.value, message.given) = (None, None);
        }
        Ok(())
    }
}

/// The model with its observations forgotten: observed sites are latent, to be drawn (under
/// [`seed`](super::seed)) or given other values.
///
/// Where NumPyro's models leave `obs=None` to their caller, a model here always observes, and this takes it
/// back. What the statement observed is not read by the program any more.
pub fn uncondition<M: Model>(model: M) -> Handled<M, Uncondition> {
    Handled::new(model, Uncondition)
}
