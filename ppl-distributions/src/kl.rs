//! Kullback–Leibler divergences in closed form.

use crate::continuous::beta::peak;
use crate::shared::arrays::sum_last;
use crate::shared::helpers::EULER;
use crate::shared::odds::Odds;
use crate::{
    Beta, Cauchy, Chi2, Dirichlet, Exponential, Gamma, Gumbel, HalfCauchy, HalfNormal, Independent,
    InverseGamma, Laplace, LogNormal, MultivariateNormal, NegativeBinomial, Normal, Pareto, Uniform,
    VonMises, Weibull,
};
use ppl_core::model::Iid;
use ppl_core::{Distribution, Expanded, Graph, Result, Shape, Var};

/// The Kullback–Leibler divergence from `self` to another distribution, where there is a formula.
///
/// ```text
/// KL(p ‖ q) = ∫ p(x) ln(p(x)/q(x)) dx        in nats; an array of the batch shapes together
/// ```
///
/// The formulas are written so that nothing large cancels, and divergences of distributions that are close
/// keep their digits where that is possible with elementary functions: where a ratio of scales enters it does
/// so through `t − ln(1 + t)` of what it differs from 1 by.
///
/// ```
/// use ppl_core::{ExecutionPlan, Graph, Program};
/// use ppl_distributions::{KullbackLeibler, Normal};
/// let graph = Graph::new();
/// let divergence = Normal::new(1.0, 2.0).kl_divergence(&Normal::new(0.0, 2.0), &graph);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[divergence])?);
/// plan.run();
/// assert!((plan.output(0)[0] - 0.125).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub trait KullbackLeibler<'g, Q: ?Sized> {
    /// `KL(self ‖ other)`
    #[must_use]
    #[track_caller]
    fn kl_divergence(&self, other: &Q, graph: &'g Graph) -> Var<'g>;
}

/// `t − 1 − ln t` for `t = a/b`: 0 where the two are equal, without cancellation near there.
fn excess<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    -((a - b) / b).log1p_minus_x()
}

/// `½ ((a/b)² − 1 − ln (a/b)²)`, what normal distributions with standard deviations `a` and `b` differ by.
fn spreads<'g>(a: Var<'g>, b: Var<'g>) -> Var<'g> {
    -0.5 * ((a - b) / b * ((a + b) / b)).log1p_minus_x()
}

/// `KL` of gamma distributions of shapes `a` and `b`, given the mean that the first has in units of the
/// second's scale: `b ln(b/m) + m − b` and what Stirling's formula leaves of the gamma functions.
fn gammas<'g>(a: Var<'g>, b: Var<'g>, mean: Var<'g>) -> Var<'g> {
    let stirling = b.stirling_error() - a.stirling_error() + 0.5 * (a / b).log();
    b.deviance(mean) + (a - b) * a.digamma_minus_log() + stirling
}

/// Of which parameters, in which graph: `on!(self.scale, other.scale; graph)`.
macro_rules! on {
    ($($of:ident . $name:ident),*; $graph:ident) => { ($($of.$name.on($graph)),*) };
}

impl<'g> KullbackLeibler<'g, Normal<'g>> for Normal<'g> {
    fn kl_divergence(&self, other: &Normal<'g>, graph: &'g Graph) -> Var<'g> {
        let (loc, scale, other_loc, other_scale) = on!(self.loc, self.scale, other.loc, other.scale; graph);
        spreads(scale, other_scale) + 0.5 * ((loc - other_loc) / other_scale).square()
    }
}

impl<'g> KullbackLeibler<'g, LogNormal<'g>> for LogNormal<'g> {
    fn kl_divergence(&self, other: &LogNormal<'g>, graph: &'g Graph) -> Var<'g> {
        let (loc, scale, other_loc, other_scale) = on!(self.loc, self.scale, other.loc, other.scale; graph);
        spreads(scale, other_scale) + 0.5 * ((loc - other_loc) / other_scale).square()
    }
}

impl<'g> KullbackLeibler<'g, HalfNormal<'g>> for HalfNormal<'g> {
    fn kl_divergence(&self, other: &HalfNormal<'g>, graph: &'g Graph) -> Var<'g> {
        let (scale, other_scale) = on!(self.scale, other.scale; graph);
        spreads(scale, other_scale)
    }
}

impl<'g> KullbackLeibler<'g, Cauchy<'g>> for Cauchy<'g> {
    fn kl_divergence(&self, other: &Cauchy<'g>, graph: &'g Graph) -> Var<'g> {
        let (loc, scale, other_loc, other_scale) = on!(self.loc, self.scale, other.loc, other.scale; graph);
        let distance = (scale - other_scale).square() + (loc - other_loc).square();
        (distance / (4.0 * scale * other_scale)).log1p()
    }
}

impl<'g> KullbackLeibler<'g, HalfCauchy<'g>> for HalfCauchy<'g> {
    fn kl_divergence(&self, other: &HalfCauchy<'g>, graph: &'g Graph) -> Var<'g> {
        let (scale, other_scale) = on!(self.scale, other.scale; graph);
        ((scale - other_scale).square() / (4.0 * scale * other_scale)).log1p()
    }
}

