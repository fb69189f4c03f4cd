//! Normal families.

use crate::MultivariateNormal;
use crate::shared::arrays::{LOG_2PI, column, sum_last};
use ppl_core::model::{ExponentialFamily, Statistic};
use ppl_core::{Distribution, Graph, Shape, Value, Var};

/// `μ/s²` and `−1/(2s²)` for `x` and `x²`.
pub(crate) struct NormalFamily<'g> {
    pub(crate) loc: Value<'g>,
    pub(crate) scale: Value<'g>,
}

impl<'g> ExponentialFamily<'g> for NormalFamily<'g> {
    fn name(&self) -> &'static str {
        "Normal"
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Value, Statistic::Square]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        let precision = self.scale.on(graph).square().reciprocal();
        vec![self.loc.on(graph) * precision, -0.5 * precision]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        let precision = -2.0 * natural[1];
        0.5 * (natural[0].square() / precision - precision.log()).sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        let (loc, scale) = (self.loc.on(graph), self.scale.on(graph));
        0.5 * loc.square() * scale.square().reciprocal() + scale.log()
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(-0.5 * LOG_2PI * outcome.shape().elements() as f64)
    }
}

/// `Λμ` and `−Λ/2` for `x` and `x xᵀ`, with the precision matrix `Λ`.
pub(crate) struct MultivariateNormalFamily<'g> {
    pub(crate) law: MultivariateNormal<'g>,
}

/// `(Λμ, ln |Λ|, μᵀΛμ)` of which the last two are of the batch shape.
fn parts<'g>(loc: Var<'g>, precision: Var<'g>) -> (Var<'g>, Var<'g>, Var<'g>) {
    let shape = precision.shape();
    let vector = ppl_core::Shape::from(&shape.dims()[..shape.rank() - 1]);
    let loc = loc.broadcast_to(loc.shape().broadcast(&vector).unwrap_or(vector));
    let precision = precision.broadcast_to(Statistic::Outer.shape(&loc.shape()));
    let natural = precision.matmul(column(loc)).reshape(loc.shape());
    (natural, precision.log_determinant(), sum_last(loc * natural, 1))
}

impl<'g> ExponentialFamily<'g> for MultivariateNormalFamily<'g> {
    fn name(&self) -> &'static str {
        "MultivariateNormal"
    }

    fn outcome(&self) -> Shape {
        self.law.event_shape()
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Value, Statistic::Outer]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        let (loc, precision) = self.law.loc_and_precision(graph);
        vec![parts(loc, precision).0, -0.5 * precision]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        ppl_core::conjugate::normal_rows_log_partition(natural[0], natural[1])
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        let (loc, precision) = self.law.loc_and_precision(graph);
        let (_, log_determinant, square) = parts(loc, precision);
        0.5 * (square - log_determinant)
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(-0.5 * LOG_2PI * outcome.shape().elements() as f64)
    }
}
