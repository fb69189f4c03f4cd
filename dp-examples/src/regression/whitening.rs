//! Designs whose features vary about equally in all directions, by noisy second moments.
//!
//! The noise of a clipped gradient is equally large in all directions, and what records say is not: columns whose
//! public bounds are wide, that few records have, or that nearly repeat each other have curvatures a hundred times
//! smaller than others. In coordinates in which features have about unit second moments, all directions stand out of
//! the noise alike. The posterior is that of the same model, carried over by a matrix that is public.

use dp_accountant::{
    Budget, Composition, Event, Mechanism, Purse, Relation, Sampling, calibrate_noise_multiplier,
};
use dp_sampler::{FullBatch, Purpose, Seed};
use dp_vi::guides::AutoLaplace;
use dp_vi::summaries::Summaries;
use dp_vi::{
    Correction, DpVi, DrawScheme, FeatureMoments, FeatureNorms, Fit, InitialValues, PrivacyReport, Release,
    SMALLEST_CLIP_NORM, Sensitive,
};
use nalgebra::{DMatrix, DVector, SymmetricEigen};
use ndarray::{Array2, ArrayView2};
use ppl_core::records::ColumnData;
use ppl_core::{Model, Records};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::formula::matrix::by_blocks;

/// Share of the budget, in which Gaussian releases add up, for the number of records: as that of fits whose
/// steps are limited by the noise, which need it too.
const COUNT_SHARE: f64 = 0.01;

/// Share of the budget for each of the releases of second moments.
///
/// On three generated designs (800 to 20,000 records, 7 to 34 columns, 4 runs each) two releases of 5 %
/// gave smaller errors than one of 10 %, by 7 to 36 % at ε of 1 and 3; with two of 3 % they were up to 15 %
/// larger.
const MOMENTS_SHARE: f64 = 0.05;

/// Releases of second moments: each is in the coordinates that the ones before it have found, and sees in
/// them what the noise hid before.
const STAGES: usize = 2;

/// Share of what is left for the curvature, [`dp_vi::DpVi`]'s default.
pub(crate) const CURVATURE_SHARE: f64 = 0.15;

/// What the noise may add to a variance and be next to nothing: where it adds less, longer records keep
/// their weight.
pub(crate) const NEGLIGIBLE: f64 = 0.02;

/// What the noise of gradients may add to a variance before records of up to [`FAR`] typical norms lose weight.
///
/// Weights cost more than the noise of a longer norm where the model is wrong about records far out: of 16 real tables
/// with weights from the typical norm on, the mode of the weighted likelihood was .1 to .7 standard deviations away
/// from that of the plain one, .3 to 1.9 for the worst coefficient, and 4 for a table of word counts; from 2.5 times
/// that norm on it was less than .6 for the worst, but for the last. A tenth of a variance is a twentieth of a length.
const SMALL: f64 = 0.1;

/// The longest records of those tables have 1.4 to 9 typical norms, the median 3.5.
const FAR: f64 = 4.0;

/// The norm that gradients are clipped to where records of the typical norm have gradients of `least`, and the noise of
/// all steps together for a norm of 1 has this deviation beside the `information` of all records.
///
/// ```text
/// C = max(least, √(i/50 ÷ s²), min(√(i/10 ÷ s²), 4 least))          i the information, s the noise's deviation
/// ```
pub(crate) fn clip_norm(least: f64, information: f64, deviation: f64) -> f64 {
    let at = |share: f64| (share * information).sqrt() / deviation;
    least.max(at(NEGLIGIBLE)).max(at(SMALL).min(FAR * least))
}

/// The ε above which moments are released as at it. Their noise is next to nothing there; and what is not
/// drawn exactly as it is accounted for bounds the ε that a fit can make use of, to 33 at a δ of 1e-5 and
/// 10 at 1e-15.
const MOST_EPSILON: f64 = 16.0;

/// Largest number of features that are whitened: as of a curvature that is released as a whole.
pub const MOST_FEATURES: usize = 128;

/// Coordinates in which features vary about equally, found from noisy second moments.
///
/// ```text
/// M̃ = Σ T x (T x)ᵀ + E = V diag(λ) Vᵀ,   M̂ = V diag(max(λ, 0) + s √(2D)) Vᵀ/Ñ       s the noise's deviation, Ñ a noisy count
/// T ← M̂^(−1/2) T,  twice, from the identity;  at last turned to  T = diag(b) Uᵀ
/// x′ = T x,   u = Tᵀ u′,   u ~ N(m, τ² I)  ⇔  u′_k ~ N((Uᵀ m)_k/b_k, τ²/b_k²) independent
/// ```
///
/// The second time records that are longer than their typical norm are cut to it, as those of a rare category are in
/// coordinates that have stretched it, and moments are found too small; they are taken for no less than the first time
/// they were known to be, `I − 2 s √(2D)/Ñ T Tᵀ`.
///
/// Weights whose priors have different standard deviations `s_j` are `s_j u_j` of features `x_j s_j`, whose priors have
/// one.
///
/// `s √(2D)` is the largest eigenvalue that the noise alone has. With it added no direction is taken for
/// one of which more is known, so a direction that the noise hides is stretched as far as the noise allows
/// and no further; where it hides all of them, `T` is a multiple of the identity.
#[derive(Debug, Clone, PartialEq)]
pub struct Whitening {
    /// `b`
    stretch: Vec<f64>,
    /// `U`
    directions: DMatrix<f64>,
    records: f64,
    /// The variance of an outcome that is yes or no, as far as is known.
    spread: f64,
    /// The root of the mean square of the whitened features' norms, as far as is known.
    typical: f64,
    /// The share of each whitened feature's second moment that is not the records' but what the noise may hide.
    hidden: Vec<f64>,
    /// The noise multiplier of a single release for all of the budget.
    single: f64,
    releases: Vec<Release>,
}

