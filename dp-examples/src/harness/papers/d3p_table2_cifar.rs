//! d3p, table 2: CIFAR-10's network, timed on random bytes, and its loss where the images are at hand.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dp_accountant::{Relation, Sampling};
use dp_sampler::Poisson;
use ndarray::Array2;
use serde_json::json;

use super::autoencoder::{CIFAR as NETWORK, Layers, binary, convolutions, loss_of_convolutions};
use super::d3p_table2::SOURCE;
use super::experiment::{Expected, Experiment, Printed, Reference, Row, Size};
use super::lab::{Input, Lab};
use super::stand_in;
use super::training::{EPOCH, How, Named, as_printed, budget, hidden, steps_in_turn, timed};
use crate::harness::utility::Failure;

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
    let vi = || Ok(convolutions(network, Poisson::rate(batch / count as f64)?));
    let (times, fit) = steps_in_turn(vi, &records, (1, steps), seed)?;
    let mut rows = Vec::new();
    for (series, times) in ["private", "not private"].into_iter().zip(&times) {
        let milliseconds = 1e3 * times[times.len() / 2];
        rows.push(Row::new(series, STEP, format!("batch {batch}"), batch, milliseconds).time());
    }
    let parameters: usize = fit.parameters().map(|(_, values)| values.len()).sum();
    rows.push(Row::new("network", "parameters", "all", 0.0, parameters as f64));
    Ok(rows)
}

pub(super) static RANDOM: Experiment = Experiment {
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
        expected: Expected::Calculated(640_423.0, 0.0),
    }],
    remarks: &[
        "Losses are for `d3p-table2-cifar-loss`, which needs the images. Kernels of 4 × 4 at a stride of 2 and 50 latent numbers give the printed number of parameters. The printed seconds are of an epoch \
         of 391 steps: 4.22 (not private 1.64).",
    ],
    axes: None,
};

/// The data set's binary form: the last batch is the test set.
const INPUTS: [Input; 6] = [
    Input { file: "cifar-10-batches-bin/data_batch_1.bin", hash: "" },
    Input { file: "cifar-10-batches-bin/data_batch_2.bin", hash: "" },
    Input { file: "cifar-10-batches-bin/data_batch_3.bin", hash: "" },
    Input { file: "cifar-10-batches-bin/data_batch_4.bin", hash: "" },
    Input { file: "cifar-10-batches-bin/data_batch_5.bin", hash: "" },
    Input { file: "cifar-10-batches-bin/test_batch.bin", hash: "" },
];

/// Bytes of an image with its label before it, and images of a file.
const RECORD: usize = 1 + 3 * 32 * 32;
const IMAGES: u64 = 10_000;

