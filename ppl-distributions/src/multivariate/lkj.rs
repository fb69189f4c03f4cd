//! The LKJ distribution of correlation matrices.

use crate::multivariate::lkj_cholesky::LKJCholesky;
use crate::shared::arrays::{column, identity, sum_last, transposed};
use crate::shared::support::unless_event;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// A random `D × D` correlation matrix `R` whose density is proportional to a power of its determinant.
///
/// ```text
/// ln p(R) = (η − 1) ln det R − Σ_i [½ i ln π + ln Γ(b_i) − ln Γ(b_i + ½ i)]        b_i = η + ½ (D − 1 − i),   i = 1 … D − 1
/// ```
///
/// It is a density of the elements below the diagonal. With `η = concentration = 1` all correlation matrices are
/// equally likely. Draws are pulled towards the identity by `8 D` units of the last place, so that one whose least
/// eigenvalue is lost in rounding still has a factor. Each correlation has mean 0 and variance `1/(2η + D − 1)`. A
/// model that needs the matrix only to make correlated variables takes [`LKJCholesky`], the law of its factor: that
/// keeps digits where the matrix is nearly singular and spares a factorisation.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::LKJ;
/// let graph = Graph::new();
/// let matrix = graph.input("matrix", [2, 2])?;
/// let program = Program::new(&graph, &[LKJ::new(2, 2.0).log_prob(matrix)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("matrix", &[1.0, 0.5, 0.5, 1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0].exp() - 0.75 * 0.75).abs() < 1e-14); // ¾ (1 − r²)
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// D. Lewandowski, D. Kurowicka, H. Joe, "Generating random correlation matrices based on vines and extended onion
/// method" (2009).
#[derive(Clone, Copy, Debug)]
pub struct LKJ<'g> {
    factor: LKJCholesky<'g>,
}

impl<'g> LKJ<'g> {
    /// Number of rows `D` of the matrices, at least 1; concentration `η`, a positive number or an array of
    /// them.
    pub fn new(dimension: usize, concentration: impl Into<Value<'g>>) -> Self {
        Self { factor: LKJCholesky::new(dimension, concentration) }
    }
}

impl<'g> Distribution<'g> for LKJ<'g> {
    fn name(&self) -> &'static str {
        "LKJ"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.factor.parameters()
    }

    fn event_shape(&self) -> Shape {
        self.factor.event_shape()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.factor.batch_shape()
    }

    fn support(&self) -> Constraint {
        Constraint::Correlation
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        // The identity in the place of a matrix that is none: of ones alone a factor would be NaN.
        let harmless = identity(graph, self.factor.dimension());
        unless_event(Constraint::Correlation.outside(value), value, 2, harmless, |value| {
            let diagonal = value.cholesky().diagonal();
            let half_log_determinant = sum_last(diagonal.log(), 1);
            let power = 2.0 * (self.factor.concentration(graph) - 1.0);
            power * half_log_determinant - self.factor.log_normaliser(graph)
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let factor = self.factor.draw(prefix, noise)?;
        let (graph, d) = (factor.graph(), self.factor.dimension());
        let product = factor.matmul(transposed(factor));
        // A row of the factor is off in length by what its logarithm was rounded by, which is divided out.
        let lengths = product.diagonal().sqrt();
        let correlations = product / (column(lengths) * transposed(column(lengths)));
        // Rounding takes the least eigenvalue of a nearly singular matrix below 0: errors of `d²` elements that are
        // random in sign have a spectral norm of about `d` units of the last place, here and in a factorisation.
        // The least eigenvalue of what is pulled towards the identity is at least four times both together.
        // (What lies above 1 is clamped to one unit below it in the type that the program runs in.)
        let unit = 1.0 - column((1.0 + lengths).clamp_unit());
        let diagonal = identity(graph, d);
        Ok((1.0 - 8.0 * d as f64 * unit) * correlations * (1.0 - diagonal) + diagonal)
    }

    /// The identity.
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shape = self.batch_shape().ok()?.concat(&self.event_shape());
        Some(identity(graph, self.factor.dimension()).broadcast_to(shape))
    }

    /// The identity for `η ≥ 1`; NaN below, where singular matrices are the most probable.
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let peaked = column(column(self.factor.concentration(graph).greater_equal(1.0)));
        let mean = self.mean(graph)?;
        Some(peaked.broadcast_to(mean.shape()).select(mean, f64::NAN))
    }

    /// `1/(2η + D − 1)` beside the diagonal, 0 on it.
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let d = self.factor.dimension();
        let correlation = 1.0 / (2.0 * self.factor.concentration(graph) + (d as f64 - 1.0));
        Some(column(column(correlation)) * (1.0 - identity(graph, d)))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let digammas = sum_last(self.factor.digamma_differences(graph), 1);
        Some(self.factor.log_normaliser(graph) + (self.factor.concentration(graph) - 1.0) * digammas)
    }
}
