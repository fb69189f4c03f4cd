//! The distribution of a bijection of the outcomes of another.

use crate::Independent;
use crate::combinators::bijection::{Bijection, Direction};
use crate::shared::arrays::{last, leading, sum_last, together};
use crate::shared::support::{ends_of, kept_inside, unless_event};
use ppl_core::model::Map;
use ppl_core::op::Kind;
use ppl_core::{
    Constraint, Distribution, Error, Expanded, Graph, Noise, Parameter, Result, Shape, Source, Transport, Var,
};
use std::rc::Rc;

/// The distribution of `y = f(x)` for `x` distributed as `base` and `f` a bijection.
///
/// ```text
/// ln p(y) = ln p_base(f⁻¹(y)) − ln |det ∂f/∂x| at x = f⁻¹(y)
/// ```
///
/// Where `f` acts on vectors or matrices, the last axes of the base's batch that it takes together become
/// axes of the outcome. There is a distribution function, and a quantile function, where the base has one and
/// `f` is monotone; mean, variance and entropy where `f` moves and stretches. The base's outcomes must lie in the
/// domain of `f`, as far as both are known: [`Power`](crate::Power) takes positive numbers. The reparameterisation
/// [`handlers::Transformed`](ppl_core::handlers::Transformed) samples `x` in place of `y`. Made by
/// [`Combine::transformed`](crate::Combine::transformed).
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::{Combine, Exp, Normal};
/// let graph = Graph::new();
/// let y = graph.input("y", ())?;
/// let log_prob = Normal::new(0.0, 1.0).transformed(Exp).log_prob(y);
/// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.set("y", &[2.0])?;
/// plan.run();
/// let log = 2.0_f64.ln();
/// let expected = -0.5 * log * log - log - 0.5 * (2.0 * std::f64::consts::PI).ln(); // the log-normal density
/// assert!((plan.output(0)[0] - expected).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transformed<D, B> {
    // Shared with what `transport` gives away.
    base: Rc<D>,
    bijection: Rc<B>,
}

/// Shapes of a transformed distribution.
struct Shapes {
    /// Of the base's batch, with what the bijection's parameters add.
    base_batch: Shape,
    batch: Shape,
    event: Shape,
}

impl<D, B> Transformed<D, B> {
    /// `bijection` of the outcomes of `base`.
    pub fn new(base: D, bijection: B) -> Self {
        Self { base: Rc::new(base), bijection: Rc::new(bijection) }
    }

    /// The distribution of the arguments.
    pub fn base(&self) -> &D {
        &self.base
    }

    /// The bijection.
    pub fn bijection(&self) -> &B {
        &self.bijection
    }
}

impl<'g, D: Distribution<'g>, B: Bijection<'g>> Transformed<D, B> {
    #[track_caller]
    fn shapes(&self) -> Result<Shapes> {
        let event = self.base.event_shape();
        let mut whole = self.base.batch_shape()?.concat(&event);
        for parameter in self.bijection.parameters() {
            whole = together(self.bijection.name(), &whole, &parameter.value.shape())?;
        }
        let rank = event.rank().max(self.bijection.domain_rank());
        if last(&whole, event.rank()) != event || whole.rank() < rank {
            return Err(Error::UnexpectedShape {
                operation: self.bijection.name(),
                expected: format!("outcomes of shape {event}, and at least {rank} axes"),
                got: whole,
                source_line: Source::caller(),
            });
        }
        let result = self.bijection.forward_shape(&whole)?;
        let result_rank = rank - self.bijection.domain_rank() + self.bijection.image_rank();
        Ok(Shapes {
            base_batch: leading(&whole, event.rank()),
            batch: leading(&whole, rank),
            event: last(&result, result_rank),
        })
    }

    /// Axes of the base's batch, and of the bijection's, that are summed over: (of densities, of Jacobians).
    fn excess(&self) -> (usize, usize) {
        let (event, domain) = (self.base.event_shape().rank(), self.bijection.domain_rank());
        (domain.saturating_sub(event), event.saturating_sub(domain))
    }

    fn of_numbers(&self) -> bool {
        self.base.event_shape().is_scalar() && self.bijection.domain_rank() == 0
    }

    /// The factor of a bijection that moves and stretches, of the shape of an outcome with its batch.
    fn factor(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let shapes = self.shapes().ok()?;
        Some(self.bijection.factor(graph)?.broadcast_to(shapes.batch.concat(&shapes.event)))
    }
}

