//! d3p, table 3: the same run with batches by different samplers.

use std::time::Instant;

use dp_accountant::{Relation, Sampling};
use dp_sampler::{BallsInBins, FixedSize, Poisson, Seed, Shuffle, Subsampler, Subsampling};
use serde_json::json;

use super::autoencoder::{Bound, inference, loss_of};
use super::d3p_epsilon::NOISE_MULTIPLIER;
use super::d3p_table2::{Images, MNIST_INPUTS, mnist};
use super::experiment::{Expected, Experiment, Printed, Reference, Row, Size};
use super::lab::Lab;
use super::training::{EPOCH, How, Named, as_printed, budget, hidden, timed};
use crate::harness::utility::Failure;

/// A quarter of the paper's epochs: table 2 has a whole run.
fn how(size: Size) -> How {
    How { epochs: size.pick(5.0, 1.0), ..as_printed(size) }
}

/// Epochs whose batches are drawn and timed.
const EPOCHS: u64 = 5;

fn settings(size: Size) -> serde_json::Value {
    json!({
        "how": how(size), "noise_multiplier": NOISE_MULTIPLIER, "delta": "1/N", "epochs_drawn": EPOCHS,
    })
}

const DRAWS: &str = "milliseconds an epoch for the draws alone";
const SHARE: &str = "draws, % of the steps' time";
const LOSS: &str = "loss of a test image after five epochs";

/// A whole run with this sampler.
fn train<S: Subsampling>(
    series: &str,
    (batches, sampling, relation): (S, Sampling, Relation),
    images: &Images,
    how: How,
    seed: u64,
) -> Result<Vec<Row>, Failure> {
    let count = images.train.nrows();
    let records = hidden(&images.train)?;
    let alone = draws(series, &batches, count, how, seed)?;
    let vi = how
        .of(inference(images.widths, Bound::AtADraw, batches), seed)
        .budget(budget(how, count, sampling, relation)?)
        .steps(how.steps(count));
    let (fit, seconds) = timed(vi, &records, how.steps_of_an_epoch(count))?;
    let label = format!("batch {}", how.batch);
    let named = Named { series, metric: LOSS, label: &label, at: how.batch };
    let rows = named.rows(&fit, seconds, loss_of(&fit, &images.test, seed)?)?;
    let share = 0.1 * alone.value / seconds.mean();
    Ok([rows, vec![alone, Row::new(series, SHARE, label, how.batch, share).time()]].concat())
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
    let steps = how.steps_of_an_epoch(count);
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
    let sampled = Sampling::Poisson { rate: how.batch / count as f64 };
    let mut rows = train("Poisson", (poisson()?, sampled, Relation::AddRemove), &images, how, seed)?;
    let sampled = Sampling::WithoutReplacement { batch, records: count as u64 };
    let fixed = FixedSize::batch(batch)?;
    rows.extend(train("fixed size", (fixed, sampled, Relation::ReplaceOne), &images, how, seed)?);
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
    Reference {
        series,
        metric: EPOCH,
        label: "",
        printed: Printed::Number(printed),
        expected: Expected::Nothing,
    }
}

const fn loss(series: &'static str) -> Reference {
    let printed = Printed::Number("174.06 ± .59 (Feistel); 174.04 ± .61 (built-in), after twenty");
    Reference { series, metric: LOSS, label: "", printed, expected: Expected::Nothing }
}

const fn share(series: &'static str) -> Reference {
    let printed = Printed::Nothing;
    Reference { series, metric: SHARE, label: "", printed, expected: Expected::AtMost(1.0) }
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
        loss("Poisson"),
        loss("fixed size"),
        share("Poisson"),
        share("fixed size"),
    ],
    remarks: &[
        "Five epochs of the paper's twenty with each sampler; the whole run with Poisson batches is in table 2. The same noise with both samplers, so that losses can be compared; what it proves differs, because batches of fixed size stand \
         under replace-one, whose neighbours differ by twice as much. Keyed permutations (the paper's \"Feistel\") of more than 1,024 records are \
         not proven to be uniform, and runs refuse them, so only their draws are timed here.",
    ],
    axes: None,
};
