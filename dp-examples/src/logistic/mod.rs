//! Private logistic regressions without a formula: the main job, and the short form of `fit`.
//!
//! Here are the model and how it is fitted. [`design`] makes numbers of a table, or [`population`] draws records that
//! anybody may have; [`summary`] is what a fit says about each weight, and [`table_text`] shows it. [`arguments`] and
//! [`short_form`] are the program; the model file it writes is that of a formula with the same columns. Everything else
//! is fitted by [`regression`](crate::regression).

pub mod arguments;
mod as_model;
pub mod design;
pub mod population;
pub mod short_form;
pub mod summary;
pub mod table_text;

use std::error::Error as StdError;
use std::time::Duration;

use dp_accountant::{Budget, Ledger};
use dp_sampler::{FullBatch, Poisson, Seed, Subsampling};
use dp_vi::guides::AutoLaplace;
use dp_vi::optimiser::Schedule;
use dp_vi::{DpVi, DrawScheme, FeatureNorms, Fit, PrivacyReport, Sensitive};
use indicatif::{ProgressBar, ProgressStyle};
use nalgebra::DMatrix;
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Model, Records, Var};
use ppl_distributions::{Bernoulli, Normal};
use serde::Serialize;

use crate::logistic::summary::{Marginal, WeightSummary};
use crate::regression::learned;
use crate::regression::whitening::{Counted, Whitening, another_seed, change_features, statement};

/// Standard deviation of every weight's prior.
pub const PRIOR_SCALE: f64 = 4.0;

/// Standard deviation of every weight's prior where the design is [whitened](crate::regression::whitening).
///
/// A standard deviation of 2.5 log odds for a standard deviation of a column is a customary weak prior for
/// slopes (the default of rstanarm's `stan_glm`). Public bounds contain a column's values, and a column
/// that reaches four of its standard deviations to either side has one of 1/4 when it is scaled to [-1, 1].
/// A narrower prior contradicts tables whose bounds are generous.
pub const WIDE_PRIOR_SCALE: f64 = 10.0;

/// Bayesian logistic regression, as on paper.
///
/// ```text
/// w_j ~ N(0, 4²)          y_i ~ Bernoulli(1/(1 + exp(−x_i·w)))
/// ```
///
/// # Errors
///
/// A `ppl_core::Error` where the records have no vector column `x` or no column `y` of zeros and ones.
///
/// # Examples
///
/// ```
/// use dp_examples::logistic::model;
/// use ppl_core::{Graph, Schema, Shape, Unconstrained, trace};
///
/// let (graph, schema) = (Graph::new(), Schema::new([("x", Shape::from(3)), ("y", Shape::scalar())])?);
/// let trace = trace(&model, &graph, &schema, Unconstrained)?;
/// assert_eq!(trace.sites()[0].shape, Shape::from(3));
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, PRIOR_SCALE).iid(d))?;
    outcomes(ctx, w)
}

/// What weights say of the outcomes.
fn outcomes<'g>(ctx: &mut Ctx<'g>, w: Var<'g>) -> ppl_core::Result<()> {
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w);
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

/// Puts features (a row for each record) and labels behind the privacy wall.
///
/// # Errors
///
/// A `ppl_core::Error` where there is not one label for each row.
pub fn records(features: Array2<f64>, labels: Array1<f64>) -> ppl_core::Result<Sensitive<Records>> {
    let columns = [("x", Column::from(features)), ("y", Column::from(labels))];
    Ok(Sensitive::new(Records::from_columns(columns)?))
}

/// How to fit, where it is not left to the defaults. None of it may be chosen by looking at the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Settings {
    /// Number of noisy gradient steps.
    pub steps: Option<u64>,
    /// Probability with which a record takes part in a step; all records without one.
    pub sampling_rate: Option<f64>,
    /// Largest norm of one record's gradient.
    pub clip_norm: Option<f64>,
    /// Adam's rate, held for half of the steps and lowered to zero along a cosine; without one, steps are as
    /// long as the noise allows.
    pub learning_rate: Option<f64>,
    /// What is public of the norms of the records' features.
    #[serde(skip)]
    pub norms: Option<FeatureNorms>,
}