impl<'g, D: Distribution<'g> + 'g, B: Bijection<'g> + 'g> Transformed<D, B> {
    /// Which way a function of numbers goes. Of a decreasing one, P(y ≤ value) is P(x ≥ …), which is 1 − F only where
    /// single points have no probability.
    fn monotone(&self) -> Option<Direction> {
        let direction = self.of_numbers().then(|| self.bijection.direction())??;
        let undone = direction == Direction::Decreasing && self.base.support().is_discrete();
        (!undone).then_some(direction)
    }

    /// A probability that the base knows of what corresponds to a value; `ends` below and above the image.
    #[track_caller]
    fn part(
        &self,
        value: Var<'g>,
        ends: [f64; 2],
        increasing: impl FnOnce(&D, Var<'g>) -> Option<Var<'g>>,
        decreasing: impl FnOnce(&D, Var<'g>) -> Option<Var<'g>>,
    ) -> Option<Var<'g>> {
        let direction = self.monotone()?;
        let (low, high) = ends_of(self.support());
        let (below, above) = (value.less_equal(low), value.greater_equal(high));
        let outside = match (low == f64::NEG_INFINITY, high == f64::INFINITY) {
            (true, true) => None,
            (false, true) => Some(below),
            (true, false) => Some(above),
            (false, false) => Some(below + above),
        };
        let inner = self.support().constrain_number(0.0);
        let x = self.bijection.inverse(outside.map_or(value, |outside| outside.select(inner, value)));
        let part = match direction {
            Direction::Increasing => increasing(&self.base, x)?,
            Direction::Decreasing => decreasing(&self.base, x)?,
        };
        let [at_low, at_high] = ends;
        Some(match outside {
            None => part,
            Some(outside) => outside.select(below.select(at_low, at_high), part),
        })
    }

    /// What corresponds to an outcome of the base.
    #[track_caller]
    fn outcome(
        &self,
        increasing: impl FnOnce(&D) -> Option<Var<'g>>,
        decreasing: impl FnOnce(&D) -> Option<Var<'g>>,
    ) -> Option<Var<'g>> {
        Some(self.bijection.forward(match self.monotone()? {
            Direction::Increasing => increasing(&self.base)?,
            Direction::Decreasing => decreasing(&self.base)?,
        }))
    }
}

