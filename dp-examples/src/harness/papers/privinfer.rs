//! PrivInfer: its lemmas, and posteriors of few records released by several mechanisms, checked by enumeration.

use ppl_core::finite::{AddRemove, ReplaceOne, dirichlet_hellinger, dirichlet_kullback_leibler};
use serde_json::json;

use super::experiment::{Expected, Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use crate::finite::{Name, Question, Report, compare, over_coins, over_faces};
use crate::harness::utility::Failure;

const PRIORS: [(&str, [f64; 2]); 6] = [
    ("(0.1, 0.1)", [0.1, 0.1]),
    ("(0.5, 0.5)", [0.5, 0.5]),
    ("(1, 1)", [1.0, 1.0]),
    ("(2, 2)", [2.0, 2.0]),
    ("(5, 5)", [5.0, 5.0]),
    ("(1, 0.1)", [1.0, 0.1]),
];

fn lemma_settings(_: Size) -> serde_json::Value {
    json!({ "priors": PRIORS })
}

fn lemmas(_: &Lab, _: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (label, prior) in PRIORS {
        for (metric, bound) in [
            ("Hellinger distance, replace-one", dirichlet_hellinger::<ReplaceOne>(&prior)?),
            ("Hellinger distance, add/remove", dirichlet_hellinger::<AddRemove>(&prior)?),
            ("KL divergence, replace-one", dirichlet_kullback_leibler::<ReplaceOne>(&prior)?),
        ] {
            rows.push(Row::new("neighbours' posteriors", metric, label, prior[1], bound.upper()));
        }
    }
    Ok(rows)
}

const fn lemma(metric: &'static str, label: &'static str, value: f64, unit: f64) -> Reference {
    let printed = Printed::Nothing;
    Reference {
        series: "neighbours' posteriors",
        metric,
        label,
        printed,
        expected: Expected::Calculated(value, unit),
    }
}

const HELLINGER: &str = "Hellinger distance, replace-one";
const ADDED: &str = "Hellinger distance, add/remove";
const KL: &str = "KL divergence, replace-one";

pub(super) static LEMMAS: Experiment = Experiment {
    name: "privinfer-lemmas",
    item: "PrivInfer, lemmas 6.1 to 6.3: how far a record moves a posterior, by prior",
    source: "Barthe et al. 2016, section 6: no table of numbers; a constant for the Hellinger distance",
    inputs: &[],
    minutes: 0.1,
    runs: 1,
    alone: false,
    settings: lemma_settings,
    run: lemmas,
    references: &[
        lemma(HELLINGER, "(0.1, 0.1)", 0.8689, 0.0001),
        lemma(HELLINGER, "(0.5, 0.5)", 0.6028, 0.0001),
        lemma(HELLINGER, "(1, 1)", 0.4633, 0.0001),
        lemma(HELLINGER, "(2, 2)", 0.3412, 0.0001),
        lemma(HELLINGER, "(5, 5)", 0.2207, 0.0001),
        lemma(HELLINGER, "(1, 0.1)", 0.7492, 0.0001),
        lemma(ADDED, "(0.1, 0.1)", 0.7106, 0.0001),
        lemma(ADDED, "(0.5, 0.5)", 0.4496, 0.0001),
        lemma(ADDED, "(1, 1)", 0.3373, 0.0001),
        lemma(ADDED, "(2, 2)", 0.2450, 0.0001),
        lemma(ADDED, "(5, 5)", 0.1570, 0.0001),
        lemma(ADDED, "(1, 0.1)", 0.7106, 0.0001),
        lemma(KL, "(0.1, 0.1)", 10.0, 1e-6),
        lemma(KL, "(0.5, 0.5)", 2.0, 1e-6),
        lemma(KL, "(1, 1)", 1.0, 1e-6),
        lemma(KL, "(2, 2)", 0.5, 1e-6),
        lemma(KL, "(5, 5)", 0.2, 1e-6),
        lemma(KL, "(1, 0.1)", 8.544, 0.001),
    ],
    remarks: &[
        "The paper's lemma gives √(1 − π/4) = 0.4633 for any positive prior; it holds where no parameter of the prior is below 1.",
    ],
    axes: None,
};

const EPSILONS: [f64; 4] = [0.1, 0.5, 1.0, 2.0];
const COINS: u64 = 20;
const FACES: u64 = 8;

fn settings_of(records: u64, size: Size) -> serde_json::Value {
    json!({ "records": size.pick(records, 5), "epsilons": size.pick(&EPSILONS[..], &EPSILONS[2..3]) })
}

/// The expected Hellinger distance of what each mechanism releases from the true posterior.
fn mechanisms(
    lab: &Lab,
    records: u64,
    noise: &[Name],
    over: fn(Question) -> Result<Report, Failure>,
) -> Result<Vec<Row>, Failure> {
    let size = lab.size();
    let mut rows = Vec::new();
    for &epsilon in size.pick(&EPSILONS[..], &EPSILONS[2..3]) {
        let records = size.pick(records, 5);
        for (name, report) in compare(noise, |name| over(Question::new(name, records, epsilon)))? {
            let distance = report.expected_hellinger.ok_or("a mechanism without an expected distance")?;
            let privacy = Privacy {
                epsilon: report.checked.upper,
                delta: report.claimed_delta.unwrap_or(0.0),
                relation: dp_accountant::Relation::ReplaceOne.to_string(),
                scheme: format!("all {records} records, by enumeration"),
                noise_multiplier: None,
                papers: None,
            };
            let name = name.replace('_', " ");
            rows.push(
                Row::new(&name, "expected Hellinger distance", format!("ε {epsilon}"), epsilon, distance)
                    .costing(privacy),
            );
        }
    }
    Ok(rows)
}

const fn mechanism(series: &'static str, label: &'static str, value: f64) -> Reference {
    let (metric, printed) = ("expected Hellinger distance", Printed::Nothing);
    Reference { series, metric, label, printed, expected: Expected::Calculated(value, 0.0001) }
}

pub(super) static BIAS: Experiment = Experiment {
    name: "privinfer-bias",
    item: "PrivInfer, learnBias: 20 throws of a coin, released in several ways",
    source: "Barthe et al. 2016, section 2: a program, and no measured table in the part at hand",
    inputs: &[],
    minutes: 0.1,
    runs: 1,
    alone: false,
    settings: |size| settings_of(COINS, size),
    run: |lab, _| mechanisms(lab, COINS, &[Name::Geometric], over_coins),
    references: &[
        mechanism("geometric", "ε 0.1", 0.5615),
        mechanism("geometric", "ε 0.5", 0.2827),
        mechanism("geometric", "ε 1", 0.1477),
        mechanism("geometric", "ε 2", 0.0511),
        mechanism("exponential", "ε 0.1", 0.6972),
        mechanism("exponential", "ε 0.5", 0.6551),
        mechanism("exponential", "ε 1", 0.5969),
        mechanism("exponential", "ε 2", 0.4701),
        mechanism("exponential calibrated", "ε 0.1", 0.6842),
        mechanism("exponential calibrated", "ε 0.5", 0.5823),
        mechanism("exponential calibrated", "ε 1", 0.4412),
        mechanism("exponential calibrated", "ε 2", 0.1909),
    ],
    remarks: &[
        "\"exponential\" is the paper's mechanism, with the Hellinger distance as its score; the ε beside each is what enumeration over all \
         neighbours finds, which for it is less than half of what it claims.",
    ],
    axes: Some(super::Axes {
        x: "ε",
        y: "expected Hellinger distance",
        metric: "expected Hellinger distance",
        logarithmic: true,
    }),
};

pub(super) static FACES_EXPERIMENT: Experiment = Experiment {
    name: "privinfer-faces",
    item: "PrivInfer, learnP: 8 throws of a die with three faces",
    source: "Barthe et al. 2016, section 2: a program, and no measured table in the part at hand",
    inputs: &[],
    minutes: 0.1,
    runs: 1,
    alone: false,
    settings: |size| settings_of(FACES, size),
    run: |lab, _| mechanisms(lab, FACES, &[Name::Geometric, Name::DiscreteGaussian], over_faces),
    references: &[],
    remarks: &["The discrete Gaussian's ε is at δ 1e-5, that of the others at δ 0."],
    axes: Some(super::Axes {
        x: "ε",
        y: "expected Hellinger distance",
        metric: "expected Hellinger distance",
        logarithmic: true,
    }),
};
