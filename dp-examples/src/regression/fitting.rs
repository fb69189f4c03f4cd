//! Private fits of a regression, and what the noisy steps cost.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::time::Duration;

use dp_accountant::{Budget, Ledger, Purse};
use dp_sampler::{FullBatch, GaussianNoise, NoiseSource, Purpose, Seed};
use dp_vi::guides::{AutoLaplace, AutoNormal, Guide};
use dp_vi::{DpVi, DrawScheme, Fit, InitialValues, NoiseAware, PrivacyReport, Sensitive};
use indicatif::{ProgressBar, ProgressStyle};
use nalgebra::{DMatrix, DVector};
use ndarray::{ArrayD, Axis};
use ppl_core::{Model, Records, Schema, Values};
use ppl_distributions::Normal;

use super::beside::Beside;
use super::excess::Shift;
use super::family::Family;
use super::grouped::{OF_MOMENTS, flattened, regrouped};
use super::learned::deviations_in_units;
use super::nuisance::Nuisance;
use super::posterior::{self, Draws};
use super::specification::{GAP, Specification, is_constant};
use crate::Error;
use crate::regression::whitening::{Whitening, statement};

/// What was said about a fit beside its model.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Number of noisy steps; that of `DpVi` where nothing is said.
    pub steps: Option<u64>,
    /// Largest norm of one record's gradient.
    pub clip_norm: Option<f64>,
    /// Where checkpoints are left, and whether to go on from there.
    pub checkpoint: Option<(PathBuf, bool)>,
}

/// Steps between two checkpoints.
const BETWEEN_CHECKPOINTS: u64 = 25;

/// Steps below which a fit in whitened coordinates may not have arrived: on made-up counts and numbers 90 % intervals
/// of slopes held .43 to .95 after 30 steps, and .95 and more after 100.
const FEWEST_STEPS: u64 = 100;

/// What intervals hold of the noise where coverage on real tables has been measured, by `peers/families.py`.
const INCLUDE: &str = "include the privacy noise";

/// Likewise where coefficients depend on the scale and the degrees of freedom that a fit is given if residuals are
/// skewed: of Abalone's rings at ε = 3 too few draws are held.
const INCLUDE_IF_SYMMETRIC: &str = "include the privacy noise, if residuals are symmetric";

/// Likewise: what is beyond, of skewed residuals, has no part in the intercept.
const INCLUDE_IF_NOT_FAR: &str =
    "include the privacy noise, if few residuals are more than nine standard deviations from zero";

/// Counts with an offset have no correction for what steps that wander make of their means.
const INCLUDE_WITH_OFFSET: &str =
    "include the privacy noise, but how often they hold the truth has not been measured with an offset";

/// A fit, and the coordinates of its coefficients.
#[derive(Debug, Clone)]
pub struct Fitted {
    fit: Fit,
    whitening: Option<Whitening>,
    nuisance: Option<Nuisance>,
    /// The regression that was fitted, where its columns are also those of groups.
    flat: Option<Specification>,
    /// What is added to the mean, where something is.
    shift: Option<Shift>,
    privacy: PrivacyReport,
}

/// What a fit is paid from.
#[derive(Debug)]
pub(super) struct Payer<'p, P> {
    pub(super) purse: &'p mut P,
    /// Whether others pay from it, too; if not, the steps of a fit are paid from a ledger that it makes itself.
    pub(super) shared: bool,
}

/// How a regression is fitted.
pub(super) enum Way {
    /// In whitened coordinates, where what the family has beside its predictor is found apart.
    WithNuisance,
    /// In whitened coordinates.
    Whitened,
    /// In those of the public bounds.
    Plain,
}

/// What a fit is paid from, and what is kept beside its checkpoint.
pub(super) type Kept<'a, 'p, P> = (&'a mut Payer<'p, P>, &'a Beside<'a>);

impl Fitted {
    pub(super) fn new(fit: Fit, whitening: Option<Whitening>, specification: &Specification) -> Self {
        let family = specification.family;
        let mut privacy = match &whitening {
            Some(_) => statement(&fit),
            None => fit.privacy().clone(),
        };
        let is_measured = family != Family::Bernoulli;
        if whitening.is_some() && fit.noise_aware().is_some() && is_measured {
            privacy.intervals = Some(match family {
                Family::Student => INCLUDE_IF_SYMMETRIC,
                Family::Gaussian => INCLUDE_IF_NOT_FAR,
                _ if specification.offset => INCLUDE_WITH_OFFSET,
                _ => INCLUDE,
            });
        }
        Self { fit, whitening, nuisance: None, flat: None, shift: None, privacy }
    }

