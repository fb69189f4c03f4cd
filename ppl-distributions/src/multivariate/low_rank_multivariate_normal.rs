//! The multivariate normal distribution whose covariance is a diagonal plus a matrix of low rank.

use crate::shared::arrays::{
    LOG_2PI, column, identity, last, leading, solve_vectors, sum_last, together, transposed, vectors_times,
    whole_shape,
};
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source, Value, Var,
};

/// The normal distribution of vectors with mean `loc` and covariance `W Wᵀ + diag(D)`.
///
/// ```text
/// ln p(x) = −½ (‖D^(−½)(e − W z)‖² + ‖z‖²) − ½ Σ_i ln D_i − Σ_j ln C_jj − ½ d ln 2π
///     e = x − loc,   C Cᵀ = I + Wᵀ D⁻¹ W,   z = (C Cᵀ)⁻¹ Wᵀ D⁻¹ e        x, loc, D: [d],   W: [d, r]
/// ```
///
/// It costs `O(d r²)` once and `O(d r)` for each vector, instead of `O(d³)` and `O(d²)`. The quadratic form
/// is that of Woodbury's identity, written as a sum of squares (`z` is the mean of the factors given `x`):
/// the usual `eᵀD⁻¹e − ‖C⁻¹WᵀD⁻¹e‖²` loses all digits where `D` is small. A draw is `loc + W z₁ + √D z₂` with
/// standard normal `z₁`, `z₂`.
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{LowRankMultivariateNormal, MultivariateNormal};
/// let graph = Graph::new();
/// let factor = graph.array(&array![[1.0], [2.0]].into_dyn());
/// let diagonal = graph.array(&array![1.0, 0.5].into_dyn());
/// let covariance = graph.array(&array![[2.0, 2.0], [2.0, 4.5]].into_dyn());
/// let x = graph.input("x", 2)?;
/// let outputs = [
///     LowRankMultivariateNormal::new(0.0, factor, diagonal).log_prob(x),
///     MultivariateNormal::from_covariance(0.0, covariance).log_prob(x),
/// ];
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs)?);
/// plan.set("x", &[0.3, -1.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] - plan.output(1)[0]).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LowRankMultivariateNormal<'g> {
    loc: Value<'g>,
    factor: Value<'g>,
    diagonal: Value<'g>,
}

impl<'g> LowRankMultivariateNormal<'g> {
    /// Mean, `[…, d]`; factor `W`, `[…, d, r]`; diagonal `D`, `[…, d]`, positive. Mean and diagonal may be
    /// one number for all elements.
    pub fn new(
        loc: impl Into<Value<'g>>,
        covariance_factor: impl Into<Value<'g>>,
        covariance_diagonal: impl Into<Value<'g>>,
    ) -> Self {
        Self { loc: loc.into(), factor: covariance_factor.into(), diagonal: covariance_diagonal.into() }
    }

    fn dimension(&self) -> usize {
        self.event_shape().elements()
    }

    /// The diagonal, `[…, d]`.
    #[track_caller]
    fn diagonal(&self, graph: &'g Graph) -> Var<'g> {
        let shape = self.diagonal.shape().broadcast(&self.event_shape()).unwrap_or_default();
        self.diagonal.on(graph).broadcast_to(shape)
    }

    /// `(W, D⁻¹ W, C)` with the leading axes of factor and diagonal together.
    #[track_caller]
    fn capacitance(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>, Var<'g>) {
        let diagonal = self.diagonal(graph);
        let batch =
            leading(&self.factor.shape(), 2).broadcast(&leading(&diagonal.shape(), 1)).unwrap_or_default();
        let factor = self.factor.on(graph).broadcast_to(batch.concat(&last(&self.factor.shape(), 2)));
        let weighted = factor / diagonal.reshape(diagonal.shape().concat(&Shape::from(1)));
        let rank = factor.shape().dims().last().copied().unwrap_or(0);
        let capacitance = transposed(factor).matmul(weighted) + identity(graph, rank);
        (factor, weighted, capacitance.cholesky())
    }

    #[track_caller]
    fn half_log_determinant(&self, graph: &'g Graph) -> Var<'g> {
        if let Some(Orthogonal { half_log_determinant, .. }) = self.orthogonal(graph) {
            return half_log_determinant;
        }
        let (_, _, capacitance) = self.capacitance(graph);
        sum_last(capacitance.diagonal().log(), 1) + 0.5 * sum_last(self.diagonal(graph).log(), 1)
    }

    /// The covariance matrix `W Wᵀ + diag(D)`, `[…, d, d]`.
    #[must_use]
    #[track_caller]
    pub fn covariance(&self, graph: &'g Graph) -> Var<'g> {
        let factor = self.factor.on(graph);
        factor.matmul(transposed(factor)) + self.diagonal(graph).diagonal_matrix()
    }
}

/// Largest rank of a factor whose columns are made orthogonal one by one.
const MOST_COLUMNS: usize = 16;

/// A column of `√D⁻¹W` above one of the identity, or a value above zeros.
#[derive(Clone, Copy)]
struct Stacked<'g> {
    top: Var<'g>,
    bottom: Var<'g>,
}

impl<'g> Stacked<'g> {
    #[track_caller]
    fn inner(&self, other: &Self) -> Var<'g> {
        let bottom = self.bottom * other.bottom;
        let rest = if bottom.shape().is_scalar() { bottom } else { sum_last(bottom, 1) };
        sum_last(self.top * other.top, 1) + rest
    }

    #[track_caller]
    fn square(&self) -> Var<'g> {
        self.inner(self)
    }

