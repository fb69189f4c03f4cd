//! Gradients of records with respect to the guide's parameters: the program, and what a step does with it.

use crate::error::{Error, Result};
use crate::guides::guide::GuideProgram;
use crate::objective::gradients::Gradients;
use crate::objective::noise_feed::fill;
use crate::objective::programs::Options;
use crate::objective::shared::Shared;
use crate::objective::traced::Traced;
use ppl_core::handlers::Handler;
use ppl_core::{
    Graph, InputId, Message, Model, Noise, NoiseKind, Record, RecordGradient, Schema, SiteKind, Trace, Var,
    trace,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// Gives the sites of a model the values that a guide has for them.
struct Guided<'g>(BTreeMap<String, Var<'g>>);

impl<'g> Handler<'g> for Guided<'g> {
    fn process(&self, message: &mut Message<'g>) -> ppl_core::Result<()> {
        // What comes back without having been given a value is a function of another site, which passes by itself.
        if !message.wants_value() || message.enumerable || message.fix_bounds()? {
            return Ok(());
        }
        let Some(&value) = self.0.get(&message.name) else {
            let told = "the guide has no value for it".to_owned();
            return Err(ppl_core::Error::Values(told).at_site(&message.name));
        };
        let support = message.support();
        message.give(support.constrain(value))?;
        message.unconstrained = Some(value);
        if message.kind == SiteKind::Latent {
            message.log_jacobian = support.log_jacobian(value);
        }
        Ok(())
    }
}

/// One of the guide's parameters: its place among all, its input of the record's program, its part of a
/// release.
struct ParameterPlace {
    range: Range<usize>,
    input: Option<InputId>,
    /// `None` where no record touches it.
    released: Option<Range<usize>>,
}

/// The frontier at the guide's parameters.
pub(crate) struct Parameters {
    parameters: Vec<ParameterPlace>,
    /// The guide's noise: its place and kind, and its inputs at both draws.
    noise: Vec<(Range<usize>, NoiseKind, [Option<InputId>; 2])>,
    /// Whether records bring the prior and the entropy with them.
    with_prior: bool,
}

/// Where each of some arrays lies, one after the other.
fn ranges<T>(all: impl Iterator<Item = (T, usize)>) -> impl Iterator<Item = (T, Range<usize>)> {
    all.scan(0, |at, (each, elements)| {
        *at += elements;
        Some((each, *at - elements..*at))
    })
}