    /// The same, paid from a ledger that has been debited again since, and after this many steps.
    ///
    /// A statement of a fit that has not arrived does not promise intervals: these know of the noise around the last
    /// point, and not of how far from it the mode is.
    pub(super) fn after(mut self, payer: &Payer<'_, impl Purse>, steps: Option<u64>) -> dp_vi::Result<Self> {
        if payer.shared {
            self.privacy.ledger_spent = Some(payer.purse.ledger().spent()?);
        }
        let promises = self.privacy.intervals.is_some_and(|said| said.starts_with(INCLUDE));
        if promises && steps.is_some_and(|steps| steps < FEWEST_STEPS) {
            self.privacy.intervals = Some("leave out how far so few steps have left the fit from its mode");
        }
        Ok(self)
    }

    /// The same, where what the family has beside its predictor was found apart.
    pub(super) fn with(self, nuisance: Nuisance) -> Self {
        Self { nuisance: Some(nuisance), ..self }
    }

    /// The same, with a mean that is moved.
    pub(super) fn shifted(self, shift: Option<Shift>) -> Self {
        Self { shift, ..self }
    }

    /// What a regression's coefficients are, as draws in the units of the file.
    ///
    /// # Errors
    ///
    /// As [`Draws::new`].
    pub fn draws(&self, specification: &Specification) -> dp_vi::Result<Draws> {
        let draws = Draws::new(specification, &self.scaled_draws(specification)?)?;
        Ok(match self.scaled_point(specification) {
            Some(point) => draws.with_point(specification, &point),
            None => draws,
        })
    }

    /// What the fit knows of the noise, where its values are the coefficients that are said and nothing else.
    fn of_coefficients_alone(&self, specification: &Specification) -> Option<&NoiseAware> {
        let is_alone = self.flat.is_none() && specification.family != Family::Ordinal;
        self.fit.noise_aware().filter(|found| is_alone && found.sites == ["b"])
    }

    /// Coefficients to predict from, on the scale of the public bounds, where the fit has some that are better than the
    /// average over its posterior.
    fn scaled_point(&self, specification: &Specification) -> Option<Vec<f64>> {
        let found = self.of_coefficients_alone(specification)?;
        let point = found.point.as_deref()?;
        Some(match &self.whitening {
            Some(whitening) => on_public_scale(whitening, point, specification),
            None => point.to_vec(),
        })
    }

    /// Standard deviations of the coefficients that there would be without privacy noise, in the units of the file,
    /// where the fit knows of the noise and coefficients are all of one posterior.
    pub(super) fn deviations_without_noise(&self, specification: &Specification) -> Option<Vec<f64>> {
        let found = self.of_coefficients_alone(specification)?;
        let covariance = &found.shares.as_ref()?.covariance_without_noise;
        let count = specification.columns.len();
        let scaled = match &self.whitening {
            Some(whitening) => {
                let priors: Vec<f64> = specification.columns.iter().map(|column| column.prior.1).collect();
                let covariance = whitening.covariance(covariance);
                DMatrix::from_fn(count, count, |j, k| covariance[(j, k)] * priors[j] * priors[k])
            }
            None => DMatrix::from_row_slice(count, count, covariance),
        };
        deviations_in_units(specification, &scaled)
    }

    /// Draws of the model's values, on the scale of the public bounds.
    pub(super) fn scaled_draws(&self, specification: &Specification) -> dp_vi::Result<Values> {
        let seed = Seed::for_tests(0);
        let count = posterior::draws_of(specification);
        let Some(flat) = &self.flat else { return self.fitted_draws(specification, count, &seed) };
        let parts = self.parts(flat);
        let mut draws = self.fitted_draws(flat, if parts.is_empty() { OF_MOMENTS } else { count }, &seed)?;
        regrouped(&mut draws, specification, flat, &parts, (count, &seed));
        Ok(draws)
    }

