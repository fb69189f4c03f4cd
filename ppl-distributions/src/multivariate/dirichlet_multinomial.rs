//! The Dirichlet-multinomial distribution.

use crate::multivariate::multinomial::draw_counts;
use crate::shared::batches::batch_of_vectors;
use crate::shared::counts::{counts_support, if_total};
use crate::shared::gamma_noise::log_standard_gamma;
use crate::shared::polya::log_prob_of_categories;
use ppl_core::{Constraint, Distribution, Graph, Noise, Parameter, Result, Shape, Value, Var};

/// How often each category comes up in `total_count` trials with the same probabilities, drawn from a
/// Dirichlet distribution.
///
/// ```text
/// p(x) = n! Γ(A)/Γ(n + A) Π_i Γ(x_i + α_i)/(x_i! Γ(α_i))        x_i ∈ {0, 1, …},   Σ_i x_i = n = total_count
/// α = concentration, α_i > 0,   A = Σ_i α_i
/// ```
///
/// The concentration is a vector along the last axis; the axes before it are independent distributions,
/// together with those of the total. The log probability is written with deviances `D` ([`Var::deviance`]) of
/// the counts and of the concentrations from what both suggest together, `ρ_i = (x_i + α_i)/(n + A)`, and the
/// rests `R` of Stirling's formula ([`Var::log_factorial_remainder`]):
///
/// ```text
/// R(n) + R(A) − R(n + A) + ln((n + A)/A) + Σ_i R(x_i + α_i) − R(x_i) − R(α_i) − D(x_i, nρ_i) − D(α_i, Aρ_i) − ln((x_i + α_i)/α_i)
/// ```
///
/// in which nothing of the size of the counts or concentrations cancels. Where the total is a value of the
/// model, `log_prob` is −∞ for counts that do not sum to it. `mean` and `variance` are those of each count.
/// The entropy has no closed form.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::DirichletMultinomial;
/// let graph = Graph::new();
/// let concentration = graph.array(&ndarray::array![1.0, 1.0, 1.0].into_dyn());
/// let x = graph.input("x", 3)?;
/// let program = Program::new(&graph, &[DirichletMultinomial::new(concentration, 4.0).log_prob(x)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("x", &[1.0, 3.0, 0.0])?;
/// plan.run();
/// assert!((plan.output(0)[0] + 15.0_f64.ln()).abs() < 1e-14); // one of 6!/(4! 2!) ways, all equally likely
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DirichletMultinomial<'g> {
    concentration: Value<'g>,
    total_count: Value<'g>,
}

impl<'g> DirichletMultinomial<'g> {
    /// Concentrations of the categories along the last axis, and the number of trials.
    pub fn new(concentration: impl Into<Value<'g>>, total_count: impl Into<Value<'g>>) -> Self {
        Self { concentration: concentration.into(), total_count: total_count.into() }
    }

    /// The last axis of the concentrations.
    fn axis(&self) -> usize {
        self.concentration.shape().rank().saturating_sub(1)
    }

    /// A value with a last axis of length 1.
    #[track_caller]
    fn beside(value: Var<'g>) -> Var<'g> {
        value.reshape(value.shape().concat(&Shape::from(1)))
    }
}

impl<'g> Distribution<'g> for DirichletMultinomial<'g> {
    fn name(&self) -> &'static str {
        "DirichletMultinomial"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive },
            Parameter {
                name: "total_count",
                value: self.total_count,
                domain: Constraint::NonNegativeInteger,
            },
        ]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.concentration.shape().dims().last().copied().unwrap_or(0))
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        batch_of_vectors(self.name(), self.total_count, self.concentration, 1)
    }

    fn support(&self) -> Constraint {
        counts_support(self.total_count)
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let total = Self::beside(self.total_count.on(value.graph()));
        let concentration = self.concentration.on(value.graph());
        let sum = Self::beside(concentration.sum_axis(self.axis()));
        if_total(self.total_count, value, |value| {
            let log_prob = log_prob_of_categories(total, sum, |term| {
                let each = term(value, concentration);
                Self::beside(each.sum_axis(each.shape().rank() - 1))
            });
            log_prob.sum_axis(log_prob.shape().rank() - 1)
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let batch = prefix.concat(&self.batch_shape()?);
        let shape = batch.concat(&self.event_shape());
        // Weights relative to the largest, so that one of them is 1 however small the concentrations are.
        let logits = log_standard_gamma(self.concentration.on(noise.graph()), &shape, noise)?;
        let weights = logits.softmax(shape.rank() - 1);
        draw_counts(self.total_count.on(noise.graph()), weights, &batch, noise)
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let concentration = self.concentration.on(graph);
        let sum = Self::beside(concentration.sum_axis(self.axis()));
        Some(Self::beside(self.total_count.on(graph)) * (concentration / sum))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (total, concentration) = (Self::beside(self.total_count.on(graph)), self.concentration.on(graph));
        let sum = Self::beside(concentration.sum_axis(self.axis()));
        let share = concentration / sum;
        Some(total * share * (1.0 - share) * ((sum + total) / (sum + 1.0)))
    }
}
