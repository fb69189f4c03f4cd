//! The Bernoulli distribution.

use ppl_core::{Constraint, Distribution, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// A yes (1) or a no (0), with log-odds `logit`.
///
/// ```text
/// ln p(y) = −ln(1 + e^((1 − 2y)·logit))        y ∈ {0, 1},   P(y = 1) = 1/(1 + e^−logit)
/// ```
///
/// This form loses no digits however sure the outcome is: `y·logit − ln(1 + e^logit)` would cancel. A draw is a comparison with uniform noise: exact, with
/// derivative 0.
///
/// ```
/// use ppl_core::{Distribution, Graph, Plan, Program};
/// use ppl_distributions::Bernoulli;
/// let graph = Graph::new();
/// let (logit, y) = (graph.input("logit", ())?, graph.input("y", ())?);
/// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[Bernoulli::from_logit(logit).log_prob(y)])?);
/// plan.set("logit", &[-800.0])?;
/// plan.set("y", &[1.0])?;
/// plan.run();
/// assert_eq!(plan.output(0), [-800.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bernoulli<'g> {
    logit: Value<'g>,
}

impl<'g> Bernoulli<'g> {
    /// Log-odds of a 1; a number or an array.
    pub fn from_logit(logit: impl Into<Value<'g>>) -> Self {
        Self { logit: logit.into() }
    }
}

impl<'g> Distribution<'g> for Bernoulli<'g> {
    fn name(&self) -> &'static str {
        "Bernoulli"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "logit", value: self.logit, domain: Constraint::Real }]
    }

    fn support(&self) -> Constraint {
        Constraint::Boolean
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let logit = self.logit.on(value.graph());
        -((1.0 - 2.0 * value) * logit).softplus()
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.logit.on(noise.graph()).sigmoid().greater(uniform))
    }
}