    /// What the releases leave possible of a regression's coefficients, in units of their priors, one curvature at a
    /// time: where these are all that was fitted.
    fn parts(&self, flat: &Specification) -> Vec<(DVector<f64>, DMatrix<f64>)> {
        let (Some(whitening), Some(found), None) = (&self.whitening, self.fit.noise_aware(), &self.nuisance)
        else {
            return Vec::new();
        };
        let most = flat.columns.len();
        let own = found.parts.iter().filter(|part| part.mean.len() == most);
        let in_units = |weights: Vec<f64>| {
            let away = weights
                .iter()
                .zip(&flat.columns)
                .map(|(weight, column)| weight - column.prior.0 / column.prior.1);
            DVector::from_iterator(most, away)
        };
        own.map(|part| {
            let (mut mean, mut covariance) = (part.mean.clone(), part.covariance.clone());
            if let Some(shift) = &self.shift {
                for (j, along) in shift.direction.iter().enumerate() {
                    mean[j] += shift.mean * along;
                    for (other, covariance) in shift.direction.iter().zip(&mut covariance[j * most..]) {
                        *covariance += shift.deviation.powi(2) * along * other;
                    }
                }
            }
            (in_units(whitening.weights(&mean)), whitening.covariance(&covariance))
        })
        .collect()
    }

    /// Those of the regression that was fitted.
    fn fitted_draws(
        &self,
        specification: &Specification,
        count: usize,
        seed: &Seed,
    ) -> dp_vi::Result<Values> {
        let mut draws = self.fit.posterior().draws(count, seed)?;
        keep_by_prior(&mut draws, seed);
        let Some(whitening) = &self.whitening else { return Ok(draws) };
        let Some(found) = self.fit.noise_aware() else {
            if let Some(nuisance) = &self.nuisance {
                for site in nuisance.sites() {
                    draws.insert((*site).to_owned(), ArrayD::zeros(vec![count]));
                }
            }
            // Where nothing sound follows from the releases, nothing is known beside the prior.
            from_prior(&mut draws, specification, seed);
            return Ok(draws);
        };
        if let Some(nuisance) = &self.nuisance {
            nuisance.add_to(&mut draws, (whitening.records(), specification.sigma), found);
        }
        let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("shift"));
        let rows = draws.get_mut("b").into_iter().flat_map(|found| found.axis_iter_mut(Axis(0)));
        for (draw, mut row) in (0..).zip(rows) {
            if let Some(shift) = &self.shift {
                let mut unknown = [0.0];
                noise.fill(draw, &mut unknown);
                let length = shift.mean + shift.deviation * unknown[0];
                row.iter_mut().zip(&shift.direction).for_each(|(value, along)| *value += length * along);
            }
            let there: Vec<f64> = row.iter().copied().collect();
            let scaled = on_public_scale(whitening, &there, specification);
            row.iter_mut().zip(scaled).for_each(|(value, scaled)| *value = scaled);
        }
        Ok(draws)
    }

    /// Whether the posterior accounts for the noise.
    pub(super) fn is_noise_aware(&self) -> bool {
        self.fit.noise_aware().is_some()
    }

    /// The privacy statement, of all that was released for the fit.
    pub fn privacy(&self) -> &PrivacyReport {
        &self.privacy
    }

    /// What intervals hold of the privacy noise, in words that go on "intervals …".
    pub fn intervals(&self) -> &'static str {
        self.privacy.intervals.unwrap_or("leave out noise")
    }
}

/// Coefficients of whitened features, which are in units of their priors, on the scale of the public bounds.
fn on_public_scale(whitening: &Whitening, whitened: &[f64], specification: &Specification) -> Vec<f64> {
    let weights = whitening.weights(whitened);
    weights.iter().zip(&specification.columns).map(|(weight, column)| column.prior.1 * weight).collect()
}

/// Gaps beyond five scales of their prior are one in two millions.
const WIDEST_GAP: f64 = 5.0 * GAP;

/// So few draws would say that a gap is known exactly.
const FEWEST_KEPT: usize = 200;

