//! VIPS: what its noise costs, as printed and certified.

use std::f64::consts::FRAC_1_SQRT_2;

use dp_accountant::classical::{Conversion, Renyi};
use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
use serde_json::json;

use super::experiment::{Expected, Experiment, PapersEpsilon, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use crate::harness::utility::Failure;

/// A setting of the paper: its noise multiplier in units of the sensitivity that it states, batch, records,
/// steps, δ, and the ε that it prints.
struct Setting {
    series: &'static str,
    label: &'static str,
    multiplier: f64,
    batch: (u64, u64),
    steps: u64,
    delta: f64,
    printed: Option<f64>,
    /// By how much less the noise is, in units of the right sensitivity; 1 where the paper's is right.
    factor: f64,
}

const fn setting(
    series: &'static str,
    label: &'static str,
    (multiplier, batch, records): (f64, u64, u64),
    steps: u64,
    delta: f64,
    (printed, factor): (Option<f64>, f64),
) -> Setting {
    Setting { series, label, multiplier, batch: (batch, records), steps, delta, printed, factor }
}

/// What a release of both statistics as the paper's code makes it is worth: noise of 1/S and 1/(2S) for a joint
/// sensitivity whose square is `max_t (1 + t)/2 + 4 max(1/16, (1 − t²)/8) = 5/4`.
const CODE: f64 = 0.894_427_190_999_915_9;

const SETTINGS: [Setting; 10] = [
    setting("topic models", "S 5,000", (1.24, 5_000, 400_000), 80, 1e-4, (None, FRAC_1_SQRT_2)),
    setting("topic models", "S 10,000", (1.24, 10_000, 400_000), 40, 1e-4, (None, FRAC_1_SQRT_2)),
    setting("topic models", "S 20,000", (1.24, 20_000, 400_000), 20, 1e-4, (Some(2.38), FRAC_1_SQRT_2)),
    setting("belief networks", "S 400", (1.0, 400, 60_000), 150, 1e-4, (Some(1.34), 1.0)),
    setting("belief networks", "S 800", (1.0, 800, 60_000), 75, 1e-4, (Some(1.74), 1.0)),
    setting("belief networks", "S 1,600", (1.0, 1_600, 60_000), 37, 1e-4, (Some(2.44), 1.0)),
    setting("belief networks", "S 3,200", (1.0, 3_200, 60_000), 18, 1e-4, (Some(3.34), 1.0)),
    setting("Adult", "σ 1", (1.0, 4, 1_000), 100, 1e-3, (Some(0.8), CODE)),
    setting("Adult", "σ 6", (6.0, 4, 1_000), 100, 1e-3, (Some(0.05), CODE)),
    setting("Adult", "σ 12", (12.0, 4, 1_000), 100, 1e-3, (Some(0.025), CODE)),
];

/// Orders of the Rényi divergence that the paper's numbers are found with.
const LARGEST_ORDER: u32 = 400;

fn settings(_: Size) -> serde_json::Value {
    let one = |s: &Setting| json!([s.series, s.label, s.multiplier, s.batch, s.steps, s.delta, s.factor]);
    json!({ "settings": SETTINGS.iter().map(one).collect::<Vec<_>>(), "largest_order": LARGEST_ORDER })
}

fn run(_: &Lab, _: u64) -> Result<Vec<Row>, Failure> {
    let relation = Relation::ReplaceOne;
    let mut rows = Vec::new();
    for s in &SETTINGS {
        let composition = |multiplier: f64| -> Result<Composition, Failure> {
            let (batch, records) = s.batch;
            // In units of the replace-one sensitivity, which the accountant takes for twice the norm.
            let mechanism = Mechanism::Gaussian { noise_multiplier: 2.0 * multiplier };
            let event = Event::new(mechanism, Sampling::WithoutReplacement { batch, records })?;
            Ok(Composition::single(event, s.steps))
        };
        let stated = composition(s.multiplier)?;
        let orders = (2..=LARGEST_ORDER).map(f64::from);
        let by_formula =
            Renyi::new(relation, &stated)?.epsilon_over(s.delta, Conversion::Classic, orders)?.value;
        let scheme = format!("{} of {} without replacement", s.batch.0, s.batch.1);
        let papers = |epsilon| PapersEpsilon {
            epsilon,
            relation: relation.to_string(),
            by: "printed".into(),
            proven: true,
        };
        let row = |what: &str, value| {
            Row::new(&format!("{}, {what}", s.series), "ε, replace-one", s.label, s.batch.0 as f64, value)
        };
        rows.push(row("the paper's formula", by_formula));
        let spent = Privacy::certified(relation, &stated, s.delta, &*scheme)?;
        let value = spent.epsilon;
        let spent = match s.printed {
            Some(epsilon) => spent.beside(papers(epsilon)),
            None => spent,
        };
        rows.push(row("certified, its sensitivity", value).costing(spent));
        if s.factor < 1.0 {
            let spent =
                Privacy::certified(relation, &composition(s.factor * s.multiplier)?, s.delta, &*scheme)?;
            rows.push(row("certified, right sensitivity", spent.epsilon).costing(spent));
        }
    }
    Ok(rows)
}

const fn reference(
    series: &'static str,
    label: &'static str,
    printed: Printed,
    (value, unit): (f64, f64),
) -> Reference {
    Reference {
        series,
        metric: "ε, replace-one",
        label,
        printed,
        expected: Expected::Calculated(value, unit),
    }
}

use Printed::{Nothing, Number};

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "vips-epsilon",
    item: "VIPS: ε of its settings",
    source: "Park, Foulds, Chaudhuri and Welling 2020, sections 5 to 7 (the text prints ε beside its settings)",
    inputs: &[],
    minutes: 0.2,
    runs: 1,
    alone: false,
    settings,
    run,
    references: &[
        reference("topic models, the paper's formula", "S 5,000", Nothing, (1.1639, 0.0001)),
        reference("topic models, the paper's formula", "S 10,000", Nothing, (1.6333, 0.0001)),
        reference("topic models, the paper's formula", "S 20,000", Number("2.38"), (2.3826, 0.0001)),
        reference("belief networks, the paper's formula", "S 400", Number("1.34"), (1.3453, 0.0001)),
        reference("belief networks, the paper's formula", "S 800", Number("1.74"), (1.7434, 0.0001)),
        reference("belief networks, the paper's formula", "S 1,600", Number("2.44"), (2.4475, 0.0001)),
        reference("belief networks, the paper's formula", "S 3,200", Number("3.34"), (3.3683, 0.0001)),
        reference("Adult, the paper's formula", "σ 1", Number("0.8"), (0.8162, 0.0001)),
        reference("Adult, the paper's formula", "σ 6", Number("0.05"), (0.0520, 0.0001)),
        reference("Adult, the paper's formula", "σ 12", Number("0.025"), (0.0268, 0.0001)),
        reference("topic models, certified, its sensitivity", "S 5,000", Nothing, (0.412, 0.001)),
        reference("topic models, certified, its sensitivity", "S 10,000", Nothing, (0.636, 0.001)),
        reference("topic models, certified, its sensitivity", "S 20,000", Number("2.38"), (0.984, 0.001)),
        reference("topic models, certified, right sensitivity", "S 5,000", Nothing, (0.955, 0.001)),
        reference("topic models, certified, right sensitivity", "S 10,000", Nothing, (1.469, 0.001)),
        reference("topic models, certified, right sensitivity", "S 20,000", Number("2.38"), (2.161, 0.001)),
        reference("belief networks, certified, its sensitivity", "S 400", Number("1.34"), (0.442, 0.001)),
        reference("belief networks, certified, its sensitivity", "S 800", Number("1.74"), (0.692, 0.001)),
        reference("belief networks, certified, its sensitivity", "S 1,600", Number("2.44"), (1.074, 0.001)),
        reference("belief networks, certified, its sensitivity", "S 3,200", Number("3.34"), (1.614, 0.001)),
        reference("Adult, certified, its sensitivity", "σ 1", Number("0.8"), (0.129, 0.001)),
        reference("Adult, certified, its sensitivity", "σ 6", Number("0.05"), (0.0051, 0.0001)),
        reference("Adult, certified, its sensitivity", "σ 12", Number("0.025"), (0.0008, 0.0001)),
        reference("Adult, certified, right sensitivity", "σ 1", Number("0.8"), (0.170, 0.001)),
        reference("Adult, certified, right sensitivity", "σ 6", Number("0.05"), (0.0063, 0.0001)),
        reference("Adult, certified, right sensitivity", "σ 12", Number("0.025"), (0.0012, 0.0001)),
    ],
    remarks: &[
        "Two documents can differ in every cell, so the sensitivity of the topic models' counts is √2 times the printed one; on Adult two \
         statistics of a batch are released with noise for one, and the noise of the authors' code is taken. The printed ε hold by tighter \
         accounting, not by the printed proof.",
    ],
    axes: None,
};
