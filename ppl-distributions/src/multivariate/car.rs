//! The conditional autoregressive distribution of values on a graph.

use crate::MultivariateNormal;
use crate::shared::arrays::{batch_of, column, sum_last, together};
use ppl_core::{Constraint, Distribution, Error, Graph, Noise, Parameter, Result, Shape, Source, Value, Var};

/// Values at the places of a map, each normal around what its neighbours suggest (conditional autoregressive).
///
/// ```text
/// x ~ N(loc, Q⁻¹),   Q = precision · (D − correlation · W)
/// ```
///
/// with the symmetric matrix `W` of weights of neighbours (0 and 1, say) and `D` the diagonal matrix of its rows'
/// sums. Given the others, `x_i` has the mean `loc_i + correlation · Σ_j W_ij (x_j − loc_j)/D_ii` and the variance
/// `1/(precision · D_ii)`. Every place needs a neighbour, and `−1 < correlation < 1`.
///
/// The determinant is that of a Cholesky factor: for some thousand places, not for millions.
///
/// ```
/// use ppl_core::{Distribution, Graph};
/// use ppl_distributions::Car;
/// let graph = Graph::new();
/// let neighbours = graph.array(&ndarray::arr2(&[[0.0, 1.0], [1.0, 0.0]]).into_dyn());
/// let law = Car::new(0.0, 0.5, 2.0, neighbours);
/// let variance = law.variance(&graph).unwrap();
/// let mut plan = ppl_core::ExecutionPlan::<f64>::new(&ppl_core::Program::new(&graph, &[variance])?);
/// plan.run();
/// assert!((plan.output(0)[0] - 1.0 / 1.5).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// J. Besag, "Spatial interaction and the statistical analysis of lattice systems" (1974).
#[derive(Clone, Copy, Debug)]
pub struct Car<'g> {
    loc: Value<'g>,
    correlation: Value<'g>,
    precision: Value<'g>,
    neighbours: Value<'g>,
}

impl<'g> Car<'g> {
    /// Mean, `[n]` or one number; correlation with the neighbours, between −1 and 1, and conditional precision,
    /// numbers or arrays; weights of neighbours, `[n, n]`, symmetric and not negative.
    pub fn new(
        loc: impl Into<Value<'g>>,
        correlation: impl Into<Value<'g>>,
        conditional_precision: impl Into<Value<'g>>,
        neighbours: impl Into<Value<'g>>,
    ) -> Self {
        Self {
            loc: loc.into(),
            correlation: correlation.into(),
            precision: conditional_precision.into(),
            neighbours: neighbours.into(),
        }
    }

    /// The same distribution by its precision matrix.
    #[track_caller]
    fn normal(&self, graph: &'g Graph) -> MultivariateNormal<'g> {
        let [correlation, precision] =
            [self.correlation, self.precision].map(|value| column(column(value.on(graph))));
        let neighbours = self.neighbours.on(graph);
        let diagonal = sum_last(neighbours, 1).diagonal_matrix();
        MultivariateNormal::from_precision(self.loc, precision * (diagonal - correlation * neighbours))
    }
}

impl<'g> Distribution<'g> for Car<'g> {
    fn name(&self) -> &'static str {
        "Car"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "correlation", value: self.correlation, domain: Constraint::GreaterThan(-1.0) },
            Parameter { name: "correlation", value: self.correlation, domain: Constraint::LessThan(1.0) },
            Parameter { name: "conditional_precision", value: self.precision, domain: Constraint::Positive },
            Parameter { name: "neighbours", value: self.neighbours, domain: Constraint::NonNegative },
        ]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.neighbours.shape().dims().last().copied().unwrap_or(0))
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let shape = self.neighbours.shape();
        match shape.dims() {
            [n, m] if n == m && *n > 0 => {}
            _ => {
                return Err(Error::UnexpectedShape {
                    operation: self.name(),
                    expected: "a square matrix of neighbours of at least one row".to_owned(),
                    got: shape,
                    source_line: Source::caller(),
                });
            }
        }
        let numbers = together(self.name(), &self.correlation.shape(), &self.precision.shape())?;
        batch_of(self.name(), &self.loc.shape(), &numbers.concat(&shape))
    }

    fn support(&self) -> Constraint {
        Constraint::Real
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        self.normal(value.graph()).log_prob(value)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.batch_shape()?;
        self.normal(noise.graph()).draw(prefix, noise)
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.normal(graph).mean(graph)
    }

    #[track_caller]
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.mean(graph)
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.normal(graph).variance(graph)
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.normal(graph).entropy(graph)
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        for parameter in self.parameters() {
            parameter.check(self.name())?;
        }
        self.batch_shape()?;
        let wrong = |requirement: &str, value: f64| Error::Parameter {
            distribution: self.name(),
            parameter: "neighbours",
            requirement: requirement.to_owned(),
            value,
            source_line: Source::caller(),
        };
        let (Some(weights), n) = (self.neighbours.known_elements(), self.event_shape().elements()) else {
            return Ok(());
        };
        let reversed = |place: usize| weights[place % n * n + place / n];
        if let Some(place) = (0..weights.len()).find(|&place| weights[place] != reversed(place)) {
            return Err(wrong(
                &format!("symmetric (the weight beside it is {})", reversed(place)),
                weights[place],
            ));
        }
        match weights.chunks_exact(n).map(|row| row.iter().sum::<f64>()).find(|&sum| sum <= 0.0) {
            Some(sum) => Err(wrong("of positive weight for one place at least in each row", sum)),
            None => Ok(()),
        }
    }
}
