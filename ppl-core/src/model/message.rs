//! What a statement of a model says to the handlers around it.

use crate::base::{Error, Result, Shape, Source};
use crate::model::constraint::Constraint;
use crate::model::distribution::Distribution;
use crate::model::key::Key;
use crate::model::plate::Plate;
use crate::model::trace::SiteKind;
use crate::model::transport::Map;
use crate::op::{Graph, Value, Var};
use ndarray::ArrayD;
use std::rc::Rc;

/// Where the noise of a site comes from that is drawn from its own distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Drawing {
    /// It is not drawn: a handler must give it a value.
    #[default]
    No,
    /// From inputs of standard noise that the runner of the program fills.
    Inputs,
    /// From the same inputs; the runner fills them from this key and the site's name.
    Key(Key),
}

/// One statement on its way through the stack of [handlers](crate::handlers), innermost first.
///
/// A handler reads and changes the fields; what is left when all have seen it is what the statement means. A
/// fresh message of `sample` and `param` has no value, one of `observe`, `deterministic` and `factor` has
/// one.
pub struct Message<'g> {
    graph: &'g Graph,
    /// Name of the site, with the scopes that the message has left so far.
    pub name: String,
    /// What the site is.
    pub kind: SiteKind,
    /// Its distribution, stretched over the plates; `None` for parameters, deterministic values and factors.
    pub distribution: Option<Rc<dyn Distribution<'g> + 'g>>,
    /// Its value, once it has one.
    pub value: Option<Var<'g>>,
    /// What the value was mapped from, if it was.
    pub unconstrained: Option<Var<'g>>,
    /// Log of that mapping's Jacobian determinant, if it has one.
    pub log_jacobian: Option<Var<'g>>,
    /// Where its elements are 0, elements of the site's log density do not count.
    pub mask: Option<Var<'g>>,
    /// What the site's log density is multiplied by.
    pub scale: Option<Value<'g>>,
    /// Whether and how a site without a value is drawn in the end.
    pub drawing: Drawing,
    /// No handler further out sees the message, and the site is not in the trace.
    pub stop: bool,
    /// Whether the statement stands inside `each_record`.
    pub per_record: bool,
    /// Whether the site may be summed out: it stands in [`Ctx::enumerate`](crate::Ctx::enumerate).
    pub enumerable: bool,
    /// The plates around the statement, outermost first.
    pub plates: Vec<Plate>,
    /// Initial value of a parameter.
    pub initial: Option<ArrayD<f64>>,
    /// The line of the model.
    pub source_line: Source,
    /// Support of a parameter.
    pub(crate) constraint: Constraint,
    /// A value for each record, to be filled in by the runner of the program.
    pub(crate) given: Option<Given>,
    /// The site's value is to be a function of another site's.
    pub(crate) replacement: Option<Replacement<'g>>,
    /// Whether the message is of such another site.
    pub(crate) is_base: bool,
}

/// Values for each record and the per-record input that takes them.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) input: String,
    pub(crate) values: ArrayD<f64>,
}

/// A site that another one becomes a function of.
pub(crate) struct Replacement<'g> {
    pub(crate) suffix: &'static str,
    pub(crate) base: Rc<dyn Distribution<'g> + 'g>,
    pub(crate) map: Map<'g>,
}

impl<'g> Message<'g> {
    pub(crate) fn new(graph: &'g Graph, name: &str, kind: SiteKind, source_line: Source) -> Self {
        Self {
            graph,
            name: name.to_owned(),
            kind,
            distribution: None,
            value: None,
            unconstrained: None,
            log_jacobian: None,
            mask: None,
            scale: None,
            drawing: Drawing::No,
            stop: false,
            per_record: false,
            enumerable: false,
            plates: Vec::new(),
            initial: None,
            source_line,
            constraint: Constraint::Real,
            given: None,
            replacement: None,
            is_base: false,
        }
    }

    /// The graph that values must live on.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Whether the site is a latent value or a parameter that has no value yet.
    #[must_use]
    pub fn wants_value(&self) -> bool {
        self.value.is_none() && matches!(self.kind, SiteKind::Latent | SiteKind::Param)
    }

    /// Shape of the site's value (of one record's, if it is per record).
    ///
    /// # Errors
    /// If the shapes of the distribution's parameters do not go together.
    pub fn shape(&self) -> Result<Shape> {
        match (&self.distribution, &self.initial, self.value) {
            (Some(distribution), ..) => Ok(distribution.batch_shape()?.concat(&distribution.event_shape())),
            (None, Some(initial), _) => Ok(Shape::from(initial.shape())),
            (None, None, Some(value)) => Ok(value.shape()),
            (None, None, None) => Ok(Shape::scalar()),
        }
    }

    /// Where the value must lie.
    #[must_use]
    pub fn support(&self) -> Constraint {
        self.distribution.as_ref().map_or(self.constraint, |distribution| distribution.support())
    }

    /// Makes a value of the graph the site's.
    ///
    /// # Errors
    /// If it is of another shape, or belongs to another graph.
    pub fn give(&mut self, value: Var<'g>) -> Result<()> {
        value.require_on(self.graph, "give")?;
        let (needed, got) = (self.shape()?, value.shape());
        if needed != got {
            return Err(Error::Values(format!("a value of shape {needed} is needed, got {got}")));
        }
        (self.value, self.unconstrained, self.log_jacobian, self.given) = (Some(value), None, None, None);
        Ok(())
    }

    /// Makes known numbers the site's value. Inside `each_record` they may have one more axis, the first,
    /// which counts the records.
    ///
    /// # Errors
    /// If they are of another shape, or lie outside the support.
    pub fn give_numbers(&mut self, values: &ArrayD<f64>) -> Result<()> {
        let (needed, got) = (self.shape()?, Shape::from(values.shape()));
        let each = self.per_record && values.shape().get(1..) == Some(needed.dims());
        if needed != got && !each {
            let or =
                if self.per_record { format!(" (or [records] and then {needed})") } else { String::new() };
            return Err(Error::Values(format!("a value of shape {needed} is needed{or}, got {got}")));
        }
        let numbers: Vec<f64> = values.iter().copied().collect();
        let support = self.support();
        if let Some((at, value)) = support.violation(&numbers, &got) {
            let record = at / needed.elements().max(1);
            let place = if each { format!(" (record {record})") } else { String::new() };
            let (site, support) = (self.name.clone(), support.to_string());
            return Err(Error::OutsideSupport { site, value, place, support });
        }
        if !each {
            return self.give(self.graph.array(values));
        }
        let input = format!("given/{}", self.name);
        self.give(self.graph.record_input(input.clone(), needed)?)?;
        self.given = Some(Given { input, values: values.clone() });
        Ok(())
    }

    /// Makes the site a function of another one, `<name>_<suffix>`, which is declared instead: `map` of a
    /// value of `base`. The other site goes through all handlers as any does; this one becomes deterministic.
    pub fn replace_by(&mut self, suffix: &'static str, base: Rc<dyn Distribution<'g> + 'g>, map: Map<'g>) {
        self.replacement = Some(Replacement { suffix, base, map });
    }

    /// Whether the site was put in place of another by [`Message::replace_by`].
    #[must_use]
    pub fn is_replacement(&self) -> bool {
        self.is_base
    }
}
