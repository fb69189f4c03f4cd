//! Chains of discrete latent values, summed out.

use crate::base::{Error, Result, Shape};
use crate::model::constraint::Constraint;
use crate::model::context::Ctx;
use crate::model::distribution::{Distribution, Parameter};
use crate::model::enumerate::finite_support;
use crate::model::noise::{Noise, NoiseKind};
use crate::model::plate::Plate;
use crate::model::stack::Answer;
use crate::model::trace::SiteKind;
use crate::op::{Graph, Kind, Unary, Var};
use crate::transform::gradient;
use ndarray::Array1;
use std::rc::Rc;

impl<'g> Ctx<'g> {
    /// A chain of discrete latent values `z₀, …, z_{T−1}` (a hidden Markov model), and the statements that
    /// depend on it. The chain is *summed out*, exactly, by the forward algorithm in logarithms:
    ///
    /// ```text
    /// ln Σ_z p(z₀) Π_t p(z_t | z_{t−1}) Π_t p(statements of step t given z_t)
    /// ```
    ///
    /// in time `T K²` for `K` values, with a program whose length does not depend on `T`.
    ///
    /// `initial` is the law of `z₀`: of one number, with a finite support. `transition` is given each value
    /// of that support in turn, and returns the law of the next value, of the same support. Its batch shape
    /// is `[]`, or `[T − 1]` for laws that change with time: element `t` is the law of `z_{t+1}` given `z_t`.
    ///
    /// `each` is run once for each value `k`, with an array `[T]` of it, as [`enumerate`](Self::enumerate)
    /// does: the state of every step. The statements inside stand in a plate of `T` elements, one for each
    /// step, so that an observation of a step is an element along the last batch axis. Inside may stand what
    /// may stand inside `enumerate`: no `sample` and `param`. A statement must use the element of a step with
    /// that step's state only, since steps are taken apart again.
    ///
    /// If a handler gives the chain values (`seed` draws them, `condition` observes them: a supervised
    /// model), `each` is run once with them, and nothing is summed. Otherwise the site is
    /// [`SiteKind::Marginalised`], and its value is the law of each state given everything else (the
    /// smoothed marginals), an array of `[values, T]`. Sites inside then have no term of their own, and
    /// deterministic values inside that depend on the state are not in the trace.
    ///
    /// Inside [`each_record`](Self::each_record) every record has a chain of its own. Masks and scales around
    /// the statement act on the sum, those inside on the statements of the steps; a mask inside that is 0 at
    /// the last steps of a record makes shorter sequences.
    ///
    /// NumPyro's `markov` of `contrib.funsor`, and its `scan` under `enum`.
    ///
    /// # Errors
    /// As [`enumerate`](Self::enumerate); if there are no steps, `initial` or a transition has not the shape
    /// described, their supports differ, or the statement stands in a plate.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Var, log_density};
    /// # use std::collections::BTreeMap;
    /// # struct Coin<'g>(Var<'g>);
    /// # impl<'g> Distribution<'g> for Coin<'g> {
    /// #     fn name(&self) -> &'static str { "Coin" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> {
    /// #         vec![Parameter { name: "probs", value: self.0.into(), domain: Constraint::UnitInterval }]
    /// #     }
    /// #     fn support(&self) -> Constraint { Constraint::Boolean }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { (x * self.0 + (1.0 - x) * (1.0 - self.0)).log() }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         Ok(noise.draw(NoiseKind::Uniform, prefix.clone())?.less(self.0))
    /// #     }
    /// # }
    /// // A lamp is on or off, and stays as it is with probability 0.9; each record holds two readings of it.
    /// let lamp = |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, record| {
    ///     let (x, half) = (record.get("x")?, ctx.graph().constant(0.5));
    ///     ctx.markov("on", 2, Coin(half), |before| Coin(0.1 + 0.8 * before), |ctx, on| {
    ///         ctx.factor("x", -0.5 * (x - 3.0 * on).square())
    ///     })
    /// });
    /// let records = Records::from_columns([("x", ndarray::array![[0.0, 3.0]])])?;
    /// let likelihood = log_density(&lamp, &records, &BTreeMap::new())?.likelihood;
    /// // Off and on; off and off; on and on; on and off.
    /// let by_hand = 0.05 + 0.45 * (-4.5_f64).exp() + 0.45 * (-4.5_f64).exp() + 0.05 * (-9.0_f64).exp();
    /// assert!((likelihood[0] - by_hand.ln()).abs() < 1e-14);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn markov<D: Distribution<'g>>(
        &mut self,
        name: &str,
        steps: usize,
        initial: impl Distribution<'g>,
        transition: impl FnMut(Var<'g>) -> D,
        mut each: impl FnMut(&mut Ctx<'g>, Var<'g>) -> Result<()>,
    ) -> Result<()> {
        let full = self.full_name(name);
        let chain = {
            let _site = self.graph.enter_site(&full, crate::base::Source::caller());
            Chain::new(self.graph, steps, &initial, transition)
        };
        self.markov_over(name, chain.map_err(|error| error.at_site(&full))?, &mut each)
    }

