//! Cutpoints between ordered categories: what the laws of ordered outcomes share.

use crate::shared::arrays::{column, counting, sum_last};
use crate::shared::batches::batch_of_vectors;
use ppl_core::{Constraint, Graph, Parameter, Result, Shape, Value, Var};

/// Where a variable around a predictor is cut into ordered categories: increasing cutpoints along the last axis, one
/// fewer than there are categories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutpoints<'g> {
    pub(crate) predictor: Value<'g>,
    pub(crate) cutpoints: Value<'g>,
}

impl<'g> Cutpoints<'g> {
    pub(crate) fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "predictor", value: self.predictor, domain: Constraint::Real },
            Parameter { name: "cutpoints", value: self.cutpoints, domain: Constraint::Ordered },
        ]
    }

    #[track_caller]
    pub(crate) fn batch_shape(&self, law: &'static str) -> Result<Shape> {
        batch_of_vectors(law, self.predictor, self.cutpoints, 1)
    }

    pub(crate) fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, self.count() as f64)
    }

    /// Number of cutpoints.
    pub(crate) fn count(&self) -> usize {
        self.cutpoints.shape().dims().last().copied().unwrap_or(0)
    }

    /// `c_k − η` with the cutpoints along the last axis.
    #[track_caller]
    pub(crate) fn distances(&self, graph: &'g Graph) -> Var<'g> {
        self.cutpoints.on(graph) - column(self.predictor.on(graph))
    }

    /// The numbers 0, 1, … along a last axis.
    #[track_caller]
    pub(crate) fn numbers(&self, length: usize, graph: &'g Graph) -> Var<'g> {
        counting(graph, length)
    }

    /// The logarithms of the probabilities of all categories along the last axis, by those of any category.
    #[track_caller]
    pub(crate) fn log_probs(
        &self,
        graph: &'g Graph,
        law: &'static str,
        log_prob: impl FnOnce(Cutpoints<'g>, Var<'g>) -> Var<'g>,
    ) -> Var<'g> {
        let (cutpoints, count) = (self.cutpoints.on(graph), self.count() + 1);
        let mut dims = cutpoints.shape().dims().to_vec();
        dims.insert(dims.len().saturating_sub(1), 1);
        let predictor = column(self.predictor.on(graph)).into();
        let each = Cutpoints { predictor, cutpoints: cutpoints.reshape(dims).into() };
        let batch = self.batch_shape(law).unwrap_or_default();
        log_prob(each, self.numbers(count, graph)).broadcast_to(batch.concat(&Shape::from(count)))
    }

    /// The logarithm of the distribution function of the categories, by that of the continuous variable at a distance
    /// from its predictor: −∞ below the first category, and 0 from the last on.
    #[track_caller]
    pub(crate) fn log_cdf(&self, value: Var<'g>, tail: impl FnOnce(Var<'g>) -> Var<'g>) -> Var<'g> {
        let last = self.count() as f64;
        self.log_tail(value, tail, value.floor().greater_equal(last).select(0.0, f64::NEG_INFINITY))
    }

    /// The same of what lies above, where the continuous variable is symmetric.
    #[track_caller]
    pub(crate) fn log_sf(&self, value: Var<'g>, tail: impl FnOnce(Var<'g>) -> Var<'g>) -> Var<'g> {
        let end = value.floor().less(0.0).select(0.0, f64::NEG_INFINITY);
        self.log_tail(value, |distance| tail(-distance), end)
    }

    #[track_caller]
    fn log_tail(&self, value: Var<'g>, tail: impl FnOnce(Var<'g>) -> Var<'g>, end: Var<'g>) -> Var<'g> {
        let category = value.floor();
        let inside = category.greater_equal(0.0) * category.less(self.count() as f64);
        inside.select(tail(self.at(category, self.distances(value.graph()))), end)
    }

    /// Of numbers along the last axis, that of the cutpoint of this number, or 0 where there is none.
    #[track_caller]
    pub(crate) fn at(&self, number: Var<'g>, of: Var<'g>) -> Var<'g> {
        sum_last(self.numbers(self.count(), number.graph()).equal(column(number)).select(of, 0.0), 1)
    }
}

/// How many numbers along the last axis, distribution functions at cutpoints, lie below a probability.
#[track_caller]
pub(crate) fn exceeded<'g>(distribution_functions: Var<'g>, probability: Var<'g>) -> Var<'g> {
    sum_last(distribution_functions.less(column(probability)), 1)
}
