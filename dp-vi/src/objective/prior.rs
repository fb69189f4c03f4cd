//! The prior as array programs: its gradient everywhere, its curvature at the frontier.

use crate::error::Result;
use crate::objective::traced::Traced;
use ppl_core::{ExecutionPlan, Graph, Program, Unconstrained, gradient, hessian_vector};
use std::ops::Range;

/// Minus the second derivatives of the log prior at the frontier, the other sites held where they are.
pub(crate) struct PriorCurvature {
    product: ExecutionPlan<f64>,
    gradient: ExecutionPlan<f64>,
    density: ExecutionPlan<f64>,
}

/// Where a site is.
pub(crate) struct SiteAt<'a> {
    pub(crate) name: &'a str,
    /// Unconstrained.
    pub(crate) values: &'a [f64],
    /// Its elements of the frontier, if records touch it.
    pub(crate) frontier: Option<Range<usize>>,
}

/// The input of the vector that second derivatives are multiplied with, for a site.
pub(crate) fn tangent_name(site: &str) -> String {
    format!("tangent/{site}")
}

/// The gradient of the prior at all sites and, if wanted, its curvature at the frontier.
pub(crate) fn prior_programs<'g>(
    graph: &'g Graph,
    traced: &Traced<'g>,
    curvature: bool,
) -> Result<(ExecutionPlan<f64>, Option<PriorCurvature>)> {
    let log_density = traced.trace.log_prior() + traced.trace.log_jacobian();
    let prior = ExecutionPlan::new(&Program::new(graph, &gradient(log_density, &traced.inputs)?)?);
    if !curvature {
        return Ok((prior, None));
    }
    let frontier = traced.frontier();
    let names = traced.sites.iter().zip(&traced.touched).filter(|(_, touched)| **touched);
    let tangents: Vec<_> = names
        .map(|(site, _)| graph.input(tangent_name(&site.name), site.unconstrained_shape.clone()))
        .collect::<Result<_, _>>()?;
    let product = hessian_vector(log_density, &frontier, &tangents)?;
    let product = ExecutionPlan::new(&Program::new(graph, &product)?);
    let gradient = ExecutionPlan::new(&Program::new(graph, &gradient(log_density, &frontier)?)?);
    let density = ExecutionPlan::new(&Program::new(graph, &[log_density])?);
    Ok((prior, Some(PriorCurvature { product, gradient, density })))
}

fn set(plan: &mut ExecutionPlan<f64>, sites: &[SiteAt<'_>]) {
    for site in sites {
        if let Ok(input) = plan.input(&Unconstrained::input_name(site.name)) {
            plan.input_mut(input).copy_from_slice(site.values);
        }
    }
}

impl PriorCurvature {
    /// The log prior of all sites.
    pub(crate) fn log_density(&mut self, sites: &[SiteAt<'_>]) -> f64 {
        set(&mut self.density, sites);
        self.density.run();
        self.density.output(0)[0]
    }

    /// Whether the prior of the frontier is a normal, the other sites held where they are: its gradient is linear along
    /// a line, near `sites` and far from them, where a kink may be.
    pub(crate) fn is_normal(&mut self, sites: &[SiteAt<'_>]) -> bool {
        [1.0, 30.0, 1e3].into_iter().all(|reach| {
            let [first, middle, last] = [-1.7, 0.15, 2.0].map(|length| self.slope(sites, reach * length));
            let share = (0.15 + 1.7) / (2.0 + 1.7);
            middle.iter().zip(&first).zip(&last).all(|((middle, first), last)| {
                let straight = first + share * (last - first);
                (middle - straight).abs() <= 1e-9 * (first.abs() + last.abs())
            })
        })
    }

    /// The gradient at the frontier, moved by so much to alternating sides.
    fn slope(&mut self, sites: &[SiteAt<'_>], length: f64) -> Vec<f64> {
        let way = |k: usize| if k.is_multiple_of(2) { length } else { -0.6 * length };
        let moved = |site: &SiteAt<'_>| -> Vec<f64> {
            match site.frontier {
                Some(_) => site.values.iter().enumerate().map(|(k, value)| value + way(k)).collect(),
                None => site.values.to_vec(),
            }
        };
        let moved: Vec<Vec<f64>> = sites.iter().map(moved).collect();
        let at = sites.iter().zip(&moved);
        let at = at.map(|(site, values)| SiteAt { values, frontier: site.frontier.clone(), ..*site });
        set(&mut self.gradient, &at.collect::<Vec<_>>());
        self.gradient.run();
        (0..self.gradient.outputs()).flat_map(|output| self.gradient.output(output).to_vec()).collect()
    }

    /// The gradient of the log prior at the frontier, and minus its second derivatives row by row.
    pub(crate) fn at(&mut self, sites: &[SiteAt<'_>]) -> (Vec<f64>, Vec<f64>) {
        set(&mut self.product, sites);
        set(&mut self.gradient, sites);
        let flat = |plan: &ExecutionPlan<f64>| {
            (0..plan.outputs()).flat_map(|output| plan.output(output).to_vec()).collect()
        };
        self.gradient.run();
        let gradient: Vec<f64> = flat(&self.gradient);
        let mut curvature = Vec::with_capacity(gradient.len() * gradient.len());
        for element in 0..gradient.len() {
            for site in sites {
                let (Some(frontier), Ok(input)) =
                    (&site.frontier, self.product.input(&tangent_name(site.name)))
                else {
                    continue;
                };
                let tangent = self.product.input_mut(input);
                tangent.fill(0.0);
                if frontier.contains(&element) {
                    tangent[element - frontier.start] = 1.0;
                }
            }
            self.product.run();
            let row: Vec<f64> = flat(&self.product);
            curvature.extend(row.iter().map(|x| -x));
        }
        (gradient, curvature)
    }
}
