//! Families of variational posteriors that are not the family of the prior: normal vectors with correlations.

use crate::op::Var;

/// `½ ηᵀP⁻¹η − ½ ln |P|` summed over rows, with `P = −2 η₂` made symmetric: the log-partition function of normal
/// vectors for the statistics `x` and `x xᵀ`.
///
/// `η₁` has the shape `[…rows, n]`; `η₂` is `[…rows, n, n]`, one matrix for each row, or `[n, n]`, one for all of
/// them, whose statistic is then `Σ_rows x xᵀ`.
///
/// ```
/// use ppl_core::{ExecutionPlan, Graph, Program, conjugate::normal_rows_log_partition, gradient};
/// let graph = Graph::new();
/// let (first, second) = (graph.input("first", [2])?, graph.input("second", [2, 2])?);
/// let means = gradient(normal_rows_log_partition(first, second), &[first, second])?;
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &means)?);
/// plan.set("first", &[2.0, 3.0])?;
/// plan.set("second", &[-0.5, 0.0, 0.0, -2.0])?; // precisions 1 and 4
/// plan.run();
/// assert_eq!(plan.output(0), [2.0, 0.75]);
/// assert_eq!(plan.output(1), [5.0, 1.5, 1.5, 0.8125]); // covariance and the product of means
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[must_use]
#[track_caller]
pub fn normal_rows_log_partition<'g>(first: Var<'g>, second: Var<'g>) -> Var<'g> {
    let (rows, n) = (first.shape(), first.shape().dims().last().copied().unwrap_or(1));
    let count = (rows.elements() / n.max(1)) as f64;
    // P = −(η₂ + η₂ᵀ), so that the derivative with respect to η₂ is symmetric.
    let precision = -(second + second.matrix_transposed());
    let factor = precision.cholesky();
    let log_determinants = 2.0 * factor.diagonal().log().sum();
    if second.shape().rank() == rows.rank() + 1 {
        let half = factor.solve_lower(first);
        return 0.5 * (half.square().sum() - log_determinants);
    }
    let columns = first.reshape([(count as usize), n]).transpose();
    let half = factor.solve_lower(columns);
    0.5 * (half.square().sum() - count * log_determinants)
}