/// What is counted at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// All records.
    Records,
    /// All records, and those of which `y` is 1: outcomes that are yes or no say the less of weights, the rarer one of
    /// the two is.
    Outcomes,
}

/// The variance of an outcome that is as often yes as no.
const EVEN: f64 = 0.25;

/// What the releases are called.
const COUNT: &str = "number of records";
const COUNTS: &str = "numbers of records and of positive ones";
const MOMENTS: &str = "second moments of features";

/// Of the text that holds a whitening.
const VERSION: u64 = 4;

/// Numbers by their bits, for a fit that goes on needs the same features to the last one.
#[derive(Serialize, Deserialize)]
struct Stored {
    whitening: u64,
    stretch: Vec<u64>,
    /// Column by column.
    directions: Vec<u64>,
    hidden: Vec<u64>,
    /// Records, variance of an outcome, typical norm, single noise multiplier.
    scales: [u64; 4],
}

/// The noise multiplier of a single release for all of a budget, as far as a fit can make use of it.
pub(crate) fn single_noise(budget: Budget) -> dp_accountant::Result<f64> {
    let capped = Budget { epsilon: budget.epsilon.min(MOST_EPSILON), ..budget };
    Ok(calibrate_noise_multiplier(&capped, gaussian)?.noise_multiplier)
}

/// What is released to whiten, for a noise multiplier of a single release for all of the budget.
fn releases(relation: Relation, single: f64, counted: Counted) -> dp_vi::Result<Vec<Release>> {
    let moments = Mechanism::Gaussian { noise_multiplier: single / MOMENTS_SHARE.sqrt() };
    let moments = Release::new(MOMENTS, Event::new(moments, Sampling::None)?, STAGES as u64);
    // Where one record replaces another, their number is public.
    let noise = single / COUNT_SHARE.sqrt();
    Ok(match (relation, counted) {
        (Relation::AddRemove, Counted::Records) => {
            vec![Release::new(COUNT, Summaries::count_event(noise)?, 1), moments]
        }
        (Relation::AddRemove, Counted::Outcomes) => {
            vec![Release::new(COUNTS, Summaries::mean_event(relation, noise)?, 1), moments]
        }
        (Relation::ReplaceOne, _) => vec![moments],
    })
}

/// A single release of the Gaussian mechanism.
fn gaussian(noise_multiplier: f64) -> dp_accountant::Result<Composition> {
    let mut all = Composition::new();
    all.push(Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None)?, 1);
    Ok(all)
}

impl Whitening {
    /// What is released to whiten features, and features as they are: to plan a fit with before anything is paid for.
    ///
    /// `public_moments` says what is expected of each feature's square from its bounds alone, if its values
    /// were spread evenly over them. `None` where there are no features or more than [`MOST_FEATURES`], or where
    /// the budget is so small or large that the noise cannot be drawn.
    ///
    /// # Errors
    ///
    /// A `dp_vi::Error` where an expected square is negative or not finite, or the budget is out of range.
    pub fn planned(public_moments: &[f64], counted: Counted, budget: Budget) -> dp_vi::Result<Option<Self>> {
        let features = public_moments.len();
        if let Some(&value) = public_moments.iter().find(|moment| !(**moment >= 0.0 && moment.is_finite())) {
            let (what, requirement) = ("an expected square of a feature", "finite and not negative");
            return Err(dp_vi::Error::OutOfRange { what, requirement, value });
        }
        let single = single_noise(budget)?;
        let drawable = |noise: f64| (2e-3..5e5).contains(&noise);
        let in_range = drawable(single / COUNT_SHARE.sqrt()) && drawable(single);
        if !(1..=MOST_FEATURES).contains(&features) || !in_range {
            return Ok(None);
        }
        let typical = public_moments.iter().sum::<f64>().max(SMALLEST_CLIP_NORM).sqrt();
        Ok(Some(Self {
            stretch: vec![1.0; features],
            directions: DMatrix::identity(features, features),
            records: 1.0,
            spread: EVEN,
            typical,
            hidden: vec![1.0; features],
            single,
            releases: releases(budget.relation, single, counted)?,
        }))
    }

