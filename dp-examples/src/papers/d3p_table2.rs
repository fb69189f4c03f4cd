//! d3p, table 2: autoencoders of images, private and not.

use std::time::Instant;

use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling};
use dp_sampler::{Poisson, Seed};
use dp_vi::guides::Guide;
use dp_vi::optimiser::Schedule;
use dp_vi::{Clipping, DpVi, Fit, Quantile, Sensitive};
use ndarray::{Array2, s};
use ppl_core::{Model, Records};
use serde_json::json;

use super::autoencoder::{
    CIFAR as NETWORK, Layers, PAPERS, Widths, binary, convolutions, inference, loss_of,
};
use super::d3p_epsilon::NOISE_MULTIPLIER;
use super::experiment::{Experiment, PapersEpsilon, Printed, Privacy, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use crate::idx;
use crate::utility::Failure;

pub(super) const MNIST_INPUTS: [Input; 4] = [
    Input {
        file: "mnist-train-images-idx3-ubyte.gz",
        hash: "52b4b3e34c303918b10c65667913378ea1070bc634fd1ae8f87364d2a3a73cc0",
    },
    Input {
        file: "mnist-train-labels-idx1-ubyte.gz",
        hash: "ba06df3fabdb8d46b3bdaae32a954573bd59cf398eb1d8a613e21c5fb2963293",
    },
    Input {
        file: "mnist-t10k-images-idx3-ubyte.gz",
        hash: "d78b2fc87a9c0aeb5857643322bc5c31425e13c99046c2adf71838a491dbc3b9",
    },
    Input {
        file: "mnist-t10k-labels-idx1-ubyte.gz",
        hash: "e655c92ddbde0cb2a707579d07e4defe5760c5810d75bab38b9c3ba03a66d37f",
    },
];

const FASHION_INPUTS: [Input; 2] = [
    Input {
        file: "fashion-first3600-images-idx3-ubyte.gz",
        hash: "4313ba560667028b7d3950fd2176f1b8c616c83d318bbf4dc1e61407b1c53cc7",
    },
    Input {
        file: "fashion-first3600-labels-idx1-ubyte.gz",
        hash: "4f0264ba4127c334a057a8824b05ad82decc038744c9665228140ae8d441e659",
    },
];

/// The whole of it, which is taken where it is there.
const WHOLE_FASHION: [Input; 4] = [
    Input { file: "fashion-train-images-idx3-ubyte.gz", hash: "" },
    Input { file: "fashion-train-labels-idx1-ubyte.gz", hash: "" },
    Input { file: "fashion-t10k-images-idx3-ubyte.gz", hash: "" },
    Input { file: "fashion-t10k-labels-idx1-ubyte.gz", hash: "" },
];

/// Images to train on, and to test on: one where a pixel is on.
pub(super) struct Images {
    pub(super) train: Array2<u8>,
    pub(super) test: Array2<u8>,
    pub(super) widths: Widths,
    /// What part of a data set they are, for labels.
    part: &'static str,
}

/// A file of images, with as many labels as images in the file beside it.
fn labelled(lab: &Lab, images: &Input, labels: &Input) -> Result<Array2<u8>, Failure> {
    let (path, beside) = (lab.path(images)?, lab.path(labels)?);
    let (images, labels) = (idx::images(&path)?, idx::labels(&beside)?.len());
    if images.nrows() != labels {
        let (shown, count) = (beside.display(), images.nrows());
        return Err(
            format!("{shown}: {labels} labels, and there are {count} images in {}", path.display()).into()
        );
    }
    Ok(images)
}

/// Grey levels become pixels that are on or off, by chance and anew for each seed.
fn pixels(images: &Array2<u8>, seed: u64, stream: u64) -> Array2<u8> {
    binary(images.view(), &stand_in::uniforms(seed, 100 + stream, images.len()))
}

/// Small images of stripes.
fn stripes(seed: u64) -> Images {
    let all = pixels(&stand_in::images(1, 300, 6), seed, 0);
    let widths = Widths { pixels: 36, hidden: 8, latent: 2 };
    Images {
        train: all.slice(s![..240, ..]).to_owned(),
        test: all.slice(s![240.., ..]).to_owned(),
        widths,
        part: "",
    }
}

pub(super) fn mnist(lab: &Lab, seed: u64) -> Result<Images, Failure> {
    if lab.is_quick() {
        return Ok(stripes(seed));
    }
    parts(lab, &MNIST_INPUTS, seed)
}

/// Training and test images, each with their labels' file.
fn parts(
    lab: &Lab,
    [images, labels, test_images, test_labels]: &[Input; 4],
    seed: u64,
) -> Result<Images, Failure> {
    let (train, test) = (labelled(lab, images, labels)?, labelled(lab, test_images, test_labels)?);
    if let Some(other) = [&train, &test].into_iter().find(|images| images.ncols() != PAPERS.pixels) {
        return Err(format!("images have {} pixels, expected {}", other.ncols(), PAPERS.pixels).into());
    }
    Ok(Images { train: pixels(&train, seed, 0), test: pixels(&test, seed, 1), widths: PAPERS, part: "" })
}

/// The whole of Fashion where it is there, otherwise the prefix.
fn fashion(lab: &Lab, seed: u64) -> Result<Images, Failure> {
    if lab.is_quick() {
        return Ok(stripes(seed));
    }
    if lab.has(&WHOLE_FASHION) {
        return Ok(Images { part: "whole, ", ..parts(lab, &WHOLE_FASHION, seed)? });
    }
    let all = pixels(&labelled(lab, &FASHION_INPUTS[0], &FASHION_INPUTS[1])?, seed, 0);
    if all.ncols() != PAPERS.pixels {
        return Err(format!("images have {} pixels, expected {}", all.ncols(), PAPERS.pixels).into());
    }
    // Every tenth image is held back.
    let part = |held: bool| -> Array2<u8> {
        let rows: Vec<usize> = (0..all.nrows()).filter(|i| (i % 10 == 9) == held).collect();
        all.select(ndarray::Axis(0), &rows)
    };
    Ok(Images { train: part(false), test: part(true), widths: PAPERS, part: "prefix, " })
}

pub(super) fn hidden(images: &Array2<u8>) -> Result<Sensitive<Records>, Failure> {
    Ok(Sensitive::new(Records::from_columns([("pixels", images.clone())])?))
}

/// Settings of the paper's programs: Adam at a constant rate, gradients clipped to 10, the last step's weights.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(super) struct How {
    pub(super) batch: f64,
    pub(super) epochs: f64,
    pub(super) clip_norm: f64,
    pub(super) rate: f64,
}

