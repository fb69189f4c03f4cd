//! VIPS, figure 4: the mean of a Pólya–gamma variable against its tilting.

use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
use ppl_distributions::PolyaGamma;
use serde_json::json;

use super::experiment::{Axes, Expected, Experiment, Printed, Reference, Row, Size};
use super::lab::Lab;
use crate::harness::utility::Failure;

/// Values of `c`, on both sides of where the library goes from a series to `tanh`.
const TILTINGS: [f64; 9] = [0.01, 0.1, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 30.0];

fn settings(_: Size) -> serde_json::Value {
    json!({ "tiltings": TILTINGS })
}

/// The library's mean, and by how much it differs from `tanh(c/2)/(2c)`.
fn run(_: &Lab, _: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for c in TILTINGS {
        let graph = Graph::new();
        let mean = PolyaGamma::new(c).mean(&graph).ok_or("this distribution has no mean here")?;
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[mean])?);
        plan.run();
        let exact = libm::tanh(0.5 * c) / (2.0 * c);
        let (label, found) = (format!("c {c}"), plan.output(0)[0]);
        rows.push(Row::new(SERIES, MEAN, &*label, c, found));
        rows.push(Row::new(SERIES, DISTANCE, label, c, found - exact));
    }
    Ok(rows)
}

const SERIES: &str = "Pólya–gamma (1, c)";
const MEAN: &str = "E ξ";
const DISTANCE: &str = "E ξ less tanh(c/2)/2c";

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
    references: &[
        Reference {
            series: SERIES,
            metric: MEAN,
            label: "",
            printed: Printed::Figure,
            expected: Expected::Nothing,
        },
        Reference {
            series: SERIES,
            metric: DISTANCE,
            label: "",
            printed: Printed::Nothing,
            // A few units in the last place of 1/4.
            expected: Expected::Calculated(0.0, 1e-16),
        },
    ],
    remarks: &["The curve is tanh(c/2)/2c, to rounding; below c = 0.5 the library takes its series about 0."],
    axes: Some(Axes { x: "c", y: MEAN, metric: MEAN, logarithmic: true }),
};
