//! The discrete Laplace distribution.

use crate::shared::helpers::{at_batch_shape, log_of_rest, uniform_noise};
use crate::shared::quantiles::settled;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// All integers.
const INTEGERS: Constraint = Constraint::IntegerInterval(f64::NEG_INFINITY, f64::INFINITY);

/// The Laplace distribution on the integers (two-sided geometric): what the geometric mechanism of differential
/// privacy adds to counts.
///
/// ```text
/// p(k) = tanh(1/(2 scale)) · e^(−|k − loc|/scale)        k and loc integers, scale > 0
/// ```
///
/// A draw is the quantile of uniform noise.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = DiscreteLaplace::new(0.0, 2.0);
/// assert!((law.pmf(3.0) / law.pmf(1.0) - (-1.0_f64).exp()).abs() < 1e-15);
/// assert!((law.cdf(3.0) + law.sf(3.0) - 1.0).abs() < 1e-15);
/// ```
///
/// # References
/// A. Ghosh, T. Roughgarden, M. Sundararajan, "Universally utility-maximizing privacy mechanisms" (2012).
#[derive(Clone, Copy, Debug)]
pub struct DiscreteLaplace<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> DiscreteLaplace<'g> {
    /// Centre, an integer, and scale; numbers or arrays.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }

    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.loc, self.scale].map(|value| value.on(graph))
    }

    /// The smallest outcome whose distribution function is at least `u`.
    #[track_caller]
    fn smallest(&self, u: Var<'g>) -> Var<'g> {
        self.smallest_of_logs(u.log(), (-u).log1p())
    }

    /// The smallest outcome below which, itself included, and above which lie probabilities of these logarithms.
    #[track_caller]
    fn smallest_of_logs(&self, log_below: Var<'g>, log_above: Var<'g>) -> Var<'g> {
        let [loc, scale] = self.on(log_below.graph());
        let log_half = (-scale.reciprocal()).softplus();
        let left = (log_below + log_half) * scale;
        let right = -(log_above + log_half) * scale - 1.0;
        loc + left.less_equal(-1.0).select(left.ceil(), right.ceil().max(0.0))
    }
}

impl<'g> Distribution<'g> for DiscreteLaplace<'g> {
    fn name(&self) -> &'static str {
        "DiscreteLaplace"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: INTEGERS },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        INTEGERS
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [loc, scale] = self.on(value.graph());
        let one = -scale.reciprocal();
        let constant = log_of_rest(one) - one.softplus();
        value.floor().equal(value).select(constant - (value - loc).abs() / scale, f64::NEG_INFINITY)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.smallest(u))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [loc, _] = self.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [loc, _] = self.on(graph);
        at_batch_shape(self, loc)
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, scale] = self.on(graph);
        let one = -scale.reciprocal();
        at_batch_shape(self, 2.0 * one.exp() / one.expm1().square())
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, scale] = self.on(graph);
        at_batch_shape(self, 0.0 * scale)
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, scale] = self.on(graph);
        let one = -scale.reciprocal();
        at_batch_shape(self, one.softplus() - log_of_rest(one) - 2.0 * one * one.exp() / -(2.0 * one).expm1())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale] = self.on(value.graph());
        let (d, log_half) = (value.floor() - loc, (-scale.reciprocal()).softplus());
        let below = d.less(0.0);
        Some(below.select(
            (d.min(0.0) / scale - log_half).exp(),
            1.0 - (-(d.max(0.0) + 1.0) / scale - log_half).exp(),
        ))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale] = self.on(value.graph());
        let (d, log_half) = (value.floor() - loc, (-scale.reciprocal()).softplus());
        let below = d.less(0.0);
        Some(below.select(
            1.0 - (d.min(0.0) / scale - log_half).exp(),
            (-(d.max(0.0) + 1.0) / scale - log_half).exp(),
        ))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale] = self.on(value.graph());
        let (d, log_half) = (value.floor() - loc, (-scale.reciprocal()).softplus());
        let below = d.less(0.0);
        Some(
            below.select(
                (-(d.min(0.0) / scale - log_half).exp()).log1p(),
                -(d.max(0.0) + 1.0) / scale - log_half,
            ),
        )
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        settled(probability, self.smallest(probability), f64::NEG_INFINITY, |k| self.cdf(k))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, scale] = self.on(value.graph());
        let (d, log_half) = (value.floor() - loc, (-scale.reciprocal()).softplus());
        Some(
            d.less(0.0).select(
                d.min(0.0) / scale - log_half,
                (-(-(d.max(0.0) + 1.0) / scale - log_half).exp()).log1p(),
            ),
        )
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.smallest_of_logs(log_probability, log_of_rest(log_probability)))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.smallest_of_logs(log_of_rest(log_probability), log_probability))
    }
}
