//! Discrete latent values, summed out.

use crate::base::{Error, Result, Shape};
use crate::model::constraint::Constraint;
use crate::model::context::{Ctx, mixes};
use crate::model::distribution::Distribution;
use crate::model::message::Message;
use crate::model::stack::Answer;
use crate::model::trace::{Site, SiteKind};
use crate::op::{Kind, Var};
use ndarray::ArrayD;
use std::rc::Rc;

/// Most values of a site that is summed out: each is one more copy of the statements inside.
const MOST_VALUES: f64 = 1024.0;

impl<'g> Ctx<'g> {
    /// A discrete latent value of a small finite support, and the statements that depend on it. It is *summed
    /// out*, exactly:
    ///
    /// ```text
    /// ln Σ_k p(z = k) Π p(statements given z = k)
    /// ```
    ///
    /// `each` is run once for each value `k`. A site of a batch or in plates is summed out element by
    /// element, so the statements inside must have its batch shape as the last axes of theirs. Inside may
    /// stand observations, factors, deterministic values and further sums, but no `sample` and `param`: these
    /// come before.
    ///
    /// If a handler gives the site a value (`seed` draws it, `condition` observes it), `each` is run once
    /// with that value, and nothing is summed. Otherwise the site is [`SiteKind::Marginalised`] in the trace,
    /// and its value there is the distribution of `z` given everything else, an array of `[values, …batch]`.
    /// Sites inside then have no term of their own. A deterministic value inside that depends on `z` has one
    /// value for each `k`, so it is not in the trace, and not among the draws of a sampler; it is where `z` has a
    /// value, as in predictions ([`Predictive`](crate::Predictive)), for which `z` is drawn.
    ///
    /// NumPyro's `infer={"enumerate": "parallel"}`, with the scope of the sum written out.
    ///
    /// # Errors
    /// If the support is not finite, or has more than 1,024 values; if an outcome is not one number; whatever
    /// a statement inside found wrong.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Value, Var, log_density};
    /// # use std::collections::BTreeMap;
    /// # struct Coin;
    /// # impl<'g> Distribution<'g> for Coin {
    /// #     fn name(&self) -> &'static str { "Coin" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
    /// #     fn support(&self) -> Constraint { Constraint::Boolean }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x - 2.0_f64.ln() }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         Ok(noise.draw(NoiseKind::Uniform, prefix.clone())?.greater(0.5))
    /// #     }
    /// # }
    /// // Each record is near 0 or near 3, whichever way a fair coin fell.
    /// let mixture = |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, record| {
    ///     let x = record.get("x")?;
    ///     ctx.enumerate("side", Coin, |ctx, side| ctx.factor("x", -0.5 * (x - 3.0 * side).square()))
    /// });
    /// let records = Records::from_columns([("x", vec![1.0])])?;
    /// let likelihood = log_density(&mixture, &records, &BTreeMap::new())?.likelihood;
    /// let by_hand = (0.5 * (-0.5_f64).exp() + 0.5 * (-2.0_f64).exp()).ln();
    /// assert!((likelihood[0] - by_hand).abs() < 1e-15);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn enumerate(
        &mut self,
        name: &str,
        distribution: impl Distribution<'g> + 'g,
        mut each: impl FnMut(&mut Ctx<'g>, Var<'g>) -> Result<()>,
    ) -> Result<()> {
        let distribution = Rc::new(distribution);
        let mut message =
            self.declare(name, SiteKind::Latent, Some(Rc::<_>::clone(&distribution) as Rc<_>))?;
        let full = self.full_name(name);
        let event = distribution.event_shape();
        if !event.is_scalar() {
            return Err(Error::Unsupported(format!(
                "enumerating outcomes of shape {event}; only single numbers are summed over (use a plate instead of iid)"
            ))
            .at_site(&full));
        }
        let values = finite_support(distribution.support()).map_err(|error| error.at_site(&full))?;
        message.enumerable = true;
        let answer = self.send(message)?;
        self.enumerating += 1;
        let result = match answer.message.value {
            Some(_) => self.write_down(answer).and_then(|value| each(self, value)),
            None => self.sum_out(answer, &values, &mut each),
        };
        self.enumerating -= 1;
        result
    }

    #[track_caller]
    fn sum_out(
        &mut self,
        answer: Answer<'g>,
        values: &[f64],
        each: &mut impl FnMut(&mut Ctx<'g>, Var<'g>) -> Result<()>,
    ) -> Result<()> {
        let message = answer.message;
        let (line, graph) = (message.source_line, self.graph);
        let name = message.name.clone();
        let told = |error: Error| error.at_line(line).at_site(&name);
        let Some(distribution) = &message.distribution else {
            return Err(told(Error::Values("it has no distribution to be summed over".to_owned())));
        };
        let batch = distribution.batch_shape().map_err(told)?;
        let at = |value: f64| match batch.is_scalar() {
            true => graph.constant(value),
            false => graph.array(&ArrayD::from_elem(batch.dims(), value)),
        };
        let prior = |at: Var<'g>| distribution.log_prob(at).broadcast_to(batch.clone());
        let (terms, inside) = self.given_each(&message, values, &at, prior, each)?;
        let _site = graph.enter_site(&name, line);
        let terms = graph.stack(&terms, 0);
        let elements = Self::weighed(&message, terms.log_sum_exp_axis(0)).map_err(told)?;
        self.summed_out(&message, (distribution.name(), elements), || Ok(terms.softmax(0)), inside)
    }

    /// Writes down a site that was summed out, with the terms of each element of its batch and the probabilities of
    /// its values given everything, and the sites inside it.
    #[track_caller]
    pub(crate) fn summed_out(
        &mut self,
        message: &Message<'g>,
        (law, elements): (&'static str, Var<'g>),
        posterior: impl FnOnce() -> Result<Var<'g>>,
        inside: Vec<Inside<'g>>,
    ) -> Result<()> {
        let line = message.source_line;
        let told = |error: Error| error.at_line(line).at_site(&message.name);
        self.graph.check().map_err(told)?;
        if elements.kind() == Kind::PerRecord && !message.per_record {
            return Err(told(mixes("the prior of a shared latent value", line)));
        }
        let posterior = match message.stop && !inside.iter().any(Inside::is_averaged) {
            true => None,
            false => Some(posterior().map_err(told)?),
        };
        if let (Some(posterior), false) = (posterior, message.stop) {
            self.sites.push(Site {
                name: message.name.clone(),
                kind: SiteKind::Marginalised,
                per_record: message.per_record,
                distribution: Some(law),
                shape: posterior.shape(),
                support: Constraint::Interval(0.0, 1.0),
                value: posterior,
                unconstrained: None,
                log_prob: Some(elements.sum()),
                log_jacobian: None,
                plates: message.plates.clone(),
                initial: None,
                source_line: line,
                elements: Some(elements),
            });
        }
        self.sites.extend(inside.into_iter().filter_map(|inside| inside.given_all(posterior)));
        self.graph.check().map_err(told)
    }

    /// Runs the statements inside for each value of a discrete site. For each the sum of their terms, one for
    /// each element of the site's batch, and of `prior`; and the sites inside, without terms of their own.
    #[track_caller]
    pub(crate) fn given_each(
        &mut self,
        message: &Message<'g>,
        values: &[f64],
        at: &dyn Fn(f64) -> Var<'g>,
        prior: impl Fn(Var<'g>) -> Var<'g>,
        each: &mut dyn FnMut(&mut Ctx<'g>, Var<'g>) -> Result<()>,
    ) -> Result<(Vec<Var<'g>>, Vec<Inside<'g>>)> {
        let (line, graph, name) = (message.source_line, self.graph, &message.name);
        let told = |error: Error| error.at_line(line).at_site(name);
        self.names.insert(name.clone());
        let (kept, names) = (self.sites.len(), self.names.clone());
        let outer = self.summing.replace(self.frames.len());
        let mut terms = Vec::with_capacity(values.len());
        let mut inside: Vec<Inside<'g>> = Vec::new();
        let mut result = Ok(());
        for &value in values {
            let at = at(value);
            let mut term = {
                let _site = graph.enter_site(name, line);
                prior(at)
            };
            let batch = term.shape();
            // Each value has the same statements, under the same names.
            self.names.clone_from(&names);
            result = each(self, at);
            let sites = self.sites.split_off(kept);
            if result.is_err() {
                break;
            }
            for mut site in sites {
                if let Some(elements) = site.elements {
                    let _site = graph.enter_site(name, line);
                    term = term + to_batch(elements, &batch, &site.name).map_err(told)?;
                }
                (site.log_prob, site.elements) = (None, None);
                match inside.iter_mut().find(|known| known.site.name == site.name) {
                    Some(known) => known.values.push(site.value),
                    None => inside.push(Inside { values: vec![site.value], site }),
                }
            }
            terms.push(term);
        }
        self.summing = outer;
        result.map(|()| (terms, inside))
    }
}

