//! VIPS, figure 4: the mean of a Pólya–gamma variable against its tilting.

use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
use ppl_distributions::PolyaGamma;
use serde_json::json;

use super::experiment::{Axes, Experiment, Printed, Reference, Row, Size};
use super::lab::Lab;
use crate::utility::Failure;

/// Values of `c`, on both sides of where the library goes from a series to `tanh`.
const TILTINGS: [f64; 9] = [0.01, 0.1, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 30.0];

fn settings(_: Size) -> serde_json::Value {
    json!({ "tiltings": TILTINGS })
}

/// By how much the library's mean differs from `tanh(c/2)/(2c)`.
fn run(_: &Lab, _: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for c in TILTINGS {
        let graph = Graph::new();
        let mean = PolyaGamma::new(c).mean(&graph).ok_or("this distribution has no mean here")?;
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[mean])?);
        plan.run();
        let exact = libm::tanh(0.5 * c) / (2.0 * c);
        rows.push(Row::new(
            "E ξ",
            "distance from tanh(c/2)/2c",
            format!("c {c}"),
            c,
            plan.output(0)[0] - exact,
        ));
    }
    Ok(rows)
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "vips-fig4",
    item: "VIPS, figure 4: E ξ against c",
    source: "Park et al. 2020, figure 4: a curve",
    inputs: &[],
    minutes: 0.1,
    runs: 1,
    alone: false,
    settings,
    run,
    references: &[Reference {
        series: "E ξ",
        metric: "distance from tanh(c/2)/2c",
        label: "",
        printed: Printed::Figure,
        // A few units in the last place of 1/4.
        expected: Some((0.0, 1e-16)),
    }],
    remarks: &[],
    axes: Some(Axes { x: "c", y: "difference", metric: "distance from tanh(c/2)/2c", logarithmic: true }),
};