    /// [`Ctx::markov`] when the law of the chain is known; compiled once for all closures.
    #[track_caller]
    fn markov_over(
        &mut self,
        name: &str,
        chain: Chain<'g>,
        each: &mut dyn FnMut(&mut Ctx<'g>, Var<'g>) -> Result<()>,
    ) -> Result<()> {
        let (full, steps, chain) = (self.full_name(name), chain.steps, Rc::new(chain));
        if let Some(Plate { name, .. }) = self.plates.last() {
            let error = Error::Unsupported(format!(
                "a Markov chain inside the plate '{name}'; put one chain into each record, or declare each with a name of its own"
            ));
            return Err(error.at_site(&full));
        }
        let mut message = self.declare(name, SiteKind::Latent, Some(Rc::<_>::clone(&chain) as Rc<_>))?;
        message.enumerable = true;
        let answer = self.send(message)?;
        let plate = Plate { name: format!("steps of {full}"), size: steps };
        self.enumerating += 1;
        let result = match answer.message.value {
            Some(_) => self.write_down(answer).and_then(|value| {
                self.plates.push(plate);
                let result = each(self, value);
                self.plates.pop();
                result
            }),
            None => {
                self.plates.push(plate);
                let result = self.sum_chain_out(answer, &chain, each);
                self.plates.pop();
                result
            }
        };
        self.enumerating -= 1;
        result
    }

    #[track_caller]
    fn sum_chain_out(
        &mut self,
        answer: Answer<'g>,
        chain: &Chain<'g>,
        each: &mut dyn FnMut(&mut Ctx<'g>, Var<'g>) -> Result<()>,
    ) -> Result<()> {
        let message = answer.message;
        let (line, graph, name) = (message.source_line, self.graph, message.name.clone());
        let told = |error: Error| error.at_line(line).at_site(&name);
        let batch = Shape::from(chain.steps);
        let constant = |value: f64| graph.constant(value).broadcast_to(batch.clone());
        let values = chain.values();
        let (terms, inside) = self.given_each(&message, &values, &constant, |_| constant(0.0), each)?;
        let _site = graph.enter_site(&name, line);
        let terms = terms.into_iter().map(|term| term.broadcast_to(batch.clone())).collect::<Vec<_>>();
        let statements = graph.stack(&terms, 1);
        let sum = chain.forward(statements).map_err(told)?;
        let elements = Self::weighed(&message, sum).map_err(told)?;
        // p(z_t = k | everything) is the derivative of ln p(everything) by the term of step t and value k.
        let posterior = || Ok(gradient(sum, &[statements])?[0].permute([1, 0]));
        self.summed_out(&message, (chain.name(), elements), posterior, inside)
    }
}

/// The law of a Markov chain over `count` integers from `low` on.
#[derive(Debug)]
struct Chain<'g> {
    low: f64,
    count: usize,
    steps: usize,
    support: Constraint,
    /// `ln p(z₀ = k)`, `[K]`.
    initial: Var<'g>,
    /// `ln p(z_{t+1} = j | z_t = k)` at `[k, j]`, or at `[t, k, j]` where it changes with time.
    transition: Var<'g>,
}

