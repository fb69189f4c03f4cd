//! Small data made up in memory, for quick runs and for experiments whose data are made up anyway.

use std::fmt::Write;

use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ndarray::{Array1, Array2};

use crate::harness::utility::hierarchical::{Part, Task};

/// Standard normal numbers, others for each seed and stream.
pub(super) fn normals(seed: u64, stream: u64, count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; count];
    GaussianNoise::with_purpose(&Seed::for_tests(seed), Purpose::Custom("papers data"))
        .fill(stream, &mut numbers);
    numbers
}

/// Uniform numbers between 0 and 1, likewise.
pub(super) fn uniforms(seed: u64, stream: u64, count: usize) -> Vec<f64> {
    let below = |z: f64| 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
    normals(seed, stream, count).into_iter().map(below).collect()
}

fn matrix(seed: u64, stream: u64, (rows, columns): (usize, usize)) -> Array2<f64> {
    let numbers = normals(seed, stream, rows * columns);
    Array2::from_shape_fn((rows, columns), |(i, j)| numbers[i * columns + j])
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Features, groups and traits of the d3p paper's section 3.3.
const FEATURES: usize = 5;
const GROUPS: usize = 3;

/// Groups of records whose weights have a prior in common, with as many test records as training records.
///
/// ```text
/// g_lk ~ N(0, 1)   M_dk ~ N(0, 1)   w_l ~ N(M g_l, I)   x_i ~ N(0, I)   l_i uniform   y_i ~ Bernoulli(σ(x_i·w_{l_i}))
/// ```
pub(super) fn hierarchical(seed: u64, records: usize) -> Task {
    let traits = matrix(seed, 0, (GROUPS, GROUPS));
    let m = matrix(seed, 1, (FEATURES, GROUPS));
    let w = traits.dot(&m.t()) + matrix(seed, 2, (GROUPS, FEATURES));
    let part = |stream: u64| {
        let x = matrix(seed, stream, (records, FEATURES));
        let groups = uniforms(seed, stream + 1, records);
        let labels = uniforms(seed, stream + 2, records);
        let group: Array1<u32> =
            groups.iter().map(|u| ((u * GROUPS as f64) as u32).min(GROUPS as u32 - 1)).collect();
        let y = (0..records).map(|i| {
            let logit = x.row(i).dot(&w.row(group[i] as usize));
            f64::from(u8::from(labels[i] < sigmoid(logit)))
        });
        Part { y: y.collect(), x, group }
    };
    Task { train: part(10), test: part(20), traits }
}

/// Points of five clusters at (0, 0) and (±2, ±2), of variance 1/2.
pub(super) fn mixture(seed: u64, points: usize) -> Array2<f64> {
    let (noise, which) = (normals(seed, 30, 2 * points), uniforms(seed, 31, points));
    Array2::from_shape_fn((points, 2), |(i, k)| {
        let centre = match (which[i] * 5.0) as usize {
            0 => 0.0,
            cluster if (cluster - 1) >> k & 1 == 0 => -2.0,
            _ => 2.0,
        };
        centre + noise[2 * i + k] * 0.5_f64.sqrt()
    })
}

/// A CSV file of people: three numbers, a category, and an outcome that depends on them.
pub(super) fn people(seed: u64, records: usize) -> String {
    let (x, u) = (normals(seed, 40, 3 * records), uniforms(seed, 41, records));
    let mut text = String::from("age,hours,weight,kind,outcome\n");
    for i in 0..records {
        let [age, hours, weight] = [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
        let kind = ["a", "b", "c"][i % 3];
        let logit = 1.5 * age - hours + 0.5 * f64::from(u8::from(i % 3 == 0));
        let outcome = u8::from(u[i] < sigmoid(logit));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:.3},{:.3},{:.3},{kind},{outcome}",
            50.0 + 10.0 * age,
            40.0 + 5.0 * hours,
            weight
        );
    }
    text
}

/// A CSV file with the columns of the Adult data that naive Bayes looks at.
pub(super) fn adults(seed: u64, records: usize) -> String {
    let (x, u) = (normals(seed, 45, 2 * records), uniforms(seed, 46, records));
    let mut text = String::from(
        "age,workclass,education,marital_status,occupation,relationship,race,sex,capital_gain,capital_loss,\
         hours_per_week,income\n",
    );
    for i in 0..records {
        let [age, hours] = [x[2 * i], x[2 * i + 1]];
        let (education, gain) = ([("Bachelors", 1.0), ("HS-grad", -1.0)][i % 2], [0, 0, 0, 5_000][i % 4]);
        let income = if u[i] < sigmoid(education.1 + age + hours) { ">50K" } else { "<=50K" };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:.0},Private,{},Never-married,Sales,Husband,White,{},{gain},0,{:.0},{income}",
            40.0 + 10.0 * age,
            education.0,
            ["Female", "Male"][i % 2],
            40.0 + 5.0 * hours
        );
    }
    text
}

/// Features with an intercept and 0/1 labels, for the experiments on shells.
pub(super) fn shells(seed: u64, records: usize) -> (Array2<f64>, Array1<f64>) {
    let mut x = matrix(seed, 50, (records, 5)).mapv(|z| (0.5 * z).clamp(-1.0, 1.0));
    x.column_mut(0).fill(1.0);
    let u = uniforms(seed, 51, records);
    let y = (0..records).map(|i| f64::from(u8::from(u[i] < sigmoid(6.0 * x[[i, 1]] - 4.0 * x[[i, 2]]))));
    (x.clone(), y.collect())
}

/// Documents in the format of lda-c: two topics, each of its own half of the words.
pub(super) fn documents(seed: u64, documents: usize, words: usize) -> String {
    const LENGTH: usize = 20;
    let u = uniforms(seed, 60, 2 * documents * LENGTH);
    let mut text = String::new();
    for document in 0..documents {
        let mut counts = vec![0_u32; words];
        for word in 0..LENGTH {
            let at = 2 * (document * LENGTH + word);
            let half = if (u[at] < 0.8) == (document % 2 == 0) { 0 } else { words / 2 };
            counts[(half + (u[at + 1] * (words / 2) as f64) as usize).min(words - 1)] += 1;
        }
        let parts: Vec<String> = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(word, count)| format!("{word}:{count}"))
            .collect();
        let _ = writeln!(text, "{} {}", parts.len(), parts.join(" "));
    }
    text
}

/// Images of stripes in one of four directions, from 0 to 255, with noise.
pub(super) fn images(seed: u64, images: usize, side: usize) -> Array2<u8> {
    let u = uniforms(seed, 70, images * side * side);
    Array2::from_shape_fn((images, side * side), |(image, pixel)| {
        let (row, column) = (pixel / side, pixel % side);
        let stripe = match image % 4 {
            0 => row / 2,
            1 => column / 2,
            2 => (row + column) / 2,
            _ => (row + side - column) / 2,
        };
        let noise = u[image * side * side + pixel];
        if (stripe % 2 == 0) != (noise < 0.05) { (155.0 + 100.0 * noise) as u8 } else { 0 }
    })
}