/// A site inside a sum, with the value that it has for each value that is summed over.
pub(crate) struct Inside<'g> {
    site: Site<'g>,
    values: Vec<Var<'g>>,
}

impl<'g> Inside<'g> {
    /// Whether its value depends on the value that is summed over. (What is computed alike is one node of the graph.)
    fn depends(&self) -> bool {
        self.values.iter().any(|value| value.id() != self.site.value.id())
    }

    /// Whether it is summed out itself, with probabilities that depend on the value that is summed over.
    fn is_averaged(&self) -> bool {
        self.site.kind == SiteKind::Marginalised && self.depends()
    }

    /// The site given everything: `p(inner | all) = Σ_k p(outer = k | all) p(inner | outer = k, all)` for one that is
    /// summed out itself; `None` for a deterministic value that there is no single one of.
    #[track_caller]
    fn given_all(mut self, posterior: Option<Var<'g>>) -> Option<Site<'g>> {
        if let (true, Some(posterior)) = (self.is_averaged(), posterior) {
            let shape = posterior.shape();
            let weight = |k: usize| posterior.slice(0, k..k + 1).reshape(&shape.dims()[1..]);
            let parts = self.values.iter().enumerate().map(|(k, &value)| weight(k) * value);
            self.site.value = parts.reduce(|sum, part| sum + part)?;
        }
        let of_no_value = self.site.kind == SiteKind::Deterministic && self.depends();
        (!of_no_value).then_some(self.site)
    }
}

/// All values of a finite support.
pub(crate) fn finite_support(support: Constraint) -> Result<Vec<f64>> {
    let (low, high) = match support {
        Constraint::Boolean => (0.0, 1.0),
        Constraint::IntegerInterval(low, high) => (low.ceil(), high.floor()),
        other => {
            return Err(Error::Unsupported(format!(
                "summing over a value that must be {other}; only 0 or 1 and integers between two bounds can be summed over"
            )));
        }
    };
    let count = high - low + 1.0;
    if !(1.0..=MOST_VALUES).contains(&count) {
        return Err(Error::Unsupported(format!(
            "summing over {count} values; there may be 1 to {MOST_VALUES}"
        )));
    }
    Ok((0..count as usize).map(|k| low + k as f64).collect())
}

/// Elements of a site inside, added up to the batch of the value that is summed over.
pub(crate) fn to_batch<'g>(elements: Var<'g>, batch: &Shape, site: &str) -> Result<Var<'g>> {
    let shape = elements.shape();
    if !shape.dims().ends_with(batch.dims()) {
        return Err(Error::Values(format!(
            "the log density of '{site}' inside has shape {shape}, but one element is needed for each of {batch}; \
             put both into the same plates"
        )));
    }
    let extra = shape.rank() - batch.rank();
    Ok((0..extra).fold(elements, |sum, _| sum.sum_axis(0)))
}
