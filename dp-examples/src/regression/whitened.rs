//! Fits in coordinates in which columns vary about equally.

use std::error::Error as StdError;

use dp_accountant::Purse;
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoLaplace;
use dp_vi::optimiser::{Schedule, sgd};
use dp_vi::{Clipping, DpVi, Fit, InitialValues, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Model, Records, Schema, Shape};

use super::dispersion::Dispersion;
use super::excess::{Excess, Shift};
use super::family::Family;
use super::features::Features;
use super::fitting::{Fitted, Kept, PrivateFit, Way};
use super::nuisance::{Given, Nuisance, Seen};
use super::specification::{ScaledColumn, Specification, is_constant};
use crate::regression::whitening::{
    self, CURVATURE_SHARE, Counted, Whitening, another_seed, change_features,
};

type Failure = Box<dyn StdError>;

/// The rate of plain ascent, in units of `σ²/N`: features in these coordinates have second moments of about 1, and up
/// to 40 are stable. Rows that are `k` times as long as the typical one, of a category that few have, were cut where
/// moments were found, and have second moments of `k²`.
const RATE: f64 = 0.05;

/// How far the noise of all steps together may move a coefficient, in standard deviations of its prior, if it met no
/// resistance: as of steps that are limited by the noise.
const RADIUS: f64 = 0.75;

/// The norm that gradients of ordinal outcomes are clipped to at first.
const FIRST_NORM: f64 = 3.2;

/// The curvature of an ordinal outcome's likelihood in its predictor is a third at most, that of many categories.
const PEAK_OF_CATEGORIES: f64 = 1.0 / 3.0;

