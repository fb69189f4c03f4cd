//! Laws between bounds that are values of the model, as images of laws with a fixed support.

use crate::shared::bounds::Bounds;
use crate::shared::support::{ends_of, kept_inside};
use ppl_core::model::Map;
use ppl_core::op::Kind;
use ppl_core::{Constraint, Distribution, Noise, Parameter, Result, Shape, Transport, Value, Var};
use std::rc::Rc;

/// The law of the place of a value between its bounds: of `(x − low)/(high − low)`, of `x − low` where there is no
/// upper end, and of `high − x` where there is no lower one.
struct Place<'g, D> {
    law: D,
    bounds: Bounds<'g>,
}

/// `law` as the image of one with a fixed support, if its own depends on these bounds and so is not known while
/// tracing.
pub(crate) fn between<'g>(law: impl Distribution<'g> + 'g, bounds: Bounds<'g>) -> Option<Transport<'g>> {
    (law.support() == Constraint::Dependent).then(|| Transport {
        base: Rc::new(Place { law, bounds }),
        map: Map::Function(Rc::new(move |place| bounds.at(place))),
    })
}

impl<'g> Bounds<'g> {
    /// The value at a place; never beyond an end, to which rounding might take it.
    #[track_caller]
    fn at(&self, place: Var<'g>) -> Var<'g> {
        let [low, high] = [self.low, self.high].map(|end| end.on(place.graph()));
        self.clamp(match (self.open_below(), self.open_above()) {
            (_, true) => low + place,
            (true, false) => high - place,
            (false, false) => low + (high - low) * place,
        })
    }

    /// The same ends, but where they are values of the model beyond those of a set: its own. (Numbers are kept in by
    /// [`within`](Self::within).)
    #[track_caller]
    pub(crate) fn cut(self, set: Constraint) -> Self {
        let (least, most) = ends_of(set);
        let end = |value: Value<'g>, other: f64, keep: fn(Var<'g>, f64) -> Var<'g>| match value {
            Value::Var(end) if end.known().is_none() && other.is_finite() => keep(end, other).into(),
            _ => value,
        };
        let (low, high) = (end(self.low, least, Var::at_least), end(self.high, most, Var::at_most));
        Self { low, high }
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Place<'g, D> {
    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.law.parameters()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.law.batch_shape()
    }

    fn support(&self) -> Constraint {
        match self.bounds.open_below() || self.bounds.open_above() {
            true => Constraint::Positive,
            false => Constraint::UnitInterval,
        }
    }

    /// That of the value, in units of the interval. Where the bounds are in the wrong order it is NaN.
    #[track_caller]
    fn log_prob(&self, place: Var<'g>) -> Var<'g> {
        let (graph, density) = (place.graph(), self.law.log_prob(self.bounds.at(place)));
        match self.support() {
            Constraint::UnitInterval => {
                density + (self.bounds.high.on(graph) - self.bounds.low.on(graph)).log()
            }
            _ => density,
        }
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let (drawn, graph) = (self.law.draw(prefix, noise)?, noise.graph());
        let [low, high] = [self.bounds.low, self.bounds.high].map(|end| end.on(graph));
        let place = match (self.bounds.open_below(), self.bounds.open_above()) {
            (_, true) => drawn - low,
            (true, false) => high - drawn,
            (false, false) => (drawn - low) / (high - low),
        };
        Ok(kept_inside(self.support(), place))
    }

    fn reparameterised(&self) -> bool {
        self.law.reparameterised()
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.law.validate()
    }

    fn kind(&self) -> Kind {
        self.law.kind()
    }
}