pub(super) fn as_printed(size: Size) -> How {
    How { batch: size.pick(128.0, 32.0), epochs: size.pick(20.0, 2.0), clip_norm: 10.0, rate: 1e-3 }
}

/// Larger batches at larger steps, a norm that follows a quantile, and an average of the second half.
fn ours(size: Size) -> How {
    How { batch: size.pick(512.0, 64.0), epochs: size.pick(8.0, 2.0), clip_norm: 10.0, rate: 4e-3 }
}

impl How {
    pub(super) fn steps(self, records: usize) -> u64 {
        (self.epochs * records as f64 / self.batch).ceil() as u64
    }
}

/// The budget that the paper's noise needs, on Poisson batches.
pub(super) fn budget(how: How, records: usize) -> Result<Budget, Failure> {
    let (count, delta) = (records as f64, 1.0 / records as f64);
    let mechanism = Mechanism::Gaussian { noise_multiplier: NOISE_MULTIPLIER };
    let event = Event::new(mechanism, Sampling::Poisson { rate: how.batch / count })?;
    let run = Composition::single(event, how.steps(records));
    let spent = Privacy::certified(Relation::AddRemove, &run, delta, "")?;
    Ok(Budget::add_remove(spent.epsilon, delta))
}

/// A fit, and seconds of an epoch's steps.
fn timed<M: Model, G: Guide>(
    vi: DpVi<M, G, Poisson>,
    records: &Sensitive<Records>,
    how: How,
) -> Result<(Fit, f64), Failure> {
    let mut training = vi.start(records)?;
    let started = Instant::now();
    while training.left() > 0 {
        training.step()?;
    }
    let seconds = started.elapsed().as_secs_f64() / how.epochs;
    Ok((training.finish()?, seconds))
}

fn private(
    images: &Images,
    how: How,
    adaptive: bool,
    budget: Budget,
    seed: u64,
) -> Result<(Fit, f64), Failure> {
    let count = images.train.nrows();
    let vi = inference(images.widths, Poisson::rate(how.batch / count as f64)?)
        .budget(budget)
        .steps(how.steps(count))
        .clip_norm(how.clip_norm)
        .seed(Seed::for_tests(seed));
    let vi = match adaptive {
        true => vi
            .public_records(count as u64)
            .clipping(Clipping::Quantile(Quantile { target: 0.5, rate: 0.2 }))
            .schedule(Schedule::HoldThenCosine(how.rate)),
        false => vi.clipping(Clipping::Flat).schedule(Schedule::Constant(how.rate)).average_tail(0.0),
    };
    timed(vi, &hidden(&images.train)?, how)
}