impl<'g> KullbackLeibler<'g, Laplace<'g>> for Laplace<'g> {
    fn kl_divergence(&self, other: &Laplace<'g>, graph: &'g Graph) -> Var<'g> {
        let (loc, scale, other_loc, other_scale) = on!(self.loc, self.scale, other.loc, other.scale; graph);
        let distance = (loc - other_loc).abs() / scale;
        excess(scale, other_scale) + scale / other_scale * ((-distance).expm1() + distance)
    }
}

impl<'g> KullbackLeibler<'g, Gumbel<'g>> for Gumbel<'g> {
    fn kl_divergence(&self, other: &Gumbel<'g>, graph: &'g Graph) -> Var<'g> {
        let (loc, scale, other_loc, other_scale) = on!(self.loc, self.scale, other.loc, other.scale; graph);
        let (ratio, distance) = (scale / other_scale, (other_loc - loc) / other_scale);
        EULER * (ratio - 1.0) - ratio.log() + ((distance + ratio.lgamma1p()).expm1() - distance)
    }
}

impl<'g> KullbackLeibler<'g, Weibull<'g>> for Weibull<'g> {
    fn kl_divergence(&self, other: &Weibull<'g>, graph: &'g Graph) -> Var<'g> {
        let (scale, k, other_scale, other_k) =
            on!(self.scale, self.concentration, other.scale, other.concentration; graph);
        // Logarithms of Weibull variables are Gumbel variables.
        let (ratio, distance) = (other_k / k, other_k * (scale.log() - other_scale.log()));
        EULER * (ratio - 1.0) - ratio.log() + ((distance + ratio.lgamma1p()).expm1() - distance)
    }
}

impl<'g> KullbackLeibler<'g, Exponential<'g>> for Exponential<'g> {
    fn kl_divergence(&self, other: &Exponential<'g>, graph: &'g Graph) -> Var<'g> {
        let (rate, other_rate) = on!(self.rate, other.rate; graph);
        excess(other_rate, rate)
    }
}

impl<'g> KullbackLeibler<'g, Pareto<'g>> for Pareto<'g> {
    /// Infinite where the other one begins later.
    fn kl_divergence(&self, other: &Pareto<'g>, graph: &'g Graph) -> Var<'g> {
        let (scale, alpha, other_scale, other_alpha) =
            on!(self.scale, self.alpha, other.scale, other.alpha; graph);
        let finite = excess(other_alpha, alpha) + other_alpha * (scale / other_scale).log();
        scale.greater_equal(other_scale).select(finite, f64::INFINITY)
    }
}

impl<'g> KullbackLeibler<'g, Uniform<'g>> for Uniform<'g> {
    /// Infinite where the other one does not hold this one.
    fn kl_divergence(&self, other: &Uniform<'g>, graph: &'g Graph) -> Var<'g> {
        let ends = |uniform: &Uniform<'g>| (uniform.bounds.low.on(graph), uniform.bounds.high.on(graph));
        let ((low, high), (other_low, other_high)) = (ends(self), ends(other));
        let inside = low.greater_equal(other_low) * high.less_equal(other_high);
        inside.select(((other_high - other_low) / (high - low)).log(), f64::INFINITY)
    }
}

impl<'g> KullbackLeibler<'g, Gamma<'g>> for Gamma<'g> {
    fn kl_divergence(&self, other: &Gamma<'g>, graph: &'g Graph) -> Var<'g> {
        let (a, rate, b, other_rate) =
            on!(self.concentration, self.rate, other.concentration, other.rate; graph);
        gammas(a, b, a * (other_rate / rate))
    }
}

impl<'g> KullbackLeibler<'g, InverseGamma<'g>> for InverseGamma<'g> {
    fn kl_divergence(&self, other: &InverseGamma<'g>, graph: &'g Graph) -> Var<'g> {
        let (a, rate, b, other_rate) =
            on!(self.concentration, self.rate, other.concentration, other.rate; graph);
        gammas(a, b, a * (other_rate / rate))
    }
}

impl<'g> KullbackLeibler<'g, Chi2<'g>> for Chi2<'g> {
    fn kl_divergence(&self, other: &Chi2<'g>, graph: &'g Graph) -> Var<'g> {
        let (df, other_df) = on!(self.df, other.df; graph);
        gammas(0.5 * df, 0.5 * other_df, 0.5 * df)
    }
}

impl<'g> KullbackLeibler<'g, Beta<'g>> for Beta<'g> {
    fn kl_divergence(&self, other: &Beta<'g>, graph: &'g Graph) -> Var<'g> {
        let (a, b) = on!(self.concentration1, self.concentration0; graph);
        let (c, d) = on!(other.concentration1, other.concentration0; graph);
        let (sum, other_sum) = (a + b, c + d);
        let rest = sum.digamma_minus_log();
        let means = c.deviance(other_sum * (a / sum)) + d.deviance(other_sum * (b / sum));
        let scores = (a - c) * (a.digamma_minus_log() - rest) + (b - d) * (b.digamma_minus_log() - rest);
        means + scores + (peak(a, b) - peak(c, d))
    }
}

