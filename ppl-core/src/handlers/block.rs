//! Hiding sites.

use super::{Handled, Handler};
use crate::base::Result;
use crate::model::context::Model;
use crate::model::message::Message;
use std::collections::BTreeSet;

/// Hides sites; made by [`block`] and [`block_all_but`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    names: BTreeSet<String>,
    hide: bool,
}

impl Block {
    /// Hides the sites of these names.
    pub fn sites<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), hide: true }
    }

    /// Hides all sites but these.
    pub fn all_but<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), hide: false }
    }
}

impl<'g> Handler<'g> for Block {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        message.stop |= self.names.contains(&message.name) == self.hide;
        Ok(())
    }

    fn expects(&self) -> Vec<String> {
        self.names.iter().cloned().collect()
    }
}

/// The model with the sites of these names hidden: handlers further out do not see them, they are not in the
/// trace, and their terms are not in its log density. A hidden site needs its value from a handler further
/// in.
///
/// NumPyro's `block(hide=…)`. Here a name that the model does not have is an error.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Graph, Schema, trace};
/// use ppl_core::handlers::{Unconstrained, block};
/// let model = |ctx: &mut Ctx<'_>| {
///     ctx.param("a", 1.0, Constraint::Real)?;
///     ctx.param("b", 2.0, Constraint::Real).map(|_| ())
/// };
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let trace = trace(&block(model, ["a"]), &graph, &schema, Unconstrained)?;
/// let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
/// assert_eq!(names, ["b"]); // and `a` has its initial value
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn block<M: Model, N: Into<String>>(model: M, names: impl IntoIterator<Item = N>) -> Handled<M, Block> {
    Handled::new(model, Block::sites(names))
}

/// The model with all sites hidden but these; NumPyro's `block(expose=…)`. Otherwise as [`block`].
pub fn block_all_but<M: Model, N: Into<String>>(
    model: M,
    names: impl IntoIterator<Item = N>,
) -> Handled<M, Block> {
    Handled::new(model, Block::all_but(names))
}
