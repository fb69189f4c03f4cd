//! Fits in coordinates in which columns vary about equally.

use std::error::Error as StdError;
use std::path::Path;

use dp_accountant::Purse;
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoLaplace;
use dp_vi::optimiser::{Schedule, sgd};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, InitialValues, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Model, Records, Schema};

use super::family::Family;
use super::fitting::{Fitted, Payer, PrivateFit, beside, scale_beside};
use super::gaussian::{self, Scale};
use super::specification::Specification;
use crate::Error;
use crate::output::write_whole;
use crate::whitening::{CURVATURE_SHARE, Whitening, another_seed};

type Failure = Box<dyn StdError>;

/// The rate of plain ascent, in units of `σ²/N`: features in these coordinates have second moments of about 1, and up to 8 are
/// stable, so that long records that were cut where moments were found do no harm.
const RATE: f64 = 0.25;

/// How far the noise of all steps together may move a coefficient, in standard deviations of its prior, if it met no
/// resistance: as of steps that are limited by the noise.
const RADIUS: f64 = 0.75;

/// How many times the typical length of a gradient at σ the first clip norm is; it follows the gradients from there.
const FIRST_NORM: f64 = 2.0;

impl PrivateFit<'_> {
    /// Features in units of their coefficients' priors, and what is expected of their squares.
    fn features(self, records: &Records) -> Result<(Array2<f64>, Vec<f64>), Failure> {
        let columns = &self.specification.columns;
        let (place, _) = records.schema().find("x")?;
        let values: Vec<f64> = records.column(place).numbers().collect();
        let mut features = Array2::from_shape_vec((records.len(), columns.len()), values)?;
        for (mut values, column) in features.columns_mut().into_iter().zip(columns) {
            values *= column.prior.1;
        }
        let squares = self.specification.expected_squares();
        let moments = squares.iter().zip(columns).map(|(square, column)| square * column.prior.1.powi(2));
        Ok((features, moments.collect()))
    }

    /// A regression in coordinates in which its columns, in units of their coefficients' priors, vary about
    /// equally; where these cannot be found, in those of the public bounds.
    pub(super) fn whitened(
        self,
        records: Records,
        payer: &mut Payer<'_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let (features, moments) = self.features(&records)?;
        // Coordinates are those of a checkpoint, which says for which records, model and ledger they are.
        let checkpoint = self.settings.checkpoint.as_ref().map(|(path, _)| path.as_path());
        let whitening = match checkpoint.filter(|path| path.exists()) {
            Some(path) => self.read(path, features.ncols())?,
            None => {
                let Some(planned) = Whitening::planned(&moments, self.budget)? else {
                    return self.plain(&Sensitive::new(records), payer, seed);
                };
                let scaled = Sensitive::new(records.clone().with_column("x", features.clone())?);
                // What the fit would be refused for it is refused for before anything is paid.
                self.inference(&planned).check_fit_from(&scaled, payer.purse)?;
                let first = another_seed(&seed)?;
                let found = Whitening::release(&scaled, &moments, self.budget, payer.purse, first)?;
                // It has been planned, so there is one.
                let Some(whitening) = found else {
                    return self.plain(&Sensitive::new(records), payer, seed);
                };
                if let Some(path) = checkpoint {
                    write_whole(&beside(path), whitening.to_json().as_bytes())?;
                }
                whitening
            }
        };
        let records = Sensitive::new(records.with_column("x", whitening.features(features.view()))?);
        drop(features);
        let fit = self.follow(self.inference(&whitening), &records, payer, seed)?;
        Ok(Fitted::new(fit, Some(whitening), self.specification.family))
    }

    /// A Gaussian regression in such coordinates, whose scale is found apart from its coefficients.
    pub(super) fn gaussian(
        self,
        records: Records,
        payer: &mut Payer<'_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let (features, moments) = self.features(&records)?;
        let Some(planned) = Whitening::planned(&moments, self.budget)? else {
            return self.plain(&Sensitive::new(records), payer, seed);
        };
        let both = with_outcome(&features, &records)?;
        let scaled = Sensitive::new(
            records.clone().with_column("x", features.clone())?.with_column(gaussian::COLUMN, both)?,
        );
        let [first, second] = [another_seed(&seed)?, another_seed(&another_seed(&seed)?)?];
        let third = another_seed(&another_seed(&another_seed(&seed)?)?)?;
        let checkpoint = self.settings.checkpoint.as_ref().map(|(path, _)| path.as_path());
        let (whitening, mut scale) = match checkpoint.filter(|path| path.exists()) {
            Some(path) => (
                self.read(path, features.ncols())?,
                read(&scale_beside(path), |text| Scale::from_json(text, features.ncols()))?,
            ),
            None => {
                let scale = Scale::planned(features.ncols());
                self.inference_of_scale((&planned, &scale), scaled.schema())?
                    .check_fit_from(&scaled, payer.purse)?;
                let found = Whitening::release(&scaled, &moments, self.budget, payer.purse, first)?;
                // It has been planned, so there is one.
                let whitening = found.unwrap_or(planned);
                let scale = Scale::release(&scaled, &whitening, payer.purse, second)?;
                if let Some(path) = checkpoint {
                    write_whole(&beside(path), whitening.to_json().as_bytes())?;
                    write_whole(&scale_beside(path), scale.to_json().as_bytes())?;
                }
                (whitening, scale)
            }
        };
        let records = Sensitive::new(records.with_column("x", whitening.features(features.view()))?);
        drop(features);
        let fit = self.follow(
            self.inference_of_scale((&whitening, &scale), records.schema())?,
            &records,
            payer,
            seed,
        )?;
        if let (Some(found), None) = (fit.noise_aware(), scale.residuals) {
            scale.release_residuals(&scaled, &whitening, &found.mean, payer.purse, third)?;
            if let Some(path) = checkpoint {
                write_whole(&scale_beside(path), scale.to_json().as_bytes())?;
            }
        }
        Ok(Fitted::new(fit, Some(whitening), Family::Gaussian).with_scale(scale))
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

    /// The inference of a whitened Gaussian regression, given its scale.
    fn inference_of_scale(
        self,
        (whitening, scale): (&Whitening, &Scale),
        schema: &Schema,
    ) -> Result<DpVi<impl Model + use<>, AutoLaplace, FullBatch>, Failure> {
        let (sigma, count) = (scale.sigma, (whitening.records() as f64).max(1.0));
        // Curvatures are those of features over σ², and so is the information that the noise of them is compared with.
        let noise = whitening.single() / (gaussian::left() * CURVATURE_SHARE).sqrt();
        let length = whitening.length(count, noise);
        let clip_norm = FIRST_NORM * whitening.typical() / sigma;
        let vi = DpVi::new(self.there(whitening).model_of_scale(sigma), AutoLaplace::new())
            .draw_scheme(DrawScheme::Single)
            .budget(self.budget)
            .released_before(whitening.releases().iter().cloned())
            .released_before(gaussian::releases(whitening.single())?)
            .public_records(whitening.records())
            .initial_values(InitialValues::values([("b", Array1::from(scale.start.clone()).into_dyn())]))
            .clipping(Clipping::Adaptive)
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

    /// The coordinates of a run that goes on.
    fn read(self, checkpoint: &Path, features: usize) -> crate::Result<Whitening> {
        read(&beside(checkpoint), |text| Whitening::from_json(text, features, self.budget))
    }
}

/// Features and the outcome.
fn with_outcome(features: &Array2<f64>, records: &Records) -> Result<Array2<f64>, Failure> {
    let outcome: Array1<f64> = records.column(records.schema().find("y")?.0).numbers().collect();
    let mut both = Array2::zeros((features.nrows(), features.ncols() + 1));
    both.slice_mut(ndarray::s![.., ..features.ncols()]).assign(features);
    both.column_mut(features.ncols()).assign(&outcome);
    Ok(both)
}

/// What was kept beside a checkpoint.
fn read<T>(file: &Path, of: impl FnOnce(&str) -> Result<T, String>) -> crate::Result<T> {
    let wrong = |reason: String| Error::Unreadable { file: file.display().to_string(), reason };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    of(&text).map_err(wrong)
}
