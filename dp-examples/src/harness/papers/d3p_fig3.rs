//! d3p, figure 3: the time of a step against the size of its batch.

use dp_sampler::Poisson;
use serde_json::json;

use super::autoencoder::{Bound, PAPERS, Widths, inference};
use super::experiment::{Axes, Expected, Experiment, Printed, Reference, Row, Size};
use super::lab::Lab;
use super::stand_in;
use super::training::{hidden, steps_in_turn};
use crate::harness::utility::Failure;

fn batches(size: Size) -> &'static [f64] {
    size.pick(&[32.0, 64.0, 128.0, 256.0, 512.0], &[16.0])
}

/// Records and timed steps of each kind.
fn how(size: Size) -> (usize, u64) {
    size.pick((10_000, 60), (100, 3))
}

fn settings(size: Size) -> serde_json::Value {
    json!({ "batches": batches(size), "records_steps": how(size), "times": "fastest and median" })
}

const BEST: &str = "milliseconds of the fastest step";
const MEDIAN: &str = "milliseconds of the median step";
const RATIO_OF_BEST: &str = "ratio of the fastest steps";
const RATIO_OF_MEDIANS: &str = "ratio of the median steps";

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let size = lab.size();
    let (count, steps) = how(size);
    let side = size.pick(28, 6);
    let widths = size.pick(PAPERS, Widths { pixels: 36, hidden: 8, latent: 2 });
    let images = stand_in::images(seed, count, side).mapv(|pixel| u8::from(pixel > 0));
    let records = hidden(&images)?;
    let mut rows = Vec::new();
    for &batch in batches(size) {
        let vi = || Ok(inference(widths, Bound::AtADraw, Poisson::rate(batch / count as f64)?));
        let (times, _) = steps_in_turn(vi, &records, (2, steps), seed)?;
        let label = format!("batch {batch}");
        for (metric, ratio, place) in
            [(BEST, RATIO_OF_BEST, 0), (MEDIAN, RATIO_OF_MEDIANS, steps as usize / 2)]
        {
            let [private, plain] = times.each_ref().map(|times| times[place]);
            for (series, value, metric) in [
                ("private", 1e3 * private, metric),
                ("not private", 1e3 * plain, metric),
                ("private / not private", private / plain, ratio),
            ] {
                rows.push(Row::new(series, metric, &*label, batch, value).time());
            }
        }
    }
    Ok(rows)
}

const fn figure(series: &'static str, metric: &'static str) -> Reference {
    Reference { series, metric, label: "", printed: Printed::Figure, expected: Expected::Nothing }
}

const fn at_128(metric: &'static str) -> Reference {
    let (series, label, expected) = ("private / not private", "batch 128", Expected::AtMost(1.3));
    Reference { series, metric, label, printed: Printed::Figure, expected }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-fig3",
    item: "d3p, figure 3: time of a step by batch size, autoencoder 784–400–50",
    source: "Prediger et al. 2022, section 5.2, figure 3",
    inputs: &[],
    minutes: 0.5,
    runs: 1,
    alone: true,
    settings,
    run,
    references: &[
        figure("private", BEST),
        figure("not private", BEST),
        figure("private", MEDIAN),
        figure("not private", MEDIAN),
        at_128(RATIO_OF_BEST),
        at_128(RATIO_OF_MEDIANS),
        figure("private / not private", RATIO_OF_BEST),
        figure("private / not private", RATIO_OF_MEDIANS),
    ],
    remarks: &[
        "Steps of both kinds are taken in turn, so that other work on the machine meets both: the ratios, and the fastest of 60 steps, say more \
         than the medians. Work in double precision; `bench` times the same step in single precision.",
    ],
    axes: Some(Axes { x: "batch", y: BEST, metric: BEST, logarithmic: false }),
};
