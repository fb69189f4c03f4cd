//! d3p, table 2: what the noise of its autoencoders costs.

use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
use serde_json::json;

use super::experiment::{Expected, Experiment, PapersEpsilon, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use crate::harness::utility::Failure;

/// Images of a data set, and steps of 20 epochs.
const SETS: [(&str, u64); 2] = [("60,000 images", 60_000), ("50,000 images", 50_000)];
const BATCH: u64 = 128;
const EPOCHS: u64 = 20;
/// Standard deviation of the noise over the clip norm.
pub(super) const NOISE_MULTIPLIER: f64 = 1.5;

/// Steps of 20 epochs in batches of 128, of which an epoch's last is counted whole.
pub(super) fn steps(records: u64) -> u64 {
    EPOCHS * records.div_ceil(BATCH)
}

fn settings(_: Size) -> serde_json::Value {
    json!({ "noise_multiplier": NOISE_MULTIPLIER, "batch": BATCH, "epochs": EPOCHS, "delta": "1/N", "steps": "epochs · ⌈N / batch⌉", "sets": SETS })
}

fn run(_: &Lab, _: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (label, records) in SETS {
        let delta = 1.0 / records as f64;
        let event = |sampling| -> Result<Composition, Failure> {
            let mechanism = Mechanism::Gaussian { noise_multiplier: NOISE_MULTIPLIER };
            Ok(Composition::single(Event::new(mechanism, sampling)?, steps(records)))
        };
        let poisson = event(Sampling::Poisson { rate: BATCH as f64 / records as f64 })?;
        let fixed = event(Sampling::WithoutReplacement { batch: BATCH, records })?;
        for (series, relation, run, scheme) in [
            ("Poisson batches", Relation::AddRemove, poisson, "Poisson, 128 on average"),
            ("batches of fixed size", Relation::ReplaceOne, fixed, "128 without replacement"),
        ] {
            let spent = Privacy::certified(relation, &run, delta, scheme)?;
            // The text prints the figure beside Poisson's formula; batches in its code have a fixed size.
            let papers = PapersEpsilon {
                epsilon: 0.5,
                relation: relation.to_string(),
                by: "printed as about 0.5".into(),
                proven: relation == Relation::AddRemove,
            };
            let row = Row::new(series, &format!("ε, {relation}"), label, records as f64, spent.epsilon);
            rows.push(row.costing(if relation == Relation::AddRemove {
                spent.beside(papers)
            } else {
                spent
            }));
        }
    }
    Ok(rows)
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-epsilon",
    item: "d3p, table 2: ε of the autoencoders' noise",
    source: "Prediger et al. 2022, section 5.1 and table 2: σ 1.5, batch 128, 20 epochs, δ 1/N",
    inputs: &[],
    minutes: 0.1,
    runs: 1,
    alone: false,
    settings,
    run,
    references: &[
        Reference {
            series: "Poisson batches",
            metric: "ε, add/remove",
            label: "60,000 images",
            printed: Printed::Number("≈ 0.5"),
            expected: Expected::Calculated(0.5357, 0.0001),
        },
        Reference {
            series: "batches of fixed size",
            metric: "ε, replace-one",
            label: "60,000 images",
            printed: Printed::Number("≈ 0.5"),
            expected: Expected::AtMost(2.505),
        },
        Reference {
            series: "Poisson batches",
            metric: "ε, add/remove",
            label: "",
            printed: Printed::Number("≈ 0.5"),
            expected: Expected::Nothing,
        },
        Reference {
            series: "batches of fixed size",
            metric: "ε, replace-one",
            label: "",
            printed: Printed::Number("≈ 0.5"),
            expected: Expected::Nothing,
        },
    ],
    remarks: &[
        "The printed ε is that of Poisson batches under add/remove, rounded; the batches that its code draws have a fixed size, whose \
         neighbours differ by a replaced record, and for these the proven ε is five times as large.",
    ],
    axes: None,
};
