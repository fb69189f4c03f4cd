//! The asymmetric Laplace distribution.

use crate::shared::helpers::{at_batch_shape, log_of_rest, uniform_noise};
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The asymmetric Laplace distribution: an exponential of mean `scale · asymmetry` to the left of `loc`, and one of
/// mean `scale / asymmetry` to the right.
///
/// ```text
/// ln p(x) = −|x − loc|/s − ln(l + r)        l = scale · asymmetry, r = scale / asymmetry, s = l for x < loc, else r
/// ```
///
/// It is the law of quantile regression: made by [`from_quantile`](Self::from_quantile), its log density is the
/// tilted absolute loss, and `loc` is that quantile. A draw is the quantile of uniform noise.
///
/// ```
/// use ppl_distributions::prelude::*;
/// // The loss of the 90th percentile: nine times as much for a value above it as for one below.
/// let law = AsymmetricLaplace::from_quantile(0.0, 1.0, 0.9);
/// assert!((law.cdf(0.0) - 0.9).abs() < 1e-15);
/// assert!(((law.ln_pdf(1.0) - law.ln_pdf(0.0)) / (law.ln_pdf(-1.0) - law.ln_pdf(0.0)) - 9.0).abs() < 1e-13);
/// ```
///
/// # References
/// K. Yu, R. A. Moyeed, "Bayesian quantile regression" (2001).
#[derive(Clone, Copy, Debug)]
pub struct AsymmetricLaplace<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
    tilt: Tilt<'g>,
}

/// How the two sides differ.
#[derive(Clone, Copy, Debug)]
enum Tilt<'g> {
    /// The root of the left side's mean by the right side's.
    Asymmetry(Value<'g>),
    /// The probability of the left side.
    Quantile(Value<'g>),
}

impl<'g> AsymmetricLaplace<'g> {
    /// Location, scale, and the root of the left side's mean by the right side's; numbers or arrays.
    pub fn new(
        loc: impl Into<Value<'g>>,
        scale: impl Into<Value<'g>>,
        asymmetry: impl Into<Value<'g>>,
    ) -> Self {
        Self { loc: loc.into(), scale: scale.into(), tilt: Tilt::Asymmetry(asymmetry.into()) }
    }

    /// The law whose quantile at the probability `quantile` is `loc`, for quantile regression; numbers or arrays.
    /// With `q = quantile`, sides have the means `scale/(1 − q)` and `scale/q`:
    ///
    /// ```text
    /// ln p(x) = ln q(1 − q) − ln scale − ρ(x − loc)/scale        ρ(d) = q d for d ≥ 0, −(1 − q) d below
    /// ```
    pub fn from_quantile(
        loc: impl Into<Value<'g>>,
        scale: impl Into<Value<'g>>,
        quantile: impl Into<Value<'g>>,
    ) -> Self {
        Self { loc: loc.into(), scale: scale.into(), tilt: Tilt::Quantile(quantile.into()) }
    }

    /// `loc`, and the means of the left and of the right side.
    #[track_caller]
    fn sides(&self, graph: &'g Graph) -> [Var<'g>; 3] {
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        match self.tilt {
            Tilt::Asymmetry(asymmetry) => {
                let asymmetry = asymmetry.on(graph);
                [loc, scale * asymmetry, scale / asymmetry]
            }
            Tilt::Quantile(quantile) => {
                let quantile = quantile.on(graph);
                [loc, scale / (1.0 - quantile), scale / quantile]
            }
        }
    }

    #[track_caller]
    fn inverse(&self, p: Var<'g>) -> Var<'g> {
        let [loc, left, right] = self.sides(p.graph());
        let both = left + right;
        let below = (p * both).less(left);
        let at_left = left * (below.select(p, left / both) * both / left).log();
        let at_right = right * ((1.0 - below.select(left / both, p)) * both / right).log();
        loc + below.select(at_left, -at_right)
    }

    /// The outcome below and above which lie probabilities of these logarithms.
    #[track_caller]
    fn of_logs(&self, log_below: Var<'g>, log_above: Var<'g>) -> Var<'g> {
        let [loc, left, right] = self.sides(log_below.graph());
        let both = left + right;
        let at_left = left * (log_below - (left / both).log());
        let at_right = right * ((right / both).log() - log_above);
        loc + at_left.less(0.0).select(at_left, at_right.max(0.0))
    }
}

impl<'g> Distribution<'g> for AsymmetricLaplace<'g> {
    fn name(&self) -> &'static str {
        "AsymmetricLaplace"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let tilt = match self.tilt {
            Tilt::Asymmetry(value) => Parameter { name: "asymmetry", value, domain: Constraint::Positive },
            Tilt::Quantile(value) => Parameter { name: "quantile", value, domain: Constraint::UnitInterval },
        };
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
            tilt,
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [loc, left, right] = self.sides(value.graph());
        let distance = value - loc;
        distance / distance.less(0.0).select(left, -right) - (left + right).log()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        Ok(self.inverse(u))
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [loc, left, right] = self.sides(graph);
        at_batch_shape(self, loc + (right - left))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, left, right] = self.sides(graph);
        at_batch_shape(self, left.square() + right.square())
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, left, right] = self.sides(graph);
        at_batch_shape(self, (left + right).log() + 1.0)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.loc.on(graph))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [_, left, right] = self.sides(graph);
        let length = (left.square() + right.square()).sqrt();
        let cube = |x: Var<'g>| x * x.square();
        at_batch_shape(self, 2.0 * (cube(right / length) - cube(left / length)))
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, left, right] = self.sides(value.graph());
        let distance = value - loc;
        let (share, below) = (right / (left + right), distance.less(0.0));
        Some(below.select((distance.min(0.0) / left).exp() * (left / (left + right)), {
            1.0 - share * (-distance.max(0.0) / right).exp()
        }))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, left, right] = self.sides(value.graph());
        let distance = value - loc;
        let (share, above) = (left / (left + right), distance.greater_equal(0.0));
        Some(above.select((-distance.max(0.0) / right).exp() * (right / (left + right)), {
            1.0 - share * (distance.min(0.0) / left).exp()
        }))
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, left, right] = self.sides(value.graph());
        let distance = value - loc;
        let above = (-(right / (left + right)) * (-distance.max(0.0) / right).exp()).log1p();
        Some(distance.less(0.0).select(distance / left + (left / (left + right)).log(), above))
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let [loc, left, right] = self.sides(value.graph());
        let distance = value - loc;
        let below = (-(left / (left + right)) * (distance.min(0.0) / left).exp()).log1p();
        Some(distance.less(0.0).select(below, (right / (left + right)).log() - distance / right))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.inverse(probability))
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.of_logs(log_probability, log_of_rest(log_probability)))
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.of_logs(log_of_rest(log_probability), log_probability))
    }
}