/// Fits the model within a budget, or without privacy where there is none, and shows a progress bar where
/// there is a terminal. The run's label comes with what is treated as public though it was read from the
/// records, for the privacy statement.
///
/// # Privacy
///
/// As [`DpVi`]: what is returned is released, unless the report says NOT PRIVATE.
///
/// # Errors
///
/// A `dp_vi::Error` where the budget cannot be met, a setting is out of range, or the records do not fit the
/// model.
pub fn fit(
    records: &Sensitive<Records>,
    budget: Option<Budget>,
    settings: &Settings,
    seed: Seed,
    (label, public): (&str, &[String]),
) -> Result<Fit, Box<dyn StdError>> {
    let vi = public.iter().fold(inference(budget, settings), |vi, statement| vi.treat_as_public(statement));
    match settings.sampling_rate {
        Some(rate) if rate < 1.0 => run(vi.subsample(Poisson::rate(rate)?), records, None, seed, label),
        _ => run(vi.subsample(FullBatch), records, None, seed, label),
    }
}

/// What a fit says of the weights.
#[derive(Debug, Clone)]
pub struct FoundWeights {
    /// Standard deviation of each weight's prior.
    pub prior: f64,
    /// Means of the posterior.
    pub means: Vec<f64>,
    /// Standard deviations of the posterior.
    pub deviations: Vec<f64>,
    /// Covariance of the posterior, row by row, where the fit knows one.
    pub covariance: Option<Vec<f64>>,
    /// Where the noisy steps led (see [`NoiseAware::point`](dp_vi::NoiseAware)), which predicts better than the means
    /// where they stop short of the mode.
    pub point: Vec<f64>,
    /// Standard deviations that there would be without privacy noise, where the fit knows of the noise.
    pub without_noise: Option<Vec<f64>>,
    /// The privacy statement, which says what intervals hold of the noise.
    pub privacy: PrivacyReport,
}

impl FoundWeights {
    /// Of a fit whose values `w` are the weights.
    fn plain(fit: &Fit) -> dp_vi::Result<Self> {
        let all = |values: ndarray::ArrayD<f64>| values.iter().copied().collect();
        Ok(Self {
            prior: PRIOR_SCALE,
            means: all(fit.posterior().mean("w")?),
            deviations: all(fit.posterior().sd("w")?),
            covariance: fit.noise_aware().map(|found| found.covariance.clone()),
            point: point_of(fit)?,
            without_noise: fit
                .noise_aware()
                .and_then(|found| Some(found.shares.as_ref()?.without_noise.clone())),
            privacy: fit.privacy().clone(),
        })
    }

    /// Of a fit in the coordinates of a whitened design.
    fn whitened(fit: &Fit, whitening: &Whitening) -> dp_vi::Result<Self> {
        let point = whitening.weights(&point_of(fit)?);
        let (prior, of) = (WIDE_PRIOR_SCALE, |covariance: &[f64]| whitening.deviations(covariance));
        let privacy = statement(fit);
        Ok(match fit.noise_aware() {
            Some(found) => Self {
                prior,
                means: whitening.weights(&found.mean),
                deviations: of(&found.covariance),
                covariance: Some(rows_of(&whitening.covariance(&found.covariance))),
                point,
                without_noise: found.shares.as_ref().map(|shares| of(&shares.covariance_without_noise)),
                privacy,
            },
            // Where nothing sound follows from the releases, nothing is known beside the prior.
            None => {
                let unknown = vec![prior; point.len()];
                let means = vec![0.0; point.len()];
                let covariance =
                    Some(rows_of(&DMatrix::from_diagonal_element(point.len(), point.len(), prior * prior)));
                Self { prior, means, deviations: unknown, covariance, point, without_noise: None, privacy }
            }
        })
    }
}

/// Where to predict from.
fn point_of(fit: &Fit) -> dp_vi::Result<Vec<f64>> {
    match fit.noise_aware().and_then(|found| found.point.clone()) {
        Some(point) => Ok(point),
        None => Ok(fit.uncorrected().mean("w")?.iter().copied().collect()),
    }
}

