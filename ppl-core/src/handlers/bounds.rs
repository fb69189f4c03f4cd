//! Sites whose bounds are values of the model.

use super::reparam::transport;
use crate::base::{Error, Result};
use crate::model::constraint::Constraint;
use crate::model::message::Message;
use crate::model::trace::SiteKind;

/// What is added to the name of a site, after `_`, for the one that it becomes a function of.
const BASE: &str = "base";

impl Message<'_> {
    /// Gives a latent site whose bounds are values of the model fixed ones: the site `b`, of a distribution whose
    /// support is [`Dependent`](Constraint::Dependent), becomes a function of another one, `b_base`, whose support is
    /// known while tracing. Whether it did; other sites stay as they are.
    ///
    /// ```text
    /// b = low + (high − low) b_base,    b_base between 0 and 1,    p(b_base) = p(b) (high − low)
    /// ```
    ///
    /// A bijection onto a fixed set is all that most of inference knows of a site, so what makes inputs of latent sites
    /// ([`Unconstrained`](super::Unconstrained), and handlers like it) asks this first, and leaves the message alone if
    /// it was changed: the new site passes by itself. A site with a value keeps it, and one that is drawn is drawn
    /// within its bounds. Where what the bounds depend on was given as numbers, they are numbers, and `b` is latent.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Schema, Shape};
    /// # use ppl_core::{Transport, Unconstrained, Value, Var, trace};
    /// # struct UpTo<'g>(Value<'g>);
    /// # impl<'g> Distribution<'g> for UpTo<'g> {
    /// #     fn name(&self) -> &'static str { "UpTo" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> {
    /// #         vec![Parameter { name: "high", value: self.0, domain: Constraint::Positive }]
    /// #     }
    /// #     fn support(&self) -> Constraint {
    /// #         self.0.known().map_or(Constraint::Dependent, |high| Constraint::Interval(0.0, high))
    /// #     }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x - self.0.on(x.graph()).log() }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         let u = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
    /// #         Ok(self.0.on(noise.graph()) * u)
    /// #     }
    /// #     fn transport(&self) -> Option<Transport<'g>> {
    /// #         let map = ppl_core::model::Map::Affine { loc: 0.0.into(), scale: self.0 };
    /// #         Some(Transport { base: std::rc::Rc::new(UpTo(1.0.into())), map })
    /// #     }
    /// # }
    /// // `UpTo(high)` is uniform from 0 to `high`, and says that it is `high` times `UpTo(1)`.
    /// let model = |ctx: &mut Ctx<'_>| {
    ///     let a = ctx.sample("a", UpTo(2.0.into()))?;
    ///     ctx.sample("b", UpTo(a.into())).map(|_| ())
    /// };
    /// let (graph, schema) = (Graph::new(), Schema::default());
    /// let trace = trace(&model, &graph, &schema, Unconstrained)?;
    /// let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
    /// assert_eq!(names, ["a", "b_base", "b"]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the distribution does not say what it is an image of
    /// ([`Distribution::transport`](crate::Distribution::transport)).
    pub fn fix_bounds(&mut self) -> Result<bool> {
        if !self.has_open_bounds() {
            return Ok(false);
        }
        let Some((base, map)) = transport(self)? else {
            let law = self.distribution.as_ref().map_or("its distribution", |law| law.name());
            return Err(Error::Unsupported(format!(
                "a latent value whose bounds depend on other values, of {law}, which does not say what it is an image of \
                 (Distribution::transport); draw a standard one and move it: low + (high - low)·u"
            )));
        };
        self.replace_by(BASE, base, map);
        Ok(true)
    }

    /// The same if it is the other site that is `named`, and this one is not: for handlers that give values to sites by
    /// name, and meet the site before the one that it is to be a function of.
    pub(crate) fn fix_bounds_if(&mut self, named: impl Fn(&str) -> bool) -> Result<bool> {
        let asked = self.has_open_bounds() && !named(&self.name) && named(&format!("{}_{BASE}", self.name));
        if asked { self.fix_bounds() } else { Ok(false) }
    }

    /// Whether it is of a latent site without a value, with bounds that are not known while tracing.
    fn has_open_bounds(&self) -> bool {
        self.kind == SiteKind::Latent
            && self.value.is_none()
            && !self.enumerable
            && self.support() == Constraint::Dependent
    }
}
