//! Fits in coordinates in which columns vary about equally.

use std::error::Error as StdError;

use dp_accountant::Purse;
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoLaplace;
use dp_vi::optimiser::{Schedule, sgd};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, InitialValues, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Model, Records, Schema};

use super::dispersion::{self, Dispersion};
use super::family::Family;
use super::fitting::{Fitted, Kept, PrivateFit, Way};
use super::gaussian::{self, Scale};
use super::nuisance::{COLUMN, Nuisance};
use super::specification::Specification;
use crate::whitening::{CURVATURE_SHARE, Whitening, another_seed};

type Failure = Box<dyn StdError>;

/// The rate of plain ascent, in units of `σ²/N`: features in these coordinates have second moments of about 1, and up to 40 are
/// stable. Rows that are `k` times as long as the typical one, of a category that few have, were cut where moments were found, and
/// have second moments of `k²`.
const RATE: f64 = 0.05;

/// How far the noise of all steps together may move a coefficient, in standard deviations of its prior, if it met no
/// resistance: as of steps that are limited by the noise.
const RADIUS: f64 = 0.75;

/// The clip norm of a Gaussian regression, in lengths of a gradient of typical features at a residual of one σ. A norm that
/// followed the gradients would follow those of noise, too: values that noise has moved make the gradients of long rows
/// longer, and those the noise.
const GAUSSIAN_NORM: f64 = 3.0;