/// The images of a batch: a label and the red, green and blue pixels of each, a byte for each number.
///
/// # Errors
///
/// A file that cannot be read, of another length than ten thousand images have, or with a label above 9. Nothing is
/// allocated for a file of another length.
fn batch(path: &Path) -> Result<Array2<u8>, Failure> {
    let at = |problem: String| Failure::from(format!("{}: {problem}", path.display()));
    let mut file = File::open(path).map_err(|error| at(format!("cannot be read: {error}")))?;
    let (length, expected) =
        (file.metadata().map_err(|error| at(error.to_string()))?.len(), IMAGES * RECORD as u64);
    if length != expected {
        return Err(at(format!("{length} bytes, expected {expected} of {IMAGES} images with labels")));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(expected).read_to_end(&mut bytes).map_err(|error| at(error.to_string()))?;
    let all = Array2::from_shape_vec((bytes.len() / RECORD, RECORD), bytes)?;
    if let Some(label) = all.column(0).iter().find(|label| **label > 9) {
        return Err(at(format!("a label is {label}, expected 0 to 9: is it CIFAR-10's binary form?")));
    }
    Ok(all.slice(ndarray::s![.., 1..]).to_owned())
}

/// Test images whose loss is looked at.
fn tested(size: Size) -> usize {
    size.pick(1_000, 10)
}

fn loss_settings(size: Size) -> serde_json::Value {
    let Layers { channels, side, latent } = network(size);
    json!({
        "printed": as_printed(size), "noise_multiplier": super::d3p_epsilon::NOISE_MULTIPLIER, "delta": "1/N",
        "channels": channels, "side": side, "latent": latent, "tested": tested(size),
    })
}

/// Pixels that are on by chance, once for each seed.
fn images(lab: &Lab, seed: u64) -> Result<[Array2<u8>; 2], Failure> {
    let parts: [Array2<u8>; 2] = match lab.is_quick() {
        true => {
            let one = stand_in::uniforms(1, 201, 70 * network(Size::Quick).pixels());
            let all =
                Array2::from_shape_vec((70, network(Size::Quick).pixels()), one)?.mapv(|u| (255.0 * u) as u8);
            [all.slice(ndarray::s![..60, ..]).to_owned(), all.slice(ndarray::s![60.., ..]).to_owned()]
        }
        false => {
            let all = INPUTS.iter().map(|input| batch(&lab.path(input)?)).collect::<Result<Vec<_>, _>>()?;
            let (test, train) = all.split_last().ok_or("no file of images")?;
            let views: Vec<_> = train.iter().map(|part| part.view()).collect();
            [
                ndarray::concatenate(ndarray::Axis(0), &views)?,
                test.slice(ndarray::s![..tested(lab.size()), ..]).to_owned(),
            ]
        }
    };
    let mut stream = 202;
    Ok(parts.map(|images| {
        stream += 1;
        binary(images.view(), &stand_in::uniforms(seed, stream, images.len()))
    }))
}

fn losses(lab: &Lab, seed: u64) -> Result<Vec<Row>, Failure> {
    let ([train, test], network, how) = (images(lab, seed)?, network(lab.size()), as_printed(lab.size()));
    let (count, records) = (train.nrows(), hidden(&train)?);
    let How { batch, .. } = how;
    let sampling = Sampling::Poisson { rate: batch / count as f64 };
    let mut rows = Vec::new();
    for (series, is_private) in [("private", true), ("not private", false)] {
        let vi =
            how.of(convolutions(network, Poisson::rate(batch / count as f64)?), seed).steps(how.steps(count));
        let vi = match is_private {
            true => vi.budget(budget(how, count, sampling, Relation::AddRemove)?),
            false => vi.without_privacy(),
        };
        let (fit, seconds) = timed(vi, &records, how.steps_of_an_epoch(count))?;
        let loss = loss_of_convolutions(&fit, network, &test, seed)?;
        let label = &*format!("batch {batch}");
        rows.extend(Named { series, metric: LOSS, label, at: batch }.rows(&fit, seconds, loss)?);
    }
    Ok(rows)
}

const LOSS: &str = "loss (negative ELBO) of a test image";

const fn printed(series: &'static str, metric: &'static str, number: &'static str) -> Reference {
    Reference { series, metric, label: "", printed: Printed::Number(number), expected: Expected::Nothing }
}

pub(super) static FROM_FILES: Experiment = Experiment {
    name: "d3p-table2-cifar-loss",
    item: "d3p, table 2: CIFAR-10's network on the images, in the data set's binary form",
    source: SOURCE,
    inputs: &INPUTS,
    minutes: 150.0,
    runs: 1,
    alone: true,
    settings: loss_settings,
    run: losses,
    references: &[
        printed("private", LOSS, "2123.05 ± .25; 2129.20 ± .26"),
        printed("not private", LOSS, "1903.29 ± 2.14; 2038.92 ± 11.06"),
        printed("private", EPOCH, "4.22; 49.34"),
        printed("not private", EPOCH, "1.64; 2.23"),
    ],
    remarks: &[
        "A pixel's three colours are on by chance, once for each seed, where the paper's programs draw them anew in each epoch; 3,072 fair coins \
         have the loss 3,072 ln 2 = 2,129.35, so the printed private losses are next to nothing learnt.",
    ],
    axes: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    #[test]
    fn a_batch_has_the_length_of_its_images_and_labels_of_ten_classes() {
        let folder = TestFolder::new();
        let path = folder.0.join("batch.bin");
        let told = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            batch(&path).unwrap_err().to_string()
        };
        assert!(told(&[3; 100]).contains("100 bytes, expected 30730000"));
        let mut bytes = vec![9; IMAGES as usize * RECORD];
        bytes[RECORD] = 10;
        assert!(told(&bytes).contains("a label is 10, expected 0 to 9"));
        bytes[RECORD] = 0;
        bytes[RECORD + 1] = 200;
        std::fs::write(&path, &bytes).unwrap();
        let images = batch(&path).unwrap();
        assert_eq!((images.dim(), images[[0, 0]], images[[1, 0]]), ((10_000, 3_072), 9, 200));
        assert!(batch(&folder.0.join("none")).unwrap_err().to_string().contains("cannot be read"));
    }
}