    /// Releases a number of records and second moments of the column `x`, for 11 % of a budget.
    ///
    /// `None`, and nothing is released, where [`planned`](Self::planned) has none.
    ///
    /// # Privacy
    ///
    /// Three releases of [`Summaries`], each paid for from the purse; all of them are affordable before the first is
    /// made. [`releases`](Self::releases) lists them. The number of records is public under replace-one, and costs
    /// nothing there.
    ///
    /// # Errors
    ///
    /// As [`planned`](Self::planned); a `dp_vi::Error` where the column is not there, a number is NaN, or the
    /// purse does not hold enough.
    pub fn release(
        records: &Sensitive<Records>,
        (public_moments, counted): (&[f64], Counted),
        budget: Budget,
        purse: &mut (impl Purse + ?Sized),
        seed: Seed,
    ) -> dp_vi::Result<Option<Self>> {
        let Some(planned) = Self::planned(public_moments, counted, budget)? else { return Ok(None) };
        let mut all = Composition::new();
        all.extend(planned.releases.iter().map(|release| (release.event, release.count)));
        purse.ledger().clone().debit_all(&all)?;
        let Self { single, releases, .. } = planned;
        let features = public_moments.len();
        let count_noise = single / COUNT_SHARE.sqrt();
        let mut summaries = Summaries::new(records, seed)?;
        let (number, spread) = match (counted, budget.relation) {
            (Counted::Outcomes, Relation::AddRemove) => {
                let found = summaries.mean("y", (0.0, 1.0), count_noise, purse)?;
                (found.count, spread_of(found.value, found.noise))
            }
            _ => (summaries.count(count_noise, purse)?, EVEN),
        };
        // Less than the noise is as good as the noise.
        let number = number.max(count_noise).max(1.0);
        let public = DMatrix::from_diagonal(&DVector::from_column_slice(public_moments));
        let edge_of = (2.0 * features as f64).sqrt();
        let moments_noise = single / MOMENTS_SHARE.sqrt();
        // Symmetric, as are all matrices here but `turn`.
        let mut transform = DMatrix::<f64>::identity(features, features);
        let mut typical = public.trace().max(SMALLEST_CLIP_NORM).sqrt();
        let (mut turned, mut raised_by) = (DMatrix::<f64>::zeros(features, features), 0.0);
        let mut known = DMatrix::<f64>::zeros(features, features);
        for _ in 0..STAGES {
            let largest = typical * typical;
            let rows = Array2::from_shape_fn((features, features), |(j, k)| transform[(j, k)]);
            let found = summaries.second_moments("x", rows.view(), largest, moments_noise, purse)?;
            let noisy = DMatrix::from_fn(features, features, |j, k| found.matrix[(j, k)]);
            let edge = found.deviation * edge_of;
            // Rows longer than the norm are cut, and then the ones before are the better measurement.
            let least_known = at_least(noisy.clone(), &(known * number));
            let raised = raise(&least_known, |value| (value.max(0.0) + edge) / number);
            // Second moments of x itself.
            let back = raise(&transform, f64::recip);
            let moments = &back * raised * &back;
            // Rounding may take the smallest below 0, where columns repeat each other.
            let least = (1e-12 * moments.trace()).max(f64::MIN_POSITIVE);
            transform = raise(&moments, |value| value.max(least).sqrt().recip());
            let turn = &transform * back;
            let measured = (&turn * noisy * turn.transpose()).trace() / number;
            let uncertain = found.deviation * (turn.transpose() * &turn).norm() / number;
            // Moments of about 1, less what was added for the noise and as much as it may have added itself.
            known = DMatrix::identity(features, features) - (2.0 * edge / number) * &turn * turn.transpose();
            (turned, raised_by) = (turn.clone(), edge / number);
            let expected = (&transform * &public * &transform).trace();
            // One standard deviation above what was measured, but not above what the bounds say: a norm that is too
            // small takes weight from most records.
            typical = (measured.max(0.0) + uncertain).min(expected).max(SMALLEST_CLIP_NORM).sqrt();
        }
        let found = SymmetricEigen::new(transform);
        let stretch = found.eigenvalues.as_slice().to_vec();
        let turned = found.eigenvectors.tr_mul(&turned);
        let hidden: Vec<f64> =
            turned.row_iter().map(|row| (raised_by * row.norm_squared()).min(1.0)).collect();
        let usable = typical.is_finite() && stretch.iter().all(|b| *b > 0.0 && b.is_finite());
        let whitening = Self {
            stretch,
            directions: found.eigenvectors,
            records: number,
            spread,
            typical,
            hidden,
            single,
            releases,
        };
        match usable {
            true => Ok(Some(whitening)),
            // What has been paid for is paid for; without a transformation that can be undone there is none.
            false => Ok(Some(Self {
                stretch: vec![1.0; features],
                directions: DMatrix::identity(features, features),
                typical: public.trace().sqrt(),
                hidden: vec![1.0; features],
                ..whitening
            })),
        }
    }

