//! Families of outcomes of finite number, and of their probabilities: Bernoulli, categorical, Dirichlet.

use crate::discrete::categorical::Categorical;
use crate::shared::arrays::sum_last;
use crate::shared::odds::Odds;
use ppl_core::model::{ExponentialFamily, Statistic};
use ppl_core::{Graph, Shape, Value, Var};

/// `ln(p/(1 − p))` for `x`.
pub(crate) struct BernoulliFamily<'g> {
    pub(crate) odds: Odds<'g>,
}

impl<'g> ExponentialFamily<'g> for BernoulliFamily<'g> {
    fn name(&self) -> &'static str {
        "Bernoulli"
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Value]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        vec![match self.odds {
            Odds::Logits(logit) => logit.on(graph),
            Odds::Probs(_) => self.odds.log_success(graph) - self.odds.log_failure(graph),
        }]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        natural[0].softplus().sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        match self.odds {
            Odds::Logits(logit) => logit.on(graph).softplus(),
            Odds::Probs(_) => -self.odds.log_failure(graph),
        }
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(0.0)
    }
}

/// `ln p` for the indicators of `x`; any numbers that differ from them by a constant are natural parameters too.
pub(crate) struct CategoricalFamily<'g> {
    pub(crate) law: Categorical<'g>,
}

impl<'g> ExponentialFamily<'g> for CategoricalFamily<'g> {
    fn name(&self) -> &'static str {
        "Categorical"
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Indicators(self.law.categories())]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        // `ln p`, or log-odds.
        vec![self.law.log_weights(graph).0]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        natural[0].log_sum_exp_axis(natural[0].shape().rank() - 1).sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        // `ln Σ_k e^{logit_k}`, where it is not 0.
        self.law.log_weights(graph).1.unwrap_or_else(|| graph.constant(0.0))
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(0.0)
    }
}

/// `a − 1` for `ln x`.
pub(crate) struct DirichletFamily<'g> {
    pub(crate) concentration: Value<'g>,
    pub(crate) categories: usize,
}

/// `ln B(a)`, of the batch shape.
fn log_beta(a: Var<'_>) -> Var<'_> {
    sum_last(a.lgamma(), 1) - sum_last(a, 1).lgamma()
}

impl<'g> ExponentialFamily<'g> for DirichletFamily<'g> {
    fn name(&self) -> &'static str {
        "Dirichlet"
    }

    fn outcome(&self) -> Shape {
        Shape::from(self.categories)
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Log]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        vec![self.concentration.on(graph) - 1.0]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        log_beta(natural[0] + 1.0).sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        let a = self.concentration.on(graph);
        log_beta(if a.shape().is_scalar() { a.broadcast_to(self.categories) } else { a })
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(0.0)
    }
}
