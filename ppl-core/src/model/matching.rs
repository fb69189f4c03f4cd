//! Whether a guide goes with a model.

use crate::base::{Error, Result};
use crate::model::trace::{Site, SiteKind, Trace};

impl Trace<'_> {
    /// Checks that a guide, traced as a model of its own, samples just the latent sites of this model: every
    /// one, no other, with the same shapes and supports, those of each record inside `each_record`.
    /// Parameters may be anywhere.
    ///
    /// # Errors
    /// [`Error::Guide`], which names the site, both shapes or supports, and what to do.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Schema, Shape, Var, trace};
    /// # struct Uniform;
    /// # impl<'g> Distribution<'g> for Uniform {
    /// #     fn name(&self) -> &'static str { "Uniform" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
    /// #     fn support(&self) -> Constraint { Constraint::UnitInterval }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         noise.draw(NoiseKind::Uniform, prefix.clone())
    /// #     }
    /// # }
    /// # use ppl_core::handlers::{NoiseInputs, Unconstrained};
    /// let model = |ctx: &mut Ctx<'_>| ctx.sample("weights", Uniform.iid(3)).map(|_| ());
    /// let guide = |ctx: &mut Ctx<'_>| ctx.sample("weights", Uniform.iid(2)).map(|_| ());
    /// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
    /// let model = trace(&model, &graph, &schema, Unconstrained)?;
    /// let guide = trace(&guide, &graph, &schema, NoiseInputs)?;
    /// let message = model.check_guide(&guide).unwrap_err().to_string();
    /// assert!(message.contains("'weights'") && message.contains("[3]") && message.contains("[2]"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn check_guide(&self, guide: &Trace<'_>) -> Result<()> {
        self.check_guide_of(guide, |_| true)
    }

    /// As [`check_guide`](Self::check_guide), for a guide of some of this model's latent sites: those whose
    /// names are `covered`.
    ///
    /// # Errors
    /// As [`check_guide`](Self::check_guide).
    pub fn check_guide_of(&self, guide: &Trace<'_>, covered: impl Fn(&str) -> bool) -> Result<()> {
        let latent = |site: &&Site<'_>| site.kind == SiteKind::Latent;
        let own = |site: &&Site<'_>| latent(site) && covered(&site.name);
        for site in self.sites().iter().filter(own) {
            let Some(other) = guide.site(&site.name).filter(|other| latent(other)) else {
                let what = if site.per_record { "latent inside the record plate " } else { "" };
                let place = if site.per_record { " inside ctx.each_record" } else { "" };
                return Err(Error::Guide(format!(
                    "the guide has no {what}site '{}' of shape {} ({}); sample it in the guide{place}, or condition the model on it",
                    site.name, site.shape, site.source_line
                )));
            };
            check_pair(site, other)?;
        }
        let extra = guide
            .sites()
            .iter()
            .filter(latent)
            .find(|other| !self.site(&other.name).is_some_and(|site| own(&site)));
        if let Some(other) = extra {
            let known: Vec<&str> = self.sites().iter().filter(own).map(|site| site.name.as_str()).collect();
            return Err(Error::Guide(format!(
                "the guide samples '{}' ({}), which is no latent site of the model; the model has [{}]; name it as the model does, \
                 or block it in the guide",
                other.name,
                other.source_line,
                known.join(", ")
            )));
        }
        match guide.sites().iter().find(|other| matches!(other.kind, SiteKind::Observed | SiteKind::Factor)) {
            Some(other) => Err(Error::Guide(format!(
                "the guide observes '{}' ({}); a guide has latent sites and parameters only: move it to the model",
                other.name, other.source_line
            ))),
            None => Ok(()),
        }
    }
}

fn check_pair(site: &Site<'_>, other: &Site<'_>) -> Result<()> {
    let (name, lines) = (&site.name, format!("{} and {}", site.source_line, other.source_line));
    if site.per_record != other.per_record {
        let place =
            |site: &Site<'_>| if site.per_record { "one for each record" } else { "one for all records" };
        return Err(Error::Guide(format!(
            "site '{name}' is {} in the model and {} in the guide ({lines}); move it {} ctx.each_record in the guide",
            place(site),
            place(other),
            if site.per_record { "into" } else { "out of" }
        )));
    }
    if site.shape != other.shape {
        return Err(Error::Guide(format!(
            "site '{name}' has shape {} in the model and {} in the guide ({lines}); give the guide's distribution the model's shape, \
             with iid or a plate",
            site.shape, other.shape
        )));
    }
    // A value on an edge has probability 0, whether it belongs to the support or not.
    if site.support.interior() != other.support.interior() {
        return Err(Error::Guide(format!(
            "site '{name}' must be {} in the model, and the guide draws what is {} ({lines}); choose a distribution with the \
             model's support",
            site.support, other.support
        )));
    }
    Ok(())
}
