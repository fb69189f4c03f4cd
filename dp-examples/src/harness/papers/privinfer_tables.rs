//! PrivInfer: a tabular model by its translation: naive Bayes, whose posterior depends on tables of counts only.

use serde_json::json;

use super::experiment::{Axes, Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use crate::finite::{Adult, Noise};
use crate::harness::utility::Failure;
use dp_sampler::Seed;

const INPUTS: [Input; 1] = [Input {
    file: "adult.csv.gz",
    hash: "91d0065f76ca4fe26053a13c25162da6f319d9572e28f2193155236bded95307",
}];

const DELTA: f64 = 1e-5;

fn epsilons(size: Size) -> &'static [f64] {
    size.pick(&[0.01, 0.05, 0.1, 0.5], &[1.0])
}

fn settings(size: Size) -> serde_json::Value {
    json!({ "epsilons": epsilons(size), "delta": DELTA, "test": "every fifth record" })
}

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let adult = match lab.is_quick() {
        true => Adult::parse("stand-in", stand_in::adults(1, 300).as_bytes())?,
        false => Adult::read(&lab.path(&INPUTS[0])?)?,
    };
    let mut rows = Vec::new();
    for &epsilon in epsilons(lab.size()) {
        for (series, delta, noise, scheme) in [
            ("Gaussian noise", DELTA, Noise::Gaussian { epsilon, delta: DELTA }, "one release of all tables"),
            ("Laplace noise", 0.0, Noise::Laplace { epsilon }, "one release of all tables"),
        ] {
            let (classifier, spent) = adult.learn(Some(noise), Seed::for_tests(seed))?;
            let privacy = Privacy {
                epsilon: spent,
                delta,
                relation: dp_accountant::Relation::AddRemove.to_string(),
                scheme: scheme.to_owned(),
                noise_multiplier: None,
                papers: None,
            };
            let row = Row::new(series, METRIC, format!("ε {epsilon}"), epsilon, adult.auc(&classifier));
            rows.push(row.costing(privacy));
        }
    }
    let (classifier, _) = adult.learn(None, Seed::for_tests(seed))?;
    rows.push(Row::level("not private", METRIC, "no noise", adult.auc(&classifier)));
    Ok(rows)
}

const METRIC: &str = "test AUC";

const fn expected(series: &'static str, label: &'static str, value: f64) -> Reference {
    let (printed, expected) = (Printed::Nothing, Expected::Stated(value, 0.0005));
    Reference { series, metric: METRIC, label, printed, expected }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "privinfer-tables",
    item: "PrivInfer, a tabular model translated: naive Bayes on Adult from eleven noisy tables",
    source: "Barthe et al. 2016, section on related work: models of the language Tabular are translated; no measured table",
    inputs: &INPUTS,
    minutes: 0.1,
    runs: 10,
    alone: false,
    settings,
    run,
    references: &[
        expected("Gaussian noise", "ε 0.01", 0.806),
        expected("Gaussian noise", "ε 0.05", 0.883),
        expected("Gaussian noise", "ε 0.1", 0.893),
        expected("Gaussian noise", "ε 0.5", 0.899),
        expected("Laplace noise", "ε 0.01", 0.777),
        expected("Laplace noise", "ε 0.05", 0.872),
        expected("Laplace noise", "ε 0.1", 0.889),
        expected("Laplace noise", "ε 0.5", 0.899),
        Reference {
            series: "not private",
            metric: METRIC,
            label: "",
            printed: Printed::Nothing,
            expected: Expected::Calculated(0.8992, 0.0001),
        },
    ],
    remarks: &[
        "Where ε is small areas are above the expected numbers, because log odds are posterior means that know the noise, where those come from \
         counts clamped at 0; where it is large, and without privacy, they are below, because the bins' edges have public meanings, where those \
         were chosen on this file (BENCHMARKS.md has both).",
    ],
    axes: Some(Axes { x: "ε", y: METRIC, metric: METRIC, logarithmic: true }),
};