    /// All of it as text in JSON, to the last bit.
    pub fn to_json(&self) -> String {
        let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect();
        let stored = Stored {
            whitening: VERSION,
            stretch: bits(&self.stretch),
            directions: bits(self.directions.as_slice()),
            hidden: bits(&self.hidden),
            scales: [self.records, self.spread, self.typical, self.single].map(f64::to_bits),
        };
        // Whole numbers and truth values always can be written.
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// What [`to_json`](Self::to_json) wrote, of this many features and for this budget.
    ///
    /// # Privacy
    ///
    /// What was released follows from the budget and is not taken from the text, so that a text that was
    /// altered states no less than was paid for.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn from_json(
        text: &str,
        (features, counted): (usize, Counted),
        budget: Budget,
    ) -> Result<Self, String> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let number = |bits: &u64| f64::from_bits(*bits);
        let (stretch, directions): (Vec<f64>, Vec<f64>) =
            (stored.stretch.iter().map(number).collect(), stored.directions.iter().map(number).collect());
        let hidden: Vec<f64> = stored.hidden.iter().map(number).collect();
        let [records, spread, typical, single] = stored.scales.map(f64::from_bits);
        let sound = |x: &f64| *x > 0.0 && x.is_finite();
        if stored.whitening != VERSION {
            return Err(format!("it is of version {}, and this program reads {VERSION}", stored.whitening));
        }
        if stretch.len() != features || hidden.len() != features || directions.len() != features * features {
            return Err(format!("it is of {} coefficients, and this fit has {features}", stretch.len()));
        }
        if !(stretch.iter().chain(&[records, spread, typical, single]).all(sound)
            && spread <= EVEN
            && hidden.iter().all(|share| (0.0..=1.0).contains(share))
            && directions.iter().all(|x| x.is_finite()))
        {
            return Err("it holds numbers that no whitening has".to_owned());
        }
        if single_noise(budget).map_err(|error| error.to_string())? != single {
            return Err("it is of another budget".to_owned());
        }
        let releases = releases(budget.relation, single, counted).map_err(|error| error.to_string())?;
        let directions = DMatrix::from_vec(features, features, directions);
        Ok(Self { stretch, directions, records, spread, typical, hidden, single, releases })
    }

    /// Everything that was released.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The number of records, with noise.
    pub fn records(&self) -> u64 {
        self.records as u64
    }

    /// Features in these coordinates, a row for each record.
    pub fn features(&self, features: ArrayView2<'_, f64>) -> Array2<f64> {
        self.features_of(features.to_owned())
    }

    /// The same of features that are not needed any more, in the memory in which they are.
    pub fn features_of(&self, mut features: Array2<f64>) -> Array2<f64> {
        let turn = self.turn();
        // Row by row: what a record becomes depends on its own numbers alone, to the last bit.
        by_blocks(&mut features, |block| {
            let mut whitened = vec![0.0; turn.ncols()];
            for row in block.chunks_exact_mut(turn.nrows().max(1)) {
                whiten(&turn, row, &mut whitened);
                row.copy_from_slice(&whitened);
            }
        });
        features
    }

    /// What features are multiplied by: a row for each, with a column for each coordinate.
    pub(crate) fn turn(&self) -> Array2<f64> {
        Array2::from_shape_fn(self.directions.shape(), |(j, k)| self.directions[(j, k)] * self.stretch[k])
    }

    /// Standard deviations of the prior of the weights in these coordinates, for weights `N(0, scale²)`.
    pub fn prior_scales(&self, scale: f64) -> Vec<f64> {
        self.stretch.iter().map(|b| scale / b).collect()
    }

    /// Means of the prior of the weights in these coordinates, for weights of these means.
    pub fn prior_means(&self, means: &[f64]) -> Vec<f64> {
        let turned = self.directions.tr_mul(&DVector::from_column_slice(means));
        turned.iter().zip(&self.stretch).map(|(mean, b)| mean / b).collect()
    }

    /// Inference of the weights in these coordinates, of a model whose one generalised linear term, a Bernoulli's, has
    /// the [whitened features](Self::features): steps as long as the noise allows, within what the budget has left.
    pub fn inference<M: Model>(&self, model: M, budget: Budget) -> DpVi<M, AutoLaplace, FullBatch> {
        // Residuals are weighted below this ε, so that none is above one half.
        let bound = if budget.epsilon < dp_vi::BOUNDS_RESIDUALS_BELOW { 0.5 } else { 1.0 };
        let (clip_norm, norms) = self.norms(bound);
        DpVi::new(model, AutoLaplace::new())
            .draw_scheme(DrawScheme::Single)
            .budget(budget)
            .released_before(self.releases.iter().cloned())
            .whitened_features()
            .feature_moments(self.moments())
            .noise_limited_steps()
            .clip_norm(clip_norm)
            .feature_norms(norms)
            .public_records(self.records())
            .subsample(FullBatch)
    }

    /// Inference of the weights in these coordinates, of a model with another likelihood of [whitened
    /// features](Self::features): the clip norm follows the gradients, and the correction is by the second moments of
    /// scores.
    pub fn inference_by_scores<M: Model>(&self, model: M, budget: Budget) -> DpVi<M, AutoLaplace, FullBatch> {
        DpVi::new(model, AutoLaplace::new())
            .draw_scheme(DrawScheme::Single)
            .budget(budget)
            .released_before(self.releases.iter().cloned())
            .feature_moments(self.moments())
            .public_records(self.records())
            .initial_values(InitialValues::PriorMedian)
            .correction(Correction::Full)
            // Whitened features are of order one already.
            .rough_fit(false)
            .subsample(FullBatch)
    }

    /// What is known of the second moments of features in these coordinates.
    ///
    /// With what was added to it for the noise, the estimate that the last coordinates are from has a second moment of
    /// 1 in each of them. What was added is `√(2D)` of the noise's standard deviations.
    fn moments(&self) -> FeatureMoments {
        let edge_of = (2.0 * self.hidden.len() as f64).sqrt();
        FeatureMoments {
            mean: self.hidden.iter().map(|hidden| 1.0 - hidden).collect(),
            deviation: self.hidden.iter().map(|hidden| hidden / edge_of).collect(),
        }
    }

    /// The share of the budget that is left.
    pub(crate) fn left() -> f64 {
        1.0 - COUNT_SHARE - STAGES as f64 * MOMENTS_SHARE
    }

    /// The root of the mean square of the norms of features in these coordinates, as far as it is known.
    pub(crate) fn typical(&self) -> f64 {
        self.typical
    }

    /// `T`, which takes features to these coordinates.
    pub(crate) fn stretched(&self) -> DMatrix<f64> {
        DMatrix::from_diagonal(&DVector::from_column_slice(&self.stretch)) * self.directions.transpose()
    }

    /// The noise multiplier of a single release for all of the budget.
    pub(crate) fn single(&self) -> f64 {
        self.single
    }

    /// The length of features above which their part of a curvature is cut, where it is released with this noise
    /// multiplier: longer ones keep their weight where the noise of it is next to nothing beside `information` in each
    /// direction.
    pub(crate) fn length(&self, information: f64, noise_multiplier: f64) -> f64 {
        let edge_of = (2.0 * self.stretch.len() as f64).sqrt();
        self.typical.max((NEGLIGIBLE * information / (noise_multiplier * edge_of)).sqrt())
    }

    /// The clip norm for residuals of at most `bound`, and what is public of the features' norms.
    ///
    /// ```text
    /// C = r max(t, √(Nv/(2·50))/(r σ), min(√(Nv/(2·10))/(r σ), 4 t))
    /// ```
    ///
    /// At the second the noise adds at most 1/50 to the variance of a direction of curvature Nv/2, half of what N
    /// records have if nothing is predicted of outcomes of variance v, and at the third 1/10. `t` is the typical norm,
    /// `σ` the multiplier of all steps together. What is taken for the length of the longest curvature follows
    /// likewise, for a `v` of 1/4, from the noise of its release.
    pub fn norms(&self, bound: f64) -> (f64, FeatureNorms) {
        let left = Self::left();
        let gradients = self.single / (left * (1.0 - CURVATURE_SHARE)).sqrt();
        let norm = clip_norm(bound * self.typical, 0.5 * self.spread * self.records, gradients);
        let length =
            self.length(0.5 * EVEN * self.records, 0.25 * self.single / (left * CURVATURE_SHARE).sqrt());
        (norm, FeatureNorms { typical: self.typical, largest: length })
    }

    /// Weights of the original features that are those of whitened ones.
    pub fn weights(&self, whitened: &[f64]) -> Vec<f64> {
        let stretched = DVector::from_fn(whitened.len(), |k, _| whitened[k] * self.stretch[k]);
        (&self.directions * stretched).as_slice().to_vec()
    }

    /// The covariance of the original weights, for that of whitened ones, row by row.
    pub(crate) fn covariance(&self, covariance: &[f64]) -> DMatrix<f64> {
        let n = self.stretch.len();
        let inner = DMatrix::from_fn(n, n, |j, k| covariance[j * n + k] * self.stretch[j] * self.stretch[k]);
        &self.directions * inner * self.directions.transpose()
    }

    /// Standard deviations of the original weights, for a covariance of whitened ones, row by row.
    pub fn deviations(&self, covariance: &[f64]) -> Vec<f64> {
        self.covariance(covariance).diagonal().iter().map(|variance| variance.max(0.0).sqrt()).collect()
    }
}

