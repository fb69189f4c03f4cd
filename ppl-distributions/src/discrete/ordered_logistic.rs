//! The ordered logistic distribution.

use crate::shared::batches::batch_of_vectors;
use crate::shared::support::within;
use ndarray::ArrayD;
use ppl_core::{Constraint, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};

/// An ordered category: where a logistic variable with centre `predictor` falls between cutpoints.
///
/// ```text
/// P(Y ≤ k) = 1/(1 + e^−(c_k − η))        k ∈ {0, …, K − 1},   η = predictor,   c_0 < c_1 < … < c_{K−2} the cutpoints
/// ln p(k)  = −ln(1 + e^a) − ln(1 + e^−b) + ln(1 − e^−(b − a))        a = c_{k−1} − η,   b = c_k − η
/// ```
///
/// with the terms of `a` and `b` missing in the first and the last category. This form loses no digits in
/// either tail, nor where cutpoints are close together. Moments, entropy and quantiles are sums over the
/// categories. A draw counts the cutpoints that uniform noise exceeds: exact, with derivative 0.
///
/// Cutpoints are a vector along the last axis; the axes before it are independent distributions, together
/// with those of the predictor.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::OrderedLogistic;
/// let graph = Graph::new();
/// let cutpoints = graph.array(&ndarray::array![-1.0, 1.0].into_dyn());
/// let k = graph.input("k", 3)?;
/// let program = Program::new(&graph, &[OrderedLogistic::new(0.0, cutpoints).log_prob(k)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("k", &[0.0, 1.0, 2.0])?;
/// plan.run();
/// let total: f64 = plan.output(0).iter().map(|x| x.exp()).sum();
/// assert!((total - 1.0).abs() < 1e-15);
/// assert_eq!(plan.output(0)[0], plan.output(0)[2]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OrderedLogistic<'g> {
    predictor: Value<'g>,
    cutpoints: Var<'g>,
}

impl<'g> OrderedLogistic<'g> {
    /// Centre of the logistic variable, a number or an array; and the cutpoints, increasing along the last
    /// axis.
    pub fn new(predictor: impl Into<Value<'g>>, cutpoints: Var<'g>) -> Self {
        Self { predictor: predictor.into(), cutpoints }
    }

    /// Number of cutpoints.
    fn cuts(&self) -> usize {
        self.cutpoints.shape().dims().last().copied().unwrap_or(0)
    }

    /// A value with a new last axis of length 1, for what has one element for each cutpoint.
    #[track_caller]
    fn beside_cutpoints(value: Var<'g>) -> Var<'g> {
        value.reshape(value.shape().concat(&Shape::from(1)))
    }

    /// `c_k − η` with the cutpoints along the last axis.
    #[track_caller]
    fn distances(&self) -> Var<'g> {
        self.cutpoints - Self::beside_cutpoints(self.predictor.on(self.cutpoints.graph()))
    }

    /// Probabilities of all categories along the last axis, and their logarithms.
    #[track_caller]
    fn categories(&self) -> (Var<'g>, Var<'g>) {
        let graph = self.cutpoints.graph();
        let count = self.cuts() + 1;
        let outcomes = graph.array(&ArrayD::from_shape_fn(vec![count], |index| index[0] as f64));
        let batch = self.batch_shape().unwrap_or_default();
        let each = Self {
            predictor: Self::beside_cutpoints(self.predictor.on(graph)).into(),
            cutpoints: {
                let mut dims = self.cutpoints.shape().dims().to_vec();
                dims.insert(dims.len().saturating_sub(1), 1);
                self.cutpoints.reshape(dims)
            },
        };
        let log_probs = each.log_prob(outcomes).broadcast_to(batch.concat(&Shape::from(count)));
        (log_probs.exp(), log_probs)
    }

    /// The numbers 0, 1, … along the last axis, less a number.
    #[track_caller]
    fn counted(&self, length: usize) -> Var<'g> {
        self.cutpoints.graph().array(&ArrayD::from_shape_fn(vec![length], |index| index[0] as f64))
    }

    /// How many cutpoints have a distribution function below a probability.
    #[track_caller]
    fn exceeded(&self, probability: Var<'g>) -> Var<'g> {
        let below = self.distances().sigmoid().less(Self::beside_cutpoints(probability));
        below.sum_axis(below.shape().rank() - 1)
    }
}

impl<'g> Distribution<'g> for OrderedLogistic<'g> {
    fn name(&self) -> &'static str {
        "OrderedLogistic"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "predictor", value: self.predictor, domain: Constraint::Real },
            Parameter { name: "cutpoints", value: self.cutpoints.into(), domain: Constraint::Ordered },
        ]
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        batch_of_vectors(self.name(), self.predictor, self.cutpoints, 1)
    }

    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, self.cuts() as f64)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        within(Distribution::support(self), value, 0.0, |value| {
            let last = self.cuts();
            let category = Self::beside_cutpoints(value);
            // The cutpoint above the category and that below it, or 0 where there is none.
            let place = self.counted(last);
            let axis = |chosen: Var<'g>| chosen.sum_axis(chosen.shape().rank() - 1);
            let above = axis(place.equal(category).select(self.cutpoints, 0.0));
            let below = axis((place + 1.0).equal(category).select(self.cutpoints, 0.0));
            let predictor = self.predictor.on(value.graph());
            let (is_first, is_last) = (value.less(1.0), value.greater_equal(last as f64));
            let lower = is_first.select(0.0, (below - predictor).softplus());
            let upper = is_last.select(0.0, (predictor - above).softplus());
            // ln(1 − e^−d) in the form that is accurate for the distance d at hand; far apart where there is an
            // end only.
            let inner = 1.0 - (is_first + is_last).min(1.0);
            let distance = inner.select(above - below, 1.0);
            let close = distance.less(std::f64::consts::LN_2);
            let between = close.select(
                (-(-close.select(distance, 0.5)).expm1()).log(),
                (-(-close.select(1.0, distance)).exp()).log1p(),
            );
            inner.select(between, 0.0) - lower - upper
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
        Ok(self.exceeded(uniform))
    }

    fn mean(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        // Σ_k P(Y > k)
        let above = (-self.distances()).sigmoid();
        Some(above.sum_axis(above.shape().rank() - 1))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (probs, _) = self.categories();
        let distance = self.counted(self.cuts() + 1) - Self::beside_cutpoints(self.mean(graph)?);
        let weighed = probs * distance.square();
        Some(weighed.sum_axis(weighed.shape().rank() - 1))
    }

    fn entropy(&self, _graph: &'g Graph) -> Option<Var<'g>> {
        let (probs, log_probs) = self.categories();
        // A category of probability 0 adds nothing.
        let terms = probs * log_probs.max(-1e30);
        Some(-terms.sum_axis(terms.shape().rank() - 1))
    }

    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let last = self.cuts();
        let category = value.floor().max(-1.0).min(last as f64);
        let chosen = self.counted(last).equal(Self::beside_cutpoints(category)) * self.distances().sigmoid();
        let inside = chosen.sum_axis(chosen.shape().rank() - 1);
        Some(inside + category.equal(last as f64))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        Some(self.exceeded(probability))
    }
}