impl PrivateFit<'_> {
    /// Checks that what is planned before anything is released can be planned.
    pub(super) fn check_plan(self, schema: &Schema) -> Result<(), Failure> {
        let planned = match self.way() {
            Way::Plain => None,
            _ => Whitening::planned(&self.expected_moments(), self.counted(), self.budget)?,
        };
        match (planned, self.way()) {
            (Some(planned), Way::WithNuisance) => {
                let Specification { family, columns, .. } = self.specification;
                self.inference_given(&planned, &Nuisance::planned(*family, columns.len()))?.plan(schema)?;
            }
            (Some(planned), _) => drop(self.inference(&planned)?.plan(schema)?),
            (None, _) if self.is_noise_limited() => drop(self.noise_limited().plan(schema)?),
            (None, _) => drop(self.independent().plan(schema)?),
        }
        Ok(())
    }

    /// What is counted before everything else.
    fn counted(self) -> Counted {
        match self.specification.family {
            Family::Bernoulli => Counted::Outcomes,
            _ => Counted::Records,
        }
    }

    /// What is expected of the squares of features in units of their coefficients' priors.
    fn expected_moments(self) -> Vec<f64> {
        let squares = self.specification.expected_squares();
        let moments = squares.iter().zip(&self.specification.columns);
        moments.map(|(square, column)| square * column.prior.1.powi(2)).collect()
    }

    /// A regression in coordinates in which its columns, in units of their coefficients' priors, vary about
    /// equally; where these cannot be found, in those of the public bounds.
    pub(super) fn whitened(
        self,
        records: Records,
        (payer, beside): Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let moments = self.expected_moments();
        let Some(planned) = Whitening::planned(&moments, self.counted(), self.budget)? else {
            return self.plain(&Sensitive::new(records), (payer, beside), seed);
        };
        // Features take as much memory as records: these become them, and then the whitened ones.
        let records = Features::in_place(records, &self.specification.columns)?;
        let whitening = match beside.goes_on() {
            true => beside.whitening((moments.len(), self.counted()), self.budget)?,
            false => {
                let scaled = Sensitive::new(records.clone());
                // What the fit would be refused for it is refused for before anything is paid.
                self.inference(&planned)?.check_fit_from(&scaled, payer.purse)?;
                let first = another_seed(&seed)?;
                let found =
                    Whitening::release(&scaled, (&moments, self.counted()), self.budget, payer.purse, first)?;
                // It has been planned, so there is one.
                let whitening = found.unwrap_or(planned);
                beside.keep_whitening(&whitening)?;
                whitening
            }
        };
        let records = change_features(records, moments.len(), |features| whitening.features_of(features))?;
        let records = Sensitive::new(records);
        let fit = self.follow(self.inference(&whitening)?, &records, (payer, beside), seed)?;
        let fitted = Fitted::new(fit, Some(whitening), self.specification);
        Ok(fitted.after(payer, self.settings.steps)?)
    }

    /// A regression in such coordinates, of a family whose scale, dispersion, share of zeros or mean is found apart
    /// from its coefficients.
    pub(super) fn with_nuisance(
        self,
        records: Records,
        (payer, beside): Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let moments = self.expected_moments();
        let Some(planned) = Whitening::planned(&moments, self.counted(), self.budget)? else {
            return self.plain(&Sensitive::new(records), (payer, beside), seed);
        };
        let features = &Features::of(&records, &self.specification.columns)?;
        let with = |x: Array2<f64>| Ok::<_, Failure>(records.clone().with_column("x", x)?);
        let Specification { family, sigma: prior, .. } = *self.specification;
        let outcomes: Array1<f64> = records.column(records.schema().find("y")?.0).numbers().collect();
        let high = self.specification.outcome.high.max(1.0);
        let seen = Seen { family, features, outcomes: &outcomes, high };
        let (whitening, mut nuisance) = match beside.goes_on() {
            true => (
                beside.whitening((moments.len(), self.counted()), self.budget)?,
                beside.nuisance(moments.len())?,
            ),
            false => {
                let first = another_seed(&seed)?;
                let second = another_seed(&first)?;
                let scaled = Sensitive::new(with(features.all())?);
                self.inference_given(&planned, &Nuisance::planned(family, moments.len()))?
                    .check_fit_from(&scaled, payer.purse)?;
                let found =
                    Whitening::release(&scaled, (&moments, self.counted()), self.budget, payer.purse, first)?;
                drop(scaled);
                // It has been planned, so there is one.
                let whitening = found.unwrap_or(planned);
                let nuisance = Nuisance::release(seen, &whitening, prior, payer.purse, second)?;
                beside.keep_whitening(&whitening)?;
                beside.keep_nuisance(&nuisance)?;
                (whitening, nuisance)
            }
        };
        let whitened = with(whitening.features_of(features.all()))?;
        let inference = self.inference_given(&whitening, &nuisance)?;
        let fit = self.follow(inference, &Sensitive::new(whitened.clone()), (payer, beside), seed)?;
        let shift = self.shift(&fit, &whitening, &nuisance)?;
        let norm = clip_norm(&self.given(&whitening, &nuisance)?, &whitening);
        if let (Some(aware), true) = (fit.noise_aware(), nuisance.is_open(family)) {
            let mut mean = aware.mean.clone();
            if let Some(shift) = &shift {
                mean.iter_mut().zip(&shift.direction).for_each(|(mean, along)| *mean += shift.mean * along);
            }
            // All that the release depends on: one that is made twice is the same, and no other has its noise.
            let place: Vec<u8> = mean.iter().flat_map(|b| b.to_le_bytes()).collect();
            let question = [whitening.to_json(), nuisance.to_json()];
            let question = [question[0].as_bytes(), question[1].as_bytes(), &place];
            let last = beside.seed_after(&whitened, &question)?;
            // What is released then is made of the features, which take as much memory.
            let reach = nuisance.reach(&whitened, norm)?;
            drop(whitened);
            nuisance.finish(seen, (&whitening, &mean), &reach, (payer.purse, last))?;
            beside.keep_nuisance(&nuisance)?;
        }
        let of_ends = fit.noise_aware().zip(nuisance.cut_off());
        let of_ends = of_ends
            .and_then(|(found, cut)| Shift::along(&self.constant(&whitening), (found, &whitening), cut));
        let shift = shift.or(of_ends);
        let fitted = Fitted::new(fit, Some(whitening), self.specification).shifted(shift);
        let fitted = if family == Family::Poisson { fitted } else { fitted.with(nuisance) };
        Ok(fitted.after(payer, self.settings.steps)?)
    }

    /// The regression in whitened coordinates.
    fn there(self, whitening: &Whitening) -> Specification {
        let mut there = self.specification.clone();
        let means: Vec<f64> = there.columns.iter().map(|column| column.prior.0 / column.prior.1).collect();
        let priors = whitening.prior_means(&means).into_iter().zip(whitening.prior_scales(1.0));
        for (column, prior) in there.columns.iter_mut().zip(priors) {
            column.prior = prior;
        }
        there
    }

    /// The inference of a whitened regression.
    fn inference(
        self,
        whitening: &Whitening,
    ) -> Result<DpVi<impl Model + use<>, AutoLaplace, FullBatch>, Failure> {
        let there = self.there(whitening);
        let (family, model) = (there.family, there.model());
        if family == Family::Bernoulli {
            return Ok(self.with_settings(whitening.inference(model, self.budget)));
        }
        let vi = self.with_settings(whitening.inference_by_scores(model, self.budget));
        self.limited(vi, whitening, (FIRST_NORM, PEAK_OF_CATEGORIES))
    }

    /// The same by plain ascent, with a rate at which noise alone moves no coefficient far, for gradients of this norm
    /// and a largest curvature of one record's likelihood in its predictor.
    fn limited<M: Model>(
        self,
        vi: DpVi<M, AutoLaplace, FullBatch>,
        whitening: &Whitening,
        (norm, curvature): (f64, f64),
    ) -> Result<DpVi<M, AutoLaplace, FullBatch>, Failure> {
        let plan = vi.plan(&self.schema()?)?;
        let noise = plan.calibrated.as_ref().map_or(0.0, |found| found.noise_multiplier * norm);
        let widths = whitening.prior_scales(1.0);
        let width = (widths.iter().map(|width| width * width).sum::<f64>() / widths.len() as f64).sqrt();
        let walk = RADIUS * width / (noise * (plan.steps as f64).sqrt());
        let count = (whitening.records() as f64).max(1.0);
        let rate = walk.min(RATE / (curvature * count));
        Ok(vi.optimiser(sgd(Schedule::Constant(rate))?))
    }

    /// The inference of a whitened regression, given what its family has beside the coefficients.
    fn inference_given(
        self,
        whitening: &Whitening,
        nuisance: &Nuisance,
    ) -> Result<DpVi<impl Model + use<>, AutoLaplace, FullBatch>, Failure> {
        let given = self.given(whitening, nuisance)?;
        let count = (whitening.records() as f64).max(1.0);
        // Parts of a curvature are at most the peak times a square length, and the noise of them is compared with
        // what all records are expected to add.
        let noise = whitening.single() / (given.left * CURVATURE_SHARE).sqrt();
        let length = whitening.length(count * given.curvature / given.peak, noise);
        let clip_norm = clip_norm(&given, whitening);
        let model = self.there(whitening).model_given(given.known);
        let vi = (whitening.inference_by_scores(model, self.budget))
            .released_before(given.releases)
            .initial_values(InitialValues::values([("b", Array1::from(given.start).into_dyn())]))
            .clipping(Clipping::Flat)
            .clip_norm(clip_norm)
            .curvature_norm(length * length * given.peak);
        let vi = self.with_settings(vi);
        if !given.plain_ascent {
            return Ok(vi);
        }
        self.limited(vi, whitening, (clip_norm, given.curvature))
    }

    /// What the fit is given of what its family has beside the coefficients.
    fn given(self, whitening: &Whitening, nuisance: &Nuisance) -> dp_vi::Result<Given> {
        let intercept = |at: f64| {
            let of = |column: &ScaledColumn| match is_constant(&column.of) {
                true => at / column.prior.1,
                false => column.prior.0 / column.prior.1,
            };
            let weights = self.specification.columns.iter().map(of);
            whitening.prior_means(&weights.collect::<Vec<f64>>())
        };
        nuisance.given(self.specification.family, whitening, intercept)
    }

    /// Coefficients of whitened features that make a linear predictor of 1 for all records; all 0 where none do.
    fn constant(self, whitening: &Whitening) -> Vec<f64> {
        let of = |column: &ScaledColumn| match is_constant(&column.of) {
            true => column.prior.1.recip(),
            false => 0.0,
        };
        whitening.prior_means(&self.specification.columns.iter().map(of).collect::<Vec<f64>>())
    }

    /// What is to be added to the mean of a fit of counts: nothing for other families, and where an offset, whose law
    /// is not known, is in the means of counts. Zero-inflated counts miss as much, and keep it.
    fn shift(self, fit: &Fit, whitening: &Whitening, nuisance: &Nuisance) -> dp_vi::Result<Option<Shift>> {
        let (Nuisance::Dispersion(Dispersion { phi, .. }), Some(found)) = (nuisance, fit.noise_aware())
        else {
            return Ok(None);
        };
        if self.specification.offset {
            return Ok(None);
        }
        let norm = clip_norm(&self.given(whitening, nuisance)?, whitening);
        let excess = Excess { phi: *phi, norm, wandered: fit.wandered().unwrap_or(0.0) };
        Ok(excess.shift(found, whitening, &self.constant(whitening)))
    }

    /// The schema of the whitened records.
    fn schema(self) -> ppl_core::Result<Schema> {
        let offset = self.specification.offset.then(|| ("offset", Shape::scalar()));
        let columns = [("y", Shape::scalar()), ("x", Shape::from(self.specification.columns.len()))];
        Schema::new(columns.into_iter().chain(offset))
    }
}

/// The clip norm of a fit that is given this.
fn clip_norm(given: &Given, whitening: &Whitening) -> f64 {
    let information = (whitening.records() as f64).max(1.0) * given.curvature;
    let of_steps = whitening.single() / (given.left * (1.0 - CURVATURE_SHARE)).sqrt();
    whitening::clip_norm(given.clip * whitening.typical(), information, of_steps)
}