/// The variance of an outcome that is yes with this probability, or with one that is one standard deviation of the
/// noise closer to one half.
fn spread_of(share: f64, noise: f64) -> f64 {
    let share = share.min(1.0 - share).max(0.0);
    let share = (share + noise).min(0.5);
    (share * (1.0 - share)).clamp(f64::MIN_POSITIVE, EVEN)
}

/// The features of one record in the coordinates of a [turn](Whitening::turn).
pub(crate) fn whiten(turn: &Array2<f64>, features: &[f64], whitened: &mut [f64]) {
    whitened.fill(0.0);
    for (x, row) in features.iter().zip(turn.rows()) {
        whitened.iter_mut().zip(row).for_each(|(to, by)| *to += x * by);
    }
}

/// The privacy statement of a fit of whitened features, which has their prior where nothing sound follows from what was
/// released.
pub fn statement(fit: &Fit) -> PrivacyReport {
    let mut privacy = fit.privacy().clone();
    if fit.noise_aware().is_none() {
        privacy.intervals = Some("are those of the prior: nothing sound follows from what was released");
    }
    privacy
}

/// A seed of its own for another sequence of releases: as secret as this one.
pub(crate) fn another_seed(seed: &Seed) -> dp_sampler::Result<Seed> {
    Ok(match seed.is_secret() {
        true => Seed::from_os()?,
        false => Seed::for_tests(seed.streams(Purpose::Custom("whitening")).at(0).next_u64()),
    })
}

/// The least matrix above the first that is nowhere below the second: `A + (B − A)₊`.
fn at_least(matrix: DMatrix<f64>, least: &DMatrix<f64>) -> DMatrix<f64> {
    let above = raise(&(least - &matrix), |value| value.max(0.0));
    matrix + above
}

/// A function of a symmetric matrix, by its eigenvalues.
pub(crate) fn raise(matrix: &DMatrix<f64>, of: impl Fn(f64) -> f64) -> DMatrix<f64> {
    let found = SymmetricEigen::new(0.5 * (matrix + matrix.transpose()));
    let whole = &found.eigenvectors
        * DMatrix::from_diagonal(&found.eigenvalues.map(of))
        * found.eigenvectors.transpose();
    0.5 * (&whole + whole.transpose())
}

