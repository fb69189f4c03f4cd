//! Censored observations.

use crate::shared::arrays::together;
use crate::shared::bounds::Bounds;
use crate::shared::log_space::log_difference;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Noise, Parameter, Result, Shape, Source, Value, Var,
};

/// Outcomes of another distribution of which some are known only to lie to one side, or between two ends.
///
/// Four kinds, by how censoring is written in the records:
///
/// | made by | an outcome `x` | its log probability |
/// |---|---|---|
/// | [`new`](Self::new) | is replaced by the nearer of two ends where it lies outside them | `ln p(x)` between them, `ln P(X ≤ low)` at `low`, `ln P(X ≥ high)` at `high` |
/// | [`left`](Self::left) | was at most `x` where an indicator is not 0 | `ln P(X ≤ x)`, or `ln p(x)` where it is 0 |
/// | [`right`](Self::right) | was above `x` where an indicator is not 0 | `ln P(X > x)`, or `ln p(x)` where it is 0 |
/// | [`interval`](Self::interval) | was above `x` and at most `upper` | `ln (F(upper) − F(x))` |
///
/// Probabilities of tails are computed in logarithms and on the side on which they are small. At `high` a discrete
/// outcome has the probability of `high` and everything above it.
///
/// Only the first kind can be drawn from: in the others, when an outcome is censored is not part of the law.
///
/// ```
/// use ppl_distributions::prelude::*;
/// // A scale that shows at most 10.
/// let weight = Censored::new(Normal::new(8.0, 2.0), f64::NEG_INFINITY, 10.0);
/// assert!((weight.ln_pdf(10.0) - Normal::new(8.0, 2.0).ln_sf(10.0)).abs() < 1e-15);
/// assert_eq!(weight.ln_pdf(11.0), f64::NEG_INFINITY);
/// // Somebody who is still alive after 40 years.
/// assert_eq!(Censored::right(Exponential::new(0.1), 1.0).ln_pdf(40.0), -4.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Censored<'g, D> {
    base: D,
    how: How<'g>,
}

