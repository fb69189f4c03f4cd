//! Ends of an interval that may be numbers, infinite numbers or values of the model.

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
        let graph = match (self.low, self.high) {
            (Value::Var(end), _) | (_, Value::Var(end)) => Some(end.graph()),
            _ => None,
        };
        if let (Some(graph), false, false) = (graph, self.open_below(), self.open_above()) {
            let width = Value::Var(self.high.on(graph) - self.low.on(graph));
            parameters.push(Parameter { name: "high − low", value: width, domain: Constraint::Positive });
        }
        parameters
    }

    /// The set, if the ends are numbers.
    pub(crate) fn support(&self) -> Constraint {
        match (self.low.known(), self.high.known()) {
            (Some(f64::NEG_INFINITY), Some(f64::INFINITY)) => Constraint::Real,
            (Some(low), Some(f64::INFINITY)) => Constraint::GreaterThan(low),
            (Some(f64::NEG_INFINITY), Some(high)) => Constraint::LessThan(high),
            (Some(low), Some(high)) => Constraint::Interval(low, high),
            _ => Constraint::Dependent,
        }
    }

    /// `value` where it is not outside, and the nearer end where it is.
    #[track_caller]
    pub(crate) fn clamp(&self, value: Var<'g>) -> Var<'g> {
        let above = if self.open_below() { value } else { value.max(self.low) };
        if self.open_above() { above } else { above.min(self.high) }
    }

    /// `log_density` where `value` is inside (ends included), and −∞ outside.
    #[track_caller]
    pub(crate) fn restrict(&self, value: Var<'g>, log_density: Var<'g>) -> Var<'g> {
        let from_low = (!self.open_below()).then(|| value.greater_equal(self.low));
        let to_high = (!self.open_above()).then(|| value.less_equal(self.high));
        match (from_low, to_high) {
            (Some(low), Some(high)) => (low * high).select(log_density, f64::NEG_INFINITY),
            (Some(one), None) | (None, Some(one)) => one.select(log_density, f64::NEG_INFINITY),
            (None, None) => log_density,
        }
    }
}