/// Checks that a distribution is one of single numbers with this many values or any.
fn check_law<'g>(law: &dyn Distribution<'g>, what: &str) -> Result<Vec<f64>> {
    law.validate()?;
    let event = law.event_shape();
    if !event.is_scalar() {
        let name = law.name();
        return Err(Error::Values(format!(
            "{what} must be a law of single numbers, and {name} has outcomes of shape {event}"
        )));
    }
    finite_support(law.support())
}

impl<'g> Chain<'g> {
    #[track_caller]
    fn new<D: Distribution<'g>>(
        graph: &'g Graph,
        steps: usize,
        initial: &dyn Distribution<'g>,
        mut transition: impl FnMut(Var<'g>) -> D,
    ) -> Result<Self> {
        let values = Self::states(steps, initial)?;
        let mut rows = Vec::with_capacity(values.len());
        for &value in &values {
            let law = transition(graph.constant(value));
            rows.push(Self::row(graph, steps, initial, &values, &law)?);
        }
        Self::of_rows(graph, steps, initial, &values, rows)
    }

    /// The values of a state.
    fn states(steps: usize, initial: &dyn Distribution<'g>) -> Result<Vec<f64>> {
        if steps == 0 {
            return Err(Error::Values("a Markov chain has at least one step, got 0".to_owned()));
        }
        let values = check_law(initial, "the initial state")?;
        let batch = initial.batch_shape()?;
        if !batch.is_scalar() {
            return Err(Error::Values(format!("the initial state must have batch shape [], got {batch}")));
        }
        Ok(values)
    }