const LOSS: &str = "loss (negative ELBO) of a test image";
const EPOCH: &str = "seconds an epoch";

fn both_private(images: &Images, size: Size, seed: u64) -> Result<Vec<Row>, Failure> {
    let count = images.train.nrows();
    let spent = budget(as_printed(size), count)?;
    let mut rows = Vec::new();
    for (series, how, adaptive) in
        [("private, printed settings", as_printed(size), false), ("private, ours", ours(size), true)]
    {
        let (fit, seconds) = private(images, how, adaptive, spent, seed)?;
        let label = format!("{}batch {}", images.part, how.batch);
        let row = Row::new(series, LOSS, &*label, how.batch, loss_of(&fit, &images.test, seed)?);
        let spent = Privacy::of(fit.privacy())?;
        // What is printed is about sixty thousand images.
        rows.push(row.costing(match count {
            60_000 => spent.beside(PapersEpsilon {
                epsilon: 0.5,
                relation: Relation::AddRemove.to_string(),
                by: "printed as about 0.5".into(),
                proven: true,
            }),
            _ => spent,
        }));
        rows.push(Row::new(series, EPOCH, label, how.batch, seconds).time());
    }
    Ok(rows)
}

fn not_private(images: &Images, size: Size, seed: u64) -> Result<Vec<Row>, Failure> {
    let (count, how) = (images.train.nrows(), as_printed(size));
    let vi = inference(images.widths, Poisson::rate(how.batch / count as f64)?)
        .without_privacy()
        .steps(how.steps(count))
        .schedule(Schedule::Constant(how.rate))
        .average_tail(0.0)
        .seed(Seed::for_tests(seed));
    let (fit, seconds) = timed(vi, &hidden(&images.train)?, how)?;
    let label = format!("{}batch {}", images.part, how.batch);
    Ok(vec![
        Row::new("not private", LOSS, &*label, how.batch, loss_of(&fit, &images.test, seed)?),
        Row::new("not private", EPOCH, label, how.batch, seconds).time(),
    ])
}

fn settings(size: Size) -> serde_json::Value {
    json!({ "printed": as_printed(size), "ours": ours(size), "noise_multiplier": NOISE_MULTIPLIER, "delta": "1/N" })
}

fn plain_settings(size: Size) -> serde_json::Value {
    json!({ "printed": as_printed(size) })
}

const fn loss(series: &'static str, printed: &'static str, expected: Option<(f64, f64)>) -> Reference {
    Reference { series, metric: LOSS, label: "", printed: Printed::Number(printed), expected }
}

const fn epoch(series: &'static str, printed: &'static str) -> Reference {
    Reference { series, metric: EPOCH, label: "", printed: Printed::Number(printed), expected: None }
}

const SOURCE: &str =
    "Prediger et al. 2022, section 5.1, table 2 (d3p; TensorFlow Privacy), seconds on a V100";
const BINARY: &str = "Pixels are on by chance, once for each seed, where the paper's programs draw them anew in each epoch; networks start from \
                      numbers of their own.";

pub(super) static MNIST: Experiment = Experiment {
    name: "d3p-table2",
    item: "d3p, table 2: autoencoder 784–400–50 on MNIST, private, 20 epochs",
    source: SOURCE,
    inputs: &MNIST_INPUTS,
    minutes: 8.0,
    runs: 1,
    alone: true,
    settings,
    run: |lab, seed| both_private(&mnist(lab, seed)?, lab.size(), seed),
    references: &[
        loss("private, printed settings", "174.06 ± .59; 171.26 ± 3.67", None),
        loss("private, ours", "174.06 ± .59; 171.26 ± 3.67", None),
        epoch("private, printed settings", ".56; 6.43"),
        epoch("private, ours", ".56; 6.43"),
    ],
    remarks: &[BINARY],
    axes: None,
};

pub(super) static PLAIN: Experiment = Experiment {
    name: "d3p-table2-plain",
    item: "d3p, table 2: the same network without privacy",
    source: SOURCE,
    inputs: &MNIST_INPUTS,
    minutes: 3.0,
    runs: 1,
    alone: true,
    settings: plain_settings,
    run: |lab, seed| not_private(&mnist(lab, seed)?, lab.size(), seed),
    references: &[loss("not private", "99.63 ± .30; 105.50 ± 1.84", None), epoch("not private", ".34; 1.58")],
    remarks: &[BINARY],
    axes: None,
};