impl<'g, D: Distribution<'g> + 'g, B: Bijection<'g> + 'g> Distribution<'g> for Transformed<D, B> {
    fn name(&self) -> &'static str {
        "Transformed"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        let mut parameters = self.base.parameters();
        parameters.extend(self.bijection.parameters());
        parameters
    }

    fn event_shape(&self) -> Shape {
        self.shapes().map(|shapes| shapes.event).unwrap_or_default()
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        self.shapes().map(|shapes| shapes.batch)
    }

    fn support(&self) -> Constraint {
        self.bijection.image(self.base.support())
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let density = |value: Var<'g>| {
            let x = self.bijection.inverse(value);
            let (of_density, of_jacobian) = self.excess();
            let density = sum_last(self.base.log_prob(x), of_density);
            match self.bijection.log_jacobian(x) {
                Some(log_jacobian) => density - sum_last(log_jacobian, of_jacobian),
                None => density,
            }
        };
        let set = self.support();
        let (rank, own) = (self.event_shape().rank(), set.event_rank());
        if own > 0 {
            let outside = set.outside(value).map(|outside| sum_last(outside, rank.saturating_sub(own)));
            let density = density(value);
            return outside.map_or(density, |outside| outside.select(f64::NEG_INFINITY, density));
        }
        let outside = set.outside(value).map(|outside| sum_last(outside, rank));
        unless_event(outside, value, rank, set.constrain_number(0.0), density)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let shapes = self.shapes()?;
        let drawn =
            self.bijection.forward(Expanded::new(&*self.base, shapes.base_batch).draw(prefix, noise)?);
        // A bijection of numbers may round to an end of its image.
        Ok(match self.support() {
            Constraint::Real | Constraint::Dependent => drawn,
            support => kept_inside(support, drawn),
        })
    }

    fn transport(&self) -> Option<Transport<'g>> {
        let base = Expanded::new(self.base.clone(), self.shapes().ok()?.base_batch);
        let bijection = self.bijection.clone();
        Some(Transport {
            base: Rc::new(Independent::new(base, self.excess().0)),
            map: Map::Function(Rc::new(move |x| bijection.forward(x))),
        })
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn mean(&self, graph: &'g Graph) -> Option<Var<'g>> {
        self.factor(graph)?;
        let mean = self.base.mean(graph)?;
        let shapes = self.shapes().ok()?;
        Some(self.bijection.forward(mean).broadcast_to(shapes.batch.concat(&shapes.event)))
    }

    fn variance(&self, graph: &'g Graph) -> Option<Var<'g>> {
        Some(self.base.variance(graph)? * self.factor(graph)?.square())
    }

    fn entropy(&self, graph: &'g Graph) -> Option<Var<'g>> {
        let (of_density, _) = self.excess();
        let shapes = self.shapes().ok()?;
        let logs = self.factor(graph)?.abs().log();
        let entropy = self.base.entropy(graph)?.broadcast_to(shapes.base_batch);
        Some(sum_last(entropy, of_density) + sum_last(logs, shapes.event.rank()))
    }

    /// `F(f⁻¹(y))`, or `1 − F(f⁻¹(y))` where order is reversed; 0 below the image and 1 above.
    fn cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.part(value, [0.0, 1.0], |base, x| base.cdf(x), |base, x| base.sf(x))
    }

    fn sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        self.part(value, [1.0, 0.0], |base, x| base.sf(x), |base, x| base.cdf(x))
    }

    fn log_cdf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let ends = [f64::NEG_INFINITY, 0.0];
        self.part(value, ends, |base, x| base.log_cdf(x), |base, x| base.log_sf(x))
    }

    fn log_sf(&self, value: Var<'g>) -> Option<Var<'g>> {
        let ends = [0.0, f64::NEG_INFINITY];
        self.part(value, ends, |base, x| base.log_sf(x), |base, x| base.log_cdf(x))
    }

    fn quantile(&self, probability: Var<'g>) -> Option<Var<'g>> {
        self.outcome(|base| base.quantile(probability), |base| base.quantile(1.0 - probability))
    }

    fn quantile_of_log_cdf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let log = log_probability;
        self.outcome(|base| base.quantile_of_log_cdf(log), |base| base.quantile_of_log_sf(log))
    }

    fn quantile_of_log_sf(&self, log_probability: Var<'g>) -> Option<Var<'g>> {
        let log = log_probability;
        self.outcome(|base| base.quantile_of_log_sf(log), |base| base.quantile_of_log_cdf(log))
    }

    #[track_caller]
    fn validate(&self) -> Result<()> {
        self.base.validate()?;
        self.bijection.validate()?;
        if self.base.support().is_discrete() {
            let told =
                "a transformed discrete distribution: its log-probability would be taken for a density";
            return Err(Error::Unsupported(format!("{told} ({})", Source::caller())));
        }
        let support = self.base.support();
        if !self.bijection.accepts(support) {
            return Err(Error::Unsupported(format!(
                "the bijection {} of outcomes of {}, which are {support}: it does not take all of them ({})",
                self.bijection.name(),
                self.base.name(),
                Source::caller()
            )));
        }
        self.shapes().map(|_| ())
    }

    fn kind(&self) -> Kind {
        self.base.kind().max(self.bijection.kind())
    }
}
