//! Names with a prefix.

use crate::base::Result;
use crate::model::context::{Ctx, Model};

/// A model whose sites' names have a prefix; made by [`scope`].
#[derive(Clone, Debug)]
pub struct Scoped<M> {
    model: M,
    prefix: String,
}

/// The model with `prefix/` before the name of every site, so that one model can stand in another, several
/// times.
///
/// Handlers further in see the names without the prefix, handlers further out and the trace with it.
/// NumPyro's `scope`. Within a model, [`Ctx::scope`](crate::Ctx::scope) does the same.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Graph, Model, Schema, trace};
/// use ppl_core::handlers::{Unconstrained, scope};
/// let part = |ctx: &mut Ctx<'_>| ctx.param("rate", 1.0, Constraint::Positive).map(|_| ());
/// let both = |ctx: &mut Ctx<'_>| {
///     scope(part, "left").run(ctx)?;
///     scope(part, "right").run(ctx)
/// };
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let trace = trace(&both, &graph, &schema, Unconstrained)?;
/// let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
/// assert_eq!(names, ["left/rate", "right/rate"]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn scope<M: Model>(model: M, prefix: impl Into<String>) -> Scoped<M> {
    Scoped { model, prefix: prefix.into() }
}

impl<M: Model> Model for Scoped<M> {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        ctx.scope(&self.prefix, |ctx| self.model.run(ctx))
    }
}

impl<M: Model> Model for &Scoped<M> {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        (**self).run(ctx)
    }
}