pub(super) static FASHION: Experiment = Experiment {
    name: "d3p-table2-fashion",
    item: "d3p, table 2: Fashion, on a prefix of 3,600 of the 60,000 images unless the whole is there",
    source: SOURCE,
    inputs: &FASHION_INPUTS,
    minutes: 0.5,
    runs: 1,
    alone: true,
    settings,
    run: |lab, seed| {
        let images = fashion(lab, seed)?;
        Ok([both_private(&images, lab.size(), seed)?, not_private(&images, lab.size(), seed)?].concat())
    },
    references: &[
        loss("private, printed settings", "304.74 ± .68; 303.14 ± 8.79", None),
        loss("private, ours", "304.74 ± .68; 303.14 ± 8.79", None),
        loss("not private", "243.99 ± .29; 244.40 ± 7.56", None),
        epoch("private, printed settings", ".55; 7.19"),
        epoch("private, ours", ".55; 7.19"),
        epoch("not private", ".33; 1.70"),
    ],
    remarks: &[
        "The whole is not at hand (it is taken where fashion-train-images-idx3-ubyte.gz, its labels and those of t10k are in the folder): of the \
         prefix 3,240 images are trained on, at the printed noise and so at a larger ε, and its losses do not compare with the printed ones.",
    ],
    axes: None,
};

/// The paper's network, or a small one.
fn network(size: Size) -> Layers {
    size.pick(NETWORK, Layers { channels: [3, 2, 2, 2], side: 8, latent: 2 })
}

/// Images of random bytes, their mean number in a batch, and timed steps.
fn random(size: Size) -> (usize, f64, u64) {
    size.pick((4_000, 128.0, 12), (12, 4.0, 2))
}

const STEP: &str = "milliseconds a step";

fn cifar(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let (count, batch, steps) = random(lab.size());
    let network = network(lab.size());
    let pixels = network.pixels();
    let bytes = stand_in::uniforms(seed, 200, count * pixels);
    let images = Array2::from_shape_fn((count, pixels), |(i, j)| u8::from(bytes[i * pixels + j] < 0.5));
    let records = hidden(&images)?;
    let mut rows = Vec::new();
    let mut parameters = 0;
    for (series, is_private) in [("private", true), ("not private", false)] {
        let vi = convolutions(network, Poisson::rate(batch / count as f64)?)
            .steps(steps + 1)
            .clip_norm(10.0)
            .clipping(Clipping::Flat)
            .schedule(Schedule::Constant(1e-3))
            .seed(Seed::for_tests(seed));
        let vi = match is_private {
            true => vi.budget(Budget::add_remove(1.0, 1e-4)),
            false => vi.without_privacy(),
        };
        let mut training = vi.start(&records)?;
        training.step()?;
        let mut times = Vec::new();
        for _ in 0..steps {
            let started = Instant::now();
            training.step()?;
            times.push(started.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let milliseconds = 1e3 * times[times.len() / 2];
        rows.push(Row::new(series, STEP, format!("batch {batch}"), batch, milliseconds).time());
        let fit = training.finish()?;
        parameters = fit.parameters().map(|(_, values)| values.len()).sum();
    }
    rows.push(Row::new("network", "parameters", "all", 0.0, parameters as f64));
    Ok(rows)
}

pub(super) static CIFAR: Experiment = Experiment {
    name: "d3p-table2-cifar",
    item: "d3p, table 2: CIFAR-10's network, ON RANDOM BYTES",
    source: SOURCE,
    inputs: &[],
    minutes: 1.0,
    runs: 1,
    alone: true,
    settings: |size| {
        let Layers { channels, side, latent } = network(size);
        json!({ "images_batch_steps": random(size), "channels": channels, "side": side, "latent": latent })
    },
    run: cifar,
    references: &[Reference {
        series: "network",
        metric: "parameters",
        label: "",
        printed: Printed::Number("640,423"),
        expected: Some((640_423.0, 0.0)),
    }],
    remarks: &[
        "The images are not at hand in their own format, so there is no loss to compare with the printed 2123.05 ± .25 (not private 1903.29 ± \
         2.14). Kernels of 4 × 4 at a stride of 2 and 50 latent numbers give the printed number of parameters. The printed seconds are of an epoch \
         of 391 steps: 4.22 (not private 1.64).",
    ],
    axes: None,
};
