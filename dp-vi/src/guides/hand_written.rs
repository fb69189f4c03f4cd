//! Guides that are written like models.

use crate::error::Result;
use crate::guides::guide::{
    Guide, GuideParameter, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues,
};
use ppl_core::handlers::Handler;
use ppl_core::{Constraint, Distribution, Error, Message, Model, Noise, Shape, SiteKind, Trace, Var, trace};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A guide that is a function like the model: `ctx.param` for what is optimised, `ctx.sample` for the latent
/// values, by the names, shapes and supports that they have in the model.
///
/// ```text
/// entropy = E[−ln q(θ) − ln |T′(u)|],   θ = T(u)
/// ```
///
/// at the draw, gradients flowing through it; where the value is unconstrained and the distribution knows its
/// entropy, that is taken instead of `−ln q(θ)`. A value may depend on others that were sampled before.
///
/// - Distributions must be reparameterised
///   ([`Distribution::reparameterised`](ppl_core::Distribution::reparameterised)): the draw moves smoothly
///   with the parameters.
/// - Parameters of the model that the guide does not declare are points, as in other guides; one that it
///   declares under the same name *is* the model's.
/// - A guide cannot observe, sum values out, or mask and scale a site; whatever of it is hidden must not be
///   random, for its entropy would not be known.
///
/// The posterior's means, standard deviations and intervals are found by simulation.
///
/// ```
/// # use dp_sampler::FullBatch;
/// # use dp_vi::guides::HandWritten;
/// # use dp_vi::{DpVi, Sensitive};
/// # use ppl_core::{Constraint, Ctx, Records, Result};
/// # use ppl_distributions::{Gamma, Poisson};
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let rate = ctx.sample("rate", Gamma::new(2.0, 1.0))?;
///     ctx.each_record(|ctx, record| ctx.observe("count", Poisson::new(rate), record.get("count")?))
/// }
///
/// // The posterior is a gamma distribution, so this guide can be exact.
/// fn guide(ctx: &mut Ctx) -> Result<()> {
///     let shape = ctx.param("shape", 5.0, Constraint::Positive)?;
///     let mean = ctx.param("mean", 1.0, Constraint::Positive)?;
///     ctx.sample("rate", Gamma::new(shape, shape / mean)).map(|_| ())
/// }
///
/// let records = Sensitive::new(Records::from_columns([("count", vec![3.0; 20])])?);
/// let fit = DpVi::new(model, HandWritten::new(guide)).without_privacy().subsample(FullBatch).steps(1000).fit(&records)?;
/// // Gamma(2 + 60, 1 + 20)
/// assert!((fit.posterior().mean("rate")?[[]] - 62.0 / 21.0).abs() < 0.05);
/// assert!((fit.posterior().sd("rate")?[[]] - 62.0_f64.sqrt() / 21.0).abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HandWritten<F> {
    guide: F,
}

impl<F: Model> HandWritten<F> {
    /// This function as a guide.
    pub fn new(guide: F) -> Self {
        Self { guide }
    }
}

/// The name of a parameter's input.
fn input_name(name: &str) -> String {
    format!("guide/{name}")
}

/// Stands outermost while the guide is traced: parameters become inputs, latent sites are drawn, entropies
/// written down.
struct Writer<'g> {
    noise: RefCell<Noise<'g>>,
    parameters: RefCell<Vec<GuideParameter<'g>>>,
    entropy: RefCell<Vec<Var<'g>>>,
}

fn refused(told: impl Into<String>) -> Error {
    Error::Guide(told.into())
}

impl<'g> Writer<'g> {
    /// A parameter as an input of unconstrained numbers.
    fn declare(&self, message: &mut Message<'g>) -> ppl_core::Result<()> {
        let support = message.support();
        if !support.has_bijection() {
            return Err(refused(format!("a parameter that must be {support} cannot be optimised")));
        }
        let Some(initial) = message.initial.clone() else { return Ok(()) };
        // Checked and unconstrained as any other value of a site is.
        let site = GuideSite::new(&message.name, message.shape()?, support, SiteKind::Param);
        let initial =
            site.and_then(|site| site.unconstrain(&initial, "initial value")).map_err(
                |error| match error {
                    crate::error::Error::Model(error) => error,
                    other => Error::Values(other.to_string()),
                },
            )?;
        let name = input_name(&message.name);
        let input = message.graph().input(name.clone(), Shape::from(initial.shape()))?;
        message.give(support.constrain(input))?;
        message.unconstrained = Some(input);
        self.parameters.borrow_mut().push(GuideParameter {
            name,
            var: input,
            initial: initial.into_iter().collect(),
        });
        Ok(())
    }

