//! The chi-squared distribution.

use crate::continuous::gamma::Gamma;
use crate::shared::helpers::at_batch_shape;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// The chi-squared distribution with `df` degrees of freedom: gamma with concentration `df/2` and rate `½`.
///
/// ```text
/// ln p(x) = (ν/2 − 1) ln x − x/2 − (ν/2) ln 2 − ln Γ(ν/2)        x > 0, ν = df > 0
/// ```
///
/// Accuracy and draws are those of [`Gamma`].
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Chi2;
/// let graph = Graph::new();
/// let x = graph.input("x", ())?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Chi2::new(2.0).log_prob(x)])?);
/// plan.set("x", &[3.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - (-1.5 - 2.0_f64.ln())).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chi2<'g> {
    pub(crate) df: Value<'g>,
}

impl<'g> Chi2<'g> {
    /// Degrees of freedom; a number or an array.
    pub fn new(df: impl Into<Value<'g>>) -> Self {
        Self { df: df.into() }
    }

    fn gamma(&self, graph: &'g Graph) -> Gamma<'g> {
        match self.df {
            Value::Known(df) => Gamma::new(0.5 * df, 0.5),
            df => Gamma::new(0.5 * df.on(graph), 0.5),
        }
    }
}

impl<'g> Distribution<'g> for Chi2<'g> {
    fn name(&self) -> &'static str {
        "Chi2"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "df", value: self.df, domain: Constraint::Positive }]
    }

    fn support(&self) -> Constraint {
        Gamma::new(self.df.known().map_or(self.df, |df| (0.5 * df).into()), 0.5).support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.gamma(value.graph()).log_prob(value)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.gamma(noise.graph()).draw(prefix, noise)
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.gamma(graph).mean(graph)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let df = self.df.on(graph);
        at_batch_shape(self, (df - 2.0).max(0.0))
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let df = self.df.on(graph);
        at_batch_shape(self, (8.0 / df).sqrt())
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.gamma(graph).variance(graph)
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.gamma(graph).entropy(graph)
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.gamma(value.graph()).cdf(value)
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        self.gamma(probability.graph()).quantile(probability)
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.gamma(value.graph()).sf(value)
    }

    #[track_caller]
    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.gamma(value.graph()).log_cdf(value)
    }

    #[track_caller]
    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.gamma(value.graph()).log_sf(value)
    }

    #[track_caller]
    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.gamma(log_probability.graph()).quantile_of_log_cdf(log_probability)
    }

    #[track_caller]
    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        self.gamma(log_probability.graph()).quantile_of_log_sf(log_probability)
    }
}
