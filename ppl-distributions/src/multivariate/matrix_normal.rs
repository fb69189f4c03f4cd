//! The matrix normal distribution.

use crate::shared::arrays::{
    LOG_2PI, batch_of, column, last, leading, sum_last, together, transposed, whole_shape,
};
use ppl_core::{
    Constraint, Distribution, Error, Graph, Noise, NoiseKind, Parameter, Result, Shape, Source, Value, Var,
};

/// A matrix whose rows have one covariance and whose columns another: `X = M + A Z Bᵀ` with `Z` of independent
/// standard normal numbers.
///
/// ```text
/// ln p(X) = −½ ‖A⁻¹ (X − M) B⁻ᵀ‖² − m Σ_i ln A_ii − n Σ_j ln B_jj − ½ n m ln 2π        X real, n × m
/// ```
///
/// `A Aᵀ` is the covariance within a column (of rows), `B Bᵀ` that within a row.
///
/// ```
/// use ppl_core::{Distribution, Graph, Shape};
/// use ppl_distributions::MatrixNormal;
/// let graph = Graph::new();
/// let eye = |n: usize| graph.array(&ndarray::Array2::eye(n).into_dyn());
/// let law = MatrixNormal::new(0.0, eye(3), eye(2));
/// assert_eq!(law.event_shape(), Shape::from([3, 2]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MatrixNormal<'g> {
    loc: Value<'g>,
    rows: Value<'g>,
    columns: Value<'g>,
}

impl<'g> MatrixNormal<'g> {
    /// Mean, `[…, n, m]` or one number for all elements, and the lower triangular factors of the covariances of
    /// rows, `[…, n, n]`, and of columns, `[…, m, m]`.
    pub fn new(
        loc: impl Into<Value<'g>>,
        scale_tril_row: impl Into<Value<'g>>,
        scale_tril_column: impl Into<Value<'g>>,
    ) -> Self {
        Self { loc: loc.into(), rows: scale_tril_row.into(), columns: scale_tril_column.into() }
    }

    /// The factors, of rows and of columns.
    #[track_caller]
    fn factors(&self, graph: &'g Graph) -> [Var<'g>; 2] {
        [self.rows.on(graph), self.columns.on(graph)]
    }

    fn dimensions(&self) -> [usize; 2] {
        [self.rows, self.columns].map(|factor| factor.shape().dims().last().copied().unwrap_or(0))
    }
}

/// A matrix for each matrix of another array.
#[track_caller]
fn for_each<'g>(matrix: Var<'g>, like: Var<'g>) -> Var<'g> {
    let batch = leading(&like.shape(), 2);
    let both = batch.broadcast(&leading(&matrix.shape(), 2)).unwrap_or(batch);
    matrix.broadcast_to(both.concat(&last(&matrix.shape(), 2)))
}

impl<'g> Distribution<'g> for MatrixNormal<'g> {
    fn name(&self) -> &'static str {
        "MatrixNormal"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale_tril_row", value: self.rows, domain: Constraint::LowerCholesky },
            Parameter { name: "scale_tril_column", value: self.columns, domain: Constraint::LowerCholesky },
        ]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.dimensions())
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let (name, scalar) = (self.name(), Shape::scalar());
        let rows = batch_of(name, &scalar, &self.rows.shape())?;
        let columns = batch_of(name, &scalar, &self.columns.shape())?;
        let event = self.event_shape();
        let loc = self.loc.shape();
        if !loc.is_scalar() && last(&loc, 2).broadcast(&event) != Some(event.clone()) {
            return Err(Error::UnexpectedShape {
                operation: name,
                expected: format!("means of shape {event}, or one number"),
                got: loc,
                source_line: Source::caller(),
            });
        }
        together(name, &together(name, &rows, &columns)?, &leading(&loc, 2))
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let [n, m] = self.dimensions().map(|d| d as f64);
        let [rows, columns] = self.factors(value.graph());
        let distance = value - self.loc.on(value.graph());
        let by_rows = for_each(rows, distance).solve_lower(for_each(distance, rows));
        let turned = transposed(by_rows);
        let both = for_each(columns, turned).solve_lower(for_each(turned, columns));
        let logs = |factor: Var<'g>| sum_last(factor.diagonal().log(), 1);
        -0.5 * sum_last(both.square(), 2) - (m * logs(rows) + n * logs(columns) + 0.5 * n * m * LOG_2PI)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shape = prefix.concat(&self.batch_shape()?).concat(&self.event_shape());
        let z = noise.draw(NoiseKind::StandardNormal, shape)?;
        let [rows, columns] = self.factors(z.graph());
        let by_rows = for_each(rows, z).matmul(z);
        Ok(self.loc.on(z.graph()) + by_rows.matmul(for_each(transposed(columns), z)))
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.loc.on(graph).broadcast_to(whole_shape(self)))
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.mean(graph)
    }

    /// `(A Aᵀ)_ii (B Bᵀ)_jj`
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [rows, columns] = self.factors(graph).map(|factor| column(sum_last(factor.square(), 1)));
        Some((rows * transposed(columns)).broadcast_to(whole_shape(self)))
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let [n, m] = self.dimensions().map(|d| d as f64);
        let logs = |factor: Var<'g>| sum_last(factor.diagonal().log(), 1);
        let [rows, columns] = self.factors(graph);
        let entropy = m * logs(rows) + n * logs(columns) + 0.5 * n * m * (1.0 + LOG_2PI);
        Some(entropy.broadcast_to(self.batch_shape().ok()?))
    }
}
