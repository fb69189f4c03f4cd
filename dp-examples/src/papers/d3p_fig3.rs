//! d3p, figure 3: the time of a step against the size of its batch.

use std::time::Instant;

use dp_accountant::Budget;
use dp_sampler::{Poisson, Seed};
use dp_vi::Clipping;
use dp_vi::optimiser::Schedule;
use serde_json::json;

use super::autoencoder::{PAPERS, Widths, inference};
use super::d3p_table2::hidden;
use super::experiment::{Axes, Experiment, Printed, Reference, Row, Size};
use super::lab::Lab;
use super::stand_in;
use crate::utility::Failure;

fn batches(size: Size) -> &'static [f64] {
    size.pick(&[32.0, 64.0, 128.0, 256.0, 512.0], &[16.0])
}

/// Records and timed steps of each kind.
fn how(size: Size) -> (usize, u64) {
    size.pick((10_000, 30), (100, 3))
}

fn settings(size: Size) -> serde_json::Value {
    json!({ "batches": batches(size), "records_steps": how(size) })
}

const STEP: &str = "milliseconds a step";

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let size = lab.size();
    let (count, steps) = how(size);
    let side = size.pick(28, 6);
    let widths = size.pick(PAPERS, Widths { pixels: 36, hidden: 8, latent: 2 });
    let images = stand_in::images(seed, count, side).mapv(|pixel| u8::from(pixel > 0));
    let records = hidden(&images)?;
    let mut rows = Vec::new();
    for &batch in batches(size) {
        let start = |is_private: bool| -> Result<_, Failure> {
            let vi = inference(widths, Poisson::rate(batch / count as f64)?)
                .steps(steps + 2)
                .clip_norm(10.0)
                .clipping(Clipping::Flat)
                .schedule(Schedule::Constant(1e-3))
                .seed(Seed::for_tests(seed));
            let vi = match is_private {
                true => vi.budget(Budget::add_remove(1.0, 1e-4)),
                false => vi.without_privacy(),
            };
            let mut training = vi.start(&records)?;
            // The first steps meet memory for the first time.
            training.step()?;
            training.step()?;
            Ok(training)
        };
        // Steps of both kinds in turn, so that what else the machine does meets both.
        let mut both = [start(true)?, start(false)?];
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..steps {
            for (training, times) in both.iter_mut().zip(&mut times) {
                let started = Instant::now();
                training.step()?;
                times.push(started.elapsed().as_secs_f64());
            }
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let [private, plain] = times.each_mut().map(median);
        let label = format!("batch {batch}");
        rows.push(Row::new("private", STEP, &*label, batch, 1e3 * private).time());
        rows.push(Row::new("not private", STEP, &*label, batch, 1e3 * plain).time());
        rows.push(
            Row::new("private / not private", "ratio of medians", label, batch, private / plain).time(),
        );
    }
    Ok(rows)
}

const fn figure(series: &'static str, metric: &'static str) -> Reference {
    Reference { series, metric, label: "", printed: Printed::Figure, expected: None }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-fig3",
    item: "d3p, figure 3: time of a step by batch size, autoencoder 784–400–50",
    source: "Prediger et al. 2022, section 5.2, figure 3",
    inputs: &[],
    minutes: 1.0,
    runs: 1,
    alone: true,
    settings,
    run,
    references: &[
        figure("private", STEP),
        figure("not private", STEP),
        figure("private / not private", "ratio of medians"),
    ],
    remarks: &[
        "Steps of both kinds were taken in turn, on a machine that was busy with other work: the ratios say more than the times.",
    ],
    axes: Some(Axes { x: "batch", y: STEP, metric: STEP, logarithmic: false }),
};