impl<'g> KullbackLeibler<'g, VonMises<'g>> for VonMises<'g> {
    fn kl_divergence(&self, other: &VonMises<'g>, graph: &'g Graph) -> Var<'g> {
        let (loc, concentration) = on!(self.loc, self.concentration; graph);
        let (other_loc, other_concentration) = on!(other.loc, other.concentration; graph);
        let complement = concentration.bessel_ratio_complement();
        let half = (0.5 * (loc - other_loc)).sin();
        (other_concentration.i0e() / concentration.i0e()).log()
            + (other_concentration - concentration) * complement
            + 2.0 * concentration.bessel_ratio() * other_concentration * half.square()
    }
}

impl<'g, P, Q> KullbackLeibler<'g, Iid<Q>> for Iid<P>
where
    P: KullbackLeibler<'g, Q> + Distribution<'g>,
    Q: Distribution<'g>,
{
    /// The sum over all copies.
    fn kl_divergence(&self, other: &Iid<Q>, graph: &'g Graph) -> Var<'g> {
        let each = self.base().kl_divergence(other.base(), graph);
        let (shape, inner) = (self.event_shape(), self.base().event_shape());
        let copies = &shape.dims()[..shape.rank() - inner.rank()];
        each.broadcast_to(copies).sum()
    }
}

impl<'g, P, Q> KullbackLeibler<'g, Independent<Q>> for Independent<P>
where
    P: KullbackLeibler<'g, Q> + Distribution<'g>,
    Q: Distribution<'g>,
{
    /// The sum over the axes of an outcome; of two that take equally many.
    fn kl_divergence(&self, other: &Independent<Q>, graph: &'g Graph) -> Var<'g> {
        let each = self.base().kl_divergence(other.base(), graph);
        // A divergence of parameters that are the same along an axis is taken once for each place of it.
        let batch = |of: Result<Shape>| of.unwrap_or_default();
        let (own, others) = (batch(self.base().batch_shape()), batch(other.base().batch_shape()));
        sum_last(each.broadcast_to(own.broadcast(&others).unwrap_or(own)), self.axes())
    }
}

impl<'g, P, Q> KullbackLeibler<'g, Expanded<Q>> for Expanded<P>
where
    P: KullbackLeibler<'g, Q> + Distribution<'g>,
    Q: Distribution<'g>,
{
    /// Of each copy.
    fn kl_divergence(&self, other: &Expanded<Q>, graph: &'g Graph) -> Var<'g> {
        let each = self.base().kl_divergence(other.base(), graph);
        each.broadcast_to(self.batch_shape().unwrap_or_default())
    }
}

impl<'g> KullbackLeibler<'g, Dirichlet<'g>> for Dirichlet<'g> {
    /// `Σ_i G(a_i, b_i) − G(A, B)` with `G(a, b) = ln Γ(b) − ln Γ(a) − ψ(a) (b − a)`, which is not negative, and `A`,
    /// `B` the sums.
    fn kl_divergence(&self, other: &Dirichlet<'g>, graph: &'g Graph) -> Var<'g> {
        let ((a, sum), (b, other_sum)) = (self.concentrations(graph), other.concentrations(graph));
        // The leading terms, b ln(b/a) + a − b and half the logarithm of a/b, are taken together.
        let convex = |a: Var<'g>, b: Var<'g>| {
            b.deviance(a) + (a - b) * a.digamma_minus_log() + 0.5 * (a / b).log() + b.stirling_error()
                - a.stirling_error()
        };
        sum_last(convex(a, b.broadcast_to(a.shape())), 1) - convex(sum, other_sum)
    }
}

impl<'g> KullbackLeibler<'g, NegativeBinomial<'g>> for NegativeBinomial<'g> {
    /// The divergence of one trial times the mean number of trials, `r/(1 − p)`; NaN where the numbers of failures
    /// differ, for which there is no formula.
    fn kl_divergence(&self, other: &NegativeBinomial<'g>, graph: &'g Graph) -> Var<'g> {
        let (r, logits) = (self.concentration(graph), self.logits(graph));
        let trial = Odds::Logits(logits.into()).divergence(Odds::Logits(other.logits(graph).into()), graph);
        let divergence = r / (-logits).sigmoid() * trial;
        r.equal(other.concentration(graph)).select(divergence, f64::NAN)
    }
}

impl<'g> KullbackLeibler<'g, MultivariateNormal<'g>> for MultivariateNormal<'g> {
    fn kl_divergence(&self, other: &MultivariateNormal<'g>, graph: &'g Graph) -> Var<'g> {
        MultivariateNormal::kl_divergence(self, other, graph)
    }
}
