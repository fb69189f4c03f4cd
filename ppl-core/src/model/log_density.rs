//! The log density of a model at given values.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::model::context::{Latent, LatentRequest, Latents, Model};
use crate::model::trace::trace;
use crate::plan::Plan;
use crate::program::Program;
use crate::records::Records;
use crate::shape::Shape;
use ndarray::{Array1, ArrayD};
use std::collections::BTreeMap;

/// A model's log density at given values of its latent sites.
#[derive(Clone, Debug, PartialEq)]
pub struct LogDensity {
    /// Priors and public observations.
    pub prior: f64,
    /// The log-likelihood of each record.
    pub likelihood: Array1<f64>,
}

impl LogDensity {
    /// `ln p(values) + Σ_i ln p(record_i | values)`
    #[must_use]
    pub fn total(&self) -> f64 {
        self.prior + self.likelihood.sum()
    }
}

/// Gives each latent site an input for a value in its support.
struct Given<'a> {
    values: &'a BTreeMap<String, ArrayD<f64>>,
}

fn input_name(site: &str) -> String {
    format!("value/{site}")
}

impl<'g> Latents<'g> for Given<'_> {
    fn latent(&mut self, request: &LatentRequest<'g, '_>) -> Result<Latent<'g>> {
        let Some(values) = self.values.get(request.name) else {
            return Err(Error::Values("no value was given".to_owned()));
        };
        let got = Shape::from(values.shape());
        if got != *request.shape {
            return Err(Error::Values(format!("a value of shape {} is needed, got {got}", request.shape)));
        }
        let numbers: Vec<f64> = values.iter().copied().collect();
        if let Some((_, value)) = request.support.violation(&numbers, &got) {
            let (site, support) = (request.name.to_owned(), request.support.to_string());
            return Err(Error::OutsideSupport { site, value, place: String::new(), support });
        }
        let input = request.graph.input(input_name(request.name), request.shape.clone())?;
        Ok(Latent { value: input, unconstrained: None, log_jacobian: None })
    }
}

/// The log density of `model` on `records`, with its latent sites and parameters at `values` (in their supports).
///
/// ```text
/// ln p(θ, x) = ln p(θ) + Σ_i ln p(x_i | θ)
/// ```
///
/// # Errors
/// If a value is missing, left over, of the wrong shape, or outside its support; if an observed column holds a value
/// outside its site's support (an observation computed from columns is not checked); or if the model itself is wrong.
pub fn log_density(
    model: &impl Model,
    records: &Records,
    values: &BTreeMap<String, ArrayD<f64>>,
) -> Result<LogDensity> {
    let graph = Graph::new();
    let trace = trace(model, &graph, records.schema(), Given { values })?;
    if let Some(extra) = values.keys().find(|name| !trace.latents().any(|site| site.name == **name)) {
        return Err(Error::Values(format!(
            "a value was given for '{extra}', but the model has no such site"
        )));
    }
    trace.check_observations(records)?;
    let fill = |plan: &mut Plan<f64>| {
        for (name, values) in values {
            if let Ok(input) = plan.input(&input_name(name)) {
                plan.input_mut(input).iter_mut().zip(values).for_each(|(slot, &value)| *slot = value);
            }
        }
    };
    let mut plan = Plan::<f64>::new(&Program::new(&graph, &[trace.log_prior()])?);
    fill(&mut plan);
    plan.run();
    let prior = plan.output(0)[0];
    let likelihood = match trace.record_log_likelihood() {
        Some(log_likelihood) => {
            let mut plan = Plan::<f64>::new(&Program::new(&graph, &[log_likelihood])?);
            fill(&mut plan);
            let all: Vec<u64> = (0..records.len() as u64).collect();
            plan.evaluate(records, &all, 0)?.column(0).to_owned()
        }
        None => Array1::zeros(records.len()),
    };
    Ok(LogDensity { prior, likelihood })
}
