//! Logistic regression: how far the private posterior is from the one without privacy.

use std::path::Path;

use dp_sampler::Seed;
use dp_vi::DpVi;
use dp_vi::guides::AutoNormal;
use ndarray::{Array1, Array2};

use super::files::features_and_labels;
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::logistic::{PRIOR_SCALE, model, records};

/// Means and standard deviations of the posterior without privacy, by Laplace's approximation.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Means.
    pub mean: Vec<f64>,
    /// Standard deviations.
    pub sd: Vec<f64>,
}

impl Reference {
    /// That of [`model`], whose weights have a prior of standard deviation [`PRIOR_SCALE`].
    ///
    /// # Errors
    ///
    /// As [`with_prior`](Self::with_prior).
    pub fn new(x: &Array2<f64>, y: &Array1<f64>) -> Result<Self, Failure> {
        Self::with_prior(x, y, PRIOR_SCALE)
    }

    /// With another standard deviation of the weights' prior, by Newton's method on the log posterior, with steps
    /// halved where they overshoot.
    ///
    /// # Errors
    ///
    /// If it does not converge.
    pub fn with_prior(x: &Array2<f64>, y: &Array1<f64>, scale: f64) -> Result<Self, Failure> {
        let d = x.ncols();
        let prior = scale.powi(-2);
        let value = |w: &Array1<f64>| {
            let eta = x.dot(w);
            let likelihood: f64 =
                eta.iter().zip(y).map(|(eta, y)| y * eta - eta.max(0.0) - (-eta.abs()).exp().ln_1p()).sum();
            likelihood - 0.5 * prior * w.dot(w)
        };
        let mut w = Array1::zeros(d);
        for _ in 0..100 {
            let p = x.dot(&w).mapv(|eta| 1.0 / (1.0 + (-eta).exp()));
            let gradient = x.t().dot(&(y - &p)) - prior * &w;
            let mut hessian = Array2::eye(d) * prior;
            let bend = p.mapv(|p| p * (1.0 - p));
            hessian += &x.t().dot(&(x * &bend.insert_axis(ndarray::Axis(1))));
            let inverse = inverse(hessian).ok_or("the non-private posterior has a singular curvature")?;
            let step = inverse.dot(&gradient);
            if step.iter().all(|x: &f64| x.abs() < 1e-10) {
                let sd = (0..d).map(|j| inverse[[j, j]].sqrt()).collect();
                return Ok(Self { mean: w.to_vec(), sd });
            }
            let (mut share, now) = (1.0, value(&w));
            // Close to the optimum the value changes by less than its rounding.
            while share > 1e-6 && value(&(&w + share * &step)) < now - 1e-9 * now.abs() {
                share *= 0.5;
            }
            w = w + share * step;
        }
        Err("Newton's method for the non-private posterior does not converge".into())
    }
}

/// The inverse of a positive definite matrix, by Gauss–Jordan elimination.
fn inverse(mut a: Array2<f64>) -> Option<Array2<f64>> {
    let n = a.nrows();
    let mut b = Array2::eye(n);
    for j in 0..n {
        let pivot = a[[j, j]];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        for k in 0..n {
            a[[j, k]] /= pivot;
            b[[j, k]] /= pivot;
        }
        for r in (0..n).filter(|&r| r != j) {
            let factor = a[[r, j]];
            for k in 0..n {
                a[[r, k]] -= factor * a[[j, k]];
                b[[r, k]] -= factor * b[[j, k]];
            }
        }
    }
    Some(b)
}

/// Fits the file's records with the default settings. The metric `error_sd` is the root mean square over
/// weights of the distance between private and non-private mean, in non-private standard deviations;
/// `sd_ratio` the mean ratio of standard deviations.
///
/// # Errors
///
/// What is wrong with the file, or a fit that fails.
pub fn measure(train: &Path, protocol: &Protocol) -> Result<Outcome, Failure> {
    let (_, x, y) = features_and_labels(train, &[])?;
    let reference = Reference::new(&x, &y)?;
    let records = records(x, y)?;
    protocol.measure("error_sd", |seed| {
        let fit = DpVi::new(model, AutoNormal::new())
            .budget(protocol.budget())
            .gradients(protocol.gradients)
            .seed(Seed::for_tests(seed))
            .fit(&records)?;
        let (mean, sd) = (fit.posterior().mean("w")?, fit.posterior().sd("w")?);
        let d = reference.mean.len() as f64;
        let squares =
            mean.iter().zip(&reference.mean).zip(&reference.sd).map(|((m, r), sd)| ((m - r) / sd).powi(2));
        let mut run = RunOutcome::new((squares.sum::<f64>() / d).sqrt(), fit.privacy())?;
        let ratio =
            |sd: &ndarray::ArrayD<f64>| sd.iter().zip(&reference.sd).map(|(sd, r)| sd / r).sum::<f64>() / d;
        run.more.insert("sd_ratio", ratio(&sd));
        run.more.insert("sd_ratio_uncorrected", ratio(&fit.uncorrected().sd("w")?));
        Ok(run)
    })
}
