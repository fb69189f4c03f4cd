//! DP-ADVI: what its noise costs, by its own formula and certified.

use dp_accountant::classical::{StepBound, Theorem, advanced_composition};
use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
use serde_json::json;

use super::experiment::{Expected, Experiment, PapersEpsilon, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use crate::harness::utility::Failure;

pub(super) const MULTIPLIERS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];
pub(super) const STEPS: u64 = 1_000;
pub(super) const DELTA: f64 = 1e-3;
const RATE: f64 = 0.02;
/// Four fifths of 4,177 shells, and a batch of q 0.02.
const RECORDS: u64 = 3_341;
const BATCH: u64 = 67;

fn settings(_: Size) -> serde_json::Value {
    json!({ "multipliers": MULTIPLIERS, "steps": STEPS, "delta": DELTA, "rate": RATE, "batch": [BATCH, RECORDS] })
}

/// Steps with noise of `2cσ`.
pub(super) fn composition(multiplier: f64, sampling: Sampling) -> Result<Composition, Failure> {
    let mechanism = Mechanism::Gaussian { noise_multiplier: 2.0 * multiplier };
    Ok(Composition::single(Event::new(mechanism, sampling)?, STEPS))
}

/// The paper's own ε: advanced composition of amplified steps, each by the classic Gaussian bound, for batches
/// without replacement of this share of the records.
pub(super) fn papers(multiplier: f64, rate: f64) -> Result<PapersEpsilon, Failure> {
    // The theorem looks at the share only.
    let records = 100_000;
    let sampling = Sampling::WithoutReplacement { batch: (rate * records as f64).round() as u64, records };
    let found = advanced_composition(
        Relation::ReplaceOne,
        &composition(multiplier, sampling)?,
        DELTA,
        Theorem::DworkRothblumVadhan,
        StepBound::ClassicGaussian,
    )?;
    Ok(PapersEpsilon {
        epsilon: found.epsilon,
        relation: Relation::ReplaceOne.to_string(),
        by: "advanced composition of amplified steps".into(),
        proven: found.proven,
    })
}

fn run(_: &Lab, _: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for multiplier in MULTIPLIERS {
        let label = format!("σ {multiplier}");
        let own = papers(multiplier, RATE)?;
        rows.push(Row::new("advanced composition", "ε, replace-one", &*label, multiplier, own.epsilon));
        let fixed = composition(multiplier, Sampling::WithoutReplacement { batch: BATCH, records: RECORDS })?;
        let spent =
            Privacy::certified(Relation::ReplaceOne, &fixed, DELTA, "67 of 3,341 without replacement")?;
        rows.push(
            Row::new("certified, fixed size", "ε, replace-one", &*label, multiplier, spent.epsilon)
                .costing(spent.beside(own)),
        );
        let poisson = composition(multiplier, Sampling::Poisson { rate: RATE })?;
        let spent = Privacy::certified(Relation::AddRemove, &poisson, DELTA, "Poisson at rate 0.02")?;
        rows.push(
            Row::new("certified, Poisson", "ε, add/remove", &*label, multiplier, spent.epsilon)
                .costing(spent),
        );
    }
    Ok(rows)
}

const fn expected(series: &'static str, label: &'static str, value: f64, unit: f64) -> Reference {
    Reference {
        series,
        metric: "ε, replace-one",
        label,
        printed: Printed::Nothing,
        expected: Expected::Calculated(value, unit),
    }
}

const fn poisson(label: &'static str, value: f64) -> Reference {
    let (series, metric) = ("certified, Poisson", "ε, add/remove");
    Reference {
        series,
        metric,
        label,
        printed: Printed::Nothing,
        expected: Expected::Calculated(value, 0.001),
    }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "advi-epsilon",
    item: "DP-ADVI: ε of noise 2cσ at q 0.02, T 1,000",
    source: "Jälkö, Dikmen and Honkela 2016, section 5 (its formulas; it prints no ε for a σ)",
    inputs: &[],
    minutes: 0.1,
    runs: 1,
    alone: false,
    settings,
    run,
    references: &[
        expected("advanced composition", "σ 1", 2034.0, 1.0),
        expected("advanced composition", "σ 2", 48.8, 0.1),
        expected("advanced composition", "σ 4", 7.14, 0.01),
        expected("advanced composition", "σ 8", 2.18, 0.01),
        expected("advanced composition", "σ 16", 0.875, 0.001),
        expected("certified, fixed size", "σ 1", 3.355, 0.001),
        expected("certified, fixed size", "σ 2", 1.022, 0.001),
        expected("certified, fixed size", "σ 4", 0.389, 0.001),
        expected("certified, fixed size", "σ 8", 0.158, 0.001),
        expected("certified, fixed size", "σ 16", 0.065, 0.001),
        poisson("σ 1", 0.863),
        poisson("σ 2", 0.353),
        poisson("σ 4", 0.150),
        poisson("σ 8", 0.063),
        poisson("σ 16", 0.025),
    ],
    remarks: &[
        "The formula's ε of a step is from the classic Gaussian bound, which is proven below 1 only: at σ 4 and less its numbers have no \
         proof.",
        "At σ 1 the sum of the steps' ε, basic composition, is half of what the formula gives (2,034), and is taken.",
    ],
    axes: None,
};
