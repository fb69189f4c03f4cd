//! The uniform distribution on an interval.

use crate::shared::bounds::Bounds;
use crate::shared::helpers::{at_batch_shape, uniform_noise};
use crate::shared::moved::between;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Transport, Value, Var};

/// The uniform distribution between `low` and `high`.
///
/// ```text
/// ln p(x) = −ln(high − low)        low ≤ x ≤ high, and −∞ outside
/// ```
///
/// Its support is an interval if the ends are numbers, and depends on values of the model otherwise. A draw
/// is `low + (high − low)·u` with uniform noise `u`.
///
/// A latent value `b` whose bounds are values of the model is `low + (high − low)·b_base`, with `b_base` uniform
/// between 0 and 1: inference is about the latent site `b_base`, and `b` is a deterministic one. Values can be given
/// by either name.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Uniform;
/// let graph = Graph::new();
/// let x = graph.input("x", 2)?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[Uniform::new(-1.0, 3.0).log_prob(x)])?);
/// plan.set("x", &[0.0, 5.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [-4.0_f64.ln(), f64::NEG_INFINITY]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// Two shares that leave something over:
///
/// ```
/// use ppl_core::prelude::*;
/// use ppl_distributions::prelude::*;
/// fn shares(ctx: &mut Ctx) -> Result<()> {
///     let first = ctx.sample("first", Uniform::new(0.0, 1.0))?;
///     let second = ctx.sample("second", Uniform::new(0.0, 1.0 - first))?;
///     ctx.deterministic("rest", 1.0 - first - second).map(|_| ())
/// }
/// # use ndarray::arr0;
/// # use ppl_core::{Graph, Schema, Unconstrained, trace};
/// let (graph, schema) = (Graph::new(), Schema::default());
/// let trace = trace(&shares, &graph, &schema, Unconstrained)?;
/// let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
/// assert_eq!(names, ["first", "second_base", "second", "rest"]);
///
/// let at = [("first", 0.6), ("second", 0.1)].map(|(name, x)| (name.to_owned(), arr0(x).into_dyn()));
/// let density = log_density(&shares, &Records::none(), &at.into())?.total();
/// assert!((density + 0.4_f64.ln()).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Uniform<'g> {
    pub(crate) bounds: Bounds<'g>,
}

impl<'g> Uniform<'g> {
    /// The ends, each a finite number or an array, broadcast together.
    pub fn new(low: impl Into<Value<'g>>, high: impl Into<Value<'g>>) -> Self {
        Self { bounds: Bounds::new(low, high) }
    }

    /// (low, high − low)
    fn low_and_width(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let low = self.bounds.low.on(graph);
        (low, self.bounds.high.on(graph) - low)
    }
}

impl<'g> Distribution<'g> for Uniform<'g> {
    fn name(&self) -> &'static str {
        "Uniform"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.bounds.parameters();
        // Neither end may be infinite here.
        for (name, value, open) in [
            ("low", self.bounds.low, self.bounds.open_below()),
            ("high", self.bounds.high, self.bounds.open_above()),
        ] {
            if open {
                parameters.push(Parameter { name, value, domain: Constraint::Real });
            }
        }
        // The width must be a number. (Where the lower end is so small that it is lost in the sum, it is.)
        if let Some(low) = self.bounds.low.known().filter(|low| low + f64::MAX < f64::MAX) {
            let domain = Constraint::AtMost(low + f64::MAX);
            parameters.push(Parameter { name: "high", value: self.bounds.high, domain });
        }
        parameters
    }

    fn support(&self) -> Constraint {
        self.bounds.support()
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (_, width) = self.low_and_width(value.graph());
        self.bounds.restrict(value, |_| -width.log())
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let u = uniform_noise(self, prefix, noise)?;
        let (low, width) = self.low_and_width(noise.graph());
        Ok(self.bounds.clamp(low + width * u))
    }

    /// Where the ends are not numbers, by the place between them.
    fn transport(&self) -> Option<Transport<'g>> {
        between(*self, self.bounds)
    }

    #[track_caller]
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, 0.5 * self.bounds.low.on(graph) + 0.5 * self.bounds.high.on(graph))
    }

    /// The middle of outcomes that are all equally likely.
    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.mean(graph)
    }

    #[track_caller]
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, graph.constant(0.0))
    }

    #[track_caller]
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.low_and_width(graph).1.square() / 12.0)
    }

    #[track_caller]
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        at_batch_shape(self, self.low_and_width(graph).1.log())
    }

    #[track_caller]
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (low, width) = self.low_and_width(value.graph());
        Some(((value - low) / width).max(0.0).min(1.0))
    }

    #[track_caller]
    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let (_, width) = self.low_and_width(value.graph());
        Some(((self.bounds.high.on(value.graph()) - value) / width).max(0.0).min(1.0))
    }

    #[track_caller]
    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let (low, width) = self.low_and_width(probability.graph());
        let within = probability.greater_equal(0.0) * probability.less_equal(1.0);
        Some(within.select(low + width * probability, f64::NAN))
    }
}