/// A matrix, row by row.
fn rows_of(matrix: &DMatrix<f64>) -> Vec<f64> {
    matrix.transpose().as_slice().to_vec()
}

/// Fits the model to a design with an intercept, in coordinates in which features vary about equally (see
/// [`Whitening`]), with the wide prior of [`WIDE_PRIOR_SCALE`].
///
/// Where sampling, a clip norm or a rate is named, there are more than
/// [`MOST_FEATURES`](crate::regression::whitening::MOST_FEATURES) features, or the budget is so small that moments
/// cannot be released (ε below about 1e-4), it is [`fit`]'s fit: in the coordinates of the design, with its
/// prior.
///
/// # Privacy
///
/// As [`fit`]. Of a whitened design the posterior of the [`Fit`] itself is in the coordinates found;
/// [`FoundWeights`] has the weights. The budget and the statement cover what the design is whitened by, which is
/// paid for when everything that the fit could be refused for has been checked. Features and labels are sensitive.
///
/// # Errors
///
/// As [`fit`].
pub fn fit_design(
    (features, labels): (Array2<f64>, Array1<f64>),
    public_moments: &[f64],
    budget: Budget,
    settings: &Settings,
    seed: Seed,
    (label, public): (&str, &[String]),
) -> Result<(Fit, FoundWeights), Box<dyn StdError>> {
    let is_plain = settings.sampling_rate.is_none_or(|rate| rate >= 1.0)
        && settings.clip_norm.is_none()
        && settings.learning_rate.is_none();
    let mut ledger = Ledger::new(budget)?;
    let columns = features.ncols();
    let plain = Records::from_columns([("x", Column::from(features)), ("y", Column::from(labels))])?;
    let hidden = Sensitive::new(plain.clone());
    let planned = match is_plain {
        true => Whitening::planned(public_moments, Counted::Outcomes, budget)?,
        false => None,
    };
    let inference = |whitening: &Whitening| {
        let scales = Array1::from(whitening.prior_scales(WIDE_PRIOR_SCALE)).into_dyn();
        let model = move |ctx: &mut Ctx<'_>| {
            let scales = ctx.graph().array(&scales);
            let w = ctx.sample("w", Normal::new(0.0, scales))?;
            outcomes(ctx, w)
        };
        let mut vi = whitening.inference(model, budget);
        if let Some(steps) = settings.steps {
            vi = vi.steps(steps);
        }
        public.iter().fold(vi, |vi, statement| vi.treat_as_public(statement))
    };
    if let Some(planned) = &planned {
        inference(planned).check_fit_from(&hidden, &ledger)?;
    }
    let whitening = match planned {
        Some(_) => {
            let of = (public_moments, Counted::Outcomes);
            Whitening::release(&hidden, of, budget, &mut ledger, another_seed(&seed)?)?
        }
        None => None,
    };
    let Some(whitening) = whitening else {
        let fit = fit(&hidden, Some(budget), settings, seed, (label, public))?;
        let found = FoundWeights::plain(&fit)?;
        return Ok((fit, found));
    };
    drop(hidden);
    let hidden = Sensitive::new(change_features(plain, columns, |features| whitening.features_of(features))?);
    let vi = inference(&whitening);
    let fit = run(vi, &hidden, Some(&mut ledger), seed, label)?;
    let found = FoundWeights::whitened(&fit, &whitening)?;
    Ok((fit, found))
}

/// The model of this module, and its inference.
pub type LogisticVi = DpVi<fn(&mut Ctx) -> ppl_core::Result<()>, AutoLaplace, Poisson>;

