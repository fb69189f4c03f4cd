//! d3p, table 3: the same run with batches by different samplers.

use std::time::Instant;

use dp_accountant::{Budget, Relation};
use dp_sampler::{BallsInBins, FixedSize, Poisson, Seed, Shuffle, Subsampler, Subsampling};
use dp_vi::Clipping;
use dp_vi::optimiser::Schedule;
use serde_json::json;

use super::autoencoder::{inference, loss_of};
use super::d3p_table2::{How, Images, MNIST_INPUTS, as_printed, hidden, mnist};
use super::experiment::{Experiment, Printed, Privacy, Reference, Row, Size};
use super::lab::Lab;
use crate::utility::Failure;

fn how(size: Size) -> How {
    How { epochs: size.pick(2.0, 1.0), ..as_printed(size) }
}

/// Epochs whose batches are drawn and timed.
const EPOCHS: u64 = 5;

fn settings(size: Size) -> serde_json::Value {
    json!({ "how": how(size), "epsilon": EPSILON, "delta": "1/N", "epochs_drawn": EPOCHS })
}

const EPSILON: f64 = 1.0;
const EPOCH: &str = "seconds an epoch";
const DRAWS: &str = "milliseconds an epoch for the draws alone";
const LOSS: &str = "loss of a test image after these epochs";

/// A whole run with this sampler.
fn train<S: Subsampling>(
    series: &str,
    (batches, relation): (S, Relation),
    images: &Images,
    how: How,
    seed: u64,
) -> Result<Vec<Row>, Failure> {
    let count = images.train.nrows();
    let records = hidden(&images.train)?;
    let mut training = inference(images.widths, batches)
        .budget(Budget { epsilon: EPSILON, delta: 1.0 / count as f64, relation })
        .steps(how.steps(count))
        .clip_norm(how.clip_norm)
        .clipping(Clipping::Flat)
        .schedule(Schedule::Constant(how.rate))
        .average_tail(0.0)
        .seed(Seed::for_tests(seed))
        .start(&records)?;
    let started = Instant::now();
    while training.left() > 0 {
        training.step()?;
    }
    let seconds = started.elapsed().as_secs_f64() / how.epochs;
    let fit = training.finish()?;
    let label = format!("{} epochs", how.epochs);
    let row = Row::new(series, LOSS, &*label, how.batch, loss_of(&fit, &images.test, seed)?);
    Ok(vec![
        row.costing(Privacy::of(fit.privacy())?),
        Row::new(series, EPOCH, label, how.batch, seconds).time(),
    ])
}

/// Milliseconds to draw an epoch's batches.
fn draws<S: Subsampling>(
    series: &str,
    batches: &S,
    count: usize,
    how: How,
    seed: u64,
) -> Result<Row, Failure> {
    let mut sampler = batches.bind(count as u64, &Seed::for_tests(seed))?;
    let mut batch = Vec::with_capacity(sampler.max_batch_hint());
    let steps = (count as f64 / how.batch).ceil() as u64;
    let started = Instant::now();
    for step in 0..EPOCHS * steps {
        sampler.draw(step, &mut batch);
    }
    let milliseconds = 1e3 * started.elapsed().as_secs_f64() / EPOCHS as f64;
    Ok(Row::new(series, DRAWS, format!("batch {}", how.batch), how.batch, milliseconds).time())
}

fn run(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let (images, how) = (mnist(lab, seed)?, how(lab.size()));
    let count = images.train.nrows();
    let batch = how.batch as u64;
    let poisson = || Poisson::rate(how.batch / count as f64);
    let mut rows = train("Poisson", (poisson()?, Relation::AddRemove), &images, how, seed)?;
    rows.extend(train("fixed size", (FixedSize::batch(batch)?, Relation::ReplaceOne), &images, how, seed)?);
    rows.push(draws("Poisson", &poisson()?, count, how, seed)?);
    rows.push(draws("fixed size", &FixedSize::batch(batch)?, count, how, seed)?);
    rows.push(draws(
        "fixed size, by a keyed permutation",
        &FixedSize::batch(batch)?.by_permutation(),
        count,
        how,
        seed,
    )?);
    rows.push(draws("shuffled epochs", &Shuffle::batch(batch)?, count, how, seed)?);
    rows.push(draws("balls in bins", &BallsInBins::batch(batch)?, count, how, seed)?);
    Ok(rows)
}

const fn epoch(series: &'static str, printed: &'static str) -> Reference {
    Reference { series, metric: EPOCH, label: "", printed: Printed::Number(printed), expected: None }
}

pub(super) static EXPERIMENT: Experiment = Experiment {
    name: "d3p-table3",
    item: "d3p, table 3: samplers of batches, autoencoder on MNIST",
    source: "Prediger et al. 2022, table 3: seconds an epoch on a V100 with its keyed permutation, and with JAX's own sampler",
    inputs: &MNIST_INPUTS,
    minutes: 2.0,
    runs: 1,
    alone: true,
    settings,
    run,
    references: &[
        epoch("Poisson", ".56 (Feistel); .66 (built-in)"),
        epoch("fixed size", ".56 (Feistel); .66 (built-in)"),
        Reference {
            series: "fixed size",
            metric: LOSS,
            label: "",
            printed: Printed::Number("174.06 ± .59; 174.04 ± .61 after 20 epochs"),
            expected: None,
        },
    ],
    remarks: &[
        "Batches of fixed size are accounted under replace-one, Poisson batches under add/remove, at ε 1 each, so their noise differs: the \
         losses are no comparison of samplers. Keyed permutations of more than 1,024 records are not proven to be uniform, and runs refuse them.",
    ],
    axes: None,
};