/// Keeps draws by what their prior says of gaps between cutpoints beyond what a fit knows of it, and puts kept ones in
/// the places of the others.
///
/// A posterior is normal in the logarithm `l` of a gap, with the second-order approximation `t` of the prior's logarithm
/// around its mean: `f(l) = l − e^(2l)/(2 s²)` for a half-normal prior of scale s. Where noise leaves much open that has
/// a tail of gaps of which the prior knows none. A draw above the mean is kept with probability `e^(f − t)`, which is at
/// most 1, because the third derivative of f is negative. Noise can also carry the mean itself to where the prior has
/// nothing: the approximation is at most around five scales of it, and where hardly a draw is kept gaps are at most that.
pub(super) fn keep_by_prior(draws: &mut Values, seed: &Seed) {
    let Some(gaps) = draws.get("gaps") else { return };
    let count = gaps.len_of(Axis(0));
    let logs = gaps.mapv(f64::ln);
    let mut excess = vec![0.0; count];
    for column in logs.axis_iter(Axis(1)) {
        let finite = || column.iter().copied().filter(|log| log.is_finite());
        let middle = (finite().sum::<f64>() / (finite().count() as f64).max(1.0)).min(WIDEST_GAP.ln());
        let (f, slope, bend) = (
            |log: f64| log - (2.0 * log).exp() / (2.0 * GAP * GAP),
            1.0 - (2.0 * middle).exp() / (GAP * GAP),
            -2.0 * (2.0 * middle).exp() / (GAP * GAP),
        );
        for (sum, log) in excess.iter_mut().zip(column).filter(|(_, log)| **log > middle) {
            let away = log - middle;
            *sum += f(*log) - (f(middle) + slope * away + 0.5 * bend * away * away);
        }
    }
    let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("kept draws"));
    let is_kept = |draw: usize| {
        let mut standard = [0.0];
        noise.fill(draw as u64, &mut standard);
        Normal::new(0.0, 1.0).cdf(standard[0]).ln() < excess[draw]
    };
    let kept: Vec<usize> = (0..count).filter(|&draw| is_kept(draw)).collect();
    if kept.len() < FEWEST_KEPT.min(count) {
        draws.entry("gaps".to_owned()).and_modify(|gaps| gaps.mapv_inplace(|gap| gap.min(WIDEST_GAP)));
        return;
    }
    let rows: Vec<usize> = kept.iter().copied().cycle().take(count).collect();
    for values in draws.values_mut() {
        *values = values.select(Axis(0), &rows);
    }
}

/// Draws of the prior, in the place of others, of the values that whitened families have.
pub(super) fn from_prior(draws: &mut Values, specification: &Specification, seed: &Seed) {
    for (which, (site, values)) in draws.iter_mut().enumerate() {
        let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("prior"));
        for (draw, mut row) in values.axis_iter_mut(Axis(0)).enumerate() {
            let mut standard = vec![0.0; row.len().max(4)];
            noise.fill((draw << 4 | which) as u64, &mut standard);
            let squares: f64 = standard[..4].iter().map(|z| z * z).sum();
            for ((j, value), z) in row.iter_mut().enumerate().zip(standard) {
                *value = match site.as_str() {
                    "gaps" => GAP * z.abs(),
                    "sigma" => specification.sigma * z.abs(),
                    "phi" => (1.0 + z).exp(),
                    // A sum of four squares is a gamma variable of shape 2 and rate 1/2.
                    "nu" => 5.0 * squares,
                    "zeros" => Normal::new(0.0, 1.0).cdf(z),
                    _ => {
                        let (mean, scale) = specification.columns[j].prior;
                        mean + scale * z
                    }
                };
            }
        }
    }
}

/// A regression to be fitted within a budget.
#[derive(Debug, Clone, Copy)]
pub struct PrivateFit<'a> {
    /// Family, columns and priors.
    pub specification: &'a Specification,
    /// What all releases of the fit cost together, at most.
    pub budget: Budget,
    /// What was said about it beside its model.
    pub settings: &'a Settings,
    /// What was read from the records and is treated as public.
    pub public: &'a [String],
}