/// Inference with these settings, as [`fit`] does it. A point at each step and a normal around the last,
/// whose covariance knows of the noise.
pub fn inference(budget: Option<Budget>, settings: &Settings) -> LogisticVi {
    let mut vi = DpVi::new(model as fn(&mut Ctx) -> ppl_core::Result<()>, AutoLaplace::new())
        .draw_scheme(DrawScheme::Single);
    if let Some(steps) = settings.steps {
        vi = vi.steps(steps);
    }
    if let Some(norm) = settings.clip_norm {
        vi = vi.clip_norm(norm);
    }
    if let Some(norms) = settings.norms {
        vi = vi.feature_norms(norms);
    }
    vi = match settings.learning_rate {
        Some(rate) => vi.schedule(Schedule::HoldThenCosine(rate)),
        None => vi.noise_limited_steps(),
    };
    match budget {
        Some(budget) => vi.budget(budget),
        None => vi.without_privacy(),
    }
}

fn run<M: Model, S: Subsampling>(
    vi: DpVi<M, AutoLaplace, S>,
    records: &Sensitive<Records>,
    ledger: Option<&mut Ledger>,
    seed: Seed,
    label: &str,
) -> Result<Fit, Box<dyn StdError>> {
    // Drawn on standard error, and only where that is a terminal.
    let bar = ProgressBar::new(0);
    bar.set_style(ProgressStyle::with_template(
        "{msg:>22} [{bar:40}] {pos}/{len} steps, {per_sec}, {eta} left",
    )?);
    bar.set_message(label.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    let shown = bar.clone();
    let vi = vi.seed(seed).on_progress(move |progress| {
        shown.set_length(progress.steps);
        shown.set_position(progress.done);
    });
    let fit = match ledger {
        Some(ledger) => vi.fit_from(records, ledger),
        None => vi.fit(records),
    };
    bar.finish_and_clear();
    Ok(fit?)
}

/// What [`Summaries::second_moments`](dp_vi::summaries::Summaries::second_moments) calls its release.
const SECOND_MOMENTS: &str = "second moments of features";

/// What intervals of a fit hold, in a sentence for people.
pub fn about_intervals(fit: &Fit, prior: f64) -> String {
    let whitened = fit.privacy().releases.iter().any(|release| release.what == SECOND_MOMENTS);
    if fit.noise_aware().is_none() && whitened {
        format!(
            "Nothing sound follows from what was released: all weights have their prior, Normal(0, {prior})."
        )
    } else if let (Some(_), Some(said)) = (fit.noise_aware(), fit.privacy().intervals) {
        format!("Intervals {said}. What the releases leave open is as wide as the prior, Normal(0, {prior}).")
    } else {
        "Intervals are those of the variational posterior: they leave out the privacy noise, if there is any."
            .to_owned()
    }
}

/// Which weights a fit has hardly learned, in a sentence for people: a budget, or a number of records, that
/// says next to nothing of them. `None` where there are none, or where the fit does not say.
pub fn hardly_learned(names: &[&str], found: &FoundWeights) -> Option<String> {
    found.without_noise.as_ref()?;
    learned::hardly_learned(names.iter().zip(&found.deviations).map(|(name, sd)| (*name, *sd, found.prior)))
}

/// The posterior of each weight, beside the truth and a non-private posterior where there are such.
///
/// # Errors
///
/// Where there are not as many names as weights.
pub fn summaries(
    names: &[&str],
    truth: Option<&Array1<f64>>,
    private: &Fit,
    reference: Option<&Fit>,
) -> Result<Vec<WeightSummary>, Box<dyn StdError>> {
    let marginals = |fit: &Fit| -> Result<Vec<Marginal>, Box<dyn StdError>> {
        let (means, sds) = (fit.posterior().mean("w")?, fit.posterior().sd("w")?);
        if means.len() != names.len() {
            let (what, found, expected) = ("names of weights", names.len(), means.len());
            return Err(crate::Error::Length { what, found, expected }.into());
        }
        Ok(means
            .iter()
            .zip(&sds)
            .map(|(&mean, &sd)| Marginal::new(mean, sd))
            .collect::<crate::Result<_>>()?)
    };
    let private = marginals(private)?;
    let reference = reference.map(marginals).transpose()?;
    let summary = |(j, name): (usize, &&str)| WeightSummary {
        name: (*name).to_owned(),
        truth: truth.map(|truth| truth[j]),
        private: private[j],
        reference: reference.as_ref().map(|reference| reference[j]),
    };
    Ok(names.iter().enumerate().map(summary).collect())
}
