//! d3p, figure 4: hierarchical logistic regression of 500 records, by ε.

use dp_accountant::Budget;
use dp_sampler::Seed;
use serde_json::json;

use super::experiment::{Axes, Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use crate::harness::utility::Failure;
use crate::harness::utility::hierarchical::{Choice, Task};
use crate::harness::utility::logistic::Reference as Pooled;
use crate::table::split::area_under_curve;

pub(super) const EPSILONS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

const INPUTS: [Input; 3] = [
    Input {
        file: "synthetic_hlr_seed201_train.csv",
        hash: "c123720680b8251e0127d4ead187fb3d8a533ea7222c6e433a9c9ff14b1e5f89",
    },
    Input {
        file: "synthetic_hlr_seed201_test.csv",
        hash: "c11793e7c26ec96430b16a5fe93c6e26d6becdf389bcb7bd0e73210ff5f5f79c",
    },
    Input {
        file: "synthetic_hlr_seed201_groups.csv",
        hash: "c6c4e9e6efee7de142f9d86058e22f7a176ed2bd2609ab2208aa0a1ac4a74676",
    },
];

fn epsilons(size: Size) -> &'static [f64] {
    size.pick(&EPSILONS[..], &EPSILONS[..1])
}

/// Steps of a quick fit; full ones take the default number.
pub(super) const QUICK_STEPS: u64 = 40;

fn settings(size: Size) -> serde_json::Value {
    json!({ "epsilons": epsilons(size), "delta": "1/N", "steps": size.pick(None, Some(QUICK_STEPS)), "clip_norm": 1.0 })
}

/// The area of a logistic regression that knows of no groups, without privacy.
pub(super) fn pooled(task: &Task) -> Result<f64, Failure> {
    let w = Pooled::new(&task.train.x, &task.train.y)?.mean;
    let scores = task.test.x.dot(&ndarray::Array1::from(w)).to_vec();
    Ok(area_under_curve(&scores, &task.test.y.to_vec()).ok_or("nothing to rank")?)
}

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let task = match lab.is_quick() {
        true => stand_in::hierarchical(201, 60),
        false => Task::read(&lab.path(&INPUTS[0])?, &lab.path(&INPUTS[1])?, &lab.path(&INPUTS[2])?)?,
    };
    let records = task.records()?;
    let steps = lab.size().pick(None, Some(QUICK_STEPS));
    let mut rows = Vec::new();
    for &epsilon in epsilons(lab.size()) {
        let budget = Budget::add_remove(epsilon, 1.0 / task.train.y.len() as f64);
        let choice = Choice { budget: Some(budget), steps, ..Choice::default() };
        let fit = task.fit(&records, choice, Seed::for_tests(seed))?;
        let row = Row::new("private", "AUC", format!("ε {epsilon}"), epsilon, task.area(&fit)?);
        rows.push(row.costing(Privacy::of(fit.privacy())?));
    }
    let plain = task.fit(&records, Choice { steps, ..Choice::default() }, Seed::for_tests(seed))?;
    rows.push(Row::level("not private", "AUC", "no noise", task.area(&plain)?));
    rows.push(Row::level("not private, pooled", "AUC", "no groups", pooled(&task)?));
    Ok(rows)
}

const fn private(label: &'static str, value: f64) -> Reference {
    Reference {
        series: "private",
        metric: "AUC",
        label,
        printed: Printed::Figure,
        expected: Expected::Stated(value, 0.0005),
    }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-fig4",
    item: "d3p, figure 4: AUC of hierarchical logistic regression, N 500",
    source: "Prediger et al. 2022, section 5.3, figure 4; its program, run again on this data set with 100,000 steps, gave .850 / .879 / \
             .900 / .912 (5 runs)",
    inputs: &INPUTS,
    minutes: 0.2,
    runs: 10,
    alone: false,
    settings,
    run,
    references: &[
        private("ε 1", 0.921),
        private("ε 2", 0.925),
        private("ε 4", 0.927),
        private("ε 8", 0.928),
        Reference {
            series: "not private",
            metric: "AUC",
            label: "",
            printed: Printed::Figure,
            expected: Expected::Nothing,
        },
        Reference {
            series: "not private, pooled",
            metric: "AUC",
            label: "",
            printed: Printed::Figure,
            expected: Expected::Calculated(0.63, 0.01),
        },
    ],
    remarks: &[],
    axes: Some(Axes { x: "ε", y: "test AUC", metric: "AUC", logarithmic: true }),
};