impl PrivateFit<'_> {
    /// Fits it, from a purse where others share it, and shows progress where there is a terminal.
    ///
    /// Regressions of up to 128 coefficients, or of 48 with those of groups, without a clip norm are fitted in
    /// coordinates in which their columns vary about equally ([`Whitening`]), where outcomes are yes or no, counts of
    /// the family `poisson`, ordered categories, or, without an offset, of any other family: a point at each step, and
    /// a normal around the last whose covariance knows of the noise, by a release of the curvature or of the scores'
    /// second moments. The σ of `gaussian`, σ and `ν` of `student`, the `φ` of `negative-binomial`, the share of zeros
    /// of `zero-inflated-poisson` and the mean of counts are found from releases of their own. A checkpoint `FILE` has
    /// the coordinates beside it, in `FILE.whitening`, these in `FILE.nuisance`, and in `FILE.run` what run all of it
    /// is of. It is gone on with for the same regression of the same records only, finished or not.
    ///
    /// Logistic regressions with a clip norm take the same steps in the coordinates of the bounds, with a
    /// curvature that is released during the run, too. Other regressions have independent normals as their guide, and a
    /// correction whose curvature is read off the noisy gradients, for up to 64 values.
    ///
    /// # Privacy
    ///
    /// As [`DpVi`]: what is returned is released. Every release is debited before it is made, and the first is made
    /// where all of them are affordable and everything else that can be refused has been checked.
    ///
    /// # Errors
    ///
    /// A `dp_vi::Error` where the budget cannot be met, the purse does not hold enough, or records do not fit the
    /// model.
    pub fn run(
        self,
        records: Records,
        purse: Option<&mut (impl Purse + Sized)>,
        seed: Seed,
    ) -> Result<Fitted, Box<dyn StdError>> {
        match purse {
            Some(purse) => self.paid_from(records, &mut Payer { purse, shared: true }, seed),
            None => {
                let purse = &mut Ledger::new(self.budget)?;
                self.paid_from(records, &mut Payer { purse, shared: false }, seed)
            }
        }
    }

    fn paid_from(
        self,
        records: Records,
        payer: &mut Payer<'_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Box<dyn StdError>> {
        let place = self.settings.checkpoint.as_ref().map(|(path, resume)| (path.as_path(), *resume));
        let beside = &Beside::new(place, self.specification, &records, &seed)?;
        let kept = (payer, beside);
        // Groups are columns where these are whitened.
        let is_whitened =
            |flat: &Specification| !matches!(PrivateFit { specification: flat, ..self }.way(), Way::Plain);
        match flattened(self.specification, &records)?.filter(|(flat, _)| is_whitened(flat)) {
            Some((flat, records)) => {
                let fitted = PrivateFit { specification: &flat, ..self }.made(records, kept, seed)?;
                Ok(Fitted { flat: Some(flat), ..fitted })
            }
            None => self.made(records, kept, seed),
        }
    }

    fn made(
        self,
        records: Records,
        kept: Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Box<dyn StdError>> {
        let (schema, beside) = (records.schema().clone(), kept.1);
        let fitted = match self.way() {
            Way::WithNuisance => self.with_nuisance(records, kept, seed),
            Way::Whitened => self.whitened(records, kept, seed),
            Way::Plain => self.plain(&Sensitive::new(records), kept, seed),
        };
        let fitted = fitted.map_err(|error| self.explained(error, &schema))?;
        beside.finish()?;
        Ok(fitted)
    }

    /// How it is fitted.
    pub(super) fn way(self) -> Way {
        let is_alone = self.is_linear() && self.settings.clip_norm.is_none();
        match self.specification.family {
            // An offset may be as large as it likes, and so may the outcome without it be.
            Family::Bernoulli | Family::Ordinal if is_alone => Way::Whitened,
            // Of counts it is at most the largest that can be, and the mean says where to begin.
            Family::Poisson if is_alone && self.has_intercept() => Way::WithNuisance,
            Family::Poisson if is_alone && self.specification.offset => Way::Whitened,
            _ if is_alone && !self.specification.offset => Way::WithNuisance,
            // Of the others the scale or share beside the predictor has scores of a very different size.
            _ => Way::Plain,
        }
    }

    /// An error that is due to a budget for which the noise would be too large, in the words of the options.
    fn explained(self, error: Box<dyn StdError>, schema: &Schema) -> Box<dyn StdError> {
        let is_of_noise = match error.downcast_ref::<dp_vi::Error>() {
            Some(dp_vi::Error::OutOfRange { what, .. }) => what.starts_with("noise multiplier"),
            Some(dp_vi::Error::Accounting(error)) => {
                matches!(error, dp_accountant::Error::Unreachable { .. })
            }
            _ => false,
        };
        match is_of_noise.then(|| self.smallest_epsilon(schema)).flatten() {
            Some(smallest) => {
                let Budget { epsilon, delta, .. } = self.budget;
                Error::EpsilonTooSmall { epsilon, delta, smallest, reason: error.to_string() }.into()
            }
            None => error,
        }
    }

    /// The smallest ε for which it can be planned, in two digits and rounded up; `None` where that is above 1.
    fn smallest_epsilon(self, schema: &Schema) -> Option<f64> {
        let works = |epsilon: f64| {
            let budget = Budget { epsilon, ..self.budget };
            PrivateFit { budget, ..self }.check_plan(schema).is_ok()
        };
        let (mut low, mut high) = (self.budget.epsilon.max(1e-12).ln(), 0.0);
        if low >= high || !works(1.0) {
            return None;
        }
        while high - low > 0.02 {
            let middle = 0.5 * (low + high);
            if works(middle.exp()) { high = middle } else { low = middle }
        }
        let unit = 10_f64.powf((high / std::f64::consts::LN_10).floor() - 1.0);
        format!("{:.1e}", (high.exp() / unit).ceil() * unit).parse().ok()
    }

    fn has_intercept(self) -> bool {
        self.specification.columns.iter().any(|column| is_constant(&column.of))
    }

    fn is_linear(self) -> bool {
        self.specification.groups.is_empty() && !self.specification.columns.is_empty()
    }

    /// A fit in the coordinates of the public bounds.
    pub(super) fn plain(
        self,
        records: &Sensitive<Records>,
        kept: Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Box<dyn StdError>> {
        let fit = match self.is_noise_limited() {
            true => self.follow(self.noise_limited(), records, kept, seed)?,
            false => self.follow(self.independent(), records, kept, seed)?,
        };
        Ok(Fitted::new(fit, None, self.specification))
    }

    /// Whether steps in the coordinates of the bounds are as long as the noise allows.
    pub(super) fn is_noise_limited(self) -> bool {
        self.specification.family == Family::Bernoulli && self.is_linear()
    }

    /// The inference of a logistic regression in the coordinates of the bounds.
    pub(super) fn noise_limited(self) -> DpVi<impl Model + use<>, AutoLaplace, FullBatch> {
        let vi = DpVi::new(self.specification.model(), AutoLaplace::new())
            .budget(self.budget)
            .draw_scheme(DrawScheme::Single)
            .noise_limited_steps()
            .feature_norms(self.specification.feature_norms())
            .subsample(FullBatch);
        self.with_settings(vi)
    }

    /// The inference of any other regression in these, with independent normals.
    pub(super) fn independent(self) -> DpVi<impl Model + use<>, AutoNormal, FullBatch> {
        // The bounds are public, so no budget need find out in which units columns come.
        let mut vi = DpVi::new(self.specification.model(), AutoNormal::new())
            .budget(self.budget)
            .subsample(FullBatch)
            .rough_fit(false);
        if self.specification.family != Family::Bernoulli {
            vi = vi.initial_values(InitialValues::PriorMedian);
        }
        self.with_settings(vi)
    }

    pub(super) fn with_settings<M: Model, G: Guide>(
        self,
        mut vi: DpVi<M, G, FullBatch>,
    ) -> DpVi<M, G, FullBatch> {
        vi = self.public.iter().fold(vi, |vi, statement| vi.treat_as_public(statement));
        if let Some(steps) = self.settings.steps {
            vi = vi.steps(steps);
        }
        if let Some(norm) = self.settings.clip_norm {
            vi = vi.clip_norm(norm);
        }
        vi
    }

    /// A fit, with its progress on standard error where that is a terminal.
    pub(super) fn follow<M: Model, G: Guide>(
        self,
        vi: DpVi<M, G, FullBatch>,
        records: &Sensitive<Records>,
        (payer, beside): Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fit, Box<dyn StdError>> {
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template(
            "{msg:>12} [{bar:40}] {pos}/{len} steps, {per_sec}, {eta} left",
        )?);
        bar.set_message("private fit");
        bar.enable_steady_tick(Duration::from_millis(100));
        let shown = bar.clone();
        let mut vi = beside.bind(vi).on_progress(move |progress| {
            shown.set_length(progress.steps);
            shown.set_position(progress.done);
        });
        let resumes = beside.goes_on();
        if let Some((path, _)) = &self.settings.checkpoint {
            vi = vi.checkpoint(path, BETWEEN_CHECKPOINTS);
        }
        beside.begin()?;
        // A resumed run has the seed of its checkpoint.
        let vi = if resumes { vi } else { vi.seed(seed) };
        let fit = match (payer.shared, resumes) {
            (true, false) => vi.fit_from(records, payer.purse),
            (true, true) => vi.resume_from(records, payer.purse),
            (false, false) => vi.fit(records),
            (false, true) => vi.resume(records),
        };
        bar.finish_and_clear();
        if fit.is_err() {
            beside.withdraw();
        }
        Ok(fit?)
    }
}
