//! The Dirichlet distribution.

use crate::family::DirichletFamily;
use crate::shared::arrays::{LOG_2PI, column, leading, sum_last};
use crate::shared::gamma_noise::log_standard_gamma;
use crate::shared::support::unless_event;
use ppl_core::model::ExponentialFamily;
use ppl_core::{Constraint, Distribution, Error, Graph, Noise, Parameter, Result, Shape, Source, Value, Var};

/// The distribution of vectors of `K` non-negative numbers that sum to 1, with `concentration` along the last
/// axis.
///
/// ```text
/// ln p(x) = Σ_k (a_k − 1) ln x_k + ln Γ(A) − Σ_k ln Γ(a_k)        a = concentration > 0,   A = Σ_k a_k
/// ```
///
/// It is the density of the first `K − 1` elements. The leading terms of the gamma functions are paired with
/// those of the powers, as in `(a_k − 1) ln(x_k A/a_k)`: large concentrations lose no digits but those that
/// the rounding of `x` costs. A draw is gamma variables divided by their sum, in logarithms, with implicit
/// derivatives.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Dirichlet;
/// let graph = Graph::new();
/// let concentration = graph.array(&ndarray::array![1.0, 2.0, 1.0].into_dyn());
/// let x = graph.input("x", 3)?;
/// let program = Program::new(&graph, &[Dirichlet::new(concentration).log_prob(x)])?;
/// let mut plan = ExecutionPlan::<f64>::new(&program);
/// plan.set("x", &[0.25, 0.5, 0.25])?;
/// plan.run();
/// assert!((plan.output(0)[0] - 3.0_f64.ln()).abs() < 1e-14); // Γ(4) · ½
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dirichlet<'g> {
    concentration: Value<'g>,
    categories: usize,
}

impl<'g> Dirichlet<'g> {
    /// Concentrations, `[…, K]`.
    pub fn new(concentration: impl Into<Value<'g>>) -> Self {
        let concentration = concentration.into();
        let categories = concentration.shape().dims().last().copied().unwrap_or(0);
        Self { concentration, categories }
    }

    /// One concentration for all of `categories` elements.
    pub fn symmetric(concentration: impl Into<Value<'g>>, categories: usize) -> Self {
        Self { concentration: concentration.into(), categories }
    }

    /// Concentrations, `[…, K]`, and their sums, `[…]`.
    #[track_caller]
    pub(crate) fn concentrations(&self, graph: &'g Graph) -> (Var<'g>, Var<'g>) {
        let a = self.concentration.on(graph);
        let a = if a.shape().is_scalar() { a.broadcast_to(self.categories) } else { a };
        (a, sum_last(a, 1))
    }

    /// `ln Γ(A) − Σ ln Γ(a_k) + Σ (a_k − 1) ln(a_k/A)`: what the density has beside
    /// `Σ (a_k − 1) ln(x_k A/a_k)`.
    #[track_caller]
    fn log_normaliser(&self, graph: &'g Graph) -> Var<'g> {
        let (a, total) = self.concentrations(graph);
        let k = self.categories as f64;
        (k - 0.5) * total.log() + (total.stirling_error() - 0.5 * (k - 1.0) * LOG_2PI)
            - sum_last(0.5 * a.log() + a.stirling_error(), 1)
    }
}

/// The sum of all other elements along the last axis, for each: not by subtraction, of which little would be
/// left where one element is most of the sum.
#[track_caller]
fn sums_of_others<'g>(a: Var<'g>) -> Var<'g> {
    let axis = a.shape().rank() - 1;
    let before = |a: Var<'g>| a.cumsum(axis).slice(axis, ..a.shape().dims()[axis] - 1).pad(axis, 1, 0);
    before(a) + before(a.flip(axis)).flip(axis)
}

impl<'g> Distribution<'g> for Dirichlet<'g> {
    fn name(&self) -> &'static str {
        "Dirichlet"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "concentration", value: self.concentration, domain: Constraint::Positive }]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.categories)
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let shape = self.concentration.shape();
        if self.categories == 0 || !(shape.is_scalar() || shape.dims().last() == Some(&self.categories)) {
            return Err(Error::UnexpectedShape {
                operation: self.name(),
                expected: "at least one concentration along a last axis".to_owned(),
                got: shape,
                source_line: Source::caller(),
            });
        }
        Ok(leading(&shape, 1))
    }

    fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> {
        Some(Box::new(DirichletFamily { concentration: self.concentration, categories: self.categories }))
    }

    fn support(&self) -> Constraint {
        Constraint::Simplex
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let (a, total) = self.concentrations(value.graph());
        let mean = a / column(total);
        let centre = 1.0 / self.categories.max(1) as f64;
        unless_event(Constraint::Simplex.outside(value), value, 1, centre, |value| {
            // Where the exponent is 0 an element may be 0: 0 · ln 0 is 0, and has a derivative.
            let exponent = a - 1.0;
            let harmless = (value + exponent.abs()).greater(0.0).select(value / mean, 1.0);
            sum_last(exponent * harmless.log(), 1) + self.log_normaliser(value.graph())
        })
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.batch_shape()?;
        let (a, _) = self.concentrations(noise.graph());
        let log_gammas = log_standard_gamma(a, &prefix.concat(&a.shape()), noise)?;
        Ok(log_gammas.softmax(log_gammas.shape().rank() - 1))
    }

    /// `a_k/A`
    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, total) = self.concentrations(graph);
        Some(a / column(total))
    }

    /// `(a_k − 1)/(A − K)`; NaN where an `a_k ≤ 1` has the density grow to an end, or be the same everywhere.
    fn mode(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let excess = self.concentrations(graph).0 - 1.0;
        let inside = column(sum_last(excess.less_equal(0.0), 1)).equal(0.0);
        let inside = inside.broadcast_to(excess.shape());
        Some(inside.select(excess / column(sum_last(excess, 1)), f64::NAN))
    }

    /// `m_k (1 − m_k)/(A + 1)` with `m` the mean.
    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, total) = self.concentrations(graph);
        let total = column(total);
        Some((a / total) * (sums_of_others(a) / total) / (total + 1.0))
    }

    /// `ln B(a) + (A − K) ψ(A) − Σ (a_k − 1) ψ(a_k)`, with the leading terms of both functions taken off.
    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (a, total) = self.concentrations(graph);
        let k = self.categories as f64;
        let digammas =
            (total - k) * total.digamma_minus_log() - sum_last((a - 1.0) * a.digamma_minus_log(), 1);
        Some(digammas - self.log_normaliser(graph))
    }
}
