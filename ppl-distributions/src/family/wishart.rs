//! The Wishart family: precision matrices of normals.

use ppl_core::model::{ExponentialFamily, Statistic};
use ppl_core::{Graph, Shape, Value, Var};
use std::f64::consts::PI;

/// The Wishart family of positive definite `p × p` matrices, with `n` degrees of freedom and scale `V`, of mean
/// `nV`: conjugate to the precision matrix of a normal.
///
/// ```text
/// ln p(Λ) = (n − p − 1)/2 · ln |Λ| − ½ tr(V⁻¹Λ) − A
/// A(η) = −a ln |−η₂| + ln Γ_p(a),   a = η₁ + (p + 1)/2 = n/2
/// ```
///
/// ```
/// use ppl_core::model::{ExponentialFamily, Statistic};
/// use ppl_core::Graph;
/// use ppl_distributions::WishartFamily;
/// let graph = Graph::new();
/// let scale = graph.array(&ndarray::arr2(&[[1.0, 0.0], [0.0, 2.0]]).into_dyn());
/// let family = WishartFamily::new(4.0, scale);
/// assert_eq!(family.statistics(), [Statistic::LogDeterminant, Statistic::Value]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WishartFamily<'g> {
    degrees: Value<'g>,
    scale: Value<'g>,
}

impl<'g> WishartFamily<'g> {
    /// `n` degrees of freedom, more than `p − 1`, and a scale matrix `V`, symmetric and positive definite.
    pub fn new(degrees: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { degrees: degrees.into(), scale: scale.into() }
    }

    fn rows(&self) -> usize {
        self.scale.shape().dims().last().copied().unwrap_or(1)
    }
}

/// `ln Γ_p(a)`
fn log_multivariate_gamma(a: Var<'_>, p: usize) -> Var<'_> {
    let constant = 0.25 * (p * (p - 1)) as f64 * PI.ln();
    (0..p)
        .map(|i| (a - 0.5 * i as f64).lgamma())
        .reduce(|sum, next| sum + next)
        .map_or(a, |sum| sum + constant)
}

impl<'g> ExponentialFamily<'g> for WishartFamily<'g> {
    fn name(&self) -> &'static str {
        "Wishart"
    }

    fn outcome(&self) -> Shape {
        Shape::from([self.rows(), self.rows()])
    }

    fn statistics(&self) -> Vec<Statistic> {
        vec![Statistic::LogDeterminant, Statistic::Value]
    }

    fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
        let p = self.rows() as f64;
        vec![0.5 * (self.degrees.on(graph) - (p + 1.0)), -0.5 * self.scale.on(graph).inverse()]
    }

    fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        let p = natural[1].shape().dims().last().copied().unwrap_or(1);
        let batch = Statistic::LogDeterminant.shape(&natural[1].shape());
        let a = natural[0].broadcast_to(batch) + 0.5 * (p as f64 + 1.0);
        (log_multivariate_gamma(a, p) - a * (-natural[1]).log_determinant()).sum()
    }

    fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> {
        let (a, p) = (0.5 * self.degrees.on(graph), self.rows());
        let log_determinant = self.scale.on(graph).log_determinant() + p as f64 * 2.0_f64.ln();
        log_multivariate_gamma(a, p) + a * log_determinant
    }

    fn log_base(&self, outcome: Var<'g>) -> Var<'g> {
        let shape: Shape = outcome.shape();
        debug_assert!(shape.rank() >= 2);
        outcome.constant(0.0)
    }
}