impl PrivateFit<'_> {
    /// Checks that what is planned before anything is released can be planned.
    pub(super) fn check_plan(self, schema: &Schema) -> Result<(), Failure> {
        let planned = match self.way() {
            Way::Plain => None,
            _ => Whitening::planned(&self.expected_moments(), self.budget)?,
        };
        match (planned, self.way()) {
            (Some(planned), Way::WithNuisance) => {
                self.inference_given((&planned, &self.first_guess()), schema)?.plan(schema)?;
            }
            (Some(planned), _) => drop(self.inference(&planned).plan(schema)?),
            (None, _) if self.is_noise_limited() => drop(self.noise_limited().plan(schema)?),
            (None, _) => drop(self.independent().plan(schema)?),
        }
        Ok(())
    }

    /// What is expected of the squares of features in units of their coefficients' priors.
    fn expected_moments(self) -> Vec<f64> {
        let squares = self.specification.expected_squares();
        let moments = squares.iter().zip(&self.specification.columns);
        moments.map(|(square, column)| square * column.prior.1.powi(2)).collect()
    }

    /// What a fit is planned with before anything is released of what its family has beside its predictor.
    fn first_guess(self) -> Nuisance {
        match self.specification.family {
            Family::Gaussian => Nuisance::Scale(Scale::planned(self.specification.columns.len())),
            _ => Nuisance::Dispersion(Dispersion::planned()),
        }
    }

    /// Features in units of their coefficients' priors, and what is expected of their squares.
    fn features(self, records: &Records) -> Result<(Array2<f64>, Vec<f64>), Failure> {
        let columns = &self.specification.columns;
        let (place, _) = records.schema().find("x")?;
        let values: Vec<f64> = records.column(place).numbers().collect();
        let mut features = Array2::from_shape_vec((records.len(), columns.len()), values)?;
        for (mut values, column) in features.columns_mut().into_iter().zip(columns) {
            values *= column.prior.1;
        }
        Ok((features, self.expected_moments()))
    }

    /// A regression in coordinates in which its columns, in units of their coefficients' priors, vary about
    /// equally; where these cannot be found, in those of the public bounds.
    pub(super) fn whitened(
        self,
        records: Records,
        (payer, beside): Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let (features, moments) = self.features(&records)?;
        let whitening = match beside.goes_on() {
            true => beside.whitening(features.ncols(), self.budget)?,
            false => {
                let Some(planned) = Whitening::planned(&moments, self.budget)? else {
                    return self.plain(&Sensitive::new(records), (payer, beside), seed);
                };
                let scaled = Sensitive::new(records.clone().with_column("x", features.clone())?);
                // What the fit would be refused for it is refused for before anything is paid.
                self.inference(&planned).check_fit_from(&scaled, payer.purse)?;
                let first = another_seed(&seed)?;
                let found = Whitening::release(&scaled, &moments, self.budget, payer.purse, first)?;
                // It has been planned, so there is one.
                let Some(whitening) = found else {
                    return self.plain(&Sensitive::new(records), (payer, beside), seed);
                };
                beside.keep_whitening(&whitening)?;
                whitening
            }
        };
        let records = Sensitive::new(records.with_column("x", whitening.features(features.view()))?);
        drop(features);
        let fit = self.follow(self.inference(&whitening), &records, (payer, beside), seed)?;
        Ok(Fitted::new(fit, Some(whitening), self.specification.family))
    }

    /// A regression in such coordinates, where what its family has beside its predictor is found apart from the coefficients: σ of
    /// Gaussian outcomes; of counts their mean, and a dispersion if there is one.
    pub(super) fn with_nuisance(
        self,
        records: Records,
        (payer, beside): Kept<'_, '_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let (features, moments) = self.features(&records)?;
        let Some(planned) = Whitening::planned(&moments, self.budget)? else {
            return self.plain(&Sensitive::new(records), (payer, beside), seed);
        };
        let outcomes: Array1<f64> = records.column(records.schema().find("y")?.0).numbers().collect();
        let (high, family) = (self.specification.outcome.high.max(1.0), self.specification.family);
        let summed = match family {
            Family::Gaussian => with_outcome(&features, &outcomes),
            _ => dispersion::outcomes(&outcomes, high),
        };
        let scaled = records.clone().with_column("x", features.clone())?.with_column(COLUMN, summed)?;
        let scaled = Sensitive::new(scaled);
        let (whitening, mut nuisance) = match beside.goes_on() {
            true => (beside.whitening(features.ncols(), self.budget)?, beside.nuisance(features.ncols())?),
            false => {
                let first = another_seed(&seed)?;
                let second = another_seed(&first)?;
                self.inference_given((&planned, &self.first_guess()), scaled.schema())?
                    .check_fit_from(&scaled, payer.purse)?;
                let found = Whitening::release(&scaled, &moments, self.budget, payer.purse, first)?;
                // It has been planned, so there is one.
                let whitening = found.unwrap_or(planned);
                let nuisance = match family {
                    Family::Gaussian => {
                        Nuisance::Scale(Scale::release(&scaled, &whitening, payer.purse, second)?)
                    }
                    _ => {
                        let at = (family, &whitening, high);
                        Nuisance::Dispersion(Dispersion::release(&scaled, at, payer.purse, second)?)
                    }
                };
                beside.keep_whitening(&whitening)?;
                beside.keep_nuisance(&nuisance)?;
                (whitening, nuisance)
            }
        };
        drop(scaled);
        let records = Sensitive::new(records.with_column("x", whitening.features(features.view()))?);
        let inference = self.inference_given((&whitening, &nuisance), records.schema())?;
        let fit = self.follow(inference, &records, (payer, beside), seed)?;
        drop(records);
        if let (Some(aware), true) = (fit.noise_aware(), nuisance.is_open(family)) {
            let parts = match &nuisance {
                Nuisance::Scale(_) => with_outcome(&features, &outcomes),
                Nuisance::Dispersion(found) => {
                    found.parts(&outcomes, &features.dot(&Array1::from(whitening.weights(&aware.mean))))
                }
            };
            let parts = Records::from_columns([(COLUMN, Column::from(parts))])?;
            // All that the release depends on: one that is made twice is the same, and no other has its noise.
            let mean: Vec<u8> = aware.mean.iter().flat_map(|b| b.to_le_bytes()).collect();
            let question = [whitening.to_json(), nuisance.to_json()];
            let last = beside.seed_after(&parts, &[question[0].as_bytes(), question[1].as_bytes(), &mean])?;
            let parts = Sensitive::new(parts);
            match &mut nuisance {
                Nuisance::Scale(scale) => {
                    scale.release_residuals(&parts, &whitening, &aware.mean, payer.purse, last)?;
                }
                Nuisance::Dispersion(found) => {
                    found.release_residuals(&parts, &whitening, payer.purse, last)?;
                }
            }
            beside.keep_nuisance(&nuisance)?;
        }
        let fitted = Fitted::new(fit, Some(whitening), family);
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
    fn inference(self, whitening: &Whitening) -> DpVi<impl Model + use<>, AutoLaplace, FullBatch> {
        let there = self.there(whitening);
        let (family, model) = (there.family, there.model());
        self.with_settings(match family {
            Family::Bernoulli => whitening.inference(model, self.budget),
            _ => whitening.inference_by_scores(model, self.budget),
        })
    }

    /// The inference of a whitened regression, given what its family has beside its predictor.
    fn inference_given(
        self,
        (whitening, nuisance): (&Whitening, &Nuisance),
        schema: &Schema,
    ) -> Result<DpVi<impl Model + use<>, AutoLaplace, FullBatch>, Failure> {
        let there = self.there(whitening);
        // One model for both, for they are to be of one type.
        let model = there.model_given(match nuisance {
            Nuisance::Scale(scale) => scale.sigma,
            Nuisance::Dispersion(found) => found.phi,
        });
        match nuisance {
            Nuisance::Scale(scale) => self.inference_of_scale(model, (whitening, scale), schema),
            Nuisance::Dispersion(found) => self.inference_of_dispersion(model, (whitening, found)),
        }
    }

    /// That of a Gaussian regression, given its scale.
    fn inference_of_scale<M: Model>(
        self,
        model: M,
        (whitening, scale): (&Whitening, &Scale),
        schema: &Schema,
    ) -> Result<DpVi<M, AutoLaplace, FullBatch>, Failure> {
        let (sigma, count) = (scale.sigma, (whitening.records() as f64).max(1.0));
        // Curvatures are those of features over σ², and so is the information that the noise of them is compared with.
        let noise = whitening.single() / (gaussian::left() * CURVATURE_SHARE).sqrt();
        let length = whitening.length(count, noise);
        let clip_norm = GAUSSIAN_NORM * whitening.typical() / sigma;
        let vi = DpVi::new(model, AutoLaplace::new())
            .draw_scheme(DrawScheme::Single)
            .budget(self.budget)
            .released_before(whitening.releases().iter().cloned())
            .released_before(gaussian::releases(whitening.single())?)
            .public_records(whitening.records())
            .initial_values(InitialValues::values([("b", Array1::from(scale.start.clone()).into_dyn())]))
            .clipping(Clipping::Flat)
            .clip_norm(clip_norm)
            .correction(Correction::Full)
            .curvature_norm((length / sigma).powi(2))
            .subsample(FullBatch);
        let vi = self.with_settings(vi);
        let plan = vi.plan(schema)?;
        let noise = plan.calibrated.as_ref().map_or(0.0, |found| found.noise_multiplier * clip_norm);
        let widths = whitening.prior_scales(1.0);
        let width = (widths.iter().map(|width| width * width).sum::<f64>() / widths.len() as f64).sqrt();
        let walk = RADIUS * width / (noise * (plan.steps as f64).sqrt());
        let rate = walk.min(RATE * sigma * sigma / count);
        Ok(vi.optimiser(sgd(Schedule::Constant(rate))?))
    }

    /// That of a regression of counts, given their dispersion.
    fn inference_of_dispersion<M: Model>(
        self,
        model: M,
        (whitening, found): (&Whitening, &Dispersion),
    ) -> Result<DpVi<M, AutoLaplace, FullBatch>, Failure> {
        let (curvature, count) = (found.curvature(), (whitening.records() as f64).max(1.0));
        let noise =
            whitening.single() / (dispersion::left(self.specification.family) * CURVATURE_SHARE).sqrt();
        let length = whitening.length(count, noise);
        // Counts begin at their mean, whatever the columns say.
        let columns = &self.specification.columns;
        let start: Vec<f64> = (columns.iter())
            .map(|column| match column.of.name == "Intercept" {
                true => found.mean.ln() / column.prior.1,
                false => column.prior.0 / column.prior.1,
            })
            .collect();
        let start = Array1::from(whitening.prior_means(&start)).into_dyn();
        let vi = (whitening.inference_by_scores(model, self.budget))
            .released_before(dispersion::releases(self.specification.family, whitening.single())?)
            .initial_values(InitialValues::values([("b", start)]))
            .clipping(Clipping::Flat)
            .clip_norm(found.cut() * whitening.typical() * curvature.sqrt())
            .curvature_norm(length * length * curvature);
        Ok(self.with_settings(vi))
    }
}

/// Features and the outcome.
fn with_outcome(features: &Array2<f64>, outcomes: &Array1<f64>) -> Array2<f64> {
    let mut both = Array2::zeros((features.nrows(), features.ncols() + 1));
    both.slice_mut(ndarray::s![.., ..features.ncols()]).assign(features);
    both.column_mut(features.ncols()).assign(outcomes);
    both
}