/// Records with other features of as many columns in the place of theirs, which are not copied where no other records
/// share them.
pub(crate) fn change_features(
    records: Records,
    columns: usize,
    change: impl FnOnce(Array2<f64>) -> Array2<f64>,
) -> ppl_core::Result<Records> {
    let shape = (records.len(), columns);
    records.change_column("x", |x| {
        let numbers = match x {
            ColumnData::F64(numbers) => numbers,
            others => others.numbers().collect(),
        };
        let wrong = |error: ndarray::ShapeError| ppl_core::Error::Records(format!("column 'x': {error}"));
        Ok(change(Array2::from_shape_vec(shape, numbers).map_err(wrong)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logistic::{self, Settings, WIDE_PRIOR_SCALE};
    use dp_accountant::Ledger;
    use dp_sampler::{GaussianNoise, NoiseSource};
    use ndarray::Array1;

    fn budget(epsilon: f64) -> Budget {
        Budget { epsilon, delta: 1e-5, relation: Relation::AddRemove }
    }

    /// An intercept, two columns that nearly repeat each other, and a narrow one far from the middle of its
    /// bounds; labels of known weights.
    fn table(records: usize) -> (Array2<f64>, Array1<f64>) {
        let source = GaussianNoise::new(&Seed::for_tests(11));
        let mut features = Array2::zeros((records, 4));
        let mut labels = Array1::zeros(records);
        for (i, (mut row, label)) in features.rows_mut().into_iter().zip(&mut labels).enumerate() {
            let mut z = [0.0; 4];
            source.fill(i as u64, &mut z);
            let one = 0.3 * z[0];
            row.assign(&ndarray::arr1(&[1.0, one, one + 0.05 * z[1], -0.6 + 0.06 * z[2]]));
            let eta = row.dot(&ndarray::arr1(&[3.0, 4.0, -3.0, 5.0]));
            // Of a normal variable, the logistic one of the same rank within 5 %.
            *label = f64::from(eta + 1.7 * z[3] > 0.0);
        }
        let clip = |x: &f64| x.clamp(-1.0, 1.0);
        (features.map(clip), labels)
    }

    const PUBLIC: [f64; 4] = [1.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];

    fn whitening(records: usize, epsilon: f64, seed: u64) -> (Whitening, Array2<f64>, Ledger) {
        let (features, labels) = table(records);
        let hidden = logistic::records(features.clone(), labels).unwrap();
        let mut ledger = Ledger::new(budget(epsilon)).unwrap();
        let found = Whitening::release(
            &hidden,
            (&PUBLIC, Counted::Outcomes),
            budget(epsilon),
            &mut ledger,
            Seed::for_tests(seed),
        );
        (found.unwrap().unwrap(), features, ledger)
    }

    /// Eigenvalues of the mean of `z zᵀ`, from the smallest.
    fn moments(features: &Array2<f64>) -> Vec<f64> {
        let mean = features.t().dot(features) / features.nrows() as f64;
        let mean = DMatrix::from_fn(4, 4, |j, k| mean[(j, k)]);
        let mut values = SymmetricEigen::new(mean).eigenvalues.as_slice().to_vec();
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn directions_become_alike_where_the_noise_allows_it() {
        let (found, features, _) = whitening(20_000, 3.0, 1);
        let (before, after) = (moments(&features), moments(&found.features(features.view())));
        assert!(before[3] / before[0] > 500.0, "{before:?}");
        // Above 1 because long records were clipped where moments were found.
        assert!(after[3] / after[0] < 4.0 && after[3] < 2.0, "{after:?}");
        // One standard deviation too much is allowed for.
        let typical = after.iter().sum::<f64>().sqrt();
        assert!((found.typical / typical - 1.0).abs() < 0.15, "{} {typical}", found.typical);
    }

    /// A category that one in fifty records has: in coordinates that have stretched it, its records are longer than what is
    /// kept of a record. Where only what is kept was counted, its second moment became 17.
    #[test]
    fn a_rare_category_is_stretched_to_its_moment() {
        let records = 5_000;
        let features = Array2::from_shape_fn((records, 3), |(i, j)| match j {
            0 => 1.0,
            1 => f64::from(u8::from(i % 50 == 7)),
            _ => (i * 37 % 101) as f64 / 50.0 - 1.0,
        });
        let labels = Array1::from_shape_fn(records, |i| (i % 2) as f64);
        let hidden = logistic::records(features.clone(), labels).unwrap();
        for (epsilon, most) in [(10.0, 1.6), (3.0, 2.5)] {
            let mut ledger = Ledger::new(budget(epsilon)).unwrap();
            let of = (&[1.0, 0.5, 1.0 / 3.0][..], Counted::Outcomes);
            let seed = Seed::for_tests(2);
            let found = Whitening::release(&hidden, of, budget(epsilon), &mut ledger, seed).unwrap().unwrap();
            let whitened = found.features(features.view());
            let mean = whitened.t().dot(&whitened) / records as f64;
            let values = SymmetricEigen::new(DMatrix::from_fn(3, 3, |j, k| mean[(j, k)])).eigenvalues;
            assert!(values.max() < most && values.min() > 0.4, "{epsilon}: {values}");
        }
    }

    /// What is stated of second moments is what records have: to five deviations of the noise, a number of records with
    /// noise, and what was cut of long records where moments were found, which is up to a half of a moment.
    #[test]
    fn second_moments_are_what_is_stated_of_them() {
        let mut hidden = 0;
        for (records, epsilon, seed) in [(20_000, 3.0, 1), (20_000, 0.3, 2), (2_000, 1.0, 3), (2_000, 0.1, 4)]
        {
            let (found, features, _) = whitening(records, epsilon, seed);
            let whitened = found.features(features.view());
            let FeatureMoments { mean, deviation } = found.moments();
            for ((column, mean), deviation) in whitened.columns().into_iter().zip(&mean).zip(&deviation) {
                let moment = column.map(|x| x * x).sum() / records as f64;
                let (below, above) = (mean - moment, moment - mean);
                let case = format!("{epsilon}: {moment} for {mean} ± {deviation}");
                assert!(
                    below < 5.0 * deviation + 0.1 * mean && above < 5.0 * deviation + 0.5 * moment,
                    "{case}"
                );
                hidden += usize::from(*mean < 2.0 * deviation);
            }
        }
        // Both kinds are among them.
        assert!((2..14).contains(&hidden), "{hidden}");
    }

    #[test]
    fn where_the_noise_hides_everything_nothing_is_turned() {
        for seed in 0..5 {
            let (found, features, _) = whitening(40, 0.05, seed);
            let largest = found.stretch.iter().copied().fold(0.0, f64::max);
            let least = found.stretch.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(largest / least < 3.0, "{:?}", found.stretch);
            // The norm that is expected is that of the bounds, in the new unit.
            let norm = found.features(features.view()).map(|x| x * x).sum() / 40.0;
            assert!(found.typical.powi(2) < 4.0 * norm, "{} {norm}", found.typical.powi(2));
        }
    }

    #[test]
    fn predictions_and_priors_are_the_same_in_both_coordinates() {
        let (found, features, _) = whitening(5_000, 1.0, 2);
        let (whitened, there) = (found.features(features.view()), [0.3, -1.2, 0.7, 2.0]);
        let back = found.weights(&there);
        for (row, old) in whitened.rows().into_iter().zip(features.rows()).take(50) {
            let (a, b) = (row.dot(&ndarray::aview1(&there)), old.dot(&ndarray::aview1(&back)));
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
        }
        // Another record before them changes nothing of the others, to the last bit.
        let fewer = found.features(features.slice(ndarray::s![1.., ..]));
        assert!(fewer.iter().zip(whitened.iter().skip(4)).all(|(a, b)| a.to_bits() == b.to_bits()));
        // Independent weights of one standard deviation are independent in the other coordinates, too.
        let scales = found.prior_scales(2.5);
        let covariance: Vec<f64> =
            (0..16).map(|at| if at % 5 == 0 { scales[at / 4].powi(2) } else { 0.0 }).collect();
        for deviation in found.deviations(&covariance) {
            assert!((deviation / 2.5 - 1.0).abs() < 1e-9, "{deviation}");
        }
    }

    #[test]
    fn what_is_listed_is_what_was_paid_for() {
        let (found, _, ledger) = whitening(1_000, 1.0, 3);
        let mut listed = Composition::new();
        listed.extend(found.releases().iter().map(|release| (release.event, release.count)));
        assert_eq!(listed.iter().map(|(_, count)| count).sum::<u64>(), 3);
        let mut other = Ledger::new(budget(1.0)).unwrap();
        other.debit_all(&listed).unwrap();
        assert_eq!(other.spent().unwrap(), ledger.spent().unwrap());
        // 11 % of a budget in which Gaussian releases add up.
        assert!(ledger.spent().unwrap().upper < 0.33, "{:?}", ledger.spent());
    }

    /// Outcomes that are rare say less of weights: noise that is small beside even ones is not beside these.
    #[test]
    fn clip_norms_follow_what_outcomes_say() {
        let (features, _) = table(20_000);
        let one_in_twenty = Array1::from_shape_fn(20_000, |i| f64::from(u8::from(i % 20 == 0)));
        let hidden = logistic::records(features, one_in_twenty).unwrap();
        let (of, budget) = ((&PUBLIC[..], Counted::Outcomes), budget(3.0));
        let mut ledger = Ledger::new(budget).unwrap();
        let found =
            Whitening::release(&hidden, of, budget, &mut ledger, Seed::for_tests(1)).unwrap().unwrap();
        assert!((found.spread - 0.05 * 0.95).abs() < 0.005, "{}", found.spread);
        let norm = |spread: f64| Whitening { spread, ..found.clone() }.norms(1.0).0;
        assert!(
            norm(0.25) > 1.5 * norm(0.02) && norm(0.02) >= found.typical,
            "{} {}",
            norm(0.25),
            norm(0.02)
        );
        // With next to no noise no record loses its weight; before, those of up to four typical norms keep it.
        for (deviation, expected) in [(1e3, 2.0), (10.0, 3.2), (3.0, 8.0), (0.5, 28.3)] {
            let found = clip_norm(2.0, 1e4, deviation);
            assert!((found / expected - 1.0).abs() < 0.02, "{deviation}: {found}");
        }
        // A share that the noise hides may be one half.
        assert_eq!((spread_of(0.01, 0.9), spread_of(1.2, 0.5)), (0.25, 0.25));
        assert!((spread_of(0.97, 0.01) - 0.04 * 0.96).abs() < 1e-12);
    }

    #[test]
    fn text_keeps_it_to_the_last_bit_and_what_is_damaged_is_refused() {
        let (found, ..) = whitening(1_000, 1.0, 3);
        let text = found.to_json();
        assert_eq!(Whitening::from_json(&text, (4, Counted::Outcomes), budget(1.0)).unwrap(), found);
        let of = |features| (features, Counted::Outcomes);
        let told = |text: &str, features| Whitening::from_json(text, of(features), budget(1.0)).unwrap_err();
        assert!(Whitening::from_json(&text, of(4), budget(2.0)).unwrap_err().contains("another budget"));
        assert!(told(&text, 5).contains("of 4 coefficients"));
        assert!(told(&text.replace("\"whitening\":4", "\"whitening\":5"), 4).contains("version 5"));
        let nan = text.replacen(&found.stretch[0].to_bits().to_string(), &f64::NAN.to_bits().to_string(), 1);
        assert!(told(&nan, 4).contains("no whitening"), "{nan}");
        for cut in 0..text.len() {
            assert!(Whitening::from_json(&text[..cut], of(4), budget(1.0)).is_err(), "{cut}");
        }
    }

    #[test]
    fn what_cannot_be_whitened_is_left_alone() {
        let (features, labels) = table(50);
        let hidden = logistic::records(features, labels).unwrap();
        let tiny = Budget { delta: 1e-6, ..budget(1e-7) };
        let many = [1.0; MOST_FEATURES + 1];
        for (moments, budget) in [(&[][..], budget(1.0)), (&many[..], budget(1.0)), (&PUBLIC[..], tiny)] {
            let mut ledger = Ledger::new(budget).unwrap();
            let found = Whitening::release(
                &hidden,
                (moments, Counted::Outcomes),
                budget,
                &mut ledger,
                Seed::for_tests(1),
            );
            assert!(found.unwrap().is_none() && ledger.debits().is_empty());
        }
        // A column of another length is an error, after the count.
        let mut ledger = Ledger::new(budget(1.0)).unwrap();
        let found = Whitening::release(
            &hidden,
            (&[1.0; 3], Counted::Outcomes),
            budget(1.0),
            &mut ledger,
            Seed::for_tests(1),
        );
        assert!(found.is_err());
    }

    #[test]
    fn budgets_of_any_size_are_kept() {
        let (features, labels) = table(300);
        for (epsilon, delta) in [(1e-8, 1e-5), (1e-3, 1e-9), (40.0, 1e-12), (1e3, 1e-5), (1e9, 1e-15)] {
            let budget = Budget { delta, ..budget(epsilon) };
            let design = (features.clone(), labels.clone());
            let settings = Settings { steps: Some(20), ..Settings::default() };
            let seed = Seed::for_tests(4);
            let (fit, found) =
                logistic::fit_design(design, &PUBLIC, budget, &settings, seed, ("", &[])).unwrap();
            assert!(fit.privacy().epsilon.unwrap().upper <= epsilon);
            let all = found.means.iter().chain(&found.deviations).chain(&found.point);
            assert!(all.copied().all(f64::is_finite), "{found:?}");
        }
    }

    /// 12 fits of one table of 6,000 records at ε = 2: the whole costs the budget; standard deviations are
    /// at most half of those of 3 fits that are not whitened, though the prior is wider; and draws of the
    /// posterior without privacy are off by about what is said. The mean square over 48 of them, (error² +
    /// variance without privacy)/(stated variance), is about 1; were the 4 of a fit equal, and all of it
    /// the noise, its standard deviation would be √(2/12) = .41.
    #[test]
    fn a_whitened_design_tells_more_and_the_truth() {
        let (features, labels) = table(6_000);
        let (mode, without) = mode(&features, &labels);
        let (mut squares, mut widths, mut plain) = (0.0, [0.0; 4], [0.0; 4]);
        for seed in 0..12 {
            let (settings, seeded) = (Settings::default(), || Seed::for_tests(seed));
            let design = (features.clone(), labels.clone());
            let (fit, found) =
                logistic::fit_design(design, &PUBLIC, budget(2.0), &settings, seeded(), ("", &[])).unwrap();
            let spent = fit.privacy().epsilon.unwrap();
            assert!(spent.upper <= 2.0 && spent.lower > 1.999, "{spent:?}");
            assert_eq!(found.prior, WIDE_PRIOR_SCALE);
            for j in 0..4 {
                let away = (found.means[j] - mode[j]).powi(2) + without[j].powi(2);
                squares += away / found.deviations[j].powi(2) / 48.0;
                widths[j] += found.deviations[j] / 12.0;
            }
            if seed % 4 == 0 {
                let hidden = logistic::records(features.clone(), labels.clone()).unwrap();
                let fit = logistic::fit(&hidden, Some(budget(2.0)), &settings, seeded(), ("", &[])).unwrap();
                for (sum, sd) in plain.iter_mut().zip(&fit.posterior().sd("w").unwrap()) {
                    *sum += sd / 3.0;
                }
            }
        }
        for (width, plain) in widths.iter().zip(&plain).skip(1) {
            assert!(width < &(0.5 * plain), "{widths:?} {plain:?}");
        }
        assert!((0.5..1.6).contains(&squares), "{squares}");
    }

    /// The mode without privacy, by Newton's method, and the standard deviations there.
    fn mode(features: &Array2<f64>, labels: &Array1<f64>) -> (Vec<f64>, Vec<f64>) {
        let (mut w, mut deviations) = (DVector::<f64>::zeros(4), Vec::new());
        for _ in 0..30 {
            let mut gradient = &w / -WIDE_PRIOR_SCALE.powi(2);
            let mut curvature = DMatrix::<f64>::identity(4, 4) / WIDE_PRIOR_SCALE.powi(2);
            for (row, y) in features.rows().into_iter().zip(labels) {
                let x = DVector::from_iterator(4, row.iter().copied());
                let p = 1.0 / (1.0 + (-x.dot(&w)).exp());
                gradient += (y - p) * &x;
                curvature += p * (1.0 - p) * &x * x.transpose();
            }
            let covariance = curvature.try_inverse().unwrap();
            deviations = covariance.diagonal().iter().map(|variance| variance.sqrt()).collect();
            w += covariance * gradient;
        }
        (w.as_slice().to_vec(), deviations)
    }
}
