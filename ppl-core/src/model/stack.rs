//! The way of a message through the handlers, and what becomes of it.

use crate::base::{Error, Result, Shape};
use crate::model::constraint::Constraint;
use crate::model::context::{Ctx, mixes};
use crate::model::handler::Handler;
use crate::model::message::{Drawing, Message, Replacement};
use crate::model::noise::Noise;
use crate::model::trace::{Filling, NoiseInput, Site, SiteKind};
use crate::op::{Kind, Op, Var};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A handler or a scope around statements.
#[derive(Clone)]
pub(crate) enum Frame<'g> {
    Scope(String),
    Handler(Rc<Layer<'g>>),
}

/// A handler, and the expected sites that it has met.
pub(crate) struct Layer<'g> {
    handler: Box<dyn Handler<'g> + 'g>,
    missing: RefCell<BTreeSet<String>>,
}

impl<'g> Layer<'g> {
    pub(crate) fn new(handler: impl Handler<'g> + 'g) -> Self {
        let missing = RefCell::new(handler.expects().into_iter().collect());
        Self { handler: Box::new(handler), missing }
    }

    /// Checks that all expected sites have passed.
    pub(crate) fn check_met(&self, known: &BTreeSet<String>) -> Result<()> {
        match self.missing.borrow().first() {
            None => Ok(()),
            Some(name) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Err(Error::Values(format!(
                    "a handler is for '{name}', but the model has no such site there; it has [{}]",
                    known.join(", ")
                )))
            }
        }
    }
}

/// A message that has been everywhere.
pub(crate) struct Answer<'g> {
    pub(crate) message: Message<'g>,
    noise: Vec<NoiseInput>,
}

impl<'g> Ctx<'g> {
    /// The name of a site with the prefixes of all scopes.
    pub(crate) fn full_name(&self, name: &str) -> String {
        self.frames.iter().rev().fold(name.to_owned(), |name, frame| match frame {
            Frame::Scope(prefix) => format!("{prefix}/{name}"),
            Frame::Handler(_) => name,
        })
    }

