//! Families of numbers with a bound: beta, gamma and Poisson.

use ppl_core::model::{ExponentialFamily, Statistic};
use ppl_core::{Graph, Value, Var};

/// `a − 1` and `b − 1` for `ln x` and `ln(1 − x)`.
pub(crate) struct BetaFamily<'g> {
    pub(crate) concentration1: Value<'g>,
    pub(crate) concentration0: Value<'g>,
}

/// `ln B(a, b)`
fn log_beta<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    a.lgamma() + b.lgamma() - (a + b).lgamma()
}

impl<'g> ExponentialFamily<'g> for BetaFamily<'g> {
    fn name(&self) -> &'static str {
        "Beta"
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Log, Statistic::LogComplement]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        vec![self.concentration1.on(graph) - 1.0, self.concentration0.on(graph) - 1.0]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        log_beta(natural[0] + 1.0, natural[1] + 1.0).sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        log_beta(self.concentration1.on(graph), self.concentration0.on(graph))
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(0.0)
    }
}

/// `a − 1` and `−β` for `ln x` and `x`.
pub(crate) struct GammaFamily<'g> {
    pub(crate) concentration: Value<'g>,
    pub(crate) rate: Value<'g>,
}

impl<'g> ExponentialFamily<'g> for GammaFamily<'g> {
    fn name(&self) -> &'static str {
        "Gamma"
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Log, Statistic::Value]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        vec![self.concentration.on(graph) - 1.0, -self.rate.on(graph)]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        let a = natural[0] + 1.0;
        (a.lgamma() - a * (-natural[1]).log()).sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        let (a, rate) = (self.concentration.on(graph), self.rate.on(graph));
        a.lgamma() - a * rate.log()
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        outcome.constant(0.0)
    }
}

/// `ln λ` for `x`.
pub(crate) struct PoissonFamily<'g> {
    pub(crate) rate: Value<'g>,
    /// Whether it is the logarithm of the rate that is given.
    pub(crate) logarithmic: bool,
}

impl<'g> ExponentialFamily<'g> for PoissonFamily<'g> {
    fn name(&self) -> &'static str {
        "Poisson"
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::Value]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        let rate = self.rate.on(graph);
        vec![if self.logarithmic { rate } else { rate.log() }]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        natural[0].exp().sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        let rate = self.rate.on(graph);
        if self.logarithmic { rate.exp() } else { rate }
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        -(outcome + 1.0).lgamma().sum()
    }
}
