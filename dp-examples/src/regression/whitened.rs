//! Fits in coordinates in which columns vary about equally.

use std::error::Error as StdError;
use std::path::Path;

use dp_accountant::Purse;
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoLaplace;
use dp_vi::optimiser::{Schedule, sgd};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, InitialValues, Sensitive};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Model, Records, Schema};

use super::dispersion::{self, Dispersion};
use super::family::Family;
use super::fitting::{Fitted, Payer, PrivateFit, beside, nuisance_beside};
use super::gaussian::{self, Scale};
use super::nuisance::Nuisance;
use super::specification::Specification;
use crate::Error;
use crate::output::write_whole;
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
        let checkpoint = self.checkpoint();
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
        let both = with_outcome(&features, &outcomes(&records)?);
        let scaled = Sensitive::new(
            records.clone().with_column("x", features.clone())?.with_column(gaussian::COLUMN, both)?,
        );
        let [first, second, third] = seeds(&seed)?;
        let checkpoint = self.checkpoint();
        let (whitening, mut scale) = match checkpoint.filter(|path| path.exists()) {
            Some(path) => match self.read_nuisance(path, features.ncols())? {
                Nuisance::Scale(scale) => (self.read(path, features.ncols())?, scale),
                Nuisance::Dispersion(_) => return Err(another(path).into()),
            },
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
                    keep(path, &Nuisance::Scale(scale.clone()))?;
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
                keep(path, &Nuisance::Scale(scale.clone()))?;
            }
        }
        let fitted = Fitted::new(fit, Some(whitening), Family::Gaussian).with(Nuisance::Scale(scale));
        Ok(fitted.after(payer, self.settings.steps)?)
    }

    /// A regression of counts in such coordinates; a dispersion is found apart from the coefficients.
    pub(super) fn counts(
        self,
        records: Records,
        payer: &mut Payer<'_, impl Purse>,
        seed: Seed,
    ) -> Result<Fitted, Failure> {
        let (features, moments) = self.features(&records)?;
        let Some(planned) = Whitening::planned(&moments, self.budget)? else {
            return self.plain(&Sensitive::new(records), payer, seed);
        };
        let counts = outcomes(&records)?;
        let high = self.specification.outcome.high.max(1.0);
        let scaled = Sensitive::new(
            records
                .clone()
                .with_column("x", features.clone())?
                .with_column(dispersion::COLUMN, dispersion::outcomes(&counts, high))?,
        );
        let [first, second, third] = seeds(&seed)?;
        let checkpoint = self.checkpoint();
        let (whitening, mut found) = match checkpoint.filter(|path| path.exists()) {
            Some(path) => match self.read_nuisance(path, features.ncols())? {
                Nuisance::Dispersion(found) => (self.read(path, features.ncols())?, found),
                Nuisance::Scale(_) => return Err(another(path).into()),
            },
            None => {
                let found = Dispersion::planned();
                self.inference_of_dispersion((&planned, &found))?.check_fit_from(&scaled, payer.purse)?;
                let whitening = Whitening::release(&scaled, &moments, self.budget, payer.purse, first)?;
                // It has been planned, so there is one.
                let whitening = whitening.unwrap_or(planned);
                let at = (self.specification.family, &whitening, high);
                let found = Dispersion::release(&scaled, at, payer.purse, second)?;
                if let Some(path) = checkpoint {
                    write_whole(&beside(path), whitening.to_json().as_bytes())?;
                    keep(path, &Nuisance::Dispersion(found.clone()))?;
                }
                (whitening, found)
            }
        };
        drop(scaled);
        let whitened = whitening.features(features.view());
        let records = Sensitive::new(records.with_column("x", whitened)?);
        let fit = self.follow(self.inference_of_dispersion((&whitening, &found))?, &records, payer, seed)?;
        let family = self.specification.family;
        if family == Family::Poisson {
            return Ok(Fitted::new(fit, Some(whitening), family).after(payer, self.settings.steps)?);
        }
        if let (Some(aware), None) = (fit.noise_aware(), found.sums) {
            let predictors = features.dot(&Array1::from(whitening.weights(&aware.mean)));
            let parts = found.parts(&counts, &predictors);
            let parts = Sensitive::new(Records::from_columns([(dispersion::COLUMN, Column::from(parts))])?);
            found.release_residuals(&parts, &whitening, payer.purse, third)?;
            if let Some(path) = checkpoint {
                keep(path, &Nuisance::Dispersion(found.clone()))?;
            }
        }
        let fitted = Fitted::new(fit, Some(whitening), family).with(Nuisance::Dispersion(found));
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
        let clip_norm = GAUSSIAN_NORM * whitening.typical() / sigma;
        let vi = DpVi::new(self.there(whitening).model_given(sigma), AutoLaplace::new())
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

    /// The inference of a whitened regression of counts, given their dispersion.
    fn inference_of_dispersion(
        self,
        (whitening, found): (&Whitening, &Dispersion),
    ) -> Result<DpVi<impl Model + use<>, AutoLaplace, FullBatch>, Failure> {
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
        let model = self.there(whitening).model_given(found.phi);
        let vi = (whitening.inference_by_scores(model, self.budget))
            .released_before(dispersion::releases(self.specification.family, whitening.single())?)
            .initial_values(InitialValues::values([("b", start)]))
            .clipping(Clipping::Flat)
            .clip_norm(found.cut() * whitening.typical() * curvature.sqrt())
            .curvature_norm(length * length * curvature);
        Ok(self.with_settings(vi))
    }

    /// What was released of a scale or dispersion, of a run that goes on.
    fn read_nuisance(self, checkpoint: &Path, features: usize) -> crate::Result<Nuisance> {
        read(&nuisance_beside(checkpoint), |text| Nuisance::from_json(text, features))
    }

    /// The coordinates of a run that goes on.
    fn read(self, checkpoint: &Path, features: usize) -> crate::Result<Whitening> {
        read(&beside(checkpoint), |text| Whitening::from_json(text, features, self.budget))
    }
}

/// The outcomes.
fn outcomes(records: &Records) -> ppl_core::Result<Array1<f64>> {
    Ok(records.column(records.schema().find("y")?.0).numbers().collect())
}

/// Features and the outcome.
fn with_outcome(features: &Array2<f64>, outcomes: &Array1<f64>) -> Array2<f64> {
    let mut both = Array2::zeros((features.nrows(), features.ncols() + 1));
    both.slice_mut(ndarray::s![.., ..features.ncols()]).assign(features);
    both.column_mut(features.ncols()).assign(outcomes);
    both
}

/// Seeds of the coordinates, and of what is released before the steps and after them.
fn seeds(seed: &Seed) -> dp_sampler::Result<[Seed; 3]> {
    let first = another_seed(seed)?;
    let second = another_seed(&first)?;
    let third = another_seed(&second)?;
    Ok([first, second, third])
}

/// Writes what was released of a scale or dispersion beside a checkpoint.
fn keep(checkpoint: &Path, nuisance: &Nuisance) -> crate::Result<()> {
    write_whole(&nuisance_beside(checkpoint), nuisance.to_json().as_bytes())
}

/// A run that goes on with what was found for another family.
fn another(checkpoint: &Path) -> Error {
    let file = nuisance_beside(checkpoint).display().to_string();
    Error::Unreadable { file, reason: "it is of a regression of another family".to_owned() }
}

/// What was kept beside a checkpoint.
fn read<T>(file: &Path, of: impl FnOnce(&str) -> Result<T, String>) -> crate::Result<T> {
    let wrong = |reason: String| Error::Unreadable { file: file.display().to_string(), reason };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    of(&text).map_err(wrong)
}
