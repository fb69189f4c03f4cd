//! Ends of an interval that may be numbers, infinite numbers or values of the model.

use crate::shared::support::unless;
use ppl_core::{Constraint, Parameter, Value, Var};

/// The ends of an interval, `low < high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'g> {
    pub(crate) low: Value<'g>,
    pub(crate) high: Value<'g>,
}

impl<'g> Bounds<'g> {
    pub(crate) fn new(low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    /// The same ends, but where they are numbers beyond those of a set: its own.
    pub(crate) fn within(self, (low, high): (f64, f64)) -> Self {
        let end = |value: Value<'g>, choose: fn(f64, f64) -> f64, other| match value.known() {
            Some(number) => choose(number, other).into(),
            None => value,
        };
        Self { low: end(self.low, f64::max, low), high: end(self.high, f64::min, high) }
    }

    /// Whether there is no lower end.
    pub(crate) fn open_below(&self) -> bool {
        self.low.known() == Some(f64::NEG_INFINITY)
    }

    /// Whether there is no upper end.
    pub(crate) fn open_above(&self) -> bool {
        self.high.known() == Some(f64::INFINITY)
    }

    /// The ends as parameters, but for those that are not there. Arrays are compared by their difference.
    pub(crate) fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = Vec::new();
        if !self.open_below() {
            parameters.push(Parameter { name: "low", value: self.low, domain: Constraint::Real });
        }
        if !self.open_above() {
            let domain = match self.low.known() {
                Some(low) if low.is_finite() => Constraint::GreaterThan(low),
                _ => Constraint::Real,
            };
            parameters.push(Parameter { name: "high", value: self.high, domain });
        }
        let width = match (self.low, self.high) {
            _ if self.open_below() || self.open_above() => None,
            (Value::Var(end), _) | (_, Value::Var(end)) => {
                let graph = end.graph();
                Some(Value::Var(self.high.on(graph) - self.low.on(graph)))
            }
            (Value::Array(_), _) | (_, Value::Array(_)) => self.least_width().map(Value::Known),
            _ => None,
        };
        if let Some(value) = width {
            parameters.push(Parameter { name: "high − low", value, domain: Constraint::Positive });
        }
        parameters
    }

    /// The smallest distance of the ends, of numbers and arrays of numbers; NaN where one of them is NaN. `None` where
    /// their shapes do not go together, which is an error of its own, or are not simply equal.
    fn least_width(&self) -> Option<f64> {
        let (low, high) = (self.low.known_elements()?, self.high.known_elements()?);
        let same = self.low.shape() == self.high.shape();
        if !(same || low.len() == 1 || high.len() == 1) {
            return None;
        }
        let length = low.len().max(high.len());
        let pairs = low.into_iter().cycle().zip(high.into_iter().cycle()).take(length);
        pairs.map(|(low, high)| high - low).reduce(|a, b| if b < a || b.is_nan() { b } else { a })
    }

    /// The ends as parameters of a distribution that has outcomes between two numbers, integers only where it
    /// is discrete: something of those must be left.
    pub(crate) fn parameters_within(&self, ends: (f64, f64), discrete: bool) -> Vec<Parameter<'g>> {
        let mut parameters = self.parameters();
        let least = self.low.known().map_or(ends.0, |low| low.max(ends.0));
        for parameter in &mut parameters {
            parameter.domain = match (parameter.name, discrete) {
                ("low", true) if ends.1.is_finite() => Constraint::AtMost(ends.1),
                ("low", false) if ends.1.is_finite() => Constraint::LessThan(ends.1),
                ("high", true) if least.is_finite() => Constraint::AtLeast(least.ceil()),
                ("high", false) if least.is_finite() => Constraint::GreaterThan(least),
                ("high − low", true) => Constraint::NonNegative,
                _ => parameter.domain,
            };
        }
        parameters
    }

    /// The set, if the ends are numbers.
    pub(crate) fn support(&self) -> Constraint {
        match (self.low.known(), self.high.known()) {
            (Some(f64::NEG_INFINITY), Some(f64::INFINITY)) => Constraint::Real,
            (Some(low), Some(f64::INFINITY)) => Constraint::AtLeast(low),
            (Some(f64::NEG_INFINITY), Some(high)) => Constraint::AtMost(high),
            (Some(low), Some(high)) => Constraint::Interval(low, high),
            _ => Constraint::Dependent,
        }
    }

    /// `value` where it is not outside, and the nearer end where it is.
    #[track_caller]
    pub(crate) fn clamp(&self, value: Var<'g>) -> Var<'g> {
        let above = match self.low.known() {
            Some(f64::NEG_INFINITY) => value,
            Some(low) => value.at_least(low),
            None => value.max(self.low),
        };
        match self.high.known() {
            Some(f64::INFINITY) => above,
            Some(high) => above.at_most(high),
            None => above.min(self.high),
        }
    }

    /// Not 0 where `value` lies outside; nothing where there is no end.
    #[track_caller]
    pub(crate) fn outside(&self, value: Var<'g>) -> Option<Var<'g>> {
        let below = (!self.open_below()).then(|| value.less(self.low));
        let above = (!self.open_above()).then(|| value.greater(self.high));
        match (below, above) {
            (Some(below), Some(above)) => Some(below + above),
            (one, other) => one.or(other),
        }
    }

    /// `log_density` where `value` is inside (ends included), and −∞ outside; it is given an end in the place
    /// of what lies outside.
    #[track_caller]
    pub(crate) fn restrict(&self, value: Var<'g>, log_density: impl FnOnce(Var<'g>) -> Var<'g>) -> Var<'g> {
        let end = if self.open_below() { self.high } else { self.low };
        unless(self.outside(value), value, end, log_density)
    }
}
