//! Distributions and helpers that several tests need.

use ndarray::{ArrayD, arr0};
use ppl_core::model::Map;
use ppl_core::{
    Constraint, Ctx, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Schema, Shape, Transport,
    Unconstrained, Value, Var, trace,
};
use std::rc::Rc;

pub(crate) use ppl_core::strategies::models::Normal;

/// 0 or 1, with log-odds of a 1.
pub(crate) struct Coin<'g>(pub(crate) Value<'g>);

impl<'g> Distribution<'g> for Coin<'g> {
    fn name(&self) -> &'static str {
        "Coin"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "logit", value: self.0, domain: Constraint::Real }]
    }
    fn support(&self) -> Constraint {
        Constraint::Boolean
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let logit = self.0.on(x.graph());
        -((1.0 - 2.0 * x) * logit).softplus()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.0.on(noise.graph()).sigmoid().greater(uniform))
    }
}

/// An integer from 0, with log-weights in a vector that sums to 1 after `exp`.
pub(crate) struct Choice<'g>(pub(crate) Var<'g>);

impl<'g> Distribution<'g> for Choice<'g> {
    fn name(&self) -> &'static str {
        "Choice"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "log_weights", value: self.0.into(), domain: Constraint::Real }]
    }
    fn batch_shape(&self) -> Result<Shape> {
        Ok(Shape::scalar())
    }
    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, self.0.shape().elements() as f64 - 1.0)
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        self.0.gather(x)
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&Shape::from([1])))?;
        Ok(uniform.greater(self.0.exp().cumsum(0)).sum_axis(prefix.rank()))
    }
}

/// `e^x` for a normal `x`.
pub(crate) struct LogNormal<'g>(pub(crate) Normal<'g>);

impl<'g> Distribution<'g> for LogNormal<'g> {
    fn name(&self) -> &'static str {
        "LogNormal"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.0.parameters()
    }
    fn support(&self) -> Constraint {
        Constraint::Positive
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        self.0.log_prob(x.log()) - x.log()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        Ok(self.0.draw(prefix, noise)?.exp())
    }
    fn transport(&self) -> Option<Transport<'g>> {
        Some(Transport { base: Rc::new(self.0), map: Map::Function(Rc::new(Var::exp)) })
    }
}

pub(crate) fn schema() -> Schema {
    Schema::new([("x", Shape::from([3])), ("y", Shape::scalar())]).unwrap()
}

/// The error of a wrong model when it is traced for inference.
pub(crate) fn failure(model: impl Fn(&mut Ctx<'_>) -> Result<()>) -> String {
    let (graph, schema) = (Graph::new(), schema());
    match trace(&model, &graph, &schema, Unconstrained) {
        Ok(_) => panic!("the model should have been refused"),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn number(x: f64) -> ArrayD<f64> {
    arr0(x).into_dyn()
}

pub(crate) fn normal_log_density(x: f64, loc: f64, scale: f64) -> f64 {
    -0.5 * ((x - loc) / scale).powi(2) - scale.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
}
