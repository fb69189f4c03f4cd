//! d3p, figure 5: the same by the number of records, on data sets made anew.

use dp_accountant::Budget;
use dp_sampler::Seed;
use serde_json::json;

use super::d3p_fig4::{EPSILONS, QUICK_STEPS};
use super::experiment::{Axes, Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use super::stand_in;
use crate::harness::utility::Failure;
use crate::harness::utility::hierarchical::Choice;

fn counts(size: Size) -> &'static [usize] {
    size.pick(&[100, 200, 500, 1_000], &[60])
}

fn epsilons(size: Size) -> &'static [f64] {
    size.pick(&EPSILONS[..], &EPSILONS[..1])
}

/// Fits of one data set, each with a seed of its own.
fn fits(size: Size) -> u64 {
    size.pick(10, 1)
}

fn settings(size: Size) -> serde_json::Value {
    json!({
        "records": counts(size), "epsilons": epsilons(size), "fits": fits(size), "delta": "1/N",
        "steps": size.pick(None, Some(QUICK_STEPS)), "clip_norm": 1.0,
    })
}

/// One data set of each size, fitted several times: the mean over fits.
fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let size = lab.size();
    let steps = size.pick(None, Some(QUICK_STEPS));
    let mut rows = Vec::new();
    for &count in counts(size) {
        let task = stand_in::hierarchical(1_000 * seed, count);
        let records = task.records()?;
        let plain =
            task.area(&task.fit(&records, Choice { steps, ..Choice::default() }, Seed::for_tests(seed))?)?;
        let name = format!("N {count}");
        for &epsilon in epsilons(size) {
            let budget = Budget::add_remove(epsilon, 1.0 / count as f64);
            let choice = Choice { budget: Some(budget), steps, ..Choice::default() };
            let (mut sum, mut spent) = (0.0, None);
            for number in 0..fits(size) {
                let fit = task.fit(&records, choice, Seed::for_tests(1_000 * seed + number))?;
                sum += task.area(&fit)?;
                spent = Some(Privacy::of(fit.privacy())?);
            }
            let mean = sum / fits(size) as f64;
            let label = format!("ε {epsilon}");
            let row = Row::new(&name, "AUC", &*label, epsilon, mean);
            rows.push(spent.into_iter().fold(row, Row::costing));
            rows.push(Row::new(&name, "AUC less that without privacy", label, epsilon, mean - plain));
        }
        rows.push(Row::level(&format!("{name}, not private"), "AUC", "no noise", plain));
    }
    Ok(rows)
}

const fn cell(series: &'static str, label: &'static str, value: f64, error: f64) -> Reference {
    Reference {
        series,
        metric: "AUC",
        label,
        printed: Printed::Figure,
        expected: Expected::Measured(value, error),
    }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-fig5",
    item: "d3p, figure 5: AUC by the number of records",
    source: "Prediger et al. 2022, section 5.3, figure 5",
    inputs: &[],
    minutes: 0.5,
    runs: 20,
    alone: false,
    settings,
    run,
    references: &[
        cell("N 100", "ε 1", 0.874, 0.025),
        cell("N 100", "ε 2", 0.903, 0.023),
        cell("N 100", "ε 4", 0.917, 0.021),
        cell("N 100", "ε 8", 0.923, 0.021),
        cell("N 200", "ε 1", 0.905, 0.019),
        cell("N 200", "ε 2", 0.916, 0.019),
        cell("N 200", "ε 4", 0.921, 0.019),
        cell("N 200", "ε 8", 0.923, 0.020),
        cell("N 500", "ε 1", 0.929, 0.011),
        cell("N 500", "ε 2", 0.932, 0.011),
        cell("N 500", "ε 4", 0.934, 0.011),
        cell("N 500", "ε 8", 0.935, 0.012),
        cell("N 1000", "ε 1", 0.937, 0.012),
        cell("N 1000", "ε 2", 0.939, 0.012),
        cell("N 1000", "ε 4", 0.939, 0.012),
        cell("N 1000", "ε 8", 0.940, 0.012),
    ],
    remarks: &[
        "± is over data sets, of which each is fitted ten times; data sets differ more than runs, so the difference to the fit without \
         privacy is the better comparison. The expected numbers are of five other data sets by the same law, and so have larger errors.",
    ],
    axes: Some(Axes { x: "ε", y: "test AUC", metric: "AUC", logarithmic: true }),
};