    /// The logarithms of the law of the next state, `[next]` or `[next, t]`.
    #[track_caller]
    fn row(
        graph: &'g Graph,
        steps: usize,
        initial: &dyn Distribution<'g>,
        values: &[f64],
        law: &dyn Distribution<'g>,
    ) -> Result<Var<'g>> {
        if check_law(law, "the next state")? != values {
            return Err(Error::Values(format!(
                "the next state must lie where the initial state does, {}, and may be {}",
                initial.support(),
                law.support()
            )));
        }
        let (batch, moves) = (law.batch_shape()?, steps - 1);
        if !batch.is_scalar() && batch.dims() != [moves] {
            return Err(Error::Values(format!(
                "the law of the next state must have batch shape [], or [{moves}] for the {moves} transitions of {steps} \
                 steps; it has {batch}"
            )));
        }
        let (count, all) = (values.len(), graph.array(&Array1::from(values.to_vec()).into_dyn()));
        let shape = Shape::from(count).concat(&batch);
        let next = if batch.is_scalar() { all } else { all.reshape([count, 1]).broadcast_to(shape.clone()) };
        Ok(law.log_prob(next).broadcast_to(shape))
    }

    #[track_caller]
    fn of_rows(
        graph: &'g Graph,
        steps: usize,
        initial: &dyn Distribution<'g>,
        values: &[f64],
        rows: Vec<Var<'g>>,
    ) -> Result<Self> {
        let (count, moves) = (values.len(), steps - 1);
        // One law that changes with time makes all of them do so.
        let changing = rows.iter().any(|row| row.shape().rank() == 2);
        let transition = if changing {
            let row = |row: Var<'g>| match row.shape().rank() {
                2 => row.permute([1, 0]),
                _ => row.broadcast_to([moves, count]),
            };
            graph.stack(&rows.into_iter().map(row).collect::<Vec<_>>(), 1)
        } else {
            graph.stack(&rows, 0)
        };
        let all = graph.array(&Array1::from(values.to_vec()).into_dyn());
        let initial_terms = initial.log_prob(all).broadcast_to([count]);
        graph.check()?;
        Ok(Self {
            low: values[0],
            count,
            steps,
            support: initial.support(),
            initial: initial_terms,
            transition,
        })
    }

    fn values(&self) -> Vec<f64> {
        (0..self.count).map(|k| self.low + k as f64).collect()
    }

    fn changes(&self) -> bool {
        self.transition.shape().rank() == 3
    }

    /// The inputs of a loop over the transitions, with those that change beside them.
    fn along(&self, x: Var<'g>) -> Vec<Var<'g>> {
        if self.changes() { vec![x, self.transition] } else { vec![x] }
    }

    /// The transition of a step of such a loop.
    fn at(&self, rows: &[Var<'g>]) -> Var<'g> {
        rows.get(1).copied().unwrap_or(self.transition)
    }

    /// The logarithm of the sum over all chains, for the terms `[T, K]` of the statements.
    fn forward(&self, statements: Var<'g>) -> Result<Var<'g>> {
        let first = statements.slice(0, ..1).reshape([self.count]);
        let (last, ()) = statements.graph().scan(
            self.initial + first,
            self.along(statements.slice(0, 1..)),
            |before, rows| {
                // ln Σ_k p(before, z_t = k) p(z_{t+1} = j | z_t = k)
                let joint = before.reshape([self.count, 1]) + self.at(&rows);
                Ok((joint.log_sum_exp_axis(0) + rows[0], ()))
            },
        )?;
        Ok(last.log_sum_exp())
    }

    /// One of the values from 0 on with weights whose logarithms lie along the last axis, as a categorical
    /// draw from a uniform number.
    fn choose(&self, log_weights: Var<'g>, uniform: Var<'g>) -> Var<'g> {
        let axis = log_weights.shape().rank() - 1;
        let cumulated = log_weights.exp().cumsum(axis);
        let total = cumulated.slice(axis, self.count - 1..);
        let uniform = uniform.reshape(uniform.shape().concat(&Shape::from(1)));
        let reached = (uniform * total).greater_equal(cumulated.slice(axis, ..self.count - 1));
        reached.sum_axis(reached.shape().rank() - 1)
    }
}

impl<'g> Distribution<'g> for Chain<'g> {
    fn name(&self) -> &'static str {
        "MarkovChain"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.steps)
    }

    fn batch_shape(&self) -> Result<Shape> {
        Ok(Shape::scalar())
    }

    fn support(&self) -> Constraint {
        self.support
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let axis = value.shape().rank().saturating_sub(1);
        let state = value - self.low;
        let count = self.count as f64;
        let known = state.greater_equal(0.0) * state.less(count) * state.map(Unary::Floor).equal(state);
        // What is no state must not reach another's place.
        let state = known.select(state, f64::NAN);
        let first = self.initial.gather(state.slice(axis, ..1)).sum_axis(axis);
        let moves = self.steps - 1;
        let mut place = count * state.slice(axis, ..moves) + state.slice(axis, 1..);
        if self.changes() {
            let begin: Array1<f64> = (0..moves).map(|t| (t * self.count * self.count) as f64).collect();
            place = place + value.graph().array(&begin.into_dyn());
        }
        let table = self.transition.reshape(self.transition.shape().elements());
        first + table.gather(place).sum_axis(axis)
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let graph = noise.graph();
        let uniform = noise.draw(NoiseKind::Uniform, prefix.concat(&Shape::from(self.steps)))?;
        // Steps first.
        let rank = prefix.rank();
        let uniform = uniform.permute(std::iter::once(rank).chain(0..rank).collect::<Vec<_>>());
        let row = |x: Var<'g>| x.slice(0, ..1).reshape(prefix.clone());
        let start = prefix.concat(&Shape::from(self.count));
        let first = self.choose(self.initial.broadcast_to(start), row(uniform));
        let (_, rest) = graph.scan(first, self.along(uniform.slice(0, 1..)), |before, rows| {
            let next = self.choose(self.at(&rows).gather(before), rows[0]);
            Ok((next, next))
        })?;
        let first = first.reshape(Shape::from(1).concat(prefix));
        let all = graph.concat(&[first, rest], 0);
        Ok(all.permute((1..=rank).chain(std::iter::once(0)).collect::<Vec<_>>()) + self.low)
    }

    fn kind(&self) -> Kind {
        self.initial.kind().max(self.transition.kind())
    }
}