    /// A latent site: its draw, and its part of the entropy.
    fn draw(&self, message: &mut Message<'g>) -> ppl_core::Result<()> {
        if message.enumerable {
            return Err(refused(
                "a value that is summed out has no place in a guide; sum it out in the model",
            ));
        }
        if message.per_record {
            return Err(refused(
                "a value of each record in the guide; guides cover values that all records share: sample it outside each_record",
            ));
        }
        if message.value.is_some() {
            return Err(refused(
                "the value is given and not drawn, so it has no entropy; sample it, or condition the model on it instead",
            ));
        }
        if message.mask.is_some() || message.scale.is_some() {
            return Err(refused(
                "it is masked or scaled, which would change the entropy and not the draw; mask and scale in the model",
            ));
        }
        let Some(distribution) = message.distribution.clone() else { return Ok(()) };
        let support = distribution.support();
        if !distribution.reparameterised() {
            let why = match support.is_discrete() {
                true => "is discrete, so a draw does not move with the parameters",
                false => "has draws that do not move smoothly with the parameters",
            };
            return Err(refused(format!(
                "{} {why}, and no gradient goes through it; use a reparameterised distribution",
                distribution.name()
            )));
        }
        if !support.has_bijection() {
            return Err(refused(format!(
                "{} draws what must be {support}, which has no unconstrained form; use a distribution with a fixed support",
                distribution.name()
            )));
        }
        let value = distribution.draw(&Shape::scalar(), &mut self.noise.borrow_mut())?;
        message.give(value)?;
        let unconstrained = support.unconstrain_var(value);
        message.unconstrained = Some(unconstrained);
        let known = match support {
            Constraint::Real => distribution.entropy(message.graph()),
            _ => None,
        };
        let mut entropy = known.unwrap_or_else(|| -distribution.log_prob(value)).sum();
        if let Some(log_jacobian) = support.log_jacobian(unconstrained) {
            entropy = entropy - log_jacobian;
        }
        self.entropy.borrow_mut().push(entropy);
        Ok(())
    }
}

impl<'g> Handler<'g> for Writer<'g> {
    fn process(&self, message: &mut Message<'g>) -> ppl_core::Result<()> {
        match message.kind {
            SiteKind::Param if message.wants_value() => self.declare(message),
            SiteKind::Latent => self.draw(message),
            _ => Ok(()),
        }
    }
}

/// The value of one of the model's sites in the guide's trace, if it has it.
fn value_of<'g>(written: &Trace<'g>, site: &GuideSite) -> Result<Option<Var<'g>>> {
    let Some(found) = written.site(&site.name) else { return Ok(None) };
    let differ = |what: &str, model: &dyn fmt::Display, guide: &dyn fmt::Display| {
        refused(format!(
            "'{}' is a parameter of both, {what} {model} in the model and {guide} in the guide ({}); declare it alike, or under another name",
            site.name, found.source_line
        ))
    };
    if found.kind != site.kind {
        return Err(refused(format!(
            "'{}' is a parameter of the model and something else in the guide ({}); give it another name there",
            site.name, found.source_line
        ))
        .into());
    }
    if found.shape != site.shape {
        return Err(differ("of shape", &site.shape, &found.shape).into());
    }
    if found.support.interior() != site.support.interior() {
        return Err(differ("which must be", &site.support, &found.support).into());
    }
    match found.unconstrained {
        Some(unconstrained) => Ok(Some(unconstrained)),
        None => Err(refused(format!("'{}' has a given value in the guide", site.name)).into()),
    }
}

impl<F: Model> Guide for HandWritten<F> {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        let graph = noise.graph();
        let writer = Rc::new(Writer {
            noise: RefCell::new(noise.clone()),
            parameters: RefCell::default(),
            entropy: RefCell::default(),
        });
        let written = trace(&self.guide, graph, target.schema, Rc::clone(&writer))?;
        target.check_guide(&written)?;
        if let Some(input) = written.inputs_to_fill().next() {
            let told = format!(
                "the guide draws with a seed of its own (input '{input}'), whose entropy is not known; take the seed away, or \
                 sample what it hides openly"
            );
            return Err(refused(told).into());
        }
        *noise = writer.noise.borrow().clone();
        let mut program = GuideProgram::new(graph);
        program.parameters = writer.parameters.take();
        for entropy in writer.entropy.take() {
            program.entropy = program.entropy + entropy;
        }
        for site in target.sites {
            let value = match value_of(&written, site)? {
                Some(value) => {
                    // The model's parameter: where to start has been said there.
                    let own = program.parameters.iter_mut().find(|own| own.var.is(value));
                    if let (Some(own), Some(initial)) = (own, &site.initial) {
                        own.initial = initial.iter().copied().collect();
                    }
                    value
                }
                None => program.parameter(
                    input_name(&site.name),
                    site.unconstrained_shape.clone(),
                    super::start(site),
                )?,
            };
            program.values.push(value);
        }
        graph.check()?;
        Ok(program)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        let point = |site: &GuideSite| {
            (site.kind == SiteKind::Param).then(|| Marginal::point(parameters.get(&input_name(&site.name))))
        };
        sites.iter().map(point).collect()
    }

    /// Where it starts is written in it.
    fn takes_initial(&self) -> bool {
        false
    }

    fn describe(&self) -> &'static str {
        "hand-written"
    }
}
