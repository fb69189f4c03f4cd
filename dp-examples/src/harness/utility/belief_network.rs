//! A sigmoid belief network on images: pixels of a held-back half.

use std::path::Path;

use dp_sampler::Seed;
use dp_vi::{ConjugateVi, Fit, Sensitive};
use ndarray::{Array1, Array2, Axis};
use ppl_core::conjugate::Curvature;
use ppl_core::{Ctx, Distribution, Model, Records};
use ppl_distributions::{Bernoulli, Normal};

use super::{Failure, Outcome, Protocol, RunOutcome, held_back};
use crate::harness::idx;

/// What is said of the problem.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Hidden units.
    pub topics: usize,
    /// Images `i` with `i % 10` equal to this are held back.
    pub fold: usize,
    /// Largest norm of one image's statistics; by default as in [`norm_for`].
    pub clip_norm: Option<f64>,
    /// Number of releases.
    pub steps: u64,
}

/// The norm of any image's statistics as long as nothing is known, each hidden unit being on or off alike:
/// then those of the weights are `(y_j − ½)/2` and those of the constants `y_j − ½`, which have the same size
/// for every image.
///
/// ```text
/// C = √(J K/16 + J/4)        J pixels, K hidden units; the other statistics are a few hundredths of it
/// ```
#[must_use]
pub fn norm_for(pixels: usize, hidden: usize) -> f64 {
    (pixels as f64 * (hidden as f64 / 16.0 + 0.25)).sqrt()
}

/// Images of the format of MNIST (`idx3-ubyte`), a row of pixels for each: 1 where a pixel is above 0.
///
/// # Errors
///
/// A file that cannot be read, or is of another format or length.
pub fn images(path: &Path) -> Result<Array2<u8>, Failure> {
    Ok(idx::images(path)?.mapv(|pixel| u8::from(pixel > 0)))
}

/// A layer of hidden units that are on or off, and pixels whose log-odds are linear in them.
pub fn model(hidden: usize) -> impl Model {
    move |ctx: &mut Ctx<'_>| {
        let pixels = ctx.records().dim("pixels")?;
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid([pixels, hidden]))?;
        let c = ctx.sample("c", Normal::new(0.0, 5.0).iid(pixels))?;
        let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(hidden))?;
        ctx.each_record(|ctx, image| {
            let z = ctx.sample("z", Bernoulli::from_logits(b))?;
            ctx.observe("pixels", Bernoulli::from_logits(w.dot(z) + c), image.get("pixels")?)
        })
    }
}

/// Measures how many pixels of the held-back half of each held-back image are right, given the other half.
///
/// # Errors
///
/// A file that cannot be read, and a fit that fails.
pub fn measure(
    train: &Path,
    labels_of: Option<&Path>,
    settings: Settings,
    protocol: &Protocol,
) -> Result<Outcome, Failure> {
    if settings.topics == 0 {
        return Err("--topics must be at least 1".into());
    }
    let all = images(train)?;
    if let Some(path) = labels_of
        && idx::labels(path)?.len() != all.nrows()
    {
        return Err(format!("{}: not as many labels as there are images", path.display()).into());
    }
    let (own, test) = held_back(all.nrows(), settings.fold)?;
    let test: Vec<usize> = test.into_iter().take(1000).collect();
    let (own, test) = (all.select(Axis(0), &own), all.select(Axis(0), &test));
    let shares = own.mapv(f64::from).mean_axis(Axis(0)).ok_or("no images")?;
    let of_mean = accuracy(&test, Seen::Half, |_, at| shares[at]);
    let records = Sensitive::new(Records::from_columns([("pixels", own)])?);
    let norm = settings.clip_norm.unwrap_or_else(|| norm_for(test.ncols(), settings.topics));
    protocol.measure("pixel accuracy", |seed| {
        let fit = ConjugateVi::new(model(settings.topics))
            .budget(protocol.budget())
            .curvature(Curvature::Fixed)
            .clip_norm(norm)
            .steps(settings.steps)
            .seed(Seed::for_tests(seed))
            .fit(&records)?;
        let mut run = RunOutcome::new(reconstruction(&fit, &test, Seen::Half)?, fit.privacy())?;
        run.more.insert("mean_image", of_mean);
        run.more.insert("all_seen", reconstruction(&fit, &test, Seen::All)?);
        Ok(run)
    })
}

/// Which pixels of a test image are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Those of even number; the others are to be predicted.
    Half,
    /// All of them, which are to be reconstructed: what the paper measures.
    All,
}

impl Seen {
    /// How far the pixels that are given lie apart.
    fn apart(self) -> usize {
        match self {
            Self::Half => 2,
            Self::All => 1,
        }
    }

    /// The pixels that count.
    fn predicted(self, pixels: usize) -> impl Iterator<Item = usize> {
        (self.apart() - 1..pixels).step_by(self.apart())
    }
}

/// The share of pixels that are right: of image number `i`, pixel `at`.
fn accuracy(test: &Array2<u8>, seen: Seen, chance: impl Fn(usize, usize) -> f64) -> f64 {
    let (mut right, mut all) = (0.0, 0.0);
    for (i, image) in test.rows().into_iter().enumerate() {
        for at in seen.predicted(image.len()) {
            right += f64::from(u8::from((chance(i, at) > 0.5) == (image[at] == 1)));
            all += 1.0;
        }
    }
    right / all
}

/// How many pixels are right, at the mean weights: those that are hidden, or all.
///
/// # Errors
///
/// A fit that has no such sites.
pub fn reconstruction(fit: &Fit, test: &Array2<u8>, seen: Seen) -> Result<f64, Failure> {
    let posterior = fit.posterior();
    let w: Array2<f64> = posterior.mean("w")?.into_dimensionality()?;
    let c: Array1<f64> = posterior.mean("c")?.into_dimensionality()?;
    let b: Array1<f64> = posterior.mean("b")?.into_dimensionality()?;
    let hidden = b.len();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    // Mean field with the fixed curvature, from the pixels that are seen.
    let mut total = Array2::<f64>::zeros((hidden, hidden));
    for j in (0..c.len()).step_by(seen.apart()) {
        let row = w.row(j);
        for k in 0..hidden {
            for l in 0..hidden {
                total[[k, l]] += row[k] * row[l];
            }
        }
    }
    let mut found = Vec::new();
    for image in test.rows() {
        let mut data = b.clone();
        for j in (0..c.len()).step_by(seen.apart()) {
            data.scaled_add(f64::from(image[j]) - 0.5 - 0.25 * c[j], &w.row(j));
        }
        let mut m = Array1::from_elem(hidden, 0.5);
        for _ in 0..20 {
            for k in 0..hidden {
                let others = total.row(k).dot(&m) - total[[k, k]] * m[k];
                m[k] = sigmoid(data[k] - 0.25 * others - 0.125 * total[[k, k]]);
            }
        }
        found.push(w.dot(&m) + &c);
    }
    Ok(accuracy(test, seen, |i, at| sigmoid(found[i][at])))
}