#[derive(Clone, Copy, Debug)]
enum How<'g> {
    Between(Bounds<'g>),
    Left(Value<'g>),
    Right(Value<'g>),
    Interval(Value<'g>),
}

impl<'g, D: Distribution<'g>> Censored<'g, D> {
    /// Outcomes below `low` are recorded as `low`, those above `high` as `high`; either may be infinite. Numbers or
    /// arrays.
    pub fn new(base: D, low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { base, how: How::Between(Bounds::new(low, high)) }
    }

    /// Outcomes that were at most the recorded value, where `censored` is not 0; 0 or 1, a number or an array.
    pub fn left(base: D, censored: impl Into<Value<'g>>) -> Self {
        Self { base, how: How::Left(censored.into()) }
    }

    /// Outcomes that were above the recorded value, where `censored` is not 0; 0 or 1, a number or an array.
    pub fn right(base: D, censored: impl Into<Value<'g>>) -> Self {
        Self { base, how: How::Right(censored.into()) }
    }

    /// Outcomes that were above the recorded value and at most `upper`, a number or an array.
    pub fn interval(base: D, upper: impl Into<Value<'g>>) -> Self {
        Self { base, how: How::Interval(upper.into()) }
    }

    /// The distribution before censoring.
    pub fn base(&self) -> &D {
        &self.base
    }

    /// The parameters that say how it is censored.
    fn own(&self) -> Vec<Parameter<'g>> {
        match self.how {
            How::Between(bounds) => bounds.parameters(),
            How::Left(value) | How::Right(value) => {
                vec![Parameter { name: "censored", value, domain: Constraint::Boolean }]
            }
            How::Interval(value) => vec![Parameter { name: "upper", value, domain: Constraint::Real }],
        }
    }

    /// `ln P(X ≥ x)`
    #[track_caller]
    fn log_from(&self, x: Var<'g>) -> Option<Var<'g>> {
        match self.base.support().is_discrete() {
            true => self.base.log_sf(x.ceil() - 1.0),
            false => self.base.log_sf(x),
        }
    }

    /// `ln (F(b) − F(a))`, by the smaller of the two tails.
    #[track_caller]
    fn log_between(&self, a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
        let from_below = log_difference(self.base.log_cdf(b)?, self.base.log_cdf(a)?);
        let from_above = log_difference(self.base.log_sf(a)?, self.base.log_sf(b)?);
        let right = self.base.cdf(a)?.greater(0.5);
        Some(right.select(from_above, from_below))
    }

    /// The log probability; `None` where the base has no distribution function.
    #[track_caller]
    fn log_density(&self, value: Var<'g>) -> Option<Var<'g>> {
        let graph = value.graph();
        let density = |value| self.base.log_prob(value);
        Some(match self.how {
            How::Between(bounds) => {
                let mut log = bounds.restrict(value, density);
                if !bounds.open_below() {
                    let low = bounds.low.on(graph);
                    log = value.equal(low).select(self.base.log_cdf(low)?, log);
                }
                if !bounds.open_above() {
                    let high = bounds.high.on(graph);
                    log = value.equal(high).select(self.log_from(high)?, log);
                }
                log
            }
            How::Left(censored) => censored.on(graph).select(self.base.log_cdf(value)?, density(value)),
            How::Right(censored) => censored.on(graph).select(self.base.log_sf(value)?, density(value)),
            How::Interval(upper) => self.log_between(value, upper.on(graph))?,
        })
    }

    fn unknown(&self, what: &str) -> Error {
        Error::Unsupported(format!("{what} of Censored of {}", self.base.name()))
    }
}

impl<'g, D: Distribution<'g>> Distribution<'g> for Censored<'g, D> {
    fn name(&self) -> &'static str {
        "Censored"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.base.parameters();
        parameters.extend(self.own());
        parameters
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let event = self.base.event_shape();
        if !event.is_scalar() {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "a distribution of single numbers".to_owned(),
                got: event,
                source_line: Source::caller(),
            });
        }
        let mut shape = self.base.batch_shape()?;
        for parameter in self.own() {
            shape = together(self.name(), &shape, &parameter.value.shape())?;
        }
        Ok(shape)
    }

    fn support(&self) -> Constraint {
        let base = self.base.support();
        let How::Between(bounds) = self.how else { return base };
        match (bounds.low.known(), bounds.high.known()) {
            (Some(low), Some(high)) if base.is_discrete() => Constraint::IntegerInterval(low, high),
            (Some(low), Some(high)) => Constraint::Interval(low, high),
            _ if base.is_discrete() => Constraint::DependentInteger,
            _ => Constraint::Dependent,
        }
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.log_density(value).unwrap_or_else(|| value.constant(f64::NAN))
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let How::Between(bounds) = self.how else { return Err(self.unknown("a draw")) };
        let batch = self.batch_shape()?;
        Ok(bounds.clamp(Expanded::new(&self.base, batch).draw(prefix, noise)?))
    }

    /// A draw lies on an end with a probability that depends on the parameters, but the draw moves
    /// continuously with them.
    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    /// That of the base, 0 below `low` and 1 from `high` on.
    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        let mut cdf = self.base.cdf(value)?;
        if !bounds.open_below() {
            cdf = value.less(bounds.low).select(0.0, cdf);
        }
        if !bounds.open_above() {
            cdf = value.greater_equal(bounds.high).select(1.0, cdf);
        }
        Some(cdf)
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        let mut sf = self.base.sf(value)?;
        if !bounds.open_below() {
            sf = value.less(bounds.low).select(1.0, sf);
        }
        if !bounds.open_above() {
            sf = value.greater_equal(bounds.high).select(0.0, sf);
        }
        Some(sf)
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        let mut log = self.base.log_cdf(value)?;
        if !bounds.open_below() {
            log = value.less(bounds.low).select(f64::NEG_INFINITY, log);
        }
        if !bounds.open_above() {
            log = value.greater_equal(bounds.high).select(0.0, log);
        }
        Some(log)
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        let mut log = self.base.log_sf(value)?;
        if !bounds.open_below() {
            log = value.less(bounds.low).select(0.0, log);
        }
        if !bounds.open_above() {
            log = value.greater_equal(bounds.high).select(f64::NEG_INFINITY, log);
        }
        Some(log)
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        Some(bounds.clamp(self.base.quantile(probability)?))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        Some(bounds.clamp(self.base.quantile_of_log_cdf(log_probability)?))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let How::Between(bounds) = self.how else { return None };
        Some(bounds.clamp(self.base.quantile_of_log_sf(log_probability)?))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        for parameter in self.own() {
            parameter.check(self.name())?;
        }
        self.batch_shape().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.own().iter().map(|own| own.value.kind()).fold(self.base.kind(), Kind::max)
    }
}
