//! d3p, figure 6: hierarchical logistic regression by the number of steps, and what a step takes.

use std::time::Instant;

use dp_accountant::Budget;
use dp_sampler::{Poisson, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{Clipping, Correction, DpVi, RecordWeights};
use serde_json::json;

use super::d3p_fig4::{EPSILONS, pooled};
use super::experiment::{Axes, Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use super::stand_in;
use crate::harness::utility::Failure;
use crate::harness::utility::hierarchical::{Choice, model};

fn records(size: Size) -> usize {
    size.pick(500, 60)
}

fn lengths(size: Size) -> &'static [u64] {
    size.pick(&[30, 100, 300, 1_000, 3_000, 10_000], &[10, 30])
}

fn epsilons(size: Size) -> &'static [f64] {
    size.pick(&EPSILONS[..], &EPSILONS[..1])
}

/// Steps of the paper's runs in batches of 50, which are timed and say what they come to.
fn papers_steps(size: Size) -> u64 {
    size.pick(100_000, 200)
}

fn settings(size: Size) -> serde_json::Value {
    json!({
        "records": records(size), "steps": lengths(size), "epsilons": epsilons(size), "delta": "1/N", "clip_norm": 1.0,
        "papers_steps": papers_steps(size), "papers_batch": 50,
    })
}

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let size = lab.size();
    let task = stand_in::hierarchical(500, records(size));
    let hidden = task.records()?;
    let delta = 1.0 / task.train.y.len() as f64;
    let mut rows = Vec::new();
    for &epsilon in epsilons(size) {
        let budget = Some(Budget::add_remove(epsilon, delta));
        for &steps in lengths(size) {
            let choice = Choice { budget, steps: Some(steps), ..Choice::default() };
            let fit = task.fit(&hidden, choice, Seed::for_tests(seed))?;
            let row = Row::new(
                &format!("ε {epsilon}"),
                "AUC",
                format!("T {steps}"),
                steps as f64,
                task.area(&fit)?,
            );
            rows.push(row.costing(Privacy::of(fit.privacy())?));
        }
    }
    rows.push(Row::level("not private, pooled", "AUC", "no groups", pooled(&task)?));
    // The paper's own run: batches of a tenth, 100,000 steps.
    let steps = papers_steps(size);
    let mut training = DpVi::new(model(&task.traits), AutoNormal::new())
        .budget(Budget::add_remove(epsilons(size)[0], delta))
        .subsample(Poisson::rate(50.0 / records(size) as f64)?)
        .steps(steps)
        .clip_norm(1.0)
        .clipping(Clipping::Flat)
        .weights(RecordWeights::None)
        .correction(Correction::None)
        .seed(Seed::for_tests(seed))
        .start(&hidden)?;
    let started = Instant::now();
    while training.left() > 0 {
        training.step()?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let fit = training.finish()?;
    let (series, label) = ("batches of 50", format!("T {steps}"));
    let row = Row::new(series, "AUC", &*label, steps as f64, task.area(&fit)?);
    rows.push(row.costing(Privacy::of(fit.privacy())?));
    rows.push(Row::new(series, "µs a step", label, steps as f64, 1e6 * seconds / steps as f64).time());
    Ok(rows)
}

const fn figure(series: &'static str) -> Reference {
    Reference { series, metric: "AUC", label: "", printed: Printed::Figure, expected: Expected::Nothing }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-fig6",
    item: "d3p, figure 6: AUC by the number of steps, N 500",
    source: "Prediger et al. 2022, section 5.3, figure 6",
    inputs: &[],
    minutes: 0.2,
    runs: 5,
    alone: true,
    settings,
    run,
    references: &[
        figure("ε 1"),
        figure("ε 2"),
        figure("ε 4"),
        figure("ε 8"),
        figure("not private, pooled"),
        figure("batches of 50"),
        Reference {
            series: "batches of 50",
            metric: "µs a step",
            label: "",
            printed: Printed::Nothing,
            expected: Expected::Nothing,
        },
    ],
    remarks: &[
        "The expected shape, flat from a few hundred full batches on, is what comes out. Steps of the curves are full batches; \"batches of 50\" is the paper's number of steps and batch at ε 1, by our algorithm.",
    ],
    axes: Some(Axes { x: "steps", y: "test AUC", metric: "AUC", logarithmic: true }),
};
