//! Distribution functions of counts and their inverses, element by element.
//!
//! They are not fused: each number is a search, or a quadrature, of its own.

use super::{Cotangent, Misfit, Op, Primitive, Work};
use crate::error::{Error, Source};
use crate::math;
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::value::Value;
use crate::var::Var;

/// A distribution function of counts, or its inverse. Arguments have the shape of the result, or are single numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counting {
    /// The smallest `k` with `P(K ≤ k) ≥ u`, of a rate and `u`; derivative 0.
    PoissonQuantile,
    /// The same of a number of trials, log-odds and `u`; derivative 0.
    BinomialQuantile,
    /// The same of a number of failures that are waited for, log-odds and `u`; derivative 0.
    NegativeBinomialQuantile,
    /// `P(K ≤ k)` of `k` and a rate, which alone has a derivative.
    PoissonCdf,
    /// `P(K ≤ k)` of `k`, a number of trials and log-odds, which alone have a derivative.
    BinomialCdf,
    /// `P(K ≤ k)` of `k`, a number of failures that are waited for and log-odds; its second derivative in the number of failures is refused, as NaN.
    NegativeBinomialCdf,
}

impl Counting {
    /// Every function of this family, for tests that go through all of them.
    pub const ALL: [Counting; 6] = [
        Counting::PoissonQuantile,
        Counting::BinomialQuantile,
        Counting::NegativeBinomialQuantile,
        Counting::PoissonCdf,
        Counting::BinomialCdf,
        Counting::NegativeBinomialCdf,
    ];

    /// How many arguments it takes.
    #[must_use]
    pub fn arguments(self) -> usize {
        if matches!(self, Counting::PoissonQuantile | Counting::PoissonCdf) { 2 } else { 3 }
    }

    /// Its value, in `f64` whatever the program runs in.
    fn value(self, [a, b, c]: [f64; 3]) -> f64 {
        match self {
            Counting::PoissonQuantile => math::poisson_quantile(a, b),
            Counting::BinomialQuantile => math::binomial_quantile(a, b, c),
            Counting::NegativeBinomialQuantile => math::negative_binomial_quantile(a, b, c),
            Counting::PoissonCdf => math::poisson_probabilities(a.floor(), b).0,
            Counting::BinomialCdf => math::binomial_probabilities(a.floor(), b, c).0,
            Counting::NegativeBinomialCdf => math::negative_binomial_probabilities(a.floor(), b, c).0,
        }
    }
}

impl Primitive for Counting {
    fn name(&self) -> &'static str {
        match self {
            Counting::PoissonQuantile => "poisson_quantile",
            Counting::BinomialQuantile => "binomial_quantile",
            Counting::NegativeBinomialQuantile => "negative_binomial_quantile",
            Counting::PoissonCdf => "poisson_cdf",
            Counting::BinomialCdf => "binomial_cdf",
            Counting::NegativeBinomialCdf => "negative_binomial_cdf",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        if args.len() != self.arguments() {
            return Err(Misfit::Count);
        }
        let mut shape = Shape::scalar();
        for (which, arg) in args.iter().enumerate() {
            if shape.is_scalar() {
                shape = arg.clone();
            } else if !arg.is_scalar() && *arg != shape {
                return Err(Misfit::Argument(which, format!("shape {shape}, or a single number")));
            }
        }
        Ok(shape)
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, .. } = work;
        if lanes == 0 {
            return;
        }
        let largest = T::max_value().as_f64();
        for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
            for (lane, out) in out.iter_mut().enumerate() {
                let mut numbers = [0.0; 3];
                for (number, arg) in numbers.iter_mut().zip(args) {
                    let place = if arg.rows(lanes) == 1 { 0 } else { row };
                    *number = arg.at(place, lane, lanes).as_f64();
                }
                let value = self.value(numbers);
                // A count that the type cannot hold is the largest that it can.
                *out = T::of(if value > largest { largest } else { value });
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let (k, count) = (args[0].floor(), args[1]);
        let slope = match (self, which) {
            (Counting::PoissonCdf, 1) => {
                // −p(k)
                let inside = k.greater_equal(0.0);
                let k = inside.select(k, 0.0);
                inside.select(-(-(k.deviance(count) + k.log_factorial_remainder())).exp(), 0.0)
            }
            (Counting::BinomialCdf, 2) => {
                let logit = args[2];
                // −(n − k) p · p(k); nothing at and above n, and below 0.
                let inside = k.greater_equal(0.0) * k.less(count);
                let (k, rest) = (inside.select(k, 0.0), inside.select(count - k, 1.0));
                inside.select(-(rest * logit.sigmoid()) * log_binomial(k, rest, logit).exp(), 0.0)
            }
            (Counting::NegativeBinomialCdf, 1 | 2) => {
                let logit = args[2];
                // The density of the log-odds of a beta variable, which is (k + 1) p(k + 1): r p/(1 − p) times the probability of k for r + 1.
                let inside = k.greater_equal(0.0);
                let k = inside.select(k, 0.0);
                let density = count * logit.sigmoid() * log_binomial(k, count, logit).exp();
                let slope =
                    if which == 1 { count.beta_slope_a(k + 1.0, -logit) } else { cotangent.constant(1.0) };
                inside.select(-(density * slope), 0.0)
            }
            _ => return None,
        };
        Some(Cotangent::Value((cotangent * slope).sum_to(args[which].shape())))
    }
}