    /// Sends a message around and writes down the site; its value.
    #[track_caller]
    pub(crate) fn settle(&mut self, message: Message<'g>) -> Result<Var<'g>> {
        let answer = self.send(message)?;
        self.write_down(answer)
    }

    /// Sends a message through the handlers, gives it a value if it has none, and sends it back. Only a site
    /// that can be summed out may come back without one.
    #[track_caller]
    pub(crate) fn send(&mut self, mut message: Message<'g>) -> Result<Answer<'g>> {
        let (local, full, line) = (message.name.clone(), self.full_name(&message.name), message.source_line);
        let told = |error: Error| error.at_line(line).at_site(&full);
        let graph = self.graph;
        let _site = graph.enter_site(&full, line);
        let frames = self.frames.clone();
        let mut reached = frames.len();
        let mut inside_the_sum = None;
        for (depth, frame) in frames.iter().enumerate().rev() {
            if self.summing == Some(depth + 1) {
                inside_the_sum = Some((message.mask, message.scale));
            }
            match frame {
                Frame::Scope(prefix) => message.name = format!("{prefix}/{}", message.name),
                // Hidden from handlers, but not from scopes: a name must stay one of its own.
                Frame::Handler(_) if message.stop => {}
                Frame::Handler(layer) => {
                    layer.missing.borrow_mut().remove(&message.name);
                    layer.handler.process(&mut message).map_err(told)?;
                    reached = depth;
                    if let Some(replacement) = message.replacement.take() {
                        self.replace(&mut message, &local, replacement).map_err(told)?;
                    }
                }
            }
        }
        if let Some((mask, scale)) = inside_the_sum {
            // What lies around the sum acts on the sum, not on its terms.
            (message.mask, message.scale) = (mask, scale);
        }
        let noise = self.default_value(&mut message).map_err(told)?;
        for frame in &frames[reached..] {
            if let Frame::Handler(layer) = frame {
                layer.handler.post_process(&mut message).map_err(told)?;
            }
        }
        graph.check().map_err(told)?;
        Ok(Answer { message, noise })
    }

    /// Declares the site that another one is to be a function of.
    #[track_caller]
    fn replace(
        &mut self,
        message: &mut Message<'g>,
        local: &str,
        replacement: Replacement<'g>,
    ) -> Result<()> {
        let Replacement { suffix, base, map } = replacement;
        let name = format!("{local}_{suffix}");
        let full = self.full_name(&name);
        if self.names.contains(&full) {
            return Err(Error::DuplicateSite { name: full, source_line: message.source_line });
        }
        let mut other = Message::new(self.graph, &name, SiteKind::Latent, message.source_line);
        (other.distribution, other.per_record, other.is_base) = (Some(base), message.per_record, true);
        other.plates = message.plates.clone();
        let value = self.settle(other)?;
        message.give(map.apply(value))?;
        (message.kind, message.distribution) = (SiteKind::Deterministic, None);
        Ok(())
    }

    /// Gives a site a value that no handler gave one: a draw, or the initial value of a parameter.
    fn default_value(&self, message: &mut Message<'g>) -> Result<Vec<NoiseInput>> {
        if message.value.is_some() {
            return Ok(Vec::new());
        }
        if let (SiteKind::Param, Some(initial)) = (message.kind, &message.initial) {
            let value = self.graph.array(initial);
            message.give(value)?;
            return Ok(Vec::new());
        }
        if message.drawing == Drawing::No && message.enumerable {
            return Ok(Vec::new());
        }
        let (Some(distribution), true) = (message.distribution.clone(), message.drawing != Drawing::No)
        else {
            return Err(Error::Values(
                "there is no value for this site: put seed (to draw it), condition or substitute around the model, or trace it \
                 with Unconstrained (to make it an input)"
                    .to_owned(),
            ));
        };
        let scope = format!("draw/{}", message.name);
        let mut noise = match message.per_record {
            true => Noise::per_record(self.graph, scope),
            false => Noise::new(self.graph, scope),
        };
        let value = distribution.draw(&Shape::scalar(), &mut noise)?;
        self.graph.check()?;
        message.give(value)?;
        let inputs = noise.inputs().iter().map(|(name, kind, shape)| NoiseInput {
            name: name.clone(),
            kind: *kind,
            shape: shape.clone(),
            site: message.name.clone(),
            per_record: message.per_record,
            from_key: matches!(message.drawing, Drawing::Key(_)),
        });
        Ok(inputs.collect())
    }

    /// The site's elements of the log density, masked and scaled.
    #[track_caller]
    pub(crate) fn weighed(message: &Message<'g>, mut elements: Var<'g>) -> Result<Var<'g>> {
        let source_line = message.source_line;
        let fits = |operation, shape: Shape| match shape.broadcast(&elements.shape()) {
            Some(together) if together == elements.shape() => Ok(()),
            _ => {
                let (left, right) = (shape, elements.shape());
                Err(Error::ShapeMismatch { operation, left, right, source_line })
            }
        };
        if let Some(mask) = message.mask {
            fits("mask", mask.shape())?;
        }
        if let Some(scale) = message.scale {
            fits("scale", scale.shape())?;
        }
        if let Some(mask) = message.mask {
            elements = mask.select(elements, 0.0);
        }
        if let Some(scale) = message.scale {
            elements = elements * scale.on(message.graph());
        }
        Ok(elements)
    }

    /// Writes a site into the trace, unless it is hidden; its value.
    #[track_caller]
    pub(crate) fn write_down(&mut self, answer: Answer<'g>) -> Result<Var<'g>> {
        let Answer { message, noise } = answer;
        let line = message.source_line;
        let told = |error: Error| error.at_line(line).at_site(&message.name);
        let graph = self.graph;
        let _site = graph.enter_site(&message.name, line);
        let Some(value) = message.value else {
            return Err(told(Error::Values("it has lost its value".to_owned())));
        };
        value.require_on(graph, "site").map_err(told)?;
        let elements = match (&message.distribution, message.kind) {
            (Some(distribution), _) => Some(distribution.log_prob(value)),
            (None, SiteKind::Factor) => Some(value),
            (None, _) => None,
        };
        graph.check().map_err(told)?;
        if let Some(elements) = elements {
            elements.require_on(graph, "site").map_err(told)?;
        }
        let elements =
            elements.map(|elements| Self::weighed(&message, elements)).transpose().map_err(told)?;
        let log_prob = elements.map(Var::sum);
        graph.check().map_err(told)?;
        // A distribution may hold more than it lists as parameters.
        let kind = value.kind().max(log_prob.map_or(Kind::Shared, Var::kind));
        if kind == Kind::PerRecord && !message.per_record {
            let what = match message.kind {
                SiteKind::Latent | SiteKind::Marginalised => "the prior of a shared latent value",
                SiteKind::Param => "the value of a shared parameter",
                SiteKind::Observed => "an observation outside each_record",
                SiteKind::Deterministic => "a deterministic value outside each_record",
                SiteKind::Factor => "a factor outside each_record",
            };
            return Err(told(mixes(what, line)));
        }
        if self.summing.is_some() && message.kind == SiteKind::Latent && !message.enumerable {
            return Err(told(Error::Unsupported(
                "a latent value inside a sum over a discrete one; give it a value, or draw the discrete one too".to_owned(),
            )));
        }
        let shape = message.shape().map_err(told)?;
        self.names.insert(message.name.clone());
        let support = message.distribution.as_ref().map_or(message.constraint, |each| each.support());
        let is_input = |value: Var<'g>| graph.with_node(value.id(), |node| matches!(node.op, Op::Input(_)));
        if matches!(message.kind, SiteKind::Latent | SiteKind::Param)
            && support == Constraint::Real
            && is_input(value)
        {
            self.real.insert(value.id(), message.name.clone());
        }
        if !noise.is_empty() || message.given.is_some() {
            self.fillings.push(Filling { noise, drawing: message.drawing, given: message.given });
        }
        if !message.stop {
            self.sites.push(Site {
                kind: message.kind,
                per_record: message.per_record,
                distribution: message.distribution.as_ref().map(|distribution| distribution.name()),
                support,
                shape,
                value,
                unconstrained: message.unconstrained,
                log_prob,
                log_jacobian: message.log_jacobian,
                plates: message.plates,
                initial: message.initial,
                source_line: line,
                elements,
                name: message.name,
            });
        }
        Ok(value)
    }
}
