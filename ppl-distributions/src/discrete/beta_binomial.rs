//! The beta-binomial distribution.

use crate::shared::counts::{
    by_support, entropy_by_support, known_total, log_probs, log_sum_where, quantile_by_support,
    quantile_from_above, sum_where, total_support,
};
use crate::shared::gamma_noise::log_standard_gamma;
use crate::shared::log_space::by_smaller;
use crate::shared::polya::log_prob_of_categories;
use crate::shared::quantiles::of_probability;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// Successes among `total_count` trials that all succeed with the same probability, drawn from a beta
/// distribution.
///
/// ```text
/// p(k) = n!/(k! (n − k)!) B(k + a, n − k + b)/B(a, b)        k ∈ {0, …, n}
/// a = concentration1 > 0,   b = concentration0 > 0,   n = total_count
/// ```
///
/// The log probability is written in deviances from the means that the counts and the concentrations suggest
/// together, so that it loses no digits however large they are; see
/// [`DirichletMultinomial`](crate::DirichletMultinomial), of which this is the case of two categories.
///
/// The support is known while tracing where the total is one number; where it is not, `log_prob` is −∞ above
/// the total. Entropy, distribution function and quantiles are sums over the support for known totals of at
/// most 256, and `None` otherwise.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::BetaBinomial;
/// let graph = Graph::new();
/// let k = graph.input("k", ())?;
/// let program = Program::new(&graph, &[BetaBinomial::new(1.0, 1.0, 9.0).log_prob(k)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("k", &[4.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] + 10.0_f64.ln()).abs() < 1e-14); // a uniform probability: all counts are equally likely
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BetaBinomial<'g> {
    concentration1: Value<'g>,
    concentration0: Value<'g>,
    total_count: Value<'g>,
}

impl<'g> BetaBinomial<'g> {
    /// Concentrations of the beta distribution of the probability of a success (successes first), and the
    /// number of trials; numbers or arrays.
    pub fn new(
        concentration1: impl Into<Value<'g>>,
        concentration0: impl Into<Value<'g>>,
        total_count: impl Into<Value<'g>>,
    ) -> Self {
        Self {
            concentration1: concentration1.into(),
            concentration0: concentration0.into(),
            total_count: total_count.into(),
        }
    }

    /// `a`, `b` and `n`
    #[track_caller]
    fn on(&self, graph: &'g Graph) -> [Var<'g>; 3] {
        [self.concentration1, self.concentration0, self.total_count].map(|value| value.on(graph))
    }
}

impl<'g> Distribution<'g> for BetaBinomial<'g> {
    fn name(&self) -> &'static str {
        "BetaBinomial"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let positive = |name, value| Parameter { name, value, domain: Constraint::Positive };
        vec![
            positive("concentration1", self.concentration1),
            positive("concentration0", self.concentration0),
            Parameter {
                name: "total_count",
                value: self.total_count,
                domain: Constraint::NonNegativeInteger,
            },
        ]
    }

    fn support(&self) -> Constraint {
        total_support(self.total_count)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [a, b, _] = self.on(value.graph());
        by_support(self.total_count, value, |value, rest| {
            log_prob_of_categories(value + rest, a + b, |term| term(value, a) + term(rest, b))
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?);
        let [a, b, n] = self.on(noise.graph());
        // The log-odds of a beta variable, by two gamma variables in logarithms: neither of them underflows.
        let logits = log_standard_gamma(a, &shape, noise)? - log_standard_gamma(b, &shape, noise)?;
        Ok(noise.draw(NoiseKind::Uniform, shape)?.binomial_quantile(n, logits))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [a, b, n] = self.on(graph);
        Some(n * (a / (a + b)))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [a, b, n] = self.on(graph);
        let sum = a + b;
        Some(n * (a / sum) * (b / sum) * ((sum + n) / (sum + 1.0)))
    }

    /// The last count up to which probabilities grow; of two ends with the most probability that with the greater.
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [a, b, n] = self.on(graph);
        let inside = a.greater(1.0) * b.greater(1.0);
        let grown = ((n + 1.0) * (a - 1.0) / inside.select(a + b - 2.0, 1.0)).floor().min(n);
        Some(inside.select(grown, a.greater(b).select(n, 0.0)))
    }

    /// `(a + b + 2n) (b − a)/(a + b + 2) · √((1 + a + b)/(n a b (n + a + b)))`
    fn skewness(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [a, b, n] = self.on(graph);
        let sum = a + b;
        let root = ((1.0 + sum) / (n * (n + sum))).sqrt() / (a.sqrt() * b.sqrt());
        Some((sum + 2.0 * n) * ((b - a) / (sum + 2.0)) * root)
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        entropy_by_support(self, known_total(self.total_count)?, graph)
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let total = known_total(self.total_count)?;
        Some(sum_where(log_probs(self, total, value.graph())?, value, |k, value| k.less_equal(value)))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let total = known_total(self.total_count)?;
        Some(sum_where(log_probs(self, total, value.graph())?, value, |k, value| k.greater(value)))
    }

    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let total = known_total(self.total_count)?;
        let log =
            log_sum_where(log_probs(self, total, value.graph())?, value, |k, value| k.less_equal(value));
        Some(by_smaller(log, self.sf(value)?))
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let total = known_total(self.total_count)?;
        let log = log_sum_where(log_probs(self, total, value.graph())?, value, |k, value| k.greater(value));
        Some(by_smaller(log, self.cdf(value)?))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        let total = known_total(self.total_count)?;
        Some(of_probability(
            probability,
            quantile_by_support(log_probs(self, total, probability.graph())?, probability),
        ))
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let total = known_total(self.total_count)?;
        Some(quantile_from_above(log_probs(self, total, log_probability.graph())?, log_probability))
    }
}