/// `ln [Γ(k + m + 1)/(k! Γ(m + 1)) pᵏ (1 − p)ᵐ]`
fn log_binomial<'g>(k: Var<'g>, m: Var<'g>, logit: Var<'g>) -> Var<'g> {
    let all = k + m;
    all.log_factorial_remainder()
        - k.log_factorial_remainder()
        - m.log_factorial_remainder()
        - k.deviance(all * logit.sigmoid())
        - m.deviance(all * (-logit).sigmoid())
}

/// Distribution functions of counts and their inverses; each fails softly, as told at [`Graph`](crate::Graph).
impl<'g> Var<'g> {
    #[track_caller]
    fn counting(self, op: Counting, args: &[Var<'g>]) -> Var<'g> {
        let graph = self.graph();
        let mut shape = Shape::scalar();
        for arg in args {
            if let Err(error) = arg.require_on(graph, op.name()) {
                return graph.fail(error);
            }
            shape = match shape.broadcast(&arg.shape()) {
                Some(together) => together,
                None => {
                    return graph.fail(Error::ShapeMismatch {
                        operation: op.name(),
                        left: shape,
                        right: arg.shape(),
                        source_line: Source::caller(),
                    });
                }
            };
        }
        let mut stretched = args.to_vec();
        for arg in stretched.iter_mut().filter(|arg| !arg.shape().is_scalar()) {
            *arg = arg.broadcast_to(shape.clone());
        }
        graph.apply(Op::Counting(op), &stretched)
    }

    /// The smallest integer `k` with `P(K ≤ k) ≥ u` for a probability `u = self` and a Poisson variable `K` of this rate ≥ 0.
    ///
    /// Exact up to the rounding of the distribution function, in both tails and for rates from 0 to 10¹⁵; derivative 0. 0 at `u = 0`, ∞ (as far as the number type
    /// goes) at `u = 1`, NaN outside.
    ///
    /// ```
    /// # use ppl_core::{Graph, Plan, Program};
    /// let graph = Graph::new();
    /// let u = graph.input("u", 3)?;
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[u.poisson_quantile(2.0)])?);
    /// plan.set("u", &[0.1, 0.5, 0.999])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [0.0, 2.0, 8.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn poisson_quantile(self, rate: impl Into<Value<'g>>) -> Var<'g> {
        self.counting(Counting::PoissonQuantile, &[rate.into().on(self.graph()), self])
    }

    /// The smallest integer `k` with `P(K ≤ k) ≥ u` for a probability `u = self` and the number `K` of successes among `total_count` trials that
    /// succeed with log-odds `logits`.
    ///
    /// Exact up to the rounding of the distribution function, in both tails; derivative 0. The log-odds may be infinite.
    #[must_use]
    #[track_caller]
    pub fn binomial_quantile(
        self,
        total_count: impl Into<Value<'g>>,
        logits: impl Into<Value<'g>>,
    ) -> Var<'g> {
        let graph = self.graph();
        self.counting(
            Counting::BinomialQuantile,
            &[total_count.into().on(graph), logits.into().on(graph), self],
        )
    }

    /// The smallest integer `k` with `P(K ≤ k) ≥ u` for a probability `u = self` and the number `K` of successes with log-odds `logits` before failure
    /// number `total_count`, which is positive and need not be an integer.
    ///
    /// Exact up to the rounding of the distribution function, in both tails; derivative 0. A count that the number type cannot hold is the largest that
    /// it can.
    #[must_use]
    #[track_caller]
    pub fn negative_binomial_quantile(
        self,
        total_count: impl Into<Value<'g>>,
        logits: impl Into<Value<'g>>,
    ) -> Var<'g> {
        let graph = self.graph();
        let args = [total_count.into().on(graph), logits.into().on(graph), self];
        self.counting(Counting::NegativeBinomialQuantile, &args)
    }

    /// `P(K ≤ k)` for `k = self` and a Poisson variable `K` of this rate: `Q(k + 1, rate)` (NIST DLMF 8.4.10). Its derivative is that with respect to the
    /// rate.
    #[must_use]
    #[track_caller]
    pub fn poisson_cdf(self, rate: impl Into<Value<'g>>) -> Var<'g> {
        self.counting(Counting::PoissonCdf, &[self, rate.into().on(self.graph())])
    }

    /// `P(K ≤ k)` for `k = self` and the number `K` of successes among `total_count` trials with log-odds `logits`: `I(1 − p; n − k, k + 1)` (NIST DLMF
    /// 8.17.5), with all digits of both `p` and `1 − p`. Its derivative is that with respect to the log-odds; others are 0.
    #[must_use]
    #[track_caller]
    pub fn binomial_cdf(self, total_count: impl Into<Value<'g>>, logits: impl Into<Value<'g>>) -> Var<'g> {
        let graph = self.graph();
        self.counting(Counting::BinomialCdf, &[self, total_count.into().on(graph), logits.into().on(graph)])
    }

    /// `P(K ≤ k)` for `k = self` and the number `K` of successes with log-odds `logits` before failure number `total_count`:
    /// `I(1 − p; r, k + 1)` (NIST DLMF 8.17.24). It has derivatives with
    /// respect to both, but no second one with respect to `total_count` (NaN).
    #[must_use]
    #[track_caller]
    pub fn negative_binomial_cdf(
        self,
        total_count: impl Into<Value<'g>>,
        logits: impl Into<Value<'g>>,
    ) -> Var<'g> {
        let graph = self.graph();
        let args = [self, total_count.into().on(graph), logits.into().on(graph)];
        self.counting(Counting::NegativeBinomialCdf, &args)
    }
}