/// The per-record program, and what feeds it. `build` writes the guide into the graph with noise of this
/// name.
pub(in crate::objective) fn program<'g>(
    model: &dyn Model,
    (graph, schema): (&'g Graph, &'g Schema),
    options: &Options<'_>,
    traced: &Traced<'g>,
    build: impl Fn(&mut Noise<'g>) -> Result<GuideProgram<'g>>,
) -> Result<(RecordGradient<f64>, Parameters)> {
    let run = |program: &GuideProgram<'g>| -> Result<Trace<'g>> {
        let names = traced.sites.iter().map(|site| site.name.clone());
        let values = names.zip(program.values.iter().copied()).collect();
        Ok(trace(model, graph, schema, Guided(values))?)
    };
    let draws = options.draws.number();
    let names = ["guide", "mirrored guide"];
    let mut noises: Vec<Noise<'g>> = names[..draws].iter().map(|name| Noise::new(graph, *name)).collect();
    let programs = noises.iter_mut().map(&build).collect::<Result<Vec<_>>>()?;
    let traces = programs.iter().map(run).collect::<Result<Vec<_>>>()?;
    let share = 1.0 / draws as f64;
    let mut value: Option<Var<'g>> = None;
    for trace in &traces {
        let Some(term) = trace.record_log_likelihood() else {
            return Err(Error::NothingToInfer("observes nothing inside each_record when it is run again"));
        };
        value = Some(value.map_or(term, |value| value + term));
    }
    let (Some(value), Some(first)) = (value, programs.first()) else {
        return Err(Error::NothingToInfer("has no draw to take a gradient at"));
    };
    // Recognised weights bound the gradient at the frontier, and not this one.
    let record = Record::new(graph, schema);
    let weight = options.weights.expression((None, &[]), options.clip_norm, graph, record)?;
    let mut value = weight.map_or(value, |weight| weight * value) * share;
    let with_prior = options.gradients == Gradients::VanillaWithPrior;
    if with_prior {
        for (trace, program) in traces.iter().zip(&programs) {
            let shared = trace.log_prior() + trace.log_jacobian() + program.entropy;
            value = value + shared * (share / options.stated_records);
        }
    }
    let variables: Vec<Var<'g>> = first.parameters.iter().map(|parameter| parameter.var).collect();
    // Noise on what no record touches would be wasted.
    let everything = RecordGradient::<f64>::new(value, &variables)?;
    let touched: Vec<bool> = (0..variables.len()).map(|k| everything.is_touched(k)).collect();
    let arrays: Vec<Var<'g>> =
        variables.iter().zip(&touched).filter(|(_, touched)| **touched).map(|(&var, _)| var).collect();
    let gradient = RecordGradient::with_bounded_sums(value, &arrays, &vec![0; arrays.len()])?;
    let elements = |k: usize| variables[k].shape().elements();
    let mut released = ranges((0..variables.len()).filter(|&k| touched[k]).map(|k| (k, elements(k))));
    let parameters = ranges((0..variables.len()).map(|k| (k, elements(k))))
        .map(|(k, range)| ParameterPlace {
            range,
            input: gradient.input(&first.parameters[k].name),
            released: if touched[k] { released.next().map(|(_, range)| range) } else { None },
        })
        .collect();
    let inputs = |draw: usize, at: usize| {
        let noise = noises.get(draw)?;
        gradient.input(&noise.inputs().get(at)?.0)
    };
    let sizes = noises.first().into_iter().flat_map(|noise| noise.inputs()).enumerate();
    let noise = ranges(sizes.map(|(at, (_, kind, shape))| ((at, *kind), shape.elements())))
        .map(|((at, kind), range)| (range, kind, [inputs(0, at), inputs(1, at)]))
        .collect();
    Ok((gradient, Parameters { parameters, noise, with_prior }))
}

impl Parameters {
    /// Hands parameters and noise to the record's program.
    pub(super) fn feed(&self, parameters: &[f64], noise: &[f64], gradient: &mut RecordGradient<f64>) {
        for ParameterPlace { range, input, .. } in &self.parameters {
            if let Some(input) = *input {
                gradient.input_mut(input).copy_from_slice(&parameters[range.clone()]);
            }
        }
        for (range, kind, inputs) in &self.noise {
            for (input, sign) in inputs.iter().zip([1.0, -1.0]) {
                if let Some(input) = *input {
                    fill(gradient.input_mut(input), *kind, &noise[range.clone()], sign);
                }
            }
        }
    }

    /// Prior and entropy are pulled back, unless the records brought them; what was released is a gradient
    /// with respect to the parameters already.
    pub(super) fn pull_back(&self, shared: &mut Shared, noise: &[f64], released: &[f64], out: &mut [f64]) {
        match self.with_prior {
            true => out.fill(0.0),
            false => shared.pull_back(noise, |_, _, _| {}, out),
        }
        self.add(released, out);
    }

    /// Adds what was released to the gradient with respect to the parameters.
    fn add(&self, released: &[f64], out: &mut [f64]) {
        for ParameterPlace { range, released: part, .. } in &self.parameters {
            if let Some(part) = part {
                let out = &mut out[range.clone()];
                out.iter_mut().zip(&released[part.clone()]).for_each(|(out, x)| *out += x);
            }
        }
    }
}

#[cfg(test)]
mod tests;