    /// Less its projection on a vector of length 1.
    #[track_caller]
    fn without(&self, unit: &Self) -> Self {
        let along = column(self.inner(unit));
        Self { top: self.top - along * unit.top, bottom: self.bottom - along * unit.bottom }
    }
}

/// The columns of `√D⁻¹W` above the identity, made orthogonal, and half the logarithm of the covariance's
/// determinant.
struct Orthogonal<'g> {
    columns: Vec<Stacked<'g>>,
    half_log_determinant: Var<'g>,
}

impl<'g> LowRankMultivariateNormal<'g> {
    /// The method of Gram and Schmidt in its modified form, which is as stable as a QR decomposition where the
    /// result is only used through its triangle and residuals (Björck 1967): the identity is not lost beside
    /// `WᵀD⁻¹W`, as in that sum, however large the factor is. Nothing for a factor of high rank.
    #[track_caller]
    fn orthogonal(&self, graph: &'g Graph) -> Option<Orthogonal<'g>> {
        let factor = self.factor.on(graph);
        let axis = factor.shape().rank().checked_sub(1)?;
        let rank = factor.shape().dims()[axis];
        if rank == 0 || rank > MOST_COLUMNS {
            return None;
        }
        let root = self.diagonal(graph).sqrt();
        let unit = |k: usize| {
            let numbers: ndarray::Array1<f64> = (0..rank).map(|j| f64::from(j == k)).collect();
            graph.array(&numbers.into_dyn())
        };
        let mut left: Vec<Stacked<'g>> =
            (0..rank).map(|k| Stacked { top: factor.element(axis, k) / root, bottom: unit(k) }).collect();
        let mut columns = Vec::with_capacity(rank);
        let mut half_log_determinant = 0.5 * sum_last(self.diagonal(graph).log(), 1);
        while !left.is_empty() {
            let first = left.remove(0);
            let square = first.square();
            half_log_determinant = half_log_determinant + 0.5 * square.log();
            let length = column(square.sqrt());
            let first = Stacked { top: first.top / length, bottom: first.bottom / length };
            left.iter_mut().for_each(|other| *other = other.without(&first));
            columns.push(first);
        }
        Some(Orthogonal { columns, half_log_determinant })
    }
}

impl<'g> Distribution<'g> for LowRankMultivariateNormal<'g> {
    fn name(&self) -> &'static str {
        "LowRankMultivariateNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "covariance_factor", value: self.factor, domain: Constraint::Real },
            Parameter { name: "covariance_diagonal", value: self.diagonal, domain: Constraint::Positive },
        ]
    }

    fn event_shape(&self) -> Shape {
        leading(&last(&self.factor.shape(), 2), 1)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let shape = self.factor.shape();
        let [leading_axes @ .., d, _] = shape.dims() else {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "a factor of shape [d, r], or several along leading axes".to_owned(),
                got: shape,
                source_line: Source::caller(),
            });
        };
        let event = Shape::from(*d);
        let mut batch = Shape::from(leading_axes);
        for vector in [self.loc.shape(), self.diagonal.shape()] {
            let whole = together(self.name(), &vector, &event)?;
            if last(&whole, 1) != event {
                return Err(Error::ShapeMismatch {
                    operation: self.name(),
                    left: vector,
                    right: shape,
                    source_line: Source::caller(),
                });
            }
            batch = together(self.name(), &batch, &leading(&whole, 1))?;
        }
        Ok(batch)
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let difference = value - self.loc.on(graph);
        let constant = 0.5 * self.dimension() as f64 * LOG_2PI;
        if let Some(Orthogonal { columns, half_log_determinant }) = self.orthogonal(graph) {
            // The least squares of √D⁻¹(x − μ) by the columns: what no column explains.
            let mut rest =
                Stacked { top: difference / self.diagonal(graph).sqrt(), bottom: graph.constant(0.0) };
            for column in &columns {
                rest = rest.without(column);
            }
            return -0.5 * rest.square() - (half_log_determinant + constant);
        }
        let (factor, weighted, capacitance) = self.capacitance(graph);
        let projected = vectors_times(difference, weighted);
        let z = solve_vectors(capacitance, projected, |capacitance, x| capacitance.cholesky_solve(x));
        let rest = difference - vectors_times(z, transposed(factor));
        let squares = sum_last(rest.square() / self.diagonal(graph), 1) + sum_last(z.square(), 1);
        -0.5 * squares - (self.half_log_determinant(graph) + constant)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = prefix.concat(&self.batch_shape()?);
        let factors = noise.draw(NoiseKind::StandardNormal, batch.concat(&last(&self.factor.shape(), 1)))?;
        let own = noise.draw(NoiseKind::StandardNormal, batch.concat(&self.event_shape()))?;
        let graph = noise.graph();
        let common = vectors_times(factors, transposed(self.factor.on(graph)));
        Ok(self.loc.on(graph) + common + self.diagonal(graph).sqrt() * own)
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.loc.on(graph).broadcast_to(whole_shape(self)))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.mean(graph)
    }

    /// The diagonal of the covariance matrix.
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(
            (sum_last(self.factor.on(graph).square(), 1) + self.diagonal(graph))
                .broadcast_to(whole_shape(self)),
        )
    }

    /// `½ d (1 + ln 2π) + ½ Σ_i ln D_i + Σ_j ln C_jj`
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let entropy = self.half_log_determinant(graph) + 0.5 * self.dimension() as f64 * (1.0 + LOG_2PI);
        Some(entropy.broadcast_to(self.batch_shape().ok()?))
    }
}
