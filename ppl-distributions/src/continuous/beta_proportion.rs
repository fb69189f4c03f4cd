//! The beta distribution by its mean.

use crate::Beta;
use crate::shared::helpers::at_batch_shape;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The beta distribution with a mean and a concentration, as in a regression of proportions.
///
/// ```text
/// Beta(mean · concentration, (1 − mean) · concentration)        0 < mean < 1, concentration > 0
/// ```
///
/// The variance is `mean (1 − mean)/(concentration + 1)`.
///
/// ```
/// use ppl_distributions::prelude::*;
/// let law = BetaProportion::new(0.25, 8.0);
/// assert_eq!(law.ln_pdf(0.3), Beta::new(2.0, 6.0).ln_pdf(0.3));
/// ```
///
/// # References
/// S. Ferrari, F. Cribari-Neto, "Beta regression for modelling rates and proportions" (2004).
#[derive(Clone, Copy, Debug)]
pub struct BetaProportion<'g> {
    mean: Value<'g>,
    concentration: Value<'g>,
}

impl<'g> BetaProportion<'g> {
    /// Mean, between 0 and 1, and concentration; numbers or arrays.
    pub fn new(mean: impl Into<Value<'g>>, concentration: impl Into<Value<'g>>) -> Self {
        Self { mean: mean.into(), concentration: concentration.into() }
    }

    /// The same distribution by its two concentrations.
    #[track_caller]
    fn beta(&self, graph: &'g Graph) -> Beta<'g> {
        let (mean, concentration) = (self.mean.on(graph), self.concentration.on(graph));
        Beta::new(mean * concentration, (1.0 - mean) * concentration)
    }
}

impl<'g> Distribution<'g> for BetaProportion<'g> {
    fn name(&self) -> &'static str {
        "BetaProportion"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "mean", value: self.mean, domain: Constraint::UnitInterval },
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
        ]
    }

    fn support(&self) -> Constraint {
        Constraint::UnitInterval
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.beta(value.graph()).log_prob(value)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.beta(noise.graph()).draw(prefix, noise)
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.mean.on(graph))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (mean, concentration) = (self.mean.on(graph), self.concentration.on(graph));
        at_batch_shape(self, mean * (1.0 - mean) / (concentration + 1.0))
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.beta(graph).entropy(graph)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.beta(graph).mode(graph)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.beta(graph).skewness(graph)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Distribution::cdf(&self.beta(value.graph()), value)
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        Distribution::sf(&self.beta(value.graph()), value)
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.beta(value.graph()).log_cdf(value)
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.beta(value.graph()).log_sf(value)
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.beta(log_probability.graph()).quantile_of_log_cdf(log_probability)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.beta(log_probability.graph()).quantile_of_log_sf(log_probability)
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Distribution::quantile(&self.beta(probability.graph()), probability)
    }
}
