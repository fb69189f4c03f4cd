//! The probability of a success, given as it is or by its log-odds: what the distributions of counted
//! successes share.

use ppl_core::{Constraint, Graph, Parameter, Value, Var};

/// The probability `p` of a success.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Odds<'g> {
    /// `p` itself.
    Probs(Value<'g>),
    /// `ln(p/(1 − p))`
    Logits(Value<'g>),
}

/// Below it a probability is not multiplied by a count: `e^−60` is a normal number in `f32` too. What lies
/// below is made up for by its logarithm.
const LOWEST_LOG: f64 = -60.0;

impl<'g> Odds<'g> {
    /// The parameter, where probabilities may be of this set.
    pub(crate) fn parameter(self, domain: Constraint) -> Parameter<'g> {
        match self {
            Odds::Probs(value) => Parameter { name: "probs", value, domain },
            Odds::Logits(value) => Parameter { name: "logits", value, domain: Constraint::Real },
        }
    }

    /// `p`
    #[track_caller]
    pub(crate) fn success(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Odds::Probs(probs) => probs.on(graph),
            Odds::Logits(logits) => logits.on(graph).sigmoid(),
        }
    }

    /// `1 − p`
    #[track_caller]
    pub(crate) fn failure(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Odds::Probs(probs) => 1.0 - probs.on(graph),
            Odds::Logits(logits) => (-logits.on(graph)).sigmoid(),
        }
    }

    /// `ln p`
    #[track_caller]
    pub(crate) fn log_success(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Odds::Probs(probs) => probs.on(graph).log(),
            Odds::Logits(logits) => logits.on(graph).log_sigmoid(),
        }
    }

    /// `ln(1 − p)`
    #[track_caller]
    pub(crate) fn log_failure(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Odds::Probs(probs) => (-probs.on(graph)).log1p(),
            Odds::Logits(logits) => -logits.on(graph).softplus(),
        }
    }

    /// `ln(p/(1 − p))`
    #[track_caller]
    pub(crate) fn logits(self, graph: &'g Graph) -> Var<'g> {
        match self {
            Odds::Probs(probs) => probs.on(graph).logit(),
            Odds::Logits(logits) => logits.on(graph),
        }
    }

    /// The divergence `KL(p ‖ q)` of one trial: `D(p, q) + D(1 − p, 1 − q)` with the deviance
    /// `D(x, m) = x ln(x/m) + m − x`, of which the linear parts cancel and neither is negative.
    #[track_caller]
    pub(crate) fn divergence(self, other: Odds<'g>, graph: &'g Graph) -> Var<'g> {
        let of = |own: Var<'g>, others: Var<'g>, log_odds: Option<Var<'g>>| match log_odds {
            None => own.deviance(others),
            Some(log_odds) => {
                let low = log_odds.less(LOWEST_LOG);
                own.deviance(low.select(LOWEST_LOG.exp(), others))
                    - low.select(own * (log_odds - LOWEST_LOG), 0.0)
            }
        };
        let logits = match other {
            Odds::Probs(_) => None,
            Odds::Logits(logits) => Some(logits.on(graph)),
        };
        of(self.success(graph), other.success(graph), logits)
            + of(self.failure(graph), other.failure(graph), logits.map(|logits| -logits))
    }

    /// `successes · ln p + failures · ln(1 − p)`, where `0 · ln 0 = 0`, with derivatives that are finite
    /// there too.
    #[track_caller]
    pub(crate) fn log_likelihood(self, successes: Var<'g>, failures: Var<'g>) -> Var<'g> {
        let graph = successes.graph();
        match self {
            Odds::Probs(probs) => {
                let probs = probs.on(graph);
                let success = successes.equal(0.0).select(1.0, probs).log();
                let failure = failures.equal(0.0).select(0.0, -probs).log1p();
                successes * success + failures * failure
            }
            Odds::Logits(_) => successes * self.log_success(graph) + failures * self.log_failure(graph),
        }
    }

    /// `D(successes, m p) + D(failures, m (1 − p))` with the deviance `D(x, m) = x ln(x/m) + m − x` and
    /// `m = scale`: in log probabilities of counts what depends on `p`, without the leading terms that
    /// cancel.
    ///
    /// A probability too small to be multiplied is replaced by `e^−60` where there are counts, and its
    /// missing logarithm added.
    #[track_caller]
    pub(crate) fn deviance(self, successes: Var<'g>, failures: Var<'g>, scale: Var<'g>) -> Var<'g> {
        let graph = successes.graph();
        let of = |count: Var<'g>, probability: Var<'g>, log_odds: Var<'g>| {
            // Each way has one derivative, at the threshold too.
            let low = log_odds.less(LOWEST_LOG) * count.not_equal(0.0);
            let floored = low.select(LOWEST_LOG.exp(), probability);
            count.deviance(scale * floored) - low.select(count * (log_odds - LOWEST_LOG), 0.0)
        };
        match self {
            Odds::Probs(probs) => {
                let probs = probs.on(graph);
                successes.deviance(scale * probs) + failures.deviance(scale * (1.0 - probs))
            }
            Odds::Logits(logits) => {
                let logits = logits.on(graph);
                of(successes, logits.sigmoid(), logits) + of(failures, (-logits).sigmoid(), -logits)
            }
        }
    }
}
